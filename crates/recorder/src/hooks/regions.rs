//! Regions that an application names: by our own two functions, which `plugins/region` calls where they exist, and by those
//! of Caliper, which are hooked, in C and in C++ (whose names are mangled).

use core::ffi::{CStr, c_char};
use core::sync::atomic::Ordering::Relaxed;

use super::hook;
use crate::regions::{self, NOBODY};
use crate::{files, thread_words};

/// The owner of regions that an attribute of Caliper stands for. No object lies there.
const fn of_attribute(attribute: u64) -> usize {
    attribute as usize | 1 << (usize::BITS - 1)
}

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
    unsafe { with_name(name, |name| regions::enter(name, NOBODY)) };
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
    fn cali_begin_region | cali_begin_phase | cali_begin_comm_region (name: *const c_char) -> () |real| {
        // SAFETY: the caller's.
        unsafe { with_name(name, |name| regions::enter(name, NOBODY)) };
        real();
    }
    fn cali_end_region | cali_end_phase | cali_end_comm_region (name: *const c_char) -> () |real| {
        real();
        // SAFETY: the caller's.
        unsafe { with_name(name, regions::leave) };
    }

    // `CALI_MARK_LOOP_BEGIN` gives the loop's name to an attribute of all loops, then asks for one of its iterations by the
    // same string.
    fn cali_begin_string(attribute: u64, value: *const c_char) -> () |real| {
        let words = thread_words::words();
        words.string_attribute.store(attribute, Relaxed);
        words.attribute_string.store(value as usize, Relaxed);
        real();
    }
    fn cali_make_loop_iteration_attribute(name: *const c_char) -> i64 |real| {
        let words = thread_words::words();
        if words.attribute_string.swap(0, Relaxed) == name as usize {
            let owner = of_attribute(words.string_attribute.load(Relaxed));
            // SAFETY: the caller's.
            unsafe { with_name(name, |name| regions::enter(name, owner)) };
        }
        real()
    }
    fn cali_end(attribute: u64) -> () |real| {
        real();
        regions::leave_owned(of_attribute(attribute));
    }

    // The constructors and destructors of `cali::Function`, `cali::ScopeAnnotation` and `cali::Loop`; `Loop::end`.
    fn _ZN4cali8FunctionC1EPKc | _ZN4cali15ScopeAnnotationC1EPKc | _ZN4cali4LoopC1EPKc (
        object: usize, name: *const c_char
    ) -> () |real| {
        // SAFETY: the caller's.
        unsafe { with_name(name, |name| regions::enter(name, object)) };
        real();
    }
    fn _ZN4cali8FunctionD1Ev | _ZN4cali15ScopeAnnotationD1Ev | _ZN4cali4LoopD1Ev | _ZN4cali4Loop3endEv (
        object: usize
    ) -> () |real| {
        real();
        regions::leave_owned(object);
    }
}
