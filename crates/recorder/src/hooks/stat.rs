//! Asking for what is known of files: attributes, rights, what links lead to, file systems, extended attributes.
//!
//! What the C library asks the kernel to find the real path of a file is one call here.

use core::ffi::{c_char, c_int, c_uint, c_void};

use ioassay_record::operation::Operation::Stat;
use libc::{size_t, ssize_t};

use super::{Path, hook, on_descriptor, on_path, on_path_at};

hook! {
    fn stat | lstat | stat64 | lstat64 | __statfs | statfs | statvfs | statfs64 | statvfs64(
        path: Path, about: *mut c_void,
    ) -> c_int |real| {
        on_path(Stat, path, real)
    }
    fn fstat | fstat64 | fstatfs | fstatvfs | fstatfs64 | fstatvfs64(
        descriptor: c_int, about: *mut c_void,
    ) -> c_int |real| {
        on_descriptor(Stat, descriptor, real)
    }
    fn fstatat | fstatat64(base: c_int, path: Path, about: *mut c_void, flags: c_int) -> c_int |real| {
        on_path_at(Stat, base, path, real)
    }
    fn statx(base: c_int, path: Path, flags: c_int, mask: c_uint, about: *mut c_void) -> c_int |real| {
        on_path_at(Stat, base, path, real)
    }
    fn __xstat | __lxstat | __xstat64 | __lxstat64(version: c_int, path: Path, about: *mut c_void) -> c_int |real| {
        on_path(Stat, path, real)
    }
    fn __fxstat | __fxstat64(version: c_int, descriptor: c_int, about: *mut c_void) -> c_int |real| {
        on_descriptor(Stat, descriptor, real)
    }
    fn __fxstatat | __fxstatat64(
        version: c_int, base: c_int, path: Path, about: *mut c_void, flags: c_int,
    ) -> c_int |real| {
        on_path_at(Stat, base, path, real)
    }
    fn access | euidaccess | eaccess(path: Path, mode: c_int) -> c_int |real| { on_path(Stat, path, real) }
    fn faccessat(base: c_int, path: Path, mode: c_int, flags: c_int) -> c_int |real| {
        on_path_at(Stat, base, path, real)
    }
    fn name_to_handle_at(
        base: c_int, path: Path, handle: *mut c_void, mount: *mut c_int, flags: c_int,
    ) -> c_int |real| {
        on_path_at(Stat, base, path, real)
    }
    fn readlink(path: Path, text: *mut c_char, room: size_t) -> ssize_t |real| { on_path(Stat, path, real) }
    fn __readlink_chk(path: Path, text: *mut c_char, count: size_t, room: size_t) -> ssize_t |real| {
        on_path(Stat, path, real)
    }
    fn readlinkat(base: c_int, path: Path, text: *mut c_char, room: size_t) -> ssize_t |real| {
        on_path_at(Stat, base, path, real)
    }
    fn __readlinkat_chk(base: c_int, path: Path, text: *mut c_char, count: size_t, room: size_t) -> ssize_t |real| {
        on_path_at(Stat, base, path, real)
    }
    fn realpath(path: Path, text: *mut c_char) -> *mut c_char |real| { on_path(Stat, path, real) }
    fn __realpath_chk(path: Path, text: *mut c_char, room: size_t) -> *mut c_char |real| { on_path(Stat, path, real) }
    fn canonicalize_file_name(path: Path) -> *mut c_char |real| { on_path(Stat, path, real) }
    fn getxattr | lgetxattr(path: Path, name: *const c_char, value: *mut c_void, room: size_t) -> ssize_t |real| {
        on_path(Stat, path, real)
    }
    fn fgetxattr(descriptor: c_int, name: *const c_char, value: *mut c_void, room: size_t) -> ssize_t |real| {
        on_descriptor(Stat, descriptor, real)
    }
    fn listxattr | llistxattr(path: Path, names: *mut c_char, room: size_t) -> ssize_t |real| {
        on_path(Stat, path, real)
    }
    fn flistxattr(descriptor: c_int, names: *mut c_char, room: size_t) -> ssize_t |real| {
        on_descriptor(Stat, descriptor, real)
    }
}
