//! Tables for tests, made of blocks as recorders make them.

use std::sync::atomic::Ordering::Relaxed;

use ioassay_record::layout::{Layout, bytes_of, zeroed};
use ioassay_record::operation::Operation;
use ioassay_record::table::{
    ALIGNMENT, BlockKind, BlockLayout, Clock, File, Header, MAGIC, Second, Seconds, State, Text, TextKind, Thread,
    VERSION, WATCHED_ROWS, Watched, WatchedRow, block_word,
};

/// A table under construction.
#[derive(Debug, Clone)]
pub struct MadeUp {
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl MadeUp {
    /// The table of a process that began at this second, with nothing in it. Its ticks are nanoseconds.
    pub fn new(process: u32, second: u32) -> Self {
        let mut header: Header = zeroed();
        header.magic = MAGIC;
        header.version = VERSION;
        header.header_bytes = size_of::<Header>() as u32;
        header.clock = Clock::Nanoseconds as u32;
        header.process = process;
        header.begin_ticks = 77;
        header.begin_ns = u64::from(second) * 1_000_000_000;
        header.state.store(State::Running as u32, Relaxed);
        let mut made_up = Self { bytes: bytes_of(&header).to_vec() };
        made_up.set_used();
        made_up
    }

    fn set_used(&mut self) {
        let used = self.bytes.len() as u64;
        self.edit::<Header>(0, |header| header.used_bytes.store(used, Relaxed));
    }

    /// Changes the structure at a place.
    pub fn edit<T: Layout>(&mut self, place: usize, change: impl FnOnce(&mut T)) {
        let mut structure: T = ioassay_record::read::copy(&self.bytes[place..]).unwrap();
        change(&mut structure);
        self.bytes[place..place + size_of::<T>()].copy_from_slice(bytes_of(&structure));
    }

    /// The process has ended, or was replaced.
    pub fn end(&mut self, state: State) {
        self.edit::<Header>(0, |header| header.state.store(state as u32, Relaxed));
    }

    fn add<T: BlockLayout>(&mut self, structure: &T, follow: &[u8]) -> usize {
        let place = self.bytes.len();
        let bytes = (size_of::<T>() + follow.len()).next_multiple_of(ALIGNMENT);
        self.bytes.extend(bytes_of(structure));
        self.bytes.extend(follow);
        self.bytes.resize(place + bytes, 0);
        self.set_word(place, T::KIND, bytes);
        self.set_used();
        place
    }

    fn set_word(&mut self, place: usize, kind: BlockKind, bytes: usize) {
        self.bytes[place..place + 8].copy_from_slice(&block_word(kind, bytes).to_le_bytes());
    }

    /// Adds a text.
    pub fn text(&mut self, kind: TextKind, text: &[u8]) -> usize {
        self.add(&Text { kind: kind as u32, text_bytes: text.len() as u32, ..zeroed() }, text)
    }

    /// Adds a thread.
    pub fn thread(&mut self) -> usize {
        self.add(&zeroed::<Thread>(), &[])
    }

    /// Adds a file.
    pub fn file(&mut self, name: &[u8]) -> usize {
        self.add(&File { name_bytes: name.len() as u16, ..zeroed() }, name)
    }

    /// Adds so many rows of seconds.
    pub fn rows(&mut self, count: usize) -> usize {
        self.add(&zeroed::<Seconds>(), &vec![0; count * size_of::<Second>()])
    }

    /// Adds the rows of the first slots of rules.
    pub fn watched(&mut self) -> usize {
        self.add(&zeroed::<Watched>(), &[0; WATCHED_ROWS * size_of::<WatchedRow>()])
    }

    /// What a thread has of its second: calls, bytes and ticks of reads, and what the slowest took.
    pub fn set_thread(&mut self, place: usize, second: u32, totals: [u64; 4]) {
        self.edit::<Thread>(place, |thread| {
            thread.second.store(second, Relaxed);
            thread.totals[Operation::Read as usize].iter().zip(totals).for_each(|(to, from)| to.store(from, Relaxed));
        });
    }

    /// What a row of `2^width` seconds has of reads. It is in use then, and so are those before.
    pub fn set_row(&mut self, rows: usize, number: usize, second: u32, width: u16, totals: [u64; 4]) {
        self.edit::<Seconds>(rows, |seconds| _ = seconds.rows.fetch_max(number as u32 + 1, Relaxed));
        self.edit::<Second>(rows + size_of::<Seconds>() + number * size_of::<Second>(), |row| {
            row.second.store(second, Relaxed);
            row.operation.store(Operation::Read as u16, Relaxed);
            row.width.store(width, Relaxed);
            let to = [&row.calls, &row.bytes, &row.ticks, &row.slowest_ticks];
            to.iter().zip(totals).for_each(|(to, from)| to.store(from, Relaxed));
        });
    }
}
