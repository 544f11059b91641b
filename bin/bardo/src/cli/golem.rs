use super::{KeyArgs, ReportArgs, SendArgs, endpoint, registry::phase};
use crate::input;
use alloy::primitives::{B256, U256};
use clap::{Args, Subcommand};
use golem_delegation::grant::Phase;
use std::{net::SocketAddr, path::PathBuf, time::Duration};
use url::Url;

#[derive(Debug, Subcommand)]
pub(crate) enum GolemCommand {
    /// Run a Golem until it dies or is told to stop
    #[command(after_help = "Examples:
  bardo golem run --data ~/.bardo/golem --rpc URL --password-file pw
  bardo golem run --data ~/.bardo/golem --rpc URL --events 127.0.0.1:7700 --json

In local mode its key is in the folder, under your password. In vault mode its key is born with the process and ends with it: it is
said, with a proof, and is in born.json of the folder. Start it first where nothing is onboarded yet, then
`bardo onboard --mode vault --session ADDRESS` with the same folder; after a restart it looks on until `bardo golem grant`. What it costs
and whom it pays is in the table [life] of golem.toml: inference, gas, compute and data in micro-dollars a day, expected-days,
machine-ends, payees, owner-day with owner-ledger.

With --events other programs of this machine hear what happens, by WebSocket or by page: GET /v1/events?after=N.

One line a tick on standard error, with --json one object a line on standard output. SIGTERM and SIGINT stop it between two ticks.
Killed anywhere, the next process goes on, and does nothing twice. Exit status 1 where another process runs it, or its policy is
not the one on the chain.")]
    Run(RunArgs),

    /// Say how a Golem is, and what it asks of you
    #[command(after_help = "Examples:
  bardo golem status --data ~/.bardo/golem
  bardo golem status --data ~/.bardo/golem --rpc URL --json

It reads the Golem's books, while it runs and after. Exit status 1 where ticks are missing, or it is dead.")]
    Status(LookArgs),

    /// Say what happened to a Golem, in words
    #[command(after_help = "Examples:
  bardo golem history --data ~/.bardo/golem
  bardo golem history --data ~/.bardo/golem --after 120 --limit 20 --json

Without --after it is the newest. Nothing is verified on the way: `bardo audit verify` does that.")]
    History(HistoryArgs),

    /// List the Golems in a folder of folders
    #[command(after_help = "Example:\n  bardo golem list --home ~/.bardo --json")]
    List(ListArgs),

    /// Watch over a Golem from outside, and say when its heartbeat stays away
    #[command(after_help = "Examples:
  bardo golem watch --data ~/.bardo/golem --rpc URL
  bardo golem watch --golem 0x… --rpc URL --every 12h --missed 1 --once

By its folder it knows when each tick is due, and how many may be missing (HEARTBEAT.md). By the registry alone it knows when the Golem
was last written about: at least once a day while it lives. It needs nothing of the Golem's process. Exit status 1 where the heartbeat
stayed away: with --once at once, otherwise when you stop it.")]
    Watch(WatchArgs),

    /// End a Golem: one transaction of yours ends all that it may do
    #[command(after_help = "Example:
  bardo golem kill --data ~/.bardo/golem --rpc URL --key-file owner.key

Its grants end on the chain, whether its process is there or not; one that is there is told, and dies. What it holds is in your
account.")]
    Kill(KillArgs),

    /// Give a Golem more time by one signature, and turn its phase back
    #[command(after_help = "Examples:
  bardo golem feed --data ~/.bardo/golem --rpc URL --days 30 --key-file owner.key
  bardo golem feed --data ~/.bardo/golem --rpc URL --phase stable --key-file owner.key

More time costs a signature and no transaction; it is put into the Golem's inbox and counts when the Golem has verified it. A phase that
the registry has as a later one is turned back by one transaction.")]
    Feed(FeedArgs),

    /// Sign what a Golem asks for: the grant of its next key
    #[command(after_help = "Example:
  bardo golem grant --data ~/.bardo/golem --rpc URL --key-file owner.key

In a rotation that is the grant of the next key; of a vault-mode Golem that was started again, that of the key it was born with. It is
the grant before for another key: no limit is another. One transaction gives the key gas money and lets it speak at the registry.")]
    Grant(GolemGrantArgs),

    /// Write a Golem's life on one page, from its audit log and the chain
    #[command(after_help = "Example:
  bardo golem report --data ~/.bardo/golem --rpc URL --out report.html

One HTML file that needs no network: vitality and phase, spend against the cap, what a thief could have taken, gas, every refusal in plain
words, and whether the log is whole. Of a living Golem and of a dead one. With --json the facts themselves, too.")]
    Report(ReportArgs),
}

/// Which Golem.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The Golem's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// The chain's JSON-RPC endpoint
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    pub(crate) rpc: Url,
    /// Local mode: file whose first line is the password of the Golem's key [default: it is asked for]
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Tell its events to programs of this machine there, at /v1/events: an address such as 127.0.0.1:7700; port 0 is any
    #[arg(long, value_name = "ADDRESS", value_parser = loopback)]
    pub(crate) events: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct LookArgs {
    /// The Golem's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Ask the chain, too
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    pub(crate) rpc: Option<Url>,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The Golem's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Only what came behind this number
    #[arg(long, value_name = "N")]
    pub(crate) after: Option<u64>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Where the Golems' folders are [default: .bardo in your home]
    #[arg(long, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The Golem's folder
    #[arg(long, value_name = "DIR", required_unless_present = "golem")]
    pub(crate) data: Option<PathBuf>,
    /// The Golem, where its folder is somewhere else
    #[arg(long, value_name = "GOLEM_ID", value_parser = input::word, conflicts_with = "data", requires = "rpc")]
    pub(crate) golem: Option<B256>,
    /// The chain's JSON-RPC endpoint
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    pub(crate) rpc: Option<Url>,
    /// How often it is heard of at least [default: as HEARTBEAT.md says; by the registry alone 1d]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) every: Option<Duration>,
    /// How many times that may fail to happen [default: as HEARTBEAT.md says; by the registry alone 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) missed: Option<u32>,
    /// Look once, and answer
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    /// The Golem's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) send: SendArgs,
    /// Your key
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct FeedArgs {
    /// The Golem's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// How much more time, 1 to 366 [default: 7, or none with --phase]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(1..=366))]
    pub(crate) days: Option<u64>,
    /// Turn its phase back to this one: thriving or stable
    #[arg(long, value_name = "PHASE", value_parser = phase)]
    pub(crate) phase: Option<Phase>,
    #[command(flatten)]
    pub(crate) send: SendArgs,
    /// Your key
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct GolemGrantArgs {
    /// The Golem's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Gas money for the key, in wei [default: 0.05 ether]
    #[arg(long, value_name = "WEI", value_parser = super::whole)]
    pub(crate) stipend: Option<U256>,
    #[command(flatten)]
    pub(crate) send: SendArgs,
    /// Your key
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

/// An address of this machine's own: who may hear of a Golem from elsewhere is decided by whoever stands in front.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let at: SocketAddr =
        text.parse().map_err(|_error| "not ADDRESS:PORT, as in 127.0.0.1:7700".to_owned())?;
    if at.ip().is_loopback() {
        Ok(at)
    } else {
        Err(format!("{at} is not of this machine alone: 127.0.0.1 is"))
    }
}
