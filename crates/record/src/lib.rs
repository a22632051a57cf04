//! The format of a recorder's tables.
//!
//! A recorder inside an application writes one table for each image of a process (an image is what `exec` replaces). A
//! table is a [`table::Header`] and, after it, blocks: each begins with a [`table::Block`], which says of what kind it is and
//! how long. A file of tables is table after table, so that a finished process is kept by appending its table.
//!
//! * [`operation`]: the classes of calls that are counted.
//! * [`table`]: header and blocks, as they lie in memory and in the file.
//! * [`buckets`]: of latencies and of sizes.
//! * [`transfers`], [`maps`], [`seconds`], [`watched`], [`file_kind`], [`file_identity`], [`names`]: how all writers count, and
//!   what they call things.
//! * [`checksums`]: of tables that are kept, and [`damaged`]: what they say is damaged.
//! * [`read`]: tables out of bytes that nobody vouches for.
//! * [`rows`]: tables as arrays of their structures, as they are printed for other programs.
//! * [`trace`]: every call, in a few bytes.
//! * [`rings`]: what is in the memory of io_uring's rings, for all who read it.
//! * [`rules`]: what an agent has recorders count and hold back; [`patterns`] on which files, [`path_rules`] of how
//!   many paths, [`throttle`] to what rate.
//! * [`layout`]: declares a structure and describes it, for readers in other languages.
//!
//! Everything is little-endian, in the layout of C, and of plain integers: any bytes are a valid value. Readers of
//! other languages take the layouts from here (`make generate`).
//!
//! Not here: hooks, clocks, files. The recorder uses this crate inside other people's processes, so it needs neither the
//! standard library nor an allocator.

#![warn(missing_docs)]
#![cfg_attr(not(test), no_std)]

pub mod buckets;
pub mod checksums;
pub mod damaged;
pub mod file_identity;
pub mod file_kind;
pub mod layout;
pub mod maps;
pub mod names;
pub mod operation;
pub mod path_rules;
pub mod patterns;
pub mod read;
pub mod rings;
pub mod rows;
pub mod rules;
pub mod seconds;
pub mod sketch;
pub mod table;
pub mod throttle;
pub mod trace;
pub mod transfers;
pub mod watched;

#[cfg(not(target_endian = "little"))]
compile_error!("tables are little-endian, and are written as they lie in memory");
