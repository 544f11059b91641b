//! The long run: random redemptions at random times, judged by a model that knows the grant.
//!
//! `soak hold` starts a chain, prints its guard's process id and waits: for the test that kills it.

use anyhow::{Result, bail};
use bardo_testkit::root;
use golem_chain::local::{LocalChain, LocalFiles};
use std::io::{Write, stdin, stdout};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("hold") => hold(),
        _ => bail!("usage: soak hold"),
    }
}

fn hold() -> Result<()> {
    let chain = LocalChain::start(&LocalFiles::at(root()))?;
    writeln!(stdout(), "{}", chain.pid())?;
    stdin().read_line(&mut String::new())?;
    Ok(())
}
