use super::{KeyArgs, ReportArgs, SendArgs, endpoint, registry::phase, socket};
use crate::input;
use alloy::primitives::{Address, B256, U256};
use clap::{Args, Subcommand};
use golem_delegation::grant::Phase;
use std::{net::SocketAddr, num::NonZeroU64, path::PathBuf, time::Duration};
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
machine-ends, payees, owner-day with owner-ledger. Above --ask-above, or ask-above of that table, it asks you first and does nothing
until `bardo golem approve`.

New blocks, and with them the end of its grant, are told by a WebSocket where there is one; where it is lost, or there is none, the
node is asked every two seconds.

With --events other programs of this machine hear what happens, by WebSocket or by page: GET /v1/events?after=N.

One line a tick on standard error, with --json one object a line on standard output. SIGTERM and SIGINT stop it between two ticks.
Killed anywhere, the next process goes on, and does nothing twice. Exit status 1 where another process runs it, or its policy is
not the one on the chain.")]
    Run(RunArgs),

    /// Say how a Golem is, and what it asks of you
    #[command(after_help = "Examples:
  bardo golem status --data ~/.bardo/golem
  bardo golem status --data ~/.bardo/golem --rpc URL --json

It reads the Golem's books, while it runs and after; with --rpc also what the chain says of its grant, its policy and its phase. Exit status 1 where ticks are missing, or it is dead.")]
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

More time costs a signature; it is put into the Golem's inbox and counts when the Golem has verified it. A transaction it costs only where
the policy that you published would let its key spend less than that time is for: a wider one is published first, with the same
constitution. A phase that the registry has as a later one stays, and is turned back by --phase: one transaction more.")]
    Feed(FeedArgs),

    /// Sign other limits for a Golem: less or more in a day, sooner or later over
    #[command(after_help = "Example:
  bardo golem adjust --cap 50000000 --data ~/.bardo/golem --rpc URL --key-file owner.key

One signature; what it spent counts on. A transaction it costs only where the policy that you published is narrower than what you ask for: a
wider one is published first, with the same constitution, and never a narrower one. The grant before works until the new one is first used: where its key is in
wrong hands, `bardo delegation revoke` first.")]
    Adjust(AdjustArgs),

    /// Sign what a Golem asks for: the grant of its next key
    #[command(after_help = "Example:
  bardo golem grant --data ~/.bardo/golem --rpc URL --key-file owner.key

In a rotation that is the grant of the next key; of a vault-mode Golem that was started again, that of the key it was born with. It is
the grant before for another key: no limit is another. One transaction gives the key gas money and lets it speak at the registry.")]
    Grant(GolemGrantArgs),

    /// List what a Golem waits for your answer to
    #[command(after_help = "Example:
  bardo golem approvals --data ~/.bardo/golem

What is above the threshold that you gave it (ask-above in the table [life] of golem.toml, or --ask-above of `bardo golem run`) is not
done before you say yes: what it is, how much it can take at most, and until when your answer counts.")]
    Approvals(LookArgs),

    /// Say yes to something that a Golem asks
    #[command(after_help = "Example:
  bardo golem approve 0x… --data ~/.bardo/golem --key-file owner.key

One signature, for these very calls, once, until its last second; no transaction. Exit status 1 where it never asked that, where it is too
late, or where you have answered.")]
    Approve(AnswerArgs),

    /// Say no to something that a Golem asks
    #[command(after_help = "Example:
  bardo golem deny 0x… --data ~/.bardo/golem --key-file owner.key

It also takes a yes back that was not used yet.")]
    Deny(AnswerArgs),

    /// Ask a Golem for another key
    #[command(after_help = "Example:
  bardo golem rotate --data ~/.bardo/golem --rpc URL --key-file owner.key

The next key is born in the Golem's process, and `bardo golem grant` signs for it. Until then the old one works on: where that is stolen,
revoke first.")]
    Rotate(KillArgs),

    /// Let a Golem pay its running costs out of your own account, by a grant of your wallet
    #[command(after_help = "Examples:
  bardo golem runway --print-request --data ~/.bardo/golem --rpc URL --key-file owner.key
  bardo golem runway --take answer.json --data ~/.bardo/golem --rpc URL --key-file owner.key

The first prints what to ask your wallet for (ERC-7715), the second gives its answer to the Golem: it is put into the inbox, and counts
when the Golem has verified it. Such a grant is for one key and has an end: behind each rotation, each restart of a Golem whose key is in
no file, and each end it is asked for anew, and `bardo golem status` says so. No charter binds it: whoever has that key has all of it.
Exit status 1 where it is for another key, or for more than is given without saying so.")]
    Runway(RunwayArgs),

    /// Have a Golem make a Replicant: a child with a task, a share of its budget and an end
    #[command(after_help = "Examples:
  bardo golem replicate --data ~/.bardo/golem --name scout --task scout.md --budget 50 --for 3d --rpc URL --key-file owner.key
  bardo golem replicate --data ~/.bardo/golem --name scout --rpc URL --key-file owner.key

The task is written as STRATEGY.md is. The Golem's process makes it: in Thriving only, by a grant within its own, for a key that is born in
a process of the child's. Where the Golem does not run, or sleeps, it waits for that. Your one transaction pays gas money to the child's
key. The second form goes on with one that is there, and says how it is.

A child spends its share and not a dollar more, and what it spends counts as its parent's, too. It ends with its time, and with whatever
ends its parent's grant: a revocation, a death, another key, a Feed. A child has no children. Exit status 1 where it is not made, also
where it waits for that.")]
    Replicate(ReplicateArgs),

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
    /// A WebSocket that tells of the chain's new blocks [default: the chain file's, or that of an RPC on this machine]
    #[arg(long, value_name = "URL", value_parser = socket)]
    pub(crate) ws: Option<Url>,
    /// Local mode: file whose first line is the password of the Golem's key [default: it is asked for]
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Tell its events to programs of this machine there, at /v1/events: an address such as 127.0.0.1:7700; port 0 is any
    #[arg(long, value_name = "ADDRESS", value_parser = loopback)]
    pub(crate) events: Option<SocketAddr>,
    /// Ask you before it spends more than so many micro-dollars at once [default: ask-above in golem.toml, or never]
    #[arg(long, value_name = "MICRO-DOLLARS")]
    pub(crate) ask_above: Option<u64>,
    /// How long your answer counts [default: answer-within in golem.toml, or 1d]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) answer_within: Option<Duration>,
    /// Most that each of its transactions may cost, in wei, with what a rollup charges for its data
    /// [default: that of the chain's file, or 0.005 ether]
    #[arg(long, value_name = "WEI")]
    pub(crate) fee_ceiling: Option<U256>,
    /// The folder is a Replicant's: what its parent's process starts
    #[arg(long, conflicts_with = "events")]
    pub(crate) replicant: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// What it asks, by its id
    #[arg(value_name = "ID", value_parser = input::word)]
    pub(crate) id: B256,
    /// The Golem's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Ask the chain what time it is, where that is a chain to play with
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    pub(crate) rpc: Option<Url>,
    /// Your key
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReplicateArgs {
    /// The parent's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// What you call it: small letters, digits and dashes
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) name: String,
    /// What it is to do, as in STRATEGY.md
    #[arg(long, value_name = "FILE", requires_all = ["budget", "life"])]
    pub(crate) task: Option<PathBuf>,
    /// What it may spend in its whole life, in dollars
    #[arg(long, value_name = "DOLLARS", value_parser = dollars, requires = "task")]
    pub(crate) budget: Option<u64>,
    /// How long it lives, such as 3d or 12h
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration, requires = "task")]
    pub(crate) life: Option<Duration>,
    /// How often it may act at most [default: as often as its budget lasts]
    #[arg(long, value_name = "N", requires = "task")]
    pub(crate) calls: Option<NonZeroU64>,
    /// How often it looks up [default: as its parent's HEARTBEAT.md says]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, requires = "task")]
    pub(crate) every: Option<Duration>,
    /// Gas money for its key, in wei [default: 0.01 ether]
    #[arg(long, value_name = "WEI", value_parser = super::whole)]
    pub(crate) stipend: Option<U256>,
    #[command(flatten)]
    pub(crate) send: SendArgs,
    /// Your key
    #[command(flatten)]
    pub(crate) key: KeyArgs,
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
    /// What its id was made from, with your address, if a policy is to be published [default: as golem.toml says, or zero]
    #[arg(long, value_name = "HEX32", value_parser = input::word)]
    pub(crate) salt: Option<B256>,
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
#[group(id = "limits", required = true, multiple = true, args = ["cap", "slippage_bps", "days"])]
pub(crate) struct AdjustArgs {
    /// The Golem's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Most that it spends in a period of its charter, in micro-dollars
    #[arg(long, value_name = "MICRO-DOLLARS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) cap: Option<u64>,
    /// Most that a swap may lose against the price feeds, in basis points, 0 to 10000
    #[arg(long, value_name = "BPS", value_parser = clap::value_parser!(u16).range(0..=10_000))]
    pub(crate) slippage_bps: Option<u16>,
    /// How long from now it lasts, 1 to 366: sooner over than before, or later
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(1..=366))]
    pub(crate) days: Option<u64>,
    /// What its id was made from, with your address, if a policy is to be published [default: as golem.toml says, or zero]
    #[arg(long, value_name = "HEX32", value_parser = input::word)]
    pub(crate) salt: Option<B256>,
    #[command(flatten)]
    pub(crate) send: SendArgs,
    /// Your key
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

#[derive(Debug, Args)]
#[group(id = "way", required = true, args = ["print_request", "take"])]
pub(crate) struct RunwayArgs {
    /// The Golem's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Only print what to ask your wallet for
    #[arg(long)]
    pub(crate) print_request: bool,
    /// What your wallet answered, in any form
    #[arg(long, value_name = "FILE")]
    pub(crate) take: Option<PathBuf>,
    /// How much a day, in base units of the charter's settlement asset [default: 10000000, which is 10 USDC]
    #[arg(long, value_name = "AMOUNT", value_parser = super::whole, requires = "print_request")]
    pub(crate) per_day: Option<U256>,
    /// For how long, 1 to 366 [default: 7]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(1..=366), requires = "print_request")]
    pub(crate) days: Option<u64>,
    /// The only one it may pay [default: anybody]
    #[arg(long, value_name = "ADDRESS", value_parser = input::address, requires = "print_request")]
    pub(crate) payee: Option<Address>,
    /// Also more than 100 USDC a day, for longer than 90 days, or of another coin
    #[arg(long)]
    pub(crate) runway_beyond_limits: bool,
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

/// A name that is one of a folder, too, and of nothing above it.
fn name(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=32).contains(&text.len()) && text.bytes().all(fits) && !text.starts_with('-') {
        Ok(text.to_owned())
    } else {
        Err("not a name of up to 32 small letters, digits and dashes".to_owned())
    }
}

/// Dollars and cents, in micro-dollars.
fn dollars(text: &str) -> Result<u64, String> {
    let wrong = || "not dollars, as in 50 or 12.50".to_owned();
    let plain = text.strip_prefix('$').unwrap_or(text);
    let (whole, cents) = plain.split_once('.').unwrap_or((plain, "00"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(cents) || cents.len() != 2 {
        return Err(wrong());
    }
    let (whole, cents): (u64, u64) =
        (whole.parse().map_err(|_error| wrong())?, cents.parse().map_err(|_error| wrong())?);
    let micro = whole.checked_mul(1_000_000).and_then(|sum| sum.checked_add(cents * 10_000));
    micro.ok_or_else(wrong)
}
