use crate::{Denial, DenialCode, Origin, Untrusted};
use alloy_primitives::{Address, U256};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Longest message that is looked at.
pub const MOST_TYPED_DATA: usize = 64 * 1024;

/// EIP-712 messages that are known, so that their refusal has a reason. None of them is ever signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ForeignKind {
    /// ERC-2612: an allowance by signature; DAI's older form as well.
    Permit,
    /// Permit2: an allowance for one token.
    PermitSingle,
    /// Permit2: allowances for several.
    PermitBatch,
    /// Permit2: one transfer.
    PermitTransferFrom,
    /// Permit2: several transfers.
    PermitBatchTransferFrom,
    /// Permit2: a transfer, or several, beside something else that is signed with it.
    PermitWitnessTransferFrom,
    /// EIP-3009: a transfer that anybody may send.
    TransferWithAuthorization,
    /// EIP-3009: a transfer that its recipient fetches.
    ReceiveWithAuthorization,
    /// EIP-3009: an authorization taken back.
    CancelAuthorization,
    /// A transaction of a Safe.
    SafeTx,
    /// ERC-7710: a grant, which is signed as a value and never as JSON.
    Delegation,
    /// ERC-4337: an operation, which is signed as a value and never as JSON.
    UserOperation,
    /// UniswapX: an order that fillers choose the price of.
    UniswapXOrder,
    /// Seaport: an order for whatever it lists.
    SeaportOrder,
    /// A typed message that nobody here knows.
    Unknown,
    /// No typed message at all.
    NotTypedData,
}

/// Names of primary types, and of types inside of others.
const KNOWN: [(&str, ForeignKind); 25] = [
    ("Permit", ForeignKind::Permit),
    ("PermitSingle", ForeignKind::PermitSingle),
    ("PermitBatch", ForeignKind::PermitBatch),
    ("PermitTransferFrom", ForeignKind::PermitTransferFrom),
    ("PermitBatchTransferFrom", ForeignKind::PermitBatchTransferFrom),
    ("PermitWitnessTransferFrom", ForeignKind::PermitWitnessTransferFrom),
    ("PermitBatchWitnessTransferFrom", ForeignKind::PermitWitnessTransferFrom),
    ("TransferWithAuthorization", ForeignKind::TransferWithAuthorization),
    ("ReceiveWithAuthorization", ForeignKind::ReceiveWithAuthorization),
    ("CancelAuthorization", ForeignKind::CancelAuthorization),
    ("SafeTx", ForeignKind::SafeTx),
    ("SafeMessage", ForeignKind::SafeTx),
    ("Delegation", ForeignKind::Delegation),
    ("PackedUserOperation", ForeignKind::UserOperation),
    ("UserOperation", ForeignKind::UserOperation),
    ("ExclusiveDutchOrder", ForeignKind::UniswapXOrder),
    ("DutchOrder", ForeignKind::UniswapXOrder),
    ("V2DutchOrder", ForeignKind::UniswapXOrder),
    ("V3DutchOrder", ForeignKind::UniswapXOrder),
    ("LimitOrder", ForeignKind::UniswapXOrder),
    ("PriorityOrder", ForeignKind::UniswapXOrder),
    ("RelayOrder", ForeignKind::UniswapXOrder),
    ("OrderInfo", ForeignKind::UniswapXOrder),
    ("OrderComponents", ForeignKind::SeaportOrder),
    ("BulkOrder", ForeignKind::SeaportOrder),
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypedData {
    types: BTreeMap<String, Value>,
    primary_type: String,
    #[serde(default)]
    domain: Map<String, Value>,
    #[serde(default)]
    message: Map<String, Value>,
}

impl ForeignKind {
    /// What a message is, by the names of its types. One that wraps another, as ERC-7739 does, is the other: an account
    /// that unwraps it would honour that.
    #[must_use]
    pub fn of(json: &[u8]) -> Self {
        read(json).map_or(Self::NotTypedData, |data| kind(&data))
    }

    /// Why nobody signs it.
    const fn reason(self) -> &'static str {
        match self {
            Self::Permit => "an ERC-2612 permit is an allowance that no rule on calls would see",
            Self::PermitSingle => {
                "a Permit2 allowance lets its spender pull a token for as long as it says"
            }
            Self::PermitBatch => "a Permit2 batch lets its spender pull several tokens",
            Self::PermitTransferFrom => "a Permit2 transfer lets its spender take a token once",
            Self::PermitBatchTransferFrom => {
                "a Permit2 batch transfer lets its spender take several tokens"
            }
            Self::PermitWitnessTransferFrom => {
                "a Permit2 witness transfer is an order, and lets its spender take what it sells"
            }
            Self::TransferWithAuthorization => {
                "an EIP-3009 authorization is a transfer that anybody may send"
            }
            Self::ReceiveWithAuthorization => {
                "an EIP-3009 authorization is a transfer that its recipient fetches"
            }
            Self::CancelAuthorization => {
                "an EIP-3009 cancellation ends a payment that somebody may count on"
            }
            Self::SafeTx => "a Safe's transaction or message speaks for another account",
            Self::Delegation => {
                "a delegation is signed as a value that was compared with its parent, never as JSON"
            }
            Self::UserOperation => {
                "a user operation is signed as a value with permitted calls, never as JSON"
            }
            Self::UniswapXOrder => {
                "a UniswapX order lets fillers choose its price, and is not supported"
            }
            Self::SeaportOrder => "a Seaport order offers whatever it lists, and is not supported",
            Self::Unknown => "a message of a type that nobody here knows",
            Self::NotTypedData => "no typed message",
        }
    }
}

/// Refuses whatever arrives as EIP-712 JSON, with its own reason and the numbers that it has. There is no message that passes:
/// what may be signed is a [`Signable`](super::Signable).
///
/// ```
/// use golem_safety::{DenialCode, refuse_typed_data};
/// let denial = refuse_typed_data(br#"{
///     "types": {"Permit": []}, "primaryType": "Permit",
///     "domain": {"verifyingContract": "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"},
///     "message": {"spender": "0x0000000000000000000000000000000000bad001", "value": "1000000"}
/// }"#);
/// assert_eq!(denial.code, DenialCode::PolicySignature);
/// assert!(denial.reason.contains("ERC-2612") && denial.reason.contains("value 1000000"));
/// ```
#[must_use]
pub fn refuse_typed_data(json: &[u8]) -> Denial {
    let deny = |reason: String| Denial::new(DenialCode::PolicySignature, reason);
    let Some(data) = read(json) else {
        let length = json.len();
        return deny(format!("{} in {length} bytes", ForeignKind::NotTypedData.reason()));
    };
    let kind = kind(&data);
    let mut reason = kind.reason().to_owned();
    if kind == ForeignKind::Unknown {
        let name = Untrusted::new(data.primary_type.as_str(), Origin::TypedData);
        reason = format!("{reason}, {}", name.for_people());
    }
    if let Some(contract) = address(data.domain.get("verifyingContract")) {
        reason = format!("{reason}; contract {contract}");
    }
    // Only what is an address or a number is repeated: the rest is somebody else's text.
    for name in ["spender", "to", "from", "delegate"] {
        if let Some(party) = address(data.message.get(name)) {
            reason = format!("{reason}, {name} {party}");
        }
    }
    for name in ["value", "amount", "validBefore", "deadline", "sigDeadline"] {
        if let Some(number) = number(data.message.get(name)) {
            reason = format!("{reason}, {name} {number}");
        }
    }
    deny(reason)
}

fn read(json: &[u8]) -> Option<TypedData> {
    if json.len() > MOST_TYPED_DATA {
        return None;
    }
    serde_json::from_slice(json).ok()
}

fn kind(data: &TypedData) -> ForeignKind {
    let known =
        |name: &str| KNOWN.iter().find_map(|(known, kind)| (*known == name).then_some(*kind));
    known(&data.primary_type)
        .or_else(|| data.types.keys().find_map(|name| known(name)))
        .unwrap_or(ForeignKind::Unknown)
}

fn address(value: Option<&Value>) -> Option<Address> {
    value?.as_str()?.parse().ok()
}

fn number(value: Option<&Value>) -> Option<U256> {
    match value? {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_u64().map(U256::from),
        _ => None,
    }
}
