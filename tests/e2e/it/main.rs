//! Whole-stack tests against the real contracts on a local chain.

mod chain;
mod kit;
mod slice;
