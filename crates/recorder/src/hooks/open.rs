//! Opening files.

use core::ffi::{c_char, c_int};

use ioassay_record::operation::Operation::Open;
use libc::{AT_FDCWD, mode_t};

use super::{errno, hook};
use crate::call::{self, Outcome};
use crate::files::Base;
use crate::{descriptors, files, sys};

/// # Safety
/// The path is null or ends with a zero byte.
#[inline(always)]
unsafe fn open_at(base: c_int, path: *const c_char, flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's.
    let call = unsafe { call::on_path(Open, Base::of(base), path) };
    let descriptor = real();
    let Some(call) = call else { return descriptor };
    if descriptor < 0 {
        call::end(call, Outcome::Failed(errno()));
        return descriptor;
    }
    call::end(call, Outcome::Done);
    call::update(|| opened(call.file, descriptor, flags));
    descriptor
}

/// A descriptor was opened by that name.
#[inline(always)]
pub fn opened(file: u32, descriptor: c_int, flags: c_int) {
    let about = if files::known(files::row(file)).is_none() { sys::stat(descriptor) } else { None };
    files::opened(file, about, flags);
    descriptors::open(descriptor, file, 0);
}

const CREATE: c_int = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;

hook! {
    fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int |real| {
        // SAFETY: the caller's path.
        unsafe { open_at(AT_FDCWD, path, flags, real) }
    }
    fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int |real| {
        // SAFETY: the caller's path.
        unsafe { open_at(AT_FDCWD, path, flags, real) }
    }
    fn openat(base: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int |real| {
        // SAFETY: the caller's path.
        unsafe { open_at(base, path, flags, real) }
    }
    fn openat64(base: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int |real| {
        // SAFETY: the caller's path.
        unsafe { open_at(base, path, flags, real) }
    }
    fn creat(path: *const c_char, mode: mode_t) -> c_int |real| {
        // SAFETY: the caller's path.
        unsafe { open_at(AT_FDCWD, path, CREATE, real) }
    }
}
