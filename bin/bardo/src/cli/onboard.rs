use super::{KeyArgs, SendArgs};
use crate::input;
use alloy::primitives::{Address, B256, U256};
use clap::{Args, ValueEnum};
use golem_chain::Deposit;
use golem_custody::Asset;
use std::path::PathBuf;

/// Who holds what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnboardMode {
    /// The money is in your account; the Golem's key was born where it runs, and ends there.
    Vault,
    /// The same on this machine: the Golem's key is in an encrypted file of its folder.
    Local,
    /// The money is in a wallet that a provider signs for.
    Embedded,
}

/// Where the money is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnboardAccount {
    /// In a Hybrid account of your key's, which is created.
    Vault,
    /// In your EOA itself.
    Eoa,
}

#[derive(Debug, Args)]
pub(crate) struct OnboardArgs {
    /// Who holds what; it stays so
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: OnboardMode,
    /// The Golem's folder: its steps, its documents and its grant; made where it is missing
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Vault mode: address of the Golem's key, which was born where it runs
    #[arg(long, value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) session: Option<Address>,
    /// Local mode: file whose first line is the password of the Golem's key
    #[arg(long, value_name = "FILE", conflicts_with = "session")]
    pub(crate) session_password_file: Option<PathBuf>,
    /// What the Golem's id is made from, with your address; another for each Golem
    #[arg(long, value_name = "HEX32", value_parser = input::word, default_value_t = B256::ZERO)]
    pub(crate) salt: B256,
    /// Where the money is
    #[arg(long, value_name = "KIND", default_value = "vault")]
    pub(crate) account: OnboardAccount,
    /// Creation code of the framework's account proxy, in hex [default: from the local chain's files]
    #[arg(long, value_name = "FILE")]
    pub(crate) proxy_code: Option<PathBuf>,
    /// The charter, as parameters of `bardo caveat encode --kind golemCharter`; whose it is and until when is filled in
    /// [default: the local chain's]
    #[arg(long, value_name = "FILE")]
    pub(crate) charter: Option<PathBuf>,
    /// How long the grant lasts
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u64).range(1..=366))]
    pub(crate) days: u64,
    /// Most of the holdings that the Golem may have in one asset, in hundredths of a per cent
    #[arg(long, value_name = "BPS", default_value_t = 10_000)]
    pub(crate) concentration_bps: u16,
    /// Farthest that the holdings may fall before the Golem only closes
    #[arg(long, value_name = "BPS", default_value_t = 2_000)]
    pub(crate) drawdown_bps: u16,
    /// Gas money for the Golem's key, in wei [default: 0.05 ether]
    #[arg(long, value_name = "WEI", default_value_t = U256::from(50_000_000_000_000_000_u64), hide_default_value = true)]
    pub(crate) stipend: U256,
    /// Money to pay into the vault, TOKEN=AMOUNT or native=AMOUNT, in base units; may be repeated
    #[arg(long = "deposit", value_name = "ASSET=AMOUNT", value_parser = deposit)]
    pub(crate) deposits: Vec<Deposit>,
    /// Register an ERC-8004 identity too, whose file is there
    #[arg(long, value_name = "URI")]
    pub(crate) identity: Option<String>,
    #[command(flatten)]
    pub(crate) send: SendArgs,
    /// Your key
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

fn deposit(text: &str) -> Result<Deposit, String> {
    let (asset, amount) = text.split_once('=').ok_or("not ASSET=AMOUNT")?;
    let asset = match asset {
        "native" => Asset::Native,
        token => Asset::Erc20(input::address(token).map_err(|error| error.to_string())?),
    };
    let amount = super::whole(amount)?;
    Ok(Deposit { asset, amount })
}
