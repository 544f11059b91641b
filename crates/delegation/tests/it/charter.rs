//! Charters and listings, read as the contract reads them: its tests share the file.

use crate::fixtures::read;
use alloy_primitives::{Address, B256, Bytes};
use golem_delegation::{
    TermsError,
    terms::{
        CharterMood, Class, Classes, GolemCharter, ListedTarget, ListedToken, Listing, MoodBounds,
        MortalityTimeWindow, Role,
    },
};
use serde::{Deserialize, Deserializer, de::Error as _};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vectors {
    charters: Vec<NamedCharter>,
    malformed_charters: Vec<Malformed>,
    listings: Vec<NamedListing>,
    malformed_listings: Vec<Malformed>,
    unknown_roles: Vec<UnknownRole>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedCharter {
    name: String,
    golem_id: B256,
    owner: Address,
    #[serde(deserialize_with = "number")]
    epoch: u16,
    #[serde(deserialize_with = "number")]
    generation: u32,
    #[serde(deserialize_with = "number")]
    bucket_minutes: u16,
    #[serde(deserialize_with = "number")]
    slippage_bps: u16,
    #[serde(deserialize_with = "number")]
    nav_bps: u16,
    account: Address,
    #[serde(deserialize_with = "number")]
    spend_cap: u64,
    #[serde(deserialize_with = "number")]
    staleness: u32,
    beneficiary: Address,
    #[serde(deserialize_with = "number")]
    start: u64,
    #[serde(deserialize_with = "number")]
    end: u64,
    #[serde(deserialize_with = "number")]
    flags: u16,
    agent_key: Address,
    #[serde(deserialize_with = "number")]
    nav_cap: u64,
    #[serde(deserialize_with = "number")]
    classes: u32,
    vault: Address,
    #[serde(deserialize_with = "number")]
    gas_ceiling: u64,
    #[serde(deserialize_with = "number")]
    gas_daily_cap: u64,
    registry: Address,
    settlement_asset: Address,
    #[serde(deserialize_with = "number")]
    max_royalty_bps: u16,
    #[serde(deserialize_with = "signed")]
    min_pleasure: i8,
    #[serde(deserialize_with = "signed")]
    max_arousal: i8,
    #[serde(deserialize_with = "signed")]
    min_dominance: i8,
    #[serde(deserialize_with = "number")]
    mood_classes: u32,
    listing: VectorListing,
    terms: Bytes,
}

#[derive(Debug, Deserialize)]
struct NamedListing {
    name: String,
    #[serde(flatten)]
    listing: VectorListing,
    terms: Bytes,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VectorListing {
    sequencer_feed: Address,
    #[serde(deserialize_with = "number")]
    sequencer_grace: u32,
    tokens: Vec<VectorToken>,
    targets: Vec<VectorTarget>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VectorToken {
    token: Address,
    #[serde(deserialize_with = "number")]
    role: u8,
    feed: Address,
    #[serde(deserialize_with = "number")]
    token_decimals: u8,
    #[serde(deserialize_with = "number")]
    feed_decimals: u8,
    #[serde(deserialize_with = "number")]
    max_age: u32,
}

#[derive(Debug, Deserialize)]
struct VectorTarget {
    target: Address,
    #[serde(deserialize_with = "number")]
    role: u8,
}

#[derive(Debug, Deserialize)]
struct Malformed {
    name: String,
    terms: Bytes,
    error: Malformation,
    #[serde(deserialize_with = "numbers")]
    numbers: Vec<i64>,
}

#[derive(Debug, Deserialize)]
enum Malformation {
    CharterLength,
    ListingLength,
    UnknownBits,
    InvertedWindow,
    SlippageBps,
    NavBps,
    RoyaltyBps,
    MoodBound,
    MoodClasses,
}

#[derive(Debug, Deserialize)]
struct UnknownRole {
    name: String,
    #[serde(deserialize_with = "number")]
    role: u8,
    terms: Bytes,
}

/// Numbers are decimal strings: JSON has no room for all of them.
fn number<'de, D: Deserializer<'de>, N: TryFrom<u64>>(from: D) -> Result<N, D::Error> {
    let text = String::deserialize(from)?;
    let wide: u64 = text.parse().map_err(D::Error::custom)?;
    N::try_from(wide).map_err(|_narrow| D::Error::custom(format!("{text} does not fit")))
}

fn signed<'de, D: Deserializer<'de>>(from: D) -> Result<i8, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<i64>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

impl VectorListing {
    fn listing(&self) -> Listing {
        let token = |listed: &VectorToken| ListedToken {
            token: listed.token,
            role: usize::from(listed.role).checked_sub(1).map(|index| Role::ALL[index]),
            feed: listed.feed,
            token_decimals: listed.token_decimals,
            feed_decimals: listed.feed_decimals,
            max_age: listed.max_age,
        };
        let target = |listed: &VectorTarget| ListedTarget {
            target: listed.target,
            role: Role::ALL[usize::from(listed.role) - 1],
        };
        Listing {
            sequencer_feed: self.sequencer_feed,
            sequencer_grace: self.sequencer_grace,
            tokens: self.tokens.iter().map(token).collect(),
            targets: self.targets.iter().map(target).collect(),
        }
    }
}

impl NamedCharter {
    fn charter(&self) -> GolemCharter {
        let bounds = MoodBounds {
            min_pleasure: self.min_pleasure,
            max_arousal: self.max_arousal,
            min_dominance: self.min_dominance,
        };
        let mood = CharterMood { bounds, classes: classes(self.mood_classes) };
        GolemCharter {
            golem_id: self.golem_id,
            owner: self.owner,
            epoch: self.epoch,
            generation: self.generation,
            registry: self.registry,
            account: self.account,
            beneficiary: self.beneficiary,
            agent_key: self.agent_key,
            replicants: self.flags & 1 != 0,
            classes: classes(self.classes),
            window: MortalityTimeWindow::new(self.start, self.end).unwrap(),
            spend_cap: self.spend_cap,
            bucket_minutes: self.bucket_minutes,
            slippage_bps: self.slippage_bps,
            vault: self.vault,
            nav_bps: self.nav_bps,
            nav_cap: self.nav_cap,
            staleness: self.staleness,
            gas_ceiling: self.gas_ceiling,
            gas_daily_cap: self.gas_daily_cap,
            settlement_asset: self.settlement_asset,
            max_royalty_bps: (self.flags & 2 != 0).then_some(self.max_royalty_bps),
            mood: (self.flags & 4 != 0).then_some(mood),
            listing: self.listing.listing(),
        }
    }
}

fn classes(bits: u32) -> Classes {
    let named = |class: &Class| bits >> (*class as u32) & 1 == 1;
    let classes: Vec<Class> = Class::ALL.into_iter().filter(named).collect();
    Classes::of(&classes)
}

fn vectors() -> Vectors {
    read("charter.json")
}

#[test]
fn every_charter_says_what_the_contract_reads() {
    let file = vectors();

    let (mut read, mut refused) = (0, 0);
    for vector in file.charters {
        let charter = vector.charter();
        assert_eq!(charter.classes.bits(), vector.classes, "{}", vector.name);
        // The getter reads these, and the hook then refuses whatever is done.
        if let Err(refusal) = charter.spend_window() {
            assert_eq!(charter.encode(), Err(refusal.into()), "{}", vector.name);
            assert_eq!(GolemCharter::decode(&vector.terms), Err(refusal.into()));
            refused += 1;
            continue;
        }
        assert_eq!(charter.encode().as_deref(), Ok(&vector.terms[..]), "{}", vector.name);
        assert_eq!(GolemCharter::decode(&vector.terms), Ok(charter), "{}", vector.name);
        read += 1;
    }
    assert!(read >= 60 && refused >= 2, "{read} and {refused}");
}

#[test]
fn every_listing_says_what_the_contract_reads() {
    let file = vectors();

    assert!(file.listings.len() >= 25);
    for vector in file.listings {
        let listing = vector.listing.listing();
        assert_eq!(listing.encode().as_deref(), Ok(&vector.terms[..]), "{}", vector.name);
        assert_eq!(Listing::decode(&vector.terms), Ok(listing), "{}", vector.name);
    }
}

#[test]
fn every_malformed_charter_is_refused_for_the_contracts_reason() {
    let file = vectors();

    assert!(file.malformed_charters.len() >= 45);
    for vector in file.malformed_charters {
        let refusal = GolemCharter::decode(&vector.terms).unwrap_err();
        vector.assert_reason(&refusal);
    }
}

#[test]
fn every_malformed_listing_is_refused_for_the_contracts_reason() {
    let file = vectors();

    assert!(file.malformed_listings.len() >= 20);
    for vector in file.malformed_listings {
        let refusal = Listing::decode(&vector.terms).unwrap_err();
        vector.assert_reason(&refusal);
    }
}

/// The one thing in which this crate is stricter: the contract refuses such a role when its target
/// is called.
#[test]
fn a_role_nobody_knows_is_refused_at_once() {
    let file = vectors();

    assert!(file.unknown_roles.len() >= 7);
    for vector in file.unknown_roles {
        let refusal = TermsError::UnknownRole { role: vector.role };
        assert_eq!(Listing::decode(&vector.terms), Err(refusal), "{}", vector.name);
    }
}

impl Malformed {
    fn assert_reason(&self, refusal: &TermsError) {
        let name = &self.name;
        match (&self.error, self.numbers.as_slice()) {
            (Malformation::CharterLength, [_, actual]) => {
                let TermsError::TooShort { actual: ours, .. } = refusal else {
                    panic!("{name}: {refusal}");
                };
                assert_eq!(i64::try_from(*ours), Ok(*actual), "{name}");
            }
            // Read from front to back, a list that ends too early may show as an unknown role, where
            // the contract compares lengths first.
            (Malformation::ListingLength, [expected, actual]) => match refusal {
                TermsError::TooShort { .. } => assert!(actual < expected, "{name}: {refusal}"),
                TermsError::Trailing { extra } => {
                    assert_eq!(i64::try_from(*extra), Ok(actual - expected), "{name}");
                }
                TermsError::UnknownRole { .. } => {}
                other => panic!("{name}: {other}"),
            },
            (Malformation::UnknownBits, [flags, classes]) => {
                let TermsError::UnknownBits { bits } = *refusal else {
                    panic!("{name}: {refusal}");
                };
                assert!([*flags, *classes].contains(&i64::from(bits)), "{name}");
            }
            (Malformation::InvertedWindow, [start, end]) => {
                let TermsError::InvertedWindow { start: first, end: last } = *refusal else {
                    panic!("{name}: {refusal}");
                };
                assert_eq!((i64::try_from(first), i64::try_from(last)), (Ok(*start), Ok(*end)));
            }
            (
                Malformation::SlippageBps | Malformation::NavBps | Malformation::RoyaltyBps,
                [bps],
            ) => {
                let TermsError::Bps { bps: ours } = *refusal else { panic!("{name}: {refusal}") };
                assert_eq!(i64::from(ours), *bps, "{name}");
            }
            (Malformation::MoodBound, [bound]) => {
                let TermsError::Mood { bound: ours } = *refusal else {
                    panic!("{name}: {refusal}")
                };
                assert_eq!(i64::from(ours), *bound, "{name}");
            }
            (Malformation::MoodClasses, [classes]) => match *refusal {
                TermsError::Zero { .. } => assert_eq!(*classes, 0, "{name}"),
                TermsError::UnknownBits { bits } => assert_eq!(i64::from(bits), *classes, "{name}"),
                ref other => panic!("{name}: {other}"),
            },
            (error, numbers) => panic!("{name}: {error:?} with {numbers:?}"),
        }
    }
}
