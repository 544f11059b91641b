//! The dry run in process says what the chain says (INV-11, SPEC X2), and asks no more than it must.

use crate::raw::granted;
use alloy::{
    eips::BlockId,
    network::TransactionBuilder as _,
    primitives::{Address, B256, Bytes, U256},
    providers::{Provider as _, ext::AnvilApi as _},
    rpc::types::{Header, TransactionRequest},
    sol_types::SolCall,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::{
    GolemRegistry, KnowledgeMarket,
    defi::{
        Erc20,
        NonfungiblePositionManager::{DecreaseLiquidityParams, decreaseLiquidityCall},
    },
    framework::DELEGATION_MANAGER,
    golem_registry, threshold_enforcer,
};
use bardo_testkit::{
    Agent, Owner, Proxy, Stage, bundled, charter, chartered, dollars, fair_swap, swap,
};
use golem_chain::{AccountKind, Foresight, Node, explain_revert, revocation};
use golem_custody::{
    Asset, DenialCode, Execution, Held, Outcome, OwnerSigner, Redemption, SessionKey,
    SessionSigner as _,
};
use golem_delegation::{
    Caveat, Delegation, PermissionContext,
    bundles::{Bundle, Spend},
    enforcers,
    terms::{
        CharterMood, Class, Classes, GolemCharter, ListedTarget, MoodBounds, MortalityTimeWindow,
        Role, Threshold,
    },
};
use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

const DOLLAR: u64 = 1_000_000;
/// Attempts that each rule must refuse.
const EACH: u64 = 52;

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    /// From zero, below `end`.
    const fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn address(&mut self) -> Address {
        Address::from_word(alloy::primitives::keccak256(self.below(u64::MAX >> 31).to_be_bytes()))
    }
}

/// Makes what a rule refuses.
type Foul = Box<dyn Fn(&Stage, &mut Dice) -> Vec<Execution>>;
/// The same, of an account and its agent's key.
type FoulOf = Box<dyn Fn(Address, Address) -> Foul>;

/// Somebody who may do something, and what he tries.
struct Scene {
    rule: DenialCode,
    links: Vec<Delegation>,
    by: Address,
    account: Address,
    /// How many that should be fine.
    fine: u64,
    /// Makes what the rule refuses.
    foul: Foul,
}

fn call<C: SolCall>(target: Address, call: &C) -> Execution {
    Execution { target, value: U256::ZERO, data: call.abi_encode().into() }
}

async fn sent<C: SolCall>(stage: &Stage, from: Address, to: Address, call: &C) -> Result<()> {
    let receipt = stage.send_as(from, to, U256::ZERO, call.abi_encode().into()).await?;
    ensure!(receipt.status(), "{} by {from}", C::SIGNATURE);
    Ok(())
}

/// A fair swap of some dollars.
fn fair(account: Address, least: u64, most: u64) -> impl Fn(&Stage, &mut Dice) -> Vec<Execution> {
    move |stage, dice| {
        vec![fair_swap(stage, account, dollars(least + dice.below(most - least + 1)))]
    }
}

/// A function that nobody knows.
fn under_another_name(mut call: Execution, dice: &mut Dice) -> Execution {
    let name = dice.address();
    let (selector, _) = name.split_at(4);
    let arguments = call.data.get(4..).unwrap_or_default();
    call.data = [selector, arguments].concat().into();
    call
}

/// A new owner and his Golem under a charter.
async fn golem(
    stage: &Stage,
    kind: AccountKind,
    change: impl FnOnce(&mut GolemCharter),
) -> Result<(Owner, Agent, GolemCharter)> {
    let owner = stage.owner(kind).await?;
    let key = SessionKey::born();
    let law = charter(stage, &owner, key.address(), change).await?;
    let grant = owner.signer.grant(&stage.domain(), chartered(&law)?)?;
    let account = owner.account.address;
    Ok((owner, Agent { key, grant, account }, law))
}

/// What is wrong with an action under a charter that is otherwise obeyed.
async fn of_actions(stage: &Stage) -> Result<Vec<Scene>> {
    let kinds = [AccountKind::Stateless7702, AccountKind::Hybrid];
    let (_, one, _) = golem(stage, kinds[0], |_| ()).await?;
    let (_, other, _) = golem(stage, kinds[1], |_| ()).await?;
    let rules: Vec<(DenialCode, FoulOf)> = vec![
        (
            DenialCode::Slippage,
            Box::new(|account, _| {
                Box::new(move |stage, dice| {
                    vec![swap(stage, account, dollars(1 + dice.below(400)))]
                })
            }),
        ),
        (
            DenialCode::Recipient,
            Box::new(|_, _| {
                Box::new(|stage, dice| {
                    let thief = dice.address();
                    vec![fair_swap(stage, thief, dollars(1 + dice.below(400)))]
                })
            }),
        ),
        (DenialCode::Nav, Box::new(|account, _| Box::new(fair(account, 501, 900)))),
        (
            DenialCode::Spender,
            Box::new(|_, _| {
                Box::new(|stage, dice| {
                    let allow = Erc20::approveCall { spender: dice.address(), amount: dollars(1) };
                    vec![call(stage.book().usdc, &allow)]
                })
            }),
        ),
        (
            DenialCode::Method,
            Box::new(|account, _| {
                Box::new(move |stage, dice| {
                    vec![under_another_name(fair_swap(stage, account, dollars(1)), dice)]
                })
            }),
        ),
        (
            DenialCode::Target,
            Box::new(|account, _| {
                Box::new(move |stage, dice| {
                    vec![Execution {
                        target: dice.address(),
                        ..fair_swap(stage, account, dollars(1))
                    }]
                })
            }),
        ),
        (
            DenialCode::GasMoney,
            Box::new(|_, key| {
                Box::new(move |_, dice| {
                    let wei = U256::from(20_000_000_000_000_000_u64 + dice.below(1 << 30));
                    vec![Execution { target: key, value: wei, data: Bytes::new() }]
                })
            }),
        ),
        (
            DenialCode::Value,
            Box::new(|account, _| {
                Box::new(move |stage, dice| {
                    let value = U256::from(1 + dice.below(1_000));
                    vec![Execution { value, ..fair_swap(stage, account, dollars(1)) }]
                })
            }),
        ),
        (
            DenialCode::Position,
            Box::new(|_, _| {
                Box::new(|stage, dice| {
                    // Every position of the local chain is somebody else's.
                    let params = DecreaseLiquidityParams {
                        tokenId: U256::from(1),
                        liquidity: 1 + u128::from(dice.below(1_000)),
                        amount0Min: U256::ZERO,
                        amount1Min: U256::ZERO,
                        deadline: U256::MAX,
                    };
                    vec![call(stage.book().position_manager, &decreaseLiquidityCall { params })]
                })
            }),
        ),
    ];
    let mut scenes = Vec::new();
    for (index, (rule, foul)) in rules.into_iter().enumerate() {
        let agent = if index % 2 == 0 { &one } else { &other };
        let (account, by) = (agent.account, agent.key.address());
        let links = vec![agent.grant.clone()];
        scenes.push(Scene { rule, links, by, account, fine: 150, foul: foul(account, by) });
    }
    Ok(scenes)
}

/// What is wrong with a grant, or with the Golem's life.
async fn of_lives(stage: &Stage) -> Result<Vec<Scene>> {
    let now = stage.now().await?;
    let window = |start, end| MortalityTimeWindow::new(start, end);
    let bounds = MoodBounds { min_pleasure: 50, max_arousal: 60, min_dominance: -60 };
    let mood = CharterMood { bounds, classes: Classes::of(&[Class::Swap]) };
    let mut scenes = Vec::new();
    for rule in [
        DenialCode::Price,
        DenialCode::Class,
        DenialCode::Phase,
        DenialCode::Dreaming,
        DenialCode::NotAlive,
        DenialCode::Revoked,
        DenialCode::Superseded,
        DenialCode::Spend,
        DenialCode::WindowEarly,
        DenialCode::WindowExpired,
        DenialCode::DelegationDisabled,
        DenialCode::Signature,
        DenialCode::NotTheDelegate,
        DenialCode::Emotion,
        DenialCode::Reverted,
    ] {
        let (early, late) = (window(now + 50_000, now + 60_000)?, window(1, now - 1)?);
        let (owner, mut agent, law) = golem(stage, AccountKind::Hybrid, |law| match rule {
            DenialCode::Price => law.listing.tokens.truncate(1),
            DenialCode::Class => law.classes = Classes::of(&[Class::Transfer]),
            DenialCode::Spend => law.spend_cap = 50 * DOLLAR,
            DenialCode::WindowEarly => law.window = early,
            DenialCode::WindowExpired => law.window = late,
            DenialCode::Emotion => law.mood = Some(mood),
            DenialCode::Reverted => {
                law.vault = Address::ZERO;
                (law.nav_cap, law.spend_cap) = (1_000_000 * DOLLAR, 1_000_000 * DOLLAR);
            }
            _ => {}
        })
        .await?;
        let (human, account) = (owner.signer.address(), agent.account);
        let (golem_id, registry) = (law.golem_id, golem_registry());
        let key = agent.key.address();
        match rule {
            DenialCode::Phase => {
                let advance = GolemRegistry::advanceCall { golemId: golem_id, phase: 2 };
                sent(stage, human, registry, &advance).await?;
            }
            DenialCode::Dreaming => {
                stage.fund(key, U256::from(1u64 << 60), U256::ZERO).await?;
                let dream = GolemRegistry::setDreamingCall { golemId: golem_id, dreaming: true };
                sent(stage, key, registry, &dream).await?;
            }
            DenialCode::NotAlive => {
                stage.fund(key, U256::from(1u64 << 60), U256::ZERO).await?;
                sent(stage, key, registry, &GolemRegistry::closeCall { golemId: golem_id }).await?;
            }
            DenialCode::Revoked => {
                sent(stage, human, registry, &GolemRegistry::revokeCall { golemId: golem_id })
                    .await?;
            }
            DenialCode::Superseded => {
                let newer = Agent::chartered(stage, &owner, |law| law.epoch = 2).await?;
                let _ = newer
                    .attempt(stage, &fair_swap(stage, account, dollars(1)))
                    .await?
                    .receipt()?;
            }
            DenialCode::DelegationDisabled => {
                let data = revocation(&agent.grant);
                let stop = Execution { target: DELEGATION_MANAGER, value: U256::ZERO, data };
                owner.account.act(stage.node(), &owner.signer, &[stop]).await?;
            }
            DenialCode::Signature => {
                let stranger = OwnerSigner::born();
                agent.grant = stranger.grant(&stage.domain(), agent.grant)?;
            }
            DenialCode::Emotion => {
                stage.fund(key, U256::from(1u64 << 60), U256::ZERO).await?;
                let (pleasure, arousal, dominance) = (-20, 80, 0);
                let pad = GolemRegistry::updatePadCall {
                    golemId: golem_id,
                    pleasure,
                    arousal,
                    dominance,
                };
                sent(stage, key, registry, &pad).await?;
            }
            _ => {}
        }
        let by = match rule {
            DenialCode::NotTheDelegate => Address::repeat_byte(0x66),
            _ => key,
        };
        let foul: Foul = match rule {
            DenialCode::Spend => Box::new(fair(account, 51, 400)),
            DenialCode::Reverted => Box::new(fair(account, 10_001, 12_000)),
            _ => Box::new(fair(account, 1, 400)),
        };
        scenes.push(Scene { rule, links: vec![agent.grant], by, account, fine: 0, foul });
    }
    Ok(scenes)
}

/// What stands beside a charter.
async fn of_bundles(stage: &Stage) -> Result<Vec<Scene>> {
    let week = NonZeroU32::new(604_800).context("a week")?;
    let mut scenes = Vec::new();
    for (rule, bundle, least) in [
        (DenialCode::Cadence, Bundle::CronOnly(week), 1),
        (DenialCode::Budget, Bundle::MaxSpend(Spend::Total(50 * DOLLAR)), 51),
        (DenialCode::Share, Bundle::max_position(50), 60),
        (DenialCode::Drawdown, Bundle::MaxDrawdown(1_500), 1),
    ] {
        let owner = stage.owner(AccountKind::Hybrid).await?;
        let agent = Agent::under(stage, &owner, std::slice::from_ref(&bundle)).await?;
        let account = agent.account;
        if matches!(rule, DenialCode::Cadence | DenialCode::Drawdown) {
            let _ =
                agent.attempt(stage, &fair_swap(stage, account, dollars(1))).await?.receipt()?;
        }
        if rule == DenialCode::Drawdown {
            let leave = Erc20::transferCall { to: owner.signer.address(), amount: dollars(6_000) };
            owner.act(stage, stage.book().usdc, leave).await?;
        }
        let (links, by) = (vec![agent.grant.clone()], agent.key.address());
        let foul = Box::new(fair(account, least, 400));
        scenes.push(Scene { rule, links, by, account, fine: 0, foul });
    }
    Ok(scenes)
}

/// The stock enforcers' rules.
async fn of_stock(stage: &Stage) -> Result<Vec<Scene>> {
    let mut scenes = Vec::new();
    let owner = stage.owner(AccountKind::Hybrid).await?;
    let account = owner.account.address;
    for rule in [
        DenialCode::Calldata,
        DenialCode::Target,
        DenialCode::Method,
        DenialCode::Value,
        DenialCode::Calls,
        DenialCode::Terms,
        DenialCode::Mode,
        DenialCode::Threshold,
    ] {
        let calls = if rule == DenialCode::Calls { 0 } else { 5 };
        let mut agent = Agent::hired(stage, &owner, calls).await?;
        let extra = match rule {
            DenialCode::Terms => Some(Caveat::new(enforcers::LIMITED_CALLS, vec![1; 31])),
            DenialCode::Threshold => {
                let council = Threshold::new(1, vec![Address::repeat_byte(7)])?;
                Some(Caveat::new(threshold_enforcer(), council.encode()))
            }
            _ => None,
        };
        if let Some(extra) = extra {
            let mut grant = agent.grant.clone();
            grant.caveats.push(extra);
            agent.grant = owner.signer.grant(&stage.domain(), grant)?;
        }
        let foul: Foul = match rule {
            DenialCode::Calldata => Box::new(|stage, dice| {
                let thief = dice.address();
                vec![swap(stage, thief, dollars(1))]
            }),
            DenialCode::Target => Box::new(move |stage, dice| {
                vec![Execution { target: dice.address(), ..swap(stage, account, dollars(1)) }]
            }),
            DenialCode::Method => Box::new(move |stage, dice| {
                vec![under_another_name(swap(stage, account, dollars(1)), dice)]
            }),
            DenialCode::Value => Box::new(move |stage, dice| {
                let value = U256::from(1 + dice.below(1_000));
                vec![Execution { value, ..swap(stage, account, dollars(1)) }]
            }),
            DenialCode::Mode => Box::new(move |stage, dice| {
                let one = swap(stage, account, dollars(1 + dice.below(400)));
                vec![one.clone(), one]
            }),
            _ => Box::new(move |stage, dice| {
                vec![swap(stage, account, dollars(1 + dice.below(400)))]
            }),
        };
        let (links, by) = (vec![agent.grant], agent.key.address());
        scenes.push(Scene { rule, links, by, account, fine: 0, foul });
    }
    scenes.push(handed_on(stage, &owner).await?);
    Ok(scenes)
}

/// Somebody to whom a grant was handed on that must not be.
async fn handed_on(stage: &Stage, owner: &Owner) -> Result<Scene> {
    let parent = OwnerSigner::born();
    let child = Address::repeat_byte(0x31);
    let grant = bundled(stage, owner, parent.address(), &[Bundle::NoSubDelegation]).await?;
    let link = Delegation {
        delegate: child,
        delegator: parent.address(),
        authority: grant.hash().0,
        caveats: vec![],
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    let link = parent.grant(&stage.domain(), link)?;
    let account = owner.account.address;
    let foul = Box::new(fair(account, 1, 400));
    let links = vec![link, grant];
    Ok(Scene { rule: DenialCode::Redeemer, links, by: child, account, fine: 0, foul })
}

/// A sale that does not pay those who wrote.
async fn of_sales(stage: &Stage) -> Result<Scene> {
    let market = bardo_bindings::knowledge_market();
    let listed = ListedTarget { target: market, role: Role::Market };
    let (owner, agent, _) = golem(stage, AccountKind::Hybrid, |law| {
        law.max_royalty_bps = Some(2_000);
        law.listing.targets.push(listed);
    })
    .await?;
    let account = owner.account.address;
    let (author, buyer) = (Address::repeat_byte(0xa1), Address::repeat_byte(0xb1));
    for somebody in [author, buyer] {
        stage.fund(somebody, U256::from(1u64 << 62), dollars(1_000)).await?;
    }
    let content = B256::repeat_byte(0xc0);
    let usdc = stage.book().usdc;
    let publish = KnowledgeMarket::publishCall {
        contentHash: content,
        parent: B256::ZERO,
        royaltyBps: 1_000,
        token: usdc,
        price: alloy::primitives::aliases::U96::from(50 * DOLLAR),
    };
    sent(stage, author, market, &publish).await?;
    let named = KnowledgeMarket::entryIdOfCall { author, contentHash: content };
    let entry = stage.node().read(market, named).await?;
    sent(stage, author, market, &KnowledgeMarket::bequeathCall { entryId: entry, heir: account })
        .await?;
    sent(stage, buyer, usdc, &Erc20::approveCall { spender: market, amount: dollars(50) }).await?;
    let order = KnowledgeMarket::orderCall { entryId: entry, seller: account, notAfter: U256::MAX };
    sent(stage, buyer, market, &order).await?;
    let sell = KnowledgeMarket::sellCall { entryId: entry, seller: account, buyer };
    let sale = call(market, &sell);
    let foul: Foul = Box::new(move |_, dice| {
        let (to, amount) = (dice.address(), dollars(1 + dice.below(4)));
        vec![sale.clone(), call(usdc, &Erc20::transferCall { to, amount })]
    });
    let (links, by) = (vec![agent.grant], agent.key.address());
    Ok(Scene { rule: DenialCode::Royalty, links, by, account, fine: 0, foul })
}

/// Both verdicts on one block: the same answer and, where it is no, the same reason.
async fn agreed(
    stage: &Stage,
    foresight: &Foresight,
    header: &Header,
    redemption: &Redemption,
    by: Address,
) -> Result<Option<DenialCode>> {
    let ask = TransactionRequest::default()
        .with_from(by)
        .with_to(redemption.manager())
        .with_input(redemption.calldata());
    let chain = stage.node().provider().call(ask).block(BlockId::hash(header.hash)).await;
    let ours = foresight.judge_at(header.clone(), redemption, by).await?;
    match (chain, ours) {
        (Ok(_), Outcome::Allowed(_)) => Ok(None),
        (Err(error), Outcome::Refused(denial)) => {
            let reply = error.as_error_resp().context("the node did not answer")?;
            if let Some(data) = reply.as_revert_data() {
                let theirs = explain_revert(&data, redemption.context());
                ensure!(theirs == denial, "the chain: {theirs:?}; we: {denial:?}");
            }
            Ok(Some(denial.code))
        }
        (chain, ours) => bail!("the chain: {chain:?}; we: {ours:?}"),
    }
}

#[tokio::test]
async fn the_dry_run_says_what_the_chain_says() -> Result<()> {
    let stage = Stage::open().await?;
    let mut scenes = of_actions(&stage).await?;
    scenes.extend(of_lives(&stage).await?);
    scenes.extend(of_bundles(&stage).await?);
    scenes.extend(of_stock(&stage).await?);
    scenes.push(of_sales(&stage).await?);
    // The windows that are early or late are so at the time at which all is judged.
    let header = stage.node().header().await?;
    let foresight = stage.foresight();
    let mut dice = Dice(7);
    let (mut allowed, mut all) = (0_u64, 0_u64);
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();

    for scene in &scenes {
        let context = PermissionContext::new(scene.links.clone())?;
        for turn in 0..scene.fine + EACH {
            let calls = if turn < scene.fine {
                vec![fair_swap(&stage, scene.account, dollars(1 + dice.below(400)))]
            } else {
                (scene.foul)(&stage, &mut dice)
            };
            let redemption = match calls.as_slice() {
                [one] => Redemption::single(DELEGATION_MANAGER, context.clone(), one),
                several => Redemption::batch(DELEGATION_MANAGER, context.clone(), several),
            };
            let verdict = agreed(&stage, &foresight, &header, &redemption, scene.by)
                .await
                .with_context(|| format!("{:?}, {turn}", scene.rule))?;
            all += 1;
            match verdict {
                None => allowed += 1,
                Some(code) => *refused.entry(format!("{code:?}")).or_default() += 1,
            }
        }
    }

    eprintln!("{all} actions, {allowed} allowed, refused: {refused:?}");
    ensure!(all >= 2_000 && allowed * 10 >= all * 4, "{allowed} of {all}");
    for scene in &scenes {
        let count = refused.get(&format!("{:?}", scene.rule)).copied().unwrap_or_default();
        ensure!(count >= 50, "{:?} refused {count}", scene.rule);
    }
    Ok(())
}

/// After a new block everything that was touched is read again at once: at most three round trips, whatever has moved.
/// On a block that is known nothing is asked at all.
#[tokio::test]
async fn a_new_block_costs_three_round_trips_and_a_known_one_none() -> Result<()> {
    let stage = Stage::open().await?;
    let (owner, agent, law) = golem(&stage, AccountKind::Hybrid, |_| ()).await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::from_millis(50)).await?;
    let foresight = Foresight::new(Node::connect(proxy.url()).await?);
    let by = agent.key.address();
    let swap = agent.redemption(&fair_swap(&stage, agent.account, dollars(1)))?;
    let judged = async || -> Result<Outcome> { Ok(foresight.judge(&swap, by).await?) };
    let _ = (proxy.requests(), proxy.round_trips());

    ensure!(matches!(judged().await?, Outcome::Allowed(_)), "at first");
    let cold = proxy.round_trips();
    for dollars_moved in [1, 300, 50] {
        // The pool's price, its observations and the feed all move.
        let other = stage.owner(AccountKind::Stateless7702).await?;
        let moved = fair_swap(&stage, other.account.address, dollars(dollars_moved));
        other.account.act(stage.node(), &other.signer, &[moved]).await?;
        stage.set_price(stage.book().eth_usd, 250_000_000_000).await?;
        let _ = (proxy.requests(), proxy.round_trips());
        ensure!(matches!(judged().await?, Outcome::Allowed(_)), "after ${dollars_moved}");
        let warm = proxy.round_trips();
        ensure!(warm <= 3, "{warm} round trips after a new block, {cold} at first");
    }
    let header = foresight.node().header().await?;
    let _ = foresight.judge_at(header.clone(), &swap, by).await?;
    let _ = (proxy.requests(), proxy.round_trips());
    for _ in 0..3 {
        let again = foresight.judge_at(header.clone(), &swap, by).await?;
        ensure!(matches!(again, Outcome::Allowed(_)), "on a known block");
    }
    ensure!(proxy.requests() == 0, "a known block was asked about");

    // And what the new block says is what counts.
    let stop = GolemRegistry::revokeCall { golemId: law.golem_id };
    sent(&stage, owner.signer.address(), golem_registry(), &stop).await?;
    match judged().await? {
        Outcome::Refused(denial) => ensure!(denial.code == DenialCode::Revoked, "{denial:?}"),
        Outcome::Allowed(_) => bail!("judged by the block before"),
    }
    Ok(())
}

/// What would change is read from the state, before and after.
#[tokio::test]
async fn an_allowed_redemption_says_what_it_changes() -> Result<()> {
    let stage = Stage::open().await?;
    let (_, agent, _) = golem(&stage, AccountKind::Stateless7702, |_| ()).await?;
    let (account, key) = (agent.account, agent.key.address());
    let (usdc, router) = (stage.book().usdc, stage.book().swap_router_02);
    let allow = Erc20::approveCall { spender: router, amount: dollars(77) };
    let gas = U256::from(1_000_000_000_000_000_u64);
    let pay = Execution { target: key, value: gas, data: Bytes::new() };
    let calls = [pay, call(usdc, &allow), fair_swap(&stage, account, dollars(7))];
    let context = PermissionContext::new(vec![agent.grant.clone()])?;
    let batch = Redemption::batch(DELEGATION_MANAGER, context, &calls);

    let preview = match stage.foresight().judge(&batch, key).await? {
        Outcome::Allowed(preview) => preview,
        Outcome::Refused(denial) => bail!("{denial:?}"),
    };
    let change = |of: Held| preview.changes.iter().find(|change| change.of == of);
    let balance = |asset, account| change(Held::Balance { asset, account });

    let spent = balance(Asset::Erc20(usdc), account).context("dollars")?;
    ensure!((spent.before, spent.after) == (dollars(10_000), dollars(9_993)), "{spent:?}");
    let bought = balance(Asset::Erc20(stage.book().weth), account).context("ether bought")?;
    ensure!(bought.before.is_zero() && bought.after > U256::from(1u64 << 50), "{bought:?}");
    let paid = balance(Asset::Native, key).context("gas money")?;
    ensure!(paid.after - paid.before == gas, "{paid:?}");
    let allowed = change(Held::Allowance { token: usdc, owner: account, spender: router });
    ensure!(allowed.context("allowance")?.after == dollars(70), "{allowed:?}");
    Ok(())
}

/// X2: what answers everything with a yes is no manager, and what is not looked at may be what leaves: neither is decided.
#[tokio::test]
async fn neither_a_manager_that_is_none_nor_changes_without_end_are_allowed() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let by = Address::repeat_byte(0x51);
    let context = PermissionContext::new(granted(&stage, &owner, by, vec![])?)?;
    let target = Address::repeat_byte(0x52);
    let call = Execution { target, value: U256::ZERO, data: Bytes::new() };
    let judged = async |manager: Address| {
        let redemption = Redemption::single(manager, context.clone(), &call);
        stage.foresight().judge(&redemption, by).await
    };
    ensure!(matches!(judged(DELEGATION_MANAGER).await?, Outcome::Allowed(_)));
    // Wrapped ether takes any call.
    let no_manager = judged(stage.book().weth).await;
    ensure!(matches!(no_manager, Err(golem_chain::ChainFault::Missing { .. })), "{no_manager:?}");

    // Three hundred transfers, each of somebody else: count down, log, and begin again until nothing is left.
    let mut code = vec![0x61, 0x01, 0x2c, 0x5b, 0x80, 0x81, 0x7f];
    code.extend_from_slice(
        <Erc20::Transfer as alloy::sol_types::SolEvent>::SIGNATURE_HASH.as_slice(),
    );
    code.extend_from_slice(&[
        0x60, 0x20, 0x5f, 0xa3, 0x60, 0x01, 0x90, 0x03, 0x80, 0x60, 0x03, 0x57, 0x00,
    ]);
    stage.node().provider().anvil_set_code(target, code.into()).await?;
    stage.node().provider().anvil_mine(Some(1), None).await?;
    let noise = judged(DELEGATION_MANAGER).await;
    ensure!(matches!(noise, Err(golem_chain::ChainFault::Machine { .. })), "{noise:?}");
    Ok(())
}

/// A reorg: what stood on the block before need not stand on this one.
#[tokio::test]
async fn a_block_of_another_line_is_not_judged_by_code_of_the_first() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let by = Address::repeat_byte(0x51);
    let links = granted(&stage, &owner, by, vec![])?;
    let target = Address::repeat_byte(0x52);
    let call = Execution { target, value: U256::ZERO, data: Bytes::new() };
    let redemption = Redemption::single(DELEGATION_MANAGER, PermissionContext::new(links)?, &call);
    let foresight = stage.foresight();
    let provider = stage.node().provider();
    let before = provider.anvil_snapshot().await?;
    // PUSH0 PUSH0 REVERT.
    provider.anvil_set_code(target, Bytes::from_static(&[0x5f, 0x5f, 0xfd])).await?;
    provider.anvil_mine(Some(1), None).await?;
    let first = foresight.judge(&redemption, by).await?;

    provider.anvil_revert(before).await?;
    provider.anvil_mine(Some(1), None).await?;
    let second = foresight.judge(&redemption, by).await?;

    ensure!(matches!(first, Outcome::Refused(_)), "{first:?}");
    ensure!(matches!(second, Outcome::Allowed(_)), "{second:?}");
    Ok(())
}

/// An enforcer that is not there refuses everything, and it is said which.
#[tokio::test]
async fn an_enforcer_without_code_is_named() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let mut agent = Agent::hired(&stage, &owner, 5).await?;
    let nowhere = Address::repeat_byte(0x99);
    agent.grant.caveats.push(Caveat::new(nowhere, vec![1]));
    agent.grant = owner.signer.grant(&stage.domain(), agent.grant)?;
    let denial =
        agent.attempt(&stage, &swap(&stage, agent.account, dollars(1))).await?.refusal()?;
    assert_eq!(denial.enforcer, Some(nowhere), "{denial}");
    ensure!(denial.reason.contains("bardo chains check"), "{denial}");
    Ok(())
}
