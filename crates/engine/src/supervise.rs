//! Starts local ranks, watches them, and stops them: on a signal, on a failure, when one dies.
//!
//! The supervisor does no I/O on the target, so that it can act when a rank hangs in it. The order of escalation:
//! *stop* (no more I/O, come to an end), *abandon* (do not wait for each other), SIGKILL. All of it takes under
//! [`GRACE`] + [`LAST_WORDS`] + [`REAPING`].

use std::io;
use std::time::{Duration, Instant};

use ioassay_contract::events::Failure;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid};

use crate::failure;
use crate::measure::clock::Clock;
use crate::ranks::Stopped;
use crate::ranks::local::{LocalRank, MeetingPlace, Watched};

/// How long stopped ranks may take to finish the running call and to report.
const GRACE: Duration = Duration::from_millis(1000);

/// How long abandoned ranks may take to exit by themselves.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How long killed ranks may take to disappear; one that hangs in the kernel never does.
const REAPING: Duration = Duration::from_millis(500);

/// How often those who watch are told.
const WATCH_EVERY: Duration = Duration::from_millis(200);

/// How the ranks ended.
#[derive(Debug, Default)]
pub struct Ending {
    /// The signal that stopped them, if one did.
    pub signal: Option<Signal>,
    /// What stopped them, if they did not come to the end of the case.
    pub failure: Option<Failure>,
}

/// The signals that end a run.
pub const STOP_SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Blocks the signals that end a run, so that [`run`] can wait for them; call it before anything is created that
/// must be removed again. They stay blocked in the ranks: those are stopped through shared memory.
///
/// With them SIGXFSZ, for which nobody waits: a write beyond `ulimit -f` shall fail with an errno and not kill.
pub fn block_signals() -> io::Result<()> {
    let mut blocked = awaited_signals();
    blocked.add(Signal::SIGXFSZ);
    Ok(sigprocmask(SigmaskHow::SIG_BLOCK, Some(&blocked), None)?)
}

/// The signals that end a run, and the one that tells of a rank's end.
fn awaited_signals() -> SigSet {
    STOP_SIGNALS.into_iter().chain([Signal::SIGCHLD]).collect()
}

/// Ends this process when its parent dies, even by SIGKILL: as if the parent had sent SIGTERM.
pub fn stop_with_parent() -> io::Result<()> {
    let parent = getppid();
    prctl::set_pdeathsig(Signal::SIGTERM)?;
    // It may have died before it could be asked for.
    if getppid() != parent { Ok(kill(getpid(), Signal::SIGTERM)?) } else { Ok(()) }
}

/// Runs `body` in `size` forked ranks until all have ended. `watch` is called some five times a second.
///
/// # Errors
/// If the ranks cannot be started; those that were are stopped.
pub fn run(
    size: u32,
    clock: Clock,
    mut watch: impl FnMut(Watched),
    mut body: impl FnMut(LocalRank<'_>) -> Result<(), Stopped>,
) -> io::Result<Ending> {
    let place = MeetingPlace::new(size, clock)?;
    let mut ranks = Vec::with_capacity(size as usize);
    for rank in 0..size {
        match start_rank(&place, rank, &mut body) {
            Ok(pid) => ranks.push((rank, pid)),
            Err(error) => {
                place.abandon();
                kill_all(&ranks);
                reap(&place, &mut ranks);
                return Err(error);
            }
        }
    }
    Ok(supervise(&place, ranks, &mut watch))
}

fn start_rank(
    place: &MeetingPlace,
    rank: u32,
    body: &mut impl FnMut(LocalRank<'_>) -> Result<(), Stopped>,
) -> io::Result<Pid> {
    let parent = getpid();
    // SAFETY: the engine has no other thread, so the child may go on like any program.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            // A rank must not outlive the supervisor: nobody would stop it.
            let tied = prctl::set_pdeathsig(Signal::SIGKILL).is_ok() && getppid() == parent;
            let body = std::panic::AssertUnwindSafe(|| tied.then(|| body(place.rank(rank))));
            // A panic has been printed by its hook; a stopped rank has nothing to add.
            let code = i32::from(std::panic::catch_unwind(body).is_err() || !tied);
            // SAFETY: ends the process without running what the parent registered to run at its own exit.
            unsafe { libc::_exit(code) }
        }
    }
}

fn supervise(place: &MeetingPlace, mut ranks: Vec<(u32, Pid)>, watch: &mut impl FnMut(Watched)) -> Ending {
    let mut ending = Ending::default();
    let mut escalation = Escalation::None;
    let mut watched = Instant::now();
    loop {
        if let Some(dead) = reap(place, &mut ranks) {
            ending.failure.get_or_insert(dead);
        }
        if ranks.is_empty() {
            break;
        }
        if let Some(signal) = next_signal() {
            ending.signal.get_or_insert(signal);
            place.stop();
        }
        if watched.elapsed() >= WATCH_EVERY {
            watched = Instant::now();
            watch(place.watch());
        }
        escalation = escalation.next(place, &ranks);
        if escalation == Escalation::GivenUp {
            ending.failure.get_or_insert_with(|| stuck(&ranks));
            break;
        }
    }
    // What a rank said itself is more precise than what its death looks like from outside.
    ending.failure = place.failure().or(ending.failure);
    ending
}

/// How far stopping has gone, and since when.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Escalation {
    None,
    Stopped(Instant),
    Abandoned(Instant),
    Killed(Instant),
    GivenUp,
}

impl Escalation {
    fn next(self, place: &MeetingPlace, ranks: &[(u32, Pid)]) -> Self {
        match self {
            Self::None if place.stopping() => Self::Stopped(Instant::now()),
            Self::Stopped(since) if place.abandoned() || since.elapsed() > GRACE => {
                place.abandon();
                Self::Abandoned(Instant::now())
            }
            Self::Abandoned(since) if since.elapsed() > LAST_WORDS => {
                kill_all(ranks);
                Self::Killed(Instant::now())
            }
            Self::Killed(since) if since.elapsed() > REAPING => Self::GivenUp,
            same => same,
        }
    }
}

/// Takes note of ranks that have ended. One that did not end by itself stops the others.
fn reap(place: &MeetingPlace, ranks: &mut Vec<(u32, Pid)>) -> Option<Failure> {
    let mut failure = None;
    ranks.retain(|&(rank, pid)| {
        let how = match waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => return true,
            Ok(WaitStatus::Exited(_, 0)) | Err(_) => return false,
            Ok(WaitStatus::Signaled(_, Signal::SIGBUS, _)) => died(rank, "was killed by SIGBUS", MAPPING_LOST),
            Ok(WaitStatus::Signaled(_, signal, _)) => died(rank, &format!("was killed by {signal}"), KILLED),
            Ok(status) => died(rank, &format!("ended unexpectedly ({status:?})"), KILLED),
        };
        // Those that we killed ourselves are the consequence of an earlier failure.
        if !place.abandoned() {
            failure.get_or_insert(how);
        }
        place.abandon();
        false
    });
    failure
}

const KILLED: &str =
    "look for the out-of-memory killer in the kernel log, or who else may have killed it; then run again";

/// A mapped file has no error numbers.
const MAPPING_LOST: &str = "a mapped file could not be read or written: it became shorter, its disk is full or broken, or \
                            memory is; read the kernel log (dmesg), or take the storage API posix, which tells which";

fn died(rank: u32, how: &str, remedy: &str) -> Failure {
    let failure = failure::plain("run", format!("rank {rank} {how}"), remedy);
    Failure { rank: Some(rank), ..failure }
}

fn stuck(ranks: &[(u32, Pid)]) -> Failure {
    let numbers: Vec<String> = ranks.iter().map(|(rank, _)| rank.to_string()).collect();
    let message = format!("rank(s) {} cannot be killed: they hang in the kernel", numbers.join(", "));
    failure::plain("stop", message, "check the server of the target; the processes end when it answers")
}

fn kill_all(ranks: &[(u32, Pid)]) {
    for &(_, pid) in ranks {
        // It may have ended by itself.
        let _ = kill(pid, Signal::SIGKILL);
    }
}

/// Waits for a signal, at most a moment: ranks that stop or die without one must be seen too.
fn next_signal() -> Option<Signal> {
    let set = awaited_signals();
    let moment = libc::timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    // SAFETY: set and time limit are valid; no information about the sender is asked for.
    let number = unsafe { libc::sigtimedwait(set.as_ref(), std::ptr::null_mut(), &moment) };
    Signal::try_from(number).ok().filter(|signal| STOP_SIGNALS.contains(signal))
}
