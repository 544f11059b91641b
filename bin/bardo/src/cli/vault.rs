use super::{KeyArgs, NodeArgs, SendArgs};
use crate::input;
use alloy::primitives::{Address, B256};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// How the proxy's code gets here, in the words of every command that needs it.
macro_rules! with_proxy_note {
    ($text:literal) => {
        concat!(
            $text,
            "

A vault's address is derived from the creation code of MetaMask's account proxy. That code is
not ours and is not in this program: it is taken from the local chain's files, or from
--proxy-code, and must be exactly the code of framework 1.3.0. It is the hex that this prints,
where the npm package @metamask/delegation-abis is installed:
  node -p \"require('@metamask/delegation-abis/bytecode').ERC1967Proxy\""
        )
    };
}

#[derive(Debug, Subcommand)]
pub(crate) enum VaultCommand {
    /// Create your vault, a Hybrid account that your key rules; says where it is if it is there
    #[command(after_help = with_proxy_note!("Examples:
  bardo vault create --rpc URL --key-file owner.key
  bardo vault create --rpc URL --keystore owner.json --proxy-code proxy.hex --json

Running it again is harmless: nothing is sent where the vault stands."))]
    Create(VaultCreateArgs),

    /// Say whether a vault is created, whose it is, and what it holds
    #[command(after_help = with_proxy_note!("Examples:
  bardo vault status --rpc URL --owner 0x… --token 0x…
  bardo vault status --rpc URL --account 0x… --json

With --account no proxy code is needed. Exit status 1 where something else than an account of
the framework stands there, or where another owner rules it."))]
    Status(VaultStatusArgs),

    /// Get everything out of your account, in one transaction of your key
    #[command(after_help = with_proxy_note!("Examples:
  bardo vault withdraw --rpc URL --token 0x… --positions 0x… --all-ether --key-file owner.key
  bardo vault withdraw --rpc URL --account 0xYOUR-EOA --to 0x… --token 0x… --key-file owner.key
  bardo vault withdraw --rpc URL --account 0xMULTISIG --to 0x… --all-ether --key-file one.key --co-key-file two.key

All of each token that is named leaves, or nothing does. A vault that holds something but was
not created yet is created by a transaction before. An EOA that empties itself (--account, its
own address) keeps what its gas may cost. What is not named stays. Positions leave as they are,
a hundred at once. With --account no proxy code is needed."))]
    Withdraw(VaultWithdrawArgs),
}

/// Which of an owner's vaults.
#[derive(Debug, Args)]
pub(crate) struct DerivedArgs {
    /// Salt of the vault's address
    #[arg(long, value_name = "HEX32", value_parser = input::word, default_value_t = B256::ZERO)]
    pub(crate) salt: B256,
    /// Creation code of the framework's account proxy, in hex [default: from the local chain's files]
    #[arg(long, value_name = "FILE")]
    pub(crate) proxy_code: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct VaultCreateArgs {
    #[command(flatten)]
    pub(crate) vault: DerivedArgs,
    #[command(flatten)]
    pub(crate) send: SendArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VaultStatusArgs {
    /// Whose vault
    #[arg(long, value_name = "ADDRESS", value_parser = input::address, required_unless_present = "account")]
    pub(crate) owner: Option<Address>,
    /// The account itself
    #[arg(long, value_name = "ADDRESS", value_parser = input::address, conflicts_with_all = ["owner", "salt", "proxy_code"])]
    pub(crate) account: Option<Address>,
    #[command(flatten)]
    pub(crate) vault: DerivedArgs,
    /// A token whose balance to show; may be repeated
    #[arg(long = "token", value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) tokens: Vec<Address>,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VaultWithdrawArgs {
    /// The account to empty: a Hybrid account of this key, its own EOA, or with --co-key-file a MultiSig account [default: its vault]
    #[arg(long, value_name = "ADDRESS", value_parser = input::address, conflicts_with_all = ["salt", "proxy_code"])]
    pub(crate) account: Option<Address>,
    #[command(flatten)]
    pub(crate) vault: DerivedArgs,
    /// Who gets it [default: the owner's EOA]
    #[arg(long, value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) to: Option<Address>,
    /// A token to take out, all of it; may be repeated
    #[arg(long = "token", value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) tokens: Vec<Address>,
    /// A collection of which to take everything out, such as Uniswap's position manager; may be repeated
    #[arg(long = "positions", value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) collections: Vec<Address>,
    /// All native coins too, and what lies with the entry point
    #[arg(long)]
    pub(crate) all_ether: bool,
    /// A further key of an account that several keys rule; may be repeated. All of them sign, and one of them sends
    #[arg(long = "co-key-file", value_name = "FILE", requires_all = ["account", "to"])]
    pub(crate) co_keys: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) send: SendArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}
