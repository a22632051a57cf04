//! Plug-ins in C: storage APIs that are compiled on the site and loaded when a plan names them.
//!
//! The header `plugins/storage/ioassay_storage.h` says what they must do; [`sources`] are those that come with the
//! engine. What a plug-in says and returns is believed only as far as it can be checked: a count of bytes that nobody
//! asked for is an error.
//! Not here: compiling ([`crate::compiled`]).

mod abi;
mod connection;
mod library;
mod names;
pub mod options;
pub mod sources;

use std::io;
use std::path::Path;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::Plan;
use ioassay_protocol::plan::storage::{Storage, Target};

use self::connection::Connected;
pub use self::library::Plugin;
use super::{Capabilities, Connection, NameCapabilities, Setup, StorageApi, Unfit, WrongOption};
use crate::failure;

/// The plug-in at `path`, loaded if it is not yet.
///
/// # Errors
/// If it is missing, no plug-in, or one for another version of the header.
pub fn load(path: &Path) -> Result<&'static Plugin, Unfit> {
    library::load(path)
}

/// Loads the plug-ins of `plan`, in a process that has not done so because another one validated it.
///
/// # Errors
/// As [`load`].
pub fn load_all(plan: &Plan) -> Result<(), Failure> {
    let of_jobs = plan.jobs().map(|job| plan.storage_of(job));
    let paths = of_jobs.chain([&plan.storage]).filter_map(|storage| storage.plugin.as_deref());
    for path in paths {
        load(path).map_err(|unfit| failure::about_path("load", path, unfit.problem, &unfit.valid))?;
    }
    Ok(())
}

/// The plug-in called `name`, if a plan has named it before.
pub(super) fn loaded(name: &str) -> Option<&'static dyn StorageApi> {
    library::loaded(name).map(|plugin| plugin as &dyn StorageApi)
}

impl Plugin {
    /// What it can do, by `bits` of the header.
    fn capabilities_by(bits: u64) -> Capabilities {
        let has = |capability: u64| bits & capability != 0;
        let names = NameCapabilities { directories: true, openat: false, mknod: false, rename: has(abi::RENAME) };
        Capabilities {
            files: has(abi::FILES),
            directories: true,
            shared_files: has(abi::SHARED_FILES),
            rewrites: has(abi::REWRITES),
            sync: has(abi::SYNC),
            sizes: has(abi::SIZES),
            names: has(abi::NAMES).then_some(names),
            needs_mpi: has(abi::NEEDS_MPI),
            collective_files: has(abi::COLLECTIVE_FILES),
            collective_transfers: has(abi::COLLECTIVE_TRANSFERS),
            ..Capabilities::NONE
        }
    }

    /// True if ranks must be MPI processes.
    pub fn needs_mpi(&self) -> bool {
        self.api.capabilities & abi::NEEDS_MPI != 0
    }
}

impl StorageApi for Plugin {
    fn name(&self) -> &'static str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        Self::capabilities_by(self.api.capabilities)
    }

    fn configured(&self, storage: &Storage, target: &Target) -> Result<Capabilities, WrongOption> {
        let values = options::values(self.name, &self.options, &storage.options)?;
        let bits = connection::configured(self, &values, target).map_err(|error| WrongOption {
            key: String::new(),
            problem: format!("{}: {error}", self.name),
            valid: "correct the option; `ioassay api list` describes all options".to_owned(),
        })?;
        Ok(Self::capabilities_by(bits))
    }

    fn connect(&self, setup: Setup<'_>) -> io::Result<Box<dyn Connection>> {
        Ok(Box::new(Connected::new(self, setup)?))
    }
}
