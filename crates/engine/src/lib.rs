//! The load engine: a plan in, events out.
//!
//! One module per step of that way: [`plan`] says what to do, [`ranks`] who does it, [`workload`] which
//! operations, [`storage`] how, [`measure`] what it cost, [`output`] where that is written. [`workspace`] guards
//! the user's data and [`beneath`] keeps files within it, [`cache`] empties and measures the page cache,
//! [`rank_set`] is who does the I/O: ranks that are [`forked`], or those that a launcher has started ([`launched`]), [`exit`] how it ends,
//! [`stdio`] is how anything is printed, [`compiled`] has C code compiled by the site's own compilers. [`survey`] looks at nodes before anything is measured there.
//! [`facts`] are those that the control plane goes by too.
//!
//! How to add a storage API, an order, a doubt: `docs/development/engine.md`.

#![deny(clippy::print_stderr, clippy::print_stdout, reason = "they panic where nothing can be written: see `stdio`")]

pub mod beneath;
pub mod cache;
pub mod case;
pub mod command;
pub mod compiled;
pub mod exit;
pub mod facts;
pub mod failure;
pub mod forked;
pub mod hosts;
pub mod latencies;
pub mod launched;
pub mod measure;
pub mod output;
pub mod plan;
pub mod rank_set;
pub mod ranks;
pub mod refusal;
pub mod stdio;
pub mod storage;
pub mod supervise;
pub mod survey;
pub mod work;
pub mod workload;
pub mod workspace;
