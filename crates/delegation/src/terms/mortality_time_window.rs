use super::{TermsError, exact};

/// `MortalityTimeWindowEnforcer`: redeemable while `start ≤ now ≤ end`, in seconds.
///
/// Terms: `uint64 start ‖ uint64 end`.
///
/// ```
/// use golem_delegation::terms::MortalityTimeWindow;
/// let week = MortalityTimeWindow::new(1_800_000_000, 1_800_604_800)?;
/// assert!(week.allows(1_800_604_800));
/// assert!(!week.allows(1_800_604_801));
/// assert_eq!(week.encode().len(), MortalityTimeWindow::LEN);
/// assert_eq!(MortalityTimeWindow::decode(&week.encode())?, week);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MortalityTimeWindow {
    start: u64,
    end: u64,
}

impl MortalityTimeWindow {
    /// Length `MortalityTimeWindowEnforcer.getTermsInfo` insists on.
    pub const LEN: usize = 16;

    /// A window of at least one second.
    pub const fn new(start: u64, end: u64) -> Result<Self, TermsError> {
        if end < start {
            return Err(TermsError::InvertedWindow { start, end });
        }
        Ok(Self { start, end })
    }

    /// First second of life.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// Last second of life.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// The same from its first second on, and at most so many seconds more.
    ///
    /// ```
    /// use golem_delegation::terms::MortalityTimeWindow;
    /// let week = MortalityTimeWindow::new(1_000, 605_800)?;
    /// let day = week.no_longer_than(86_400);
    /// assert_eq!((day.start(), day.end()), (1_000, 87_400));
    /// // What is shorter already stays as it is.
    /// assert_eq!(day.no_longer_than(604_800), day);
    /// # Ok::<(), golem_delegation::TermsError>(())
    /// ```
    #[must_use]
    pub fn no_longer_than(self, seconds: u64) -> Self {
        Self { start: self.start, end: self.end.min(self.start.saturating_add(seconds)) }
    }

    /// What the contract would say at `now`.
    #[must_use]
    pub const fn allows(&self, now: u64) -> bool {
        self.start <= now && now <= self.end
    }

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [self.start.to_be_bytes(), self.end.to_be_bytes()].concat()
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let word = u128::from_be_bytes(exact::<{ Self::LEN }>(terms)?);
        #[expect(clippy::cast_possible_truncation, reason = "two halves of one word")]
        Self::new((word >> 64) as u64, word as u64)
    }
}
