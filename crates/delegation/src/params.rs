//! Parameters of caveats as JSON: one form out, few forms in, and every refusal names its field.

use crate::{
    Caveat, Opaque, TermsError,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, ApprovalRevocation, ArgsEqualityCheck,
        BlockNumber, Cadence, ChangeType, CharterMood, Class, Classes, DailySpendLimit, Deployed,
        DreamMode, EmotionalState, Erc20BalanceChange, Erc20PeriodTransfer, Erc20Streaming,
        Erc20TransferAmount, Erc721BalanceChange, Erc721Transfer, Erc1155BalanceChange,
        ExactCalldata, ExactCalldataBatch, ExactExecution, ExactExecutionBatch, Execution,
        GolemCharter, GolemPhase, Holdings, Id, KnowledgeRoyalty, LimitedCalls, ListedTarget,
        ListedToken, Listing, LogicalOrWrapper, MaxSlippage, MoodBounds, MortalityTimeWindow,
        MultiTokenPeriod, NativeBalanceChange, NativeTokenPayment, NativeTokenPeriodTransfer,
        NativeTokenStreaming, NativeTokenTransferAmount, Nonce, OwnershipTransfer, Redeemer,
        ReplicantBudget, Role, SpecificActionErc20TransferBatch, Threshold, Timestamp, TokenPeriod,
        ValueLte, VaultNav,
    },
};
use alloy_primitives::{Address, B256, Bytes, Selector, U256, hex};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, SeqAccess, Unexpected, Visitor},
    ser::{SerializeSeq, SerializeStruct},
};
use std::{
    fmt,
    marker::PhantomData,
    num::{NonZeroU8, NonZeroU32},
};

/// Largest integer that every JSON reader reads exactly.
const SAFE: u64 = (1 << 53) - 1;

/// A value with a JSON form of its own.
pub(crate) trait Param: Sized {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// What it is where nothing is said of it.
    fn absent() -> Option<Self> {
        None
    }
}

/// A parameter to be written.
pub(crate) struct Shown<'a, T>(pub(crate) &'a T);

impl<T: Param> Serialize for Shown<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.show(serializer)
    }
}

/// A parameter that was read.
pub(crate) struct Read<T>(pub(crate) T);

impl<'de, T: Param> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Self)
    }
}

// --------------------------------------------------------------------------------------------- numbers

struct Number;

impl Visitor<'_> for Number {
    type Value = U256;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number as decimal text, as hex text with 0x, or as an exact JSON integer")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<U256, E> {
        if number > SAFE {
            return Err(E::custom(format_args!("{number} is beyond {SAFE} and must be text")));
        }
        Ok(U256::from(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<U256, E> {
        let (digits, radix, most) = match text.strip_prefix("0x") {
            Some(digits) => (digits, 16, 64),
            None => (text, 10, 78),
        };
        let padded = radix == 10 && digits.len() > 1 && digits.starts_with('0');
        let whole = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
        if padded || !whole {
            return Err(E::invalid_value(Unexpected::Str(text), &self));
        }
        if digits.len() > most {
            return Err(E::custom("the number does not fit 256 bits"));
        }
        U256::from_str_radix(digits, radix.into())
            .map_err(|_too_large| E::custom("the number does not fit 256 bits"))
    }
}

impl Param for U256 {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Number)
    }
}

/// Integers that a JSON number may not hold exactly are text; the narrow ones are numbers.
macro_rules! integers {
    ($($type:ident as $form:ident)*) => {$(
        impl Param for $type {
            fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                integers!(@$form self, serializer)
            }

            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let number = U256::read(deserializer)?;
                Self::try_from(number).map_err(|_too_large| {
                    D::Error::custom(format_args!("{number} does not fit {} bits", Self::BITS))
                })
            }
        }
    )*};
    (@text $number:ident, $serializer:ident) => { $serializer.collect_str($number) };
    (@number $number:ident, $serializer:ident) => { $serializer.serialize_u64((*$number).into()) };
}

integers! { u128 as text u64 as text u32 as number u16 as number u8 as number }

macro_rules! nonzero_integers {
    ($($type:ident of $held:ident)*) => {$(
        impl Param for $type {
            fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.get().show(serializer)
            }

            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new($held::read(deserializer)?).ok_or_else(|| D::Error::custom("zero"))
            }
        }
    )*};
}

nonzero_integers! { NonZeroU32 of u32 NonZeroU8 of u8 }

impl Param for i8 {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i8(*self)
    }

    /// The only numbers that may be negative: no text, and no doubt.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Param for bool {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*self)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Param for ChangeType {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.show(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u8::read(deserializer).map(Self)
    }
}

// ----------------------------------------------------------------------------------------------- bytes

struct Hex;

impl Visitor<'_> for Hex {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("whole bytes in hex with 0x")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
        let refused = || E::invalid_value(Unexpected::Str(text), &self);
        let digits = text.strip_prefix("0x").ok_or_else(refused)?;
        // The decoder takes a second prefix.
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(refused());
        }
        hex::decode(digits).map_err(|_odd| refused())
    }
}

impl Param for Bytes {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode_prefixed(self))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Hex).map(Self::from)
    }
}

macro_rules! fixed_bytes {
    ($($type:ident)*) => {$(
        impl Param for $type {
            fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&hex::encode_prefixed(self))
            }

            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let bytes = deserializer.deserialize_str(Hex)?;
                Self::try_from(bytes.as_slice()).map_err(|_length| {
                    let (expected, actual) = (Self::len_bytes(), bytes.len());
                    D::Error::custom(format_args!("{actual} bytes where there are {expected}"))
                })
            }
        }
    )*};
}

fixed_bytes! { Address B256 Selector }

// ----------------------------------------------------------------------------------------------- lists

struct List<T>(PhantomData<T>);

impl<'de, T: Param> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        loop {
            match list.next_element() {
                Ok(Some(Read(one))) => all.push(one),
                Ok(None) => return Ok(all),
                Err(error) => {
                    return Err(A::Error::custom(format_args!("entry {}: {error}", all.len())));
                }
            }
        }
    }
}

impl<T: Param> Param for Vec<T> {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len()))?;
        for one in self {
            list.serialize_element(&Shown(one))?;
        }
        list.end()
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(List(PhantomData))
    }
}

impl<T: Param> Param for Option<T> {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(one) => serializer.serialize_some(&Shown(one)),
            None => serializer.serialize_none(),
        }
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<Read<T>>::deserialize(deserializer)?.map(|Read(one)| one))
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Param> Param for Box<T> {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().show(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Self::new)
    }
}

// ----------------------------------------------------------------------------------------------- names

/// Looks a name up among all there are.
fn named<'de, T: Copy, D: Deserializer<'de>>(
    deserializer: D,
    what: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    let found = all.iter().copied().find(|one| name(*one) == text);
    found.ok_or_else(|| D::Error::custom(format_args!("no {what} has the name {text:?}")))
}

impl Param for Role {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        named(deserializer, "role", &Self::ALL, Self::name)
    }
}

impl Param for Class {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        named(deserializer, "class", &Self::ALL, Self::name)
    }
}

impl Param for Classes {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let held: Vec<Class> =
            Class::ALL.into_iter().filter(|class| self.contains(*class)).collect();
        held.show(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = Self::default();
        for class in Vec::<Class>::read(deserializer)? {
            if all.contains(class) {
                return Err(D::Error::custom(format_args!("{} stands there twice", class.name())));
            }
            all = all.and(Self::of(&[class]));
        }
        Ok(all)
    }
}

// --------------------------------------------------------------------------------------------- objects

/// Reads the value of a field that may stand there once.
fn fill<'de, T: Param, A: MapAccess<'de>>(
    slot: &mut Option<T>,
    name: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    let Read(value) = map
        .next_value()
        .map_err(|error: A::Error| A::Error::custom(format_args!("{name}: {error}")))?;
    *slot = Some(value);
    Ok(())
}

/// A field's value, or what it is where it is not said.
fn filled<T: Param, E: Error>(slot: Option<T>, name: &'static str) -> Result<T, E> {
    slot.or_else(T::absent).ok_or_else(|| E::missing_field(name))
}

/// An object by its fields: the Rust name, and the one in JSON. The second form is for types that check what they
/// are made of, and have getters; the third for those that wrap one value.
macro_rules! objects {
    () => {};
    ($type:ident { $($field:ident $name:literal)* } $($rest:tt)*) => {
        objects! {
            @object $type, |shown| ($($name shown.$field),*),
            ($($field $name),*) Ok::<_, TermsError>($type { $($field),* })
        }
        objects! { $($rest)* }
    };
    ($type:ident by $new:ident { $($field:ident $name:literal)* } $($rest:tt)*) => {
        objects! {
            @object $type, |shown| ($($name shown.$field().to_owned()),*),
            ($($field $name),*) $type::$new($($field),*)
        }
        objects! { $($rest)* }
    };
    ($type:ident($name:literal) $($rest:tt)*) => {
        objects! {
            @object $type, |shown| ($name shown.0),
            (only $name) Ok::<_, TermsError>($type(only))
        }
        objects! { $($rest)* }
    };
    (
        @object $type:ident, |$shown:ident| ($($out:literal $value:expr),*),
        ($($field:ident $name:literal),*) $build:expr
    ) => {
        impl Param for $type {
            fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                const FIELDS: &[&str] = &[$($out),*];
                let $shown = self;
                let mut object = serializer.serialize_struct(stringify!($type), FIELDS.len())?;
                $(object.serialize_field($out, &Shown(&$value))?;)*
                object.end()
            }

            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                const FIELDS: &[&str] = &[$($name),*];
                struct Fields;
                impl<'de> Visitor<'de> for Fields {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$type, A::Error> {
                        $(let mut $field = None;)*
                        while let Some(name) = map.next_key::<String>()? {
                            match name.as_str() {
                                $($name => fill(&mut $field, $name, &mut map)?,)*
                                other => return Err(A::Error::unknown_field(other, FIELDS)),
                            }
                        }
                        $(let $field = filled::<_, A::Error>($field, $name)?;)*
                        $build.map_err(A::Error::custom)
                    }
                }
                deserializer.deserialize_struct(stringify!($type), FIELDS, Fields)
            }
        }
    };
}

objects! {
    AllowedCalldata { start "startIndex" value "value" }
    AllowedMethods("selectors")
    AllowedTargets("targets")
    ApprovalRevocation {
        erc20_approve "erc20Approve"
        erc721_approve "erc721Approve"
        erc721_set_approval_for_all "erc721SetApprovalForAll"
        permit2_approve "permit2Approve"
        permit2_lockdown "permit2Lockdown"
        permit2_invalidate_nonces "permit2InvalidateNonces"
    }
    ArgsEqualityCheck("args")
    BlockNumber { after "afterThreshold" before "beforeThreshold" }
    Deployed { contract_address "contractAddress" salt "salt" bytecode "bytecode" }
    Erc1155BalanceChange {
        token_address "tokenAddress"
        recipient "recipient"
        token_id "tokenId"
        balance "balance"
        change_type "changeType"
    }
    Erc20BalanceChange {
        token_address "tokenAddress"
        recipient "recipient"
        balance "balance"
        change_type "changeType"
    }
    Erc20PeriodTransfer {
        token_address "tokenAddress"
        period_amount "periodAmount"
        period_duration "periodDuration"
        start_date "startDate"
    }
    Erc20Streaming {
        token_address "tokenAddress"
        initial_amount "initialAmount"
        max_amount "maxAmount"
        amount_per_second "amountPerSecond"
        start_time "startTime"
    }
    Erc20TransferAmount { token_address "tokenAddress" max_amount "maxAmount" }
    Erc721BalanceChange {
        token_address "tokenAddress"
        recipient "recipient"
        amount "amount"
        change_type "changeType"
    }
    Erc721Transfer { token_address "tokenAddress" token_id "tokenId" }
    ExactCalldata("calldata")
    ExactCalldataBatch("executions")
    ExactExecution("execution")
    ExactExecutionBatch("executions")
    Execution { target "target" value "value" call_data "callData" }
    Id("id")
    LimitedCalls("limit")
    LogicalOrWrapper("caveatGroups")
    Caveat { enforcer "enforcer" terms "terms" args "args" }
    MultiTokenPeriod("tokenConfigs")
    TokenPeriod {
        token "token"
        period_amount "periodAmount"
        period_duration "periodDuration"
        start_date "startDate"
    }
    NativeBalanceChange { recipient "recipient" balance "balance" change_type "changeType" }
    NativeTokenPayment { recipient "recipient" amount "amount" }
    NativeTokenPeriodTransfer {
        period_amount "periodAmount"
        period_duration "periodDuration"
        start_date "startDate"
    }
    NativeTokenStreaming {
        initial_amount "initialAmount"
        max_amount "maxAmount"
        amount_per_second "amountPerSecond"
        start_time "startTime"
    }
    NativeTokenTransferAmount("maxAmount")
    Nonce("nonce")
    OwnershipTransfer("contractAddress")
    Redeemer("redeemers")
    SpecificActionErc20TransferBatch {
        token_address "tokenAddress"
        recipient "recipient"
        amount "amount"
        target "target"
        value "value"
        calldata "calldata"
    }
    Timestamp { after "afterThreshold" before "beforeThreshold" }
    ValueLte("maxValue")

    Cadence { golem_id "golemId" period "period" count "count" }
    DailySpendLimit {
        golem_id "golemId"
        epoch "epoch"
        cap "cap"
        bucket_minutes "bucketMinutes"
        listing "listing"
    }
    DreamMode { golem_id "golemId" registry "registry" }
    EmotionalState {
        golem_id "golemId"
        registry "registry"
        staleness "staleness"
        bounds "bounds"
        selectors "selectors"
    }
    GolemCharter {
        golem_id "golemId"
        owner "owner"
        epoch "epoch"
        generation "generation"
        registry "registry"
        account "account"
        beneficiary "beneficiary"
        agent_key "agentKey"
        replicants "replicants"
        classes "classes"
        window "window"
        spend_cap "spendCap"
        bucket_minutes "bucketMinutes"
        slippage_bps "slippageBps"
        vault "vault"
        nav_bps "navBps"
        nav_cap "navCap"
        staleness "staleness"
        gas_ceiling "gasCeiling"
        gas_daily_cap "gasDailyCap"
        settlement_asset "settlementAsset"
        max_royalty_bps "maxRoyaltyBps"
        mood "mood"
        listing "listing"
    }
    CharterMood { bounds "bounds" classes "classes" }
    MoodBounds {
        min_pleasure "minPleasure"
        max_arousal "maxArousal"
        min_dominance "minDominance"
    }
    GolemPhase {
        golem_id "golemId"
        registry "registry"
        staleness "staleness"
        listing "listing"
    }
    Holdings {
        golem_id "golemId"
        account "account"
        staleness "staleness"
        series "series"
        thriving_bps "thrivingBps"
        stable_bps "stableBps"
        drawdown_bps "drawdownBps"
        registry "registry"
        cash "cash"
        loss_bps "lossBps"
        listing "listing"
    }
    KnowledgeRoyalty { market "market" max_royalty_bps "maxRoyaltyBps" }
    Listing {
        sequencer_feed "sequencerFeed"
        sequencer_grace "sequencerGrace"
        tokens "tokens"
        targets "targets"
    }
    ListedToken {
        token "token"
        role "role"
        feed "feed"
        token_decimals "tokenDecimals"
        feed_decimals "feedDecimals"
        max_age "maxAge"
    }
    ListedTarget { target "target" role "role" }
    MaxSlippage { bps "bps" listing "listing" }
    MortalityTimeWindow by new { start "start" end "end" }
    ReplicantBudget {
        replicant_id "replicantId"
        budget "budget"
        not_after "notAfter"
        listing "listing"
    }
    Threshold by ascending { needed "needed" signers "signers" }
    VaultNav { golem_id "golemId" vault "vault" bps "bps" cap "cap" listing "listing" }

    Opaque { enforcer "enforcer" terms "terms" }
}
