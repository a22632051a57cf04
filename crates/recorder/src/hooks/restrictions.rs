//! The process restricts itself: system calls that it still may make, and whether it may read the processor's counter.

use core::ffi::{c_int, c_long, c_ulong};

use super::{Returned, hook};
use crate::process;

/// Reading the counter ends in a signal.
const NO_COUNTER: c_ulong = libc::PR_TSC_SIGSEGV as c_ulong;

/// `SECCOMP_MODE_STRICT`: it forbids the counter as well.
const STRICT: c_ulong = libc::SECCOMP_MODE_STRICT as c_ulong;

#[inline(always)]
pub fn control<R: Returned>(option: c_int, argument: c_ulong, real: impl FnOnce() -> R) -> R {
    match (option, argument) {
        (libc::PR_SET_SECCOMP, STRICT) | (libc::PR_SET_TSC, NO_COUNTER) => without_counter(real),
        (libc::PR_SET_SECCOMP, _) => filter(real),
        _ => real(),
    }
}

/// The system call `seccomp`, which has further operations that only ask.
#[inline(always)]
pub fn seccomp(operation: c_long, real: impl FnOnce() -> c_long) -> c_long {
    match operation as u32 {
        libc::SECCOMP_SET_MODE_STRICT => without_counter(real),
        libc::SECCOMP_SET_MODE_FILTER => filter(real),
        _ => real(),
    }
}

/// From now on only some system calls are let through. Where that fails, for programs try it out, nothing has changed.
#[cold]
fn filter<R: Returned>(real: impl FnOnce() -> R) -> R {
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

/// From now on reading the counter ends in a signal, also by the kernel's own clock in the process's memory: nothing
/// can be measured any more.
#[cold]
fn without_counter<R>(real: impl FnOnce() -> R) -> R {
    if !process::in_vfork_child() {
        process::end_for_good();
    }
    real()
}

hook! {
    fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int |real| { control(option, a, real) }
}
