//! The command that is recorded, its processes, and signals.
//!
//! It behaves as if it had been started without us: with its own signals, standard input and output, and the exit code that
//! this program then ends with. Processes that it leaves behind become ours (`PR_SET_CHILD_SUBREAPER`), so that we know of
//! them, and are given a moment to end.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ioassay_engine::failure::because_of;
use ioassay_protocol::events::Failure;
use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::unistd::Pid;

use crate::request::Request;

/// How long processes that the command left behind are waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// The variable that brings a library into a process.
const PRELOAD: &str = "LD_PRELOAD";
/// The recorder's variable: where its tables are.
const DIRECTORY: &str = "IOASSAY_RECORD";

/// Signals that are not passed on: faults, and those of job control.
const OWN_SIGNALS: [Signal; 14] = [
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGFPE,
    Signal::SIGILL,
    Signal::SIGTRAP,
    Signal::SIGABRT,
    Signal::SIGSYS,
    Signal::SIGPIPE,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
    Signal::SIGCONT,
    Signal::SIGURG,
    Signal::SIGWINCH,
];

/// How the command ended.
#[derive(Debug)]
pub struct Exit {
    /// Its exit code, or minus the signal that ended it.
    pub status: i32,
    /// Its number, where it may have loaded the recorder.
    pub process: Option<u32>,
    /// Processes that it started, and that still run.
    pub left: Vec<i32>,
}

impl Exit {
    /// What this program ends with, as shells do.
    pub fn exit_code(&self) -> u8 {
        if self.status < 0 { (128 - self.status) as u8 } else { self.status as u8 }
    }
}

/// Runs the command with the recorder, until it and what it left behind has ended.
///
/// # Errors
/// If it cannot be started.
pub fn run(request: &Request, tables: &Path, library: &Path) -> Result<Exit, Failure> {
    let cannot = |error: io::Error| cannot_start(&error, &request.command);
    let signals = signals();
    let before = signals.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(|errno| cannot(errno.into()))?;
    // Without it, processes whose parent has ended go uncounted here, and nothing else is lost.
    let _ = set_child_subreaper(true);
    let (program, arguments) =
        request.command.split_first().ok_or_else(|| cannot(io::ErrorKind::InvalidInput.into()))?;
    let mut command = Command::new(program);
    command.args(arguments).env(DIRECTORY, tables).env(PRELOAD, preload(library));
    // SAFETY: the child calls only functions that are safe there.
    unsafe { command.pre_exec(move || Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?)) };
    let child = command.spawn().map_err(cannot)?;
    let child = Pid::from_raw(child.id() as i32);
    let status = wait_for(child, &signals);
    Ok(Exit { status, process: Some(child.as_raw() as u32), left: wait_for_others(&signals) })
}

/// The program of the command, for users.
pub(crate) fn program_of(command: &[OsString]) -> String {
    command.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The failure of a command that cannot be started.
pub(crate) fn cannot_start(error: &io::Error, command: &[OsString]) -> Failure {
    let what = format!("{} cannot be started", program_of(command));
    because_of(error, "start", &what, "check its name, and that it can be executed")
}

/// Those that are waited for: what is sent to this program is meant for the command.
pub(crate) fn signals() -> SigSet {
    let mut signals = SigSet::all();
    for reserved in OWN_SIGNALS {
        signals.remove(reserved);
    }
    signals
}

/// What the library is added to: other libraries that are preloaded come after it.
fn preload(library: &Path) -> OsString {
    let mut all = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
        all.push(OsStr::new(":"));
        all.push(others);
    }
    all
}

/// Waits for the command, passing on to it what was sent to us alone.
pub(crate) fn wait_for(child: Pid, signals: &SigSet) -> i32 {
    loop {
        if let Some(status) = reap(Some(child)).command {
            return status;
        }
        pass_on_next(Some(child), signals);
    }
}

/// Waits for the next signal, and passes it on to the command, if that runs.
pub(crate) fn pass_on_next(command: Option<Pid>, signals: &SigSet) {
    let (signal, by_process) = next_signal(signals, None);
    // What comes from the terminal has reached the command as well.
    if let Some(command) = command.filter(|_| by_process && signal != libc::SIGCHLD) {
        // SAFETY: it takes numbers. Those of real-time signals have no name in nix.
        unsafe { libc::kill(command.as_raw(), signal) };
    }
}

/// What [`reap`] found.
pub(crate) struct Reaped {
    /// How the command ended, if it was among those that have.
    pub command: Option<i32>,
    /// There are processes of ours that go on.
    pub others: bool,
}

/// Takes note of processes that have ended.
pub(crate) fn reap(command: Option<Pid>) -> Reaped {
    let mut ended = None;
    loop {
        match wait(libc::WNOHANG) {
            Ok((0, _)) => return Reaped { command: ended, others: true },
            Ok((process, status)) if Some(Pid::from_raw(process)) == command => ended = Some(exit_status(status)),
            Ok(_) => {}
            Err(_) => return Reaped { command: ended, others: false },
        }
    }
}

/// `waitpid` of any process: its number, and its status. Not that of nix, which knows no real-time signals.
pub(crate) fn wait(options: libc::c_int) -> Result<(i32, i32), Errno> {
    let mut status = 0;
    // SAFETY: the kernel fills `status`.
    let process = unsafe { libc::waitpid(-1, &raw mut status, options) };
    Errno::result(process).map(|process| (process, status))
}

/// Of a process that has ended: its exit code, or minus the signal.
pub(crate) fn exit_status(status: i32) -> i32 {
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) }
}

/// Waits a moment for what the command has left behind. What is still there then.
pub(crate) fn wait_for_others(signals: &SigSet) -> Vec<i32> {
    let until = Instant::now() + PATIENCE;
    while reap(None).others {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || ![-1, libc::SIGCHLD].contains(&next_signal(signals, Some(left)).0) {
            return children();
        }
    }
    Vec::new()
}

/// The number of the next of the signals, and whether a process sent it to us; -1 where none comes within `limit`.
fn next_signal(signals: &SigSet, limit: Option<Duration>) -> (i32, bool) {
    let limit = limit.map(|limit| libc::timespec {
        tv_sec: limit.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(limit.subsec_nanos()),
    });
    // SAFETY: a structure of integers, which the kernel fills; the limit is null or lives as long as the call.
    let (number, about) = unsafe {
        let mut about: libc::siginfo_t = std::mem::zeroed();
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        (libc::sigtimedwait(signals.as_ref(), &raw mut about, limit), about)
    };
    (number, number > 0 && about.si_code <= 0)
}

/// The processes that are ours now.
fn children() -> Vec<i32> {
    let listed = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    listed.split_whitespace().filter_map(|process| process.parse().ok()).collect()
}
