use super::{KeyArgs, SendArgs};
use crate::input;
use alloy::primitives::{Address, B256, U256};
use clap::{Args, ValueEnum};
use golem_chain::Deposit;
use golem_custody::Asset;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::{fmt::Display, path::PathBuf};

/// Who holds what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OnboardMode {
    /// The money is in your account; the Golem's key was born where it runs, and ends there.
    Vault,
    /// The same on this machine: the Golem's key is in an encrypted file of its folder.
    Local,
    /// The money is in a wallet that a provider signs for. `bardo golem run` does not wake such a Golem, and `bardo wallet
    /// sweep` brings its money home.
    Embedded,
}

/// Where the money is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OnboardAccount {
    /// In a Hybrid account of your key's, which is created.
    #[default]
    Vault,
    /// In your EOA itself.
    Eoa,
}

/// What a Golem is to be: by flags, or by a file that has the same words without their dashes.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Wishes {
    /// Who holds what; it stays so
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<OnboardMode>,
    /// Vault mode: address of the Golem's key, which was born where it runs
    #[arg(long, value_name = "ADDRESS", value_parser = input::address)]
    #[serde(deserialize_with = "address")]
    pub(crate) session: Option<Address>,
    /// Local mode: file whose first line is the password of the Golem's key
    #[arg(long, value_name = "FILE", conflicts_with = "session")]
    pub(crate) session_password_file: Option<PathBuf>,
    /// Embedded mode: the Golem's P-256 key, born where it runs, as base64 of its SPKI
    #[arg(long, value_name = "BASE64")]
    pub(crate) session_public_key: Option<String>,
    /// What the Golem's id is made from, with your address; another for each Golem [default: zero]
    #[arg(long, value_name = "HEX32", value_parser = input::word)]
    #[serde(deserialize_with = "word")]
    pub(crate) salt: Option<B256>,
    /// Where the money is [default: vault]
    #[arg(long, value_name = "KIND")]
    pub(crate) account: Option<OnboardAccount>,
    /// Creation code of the framework's account proxy, in hex [default: from the local chain's files]
    #[arg(long, value_name = "FILE")]
    pub(crate) proxy_code: Option<PathBuf>,
    /// The charter, as parameters of `bardo caveat encode --kind golemCharter`; whose it is and until when is filled in
    /// [default: the local chain's]
    #[arg(long, value_name = "FILE")]
    pub(crate) charter: Option<PathBuf>,
    /// How long the grant lasts, 1 to 366 [default: 30]
    #[arg(long, value_name = "DAYS")]
    pub(crate) days: Option<u64>,
    /// Local mode: most that the Golem spends in any 24 hours, in micro-dollars [default: the charter's sum]
    #[arg(long, value_name = "MICRO-DOLLARS")]
    pub(crate) daily: Option<u64>,
    /// Local mode: most calls that the Golem makes under this grant; an allowance and its swap are two [default: 48 for each day]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) calls: Option<u32>,
    /// Local mode: a contract that the Golem may call, of those that the charter lists; may be repeated [default: all of them, but
    /// for its own key]
    #[arg(long = "target", value_name = "ADDRESS", value_parser = input::address)]
    #[serde(rename = "target", deserialize_with = "addresses")]
    pub(crate) targets: Vec<Address>,
    /// Local mode: bound the key by the charter alone, so that it may have Replicants and take gas money from the account; nothing
    /// counts its calls then
    #[arg(long, conflicts_with_all = ["daily", "calls", "targets"])]
    pub(crate) by_charter_alone: bool,
    /// Most of the holdings that the Golem may have in one asset, in hundredths of a per cent [default: 10000]
    #[arg(long, value_name = "BPS")]
    pub(crate) concentration_bps: Option<u16>,
    /// Farthest that the holdings may fall before the Golem only closes [default: 2000]
    #[arg(long, value_name = "BPS")]
    pub(crate) drawdown_bps: Option<u16>,
    /// Gas money for the Golem's key, in wei [default: 0.05 ether]
    #[arg(long, value_name = "WEI", value_parser = super::whole)]
    #[serde(deserialize_with = "amount")]
    pub(crate) stipend: Option<U256>,
    /// Money to pay into the vault or the wallet, TOKEN=AMOUNT or native=AMOUNT, in base units; may be repeated
    #[arg(long = "deposit", value_name = "ASSET=AMOUNT", value_parser = deposit)]
    #[serde(rename = "deposit", deserialize_with = "deposits")]
    pub(crate) deposits: Vec<Deposit>,
    /// Register an ERC-8004 identity too, whose file is there
    #[arg(long, value_name = "URI")]
    pub(crate) identity: Option<String>,
    /// A wallet's answer to a request for running costs (ERC-7715), in any of its three forms
    #[arg(long, value_name = "FILE")]
    pub(crate) runway: Option<PathBuf>,
    /// Also a runway of more than 100 USDC a day, for longer than 90 days, or of another coin
    #[arg(long)]
    pub(crate) runway_beyond_limits: bool,
    /// Embedded mode: where Privy answers [default: its own API]
    #[arg(long, value_name = "URL")]
    pub(crate) privy_url: Option<String>,
    /// Embedded mode: your app at Privy
    #[arg(long, value_name = "ID")]
    pub(crate) privy_app_id: Option<String>,
    /// Embedded mode: file whose first line is the app's secret, private to you
    #[arg(long, value_name = "FILE")]
    pub(crate) privy_app_secret_file: Option<PathBuf>,
    /// Embedded mode: encrypted file of your key over wallet and policy (P-256); it is made where it is missing
    #[arg(long, value_name = "FILE")]
    pub(crate) keeper_keystore: Option<PathBuf>,
    /// Embedded mode: file whose first line is that key's password, private to you
    #[arg(long, value_name = "FILE")]
    pub(crate) keeper_password_file: Option<PathBuf>,
    /// Embedded mode: most of the charter's settlement asset that one call may take, in base units [default: on a local chain
    /// the charter's]
    #[arg(long, value_name = "AMOUNT", value_parser = super::whole)]
    #[serde(deserialize_with = "amount")]
    pub(crate) most_per_call: Option<U256>,
}

impl Wishes {
    /// The files it names, which are looked for beside the manifest that names them.
    pub(crate) fn files(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        [
            &mut self.session_password_file,
            &mut self.proxy_code,
            &mut self.charter,
            &mut self.runway,
            &mut self.privy_app_secret_file,
            &mut self.keeper_keystore,
            &mut self.keeper_password_file,
        ]
        .into_iter()
        .flatten()
    }
}

#[derive(Debug, Args)]
pub(crate) struct OnboardArgs {
    /// All wishes in one TOML file, instead of flags: `mode = "vault"`, `deposit = ["native=1"]`; files beside it
    #[arg(long, value_name = "FILE", conflicts_with = "Wishes", required_unless_present = "mode")]
    pub(crate) manifest: Option<PathBuf>,
    /// The Golem's folder: its steps, its documents and its grant; made where it is missing
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) wishes: Wishes,
    #[command(flatten)]
    pub(crate) request: RunwayRequestArgs,
    #[command(flatten)]
    pub(crate) send: SendArgs,
    /// Your key
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

/// What a wallet is to be asked for.
#[derive(Debug, Args)]
pub(crate) struct RunwayRequestArgs {
    /// Only print what to ask your wallet for so that the Golem can pay its running costs (ERC-7715); its answer is for --runway
    #[arg(long, conflicts_with = "runway")]
    pub(crate) print_runway_request: bool,
    /// How much a day, in base units of the charter's settlement asset [default: 10000000, which is 10 USDC]
    #[arg(long, value_name = "AMOUNT", value_parser = super::whole, requires = "print_runway_request")]
    pub(crate) runway_per_day: Option<U256>,
    /// For how long [default: 7]
    #[arg(long, value_name = "DAYS", requires = "print_runway_request")]
    pub(crate) runway_days: Option<u64>,
    /// The only one it may pay [default: anybody]
    #[arg(long, value_name = "ADDRESS", value_parser = input::address, requires = "print_runway_request")]
    pub(crate) runway_payee: Option<Address>,
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

/// Text as a flag would have it.
fn text<'a, D: Deserializer<'a>, T, E: Display>(
    from: D,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(from)?;
    parse(&text).map(Some).map_err(D::Error::custom)
}

fn address<'a, D: Deserializer<'a>>(from: D) -> Result<Option<Address>, D::Error> {
    text(from, input::address)
}

fn addresses<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<Address>, D::Error> {
    let all = Vec::<String>::deserialize(from)?;
    all.iter().map(|one| input::address(one)).collect::<Result<_, _>>().map_err(D::Error::custom)
}

fn word<'a, D: Deserializer<'a>>(from: D) -> Result<Option<B256>, D::Error> {
    text(from, input::word)
}

fn amount<'a, D: Deserializer<'a>>(from: D) -> Result<Option<U256>, D::Error> {
    text(from, super::whole)
}

fn deposits<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<Deposit>, D::Error> {
    let all = Vec::<String>::deserialize(from)?;
    all.iter().map(|one| deposit(one)).collect::<Result<_, _>>().map_err(D::Error::custom)
}
