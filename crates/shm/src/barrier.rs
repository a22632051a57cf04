//! A barrier that sleeps in the kernel: who came early must leave the processors to the rest.

use crate::futex;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// A waiter gave up: the barrier lets none through any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

/// Set in a barrier's state when a waiter gave up: from then on it lets none through.
const CLOSED: u64 = 1 << 63;

/// A barrier that sleeps. One word holds generation (upper half) and arrivals (lower half), so that giving up
/// and getting through exclude each other: either all pass a generation or none does.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Barrier {
    state: AtomicU64,
    /// Rises when a generation passes: what sleepers sleep on.
    passed: AtomicU32,
}

impl Barrier {
    /// Forgets who came and who gave up. Nobody may be waiting.
    pub fn reset(&self) {
        self.state.store(0, Ordering::SeqCst);
    }

    /// Waits until `size` processes are here. Gives up, for all of them, when `give_up` says so.
    pub fn wait(&self, size: u32, give_up: impl Fn() -> bool) -> Result<(), Closed> {
        if give_up() {
            self.state.fetch_or(CLOSED, Ordering::SeqCst);
        }
        let mut state = self.state.load(Ordering::SeqCst);
        let generation = loop {
            if state & CLOSED != 0 {
                return Err(Closed);
            }
            let (generation, arrived) = (state >> 32, state as u32 + 1);
            let next = if arrived == size { (generation + 1) << 32 } else { state + 1 };
            match self.state.compare_exchange(state, next, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) if arrived == size => {
                    self.passed.fetch_add(1, Ordering::SeqCst);
                    futex::wake_all(&self.passed);
                    return Ok(());
                }
                Ok(_) => break generation,
                Err(now) => state = now,
            }
        };
        loop {
            let passed = self.passed.load(Ordering::SeqCst);
            let state = self.state.load(Ordering::SeqCst);
            if (state & !CLOSED) >> 32 != generation {
                return Ok(());
            }
            if state & CLOSED != 0 {
                return Err(Closed);
            }
            if give_up() {
                // Another waiter may pass the generation at this very moment; then we pass with it.
                let closed = state | CLOSED;
                if self.state.compare_exchange(state, closed, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                    return Err(Closed);
                }
                continue;
            }
            futex::wait(&self.passed, passed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn nobody_passes_before_the_last_one_comes() {
        let barrier = Barrier::default();
        let came = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for round in 1..=if cfg!(miri) { 3 } else { 200 } {
                        came.fetch_add(1, Ordering::SeqCst);
                        barrier.wait(8, || false).unwrap();
                        assert!(came.load(Ordering::SeqCst) >= 8 * round);
                        barrier.wait(8, || false).unwrap();
                    }
                });
            }
        });
    }

    /// The case that loses runs: a stop that some see before they wait and others while they wait.
    #[test]
    fn giving_up_is_for_all_or_for_none() {
        for _ in 0..if cfg!(miri) { 5 } else { 500 } {
            let barrier = Barrier::default();
            let stop = AtomicBool::new(false);
            let results: Vec<_> = std::thread::scope(|scope| {
                let ranks: Vec<_> =
                    (0..4).map(|_| scope.spawn(|| barrier.wait(4, || stop.load(Ordering::SeqCst)))).collect();
                stop.store(true, Ordering::SeqCst);
                ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
            });
            assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
        }
    }
}

#[cfg(all(test, feature = "loom"))]
mod models {
    use super::*;
    use crate::sync::AtomicBool;
    use crate::sync::model::{Arc, Sleep, check, thread};

    #[test]
    fn nobody_passes_before_the_last_one_comes_and_nobody_sleeps_on() {
        check(Sleep::Woken, || {
            let shared = Arc::new((Barrier::default(), AtomicU32::new(0)));
            let live = |(barrier, came): &(Barrier, AtomicU32)| {
                for round in 1..=2 {
                    came.fetch_add(1, Ordering::Relaxed);
                    barrier.wait(2, || false).unwrap();
                    assert!(came.load(Ordering::Relaxed) >= 2 * round);
                }
            };
            let other = Arc::clone(&shared);
            let other = thread::spawn(move || live(&other));
            live(&shared);
            other.join().unwrap();
        });
    }

    #[test]
    fn giving_up_is_for_all_or_for_none() {
        check(Sleep::AtAnyTime, || {
            let shared = Arc::new((Barrier::default(), AtomicBool::new(false)));
            let wait = |(barrier, stop): &(Barrier, AtomicBool)| barrier.wait(2, || stop.load(Ordering::SeqCst));
            let (other, stopper) = (Arc::clone(&shared), Arc::clone(&shared));
            let other = thread::spawn(move || wait(&other));
            let stopper = thread::spawn(move || stopper.1.store(true, Ordering::SeqCst));
            let result = wait(&shared);
            assert_eq!(result, other.join().unwrap());
            stopper.join().unwrap();
        });
    }
}
