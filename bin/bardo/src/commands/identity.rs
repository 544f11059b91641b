use crate::{
    answer::{Answer, Failure},
    cli::{
        IdentityCommand, IdentityRegisterArgs, IdentityRegistryArgs, IdentityShowArgs,
        SameOwnerArgs,
    },
    input,
};
use anyhow::anyhow;
use bardo_bindings::ChainSpec;
use golem_chain::{Identities, Kinship, Node, Registry, printable};
use serde_json::json;

/// `bardo identity`
pub(crate) async fn identity(command: &IdentityCommand) -> Result<Answer, Failure> {
    match command {
        IdentityCommand::Register(args) => register(args).await,
        IdentityCommand::Show(args) => show(args).await,
        IdentityCommand::SameOwner(args) => same_owner(args).await,
    }
}

/// The registry that was named, or the chain's.
async fn open(node: &Node, args: &IdentityRegistryArgs) -> Result<Identities, Failure> {
    let chain_id = node.chain_id();
    let known = input::chains()?.of(chain_id).map(ChainSpec::identity_registry);
    let Some(at) = args.registry.or(known) else {
        return Err(Failure::Use(anyhow!(
            "Bardo knows no identity registry on chain {chain_id}: give --registry ADDRESS"
        )));
    };
    Ok(Identities::open(node, at).await?)
}

async fn register(args: &IdentityRegisterArgs) -> Result<Answer, Failure> {
    let signer = input::owner(&args.key)?;
    let node = args.send.connect().await?;
    let identities = open(&node, &args.at).await?;
    let new = identities.register(&signer, &args.uri, args.send.ceiling(&node)?).await?;
    let json = json!({
        "agentId": new.agent_id.to_string(),
        "owner": signer.address(),
        "transaction": new.transaction,
        "gasUsed": new.gas_used,
    });
    let text = format!(
        "agent {} of {}: {} ({} gas)",
        new.agent_id,
        signer.address(),
        new.transaction,
        new.gas_used
    );
    Ok(Answer::yes(json, text))
}

async fn show(args: &IdentityShowArgs) -> Result<Answer, Failure> {
    let node = args.node.connect().await?;
    let Some(found) = open(&node, &args.at).await?.identity(args.agent_id).await? else {
        let reason = format!("there is no agent {} in this registry", args.agent_id);
        return Ok(Answer::no(json!({ "known": false, "reason": reason }), reason));
    };
    let wallet = found.wallet.map_or_else(|| "none".to_owned(), |wallet| wallet.to_string());
    let text = format!(
        "agent   {}\nowner   {}\nuri     {}\nwallet  {wallet}",
        found.agent_id,
        found.owner,
        printable(&found.uri)
    );
    let json = json!({
        "known": true,
        "agentId": found.agent_id.to_string(),
        "owner": found.owner,
        "uri": found.uri,
        "wallet": found.wallet,
    });
    Ok(Answer::yes(json, text))
}

async fn same_owner(args: &SameOwnerArgs) -> Result<Answer, Failure> {
    let SameOwnerArgs { agent_id, golem, .. } = args;
    let node = args.node.connect().await?;
    let identities = open(&node, &args.at).await?;
    let registry = Registry::open(&node).await?;
    let (same, words) = match identities.kinship(&registry, *agent_id, *golem).await? {
        Kinship::Same { owner } => {
            (true, format!("agent {agent_id} and Golem {golem} both belong to {owner}"))
        }
        Kinship::Different { identity, golem: other } => (
            false,
            format!("agent {agent_id} belongs to {identity}, but Golem {golem} belongs to {other}"),
        ),
        Kinship::NoIdentity => (false, format!("there is no agent {agent_id} in this registry")),
        _ => (false, format!("Golem {golem} is not on the register")),
    };
    let json = json!({
        "sameOwner": same, "agentId": agent_id.to_string(), "golemId": golem, "reason": words,
    });
    Ok(if same { Answer::yes(json, words) } else { Answer::no(json, words) })
}
