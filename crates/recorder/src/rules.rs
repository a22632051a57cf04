//! Rules that an agent gives: which calls they match, and counting those.
//!
//! Without an agent there is no file of rules, and a call asks one word. Which rules are for a file is kept with the open file
//! ([`crate::descriptors::Slot`]), for calls on names in the row of the name, with what says of which generation that is: a call
//! that no rule matches reads two words of those and one of the file of rules.
//!
//! The file is written to by the agent alone, but for the buckets; nothing in it is trusted ([`ioassay_record::rules`]).

use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use ioassay_record::operation::Operation;
use ioassay_record::rules::{Bucket, FILE_BYTES, Half, NAME, RulesFile, slots};
use ioassay_record::table::{File, Thread, WATCHED_ROWS, Watched, WatchedRow};
use ioassay_record::watched::WatchedCall;

use crate::text::Buffer;
use crate::{descriptors, files, real_files, sys, table};

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

/// Where the file is in memory, if there is one.
pub fn mapped() -> Option<core::ops::Range<usize>> {
    let file = FILE.load(Relaxed);
    (file != 0).then(|| file..file + FILE_BYTES)
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

/// Which rules are for an open file, or for calls on a name, as far as that is known.
#[repr(C)]
#[derive(Debug)]
pub struct Matching {
    /// Their slots, a bit each.
    set: AtomicU64,
    /// What says of which rules that is.
    stamp: AtomicU32,
    /// Of an open file: the place of the row in which it is counted. Of a name, whose row this is in: 0.
    pub file: AtomicU32,
}

// The row of a name has it as three fields.
const _: () = assert!(
    offset_of!(File, rules_stamp) - offset_of!(File, rules) == offset_of!(Matching, stamp)
        && offset_of!(File, reserved) - offset_of!(File, rules) == offset_of!(Matching, file)
        && offset_of!(File, rules).is_multiple_of(align_of::<Matching>())
);

impl Matching {
    /// Of an open file that is in no row yet.
    pub const fn new() -> Self {
        Self { set: AtomicU64::new(0), stamp: AtomicU32::new(0), file: AtomicU32::new(0) }
    }

    /// That of calls on a name.
    #[inline(always)]
    pub fn of_name(place: u32) -> &'static Self {
        static OF_NOTHING: Matching = Matching::new();
        if place == 0 {
            return &OF_NOTHING;
        }
        // SAFETY: the fields of the row are as many atomics of the same sizes.
        unsafe { &*(&raw const files::row(place).rules).cast() }
    }

    /// The row of the name whose this is. Only where it is of a name.
    fn row(&'static self) -> Option<&'static File> {
        let address = &raw const *self as usize - offset_of!(File, rules);
        // SAFETY: it is within that row.
        table::mapped().is_some_and(|table| table.contains(&address)).then(|| unsafe { &*(address as *const File) })
    }

    /// An open file of that row, of which nothing is known yet.
    pub fn forget(&self, file: u32) {
        self.file.store(file, Relaxed);
        self.keep(0, 0);
    }

    fn keep(&self, set: u64, generation: u64) {
        self.set.store(set, Relaxed);
        self.stamp.store(stamp(set, generation), Relaxed);
    }
}

impl Default for Matching {
    fn default() -> Self {
        Self::new()
    }
}

/// Which rules are for a file that has just been opened, by that name. `matching` is that of the open file.
#[inline(always)]
pub fn opened(descriptor: i32, file: u32, matching: &'static Matching) {
    if let Some(rules) = given() {
        match_opened(rules, descriptor, file, matching);
    }
}

#[inline(never)]
fn match_opened(rules: Rules, descriptor: i32, file: u32, matching: &'static Matching) {
    if rules.half.with_path.load(Relaxed) == 0 {
        return;
    }
    let set = real_files::of_descriptor(rules.half, descriptor, files::name(files::row(file)));
    if rules.hold() {
        matching.keep(set, rules.generation);
        // The name leads to another file now, if it did not before.
        if file != 0 && file != files::others() {
            Matching::of_name(file).keep(set, rules.generation);
        }
    }
}

impl Rules {
    /// The slots whose rules are for calls of an operation on a file, whatever they move.
    #[inline(always)]
    pub fn of(self, operation: Operation, matching: &'static Matching) -> u64 {
        let of_operation = self.half.of(operation);
        if of_operation == 0 {
            return 0;
        }
        let set = matching.set.load(Relaxed);
        let is_known = matching.stamp.load(Relaxed) == stamp(set, self.generation);
        let set = if is_known { set } else { self.look_up(matching) };
        of_operation & set
    }

    /// Whether they still hold.
    fn hold(self) -> bool {
        file().is_some_and(|file| file.generation() == self.generation)
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
    fn look_up(self, matching: &'static Matching) -> u64 {
        let set = match matching.file.load(Relaxed) {
            0 => matching.row().map_or(0, |row| real_files::of_name(self.half, files::name(row))),
            place => {
                let name = files::name(files::row(place));
                match descriptors::leading_to(matching) {
                    Some(descriptor) => real_files::of_descriptor(self.half, descriptor, name),
                    // It has been closed meanwhile.
                    None => real_files::of_name(self.half, name),
                }
            }
        };
        // While it was found out, other rules may have come.
        if self.hold() {
            matching.keep(set, self.generation);
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
fn stamp(set: u64, generation: u64) -> u32 {
    let mixed = set.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32 ^ generation as u32
}

/// Counts a call on a file for the rules that match it, by its class before what is not on storage gets another. It took so many
/// ticks (0: it was not timed), and moved so many bytes, unless it failed; `seek_bytes` says how far it began from the end of the
/// one before.
#[inline(always)]
pub fn count(
    thread: &'static Thread,
    file: u32,
    matching: &'static Matching,
    operation: Operation,
    took: u64,
    moved: Option<u64>,
    seek_bytes: impl FnOnce() -> u64,
) {
    if let Some(rules) = given() {
        let set = rules.of(operation, matching);
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
