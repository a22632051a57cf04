//! Rows of what a thread moved from or to a file.

use core::sync::atomic::{Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};

use ioassay_record::operation::{OPERATIONS, Operation};
use ioassay_record::table::{FileKind, LARGEST, RECENT, Thread, Transfers};

use crate::rules::{self, Matching};
use crate::{files, table};

/// A transfer that ended.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Place of the file's row.
    pub file: u32,
    /// Which rules are for it.
    pub matching: &'static Matching,
    /// What it was.
    pub operation: Operation,
    /// Where it began, if that is known.
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

/// Counts a transfer. Whether it was on storage.
#[inline(always)]
pub fn count(thread: &'static Thread, transfer: Transfer) -> bool {
    let Transfer { file, matching, operation, offset, bytes, block_bytes, took, failed } = transfer;
    let Some(row) = row(thread, file, operation) else { return true };
    rules::count(thread, file, matching, operation, took, (!failed).then_some(bytes), || {
        let last = row.last_end.load(Relaxed);
        offset.filter(|_| !failed && row.bytes.load(Relaxed) != 0).map_or(0, |offset| offset.abs_diff(last))
    });
    row.count(took, failed, bytes, offset, block_bytes);
    // The thread's own row says it: threads that open files write to those of files.
    row.elsewhere == 0
}

/// The row of a thread, file and operation.
#[inline(always)]
fn row(thread: &'static Thread, file: u32, operation: Operation) -> Option<&'static Transfers> {
    let key = u64::from(file) << 32 | (operation as u64) << PLACE_BITS;
    let recent = &thread.recent[(file as usize / 8 + operation as usize) % RECENT];
    let recent_place = recent.load(Relaxed);
    if recent_place & KEY == key {
        // SAFETY: it was allocated as that.
        return Some(unsafe { table::block_at((recent_place & !KEY) as u32) });
    }
    let place = find(thread, file, operation)?;
    recent.store(key | u64::from(place), Relaxed);
    // SAFETY: it was allocated as that.
    Some(unsafe { table::block_at(place) })
}

/// Of a remembered row: enough for any place, and leaving enough for any operation.
const PLACE_BITS: u32 = 26;
/// What says which it is.
const KEY: u64 = !((1 << PLACE_BITS) - 1);
const _: () = assert!(LARGEST <= 1 << PLACE_BITS && OPERATIONS <= 1 << (32 - PLACE_BITS));

#[cold]
fn find(thread: &'static Thread, file: u32, operation: Operation) -> Option<u32> {
    let of_file = files::row(file);
    let head = &of_file.transfers;
    let of = table::place(thread);
    let mut first = head.load(Acquire);
    let mut place = first;
    while place != 0 {
        // SAFETY: what is in the list was allocated as that.
        let row: &Transfers = unsafe { table::block_at(place) };
        if row.thread == of && row.operation == operation as u16 {
            return Some(place);
        }
        place = row.next;
    }
    let others = files::others();
    let fill = |row: &mut Transfers, _: &mut [u8]| {
        row.file = file;
        row.next = first;
        row.thread = of;
        row.operation = operation as u16;
        row.elsewhere = (!files::is_on_storage(of_file)).into();
    };
    let new = match files::kind(of_file) {
        _ if file == others => table::allocate_for_others(0, fill),
        FileKind::Others => table::allocate_for_directory(0, fill),
        _ => table::allocate::<Transfers>(0, fill),
    };
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
        unsafe { (*(&raw const *table::block_at::<Transfers>(new)).cast_mut()).next = first };
    }
    Some(new)
}
