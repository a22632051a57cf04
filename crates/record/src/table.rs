//! A table as it lies in memory and in its file: a header, and blocks.
//!
//! The recorder writes it while others may read: a word is written at once, and what belongs together may be seen apart
//! for some nanoseconds. A block that is being filled is of kind [`BlockKind::Reserved`].
//!
//! A place is an offset from the beginning of the table, in bytes; 0 is none. Ticks are those of the header's clock.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use crate::buckets::{LATENCIES, SIZES};
use crate::layout;
use crate::operation::{FIRST_TRANSFER, OPERATIONS};
use crate::rings::Seen;
use crate::rules::SLOTS;
use crate::sketch::REGISTERS;
use crate::transfers::add;

/// How a table begins.
pub const MAGIC: [u8; 8] = *b"ioassayT";
/// Of the layouts below. A field at the end of a structure, or a new kind of block, leaves it: readers take what is missing as
/// 0, and pass by kinds that they do not know. Any other change raises it.
pub const VERSION: u32 = 1;
/// Every block begins at a multiple of this.
pub const ALIGNMENT: usize = 8;
/// What a table has at most, in bytes.
pub const LARGEST: usize = 64 << 20;

/// The state of the process's image.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs, or it was killed.
    Running = 1,
    /// It ended by itself.
    Exited = 2,
    /// It was replaced by `exec`, as [`TextKind::Replacement`] says. If that fails, a table with the same beginning follows, or
    /// one that says [`State::Stayed`].
    Replaced = 3,
    /// It was not replaced: what the table before says of that did not happen.
    Stayed = 4,
}

/// The clock that ticks come from.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The processor's counter, whose rate follows from the two pairs of the header.
    Counter = 1,
    /// `CLOCK_MONOTONIC`: a tick is a nanosecond.
    Nanoseconds = 2,
}

/// Of what kind a block is: which structure it begins with.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// Taken, not yet filled.
    Reserved = 1,
    /// [`Text`].
    Text = 2,
    /// [`Thread`].
    Thread = 3,
    /// [`Latencies`].
    Latencies = 4,
    /// [`Seconds`], followed by [`Second`]s.
    Seconds = 5,
    /// [`File`], followed by its name.
    File = 6,
    /// [`Opened`].
    Opened = 7,
    /// [`Transfers`].
    Transfers = 8,
    /// [`Errors`].
    Errors = 9,
    /// [`Watched`], followed by [`WatchedRow`]s.
    Watched = 10,
    /// [`Map`].
    Map = 11,
    /// [`Ring`].
    Ring = 12,
    /// [`Steps`], followed by [`Second`]s.
    Steps = 14,
    /// [`Region`], followed by its name.
    Region = 15,
    /// [`Folded`].
    Folded = 16,
    /// [`Module`], followed by its path.
    Module = 17,
    /// [`Frame`], followed by the names of function and file.
    Frame = 18,
    /// [`Stack`], followed by places of [`Frame`]s.
    Stack = 19,
    /// [`Caller`].
    Caller = 20,
}

/// What a text says.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// The arguments of the process, each ended by a zero byte; long ones are cut.
    Command = 1,
    /// The file that it executes.
    Executable = 2,
    /// Its working directory at the beginning.
    Directory = 3,
    /// The node's name.
    Node = 4,
    /// Variables of its environment that say which job and rank it is: `NAME=VALUE`, each ended by a zero byte.
    Job = 5,
    /// What replaced it: the path that was given to `exec`.
    Replacement = 6,
}

/// What the name of a [`File`] is the name of.
#[repr(u16)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Only its name was used: nobody opened it, or not successfully.
    Unknown = 0,
    /// In `/proc` or `/sys`, where the kernel makes it up.
    Kernel = 1,
    /// A regular file.
    Regular = 2,
    /// A directory.
    Directory = 3,
    /// A block device.
    BlockDevice = 4,
    /// A terminal, `/dev/null` and other character devices.
    CharacterDevice = 5,
    /// A pipe.
    Pipe = 6,
    /// A socket.
    Socket = 7,
    /// Something without a place in the file system: an event, a timer, another process.
    Anonymous = 8,
    /// Not one file but all of a directory for which the table had no place; without a name, of all directories.
    Others = 9,
    /// Memory with a name: POSIX shared memory (`/dev/shm`), huge pages (`/dev/hugepages`), `memfd_create`, `memfd_secret`. A
    /// tmpfs elsewhere is a file system as any other.
    Memory = 10,
}

/// Whether stacks are sampled: [`Header::stacks`].
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stacks {
    /// Nobody asked for them.
    Off = 0,
    /// They are.
    On = 1,
    /// They were asked for, and the C library or the compiler's (`libgcc_s`) cannot read them.
    Unreadable = 2,
}

/// What can move between a file and memory where it is mapped.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapAccess {
    /// It is read.
    Read = 1,
    /// It is read, and what is written into memory reaches the file (`MAP_SHARED`).
    Write = 2,
    /// It is read, and what is written into memory stays there (`MAP_PRIVATE`).
    PrivateWrite = 3,
}

/// What the kernel counts of a thread's reads and writes: `/proc/thread-self/io`.
pub const KERNEL_COUNTERS: [&str; 4] = ["rchar", "wchar", "syscr", "syscw"];
/// What it counts there of a thread's traffic with storage, for calls, maps and rings alike. Network file systems
/// count it too, file systems in user space only what is written.
pub const STORAGE_COUNTERS: [&str; 3] = ["read_bytes", "write_bytes", "cancelled_write_bytes"];
/// What is read of `/proc/thread-self/io`: [`KERNEL_COUNTERS`], then [`STORAGE_COUNTERS`].
pub const COUNTERS: usize = KERNEL_COUNTERS.len() + STORAGE_COUNTERS.len();
/// What is kept of the calls of an operation in a second: ticks are what they took, and what the slowest took.
pub const TOTALS: [&str; 4] = ["calls", "bytes", "ticks", "slowest_ticks"];
/// Sizes of transfers that are counted one by one.
pub const COMMON_SIZES: usize = 4;
/// Kinds of failures that are counted one by one.
pub const ERRORS: usize = 120;

/// Regions within each other.
pub const REGION_DEPTH: usize = 16;

/// Minor versions of Python 3 whose frames are read ([`Frame`]).
pub const PYTHON_MINORS: core::ops::RangeInclusive<u32> = 6..=13;

/// Places of transfers that a thread remembers.
pub const RECENT: usize = 32;

/// Rows of a block of [`Watched`]: slots of rules that follow each other.
pub const WATCHED_ROWS: usize = 16;
/// Blocks of [`Watched`] that a thread has for all slots of rules.
pub const WATCHED_BLOCKS: usize = SLOTS / WATCHED_ROWS;

layout! {
    /// How a table begins.
    pub struct Header {
        /// [`MAGIC`].
        pub magic: [u8; 8],
        /// [`VERSION`].
        pub version: u32,
        /// Of this structure: where the first block is.
        pub header_bytes: u32,
        /// Of the table: header, and all blocks.
        pub used_bytes: AtomicU64,
        /// [`State`].
        pub state: AtomicU32,
        /// [`Clock`].
        pub clock: u32,
        /// Its number in its own namespace.
        pub process: u32,
        /// That of its parent.
        pub parent: u32,
        /// Its effective user.
        pub user: u32,
        /// Seconds of [`Second`] rows that begin from now on: 2 to this power.
        pub width: AtomicU32,
        /// When this table began, in ticks.
        pub begin_ticks: u64,
        /// The same moment, as nanoseconds since 1970.
        pub begin_ns: u64,
        /// A later moment: the last one at which a second began, or the end.
        pub latest_ticks: AtomicU64,
        /// The same moment, as nanoseconds since 1970.
        pub latest_ns: AtomicU64,
        /// Calls that found no place for their file or its transfers: they, and those that follow on what they opened, are in
        /// rows of [`FileKind::Others`].
        pub folded_calls: AtomicU64,
        /// Calls of threads for which the table had no place: they are nowhere.
        pub lost_calls: AtomicU64,
        /// Calls of signal handlers that interrupted the recorder: they are nowhere.
        pub handler_calls: AtomicU64,
        /// Calls that a trace should have and has not.
        pub untraced_calls: AtomicU64,
        /// Calls that rules match, and for which the table had no place: they are in no [`WatchedRow`].
        pub unwatched_calls: AtomicU64,
        /// What calls were held back by rules before they began, in ticks: it is in none of the times of calls.
        pub throttled_ticks: AtomicU64,
        /// What the recorder itself took outside of the calls that it measures, in ticks: beginning, growing, folding.
        pub own_ticks: AtomicU64,
        /// [`KERNEL_COUNTERS`] of threads that ended.
        pub kernel_of_ended: [AtomicU64; KERNEL_COUNTERS.len()],
        /// [`STORAGE_COUNTERS`] of threads that ended.
        pub storage_of_ended: [AtomicU64; STORAGE_COUNTERS.len()],
        /// Entries of regions for which the table had no place: their I/O is that of the region around them.
        pub lost_regions: AtomicU64,
        /// Of rows of [`Steps`] that begin from now on: their width, as [`Second::width`]; from
        /// [`crate::seconds::SECOND_WIDTH`] on there are none any more.
        pub step_width: AtomicU32,
        /// 1 where steps are kept.
        pub keeps_steps: u32,
        /// Calls whose caller is unknown because their stack could not be read or kept: as many as the sample stood for.
        pub stackless_calls: AtomicU64,
        /// [`Stacks`].
        pub stacks: AtomicU32,
        /// The Python that the process runs: major version in the upper half, minor in the lower; 0 for none.
        pub python: AtomicU32,
        /// [`KERNEL_COUNTERS`] of the process as a whole at its end, also before an `exec`: with the threads that the kernel starts for
        /// rings, which no thread's counters have. 0 where it has waited for children, whose counters the kernel adds to these.
        pub kernel_of_process: [AtomicU64; KERNEL_COUNTERS.len()],
        /// [`STORAGE_COUNTERS`], as `kernel_of_process`.
        pub storage_of_process: [AtomicU64; STORAGE_COUNTERS.len()],
    }

    /// How every block begins.
    pub struct Block {
        /// [`BlockKind`] in the upper half, bytes of the block with this word in the lower.
        pub kind_and_bytes: AtomicU64,
    }

    /// A text, which follows.
    pub struct Text {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// [`TextKind`].
        pub kind: u32,
        /// Of the text.
        pub text_bytes: u32,
    }

    /// A thread: what it does now, and what it did in the current second.
    pub struct Thread {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// Its number; 0 where it ended and nobody took its place.
        pub thread: AtomicU32,
        /// The second that `totals` are of, since 1970; 0 before the first call.
        pub second: AtomicU32,
        /// Ticks at which that second, or the step of it that `totals` are of, is over.
        pub step_ends_ticks: AtomicU64,
        /// The call in flight: [`crate::operation::Operation`] plus 1 in the upper half, place of the [`File`] in the lower.
        pub in_flight: AtomicU64,
        /// Since when, in ticks.
        pub in_flight_since_ticks: AtomicU64,
        /// [`KERNEL_COUNTERS`] at the end of the process, of all that the thread has done, also before an `exec`; 0 where nobody
        /// asked, or where the process ended and [`Header::kernel_of_process`] is known.
        pub kernel: [AtomicU64; KERNEL_COUNTERS.len()],
        /// What it did in that second, or that step of it, by operation: [`TOTALS`].
        pub totals: [[AtomicU64; TOTALS.len()]; OPERATIONS],
        /// Places of its [`Latencies`], by operation.
        pub latencies: [AtomicU32; OPERATIONS],
        /// Places of its [`Watched`], by slots; 0 where no rule of them has matched a call.
        pub watched: [AtomicU32; WATCHED_BLOCKS],
        /// The recorder's own: places of [`Transfers`] that it used last.
        pub recent: [AtomicU64; RECENT],
        /// [`STORAGE_COUNTERS`], as `kernel`.
        pub storage: [AtomicU64; STORAGE_COUNTERS.len()],
        /// Place of the [`Region`] in which it is; 0 for none.
        pub region: AtomicU32,
        /// 0.
        pub reserved: u32,
        /// When it entered that region and those around it, by depth, in ticks.
        pub region_begin_ticks: [AtomicU64; REGION_DEPTH],
        /// The step that `totals` are of, as [`Second::second`] of [`Steps`]; 0 where they are of a whole second.
        pub step: AtomicU32,
        /// Its width, as [`Second::width`].
        pub step_width: AtomicU32,
        /// The recorder's own: calls until the next whose stack is sampled.
        pub calls_to_sample: AtomicU32,
        /// Of how many calls that one will be the sample.
        pub sampled_of: AtomicU32,
        /// When the last one was sampled, in ticks.
        pub last_sample_ticks: AtomicU64,
    }

    /// How long calls of one operation took.
    pub struct Latencies {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// [`crate::operation::Operation`].
        pub operation: u32,
        /// Of the [`Thread`] that fills it: its place.
        pub thread: u32,
        /// Calls by [`crate::buckets::of_latency`].
        pub calls: [AtomicU64; LATENCIES],
    }

    /// Rows of seconds, which follow.
    pub struct Seconds {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// Rows that are in use; more than there are, once it is full.
        pub rows: AtomicU32,
        /// 0.
        pub reserved: u32,
    }

    /// What the rows of [`Seconds`] have as well, by shorter steps of time, which follow as rows. A table has them from its
    /// beginning until they would be too many: they get wider, then there are none any more.
    pub struct Steps {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// Rows that are in use; more than there are, once it is full.
        pub rows: AtomicU32,
        /// 0.
        pub reserved: u32,
    }

    /// What all threads did in a second, of one operation. There may be several rows of the same.
    pub struct Second {
        /// The beginning, in seconds since 1970, of a row of [`Steps`] in steps ([`crate::seconds::step_at`]); 0 while the row is
        /// being filled.
        pub second: AtomicU32,
        /// [`crate::operation::Operation`].
        pub operation: AtomicU16,
        /// It has 2 to this power of seconds, or of steps.
        pub width: AtomicU16,
        /// Calls that ended in it.
        pub calls: AtomicU64,
        /// That were moved in it.
        pub bytes: AtomicU64,
        /// Of calls, within it.
        pub ticks: AtomicU64,
        /// What the slowest of the calls that ended in it took.
        pub slowest_ticks: AtomicU64,
    }

    /// A name that was used, and the calls on it that move no bytes. Its bytes follow.
    pub struct File {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// The recorder's own: of the name.
        pub hash: u64,
        /// The recorder's own: place of the next with the same end of the hash.
        pub next: u32,
        /// Place of what is known since it was opened ([`Opened`]).
        pub opened: AtomicU32,
        /// Place of its first [`Transfers`].
        pub transfers: AtomicU32,
        /// Of the name.
        pub name_bytes: u16,
        /// [`FileKind`].
        pub kind: AtomicU16,
        /// The recorder's own: slots of the rules that are for calls on the name, a bit each.
        pub rules: AtomicU64,
        /// The recorder's own: what says of which rules that is.
        pub rules_stamp: AtomicU32,
        /// 0.
        pub reserved: u32,
        /// What the calls below took, but for those of MPI-IO, which make others, in ticks.
        pub ticks: AtomicU64,
        /// Calls by operation, also those that failed; a number that would not fit stays at its greatest.
        pub calls: [AtomicU32; FIRST_TRANSFER],
        /// Of these, those that failed.
        pub failed: [AtomicU32; FIRST_TRANSFER],
        /// `errno` of the last that failed.
        pub error: AtomicU32,
        /// Of [`FileKind::Others`]: place of [`Folded`]; 0 before the first file.
        pub folded: AtomicU32,
    }

    /// How many files a row of [`FileKind::Others`] is of: a sketch of their names ([`crate::sketch`]).
    pub struct Folded {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// Its registers.
        pub registers: [AtomicU8; REGISTERS],
    }

    /// What is known of a file since it was opened.
    pub struct Opened {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// Of the file system.
        pub device: u64,
        /// Within it; a file is known by [`crate::file_identity::FileIdentity`].
        pub inode: u64,
        /// When it was first opened.
        pub size_bytes: u64,
        /// `st_blksize`: what the file system wants transfers to be a multiple of.
        pub block_bytes: u32,
        /// Of all opens together: `O_DIRECT`, `O_SYNC`, …
        pub open_flags: AtomicU32,
        /// When it was first opened, in ticks.
        pub first_open_ticks: u64,
        /// When it was closed last; 0 if never.
        pub last_close_ticks: AtomicU64,
        /// When it was made, in nanoseconds since 1970; 0 where the file system does not keep it.
        pub birth_ns: u64,
        /// Which use of the inode number it is; 0 where the file system has no such number, or was not asked.
        pub generation: u32,
        /// Opens by this name that found another file than the open before, because a file was renamed over it or it was made
        /// anew: the row has the calls on all of them, all else here is of the first. The recorder looks at few of very many opens.
        pub replaced: AtomicU32,
        /// The recorder's own: of the file that was found last, [`crate::file_identity::FileIdentity::digest`].
        pub latest: AtomicU64,
    }

    /// Transfers of one operation on one file by one thread.
    pub struct Transfers {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// Place of the [`File`].
        pub file: u32,
        /// Place of the next of the file.
        pub next: u32,
        /// Place of the [`Thread`].
        pub thread: u32,
        /// [`crate::operation::Operation`].
        pub operation: u16,
        /// 1 where the file is not on storage: seconds, latencies and errors count the calls as
        /// [`crate::operation::Operation::elsewhere`].
        pub elsewhere: u16,
        /// Calls, also those that failed.
        pub calls: AtomicU64,
        /// Calls that failed.
        pub failed: AtomicU64,
        /// That were moved.
        pub bytes: AtomicU64,
        /// That the calls took, in ticks.
        pub ticks: AtomicU64,
        /// What the slowest took, in ticks.
        pub slowest_ticks: AtomicU64,
        /// Calls that began where the last one ended.
        pub consecutive: AtomicU64,
        /// Calls that began beyond that.
        pub forward: AtomicU64,
        /// Of `forward`, those as far from the last one as that one was from the one before.
        pub strided: AtomicU64,
        /// Calls that moved something and did not begin at a multiple of the file system's block.
        pub misaligned: AtomicU64,
        /// The lowest offset.
        pub begin: AtomicU64,
        /// The end of the furthest.
        pub end: AtomicU64,
        /// Where the last one began.
        pub last_begin: AtomicU64,
        /// Where the last one ended.
        pub last_end: AtomicU64,
        /// From the beginning of the one before the last to the beginning of the last.
        pub last_stride: AtomicU64,
        /// Calls by [`crate::buckets::of_size`] of what was moved.
        pub sizes: [AtomicU64; SIZES],
        /// Sizes, in bytes, that came up early and often.
        pub common_bytes: [AtomicU64; COMMON_SIZES],
        /// Calls that moved exactly so much.
        pub common_calls: [AtomicU64; COMMON_SIZES],
    }

    /// All maps of one file with one access. Sums of bytes are of what lay within the file when it was mapped.
    pub struct Map {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// Place of the [`File`].
        pub file: u32,
        /// The recorder's own: place of the next with the same end of the file's place.
        pub next: u32,
        /// [`MapAccess`].
        pub access: u32,
        /// Maps, and parts of them, that are still there, or whose end nobody saw.
        pub open: AtomicU32,
        /// Calls of `mmap`, and maps that the process has from its parent.
        pub maps: AtomicU64,
        /// When the first began, in ticks.
        pub first_ticks: u64,
        /// When one ended last, in ticks; 0 if none has.
        pub last_end_ticks: AtomicU64,
        /// That were mapped, added over all maps.
        pub bytes: AtomicU64,
        /// The lowest offset in the file.
        pub begin: AtomicU64,
        /// The end of the furthest.
        pub end: AtomicU64,
        /// When maps began: of how many bytes the kernel was asked whether they are in the page cache.
        pub begin_asked_bytes: AtomicU64,
        /// Of these, those that were.
        pub begin_resident_bytes: AtomicU64,
        /// The same when maps ended.
        pub end_asked_bytes: AtomicU64,
        /// Of these, those that were.
        pub end_resident_bytes: AtomicU64,
        /// When maps ended: of how many bytes the kernel was asked whether they are dirty.
        pub end_dirty_asked_bytes: AtomicU64,
        /// Of these, those that were.
        pub end_dirty_bytes: AtomicU64,
        /// The same four of maps that were still there when the image of the process ended.
        pub left_asked_bytes: AtomicU64,
        /// Of these, those that were in the page cache.
        pub left_resident_bytes: AtomicU64,
        /// Of how many bytes the kernel was asked whether they are dirty.
        pub left_dirty_asked_bytes: AtomicU64,
        /// Of these, those that were.
        pub left_dirty_bytes: AtomicU64,
        /// Calls of `msync`.
        pub syncs: AtomicU64,
        /// Bytes that these were for.
        pub synced_bytes: AtomicU64,
    }

    /// What failed, and how.
    pub struct Errors {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// Operation plus 1 in the upper half, `errno` in the lower; 0 is free.
        pub kinds: [AtomicU32; ERRORS],
        /// Calls of that kind.
        pub calls: [AtomicU32; ERRORS],
    }

    /// A ring of io_uring that the process has, or had.
    pub struct Ring {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// Its flags, as `io_uring_setup` takes them: [`crate::rings::setup`].
        pub flags: u32,
        /// Why its requests cannot be read: [`crate::rings::Unreadable`]; 0 where they can.
        pub unreadable: AtomicU32,
        /// Requests that were handed over.
        pub requests: AtomicU64,
        /// Of these, those of which it is unknown what they moved: not read in time, or not at all.
        pub unread: AtomicU64,
        /// Completions that were read.
        pub completions: AtomicU64,
        /// Requests that were counted with what they asked for, because no completion could be matched.
        pub unmatched: AtomicU64,
        /// Of `unread`, those that were read: only a completion says how much they moved, and none could be matched.
        pub size_unknown: AtomicU64,
    }

    /// What a thread did that rules match ([`crate::rules`]): [`WATCHED_ROWS`] rows follow, of as many slots.
    pub struct Watched {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// Place of the [`Thread`] that fills it. All that had its part are in it, one after another.
        pub thread: u32,
        /// Of the first row.
        pub first_slot: u32,
    }

    /// What a thread did that the rules match which the slot had one after another. Numbers only grow, but for the seconds.
    pub struct WatchedRow {
        /// Calls, also those that failed.
        pub calls: AtomicU64,
        /// Calls that failed.
        pub failed: AtomicU64,
        /// That were moved.
        pub bytes: AtomicU64,
        /// That the calls took, without what they were held back, in ticks.
        pub ticks: AtomicU64,
        /// From where the thread's last transfer of the operation and file ended to where the next began, either way.
        pub seek_bytes: AtomicU64,
        /// Calls that this rule held back, of all that wait together the longest.
        pub waits: AtomicU64,
        /// What they waited, in ticks.
        pub waited_ticks: AtomicU64,
        /// Place of the last [`File`]; 0 before a call has ended.
        pub file: AtomicU32,
        /// 0.
        pub reserved: u32,
        /// Of the last call that was timed and the one before that was of another second: an even second is the first of each pair
        /// below. Since 1970; 0 while the pair is being changed.
        pub seconds: [AtomicU32; 2],
        /// Place of the [`File`] that the slowest call of that second was on.
        pub slowest_files: [AtomicU32; 2],
        /// What the fastest call took, in ticks.
        pub fastest_ticks: [AtomicU64; 2],
        /// What the slowest call took, in ticks.
        pub slowest_ticks: [AtomicU64; 2],
    }
}

layout! {
    /// A program or library in memory whose functions were in a [`Stack`]. Its path follows.
    pub struct Module {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// Where it begins in memory.
        pub begin: u64,
        /// Where it ends.
        pub end: u64,
        /// What addresses in memory have more than those in its file.
        pub base: u64,
        /// The recorder's own: place of the module that was new before this one.
        pub next: u32,
        /// Of the path.
        pub path_bytes: u32,
    }

    /// A place in code from which a function was called. The names of function and file follow, where it is Python's.
    pub struct Frame {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// The recorder's own: by which it is found.
        pub key: u64,
        /// Where the call returns to, as an address in the module's file, or in memory where it is in none; of Python 0.
        pub address: u64,
        /// The recorder's own: place of the next with the same end of the key.
        pub next: u32,
        /// Place of the [`Module`]; 0 where the code is in none, and of Python.
        pub module: u32,
        /// Of Python, in its file.
        pub line: u32,
        /// Of the function's name, which follows; 0 where the frame is not Python's.
        pub function_bytes: u32,
        /// Of the file's name, which follows that.
        pub file_bytes: u32,
        /// 0.
        pub reserved: u32,
    }

    /// The functions that a thread was in when it made a call. Places of their [`Frame`]s follow, from the inside out: first
    /// those of native code, then those of Python.
    pub struct Stack {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// The recorder's own: by which it is found.
        pub key: u64,
        /// The recorder's own: place of the next with the same end of the key.
        pub next: u32,
        /// Frames of native code.
        pub native: u32,
        /// Frames of Python.
        pub python: u32,
        /// 1 where there are more, further out.
        pub is_cut: u32,
    }

    /// Calls of one operation on one file from one stack. All but `samples` is an estimate: each sample adds what it stands for.
    pub struct Caller {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// The recorder's own: place of the next with the same end of the key.
        pub next: u32,
        /// Place of the [`Stack`].
        pub stack: u32,
        /// Place of the [`File`]; 0 for none in particular, or where there were too many.
        pub file: u32,
        /// [`crate::operation::Operation`].
        pub operation: u32,
        /// Calls whose stack was sampled.
        pub samples: AtomicU64,
        /// Calls.
        pub calls: AtomicU64,
        /// That were moved.
        pub bytes: AtomicU64,
        /// That the calls took, in ticks.
        pub ticks: AtomicU64,
    }

    /// A step that the application has named, within another one or none. Its name follows.
    pub struct Region {
        /// How it begins.
        pub kind_and_bytes: AtomicU64,
        /// The recorder's own: place of the region that was new before this one.
        pub next: u32,
        /// Place of the region around it; 0 for none.
        pub parent: u32,
        /// Regions around it.
        pub depth: u32,
        /// Of the name.
        pub name_bytes: u32,
        /// How often a thread entered it.
        pub entries: AtomicU64,
        /// From entering to leaving it, added over threads, in ticks. Threads that are still in it are not counted.
        pub ticks: AtomicU64,
        /// The longest stay, in ticks.
        pub slowest_ticks: AtomicU64,
        /// When a thread first entered it, in ticks.
        pub first_ticks: u64,
        /// When a thread last left it, in ticks; 0 if never.
        pub last_ticks: AtomicU64,
        /// What threads did in it and in no region within it, by operation: [`TOTALS`]. What a thread in it has in its own `totals`
        /// belongs to it as well.
        pub totals: [[AtomicU64; TOTALS.len()]; OPERATIONS],
    }
}

/// A structure that a block begins with.
pub trait BlockLayout: layout::Layout {
    /// The kind of the block.
    const KIND: BlockKind;
}

macro_rules! blocks {
    ($($name:ident),+) => {
        $(impl BlockLayout for $name { const KIND: BlockKind = BlockKind::$name; })+
    };
}
blocks!(
    Text, Thread, Latencies, Seconds, Steps, File, Opened, Transfers, Errors, Watched, Map, Ring, Region, Folded,
    Module, Frame, Stack, Caller
);

impl Header {
    /// All [`COUNTERS`] of threads that ended.
    pub fn counters_of_ended(&self) -> impl Iterator<Item = &AtomicU64> {
        self.kernel_of_ended.iter().chain(&self.storage_of_ended)
    }

    /// All [`COUNTERS`] of the process as a whole.
    pub fn counters_of_process(&self) -> impl Iterator<Item = &AtomicU64> {
        self.kernel_of_process.iter().chain(&self.storage_of_process)
    }
}

impl Ring {
    /// Counts what was seen. Only one thread may count at a time.
    pub fn count(&self, seen: Seen) {
        add(&self.requests, seen.requests);
        add(&self.unread, seen.unread);
        add(&self.completions, seen.completions);
        add(&self.unmatched, seen.unmatched);
        add(&self.size_unknown, seen.size_unknown);
    }
}

impl Thread {
    /// All its [`COUNTERS`].
    pub fn counters(&self) -> impl Iterator<Item = &AtomicU64> {
        self.kernel.iter().chain(&self.storage)
    }
}

/// The word that a block begins with.
pub const fn block_word(kind: BlockKind, bytes: usize) -> u64 {
    (kind as u64) << 32 | bytes as u64
}
