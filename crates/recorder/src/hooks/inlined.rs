//! What programs put into the buffers of streams, and take out, without a call: `putc_unlocked` and `getc_unlocked` are macros
//! that move a pointer of the `FILE`, and call the C library only where the buffer is full or empty.
//!
//! The pointer and the position that a slot counts move by the same, so their distance changes by what no call has
//! said. It is checked before calls that may leave the buffer, which take time anyway, and before the stream or the
//! process ends. It is remembered for the thread that used the stream last: where several use the same one, their calls
//! may be counted in part.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering::Relaxed};

use ioassay_record::operation::Operation::{StreamRead, StreamWrite};

use super::streams::{Stream, field};
use crate::descriptors::{self, Slot};
use crate::thread_words::words;
use crate::{call, shared};

/// Of the flags of a stream: it is being written to. And: it reads what was pushed back, from another buffer.
const WRITING: c_int = 0x800;
const BACKED_UP: c_int = 0x100;

/// The greatest descriptor of which a stream was seen.
static GREATEST: AtomicI32 = AtomicI32::new(-1);

/// Instead of a thread: several.
const SEVERAL: usize = 1;

/// Where the program is in the buffer.
#[inline(always)]
fn place(stream: *mut Stream) -> u64 {
    let writes = field!(stream, flags) & WRITING != 0;
    (if writes { field!(stream, write_next) } else { field!(stream, read_next) }) as u64
}

/// In a call on a stream that may leave its buffer: counts what was moved before without one.
#[inline(always)]
pub fn before(stream: *mut Stream, slot: &'static Slot) {
    let expected = slot.place_less_position.load(Relaxed).wrapping_add(slot.position.load(Relaxed));
    if expected != place(stream) && slot.stream.load(Relaxed) == stream as usize {
        count(stream, slot);
    }
}

/// After it: remembers where the program is.
#[inline(always)]
pub fn after(stream: *mut Stream, slot: &Slot) {
    slot.place_less_position.store(place(stream).wrapping_sub(slot.position.load(Relaxed)), Relaxed);
    if slot.stream.load(Relaxed) != stream as usize {
        slot.stream.store(stream as usize, Relaxed);
        slot.stream_user.store(user(), Relaxed);
        GREATEST.fetch_max(field!(stream, descriptor), Relaxed);
    } else if shared::several() && slot.stream_user.load(Relaxed) != user() {
        slot.stream_user.store(SEVERAL, Relaxed);
    }
}

/// Who the calling thread is.
fn user() -> usize {
    &raw const *words() as usize
}

#[cold]
fn count(stream: *mut Stream, slot: &'static Slot) {
    let (flags, descriptor) = (field!(stream, flags), field!(stream, descriptor));
    let (operation, begin) = if flags & WRITING != 0 {
        (StreamWrite, field!(stream, write_begin))
    } else {
        (StreamRead, field!(stream, read_begin))
    };
    let place = place(stream);
    let expected = slot.place_less_position.load(Relaxed).wrapping_add(slot.position.load(Relaxed));
    let bytes = place.wrapping_sub(expected);
    // Where the buffer was exchanged or the descriptor moved otherwise, the distance is of something else. Wide characters
    // have buffers of their own.
    let is_within = bytes <= place.wrapping_sub(begin as u64);
    let is_own = slot.stream_user.load(Relaxed) == user();
    if !is_within || !is_own || flags & BACKED_UP != 0 || field!(stream, orientation) > 0 {
        return;
    }
    // A child that was forked just now has no table yet, and none of its parent's slots with it.
    let is_there = call::update(|| descriptors::known(descriptor).is_some_and(|known| core::ptr::eq(known, slot)));
    if is_there == Some(true) && slot.stream.load(Relaxed) == stream as usize {
        call::at_once(operation, descriptor, bytes, None);
    }
}

/// Before a stream is closed: counts what was moved without a call.
pub fn before_end(stream: *mut Stream, descriptor: c_int) {
    if let Some(slot) = descriptors::known(descriptor) {
        before(stream, slot);
        slot.stream.store(0, Relaxed);
    }
}

/// Before all streams are flushed: counts what was moved without a call.
pub fn before_all() {
    for descriptor in 0..=GREATEST.load(Relaxed) {
        let Some(slot) = descriptors::known(descriptor) else { continue };
        let stream = slot.stream.load(Relaxed) as *mut Stream;
        if !stream.is_null() && field!(stream, descriptor) == descriptor {
            before(stream, slot);
        }
    }
}
