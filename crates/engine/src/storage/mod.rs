//! The storage APIs: how bytes reach storage.
//!
//! One file per API and one line in the [`registry`], or a [`plugin`] of the site's; [`api`] is what each of them must be.
//! The rest of the engine asks [`Capabilities`], never names.
//! `null` measures the engine itself; `skeleton` shows what each method must do.
//! Not here: timing, retries, policy.
//!
//! How to add one: `docs/development/engine.md`.

#![warn(missing_docs)]

mod api;
pub mod location;
mod memory;
mod mmap;
pub mod mpi;
pub mod names;
pub mod nfs;
mod null;
pub mod object;
pub mod plugin;
mod posix;
mod registry;
mod skeleton;
pub mod uncached;
mod uring;

use ioassay_protocol::plan::Plan;

pub use self::api::{
    Access, Capabilities, Connection, FinishedTransfer, InFlight, Members, NameCapabilities, OpenFile, Opening, Part,
    Parts, Range, RequestCounts, Setup, StorageApi, Unfit, WrongOption, move_all,
};
pub use self::registry::{all, all_names, by_name};

/// The storage API that a validated plan calls `name`: one of the engine's own, or a plug-in that was loaded then.
///
/// # Panics
/// If there is none.
pub fn of_plan(name: &str) -> &'static dyn StorageApi {
    by_name(name).or_else(|| plugin::loaded(name)).expect("validated: the storage API exists")
}

/// True if the jobs of a validated plan keep what they write, which all of them do or none.
pub fn keeps_files(plan: &Plan) -> bool {
    of_plan(&plan.storage.api).capabilities().files
}
