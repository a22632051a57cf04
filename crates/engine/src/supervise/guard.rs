//! A process between a command and the process that started it, which can leave when the command cannot.
//!
//! What a command asks of a file system that hangs may keep it in the kernel for ever: no signal ends a process or a thread
//! that waits there, not SIGKILL either. So every command that uses a target goes on in a child, and this process touches
//! nothing but signals, pipes and a page of shared memory: it passes signals on, ends as the child ends, and, when the child
//! does not end in time, kills it, says what may remain, and leaves. It also stands between the child and the
//! pipes of the process that reads what is printed: a process that never ends would keep them open.
//!
//! It only leaves. A command that is to report that a call hangs, and what it has done until then (the events of a case, each
//! plan of `check`, each node of a survey), makes that call in a thread ([`super::with_timeout`]) and waits for it no longer than it
//! wants; the guard is what lets such a command end.
//!
//! Ranks that a launcher has started have no guard. Each is a child already, of the process that the launcher knows, which
//! looks after it and speaks MPI ([`crate::launched`]). Of those processes only the first one uses the target itself, in
//! threads; where one of these keeps it from ending, the control plane leaves it with its launcher.
//!
//! Not here: stopping in order, which is the child's.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stderr, dup2_stdout, fork, pipe2};

use super::signals::{self, StopSignal};
use super::{Request, hanging};
use crate::exit::COULD_NOT_RUN;
use crate::stdio::say;

/// How long a command may take to end after a signal: longer than [`super`] and the removal of files take, and less than
/// the 5 s in which it must end.
const AFTER_A_SIGNAL: Duration = Duration::from_millis(4700);

/// How long a process may take to disappear that has ended or was killed; one that hangs in the kernel never does.
const DISAPPEARING: Duration = Duration::from_millis(300);

/// How long a reader may take nothing of what a command has printed that has ended.
const READER_LIMIT: Duration = Duration::from_secs(10);

/// How often the child is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// As much as names of what may remain may take.
const MOST_TEXT: usize = 32 << 10;

/// What the child tells.
struct Page {
    /// One more than the code that it has ended with, as far as it can end.
    ended: AtomicU32,
    /// Milliseconds that it may take after a signal.
    limit_ms: AtomicU64,
    /// What may lie on the target if it does not end, a line each, and how long that is.
    length: AtomicU32,
    text: [AtomicU8; MOST_TEXT],
}

/// In a child that is guarded.
static PAGE: OnceLock<&'static Page> = OnceLock::new();

/// Returns in a child; this process guards it and ends with it. With `with_parent` both end when the process that started
/// this one does.
///
/// # Errors
/// If there cannot be a child, or there is more than one thread.
pub fn go_on_in_child(with_parent: bool) -> io::Result<()> {
    super::one_thread::check()?;
    let page = Page::shared()?;
    let relays = Relays::of_own()?;
    let before = signals::block()?;
    // SAFETY: there is no other thread, as has just been checked, so the child may go on like any program.
    match unsafe { fork() }? {
        ForkResult::Child => {
            // The process that started the engine knows the guard and no other process.
            prctl::set_pdeathsig(Signal::SIGTERM)?;
            relays.print_into()?;
            let _ = PAGE.set(page);
            signals::restore(&before)
        }
        ForkResult::Parent { child } => {
            if with_parent {
                super::stop_with_parent()?;
            }
            // It needs nothing of the directory that it was started in, and would keep that from being remounted.
            let _ = std::env::set_current_dir("/");
            Guard { child, page, relays: relays.pass_on(), stop_signal: None, ended: None }.stand()
        }
    }
}

/// Says what may remain on the target, should this process not end.
pub fn may_remain(places: &[String]) {
    let Some(page) = PAGE.get() else { return };
    let text = places.join("\n");
    let bytes = &text.as_bytes()[..text.len().min(MOST_TEXT)];
    page.length.store(0, Ordering::SeqCst);
    bytes.iter().zip(&page.text).for_each(|(byte, place)| place.store(*byte, Ordering::Relaxed));
    page.length.store(bytes.len() as u32, Ordering::SeqCst);
}

/// Gives this process `limit` to end after a signal.
pub fn may_take(limit: Duration) {
    if let Some(page) = PAGE.get() {
        page.limit_ms.store(limit.as_millis() as u64, Ordering::SeqCst);
    }
}

/// Says that all is done and said: from here on nobody waits for what still hangs.
pub fn ended(code: u8) {
    if let Some(page) = PAGE.get() {
        page.ended.store(u32::from(code) + 1, Ordering::SeqCst);
    }
}

impl Page {
    /// One that a child shares, for as long as both live.
    fn shared() -> io::Result<&'static Self> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, which nobody unmaps; all zero is a valid page.
        let page: &'static Self = unsafe {
            let start = libc::mmap(std::ptr::null_mut(), size_of::<Self>(), access, kind, -1, 0);
            if start == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            &*start.cast()
        };
        page.limit_ms.store(AFTER_A_SIGNAL.as_millis() as u64, Ordering::SeqCst);
        Ok(page)
    }

    fn places(&self) -> Vec<String> {
        let length = self.length.load(Ordering::SeqCst) as usize;
        let bytes: Vec<u8> = self.text[..length].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
    }
}

/// The process that guards.
struct Guard {
    child: Pid,
    page: &'static Page,
    relays: Vec<Relay>,
    /// The first signal, and when it came.
    stop_signal: Option<(StopSignal, Instant)>,
    /// With which code the child has ended as far as it can, and since when.
    ended: Option<(u8, Instant)>,
}

impl Guard {
    fn stand(mut self) -> ! {
        loop {
            // Every signal that has come, or one moment.
            let mut limit = POLL_INTERVAL;
            while let Some(number) = signals::next(limit) {
                limit = Duration::ZERO;
                // It may have ended in this moment, which is seen below.
                match Request::of(number) {
                    Some(Request::Stop(signal)) => {
                        let _ = signal.send(self.child);
                        self.stop_signal.get_or_insert((signal, Instant::now()));
                    }
                    Some(Request::Suspend) => {
                        let _ = kill(self.child, Signal::SIGTSTP);
                        super::stop_for_shell();
                    }
                    Some(Request::Resume) => drop(kill(self.child, Signal::SIGCONT)),
                    None => {}
                }
            }
            self.pass_on();
            match waitpid(self.child, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => {}
                Ok(status) => {
                    self.pass_on_the_rest();
                    end_as(status)
                }
                Err(_) => process::exit(COULD_NOT_RUN.into()),
            }
            let code = self.page.ended.load(Ordering::SeqCst);
            if code > 0 {
                let (code, since) = *self.ended.get_or_insert(((code - 1) as u8, Instant::now()));
                if since.elapsed() > DISAPPEARING {
                    self.leave(code);
                }
            }
            let limit = Duration::from_millis(self.page.limit_ms.load(Ordering::SeqCst));
            if let Some((signal, _)) =
                self.stop_signal.filter(|(_, when)| when.elapsed() > limit && self.ended.is_none())
            {
                self.say_what_may_remain(signal);
                self.leave(COULD_NOT_RUN);
            }
        }
    }

    /// Ends without the child, which hangs in the kernel.
    fn leave(&mut self, code: u8) -> ! {
        // It dies with the call that it is in.
        let _ = kill(self.child, Signal::SIGKILL);
        self.pass_on();
        process::exit(code.into())
    }

    fn say_what_may_remain(&mut self, signal: StopSignal) {
        self.pass_on();
        let place = hanging::of_process(self.child).map_or_else(String::new, |call| format!(" ({call})"));
        say!("ioassay-engine: stopped by {signal}, but the target does not respond{place}");
        for place in self.page.places() {
            say!("ioassay-engine: {place} may remain");
        }
        say!(
            "  try: check whether the target's server responds, read the kernel log (dmesg), then remove what is there"
        );
    }

    fn pass_on(&mut self) -> usize {
        self.relays.iter_mut().map(Relay::pass_on).sum()
    }

    /// Passes on what the command printed last to a reader that is slow, unless a signal has come or comes.
    fn pass_on_the_rest(&mut self) {
        let mut since = Instant::now();
        loop {
            if self.pass_on() > 0 {
                since = Instant::now();
            }
            let waits = self.stop_signal.is_none() && since.elapsed() < READER_LIMIT;
            if !waits || !self.relays.iter().any(Relay::has_more) {
                return;
            }
            if signals::next(POLL_INTERVAL).and_then(StopSignal::of_number).is_some() {
                return;
            }
        }
    }
}

fn end_as(ended: WaitStatus) -> ! {
    match ended {
        WaitStatus::Exited(_, code) => process::exit(code),
        WaitStatus::Signaled(_, signal, _) => {
            let _ = SigSet::all().thread_unblock();
            let _ = raise(signal);
            process::exit(COULD_NOT_RUN.into())
        }
        _ => process::exit(COULD_NOT_RUN.into()),
    }
}

/// Pipes in the place of those whose reader waits for their end: of the standard output, and of the standard error.
struct Relays([Option<Pipe>; 2]);

/// What the child prints into, which no other process has open.
struct Pipe {
    from: OwnedFd,
    to: OwnedFd,
    /// The number of what this process prints into.
    onto: RawFd,
}

impl Relays {
    fn of_own() -> io::Result<Self> {
        let (out, error) = (reader_waits(1), reader_waits(2));
        let pipe = |onto: RawFd| -> io::Result<Pipe> {
            let (from, to) = pipe2(OFlag::O_CLOEXEC)?;
            Ok(Pipe { from, to, onto })
        };
        // Where both are one, what is printed must come in its order.
        let same = out.is_some() && out == error;
        let first = out.map(|_| pipe(1)).transpose()?;
        let second = error.filter(|_| !same).map(|_| pipe(2)).transpose()?;
        let second = match (&first, second) {
            (Some(first), None) if same => {
                Some(Pipe { from: first.from.try_clone()?, to: first.to.try_clone()?, onto: 1 })
            }
            (_, second) => second,
        };
        Ok(Self([first, second]))
    }

    /// In the child: prints into them.
    fn print_into(self) -> io::Result<()> {
        let [out, error] = self.0;
        if let Some(pipe) = out {
            dup2_stdout(&pipe.to)?;
        }
        if let Some(pipe) = error {
            dup2_stderr(&pipe.to)?;
        }
        Ok(())
    }

    /// In the guard: passes on what is printed.
    fn pass_on(self) -> Vec<Relay> {
        let relay = |pipe: Pipe| {
            // SAFETY: the descriptor is open, and F_SETFL takes flags.
            unsafe { libc::fcntl(pipe.from.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
            Relay { from: File::from(pipe.from), onto: pipe.onto }
        };
        self.0.into_iter().flatten().map(relay).collect()
    }
}

/// Which pipe or socket a descriptor is, where it is one: its reader waits until the last process has closed it.
fn reader_waits(number: RawFd) -> Option<(u64, u64)> {
    // SAFETY: all zero is a valid stat.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: fstat takes any number, and `about` has room for what it stores.
    let there = unsafe { libc::fstat(number, &mut about) } == 0;
    (there && matches!(about.st_mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFSOCK))
        .then_some((about.st_dev, about.st_ino))
}

/// Passes on what is printed.
struct Relay {
    from: File,
    onto: RawFd,
}

impl Relay {
    /// Passes on what there is, as far as the reader takes it: signals must not wait for a reader. Returns how many
    /// bytes those were.
    fn pass_on(&mut self) -> usize {
        let mut bytes = [0; libc::PIPE_BUF];
        let mut passed = 0;
        while takes(self.onto) {
            let Ok(read @ 1..) = self.from.read(&mut bytes) else { break };
            passed += read;
            // SAFETY: 1 and 2 are open as long as this process lives.
            let onto = unsafe { BorrowedFd::borrow_raw(self.onto) };
            let mut rest = &bytes[..read];
            while let Ok(written @ 1..) = nix::unistd::write(onto, rest) {
                rest = &rest[written..];
            }
            // Where nobody reads any more, what is printed is lost, and the measurement goes on.
        }
        passed
    }

    /// True if there is something to pass on.
    fn has_more(&self) -> bool {
        events(self.from.as_raw_fd(), libc::POLLIN).is_some_and(|events| events & libc::POLLIN != 0)
    }
}

/// True if a write of up to PIPE_BUF bytes does not wait.
fn takes(number: RawFd) -> bool {
    events(number, libc::POLLOUT).is_some()
}

/// The events that have come on a descriptor: this one, or that something is wrong with it.
fn events(number: RawFd, event: libc::c_short) -> Option<libc::c_short> {
    let mut asked = libc::pollfd { fd: number, events: event, revents: 0 };
    // SAFETY: one pollfd, and no time to wait.
    (unsafe { libc::poll(&mut asked, 1, 0) } == 1).then_some(asked.revents)
}
