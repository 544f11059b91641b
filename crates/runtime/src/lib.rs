#![doc = include_str!("../README.md")]

mod approval;
mod bequest;
mod born;
mod clock;
mod crash;
mod dream;
mod earnings;
mod event;
mod fabric;
mod glance;
mod golem;
mod heartbeat;
mod inbox;
mod life;
mod mood;
mod notice;
mod owed;
mod replicant;
mod reserve;
mod rhythm;
mod runner;
mod strategist;
mod strategy;
mod stream;
mod sustenance;
mod testament;
mod thanatopsis;
mod told;
mod vitality;
mod wish;

pub use approval::{Aim, Pending};
pub use bequest::{
    Bundle, BundleError, MAX_BUNDLE_LINE, bequest_path, gather, keep_bequest, read_bundle,
};
pub use born::Born;
pub use clock::Clock;
pub use earnings::{Earnings, beyond, flow, gain, moved};
pub use event::{DeathTrigger, EventKind, GolemEvent, ObservingCause, Origin, RevocationReason};
pub use fabric::{Fabric, FabricError, Start, Subscription};
pub use glance::{Glance, GlanceError};
pub use golem::{Documents, Golem, Outcome, Provisions, WakeError, Waking};
pub use heartbeat::{TickError, Ticked};
pub use inbox::{FolderInbox, InboxError, SentRunway};
pub use life::{Keyed, Life};
pub use mood::{Felt, feel};
pub use owed::Owed;
pub use replicant::{
    Child, Errand, Inheritance, Introduced, MOST_REPLICANTS, Rearing, Replicant, Spawning, Stirred,
    Upbringing,
};
pub use reserve::{DeathReserve, death_gas, death_reserve};
pub use rhythm::{Dreams, Pace, Rhythm, RhythmError};
pub use runner::{Ending, Pulse};
pub use strategist::{Counsel, Dca, Held, Model, Rebalance, Strategist, Thought, Wish, World};
pub use strategy::{Strategy, StrategyError};
pub use stream::{LAG_BOUND, router};
pub use sustenance::Inbox;
pub use testament::{Deeds, LeftGrant, Lesson, Testament, Worth};
pub use thanatopsis::{DeathError, Dying, Passing};
pub use told::Told;
pub use vitality::{
    Clocks, Economy, Experience, THRESHOLDS, WHOLE, chance, kept_to_live, misjudged, phase_of,
    terminal_at,
};
