//! Whose a workspace is, and whether it is in use.
//!
//! The process that creates a workspace locks its directory, and so do, with the descriptor, the ranks that it forks: the lock
//! lasts until the last of them has ended. Who would remove it must have it alone. Where a file system has no locks, only the
//! lock of the run directory says that a run is alive.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use ioassay_protocol::events::Failure;
use nix::sys::stat::fstat;
use nix::unistd::geteuid;

use crate::failure;

/// How long ranks that were killed may take to end.
const ENDING: Duration = Duration::from_secs(2);

/// How often the lock is tried again.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What a server that does not trust root makes of it.
const NOBODY: u32 = 65534;

/// Says that this process, and those that inherit `workspace`, use it.
pub(super) fn share(workspace: &impl AsRawFd) {
    // Without locks there is nothing to be said.
    let _ = lock(workspace, libc::LOCK_SH);
}

/// An error if the open directory `workspace` at `path` belongs to another user, or if a process uses it: neither may be removed.
pub(super) fn claim(workspace: &(impl AsRawFd + std::os::fd::AsFd), path: &Path) -> Result<(), Failure> {
    let about = fstat(workspace).map_err(|errno| failure::on_path("fstat", path, &errno.into()))?;
    let (owner, effective) = (about.st_uid, geteuid().as_raw());
    if owner != effective && !(effective == 0 && owner == NOBODY) {
        let message =
            format!("{} belongs to user {owner}, not to user {effective}: nothing in it was touched", path.display());
        return Err(failure::about_path("open workspace", path, message, "run `ioassay clean` as its owner"));
    }
    let begin = Instant::now();
    while let Err(error) = lock(workspace, libc::LOCK_EX) {
        if error.kind() != io::ErrorKind::WouldBlock {
            break;
        }
        if begin.elapsed() > ENDING {
            let user = user_of(about.st_ino).map(|pid| format!(" by process {pid}")).unwrap_or_default();
            let message = format!("{} is in use{user}: nothing in it was touched", path.display());
            return Err(failure::about_path("open workspace", path, message, "wait until that run has ended"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn lock(workspace: &impl AsRawFd, how: i32) -> io::Result<()> {
    // SAFETY: the descriptor is open.
    match unsafe { libc::flock(workspace.as_raw_fd(), how | libc::LOCK_NB) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A process that has locked the file of that number, as proc_locks(5) says.
fn user_of(inode: u64) -> Option<u32> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let of_inode = format!(":{inode}");
    let line =
        locks.lines().find(|line| line.contains("FLOCK") && line.split(' ').any(|word| word.ends_with(&of_inode)));
    line?.split_whitespace().nth(4)?.parse().ok()
}
