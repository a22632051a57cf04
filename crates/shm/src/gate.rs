//! A gate that stays awake, for the last moment before a start.

use crate::barrier::Closed;
use crate::sync::{AtomicU64, Ordering, spin_loop, yield_now};

/// When a gate opened, and when this process left it.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// The same instant for all.
    pub opened_ns: u64,
    /// This process's own.
    pub left_ns: u64,
}

/// What a process that waits at a gate shows to the others.
pub trait Waiter {
    /// When it last was on a processor while it waited, on the node's time line.
    fn awake_ns(&self) -> &AtomicU64;
}

/// A process that has a processor of its own shows the time every few dozen nanoseconds. One that showed it less than
/// this ago is running now: being put back on a processor would have taken longer.
const RUNNING_NS: u64 = 1_000;

/// Processes that take turns on a processor are ready if each had its turn within this, and this much more for each of them.
const TURNS_NS: u64 = 100_000;
const TURN_NS: u64 = 2_000;

/// How long a gate stays closed for a process that others keep from the processor. It opens then all the same: the
/// spread is measured, and doubted.
const LONGEST_CLOSED_NS: u64 = 20_000_000;

/// Lets processes start together that have just been woken one by one.
///
/// It opens when all of them are on a processor, or take turns on it, at the same time: one that waits behind
/// some other process of a busy machine would start milliseconds late.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Gate {
    /// How many ever came; generation g is complete at (g + 1) × the number of waiters.
    came: AtomicU64,
    /// Generations that were opened.
    opened: AtomicU64,
    /// When the last one was opened.
    opened_ns: AtomicU64,
    /// How many ever got through.
    through: AtomicU64,
}

impl Gate {
    /// Forgets who came. Nobody may be waiting.
    pub fn reset(&self) {
        [&self.came, &self.opened, &self.opened_ns, &self.through]
            .into_iter()
            .for_each(|word| word.store(0, Ordering::SeqCst));
    }

    /// Waits, awake, as number `index` of `waiters`, until the gate opens for all of them, and not before `opens_ns`.
    pub fn pass(
        &self,
        crowd: Crowd,
        waiters: &[impl Waiter],
        index: usize,
        opens_ns: u64,
        now_ns: impl Fn() -> u64,
        give_up: impl Fn() -> bool,
    ) -> Result<Start, Closed> {
        let size = u64::from(crowd.waiters);
        let came = self.came.fetch_add(1, Ordering::SeqCst);
        let generation = came / size;
        let last = (came + 1).is_multiple_of(size);
        let since_ns = now_ns().max(opens_ns);
        while self.opened.load(Ordering::SeqCst) <= generation {
            let now_ns = now_ns();
            waiters[index].awake_ns().store(now_ns, Ordering::SeqCst);
            let ready = now_ns >= opens_ns && crowd.is_ready(waiters, now_ns);
            if last && (ready || now_ns > since_ns + LONGEST_CLOSED_NS) {
                self.opened_ns.store(now_ns, Ordering::SeqCst);
                self.opened.store(generation + 1, Ordering::SeqCst);
            }
            if give_up() {
                return Err(Closed);
            }
            crowd.wait_a_moment();
        }
        let start = Start { opened_ns: self.opened_ns.load(Ordering::SeqCst), left_ns: now_ns() };
        // In a dense crowd the first ones through would keep the processor for a whole time slice, and with it the
        // others from getting through at all.
        self.through.fetch_add(1, Ordering::SeqCst);
        while crowd.is_dense() && self.through.load(Ordering::SeqCst) < (generation + 1) * size {
            if give_up() {
                return Err(Closed);
            }
            crowd.wait_a_moment();
        }
        Ok(start)
    }
}

/// How many processes wait on how many processors.
#[derive(Debug, Clone, Copy)]
pub struct Crowd {
    /// Processes that wait.
    pub waiters: u32,
    /// Processors that they may use.
    pub processors: u32,
}

impl Crowd {
    /// True if some must wait for a processor.
    fn is_dense(self) -> bool {
        self.waiters > self.processors
    }

    /// True if every one is on a processor, or takes turns on one.
    fn is_ready(self, waiters: &[impl Waiter], now_ns: u64) -> bool {
        let moment_ns = if self.is_dense() { TURNS_NS + TURN_NS * u64::from(self.waiters) } else { RUNNING_NS };
        waiters.iter().all(|waiter| waiter.awake_ns().load(Ordering::SeqCst) + moment_ns > now_ns)
    }

    /// Passes a moment without sleeping. Only in a dense crowd is the processor yielded: a waiter that
    /// yields may get it back a whole time slice (some milliseconds) later.
    fn wait_a_moment(self) {
        if self.is_dense() { yield_now() } else { spin_loop() }
    }
}

#[cfg(all(test, feature = "loom"))]
mod models {
    use super::*;
    use crate::sync::AtomicU32;
    use crate::sync::model::{Arc, Sleep, check, thread};

    #[derive(Default)]
    struct AwakeTime(AtomicU64);

    impl Waiter for AwakeTime {
        fn awake_ns(&self) -> &AtomicU64 {
            &self.0
        }
    }

    #[test]
    fn it_opens_at_one_instant_for_all_and_for_nobody_before_the_last_one_comes() {
        for processors in [1, 2] {
            check(Sleep::AtAnyTime, move || {
                let shared = Arc::new((Gate::default(), AtomicU32::new(0), <[AwakeTime; 2]>::default()));
                let pass = move |(gate, came, shown): &(Gate, AtomicU32, [AwakeTime; 2]), index: usize| {
                    came.fetch_add(1, Ordering::Relaxed);
                    // Each reads another time, so that what they say of the opening is not the same by chance.
                    let now_ns = || 1_000 + index as u64;
                    let start = gate.pass(Crowd { waiters: 2, processors }, shown, index, 0, now_ns, || false).unwrap();
                    assert_eq!(came.load(Ordering::Relaxed), 2);
                    start.opened_ns
                };
                let other = Arc::clone(&shared);
                let other = thread::spawn(move || pass(&other, 1));
                let opened_ns = pass(&shared, 0);
                assert!(opened_ns >= 1_000);
                assert_eq!(opened_ns, other.join().unwrap());
            });
        }
    }
}
