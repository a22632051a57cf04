//! Page-aligned memory for transfers.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::random::SplitMix64;

/// Alignment of buffers: a page, so that no transfer touches one page more than it must, and direct I/O takes them.
const ALIGNMENT: usize = 4096;

/// A page-aligned buffer.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: no other value has a pointer to its memory.
unsafe impl Send for Buffer {}

impl Buffer {
    /// `bytes` zeros.
    ///
    /// # Panics
    /// If `bytes` is 0; plans with empty transfers are refused.
    pub fn new(bytes: usize) -> Self {
        assert!(bytes > 0, "an empty transfer");
        let layout = Layout::from_size_align(bytes, ALIGNMENT).expect("validated: at most 1 GiB");
        // SAFETY: the layout is not of size zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, layout }
    }

    /// `bytes` random bytes.
    pub fn random(bytes: usize, mut random: SplitMix64) -> Self {
        let mut buffer = Self::new(bytes);
        random.fill(&mut buffer);
        buffer
    }

    /// Where it begins, to be written to through the pointer by the kernel or a library. The one that a slice of the
    /// buffer gives is valid only as long as that slice.
    #[inline(always)]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points to `layout.size()` initialised bytes that this value owns.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for Buffer {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For Miri, which fails it where the pointer is made of a slice.
    #[test]
    fn a_kept_pointer_still_writes_after_the_buffer_was_filled_and_read() {
        let mut buffer = Buffer::new(2);
        let kept = buffer.as_mut_ptr();
        buffer[0] = 1;
        assert_eq!(buffer[..], [1, 0]);
        // SAFETY: the second byte of a buffer that lives, of which there is no slice.
        unsafe { kept.add(1).write(2) };
        assert_eq!(buffer[..], [1, 2]);
    }

    #[test]
    fn a_buffer_is_aligned_full_of_chance_and_another_one_for_another_rank() {
        let zero = Buffer::random(47_008, SplitMix64::keyed(&[1, 0]));
        let first = Buffer::random(47_008, SplitMix64::keyed(&[1, 1]));
        assert_eq!(zero.as_ptr() as usize % ALIGNMENT, 0);
        assert_eq!(zero.len(), 47_008);
        assert_ne!(zero[..], first[..]);
        let distinct: std::collections::HashSet<_> = zero.chunks_exact(8).collect();
        assert_eq!(distinct.len(), 47_008 / 8);
    }
}
