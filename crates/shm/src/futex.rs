//! Sleeping and waking on a word of shared memory.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// How often a sleeper looks whether it still has a reason to wait. Whoever has something for it wakes it; more often than this
/// would only take processor time from ranks that still work.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Sleeps while `word` is `value`, at most [`POLL_INTERVAL`].
pub fn wait(word: &AtomicU32, value: u32) {
    wait_for(word, value, POLL_INTERVAL);
}

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
