//! The binary as a person meets it: its words, its exit status, its processes.

mod command;
mod delegation;
mod demo;
mod deploy;
mod habits;
mod revocation;
mod up;
