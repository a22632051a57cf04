//! What happens before and after each call that is counted.
//!
//! Before: is there a table, is this thread known, which file is it; the call is written into the thread's slot of the call
//! in flight. After: number, bytes and time are added. While something is added, the thread is busy, and a signal handler
//! that calls a hook then goes uncounted (`handler_calls`). During the call itself it is not: what a handler does then is
//! counted. One that never comes back (`longjmp`) leaves a thread busy, or a call in flight: both have the place of the stack
//! with them, by which the next call sees that.

use core::ffi::c_char;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ioassay_record::buckets;
use ioassay_record::operation::Operation;
use ioassay_record::table::{Latencies, Thread};
use ioassay_record::trace::Traced;
use ioassay_record::transfers::add;

use crate::descriptors::{self, Slot};
use crate::files::{self, Base};
use crate::rules::Matching;
use crate::thread_words::{ThreadWords, beneath, stack, words};
use crate::throttle::{self, Reservation};
use crate::transfers::{self, Transfer};
use crate::{errors, process, seconds, stacks, table, threads, ticks, trace};

/// A call that is under way.
#[derive(Clone, Copy)]
pub struct Call {
    thread: &'static Thread,
    /// That it is counted in: a child that is forked meanwhile has another one.
    table: u32,
    operation: Operation,
    /// Place of the file's row.
    pub file: u32,
    /// Which rules are for it.
    matching: &'static Matching,
    began: u64,
    /// What it has reserved of the buckets of rules.
    reservation: Reservation,
    /// What the slot had before: the call that a signal handler interrupted.
    outer: [u64; 2],
    /// Where the stack was when that one began.
    outer_stack: usize,
}

impl Call {
    /// It turns out to be on that file.
    pub fn is_on(&mut self, file: u32) {
        (self.file, self.matching) = (file, Matching::of_name(file));
    }
}

/// The calling thread, which is busy.
#[derive(Clone, Copy)]
struct Caller {
    words: &'static ThreadWords,
    thread: &'static Thread,
    table: u32,
}

/// How a call ended.
#[derive(Debug, Clone, Copy)]
pub enum Outcome {
    /// It moved so many bytes, from that offset on where there is one.
    Moved {
        /// That were moved.
        bytes: u64,
        /// Where they begin in the file.
        offset: Option<u64>,
        /// Of the file system, as [`Slot::block_bytes`].
        block_bytes: u32,
    },
    /// It did what it should.
    Done,
    /// It failed, with this `errno`.
    Failed(i32),
}

impl Outcome {
    #[inline(always)]
    fn bytes(self) -> u64 {
        match self {
            Self::Moved { bytes, .. } => bytes,
            Self::Done | Self::Failed(_) => 0,
        }
    }
}

/// A call on a descriptor, and the descriptor's slot.
#[inline(always)]
pub fn on_descriptor(operation: Operation, descriptor: i32) -> Option<(Call, &'static Slot)> {
    transfer_on(operation, descriptor, 0)
}

/// The same, of a call that asks for so many bytes.
#[inline(always)]
pub fn transfer_on(operation: Operation, descriptor: i32, bytes: usize) -> Option<(Call, &'static Slot)> {
    let caller = enter()?;
    let slot = descriptors::slot(descriptor).unwrap_or_else(descriptors::unknown);
    Some((begin(caller, operation, slot.file(), &slot.matching, bytes as u64)?, slot))
}

/// A call on a path.
///
/// # Safety
/// The path is null or ends with a zero byte.
#[inline(always)]
pub unsafe fn on_path(operation: Operation, base: Base, path: *const c_char) -> Option<Call> {
    let caller = enter()?;
    // SAFETY: the caller's.
    let file = unsafe { files::of_path(base, path) };
    begin(caller, operation, file, Matching::of_name(file), 0)
}

/// A call on a file whose row is known, or on none in particular.
#[inline(always)]
pub fn on_file(operation: Operation, file: u32) -> Option<Call> {
    begin(enter()?, operation, file, Matching::of_name(file), 0)
}

/// Counts a transfer on a descriptor that is not worth the clock: its bytes were in a buffer, or the call that made it is
/// counted already. Without an offset it is from where the descriptor is, which moves on.
pub fn at_once(operation: Operation, descriptor: i32, bytes: u64, offset: Option<u64>) {
    let Some(Caller { words, thread, .. }) = enter() else { return };
    if let Some(slot) = descriptors::slot(descriptor) {
        let offset = Some(offset.unwrap_or_else(|| slot.advance(bytes)));
        let block_bytes = slot.block_bytes.load(Relaxed);
        let outcome = Outcome::Moved { bytes, offset, block_bytes };
        add_at_once(words, thread, operation, slot.file(), &slot.matching, outcome, 0);
    }
    words.leave();
}

/// The same, on a file whose row is known, or on none in particular.
pub fn at_once_on_file(operation: Operation, file: u32, bytes: u64) {
    let Some(Caller { words, thread, .. }) = enter() else { return };
    let outcome = Outcome::Moved { bytes, offset: None, block_bytes: 0 };
    add_at_once(words, thread, operation, file, Matching::of_name(file), outcome, 0);
    words.leave();
}

/// The same, of a thread that is busy, with what it took: a request of a ring whose completion was seen.
pub fn count(operation: Operation, file: u32, outcome: Outcome, took: u64) {
    let words = words();
    let address = words.thread.load(Relaxed);
    if address != 0 {
        // SAFETY: a part of the table that this thread has.
        let thread = unsafe { &*(address as *const Thread) };
        add_at_once(words, thread, operation, file, Matching::of_name(file), outcome, took);
    }
}

#[inline(always)]
fn add_at_once(
    words: &ThreadWords,
    thread: &'static Thread,
    operation: Operation,
    file: u32,
    matching: &'static Matching,
    outcome: Outcome,
    took: u64,
) {
    let bytes = outcome.bytes();
    throttle::charge(operation, matching, bytes);
    let is_on_storage = count_on_file(thread, operation, file, matching, outcome, took);
    let class = if is_on_storage { operation } else { operation.elsewhere() };
    let calls = &thread.totals[class as usize][0];
    // Now and then the clock all the same, or all would be of the second in which it began.
    let looks = took > 0 || (calls.load(Relaxed) + 1).is_multiple_of(AT_ONCE) || looks_closer();
    let now = if looks { ticks::now() } else { 0 };
    if looks && now >= thread.step_ends_ticks.load(Relaxed) {
        seconds::turn(thread);
    }
    count_by_class(thread, class, now, took, bytes);
    if looks_closer() {
        look_at_call(words, thread, operation, file, outcome, [now.saturating_sub(took), now]);
    }
}

/// As many calls without the clock at most.
const AT_ONCE: u64 = 64;

/// The class of the call that the calling thread is in, one of a hook further out.
pub fn outer() -> Option<Operation> {
    let Caller { words, thread, .. } = enter()?;
    let in_flight = thread.in_flight.load(Relaxed);
    words.leave();
    Operation::ALL.get(((in_flight >> 32) as usize).checked_sub(1)?).copied()
}

/// A call on a file whose row `find` finds, if it does.
#[inline(always)]
pub fn on_found(operation: Operation, find: impl FnOnce() -> Option<u32>) -> Option<Call> {
    let caller = enter()?;
    match find() {
        Some(file) => begin(caller, operation, file, Matching::of_name(file), 0),
        None => {
            caller.words.leave();
            None
        }
    }
}

/// Changes what is known of descriptors, where this process counts at all.
#[inline(always)]
pub fn update<R>(change: impl FnOnce() -> R) -> Option<R> {
    let caller = enter()?;
    let result = change();
    caller.words.leave();
    Some(result)
}

/// Changes what is known of the calling thread, where it counts at all.
pub fn on_thread(change: impl FnOnce(&'static Thread)) {
    let Some(Caller { words, thread, .. }) = enter() else { return };
    change(thread);
    words.leave();
}

/// The calling thread, from now on busy. Nothing where it must not count.
#[inline(always)]
fn enter() -> Option<Caller> {
    let words = words();
    let stack = stack();
    let busy = words.busy.load(Relaxed);
    if busy != 0 && interrupted(stack, busy) {
        return None;
    }
    words.enter();
    let mut table = process::table();
    if !process::is_attached(table) {
        table = attach(words);
    }
    if !process::is_attached(table) || words.vforked.load(Relaxed) != 0 && process::in_vfork_child() {
        words.leave();
        return None;
    }
    let address = words.thread.load(Relaxed);
    if address != 0 {
        // SAFETY: a part of the table that this thread has.
        return Some(Caller { words, thread: unsafe { &*(address as *const Thread) }, table });
    }
    match threads::join() {
        Some(thread) => Some(Caller { words, thread, table }),
        None => {
            table::header().lost_calls.fetch_add(1, Relaxed);
            words.leave();
            None
        }
    }
}

/// A child of `vfork` has its parent's memory, and so its parent's table.
#[cold]
fn attach(words: &ThreadWords) -> u32 {
    if words.vforked.load(Relaxed) == 0 || !process::in_vfork_child() {
        process::attach();
    }
    process::table()
}

/// Whether this is a signal handler that interrupted the thread while it was busy, and not what the thread did next after a
/// handler has left that by `longjmp`.
#[cold]
fn interrupted(stack: usize, busy: usize) -> bool {
    let is_handler = beneath(stack, busy) || process::on_signal_stack();
    if process::attached() {
        let header = table::header();
        // A call that was left is counted in part at most.
        let calls = if is_handler { &header.handler_calls } else { &header.lost_calls };
        calls.fetch_add(1, Relaxed);
    }
    is_handler
}

#[inline(always)]
fn begin(caller: Caller, operation: Operation, file: u32, matching: &'static Matching, requested: u64) -> Option<Call> {
    let Caller { words, thread, table } = caller;
    let reservation = throttle::hold(thread, operation, matching, requested)?;
    let (stack, outer_stack) = (stack(), words.in_flight.load(Relaxed));
    let mut outer = [thread.in_flight.load(Relaxed), thread.in_flight_since_ticks.load(Relaxed)];
    if outer[0] != 0 && !beneath(stack, outer_stack) {
        // A signal handler has left that one by `longjmp`.
        outer[0] = 0;
    }
    thread.in_flight.store((operation as u64 + 1) << 32 | u64::from(file), Relaxed);
    words.in_flight.store(stack, Relaxed);
    words.leave();
    let began = ticks::now();
    thread.in_flight_since_ticks.store(began, Relaxed);
    Some(Call { thread, table, operation, file, matching, began, reservation, outer, outer_stack })
}

/// The call has ended.
#[inline(always)]
pub fn end(call: Call, outcome: Outcome) {
    end_and(call, outcome, |_| ());
}

/// The call has ended, and what is known of files and descriptors changes with it. `change` gets the end, in ticks.
#[inline(always)]
pub fn end_and(call: Call, outcome: Outcome, change: impl FnOnce(u64)) {
    let ended = ticks::now();
    let words = words();
    words.enter();
    // Not in a child that a signal handler has forked meanwhile: the call was its parent's, and so were all places.
    if process::table() != call.table {
        words.leave();
        return;
    }
    let (thread, operation) = (call.thread, call.operation);
    let took = ended.saturating_sub(call.began);
    // First: what has just been opened may turn out not to be on storage.
    change(ended);
    if ended >= thread.step_ends_ticks.load(Relaxed) {
        seconds::turn(thread);
    }
    let bytes = outcome.bytes();
    if count_on_file(thread, operation, call.file, call.matching, outcome, took) {
        count_by_class(thread, operation, ended, took, bytes);
    } else {
        count_elsewhere(thread, operation, ended, took, bytes);
    }
    throttle::settle(call.reservation, operation, call.matching, bytes, took);
    if looks_closer() {
        look_at_call(words, thread, operation, call.file, outcome, [call.began, ended]);
    }
    leave_flight(words, &call);
    words.leave();
}

/// The call has ended, and is not counted itself. What it took.
pub fn end_uncounted(call: Call) -> u64 {
    let ended = ticks::now();
    let words = words();
    words.enter();
    let is_ours = process::table() == call.table;
    if is_ours {
        leave_flight(words, &call);
    }
    words.leave();
    if is_ours { ended.saturating_sub(call.began) } else { 0 }
}

/// The call in flight is again the one that a signal handler interrupted, or none.
#[inline(always)]
fn leave_flight(words: &ThreadWords, call: &Call) {
    let [in_flight, since] = call.outer;
    call.thread.in_flight.store(in_flight, Relaxed);
    if in_flight != 0 {
        call.thread.in_flight_since_ticks.store(since, Relaxed);
        words.in_flight.store(call.outer_stack, Relaxed);
    }
}

/// Counts a call in the rows of its file. Whether that is on storage.
#[inline(always)]
fn count_on_file(
    thread: &'static Thread,
    operation: Operation,
    file: u32,
    matching: &'static Matching,
    outcome: Outcome,
    took: u64,
) -> bool {
    match outcome {
        Outcome::Moved { bytes, offset, block_bytes } => {
            let transfer = Transfer { file, matching, operation, offset, bytes, block_bytes, took, failed: false };
            transfers::count(thread, transfer)
        }
        Outcome::Done => files::count(thread, file, matching, operation, took, None),
        Outcome::Failed(errno) => failed(thread, operation, file, matching, took, errno),
    }
}

/// Calls are traced, or it is looked where they come from.
static LOOKS_CLOSER: AtomicBool = AtomicBool::new(false);

/// Whether each call is given to [`trace`] and [`stacks`].
pub fn look_closer(does: bool) {
    LOOKS_CLOSER.store(does, Relaxed);
}

#[inline(always)]
fn looks_closer() -> bool {
    LOOKS_CLOSER.load(Relaxed)
}

#[cold]
fn look_at_call(
    words: &ThreadWords,
    thread: &'static Thread,
    operation: Operation,
    file: u32,
    outcome: Outcome,
    [begin, end]: [u64; 2],
) {
    let (bytes, offset, block_bytes, errno) = match outcome {
        Outcome::Moved { bytes, offset, block_bytes } => (bytes, offset, block_bytes, None),
        Outcome::Done => (0, None, 0, None),
        Outcome::Failed(errno) => (0, None, 0, Some(errno.clamp(0, 255) as u8)),
    };
    if trace::asked() {
        trace::add(words, thread, &Traced { operation, file, offset, bytes, errno, begin, end }, block_bytes);
    }
    if stacks::asked() {
        stacks::look(thread, operation, file, bytes, [begin, end]);
    }
}

/// Whether it was on storage.
#[cold]
fn failed(
    thread: &'static Thread,
    operation: Operation,
    file: u32,
    matching: &'static Matching,
    took: u64,
    errno: i32,
) -> bool {
    let is_on_storage = if operation as usize >= ioassay_record::operation::FIRST_TRANSFER {
        let transfer =
            Transfer { file, matching, operation, offset: None, bytes: 0, block_bytes: 0, took, failed: true };
        transfers::count(thread, transfer)
    } else {
        files::count(thread, file, matching, operation, took, Some(errno))
    };
    errors::count(if is_on_storage { operation } else { operation.elsewhere() }, errno);
    is_on_storage
}

/// Counts a call in the latencies and the second of a class.
#[inline(always)]
fn count_by_class(thread: &'static Thread, class: Operation, ended: u64, took: u64, bytes: u64) {
    count_latency(thread, class, took);
    if seconds::is_long(took) {
        seconds::spread(thread, class, ended - took, took, bytes);
        return;
    }
    let [calls, moved, ticks, slowest] = &thread.totals[class as usize];
    add(calls, 1);
    add(moved, bytes);
    add(ticks, took);
    if took > slowest.load(Relaxed) {
        slowest.store(took, Relaxed);
    }
}

/// Not inlined: where the class is known, its places in the thread's part are.
#[inline(never)]
fn count_elsewhere(thread: &'static Thread, operation: Operation, ended: u64, took: u64, bytes: u64) {
    count_by_class(thread, operation.elsewhere(), ended, took, bytes);
}

#[inline(always)]
fn count_latency(thread: &Thread, operation: Operation, took: u64) {
    let place = match thread.latencies[operation as usize].load(Relaxed) {
        0 => match threads::new_latencies(thread, operation) {
            Some(place) => place,
            None => return,
        },
        place => place,
    };
    // SAFETY: it was allocated as that.
    let latencies: &Latencies = unsafe { table::block_at(place) };
    add(&latencies.calls[buckets::of_latency(took)], 1);
}
