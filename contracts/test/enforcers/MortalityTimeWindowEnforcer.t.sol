// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {CaveatEnforcer} from "../../src/enforcers/CaveatEnforcer.sol";
import {ExecutionModes} from "../../src/enforcers/ExecutionModes.sol";
import {MortalityTimeWindowEnforcer} from "../../src/enforcers/MortalityTimeWindowEnforcer.sol";
import {Caveat, Delegation, IDelegationManager} from "../../src/interfaces/IDelegationManager.sol";
import {
    BATCH_DEFAULT,
    BATCH_TRY,
    ModeCode,
    SINGLE_DEFAULT,
    SINGLE_TRY
} from "../../src/interfaces/ModeCode.sol";
import {MortalityTimeWindow} from "../../src/rules/MortalityTimeWindow.sol";
import {DevchainTest, Witness} from "../DevchainTest.sol";
import {TestBase} from "../TestBase.sol";

/// @notice The hook alone, called by somebody who is no manager.
contract MortalityTimeWindowEnforcerTest is TestBase {
    uint64 private constant START = 1_767_225_600;
    uint64 private constant END = START + 30 days;

    MortalityTimeWindowEnforcer private _enforcer;
    bytes private _terms = abi.encodePacked(START, END);

    function setUp() public {
        _enforcer = new MortalityTimeWindowEnforcer();
    }

    function test_accepts_the_first_second() public {
        vm.warp(START);
        _hook(_terms, SINGLE_DEFAULT);
    }

    function test_accepts_the_last_second() public {
        vm.warp(END);
        _hook(_terms, SINGLE_DEFAULT);
    }

    function test_refuses_one_second_before_the_start() public {
        vm.warp(START - 1);

        vm.expectRevert(_notYetBorn(START, START - 1));
        _hook(_terms, SINGLE_DEFAULT);
    }

    function test_refuses_one_second_after_the_end() public {
        vm.warp(END + 1);

        vm.expectRevert(_expired(END, END + 1));
        _hook(_terms, SINGLE_DEFAULT);
    }

    function testFuzz_accepts_exactly_the_seconds_of_the_window(
        uint64 start,
        uint64 end,
        uint64 nowAt
    ) public {
        if (end < start) (start, end) = (end, start);
        vm.warp(nowAt);

        if (nowAt < start) vm.expectRevert(_notYetBorn(start, nowAt));
        else if (nowAt > end) vm.expectRevert(_expired(end, nowAt));
        _hook(abi.encodePacked(start, end), SINGLE_DEFAULT);
    }

    function test_accepts_a_batch() public {
        vm.warp(START);
        _hook(_terms, BATCH_DEFAULT);
    }

    /// @dev ATK-12, ATK-13.
    function test_refuses_both_try_modes() public {
        vm.warp(START);

        vm.expectRevert(_modeRefused(SINGLE_TRY));
        _hook(_terms, SINGLE_TRY);

        vm.expectRevert(_modeRefused(BATCH_TRY));
        _hook(_terms, BATCH_TRY);
    }

    /// @dev ATK-12: delegatecall and staticcall are call types 0xff and 0xfe of ERC-7579.
    function test_refuses_every_call_type_and_every_failure_type_but_two() public {
        vm.warp(START);

        for (uint256 kinds = 0; kinds <= type(uint16).max; kinds++) {
            if (kinds == 0x0000 || kinds == 0x0100) continue;
            // All 65,534 would take long; the first of each byte and the last tell as much.
            if (kinds & 0xff > 0x01 && kinds & 0xff < 0xff) continue;
            ModeCode mode = ModeCode.wrap(bytes32(kinds << 240));

            vm.expectRevert(_modeRefused(mode));
            _hook(_terms, mode);
        }
    }

    function testFuzz_refuses_a_mode_with_any_other_bit(bytes32 word) public {
        vm.assume(word != ModeCode.unwrap(SINGLE_DEFAULT));
        vm.assume(word != ModeCode.unwrap(BATCH_DEFAULT));
        vm.warp(START);

        vm.expectRevert(_modeRefused(ModeCode.wrap(word)));
        _hook(_terms, ModeCode.wrap(word));
    }

    function test_refuses_terms_of_every_other_length() public {
        vm.warp(START);

        for (uint256 length = 0; length <= 96; length++) {
            if (length == 16) continue;

            vm.expectRevert(_termsLength(length));
            _hook(new bytes(length), SINGLE_DEFAULT);
        }
    }

    function testFuzz_refuses_terms_of_other_lengths(bytes memory terms) public {
        vm.assume(terms.length != 16);

        vm.expectRevert(_termsLength(terms.length));
        _enforcer.getTermsInfo(terms);
    }

    function testFuzz_refuses_an_inverted_window(uint64 start, uint64 end) public {
        vm.assume(start != end);
        if (start < end) (start, end) = (end, start);

        vm.expectRevert(_invertedWindow(start, end));
        _hook(abi.encodePacked(start, end), SINGLE_DEFAULT);
    }

    function testFuzz_reads_the_terms_back(uint64 start, uint64 end) public view {
        if (end < start) (start, end) = (end, start);

        (uint64 readStart, uint64 readEnd) = _enforcer.getTermsInfo(abi.encodePacked(start, end));

        vm.assertEq(readStart, start, "start");
        vm.assertEq(readEnd, end, "end");
    }

    function testFuzz_looks_at_nothing_but_terms_and_mode(
        bytes memory args,
        bytes memory execution,
        bytes32 delegationHash,
        address delegator,
        address redeemer
    ) public {
        vm.warp(START);
        _enforcer.beforeHook(
            _terms, args, SINGLE_DEFAULT, execution, delegationHash, delegator, redeemer
        );

        vm.warp(END + 1);
        vm.expectRevert(_expired(END, END + 1));
        _enforcer.beforeHook(
            _terms, args, SINGLE_DEFAULT, execution, delegationHash, delegator, redeemer
        );
    }

    function testFuzz_a_strangers_direct_call_writes_nothing(address stranger) public {
        vm.assume(stranger != address(vm));
        vm.warp(START);
        vm.record();

        vm.prank(stranger);
        _hook(_terms, SINGLE_DEFAULT);
        vm.prank(stranger);
        _enforcer.beforeAllHook("", "", SINGLE_TRY, "", bytes32(0), address(0), stranger);
        vm.prank(stranger);
        _enforcer.afterHook("", "", SINGLE_TRY, "", bytes32(0), address(0), stranger);
        vm.prank(stranger);
        _enforcer.afterAllHook("", "", SINGLE_TRY, "", bytes32(0), address(0), stranger);

        (bytes32[] memory reads, bytes32[] memory writes) = vm.accesses(address(_enforcer));
        vm.assertEq(reads.length, 0, "slots read");
        vm.assertEq(writes.length, 0, "slots written");
    }

    /// @dev The file is `{"valid": [{name, start, end, terms, now, verdict}], "malformed": [{name,
    ///      terms, error}]}`; numbers are decimal strings, terms are hex. `verdict` is ok,
    ///      notYetBorn or expired; `error` is termsLength or invertedWindow. The Rust twin reads
    ///      the same file.
    function test_matches_the_shared_vectors_of_good_terms() public {
        string memory json = vm.readFile("../testdata/vectors/mortality-time-window.json");
        uint256 count = 0;

        for (; vm.keyExistsJson(json, _entry("valid", count)); count++) {
            string memory at = _entry("valid", count);
            string memory name = vm.parseJsonString(json, string.concat(at, ".name"));
            uint256 start = vm.parseJsonUint(json, string.concat(at, ".start"));
            uint256 end = vm.parseJsonUint(json, string.concat(at, ".end"));
            uint256 nowAt = vm.parseJsonUint(json, string.concat(at, ".now"));
            bytes memory terms = vm.parseJsonBytes(json, string.concat(at, ".terms"));
            string memory verdict = vm.parseJsonString(json, string.concat(at, ".verdict"));
            (uint64 readStart, uint64 readEnd) = _enforcer.getTermsInfo(terms);
            vm.assertEq(readStart, start, name);
            vm.assertEq(readEnd, end, name);

            vm.warp(nowAt);
            if (_same(verdict, "notYetBorn")) vm.expectRevert(_notYetBorn(start, nowAt));
            else if (_same(verdict, "expired")) vm.expectRevert(_expired(end, nowAt));
            else vm.assertEq(verdict, "ok", name);
            _hook(terms, SINGLE_DEFAULT);
        }

        vm.assertTrue(count >= 20, "vectors read");
    }

    function test_matches_the_shared_vectors_of_malformed_terms() public {
        string memory json = vm.readFile("../testdata/vectors/mortality-time-window.json");
        uint256 count = 0;

        for (; vm.keyExistsJson(json, _entry("malformed", count)); count++) {
            string memory at = _entry("malformed", count);
            string memory name = vm.parseJsonString(json, string.concat(at, ".name"));
            bytes memory terms = vm.parseJsonBytes(json, string.concat(at, ".terms"));
            string memory kind = vm.parseJsonString(json, string.concat(at, ".error"));

            if (_same(kind, "invertedWindow")) {
                vm.assertEq(terms.length, 16, name);
                vm.expectRevert(_invertedWindow(_number(terms, 0), _number(terms, 8)));
            } else {
                vm.assertEq(kind, "termsLength", name);
                vm.expectRevert(_termsLength(terms.length));
            }
            _hook(terms, SINGLE_DEFAULT);
        }

        vm.assertTrue(count >= 10, "vectors read");
    }

    function _hook(bytes memory terms, ModeCode mode) private view {
        _enforcer.beforeHook(terms, "", mode, "", bytes32(0), address(0), address(0));
    }

    /// @dev Reads eight bytes in another way than the rule does.
    function _number(bytes memory terms, uint256 from) private pure returns (uint256 value) {
        for (uint256 i = from; i < from + 8; i++) {
            value = value * 256 + uint8(terms[i]);
        }
    }

    function _entry(string memory list, uint256 index) private pure returns (string memory) {
        return string.concat("$.", list, "[", vm.toString(index), "]");
    }

    function _same(string memory a, string memory b) private pure returns (bool) {
        return keccak256(bytes(a)) == keccak256(bytes(b));
    }

    function _notYetBorn(uint256 start, uint256 nowAt) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            MortalityTimeWindow.MortalityTimeWindow_NotYetBorn.selector, start, nowAt
        );
    }

    function _expired(uint256 end, uint256 nowAt) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            MortalityTimeWindow.MortalityTimeWindow_Expired.selector, end, nowAt
        );
    }

    function _invertedWindow(uint256 start, uint256 end) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            MortalityTimeWindow.MortalityTimeWindow_InvertedWindow.selector, start, end
        );
    }

    function _termsLength(uint256 actual) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            MortalityTimeWindow.MortalityTimeWindow_TermsLength.selector, 16, actual
        );
    }

    function _modeRefused(ModeCode mode) private pure returns (bytes memory) {
        return
            abi.encodeWithSelector(ExecutionModes.ExecutionModes_NotDefaultExecution.selector, mode);
    }
}

/// @notice The rule where it counts: in a delegation that the real DelegationManager redeems.
contract MortalityTimeWindowEnforcerDevchainTest is DevchainTest {
    uint64 private constant START = 1_800_000_000;
    uint64 private constant END = START + 30 days;

    MortalityTimeWindowEnforcer private _enforcer;
    Actor private _agent;
    Actor private _replicant;

    function setUp() public override {
        super.setUp();
        _enforcer = new MortalityTimeWindowEnforcer();
        _agent = actor("agent");
        _replicant = actor("replicant");
    }

    function test_every_kind_of_owner_is_served_from_the_first_to_the_last_second() public {
        Kind[3] memory kinds = allKinds();
        for (uint256 i = 0; i < kinds.length; i++) {
            Owner memory from = owner(kinds[i]);
            Delegation memory grant = root(from, _agent.account, _window());

            vm.warp(START);
            redeem(_agent.account, grant, SINGLE_DEFAULT, oneNote());
            vm.warp(END);
            redeem(_agent.account, grant, SINGLE_DEFAULT, oneNote());
            redeem(_agent.account, grant, BATCH_DEFAULT, twoNotes());

            vm.assertEq(witness.callsBy(from.account), 4, "calls made by the owner's account");
        }
    }

    function test_every_kind_of_owner_is_protected_before_the_start() public {
        Kind[3] memory kinds = allKinds();
        for (uint256 i = 0; i < kinds.length; i++) {
            Owner memory from = owner(kinds[i]);
            Delegation memory grant = root(from, _agent.account, _window());
            vm.warp(START - 1);

            _expectNotYetBorn(START - 1);
            redeem(_agent.account, grant, SINGLE_DEFAULT, oneNote());
            _expectNotYetBorn(START - 1);
            redeem(_agent.account, grant, BATCH_DEFAULT, twoNotes());

            vm.assertEq(witness.callsBy(from.account), 0, "calls made by the owner's account");
        }
    }

    function test_every_kind_of_owner_is_protected_after_the_end() public {
        Kind[3] memory kinds = allKinds();
        for (uint256 i = 0; i < kinds.length; i++) {
            Owner memory from = owner(kinds[i]);
            Delegation memory grant = root(from, _agent.account, _window());
            vm.warp(END + 1);

            _expectExpired(END + 1);
            redeem(_agent.account, grant, SINGLE_DEFAULT, oneNote());
            _expectExpired(END + 1);
            redeem(_agent.account, grant, BATCH_DEFAULT, twoNotes());

            vm.assertEq(witness.callsBy(from.account), 0, "calls made by the owner's account");
        }
    }

    /// @dev ATK-12: inside the window, so that nothing but the mode can be the reason.
    function test_try_modes_are_refused() public {
        Delegation memory grant = root(stateless7702Owner(), _agent.account, _window());
        vm.warp(START);

        _expectModeRefused(SINGLE_TRY);
        redeem(_agent.account, grant, SINGLE_TRY, oneNote());
        _expectModeRefused(BATCH_TRY);
        redeem(_agent.account, grant, BATCH_TRY, twoNotes());
    }

    /// @dev ATK-13: without the caveat the manager takes the failure for a success.
    function test_a_failing_call_in_try_mode_is_not_taken_for_a_success() public {
        Owner memory from = stateless7702Owner();
        bytes memory failing = single(address(witness), abi.encodeCall(Witness.refuse, (7)));
        Delegation memory bare = root(from, _agent.account, noCaveats());
        Delegation memory grant = root(from, _agent.account, _window());
        vm.warp(START);

        redeem(_agent.account, bare, SINGLE_TRY, failing);
        _expectModeRefused(SINGLE_TRY);
        redeem(_agent.account, grant, SINGLE_TRY, failing);
        vm.expectRevert(abi.encodeWithSelector(Witness.Witness_Refused.selector, 7));
        redeem(_agent.account, grant, SINGLE_DEFAULT, failing);
    }

    function test_an_empty_batch_does_not_get_around_the_window() public {
        Delegation memory grant = root(stateless7702Owner(), _agent.account, _window());
        bytes memory nothing = batch(address(witness), new bytes[](0));
        vm.warp(END + 1);

        _expectExpired(END + 1);
        redeem(_agent.account, grant, BATCH_DEFAULT, nothing);
    }

    function test_a_window_on_the_child_alone_binds_the_chain() public {
        Owner memory from = stateless7702Owner();
        Delegation memory above = root(from, _agent.account, noCaveats());
        Delegation memory leaf = child(above, _agent, _replicant.account, _window());

        vm.warp(START - 1);
        _expectNotYetBorn(START - 1);
        redeem(_replicant.account, leaf, above, SINGLE_DEFAULT, oneNote());
        vm.warp(START);
        redeem(_replicant.account, leaf, above, SINGLE_DEFAULT, oneNote());
        vm.warp(END + 1);
        _expectExpired(END + 1);
        redeem(_replicant.account, leaf, above, SINGLE_DEFAULT, oneNote());
        redeem(_agent.account, above, SINGLE_DEFAULT, oneNote());

        vm.assertEq(witness.callsBy(from.account), 2, "one by the child, one by its parent");
    }

    function test_a_window_on_the_parent_binds_a_child_without_one() public {
        Owner memory from = stateless7702Owner();
        Delegation memory above = root(from, _agent.account, _window());
        Delegation memory leaf = child(above, _agent, _replicant.account, noCaveats());

        vm.warp(END);
        redeem(_replicant.account, leaf, above, SINGLE_DEFAULT, oneNote());
        vm.warp(END + 1);
        _expectExpired(END + 1);
        redeem(_replicant.account, leaf, above, SINGLE_DEFAULT, oneNote());

        vm.assertEq(witness.callsBy(from.account), 1, "calls made by the owner's account");
    }

    /// @dev ATK-03: `args` are the redeemer's, and no part of the window.
    function testFuzz_args_do_not_move_the_window(bytes memory args) public {
        Delegation memory grant = root(stateless7702Owner(), _agent.account, _window());
        grant.caveats[0].args = args;
        vm.warp(END + 1);

        _expectExpired(END + 1);
        redeem(_agent.account, grant, SINGLE_DEFAULT, oneNote());
    }

    /// @dev ATK-03: the terms are part of what was signed.
    function test_a_wider_window_than_the_signed_one_is_refused() public {
        Delegation memory grant = root(stateless7702Owner(), _agent.account, _window());
        grant.caveats[0].terms = abi.encodePacked(START, END + 1);
        vm.warp(END + 1);

        vm.expectRevert(IDelegationManager.InvalidERC1271Signature.selector);
        redeem(_agent.account, grant, SINGLE_DEFAULT, oneNote());
    }

    function test_malformed_terms_are_never_redeemed() public {
        Owner memory from = stateless7702Owner();
        Delegation memory short =
            root(from, _agent.account, only(address(_enforcer), abi.encodePacked(START)));
        Delegation memory inverted =
            root(from, _agent.account, only(address(_enforcer), abi.encodePacked(END, START)));
        vm.warp(START);

        vm.expectRevert(
            abi.encodeWithSelector(
                MortalityTimeWindow.MortalityTimeWindow_TermsLength.selector, 16, 8
            )
        );
        redeem(_agent.account, short, SINGLE_DEFAULT, oneNote());
        vm.expectRevert(
            abi.encodeWithSelector(
                MortalityTimeWindow.MortalityTimeWindow_InvertedWindow.selector, END, START
            )
        );
        redeem(_agent.account, inverted, SINGLE_DEFAULT, oneNote());
    }

    function test_a_strangers_direct_call_changes_no_redemption() public {
        Owner memory from = stateless7702Owner();
        Delegation memory grant = root(from, _agent.account, _window());
        bytes32 hash = MANAGER.getDelegationHash(grant);
        vm.warp(START);

        vm.prank(actor("stranger").account);
        _enforcer.beforeHook(
            abi.encodePacked(START, START),
            "",
            SINGLE_DEFAULT,
            oneNote(),
            hash,
            from.account,
            _agent.account
        );

        vm.warp(END);
        redeem(_agent.account, grant, SINGLE_DEFAULT, oneNote());
        vm.warp(END + 1);
        _expectExpired(END + 1);
        redeem(_agent.account, grant, SINGLE_DEFAULT, oneNote());
    }

    function _window() private view returns (Caveat[] memory) {
        return only(address(_enforcer), abi.encodePacked(START, END));
    }

    function _expectNotYetBorn(uint256 nowAt) private {
        vm.expectRevert(
            abi.encodeWithSelector(
                MortalityTimeWindow.MortalityTimeWindow_NotYetBorn.selector, START, nowAt
            )
        );
    }

    function _expectExpired(uint256 nowAt) private {
        vm.expectRevert(
            abi.encodeWithSelector(
                MortalityTimeWindow.MortalityTimeWindow_Expired.selector, END, nowAt
            )
        );
    }

    function _expectModeRefused(ModeCode mode) private {
        vm.expectRevert(
            abi.encodeWithSelector(ExecutionModes.ExecutionModes_NotDefaultExecution.selector, mode)
        );
    }
}
