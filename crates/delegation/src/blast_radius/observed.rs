use super::{decimal, object::Object};
use alloy_primitives::{Address, B256, U256};
use serde::{Deserialize, Deserializer, de::Error as _};
use std::{collections::BTreeMap, fmt};

/// What the caller read from the chain. Whatever is missing is taken at its worst.
///
/// There is no place for phase, dreams or feelings: the stolen key writes those (SPEC D10).
///
/// As JSON, with every number a decimal string:
///
/// ```
/// # use golem_delegation::blast_radius::Observed;
/// let facts: Observed = serde_json::from_str(r#"{
///   "disabled": [],
///   "charters": [{
///     "delegator": "0x1111111111111111111111111111111111111111",
///     "golemId": "0x2222222222222222222222222222222222222222222222222222222222222222",
///     "spendWindow": "0", "gasWindow": "0", "settlement": "0", "minEpoch": "0", "generation": "0"
///   }],
///   "golems": [{
///     "registry": "0x5555555555555555555555555555555555555555",
///     "golemId": "0x2222222222222222222222222222222222222222222222222222222222222222",
///     "registered": true, "closed": false
///   }],
///   "counters": [],
///   "vaults": [{
///     "vault": "0x4444444444444444444444444444444444444444",
///     "asset": "0x3333333333333333333333333333333333333333"
///   }],
///   "tokens": [{
///     "token": "0x3333333333333333333333333333333333333333",
///     "decimals": "6", "price": { "answer": "100000000", "decimals": "8" },
///     "balance": "10000000000", "inVaults": "0", "inPositions": "0", "keyBalance": "0"
///   }]
/// }"#)?;
/// assert_eq!(facts.tokens.len(), 1);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Hashes of links that their delegator has disabled.
    pub disabled: Vec<B256>,
    /// Charters, by the link's delegator and the Golem.
    pub charters: BTreeMap<(Address, B256), CharterFacts>,
    /// Golems whose life a rule asks for, by the registry and the Golem.
    pub golems: BTreeMap<(Address, B256), GolemFacts>,
    /// What enforcers have counted, by the link's hash and the enforcer: calls, base units that were sent, for an
    /// allowance by period those of the present one, for a life's budget micro-dollars, for a nonce the account's, for ids that
    /// count once how many are used, for a bound of blocks the block's number.
    pub counters: BTreeMap<(B256, Address), U256>,
    /// What each vault that a charter lists is made of, by its `asset()`.
    pub vaults: BTreeMap<Address, Address>,
    /// What is held; the zero address is the chain's own coin.
    pub tokens: BTreeMap<Address, TokenFacts>,
}

/// What the chain keeps of one charter.
///
/// ```
/// use golem_delegation::blast_radius::{CharterFacts, Observed};
/// # use alloy_primitives::{Address, B256};
/// let (delegator, golem) = (Address::repeat_byte(1), B256::repeat_byte(7));
/// let facts = CharterFacts { min_epoch: Some(2), generation: Some(0), ..CharterFacts::default() };
/// let observed = Observed { charters: [((delegator, golem), facts)].into(), ..Observed::default() };
/// // What nobody said is unknown, and not nothing.
/// assert_eq!(observed.charters[&(delegator, golem)].spend_window, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CharterFacts {
    /// `spendWindowOf(manager, delegator, golemId)`.
    pub spend_window: Option<U256>,
    /// `gasWindowOf(manager, delegator, golemId)`.
    pub gas_window: Option<U256>,
    /// `settlementOf(manager, delegator, golemId)`.
    pub settlement: Option<U256>,
    /// The registry's lowest epoch that counts.
    pub min_epoch: Option<u16>,
    /// How often the owner has revoked everything, by the registry.
    pub generation: Option<u32>,
}

/// What a registry says of a Golem's life. Both ends are for ever; one that was never registered may yet be.
///
/// ```
/// use golem_delegation::blast_radius::{GolemFacts, Observed};
/// # use alloy_primitives::{Address, B256};
/// let (registry, golem) = (Address::repeat_byte(1), B256::repeat_byte(7));
/// let dead = GolemFacts { registered: true, closed: true };
/// let observed = Observed { golems: [((registry, golem), dead)].into(), ..Observed::default() };
/// assert!(observed.golems[&(registry, golem)].closed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GolemFacts {
    /// On the register.
    pub registered: bool,
    /// Dead; one that was taken off the register is dead as well.
    pub closed: bool,
}

/// What a feed says.
///
/// ```
/// use golem_delegation::blast_radius::Price;
/// # use alloy_primitives::U256;
/// let dollar: Price = serde_json::from_str(r#"{ "answer": "100000000", "decimals": "8" }"#)?;
/// assert_eq!(dollar, Price { answer: U256::from(100_000_000), decimals: 8 });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Price {
    /// Dollars, in units of the feed.
    #[serde(deserialize_with = "decimal::u256")]
    pub answer: U256,
    /// Decimals of the feed.
    #[serde(deserialize_with = "decimal::u8")]
    pub decimals: u8,
}

/// What there is of one token.
///
/// ```
/// use golem_delegation::blast_radius::{Observed, TokenFacts};
/// # use alloy_primitives::{Address, U256};
/// let held = TokenFacts { decimals: Some(6), balance: Some(U256::from(5)), ..TokenFacts::default() };
/// let observed = Observed { tokens: [(Address::repeat_byte(3), held)].into(), ..Observed::default() };
/// assert_eq!(observed.tokens[&Address::repeat_byte(3)].price, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenFacts {
    /// Its decimals; a charter that lists it knows better.
    pub decimals: Option<u8>,
    /// By the feed that the charter lists.
    pub price: Option<Price>,
    /// Of the account.
    pub balance: Option<U256>,
    /// What the account's shares of listed vaults are worth in it, by the vaults' books.
    pub in_vaults: Option<U256>,
    /// What the account's liquidity positions hold of it.
    pub in_positions: Option<U256>,
    /// What all listed spenders together may still pull of it.
    pub allowance: Option<U256>,
    /// Of the key itself; of coins, with what it has at the entry point.
    pub key_balance: Option<U256>,
}

impl<'de> Deserialize<'de> for Observed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object(entries) = Object::<Entries>::deserialize(deserializer)?;
        let Entries { disabled, charters, golems, counters, vaults, tokens } = entries;
        Ok(Self { disabled, charters, golems, counters, vaults, tokens })
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Entries {
    disabled: Vec<B256>,
    #[serde(deserialize_with = "charters")]
    charters: BTreeMap<(Address, B256), CharterFacts>,
    #[serde(deserialize_with = "golems")]
    golems: BTreeMap<(Address, B256), GolemFacts>,
    #[serde(deserialize_with = "counters")]
    counters: BTreeMap<(B256, Address), U256>,
    #[serde(deserialize_with = "vaults")]
    vaults: BTreeMap<Address, Address>,
    #[serde(deserialize_with = "tokens")]
    tokens: BTreeMap<Address, TokenFacts>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CharterEntry {
    delegator: Address,
    golem_id: B256,
    #[serde(default, deserialize_with = "decimal::some_u256")]
    spend_window: Option<U256>,
    #[serde(default, deserialize_with = "decimal::some_u256")]
    gas_window: Option<U256>,
    #[serde(default, deserialize_with = "decimal::some_u256")]
    settlement: Option<U256>,
    #[serde(default, deserialize_with = "decimal::some_u16")]
    min_epoch: Option<u16>,
    #[serde(default, deserialize_with = "decimal::some_u32")]
    generation: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GolemEntry {
    registry: Address,
    golem_id: B256,
    registered: bool,
    closed: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CounterEntry {
    delegation: B256,
    enforcer: Address,
    #[serde(deserialize_with = "decimal::u256")]
    count: U256,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct VaultEntry {
    vault: Address,
    asset: Address,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TokenEntry {
    token: Address,
    #[serde(default, deserialize_with = "decimal::some_u8")]
    decimals: Option<u8>,
    #[serde(default)]
    price: Option<Object<Price>>,
    #[serde(default, deserialize_with = "decimal::some_u256")]
    balance: Option<U256>,
    #[serde(default, deserialize_with = "decimal::some_u256")]
    in_vaults: Option<U256>,
    #[serde(default, deserialize_with = "decimal::some_u256")]
    in_positions: Option<U256>,
    #[serde(default, deserialize_with = "decimal::some_u256")]
    allowance: Option<U256>,
    #[serde(default, deserialize_with = "decimal::some_u256")]
    key_balance: Option<U256>,
}

fn charters<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<(Address, B256), CharterFacts>, D::Error> {
    let entries = Vec::<Object<CharterEntry>>::deserialize(deserializer)?;
    once(entries.into_iter().map(|Object(entry)| {
        let CharterEntry { spend_window, gas_window, settlement, min_epoch, generation, .. } =
            entry;
        let facts = CharterFacts { spend_window, gas_window, settlement, min_epoch, generation };
        ((entry.delegator, entry.golem_id), facts)
    }))
    .map_err(D::Error::custom)
}

fn golems<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<(Address, B256), GolemFacts>, D::Error> {
    let entries = Vec::<Object<GolemEntry>>::deserialize(deserializer)?;
    once(entries.into_iter().map(|Object(entry)| {
        let GolemEntry { registry, golem_id, registered, closed } = entry;
        ((registry, golem_id), GolemFacts { registered, closed })
    }))
    .map_err(D::Error::custom)
}

fn counters<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<(B256, Address), U256>, D::Error> {
    let entries = Vec::<Object<CounterEntry>>::deserialize(deserializer)?;
    once(entries.into_iter().map(|Object(entry)| ((entry.delegation, entry.enforcer), entry.count)))
        .map_err(D::Error::custom)
}

fn vaults<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<Address, Address>, D::Error> {
    let entries = Vec::<Object<VaultEntry>>::deserialize(deserializer)?;
    once(entries.into_iter().map(|Object(entry)| (entry.vault, entry.asset)))
        .map_err(D::Error::custom)
}

fn tokens<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<Address, TokenFacts>, D::Error> {
    let entries = Vec::<Object<TokenEntry>>::deserialize(deserializer)?;
    once(entries.into_iter().map(|Object(entry)| {
        let TokenEntry { token, decimals, price, balance, .. } = entry;
        let TokenEntry { in_vaults, in_positions, allowance, key_balance, .. } = entry;
        let facts = TokenFacts {
            decimals,
            price: price.map(|Object(price)| price),
            balance,
            in_vaults,
            in_positions,
            allowance,
            key_balance,
        };
        (token, facts)
    }))
    .map_err(D::Error::custom)
}

/// Of two facts about one thing, neither is one.
fn once<K: Ord + fmt::Debug, V>(
    entries: impl Iterator<Item = (K, V)>,
) -> Result<BTreeMap<K, V>, String> {
    let mut found = BTreeMap::new();
    for (key, value) in entries {
        let said = format!("{key:?} stands here twice");
        if found.insert(key, value).is_some() {
            return Err(said);
        }
    }
    Ok(found)
}
