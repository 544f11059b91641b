//! What is tried, by whom, and what must be said to it: the rules, one by one.

use super::{errors::EACH, shapes::Shape};
use crate::raw::granted;
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    sol_types::SolCall,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    GolemRegistry, KnowledgeMarket,
    defi::{
        Erc20,
        NonfungiblePositionManager::{DecreaseLiquidityParams, decreaseLiquidityCall},
    },
    framework::DELEGATION_MANAGER,
    golem_charter_enforcer, golem_registry, knowledge_royalty_enforcer, threshold_enforcer,
};
use bardo_testkit::{Agent, Owner, Stage, bundled, charter, chartered, dollars, fair_swap, swap};
use golem_chain::{AccountKind, revocation};
use golem_custody::{
    DenialCode, Execution, OwnerSigner, Redemption, SessionKey, SessionSigner as _,
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
use std::num::NonZeroU32;

pub(super) const DOLLAR: u64 = 1_000_000;

/// The same numbers in every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// From zero, below `end`.
    pub(super) const fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    pub(super) fn address(&mut self) -> Address {
        Address::from_word(alloy::primitives::keccak256(self.below(u64::MAX >> 31).to_be_bytes()))
    }
}

/// Makes the calls of one attempt.
pub(super) type Calls = Box<dyn Fn(&Stage, &mut Dice) -> Vec<Execution>>;
/// The same, of an account and its agent's key.
type CallsOf = Box<dyn Fn(Address, Address) -> Calls>;
/// Makes one attempt.
type Make = Box<dyn Fn(&Stage, &mut Dice) -> Result<Redemption>>;

/// What both verdicts must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Allowed(Shape),
    /// For the same reason, word for word.
    Refused(DenialCode),
    /// Both refuse; the data is that of a rule, and we see that it was said of something else.
    Posed(DenialCode),
    /// Both refuse; we know the reason, of which the chain sees no more than this.
    NoAccount(DenialCode),
    /// For the same reason, word for word: this error of this enforcer's.
    Says(Address, &'static str),
    /// Both refuse, with the data of this error: an enforcer said it within a call.
    Within(Address, &'static str),
}

/// Somebody who may do something, and what he tries.
pub(super) struct Scene {
    pub(super) wanted: Wanted,
    pub(super) times: u64,
    pub(super) by: Address,
    make: Make,
}

impl Scene {
    /// One call, or several at once, under one grant.
    pub(super) fn new(
        wanted: Wanted,
        links: Vec<Delegation>,
        by: Address,
        calls: impl Fn(&Stage, &mut Dice) -> Vec<Execution> + 'static,
    ) -> Result<Self> {
        let context = PermissionContext::new(links)?;
        Ok(Self::made(wanted, by, move |stage, dice| {
            Ok(match calls(stage, dice).as_slice() {
                [one] => Redemption::single(DELEGATION_MANAGER, context.clone(), one),
                several => Redemption::batch(DELEGATION_MANAGER, context.clone(), several),
            })
        }))
    }

    /// In any form.
    pub(super) fn made(
        wanted: Wanted,
        by: Address,
        make: impl Fn(&Stage, &mut Dice) -> Result<Redemption> + 'static,
    ) -> Self {
        let times = if let Wanted::Allowed(shape) = wanted { shape.times() } else { EACH };
        Self { wanted, times, by, make: Box::new(make) }
    }

    /// What a rule refuses.
    pub(super) fn refused(
        rule: DenialCode,
        links: Vec<Delegation>,
        by: Address,
        calls: impl Fn(&Stage, &mut Dice) -> Vec<Execution> + 'static,
    ) -> Result<Self> {
        Self::new(Wanted::Refused(rule), links, by, calls)
    }

    /// Only a part as often.
    pub(super) fn one_in(self, parts: u64) -> Self {
        Self { times: self.times.div_ceil(parts), ..self }
    }

    pub(super) fn attempt(&self, stage: &Stage, dice: &mut Dice) -> Result<Redemption> {
        (self.make)(stage, dice)
    }
}

pub(super) fn call<C: SolCall>(target: Address, call: &C) -> Execution {
    Execution { target, value: U256::ZERO, data: call.abi_encode().into() }
}

pub(super) async fn sent<C: SolCall>(
    stage: &Stage,
    from: Address,
    to: Address,
    call: &C,
) -> Result<()> {
    let receipt = stage.send_as(from, to, U256::ZERO, call.abi_encode().into()).await?;
    ensure!(receipt.status(), "{} by {from}", C::SIGNATURE);
    Ok(())
}

/// A fair swap of some dollars.
pub(super) fn fair(
    account: Address,
    least: u64,
    most: u64,
) -> impl Fn(&Stage, &mut Dice) -> Vec<Execution> {
    move |stage, dice| {
        vec![fair_swap(stage, account, dollars(least + dice.below(most - least + 1)))]
    }
}

/// A function that nobody knows.
pub(super) fn under_another_name(mut call: Execution, dice: &mut Dice) -> Execution {
    let name = dice.address();
    let (selector, _) = name.split_at(4);
    let arguments = call.data.get(4..).unwrap_or_default();
    call.data = [selector, arguments].concat().into();
    call
}

/// A new owner and his Golem under a charter.
pub(super) async fn golem(
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
pub(super) async fn of_actions(stage: &Stage) -> Result<Vec<Scene>> {
    let kinds = [AccountKind::Stateless7702, AccountKind::Hybrid];
    let (_, one, _) = golem(stage, kinds[0], |_| ()).await?;
    let (_, other, _) = golem(stage, kinds[1], |_| ()).await?;
    let rules: Vec<(DenialCode, CallsOf)> = vec![
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
        scenes.push(Scene::refused(rule, links, by, foul(account, by))?);
    }
    Ok(scenes)
}

/// What is wrong with a grant, or with the Golem's life.
pub(super) async fn of_lives(stage: &Stage) -> Result<Vec<Scene>> {
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
        let foul: Calls = match rule {
            DenialCode::Spend => Box::new(fair(account, 51, 400)),
            DenialCode::Reverted => Box::new(fair(account, 10_001, 12_000)),
            _ => Box::new(fair(account, 1, 400)),
        };
        scenes.push(Scene::refused(rule, vec![agent.grant], by, foul)?);
    }
    Ok(scenes)
}

/// What stands beside a charter.
pub(super) async fn of_bundles(stage: &Stage) -> Result<Vec<Scene>> {
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
        scenes.push(Scene::refused(rule, links, by, fair(account, least, 400))?);
    }
    Ok(scenes)
}

/// The stock enforcers' rules.
pub(super) async fn of_stock(stage: &Stage) -> Result<Vec<Scene>> {
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
        let foul: Calls = match rule {
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
        scenes.push(Scene::refused(rule, links, by, foul)?);
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
    Scene::refused(DenialCode::Redeemer, vec![link, grant], child, fair(account, 1, 400))
}

/// Sales that do not pay those who wrote, or pay them more than the owner agreed to.
pub(super) async fn of_sales(stage: &Stage) -> Result<Vec<Scene>> {
    let market = bardo_bindings::knowledge_market();
    let listed = ListedTarget { target: market, role: Role::Market };
    let (owner, agent, law) = golem(stage, AccountKind::Hybrid, |law| {
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
    let sold = sale.clone();
    let foul = move |_: &Stage, dice: &mut Dice| {
        let (to, amount) = (dice.address(), dollars(1 + dice.below(4)));
        vec![sold.clone(), call(usdc, &Erc20::transferCall { to, amount })]
    };
    let (links, by) = (vec![agent.grant], agent.key.address());
    let mut scenes = vec![Scene::refused(DenialCode::Royalty, links, by, foul.clone())?];

    // The author's tenth is more than this owner agreed to.
    let charter = GolemCharter { max_royalty_bps: Some(999), ..law };
    let charter = owner.signer.grant(&stage.domain(), chartered(&charter)?)?;
    let (rule, too_much) = (golem_charter_enforcer(), "KnowledgeRoyalty_TooMuch");
    scenes.push(Scene::new(Wanted::Says(rule, too_much), vec![charter], by, foul.clone())?);
    let rule = knowledge_royalty_enforcer();
    let alone = |bps: u16| {
        let terms = [market.as_slice(), &bps.to_be_bytes()].concat();
        granted(stage, &owner, by, vec![Caveat::new(rule, terms)])
    };
    let longer = move |_: &Stage, dice: &mut Dice| {
        let tail = vec![0; 1 + usize::try_from(dice.below(64)).unwrap_or_default()];
        vec![Execution { data: [&sale.data[..], &tail].concat().into(), ..sale.clone() }]
    };
    let calls: [(&str, u16, Calls); 3] = [
        ("KnowledgeRoyalty_Missing", 2_000, Box::new(foul.clone())),
        (too_much, 999, Box::new(foul)),
        ("KnowledgeRoyalty_NotCanonical", 2_000, Box::new(longer)),
    ];
    for (error, bps, calls) in calls {
        scenes.push(Scene::new(Wanted::Says(rule, error), alone(bps)?, by, calls)?);
    }
    Ok(scenes)
}
