//! Signals: which of them the program blocks itself ([`crate::masks`]), and what it does for SIGBUS, which it does not see that we have
//! a function for ([`crate::faults`]). Nothing is counted.

use core::ffi::{c_int, c_void};

use libc::{
    SA_NODEFER, SA_RESETHAND, SA_RESTART, SIG_BLOCK, SIG_ERR, SIG_IGN, SIG_SETMASK, SIG_UNBLOCK, SIGBUS,
    sigaction as Wanted,
};

use super::{hook, jumping, set_errno};
use crate::faults::{self, Action, BUS};
use crate::masks;

/// What `sigset` calls a signal that is blocked.
const SIG_HOLD: usize = 2;

/// The program changes which signals are blocked, or asks. `with` does it with another set.
///
/// # Safety
/// Each is null or a set of signals.
pub unsafe fn change_mask(
    how: c_int,
    set: *const u64,
    before: *mut u64,
    with: impl FnOnce(u64) -> c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if !faults::watches() {
        return if set.is_null() { real() } else { masks::change(real) };
    }
    let was_blocked = faults::is_blocked();
    let result = if set.is_null() {
        real()
    } else {
        // SAFETY: the caller's.
        let set = unsafe { set.read_unaligned() };
        let is_blocked = match how {
            SIG_BLOCK => was_blocked || set & BUS != 0,
            SIG_UNBLOCK => was_blocked && set & BUS == 0,
            _ => set & BUS != 0,
        };
        // First: one that waits may come at once.
        faults::note(is_blocked);
        let result = masks::change(|| with(if how == SIG_UNBLOCK { set } else { set & !BUS }));
        if result != 0 {
            faults::note(was_blocked);
        }
        result
    };
    if result == 0 && !before.is_null() {
        // SAFETY: the caller's, which the kernel has filled.
        unsafe {
            let others = before.read_unaligned() & !BUS;
            before.write_unaligned(if was_blocked { others | BUS } else { others });
        }
    }
    result
}

/// The same, of functions that take the lower half of a set and return what it was.
fn change_lower_mask(how: c_int, mask: c_int, with: impl FnOnce(c_int) -> c_int) -> c_int {
    let (set, mut before) = (u64::from(mask as u32), 0);
    let change = |set: u64| {
        before = with(set as c_int) as u32 as u64;
        0
    };
    let was_blocked = faults::watches() && faults::is_blocked();
    // SAFETY: a set, and none.
    unsafe { change_mask(how, &raw const set, core::ptr::null_mut(), change, || 0) };
    (if was_blocked { before | BUS } else { before }) as c_int
}

/// The program changes what is done for a signal, or asks. `with` does it otherwise than it wants.
///
/// # Safety
/// Each is null or an action.
unsafe fn change_action(
    signal: c_int,
    new: *const Wanted,
    before: *mut Wanted,
    with: impl FnOnce(*const Wanted) -> c_int,
) -> c_int {
    if !faults::watches() {
        return with(new);
    }
    let first_word = |set: &libc::sigset_t| (&raw const *set).cast::<u64>();
    // SAFETY: the caller's; a set of signals begins with the kernel's.
    unsafe {
        if signal == SIGBUS {
            let wanted = new.as_ref().map(|new| Action {
                function: new.sa_sigaction,
                flags: new.sa_flags as u32 as u64,
                restorer: new.sa_restorer.map_or(0, |restorer| restorer as *const () as usize),
                mask: first_word(&new.sa_mask).read(),
            });
            let was = faults::change_action(wanted);
            if let Some(before) = before.as_mut() {
                before.sa_sigaction = was.function;
                before.sa_flags = was.flags as c_int & !faults::RESTORER;
                before.sa_mask = core::mem::zeroed();
                (&raw mut before.sa_mask).cast::<u64>().write(was.mask);
            }
            return 0;
        }
        let was_blocked = faults::is_blocked_with(signal);
        let mut others = new.as_ref().copied();
        if let Some(others) = &mut others {
            let mask = faults::without_bus(signal, first_word(&others.sa_mask).read());
            (&raw mut others.sa_mask).cast::<u64>().write(mask);
        }
        let result = with(others.as_ref().map_or(core::ptr::null(), |others| &raw const *others));
        if result == 0 && was_blocked && !before.is_null() {
            let mask = (&raw mut (*before).sa_mask).cast::<u64>();
            mask.write(mask.read() | BUS);
        }
        result
    }
}

/// The program changes what is done for a signal, by a function that takes no more than that. What it was.
fn simple_action(
    signal: c_int,
    function: *mut c_void,
    flags: c_int,
    real: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    if signal != SIGBUS || !faults::watches() {
        return real();
    }
    if function as usize == SIG_ERR {
        set_errno(libc::EINVAL);
        return function;
    }
    let mask = if flags & SA_NODEFER == 0 { BUS } else { 0 };
    let wanted = Action { function: function as usize, flags: flags as u32 as u64, restorer: 0, mask };
    faults::change_action(Some(wanted)).function as *mut c_void
}

hook! {
    fn sigprocmask | pthread_sigmask(how: c_int, set: *const c_void, before: *mut c_void) -> c_int |real| {
        // SAFETY: the caller's: each is null or a set of the C library, whose first word is that of the kernel.
        unsafe {
            change_mask(how, set.cast(), before.cast(), |set| {
                let mut others: libc::sigset_t = core::mem::zeroed();
                (&raw mut others).cast::<u64>().write(set);
                replaced(how, (&raw const others).cast(), before)
            }, real)
        }
    }
    fn sigblock(mask: c_int) -> c_int |_real| {
        // SAFETY: the caller's.
        change_lower_mask(SIG_BLOCK, mask, |mask| unsafe { replaced(mask) })
    }
    fn sigsetmask(mask: c_int) -> c_int |_real| {
        // SAFETY: the caller's.
        change_lower_mask(SIG_SETMASK, mask, |mask| unsafe { replaced(mask) })
    }
    fn sighold(signal: c_int) -> c_int |real| {
        if signal == SIGBUS && faults::watches() {
            faults::note(true);
            return 0;
        }
        masks::change(real)
    }
    fn sigrelse(signal: c_int) -> c_int |real| {
        if signal == SIGBUS && faults::watches() {
            faults::note(false);
        }
        masks::change(real)
    }
    fn sigset(signal: c_int, action: *mut c_void) -> *mut c_void |real| {
        if signal != SIGBUS || !faults::watches() {
            return masks::change(real);
        }
        let holds = action as usize == SIG_HOLD;
        let was = if holds { faults::change_action(None).function } else { simple_action(signal, action, 0, real) as usize };
        let was_blocked = faults::is_blocked();
        if holds {
            faults::note(true);
        } else {
            // SAFETY: it takes a number.
            unsafe { sigrelse(signal) };
        }
        (if was_blocked { SIG_HOLD } else { was }) as *mut c_void
    }
    fn sigignore(signal: c_int) -> c_int |real| {
        if signal != SIGBUS || !faults::watches() {
            return real();
        }
        simple_action(signal, SIG_IGN as *mut c_void, 0, core::ptr::null_mut);
        0
    }
    fn siginterrupt(signal: c_int, interrupts: c_int) -> c_int |real| {
        if signal != SIGBUS || !faults::watches() {
            return real();
        }
        let mut action = faults::change_action(None);
        let restarts = SA_RESTART as u64;
        action.flags = if interrupts == 0 { action.flags | restarts } else { action.flags & !restarts };
        faults::change_action(Some(action));
        0
    }
    fn sigaction | __sigaction(signal: c_int, new: *const Wanted, before: *mut Wanted) -> c_int |_real| {
        // SAFETY: the caller's: each is null or an action.
        unsafe { change_action(signal, new, before, |new| replaced(signal, new, before)) }
    }
    fn signal | bsd_signal | ssignal(signal: c_int, function: *mut c_void) -> *mut c_void |real| {
        simple_action(signal, function, SA_RESTART, real)
    }
    fn sysv_signal | __sysv_signal(signal: c_int, function: *mut c_void) -> *mut c_void |real| {
        simple_action(signal, function, SA_RESETHAND | SA_NODEFER, real)
    }
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
