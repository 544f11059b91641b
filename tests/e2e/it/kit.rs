//! MetaMask's own kit and a real bundler against the local chain: neither is told that it is one.

use anyhow::{Context, Result, ensure};
use bardo_testkit::{Stage, root};
use golem_chain::local::Bundler;
use std::process::Command;

/// Runs one script of `kit/` and returns what it found.
fn kit(
    script: &str,
    arguments: &[&str],
    stage: &Stage,
    bundler: Option<&Bundler>,
) -> Result<serde_json::Value> {
    let mut command = Command::new("node");
    command
        .arg(root().join("tests/e2e/kit").join(script))
        .args(arguments)
        .current_dir(root())
        .env("RPC_URL", stage.chain().url().as_str());
    if let Some(bundler) = bundler {
        command.env("BUNDLER_URL", bundler.url().as_str());
    }
    let output = command.output().context("node is needed")?;
    ensure!(
        output.status.success(),
        "{script} {arguments:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[tokio::test]
async fn the_kit_resolves_its_environment_unmodified() -> Result<()> {
    let stage = Stage::open().await?;

    let found = kit("environment.mjs", &[], &stage, None)?;

    eprintln!("{found}");
    Ok(())
}

async fn delegation(kind: &str) -> Result<()> {
    let stage = Stage::open().await?;
    let found = kit("delegation.mjs", &[kind], &stage, None)?;
    eprintln!("{found}");
    Ok(())
}

/// Addresses on which somebody listens at `port`, as the kernel writes them.
fn listens_on(port: u16) -> Result<Vec<String>> {
    const LISTEN: &str = "0A";
    let suffix = format!(":{port:04X}");
    let mut found = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for row in std::fs::read_to_string(table)?.lines().skip(1) {
            let mut columns = row.split_whitespace().skip(1);
            let (local, _, state) = (columns.next(), columns.next(), columns.next());
            if state == Some(LISTEN)
                && let Some(address) = local.and_then(|local| local.strip_suffix(&suffix))
            {
                found.push(address.to_owned());
            }
        }
    }
    Ok(found)
}

#[tokio::test]
async fn chain_and_bundler_listen_on_loopback_alone() -> Result<()> {
    let stage = Stage::open().await?;
    let bundler = stage.bundler()?;

    for url in [stage.chain().url(), bundler.url()] {
        let port = url.port().context("no port")?;
        assert_eq!(listens_on(port)?, ["0100007F"], "{url}");
    }
    Ok(())
}

async fn user_operation(kind: &str) -> Result<()> {
    let stage = Stage::open().await?;
    let bundler = stage.bundler()?;
    let port = bundler.url().port().context("no port")?;
    ensure!(
        listens_on(port)? == ["0100007F"],
        "bundler left the loopback: {:?}",
        listens_on(port)?
    );
    let found = kit("user-operation.mjs", &[kind], &stage, Some(&bundler))?;
    eprintln!("{found}");
    Ok(())
}

#[tokio::test]
async fn a_delegation_of_a_7702_owner_goes_through() -> Result<()> {
    delegation("7702").await
}

#[tokio::test]
async fn a_delegation_of_a_hybrid_owner_goes_through() -> Result<()> {
    delegation("hybrid").await
}

#[tokio::test]
async fn a_delegation_of_a_multisig_owner_goes_through() -> Result<()> {
    delegation("multisig").await
}

#[tokio::test]
async fn a_user_operation_of_a_7702_owner_goes_through() -> Result<()> {
    user_operation("7702").await
}

#[tokio::test]
async fn a_user_operation_of_a_hybrid_owner_goes_through() -> Result<()> {
    user_operation("hybrid").await
}

#[tokio::test]
async fn a_user_operation_of_a_multisig_owner_goes_through() -> Result<()> {
    user_operation("multisig").await
}
