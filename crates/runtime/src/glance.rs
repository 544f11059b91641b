//! A Golem as its archive has it: for its owner, while it runs and after.

use crate::{
    Child, Dying, GolemEvent, Life, Told, golem::newest_of, life, replicant, replicant::Roll,
    runner::end_of, sustenance::RENEWED, thanatopsis, told::machine_of,
};
use alloy_primitives::{Address, B256};
use bardo_store::{Archive, StoreError};
use golem_chain::environment;
use golem_custody::{Choice, CustodyMode, Means, Onboarding, Rotation, Runway, Spent};
use golem_delegation::{
    Delegation,
    grant::{Grant, GrantError},
    terms::GolemCharter,
};
use serde::de::DeserializeOwned;

/// More records than an onboarding has.
const ONBOARDING: u32 = 256;

/// Why an archive cannot be read as a Golem's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GlanceError {
    /// The disk.
    #[error("its store cannot be read")]
    Store(#[from] StoreError),
    /// What it wrote.
    #[error("what its store has of {what} is not understood")]
    Unread {
        /// Which machine.
        what: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// Its grant.
    #[error("its grant cannot be read as a charter")]
    Grant(#[from] GrantError),
}

/// What is known of a Golem from its archive alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Its id on chain.
    pub golem: B256,
    /// How far its onboarding is; none before the first step.
    pub onboarding: Option<Onboarding>,
    /// The second in which it was onboarded, from which on its first tick is waited for; none before, and none once it has ticked.
    pub onboarded_at: Option<u64>,
    /// Its life; none before the first tick.
    pub life: Option<Life>,
    /// How far its death is; none while it lives.
    pub dying: Option<Dying>,
    /// How far the rotation of its keys is; none before the first.
    pub rotation: Option<Rotation>,
    /// The newest grant that it has, and its charter; none where it has none.
    pub grant: Option<(Delegation, GolemCharter)>,
    /// That this grant is over, and why, where its process saw it: a [`GolemEvent::GrantEnded`].
    pub ended: Option<GolemEvent>,
    /// The grant for running costs that it pays by; none where it has none.
    pub runway: Option<Runway>,
    /// The grant for running costs that it gave up when its death was accepted: on the chain it is its owner's to end.
    pub given_up: Option<Runway>,
    /// What it spent, by the clock of whoever looks.
    pub spent: Spent,
    /// Its children, the oldest first; of those that ended, the last ones.
    pub children: Vec<Child>,
    /// How many records its log has.
    pub records: u64,
    /// The second of the newest of them; none before the first.
    pub written_at: Option<u64>,
}

impl Glance {
    /// Looks at an archive, at that second.
    pub fn of(archive: &Archive, now: u64) -> Result<Self, GlanceError> {
        let onboarding: Option<Onboarding> = read(archive, "onboarding")?;
        let rotation: Option<Rotation> = read(archive, "rotation")?;
        let first = match onboarding.as_ref().and_then(Onboarding::means) {
            Some(Means::Granted { grant, .. }) => Some(grant.as_ref().clone()),
            _ => None,
        };
        let grant = match first {
            None => None,
            Some(first) => {
                let grant = newest_of(first, read(archive, RENEWED)?, rotation.as_ref())?;
                let charter = Grant::read(&grant, &environment())?.charter().clone();
                Some((grant, charter))
            }
        };
        let spent = match &grant {
            Some((grant, _)) => archive.spent(grant.delegate, now)?,
            None => Spent::default(),
        };
        let ended = match &grant {
            Some((grant, _)) => read_as(archive, &machine_of(&end_of(grant)), "its end")?,
            None => None,
        };
        let life: Option<Life> = read(archive, life::CELL)?;
        let onboarded_at = match (&life, &onboarding) {
            (None, Some(Onboarding::Summoning { .. } | Onboarding::Live { .. })) => {
                onboarded_at(archive)?
            }
            _ => None,
        };
        let runway = archive.step("runway")?.map(|step| step.value);
        let records = archive.length()?;
        let newest = archive.records_after(records.saturating_sub(1), 1)?;
        Ok(Self {
            golem: archive.golem()?,
            ended,
            onboarded_at,
            life,
            dying: read(archive, thanatopsis::CELL)?,
            onboarding,
            rotation,
            grant,
            given_up: runway.clone().and_then(Runway::given_up),
            runway: runway.and_then(Runway::in_use),
            spent,
            children: children(archive)?,
            records,
            written_at: newest.first().map(|record| record.at),
        })
    }

    /// Whether its death was accepted, by the archive alone. What is there and cannot be read is no life either (INV-4).
    pub fn accepted_death(archive: &Archive) -> Result<bool, StoreError> {
        Ok(archive.step(thanatopsis::CELL)?.is_some())
    }

    /// How its keys are kept, by the archive alone, once anything was made for that: from then on it stays so (SPEC K1).
    pub fn bound_mode(archive: &Archive) -> Result<Option<CustodyMode>, GlanceError> {
        Ok(match read(archive, "custody")? {
            Some(Choice::Bound { mode, .. } | Choice::Fixed { mode, .. }) => Some(mode),
            None | Some(Choice::Open { .. }) => None,
        })
    }

    /// Its owner.
    #[must_use]
    pub fn owner(&self) -> Option<Address> {
        self.onboarding.as_ref().map(Onboarding::owner)
    }

    /// Whether there is nothing left for it to do.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.dying.as_ref().is_some_and(Dying::is_over)
    }

    /// The grant that its owner is asked to sign for its next key.
    #[must_use]
    pub const fn asks(&self) -> Option<&Delegation> {
        match &self.rotation {
            Some(Rotation::Asked { wanted, .. }) => Some(wanted),
            _ => None,
        }
    }

    /// The highest number of a grant that the owner was ever asked for.
    #[must_use]
    pub fn asked_epoch(&self) -> u16 {
        self.rotation.as_ref().map_or(0, |rotation| match rotation {
            Rotation::Resting { epoch, .. }
            | Rotation::Asked { epoch, .. }
            | Rotation::Granted { epoch, .. } => *epoch,
        })
    }
}

/// When the newest step of its onboarding was made: its log begins with them.
fn onboarded_at(archive: &Archive) -> Result<Option<u64>, StoreError> {
    let is_step = |told: &Told| {
        matches!(
            told.event,
            GolemEvent::OnboardingStepped { .. } | GolemEvent::GolemSummoned { .. }
        )
    };
    let first = archive.records_after(0, ONBOARDING)?;
    Ok(first.iter().map(Told::of).filter(is_step).map(|told| told.at).max())
}

fn children(archive: &Archive) -> Result<Vec<Child>, GlanceError> {
    let Roll { keys, .. } = read(archive, replicant::CELL)?.unwrap_or_default();
    let mut all = Vec::new();
    for key in keys {
        let unread = |source| GlanceError::Unread { what: "a child", source };
        if let Some(step) = archive.step(&replicant::cell_of(key))? {
            all.push(serde_json::from_value(step.value).map_err(unread)?);
        }
    }
    Ok(all)
}

fn read<T: DeserializeOwned>(
    archive: &Archive,
    what: &'static str,
) -> Result<Option<T>, GlanceError> {
    read_as(archive, what, what)
}

fn read_as<T: DeserializeOwned>(
    archive: &Archive,
    name: &str,
    what: &'static str,
) -> Result<Option<T>, GlanceError> {
    let step = archive.step(name)?.map(|step| serde_json::from_value(step.value));
    step.transpose().map_err(|source| GlanceError::Unread { what, source })
}
