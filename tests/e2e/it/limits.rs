//! The limits that matter, attacked by whoever holds the session key: no runtime, no policy, no
//! clearing, only contracts (SPEC C6, C9, C10, C13).

use crate::{
    field::Field,
    raw::{RawKey, Tuple, batch, granted, single},
};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    sol,
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    GolemRegistry, KnowledgeMarket,
    defi::{
        Erc20,
        NonfungiblePositionManager::{IncreaseLiquidityParams, increaseLiquidityCall},
        Weth9,
    },
    golem_registry, holdings_enforcer, knowledge_market,
};
use bardo_testkit::{charter_of, dollars};
use golem_chain::{AccountKind, bundle_enforcers};
use golem_custody::{DenialCode, Execution};
use golem_delegation::{
    Delegation,
    bundles::{Bundle, Law, Spend},
    grant::Grant,
    terms::{CharterMood, Class, Classes, GolemCharter, ListedTarget, MoodBounds, Role},
};
use std::num::NonZeroU32;

sol! {
    /// Of every router.
    function multicall(bytes[] data) external payable returns (bytes[] results);
}

const DOLLAR: u64 = 1_000_000;
const SALT: B256 = B256::repeat_byte(0x1e);

/// An owner, and a thief with the key of his Golem.
struct Heist {
    field: Field,
    thief: RawKey,
    links: Vec<Delegation>,
}

impl Heist {
    async fn on(bundles: &[Bundle], change: impl FnOnce(&mut GolemCharter)) -> Result<Self> {
        let (stage, owner) = Field::prepared(AccountKind::Hybrid).await?;
        let thief = RawKey::born(&stage).await?;
        let law = charter_of(&stage, &owner, SALT, thief.address(), |law| {
            law.replicants = true;
            change(law);
        })
        .await?;
        let golem_id = law.golem_id;
        let caveats = Law::new(law).under(bundles)?.caveats(&bundle_enforcers())?;
        let links = granted(&stage, &owner, thief.address(), caveats)?;
        Ok(Self { field: Field { stage, owner, golem_id }, thief, links })
    }

    async fn goes(&self, tuples: &[Tuple]) -> Result<bool> {
        Ok(self.thief.redeem(&self.field.stage, tuples).await?.status())
    }

    /// Dollars that have left the account, in whole ones.
    async fn spent(&self) -> Result<U256> {
        let (stage, usdc) = (&self.field.stage, self.field.stage.book().usdc);
        let held = stage.balance_of(usdc, self.field.account()).await?;
        Ok((dollars(10_000) - held) / dollars(1))
    }
}

/// ATK-13, ATK-14: in pieces, at once, or by others.
#[tokio::test]
async fn a_budget_is_one_sum_however_it_is_spent() -> Result<()> {
    let heist = Heist::on(&[Bundle::MaxSpend(Spend::Total(50 * DOLLAR))], |_| ()).await?;
    let (field, stage, links) = (&heist.field, &heist.field.stage, &heist.links);
    let ten = field.swap(10);

    let (six, whole) = (vec![single(links, &ten)?; 6], batch(links, &vec![ten.clone(); 6])?);
    heist.thief.refused_all(stage, links, &six, DenialCode::Budget).await?;
    heist.thief.refused_all(stage, links, &[whole], DenialCode::Budget).await?;
    ensure!(heist.spent().await? == U256::ZERO, "nothing left");
    // Accomplices with links of their own share the sum.
    for round in 0..6 {
        let accomplice = RawKey::born(stage).await?;
        let handed_on = heist.thief.delegate(stage, links, accomplice.address(), vec![])?;
        let done = accomplice.redeem(stage, &[single(&handed_on, &ten)?]).await?.status();
        ensure!(done == (round < 5), "accomplice {round}: {done}");
    }
    heist.thief.refused(stage, links, &field.swap(1), DenialCode::Budget).await?;
    ensure!(heist.spent().await? == U256::from(50), "five times ten");
    // Nor does time bring it back.
    stage.warp(stage.now().await? + 3 * 86_400).await?;
    heist.thief.refused(stage, links, &ten, DenialCode::Budget).await?;
    Ok(())
}

/// ATK-23, ATK-31: twice in one transaction, under a second grant, by an accomplice.
#[tokio::test]
async fn once_a_week_is_once_a_week() -> Result<()> {
    let week = Bundle::CronOnly(NonZeroU32::new(604_800).unwrap_or(NonZeroU32::MAX));
    let heist = Heist::on(std::slice::from_ref(&week), |_| ()).await?;
    let (field, stage, links) = (&heist.field, &heist.field.stage, &heist.links);
    let one = single(links, &field.swap(1))?;

    let twice = [one.clone(), one.clone()];
    heist.thief.refused_all(stage, links, &twice, DenialCode::Cadence).await?;
    ensure!(heist.goes(&[one]).await?, "once");
    // The owner signs anew, for the same Golem: nothing begins again.
    let law = charter_of(stage, &field.owner, SALT, heist.thief.address(), |law| law.epoch = 2);
    let caveats = Law::new(law.await?).under(&[week])?.caveats(&bundle_enforcers())?;
    let second = granted(stage, &field.owner, heist.thief.address(), caveats)?;
    heist.thief.refused(stage, &second, &field.swap(1), DenialCode::Cadence).await?;
    let accomplice = RawKey::born(stage).await?;
    let handed_on = heist.thief.delegate(stage, links, accomplice.address(), vec![])?;
    accomplice.refused(stage, &handed_on, &field.swap(1), DenialCode::Cadence).await?;
    Ok(())
}

/// ATK-18: a position is what it is after the last call, in whatever form it is held.
#[tokio::test]
async fn a_position_is_bounded_by_what_is_held_in_the_end() -> Result<()> {
    // A charter that allows more at once than the share.
    let heist = Heist::on(&[Bundle::max_position(400)], |_| ()).await?;
    let (field, stage, links) = (&heist.field, &heist.field.stage, &heist.links);
    let (thief, code) = (&heist.thief, DenialCode::Share);
    let part = field.swap(240);

    let both = batch(links, &[part.clone(), part.clone()])?;
    thief.refused_all(stage, links, &[both], code).await?;
    let one = single(links, &part)?;
    thief.refused_all(stage, links, &[one.clone(), one.clone()], code).await?;
    ensure!(heist.spent().await? == U256::ZERO, "nothing bought");
    ensure!(heist.goes(&[one]).await?, "a part of the share is allowed");
    thief.refused(stage, links, &part, code).await?;
    // A first tuple that the bound would stop, with a second that undoes it.
    let undone = [single(links, &part)?, single(links, &field.swap_back())?];
    thief.refused_all(stage, links, &undone, code).await?;
    // Unwrapped it is still held.
    let weth = stage.book().weth;
    let all = stage.balance_of(weth, field.account()).await?;
    let unwrap = field.call(weth, &Weth9::withdrawCall { amount: all });
    ensure!(heist.goes(&[single(links, &unwrap)?]).await?, "unwrapped");
    thief.refused(stage, links, &part, code).await?;
    // Nor is it hidden in a pool, which has no price here.
    let [remove, _] = field.position().await?;
    ensure!(heist.goes(&[single(links, &remove)?]).await?, "closing is free");
    let add = increaseLiquidityCall {
        params: IncreaseLiquidityParams {
            tokenId: U256::from(1),
            amount0Desired: U256::from(1),
            amount1Desired: U256::from(1),
            amount0Min: U256::ZERO,
            amount1Min: U256::ZERO,
            deadline: U256::MAX,
        },
    };
    let add = field.call(stage.book().position_manager, &add);
    thief.refused(stage, links, &add, DenialCode::Class).await?;
    Ok(())
}

/// Below its mark the account only closes, and whoever holds the key cannot make it sell for nothing.
#[tokio::test]
async fn a_fallen_account_only_closes_whoever_holds_the_key() -> Result<()> {
    let heist = Heist::on(&[Bundle::MaxDrawdown(1_500)], |_| ()).await?;
    let (field, stage, links) = (&heist.field, &heist.field.stage, &heist.links);
    let thief = &heist.thief;
    ensure!(heist.goes(&[single(links, &field.swap(1))?]).await?, "at its mark it trades");
    let to = field.owner.signer.address();
    let leave = Erc20::transferCall { to, amount: dollars(1_600) };
    field.owner_does(&[field.call(stage.book().usdc, &leave)]).await?;

    let buy = field.swap(1);
    let denial = thief.refused(stage, links, &buy, DenialCode::Drawdown).await?;
    ensure!(denial.enforcer == Some(holdings_enforcer()), "{denial:?}");
    let two = [single(links, &buy)?, single(links, &field.swap_back())?];
    thief.refused_all(stage, links, &two, DenialCode::Drawdown).await?;
    // In one batch nothing has grown at its end, and it is a purchase all the same.
    let round = batch(links, &[buy.clone(), field.swap_back()])?;
    thief.refused_all(stage, links, &[round], DenialCode::Drawdown).await?;
    let for_nothing = field.sell(U256::from(4_000_000_000_000_u64), U256::ZERO);
    thief.refused(stage, links, &for_nothing, DenialCode::Slippage).await?;
    ensure!(heist.goes(&[single(links, &field.swap_back())?]).await?, "it still sells");
    ensure!(heist.goes(&[single(links, &field.home())?]).await?, "and sends home");
    Ok(())
}

/// ATK-31, SPEC D17: a feed, a rotated key and other terms bring back nothing of what was lost. Only an owner who says
/// that he begins anew does.
#[tokio::test]
async fn a_fallen_account_is_not_lifted_by_feed_rotation_or_a_new_grant() -> Result<()> {
    let fallen = Bundle::MaxDrawdown(1_500);
    let heist = Heist::on(std::slice::from_ref(&fallen), |_| ()).await?;
    let (field, stage, links) = (&heist.field, &heist.field.stage, &heist.links);
    ensure!(heist.goes(&[single(links, &field.swap(1))?]).await?, "at its mark it trades");
    let to = field.owner.signer.address();
    let leave = Erc20::transferCall { to, amount: dollars(1_600) };
    field.owner_does(&[field.call(stage.book().usdc, &leave)]).await?;
    let environment = golem_chain::environment();
    let signed = |delegation| field.owner.signer.grant(&stage.domain(), delegation);
    let buy = field.swap(1);
    let code = DenialCode::Drawdown;

    let first = links.first().context("no grant")?;
    let end = Grant::read(first, &environment)?.charter().window.end();
    let fed = Grant::read(first, &environment)?.feed(end + 86_400)?.delegation;
    let fed = signed(fed)?;
    heist.thief.refused(stage, std::slice::from_ref(&fed), &buy, code).await?;
    let fresh = RawKey::born(stage).await?;
    let rotated = Grant::read(&fed, &environment)?.rotate(fresh.address())?.delegation;
    let rotated = signed(rotated)?;
    fresh.refused(stage, std::slice::from_ref(&rotated), &buy, code).await?;
    let law = Grant::read(&rotated, &environment)?.next_charter()?;
    let anew = |law: Law| -> Result<Delegation> {
        let caveats = law.under(std::slice::from_ref(&fallen))?.caveats(&bundle_enforcers())?;
        let next = Grant::read(&rotated, &environment)?.regrant(fresh.address(), caveats)?;
        Ok(signed(next.delegation)?)
    };
    let same = anew(Law::new(law.clone()))?;
    fresh.refused(stage, &[same], &buy, code).await?;
    let begun = anew(Law::new(law).in_series(2))?;
    ensure!(fresh.redeem(stage, &[single(&[begun], &buy)?]).await?.status(), "begun anew");
    Ok(())
}

/// SPEC C19, D11: a rotated key is paid its gas, whatever stands beside the charter.
#[tokio::test]
async fn a_rotated_key_gets_its_gas_money_under_every_bundle() -> Result<()> {
    let bundles = [Bundle::MaxDrawdown(1_500), Bundle::MaxSpend(Spend::Total(1_000 * DOLLAR))];
    let heist = Heist::on(&bundles, |law| law.gas_ceiling = 1_000_000_000).await?;
    let (field, stage, links) = (&heist.field, &heist.field.stage, &heist.links);
    let environment = golem_chain::environment();
    let fresh = RawKey::born(stage).await?;
    let first = links.first().context("no grant")?;
    let rotated = Grant::read(first, &environment)?.rotate(fresh.address())?.delegation;
    let rotated = [field.owner.signer.grant(&stage.domain(), rotated)?];
    stage.fund(field.account(), bardo_testkit::STIPEND, U256::ZERO).await?;
    let paid = |key: Address| Execution {
        target: key,
        value: U256::from(1_000_000_000_000_000_u64),
        data: Bytes::new(),
    };

    let old = paid(heist.thief.address());
    fresh.does(stage, &rotated, &paid(fresh.address())).await?;
    let refused = fresh.redeem(stage, &[single(&rotated, &old)?]).await;
    ensure!(!refused.is_ok_and(|receipt| receipt.status()), "the old key gets none");
    Ok(())
}

fn says(heist: &Heist, pleasure: i8, arousal: i8, dominance: i8) -> Bytes {
    let golem_id = heist.field.golem_id;
    let say = GolemRegistry::updatePadCall { golemId: golem_id, pleasure, arousal, dominance };
    say.abi_encode().into()
}

/// SPEC C9, D10: a panicking Golem does not swap, through whatever function. A thief is as calm as he says:
/// the section adds no bound against him, and takes none away.
#[tokio::test]
async fn a_panicking_golem_does_not_swap_through_any_door() -> Result<()> {
    let bounds = MoodBounds { min_pleasure: -50, max_arousal: 60, min_dominance: -60 };
    let mood = CharterMood { bounds, classes: Classes::of(&[Class::Swap]) };
    let heist = Heist::on(&[], |law| law.mood = Some(mood)).await?;
    let (field, stage, links) = (&heist.field, &heist.field.stage, &heist.links);
    let swap = field.swap(1);
    let inside = multicallCall { data: vec![swap.data.clone()] };
    let hidden = field.call(swap.target, &inside);
    ensure!(heist.goes(&[single(links, &swap)?]).await?, "calm");

    heist.thief.send(stage, golem_registry(), says(&heist, 0, 61, 0)).await?;
    heist.thief.refused(stage, links, &swap, DenialCode::Emotion).await?;
    heist.thief.refused(stage, links, &hidden, DenialCode::Emotion).await?;
    let behind = batch(links, &[field.home(), swap.clone()])?;
    heist.thief.refused_all(stage, links, &[behind], DenialCode::Emotion).await?;
    ensure!(heist.goes(&[single(links, &field.home())?]).await?, "what is not bound goes on");

    heist.thief.send(stage, golem_registry(), says(&heist, 0, 60, 0)).await?;
    ensure!(heist.goes(&[single(links, &swap)?]).await?, "he says that he is calm");
    heist.thief.refused(stage, links, &field.swap(501), DenialCode::Nav).await?;
    Ok(())
}

/// SPEC C10: who sells pays those who wrote, to the cent and to them.
#[tokio::test]
async fn a_sale_without_its_royalty_is_no_sale() -> Result<()> {
    let market = knowledge_market();
    let listed = ListedTarget { target: market, role: Role::Market };
    let heist = Heist::on(&[], |law| {
        law.max_royalty_bps = Some(2_000);
        law.listing.targets.push(listed);
    })
    .await?;
    let (field, stage, links) = (&heist.field, &heist.field.stage, &heist.links);
    let (author, buyer) = (RawKey::born(stage).await?, RawKey::born(stage).await?);
    let usdc = stage.book().usdc;
    let content = B256::repeat_byte(0x6e);
    let publish = KnowledgeMarket::publishCall {
        contentHash: content,
        parent: B256::ZERO,
        royaltyBps: 1_000,
        token: usdc,
        price: alloy::primitives::aliases::U96::from(50 * DOLLAR),
    };
    author.send(stage, market, publish.abi_encode().into()).await?;
    let named = KnowledgeMarket::entryIdOfCall { author: author.address(), contentHash: content };
    let entry = stage.node().read(market, named).await?;
    let give = KnowledgeMarket::bequeathCall { entryId: entry, heir: field.account() };
    author.send(stage, market, give.abi_encode().into()).await?;
    stage.fund(buyer.address(), bardo_testkit::STIPEND, dollars(50)).await?;
    let allow = Erc20::approveCall { spender: market, amount: dollars(50) };
    buyer.send(stage, usdc, allow.abi_encode().into()).await?;
    let order =
        KnowledgeMarket::orderCall { entryId: entry, seller: field.account(), notAfter: U256::MAX };
    buyer.send(stage, market, order.abi_encode().into()).await?;

    let sell = KnowledgeMarket::sellCall {
        entryId: entry,
        seller: field.account(),
        buyer: buyer.address(),
    };
    let sale = field.call(market, &sell);
    let royalty = |to: Address, amount: U256| field.call(usdc, &Erc20::transferCall { to, amount });
    let (writer, thief) = (author.address(), heist.thief.address());
    heist.thief.refused(stage, links, &sale, DenialCode::Royalty).await?;
    let cent_less = dollars(5) - U256::from(1);
    let attempts: [(&[Execution], _); 5] = [
        (&[sale.clone(), royalty(thief, dollars(5))], DenialCode::Royalty),
        (&[sale.clone(), royalty(writer, cent_less)], DenialCode::Royalty),
        (&[royalty(writer, dollars(5)), sale.clone()], DenialCode::Recipient),
        (
            &[sale.clone(), royalty(writer, dollars(5)), royalty(thief, dollars(5))],
            DenialCode::Recipient,
        ),
        (&[royalty(writer, dollars(5))], DenialCode::Recipient),
    ];
    for (calls, code) in attempts {
        heist.thief.refused_all(stage, links, &[batch(links, calls)?], code).await?;
    }
    ensure!(heist.goes(&[batch(links, &[sale, royalty(writer, dollars(5))])?]).await?, "sold");
    ensure!(stage.balance_of(usdc, writer).await? == dollars(5), "the author is paid");
    ensure!(stage.balance_of(usdc, field.account()).await? == dollars(10_045), "and the account");
    Ok(())
}
