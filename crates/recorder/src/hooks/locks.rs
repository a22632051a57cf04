//! Locks of files, and the rest of `fcntl`.

use core::ffi::c_int;

use ioassay_record::operation::Operation::Lock;
use libc::off64_t;

use super::descriptors::duplicate;
use super::{hook, on_descriptor};

#[inline(always)]
pub fn control(descriptor: c_int, command: c_int, real: impl FnOnce() -> c_int) -> c_int {
    match command {
        libc::F_GETLK | libc::F_SETLK | libc::F_SETLKW | libc::F_OFD_GETLK | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {
            on_descriptor(Lock, descriptor, real)
        }
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => duplicate(descriptor, real),
        _ => real(),
    }
}

hook! {
    fn fcntl | fcntl64 | __fcntl(descriptor: c_int, command: c_int, argument: usize) -> c_int |real| {
        control(descriptor, command, real)
    }
    fn flock(descriptor: c_int, operation: c_int) -> c_int |real| { on_descriptor(Lock, descriptor, real) }
    fn lockf | lockf64(descriptor: c_int, command: c_int, bytes: off64_t) -> c_int |real| {
        on_descriptor(Lock, descriptor, real)
    }
}
