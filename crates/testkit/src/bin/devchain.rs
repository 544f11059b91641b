//! Builds the state of the local chain into `.devchain/`. Quick when nothing changed.

use anyhow::{Context, Result};
use std::{
    env,
    io::{IsTerminal, Write, stderr},
    time::Instant,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let root = env::current_dir().context("no current folder")?;
    let begun = Instant::now();
    let terminal = stderr().is_terminal();
    let built = bardo_testkit::devchain::build(&root, |stage| {
        if terminal {
            // Progress is a courtesy; a closed terminal must not stop the build.
            let _ = write!(stderr(), "\r\x1b[Kdevchain: {stage}");
        }
    })
    .await?;
    if terminal {
        let _ = write!(stderr(), "\r\x1b[K");
    }
    let word = if built { "built" } else { "up to date" };
    writeln!(stderr(), "devchain: {word} ({:.1} s)", begun.elapsed().as_secs_f32())?;
    Ok(())
}
