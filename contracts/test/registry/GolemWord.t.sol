// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {GolemState, GolemWord, GolemWords} from "../../src/registry/GolemWord.sol";
import {TestBase} from "../TestBase.sol";

/// @notice A call can be expected to revert, a library's inlined code cannot.
contract Packer {
    function pack(GolemState calldata from) external pure returns (GolemWord) {
        return GolemWords.pack(from);
    }
}

contract GolemWordTest is TestBase {
    uint256 private constant SERIES = 1024;

    Packer private _packer;

    function setUp() public {
        _packer = new Packer();
    }

    function testFuzz_what_was_packed_is_unpacked(uint256 seed, bool low, bool high) public pure {
        GolemState memory given = _state(seed, low, high);

        GolemState memory read = GolemWords.pack(given).unpack();

        vm.assertTrue(read.registered == given.registered, "registered");
        vm.assertTrue(read.dreaming == given.dreaming, "dreaming");
        vm.assertTrue(read.closed == given.closed, "closed");
        vm.assertEq(uint256(read.phase), given.phase, "phase");
        vm.assertEq(uint256(read.score), given.score, "score");
        vm.assertEq(int256(read.pleasure), given.pleasure, "pleasure");
        vm.assertEq(int256(read.arousal), given.arousal, "arousal");
        vm.assertEq(int256(read.dominance), given.dominance, "dominance");
        vm.assertEq(uint256(read.updatedAt), given.updatedAt, "last update");
        vm.assertEq(uint256(read.minEpoch), given.minEpoch, "minimum epoch");
    }

    /// @dev The layout of the plan, added up instead of shifted.
    function testFuzz_fields_stand_where_the_plan_puts_them(uint256 seed, bool low, bool high)
        public
        pure
    {
        GolemState memory given = _state(seed, low, high);
        uint256 expected = (given.registered ? 1 : 0) + (given.dreaming ? 2 : 0)
            + (given.closed ? 4 : 0) + given.phase * 2 ** 3 + uint256(given.score) * 2 ** 6
            + _octet(given.pleasure) * 2 ** 20 + _octet(given.arousal) * 2 ** 28
            + _octet(given.dominance) * 2 ** 36 + uint256(given.updatedAt) * 2 ** 44
            + uint256(given.minEpoch) * 2 ** 84;

        uint256 word = GolemWord.unwrap(GolemWords.pack(given));

        vm.assertEq(word, expected, "word");
        vm.assertTrue(word < 2 ** 100, "the rest is zero");
    }

    /// @dev A reader must not take one field's bits for another's, whatever stands in the word.
    function testFuzz_every_word_reads_as_its_fields(uint256 word) public pure {
        GolemWord given = GolemWord.wrap(word);

        vm.assertTrue(given.isRegistered() == (word % 2 == 1), "registered");
        vm.assertTrue(given.isDreaming() == (word / 2 % 2 == 1), "dreaming");
        vm.assertTrue(given.isClosed() == (word / 4 % 2 == 1), "closed");
        vm.assertEq(uint256(given.phase()), word / 2 ** 3 % 2 ** 3, "phase");
        vm.assertEq(uint256(given.score()), word / 2 ** 6 % 2 ** 14, "score");
        vm.assertEq(_octet(given.pleasure()), word / 2 ** 20 % 2 ** 8, "pleasure");
        vm.assertEq(_octet(given.arousal()), word / 2 ** 28 % 2 ** 8, "arousal");
        vm.assertEq(_octet(given.dominance()), word / 2 ** 36 % 2 ** 8, "dominance");
        vm.assertEq(uint256(given.updatedAt()), word / 2 ** 44 % 2 ** 40, "last update");
        vm.assertEq(uint256(given.minEpoch()), word / 2 ** 84 % 2 ** 16, "minimum epoch");
    }

    function testFuzz_refuses_a_sixth_phase(uint8 phase) public {
        GolemState memory given;
        given.phase = uint8(within(phase, 5, 255));

        vm.expectRevert(
            abi.encodeWithSelector(GolemWords.GolemWord_UnknownPhase.selector, given.phase)
        );
        _packer.pack(given);
    }

    function testFuzz_refuses_a_score_above_ten_thousand(uint16 score) public {
        GolemState memory given;
        given.score = uint16(within(score, 10_001, type(uint16).max));

        vm.expectRevert(
            abi.encodeWithSelector(GolemWords.GolemWord_ScoreTooHigh.selector, given.score, 10_000)
        );
        _packer.pack(given);
    }

    function test_refuses_a_feeling_one_past_a_hundred() public {
        int8[4] memory beyond = [int8(101), -101, type(int8).max, type(int8).min];
        for (uint256 i = 0; i < beyond.length; i++) {
            for (uint256 component = 0; component < 3; component++) {
                GolemState memory given;
                if (component == 0) given.pleasure = beyond[i];
                if (component == 1) given.arousal = beyond[i];
                if (component == 2) given.dominance = beyond[i];

                vm.expectRevert(
                    abi.encodeWithSelector(
                        GolemWords.GolemWord_PadOutOfRange.selector, beyond[i], int8(100)
                    )
                );
                _packer.pack(given);
            }
        }
    }

    function testFuzz_a_word_is_fresh_for_just_its_age(uint40 updatedAt, uint40 maxAge)
        public
        pure
    {
        for (uint8 phase = 0; phase <= 4; phase++) {
            GolemWord word = _at(phase, updatedAt);
            uint256 lastFresh = uint256(updatedAt) + maxAge;

            vm.assertEq(uint256(word.effectivePhase(updatedAt, maxAge)), phase, "at once");
            vm.assertEq(uint256(word.effectivePhase(lastFresh, maxAge)), phase, "last second");
            vm.assertEq(
                uint256(word.effectivePhase(lastFresh + 1, maxAge)),
                phase < 2 ? 2 : phase,
                "one second later"
            );
        }
    }

    function test_no_age_and_no_clock_break_the_judgement_of_freshness() public pure {
        GolemWord word = _at(0, 1_000);

        vm.assertEq(uint256(word.effectivePhase(999, 0)), 0, "a clock behind");
        vm.assertEq(uint256(word.effectivePhase(type(uint256).max, type(uint256).max)), 0, "ever");
        vm.assertEq(uint256(word.effectivePhase(type(uint256).max, 0)), 2, "very late");
        vm.assertEq(uint256(GolemWord.wrap(0).effectivePhase(1_767_225_600, 1 days)), 2, "nothing");
    }

    function testFuzz_a_series_admits_its_epochs_and_no_others(uint16 lowest, uint16 epoch)
        public
        pure
    {
        bool expected =
            epoch >= lowest && uint256(epoch) < uint256(lowest) + SERIES && epoch < 65_535;

        vm.assertTrue(_from(lowest).admitsEpoch(epoch) == expected, "admitted");
    }

    function test_a_series_ends_one_before_the_next() public pure {
        GolemWord word = _from(1024);

        vm.assertFalse(word.admitsEpoch(1023), "one before");
        vm.assertTrue(word.admitsEpoch(1024), "first");
        vm.assertTrue(word.admitsEpoch(2047), "last");
        vm.assertFalse(word.admitsEpoch(2048), "one after");
    }

    /// @dev The reason for series: what could be redeemed before cannot be after.
    function testFuzz_the_next_series_admits_nothing_that_the_last_one_did(
        uint16 lowest,
        uint16 epoch
    ) public pure {
        uint16 next = GolemWords.nextSeries(lowest);

        vm.assertTrue(next >= lowest, "never lower");
        vm.assertFalse(_from(lowest).admitsEpoch(epoch) && _from(next).admitsEpoch(epoch), "both");
    }

    function test_there_are_sixty_four_series_and_then_no_epoch_at_all() public pure {
        uint16 lowest = 0;
        for (uint256 i = 1; i < 64; i++) {
            lowest = GolemWords.nextSeries(lowest);
            vm.assertEq(uint256(lowest), i * SERIES, "minimum");
            vm.assertTrue(_from(lowest).admitsEpoch(lowest), "its first epoch");
        }

        lowest = GolemWords.nextSeries(lowest);

        vm.assertEq(uint256(lowest), 65_535, "no series left");
        vm.assertEq(uint256(GolemWords.nextSeries(lowest)), 65_535, "and it stays so");
        vm.assertFalse(_from(lowest).admitsEpoch(65_535), "the number that never counts");
    }

    /// @dev Any state; with `low` or `high` every field at that bound.
    function _state(uint256 seed, bool low, bool high)
        private
        pure
        returns (GolemState memory made)
    {
        made.registered = seed & 1 != 0;
        made.dreaming = seed & 2 != 0;
        made.closed = seed & 4 != 0;
        made.phase = uint8(_pick(seed, "phase", 4, low, high));
        made.score = uint16(_pick(seed, "score", 10_000, low, high));
        made.pleasure = _feeling(_pick(seed, "pleasure", 200, low, high));
        made.arousal = _feeling(_pick(seed, "arousal", 200, low, high));
        made.dominance = _feeling(_pick(seed, "dominance", 200, low, high));
        made.updatedAt = uint40(_pick(seed, "updated", type(uint40).max, low, high));
        made.minEpoch = uint16(_pick(seed, "epoch", type(uint16).max, low, high));
    }

    function _pick(uint256 seed, string memory field, uint256 max, bool low, bool high)
        private
        pure
        returns (uint256)
    {
        // Both bounds at once: each field takes one of them.
        uint256 dice = uint256(keccak256(abi.encode(seed, field)));
        if (low && high) return dice & 1 == 0 ? 0 : max;
        if (low) return 0;
        return high ? max : within(dice, 0, max);
    }

    // The values at hand fit.
    // forge-lint: disable-start(unsafe-typecast)

    function _feeling(uint256 above) private pure returns (int8) {
        return int8(int256(above) - 100);
    }

    function _octet(int8 value) private pure returns (uint256) {
        return value >= 0 ? uint256(int256(value)) : uint256(256 + int256(value));
    }

    // forge-lint: disable-end(unsafe-typecast)

    function _at(uint8 phase, uint40 updatedAt) private pure returns (GolemWord) {
        GolemState memory made;
        (made.phase, made.updatedAt) = (phase, updatedAt);
        return GolemWords.pack(made);
    }

    function _from(uint16 lowest) private pure returns (GolemWord) {
        GolemState memory made;
        made.minEpoch = lowest;
        return GolemWords.pack(made);
    }
}
