//! How the process becomes what the command line asks for: guarded, one of many that a launcher has started, or alone.

use ioassay_engine::failure;
use ioassay_engine::forked::Forked;
use ioassay_engine::launched::{self, launcher};
use ioassay_engine::rank_set::RankSet;
use ioassay_engine::storage::mpi;
use ioassay_engine::supervise::guard;
use ioassay_protocol::events::Failure;

use crate::cli::Arguments;

/// What this process is.
pub enum Role {
    /// The one that runs the command, with these ranks.
    Command(Box<dyn RankSet>),
    /// One of the others that a launcher has started. It did its part and ends with this code.
    Follower(u8),
}

/// Begins what `asked` needs. Where a child or another process goes on, this returns only there.
///
/// # Errors
/// If processes cannot be started, or do not come together. MPI may have begun then, in another thread.
pub fn start(asked: &Arguments) -> Result<Role, Failure> {
    let Arguments { hosts, mpi: library, mpi_in_ranks, command } = asked;
    let in_ranks = *mpi_in_ranks || command.speaks_mpi();
    let many = command.is_front_end() && (launcher::started_several() || in_ranks);
    if in_ranks {
        mpi::announce();
    }
    if library.is_some() || many {
        let launched = launched::join(library.clone(), in_ranks)?;
        return Ok(if launched.is_first() {
            Role::Command(Box::new(launched))
        } else {
            Role::Follower(launched.follow())
        });
    }
    // On hosts the process that stays outside of them is the guard.
    if command.uses_target() && hosts.is_empty() {
        guard::go_on_in_child(command.stops_with_parent())
            .map_err(|error| failure::because_of(&error, "begin", "the engine cannot start", "raise ulimit -u"))?;
    }
    Ok(Role::Command(Box::new(Forked::on_hosts(hosts)?)))
}
