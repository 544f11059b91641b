use super::KeyArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum BequestCommand {
    /// Open what a dead Golem left you: its testament, its memories, its audit log
    #[command(after_help = "Examples:
  bardo bequest open ~/.bardo/golem/legacy/0x….bequest --key-file owner.key --out legacy
  bardo bequest open 0x….bequest --keystore owner.json --json

It was sealed for the key that signed the Golem's grant, and opens with no other. With --out it is written as TESTAMENT.md,
audit.jsonl and memories.jsonl into a folder, where nothing is overwritten. The audit log inside is verified by itself; whether the
Golem wrote it the chain says: `bardo audit verify --file audit.jsonl --rpc URL`. Exit status 1 where it is for another key, was
changed, or is damaged inside; then nothing is written.")]
    Open(BequestOpenArgs),
}

#[derive(Debug, Args)]
pub(crate) struct BequestOpenArgs {
    /// The sealed file
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Write what is in it into this folder, which is made where it is missing
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
