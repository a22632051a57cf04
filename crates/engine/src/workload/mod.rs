//! From a plan to a stream of operations, deterministic from its seed.
//!
//! Not here: system calls, clocks, printing. Kinds of work, which are made of these, are in [`crate::work`]. How to add an
//! order or a layout: `docs/development/engine.md`.

pub mod buffer;
pub mod c_library;
pub mod checkpoint;
pub mod container;
pub mod dataset;
#[cfg(test)]
pub mod given;
pub mod ior_shuffle;
pub mod layout;
pub mod payload;
pub mod permutation;
pub mod random;
pub mod step_times;
pub mod tree;
pub mod walk;
