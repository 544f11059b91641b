use crate::{SpendRefusal, SpendTerms, SpendWindow};

/// Buckets after which what was spent is free again.
const CYCLE: u64 = 13;

/// The most that a [`SpendWindow`] lets through from a moment on, at every later moment.
///
/// Who wants much early spends what there is at once, and again whenever a bucket frees some. From the
/// thirteenth bucket on it repeats itself, so that no horizon is too far. Only a change of grid makes waiting
/// worthwhile: the first spend carries what still counts over to the new grid, where it stays for longer.
///
/// ```
/// use alloy_primitives::U256;
/// use golem_delegation::{SpendTerms, SpendWindow, blast_radius::SpendSchedule};
///
/// let day = SpendTerms::new(20_000, SpendTerms::DAY, 1)?;
/// let noon = 1_767_268_800;
/// let window = SpendWindow::default().spend(U256::from(15_000), &day, noon)?;
///
/// let schedule = SpendSchedule::new(&window, &day, noon)?;
/// assert_eq!(schedule.most_by(noon), 5_000);
/// assert_eq!(schedule.most_by(noon + 26 * 3600), 25_000);
/// assert_eq!(schedule.most_by(noon + 52 * 3600), 45_000);
/// # Ok::<(), golem_delegation::SpendRefusal>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpendSchedule {
    courses: Vec<Course>,
}

/// What spending as early as possible comes to, once it has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Course {
    begin: u64,
    bucket_seconds: u64,
    first_bucket: u64,
    /// Spent up to and including each of the first thirteen buckets.
    spent: Vec<u64>,
    per_cycle: u64,
}

impl SpendSchedule {
    /// Of a window as it is, under a grant's terms, from the second `from` on.
    ///
    /// Refuses where the window refuses even nothing: a grant that a newer one has ended, or a time before the
    /// newest spend.
    pub fn new(window: &SpendWindow, terms: &SpendTerms, from: u64) -> Result<Self, SpendRefusal> {
        let first = Course::new(window, terms, from)?;
        let waits = window.boundaries(terms, from);
        let mut courses = vec![first];
        // A wait past what the word can count has no course.
        courses.extend(waits.into_iter().filter_map(|then| Course::new(window, terms, then).ok()));
        Ok(Self { courses })
    }

    /// The most that can be spent from the beginning up to and including the second `moment`.
    #[must_use]
    pub fn most_by(&self, moment: u64) -> u128 {
        self.courses.iter().map(|course| course.most_by(moment)).max().unwrap_or(0)
    }
}

impl Course {
    fn new(window: &SpendWindow, terms: &SpendTerms, begin: u64) -> Result<Self, SpendRefusal> {
        // Nothing spent, but on the grid that will count.
        let mut window = window.spend(alloy_primitives::U256::ZERO, terms, begin)?;
        let bucket_seconds = window.bucket_seconds();
        let first_bucket = begin.checked_div(bucket_seconds).unwrap_or(0);
        let mut spent = Vec::new();
        let mut total = 0u64;
        for passed in 0..CYCLE {
            let start = first_bucket.saturating_add(passed).saturating_mul(bucket_seconds);
            let moment = start.max(begin);
            if let Ok(room) = window.remaining(terms, moment) {
                window = window.spend(alloy_primitives::U256::from(room), terms, moment)?;
                total = total.saturating_add(room);
            }
            spent.push(total);
        }
        Ok(Self { begin, bucket_seconds, first_bucket, spent, per_cycle: terms.spendable() })
    }

    fn most_by(&self, moment: u64) -> u128 {
        if moment < self.begin {
            return 0;
        }
        let bucket = moment.checked_div(self.bucket_seconds).unwrap_or(0);
        let bucket = bucket.min(SpendWindow::LAST_BUCKET.into());
        let passed = bucket.saturating_sub(self.first_bucket);
        let within = usize::try_from(passed % CYCLE).ok().and_then(|at| self.spent.get(at));
        let within = within.copied().unwrap_or(self.per_cycle);
        u128::from(passed / CYCLE) * u128::from(self.per_cycle) + u128::from(within)
    }
}
