// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Delegation} from "../../src/interfaces/IDelegationManager.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Policy, PolicyCage} from "../../src/policy/PolicyCage.sol";
import {GolemRegistry} from "../../src/registry/GolemRegistry.sol";
import {Actions, Role} from "../../src/rules/Actions.sol";
import {CharterTest} from "../CharterTest.sol";
import {TestBase} from "../TestBase.sol";

/// @notice SPEC C14: what an owner publishes is what a runtime reads.
contract PolicyCageTest is TestBase {
    bytes32 private constant SALT = keccak256("first Golem");

    PolicyCage private _cage;
    Actor private _owner;
    Actor private _stranger;
    bytes32 private _golem;

    function setUp() public {
        _cage = new PolicyCage();
        _owner = actor("owner");
        _stranger = actor("stranger");
        _golem = keccak256(abi.encode(_owner.account, SALT));
    }

    // Publishing and reading

    function test_one_read_gives_everything_that_was_published() public {
        Policy memory published = _plain();

        (bytes32 golemId, uint64 version) = _publish(published);

        vm.assertEq(golemId, _golem, "whose");
        vm.assertEq(version, 1, "version returned");
        _assertCurrent(published, 1);
    }

    function test_publishing_is_announced_with_everything() public {
        Policy memory policy = _plain();

        vm.expectEmit(address(_cage));
        emit PolicyCage.PolicyPublished(
            _golem, _owner.account, 1, _hashOf(_golem, 1, policy), policy
        );
        _publish(policy);

        vm.expectEmit(address(_cage));
        emit PolicyCage.PolicyPublished(
            _golem, _owner.account, 2, _hashOf(_golem, 2, policy), policy
        );
        _publish(policy);
    }

    function test_versions_count_up_and_the_newest_alone_counts() public {
        Policy memory policy = _plain();
        vm.assertEq(_cage.versionOf(_golem), 0, "before the first");
        _publish(policy);

        policy.constitutionHash = keccak256("second");
        policy.spendPerDay += 1;
        _publish(policy);
        _assertCurrent(policy, 2);

        // The same again is a publication too: whoever watches sees that the owner meant it.
        _publish(policy);
        _assertCurrent(policy, 3);
    }

    function test_a_shorter_list_leaves_nothing_of_a_longer_one() public {
        Policy memory policy = _plain();
        policy.assets = _assets(32);
        _publish(policy);

        policy.assets = _assets(1);
        _publish(policy);
        _assertCurrent(policy, 2);

        policy.assets = _assets(0);
        _publish(policy);
        _assertCurrent(policy, 3);
    }

    function test_a_golem_without_a_policy_has_none_to_read() public {
        vm.expectRevert(_noPolicy(_golem));
        _cage.policyOf(_golem);
    }

    // Whose

    function test_a_stranger_with_the_owners_salt_publishes_for_a_golem_of_his_own() public {
        Policy memory owners = _plain();
        _publish(owners);
        Policy memory strangers = _plain();
        strangers.constitutionHash = keccak256("the stranger's");

        vm.prank(_stranger.account);
        (bytes32 golemId,) = _cage.publish(SALT, strangers);

        vm.assertEq(golemId, keccak256(abi.encode(_stranger.account, SALT)), "his own");
        _assertCurrent(owners, 1);
    }

    function test_two_golems_of_one_owner_have_two_policies() public {
        Policy memory first = _plain();
        _publish(first);
        Policy memory second = _plain();
        second.drawdownBps = 1;

        vm.prank(_owner.account);
        (bytes32 other,) = _cage.publish("second Golem", second);

        _assertCurrent(first, 1);
        (Policy memory read, uint64 version,) = _cage.policyOf(other);
        vm.assertEq(read.drawdownBps, 1, "the other's own");
        vm.assertEq(version, 1, "counted apart");
    }

    function testFuzz_the_golem_is_the_one_the_registry_means(address owner, bytes32 salt) public {
        vm.assume(owner != address(vm));
        GolemRegistry registry = new GolemRegistry();

        vm.prank(owner);
        (bytes32 golemId,) = _cage.publish(salt, _plain());

        vm.assertEq(golemId, registry.golemIdOf(owner, salt), "golemId");
    }

    // Bounds

    function test_a_policy_without_a_constitution_is_refused() public {
        Policy memory policy = _plain();
        policy.constitutionHash = 0;

        _refuses(
            policy, abi.encodeWithSelector(PolicyCage.PolicyCage_NoConstitution.selector, _golem)
        );

        policy.constitutionHash = bytes32(uint256(1));
        _publish(policy);
    }

    function test_a_golem_may_be_allowed_nothing_at_all() public {
        Policy memory policy;
        policy.constitutionHash = keccak256("read only");

        _publish(policy);

        _assertCurrent(policy, 1);
    }

    function test_one_asset_may_be_all_of_the_holdings_and_not_more() public {
        Policy memory policy = _plain();
        policy.concentrationBps = 10_000;
        _publish(policy);

        policy.concentrationBps = 10_001;
        _refuses(
            policy,
            abi.encodeWithSelector(PolicyCage.PolicyCage_ConcentrationBps.selector, 10_001, 10_000)
        );
    }

    function test_holdings_may_fall_by_all_and_not_more() public {
        Policy memory policy = _plain();
        policy.drawdownBps = 10_000;
        _publish(policy);

        policy.drawdownBps = 10_001;
        _refuses(
            policy,
            abi.encodeWithSelector(PolicyCage.PolicyCage_DrawdownBps.selector, 10_001, 10_000)
        );
    }

    function test_a_transaction_may_spend_what_a_session_may_and_not_more() public {
        Policy memory policy = _plain();
        policy.spendPerTransaction = policy.spendPerSession;
        policy.spendPerDay = type(uint64).max;
        _publish(policy);

        policy.spendPerTransaction += 1;
        _refuses(
            policy,
            abi.encodeWithSelector(
                PolicyCage.PolicyCage_OverSession.selector,
                policy.spendPerSession + 1,
                policy.spendPerSession
            )
        );
    }

    function test_a_transaction_may_spend_what_a_day_may_and_not_more() public {
        Policy memory policy = _plain();
        policy.spendPerTransaction = policy.spendPerDay;
        policy.spendPerSession = type(uint64).max;
        _publish(policy);

        policy.spendPerTransaction += 1;
        _refuses(
            policy,
            abi.encodeWithSelector(
                PolicyCage.PolicyCage_OverDay.selector, policy.spendPerDay + 1, policy.spendPerDay
            )
        );
    }

    function test_a_session_may_be_less_or_more_than_a_day() public {
        Policy memory policy = _plain();
        (policy.spendPerSession, policy.spendPerDay) = (700e6, 100e6);
        _publish(policy);

        (policy.spendPerSession, policy.spendPerDay) = (100e6, 700e6);
        _publish(policy);
        _assertCurrent(policy, 2);
    }

    function test_a_list_has_thirty_two_assets_at_most() public {
        Policy memory policy = _plain();
        policy.assets = _assets(32);
        _publish(policy);

        policy.assets = _assets(33);
        _refuses(
            policy, abi.encodeWithSelector(PolicyCage.PolicyCage_TooManyAssets.selector, 33, 32)
        );
    }

    /// @dev ATK-10.
    function test_an_asset_twice_is_refused() public {
        Policy memory policy = _plain();
        policy.assets = _assets(3);
        policy.assets[2] = policy.assets[1];

        _refuses(policy, _notAscending(2, policy.assets[1], policy.assets[1]));
    }

    function test_assets_out_of_order_are_refused_wherever_they_stand() public {
        for (uint256 i = 1; i < 32; i++) {
            Policy memory policy = _plain();
            policy.assets = _assets(32);
            (policy.assets[i], policy.assets[i - 1]) = (policy.assets[i - 1], policy.assets[i]);

            _refuses(policy, _notAscending(i, policy.assets[i], policy.assets[i - 1]));
        }
    }

    function test_the_chains_own_coin_is_an_asset_and_comes_first() public {
        Policy memory policy = _plain();
        policy.assets = _assets(3);
        policy.assets[0] = address(0);
        _publish(policy);
        _assertCurrent(policy, 1);

        policy.assets[1] = address(0);
        _refuses(policy, _notAscending(1, address(0), address(0)));
    }

    function test_a_refused_policy_leaves_the_one_before() public {
        Policy memory good = _plain();
        _publish(good);
        Policy memory bad = _plain();
        bad.constitutionHash = keccak256("bad");
        bad.drawdownBps = 10_001;

        vm.prank(_owner.account);
        (bool ok,) = address(_cage).call(abi.encodeCall(PolicyCage.publish, (SALT, bad)));

        vm.assertFalse(ok, "refused");
        _assertCurrent(good, 1);
    }

    // The hash

    /// @dev Every field in turn: a hash that left one out would let it change unseen.
    function test_every_field_is_in_the_hash() public view {
        bytes32 plain = _cage.hashOf(_golem, 1, _plain());
        bytes32[10] memory others;
        others[0] = _cage.hashOf(keccak256("another Golem"), 1, _plain());
        others[1] = _cage.hashOf(_golem, 2, _plain());
        for (uint256 field = 0; field < 8; field++) {
            others[2 + field] = _cage.hashOf(_golem, 1, _changed(field));
        }

        for (uint256 i = 0; i < 10; i++) {
            vm.assertTrue(others[i] != plain, "a field is not in the hash");
            for (uint256 j = 0; j < i; j++) {
                vm.assertTrue(others[i] != others[j], "two policies, one hash");
            }
        }
    }

    function test_its_type_is_what_the_hash_is_of() public view {
        vm.assertEq(_cage.POLICY_TYPEHASH(), _typeHash(), "type");
    }

    function testFuzz_what_is_published_is_read_or_refused(Policy memory policy) public {
        bool good = policy.constitutionHash != 0 && policy.concentrationBps <= 10_000
            && policy.drawdownBps <= 10_000 && policy.spendPerTransaction <= policy.spendPerSession
            && policy.spendPerTransaction <= policy.spendPerDay && policy.assets.length <= 32;
        for (uint256 i = 1; i < policy.assets.length; i++) {
            if (uint160(policy.assets[i]) <= uint160(policy.assets[i - 1])) good = false;
        }

        vm.prank(_owner.account);
        (bool ok,) = address(_cage).call(abi.encodeCall(PolicyCage.publish, (SALT, policy)));

        vm.assertTrue(ok == good, "published if and only if good");
        if (good) _assertCurrent(policy, 1);
        else vm.assertEq(_cage.versionOf(_golem), 0, "nothing published");
    }

    /// @dev The same with values that are mostly good.
    function testFuzz_good_policies_are_read_as_published(Policy memory policy, uint8 count)
        public
    {
        if (policy.constitutionHash == 0) policy.constitutionHash = "some";
        policy.concentrationBps = uint16(within(policy.concentrationBps, 0, 10_000));
        policy.drawdownBps = uint16(within(policy.drawdownBps, 0, 10_000));
        uint256 most = policy.spendPerSession < policy.spendPerDay
            ? policy.spendPerSession
            : policy.spendPerDay;
        // Within the lesser of two 64-bit numbers.
        // forge-lint: disable-next-line(unsafe-typecast)
        policy.spendPerTransaction = uint64(within(policy.spendPerTransaction, 0, most));
        policy.assets = _assets(within(count, 0, 32));

        _publish(policy);

        _assertCurrent(policy, 1);
    }

    // Helpers

    function _plain() private pure returns (Policy memory policy) {
        policy = Policy({
            constitutionHash: keccak256("constitution"),
            concentrationBps: 3_000,
            drawdownBps: 2_000,
            spendPerTransaction: 100e6,
            spendPerSession: 700e6,
            spendPerDay: 250e6,
            assets: _assets(2)
        });
    }

    function _changed(uint256 field) private pure returns (Policy memory policy) {
        policy = _plain();
        if (field == 0) policy.constitutionHash = keccak256("another");
        if (field == 1) policy.concentrationBps += 1;
        if (field == 2) policy.drawdownBps += 1;
        if (field == 3) policy.spendPerTransaction += 1;
        if (field == 4) policy.spendPerSession += 1;
        if (field == 5) policy.spendPerDay += 1;
        if (field == 6) policy.assets = _assets(3);
        if (field == 7) policy.assets[1] = address(uint160(policy.assets[1]) + 1);
    }

    function _assets(uint256 count) private pure returns (address[] memory assets) {
        assets = new address[](count);
        for (uint160 i = 0; i < count; i++) {
            assets[i] = address(0xa55e7000 + i * 16);
        }
    }

    function _publish(Policy memory policy) private returns (bytes32 golemId, uint64 version) {
        vm.prank(_owner.account);
        return _cage.publish(SALT, policy);
    }

    function _refuses(Policy memory policy, bytes memory reason) private {
        vm.expectRevert(reason);
        vm.prank(_owner.account);
        _cage.publish(SALT, policy);
    }

    function _assertCurrent(Policy memory expected, uint64 expectedVersion) private view {
        (Policy memory policy, uint64 version, bytes32 policyHash) = _cage.policyOf(_golem);
        vm.assertEq(abi.encode(policy), abi.encode(expected), "policy");
        vm.assertEq(version, expectedVersion, "version");
        vm.assertEq(_cage.versionOf(_golem), expectedVersion, "version alone");
        vm.assertEq(policyHash, _hashOf(_golem, expectedVersion, expected), "hash");
    }

    function _typeHash() private pure returns (bytes32) {
        return keccak256(
            "Policy(bytes32 golemId,uint64 version,bytes32 constitutionHash,uint16 concentrationBps,uint16 drawdownBps,uint64 spendPerTransaction,uint64 spendPerSession,uint64 spendPerDay,address[] assets)"
        );
    }

    /// @dev Written anew from EIP-712: word after word.
    function _hashOf(bytes32 golemId, uint64 version, Policy memory policy)
        private
        pure
        returns (bytes32)
    {
        bytes memory assets;
        for (uint256 i = 0; i < policy.assets.length; i++) {
            assets = bytes.concat(assets, bytes32(uint256(uint160(policy.assets[i]))));
        }
        bytes memory data =
            bytes.concat(_typeHash(), golemId, bytes32(uint256(version)), policy.constitutionHash);
        data = bytes.concat(
            data,
            bytes32(uint256(policy.concentrationBps)),
            bytes32(uint256(policy.drawdownBps)),
            bytes32(uint256(policy.spendPerTransaction)),
            bytes32(uint256(policy.spendPerSession)),
            bytes32(uint256(policy.spendPerDay)),
            keccak256(assets)
        );
        return keccak256(data);
    }

    function _noPolicy(bytes32 golemId) private pure returns (bytes memory) {
        return abi.encodeWithSelector(PolicyCage.PolicyCage_NoPolicy.selector, golemId);
    }

    function _notAscending(uint256 index, address asset, address before)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(
            PolicyCage.PolicyCage_NotAscending.selector, index, asset, before
        );
    }
}

/// @notice A Golem does not write its own constitution: a 7702 account is its owner, so a call from it
///         would be the owner's.
contract PolicyCageCharterTest is CharterTest {
    PolicyCage private _cage;
    Law private _law;

    function setUp() public override {
        super.setUp();
        _cage = new PolicyCage();
        _law = golem(stateless7702Owner());
    }

    function test_the_owner_with_a_7702_account_publishes_by_a_plain_call() public {
        vm.prank(_law.owner);
        (bytes32 golemId,) = _cage.publish(SALT, _policy());

        vm.assertEq(golemId, _law.golemId, "his Golem");
    }

    /// @dev ATK-14. Without a charter's listing the same call would go through: see the next test.
    function test_no_role_in_a_charter_reaches_the_cage() public {
        bytes memory publish = abi.encodeCall(PolicyCage.publish, (SALT, _policy()));
        bytes memory others = _law.targets;
        for (uint256 role = 1; role <= uint256(type(Role).max); role++) {
            _law.targets = bytes.concat(others, target(address(_cage), Role(role)));
            Delegation memory leaf = grant(stateless7702Owner(), _law);

            vm.expectRevert(_refusal(Role(role), publish.length));
            redeem(agent.account, leaf, SINGLE_DEFAULT, single(address(_cage), publish));
        }
        vm.assertEq(_cage.versionOf(_law.golemId), 0, "nothing published");
    }

    function test_a_delegation_without_a_charter_would_speak_with_the_owners_voice() public {
        bytes memory publish = abi.encodeCall(PolicyCage.publish, (SALT, _policy()));
        Delegation memory leaf = root(stateless7702Owner(), agent.account, noCaveats());

        redeem(agent.account, leaf, SINGLE_DEFAULT, single(address(_cage), publish));

        vm.assertEq(_cage.versionOf(_law.golemId), 1, "published");
    }

    function _refusal(Role role, uint256 length) private view returns (bytes memory) {
        if (role == Role.AgentKey) {
            return
                abi.encodeWithSelector(Actions.Actions_NotAPayment.selector, address(_cage), length);
        }
        return abi.encodeWithSelector(
            Actions.Actions_UnknownCall.selector, address(_cage), PolicyCage.publish.selector
        );
    }

    function _policy() private pure returns (Policy memory policy) {
        policy.constitutionHash = keccak256("constitution");
    }
}
