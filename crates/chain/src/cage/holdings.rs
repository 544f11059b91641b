//! What an account holds of what its charter lists, and what that is worth by the charter's feeds.
//!
//! What is not listed counts as nothing, as in `Holdings.sol`; so does liquidity beside a token that is not, which anybody can
//! give away. Each worth rounds down to a micro-dollar.

use super::{
    liquidity::{Range, root_of},
    listed,
};
use crate::{
    ChainFault,
    observe::{COIN, MAX_POSITIONS},
    snapshot::{Snapshot, said},
};
use alloy::primitives::{Address, U256};
use bardo_bindings::defi::{Erc20, Erc4626, NonfungiblePositionManager};
use futures_util::future::try_join_all;
use golem_custody::Holding;
use golem_delegation::terms::{Listing, Role};
use golem_safety::{Appraisal, MicroDollars, role_of};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that counts, in base units.
#[derive(Debug)]
pub(super) struct Held {
    amounts: Vec<Amount>,
    positions: Vec<Position>,
}

/// One thing that an account has, and what that is worth by the owner's feeds.
///
/// Shares of a vault and liquidity count by themselves: how many there are changes when they come or go, and what each is worth is the
/// market's doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Possession {
    /// What it is.
    pub of: Holding,
    /// How much of it: base units, shares, or liquidity.
    pub units: U256,
    /// In micro-dollars, rounded down.
    pub worth: u64,
}

/// So much of one asset.
#[derive(Clone, Copy, Debug)]
struct Amount {
    /// What the account has itself: the asset, or shares that stand for it.
    of: Holding,
    /// How much of that.
    held: U256,
    asset: Address,
    /// The listed token whose feed prices it: itself, but for a coin that is listed in its other form only.
    priced_as: Address,
    units: U256,
}

/// Liquidity of two listed tokens, and the fees that it earned.
#[derive(Debug)]
struct Position {
    of: Holding,
    tokens: [Address; 2],
    fees: [U256; 2],
    range: Range,
}

/// All of it by asset, as a policy wants it, and by what the account has itself.
#[derive(Debug, Default)]
pub(super) struct Worth {
    pub(super) by_asset: BTreeMap<Address, MicroDollars>,
    pub(super) possessions: Vec<Possession>,
}

/// What `account` has of all that is listed; none where something that counts would not say.
pub(super) async fn held(
    on: &Snapshot<'_>,
    listing: &Listing,
    account: Address,
) -> Result<Option<Held>, ChainFault> {
    let (weth, vaults) = (listed(listing, Role::Weth), listed(listing, Role::Vault));
    let tokens = listing.tokens.iter().map(|entry| entry.token);
    let tokens: BTreeSet<_> = tokens.chain(weth).chain([COIN]).collect();
    let tokens = tokens.difference(&vaults).filter_map(|token| {
        let priced_as = priced_as(listing, *token)?;
        Some(async move {
            let units = balance(on, *token, account).await?;
            let of = if *token == COIN { Holding::Native } else { Holding::Token(*token) };
            let amount = |units| Amount { of, held: units, asset: *token, priced_as, units };
            Ok::<_, ChainFault>(units.map(amount))
        })
    });
    let shares = vaults.iter().map(|vault| shares(on, listing, *vault, account));
    let managers = listed(listing, Role::PositionManager);
    let positions = managers.into_iter().map(|manager| positions(on, listing, manager, account));
    let (tokens, shares, positions) =
        tokio::try_join!(try_join_all(tokens), try_join_all(shares), try_join_all(positions))?;
    let amounts: Option<Vec<_>> = tokens.into_iter().chain(shares).collect();
    let positions: Option<Vec<_>> = positions.into_iter().collect();
    Ok(amounts.zip(positions).map(|(amounts, positions)| {
        let positions = positions.into_iter().flatten().collect();
        Held { amounts, positions }
    }))
}

/// What all of it is worth; none where a part of it has no price now.
pub(super) fn worth(appraisal: &Appraisal<'_>, held: Option<&Held>) -> Option<Worth> {
    let Held { amounts, positions } = held?;
    let mut amounts = amounts.clone();
    for Position { of, tokens: [token0, token1], fees: [fees0, fees1], range } in positions {
        let [amount0, amount1] = if range.is_empty() {
            [U256::ZERO; 2]
        } else {
            // At the feeds' price and not the pool's: whoever trades there would say what the account is worth.
            range.amounts(root_of(appraisal.price_by_feeds(*token0, *token1).ok()?)?)?
        };
        let held = U256::from(range.liquidity());
        for (asset, units) in
            [(*token0, amount0.checked_add(*fees0)?), (*token1, amount1.checked_add(*fees1)?)]
        {
            amounts.push(Amount { of: *of, held, asset, priced_as: asset, units });
        }
    }

    let mut all = Worth::default();
    // What is not held needs no price.
    for Amount { of, held, asset, priced_as, units } in
        amounts.into_iter().filter(|one| !one.units.is_zero())
    {
        let worth = MicroDollars::try_from(appraisal.value_in(priced_as, units).ok()?).ok()?;
        let sum: &mut MicroDollars = all.by_asset.entry(asset).or_default();
        *sum = sum.checked_add(worth)?;
        let worth = u64::try_from(worth.get()).unwrap_or(u64::MAX);
        // Both sides of a position stand next to each other.
        match all.possessions.last_mut().filter(|last| last.of == of) {
            Some(other) => other.worth = other.worth.saturating_add(worth),
            None => all.possessions.push(Possession { of, units: held, worth }),
        }
    }
    Some(all)
}

/// The listed token whose feed prices this one; none where the owner named no feed. A coin's is its wrapped form's, and the
/// other way round.
fn priced_as(listing: &Listing, token: Address) -> Option<Address> {
    let is_coin = |token: Address| token == COIN || role_of(listing, token) == Some(Role::Weth);
    let tokens = || listing.tokens.iter().map(|entry| entry.token);
    tokens()
        .find(|entry| *entry == token)
        .or_else(|| tokens().find(|entry| is_coin(token) && is_coin(*entry)))
}

async fn balance(
    on: &Snapshot<'_>,
    token: Address,
    account: Address,
) -> Result<Option<U256>, ChainFault> {
    if token == COIN {
        return on.balance(account).await.map(Some);
    }
    said(on.read(token, Erc20::balanceOfCall { account }).await)
}

/// A vault's shares as what its books say they are, through as many vaults as are listed.
async fn shares(
    on: &Snapshot<'_>,
    listing: &Listing,
    vault: Address,
    account: Address,
) -> Result<Option<Amount>, ChainFault> {
    let Some(mut units) = balance(on, vault, account).await? else { return Ok(None) };
    let (of, held) = (Holding::Token(vault), units);
    let nothing = Amount { of, held, asset: vault, priced_as: vault, units: U256::ZERO };
    if units.is_zero() {
        return Ok(Some(nothing));
    }
    let mut asset = vault;
    // A circle ends, too.
    for _ in 0..listed(listing, Role::Vault).len() {
        let (assets, below) = tokio::join!(
            on.read(asset, Erc4626::convertToAssetsCall { shares: units }),
            on.read(asset, Erc4626::assetCall {}),
        );
        let (Some(assets), Some(below)) = (said(assets)?, said(below)?) else { return Ok(None) };
        (units, asset) = (assets, below);
        if role_of(listing, asset) != Some(Role::Vault) {
            let priced_as = priced_as(listing, asset);
            return Ok(priced_as.map(|priced_as| Amount { of, held, asset, priced_as, units }));
        }
    }
    Ok(None)
}

/// An account's liquidity; none where there is too much of it to look at.
async fn positions(
    on: &Snapshot<'_>,
    listing: &Listing,
    manager: Address,
    account: Address,
) -> Result<Option<Vec<Position>>, ChainFault> {
    let count = NonfungiblePositionManager::balanceOfCall { owner: account };
    let count = said(on.read(manager, count).await)?.and_then(|count| u64::try_from(count).ok());
    let Some(count) = count.filter(|count| *count <= MAX_POSITIONS) else { return Ok(None) };
    let all = (0..count).map(|index| position(on, listing, manager, account, U256::from(index)));
    let all: Option<Vec<_>> = try_join_all(all).await?.into_iter().collect();
    Ok(all.map(|all| all.into_iter().flatten().collect()))
}

/// One of them: none where it would not say, and nothing where it does not count.
async fn position(
    on: &Snapshot<'_>,
    listing: &Listing,
    manager: Address,
    account: Address,
    index: U256,
) -> Result<Option<Option<Position>>, ChainFault> {
    let id = NonfungiblePositionManager::tokenOfOwnerByIndexCall { owner: account, index };
    let Some(id) = said(on.read(manager, id).await)? else { return Ok(None) };
    let found = NonfungiblePositionManager::positionsCall { tokenId: id };
    let Some(found) = said(on.read(manager, found).await)? else { return Ok(None) };
    let tokens = [found.token0, found.token1];
    let is_listed = |token: &Address| listing.tokens.iter().any(|entry| entry.token == *token);
    if !tokens.iter().all(is_listed) {
        return Ok(Some(None));
    }
    let params = NonfungiblePositionManager::CollectParams {
        tokenId: id,
        // Nobody: the manager keeps it, and nothing is sent on.
        recipient: Address::ZERO,
        amount0Max: u128::MAX,
        amount1Max: u128::MAX,
    };
    let fees = NonfungiblePositionManager::collectCall { params };
    let fees = said(on.read_as(account, manager, fees).await)?;
    let range = Range::new(found.liquidity, found.tickLower, found.tickUpper);
    let of = Holding::Position { contract: manager, id };
    Ok(fees.zip(range).map(|(fees, range)| {
        Some(Position { of, tokens, fees: [fees.amount0, fees.amount1], range })
    }))
}
