use std::fmt;

/// Seconds from which on nothing ends: tens of thousands of years from now.
pub(crate) const NEVER: u64 = 1 << 40;

const DAY: u64 = 86_400;
const DAYS_OF_400_YEARS: u64 = 146_097;
/// Days of the months, March first: the leap day is then the last of its year.
const MONTHS: [u64; 12] = [31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 29];

/// A second since 1970 as a date that people read, in UTC. Beyond the year 9999 the number itself.
///
/// ```
/// use golem_delegation::Utc;
/// assert_eq!(Utc(1_797_318_302).to_string(), "2026-12-15T07:05:02Z");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Utc(pub u64);

impl Utc {
    /// Year, month and day, from 1.
    ///
    /// ```
    /// use golem_delegation::Utc;
    /// let leap_day = Utc(1_709_208_000);
    /// assert_eq!(leap_day.date(), (2024, 2, 29));
    /// assert_eq!(Utc(leap_day.0 + 86_400).date(), (2024, 3, 1));
    /// ```
    #[must_use]
    pub fn date(self) -> (u64, u64, u64) {
        // 1 March of the year 0 is 719,468 days before 1970; the calendar repeats itself every 400 years.
        let days = self.0 / DAY + 719_468;
        let (eras, mut rest) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
        // The last century and the last year of four are each a day longer than what they are counted by.
        let centuries = (rest / 36_524).min(3);
        rest -= centuries * 36_524;
        let fours = rest / 1_461;
        rest -= fours * 1_461;
        let years = (rest / 365).min(3);
        rest -= years * 365;
        let mut month = 3;
        for length in MONTHS {
            if rest < length {
                break;
            }
            rest -= length;
            month += 1;
        }
        let year = eras * 400 + centuries * 100 + fours * 4 + years;
        if month > 12 { (year + 1, month - 12, rest + 1) } else { (year, month, rest + 1) }
    }
}

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        if year > 9999 {
            return write!(f, "second {}", self.0);
        }
        let (hour, minute, second) = (self.0 / 3600 % 24, self.0 / 60 % 60, self.0 % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}
