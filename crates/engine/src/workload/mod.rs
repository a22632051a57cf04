//! From a plan to a stream of operations, deterministic from its seed.
//!
//! Not here: system calls, clocks, printing. How to add an order or a layout:
//! `docs/development/engine.md`.

pub mod buffer;
pub mod c_library;
#[cfg(test)]
pub mod given;
pub mod ior_shuffle;
pub mod layout;
pub mod payload;
pub mod permutation;
pub mod random;
pub mod replay;
pub mod tree;
pub mod walk;
