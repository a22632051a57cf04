//! Whether a signal handler is running, where the recorder is about to sleep: a handler must not.
//!
//! The kernel blocks the signal of a handler while that runs. So a signal that is blocked, and that the program has not blocked
//! itself, says that there is a handler. What the program has blocked is known by the functions with which it does so
//! (`hooks/signals.rs`); they only look on, and only where there is a file of rules. What a thread has at its beginning it has from
//! the thread that made it.
//!
//! In doubt it is a handler, and the call is not held back: after a `longjmp` out of a handler that left its signal blocked, or
//! with another context of `swapcontext`. While a function waits with another set of signals (`sigsuspend`, `ppoll`), all that runs
//! is a handler. Not seen is one that lets its own signal come again (`SA_NODEFER`) and blocks no other, on the thread's own stack.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::thread_words::{ThreadWords, beneath, stack, words};
use crate::{process, rules, sys};

/// Signals that threads had blocked which made others.
static PASSED_ON: AtomicU64 = AtomicU64::new(0);

/// Whether it is looked on at all: there may be rules, and the memory is not a parent's.
#[inline(always)]
fn looks_on() -> bool {
    rules::watched() && process::system_calls_allowed() && !process::in_vfork_child()
}

/// The program begins: no handler runs yet.
pub fn begin() {
    if looks_on() {
        keep(words(), blocked());
    }
}

/// The calling thread makes another, which will have the same signals blocked.
pub fn pass_on() {
    if looks_on() {
        let words = words();
        if !in_handler(words) {
            PASSED_ON.fetch_or(words.own_mask.load(Relaxed), Relaxed);
        }
    }
}

/// The program changes which signals are blocked. In a handler that does not count: when it ends, the kernel puts all back.
pub fn change<R>(real: impl FnOnce() -> R) -> R {
    if !looks_on() {
        return real();
    }
    let words = words();
    let in_handler = in_handler(words);
    let result = real();
    if !in_handler {
        keep(words, blocked());
    }
    result
}

/// The program waits for something with another set of signals blocked, if `changes`.
pub fn wait<R>(changes: bool, real: impl FnOnce() -> R) -> R {
    if !changes || !looks_on() {
        return real();
    }
    let words = words();
    let before = words.waits_at.load(Relaxed);
    words.waits_at.store(stack(), Relaxed);
    let result = real();
    words.waits_at.store(before, Relaxed);
    result
}

/// The program is about to be where other signals were blocked; `saved` are those. A handler's own may be among them.
pub fn restore(saved: u64) {
    if looks_on() {
        words().own_mask.fetch_and(saved, Relaxed);
    }
}

/// Whether the calling thread is in a signal handler, or may be.
pub fn in_handler(words: &ThreadWords) -> bool {
    let waits_at = words.waits_at.load(Relaxed);
    if waits_at != 0 && beneath(stack(), waits_at) {
        return true;
    }
    let blocked = blocked();
    if words.mask_known.load(Relaxed) == 0 {
        keep(words, first(blocked));
    }
    let own_mask = words.own_mask.load(Relaxed);
    if blocked & !own_mask != 0 {
        return true;
    }
    // What was let come again by means that are not seen.
    words.own_mask.store(own_mask & blocked, Relaxed);
    process::on_signal_stack()
}

fn keep(words: &ThreadWords, mask: u64) {
    words.own_mask.store(mask, Relaxed);
    words.mask_known.store(1, Relaxed);
}

/// Of the signals that are blocked when a thread is first asked for, those that no handler can have blocked: there is none for
/// them, or they have come with the thread.
fn first(blocked: u64) -> u64 {
    let doubtful = blocked & !PASSED_ON.load(Relaxed);
    (1..=64)
        .filter(|signal| doubtful >> (signal - 1) & 1 == 1 && has_handler(*signal))
        .fold(blocked, |mask, signal| mask & !(1 << (signal - 1)))
}

/// The signals that the kernel does not deliver to the thread now.
fn blocked() -> u64 {
    let mut mask = 0_u64;
    // SAFETY: the kernel only writes the mask, of the size that it has.
    unsafe { sys::call(libc::SYS_rt_sigprocmask, [0, 0, &raw mut mask as usize, size_of::<u64>(), 0, 0]) };
    mask
}

/// Whether a function of the program is called for a signal.
fn has_handler(signal: u32) -> bool {
    /// `struct sigaction` of the kernel: the function first.
    #[repr(C)]
    struct Action {
        function: usize,
        others: [u64; 3],
    }
    let mut action = Action { function: 0, others: [0; 3] };
    let arguments = [signal as usize, 0, &raw mut action as usize, size_of::<u64>(), 0, 0];
    // SAFETY: the kernel only writes the structure, which is at least as long as its own.
    unsafe { sys::call(libc::SYS_rt_sigaction, arguments) };
    ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.function)
}
