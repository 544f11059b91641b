//! SPEC C13: the seeds' example trees on the real chain, every link signed, every key a raw one.
//!
//! ```text
//! owner ── Alpha (vault manager) ─┬─ Replicant Alpha-1 (hypothesis tester)
//!       │                         ├─ Sleepwalker (observer)
//!       │                         └─ P1 … P5 (one link for each phase)
//!       ├─ Beta (DCA executor)
//!       └─ the council (two of Alpha, Beta, Gamma)
//! ```

use crate::{
    field::Field,
    raw::{RawKey, granted, single},
};
use alloy::{
    primitives::{Address, B256, U256},
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    GolemRegistry,
    defi::{Erc20, Erc4626},
    framework::DELEGATION_MANAGER,
    golem_registry, threshold_enforcer,
};
use bardo_testkit::{Stage, charter_of, dollars};
use golem_chain::{AccountKind, bundle_enforcers, environment};
use golem_custody::{DenialCode, Execution};
use golem_delegation::{
    ANY_DELEGATE, Caveat, Delegation, PermissionContext,
    bundles::{Bundle, Law, Spend},
    enforcers,
    grant::{Council, Grant, Parent, Phase, Renewal, Replicant},
    terms::{
        AllowedTargets, CoSignature, GolemCharter, LimitedCalls, MortalityTimeWindow, Redeemer,
        Threshold,
    },
};
use std::num::{NonZeroU32, NonZeroU64};

const DOLLAR: u64 = 1_000_000;
const DAY: u64 = 86_400;
const WEEK: NonZeroU32 = NonZeroU32::new(604_800).unwrap();

/// Two Golems of one owner.
const ALPHA: B256 = B256::repeat_byte(0xa1);
const BETA: B256 = B256::repeat_byte(0xbe);

/// Golem Alpha: a thousand dollars a day, two assets, 15 % of drawdown, 30 days, and children.
struct Alpha {
    field: Field,
    key: RawKey,
    law: GolemCharter,
    links: Vec<Delegation>,
}

impl Alpha {
    async fn born() -> Result<Self> {
        let (stage, owner) = Field::prepared(AccountKind::Hybrid).await?;
        let key = RawKey::born(&stage).await?;
        let now = stage.now().await?;
        let law = charter_of(&stage, &owner, ALPHA, key.address(), |law| {
            law.replicants = true;
            law.window = MortalityTimeWindow::new(now, now + 365 * DAY).unwrap_or(law.window);
        })
        .await?;
        let bundles = [
            Bundle::MaxSpend(Spend::Day(1_000 * DOLLAR)),
            // The local chain has no WBTC.
            Bundle::ApprovedAssets(vec![stage.book().usdc, stage.book().weth]),
            Bundle::MaxDrawdown(1_500),
            Bundle::TimeWindow(MortalityTimeWindow::new(now, now + 30 * DAY)?),
        ];
        let law = Law::new(law).under(&bundles)?;
        let caveats = law.caveats(&bundle_enforcers())?;
        let links = granted(&stage, &owner, key.address(), caveats)?;
        let law = law.charter();
        Ok(Self { field: Field { golem_id: law.golem_id, stage, owner }, key, law, links })
    }

    /// What it hands on to `child`: its own law under more bundles, and caveats beside it.
    async fn child(
        &self,
        child: &RawKey,
        bundles: &[Bundle],
        beside: Vec<Caveat>,
    ) -> Result<Vec<Delegation>> {
        let born = self.field.stage.now().await?;
        // Its life begins when it is born, and its budget is its own.
        let window = MortalityTimeWindow::new(born, self.law.window.end())?;
        let law = GolemCharter { agent_key: child.address(), window, ..self.law.clone() };
        let law = Law::new(law).of_child(child.address().into_word()).under(bundles)?;
        let mut caveats = law.caveats(&bundle_enforcers())?;
        caveats.extend(beside);
        self.key.delegate(&self.field.stage, &self.links, child.address(), caveats)
    }

    /// A link that stands on its own grant, signed by its key, and all above.
    fn signed(&self, link: Delegation) -> Result<Vec<Delegation>> {
        let signature = self.key.sign(self.field.stage.domain().digest(&link))?;
        Ok([&[link.signed(signature.to_vec())], &self.links[..]].concat())
    }

    /// The owner moves it on.
    async fn advance(&self, phase: u8) -> Result<()> {
        let human = self.field.owner.signer.address();
        let data = GolemRegistry::advanceCall { golemId: self.field.golem_id, phase }.abi_encode();
        let receipt =
            self.field.stage.send_as(human, golem_registry(), U256::ZERO, data.into()).await?;
        ensure!(receipt.status(), "advanced");
        Ok(())
    }
}

/// D1.1: fifty dollars, a day, a hundred calls, the router alone, and no children of its own.
#[tokio::test]
async fn the_replicant_lives_within_its_budget_its_day_and_its_parent() -> Result<()> {
    let alpha = Alpha::born().await?;
    let (field, stage) = (&alpha.field, &alpha.field.stage);
    // On the third day of its parent's life.
    stage.warp(stage.now().await? + 2 * DAY).await?;
    let child = RawKey::born(stage).await?;
    let bundles = [
        Bundle::MaxSpend(Spend::Total(50 * DOLLAR)),
        Bundle::MaxLifespan(DAY),
        Bundle::NoSubDelegation,
    ];
    let router = AllowedTargets(vec![stage.book().swap_router_02]).encode();
    let beside = vec![
        Caveat::new(enforcers::ALLOWED_TARGETS, router),
        Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::from(100)).encode()),
    ];
    let links = alpha.child(&child, &bundles, beside).await?;

    child.does(stage, &links, &field.swap(30)).await?;
    child.refused(stage, &links, &field.swap(21), DenialCode::Budget).await?;
    child.does(stage, &links, &field.swap(18)).await?;
    child.refused(stage, &links, &field.disapprove(), DenialCode::Target).await?;
    // A sibling has a budget of its own.
    let sibling = RawKey::born(stage).await?;
    let born = alpha.child(&sibling, &bundles, vec![]).await?;
    sibling.does(stage, &born, &field.swap(49)).await?;
    // What it spends is its parent's too.
    alpha.key.does(stage, &alpha.links, &field.swap(500)).await?;
    alpha.key.does(stage, &alpha.links, &field.swap(402)).await?;
    child.refused(stage, &links, &field.swap(1), DenialCode::Spend).await?;

    let grandchild = RawKey::born(stage).await?;
    let handed_on = child.delegate(stage, &links, grandchild.address(), vec![])?;
    stage.warp(stage.now().await? + DAY - 3_600).await?;
    grandchild.refused(stage, &handed_on, &field.swap(1), DenialCode::Redeemer).await?;
    stage.warp(stage.now().await? + 2 * 3_600).await?;
    child.refused(stage, &links, &field.swap(1), DenialCode::WindowExpired).await?;
    stage.warp(stage.now().await? + 2 * 3_600).await?;
    alpha.key.does(stage, &alpha.links, &field.swap(1)).await?;
    Ok(())
}

/// D1.1 as the older seed has it: it reads, and so it does nothing on chain. And the hundred calls.
#[tokio::test]
async fn a_replicant_that_reads_does_nothing_and_one_that_acts_does_it_a_hundred_times()
-> Result<()> {
    let alpha = Alpha::born().await?;
    let (field, stage) = (&alpha.field, &alpha.field.stage);
    let (reader, worker) = (RawKey::born(stage).await?, RawKey::born(stage).await?);
    let bundles = [
        Bundle::MaxSpend(Spend::Total(50 * DOLLAR)),
        Bundle::MaxLifespan(DAY),
        Bundle::ReadOnly,
        Bundle::NoSubDelegation,
    ];
    let links = alpha.child(&reader, &bundles, vec![]).await?;
    for call in [field.swap(1), field.home(), field.disapprove(), field.deposit()] {
        reader.refused(stage, &links, &call, DenialCode::Class).await?;
    }

    let hundred = Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::from(100)).encode());
    let links = alpha.child(&worker, &[], vec![hundred]).await?;
    let one = single(&links, &field.disapprove())?;
    for _ in 0..4 {
        let receipt = worker.redeem(stage, &vec![one.clone(); 25]).await?;
        ensure!(receipt.status(), "25 calls at once");
    }
    worker.refused(stage, &links, &field.disapprove(), DenialCode::Calls).await?;
    Ok(())
}

/// Whoever revokes the parent has stopped the child.
#[tokio::test]
async fn a_revoked_parents_replicant_is_dead() -> Result<()> {
    let alpha = Alpha::born().await?;
    let (field, stage) = (&alpha.field, &alpha.field.stage);
    let child = RawKey::born(stage).await?;
    let links = alpha.child(&child, &[Bundle::MaxSpend(Spend::Total(50 * DOLLAR))], vec![]).await?;
    child.does(stage, &links, &field.swap(1)).await?;

    let human = field.owner.signer.address();
    let stop = GolemRegistry::revokeCall { golemId: field.golem_id }.abi_encode();
    let receipt = stage.send_as(human, golem_registry(), U256::ZERO, stop.into()).await?;
    ensure!(receipt.status(), "revoked");

    child.refused(stage, &links, &field.swap(1), DenialCode::Revoked).await?;
    alpha.key.refused(stage, &alpha.links, &field.swap(1), DenialCode::Revoked).await?;
    Ok(())
}

/// D1.2: it says what it sees, and nothing leaves.
#[tokio::test]
async fn the_sleepwalker_publishes_and_touches_nothing() -> Result<()> {
    let alpha = Alpha::born().await?;
    let (field, stage) = (&alpha.field, &alpha.field.stage);
    let observer = RawKey::born(stage).await?;
    let bundles = [Bundle::ReadOnly, Bundle::NoTransfers, Bundle::OraclePublishOnly];
    let links = alpha.child(&observer, &bundles, vec![]).await?;
    let held = stage.balance_of(stage.book().usdc, field.account()).await?;

    let says = field.published().await?;
    observer.does(stage, &links, &says).await?;
    alpha.key.does(stage, &alpha.links, &says).await?;
    // It observes its parent, and does not put it to sleep, nor to death.
    let (golem, registry) = (field.golem_id, golem_registry());
    for call in [
        field.call(registry, &GolemRegistry::closeCall { golemId: golem }),
        field.call(registry, &GolemRegistry::setDreamingCall { golemId: golem, dreaming: true }),
        field.call(
            registry,
            &GolemRegistry::updateVitalityCall { golemId: golem, phase: 4, score: 0 },
        ),
    ] {
        observer.refused(stage, &links, &call, DenialCode::Method).await?;
    }
    for call in [field.swap(1), field.home(), field.deposit(), field.spawn(), field.settle()] {
        observer.refused(stage, &links, &call, DenialCode::Class).await?;
    }
    ensure!(stage.balance_of(stage.book().usdc, field.account()).await? == held, "untouched");
    Ok(())
}

/// D1.P1 to D1.P5: five links, alive at once. What grows a position is for the link of its phase alone, neither
/// earlier nor later; what a later one can do before its time only closes.
#[tokio::test]
async fn each_phase_has_a_link_that_works_and_all_others_do_not_grow() -> Result<()> {
    let alpha = Alpha::born().await?;
    let (field, stage) = (&alpha.field, &alpha.field.stage);
    let worker = RawKey::born(stage).await?;
    let environment = environment();
    let above = PermissionContext::new(alpha.links.clone())?;
    let parent = Parent::read(&above, &environment)?;
    let born = stage.now().await?;
    let mut made = Vec::new();
    for phase in Phase::ALL {
        let link = parent.for_phase(worker.address(), phase, born, U256::from(phase as u8))?;
        made.push(alpha.signed(link)?);
    }
    let [thriving, stable, conservation, declining, terminal] = &made[..] else {
        anyhow::bail!("five links");
    };
    let leave = field.deposited().await?;
    let [remove, collect] = field.position().await?;
    let (share, class) = (DenialCode::Share, DenialCode::Class);

    // Thriving. The owner buys ether for 2,500 himself: between a fifth and 30 % of everything.
    worker.does(stage, thriving, &field.spawn()).await?;
    worker.does(stage, thriving, &field.swap(100)).await?;
    worker.refused(stage, stable, &field.swap(1), share).await?;
    worker.refused(stage, terminal, &field.swap(1), share).await?;
    field.owner_does(&[field.swap(2_500)]).await?;
    worker.does(stage, thriving, &field.swap(100)).await?;
    worker.refused(stage, thriving, &field.swap(450), share).await?;
    worker.does(stage, thriving, &field.swap_back()).await?;
    worker.refused(stage, thriving, &field.home(), class).await?;

    alpha.advance(1).await?;
    worker.refused(stage, thriving, &field.spawn(), DenialCode::Phase).await?;
    worker.refused(stage, thriving, &field.swap(1), share).await?;
    worker.refused(stage, stable, &field.spawn(), class).await?;
    worker.refused(stage, stable, &field.swap(1), share).await?;
    worker.does(stage, stable, &field.swap_back()).await?;
    // The owner sells half an ether, and there is room below a fifth.
    let half = U256::from(500_000_000_000_000_000_u64);
    field.owner_does(&[field.sell(half, dollars(1_200))]).await?;
    worker.does(stage, stable, &field.swap(100)).await?;

    alpha.advance(2).await?;
    worker.refused(stage, stable, &field.swap_back(), DenialCode::Phase).await?;
    worker.does(stage, conservation, &field.disapprove()).await?;
    worker.does(stage, conservation, &remove).await?;
    worker.does(stage, conservation, &collect).await?;
    worker.does(stage, conservation, &leave).await?;
    for call in [field.swap(1), field.deposit(), field.home()] {
        worker.refused(stage, conservation, &call, class).await?;
    }

    alpha.advance(3).await?;
    worker.does(stage, declining, &leave).await?;
    worker.does(stage, declining, &field.home()).await?;
    worker.refused(stage, declining, &field.swap(1), class).await?;

    alpha.advance(4).await?;
    worker.refused(stage, declining, &field.deposit(), class).await?;
    worker.refused(stage, terminal, &field.swap(1), DenialCode::Recipient).await?;
    worker.does(stage, terminal, &field.swap_back()).await?;
    worker.does(stage, terminal, &field.home()).await?;
    worker.does(stage, terminal, &field.settle()).await?;
    worker.refused(stage, terminal, &field.settle(), DenialCode::Reverted).await?;
    Ok(())
}

/// D1's own bounds: a fall of 15 %, and 30 days.
#[tokio::test]
async fn alpha_stops_buying_when_it_fell_and_ends_after_a_month() -> Result<()> {
    let alpha = Alpha::born().await?;
    let (field, stage) = (&alpha.field, &alpha.field.stage);
    alpha.key.does(stage, &alpha.links, &field.swap(400)).await?;
    let to = field.owner.signer.address();
    let leave = Erc20::transferCall { to, amount: dollars(1_600) };
    field.owner_does(&[field.call(stage.book().usdc, &leave)]).await?;
    alpha.key.refused(stage, &alpha.links, &field.swap(1), DenialCode::Drawdown).await?;
    alpha.key.does(stage, &alpha.links, &field.swap_back()).await?;

    stage.warp(alpha.law.window.end() + 1).await?;
    alpha.key.refused(stage, &alpha.links, &field.home(), DenialCode::WindowExpired).await?;
    Ok(())
}

/// D2: a hundred dollars a week, of dollars into ether, once a week.
#[tokio::test]
async fn beta_buys_once_a_week_and_nothing_else() -> Result<()> {
    let (stage, owner) = Field::prepared(AccountKind::Hybrid).await?;
    let key = RawKey::born(&stage).await?;
    let now = stage.now().await?;
    let law = charter_of(&stage, &owner, BETA, key.address(), |law| {
        law.window = MortalityTimeWindow::new(now, now + 60 * DAY).unwrap_or(law.window);
    })
    .await?;
    let golem_id = law.golem_id;
    let (usdc, weth) = (stage.book().usdc, stage.book().weth);
    let bundles = [
        Bundle::MaxSpend(Spend::Week(100 * DOLLAR)),
        Bundle::OnlySwap { sells: usdc, buys: weth },
        Bundle::CronOnly(WEEK),
    ];
    let caveats = Law::new(law).under(&bundles)?.caveats(&bundle_enforcers())?;
    let links = granted(&stage, &owner, key.address(), caveats)?;
    let field = Field { stage, owner, golem_id };
    let stage = &field.stage;

    key.refused(stage, &links, &field.swap(101), DenialCode::Spend).await?;
    key.does(stage, &links, &field.swap(60)).await?;
    key.refused(stage, &links, &field.swap(1), DenialCode::Cadence).await?;
    // Two in one transaction are two.
    stage.warp(stage.now().await? + 8 * DAY).await?;
    let one = single(&links, &field.swap(1))?;
    ensure!(!key.redeem(stage, &[one.clone(), one]).await?.status(), "twice in one transaction");
    key.refused(stage, &links, &field.swap_back(), DenialCode::Calldata).await?;
    key.refused(stage, &links, &field.home(), DenialCode::Class).await?;
    key.does(stage, &links, &field.swap(99)).await?;
    Ok(())
}

/// The links with the signers' agreement to the very call on them, good once and until then.
fn agreement(
    stage: &Stage,
    links: &[Delegation],
    call: &Execution,
    (nonce, deadline): (u64, u64),
    signers: &[&RawKey],
) -> Result<Vec<Delegation>> {
    let tuple = single(links, call)?;
    let (mode, execution) = tuple.execution();
    let what = CoSignature {
        manager: DELEGATION_MANAGER,
        delegation_hash: links.first().context("a grant")?.hash().0,
        mode,
        execution: execution.clone(),
        nonce: U256::from(nonce),
        deadline,
    };
    let digest = what.digest(stage.node().chain_id(), threshold_enforcer());
    let signatures: Vec<_> = signers.iter().map(|key| key.sign(digest)).collect::<Result<_>>()?;
    let mut with = links.to_vec();
    let caveats = &mut with.first_mut().context("a grant")?.caveats;
    let seats = caveats.iter_mut().find(|one| one.enforcer == threshold_enforcer());
    seats.context("the council's caveat")?.args = what.args(&signatures)?;
    Ok(with)
}

/// The council: two of three agree to the very call, to ten thousand dollars, at the vault.
#[tokio::test]
async fn the_council_acts_when_two_agree_to_the_very_call() -> Result<()> {
    let (stage, owner) = Field::prepared(AccountKind::Hybrid).await?;
    let book = stage.book().clone();
    let mut members = Vec::new();
    for _ in 0..3 {
        members.push(RawKey::born(&stage).await?);
    }
    members.sort_by_key(RawKey::address);
    let seats: Vec<Address> = members.iter().map(RawKey::address).collect();
    let first = *seats.first().context("a member")?;
    stage.fund(owner.account.address, U256::from(1), dollars(20_000)).await?;
    let allow = Erc20::approveCall { spender: book.vault, amount: U256::MAX };
    owner.act(&stage, book.usdc, allow).await?;
    let law = charter_of(&stage, &owner, ALPHA, first, |law| {
        law.replicants = true;
        law.vault = Address::ZERO;
        law.spend_cap = 100_000 * DOLLAR;
        law.nav_cap = u64::MAX;
    })
    .await?;
    let golem_id = law.golem_id;
    let law = Law::new(law).under(&[Bundle::MaxValue(10_000 * DOLLAR)])?;
    let mut caveats = law.caveats(&bundle_enforcers())?;
    let council = Threshold::new(2, seats.clone())?;
    caveats.extend([
        Caveat::new(enforcers::ALLOWED_TARGETS, AllowedTargets(vec![book.vault]).encode()),
        Caveat::new(enforcers::REDEEMER, Redeemer(seats.clone()).encode()),
        Caveat::new(threshold_enforcer(), council.encode()),
    ]);
    let links = granted(&stage, &owner, ANY_DELEGATE, caveats)?;
    let field = Field { stage, owner, golem_id };
    let stage = &field.stage;

    let deposit = |amount: u64| {
        let receiver = field.account();
        field.call(book.vault, &Erc4626::depositCall { assets: dollars(amount), receiver })
    };
    let deadline = stage.now().await? + DAY;
    let agreed = |call: &Execution, nonce: u64, seats: &[usize]| -> Result<Vec<Delegation>> {
        let signers: Vec<&RawKey> = seats.iter().filter_map(|seat| members.get(*seat)).collect();
        agreement(stage, &links, call, (nonce, deadline), &signers)
    };
    let [alpha, beta, gamma] = &members[..] else { anyhow::bail!("three seats") };
    let code = DenialCode::Threshold;

    let one = deposit(10_000);
    alpha.refused(stage, &links, &one, code).await?;
    alpha.refused(stage, &agreed(&one, 1, &[0])?, &one, code).await?;
    alpha.refused(stage, &agreed(&one, 1, &[0, 0])?, &one, code).await?;
    alpha.does(stage, &agreed(&one, 1, &[0, 2])?, &one).await?;
    // The same signatures again, and for another call.
    alpha.refused(stage, &agreed(&one, 1, &[0, 2])?, &one, code).await?;
    alpha.refused(stage, &agreed(&one, 2, &[0, 2])?, &deposit(9_999), code).await?;
    // Whoever brings them: any member, and no stranger.
    let stranger = RawKey::born(stage).await?;
    let two = deposit(1);
    let signed = agreed(&two, 3, &[1, 2])?;
    stranger.refused(stage, &signed, &two, DenialCode::Redeemer).await?;
    beta.does(stage, &signed, &two).await?;
    // Those who agree cannot do more than the owner granted. Two sign: a third signature is refused by itself.
    let more = deposit(10_001);
    gamma.refused(stage, &agreed(&more, 4, &[0, 1])?, &more, DenialCode::Nav).await?;
    let swap = field.swap(1);
    gamma.refused(stage, &agreed(&swap, 5, &[1, 2])?, &swap, DenialCode::Target).await?;
    gamma.refused(stage, &agreed(&two, 6, &[0, 1, 2])?, &two, code).await?;
    stage.warp(deadline + 1).await?;
    let late = deposit(2);
    gamma.refused(stage, &agreed(&late, 7, &[0, 1])?, &late, code).await?;
    ensure!(
        stage.balance_of(book.usdc, field.account()).await? == dollars(30_000 - 10_001),
        "two deposits and nothing else"
    );
    Ok(())
}

/// SPEC G8, D4, D11: what the builders make is what the chain takes, and the older grant dies with its first use.
#[tokio::test]
async fn a_fed_and_a_rotated_grant_each_end_the_one_before() -> Result<()> {
    let alpha = Alpha::born().await?;
    let (field, stage) = (&alpha.field, &alpha.field.stage);
    let environment = environment();
    let old = alpha.links.first().context("a grant")?;
    let signed = |renewal: Renewal| -> Result<Vec<Delegation>> {
        Ok(vec![field.owner.signer.grant(&stage.domain(), renewal.delegation)?])
    };
    let fed = signed(Grant::read(old, &environment)?.feed(alpha.law.window.end() + 30 * DAY)?)?;
    let next = RawKey::born(stage).await?;
    let newer = fed.first().context("a grant")?;
    let rotated = signed(Grant::read(newer, &environment)?.rotate(next.address())?)?;

    // Signed, and not used: nothing has ended yet.
    alpha.key.does(stage, &alpha.links, &field.swap(400)).await?;
    alpha.key.does(stage, &fed, &field.swap(400)).await?;
    alpha.key.refused(stage, &alpha.links, &field.swap(1), DenialCode::Superseded).await?;
    // A new grant sheds nothing that was spent (ATK-31).
    alpha.key.refused(stage, &fed, &field.swap(300), DenialCode::Spend).await?;
    next.refused(stage, &rotated, &field.swap(300), DenialCode::Spend).await?;
    next.does(stage, &rotated, &field.swap(1)).await?;
    alpha.key.refused(stage, &fed, &field.swap(1), DenialCode::Superseded).await?;
    // It lives on when the first one would have ended.
    stage.warp(alpha.law.window.end() + 1).await?;
    next.does(stage, &rotated, &field.disapprove()).await?;
    Ok(())
}

/// SPEC G9: a Replicant as the builder makes it.
#[tokio::test]
async fn a_built_replicant_lives_within_what_it_was_given() -> Result<()> {
    let alpha = Alpha::born().await?;
    let (field, stage) = (&alpha.field, &alpha.field.stage);
    let environment = environment();
    let child = RawKey::born(stage).await?;
    let above = PermissionContext::new(alpha.links.clone())?;
    let tester = Replicant {
        key: child.address(),
        id: child.address().into_word(),
        budget: 50 * DOLLAR,
        born: stage.now().await?,
        lifespan: DAY,
        targets: vec![stage.book().swap_router_02],
        methods: vec![],
        calls: NonZeroU64::new(2),
    };
    let links =
        alpha.signed(Parent::read(&above, &environment)?.replicant(&tester, U256::ZERO)?)?;

    child.refused(stage, &links, &field.swap(51), DenialCode::Budget).await?;
    child.refused(stage, &links, &field.disapprove(), DenialCode::Target).await?;
    child.does(stage, &links, &field.swap(30)).await?;
    child.does(stage, &links, &field.swap(1)).await?;
    child.refused(stage, &links, &field.swap(1), DenialCode::Calls).await?;
    Ok(())
}

/// What `Parent` builds for another Golem, and for a council, acts on chain, and no further.
#[tokio::test]
async fn a_built_link_to_another_golem_and_a_built_council_act() -> Result<()> {
    let alpha = Alpha::born().await?;
    let (field, stage) = (&alpha.field, &alpha.field.stage);
    let environment = environment();
    let above = PermissionContext::new(alpha.links.clone())?;
    let parent = Parent::read(&above, &environment)?;
    let born = stage.now().await?;
    let beta = RawKey::born(stage).await?;
    let bundles = [Bundle::FullTrading, Bundle::MaxSpend(Spend::Day(50 * DOLLAR))];
    let link = parent.to_golem(beta.address(), born, DAY, &bundles, U256::from(1))?;
    let links = alpha.signed(link)?;
    beta.does(stage, &links, &field.swap(40)).await?;
    beta.refused(stage, &links, &field.swap(11), DenialCode::Spend).await?;
    beta.refused(stage, &links, &field.home(), DenialCode::Class).await?;

    let mut members = Vec::new();
    for _ in 0..3 {
        members.push(RawKey::born(stage).await?);
    }
    let router = stage.book().swap_router_02;
    let council = Council {
        seats: members.iter().map(RawKey::address).collect(),
        needed: 2,
        most: 100 * DOLLAR,
        targets: vec![router],
    };
    members.sort_by_key(RawKey::address);
    let links = alpha.signed(parent.council(&council, born, U256::from(2))?)?;
    let two: Vec<&RawKey> = members.iter().take(2).collect();
    let agreed =
        |call: &Execution, nonce: u64| agreement(stage, &links, call, (nonce, born + DAY), &two);
    let last = members.last().context("a member")?;
    let (swap, more) = (field.swap(90), field.swap(101));
    last.refused(stage, &links, &swap, DenialCode::Threshold).await?;
    last.does(stage, &agreed(&swap, 1)?, &swap).await?;
    last.refused(stage, &agreed(&more, 2)?, &more, DenialCode::Nav).await?;
    let other = field.disapprove();
    last.refused(stage, &agreed(&other, 3)?, &other, DenialCode::Target).await?;
    Ok(())
}
