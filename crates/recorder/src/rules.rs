//! Rules that an agent gives: which calls they match, and counting those.
//!
//! Without an agent there is no file of rules, and a call asks one word. Which rules are for a file is kept in its row, with what
//! says of which generation that is: a call that no rule matches reads two words of the row and one of the file of rules.
//!
//! The file is written to by the agent alone, but for the buckets; nothing in it is trusted ([`ioassay_record::rules`]).

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use ioassay_record::operation::Operation;
use ioassay_record::rules::{Bucket, FILE_BYTES, Half, NAME, RulesFile, slots};
use ioassay_record::table::{File, Thread, WATCHED_ROWS, Watched, WatchedRow};
use ioassay_record::watched::WatchedCall;

use crate::text::Buffer;
use crate::{files, sys, table};

/// Where the file is mapped; 0 where there is none.
static FILE: AtomicUsize = AtomicUsize::new(0);
/// Its device and inode.
static IDENTITY: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Its name.
static PATH: Buffer<600> = Buffer::new();

/// Maps the file of rules, if there is one in the directory of the tables. A forked child has its parent's.
pub fn begin(directory: &[u8]) {
    if FILE.load(Relaxed) != 0 || !PATH.set(&[directory, b"/", NAME.as_bytes()]) {
        return;
    }
    let file = sys::open(PATH.as_c_str(), libc::O_RDWR | libc::O_NOFOLLOW, 0);
    if file < 0 {
        return;
    }
    if let Some(about) = sys::stat(file as i32)
        && about.st_size >= FILE_BYTES as i64
    {
        IDENTITY[0].store(about.st_dev, Relaxed);
        IDENTITY[1].store(about.st_ino, Relaxed);
        // SAFETY: new memory, which is never unmapped if it is kept.
        unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let mapped = sys::map(0, FILE_BYTES, protection, libc::MAP_SHARED, file, 0);
            if mapped > 0 && (*(mapped as *const RulesFile)).is_sound() {
                FILE.store(mapped as usize, Relaxed);
            } else if mapped > 0 {
                sys::call(libc::SYS_munmap, [mapped as usize, FILE_BYTES, 0, 0, 0, 0]);
            }
        }
    }
    sys::close(file);
}

/// Whether there is a file of rules.
#[inline(always)]
pub fn watched() -> bool {
    FILE.load(Relaxed) != 0
}

/// What the calls that a slot holds back share.
pub fn bucket(slot: usize) -> Option<&'static Bucket> {
    file().map(|file| &file.buckets[slot])
}

/// Runs `use_file` with a descriptor of the file of rules, which is open only meanwhile.
pub fn with_file<R>(use_file: impl FnOnce(isize) -> R) -> Option<R> {
    let file = sys::open(PATH.as_c_str(), libc::O_RDONLY | libc::O_NOFOLLOW, 0);
    if file < 0 {
        return None;
    }
    // After `chroot` the name may be that of another file.
    let own = IDENTITY.each_ref().map(|number| number.load(Relaxed));
    let is_it = sys::stat(file as i32).is_some_and(|about| [about.st_dev, about.st_ino] == own);
    let result = is_it.then(|| use_file(file));
    sys::close(file);
    result
}

/// The rules that hold.
#[derive(Clone, Copy)]
pub struct Rules {
    /// Their number.
    pub generation: u64,
    /// What they are, as long as that is the generation.
    pub half: &'static Half,
}

/// The file of rules, if there is one.
#[inline(always)]
fn file() -> Option<&'static RulesFile> {
    // SAFETY: it is mapped, and any bytes are valid.
    unsafe { (FILE.load(Relaxed) as *const RulesFile).as_ref() }
}

/// The rules that hold, if there are any.
#[inline(always)]
pub fn given() -> Option<Rules> {
    of_generation(file()?.generation())
}

/// The rules of a generation, if it is not too long ago.
#[inline(always)]
pub fn of_generation(generation: u64) -> Option<Rules> {
    let file = file()?;
    (generation != 0).then(|| Rules { generation, half: file.half(generation) })
}

impl Rules {
    /// The slots whose rules are for calls of an operation on a file, whatever they move.
    #[inline(always)]
    pub fn of(self, operation: Operation, place: u32) -> u64 {
        let of_operation = self.half.of(operation);
        if of_operation == 0 || place == 0 {
            return 0;
        }
        let file = files::row(place);
        let set = file.rules.load(Relaxed);
        let set = if file.rules_stamp.load(Relaxed) == stamp(set, self.generation) { set } else { self.look_up(file) };
        of_operation & set
    }

    /// Those of the slots whose rules are the same in the generation that follows, if `next` is that.
    pub fn same_in(self, next: Self, set: u64) -> u64 {
        if next.generation == self.generation {
            return set;
        }
        let same = |&slot: &usize| next.generation == self.generation + 1 && self.half.has_same(next.half, slot);
        slots(set).filter(same).fold(0, |same, slot| same | 1 << slot)
    }

    /// Finds out which rules are for a file, and keeps it.
    #[cold]
    fn look_up(self, row: &'static File) -> u64 {
        let set = self.half.matching(files::name(row));
        // While it was found out, other rules may have come.
        if file().is_some_and(|file| file.generation() == self.generation) {
            row.rules.store(set, Relaxed);
            row.rules_stamp.store(stamp(set, self.generation), Relaxed);
        }
        set
    }
}

/// Counts what a call was held back by the rule of a slot.
pub fn count_wait(thread: &'static Thread, slot: usize, ticks: u64) {
    if let Some(row) = row(thread, slot) {
        row.count_wait(ticks);
    }
}

/// What is kept beside a set of slots: threads that keep sets of two generations at once leave a pair that is of neither.
#[inline(always)]
fn stamp(set: u64, generation: u64) -> u64 {
    set.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ generation
}

/// Counts a call on a file for the rules that match it, by its class before what is not on storage gets another. It took so many
/// ticks (0: it was not timed), and moved so many bytes, unless it failed; `seek_bytes` says how far it began from the end of the
/// one before.
#[inline(always)]
pub fn count(
    thread: &'static Thread,
    file: u32,
    operation: Operation,
    took: u64,
    moved: Option<u64>,
    seek_bytes: impl FnOnce() -> u64,
) {
    if let Some(rules) = given() {
        let set = rules.of(operation, file);
        if set != 0 {
            count_in(rules, set, thread, file, took, moved, seek_bytes());
        }
    }
}

/// Not inlined, and with numbers that need no memory: calls that no rule matches are to cost what they did.
#[inline(never)]
fn count_in(
    rules: Rules,
    set: u64,
    thread: &'static Thread,
    file: u32,
    took: u64,
    moved: Option<u64>,
    seek_bytes: u64,
) {
    let second = thread.second.load(Relaxed);
    let (failed, bytes) = (moved.is_none(), moved.unwrap_or(0));
    let call = WatchedCall { file, second, took, failed, bytes, seek_bytes };
    for slot in slots(rules.half.fitting(set, bytes)) {
        match row(thread, slot) {
            Some(row) => row.count(&call),
            None => {
                table::header().unwatched_calls.fetch_add(1, Relaxed);
            }
        }
    }
}

/// Where a thread counts for a slot, which is made if there is none yet. Nothing where the table is full.
#[inline(always)]
fn row(thread: &'static Thread, slot: usize) -> Option<&'static WatchedRow> {
    let place = match thread.watched[slot / WATCHED_ROWS].load(Relaxed) {
        0 => new_rows(thread, slot / WATCHED_ROWS)?,
        place => place,
    };
    // SAFETY: it was allocated as that, with rows behind it.
    unsafe {
        let watched: &Watched = table::at(place);
        Some(&*(&raw const *watched).add(1).cast::<WatchedRow>().add(slot % WATCHED_ROWS))
    }
}

#[cold]
fn new_rows(thread: &'static Thread, block: usize) -> Option<u32> {
    let of = table::place(thread);
    let place = table::allocate::<Watched>(WATCHED_ROWS * size_of::<WatchedRow>(), |watched, _| {
        watched.thread = of;
        watched.first_slot = (block * WATCHED_ROWS) as u32;
    })?;
    thread.watched[block].store(place, Relaxed);
    Some(place)
}
