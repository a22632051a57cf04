//! The process restricts itself: system calls that it still may make, and whether it may read the processor's counter.

use core::ffi::{c_int, c_long, c_ulong};

use super::{Returned, hook};
use crate::process;

/// Reading the counter ends in a signal.
const NO_COUNTER: c_ulong = libc::PR_TSC_SIGSEGV as c_ulong;

#[inline(always)]
pub fn control<R: Returned>(option: c_int, argument: c_ulong, real: impl FnOnce() -> R) -> R {
    match option {
        libc::PR_SET_SECCOMP => restrict(real),
        // The kernel's own clock in the process's memory reads it as well: nothing can be measured any more.
        libc::PR_SET_TSC if argument == NO_COUNTER => {
            if !process::in_vfork_child() {
                process::end();
            }
            real()
        }
        _ => real(),
    }
}

/// From now on only some system calls are let through. Where that fails, for programs try it out, nothing has changed.
#[cold]
pub fn restrict<R: Returned>(real: impl FnOnce() -> R) -> R {
    if process::in_vfork_child() || !process::system_calls_allowed() {
        return real();
    }
    process::seal();
    let result = real();
    if result.failed() {
        process::unseal();
    }
    result
}

/// The system call `seccomp`, which has further operations that only ask.
#[cold]
pub fn filter(operation: c_long, real: impl FnOnce() -> c_long) -> c_long {
    match operation as u32 {
        libc::SECCOMP_SET_MODE_STRICT | libc::SECCOMP_SET_MODE_FILTER => restrict(real),
        _ => real(),
    }
}

hook! {
    fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int |real| { control(option, a, real) }
}
