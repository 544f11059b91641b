//! `bardo`: give an agent a key that can act for you, see what it may do, and stop it.
//!
//! Standard output is the answer, standard error the talk. Exit status: 0 yes, 1 a refusal, 2 wrong
//! use, 3 a fault.

mod answer;
mod cli;
mod commands;
mod demo;
mod input;
mod prose;
mod report;

use answer::{Answer, Failure};
use clap::Parser;
use cli::{
    CaveatCommand, ChainsArgs, ChainsCommand, Cli, Command, DelegationCommand, PermissionCommand,
    SessionCommand,
};
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    answer::redact_panics();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return answer::misused(&error),
    };
    // Before anything reads a key.
    let result = match golem_custody::harden_process() {
        Ok(()) => run(cli.command, cli.json).await,
        Err(error) => Err(error.into()),
    };
    answer::finish(result, cli.json)
}

async fn run(command: Command, json: bool) -> Result<Answer, Failure> {
    match command {
        Command::Audit(command) => commands::audit(&command).await,
        Command::Bequest(command) => commands::bequest(&command),
        Command::Caveat(CaveatCommand::Encode(args)) => commands::caveat_encode(&args),
        Command::Caveat(CaveatCommand::Decode(args)) => commands::caveat_decode(&args),
        Command::Caveat(CaveatCommand::Kinds) => Ok(commands::caveat_kinds()),
        Command::Chains(ChainsArgs { command: None }) => commands::chains::list(),
        Command::Chains(ChainsArgs { command: Some(ChainsCommand::Check(args)) }) => {
            commands::chains::check(&args).await
        }
        Command::Completions { shell } => commands::completions(shell),
        Command::Delegation(DelegationCommand::Hash { file }) => commands::hash(&file),
        Command::Delegation(DelegationCommand::BlastRadius(args)) => {
            commands::blast_radius(&args).await
        }
        Command::Delegation(DelegationCommand::Status(args)) => commands::status(&args).await,
        Command::Delegation(DelegationCommand::Sign(args)) => commands::sign(&args),
        Command::Delegation(DelegationCommand::Verify(args)) => commands::verify(&args),
        Command::Delegation(DelegationCommand::Attenuates(args)) => commands::attenuates(&args),
        Command::Delegation(DelegationCommand::Explain { file }) => commands::explain(&file),
        Command::Delegation(DelegationCommand::Tree(args)) => commands::tree(&args),
        Command::Delegation(DelegationCommand::Simulate(args)) => {
            commands::simulate(&args).await.map_err(Failure::undecided)
        }
        Command::Delegation(DelegationCommand::Redeem(args)) => commands::redeem(&args).await,
        Command::Delegation(DelegationCommand::Revoke(args)) => commands::revoke(&args).await,
        Command::Demo { only, stay } => demo::run(only, stay, json).await,
        Command::Deploy(args) => commands::deploy(&args).await,
        Command::Golem(command) => commands::golem(&command, json).await,
        Command::Identity(command) => commands::identity(&command).await,
        Command::Onboard(args) => commands::onboard(&args).await,
        Command::Permission(PermissionCommand::Explain(args)) => {
            commands::permission::explain(&args)
        }
        Command::Permission(PermissionCommand::Health(args)) => commands::permission::health(&args),
        Command::Registry(command) => commands::registry(&command).await,
        Command::Session(SessionCommand::New(secret)) => commands::session_new(&secret),
        Command::Session(SessionCommand::Show(secret)) => commands::session_show(&secret),
        Command::Up => commands::up(json).await,
        Command::Vault(command) => commands::vault(&command).await,
        Command::Wallet(command) => commands::wallet(&command).await,
    }
}
