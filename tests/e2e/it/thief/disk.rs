//! The thief has everything that the Golem has: its key's file and the password, its books with all that was signed and not sent,
//! the grants, and the owner's answers.
//!
//! What the operator keeps of a Golem is no more than this (SPEC G12), and it is worth what a stolen session key is worth: what
//! the blast radius said before.

use super::{
    Prey, calls,
    charter::Charter,
    ledger::{Ledger, Micros},
    scene,
    tricks::{Rigged, approve_router},
    victim::{Kind, Victim},
    week::{BUCKET, REMEMBERED, one_day, shown},
    weeks::{DAILY, DAY, Runway},
    wish::{SESSION, THIEF},
};
use crate::books::{done, kept, lane_of, mandate, opened, password};
use alloy::{
    consensus::{Transaction as _, TxEnvelope},
    eips::eip2718::Decodable2718 as _,
    primitives::{Address, B256, Bytes, U256, b256},
    providers::{Provider as _, ext::AnvilApi as _},
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_store::{OwnerLedger, Replying};
use bardo_testkit::{STIPEND, Stage, dollars, judged};
use golem_chain::environment;
use golem_custody::{
    Approvals as _, Execution, IntentId, Keyring as _, Keys, OwnerSigner, Question, Redemption,
};
use golem_delegation::{
    Delegation, ROOT_AUTHORITY,
    grant::Grant,
    permission::{Answer, Asset, Expected, Granted, Periodic, Permission, Request, Rules},
};
use std::{io::Write as _, path::Path};
use tempfile::TempDir;

/// Of the account that plays the session key: everybody knows it.
const KEY: B256 = b256!("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d");
/// The key that the owner grants to when he has noticed.
const FRESH: Address = Address::repeat_byte(0x5e);
/// Where the owner's answers are.
const LEDGER: &str = "owner/ledger.db";
const QUESTION: IntentId = IntentId(B256::repeat_byte(0x9a));

fn redemption(prey: &Prey<'_>, call: &Execution) -> Result<Redemption> {
    Ok(Redemption::single(DELEGATION_MANAGER, prey.context()?, call))
}

/// A Golem lives for a while: it does one thing, signs `next` and does not send it, and asks its owner about a large one, who says
/// yes. What it leaves is its folder.
async fn lives(
    prey: &Prey<'_>,
    victim: &Victim,
    deed: &Execution,
    next: &[Execution],
) -> Result<TempDir> {
    let (stage, folder) = (prey.stage, tempfile::tempdir()?);
    let mut plain = tempfile::NamedTempFile::new()?;
    plain.write_all(KEY.to_string().as_bytes())?;
    let key = folder.path().join("session-key.json");
    OwnerSigner::from_key_file(plain.path())?.save(&key, &password()?)?;
    let keys = Keys::local(folder.path(), password()?)?;
    ensure!(keys.current().await == Some(SESSION), "another key");

    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(true).await?;
    let (mandate, _store) = mandate(folder.path())?;
    let now = stage.now().await?;
    let lane = lane_of(&keys, stage.node().clone(), mandate.clone(), now).await?;
    done(&lane.redeem(judged(redemption(prey, deed)?)).await?)?;
    for call in next {
        kept(stage, &keys, &mandate, judged(redemption(prey, call)?)).await?;
    }
    provider.anvil_set_auto_mine(false).await?;

    let Victim::One(owner) = victim else { bail!("one owner is asked") };
    let ledger = OwnerLedger::open(&folder.path().join(LEDGER), owner.signer.address())?;
    let question = Question {
        intent: QUESTION,
        golem: prey.wish.golem,
        owner: owner.signer.address(),
        digest: B256::repeat_byte(0xd1),
        micro_dollars: 5_000_000_000,
        words: "sell 5,000 dollars".into(),
        expires_at: prey.wish.end,
    };
    ledger.ask(&question).await.map_err(|fault| anyhow::anyhow!(fault))?;
    let replying = ledger.reply(QUESTION, &owner.signer.answer(&question, true)?, now).await?;
    ensure!(matches!(replying, Replying::Kept), "{replying:?}");
    Ok(folder)
}

/// What is in a folder for whoever has it.
struct Loot {
    /// Whose key.
    key: Address,
    /// Everything signed that may not have been sent.
    bids: Vec<Bytes>,
    /// What they stand on.
    grant: Delegation,
    /// The owner's yes.
    approval: Bytes,
}

impl Loot {
    async fn of(folder: &Path, owner: Address) -> Result<Self> {
        let keys = Keys::local(folder, password()?)?;
        let key = keys.current().await.context("no key")?;
        let (_, store) = mandate(folder)?;
        let open = opened(&store).await?;
        let bids: Vec<Bytes> =
            open.iter().flat_map(|one| &one.bids).map(|bid| bid.bytes.clone()).collect();
        let first = bids.first().context("nothing was signed")?;
        let sent = TxEnvelope::decode_2718_exact(first)?;
        let read = Redemption::decode(DELEGATION_MANAGER, sent.input()).context("no redemption")?;
        let ledger = OwnerLedger::open(&folder.join(LEDGER), owner)?;
        let answer = ledger.answer(QUESTION).await.map_err(|fault| anyhow::anyhow!(fault))?;
        let approval = answer.context("no answer")?.signature;
        Ok(Self { key, bids, grant: read.context().root().clone(), approval })
    }

    /// Hands in all of it, in a block each. How many took effect.
    async fn replayed(&self, prey: &Prey<'_>) -> Result<usize> {
        let provider = prey.stage.node().provider();
        let mut took = 0;
        for bid in &self.bids {
            // One whose place is taken is not even taken in.
            let Ok(sent) = provider.send_raw_transaction(bid).await else { continue };
            let hash = *sent.tx_hash();
            provider.anvil_mine(Some(1), None).await?;
            let receipt = provider.get_transaction_receipt(hash).await?.context("not mined")?;
            took += usize::from(receipt.status());
        }
        Ok(took)
    }

    /// The owner's yes is no grant: neither as one without limits, nor beside the one that there is.
    async fn approves_nothing(&self, prey: &mut Prey<'_>) -> Result<()> {
        let all = calls::transfer(prey.wish.book.usdc, THIEF, dollars(5_000));
        let bare = Delegation { caveats: vec![], ..self.grant.clone() };
        let other = Delegation { delegate: THIEF, authority: ROOT_AUTHORITY, ..bare.clone() };
        for (by, forged) in [(self.key, bare), (THIEF, other), (self.key, self.grant.clone())] {
            let forged = forged.signed(self.approval.clone());
            let passed = prey.redeem_chain(by, vec![forged], std::slice::from_ref(&all)).await?;
            ensure!(!passed, "the owner's yes was worth 5,000 dollars");
        }
        Ok(())
    }
}

/// What the owner loses from here on, with what he has sent home counted as his.
async fn lost_since(prey: &Prey<'_>, before: &Ledger) -> Result<Micros> {
    Ok(before.until(&Ledger::take(prey.stage, &prey.wish).await?).0)
}

/// Accounts that a Golem acts from: an EOA's own, and a vault that an EOA rules (SPEC D6).
const KINDS: [Kind; 2] = [Kind::Stateless7702, Kind::Hybrid];

/// G12, on the path of a vault with a charter.
#[tokio::test]
async fn a_thief_with_memory_and_disk_takes_what_a_charter_was_said_to_cost() -> Result<()> {
    for kind in KINDS {
        let stage = Stage::open().await?;
        robs_a_charter(&stage, kind).await.with_context(|| format!("{kind:?}"))?;
    }
    Ok(())
}

async fn robs_a_charter(stage: &Stage, kind: Kind) -> Result<()> {
    let (victim, wish) = scene(stage, kind).await?;
    assert_eq!(wish.account == wish.owner, kind == Kind::Stateless7702);
    let charter = Charter { replicants: false, swaps_only: false };
    let mut prey = Prey::new(stage, &victim, &charter, wish.clone()).await?;
    approve_router(&mut prey).await?;
    let sale = |usd| wish.fair_sale(dollars(usd), 9_910).on_02(wish.book.swap_router_02);
    let folder = lives(&prey, &victim, &sale(100), &[sale(200)]).await?;

    let (said, before) = (shown(&prey).await?, Ledger::take(stage, &wish).await?);
    let loot = Loot::of(folder.path(), wish.owner).await?;
    assert_eq!((loot.key, loot.bids.len()), (SESSION, 1));
    assert_eq!(loot.grant, prey.grant);

    // The owner was faster: his next grant is in use, and all of it is paper. D4, INV-7.
    let clean = prey.snapshot().await?;
    let next = Grant::read(&loot.grant, &environment())?.rotate(FRESH)?.delegation;
    let next = victim.grant(&stage.domain(), next)?;
    stage.fund(FRESH, STIPEND, U256::ZERO).await?;
    let disapprove = calls::approve(wish.book.usdc, wish.book.vault, U256::ZERO);
    ensure!(prey.redeem_chain(FRESH, vec![next.clone()], &[disapprove]).await?, "the new key");
    assert_eq!(loot.replayed(&prey).await?, 0, "what an old key signed took effect");
    ensure!(!prey.redeem(&[sale(1)]).await?, "an old key acts");
    assert_eq!(lost_since(&prey, &before).await?, 0);
    prey.revert(clean).await?;

    // He was not: what was signed is handed in, and then every day is used up, until the owner grants anew.
    assert_eq!(loot.replayed(&prey).await?, 1);
    assert_eq!(loot.replayed(&prey).await?, 0, "twice");
    loot.approves_nothing(&mut prey).await?;
    let pools = Rigged::open(&mut prey).await?;
    let bucket = prey.now().await? / BUCKET + REMEMBERED + 1;
    let (mut day, mut time) = (0, bucket * BUCKET + 1);
    while time < wish.end {
        prey.wait_until(time).await?;
        one_day(&mut prey, &pools, None).await?;
        day += 1;
        time += REMEMBERED * BUCKET;
    }
    pools.close(&mut prey).await?;
    ensure!(day >= 5, "{day} days");
    let lost = lost_since(&prey, &before).await?;

    let causes = said.causes;
    let bound = causes.slippage.zip(causes.gas).map(|(swaps, gas)| swaps + gas);
    let bound: Micros = bound.context("a week that cannot be told")?.try_into()?;
    ensure!(lost <= bound, "{lost} of {bound}: {said}");
    ensure!(lost * 10 >= bound * 7, "a thief who takes {lost} of {bound} is none: {said}");
    Ok(())
}

/// G12, on the path of a permission that a wallet granted (ERC-7715).
#[tokio::test]
async fn a_thief_with_memory_and_disk_takes_what_a_runway_was_said_to_cost() -> Result<()> {
    for kind in KINDS {
        let stage = Stage::open().await?;
        robs_a_runway(&stage, kind).await.with_context(|| format!("{kind:?}"))?;
    }
    Ok(())
}

async fn robs_a_runway(stage: &Stage, kind: Kind) -> Result<()> {
    let (victim, mut wish) = scene(stage, kind).await?;
    assert_eq!(wish.account == wish.owner, kind == Kind::Stateless7702);
    // Seven periods.
    wish.end = wish.start + 7 * DAY - 1;
    let mut prey = Prey::new(stage, &victim, &Runway, wish.clone()).await?;
    is_a_runway(&prey)?;
    let home = |usd| calls::transfer(wish.book.usdc, wish.beneficiary, dollars(usd));
    let folder = lives(&prey, &victim, &home(1), &[home(10)]).await?;

    let (seen, before) = (shown(&prey).await?, Ledger::take(stage, &wish).await?);
    // Nobody told the wallet what a token is worth, so the owner is shown units.
    let asset = seen.assets.iter().find(|asset| asset.token == wish.book.usdc);
    let said: Micros = asset.and_then(|asset| asset.amount).context("no amount")?.try_into()?;
    let loot = Loot::of(folder.path(), wish.owner).await?;
    assert_eq!((loot.key, loot.bids.len()), (SESSION, 1));
    assert_eq!(loot.grant, prey.grant);

    // A runway has no epochs: a new one ends nothing, and so the owner takes the old one back first.
    let clean = prey.snapshot().await?;
    ensure!(Grant::read(&loot.grant, &environment()).is_err(), "it has an epoch");
    prey.revoked().await?;
    assert_eq!(loot.replayed(&prey).await?, 0, "what was signed before took effect");
    let take = |usd| [calls::transfer(wish.book.usdc, THIEF, dollars(usd))];
    ensure!(!prey.redeem(&take(1)).await?, "a key acts whose grant was taken back");
    assert_eq!(lost_since(&prey, &before).await?, 0);
    prey.revert(clean).await?;

    // Where he does not: what the Golem did and what it signed is of the first day's sum.
    assert_eq!(loot.replayed(&prey).await?, 1);
    assert_eq!(loot.replayed(&prey).await?, 0, "twice");
    loot.approves_nothing(&mut prey).await?;
    let (mut today, mut time) = (DAILY - 11, prey.now().await? + 60);
    while time <= wish.end {
        prey.wait_until(time).await?;
        ensure!(!prey.redeem(&take(today + 1)).await?, "a dollar past the day's sum");
        ensure!(prey.redeem(&take(today)).await?, "{:?}", prey.refusals());
        ensure!(!prey.redeem(&take(1)).await?, "a dollar past the day's sum");
        (today, time) = (DAILY, time + DAY);
    }

    let lost = lost_since(&prey, &before).await?;
    // All of it but what the Golem had signed to its owner's own.
    assert_eq!(lost + Micros::try_from(dollars(10))?, said, "{seen}");
    Ok(())
}

/// What was granted is what our own reader takes for a wallet's answer to a request of so much a day.
fn is_a_runway(prey: &Prey<'_>) -> Result<()> {
    let wish = &prey.wish;
    let periodic = Periodic {
        asset: Asset::Erc20(wish.book.usdc),
        amount: dollars(DAILY),
        duration: DAY,
        start: Some(wish.start),
    };
    let granted = Request {
        chain_id: prey.stage.node().chain_id(),
        from: Some(wish.account),
        to: SESSION,
        permission: Permission::Periodic(periodic),
        adjustable: true,
        justification: None,
        rules: Rules { expiry: Some(wish.end + 1), ..Rules::default() },
    };
    let (context, manager) = (prey.context()?.encode(), DELEGATION_MANAGER);
    let answer = Answer { granted, context, dependencies: vec![], manager: Some(manager) };
    let expected = Expected { session: SESSION, manager, environment: &environment() };
    Granted::check(&answer, expected)?;
    Ok(())
}
