use alloy_primitives::U256;

/// Buckets that count.
const BUCKETS: usize = 13;
/// Most units in a bucket, and in a cap.
const MAX_UNITS: u16 = 0x7fff;
const UNIT_BITS: usize = 15;
const INDEX_AT: usize = 195;
const MINUTES_AT: usize = 220;
const SCALE_AT: usize = 234;
const SCALE_MASK: u32 = 0x3f;
const EPOCH_AT: usize = 240;
const SECONDS_PER_MINUTE: u64 = 60;

/// How much a grant lets a Golem spend, and in which time.
///
/// ```
/// use golem_delegation::{SpendRefusal, SpendTerms};
/// // Twenty-five dollars in any day, by the first grant.
/// let day = SpendTerms::new(25_000_000, SpendTerms::DAY, 1)?;
/// assert_eq!((day.cap(), day.bucket_minutes(), day.epoch()), (25_000_000, 120, 1));
/// assert_eq!(SpendTerms::new(0, SpendTerms::DAY, 1), Err(SpendRefusal::ZeroCap));
/// # Ok::<(), golem_delegation::SpendRefusal>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpendTerms {
    cap: u64,
    bucket_minutes: u16,
    epoch: u16,
}

impl SpendTerms {
    /// Buckets of a period.
    ///
    /// ```
    /// use golem_delegation::SpendTerms;
    /// assert_eq!(SpendTerms::DAY * SpendTerms::PERIOD_BUCKETS, 24 * 60);
    /// ```
    pub const PERIOD_BUCKETS: u16 = 12;
    /// A period of 24 hours.
    pub const DAY: u16 = 120;
    /// Longest bucket in minutes.
    ///
    /// ```
    /// use golem_delegation::{SpendRefusal, SpendTerms};
    /// let longest = SpendTerms::MAX_BUCKET_MINUTES;
    /// assert!(SpendTerms::new(1, longest, 1).is_ok());
    /// let refusal = SpendRefusal::BucketLength { bucket_minutes: 16_384, longest: 16_383 };
    /// assert_eq!(SpendTerms::new(1, longest + 1, 1), Err(refusal));
    /// ```
    pub const MAX_BUCKET_MINUTES: u16 = 0x3fff;

    /// A cap in micro-dollars per period of twelve buckets; a grant of a lower epoch than was ever
    /// used is refused.
    ///
    /// Refuses what the contract calls malformed: no cap, or a length that the word cannot hold.
    pub const fn new(cap: u64, bucket_minutes: u16, epoch: u16) -> Result<Self, SpendRefusal> {
        if cap == 0 {
            return Err(SpendRefusal::ZeroCap);
        }
        if bucket_minutes == 0 || bucket_minutes > Self::MAX_BUCKET_MINUTES {
            let longest = Self::MAX_BUCKET_MINUTES;
            return Err(SpendRefusal::BucketLength { bucket_minutes, longest });
        }
        Ok(Self { cap, bucket_minutes, epoch })
    }

    /// Micro-dollars per period.
    ///
    /// ```
    /// use golem_delegation::SpendTerms;
    /// assert_eq!(SpendTerms::new(25_000_000, SpendTerms::DAY, 1)?.cap(), 25_000_000);
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    #[must_use]
    pub const fn cap(&self) -> u64 {
        self.cap
    }

    /// A twelfth of the period.
    ///
    /// ```
    /// use golem_delegation::SpendTerms;
    /// let week = SpendTerms::new(25_000_000, 7 * SpendTerms::DAY, 1)?;
    /// assert_eq!(week.bucket_minutes(), 840);
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    #[must_use]
    pub const fn bucket_minutes(&self) -> u16 {
        self.bucket_minutes
    }

    /// Number of the grant.
    ///
    /// ```
    /// use golem_delegation::SpendTerms;
    /// assert_eq!(SpendTerms::new(25_000_000, SpendTerms::DAY, 2)?.epoch(), 2);
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    #[must_use]
    pub const fn epoch(&self) -> u16 {
        self.epoch
    }

    /// What of the cap can be spent: whole units.
    pub(crate) const fn spendable(&self) -> u64 {
        self.cap >> self.scale() << self.scale()
    }

    /// The smallest scale at which the cap is less than 2^15 units.
    pub(crate) const fn scale(&self) -> u32 {
        u64::BITS - (self.cap >> UNIT_BITS).leading_zeros()
    }
}

/// Why nothing was spent; what the contract `SpendWindow` reverts with.
///
/// ```
/// use golem_delegation::{SpendRefusal, SpendTerms, SpendWindow};
/// # use alloy_primitives::U256;
/// let first = SpendTerms::new(20_000, SpendTerms::DAY, 1)?;
/// let second = SpendTerms::new(20_000, SpendTerms::DAY, 2)?;
/// let window = SpendWindow::default().spend(U256::from(1), &second, 1_000)?;
/// let refusal = SpendRefusal::StaleEpoch { epoch: 1, highest: 2 };
/// assert_eq!(window.spend(U256::from(1), &first, 1_000), Err(refusal));
/// # Ok::<(), golem_delegation::SpendRefusal>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpendRefusal {
    /// More than the cap would lie in one period.
    #[error(
        "spending {amount} micro-dollars beside {spent} of late is over the cap of {cap} per period"
    )]
    OverCap {
        /// What counts already, rounded up.
        spent: u128,
        /// What was asked for.
        amount: U256,
        /// The cap.
        cap: u64,
    },
    /// A newer grant was used already.
    #[error("grant of epoch {epoch} is older than one of epoch {highest} that was used")]
    StaleEpoch {
        /// Of this grant.
        epoch: u16,
        /// Of the newest that was used.
        highest: u16,
    },
    /// Time before the newest spend.
    #[error("time is in bucket {bucket}, before bucket {newest} of the newest spend")]
    TimeWentBack {
        /// Where the time lies on the grid of the window.
        bucket: u64,
        /// The newest that was used.
        newest: u32,
    },
    /// The word cannot count that far.
    #[error("time is in bucket {bucket}, past bucket {last}, the last that can be counted")]
    TimeOutOfRange {
        /// Where the time lies.
        bucket: u64,
        /// The last.
        last: u32,
    },
    /// Terms that allow nothing.
    #[error("spend terms have a cap of zero")]
    ZeroCap,
    /// Terms with a grid that the word cannot hold.
    #[error("spend terms have buckets of {bucket_minutes} minutes, not of 1 to {longest}")]
    BucketLength {
        /// What was given.
        bucket_minutes: u16,
        /// The longest.
        longest: u16,
    },
}

/// What a Golem spent of late: never over the cap in any period. Twin of the contract's library of
/// the same name, bit for bit.
///
/// ```text
/// bit 0        195      220       234     240     256
///  │ 13 × 15    │ 25     │ 14      │ 6     │ 16    │
///  │ buckets,   │ bucket │ bucket  │ scale │ epoch │
///  │ newest 1st │ index  │ minutes │       │       │
/// ```
///
/// A unit is 2^scale micro-dollars. Amounts round up to units and the cap rounds down. A period of
/// 12 buckets touches 13 at most: all 13 count, and what was spent is free again one bucket late at
/// most. A new grant refills nothing: a coarser scale rounds up, a finer one is taken only when
/// everything live fits it, another grid takes all that is live into its newest bucket, and within
/// an epoch a grid is never shortened.
///
/// ```
/// use alloy_primitives::U256;
/// use golem_delegation::{SpendRefusal, SpendTerms, SpendWindow};
///
/// let day = SpendTerms::new(20_000, SpendTerms::DAY, 1)?;
/// let noon = 1_767_268_800;
/// let window = SpendWindow::default().spend(U256::from(19_999), &day, noon)?;
///
/// assert_eq!(window.remaining(&day, noon), Ok(1));
/// let (spent, amount, cap) = (19_999, U256::from(2), 20_000);
/// let refusal = SpendRefusal::OverCap { spent, amount, cap };
/// assert_eq!(window.spend(amount, &day, noon), Err(refusal));
///
/// // Free again after 26 hours at most, and not within 24.
/// assert_eq!(window.remaining(&day, noon + 24 * 3600), Ok(1));
/// assert_eq!(window.remaining(&day, noon + 26 * 3600), Ok(20_000));
/// # Ok::<(), SpendRefusal>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SpendWindow {
    buckets: [u16; BUCKETS],
    newest: u32,
    bucket_minutes: u16,
    scale: u32,
    epoch: u16,
}

impl SpendWindow {
    /// Last bucket that can be counted.
    ///
    /// ```
    /// use golem_delegation::{SpendRefusal, SpendTerms, SpendWindow};
    /// let minutes = SpendTerms::new(20_000, 1, 1)?;
    /// let last = SpendWindow::LAST_BUCKET;
    /// let end = u64::from(last) * 60 + 59;
    /// assert_eq!(SpendWindow::default().remaining(&minutes, end), Ok(20_000));
    /// let refusal = SpendRefusal::TimeOutOfRange { bucket: u64::from(last) + 1, last };
    /// assert_eq!(SpendWindow::default().remaining(&minutes, end + 1), Err(refusal));
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    pub const LAST_BUCKET: u32 = 0x1ff_ffff;

    /// Reads what the contract stores; every word is one.
    ///
    /// ```
    /// use golem_delegation::SpendWindow;
    /// # use alloy_primitives::U256;
    /// // Storage that nobody wrote to is a window in which nothing was spent.
    /// assert_eq!(SpendWindow::from_word(U256::ZERO), SpendWindow::default());
    /// assert_eq!(SpendWindow::from_word(U256::MAX).to_word(), U256::MAX);
    /// ```
    #[must_use]
    pub fn from_word(word: U256) -> Self {
        let mut rest = word;
        let buckets = [(); BUCKETS].map(|()| {
            let units = rest.wrapping_to::<u16>() & MAX_UNITS;
            rest >>= UNIT_BITS;
            units
        });
        Self {
            buckets,
            newest: (word >> INDEX_AT).wrapping_to::<u32>() & Self::LAST_BUCKET,
            bucket_minutes: (word >> MINUTES_AT).wrapping_to::<u16>()
                & SpendTerms::MAX_BUCKET_MINUTES,
            scale: (word >> SCALE_AT).wrapping_to::<u32>() & SCALE_MASK,
            epoch: (word >> EPOCH_AT).wrapping_to(),
        }
    }

    /// What the contract stores.
    ///
    /// ```
    /// use golem_delegation::{SpendTerms, SpendWindow};
    /// # use alloy_primitives::U256;
    /// let day = SpendTerms::new(20_000, SpendTerms::DAY, 3)?;
    /// let word = SpendWindow::default().spend(U256::from(700), &day, 7_200)?.to_word();
    /// let at = |bit: usize, value: u64| U256::from(value) << bit;
    /// // Units in the newest bucket, its number, its minutes, no scale, and the epoch.
    /// assert_eq!(word, at(0, 700) | at(195, 1) | at(220, 120) | at(240, 3));
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    #[must_use]
    pub fn to_word(&self) -> U256 {
        let buckets = self
            .buckets
            .iter()
            .rev()
            .fold(U256::ZERO, |word, units| (word << UNIT_BITS) | U256::from(*units));
        buckets
            | (U256::from(self.newest) << INDEX_AT)
            | (U256::from(self.bucket_minutes) << MINUTES_AT)
            | (U256::from(self.scale) << SCALE_AT)
            | (U256::from(self.epoch) << EPOCH_AT)
    }

    /// The highest epoch of a grant that was used.
    ///
    /// ```
    /// use golem_delegation::{SpendTerms, SpendWindow};
    /// # use alloy_primitives::U256;
    /// let day = SpendTerms::new(20_000, SpendTerms::DAY, 3)?;
    /// let window = SpendWindow::default().spend(U256::ZERO, &day, 1_000)?;
    /// assert_eq!((SpendWindow::default().epoch(), window.epoch()), (0, 3));
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    #[must_use]
    pub const fn epoch(&self) -> u16 {
        self.epoch
    }

    /// The window after spending `amount` micro-dollars at `now`, in seconds.
    ///
    /// An amount of zero is never over a cap, and still records epoch and grid.
    pub fn spend(&self, amount: U256, terms: &SpendTerms, now: u64) -> Result<Self, SpendRefusal> {
        let mut current = self.current(terms, now)?;
        let room = current.room(terms.cap);
        let Some(fits) = u64::try_from(amount).ok().filter(|amount| *amount <= room) else {
            let spent = u128::from(total(&current.buckets)) << current.scale;
            return Err(SpendRefusal::OverCap { spent, amount, cap: terms.cap });
        };
        let units = fits.div_ceil(1 << current.scale);
        let [newest, ..] = &mut current.buckets;
        *newest = saturated(u128::from(*newest) + u128::from(units));
        Ok(current)
    }

    /// What still counts at `now`, in micro-dollars, on the grid last used; rounded up.
    ///
    /// ```
    /// use golem_delegation::{SpendTerms, SpendWindow};
    /// # use alloy_primitives::U256;
    /// // A cap this high is counted in units of four.
    /// let day = SpendTerms::new(100_000, SpendTerms::DAY, 1)?;
    /// let window = SpendWindow::default().spend(U256::from(1), &day, 0)?;
    /// assert_eq!(window.spent(24 * 3600), Ok(4));
    /// assert_eq!(window.spent(26 * 3600), Ok(0));
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    pub fn spent(&self, now: u64) -> Result<u128, SpendRefusal> {
        Ok(u128::from(total(&self.live(now)?)) << self.scale)
    }

    /// What was spent from second `since` on, as far as is certain: buckets that begin before it may hold what came earlier.
    ///
    /// ```
    /// use golem_delegation::{SpendTerms, SpendWindow};
    /// # use alloy_primitives::U256;
    /// let day = SpendTerms::new(20_000, SpendTerms::DAY, 1)?;
    /// let window = SpendWindow::default().spend(U256::from(5), &day, 7_200)?;
    /// assert_eq!(window.spent_since(7_200, 9_000), Ok(5));
    /// assert_eq!(window.spent_since(7_201, 9_000), Ok(0));
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    pub fn spent_since(&self, since: u64, now: u64) -> Result<u128, SpendRefusal> {
        let newest = bucket_at(now, self.bucket_minutes);
        let begins = |age: u64| newest.checked_sub(age).map(|at| at * self.bucket_seconds());
        let units: u32 = (0_u64..)
            .zip(self.live(now)?)
            .filter(|(age, _)| begins(*age).is_some_and(|at| at >= since))
            .map(|(_, units)| u32::from(units))
            .sum();
        Ok(u128::from(units) << self.scale)
    }

    /// Whether [`spent`](Self::spent) has all of the last so many seconds.
    ///
    /// ```
    /// use golem_delegation::{SpendTerms, SpendWindow};
    /// # use alloy_primitives::U256;
    /// let day = SpendTerms::new(20_000, SpendTerms::DAY, 1)?;
    /// let window = SpendWindow::default().spend(U256::from(5), &day, 7_200)?;
    /// assert!(window.looks_back(86_400));
    /// assert!(!window.looks_back(86_401));
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    #[must_use]
    pub fn looks_back(&self, seconds: u64) -> bool {
        // One that was never used has all there is: nothing.
        self.bucket_minutes == 0
            || self.bucket_seconds() * u64::from(SpendTerms::PERIOD_BUCKETS) >= seconds
    }

    /// What amounts are rounded up to, in micro-dollars.
    ///
    /// ```
    /// use golem_delegation::{SpendTerms, SpendWindow};
    /// # use alloy_primitives::U256;
    /// let day = SpendTerms::new(100_000, SpendTerms::DAY, 1)?;
    /// assert_eq!(SpendWindow::default().spend(U256::from(1), &day, 0)?.unit(), 4);
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    #[must_use]
    pub const fn unit(&self) -> u64 {
        1 << self.scale
    }

    /// The largest amount that [`spend`](Self::spend) would accept, in micro-dollars; where it
    /// would refuse even zero, this refuses alike.
    pub fn remaining(&self, terms: &SpendTerms, now: u64) -> Result<u64, SpendRefusal> {
        Ok(self.current(terms, now)?.room(terms.cap))
    }

    /// How long a bucket of the window's grid lasts; nothing for one that was never used.
    pub(crate) fn bucket_seconds(&self) -> u64 {
        u64::from(self.bucket_minutes) * SECONDS_PER_MINUTE
    }

    /// Moments after `from` at which something frees on the window's own grid, where `terms` bring another:
    /// who comes later carries less over.
    pub(crate) fn boundaries(&self, terms: &SpendTerms, from: u64) -> Vec<u64> {
        let SpendTerms { epoch, bucket_minutes, .. } = *terms;
        let kept = epoch == self.epoch && bucket_minutes <= self.bucket_minutes;
        if self.bucket_minutes == 0 || kept || bucket_minutes == self.bucket_minutes {
            return Vec::new();
        }
        let now = bucket_at(from, self.bucket_minutes);
        (1u64..)
            .take(BUCKETS)
            .map(|passed| now.saturating_add(passed).saturating_mul(self.bucket_seconds()))
            .collect()
    }

    /// The window as of `now` and under `terms`, with nothing spent yet.
    fn current(&self, terms: &SpendTerms, now: u64) -> Result<Self, SpendRefusal> {
        let SpendTerms { epoch, mut bucket_minutes, .. } = *terms;
        if epoch < self.epoch {
            return Err(SpendRefusal::StaleEpoch { epoch, highest: self.epoch });
        }
        if epoch == self.epoch {
            bucket_minutes = bucket_minutes.max(self.bucket_minutes);
        }
        let bucket = bucket_at(now, bucket_minutes);
        let last = Self::LAST_BUCKET;
        let Some(newest) = u32::try_from(bucket).ok().filter(|bucket| *bucket <= last) else {
            return Err(SpendRefusal::TimeOutOfRange { bucket, last });
        };

        let mut buckets = self.live(now)?;
        if bucket_minutes != self.bucket_minutes {
            let all = saturated(total(&buckets).into());
            buckets = [0; BUCKETS];
            let [newest, ..] = &mut buckets;
            *newest = all;
        }
        let (buckets, scale) = rescaled(buckets, self.scale, terms.scale());
        Ok(Self { buckets, newest, bucket_minutes, scale, epoch })
    }

    /// The buckets as of `now` on the grid of the window, those of more than 12 ago dropped.
    fn live(&self, now: u64) -> Result<[u16; BUCKETS], SpendRefusal> {
        if self.bucket_minutes == 0 {
            // Never used: nothing is there to grow old.
            return Ok(self.buckets);
        }
        let bucket = bucket_at(now, self.bucket_minutes);
        let Some(passed) = bucket.checked_sub(self.newest.into()) else {
            return Err(SpendRefusal::TimeWentBack { bucket, newest: self.newest });
        };
        let mut live = [0; BUCKETS];
        let passed = usize::try_from(passed).unwrap_or(BUCKETS);
        for (now, then) in live.iter_mut().skip(passed).zip(self.buckets) {
            *now = then;
        }
        Ok(live)
    }

    /// What fits under `cap` beside what is here, in micro-dollars.
    fn room(&self, cap: u64) -> u64 {
        (cap >> self.scale).saturating_sub(total(&self.buckets).into()) << self.scale
    }
}

/// Brings buckets to another scale, unless they do not fit there: then more than a full cap of that
/// scale is live, and they stay what they are.
fn rescaled(buckets: [u16; BUCKETS], from: u32, to: u32) -> ([u16; BUCKETS], u32) {
    if let Some(coarser) = to.checked_sub(from) {
        return (buckets.map(|units| saturated(u128::from(units).div_ceil(1 << coarser))), to);
    }
    let finer = from.saturating_sub(to);
    if u128::from(total(&buckets)) << finer > MAX_UNITS.into() {
        return (buckets, from);
    }
    (buckets.map(|units| saturated(u128::from(units) << finer)), to)
}

/// Where a second lies on a grid; a grid without length has one bucket.
fn bucket_at(now: u64, bucket_minutes: u16) -> u64 {
    now.checked_div(u64::from(bucket_minutes) * SECONDS_PER_MINUTE).unwrap_or(0)
}

fn total(buckets: &[u16; BUCKETS]) -> u32 {
    buckets.iter().copied().map(u32::from).sum()
}

/// A bucket that would hold more stays full. A window made here never comes to that; a foreign word
/// may.
fn saturated(units: u128) -> u16 {
    u16::try_from(units).unwrap_or(MAX_UNITS).min(MAX_UNITS)
}
