use anyhow::{Context, Result};
use serde_json::Value;
use std::{
    ffi::OsStr,
    io::Write,
    process::{Command, Stdio},
};

/// What `bardo` answered.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout).with_context(|| format!("not JSON: {self:?}"))
    }
}

/// Runs `bardo` with empty input.
pub(crate) fn bardo<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Result<Ran> {
    bardo_with("", words)
}

/// Runs `bardo` with `input` on standard input.
pub(crate) fn bardo_with<S: AsRef<OsStr>>(
    input: &str,
    words: impl IntoIterator<Item = S>,
) -> Result<Ran> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bardo"))
        .args(words)
        .current_dir(bardo_testkit::root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // A command that refuses its words does not wait for input.
    let _ = child.stdin.take().context("no input")?.write_all(input.as_bytes());
    let output = child.wait_with_output()?;
    Ok(Ran {
        code: output.status.code().context("killed")?,
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}
