//! A Replicant's folder in its parent's: what it is made for, and what it was given. Nothing of it is secret but its key.
//!
//! ```text
//! replicants/scout/errand.json        what its owner wants it for; written by `bardo golem replicate`, whole
//! replicants/scout/STRATEGY.md        its task
//! replicants/scout/inheritance.json   what its parent gave it: two links
//! replicants/scout/refused.json       why its parent gave it nothing
//! ```

use super::run::alone;
use crate::{
    answer::{Failure, OrUse},
    commands::onboard::folder::written,
};
use alloy::primitives::Address;
use anyhow::Context as _;
use golem_delegation::PermissionContext;
use golem_runtime::{Child, Errand, Inheritance};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read as _},
    num::NonZeroU64,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

/// Most bytes of one of its files.
const MOST_BYTES: u64 = 256 * 1024;
/// Most folders that are looked at.
const MOST_FOLDERS: usize = 256;

/// What an owner wants one for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Letter {
    /// What it spends in its whole life, in micro-dollars.
    pub(super) budget: u64,
    /// Its last second.
    pub(super) until: u64,
    /// How often it acts, if that is bounded.
    pub(super) calls: Option<NonZeroU64>,
}

impl Letter {
    /// The same for its parent, at that second.
    pub(super) const fn errand(&self, now: u64) -> Errand {
        Errand {
            budget: self.budget,
            lifespan: self.until.saturating_sub(now),
            targets: Vec::new(),
            methods: Vec::new(),
            calls: self.calls,
        }
    }
}

/// Why there is none.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct No {
    pub(super) reason: String,
}

/// One folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Nursling {
    pub(super) folder: PathBuf,
}

impl Nursling {
    const HOME: &str = "replicants";
    const ERRAND: &str = "errand.json";
    const INHERITANCE: &str = "inheritance.json";
    const REFUSED: &str = "refused.json";

    /// Of that name, under a parent.
    pub(super) fn of(parent: &Path, name: &str) -> Self {
        Self { folder: parent.join(Self::HOME).join(name) }
    }

    /// This very folder; none where it is no Replicant's.
    pub(super) fn at(folder: &Path) -> Option<Self> {
        folder.join(Self::ERRAND).is_file().then(|| Self { folder: folder.to_owned() })
    }

    /// All under a parent, by name.
    pub(super) fn all(parent: &Path) -> Vec<Self> {
        let entries = fs::read_dir(parent.join(Self::HOME)).into_iter().flatten();
        let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut all: Vec<Self> =
            folders.filter_map(|folder| Self::at(&folder)).take(MOST_FOLDERS).collect();
        all.sort_unstable_by(|one, other| one.folder.cmp(&other.folder));
        all
    }

    pub(super) fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Its parent's folder.
    pub(super) fn parent(&self) -> Option<&Path> {
        self.folder.parent().and_then(Path::parent)
    }

    /// Writes down what it is for: the letter last, so that nobody sees half of it.
    pub(super) fn wanted(
        &self,
        letter: &Letter,
        documents: &[(&str, &str)],
    ) -> Result<(), Failure> {
        let place = || format!("cannot use {}", self.folder.display());
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .with_context(place)
            .or_use()?;
        for (name, text) in documents {
            written(&self.folder, name, text)?;
        }
        self.keep(Self::ERRAND, letter)?;
        // Another try of one that was refused: from here on it waits for an answer.
        match fs::remove_file(self.folder.join(Self::REFUSED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    pub(super) fn letter(&self) -> Result<Option<Letter>, Failure> {
        self.read(Self::ERRAND)
    }

    pub(super) fn inheritance(&self) -> Result<Option<Inheritance>, Failure> {
        self.read(Self::INHERITANCE)
    }

    pub(super) fn inherits(&self, inheritance: &Inheritance) -> Result<(), Failure> {
        self.keep(Self::INHERITANCE, inheritance)
    }

    pub(super) fn no(&self) -> Result<Option<No>, Failure> {
        self.read(Self::REFUSED)
    }

    pub(super) fn refuse(&self, reason: &str) -> Result<(), Failure> {
        self.keep(Self::REFUSED, &No { reason: reason.to_owned() })
    }

    /// Whether nobody has answered it.
    pub(super) fn is_open(&self) -> bool {
        !self.folder.join(Self::INHERITANCE).is_file() && !self.folder.join(Self::REFUSED).is_file()
    }

    /// Its key, once it has a grant.
    pub(super) fn key(&self) -> Result<Option<Address>, Failure> {
        Ok(match self.inheritance()? {
            Some(given) => Some(PermissionContext::decode(&given.context)?.leaf().delegate),
            None => None,
        })
    }

    /// What its parent knows of it, if it was made.
    pub(super) fn among<'a>(&self, children: &'a [Child]) -> Option<&'a Child> {
        let key = self.key().ok().flatten()?;
        children.iter().find(|child| child.key == key)
    }

    /// Whether its key outlives a process.
    pub(super) fn has_key_file(&self) -> bool {
        self.folder.join("session-key.json").is_file()
    }

    /// Whether a process of its own is there.
    pub(super) fn runs(&self) -> bool {
        matches!(alone(&self.folder), Ok(None))
    }

    fn keep(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        written(&self.folder, name, &serde_json::to_string_pretty(value)?)?;
        Ok(())
    }

    /// A file of this user's alone; none where there is none.
    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Failure> {
        let path = self.folder.join(name);
        let about = match fs::symlink_metadata(&path) {
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(None),
            about => about?,
        };
        let is_ours = about.is_file() && about.permissions().mode() & 0o077 == 0;
        let text = || -> anyhow::Result<T> {
            anyhow::ensure!(is_ours, "only files of mode 600 count");
            let mut text = Vec::new();
            File::open(&path)?.take(MOST_BYTES).read_to_end(&mut text)?;
            Ok(serde_json::from_slice(&text)?)
        };
        text().with_context(|| format!("{} is not understood", path.display())).or_use().map(Some)
    }
}
