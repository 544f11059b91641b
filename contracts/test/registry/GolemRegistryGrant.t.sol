// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {CaveatEnforcer} from "../../src/enforcers/CaveatEnforcer.sol";
import {Caveat, Delegation} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemRegistry} from "../../src/interfaces/IGolemRegistry.sol";
import {IVitalityOracle} from "../../src/interfaces/IVitalityOracle.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {GolemRegistry} from "../../src/registry/GolemRegistry.sol";
import {GolemWord} from "../../src/registry/GolemWord.sol";
import {GrantSignature} from "../../src/registry/GrantSignature.sol";
import {DevchainTest} from "../DevchainTest.sol";
import {ManagerStub, RegistryTest} from "./RegistryTest.sol";

/// @notice What a grant that an owner signed can do here, and what it cannot, whoever hands it in.
contract GolemRegistryGrantTest is RegistryTest {
    uint256 private constant ORDER =
        0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;

    // Registration

    function testFuzz_anybody_hands_in_a_grant_and_changes_nothing_by_it(address sender) public {
        vm.assume(sender != address(vm));
        Delegation memory grant = grantFrom(owner, agent.account, 3);

        vm.expectEmit(address(registry));
        emit IGolemRegistry.GolemRegistered(golem, owner.account, SALT);
        vm.expectEmit(address(registry));
        emit IVitalityOracle.VitalityUpdated(golem, 0, 10_000);
        vm.expectEmit(address(registry));
        emit IGolemRegistry.AgentAttached(golem, agent.account, 3, hashOf(grant));
        vm.prank(sender);
        bytes32 made = registry.registerWithGrant(grant, 1, SALT);

        vm.assertEq(made, golem, "id");
        vm.assertEq(registry.ownerOf(golem), owner.account, "owner");
        vm.assertEq(attached(), agent.account, "agent key");
        vm.assertEq(attachedEpoch(), 3, "attached epoch");
        vm.assertTrue(registry.word(golem).isRegistered(), "registered");
        vm.assertEq(uint256(registry.word(golem).minEpoch()), 0, "minimum epoch");
        vm.assertEq(uint256(registry.word(golem).updatedAt()), BIRTH, "last update");
    }

    function test_the_agent_of_a_grant_can_write_and_its_owner_can_revoke() public {
        accepted(stranger.account, handIn(grantFrom(owner, agent.account, 0)));

        accepted(agent.account, abi.encodeCall(IGolemRegistry.heartbeat, (golem, "head")));
        accepted(owner.account, abi.encodeCall(IGolemRegistry.revoke, golem));
        refused(
            stranger.account,
            abi.encodeCall(IGolemRegistry.revoke, golem),
            notOwner(golem, stranger.account)
        );
    }

    function test_a_grant_of_somebody_else_does_not_register_an_owners_golem() public {
        Delegation memory grant = grantFrom(otherOwner, agent.account, terms(owner.account, 0, 0));

        refused(
            otherOwner.account,
            handIn(grant),
            abi.encodeWithSelector(
                IGolemRegistry.GolemRegistry_NotSignedByOwner.selector,
                owner.account,
                otherOwner.account
            )
        );
    }

    function test_a_grant_that_names_its_signer_does_not_get_another_owners_golem() public {
        Delegation memory grant = grantFrom(
            otherOwner,
            agent.account,
            abi.encodePacked(golem, otherOwner.account, uint16(0), uint32(0))
        );

        refused(otherOwner.account, handIn(grant), _otherGolem(golem, otherGolem));
    }

    function test_a_grant_is_for_the_salt_it_was_made_from() public {
        Delegation memory grant = grantFrom(owner, agent.account, 0);

        refused(
            stranger.account,
            abi.encodeCall(IGolemRegistry.registerWithGrant, (grant, 1, "another salt")),
            _otherGolem(golem, registry.golemIdOf(owner.account, "another salt"))
        );
    }

    /// @dev ATK-03: whatever of a grant is changed, the signature names somebody else.
    function test_a_grant_changed_in_any_signed_field_is_refused() public {
        for (uint256 field = 0; field < 7; field++) {
            Delegation memory grant = grantFrom(owner, agent.account, 0);
            if (field == 0) grant.delegate = stranger.account;
            if (field == 1) grant.delegator = stranger.account;
            if (field == 2) grant.authority = hashOf(grant);
            if (field == 3) grant.salt = 8;
            if (field == 4) grant.caveats[1].terms = terms(owner.account, 1, 0);
            if (field == 5) grant.caveats[0].enforcer = stranger.account;
            if (field == 6) {
                grant.caveats = new Caveat[](2);
                grant.caveats[1].terms = terms(owner.account, 0, 0);
            }

            _refusedAsSignedByAnother(grant);
        }
    }

    /// @dev ATK-03: args are not signed, so they must not matter.
    function testFuzz_args_change_nothing(bytes memory args) public {
        Delegation memory grant = grantFrom(owner, agent.account, 0);
        grant.caveats[0].args = args;
        grant.caveats[1].args = args;

        accepted(stranger.account, handIn(grant));

        vm.assertEq(attached(), agent.account, "agent key");
    }

    function test_the_caveat_must_exist_and_be_the_one_that_names_the_golem() public {
        Delegation memory grant = grantFrom(owner, agent.account, 0);

        refused(
            stranger.account,
            abi.encodeCall(IGolemRegistry.registerWithGrant, (grant, 2, SALT)),
            abi.encodeWithSelector(IGolemRegistry.GolemRegistry_NoSuchCaveat.selector, 2, 2)
        );
        refused(
            stranger.account,
            abi.encodeCall(IGolemRegistry.registerWithGrant, (grant, 0, SALT)),
            _termsTooShort(3)
        );
        grant.caveats = new Caveat[](0);
        grant.signature = signed(owner, digestOf(grant));
        refused(
            stranger.account,
            abi.encodeCall(IGolemRegistry.registerWithGrant, (grant, 0, SALT)),
            abi.encodeWithSelector(IGolemRegistry.GolemRegistry_NoSuchCaveat.selector, 0, 0)
        );
    }

    function test_terms_must_hold_the_whole_prefix_and_may_end_there() public {
        bytes memory whole = abi.encodePacked(golem, owner.account, uint16(0), uint32(0));
        for (uint256 length = 0; length < 58; length++) {
            bytes memory cut = new bytes(length);
            for (uint256 i = 0; i < length; i++) {
                cut[i] = whole[i];
            }

            refused(
                stranger.account,
                handIn(grantFrom(owner, agent.account, cut)),
                _termsTooShort(length)
            );
        }

        accepted(stranger.account, handIn(grantFrom(owner, agent.account, whole)));
    }

    /// @dev ATK-11.
    function test_a_grant_to_nobody_or_anybody_attaches_nothing() public {
        address[2] memory none = [address(0), address(0xa11)];
        for (uint256 i = 0; i < none.length; i++) {
            refused(
                stranger.account,
                handIn(grantFrom(owner, none[i], 0)),
                abi.encodeWithSelector(IGolemRegistry.GolemRegistry_NotAKey.selector, none[i])
            );
        }
    }

    function test_a_grant_switched_off_at_the_manager_is_refused() public {
        Delegation memory grant = grantFrom(owner, agent.account, 0);
        ManagerStub(MANAGER).disable(hashOf(grant));

        refused(
            stranger.account,
            handIn(grant),
            abi.encodeWithSelector(
                IGolemRegistry.GolemRegistry_GrantDisabled.selector, hashOf(grant)
            )
        );
    }

    // Signatures

    /// @dev The same point of the curve, upside down.
    function test_the_other_half_of_a_signature_is_refused() public {
        Delegation memory grant = grantFrom(owner, agent.account, 0);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(owner.key, digestOf(grant));
        uint256 high = ORDER - uint256(s);
        uint8 flipped = v == 27 ? 28 : 27;
        vm.assertEq(ecrecover(digestOf(grant), flipped, r, bytes32(high)), owner.account, "signer");

        grant.signature = abi.encodePacked(r, high, flipped);

        refused(
            stranger.account,
            handIn(grant),
            abi.encodeWithSelector(GrantSignature.GrantSignature_HighS.selector, high, ORDER / 2)
        );
    }

    function test_s_is_judged_at_half_the_order_exactly() public {
        Delegation memory grant = grantFrom(owner, agent.account, 0);

        grant.signature = abi.encodePacked(bytes32(0), ORDER / 2, uint8(27));
        refused(stranger.account, handIn(grant), _noSigner(grant));
        grant.signature = abi.encodePacked(bytes32(0), ORDER / 2 + 1, uint8(27));
        refused(
            stranger.account,
            handIn(grant),
            abi.encodeWithSelector(
                GrantSignature.GrantSignature_HighS.selector, ORDER / 2 + 1, ORDER / 2
            )
        );
    }

    function testFuzz_v_is_27_or_28(uint8 v) public {
        vm.assume(v != 27 && v != 28);
        Delegation memory grant = grantFrom(owner, agent.account, 0);
        grant.signature[64] = bytes1(v);

        refused(
            stranger.account,
            handIn(grant),
            abi.encodeWithSelector(GrantSignature.GrantSignature_RecoveryId.selector, v)
        );
    }

    /// @dev ATK-04, ATK-05: neither compact nor wrapped nor with something behind.
    function test_a_signature_has_65_bytes() public {
        Delegation memory grant = grantFrom(owner, agent.account, 0);
        bytes memory good = grant.signature;
        uint256[5] memory lengths = [uint256(0), 64, 66, 97, 130];

        for (uint256 i = 0; i < lengths.length; i++) {
            grant.signature = new bytes(lengths[i]);
            for (uint256 j = 0; j < lengths[i] && j < 65; j++) {
                grant.signature[j] = good[j];
            }

            refused(
                stranger.account,
                handIn(grant),
                abi.encodeWithSelector(
                    GrantSignature.GrantSignature_Length.selector, 65, lengths[i]
                )
            );
        }
    }

    /// @dev The zero address is what a failed recovery gives; it owns nothing.
    function test_a_signature_of_nobody_registers_no_golem_of_nobody() public {
        Delegation memory grant = grantFrom(owner, agent.account, terms(address(0), 0, 0));
        grant.signature = abi.encodePacked(bytes32(0), uint256(1), uint8(27));

        refused(stranger.account, handIn(grant), _noSigner(grant));
    }

    /// @dev ATK-02.
    function testFuzz_a_grant_for_one_chain_is_refused_on_another(uint64 chainId) public {
        vm.assume(chainId != block.chainid && chainId != 0);
        Delegation memory grant = grantFrom(owner, agent.account, 0);
        uint256 home = block.chainid;

        vm.chainId(chainId);
        _refusedAsSignedByAnother(grant);
        vm.chainId(home);
        accepted(stranger.account, handIn(grant));
    }

    /// @dev ATK-01.
    function test_a_grant_under_another_manager_or_domain_is_refused() public {
        Delegation memory grant = grantFrom(owner, agent.account, 0);

        grant.signature =
            signed(owner, digestOf(grant, "DelegationManager", block.chainid, stranger.account));
        _refusedAsSignedByAnother(grant);
        grant.signature =
            signed(owner, digestOf(grant, "DelegationManager2", block.chainid, MANAGER));
        _refusedAsSignedByAnother(grant);
        grant.signature = signed(owner, hashOf(grant));
        _refusedAsSignedByAnother(grant);
    }

    // Rotation

    function test_a_grant_of_a_higher_epoch_attaches_the_next_key() public {
        accepted(stranger.account, handIn(grantFrom(owner, agent.account, 1)));
        accepted(agent.account, abi.encodeCall(IGolemRegistry.updateVitality, (golem, 2, 500)));
        Delegation memory next = grantFrom(owner, successor.account, 2);
        uint256 before = GolemWord.unwrap(registry.word(golem));
        vm.warp(BIRTH + 7 days);

        vm.expectEmit(address(registry));
        emit IGolemRegistry.AgentDetached(golem, agent.account);
        vm.expectEmit(address(registry));
        emit IGolemRegistry.AgentAttached(golem, successor.account, 2, hashOf(next));
        vm.prank(stranger.account);
        registry.registerWithGrant(next, 1, SALT);

        vm.assertEq(attached(), successor.account, "agent key");
        vm.assertEq(attachedEpoch(), 2, "attached epoch");
        vm.assertEq(GolemWord.unwrap(registry.word(golem)), before, "state survives rotation");
        refused(agent.account, _heartbeat(), notAgent(golem, agent.account));
        accepted(successor.account, _heartbeat());
    }

    function test_feeding_by_a_new_grant_keeps_the_key_and_raises_the_epoch() public {
        accepted(stranger.account, handIn(grantFrom(owner, agent.account, 1)));

        accepted(stranger.account, handIn(grantFrom(owner, agent.account, 9)));

        vm.assertEq(attached(), agent.account, "agent key");
        vm.assertEq(attachedEpoch(), 9, "attached epoch");
        refused(stranger.account, handIn(grantFrom(owner, successor.account, 9)), notHigher(9, 9));
    }

    function testFuzz_only_a_higher_epoch_attaches(uint16 first, uint16 second) public {
        first = uint16(within(first, 0, 1023));
        second = uint16(within(second, 0, 1023));
        accepted(stranger.account, handIn(grantFrom(owner, agent.account, first)));
        bytes memory next = handIn(grantFrom(owner, successor.account, second));

        if (second > first) accepted(stranger.account, next);
        else refused(stranger.account, next, notHigher(second, first));

        vm.assertEq(attached(), second > first ? successor.account : agent.account, "agent key");
    }

    /// @dev An owner's own registration stands for the first epoch of the Golem.
    function test_after_an_owners_call_a_grant_of_epoch_zero_attaches_nothing() public {
        registerBoth();

        refused(stranger.account, handIn(grantFrom(owner, successor.account, 0)), notHigher(0, 0));
        accepted(stranger.account, handIn(grantFrom(owner, successor.account, 1)));
        vm.assertEq(attached(), successor.account, "agent key");
    }

    function test_the_first_series_ends_where_it_says() public {
        refused(stranger.account, handIn(grantFrom(owner, agent.account, 1024)), notGood(1024, 0));
        refused(
            stranger.account, handIn(grantFrom(owner, agent.account, 65_535)), notGood(65_535, 0)
        );

        accepted(stranger.account, handIn(grantFrom(owner, agent.account, 1023)));
    }

    // Replay

    function test_a_grant_handed_in_twice_changes_nothing() public {
        bytes memory first = handIn(grantFrom(owner, agent.account, 1));
        accepted(stranger.account, first);

        refused(stranger.account, first, notHigher(1, 1));
    }

    /// @dev ATK-31.
    function test_an_old_grant_does_not_undo_a_rotation() public {
        bytes memory old = handIn(grantFrom(owner, agent.account, 1));
        accepted(stranger.account, old);
        accepted(stranger.account, handIn(grantFrom(owner, successor.account, 2)));

        refused(agent.account, old, notHigher(1, 2));

        vm.assertEq(attached(), successor.account, "agent key");
    }

    function test_the_grant_of_a_detached_key_does_not_bring_it_back() public {
        bytes memory old = handIn(grantFrom(owner, agent.account, 1));
        accepted(stranger.account, old);
        accepted(owner.account, abi.encodeCall(IGolemRegistry.detach, golem));

        refused(agent.account, old, notHigher(1, 1));

        vm.assertEq(attached(), address(0), "agent key");
    }

    /// @dev The registry has never seen the grants of a key that its owner attached by call, so
    ///      their epochs look new.
    function test_a_grant_never_handed_in_does_not_bring_back_a_detached_key() public {
        registerBoth();
        bytes memory unseen = handIn(grantFrom(owner, agent.account, 5));
        accepted(owner.account, abi.encodeCall(IGolemRegistry.detach, golem));

        refused(agent.account, unseen, wasDetached(agent.account, 1024));
        refused(
            agent.account,
            handIn(grantFrom(owner, agent.account, 1023)),
            wasDetached(agent.account, 1024)
        );
        vm.assertEq(uint256(registry.returnEpochOf(golem, agent.account)), 1024, "return epoch");
        vm.assertEq(attached(), address(0), "agent key");
    }

    function test_nor_does_it_bring_back_a_key_that_its_owner_replaced() public {
        registerBoth();
        bytes memory unseen = handIn(grantFrom(owner, agent.account, 5));
        accepted(owner.account, abi.encodeCall(IGolemRegistry.attach, (golem, successor.account)));

        refused(agent.account, unseen, wasDetached(agent.account, 1024));

        vm.assertEq(attached(), successor.account, "agent key");
    }

    function test_a_detached_key_comes_back_by_its_owners_call_or_by_a_later_series() public {
        registerBoth();
        accepted(owner.account, abi.encodeCall(IGolemRegistry.detach, golem));

        accepted(owner.account, abi.encodeCall(IGolemRegistry.attach, (golem, agent.account)));
        vm.assertEq(uint256(registry.returnEpochOf(golem, agent.account)), 0, "return epoch");
        accepted(agent.account, _heartbeat());

        accepted(owner.account, abi.encodeCall(IGolemRegistry.detach, golem));
        accepted(owner.account, abi.encodeCall(IGolemRegistry.revoke, golem));
        refused(
            agent.account,
            handIn(grantFrom(owner, agent.account, 1023)),
            wasDetached(agent.account, 1024)
        );
        accepted(stranger.account, handIn(grantFrom(owner, agent.account, 1024)));
        accepted(agent.account, _heartbeat());
    }

    /// @dev In whichever order the owner does the two.
    function test_a_key_detached_after_a_revocation_waits_for_the_series_after_the_next() public {
        registerBoth();
        accepted(owner.account, abi.encodeCall(IGolemRegistry.revoke, golem));
        bytes memory unseen = handIn(grantFrom(owner, agent.account, 1025));
        accepted(owner.account, abi.encodeCall(IGolemRegistry.detach, golem));

        refused(agent.account, unseen, wasDetached(agent.account, 2048));
        accepted(stranger.account, handIn(grantFrom(owner, successor.account, 1024)));
        vm.assertEq(attached(), successor.account, "agent key");
    }

    function test_a_detached_key_leaves_the_way_free_for_another() public {
        accepted(stranger.account, handIn(grantFrom(owner, agent.account, 1)));
        accepted(owner.account, abi.encodeCall(IGolemRegistry.detach, golem));

        accepted(stranger.account, handIn(grantFrom(owner, successor.account, 2)));

        vm.assertEq(attached(), successor.account, "agent key");
        vm.assertEq(uint256(registry.returnEpochOf(golem, agent.account)), 1024, "return epoch");
    }

    function test_one_owners_detachment_does_not_bar_the_key_elsewhere() public {
        registerBoth();
        accepted(owner.account, abi.encodeCall(IGolemRegistry.detach, golem));
        Delegation memory grant = grantFrom(otherOwner, agent.account, 1);

        accepted(stranger.account, handIn(grant));

        (address key,) = registry.agentOf(otherGolem);
        vm.assertEq(key, agent.account, "agent key of the other");
    }

    function test_no_grant_signed_before_a_revocation_attaches_after_it() public {
        accepted(stranger.account, handIn(grantFrom(owner, agent.account, 1)));
        accepted(owner.account, abi.encodeCall(IGolemRegistry.revoke, golem));
        uint16[4] memory epochs = [uint16(1), 2, 500, 1023];

        for (uint256 i = 0; i < epochs.length; i++) {
            bytes memory old = handIn(grantFrom(owner, successor.account, epochs[i]));
            refused(
                stranger.account, old, epochs[i] == 1 ? notHigher(1, 1) : notGood(epochs[i], 1024)
            );
        }

        vm.assertEq(uint256(registry.word(golem).minEpoch()), 1024, "minimum epoch");
        accepted(stranger.account, handIn(grantFrom(owner, successor.account, 1024)));
        vm.assertEq(uint256(registry.word(golem).minEpoch()), 1024, "no grant moves it");
    }

    /// @dev The thief's move: the owner panics before the Golem is on the register.
    function test_a_golem_can_be_revoked_before_anybody_registers_it() public {
        bytes memory stolen = handIn(grantFrom(owner, agent.account, 4));
        accepted(owner.account, abi.encodeCall(IGolemRegistry.register, (SALT, address(0))));
        accepted(owner.account, abi.encodeCall(IGolemRegistry.revoke, golem));

        refused(agent.account, stolen, notGood(4, 1024));
    }

    function test_no_grant_of_an_earlier_generation_registers_or_attaches() public {
        bytes memory first = handIn(grantFrom(owner, agent.account, 1));
        bytes memory second = handIn(grantFrom(owner, successor.account, 2));
        accepted(owner.account, abi.encodeCall(IGolemRegistry.revokeAll, ()));
        refused(stranger.account, first, _otherGeneration(0, 1));
        vm.assertEq(registry.ownerOf(golem), address(0), "owner");

        accepted(
            stranger.account, handIn(grantFrom(owner, agent.account, terms(owner.account, 1, 1)))
        );
        refused(stranger.account, second, _otherGeneration(0, 1));
        refused(
            stranger.account,
            handIn(grantFrom(owner, successor.account, terms(owner.account, 2, 2))),
            _otherGeneration(2, 1)
        );

        vm.assertEq(attached(), agent.account, "agent key");
    }

    function test_no_grant_wakes_the_dead() public {
        accepted(stranger.account, handIn(grantFrom(owner, agent.account, 1)));
        accepted(agent.account, abi.encodeCall(IGolemRegistry.close, golem));
        uint256 before = GolemWord.unwrap(registry.word(golem));

        refused(stranger.account, handIn(grantFrom(owner, agent.account, 1)), isClosed(golem));
        refused(stranger.account, handIn(grantFrom(owner, successor.account, 2)), isClosed(golem));

        vm.assertEq(GolemWord.unwrap(registry.word(golem)), before, "word");
    }

    function test_no_grant_registers_again_what_its_owner_took_off_the_register() public {
        accepted(stranger.account, handIn(grantFrom(owner, agent.account, 1)));
        accepted(owner.account, abi.encodeCall(IGolemRegistry.deregister, golem));
        uint256 before = GolemWord.unwrap(registry.word(golem));

        refused(stranger.account, handIn(grantFrom(owner, agent.account, 1)), notRegistered(golem));
        refused(
            stranger.account, handIn(grantFrom(owner, successor.account, 2)), notRegistered(golem)
        );

        vm.assertEq(GolemWord.unwrap(registry.word(golem)), before, "word");
        vm.assertEq(attached(), address(0), "agent key");
    }

    function test_when_all_series_are_used_up_no_grant_attaches_any_more() public {
        registerBoth();
        for (uint256 i = 0; i < 63; i++) {
            accepted(owner.account, abi.encodeCall(IGolemRegistry.revoke, golem));
        }
        accepted(stranger.account, handIn(grantFrom(owner, successor.account, 65_534)));

        accepted(owner.account, abi.encodeCall(IGolemRegistry.revoke, golem));
        accepted(owner.account, abi.encodeCall(IGolemRegistry.revoke, golem));

        refused(
            stranger.account,
            handIn(grantFrom(owner, agent.account, 65_535)),
            notGood(65_535, 65_535)
        );
    }

    /// @dev Recovering always gives somebody; over other bytes, somebody else.
    function _refusedAsSignedByAnother(Delegation memory grant) private {
        bytes memory signature = grant.signature;
        (bytes32 r, bytes32 s) = abi.decode(signature, (bytes32, bytes32));
        address signer = ecrecover(digestOf(grant), uint8(signature[64]), r, s);

        refused(
            stranger.account,
            handIn(grant),
            abi.encodeWithSelector(
                IGolemRegistry.GolemRegistry_NotSignedByOwner.selector, owner.account, signer
            )
        );
    }

    function _heartbeat() private view returns (bytes memory) {
        return abi.encodeCall(IGolemRegistry.heartbeat, (golem, "head"));
    }

    function _noSigner(Delegation memory grant) private view returns (bytes memory) {
        return
            abi.encodeWithSelector(GrantSignature.GrantSignature_NoSigner.selector, digestOf(grant));
    }

    function _termsTooShort(uint256 actual) private pure returns (bytes memory) {
        return
            abi.encodeWithSelector(IGolemRegistry.GolemRegistry_TermsTooShort.selector, 58, actual);
    }

    function _otherGolem(bytes32 named, bytes32 derived) private pure returns (bytes memory) {
        return
            abi.encodeWithSelector(IGolemRegistry.GolemRegistry_OtherGolem.selector, named, derived);
    }

    function _otherGeneration(uint32 named, uint32 current) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            IGolemRegistry.GolemRegistry_OtherGeneration.selector, owner.account, named, current
        );
    }
}

/// @notice Four hooks that agree to everything.
contract OpenEnforcer is CaveatEnforcer {}

/// @notice The library's own hashes, for comparison.
contract Hasher {
    function structHash(Delegation calldata grant) external pure returns (bytes32) {
        return GrantSignature.structHash(grant);
    }

    function digestOf(bytes32 hash) external view returns (bytes32) {
        return GrantSignature.digestOf(hash);
    }
}

/// @notice The same grants as the real DelegationManager redeems.
contract GolemRegistryDevchainTest is DevchainTest {
    bytes32 private constant SALT = keccak256("first Golem");

    GolemRegistry private _registry;
    Hasher private _hasher;
    OpenEnforcer private _enforcer;
    Actor private _agent;

    function setUp() public override {
        super.setUp();
        _registry = new GolemRegistry();
        _hasher = new Hasher();
        _enforcer = new OpenEnforcer();
        _agent = actor("agent");
    }

    function testFuzz_hashes_are_the_managers(
        Delegation memory grant,
        uint64 chainId,
        uint8 caveats
    ) public {
        Caveat[] memory given = grant.caveats;
        uint256 count = caveats % 5 < given.length ? caveats % 5 : given.length;
        grant.caveats = new Caveat[](count);
        for (uint256 i = 0; i < count; i++) {
            grant.caveats[i] = given[i];
        }

        bytes32 hash = _hasher.structHash(grant);

        vm.assertEq(hash, MANAGER.getDelegationHash(grant), "hash");
        vm.chainId(within(chainId, 1, type(uint64).max));
        vm.assertEq(
            _hasher.digestOf(hash),
            keccak256(abi.encodePacked(hex"1901", MANAGER.getDomainHash(), hash)),
            "digest"
        );
    }

    /// @dev A vault account's grant is signed by the key that owns it; the Golem is that key's.
    function test_the_grant_of_a_vault_serves_manager_and_registry_alike() public {
        _servesBoth(hybridOwner());
    }

    function test_the_grant_of_a_7702_account_serves_manager_and_registry_alike() public {
        _servesBoth(stateless7702Owner());
    }

    function test_the_grant_of_several_signers_names_no_single_owner() public {
        Owner memory from = multiSigOwner();
        Delegation memory grant = _grant(from, 0);
        redeem(_agent.account, grant, SINGLE_DEFAULT, oneNote());

        vm.expectRevert(
            abi.encodeWithSelector(GrantSignature.GrantSignature_Length.selector, 65, 130)
        );
        _registry.registerWithGrant(grant, 0, SALT);
    }

    function test_a_grant_disabled_at_the_manager_registers_nothing_until_enabled() public {
        Owner memory from = stateless7702Owner();
        Delegation memory grant = _grant(from, 0);
        vm.prank(from.account);
        MANAGER.disableDelegation(grant);

        vm.expectRevert(
            abi.encodeWithSelector(
                IGolemRegistry.GolemRegistry_GrantDisabled.selector,
                MANAGER.getDelegationHash(grant)
            )
        );
        _registry.registerWithGrant(grant, 0, SALT);

        vm.prank(from.account);
        MANAGER.enableDelegation(grant);
        _registry.registerWithGrant(grant, 0, SALT);
    }

    /// @dev ATK-46: the manager would take the Golem's own child grant, the registry does not.
    function test_an_agents_own_grant_attaches_nobody() public {
        Owner memory from = stateless7702Owner();
        Delegation memory above = _grant(from, 0);
        _registry.registerWithGrant(above, 0, SALT);
        Actor memory thief = actor("thief");
        Delegation memory leaf =
            child(above, _agent, thief.account, only(address(_enforcer), _terms(from.account, 1)));
        redeem(thief.account, leaf, above, SINGLE_DEFAULT, oneNote());

        vm.expectRevert(
            abi.encodeWithSelector(
                IGolemRegistry.GolemRegistry_NotSignedByOwner.selector, from.account, _agent.account
            )
        );
        _registry.registerWithGrant(leaf, 0, SALT);
    }

    function _servesBoth(Owner memory from) private {
        address key = from.signers[0].account;
        Delegation memory grant = _grant(from, 7);

        redeem(_agent.account, grant, SINGLE_DEFAULT, oneNote());
        bytes32 made = _registry.registerWithGrant(grant, 0, SALT);

        (address agentKey, uint16 epoch) = _registry.agentOf(made);
        vm.assertEq(witness.callsBy(from.account), 1, "calls made by the owner's account");
        vm.assertEq(made, keccak256(abi.encode(key, SALT)), "id");
        vm.assertEq(_registry.ownerOf(made), key, "owner");
        vm.assertEq(agentKey, _agent.account, "agent key");
        vm.assertEq(uint256(epoch), 7, "epoch");
    }

    function _grant(Owner memory from, uint16 epoch) private view returns (Delegation memory) {
        bytes memory terms = _terms(from.signers[0].account, epoch);
        return root(from, _agent.account, only(address(_enforcer), terms));
    }

    function _terms(address named, uint16 epoch) private pure returns (bytes memory) {
        return abi.encodePacked(keccak256(abi.encode(named, SALT)), named, epoch, uint32(0));
    }
}
