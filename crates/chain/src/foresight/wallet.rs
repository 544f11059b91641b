//! Dry runs of what a wallet at a service does itself.

use super::{
    By, Call, Foresight, MOST_GAS, Machine, Rules, Seen, State, Unread, spent, toll::toll,
};
use crate::{ChainFault, printable};
use alloy::{primitives::Address, sol_types::decode_revert_reason};
use golem_custody::{Denial, DenialCode, Outcome, Preview, WalletCall, limit};
use revm::{
    context_interface::result::{EVMError, ExecutionResult},
    database_interface::DatabaseRef as _,
};
use std::iter;

impl Foresight {
    /// Whether the newest block would take what a wallet does.
    pub async fn judge_wallet(
        &self,
        wanted: &WalletCall,
        sender: Address,
    ) -> Result<Outcome, ChainFault> {
        if wanted.wallet != sender {
            let reason = format!("it is wallet {}'s to do, and {sender} would send", wanted.wallet);
            return Ok(Outcome::Refused(Denial::new(DenialCode::PolicyParty, reason)));
        }
        let header = self.node.current().await?;
        let (to, data, value) = (wanted.call.target, wanted.call.data.clone(), wanted.call.value);
        let call = Call { from: sender, to, data, value, gas: MOST_GAS, by: By::Either };
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
}

fn verdict(
    state: &State,
    call: &Call,
    rules: Rules,
    foresight: &Foresight,
) -> Result<Result<Outcome, ChainFault>, Unread> {
    let chain_id = rules.chain_id;
    let no = |reason: String| Ok(Ok(Outcome::Refused(Denial::new(DenialCode::Reverted, reason))));
    if !call.data.is_empty()
        && state.basic_ref(call.to)?.is_none_or(|info| info.is_empty_code_hash())
    {
        return no(format!("{} has no code: a call of it does nothing", call.to));
    }
    let mut machine = Machine::new(state, rules, state.within.number, &foresight.signers);
    let ran = match machine.run(call.transaction(chain_id, &state.within)) {
        Ok(Seen { result, .. }) => result,
        Err(EVMError::Database(unread)) => return Err(unread),
        Err(other) => return Ok(Err(ChainFault::Machine { why: other.to_string() })),
    };
    if let Some(unknown) = machine.built_in() {
        let why = format!("{unknown} is built into this chain, and not into this machine");
        return Ok(Err(ChainFault::Machine { why }));
    }
    let data_fee = match toll(state, call, chain_id, &mut machine)? {
        Ok(fee) => fee,
        Err(fault) => return Ok(Err(fault)),
    };
    match ran {
        ExecutionResult::Success { gas, .. } => Ok(Ok(Outcome::Allowed(Preview {
            block: state.block(),
            gas: spent(&gas),
            gas_limit: limit(spent(&gas)),
            data_fee,
            changes: Vec::new(),
            notes: Vec::new(),
            counted: None,
        }))),
        ExecutionResult::Revert { output, .. } => {
            let said = decode_revert_reason(&output).map(|said| printable(&said));
            let said = said.map_or_else(String::new, |said| format!(": {said}"));
            no(format!("{} does not take it{said}", call.to))
        }
        ExecutionResult::Halt { reason, .. } => {
            no(format!("{} could not finish it: {reason:?}", call.to))
        }
    }
}
