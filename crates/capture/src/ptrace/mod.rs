//! Recording by `ptrace`: nothing is loaded into the programs, so that static ones, those in Go, and those of other C
//! libraries are recorded too, at the cost of two stops for each call that is counted.
//!
//! * [`filter`]: the seccomp filter that has only calls that matter stop.
//! * [`calls`]: which these are, and as what they are counted.
//! * [`tracee`]: what is known of a thread, its descriptors and its memory.
//! * [`follow`]: which file a call is on, and what it does to descriptors.
//! * [`maps`]: which files a process has in memory, and where.
//! * [`rings`]: requests of io_uring.
//! * [`table`]: what a process did, in the recorder's format.
//! * [`table_files`]: where these are written.
//! * [`stops`]: what a thread has stopped for, and how it goes on.
//! * [`tracer`]: the loop over all stops.
//!
//! The cost on a virtual machine of 2 processors: 6 us for each call on a descriptor and 7 us for each on a path (0.2 and
//! 0.4 us without), most of it switching between the two processes. Other calls cost nothing with the filter, 5 us without.
//! Times in the tables include the switches; the rest, what the tracer does while a thread is stopped, is `own_ticks`.
//!
//! Three processes: this program waits and passes signals on, a child of it traces, and the command is a child of the tracer.
//! So job control stops only this program and the command, and if this program is killed, the tracer goes on.
//!
//! If the tracer itself is killed (SIGKILL, out of memory), what happens to the command depends on the filter. A filter
//! cannot be taken away, and without a tracer each call that should stop fails with ENOSYS: a program that went on like
//! that would lose data. So filtered programs are killed with their tracer (`PTRACE_O_EXITKILL`). Without a filter
//! ([`Via::PtraceUnfiltered`]) all system calls stop, which costs more, and programs go on, unrecorded.
//!
//! For the same reason a filtered process that the command leaves behind keeps its tracer, which then only lets it pass.
//!
//! What differs for the command: it cannot be a debugger (`strace` inside fails); a program with privileges of its own
//! (setuid) gets them only if root records it; and calls of 32-bit programs and `io_submit` are not counted.

pub mod calls;
pub mod filter;
pub mod follow;
pub mod maps;
pub mod rings;
pub mod stops;
pub mod table;
pub mod table_files;
pub mod tracee;
pub mod tracer;

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ioassay_engine::failure::because_of;
use ioassay_engine::stdio::say;
use ioassay_protocol::events::Failure;
use libc::sock_filter;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::prctl::{set_child_subreaper, set_name};
use nix::sys::ptrace;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stderr, dup2_stdin, dup2_stdout, fork, getppid, pipe2};
use serde::{Deserialize, Serialize};

use crate::command::{self, Exit};
use crate::request::Via;

/// What the tracer says at the end, in JSON.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Report {
    /// How the command ended: its exit code, or minus the signal.
    status: i32,
    /// Processes that go on.
    left: Vec<i32>,
    /// Processes whose programs ran without the privileges that their files give them.
    unprivileged: Vec<(i32, String)>,
    /// Tables that could not be written.
    lost_tables: u64,
    /// Why the command was not executed.
    not_begun: Option<NotBegun>,
    /// The tracer met a defect of its own, and only let the command pass from then on.
    defect: bool,
}

/// What failed before the command began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct NotBegun {
    step: Step,
    errno: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Step {
    /// Starting processes.
    Start,
    /// Tracing the command.
    Trace,
    /// Installing the filter.
    Filter,
    /// Executing the command.
    Execute,
}

impl NotBegun {
    fn now(step: Step) -> Self {
        Self { step, errno: Errno::last_raw() }
    }

    fn failure(self, command: &[OsString]) -> Failure {
        let error = io::Error::from_raw_os_error(self.errno);
        let (what, remedy) = match self.step {
            Step::Start | Step::Execute => return command::cannot_start(&error, command),
            Step::Trace => (
                format!("{} cannot be traced", command::program_of(command)),
                "allow ptrace here (kernel.yama.ptrace_scope below 3, the container's seccomp profile), use Linux 5.3 or \
                 later, or record without --via",
            ),
            Step::Filter => (
                "the kernel installs no seccomp filter".to_owned(),
                "try --via ptrace-unfiltered, or record without --via",
            ),
        };
        because_of(&error, "start", &what, remedy)
    }
}

/// Runs the command and traces it, until it and what it left behind has ended.
///
/// # Errors
/// If it cannot be started or traced.
pub fn run(command: &[OsString], tables: &Path, via: Via) -> Result<Exit, Failure> {
    let cannot = |errno: Errno| NotBegun { step: Step::Start, errno: errno as i32 }.failure(command);
    let signals = command::signals();
    let before = signals.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(cannot)?;
    // Processes whose parent has ended become ours, not those of `init`.
    let _ = set_child_subreaper(true);
    let (from_tracer, to_us) = pipe2(OFlag::O_CLOEXEC).map_err(cannot)?;
    // SAFETY: this program has one thread here.
    match unsafe { fork() }.map_err(cannot)? {
        ForkResult::Child => {
            drop(from_tracer);
            // A panic must not unwind into what this program does after.
            let _ = catch_unwind(AssertUnwindSafe(|| trace(command, tables, via, &before, File::from(to_us))));
            // SAFETY: it ends the process; nothing of this program's own is to be done twice.
            unsafe { libc::_exit(0) }
        }
        ForkResult::Parent { child } => {
            drop(to_us);
            watch(command, child, File::from(from_tracer), &signals)
        }
    }
}

/// Waits for what the tracer reports, and passes signals on to the command.
fn watch(command: &[OsString], tracer: Pid, mut from_tracer: File, signals: &SigSet) -> Result<Exit, Failure> {
    let mut number = [0; 4];
    let number = from_tracer.read_exact(&mut number).map_or(0, |()| i32::from_le_bytes(number));
    let running = (number > 0).then(|| Pid::from_raw(number));
    let mut status = None;
    while !readable(&from_tracer) {
        command::pass_on_next(running, signals);
        status = command::reap(running).command.or(status);
    }
    let mut text = String::new();
    let _ = from_tracer.read_to_string(&mut text);
    let Ok(report) = serde_json::from_str::<Report>(&text) else {
        say!("ioassay-engine: the tracer (process {tracer}) was killed; the rest is not recorded");
        // The command is ours now, and ends by itself or was killed with the tracer.
        let status = match (status, running) {
            (Some(status), _) => status,
            (None, Some(running)) if kill(running, None).is_ok() => command::wait_for(running, signals),
            // The tracer still saw it end.
            (None, Some(_)) => -libc::SIGKILL,
            (None, None) => return Err(NotBegun { step: Step::Start, errno: libc::ECHILD }.failure(command)),
        };
        return Ok(Exit { status, process: None, left: command::wait_for_others(signals) });
    };
    if let Some(why) = report.not_begun {
        return Err(why.failure(command));
    }
    for (process, program) in report.unprivileged.iter().take(3) {
        say!(
            "ioassay-engine: {program} (process {process}) ran without the privileges of its file (setuid): only root can \
             record it with them"
        );
    }
    if report.lost_tables > 0 {
        say!("ioassay-engine: the tables of {} processes could not be written", report.lost_tables);
    }
    if report.defect {
        say!("ioassay-engine: the tracer has a defect, and did not record all; please report it");
    }
    Ok(Exit { status: report.status, process: None, left: report.left })
}

/// Whether something can be read, or nothing will come any more.
fn readable(file: &File) -> bool {
    let mut asked = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure, which the kernel fills.
    unsafe { libc::poll(&raw mut asked, 1, 0) == 1 }
}

/// The tracer: starts the command, traces it, and reports.
fn trace(command: &[OsString], tables: &Path, via: Via, before: &SigSet, mut to_parent: File) {
    let parent = getppid();
    let _ = set_name(c"ioassay-tracer");
    // What is sent to the whole group must not end or stop it, only the command.
    let mut blocked = SigSet::all();
    for signal in [Signal::SIGALRM, Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGILL, Signal::SIGABRT] {
        blocked.remove(signal);
    }
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&blocked), None);
    let filtered = via == Via::Ptrace;
    let mut report = Report::default();
    let mut stays = None;
    match start(command, filtered, before) {
        Ok((process, mut from_command)) => {
            let _ = to_parent.write_all(&process.as_raw().to_le_bytes());
            // Who reads what the command writes is not to wait for the tracer.
            leave_stdio();
            let mut tracer = tracer::Tracer::new(process, filtered, tables);
            match catch_unwind(AssertUnwindSafe(|| tracer.run())) {
                Ok(left) => report.left = left,
                Err(_) => {
                    report.defect = true;
                    tracer.pass_all();
                }
            }
            if !tracer.begun() {
                report.not_begun = Some(why_not(&mut from_command));
            }
            report.status = tracer.status.unwrap_or(-libc::SIGKILL);
            report.unprivileged = std::mem::take(&mut tracer.unprivileged);
            report.lost_tables = tracer.lost_tables;
            stays = (filtered && !report.left.is_empty()).then_some(tracer);
        }
        Err(why) => {
            let _ = to_parent.write_all(&0_i32.to_le_bytes());
            report.not_begun = Some(why);
        }
    }
    let _ = to_parent.write_all(&serde_json::to_vec(&report).unwrap_or_default());
    drop(to_parent);
    if let Some(mut tracer) = stays {
        // It waits for a signal; the end of this process is not what will come.
        if getppid() == parent {
            let _ = kill(parent, Signal::SIGCHLD);
        }
        tracer.pass_all();
    }
}

/// Standard input, output and error lead nowhere from now on.
fn leave_stdio() {
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = dup2_stdin(&null);
        let _ = dup2_stdout(&null);
        let _ = dup2_stderr(&null);
    }
}

/// Starts the process of the command, traces it, and lets it execute the command. From the pipe comes why it could not.
fn start(command: &[OsString], filtered: bool, before: &SigSet) -> Result<(Pid, File), NotBegun> {
    let not = |step| move |errno: Errno| NotBegun { step, errno: errno as i32 };
    let words: Vec<CString> = command
        .iter()
        .map(|word| CString::new(word.as_bytes()))
        .collect::<Result<_, _>>()
        .map_err(|_| NotBegun { step: Step::Execute, errno: libc::EINVAL })?;
    let mut arguments: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
    arguments.push(std::ptr::null());
    let program = filtered.then(filter::program);
    let (from_command, to_tracer) = pipe2(OFlag::O_CLOEXEC).map_err(not(Step::Start))?;
    let (go_read, go_write) = pipe2(OFlag::O_CLOEXEC).map_err(not(Step::Start))?;
    // SAFETY: this program has one thread here.
    let process = match unsafe { fork() }.map_err(not(Step::Start))? {
        ForkResult::Child => {
            drop(go_write);
            become_command(&arguments, program.as_deref(), before, &File::from(go_read), &to_tracer)
        }
        ForkResult::Parent { child } => child,
    };
    drop((to_tracer, go_read));
    if let Err(errno) = seize(process, filtered) {
        let _ = kill(process, Signal::SIGKILL);
        return Err(NotBegun { step: Step::Trace, errno: errno as i32 });
    }
    File::from(go_write).write_all(&[0]).map_err(|_| NotBegun::now(Step::Start))?;
    Ok((process, File::from(from_command)))
}

/// Begins to trace a process, and sees whether the kernel says of a stop what is needed.
fn seize(process: Pid, filtered: bool) -> Result<(), Errno> {
    ptrace::seize(process, stops::options(filtered))?;
    ptrace::interrupt(process)?;
    waitpid(process, Some(WaitPidFlag::__WALL))?;
    ptrace::syscall_info(process)?;
    stops::resume(process.as_raw(), false, 0);
    Ok(())
}

/// In the process of the command: waits for the tracer, then executes the command.
fn become_command(
    arguments: &[*const libc::c_char],
    program: Option<&[sock_filter]>,
    before: &SigSet,
    mut go: &File,
    to_tracer: &OwnedFd,
) -> ! {
    // What this program ignores, and its blocked signals, are not the command's.
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(before), None);
    // SAFETY: no handler is set.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let failed = match go.read_exact(&mut [0]) {
        Err(_) => NotBegun::now(Step::Trace),
        Ok(()) => match program.map_or(Ok(()), filter::install) {
            Err(_) => NotBegun::now(Step::Filter),
            Ok(()) => {
                // SAFETY: texts up to a null pointer.
                unsafe { libc::execvp(arguments[0], arguments.as_ptr()) };
                NotBegun::now(Step::Execute)
            }
        },
    };
    let text = serde_json::to_vec(&failed).unwrap_or_default();
    // SAFETY: these bytes; then the process ends.
    unsafe {
        libc::write(to_tracer.as_raw_fd(), text.as_ptr().cast(), text.len());
        libc::_exit(127)
    }
}

/// Why the command was not executed, as its process has said.
fn why_not(from_command: &mut File) -> NotBegun {
    let mut text = String::new();
    let _ = from_command.read_to_string(&mut text);
    serde_json::from_str(&text).unwrap_or(NotBegun { step: Step::Start, errno: libc::EINTR })
}
