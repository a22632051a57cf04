//! The signals that end a run in order: the one table of them.
//!
//! Every signal that can be caught and would end a process does: batch systems warn with USR1, USR2 or XCPU, a terminal
//! sends QUIT, and what kills in the middle leaves files behind. TSTP and CONT suspend and resume it. Not here: what
//! stopping and suspending is ([`super`]).

use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::Duration;

use libc::c_int;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// Those that do not end a run: the first two cannot be caught; the next six end no process; a write beyond `ulimit -f`
/// or into a pipe that nobody reads fails with an errno, as it should.
const OTHERS: [c_int; 11] = [
    libc::SIGKILL,
    libc::SIGSTOP,
    libc::SIGCHLD,
    libc::SIGCONT,
    libc::SIGURG,
    libc::SIGWINCH,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGXFSZ,
    libc::SIGPIPE,
];

/// Names of the signals that do not end a run: the control plane obeys all others too, by the list that is generated of
/// these.
pub fn not_stopping() -> impl Iterator<Item = &'static str> {
    OTHERS.into_iter().filter_map(|number| Signal::try_from(number).ok()).map(Signal::as_str)
}

/// A signal that ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopSignal(c_int);

impl StopSignal {
    /// What ends a run where nothing else is known.
    pub const TERM: Self = Self(libc::SIGTERM);

    /// The signal with this number, if it ends a run.
    pub fn of_number(number: c_int) -> Option<Self> {
        // SAFETY: the set is initialised, and is only asked.
        (number > 0 && unsafe { libc::sigismember(stopping(), number) } == 1).then_some(Self(number))
    }

    /// Its number.
    pub fn number(self) -> c_int {
        self.0
    }

    /// Sends it to a process, or with a negative number to a group of them.
    pub fn send(self, to: Pid) -> io::Result<()> {
        // SAFETY: kill takes any number.
        if unsafe { libc::kill(to.as_raw(), self.0) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl fmt::Display for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Signal::try_from(self.0) {
            Ok(signal) => f.write_str(signal.as_str()),
            Err(_) => write!(f, "SIGRTMIN+{}", self.0 - libc::SIGRTMIN()),
        }
    }
}

impl FromStr for StopSignal {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let real_time = name.strip_prefix("SIGRTMIN").map(|more| more.trim_start_matches('+').parse().unwrap_or(0));
        let number = real_time.map(|more: c_int| libc::SIGRTMIN().saturating_add(more));
        let number = number.or_else(|| Signal::from_str(name).ok().map(|signal| signal as c_int));
        number.and_then(Self::of_number).ok_or(())
    }
}

/// All of them. Signals that were ignored when the engine was started stay ignored (`nohup`), and what has a handler
/// when the engine begins belongs to the library that was preloaded; only the handlers of Rust's own runtime give way.
/// Numbers that the C library keeps for its threads (32 and 33) cannot be caught by any other code.
pub(super) fn stopping() -> &'static libc::sigset_t {
    static SET: OnceLock<libc::sigset_t> = OnceLock::new();
    SET.get_or_init(|| {
        let mut set = empty();
        for number in (1..=libc::SIGRTMAX()).filter(|number| !OTHERS.contains(number)) {
            let handler = handler_of(number);
            let runtimes = matches!(number, libc::SIGSEGV | libc::SIGBUS) && handler != Some(libc::SIG_IGN);
            if handler == Some(libc::SIG_DFL) || runtimes {
                // SAFETY: an initialised set; a number that the C library keeps is refused.
                let _ = unsafe { libc::sigaddset(&mut set, number) };
            }
        }
        set
    })
}

fn empty() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises what it is given.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn handler_of(number: c_int) -> Option<libc::sighandler_t> {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: nothing is installed, and `action` is filled in where the call succeeds.
    (unsafe { libc::sigaction(number, std::ptr::null(), action.as_mut_ptr()) } == 0)
        .then(|| unsafe { action.assume_init() }.sa_sigaction)
}

/// Those that end a run, those that suspend and resume it, and the one that reports a child's end.
pub(super) fn awaited() -> libc::sigset_t {
    static SET: OnceLock<libc::sigset_t> = OnceLock::new();
    *SET.get_or_init(|| {
        let mut set = *stopping();
        // Where Ctrl-Z was ignored when this process was started, the run ignores it, too.
        let suspend = (handler_of(libc::SIGTSTP) == Some(libc::SIG_DFL)).then_some(libc::SIGTSTP);
        for number in [libc::SIGCHLD, libc::SIGCONT].into_iter().chain(suspend) {
            // SAFETY: an initialised set.
            unsafe { libc::sigaddset(&mut set, number) };
        }
        set
    })
}

/// Blocks what is [`awaited`], and SIGXFSZ, for which nobody waits: a write beyond `ulimit -f` shall fail with an errno and
/// not kill. Returns what was blocked before.
pub(super) fn block() -> io::Result<libc::sigset_t> {
    let mut blocked = awaited();
    // SAFETY: an initialised set.
    unsafe { libc::sigaddset(&mut blocked, libc::SIGXFSZ) };
    set_mask(libc::SIG_BLOCK, &blocked)
}

/// Blocks `signals` and nothing else.
pub(super) fn restore(signals: &libc::sigset_t) -> io::Result<()> {
    set_mask(libc::SIG_SETMASK, signals).map(drop)
}

fn set_mask(how: c_int, set: &libc::sigset_t) -> io::Result<libc::sigset_t> {
    let mut before = empty();
    // SAFETY: both sets are initialised.
    match unsafe { libc::pthread_sigmask(how, set, &mut before) } {
        0 => Ok(before),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The next signal of those that are [`awaited`], if one comes within `limit`. They must be blocked.
pub(super) fn next(limit: Duration) -> Option<c_int> {
    let limit = libc::timespec { tv_sec: limit.as_secs() as libc::time_t, tv_nsec: limit.subsec_nanos().into() };
    // SAFETY: set and time limit are valid; no information about the sender is asked for.
    let number = unsafe { libc::sigtimedwait(&awaited(), std::ptr::null_mut(), &limit) };
    (number > 0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_of_them_are_read_back() {
        let all: Vec<StopSignal> = (1..=64).filter_map(StopSignal::of_number).collect();
        for signal in &all {
            assert_eq!(signal.to_string().parse(), Ok(*signal));
        }
        for number in [libc::SIGQUIT, libc::SIGUSR1, libc::SIGXCPU, libc::SIGSTKFLT, libc::SIGPWR, libc::SIGRTMAX()] {
            assert!(all.contains(&StopSignal(number)), "{number}");
        }
        for number in OTHERS {
            assert!(!all.contains(&StopSignal(number)), "{number}");
        }
        assert!("SIGKILL".parse::<StopSignal>().is_err() && "".parse::<StopSignal>().is_err());
    }
}
