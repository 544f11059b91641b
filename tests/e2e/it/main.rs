//! Whole-stack tests against the real contracts on a local chain.

mod bundles;
mod chain;
mod charter;
mod gas;
mod kit;
mod repository;
mod slice;
mod thief;
