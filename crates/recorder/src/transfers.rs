//! What a thread moved from or to a file: sizes, order, time.

use core::sync::atomic::{AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};

use ioassay_record::buckets;
use ioassay_record::operation::Operation;
use ioassay_record::table::{COMMON_SIZES, RECENT, Thread, Transfers};

use crate::{files, table};

/// A transfer that ended.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Place of the file's row.
    pub file: u32,
    /// What it was.
    pub operation: Operation,
    /// Where it began, if anybody knows.
    pub offset: Option<u64>,
    /// That were moved.
    pub bytes: u64,
    /// Offsets that are no multiple of it are misaligned; 0 where that makes no sense.
    pub block_bytes: u32,
    /// In ticks.
    pub took: u64,
    /// Whether it failed.
    pub failed: bool,
}

/// Adds to a number that only this thread writes to.
#[inline(always)]
pub fn add(number: &AtomicU64, more: u64) {
    number.store(number.load(Relaxed).wrapping_add(more), Relaxed);
}

/// Counts a transfer.
#[inline(always)]
pub fn count(thread: &'static Thread, transfer: Transfer) {
    let Some(row) = row(thread, transfer.file, transfer.operation) else { return };
    add(&row.calls, 1);
    add(&row.ticks, transfer.took);
    if transfer.took > row.slowest_ticks.load(Relaxed) {
        row.slowest_ticks.store(transfer.took, Relaxed);
    }
    if transfer.failed {
        add(&row.failed, 1);
        return;
    }
    let bytes = transfer.bytes;
    add(&row.bytes, bytes);
    add(&row.sizes[buckets::of_size(bytes)], 1);
    count_size(row, bytes);
    if let Some(offset) = transfer.offset {
        place_in_order(row, offset, bytes, transfer.block_bytes);
    }
}

/// Counts an exact size, if it is one of the first that came up; a size that came once gives way to another.
#[inline(always)]
fn count_size(row: &Transfers, bytes: u64) {
    for (size, calls) in row.common_bytes.iter().zip(&row.common_calls) {
        let known = calls.load(Relaxed);
        if known == 0 {
            size.store(bytes, Relaxed);
        } else if size.load(Relaxed) != bytes {
            continue;
        }
        calls.store(known + 1, Relaxed);
        return;
    }
    if row.common_calls[COMMON_SIZES - 1].load(Relaxed) == 1 {
        row.common_bytes[COMMON_SIZES - 1].store(bytes, Relaxed);
    }
}

/// Says how a transfer lies to the one before.
#[inline(always)]
fn place_in_order(row: &Transfers, offset: u64, bytes: u64, block_bytes: u32) {
    let end = offset.wrapping_add(bytes);
    if row.end.load(Relaxed) == 0 && row.last_end.load(Relaxed) == 0 {
        row.begin.store(offset, Relaxed);
    } else {
        let (last_begin, last_end) = (row.last_begin.load(Relaxed), row.last_end.load(Relaxed));
        let stride = offset.wrapping_sub(last_begin);
        if offset == last_end {
            add(&row.consecutive, 1);
        } else if offset > last_end {
            add(&row.forward, 1);
            if stride == row.last_stride.load(Relaxed) {
                add(&row.strided, 1);
            }
        }
        row.last_stride.store(stride, Relaxed);
        if offset < row.begin.load(Relaxed) {
            row.begin.store(offset, Relaxed);
        }
    }
    row.last_begin.store(offset, Relaxed);
    row.last_end.store(end, Relaxed);
    if end > row.end.load(Relaxed) {
        row.end.store(end, Relaxed);
    }
    // What moves nothing has met the end of the file, wherever that is.
    if offset & u64::from(block_bytes.wrapping_sub(1)) != 0 && block_bytes != 0 && bytes != 0 {
        add(&row.misaligned, 1);
    }
}

/// The row of a thread, file and operation.
#[inline(always)]
fn row(thread: &'static Thread, file: u32, operation: Operation) -> Option<&'static Transfers> {
    let key = u64::from(file) << 32 | (operation as u64) << 27;
    let recent = &thread.recent[(file as usize / 8 + operation as usize) % RECENT];
    let found = recent.load(Relaxed);
    if found & KEY == key {
        // SAFETY: it was allocated as that.
        return Some(unsafe { table::at((found & !KEY) as u32) });
    }
    let place = find(thread, file, operation)?;
    recent.store(key | u64::from(place), Relaxed);
    // SAFETY: it was allocated as that.
    Some(unsafe { table::at(place) })
}

/// What of a remembered row says which it is; below are 27 bits, enough for any place.
const KEY: u64 = !((1 << 27) - 1);

#[cold]
fn find(thread: &'static Thread, file: u32, operation: Operation) -> Option<u32> {
    let head = &files::row(file).transfers;
    let of = table::place(thread);
    let mut first = head.load(Acquire);
    let mut place = first;
    while place != 0 {
        // SAFETY: what is in the list was allocated as that.
        let row: &Transfers = unsafe { table::at(place) };
        if row.thread == of && row.operation == operation as u32 {
            return Some(place);
        }
        place = row.next;
    }
    let others = files::others();
    let fill = |row: &mut Transfers, _: &mut [u8]| {
        row.file = file;
        row.next = first;
        row.thread = of;
        row.operation = operation as u32;
    };
    let new = if file == others { table::allocate_for_others(0, fill) } else { table::allocate::<Transfers>(0, fill) };
    let Some(new) = new else {
        // The row of all others, if this is not already it.
        if others == 0 || others == file {
            table::header().lost_calls.fetch_add(1, Relaxed);
            return None;
        }
        table::header().folded_calls.fetch_add(1, Relaxed);
        return find(thread, others, operation);
    };
    while let Err(other) = head.compare_exchange(first, new, AcqRel, Acquire) {
        first = other;
        // SAFETY: the row is not in the list yet, so nobody else reads it.
        unsafe { (*(&raw const *table::at::<Transfers>(new)).cast_mut()).next = first };
    }
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row after transfers of these offsets and sizes, with blocks of 4 KiB.
    fn after(transfers: &[(u64, u64)]) -> Transfers {
        // SAFETY: integers, for which zero is valid.
        let row: Transfers = unsafe { std::mem::zeroed() };
        for &(offset, bytes) in transfers {
            place_in_order(&row, offset, bytes, 4096);
            count_size(&row, bytes);
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
}
