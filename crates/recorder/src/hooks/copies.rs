//! Copying within the kernel. The source is counted as [`CopyFrom`] with the time that it took, the destination as
//! [`CopyTo`] with none.

use core::ffi::{c_int, c_uint};

use ioassay_record::operation::Operation::{CopyFrom, CopyTo};
use libc::{off64_t, size_t, ssize_t};

use super::data::moved;
use super::{errno, hook};
use crate::call::{self, Outcome};
use crate::descriptors::Slot;

/// A descriptor, and where in it: null is where it is, which moves on.
pub type End = (c_int, *const off64_t);

/// Where `bytes` were moved that ended at an offset, or where the descriptor is.
fn begin(slot: &Slot, offset: *const off64_t, bytes: ssize_t) -> u64 {
    if offset.is_null() {
        slot.advance(bytes as u64)
    } else {
        // SAFETY: the kernel has just written the new offset there.
        unsafe { offset.read_unaligned() }.wrapping_sub(bytes as i64) as u64
    }
}

#[inline(always)]
pub fn copy(from: End, to: End, real: impl FnOnce() -> ssize_t) -> ssize_t {
    let call = call::on_descriptor(CopyFrom, from.0);
    let bytes = real();
    let Some((call, slot)) = call else { return bytes };
    if bytes < 0 {
        call::end(call, Outcome::Failed(errno()));
        return bytes;
    }
    moved(call, slot, begin(slot, from.1, bytes), bytes);
    if let Some((call, slot)) = call::on_descriptor(CopyTo, to.0) {
        moved(call, slot, begin(slot, to.1, bytes), bytes);
    }
    bytes
}

hook! {
    fn sendfile | sendfile64(to: c_int, from: c_int, offset: *mut off64_t, count: size_t) -> ssize_t |real| {
        copy((from, offset), (to, core::ptr::null()), real)
    }
    fn copy_file_range | splice(
        from: c_int, from_offset: *mut off64_t, to: c_int, to_offset: *mut off64_t, count: size_t, flags: c_uint,
    ) -> ssize_t |real| {
        copy((from, from_offset), (to, to_offset), real)
    }
}
