//! The binary as a person meets it: its words, its exit status, its processes.

#![expect(clippy::indexing_slicing, reason = "helpers of tests may fail loudly")]

mod caveat;
mod blast_radius;
mod command;
mod delegation;
mod demo;
mod deploy;
mod habits;
mod inspect;
mod permission;
mod revocation;
mod up;
