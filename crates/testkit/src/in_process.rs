//! The local chain's contracts in this very process: no node, a state for every course of events.

use crate::root;
use alloy::{
    primitives::{Address, Bytes, U256},
    sol_types::SolCall,
};
use anyhow::{Context as _, Result, ensure};
use golem_chain::local::AddressBook;
use revm::{
    Context, ExecuteCommitEvm as _, MainBuilder as _, MainContext as _,
    bytecode::Bytecode,
    context::TxEnv,
    database::{CacheDB, EmptyDB},
    primitives::TxKind,
    state::AccountInfo,
};
use serde::Deserialize;
use std::{collections::BTreeMap, fs, sync::Arc};

/// The local chain calls itself Base.
const CHAIN_ID: u64 = 8453;
/// As much as a transaction may have.
const GAS: u64 = 1 << 24;

type State = CacheDB<EmptyDB>;

#[derive(Deserialize)]
struct Alloc {
    balance: U256,
    code: Bytes,
    nonce: u64,
    storage: BTreeMap<U256, U256>,
}

/// One course of events: what it changes stays with it.
///
/// Anybody may send anything, and nobody pays for gas. The clock stands still until it is moved.
#[derive(Clone, Debug)]
pub struct Course {
    changed: CacheDB<Arc<State>>,
    /// Seconds.
    pub now: u64,
    /// Number of the block.
    pub block: u64,
}

impl Course {
    /// The local chain as it was built, a minute later.
    pub fn begun() -> Result<(Self, AddressBook)> {
        let file = |name: &str| {
            let path = root().join(".devchain").join(name);
            fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
        };
        let book: AddressBook = serde_json::from_str(&file("book.json")?)?;
        let allocs: BTreeMap<Address, Alloc> = serde_json::from_str(&file("allocs.json")?)?;
        let mut state = State::default();
        for (address, alloc) in allocs {
            state.insert_account_info(address, info(alloc.balance, alloc.nonce, &alloc.code));
            for (slot, value) in alloc.storage {
                state.insert_account_storage(address, slot, value)?;
            }
        }
        let changed = CacheDB::new(Arc::new(state));
        Ok((Self { changed, now: book.timestamp + 60, block: 1_000 }, book))
    }

    /// Nothing but what a test puts there: for rules that need no chain around them.
    #[must_use]
    pub fn bare(now: u64) -> Self {
        Self { changed: CacheDB::new(Arc::new(State::default())), now, block: 1_000 }
    }

    /// What became of it as the beginning of others, each of which is cheap.
    #[must_use]
    pub fn settled(self) -> Self {
        let mut state = State::clone(&self.changed.db);
        state.cache.contracts.extend(self.changed.cache.contracts);
        for (address, account) in self.changed.cache.accounts {
            let known = state.cache.accounts.entry(address).or_default();
            known.info = account.info;
            known.account_state = account.account_state;
            known.storage.extend(account.storage);
        }
        Self { changed: CacheDB::new(Arc::new(state)), ..self }
    }

    /// Puts an account there, with code or without.
    pub fn put(&mut self, address: Address, balance: U256, code: &[u8]) {
        self.changed.insert_account_info(address, info(balance, 1, code));
    }

    /// Whether the call goes through.
    pub fn call(&mut self, from: Address, to: Address, value: U256, data: Vec<u8>) -> bool {
        self.run(from, TxKind::Call(to), value, data).is_some()
    }

    /// What a call answers, or what it reverts with.
    pub fn answer(&mut self, to: Address, data: Vec<u8>) -> std::result::Result<Bytes, Bytes> {
        let done = self.execute(Address::ZERO, TxKind::Call(to), U256::ZERO, data);
        let (success, output) = done.unwrap_or_default();
        if success { Ok(output) } else { Err(output) }
    }

    /// A call that goes through.
    pub fn must<C: SolCall>(&mut self, from: Address, to: Address, call: &C) -> Result<()> {
        let done = self.call(from, to, U256::ZERO, call.abi_encode());
        ensure!(done, "{} by {from}", C::SIGNATURE);
        Ok(())
    }

    /// What a call answers.
    pub fn read<C: SolCall>(&mut self, to: Address, call: &C) -> Result<C::Return> {
        let answer = self
            .run(Address::ZERO, TxKind::Call(to), U256::ZERO, call.abi_encode())
            .with_context(|| format!("read {}", C::SIGNATURE))?;
        Ok(C::abi_decode_returns(&answer)?)
    }

    /// Creates a contract, and gives it another address.
    pub fn install(&mut self, at: Address, creation: Vec<u8>) -> Result<()> {
        let code = self
            .run(Address::ZERO, TxKind::Create, U256::ZERO, creation)
            .context("create a contract")?;
        self.put(at, U256::ZERO, &code);
        Ok(())
    }

    fn run(&mut self, from: Address, kind: TxKind, value: U256, data: Vec<u8>) -> Option<Bytes> {
        let (success, output) = self.execute(from, kind, value, data)?;
        success.then_some(output)
    }

    fn execute(
        &mut self,
        from: Address,
        kind: TxKind,
        value: U256,
        data: Vec<u8>,
    ) -> Option<(bool, Bytes)> {
        let mut evm = Context::mainnet()
            .with_db(&mut self.changed)
            .modify_cfg_chained(|cfg| {
                cfg.chain_id = CHAIN_ID;
                cfg.disable_nonce_check = true;
                cfg.disable_balance_check = true;
                cfg.disable_block_gas_limit = true;
                cfg.disable_eip3607 = true;
                cfg.disable_base_fee = true;
                cfg.disable_fee_charge = true;
            })
            .modify_block_chained(|block| {
                block.timestamp = U256::from(self.now);
                block.number = U256::from(self.block);
            })
            .build_mainnet();
        let call = TxEnv {
            caller: from,
            kind,
            value,
            data: data.into(),
            gas_limit: GAS,
            chain_id: Some(CHAIN_ID),
            ..TxEnv::default()
        };
        let result = evm.transact_commit(call).ok()?;
        Some((result.is_success(), result.output().cloned().unwrap_or_default()))
    }
}

fn info(balance: U256, nonce: u64, code: &[u8]) -> AccountInfo {
    let info = AccountInfo { balance, nonce, ..AccountInfo::default() };
    if code.is_empty() { info } else { info.with_code(Bytecode::new_raw(code.to_vec().into())) }
}
