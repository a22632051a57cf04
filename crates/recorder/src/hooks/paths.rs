//! Names: made, removed, renamed; how long files are; the working directory.
//!
//! Of two names, the one that appears is counted, but of a rename the old one: its row has what was done to the file.

use core::ffi::{c_char, c_int, c_uint};

use ioassay_record::operation::Operation::{Create, Remove, Rename, Truncate};
use libc::{dev_t, mode_t, off64_t};

use super::open::made_up;
use super::{Path, done, done_unless, hook, on_descriptor, on_path, on_path_at};
use crate::{call, files, root};

#[inline(always)]
fn allocate(descriptor: c_int, real: impl FnOnce() -> c_int) -> c_int {
    done_unless(call::on_descriptor(Truncate, descriptor).map(|(call, _)| call), real)
}

/// Relative paths mean something else afterwards.
pub fn go(real: impl FnOnce() -> c_int) -> c_int {
    let result = real();
    if result == 0 {
        call::update(files::forget_directory);
    }
    result
}

/// Absolute paths mean something else afterwards, too.
pub fn change_root(path: Path, real: impl FnOnce() -> c_int) -> c_int {
    match path.text() {
        Some(path) if !crate::process::in_vfork_child() => root::change(path, || go(real)),
        _ => go(real),
    }
}

hook! {
    fn mkdir | mkfifo(path: Path, mode: mode_t) -> c_int |real| { on_path(Create, path, real) }
    fn mkdirat | mkfifoat(base: c_int, path: Path, mode: mode_t) -> c_int |real| {
        on_path_at(Create, base, path, real)
    }
    fn mknod(path: Path, mode: mode_t, device: dev_t) -> c_int |real| { on_path(Create, path, real) }
    fn mknodat(base: c_int, path: Path, mode: mode_t, device: dev_t) -> c_int |real| {
        on_path_at(Create, base, path, real)
    }
    fn __xmknod(version: c_int, path: Path, mode: mode_t, device: *mut dev_t) -> c_int |real| {
        on_path(Create, path, real)
    }
    fn __xmknodat(version: c_int, base: c_int, path: Path, mode: mode_t, device: *mut dev_t) -> c_int |real| {
        on_path_at(Create, base, path, real)
    }
    fn mkdtemp(template: Path) -> *mut c_char |real| { made_up(Create, template, real) }
    fn link(old: Path, path: Path) -> c_int |real| { on_path(Create, path, real) }
    fn linkat(old_base: c_int, old: Path, base: c_int, path: Path, flags: c_int) -> c_int |real| {
        on_path_at(Create, base, path, real)
    }
    fn symlink(target: Path, path: Path) -> c_int |real| { on_path(Create, path, real) }
    fn symlinkat(target: Path, base: c_int, path: Path) -> c_int |real| { on_path_at(Create, base, path, real) }
    fn unlink | rmdir | remove(path: Path) -> c_int |real| { on_path(Remove, path, real) }
    fn unlinkat(base: c_int, path: Path, flags: c_int) -> c_int |real| { on_path_at(Remove, base, path, real) }
    fn shm_unlink(name: Path) -> c_int |real| { done(name.shared_memory_call(Remove), real) }
    fn rename(path: Path, new: Path) -> c_int |real| { on_path(Rename, path, real) }
    fn renameat(base: c_int, path: Path, new_base: c_int, new: Path) -> c_int |real| {
        on_path_at(Rename, base, path, real)
    }
    fn renameat2(base: c_int, path: Path, new_base: c_int, new: Path, flags: c_uint) -> c_int |real| {
        on_path_at(Rename, base, path, real)
    }
    fn truncate | truncate64(path: Path, bytes: off64_t) -> c_int |real| { on_path(Truncate, path, real) }
    fn ftruncate | ftruncate64(descriptor: c_int, bytes: off64_t) -> c_int |real| {
        on_descriptor(Truncate, descriptor, real)
    }
    fn fallocate | fallocate64(descriptor: c_int, mode: c_int, offset: off64_t, bytes: off64_t) -> c_int |real| {
        on_descriptor(Truncate, descriptor, real)
    }
    fn posix_fallocate | posix_fallocate64(descriptor: c_int, offset: off64_t, bytes: off64_t) -> c_int |real| {
        allocate(descriptor, real)
    }
    fn chdir(path: Path) -> c_int |real| { go(real) }
    fn chroot(path: Path) -> c_int |real| { change_root(path, real) }
    fn fchdir(descriptor: c_int) -> c_int |real| { go(real) }
}
