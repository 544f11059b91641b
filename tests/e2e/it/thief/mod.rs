//! A thief with a session key, every trick of the attack list, and the real chain.
//!
//! ```text
//!  Wish ──► Grant (a column) ──► signed delegation ──► Prey ──► trick ──► Ledger ──► Outcome ──► docs/thief.md
//! ```
//!
//! The owner's [`Wish`] is the same in every column; a column says how it becomes caveats. A trick
//! knows the wish and never the caveats: it tries what a thief would try, biggest first. What it
//! came to is measured, never declared by the trick.
//!
//! # A further column
//!
//! Implement [`Grant`] and name it in `COLUMNS`. Only `name`, `caveats`, `honest` and `expects` have
//! to be written; `expects` returns [`Expectation::Holds`] for a grant that no trick may beat. Then:
//!
//! - `setup` is for what the grant needs on chain before its first use. The Golem is on the
//!   register already: `wish.golem`, of `wish.owner`, with `wish.session` attached.
//! - `wish.epoch` counts the owner's grants to this key from 0; it is the delegation's salt too.
//!   `wish.series` is the lowest epoch that the register still takes.
//! - `redeem` wraps calls into `redeemDelegations`; the default is one single-mode tuple per call.
//! - `errors` lists error signatures, so that refusals have names. Contracts in
//!   `bardo_bindings::deployables` are named already.
//!
//! `THIEF_ONLY=<part of a trick's name>` plays some tricks alone and shows what came of them.

mod calls;
mod charter;
mod disk;
mod ledger;
mod prey;
mod refusal;
mod stock;
mod tricks;
mod victim;
mod week;
mod weeks;
mod wish;

use alloy::{
    primitives::{Address, B256, Bytes, U256, keccak256},
    providers::ext::AnvilApi,
    sol_types::SolValue,
};
use anyhow::{Context, Result, bail, ensure};
use bardo_bindings::{
    GolemRegistry, defi::NonfungiblePositionManager, framework::DELEGATION_MANAGER, golem_registry,
};
use bardo_testkit::{STIPEND, Stage, dollars, root};
use golem_chain::revocation;
use golem_custody::Execution;
use golem_delegation::{Caveat, Delegation, PermissionContext};
use ledger::{Ledger, Micros, Outcome, judge, whole};
use prey::Prey;
use std::{
    collections::BTreeSet,
    env,
    fmt::{self, Write},
    fs,
};
use tricks::{TRICKS, Trick};
use victim::{Kind, Victim};
use wish::{BENEFICIARY, FEE, SESSION, THIEF, Wish};

/// A moment that never changes, after the local chain's own.
const START: u64 = 1_800_100_000;
const WEEK: u64 = 604_800;

/// One way to say the owner's wish in caveats.
trait Grant: Sync {
    /// Head of its column.
    fn name(&self) -> &'static str;

    /// The wish in caveats.
    fn caveats(&self, wish: &Wish) -> Result<Vec<Caveat>>;

    /// Work that the wish allows and the grant must let through: redemptions, in order.
    fn honest(&self, wish: &Wish) -> Vec<Vec<Execution>>;

    /// What the thief does to it.
    fn expects(&self) -> Expectation;

    /// Calldata for the manager.
    fn redeem(&self, context: &PermissionContext, calls: &[Execution]) -> Bytes {
        prey::one_tuple_each(context, calls)
    }

    /// Transactions before the first redemption, with their senders; `grant` is signed.
    fn setup(&self, _wish: &Wish, _grant: &Delegation) -> Vec<(Address, Execution)> {
        vec![]
    }

    /// The owner's transactions that end the grant.
    fn revocation(&self, wish: &Wish, grant: &Delegation) -> Vec<(Address, Execution)> {
        let data = revocation(grant);
        vec![(wish.account, calls::raw(DELEGATION_MANAGER, U256::ZERO, data))]
    }

    /// Signatures of errors that its enforcers revert with.
    fn errors(&self) -> &'static [&'static str] {
        &[]
    }
}

/// What a column is expected to stand.
#[derive(Clone, Copy, Debug)]
enum Expectation {
    /// The thief wins with a trick of each of these rows, and maybe with others.
    LosesAtLeast(&'static [&'static str]),
    /// The thief wins with none.
    Holds,
}

const COLUMNS: &[&dyn Grant] = &[&stock::Seven, &stock::Nine, &CHARTER];
const CHARTER: charter::Charter = charter::Charter { replicants: true, swaps_only: false };

/// The field before any grant: an owner with 10 ether, 10,000 USDC, 1 WETH, 1,000 dollars in the
/// vault and about 2,000 in a pool; a thief with money to move markets.
async fn scene(stage: &Stage, kind: Kind) -> Result<(Victim, Wish)> {
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(true).await?;
    let victim = Victim::new(stage, kind).await?;
    let book = stage.book().clone();
    let (owner, account) = (victim.owner(), victim.account());
    stage.warp(START).await?;
    stage.set_price(book.eth_usd, 250_000_000_000).await?;
    stage.set_price(book.usdc_usd, 100_000_000).await?;

    let npm = book.position_manager;
    let ether = U256::from(1_000_000_000_000_000_000u64);
    let pair = |weth: U256, usdc: U256| [(book.weth, weth), (book.usdc, usdc)];
    for call in [
        calls::transfer(book.weth, account, ether),
        calls::approve(book.usdc, book.vault, dollars(1_000)),
        calls::vault_deposit(book.vault, dollars(1_000), account),
        calls::mint(
            npm,
            pair(ether * U256::from(4) / U256::from(10), dollars(1_000)),
            FEE,
            account,
        ),
    ] {
        let receipt = stage.send_as(golem_chain::local::FAUCET, call.target, call.value, call.data);
        ensure!(receipt.await?.status(), "a gift to the owner failed");
    }
    stage.fund(THIEF, ether * U256::from(100_000), dollars(100_000_000)).await?;
    let mut shopping = vec![calls::wrap(book.weth, ether * U256::from(50_000))];
    for spender in [book.swap_router_02, npm, book.vault] {
        for token in [book.usdc, book.weth] {
            shopping.push(calls::approve(token, spender, U256::MAX));
        }
    }
    shopping.push(calls::mint(npm, pair(ether, dollars(2_500)), FEE, THIEF));
    for call in shopping {
        let receipt = stage.send_as(THIEF, call.target, call.value, call.data).await?;
        ensure!(receipt.status(), "the thief cannot prepare himself");
    }

    let golem_salt = B256::repeat_byte(0x60);
    let golem = keccak256((owner, golem_salt).abi_encode());
    let register = GolemRegistry::registerCall { salt: golem_salt, agentKey: SESSION };
    let register = calls::call(golem_registry(), register);
    let receipt = stage.send_as(owner, register.target, U256::ZERO, register.data).await?;
    ensure!(receipt.status(), "registration failed");

    // Last, because all of the above was paid for.
    stage.fund(account, ether * U256::from(10), U256::ZERO).await?;
    stage.fund(SESSION, STIPEND / U256::from(2), U256::ZERO).await?;
    let first =
        |owner| NonfungiblePositionManager::tokenOfOwnerByIndexCall { owner, index: U256::ZERO };
    let wish = Wish {
        owner,
        account,
        session: SESSION,
        beneficiary: BENEFICIARY,
        start: START,
        end: START + WEEK,
        block: stage.node().head().await?.number,
        cap: dollars(1_000),
        slippage_bps: 100,
        gas_ceiling: STIPEND,
        // 0.02 ether.
        gas_daily: U256::from(20_000_000_000_000_000u64),
        staleness: 86_400,
        golem,
        epoch: 0,
        series: 0,
        position: stage.node().read(npm, first(account)).await?,
        foreign_position: stage.node().read(npm, first(THIEF)).await?,
        book,
    };
    ensure!(stage.balance_of(wish.book.usdc, account).await? == dollars(10_000), "not the prey");
    // From here on a block is made when its transactions are chosen.
    provider.anvil_set_auto_mine(false).await?;
    Ok((victim, wish))
}

/// A grant that refused everything would beat every thief.
#[tokio::test]
async fn the_honest_job_goes_through_under_every_grant() -> Result<()> {
    let stage = Stage::open().await?;
    let (owner, wish) = scene(&stage, Kind::Stateless7702).await?;
    for column in COLUMNS {
        let clean = stage.node().provider().anvil_snapshot().await?;
        let before = Ledger::take(&stage, &wish).await?;
        let mut prey = Prey::new(&stage, &owner, *column, wish.clone()).await?;

        for (step, call) in column.honest(&prey.wish).iter().enumerate() {
            let passed = prey.redeem(call).await?;
            ensure!(passed, "{}, step {step}: {:?}", column.name(), prey.refusals());
        }

        let outcome = judge(&prey, &before).await?;
        assert!(matches!(outcome, Outcome::Within { .. }), "{}: {outcome:?}", column.name());
        prey.revert(clean).await?;
    }
    Ok(())
}

/// Plays a trick against a fresh copy of the field.
async fn play(
    stage: &Stage,
    victim: &Victim,
    wish: &Wish,
    column: &dyn Grant,
    trick: &Trick,
) -> Result<Outcome> {
    let clean = stage.node().provider().anvil_snapshot().await?;
    let mut prey = Prey::new(stage, victim, column, wish.clone()).await?;
    let before = Ledger::take(stage, wish).await?;
    (trick.play)(&mut prey).await.with_context(|| {
        format!("{} against {}: {:?}", trick.name, column.name(), prey.refusals())
    })?;
    let outcome = judge(&prey, &before)
        .await
        .with_context(|| format!("{} against {}", trick.name, column.name()))?;
    prey.revert(clean).await?;
    Ok(outcome)
}

/// The tricks that are played: all, or those that were asked for.
fn chosen() -> impl Iterator<Item = &'static Trick> {
    let only = env::var("THIEF_ONLY").ok();
    TRICKS.iter().filter(move |trick| only.as_ref().is_none_or(|only| trick.name.contains(only)))
}

/// ATK-01 to ATK-34, ATK-45, ATK-46, as far as somebody with the key can play them on chain.
#[tokio::test]
async fn what_a_thief_can_take_is_what_is_committed() -> Result<()> {
    let stage = Stage::open().await?;
    let (owner, wish) = scene(&stage, Kind::Stateless7702).await?;
    let mut table = String::from("| row | what the thief does |");
    for column in COLUMNS {
        write!(table, " {} |", column.name())?;
    }
    table.push_str("\n|---|---|");
    table.push_str(&"---|".repeat(COLUMNS.len()));
    table.push('\n');
    let mut tallies = vec![Tally::default(); COLUMNS.len()];
    let mut failures = Vec::new();

    for trick in chosen() {
        write!(table, "| {} | {} |", trick.row(), trick.what)?;
        for (column, tally) in COLUMNS.iter().zip(&mut tallies) {
            let outcome = play(&stage, &owner, &wish, *column, trick).await?;
            write!(table, " {outcome} |")?;
            tally.count(trick.row(), &outcome);
            if outcome.is_win() && matches!(column.expects(), Expectation::Holds) {
                failures.push(format!("{} beats {}: {outcome}", trick.name, column.name()));
            }
        }
        table.push('\n');
    }

    if env::var_os("THIEF_ONLY").is_some() {
        bail!("only a part of the tricks was played:\n{table}");
    }
    let compared = compare(&tallies, &table);
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    for (column, tally) in COLUMNS.iter().zip(&tallies) {
        if let Expectation::LosesAtLeast(rows) = column.expects() {
            let missing: Vec<_> = rows.iter().filter(|row| !tally.rows.contains(*row)).collect();
            ensure!(missing.is_empty(), "{} stands {missing:?}\n{table}", column.name());
        }
    }
    compared
}

/// Whoever rules the account: one key behind it, or two of three.
#[tokio::test]
async fn no_trick_beats_the_charter_of_an_account_that_is_no_eoa() -> Result<()> {
    let stage = Stage::open().await?;
    let mut failures = Vec::new();
    for kind in [Kind::Hybrid, Kind::MultiSig] {
        let clean = stage.node().provider().anvil_snapshot().await?;
        let (owner, wish) = scene(&stage, kind).await?;
        for trick in chosen() {
            let outcome = play(&stage, &owner, &wish, &CHARTER, trick)
                .await
                .with_context(|| format!("{kind:?}"))?;
            if outcome.is_win() {
                failures.push(format!("{kind:?}: {}: {outcome}", trick.name));
            }
        }
        ensure!(stage.node().provider().anvil_revert(clean).await?, "snapshot is gone");
    }

    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// ATK-21, where there are two who take the same signature: an EOA and the account it rules.
#[tokio::test]
async fn a_payment_of_the_eoa_is_replayed_against_its_account_only_where_permit2_is_let_in()
-> Result<()> {
    let stage = Stage::open().await?;
    let (owner, wish) = scene(&stage, Kind::Hybrid).await?;
    let replay = TRICKS.iter().find(|trick| trick.name == "atk_21_permit2_replay");
    let replay = replay.context("no such trick")?;

    let stock = play(&stage, &owner, &wish, &stock::Seven, replay).await?;
    let charter = play(&stage, &owner, &wish, &CHARTER, replay).await?;

    assert!(stock.lost() == 10_000_000_000, "{stock}");
    assert!(matches!(charter, Outcome::Refused { .. }), "{charter}");
    Ok(())
}

/// What the tricks came to against one grant.
#[derive(Clone, Debug, Default)]
struct Tally {
    tricks: usize,
    wins: usize,
    rows: BTreeSet<&'static str>,
    /// Most that a win cost the owner.
    taken: Micros,
    /// Most that he lost as he agreed to.
    agreed: Micros,
}

impl Tally {
    fn count(&mut self, row: &'static str, outcome: &Outcome) {
        self.tricks += 1;
        if outcome.is_win() {
            self.wins += 1;
            self.rows.insert(row);
            self.taken = self.taken.max(outcome.lost());
        } else {
            self.agreed = self.agreed.max(outcome.lost());
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tricks, wins, taken, agreed, .. } = self;
        match wins {
            0 => write!(f, "the thief wins with none of {tricks} tricks")?,
            _ => write!(
                f,
                "the thief wins with {wins} of {tricks} tricks and takes up to {}",
                whole(*taken)
            )?,
        }
        write!(f, "; within the wish the owner loses {} at most", whole(*agreed))
    }
}

/// Holds summary and table against the committed ones; `BLESS_THIEF` rewrites them.
fn compare(tallies: &[Tally], table: &str) -> Result<()> {
    let path = root().join("docs/thief.md");
    let committed = fs::read_to_string(&path).context("docs/thief.md")?;
    let (title, rest) = committed.split_once('\n').context("a title")?;
    let (_, body) = rest.split_once("\n## ").context("a chapter after the summary")?;
    let (body, _) = body.split_once("\n| row |").context("a table")?;
    let mut measured = format!("{title}\n\n");
    for (column, tally) in COLUMNS.iter().zip(tallies) {
        writeln!(measured, "- **{}**: {tally}.", column.name())?;
    }
    write!(measured, "\n## {body}\n{table}")?;
    if env::var_os("BLESS_THIEF").is_some() {
        ensure!(env::var_os("CI").is_none(), "CI compares; it does not bless");
        fs::write(&path, &measured)?;
    }
    let committed = fs::read_to_string(&path)?;
    ensure!(
        measured == committed,
        "what a thief can take has moved; if it should have, run with BLESS_THIEF=1 and commit \
         docs/thief.md.\ncommitted: {committed}\nmeasured: {measured}"
    );
    Ok(())
}
