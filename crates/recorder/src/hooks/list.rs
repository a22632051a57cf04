//! Listing directories. What the C library opens and reads while it searches (`scandir`, `nftw`, `glob`) is one call on
//! the directory where it begins, or on the pattern.

use core::ffi::{CStr, c_char, c_int, c_void};

use ioassay_record::operation::Operation::{Glob, List};
use libc::{DIR, off64_t, size_t, ssize_t};

use super::descriptors::close_as;
use super::{Path, done, done_unless, errno, hook, on_descriptor, on_none, on_path, on_path_at};
use crate::call::{self, Call, Outcome};

/// A call on an open directory.
#[inline(always)]
fn on(directory: *mut DIR) -> Option<Call> {
    // SAFETY: what the C library opened; it reads as much of it.
    call::on_descriptor(List, unsafe { libc::dirfd(directory) }).map(|(call, _)| call)
}

/// Null is the end of the directory, unless there is a new error.
#[inline(always)]
fn next(directory: *mut DIR, real: impl FnOnce() -> *mut c_void) -> *mut c_void {
    let Some(call) = on(directory) else { return real() };
    let before = errno();
    let entry = real();
    let failed = entry.is_null() && errno() != before;
    call::end(call, if failed { Outcome::Failed(errno()) } else { Outcome::Done });
    entry
}

fn close(directory: *mut DIR, real: impl FnOnce() -> c_int) -> c_int {
    if directory.is_null() {
        return real();
    }
    // SAFETY: what the C library opened.
    close_as(List, unsafe { libc::dirfd(directory) }, real)
}

hook! {
    fn opendir(path: Path) -> *mut DIR |real| {
        let call = path.call(List, libc::AT_FDCWD);
        let directory = done(call, real);
        if let Some(call) = call
            && !directory.is_null()
        {
            // SAFETY: what the C library opened.
            let descriptor = unsafe { libc::dirfd(directory) };
            call::update(|| super::open::opened(call.file, descriptor, libc::O_DIRECTORY));
        }
        directory
    }
    fn fdopendir(descriptor: c_int) -> *mut DIR |real| { on_descriptor(List, descriptor, real) }
    fn readdir | readdir64(directory: *mut DIR) -> *mut c_void |real| { next(directory, real) }
    fn readdir_r | readdir64_r(directory: *mut DIR, entry: *mut c_void, result: *mut *mut c_void) -> c_int |real| {
        done_unless(on(directory), real)
    }
    fn closedir(directory: *mut DIR) -> c_int |real| { close(directory, real) }
    fn getdents64(descriptor: c_int, entries: *mut c_void, room: size_t) -> ssize_t |real| {
        on_descriptor(List, descriptor, real)
    }
    fn getdirentries | getdirentries64(
        descriptor: c_int, entries: *mut c_char, room: size_t, base: *mut off64_t,
    ) -> ssize_t |real| {
        on_descriptor(List, descriptor, real)
    }
    fn scandir | scandir64(path: Path, entries: *mut c_void, filter: usize, compare: usize) -> c_int |real| {
        on_path(List, path, real)
    }
    fn scandirat | scandirat64(
        base: c_int, path: Path, entries: *mut c_void, filter: usize, compare: usize,
    ) -> c_int |real| {
        on_path_at(List, base, path, real)
    }
    fn ftw | ftw64(path: Path, visit: usize, descriptors: c_int) -> c_int |real| { on_path(List, path, real) }
    fn nftw | nftw64(path: Path, visit: usize, descriptors: c_int, flags: c_int) -> c_int |real| {
        on_path(List, path, real)
    }
    fn glob | glob64(pattern: Path, flags: c_int, failed: usize, result: *mut c_void) -> c_int |real| {
        on_path(Glob, pattern, real)
    }
    fn wordexp(words: *const c_char, result: *mut c_void, flags: c_int) -> c_int |real| {
        // It lists directories for patterns alone.
        // SAFETY: the caller's text.
        let lists = unsafe { CStr::from_ptr(words) }.to_bytes().iter().any(|byte| b"*?[".contains(byte));
        if lists { on_none(Glob, real) } else { real() }
    }
}
