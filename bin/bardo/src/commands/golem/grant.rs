use super::{estate::Estate, refused, run::another_mode};
use crate::{
    answer::{Answer, Failure, OrUse},
    cli::GolemGrantArgs,
};
use alloy::{
    primitives::{Address, Bytes, U256},
    sol_types::SolCall as _,
};
use anyhow::Context as _;
use bardo_bindings::{GolemRegistry, golem_registry};
use golem_chain::{Account, Registry, environment};
use golem_custody::{CustodyMode, Execution, Rotation};
use golem_delegation::{Delegation, grant::Grant};
use golem_runtime::Born;
use serde_json::json;
use std::{fs, path::Path};

/// Gas money for a key.
const STIPEND: U256 = U256::from_limbs([50_000_000_000_000_000, 0, 0, 0]);

/// `bardo golem grant`: the grant before, for the key that waits.
pub(super) async fn grant(args: &GolemGrantArgs) -> Result<Answer, Failure> {
    let estate = match Estate::of("granted", &args.data, &args.send, &args.key).await? {
        Ok(estate) => estate,
        Err(no) => return Ok(no),
    };
    // One that dies may need a key to settle; one that is dead needs none.
    if let Some(over) = estate.is_dead().await? {
        let reason = format!("{over}, and needs no grant; nothing was signed or sent");
        return Ok(refused("granted", &reason));
    }
    if estate.inbox.waiting()? > 0 {
        let reason = "what you sent before waits in its inbox; nothing was signed or sent";
        return Ok(refused("granted", reason));
    }
    let wanted = match wanted(&args.data, &estate)? {
        Ok(wanted) => wanted,
        Err(reason) => {
            return Ok(refused("granted", &format!("{reason}; nothing was signed or sent")));
        }
    };
    let epoch = match within(&estate, &wanted)? {
        Ok(epoch) => epoch,
        Err(reason) => {
            return Ok(refused("granted", &format!("{reason}; nothing was signed or sent")));
        }
    };
    let key = wanted.delegate;
    let calls = needed(&estate, key, args.stipend.unwrap_or(STIPEND)).await?;
    let transaction = if calls.is_empty() {
        None
    } else {
        let account = Account::stateless_7702(estate.signer.address());
        let ceiling = args.send.ceiling(&estate.node)?;
        let receipts = account.act_within(&estate.node, &estate.signer, &calls, ceiling).await?;
        receipts.last().map(|receipt| receipt.transaction_hash)
    };
    let signed = estate.signer.grant(&estate.domain(), wanted)?;
    let path = estate.inbox.put(&signed, estate.now)?;
    let json = json!({
        "granted": true, "golem": estate.glance.golem, "key": key, "epoch": epoch,
        "transaction": transaction, "file": path,
    });
    let sent = transaction.map_or_else(
        || "nothing had to be sent".to_owned(),
        |hash| format!("gas money and its place at the registry: {hash}"),
    );
    let text = format!(
        "signed for {key}, as number {epoch}, and put into the inbox: it counts once the Golem has verified it\n{sent}"
    );
    Ok(Answer::yes(json, text))
}

/// What waits for a signature: what a rotation asked for, or the same grant for the key that a process was born with.
fn wanted(data: &Path, estate: &Estate) -> Result<Result<Delegation, String>, Failure> {
    // By that file a key is looked for, and a key of another mode is nobody's whom he chose.
    if let Some(other) = another_mode(data, estate.file.mode)? {
        return Ok(Err(other.to_string()));
    }
    let born = born(data)?;
    let current = match &estate.glance.rotation {
        Some(Rotation::Resting { key, .. }) => Some(*key),
        Some(Rotation::Asked { old, .. } | Rotation::Granted { old, .. }) => Some(*old),
        None => born.as_ref().map(|born| born.address),
    };
    if estate.file.mode == CustodyMode::Delegation && current != Some(estate.grant.delegate) {
        let Some(born) = born.filter(|born| current == Some(born.address)) else {
            return Ok(
                Err("its key is not known: start it first, by `bardo golem run`".to_owned()),
            );
        };
        if !born.is_proven() {
            return Ok(Err(format!("{} is not the word of the key that it names", Born::NAME)));
        }
        let environment = environment();
        let grant = Grant::read(&estate.grant, &environment)?;
        let renewal = grant.rotate_past(born.address, estate.glance.asked_epoch()).or_use()?;
        return Ok(Ok(renewal.delegation));
    }
    match estate.glance.asks() {
        Some(asked) => Ok(Ok(asked.clone())),
        None => Ok(Err(format!("it asks for nothing: {} has its grant", estate.grant.delegate))),
    }
}

fn born(data: &Path) -> Result<Option<Born>, Failure> {
    let path = data.join(Born::NAME);
    if !path.is_file() {
        return Ok(None);
    }
    let text = fs::read_to_string(&path)?;
    serde_json::from_str(&text)
        .map(Some)
        .with_context(|| format!("{} is not understood", path.display()))
        .or_use()
}

/// What the Golem asks for is its word: an owner signs what he had signed before, for another key and under a higher number, and nothing
/// else.
fn within(estate: &Estate, wanted: &Delegation) -> Result<Result<u16, String>, Failure> {
    let environment = environment();
    let epoch = Grant::read(wanted, &environment)?.charter().epoch;
    let before = Grant::read(&estate.grant, &environment)?;
    let least = epoch.saturating_sub(1);
    let same = before.rotate_past(wanted.delegate, least).or_use()?.delegation;
    if same.hash() != wanted.hash() {
        let words = "what the Golem asks for is more than the grant before for another key: it is not signed";
        return Ok(Err(words.to_owned()));
    }
    Ok(Ok(epoch))
}

/// Gas money for a key that has less, and its place at the registry.
async fn needed(estate: &Estate, key: Address, stipend: U256) -> Result<Vec<Execution>, Failure> {
    let (node, golem) = (&estate.node, estate.glance.golem);
    let mut calls = Vec::new();
    let has = node.balance(key).await?;
    if has < stipend {
        calls.push(Execution { target: key, value: stipend - has, data: Bytes::new() });
    }
    let entry = Registry::open(node).await?.entry(golem).await?;
    if entry.is_none_or(|entry| entry.agent_key != Some(key)) {
        let data = GolemRegistry::attachCall { golemId: golem, agentKey: key }.abi_encode();
        calls.push(Execution { target: golem_registry(), value: U256::ZERO, data: data.into() });
    }
    Ok(calls)
}
