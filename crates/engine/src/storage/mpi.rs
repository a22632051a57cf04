//! What storage APIs need of MPI, where ranks are MPI processes.
//!
//! MPI is a process's, once and for all, and so is this. Not here: starting MPI, and anything that calls it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Explained;

static IN_RANKS: AtomicBool = AtomicBool::new(false);

static COMMUNICATOR: OnceLock<i32> = OnceLock::new();

/// The ranks of this run are MPI processes, or will be. Said before a command line or a plan is read, also in a process
/// that is no rank itself.
pub fn announce() {
    IN_RANKS.store(true, Ordering::Relaxed);
}

/// This process is a rank and one of MPI's: `communicator`, a Fortran handle, is that of all ranks, in their order. Said
/// once, before the first phase.
pub fn joined(communicator: i32) {
    announce();
    let _ = COMMUNICATOR.set(communicator);
}

/// True where ranks are MPI processes, or will be.
pub fn in_ranks() -> bool {
    IN_RANKS.load(Ordering::Relaxed)
}

/// The communicator of all ranks, a Fortran handle, in a rank that is an MPI process.
pub fn communicator() -> Option<i32> {
    COMMUNICATOR.get().copied()
}

/// Why `api` cannot be used without.
pub fn missing(api: &str) -> Explained {
    Explained {
        what: format!("{api} needs ranks that are MPI processes, but these are not"),
        remedy: "use --launcher mpirun or srun (for a front end: mpirun ioassay-engine …)".to_owned(),
    }
}
