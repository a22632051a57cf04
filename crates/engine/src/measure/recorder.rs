//! One rank's record of one phase, kept while the operations run.
//!
//! [`Recorder::record`] is the whole cost that ioassay adds to an operation: one clock reading, one histogram
//! bucket, two sums, two stores into shared memory. No system call; memory grows once per sample.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use ioassay_protocol::events::{Done, Suspension};
use ioassay_shm::gate::Waiter;

use crate::latencies::Latencies;

/// A job records up to nine kinds of operations, each in a lane of its own: a mix has reads and writes, a replacement
/// stat, read, remove and create, a replay most kinds.
pub const LANES: usize = 9;

/// Suspensions of a rank in one step that are recorded one by one; more of them lengthen the last one.
const SUSPENSIONS: usize = 8;

/// What a rank shows to those who watch: in shared memory, each rank in cache lines of its own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct LiveCounters {
    /// Bytes moved so far, by lane.
    pub bytes: [AtomicU64; LANES],
    /// Operations done so far, by lane.
    pub operations: [AtomicU64; LANES],
    /// When it last was on a processor while it waited for a start, on the node's time line.
    awake_ns: AtomicU64,
    /// It works in a timed phase: what a rank does that hangs.
    pub working: AtomicBool,
    /// The number of the last order that it has carried out, where it is given orders.
    pub carried_out: AtomicU32,
    /// When the process that looks after it last looked, where it has one of its own; on the node's time line.
    pub guarded_ns: AtomicU64,
    /// When who looks after it last looked, on the node's time line; 0 before, and where nobody does.
    pub looked_ns: AtomicU64,
    /// Bytes and operations when the first rank of its job finished, by lane. Written once, by that rank.
    at_first_finish: [[AtomicU64; LANES]; 2],
    /// When it was suspended in this step, begin and end, on the node's time line; 0 where it was not. Written by the rank.
    suspended: [[AtomicU64; 2]; SUSPENSIONS],
    /// The same of when it did not run. Written by who looks after it.
    paused: [[AtomicU64; 2]; SUSPENSIONS],
}

impl LiveCounters {
    /// Nothing is done yet.
    pub fn reset(&self) {
        let times = self.suspended.iter().chain(&self.paused).flatten();
        self.bytes.iter().chain(&self.operations).chain(times).for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// Keeps that it was suspended, as the rank itself.
    pub fn note_suspension(&self, begin_ns: u64, end_ns: u64) {
        note(&self.suspended, begin_ns, end_ns);
    }

    /// Keeps that it did not run, as who looks after it.
    pub fn note_pause(&self, begin_ns: u64, end_ns: u64) {
        note(&self.paused, begin_ns, end_ns);
    }

    /// When it was suspended or did not run after `opened_ns`, counted from there, in order. Times that overlap are one.
    pub fn suspensions(&self, opened_ns: u64) -> Vec<Suspension> {
        let words = self.suspended.iter().chain(&self.paused);
        let times = words.map(|words| words.each_ref().map(|word| word.load(Ordering::Acquire)));
        let mut within: Vec<_> = times.filter(|&[_, end_ns]| end_ns > opened_ns).collect();
        within.sort_unstable();
        let mut merged: Vec<Suspension> = Vec::new();
        for [begin_ns, end_ns] in within.into_iter().map(|times| times.map(|at_ns| at_ns.saturating_sub(opened_ns))) {
            match merged.last_mut() {
                Some(last) if begin_ns <= last.end_ns => last.end_ns = last.end_ns.max(end_ns),
                _ => merged.push(Suspension { begin_ns, end_ns }),
            }
        }
        merged
    }

    /// What it has done so far in one lane.
    pub fn done(&self, lane: usize) -> Done {
        let [bytes, operations] = [&self.bytes, &self.operations].map(|of| of[lane].load(Ordering::Relaxed));
        Done { bytes, operations }
    }

    /// Keeps what it had done, by lane, when the first rank of its job finished.
    pub fn note_first_finish(&self, done: [Done; LANES]) {
        let [all_bytes, all_operations] = &self.at_first_finish;
        for (lane, Done { bytes, operations }) in done.into_iter().enumerate() {
            all_bytes[lane].store(bytes, Ordering::SeqCst);
            all_operations[lane].store(operations, Ordering::SeqCst);
        }
    }

    /// What it had done, by lane, when the first rank of its job finished, where one did in this phase.
    pub fn at_first_finish(&self) -> [Done; LANES] {
        let [bytes, operations] = &self.at_first_finish;
        std::array::from_fn(|lane| Done {
            bytes: bytes[lane].load(Ordering::SeqCst),
            operations: operations[lane].load(Ordering::SeqCst),
        })
    }
}

/// Keeps a time from `begin_ns` to `end_ns`; there is one writer.
fn note(times: &[[AtomicU64; 2]; SUSPENSIONS], begin_ns: u64, end_ns: u64) {
    match times.iter().find(|[_, end]| end.load(Ordering::Relaxed) == 0) {
        Some([begin, end]) => {
            begin.store(begin_ns, Ordering::Relaxed);
            end.store(end_ns, Ordering::Release);
        }
        None => times[SUSPENSIONS - 1][1].store(end_ns, Ordering::Release),
    }
}

impl Waiter for LiveCounters {
    fn awake_ns(&self) -> &AtomicU64 {
        &self.awake_ns
    }
}

/// One rank's record of one lane of one phase.
#[derive(Debug)]
pub struct Recorder<'a> {
    counters: &'a LiveCounters,
    lane: usize,
    latencies: Latencies,
    bytes: u64,
    operations: u64,
    slowest_ns: u64,
    sample_interval_ns: u64,
    /// End of the running sample, and the sums at its beginning.
    sample_end_ns: u64,
    bytes_before_sample: u64,
    operations_before_sample: u64,
    sample_bytes: Vec<u64>,
    sample_operations: Vec<u64>,
}

/// What a recorder holds at the end.
#[derive(Debug)]
pub struct Recorded {
    /// Latencies of all operations.
    pub latencies: Latencies,
    /// Bytes moved.
    pub bytes: u64,
    /// Operations done.
    pub operations: u64,
    /// The slowest operation, exactly.
    pub slowest_ns: u64,
    /// Bytes per sample since the start.
    pub sample_bytes: Vec<u64>,
    /// Operations per sample since the start.
    pub sample_operations: Vec<u64>,
}

impl Recorded {
    /// Adds what another thread of the same rank recorded in the same lane.
    pub fn add(&mut self, other: &Self) {
        self.latencies.add(&other.latencies.buckets());
        self.bytes += other.bytes;
        self.operations += other.operations;
        self.slowest_ns = self.slowest_ns.max(other.slowest_ns);
        let pairs =
            [(&mut self.sample_bytes, &other.sample_bytes), (&mut self.sample_operations, &other.sample_operations)];
        for (samples, others) in pairs {
            samples.resize(samples.len().max(others.len()), 0);
            samples.iter_mut().zip(others).for_each(|(sample, other)| *sample += other);
        }
    }
}

impl<'a> Recorder<'a> {
    /// A record whose first sample begins at `start_ns`.
    ///
    /// # Panics
    /// If `lane` is not below [`LANES`].
    pub fn new(counters: &'a LiveCounters, lane: usize, start_ns: u64, sample_interval_ns: u64) -> Self {
        assert!(lane < LANES, "lane {lane}");
        Self {
            counters,
            lane,
            latencies: Latencies::default(),
            bytes: 0,
            operations: 0,
            slowest_ns: 0,
            sample_interval_ns,
            sample_end_ns: start_ns.saturating_add(sample_interval_ns),
            bytes_before_sample: 0,
            operations_before_sample: 0,
            sample_bytes: Vec::new(),
            sample_operations: Vec::new(),
        }
    }

    /// Records an operation of `bytes` that took from `begin_ns` to `end_ns`. Returns true about once per
    /// sample: the moment for what must be done now and then, but not per operation.
    #[inline(always)]
    pub fn record(&mut self, begin_ns: u64, end_ns: u64, bytes: u64) -> bool {
        let latency_ns = end_ns.saturating_sub(begin_ns);
        self.latencies.record(latency_ns);
        self.slowest_ns = self.slowest_ns.max(latency_ns);
        let new_sample = end_ns >= self.sample_end_ns;
        if new_sample {
            self.close_samples_before(end_ns);
        }
        self.bytes += bytes;
        self.operations += 1;
        // Plain stores: only this rank writes its line, and those who watch may see it a little late.
        self.counters.bytes[self.lane].store(self.bytes, Ordering::Relaxed);
        self.counters.operations[self.lane].store(self.operations, Ordering::Relaxed);
        new_sample
    }

    /// Ends all samples that lie before `now_ns`: the running one, and empty ones for a stall.
    #[cold]
    fn close_samples_before(&mut self, now_ns: u64) {
        while self.sample_end_ns <= now_ns {
            self.sample_bytes.push(self.bytes - self.bytes_before_sample);
            self.sample_operations.push(self.operations - self.operations_before_sample);
            self.bytes_before_sample = self.bytes;
            self.operations_before_sample = self.operations;
            self.sample_end_ns = self.sample_end_ns.saturating_add(self.sample_interval_ns);
        }
    }

    /// Bytes moved and operations done so far.
    pub fn done(&self) -> Done {
        Done { bytes: self.bytes, operations: self.operations }
    }

    /// The record up to `end_ns`; the last sample may be shorter than the others.
    pub fn finish(mut self, end_ns: u64) -> Recorded {
        self.close_samples_before(end_ns);
        self.sample_bytes.push(self.bytes - self.bytes_before_sample);
        self.sample_operations.push(self.operations - self.operations_before_sample);
        Recorded {
            latencies: self.latencies,
            bytes: self.bytes,
            operations: self.operations,
            slowest_ns: self.slowest_ns,
            sample_bytes: self.sample_bytes,
            sample_operations: self.sample_operations,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn samples_add_up_to_the_totals(operations in proptest::collection::vec((1..5_000_u64, 1..9_u64), 0..300)) {
            let counters = LiveCounters::default();
            let mut recorder = Recorder::new(&counters, 0, 0, 1_000);
            let mut now = 0;
            for &(took, bytes) in &operations {
                recorder.record(now, now + took, bytes);
                now += took;
            }
            let recorded = recorder.finish(now + 700);
            prop_assert_eq!(recorded.sample_bytes.iter().sum::<u64>(), recorded.bytes);
            prop_assert_eq!(recorded.sample_operations.iter().sum::<u64>(), recorded.operations);
            prop_assert_eq!(recorded.sample_bytes.len() as u64, (now + 700) / 1_000 + 1);
            prop_assert_eq!(counters.bytes[0].load(Ordering::Relaxed), recorded.bytes);
            prop_assert_eq!(recorded.slowest_ns, operations.iter().map(|o| o.0).max().unwrap_or(0));
        }
    }

    #[test]
    fn suspensions_count_from_the_start_and_those_before_it_do_not_count() {
        let counters = LiveCounters::default();
        counters.note_suspension(10, 20);
        counters.note_suspension(25, 40);
        let of = |begin_ns, end_ns| Suspension { begin_ns, end_ns };
        assert_eq!(counters.suspensions(30), [of(0, 10)]);
        (5..20).for_each(|moment| counters.note_suspension(moment * 10, moment * 10 + 1));
        let all = counters.suspensions(0);
        assert_eq!((all.len(), all[0], all[SUSPENSIONS - 1]), (SUSPENSIONS, of(10, 20), of(100, 191)));
        counters.reset();
        assert_eq!(counters.suspensions(0), []);
    }

    #[test]
    fn a_pause_within_a_suspension_is_a_part_of_it_and_another_one_is_not() {
        let counters = LiveCounters::default();
        counters.note_pause(50, 60);
        counters.note_pause(12, 30);
        counters.note_suspension(10, 20);
        let of = |begin_ns, end_ns| Suspension { begin_ns, end_ns };
        assert_eq!(counters.suspensions(0), [of(10, 30), of(50, 60)]);
        counters.reset();
        assert_eq!(counters.suspensions(0), []);
    }

    #[test]
    fn a_stall_shows_as_empty_samples_and_the_operation_counts_where_it_ended() {
        let counters = LiveCounters::default();
        let mut recorder = Recorder::new(&counters, 0, 0, 1_000);
        recorder.record(0, 500, 10);
        recorder.record(500, 3_200, 20);
        let recorded = recorder.finish(3_300);
        assert_eq!(recorded.sample_bytes, [10, 0, 0, 20]);
    }
}
