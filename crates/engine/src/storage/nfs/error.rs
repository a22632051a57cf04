//! What a server or libnfs says went wrong, as an error of the operating system or in words.
//!
//! Not here: when it is asked.

use std::io;

use super::library::Refused;
use crate::failure::Explained;

impl Refused {
    /// As an I/O error: with an error number where the status has one.
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Status(status) => of_status(status),
            Self::Rpc(what) => Explained { what, remedy: "read the server's log, then run again".to_owned() }.into_io(),
        }
    }
}

/// The error of an `nfsstat3`. Most are error numbers of Linux, or have one.
fn of_status(status: i32) -> io::Error {
    let errno = match status {
        1..=31 => status,
        63 => libc::ENAMETOOLONG,
        66 => libc::ENOTEMPTY,
        69 => libc::EDQUOT,
        70 | 10001 => libc::ESTALE,
        71 => libc::EREMOTE,
        10004 => libc::EOPNOTSUPP,
        10005 | 10007 => libc::EINVAL,
        _ => return in_words(status),
    };
    io::Error::from_raw_os_error(errno)
}

fn in_words(status: i32) -> io::Error {
    let (name, remedy) = match status {
        10002 => ("NFS3ERR_NOT_SYNC", "keep other processes off the target during a run"),
        10003 => ("NFS3ERR_BAD_COOKIE", "keep other processes off the target during a run"),
        10006 => ("NFS3ERR_SERVERFAULT", "read the server's log, then run again"),
        10008 => (
            "NFS3ERR_JUKEBOX",
            "the server asks clients to try again later, for example while it recalls the file from tape: run again \
             once the file is there; requests are not retried, because that would hide the delay",
        ),
        _ => ("a status that is not part of NFS version 3", "read the server's log, then run again"),
    };
    Explained { what: format!("the server answered {name} ({status})"), remedy: remedy.to_owned() }.into_io()
}

/// A mount that failed with `errno`; `message` is what libnfs reports.
pub(super) fn cannot_mount(host: &str, export: &str, errno: i32, message: &str) -> io::Error {
    let remedy = match errno {
        libc::EACCES | libc::EPERM | libc::ENOENT | libc::ENOTDIR => format!(
            "check that the directory exists, that {host} exports it to this node (showmount -e {host}) and, unless \
             the engine runs as root, that the export accepts unprivileged ports (insecure)"
        ),
        _ => unreachable(host),
    };
    Explained { what: format!("{host} refused to mount {export}: {}", without_wrapping(message)), remedy }.into_io()
}

/// A server that says nothing, or with which the connection broke.
pub(super) fn silent(host: &str, what: &str) -> io::Error {
    Explained { what: format!("{host}: {what}"), remedy: unreachable(host) }.into_io()
}

fn unreachable(host: &str) -> String {
    format!(
        "check that {host} runs an NFS version 3 server and rpcbind (or name the ports: nfsport=… and mountport=…), \
         that it has not stopped or restarted, and that this node reaches it over TCP"
    )
}

/// A server that has forgotten what it had not committed.
pub(super) fn forgotten() -> io::Error {
    let what = "the server restarted and lost uncommitted data".to_owned();
    Explained { what, remedy: "read the server's log, then run again".to_owned() }.into_io()
}

/// Without what libnfs puts before it each time that it passes an error on.
fn without_wrapping(message: &str) -> &str {
    message.trim_start_matches("mount_cb: ").trim_start_matches("RPC error: ").trim_end()
}
