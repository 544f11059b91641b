// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Policy, PolicyCage} from "../../src/policy/PolicyCage.sol";
import {TestBase} from "../TestBase.sol";

/// @notice Two owners with two salts each, who publish what is good and what is not; and a model that
///         keeps whole lists of what was published.
contract PolicyWalk is TestBase {
    PolicyCage public immutable CAGE = new PolicyCage();

    uint256 public accepts;
    uint256 public refusals;

    address[2] private _owners;
    bytes32[2] private _salts = [keccak256("one"), keccak256("two")];
    mapping(bytes32 golemId => bytes[] encoded) private _published;
    uint256 private _clock = 1_767_225_600;

    constructor() {
        _owners = [actor("owner").account, actor("other owner").account];
    }

    function walk(uint256 seed, Policy memory policy, uint8 kind) external {
        _clock += seed % 2 days;
        vm.warp(_clock);
        address owner = _owners[seed % 2];
        bytes32 salt = _salts[seed / 2 % 2];
        _tame(policy, kind);

        vm.prank(owner);
        (bool ok,) = address(CAGE).call(abi.encodeCall(PolicyCage.publish, (salt, policy)));

        vm.assertTrue(ok == (kind % 8 < 6), "published if and only if good");
        if (ok) {
            _published[keccak256(abi.encode(owner, salt))].push(abi.encode(policy));
            accepts++;
        } else {
            refusals++;
        }
    }

    /// @dev Every Golem has its newest policy and the count of them, whoever published last.
    function check() external view {
        for (uint256 i = 0; i < 4; i++) {
            bytes32 golemId = keccak256(abi.encode(_owners[i % 2], _salts[i / 2]));
            bytes[] storage all = _published[golemId];
            vm.assertEq(CAGE.versionOf(golemId), all.length, "version");
            if (all.length == 0) {
                (bool ok,) =
                    address(CAGE).staticcall(abi.encodeCall(PolicyCage.policyOf, (golemId)));
                vm.assertFalse(ok, "a policy of nobody");
                continue;
            }
            (Policy memory policy, uint64 version, bytes32 policyHash) = CAGE.policyOf(golemId);
            vm.assertEq(abi.encode(policy), all[all.length - 1], "policy");
            vm.assertEq(version, all.length, "version beside it");
            vm.assertEq(policyHash, CAGE.hashOf(golemId, version, policy), "hash");
        }
    }

    /// @dev Good for six of eight kinds; one unit past a bound for the others.
    function _tame(Policy memory policy, uint8 kind) private pure {
        if (policy.constitutionHash == 0) policy.constitutionHash = "some";
        policy.concentrationBps = uint16(within(policy.concentrationBps, 0, 10_000));
        policy.drawdownBps = uint16(within(policy.drawdownBps, 0, 10_000));
        policy.spendPerTransaction %= 1e12;
        policy.spendPerSession = policy.spendPerTransaction + policy.spendPerSession % 1e12;
        policy.spendPerDay = policy.spendPerTransaction + policy.spendPerDay % 1e12;
        policy.assets = new address[](kind % 33);
        for (uint160 i = 0; i < policy.assets.length; i++) {
            policy.assets[i] = address(i * i);
        }
        if (kind % 8 < 6) return;
        uint256 fault = kind / 8 % 5;
        if (fault == 0) policy.constitutionHash = 0;
        if (fault == 1) policy.concentrationBps = 10_001;
        if (fault == 2) policy.drawdownBps = 10_001;
        if (fault == 3) policy.spendPerTransaction = policy.spendPerDay + 1;
        if (fault == 4) policy.assets = new address[](2);
    }
}

contract PolicyCageInvariantTest is TestBase {
    struct Selectors {
        address addr;
        bytes4[] selectors;
    }

    PolicyWalk private _walk;

    function setUp() public {
        _walk = new PolicyWalk();
    }

    /// @dev Asked by forge: what to call.
    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_walk);
    }

    function targetSelectors() public view returns (Selectors[] memory targets) {
        targets = new Selectors[](1);
        targets[0].addr = address(_walk);
        targets[0].selectors = new bytes4[](1);
        targets[0].selectors[0] = PolicyWalk.walk.selector;
    }

    function invariant_every_golem_has_its_newest_policy() public view {
        _walk.check();
    }

    /// @dev A walk that never gets anywhere would prove nothing.
    function test_walks_publish_and_are_refused() public {
        Policy memory policy;
        for (uint256 i = 0; i < 256; i++) {
            // forge-lint: disable-next-line(unsafe-typecast)
            _walk.walk(uint256(keccak256(abi.encode(i))), policy, uint8(i));
            _walk.check();
        }

        vm.assertTrue(_walk.accepts() > 100 && _walk.refusals() > 50, "both ways");
    }
}
