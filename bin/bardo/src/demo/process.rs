//! A Golem as a process of its own: `bardo golem run`, and what it says.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};
use tokio::{
    sync::mpsc::{self, UnboundedReceiver},
    time::timeout,
};
use url::Url;

/// Longer than a tick takes; who waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A Golem that runs. Dropping it ends the process.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    lines: UnboundedReceiver<Value>,
    /// What it said while its children were listened to, and what they said while it was.
    own: VecDeque<Value>,
    childrens: VecDeque<Value>,
}

impl Process {
    pub(super) fn start(data: &Path, rpc: &Url, password: &Path) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["golem", "run", "--json", "--rpc", rpc.as_str(), "--data"])
            .arg(data)
            .arg("--password-file")
            .arg(password)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let said = BufReader::new(child.stdout.take().context("no output")?);
        let (tell, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                let Ok(value) = serde_json::from_str(&line) else { continue };
                if tell.send(value).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, lines, own: VecDeque::new(), childrens: VecDeque::new() })
    }

    /// The next line that has one of these fields.
    pub(super) async fn says(&mut self, fields: &[&str]) -> Result<Value> {
        loop {
            let line = match self.own.pop_front() {
                Some(line) => line,
                None => self.hears(fields).await?,
            };
            if line.get("replicant").is_some() {
                self.childrens.push_back(line);
                continue;
            }
            // On a chain that answers nothing should fail.
            if let Some(fault) = line.get("fault").and_then(Value::as_str) {
                bail!("the Golem said: {fault}");
            }
            if fields.iter().any(|field| line.get(field).is_some()) {
                return Ok(line);
            }
        }
    }

    async fn hears(&mut self, fields: &[&str]) -> Result<Value> {
        let line = timeout(PATIENCE, self.lines.recv()).await;
        let line = line.with_context(|| format!("the Golem did not say {fields:?}"))?;
        line.context("the Golem's process ended")
    }

    /// The next line of a child's that has one of these fields.
    pub(super) async fn relays(&mut self, fields: &[&str]) -> Result<Value> {
        loop {
            let line = match self.childrens.pop_front() {
                Some(line) => line,
                None => self.hears(fields).await?,
            };
            if line.get("replicant").is_none() {
                self.own.push_back(line);
                continue;
            }
            let said = line.get("says").cloned().unwrap_or_default();
            if fields.iter().any(|field| said.get(field).is_some()) {
                return Ok(said);
            }
        }
    }

    /// Asks it to stop, between two ticks.
    pub(super) async fn stop(mut self) -> Result<()> {
        let id = self.child.id().to_string();
        ensure!(Command::new("kill").args(["-TERM", &id]).status()?.success(), "no such process");
        self.says(&["ended"]).await?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended already is no loss.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
