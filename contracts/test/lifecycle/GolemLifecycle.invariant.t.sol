// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IGolemLifecycle} from "../../src/interfaces/IGolemLifecycle.sol";
import {GolemLifecycle} from "../../src/lifecycle/GolemLifecycle.sol";
import {TestBase} from "../TestBase.sol";

/// @notice A few accounts, Golems, children and hashes, zero among them, in every order; and a model that
///         is one list of all that was said.
contract LifecycleWalk is TestBase {
    /// @dev A settlement has no child.
    struct Said {
        address account;
        bytes32 golemId;
        address replicant;
        bytes32 hash;
    }

    GolemLifecycle public immutable LIFECYCLE = new GolemLifecycle();

    uint256 public children;
    uint256 public ends;
    mapping(bytes4 reason => uint256 count) public refusals;

    Said[] private _said;
    uint256 private _clock = 1_767_225_600;

    function walk(uint256 seed) external {
        _clock += seed % 3 days;
        vm.warp(_clock);
        bool ends_ = _dice(seed, "ends") % 6 == 0;
        Said memory next = Said({
            account: address(uint160(0xacc0 + _dice(seed, "account") % 3)),
            golemId: bytes32(_dice(seed, "golem") % 4),
            replicant: ends_ ? address(0) : address(uint160(_dice(seed, "child") % 6)),
            hash: bytes32(_dice(seed, "hash") % 6)
        });
        bytes4 expected = _expected(next, ends_);

        vm.prank(next.account);
        (bool ok, bytes memory reason) = address(LIFECYCLE)
            .call(
                ends_
                    ? abi.encodeCall(IGolemLifecycle.settle, (next.golemId, next.hash))
                    : abi.encodeCall(
                        IGolemLifecycle.spawnReplicant, (next.golemId, next.replicant, next.hash)
                    )
            );

        // The first four bytes are what is wanted.
        // forge-lint: disable-next-line(unsafe-typecast)
        vm.assertEq(bytes32(ok ? bytes4(0) : bytes4(reason)), bytes32(expected), "verdict");
        if (!ok) {
            refusals[expected]++;
            return;
        }
        _said.push(next);
        if (ends_) ends++;
        else children++;
    }

    /// @dev Every view of every account, Golem, child and hash says what the list says.
    function check() external view {
        for (uint160 a = 0xacc0; a < 0xacc3; a++) {
            for (uint256 g = 0; g < 4; g++) {
                _checkOne(address(a), bytes32(g));
            }
        }
    }

    function _checkOne(address account, bytes32 golemId) private view {
        uint256 count = 0;
        bytes32 manifest = 0;
        for (uint256 i = 0; i < _said.length; i++) {
            Said memory past = _said[i];
            if (past.account != account || past.golemId != golemId) continue;
            if (past.replicant == address(0)) manifest = past.hash;
            else count++;
        }
        vm.assertEq(LIFECYCLE.replicantsOf(account, golemId), count, "children");
        vm.assertEq(LIFECYCLE.manifestOf(account, golemId), manifest, "manifest");
        for (uint160 i = 0; i < 6; i++) {
            address child = address(i);
            bytes32 hash = bytes32(uint256(i));
            vm.assertEq(
                LIFECYCLE.delegationOf(account, golemId, child),
                child == address(0) ? bytes32(0) : _find(account, golemId, child, 0).hash,
                "by child"
            );
            vm.assertEq(
                LIFECYCLE.replicantOf(account, golemId, hash),
                hash == 0 ? address(0) : _find(account, golemId, address(0), hash).replicant,
                "by delegation"
            );
        }
    }

    function _expected(Said memory next, bool ends_) private view returns (bytes4) {
        if (next.golemId == 0) return IGolemLifecycle.GolemLifecycle_NoGolem.selector;
        for (uint256 i = 0; i < _said.length; i++) {
            Said memory past = _said[i];
            bool same = past.account == next.account && past.golemId == next.golemId;
            if (same && past.replicant == address(0)) {
                return IGolemLifecycle.GolemLifecycle_Settled.selector;
            }
        }
        if (ends_) {
            return next.hash == 0 ? IGolemLifecycle.GolemLifecycle_NoManifest.selector : bytes4(0);
        }
        if (next.replicant == address(0)) {
            return IGolemLifecycle.GolemLifecycle_NoReplicant.selector;
        }
        if (next.hash == 0) return IGolemLifecycle.GolemLifecycle_NoDelegation.selector;
        if (_find(next.account, next.golemId, next.replicant, 0).hash != 0) {
            return IGolemLifecycle.GolemLifecycle_KnownReplicant.selector;
        }
        if (_find(next.account, next.golemId, address(0), next.hash).hash != 0) {
            return IGolemLifecycle.GolemLifecycle_KnownDelegation.selector;
        }
        return 0;
    }

    /// @dev The child by its address, or by its delegation.
    function _find(address account, bytes32 golemId, address child, bytes32 hash)
        private
        view
        returns (Said memory)
    {
        for (uint256 i = 0; i < _said.length; i++) {
            Said memory past = _said[i];
            if (past.account != account || past.golemId != golemId) continue;
            if (past.replicant == address(0)) continue;
            if (past.replicant == child || (child == address(0) && past.hash == hash)) return past;
        }
        return Said(address(0), 0, address(0), 0);
    }

    function _dice(uint256 seed, string memory what) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed, what)));
    }
}

contract GolemLifecycleInvariantTest is TestBase {
    struct Selectors {
        address addr;
        bytes4[] selectors;
    }

    LifecycleWalk private _walk;

    function setUp() public {
        _walk = new LifecycleWalk();
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
        targets[0].selectors[0] = LifecycleWalk.walk.selector;
    }

    /// @dev ATK-34: no order of calls settles twice, or spawns after the end.
    /// forge-config: default.invariant.runs = 24
    function invariant_what_is_remembered_is_what_was_said() public view {
        _walk.check();
    }

    /// @dev A walk that never gets anywhere would prove nothing.
    function test_walks_meet_every_verdict() public {
        uint256 children = 0;
        uint256 ends = 0;
        uint256[7] memory met;
        bytes4[7] memory reasons = [
            IGolemLifecycle.GolemLifecycle_NoGolem.selector,
            IGolemLifecycle.GolemLifecycle_NoReplicant.selector,
            IGolemLifecycle.GolemLifecycle_NoDelegation.selector,
            IGolemLifecycle.GolemLifecycle_NoManifest.selector,
            IGolemLifecycle.GolemLifecycle_Settled.selector,
            IGolemLifecycle.GolemLifecycle_KnownReplicant.selector,
            IGolemLifecycle.GolemLifecycle_KnownDelegation.selector
        ];
        for (uint256 run = 0; run < 8; run++) {
            LifecycleWalk walk = new LifecycleWalk();
            for (uint256 i = 0; i < 64; i++) {
                walk.walk(uint256(keccak256(abi.encode(run, i))));
            }
            walk.check();
            children += walk.children();
            ends += walk.ends();
            for (uint256 i = 0; i < 7; i++) {
                met[i] += walk.refusals(reasons[i]);
            }
        }

        vm.assertTrue(children > 20 && ends > 8, "never accepted");
        for (uint256 i = 0; i < 7; i++) {
            vm.assertTrue(met[i] > 0, "a refusal never met");
        }
    }
}
