//! Named gas figures: receipts of whole transactions, stock enforcers and ours in one run.
//!
//! `make snapshots` rewrites the committed file; a figure that moved without it fails here.

use alloy::{
    primitives::{Address, B256, Bytes, U256, address},
    providers::ext::AnvilApi,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{
    deployables, enforcers,
    framework::{DELEGATION_MANAGER, DETERMINISTIC_DEPLOYER, SIMPLE_FACTORY},
    mortality_time_window_enforcer,
};
use bardo_testkit::{STIPEND, Stage, dollars, root, swap, swap_grant, unsigned};
use golem_chain::{AccountKind, local::FAUCET};
use golem_custody::{Execution, Redemption};
use golem_delegation::{
    Caveat, Delegation, PermissionContext, ROOT_AUTHORITY,
    terms::{MortalityTimeWindow, Timestamp},
};
use std::{collections::BTreeMap, env, fs};

/// A redeemer whose address never changes: calldata, and so gas, depends on it.
const SESSION: Address = address!("5e5510000000000000000000000000000000f00d");

/// A moment that never changes, after the local chain's own: it stands in terms and calldata.
const START: u64 = 1_800_100_000;

struct Meter<'a> {
    stage: &'a Stage,
    figures: BTreeMap<&'static str, u64>,
}

impl Meter<'_> {
    async fn record(
        &mut self,
        name: &'static str,
        from: Address,
        to: Address,
        data: Bytes,
    ) -> Result<()> {
        // A fixed distance between blocks: time is part of what contracts read and store.
        let next = self.stage.now().await? + 12;
        self.stage.node().provider().anvil_set_next_block_timestamp(next).await?;
        let receipt = self.stage.send_as(from, to, U256::ZERO, data).await?;
        ensure!(receipt.status(), "{name} failed");
        self.figures.insert(name, receipt.gas_used);
        Ok(())
    }
}

fn redeem(grant: &Delegation, call: &Execution) -> Result<Bytes> {
    let context = PermissionContext::new(vec![grant.clone()])?;
    Ok(Redemption::single(DELEGATION_MANAGER, context, call).calldata())
}

#[tokio::test]
async fn named_gas_figures_are_the_committed_ones() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.fixed_owner(AccountKind::Stateless7702).await?;
    let hybrid = stage.fixed_owner(AccountKind::Hybrid).await?;
    stage.fund(SESSION, STIPEND, U256::ZERO).await?;
    let account = owner.account.address;
    stage.warp(START).await?;
    let start = START;
    let window = MortalityTimeWindow::new(start, start + 604_800)?;
    let stock = Timestamp { after: (start - 1).into(), before: (start + 604_801).into() };
    let grant = |delegator: Address, caveats: Vec<Caveat>| Delegation {
        delegate: SESSION,
        delegator,
        authority: ROOT_AUTHORITY,
        caveats,
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    let sign = |grant: Delegation| owner.signer.grant(&stage.domain(), grant);
    let bare = sign(grant(account, vec![]))?;
    let timed = sign(grant(account, vec![Caveat::new(enforcers::TIMESTAMP, stock.encode())]))?;
    let mortal =
        sign(grant(account, vec![Caveat::new(mortality_time_window_enforcer(), window.encode())]))?;
    let full = sign(unsigned(account, &swap_grant(&stage, SESSION, account, 9, window)))?;
    let vault = hybrid.account.address;
    let in_vault = unsigned(vault, &swap_grant(&stage, SESSION, vault, 9, window));
    let in_vault = hybrid.signer.grant(&stage.domain(), in_vault)?;
    let one = swap(&stage, account, dollars(1));
    let from_vault = swap(&stage, vault, dollars(1));
    let mut meter = Meter { stage: &stage, figures: BTreeMap::new() };

    let manager = DELEGATION_MANAGER;
    // Warms nothing between transactions, but gives the account its first WETH slot.
    meter.record("owner swaps directly, first", account, one.target, one.data.clone()).await?;
    meter.record("owner swaps directly, later", account, one.target, one.data.clone()).await?;
    meter.record("no caveat swap later", SESSION, manager, redeem(&bare, &one)?).await?;
    meter.record("stock timestamp swap later", SESSION, manager, redeem(&timed, &one)?).await?;
    meter.record("mortality window swap later", SESSION, manager, redeem(&mortal, &one)?).await?;
    meter
        .record("swap grant, seven caveats, first", SESSION, manager, redeem(&full, &one)?)
        .await?;
    meter
        .record("swap grant, seven caveats, later", SESSION, manager, redeem(&full, &one)?)
        .await?;
    meter
        .record(
            "swap grant from a Hybrid vault, first",
            SESSION,
            manager,
            redeem(&in_vault, &from_vault)?,
        )
        .await?;
    meter
        .record(
            "swap grant from a Hybrid vault, later",
            SESSION,
            manager,
            redeem(&in_vault, &from_vault)?,
        )
        .await?;
    let chain_id = stage.node().chain_id();
    let stop = owner.account.revocation(chain_id, &owner.signer, &full)?;
    meter.record("revocation by a 7702 owner", stop.from, stop.to, stop.data).await?;
    let stop = hybrid.account.revocation(chain_id, &hybrid.signer, &in_vault)?;
    meter.record("revocation by a Hybrid owner", stop.from, stop.to, stop.data).await?;
    let ours = deployables()
        .iter()
        .find(|contract| contract.name == "MortalityTimeWindowEnforcer")
        .context("nothing to deploy")?;
    // Another salt: the contract itself is on the chain already.
    let create = bardo_bindings::deterministic_call(B256::repeat_byte(1), &ours.init_code);
    meter
        .record("deployment of MortalityTimeWindowEnforcer", FAUCET, DETERMINISTIC_DEPLOYER, create)
        .await?;
    let code = &stage.book().proxy_code;
    let signer = hybrid.signer.address();
    let other = golem_chain::hybrid_account(signer, B256::repeat_byte(2), code);
    let create = other.creation().context("a vault is created by the factory")?;
    meter.record("creation of a Hybrid vault", signer, SIMPLE_FACTORY, create.clone()).await?;

    // The one figure that is a promise: our window costs no more than the stock one it replaces.
    let [ours, stock] = ["mortality window swap later", "stock timestamp swap later"]
        .map(|name| meter.figures.get(name).copied().unwrap_or_default());
    ensure!(ours <= stock, "our window {ours}, stock timestamp {stock}");

    let path = root().join("contracts/snapshots/redemptions.json");
    let measured = format!("{}\n", serde_json::to_string_pretty(&meter.figures)?);
    if env::var_os("BLESS_GAS").is_some() {
        ensure!(env::var_os("CI").is_none(), "CI compares; it does not bless");
        fs::write(&path, &measured)?;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    ensure!(
        measured == committed,
        "gas moved; if it should have, run `make snapshots` and commit the file.\ncommitted: {committed}\nmeasured: {measured}"
    );
    Ok(())
}
