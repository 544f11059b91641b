//! Actions that nobody foresaw: valid ones, changed by dice in their bytes, words, coins, targets, callers and grants, on blocks that
//! change while it goes on. Nothing is expected of any of them but that the chain says the same.

use super::{
    meant, one_of_two,
    scenes::{Dice, Scene, Wanted, golem},
    shapes,
};
use crate::field::Field;
use alloy::{
    eips::BlockId,
    network::TransactionBuilder as _,
    primitives::{Address, B256, Bytes, U256, keccak256},
    providers::Provider as _,
    rpc::types::{Header, TransactionRequest},
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_testkit::{Stage, dollars, fair_swap};
use golem_chain::{AccountKind, ChainFault, Foresight};
use golem_custody::{DenialCode, Execution, Outcome, Redemption, SessionSigner as _};
use golem_delegation::PermissionContext;
use std::collections::{BTreeMap, BTreeSet};

/// Different ones, at least.
const ACTIONS: usize = 2_000;
/// How many are judged on one block.
const A_BLOCK: usize = 40;
/// Where the dice begin, the same in every run; `ACTION_SEED` draws others, or those of a run that failed again.
fn seed() -> Result<u64> {
    let Ok(seed) = std::env::var("ACTION_SEED") else { return Ok(2_026) };
    seed.parse().context("ACTION_SEED is a number")
}

/// Words that code likes to get wrong.
fn odd_word(dice: &mut Dice, known: &[Address]) -> U256 {
    let pick = usize::try_from(dice.below(1 << 20)).unwrap_or_default();
    match dice.below(8) {
        0 => U256::ZERO,
        1 => U256::ONE,
        2 => U256::from(2),
        3 => U256::MAX,
        4 => U256::MAX >> 128,
        5 => U256::ONE << 255,
        6 => U256::from(dice.below(1 << 30)),
        _ => known.get(pick % known.len().max(1)).map_or(U256::ZERO, |one| one.into_word().into()),
    }
}

/// One change in a call, of the kind that the dice say.
fn change(call: &mut Execution, dice: &mut Dice, known: &[Address]) {
    let mut data = call.data.to_vec();
    let words = u64::try_from(data.len().saturating_sub(4) / 32).unwrap_or_default();
    let at =
        |dice: &mut Dice| 4 + 32 * usize::try_from(dice.below(words.max(1))).unwrap_or_default();
    match dice.below(10) {
        // A bit somewhere.
        0 if !data.is_empty() => {
            let length = u64::try_from(data.len()).unwrap_or(1);
            let place = usize::try_from(dice.below(length)).unwrap_or_default();
            let bit = 1 << dice.below(8);
            if let Some(byte) = data.get_mut(place) {
                *byte ^= bit;
            }
        }
        // A word: an odd one, a little more, a little less, or that of another place.
        1..=4 if words > 0 => {
            let (from, place) = (at(dice), at(dice));
            let word = |data: &[u8], at: usize| data.get(at..at + 32).map(U256::from_be_slice);
            let (old, other) = (word(&data, place), word(&data, from));
            let new = match dice.below(4) {
                0 => odd_word(dice, known),
                1 => old.unwrap_or_default().wrapping_add(U256::from(1 + dice.below(64))),
                2 => old.unwrap_or_default().wrapping_sub(U256::from(1 + dice.below(64))),
                _ => other.unwrap_or_default(),
            };
            if let Some(word) = data.get_mut(place..place + 32) {
                word.copy_from_slice(&new.to_be_bytes::<32>());
            }
        }
        // An end that is missing, or one too many.
        5 => data.truncate(usize::try_from(dice.below(1 + 32 * words)).unwrap_or_default()),
        6 => data.extend(vec![7; 1 + usize::try_from(dice.below(64)).unwrap_or_default()]),
        7 => call.value = U256::from(dice.below(3)),
        8 => {
            let pick = usize::try_from(dice.below(1 << 20)).unwrap_or_default();
            call.target = known.get(pick % known.len().max(1)).copied().unwrap_or_default();
        }
        _ => {}
    }
    call.data = data.into();
}

/// A redemption like `valid` with something changed, and by whom.
fn mutated(
    valid: &Redemption,
    by: Address,
    others: &[(Address, PermissionContext)],
    dice: &mut Dice,
    known: &[Address],
) -> (Redemption, Address) {
    let mut calls: Vec<Execution> = valid.calls().map(|(_, call)| call.clone()).collect();
    let (mut context, mut by) = (valid.context().clone(), by);
    for _ in 0..=dice.below(2) {
        let count = u64::try_from(calls.len()).unwrap_or(1);
        let one = usize::try_from(dice.below(count.max(1))).unwrap_or_default();
        match dice.below(12) {
            // Another order, one twice, one left out.
            0 => calls.reverse(),
            1 => calls.extend(calls.first().cloned()),
            2 if calls.len() > 1 => drop(calls.remove(one)),
            // Somebody else, or somebody else's grant.
            3 => {
                let pick = usize::try_from(dice.below(1 << 20)).unwrap_or_default();
                if let Some((somebody, theirs)) = others.get(pick % others.len().max(1)) {
                    if dice.below(2) == 0 {
                        by = *somebody;
                    } else {
                        context = theirs.clone();
                    }
                }
            }
            // A grant that was changed behind its signature.
            4 => {
                let mut links = context.links().to_vec();
                if let Some(link) = links.first_mut() {
                    match dice.below(4) {
                        0 => link.salt ^= U256::ONE,
                        1 => link.caveats.clear(),
                        2 => {
                            if let Some(caveat) = link.caveats.first_mut() {
                                let mut terms = caveat.terms.to_vec();
                                if let Some(last) = terms.last_mut() {
                                    *last ^= 1;
                                }
                                caveat.terms = terms.into();
                            }
                        }
                        _ => {
                            if let Some(caveat) = link.caveats.first_mut() {
                                caveat.args = Bytes::from(vec![1; 32]);
                            }
                        }
                    }
                }
                if let Ok(changed) = PermissionContext::new(links) {
                    context = changed;
                }
            }
            _ => {
                if let Some(call) = calls.get_mut(one) {
                    change(call, dice, known);
                }
            }
        }
    }
    let manager = valid.manager();
    let redemption = match calls.as_slice() {
        [only] => Redemption::single(manager, context, only),
        several => Redemption::batch(manager, context, several),
    };
    (redemption, by)
}

#[derive(Debug)]
enum Verdict {
    Allowed,
    Refused(DenialCode),
    /// Ours alone; why.
    Undecided(String),
}

/// What both say on one block.
async fn judged_alike(
    stage: &Stage,
    foresight: &Foresight,
    header: &Header,
    redemption: &Redemption,
    by: Address,
) -> Result<Verdict> {
    let ask = TransactionRequest::default()
        .with_from(by)
        .with_to(redemption.manager())
        .with_gas_limit(1 << 24)
        .with_input(redemption.calldata());
    let (chain, ours) = tokio::join!(
        async { stage.node().provider().call(ask).block(BlockId::hash(header.hash)).await },
        foresight.rehearse(header.clone(), redemption, by)
    );
    match (chain, ours) {
        (Ok(_), Ok(Outcome::Allowed(_))) => Ok(Verdict::Allowed),
        (Err(error), Ok(Outcome::Refused(denial))) => {
            let reply = error.as_error_resp().context("the node did not answer")?;
            // What the chain gives as its reason means the same; where calls are seen more is known than from data.
            if let Some(data) = reply.as_revert_data()
                && let Ok(theirs) = meant(&data, redemption)
                && theirs.code != DenialCode::Reverted
                && denial.code != DenialCode::Reverted
                && denial.code != DenialCode::NoAccount
            {
                ensure!(
                    theirs == denial || one_of_two(&theirs, &denial, redemption),
                    "the chain: {theirs:?}; we: {denial:?}"
                );
            }
            Ok(Verdict::Refused(denial.code))
        }
        // No verdict is never a yes.
        (_, Err(ChainFault::Machine { why })) => Ok(Verdict::Undecided(why)),
        (chain, ours) => bail!("the chain: {chain:?}; we: {ours:?}"),
    }
}

/// X2, INV-11: half of what is tried is as agents have it, with other sums; half has something wrong in it that no rule's author thought of.
#[tokio::test]
async fn what_nobody_foresaw_is_judged_as_the_chain_judges_it() -> Result<()> {
    let (stage, owner) = Field::prepared(AccountKind::Hybrid).await?;
    let field = Field { stage, owner, golem_id: B256::ZERO };
    let stage = &field.stage;
    let mut scenes = shapes::of_accounts(&field).await?;
    scenes.retain(|scene| matches!(scene.wanted, Wanted::Allowed(_)));
    let trader = stage.owner(AccountKind::Stateless7702).await?;
    let (_, other, law) = golem(stage, AccountKind::Stateless7702, |_| ()).await?;
    let book = stage.book();
    let mut known: Vec<Address> = law.listing.targets.iter().map(|one| one.target).collect();
    known.extend([
        law.account,
        law.owner,
        other.key.address(),
        book.usdc,
        book.weth,
        Address::ZERO,
    ]);
    known.extend([Address::with_last_byte(1), Address::with_last_byte(2)]);
    stage.warp(stage.now().await? + 60).await?;

    let seed = seed()?;
    let (mut dice, foresight) = (Dice(seed), stage.foresight());
    let others = {
        let mut all =
            vec![(other.key.address(), PermissionContext::new(vec![other.grant.clone()])?)];
        for scene in &scenes {
            all.push((scene.by, scene.attempt(stage, &mut dice)?.context().clone()));
        }
        all
    };
    let mut seen = BTreeSet::new();
    let (mut allowed, mut undecided) = (0, BTreeMap::<String, usize>::new());
    let mut codes = BTreeMap::<String, usize>::new();
    let (mut wrong, mut blocks) = (Vec::new(), 0_u64);
    while seen.len() < ACTIONS {
        // Another block: the pool and its price have moved, and what was read before is not what is.
        blocks += 1;
        let moved = fair_swap(stage, trader.account.address, dollars(1 + dice.below(20)));
        trader.account.act(stage.node(), &trader.signer, &[moved]).await?;
        let tenths = i64::try_from(dice.below(3)).unwrap_or_default();
        stage.set_price(book.eth_usd, 250_000_000_000 + 25_000_000 * tenths).await?;
        let header = stage.node().header().await?;
        for _ in 0..A_BLOCK {
            let pick = usize::try_from(dice.below(1 << 20)).unwrap_or_default();
            let scene: &Scene = scenes.get(pick % scenes.len()).context("no scene")?;
            let valid = scene.attempt(stage, &mut dice)?;
            let (redemption, by) = if dice.below(2) == 0 {
                (valid, scene.by)
            } else {
                mutated(&valid, scene.by, &others, &mut dice, &known)
            };
            let name = keccak256([by.as_slice(), &redemption.calldata()].concat());
            if !seen.insert(name) {
                continue;
            }
            match judged_alike(stage, &foresight, &header, &redemption, by).await {
                Ok(Verdict::Allowed) => allowed += 1,
                Ok(Verdict::Refused(code)) => {
                    *codes.entry(format!("{code:?}")).or_default() += 1;
                }
                Ok(Verdict::Undecided(why)) => *undecided.entry(why).or_default() += 1,
                Err(error) => wrong.push(format!(
                    "by {by}: {error:#}\n{}",
                    redemption
                        .calls()
                        .map(|(of, call)| format!("  {of} {call:?}\n"))
                        .collect::<String>()
                )),
            }
        }
    }

    eprintln!(
        "ACTION_SEED={seed}: {} actions on {blocks} blocks, {allowed} allowed, undecided {undecided:?}, refused {codes:?}",
        seen.len()
    );
    ensure!(wrong.is_empty(), "ACTION_SEED={seed}\n{}", wrong.join("\n"));
    ensure!(allowed * 10 >= seen.len() * 4, "{allowed} of {} allowed", seen.len());
    let not_decided: usize = undecided.values().sum();
    ensure!(not_decided * 100 <= seen.len(), "too much is not decided: {undecided:?}");
    ensure!(codes.len() >= 12, "too few ways to be refused: {codes:?}");
    Ok(())
}
