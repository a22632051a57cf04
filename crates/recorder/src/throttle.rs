//! Calls that rules hold back: before the real function, until their rules let them begin.
//!
//! A call reserves what it asks for in the bucket of each rule, waits until the last of them lets it begin, and settles afterwards
//! what it moved. Where nobody knows before what a call will move (formatted streams, vectors, MPI-IO), it waits for the debts of
//! others and is charged afterwards. All processes of the job on the node share the buckets.
//!
//! Never held back, but charged: in a signal handler ([`masks`]), while the process ends, and where the kernel must not be called.
//! Neither held back nor charged: a child of `vfork`, what interrupts the recorder itself, and maps, requests of `aio` and of
//! io_uring, whose bytes move without a call. Functions that `exit` calls because `main` returned are held back like others, up to
//! our own. A wait is not interrupted by signals: a program that ends its reads by one (`alarm`) has its handler run at once, as if
//! the signal had come just before the read.
//!
//! Nobody waits for an agent that has died: its lock is asked for before each sleep, of a tenth of a second at most.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ioassay_record::operation::{FIRST_TRANSFER, Operation};
use ioassay_record::rules::{Bucket, Half, LOCK_AT, RuleKind, slots};
use ioassay_record::table::Thread;
use ioassay_record::throttle::{Reserved, begins_at, cost_ns, give_back, reserve};

use crate::rules::{self, Rules};
use crate::thread_words::ThreadWords;
use crate::{masks, process, sys, table, ticks};

const MS: u64 = 1_000_000;
/// The longest sleep: as long it may take until a call is released.
const LONGEST_SLEEP_NS: u64 = 100 * MS;
/// The shortest one that is made only to see whether others have given something back.
const SHORTEST_SLEEP_NS: u64 = MS;
/// For so long an agent that was found dead is not asked for again.
const DEAD_FOR_NS: u64 = 100 * MS;

/// Until then nobody is held back, because the agent has died.
static FREE_UNTIL_NS: AtomicU64 = AtomicU64::new(0);

/// What a call that was let through has reserved.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    /// Of the rules that it was let through by.
    generation: u64,
    /// Their slots; 0 where nothing was reserved.
    slots: u64,
    /// Bytes that it asked for; 0 where nobody knew.
    requested: u64,
    /// When the last of the rules let it begin.
    start_ns: u64,
}

impl Held {
    /// Of a call that no rule holds back.
    pub const NONE: Self = Self { generation: 0, slots: 0, requested: 0, start_ns: 0 };
}

/// A call that is about to begin.
#[derive(Clone, Copy)]
pub struct Next {
    /// The calling thread, which is busy, and not while it waits.
    pub words: &'static ThreadWords,
    /// Its part of the table.
    pub thread: &'static Thread,
    /// The number of the table.
    pub table: u32,
    /// The class of the call.
    pub operation: Operation,
    /// Place of the file's row.
    pub file: u32,
    /// Bytes that it asks for; 0 where nobody knows.
    pub requested: u64,
}

/// Why a wait is over.
enum Woken {
    /// The call may begin.
    InTime,
    /// Other rules hold.
    OtherRules,
}

/// Holds a call back if rules say so. Nothing where the process is another one afterwards: a signal handler has forked it, and
/// the call is its parent's.
#[inline(always)]
pub fn hold(next: Next) -> Option<Held> {
    match rules_for(next.operation) {
        None => Some(Held::NONE),
        Some(rules) => hold_back(rules, next),
    }
}

/// The rules that hold, if some may hold back calls of an operation.
#[inline(always)]
fn rules_for(operation: Operation) -> Option<Rules> {
    let rules = rules::given()?;
    (rules.half.throttles.load(Relaxed) & rules.half.of(operation) != 0).then_some(rules)
}

/// The slots whose rules hold back a call that moves so many bytes; 0 where nobody knows.
fn holding(rules: Rules, operation: Operation, file: u32, bytes: u64) -> u64 {
    if matches!(operation, Operation::Map | Operation::SubmitRead | Operation::SubmitWrite) {
        return 0;
    }
    let is_transfer = operation as usize >= FIRST_TRANSFER;
    let set = rules.of(operation, file) & rules.half.throttles.load(Relaxed);
    let set = if is_transfer && bytes == 0 { set } else { rules.half.fitting(set, bytes) };
    let holds = |&slot: &usize| match rules.half.kind(slot) {
        Some(RuleKind::ThrottleBytes) => is_transfer,
        Some(RuleKind::ThrottleCalls) => true,
        _ => false,
    };
    slots(set).filter(holds).fold(0, |set, slot| set | 1 << slot)
}

/// What a call costs by the rule of a slot.
fn cost(half: &Half, slot: usize, bytes: u64) -> u64 {
    let amount = if half.kind(slot) == Some(RuleKind::ThrottleBytes) { bytes } else { 1 };
    cost_ns(amount, half.rates_per_s[slot].load(Relaxed))
}

#[inline(never)]
fn hold_back(mut rules: Rules, next: Next) -> Option<Held> {
    let Next { words, thread, table, operation, file, requested } = next;
    let (mut began, mut last) = (0, 0);
    let held = loop {
        let slots = holding(rules, operation, file, requested);
        let now = ticks::monotonic_ns();
        if slots == 0 || now < FREE_UNTIL_NS.load(Relaxed) {
            break Held::NONE;
        }
        let mut held = Held { generation: rules.generation, slots, requested, start_ns: 0 };
        last = take(rules, &mut held, now);
        if held.start_ns <= now || !may_wait(words) {
            break held;
        }
        if began == 0 {
            began = ticks::now();
        }
        words.leave();
        let woken = wait(rules, last, &mut held);
        words.enter();
        if process::table() != table {
            words.leave();
            return None;
        }
        match woken {
            Woken::InTime => break held,
            Woken::OtherRules => {
                let Some(others) = rules::given() else { break Held::NONE };
                held.slots = rules.same_in(others, held.slots);
                settle_all(others.half, held, |_| 0);
                rules = others;
            }
        }
    };
    if began != 0 {
        let waited = ticks::now().saturating_sub(began);
        rules::count_wait(thread, last, waited);
        table::header().throttled_ticks.fetch_add(waited, Relaxed);
    }
    Some(held)
}

/// Reserves in all buckets. The slot whose rule lets the call begin last.
fn take(rules: Rules, held: &mut Held, now: u64) -> usize {
    let mut last = 0;
    for slot in slots(held.slots) {
        let Some(Bucket { next_ns, .. }) = rules::bucket(slot) else { continue };
        let burst = rules.half.bursts_ns[slot].load(Relaxed);
        let start = reserve(next_ns, now, cost(rules.half, slot, held.requested), burst);
        if start >= held.start_ns {
            (held.start_ns, last) = (start, slot);
        }
    }
    last
}

/// Whether the calling thread may sleep.
fn may_wait(words: &ThreadWords) -> bool {
    process::system_calls_allowed() && !process::is_ending() && !masks::in_handler(words)
}

/// Sleeps until the rule of a slot lets the call begin, or nobody is there any more who wants it held back.
fn wait(rules: Rules, slot: usize, held: &mut Held) -> Woken {
    let Some(Bucket { returned_ns, .. }) = rules::bucket(slot) else { return Woken::InTime };
    let (start, returned) = (held.start_ns, returned_ns.load(Relaxed));
    let shortest = (rules.half.bursts_ns[slot].load(Relaxed) / 2).clamp(SHORTEST_SLEEP_NS, LONGEST_SLEEP_NS);
    loop {
        let now = ticks::monotonic_ns();
        held.start_ns = begins_at(start, returned_ns, returned);
        if held.start_ns <= now {
            return Woken::InTime;
        }
        if rules::given().is_none_or(|others| others.generation != rules.generation) {
            return Woken::OtherRules;
        }
        if !agent_lives() {
            FREE_UNTIL_NS.store(now + DEAD_FOR_NS, Relaxed);
            return Woken::InTime;
        }
        sleep((held.start_ns - now).min(shortest));
    }
}

/// Whether an agent holds its lock on the file of rules. It is a lock of an open file, so that no descriptor of ours can end it.
fn agent_lives() -> bool {
    let held = rules::with_file(|file| {
        let mut lock = libc::flock {
            l_type: libc::F_RDLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: LOCK_AT as libc::off_t,
            l_len: 1,
            l_pid: 0,
        };
        let arguments = [file as usize, libc::F_OFD_GETLK as usize, &raw mut lock as usize, 0, 0, 0];
        // SAFETY: the kernel reads and fills the structure.
        let asked = unsafe { sys::call(libc::SYS_fcntl, arguments) };
        asked == 0 && lock.l_type != libc::F_UNLCK as libc::c_short
    });
    held == Some(true)
}

fn sleep(ns: u64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: ns as libc::c_long };
    // SAFETY: less than a second; a signal ends it early, and then it is looked how long there is still to wait.
    unsafe { sys::call(libc::SYS_nanosleep, [&raw const time as usize, 0, 0, 0, 0, 0]) };
}

/// A call has moved so many bytes: what it reserved beyond them is given back, and what it moved beyond that is charged.
#[inline(always)]
pub fn settle(held: Held, moved: u64) {
    if held.slots != 0 && held.requested != moved {
        settle_if_same(held, moved);
    }
}

#[inline(never)]
fn settle_if_same(held: Held, moved: u64) {
    let (Some(before), Some(rules)) = (rules::of_generation(held.generation), rules::given()) else { return };
    // The buckets of rules that have gone are others'.
    let (half, slots) = (rules.half, before.same_in(rules, held.slots));
    let used = |slot: usize| if half.fitting(1 << slot, moved) == 0 { 0 } else { cost(half, slot, moved) };
    settle_all(half, Held { slots, ..held }, used);
}

fn settle_all(half: &Half, held: Held, used_ns: impl Fn(usize) -> u64) {
    let now = ticks::monotonic_ns();
    for slot in slots(held.slots) {
        let Some(Bucket { next_ns, returned_ns, .. }) = rules::bucket(slot) else { continue };
        let burst = half.bursts_ns[slot].load(Relaxed);
        let (reserved, used) = (cost(half, slot, held.requested), used_ns(slot));
        if used > reserved {
            reserve(next_ns, now, used - reserved, burst);
        } else {
            let call = Reserved { start_ns: held.start_ns, cost_ns: reserved, unused_ns: reserved - used };
            give_back(next_ns, returned_ns, call, now, burst);
        }
    }
}

/// Charges a call that is not held back: it reached no kernel.
#[inline(always)]
pub fn charge(operation: Operation, file: u32, bytes: u64) {
    if let Some(rules) = rules_for(operation) {
        charge_by(rules, operation, file, bytes);
    }
}

#[inline(never)]
fn charge_by(rules: Rules, operation: Operation, file: u32, bytes: u64) {
    let slots = holding(rules, operation, file, bytes);
    let mut held = Held { generation: rules.generation, slots, requested: bytes, start_ns: 0 };
    take(rules, &mut held, ticks::monotonic_ns());
}
