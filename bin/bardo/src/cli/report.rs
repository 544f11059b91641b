use super::endpoint;
use clap::Args;
use std::path::PathBuf;
use url::Url;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The Golem's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// JSON-RPC endpoint of its chain
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    pub(crate) rpc: Url,
    /// First block to look in
    #[arg(long, value_name = "BLOCK", default_value_t = 0)]
    pub(crate) from_block: u64,
    /// Where the page is written; what was there is replaced
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
}
