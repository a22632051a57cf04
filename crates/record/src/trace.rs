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
        /// The writer's own: the end of the last call as readers reckon it, where a run began in the chunk (0: none), the
        /// context of the last call, and how many calls as expected came one after another.
        pub state: [u64; 4],
        /// The writer's own: what is remembered of each context ([`Context`]).
        pub contexts: [[u64; 5]; CONTEXTS],
    }
}

/// A file and an operation, and the last call of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Context {
    /// Place of the file, operation and unit: see [`Context::key`].
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
    /// Where it began in the file, if anybody knows.
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
const BEGINS_RUN: u64 = 3;
/// A call of a run takes no longer than this times the mean of those before it: what is slow stands by itself.
const SLOW: u64 = 4;

impl Context {
    fn key(traced: &Traced, unit: u32) -> u64 {
        u64::from(traced.file) << 32 | (traced.operation as u64) << 8 | u64::from(unit) << 1 | 1
    }

    fn unit(&self) -> u32 {
        (self.key >> 1) as u32 & 0x7f
    }

    fn is_of(&self, traced: &Traced) -> bool {
        self.key & !0xff == Self::key(traced, 0) & !0xff && self.key & 1 == 1
    }

    fn expected(&self, mode: u8) -> u64 {
        if mode == CONTINUES { self.end } else { self.begin.wrapping_add(self.stride) }
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

/// Adds a call to a chunk. Whether there was room: if not, a new chunk is due.
///
/// `bytes` is the chunk, with its header; the calling thread alone writes to it. `block_bytes` is a power of two that offsets
/// are mostly a multiple of, or 0.
pub fn write(bytes: &mut [u8], traced: &Traced, block_bytes: u32) -> bool {
    let Some((chunk, calls)) = split(bytes) else { return false };
    let used = chunk.used_bytes.load(Relaxed) as usize - size_of::<Chunk>();
    if used + LONGEST_CALL + RUN_BYTES > calls.len() {
        return false;
    }
    let [mut at, run, last, in_a_row] = chunk.state;
    let last = last as usize % CONTEXTS;
    let aligned = traced.offset.is_none_or(|offset| offset & u64::from(block_bytes.max(1) - 1) == 0);
    let unit = if block_bytes.is_power_of_two() && aligned { block_bytes.trailing_zeros() } else { 0 };
    let known = (0..CONTEXTS).map(|step| (last + step) % CONTEXTS).find(|&index| {
        let context = Context::of(chunk.contexts[index]);
        // In units of a block only what is a multiple of it can be said.
        let fits = traced.offset.is_none_or(|offset| offset & ((1 << context.unit()) - 1) == 0);
        context.is_of(traced) && fits
    });
    let index = known.unwrap_or((last + 1) % CONTEXTS);
    let mut context = match known {
        Some(_) => Context::of(chunk.contexts[index]),
        None => Context { key: Context::key(traced, unit), ..Context::default() },
    };
    let mode = match traced.offset {
        None => NOWHERE,
        Some(offset) if offset == context.expected(CONTINUES) => CONTINUES,
        Some(offset) if offset == context.expected(STRIDES) => STRIDES,
        Some(_) => EXPLICIT,
    };
    let as_expected = known == Some(last)
        && traced.bytes == context.bytes
        && traced.errno.is_none()
        && (mode == CONTINUES || mode == STRIDES || mode == NOWHERE);
    let (gap, took) = (traced.begin.saturating_sub(at), traced.end.saturating_sub(traced.begin));
    let mut out = Writer { bytes: calls, used };
    let mut new_run = 0;
    // A run goes on in one way only: `in_a_row` has the mode in its upper half.
    let row = if as_expected && in_a_row >> 32 == u64::from(mode) { (in_a_row & 0xffff_ffff) + 1 } else { 0 };
    if row > BEGINS_RUN && run != 0 && !out.is_slow(run as usize, took) {
        at = out.extend(run as usize, at, traced);
        new_run = run;
    } else if row == BEGINS_RUN || row > BEGINS_RUN && run != 0 {
        let begin = out.used;
        out.push(RUN);
        out.push_all(&1_u32.to_le_bytes());
        out.push_all(&(gap + took).to_le_bytes());
        out.push_all(&took.to_le_bytes());
        at += gap + took;
        // One that was slow is a run of its own: the next begins another.
        new_run = if row == BEGINS_RUN { begin as u64 } else { 0 };
    } else {
        let mut tag = mode;
        if known != Some(last) {
            tag |= CONTEXT;
        }
        if traced.bytes != context.bytes {
            tag |= SIZE;
        }
        if traced.errno.is_some() {
            tag |= FAILED;
        }
        let explicit = traced.offset.filter(|_| mode == EXPLICIT).map(|offset| offset >> context.unit());
        let width = explicit.map_or(0, |offset| 7_usize.saturating_sub(offset.leading_zeros() as usize / 8));
        out.push(tag | (width as u8) << WIDTH_SHIFT);
        if tag & CONTEXT != 0 {
            out.push(index as u8 | if known.is_none() { NEW } else { 0 });
            if known.is_none() {
                out.push(traced.operation as u8);
                out.push(context.unit() as u8);
                out.push_all(&traced.file.to_le_bytes());
            }
        }
        if let Some(offset) = explicit {
            out.push_all(&offset.to_le_bytes()[..=width]);
        }
        if tag & SIZE != 0 {
            out.push_varint(traced.bytes);
        }
        if let Some(errno) = traced.errno {
            out.push(errno);
        }
        at += out.push_time(gap);
        at += out.push_time(took);
    }
    let used = out.used;
    context.advance(traced);
    chunk.contexts[index] = context.words();
    let row = if as_expected { u64::from(mode) << 32 | row } else { u64::from(mode) << 32 };
    chunk.state = [at, new_run, index as u64, row];
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

    fn number<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bytes[at..at + N].try_into().unwrap_or([0; N])
    }

    fn is_slow(&self, run: usize, took: u64) -> bool {
        let calls = u32::from_le_bytes(self.number(run + 1));
        let busy = u64::from_le_bytes(self.number(run + 13));
        calls == u32::MAX || took > SLOW * (busy / u64::from(calls).max(1)).max(1000)
    }

    /// Adds a call to a run. The end of it as readers reckon.
    fn extend(&mut self, run: usize, at: u64, traced: &Traced) -> u64 {
        let (gap, took) = (traced.begin.saturating_sub(at), traced.end.saturating_sub(traced.begin));
        let calls = u32::from_le_bytes(self.number(run + 1)) + 1;
        let elapsed = u64::from_le_bytes(self.number(run + 5)) + gap + took;
        let busy = u64::from_le_bytes(self.number(run + 13)) + took;
        self.bytes[run + 1..run + 5].copy_from_slice(&calls.to_le_bytes());
        self.bytes[run + 5..run + 13].copy_from_slice(&elapsed.to_le_bytes());
        self.bytes[run + 13..run + 21].copy_from_slice(&busy.to_le_bytes());
        at + gap + took
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
    rest: &'a [u8],
    at: u64,
    contexts: [Option<(Operation, Context)>; CONTEXTS],
    last: usize,
    /// How the last call lay to the one before.
    mode: u8,
    /// Calls that are left, by the header.
    left: u64,
    /// Calls of a run that are left, each with its time from the last, and in it.
    run: (u32, u64, u64),
}

impl Chunk {
    /// The chunk that `bytes` begin with, its calls, and what follows it.
    ///
    /// # Errors
    /// Where there is none.
    pub fn first(bytes: &[u8]) -> Result<(Self, Calls<'_>, &[u8]), Damaged> {
        let chunk: Self = copy(bytes).ok_or(Damaged)?;
        let (used, capacity) = (chunk.used_bytes.load(Relaxed) as usize, chunk.capacity_bytes as usize);
        let header = size_of::<Self>();
        let sound = chunk.magic == CHUNK_MAGIC && chunk.version == crate::table::VERSION;
        if !sound || used < header || used > capacity || used > bytes.len() {
            return Err(Damaged);
        }
        let calls = Calls {
            rest: &bytes[header..used],
            at: chunk.begin_ticks,
            contexts: [None; CONTEXTS],
            last: 0,
            mode: 0,
            left: chunk.calls.load(Relaxed),
            run: (0, 0, 0),
        };
        // The last chunk of a file that was trimmed has no unused bytes.
        Ok((chunk, calls, bytes.get(capacity..).unwrap_or_default()))
    }
}

impl Calls<'_> {
    fn byte(&mut self) -> Result<u8, Damaged> {
        let (&byte, rest) = self.rest.split_first().ok_or(Damaged)?;
        self.rest = rest;
        Ok(byte)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let (bytes, rest) = self.rest.split_at_checked(N).ok_or(Damaged)?;
        self.rest = rest;
        bytes.try_into().map_err(|_| Damaged)
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

    /// The next call of a run.
    fn of_run(&mut self) -> Result<Traced, Damaged> {
        let (left, elapsed, busy) = self.run;
        let step = elapsed / u64::from(left);
        let took = (busy / u64::from(left)).min(step);
        self.run = (left - 1, elapsed - step, busy.saturating_sub(took));
        let (operation, mut context) = self.contexts[self.last].ok_or(Damaged)?;
        let offset = (self.mode != NOWHERE).then(|| context.expected(self.mode));
        let end = self.at.wrapping_add(step);
        self.at = end;
        let begin = end.wrapping_sub(took);
        let file = (context.key >> 32) as u32;
        let traced = Traced { operation, file, offset, bytes: context.bytes, errno: None, begin, end };
        context.advance(&traced);
        self.contexts[self.last] = Some((operation, context));
        Ok(traced)
    }

    fn call(&mut self) -> Result<Traced, Damaged> {
        if self.run.0 > 0 {
            return self.of_run();
        }
        let tag = self.byte()?;
        if tag == RUN {
            let calls = u32::from_le_bytes(self.array()?);
            self.run = (calls, u64::from_le_bytes(self.array()?), u64::from_le_bytes(self.array()?));
            return if calls == 0 { Err(Damaged) } else { self.of_run() };
        }
        if tag & CONTEXT != 0 {
            let index = self.byte()?;
            self.last = usize::from(index & !NEW) % CONTEXTS;
            if index & NEW != 0 {
                let operation = *Operation::ALL.get(usize::from(self.byte()?)).ok_or(Damaged)?;
                let unit = self.byte()?;
                let file = u32::from_le_bytes(self.array()?);
                if unit >= 64 {
                    return Err(Damaged);
                }
                let key = u64::from(file) << 32 | u64::from(unit) << 1 | 1;
                self.contexts[self.last] = Some((operation, Context { key, ..Context::default() }));
            }
        }
        let (operation, mut context) = self.contexts[self.last].ok_or(Damaged)?;
        self.mode = tag & OFFSET;
        let offset = match self.mode {
            NOWHERE => None,
            EXPLICIT => {
                let mut bytes = [0; 8];
                for byte in &mut bytes[..=usize::from(tag >> WIDTH_SHIFT)] {
                    *byte = self.byte()?;
                }
                Some(u64::from_le_bytes(bytes) << context.unit())
            }
            mode => Some(context.expected(mode)),
        };
        let bytes = if tag & SIZE != 0 { self.varint()? } else { context.bytes };
        let errno = if tag & FAILED != 0 { Some(self.byte()?) } else { None };
        let begin = self.at.wrapping_add(self.time()?);
        let end = begin.wrapping_add(self.time()?);
        self.at = end;
        let traced = Traced { operation, file: (context.key >> 32) as u32, offset, bytes, errno, begin, end };
        context.advance(&traced);
        self.contexts[self.last] = Some((operation, context));
        Ok(traced)
    }
}

impl Iterator for Calls<'_> {
    type Item = Result<Traced, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() && self.run.0 == 0 {
            return None;
        }
        let call = if self.left == 0 { Err(Damaged) } else { self.call() };
        self.left = self.left.saturating_sub(1);
        if call.is_err() {
            (self.rest, self.run) = (&[], (0, 0, 0));
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
        chunk.version = crate::table::VERSION;
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
        let (chunk, calls, _) = Chunk::first(bytes(words)).unwrap();
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
            let (mut at, mut all) = (0_u64, Vec::new());
            for (call, times) in &mut calls {
                let (gap, took) = (call.begin, call.end % 100_000);
                for _ in 0..*times {
                    call.begin = at + gap % 100_000;
                    call.end = call.begin + took;
                    at = call.end;
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
            if let Ok((chunk, calls, _)) = Chunk::first(bytes) {
                let most = chunk.calls.into_inner().min(100_000);
                let read = calls.take(100_000).filter(Result::is_ok).count();
                prop_assert!(read as u64 <= most);
            }
        }
    }
}
