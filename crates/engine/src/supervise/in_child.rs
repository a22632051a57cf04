//! Work in a child process, which can be left behind when it hangs in the kernel.
//!
//! A thread that hangs ([`super::with_timeout`]) keeps its process from ending, and needs the [`super::guard`] for that. A child
//! keeps nobody: its parent ends, prints and closes its files as usual. The child has none of the parent's standard input,
//! output and error, so that their readers do not wait for it.
//!
//! Not here: the message about a child that hangs.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stderr, dup2_stdin, dup2_stdout, fork, getpid, getppid, pipe2};

use super::hanging::{self, Call};

/// How long a child that has answered, or was killed, may take to disappear.
const DISAPPEARING: Duration = Duration::from_millis(300);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// How many bytes say how long an answer is.
const LENGTH_BYTES: usize = size_of::<u64>();

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// It has taken too long, in this system call where the kernel says so. It was killed, and may still hang.
    Hanging {
        /// How long it was waited for.
        waited: Duration,
        /// Where it hangs.
        call: Option<Call>,
    },
    /// The child could not be started, or ended without an answer.
    Failed(io::Error),
}

/// What `work` returns, done by a child that is killed after `limit`.
///
/// # Errors
/// If there is no answer. There may be no other thread.
pub fn in_child(limit: Duration, work: impl FnOnce() -> Vec<u8>) -> Result<Vec<u8>, Unanswered> {
    let parent = getpid();
    let begin = Instant::now();
    super::one_thread::check().map_err(Unanswered::Failed)?;
    let (from, to) = pipe2(OFlag::O_CLOEXEC).map_err(failed)?;
    // SAFETY: there is no other thread, as has just been checked, so the child may go on like any program.
    match unsafe { fork() }.map_err(failed)? {
        ForkResult::Child => {
            drop(from);
            let work = std::panic::AssertUnwindSafe(|| answer(parent, to, work));
            let is_done = matches!(std::panic::catch_unwind(work), Ok(Ok(())));
            // SAFETY: ends the process without running what the parent registered to run at its own exit.
            unsafe { libc::_exit(i32::from(!is_done)) }
        }
        ForkResult::Parent { child } => {
            drop(to);
            let read = read_answer(File::from(from), begin + limit);
            let call = read.is_none().then(|| hanging::call_of(child)).flatten();
            if !matches!(read, Some(Ok(_))) {
                let _ = kill(child, Signal::SIGKILL);
            }
            let status = reap(child);
            match read {
                None => Err(Unanswered::Hanging { waited: begin.elapsed(), call }),
                Some(Ok(answer)) => Ok(answer),
                Some(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    let how = status.map_or_else(|| "without an answer".to_owned(), |status| format!("{status:?}"));
                    Err(Unanswered::Failed(io::Error::other(format!("a process of the engine ended: {how}"))))
                }
                Some(Err(error)) => Err(Unanswered::Failed(error)),
            }
        }
    }
}

fn failed(errno: Errno) -> Unanswered {
    Unanswered::Failed(errno.into())
}

/// In the child: does the work and writes its answer, after the answer's length.
fn answer(parent: Pid, to: OwnedFd, work: impl FnOnce() -> Vec<u8>) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    if getppid() != parent {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let answer = work();
    let mut to = File::from(to);
    to.write_all(&(answer.len() as u64).to_le_bytes())?;
    to.write_all(&answer)
}

/// The answer; `None` if it has not come by then. Its end is known by its length, since others may keep the pipe open.
fn read_answer(mut from: File, deadline: Instant) -> Option<io::Result<Vec<u8>>> {
    let _ = nix::fcntl::fcntl(&from, nix::fcntl::FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
    let (mut bytes, mut buffer) = (Vec::new(), [0; 64 << 10]);
    loop {
        if let Some((length, answer)) = bytes.split_first_chunk::<LENGTH_BYTES>() {
            let length = u64::from_le_bytes(*length) as usize;
            if answer.len() >= length {
                return Some(Ok(answer[..length].to_vec()));
            }
        }
        match from.read(&mut buffer) {
            Ok(0) => return Some(Err(io::ErrorKind::UnexpectedEof.into())),
            Ok(read) => bytes.extend(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return None;
                }
                let mut waiting = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
                let _ = poll(&mut waiting, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Some(Err(error)),
        }
    }
}

/// How the child ended; `None` if it hangs, and is left behind.
fn reap(child: Pid) -> Option<WaitStatus> {
    let begin = Instant::now();
    loop {
        match waitpid(child, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) if begin.elapsed() < DISAPPEARING => std::thread::sleep(POLL_INTERVAL),
            Ok(WaitStatus::StillAlive) => return None,
            Ok(status) => return Some(status),
            Err(Errno::EINTR) => {}
            Err(_) => return None,
        }
    }
}
