//! Every enforcer that is known by name, and the terms each one reads.

use crate::{
    Caveat, TermsError, enforcers,
    params::{Param, Read, Shown},
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, ApprovalRevocation, ArgsEqualityCheck,
        BlockNumber, Cadence, DailySpendLimit, Deployed, DreamMode, EmotionalState,
        Erc20BalanceChange, Erc20PeriodTransfer, Erc20Streaming, Erc20TransferAmount,
        Erc721BalanceChange, Erc721Transfer, Erc1155BalanceChange, ExactCalldata,
        ExactCalldataBatch, ExactExecution, ExactExecutionBatch, GolemCharter, GolemPhase,
        Holdings, Id, KnowledgeRoyalty, LimitedCalls, LogicalOrWrapper, MaxSlippage,
        MortalityTimeWindow, MultiTokenPeriod, NativeBalanceChange, NativeTokenPayment,
        NativeTokenPeriodTransfer, NativeTokenStreaming, NativeTokenTransferAmount, Nonce,
        OwnershipTransfer, Redeemer, ReplicantBudget, SpecificActionErc20TransferBatch, Threshold,
        Timestamp, ValueLte, VaultNav,
    },
};
use alloy_primitives::{Address, B256, Bytes};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error as _},
    ser::SerializeStruct,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

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
            ///
            /// ```
            /// use golem_delegation::Kind;
            /// assert!(Kind::ALL.iter().all(|kind| kind.name().parse() == Ok(*kind)));
            /// ```
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
        ///
        /// As JSON it is an object of `kind` and `params`, with the names that MetaMask's kit has for them. Numbers of
        /// more than 32 bits are decimal text; what is read may be hex with `0x` or an exact integer as well. What
        /// is missing, unknown, too large or refused by the contract is an error that names the field.
        ///
        /// ```
        /// use golem_delegation::Rule;
        /// let text = r#"{"kind":"timestamp","params":{"afterThreshold":"0","beforeThreshold":"1800000000"}}"#;
        /// let rule: Rule = serde_json::from_str(text)?;
        /// assert_eq!(serde_json::to_string(&rule)?, text);
        ///
        /// let short = r#"{"kind":"timestamp","params":{"afterThreshold":-1,"beforeThreshold":0}}"#;
        /// let refusal = serde_json::from_str::<Rule>(short).unwrap_err();
        /// assert!(refusal.to_string().starts_with("afterThreshold: "));
        /// # Ok::<(), serde_json::Error>(())
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

            /// The registry and the Golem whose life it asks for; none where it asks for none.
            ///
            /// ```
            /// use golem_delegation::{Rule, terms::DreamMode};
            /// # use alloy_primitives::{Address, B256};
            /// let (registry, golem_id) = (Address::repeat_byte(1), B256::repeat_byte(2));
            /// let awake = Rule::DreamMode(DreamMode { registry, golem_id });
            /// assert_eq!(awake.golem(), Some((registry, golem_id)));
            /// ```
            #[must_use]
            pub const fn golem(&self) -> Option<(Address, B256)> {
                match self {
                    Self::GolemCharter(rule) => Some((rule.registry, rule.golem_id)),
                    Self::GolemPhase(rule) => Some((rule.registry, rule.golem_id)),
                    Self::DreamMode(rule) => Some((rule.registry, rule.golem_id)),
                    Self::EmotionalState(rule) => Some((rule.registry, rule.golem_id)),
                    Self::Holdings(rule) => Some((rule.registry, rule.golem_id)),
                    _ => None,
                }
            }

            /// Reads terms, accepting what the contract accepts and nothing more.
            pub fn decode(kind: Kind, terms: &[u8]) -> Result<Self, TermsError> {
                Ok(match kind {
                    $(Kind::$name => Self::$name(<$terms>::decode(terms)?.into()),)*
                })
            }

            /// The terms; refused where the contract would refuse them.
            pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
                match self {
                    $(Self::$name(rule) => {
                        let terms = rule.encode().into_terms()?;
                        // Fields are open, so that somebody may have made what no terms say.
                        <$terms>::decode(&terms)?;
                        Ok(terms)
                    })*
                    Self::Opaque(opaque) => Ok(opaque.terms.to_vec()),
                }
            }
        }

        impl Serialize for Rule {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut object = serializer.serialize_struct("Rule", 2)?;
                match self {
                    $(Self::$name(rule) => {
                        object.serialize_field("kind", $text)?;
                        object.serialize_field("params", &Shown(rule))?;
                    })*
                    Self::Opaque(opaque) => {
                        object.serialize_field("kind", Opaque::KIND)?;
                        object.serialize_field("params", opaque)?;
                    }
                }
                object.end()
            }
        }

        /// A rule as it is written down, whatever the contract says to it.
        #[derive(Deserialize)]
        #[serde(tag = "kind", content = "params", deny_unknown_fields)]
        enum Stated {
            $(#[serde(rename = $text)] $name(Read<$held>),)*
            #[serde(rename = "opaque")]
            Opaque(Opaque),
        }

        impl From<Stated> for Rule {
            fn from(stated: Stated) -> Self {
                match stated {
                    $(Stated::$name(Read(rule)) => Self::$name(rule),)*
                    Stated::Opaque(opaque) => Self::Opaque(opaque),
                }
            }
        }

        /// Reads the parameters of one kind.
        ///
        /// ```
        /// use golem_delegation::{Kind, Rule};
        /// use serde::de::DeserializeSeed;
        /// let mut params = serde_json::Deserializer::from_str(r#"{"limit":"3"}"#);
        /// let rule: Rule = Kind::LimitedCalls.deserialize(&mut params)?;
        /// assert_eq!(rule.kind(), Some(Kind::LimitedCalls));
        /// # Ok::<(), serde_json::Error>(())
        /// ```
        impl<'de> DeserializeSeed<'de> for Kind {
            type Value = Rule;

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Rule, D::Error> {
                let rule = match self {
                    $(Self::$name => Rule::$name(<$held>::read(deserializer)?),)*
                };
                rule.encode().map_err(D::Error::custom)?;
                Ok(rule)
            }
        }
    };
}

rules! {
    AllowedCalldata(AllowedCalldata as AllowedCalldata) "allowedCalldata",
    AllowedMethods(AllowedMethods as AllowedMethods) "allowedMethods",
    AllowedTargets(AllowedTargets as AllowedTargets) "allowedTargets",
    ApprovalRevocation(ApprovalRevocation as ApprovalRevocation) "approvalRevocation",
    ArgsEqualityCheck(ArgsEqualityCheck as ArgsEqualityCheck) "argsEqualityCheck",
    BlockNumber(BlockNumber as BlockNumber) "blockNumber",
    Deployed(Deployed as Deployed) "deployed",
    Erc1155BalanceChange(Erc1155BalanceChange as Erc1155BalanceChange) "erc1155BalanceChange",
    Erc20BalanceChange(Erc20BalanceChange as Erc20BalanceChange) "erc20BalanceChange",
    Erc20PeriodTransfer(Erc20PeriodTransfer as Erc20PeriodTransfer) "erc20PeriodTransfer",
    Erc20Streaming(Erc20Streaming as Erc20Streaming) "erc20Streaming",
    Erc20TransferAmount(Erc20TransferAmount as Erc20TransferAmount) "erc20TransferAmount",
    Erc721BalanceChange(Erc721BalanceChange as Erc721BalanceChange) "erc721BalanceChange",
    Erc721Transfer(Erc721Transfer as Erc721Transfer) "erc721Transfer",
    ExactCalldata(ExactCalldata as ExactCalldata) "exactCalldata",
    ExactCalldataBatch(ExactCalldataBatch as ExactCalldataBatch) "exactCalldataBatch",
    ExactExecution(ExactExecution as ExactExecution) "exactExecution",
    ExactExecutionBatch(ExactExecutionBatch as ExactExecutionBatch) "exactExecutionBatch",
    Id(Id as Id) "id",
    LimitedCalls(LimitedCalls as LimitedCalls) "limitedCalls",
    LogicalOrWrapper(LogicalOrWrapper as LogicalOrWrapper) "logicalOrWrapper",
    MultiTokenPeriod(MultiTokenPeriod as MultiTokenPeriod) "multiTokenPeriod",
    NativeBalanceChange(NativeBalanceChange as NativeBalanceChange) "nativeBalanceChange",
    NativeTokenPayment(NativeTokenPayment as NativeTokenPayment) "nativeTokenPayment",
    NativeTokenPeriodTransfer(NativeTokenPeriodTransfer as NativeTokenPeriodTransfer) "nativeTokenPeriodTransfer",
    NativeTokenStreaming(NativeTokenStreaming as NativeTokenStreaming) "nativeTokenStreaming",
    NativeTokenTransferAmount(NativeTokenTransferAmount as NativeTokenTransferAmount) "nativeTokenTransferAmount",
    Nonce(Nonce as Nonce) "nonce",
    OwnershipTransfer(OwnershipTransfer as OwnershipTransfer) "ownershipTransfer",
    Redeemer(Redeemer as Redeemer) "redeemer",
    SpecificActionErc20TransferBatch(SpecificActionErc20TransferBatch as SpecificActionErc20TransferBatch) "specificActionERC20TransferBatch",
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
///
/// ```
/// use golem_delegation::{Caveat, Environment, Opaque, Rule};
/// # use alloy_primitives::{Address, Bytes};
/// let (enforcer, terms) = (Address::repeat_byte(1), Bytes::from(vec![7]));
/// let caveat = Caveat::new(enforcer, terms.clone());
/// let rule = Environment::stock().read(&caveat)?;
/// assert_eq!(rule, Rule::Opaque(Opaque { enforcer, terms }));
/// assert_eq!(Environment::stock().caveat(&rule)?, Some(caveat));
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opaque {
    /// The enforcer.
    pub enforcer: Address,
    /// Its terms.
    pub terms: Bytes,
}

impl Opaque {
    /// What stands for a kind in JSON.
    ///
    /// ```
    /// use golem_delegation::{Opaque, Rule};
    /// # use alloy_primitives::{Address, Bytes};
    /// let rule = Rule::Opaque(Opaque { enforcer: Address::repeat_byte(1), terms: Bytes::new() });
    /// assert_eq!(serde_json::to_value(&rule)?["kind"], Opaque::KIND);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub const KIND: &'static str = "opaque";
}

impl Serialize for Opaque {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.show(serializer)
    }
}

impl<'de> Deserialize<'de> for Opaque {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(deserializer)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rule = Self::from(Stated::deserialize(deserializer)?);
        rule.encode().map_err(D::Error::custom)?;
        Ok(rule)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No enforcer has that name.
///
/// ```
/// use golem_delegation::{Kind, UnknownKind};
/// // Names are those of the kit, letter by letter.
/// let error = "AllowedTargets".parse::<Kind>().unwrap_err();
/// assert_eq!(error, UnknownKind { name: "AllowedTargets".to_owned() });
/// assert_eq!(error.to_string(), r#"no caveat is of the kind "AllowedTargets""#);
/// ```
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
    beside: BTreeSet<Address>,
}

impl Environment {
    /// The stock enforcers of framework 1.3.0, which stand at the same addresses on all its chains.
    ///
    /// ```
    /// use golem_delegation::{Environment, Kind, enforcers};
    /// let stock = Environment::stock();
    /// assert_eq!(stock.enforcer(Kind::Timestamp), Some(enforcers::TIMESTAMP));
    /// assert_eq!(stock.enforcer(Kind::GolemCharter), None);
    /// ```
    #[must_use]
    pub fn stock() -> Self {
        let stock = enforcers::KINDS.iter();
        stock.fold(Self::default(), |all, (kind, enforcer)| all.with(*kind, *enforcer))
    }

    /// The same, with one more enforcer, or with an enforcer elsewhere.
    #[must_use]
    pub fn with(mut self, kind: Kind, enforcer: Address) -> Self {
        if let Some(before) = self.enforcers.insert(kind, enforcer) {
            self.kinds.remove(&before);
        }
        self.kinds.insert(enforcer, kind);
        self
    }

    /// The same, with a contract of the framework that is no enforcer.
    ///
    /// ```
    /// use golem_delegation::{Environment, enforcers};
    /// # use alloy_primitives::Address;
    /// let manager = Address::repeat_byte(1);
    /// let environment = Environment::stock().beside(manager);
    /// assert!(environment.contains(manager) && environment.contains(enforcers::ID));
    /// assert!(!environment.contains(Address::repeat_byte(2)));
    /// ```
    #[must_use]
    pub fn beside(mut self, contract: Address) -> Self {
        self.beside.insert(contract);
        self
    }

    /// Whether a contract of the framework stands at an address: it sends nothing back.
    #[must_use]
    pub fn contains(&self, address: Address) -> bool {
        self.kinds.contains_key(&address) || self.beside.contains(&address)
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
    ///
    /// ```
    /// use golem_delegation::{Environment, Rule, enforcers, terms::LimitedCalls};
    /// # use alloy_primitives::U256;
    /// let rule = Rule::LimitedCalls(LimitedCalls(U256::from(3)));
    /// let caveat = Environment::stock().caveat(&rule)?.unwrap();
    /// assert_eq!(caveat.enforcer, enforcers::LIMITED_CALLS);
    /// assert_eq!(Environment::default().caveat(&rule)?, None);
    /// # Ok::<(), golem_delegation::TermsError>(())
    /// ```
    pub fn caveat(&self, rule: &Rule) -> Result<Option<Caveat>, TermsError> {
        let enforcer = match rule {
            Rule::Opaque(opaque) => Some(opaque.enforcer),
            known => known.kind().and_then(|kind| self.enforcer(kind)),
        };
        let Some(enforcer) = enforcer else { return Ok(None) };
        Ok(Some(Caveat { enforcer, terms: rule.encode()?.into(), args: Bytes::new() }))
    }
}
