use super::{NodeArgs, SendArgs};
use crate::input;
use alloy::primitives::Address;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum WalletCommand {
    /// Say what a Golem's wallet holds, who may ask for its signatures, and how far a sweep is
    #[command(after_help = "Examples:
  bardo wallet status --data golem --rpc URL
  bardo wallet status --data golem --rpc URL --privy-app-secret-file secret --json

Shares of vaults that the Golem could enter are shown as tokens. The service is asked where its app's secret is given. Exit status 3
where it does not answer, 1 where it refuses or has another wallet by this name.")]
    Status(WalletStatusArgs),

    /// Send everything that a Golem's wallet holds to you, by your own key over the wallet
    #[command(after_help = "Examples:
  bardo wallet sweep --data golem --rpc URL --to 0xYOU --privy-app-secret-file secret --keeper-keystore keeper.json --keeper-password-file pw
  bardo wallet sweep … --token 0x… --again

First the Golem's key loses its say over the wallet; then each token, shares of vaults as they are, and at last the coin go to you,
one transaction each, and what became of each is in bardo-manifest.json. Each step is on the disk before its effect: interrupted
anywhere, the same command goes on, and sends nothing twice. Done once, it only says so; --again begins another sweep, for
what could not leave or came since. Exit status 1 where something stays in the wallet, and why.")]
    Sweep(WalletSweepArgs),
}

#[derive(Debug, Args)]
pub(crate) struct WalletStatusArgs {
    /// The Golem's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// A further token whose balance to show; may be repeated
    #[arg(long = "token", value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) tokens: Vec<Address>,
    /// File whose first line is the app's secret, private to you
    #[arg(long, value_name = "FILE")]
    pub(crate) privy_app_secret_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WalletSweepArgs {
    /// The Golem's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Your address. The folder must name it as its Golem's owner too: nobody who was in it sends your money elsewhere
    #[arg(long, value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) to: Address,
    /// A further token to send home; may be repeated
    #[arg(long = "token", value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) tokens: Vec<Address>,
    /// Begin another sweep where one is done
    #[arg(long)]
    pub(crate) again: bool,
    /// File whose first line is the app's secret, private to you
    #[arg(long, value_name = "FILE")]
    pub(crate) privy_app_secret_file: PathBuf,
    /// Encrypted file of your key over wallet and policy (P-256), as onboarding made it
    #[arg(long, value_name = "FILE")]
    pub(crate) keeper_keystore: PathBuf,
    /// File whose first line is that key's password, private to you
    #[arg(long, value_name = "FILE")]
    pub(crate) keeper_password_file: PathBuf,
    #[command(flatten)]
    pub(crate) send: SendArgs,
}
