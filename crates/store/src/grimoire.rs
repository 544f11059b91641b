use alloy_primitives::Address;
use golem_safety::Violation;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Longest search, in characters; what is beyond is not looked at.
pub const MAX_QUERY: usize = 1_024;
/// Most words of a search.
pub(crate) const MAX_TERMS: usize = 32;

/// The number of a memory. A later one has a higher number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MemoryId(pub u64);

/// What kind of thing a Golem remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemoryKind {
    /// Something that happened.
    Episode,
    /// Something understood.
    Insight,
    /// A rule of thumb.
    Heuristic,
    /// That one thing leads to another.
    CausalLink,
    /// Something to beware of, such as a violation of the policy.
    Warning,
    /// A permission that was granted, as it was granted.
    PermissionObject,
}

impl MemoryKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Episode,
        Self::Insight,
        Self::Heuristic,
        Self::CausalLink,
        Self::Warning,
        Self::PermissionObject,
    ];

    /// Its name on the disk.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Episode => "episode",
            Self::Insight => "insight",
            Self::Heuristic => "heuristic",
            Self::CausalLink => "causal_link",
            Self::Warning => "warning",
            Self::PermissionObject => "permission_object",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Text that anybody may have written. It is kept, found and handed on as data; nothing here acts on it, and it does not
/// become a plain string by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Untrusted(String);

impl Untrusted {
    /// Marks a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for whoever treats it as data.
    #[must_use]
    pub fn as_data(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Untrusted({} bytes)", self.0.len())
    }
}

/// Something to remember.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMemory {
    /// What kind of thing.
    pub kind: MemoryKind,
    /// Whose words.
    pub author: Address,
    /// Where it came from, such as `policy_violation`.
    pub source: String,
    /// When.
    pub at: u64,
    /// In words.
    pub text: Untrusted,
    /// What programs read of it. Integers only.
    pub data: Value,
    /// What it came of; these must be there.
    pub parents: Vec<MemoryId>,
}

impl NewMemory {
    /// A refusal by policy, as a Golem remembers it (SPEC P2). Whatever led to it stays data.
    #[must_use]
    pub fn warning(violation: &Violation, golem: Address) -> Self {
        let warning = violation.warning();
        Self {
            kind: MemoryKind::Warning,
            author: golem,
            source: warning.source().to_owned(),
            at: warning.at(),
            text: Untrusted::new(&*violation.denial().reason),
            // A struct of words and numbers has no way to fail.
            data: serde_json::to_value(&warning).unwrap_or_default(),
            parents: Vec::new(),
        }
    }
}

/// Something remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Its number.
    pub id: MemoryId,
    /// What kind of thing.
    pub kind: MemoryKind,
    /// Whose words.
    pub author: Address,
    /// Where it came from.
    pub source: String,
    /// When.
    pub at: u64,
    /// In words.
    pub text: Untrusted,
    /// What programs read of it.
    pub data: Value,
    /// What it came of, the oldest first.
    pub parents: Vec<MemoryId>,
}

/// A part of a list, the newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Only what is older than this; the last one of a page asks for the next.
    pub before: Option<MemoryId>,
    /// How many at most; never more than [`Page::MOST`].
    pub limit: u32,
}

impl Page {
    /// Most that one page has.
    pub const MOST: u32 = 500;

    /// The newest ones.
    #[must_use]
    pub const fn first(limit: u32) -> Self {
        Self { before: None, limit }
    }
}
