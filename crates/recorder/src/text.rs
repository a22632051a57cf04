//! Texts without an allocator: paths that are kept, the environment, numbers.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// Copies parts, one after another, as far as they fit.
pub fn copy_parts(parts: &[&[u8]], mut to: &mut [u8]) {
    for part in parts {
        let (begin, rest) = to.split_at_mut(part.len().min(to.len()));
        begin.copy_from_slice(&part[..begin.len()]);
        to = rest;
    }
}

/// A text of less than `N` bytes, with a zero byte behind it. One thread at a time writes it; its users see to that.
///
/// The length comes first: a short text needs only one page of memory.
#[repr(C)]
pub struct Buffer<const N: usize> {
    length: AtomicUsize,
    bytes: UnsafeCell<[u8; N]>,
}

// SAFETY: it is written by one thread at a time, while others do not read what is being written.
unsafe impl<const N: usize> Sync for Buffer<N> {}

impl<const N: usize> Default for Buffer<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Buffer<N> {
    /// An empty one.
    pub const fn new() -> Self {
        Self { length: AtomicUsize::new(0), bytes: UnsafeCell::new([0; N]) }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.length.load(Relaxed) == 0
    }

    /// The text.
    pub fn get(&self) -> &[u8] {
        let length = self.length.load(Acquire);
        // SAFETY: so much was written, and is not written to again before it is replaced.
        unsafe { &(&*self.bytes.get())[..length] }
    }

    /// The text, for the kernel.
    pub fn as_c_str(&self) -> &CStr {
        // SAFETY: the byte behind the text is always zero.
        unsafe { CStr::from_ptr(self.bytes.get().cast()) }
    }

    /// Replaces it by these parts. Whether they fit; it is empty if not.
    pub fn set(&self, parts: &[&[u8]]) -> bool {
        self.length.store(0, Relaxed);
        let fit = parts.iter().all(|part| self.push(part));
        if !fit {
            self.length.store(0, Relaxed);
        }
        fit
    }

    /// Adds a part. Whether it fits; nothing is added if not.
    pub fn push(&self, part: &[u8]) -> bool {
        let begin = self.length.load(Relaxed);
        let end = begin + part.len();
        if end >= N {
            return false;
        }
        // SAFETY: one thread at a time.
        let bytes = unsafe { &mut *self.bytes.get() };
        bytes[begin..end].copy_from_slice(part);
        bytes[end] = 0;
        self.length.store(end, Release);
        true
    }
}

/// The variables of an environment: `NAME=VALUE`.
pub struct Variables {
    next: *const *const c_char,
}

impl Variables {
    /// Those of this process.
    pub fn of_process() -> Self {
        Self { next: crate::environment::of_process() }
    }

    /// Those of a list that ends with a null pointer.
    ///
    /// # Safety
    /// It is one, or null.
    pub unsafe fn of(list: *const *const c_char) -> Self {
        Self { next: list }
    }

    /// The value of the variable with that name.
    pub fn find(self, name: &[u8]) -> Option<&'static [u8]> {
        self.into_iter().find_map(|variable| variable.strip_prefix(name)?.strip_prefix(b"="))
    }
}

impl Iterator for Variables {
    type Item = &'static [u8];

    fn next(&mut self) -> Option<Self::Item> {
        if self.next.is_null() {
            return None;
        }
        // SAFETY: a list of texts, up to a null pointer.
        unsafe {
            let variable = *self.next;
            if variable.is_null() {
                return None;
            }
            self.next = self.next.add(1);
            Some(CStr::from_ptr(variable).to_bytes())
        }
    }
}

/// A number in decimal digits.
pub fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut begin = digits.len();
    loop {
        begin -= 1;
        digits[begin] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[begin..];
        }
    }
}

/// A number of decimal digits, if it is one of 64 bits.
pub fn number(digits: &[u8]) -> Option<u64> {
    let add = |number: u64, digit: &u8| match digit {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    };
    (!digits.is_empty()).then(|| digits.iter().try_fold(0, add)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_and_read_in_decimal_digits() {
        for (number, text) in [(0, "0"), (7, "7"), (10, "10"), (u64::MAX, "18446744073709551615")] {
            assert_eq!(decimal(number, &mut [0; 20]), text.as_bytes());
            assert_eq!(super::number(text.as_bytes()), Some(number));
        }
        for text in ["", "-1", "1a", "18446744073709551616"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_buffer_takes_what_fits_with_a_zero_byte_behind_it() {
        let buffer = Buffer::<8>::new();
        assert!(buffer.set(&[b"abc", b"defg"]));
        assert_eq!((buffer.get(), buffer.as_c_str()), (&b"abcdefg"[..], c"abcdefg"));
        assert!(!buffer.set(&[b"abc", b"defgh"]));
        assert!(buffer.is_empty());
    }
}
