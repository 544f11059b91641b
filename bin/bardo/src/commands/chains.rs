use crate::{
    answer::{Answer, Failure},
    cli::ChainsCheckArgs,
    input,
};
use anyhow::anyhow;
use bardo_bindings::{ChainSpec, Chains};
use golem_chain::{Part, Place, Standing, places, redacted};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

/// What is said of a chain to play with, whatever it calls itself.
const LOCAL: &str = "  a local chain to play with, such as `bardo up` starts: it borrows the name and id of a public one, is none, and lacks one stock \
     enforcer whose deployed code no package has\n";

/// `bardo chains`
pub(crate) fn list() -> Result<Answer, Failure> {
    let chains = input::chains()?;
    let mut text: String = chains
        .all()
        .map(|chain| {
            let kind = if chain.testnet { "testnet" } else { "mainnet" };
            let private = private_rpc(chain).map(|url| format!("  private RPC {url}"));
            let private = private.unwrap_or_default();
            format!(
                "{:>9}  {:<14} {kind}  known, not checked{private}\n",
                chain.chain_id, chain.name
            )
        })
        .collect();
    text.push_str("A chain is supported where `bardo chains check --rpc URL` says so.");
    let rows: Vec<_> = chains
        .all()
        .map(|chain| {
            json!({
                "name": chain.name,
                "chainId": chain.chain_id,
                "testnet": chain.testnet,
                "privateRpc": private_rpc(chain),
                "status": "known",
            })
        })
        .collect();
    Ok(Answer::yes(json!(rows), text))
}

/// Where a chain's signed transactions go alone, without what may be a key in it.
fn private_rpc(chain: &ChainSpec) -> Option<String> {
    let url = chain.private_rpc.as_deref()?;
    Some(
        url.parse()
            .map_or_else(|_| "an address that cannot be read".to_owned(), |url| redacted(&url)),
    )
}

/// `bardo chains check`: whether everything Bardo relies on stands on the chain behind a URL.
pub(crate) async fn check(args: &ChainsCheckArgs) -> Result<Answer, Failure> {
    // A name nobody knows is the caller's to mend, and needs no node to be seen.
    let chains = input::chains()?;
    let meant = args.chain.as_deref().map(|word| called(&chains, word)).transpose()?;
    let node = args.node.connect().await?;
    let chain_id = node.chain_id();
    let chain = chains.of(chain_id);
    let name = chain.map(|chain| chain.name.as_str());
    let shown = name.unwrap_or("a chain Bardo does not know by name");
    if let Some(meant) = meant.filter(|meant| meant.chain_id != chain_id) {
        let reason = format!(
            "this is {shown} ({chain_id}), not {} ({}); give an --rpc of {}, or leave --chain out",
            meant.name, meant.chain_id, meant.name
        );
        let json = json!({
            "supported": false, "chainId": chain_id, "chain": name,
            "expected": { "chainId": meant.chain_id, "chain": meant.name }, "reason": reason,
        });
        return Ok(Answer::no(json, reason));
    }

    let places = places(chain);
    // Drawn on standard error, and only where that is a terminal.
    let bar = ProgressBar::new(u64::try_from(places.len())?);
    bar.set_style(ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}")?);
    let mut text = format!("{shown} ({chain_id})\n");
    if node.is_near() {
        text.push_str(LOCAL);
    }
    let mut rows = Vec::new();
    let mut found = Vec::new();
    for place in &places {
        let Place { name, address, part, .. } = place;
        bar.set_message(*name);
        let standing = place.look(&node).await?;
        bar.inc(1);
        let word = match standing {
            Standing::Present if *part == Part::Bardo || place.pinned().is_some() => {
                "present, verified"
            }
            Standing::Present => "present",
            Standing::Missing => "missing",
            _ => "other code",
        };
        text.push_str(&format!("  {name:<42} {address}  {word}\n"));
        rows.push(json!({ "name": name, "address": address, "part": part, "standing": standing }));
        found.push((*part, standing));
    }
    bar.finish_and_clear();

    let supported = found.iter().all(|(_, standing)| *standing == Standing::Present);
    let next = advice(&found);
    text.push_str(&next.join("\n"));
    let json = json!({
        "supported": supported, "chainId": chain_id, "chain": name, "local": node.is_near(), "contracts": rows, "next": next,
    });
    Ok(if supported { Answer::yes(json, text) } else { Answer::no(json, text) })
}

fn called<'a>(chains: &'a Chains, word: &str) -> Result<&'a ChainSpec, Failure> {
    chains.called(word).ok_or_else(|| {
        Failure::Use(anyhow!("no chain is called {word:?}; `bardo chains` lists those that are"))
    })
}

/// What to do about it, worst first.
fn advice(found: &[(Part, Standing)]) -> Vec<&'static str> {
    let has = |part, standing| found.contains(&(part, standing));
    let lacks = |part| has(part, Standing::Missing);
    let mut next = Vec::new();
    if has(Part::Bardo, Standing::OtherCode) {
        next.push("Somebody else's code stands where Bardo's should: grant nothing on this chain.");
    }
    if has(Part::Framework, Standing::OtherCode) {
        next.push(
            "Something else stands where the delegation framework should: grant nothing on this chain.",
        );
    }
    if lacks(Part::Framework) {
        next.push(
            "The delegation framework 1.3.0 is not all there: no grant can be redeemed here. Check that the URL leads \
             to the chain you mean; Bardo cannot deploy the framework.",
        );
    }
    if lacks(Part::StockEnforcer) {
        next.push(
            "A grant that names a missing stock enforcer can never be redeemed here; do not sign one. Others can.",
        );
    }
    if has(Part::StockEnforcer, Standing::OtherCode) {
        next.push(
            "Something else stands where a stock enforcer should, and may allow anything: do not sign one of those grants that name it.",
        );
    }
    if has(Part::Deployer, Standing::OtherCode) {
        next.push("Something else stands where the deterministic deployer should: deploy nothing through it.");
    }
    if has(Part::Identity, Standing::OtherCode) {
        next.push(
            "What stands where the identity registry should is none: register nothing there.",
        );
    }
    if lacks(Part::Identity) {
        next.push(
            "There is no identity registry where it should be: `bardo identity` needs --registry.",
        );
    }
    if lacks(Part::Deployer) && lacks(Part::Bardo) {
        next.push("Bardo's contracts need the deterministic deployer to get their addresses; put that there first.");
    } else if lacks(Part::Deployer) {
        next.push(
            "The deterministic deployer is missing: a later version could not be deployed here.",
        );
    } else if lacks(Part::Bardo)
        && !lacks(Part::Framework)
        && !has(Part::Deployer, Standing::OtherCode)
    {
        next.push("Next: bardo deploy --rpc URL --key-file KEY");
    }
    if next.is_empty() {
        next.push("Everything Bardo relies on is there.");
    }
    next
}
