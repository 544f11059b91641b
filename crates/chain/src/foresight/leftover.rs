//! Dry runs of what a key sends home of its own.

use super::{
    By, Call, Foresight, MOST_GAS, Machine, Rules, Seen, State, Unread, spent, toll::toll,
};
use crate::ChainFault;
use alloy::{
    primitives::{Address, Log},
    sol_types::SolEvent as _,
};
use bardo_bindings::defi::Erc20;
use golem_custody::{Act, Asset, Denial, DenialCode, Leftover, Outcome, Preview, limit};
use revm::{
    context_interface::result::{EVMError, ExecutionResult},
    database_interface::DatabaseRef as _,
};
use std::iter;

impl Foresight {
    /// Whether what is the key's own gets to its owner on the newest block.
    pub async fn judge_leftover(
        &self,
        leftover: &Leftover,
        sender: Address,
    ) -> Result<Outcome, ChainFault> {
        let header = self.node.current().await?;
        let act = Act::from(*leftover);
        let (to, data, value) = (act.target(), act.calldata(), act.coins());
        let call = Call { from: sender, to, data, value, gas: MOST_GAS, by: By::Either };
        let (state, foreseen) = self.at(header, &call, iter::empty()).await?;
        let verdict = |state: &State, rules| verdict(state, leftover, &call, rules, self);
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

/// Whether a token says that it came to the owner. Coins say nothing: a transaction that did not fail has sent them.
pub(crate) fn arrived<'a>(
    mut logs: impl Iterator<Item = &'a Log>,
    leftover: &Leftover,
    sender: Address,
) -> bool {
    let Asset::Erc20(token) = leftover.asset else { return true };
    logs.any(|log| {
        log.address == token
            && Erc20::Transfer::decode_log(log)
                .is_ok_and(|event| event.from == sender && event.to == leftover.to)
    })
}

fn verdict(
    state: &State,
    leftover: &Leftover,
    call: &Call,
    rules: Rules,
    foresight: &Foresight,
) -> Result<Result<Outcome, ChainFault>, Unread> {
    let chain_id = rules.chain_id;
    let no = |reason: String| Ok(Ok(Outcome::Refused(Denial::new(DenialCode::Reverted, reason))));
    let is_token = leftover.asset != Asset::Native;
    if is_token && state.basic_ref(call.to)?.is_none_or(|info| info.is_empty_code_hash()) {
        return no(format!("there is no token at {}", call.to));
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
    match result {
        // Some tokens say no by their answer.
        ExecutionResult::Success { output, .. }
            if is_token && output.data().last().is_some_and(|last| *last == 0) =>
        {
            no(format!("the token {} says no", call.to))
        }
        ExecutionResult::Success { gas, .. } => Ok(Ok(Outcome::Allowed(Preview {
            block: state.block(),
            gas: spent(&gas),
            gas_limit: limit(spent(&gas)),
            data_fee,
            changes: Vec::new(),
            notes: Vec::new(),
            counted: None,
        }))),
        ExecutionResult::Revert { .. } => no(format!("{} does not take it", call.to)),
        ExecutionResult::Halt { reason, .. } => {
            no(format!("{} could not finish it: {reason:?}", call.to))
        }
    }
}
