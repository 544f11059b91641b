use super::{KeyArgs, NodeArgs, SendArgs, whole};
use crate::input;
use alloy::primitives::{Address, B256, U256};
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum IdentityCommand {
    /// Register an agent of yours; prints its id
    #[command(
        after_help = "Example:\n  bardo identity register --rpc URL --uri ipfs://… --key-file owner.key

The key that sends owns the identity, and is the agent's wallet until another agrees to be it."
    )]
    Register(IdentityRegisterArgs),

    /// Say whose an identity is, where its file is, and which wallet it has
    #[command(after_help = "Example:\n  bardo identity show 42 --rpc URL --json

Exit status 1 where there is no such identity.")]
    Show(IdentityShowArgs),

    /// Say whether an identity and a Golem belong to one owner
    #[command(after_help = "Example:\n  bardo identity same-owner 42 GOLEM-ID --rpc URL

Exit status 1 where they do not. The public identity registries can be upgraded by their owner: this is his word, too.")]
    SameOwner(SameOwnerArgs),
}

/// Which identity registry.
#[derive(Debug, Args)]
pub(crate) struct IdentityRegistryArgs {
    /// The ERC-8004 identity registry [default: the one of the chain, where Bardo knows it]
    #[arg(long, value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) registry: Option<Address>,
}

#[derive(Debug, Args)]
pub(crate) struct IdentityRegisterArgs {
    /// Where its registration file is
    #[arg(long, value_name = "URI")]
    pub(crate) uri: String,
    #[command(flatten)]
    pub(crate) at: IdentityRegistryArgs,
    #[command(flatten)]
    pub(crate) send: SendArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct IdentityShowArgs {
    /// The identity's number
    #[arg(value_name = "AGENT_ID", value_parser = whole)]
    pub(crate) agent_id: U256,
    #[command(flatten)]
    pub(crate) at: IdentityRegistryArgs,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SameOwnerArgs {
    /// The identity's number
    #[arg(value_name = "AGENT_ID", value_parser = whole)]
    pub(crate) agent_id: U256,
    /// The Golem
    #[arg(value_name = "GOLEM_ID", value_parser = input::word)]
    pub(crate) golem: B256,
    #[command(flatten)]
    pub(crate) at: IdentityRegistryArgs,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}
