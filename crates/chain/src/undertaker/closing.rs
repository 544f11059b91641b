//! What is open is closed, and what was closed becomes what the owner wants to have.

use super::{Deed, GrantedEstate, Stop, Undone, execution};
use crate::{
    Ledger, facts,
    observe::MAX_POSITIONS,
    snapshot::{Snapshot, said},
};
use alloy::primitives::{
    Address, U256,
    aliases::{U24, U160},
};
use bardo_bindings::defi::{
    Erc20, Erc4626, NonfungiblePositionManager as Manager, SwapRouter, SwapRouter02, Weth9,
};
use golem_custody::{DeferredPosition, Execution, Holding, IntentId, Positions, SessionSigner};
use golem_delegation::terms::{Class, Role};
use golem_safety::Appraisal;

/// The whole, in basis points.
const WHOLE: u64 = 10_000;
/// Uniswap's fee tiers.
const FEES: [u32; 4] = [100, 500, 3_000, 10_000];
/// A deadline that never comes: what is signed is judged by its minimums, and by the charter on the block's own state.
const NEVER: U256 = U256::MAX;

impl<K: SessionSigner> GrantedEstate<'_, K> {
    pub(super) async fn closes(&self, effect: IntentId) -> Result<Positions, Stop> {
        let mut deferred = Vec::new();
        self.looks_back().await?;
        self.is_dying().await?;
        for manager in self.listed(&[Role::PositionManager]) {
            self.closes_liquidity(effect, manager, &mut deferred).await?;
        }
        self.redeems(effect, &mut deferred).await?;
        self.wraps(effect).await?;
        self.converts(effect, &mut deferred).await?;
        Ok(Positions { settled: self.ended(effect).await?, deferred })
    }

    /// Every position of two listed tokens. Anybody can give the account others, and those are looked at by nobody.
    async fn closes_liquidity(
        &self,
        effect: IntentId,
        manager: Address,
        deferred: &mut Vec<DeferredPosition>,
    ) -> Result<(), Stop> {
        let owner = self.account();
        let on = Snapshot::newest(self.node()).await?;
        let Some(count) = said(on.read(manager, Manager::balanceOfCall { owner }).await)? else {
            return Ok(());
        };
        let most = count.saturating_to::<u64>().min(MAX_POSITIONS);
        let mut ids = Vec::new();
        for index in 0..most {
            let of = Manager::tokenOfOwnerByIndexCall { owner, index: U256::from(index) };
            ids.extend(said(on.read(manager, of).await)?);
        }
        for id in ids {
            let on = Snapshot::newest(self.node()).await?;
            let Some((liquidity, deed)) = self.closing(&on, manager, id).await? else { continue };
            let undone = match deed {
                Ok(deed) => self.does(effect, &deed).await?.err(),
                Err(undone) => Some(undone),
            };
            if let Some(Undone { reason, transaction }) = undone {
                let of = Holding::Position { contract: manager, id };
                let amount = U256::from(liquidity);
                deferred.push(DeferredPosition { of, amount, reason, transaction });
            }
        }
        if count > U256::from(most) {
            let of = Holding::Token(manager);
            let reason = format!("{count} positions are more than are looked at, which is {most}");
            let amount = count.saturating_sub(U256::from(most));
            deferred.push(DeferredPosition { of, amount, reason, transaction: None });
        }
        Ok(())
    }

    /// How a position is closed, for no less than it is worth at this moment less the charter's bound. Whether this moment's price
    /// is one to close at is the charter's to say, by its feeds.
    async fn closing(
        &self,
        on: &Snapshot<'_>,
        manager: Address,
        id: U256,
    ) -> Result<Option<(u128, Result<Deed, Undone>)>, Stop> {
        let account = self.account();
        let found = said(on.read(manager, Manager::positionsCall { tokenId: id }).await)?;
        let priced = |token| self.charter.listing.tokens.iter().any(|entry| entry.token == token);
        let found = found.filter(|found| priced(found.token0) && priced(found.token1));
        let Some(found) = found else { return Ok(None) };
        let mut calls = Vec::new();
        if found.liquidity > 0 {
            let mut params = Manager::DecreaseLiquidityParams {
                tokenId: id,
                liquidity: found.liquidity,
                amount0Min: U256::ZERO,
                amount1Min: U256::ZERO,
                deadline: NEVER,
            };
            let all = Manager::decreaseLiquidityCall { params: params.clone() };
            let Some(now) = said(on.read_as(account, manager, all).await)? else {
                let reason = "the position manager does not give it back".to_owned();
                return Ok(Some((found.liquidity, Err(Undone { reason, transaction: None }))));
            };
            params.amount0Min = self.less_slippage(now.amount0);
            params.amount1Min = self.less_slippage(now.amount1);
            calls.push(execution(manager, &Manager::decreaseLiquidityCall { params }));
        }
        let params = Manager::CollectParams {
            tokenId: id,
            recipient: account,
            amount0Max: u128::MAX,
            amount1Max: u128::MAX,
        };
        calls.push(execution(manager, &Manager::collectCall { params }));
        calls.push(execution(manager, &Manager::burnCall { tokenId: id }));
        let of = Holding::Position { contract: manager, id };
        let ends = vec![(of, U256::from(found.liquidity))];
        let deed = Deed { what: format!("position {manager} {id}"), ends, calls };
        Ok(Some((found.liquidity, Ok(deed))))
    }

    /// Every vault's shares. Some vaults are made of others' shares, and so it goes round once for each.
    async fn redeems(
        &self,
        effect: IntentId,
        deferred: &mut Vec<DeferredPosition>,
    ) -> Result<(), Stop> {
        let mut vaults = self.listed(&[Role::Vault]);
        // What it converts to it keeps.
        vaults.remove(&self.charter.settlement_asset);
        let mut left = Vec::new();
        for _ in 0..vaults.len() {
            left.clear();
            let mut moved = false;
            for vault in &vaults {
                let (redeemed, stays) = self.redeems_one(effect, *vault).await?;
                moved |= redeemed;
                left.extend(stays);
            }
            if !moved {
                break;
            }
        }
        deferred.append(&mut left);
        Ok(())
    }

    /// One vault's shares, as many as it lets out: whether any were, and what stays.
    async fn redeems_one(
        &self,
        effect: IntentId,
        vault: Address,
    ) -> Result<(bool, Option<DeferredPosition>), Stop> {
        let (account, of) = (self.account(), Holding::Token(vault));
        let stays = |amount, Undone { reason, transaction }| {
            Some(DeferredPosition { of, amount, reason, transaction })
        };
        let on = Snapshot::newest(self.node()).await?;
        let Some(shares) = said(on.read(vault, Erc20::balanceOfCall { account }).await)? else {
            return Ok((false, stays(U256::ZERO, Undone::silent())));
        };
        if shares.is_zero() {
            return Ok((false, None));
        }
        let most = said(on.read(vault, Erc4626::maxRedeemCall { owner: account }).await)?;
        let out = most.unwrap_or_default().min(shares);
        let closed = Undone {
            reason: format!("the vault lets out {out} of {shares} shares now"),
            transaction: None,
        };
        if out.is_zero() {
            return Ok((false, stays(shares, closed)));
        }
        let redeem = Erc4626::redeemCall { shares: out, receiver: account, owner: account };
        let deed = Deed {
            what: format!("shares {vault}"),
            ends: vec![(of, out)],
            calls: vec![execution(vault, &redeem)],
        };
        Ok(match self.does(effect, &deed).await? {
            Err(undone) => (false, stays(shares, undone)),
            Ok(()) if out < shares => (true, stays(shares.saturating_sub(out), closed)),
            Ok(()) => (true, None),
        })
    }

    /// Coins in a vault leave as wrapped ones: the charter has no other way home for them. An EOA's own are its gas.
    async fn wraps(&self, effect: IntentId) -> Result<(), Stop> {
        let weth = self.listed(&[Role::Weth]).into_iter().next();
        let Some(weth) = weth.filter(|_| self.sweeps() && self.may(Class::Wrap)) else {
            return Ok(());
        };
        let coins = self.node().balance(self.account()).await?;
        if coins.is_zero() {
            return Ok(());
        }
        let deposit = execution(weth, &Weth9::depositCall {});
        let deed = Deed {
            what: "coins".to_owned(),
            ends: Vec::new(),
            calls: vec![Execution { value: coins, ..deposit }],
        };
        // What stays coins is said when all goes home.
        let _: Result<(), Undone> = self.does(effect, &deed).await?;
        Ok(())
    }

    /// Everything else that has a price is sold for what the charter settles in. What cannot be sold at its price stays what it is:
    /// it goes home as it is, and where nothing goes home it is said.
    async fn converts(
        &self,
        effect: IntentId,
        deferred: &mut Vec<DeferredPosition>,
    ) -> Result<(), Stop> {
        let (account, asset) = (self.account(), self.charter.settlement_asset);
        if asset.is_zero() || !self.may(Class::Swap) {
            return Ok(());
        }
        for token in self.tokens() {
            if token == asset {
                continue;
            }
            let on = Snapshot::newest(self.node()).await?;
            let held = said(on.read(token, Erc20::balanceOfCall { account }).await)?;
            let Some(held) = held.filter(|held| !held.is_zero()) else { continue };
            let undone = match self.sale(&on, token, held).await? {
                Ok(deed) => self.does(effect, &deed).await?.err(),
                Err(undone) => Some(undone),
            };
            if let Some(Undone { reason, transaction }) = undone.filter(|_| !self.sweeps()) {
                let of = Holding::Token(token);
                deferred.push(DeferredPosition { of, amount: held, reason, transaction });
            }
        }
        Ok(())
    }

    /// The best of the listed routers' pools, for no less than the feeds say less the charter's bound: a pool that somebody has
    /// moved is left alone. Nobody is given an allowance any more, so only those are asked that have one.
    async fn sale(
        &self,
        on: &Snapshot<'_>,
        token: Address,
        held: U256,
    ) -> Result<Result<Deed, Undone>, Stop> {
        let no = |reason: String| Ok(Err(Undone { reason, transaction: None }));
        let least = match self.least(token, held).await? {
            Ok(least) => least,
            Err(reason) => return no(reason),
        };
        let (owner, mut best) = (self.account(), None::<(U256, Swap)>);
        for router in self.listed(&[Role::SwapRouter, Role::SwapRouter02]) {
            let allowed = Erc20::allowanceCall { owner, spender: router };
            if said(on.read(token, allowed).await)?.is_none_or(|allowed| allowed < held) {
                continue;
            }
            let first = self.listed(&[Role::SwapRouter]).contains(&router);
            for fee in FEES {
                let swap = Swap { router, first, fee };
                let brings = self.quote(on, &swap, token, held).await?;
                if let Some(brings) = brings
                    && best.as_ref().is_none_or(|(known, _)| brings > *known)
                {
                    best = Some((brings, swap));
                }
            }
        }
        let Some((brings, swap)) = best else {
            return no("no listed router that may take it has a pool for it".to_owned());
        };
        if brings < least {
            return no(format!("it would bring {brings}, and by the feeds no less than {least}"));
        }
        let minimum = least.max(self.less_slippage(brings));
        let call = self.swap(&swap, token, held, minimum);
        let ends = vec![(Holding::Token(token), held)];
        Ok(Ok(Deed { what: format!("token {token}"), ends, calls: vec![call] }))
    }

    /// The least of the settlement asset that the charter takes for so much of a token; in words, why there is no price.
    async fn least(&self, token: Address, amount: U256) -> Result<Result<U256, String>, Stop> {
        let facts = facts(self.node(), &self.charter, &[], Ledger::default()).await?;
        let appraisal = Appraisal::new(&self.charter.listing, &facts.observed, facts.now);
        let worth = match appraisal.value_out(token, amount) {
            Ok(worth) => self.share(worth),
            Err(refusal) => return Ok(Err(refusal.to_string())),
        };
        let asset = self.charter.settlement_asset;
        // Nothing is worth more the less of it there is.
        let (mut below, mut enough) = (U256::ZERO, U256::from(u128::MAX));
        if let Err(refusal) = appraisal.value_in(asset, enough) {
            return Ok(Err(refusal.to_string()));
        }
        while below < enough {
            let middle = below + (enough - below) / U256::from(2);
            match appraisal.value_in(asset, middle) {
                Ok(value) if value >= worth => enough = middle,
                _ => below = middle + U256::ONE,
            }
        }
        Ok(Ok(enough))
    }

    /// What is left of a worth after the charter's bound, rounded up.
    fn share(&self, worth: U256) -> U256 {
        let kept = WHOLE.saturating_sub(u64::from(self.charter.slippage_bps));
        let (shares, rest) = worth.saturating_mul(U256::from(kept)).div_rem(U256::from(WHOLE));
        if rest.is_zero() { shares } else { shares.saturating_add(U256::ONE) }
    }

    /// The same of an amount, rounded down.
    fn less_slippage(&self, amount: U256) -> U256 {
        let kept = WHOLE.saturating_sub(u64::from(self.charter.slippage_bps));
        amount.saturating_mul(U256::from(kept)) / U256::from(WHOLE)
    }

    async fn quote(
        &self,
        on: &Snapshot<'_>,
        swap: &Swap,
        token: Address,
        amount: U256,
    ) -> Result<Option<U256>, Stop> {
        let Swap { router, first, fee } = *swap;
        let from = self.account();
        let answer = if first {
            let params = self.first_params(fee, token, amount, U256::ZERO);
            on.read_as(from, router, SwapRouter::exactInputSingleCall { params }).await
        } else {
            let params = self.second_params(fee, token, amount, U256::ZERO);
            on.read_as(from, router, SwapRouter02::exactInputSingleCall { params }).await
        };
        Ok(said(answer)?)
    }

    fn swap(&self, swap: &Swap, token: Address, amount: U256, minimum: U256) -> Execution {
        let Swap { router, first, fee } = *swap;
        if first {
            let params = self.first_params(fee, token, amount, minimum);
            execution(router, &SwapRouter::exactInputSingleCall { params })
        } else {
            let params = self.second_params(fee, token, amount, minimum);
            execution(router, &SwapRouter02::exactInputSingleCall { params })
        }
    }

    fn first_params(
        &self,
        fee: u32,
        token: Address,
        amount: U256,
        minimum: U256,
    ) -> SwapRouter::ExactInputSingleParams {
        SwapRouter::ExactInputSingleParams {
            tokenIn: token,
            tokenOut: self.charter.settlement_asset,
            fee: U24::from(fee),
            recipient: self.account(),
            deadline: NEVER,
            amountIn: amount,
            amountOutMinimum: minimum,
            sqrtPriceLimitX96: U160::ZERO,
        }
    }

    fn second_params(
        &self,
        fee: u32,
        token: Address,
        amount: U256,
        minimum: U256,
    ) -> SwapRouter02::ExactInputSingleParams {
        SwapRouter02::ExactInputSingleParams {
            tokenIn: token,
            tokenOut: self.charter.settlement_asset,
            fee: U24::from(fee),
            recipient: self.account(),
            amountIn: amount,
            amountOutMinimum: minimum,
            sqrtPriceLimitX96: U160::ZERO,
        }
    }
}

/// By way of which pool something is sold.
#[derive(Clone, Copy, Debug)]
struct Swap {
    router: Address,
    /// Whether it is Uniswap's first router, which takes a deadline.
    first: bool,
    fee: u32,
}
