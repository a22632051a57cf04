//! The load engine: a plan in, events out.
//!
//! One module per step of that way: [`plan`] says what to do, [`ranks`] who does it, [`workload`] which
//! operations, [`storage`] how, [`measure`] what it cost, [`output`] where that is written. [`workspace`] guards
//! the user's data, [`cache`] empties and measures the page cache, [`environment`] describes the node.

pub mod cache;
pub mod case;
pub mod command;
pub mod environment;
pub mod failure;
pub mod frontends;
pub mod hosts;
pub mod measure;
pub mod output;
pub mod plan;
pub mod ranks;
pub mod storage;
pub mod supervise;
pub mod workload;
pub mod workspace;
