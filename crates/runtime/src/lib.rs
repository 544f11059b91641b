#![doc = include_str!("../README.md")]

// Events.
mod event;
mod fabric;
mod stream;
mod told;
pub use event::{DeathTrigger, EventKind, GolemEvent, ObservingCause, Origin, RevocationReason};
pub use fabric::{Fabric, FabricError, Start, Subscription};
pub use stream::{LAG_BOUND, router};
pub use told::Told;
