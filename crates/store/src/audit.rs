//! The audit chain as values: what is hashed, and how damage is found. No disk here.

use alloy_primitives::{Address, B256, Bytes, Keccak256, Signature};
use golem_custody::AuditHead;
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, HashSet},
    fmt,
};

/// Keeps these hashes apart from all others that anybody signs or anchors.
const TAG: &[u8] = b"bardo audit record, version 1\n";

/// One record. Its hash holds the hash of the one before, and so all before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whose chain.
    pub golem: B256,
    /// Its number, from one.
    pub sequence: u64,
    /// The second in which it was written, as its writer says.
    pub at: u64,
    /// What kind of thing happened.
    pub kind: String,
    /// What happened, as canonical JSON.
    pub body: String,
    /// Hash of the record before; zero for the first.
    pub previous: B256,
    /// Its own.
    pub hash: B256,
}

impl Record {
    /// What its hash should be.
    ///
    /// `keccak256(tag ‖ previous ‖ golem ‖ sequence ‖ at ‖ length of kind ‖ kind ‖ length of body ‖ body)`, numbers as eight bytes
    /// with the highest first. The tag is `"bardo audit record, version 1\n"`.
    #[must_use]
    pub fn computed_hash(&self) -> B256 {
        let mut hasher = Keccak256::new();
        hasher.update(TAG);
        hasher.update(self.previous);
        hasher.update(self.golem);
        hasher.update(self.sequence.to_be_bytes());
        hasher.update(self.at.to_be_bytes());
        for text in [&self.kind, &self.body] {
            // A text in memory is shorter than 2^64.
            hasher.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
            hasher.update(text);
        }
        hasher.finalize()
    }

    /// The record that follows `head`, with its hash.
    #[must_use]
    pub fn after(head: &AuditHead, at: u64, kind: impl Into<String>, body: String) -> Self {
        let mut record = Self {
            golem: head.golem,
            sequence: head.length.saturating_add(1),
            at,
            kind: kind.into(),
            body,
            previous: head.hash,
            hash: B256::ZERO,
        };
        record.hash = record.computed_hash();
        record
    }

    /// The chain's head, where this is the newest record.
    #[must_use]
    pub const fn head(&self) -> AuditHead {
        AuditHead { golem: self.golem, length: self.sequence, hash: self.hash }
    }
}

/// A signature of what was the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Seal {
    /// The head.
    pub head: AuditHead,
    /// Whose signature.
    pub by: Address,
    /// The signature, over [`AuditHead::digest`].
    pub seal: Bytes,
}

impl Seal {
    /// Whether the key that it names made it.
    #[must_use]
    pub fn is_genuine(&self) -> bool {
        signed_by(&self.head.digest(), &self.seal) == Some(self.by)
    }
}

/// Who signed; nobody where the bytes are no signature of 65 bytes in its one form.
pub(crate) fn signed_by(digest: &B256, signature: &[u8]) -> Option<Address> {
    let signature = (signature.len() == 65).then(|| Signature::from_raw(signature).ok())??;
    // With a high s the same signature would have a second form.
    if signature.normalize_s().is_some() {
        return None;
    }
    signature.recover_address_from_prehash(digest).ok()
}

/// A head that is on chain: the registry's event `HeartbeatRecorded(golemId, auditHead)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Anchor {
    /// The head's hash.
    pub hash: B256,
    /// The block that has it.
    pub block: u64,
}

/// What was done to a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum DamageKind {
    /// A record says something else than it did.
    Changed,
    /// A record is gone from between others.
    Removed,
    /// A record is there that was not, or is there twice.
    Inserted,
    /// Records change places.
    Reordered,
    /// The newest records are gone.
    Cut,
    /// Records were written anew, and all after them.
    Rewritten,
    /// A head that is on chain is not in the chain: its newest records were cut off or written anew.
    Missing,
    /// A record or seal of another Golem.
    Foreign,
    /// A seal that its key did not make.
    Forged,
}

/// Where a chain stops being what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Damage {
    /// The first number that cannot be vouched for. What is below is whole.
    pub sequence: u64,
    /// What was done.
    pub kind: DamageKind,
    /// In words.
    pub reason: String,
}

impl Damage {
    fn new(sequence: u64, kind: DamageKind, reason: impl Into<String>) -> Self {
        Self { sequence, kind, reason: reason.into() }
    }
}

/// The furthest seal that agrees with a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sealed {
    /// The record that it is of.
    pub sequence: u64,
    /// Whose it is. A seal is worth what its key is: whoever has it can seal another chain.
    pub by: Address,
}

/// The furthest record that is on chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Anchored {
    /// The record.
    pub sequence: u64,
    /// The block.
    pub block: u64,
}

/// What is known of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[must_use]
pub struct Verification {
    /// Whose chain; nobody's where it is empty.
    pub golem: Option<B256>,
    /// How many records there are.
    pub length: u64,
    /// Hash of the last one.
    pub head: B256,
    /// Where it is damaged, if it is.
    pub damage: Option<Damage>,
    /// The furthest seal that agrees.
    pub sealed: Option<Sealed>,
    /// The furthest anchor that agrees.
    pub anchored: Option<Anchored>,
    /// How many records are newer than that: of these only their own hashes speak.
    pub unanchored: u64,
}

impl Verification {
    /// Whether no damage was found.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.damage.is_none()
    }
}

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.damage {
            Some(damage) => {
                write!(f, "damaged at record {}: {}", damage.sequence, damage.reason)?;
            }
            None => write!(f, "whole: {} records, head {}", self.length, self.head)?,
        }
        match self.sealed {
            Some(Sealed { sequence, by }) => write!(f, "\nsealed up to record {sequence} by {by}")?,
            None => f.write_str("\nno seal")?,
        }
        match self.anchored {
            Some(Anchored { sequence, block }) => write!(
                f,
                "\non chain up to record {sequence}, in block {block}; {} records are newer",
                self.unanchored
            ),
            None => f.write_str(
                "\nno anchor: whoever can write the file could have written all of it anew",
            ),
        }
    }
}

/// Holds a chain against itself, against its seals, and against what is on chain.
///
/// The chain alone shows a record that was changed, removed, inserted or moved. That its end was cut off is only seen by a seal or
/// an anchor; that all of it was written anew by the holder of its key, by an anchor alone (ATK-47).
pub fn verify(records: &[Record], seals: &[Seal], anchors: &[Anchor]) -> Verification {
    let damage = walk(records).err();
    let sound = match &damage {
        Some(damage) => records.iter().take_while(|r| r.sequence < damage.sequence).count(),
        None => records.len(),
    };
    let sound = records.get(..sound).unwrap_or_default();
    let length = count(records.len());
    let (sealed, unsealed) = hold_seals(sound, seals, records.first().map(|first| first.golem));
    let (anchored, missing) = hold_anchors(sound, seals, anchors);
    // Against a chain that is broken by itself, what it lacks says nothing new.
    let damage = damage.or_else(|| match (unsealed, missing) {
        (Some(one), Some(other)) if other.sequence < one.sequence => Some(other),
        (one, other) => one.or(other),
    });
    Verification {
        golem: records.first().map(|first| first.golem),
        length,
        head: records.last().map_or(B256::ZERO, |last| last.hash),
        damage,
        sealed,
        anchored,
        unanchored: length.saturating_sub(anchored.map_or(0, |anchored| anchored.sequence)),
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// The chain by itself.
fn walk(records: &[Record]) -> Result<(), Damage> {
    use DamageKind::{Changed, Foreign, Inserted, Removed, Reordered};
    let mut head = AuditHead {
        golem: records.first().map_or(B256::ZERO, |first| first.golem),
        length: 0,
        hash: B256::ZERO,
    };
    let mut rest = records.iter();
    while let Some(record) = rest.next() {
        let expected = head.length.saturating_add(1);
        let number = record.sequence;
        if record.hash != record.computed_hash() {
            return Err(Damage::new(expected, Changed, "it does not have the hash that it says"));
        }
        if record.golem != head.golem {
            let whose = record.golem;
            return Err(Damage::new(expected, Foreign, format!("it is of another Golem, {whose}")));
        }
        if number < expected {
            let twin = records.iter().find(|twin| twin.sequence == number);
            let same = twin.is_none_or(|twin| twin.hash == record.hash);
            // Of two records with one number nobody here knows which was there first.
            let at = if same { expected } else { number };
            return Err(Damage::new(at, Inserted, format!("a second record {number} is there")));
        }
        if number > expected {
            let later: HashSet<u64> = rest.map(|later| later.sequence).collect();
            return Err(match (later.contains(&expected), later.contains(&number)) {
                (false, _) => Damage::new(
                    expected,
                    Removed,
                    format!("in its place is record {number}; it is nowhere"),
                ),
                (true, false) => Damage::new(
                    expected,
                    Reordered,
                    format!("in its place is record {number}; it comes later"),
                ),
                (true, true) => Damage::new(
                    expected,
                    Inserted,
                    format!("before it is record {number}, which comes again later"),
                ),
            });
        }
        if record.previous != head.hash {
            let reason = format!("record {number} follows another one");
            return Err(Damage::new(head.length.max(1), Changed, reason));
        }
        head = record.head();
    }
    Ok(())
}

fn hold_seals(
    records: &[Record],
    seals: &[Seal],
    golem: Option<B256>,
) -> (Option<Sealed>, Option<Damage>) {
    let mut seals: Vec<&Seal> = seals.iter().collect();
    seals.sort_by_key(|seal| seal.head.length);
    let mut furthest: Option<Sealed> = None;
    for seal in seals {
        let Seal { head: AuditHead { golem: of, length, hash }, by, .. } = *seal;
        let vouched = furthest.map_or(0, |sealed| sealed.sequence);
        let damage = |sequence, kind, reason| (furthest, Some(Damage::new(sequence, kind, reason)));
        if !seal.is_genuine() {
            let reason = format!("the seal of record {length} was not made by {by}");
            return damage(vouched.saturating_add(1), DamageKind::Forged, reason);
        }
        if golem.is_some_and(|golem| golem != of) {
            let reason = format!("the seal of record {length} is of another Golem, {of}");
            return damage(vouched.saturating_add(1), DamageKind::Foreign, reason);
        }
        let here = match length.checked_sub(1) {
            None => Some(B256::ZERO),
            Some(index) => usize::try_from(index)
                .ok()
                .and_then(|index| records.get(index))
                .map(|record| record.hash),
        };
        match here {
            Some(here) if here == hash => furthest = Some(Sealed { sequence: length, by }),
            Some(_) => {
                let reason = format!("the seal of record {length} by {by} is of another record");
                return damage(vouched.saturating_add(1), DamageKind::Rewritten, reason);
            }
            None => {
                let reason = format!("{by} sealed record {length}, and it is not there");
                return damage(count(records.len()).saturating_add(1), DamageKind::Cut, reason);
            }
        }
    }
    (furthest, None)
}

fn hold_anchors(
    records: &[Record],
    seals: &[Seal],
    anchors: &[Anchor],
) -> (Option<Anchored>, Option<Damage>) {
    let numbers: HashMap<B256, u64> = records.iter().map(|r| (r.hash, r.sequence)).collect();
    let mut anchors: Vec<&Anchor> = anchors.iter().collect();
    anchors.sort_by_key(|anchor| anchor.block);
    let mut furthest: Option<Anchored> = None;
    let mut missing = None;
    for Anchor { hash, block } in anchors.into_iter().copied() {
        // An empty chain's head: it holds nothing.
        if hash.is_zero() {
            continue;
        }
        let vouched = furthest.map_or(0, |anchored| anchored.sequence);
        match numbers.get(&hash) {
            Some(&sequence) if sequence >= vouched => {
                furthest = Some(Anchored { sequence, block });
            }
            Some(_) => {}
            None => {
                // Where a seal knows how long the chain was, so do we.
                let length = count(records.len());
                let sealed = seals.iter().any(|seal| {
                    seal.head.hash == hash && seal.head.length > length && seal.is_genuine()
                });
                let reason = format!("block {block} has the head {hash}, and no record has it");
                let damage = if sealed {
                    Damage::new(length.saturating_add(1), DamageKind::Cut, reason)
                } else {
                    Damage::new(vouched.saturating_add(1), DamageKind::Missing, reason)
                };
                missing.get_or_insert(damage);
            }
        }
    }
    (furthest, missing)
}
