//! Files in memory, and what the kernel is advised of their use.
//!
//! Allocators map and unmap anonymous memory here, so that only passes through.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use ioassay_record::operation::Operation::{Advise, Map};
use libc::{off64_t, size_t, ssize_t};

use super::{done_unless, errno, hook, on_descriptor};
use crate::call::{self, Outcome};
use crate::maps::{self, Wish};

#[inline(always)]
pub fn map(address: usize, wish: Wish, real: impl FnOnce() -> isize) -> isize {
    if wish.flags & libc::MAP_FIXED != 0 {
        unmap(address, wish.bytes);
    }
    if wish.flags & libc::MAP_ANONYMOUS != 0 {
        return real();
    }
    let stored = maps::look_at(wish);
    let call = call::on_descriptor(Map, wish.descriptor);
    let address = real();
    match call {
        Some((call, _)) if address == -1 => call::end(call, Outcome::Failed(errno())),
        Some((call, slot)) => {
            let block_bytes = slot.block_bytes.load(Relaxed);
            let outcome = Outcome::Moved { bytes: wish.bytes as u64, offset: Some(wish.offset), block_bytes };
            call::end_and(call, outcome, |now| {
                if let Some(stored) = stored {
                    maps::mapped(stored, wish, call.file, address as usize, now);
                }
            });
        }
        None => {}
    }
    address
}

pub use maps::unmapping as unmap;

#[inline(always)]
pub fn remap([address, bytes, new_bytes, flags, new_address]: [usize; 5], real: impl FnOnce() -> isize) -> isize {
    if flags & libc::MREMAP_FIXED as usize != 0 {
        unmap(new_address, new_bytes);
    }
    let moving = maps::moving(address, bytes, new_bytes);
    let moved_to = real();
    if let Some(moving) = moving {
        moving.done((moved_to != -1).then_some(moved_to as usize), new_bytes);
    }
    moved_to
}

#[inline(always)]
fn advise(descriptor: c_int, real: impl FnOnce() -> c_int) -> c_int {
    done_unless(call::on_descriptor(Advise, descriptor).map(|(call, _)| call), real)
}

hook! {
    fn mmap | mmap64(
        address: *mut c_void, bytes: size_t, protection: c_int, flags: c_int, descriptor: c_int, offset: off64_t,
    ) -> isize |real| {
        map(address as usize, Wish { bytes, protection, flags, descriptor, offset: offset as u64 }, real)
    }
    fn munmap(address: *mut c_void, bytes: size_t) -> c_int |real| {
        unmap(address as usize, bytes);
        real()
    }
    fn mremap(address: *mut c_void, bytes: size_t, new_bytes: size_t, flags: c_int, new_address: *mut c_void) -> isize |real| {
        remap([address as usize, bytes, new_bytes, flags as usize, new_address as usize], real)
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
