//! Starts local ranks, watches them, and stops them: on a signal, on a failure, when one dies.
//!
//! The supervisor does no I/O on the target, so that it can act when a rank hangs in it. The order of escalation:
//! *stop* (no more I/O, come to an end), *abandon* (do not wait for each other), SIGKILL. All of it takes under
//! [`GRACE`] + [`LAST_WORDS`] + [`REAPING`].

pub mod guard;
pub(crate) mod hanging;
pub(crate) mod in_child;
pub(crate) mod one_thread;
mod pauses;
mod signals;
pub(crate) mod with_timeout;

use std::fs::File;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ioassay_host::clock::Clock;
use ioassay_protocol::events::Failure;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid};

pub use self::pauses::LEAST_PAUSE_NS;
use self::pauses::Pauses;
pub use self::signals::{StopSignal, not_stopping};
use crate::failure;
use crate::ranks::Stopped;
use crate::ranks::local::{LocalRank, MeetingPlace, Watched};

/// How long stopped ranks may take to finish the running call and to report.
const GRACE: Duration = Duration::from_millis(1000);

/// How long abandoned ranks may take to exit by themselves.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How long killed ranks may take to disappear; one that hangs in the kernel never does.
const REAPING: Duration = Duration::from_millis(500);

/// How long who looks after ranks sleeps between two looks: ranks that stop or die without a signal must be seen too.
const MOMENT: Duration = Duration::from_millis(20);

/// Interval at which watchers are called.
pub const WATCH_EVERY: Duration = Duration::from_millis(200);

/// How the ranks ended.
#[derive(Debug, Default)]
pub struct Ending {
    /// The signal that stopped them, if one did.
    pub signal: Option<StopSignal>,
    /// What stopped them, if they did not come to the end of the case.
    pub failure: Option<Failure>,
    /// A process did not wait for the end of a call: its request may still be done by a server.
    pub abandoned: bool,
}

/// Blocks the signals that end a run, so that [`run`] can wait for them; call it before anything is created that
/// must be removed again. They stay blocked in the ranks: those are stopped through shared memory.
pub fn block_signals() -> io::Result<()> {
    signals::block().map(drop)
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
/// If the ranks cannot be started; those that were are stopped. Ranks are not forked from a process with other threads.
pub fn run(
    size: u32,
    clock: Clock,
    mut watch: impl FnMut(Watched),
    mut body: impl FnMut(LocalRank<'_>) -> Result<(), Stopped>,
) -> io::Result<Ending> {
    one_thread::check()?;
    let place = MeetingPlace::new(size, clock)?;
    let mut ranks: Vec<Child> = Vec::with_capacity(size as usize);
    for rank in 0..size {
        match start_rank(&place, rank, &mut body) {
            Ok(pid) => ranks.push(Child { rank, seat: rank, pid }),
            Err(error) => {
                place.abandon();
                let mut started = Supervisor::new(&place, ranks);
                started.kill_all();
                started.reap(clock.now_ns());
                return Err(error);
            }
        }
    }
    let mut supervisor = Supervisor::new(&place, ranks);
    let mut watched = Instant::now();
    while supervisor.look() {
        match supervisor.next_request() {
            Some(Request::Stop(signal)) => supervisor.signalled(signal),
            Some(Request::Suspend) => {
                place.suspend();
                stop_for_shell();
            }
            Some(Request::Resume) => place.resume(),
            None => {}
        }
        if watched.elapsed() >= WATCH_EVERY {
            watched = Instant::now();
            watch(place.watch());
        }
    }
    Ok(supervisor.ending())
}

fn start_rank(
    place: &MeetingPlace,
    rank: u32,
    body: &mut impl FnMut(LocalRank<'_>) -> Result<(), Stopped>,
) -> io::Result<Pid> {
    let parent = getpid();
    // SAFETY: `run` has checked that there is no other thread, so the child may go on like any program.
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

/// A rank that this process has started.
#[derive(Debug, Clone, Copy)]
pub struct Child {
    /// As all know it.
    pub rank: u32,
    /// As its node knows it.
    pub seat: u32,
    /// Its process.
    pub pid: Pid,
}

/// Watches ranks that this process has started, and stops them.
pub struct Supervisor<'a> {
    place: &'a MeetingPlace,
    children: Vec<Child>,
    pauses: Pauses<'a>,
    escalation: Escalation,
    ending: Ending,
}

impl<'a> Supervisor<'a> {
    /// Of `children`, who meet in `place`.
    pub fn new(place: &'a MeetingPlace, children: Vec<Child>) -> Self {
        let pauses = Pauses::new(place);
        Self { place, children, pauses, escalation: Escalation::None, ending: Ending::default() }
    }

    /// Sees what has become of them, and takes the next step of stopping them where that has begun. False when there is
    /// nothing left to be seen: all have ended, or are given up.
    pub fn look(&mut self) -> bool {
        let now_ns = self.place.clock().now_ns();
        self.reap(now_ns);
        for child in &self.children {
            self.place.counters()[child.seat as usize].looked_ns.store(now_ns, Ordering::SeqCst);
        }
        if self.children.is_empty() {
            return false;
        }
        if let Some(overdue) = self.overdue() {
            self.place.fail(&overdue);
        }
        self.escalation = self.next_step();
        if self.escalation == Escalation::GivenUp {
            let stuck = self.stuck();
            self.ending.failure.get_or_insert(stuck);
        }
        self.escalation != Escalation::GivenUp
    }

    /// Waits for a signal, at most a moment. If that moment takes far longer, nothing ran, and the ranks learn it.
    pub fn next_request(&mut self) -> Option<Request> {
        self.pauses.over(MOMENT, &self.children, next_request)
    }

    /// When this process went on after its last pause, on the node's time line; 0 where there was none.
    pub fn resumed_ns(&self) -> u64 {
        self.pauses.ended_ns()
    }

    /// Stops all ranks, because this process was sent `signal`.
    pub fn signalled(&mut self, signal: StopSignal) {
        self.ending.signal.get_or_insert(signal);
        self.place.stop();
    }

    /// Forgets how far stopping has gone: there is something new to do.
    pub fn reset(&mut self) {
        self.escalation = Escalation::None;
    }

    /// True if one of them cannot be ended.
    pub fn is_given_up(&self) -> bool {
        self.escalation == Escalation::GivenUp
    }

    /// True as long as one of them has not ended.
    pub fn has_some(&self) -> bool {
        !self.children.is_empty()
    }

    /// How they ended.
    pub fn ending(mut self) -> Ending {
        // What a rank said itself is more precise than what its death looks like from outside.
        self.ending.failure = self.place.failure().or(self.ending.failure);
        self.ending.abandoned = self.place.abandoned();
        self.ending
    }

    fn next_step(&self) -> Escalation {
        match self.escalation {
            Escalation::None if self.place.stopping() => Escalation::Stopped(Instant::now()),
            Escalation::Stopped(since) if self.place.abandoned() || since.elapsed() > GRACE => {
                self.place.abandon();
                Escalation::Abandoned(Instant::now())
            }
            Escalation::Abandoned(since) if since.elapsed() > LAST_WORDS => {
                self.kill_all();
                Escalation::Killed(Instant::now())
            }
            Escalation::Killed(since) if since.elapsed() > REAPING => Escalation::GivenUp,
            same => same,
        }
    }

    /// Takes note of ranks that have ended, were stopped or go on. One that did not end by itself stops the others.
    fn reap(&mut self, now_ns: u64) {
        let (place, pauses) = (self.place, &mut self.pauses);
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED | WaitPidFlag::WCONTINUED;
        self.children.retain(|&Child { rank, seat, pid }| {
            let how = match waitpid(pid, Some(flags)) {
                Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => return true,
                Ok(WaitStatus::Stopped(..)) => {
                    pauses.stopped(seat, now_ns);
                    return true;
                }
                Ok(WaitStatus::Continued(_)) => {
                    pauses.continued(seat, now_ns);
                    return true;
                }
                Ok(WaitStatus::Exited(_, 0)) | Err(_) => return false,
                Ok(WaitStatus::Signaled(_, Signal::SIGBUS, _)) => died(rank, "was killed by SIGBUS", MAPPING_LOST),
                Ok(WaitStatus::Signaled(_, signal, _)) => died(rank, &format!("was killed by {signal}"), KILLED),
                Ok(status) => died(rank, &format!("ended unexpectedly ({status:?})"), KILLED),
            };
            // Those that we killed ourselves are the consequence of an earlier failure. Why comes before that all are to end:
            // other nodes get both at once.
            if !place.abandoned() {
                place.fail(&how);
            }
            place.abandon();
            false
        });
    }

    /// A rank that still works in a step whose time is over.
    fn overdue(&self) -> Option<Failure> {
        let (limit_ns, since_ns) = self.place.step_limit()?;
        let now_ns = self.place.clock().now_ns();
        let ran_ns = now_ns.saturating_sub(since_ns).saturating_sub(self.pauses.lasted_ns(since_ns));
        if self.place.stopping() || self.place.suspended() || ran_ns <= limit_ns {
            return None;
        }
        // A rank in a phase may wait in a library of its storage API; outside of one, a rank that waits does so for
        // others.
        let in_phase = |child: &Child| self.place.counters()[child.seat as usize].working.load(Ordering::Relaxed);
        let (waiting, working): (Vec<&Child>, Vec<&Child>) =
            self.children.iter().partition(|child| hanging::waits_for_others(child.pid));
        let in_library = waiting.into_iter().filter(|child| in_phase(child));
        let hanging = working.into_iter().chain(in_library).map(|child| (child.rank, child.pid));
        hanging::after(limit_ns, &hanging.collect::<Vec<_>>())
    }

    fn stuck(&self) -> Failure {
        let numbers: Vec<String> = self.children.iter().map(|child| child.rank.to_string()).collect();
        let message = match &numbers[..] {
            [number] => format!("rank {number} cannot be killed: it hangs in the kernel"),
            _ => format!("ranks {} cannot be killed: they hang in the kernel", numbers.join(", ")),
        };
        failure::plain("stop", message, "check the server of the target; the processes end when it responds")
    }

    /// Kills those that have not ended.
    pub fn kill_all(&self) {
        for child in &self.children {
            // It may have ended by itself.
            let _ = kill(child.pid, Signal::SIGKILL);
        }
    }
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

const KILLED: &str =
    "check the kernel log for the out-of-memory killer, or find out what else killed it; then run again";

/// A mapped file has no error numbers.
const MAPPING_LOST: &str = "a mapped file could not be read or written: it was truncated, its disk is full or failed, \
                            or memory failed; read the kernel log (dmesg), or use the storage API posix, which \
                            reports the error";

fn died(rank: u32, how: &str, remedy: &str) -> Failure {
    let message = format!("rank {rank} on {} {how}", ioassay_host::host_name());
    let failure = failure::plain("run", message, remedy);
    Failure { rank: Some(rank), ..failure }
}

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// An end in order.
    Stop(StopSignal),
    /// No I/O for now: Ctrl-Z, or a batch system that suspends the job.
    Suspend,
    /// I/O again.
    Resume,
}

impl Request {
    /// What the signal with this number asks for, if anything.
    fn of(number: libc::c_int) -> Option<Self> {
        match number {
            libc::SIGTSTP => Some(Self::Suspend),
            libc::SIGCONT => Some(Self::Resume),
            number => StopSignal::of_number(number).map(Self::Stop),
        }
    }
}

fn next_request() -> Option<Request> {
    signals::next(MOMENT).and_then(Request::of)
}

/// The signal that asks for an end, if one comes within a moment; for where there are no ranks.
pub fn next_signal() -> Option<StopSignal> {
    if let Some(Request::Stop(signal)) = next_request() { Some(signal) } else { None }
}

/// Stops this process until it is continued, where a shell may wait for that: one has a terminal. Without one a program has
/// started the engine, and may still want to stop it.
fn stop_for_shell() {
    if File::open("/dev/tty").is_ok() {
        // Nothing else can be done where it fails.
        let _ = kill(getpid(), Signal::SIGSTOP);
    }
}
