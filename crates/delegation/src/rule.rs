//! Every enforcer that is known by name, and the terms each one reads.

use crate::{
    Caveat, TermsError,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, Cadence, DailySpendLimit, DreamMode,
        EmotionalState, GolemCharter, GolemPhase, Holdings, KnowledgeRoyalty, LimitedCalls,
        MaxSlippage, MortalityTimeWindow, Redeemer, ReplicantBudget, Threshold, Timestamp,
        ValueLte, VaultNav,
    },
};
use alloy_primitives::{Address, Bytes};
use std::{collections::BTreeMap, fmt, str::FromStr};

/// Terms that cannot fail to be written, and those that can, as one.
trait IntoTerms {
    fn into_terms(self) -> Result<Vec<u8>, TermsError>;
}

impl IntoTerms for Vec<u8> {
    fn into_terms(self) -> Result<Vec<u8>, TermsError> {
        Ok(self)
    }
}

impl IntoTerms for Result<Vec<u8>, TermsError> {
    fn into_terms(self) -> Result<Vec<u8>, TermsError> {
        self
    }
}

macro_rules! rules {
    ($($name:ident($terms:ident as $held:ty) $text:literal,)*) => {
        /// Which enforcer a caveat names.
        ///
        /// ```
        /// use golem_delegation::Kind;
        /// assert_eq!("allowedTargets".parse(), Ok(Kind::AllowedTargets));
        /// assert_eq!(Kind::GolemCharter.name(), "golemCharter");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Kind {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name that MetaMask's kit knows it by; ours are made the same way.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }

        /// What a caveat says: terms that were read, or bytes of an enforcer that nobody here knows.
        ///
        /// ```
        /// use golem_delegation::{Kind, Rule, terms::LimitedCalls};
        /// # use alloy_primitives::U256;
        /// let rule = Rule::LimitedCalls(LimitedCalls(U256::from(3)));
        /// assert_eq!(Rule::decode(Kind::LimitedCalls, &rule.encode()?)?, rule);
        /// # Ok::<(), golem_delegation::TermsError>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = concat!("Of `", $text, "`.")] $name($held),)*
            /// Of an enforcer without a name. Nothing is known of what it allows.
            Opaque(Opaque),
        }

        impl Rule {
            /// Which enforcer it is of; none where that is not known.
            #[must_use]
            pub const fn kind(&self) -> Option<Kind> {
                match self {
                    $(Self::$name(_) => Some(Kind::$name),)*
                    Self::Opaque(_) => None,
                }
            }

            /// Reads terms, accepting what the contract accepts and nothing more.
            pub fn decode(kind: Kind, terms: &[u8]) -> Result<Self, TermsError> {
                Ok(match kind {
                    $(Kind::$name => Self::$name(<$terms>::decode(terms)?.into()),)*
                })
            }

            /// The terms.
            pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
                match self {
                    $(Self::$name(rule) => rule.encode().into_terms(),)*
                    Self::Opaque(opaque) => Ok(opaque.terms.to_vec()),
                }
            }
        }
    };
}

rules! {
    AllowedCalldata(AllowedCalldata as AllowedCalldata) "allowedCalldata",
    AllowedMethods(AllowedMethods as AllowedMethods) "allowedMethods",
    AllowedTargets(AllowedTargets as AllowedTargets) "allowedTargets",
    LimitedCalls(LimitedCalls as LimitedCalls) "limitedCalls",
    Redeemer(Redeemer as Redeemer) "redeemer",
    Timestamp(Timestamp as Timestamp) "timestamp",
    ValueLte(ValueLte as ValueLte) "valueLte",
    Cadence(Cadence as Cadence) "cadence",
    DailySpendLimit(DailySpendLimit as DailySpendLimit) "dailySpendLimit",
    DreamMode(DreamMode as DreamMode) "dreamMode",
    EmotionalState(EmotionalState as EmotionalState) "emotionalState",
    GolemCharter(GolemCharter as Box<GolemCharter>) "golemCharter",
    GolemPhase(GolemPhase as GolemPhase) "golemPhase",
    Holdings(Holdings as Holdings) "holdings",
    KnowledgeRoyalty(KnowledgeRoyalty as KnowledgeRoyalty) "knowledgeRoyalty",
    MaxSlippage(MaxSlippage as MaxSlippage) "maxSlippage",
    MortalityTimeWindow(MortalityTimeWindow as MortalityTimeWindow) "mortalityTimeWindow",
    ReplicantBudget(ReplicantBudget as ReplicantBudget) "replicantBudget",
    Threshold(Threshold as Threshold) "threshold",
    VaultNav(VaultNav as VaultNav) "vaultNAV",
}

/// Terms of an enforcer that is not known: they survive a round trip, and say nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opaque {
    /// The enforcer.
    pub enforcer: Address,
    /// Its terms.
    pub terms: Bytes,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No enforcer has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no caveat is of the kind {name:?}")]
pub struct UnknownKind {
    /// What was asked for.
    pub name: String,
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|kind| kind.name() == name);
        found.copied().ok_or_else(|| UnknownKind { name: name.to_owned() })
    }
}

/// Where the enforcers are. Only an address that is listed here is believed to be what its name says.
///
/// ```
/// use golem_delegation::{Caveat, Environment, Kind, Rule};
/// # use alloy_primitives::{Address, Bytes};
/// let cadence = Address::repeat_byte(0xca);
/// let environment = Environment::default().with(Kind::Cadence, cadence);
/// assert_eq!(environment.kind(cadence), Some(Kind::Cadence));
///
/// let stranger = Caveat { enforcer: Address::repeat_byte(1), terms: Bytes::new(), args: Bytes::new() };
/// assert!(matches!(environment.read(&stranger), Ok(Rule::Opaque(_))));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    kinds: BTreeMap<Address, Kind>,
    enforcers: BTreeMap<Kind, Address>,
}

impl Environment {
    /// The same, with one more enforcer, or with an enforcer elsewhere.
    #[must_use]
    pub fn with(mut self, kind: Kind, enforcer: Address) -> Self {
        if let Some(before) = self.enforcers.insert(kind, enforcer) {
            self.kinds.remove(&before);
        }
        self.kinds.insert(enforcer, kind);
        self
    }

    /// What stands at an address.
    #[must_use]
    pub fn kind(&self, enforcer: Address) -> Option<Kind> {
        self.kinds.get(&enforcer).copied()
    }

    /// Where a kind stands.
    #[must_use]
    pub fn enforcer(&self, kind: Kind) -> Option<Address> {
        self.enforcers.get(&kind).copied()
    }

    /// What a caveat says. An enforcer that is not known gives an opaque rule; one that is, and whose terms the
    /// contract would refuse, an error.
    pub fn read(&self, caveat: &Caveat) -> Result<Rule, TermsError> {
        match self.kind(caveat.enforcer) {
            Some(kind) => Rule::decode(kind, &caveat.terms),
            None => {
                Ok(Rule::Opaque(Opaque { enforcer: caveat.enforcer, terms: caveat.terms.clone() }))
            }
        }
    }

    /// A rule as a caveat; none where nothing is known of where its enforcer stands.
    pub fn caveat(&self, rule: &Rule) -> Result<Option<Caveat>, TermsError> {
        let enforcer = match rule {
            Rule::Opaque(opaque) => Some(opaque.enforcer),
            known => known.kind().and_then(|kind| self.enforcer(kind)),
        };
        let Some(enforcer) = enforcer else { return Ok(None) };
        Ok(Some(Caveat { enforcer, terms: rule.encode()?.into(), args: Bytes::new() }))
    }
}
