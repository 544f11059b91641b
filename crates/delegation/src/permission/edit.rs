use super::{Allowance, Asset, Periodic, Permission, Request, Stream};
use crate::terms::ApprovalRevocation;
use alloy_primitives::{Address, U256};
use std::{cmp::Ordering, collections::BTreeSet};

/// Which amount was edited.
///
/// ```
/// use golem_delegation::permission::{Edit, Figure};
/// # use alloy_primitives::U256;
/// let less = Edit::Amount { of: Figure::Rate, asked: U256::from(2), granted: U256::from(1) };
/// assert_eq!(less.name(), "rateLowered");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Figure {
    /// That of a period, or an allowance.
    Amount,
    /// What each second adds.
    Rate,
    /// What is there at the start.
    Initial,
    /// The most in all.
    Max,
}

/// Which moment or length of time was edited.
///
/// ```
/// use golem_delegation::permission::{Edit, Time};
/// let sooner = Edit::Time { of: Time::Start, asked: 20, granted: 10 };
/// assert_eq!(sooner.name(), "startEarlier");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Time {
    /// The length of a period.
    Period,
    /// The first second.
    Start,
    /// The first second that is too late.
    Expiry,
}

/// One difference between what was asked for and what was granted.
///
/// ```
/// use golem_delegation::permission::{Edit, Figure, Request};
/// # use golem_delegation::permission::{Asset, Periodic, Permission, Rules};
/// # use alloy_primitives::{Address, U256};
/// # let daily = Periodic { asset: Asset::Native, amount: U256::from(10), duration: 86_400, start: None };
/// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1), adjustable: true,
/// #     permission: Permission::Periodic(daily), justification: None, rules: Rules::default() };
/// // The owner halved it.
/// let permission = Permission::Periodic(Periodic { amount: U256::from(5), ..daily });
/// let granted = Request { permission, ..request.clone() };
/// let (asked, five) = (U256::from(10), U256::from(5));
/// assert_eq!(Edit::between(&request, &granted), [Edit::Amount { of: Figure::Amount, asked, granted: five }]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Edit {
    /// Granted on another chain.
    Chain {
        /// The chain asked for.
        asked: u64,
        /// The chain granted.
        granted: u64,
    },
    /// Granted from another account of the owner's.
    Account {
        /// The account asked for.
        asked: Address,
        /// The account granted.
        granted: Option<Address>,
    },
    /// Granted to somebody else.
    Delegate {
        /// Who asked.
        asked: Address,
        /// Who got it.
        granted: Address,
    },
    /// A permission of another type; its amounts are not compared.
    Type {
        /// Asked for.
        asked: &'static str,
        /// Granted.
        granted: &'static str,
    },
    /// Another token; its amounts are not compared.
    Asset {
        /// Asked for.
        asked: Asset,
        /// Granted.
        granted: Asset,
    },
    /// Another amount.
    Amount {
        /// Which.
        of: Figure,
        /// Asked for.
        asked: U256,
        /// Granted.
        granted: U256,
    },
    /// Another moment or length of time.
    Time {
        /// Which.
        of: Time,
        /// Asked for.
        asked: u64,
        /// Granted.
        granted: u64,
    },
    /// A start that the request left open: what has come together since then can be taken at once.
    StartChosen {
        /// When.
        granted: u64,
    },
    /// It expires, which was not asked for.
    ExpiryAdded {
        /// When.
        granted: u64,
    },
    /// It does not expire, though that was asked for.
    ExpiryRemoved {
        /// When it should have.
        asked: u64,
    },
    /// Others may redeem it.
    Redeemers {
        /// Asked for.
        asked: Vec<Address>,
        /// Granted.
        granted: Vec<Address>,
    },
    /// Others may be paid.
    Payees {
        /// Asked for.
        asked: Vec<Address>,
        /// Granted.
        granted: Vec<Address>,
    },
    /// Other kinds of approvals may be taken back.
    Approvals {
        /// Asked for.
        asked: ApprovalRevocation,
        /// Granted.
        granted: ApprovalRevocation,
    },
    /// The answer says otherwise whether it could be edited.
    Adjustable {
        /// Asked for.
        asked: bool,
        /// Granted.
        granted: bool,
    },
    /// The asker's words were changed.
    Justification,
}

impl Edit {
    /// Every difference. Which account it is was the owner's to choose; a start that was left open is told.
    ///
    /// ```
    /// use golem_delegation::permission::{Edit, Request};
    /// # use golem_delegation::permission::{Asset, Periodic, Permission, Rules};
    /// # use alloy_primitives::{Address, U256};
    /// # let daily = Periodic { asset: Asset::Native, amount: U256::from(10), duration: 86_400, start: None };
    /// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1), adjustable: true,
    /// #     permission: Permission::Periodic(daily), justification: None, rules: Rules::default() };
    /// // The request left open which account; that it expires was not asked for.
    /// let rules = Rules { expiry: Some(1_800_000_000), ..Rules::default() };
    /// let granted = Request { from: Some(Address::repeat_byte(2)), rules, ..request.clone() };
    /// assert_eq!(Edit::between(&request, &granted), [Edit::ExpiryAdded { granted: 1_800_000_000 }]);
    /// ```
    #[must_use]
    pub fn between(asked: &Request, granted: &Request) -> Vec<Self> {
        let mut edits = Vec::new();
        if asked.chain_id != granted.chain_id {
            edits.push(Self::Chain { asked: asked.chain_id, granted: granted.chain_id });
        }
        if let Some(from) = asked.from
            && granted.from != Some(from)
        {
            edits.push(Self::Account { asked: from, granted: granted.from });
        }
        if asked.to != granted.to {
            edits.push(Self::Delegate { asked: asked.to, granted: granted.to });
        }
        permissions(&asked.permission, &granted.permission, &mut edits);
        match (asked.rules.expiry, granted.rules.expiry) {
            (Some(asked), None) => edits.push(Self::ExpiryRemoved { asked }),
            (None, Some(granted)) => edits.push(Self::ExpiryAdded { granted }),
            (asked, granted) => time(Time::Expiry, asked, granted, &mut edits),
        }
        let set = |list: &[Address]| list.iter().copied().collect::<BTreeSet<_>>();
        let (ours, theirs) = (&asked.rules, &granted.rules);
        if set(&ours.redeemers) != set(&theirs.redeemers) {
            let (asked, granted) = (ours.redeemers.clone(), theirs.redeemers.clone());
            edits.push(Self::Redeemers { asked, granted });
        }
        if set(&ours.payees) != set(&theirs.payees) {
            let (asked, granted) = (ours.payees.clone(), theirs.payees.clone());
            edits.push(Self::Payees { asked, granted });
        }
        if asked.adjustable != granted.adjustable || ours.adjustable != theirs.adjustable {
            let (asked, granted) = (asked.adjustable, granted.adjustable);
            edits.push(Self::Adjustable { asked, granted });
        }
        if asked.justification.is_some() && asked.justification != granted.justification {
            edits.push(Self::Justification);
        }
        edits
    }

    /// One word for programs.
    ///
    /// ```
    /// use golem_delegation::permission::{Edit, Time};
    /// let later = Edit::Time { of: Time::Expiry, asked: 10, granted: 20 };
    /// assert_eq!(later.name(), "expiryLater");
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Chain { .. } => "chainChanged",
            Self::Account { .. } => "accountChanged",
            Self::Delegate { .. } => "delegateChanged",
            Self::Type { .. } => "typeChanged",
            Self::Asset { .. } => "assetChanged",
            Self::Amount { of, asked, granted } => match (of, granted > asked) {
                (Figure::Amount, false) => "amountLowered",
                (Figure::Amount, true) => "amountRaised",
                (Figure::Rate, false) => "rateLowered",
                (Figure::Rate, true) => "rateRaised",
                (Figure::Initial, false) => "initialLowered",
                (Figure::Initial, true) => "initialRaised",
                (Figure::Max, false) => "maxLowered",
                (Figure::Max, true) => "maxRaised",
            },
            Self::Time { of, asked, granted } => match (of, granted > asked) {
                (Time::Period, false) => "periodShorter",
                (Time::Period, true) => "periodLonger",
                (Time::Start, false) => "startEarlier",
                (Time::Start, true) => "startLater",
                (Time::Expiry, false) => "expiryEarlier",
                (Time::Expiry, true) => "expiryLater",
            },
            Self::StartChosen { .. } => "startChosen",
            Self::ExpiryAdded { .. } => "expiryAdded",
            Self::ExpiryRemoved { .. } => "expiryRemoved",
            Self::Redeemers { .. } => "redeemersChanged",
            Self::Payees { .. } => "payeesChanged",
            Self::Approvals { .. } => "approvalsChanged",
            Self::Adjustable { .. } => "adjustableChanged",
            Self::Justification => "justificationChanged",
        }
    }
}

fn amount(of: Figure, asked: U256, granted: U256, edits: &mut Vec<Edit>) {
    if asked.cmp(&granted) != Ordering::Equal {
        edits.push(Edit::Amount { of, asked, granted });
    }
}

fn time(of: Time, asked: Option<u64>, granted: Option<u64>, edits: &mut Vec<Edit>) {
    if let (Some(asked), Some(granted)) = (asked, granted)
        && asked != granted
    {
        edits.push(Edit::Time { of, asked, granted });
    }
}

fn permissions(asked: &Permission, granted: &Permission, edits: &mut Vec<Edit>) {
    match (asked, granted) {
        (Permission::Periodic(ours), Permission::Periodic(theirs))
            if ours.asset == theirs.asset =>
        {
            let Periodic { amount: most, duration, .. } = ours;
            amount(Figure::Amount, *most, theirs.amount, edits);
            time(Time::Period, Some(*duration), Some(theirs.duration), edits);
        }
        (Permission::Stream(ours), Permission::Stream(theirs)) if ours.asset == theirs.asset => {
            let all = |stream: &Stream| {
                let Stream { per_second, initial, max, .. } = stream;
                (*per_second, initial.unwrap_or_default(), max.unwrap_or(U256::MAX))
            };
            let ((rate, initial, max), theirs) = (all(ours), all(theirs));
            amount(Figure::Rate, rate, theirs.0, edits);
            amount(Figure::Initial, initial, theirs.1, edits);
            amount(Figure::Max, max, theirs.2, edits);
        }
        (Permission::Allowance(ours), Permission::Allowance(theirs))
            if ours.asset == theirs.asset =>
        {
            let Allowance { amount: most, .. } = ours;
            amount(Figure::Amount, *most, theirs.amount, edits);
        }
        (Permission::ApprovalRevocation(ours), Permission::ApprovalRevocation(theirs)) => {
            if ours != theirs {
                edits.push(Edit::Approvals { asked: *ours, granted: *theirs });
            }
        }
        _ => match (asked.asset(), granted.asset()) {
            (Some(asset), Some(other)) if asked.type_name() == granted.type_name() => {
                edits.push(Edit::Asset { asked: asset, granted: other });
            }
            _ => {
                let (asked, granted) = (asked.type_name(), granted.type_name());
                edits.push(Edit::Type { asked, granted });
            }
        },
    }
    match (asked.start(), granted.start()) {
        (None, Some(granted)) => edits.push(Edit::StartChosen { granted }),
        (asked, granted) => time(Time::Start, asked, granted, edits),
    }
}
