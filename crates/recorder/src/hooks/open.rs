//! Opening files.

use core::ffi::{c_char, c_int, c_uint, c_void};

use ioassay_record::operation::Operation::{self, Open};
use libc::{AT_FDCWD, mode_t};

use super::{Path, Returned, errno, hook, outcome};
use crate::call::{self, Call, Outcome};
use crate::process::system_calls_allowed;
use crate::{descriptors, files, rules, sys};

/// Opens a path.
#[inline(always)]
pub fn open_at(base: c_int, path: Path, flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    if flags & libc::O_TMPFILE == libc::O_TMPFILE {
        return open_nameless(real);
    }
    open_with(path.call(Open, base), flags, real)
}

#[inline(always)]
fn open_with(call: Option<Call>, flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let descriptor = real();
    if let Some(call) = call {
        call::end_and(call, outcome(descriptor), |_| {
            if descriptor >= 0 {
                opened(call.file, descriptor, flags);
            }
        });
    }
    descriptor
}

/// A descriptor was opened by that name.
#[inline(always)]
pub fn opened(file: u32, descriptor: c_int, flags: c_int) {
    let appends = flags & libc::O_APPEND != 0;
    let wanted = appends || files::is_to_be_checked(files::row(file));
    let about = if wanted && system_calls_allowed() { sys::about(descriptor) } else { None };
    files::opened(file, about, flags);
    // Appending writes are at the end.
    let position = about.filter(|_| appends).map_or(0, |about| about.size_bytes);
    if let Some(slot) = descriptors::open(descriptor, file, position) {
        rules::opened(descriptor, file, &slot.matching);
    }
}

/// Opens what has no path: the kernel has a name for it. `descriptor_of` finds the descriptor in what is returned.
#[inline]
pub fn open_nameless_with<R: Returned>(descriptor_of: impl FnOnce(R) -> c_int, real: impl FnOnce() -> R) -> R {
    let call = call::on_file(Open, files::others());
    let result = real();
    let Some(mut call) = call else { return result };
    if result.failed() {
        call::end(call, Outcome::Failed(errno()));
        return result;
    }
    let descriptor = descriptor_of(result);
    let (file, about) = call::update(|| files::of_descriptor(descriptor)).unwrap_or((call.file, None));
    call.is_on(file);
    call::end_and(call, Outcome::Done, |_| {
        files::opened(file, about, 0);
        if let Some(slot) = descriptors::open(descriptor, file, 0) {
            rules::opened(descriptor, file, &slot.matching);
        }
    });
    result
}

/// The same, where the descriptor itself is returned.
#[inline]
pub fn open_nameless(real: impl FnOnce() -> c_int) -> c_int {
    open_nameless_with(|descriptor| descriptor, real)
}

/// Opens or makes something by a name that the C library makes up: it writes it over the template.
#[inline]
pub fn made_up<R: Returned>(operation: Operation, template: Path, real: impl FnOnce() -> R) -> R {
    let call = call::on_file(operation, files::others());
    let result = real();
    if let Some(mut call) = call {
        call.is_on(call::update(|| template.row()).unwrap_or(call.file));
        call::end(call, outcome(result));
    }
    result
}

/// Makes a file by a template.
fn make(template: Path, flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let descriptor = made_up(Open, template, real);
    if descriptor >= 0 {
        call::update(|| opened(template.row(), descriptor, flags | libc::O_RDWR | libc::O_CREAT | libc::O_EXCL));
    }
    descriptor
}

/// What `creat` is short for.
pub const CREATE: c_int = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;

hook! {
    fn open | open64 | __open | __open64(path: Path, flags: c_int, mode: mode_t) -> c_int |real| {
        open_at(AT_FDCWD, path, flags, real)
    }
    fn __open_2 | __open64_2(path: Path, flags: c_int) -> c_int |real| { open_at(AT_FDCWD, path, flags, real) }
    fn openat | openat64(base: c_int, path: Path, flags: c_int, mode: mode_t) -> c_int |real| {
        open_at(base, path, flags, real)
    }
    fn __openat_2 | __openat64_2(base: c_int, path: Path, flags: c_int) -> c_int |real| {
        open_at(base, path, flags, real)
    }
    fn creat | creat64(path: Path, mode: mode_t) -> c_int |real| { open_at(AT_FDCWD, path, CREATE, real) }
    fn mkstemp | mkstemp64(template: Path) -> c_int |real| { make(template, 0, real) }
    fn mkostemp | mkostemp64(template: Path, flags: c_int) -> c_int |real| { make(template, flags, real) }
    fn mkstemps | mkstemps64(template: Path, suffix: c_int) -> c_int |real| { make(template, 0, real) }
    fn mkostemps | mkostemps64(template: Path, suffix: c_int, flags: c_int) -> c_int |real| {
        make(template, flags, real)
    }
    fn open_by_handle_at(mount: c_int, handle: *mut c_void, flags: c_int) -> c_int |real| { open_nameless(real) }
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int |real| { open_nameless(real) }
    fn shm_open(name: Path, flags: c_int, mode: mode_t) -> c_int |real| {
        open_with(name.shared_memory_call(Open), flags, real)
    }
}
