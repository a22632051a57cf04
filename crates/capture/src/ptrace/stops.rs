//! Stops of traced threads: what they are for, and how threads go on; the timer that interrupts waiting for them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use nix::sys::ptrace::Options;

const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;
/// What `kcmp` compares: libc has no names for these.
pub const KCMP_FILES: u64 = 2;
/// The working directory, and what belongs to it.
pub const KCMP_FS: u64 = 3;

/// The timer has gone off.
static TICK: AtomicBool = AtomicBool::new(false);

extern "C" fn on_timer(_: libc::c_int) {
    TICK.store(true, Relaxed);
}

/// What threads do at stops.
pub fn options(filtered: bool) -> Options {
    let all = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_TRACEEXIT;
    if filtered { all | Options::PTRACE_O_TRACESECCOMP | Options::PTRACE_O_EXITKILL } else { all }
}

/// What a thread has stopped for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A call, before it or after.
    Call,
    /// A signal that is about to reach it.
    Signal(i32),
    /// Job control: it stays stopped until it is continued.
    Job,
    /// Something else: `PTRACE_EVENT_…`.
    Event(i32),
}

impl Stop {
    /// By what `waitpid` says; nothing where the thread has ended.
    pub fn of(status: i32) -> Option<Self> {
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        libc::WIFSTOPPED(status).then_some(match event {
            0 if signal == SYSCALL_STOP => Self::Call,
            0 => Self::Signal(signal),
            libc::PTRACE_EVENT_SECCOMP => Self::Call,
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => Self::Job,
            event => Self::Event(event),
        })
    }
}

/// Lets a thread go on, with a signal if that is not 0. If it is gone, its end will be seen.
pub fn resume(thread: i32, to_call: bool, signal: i32) {
    let request = if to_call { libc::PTRACE_SYSCALL } else { libc::PTRACE_CONT };
    // SAFETY: it touches no memory of ours.
    unsafe { libc::ptrace(request, thread, 0_usize, signal as usize) };
}

/// Leaves a thread stopped until it is continued.
pub fn listen(thread: i32) {
    // SAFETY: it touches no memory of ours.
    unsafe { libc::ptrace(libc::PTRACE_LISTEN, thread, 0_usize, 0_usize) };
}

/// Whether two threads share that; where the kernel does not say, those of a process do.
pub fn shared(first: i32, second: i32, what: u64, is_thread: bool) -> bool {
    // SAFETY: it only compares.
    match unsafe { libc::syscall(libc::SYS_kcmp, first, second, what, 0, 0) } {
        0 => true,
        1.. => false,
        _ => is_thread,
    }
}

/// Has the timer go off again and again.
pub fn set_timer(every: Duration) {
    let every = libc::timeval { tv_sec: every.as_secs() as libc::time_t, tv_usec: every.subsec_micros().into() };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: the handler only stores a flag; it interrupts `waitpid`, which is why it is not restarted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_timer as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut());
    }
}

/// Whether the timer has gone off since this was asked.
pub fn timer_went_off() -> bool {
    TICK.swap(false, Relaxed)
}
