//! What the policy cage has to know of the chain: what the owner published, and the facts that an intent is judged by.

mod holdings;
mod liquidity;

pub use holdings::Possession;

use crate::{
    ChainFault, Node, OwnerCall, OwnerError, Registry,
    snapshot::{Snapshot, revert_data, reverted, said},
};
use alloy::{
    primitives::{Address, B256, U256, aliases::U160},
    sol_types::SolError,
};
use bardo_bindings::{
    PolicyCage,
    defi::{Erc4626, NonfungiblePositionManager, PriceFeed, UniswapV3Factory, UniswapV3Pool},
    policy_cage,
};
use futures_util::future::try_join_all;
use golem_custody::OwnerSigner;
use golem_delegation::terms::{Class, GolemCharter, Listing, Role};
use golem_safety::{
    Action, Appraisal, Boot, Cage, Call, Facts, MOST_CALLDATA, MOST_CALLS, MicroDollars, Observed,
    Policy, PolicyRefusal, PoolKey, PositionView, Published, Round, Uptime, VaultView, read_call,
    role_of,
};
use std::collections::{BTreeMap, BTreeSet};

/// Starts a Golem's cage under what its owner published, as the newest block has it (SPEC P1).
///
/// Nothing published and nothing readable are refusals of their own. A node that fails, or a chain without the contract,
/// is a fault: nobody knows then what the owner wants.
pub async fn boot(node: &Node, golem_id: B256, constitution: &[u8]) -> Result<Boot, ChainFault> {
    let on = Snapshot::newest(node).await?;
    let published = published(&on, golem_id).await?;
    Ok(Cage::boot(golem_id, constitution, published))
}

/// What the owner published for a Golem, as the newest block has it.
pub async fn published_policy(
    node: &Node,
    golem_id: B256,
) -> Result<Option<Result<Published, PolicyRefusal>>, ChainFault> {
    published(&Snapshot::newest(node).await?, golem_id).await
}

/// Publishes a policy for the Golem that is made from the owner and `salt`, in the place of the one before, for at most `ceiling` wei.
/// Says by which transaction, and whether its block shows it.
pub async fn publish(
    node: &Node,
    owner: &OwnerSigner,
    salt: B256,
    policy: &Policy,
    ceiling: U256,
) -> Result<(B256, bool), OwnerError> {
    let wanted = PolicyCage::Policy {
        constitutionHash: policy.constitution_hash,
        concentrationBps: policy.concentration_bps,
        drawdownBps: policy.drawdown_bps,
        spendPerTransaction: policy.spend_per_transaction,
        spendPerSession: policy.spend_per_session,
        spendPerDay: policy.spend_per_day,
        assets: policy.assets.clone(),
    };
    let call = PolicyCage::publishCall { salt, policy: wanted };
    let call = OwnerCall::new(owner.address(), policy_cage(), &call);
    let receipt = call.send(node, owner, ceiling).await?;
    let golem = Registry::golem_id(owner.address(), salt);
    let there = published(&Snapshot::after(node, &receipt).await?, golem).await?;
    let shown = matches!(there, Some(Ok(there)) if there.policy() == policy);
    Ok((receipt.transaction_hash, shown))
}

/// What the owner published for a Golem, as a block has it.
pub(crate) async fn published(
    on: &Snapshot<'_>,
    golem_id: B256,
) -> Result<Option<Result<Published, PolicyRefusal>>, ChainFault> {
    let asked = PolicyCage::policyOfCall { golemId: golem_id };
    let (there, answer) = tokio::join!(
        on.require("PolicyCage", policy_cage()),
        on.answer(Address::ZERO, policy_cage(), &asked),
    );
    there?;
    match answer {
        Ok(answer) => Ok(Some(Published::decode(golem_id, &answer))),
        Err(fault) if reverted(&fault) => {
            let words = revert_data(&fault).unwrap_or_default();
            let never = PolicyCage::PolicyCage_NoPolicy { golemId: golem_id };
            let unreadable = PolicyRefusal::Encoding { length: words.len() };
            Ok((words != never.abi_encode()).then_some(Err(unreadable)))
        }
        Err(fault) => Err(fault),
    }
}

/// What no chain knows of a Golem: what its books say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The most that all of its holdings were ever worth.
    pub high_water: MicroDollars,
    /// What its session key has spent in its life, reservations included.
    pub spent_in_session: MicroDollars,
    /// What was spent within a day, reservations included.
    pub spent_in_day: MicroDollars,
    /// Whether it is dying.
    pub is_settling: bool,
}

/// What the cage judges `calls` under `charter` by, all of it read on the newest block by its hash.
///
/// What a contract does not say is left out, and so refused (INV-4). Of holdings none are there where one of them is not
/// known: nothing is a share of nothing, and only closing is left. A node that fails is a fault.
///
/// ```text
/// listing ──► feeds, vaults ──────────┐
/// calls ──► actions ──► positions ──► pools ──► Observed ──► prices ─┐
/// account ──► coins, tokens, shares, liquidity ──────────────────────┴─► holdings
/// ```
pub async fn facts(
    node: &Node,
    charter: &GolemCharter,
    calls: &[Call],
    ledger: Ledger,
) -> Result<Facts, ChainFault> {
    Ok(facts_on(&Snapshot::newest(node).await?, charter, calls, ledger).await?.0)
}

/// All that a Golem asks of one block.
#[derive(Clone, Debug)]
pub struct Known {
    /// What the cage judges by.
    pub facts: Facts,
    /// Each thing that the account has; none where a part of that is not known. That nobody knows is not that there is nothing.
    pub possessions: Option<Vec<Possession>>,
    /// What its owner has published: what a Golem that runs for long is judged by.
    pub published: Option<Result<Published, PolicyRefusal>>,
}

/// The same with everything else that one block says of a Golem. `golem_id` is whose policy counts.
pub async fn facts_of_golem(
    node: &Node,
    golem_id: B256,
    charter: &GolemCharter,
    calls: &[Call],
    ledger: Ledger,
) -> Result<Known, ChainFault> {
    let on = Snapshot::newest(node).await?;
    let ((facts, possessions), published) =
        tokio::try_join!(facts_on(&on, charter, calls, ledger), published(&on, golem_id))?;
    Ok(Known { facts, possessions, published })
}

async fn facts_on(
    on: &Snapshot<'_>,
    charter: &GolemCharter,
    calls: &[Call],
    ledger: Ledger,
) -> Result<(Facts, Option<Vec<Possession>>), ChainFault> {
    let (listing, now) = (&charter.listing, on.block().timestamp);
    let actions = actions(listing, calls);
    let (rounds, uptimes, vaults, (positions, pool_roots), held) = tokio::try_join!(
        rounds(on, listing),
        uptimes(on, listing),
        vaults(on, listing, &actions),
        liquidity(on, &actions),
        holdings::held(on, listing, charter.account),
    )?;
    let observed = Observed { rounds, uptimes, vaults, positions, pool_roots };
    let worth = holdings::worth(&Appraisal::new(listing, &observed, now), held.as_ref());
    let (holdings, possessions) = worth.map(|all| (all.by_asset, all.possessions)).unzip();
    let Ledger { high_water, spent_in_session, spent_in_day, is_settling } = ledger;
    let facts = Facts {
        holdings: holdings.unwrap_or_default(),
        observed,
        high_water,
        spent_in_session,
        spent_in_day,
        is_settling,
        now,
    };
    Ok((facts, possessions))
}

/// What the calls do, as far as it can be read: what cannot is refused anyway, and so are more calls than are judged.
fn actions(listing: &Listing, calls: &[Call]) -> Vec<Action> {
    let bytes = calls.iter().fold(0usize, |sum, call| sum.saturating_add(call.data.len()));
    if calls.len() > MOST_CALLS || bytes > MOST_CALLDATA {
        return Vec::new();
    }
    let read = calls.iter().map(|call| read_call(listing, call.target, call.value, &call.data));
    read.filter_map(Result::ok).flatten().collect()
}

/// All that is listed and has this role.
fn listed(listing: &Listing, role: Role) -> BTreeSet<Address> {
    let tokens = listing.tokens.iter().map(|entry| entry.token);
    let all = tokens.chain(listing.targets.iter().map(|entry| entry.target));
    all.filter(|address| role_of(listing, *address) == Some(role)).collect()
}

/// What is known, by what was asked about.
fn known<K: Ord, V>(answers: Vec<(K, Option<V>)>) -> BTreeMap<K, V> {
    answers.into_iter().filter_map(|(about, answer)| Some((about, answer?))).collect()
}

async fn rounds(
    on: &Snapshot<'_>,
    listing: &Listing,
) -> Result<BTreeMap<Address, Round>, ChainFault> {
    let feeds: BTreeSet<_> = listing.tokens.iter().map(|entry| entry.feed).collect();
    let rounds = feeds.into_iter().map(async |feed| {
        let (decimals, round) = tokio::join!(
            on.read(feed, PriceFeed::decimalsCall {}),
            on.read(feed, PriceFeed::latestRoundDataCall {}),
        );
        let round = said(decimals)?.zip(said(round)?).map(|(decimals, round)| Round {
            decimals,
            round_id: round.roundId,
            answer: round.answer,
            updated_at: round.updatedAt,
            answered_in_round: round.answeredInRound,
        });
        Ok::<_, ChainFault>((feed, round))
    });
    Ok(known(try_join_all(rounds).await?))
}

async fn uptimes(
    on: &Snapshot<'_>,
    listing: &Listing,
) -> Result<BTreeMap<Address, Uptime>, ChainFault> {
    let feed = listing.sequencer_feed;
    if feed.is_zero() {
        return Ok(BTreeMap::new());
    }
    let round = said(on.read(feed, PriceFeed::latestRoundDataCall {}).await)?;
    let uptime = round.map(|round| Uptime { answer: round.answer, since: round.startedAt });
    Ok(known(vec![(feed, uptime)]))
}

/// What each listed vault is made of, and what it takes for the shares that are asked of it.
async fn vaults(
    on: &Snapshot<'_>,
    listing: &Listing,
    actions: &[Action],
) -> Result<BTreeMap<Address, VaultView>, ChainFault> {
    let vaults = listed(listing, Role::Vault).into_iter().map(async |vault| {
        let minted = actions.iter().filter(|action| {
            action.class == Class::Deposit && action.target == vault && !action.token_in.is_zero()
        });
        let shares: BTreeSet<_> = minted.map(|action| action.minimum_in).collect();
        let previews = shares.into_iter().map(async |shares| {
            let preview = on.read(vault, Erc4626::previewMintCall { shares }).await;
            Ok::<_, ChainFault>((shares, said(preview)?))
        });
        let (asset, previews) =
            tokio::join!(on.read(vault, Erc4626::assetCall {}), try_join_all(previews));
        let mint_previews = known(previews?);
        Ok::<_, ChainFault>((vault, said(asset)?.map(|asset| VaultView { asset, mint_previews })))
    });
    Ok(known(try_join_all(vaults).await?))
}

/// By manager and number, and by manager and pool.
type Liquidity = (BTreeMap<(Address, U256), PositionView>, BTreeMap<(Address, PoolKey), U160>);

/// Positions that actions name, and the pools that these or the actions themselves name.
async fn liquidity(on: &Snapshot<'_>, actions: &[Action]) -> Result<Liquidity, ChainFault> {
    let about = actions.iter().filter(|action| {
        matches!(
            action.class,
            Class::AddLiquidity | Class::RemoveLiquidity | Class::Collect | Class::BurnPosition
        )
    });
    let (fresh, kept): (Vec<_>, Vec<_>) = about.partition(|action| !action.token_out.is_zero());
    let kept: BTreeSet<_> =
        kept.into_iter().map(|action| (action.target, action.position_id)).collect();
    let positions = kept.into_iter().map(async |(manager, id)| {
        Ok::<_, ChainFault>(((manager, id), position(on, manager, id).await?))
    });
    let positions = known(try_join_all(positions).await?);

    let kept = positions.iter().map(|((manager, _), position)| (*manager, position.pool));
    let fresh = fresh.into_iter().map(|action| {
        let (token0, token1, fee) = (action.token_out, action.token_out2, action.fee);
        (action.target, PoolKey { token0, token1, fee })
    });
    let pools: BTreeSet<_> = kept.chain(fresh).collect();
    let roots = pools.into_iter().map(async |(manager, pool)| {
        Ok::<_, ChainFault>(((manager, pool), root(on, manager, pool).await?))
    });
    Ok((positions, known(try_join_all(roots).await?)))
}

async fn position(
    on: &Snapshot<'_>,
    manager: Address,
    id: U256,
) -> Result<Option<PositionView>, ChainFault> {
    let (owner, position) = tokio::join!(
        on.read(manager, NonfungiblePositionManager::ownerOfCall { tokenId: id }),
        on.read(manager, NonfungiblePositionManager::positionsCall { tokenId: id }),
    );
    Ok(said(owner)?.zip(said(position)?).map(|(owner, position)| {
        let (token0, token1, fee) = (position.token0, position.token1, position.fee);
        PositionView { owner, pool: PoolKey { token0, token1, fee } }
    }))
}

/// The root of a pool's price; zero where the factory knows no such pool.
async fn root(
    on: &Snapshot<'_>,
    manager: Address,
    pool: PoolKey,
) -> Result<Option<U160>, ChainFault> {
    let factory = on.read(manager, NonfungiblePositionManager::factoryCall {}).await;
    let Some(factory) = said(factory)? else { return Ok(None) };
    let PoolKey { token0, token1, fee } = pool;
    let at = UniswapV3Factory::getPoolCall { tokenA: token0, tokenB: token1, fee };
    match said(on.read(factory, at).await)? {
        Some(Address::ZERO) => Ok(Some(U160::ZERO)),
        Some(pool) => {
            let slot = said(on.read(pool, UniswapV3Pool::slot0Call {}).await)?;
            Ok(slot.map(|slot| slot.sqrtPriceX96))
        }
        None => Ok(None),
    }
}
