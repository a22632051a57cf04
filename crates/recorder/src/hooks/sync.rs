//! Writing to storage what was written to files.

use core::ffi::{c_int, c_uint, c_void};

use ioassay_record::operation::Operation::Sync;
use libc::{off64_t, size_t};

use super::{Returned, hook, on_descriptor, on_none, outcome};
use crate::{call, files, maps};

hook! {
    fn fsync | fdatasync | syncfs(descriptor: c_int) -> c_int |real| { on_descriptor(Sync, descriptor, real) }
    fn sync_file_range(descriptor: c_int, offset: off64_t, bytes: off64_t, flags: c_uint) -> c_int |real| {
        on_descriptor(Sync, descriptor, real)
    }
    fn sync() -> () |real| { on_none(Sync, real) }
    fn msync(address: *mut c_void, bytes: size_t, flags: c_int) -> c_int |real| {
        sync_map(address as usize, bytes, real)
    }
}

/// `msync`: of the file that is mapped there, where that is known.
#[inline(always)]
pub fn sync_map<R: Returned>(address: usize, bytes: usize, real: impl FnOnce() -> R) -> R {
    let Some(call) = call::on_file(Sync, maps::file_at(address).unwrap_or_else(files::others)) else { return real() };
    let result = real();
    call::end_and(call, outcome(result), |_| {
        if !result.failed() {
            maps::synced(address, bytes);
        }
    });
    result
}
