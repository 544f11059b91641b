//! Whole-stack tests against the real contracts on a local chain.

mod attenuation;
mod books;
mod budget;
mod bundles;
mod cage;
mod chain;
mod charter;
mod embedded;
mod field;
mod foresight;
mod gas;
mod identity;
mod kit;
mod lane;
mod limits;
mod onboard;
mod operations;
mod owners;
mod raw;
mod repository;
mod safety;
mod slice;
mod terms;
mod thief;
mod trees;
mod watch;
