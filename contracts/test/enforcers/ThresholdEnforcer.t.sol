// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ExecutionModes} from "../../src/enforcers/ExecutionModes.sol";
import {ThresholdEnforcer} from "../../src/enforcers/ThresholdEnforcer.sol";
import {
    Caveat,
    Delegation,
    Execution,
    IDelegationManager
} from "../../src/interfaces/IDelegationManager.sol";
import {
    BATCH_DEFAULT,
    BATCH_TRY,
    ModeCode,
    SINGLE_DEFAULT,
    SINGLE_TRY
} from "../../src/interfaces/ModeCode.sol";
import {GrantSignature} from "../../src/registry/GrantSignature.sol";
import {Threshold} from "../../src/rules/Threshold.sol";
import {Puppet} from "../Puppet.sol";
import {CouncilTest} from "./CouncilTest.sol";

contract ThresholdEnforcerTest is CouncilTest {
    uint256 private constant ORDER =
        0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;

    // Who must agree

    function test_any_two_of_three_will_do_for_every_kind_of_owner() public {
        Kind[3] memory kinds = allKinds();
        for (uint256 i = 0; i < kinds.length; i++) {
            Owner memory from = owner(kinds[i]);
            if (i != 0) law = golem(from);
            Delegation memory leaf = _given(from);
            bytes memory execution = swap(SOLD);
            uint256 nonce = 0;
            for (uint256 first = 0; first < 3; first++) {
                for (uint256 second = first + 1; second < 3; second++) {
                    bytes32 what = _digest(leaf, SINGLE_DEFAULT, execution, nonce);
                    armed(leaf, args(what, nonce, DEADLINE, members[first], members[second]));
                    redeem(agent.account, leaf, SINGLE_DEFAULT, execution);
                    nonce++;
                }
            }

            vm.assertEq(USDC.balanceOf(from.account), 10_000e6 - 3 * SOLD, "sold");
        }
    }

    function test_every_kind_of_owner_is_protected() public {
        Kind[3] memory kinds = allKinds();
        for (uint256 i = 0; i < kinds.length; i++) {
            Owner memory from = owner(kinds[i]);
            if (i != 0) law = golem(from);
            Delegation memory leaf = _given(from);
            bytes memory execution = swap(SOLD);
            bytes32 what = _digest(leaf, SINGLE_DEFAULT, execution, 0);

            _refuses(leaf, "", execution, _argsLength(167, 0));
            _refuses(
                leaf,
                args(what, 0, DEADLINE, members[1], members[1]),
                execution,
                _order(members[1].account, members[1].account)
            );

            vm.assertEq(USDC.balanceOf(from.account), 10_000e6, "nothing sold");
        }
    }

    function test_a_batch_is_agreed_to_as_a_whole() public {
        Delegation memory leaf = _given(me());
        armed(leaf, agreement(leaf, BATCH_DEFAULT, swaps(), 0));
        redeem(agent.account, leaf, BATCH_DEFAULT, swaps());

        vm.assertEq(USDC.balanceOf(law.account), 10_000e6 - 2 * SOLD, "sold twice");
    }

    function test_one_signer_twice_is_one() public {
        Delegation memory leaf = _given(me());
        bytes memory execution = swap(SOLD);
        bytes32 what = _digest(leaf, SINGLE_DEFAULT, execution, 0);
        for (uint256 i = 0; i < 3; i++) {
            _refuses(
                leaf,
                args(what, 0, DEADLINE, members[i], members[i]),
                execution,
                _order(members[i].account, members[i].account)
            );
        }
    }

    function test_signatures_stand_in_the_order_of_signers() public {
        Delegation memory leaf = _given(me());
        bytes memory execution = swap(SOLD);
        bytes32 what = _digest(leaf, SINGLE_DEFAULT, execution, 0);
        _refuses(
            leaf,
            args(what, 0, DEADLINE, members[2], members[0]),
            execution,
            _order(members[0].account, members[2].account)
        );
    }

    /// @dev One good and one of somebody else: beside, before and behind the member.
    function test_who_is_not_named_does_not_count() public {
        Delegation memory leaf = _given(me());
        bytes memory execution = swap(SOLD);
        bytes32 what = _digest(leaf, SINGLE_DEFAULT, execution, 0);
        for (uint256 i = 0; i < 12; i++) {
            Actor memory stranger = actor(string.concat("stranger ", vm.toString(i)));
            bool behind = stranger.account > members[1].account;
            bytes memory made = behind
                ? args(what, 0, DEADLINE, members[1], stranger)
                : args(what, 0, DEADLINE, stranger, members[1]);
            _refuses(leaf, made, execution, _notASigner(stranger.account));
        }
        // Nor the redeemer, nor the owner.
        _refusesStranger(leaf, what, execution, agent);
        _refusesStranger(leaf, what, execution, me().signers[0]);
    }

    function test_fewer_or_more_signatures_than_needed_are_refused() public {
        Delegation memory leaf = _given(me());
        bytes memory execution = swap(SOLD);
        bytes32 what = _digest(leaf, SINGLE_DEFAULT, execution, 0);
        bytes memory whole = args(what, 0, DEADLINE, members[0], members[1]);

        for (uint256 length = 0; length < whole.length; length++) {
            _refuses(leaf, _cut(whole, length), execution, _argsLength(167, length));
        }
        for (uint256 extra = 1; extra <= 65; extra++) {
            _refuses(
                leaf,
                bytes.concat(whole, new bytes(extra)),
                execution,
                _argsLength(167, 167 + extra)
            );
        }
        _refuses(
            leaf, bytes.concat(whole, signed(members[2], what)), execution, _argsLength(167, 232)
        );
    }

    // What they agreed to

    function test_the_contracts_digest_is_the_one_of_eip_712() public view {
        bytes memory execution = swap(SOLD);
        vm.assertEq(
            threshold.digestOf(address(1), keccak256("hash"), BATCH_DEFAULT, execution, 7, 8),
            digest(address(1), keccak256("hash"), BATCH_DEFAULT, execution, 7, 8),
            "digest"
        );
    }

    /// @dev ATK-03.
    function test_signatures_for_another_execution_are_none() public {
        Delegation memory leaf = _given(me());
        bytes memory made = agreement(leaf, SINGLE_DEFAULT, swap(SOLD), 0);
        bytes memory other = swap(SOLD + 1);

        _refusesDigest(leaf, made, other, _digest(leaf, SINGLE_DEFAULT, other, 0));
        other = bytes.concat(swap(SOLD), hex"00");
        _refusesDigest(leaf, made, other, _digest(leaf, SINGLE_DEFAULT, other, 0));
        armed(leaf, made);
        redeem(agent.account, leaf, SINGLE_DEFAULT, swap(SOLD));
    }

    /// @dev The same owner, council and call, for another delegate.
    function test_signatures_for_another_delegation_are_none() public {
        Delegation memory leaf = _given(me());
        bytes memory execution = swap(SOLD);
        bytes memory made = agreement(leaf, SINGLE_DEFAULT, execution, 0);
        Actor memory next = actor("next key");
        Delegation memory other = root(me(), next.account, only(address(threshold), council()));

        bytes32 what = _digest(other, SINGLE_DEFAULT, execution, 0);
        armed(other, made);
        vm.expectRevert(_recovered(made, what));
        redeem(next.account, other, SINGLE_DEFAULT, execution);
    }

    /// @dev The bytes of a batch as a single call, and the other way round.
    function test_signatures_for_another_mode_are_none() public {
        Delegation memory leaf = _given(me());
        bytes memory made = agreement(leaf, BATCH_DEFAULT, swaps(), 0);

        _refusesDigest(leaf, made, swaps(), _digest(leaf, SINGLE_DEFAULT, swaps(), 0));
        made = agreement(leaf, SINGLE_DEFAULT, swaps(), 0);
        armed(leaf, made);
        vm.expectRevert(_recovered(made, _digest(leaf, BATCH_DEFAULT, swaps(), 0)));
        redeem(agent.account, leaf, BATCH_DEFAULT, swaps());
    }

    /// @dev ATK-03: the redeemer changes what no owner signed, the arguments.
    function test_another_nonce_or_deadline_than_signed_is_refused() public {
        Delegation memory leaf = _given(me());
        bytes memory execution = swap(SOLD);
        bytes memory made = agreement(leaf, SINGLE_DEFAULT, execution, 0);

        made[31] = 0x01;
        _refusesDigest(leaf, made, execution, _digest(leaf, SINGLE_DEFAULT, execution, 1));
        made[31] = 0x00;
        made[36] = bytes1(uint8(made[36]) + 1);
        bytes32 hash = MANAGER.getDelegationHash(leaf);
        bytes32 later = digest(address(MANAGER), hash, SINGLE_DEFAULT, execution, 0, DEADLINE + 1);
        _refusesDigest(leaf, made, execution, later);
    }

    /// @dev ATK-01: signatures name the manager that may act on them.
    function test_signatures_for_another_manager_are_none() public {
        Delegation memory leaf = _given(me());
        bytes32 hash = MANAGER.getDelegationHash(leaf);
        bytes memory execution = swap(SOLD);
        address other = actor("another manager").account;
        bytes memory made = agreement(leaf, SINGLE_DEFAULT, execution, 0);

        bytes32 what = digest(other, hash, SINGLE_DEFAULT, execution, 0, DEADLINE);
        vm.expectRevert(_recovered(made, what));
        vm.prank(other);
        _hook(council(), made, SINGLE_DEFAULT, execution, hash);

        made = args(what, 0, DEADLINE, members[0], members[1]);
        _refusesDigest(leaf, made, execution, _digest(leaf, SINGLE_DEFAULT, execution, 0));
        vm.prank(other);
        _hook(council(), made, SINGLE_DEFAULT, execution, hash);
        vm.assertFalse(threshold.isNonceUsed(address(MANAGER), hash, 0), "the real one's");
        vm.assertTrue(threshold.isNonceUsed(other, hash, 0), "his own");
    }

    /// @dev ATK-02. The manager's own signature check would refuse first, so the hook is asked alone.
    function test_signatures_for_another_chain_are_none() public {
        Delegation memory leaf = _given(me());
        bytes32 hash = MANAGER.getDelegationHash(leaf);
        bytes memory execution = swap(SOLD);
        bytes memory made = agreement(leaf, SINGLE_DEFAULT, execution, 0);
        vm.chainId(1);

        vm.expectRevert(_recovered(made, _digest(leaf, SINGLE_DEFAULT, execution, 0)));
        vm.prank(address(MANAGER));
        _hook(council(), made, SINGLE_DEFAULT, execution, hash);
        vm.chainId(8453);
        vm.prank(address(MANAGER));
        _hook(council(), made, SINGLE_DEFAULT, execution, hash);
    }

    /// @dev Another copy of the enforcer is another verifying contract.
    function test_signatures_for_another_enforcer_are_none() public {
        Delegation memory leaf = _given(me());
        bytes32 hash = MANAGER.getDelegationHash(leaf);
        bytes memory execution = swap(SOLD);
        bytes memory made = agreement(leaf, SINGLE_DEFAULT, execution, 0);
        threshold = new ThresholdEnforcer();

        vm.expectRevert(_recovered(made, _digest(leaf, SINGLE_DEFAULT, execution, 0)));
        vm.prank(address(MANAGER));
        _hook(council(), made, SINGLE_DEFAULT, execution, hash);
    }

    function test_an_agreement_holds_to_its_last_second_and_no_longer() public {
        Delegation memory leaf = _given(me());
        bytes memory execution = swap(SOLD);
        bytes memory made = agreement(leaf, SINGLE_DEFAULT, execution, 0);

        vm.warp(uint256(DEADLINE) + 1);
        _refuses(
            leaf,
            made,
            execution,
            abi.encodeWithSelector(
                Threshold.Threshold_Expired.selector, DEADLINE, uint256(DEADLINE) + 1
            )
        );
        vm.warp(DEADLINE);
        armed(leaf, made);
        redeem(agent.account, leaf, SINGLE_DEFAULT, execution);
    }

    /// @dev Two executions in one redemption, each with the other's arguments.
    function test_arguments_changed_between_two_executions_are_refused() public {
        Delegation memory leaf = _given(me());
        bytes[] memory executions = new bytes[](2);
        (executions[0], executions[1]) = (swap(SOLD), swap(2 * SOLD));
        bytes memory first = agreement(leaf, SINGLE_DEFAULT, executions[0], 0);
        bytes memory second = agreement(leaf, SINGLE_DEFAULT, executions[1], 1);

        bytes[] memory contexts = new bytes[](2);
        (contexts[0], contexts[1]) = (_context(leaf, second), _context(leaf, first));
        vm.expectRevert(_recovered(second, _digest(leaf, SINGLE_DEFAULT, executions[0], 1)));
        vm.prank(agent.account);
        MANAGER.redeemDelegations(contexts, new ModeCode[](2), executions);

        (contexts[0], contexts[1]) = (_context(leaf, first), _context(leaf, second));
        vm.prank(agent.account);
        MANAGER.redeemDelegations(contexts, new ModeCode[](2), executions);
        vm.assertEq(USDC.balanceOf(law.account), 10_000e6 - 3 * SOLD, "both");
    }

    function testFuzz_any_bit_of_the_arguments_that_changes_is_noticed(uint256 bit) public {
        Delegation memory leaf = _given(me());
        bytes32 hash = MANAGER.getDelegationHash(leaf);
        bytes memory execution = swap(SOLD);
        bytes memory made = agreement(leaf, SINGLE_DEFAULT, execution, 0);
        bit = within(bit, 0, made.length * 8 - 1);
        made[bit / 8] ^= bytes1(uint8(1 << (bit % 8)));

        vm.prank(address(MANAGER));
        try threshold.beforeHook(
            council(), made, SINGLE_DEFAULT, execution, hash, law.account, agent.account
        ) {
            vm.assertTrue(false, "accepted");
        } catch {}
    }

    // Forms of one signature

    function test_the_other_half_of_the_curve_is_refused() public {
        Delegation memory leaf = _given(me());
        bytes memory execution = swap(SOLD);
        bytes32 what = _digest(leaf, SINGLE_DEFAULT, execution, 0);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(members[1].key, what);
        uint256 high = ORDER - uint256(s);
        bytes memory made = abi.encodePacked(
            uint256(0), DEADLINE, signed(members[0], what), r, high, v == 27 ? uint8(28) : uint8(27)
        );

        _refuses(
            leaf,
            made,
            execution,
            abi.encodeWithSelector(
                GrantSignature.GrantSignature_HighS.selector, high, GrantSignature.MAX_S
            )
        );
    }

    function test_no_other_recovery_id_than_27_and_28_is_taken() public {
        Delegation memory leaf = _given(me());
        bytes memory execution = swap(SOLD);
        bytes memory made = agreement(leaf, SINGLE_DEFAULT, execution, 0);
        for (uint8 v = 0; v < 255; v++) {
            if (v == 27 || v == 28) continue;
            made[made.length - 1] = bytes1(v);
            _refuses(
                leaf,
                made,
                execution,
                abi.encodeWithSelector(GrantSignature.GrantSignature_RecoveryId.selector, v)
            );
        }
    }

    function test_a_signature_of_nobody_is_refused() public {
        Delegation memory leaf = _given(me());
        bytes memory execution = swap(SOLD);
        bytes32 what = _digest(leaf, SINGLE_DEFAULT, execution, 0);
        bytes memory made = abi.encodePacked(
            uint256(0), DEADLINE, new bytes(64), uint8(27), signed(members[0], what)
        );

        _refuses(
            leaf,
            made,
            execution,
            abi.encodeWithSelector(GrantSignature.GrantSignature_NoSigner.selector, what)
        );
    }

    /// @dev A member whose account has code by EIP-7702 signs with his key like the others.
    function test_a_member_with_code_signs_with_his_key() public {
        vm.etch(members[0].account, abi.encodePacked(hex"ef0100", STATELESS_7702));
        agreedSwap(_given(me()), 0);
    }

    /// @dev A contract on the list never agrees: its key's signature is the key's.
    function test_a_contract_does_not_sign() public {
        Owner memory vaulted = hybridOwner();
        bytes memory made = abi.encodePacked(uint8(1), vaulted.account);
        Delegation memory leaf = root(me(), agent.account, only(address(threshold), made));
        bytes memory execution = swap(SOLD);
        bytes32 what = _digest(leaf, SINGLE_DEFAULT, execution, 0);

        _refuses(
            leaf,
            abi.encodePacked(uint256(0), DEADLINE, signed(vaulted.signers[0], what)),
            execution,
            _notASigner(vaulted.signers[0].account)
        );
    }

    // Once

    function test_what_was_agreed_to_once_is_done_once() public {
        Delegation memory leaf = _given(me());
        agreedSwap(leaf, 0);

        vm.expectRevert(_used(0));
        redeem(agent.account, leaf, SINGLE_DEFAULT, swap(SOLD));
        // Nor is the nonce good for anything else.
        bytes memory other = swap(2 * SOLD);
        _refuses(leaf, agreement(leaf, SINGLE_DEFAULT, other, 0), other, _used(0));
        agreedSwap(leaf, 1);
        vm.assertEq(USDC.balanceOf(law.account), 10_000e6 - 2 * SOLD, "sold twice");
    }

    function test_nonces_need_no_order() public {
        Delegation memory leaf = _given(me());
        uint256[5] memory nonces = [uint256(256), 0, type(uint256).max, 255, 1];
        bytes32 hash = MANAGER.getDelegationHash(leaf);
        for (uint256 i = 0; i < nonces.length; i++) {
            agreedSwap(leaf, nonces[i]);
            vm.assertTrue(threshold.isNonceUsed(address(MANAGER), hash, nonces[i]), "used");
        }
        vm.assertFalse(threshold.isNonceUsed(address(MANAGER), hash, 2), "unused");
    }

    function test_an_execution_that_fails_uses_nothing_up() public {
        Delegation memory leaf = _given(me());
        bytes memory execution = single(ROUTER_02, sellUsdc(SOLD, 1 ether, law.account));
        _refuses(
            leaf,
            agreement(leaf, SINGLE_DEFAULT, execution, 0),
            execution,
            abi.encodeWithSignature("Error(string)", "Too little received")
        );
        vm.assertFalse(
            threshold.isNonceUsed(address(MANAGER), MANAGER.getDelegationHash(leaf), 0), "unused"
        );
    }

    /// @dev ATK-28: what was agreed to calls the redeemer, who redeems it again from inside.
    function test_an_agreement_is_not_used_again_inside_itself() public {
        Puppet puppet = new Puppet();
        Delegation memory leaf = root(me(), address(puppet), only(address(threshold), council()));
        bytes memory execution = single(address(puppet), abi.encodeCall(Puppet.poke, ()));
        bytes memory made = agreement(leaf, SINGLE_DEFAULT, execution, 0);
        bytes[] memory contexts = new bytes[](1);
        contexts[0] = _context(leaf, made);
        bytes[] memory executions = new bytes[](1);
        executions[0] = execution;
        Execution[] memory again = new Execution[](1);
        again[0] = Execution(
            address(MANAGER),
            0,
            abi.encodeCall(
                IDelegationManager.redeemDelegations, (contexts, new ModeCode[](1), executions)
            )
        );
        puppet.plan(again);

        armed(leaf, made);
        vm.expectRevert(_used(0));
        redeem(address(puppet), leaf, SINGLE_DEFAULT, execution);
    }

    /// @dev Two grants do not share nonces: each agreement names one of them.
    function test_two_delegations_have_nonces_of_their_own() public {
        Delegation memory leaf = _given(me());
        agreedSwap(leaf, 0);
        Actor memory next = actor("next key");
        Delegation memory other = root(me(), next.account, only(address(threshold), council()));
        bytes memory execution = swap(SOLD);

        armed(other, agreement(other, SINGLE_DEFAULT, execution, 0));
        redeem(next.account, other, SINGLE_DEFAULT, execution);
        vm.expectRevert(_used(0));
        redeem(next.account, other, SINGLE_DEFAULT, execution);
    }

    // Chains

    function test_a_council_above_binds_its_children_together() public {
        Delegation memory above = _given(me());
        Actor memory one = actor("one replicant");
        Actor memory other = actor("other replicant");
        Delegation memory first = child(above, agent, one.account, noCaveats());
        Delegation memory second = child(above, agent, other.account, noCaveats());
        bytes memory execution = swap(SOLD);

        vm.expectRevert(_argsLength(167, 0));
        redeem(one.account, first, above, SINGLE_DEFAULT, execution);
        armed(above, agreement(above, SINGLE_DEFAULT, execution, 0));
        redeem(one.account, first, above, SINGLE_DEFAULT, execution);
        vm.expectRevert(_used(0));
        redeem(other.account, second, above, SINGLE_DEFAULT, execution);
    }

    function test_a_council_on_the_child_binds_the_child_alone() public {
        Actor memory replicant = actor("replicant");
        Delegation memory above = root(me(), agent.account, noCaveats());
        Delegation memory leaf =
            child(above, agent, replicant.account, only(address(threshold), council()));
        bytes memory execution = swap(SOLD);

        vm.expectRevert(_argsLength(167, 0));
        redeem(replicant.account, leaf, above, SINGLE_DEFAULT, execution);
        armed(leaf, agreement(leaf, SINGLE_DEFAULT, execution, 0));
        redeem(replicant.account, leaf, above, SINGLE_DEFAULT, execution);
        redeem(agent.account, above, SINGLE_DEFAULT, execution);
    }

    /// @dev ATK-23: two councils on one link both must agree, each under a nonce of its own.
    function test_two_councils_on_one_link_need_an_agreement_each() public {
        Caveat[] memory caveats = new Caveat[](2);
        caveats[0] = Caveat(address(threshold), council(), "");
        caveats[1] = Caveat(address(threshold), abi.encodePacked(uint8(1), members[2].account), "");
        Delegation memory leaf = root(me(), agent.account, caveats);
        bytes memory execution = swap(SOLD);
        armed(leaf, agreement(leaf, SINGLE_DEFAULT, execution, 0));

        leaf.caveats[1].args = _one(leaf, execution, 0);
        vm.expectRevert(_used(0));
        redeem(agent.account, leaf, SINGLE_DEFAULT, execution);
        leaf.caveats[1].args = _one(leaf, execution, 1);
        redeem(agent.account, leaf, SINGLE_DEFAULT, execution);
    }

    // Modes

    /// @dev ATK-12, ATK-13.
    function test_try_modes_are_refused() public {
        Delegation memory leaf = _given(me());
        armed(leaf, agreement(leaf, SINGLE_TRY, swap(SOLD), 0));
        vm.expectRevert(_modeRefused(SINGLE_TRY));
        redeem(agent.account, leaf, SINGLE_TRY, swap(SOLD));
        armed(leaf, agreement(leaf, BATCH_TRY, swaps(), 0));
        vm.expectRevert(_modeRefused(BATCH_TRY));
        redeem(agent.account, leaf, BATCH_TRY, swaps());
    }

    /// @dev ATK-12: also where all of them signed for it.
    function testFuzz_every_other_mode_is_refused(bytes32 word, uint16 kinds) public {
        ModeCode mode = ModeCode.wrap(kinds % 2 == 0 ? word : bytes32(uint256(kinds) << 240));
        vm.assume(mode != SINGLE_DEFAULT && mode != BATCH_DEFAULT);
        Delegation memory leaf = _given(me());
        bytes memory made = agreement(leaf, mode, swap(SOLD), 0);
        bytes32 hash = MANAGER.getDelegationHash(leaf);

        vm.expectRevert(_modeRefused(mode));
        vm.prank(address(MANAGER));
        _hook(council(), made, mode, swap(SOLD), hash);
    }

    // Terms

    function test_malformed_terms_are_never_redeemed() public {
        address a = members[0].account;
        address b = members[1].account;
        _refusesTerms(hex"", _termsLength(0));
        _refusesTerms(hex"01", _termsLength(1));
        _refusesTerms(_cut(council(), 60), _termsLength(60));
        _refusesTerms(bytes.concat(council(), hex"00"), _termsLength(62));
        _refusesTerms(abi.encodePacked(uint8(0), a, b), _needed(0, 2));
        _refusesTerms(abi.encodePacked(uint8(3), a, b), _needed(3, 2));
        _refusesTerms(abi.encodePacked(uint8(1), b, a), _signerOrder(1));
        _refusesTerms(abi.encodePacked(uint8(2), a, a), _signerOrder(1));
        _refusesTerms(abi.encodePacked(uint8(1), address(0), a), _signerOrder(0));
    }

    /// @dev ATK-03: the list is part of what the owner signed.
    function test_another_council_than_signed_is_refused() public {
        Delegation memory leaf = _given(me());
        leaf.caveats[0].terms = abi.encodePacked(uint8(1), agent.account);
        vm.expectRevert(IDelegationManager.InvalidERC1271Signature.selector);
        redeem(agent.account, leaf, SINGLE_DEFAULT, swap(SOLD));
    }

    function test_the_terms_are_read_back() public view {
        (uint8 needed, address[] memory signers) = threshold.getTermsInfo(council());

        vm.assertEq(needed, 2, "needed");
        vm.assertEq(signers.length, 3, "signers");
        for (uint256 i = 0; i < 3; i++) {
            vm.assertEq(signers[i], members[i].account, "signer");
        }
    }

    // Strangers

    /// @dev ATK-01: whoever sees an agreement on its way cannot use its nonce up.
    function test_a_stranger_with_the_agreement_uses_nothing_up() public {
        Delegation memory leaf = _given(me());
        bytes32 hash = MANAGER.getDelegationHash(leaf);
        bytes memory execution = swap(SOLD);
        bytes memory made = agreement(leaf, SINGLE_DEFAULT, execution, 0);
        address stranger = actor("stranger").account;

        bytes32 what = digest(stranger, hash, SINGLE_DEFAULT, execution, 0, DEADLINE);
        vm.expectRevert(_recovered(made, what));
        vm.prank(stranger);
        _hook(council(), made, SINGLE_DEFAULT, execution, hash);
        armed(leaf, made);
        vm.expectRevert(IDelegationManager.InvalidDelegate.selector);
        redeem(stranger, leaf, SINGLE_DEFAULT, execution);

        redeem(agent.account, leaf, SINGLE_DEFAULT, execution);
    }

    /// @dev He may name himself as council, and uses a nonce up under his own address.
    function testFuzz_a_strangers_direct_call_writes_one_slot_under_his_address(
        address stranger,
        uint256 nonce,
        bytes32 hash
    ) public {
        vm.assume(stranger != address(vm) && stranger != address(MANAGER));
        bytes32 what = digest(stranger, hash, SINGLE_DEFAULT, "", nonce, DEADLINE);
        bytes memory made = abi.encodePacked(nonce, DEADLINE, signed(members[0], what));
        vm.record();
        vm.prank(stranger);
        _hook(abi.encodePacked(uint8(1), members[0].account), made, SINGLE_DEFAULT, "", hash);

        (, bytes32[] memory writes) = vm.accesses(address(threshold));
        bytes32 slot = keccak256(abi.encode(stranger, uint256(0)));
        slot = keccak256(abi.encode(hash, slot));
        slot = keccak256(abi.encode(nonce >> 8, slot));
        vm.assertEq(writes.length, 1, "slots written");
        vm.assertEq(writes[0], slot, "his own");
        vm.assertFalse(threshold.isNonceUsed(address(MANAGER), hash, nonce), "the manager's");
    }

    function testFuzz_the_other_hooks_look_at_nothing(bytes memory noise, bytes32 word, address who)
        public
    {
        ModeCode mode = ModeCode.wrap(word);
        vm.record();

        threshold.beforeAllHook(noise, noise, mode, noise, word, who, who);
        threshold.afterHook(noise, noise, mode, noise, word, who, who);
        threshold.afterAllHook(noise, noise, mode, noise, word, who, who);

        (bytes32[] memory reads, bytes32[] memory writes) = vm.accesses(address(threshold));
        vm.assertEq(reads.length + writes.length, 0, "slots touched");
    }

    // Any council

    /// @dev Some of up to seven sign, in order; it passes if they are as many as are needed.
    function testFuzz_as_many_as_are_needed_are_enough(uint8 count, uint8 needed, uint8 chosen)
        public
    {
        count = uint8(within(count, 1, 7));
        needed = uint8(within(needed, 1, count));
        string[] memory names = new string[](count);
        for (uint256 i = 0; i < count; i++) {
            names[i] = string.concat("member ", vm.toString(i));
        }
        Actor[] memory all = ordered(names);
        bytes memory made = abi.encodePacked(needed);
        for (uint256 i = 0; i < count; i++) {
            made = bytes.concat(made, bytes20(all[i].account));
        }
        bytes32 what = digest(address(MANAGER), "hash", SINGLE_DEFAULT, "", 0, DEADLINE);
        bytes memory proof = abi.encodePacked(uint256(0), DEADLINE);
        uint256 number = 0;
        for (uint256 i = 0; i < count; i++) {
            if (chosen & (1 << i) == 0) continue;
            proof = bytes.concat(proof, signed(all[i], what));
            number++;
        }

        if (number != needed) {
            vm.expectRevert(_argsLength(37 + uint256(needed) * 65, 37 + number * 65));
        }
        vm.prank(address(MANAGER));
        _hook(made, proof, SINGLE_DEFAULT, "", "hash");
    }

    // Helpers

    function _given(Owner memory from) private view returns (Delegation memory) {
        return root(from, agent.account, only(address(threshold), council()));
    }

    function _hook(
        bytes memory terms,
        bytes memory made,
        ModeCode mode,
        bytes memory execution,
        bytes32 hash
    ) private {
        threshold.beforeHook(terms, made, mode, execution, hash, law.account, agent.account);
    }

    function _digest(Delegation memory leaf, ModeCode mode, bytes memory execution, uint256 nonce)
        private
        view
        returns (bytes32)
    {
        bytes32 hash = MANAGER.getDelegationHash(leaf);
        return digest(address(MANAGER), hash, mode, execution, nonce, DEADLINE);
    }

    function _one(Delegation memory leaf, bytes memory execution, uint256 nonce)
        private
        view
        returns (bytes memory)
    {
        bytes32 what = _digest(leaf, SINGLE_DEFAULT, execution, nonce);
        return abi.encodePacked(nonce, DEADLINE, signed(members[2], what));
    }

    function _refuses(
        Delegation memory leaf,
        bytes memory made,
        bytes memory execution,
        bytes memory why
    ) private {
        armed(leaf, made);
        vm.expectRevert(why);
        redeem(agent.account, leaf, SINGLE_DEFAULT, execution);
    }

    /// @dev Signatures over something else than `what`.
    function _refusesDigest(
        Delegation memory leaf,
        bytes memory made,
        bytes memory execution,
        bytes32 what
    ) private {
        _refuses(leaf, made, execution, _recovered(made, what));
    }

    function _refusesStranger(
        Delegation memory leaf,
        bytes32 what,
        bytes memory execution,
        Actor memory stranger
    ) private {
        bytes memory made = stranger.account > members[1].account
            ? args(what, 0, DEADLINE, members[1], stranger)
            : args(what, 0, DEADLINE, stranger, members[1]);
        _refuses(leaf, made, execution, _notASigner(stranger.account));
    }

    function _refusesTerms(bytes memory terms, bytes memory why) private {
        Delegation memory leaf = root(me(), agent.account, only(address(threshold), terms));
        _refuses(leaf, "", swap(SOLD), why);
    }

    /// @dev What the first signature of these arguments gives, as one over `what`: nobody that is known.
    function _recovered(bytes memory made, bytes32 what) private pure returns (bytes memory) {
        bytes32[3] memory parts;
        for (uint256 i = 0; i < 65; i++) {
            parts[i / 32] |= bytes32(made[37 + i]) >> (8 * (i % 32));
        }
        address nobody = ecrecover(what, uint8(bytes1(parts[2])), parts[0], parts[1]);
        return _notASigner(nobody);
    }

    function _context(Delegation memory leaf, bytes memory made)
        private
        pure
        returns (bytes memory)
    {
        Delegation[] memory chain = new Delegation[](1);
        chain[0] = armed(leaf, made);
        return abi.encode(chain);
    }

    function _cut(bytes memory whole, uint256 length) private pure returns (bytes memory part) {
        part = new bytes(length);
        for (uint256 i = 0; i < length; i++) {
            part[i] = whole[i];
        }
    }

    function _notASigner(address signer) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Threshold.Threshold_NotASigner.selector, signer);
    }

    function _order(address signer, address before) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Threshold.Threshold_SignatureOrder.selector, signer, before);
    }

    function _argsLength(uint256 expected, uint256 actual) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Threshold.Threshold_ArgsLength.selector, expected, actual);
    }

    function _termsLength(uint256 actual) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Threshold.Threshold_TermsLength.selector, actual);
    }

    function _needed(uint256 needed, uint256 signers) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Threshold.Threshold_Needed.selector, needed, signers);
    }

    function _signerOrder(uint256 index) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Threshold.Threshold_SignerOrder.selector, index);
    }

    function _used(uint256 nonce) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Threshold.Threshold_NonceUsed.selector, nonce);
    }

    function _modeRefused(ModeCode mode) private pure returns (bytes memory) {
        return
            abi.encodeWithSelector(ExecutionModes.ExecutionModes_NotDefaultExecution.selector, mode);
    }
}
