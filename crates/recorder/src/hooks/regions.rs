//! Regions that an application names: by our own two functions, which `plugins/region` calls where they exist, and by those
//! of Caliper, which are hooked.

use core::ffi::{CStr, c_char};

use super::hook;
use crate::{files, regions};

/// Runs `change` on a name that a program gives.
///
/// # Safety
/// It is null or ends with a zero byte.
unsafe fn with_name(name: *const c_char, change: impl FnOnce(&[u8])) {
    if files::can_be_text(name) {
        // SAFETY: the caller's.
        change(unsafe { CStr::from_ptr(name) }.to_bytes());
    }
}

/// The calling thread enters a region.
///
/// # Safety
/// The name is null or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioassay_region_begin(name: *const c_char) {
    // SAFETY: the caller's.
    unsafe { with_name(name, regions::enter) };
}

/// The calling thread leaves a region.
///
/// # Safety
/// The name is null or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioassay_region_end(name: *const c_char) {
    // SAFETY: the caller's.
    unsafe { with_name(name, regions::leave) };
}

hook! {
    fn cali_begin_region(name: *const c_char) -> () |real| {
        // SAFETY: the caller's.
        unsafe { with_name(name, regions::enter) };
        real();
    }
    fn cali_end_region(name: *const c_char) -> () |real| {
        real();
        // SAFETY: the caller's.
        unsafe { with_name(name, regions::leave) };
    }
}
