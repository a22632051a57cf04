//! A table that is read again and again: what is new since the last time.
//!
//! Blocks stay where they are, so each is found once. What changes is read every time: the header, the threads, and the rows
//! of seconds that may still grow.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ioassay_record::layout::Layout;
use ioassay_record::operation::{OPERATIONS, Operation};
use ioassay_record::read::{self, Damage, copy};
use ioassay_record::table::{
    ALIGNMENT, Block, BlockKind, Clock, File as FileRow, Header, LARGEST, Second, Seconds, State, Text, Thread,
    WATCHED_BLOCKS, WATCHED_ROWS, Watched, WatchedRow,
};

use crate::tables::amounts::{Amounts, Released, Totals};
use crate::tables::identity::{Identity, clean};

/// Where the bytes of a table are.
pub trait Bytes: std::fmt::Debug {
    /// Reads from an offset on; fewer bytes at the end.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl Bytes for File {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, into, offset)
    }
}

impl Bytes for &[u8] {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// New blocks are looked for in so many bytes at a time; those behind come with the next look.
const MOST_NEW_BYTES: usize = 1 << 20;
/// Threads of a process that are read at most.
const MOST_THREADS: usize = 2048;
/// Blocks of rows that may still grow: threads that make one at the same time leave all but one of them empty.
const GROWING_BLOCKS: usize = 8;
/// Rows of a block that are read at most: recorders make blocks of 100.
const MOST_ROWS: usize = 1024;
/// Of a block of rows of rules.
const WATCHED_BYTES: usize = size_of::<Watched>() + WATCHED_ROWS * size_of::<WatchedRow>();
/// So much of a thread changes.
const THREAD_BYTES: usize = offset_of!(Thread, latencies);

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Who its process is.
    pub identity: Identity,
    /// The clock of its ticks, as in the header.
    clock: u32,
    /// Where the first block begins that is not known yet.
    next: usize,
    threads: Vec<SeenThread>,
    rows: Vec<SeenRows>,
    watched: Vec<SeenWatched>,
    released: Released,
    /// Of the header, at the last look: calls that were not counted, and the recorder's own time.
    uncounted: u64,
    /// Of the header, at the last look: what rules held back.
    throttled_ticks: u64,
    is_first_look: bool,
}

/// A thread, as it was seen last.
#[derive(Debug)]
struct SeenThread {
    place: usize,
    second: u32,
    step_ends_ticks: u64,
    totals: Box<[Totals; OPERATIONS]>,
}

/// A block of rows, as they were seen last.
#[derive(Debug)]
struct SeenRows {
    place: usize,
    count: usize,
    rows: Vec<[u64; 3]>,
    /// Looks since it is full.
    full: u8,
}

/// Rows of some slots of rules of a thread, as they were seen last.
#[derive(Debug)]
struct SeenWatched {
    place: usize,
    first_slot: usize,
    rows: [[u64; 6]; WATCHED_ROWS],
}

/// What is new of a rule's slot, of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotCount {
    /// The slot.
    pub slot: usize,
    /// Calls that ended.
    pub calls: u64,
    /// Bytes that were moved.
    pub bytes: u64,
    /// What the calls took.
    pub ticks: u64,
    /// From where transfers ended to where the next began.
    pub seek_bytes: u64,
    /// Calls that were held back.
    pub waits: u64,
    /// What they waited.
    pub waited_ticks: u64,
    /// What the fastest and the slowest call took that ended in the last second; 0 where there was none.
    pub extremes_ticks: [u64; 2],
    /// Places of the last file, and of that of the slowest call; 0 where there is none.
    pub files: [u32; 2],
}

/// What a look has found.
#[derive(Debug, Default)]
pub struct Look {
    /// What is new of all classes.
    pub amounts: Amounts,
    /// What is new of the slots of rules.
    pub slots: Vec<SlotCount>,
    /// Calls under way.
    pub in_flight: Vec<InFlight>,
    /// What rules held back since the last look, in ticks.
    pub throttled_ticks: u64,
    /// Calls that were not counted since the last look, or only as those of all files.
    pub uncounted_calls: u64,
    /// The process has begun since the agent did, and was not read before.
    pub began: bool,
    /// The process has ended, or was replaced.
    pub state: Option<State>,
}

/// A call that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight {
    /// The thread, by number.
    pub thread: u32,
    /// The class of the call.
    pub operation: Operation,
    /// Place of the file.
    pub file: u32,
    /// Since when, in ticks.
    pub since_ticks: u64,
}

/// Which seconds a look is about.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The first second that is counted at all: what was before the agent began is not.
    pub first: u32,
    /// The last second that is over.
    pub last: u32,
    /// The last second that is read: that of a process which has ended need not be over.
    pub until: u32,
}

impl Table {
    /// The table that these bytes begin with.
    ///
    /// # Errors
    /// If they cannot be read, or are none.
    pub fn open(bytes: &dyn Bytes) -> io::Result<Self> {
        let (header, blocks_begin) = header(bytes)?;
        Ok(Self {
            identity: Identity::of(&header),
            clock: header.clock,
            next: blocks_begin,
            threads: Vec::new(),
            rows: Vec::new(),
            watched: Vec::new(),
            released: Released::default(),
            uncounted: 0,
            throttled_ticks: 0,
            is_first_look: true,
        })
    }

    /// How much of it is known: a file that is shorter was cut.
    pub fn known_bytes(&self) -> usize {
        self.next
    }

    /// Whether its ticks are those of the processor's counter.
    pub fn counts_ticks(&self) -> bool {
        self.clock == Clock::Counter as u32
    }

    /// Whether it has not been read yet.
    pub fn is_new(&self) -> bool {
        self.is_first_look
    }

    /// Looks at all that is new in the table of a process that has ended.
    ///
    /// # Errors
    /// As [`Table::look`].
    pub fn look_whole(&mut self, bytes: &[u8], span: Span) -> io::Result<Look> {
        // Its last second will not be read again.
        let whole = Span { until: u32::MAX, ..span };
        let mut look = self.look(&bytes, whole)?;
        look.in_flight.clear();
        Ok(look)
    }

    /// Looks at what is new.
    ///
    /// # Errors
    /// If it cannot be read, or is no table any more.
    pub fn look(&mut self, bytes: &dyn Bytes, span: Span) -> io::Result<Look> {
        let (header, _) = header(bytes)?;
        if header.process != self.identity.process || header.begin_ticks != self.identity.begin_ticks {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is the table of another process now"));
        }
        let used = (header.used_bytes.load(Relaxed) as usize).min(LARGEST);
        // A process that opens very many files fills its table faster than it is read.
        for _ in 0..LARGEST / MOST_NEW_BYTES {
            let before = self.next;
            self.find_blocks(bytes, used)?;
            if self.next - before < MOST_NEW_BYTES / 2 {
                break;
            }
        }
        let mut look = Look::default();
        // Rows before threads: an amount that goes over meanwhile is seen the next time, instead of twice.
        let is_older = self.is_first_look && self.identity.begin_ns / 1_000_000_000 < span.first.into();
        look.began = self.is_first_look && !is_older;
        let rows = self.look_at_rows(bytes, span)?;
        self.look_at_threads(bytes, span, &mut look)?;
        for (second, width, class, new) in rows {
            let left = self.released.settle(second, width, class, new);
            // The second of a wide row is unknown, but it was since the last look.
            let (second, is_known) = if width == 0 { (second, true) } else { (span.last, !self.is_first_look) };
            if second >= span.first && is_known {
                look.amounts.add(second, class, left);
            }
        }
        let uncounted = [&header.folded_calls, &header.lost_calls, &header.handler_calls, &header.unwatched_calls]
            .iter()
            .fold(0_u64, |sum, calls| sum.saturating_add(calls.load(Relaxed)));
        self.look_at_watched(bytes, span, is_older, &mut look)?;
        let throttled_ticks = header.throttled_ticks.load(Relaxed);
        if !is_older {
            look.uncounted_calls = uncounted.saturating_sub(self.uncounted);
            look.throttled_ticks = throttled_ticks.saturating_sub(self.throttled_ticks);
        }
        (self.uncounted, self.throttled_ticks) = (uncounted, throttled_ticks);
        self.is_first_look = false;
        let state = header.state.load(Relaxed);
        look.state = [State::Exited, State::Replaced, State::Stayed].into_iter().find(|ended| *ended as u32 == state);
        Ok(look)
    }

    /// The name of the file at that place; empty where there is none.
    pub fn file_name(bytes: &dyn Bytes, place: u32) -> String {
        let mut buffer = [0; size_of::<FileRow>() + 1024];
        let Ok(count) = bytes.read_at(&mut buffer, place.into()) else { return String::new() };
        let Some(row) = structure::<FileRow>(&buffer[..count], BlockKind::File) else { return String::new() };
        let name = &buffer[size_of::<FileRow>()..count];
        clean(&name[..name.len().min(row.name_bytes.into())])
    }

    /// Finds the blocks that are new.
    fn find_blocks(&mut self, bytes: &dyn Bytes, used: usize) -> io::Result<()> {
        let new = used.saturating_sub(self.next).min(MOST_NEW_BYTES);
        if new < size_of::<Block>() {
            return Ok(());
        }
        let mut buffer = vec![0; new];
        let count = bytes.read_at(&mut buffer, self.next as u64)?;
        let mut rest = &buffer[..count];
        while let Some(block) = copy::<Block>(rest) {
            let word = block.kind_and_bytes.into_inner();
            let (kind, length) = ((word >> 32) as u32, word as u32 as usize);
            // One that is being filled, or that is not whole in what was read: it comes with the next look.
            if length < size_of::<Block>() || !length.is_multiple_of(ALIGNMENT) || kind == BlockKind::Reserved as u32 {
                return Ok(());
            }
            let Some(whole) = rest.get(..length) else {
                // A block larger than all that is read at once is none of those that matter.
                self.next += if rest.len() == MOST_NEW_BYTES { length } else { 0 };
                return Ok(());
            };
            self.add_block(kind, whole);
            self.next += length;
            rest = &rest[length..];
        }
        Ok(())
    }

    fn add_block(&mut self, kind: u32, block: &[u8]) {
        if kind == BlockKind::Text as u32 {
            if let Some(text) = copy::<Text>(block) {
                self.identity.add(&text, &block[size_of::<Text>()..]);
            }
        } else if kind == BlockKind::Thread as u32 && block.len() >= size_of::<Thread>() {
            if self.threads.len() < MOST_THREADS {
                let totals = Box::new([[0; 4]; OPERATIONS]);
                self.threads.push(SeenThread { place: self.next, second: 0, step_ends_ticks: 0, totals });
            }
        } else if kind == BlockKind::Seconds as u32 && block.len() >= size_of::<Seconds>() {
            let count = ((block.len() - size_of::<Seconds>()) / size_of::<Second>()).min(MOST_ROWS);
            self.rows.push(SeenRows { place: self.next, count, rows: Vec::new(), full: 0 });
        } else if kind == BlockKind::Watched as u32
            && block.len() >= WATCHED_BYTES
            && self.watched.len() < MOST_THREADS * WATCHED_BLOCKS
            && let Some(watched) = copy::<Watched>(block)
            && watched.first_slot as usize <= (WATCHED_BLOCKS - 1) * WATCHED_ROWS
        {
            let first_slot = watched.first_slot as usize;
            self.watched.push(SeenWatched { place: self.next, first_slot, rows: [[0; 6]; WATCHED_ROWS] });
        }
    }

    /// What is new in rows: second, width, class and totals.
    fn look_at_rows(&mut self, bytes: &dyn Bytes, span: Span) -> io::Result<Vec<(u32, u16, u16, Totals)>> {
        let (mut buffer, mut amounts) = (Vec::new(), Vec::new());
        for block in &mut self.rows {
            buffer.resize(size_of::<Seconds>() + block.count * size_of::<Second>(), 0);
            let count = bytes.read_at(&mut buffer, block.place as u64)?;
            let read = &buffer[..count];
            let Some(begin) = structure::<Seconds>(read, BlockKind::Seconds) else { continue };
            let used = begin.rows.load(Relaxed) as usize;
            let rows = read[size_of::<Seconds>()..].chunks_exact(size_of::<Second>()).take(used.min(block.count));
            block.rows.resize(used.min(block.count), [0; 3]);
            for (row, seen) in rows.filter_map(copy::<Second>).zip(&mut block.rows) {
                let (second, width) = (row.second.into_inner(), row.width.into_inner());
                let class = row.operation.into_inner();
                // A row that is being filled; one of a second that is not over, in which a thread has ended.
                if second == 0 || second > span.until {
                    continue;
                }
                let now = [row.calls, row.bytes, row.ticks].map(|total| total.into_inner());
                let [calls, bytes, ticks] = [0, 1, 2].map(|total: usize| now[total].saturating_sub(seen[total]));
                *seen = now;
                if [calls, bytes, ticks] != [0; 3] {
                    amounts.push((second, width, class, [calls, bytes, ticks, row.slowest_ticks.into_inner()]));
                }
            }
            block.full = block.full.saturating_add((used >= block.count).into());
        }
        // One that is full is read once more: another thread may have been about to add to one of its rows.
        if let Some(last) = self.rows.last().map(|block| block.place) {
            self.rows.retain(|block| block.full < 2 || block.place == last);
        }
        let beyond = self.rows.len().saturating_sub(GROWING_BLOCKS);
        self.rows.drain(..beyond);
        Ok(amounts)
    }

    fn look_at_threads(&mut self, bytes: &dyn Bytes, span: Span, look: &mut Look) -> io::Result<()> {
        let mut buffer = [0; size_of::<Thread>()];
        for seen in &mut self.threads {
            let count = bytes.read_at(&mut buffer[..THREAD_BYTES], seen.place as u64)?;
            if count < THREAD_BYTES {
                continue;
            }
            let Some(thread) = structure::<Thread>(&buffer, BlockKind::Thread) else { continue };
            let number = thread.thread.into_inner();
            let in_flight = thread.in_flight.into_inner();
            if let Some(&operation) = Operation::ALL.get(((in_flight >> 32) as usize).wrapping_sub(1))
                && number != 0
            {
                let since_ticks = thread.in_flight_since_ticks.into_inner();
                look.in_flight.push(InFlight { thread: number, operation, file: in_flight as u32, since_ticks });
            }
            let (second, step_ends_ticks) = (thread.second.into_inner(), thread.step_ends_ticks.into_inner());
            if (second, step_ends_ticks) != (seen.second, seen.step_ends_ticks) {
                // Whatever step it is in now: what it had of the other one is in a row.
                for (class, seen_of) in (0..).zip(&mut *seen.totals) {
                    self.released.release(seen.second, class, *seen_of);
                    *seen_of = [0; 4];
                }
                (seen.second, seen.step_ends_ticks) = (second, step_ends_ticks);
            }
            if second == 0 || second > span.until {
                continue;
            }
            for (class, (totals, seen_of)) in (0..).zip(thread.totals.iter().zip(&mut *seen.totals)) {
                let now = [0, 1, 2, 3].map(|total: usize| totals[total].load(Relaxed));
                if now[0] < seen_of[0] {
                    self.released.release(second, class, *seen_of);
                    *seen_of = [0; 4];
                }
                let [calls, bytes, ticks] = [0, 1, 2].map(|total: usize| now[total].saturating_sub(seen_of[total]));
                *seen_of = now;
                if second >= span.first {
                    look.amounts.add(second, class, [calls, bytes, ticks, now[3]]);
                }
            }
        }
        Ok(())
    }

    fn look_at_watched(&mut self, bytes: &dyn Bytes, span: Span, is_older: bool, look: &mut Look) -> io::Result<()> {
        let mut buffer = [0; WATCHED_BYTES];
        for block in &mut self.watched {
            if bytes.read_at(&mut buffer, block.place as u64)? < WATCHED_BYTES {
                continue;
            }
            let rows = buffer[size_of::<Watched>()..].chunks_exact(size_of::<WatchedRow>());
            for ((slot, row), seen) in
                (block.first_slot..).zip(rows.filter_map(copy::<WatchedRow>)).zip(&mut block.rows)
            {
                let now = [&row.calls, &row.bytes, &row.ticks, &row.seek_bytes, &row.waits, &row.waited_ticks];
                let now = now.map(|number| number.load(Relaxed));
                let before = std::mem::replace(seen, now);
                let new = [0, 1, 2, 3, 4, 5].map(|index: usize| now[index].saturating_sub(before[index]));
                if new == [0; 6] || is_older {
                    continue;
                }
                let [calls, bytes, ticks, seek_bytes, waits, waited_ticks] = new;
                let pair = span.last as usize % 2;
                let is_of_second = row.seconds[pair].load(Relaxed) == span.last;
                let of_second = |ticks: &[AtomicU64; 2]| if is_of_second { ticks[pair].load(Relaxed) } else { 0 };
                let slowest_file = if is_of_second { row.slowest_files[pair].load(Relaxed) } else { 0 };
                look.slots.push(SlotCount {
                    slot,
                    calls,
                    bytes,
                    ticks,
                    seek_bytes,
                    waits,
                    waited_ticks,
                    extremes_ticks: [of_second(&row.fastest_ticks), of_second(&row.slowest_ticks)],
                    files: [row.file.load(Relaxed), slowest_file],
                });
            }
        }
        Ok(())
    }
}

/// The structure of a block of that kind, if it is one.
fn structure<T: Layout>(bytes: &[u8], kind: BlockKind) -> Option<T> {
    let word = copy::<Block>(bytes)?.kind_and_bytes.into_inner();
    if (word >> 32) as u32 != kind as u32 {
        return None;
    }
    copy(bytes)
}

/// The header of a table, and where its blocks begin.
///
/// # Errors
/// If it cannot be read, or is none of this version.
fn header(bytes: &dyn Bytes) -> io::Result<(Header, usize)> {
    let mut buffer = [0; size_of::<Header>()];
    let count = bytes.read_at(&mut buffer, 0)?;
    let header = read::header(&buffer[..count]).ok_or(Damage::NotATable);
    header
        .and_then(|header| read::blocks_begin_at(&header).map(|begin| (header, begin)))
        .map_err(|damage| io::Error::new(io::ErrorKind::InvalidData, format!("{damage:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::made_up::MadeUp;
    use ioassay_record::read::OLDEST_HEADER;
    use ioassay_record::table::TextKind;
    use proptest::prelude::*;

    /// The seconds 10 to `last`, all of which are over.
    fn until(last: u32) -> Span {
        Span { first: 10, last, until: last }
    }

    fn look(table: &mut Table, made_up: &MadeUp, last: u32) -> Vec<(u32, u64, u64)> {
        let look = table.look(&&made_up.bytes[..], until(last)).unwrap();
        look.amounts.iter().map(|(second, _, [calls, bytes, ..])| (second, calls, bytes)).collect()
    }

    fn open(made_up: &MadeUp) -> Table {
        Table::open(&&made_up.bytes[..]).unwrap()
    }

    #[test]
    fn what_a_thread_counted_is_counted_once_when_it_comes_to_a_row() {
        let mut made_up = MadeUp::new(1, 10);
        let (thread, rows) = (made_up.thread(), made_up.rows(4));
        made_up.set_thread(thread, 10, [3, 300, 30, 9]);
        let mut table = open(&made_up);
        assert_eq!(look(&mut table, &made_up, 10), [(10, 3, 300)]);
        assert_eq!(look(&mut table, &made_up, 10), []);
        // It did more in that second, unseen, and is in the next.
        made_up.set_row(rows, 0, 10, 0, [4, 400, 40, 9]);
        made_up.set_thread(thread, 11, [1, 7, 1, 1]);
        assert_eq!(look(&mut table, &made_up, 11), [(10, 1, 100), (11, 1, 7)]);
    }

    #[test]
    fn a_thread_that_is_in_a_second_that_is_not_over_has_left_the_one_before() {
        let mut made_up = MadeUp::new(1, 10);
        let (thread, rows) = (made_up.thread(), made_up.rows(4));
        made_up.set_thread(thread, 10, [3, 300, 30, 9]);
        let mut table = open(&made_up);
        assert_eq!(look(&mut table, &made_up, 10), [(10, 3, 300)]);
        made_up.set_row(rows, 0, 10, 0, [3, 300, 30, 9]);
        made_up.set_row(rows, 1, 11, 0, [2, 200, 30, 9]);
        made_up.set_thread(thread, 12, [1, 7, 1, 1]);
        assert_eq!(look(&mut table, &made_up, 11), [(11, 2, 200)]);
        assert_eq!(look(&mut table, &made_up, 12), [(12, 1, 7)]);
    }

    #[test]
    fn a_second_that_is_not_over_waits() {
        let mut made_up = MadeUp::new(1, 10);
        let thread = made_up.thread();
        made_up.set_thread(thread, 11, [1, 7, 1, 1]);
        let mut table = open(&made_up);
        assert_eq!(look(&mut table, &made_up, 10), []);
        made_up.set_thread(thread, 11, [2, 9, 1, 1]);
        assert_eq!(look(&mut table, &made_up, 11), [(11, 2, 9)]);
    }

    #[test]
    fn a_long_call_adds_to_seconds_that_were_told_already() {
        let mut made_up = MadeUp::new(1, 10);
        let rows = made_up.rows(4);
        let mut table = open(&made_up);
        assert_eq!(look(&mut table, &made_up, 12), []);
        for (number, second) in (11..14).enumerate() {
            made_up.set_row(rows, number, second, 0, [u64::from(second == 13), 100, 10, 30]);
        }
        assert_eq!(look(&mut table, &made_up, 13), [(11, 0, 100), (12, 0, 100), (13, 1, 100)]);
    }

    #[test]
    fn what_was_before_the_agent_is_not_counted() {
        let mut made_up = MadeUp::new(1, 3);
        let (thread, rows) = (made_up.thread(), made_up.rows(4));
        made_up.set_row(rows, 0, 9, 0, [5, 500, 1, 1]);
        made_up.set_row(rows, 1, 8, 2, [5, 500, 1, 1]);
        made_up.set_thread(thread, 9, [1, 7, 1, 1]);
        let mut table = open(&made_up);
        assert_eq!(look(&mut table, &made_up, 12), []);
        // A wide row has grown since, and the thread's second is known.
        made_up.set_row(rows, 1, 8, 2, [7, 700, 1, 1]);
        made_up.set_row(rows, 0, 9, 0, [6, 507, 1, 1]);
        made_up.set_thread(thread, 13, [1, 8, 1, 1]);
        assert_eq!(look(&mut table, &made_up, 13), [(13, 3, 208)]);
    }

    #[test]
    fn blocks_that_come_later_are_found_and_one_that_is_being_filled_is_waited_for() {
        let mut made_up = MadeUp::new(1, 10);
        made_up.text(TextKind::Command, b"app\0");
        let mut table = open(&made_up);
        assert_eq!(look(&mut table, &made_up, 10), []);
        let thread = made_up.thread();
        made_up.set_thread(thread, 11, [1, 7, 1, 1]);
        let word = made_up.bytes[thread..thread + 8].to_vec();
        made_up.bytes[thread + 4..thread + 8].copy_from_slice(&(BlockKind::Reserved as u32).to_le_bytes());
        assert_eq!(look(&mut table, &made_up, 11), []);
        made_up.bytes[thread..thread + 8].copy_from_slice(&word);
        assert_eq!(look(&mut table, &made_up, 11), [(11, 1, 7)]);
        assert_eq!(table.identity.command, "app");
    }

    #[test]
    fn rules_and_calls_under_way_are_seen() {
        let mut made_up = MadeUp::new(1, 10);
        let (thread, watched, file) = (made_up.thread(), made_up.watched(), made_up.file(b"/data/x"));
        made_up.edit::<Thread>(thread, |thread| {
            thread.thread.store(42, Relaxed);
            thread.in_flight.store((Operation::Sync as u64 + 1) << 32 | file as u64, Relaxed);
            thread.in_flight_since_ticks.store(5, Relaxed);
        });
        let row = watched + size_of::<Watched>() + 3 * size_of::<WatchedRow>();
        made_up.edit::<WatchedRow>(row, |row| {
            row.calls.store(2, Relaxed);
            row.bytes.store(20, Relaxed);
            row.seconds[0].store(10, Relaxed);
            row.fastest_ticks[0].store(4, Relaxed);
            row.slowest_ticks[0].store(8, Relaxed);
            row.file.store(file as u32, Relaxed);
        });
        let mut table = open(&made_up);
        let seen = table.look(&&made_up.bytes[..], until(10)).unwrap();
        let in_flight = InFlight { thread: 42, operation: Operation::Sync, file: file as u32, since_ticks: 5 };
        assert_eq!(seen.in_flight, [in_flight]);
        let [slot] = seen.slots[..] else { panic!("{:?}", seen.slots) };
        assert_eq!((slot.slot, slot.calls, slot.bytes, slot.extremes_ticks), (3, 2, 20, [4, 8]));
        assert_eq!(Table::file_name(&&made_up.bytes[..], slot.files[0]), "/data/x");
        assert_eq!(Table::file_name(&&made_up.bytes[..], thread as u32), "");
        // A second later, of which the row has no extremes.
        made_up.edit::<WatchedRow>(row, |row| row.calls.store(3, Relaxed));
        let [slot] = table.look(&&made_up.bytes[..], until(11)).unwrap().slots[..] else { panic!() };
        assert_eq!((slot.calls, slot.bytes, slot.extremes_ticks), (1, 0, [0, 0]));
    }

    #[test]
    fn another_process_in_the_same_file_is_refused() {
        let made_up = MadeUp::new(1, 10);
        let mut table = open(&made_up);
        let other = MadeUp::new(2, 10);
        assert!(table.look(&&other.bytes[..], until(10)).is_err());
        assert!(table.look(&&made_up.bytes[..20], until(10)).is_err());
        assert!(Table::open(&&b"ioassayT"[..]).is_err());
    }

    #[test]
    fn a_table_with_the_shorter_header_of_an_older_recorder_is_read() {
        let mut made_up = MadeUp::new(1, 10);
        let thread = made_up.thread();
        made_up.set_thread(thread, 10, [3, 300, 30, 9]);
        made_up.edit::<Header>(0, |header| {
            header.header_bytes = OLDEST_HEADER as u32;
            header.used_bytes.fetch_sub((size_of::<Header>() - OLDEST_HEADER) as u64, Relaxed);
        });
        made_up.bytes.drain(OLDEST_HEADER..size_of::<Header>());
        let mut table = open(&made_up);
        assert_eq!(look(&mut table, &made_up, 10), [(10, 3, 300)]);
        made_up.bytes[offset_of!(Header, header_bytes)..][..4]
            .copy_from_slice(&(OLDEST_HEADER as u32 - 8).to_le_bytes());
        assert!(Table::open(&&made_up.bytes[..]).is_err());
    }

    proptest! {
        /// A table that is forged or cut between two looks, in whatever way, harms nobody.
        #[test]
        fn any_bytes_are_harmless(
            changes in prop::collection::vec((any::<prop::sample::Index>(), prop::num::u64::ANY), 0..40),
            cut in any::<prop::sample::Index>(),
            keep_identity: bool,
        ) {
            let mut made_up = MadeUp::new(1, 10);
            made_up.text(TextKind::Job, b"SLURM_JOB_ID=1\0");
            let (thread, rows) = (made_up.thread(), made_up.rows(15));
            made_up.watched();
            made_up.file(b"/data/x");
            made_up.set_thread(thread, 10, [1, 2, 3, 4]);
            made_up.set_row(rows, 0, 10, 0, [1, 2, 3, 4]);
            let mut table = open(&made_up);
            prop_assert!(table.look(&&made_up.bytes[..], until(10)).is_ok());
            let begin = if keep_identity { size_of::<Header>() } else { 0 };
            for (index, word) in changes {
                let words = (made_up.bytes.len() - begin) / 8;
                let position = begin + index.index(words) * 8;
                made_up.bytes[position..position + 8].copy_from_slice(&word.to_le_bytes());
            }
            let cut = &made_up.bytes[..cut.index(made_up.bytes.len() + 1)];
            for bytes in [&made_up.bytes[..], cut] {
                if let Ok(mut new) = Table::open(&bytes) {
                    let _ = new.look(&bytes, until(11));
                    let _ = new.look_whole(bytes, until(12));
                }
                if let Ok(look) = table.look(&bytes, until(11)) {
                    for call in look.in_flight {
                        let _ = Table::file_name(&bytes, call.file);
                    }
                }
            }
        }
    }
}
