//! Sleeping and waking on a word of shared memory.

use std::time::Duration;

use crate::sync::AtomicU32;

pub use self::kernel::{wait_for, wake_all};

/// How often a sleeper checks whether it still has a reason to wait. A process that has something for it wakes it; more
/// often than this would only take processor time from ranks that still work.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Sleeps while `word` is `value`, at most [`POLL_INTERVAL`].
pub fn wait(word: &AtomicU32, value: u32) {
    wait_for(word, value, POLL_INTERVAL);
}

#[cfg(not(feature = "loom"))]
mod kernel {
    use super::*;

    /// Sleeps while `word` is `value`, at most for `limit`, which is less than a second.
    pub fn wait_for(word: &AtomicU32, value: u32, limit: Duration) {
        let limit = libc::timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
        // SAFETY: the word and the time limit live through the call; FUTEX_WAIT without FUTEX_PRIVATE_FLAG works
        // across processes. Errors (woken early, value changed, time over) all mean: look again.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &limit) };
    }

    /// Wakes all who sleep on `word`.
    pub fn wake_all(word: &AtomicU32) {
        // SAFETY: as above.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }
}

#[cfg(feature = "loom")]
mod kernel {
    use loom::sync::{Condvar, Mutex};

    use super::*;
    #[cfg(test)]
    use crate::sync::model::{SLEEP, Sleep};

    loom::lazy_static! {
        /// The kernel's queue of sleepers, one for all words: who is woken for another's word looks again.
        static ref SLEEPERS: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    /// As in the kernel, the word is compared in the queue's lock, so that a wake-up cannot fall between.
    pub fn wait_for(word: &AtomicU32, value: u32, _limit: Duration) {
        #[cfg(test)]
        if SLEEP.get() == Sleep::AtAnyTime {
            return loom::thread::yield_now();
        }
        let (queue, woken) = &*SLEEPERS;
        let queue = queue.lock().expect("no model panics in here");
        if word.load(std::sync::atomic::Ordering::SeqCst) == value {
            drop(woken.wait(queue));
        }
    }

    /// Wakes all who sleep.
    pub fn wake_all(_word: &AtomicU32) {
        let (queue, woken) = &*SLEEPERS;
        let _queue = queue.lock();
        woken.notify_all();
    }
}
