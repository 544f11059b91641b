// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice What a Golem spent of late, in one word: never over the cap in any period of 12 buckets.
/// @dev Word, low bits first: 13 buckets × 15 (newest first) ‖ bucket index 25 ‖ bucket minutes 14
///      ‖ scale 6 ‖ epoch 16; twin `SpendWindow` in Rust. Zero is a window never used.
///
///      Amounts are micro-dollars. A unit is 2^scale of them, with the smallest scale at which the
///      cap stays below 2^15 units. Amounts round up to units, the cap rounds down, so that at most
///      1/16384 of a cap cannot be spent. A period of 12 buckets touches 13 at most: all 13 count,
///      and what was spent is free again one bucket late at most.
///
///      A new grant refills nothing. A coarser scale rounds each bucket up; a finer one is taken
///      only when everything live fits it, for more than any of its caps is live otherwise. Another
///      grid takes all that is live into its newest bucket. Within an epoch a grid is never
///      shortened, so that of two grants alive together neither sheds what the other must remember.
///
///      Arithmetic is unchecked where fields of the word bound it: every redemption runs it.
///
///      Not promised: that spends of an earlier epoch are remembered for longer than the shortest
///      period the owner has signed since; nor buckets of one minute after October 2033, when
///      their index ends and everything is refused.
library SpendWindow {
    /// @notice `spent` in the live buckets and `amount` together exceed `cap`, in micro-dollars.
    error SpendWindow_OverCap(uint256 spent, uint256 amount, uint256 cap);
    /// @notice The grant is of `epoch`, and one of `highest` was used already.
    error SpendWindow_StaleEpoch(uint256 epoch, uint256 highest);
    /// @notice It is `bucket` on a grid whose `newest` was used already.
    error SpendWindow_TimeWentBack(uint256 bucket, uint256 newest);
    /// @notice It is `bucket`, and the word counts up to `last`.
    error SpendWindow_TimeOutOfRange(uint256 bucket, uint256 last);
    /// @notice Malformed terms: a cap of nothing.
    error SpendWindow_ZeroCap();
    /// @notice Malformed terms: a bucket lasts from one minute to `longest`.
    error SpendWindow_BucketLength(uint256 bucketMinutes, uint256 longest);

    /// @notice Buckets that count.
    uint256 internal constant BUCKETS = 13;
    /// @notice Buckets of a period; one more counts because a period rarely starts with a bucket.
    uint256 internal constant PERIOD_BUCKETS = 12;
    /// @notice Most units in a bucket, and in a cap.
    uint256 internal constant MAX_UNITS = 0x7fff;
    /// @notice Longest bucket in minutes.
    uint256 internal constant MAX_BUCKET_MINUTES = 0x3fff;
    /// @notice Last bucket that can be counted.
    uint256 internal constant LAST_BUCKET = 0x1ffffff;

    uint256 private constant UNIT_BITS = 15;
    uint256 private constant BUCKETS_MASK = (1 << 195) - 1;
    uint256 private constant INDEX_AT = 195;
    uint256 private constant MINUTES_AT = 220;
    uint256 private constant SCALE_AT = 234;
    uint256 private constant SCALE_MASK = 0x3f;
    uint256 private constant EPOCH_AT = 240;
    uint256 private constant FULL_PAIR = (1 << 30) - 1;
    /// @dev Every second bucket: the lower 15 of each 30 bits.
    uint256 private constant LOWER_OF_PAIRS = 0x7fff * (((1 << 210) - 1) / ((1 << 30) - 1));

    /// @notice Records `amount`, or refuses; an amount of zero is never over a cap, and still
    ///         records epoch and grid.
    /// @param word What the caller stores, zero at first.
    /// @param amount Micro-dollars.
    /// @param cap Micro-dollars per period, more than zero.
    /// @param bucketMinutes A twelfth of the period.
    /// @param epoch Number of the grant; one lower than was ever used is refused.
    /// @param nowAt Seconds.
    /// @return What the caller stores instead.
    function spend(
        uint256 word,
        uint256 amount,
        uint64 cap,
        uint16 bucketMinutes,
        uint16 epoch,
        uint256 nowAt
    ) internal pure returns (uint256) {
        uint256 current = _current(word, cap, bucketMinutes, epoch, nowAt);
        uint256 scale = _scale(current);
        uint256 units = _sum(current & BUCKETS_MASK);
        if (amount > _room(units, scale, cap)) {
            revert SpendWindow_OverCap(units << scale, amount, cap);
        }
        // The newest bucket is lowest, and with the cap below 2^15 units it does not run over; the
        // amount is below 2^64 by now.
        unchecked {
            return current + ((amount + (1 << scale) - 1) >> scale);
        }
    }

    /// @notice What still counts at `nowAt`, in micro-dollars, on the grid last used; rounded up.
    function spent(uint256 word, uint256 nowAt) internal pure returns (uint256) {
        return _sum(_liveAt(word, _minutes(word), nowAt)) << _scale(word);
    }

    /// @notice The largest amount that `spend` would accept, in micro-dollars; refuses alike where
    ///         `spend` would refuse even zero.
    function remaining(uint256 word, uint64 cap, uint16 bucketMinutes, uint16 epoch, uint256 nowAt)
        internal
        pure
        returns (uint256)
    {
        uint256 current = _current(word, cap, bucketMinutes, epoch, nowAt);
        return _room(_sum(current & BUCKETS_MASK), _scale(current), cap);
    }

    /// @dev The word as of now and under these terms, with nothing spent yet.
    function _current(
        uint256 word,
        uint256 cap,
        uint256 bucketMinutes,
        uint256 epoch,
        uint256 nowAt
    ) private pure returns (uint256) {
        if (cap == 0) revert SpendWindow_ZeroCap();
        if (bucketMinutes == 0 || bucketMinutes > MAX_BUCKET_MINUTES) {
            revert SpendWindow_BucketLength(bucketMinutes, MAX_BUCKET_MINUTES);
        }
        uint256 highest = word >> EPOCH_AT;
        if (epoch < highest) revert SpendWindow_StaleEpoch(epoch, highest);

        uint256 storedMinutes = _minutes(word);
        if (epoch == highest && bucketMinutes < storedMinutes) bucketMinutes = storedMinutes;
        uint256 index = _index(nowAt, bucketMinutes);
        if (index > LAST_BUCKET) revert SpendWindow_TimeOutOfRange(index, LAST_BUCKET);

        uint256 buckets;
        if (bucketMinutes == storedMinutes) {
            buckets = _live(word, index);
        } else {
            buckets = _sum(_liveAt(word, storedMinutes, nowAt));
            // A word made here never sums up to more; a foreign one stays full.
            if (buckets > MAX_UNITS) buckets = MAX_UNITS;
        }
        uint256 scale = _scale(word);
        (buckets, scale) = _rescaled(buckets, scale, _scaleFor(cap));

        uint256 grid = index << INDEX_AT | bucketMinutes << MINUTES_AT;
        return epoch << EPOCH_AT | scale << SCALE_AT | grid | buckets;
    }

    /// @dev The buckets as of now on the grid of the word. Without a grid it was never used, and
    ///      nothing grows old.
    function _liveAt(uint256 word, uint256 storedMinutes, uint256 nowAt)
        private
        pure
        returns (uint256)
    {
        if (storedMinutes == 0) return word & BUCKETS_MASK;
        return _live(word, _index(nowAt, storedMinutes));
    }

    /// @dev The buckets as of bucket `index`, those of more than 12 before it dropped.
    function _live(uint256 word, uint256 index) private pure returns (uint256) {
        uint256 newest = (word >> INDEX_AT) & LAST_BUCKET;
        if (index < newest) revert SpendWindow_TimeWentBack(index, newest);
        unchecked {
            uint256 passed = index - newest;
            if (passed >= BUCKETS) return 0;
            return (word << (passed * UNIT_BITS)) & BUCKETS_MASK;
        }
    }

    /// @dev Brings buckets from scale `from` to scale `to`, unless they do not fit there: then
    ///      more than a full cap of the new scale is live, and they stay what they are.
    function _rescaled(uint256 buckets, uint256 from, uint256 to)
        private
        pure
        returns (uint256, uint256)
    {
        if (to > from) return (_coarser(buckets, to - from), to);
        if (to < from) {
            if (_sum(buckets) << (from - to) > MAX_UNITS) return (buckets, from);
            // All of them together fit into one bucket, so none runs over into the next.
            return (buckets << (from - to), to);
        }
        return (buckets, from);
    }

    /// @dev Divides each bucket by 2^`by`, rounding up.
    function _coarser(uint256 buckets, uint256 by) private pure returns (uint256 coarse) {
        uint256 below = (1 << by) - 1;
        for (uint256 at = 0; buckets >> at != 0; at += UNIT_BITS) {
            coarse |= ((((buckets >> at) & MAX_UNITS) + below) >> by) << at;
        }
    }

    /// @dev What fits under the cap beside `units`, in micro-dollars.
    function _room(uint256 units, uint256 scale, uint256 cap) private pure returns (uint256) {
        uint256 most = cap >> scale;
        unchecked {
            return units < most ? (most - units) << scale : 0;
        }
    }

    /// @dev All buckets together. Neighbours are added into pairs of 30 bits; as 2^30 leaves 1 when
    ///      divided by 2^30 − 1, the remainder is the sum of the pairs, which is far below.
    function _sum(uint256 buckets) private pure returns (uint256) {
        unchecked {
            return
                ((buckets & LOWER_OF_PAIRS) + ((buckets >> UNIT_BITS) & LOWER_OF_PAIRS)) % FULL_PAIR;
        }
    }

    /// @dev The smallest scale at which `cap` is below 2^15 units: how many bits it has above 15.
    function _scaleFor(uint256 cap) private pure returns (uint256 scale) {
        uint256 rest = cap >> UNIT_BITS;
        if (rest >> 32 != 0) {
            scale = 32;
            rest >>= 32;
        }
        if (rest >> 16 != 0) {
            scale |= 16;
            rest >>= 16;
        }
        if (rest >> 8 != 0) {
            scale |= 8;
            rest >>= 8;
        }
        if (rest >> 4 != 0) {
            scale |= 4;
            rest >>= 4;
        }
        if (rest >> 2 != 0) {
            scale |= 2;
            rest >>= 2;
        }
        // 0, 1, 2 and 3 have 0, 1, 2 and 2 bits.
        unchecked {
            scale += rest == 3 ? 2 : rest;
        }
    }

    /// @dev Of a length that is at least one minute and at most {MAX_BUCKET_MINUTES}.
    function _index(uint256 nowAt, uint256 bucketMinutes) private pure returns (uint256) {
        unchecked {
            return nowAt / (bucketMinutes * 1 minutes);
        }
    }

    function _minutes(uint256 word) private pure returns (uint256) {
        return (word >> MINUTES_AT) & MAX_BUCKET_MINUTES;
    }

    function _scale(uint256 word) private pure returns (uint256) {
        return (word >> SCALE_AT) & SCALE_MASK;
    }
}
