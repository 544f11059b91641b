// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {SpendWindow} from "../../src/rules/SpendWindow.sol";
import {TestBase} from "../TestBase.sol";

/// @notice The library from outside, so that a refusal can be caught.
contract SpendWindowHarness {
    function spend(
        uint256 word,
        uint256 amount,
        uint64 cap,
        uint16 bucketMinutes,
        uint16 epoch,
        uint256 nowAt
    ) external pure returns (uint256) {
        return SpendWindow.spend(word, amount, cap, bucketMinutes, epoch, nowAt);
    }

    /// @dev What the library alone costs, without the call to get here.
    function gasOfSpend(
        uint256 word,
        uint256 amount,
        uint64 cap,
        uint16 bucketMinutes,
        uint16 epoch,
        uint256 nowAt
    ) external view returns (uint256 used, uint256 next) {
        uint256 before = gasleft();
        next = SpendWindow.spend(word, amount, cap, bucketMinutes, epoch, nowAt);
        used = before - gasleft();
    }

    function spent(uint256 word, uint256 nowAt) external pure returns (uint256) {
        return SpendWindow.spent(word, nowAt);
    }

    function remaining(uint256 word, uint64 cap, uint16 bucketMinutes, uint16 epoch, uint256 nowAt)
        external
        pure
        returns (uint256)
    {
        return SpendWindow.remaining(word, cap, bucketMinutes, epoch, nowAt);
    }
}

contract SpendWindowTest is TestBase {
    struct SpendStep {
        string name;
        uint256 before;
        uint256 amount;
        uint256 cap;
        uint256 bucketMinutes;
        uint256 epoch;
        uint256 now;
        string verdict;
        uint256[] numbers;
        uint256 next;
        uint256 spent;
        uint256 remaining;
    }

    struct Entry {
        uint256 at;
        uint256 amount;
    }

    /// @dev A multiple of two hours.
    uint256 private constant NOW = 1_767_225_600;
    uint64 private constant CAP = 20_000;
    uint16 private constant DAY = 120;

    SpendWindowHarness private _window;
    /// @dev Every accepted spend of a run, to the second and the micro-dollar.
    Entry[] private _ledger;

    function setUp() public {
        _window = new SpendWindowHarness();
    }

    function test_the_word_is_laid_out_as_decided() public view {
        uint256 first = _window.spend(0, 65, 1 << 20, 120, 0xabcd, NOW);
        uint256 second = _window.spend(first, 64, 1 << 20, 120, 0xabcd, NOW + 6 hours);

        uint256 bucket = NOW / 2 hours;
        uint256 head = uint256(120) << 220 | uint256(6) << 234 | uint256(0xabcd) << 240;
        vm.assertEq(first, head | bucket << 195 | 2, "65 micro-dollars are two units of 64");
        vm.assertEq(second, head | (bucket + 3) << 195 | 2 << 45 | 1, "three buckets on");
    }

    function test_accepts_the_cap_and_refuses_one_more() public {
        uint256 word = _window.spend(0, CAP, CAP, DAY, 1, NOW);

        vm.assertEq(_window.spent(word, NOW), CAP, "spent");
        vm.assertEq(_window.remaining(word, CAP, DAY, 1, NOW), 0, "remaining");
        vm.expectRevert(_overCap(CAP, 1, CAP));
        _window.spend(word, 1, CAP, DAY, 1, NOW);
        vm.expectRevert(_overCap(0, uint256(CAP) + 1, CAP));
        _window.spend(0, uint256(CAP) + 1, CAP, DAY, 1, NOW);
    }

    /// @dev ATK-19: the last second before midnight and all of the day after it.
    function test_a_cap_is_not_spent_on_both_sides_of_an_edge() public {
        uint256 midnight = NOW - NOW % 1 days;
        uint256 word = _window.spend(0, CAP, CAP, DAY, 1, midnight - 1);

        vm.expectRevert(_overCap(CAP, 1, CAP));
        _window.spend(word, 1, CAP, DAY, 1, midnight);
        vm.expectRevert(_overCap(CAP, 1, CAP));
        _window.spend(word, 1, CAP, DAY, 1, midnight + 1 days - 1);

        _window.spend(word, CAP, CAP, DAY, 1, midnight + 1 days);
    }

    function test_is_free_one_bucket_late_at_most() public {
        uint256 word = _window.spend(0, CAP, CAP, DAY, 1, NOW);

        vm.expectRevert(_overCap(CAP, 1, CAP));
        _window.spend(word, 1, CAP, DAY, 1, NOW + 26 hours - 1);

        _window.spend(word, CAP, CAP, DAY, 1, NOW + 26 hours);
    }

    function test_an_amount_rounds_up_and_a_cap_down() public {
        // 100 dollars are 24,414 units of 4,096, and 256 micro-dollars more.
        uint64 cap = 100_000_000;
        uint256 whole = 24_414 * 4096;

        vm.assertEq(_window.remaining(0, cap, DAY, 1, NOW), whole, "remaining");
        vm.expectRevert(_overCap(0, whole + 1, cap));
        _window.spend(0, whole + 1, cap, DAY, 1, NOW);
        uint256 word = _window.spend(0, 4097, cap, DAY, 1, NOW);
        vm.assertEq(_window.spent(word, NOW), 8192, "4,097 micro-dollars are two units");
        vm.assertEq(_window.remaining(word, cap, DAY, 1, NOW), whole - 8192, "two units less");
    }

    function testFuzz_a_scale_is_the_smallest_under_which_the_cap_fits(uint64 cap, uint8 shift)
        public
        view
    {
        cap >>= shift % 64;
        if (cap == 0) cap = 1;

        uint256 scale = (_window.spend(0, 0, cap, DAY, 1, NOW) >> 234) & 0x3f;

        vm.assertTrue(cap >> scale < 1 << 15, "fits");
        vm.assertTrue(scale == 0 || cap >> (scale - 1) >= 1 << 15, "not one less");
    }

    function test_refuses_amounts_of_any_size_without_overflow() public {
        uint256[4] memory amounts = [uint256(1) << 64, 1 << 128, 1 << 255, type(uint256).max];
        for (uint256 i = 0; i < amounts.length; i++) {
            vm.expectRevert(_overCap(0, amounts[i], type(uint64).max));
            _window.spend(0, amounts[i], type(uint64).max, DAY, 1, NOW);
        }
    }

    function test_refuses_an_older_epoch_and_takes_the_same_and_newer_ones() public {
        uint256 word = _window.spend(0, 1, CAP, DAY, 7, NOW);

        vm.expectRevert(_staleEpoch(6, 7));
        _window.spend(word, 1, CAP, DAY, 6, NOW);
        vm.expectRevert(_staleEpoch(0, 7));
        _window.remaining(word, CAP, DAY, 0, NOW);

        word = _window.spend(word, 1, CAP, DAY, 7, NOW);
        word = _window.spend(word, 1, CAP, DAY, type(uint16).max, NOW);
        vm.expectRevert(_staleEpoch(65_534, 65_535));
        _window.spend(word, 1, CAP, DAY, 65_534, NOW);
    }

    function test_zero_is_accepted_over_a_cap_and_records_the_epoch() public {
        uint256 word = _window.spend(0, CAP, CAP, DAY, 1, NOW);

        word = _window.spend(word, 0, 100, DAY, 9, NOW);

        vm.assertEq(word >> 240, 9, "epoch");
        vm.expectRevert(_staleEpoch(8, 9));
        _window.spend(word, 0, CAP, DAY, 8, NOW);
    }

    function test_refuses_a_time_before_the_newest_bucket() public {
        uint256 bucket = NOW / 2 hours;
        uint256 word = _window.spend(0, 1, CAP, DAY, 1, NOW + 1);

        _window.spend(word, 1, CAP, DAY, 1, NOW);
        vm.expectRevert(_timeWentBack(bucket - 1, bucket));
        _window.spend(word, 0, CAP, DAY, 1, NOW - 1);
        vm.expectRevert(_timeWentBack(bucket - 1, bucket));
        _window.spend(word, 0, CAP, 240, 1, NOW - 1);
        vm.expectRevert(_timeWentBack(bucket - 1, bucket));
        _window.spent(word, NOW - 1);
    }

    function test_refuses_a_time_that_the_word_cannot_count() public {
        uint256 end = (1 << 25) * 1 minutes;

        _window.spend(0, 1, CAP, 1, 1, end - 1);
        vm.expectRevert(_timeOutOfRange(1 << 25));
        _window.spend(0, 0, CAP, 1, 1, end);
        vm.expectRevert(_timeOutOfRange(type(uint256).max / 1 minutes));
        _window.spend(0, 0, CAP, 1, 1, type(uint256).max);

        uint256 word = _window.spend(0, 1, CAP, 1, 1, end - 1);
        vm.assertEq(_window.spent(word, type(uint256).max), 0, "spent at the end of time");
    }

    function test_refuses_malformed_terms() public {
        vm.expectRevert(SpendWindow.SpendWindow_ZeroCap.selector);
        _window.spend(0, 0, 0, DAY, 1, NOW);
        uint16[3] memory lengths = [uint16(0), 16_384, type(uint16).max];
        for (uint256 i = 0; i < lengths.length; i++) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    SpendWindow.SpendWindow_BucketLength.selector, lengths[i], 16_383
                )
            );
            _window.spend(0, 0, CAP, lengths[i], 1, NOW);
        }

        _window.spend(0, 1, 1, 1, 0, NOW);
        _window.spend(0, 1, 1, 16_383, 0, NOW);
    }

    /// @dev ATK-31: were the finer scale to cut off what it cannot hold, the larger cap would be
    ///      whole again.
    function test_a_small_grant_in_between_does_not_wash_a_spent_window() public {
        uint64 large = 1 << 40;
        uint256 word = _window.spend(0, large / 2, large, DAY, 1, NOW);

        word = _window.spend(word, 0, 1000, DAY, 2, NOW);
        vm.assertEq(_window.remaining(word, 1000, DAY, 2, NOW), 0, "of the small cap");
        vm.assertEq(_window.remaining(word, large, DAY, 3, NOW), large / 2, "of the large cap");

        word = _window.spend(word, 0, 1000, 240, 3, NOW);
        vm.assertEq(_window.remaining(word, large, 240, 4, NOW), large / 2, "on another grid");
        vm.expectRevert(_overCap(large / 2, 1, 1000));
        _window.spend(word, 1, 1000, 240, 3, NOW);
    }

    /// @dev ATK-31: two grants of one epoch, a long period and a short one.
    function test_a_short_grant_beside_a_long_one_does_not_shed_its_window() public view {
        uint256 word = _window.spend(0, CAP, CAP, DAY, 1, NOW);

        word = _window.spend(word, 0, CAP, 1, 1, NOW);

        vm.assertEq(_window.remaining(word, CAP, 1, 1, NOW + 13 minutes), 0, "of the short");
        vm.assertEq(_window.remaining(word, CAP, DAY, 1, NOW + 13 minutes), 0, "of the long");
        vm.assertEq(_window.remaining(word, CAP, DAY, 1, NOW + 24 hours), 0, "a day later");
        vm.assertEq(_window.remaining(word, CAP, DAY, 1, NOW + 26 hours), CAP, "and two hours");
    }

    function test_another_grid_of_a_new_epoch_takes_everything_into_its_newest_bucket()
        public
        view
    {
        uint256 word = _window.spend(0, 7000, CAP, DAY, 1, NOW);
        word = _window.spend(word, 6000, CAP, DAY, 1, NOW + 24 hours);

        word = _window.spend(word, 0, CAP, 1, 2, NOW + 25 hours);

        vm.assertEq(word & 0x7fff, 13_000, "newest bucket");
        vm.assertEq((word >> 15) & ((1 << 180) - 1), 0, "all others");
        uint256 free = NOW + 25 hours + 13 minutes;
        vm.assertEq(_window.remaining(word, CAP, 1, 2, free - 1), 7000, "until the end");
        vm.assertEq(_window.remaining(word, CAP, 1, 2, free), CAP, "after it");
    }

    function test_a_grid_drops_what_died_on_the_one_before() public view {
        uint256 word = _window.spend(0, 7000, CAP, DAY, 1, NOW);
        word = _window.spend(word, 6000, CAP, DAY, 1, NOW + 2 hours);

        word = _window.spend(word, 0, CAP, 240, 2, NOW + 26 hours);

        vm.assertEq(_window.spent(word, NOW + 26 hours), 6000, "spent");
    }

    function test_a_coarser_scale_rounds_every_bucket_up() public view {
        uint256 word = 0;
        for (uint256 i = 0; i < 13; i++) {
            word = _window.spend(word, 5, CAP, DAY, 1, NOW + i * 2 hours);
        }

        // Units of 4, then of 2^49.
        word = _window.spend(word, 0, 1 << 17, DAY, 2, NOW + 24 hours);
        vm.assertEq(_window.spent(word, NOW + 24 hours), 13 * 8, "units of eight");
        word = _window.spend(word, 0, type(uint64).max, DAY, 2, NOW + 24 hours);
        vm.assertEq(_window.spent(word, NOW + 24 hours), 13 << 49, "units of 2^49");
    }

    /// @dev No sequence leads to such a word, and it must not run over all the same.
    function test_a_foreign_word_full_everywhere_stays_full_on_another_grid() public view {
        uint256 full = (uint256(1) << 195) - 1 | (NOW / 2 hours) << 195 | uint256(DAY) << 220;

        uint256 word = _window.spend(full, 0, CAP, 240, 1, NOW);

        uint256 head = (NOW / 4 hours) << 195 | uint256(240) << 220 | uint256(1) << 240;
        vm.assertEq(word, head | 0x7fff, "word");
        vm.assertEq(_window.spent(full, NOW), 13 * 32_767, "spent");
    }

    /// @dev For every word, whether a sequence leads to it or not, against one bucket at a time.
    function testFuzz_every_word_is_read_one_bucket_at_a_time(
        uint256 word,
        uint64 cap,
        uint16 bucketMinutes,
        uint16 epoch,
        uint256 passed
    ) public view {
        word = word >> 16 | uint256(epoch) << 240;
        cap = uint64(within(cap, 1, type(uint64).max >> (word % 64)));
        bucketMinutes = uint16(within(bucketMinutes, 1, 16_383));
        uint256 grid = (word >> 220) & 0x3fff;
        passed = within(passed, 0, 15);
        uint256 nowAt = (((word >> 195) & 0x1ffffff) + passed) * grid * 1 minutes;
        if (nowAt / 1 minutes / (bucketMinutes > grid ? bucketMinutes : grid) > 0x1ffffff) return;

        uint256 next = _window.spend(word, 0, cap, bucketMinutes, epoch, nowAt);

        vm.assertEq(next, _slowly(word, cap, bucketMinutes, nowAt), "word");
        uint256 left = _window.remaining(word, cap, bucketMinutes, epoch, nowAt);
        vm.assertEq(left, _left(next, cap), "remaining");
        uint256 last = _window.spend(word, left, cap, bucketMinutes, epoch, nowAt);
        vm.assertEq(_left(last, cap), 0, "nothing remains");
        vm.assertEq(last - next, left >> ((next >> 234) & 0x3f), "in the newest bucket");
    }

    /// @dev D7 with every spend kept to the second and the micro-dollar: over the cap in no period,
    ///      and early by one bucket at most.
    function testFuzz_one_grant_never_exceeds_its_cap_and_is_early_by_a_bucket_at_most(
        uint256 seed,
        uint64 cap,
        uint16 bucketMinutes
    ) public {
        cap = uint64(within(cap, 1, type(uint64).max >> (seed % 64)));
        bucketMinutes = uint16(within(bucketMinutes, 1, 16_383));
        uint256 length = uint256(bucketMinutes) * 1 minutes;
        uint256 unit = 1;
        while (cap / unit >= 1 << 15) unit *= 2;
        uint256 nowAt = NOW;
        uint256 word = 0;
        delete _ledger;

        for (uint256 i = 0; i < 30; i++) {
            seed = uint256(keccak256(abi.encode(seed)));
            nowAt += _pause(seed, nowAt, length);
            uint256 amount =
                _ask(seed >> 128, cap, _window.remaining(word, cap, bucketMinutes, 1, nowAt));
            uint256 late = _unitsSince(nowAt - 13 * length, unit);
            bool fits = late + (amount + unit - 1) / unit <= cap / unit;

            try _window.spend(word, amount, cap, bucketMinutes, 1, nowAt) returns (uint256 next) {
                word = next;
                _ledger.push(Entry(nowAt, amount));
                vm.assertTrue(_sumFrom(nowAt - 12 * length) <= cap, "over the cap in one period");
            } catch {
                vm.assertFalse(fits, "refused more than a bucket early");
            }
        }
    }

    /// @dev The file is `{"steps": [{name, before, amount, cap, bucketMinutes, epoch, now, verdict,
    ///      numbers, next, spent, remaining}]}`, written by `spend-window.mjs` from a model of its
    ///      own; the Rust twin reads it too.
    function test_matches_the_shared_vectors() public {
        bytes memory encoded = vm.parseJsonTypeArray(
            vm.readFile("../testdata/vectors/spend-window.json"),
            "$.steps",
            string.concat(
                "SpendStep(string name,uint256 before,uint256 amount,uint256 cap,",
                "uint256 bucketMinutes,uint256 epoch,uint256 now,string verdict,",
                "uint256[] numbers,uint256 next,uint256 spent,uint256 remaining)"
            )
        );
        SpendStep[] memory steps = abi.decode(encoded, (SpendStep[]));

        vm.assertTrue(steps.length >= 500, "vectors read");
        for (uint256 i = 0; i < steps.length; i++) {
            _matches(steps[i], string.concat("step ", vm.toString(i), ", ", steps[i].name));
        }
    }

    function test_a_spend_on_the_same_grid_costs_less_than_2500_gas() public view {
        uint256 word = 0;
        uint256 used;
        for (uint256 i = 0; i < 13; i++) {
            (used, word) = _window.gasOfSpend(word, 1e6, 100e6, DAY, 1, NOW + i * 2 hours);
            vm.assertTrue(used < 2500, vm.toString(used));
        }
    }

    /// @dev Once per grant, not per spend.
    function test_a_spend_under_a_new_grant_costs_little_more() public view {
        uint256 word = 0;
        for (uint256 i = 0; i < 13; i++) {
            word = _window.spend(word, 1e6, 100e6, DAY, 1, NOW + i * 2 hours);
        }

        (uint256 grid,) = _window.gasOfSpend(word, 1e6, 100e6, 240, 2, NOW + 24 hours);
        (uint256 finer,) = _window.gasOfSpend(word, 1e6, 60e6, DAY, 2, NOW + 24 hours);
        (uint256 coarser,) = _window.gasOfSpend(word, 1e6, 100e9, DAY, 2, NOW + 24 hours);

        vm.assertTrue(grid < 3000, vm.toString(grid));
        vm.assertTrue(finer < 3000, vm.toString(finer));
        vm.assertTrue(coarser < 6000, vm.toString(coarser));
    }

    function _matches(SpendStep memory step, string memory name) private {
        uint64 cap = uint64(step.cap);
        uint16 bucketMinutes = uint16(step.bucketMinutes);
        uint16 epoch = uint16(step.epoch);
        bool over = _same(step.verdict, "OverCap");
        bool ok = _same(step.verdict, "ok");

        if (ok || over) {
            vm.assertEq(_window.spent(step.before, step.now), step.spent, name);
            vm.assertEq(
                _window.remaining(step.before, cap, bucketMinutes, epoch, step.now),
                step.remaining,
                name
            );
        } else {
            vm.expectRevert(_refusal(step));
            _window.remaining(step.before, cap, bucketMinutes, epoch, step.now);
        }
        if (ok) {
            uint256 next =
                _window.spend(step.before, step.amount, cap, bucketMinutes, epoch, step.now);
            vm.assertEq(bytes32(next), bytes32(step.next), name);
        } else {
            vm.expectRevert(_refusal(step));
            _window.spend(step.before, step.amount, cap, bucketMinutes, epoch, step.now);
        }
    }

    /// @dev `SpendWindow_<verdict>` with the numbers, whichever error it is.
    function _refusal(SpendStep memory step) private pure returns (bytes memory) {
        uint256 count = step.numbers.length;
        string memory types =
            count == 0 ? "()" : count == 2 ? "(uint256,uint256)" : "(uint256,uint256,uint256)";
        bytes4 selector =
            bytes4(keccak256(bytes(string.concat("SpendWindow_", step.verdict, types))));
        return bytes.concat(selector, abi.encodePacked(step.numbers));
    }

    /// @dev What `spend` of zero makes of a word, in the slowest way there is.
    function _slowly(uint256 word, uint256 cap, uint256 bucketMinutes, uint256 nowAt)
        private
        pure
        returns (uint256 next)
    {
        uint256 grid = (word >> 220) & 0x3fff;
        uint256 to = grid > bucketMinutes ? grid : bucketMinutes;
        uint256[13] memory buckets;
        uint256 sum = 0;
        for (uint256 age = 0; age < 13; age++) {
            uint256 passed = grid == 0 ? 0 : nowAt / (grid * 60) - (word / 2 ** 195) % 2 ** 25;
            if (age + passed > 12) continue;
            uint256 units = (word / 2 ** (15 * age)) % 2 ** 15;
            buckets[age + passed] = units;
            sum += units;
        }
        if (to != grid) {
            delete buckets;
            if (sum > 32_767) sum = 32_767;
            buckets[0] = sum;
        }

        uint256 scale = 0;
        while (cap / 2 ** scale > 32_767) scale++;
        uint256 from = (word / 2 ** 234) % 64;
        if (scale < from && sum * 2 ** (from - scale) > 32_767) scale = from;
        for (uint256 age = 0; age < 13; age++) {
            uint256 dollars = buckets[age] * 2 ** from;
            next += (dollars + 2 ** scale - 1) / 2 ** scale * 2 ** (15 * age);
        }
        next += nowAt / (to * 60) * 2 ** 195 + to * 2 ** 220 + scale * 2 ** 234;
        next += word / 2 ** 240 * 2 ** 240;
    }

    function _left(uint256 word, uint256 cap) private pure returns (uint256) {
        uint256 scale = (word >> 234) & 0x3f;
        uint256 sum = 0;
        for (uint256 i = 0; i < 13; i++) {
            sum += (word >> (15 * i)) & 0x7fff;
        }
        return sum < cap >> scale ? ((cap >> scale) - sum) << scale : 0;
    }

    /// @dev Often none or little, sometimes about a period; edges of buckets often.
    function _pause(uint256 seed, uint256 nowAt, uint256 length) private pure returns (uint256) {
        uint256 buckets = 0;
        if (seed % 3 == 1) buckets = (seed >> 8) % 3;
        if (seed % 3 == 2) buckets = 10 + (seed >> 8) % 5;
        uint256 kind = (seed >> 16) % 4;
        uint256 rest = (seed >> 24) % length;
        if (kind == 0) rest = 0;
        if (kind == 1) rest = length - 1 - nowAt % length;
        if (kind == 2) rest = length - nowAt % length;
        return buckets * length + rest;
    }

    /// @dev Part of the cap, or around what remains.
    function _ask(uint256 seed, uint256 cap, uint256 left) private pure returns (uint256) {
        uint256 kind = seed % 4;
        if (kind == 0) return (seed >> 8) % (cap / 4 + 2);
        if (kind == 1) return (seed >> 8) % (left + 1);
        return left + (seed >> 8) % 2;
    }

    function _unitsSince(uint256 from, uint256 unit) private view returns (uint256 units) {
        for (uint256 i = 0; i < _ledger.length; i++) {
            if (_ledger[i].at > from) units += (_ledger[i].amount + unit - 1) / unit;
        }
    }

    function _sumFrom(uint256 from) private view returns (uint256 sum) {
        for (uint256 i = 0; i < _ledger.length; i++) {
            if (_ledger[i].at >= from) sum += _ledger[i].amount;
        }
    }

    function _same(string memory a, string memory b) private pure returns (bool) {
        return keccak256(bytes(a)) == keccak256(bytes(b));
    }

    function _overCap(uint256 spent, uint256 amount, uint256 cap)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(SpendWindow.SpendWindow_OverCap.selector, spent, amount, cap);
    }

    function _staleEpoch(uint256 epoch, uint256 highest) private pure returns (bytes memory) {
        return abi.encodeWithSelector(SpendWindow.SpendWindow_StaleEpoch.selector, epoch, highest);
    }

    function _timeWentBack(uint256 bucket, uint256 newest) private pure returns (bytes memory) {
        bytes4 selector = SpendWindow.SpendWindow_TimeWentBack.selector;
        return abi.encodeWithSelector(selector, bucket, newest);
    }

    function _timeOutOfRange(uint256 bucket) private pure returns (bytes memory) {
        return
            abi.encodeWithSelector(
                SpendWindow.SpendWindow_TimeOutOfRange.selector, bucket, 33_554_431
            );
    }
}
