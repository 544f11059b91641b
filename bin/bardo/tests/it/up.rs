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
    ends_by("-INT").await
}

#[tokio::test]
async fn up_ends_when_it_is_told_to() -> Result<()> {
    ends_by("-TERM").await
}

/// Also while it still waits for a part that does not get ready.
#[test]
fn up_can_be_interrupted_while_it_starts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for name in ["node_modules", "crates", ".devchain"] {
        std::os::unix::fs::symlink(root().join(name), folder.path().join(name))?;
    }
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin)?;
    // A `node` that never gets ready, and says that it runs.
    let node = bin.join("node");
    let marker = folder.path().join("started");
    std::fs::write(&node, format!("#!/bin/sh\n: > {}\nexec sleep 600\n", marker.display()))?;
    std::fs::set_permissions(&node, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let path = format!("{}:{}", bin.display(), std::env::var("PATH")?);
    let mut child = Command::new(env!("CARGO_BIN_EXE_bardo"))
        .arg("up")
        .env("BARDO_HOME", folder.path())
        .env("PATH", path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    while !marker.exists() {
        std::thread::yield_now();
    }

    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;

    assert!(told.success());
    assert!(child.wait()?.success());
    Ok(())
}

async fn ends_by(signal: &str) -> Result<()> {
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
    let interrupted = Command::new("kill").args([signal, &child.id().to_string()]).status()?;
    assert!(interrupted.success());
    let status = child.wait()?;

    assert!(status.success(), "{status}");
    assert!(Node::connect(&rpc).await.is_err(), "the chain has ended");
    assert!(Node::connect(&bundler).await.is_err(), "the bundler has ended");
    Ok(())
}
