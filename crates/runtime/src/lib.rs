#![doc = include_str!("../README.md")]

mod event;
mod fabric;
mod golem;
mod heartbeat;
mod life;
mod mood;
mod rhythm;
mod strategist;
mod strategy;
mod stream;
mod sustenance;
mod told;
mod vitality;
mod wish;

pub use event::{DeathTrigger, EventKind, GolemEvent, ObservingCause, Origin, RevocationReason};
pub use fabric::{Fabric, FabricError, Start, Subscription};
pub use golem::{Documents, Golem, Outcome, Provisions, WakeError, Waking};
pub use heartbeat::{TickError, Ticked};
pub use life::Life;
pub use mood::{Felt, feel};
pub use rhythm::{Dreams, Pace, Rhythm, RhythmError};
pub use strategist::{Counsel, Dca, Held, Model, Rebalance, Strategist, Thought, Wish, World};
pub use strategy::{Strategy, StrategyError};
pub use stream::{LAG_BOUND, router};
pub use sustenance::Inbox;
pub use told::Told;
pub use vitality::{Clocks, Economy, Experience, THRESHOLDS, WHOLE, chance, phase_of};
