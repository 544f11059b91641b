use crate::abi;
use alloy_primitives::{Address, B256, Bytes, Keccak256, U256, address, keccak256};
use alloy_sol_types::SolValue;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};
use std::{fmt, marker::PhantomData, str::FromStr, sync::LazyLock};

/// Authority of a delegation that starts at its delegator: 32 bytes of `ff`.
///
/// ```
/// use golem_delegation::{Delegation, ROOT_AUTHORITY};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let [delegate, delegator] = [1, 2].map(Address::repeat_byte);
/// # let grant = Delegation { delegate, delegator, authority: ROOT_AUTHORITY, caveats: vec![],
/// #     salt: U256::ZERO, signature: Bytes::new() };
/// let child = Delegation { authority: grant.hash().0, ..grant.clone() };
/// assert_eq!(ROOT_AUTHORITY.0, [0xff; 32]);
/// assert!(grant.is_root() && !child.is_root());
/// ```
pub const ROOT_AUTHORITY: B256 = B256::repeat_byte(0xff);

/// The framework's name for "whoever redeems".
///
/// A delegation to it is redeemable by every account that learns its bytes.
///
/// ```
/// use golem_delegation::{ANY_DELEGATE, ContextError, PermissionContext, ROOT_AUTHORITY};
/// # use golem_delegation::Delegation;
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let link = |from: u8, to: Address, authority| Delegation {
/// #     delegate: to, delegator: Address::repeat_byte(from), authority,
/// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
/// # let [named, somebody] = [2, 4].map(Address::repeat_byte);
/// // Account 3 hands on what was lent to another, and what was lent to anyone.
/// let [to_one, to_any] = [named, ANY_DELEGATE].map(|delegate| {
///     let root = link(1, delegate, ROOT_AUTHORITY);
///     PermissionContext::new(vec![link(3, somebody, root.hash().0), root])
/// });
/// assert_eq!(to_one, Err(ContextError::BrokenDelegator { link: 0 }));
/// assert!(to_any.is_ok());
/// ```
pub const ANY_DELEGATE: Address = address!("0000000000000000000000000000000000000a11");

const CAVEAT_TYPE: &str = "Caveat(address enforcer,bytes terms)";
const DELEGATION_TYPE: &str = "Delegation(address delegate,address delegator,bytes32 authority,Caveat[] caveats,uint256 salt)Caveat(address enforcer,bytes terms)";

static CAVEAT_TYPE_HASH: LazyLock<B256> = LazyLock::new(|| keccak256(CAVEAT_TYPE));
static DELEGATION_TYPE_HASH: LazyLock<B256> = LazyLock::new(|| keccak256(DELEGATION_TYPE));

/// Identity of a delegation: its EIP-712 struct hash, the same on every chain.
///
/// ```
/// use golem_delegation::{Delegation, DelegationHash, ROOT_AUTHORITY};
/// # use alloy_primitives::{Address, Bytes, U256};
/// let grant = Delegation {
///     delegate: Address::repeat_byte(1),
///     delegator: Address::repeat_byte(2),
///     authority: ROOT_AUTHORITY,
///     caveats: vec![],
///     salt: U256::ZERO,
///     signature: Bytes::new(),
/// };
/// let hash: DelegationHash = grant.hash();
/// assert!(hash.to_string().starts_with("0x"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DelegationHash(pub B256);

impl fmt::Display for DelegationHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for DelegationHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// One condition of a delegation: the contract that judges it and the bytes it judges by.
///
/// `args` belong to whoever redeems: they are neither hashed nor signed, so no rule may rely on
/// them (ATK-03).
///
/// ```
/// use golem_delegation::{Caveat, Delegation, ROOT_AUTHORITY};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let [delegate, delegator] = [1, 2].map(Address::repeat_byte);
/// # let grant = Delegation { delegate, delegator, authority: ROOT_AUTHORITY, caveats: vec![],
/// #     salt: U256::ZERO, signature: Bytes::new() };
/// let caveat = Caveat::new(Address::repeat_byte(7), vec![1]);
/// let hash = |caveat: Caveat| Delegation { caveats: vec![caveat], ..grant.clone() }.hash();
///
/// // Whoever redeems may add `args`; other terms make another grant.
/// let [args, terms] = [vec![2], vec![2]].map(Bytes::from);
/// assert_eq!(hash(Caveat { args, ..caveat.clone() }), hash(caveat.clone()));
/// assert_ne!(hash(Caveat { terms, ..caveat.clone() }), hash(caveat));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Caveat {
    /// Contract called before and after the execution.
    pub enforcer: Address,
    /// What the delegator signed.
    pub terms: Bytes,
    /// What the redeemer adds.
    pub args: Bytes,
}

impl Caveat {
    /// A caveat with empty `args`.
    ///
    /// ```
    /// use golem_delegation::{Caveat, terms::MortalityTimeWindow};
    /// # use alloy_primitives::Address;
    /// let window = MortalityTimeWindow::new(1_800_000_000, 1_800_600_000)?;
    /// let caveat = Caveat::new(Address::repeat_byte(7), window.encode());
    /// assert_eq!(caveat.terms.len(), MortalityTimeWindow::LEN);
    /// # Ok::<(), golem_delegation::TermsError>(())
    /// ```
    #[must_use]
    pub fn new(enforcer: Address, terms: impl Into<Bytes>) -> Self {
        Self { enforcer, terms: terms.into(), args: Bytes::new() }
    }

    fn struct_hash(&self) -> B256 {
        let mut hasher = Keccak256::new();
        hasher.update(*CAVEAT_TYPE_HASH);
        hasher.update(self.enforcer.into_word());
        hasher.update(keccak256(&self.terms));
        hasher.finalize()
    }
}

/// A signed, caveated grant from `delegator` to `delegate` (ERC-7710).
///
/// The JSON form is the one MetaMask's kit writes.
///
/// ```
/// use golem_delegation::Delegation;
/// let grant: Delegation = serde_json::from_str(r#"{
///     "delegate": "0x0101010101010101010101010101010101010101",
///     "delegator": "0x0202020202020202020202020202020202020202",
///     "authority": "0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
///     "caveats": [],
///     "salt": "0x0",
///     "signature": "0x"
/// }"#)?;
/// assert!(grant.is_root());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Delegation {
    /// Who may redeem.
    pub delegate: Address,
    /// Whose authority is lent.
    pub delegator: Address,
    /// Hash of the parent delegation, or [`ROOT_AUTHORITY`].
    pub authority: B256,
    /// Every one of them must agree.
    pub caveats: Vec<Caveat>,
    /// Makes two otherwise equal grants differ.
    pub salt: U256,
    /// Not part of the hash.
    pub signature: Bytes,
}

/// The largest integer that every reader of JSON keeps exactly.
const SAFE: u64 = (1 << 53) - 1;

/// Text that begins with `0x`, and then whatever the type reads. Its own reader also takes bare digits and lists of
/// numbers, which the kit does not write.
fn hex<'de, T: FromStr<Err: fmt::Display>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    if !text.starts_with("0x") {
        return Err(D::Error::custom("expected hex that begins with 0x"));
    }
    text.parse().map_err(D::Error::custom)
}

/// Fields have names: a list of values in some order is no delegation.
struct Named<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Named<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with named fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

macro_rules! named {
    ($type:ident as $fields:ident) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map(Named::<$fields>(PhantomData)).map(Into::into)
            }
        }
    };
}

named!(Caveat as CaveatFields);
named!(Delegation as DelegationFields);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaveatFields {
    #[serde(deserialize_with = "hex")]
    enforcer: Address,
    #[serde(deserialize_with = "hex")]
    terms: Bytes,
    #[serde(default, deserialize_with = "hex")]
    args: Bytes,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DelegationFields {
    #[serde(deserialize_with = "hex")]
    delegate: Address,
    #[serde(deserialize_with = "hex")]
    delegator: Address,
    #[serde(deserialize_with = "hex")]
    authority: B256,
    caveats: Vec<Caveat>,
    #[serde(deserialize_with = "salt")]
    salt: U256,
    #[serde(default, deserialize_with = "hex")]
    signature: Bytes,
}

impl From<CaveatFields> for Caveat {
    fn from(fields: CaveatFields) -> Self {
        let CaveatFields { enforcer, terms, args } = fields;
        Self { enforcer, terms, args }
    }
}

impl From<DelegationFields> for Delegation {
    fn from(fields: DelegationFields) -> Self {
        let DelegationFields { delegate, delegator, authority, caveats, salt, signature } = fields;
        Self { delegate, delegator, authority, caveats, salt, signature }
    }
}

/// Hex with `0x`, as the kit writes it (its empty hex is 0), decimal digits, or a JSON integer.
///
/// Stricter than the integer's own reader, which takes `_` for a digit: two readers must not see
/// two numbers.
fn salt<'de, D: Deserializer<'de>>(deserializer: D) -> Result<U256, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Number(u64),
    }
    let text = match Form::deserialize(deserializer) {
        // Beyond 2^53 another reader of the same JSON sees another number.
        Ok(Form::Number(number)) if number > SAFE => {
            return Err(D::Error::custom("salt is a number beyond 2^53 - 1: write it as text"));
        }
        Ok(Form::Number(number)) => return Ok(U256::from(number)),
        Ok(Form::Text(text)) => text,
        Err(_) => return Err(D::Error::custom("salt is neither text nor an exact integer")),
    };
    let (digits, radix) = match text.strip_prefix("0x") {
        Some("") => return Ok(U256::ZERO),
        Some(hex) => (hex, 16),
        None => (text.as_str(), 10),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(D::Error::custom("salt is neither hex with 0x nor decimal"));
    }
    // Leading zeros make no number, but a field of 33 bytes is none that another reader takes.
    if digits.len() > if radix == 16 { 64 } else { 78 } {
        return Err(D::Error::custom("salt is longer than 32 bytes"));
    }
    U256::from_str_radix(digits, radix.into()).map_err(D::Error::custom)
}

impl Delegation {
    /// Whether the grant starts at its delegator, not at another delegation.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.authority == ROOT_AUTHORITY
    }

    /// The EIP-712 struct hash: without domain, signature and `args`.
    #[must_use]
    pub fn hash(&self) -> DelegationHash {
        let mut caveats = Keccak256::new();
        for caveat in &self.caveats {
            caveats.update(caveat.struct_hash());
        }
        let mut hasher = Keccak256::new();
        hasher.update(*DELEGATION_TYPE_HASH);
        hasher.update(self.delegate.into_word());
        hasher.update(self.delegator.into_word());
        hasher.update(self.authority);
        hasher.update(caveats.finalize());
        hasher.update(self.salt.to_be_bytes::<32>());
        DelegationHash(hasher.finalize())
    }

    /// `abi.encode(delegation)`: what the manager's functions on one delegation take.
    ///
    /// ```
    /// # use golem_delegation::{Delegation, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let grant = Delegation { delegate: Address::ZERO, delegator: Address::ZERO,
    /// #     authority: ROOT_AUTHORITY, caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// assert_eq!(grant.encode().len() % 32, 0);
    /// ```
    #[must_use]
    pub fn encode(&self) -> Bytes {
        abi::Delegation::from(self).abi_encode().into()
    }

    /// The same grant carrying `signature`.
    ///
    /// ```
    /// use golem_delegation::{Delegation, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let [delegate, delegator] = [1, 2].map(Address::repeat_byte);
    /// # let grant = Delegation { delegate, delegator, authority: ROOT_AUTHORITY, caveats: vec![],
    /// #     salt: U256::ZERO, signature: Bytes::new() };
    /// let signed = grant.clone().signed(vec![1; 65]);
    /// assert_eq!(signed.signature.len(), 65);
    /// // The signature is no part of what it signs.
    /// assert_eq!(signed.hash(), grant.hash());
    /// ```
    #[must_use]
    pub fn signed(mut self, signature: impl Into<Bytes>) -> Self {
        self.signature = signature.into();
        self
    }
}
