#![doc = include_str!("../README.md")]

mod mood;
mod rhythm;
mod strategist;
mod strategy;
mod vitality;

pub use mood::{Felt, feel};
pub use rhythm::{Dreams, Pace, Rhythm, RhythmError};
pub use strategist::{Counsel, Dca, Held, Model, Rebalance, Strategist, Thought, Wish, World};
pub use strategy::{Strategy, StrategyError};
pub use vitality::{Clocks, Economy, Experience, THRESHOLDS, WHOLE, chance, phase_of};
