//! Asynchronous I/O: `aio_read` and its like of the C library, and `io_submit` of libaio, which asks the kernel.
//!
//! Counted is what is handed over, when it is, with the bytes that are asked for. Of a list one request has the time of
//! the call, the others none.

use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::Ordering::Relaxed;

use ioassay_record::operation::Operation::{self, SubmitRead, SubmitWrite, Sync};
use libc::{aiocb, iovec};

use super::{errno, hook, on_descriptor};
use crate::call::{self, Call, Outcome};
use crate::descriptors::Slot;
use crate::files;

/// A transfer that is handed over.
#[derive(Clone, Copy)]
pub struct Request {
    pub operation: Operation,
    /// Negative where its file is unknown.
    pub descriptor: c_int,
    pub bytes: u64,
    /// Nothing where the descriptor is.
    pub offset: Option<u64>,
}

/// A request that is being handed over.
#[derive(Clone, Copy)]
pub struct Submission {
    call: Call,
    slot: Option<&'static Slot>,
    request: Request,
}

impl Request {
    /// Counts it as one of those that go with another.
    pub fn count(self) {
        let Self { operation, descriptor, bytes, offset } = self;
        if descriptor < 0 {
            call::at_once_on_file(operation, files::others(), bytes);
        } else {
            call::at_once(operation, descriptor, bytes, offset);
        }
    }

    /// The call that hands it over begins.
    pub fn begin(self) -> Option<Submission> {
        let (call, slot) = if self.descriptor < 0 {
            (call::on_file(self.operation, files::others())?, None)
        } else {
            let (call, slot) = call::on_descriptor(self.operation, self.descriptor)?;
            (call, Some(slot))
        };
        Some(Submission { call, slot, request: self })
    }
}

impl Submission {
    /// It was handed over, or that failed.
    pub fn end(self, error: Option<c_int>) {
        let Request { bytes, offset, .. } = self.request;
        let outcome = match (error, self.slot) {
            (Some(error), _) => Outcome::Failed(error),
            (None, None) => Outcome::Moved { bytes, offset: None, block_bytes: 0 },
            (None, Some(slot)) => Outcome::Moved {
                bytes,
                offset: Some(offset.unwrap_or_else(|| slot.advance(bytes))),
                block_bytes: slot.block_bytes.load(Relaxed),
            },
        };
        call::end(self.call, outcome);
    }
}

/// The call begins that hands over all of these: the last one has its time, the others are counted at once, because
/// afterwards a request may be done, and its memory given back.
pub fn begin_last(requests: impl Iterator<Item = Request>) -> Option<Submission> {
    let mut last: Option<Request> = None;
    for request in requests {
        if let Some(before) = last.replace(request) {
            before.count();
        }
    }
    last.and_then(Request::begin)
}

/// Bytes of so many vectors.
///
/// # Safety
/// They are there.
pub unsafe fn bytes_of(vectors: *const iovec, count: usize) -> u64 {
    // SAFETY: the caller's. The kernel takes no more than these.
    (0..count.min(1024)).map(|index| unsafe { (*vectors.add(index)).iov_len } as u64).sum()
}

/// # Safety
/// A request of the C library.
unsafe fn of_library(operation: Operation, request: *const aiocb) -> Request {
    // SAFETY: the caller's.
    unsafe {
        Request {
            operation,
            descriptor: (*request).aio_fildes,
            bytes: (*request).aio_nbytes as u64,
            offset: Some((*request).aio_offset as u64),
        }
    }
}

/// # Safety
/// A request of the C library.
#[inline(always)]
unsafe fn submit(operation: Operation, request: *const aiocb, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's.
    let submission = unsafe { of_library(operation, request) }.begin();
    let result = real();
    if let Some(submission) = submission {
        submission.end((result != 0).then(errno));
    }
    result
}

/// # Safety
/// A list of requests of the C library, or null pointers.
#[inline(always)]
unsafe fn submit_list(list: *const *const aiocb, count: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let submission = begin_last((0..count.max(0) as usize).filter_map(|index| {
        // SAFETY: the caller's.
        let request = unsafe { (*list.add(index)).as_ref()? };
        let operation = match request.aio_lio_opcode {
            libc::LIO_READ => SubmitRead,
            libc::LIO_WRITE => SubmitWrite,
            _ => return None,
        };
        // SAFETY: it is there.
        Some(unsafe { of_library(operation, request) })
    }));
    let result = real();
    if let Some(submission) = submission {
        // That a request failed which was waited for.
        submission.end((result != 0).then(errno).filter(|&error| error != libc::EIO));
    }
    result
}

/// A request to the kernel: `struct iocb` of `<linux/aio_abi.h>`.
#[repr(C)]
pub struct KernelRequest {
    data: u64,
    key_and_flags: [u32; 2],
    operation: u16,
    priority: i16,
    descriptor: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
}

impl KernelRequest {
    /// # Safety
    /// Its vectors are there.
    unsafe fn request(&self) -> Option<Request> {
        const READ: u16 = 0;
        const WRITE: u16 = 1;
        const READ_VECTORS: u16 = 7;
        const WRITE_VECTORS: u16 = 8;
        let bytes = match self.operation {
            READ | WRITE => self.bytes,
            // SAFETY: the caller's.
            READ_VECTORS | WRITE_VECTORS => unsafe { bytes_of(self.buffer as *const iovec, self.bytes as usize) },
            _ => return None,
        };
        let operation = if matches!(self.operation, READ | READ_VECTORS) { SubmitRead } else { SubmitWrite };
        Some(Request { operation, descriptor: self.descriptor as c_int, bytes, offset: Some(self.offset as u64) })
    }
}

/// Requests of one call whose success is known one by one.
const FOLLOWED: usize = 64;

hook! {
    fn aio_read | aio_read64(request: *mut aiocb) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { submit(SubmitRead, request, real) }
    }
    fn aio_write | aio_write64(request: *mut aiocb) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { submit(SubmitWrite, request, real) }
    }
    fn lio_listio | lio_listio64(
        mode: c_int, list: *const *const aiocb, count: c_int, notify: *mut c_void,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { submit_list(list, count, real) }
    }
    fn aio_fsync | aio_fsync64(how: c_int, request: *mut aiocb) -> c_int |real| {
        // SAFETY: the caller's.
        on_descriptor(Sync, unsafe { (*request).aio_fildes }, real)
    }
    // Of libaio. It returns how many it handed over, or minus the error.
    fn io_submit(context: *mut c_void, count: c_long, list: *const *const KernelRequest) -> c_int |real| {
        // SAFETY: the caller's.
        let request = |index| unsafe { (*list.add(index)).as_ref().and_then(|request| request.request()) };
        let count = count.max(0) as usize;
        // Before the call: afterwards a request may be done, and its memory given back.
        let mut followed = [None; FOLLOWED];
        for (index, follow) in followed[..count.min(FOLLOWED)].iter_mut().enumerate() {
            *follow = request(index);
        }
        (FOLLOWED..count).filter_map(request).for_each(Request::count);
        let submission = followed[0].and_then(Request::begin);
        let result = real();
        if let Some(submission) = submission {
            submission.end((result <= 0).then_some(-result));
        }
        let submitted = result.clamp(0, FOLLOWED as c_int) as usize;
        followed[..submitted].iter().skip(1).filter_map(|request| *request).for_each(Request::count);
        result
    }
}
