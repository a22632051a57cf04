//! Signals: which of them the program blocks itself. Nothing is counted, and nothing changed ([`crate::masks`]).

use core::ffi::{c_int, c_void};

use super::{hook, jumping};
use crate::masks;

hook! {
    fn sigprocmask | pthread_sigmask(how: c_int, set: *const c_void, before: *mut c_void) -> c_int |real| {
        if set.is_null() { real() } else { masks::change(real) }
    }
    fn sigblock | sigsetmask(mask: c_int) -> c_int |real| { masks::change(real) }
    fn sighold | sigrelse(signal: c_int) -> c_int |real| { masks::change(real) }
    fn sigset(signal: c_int, action: *mut c_void) -> *mut c_void |real| { masks::change(real) }
    fn sigsuspend(mask: *const c_void) -> c_int |real| { masks::wait(true, real) }
    fn sigpause | __xpg_sigpause(signal: c_int) -> c_int |real| { masks::wait(true, real) }
    fn ppoll(descriptors: *mut c_void, count: usize, limit: *const c_void, mask: *const c_void) -> c_int |real| {
        masks::wait(!mask.is_null(), real)
    }
    fn __ppoll_chk(
        descriptors: *mut c_void, count: usize, limit: *const c_void, mask: *const c_void, room: usize,
    ) -> c_int |real| {
        masks::wait(!mask.is_null(), real)
    }
    fn pselect(
        most: c_int,
        reads: *mut c_void,
        writes: *mut c_void,
        others: *mut c_void,
        limit: *const c_void,
        mask: *const c_void,
    ) -> c_int |real| {
        masks::wait(!mask.is_null(), real)
    }
    fn epoll_pwait(
        descriptor: c_int, events: *mut c_void, most: c_int, limit: c_int, mask: *const c_void,
    ) -> c_int |real| {
        masks::wait(!mask.is_null(), real)
    }
    fn epoll_pwait2(
        descriptor: c_int, events: *mut c_void, most: c_int, limit: *const c_void, mask: *const c_void,
    ) -> c_int |real| {
        masks::wait(!mask.is_null(), real)
    }
    // Of libaio.
    fn io_pgetevents(
        context: *mut c_void,
        least: isize,
        most: isize,
        events: *mut c_void,
        limit: *mut c_void,
        mask: *const c_void,
    ) -> c_int |real| {
        masks::wait(!mask.is_null(), real)
    }
}

/// Where a `jmp_buf` says whether signals are saved; they follow. The same in the C libraries of GNU and musl.
const JUMP_SAVED: usize = if cfg!(target_arch = "x86_64") { 64 } else { 176 };

/// A jump to where `sigsetjmp` was called.
unsafe fn jumps(to: *const u8, _: *const u8) {
    // SAFETY: the caller's: a `jmp_buf` that was filled, or the jump goes astray in any case.
    unsafe {
        if to.add(JUMP_SAVED).cast::<c_int>().read_unaligned() != 0 {
            masks::restore(to.add(JUMP_SAVED + 8).cast::<u64>().read_unaligned());
        }
    }
}

/// Where a context has its signals.
const CONTEXT_SAVED: usize = core::mem::offset_of!(libc::ucontext_t, uc_sigmask);

unsafe fn sets_context(to: *const u8, _: *const u8) {
    // SAFETY: the caller's: a context that was filled.
    unsafe { masks::restore(to.add(CONTEXT_SAVED).cast::<u64>().read_unaligned()) };
}

unsafe fn swaps_context(_: *const u8, to: *const u8) {
    // SAFETY: the same.
    unsafe { sets_context(to, to) };
}

jumping! {
    fn longjmp() by jumps;
    fn _longjmp() by jumps;
    fn siglongjmp() by jumps;
    fn __longjmp_chk() by jumps;
    fn setcontext() by sets_context;
    fn swapcontext() by swaps_context;
}
