//! An epoch as one rank does it: an accelerator that takes batches from its data loader and computes.

use ioassay_protocol::events::{Failure, TrainingRecord};
use ioassay_protocol::plan::Job;
use ioassay_protocol::plan::train::{Compute, Epoch, TrainWork};

use super::loader::{Batch, Loaded, Loader, NoBatch, Queue, publish, run_thread};
use crate::measure::recorder::LiveCounters;
use crate::ranks::{Ranks, Start};
use crate::work::WorkKind;
use crate::work::run::job_result::{JobResult, JobTimes};
use crate::work::run::operations::{Moved, Operate, Operations};
use crate::work::run::pacing::compute;
use crate::work::run::{Case, Member, PreparedJob};
use crate::work::sizes::Sizes;
use crate::work::train::{OnDataset, READ, STEP, direct_unit, threads};
use crate::workload::buffer::Buffer;
use crate::workload::dataset::{EpochOrder, Samples};
use crate::workload::step_times::StepTimes;

/// An epoch of one rank, prepared outside the clock. Its loader's threads start with the phase, as those of training do with
/// each epoch.
pub(super) struct EpochJob<'a> {
    pub case: &'a Case<'a>,
    pub work: &'a TrainWork,
    pub epoch: &'a Epoch,
    pub samples: Samples,
    pub order: EpochOrder,
    /// What offsets and lengths of reads are multiples of, where they go past the page cache.
    pub direct_unit: Option<u64>,
    step_times: StepTimes<'a>,
    /// The job, and which of its ranks this is.
    pub member: (&'a Job, u32),
}

impl<'a> EpochJob<'a> {
    pub fn prepare(&Member { case, job, number, .. }: &Member<'a>, work: &'a TrainWork, epoch: &'a Epoch) -> Self {
        let (dataset, samples) = work.samples(case.plan);
        let direct = case.plan.storage_of(job).direct;
        Self {
            case,
            work,
            epoch,
            samples,
            order: EpochOrder::new(dataset, epoch, case.plan.workers(job).count),
            step_times: StepTimes::new(epoch, case.plan.seed, number),
            direct_unit: direct_unit(direct, case.direct_alignment_bytes),
            member: (job, number),
        }
    }

    /// Takes all batches from `source`. Returns what the accelerator did.
    fn train<R: Ranks>(
        &self,
        (ranks, start): (&R, Start),
        operations: &mut Operations<'_, R>,
        source: Source<'_, '_>,
        counters: &[LiveCounters],
    ) -> Result<TrainingRecord, (TrainingRecord, Box<Failure>)> {
        let record = TrainingRecord {
            asked_compute_ns: self.epoch.compute_ns,
            loader_threads: self.epoch.loader_threads,
            evaluation: self.epoch.evaluation,
            ..TrainingRecord::default()
        };
        let mut accelerator =
            Accelerator { job: self, ranks, start, source, counters, record, computed: 0, held: None };
        let ended = operations.run(0..self.order.steps(), &mut accelerator);
        if ended.is_ok() && !ranks.must_stop() {
            accelerator.compute();
        }
        match ended {
            Ok(_) => Ok(accelerator.record),
            Err(failure) => Err((accelerator.record, failure)),
        }
    }
}

impl<R: Ranks> PreparedJob<R> for EpochJob<'_> {
    fn run(self: Box<Self>, ranks: &R, job: (usize, &Job), start: Start) -> JobResult {
        let epoch_job = &*self;
        let Case { plan, clock, .. } = *epoch_job.case;
        let mut operations = Operations::new(ranks, clock, job, 0, start, plan.sample_interval_ns);
        let count = threads(epoch_job.epoch);
        let counters: Vec<LiveCounters> = (0..count.max(1)).map(|_| LiveCounters::default()).collect();
        // A sleep ends when it is to: by default Linux may let it last 50 µs longer.
        let _ = nix::sys::prctl::set_timerslack(1);
        let (trained, loaded) = if count == 0 {
            let mut buffers = Loader::buffers(epoch_job);
            match Loader::new(epoch_job, &mut buffers, &counters[0], start.opened_ns) {
                Ok(mut loader) => {
                    let source = Source::Own(&mut loader);
                    let trained = epoch_job.train((ranks, start), &mut operations, source, &counters);
                    (trained, Some(loader.finish()))
                }
                Err(failure) => (Err((TrainingRecord::default(), failure)), None),
            }
        } else {
            let queue = Queue::new(epoch_job.order.steps(), count * u64::from(epoch_job.epoch.prefetch));
            std::thread::scope(|scope| {
                let thread = |thread_counters| {
                    let queue = &queue;
                    scope.spawn(move || run_thread(epoch_job, queue, thread_counters, start.opened_ns))
                };
                let threads: Vec<_> = counters.iter().map(thread).collect();
                let trained = epoch_job.train((ranks, start), &mut operations, Source::Queue(&queue), &counters);
                queue.close();
                let loaded = threads.into_iter().filter_map(|thread| thread.join().ok().flatten());
                (
                    trained,
                    loaded.reduce(|mut sum, thread| {
                        sum.add(thread);
                        sum
                    }),
                )
            })
        };
        // 0 is the default.
        let _ = nix::sys::prctl::set_timerslack(0);
        publish(&counters, ranks.counters());
        let (mut record, failure) = match trained {
            Ok(record) => (record, None),
            Err((record, failure)) => (record, Some(failure)),
        };
        let mut statistics = operations.finish(failure.is_some());
        let (mut short_transfers, mut requests) = Default::default();
        if let Some(Loaded { recorded, short_transfers: short, requests: loaded_requests, busy_ns, processor_ns }) =
            loaded
        {
            statistics.recorded[READ] = recorded;
            (short_transfers, requests) = (short, loaded_requests);
            // Without threads the rank's own thread loads, and what it spent on a processor beside that was computation.
            let spun_ns = if count == 0 && self.epoch.compute == Compute::Spin { record.compute_ns } else { 0 };
            (record.loader_busy_ns, record.loader_processor_ns) = (busy_ns, processor_ns.saturating_sub(spun_ns));
        }
        JobResult {
            times: JobTimes { transfer: clock.now_ns() - start.left_ns, ..JobTimes::default() },
            short_transfers,
            requests,
            complete: failure.is_none() && !ranks.must_stop(),
            training: Some(record),
            failure,
            ..JobResult::new(self.work.lanes(), statistics)
        }
    }
}

/// Where an accelerator has its batches from.
enum Source<'q, 'l> {
    /// Threads, which load ahead.
    Queue(&'q Queue),
    /// Its own thread.
    Own(&'q mut Loader<'l>),
}

/// One rank while it trains: an operation is the wait for a batch, and before the next one comes the computation.
struct Accelerator<'a, 'q, 'l, R> {
    job: &'a EpochJob<'a>,
    ranks: &'a R,
    start: Start,
    source: Source<'q, 'l>,
    counters: &'a [LiveCounters],
    record: TrainingRecord,
    /// Steps that are done.
    computed: u64,
    /// Memory of the batch that it computes with, where batches are held.
    held: Option<Buffer>,
}

impl<R: Ranks> Accelerator<'_, '_, '_, R> {
    /// Computes with the batch that was taken last, and waits for the other ranks where they do each step together.
    fn compute(&mut self) {
        let (clock, epoch) = (self.job.case.clock, self.job.epoch);
        let begin_ns = clock.now_ns();
        let compute_ns = self.job.step_times.ns(self.computed);
        if compute_ns > 0 {
            compute(epoch.compute, compute_ns, clock, self.ranks);
        }
        let computed_ns = if compute_ns > 0 { clock.now_ns() } else { begin_ns };
        self.record.compute_ns += computed_ns - begin_ns;
        if let Some(memory) = self.held.take() {
            match &mut self.source {
                Source::Queue(queue) => queue.release(memory),
                Source::Own(loader) => loader.release(memory),
            }
        }
        if epoch.sync_steps {
            // If they must stop, there is nothing to wait for.
            let _ = self.ranks.wait_for_all();
        }
        let done_ns = if epoch.sync_steps { clock.now_ns() } else { computed_ns };
        self.record.sync_ns += done_ns - computed_ns;
        self.record.last_step_ns = done_ns - self.start.opened_ns;
        if self.computed == 0 {
            self.record.first_step_ns = self.record.last_step_ns;
            self.record.first_compute_ns = self.record.compute_ns;
        }
        self.computed += 1;
        publish(self.counters, self.ranks.counters());
    }
}

impl<R: Ranks> Operate for Accelerator<'_, '_, '_, R> {
    fn prepares(&self) -> bool {
        true
    }

    fn prepare(&mut self, index: u64) {
        if index > 0 {
            self.compute();
        }
    }

    fn operate(&mut self, index: u64) -> Result<Moved, Box<Failure>> {
        let clock = self.job.case.clock;
        let begin_ns = clock.now_ns();
        let taken = match &mut self.source {
            Source::Queue(queue) => queue.take(index, || self.ranks.must_stop()),
            Source::Own(loader) => loader.load(index).map_err(NoBatch::Failed),
        };
        let batch = match taken {
            Ok(batch) => batch,
            Err(NoBatch::Failed(failure)) => return Err(failure),
            // The loop asks the ranks before the next step.
            Err(NoBatch::Stopped) => Batch::default(),
        };
        let end_ns = clock.now_ns();
        self.record.wait_ns += end_ns - begin_ns;
        self.record.samples += batch.samples;
        self.record.asked_bytes += batch.asked_bytes;
        self.held = batch.memory;
        if index == 0 {
            self.record.first_batch_ns = end_ns - self.start.opened_ns;
        }
        Ok(Moved { bytes: 0, lane: STEP })
    }
}
