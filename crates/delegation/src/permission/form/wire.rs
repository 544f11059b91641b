//! Values, permissions and rules as today's form and that of 2025 write them alike.

use super::{FormError, MAX_ADDRESSES, MAX_JUSTIFICATION};
use crate::{
    MAX_CONTEXT_BYTES,
    permission::{Allowance, Asset, Dependency, Periodic, Permission, Rules, Stream},
    terms::ApprovalRevocation,
};
use alloy_primitives::{Address, Bytes, U256, hex};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The largest integer that every reader of JSON reads alike.
const MAX_SAFE: u64 = (1 << 53) - 1;

fn digits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.strip_prefix("0x") {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Ok(digits.to_owned())
        }
        _ => Err(D::Error::custom("not hex with 0x")),
    }
}

/// An amount: hex, of 64 digits at most. MetaMask writes it short, and reads it with zeros in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amount(pub(crate) U256);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = digits(deserializer)?;
        if !(1..=64).contains(&digits.len()) {
            return Err(D::Error::custom(format_args!("an amount of {} digits", digits.len())));
        }
        U256::from_str_radix(&digits, 16).map(Self).map_err(D::Error::custom)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

/// A chain id: a hex quantity without zeros in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain(pub(crate) u64);

impl<'de> Deserialize<'de> for Chain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = digits(deserializer)?;
        match u64::from_str_radix(&digits, 16) {
            Ok(id @ 1..=MAX_SAFE) if !digits.starts_with('0') => Ok(Self(id)),
            _ => Err(D::Error::custom("not a chain id in hex without zeros in front")),
        }
    }
}

impl Serialize for Chain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

/// A moment or a length of time: a JSON integer that is exact everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seconds(pub(crate) u64);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = u64::deserialize(deserializer)?;
        if seconds > MAX_SAFE {
            return Err(D::Error::custom(format_args!("{seconds} seconds are no exact number")));
        }
        Ok(Self(seconds))
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 > MAX_SAFE {
            let refused = format_args!("{} seconds are no exact number", self.0).to_string();
            return Err(serde::ser::Error::custom(refused));
        }
        serializer.serialize_u64(self.0)
    }
}

/// An address: 40 hex digits, read in any case, written with its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account(pub(crate) Address);

impl<'de> Deserialize<'de> for Account {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = digits(deserializer)?;
        let mut bytes = [0; 20];
        hex::decode_to_slice(&digits, &mut bytes).map_err(D::Error::custom)?;
        Ok(Self(bytes.into()))
    }
}

impl Serialize for Account {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_checksum(None))
    }
}

/// Bytes in hex, no more than a context may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hex(pub(crate) Bytes);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = digits(deserializer)?;
        if digits.len() > 2 * MAX_CONTEXT_BYTES {
            return Err(D::Error::custom(format_args!("hex of {} digits", digits.len())));
        }
        hex::decode(digits).map(|bytes| Self(bytes.into())).map_err(D::Error::custom)
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode_prefixed(&self.0))
    }
}

/// The words of a permission, its `data` still of any type.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WirePermission {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) data: Data,
    pub(crate) is_adjustment_allowed: bool,
}

macro_rules! data {
    ($($field:ident: $type:ty = $name:literal,)*) => {
        /// Every field that any type has.
        #[derive(Debug, Default, Deserialize, Serialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct Data {
            $(
                #[serde(rename = $name, default, skip_serializing_if = "Option::is_none")]
                $field: Option<$type>,
            )*
        }

        impl Data {
            /// A field that nobody has taken.
            const fn left(&self) -> Option<&'static str> {
                $(if self.$field.is_some() { return Some($name) })*
                None
            }
        }
    };
}

data! {
    token_address: Account = "tokenAddress",
    period_amount: Amount = "periodAmount",
    period_duration: Seconds = "periodDuration",
    amount_per_second: Amount = "amountPerSecond",
    initial_amount: Amount = "initialAmount",
    max_amount: Amount = "maxAmount",
    allowance_amount: Amount = "allowanceAmount",
    start_time: Seconds = "startTime",
    erc20_approve: bool = "erc20Approve",
    erc721_approve: bool = "erc721Approve",
    erc721_set_approval_for_all: bool = "erc721SetApprovalForAll",
    permit2_approve: bool = "permit2Approve",
    permit2_lockdown: bool = "permit2Lockdown",
    permit2_invalidate_nonces: bool = "permit2InvalidateNonces",
    justification: String = "justification",
}

const TYPES: [&str; 7] = [
    "native-token-periodic",
    "erc20-token-periodic",
    "native-token-stream",
    "erc20-token-stream",
    "native-token-allowance",
    "erc20-token-allowance",
    "token-approval-revocation",
];

/// A permission, whether it may be edited, and what its asker says.
pub(crate) type Said = (Permission, bool, Option<String>);

impl WirePermission {
    pub(crate) fn read(self) -> Result<Said, FormError> {
        let Self { kind, mut data, is_adjustment_allowed } = self;
        let Some(of) = TYPES.into_iter().find(|known| *known == kind) else {
            return Err(FormError::UnknownType { name: kind });
        };
        let justification = data.justification.take().filter(|text| !text.is_empty());
        if let Some(text) = &justification {
            check_justification(text)?;
        }
        let missing = |field| FormError::Missing { of, field };
        let seconds = |seconds: Option<Seconds>| seconds.map(|Seconds(seconds)| seconds);
        let amount = |amount: Option<Amount>| amount.map(|Amount(amount)| amount);
        let asset = if of.starts_with("erc20") {
            let token = data.token_address.take().ok_or(missing("tokenAddress"))?;
            Asset::Erc20(token.0)
        } else {
            Asset::Native
        };
        let permission = if of.ends_with("-periodic") {
            Permission::Periodic(Periodic {
                asset,
                amount: amount(data.period_amount.take()).ok_or(missing("periodAmount"))?,
                duration: seconds(data.period_duration.take()).ok_or(missing("periodDuration"))?,
                start: seconds(data.start_time.take()),
            })
        } else if of.ends_with("-stream") {
            Permission::Stream(Stream {
                asset,
                per_second: amount(data.amount_per_second.take())
                    .ok_or(missing("amountPerSecond"))?,
                initial: amount(data.initial_amount.take()),
                max: amount(data.max_amount.take()),
                start: seconds(data.start_time.take()),
            })
        } else if of.ends_with("-allowance") {
            Permission::Allowance(Allowance {
                asset,
                amount: amount(data.allowance_amount.take()).ok_or(missing("allowanceAmount"))?,
                start: seconds(data.start_time.take()),
            })
        } else {
            let flag = |flag: Option<bool>, field| flag.ok_or(missing(field));
            Permission::ApprovalRevocation(ApprovalRevocation {
                erc20_approve: flag(data.erc20_approve.take(), "erc20Approve")?,
                erc721_approve: flag(data.erc721_approve.take(), "erc721Approve")?,
                erc721_set_approval_for_all: flag(
                    data.erc721_set_approval_for_all.take(),
                    "erc721SetApprovalForAll",
                )?,
                permit2_approve: flag(data.permit2_approve.take(), "permit2Approve")?,
                permit2_lockdown: flag(data.permit2_lockdown.take(), "permit2Lockdown")?,
                permit2_invalidate_nonces: flag(
                    data.permit2_invalidate_nonces.take(),
                    "permit2InvalidateNonces",
                )?,
            })
        };
        match data.left() {
            Some(field) => Err(FormError::Unexpected { of, field }),
            None => Ok((permission, is_adjustment_allowed, justification)),
        }
    }

    pub(crate) fn write(
        permission: &Permission,
        adjustable: bool,
        justification: Option<&str>,
    ) -> Result<Self, FormError> {
        if let Some(text) = justification {
            check_justification(text)?;
        }
        let token_address = match permission.asset() {
            Some(Asset::Erc20(token)) => Some(Account(token)),
            _ => None,
        };
        let bare = Data {
            token_address,
            start_time: permission.start().map(Seconds),
            // The kit leaves out an empty one.
            justification: justification.filter(|text| !text.is_empty()).map(str::to_owned),
            ..Data::default()
        };
        let data = match *permission {
            Permission::Periodic(Periodic { amount, duration, .. }) => Data {
                period_amount: Some(Amount(amount)),
                period_duration: Some(Seconds(duration)),
                ..bare
            },
            Permission::Stream(Stream { per_second, initial, max, .. }) => Data {
                amount_per_second: Some(Amount(per_second)),
                initial_amount: initial.map(Amount),
                max_amount: max.map(Amount),
                ..bare
            },
            Permission::Allowance(Allowance { amount, .. }) => {
                Data { allowance_amount: Some(Amount(amount)), ..bare }
            }
            Permission::ApprovalRevocation(kinds) => Data {
                erc20_approve: Some(kinds.erc20_approve),
                erc721_approve: Some(kinds.erc721_approve),
                erc721_set_approval_for_all: Some(kinds.erc721_set_approval_for_all),
                permit2_approve: Some(kinds.permit2_approve),
                permit2_lockdown: Some(kinds.permit2_lockdown),
                permit2_invalidate_nonces: Some(kinds.permit2_invalidate_nonces),
                ..bare
            },
        };
        let kind = permission.type_name().to_owned();
        Ok(Self { kind, data, is_adjustment_allowed: adjustable })
    }
}

fn check_justification(text: &str) -> Result<(), FormError> {
    let actual = text.encode_utf16().take(MAX_JUSTIFICATION + 1).count();
    if actual <= MAX_JUSTIFICATION {
        return Ok(());
    }
    let what = "units of justification";
    Err(FormError::TooMany { what, limit: MAX_JUSTIFICATION, actual: text.encode_utf16().count() })
}

/// A rule; in the form of 2025 it says for itself whether it may be edited.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WireRule {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    is_adjustment_allowed: Option<bool>,
    data: RuleData,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RuleData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timestamp: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    addresses: Option<Vec<Account>>,
}

/// Whether each rule says if it may be edited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edits {
    /// The permission says it for all.
    Together,
    /// Every rule says it.
    Apart,
}

/// Reads rules; `adjustable` is what the permission says about itself.
pub(crate) fn read_rules(
    rules: Vec<WireRule>,
    edits: Edits,
    adjustable: bool,
) -> Result<Rules, FormError> {
    let mut said = None;
    let mut all = Rules::default();
    for WireRule { kind, is_adjustment_allowed, data } in rules {
        let (of, taken) = match kind.as_str() {
            "expiry" => ("expiry", all.expiry.is_some()),
            "redeemer" => ("redeemer", !all.redeemers.is_empty()),
            "payee" => ("payee", !all.payees.is_empty()),
            _ => return Err(FormError::UnknownRule { name: kind }),
        };
        if taken {
            return Err(FormError::RuleTwice { name: of });
        }
        let field = "isAdjustmentAllowed";
        match (edits, is_adjustment_allowed) {
            (Edits::Together, None) => {}
            (Edits::Together, Some(_)) => return Err(FormError::Unexpected { of, field }),
            (Edits::Apart, None) => return Err(FormError::Missing { of, field }),
            (Edits::Apart, Some(now)) => {
                if said.is_some_and(|before| before != now) {
                    return Err(FormError::Contradiction { field });
                }
                said = Some(now);
            }
        }
        match (of, data) {
            ("expiry", RuleData { timestamp: Some(Seconds(at)), addresses: None }) => {
                all.expiry = Some(at);
            }
            ("expiry", RuleData { timestamp: None, .. }) => {
                return Err(FormError::Missing { of, field: "timestamp" });
            }
            ("expiry", _) => return Err(FormError::Unexpected { of, field: "addresses" }),
            (_, RuleData { timestamp: Some(_), .. }) => {
                return Err(FormError::Unexpected { of, field: "timestamp" });
            }
            (_, RuleData { addresses, .. }) => {
                let addresses = addresses.unwrap_or_default();
                check_addresses(addresses.len())?;
                if addresses.is_empty() {
                    return Err(FormError::Missing { of, field: "addresses" });
                }
                let addresses = addresses.into_iter().map(|Account(address)| address).collect();
                if of == "redeemer" { all.redeemers = addresses } else { all.payees = addresses }
            }
        }
    }
    Ok(all.adjustable(said.unwrap_or(adjustable)))
}

const fn check_addresses(actual: usize) -> Result<(), FormError> {
    if actual > MAX_ADDRESSES {
        return Err(FormError::TooMany { what: "addresses", limit: MAX_ADDRESSES, actual });
    }
    Ok(())
}

/// Writes rules, in the order of MetaMask's kit.
pub(crate) fn write_rules(
    rules: &Rules,
    edits: Edits,
    adjustable: bool,
) -> Result<Vec<WireRule>, FormError> {
    let Rules { expiry, redeemers, payees, .. } = rules;
    let bound = expiry.is_some() || !redeemers.is_empty() || !payees.is_empty();
    if (edits == Edits::Together || !bound) && rules.adjustable != adjustable {
        let form = if edits == Edits::Together { "today" } else { "2025" };
        return Err(FormError::CannotSay { form, what: "rules edited apart from the permission" });
    }
    let is_adjustment_allowed = (edits == Edits::Apart).then_some(rules.adjustable);
    let rule = |kind: &str, data| WireRule { kind: kind.to_owned(), is_adjustment_allowed, data };
    let mut all = Vec::new();
    if let Some(at) = expiry {
        let timestamp = Some(Seconds(*at));
        all.push(rule("expiry", RuleData { timestamp, ..RuleData::default() }));
    }
    for (kind, addresses) in [("redeemer", redeemers), ("payee", payees)] {
        check_addresses(addresses.len())?;
        if !addresses.is_empty() {
            let addresses = Some(addresses.iter().copied().map(Account).collect());
            all.push(rule(kind, RuleData { addresses, ..RuleData::default() }));
        }
    }
    Ok(all)
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WireDependency {
    factory: Account,
    factory_data: Hex,
}

pub(crate) fn read_dependencies(
    dependencies: Vec<WireDependency>,
) -> Result<Vec<Dependency>, FormError> {
    if dependencies.len() > super::MAX_ENTRIES {
        let actual = dependencies.len();
        let what = "dependencies";
        return Err(FormError::TooMany { what, limit: super::MAX_ENTRIES, actual });
    }
    let read = |WireDependency { factory, factory_data }| Dependency {
        factory: factory.0,
        factory_data: factory_data.0,
    };
    Ok(dependencies.into_iter().map(read).collect())
}

pub(crate) fn write_dependencies(dependencies: &[Dependency]) -> Vec<WireDependency> {
    let write = |Dependency { factory, factory_data }: &Dependency| WireDependency {
        factory: Account(*factory),
        factory_data: Hex(factory_data.clone()),
    };
    dependencies.iter().map(write).collect()
}
