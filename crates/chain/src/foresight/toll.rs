//! What a rollup charges for a transaction's data on its parent chain, beside its gas.

use super::{Call, Machine, State, Unread};
use crate::{
    ChainFault, Node,
    snapshot::{Snapshot, said},
};
use alloy::{
    primitives::{Address, U256, address},
    sol,
    sol_types::SolCall as _,
};
use revm::{context_interface::result::EVMError, database_interface::DatabaseRef as _};

/// Where chains of the OP stack say what they charge.
const ORACLE: Address = address!("420000000000000000000000000000000000000F");
/// Of those under `chains/`: Base, Base Sepolia, Celo.
const OP_STACK: [u64; 3] = [8_453, 84_532, 42_220];
/// Bytes of a transaction beside its calldata: places, prices, gas, target, coins.
const AROUND: usize = 128;
/// Bytes of an upgrade that it carries (EIP-7702): chain, code, place and signature.
const UPGRADE: usize = 128;

sol! {
    /// Most that a transaction of so many bytes, unsigned, is charged, however badly it packs.
    function getL1FeeUpperBound(uint256 unsignedTxSize) external view returns (uint256);
}

/// Whom to ask on this chain, if anybody.
pub(super) fn oracle(chain_id: u64) -> Option<Address> {
    OP_STACK.contains(&chain_id).then_some(ORACLE)
}

/// Most that `call` is charged in this block, in wei. Where the chain has no such contract it is nothing; one that does not say is
/// not taken for a chain that charges nothing (INV-4).
pub(super) fn toll(
    state: &State,
    call: &Call,
    chain_id: u64,
    machine: &mut Machine<'_>,
) -> Result<Result<U256, ChainFault>, Unread> {
    let Some(oracle) = oracle(chain_id) else { return Ok(Ok(U256::ZERO)) };
    if state.basic_ref(oracle)?.is_none_or(|info| info.is_empty_code_hash()) {
        return Ok(Ok(U256::ZERO));
    }
    let asked = asked(call.data.len()).abi_encode();
    let said = match machine.ask(oracle, asked.into()) {
        Ok(done) if done.is_success() => done.into_output().unwrap_or_default(),
        Ok(_) => Default::default(),
        Err(EVMError::Database(unread)) => return Err(unread),
        Err(other) => return Ok(Err(ChainFault::Machine { why: other.to_string() })),
    };
    let word = <[u8; 32]>::try_from(said.as_ref()).ok();
    Ok(word.map(U256::from_be_bytes).ok_or_else(|| silent(oracle)))
}

/// The same of a transaction with `data` bytes of calldata that was not run here, as the node's newest block has it.
pub(crate) async fn of_transaction(
    node: &Node,
    data: usize,
    upgrades: bool,
) -> Result<U256, ChainFault> {
    let Some(oracle) = oracle(node.chain_id()) else { return Ok(U256::ZERO) };
    let on = Snapshot::newest(node).await?;
    if on.code(oracle).await?.is_empty() {
        return Ok(U256::ZERO);
    }
    let data = if upgrades { data.saturating_add(UPGRADE) } else { data };
    said(on.read(oracle, asked(data)).await)?.ok_or_else(|| silent(oracle))
}

fn asked(data: usize) -> getL1FeeUpperBoundCall {
    getL1FeeUpperBoundCall { unsignedTxSize: U256::from(data.saturating_add(AROUND)) }
}

fn silent(oracle: Address) -> ChainFault {
    let why = format!("{oracle} does not say what this chain charges for a transaction's data");
    ChainFault::Machine { why }
}
