//! Where the bytes of a transfer in flight are.
//!
//! A transfer that is under way outlives the call that began it, so no borrow can stand for its buffer. What does is the
//! promise of [`super::Setup`]: the buffers outlive the connection, and nobody else uses one while it is in flight.

use crate::workload::buffer::Buffer;

/// Memory that bytes are moved from or to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    start: *mut u8,
    bytes: usize,
}

impl Memory {
    /// The memory of a buffer.
    pub fn of(buffer: &mut Buffer) -> Self {
        Self { start: buffer.as_mut_ptr(), bytes: buffer.len() }
    }

    /// No memory.
    pub const NOTHING: Self = Self { start: std::ptr::NonNull::dangling().as_ptr(), bytes: 0 };

    /// Memory that is only read from: nobody may write through what is made of it.
    pub fn read_from(data: &[u8]) -> Self {
        Self { start: data.as_ptr().cast_mut(), bytes: data.len() }
    }

    /// Memory that is written to.
    pub fn written_to(data: &mut [u8]) -> Self {
        Self { start: data.as_mut_ptr(), bytes: data.len() }
    }

    /// Where it begins.
    pub fn start(self) -> *mut u8 {
        self.start
    }

    /// How many bytes it has.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// What there is of it from byte `from` on.
    pub fn after(self, from: u32) -> Self {
        let from = (from as usize).min(self.bytes);
        Self { start: self.start.wrapping_add(from), bytes: self.bytes - from }
    }

    /// The first `bytes` of it.
    pub fn first(self, bytes: usize) -> Self {
        Self { bytes: bytes.min(self.bytes), ..self }
    }

    /// It, as a slice to read from.
    ///
    /// # Safety
    /// It still lives, and nobody writes to it as long as the slice does.
    pub unsafe fn slice(self) -> &'static [u8] {
        // SAFETY: within the memory that it was made of, for which the caller vouches.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    /// It, as a slice to write to.
    ///
    /// # Safety
    /// It still lives, may be written to, and nobody else uses it as long as the slice does.
    pub unsafe fn slice_mut(self) -> &'static mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}
