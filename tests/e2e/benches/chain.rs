//! How fast a charter's swap is judged in this process, beside `eth_call` to a node over loopback with the connection kept.
//!
//! Both judge the same redemption on the same block and must agree. Medians; what lasts is the ratio. `target/bench/chain.json` keeps
//! the numbers.

mod machine;

use alloy::{
    network::TransactionBuilder as _, providers::Provider as _, rpc::types::TransactionRequest,
};
use anyhow::{Context as _, Result, ensure};
use bardo_testkit::{Agent, Stage, dollars, fair_swap, root};
use golem_chain::AccountKind;
use golem_custody::{Outcome, SessionSigner as _};
use serde_json::json;
use std::{
    fs,
    io::{Write as _, stdout},
    time::{Duration, Instant},
};

const TIMES: usize = 400;

fn median(mut times: Vec<Duration>) -> Result<f64> {
    times.sort_unstable();
    Ok(times.get(times.len() / 2).context("nothing was timed")?.as_secs_f64() * 1e6)
}

#[tokio::main]
async fn main() -> Result<()> {
    machine::quiet()?;
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::chartered(&stage, &owner, |_| ()).await?;
    let redemption = agent.redemption(&fair_swap(&stage, agent.account, dollars(10)))?;
    let by = agent.key.address();
    let (foresight, header) = (stage.foresight(), stage.node().header().await?);
    let ask = TransactionRequest::default()
        .with_from(by)
        .with_to(redemption.manager())
        .with_input(redemption.calldata());
    stage.node().provider().call(ask.clone()).await?;
    let first = foresight.judge_at(header.clone(), &redemption, by).await?;
    ensure!(matches!(first, Outcome::Allowed(_)), "{first:?}");

    let (mut ours, mut nodes) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let since = Instant::now();
        let outcome = foresight.judge_at(header.clone(), &redemption, by).await?;
        ours.push(since.elapsed());
        ensure!(matches!(outcome, Outcome::Allowed(_)), "{outcome:?}");
        let since = Instant::now();
        stage.node().provider().call(ask.clone()).await?;
        nodes.push(since.elapsed());
    }
    let (ours, node) = (median(ours)?, median(nodes)?);
    let share = ours / node;
    writeln!(
        stdout(),
        "dry run of a charter's swap, warm: {ours:.0} µs; eth_call to the node: {node:.0} µs; share {share:.2} (0.5 is wanted)"
    )?;
    let folder = root().join("target/bench");
    fs::create_dir_all(&folder)?;
    let kept =
        json!({ "dryRunMicros": ours.round(), "ethCallMicros": node.round(), "share": share });
    fs::write(folder.join("chain.json"), format!("{kept:#}\n"))?;
    Ok(())
}
