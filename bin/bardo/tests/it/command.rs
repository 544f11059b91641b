use alloy::{
    primitives::{Address, B256, U256},
    providers::Provider,
};
use anyhow::{Context, Result};
use bardo_testkit::{STIPEND, Stage, fixed_signer};
use serde_json::Value;
use std::{
    ffi::OsStr,
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};
use tempfile::TempDir;

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
    run(Command::new(env!("CARGO_BIN_EXE_bardo")).args(words), input)
}

/// Runs `bardo` where `folder` has chain files of one's own.
pub(crate) fn bardo_knowing<S: AsRef<OsStr>>(
    folder: &Path,
    words: impl IntoIterator<Item = S>,
) -> Result<Ran> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bardo"));
    run(command.args(words).env("BARDO_CHAINS", folder), "")
}

fn run(command: &mut Command, input: &str) -> Result<Ran> {
    let mut child = command
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

/// A key in a file of its own.
pub(crate) struct Key {
    _folder: TempDir,
    pub(crate) file: String,
    pub(crate) address: Address,
}

impl Key {
    /// The key made of `byte`, always the same.
    pub(crate) fn kept(byte: u8) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("key");
        fs::write(&path, B256::repeat_byte(byte).to_string())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        let address = fixed_signer(byte)?.address();
        Ok(Self { file: path.display().to_string(), _folder: folder, address })
    }

    /// The same with gas money.
    pub(crate) async fn funded(stage: &Stage, byte: u8) -> Result<Self> {
        let key = Self::kept(byte)?;
        stage.fund(key.address, STIPEND * U256::from(4), U256::ZERO).await?;
        Ok(key)
    }

    /// How many transactions it has sent.
    pub(crate) async fn sent(&self, stage: &Stage) -> Result<u64> {
        Ok(stage.node().provider().get_transaction_count(self.address).await?)
    }
}
