//! Failures: what ended a case, with rank, operation, path, errno and what to try next.
//!
//! The type itself crosses the boundary and lives in the protocol; here is how the engine makes one.
//! Not: printing, deciding what happens next.

use std::io;
use std::path::Path;

use ioassay_protocol::events::Failure;
use nix::errno::Errno;

/// What to do where a process cannot be started or gets no memory.
pub const START_REMEDY: &str = "raise the limits on processes and memory (ulimit -u, ulimit -v), or use fewer ranks";

/// What an error says that no system call reported, and what to try next; it travels in an [`io::Error`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Explained {
    /// What happened.
    pub what: String,
    /// What to try next.
    pub remedy: String,
}

impl Explained {
    /// As an I/O error.
    pub fn into_io(self) -> io::Error {
        io::Error::other(self)
    }
}

/// The explanation that `error` was made with.
fn explained(error: &io::Error) -> Option<&Explained> {
    error.get_ref().and_then(|inner| inner.downcast_ref::<Explained>())
}

/// What to try next after `error`.
fn remedy_of(error: &io::Error) -> String {
    explained(error).map_or_else(|| remedy(error.raw_os_error()).to_owned(), |explained| explained.remedy.clone())
}

/// A failed operation on a path. `error` tells errno; rank and phase are added by those who know them.
pub fn on_path(operation: &str, path: &Path, error: &io::Error) -> Failure {
    let errno = error.raw_os_error();
    let name = errno.map(|code| format!("{:?}", Errno::from_raw(code)));
    let what = match &name {
        Some(name) => format!("{} ({name})", Errno::from_raw(errno.unwrap_or(0)).desc()),
        None => error.to_string(),
    };
    Failure {
        operation: operation.to_owned(),
        path: Some(path.display().to_string()),
        errno,
        message: format!("{operation} {}: {what}", path.display()),
        remedy: remedy_of(error),
        errno_name: name,
        ..Failure::default()
    }
}

/// This node does not see `path`, which the first node created.
pub fn unseen(path: &Path, error: &io::Error) -> Failure {
    let seen = on_path("open", path, error);
    let here = ioassay_host::host_name();
    let message = format!("{here} does not see the directory that the first node created: {}", seen.message);
    let remedy = "check that both nodes have mounted the same file system there (compare `findmnt --target DIR`)";
    Failure { message, remedy: remedy.to_owned(), ..seen }
}

/// As [`on_path`], for hot paths, whose results are to be small.
#[cold]
pub fn boxed_on_path(operation: &str, path: &Path, error: &io::Error) -> Box<Failure> {
    Box::new(on_path(operation, path, error))
}

/// A write call at byte `offset` of a file that wrote nothing and reported no error.
#[cold]
pub fn nothing_written(offset: u64) -> io::Error {
    let what = format!("the write call at byte {offset} returned 0: nothing was written, and no error was reported");
    let remedy = "check free space and quota of the target, read the kernel log (dmesg) and the server's log, and \
                  report it to the vendor of the file system or the author of the storage plug-in";
    Explained { what, remedy: remedy.to_owned() }.into_io()
}

/// A read call at byte `offset` of a file that returned nothing, where more was written. `remedy` says how to make it anew.
#[cold]
pub fn file_ends(offset: u64, remedy: &str) -> io::Error {
    let what = format!("the file ends at or before byte {offset}");
    Explained { what, remedy: format!("another process has shortened it: {remedy}") }.into_io()
}

/// `what` was read, such as `sample 5`, and has other bytes than were written.
#[cold]
pub fn other_bytes(what: &str) -> io::Error {
    let what = format!("{what} has other bytes than were written");
    let remedy = "the storage returned wrong data, or another process has changed the file: keep it, and read the logs of \
                  kernel and servers";
    Explained { what, remedy: remedy.to_owned() }.into_io()
}

/// An error that came with its errno and with a sentence about it.
pub fn with_text(errno: i32, text: &str) -> io::Error {
    let what = format!("{text} ({:?})", Errno::from_raw(errno));
    // The sentence says which argument it is, and the usual remedy would guess.
    let remedy = if errno == libc::EINVAL {
        "correct the argument that the message names, and run again"
    } else {
        remedy(Some(errno))
    };
    Explained { what, remedy: remedy.to_owned() }.into_io()
}

/// A storage API that cannot begin.
pub fn about_api(name: &str, error: &io::Error) -> Box<Failure> {
    let failure = plain("connect", format!("{name}: {error}"), &remedy_of(error));
    Box::new(Failure { errno: error.raw_os_error(), ..failure })
}

/// A failure that no system call reported.
pub fn plain(operation: &str, message: String, remedy: &str) -> Failure {
    Failure { operation: operation.to_owned(), message, remedy: remedy.to_owned(), ..Failure::default() }
}

/// A failure because of `error`. `remedy` is for those that do not bring one of their own.
pub fn because_of(error: &io::Error, operation: &str, what: &str, remedy: &str) -> Failure {
    let remedy = explained(error).map_or(remedy, |explained| &explained.remedy);
    plain(operation, format!("{what}: {error}"), remedy)
}

/// A failure about `path` that no system call reported.
pub fn about_path(operation: &str, path: &Path, message: String, remedy: &str) -> Failure {
    Failure { path: Some(path.display().to_string()), ..plain(operation, message, remedy) }
}

/// The same failure, met by `rank` in `phase`.
pub fn of_rank(mut failure: Failure, rank: u32, phase: &str) -> Failure {
    failure.message = format!("rank {rank}, {phase}: {}", failure.message);
    failure.rank = Some(rank);
    failure.phase = Some(phase.to_owned());
    failure
}

/// What a storage engineer would try next for an errno.
fn remedy(errno: Option<i32>) -> &'static str {
    match errno {
        Some(libc::ENOSPC) => "free space or inodes on the target, or measure with less data",
        Some(libc::EDQUOT) => "raise the quota of this user or group on the target, or measure with less data",
        Some(libc::EIO) => "the storage reported an I/O error: read the kernel log (dmesg) and the server's log",
        Some(libc::EROFS) => "the target is mounted read-only: remount it read-write or choose another target",
        Some(libc::ENOENT) => "the path disappeared while in use: keep other processes off the target during a run",
        Some(libc::EEXIST | libc::ENOTEMPTY) => {
            "another process created something there: keep other processes off the target during a run"
        }
        Some(libc::ELOOP | libc::EXDEV) => {
            "another process put a symbolic link or a mount there: keep other processes off the target during a run"
        }
        Some(libc::ESTALE) => "the server no longer knows the file handle: remount the target and run again",
        Some(libc::EACCES | libc::EPERM) => "run as a user with write permission there, or choose another target",
        Some(libc::EFBIG) => {
            "the file system or ulimit -f does not allow a file this large: use more files or less data"
        }
        Some(libc::EBADF) => {
            "the file is open in a mode that does not allow this call: leave out the option that asks for it, or report \
             this to the author of the storage plug-in"
        }
        Some(libc::EMFILE | libc::ENFILE) => "raise the limit on open files (ulimit -n)",
        Some(libc::ENOMEM) => "use fewer ranks per node or a smaller transfer",
        Some(libc::EOPNOTSUPP) => {
            "the target does not support this: leave out special options of the plan (direct, uring.iopoll, \
             preallocated)"
        }
        Some(libc::EINVAL) => {
            "the target rejects this call: with direct I/O, use transfers and offsets that are multiples of 4096"
        }
        Some(libc::ETIMEDOUT | libc::EHOSTDOWN | libc::ENOTCONN) => "check the network and the server of the target",
        _ => "read the kernel log (dmesg), then run again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_with_rank_operation_path_errno_and_a_remedy() {
        let full = io::Error::from_raw_os_error(libc::ENOSPC);
        let failure = of_rank(on_path("write", Path::new("/mnt/x"), &full), 3, "write");
        assert_eq!(failure.message, "rank 3, write: write /mnt/x: No space left on device (ENOSPC)");
        assert_eq!((failure.rank, failure.errno), (Some(3), Some(libc::ENOSPC)));
        assert!(failure.remedy.contains("free space"));
    }
}
