//! Whether the ranks of a node ran at all, seen by who looks after them: a process that mostly sleeps, for a moment at a time.
//!
//! A signal (SIGSTOP), a frozen control group and a paused or sleeping machine stop a rank, mostly all of them at once,
//! and in its figures that looks like a storage that answered late. A storage that stalls stops only who waits for it:
//! the supervisor never does. Its sleep that ends late is distinguished from a busy machine by what the kernel counts
//! as time in which it waited for a processor, and from one that is short of memory by its major page faults. What
//! stops a rank alone the kernel tells its parent. Not here: a thread in the rank. That would cost each small transfer
//! 4 %, since the kernel and the C library then lock what a process with one thread has for itself (pread of 4 KiB in
//! memory, Linux 6.18, glibc 2.36: 0.98 µs, with one 1.02 µs). Nor suspensions that the engine was asked for
//! ([`super::run`]), which ranks heed between two operations.

use std::time::Duration;

use ioassay_host::clock::{self, Clock};
use ioassay_host::process_usage::Waits;
use nix::sys::resource::{UsageWho, getrusage};

use super::Child;
use crate::ranks::local::MeetingPlace;

/// What is later than this, and did not wait for a processor, did not run.
pub const LEAST_PAUSE_NS: u64 = 200_000_000;

/// Sees the pauses of a supervisor's ranks, and notes them where the ranks find them.
pub(super) struct Pauses<'a> {
    place: &'a MeetingPlace,
    waits: Waits,
    /// Seats of ranks that are stopped, and since when, on the node's time line.
    stopped: Vec<(u32, u64)>,
    /// Begin and end of the last sleep, if it was a pause.
    overslept: Option<(u64, u64)>,
    /// Begin and end of all sleeps that were pauses.
    all_overslept: Vec<(u64, u64)>,
}

impl<'a> Pauses<'a> {
    /// Those of ranks that meet in `place`, as this thread sees them.
    pub(super) fn new(place: &'a MeetingPlace) -> Self {
        Self { place, waits: Waits::of_thread(), stopped: Vec::new(), overslept: None, all_overslept: Vec::new() }
    }

    /// Runs `sleep`, which takes `limit` at most while processes run, and notes for `children` if it took far longer. Only a
    /// sleep is evidence: elsewhere the supervisor may wait for the reader of what it prints.
    pub(super) fn over<T>(&mut self, limit: Duration, children: &[Child], sleep: impl FnOnce() -> T) -> T {
        let before = Instant::now(self.place.clock(), &self.waits);
        let returned = sleep();
        let after = Instant::now(self.place.clock(), &self.waits);
        let is_pause = before.late_ns(&after, limit) >= LEAST_PAUSE_NS;
        self.overslept = is_pause.then_some((before.now_ns, after.now_ns));
        if let Some((begin_ns, end_ns)) = self.overslept {
            children.iter().for_each(|child| self.note(child.seat, begin_ns, end_ns));
            self.all_overslept.push((begin_ns, end_ns));
        }
        returned
    }

    /// For how long nothing ran after `since_ns`: no time limit counts that.
    pub(super) fn lasted_ns(&self, since_ns: u64) -> u64 {
        self.all_overslept.iter().map(|&(begin_ns, end_ns)| end_ns.saturating_sub(begin_ns.max(since_ns))).sum()
    }

    /// When the last pause ended; 0 where there was none. Who was not heard before that may have been paused too.
    pub(super) fn ended_ns(&self) -> u64 {
        self.all_overslept.last().map_or(0, |&(_, end_ns)| end_ns)
    }

    /// The rank on `seat` was stopped, at the latest at `now_ns`.
    pub(super) fn stopped(&mut self, seat: u32, now_ns: u64) {
        // Who was stopped too does not know when the rank was.
        self.stopped.push((seat, self.overslept.map_or(now_ns, |(begin_ns, _)| begin_ns)));
    }

    /// The rank on `seat` goes on, at the latest at `now_ns`.
    pub(super) fn continued(&mut self, seat: u32, now_ns: u64) {
        let since = self.stopped.iter().position(|&(stopped, _)| stopped == seat);
        if let Some((_, since_ns)) = since.map(|index| self.stopped.swap_remove(index))
            && now_ns - since_ns >= LEAST_PAUSE_NS
        {
            self.note(seat, since_ns, now_ns);
        }
    }

    fn note(&self, seat: u32, begin_ns: u64, end_ns: u64) {
        self.place.counters()[seat as usize].note_pause(begin_ns, end_ns);
    }
}

/// The time by clocks that go on in different states of the machine, and what kept the thread from running so far.
struct Instant {
    now_ns: u64,
    boottime_ns: u64,
    /// For a processor.
    waited_ns: Option<u64>,
    /// Page faults that waited for a device or a server.
    major_faults: i64,
}

impl Instant {
    fn now(clock: &Clock, waits: &Waits) -> Self {
        let major_faults = getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.major_page_faults());
        let (now_ns, boottime_ns) = (clock.now_ns(), clock::boottime_ns());
        Self { now_ns, boottime_ns, waited_ns: waits.so_far_ns(), major_faults }
    }

    /// How much more than `limit` passed until `then`, beside waiting for a processor: by the clock that says most. With a
    /// major fault only what the machine slept: the rest may have been that.
    fn late_ns(&self, then: &Self, limit: Duration) -> u64 {
        let by_clock = then.now_ns.saturating_sub(self.now_ns);
        let by_boottime = then.boottime_ns.saturating_sub(self.boottime_ns);
        if then.major_faults > self.major_faults {
            return by_boottime.saturating_sub(by_clock);
        }
        let waited = then.waited_ns.zip(self.waited_ns).map_or(0, |(then, before)| then.saturating_sub(before));
        by_clock.max(by_boottime).saturating_sub(limit.as_nanos() as u64).saturating_sub(waited)
    }
}

#[cfg(test)]
mod tests {
    use nix::unistd::getpid;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn instant_at(now_ns: u64, boottime_ns: u64, waited_ns: Option<u64>) -> Instant {
        Instant { now_ns, boottime_ns, waited_ns, major_faults: 3 }
    }

    #[test]
    fn late_is_what_no_clock_and_no_wait_for_a_processor_explains() {
        let (begin, limit) = (instant_at(0, 0, Some(0)), Duration::from_millis(100));
        let late_ns = |then| begin.late_ns(&then, limit);
        assert_eq!(late_ns(instant_at(SECOND_NS / 20, SECOND_NS / 20, Some(0))), 0, "early, for a signal");
        assert_eq!(late_ns(instant_at(SECOND_NS / 10, SECOND_NS / 10, Some(0))), 0, "on time");
        assert_eq!(late_ns(instant_at(10 * SECOND_NS, 10 * SECOND_NS, Some(0))), 9_900_000_000, "stopped");
        assert_eq!(late_ns(instant_at(SECOND_NS / 10, 10 * SECOND_NS, Some(0))), 9_900_000_000, "the machine slept");
        assert_eq!(late_ns(instant_at(SECOND_NS, SECOND_NS, Some(890_000_000))), 10_000_000, "a busy machine");
        let unknown = instant_at(0, 0, None);
        assert_eq!(
            unknown.late_ns(&instant_at(SECOND_NS, SECOND_NS, None), limit),
            900_000_000,
            "the kernel does not count"
        );
        let faulted = |then: Instant| Instant { major_faults: 4, ..then };
        assert_eq!(
            late_ns(faulted(instant_at(SECOND_NS, SECOND_NS, Some(0)))),
            0,
            "its own code was read from a device"
        );
        assert_eq!(
            late_ns(faulted(instant_at(SECOND_NS, 9 * SECOND_NS, Some(0)))),
            8 * SECOND_NS,
            "and the machine slept"
        );
    }

    #[test]
    fn a_sleep_that_takes_too_long_is_a_pause_of_all_and_a_stop_within_it_is_the_same_one() {
        let place = MeetingPlace::new(2, Clock::calibrated()).unwrap();
        let children = [0, 1].map(|seat| Child { rank: seat, seat, pid: getpid() });
        let mut pauses = Pauses::new(&place);
        pauses.over(Duration::ZERO, &children, || std::thread::sleep(Duration::from_millis(400)));
        let pauses_of = |seat: usize| place.counters()[seat].suspensions(0);
        assert_eq!([pauses_of(0).len(), pauses_of(1).len()], [1, 1]);

        let now_ns = place.clock().now_ns();
        let (begin_ns, end_ns) = (pauses_of(0)[0].begin_ns, pauses_of(0)[0].end_ns);
        assert_eq!(pauses.ended_ns(), end_ns);
        assert_eq!(pauses.lasted_ns(0), end_ns - begin_ns);
        assert_eq!(
            [begin_ns + 1, end_ns, now_ns].map(|since_ns| pauses.lasted_ns(since_ns)),
            [end_ns - begin_ns - 1, 0, 0]
        );

        pauses.stopped(1, now_ns);
        pauses.continued(1, now_ns + SECOND_NS);
        assert_eq!(pauses_of(0)[0].begin_ns, pauses_of(1)[0].begin_ns);
        assert_eq!([pauses_of(0).len(), pauses_of(1).len()], [1, 1]);
        assert_eq!(pauses_of(1)[0].end_ns, now_ns + SECOND_NS);
    }

    #[test]
    fn a_rank_that_is_stopped_alone_for_long_was_paused_and_the_others_were_not() {
        let place = MeetingPlace::new(2, Clock::calibrated()).unwrap();
        let mut pauses = Pauses::new(&place);
        pauses.stopped(0, SECOND_NS);
        pauses.continued(0, SECOND_NS + LEAST_PAUSE_NS - 1);
        assert_eq!(place.counters()[0].suspensions(0), [], "too short");
        pauses.continued(0, 3 * SECOND_NS);
        assert_eq!(place.counters()[0].suspensions(0), [], "it was not stopped");
        pauses.stopped(0, 4 * SECOND_NS);
        pauses.continued(0, 6 * SECOND_NS);
        let [pause] = place.counters()[0].suspensions(0)[..] else { panic!("one pause") };
        assert_eq!((pause.begin_ns, pause.end_ns), (4 * SECOND_NS, 6 * SECOND_NS));
        assert_eq!(place.counters()[1].suspensions(0), []);
    }
}
