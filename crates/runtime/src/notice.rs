//! What an owner is told of keys and grants, once each, however often a process is killed and does the same again (SPEC K4, L6).
//!
//! Each stands under a name made of what it is about: a key's address, or a grant's hash and the bound that it came below.

use crate::{Golem, GolemEvent, TickError, runner::end_of};
use alloy_primitives::Address;
use golem_custody::{ExpiryKind, KeyUse, Keyring as _, Rotation};
use golem_delegation::{Delegation, blast_radius::Ended};

const DAY: u64 = 86_400;
/// Less than this of a grant's time is told of, the shortest first: what is critical, and what is low (SPEC G10, W4).
const SOON: [(u64, &str); 2] = [(DAY, "day"), (7 * DAY, "week")];
/// Less than this of a grant's money is told of, in basis points: at which a key is to be replaced, too (SPEC K3, D11).
const LITTLE: u16 = 1_000;
/// The whole, in basis points.
const WHOLE: u128 = 10_000;

impl Golem {
    /// The key in its place, and that the one before it is wiped.
    pub(crate) async fn tell_of_keys(
        &self,
        rotation: Option<&Rotation>,
        now: u64,
    ) -> Result<(), TickError> {
        if let Some(Rotation::Resting { replaced: Some(replaced), .. }) = rotation {
            self.tell_of_wiped(replaced.key, ExpiryKind::Relinquished, now).await?;
        }
        let Some(address) = self.keys.current().await else { return Ok(()) };
        let expires_at = self.charter.window.end();
        let born = GolemEvent::SessionKeyGenerated { address, expires_at };
        self.fabric.emit_once(&format!("key.{address}"), &born, now).await?;
        Ok(())
    }

    /// A key that can do nothing any more.
    pub(crate) async fn tell_of_wiped(
        &self,
        address: Address,
        cause: ExpiryKind,
        now: u64,
    ) -> Result<(), TickError> {
        let wiped = GolemEvent::SessionKeyRevoked { address, cause };
        self.fabric.emit_once(&format!("wiped.{address}"), &wiped, now).await?;
        Ok(())
    }

    /// A grant that is over, or that the Golem gave back.
    pub(crate) async fn tell_of_over(
        &self,
        grant: &Delegation,
        cause: ExpiryKind,
        now: u64,
    ) -> Result<(), TickError> {
        let over = GolemEvent::DelegationRevoked { delegation_hash: grant.hash(), cause };
        self.fabric.emit_once(&format!("{}.over", end_of(grant)), &over, now).await?;
        Ok(())
    }

    /// A grant whose end is near.
    pub(crate) async fn tell_of_expiry(&self, now: u64) -> Result<(), TickError> {
        let seconds_remaining = self.charter.window.end().saturating_sub(now);
        let soon = SOON.iter().find(|(bound, _)| seconds_remaining < *bound);
        // One that is over is told of as that.
        let Some((_, name)) = soon.filter(|_| seconds_remaining > 0) else { return Ok(()) };
        let delegation_hash = self.grant.hash();
        let warning = GolemEvent::DelegationExpiringWarning { delegation_hash, seconds_remaining };
        let name = format!("{}.{name}", end_of(&self.grant));
        self.fabric.emit_once(&name, &warning, now).await?;
        Ok(())
    }

    /// A grant whose money is nearly spent.
    pub(crate) async fn tell_of_budget(&self, used: &KeyUse, now: u64) -> Result<(), TickError> {
        let Some(warning) = little(used) else { return Ok(()) };
        let name = format!("{}.budget", end_of(&self.grant));
        self.fabric.emit_once(&name, &warning, now).await?;
        Ok(())
    }
}

/// What is to be said of what is left; nothing while that is enough.
fn little(used: &KeyUse) -> Option<GolemEvent> {
    let granted = used.granted.filter(|granted| *granted > 0)?;
    let bps = used.left.saturating_mul(WHOLE).checked_div(granted)?;
    let remaining_bps = u16::try_from(bps).ok().filter(|bps| *bps < LITTLE)?;
    let spent = granted.saturating_sub(used.left);
    let more = used.left.saturating_mul(used.operations.into()).checked_div(spent)?;
    let estimated_operations_left = u64::try_from(more).unwrap_or(u64::MAX);
    Some(GolemEvent::BudgetWarning { remaining_bps, estimated_operations_left })
}

/// What ended a grant, by what the chain has against it.
pub(crate) const fn kind_of(ended: &Ended) -> ExpiryKind {
    match ended {
        Ended::Expired { .. } | Ended::PastBlock { .. } => ExpiryKind::NaturalExpiry,
        Ended::NoCallsLeft { .. } | Ended::IdUsed { .. } | Ended::AllSent { .. } => {
            ExpiryKind::CallLimitReached
        }
        _ => ExpiryKind::OwnerRevocation,
    }
}
