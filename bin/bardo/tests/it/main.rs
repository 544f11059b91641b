//! The binary as a person meets it: its words, its exit status, its processes.

#![expect(clippy::indexing_slicing, reason = "helpers of tests may fail loudly")]

mod audit;
mod bequest;
mod blast_radius;
mod caveat;
mod chains;
mod command;
mod delegation;
mod demo;
mod deploy;
mod golem;
mod habits;
mod identity;
mod inspect;
mod onboard;
mod permission;
mod registry;
mod report;
mod revocation;
mod status;
mod up;
mod vault;
