//! Writing to storage what was written to files.

use core::ffi::{c_int, c_uint, c_void};

use ioassay_record::operation::Operation::Sync;
use libc::{off64_t, size_t};

use super::{hook, on_descriptor, on_none};

hook! {
    fn fsync | fdatasync | syncfs(descriptor: c_int) -> c_int |real| { on_descriptor(Sync, descriptor, real) }
    fn sync_file_range(descriptor: c_int, offset: off64_t, bytes: off64_t, flags: c_uint) -> c_int |real| {
        on_descriptor(Sync, descriptor, real)
    }
    fn sync() -> () |real| { on_none(Sync, real) }
    // Nobody remembers which file is mapped there.
    fn msync(address: *mut c_void, bytes: size_t, flags: c_int) -> c_int |real| { on_none(Sync, real) }
}
