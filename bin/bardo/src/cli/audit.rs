use super::endpoint;
use crate::input;
use alloy::primitives::{Address, B256};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use url::Url;

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Find and locate whatever was changed, removed, moved or cut in a Golem's audit log
    #[command(after_help = "Examples:
  bardo audit verify --data ~/.bardo/golem --rpc URL
  bardo audit verify --file audit.jsonl --golem 0x… --rpc URL --json

A log by itself shows what was changed inside of it. That its end was cut off shows against seals and against the chain; that all of
it was written anew by the holder of its key, against the chain alone: give --rpc. Whose log it is only you know: one that was written
anew may say that it is of another Golem, of which the chain knows what its writer wants. Give --golem, as `bardo onboard` said it.
A running Golem's log can be read. Exit status 1 where the log is damaged, is of another Golem, or where the chain was asked and has
heartbeats of which none is of a record, or does not know the Golem at all. One that is on the register and had no heartbeat yet is
young: there is nothing that its log could lack.")]
    Verify(AuditVerifyArgs),

    /// Write a Golem's audit log as JSON Lines
    #[command(after_help = "Example:
  bardo audit export --data ~/.bardo/golem --out audit.jsonl

One record a line, then its seals, then how it ends. A running Golem's log can be read. Nothing is verified on the way.")]
    Export(AuditExportArgs),
}

/// A log, in one form or the other.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct LogArgs {
    /// A log as `bardo audit export` wrote it; `-` is standard input
    #[arg(long)]
    pub(crate) file: Option<PathBuf>,
    /// The folder of a Golem's store
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    /// Whose log it has to be [default: as golem.toml beside --data says, or the log itself]
    #[arg(long, value_name = "GOLEM_ID", value_parser = input::word)]
    pub(crate) golem: Option<B256>,
    /// JSON-RPC endpoint of the chain where its heads are anchored
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    pub(crate) rpc: Option<Url>,
    /// First block to look for anchors in
    #[arg(long, value_name = "BLOCK", default_value_t = 0, requires = "rpc")]
    pub(crate) from_block: u64,
    /// Count seals of this key alone; may be given for each key the Golem had
    #[arg(long = "signer", value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) signers: Vec<Address>,
}

#[derive(Debug, Args)]
pub(crate) struct AuditExportArgs {
    /// The folder of a Golem's store
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Write to a new file [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
