//! Traces: every call of a thread, in a few bytes.
//!
//! A trace is a file of chunks, each of one thread and readable by itself, so that a reader can begin anywhere. A call is
//! written as what it differs by from what was to be expected: the next call on the same file, of the same size, where the
//! last one ended or as far from it as that one was from the one before. Calls that are as expected one after another become
//! one run, which keeps their number and their time together.
//!
//! The bytes of a call: a tag; which of the last files and operations, if not the last; the offset, if not as expected, in
//! units of the file's blocks; the size, if it changed; how long after the end of the last call it began; how long it took.
//! Times are kept to an eighth. What is lost of one is not lost of the next: the writer reckons with what the reader will.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::layout;
use crate::operation::Operation;
use crate::read::copy;
use crate::table::VERSION;

/// How a chunk begins.
pub const CHUNK_MAGIC: [u8; 8] = *b"ioassayC";
/// Files and operations that a chunk remembers.
pub const CONTEXTS: usize = 16;

layout! {
    /// How a chunk begins. The calls follow.
    pub struct Chunk {
        /// [`CHUNK_MAGIC`].
        pub magic: [u8; 8],
        /// [`crate::table::VERSION`].
        pub version: u32,
        /// Of the chunk, with this structure.
        pub capacity_bytes: u32,
        /// Of the chunk that are in use, with this structure.
        pub used_bytes: AtomicU32,
        /// The process: `Header::process` of its table.
        pub process: u32,
        /// `Header::begin_ticks` of its table.
        pub table_begin_ticks: u64,
        /// Place of its thread in the table.
        pub thread: u32,
        /// 0.
        pub reserved: u32,
        /// When the time of its first call begins, in ticks of the table's clock.
        pub begin_ticks: u64,
        /// Calls.
        pub calls: AtomicU64,
        /// The writer's own: the end of the last call as readers reckon it, where a run begins among the calls (0: none), the
        /// context of the last call, and how many calls as expected came one after another, with how they did in the upper
        /// half.
        pub state: [u64; 4],
        /// The writer's own: what is remembered of each context ([`Context`]).
        pub contexts: [[u64; 5]; CONTEXTS],
    }
}

/// A file and an operation, and the last call of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Context {
    /// Place of the file, operation, unit, and a bit that is set: 0 is no context.
    key: u64,
    begin: u64,
    end: u64,
    stride: u64,
    bytes: u64,
}

/// A call of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traced {
    /// What it was.
    pub operation: Operation,
    /// Place of the file in the table; 0 where it was none.
    pub file: u32,
    /// Where it began in the file, if that is known.
    pub offset: Option<u64>,
    /// That it moved.
    pub bytes: u64,
    /// Where it failed.
    pub errno: Option<u8>,
    /// When it began, in ticks.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
}

const CONTINUES: u8 = 0;
const STRIDES: u8 = 1;
const EXPLICIT: u8 = 2;
const NOWHERE: u8 = 3;
const OFFSET: u8 = 3;
const SIZE: u8 = 1 << 2;
const CONTEXT: u8 = 1 << 3;
const FAILED: u8 = 1 << 4;
/// Bytes of an explicit offset, minus 1.
const WIDTH_SHIFT: u8 = 5;
/// A run: no call has this tag, which would have an offset and none.
const RUN: u8 = NOWHERE | 7 << WIDTH_SHIFT;
/// Of a run: its tag, calls, time from the end of the last call to the end of its last, time in its calls.
const RUN_BYTES: usize = 1 + 4 + 8 + 8;
/// Of the longest call: tag, context with a new file, offset, size, error, two times in full.
pub const LONGEST_CALL: usize = 1 + (1 + 1 + 5) + 8 + 10 + 1 + 2 * 9;
/// A new context: its number follows with this.
const NEW: u8 = 0x80;
/// As many calls as expected one after another begin a run.
const BEGINS_RUN: u32 = 3;
/// A call of a run takes no longer than this times the mean of those before it: what is slow stands by itself.
const SLOW: u64 = 4;
/// What is not slow, in ticks, whatever the mean.
const QUICK: u64 = 1000;

impl Context {
    /// One without a call. Offsets are in units of 2 to the power of `unit`.
    fn new(operation: Operation, file: u32, unit: u32) -> Self {
        let key = u64::from(file) << 32 | (operation as u64) << 8 | u64::from(unit) << 1 | 1;
        Self { key, ..Self::default() }
    }

    fn file(&self) -> u32 {
        (self.key >> 32) as u32
    }

    fn operation(&self) -> Option<Operation> {
        let used = self.key & 1 == 1;
        Operation::ALL.get(usize::from((self.key >> 8) as u8)).copied().filter(|_| used)
    }

    fn unit(&self) -> u32 {
        (self.key >> 1) as u32 & 0x7f
    }

    /// Whether a call can be said in this context: in units of a block only what is a multiple of it.
    fn takes(&self, traced: &Traced) -> bool {
        let unit = (1 << self.unit()) - 1;
        Self::new(traced.operation, traced.file, self.unit()).key == self.key
            && traced.offset.is_none_or(|offset| offset & unit == 0)
    }

    /// Where the next call begins that lies like that to the last one; nothing where that is not expected.
    fn expected(&self, mode: u8) -> Option<u64> {
        match mode {
            CONTINUES => Some(self.end),
            STRIDES => Some(self.begin.wrapping_add(self.stride)),
            _ => None,
        }
    }

    /// How a call lies to the last one.
    fn mode(&self, offset: Option<u64>) -> u8 {
        match offset {
            None => NOWHERE,
            _ if offset == self.expected(CONTINUES) => CONTINUES,
            _ if offset == self.expected(STRIDES) => STRIDES,
            _ => EXPLICIT,
        }
    }

    fn advance(&mut self, traced: &Traced) {
        if let Some(offset) = traced.offset {
            self.stride = offset.wrapping_sub(self.begin);
            self.begin = offset;
            self.end = offset.wrapping_add(traced.bytes);
        }
        self.bytes = traced.bytes;
    }

    fn words(self) -> [u64; 5] {
        [self.key, self.begin, self.end, self.stride, self.bytes]
    }

    fn of([key, begin, end, stride, bytes]: [u64; 5]) -> Self {
        Self { key, begin, end, stride, bytes }
    }
}

/// Calls as expected, one after another.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    calls: u32,
    /// From the end of the call before the run to the end of its last, in ticks.
    elapsed: u64,
    /// In its calls.
    busy: u64,
}

impl Run {
    /// Whether it can go on with a call that takes so long.
    fn takes(&self, took: u64) -> bool {
        let mean = self.busy / u64::from(self.calls.max(1));
        self.calls == 0 || self.calls < u32::MAX && took <= mean.max(QUICK).saturating_mul(SLOW)
    }
}

/// Adds a call to a chunk. Whether there was room: if not, a new chunk is due.
///
/// `bytes` is the chunk, with its header; the calling thread alone writes to it. `block_bytes` is a power of two that offsets
/// are mostly a multiple of, or 0.
pub fn write(bytes: &mut [u8], traced: &Traced, block_bytes: u32) -> bool {
    let Some((chunk, calls)) = split(bytes) else { return false };
    // Zero where the file has been cut.
    let Some(used) = (chunk.used_bytes.load(Relaxed) as usize).checked_sub(size_of::<Chunk>()) else { return false };
    let mut out = Writer { bytes: calls, used };
    if out.used + LONGEST_CALL + RUN_BYTES > out.bytes.len() {
        return false;
    }
    let [now_ticks, run_begin, last, row] = chunk.state;
    let (run_begin, last) = (run_begin as usize, last as usize % CONTEXTS);
    let known = (last..last + CONTEXTS).map(|index| index % CONTEXTS).find_map(|index| {
        let context = Context::of(chunk.contexts[index]);
        context.takes(traced).then_some((index, context))
    });
    let (index, mut context) = known.unwrap_or_else(|| {
        let aligned = traced.offset.is_none_or(|offset| offset & u64::from(block_bytes.max(1) - 1) == 0);
        let unit = if block_bytes.is_power_of_two() && aligned { block_bytes.trailing_zeros() } else { 0 };
        ((last + 1) % CONTEXTS, Context::new(traced.operation, traced.file, unit))
    });
    let which = match known {
        Some(_) if index == last => None,
        Some(_) => Some(index as u8),
        None => Some(index as u8 | NEW),
    };
    let mode = context.mode(traced.offset);
    let as_expected = which.is_none() && mode != EXPLICIT && traced.bytes == context.bytes && traced.errno.is_none();
    let (gap, took) = (traced.begin.saturating_sub(now_ticks), traced.end.saturating_sub(traced.begin));
    let mut run = if run_begin == 0 { Run::default() } else { out.run(run_begin) };
    // A run goes on in one way only.
    let goes_on = as_expected && row >> 32 == u64::from(mode) && run.takes(took);
    let row = if goes_on { (row as u32 + 1).min(BEGINS_RUN) } else { 0 };
    let (now_ticks, run_begin) = if row == BEGINS_RUN {
        run = Run { calls: run.calls + 1, elapsed: run.elapsed + gap + took, busy: run.busy + took };
        let begin = if run_begin == 0 { out.used } else { run_begin };
        out.used = begin;
        out.push_run(&run);
        (now_ticks + gap + took, begin)
    } else {
        out.push_call(traced, &context, mode, which);
        (now_ticks + out.push_time(gap) + out.push_time(took), 0)
    };
    let used = out.used;
    context.advance(traced);
    chunk.contexts[index] = context.words();
    chunk.state = [now_ticks, run_begin as u64, index as u64, u64::from(mode) << 32 | u64::from(row)];
    chunk.calls.store(chunk.calls.load(Relaxed) + 1, Relaxed);
    chunk.used_bytes.store((size_of::<Chunk>() + used) as u32, Relaxed);
    true
}

/// The header of a chunk and what follows.
fn split(bytes: &mut [u8]) -> Option<(&mut Chunk, &mut [u8])> {
    if bytes.len() < size_of::<Chunk>() || !(bytes.as_ptr() as usize).is_multiple_of(align_of::<Chunk>()) {
        return None;
    }
    let (header, calls) = bytes.split_at_mut(size_of::<Chunk>());
    // SAFETY: there are enough bytes, aligned, and any are a valid value.
    Some((unsafe { &mut *header.as_mut_ptr().cast() }, calls))
}

/// Where the calls of a chunk are written.
struct Writer<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl Writer<'_> {
    fn push(&mut self, byte: u8) {
        self.bytes[self.used] = byte;
        self.used += 1;
    }

    fn push_all(&mut self, bytes: &[u8]) {
        self.bytes[self.used..self.used + bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }

    fn push_varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.push(number as u8);
    }

    /// Writes a time. What readers will take it for.
    fn push_time(&mut self, ticks: u64) -> u64 {
        let code = time_code(ticks);
        self.push(code);
        if code == LONG {
            self.push_all(&ticks.to_le_bytes());
            return ticks;
        }
        time_of(code)
    }

    /// Writes a call that is in no run, but for its times. `which` is its context, if not the last one, and whether that is
    /// [`NEW`].
    fn push_call(&mut self, traced: &Traced, context: &Context, mode: u8, which: Option<u8>) {
        let explicit = traced.offset.filter(|_| mode == EXPLICIT).map(|offset| offset >> context.unit());
        let width = explicit.map_or(0, |offset| 7_usize.saturating_sub(offset.leading_zeros() as usize / 8));
        let flag = |flag, is_set| if is_set { flag } else { 0 };
        let has_size = traced.bytes != context.bytes;
        let flags = flag(CONTEXT, which.is_some()) | flag(SIZE, has_size) | flag(FAILED, traced.errno.is_some());
        self.push(mode | flags | (width as u8) << WIDTH_SHIFT);
        if let Some(which) = which {
            self.push(which);
            if which & NEW != 0 {
                self.push(traced.operation as u8);
                self.push(context.unit() as u8);
                self.push_all(&traced.file.to_le_bytes());
            }
        }
        if let Some(offset) = explicit {
            self.push_all(&offset.to_le_bytes()[..=width]);
        }
        if has_size {
            self.push_varint(traced.bytes);
        }
        if let Some(errno) = traced.errno {
            self.push(errno);
        }
    }

    fn push_run(&mut self, run: &Run) {
        self.push(RUN);
        self.push_all(&run.calls.to_le_bytes());
        self.push_all(&run.elapsed.to_le_bytes());
        self.push_all(&run.busy.to_le_bytes());
    }

    /// The run that was written there.
    fn run(&self, place: usize) -> Run {
        let mut reader = Reader { rest: self.bytes.get(place + 1..).unwrap_or_default() };
        reader.run().unwrap_or_default()
    }
}

/// The code of a time that is written in full.
const LONG: u8 = u8::MAX;

/// A time in a byte, to an eighth: it stands for the least of the times that have it.
const fn time_code(ticks: u64) -> u8 {
    if ticks < 8 {
        return ticks as u8;
    }
    let octave = 63 - ticks.leading_zeros() as u64;
    let code = (octave - 2) * 8 + (ticks >> (octave - 3) & 7);
    if code < LONG as u64 { code as u8 } else { LONG }
}

const fn time_of(code: u8) -> u64 {
    if code < 8 {
        return code as u64;
    }
    let octave = code as u64 / 8 + 2;
    (8 + code as u64 % 8) << (octave - 3)
}

/// What is wrong with a chunk: nothing after it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damaged;

/// The calls of a chunk, in order. Bytes may be any.
pub struct Calls<'a> {
    reader: Reader<'a>,
    now_ticks: u64,
    contexts: [Context; CONTEXTS],
    last: usize,
    /// How the last call lay to the one before.
    mode: u8,
    /// Calls that are left, by the header.
    left: u64,
    /// What is left of a run.
    run: Run,
}

impl Chunk {
    /// The chunk that `bytes` begin with, and its calls.
    ///
    /// # Errors
    /// Where there is none.
    pub fn first(bytes: &[u8]) -> Result<(Self, Calls<'_>), Damaged> {
        let chunk: Self = copy(bytes).ok_or(Damaged)?;
        let used = chunk.used_bytes.load(Relaxed);
        let sound = chunk.magic == CHUNK_MAGIC && chunk.version == VERSION && used <= chunk.capacity_bytes;
        let calls = bytes.get(size_of::<Self>()..used as usize).filter(|_| sound).ok_or(Damaged)?;
        let calls = Calls {
            reader: Reader { rest: calls },
            now_ticks: chunk.begin_ticks,
            contexts: [Context::default(); CONTEXTS],
            last: 0,
            mode: 0,
            left: chunk.calls.load(Relaxed),
            run: Run::default(),
        };
        Ok((chunk, calls))
    }
}

/// Where the calls of a chunk are read.
struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Damaged)?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn byte(&mut self) -> Result<u8, Damaged> {
        self.array().map(|[byte]| byte)
    }

    fn time(&mut self) -> Result<u64, Damaged> {
        match self.byte()? {
            LONG => Ok(u64::from_le_bytes(self.array()?)),
            code => Ok(time_of(code)),
        }
    }

    fn varint(&mut self) -> Result<u64, Damaged> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Damaged)
    }

    /// A run whose tag has been read.
    fn run(&mut self) -> Result<Run, Damaged> {
        let calls = u32::from_le_bytes(self.array()?);
        Ok(Run { calls, elapsed: u64::from_le_bytes(self.array()?), busy: u64::from_le_bytes(self.array()?) })
    }
}

impl Calls<'_> {
    fn call(&mut self) -> Result<Traced, Damaged> {
        if self.run.calls == 0 {
            let tag = self.reader.byte()?;
            if tag != RUN {
                return self.single(tag);
            }
            self.run = self.reader.run()?;
        }
        self.of_run()
    }

    /// The next call of a run: each takes the same time, as far as that can be.
    fn of_run(&mut self) -> Result<Traced, Damaged> {
        let Run { calls, elapsed, busy } = self.run;
        let step = elapsed.checked_div(calls.into()).ok_or(Damaged)?;
        let took = (busy / u64::from(calls)).min(step);
        self.run = Run { calls: calls - 1, elapsed: elapsed - step, busy: busy.saturating_sub(took) };
        let context = self.contexts[self.last];
        self.traced(context.expected(self.mode), context.bytes, None, step - took, took)
    }

    /// A call that is in no run.
    fn single(&mut self, tag: u8) -> Result<Traced, Damaged> {
        if tag & CONTEXT != 0 {
            self.context()?;
        }
        let context = self.contexts[self.last];
        self.mode = tag & OFFSET;
        let offset = if self.mode == EXPLICIT {
            let mut bytes = [0; 8];
            for byte in &mut bytes[..=usize::from(tag >> WIDTH_SHIFT)] {
                *byte = self.reader.byte()?;
            }
            Some(u64::from_le_bytes(bytes) << context.unit())
        } else {
            context.expected(self.mode)
        };
        let bytes = if tag & SIZE != 0 { self.reader.varint()? } else { context.bytes };
        let errno = if tag & FAILED != 0 { Some(self.reader.byte()?) } else { None };
        let (gap, took) = (self.reader.time()?, self.reader.time()?);
        self.traced(offset, bytes, errno, gap, took)
    }

    /// Which context is the last one from now on.
    fn context(&mut self) -> Result<(), Damaged> {
        let index = self.reader.byte()?;
        self.last = usize::from(index & !NEW) % CONTEXTS;
        if index & NEW != 0 {
            let operation = *Operation::ALL.get(usize::from(self.reader.byte()?)).ok_or(Damaged)?;
            let unit = self.reader.byte()?;
            if unit >= 64 {
                return Err(Damaged);
            }
            self.contexts[self.last] = Context::new(operation, u32::from_le_bytes(self.reader.array()?), unit.into());
        }
        Ok(())
    }

    /// A call in the last context.
    fn traced(
        &mut self,
        offset: Option<u64>,
        bytes: u64,
        errno: Option<u8>,
        gap: u64,
        took: u64,
    ) -> Result<Traced, Damaged> {
        let context = &mut self.contexts[self.last];
        let operation = context.operation().ok_or(Damaged)?;
        let begin = self.now_ticks.wrapping_add(gap);
        self.now_ticks = begin.wrapping_add(took);
        let traced = Traced { operation, file: context.file(), offset, bytes, errno, begin, end: self.now_ticks };
        context.advance(&traced);
        Ok(traced)
    }
}

impl Iterator for Calls<'_> {
    type Item = Result<Traced, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.rest.is_empty() && self.run.calls == 0 {
            return None;
        }
        let call = if self.left == 0 { Err(Damaged) } else { self.call() };
        self.left = self.left.saturating_sub(1);
        if call.is_err() {
            (self.reader.rest, self.run) = (&[], Run::default());
        }
        Some(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// A chunk without calls, aligned as memory that is mapped.
    fn chunk(capacity: usize) -> Vec<u64> {
        let mut words = std::vec![0_u64; capacity / 8];
        let (chunk, _) = split(bytes(&mut words)).unwrap();
        chunk.magic = CHUNK_MAGIC;
        chunk.version = VERSION;
        chunk.capacity_bytes = capacity as u32;
        chunk.used_bytes = AtomicU32::new(size_of::<Chunk>() as u32);
        words
    }

    fn bytes(words: &mut [u64]) -> &mut [u8] {
        // SAFETY: the same memory.
        unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len() * 8) }
    }

    fn write_all(calls: &[Traced], block_bytes: u32) -> Vec<u64> {
        let mut words = chunk(1 << 20);
        for call in calls {
            assert!(write(bytes(&mut words), call, block_bytes));
        }
        words
    }

    fn read_all(words: &mut [u64]) -> Vec<Traced> {
        let (chunk, calls) = Chunk::first(bytes(words)).unwrap();
        let calls: Vec<_> = calls.map(Result::unwrap).collect();
        assert_eq!(calls.len() as u64, chunk.calls.load(Relaxed));
        calls
    }

    fn read(offset: u64, bytes: u64, begin: u64) -> Traced {
        let (operation, file) = (Operation::Read, 640);
        Traced { operation, file, offset: Some(offset), bytes, errno: None, begin, end: begin + 2000 }
    }

    fn bytes_per_call(calls: &[Traced]) -> f64 {
        let mut words = write_all(calls, 4096);
        let used = Chunk::first(bytes(&mut words)).unwrap().0.used_bytes.into_inner();
        (used as usize - size_of::<Chunk>()) as f64 / calls.len() as f64
    }

    #[test]
    fn a_chunk_whose_file_was_cut_takes_no_call() {
        let mut words = std::vec![0_u64; (1 << 20) / 8];
        assert!(!write(bytes(&mut words), &read(0, 4096, 1000), 4096));
    }

    #[test]
    fn a_call_of_random_reads_takes_six_bytes() {
        let mut random = 1_u64;
        let calls: Vec<_> = (0..10_000_u64)
            .map(|call| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                read((random >> 40) * 4096, 4096, call * 5000 + random % 1000)
            })
            .collect();
        let each = bytes_per_call(&calls);
        assert!(each <= 6.01, "{each}");
    }

    #[test]
    fn a_regular_pattern_takes_next_to_nothing() {
        for stride in [4096, 1 << 20] {
            let calls: Vec<_> = (0..10_000).map(|call| read(call * stride, 4096, call * 5000)).collect();
            let each = bytes_per_call(&calls);
            assert!(each <= 0.01, "{each}");
        }
    }

    #[test]
    fn a_slow_call_of_a_regular_pattern_keeps_its_time() {
        let mut calls: Vec<_> = (0..1000).map(|call| read(call * 4096, 4096, call * 5000)).collect();
        for call in &mut calls[500..] {
            call.begin += 1_000_000;
            call.end += 1_000_000;
        }
        calls[500].begin -= 1_000_000;
        let slowest =
            read_all(&mut write_all(&calls, 4096)).into_iter().max_by_key(|call| call.end - call.begin).unwrap();
        assert_eq!(slowest.offset, Some(500 * 4096));
        assert!(slowest.end - slowest.begin > 900_000);
    }

    #[test]
    fn a_pattern_is_regular_again_after_a_slow_call() {
        let slow = |call: u64| if call % 1000 == 500 { 1_000_000 } else { 0 };
        let mut now_ticks = 0;
        let calls: Vec<_> = (0..10_000_u64)
            .map(|call| {
                let mut read = read(call * 4096, 4096, now_ticks);
                read.end += slow(call);
                now_ticks = read.end + 3000;
                read
            })
            .collect();
        let each = bytes_per_call(&calls);
        assert!(each <= 0.1, "{each}");
        let slowest = read_all(&mut write_all(&calls, 4096)).into_iter().filter(|call| call.end - call.begin > 900_000);
        assert_eq!(slowest.count(), 10);
    }

    #[test]
    fn a_full_chunk_takes_no_more() {
        let mut words = chunk((size_of::<Chunk>() + LONGEST_CALL + RUN_BYTES).next_multiple_of(8));
        assert!(write(bytes(&mut words), &read(123, 1, 0), 0));
        assert!(!write(bytes(&mut words), &read(7, 1, 10_000), 0));
    }

    fn traced() -> impl Strategy<Value = Traced> {
        let offsets = prop_oneof![
            Just(None),
            (0..20_u64).prop_map(|block| Some(block * 4096)),
            any::<u32>().prop_map(|offset| Some(offset.into())),
            (0..1_u64 << 62).prop_map(Some),
        ];
        let sizes = prop_oneof![Just(4096), 0..100_u64, 0..1_u64 << 40];
        (
            0..29_usize,
            0..40_u32,
            offsets,
            sizes,
            prop::option::weighted(0.1, any::<u8>()),
            0..1_u64 << 36,
            0..1_u64 << 36,
        )
            .prop_map(|(operation, file, offset, bytes, errno, begin, end)| Traced {
                operation: Operation::ALL[operation],
                file,
                offset,
                bytes,
                errno,
                begin,
                end,
            })
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            mut calls in prop::collection::vec((traced(), 1..30_u64), 1..60),
            block_bytes in prop::sample::select(std::vec![0, 512, 4096]),
        ) {
            // One after another, each some times more as it would be expected.
            let (mut now_ticks, mut all) = (0_u64, Vec::new());
            for (call, times) in &mut calls {
                let (gap, took) = (call.begin, call.end % 100_000);
                for _ in 0..*times {
                    call.begin = now_ticks + gap % 100_000;
                    call.end = call.begin + took;
                    now_ticks = call.end;
                    all.push(*call);
                    call.offset = call.offset.map(|offset| offset.wrapping_add(call.bytes));
                }
            }
            let read = read_all(&mut write_all(&all, block_bytes));
            prop_assert_eq!(read.len(), all.len());
            for (read, written) in read.iter().zip(&all) {
                let what = |call: &Traced| (call.operation, call.file, call.offset, call.bytes, call.errno);
                prop_assert_eq!(what(read), what(written));
                // An eighth of the times since the last one that was exact.
                prop_assert!(read.end.abs_diff(written.end) <= 30_000, "{} {}", read.end, written.end);
            }
        }

        #[test]
        fn any_bytes_can_be_read(
            calls in prop::collection::vec(traced(), 0..30),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        ) {
            let mut words = write_all(&calls, 4096);
            let bytes = &mut bytes(&mut words)[..4096];
            for (index, byte) in changes {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            if let Ok((chunk, calls)) = Chunk::first(bytes) {
                let most = chunk.calls.into_inner().min(100_000);
                let read = calls.take(100_000).filter(Result::is_ok).count();
                prop_assert!(read as u64 <= most);
            }
        }
    }
}
