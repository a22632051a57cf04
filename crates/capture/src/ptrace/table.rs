//! A table that is filled from outside of the process: ordinary structures, written in the recorder's format.
//!
//! What the recorder folds, this folds: files beyond the greatest length of a table are one row, seconds get wider.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use ioassay_record::buckets::{self, LATENCIES};
use ioassay_record::file_identity::FileIdentity;
use ioassay_record::layout::{bytes_of, zeroed};
use ioassay_record::names::LONGEST_NAME;
use ioassay_record::operation::{FIRST_TRANSFER, OPERATIONS, Operation};
use ioassay_record::rings::{Seen, Unreadable};
use ioassay_record::seconds::{FINE_BYTES, NS_PER_SECOND, NS_PER_STEP, SECOND_WIDTH, STEP_BYTES, spread, step_at};
use ioassay_record::table::{
    ALIGNMENT, BlockKind, BlockLayout, COUNTERS, Clock, ERRORS, Errors, File, FileKind, Header, LARGEST, Latencies,
    MAGIC, Map, MapAccess, Opened, Ring, Second, Seconds, State, Steps, TOTALS, Text, TextKind, Thread, Transfers,
    VERSION, block_word,
};

/// A name, shared by all tables that have it.
pub type Name = Rc<[u8]>;

/// A table has no more, which is written whole whenever it changes.
const MOST_BYTES: usize = LARGEST / 8;
/// Of a table, what of the rest of seconds files leave to threads.
const THREADS_BYTES: usize = 1 << 20;
/// Bytes of all rows of steps: where they would be more, they get wider.
const STEPS_BYTES: usize = SECOND_WIDTH as usize * STEP_BYTES;

/// A moment on both clocks, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// `CLOCK_MONOTONIC`: ticks of the table.
    pub ticks: u64,
    /// Since 1970.
    pub ns: u64,
}

impl Moment {
    /// The moment with those ticks, by the difference of the clocks at this one.
    pub fn at_ticks(self, ticks: u64) -> Self {
        Self { ticks, ns: self.ns.wrapping_add(ticks).wrapping_sub(self.ticks) }
    }
}

/// Who a process is.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// Its number.
    pub process: u32,
    /// That of its parent.
    pub parent: u32,
    /// Its effective user.
    pub user: u32,
    /// What the texts of the table say.
    pub texts: Vec<(u32, Vec<u8>)>,
}

impl Identity {
    /// Adds a text.
    pub fn say(&mut self, kind: TextKind, text: Vec<u8>) {
        self.texts.push((kind as u32, text));
    }
}

/// What the kernel knows of an open file.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Which file it is. Its generation is not known: the kernel reports it only for a descriptor of it.
    pub identity: FileIdentity,
    /// What it is.
    pub kind: FileKind,
    /// How long it is.
    pub size_bytes: u64,
    /// What the file system wants transfers to be a multiple of.
    pub block_bytes: u32,
}

/// How a call ended.
#[derive(Debug, Clone, Copy)]
pub enum Outcome {
    /// It moved bytes, from an offset of the file.
    Moved {
        /// That were moved.
        bytes: u64,
        /// Where they begin, if that is known.
        offset: Option<u64>,
        /// Of the file system; offsets that are no multiple of it are misaligned.
        block_bytes: u32,
    },
    /// It did what it should.
    Done,
    /// It failed, with this `errno`.
    Failed(i32),
}

/// A call that has ended.
#[derive(Debug, Clone, Copy)]
pub struct FinishedCall {
    /// Place of the thread.
    pub thread: usize,
    /// Its class.
    pub operation: Operation,
    /// Place of the file.
    pub file: usize,
    /// When it began, in ticks.
    pub began: u64,
    /// When it ended.
    pub ended: Moment,
    /// How it ended.
    pub outcome: Outcome,
}

struct FileRow {
    name: Name,
    kind: FileKind,
    ticks: u64,
    calls: [u32; FIRST_TRANSFER],
    failed: [u32; FIRST_TRANSFER],
    error: u32,
    opened: Option<OpenedRow>,
}

struct OpenedRow {
    about: About,
    latest: FileIdentity,
    replaced: u32,
    flags: u32,
    first_open_ticks: u64,
    last_close_ticks: u64,
}

struct ThreadRow {
    /// 0 where it ended and nobody took its place.
    number: u32,
    in_flight: Option<(Operation, usize, u64)>,
    counters: [u64; COUNTERS],
    latencies: [Option<Box<[u64; LATENCIES]>>; OPERATIONS],
}

struct RingRow {
    flags: u32,
    unreadable: Option<Unreadable>,
    seen: Seen,
}

/// The table of an image of a process.
pub struct Table {
    identity: Identity,
    begin: Moment,
    latest: Moment,
    files: Vec<FileRow>,
    by_name: HashMap<Name, usize>,
    threads: Vec<ThreadRow>,
    transfers: BTreeMap<(usize, usize, u8), Box<Transfers>>,
    maps: BTreeMap<(usize, u32), Box<Map>>,
    seconds: BTreeMap<(u32, u8), [u64; TOTALS.len()]>,
    width: u32,
    /// The same by steps, as long as they are shorter than a second.
    steps: BTreeMap<(u32, u8), [u64; TOTALS.len()]>,
    step_width: u32,
    errors: BTreeMap<(u8, u16), u32>,
    /// Bytes of all that is not a second, as it will be written.
    used: usize,
    calls: u64,
    folded_calls: u64,
    lost_calls: u64,
    /// What the tracer took outside of the calls that it measures.
    pub own_ticks: u64,
    counters_of_ended: [u64; COUNTERS],
    /// What the kernel counted of the process as a whole; 0 where it has children, whose counters are added to these.
    pub counters_of_process: [u64; COUNTERS],
    rings: Vec<RingRow>,
    /// Something was added since it was written last.
    pub changed: bool,
}

/// The row of all files for which there is no place.
pub const OTHERS: usize = 0;

const fn block_bytes<T>(follow: usize) -> usize {
    (size_of::<T>() + follow).next_multiple_of(ALIGNMENT)
}

fn store<'a>(to: impl Iterator<Item = &'a AtomicU64>, counters: [u64; COUNTERS]) {
    to.zip(counters).for_each(|(to, counter)| to.store(counter, Relaxed));
}

impl Table {
    /// An empty one.
    pub fn new(identity: Identity, begin: Moment) -> Self {
        let texts: usize = identity.texts.iter().map(|(_, text)| block_bytes::<Text>(text.len())).sum();
        Self {
            identity,
            begin,
            latest: begin.at_ticks(begin.ticks + 1),
            files: vec![FileRow::new(Name::default(), FileKind::Others)],
            by_name: HashMap::new(),
            threads: Vec::new(),
            transfers: BTreeMap::new(),
            maps: BTreeMap::new(),
            seconds: BTreeMap::new(),
            width: 0,
            steps: BTreeMap::new(),
            step_width: 0,
            errors: BTreeMap::new(),
            used: size_of::<Header>() + texts + block_bytes::<File>(0),
            calls: 0,
            folded_calls: 0,
            lost_calls: 0,
            own_ticks: 0,
            counters_of_ended: [0; COUNTERS],
            counters_of_process: [0; COUNTERS],
            rings: Vec::new(),
            changed: true,
        }
    }

    /// Who the process is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// When it began.
    pub fn begin_ticks(&self) -> u64 {
        self.begin.ticks
    }

    /// Whether no call has been counted.
    pub fn is_empty(&self) -> bool {
        self.calls == 0
    }

    /// Takes room for a block, but not from what is left for others.
    fn take(&mut self, bytes: usize, left_for_others: usize) -> bool {
        let fits = self.used + bytes + FINE_BYTES + STEPS_BYTES + left_for_others <= MOST_BYTES;
        if fits {
            self.used += bytes;
        }
        fits
    }

    /// The place of a file, for one call on it.
    pub fn file(&mut self, name: &Name) -> usize {
        if let Some(&place) = self.by_name.get(name) {
            return place;
        }
        if !self.take(block_bytes::<File>(name.len().min(LONGEST_NAME)), THREADS_BYTES) {
            self.folded_calls += 1;
            return OTHERS;
        }
        self.files.push(FileRow::new(name.clone(), FileKind::of_name(name)));
        self.by_name.insert(name.clone(), self.files.len() - 1);
        self.files.len() - 1
    }

    /// A file was opened, or is found to be open.
    pub fn opened(&mut self, file: usize, about: Option<About>, flags: i32, ticks: u64) {
        if let Some(about) = about
            && file != OTHERS
            && self.files[file].opened.is_none()
            && self.take(block_bytes::<Opened>(0), THREADS_BYTES)
        {
            let row = &mut self.files[file];
            row.kind = row.kind.opened_as(about.kind);
            let latest = about.identity;
            row.opened =
                Some(OpenedRow { about, latest, replaced: 0, flags: 0, first_open_ticks: ticks, last_close_ticks: 0 });
        }
        let row = &mut self.files[file];
        if let Some(opened) = &mut row.opened {
            opened.flags |= flags as u32;
            if let Some(about) = about
                && about.identity != opened.latest
                && matches!(row.kind, FileKind::Regular | FileKind::Directory)
            {
                opened.latest = about.identity;
                opened.replaced += 1;
            }
        }
    }

    /// A descriptor of a file was closed.
    pub fn closed(&mut self, file: usize, ticks: u64) {
        if let Some(opened) = &mut self.files[file].opened {
            opened.last_close_ticks = ticks;
        }
    }

    /// The name of a file.
    pub fn name(&self, file: usize) -> &[u8] {
        &self.files[file].name
    }

    /// Whether the file at that place is on storage, as far as is known.
    pub fn is_on_storage(&self, file: usize) -> bool {
        self.files[file].is_on_storage()
    }

    /// The row of a file that is mapped with an access. Nothing where there is no place for it.
    pub fn map(&mut self, file: usize, access: MapAccess, ticks: u64) -> Option<&Map> {
        self.changed = true;
        let key = (file, access as u32);
        if !self.maps.contains_key(&key) {
            if !self.take(block_bytes::<Map>(0), THREADS_BYTES) {
                self.folded_calls += 1;
                return None;
            }
            let row = Map { access: access as u32, first_ticks: ticks, ..zeroed() };
            self.maps.insert(key, Box::new(row));
        }
        self.maps.get(&key).map(Box::as_ref)
    }

    /// A place for a thread; that of one that ended if there is one.
    pub fn thread(&mut self, number: u32) -> Option<usize> {
        if let Some(left) = self.threads.iter().position(|thread| thread.number == 0) {
            self.threads[left].number = number;
            return Some(left);
        }
        if !self.take(block_bytes::<Thread>(0), 0) {
            return None;
        }
        self.threads.push(ThreadRow {
            number,
            in_flight: None,
            counters: [0; COUNTERS],
            latencies: [const { None }; OPERATIONS],
        });
        Some(self.threads.len() - 1)
    }

    /// A thread has ended. Its place is free for another, but not that of the first thread.
    pub fn thread_ended(&mut self, thread: usize) {
        let row = &mut self.threads[thread];
        row.in_flight = None;
        if row.number != self.identity.process {
            row.number = 0;
        }
    }

    /// What the kernel counted of a thread that ends, or whose program is replaced.
    pub fn count_by_kernel(&mut self, thread: u32, counters: [u64; COUNTERS]) {
        self.changed = true;
        if thread == self.identity.process {
            let place = self.threads.iter().position(|row| row.number == thread).or_else(|| self.thread(thread));
            if let Some(place) = place {
                self.threads[place].counters = counters;
            }
        } else {
            self.counters_of_ended.iter_mut().zip(counters).for_each(|(sum, counter)| *sum += counter);
        }
    }

    /// A call begins.
    pub fn begins(&mut self, thread: usize, operation: Operation, file: usize, ticks: u64) {
        self.threads[thread].in_flight = Some((operation, file, ticks));
        self.changed = true;
    }

    /// A call on a thread for which there is no place.
    pub fn lose_call(&mut self) {
        self.calls += 1;
        self.lost_calls += 1;
    }

    /// A thread is in no call, of which nothing is counted itself.
    pub fn rests(&mut self, thread: usize) {
        self.threads[thread].in_flight = None;
        self.changed = true;
    }

    /// A ring of io_uring was set up, with these flags. Its place.
    pub fn add_ring(&mut self, flags: u32) -> usize {
        self.changed = true;
        // There are few of these; the last stands for all that have no place.
        if self.rings.is_empty() || self.take(block_bytes::<Ring>(0), THREADS_BYTES) {
            self.rings.push(RingRow { flags, unreadable: None, seen: Seen::default() });
        }
        self.rings.len() - 1
    }

    /// Something was seen of a ring.
    pub fn ring_seen(&mut self, ring: usize, seen: Seen) {
        self.changed = true;
        self.rings[ring].seen.add(seen);
    }

    /// A ring cannot be read.
    pub fn ring_unreadable(&mut self, ring: usize, why: Unreadable) {
        self.rings[ring].unreadable = Some(why);
    }

    /// A call has ended.
    pub fn ends(&mut self, call: &FinishedCall) {
        let FinishedCall { thread, operation, mut file, began, ended, outcome } = *call;
        let took = ended.ticks.saturating_sub(began);
        let mut moved = 0;
        self.changed = true;
        self.calls += 1;
        self.latest = ended;
        self.threads[thread].in_flight = None;
        if operation as usize >= FIRST_TRANSFER {
            let mut key = (file, thread, operation as u8);
            if !self.transfers.contains_key(&key) && !self.take(block_bytes::<Transfers>(0), THREADS_BYTES) {
                self.folded_calls += u64::from(file != OTHERS);
                key.0 = OTHERS;
                // There are few of these.
                if !self.transfers.contains_key(&key) {
                    self.used += block_bytes::<Transfers>(0);
                }
            }
            file = key.0;
            let row = self.transfers.entry(key).or_insert_with(|| Box::new(zeroed()));
            match outcome {
                Outcome::Moved { bytes, offset, block_bytes } => {
                    moved = bytes;
                    row.count(took, false, bytes, offset, block_bytes);
                }
                Outcome::Done => row.count(took, false, 0, None, 0),
                Outcome::Failed(_) => row.count(took, true, 0, None, 0),
            }
        } else {
            self.files[file].add(operation, took, outcome);
        }
        let class = if self.files[file].is_on_storage() { operation } else { operation.elsewhere() };
        if let Outcome::Failed(errno) = outcome {
            let calls = self.error(class, errno);
            *calls = calls.saturating_add(1);
        }
        self.add_latency(thread, class, took);
        let begin_ns = if took > NS_PER_STEP << self.step_width { ended.ns.saturating_sub(took) } else { ended.ns };
        self.add_to_seconds(begin_ns, ended.ns, class, [1, moved, took, took]);
    }

    fn error(&mut self, operation: Operation, errno: i32) -> &mut u32 {
        let mut key = (operation as u8, errno as u16);
        if !self.errors.contains_key(&key) && self.errors.len() >= ERRORS {
            key = self.errors.last_key_value().map_or(key, |(last, _)| *last);
        }
        if self.errors.is_empty() {
            self.used += block_bytes::<Errors>(0);
        }
        self.errors.entry(key).or_default()
    }

    fn add_latency(&mut self, thread: usize, operation: Operation, took: u64) {
        let operation = operation as usize;
        if self.threads[thread].latencies[operation].is_none() {
            if !self.take(block_bytes::<Latencies>(0), 0) {
                return;
            }
            self.threads[thread].latencies[operation] = Some(Box::new([0; LATENCIES]));
        }
        if let Some(calls) = &mut self.threads[thread].latencies[operation] {
            calls[buckets::of_latency(took)] += 1;
        }
    }

    /// Bytes and time evenly, the call itself where it ended.
    fn add_to_seconds(&mut self, begin_ns: u64, end_ns: u64, operation: Operation, totals: [u64; TOTALS.len()]) {
        for piece in spread(begin_ns, end_ns, NS_PER_SECOND, totals) {
            self.add_to_second((piece.begin_ns / NS_PER_SECOND) as u32, operation, piece.totals);
            // What was done evenly in all of a second is known from its row.
            if self.step_width < SECOND_WIDTH && piece.end_ns - piece.begin_ns < NS_PER_SECOND {
                for piece in spread(piece.begin_ns, piece.end_ns, NS_PER_STEP << self.step_width, piece.totals) {
                    self.add_to_step(piece.begin_ns, operation, piece.totals);
                }
            }
        }
    }

    fn add_to_step(&mut self, ns: u64, operation: Operation, values: [u64; TOTALS.len()]) {
        while self.steps.len() * size_of::<Second>() > STEPS_BYTES - 1024 {
            self.step_width += 1;
            for ((step, operation), values) in std::mem::take(&mut self.steps) {
                let wider = step >> self.step_width << self.step_width;
                add_totals(self.steps.entry((wider, operation)).or_default(), values);
            }
            if self.step_width == SECOND_WIDTH {
                // They are seconds.
                self.steps.clear();
                return;
            }
        }
        let step = step_at(ns, self.begin.ns, self.step_width);
        add_totals(self.steps.entry((step, operation as u8)).or_default(), values);
    }

    fn add_to_second(&mut self, second: u32, operation: Operation, values: [u64; TOTALS.len()]) {
        while self.seconds.len() * size_of::<Second>() > FINE_BYTES - 1024 {
            self.width += 1;
            for ((second, operation), values) in std::mem::take(&mut self.seconds) {
                add_totals(self.seconds.entry((second >> self.width << self.width, operation)).or_default(), values);
            }
        }
        let second = second >> self.width << self.width;
        add_totals(self.seconds.entry((second, operation as u8)).or_default(), values);
    }

    /// The table as the recorder would have written it.
    pub fn write(&mut self, state: State, now: Moment, replacement: Option<&[u8]>) -> Vec<u8> {
        self.changed = false;
        self.latest = now.at_ticks(now.ticks.max(self.begin.ticks + 1));
        let mut bytes = Vec::with_capacity(self.used + self.seconds.len() * size_of::<Second>() + 1024);
        bytes.resize(size_of::<Header>(), 0);
        let replacement = replacement.map(|path| (TextKind::Replacement as u32, path.to_vec()));
        for (kind, text) in self.identity.texts.iter().chain(&replacement) {
            let block: Text = Text { kind: *kind, text_bytes: text.len() as u32, ..zeroed() };
            push(&mut bytes, &block, text);
        }
        // Blocks name each other by their places, so these are found out first.
        let mut end = bytes.len();
        let mut place = |bytes: usize| {
            let place = end as u32;
            end += bytes;
            place
        };
        let threads: Vec<u32> = self.threads.iter().map(|_| place(block_bytes::<Thread>(0))).collect();
        let files: Vec<u32> = self.files.iter().map(|file| place(block_bytes::<File>(file.cut_name().len()))).collect();
        let opened: Vec<u32> =
            self.files.iter().map(|file| file.opened.as_ref().map_or(0, |_| place(block_bytes::<Opened>(0)))).collect();
        let (mut first, mut next) = (vec![0; self.files.len()], HashMap::new());
        for key in self.transfers.keys() {
            let of = place(block_bytes::<Transfers>(0));
            next.insert(*key, std::mem::replace(&mut first[key.0], of));
        }
        let latencies: Vec<[u32; OPERATIONS]> = self
            .threads
            .iter()
            .map(|thread| {
                thread.latencies.each_ref().map(|of| of.as_ref().map_or(0, |_| place(block_bytes::<Latencies>(0))))
            })
            .collect();

        for (index, thread) in self.threads.iter().enumerate() {
            let mut block: Thread = zeroed();
            block.thread = AtomicU32::new(thread.number);
            store(block.counters(), thread.counters);
            if let Some((operation, file, since)) = thread.in_flight {
                block.in_flight = AtomicU64::new((operation as u64 + 1) << 32 | u64::from(files[file]));
                block.in_flight_since_ticks = AtomicU64::new(since);
            }
            block.latencies = latencies[index].map(AtomicU32::new);
            push(&mut bytes, &block, &[]);
        }
        for (index, file) in self.files.iter().enumerate() {
            push(&mut bytes, &file.block(opened[index], first[index]), file.cut_name());
        }
        for opened in self.files.iter().filter_map(|file| file.opened.as_ref()) {
            push(&mut bytes, &opened.block(), &[]);
        }
        for (key, row) in &mut self.transfers {
            (row.file, row.thread, row.operation, row.next) = (files[key.0], threads[key.1], key.2.into(), next[key]);
            row.elsewhere = (!self.files[key.0].is_on_storage()).into();
            push(&mut bytes, &**row, &[]);
        }
        for ((file, _), row) in &mut self.maps {
            row.file = files[*file];
            push(&mut bytes, &**row, &[]);
        }
        for (index, thread) in self.threads.iter().enumerate() {
            for (operation, calls) in thread.latencies.iter().enumerate() {
                if let Some(calls) = calls {
                    let mut block: Latencies = zeroed();
                    (block.operation, block.thread) = (operation as u32, threads[index]);
                    block.calls = calls.map(AtomicU64::new);
                    push(&mut bytes, &block, &[]);
                }
            }
        }
        let of_seconds: Seconds = Seconds { rows: AtomicU32::new(self.seconds.len() as u32), ..zeroed() };
        push_rows(&mut bytes, &of_seconds, &self.seconds, self.width);
        let of_steps: Steps = Steps { rows: AtomicU32::new(self.steps.len() as u32), ..zeroed() };
        push_rows(&mut bytes, &of_steps, &self.steps, self.step_width);
        self.push_errors(&mut bytes);
        for RingRow { flags, unreadable, seen } in &self.rings {
            let unreadable = AtomicU32::new(unreadable.map_or(0, |why| why as u32));
            let block: Ring = Ring { flags: *flags, unreadable, ..zeroed() };
            block.count(*seen);
            push(&mut bytes, &block, &[]);
        }
        let header = self.header(state, bytes.len());
        bytes[..size_of::<Header>()].copy_from_slice(bytes_of(&header));
        bytes
    }

    fn push_errors(&self, bytes: &mut Vec<u8>) {
        if self.errors.is_empty() {
            return;
        }
        let mut block: Errors = zeroed();
        for (slot, ((operation, errno), calls)) in self.errors.iter().enumerate() {
            *block.kinds[slot].get_mut() = (u32::from(*operation) + 1) << 16 | u32::from(*errno);
            *block.calls[slot].get_mut() = *calls;
        }
        push(bytes, &block, &[]);
    }

    fn header(&self, state: State, used: usize) -> Header {
        let mut header: Header = zeroed();
        header.magic = MAGIC;
        header.version = VERSION;
        header.header_bytes = size_of::<Header>() as u32;
        header.used_bytes = AtomicU64::new(used as u64);
        header.state = AtomicU32::new(state as u32);
        header.clock = Clock::Nanoseconds as u32;
        header.process = self.identity.process;
        header.parent = self.identity.parent;
        header.user = self.identity.user;
        header.width = AtomicU32::new(self.width);
        (header.step_width, header.keeps_steps) = (AtomicU32::new(self.step_width), 1);
        (header.begin_ticks, header.begin_ns) = (self.begin.ticks, self.begin.ns);
        header.latest_ticks = AtomicU64::new(self.latest.ticks);
        header.latest_ns = AtomicU64::new(self.latest.ns);
        header.folded_calls = AtomicU64::new(self.folded_calls);
        header.lost_calls = AtomicU64::new(self.lost_calls);
        header.own_ticks = AtomicU64::new(self.own_ticks);
        store(header.counters_of_ended(), self.counters_of_ended);
        store(header.counters_of_process(), self.counters_of_process);
        header
    }
}

impl FileRow {
    fn new(name: Name, kind: FileKind) -> Self {
        Self { name, kind, ticks: 0, calls: [0; FIRST_TRANSFER], failed: [0; FIRST_TRANSFER], error: 0, opened: None }
    }

    fn is_on_storage(&self) -> bool {
        FileKind::is_on_storage(self.kind as u16)
    }

    fn cut_name(&self) -> &[u8] {
        &self.name[..self.name.len().min(LONGEST_NAME)]
    }

    fn add(&mut self, operation: Operation, took: u64, outcome: Outcome) {
        let operation = operation as usize;
        self.calls[operation] = self.calls[operation].saturating_add(1);
        self.ticks += took;
        if let Outcome::Failed(errno) = outcome {
            self.failed[operation] = self.failed[operation].saturating_add(1);
            self.error = errno as u32;
        }
    }

    fn block(&self, opened: u32, transfers: u32) -> File {
        let mut block: File = zeroed();
        block.opened = AtomicU32::new(opened);
        block.transfers = AtomicU32::new(transfers);
        block.name_bytes = self.cut_name().len() as u16;
        *block.kind.get_mut() = self.kind as u16;
        block.ticks = AtomicU64::new(self.ticks);
        block.calls = self.calls.map(AtomicU32::new);
        block.failed = self.failed.map(AtomicU32::new);
        block.error = AtomicU32::new(self.error);
        block
    }
}

impl OpenedRow {
    fn block(&self) -> Opened {
        let mut block: Opened = zeroed();
        let identity = self.about.identity;
        block.device = identity.device;
        block.inode = identity.inode;
        block.birth_ns = identity.birth_ns;
        block.generation = identity.generation;
        block.replaced = AtomicU32::new(self.replaced);
        block.latest = AtomicU64::new(self.latest.digest());
        block.size_bytes = self.about.size_bytes;
        block.block_bytes = self.about.block_bytes;
        block.open_flags = AtomicU32::new(self.flags);
        block.first_open_ticks = self.first_open_ticks;
        block.last_close_ticks = AtomicU64::new(self.last_close_ticks);
        block
    }
}

fn add_totals(to: &mut [u64; TOTALS.len()], [calls, bytes, ticks, slowest]: [u64; TOTALS.len()]) {
    to[0] += calls;
    to[1] += bytes;
    to[2] += ticks;
    to[3] = to[3].max(slowest);
}

/// Adds a block of rows of a width, if there are any.
fn push_rows<T: BlockLayout>(
    bytes: &mut Vec<u8>,
    block: &T,
    all: &BTreeMap<(u32, u8), [u64; TOTALS.len()]>,
    width: u32,
) {
    if all.is_empty() {
        return;
    }
    let mut rows = Vec::with_capacity(all.len() * size_of::<Second>());
    for ((begin, operation), [calls, moved, ticks, slowest]) in all {
        let mut row: Second = zeroed();
        row.second = AtomicU32::new(*begin);
        *row.operation.get_mut() = (*operation).into();
        *row.width.get_mut() = width as u16;
        row.calls = AtomicU64::new(*calls);
        row.bytes = AtomicU64::new(*moved);
        row.ticks = AtomicU64::new(*ticks);
        row.slowest_ticks = AtomicU64::new(*slowest);
        rows.extend_from_slice(bytes_of(&row));
    }
    push(bytes, block, &rows);
}

/// Adds a block, and what follows it.
fn push<T: BlockLayout>(bytes: &mut Vec<u8>, block: &T, follow: &[u8]) {
    let begin = bytes.len();
    let length = block_bytes::<T>(follow.len());
    bytes.extend_from_slice(bytes_of(block));
    bytes.extend_from_slice(follow);
    bytes.resize(begin + length, 0);
    let kind: BlockKind = T::KIND;
    bytes[begin..begin + 8].copy_from_slice(&block_word(kind, length).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_record::read::{self, BlockBytes};
    use std::sync::atomic::Ordering::Relaxed;

    const BEGIN: Moment = Moment { ticks: 1000, ns: 7 * NS_PER_SECOND + 500 };

    fn name(text: &str) -> Name {
        text.as_bytes().into()
    }

    fn moved(table: &mut Table, operation: Operation, file: usize, offset: u64, bytes: u64) {
        let outcome = Outcome::Moved { bytes, offset: Some(offset), block_bytes: 4096 };
        table.ends(&FinishedCall { thread: 0, operation, file, began: 2000, ended: BEGIN.at_ticks(2100), outcome });
    }

    fn blocks<T: BlockLayout>(bytes: &[u8]) -> Vec<(usize, T)> {
        let of = |block: BlockBytes| Some((block.place, block.get::<T>()?.0));
        read::Table::first(bytes).unwrap().blocks().filter_map(of).collect()
    }

    #[test]
    fn a_table_can_be_read_with_what_was_counted() {
        let mut identity = Identity { process: 17, parent: 4, user: 1000, texts: Vec::new() };
        identity.say(TextKind::Node, b"here".to_vec());
        let mut table = Table::new(identity, BEGIN);
        let thread = table.thread(17).unwrap();
        let file = table.file(&name("/data/a"));
        assert_eq!(table.file(&name("/data/a")), file);
        for offset in [0, 100, 300, 500] {
            moved(&mut table, Operation::Read, file, offset, 100);
        }
        let outcome = Outcome::Failed(libc::ENOENT);
        table.ends(&FinishedCall {
            thread,
            operation: Operation::Stat,
            file,
            began: 0,
            ended: BEGIN.at_ticks(3000),
            outcome,
        });
        table.begins(thread, Operation::Sync, file, 4000);
        let bytes = table.write(State::Exited, BEGIN.at_ticks(5000), Some(b"/bin/other"));

        let read = read::Table::first(&bytes).unwrap();
        assert_eq!((read.bytes().len(), read.header().process), (bytes.len(), 17));
        let (place, row) = &blocks::<Transfers>(&bytes)[0];
        let (of, _) = blocks::<File>(&bytes).into_iter().find(|(_, file)| file.name_bytes == 7).unwrap();
        assert_eq!(row.file as usize, of);
        let [calls, bytes_moved, consecutive, forward, strided, misaligned] =
            [&row.calls, &row.bytes, &row.consecutive, &row.forward, &row.strided, &row.misaligned]
                .map(|number| number.load(Relaxed));
        assert_eq!((calls, bytes_moved, consecutive, forward, strided, misaligned), (4, 400, 1, 2, 1, 3));
        let files = blocks::<File>(&bytes);
        let (_, file) = files.iter().find(|(at_ticks, _)| *at_ticks == of).unwrap();
        assert_eq!(file.transfers.load(Relaxed) as usize, *place);
        assert_eq!(file.failed[Operation::Stat as usize].load(Relaxed), 1);
        let (_, thread) = &blocks::<Thread>(&bytes)[0];
        assert_eq!(thread.in_flight.load(Relaxed), (Operation::Sync as u64 + 1) << 32 | of as u64);
        assert_eq!(blocks::<Latencies>(&bytes).len(), 2);
        assert_eq!(blocks::<Errors>(&bytes).len(), 1);
        let (_, seconds) = &blocks::<Seconds>(&bytes)[0];
        assert_eq!(seconds.rows.load(Relaxed), 2);
    }

    #[test]
    fn files_beyond_the_greatest_table_are_counted_together() {
        let mut table = Table::new(Identity::default(), BEGIN);
        table.thread(1);
        for number in 0..40_000 {
            let file = table.file(&name(&format!("/a/directory/with/a/long/name/{number}")));
            moved(&mut table, Operation::Write, file, 0, 10);
        }
        let bytes = table.write(State::Exited, BEGIN.at_ticks(5000), None);
        assert!(bytes.len() <= MOST_BYTES);
        let header = read::Table::first(&bytes).unwrap().header();
        let rows = blocks::<Transfers>(&bytes);
        assert!(header.folded_calls.load(Relaxed) > 0 && rows.len() > 1000);
        assert_eq!(rows.iter().map(|(_, row)| row.calls.load(Relaxed)).sum::<u64>(), 40_000);
    }

    #[test]
    fn a_long_call_is_spread_over_its_seconds() {
        let mut table = Table::new(Identity::default(), BEGIN);
        let thread = table.thread(1).unwrap();
        let outcome = Outcome::Moved { bytes: 400, offset: Some(0), block_bytes: 0 };
        let ended = BEGIN.at_ticks(BEGIN.ticks + 4 * NS_PER_SECOND);
        table.ends(&FinishedCall { thread, operation: Operation::Read, file: 0, began: BEGIN.ticks, ended, outcome });
        let totals: Vec<_> = table.seconds.values().copied().collect();
        assert_eq!(totals.len(), 5);
        assert_eq!(totals.iter().map(|of| of[1]).sum::<u64>(), 400);
        assert_eq!(totals[1][1..3], [100, NS_PER_SECOND]);
        assert_eq!(totals.iter().map(|of| of[0]).collect::<Vec<_>>(), [0, 0, 0, 0, 1]);
    }

    #[test]
    fn steps_have_what_seconds_have_until_they_are_as_long() {
        let mut table = Table::new(Identity::default(), BEGIN);
        let thread = table.thread(1).unwrap();
        let at_ticks = |ms: u64| BEGIN.at_ticks(BEGIN.ticks + ms * 1_000_000);
        let mut width = 0;
        for ms in (10..600_000).step_by(10) {
            let (began, ended) = (at_ticks(ms - 10).ticks, at_ticks(ms));
            for operation in [Operation::Read, Operation::Write] {
                let outcome = Outcome::Moved { bytes: 100, offset: Some(0), block_bytes: 0 };
                table.ends(&FinishedCall { thread, operation, file: 0, began, ended, outcome });
            }
            assert!(table.steps.len() * size_of::<Second>() <= STEPS_BYTES);
            let bytes = |rows: &BTreeMap<_, [u64; 4]>| rows.values().map(|of| of[1]).sum::<u64>();
            assert!(table.step_width == SECOND_WIDTH || bytes(&table.steps) == bytes(&table.seconds));
            width = table.step_width.max(width);
        }
        assert_eq!((width, table.steps.len()), (6, 600 * 2 * 2));
    }

    #[test]
    fn seconds_get_wider_before_they_fill_the_table() {
        let mut table = Table::new(Identity::default(), BEGIN);
        for second in 0..200_000 {
            table.add_to_second(second, Operation::Read, [1, 2, 3, 4]);
        }
        assert!(table.width > 0 && table.seconds.len() * size_of::<Second>() <= FINE_BYTES);
        assert_eq!(table.seconds.values().map(|of| of[0]).sum::<u64>(), 200_000);
    }
}
