//! Rules that an agent gives: which calls they match, and counting those.
//!
//! Without an agent there is no file of rules, and a call asks one word. Which rules are for a file is kept with the open file
//! ([`crate::descriptors::Slot`]), for calls on names in the row of the name, with what says of which generation that is: a call
//! that no rule matches reads two words of those and one of the file of rules.
//!
//! The file is written to by the agent alone, but for the buckets and the slots that rules of the table claim; nothing in it is trusted
//! ([`ioassay_record::rules`]). The tables are mapped by the first process that needs them: they are large.

use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use core::sync::atomic::{Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};

use ioassay_record::operation::Operation;
use ioassay_record::path_rules::{Claim, MatchingRules, PathTable, TABLE_BYTES, TABLES_BEGIN, WHOLE_FILE_BYTES};
use ioassay_record::rules::{Bucket, FILE_BYTES, Half, NAME, NO_ROOM_AT, RulesFile, slots};
use ioassay_record::table::{File, Thread, WATCHED_ROWS, Watched, WatchedRow};
use ioassay_record::watched::WatchedCall;

use crate::text::Buffer;
use crate::{descriptors, files, process, real_files, root, sys, table, ticks};

/// Where the file is mapped; 0 where there is none.
static FILE: AtomicUsize = AtomicUsize::new(0);
/// Where the tables of rules with paths are mapped; 0 where they were not needed yet, or cannot be.
static TABLES: AtomicUsize = AtomicUsize::new(0);
/// They cannot be mapped.
static TABLES_ARE_OUT_OF_REACH: AtomicBool = AtomicBool::new(false);
/// A version of keys that was waited for in vain: the agent died while it changed them.
static STUCK_VERSION: AtomicU64 = AtomicU64::new(0);
/// Its device and inode.
static IDENTITY: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Its name.
static PATH: Buffer<600> = Buffer::new();

/// Other processes have cut the file: there is empty memory in its place, until the agent has restored it.
static IS_CUT: AtomicBool = AtomicBool::new(false);
/// For so long an agent that was there is taken for alive, by processes that cannot open the file.
const SEEN_FOR_NS: u64 = 5_000_000_000;

/// Maps the file of rules, if there is one in the directory of the tables. A forked child has its parent's.
pub fn begin(directory: &[u8]) {
    if FILE.load(Relaxed) != 0 || !PATH.set(&[directory, b"/", NAME.as_bytes()]) {
        return;
    }
    let file = sys::open(PATH.as_c_str(), libc::O_RDWR | libc::O_NOFOLLOW, 0);
    if file < 0 {
        return;
    }
    if let Some(about) = sys::stat(file as i32) {
        IDENTITY[0].store(about.st_dev, Relaxed);
        IDENTITY[1].store(about.st_ino, Relaxed);
        let is_long = about.st_size >= FILE_BYTES as i64;
        let mapped = if is_long { map(file, 0, FILE_BYTES) } else { empty_memory(0, FILE_BYTES) };
        FILE.store(mapped, Relaxed);
        if mapped != 0 && !is_sound() {
            take_out();
        }
    }
    sys::close(file);
    if watched() {
        root::begin();
    }
}

fn is_sound() -> bool {
    file().is_some_and(RulesFile::is_sound)
}

/// Puts empty memory in the place of the file and of its tables, in which there are no rules: it was cut. Whether there was memory for
/// that. All of it, and the generation first: what is found by a part of the rules must not be kept.
pub fn take_out() -> bool {
    IS_CUT.store(true, Relaxed);
    mapped().all(|memory| empty_memory(memory.start, memory.len()) != 0)
}

/// Memory of zeros at that address, in place of what is there, or at any (0). Its address; 0 where there is none.
fn empty_memory(address: usize, bytes: usize) -> usize {
    let fixed = if address == 0 { 0 } else { libc::MAP_FIXED };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed;
    // SAFETY: it replaces nothing but memory of the file, of which any bytes are valid.
    let mapped = unsafe { sys::map(address, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    usize::try_from(mapped).unwrap_or(0)
}

/// Maps the file again if it was cut and the agent has restored it.
#[inline(always)]
pub fn renew() {
    if IS_CUT.load(Relaxed) {
        map_again();
    }
}

#[cold]
fn map_again() {
    // One thread at a time.
    if !process::system_calls_allowed() || !IS_CUT.swap(false, Relaxed) {
        return;
    }
    let is_there = process::without_signals(|| {
        with_file(libc::O_RDWR, |file| {
            let is_long = sys::stat(file as i32).is_some_and(|about| about.st_size >= FILE_BYTES as i64);
            // The generation comes last. Tables may lie behind the end of the file as long as no rule is in them.
            is_long && parts().into_iter().rev().all(|part| part.address == 0 || part.map_again(file)) && is_sound()
        })
    });
    if is_there != Some(true) {
        take_out();
    }
}

/// Maps a part of the file. Its address; 0 where the address space has no room, which is written down in the file then.
fn map(file: isize, begin: usize, bytes: usize) -> usize {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: new memory, which is never unmapped if it is kept.
    let mapped = unsafe { sys::map(0, bytes, protection, libc::MAP_SHARED, file, begin) };
    if mapped == -(libc::ENOMEM as isize) {
        let process = u64::from(sys::process()).to_le_bytes();
        let arguments = [file as usize, process.as_ptr() as usize, process.len(), NO_ROOM_AT as usize, 0, 0];
        // SAFETY: the kernel reads the number.
        unsafe { sys::call(libc::SYS_pwrite64, arguments) };
    }
    usize::try_from(mapped).unwrap_or(0)
}

/// The table of a generation's rules with paths, which is mapped if need be.
fn table_of(generation: u64) -> Option<&'static PathTable> {
    if TABLES.load(Acquire) == 0 && !TABLES_ARE_OUT_OF_REACH.load(Relaxed) && process::system_calls_allowed() {
        process::without_signals(map_tables);
    }
    let tables = TABLES.load(Acquire);
    // SAFETY: both are mapped, and any bytes are valid.
    (tables != 0).then(|| unsafe { &*((tables + generation as usize % 2 * TABLE_BYTES) as *const PathTable) })
}

#[cold]
fn map_tables() {
    let mapped = with_file(libc::O_RDWR, |file| {
        let is_whole = sys::stat(file as i32).is_some_and(|about| about.st_size >= WHOLE_FILE_BYTES as i64);
        is_whole.then(|| map(file, TABLES_BEGIN, 2 * TABLE_BYTES))
    });
    match mapped {
        // It was cut: there are rules in them.
        Some(None) => {
            take_out();
        }
        None | Some(Some(0)) => TABLES_ARE_OUT_OF_REACH.store(true, Relaxed),
        Some(Some(mapped)) if TABLES.compare_exchange(0, mapped, AcqRel, Acquire).is_err() => {
            // Another thread has mapped them meanwhile.
            sys::unmap(mapped, 2 * TABLE_BYTES);
        }
        Some(Some(_)) => {}
    }
}

/// Maps the tables while the file can be opened by its name, if there are rules in them.
pub fn reach_tables() {
    if let Some(rules) = given().filter(|rules| rules.have_table()) {
        table_of(rules.generation);
    }
}

/// Says in the file that the path of this process's root directory outside is unknown, so that rules with paths do not
/// hold.
pub fn say_root_is_unknown() {
    if let Some(file) = file() {
        file.header.unknown_root.store(sys::process().into(), Relaxed);
    }
}

/// A part of the file that is in memory.
struct Part {
    /// 0 where it is not.
    address: usize,
    bytes: usize,
    begins_at: usize,
}

impl Part {
    fn map_again(&self, file: isize) -> bool {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: it replaces the memory that is there instead of it, and any bytes are valid.
        unsafe { sys::map(self.address, self.bytes, protection, flags, file, self.begins_at) > 0 }
    }
}

/// The file, and its tables.
fn parts() -> [Part; 2] {
    [
        Part { address: FILE.load(Relaxed), bytes: FILE_BYTES, begins_at: 0 },
        Part { address: TABLES.load(Relaxed), bytes: 2 * TABLE_BYTES, begins_at: TABLES_BEGIN },
    ]
}

/// Where the file is in memory, and its tables, if there are any.
pub fn mapped() -> impl Iterator<Item = core::ops::Range<usize>> {
    parts().into_iter().filter(|part| part.address != 0).map(|part| part.address..part.address + part.bytes)
}

/// Whether the agent was there a moment ago, as it says itself.
pub fn agent_was_seen() -> bool {
    let seen_ns = file().map_or(0, |file| file.header.agent_seen_ns.load(Relaxed));
    ticks::monotonic_ns().saturating_sub(seen_ns) < SEEN_FOR_NS
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
pub fn with_file<R>(access: i32, use_file: impl FnOnce(isize) -> R) -> Option<R> {
    let file = sys::open(PATH.as_c_str(), access | libc::O_NOFOLLOW, 0);
    if file < 0 {
        return None;
    }
    // After `chroot` the name may be that of another file.
    let expected = IDENTITY.each_ref().map(|number| number.load(Relaxed));
    let is_it = sys::stat(file as i32).is_some_and(|about| [about.st_dev, about.st_ino] == expected);
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
    if !rules.have_paths() {
        return;
    }
    let set = real_files::of_descriptor(rules, descriptor, files::name(files::row(file)));
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

    /// Whether some are for files at some path.
    pub fn have_paths(self) -> bool {
        self.half.with_path.load(Relaxed) != 0
    }

    /// The slots whose rules are for a file of that name.
    pub fn matching(self, name: &[u8]) -> u64 {
        self.half.matching(name) | self.in_table(|table| table.at_path(0, name))
    }

    /// The slots whose rules are for the file of that inode.
    pub fn matching_inode(self, device: u64, inode: u64) -> u64 {
        self.half.matching_inode(device, inode) | self.in_table(|table| table.of_inode(device, inode))
    }

    /// The slots whose rules are for a file at that path from the root of a mounted device.
    pub fn matching_on_device(self, device: u64, path: &[u8]) -> u64 {
        self.half.matching_on_device(device, path) | self.in_table(|table| table.at_path(device, path))
    }

    /// Whether rules may know paths on that device.
    pub fn may_know_device(self, device: u64) -> bool {
        self.half.knows_device(device) || device != 0 && self.have_table()
    }

    fn have_table(self) -> bool {
        self.half.path_rules.load(Relaxed) != 0
    }

    /// The slots of rules that match in the table: those that have none claim them.
    fn in_table(self, look: impl Fn(&PathTable) -> Option<MatchingRules>) -> u64 {
        if !self.have_table() {
            return 0;
        }
        let (Some(file), Some(table)) = (file(), table_of(self.generation)) else { return 0 };
        let Some(matching) = look_up(table, look).filter(|_| self.hold()) else { return 0 };
        matching.rules().fold(0, |set, rule| {
            let wait_until = |is_done: &dyn Fn() -> bool| {
                sys::wait_until(is_done);
            };
            match table.claim(rule, self.half, &file.buckets, wait_until) {
                Claim::Slots(slots) => set | slots,
                Claim::Full => {
                    file.header.without_slot.fetch_add(1, Relaxed);
                    set
                }
                Claim::NoRule => set,
            }
        })
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
            0 => matching.row().map_or(0, |row| real_files::of_name(self, files::name(row))),
            place => {
                let name = files::name(files::row(place));
                match descriptors::leading_to(matching) {
                    Some(descriptor) => real_files::of_descriptor(self, descriptor, name),
                    // It has been closed meanwhile.
                    None => real_files::of_name(self, name),
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

/// Looks something up in a table, again where the agent has changed it meanwhile.
fn look_up(table: &PathTable, look: impl Fn(&PathTable) -> Option<MatchingRules>) -> Option<MatchingRules> {
    const MOST_LOOKS: usize = 16;
    for _ in 0..MOST_LOOKS {
        if let Some(matching) = look(table) {
            return Some(matching);
        }
        let version = table.version();
        if version == STUCK_VERSION.load(Relaxed) {
            return None;
        }
        if !sys::wait_until(|| !table.is_changing()) {
            STUCK_VERSION.store(version, Relaxed);
        }
    }
    None
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
        let watched: &Watched = table::block_at(place);
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
