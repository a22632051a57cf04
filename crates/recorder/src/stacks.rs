//! Where calls come from: of one call in some, the functions that its thread is in.
//!
//! Looking at a stack takes microseconds, so it is done so often that it takes a small part of the time of each thread
//! ([`SHARE`]). Calls that take that much longer themselves are all sampled; of the others one in so many, or the first
//! after twice the time that these should take, and it stands for all since the last one. What is found is kept as sums by stack, operation and file.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use ioassay_record::operation::Operation;
use ioassay_record::table::{Caller, Frame, Module, Stack, Stacks, Thread};

use crate::python::{self, MOST_FRAMES, Position};
use crate::real::Real;
use crate::text::copy_parts;
use crate::{process, sys, table, ticks};

/// Stacks are sampled for one in so many ticks of a thread's time.
const SHARE: u64 = 64;
/// One call in so many is sampled in any case.
const MOST_CALLS: u64 = 1 << 20;
/// Frames of native code, the innermost; and those of this library, which are inside of them.
const NATIVE: usize = 48;
const OURS: usize = 12;
/// Sums that are kept apart by file; beyond them, all files of a stack have one.
const MOST_CALLERS: u32 = 20_000;
/// Of a module's path, in bytes.
const LONGEST_PATH: usize = 1024;

/// Stacks are sampled.
static ASKED: AtomicBool = AtomicBool::new(false);
/// The C library's function has been called once: it loads and allocates what it needs then.
static READY: AtomicBool = AtomicBool::new(false);
/// A thread writes what follows.
static WRITING: AtomicBool = AtomicBool::new(false);
/// What looking at a stack takes, in ticks.
static COST: AtomicU64 = AtomicU64::new(0);
/// This library in memory.
static OUR_CODE: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Place of the newest module.
static MODULES: AtomicU32 = AtomicU32::new(0);
static FRAMES: [AtomicU32; 512] = [const { AtomicU32::new(0) }; 512];
static STACKS: [AtomicU32; 256] = [const { AtomicU32::new(0) }; 256];
static CALLERS: [AtomicU32; 1024] = [const { AtomicU32::new(0) }; 1024];
static CALLER_COUNT: AtomicU32 = AtomicU32::new(0);

/// Why a stack is not known.
enum Failure {
    /// Another thread is at it.
    Busy,
    /// It cannot be read, or the table is full.
    Lost,
}

/// Begins the table of a process. What was the parent's is forgotten.
pub fn begin(is_asked: bool) {
    if is_asked {
        MODULES.store(0, Relaxed);
        CALLER_COUNT.store(0, Relaxed);
        for place in FRAMES.iter().chain(&STACKS).chain(&CALLERS) {
            if place.load(Relaxed) != 0 {
                place.store(0, Relaxed);
            }
        }
        WRITING.store(false, Relaxed);
        set_state(Stacks::On);
        if READY.load(Relaxed) {
            python::find();
        }
    }
    ASKED.store(is_asked, Relaxed);
}

/// Whether stacks are sampled.
#[inline(always)]
pub fn asked() -> bool {
    ASKED.load(Relaxed)
}

fn set_state(state: Stacks) {
    table::header().stacks.store(state as u32, Relaxed);
}

/// The program begins: what the C library needs to read a stack is made now, because that calls and allocates.
pub fn prepare() {
    if !asked() || READY.load(Relaxed) {
        return;
    }
    let mut places = [0; NATIVE + OURS];
    let is_ready = backtrace(&mut places) > 0;
    let started = ticks::now();
    backtrace(&mut places);
    COST.store(ticks::now().saturating_sub(started).max(1), Relaxed);
    let ours = sys::keeping_errno(|| module_of(prepare as fn() as usize));
    if let (true, Some(ours)) = (is_ready, ours) {
        OUR_CODE[0].store(ours.begin, Relaxed);
        OUR_CODE[1].store(ours.end, Relaxed);
        python::find();
        READY.store(true, Release);
    } else {
        set_state(Stacks::Unreadable);
        ASKED.store(false, Relaxed);
    }
}

/// A call of the calling thread, which is busy, has ended: looks where it came from, if it is its turn.
#[cold]
pub fn look(thread: &Thread, operation: Operation, file: u32, bytes: u64, [began, ended]: [u64; 2]) {
    if !READY.load(Acquire) {
        return;
    }
    let (cost, took) = (COST.load(Relaxed), ended.saturating_sub(began));
    let is_long = took >= SHARE * cost;
    let (of, left) = (thread.sampled_of.load(Relaxed).max(1), thread.calls_to_sample.load(Relaxed).max(1));
    if !is_long && left > 1 {
        // The calls may have become slower, or rarer.
        let since = ended.saturating_sub(thread.last_sample_ticks.load(Relaxed));
        if since < 2 * SHARE * cost {
            thread.calls_to_sample.store(left - 1, Relaxed);
            return;
        }
    }
    // Of those that are short, all since the last one that was sampled.
    let stands_for = if is_long { 1 } else { u64::from(of.saturating_sub(left)) + 1 };
    let started = ticks::now();
    let sampled = sys::keeping_errno(|| process::without_signals(|| caller(operation, file)));
    let now = ticks::now();
    let header = table::header();
    match sampled {
        Ok(caller) => {
            caller.samples.fetch_add(1, Relaxed);
            caller.calls.fetch_add(stands_for, Relaxed);
            caller.bytes.fetch_add(bytes.saturating_mul(stands_for), Relaxed);
            caller.ticks.fetch_add(took.saturating_mul(stands_for), Relaxed);
        }
        Err(Failure::Busy) if !is_long => {
            // The next is sampled instead, and stands for this one as well.
            thread.sampled_of.store(stands_for as u32 + 1, Relaxed);
            thread.calls_to_sample.store(1, Relaxed);
            return;
        }
        Err(_) => {
            header.stackless_calls.fetch_add(stands_for, Relaxed);
        }
    }
    let looked = now.saturating_sub(started);
    header.own_ticks.fetch_add(looked, Relaxed);
    // One that was interrupted, or saw much for the first time, says little of the next.
    COST.store((cost - cost / 8 + looked.min(4 * cost) / 8).max(1), Relaxed);
    if !is_long {
        plan_next(thread, stands_for, now);
    }
}

/// How many calls the next sample of a thread is to stand for, from how long the last ones took together.
fn plan_next(thread: &Thread, of: u64, now: u64) {
    let last = thread.last_sample_ticks.load(Relaxed);
    let elapsed = if last == 0 { u64::MAX } else { now.saturating_sub(last).max(1) };
    let wanted = (u128::from(SHARE * COST.load(Relaxed)) * u128::from(of) / u128::from(elapsed)) as u64;
    let mean = wanted.clamp(1, MOST_CALLS.min(of * 8));
    // Not in step with a loop of the program: evenly from half to one and a half times as many.
    let random = now.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
    let next = (mean / 2 + random % (mean + 1)).max(1) as u32;
    thread.sampled_of.store(next, Relaxed);
    thread.calls_to_sample.store(next, Relaxed);
    thread.last_sample_ticks.store(now, Relaxed);
}

/// The sum that a call belongs to.
fn caller(operation: Operation, file: u32) -> Result<&'static Caller, Failure> {
    // Signal handlers have little of a stack.
    if process::on_signal_stack() {
        return Err(Failure::Lost);
    }
    let mut places = [0; NATIVE + OURS];
    let count = backtrace(&mut places);
    let mut positions = [Position::default(); MOST_FRAMES];
    let (python, is_python_cut) = python::frames(&mut positions);
    if WRITING.swap(true, Acquire) {
        return Err(Failure::Busy);
    }
    let is_ours = |&&place: &&usize| (OUR_CODE[0].load(Relaxed)..OUR_CODE[1].load(Relaxed)).contains(&place);
    let ours = places[..count].iter().take_while(is_ours).count();
    let native = &places[ours..count.min(ours + NATIVE)];
    // Where Python is known, native frames beyond its innermost are the interpreter's.
    let is_cut = if python > 0 { is_python_cut } else { count == places.len() };
    let sum_of_stack = stack(native, &positions[..python], is_cut).and_then(|stack| sum(stack, operation, file));
    WRITING.store(false, Release);
    sum_of_stack.ok_or(Failure::Lost)
}

/// Where the functions that the thread is in were called, from the inside out. How many.
fn backtrace(places: &mut [usize]) -> usize {
    static BACKTRACE: Real = Real::new();
    match BACKTRACE.address(c"backtrace") {
        0 => 0,
        // SAFETY: it is the function of that name, and has so much room.
        address => unsafe {
            let backtrace: extern "C" fn(*mut usize, c_int) -> c_int = core::mem::transmute(address);
            backtrace(places.as_mut_ptr(), places.len() as c_int).max(0) as usize
        },
    }
}

/// Place of the stack of these frames.
fn stack(native: &[usize], python: &[Position], is_cut: bool) -> Option<u32> {
    let mut frames = [0; NATIVE + MOST_FRAMES];
    let mut key = 0;
    let of_native = native.iter().map(|&place| native_frame(place));
    for (frame, place) in frames.iter_mut().zip(of_native.chain(python.iter().map(python_frame))) {
        *frame = place?;
        key = mixed(key, u64::from(*frame));
    }
    let frames = &frames[..native.len() + python.len()];
    let head = &STACKS[key as usize % STACKS.len()];
    let existing = chain::<Stack>(head, |stack| stack.next).find(|(_, stack)| stack.key == key);
    existing.map(|(place, _)| place).or_else(|| {
        let place = table::allocate_for_directory::<Stack>(size_of_val(frames), |stack, bytes| {
            stack.key = key;
            stack.next = head.load(Relaxed);
            stack.native = native.len() as u32;
            stack.python = python.len() as u32;
            stack.is_cut = is_cut.into();
            for (bytes, frame) in bytes.chunks_exact_mut(size_of::<u32>()).zip(frames) {
                bytes.copy_from_slice(&frame.to_ne_bytes());
            }
        })?;
        head.store(place, Relaxed);
        Some(place)
    })
}

/// The sum of a stack's calls of an operation on a file.
fn sum(stack: u32, operation: Operation, file: u32) -> Option<&'static Caller> {
    let find = |file: u32| {
        let key = mixed(mixed(stack.into(), file.into()), operation as u64);
        let head = &CALLERS[key as usize % CALLERS.len()];
        let is_it =
            |caller: &Caller| caller.stack == stack && caller.file == file && caller.operation == operation as u32;
        (head, chain::<Caller>(head, |caller| caller.next).map(|(_, caller)| caller).find(|caller| is_it(caller)))
    };
    let new = |head: &AtomicU32, file: u32| {
        let place = table::allocate::<Caller>(0, |caller, _| {
            caller.next = head.load(Relaxed);
            caller.stack = stack;
            caller.file = file;
            caller.operation = operation as u32;
        })?;
        head.store(place, Relaxed);
        // SAFETY: it was allocated as that.
        Some(unsafe { table::block_at::<Caller>(place) })
    };
    let (head, existing) = find(file);
    if existing.is_some() {
        return existing;
    }
    if CALLER_COUNT.fetch_add(1, Relaxed) < MOST_CALLERS
        && let Some(caller) = new(head, file)
    {
        return Some(caller);
    }
    let (head, existing) = find(0);
    existing.or_else(|| new(head, 0))
}

fn native_frame(address: usize) -> Option<u32> {
    frame(address as u64, |head, key| {
        let module = known_module(address).or_else(|| new_module(address));
        // SAFETY: it was allocated as that.
        let base = module.map_or(0, |place| unsafe { table::block_at::<Module>(place) }.base);
        table::allocate_for_directory::<Frame>(0, |frame, _| {
            frame.key = key;
            frame.next = head;
            frame.address = (address as u64).wrapping_sub(base);
            frame.module = module.unwrap_or(0);
        })
    })
}

fn python_frame(position: &Position) -> Option<u32> {
    frame(position.parts().into_iter().fold(1, mixed), |head, key| {
        let (line, (function, file)) = (position.line(), position.names());
        let (function, file) = (function.get(), file.get());
        table::allocate_for_directory::<Frame>(function.len() + file.len(), |frame, bytes| {
            frame.key = key;
            frame.next = head;
            frame.line = line;
            frame.function_bytes = function.len() as u32;
            frame.file_bytes = file.len() as u32;
            copy_parts(&[function, file], bytes);
        })
    })
}

/// Place of the frame with that key, which `new` makes if there is none.
fn frame(key: u64, new: impl FnOnce(u32, u64) -> Option<u32>) -> Option<u32> {
    let head = &FRAMES[mixed(0, key) as usize % FRAMES.len()];
    let existing = chain::<Frame>(head, |frame| frame.next).find(|(_, frame)| frame.key == key);
    existing.map(|(place, _)| place).or_else(|| {
        let place = new(head.load(Relaxed), key)?;
        head.store(place, Relaxed);
        Some(place)
    })
}

fn mixed(key: u64, part: u64) -> u64 {
    (key ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

/// Structures that refer to each other, and their places.
fn chain<T: ioassay_record::table::BlockLayout + 'static>(
    head: &AtomicU32,
    next: fn(&T) -> u32,
) -> impl Iterator<Item = (u32, &'static T)> {
    // SAFETY: they were allocated as that; 0 is none.
    let entry = |place: u32| (place != 0).then(|| (place, unsafe { table::block_at::<T>(place) }));
    core::iter::successors(entry(head.load(Relaxed)), move |(_, block)| entry(next(block)))
}

fn known_module(address: usize) -> Option<u32> {
    let address = address as u64;
    let mut modules = chain::<Module>(&MODULES, |module| module.next);
    modules.find(|(_, module)| (module.begin..module.end).contains(&address)).map(|(place, _)| place)
}

fn new_module(address: usize) -> Option<u32> {
    let module_of_code = module_of(address)?;
    // A library that was loaded for a plug-in may be the interpreter.
    python::find();
    let path = module_of_code.path();
    let place = table::allocate_for_directory::<Module>(path.len(), |module, bytes| {
        module.begin = module_of_code.begin as u64;
        module.end = module_of_code.end as u64;
        module.base = module_of_code.base as u64;
        module.next = MODULES.load(Relaxed);
        module.path_bytes = path.len() as u32;
        copy_parts(&[path], bytes);
    })?;
    MODULES.store(place, Relaxed);
    Some(place)
}

/// A program or library in memory.
struct Loaded {
    /// An address in it.
    address: usize,
    begin: usize,
    end: usize,
    base: usize,
    path: [u8; LONGEST_PATH],
    path_bytes: usize,
}

impl Loaded {
    fn path(&self) -> &[u8] {
        &self.path[..self.path_bytes]
    }
}

/// The program or library that has code at an address.
fn module_of(address: usize) -> Option<Loaded> {
    static ITERATE: Real = Real::new();
    let mut loaded = Loaded { address, begin: 0, end: 0, base: 0, path: [0; LONGEST_PATH], path_bytes: 0 };
    match ITERATE.address(c"dl_iterate_phdr") {
        0 => return None,
        // SAFETY: it is the function of that name, and `look_at` gets what it expects.
        iterate => unsafe {
            type LookAt = unsafe extern "C" fn(*const libc::dl_phdr_info, usize, *mut c_void) -> c_int;
            let iterate: extern "C" fn(LookAt, *mut c_void) -> c_int = core::mem::transmute(iterate);
            iterate(look_at, (&raw mut loaded).cast());
        },
    }
    if loaded.end == 0 {
        return None;
    }
    if loaded.path_bytes == 0 {
        // The program itself.
        loaded.path_bytes = usize::try_from(sys::read_link(c"/proc/self/exe", &mut loaded.path)).unwrap_or(0);
    }
    Some(loaded)
}

/// Whether a loaded object is the one that is looked for: 1 if so.
///
/// # Safety
/// The dynamic linker calls it, with a [`Loaded`].
unsafe extern "C" fn look_at(object: *const libc::dl_phdr_info, _: usize, loaded: *mut c_void) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let (object, loaded) = (&*object, &mut *loaded.cast::<Loaded>());
        let base = object.dlpi_addr as usize;
        let parts = core::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
        let parts = || parts.iter().filter(|part| part.p_type == libc::PT_LOAD);
        let range = |part: &libc::Elf64_Phdr| {
            let begin = base + part.p_vaddr as usize;
            begin..begin + part.p_memsz as usize
        };
        if !parts().any(|part| range(part).contains(&loaded.address)) {
            return 0;
        }
        loaded.begin = parts().map(|part| range(part).start).min().unwrap_or(0);
        loaded.end = parts().map(|part| range(part).end).max().unwrap_or(0);
        loaded.base = base;
        if !object.dlpi_name.is_null() {
            let name = core::ffi::CStr::from_ptr(object.dlpi_name).to_bytes();
            loaded.path_bytes = name.len().min(LONGEST_PATH);
            copy_parts(&[name], &mut loaded.path);
        }
        1
    }
}
