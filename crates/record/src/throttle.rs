//! How a rate is kept by all processes of a node together: a number that they share, and no lock.
//!
//! The number is the moment at which the next call may begin (virtual scheduling, as the "generic cell rate algorithm" of ITU-T
//! I.371). A call moves it on by what the call costs at the rate, and waits until where it was. A moment further back than the
//! burst counts as that: what was not used in time is forfeited. So no call waits for itself: one that is larger than the burst
//! goes at once, and those after it wait for its debt.
//!
//! What a call reserved and did not use it gives back. Those that wait already got a begin after it: a second number
//! says how much has been given back at all, and they may begin by as much earlier as it has grown meanwhile
//! ([`begins_at`]).
//!
//! Not here: clocks, waiting, which calls are meant.

#[cfg(not(feature = "loom"))]
use core::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
};

#[cfg(feature = "loom")]
use loom::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
};

const NS_PER_SECOND: u128 = 1_000_000_000;
/// What a call costs at most, ten minutes: a rate that is nearly none must not stop a job for ever.
pub const MOST_COST_NS: u64 = 600 * 1_000_000_000;
/// A moment that is further ahead, by a day, is none that calls have led to: the memory was written over, or a process has another
/// clock (a time namespace). It is taken for now.
pub const MOST_AHEAD_NS: u64 = 24 * 3600 * 1_000_000_000;

/// What so many bytes, or calls, cost at a rate.
pub fn cost_ns(amount: u64, rate_per_s: u64) -> u64 {
    let cost = u128::from(amount) * NS_PER_SECOND / u128::from(rate_per_s.max(1));
    cost.min(u128::from(MOST_COST_NS)) as u64
}

/// Takes what a call costs. The moment at which it may begin, on the clock of `now_ns`; all that is past is at once.
pub fn reserve(next_ns: &AtomicU64, now_ns: u64, cost_ns: u64, burst_ns: u64) -> u64 {
    let mut next = next_ns.load(Acquire);
    loop {
        let known = if next > now_ns.saturating_add(MOST_AHEAD_NS) { now_ns } else { next };
        let start = known.max(now_ns.saturating_sub(burst_ns));
        match next_ns.compare_exchange_weak(next, start.saturating_add(cost_ns), AcqRel, Acquire) {
            Ok(_) => return start,
            Err(other) => next = other,
        }
    }
}

/// When a call may begin that was to begin at `start_ns`: `returned_before` is what had been given back when it reserved, read after
/// that.
pub fn begins_at(start_ns: u64, returned_ns: &AtomicU64, returned_before: u64) -> u64 {
    start_ns.saturating_sub(returned_ns.load(Relaxed).wrapping_sub(returned_before))
}

/// A call that was let through.
#[derive(Debug, Clone, Copy)]
pub struct Reserved {
    /// When it was to begin.
    pub start_ns: u64,
    /// What it took.
    pub cost_ns: u64,
    /// Of that, what it did not use.
    pub unused_ns: u64,
}

/// Gives back what a call did not use of what it reserved. What was reserved for a time that is longer ago than the burst is
/// forfeited by now, and not given to others.
pub fn give_back(next_ns: &AtomicU64, returned_ns: &AtomicU64, call: Reserved, now_ns: u64, burst_ns: u64) {
    let Reserved { start_ns, cost_ns, unused_ns } = call;
    let of_use = start_ns.saturating_add(cost_ns).saturating_sub(now_ns.saturating_sub(burst_ns));
    let back = unused_ns.min(of_use);
    if back > 0 {
        // First: who reserves in between would else begin by twice as much earlier.
        returned_ns.fetch_add(back, Relaxed);
        let mut next = next_ns.load(Relaxed);
        while let Err(other) = next_ns.compare_exchange_weak(next, next.saturating_sub(back), AcqRel, Relaxed) {
            next = other;
        }
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const SECOND: u64 = 1_000_000_000;

    fn back(next: &AtomicU64, call: Reserved, now: u64, burst: u64) {
        give_back(next, &AtomicU64::new(0), call, now, burst);
    }

    fn reserved(start_ns: u64, cost_ns: u64, unused_ns: u64) -> Reserved {
        Reserved { start_ns, cost_ns, unused_ns }
    }

    #[test]
    fn a_call_larger_than_the_burst_goes_at_once_and_the_next_waits_for_its_debt() {
        let next = AtomicU64::new(0);
        let (now, burst) = (100 * SECOND, SECOND / 10);
        assert_eq!(reserve(&next, now, 5 * SECOND, burst), now - burst);
        assert_eq!(reserve(&next, now, SECOND, burst), now - burst + 5 * SECOND);
    }

    #[test]
    fn what_a_call_did_not_move_is_there_for_the_next() {
        let next = AtomicU64::new(0);
        let now = 100 * SECOND;
        let start = reserve(&next, now, 5 * SECOND, 0);
        back(&next, reserved(start, 5 * SECOND, 4 * SECOND), now, 0);
        assert_eq!(reserve(&next, now, SECOND, 0), now + SECOND);
    }

    #[test]
    fn those_that_wait_already_begin_earlier_by_what_is_given_back() {
        let (next, returned) = (AtomicU64::new(0), AtomicU64::new(0));
        let now = 100 * SECOND;
        let first = reserve(&next, now, 5 * SECOND, 0);
        let second = reserve(&next, now, SECOND, 0);
        give_back(&next, &returned, reserved(first, 5 * SECOND, 4 * SECOND), now, 0);
        assert_eq!((second, begins_at(second, &returned, 0)), (now + 5 * SECOND, now + SECOND));
        assert_eq!(reserve(&next, now, SECOND, 0), now + 2 * SECOND);
    }

    #[test]
    fn what_was_reserved_for_a_time_long_ago_is_not_given_back() {
        let next = AtomicU64::new(0);
        let (now, burst) = (100 * SECOND, SECOND);
        let start = reserve(&next, now, 5 * SECOND, burst);
        let later = now + 60 * SECOND;
        assert_eq!(reserve(&next, later, SECOND, burst), later - burst);
        back(&next, reserved(start, 5 * SECOND, 5 * SECOND), later, burst);
        assert_eq!(reserve(&next, later, SECOND, burst), later);
    }

    #[test]
    fn a_moment_that_no_calls_can_have_led_to_is_taken_for_now() {
        let next = AtomicU64::new(u64::MAX);
        assert_eq!(reserve(&next, 100 * SECOND, SECOND, 0), 100 * SECOND);
        assert_eq!(reserve(&next, 100 * SECOND, SECOND, 0), 101 * SECOND);
    }

    #[test]
    fn any_numbers_have_a_cost_and_a_start() {
        assert_eq!((cost_ns(u64::MAX, 0), cost_ns(1 << 20, 1 << 20)), (MOST_COST_NS, SECOND));
        let next = AtomicU64::new(0);
        reserve(&next, u64::MAX, u64::MAX, u64::MAX);
        back(&next, reserved(u64::MAX, u64::MAX, u64::MAX), 0, u64::MAX);
        assert_eq!(next.into_inner(), 0);
    }

    proptest! {
        /// Calls that come after each other: how long after the last came, their bytes, and how many of them are moved.
        #[test]
        fn no_window_of_time_lets_more_pass_than_the_rate_the_burst_and_one_call(
            calls in prop::collection::vec((0..SECOND / 4, 1..1_u64 << 22, 0..100_u64), 1..60),
            rate in 1_000_000..1_000_000_000_u64,
            burst in 0..SECOND / 2,
        ) {
            let next = AtomicU64::new(0);
            let mut now = 1000 * SECOND;
            // When a call went, and what it moved; it goes as soon as it may, and its program calls one after another.
            let mut passed: Vec<(u64, u64)> = Vec::new();
            for (pause, bytes, percent) in calls {
                now += pause;
                let cost = cost_ns(bytes, rate);
                let start = reserve(&next, now, cost, burst);
                now = now.max(start);
                let moved = bytes * percent / 100;
                back(&next, reserved(start, cost, cost - cost_ns(moved, rate)), now, burst);
                passed.push((now, moved));
            }
            for first in 0..passed.len() {
                for last in first..passed.len() {
                    let sum: u64 = passed[first..=last].iter().map(|(_, moved)| moved).sum();
                    let window = passed[last].0 - passed[first].0 + burst;
                    let most = u128::from(window) * u128::from(rate) / NS_PER_SECOND;
                    // The last call is a debt, and each is rounded to nanoseconds.
                    let rounding = (last - first + 1) as u128 * u128::from(rate / SECOND + 1);
                    prop_assert!(u128::from(sum) <= most + u128::from(passed[last].1) + rounding, "{sum} {most}");
                }
            }
        }

        #[test]
        fn a_program_that_never_pauses_gets_its_rate(
            bytes in 1..1_u64 << 24, rate in 1_000_000..1_000_000_000_u64, burst in 0..SECOND,
        ) {
            let next = AtomicU64::new(0);
            let begin = 1000 * SECOND;
            let (mut now, mut moved) = (begin, 0_u64);
            for _ in 0..1000 {
                now = now.max(reserve(&next, now, cost_ns(bytes, rate), burst));
                moved += bytes;
            }
            let least = u128::from(now - begin) * u128::from(rate) / NS_PER_SECOND;
            prop_assert!(u128::from(moved) >= least, "{moved} {least}");
        }
    }
}

#[cfg(all(test, feature = "loom"))]
mod models {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    #[test]
    fn two_calls_that_come_at_once_begin_one_after_the_other() {
        loom::model(|| {
            let next = Arc::new(AtomicU64::new(0));
            let other = Arc::clone(&next);
            let other = thread::spawn(move || reserve(&other, 100, 10, 0));
            let first = reserve(&next, 100, 10, 0);
            let mut starts = [first, other.join().unwrap()];
            starts.sort_unstable();
            assert_eq!((starts, next.load(Relaxed)), ([100, 110], 120));
        });
    }

    #[test]
    fn what_is_given_back_while_another_reserves_is_neither_lost_nor_given_twice() {
        loom::model(|| {
            let shared = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
            let start_ns = reserve(&shared.0, 100, 10, 0);
            let other = Arc::clone(&shared);
            let other = thread::spawn(move || {
                let start = reserve(&other.0, 100, 10, 0);
                (start, other.1.load(Relaxed))
            });
            give_back(&shared.0, &shared.1, Reserved { start_ns, cost_ns: 10, unused_ns: 4 }, 100, 0);
            let (start, returned) = other.join().unwrap();
            let begin = begins_at(start, &shared.1, returned);
            assert!([106, 110].contains(&begin), "{begin}");
            assert_eq!(shared.0.load(Relaxed), 116);
        });
    }
}
