//! Files in memory, and what the kernel is advised of their use.
//!
//! Allocators map anonymous memory here, so that only passes through. `madvise` has no hook: nobody remembers which file
//! is mapped where.

use core::ffi::{c_int, c_void};

use ioassay_record::operation::Operation::{Advise, Map};
use libc::{off64_t, size_t, ssize_t};

use super::data::moved;
use super::{done_unless, errno, hook, on_descriptor};
use crate::call::{self, Outcome};

#[inline(always)]
pub fn map(bytes: size_t, flags: c_int, descriptor: c_int, offset: off64_t, real: impl FnOnce() -> isize) -> isize {
    if flags & libc::MAP_ANONYMOUS != 0 {
        return real();
    }
    let call = call::on_descriptor(Map, descriptor);
    let address = real();
    match call {
        Some((call, _)) if address == -1 => call::end(call, Outcome::Failed(errno())),
        Some((call, slot)) => moved(call, slot, offset as u64, bytes as ssize_t),
        None => {}
    }
    address
}

#[inline(always)]
fn advise(descriptor: c_int, real: impl FnOnce() -> c_int) -> c_int {
    done_unless(call::on_descriptor(Advise, descriptor).map(|(call, _)| call), real)
}

hook! {
    fn mmap | mmap64(
        address: *mut c_void, bytes: size_t, protection: c_int, flags: c_int, descriptor: c_int, offset: off64_t,
    ) -> isize |real| {
        map(bytes, flags, descriptor, offset, real)
    }
    fn posix_fadvise | posix_fadvise64(
        descriptor: c_int, offset: off64_t, bytes: off64_t, advice: c_int,
    ) -> c_int |real| {
        advise(descriptor, real)
    }
    fn readahead(descriptor: c_int, offset: off64_t, bytes: size_t) -> ssize_t |real| {
        on_descriptor(Advise, descriptor, real)
    }
}
