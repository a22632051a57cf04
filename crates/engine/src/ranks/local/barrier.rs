//! Barriers in shared memory.
//!
//! [`Barrier`] sleeps in the kernel (futex): ranks that finished early must leave the processors to the rest.
//! [`Gate`] stays awake instead, for the last moment before a start.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::measure::recorder::Shown;
use crate::ranks::{Start, Stopped};

/// How often a sleeper looks whether it still has a reason to wait. Whoever has something for it wakes it; more often than this
/// would only take processor time from ranks that still work.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Set in a barrier's state when somebody gave up: from then on nobody gets through.
const CLOSED: u64 = 1 << 63;

/// A barrier that sleeps. One word holds generation (upper half) and arrivals (lower half), so that giving up
/// and getting through exclude each other: either all ranks pass a generation or none does.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Barrier {
    state: AtomicU64,
    /// Rises when a generation passes: what sleepers sleep on.
    passed: AtomicU32,
}

impl Barrier {
    /// Forgets who came and who gave up. Nobody may be waiting.
    pub fn begin_anew(&self) {
        self.state.store(0, Ordering::SeqCst);
    }

    /// Waits until `size` ranks are here. Gives up, for all of them, when `give_up` says so.
    pub fn wait(&self, size: u32, give_up: impl Fn() -> bool) -> Result<(), Stopped> {
        if give_up() {
            self.state.fetch_or(CLOSED, Ordering::SeqCst);
        }
        let mut state = self.state.load(Ordering::SeqCst);
        let generation = loop {
            if state & CLOSED != 0 {
                return Err(Stopped);
            }
            let (generation, arrived) = (state >> 32, state as u32 + 1);
            let next = if arrived == size { (generation + 1) << 32 } else { state + 1 };
            match self.state.compare_exchange(state, next, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) if arrived == size => {
                    self.passed.fetch_add(1, Ordering::SeqCst);
                    wake_all(&self.passed);
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
                return Err(Stopped);
            }
            if give_up() {
                // Somebody may pass the generation at this very moment; then we pass with it.
                let closed = state | CLOSED;
                if self.state.compare_exchange(state, closed, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                    return Err(Stopped);
                }
                continue;
            }
            sleep_on(&self.passed, passed);
        }
    }
}

/// A rank that has a processor of its own shows the time every few dozen nanoseconds. One that showed it less than
/// this ago is running now: being put back on a processor would have taken longer.
const RUNNING_NS: u64 = 1_000;

/// Ranks that take turns on a processor are ready if each had its turn within this, and this much more for each rank.
const TURNS_NS: u64 = 100_000;
const TURN_NS: u64 = 2_000;

/// How long a gate stays closed for a rank that others keep from the processor. It opens then all the same: the
/// spread is measured, and doubted.
const PATIENCE_NS: u64 = 20_000_000;

/// Lets ranks start together that have just been woken one by one.
///
/// It opens when all of them are on a processor, or take turns on it, at the same time: a rank that waits behind
/// some other process of a busy machine would start milliseconds late.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Gate {
    /// Ranks that ever came; generation g is complete at (g + 1) × ranks.
    came: AtomicU64,
    /// Generations that were opened.
    opened: AtomicU64,
    /// When the last one was opened.
    opened_ns: AtomicU64,
    /// Ranks that ever got through.
    through: AtomicU64,
}

impl Gate {
    /// Forgets who came. Nobody may be waiting.
    pub fn begin_anew(&self) {
        [&self.came, &self.opened, &self.opened_ns, &self.through]
            .into_iter()
            .for_each(|word| word.store(0, Ordering::SeqCst));
    }

    /// Waits, awake, as `rank` of those in `shown`, until the gate opens for all of them, and not before `opens_ns`.
    pub fn pass(
        &self,
        crowd: Crowd,
        shown: &[Shown],
        rank: u32,
        opens_ns: u64,
        now_ns: impl Fn() -> u64,
        give_up: impl Fn() -> bool,
    ) -> Result<Start, Stopped> {
        let ranks = u64::from(crowd.ranks);
        let came = self.came.fetch_add(1, Ordering::SeqCst);
        let generation = came / ranks;
        let last = (came + 1).is_multiple_of(ranks);
        let since_ns = now_ns().max(opens_ns);
        while self.opened.load(Ordering::SeqCst) <= generation {
            let now_ns = now_ns();
            shown[rank as usize].awake_ns.store(now_ns, Ordering::SeqCst);
            let ready = now_ns >= opens_ns && crowd.is_ready(shown, now_ns);
            if last && (ready || now_ns > since_ns + PATIENCE_NS) {
                self.opened_ns.store(now_ns, Ordering::SeqCst);
                self.opened.store(generation + 1, Ordering::SeqCst);
            }
            if give_up() {
                return Err(Stopped);
            }
            crowd.wait_a_moment();
        }
        let start = Start { opened_ns: self.opened_ns.load(Ordering::SeqCst), left_ns: now_ns() };
        // In a dense crowd the first ones through would keep the processor for a whole time slice, and with it the
        // others from getting through at all.
        self.through.fetch_add(1, Ordering::SeqCst);
        while crowd.is_dense() && self.through.load(Ordering::SeqCst) < (generation + 1) * ranks {
            if give_up() {
                return Err(Stopped);
            }
            crowd.wait_a_moment();
        }
        Ok(start)
    }
}

/// How many ranks wait on how many processors.
#[derive(Debug, Clone, Copy)]
pub struct Crowd {
    /// Ranks of this node.
    pub ranks: u32,
    /// Processors that they may use.
    pub processors: u32,
}

impl Crowd {
    /// True if some ranks must wait for a processor.
    fn is_dense(self) -> bool {
        self.ranks > self.processors
    }

    /// True if every rank is on a processor, or takes turns on one.
    fn is_ready(self, shown: &[Shown], now_ns: u64) -> bool {
        let moment_ns = if self.is_dense() { TURNS_NS + TURN_NS * u64::from(self.ranks) } else { RUNNING_NS };
        shown.iter().all(|rank| rank.awake_ns.load(Ordering::SeqCst) + moment_ns > now_ns)
    }

    /// Passes a moment without sleeping. Only in a dense crowd does the processor go to somebody else: whoever
    /// yields may get it back a whole time slice (some milliseconds) later.
    fn wait_a_moment(self) {
        if self.is_dense() { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}

/// Sleeps while `word` is `value`, at most [`LOOK_AGAIN`].
pub(crate) fn sleep_on(word: &AtomicU32, value: u32) {
    sleep_on_for(word, value, LOOK_AGAIN);
}

/// Sleeps while `word` is `value`, at most for `limit`, which is less than a second.
pub(crate) fn sleep_on_for(word: &AtomicU32, value: u32, limit: Duration) {
    let limit = libc::timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
    // SAFETY: the word and the time limit live through the call; FUTEX_WAIT without FUTEX_PRIVATE_FLAG works
    // across processes. Errors (woken early, value changed, time over) all mean: look again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &limit) };
}

/// Wakes all who sleep on `word`.
pub(crate) fn wake_all(word: &AtomicU32) {
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
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
                    for round in 1..=200 {
                        came.fetch_add(1, Ordering::SeqCst);
                        barrier.wait(8, || false).unwrap();
                        assert!(came.load(Ordering::SeqCst) >= 8 * round);
                        barrier.wait(8, || false).unwrap();
                    }
                });
            }
        });
    }

    /// The case that loses runs: a stop that some ranks see before they wait and others while they wait.
    #[test]
    fn giving_up_is_for_all_or_for_none() {
        for _ in 0..500 {
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
