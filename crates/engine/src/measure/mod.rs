//! Clocks, histograms, samples, phase records and doubts.
//!
//! Not here: formatting, statistics across runs, system calls other than reading the clock.

pub mod clock;
pub mod doubts;
pub mod histogram;
pub mod node;
pub mod phase;
pub mod recorder;
#[cfg(test)]
pub mod records;
pub mod usage;
