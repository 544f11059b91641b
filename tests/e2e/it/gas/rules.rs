//! The rules beside the charter, each alone, and the charter's sections.

use super::{Meter, SESSION, START, redeem};
use crate::raw::{RawKey, single};
use alloy::{
    primitives::{Address, B256, U256, aliases::U96},
    sol_types::SolCall,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{
    GolemLifecycle, KnowledgeMarket, cadence_enforcer,
    defi::{Erc20, SwapRouter02::exactInputSingleCall},
    emotional_state_enforcer,
    framework::DELEGATION_MANAGER,
    golem_charter_enforcer, golem_lifecycle, holdings_enforcer, knowledge_market,
    knowledge_royalty_enforcer, replicant_budget_enforcer, threshold_enforcer,
};
use bardo_testkit::{STIPEND, Stage, charter, chartered, dollars, fair_swap};
use golem_chain::AccountKind;
use golem_custody::{Execution, Redemption};
use golem_delegation::{
    Caveat, Delegation, PermissionContext,
    terms::{
        Cadence, CharterMood, Class, Classes, CoSignature, EmotionalState, GolemCharter, Holdings,
        KnowledgeRoyalty, ListedTarget, MoodBounds, ReplicantBudget, Role, Threshold,
    },
};
use std::{
    collections::BTreeMap,
    num::{NonZeroU8, NonZeroU32},
};

#[tokio::test]
async fn the_other_rules_gas_is_as_committed() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.fixed_owner(AccountKind::Stateless7702).await?;
    stage.fund(SESSION, STIPEND, U256::ZERO).await?;
    stage.warp(START).await?;
    let (account, manager) = (owner.account.address, DELEGATION_MANAGER);
    let one = fair_swap(&stage, account, dollars(1));
    let life = super::life()?;
    let law = charter(&stage, &owner, SESSION, |law| {
        law.window = life;
        law.listing.targets.push(ListedTarget { target: knowledge_market(), role: Role::Market });
    })
    .await?;
    let grant = |caveats: Vec<Caveat>| {
        let grant = Delegation { caveats, ..chartered(&law)? };
        anyhow::Ok(owner.signer.grant(&stage.domain(), grant)?)
    };
    let mut meter = Meter { stage: &stage, figures: BTreeMap::new() };
    let free = redeem(&grant(vec![])?, &one)?;
    for name in ["no caveat swap first", "no caveat swap later"] {
        meter.record(name, SESSION, manager, free.clone()).await?;
    }

    let (golem_id, registry, listing) = (law.golem_id, law.registry, law.listing.clone());
    let count = NonZeroU8::new(6).context("six")?;
    let cadence = Cadence { golem_id, period: NonZeroU32::new(604_800).context("a week")?, count };
    let budget = ReplicantBudget {
        replicant_id: golem_id,
        budget: 50_000_000,
        not_after: START + 604_800,
        listing: listing.clone(),
    };
    let holdings = Holdings {
        golem_id,
        account,
        staleness: law.staleness,
        series: 1,
        thriving_bps: 3_000,
        stable_bps: 2_000,
        drawdown_bps: 1_500,
        registry,
        cash: law.settlement_asset,
        loss_bps: law.slippage_bps,
        listing,
    };
    let bounds = MoodBounds { min_pleasure: -50, max_arousal: 60, min_dominance: -60 };
    let selectors = vec![exactInputSingleCall::SELECTOR.into()];
    let emotion =
        EmotionalState { golem_id, registry, staleness: law.staleness, bounds, selectors };
    for (names, enforcer, terms) in [
        (
            ["cadence alone, swap first", "cadence alone, swap later"],
            cadence_enforcer(),
            cadence.encode(),
        ),
        (
            ["replicant budget alone, swap first", "replicant budget alone, swap later"],
            replicant_budget_enforcer(),
            budget.encode()?,
        ),
        (
            ["holdings alone, swap first", "holdings alone, swap later"],
            holdings_enforcer(),
            holdings.encode()?,
        ),
        (
            ["emotional state alone, swap first", "emotional state alone, swap later"],
            emotional_state_enforcer(),
            emotion.encode()?,
        ),
    ] {
        let data = redeem(&grant(vec![Caveat::new(enforcer, terms)])?, &one)?;
        for name in names {
            meter.record(name, SESSION, manager, data.clone()).await?;
        }
    }
    a_council(&mut meter, &grant, &one).await?;

    let mood = CharterMood { bounds, classes: Classes::of(&[Class::Swap]) };
    let chartered = |change: &dyn Fn(&mut GolemCharter)| {
        let mut law = law.clone();
        change(&mut law);
        grant(vec![Caveat::new(golem_charter_enforcer(), law.encode()?)])
    };
    let data = redeem(&chartered(&|_| ())?, &one)?;
    for name in ["charter with a market, swap first", "charter with a market, swap later"] {
        meter.record(name, SESSION, manager, data.clone()).await?;
    }
    let data = redeem(&chartered(&|law| law.mood = Some(mood))?, &one)?;
    meter.record("charter with emotion, swap later", SESSION, manager, data).await?;
    let both = chartered(&|law| {
        law.mood = Some(mood);
        law.max_royalty_bps = Some(2_000);
    })?;
    meter
        .record("charter with both sections, swap later", SESSION, manager, redeem(&both, &one)?)
        .await?;

    let royalty = KnowledgeRoyalty { market: knowledge_market(), max_royalty_bps: 2_000 };
    let royalty = Caveat::new(knowledge_royalty_enforcer(), royalty.encode()?);
    let sold = sales(&stage, account, 4).await?;
    let batch = |grant: &Delegation, calls: &[Execution]| {
        let context = PermissionContext::new(vec![grant.clone()])?;
        anyhow::Ok(Redemption::batch(manager, context, calls).calldata())
    };
    let grants = [grant(vec![])?, grant(vec![])?, grant(vec![royalty])?, both.clone()];
    let names = [
        "no caveat sale first",
        "no caveat sale later",
        "knowledge royalty alone, sale later",
        "charter with both sections, sale later",
    ];
    for ((name, grant), sale) in names.into_iter().zip(grants).zip(sold) {
        meter.record(name, SESSION, manager, batch(&grant, &sale)?).await?;
    }

    let lifecycle = |data: Vec<u8>| Execution {
        target: golem_lifecycle(),
        value: U256::ZERO,
        data: data.into(),
    };
    let spawn = GolemLifecycle::spawnReplicantCall {
        golemId: golem_id,
        replicant: Address::repeat_byte(0x77),
        delegationHash: B256::repeat_byte(0x78),
    };
    let settle =
        GolemLifecycle::settleCall { golemId: golem_id, manifestHash: B256::repeat_byte(0x79) };
    for (name, data) in [
        ("charter with both sections, a child is made", spawn.abi_encode()),
        ("charter with both sections, settled", settle.abi_encode()),
    ] {
        meter.record(name, SESSION, manager, redeem(&both, &lifecycle(data))?).await?;
    }
    // What a section costs who has it, and that it is no reason to put the rule beside the charter.
    let more = |name: &str, base: &str| {
        anyhow::Ok(meter.figure(name)?.saturating_sub(meter.figure(base)?))
    };
    let section = more("charter with emotion, swap later", "charter with a market, swap later")?;
    let alone = more("emotional state alone, swap later", "no caveat swap later")?;
    ensure!(section < alone, "emotion costs {section} as a section and {alone} alone");
    meter.compare("rules")
}

/// Two of three fixed keys agree to each redemption.
async fn a_council(
    meter: &mut Meter<'_>,
    grant: &impl Fn(Vec<Caveat>) -> Result<Delegation>,
    call: &Execution,
) -> Result<()> {
    let stage = meter.stage;
    let mut members =
        [0x31, 0x32, 0x33].map(RawKey::fixed).into_iter().collect::<Result<Vec<_>>>()?;
    members.sort_by_key(RawKey::address);
    let council = Threshold::new(2, members.iter().map(RawKey::address).collect())?;
    let link = grant(vec![Caveat::new(threshold_enforcer(), council.encode())])?;
    for (nonce, name) in
        ["threshold two of three alone, swap first", "threshold two of three alone, swap later"]
            .into_iter()
            .enumerate()
    {
        let tuple = single(std::slice::from_ref(&link), call)?;
        let (mode, execution) = tuple.execution();
        let what = CoSignature {
            manager: DELEGATION_MANAGER,
            delegation_hash: link.hash().0,
            mode,
            execution: execution.clone(),
            nonce: U256::from(nonce + 1),
            deadline: START + 604_800,
        };
        let digest = what.digest(stage.node().chain_id(), threshold_enforcer());
        let signed =
            members.iter().take(2).map(|member| member.sign(digest)).collect::<Result<Vec<_>>>()?;
        let mut agreed = link.clone();
        let caveat = agreed.caveats.first_mut().context("the council's caveat")?;
        caveat.args = what.args(&signed)?;
        meter.record(name, SESSION, DELEGATION_MANAGER, redeem(&agreed, call)?).await?;
    }
    Ok(())
}

/// Sells an insight of an author with ten per cent of its price for him, out of `account`, and what it
/// takes to make that possible `times`.
async fn sales(stage: &Stage, account: Address, times: u8) -> Result<Vec<[Execution; 2]>> {
    let (author, market, usdc) =
        (Address::repeat_byte(0xa7), knowledge_market(), stage.book().usdc);
    let call =
        |target: Address, data: Vec<u8>| Execution { target, value: U256::ZERO, data: data.into() };
    let content = B256::repeat_byte(0x6e);
    let publish = KnowledgeMarket::publishCall {
        contentHash: content,
        parent: B256::ZERO,
        royaltyBps: 1_000,
        token: usdc,
        price: U96::from(50_000_000),
    };
    let named = KnowledgeMarket::entryIdOfCall { author, contentHash: content };
    let entry = stage.node().read(market, named).await?;
    let give = KnowledgeMarket::bequeathCall { entryId: entry, heir: account };
    stage.fund(author, STIPEND, dollars(1)).await?;
    let mut steps = vec![
        (author, call(market, publish.abi_encode())),
        (author, call(market, give.abi_encode())),
    ];
    let mut sales = Vec::new();
    for byte in 0..times {
        let buyer = Address::repeat_byte(0xb0 | byte);
        stage.fund(buyer, STIPEND, dollars(51)).await?;
        let allow = Erc20::approveCall { spender: market, amount: dollars(51) };
        let order =
            KnowledgeMarket::orderCall { entryId: entry, seller: account, notAfter: U256::MAX };
        steps.push((buyer, call(usdc, allow.abi_encode())));
        steps.push((buyer, call(market, order.abi_encode())));
        let sell = KnowledgeMarket::sellCall { entryId: entry, seller: account, buyer };
        let royalty = Erc20::transferCall { to: author, amount: dollars(5) };
        sales.push([call(market, sell.abi_encode()), call(usdc, royalty.abi_encode())]);
    }
    for (from, step) in steps {
        let receipt = stage.send_as(from, step.target, U256::ZERO, step.data).await?;
        ensure!(receipt.status(), "a step of a sale failed");
    }
    Ok(sales)
}
