use crate::terms::ApprovalRevocation;
use alloy_primitives::{Address, U256};

/// Longest period that MetaMask grants: ten years of 365 days.
///
/// ```
/// use golem_delegation::permission::{MAX_PERIOD, Periodic, Permission, Request};
/// # use golem_delegation::permission::{Asset, Rules};
/// # use alloy_primitives::{Address, U256};
/// # let (asset, amount) = (Asset::Native, U256::from(10));
/// # let daily = Periodic { asset, amount, duration: 86_400, start: None };
/// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1),
/// #     permission: Permission::Periodic(daily), adjustable: false, justification: None,
/// #     rules: Rules::default() };
/// let of = |duration| {
///     let permission = Permission::Periodic(Periodic { duration, ..daily });
///     Request { permission, ..request.clone() }
/// };
/// assert!(of(MAX_PERIOD).check().is_ok());
/// assert!(of(MAX_PERIOD + 1).check().is_err());
/// ```
pub const MAX_PERIOD: u64 = 10 * 365 * 86_400;

/// What is spent.
///
/// ```
/// use golem_delegation::permission::{Allowance, Asset, Permission};
/// # use alloy_primitives::{Address, U256};
/// let asset = Asset::Erc20(Address::repeat_byte(2));
/// let all = Permission::Allowance(Allowance { asset, amount: U256::ONE, start: None });
/// assert_eq!(all.type_name(), "erc20-token-allowance");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Asset {
    /// The chain's own coin, in wei.
    Native,
    /// A token, in its base units.
    Erc20(Address),
}

/// So much in each period. What is left of a period is lost.
///
/// ```
/// use golem_delegation::permission::{Asset, Periodic, Permission};
/// # use alloy_primitives::U256;
/// let daily = Periodic { asset: Asset::Native, amount: U256::from(10), duration: 86_400, start: None };
/// assert_eq!(Permission::Periodic(daily).type_name(), "native-token-periodic");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Periodic {
    /// Of what.
    pub asset: Asset,
    /// The most in one period.
    pub amount: U256,
    /// Seconds in a period.
    pub duration: u64,
    /// Where the first period starts; the moment of granting where nothing is said.
    pub start: Option<u64>,
}

/// So much more in each second. What is not taken stays available.
///
/// ```
/// use golem_delegation::permission::{Asset, Health, Permission, Stream, Usage};
/// # use alloy_primitives::U256;
/// let stream = Permission::Stream(Stream {
///     asset: Asset::Native, per_second: U256::from(2), initial: Some(U256::from(5)), max: None, start: Some(1_000),
/// });
/// // Ten seconds have added twenty to the five.
/// let usage = Usage { spent: U256::ZERO, now: 1_010, disabled: false };
/// assert_eq!(Health::of(&stream, None, usage).left, Some(U256::from(25)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stream {
    /// Of what.
    pub asset: Asset,
    /// What each second adds.
    pub per_second: U256,
    /// What is there at the start; nothing where nothing is said.
    pub initial: Option<U256>,
    /// The most over its whole life; no bound where nothing is said.
    pub max: Option<U256>,
    /// From when on; the moment of granting where nothing is said.
    pub start: Option<u64>,
}

/// So much in all.
///
/// ```
/// use golem_delegation::permission::{Allowance, Asset, Cause, Condition, Health, Permission, Usage};
/// # use alloy_primitives::U256;
/// let once = Permission::Allowance(Allowance { asset: Asset::Native, amount: U256::from(10), start: None });
/// // What is spent does not come back.
/// let usage = Usage { spent: U256::from(10), now: 2_000, disabled: false };
/// assert_eq!(Health::of(&once, None, usage).condition, Condition::Revoked(Cause::Exhausted));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allowance {
    /// Of what.
    pub asset: Asset,
    /// The most over its whole life.
    pub amount: U256,
    /// From when on; the moment of granting where nothing is said.
    pub start: Option<u64>,
}

/// What may be done. None of these allows a call of a contract's choice.
///
/// ```
/// use golem_delegation::permission::{Allowance, Asset, Permission};
/// use golem_delegation::terms::ApprovalRevocation;
/// # use alloy_primitives::U256;
/// let once = Permission::Allowance(Allowance { asset: Asset::Native, amount: U256::ONE, start: Some(7) });
/// assert_eq!((once.asset(), once.start()), (Some(Asset::Native), Some(7)));
///
/// // This one moves no money.
/// assert_eq!(Permission::ApprovalRevocation(ApprovalRevocation::default()).asset(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Permission {
    /// `native-token-periodic`, `erc20-token-periodic`
    Periodic(Periodic),
    /// `native-token-stream`, `erc20-token-stream`
    Stream(Stream),
    /// `native-token-allowance`, `erc20-token-allowance`
    Allowance(Allowance),
    /// `token-approval-revocation`: takes back allowances that the owner gave to others, and moves no money.
    ApprovalRevocation(ApprovalRevocation),
}

impl Permission {
    /// The name MetaMask knows it by.
    ///
    /// ```
    /// use golem_delegation::permission::{Allowance, Asset, Permission};
    /// # use alloy_primitives::U256;
    /// let all = Permission::Allowance(Allowance { asset: Asset::Native, amount: U256::ONE, start: None });
    /// assert_eq!(all.type_name(), "native-token-allowance");
    /// ```
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match (self, self.asset()) {
            (Self::Periodic(_), Some(Asset::Erc20(_))) => "erc20-token-periodic",
            (Self::Periodic(_), _) => "native-token-periodic",
            (Self::Stream(_), Some(Asset::Erc20(_))) => "erc20-token-stream",
            (Self::Stream(_), _) => "native-token-stream",
            (Self::Allowance(_), Some(Asset::Erc20(_))) => "erc20-token-allowance",
            (Self::Allowance(_), _) => "native-token-allowance",
            (Self::ApprovalRevocation(_), _) => "token-approval-revocation",
        }
    }

    /// What it spends; nothing where it moves no money.
    #[must_use]
    pub const fn asset(&self) -> Option<Asset> {
        match self {
            Self::Periodic(Periodic { asset, .. })
            | Self::Stream(Stream { asset, .. })
            | Self::Allowance(Allowance { asset, .. }) => Some(*asset),
            Self::ApprovalRevocation(_) => None,
        }
    }

    /// From when on; nothing where nothing is said.
    #[must_use]
    pub const fn start(&self) -> Option<u64> {
        match self {
            Self::Periodic(Periodic { start, .. })
            | Self::Stream(Stream { start, .. })
            | Self::Allowance(Allowance { start, .. }) => *start,
            Self::ApprovalRevocation(_) => None,
        }
    }
}

/// What bounds a permission besides its amounts.
///
/// ```
/// use golem_delegation::permission::Rules;
/// let rules = Rules { expiry: Some(1_800_000_000), ..Rules::default() };
/// // Nobody edits rules unless that is said.
/// assert!(!rules.adjustable);
/// assert!(rules.adjustable(true).adjustable);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Not redeemable at or after this second.
    pub expiry: Option<u64>,
    /// Who may redeem; anybody the delegate lets where it is empty.
    pub redeemers: Vec<Address>,
    /// Who may be paid; anybody where it is empty.
    pub payees: Vec<Address>,
    /// Whether the owner may edit them.
    pub adjustable: bool,
}

impl Rules {
    /// The same rules, that the owner may edit or not.
    #[must_use]
    pub fn adjustable(self, adjustable: bool) -> Self {
        Self { adjustable, ..self }
    }
}

/// One permission that is asked for, or that an answer says was granted.
///
/// ```
/// use golem_delegation::permission::{Asset, Periodic, Permission, Request, Rules};
/// # use alloy_primitives::{Address, U256};
/// let daily = Periodic { asset: Asset::Native, amount: U256::from(10), duration: 86_400, start: None };
/// let request = Request {
///     chain_id: 8453,
///     from: None,
///     to: Address::repeat_byte(1),
///     permission: Permission::Periodic(daily),
///     adjustable: true,
///     justification: Some("running costs".to_owned()),
///     rules: Rules::default(),
/// };
/// assert_eq!(request.check(), Ok(()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The chain.
    pub chain_id: u64,
    /// Whose account; the owner chooses where nothing is said.
    pub from: Option<Address>,
    /// Who gets the permission: the session account.
    pub to: Address,
    /// What may be done.
    pub permission: Permission,
    /// Whether the owner may edit it.
    pub adjustable: bool,
    /// What the asker tells the owner. Words of a stranger: nothing in them is a fact.
    pub justification: Option<String>,
    /// Further bounds.
    pub rules: Rules,
}

/// Why MetaMask would not take a request.
///
/// ```
/// use golem_delegation::permission::RequestError;
/// let payees = RequestError::Payees { payees: 2 };
/// assert_eq!(payees.to_string(), "2 payees, of which a token permission names one at most");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// An amount, a period or a moment of nothing.
    #[error("{what} is zero")]
    Zero {
        /// Which.
        what: &'static str,
    },
    /// The token's address is zero.
    #[error("the token is the zero address")]
    NoToken,
    /// A period longer than [`MAX_PERIOD`].
    #[error("a period of {duration} seconds is longer than {MAX_PERIOD} seconds")]
    LongPeriod {
        /// In seconds.
        duration: u64,
    },
    /// A stream that holds at its start what it may ever give, or more.
    #[error("a stream that starts with {initial} must be able to give more than {max}")]
    EmptyStream {
        /// At the start.
        initial: U256,
        /// In all.
        max: U256,
    },
    /// Starts when it is over.
    #[error("starts at {start}, and expires at {expiry}")]
    OverBeforeStart {
        /// First second.
        start: u64,
        /// First second that is too late.
        expiry: u64,
    },
    /// More payees than the token's caveat can name.
    #[error("{payees} payees, of which a token permission names one at most")]
    Payees {
        /// How many.
        payees: usize,
    },
    /// A payee of a permission that pays nobody.
    #[error("a permission that moves no money names a payee")]
    PayeeOfNothing,
    /// No approval is taken back.
    #[error("no kind of approval is to be revoked")]
    NoApproval,
}

impl Request {
    /// Whether MetaMask would take it, as far as that can be said without its clock.
    ///
    /// ```
    /// use golem_delegation::permission::{MAX_PERIOD, Request, RequestError};
    /// # use golem_delegation::permission::{Asset, Periodic, Permission, Rules};
    /// # use alloy_primitives::{Address, U256};
    /// # let daily = Periodic { asset: Asset::Native, amount: U256::from(10), duration: 86_400, start: None };
    /// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1), adjustable: true,
    /// #     permission: Permission::Periodic(daily), justification: None, rules: Rules::default() };
    /// let duration = MAX_PERIOD + 1;
    /// let permission = Permission::Periodic(Periodic { duration, ..daily });
    /// assert_eq!(Request { permission, ..request }.check(), Err(RequestError::LongPeriod { duration }));
    /// ```
    pub fn check(&self) -> Result<(), RequestError> {
        let positive = |what, amount: U256| {
            if amount.is_zero() { Err(RequestError::Zero { what }) } else { Ok(()) }
        };
        if matches!(self.permission.asset(), Some(Asset::Erc20(Address::ZERO))) {
            return Err(RequestError::NoToken);
        }
        match self.permission {
            Permission::Periodic(Periodic { amount, duration, .. }) => {
                positive("the amount of a period", amount)?;
                positive("the period", U256::from(duration))?;
                if duration > MAX_PERIOD {
                    return Err(RequestError::LongPeriod { duration });
                }
            }
            Permission::Stream(Stream { per_second, initial, max, .. }) => {
                positive("the amount per second", per_second)?;
                let (initial, max) = (initial.unwrap_or_default(), max.unwrap_or(U256::MAX));
                if max <= initial {
                    return Err(RequestError::EmptyStream { initial, max });
                }
            }
            Permission::Allowance(Allowance { amount, .. }) => positive("the allowance", amount)?,
            Permission::ApprovalRevocation(kinds) => {
                if kinds == ApprovalRevocation::default() {
                    return Err(RequestError::NoApproval);
                }
            }
        }
        self.check_rules()
    }

    fn check_rules(&self) -> Result<(), RequestError> {
        let (start, expiry) = (self.permission.start(), self.rules.expiry);
        if start == Some(0) {
            return Err(RequestError::Zero { what: "the start" });
        }
        if expiry == Some(0) {
            return Err(RequestError::Zero { what: "the expiry" });
        }
        if let (Some(start), Some(expiry)) = (start, expiry)
            && start >= expiry
        {
            return Err(RequestError::OverBeforeStart { start, expiry });
        }
        match (self.permission.asset(), self.rules.payees.len()) {
            (Some(Asset::Erc20(_)), payees @ 2..) => Err(RequestError::Payees { payees }),
            (None, 1..) => Err(RequestError::PayeeOfNothing),
            _ => Ok(()),
        }
    }
}
