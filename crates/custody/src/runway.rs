//! The owner's grant for running costs: ERC-7715, in his own account, under his wallet's own caveats (SPEC D6a, D25).
//!
//! ```text
//!  request ──► wallet ──► answer ──► Granted ──Runway::take──► kept beside the charter's grant
//!                                      │ of this owner, to this key, redeemed by it alone, with an end
//! ```
//!
//! No charter binds it. Whoever has the Golem's key can have all that is left of it, and what the key itself holds: that is its blast
//! radius, and it is said wherever one is taken.

use crate::{BoxError, Steps};
use alloy_primitives::{Address, Bytes, U256};
use golem_delegation::{
    DelegationHash, PermissionContext,
    permission::{
        Allowance, Asset, Dependency, Granted, Periodic, Permission, Request, Rules, Signed, Stream,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where it is kept.
const CELL: &str = "runway";
const DAY: u64 = 86_400;

/// How much of a runway an owner gives without saying twice that he means it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunwayLimits {
    /// The token that it is counted in.
    pub dollars: Address,
    /// Most that one day gives, in base units of it.
    pub most_per_day: U256,
    /// Longest that it lasts.
    pub longest_days: u64,
}

impl RunwayLimits {
    /// How long one lasts if nothing else is said.
    pub const DAYS: u64 = 7;

    /// 100 dollars a day, for 90 days, in a token of six decimals.
    #[must_use]
    pub const fn of(dollars: Address) -> Self {
        Self { dollars, most_per_day: U256::from_limbs([100_000_000, 0, 0, 0]), longest_days: 90 }
    }
}

/// Whose runway it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunwayFor {
    /// The chain.
    pub chain_id: u64,
    /// Whose money: the owner's own account.
    pub owner: Address,
    /// The Golem's key.
    pub session: Address,
}

/// Why a grant is not taken as a runway.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunwayRefusal {
    /// For elsewhere.
    #[error(
        "the runway is for chain {actual}, the Golem is on {expected}; ask the wallet for it there"
    )]
    OtherChain {
        /// The Golem's.
        expected: u64,
        /// The grant's.
        actual: u64,
    },
    /// Of somebody else.
    #[error(
        "the runway is of account {actual}, the owner is {expected}; ask the owner's own wallet"
    )]
    OtherOwner {
        /// Who owns the Golem.
        expected: Address,
        /// Whose it is.
        actual: Address,
    },
    /// To somebody else.
    #[error(
        "the runway is to {actual}, the Golem's key is {expected}; ask the wallet again, for that key"
    )]
    OtherKey {
        /// The Golem's.
        expected: Address,
        /// Whom it is to.
        actual: Address,
    },
    /// Not the owner's signature.
    #[error("the runway is not signed by the owner's key for this chain")]
    OtherSigner,
    /// Others could redeem it, or anybody.
    #[error(
        "the runway names {redeemers} redeemers: it must name the Golem's key, and nobody else"
    )]
    Redeemers {
        /// How many it names.
        redeemers: usize,
    },
    /// For ever.
    #[error("the runway has no end: ask for one with an expiry")]
    NoExpiry,
    /// Over.
    #[error("the runway ended at second {expiry}, and it is {now}")]
    Over {
        /// The first second that is too late.
        expiry: u64,
        /// Now.
        now: u64,
    },
    /// Pays for nothing.
    #[error("the runway moves no money: ask for a sum per day")]
    NoMoney,
    /// Of another coin than the limits are counted in.
    #[error("the runway is not in {dollars}, so that nobody can say what a day of it is worth")]
    OtherAsset {
        /// What it should be.
        dollars: Address,
    },
    /// Too much a day.
    #[error("the runway gives up to {per_day} a day, more than {most}")]
    TooMuch {
        /// What it gives.
        per_day: U256,
        /// What is given without saying it twice.
        most: U256,
    },
    /// Too long.
    #[error("the runway lasts {days} days, longer than {longest}")]
    TooLong {
        /// How long it lasts, begun days counted whole.
        days: u64,
        /// What is given without saying it twice.
        longest: u64,
    },
}

impl RunwayRefusal {
    /// Whether an owner who says that he means it may have it all the same.
    #[must_use]
    pub const fn is_a_limit(&self) -> bool {
        matches!(self, Self::OtherAsset { .. } | Self::TooMuch { .. } | Self::TooLong { .. })
    }
}

/// A grant for running costs, as it is kept and redeemed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Runway {
    /// The chain.
    pub chain_id: u64,
    /// Whose money.
    pub owner: Address,
    /// Who redeems it.
    pub session: Address,
    /// The token; none is the chain's coin.
    pub token: Option<Address>,
    /// Where it is redeemed.
    pub manager: Address,
    /// What is redeemed.
    pub context: Bytes,
    /// Accounts to deploy first: factory and calldata.
    pub dependencies: Vec<(Address, Bytes)>,
    /// Most that one day gives.
    pub per_day: U256,
    /// Most that it gave from the second in which it was taken to its end. A thief of the key has that, and what the key holds.
    pub most: U256,
    /// The first second that is too late.
    pub expires_at: u64,
}

impl Runway {
    /// What a wallet is asked for: so much a day, redeemed by the Golem's key alone, and paid to `payee` where there is one.
    #[must_use]
    pub fn request(
        of: &RunwayFor,
        token: Address,
        per_day: U256,
        payee: Option<Address>,
        expires_at: u64,
    ) -> Request {
        Request {
            chain_id: of.chain_id,
            from: Some(of.owner),
            to: of.session,
            permission: Permission::Periodic(Periodic {
                asset: Asset::Erc20(token),
                amount: per_day,
                duration: DAY,
                start: None,
            }),
            adjustable: true,
            justification: Some("Running costs of your Golem.".to_owned()),
            rules: Rules {
                expiry: Some(expires_at),
                redeemers: vec![of.session],
                payees: payee.into_iter().collect(),
                adjustable: true,
            },
        }
    }

    /// The one that a Golem gave up, by what its books have of it; none where it was not given up, or is not understood.
    #[must_use]
    pub fn given_up(kept: Value) -> Option<Self> {
        match serde_json::from_value(kept) {
            Ok(Kept::Ended { ended }) => Some(*ended),
            Ok(Kept::Runs(_)) | Err(_) => None,
        }
    }

    /// The one that a Golem pays by, by what its books have of it; none where it was given up, or is not understood.
    #[must_use]
    pub fn in_use(kept: Value) -> Option<Self> {
        match serde_json::from_value(kept) {
            Ok(Kept::Runs(runway)) => Some(*runway),
            Ok(Kept::Ended { .. }) | Err(_) => None,
        }
    }

    /// The grant's hash; none where its context is none.
    #[must_use]
    pub fn grant(&self) -> Option<DelegationHash> {
        Some(PermissionContext::decode(&self.context).ok()?.leaf().hash())
    }

    /// Takes what a wallet granted, if it is this Golem's and ends. Without `limits` the owner has said that he means it.
    pub fn take(
        granted: &Granted,
        of: &RunwayFor,
        limits: Option<&RunwayLimits>,
        now: u64,
    ) -> Result<Self, RunwayRefusal> {
        let terms = granted.terms();
        let (leaf, redeemers) = (granted.context().leaf(), &terms.rules.redeemers);
        if terms.chain_id != of.chain_id {
            let (expected, actual) = (of.chain_id, terms.chain_id);
            return Err(RunwayRefusal::OtherChain { expected, actual });
        }
        if granted.owner() != of.owner {
            let (expected, actual) = (of.owner, granted.owner());
            return Err(RunwayRefusal::OtherOwner { expected, actual });
        }
        if leaf.delegate != of.session {
            let (expected, actual) = (of.session, leaf.delegate);
            return Err(RunwayRefusal::OtherKey { expected, actual });
        }
        if granted.signed() != Signed::ByOwnersKey {
            return Err(RunwayRefusal::OtherSigner);
        }
        if *redeemers != [of.session] {
            return Err(RunwayRefusal::Redeemers { redeemers: redeemers.len() });
        }
        let Some(expiry) = terms.rules.expiry else { return Err(RunwayRefusal::NoExpiry) };
        if expiry <= now {
            return Err(RunwayRefusal::Over { expiry, now });
        }
        let Some(asset) = granted.permission().asset() else {
            return Err(RunwayRefusal::NoMoney);
        };
        let (per_day, most) = gives(granted.permission(), now, expiry);
        if let Some(limits) = limits {
            limits.allow(asset, per_day, expiry.saturating_sub(now))?;
        }
        let token = match asset {
            Asset::Erc20(token) => Some(token),
            _ => None,
        };
        let first = |one: &Dependency| (one.factory, one.factory_data.clone());
        Ok(Self {
            chain_id: of.chain_id,
            owner: of.owner,
            session: of.session,
            token,
            manager: granted.manager(),
            context: granted.context().encode(),
            dependencies: granted.dependencies().iter().map(first).collect(),
            per_day,
            most,
            expires_at: expiry,
        })
    }
}

impl RunwayLimits {
    /// Whether that is no more than what is given without saying it twice.
    pub fn allow(&self, asset: Asset, per_day: U256, seconds: u64) -> Result<(), RunwayRefusal> {
        if asset != Asset::Erc20(self.dollars) {
            return Err(RunwayRefusal::OtherAsset { dollars: self.dollars });
        }
        if per_day > self.most_per_day {
            return Err(RunwayRefusal::TooMuch { per_day, most: self.most_per_day });
        }
        let (days, longest) = (seconds.div_ceil(DAY), self.longest_days);
        if days > longest {
            return Err(RunwayRefusal::TooLong { days, longest });
        }
        Ok(())
    }
}

/// Most that a day gives, and most from now to the end.
fn gives(permission: &Permission, now: u64, expiry: u64) -> (U256, U256) {
    let times = |amount: U256, count: u64| amount.saturating_mul(U256::from(count));
    match *permission {
        Permission::Periodic(Periodic { amount, duration, start, .. }) => {
            let start = start.unwrap_or(now);
            let number = |second: u64| {
                second.saturating_sub(start).checked_div(duration).unwrap_or_default()
            };
            // The period that it is counts whole, as does the one in which it ends.
            let periods = number(expiry.saturating_sub(1)).saturating_sub(number(now.max(start)));
            // A period longer than a day can be taken in one.
            let daily = DAY.div_ceil(duration.max(1));
            (times(amount, daily), times(amount, periods.saturating_add(1)))
        }
        Permission::Stream(Stream { per_second, initial, max, start, .. }) => {
            let (initial, max) = (initial.unwrap_or_default(), max.unwrap_or(U256::MAX));
            let seconds = expiry.saturating_sub(start.unwrap_or(now));
            let whole = initial.saturating_add(times(per_second, seconds)).min(max);
            (times(per_second, DAY).max(initial).min(max), whole)
        }
        Permission::Allowance(Allowance { amount, .. }) => (amount, amount),
        Permission::ApprovalRevocation(_) => (U256::ZERO, U256::ZERO),
        // What nobody here knows may give anything.
        _ => (U256::MAX, U256::MAX),
    }
}

/// The runway could not be kept, or not be read. What was kept before counts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunwayError {
    /// The disk did not take it, or did not say.
    #[error("the runway could not be kept; it is what it was")]
    Books {
        /// Why.
        source: BoxError,
    },
    /// What stands on the disk is none.
    #[error("what is kept of the runway is not understood; nothing was changed")]
    Unread {
        /// Why.
        source: serde_json::Error,
    },
}

/// What is kept of a runway: itself, or that it was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Kept {
    Ended { ended: Box<Runway> },
    Runs(Box<Runway>),
}

/// One Golem's runway. A later one takes the place of an earlier one; that one's grant is the owner's to revoke.
#[derive(Clone, Copy, Debug)]
pub struct Runways<'a, S>(&'a S);

impl<'a, S: Steps> Runways<'a, S> {
    /// Kept by `steps`.
    pub const fn new(steps: &'a S) -> Self {
        Self(steps)
    }

    /// What it has; none before anything was granted, and none once it was given up.
    pub async fn at(&self) -> Result<Option<Runway>, RunwayError> {
        Ok(match self.read().await?.1 {
            Some(Kept::Runs(runway)) => Some(*runway),
            Some(Kept::Ended { .. }) | None => None,
        })
    }

    /// Keeps one. The same again is kept already.
    pub async fn keep(&self, runway: &Runway, now: u64) -> Result<(), RunwayError> {
        let (version, kept) = self.read().await?;
        if matches!(&kept, Some(Kept::Runs(kept)) if kept.context == runway.context) {
            return Ok(());
        }
        self.write(version, &Kept::Runs(Box::new(runway.clone())), now).await
    }

    /// Gives it up: nothing is redeemed by it any more. That is the Golem's own side; the grant is its owner's to revoke (SPEC D18, D19).
    /// Says which it was, also where it was given up before; none where there was none.
    pub async fn end(&self, now: u64) -> Result<Option<Runway>, RunwayError> {
        Ok(match self.read().await? {
            (version, Some(Kept::Runs(runway))) => {
                let ended = Kept::Ended { ended: runway.clone() };
                self.write(version, &ended, now).await?;
                Some(*runway)
            }
            (_, Some(Kept::Ended { ended })) => Some(*ended),
            (_, None) => None,
        })
    }

    /// The one that was given up, if there was one.
    pub async fn ended(&self) -> Result<Option<Runway>, RunwayError> {
        Ok(match self.read().await?.1 {
            Some(Kept::Ended { ended }) => Some(*ended),
            Some(Kept::Runs(_)) | None => None,
        })
    }

    async fn write(&self, version: u64, kept: &Kept, now: u64) -> Result<(), RunwayError> {
        let value = serde_json::to_value(kept).map_err(|source| RunwayError::Unread { source })?;
        let advanced = self.0.advance(CELL, version, &value, now).await;
        advanced.map_err(|source| RunwayError::Books { source })
    }

    async fn read(&self) -> Result<(u64, Option<Kept>), RunwayError> {
        let books = |source| RunwayError::Books { source };
        let Some(step) = self.0.load(CELL).await.map_err(books)? else { return Ok((0, None)) };
        let kept =
            serde_json::from_value(step.value).map_err(|source| RunwayError::Unread { source })?;
        Ok((step.version, Some(kept)))
    }
}
