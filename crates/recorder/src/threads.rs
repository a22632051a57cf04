//! Each thread has a part of the table that it alone writes to.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Relaxed, Ordering::SeqCst};

use ioassay_record::operation::Operation;
use ioassay_record::table::{COUNTERS, Latencies, Thread};

use crate::process::{self, system_calls_allowed};
use crate::real::Real;
use crate::text::{Buffer, decimal};
use crate::thread_words::words;
use crate::{regions, seconds, shared, sys, table, trace};

/// Threads that have a part at the same time, at most.
const MOST: usize = 1024;
/// Places of all parts, also of threads that ended.
static PLACES: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Parts that ended threads have left: there is nothing to search for where there is none.
static LEFT: AtomicUsize = AtomicUsize::new(0);
/// Key of the C library's thread-specific data, plus 1: its destructor says that a thread ends.
static KEY: AtomicU32 = AtomicU32::new(0);

/// What the kernel counts of the recorder itself: taken off what it counted of the program, so that only that is left.
static OWN: [AtomicU64; COUNTERS] = [const { AtomicU64::new(0) }; COUNTERS];
/// What of it was taken off threads that ended.
static TAKEN_OFF: [AtomicU64; COUNTERS] = [const { AtomicU64::new(0) }; COUNTERS];

/// The recorder has written into files, with so many calls.
pub fn wrote(bytes: usize, calls: usize) {
    let [_, written, _, calls_to_write, _, stored, _] = &OWN;
    written.fetch_add(bytes as u64, Relaxed);
    calls_to_write.fetch_add(calls as u64, Relaxed);
    stored.fetch_add(bytes as u64, Relaxed);
}

/// Forgets what the parent's recorder wrote.
pub fn forget_own() {
    OWN.iter().chain(&TAKEN_OFF).for_each(|counter| counter.store(0, Relaxed));
}

/// Forgets the table of the parent.
pub fn begin() {
    // A place of the parent's table must not be taken for one of this.
    for place in &PLACES[..COUNT.swap(0, Relaxed).min(MOST)] {
        place.store(0, Relaxed);
    }
    LEFT.store(0, Relaxed);
    words().thread.store(0, Relaxed);
    words().kernel.iter().for_each(|counted| counted.store(0, Relaxed));
}

/// The parts that there are, also of threads that ended.
fn parts() -> impl Iterator<Item = &'static Thread> {
    let places = PLACES[..COUNT.load(Relaxed).min(MOST)].iter().map(|place| place.load(Relaxed));
    // SAFETY: what is in the list was allocated as that.
    places.filter(|&place| place != 0).map(|place| unsafe { table::block_at(place) })
}

/// The part of the calling thread, which has none yet. Nothing where there is no place.
#[cold]
pub fn join() -> Option<&'static Thread> {
    let search = LEFT.load(Relaxed) > 0;
    if COUNT.load(Relaxed) >= MOST && !search {
        return None;
    }
    let number = if system_calls_allowed() { sys::thread() } else { u32::MAX };
    let take = |thread: &&Thread| thread.thread.compare_exchange(0, number, AcqRel, Relaxed).is_ok();
    let left = if search { parts().find(take) } else { None };
    let thread = match left {
        Some(thread) => {
            LEFT.fetch_sub(1, Relaxed);
            thread
        }
        None => {
            let index = COUNT.fetch_add(1, Relaxed);
            if index >= MOST {
                COUNT.store(MOST, Relaxed);
                return None;
            }
            let place = table::allocate::<Thread>(0, |thread, _| thread.thread = AtomicU32::new(number))?;
            PLACES[index].store(place, Relaxed);
            // SAFETY: it was allocated as that.
            unsafe { table::block_at(place) }
        }
    };
    thread.recent.iter().for_each(|recent| recent.store(0, Relaxed));
    seconds::turn(thread);
    words().thread.store(&raw const *thread as usize, Relaxed);
    if number != process::number() {
        shared::several_threads();
        ask_for_its_end();
    }
    Some(thread)
}

/// Has the C library call [`ended`] when the calling thread ends.
fn ask_for_its_end() {
    static CREATE: Real = Real::new();
    static SET: Real = Real::new();
    let (create, set) = (CREATE.address(c"pthread_key_create"), SET.address(c"pthread_setspecific"));
    if create == 0 || set == 0 {
        return;
    }
    // SAFETY: these are the functions of that name. Both allocate nothing for the first keys of a process.
    unsafe {
        let create: extern "C" fn(*mut u32, extern "C" fn(*mut u8)) -> i32 = core::mem::transmute(create);
        let set: extern "C" fn(u32, *const u8) -> i32 = core::mem::transmute(set);
        let mut key = KEY.load(Relaxed);
        if key == 0 {
            let mut new = 0;
            if create(&raw mut new, ended) != 0 {
                return;
            }
            // A second one that came at the same time leaves its key unused.
            key = KEY.compare_exchange(0, new + 1, AcqRel, Relaxed).map_or_else(|other| other, |_| new + 1);
        }
        if key <= FIRST_KEYS {
            set(key - 1, core::ptr::dangling());
        }
    }
}

/// Keys for which the C library has a place in every thread; for others it would allocate.
const FIRST_KEYS: u32 = 32;

/// The calling thread ends: its part is free for another.
extern "C" fn ended(_: *mut u8) {
    let words = words();
    words.enter();
    trace::give_up(words);
    let address = words.thread.swap(0, Relaxed);
    if address != 0 && process::attached() {
        give_back(address);
    }
    words.leave();
}

/// Leaves the part at that address to another thread.
fn give_back(address: usize) {
    // SAFETY: it is a part of the table that this thread had.
    let thread = unsafe { &*(address as *const Thread) };
    seconds::fold(thread);
    regions::leave_all(thread);
    let ended = table::header().counters_of_ended();
    let counted = kernel_counters(Of::Caller).into_iter().zip(&words().kernel);
    for ((sum, (counted, before)), (own_counter, taken_off)) in ended.zip(counted).zip(OWN.iter().zip(&TAKEN_OFF)) {
        let new = counted.saturating_sub(before.swap(counted, Relaxed));
        let more = own_counter.load(Relaxed).saturating_sub(taken_off.load(Relaxed)).min(new);
        taken_off.fetch_add(more, Relaxed);
        sum.fetch_add(new - more, Relaxed);
    }
    thread.in_flight.store(0, Relaxed);
    thread.thread.store(0, SeqCst);
    // The process may be at its end just now, and have counted this thread as one that lives.
    thread.counters().for_each(|counter| counter.store(0, SeqCst));
    LEFT.fetch_add(1, Relaxed);
}

/// Writes down what the kernel counted: of the process as a whole, unless it has waited for children, whose counters the kernel
/// adds to these; of each thread that lives, if that is so or `goes_on` as another program, which may do that.
pub fn count_by_kernel(goes_on: bool) {
    if !sys::has_waited_for_children() {
        for ((kept, counted), own_counter) in
            table::header().counters_of_process().zip(kernel_counters(Of::Process)).zip(&OWN)
        {
            kept.store(counted.saturating_sub(own_counter.load(Relaxed)), Relaxed);
        }
        if !goes_on {
            return;
        }
    }
    let mut left_over = [0; COUNTERS];
    for ((left, own_counter), taken_off) in left_over.iter_mut().zip(&OWN).zip(&TAKEN_OFF) {
        *left = own_counter.load(Relaxed).saturating_sub(taken_off.load(Relaxed));
    }
    for thread in parts() {
        let number = thread.thread.load(Relaxed);
        if number != 0 {
            for ((kept, counted), rest) in
                thread.counters().zip(kernel_counters(Of::Thread(number))).zip(&mut left_over)
            {
                let taken_off = counted.min(*rest);
                *rest -= taken_off;
                kept.store(counted - taken_off, SeqCst);
            }
            if thread.thread.load(SeqCst) != number {
                // It has ended meanwhile, and is counted with those.
                thread.counters().for_each(|counter| counter.store(0, SeqCst));
            }
        }
    }
}

/// Where a thread counts how long calls of an operation take. Nothing where there is no place.
#[cold]
pub fn new_latencies(thread: &Thread, operation: Operation) -> Option<u32> {
    let of = table::place(thread);
    let place = table::allocate::<Latencies>(0, |latencies, _| {
        latencies.operation = operation as u32;
        latencies.thread = of;
    })?;
    thread.latencies[operation as usize].store(place, Relaxed);
    Some(place)
}

/// Whose counters are read.
enum Of {
    Process,
    Caller,
    Thread(u32),
}

/// What the kernel counted; all zero where it does not say.
fn kernel_counters(of: Of) -> [u64; COUNTERS] {
    let mut counters = [0; COUNTERS];
    if !system_calls_allowed() {
        return counters;
    }
    let path = Buffer::<64>::new();
    let _ = match of {
        Of::Process => path.set(&[b"/proc/self/io"]),
        Of::Caller => path.set(&[b"/proc/thread-self/io"]),
        Of::Thread(number) => path.set(&[b"/proc/self/task/", decimal(number.into(), &mut [0; 20]), b"/io"]),
    };
    let file = sys::open(path.as_c_str(), libc::O_RDONLY, 0);
    if file < 0 {
        return counters;
    }
    let mut text = [0; 320];
    let length = sys::read(file, &mut text).clamp(0, 320) as usize;
    sys::close(file);
    // A line for each: `rchar: 4711`.
    for (counter, line) in counters.iter_mut().zip(text[..length].split(|&byte| byte == b'\n')) {
        let digits = line.iter().skip_while(|byte| !byte.is_ascii_digit()).take_while(|byte| byte.is_ascii_digit());
        *counter = digits.fold(0, |number: u64, digit| number.wrapping_mul(10).wrapping_add((digit - b'0').into()));
    }
    counters
}
