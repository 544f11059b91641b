//! What an owner reads.

use super::BlastRadius;
use crate::{State, Utc};
use alloy_primitives::{Address, B256, U256};
use serde::{Serialize, Serializer};
use std::fmt;

/// What was taken for granted. Each is a sentence.
///
/// ```
/// use golem_delegation::blast_radius::Assumption;
/// assert_eq!(Assumption::NoExpiry.to_string(), "Nothing ends the grant.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Assumption {
    /// Phase, dreams and feelings.
    SelfReportsIgnored,
    /// Nobody stops him.
    NotStopped,
    /// Feeds.
    PricesHold,
    /// Contracts that the owner listed.
    ListedContractsBehave,
    /// The registry that a charter asks.
    RegistryBehaves {
        /// Which.
        registry: Address,
    },
    /// Later income.
    NoIncome,
    /// Tokens that nobody mentioned.
    NothingElseHeld,
    /// Grants besides this chain.
    OtherGrantsNotCounted,
    /// Signatures.
    SignaturesHold,
    /// Keys of the links above.
    OnlyTheLeafsKey,
    /// The key is that of the account itself.
    KeyIsTheAccount,
    /// A link above is redeemed without those below it.
    HigherLink {
        /// Its hash.
        delegation: B256,
    },
    /// No key is needed at all.
    AnyDelegate,
    /// Coins that ride along with a call.
    CoinsUnbounded,
    /// Where money goes home to.
    Beneficiary {
        /// Whom the charter names.
        beneficiary: Address,
    },
    /// Money goes home to the thief.
    BeneficiaryIsTheKey,
    /// Money goes home to a contract that anybody can call.
    BeneficiaryIsListed {
        /// Whom the charter names.
        beneficiary: Address,
    },
    /// Dollars of the charter are none.
    DecimalsContradict {
        /// Of which token.
        token: Address,
    },
    /// Decimals that nobody read.
    DecimalsBelieved {
        /// Of which token.
        token: Address,
    },
    /// Charters that do not price alike.
    PricesDiffer,
    /// What is bought goes to another account than the one that pays.
    OtherAccount {
        /// Whom the charter names.
        account: Address,
    },
    /// Sold knowledge.
    KnowledgeHasNoPrice,
    /// A window's word was not given, or is later than now.
    WindowUnknown,
    /// A counter was not given.
    CounterUnknown,
    /// Which asset a dying Golem converts to was not given.
    SettlementUnknown,
    /// A rule takes nothing off.
    RuleNotCounted {
        /// Its kind, or its enforcer.
        rule: String,
    },
    /// Nothing ends the grant.
    NoExpiry,
    /// What may leave has no end.
    Endless,
    /// The series ends before the grant.
    SeriesCut {
        /// After so many days.
        days: usize,
    },
}

/// What is always taken for granted.
pub(super) const ALWAYS: [Assumption; 7] = [
    Assumption::SelfReportsIgnored,
    Assumption::NotStopped,
    Assumption::PricesHold,
    Assumption::ListedContractsBehave,
    Assumption::NothingElseHeld,
    Assumption::OtherGrantsNotCounted,
    Assumption::SignaturesHold,
];

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SelfReportsIgnored => f.write_str(
                "The thief writes phase, dreams and feelings himself, so they take nothing off.",
            ),
            Self::NotStopped => f.write_str("Nobody revokes the grant before it ends."),
            Self::PricesHold => f.write_str(
                "Feeds tell the price, and prices stay; what markets do to the account is not counted.",
            ),
            Self::ListedContractsBehave => {
                f.write_str("Tokens, routers, vaults and markets that the owner listed behave.")
            }
            Self::RegistryBehaves { registry } => write!(
                f,
                "The registry {registry} tells what the owner wrote there: of a false one no revocation is believed."
            ),
            Self::NoIncome => f.write_str("Nothing more is paid into the account or to the key."),
            Self::NothingElseHeld => {
                f.write_str("Tokens that neither the grant nor the facts mention are not held.")
            }
            Self::OtherGrantsNotCounted => {
                f.write_str("Other grants of the same account are not counted.")
            }
            Self::SignaturesHold => f.write_str("Every signature of the chain is taken for good."),
            Self::OnlyTheLeafsKey => f.write_str(
                "Only the last link's key is stolen; a key further up is bound by the links above it alone.",
            ),
            Self::KeyIsTheAccount => {
                f.write_str("The key is the account's own: whoever has it needs no grant.")
            }
            Self::HigherLink { delegation } => write!(
                f,
                "Whoever has the key redeems {delegation} alone, so that links below it bind nothing."
            ),
            Self::AnyDelegate => {
                f.write_str("The grant is open to any delegate: nobody has to steal a key for it.")
            }
            Self::CoinsUnbounded => f.write_str(
                "No rule bounds the coins that a call carries: all that the account has count.",
            ),
            Self::Beneficiary { beneficiary } => {
                write!(f, "What is sent to the beneficiary {beneficiary} has come home.")
            }
            Self::BeneficiaryIsTheKey => f.write_str(
                "The charter's beneficiary is a key of this chain: tokens may be sent to the thief.",
            ),
            Self::BeneficiaryIsListed { beneficiary } => write!(
                f,
                "The charter's beneficiary {beneficiary} is nobody, or a contract that gives nothing back: what is sent there counts as lost."
            ),
            Self::DecimalsContradict { token } => write!(
                f,
                "The charter counts {token} with other decimals than it has, so its limits in dollars bind nothing."
            ),
            Self::DecimalsBelieved { token } => write!(
                f,
                "The token {token} has the decimals that the charter gives it: if not, its limits bind nothing."
            ),
            Self::PricesDiffer => f.write_str(
                "Two charters price a token differently, so that of each limit in dollars the larger counts.",
            ),
            Self::OtherAccount { account } => write!(
                f,
                "What is bought goes to {account}, which is not the account that pays: it counts as lost."
            ),
            Self::KnowledgeHasNoPrice => f.write_str(
                "Knowledge that is sold has no price here; royalties come out of what the buyer paid.",
            ),
            Self::WindowUnknown => {
                f.write_str("A window was not read, or is of a later time: nothing of it counts as used.")
            }
            Self::CounterUnknown => {
                f.write_str("A counter was not read: nothing of it counts as used.")
            }
            Self::SettlementUnknown => f.write_str(
                "What a dying Golem converts to was not read: everything counts as converted.",
            ),
            Self::RuleNotCounted { rule } => write!(f, "Nothing is taken off for {rule}."),
            Self::NoExpiry => f.write_str("Nothing ends the grant."),
            Self::Endless => f.write_str(
                "What may leave has no end, in time or in number, and so there is no sum of it.",
            ),
            Self::SeriesCut { days } => {
                write!(f, "The series has {days} days; the total goes on to the end.")
            }
        }
    }
}

impl Serialize for Assumption {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why a grant is worth nothing to a thief.
///
/// ```
/// use golem_delegation::blast_radius::Ended;
/// let revoked = Ended::EpochRevoked { epoch: 1, lowest: 2 };
/// assert_eq!(revoked.to_string(), "epoch 1 is revoked: 2 is the lowest that counts");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// Its last second is over, or before its first.
    Expired {
        /// The last second.
        at: u64,
    },
    /// The chain is past the blocks that a link is good for.
    PastBlock {
        /// The first that it is not good for.
        before: u128,
        /// The chain's.
        number: U256,
    },
    /// A link is disabled.
    Disabled {
        /// Its hash.
        delegation: B256,
    },
    /// The owner revoked the Golem's grants.
    EpochRevoked {
        /// Of the charter.
        epoch: u16,
        /// The lowest that counts.
        lowest: u16,
    },
    /// The account's nonce is past the one that a link names.
    NonceRaised {
        /// Of the link.
        nonce: U256,
        /// The account's.
        current: U256,
    },
    /// The owner revoked everything.
    GenerationRevoked {
        /// Of the charter.
        generation: u32,
        /// The owner's.
        current: u32,
    },
    /// The owner took the Golem off the register.
    Deregistered {
        /// Which.
        golem: B256,
    },
    /// The Golem is dead.
    Closed {
        /// Which.
        golem: B256,
    },
    /// An id that counts once is used.
    IdUsed {
        /// Of the link.
        id: U256,
    },
    /// The amount that a link lets out is out.
    AllSent {
        /// The link's hash.
        delegation: B256,
    },
    /// No redemptions are left.
    NoCallsLeft {
        /// The link's hash.
        delegation: B256,
    },
    /// The spend window refuses even nothing.
    WindowRefuses {
        /// In its own words.
        why: String,
    },
}

impl Ended {
    /// A name that programs can match on.
    ///
    /// ```
    /// use golem_delegation::blast_radius::Ended;
    /// assert_eq!(Ended::EpochRevoked { epoch: 1, lowest: 2 }.code(), "epochRevoked");
    /// ```
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Expired { .. } => "expired",
            Self::PastBlock { .. } => "pastBlock",
            Self::Disabled { .. } => "disabled",
            Self::EpochRevoked { .. } => "epochRevoked",
            Self::NonceRaised { .. } => "nonceRaised",
            Self::GenerationRevoked { .. } => "generationRevoked",
            Self::Deregistered { .. } => "deregistered",
            Self::Closed { .. } => "closed",
            Self::IdUsed { .. } => "idUsed",
            Self::AllSent { .. } => "allSent",
            Self::NoCallsLeft { .. } => "noCallsLeft",
            Self::WindowRefuses { .. } => "windowRefuses",
        }
    }

    /// The same in one word.
    ///
    /// ```
    /// use golem_delegation::{State, blast_radius::Ended};
    /// assert_eq!(Ended::Expired { at: 9 }.state(), State::Expired);
    /// assert_eq!(Ended::EpochRevoked { epoch: 1, lowest: 2 }.state(), State::RevokedByOwner);
    /// ```
    #[must_use]
    pub const fn state(&self) -> State {
        match self {
            Self::Expired { .. } | Self::PastBlock { .. } | Self::Closed { .. } => State::Expired,
            Self::Disabled { .. }
            | Self::EpochRevoked { .. }
            | Self::NonceRaised { .. }
            | Self::Deregistered { .. }
            | Self::GenerationRevoked { .. } => State::RevokedByOwner,
            Self::IdUsed { .. }
            | Self::AllSent { .. }
            | Self::NoCallsLeft { .. }
            | Self::WindowRefuses { .. } => State::Exhausted,
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired { at } => write!(f, "it ended on {}", Date(*at)),
            Self::PastBlock { before, number } => {
                write!(f, "it was good before block {before}, and block {number} is there")
            }
            Self::Disabled { delegation } => write!(f, "delegation {delegation} is disabled"),
            Self::EpochRevoked { epoch, lowest } => {
                write!(f, "epoch {epoch} is revoked: {lowest} is the lowest that counts")
            }
            Self::GenerationRevoked { generation, current } => {
                write!(f, "generation {generation} is revoked: it is {current} now")
            }
            Self::NonceRaised { nonce, current } => {
                write!(f, "nonce {nonce} is revoked: the account's is {current} now")
            }
            Self::Deregistered { golem } => {
                write!(f, "Golem {golem} was taken off the register by its owner")
            }
            Self::Closed { golem } => write!(f, "Golem {golem} is dead"),
            Self::IdUsed { id } => write!(f, "id {id} counts once, and is used"),
            Self::AllSent { delegation } => {
                write!(f, "all that delegation {delegation} lets out is out")
            }
            Self::NoCallsLeft { delegation } => {
                write!(f, "delegation {delegation} has no redemptions left")
            }
            Self::WindowRefuses { why } => f.write_str(why),
        }
    }
}

impl Serialize for Ended {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for BlastRadius {
    /// One sentence for the owner.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ended) = &self.ended {
            write!(f, "Whoever steals this key can do nothing with the grant: {ended}")?;
            return match self.causes.in_hand {
                Some(held) if held.is_zero() => f.write_str("."),
                Some(held) => write!(f, "; the key itself holds {}.", Dollars(held)),
                None => f.write_str("; what the key itself holds is not known."),
            };
        }
        f.write_str("Whoever steals this key today can ")?;
        if self.everything {
            f.write_str("take everything that this grant can reach")?;
            self.when(f)?;
            f.write_str(": nothing bounds it.")?;
            let known = self.causes.known();
            return if known.is_zero() {
                Ok(())
            } else {
                write!(f, " Known of it are {}.", Dollars(known))
            };
        }
        let endless = self.assumptions.contains(&Assumption::Endless);
        match (self.total(), self.causes.known()) {
            (None, _) if endless => f.write_str("cost you ever more, without an end")?,
            (Some(total), _) if self.assumptions.contains(&Assumption::NoIncome) => {
                write!(f, "cost you at most {} of what is there", Dollars(total))?;
            }
            (Some(total), _) => write!(f, "cost you at most {}", Dollars(total))?,
            (None, known) if known.is_zero() => f.write_str("cost you what cannot be told")?,
            (None, known) => write!(f, "cost you {} and what cannot be told", Dollars(known))?,
        }
        self.when(f)?;
        let parts = self.parts();
        if !parts.is_empty() {
            write!(f, ": {}", parts.join(", "))?;
        }
        f.write_str(".")?;
        if self.total().is_none() && !self.missing.is_empty() {
            let mut missing: Vec<String> =
                self.missing.iter().take(4).map(ToString::to_string).collect();
            if self.missing.len() > missing.len() {
                missing.push("more".to_owned());
            }
            write!(f, " Not known: {}.", missing.join(", "))?;
        }
        Ok(())
    }
}

impl BlastRadius {
    fn when(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            Some(until) => write!(f, " until {}", Date(until)),
            None => f.write_str(", for as long as it is not revoked"),
        }
    }

    fn parts(&self) -> Vec<String> {
        let causes = self.causes;
        let named = [
            (causes.outflow, "sent away"),
            (causes.slippage, "by trading badly within the cap"),
            (causes.vaults, "on shares of vaults"),
            (causes.settlement, "by settling everything at once"),
            (causes.gas, "as gas money"),
            (causes.in_hand, "that the key already holds"),
        ];
        let parts = named.into_iter().filter_map(|(cause, how)| match cause {
            Some(nothing) if nothing.is_zero() => None,
            Some(value) => Some(format!("{} {how}", Dollars(value))),
            None => Some(format!("an unknown sum {how}")),
        });
        parts.collect()
    }
}

impl fmt::Display for super::Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.token.is_zero() {
            write!(f, "{} of the chain's coin", self.what)
        } else {
            write!(f, "{} of {}", self.what, self.token)
        }
    }
}

/// Micro-dollars as dollars and cents, rounded up.
///
/// ```
/// use golem_delegation::blast_radius::Dollars;
/// # use alloy_primitives::U256;
/// assert_eq!(Dollars(U256::from(1_234_567_890_001u64)).to_string(), "$1,234,567.90");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dollars(pub U256);

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == U256::MAX {
            return f.write_str("more dollars than can be counted");
        }
        let cents = self.0.div_ceil(U256::from(10_000));
        let hundred = U256::from(100);
        let (whole, rest) = (cents / hundred, cents % hundred);
        let digits = whole.to_string();
        let mut grouped = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at != 0 && (digits.len() - at).is_multiple_of(3) {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        f.pad(&format!("${grouped}.{:02}", rest.wrapping_to::<u64>()))
    }
}

/// A second's date, UTC.
///
/// ```
/// use golem_delegation::blast_radius::Date;
/// assert_eq!(Date(1_796_083_200).to_string(), "2026-12-01");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(pub u64);

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = Utc(self.0).date();
        f.pad(&format!("{year:04}-{month:02}-{day:02}"))
    }
}
