//! `bardo up`.

use anyhow::{Context, Result};
use bardo_testkit::root;
use golem_chain::Node;
use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};
use url::Url;

#[tokio::test]
async fn up_says_where_chain_and_bundler_are_and_ends_them_when_interrupted() -> Result<()> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bardo"))
        .args(["up", "--json"])
        .current_dir(root())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
    let said: Value = serde_json::from_str(&lines.next().context("nothing said")??)?;
    let rpc: Url = said["rpc"].as_str().context("no rpc")?.parse()?;
    let bundler: Url = said["bundler"].as_str().context("no bundler")?.parse()?;

    for url in [&rpc, &bundler] {
        assert_eq!(url.host_str(), Some("127.0.0.1"));
        // The bundler speaks enough JSON-RPC to be asked for its chain.
        assert_eq!(Node::connect(url).await?.chain_id(), 8453, "{url}");
    }
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    assert!(interrupted.success());
    let status = child.wait()?;

    assert!(status.success(), "{status}");
    assert!(Node::connect(&rpc).await.is_err(), "the chain has ended");
    assert!(Node::connect(&bundler).await.is_err(), "the bundler has ended");
    Ok(())
}
