//! Dry runs of what a Golem says of itself.

use super::{
    By, Call, Foresight, MOST_GAS, Machine, Rules, Seen, State, Unread, spent, toll::toll,
};
use crate::{ChainFault, registry::refused_because};
use alloy::{
    primitives::{Address, Log, U256},
    sol_types::SolEvent as _,
};
use bardo_bindings::{GolemRegistry, golem_registry};
use golem_custody::{Denial, DenialCode, Outcome, Preview, Receipt, RegistryUpdate, limit};
use revm::{
    context_interface::result::{EVMError, ExecutionResult},
    database_interface::DatabaseRef as _,
};
use std::iter;

impl Foresight {
    /// Whether the registry would take `update` from `sender` on the newest block. Nothing but the registry's own word changes, so
    /// nothing else is looked at.
    pub async fn judge_update(
        &self,
        update: &RegistryUpdate,
        sender: Address,
    ) -> Result<Outcome, ChainFault> {
        let header = self.node.current().await?;
        let call = Call::saying(update, sender);
        let (state, foreseen) = self.at(header, &call, iter::empty()).await?;
        let verdict = |state: &State, rules| verdict(state, &call, rules, self);
        let (state, outcome) = self.decide(state, foreseen, &call, verdict).await?;
        let hash = state.header.hash;
        self.keep(state).await;
        match outcome? {
            Outcome::Allowed(preview) => {
                self.with_parents_data(preview, &call, hash).await.map(Outcome::Allowed)
            }
            refused @ Outcome::Refused(_) => Ok(refused),
        }
    }

    /// Why an update that was mined did not take effect: what is said of it on the state before its block.
    pub(crate) async fn autopsy_of_update(
        &self,
        receipt: &Receipt,
        update: &RegistryUpdate,
        sender: Address,
    ) -> Result<Denial, ChainFault> {
        let state = self.before(receipt.block_number).await?;
        let call = Call::saying(update, sender);
        let verdict = |state: &State, rules| verdict(state, &call, rules, self);
        let (_state, outcome) = self.decide(state, false, &call, verdict).await?;
        Ok(match outcome? {
            Outcome::Refused(denial) => denial,
            Outcome::Allowed(_) => Denial::new(
                DenialCode::Registry,
                "it failed in its block, although the registry takes it on the state before that block",
            ),
        })
    }
}

impl Call {
    fn saying(update: &RegistryUpdate, sender: Address) -> Self {
        let (to, data) = (golem_registry(), update.calldata());
        Self { from: sender, to, data, value: U256::ZERO, gas: MOST_GAS, by: By::Either }
    }
}

/// Whether the registry says that it took something about this Golem.
pub(crate) fn recorded<'a>(
    mut logs: impl Iterator<Item = &'a Log>,
    update: &RegistryUpdate,
) -> bool {
    use GolemRegistry::{DreamingSet, GolemClosed, HeartbeatRecorded, PadUpdated, VitalityUpdated};
    use golem_custody::Says;
    let expected = match update.says {
        Says::Vitality { .. } => VitalityUpdated::SIGNATURE_HASH,
        Says::Dreaming(_) => DreamingSet::SIGNATURE_HASH,
        Says::Feels(_) => PadUpdated::SIGNATURE_HASH,
        Says::Lives { .. } => HeartbeatRecorded::SIGNATURE_HASH,
        Says::Died => GolemClosed::SIGNATURE_HASH,
        // What is not known is not believed (INV-4).
        _ => return false,
    };
    logs.any(|log| {
        log.address == golem_registry()
            && matches!(log.topics(), [event, golem, ..] if *event == expected && *golem == update.golem)
    })
}

fn verdict(
    state: &State,
    call: &Call,
    rules: Rules,
    foresight: &Foresight,
) -> Result<Result<Outcome, ChainFault>, Unread> {
    let chain_id = rules.chain_id;
    // A call to nothing succeeds in doing nothing: that must not look like a yes.
    if state.basic_ref(call.to)?.is_none_or(|info| info.is_empty_code_hash()) {
        let what = "GolemRegistry";
        return Ok(Err(ChainFault::Missing { what, address: call.to, chain_id }));
    }
    let mut machine = Machine::new(state, rules, state.within.number, &foresight.signers);
    let Seen { result, .. } = match machine.run(call.transaction(chain_id, &state.within)) {
        Ok(seen) => seen,
        Err(EVMError::Database(unread)) => return Err(unread),
        Err(other) => return Ok(Err(ChainFault::Machine { why: other.to_string() })),
    };
    let data_fee = match toll(state, call, chain_id, &mut machine)? {
        Ok(fee) => fee,
        Err(fault) => return Ok(Err(fault)),
    };
    Ok(Ok(match result {
        ExecutionResult::Success { gas, .. } => Outcome::Allowed(Preview {
            block: state.block(),
            gas: spent(&gas),
            gas_limit: limit(spent(&gas)),
            data_fee,
            changes: Vec::new(),
            notes: Vec::new(),
            counted: None,
        }),
        ExecutionResult::Revert { output, .. } => {
            let said = refused_because(&output);
            let reason =
                said.unwrap_or_else(|| "the registry refuses it and does not say why".to_owned());
            Outcome::Refused(Denial::new(DenialCode::Registry, reason))
        }
        ExecutionResult::Halt { reason, .. } => Outcome::Refused(Denial::new(
            DenialCode::Registry,
            format!("the registry could not finish it: {reason:?}"),
        )),
    }))
}
