//! A process gets its table when it begins, or at its first call after `fork`; it gives it back when it ends.
//!
//! Whether there is a table is stored in a word of a page that the kernel wipes in the child of any kind of `fork`,
//! also of those that the C library does not see: what was the parent's is never written to by a child.

use core::ffi::{CStr, c_char};
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
    Ordering::Release,
};

use ioassay_record::names::{RUNNING, STACKS_REQUESTED_FILE, TRACE_REQUESTED_FILE};
use ioassay_record::table::{Clock, Header, MAGIC, State, TextKind, VERSION};

use crate::text::{Buffer, Variables, decimal};
use crate::thread_words::words;
use crate::ticks::Moment;
use crate::{
    call, descriptors, errors, faults, files, finished, identity, maps, masks, real, regions, rings, rules, seconds,
    stacks, sys, table, threads, ticks, trace,
};

/// It has to be found out whether there is to be a table: the beginning, and what a forked child finds.
const UNKNOWN: u32 = 0;
/// No table: not requested, not available, or given back for good.
const OFF: u32 = 1;
const ATTACHING: u32 = 2;
/// The table was given back. A call all the same, by a destructor that runs after ours, takes it again.
const ENDED: u32 = 3;
/// The number of the first table: from here on there is one.
const FIRST: u32 = 16;
/// Tables that this process and its parents had, counted from the first one's number on.
static TABLES: AtomicU32 = AtomicU32::new(FIRST);

/// What the page begins with.
#[repr(C)]
struct Wiped {
    phase: AtomicU32,
    /// This memory has called `vfork`: the calling process or, where the two share it, its parent.
    vforked: AtomicU32,
}

/// Before there is a page that is wiped.
static BEFORE: Wiped = Wiped { phase: AtomicU32::new(UNKNOWN), vforked: AtomicU32::new(0) };
static WIPED: AtomicPtr<Wiped> = AtomicPtr::new((&raw const BEFORE).cast_mut());

/// The variable of the environment that names the directory of the tables.
pub const VARIABLE: &CStr = c"IOASSAY_RECORD";

/// Where the tables are; empty where there are to be none.
static DIRECTORY: Buffer<512> = Buffer::new();
/// The file of this process's table.
static TABLE: Buffer<600> = Buffer::new();
/// The number of this process.
static NUMBER: AtomicU32 = AtomicU32::new(0);
/// The process lets only some system calls through, so none is made any more.
static SEALED: AtomicBool = AtomicBool::new(false);

/// The process is at its end: nothing is held back any more.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Whether this process has a table.
#[inline(always)]
pub fn attached() -> bool {
    is_attached(table())
}

/// The number of the table of this process, or that it has none. It is read before and after each call.
#[inline(always)]
pub fn table() -> u32 {
    phase().load(Relaxed)
}

/// Whether that is the number of a table.
#[inline(always)]
pub fn is_attached(table: u32) -> bool {
    table >= FIRST
}

/// Whether the table is this process's own. A child of `vfork` or `clone` that shares its parent's memory has it before its
/// eyes as well.
pub fn has_own_table() -> bool {
    attached() && system_calls_allowed() && sys::process() == number()
}

#[inline(always)]
fn phase() -> &'static AtomicU32 {
    &wiped().phase
}

#[inline(always)]
fn wiped() -> &'static Wiped {
    // SAFETY: it is what there is before the page, or the page, which is never unmapped.
    unsafe { &*WIPED.load(Relaxed) }
}

/// Whether this process has a table now, after finding out.
#[cold]
pub fn attach() -> bool {
    match phase().load(Acquire) {
        UNKNOWN => {
            if !wiped_page() {
                return false;
            }
            let phase = phase();
            if phase.compare_exchange(UNKNOWN, ATTACHING, AcqRel, Relaxed).is_err() {
                return wait_for_table();
            }
            let begun = without_signals(begin);
            let number = TABLES.fetch_add(1, Relaxed) + 1;
            phase.store(if begun { number } else { OFF }, Release);
            if begun {
                faults::unblock();
            }
            begun
        }
        ENDED => {
            let phase = phase();
            let resumed = system_calls_allowed()
                && sys::process() == number()
                && phase.compare_exchange(ENDED, ATTACHING, AcqRel, Relaxed).is_ok();
            if resumed {
                // Without a file it counts all the same, in vain unless `_exit` comes.
                let _ = without_signals(|| table::restore(TABLE.as_c_str()));
                phase.store(TABLES.load(Relaxed), Release);
            }
            resumed
        }
        ATTACHING => wait_for_table(),
        phase => is_attached(phase),
    }
}

/// Waits for another thread that makes the table: threads of a forked child may all begin at once. Whether there is one.
fn wait_for_table() -> bool {
    sys::wait_until(|| phase().load(Acquire) != ATTACHING) && attached()
}

/// Runs what no signal handler should interrupt, because one that leaves it by `longjmp` or forks would leave it half done.
/// Only what calls the kernel anyway.
pub fn without_signals<R>(run: impl FnOnce() -> R) -> R {
    let set = |to: &u64, before: &mut u64| {
        let how = libc::SIG_SETMASK as usize;
        let (to, before) = (&raw const *to as usize, &raw mut *before as usize);
        // SAFETY: both are as large as the kernel's sets of signals.
        unsafe { sys::call(libc::SYS_rt_sigprocmask, [how, to, before, size_of::<u64>(), 0, 0]) };
    };
    if !system_calls_allowed() {
        return run();
    }
    let mut before = 0;
    // The kernel would end a process that faults where that cannot be seen.
    set(&!faults::BUS, &mut before);
    let result = run();
    set(&before, &mut 0);
    result
}

/// Whether the calling function runs on the stack that the thread gave its signal handlers.
pub fn on_signal_stack() -> bool {
    if !system_calls_allowed() {
        return false;
    }
    // SAFETY: a structure of integers and a pointer, which the kernel fills.
    unsafe {
        let mut about: libc::stack_t = core::mem::zeroed();
        sys::call(libc::SYS_sigaltstack, [0, &raw mut about as usize, 0, 0, 0, 0]);
        about.ss_flags & libc::SS_ONSTACK != 0
    }
}

/// The calling thread has just been forked.
///
/// The parent's table is forgotten at the first call. A thread that was forked by a signal handler, while it was busy, goes on
/// with what it was doing before that: in a copy.
pub fn forked() {
    let words = words();
    words.vforked.store(0, Relaxed);
    if words.busy.load(Relaxed) != 0 {
        table::detach();
        trace::detach(words);
    }
}

/// Sees to it that the word is in a page that is wiped.
fn wiped_page() -> bool {
    let before = (&raw const BEFORE).cast_mut();
    if WIPED.load(Relaxed) != before {
        return true;
    }
    // SAFETY: it replaces nothing, and nobody else knows of the page.
    let page = unsafe {
        let page =
            sys::map(0, 4096, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        let wiped = page > 0
            && sys::call(libc::SYS_madvise, [page as usize, 4096, libc::MADV_WIPEONFORK as usize, 0, 0, 0]) == 0;
        if !wiped {
            // A kernel before 4.14: a child could not be distinguished from its parent.
            BEFORE.phase.store(OFF, Relaxed);
            return false;
        }
        page as *mut Wiped
    };
    // A second thread that came here at the same time leaves its page unused.
    let _ = WIPED.compare_exchange(before, page, AcqRel, Relaxed);
    true
}

/// Makes the table. Whether there is one.
fn begin() -> bool {
    if !system_calls_allowed() || !ticks::is_available() {
        return false;
    }
    if DIRECTORY.is_empty() {
        let Some(directory) = Variables::of_process().find(VARIABLE.to_bytes()) else { return false };
        if !directory.starts_with(b"/") || !DIRECTORY.set(&[directory]) {
            return false;
        }
    }
    let mut node = [0; 65];
    let node = identity::node_name(&mut node);
    let clock = ticks::choose(DIRECTORY.get(), node);
    let now = ticks::moment();
    let number = sys::process();
    let parent = NUMBER.swap(number, Relaxed) != 0;
    let (mut process, mut ticks) = ([0; 20], [0; 20]);
    let name = [
        DIRECTORY.get(),
        b"/",
        decimal(number.into(), &mut process),
        b"-",
        decimal(now.ticks, &mut ticks),
        b".",
        RUNNING.as_bytes(),
    ];
    if !TABLE.set(&name) || !finished::name(DIRECTORY.get(), node) {
        return false;
    }
    faults::begin();
    let inheritance = if parent { maps::inherit() } else { None };
    threads::forget_own();
    if table::create(TABLE.as_c_str()).is_err() {
        count_loss();
        return false;
    }
    // SAFETY: it is the beginning of the new table, which nobody else knows of yet.
    unsafe { write_header((&raw const *table::header()).cast_mut(), number, clock, now) };
    let is_wanted = |name: &str| {
        let wish = Buffer::<600>::new();
        wish.set(&[DIRECTORY.get(), b"/", name.as_bytes()]) && sys::exists(wish.as_c_str())
    };
    let stem = TABLE.get().strip_suffix(RUNNING.as_bytes()).unwrap_or_default();
    trace::begin(is_wanted(TRACE_REQUESTED_FILE), &[stem, b"trace"], words());
    stacks::begin(is_wanted(STACKS_REQUESTED_FILE));
    call::look_closer(trace::asked() || stacks::asked());
    rules::begin(DIRECTORY.get());
    threads::begin();
    regions::begin();
    seconds::begin();
    errors::begin();
    files::begin(parent);
    descriptors::begin(parent);
    rings::begin(parent);
    maps::begin(parent, inheritance);
    identity::write(node);
    table::header().own_ticks.fetch_add(ticks::now() - now.ticks, Relaxed);
    true
}

/// Counts a process for which there is no place, in a file that has one: a number, in the directory of the tables.
fn count_loss() {
    let name = Buffer::<600>::new();
    if !name.set(&[DIRECTORY.get(), b"/lost"]) {
        return;
    }
    let file = sys::open(name.as_c_str(), libc::O_RDWR | libc::O_NOFOLLOW, 0);
    if file < 0 {
        return;
    }
    // Beyond its end the memory must not be touched.
    if sys::stat(file as i32).is_some_and(|about| about.st_size >= size_of::<AtomicU64>() as i64) {
        // SAFETY: new memory, of a file that begins with a number.
        unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let number = sys::map(0, size_of::<AtomicU64>(), protection, libc::MAP_SHARED, file, 0);
            if number > 0 {
                (*(number as *const AtomicU64)).fetch_add(1, Relaxed);
                sys::call(libc::SYS_munmap, [number as usize, size_of::<AtomicU64>(), 0, 0, 0, 0]);
            }
        }
    }
    sys::close(file);
}

/// Writes the header of a table that begins now.
///
/// # Safety
/// There is memory of that size, all zero.
pub unsafe fn write_header(header: *mut Header, number: u32, clock: Clock, now: Moment) {
    // SAFETY: the caller's; all of it is zero, which is a valid header.
    let header = unsafe { &mut *header };
    header.magic = MAGIC;
    header.version = VERSION;
    header.header_bytes = size_of::<Header>() as u32;
    header.used_bytes = AtomicU64::new(size_of::<Header>() as u64);
    header.state = AtomicU32::new(State::Running as u32);
    header.clock = clock as u32;
    header.process = number;
    // SAFETY: neither takes anything.
    unsafe {
        header.parent = sys::call(libc::SYS_getppid, [0; 6]) as u32;
        header.user = sys::call(libc::SYS_geteuid, [0; 6]) as u32;
    }
    header.begin_ticks = now.ticks;
    header.begin_ns = now.ns;
    header.latest_ticks = AtomicU64::new(now.ticks);
    header.latest_ns = AtomicU64::new(now.ns);
    header.keeps_steps = 1;
}

/// The program begins: its arguments are known.
///
/// # Safety
/// These are `argc` and `argv`.
pub unsafe fn starts(count: i32, arguments: *const *const c_char) {
    if real::is_gnu() {
        // SAFETY: the caller's.
        unsafe { identity::keep_command(count, arguments) };
    }
    if attached() {
        // A library that began before had the table made.
        identity::write_command();
    } else {
        attach();
    }
    masks::begin();
    call::update(stacks::prepare);
}

/// The process ends, or is about to be replaced: what it counted is added to the file of the finished.
///
/// A table that was not added stays where it is, and nothing is lost.
pub fn finish(state: State, replacement: Option<&CStr>) {
    finish_with(state, replacement, || threads::count_by_kernel(state == State::Replaced));
}

fn finish_with(state: State, replacement: Option<&CStr>, count_by_kernel: impl FnOnce()) {
    if !has_own_table() {
        return;
    }
    call::update(rings::end_all);
    without_signals(|| {
        maps::leave();
        let started = ticks::now();
        let header = table::header();
        count_by_kernel();
        if let Some(path) = replacement {
            table::write_text(TextKind::Replacement, &[path.to_bytes()]);
        }
        let now = ticks::moment();
        header.latest_ticks.store(now.ticks, Relaxed);
        header.latest_ns.store(now.ns, Relaxed);
        header.state.store(state as u32, Relaxed);
        header.own_ticks.fetch_add(ticks::now() - started, Relaxed);
        table::touch();
        // The collector of tables sees by its file that this one is not whole.
        if !faults::table_is_cut() && finished::add(table::used()) {
            sys::unlink(TABLE.as_c_str());
        }
    });
}

/// The process is about to end, by itself.
pub fn begin_end() {
    ENDING.store(true, Relaxed);
}

/// Whether the process is at its end.
pub fn is_ending() -> bool {
    ENDING.load(Relaxed)
}

/// The process has ended. What comes after that all the same makes a table that replaces this one.
pub fn end() {
    end_as(ENDED, || threads::count_by_kernel(false));
}

/// The process goes on, but no call is counted any more, and the kernel not called. Its counters are left out: what they have
/// until now would say that no call is missing.
pub fn end_for_good() {
    if attached() && !system_calls_allowed() {
        // Its table stays where it is, for the collector of those of processes that were killed.
        phase().store(OFF, Release);
    } else {
        end_as(OFF, || ());
    }
}

/// The table has been cut: nothing is counted any more.
pub fn give_up() {
    phase().store(OFF, Release);
}

fn end_as(next: u32, count_by_kernel: impl FnOnce()) {
    begin_end();
    if has_own_table() {
        finish_with(State::Exited, None, count_by_kernel);
        phase().store(if faults::table_is_cut() { OFF } else { next }, Release);
    }
}

/// `exec` failed: the process goes on, with a file for its table again. At its end, this table replaces the first.
pub fn resume_after_failed_exec() {
    if attached() {
        table::header().state.store(State::Running as u32, Relaxed);
        let _ = without_signals(|| table::restore(TABLE.as_c_str()));
    }
}

/// Runs `use_file` with the descriptor of the table's file, which is open only meanwhile.
pub fn with_table_file<R>(use_file: impl FnOnce(isize) -> R) -> Option<R> {
    if !system_calls_allowed() {
        return None;
    }
    let started = ticks::now();
    let file = sys::open(TABLE.as_c_str(), libc::O_RDWR | libc::O_NOFOLLOW, 0);
    if file < 0 {
        return None;
    }
    // After `chroot` the name may be that of another file.
    let result = table::is_its_file(file).then(|| use_file(file));
    sys::close(file);
    table::header().own_ticks.fetch_add(ticks::now() - started, Relaxed);
    result
}

/// Whether there is a place for tables, so that what this process starts is to be recorded too.
pub fn recording() -> bool {
    !DIRECTORY.is_empty()
}

/// Where tables are.
pub fn directory() -> &'static [u8] {
    DIRECTORY.get()
}

/// The number of this process, which is that of its first thread.
pub fn number() -> u32 {
    NUMBER.load(Relaxed)
}

/// The process restricts its system calls: from now on the recorder makes none, not even to grow or to end.
pub fn seal() {
    SEALED.store(true, Relaxed);
}

/// It did not: the kernel refused.
pub fn unseal() {
    SEALED.store(false, Relaxed);
}

/// Whether the recorder may call the kernel.
pub fn system_calls_allowed() -> bool {
    !SEALED.load(Relaxed)
}

/// The calling thread is about to call `vfork`: it may find itself in the child afterwards, which shares all memory.
pub extern "C" fn before_vfork() {
    if system_calls_allowed() {
        wiped_page();
    }
    wiped().vforked.store(1, Relaxed);
    words().vforked.store(sys::process(), Relaxed);
}

/// Whether this is the child of a `vfork`.
#[cold]
pub fn in_vfork_child() -> bool {
    let vforked = &words().vforked;
    let parent = vforked.load(Relaxed);
    if parent == 0 {
        return false;
    }
    // A child of `fork` that came later has another number as well, but memory of its own.
    if sys::process() != parent && wiped().vforked.load(Relaxed) != 0 {
        return true;
    }
    vforked.store(0, Relaxed);
    false
}
