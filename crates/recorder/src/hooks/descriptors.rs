//! What becomes of descriptors: closed, duplicated, moved to another place of the file.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use ioassay_record::operation::Operation::{Close, Seek};
use libc::off64_t;

use super::{done, hook};
use crate::{call, descriptors, files, ticks};

#[inline(always)]
fn seek(descriptor: c_int, real: impl FnOnce() -> off64_t) -> off64_t {
    let Some((call, slot)) = call::on_descriptor(Seek, descriptor) else { return real() };
    let position = done(Some(call), real);
    if position >= 0 {
        slot.position.store(position as u64, Relaxed);
    }
    position
}

hook! {
    fn close(descriptor: c_int) -> c_int |real| {
        // Before it is closed: afterwards another thread may have it again.
        let file = call::update(|| descriptors::forget(descriptor)).flatten();
        let call = file.and_then(|file| call::on_file(Close, file));
        let result = done(call, real);
        if let Some(opened) = call.and_then(|call| files::known(files::row(call.file))) {
            opened.last_close_ticks.store(ticks::now(), Relaxed);
        }
        result
    }
    fn lseek(descriptor: c_int, offset: off64_t, whence: c_int) -> off64_t |real| { seek(descriptor, real) }
    fn lseek64(descriptor: c_int, offset: off64_t, whence: c_int) -> off64_t |real| { seek(descriptor, real) }
    fn dup(descriptor: c_int) -> c_int |real| {
        let new = real();
        if new >= 0 {
            call::update(|| descriptors::duplicate(descriptor, new));
        }
        new
    }
    fn dup2(descriptor: c_int, new: c_int) -> c_int |real| {
        let result = real();
        if result >= 0 {
            call::update(|| descriptors::duplicate(descriptor, new));
        }
        result
    }
    fn dup3(descriptor: c_int, new: c_int, flags: c_int) -> c_int |real| {
        let result = real();
        if result >= 0 {
            call::update(|| descriptors::duplicate(descriptor, new));
        }
        result
    }
}
