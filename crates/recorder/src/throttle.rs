//! Calls that rules hold back: before the real function, until their rules let them begin.
//!
//! A call reserves what it asks for in the bucket of each rule, waits until the last of them lets it begin, and settles
//! afterwards what it moved. Where it is not known before what a call will move (formatted streams, vectors, MPI-IO),
//! it waits for the debts of others and is charged afterwards. All processes of the job on the node share the buckets.
//!
//! Never held back, but charged: in a signal handler ([`masks`]), while the process ends, and where the kernel must not be called.
//! Neither held back nor charged: a child of `vfork`, what interrupts the recorder itself, and maps, requests of `aio` and of
//! io_uring, whose bytes move without a call. Functions that `exit` calls because `main` returned are held back like others, up to
//! our own. A wait is not interrupted by signals: a program that ends its reads by one (`alarm`) has its handler run at once, as if
//! the signal had come just before the read.
//!
//! Nobody waits for an agent that has died: its lock is asked for before each sleep, of a tenth of a second at most. Where that cannot be
//! asked, it has died when it was not there for some seconds.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ioassay_record::operation::{FIRST_TRANSFER, Operation};
use ioassay_record::rules::{Bucket, Half, LOCK_AT, RuleKind, slots};
use ioassay_record::table::Thread;
use ioassay_record::throttle::{Reserved, begins_at, cost_ns, give_back, reserve};

use crate::rules::{self, Matching, Rules};
use crate::thread_words::{ThreadWords, words};
use crate::{masks, process, sys, table, ticks};

const NS_PER_SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// The longest sleep: as long it may take until a call is released.
const LONGEST_SLEEP_NS: u64 = 100 * MS;
/// The shortest one that is made only to see whether others have given something back.
const SHORTEST_SLEEP_NS: u64 = MS;
/// For so long an agent that was found dead is not asked for again.
const DEAD_FOR_NS: u64 = 100 * MS;

/// Until then nobody is held back, because the agent has died.
static FREE_UNTIL_NS: AtomicU64 = AtomicU64::new(0);

/// That a call has reserved something: in one word, because every call has it with it. What it asked for is in the upper bits, the
/// end of the rules' generation in the lower. Which rules they are follows from that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation(u64);

/// Of a generation, and that there is one.
const GENERATION_BITS: u32 = 16;

impl Reservation {
    /// Of a call that no rule holds back.
    pub const NONE: Self = Self(0);

    fn by(rules: Rules, requested: u64) -> Self {
        Self(requested << GENERATION_BITS | Self::generation_of(rules))
    }

    fn generation_of(rules: Rules) -> u64 {
        (rules.generation << 1 | 1) & ((1 << GENERATION_BITS) - 1)
    }

    /// The rules by which it was, if they hold still or are those before.
    fn rules(self) -> Option<Rules> {
        let now = rules::given()?;
        let is_of = |rules: &Rules| self.0 & ((1 << GENERATION_BITS) - 1) == Self::generation_of(*rules);
        [Some(now), rules::of_generation(now.generation - 1)].into_iter().flatten().find(is_of)
    }

    fn requested(self) -> u64 {
        self.0 >> GENERATION_BITS
    }
}

/// Why a wait is over.
enum WaitEnd {
    /// The call may begin.
    InTime,
    /// Other rules hold.
    OtherRules,
}

/// Holds a call back if rules say so. The calling thread is busy, and not while it waits; `requested` is 0 where that
/// is unknown. Nothing where the process is another one afterwards: a signal handler has forked it, and the call is its
/// parent's.
#[inline(always)]
pub fn hold(
    thread: &'static Thread,
    operation: Operation,
    matching: &'static Matching,
    requested: u64,
) -> Option<Reservation> {
    match rules_for(operation) {
        None => Some(Reservation::NONE),
        Some(rules) => hold_back(rules, thread, operation, matching, requested),
    }
}

/// The rules that hold, if some may hold back calls of an operation.
#[inline(always)]
fn rules_for(operation: Operation) -> Option<Rules> {
    let rules = rules::given()?;
    (rules.half.throttles.load(Relaxed) & rules.half.of(operation) != 0).then_some(rules)
}

/// The slots whose rules hold back a call that moves so many bytes; 0 where that is unknown.
fn holding(rules: Rules, operation: Operation, matching: &'static Matching, bytes: u64) -> u64 {
    if matches!(operation, Operation::Map | Operation::SubmitRead | Operation::SubmitWrite) {
        return 0;
    }
    let is_transfer = operation as usize >= FIRST_TRANSFER;
    let set = rules.of(operation, matching) & rules.half.throttles.load(Relaxed);
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
fn hold_back(
    mut rules: Rules,
    thread: &'static Thread,
    operation: Operation,
    matching: &'static Matching,
    requested: u64,
) -> Option<Reservation> {
    let (words, table) = (words(), process::table());
    // More than the word has room for costs no more.
    let requested = requested.min(u64::MAX >> GENERATION_BITS);
    let (mut began, mut last) = (0, 0);
    let reservation = loop {
        let set = holding(rules, operation, matching, requested);
        if set == 0 {
            break Reservation::NONE;
        }
        let now = ticks::monotonic_ns();
        if now < FREE_UNTIL_NS.load(Relaxed) {
            break Reservation::NONE;
        }
        let start;
        (start, last) = take(rules, set, requested, now);
        let reservation = Reservation::by(rules, requested);
        if start <= now || !may_wait(words) {
            break reservation;
        }
        if began == 0 {
            began = ticks::now();
        }
        words.leave();
        let woken = wait(rules, last, start);
        words.enter();
        if process::table() != table {
            words.leave();
            return None;
        }
        match woken {
            WaitEnd::InTime => break reservation,
            WaitEnd::OtherRules => {
                let Some(others) = rules::given() else { break Reservation::NONE };
                settle_all(others.half, rules.same_in(others, set), requested, start, |_| 0);
                rules = others;
            }
        }
    };
    if began != 0 {
        let waited = ticks::now().saturating_sub(began);
        rules::count_wait(thread, last, waited);
        table::header().throttled_ticks.fetch_add(waited, Relaxed);
    }
    Some(reservation)
}

/// Reserves what is asked for in the buckets of a set of slots. When the call may begin, and the slot whose rule says so.
fn take(rules: Rules, set: u64, requested: u64, now: u64) -> (u64, usize) {
    let (mut latest, mut last) = (0, 0);
    for slot in slots(set) {
        let Some(Bucket { next_ns, .. }) = rules::bucket(slot) else { continue };
        let burst = rules.half.bursts_ns[slot].load(Relaxed);
        let start = reserve(next_ns, now, cost(rules.half, slot, requested), burst);
        if start >= latest {
            (latest, last) = (start, slot);
        }
    }
    (latest, last)
}

/// Whether the calling thread may sleep.
fn may_wait(words: &ThreadWords) -> bool {
    process::system_calls_allowed() && !process::is_ending() && !masks::in_handler(words)
}

/// Sleeps until the rule of a slot lets the call begin, or nobody is there any more who wants it held back.
fn wait(rules: Rules, slot: usize, start: u64) -> WaitEnd {
    let Some(Bucket { returned_ns, .. }) = rules::bucket(slot) else { return WaitEnd::InTime };
    let returned = returned_ns.load(Relaxed);
    let shortest = (rules.half.bursts_ns[slot].load(Relaxed) / 2).clamp(SHORTEST_SLEEP_NS, LONGEST_SLEEP_NS);
    loop {
        let now = ticks::monotonic_ns();
        let begin = begins_at(start, returned_ns, returned);
        if begin <= now {
            return WaitEnd::InTime;
        }
        if rules::given().is_none_or(|others| others.generation != rules.generation) {
            return WaitEnd::OtherRules;
        }
        if !agent_lives() {
            FREE_UNTIL_NS.store(now + DEAD_FOR_NS, Relaxed);
            return WaitEnd::InTime;
        }
        sleep((begin - now).min(shortest));
    }
}

/// Whether an agent lives: it holds its lock on the file of rules. That is a lock of an open file, so that no descriptor of ours can end it.
fn agent_lives() -> bool {
    let reservation = rules::with_file(libc::O_RDONLY, |file| {
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
    // In another root directory, as another user, or where the file was removed, it cannot be asked.
    reservation.unwrap_or_else(rules::agent_was_seen)
}

fn sleep(ns: u64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: ns as libc::c_long };
    // SAFETY: less than a second; a signal ends it early, and then it is looked how long there is still to wait.
    unsafe { sys::call(libc::SYS_nanosleep, [&raw const time as usize, 0, 0, 0, 0, 0]) };
}

/// A call has moved so many bytes, in so many ticks: what it reserved beyond them is given back, and what it moved beyond that is
/// charged.
#[inline(always)]
pub fn settle(reservation: Reservation, operation: Operation, matching: &'static Matching, moved: u64, took: u64) {
    if reservation != Reservation::NONE && reservation.requested() != moved {
        settle_held(reservation, operation, matching, moved, took);
    }
}

#[inline(never)]
fn settle_held(reservation: Reservation, operation: Operation, matching: &'static Matching, moved: u64, took: u64) {
    let (Some(before), Some(rules)) = (reservation.rules(), rules::given()) else { return };
    let requested = reservation.requested();
    // The buckets of rules that have gone are others'.
    let (half, set) = (rules.half, before.same_in(rules, holding(before, operation, matching, requested)));
    // It was let through just before it began, or some of the burst earlier.
    let took_ns = u128::from(took) * u128::from(NS_PER_SECOND) / u128::from(ticks::per_second());
    let start = ticks::monotonic_ns().saturating_sub(took_ns as u64);
    let used = |slot: usize| if half.fitting(1 << slot, moved) == 0 { 0 } else { cost(half, slot, moved) };
    settle_all(half, set, requested, start, used);
}

/// Settles with all slots of a set what was asked for, from `start` on, and what was used.
fn settle_all(half: &Half, set: u64, requested: u64, start_ns: u64, used_ns: impl Fn(usize) -> u64) {
    let now = ticks::monotonic_ns();
    for slot in slots(set) {
        let Some(Bucket { next_ns, returned_ns, .. }) = rules::bucket(slot) else { continue };
        let burst = half.bursts_ns[slot].load(Relaxed);
        let (cost_ns, used) = (cost(half, slot, requested), used_ns(slot));
        if used > cost_ns {
            reserve(next_ns, now, used - cost_ns, burst);
        } else {
            let call = Reserved { start_ns, cost_ns, unused_ns: cost_ns - used };
            give_back(next_ns, returned_ns, call, now, burst);
        }
    }
}

/// Charges a call that is not held back: it reached no kernel.
#[inline(always)]
pub fn charge(operation: Operation, matching: &'static Matching, bytes: u64) {
    if let Some(rules) = rules_for(operation) {
        charge_by(rules, operation, matching, bytes);
    }
}

#[inline(never)]
fn charge_by(rules: Rules, operation: Operation, matching: &'static Matching, bytes: u64) {
    take(rules, holding(rules, operation, matching, bytes), bytes, ticks::monotonic_ns());
}
