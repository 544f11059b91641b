mod adjust;
mod approval;
mod estate;
mod feed;
mod grant;
mod history;
mod kill;
mod kin;
mod list;
mod nursery;
mod nursling;
mod policy;
mod replicant;
mod replicate;
mod rotate;
mod run;
mod runway;
mod status;
mod voice;
mod watch;

use crate::{
    answer::{Answer, Failure, OrUse},
    cli::GolemCommand,
    input,
};
use anyhow::Context as _;
use golem_chain::Node;
use serde_json::json;

/// `bardo golem`
pub(crate) async fn golem(command: &GolemCommand, json: bool) -> Result<Answer, Failure> {
    match command {
        GolemCommand::Run(args) => run::run(args, json).await,
        GolemCommand::Status(args) => status::status(args).await,
        GolemCommand::History(args) => history::history(args),
        GolemCommand::List(args) => list::list(args),
        GolemCommand::Watch(args) => watch::watch(args, json).await,
        GolemCommand::Kill(args) => kill::kill(args).await,
        GolemCommand::Feed(args) => feed::feed(args).await,
        GolemCommand::Adjust(args) => adjust::adjust(args).await,
        GolemCommand::Grant(args) => grant::grant(args).await,
        GolemCommand::Approvals(args) => approval::approvals(args).await,
        GolemCommand::Approve(args) => approval::answer(args, true).await,
        GolemCommand::Deny(args) => approval::answer(args, false).await,
        GolemCommand::Rotate(args) => rotate::rotate(args).await,
        GolemCommand::Runway(args) => runway::runway(args).await,
        GolemCommand::Replicate(args) => replicate::replicate(args).await,
        GolemCommand::Report(args) => super::report(args).await,
    }
}

/// A no, for one reason.
fn refused(what: &str, reason: &str) -> Answer {
    Answer::no(json!({ what: false, "reason": reason }), reason)
}

/// The second it is for a Golem of this node's chain: a chain to play with has a clock of its own.
async fn now(node: Option<&Node>) -> Result<u64, Failure> {
    match node {
        Some(node) if node.is_near() => Ok(node.head().await?.timestamp),
        _ => input::now(),
    }
}

/// A second, as people write it.
fn moment(second: u64) -> String {
    let at = std::time::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(second));
    at.map_or_else(|| second.to_string(), |at| humantime::format_rfc3339_seconds(at).to_string())
}

/// Connects where somebody said where to.
async fn connected(rpc: Option<&url::Url>) -> Result<Option<Node>, Failure> {
    match rpc {
        Some(rpc) => Ok(Some(Node::connect(rpc).await?)),
        None => Ok(None),
    }
}

/// A folder's archive.
fn archive(data: &std::path::Path) -> Result<bardo_store::Archive, Failure> {
    bardo_store::Archive::open(data)
        .with_context(|| format!("{} has no Golem's books", data.display()))
        .or_use()
}
