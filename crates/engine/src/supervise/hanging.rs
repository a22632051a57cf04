//! In which system call a rank hangs, as the kernel says: nothing has to be noted while I/O runs.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use ioassay_protocol::events::Failure;
use ioassay_units::Nanoseconds;
use nix::unistd::Pid;

use crate::failure;

/// Which argument of a call says what it is about.
#[derive(Debug, Clone, Copy)]
enum About {
    /// The number of an open file.
    File(usize),
    /// The address of a path.
    Path(usize),
    /// None does.
    Nothing,
}

/// The calls in which I/O waits.
const CALLS: [(libc::c_long, &str, About); 34] = [
    (libc::SYS_read, "read", About::File(0)),
    (libc::SYS_write, "write", About::File(0)),
    (libc::SYS_pread64, "pread", About::File(0)),
    (libc::SYS_pwrite64, "pwrite", About::File(0)),
    (libc::SYS_readv, "readv", About::File(0)),
    (libc::SYS_writev, "writev", About::File(0)),
    (libc::SYS_preadv, "preadv", About::File(0)),
    (libc::SYS_pwritev, "pwritev", About::File(0)),
    (libc::SYS_openat, "openat", About::Path(1)),
    (libc::SYS_openat2, "openat2", About::Path(1)),
    (libc::SYS_close, "close", About::File(0)),
    (libc::SYS_fsync, "fsync", About::File(0)),
    (libc::SYS_fdatasync, "fdatasync", About::File(0)),
    (libc::SYS_msync, "msync", About::Nothing),
    (libc::SYS_ftruncate, "ftruncate", About::File(0)),
    (libc::SYS_fallocate, "fallocate", About::File(0)),
    (libc::SYS_lseek, "lseek", About::File(0)),
    (libc::SYS_fstat, "fstat", About::File(0)),
    (libc::SYS_newfstatat, "fstatat", About::Path(1)),
    (libc::SYS_statx, "statx", About::Path(1)),
    (libc::SYS_statfs, "statfs", About::Path(0)),
    (libc::SYS_mkdirat, "mkdirat", About::Path(1)),
    (libc::SYS_mknodat, "mknodat", About::Path(1)),
    (libc::SYS_unlinkat, "unlinkat", About::Path(1)),
    (libc::SYS_renameat2, "renameat2", About::Path(1)),
    (libc::SYS_getdents64, "getdents64", About::File(0)),
    (libc::SYS_fcntl, "fcntl", About::File(0)),
    (libc::SYS_flock, "flock", About::File(0)),
    (libc::SYS_io_uring_enter, "io_uring_enter", About::Nothing),
    (libc::SYS_futex, "futex", About::Nothing),
    (libc::SYS_ppoll, "ppoll", About::Nothing),
    (libc::SYS_recvfrom, "recvfrom", About::Nothing),
    (libc::SYS_ioctl, "ioctl", About::File(0)),
    (libc::SYS_clock_nanosleep, "clock_nanosleep", About::Nothing),
];

/// True if `pid` waits for others, as ranks do at barriers.
pub fn waits_for_others(pid: Pid) -> bool {
    call_of(pid).is_some_and(|call| call.name == "futex")
}

/// That these ranks, each with its process, still work when `limit_ns` is over; `None` if there are none. One that is in a call
/// on a file is named before others.
pub fn after(limit_ns: u64, working: &[(u32, Pid)]) -> Option<Failure> {
    let looked = working.iter().map(|&(rank, pid)| (rank, call_of(pid)));
    let on_file = |(_, call): &(u32, Option<Call>)| call.as_ref().is_some_and(|call| call.path.is_some());
    let (rank, call) = looked.max_by_key(|looked| (on_file(looked), std::cmp::Reverse(looked.0)))?;
    let others = working.len() - 1;
    let limit = Nanoseconds(limit_ns).about();
    let does = match &call {
        Some(Call { name, path: Some(path) }) => format!("is still in {name} on {}", path.display()),
        Some(Call { name, path: None }) => format!("is still in {name}"),
        None => "is still computing".to_owned(),
    };
    let beside = if others == 0 { String::new() } else { format!(", and {others} more on its node are still running") };
    let message = format!("the time limit of {limit} has passed, and rank {rank} {does}{beside}");
    let remedy = "check whether the target's server responds, and read the kernel log (dmesg); if it is only slow, \
                  raise `time-limit`";
    let (operation, path) = call.map_or(("run".to_owned(), None), |call| (call.name, call.path));
    Some(Failure {
        rank: Some(rank),
        path: path.map(|path| path.display().to_string()),
        ..failure::plain(&operation, message, remedy)
    })
}

/// A system call in which a process waits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub name: String,
    pub path: Option<PathBuf>,
}

/// The call in which `pid`, a process or a thread, waits; `None` if it runs, or if the kernel does not report it.
pub(crate) fn call_of(pid: Pid) -> Option<Call> {
    let text = fs::read_to_string(format!("/proc/{pid}/syscall")).ok()?;
    let (number, arguments) = parse(&text)?;
    let Some((_, name, about)) = CALLS.iter().find(|(call, ..)| *call == number) else {
        return Some(Call { name: format!("system call {number}"), path: None });
    };
    // The link is read in the kernel's memory: it does not hang where the file system does.
    let link = |file: u64| fs::read_link(format!("/proc/{pid}/fd/{file}")).ok();
    let path = match *about {
        About::File(nth) => arguments.get(nth).and_then(|&file| link(file)),
        About::Path(nth) => {
            let path = arguments.get(nth).and_then(|&address| text_at(pid, address)).map(PathBuf::from);
            // A relative path is one of the open directory that comes before it.
            path.map(|path| match nth.checked_sub(1).and_then(|before| link(arguments[before])) {
                Some(directory) if path.is_relative() => directory.join(path),
                _ => path,
            })
        }
        About::Nothing => None,
    };
    Some(Call { name: (*name).to_owned(), path })
}

/// The text that ends with a zero in the memory of `pid`.
fn text_at(pid: Pid, address: u64) -> Option<OsString> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut text = vec![0; libc::PATH_MAX as usize];
    // The memory may end before that does.
    let read = memory.read_at(&mut text, address).ok()?;
    text.truncate(text[..read].iter().position(|&byte| byte == 0)?);
    Some(OsString::from_vec(text))
}

/// In which call on a file a thread of `pid` waits, in words.
pub(super) fn of_process(pid: Pid) -> Option<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let numbers = threads.flatten().filter_map(|thread| thread.file_name().to_str()?.parse().ok());
    let mut calls = numbers.filter_map(|number| call_of(Pid::from_raw(number)));
    calls.find_map(|call| Some(format!("{} on {}", call.name, call.path?.display())))
}

/// The number of a call and its arguments, of proc(5)'s `syscall`: decimal, then hexadecimal each.
fn parse(text: &str) -> Option<(libc::c_long, Vec<u64>)> {
    let mut words = text.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let argument = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    Some((number, words.map_while(argument).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    #[test]
    fn a_process_that_waits_in_a_read_is_reported_with_its_file() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32);
        let call = (0..1000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            call_of(pid).filter(|call| call.name == "read")
        });
        let running = Pid::this();
        let failure = after(2_000_000_000, &[(1, running), (3, pid), (4, running)]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(call.unwrap().path.unwrap().display().to_string().starts_with("pipe:"));
        assert!(
            failure.message.contains("rank 3 is still in read on pipe:") && failure.message.contains("limit of 2.00 s"),
            "{}",
            failure.message
        );
        assert_eq!((failure.operation.as_str(), failure.rank), ("read", Some(3)));
    }

    /// Opening a pipe for reading waits until another process opens it for writing.
    #[test]
    fn a_process_that_waits_in_an_open_is_reported_with_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mut child = Command::new("cat").arg(&pipe).spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32);
        let call = (0..1000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            call_of(pid).filter(|call| call.name == "openat" && call.path.as_ref() == Some(&pipe))
        });
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(call.is_some());
    }

    #[test]
    fn a_running_process_is_in_no_call() {
        assert_eq!(parse("running\n"), None);
        let (number, arguments) = parse("18 0x3 0x7f 0x1000 0x0 0x0 0x0 0x7ffd 0x7fab\n").unwrap();
        assert_eq!((number, arguments[0], arguments[2]), (18, 3, 4096));
    }
}
