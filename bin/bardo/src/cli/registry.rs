use super::{KeyArgs, NodeArgs, SendArgs};
use crate::input;
use alloy::primitives::{Address, B256};
use clap::{Args, Subcommand};
use golem_custody::Mood;
use golem_delegation::grant::Phase;

#[derive(Debug, Subcommand)]
pub(crate) enum RegistryCommand {
    /// Put a Golem of yours on the register
    #[command(after_help = "Examples:
  bardo registry register --rpc URL --salt 0x… --agent-key 0x… --key-file owner.key
  bardo registry register --rpc URL --salt 0x… --keystore owner.json --json

A Golem's id is made from the owner's address and the salt. Once registered it cannot be registered again.")]
    Register(RegisterArgs),

    /// Let another key speak for your Golem; the one before is out
    #[command(
        after_help = "Example:\n  bardo registry attach GOLEM-ID --rpc URL --agent-key 0x… --key-file owner.key"
    )]
    Attach(AttachArgs),

    /// Move your Golem's phase forward
    #[command(
        after_help = "Example:\n  bardo registry advance GOLEM-ID --rpc URL --phase conservation --key-file owner.key"
    )]
    Advance(PhaseArgs),

    /// Move your Golem's phase back to Thriving or Stable, never from Terminal
    #[command(
        after_help = "Example:\n  bardo registry feed GOLEM-ID --rpc URL --phase 1 --key-file owner.key"
    )]
    Feed(PhaseArgs),

    /// Fall asleep or wake up, by the agent's key
    #[command(
        after_help = "Example:\n  bardo registry dream GOLEM-ID --rpc URL --on --keystore session.json --password-file pw"
    )]
    Dream(DreamArgs),

    /// Say how the Golem feels, by the agent's key
    #[command(
        after_help = "Example:\n  bardo registry pad GOLEM-ID -20 60 0 --rpc URL --keystore session.json --password-file pw"
    )]
    Pad(PadArgs),

    /// Report phase and survival score, by the agent's key
    #[command(
        after_help = "Example:\n  bardo registry vitality GOLEM-ID --rpc URL --phase stable --score 7200 --keystore session.json"
    )]
    Vitality(VitalityArgs),

    /// Say what the registry knows of a Golem, and how old that is
    #[command(after_help = "Examples:
  bardo registry status GOLEM-ID --rpc URL
  bardo registry status GOLEM-ID --rpc URL --staleness 86400 --json

Exit status 1 where it is not on the register. Phase, score, dreams and mood are the word of whoever holds the agent's key.")]
    Status(StatusArgs),
}

/// Which Golem, and by whose key.
#[derive(Debug, Args)]
pub(crate) struct GolemArgs {
    /// The Golem
    #[arg(value_name = "GOLEM_ID", value_parser = input::word)]
    pub(crate) golem: B256,
    #[command(flatten)]
    pub(crate) send: SendArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RegisterArgs {
    /// 32 bytes of your choice, another for each Golem
    #[arg(long, value_name = "HEX32", value_parser = input::word)]
    pub(crate) salt: B256,
    /// The key that speaks for it [default: none yet]
    #[arg(long, value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) agent_key: Option<Address>,
    #[command(flatten)]
    pub(crate) send: SendArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    #[command(flatten)]
    pub(crate) on: GolemArgs,
    /// The key
    #[arg(long, value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) agent_key: Address,
}

#[derive(Debug, Args)]
pub(crate) struct PhaseArgs {
    #[command(flatten)]
    pub(crate) on: GolemArgs,
    /// thriving, stable, conservation, declining or terminal; or 0 to 4
    #[arg(long, value_name = "PHASE", value_parser = phase)]
    pub(crate) phase: Phase,
}

#[derive(Debug, Args)]
#[group(id = "sleep", required = true, multiple = false, args = ["asleep", "awake"])]
pub(crate) struct DreamArgs {
    #[command(flatten)]
    pub(crate) on: GolemArgs,
    /// Fall asleep
    #[arg(long = "on")]
    pub(crate) asleep: bool,
    /// Wake up
    #[arg(long = "off")]
    pub(crate) awake: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PadArgs {
    #[command(flatten)]
    pub(crate) on: GolemArgs,
    /// Pleasure, -100 to 100
    #[arg(value_name = "P", allow_negative_numbers = true, value_parser = clap::value_parser!(i8).range(-100..=100))]
    pub(crate) pleasure: i8,
    /// Arousal, -100 to 100
    #[arg(value_name = "A", allow_negative_numbers = true, value_parser = clap::value_parser!(i8).range(-100..=100))]
    pub(crate) arousal: i8,
    /// Dominance, -100 to 100
    #[arg(value_name = "D", allow_negative_numbers = true, value_parser = clap::value_parser!(i8).range(-100..=100))]
    pub(crate) dominance: i8,
}

impl PadArgs {
    pub(crate) const fn mood(&self) -> Mood {
        Mood { pleasure: self.pleasure, arousal: self.arousal, dominance: self.dominance }
    }
}

#[derive(Debug, Args)]
pub(crate) struct VitalityArgs {
    #[command(flatten)]
    pub(crate) on: GolemArgs,
    /// thriving, stable, conservation, declining or terminal; or 0 to 4. Never an earlier one
    #[arg(long, value_name = "PHASE", value_parser = phase)]
    pub(crate) phase: Phase,
    /// Survival score, 0 to 10000
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=10_000))]
    pub(crate) score: u16,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The Golem
    #[arg(value_name = "GOLEM_ID", value_parser = input::word)]
    pub(crate) golem: B256,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// A charter's staleness bound, to say which phase it counts
    #[arg(long, value_name = "SECONDS")]
    pub(crate) staleness: Option<u64>,
}

/// A phase by its name in any case, or by its number.
pub(super) fn phase(text: &str) -> Result<Phase, String> {
    let named = (0..).zip(Phase::ALL).find(|(number, phase): &(u8, Phase)| {
        text.eq_ignore_ascii_case(&format!("{phase:?}")) || text == number.to_string()
    });
    let phase = named.map(|(_, phase)| phase);
    phase
        .ok_or_else(|| "no phase: thriving, stable, conservation, declining or terminal".to_owned())
}
