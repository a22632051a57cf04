//! A data loader: threads that load whole batches ahead of the accelerator that takes them, in order.
//!
//! As in PyTorch's loader each thread has a connection and a buffer of its own, works on one batch at a time, and the loader
//! is at most `threads × prefetch` batches ahead. Where the epoch holds batches, each has memory of its own until its
//! computation ends. Otherwise what was read is overwritten by the next sample, so that no memory is taken from the page cache
//! for it.
//! Not here: what the accelerator does with a batch ([`super::epoch`]).

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ioassay_protocol::events::Failure;
use nix::time::{ClockId, clock_gettime};

use super::epoch::EpochJob;
use super::{FilePath, connect};
use crate::failure;
use crate::measure::recorder::{LiveCounters, Recorded, Recorder};
use crate::storage::names::Presence;
use crate::storage::{Access, Connection, OpenFile, Opening, RequestCounts};
use crate::work::train::{DIRECT_UNIT_BYTES, READ, buffer_bytes, largest_read_bytes};
use crate::workload::buffer::Buffer;
use crate::workload::container::{FileBytes, PARQUET_END_BYTES};
use crate::workload::dataset::{Extent, Samples, spot};
use crate::workload::payload::{Content, compare};

/// How often who waits for a batch looks whether the case was stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A batch that was loaded.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Its samples.
    pub samples: u64,
    /// Their bytes, as far as they are read.
    pub asked_bytes: u64,
    /// They are in this memory, where batches are held.
    pub memory: Option<Buffer>,
}

/// Batches on their way from the threads of a loader to the accelerator.
pub(super) struct Queue {
    state: Mutex<State>,
    /// Batches that may be begun or loaded and not taken.
    capacity: u64,
    batches: u64,
    loaded: Condvar,
    taken: Condvar,
}

#[derive(Default)]
struct State {
    /// The next batch that no thread has begun.
    next: u64,
    /// Batches that the accelerator has taken.
    taken: u64,
    /// Batches that are loaded, each at its number modulo the capacity.
    ready: Vec<Option<Batch>>,
    /// The accelerator waits, and so many threads.
    accelerator_waits: bool,
    threads_wait: u32,
    /// Nobody takes another batch.
    closed: bool,
    /// Memory of batches whose computation has ended.
    released: Vec<Buffer>,
    failure: Option<Box<Failure>>,
}

/// Why there is no batch.
pub(super) enum NoBatch {
    /// The case was stopped.
    Stopped,
    /// A thread failed.
    Failed(Box<Failure>),
}

impl Queue {
    /// One of so many `batches`.
    pub fn new(batches: u64, capacity: u64) -> Self {
        let state = State { ready: (0..capacity).map(|_| None).collect(), ..State::default() };
        Self { state: state.into(), capacity, batches, loaded: Condvar::new(), taken: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What a thread that panicked held is as it was: each change is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes batch number `step` as soon as it is loaded.
    pub fn take(&self, step: u64, must_stop: impl Fn() -> bool) -> Result<Batch, NoBatch> {
        let mut state = self.lock();
        loop {
            if let Some(batch) = state.ready[(step % self.capacity) as usize].take() {
                state.taken = step + 1;
                if state.threads_wait > 0 {
                    self.taken.notify_one();
                }
                return Ok(batch);
            }
            if let Some(failure) = state.failure.take() {
                return Err(NoBatch::Failed(failure));
            }
            if must_stop() {
                return Err(NoBatch::Stopped);
            }
            state.accelerator_waits = true;
            let woken = self.loaded.wait_timeout(state, POLL_INTERVAL);
            (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
            state.accelerator_waits = false;
        }
    }

    /// The memory of a batch is free for another one.
    pub fn release(&self, memory: Buffer) {
        self.lock().released.push(memory);
    }

    /// Memory of an earlier batch.
    fn released(&self) -> Option<Buffer> {
        self.lock().released.pop()
    }

    /// The accelerator takes no other batch.
    pub fn close(&self) {
        self.lock().closed = true;
        self.taken.notify_all();
    }

    /// The next batch that is to be loaded, as soon as there is room for it.
    fn claim(&self) -> Option<u64> {
        self.claim_under(self.lock())
    }

    fn claim_under(&self, mut state: MutexGuard<'_, State>) -> Option<u64> {
        loop {
            if state.closed || state.failure.is_some() || state.next == self.batches {
                return None;
            }
            if state.next < state.taken + self.capacity {
                state.next += 1;
                return Some(state.next - 1);
            }
            state.threads_wait += 1;
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.threads_wait -= 1;
        }
    }

    /// Hands over batch number `step`. The lock is returned, so that it is taken once for this and for the next claim.
    fn put(&self, step: u64, batch: Batch) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.ready[(step % self.capacity) as usize] = Some(batch);
        // It takes them in order, and waits for no later one.
        if state.accelerator_waits && step == state.taken {
            self.loaded.notify_one();
        }
        state
    }

    fn fail(&self, failure: Box<Failure>) {
        self.lock().failure.get_or_insert(failure);
        self.loaded.notify_one();
        self.taken.notify_all();
    }
}

/// Tells the accelerator of a thread that panics.
struct ThreadGuard<'a>(&'a Queue);

impl Drop for ThreadGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let remedy = "report this defect, with what was printed before";
            self.0.fail(Box::new(failure::plain("read", "a loader thread panicked".to_owned(), remedy)));
        }
    }
}

/// What a loader has counted; that of several threads is added up.
pub(super) struct Loaded {
    pub recorded: Recorded,
    pub short_transfers: u64,
    pub requests: RequestCounts,
    /// In which it loaded.
    pub busy_ns: u64,
    /// Processor time.
    pub processor_ns: u64,
}

impl Loaded {
    pub fn add(&mut self, other: Self) {
        self.recorded.add(&other.recorded);
        self.short_transfers += other.short_transfers;
        self.busy_ns += other.busy_ns;
        self.processor_ns += other.processor_ns;
        self.requests.add(other.requests);
    }
}

/// Loads the batches of `queue` as one thread of it, until there are no more.
pub(super) fn run_thread(job: &EpochJob<'_>, queue: &Queue, counters: &LiveCounters, opened_ns: u64) -> Option<Loaded> {
    let _guard = ThreadGuard(queue);
    // Signals are for the rank's own thread. Those of a mapping that is lost come from the kernel, to whom they concern.
    let _ = nix::sys::signal::SigSet::all().thread_block();
    let mut buffers = Loader::buffers(job);
    let mut loader = match Loader::new(job, &mut buffers, counters, opened_ns) {
        Ok(loader) => loader,
        Err(failure) => {
            queue.fail(failure);
            return None;
        }
    };
    let mut next = queue.claim();
    while let Some(step) = next {
        if job.epoch.hold_batches
            && let Some(memory) = queue.released()
        {
            loader.release(memory);
        }
        match loader.load(step) {
            Ok(batch) => next = queue.claim_under(queue.put(step, batch)),
            Err(failure) => {
                queue.fail(failure);
                break;
            }
        }
    }
    Some(loader.finish())
}

/// Loads batches, one after the other.
pub(super) struct Loader<'a> {
    job: &'a EpochJob<'a>,
    recorder: Recorder<'a>,
    connection: Box<dyn Connection>,
    path: FilePath<'a>,
    /// The file of the sample before, where it has several.
    open: Option<(u64, Box<dyn OpenFile>)>,
    buffer: &'a mut [u8],
    /// Memory for the next batch, where batches are held: that of an earlier one.
    spare: Option<Buffer>,
    /// What a sample should be, where that is checked.
    expected: Option<(Content, Buffer)>,
    short_transfers: u64,
    busy_ns: u64,
    began_at_processor_ns: u64,
}

impl<'a> Loader<'a> {
    /// What samples are read into: outlives the connection, which may tell the kernel about it.
    pub fn buffers(job: &EpochJob<'_>) -> Vec<Buffer> {
        vec![Buffer::new(buffer_bytes(&job.samples) as usize)]
    }

    pub fn new(
        job: &'a EpochJob<'a>,
        buffers: &'a mut [Buffer],
        counters: &'a LiveCounters,
        opened_ns: u64,
    ) -> Result<Self, Box<Failure>> {
        let EpochJob { case, work, member, .. } = *job;
        let connection = connect(case, &work.dataset, member, buffers)?;
        let expected = || (job.samples.content(), Buffer::new(largest_read_bytes(&job.samples) as usize));
        Ok(Self {
            job,
            recorder: Recorder::new(counters, READ, opened_ns, case.plan.sample_interval_ns),
            connection,
            path: FilePath::new(case, &work.dataset),
            open: None,
            buffer: &mut buffers[0],
            spare: None,
            expected: job.epoch.verify.then(expected),
            short_transfers: 0,
            busy_ns: 0,
            began_at_processor_ns: thread_processor_ns(),
        })
    }

    /// Loads batch number `step`.
    pub fn load(&mut self, step: u64) -> Result<Batch, Box<Failure>> {
        let EpochJob { case, order, samples, member: (_, member), .. } = self.job;
        let begun_ns = case.clock.now_ns();
        let (mut begin_ns, mut batch) = (begun_ns, Batch { memory: self.memory(step), ..Batch::default() });
        let mut begin = 0;
        for sample in order.batch(*member, step) {
            let read = match &mut batch.memory {
                Some(memory) => {
                    let room = &mut memory[begin..];
                    begin += held_sample_bytes(samples, sample);
                    self.read(sample, Some(room))
                }
                None => self.read(sample, None),
            };
            let moved =
                read.map_err(|(operation, error)| failure::boxed_on_path(operation, self.path.current(), &error))?;
            let end_ns = case.clock.now_ns();
            self.recorder.record(begin_ns, end_ns, moved);
            begin_ns = end_ns;
            batch.samples += 1;
            batch.asked_bytes += samples.asked_bytes(sample);
        }
        self.busy_ns += begin_ns - begun_ns;
        Ok(batch)
    }

    /// Memory for the samples of batch number `step`, where batches are held: that of an earlier one if it is large enough.
    fn memory(&mut self, step: u64) -> Option<Buffer> {
        let EpochJob { epoch, order, samples, member: (_, member), .. } = self.job;
        if !epoch.hold_batches {
            return None;
        }
        let bytes: usize = order.batch(*member, step).map(|sample| held_sample_bytes(samples, sample)).sum();
        let spare = self.spare.take().filter(|memory| memory.len() >= bytes);
        Some(spare.unwrap_or_else(|| Buffer::new(bytes)))
    }

    /// The memory of a batch is free for the next one.
    pub fn release(&mut self, memory: Buffer) {
        self.spare = Some(memory);
    }

    /// Reads one sample into `room`, or else into what all are read into; returns how many bytes that took.
    fn read(&mut self, sample: u64, room: Option<&mut [u8]>) -> Result<u64, (&'static str, std::io::Error)> {
        let Extent { file, offset, bytes } = self.job.samples.extent(sample);
        let (unit, short) = (self.job.direct_unit.unwrap_or(1), &mut self.short_transfers);
        let mut footer_bytes = 0;
        let mut open = match self.open.take() {
            Some((of, open)) if of == file => open,
            other => {
                if let Some((_, other)) = other {
                    other.close().map_err(|error| ("close", error))?;
                }
                let bytes = self.job.samples.file_bytes(file);
                let opening =
                    Opening { access: Access::Read, presence: Presence::Shared, bytes, size: None, advice: &[] };
                let mut open = self.connection.open(self.path.of(file), opening).map_err(|error| ("open", error))?;
                let footer = self.job.samples.footer_bytes(file);
                if footer > 0 {
                    // Readers learn from the last bytes how long the footer is.
                    let end = bytes - PARQUET_END_BYTES;
                    for (begin, bytes) in [(end, PARQUET_END_BYTES), (bytes - footer, footer - PARQUET_END_BYTES)] {
                        footer_bytes += read_extent(&mut *open, self.buffer, unit, (begin, bytes), short)?.1;
                    }
                }
                open
            }
        };
        let into = room.unwrap_or(self.buffer);
        let (data, moved) = read_extent(&mut *open, into, unit, (offset, bytes), short)?;
        if let Some((content, expected)) = &mut self.expected {
            let (data, expected) = (&into[data], &mut expected[..bytes as usize]);
            FileBytes::of_sample(&self.job.samples, content, sample).fill(expected);
            compare(data, expected, spot(sample, 0))
                .map_err(|_| ("verify", failure::other_bytes(&format!("sample {sample}"))))?;
        }
        if self.job.samples.per_file() > 1 {
            self.open = Some((file, open));
        } else {
            open.close().map_err(|error| ("close", error))?;
        }
        Ok(footer_bytes + moved)
    }

    /// What it has counted.
    pub fn finish(mut self) -> Loaded {
        let processor_ns = thread_processor_ns() - self.began_at_processor_ns;
        Loaded {
            recorded: self.recorder.finish(self.job.case.clock.now_ns()),
            short_transfers: self.short_transfers,
            requests: self.connection.take_request_counts(),
            busy_ns: self.busy_ns,
            processor_ns,
        }
    }
}

/// What `sample` takes in the memory of a batch: with the sectors around it, from a page on, as direct I/O wants it.
fn held_sample_bytes(samples: &Samples, sample: u64) -> usize {
    (samples.read_bytes(sample) + DIRECT_UNIT_BYTES).next_multiple_of(DIRECT_UNIT_BYTES) as usize
}

/// Reads so many bytes of a file from an offset into `buffer`, with the sectors around them where I/O is direct and `unit` is
/// what it moves multiples of. Returns where they are in the buffer, and how many bytes were moved; counts calls that moved
/// only a part.
fn read_extent(
    open: &mut dyn OpenFile,
    buffer: &mut [u8],
    unit: u64,
    (offset, bytes): (u64, u64),
    short_transfers: &mut u64,
) -> Result<(Range<usize>, u64), (&'static str, std::io::Error)> {
    let begin = offset / unit * unit;
    let (wanted, window) = ((offset + bytes - begin) as usize, (offset + bytes).next_multiple_of(unit) - begin);
    let mut moved = 0;
    while moved < wanted {
        match open.read_at(&mut buffer[moved..window as usize], begin + moved as u64) {
            Ok(0) => return Err(("read", failure::file_ends(begin + moved as u64, "create the dataset again"))),
            Ok(count) => moved += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(("read", error)),
        }
        *short_transfers += u64::from(moved < wanted);
    }
    Ok(((offset - begin) as usize..wanted, moved as u64))
}

/// Processor time of the calling thread.
fn thread_processor_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// What the counters of all threads add up to.
pub(super) fn publish(all: &[LiveCounters], into: &LiveCounters) {
    let sum = |of: fn(&LiveCounters) -> &std::sync::atomic::AtomicU64| {
        all.iter().map(|counters| of(counters).load(Ordering::Relaxed)).sum::<u64>()
    };
    into.bytes[READ].store(sum(|counters| &counters.bytes[READ]), Ordering::Relaxed);
    into.operations[READ].store(sum(|counters| &counters.operations[READ]), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_taken_in_order_and_threads_do_not_run_ahead_of_their_room() {
        let queue = Queue::new(4, 2);
        assert_eq!((queue.claim(), queue.claim()), (Some(0), Some(1)));
        let batch = |samples| Batch { samples, ..Batch::default() };
        drop(queue.put(1, batch(11)));
        std::thread::scope(|scope| {
            let third = scope.spawn(|| queue.claim());
            std::thread::sleep(Duration::from_millis(30));
            assert!(!third.is_finished(), "there is no room for a third batch yet");
            drop(queue.put(0, batch(10)));
            assert_eq!(queue.take(0, || false).ok().map(|batch| batch.samples), Some(10));
            assert_eq!(third.join().unwrap(), Some(2));
        });
        assert_eq!(queue.take(1, || false).ok().map(|batch| batch.samples), Some(11));
        assert!(matches!(queue.take(2, || true), Err(NoBatch::Stopped)));
        assert_eq!(queue.claim(), Some(3));
        assert_eq!(queue.claim(), None);
    }

    #[test]
    fn a_failure_reaches_the_accelerator_and_ends_all_threads() {
        let queue = Queue::new(100, 1);
        assert_eq!(queue.claim(), Some(0));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.claim());
            queue.fail(Box::new(failure::plain("read", "broken".to_owned(), "mend it")));
            assert_eq!(waiting.join().unwrap(), None);
        });
        let Err(NoBatch::Failed(failure)) = queue.take(0, || false) else { panic!("it failed") };
        assert_eq!(failure.message, "broken");
    }
}
