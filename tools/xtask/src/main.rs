//! Checks of the repository itself. `make help` lists the commands that call this one.
//!
//! Each check is a pure function over data it was given, with its tests beside it; only the thin `run`
//! functions read files or start programs.

mod artifacts;
mod deny;
mod generated_mutants;
mod layers;
mod ledger;
mod libtest;
mod longrun;
mod metadata;
mod mutants;
mod reports;
mod sources;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

/// Checks of the repository itself.
#[derive(Debug, Parser)]
#[command(name = "xtask", version, about)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// The crate graph only points in the direction ARCHITECTURE.md allows.
    Layers,
    /// Licences, banned crates and sources of everything we build, by the rules of deny.toml.
    Deny,
    /// Writes contracts/artifacts from forge's output.
    Artifacts {
        /// Compare only; fail when a committed artifact is stale, missing or orphaned.
        #[arg(long)]
        check: bool,
    },
    /// Every row of acceptance/*.toml was shown by this very run.
    Ledger,
    /// Prints `N passed, N failed` over all reports of this run.
    Totals,
    /// Prints what a `forge test --json` report says.
    ForgeReport {
        /// The report.
        file: PathBuf,
    },
    /// Runs the workspace's tests with libtest and writes nextest's report, for machines without nextest.
    LibtestJunit,
    /// Results of runs that are too long for `make check`.
    Longrun {
        #[command(subcommand)]
        action: longrun::Action,
    },
    /// Takes each defence out in turn and demands that its test notices.
    Mutants {
        /// Only patches whose file name contains this; the result is then not recorded.
        #[arg(long)]
        only: Option<String>,
    },
    /// Makes small mistakes in the contracts, by rule, and demands that a test notices each.
    GenMutants(generated_mutants::Options),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = std::io::stdout().lock();
    match run(cli.task, &mut out) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(fault) => {
            let _ = writeln!(std::io::stderr(), "xtask: {fault:#}");
            ExitCode::from(3)
        }
    }
}

/// Runs one task. `false` is a check that said no; an error is a check that could not be made.
fn run(task: Task, out: &mut dyn Write) -> Result<bool> {
    let root = repository_root()?;
    match task {
        Task::Layers => layers::run(&root, out),
        Task::Deny => deny::run(&root, out),
        Task::Artifacts { check } => artifacts::run(&root, check, out),
        Task::Ledger => ledger::run(&root, out),
        Task::Totals => reports::totals(&root, out),
        Task::ForgeReport { file } => reports::forge_report(&file, out),
        Task::LibtestJunit => libtest::run(&root, out),
        Task::Longrun { action } => longrun::run(&root, action, out),
        Task::Mutants { only } => mutants::run(&root, only.as_deref(), out),
        Task::GenMutants(options) => generated_mutants::run(&root, &options, out),
    }
}

/// Two folders above this crate; found at run time so that a moved clone keeps working.
fn repository_root() -> Result<PathBuf> {
    let here = std::env::current_dir().context("read the current folder")?;
    here.ancestors()
        .find(|folder| folder.join("Cargo.lock").is_file() && folder.join("tools/xtask").is_dir())
        .map(Path::to_path_buf)
        .context("find the repository: run this inside of it")
}

/// Prints each problem on a line of its own; `true` when there are none.
fn verdict(problems: &[String], out: &mut dyn Write) -> Result<bool> {
    for problem in problems {
        writeln!(out, "error: {problem}")?;
    }
    Ok(problems.is_empty())
}
