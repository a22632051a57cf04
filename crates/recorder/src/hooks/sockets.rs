//! Connections: accepted, and made. What moves through them is counted where it is read and written like a file.

use core::ffi::{c_int, c_void};

use ioassay_record::operation::Operation::{Accept, Connect};

use super::{hook, on_descriptor};

hook! {
    fn accept(descriptor: c_int, address: *mut c_void, length: *mut u32) -> c_int |real| {
        on_descriptor(Accept, descriptor, real)
    }
    fn accept4(descriptor: c_int, address: *mut c_void, length: *mut u32, flags: c_int) -> c_int |real| {
        on_descriptor(Accept, descriptor, real)
    }
    fn connect(descriptor: c_int, address: *const c_void, length: u32) -> c_int |real| {
        on_descriptor(Connect, descriptor, real)
    }
}
