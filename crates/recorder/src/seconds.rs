//! What happened in which second, and in which step of it. A thread counts by itself, and adds what it counted when its second
//! or its step is over.

use core::sync::atomic::{
    AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use ioassay_record::operation::{OPERATIONS, Operation};
use ioassay_record::seconds::{
    FINE_BYTES, NS_PER_SECOND, NS_PER_STEP, Piece, SECOND_WIDTH, STEP_BYTES, spread as pieces, step_at,
};
use ioassay_record::table::{BlockLayout, Second, Seconds, Steps, TOTALS, Thread};

use crate::{regions, rules, table, ticks};

/// Blocks of rows of one kind.
struct Rows {
    /// Place of the block that is being filled; 0 before the first.
    current: AtomicU32,
    /// Bytes of all rows.
    bytes: AtomicU32,
    /// Takes a block for so many rows.
    allocate: fn(usize) -> Option<u32>,
    /// From so many bytes of rows on, those that begin are wider.
    widen: fn(usize),
}

static SECONDS: Rows = Rows::new(allocate::<Seconds>, |bytes| {
    if let Some(beyond) = bytes.checked_sub(FINE_BYTES) {
        table::header().width.fetch_max(1 + (beyond / COARSER_EVERY_BYTES) as u32, Relaxed);
    }
});
static STEPS: Rows = Rows::new(allocate::<Steps>, |bytes| {
    let width = ((bytes / STEP_BYTES) as u32).min(SECOND_WIDTH);
    table::header().step_width.fetch_max(width, Relaxed);
});

/// Of a step that begins now, in ticks: calls that take longer are spread over several.
static STEP_TICKS: AtomicU64 = AtomicU64::new(u64::MAX);

/// Rows of the first block, which is all that a short process needs, and of the others.
const FIRST_ROWS: usize = 15;
const ROWS: usize = 100;
/// After each further part beyond [`FINE_BYTES`], rows of seconds get twice as wide again.
const COARSER_EVERY_BYTES: usize = 512 << 10;
/// While the clock's rate is a guess, it is asked again after so many ticks, some 10 ms.
const SOON: u64 = 30_000_000;

/// Forgets the table of the parent.
pub fn begin() {
    for rows in [&SECONDS, &STEPS] {
        rows.current.store(0, Relaxed);
        rows.bytes.store(0, Relaxed);
    }
}

/// The step of a thread is over: adds what it counted, and begins the next.
#[cold]
pub fn turn(thread: &Thread) {
    let now = ticks::moment();
    let header = table::header();
    ticks::learn();
    header.latest_ticks.store(now.ticks, Relaxed);
    header.latest_ns.store(now.ns, Relaxed);
    fold(thread);
    let width = header.step_width.load(Relaxed).min(SECOND_WIDTH);
    let step = if width < SECOND_WIDTH { step_at(now.ns, header.begin_ns, width) } else { 0 };
    thread.second.store((now.ns / NS_PER_SECOND) as u32, Relaxed);
    thread.step.store(step, Relaxed);
    thread.step_width.store(width, Relaxed);
    let step_ns = NS_PER_STEP << width;
    let step_ticks = in_ticks(step_ns);
    if STEP_TICKS.load(Relaxed) != step_ticks {
        STEP_TICKS.store(step_ticks, Relaxed);
    }
    let left = in_ticks(step_ns - now.ns % step_ns);
    let ends = if ticks::guessing() { left.min(SOON) } else { left };
    thread.step_ends_ticks.store(now.ticks + ends, Relaxed);
    rules::renew();
}

fn in_ticks(ns: u64) -> u64 {
    (u128::from(ns) * u128::from(ticks::per_second()) / u128::from(NS_PER_SECOND)) as u64
}

/// Adds what a thread counted in its step.
pub fn fold(thread: &Thread) {
    let second = thread.second.load(Relaxed);
    for (number, totals) in thread.totals.iter().enumerate() {
        if totals[0].load(Relaxed) == 0 && totals[2].load(Relaxed) == 0 {
            continue;
        }
        // First they are zero: who reads rows and then threads finds nothing twice.
        let values = totals.each_ref().map(|total| total.load(Relaxed));
        totals.iter().for_each(|total| total.store(0, Release));
        let operation = Operation::ALL[number];
        if !add_to_second(second, operation, values) {
            totals.iter().zip(values).for_each(|(total, value)| total.store(value, Relaxed));
            continue;
        }
        regions::add(thread, operation, values);
        if let step @ 1.. = thread.step.load(Relaxed) {
            // Without a place for it, it was evenly within its second, as far as readers know.
            STEPS.add(step, thread.step_width.load(Relaxed), operation, values);
        }
    }
}

/// Whether a call that took so long is to be spread.
#[inline(always)]
pub fn is_long(took: u64) -> bool {
    took > STEP_TICKS.load(Relaxed)
}

/// Spreads a call that took longer than a step over the seconds and steps that it took.
#[cold]
pub fn spread(thread: &Thread, operation: Operation, began: u64, took: u64, bytes: u64) {
    let now = ticks::moment();
    let per_second = ticks::per_second();
    let ns = |ticks: u64| {
        let ago = u128::from(now.ticks.saturating_sub(ticks)) * u128::from(NS_PER_SECOND) / u128::from(per_second);
        now.ns.saturating_sub(ago as u64)
    };
    for piece in pieces(ns(began), ns(began + took), NS_PER_SECOND, [1, bytes, took, took]) {
        if add_to_second((piece.begin_ns / NS_PER_SECOND) as u32, operation, piece.totals) {
            regions::add(thread, operation, piece.totals);
            spread_over_steps(operation, piece);
            continue;
        }
        // It counts as of the thread's current second.
        let [of_calls, of_bytes, of_ticks, of_slowest] = &thread.totals[operation as usize];
        for (total, value) in [of_calls, of_bytes, of_ticks].into_iter().zip(piece.totals) {
            total.store(total.load(Relaxed).wrapping_add(value), Relaxed);
        }
        of_slowest.store(of_slowest.load(Relaxed).max(piece.totals[3]), Relaxed);
    }
}

/// Spreads what was done in a part of a second. What was done evenly in all of it is known from its row.
fn spread_over_steps(operation: Operation, of_second: Piece) {
    let header = table::header();
    let width = header.step_width.load(Relaxed);
    let Piece { begin_ns, end_ns, totals } = of_second;
    if width >= SECOND_WIDTH || end_ns - begin_ns == NS_PER_SECOND {
        return;
    }
    for piece in pieces(begin_ns, end_ns, NS_PER_STEP << width, totals) {
        STEPS.add(step_at(piece.begin_ns, header.begin_ns, width), width, operation, piece.totals);
    }
}

/// Adds to the row of a second and operation. Whether there was a place for it.
fn add_to_second(second: u32, operation: Operation, values: [u64; TOTALS.len()]) -> bool {
    let width = table::header().width.load(Relaxed);
    SECONDS.add(second >> width << width, width, operation, values)
}

/// Takes a block for so many rows.
fn allocate<T: BlockLayout>(rows: usize) -> Option<u32> {
    // Both kinds have the same layout.
    const { assert!(size_of::<T>() == size_of::<Seconds>()) };
    table::allocate::<T>(rows * size_of::<Second>(), |_, _| {})
}

impl Rows {
    const fn new(allocate: fn(usize) -> Option<u32>, widen: fn(usize)) -> Self {
        Self { current: AtomicU32::new(0), bytes: AtomicU32::new(0), allocate, widen }
    }

    /// Adds to the row of a moment, width and operation. Whether there was a place for it.
    fn add(&self, begin: u32, width: u32, operation: Operation, values: [u64; TOTALS.len()]) -> bool {
        let current = self.current.load(Acquire);
        let (rows, used) = rows(current);
        let row = rows[..used].iter().rev().find(|row| {
            row.second.load(Acquire) == begin
                && row.operation.load(Relaxed) == operation as u16
                && u32::from(row.width.load(Relaxed)) == width
        });
        let row = match row {
            Some(row) => row,
            None => match self.new_row(current) {
                Some(row) => {
                    row.operation.store(operation as u16, Relaxed);
                    row.width.store(width as u16, Relaxed);
                    row.second.store(begin, Release);
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

    /// A row that nobody uses yet.
    fn new_row(&self, mut current: u32) -> Option<&'static Second> {
        loop {
            if current != 0 {
                // SAFETY: it was allocated as that, or as its like.
                let block: &Seconds = unsafe { table::block_at(current) };
                let row = block.rows.fetch_add(1, AcqRel) as usize;
                if let Some(row) = rows(current).0.get(row) {
                    return Some(row);
                }
            }
            let count = if current == 0 { FIRST_ROWS } else { ROWS };
            let new = (self.allocate)(count)?;
            let bytes = count * size_of::<Second>();
            (self.widen)(self.bytes.fetch_add(bytes as u32, Relaxed) as usize + bytes);
            // The thread that comes second leaves its block empty.
            current = self.current.compare_exchange(current, new, AcqRel, Acquire).map_or_else(|other| other, |_| new);
        }
    }
}

/// The rows at that place, and how many are in use.
fn rows(place: u32) -> (&'static [Second], usize) {
    if place == 0 {
        return (&[], 0);
    }
    // SAFETY: it was allocated as that, or as its like, with rows behind it.
    unsafe {
        let block: &Seconds = table::block_at(place);
        // Zero where the table has been cut.
        let bytes = (block.kind_and_bytes.load(Relaxed) as u32 as usize).saturating_sub(size_of::<Seconds>());
        let rows = core::slice::from_raw_parts((&raw const *block).add(1).cast(), bytes / size_of::<Second>());
        (rows, (block.rows.load(Acquire) as usize).min(rows.len()))
    }
}

const _: () = assert!(OPERATIONS <= u16::MAX as usize);
