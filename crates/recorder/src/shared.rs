//! Numbers that every thread of the process may change.
//!
//! An atomic change costs some 9 ns, and opening and closing a file makes seven. A process that has only one thread does
//! without: a signal handler cannot come between, since a thread that is changing something is busy ([`crate::call`]).

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Relaxed};

/// There is, or was, more than one thread.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// The process is about to have a second thread, or has it.
pub fn several_threads() {
    if !SEVERAL.load(Relaxed) {
        SEVERAL.store(true, Relaxed);
    }
}

/// Whether there is, or was, more than one thread.
#[inline(always)]
pub fn several() -> bool {
    SEVERAL.load(Relaxed)
}

macro_rules! adding {
    ($name:ident, $atomic:ty, $integer:ty) => {
        /// Adds, and wraps around. The number before.
        #[inline(always)]
        pub fn $name(number: &$atomic, more: $integer) -> $integer {
            if several() {
                return number.fetch_add(more, AcqRel);
            }
            let before = number.load(Relaxed);
            number.store(before.wrapping_add(more), Relaxed);
            before
        }
    };
}
adding!(add, AtomicU64, u64);
adding!(add_short, AtomicU32, u32);

/// Adds, and stays at the greatest number instead of starting anew.
#[inline(always)]
pub fn add_saturating(number: &AtomicU32, more: u32) {
    if add_short(number, more) > u32::MAX - more {
        number.store(u32::MAX, Relaxed);
    }
}

/// Replaces a number. The one before.
#[inline(always)]
pub fn replace(number: &AtomicU32, by: u32) -> u32 {
    if several() {
        return number.swap(by, AcqRel);
    }
    let before = number.load(Relaxed);
    number.store(by, Relaxed);
    before
}

/// Replaces a number by another if it is `expected`. Whether it was.
#[inline(always)]
pub fn replace_if(number: &AtomicU64, expected: u64, by: u64) -> bool {
    if several() {
        return number.compare_exchange(expected, by, AcqRel, Relaxed).is_ok();
    }
    let is = number.load(Relaxed) == expected;
    if is {
        number.store(by, Relaxed);
    }
    is
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_full_stays_so() {
        let number = AtomicU32::new(u32::MAX - 1);
        for _ in 0..3 {
            add_saturating(&number, 1);
        }
        assert_eq!(number.load(Relaxed), u32::MAX);
    }
}
