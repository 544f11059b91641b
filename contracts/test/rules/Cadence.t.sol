// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Cadence, Redemptions} from "../../src/rules/Cadence.sol";
import {TestBase} from "../TestBase.sol";

/// @notice The library from outside, so that a refusal can be caught.
contract CadenceHarness {
    Redemptions private _redemptions;

    function decode(bytes calldata terms) external pure returns (bytes32, uint32, uint8) {
        return Cadence.decode(terms);
    }

    function record(uint32 period, uint8 count, uint256 nowAt) external {
        Cadence.record(_redemptions, period, count, nowAt);
    }

    /// @dev Several in a row at a second's distance, none of which is refused.
    function fill(uint256 number, uint256 nowAt) external {
        for (uint256 i = 0; i < number; i++) {
            Cadence.record(_redemptions, 1, 1, nowAt + i);
        }
    }

    function dueAt(uint32 period, uint8 count) external view returns (uint256) {
        return Cadence.dueAt(_redemptions, period, count);
    }

    function total() external view returns (uint256) {
        return Cadence.total(_redemptions);
    }

    function latest() external view returns (uint256) {
        return _redemptions.latest;
    }

    function page(uint256 index) external view returns (uint256) {
        return _redemptions.pages[index];
    }
}

contract CadenceTest is TestBase {
    struct CadenceStep {
        string name;
        uint256 period;
        uint256 count;
        uint256 now;
        uint256 dueAt;
        bool accepted;
    }

    struct ValidCadence {
        string name;
        bytes32 golemId;
        uint256 period;
        uint256 count;
        bytes terms;
    }

    struct MalformedCadence {
        string name;
        bytes terms;
        string error;
        uint256[] numbers;
    }

    uint256 private constant NOW = 1_767_225_600;
    uint32 private constant WEEK = 7 days;
    bytes32 private constant GOLEM = keccak256("golem");

    CadenceHarness private _cadence;
    /// @dev Every accepted redemption of a run.
    uint256[] private _ledger;

    function setUp() public {
        _cadence = new CadenceHarness();
    }

    // The bound

    function test_once_a_week_is_a_week_after_the_last_and_not_a_second_before() public {
        _cadence.record(WEEK, 1, NOW);

        vm.expectRevert(_tooSoon(NOW + WEEK, NOW, 1, WEEK));
        _cadence.record(WEEK, 1, NOW);
        vm.expectRevert(_tooSoon(NOW + WEEK, NOW + WEEK - 1, 1, WEEK));
        _cadence.record(WEEK, 1, NOW + WEEK - 1);
        _cadence.record(WEEK, 1, NOW + WEEK);

        vm.assertEq(_cadence.total(), 2, "redemptions");
    }

    /// @dev ATK-19: no week has more than two, wherever it begins.
    function test_a_period_begins_anywhere() public {
        _cadence.record(WEEK, 2, NOW + 6 days);
        _cadence.record(WEEK, 2, NOW + 7 days);

        vm.expectRevert(_tooSoon(NOW + 13 days, NOW + 8 days, 2, WEEK));
        _cadence.record(WEEK, 2, NOW + 8 days);
        _cadence.record(WEEK, 2, NOW + 13 days);
        vm.expectRevert(_tooSoon(NOW + 14 days, NOW + 13 days, 2, WEEK));
        _cadence.record(WEEK, 2, NOW + 13 days);
        _cadence.record(WEEK, 2, NOW + 14 days);
    }

    /// @dev Every count, from an empty history: `count` in one second, and no more for a period. Five
    ///      and six are the last in the word and the first on a page.
    function test_every_count_is_reached_and_not_exceeded() public {
        uint8 count = 0;
        while (count < 255) {
            count++;
            _cadence = new CadenceHarness();
            for (uint256 i = 0; i < count; i++) {
                _cadence.record(WEEK, count, NOW);
            }

            vm.expectRevert(_tooSoon(NOW + WEEK, NOW + WEEK - 1, count, WEEK));
            _cadence.record(WEEK, count, NOW + WEEK - 1);
            _cadence.record(WEEK, count, NOW + WEEK);
        }
    }

    /// @dev After any number of redemptions, also beyond the 320 that pages remember, every count finds
    ///      its own: they are a second apart, so each has another moment.
    function test_every_count_finds_its_redemption_after_any_number() public {
        for (uint256 number = 1; number <= 700; number++) {
            _cadence.fill(1, NOW + number);
            if (number > 20 && number % 7 > 1 && number != 320 && number != 321) continue;
            uint8 count = 0;
            while (count < 255) {
                count++;
                vm.assertEq(
                    _cadence.dueAt(WEEK, count),
                    count > number ? 0 : NOW + number - count + 1 + WEEK,
                    vm.toString(number * 1000 + count)
                );
            }
        }
    }

    function test_the_longest_period_is_as_exact() public {
        uint32 longest = type(uint32).max;
        _cadence.record(longest, 1, NOW);

        vm.expectRevert(_tooSoon(NOW + longest, NOW + longest - 1, 1, longest));
        _cadence.record(longest, 1, NOW + longest - 1);
        _cadence.record(longest, 1, NOW + longest);
    }

    function test_the_shortest_period_is_a_second() public {
        _cadence.record(1, 1, NOW);

        vm.expectRevert(_tooSoon(NOW + 1, NOW, 1, 1));
        _cadence.record(1, 1, NOW);
        _cadence.record(1, 1, NOW + 1);
    }

    // Later grants

    /// @dev ATK-31: under a fast cadence more happened than a slower one with a higher count allows.
    function test_a_later_grant_is_judged_by_all_that_happened() public {
        for (uint256 i = 0; i < 24; i++) {
            _cadence.record(1 hours, 1, NOW + i * 1 hours);
        }
        uint256 nowAt = NOW + 24 hours;

        // The tenth last was at 14 o'clock.
        vm.expectRevert(_tooSoon(NOW + 14 hours + 1 days, nowAt, 10, 1 days));
        _cadence.record(1 days, 10, nowAt);
        // The 24th last was a day ago.
        _cadence.record(1 days, 24, nowAt);
        // Twenty-five there are by now, and one more may be.
        _cadence.record(1 days, 26, nowAt);
        vm.expectRevert(_tooSoon(NOW + 1 hours + 1 days, nowAt, 25, 1 days));
        _cadence.record(1 days, 25, nowAt);
    }

    // Layout

    function test_the_word_is_laid_out_as_decided() public {
        for (uint256 i = 0; i < 5; i++) {
            _cadence.record(1, 1, NOW + i);
        }
        uint256 five = NOW << 160 | (NOW + 1) << 120 | (NOW + 2) << 80 | (NOW + 3) << 40 | NOW + 4;
        vm.assertEq(_cadence.latest(), uint256(5) << 200 | five, "five");
        vm.assertEq(_cadence.page(0), 0, "no page yet");

        _cadence.record(1, 1, NOW + 5);

        uint256 next = (five << 40 | NOW + 5) & ((1 << 200) - 1);
        vm.assertEq(_cadence.latest(), uint256(6) << 200 | next, "six");
        vm.assertEq(_cadence.page(0), five, "the first page");
        vm.assertEq(_cadence.page(1), 0, "the second");
    }

    function test_the_ring_begins_again_after_64_pages() public {
        _cadence.fill(320, NOW);
        uint256 first = _cadence.page(0);
        _cadence.fill(5, NOW + 320);
        vm.assertEq(_cadence.page(0), first, "not yet");

        _cadence.fill(1, NOW + 325);

        vm.assertEq(_cadence.page(0) & type(uint40).max, NOW + 324, "the newest on it");
    }

    /// @dev One slot is read and written, and a page too when it is full.
    function test_a_small_count_touches_one_slot_and_every_fifth_time_two() public {
        uint8 count = 1;
        for (uint256 i = 0; i < 30; i++) {
            vm.record();
            _cadence.record(1, count, NOW + i * 5);
            count = count % 5 + 1;

            (, bytes32[] memory writes) = vm.accesses(address(_cadence));
            vm.assertEq(writes.length, i != 0 && i % 5 == 0 ? 2 : 1, vm.toString(i));
        }
    }

    // Against a model

    /// @dev Counts and periods change at will; the model keeps every second.
    function testFuzz_what_is_accepted_is_what_a_list_of_all_moments_allows(uint256 seed) public {
        delete _ledger;
        uint256 nowAt = NOW;
        for (uint256 i = 0; i < 60; i++) {
            seed = uint256(keccak256(abi.encode(seed)));
            uint32 period = uint32(within(seed >> 8, 1, seed % 3 == 0 ? 20 : 2000));
            uint8 count = uint8(within(seed >> 64, 1, seed % 5 == 0 ? 255 : 12));
            nowAt += _pause(seed >> 128, period, nowAt);

            bool fits = _within(nowAt, period) < count;
            try _cadence.record(period, count, nowAt) {
                vm.assertTrue(fits, "more than the count in one period");
                _ledger.push(nowAt);
            } catch (bytes memory reason) {
                vm.assertFalse(fits, "refused too early");
                vm.assertEq(reason, _tooSoon(_due(period, count), nowAt, count, period), "why");
            }
            vm.assertEq(_cadence.total(), _ledger.length, "total");
        }
    }

    // Terms

    function test_terms_have_one_length() public {
        for (uint256 length = 0; length <= 100; length++) {
            if (length == 37) continue;
            vm.expectRevert(
                abi.encodeWithSelector(Cadence.Cadence_TermsLength.selector, 37, length)
            );
            _cadence.decode(new bytes(length));
        }
    }

    function test_a_period_or_a_count_of_nothing_is_refused() public {
        vm.expectRevert(Cadence.Cadence_ZeroPeriod.selector);
        _cadence.decode(abi.encodePacked(GOLEM, uint32(0), uint8(1)));
        vm.expectRevert(Cadence.Cadence_ZeroCount.selector);
        _cadence.decode(abi.encodePacked(GOLEM, uint32(1), uint8(0)));
        _cadence.decode(abi.encodePacked(GOLEM, uint32(1), uint8(1)));
    }

    function testFuzz_terms_are_read_back(bytes32 golemId, uint32 period, uint8 count) public view {
        vm.assume(period != 0 && count != 0);

        (bytes32 readId, uint32 readPeriod, uint8 readCount) =
            _cadence.decode(abi.encodePacked(golemId, period, count));

        vm.assertEq(readId, golemId, "golemId");
        vm.assertEq(readPeriod, period, "period");
        vm.assertEq(readCount, count, "count");
    }

    function testFuzz_terms_of_any_other_length_are_refused(bytes memory terms) public {
        vm.assume(terms.length != 37);
        vm.expectRevert(
            abi.encodeWithSelector(Cadence.Cadence_TermsLength.selector, 37, terms.length)
        );
        _cadence.decode(terms);
    }

    // Shared vectors

    /// @dev The file is `{"steps": [{name, period, count, now, dueAt, accepted}], "valid": [{name,
    ///      golemId, period, count, terms}], "malformed": [{name, terms, error, numbers}]}`, written
    ///      by `cadence.mjs` from a model of its own. Steps follow one another in one history.
    function test_matches_the_shared_vectors() public {
        bytes memory encoded = vm.parseJsonTypeArray(
            vm.readFile("../testdata/vectors/cadence.json"),
            "$.steps",
            string.concat(
                "CadenceStep(string name,uint256 period,uint256 count,uint256 now,",
                "uint256 dueAt,bool accepted)"
            )
        );
        CadenceStep[] memory steps = abi.decode(encoded, (CadenceStep[]));

        vm.assertTrue(steps.length >= 800, "vectors read");
        for (uint256 i = 0; i < steps.length; i++) {
            CadenceStep memory step = steps[i];
            (uint32 period, uint8 count) = (uint32(step.period), uint8(step.count));
            vm.assertEq(_cadence.dueAt(period, count), step.dueAt, step.name);
            if (!step.accepted) vm.expectRevert(_tooSoon(step.dueAt, step.now, count, period));
            _cadence.record(period, count, step.now);
        }
    }

    function test_matches_the_shared_vectors_of_good_terms() public view {
        bytes memory encoded = vm.parseJsonTypeArray(
            vm.readFile("../testdata/vectors/cadence.json"),
            "$.valid",
            "ValidCadence(string name,bytes32 golemId,uint256 period,uint256 count,bytes terms)"
        );
        ValidCadence[] memory valid = abi.decode(encoded, (ValidCadence[]));

        vm.assertTrue(valid.length >= 3, "vectors read");
        for (uint256 i = 0; i < valid.length; i++) {
            (bytes32 golemId, uint32 period, uint8 count) = _cadence.decode(valid[i].terms);
            vm.assertEq(golemId, valid[i].golemId, valid[i].name);
            vm.assertEq(period, valid[i].period, valid[i].name);
            vm.assertEq(count, valid[i].count, valid[i].name);
        }
    }

    function test_matches_the_shared_vectors_of_malformed_terms() public {
        bytes memory encoded = vm.parseJsonTypeArray(
            vm.readFile("../testdata/vectors/cadence.json"),
            "$.malformed",
            "MalformedCadence(string name,bytes terms,string error,uint256[] numbers)"
        );
        MalformedCadence[] memory malformed = abi.decode(encoded, (MalformedCadence[]));

        vm.assertTrue(malformed.length >= 8, "vectors read");
        for (uint256 i = 0; i < malformed.length; i++) {
            string memory types = malformed[i].numbers.length == 0 ? "()" : "(uint256,uint256)";
            bytes4 selector =
                bytes4(keccak256(bytes(string.concat("Cadence_", malformed[i].error, types))));
            vm.expectRevert(bytes.concat(selector, abi.encodePacked(malformed[i].numbers)));
            _cadence.decode(malformed[i].terms);
        }
    }

    /// @dev None often, so that several share a second; to the edge of the period often.
    function _pause(uint256 seed, uint256 period, uint256 nowAt) private view returns (uint256) {
        if (seed % 4 == 0 || _ledger.length == 0) return 0;
        if (seed % 4 == 1) return (seed >> 8) % 30;
        uint256 past = _ledger[(seed >> 8) % _ledger.length];
        uint256 edge = past + period - (seed >> 64) % 2;
        return edge > nowAt ? edge - nowAt : 1;
    }

    /// @dev How many of the ledger are less than a period old.
    function _within(uint256 nowAt, uint256 period) private view returns (uint256 number) {
        for (uint256 i = 0; i < _ledger.length; i++) {
            if (nowAt - _ledger[i] < period) number++;
        }
    }

    function _due(uint256 period, uint256 count) private view returns (uint256) {
        return _ledger[_ledger.length - count] + period;
    }

    function _tooSoon(uint256 dueAt, uint256 nowAt, uint256 count, uint256 period)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(Cadence.Cadence_TooSoon.selector, dueAt, nowAt, count, period);
    }
}
