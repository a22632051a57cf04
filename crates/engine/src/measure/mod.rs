//! Samples, phase records and doubts.
//!
//! Not here: formatting, statistics across runs, clocks and counters of the kernel (crate `ioassay-host`).

pub mod doubts;
pub mod node;
pub mod phase;
pub mod recorder;
pub mod records;
