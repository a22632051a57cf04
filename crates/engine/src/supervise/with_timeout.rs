//! Calls that may never return, and that are not waited for for ever.
//!
//! Not here: the message in that case.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::unistd::{Pid, gettid};

use super::hanging;

/// How often a thread that waits looks whether it should.
pub const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A call that has not returned.
#[derive(Debug)]
pub struct Hanging {
    /// How long it was waited for.
    pub waited: Duration,
    /// The system call that it was in then, if in one.
    pub call: Option<String>,
}

/// What `operate` gives, in a thread of its own: a call that hangs blocks that thread and no other. It is left alone,
/// since nothing can end it, if it takes longer than `limit`, or when `must_stop` says that no caller waits for it any
/// more. Of a call that did return no thread is left: ranks are forked from one.
pub fn with_timeout<T: Send + 'static>(
    limit: Duration,
    must_stop: impl Fn() -> bool,
    operate: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Hanging> {
    watched(|_, waited| waited >= limit || must_stop(), operate)
}

/// As [`with_timeout`], for what may take as long as it makes progress: it is left alone when one system call on one path has taken
/// `limit`. Calls that are on no path wait for those who have limits of their own, such as servers behind sockets.
pub fn unless_stuck<T: Send + 'static>(
    limit: Duration,
    operate: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Hanging> {
    let (mut call, mut since) = (None, Instant::now());
    let stuck = |thread, _| {
        let now = hanging::call_of(thread).filter(|call| call.path.is_some());
        if now.is_none() || now != call {
            (call, since) = (now, Instant::now());
        }
        since.elapsed() >= limit
    };
    watched(stuck, operate)
}

/// What `operate` gives in a thread, unless `gives_up` says after some time that it is left alone.
fn watched<T: Send + 'static>(
    mut gives_up: impl FnMut(Pid, Duration) -> bool,
    operate: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Hanging> {
    let number = Arc::new(AtomicI32::new(0));
    let (sender, answer) = channel();
    let thread_id = Arc::clone(&number);
    let thread = std::thread::spawn(move || {
        thread_id.store(gettid().as_raw(), Ordering::SeqCst);
        // Who asked may have given up.
        let _ = sender.send(operate());
    });
    let begin = Instant::now();
    loop {
        let thread_id = || Pid::from_raw(number.load(Ordering::SeqCst));
        match answer.recv_timeout(POLL_INTERVAL) {
            Ok(done) => {
                // It has nothing left to do.
                let _ = thread.join();
                return Ok(done);
            }
            Err(RecvTimeoutError::Timeout) if !gives_up(thread_id(), begin.elapsed()) => {}
            Err(_) => {
                let call = hanging::call_of(thread_id()).map(|call| call.name);
                return Err(Hanging { waited: begin.elapsed(), call });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_on_one_path_may_not_take_longer_than_the_limit_but_many_calls_may() {
        let limit = Duration::from_millis(200);
        let pause = || std::thread::sleep(Duration::from_millis(30));
        assert_eq!(unless_stuck(limit, move || (0..20).map(|_| pause()).count()).unwrap(), 20);
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let path = pipe.clone();
        // Opening a pipe for reading waits until another process opens it for writing.
        let hanging = unless_stuck(limit, move || std::fs::File::open(path).is_ok()).unwrap_err();
        assert_eq!(hanging.call.as_deref(), Some("openat"));
        assert!(std::fs::OpenOptions::new().write(true).open(&pipe).is_ok());
    }
}
