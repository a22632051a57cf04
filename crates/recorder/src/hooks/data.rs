//! Reading and writing: `read`, `write`, and their like with offsets, vectors and flags.
//!
//! How many bytes vectors are for is known afterwards: their addresses only the kernel may look at.
//!
//! Names with two underscores are those by which libraries of the C library's own age call the same.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use ioassay_record::operation::Operation::{Read, Write};
use libc::{iovec, off64_t, size_t, ssize_t};

use super::{errno, hook};
use crate::call::{self, Call, Outcome};
use crate::descriptors::Slot;

/// A transfer from where the descriptor is, which moves on.
#[inline(always)]
pub fn at_position(call: Option<(Call, &'static Slot)>, real: impl FnOnce() -> ssize_t) -> ssize_t {
    transfer(call, None, real)
}

/// A transfer from an offset; -1 is where the descriptor is.
#[inline(always)]
pub fn at_offset(call: Option<(Call, &'static Slot)>, offset: off64_t, real: impl FnOnce() -> ssize_t) -> ssize_t {
    transfer(call, (offset != -1).then_some(offset as u64), real)
}

#[inline(always)]
fn transfer(call: Option<(Call, &'static Slot)>, offset: Option<u64>, real: impl FnOnce() -> ssize_t) -> ssize_t {
    let bytes = real();
    if let Some((call, slot)) = call {
        if bytes < 0 {
            call::end(call, Outcome::Failed(errno()));
        } else {
            moved(call, slot, offset.unwrap_or_else(|| slot.advance(bytes as u64)), bytes);
        }
    }
    bytes
}

/// It moved so many bytes, from that offset on.
#[inline(always)]
pub fn moved(call: Call, slot: &Slot, offset: u64, bytes: ssize_t) {
    let block_bytes = slot.block_bytes.load(Relaxed);
    call::end(call, Outcome::Moved { bytes: bytes as u64, offset: Some(offset), block_bytes });
}

hook! {
    fn read | __read(descriptor: c_int, bytes: *mut c_void, count: size_t) -> ssize_t |real| {
        at_position(call::transfer_on(Read, descriptor, count), real)
    }
    fn __read_chk(descriptor: c_int, bytes: *mut c_void, count: size_t, room: size_t) -> ssize_t |real| {
        at_position(call::transfer_on(Read, descriptor, count), real)
    }
    fn readv(descriptor: c_int, vector: *const iovec, count: c_int) -> ssize_t |real| {
        at_position(call::on_descriptor(Read, descriptor), real)
    }
    fn pread | pread64 | __pread64(
        descriptor: c_int, bytes: *mut c_void, count: size_t, offset: off64_t,
    ) -> ssize_t |real| {
        at_offset(call::transfer_on(Read, descriptor, count), offset, real)
    }
    fn __pread_chk | __pread64_chk(
        descriptor: c_int, bytes: *mut c_void, count: size_t, offset: off64_t, room: size_t,
    ) -> ssize_t |real| {
        at_offset(call::transfer_on(Read, descriptor, count), offset, real)
    }
    fn preadv | preadv64(descriptor: c_int, vector: *const iovec, count: c_int, offset: off64_t) -> ssize_t |real| {
        at_offset(call::on_descriptor(Read, descriptor), offset, real)
    }
    fn preadv2 | preadv64v2(
        descriptor: c_int, vector: *const iovec, count: c_int, offset: off64_t, flags: c_int,
    ) -> ssize_t |real| {
        at_offset(call::on_descriptor(Read, descriptor), offset, real)
    }
    fn write | __write(descriptor: c_int, bytes: *const c_void, count: size_t) -> ssize_t |real| {
        at_position(call::transfer_on(Write, descriptor, count), real)
    }
    fn writev(descriptor: c_int, vector: *const iovec, count: c_int) -> ssize_t |real| {
        at_position(call::on_descriptor(Write, descriptor), real)
    }
    fn pwrite | pwrite64 | __pwrite64(
        descriptor: c_int, bytes: *const c_void, count: size_t, offset: off64_t,
    ) -> ssize_t |real| {
        at_offset(call::transfer_on(Write, descriptor, count), offset, real)
    }
    fn pwritev | pwritev64(descriptor: c_int, vector: *const iovec, count: c_int, offset: off64_t) -> ssize_t |real| {
        at_offset(call::on_descriptor(Write, descriptor), offset, real)
    }
    fn pwritev2 | pwritev64v2(
        descriptor: c_int, vector: *const iovec, count: c_int, offset: off64_t, flags: c_int,
    ) -> ssize_t |real| {
        at_offset(call::on_descriptor(Write, descriptor), offset, real)
    }
}
