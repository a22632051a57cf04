//! What a node sees of the target. Every call here may hang; who makes it does so with [`super::path_timeout`].

use std::path::Path;
use std::time::{Duration, Instant};

use ioassay_host::clock::Clock;
use ioassay_host::environment;
use ioassay_protocol::environment::Environment;
use ioassay_protocol::events::Failure;
use ioassay_protocol::survey::TargetLook;

use crate::failure;
use crate::supervise::with_timeout::POLL_INTERVAL;
use crate::workspace::contents::Contents;
use crate::workspace::directory::{self, Directory};

/// What this node sees of the directory `target`. With the name of a workspace it also creates that.
pub fn look(target: &Path, workspace: Option<&str>, clock: &Clock) -> (Environment, TargetLook) {
    let environment = environment::of_this_node(Some(target), clock);
    let look = match directory::room_for(target, 0, 0) {
        Err(problem) => TargetLook { answered: true, problem: Some(problem), ..TargetLook::default() },
        Ok(room) => {
            let created = workspace.map(|run| Directory::create(target, run, &Contents::default()));
            TargetLook {
                answered: true,
                free_bytes: room.free_bytes,
                free_inodes: room.free_inodes,
                shared: created.as_ref().map(Result::is_ok),
                problem: created.and_then(Result::err),
            }
        }
    };
    (environment, look)
}

/// Waits until this node sees the workspace, for at most `limit`.
pub fn see(target: &Path, workspace: &str, limit: Duration) -> Result<(), Failure> {
    let (directory, begin) = (Directory::of(target, workspace, None), Instant::now());
    while let Err(error) = directory.root() {
        if begin.elapsed() > limit {
            return Err(failure::unseen(directory.path(), &error));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}
