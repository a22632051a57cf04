//! Counting a transfer in its row: sizes, order, time.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::buckets;
use crate::table::{COMMON_SIZES, Transfers};

/// Adds to a number that only this thread writes to.
#[inline(always)]
pub fn add(number: &AtomicU64, more: u64) {
    number.store(number.load(Relaxed).wrapping_add(more), Relaxed);
}

impl Transfers {
    /// Counts a transfer that took so many ticks. If it did not fail, it moved so many bytes, from that offset on where
    /// there is one; `alignment` is that of [`crate::table::FileKind::alignment`]. Only one thread may count at a time.
    #[inline(always)]
    pub fn count(&self, took: u64, failed: bool, bytes: u64, offset: Option<u64>, alignment: u32) {
        add(&self.calls, 1);
        add(&self.ticks, took);
        if took > self.slowest_ticks.load(Relaxed) {
            self.slowest_ticks.store(took, Relaxed);
        }
        if failed {
            add(&self.failed, 1);
            return;
        }
        add(&self.bytes, bytes);
        add(&self.sizes[buckets::of_size(bytes)], 1);
        self.count_size(bytes);
        if let Some(offset) = offset {
            self.place_in_order(offset, bytes, alignment);
        }
    }

    /// Counts an exact size, if it is one of the first that came up; a size that came once gives way to another.
    #[inline(always)]
    fn count_size(&self, bytes: u64) {
        for (size, calls) in self.common_bytes.iter().zip(&self.common_calls) {
            let known = calls.load(Relaxed);
            if known == 0 {
                size.store(bytes, Relaxed);
            } else if size.load(Relaxed) != bytes {
                continue;
            }
            calls.store(known + 1, Relaxed);
            return;
        }
        if self.common_calls[COMMON_SIZES - 1].load(Relaxed) == 1 {
            self.common_bytes[COMMON_SIZES - 1].store(bytes, Relaxed);
        }
    }

    /// Says how a transfer lies to the one before.
    #[inline(always)]
    fn place_in_order(&self, offset: u64, bytes: u64, alignment: u32) {
        let end = offset.wrapping_add(bytes);
        if self.end.load(Relaxed) == 0 && self.last_end.load(Relaxed) == 0 {
            self.begin.store(offset, Relaxed);
        } else {
            let (last_begin, last_end) = (self.last_begin.load(Relaxed), self.last_end.load(Relaxed));
            let stride = offset.wrapping_sub(last_begin);
            if offset == last_end {
                add(&self.consecutive, 1);
            } else if offset > last_end {
                add(&self.forward, 1);
                if stride == self.last_stride.load(Relaxed) {
                    add(&self.strided, 1);
                }
            }
            self.last_stride.store(stride, Relaxed);
            if offset < self.begin.load(Relaxed) {
                self.begin.store(offset, Relaxed);
            }
        }
        self.last_begin.store(offset, Relaxed);
        self.last_end.store(end, Relaxed);
        if end > self.end.load(Relaxed) {
            self.end.store(end, Relaxed);
        }
        // What moves nothing has met the end of the file, wherever that is.
        if offset & u64::from(alignment.wrapping_sub(1)) != 0 && alignment != 0 && bytes != 0 {
            add(&self.misaligned, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::zeroed;

    /// A row after transfers of these offsets and sizes, with blocks of 4 KiB.
    fn after(transfers: &[(u64, u64)]) -> Transfers {
        let row: Transfers = zeroed();
        for &(offset, bytes) in transfers {
            row.place_in_order(offset, bytes, 4096);
            row.count_size(bytes);
        }
        row
    }

    /// Consecutive, forward, and of these strided.
    fn order(row: &Transfers) -> [u64; 3] {
        [&row.consecutive, &row.forward, &row.strided].map(|number| number.load(Relaxed))
    }

    #[test]
    fn transfers_that_follow_each_other_are_consecutive() {
        let row = after(&[(0, 100), (100, 50), (150, 10)]);
        assert_eq!(order(&row), [2, 0, 0]);
        assert_eq!((row.begin.load(Relaxed), row.end.load(Relaxed)), (0, 160));
    }

    #[test]
    fn transfers_at_equal_distances_are_strided_from_the_third_on() {
        assert_eq!(order(&after(&[(0, 100), (1000, 100), (2000, 100), (3000, 100)])), [0, 3, 2]);
    }

    #[test]
    fn a_step_back_is_neither_consecutive_nor_forward() {
        let row = after(&[(8192, 100), (0, 100), (4096, 100)]);
        assert_eq!(order(&row), [0, 1, 0]);
        assert_eq!((row.begin.load(Relaxed), row.end.load(Relaxed)), (0, 8292));
    }

    #[test]
    fn an_offset_that_is_no_multiple_of_the_block_is_misaligned() {
        assert_eq!(after(&[(0, 1), (4096, 1), (4097, 1), (100, 1), (101, 0)]).misaligned.load(Relaxed), 2);
    }

    #[test]
    fn the_first_sizes_and_those_that_come_again_are_counted_exactly() {
        let row = after(&[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 5), (0, 1)]);
        let sizes =
            std::array::from_fn(|slot| (row.common_bytes[slot].load(Relaxed), row.common_calls[slot].load(Relaxed)));
        assert_eq!(sizes, [(1, 2), (2, 1), (3, 1), (5, 2)]);
    }

    #[test]
    fn a_transfer_that_failed_has_taken_time_and_moved_nothing() {
        let row: Transfers = zeroed();
        row.count(7, true, 0, None, 0);
        row.count(3, false, 10, Some(0), 4096);
        let counted = [&row.calls, &row.failed, &row.bytes, &row.ticks, &row.slowest_ticks];
        assert_eq!(counted.map(|number| number.load(Relaxed)), [2, 1, 10, 10, 7]);
    }
}
