//! What happened in which second. A thread counts by itself, and adds what it counted when its second is over.

use core::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use ioassay_record::operation::{OPERATIONS, Operation};
use ioassay_record::seconds::FINE_BYTES;
use ioassay_record::table::{Second, Seconds, TOTALS, Thread};

use crate::{regions, table, ticks};

/// Place of the rows that are being filled; 0 before the first.
static CURRENT: AtomicU32 = AtomicU32::new(0);
/// Bytes of all rows.
static BYTES: AtomicU32 = AtomicU32::new(0);

/// Rows of the first block, which is all that a short process needs, and of the others.
const FIRST_ROWS: usize = 15;
const ROWS: usize = 100;
/// After each further part beyond [`FINE_BYTES`], rows get twice as wide again.
const COARSER_EVERY_BYTES: u32 = 512 << 10;
/// While the clock's rate is a guess, it is asked again after so many ticks, some 10 ms.
const SOON: u64 = 30_000_000;

/// Forgets the table of the parent.
pub fn begin() {
    CURRENT.store(0, Relaxed);
    BYTES.store(0, Relaxed);
}

/// The second of a thread is over: adds what it counted, and begins the next.
#[cold]
pub fn turn(thread: &Thread) {
    let now = ticks::moment();
    let header = table::header();
    ticks::learn();
    header.latest_ticks.store(now.ticks, Relaxed);
    header.latest_ns.store(now.ns, Relaxed);
    let second = (now.ns / 1_000_000_000) as u32;
    if thread.second.load(Relaxed) != second {
        fold(thread);
        thread.second.store(second, Relaxed);
    }
    let left = 1_000_000_000 - now.ns % 1_000_000_000;
    let left = (u128::from(left) * u128::from(ticks::per_second()) / 1_000_000_000) as u64;
    let ends = if ticks::guessing() { left.min(SOON) } else { left };
    thread.second_ends_ticks.store(now.ticks + ends, Relaxed);
}

/// Adds what a thread counted in its second.
pub fn fold(thread: &Thread) {
    let second = thread.second.load(Relaxed);
    for (number, totals) in thread.totals.iter().enumerate() {
        if totals[0].load(Relaxed) == 0 && totals[2].load(Relaxed) == 0 {
            continue;
        }
        // First they are zero: who reads rows and then threads finds nothing twice.
        let values = totals.each_ref().map(|total| total.load(Relaxed));
        regions::add(thread, number, values);
        totals.iter().for_each(|total| total.store(0, Release));
        if !add(second, Operation::ALL[number], values) {
            totals.iter().zip(values).for_each(|(total, value)| total.store(value, Relaxed));
        }
    }
}

/// Spreads a call that took longer than a second over the seconds that it took.
#[cold]
pub fn spread(thread: &Thread, operation: Operation, began: u64, took: u64, bytes: u64) {
    let now = ticks::moment();
    let per_second = ticks::per_second();
    regions::add(thread, operation as usize, [1, bytes, took, took]);
    let ns = |ticks: u64| {
        let ago = u128::from(now.ticks.saturating_sub(ticks)) * 1_000_000_000 / u128::from(per_second);
        now.ns.saturating_sub(ago as u64)
    };
    for (second, values) in ioassay_record::seconds::spread(ns(began), ns(began + took), took, bytes) {
        if !add(second, operation, values) {
            // It counts as of the thread's current second.
            let [of_calls, of_bytes, of_ticks, of_slowest] = &thread.totals[operation as usize];
            for (total, value) in [of_calls, of_bytes, of_ticks].into_iter().zip(values) {
                total.store(total.load(Relaxed).wrapping_add(value), Relaxed);
            }
            of_slowest.store(of_slowest.load(Relaxed).max(values[3]), Relaxed);
        }
    }
}

/// Adds to the row of a second and operation. Whether there was a place for it.
fn add(second: u32, operation: Operation, values: [u64; TOTALS.len()]) -> bool {
    let width = table::header().width.load(Relaxed);
    let second = second >> width << width;
    let current = CURRENT.load(Acquire);
    let (rows, used) = rows(current);
    let row = rows[..used].iter().rev().find(|row| {
        row.second.load(Acquire) == second
            && row.operation.load(Relaxed) == operation as u16
            && u32::from(row.width.load(Relaxed)) == width
    });
    let row = match row {
        Some(row) => row,
        None => match new_row(current) {
            Some(row) => {
                row.operation.store(operation as u16, Relaxed);
                row.width.store(width as u16, Relaxed);
                row.second.store(second, Release);
                row
            }
            None => return false,
        },
    };
    let [calls, bytes, ticks, slowest] = values;
    row.calls.fetch_add(calls, Relaxed);
    row.bytes.fetch_add(bytes, Relaxed);
    row.ticks.fetch_add(ticks, Relaxed);
    row.slowest_ticks.fetch_max(slowest, Relaxed);
    true
}

/// The rows at that place, and how many are in use.
fn rows(place: u32) -> (&'static [Second], usize) {
    if place == 0 {
        return (&[], 0);
    }
    // SAFETY: it was allocated as that, with rows behind it.
    unsafe {
        let seconds: &Seconds = table::at(place);
        let bytes = seconds.kind_and_bytes.load(Relaxed) as u32 as usize - size_of::<Seconds>();
        let rows = core::slice::from_raw_parts((&raw const *seconds).add(1).cast(), bytes / size_of::<Second>());
        (rows, (seconds.rows.load(Acquire) as usize).min(rows.len()))
    }
}

/// A row that nobody uses yet.
fn new_row(mut current: u32) -> Option<&'static Second> {
    loop {
        if current != 0 {
            // SAFETY: it was allocated as that.
            let seconds: &Seconds = unsafe { table::at(current) };
            let row = seconds.rows.fetch_add(1, AcqRel) as usize;
            if let Some(row) = rows(current).0.get(row) {
                return Some(row);
            }
        }
        let count = if current == 0 { FIRST_ROWS } else { ROWS };
        let new = table::allocate::<Seconds>(count * size_of::<Second>(), |_, _| {})?;
        let bytes = BYTES.fetch_add((count * size_of::<Second>()) as u32, Relaxed);
        if let Some(beyond) = bytes.checked_sub(FINE_BYTES as u32) {
            table::header().width.fetch_max(1 + beyond / COARSER_EVERY_BYTES, Relaxed);
        }
        // Whoever comes second leaves its block empty.
        current = CURRENT.compare_exchange(current, new, AcqRel, Acquire).map_or_else(|other| other, |_| new);
    }
}

const _: () = assert!(OPERATIONS <= u16::MAX as usize);
