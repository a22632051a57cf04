//! Whether a rank's process ran at all: a thread that wakes several times a second, and notes when it could not.
//!
//! A signal (SIGSTOP), a frozen control group and a paused or sleeping machine stop a rank, mostly all of them at once, and
//! in its figures that looks like a storage that answered late. A storage that stalls stops only who waits for it: this thread
//! never does. It is told apart from a busy machine by what the kernel counts as time in which it waited for a processor.
//! Not here: suspensions that the engine was asked for ([`crate::supervise`]), which it heeds between two operations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ioassay_host::clock::{self, Clock};
use ioassay_host::process_usage::Waits;
use nix::sys::signal::{SigSet, SigmaskHow};

/// How often it wakes: a rank loses some ten microseconds a second by that.
const TICK: Duration = Duration::from_millis(100);

/// What is later than this, and did not wait for a processor, did not run.
const LEAST_PAUSE_NS: u64 = 200_000_000;

/// What the thread and its owner share.
#[derive(Debug, Default)]
struct Shared {
    ended: AtomicBool,
    /// Begin and end of each pause, on the node's time line.
    pauses: Mutex<Vec<(u64, u64)>>,
}

/// Watches from when it is made to [`Heartbeat::stop`].
#[derive(Debug)]
pub struct Heartbeat {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    /// One that tells times of `clock`. Without a thread, which a system may refuse, it sees nothing.
    pub fn started(clock: Clock) -> Self {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        // What is sent to the process is for its first thread, which may be waiting for just that.
        let masked = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK);
        let builder = thread::Builder::new().name("heartbeat".to_owned());
        let thread = builder.spawn(move || watch(&theirs, &clock)).ok();
        if let Ok(mask) = masked {
            // It was valid before.
            let _ = mask.thread_set_mask();
        }
        Self { shared, thread }
    }

    /// Ends it. Returns begin and end of each time in which nothing ran, on the node's time line, in their order.
    pub fn stop(mut self) -> Vec<(u64, u64)> {
        self.end();
        std::mem::take(&mut self.shared.pauses.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn end(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It does not panic, and would have nothing to say.
            let _ = thread.join();
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.end();
    }
}

/// The time by clocks that go on in different states of the machine, and how long the thread waited for a processor so far.
struct Instant {
    now_ns: u64,
    boottime_ns: u64,
    waited_ns: Option<u64>,
}

impl Instant {
    fn now(clock: &Clock, waits: &Waits) -> Self {
        Self { now_ns: clock.now_ns(), boottime_ns: clock::boottime_ns(), waited_ns: waits.so_far_ns() }
    }

    /// How much later than planned `then` came, beside waiting for a processor: by the clock that says most.
    fn late_ns(&self, then: &Self) -> u64 {
        let by_clock = then.now_ns.saturating_sub(self.now_ns);
        let by_boottime = then.boottime_ns.saturating_sub(self.boottime_ns);
        let waited = then.waited_ns.zip(self.waited_ns).map_or(0, |(then, before)| then.saturating_sub(before));
        by_clock.max(by_boottime).saturating_sub(TICK.as_nanos() as u64).saturating_sub(waited)
    }
}

fn watch(shared: &Shared, clock: &Clock) {
    let waits = Waits::of_thread();
    let mut before = Instant::now(clock, &waits);
    loop {
        thread::park_timeout(TICK);
        let now = Instant::now(clock, &waits);
        if before.late_ns(&now) >= LEAST_PAUSE_NS {
            shared.pauses.lock().unwrap_or_else(PoisonError::into_inner).push((before.now_ns, now.now_ns));
        }
        // After the look, so that a pause just before the end is seen.
        if shared.ended.load(Ordering::SeqCst) {
            return;
        }
        before = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn at(now_ns: u64, boottime_ns: u64, waited_ns: Option<u64>) -> Instant {
        Instant { now_ns, boottime_ns, waited_ns }
    }

    #[test]
    fn late_is_what_no_clock_and_no_wait_for_a_processor_explains() {
        let begin = at(0, 0, Some(0));
        assert_eq!(begin.late_ns(&at(SECOND_NS / 10, SECOND_NS / 10, Some(0))), 0, "on time");
        assert_eq!(begin.late_ns(&at(10 * SECOND_NS, 10 * SECOND_NS, Some(0))), 9_900_000_000, "stopped");
        assert_eq!(begin.late_ns(&at(SECOND_NS / 10, 10 * SECOND_NS, Some(0))), 9_900_000_000, "the machine slept");
        assert_eq!(begin.late_ns(&at(SECOND_NS, SECOND_NS, Some(890_000_000))), 10_000_000, "a busy machine");
        assert_eq!(at(0, 0, None).late_ns(&at(SECOND_NS, SECOND_NS, None)), 900_000_000, "the kernel does not count");
    }

    #[test]
    fn a_heartbeat_ends_when_it_is_told_to_and_notes_only_what_is_long() {
        let heartbeat = Heartbeat::started(Clock::calibrated());
        thread::sleep(3 * TICK);
        // A busy machine may delay it, but a test does not depend on that.
        let pauses = heartbeat.stop();
        assert!(pauses.iter().all(|(begin_ns, end_ns)| end_ns - begin_ns >= LEAST_PAUSE_NS), "{pauses:?}");
    }
}
