//! Changes of descriptors: closed, duplicated, moved to another position of the file.

use core::ffi::{c_int, c_uint};
use core::sync::atomic::Ordering::Relaxed;

use ioassay_record::operation::Operation::{self, Close, Seek};
use libc::off64_t;

use super::{Returned, done, hook, on_none, outcome};
use crate::{call, descriptors, files};

#[inline(always)]
pub fn seek(descriptor: c_int, real: impl FnOnce() -> off64_t) -> off64_t {
    let Some((call, slot)) = call::on_descriptor(Seek, descriptor) else { return real() };
    let position = done(Some(call), real);
    if position >= 0 {
        slot.position.store(position as u64, Relaxed);
        // The stream's place in its buffer is no longer that of the descriptor.
        slot.stream.store(0, Relaxed);
    }
    position
}

/// A descriptor is closed, which counts as a call of that operation.
#[inline(always)]
pub fn close_as<R: Returned>(operation: Operation, descriptor: c_int, real: impl FnOnce() -> R) -> R {
    // Before it is closed: afterwards another thread may have it again.
    let call = call::on_found(operation, || descriptors::forget(descriptor));
    let result = real();
    if let Some(call) = call {
        call::end_and(call, outcome(result), |ended| files::closed(call.file, ended));
    }
    result
}

/// All descriptors from the first to the last are closed, which counts as one call.
pub fn close_all<R: Returned>(first: c_uint, last: c_uint, flags: c_int, real: impl FnOnce() -> R) -> R {
    if flags & libc::CLOSE_RANGE_CLOEXEC as c_int != 0 {
        return real();
    }
    call::update(|| descriptors::forget_range(first, last));
    on_none(Close, real)
}

#[inline(always)]
pub fn duplicate(descriptor: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let new = real();
    if new >= 0 {
        call::update(|| descriptors::duplicate(descriptor, new));
    }
    new
}

hook! {
    fn close | __close(descriptor: c_int) -> c_int |real| { close_as(Close, descriptor, real) }
    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int |real| { close_all(first, last, flags, real) }
    fn closefrom(first: c_int) -> () |real| { close_all(first.max(0) as c_uint, c_uint::MAX, 0, real) }
    fn lseek | lseek64 | __lseek(descriptor: c_int, offset: off64_t, whence: c_int) -> off64_t |real| {
        seek(descriptor, real)
    }
    fn dup(descriptor: c_int) -> c_int |real| { duplicate(descriptor, real) }
    fn dup2 | __dup2(descriptor: c_int, new: c_int) -> c_int |real| { duplicate(descriptor, real) }
    fn dup3(descriptor: c_int, new: c_int, flags: c_int) -> c_int |real| { duplicate(descriptor, real) }
}
