//! io_uring, as far as liburing's functions show it: what is handed over when a program submits.
//!
//! The functions that fill in requests are compiled into programs, but the requests are in memory of the program until
//! it submits: those from `sqe_head` to `sqe_tail` of its `struct io_uring`. That beginning of the structure is the
//! same in all versions from 2.0 to 2.15. Rings of modes that change it pass by, and rings without liburing, or with
//! one that is linked into the program.

use core::ffi::{c_int, c_uint, c_void};

use ioassay_record::operation::Operation::{SubmitRead, SubmitWrite};
use libc::iovec;

use super::asynchronous::{Request, begin_last, bytes_of};
use super::hook;
use crate::{call, descriptors, masks};

/// The beginning of `struct io_uring` of `<liburing.h>`.
#[repr(C)]
pub struct Ring {
    kernel_head: *const u32,
    kernel_tail: *const u32,
    kernel_mask: *const u32,
    kernel_entries: *const u32,
    kernel_flags: *const u32,
    kernel_dropped: *const u32,
    array: *const u32,
    requests: *const u8,
    head: u32,
    tail: u32,
    bytes: usize,
    memory: *const c_void,
    /// From version 2.2 on; 0 before, and before 2.0 the structure was shorter by these and what follows.
    mask: u32,
    entries: u32,
    reserved: [u32; 2],
    completions: [usize; 9],
    completions_mask_and_entries: [u32; 4],
    flags: u32,
}

const _: () = assert!(core::mem::offset_of!(Ring, flags) == 192);

/// Of [`Ring::flags`]: requests are twice as long.
const LONG_REQUESTS: u32 = 1 << 10;
/// Those of which it is known that they change nothing here.
const KNOWN_FLAGS: u32 = (1 << 19) - 1;

/// The beginning of `struct io_uring_sqe` of `<linux/io_uring.h>`.
#[repr(C)]
struct RingRequest {
    operation: u8,
    flags: u8,
    priority: u16,
    descriptor: c_int,
    offset: u64,
    address: u64,
    length: u32,
}

const REQUEST_BYTES: usize = 64;
/// Of [`RingRequest::flags`]: the descriptor is one of a list that was given to the kernel before.
const REGISTERED_FILE: u8 = 1;

impl RingRequest {
    /// The transfer that it is, if it is one. A descriptor that it closes is forgotten.
    ///
    /// # Safety
    /// Its vectors are there.
    unsafe fn request(&self) -> Option<Request> {
        const READ: [u8; 2] = [22, 4];
        const WRITE: [u8; 2] = [23, 5];
        const READ_VECTORS: [u8; 2] = [1, 60];
        const WRITE_VECTORS: [u8; 2] = [2, 61];
        const CLOSE: u8 = 19;
        if self.operation == CLOSE {
            call::update(|| descriptors::forget(self.descriptor));
        }
        let is = |either: [u8; 2]| either.contains(&self.operation);
        let bytes = if is(READ) || is(WRITE) {
            self.length.into()
        } else if is(READ_VECTORS) || is(WRITE_VECTORS) {
            // SAFETY: the caller's.
            unsafe { bytes_of(self.address as *const iovec, self.length as usize) }
        } else {
            return None;
        };
        Some(Request {
            operation: if is(READ) || is(READ_VECTORS) { SubmitRead } else { SubmitWrite },
            descriptor: if self.flags & REGISTERED_FILE == 0 { self.descriptor } else { -1 },
            bytes,
            offset: (self.offset != u64::MAX).then_some(self.offset),
        })
    }
}

/// # Safety
/// It is a ring of liburing, or null.
unsafe fn pending(ring: *const Ring) -> Option<impl Iterator<Item = Request>> {
    // SAFETY: the caller's; no more is read than its version has.
    let (ring, mask) = unsafe {
        if ring.is_null() || (*ring).head == (*ring).tail || (*ring).kernel_entries.is_null() {
            return None;
        }
        let (entries, copy) = (*(*ring).kernel_entries, ((*ring).mask, (*ring).entries));
        if copy != (0, 0) && copy != (entries.wrapping_sub(1), entries) {
            return None;
        }
        let unknown = (*ring).flags & !KNOWN_FLAGS != 0 || !entries.is_power_of_two();
        if unknown || (*ring).tail.wrapping_sub((*ring).head) > entries {
            return None;
        }
        (&*ring, entries - 1)
    };
    let bytes = if ring.flags & LONG_REQUESTS == 0 { REQUEST_BYTES } else { 2 * REQUEST_BYTES };
    let (requests, head) = (ring.requests, ring.head);
    Some((0..ring.tail.wrapping_sub(head)).filter_map(move |step| {
        let index = (head.wrapping_add(step) & mask) as usize;
        // SAFETY: there are as many requests as entries.
        unsafe { (*requests.add(index * bytes).cast::<RingRequest>()).request() }
    }))
}

/// What is pending is handed over. Where that fails, it stays in the ring, and goes with the next.
///
/// # Safety
/// As for [`pending`].
#[inline(always)]
unsafe fn submit(ring: *const Ring, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's.
    let submission = unsafe { pending(ring) }.and_then(begin_last);
    let result = real();
    if let Some(submission) = submission {
        submission.end(None);
    }
    result
}

hook! {
    fn io_uring_submit | io_uring_submit_and_get_events(ring: *mut Ring) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { submit(ring, real) }
    }
    fn io_uring_submit_and_wait(ring: *mut Ring, wait: c_uint) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { submit(ring, real) }
    }
    fn io_uring_submit_and_wait_timeout(
        ring: *mut Ring,
        completion: *mut c_void,
        wait: c_uint,
        time: *mut c_void,
        signals: *mut c_void,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { submit(ring, || masks::wait(!signals.is_null(), real)) }
    }
    fn io_uring_submit_and_wait_min_timeout(
        ring: *mut Ring,
        completion: *mut c_void,
        wait: c_uint,
        time: *mut c_void,
        least: c_uint,
        signals: *mut c_void,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { submit(ring, || masks::wait(!signals.is_null(), real)) }
    }
    fn io_uring_submit_and_wait_reg(
        ring: *mut Ring,
        completion: *mut c_void,
        wait: c_uint,
        index: c_int,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { submit(ring, real) }
    }
}
