//! Changing attributes of files: rights, owners, times, extended attributes.

use core::ffi::{c_char, c_int, c_void};

use ioassay_record::operation::Operation::Attribute;
use libc::{gid_t, mode_t, size_t, uid_t};

use super::{Path, hook, on_descriptor, on_path, on_path_at};

hook! {
    fn chmod | lchmod(path: Path, mode: mode_t) -> c_int |real| { on_path(Attribute, path, real) }
    fn fchmod(descriptor: c_int, mode: mode_t) -> c_int |real| { on_descriptor(Attribute, descriptor, real) }
    fn fchmodat(base: c_int, path: Path, mode: mode_t, flags: c_int) -> c_int |real| {
        on_path_at(Attribute, base, path, real)
    }
    fn chown | lchown(path: Path, user: uid_t, group: gid_t) -> c_int |real| { on_path(Attribute, path, real) }
    fn fchown(descriptor: c_int, user: uid_t, group: gid_t) -> c_int |real| {
        on_descriptor(Attribute, descriptor, real)
    }
    fn fchownat(base: c_int, path: Path, user: uid_t, group: gid_t, flags: c_int) -> c_int |real| {
        on_path_at(Attribute, base, path, real)
    }
    fn utime | utimes | lutimes(path: Path, times: *const c_void) -> c_int |real| { on_path(Attribute, path, real) }
    fn futimes | futimens(descriptor: c_int, times: *const c_void) -> c_int |real| {
        on_descriptor(Attribute, descriptor, real)
    }
    fn futimesat(base: c_int, path: Path, times: *const c_void) -> c_int |real| {
        on_path_at(Attribute, base, path, real)
    }
    fn utimensat(base: c_int, path: Path, times: *const c_void, flags: c_int) -> c_int |real| {
        on_path_at(Attribute, base, path, real)
    }
    fn setxattr | lsetxattr(
        path: Path, name: *const c_char, value: *const c_void, bytes: size_t, flags: c_int,
    ) -> c_int |real| {
        on_path(Attribute, path, real)
    }
    fn fsetxattr(
        descriptor: c_int, name: *const c_char, value: *const c_void, bytes: size_t, flags: c_int,
    ) -> c_int |real| {
        on_descriptor(Attribute, descriptor, real)
    }
    fn removexattr | lremovexattr(path: Path, name: *const c_char) -> c_int |real| { on_path(Attribute, path, real) }
    fn fremovexattr(descriptor: c_int, name: *const c_char) -> c_int |real| {
        on_descriptor(Attribute, descriptor, real)
    }
}
