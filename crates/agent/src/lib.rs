//! `ioassay-agent`: one per node while jobs are watched. Once a second it reads the recorders' tables and the node's
//! counters, compares them with the contract, and gives documents to sinks.
//!
//! Not here: hooks, where rates are held (`crates/recorder`), what a document says (`ioassay_protocol::watch`).

pub mod agent;
pub mod clock;
pub mod delivery;
pub mod discovery;
pub mod jobs;
pub mod node;
pub mod phases;
pub mod processes;
pub mod registrations;
pub mod rules;
pub mod servers;
pub mod setup;
pub mod sinks;
pub mod spool;
pub mod tables;
pub mod usage;
pub mod wake;
