//! The little of `cargo metadata` that the checks need.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: String,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a normal dependency, as cargo writes it.
    pub(crate) kind: Option<String>,
    #[serde(default)]
    pub(crate) features: Vec<String>,
}

impl Metadata {
    /// Reads the graph from the lock file without touching a registry.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let text = cargo(root, &["metadata", "--offline", "--locked", "--format-version", "1"])?;
        serde_json::from_str(&text).context("parse cargo metadata")
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|p| self.workspace_members.contains(&p.id))
    }
}

/// Runs the cargo that runs us and gives its standard output.
pub(crate) fn cargo(root: &Path, args: &[&str]) -> Result<String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program)
        .args(args)
        .current_dir(root)
        .output()
        .with_context(|| format!("start cargo {}", args.join(" ")))?;
    if !output.status.success() {
        bail!("cargo {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).context("read cargo's output as UTF-8")
}
