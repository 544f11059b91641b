// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {SpendWindow} from "../../src/rules/SpendWindow.sol";
import {TestBase} from "../TestBase.sol";
import {SpendWindowHarness} from "../rules/SpendWindow.t.sol";

/// @notice A Golem with a clock, and an owner who grants anew whenever it pleases him.
/// @dev Three grants lie side by side, so that old and new ones of one epoch are tried in turn.
contract SpendWindowHandler is TestBase {
    struct Grant {
        uint64 cap;
        uint16 bucketMinutes;
        uint16 epoch;
    }

    struct Entry {
        uint256 at;
        uint256 amount;
        uint256 period;
        uint256 epoch;
        uint256 cap;
    }

    SpendWindowHarness private immutable WINDOW = new SpendWindowHarness();
    uint256 private constant START = 1_767_225_600;

    uint256 public word;
    uint256 public accepted;
    uint256 public refused;
    /// @notice The first broken promise, if any.
    string public broken;

    Grant[3] private _grants;
    Entry[] private _ledger;
    uint256 private _now = START;

    constructor() {
        for (uint256 i = 0; i < _grants.length; i++) {
            _grants[i] = Grant(100e6, 120, 1);
        }
    }

    function entries() external view returns (uint256) {
        return _ledger.length;
    }

    function wait(uint256 buckets, uint256 rest, uint8 which) external {
        uint256 length = uint256(_grants[which % 3].bucketMinutes) * 1 minutes;
        buckets = within(buckets, 0, 27);
        if (buckets > 14) buckets = 0;
        _now += buckets * length;
        // To the first or the last second of a bucket, or anywhere.
        if (rest % 3 == 0) _now += length - _now % length;
        else if (rest % 3 == 1) _now += length - 1 - _now % length;
        else _now += (rest / 3) % length;
    }

    function grant(uint64 cap, uint8 shift, uint8 grid, bool newer, uint8 which) external {
        uint16[6] memory grids = [uint16(1), 10, 120, 121, 240, 840];
        uint16 epoch = _grants[which % 3].epoch;
        if (newer && epoch < type(uint16).max) epoch++;
        cap = uint64(within(cap, 1, type(uint64).max >> (shift % 64)));
        _grants[which % 3] = Grant(cap, grids[grid % 6], epoch);
    }

    function spendPart(uint256 of64, uint8 which) external {
        _spend(uint256(_grants[which % 3].cap) / 64 * within(of64, 0, 40) + 1, which);
    }

    function spendAllThatRemains(uint8 which, uint8 more) external {
        Grant memory terms = _grants[which % 3];
        try WINDOW.remaining(word, terms.cap, terms.bucketMinutes, terms.epoch, _now) returns (
            uint256 left
        ) {
            _spend(left + more % 2, which);
        } catch {
            _spend(1, which);
        }
    }

    function spendNothing(uint8 which) external {
        _spend(0, which);
    }

    function _spend(uint256 amount, uint8 which) private {
        Grant memory terms = _grants[which % 3];
        try WINDOW.spend(word, amount, terms.cap, terms.bucketMinutes, terms.epoch, _now) returns (
            uint256 next
        ) {
            if (terms.epoch < word >> 240) broken = "a stale epoch was taken";
            if (next >> 240 != terms.epoch) broken = "the epoch was not recorded";
            word = next;
            accepted++;
            _note(amount, terms);
        } catch (bytes memory reason) {
            // The first four bytes are what is wanted.
            // forge-lint: disable-next-line(unsafe-typecast)
            bytes4 selector = bytes4(reason);
            if (selector == SpendWindow.SpendWindow_StaleEpoch.selector) {
                if (terms.epoch >= word >> 240) broken = "a good epoch was refused";
            } else if (selector == SpendWindow.SpendWindow_OverCap.selector) {
                if (amount == 0) broken = "zero was refused";
                if (_fitsForSure(amount, terms)) broken = "refused more than a bucket early";
            } else if (selector == SpendWindow.SpendWindow_TimeOutOfRange.selector) {
                if (_now / 1 minutes < 1 << 25) broken = "a time was refused";
            } else {
                broken = "refused for no reason of this clock";
            }
            refused++;
        }
    }

    /// @dev D7: what was spent in the last thirteen buckets of the longest grid there was, every spend rounded up to
    ///      the coarsest unit there was, leaves room. Only then is a refusal more than a bucket early.
    function _fitsForSure(uint256 amount, Grant memory terms) private view returns (bool) {
        uint256 cap = terms.cap;
        for (uint256 i = 0; i < _ledger.length; i++) {
            if (_ledger[i].cap > cap) cap = _ledger[i].cap;
        }
        uint256 unit = 1;
        while (cap / unit >= 1 << 15) unit *= 2;
        uint256 longest = uint256(terms.bucketMinutes) * 13 minutes;
        for (uint256 i = 0; i < _ledger.length; i++) {
            uint256 period = _ledger[i].period / 12 * 13;
            if (period > longest) longest = period;
        }
        uint256 units = 0;
        for (uint256 i = 0; i < _ledger.length; i++) {
            // Twice, for a bucket that moves to another grid is rounded again.
            if (_now - _ledger[i].at <= 2 * longest) units += 2 * (_ledger[i].amount / unit + 1);
        }
        return (units + amount / unit + 1) * unit <= terms.cap;
    }

    /// @dev A spend counts for as long as the shortest period in force since; within an epoch a
    ///      period is never shortened.
    function _note(uint256 amount, Grant memory terms) private {
        uint256 period = uint256(terms.bucketMinutes) * 12 minutes;
        uint256 count = _ledger.length;
        if (count > 0) {
            Entry memory last = _ledger[count - 1];
            if (last.epoch == terms.epoch && last.period > period) period = last.period;
        }
        _ledger.push(Entry(_now, amount, period, terms.epoch, terms.cap));
        if (amount == 0) return;

        uint256 sum = 0;
        uint256 shortest = period;
        for (uint256 i = count + 1; i > 0; i--) {
            Entry memory past = _ledger[i - 1];
            if (past.period < shortest) shortest = past.period;
            if (_now - past.at <= shortest) sum += past.amount;
        }
        if (sum > terms.cap) broken = "over the cap in one period";
    }
}

contract SpendWindowInvariantTest is TestBase {
    SpendWindowHandler private _handler;

    function setUp() public {
        _handler = new SpendWindowHandler();
    }

    /// @dev Asked by forge: what to call.
    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    /// @dev ATK-19, ATK-23, ATK-31.
    /// forge-config: default.invariant.runs = 128
    /// forge-config: default.invariant.depth = 96
    function invariant_no_sequence_of_grants_and_spends_breaks_a_promise() public view {
        vm.assertEq(_handler.broken(), "", "broken promise");
        vm.assertEq(_handler.entries(), _handler.accepted(), "ledger");
    }

    /// @dev A window that refuses everything would break no promise above.
    function test_the_walk_spends_and_is_refused() public {
        uint256 seed = 7;
        for (uint256 i = 0; i < 800; i++) {
            seed = uint256(keccak256(abi.encode(seed)));
            // Any byte will do.
            // forge-lint: disable-next-line(unsafe-typecast)
            (uint8 which, uint8 more) = (uint8(seed >> 8), uint8(seed >> 16));
            if (seed % 3 == 0) _handler.wait(seed >> 16, seed >> 32, which);
            else if (seed % 9 == 1) _handler.spendAllThatRemains(which, more);
            else _handler.spendPart(seed >> 16, which);
        }
        vm.assertEq(_handler.broken(), "", "broken promise");
        vm.assertTrue(_handler.accepted() > 100, "too few were accepted");
        vm.assertTrue(_handler.refused() > 50, "too few were refused");
    }

    /// @dev So that nothing is ever cut off where everything must fit into one bucket.
    function invariant_all_buckets_together_fit_into_one() public view {
        uint256 word = _handler.word();
        uint256 sum = 0;
        for (uint256 i = 0; i < 13; i++) {
            sum += (word >> (15 * i)) & 0x7fff;
        }
        vm.assertTrue(sum <= 0x7fff, "more than a bucket holds");
    }
}
