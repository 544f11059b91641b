#![doc = include_str!("../README.md")]

mod denial;

pub use denial::{Denial, DenialCode};
