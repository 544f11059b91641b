//! Named gas figures: receipts of whole transactions, stock enforcers and ours in one run.
//!
//! `make snapshots` rewrites the committed file; a figure that moved without it fails here.

mod rules;

use alloy::{
    primitives::{Address, B256, Bytes, U256, address},
    providers::ext::AnvilApi,
    sol_types::SolCall,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{
    GolemRegistry, daily_spend_limit_enforcer,
    defi::{Erc20, SwapRouter02::exactInputSingleCall},
    deployables, dream_mode_enforcer,
    framework::{DELEGATION_MANAGER, DETERMINISTIC_DEPLOYER, SIMPLE_FACTORY},
    golem_phase_enforcer, golem_registry, max_slippage_enforcer, mortality_time_window_enforcer,
    vault_nav_enforcer,
};
use bardo_testkit::{
    Owner, STIPEND, Stage, charter, chartered, dollars, fair_swap, fixed_signer, root, swap,
    swap_grant, unsigned,
};
use golem_chain::{AccountKind, local::FAUCET};
use golem_custody::{Execution, Redemption};
use golem_delegation::{
    Caveat, Delegation, PermissionContext, ROOT_AUTHORITY, enforcers,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, DailySpendLimit, DreamMode, GolemCharter,
        GolemPhase, LimitedCalls, ListedToken, MaxSlippage, MortalityTimeWindow, Redeemer, Role,
        Timestamp, ValueLte, VaultNav,
    },
};
use std::{collections::BTreeMap, env, fs};

/// A redeemer whose address never changes: calldata, and so gas, depends on it.
const SESSION: Address = address!("5e5510000000000000000000000000000000f00d");

/// A moment that never changes, after the local chain's own: it stands in terms and calldata.
const START: u64 = 1_800_100_000;

/// From then on. The chain's clock runs on while others work; what stands in calldata must not.
fn life() -> Result<MortalityTimeWindow> {
    Ok(MortalityTimeWindow::new(START, START + 90 * 86_400)?)
}

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

    fn figure(&self, name: &str) -> Result<u64> {
        self.figures.get(name).copied().with_context(|| format!("{name} was not measured"))
    }

    /// Fails where the committed figures are others.
    fn compare(&self, file: &str) -> Result<()> {
        let path = root().join(format!("contracts/snapshots/{file}.json"));
        let measured = format!("{}\n", serde_json::to_string_pretty(&self.figures)?);
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
    let ours = meter.figure("mortality window swap later")?;
    let stock = meter.figure("stock timestamp swap later")?;
    ensure!(ours <= stock, "our window {ours}, stock timestamp {stock}");

    meter.compare("redemptions")
}

/// Nine stock caveats around the same swap, as near to the charter's policy as they come.
fn nine_stock_caveats(stage: &Stage, account: Address, call: &Execution) -> Result<Vec<Caveat>> {
    let book = stage.book();
    let selector = exactInputSingleCall::SELECTOR.into();
    // tokenIn, tokenOut, fee, recipient and amount, a word each behind the selector.
    let pinned = AllowedCalldata { start: U256::from(4), value: call.data.slice(4..164) };
    let window = Timestamp { after: (START - 1).into(), before: (START + 604_801).into() };
    // Balance may not fall, by token and holder: enforced in the after hook.
    let rises = [&[0u8][..], book.weth.as_slice(), account.as_slice(), &[0; 32]].concat();
    Ok(vec![
        Caveat::new(enforcers::ALLOWED_TARGETS, AllowedTargets(vec![call.target]).encode()),
        Caveat::new(enforcers::ALLOWED_METHODS, AllowedMethods(vec![selector]).encode()),
        Caveat::new(enforcers::ALLOWED_CALLDATA, pinned.encode()),
        Caveat::new(enforcers::VALUE_LTE, ValueLte(U256::ZERO).encode()),
        Caveat::new(enforcers::TIMESTAMP, window.encode()),
        Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::from(9)).encode()),
        Caveat::new(enforcers::REDEEMER, Redeemer(vec![SESSION]).encode()),
        Caveat::new(enforcers::NONCE, vec![0; 32]),
        Caveat::new(enforcers::ERC20_BALANCE_CHANGE, rises),
    ])
}

/// The charter beside the stock caveats it replaces, and what may be added to it.
#[tokio::test]
async fn the_charters_gas_is_within_its_bounds_and_as_committed() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.fixed_owner(AccountKind::Stateless7702).await?;
    let child = fixed_signer(0x5c)?;
    for key in [SESSION, child.address()] {
        stage.fund(key, STIPEND, U256::ZERO).await?;
    }
    stage.warp(START).await?;
    let account = owner.account.address;
    let manager = DELEGATION_MANAGER;
    let sign = |grant: Delegation| owner.signer.grant(&stage.domain(), grant);
    let one = fair_swap(&stage, account, dollars(1));
    let bare = |caveats: Vec<Caveat>, delegate: Address| Delegation {
        delegate,
        delegator: account,
        authority: ROOT_AUTHORITY,
        caveats,
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    let life = life()?;
    let law = charter(&stage, &owner, SESSION, |law| law.window = life).await?;
    let grant = |change: &dyn Fn(&mut GolemCharter)| {
        let mut law = law.clone();
        change(&mut law);
        anyhow::Ok(sign(chartered(&law)?)?)
    };
    let mut meter = Meter { stage: &stage, figures: BTreeMap::new() };
    // The account holds both tokens before the first redemption: their slots are not the grant's.
    meter.record("owner swaps directly, first", account, one.target, one.data.clone()).await?;
    meter.record("owner swaps directly, later", account, one.target, one.data.clone()).await?;
    let free = sign(bare(vec![], SESSION))?;
    meter.record("no caveat swap later", SESSION, manager, redeem(&free, &one)?).await?;
    let nine = sign(bare(nine_stock_caveats(&stage, account, &one)?, SESSION))?;
    for name in ["nine stock caveats swap first", "nine stock caveats swap later"] {
        meter.record(name, SESSION, manager, redeem(&nine, &one)?).await?;
    }

    let plain = grant(&|_| ())?;
    let data = redeem(&plain, &one)?;
    for name in ["charter swap first", "charter swap later"] {
        meter.record(name, SESSION, manager, data.clone()).await?;
    }
    for (name, seconds) in [
        ("charter swap later, an hour on", 3_600),
        ("charter swap later, in the next bucket", 7_200),
        ("charter swap later, days on", 200_000),
    ] {
        stage.warp(stage.now().await? + seconds).await?;
        meter.record(name, SESSION, manager, data.clone()).await?;
    }
    meter.record("charter swap later, minutes on", SESSION, manager, data.clone()).await?;
    let next_epoch = grant(&|law| law.epoch = 2)?;
    let data = redeem(&next_epoch, &one)?;
    meter.record("charter swap, first of a new epoch", SESSION, manager, data).await?;

    let uptime = stage.book().sequencer_uptime;
    let with_sequencer = grant(&|law| {
        law.epoch = 2;
        law.listing.sequencer_feed = uptime;
        law.listing.sequencer_grace = 3_600;
    })?;
    let data = redeem(&with_sequencer, &one)?;
    meter.record("charter swap later, with sequencer feed", SESSION, manager, data).await?;
    let further = |count: u8| {
        move |law: &mut GolemCharter| {
            law.epoch = 2;
            let swapped = std::mem::take(&mut law.listing.tokens);
            for byte in 1..=count {
                law.listing.tokens.push(ListedToken {
                    token: Address::repeat_byte(byte),
                    role: Some(Role::Token),
                    feed: Address::repeat_byte(byte | 0x80),
                    token_decimals: 18,
                    feed_decimals: 8,
                    max_age: 86_400,
                });
            }
            // Behind the others, so that every search passes all of them.
            law.listing.tokens.extend(swapped);
        }
    };
    for (name, count) in [
        ("charter swap later, one further token", 1),
        ("charter swap later, two further tokens", 2),
        ("charter swap later, ten further tokens", 10),
    ] {
        meter.record(name, SESSION, manager, redeem(&grant(&further(count))?, &one)?).await?;
    }

    let book = stage.book();
    let allow = Erc20::approveCall { spender: book.swap_router_02, amount: dollars(1) };
    let allow = Execution { target: book.usdc, value: U256::ZERO, data: allow.abi_encode().into() };
    let context = PermissionContext::new(vec![next_epoch.clone()])?;
    let both = Redemption::batch(manager, context, &[allow, one.clone()]).calldata();
    meter.record("charter approve and swap in one batch", SESSION, manager, both).await?;
    // The batch left an allowance of nothing behind.
    let allow = Erc20::approveCall { spender: book.swap_router_02, amount: dollars(10_000) };
    owner.act(&stage, book.usdc, allow).await?;

    let parent = grant(&|law| {
        law.epoch = 2;
        law.agent_key = child.address();
        law.replicants = true;
    })?;
    let data = redeem(&parent, &one)?;
    meter.record("charter swap later, by its delegate", child.address(), manager, data).await?;
    let link = Delegation {
        delegate: SESSION,
        delegator: child.address(),
        authority: parent.hash().0,
        caveats: vec![],
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    let link = child.grant(&stage.domain(), link)?;
    let context = PermissionContext::new(vec![link, parent])?;
    let data = Redemption::single(manager, context, &one).calldata();
    meter.record("charter swap later, one more link", SESSION, manager, data).await?;

    let human = owner.signer.address();
    let stop = GolemRegistry::revokeCall { golemId: law.golem_id }.abi_encode();
    meter.record("revoke by the owner's EOA", human, golem_registry(), stop.into()).await?;
    for name in ["revokeAll by the owner's EOA, first", "revokeAll by the owner's EOA, later"] {
        let stop = GolemRegistry::revokeAllCall {}.abi_encode();
        meter.record(name, human, golem_registry(), stop.into()).await?;
    }

    one_rule_alone(&mut meter, &owner, &law).await?;
    from_a_vault(&mut meter).await?;
    meter.compare("charter")?;
    within_bounds(&meter)
}

/// Each rule as a caveat of its own, and all six on one grant.
async fn one_rule_alone(meter: &mut Meter<'_>, owner: &Owner, law: &GolemCharter) -> Result<()> {
    let stage = meter.stage;
    let one = fair_swap(stage, law.account, dollars(1));
    let listing = || law.listing.clone();
    let (golem_id, registry) = (law.golem_id, law.registry);
    let phase = GolemPhase { golem_id, registry, staleness: law.staleness, listing: listing() };
    let spend = DailySpendLimit {
        golem_id,
        epoch: law.epoch,
        cap: law.spend_cap,
        bucket_minutes: law.bucket_minutes,
        listing: listing(),
    };
    let nav = VaultNav {
        golem_id,
        vault: law.vault,
        bps: law.nav_bps,
        cap: law.nav_cap,
        listing: listing(),
    };
    let slippage = MaxSlippage { bps: law.slippage_bps, listing: listing() };
    let caveats = [
        ("phase alone, swap later", golem_phase_enforcer(), phase.encode()?),
        ("time window alone, swap later", mortality_time_window_enforcer(), law.window.encode()),
        (
            "dream alone, swap later",
            dream_mode_enforcer(),
            DreamMode { golem_id, registry }.encode(),
        ),
        ("vault NAV alone, swap later", vault_nav_enforcer(), nav.encode()?),
        ("slippage alone, swap later", max_slippage_enforcer(), slippage.encode()?),
        ("daily spend alone, swap later", daily_spend_limit_enforcer(), spend.encode()?),
    ]
    .map(|(name, enforcer, terms)| (name, Caveat::new(enforcer, terms)));
    let grant = |caveats: Vec<Caveat>| {
        let grant = Delegation { caveats, ..chartered(law)? };
        anyhow::Ok(owner.signer.grant(&stage.domain(), grant)?)
    };
    let all = grant(caveats.iter().map(|(_, caveat)| caveat.clone()).collect())?;
    let data = redeem(&all, &one)?;
    for name in ["six separate rules, swap first", "six separate rules, swap later"] {
        meter.record(name, SESSION, DELEGATION_MANAGER, data.clone()).await?;
    }
    for (name, caveat) in caveats {
        let data = redeem(&grant(vec![caveat])?, &one)?;
        meter.record(name, SESSION, DELEGATION_MANAGER, data).await?;
    }
    Ok(())
}

/// The same from a Hybrid vault, whose proxy every execution passes twice.
async fn from_a_vault(meter: &mut Meter<'_>) -> Result<()> {
    let stage = meter.stage;
    let owner = stage.fixed_owner(AccountKind::Hybrid).await?;
    let account = owner.account.address;
    let one = fair_swap(stage, account, dollars(1));
    let life = life()?;
    let law = charter(stage, &owner, SESSION, |law| {
        law.golem_id = B256::repeat_byte(0x61);
        law.window = life;
    })
    .await?;
    // Another Golem of the same owner: the first one's grants are revoked.
    let salt = B256::repeat_byte(0x61);
    let register = GolemRegistry::registerCall { salt, agentKey: SESSION }.abi_encode();
    let human = owner.signer.address();
    let receipt = stage.send_as(human, golem_registry(), U256::ZERO, register.into()).await?;
    ensure!(receipt.status(), "registration failed");
    let golem_id =
        stage.node().read(golem_registry(), GolemRegistry::golemIdOfCall { owner: human, salt });
    let generation = GolemRegistry::generationOfCall { owner: human };
    let law = GolemCharter {
        golem_id: golem_id.await?,
        generation: stage.node().read(golem_registry(), generation).await?,
        ..law
    };
    let grant = owner.signer.grant(&stage.domain(), chartered(&law)?)?;
    let free = Delegation { caveats: vec![], ..grant.clone() };
    let free = owner.signer.grant(&stage.domain(), free)?;
    let data = redeem(&free, &one)?;
    for name in
        ["no caveat swap from a Hybrid vault, first", "no caveat swap from a Hybrid vault, later"]
    {
        meter.record(name, SESSION, DELEGATION_MANAGER, data.clone()).await?;
    }
    let data = redeem(&grant, &one)?;
    for name in
        ["charter swap from a Hybrid vault, first", "charter swap from a Hybrid vault, later"]
    {
        meter.record(name, SESSION, DELEGATION_MANAGER, data.clone()).await?;
    }
    stage.warp(stage.now().await? + 100_000).await?;
    meter
        .record("charter swap from a Hybrid vault, a day on", SESSION, DELEGATION_MANAGER, data)
        .await
}

/// What the charter promises about its price.
fn within_bounds(meter: &Meter<'_>) -> Result<()> {
    let at_most = |name: &str, gas: u64, bound: u64| {
        ensure!(gas <= bound, "{name}: {gas} gas, at most {bound} promised");
        Ok(())
    };
    let later = meter.figure("charter swap later, minutes on")?;
    at_most("first", meter.figure("charter swap first")?, 285_000)?;
    for name in [
        "charter swap later",
        "charter swap later, minutes on",
        "charter swap later, an hour on",
        "charter swap later, in the next bucket",
        "charter swap later, days on",
        "charter swap, first of a new epoch",
    ] {
        at_most(name, meter.figure(name)?, 260_000)?;
    }
    for (name, bound) in [
        ("charter swap later, with sequencer feed", 12_000),
        // A token is one word of terms or two, and the manager's price of a word is not ours: on average.
        ("charter swap later, ten further tokens", 20_000),
    ] {
        at_most(name, meter.figure(name)?.saturating_sub(later), bound)?;
    }
    let alone = meter.figure("charter swap later, by its delegate")?;
    let linked = meter.figure("charter swap later, one more link")?;
    at_most("one more link", linked.saturating_sub(alone), 30_000)?;
    for name in [
        "revoke by the owner's EOA",
        "revokeAll by the owner's EOA, first",
        "revokeAll by the owner's EOA, later",
    ] {
        at_most(name, meter.figure(name)?, 60_000)?;
    }
    let stock = meter.figure("nine stock caveats swap later")?;
    ensure!(later < stock, "charter {later}, nine stock caveats {stock}");
    Ok(())
}
