//! `bardo golem report`: every figure of the page, held against what chain and log say without it.

pub(crate) mod browser;
pub(crate) mod counted;
mod life;
mod moments;
pub(crate) mod page;
pub(crate) mod witness;

use alloy::{
    eips::BlockNumberOrTag,
    primitives::{Address, U256},
    providers::Provider as _,
    rpc::types::Filter,
    sol_types::SolEvent as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    GolemRegistry, ReplicantBudgetEnforcer, defi::UniswapV3Pool, framework::DELEGATION_MANAGER,
    golem_registry, replicant_budget_enforcer,
};
use bardo_store::Archive;
use golem_runtime::GolemEvent;
use life::Lived;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Gas and number of transactions by sender, from the blocks themselves.
async fn sent(lived: &Lived) -> Result<BTreeMap<Address, (u64, U256)>> {
    let provider = lived.stage.node().provider();
    let mut all: BTreeMap<Address, (u64, U256)> = BTreeMap::new();
    for number in lived.began..=provider.get_block_number().await? {
        let block = provider.get_block_by_number(BlockNumberOrTag::Number(number)).await?;
        for hash in block.context("no block")?.transactions.hashes() {
            let receipt = provider.get_transaction_receipt(hash).await?.context("no receipt")?;
            let sum = all.entry(receipt.from).or_default();
            sum.0 += receipt.gas_used;
            sum.1 += U256::from(receipt.gas_used) * U256::from(receipt.effective_gas_price);
        }
    }
    Ok(all)
}

/// How often the Golem's account swapped, by the pools' own events.
async fn swaps(lived: &Lived, account: Address) -> Result<usize> {
    let book = lived.stage.book();
    let filter = Filter::new()
        .address(vec![book.pool_500, book.pool_3000])
        .event_signature(UniswapV3Pool::Swap::SIGNATURE_HASH)
        .topic2(account.into_word())
        .from_block(lived.began);
    Ok(lived.stage.node().provider().get_logs(&filter).await?.len())
}

fn total(story: &Value, by: &str, field: &str) -> u64 {
    let rows = story["gas"].as_array().into_iter().flatten();
    rows.filter(|row| row["by"] == by).filter_map(|row| row[field].as_u64()).sum()
}

#[tokio::test]
async fn every_figure_is_what_chain_and_log_say() -> Result<()> {
    let lived = Lived::whole().await?;

    let (html, story) = lived.report()?;

    // The page shows nothing that is not a fact, and each fact as it is.
    let figures = page::figures(&html)?;
    ensure!(figures.len() > 60, "{}", figures.len());
    assert_eq!(page::embedded(&html)?, story, "the page has the facts for programs");
    for figure in &figures {
        page::holds(figure, &story)?;
    }
    assert_eq!(page::stray_digits(&html), Vec::<String>::new(), "a figure that nobody vouches for");

    // The log, record by record.
    let (records, _) = Archive::open(&lived.data())?.audit()?;
    let of = |kind: &str| -> Vec<Value> {
        let those = records.iter().filter(|record| record.kind == kind);
        those.map(|record| serde_json::from_str(&record.body).unwrap()).collect()
    };
    let ticks = of("event.tick");
    assert_eq!(story["sums"]["ticks"], json!(ticks.len()));
    let drawn = story["ticks"].as_array().context("no ticks")?;
    assert_eq!(drawn.len(), ticks.len());
    for (drawn, told) in drawn.iter().zip(&ticks) {
        assert_eq!((&drawn["vitality"], &drawn["block"]), (&told["score"], &told["block"]));
        assert_eq!(drawn["phase"], told["phase"]);
    }
    let refused = of("event.intentRefused").len() + of("intent.refused").len();
    ensure!(refused >= 1, "{refused}");
    assert_eq!(story["sums"]["refused"], json!(refused));
    let rows = story["refusals"].as_array().context("no refusals")?;
    assert_eq!(rows.iter().filter_map(|row| row["times"].as_u64()).sum::<u64>(), refused as u64);
    let mut lives = of("step");
    lives.retain(|step| step["name"] == "life");
    let last = lives.last().context("no life")?;
    assert_eq!(story["sums"]["cost"], last["to"]["cost"]);
    let best = lives.iter().filter_map(|life| life["to"]["worth"].as_u64()).max();
    assert_eq!(story["sums"]["highWater"], json!(best));
    assert_eq!(last["to"]["best"], json!(best), "as it remembers itself");

    let witness = lived.witness().await?;
    counted::all(&witness, &story).await?;
    ensure!(witness.keys.len() == 2, "{:?}", witness.keys);

    // Transactions, from the blocks.
    let sent = sent(&lived).await?;
    let (own, strange) =
        (total(&story, "the Golem", "total"), total(&story, "its key, not the Golem", "total"));
    ensure!(own > 0 && strange > 0, "{own} and {strange}");
    let of_keys = || lived.keys.iter().map(|key| &sent[key]);
    assert_eq!(own + strange, of_keys().map(|one| one.0).sum::<u64>(), "all gas of its keys");
    assert_eq!(
        total(&story, "its owner", "total"),
        sent[&lived.owner.address].0,
        "all of its owner's"
    );
    assert_eq!(
        total(&story, "its Replicants", "total"),
        sent[&lived.child].0,
        "all of its child's"
    );
    let wei = of_keys().map(|one| one.1).sum::<U256>();
    let wei = wei + sent[&lived.owner.address].1 + sent[&lived.child].1;
    assert_eq!(story["sums"]["fees"], json!(wei.to_string()));
    assert_eq!(story["sums"]["strange"], json!(lived.thefts));
    let trades = story["sums"]["trades"].as_u64().context("no trades")?;
    assert_eq!(
        swaps(&lived, lived.account).await? as u64,
        trades + 3,
        "two are a thief's, one a child's"
    );
    assert_eq!(story["sums"]["traded"], json!(trades * 50_000_000), "fifty dollars each");

    // Its child, by the chain's own count, and by its parent's log.
    let (mut born, mut ended) = (Vec::new(), Vec::new());
    for record in &records {
        match GolemEvent::of_record(&record.kind, &record.body) {
            GolemEvent::ReplicantSpawned { session, expires_at, .. } => {
                born.push((record.at, session, expires_at));
            }
            GolemEvent::ReplicantEnded { cause, .. } => ended.push((record.at, cause)),
            _ => {}
        }
    }
    let child = &story["replicants"][0];
    assert_eq!((&child["id"], &child["key"]), (&json!(lived.replicant), &json!(lived.child)));
    let [(at, key, until)] = born[..] else { anyhow::bail!("{born:?}") };
    assert_eq!((&child["key"], &child["until"]), (&json!(key), &json!(until)), "{child}");
    assert_eq!(child["at"], json!(at), "{child}");
    let counted = ReplicantBudgetEnforcer::spentByCall {
        manager: DELEGATION_MANAGER,
        delegator: lived.session,
        replicantId: lived.replicant,
    };
    let counted = lived.stage.node().read(replicant_budget_enforcer(), counted).await?;
    assert_eq!(child["spent"], json!(u64::try_from(counted)?), "{child}");
    assert_eq!((&child["budget"], &child["trades"]), (&json!(40_000_000), &json!(1)), "{child}");
    assert_eq!(child["gas"], json!(sent[&lived.child].0), "{child}");
    let [(at, cause)] = &ended[..] else { anyhow::bail!("{ended:?}") };
    assert_eq!((&child["ended"], &child["cause"]), (&json!(at), &json!(cause)), "{child}");
    ensure!(cause.contains("its time is over"), "{cause}");
    assert_eq!(story["replicants"].as_array().map(Vec::len), Some(1));

    // What the chain counted, and what a thief could have had, as they were seen when it was so.
    let moments = story["moments"].as_array().context("no moments")?;
    let mut held = 0;
    for moment in moments {
        let block = moment["block"].as_u64().context("no block")?;
        assert_eq!(moment["spent"], json!(witness.scene.spent_at(block).await?), "block {block}");
        if let Some(risk) = lived.at_risk.get(&block) {
            assert_eq!(moment["atRisk"], json!(risk.map(|risk| risk.to_string())), "block {block}");
            held += 1;
        }
    }
    ensure!(held >= 8, "{held}");
    let most = moments.iter().filter_map(|one| one["atRisk"].as_str()?.parse::<U256>().ok()).max();
    assert_eq!(story["sums"]["mostAtRisk"], json!(most.map(|most| most.to_string())));
    let spent = moments.iter().filter_map(|one| one["spent"].as_u64()).max();
    assert_eq!(story["sums"]["mostSpent"], json!(spent));
    let last = moments.last().context("no moment")?;
    ensure!(last["atRisk"].as_str().context("no risk")?.parse::<u64>()? < 300_000_000, "{last}");

    // Holdings at the last tick, by balances and feeds of that block.
    let tick = drawn.last().context("no tick")?;
    let worth = witness.scene.worth_at(tick["block"].as_u64().context("no block")?).await?;
    assert_eq!(tick["worth"], json!(worth));
    assert_eq!(story["sums"]["worth"], tick["worth"]);

    // The seal, by the command that is there for it.
    let verified = lived.verified()?;
    let audit = &story["audit"];
    assert_eq!((&audit["whole"], &audit["records"]), (&verified["whole"], &verified["length"]));
    assert_eq!((&audit["head"], &audit["anchors"]), (&verified["head"], &verified["anchors"]));
    assert_eq!(audit["anchored"], verified["anchored"]["sequence"]);
    let filter = Filter::new()
        .address(golem_registry())
        .event_signature(GolemRegistry::HeartbeatRecorded::SIGNATURE_HASH)
        .topic1(lived.golem)
        .from_block(0);
    let beats = lived.stage.node().provider().get_logs(&filter).await?.len();
    assert_eq!(audit["anchors"], json!(beats));

    // In words, too: what its owner did, and what somebody else did.
    let titles: Vec<&str> = story["timeline"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|entry| entry["title"].as_str())
        .collect();
    for words in [
        "Registered by its owner",
        "Swapped 50.00 USDC for",
        "Fed by its owner",
        "Its key was used, and its log knows nothing of it",
        "Revoked by its owner",
        "Slept until",
        "Paid $1.00 of running costs",
        "Asked for its key to be replaced",
        "Changed its key",
        "Had a child",
        "Its child swapped 30.00 USDC for",
        "Its child ended",
    ] {
        ensure!(titles.iter().any(|title| title.starts_with(words)), "{words}: {titles:#?}");
    }
    page::at_a_glance(&html)?;
    browser::at_home_on_any_screen(&html)
}

/// Its grant was there to settle by: what it held is home, and every figure of its end is what the chain moved.
#[tokio::test]
async fn every_figure_of_a_settled_death_is_what_chain_and_log_say() -> Result<()> {
    let lived = Lived::settled().await?;

    let (html, story) = lived.report()?;

    for figure in &page::figures(&html)? {
        page::holds(figure, &story)?;
    }
    assert_eq!(page::stray_digits(&html), Vec::<String>::new(), "a figure that nobody vouches for");
    counted::all(&lived.witness().await?, &story).await
}

#[tokio::test]
async fn a_golem_that_never_ticked_has_a_page() -> Result<()> {
    let lived = Lived::onboarded(
        "- strategy: dca\n- sell: settlement\n- buy: weth\n- amount: $50\n- every: 1d\n",
    )
    .await?;

    let (html, story) = lived.report()?;

    ensure!(html.contains("has not had its first tick"), "{html}");
    assert_eq!((&story["sums"]["ticks"], &story["sums"]["born"]), (&json!(0), &Value::Null));
    assert_eq!(story["audit"]["whole"], true);
    assert_eq!(page::stray_digits(&html), Vec::<String>::new());
    browser::at_home_on_any_screen(&html)
}

#[test]
fn a_folder_that_is_no_golems_is_wrong_use() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().display().to_string();
    let ran =
        crate::command::bardo(["golem", "report", "--data", &data, "--rpc", "http://127.0.0.1:1"])?;
    assert_eq!(ran.code, 2, "{ran:?}");
    Ok(())
}
