//! SPEC K8, D18, D25, D28: a Golem dies on the real contracts, with real books and keys. What it held under its grant is its owner's
//! again, or is left to him with a reason; nothing may be taken from him afterwards.

mod crash;

use crate::{
    books::{lane_of, password},
    field::Field,
};
use alloy::{
    primitives::{
        Address, B256, Bytes, U256,
        aliases::{U24, U160},
        keccak256,
    },
    providers::{Provider as _, ext::AnvilApi as _},
    rpc::types::Filter,
    sol_types::{SolCall as _, SolEvent as _},
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::{
    GolemLifecycle, GolemRegistry, PolicyCage,
    defi::{
        Erc20, Erc4626, NonfungiblePositionManager,
        SwapRouter02::{ExactInputSingleParams, exactInputSingleCall},
        Weth9,
    },
    golem_charter_enforcer, golem_lifecycle, golem_registry, policy_cage,
};
use bardo_store::{Archive, Store, StoreConfig};
use bardo_testkit::{STIPEND, charter_of, chartered, dollars};
use golem_chain::{AccountKind, GrantedEstate, Landing, Ledger, Node, Registry, boot, facts};
use golem_custody::{
    Asset, Caps, CustodyMode, DeathOrder, DeathSettlement, DeathSteps, DeferredPosition,
    DenialCode, Estate, ExpiryKind, Holding, IntentId, Judged, Keyring as _, Keys, Leftover,
    Mandate, SettledPosition, Settlement, Settling,
};
use golem_delegation::{PermissionContext, terms::GolemCharter};
use golem_safety::{Boot, Cage};
use std::{collections::BTreeSet, path::Path, sync::Arc};
use tempfile::TempDir;

const SALT: B256 = B256::repeat_byte(0x62);
const CONSTITUTION: &[u8] = b"Leave nothing behind that is not yours to leave.\n";
const DOLLAR: u64 = 1_000_000;
/// Runway that the key redeemed and did not use.
const RUNWAY: u64 = 7;
/// Seconds for which a price counts.
const MAX_AGE: u32 = 3_600;

/// A Golem in its last phase. Its account has dollars, a position, a vault's shares, wrapped ether and open allowances; its key has gas
/// money and what is left of its runway.
struct Deathbed {
    field: Field,
    law: GolemCharter,
    context: PermissionContext,
    folder: TempDir,
}

impl Deathbed {
    async fn open(kind: AccountKind) -> Result<Self> {
        let bed = Self::before(kind).await?;
        bed.falls_ill().await?;
        Ok(bed)
    }

    /// The same while it still lives.
    async fn before(kind: AccountKind) -> Result<Self> {
        let (stage, owner) = Field::prepared(kind).await?;
        let folder = tempfile::tempdir()?;
        let keys = Keys::local(folder.path(), password()?)?;
        let key = keys.current().await.context("no key")?;
        stage.fund(key, STIPEND, dollars(RUNWAY)).await?;
        let law = charter_of(&stage, &owner, SALT, key, |law| {
            for token in &mut law.listing.tokens {
                token.max_age = MAX_AGE;
            }
        });
        let law = law.await?;
        let grant = owner.signer.grant(&stage.domain(), chartered(&law)?)?;
        let context = PermissionContext::new(vec![grant])?;
        let field = Field { stage, owner, golem_id: law.golem_id };
        let bed = Self { field, law, context, folder };
        bed.publishes().await?;
        bed.prices().await?;
        bed.field.position().await?;
        bed.field.deposited().await?;
        if kind == AccountKind::Hybrid {
            let coins = U256::from(10_000_000_000_000_000_u64);
            bed.field.stage.fund(bed.account(), coins, U256::ZERO).await?;
        }
        Ok(bed)
    }

    /// Feeds that answered just now.
    async fn prices(&self) -> Result<()> {
        let (stage, book) = (&self.field.stage, self.field.stage.book());
        let ether = i64::try_from(book.eth_price)?;
        stage.set_price(book.eth_usd, ether * 100_000_000).await?;
        stage.set_price(book.usdc_usd, 100_000_000).await
    }

    /// The owner's key publishes what the cage holds the Golem to.
    async fn publishes(&self) -> Result<()> {
        let book = self.field.stage.book();
        let mut assets = vec![Address::ZERO, book.usdc, book.weth];
        assets.sort_unstable();
        let policy = PolicyCage::Policy {
            constitutionHash: keccak256(CONSTITUTION),
            concentrationBps: 3_333,
            drawdownBps: 2_000,
            spendPerTransaction: 500 * DOLLAR,
            spendPerSession: 1_000 * DOLLAR,
            spendPerDay: 800 * DOLLAR,
            assets,
        };
        let data = PolicyCage::publishCall { salt: SALT, policy }.abi_encode();
        self.sends(self.law.owner, policy_cage(), data).await
    }

    /// The key tells the registry that it is in its last phase.
    async fn falls_ill(&self) -> Result<()> {
        let golem = self.law.golem_id;
        let last = GolemRegistry::updateVitalityCall { golemId: golem, phase: 4, score: 0 };
        self.sends(self.law.agent_key, golem_registry(), last.abi_encode()).await
    }

    async fn sends(&self, from: Address, to: Address, data: Vec<u8>) -> Result<()> {
        let receipt = self.field.stage.send_as(from, to, U256::ZERO, data.into()).await?;
        ensure!(receipt.status(), "failed");
        Ok(())
    }

    const fn account(&self) -> Address {
        self.law.account
    }

    const fn node(&self) -> &Node {
        self.field.stage.node()
    }

    /// What the Golem can bring home is worth by the feeds, in micro-dollars. Coins of an EOA are its own gas.
    async fn worth(&self) -> Result<U256> {
        let facts = facts(self.node(), &self.law, &[], Ledger::default()).await?;
        let counts = |asset: &Address| self.account() != self.law.beneficiary || !asset.is_zero();
        let held = facts.holdings.iter().filter(|(asset, _)| counts(asset));
        Ok(held.map(|(_, worth)| U256::from(worth.get())).sum())
    }

    async fn usdc(&self, of: Address) -> Result<U256> {
        self.field.stage.balance_of(self.field.stage.book().usdc, of).await
    }

    async fn dies(&self) -> Result<DeathSettlement> {
        match self.goes_on_dying().await? {
            Settling::Done(death) => Ok(death),
            Settling::Halted(denial) => bail!("it waits: {denial}"),
        }
    }

    async fn goes_on_dying(&self) -> Result<Settling> {
        let now = self.field.stage.now().await?;
        die(self.folder.path(), self.node().clone(), self.context.clone(), now).await
    }

    async fn positions(&self) -> Result<U256> {
        let manager = self.field.stage.book().position_manager;
        let owner = self.account();
        Ok(self.node().read(manager, NonfungiblePositionManager::balanceOfCall { owner }).await?)
    }

    /// Every allowance that a log speaks of is gone: the log is replayed, and each token asked.
    async fn nobody_may_take(&self) -> Result<()> {
        let owner = self.account();
        let filter = Filter::new()
            .event_signature(Erc20::Approval::SIGNATURE_HASH)
            .topic1(owner.into_word())
            .from_block(0);
        let mut given = BTreeSet::new();
        for log in self.node().provider().get_logs(&filter).await? {
            // Collections have an event of the same name, and another form.
            let Ok(approval) = Erc20::Approval::decode_log(&log.inner) else { continue };
            given.insert((log.address(), approval.spender));
        }
        ensure!(given.len() >= 4, "the scene has fewer allowances than it says: {given:?}");
        for (token, spender) in given {
            let left = self.node().read(token, Erc20::allowanceCall { owner, spender }).await?;
            ensure!(left.is_zero(), "{spender} may still take {left} of {token}");
        }
        Ok(())
    }

    /// What the books say was asked for a position is its worth, less the charter's bound at most: both tokens of it.
    fn asked_for_its_price(&self) -> Result<()> {
        let (records, _) = Archive::open(&self.folder.path().join("books"))?.audit()?;
        let mut datas: Vec<String> = Vec::new();
        for record in records.iter().filter(|record| record.kind == "intent.reserved") {
            let body: serde_json::Value = serde_json::from_str(&record.body)?;
            let calls = body.pointer("/entry/what/calls").and_then(serde_json::Value::as_array);
            let datas_of =
                calls.into_iter().flatten().filter_map(|call| call.get("data")?.as_str());
            datas.extend(datas_of.map(str::to_owned));
        }
        let closings = datas.iter().filter_map(|data| {
            let data: Bytes = data.parse().ok()?;
            NonfungiblePositionManager::decreaseLiquidityCall::abi_decode(&data).ok()
        });
        let [closing] = closings.collect::<Vec<_>>().try_into().ok().context("one closing")?;
        // A hundred dollars' worth of it was in the position, and so were a hundred dollars.
        let (ether, usd) = (closing.params.amount0Min, closing.params.amount1Min);
        let worth = ether * self.field.stage.book().eth_price / U256::from(1_000_000_000_000_u64);
        for asked in [worth, usd] {
            ensure!((dollars(97)..=dollars(101)).contains(&asked), "{asked}");
        }
        Ok(())
    }

    /// The registry is closed, the lifecycle has the manifest, and there is no key.
    async fn is_over(&self, death: &DeathSettlement) -> Result<()> {
        let entry = Registry::open(self.node()).await?.entry(self.law.golem_id).await?;
        ensure!(entry.context("no entry")?.state.closed, "the registry does not know");
        let (account, golem) = (self.account(), self.law.golem_id);
        let manifest = GolemLifecycle::manifestOfCall { account, golemId: golem };
        assert_eq!(self.node().read(golem_lifecycle(), manifest).await?, death.hash());
        ensure!(!self.folder.path().join("session-key.json").exists(), "the key is there");
        Ok(())
    }
}

/// Makes a contract refuse these functions, and do everything else as it did: the way of a token that is stopped.
async fn stops(bed: &Deathbed, at: Address, aside: Address, functions: &[[u8; 4]]) -> Result<()> {
    let provider = bed.node().provider();
    provider.anvil_set_code(aside, provider.get_code_at(at).await?).await?;
    // The selector is compared with each; what is none of them is handed on, on the contract's own storage.
    let mut code = vec![0x5f, 0x35, 0x60, 0xe0, 0x1c];
    let ok = u8::try_from(code.len() + 10 * functions.len() + 41)?;
    for function in functions {
        code.extend([0x80, 0x63]);
        code.extend(function);
        code.extend([0x14, 0x60, ok + 4, 0x57]);
    }
    code.extend([0x36, 0x5f, 0x5f, 0x37, 0x5f, 0x5f, 0x36, 0x5f, 0x73]);
    code.extend(aside);
    code.extend([0x5a, 0xf4, 0x3d, 0x5f, 0x5f, 0x3e, 0x60, ok, 0x57, 0x3d, 0x5f, 0xfd]);
    code.extend([0x5b, 0x3d, 0x5f, 0xf3, 0x5b, 0x5f, 0x5f, 0xfd]);
    provider.anvil_set_code(at, code.into()).await?;
    Ok(())
}

/// One process of a Golem that dies, or goes on dying.
async fn die(folder: &Path, node: Node, context: PermissionContext, now: u64) -> Result<Settling> {
    let mut terms = context.root().caveats.iter();
    let terms = terms.find(|caveat| caveat.enforcer == golem_charter_enforcer());
    let law = GolemCharter::decode(&terms.context("no charter")?.terms)?;
    let golem = law.golem_id;
    let store = Arc::new(Store::open(&books(folder, golem), None)?);
    let death = DeathSteps::new(store.as_ref(), U256::ZERO);
    // Who is settled has no key, and needs none.
    if let Some(Settlement::Settled { death, .. }) = death.at().await? {
        return Ok(Settling::Done(death));
    }
    let keys = Keys::local(folder, password()?)?;
    let lane = lane_of(&keys, node.clone(), mandate(&law, &store), now).await?;
    let cage = caged(&node, golem).await?;
    let delegation = context.leaf().hash().0;
    let estate = GrantedEstate::new(context, &lane, &cage, &keys, store.as_ref())?;
    let held = Estate::Granted { delegation, cause: ExpiryKind::Relinquished };
    let order = DeathOrder { golem, estate: held, exhaustion: None };
    death.accept(CustodyMode::LocalKey, order, now).await?;
    Ok(death.run(&estate, now).await?)
}

fn books(folder: &Path, golem: B256) -> StoreConfig {
    StoreConfig { folder: folder.join("books"), golem, max_pages: None }
}

fn mandate(law: &GolemCharter, store: &Arc<Store>) -> Mandate {
    let caps = Caps { session: 1_000 * DOLLAR, day: 800 * DOLLAR, owner_day: None };
    let (golem, owner) = (law.golem_id, law.owner);
    Mandate { golem, owner, caps, consent: None, books: store.clone() }
}

async fn caged(node: &Node, golem: B256) -> Result<Cage> {
    match boot(node, golem, CONSTITUTION).await? {
        Boot::Caged(cage) => Ok(cage),
        Boot::Refused(denial) => bail!("{denial}"),
    }
}

fn parts(death: &DeathSettlement) -> Result<(&[SettledPosition], &[DeferredPosition])> {
    match death {
        DeathSettlement::DelegationExpiry { positions_settled, positions_deferred, .. } => {
            Ok((positions_settled, positions_deferred))
        }
        other => bail!("{other:?}"),
    }
}

/// SPEC K8, D18: from a position, shares, wrapped ether and open allowances to nothing but what the owner settles in.
#[tokio::test]
async fn an_orderly_death_brings_the_owner_what_the_golem_held() -> Result<()> {
    for kind in [AccountKind::Hybrid, AccountKind::Stateless7702] {
        let bed = Deathbed::open(kind).await?;
        let (book, home) = (bed.field.stage.book(), bed.law.beneficiary);
        let (account, key) = (bed.account(), bed.law.agent_key);
        let worth = bed.worth().await?;
        ensure!(worth > dollars(9_900), "{kind:?}: {worth}");
        let held = if home == account { U256::ZERO } else { bed.usdc(home).await? };
        let coins = bed.node().balance(home).await?;

        let death = bed.dies().await?;

        let (settled, deferred) = parts(&death)?;
        assert_eq!(deferred, [], "{kind:?}");
        let brought = bed.usdc(home).await? - held;
        let most_lost = worth / U256::from(100);
        ensure!(brought + most_lost >= worth + dollars(RUNWAY), "{kind:?}: {brought} of {worth}");
        assert_eq!(bed.positions().await?, U256::ZERO, "{kind:?}");
        for token in [book.weth, book.vault] {
            assert_eq!(bed.field.stage.balance_of(token, account).await?, U256::ZERO, "{kind:?}");
        }
        if home != account {
            assert_eq!(bed.usdc(account).await?, U256::ZERO, "{kind:?}");
        }
        // The key's own: dollars to the last, and coins but for the price of one more transaction.
        assert_eq!(bed.usdc(key).await?, U256::ZERO, "{kind:?}");
        ensure!(bed.node().balance(home).await? > coins, "{kind:?}: gas money did not come home");
        let price = U256::from(bed.node().plan(key).await?.max_fee_per_gas);
        ensure!(
            bed.node().balance(key).await? < price * U256::from(500_000),
            "{kind:?}: gas money died with the key"
        );
        for of in [Holding::Token(book.vault), Holding::Token(book.weth), Holding::Native] {
            ensure!(settled.iter().any(|one| one.of == of), "{kind:?}: silent on {of:?}");
        }
        let is_position = |one: &&SettledPosition| matches!(one.of, Holding::Position { .. });
        assert_eq!(settled.iter().filter(is_position).count(), 1, "{kind:?}");
        bed.nobody_may_take().await?;
        bed.is_over(&death).await?;
        bed.asked_for_its_price()?;
    }
    Ok(())
}

/// D18: a feed outage traps nothing. What needs a price is left to the owner with the reason; everything else is his.
#[tokio::test]
async fn a_sudden_death_without_prices_traps_nothing() -> Result<()> {
    let bed = Deathbed::open(AccountKind::Hybrid).await?;
    let (stage, book, home) = (&bed.field.stage, bed.field.stage.book(), bed.law.beneficiary);
    let (account, before) = (bed.account(), bed.usdc(home).await?);
    let dollars_held = bed.usdc(account).await?;
    let wrapped = stage.balance_of(book.weth, account).await?;
    let coins = bed.node().balance(account).await?;
    let vaulted = stage.balance_of(book.vault, account).await?;
    ensure!(!wrapped.is_zero() && !coins.is_zero() && !vaulted.is_zero(), "an empty scene");
    stage.warp(stage.now().await? + 2 * u64::from(MAX_AGE)).await?;

    let death = bed.dies().await?;

    let (_, deferred) = parts(&death)?;
    let [position] = deferred else { bail!("{deferred:?}") };
    ensure!(matches!(position.of, Holding::Position { .. }), "{position:?}");
    ensure!(position.reason.contains("answers count for"), "{}", position.reason);
    assert_eq!(bed.positions().await?, U256::ONE, "it is where it was");
    // Shares need no price, nor does the way home: wrapped ether comes as it is, and coins as wrapped ether.
    assert_eq!(stage.balance_of(book.vault, account).await?, U256::ZERO);
    ensure!(bed.usdc(home).await? >= before + dollars_held + dollars(10 + RUNWAY) - U256::from(2));
    assert_eq!(stage.balance_of(book.weth, home).await?, wrapped + coins);
    assert_eq!(bed.node().balance(account).await?, U256::ZERO);
    bed.nobody_may_take().await?;
    bed.is_over(&death).await
}

/// ATK-45, D30 to the end: in a market that somebody has moved nothing is given away.
#[tokio::test]
async fn in_a_moved_market_liquidity_is_left_and_not_dumped() -> Result<()> {
    let bed = Deathbed::open(AccountKind::Hybrid).await?;
    let (stage, book) = (&bed.field.stage, bed.field.stage.book());
    let home = bed.law.beneficiary;
    let wrapped = stage.balance_of(book.weth, bed.account()).await?
        + bed.node().balance(bed.account()).await?;
    let held = bed.usdc(bed.account()).await?;
    let before = bed.usdc(home).await?;
    let whale = Address::repeat_byte(0x3a);
    for fee in [500, 3_000] {
        moves(&bed, whale, fee).await?;
    }

    let death = bed.dies().await?;

    let (_, deferred) = parts(&death)?;
    let [position] = deferred else { bail!("{deferred:?}") };
    ensure!(matches!(position.of, Holding::Position { .. }), "{position:?}");
    ensure!(position.reason.contains("off the feeds'"), "{}", position.reason);
    assert_eq!(bed.positions().await?, U256::ONE);
    // Nobody pays its price for the wrapped ether, so it comes home as it is.
    assert_eq!(stage.balance_of(book.weth, home).await?, wrapped);
    ensure!(bed.usdc(home).await? >= before + held + dollars(10 + RUNWAY) - U256::from(2));
    bed.nobody_may_take().await?;
    bed.is_over(&death).await
}

/// A whale sells ether into a pool until it is cheap there.
async fn moves(bed: &Deathbed, whale: Address, fee: u32) -> Result<()> {
    let (stage, book) = (&bed.field.stage, bed.field.stage.book());
    let ether = U256::from(10).pow(U256::from(18));
    let much = U256::from(100_000) * ether;
    stage.node().provider().anvil_set_balance(whale, much * U256::from(3)).await?;
    let wrap = Weth9::depositCall {}.abi_encode();
    let receipt = stage.send_as(whale, book.weth, much, wrap.into()).await?;
    ensure!(receipt.status(), "not wrapped");
    let allow = Erc20::approveCall { spender: book.swap_router_02, amount: U256::MAX };
    bed.sends(whale, book.weth, allow.abi_encode()).await?;
    let params = ExactInputSingleParams {
        tokenIn: book.weth,
        tokenOut: book.usdc,
        fee: U24::from(fee),
        recipient: whale,
        amountIn: much,
        amountOutMinimum: U256::ZERO,
        sqrtPriceLimitX96: U160::ZERO,
    };
    bed.sends(whale, book.swap_router_02, exactInputSingleCall { params }.abi_encode()).await
}

/// Nothing settles before the registry knows that the Golem dies: the charter would not exempt it. The same death goes on afterwards.
#[tokio::test]
async fn a_death_waits_until_the_registry_knows_of_it() -> Result<()> {
    let bed = Deathbed::before(AccountKind::Stateless7702).await?;
    let sent = bed.node().provider().get_transaction_count(bed.law.agent_key).await?;

    let Settling::Halted(denial) = bed.goes_on_dying().await? else { bail!("it did not wait") };

    assert_eq!(denial.code, DenialCode::Phase, "{denial}");
    let count = bed.node().provider().get_transaction_count(bed.law.agent_key).await?;
    assert_eq!(count, sent, "something was sent");
    bed.falls_ill().await?;
    let death = bed.dies().await?;
    bed.nobody_may_take().await?;
    bed.is_over(&death).await
}

/// D19: a Golem whose owner revoked it first ends its own side alone. What it can no longer close is left to him, with the reason, and
/// its own money is his all the same.
#[tokio::test]
async fn a_revoked_golem_leaves_its_owner_a_list_and_its_purse() -> Result<()> {
    let bed = Deathbed::open(AccountKind::Hybrid).await?;
    let before = bed.usdc(bed.law.owner).await?;
    let revoke = GolemRegistry::revokeCall { golemId: bed.law.golem_id };
    bed.sends(bed.law.owner, golem_registry(), revoke.abi_encode()).await?;

    let death = bed.dies().await?;

    let (_, deferred) = parts(&death)?;
    ensure!(deferred.iter().all(|one| !one.reason.is_empty()), "{deferred:?}");
    let usdc = Holding::Token(bed.field.stage.book().usdc);
    ensure!(deferred.iter().any(|one| one.of == usdc && one.reason.contains("may still take")));
    ensure!(deferred.iter().any(|one| matches!(one.of, Holding::Position { .. })));
    assert_eq!(bed.positions().await?, U256::ONE);
    assert_eq!(bed.usdc(bed.law.owner).await?, before + dollars(RUNWAY));
    let entry = Registry::open(bed.node()).await?.entry(bed.law.golem_id).await?;
    ensure!(entry.context("no entry")?.state.closed, "the registry does not know");
    Ok(())
}

/// D18: a vault that lets nothing out and a token that is stopped hold up nothing else.
#[tokio::test]
async fn what_is_stuck_does_not_hold_up_the_rest() -> Result<()> {
    let bed = Deathbed::open(AccountKind::Hybrid).await?;
    let (book, home) = (bed.field.stage.book(), bed.law.beneficiary);
    let (before, held) = (bed.usdc(home).await?, bed.usdc(bed.account()).await?);
    let closed = [Erc4626::redeemCall::SELECTOR];
    stops(&bed, book.vault, Address::repeat_byte(0x51), &closed).await?;
    let stopped = [Erc20::transferCall::SELECTOR, Erc20::approveCall::SELECTOR];
    stops(&bed, book.weth, Address::repeat_byte(0x52), &stopped).await?;

    let death = bed.dies().await?;

    let (_, deferred) = parts(&death)?;
    let shares = bed.field.stage.balance_of(book.vault, bed.account()).await?;
    ensure!(
        deferred.iter().any(|one| one.of == Holding::Token(book.vault) && one.amount == shares)
    );
    ensure!(deferred.iter().any(|one| matches!(one.of, Holding::Position { .. })), "{deferred:?}");
    // Its allowances are as stuck as the token is, and that is said.
    let open = |one: &&DeferredPosition| one.reason.contains("may still take");
    let open: Vec<_> = deferred.iter().filter(open).collect();
    ensure!(open.len() == 2 && open.iter().all(|one| one.of == Holding::Token(book.weth)));
    ensure!(bed.usdc(home).await? >= before + held + dollars(RUNWAY), "dollars were held up");
    assert_eq!(bed.usdc(bed.account()).await?, U256::ZERO);
    bed.is_over(&death).await
}

/// D25, INV-1: what is a key's own goes to its owner and to nobody else, whoever asks.
#[tokio::test]
async fn a_keys_own_money_goes_to_its_owner_alone() -> Result<()> {
    let bed = Deathbed::before(AccountKind::Stateless7702).await?;
    let (usdc, key) = (bed.field.stage.book().usdc, bed.law.agent_key);
    let store = Arc::new(Store::open(&books(bed.folder.path(), bed.law.golem_id), None)?);
    let keys = Keys::local(bed.folder.path(), password()?)?;
    let lane =
        lane_of(&keys, bed.node().clone(), mandate(&bed.law, &store), bed.field.stage.now().await?);
    let lane = lane.await?;
    let stranger = Address::repeat_byte(0x77);
    let sends = |to, asset, amount, name| {
        let leftover = Leftover { to, asset, amount };
        Judged::leftover(IntentId(B256::repeat_byte(name)), leftover)
    };
    let (some, wei) = (dollars(1), U256::from(1_000));

    for (name, asset, amount) in [(1, Asset::Erc20(usdc), some), (2, Asset::Native, wei)] {
        let landing = lane.redeem(sends(stranger, asset, amount, name)).await?;
        let Landing::Refused(denial) = landing else { bail!("{landing:?}") };
        assert_eq!(denial.code, DenialCode::PolicyParty, "{denial}");
    }
    assert_eq!(bed.usdc(key).await?, dollars(RUNWAY));
    assert_eq!(bed.node().balance(stranger).await?, U256::ZERO);
    let before = (bed.usdc(bed.law.owner).await?, bed.node().balance(bed.law.owner).await?);
    for (name, asset, amount) in [(3, Asset::Erc20(usdc), some), (4, Asset::Native, wei)] {
        let landing = lane.redeem(sends(bed.law.owner, asset, amount, name)).await?;
        ensure!(matches!(landing, Landing::Done(_)), "{landing:?}");
    }
    let after = (bed.usdc(bed.law.owner).await?, bed.node().balance(bed.law.owner).await?);
    assert_eq!(after, (before.0 + some, before.1 + wei));
    // More than there is is refused before anything is signed.
    let landing = lane.redeem(sends(bed.law.owner, Asset::Erc20(usdc), dollars(RUNWAY), 5)).await?;
    ensure!(matches!(landing, Landing::Refused(_)), "{landing:?}");
    Ok(())
}
