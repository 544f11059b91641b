use clap::ValueEnum;

/// What of the demo can be seen by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoPart {
    /// Grant, swap, attack and revoke.
    Grants,
    /// A Golem from its first tick to its settlement.
    Life,
}
