//! Doing it, as one rank: generation after generation, each until all ranks have it. [`files`] moves the bytes, [`background`]
//! does so while the rank computes.

mod background;
mod files;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use ioassay_protocol::events::{CheckpointRecord, Failure};
use ioassay_protocol::plan::Job;
use ioassay_protocol::plan::checkpoint::{Background, CheckpointOperation, CheckpointWork, Save};
use ioassay_protocol::plan::train::Compute;

use self::background::{Counted, Task, Writer, run_thread};
use self::files::{RankFiles, Written};
use super::{GENERATION, OnCheckpoint, TRANSFER};
use crate::measure::recorder::Recorder;
use crate::ranks::{Ranks, Start};
use crate::work::WorkKind;
use crate::work::run::job_result::JobResult;
use crate::work::run::operations::{Moved, Operate, Operations};
use crate::work::run::pacing::compute;
use crate::work::run::{Case, History, Member, PreparedJob, RunWork};

impl<R: Ranks> RunWork<R> for CheckpointWork {
    fn prepare<'a>(
        &'a self,
        member: &Member<'a>,
        history: &History,
    ) -> Result<Box<dyn PreparedJob<R> + 'a>, Box<Failure>> {
        let &Member { case, step, job, number } = member;
        let member = Member { case, step, job, number };
        let generations = self.generations(case.plan, step);
        if let CheckpointOperation::Save(save @ Save { background: Some(background), .. }) = &self.operation {
            let copy_ns = copy_ns(background, self.shards(case.plan).rank_bytes(number));
            return Ok(Box::new(BackgroundJob { member, work: self, save, generations, copy_ns }));
        }
        let shift = match &self.operation {
            CheckpointOperation::Save(_) => 0,
            CheckpointOperation::Restore(restore) => restore.shift + history.reads_shifted_by,
        };
        let files = RankFiles::prepare(&member, self, shift)?;
        Ok(Box::new(ForegroundJob { case, work: self, generations, files }))
    }
}

/// How long a rank copies its state.
fn copy_ns(background: &Background, bytes: u64) -> u64 {
    (u128::from(bytes) * 1_000_000_000 / u128::from(background.copy_bytes_per_s)) as u64
}

/// The generations of one rank, which stands still for each, prepared outside the clock.
struct ForegroundJob<'a> {
    case: &'a Case<'a>,
    work: &'a CheckpointWork,
    generations: Range<u64>,
    files: RankFiles<'a>,
}

impl<R: Ranks> PreparedJob<R> for ForegroundJob<'_> {
    fn run(self: Box<Self>, ranks: &R, job: (usize, &Job), start: Start) -> JobResult {
        let Self { case, work, generations, mut files } = *self;
        let Case { plan, clock, .. } = *case;
        let mut operations = Operations::new(ranks, clock, job, 0, start, plan.sample_interval_ns);
        let mut training = StandingStill {
            case,
            work,
            ranks,
            start,
            files: &mut files,
            recorder: Recorder::new(ranks.counters(), TRANSFER, start.opened_ns, plan.sample_interval_ns),
            records: Vec::new(),
        };
        let failure = operations.run(generations, &mut training).err();
        let StandingStill { recorder, records, .. } = training;
        let counted = Counted {
            recorded: recorder.finish(clock.now_ns()),
            times: files.times,
            short_transfers: files.short_transfers,
            requests: files.take_request_counts(),
        };
        result(work, ranks, operations, Some(counted), (records, failure))
    }
}

/// What a rank did.
fn result<R: Ranks>(
    work: &CheckpointWork,
    ranks: &R,
    operations: Operations<'_, R>,
    counted: Option<Counted>,
    (records, failure): (Vec<CheckpointRecord>, Option<Box<Failure>>),
) -> JobResult {
    let complete = failure.is_none() && !ranks.must_stop();
    let synced = complete && matches!(&work.operation, CheckpointOperation::Save(save) if save.fsync);
    let mut result = JobResult {
        complete,
        synced,
        checkpoints: records,
        ..JobResult::new(work.lanes(), operations.finish(failure.is_some()))
    };
    result.failure = failure;
    if let Some(Counted { recorded, times, short_transfers, requests }) = counted {
        result.statistics.recorded[TRANSFER] = recorded;
        (result.times, result.short_transfers, result.requests) = (times, short_transfers, requests);
    }
    result
}

/// One rank of a model in training: an operation is the time in which it stands still for one generation.
struct StandingStill<'a, 'f, R> {
    case: &'a Case<'a>,
    work: &'a CheckpointWork,
    ranks: &'f R,
    start: Start,
    files: &'f mut RankFiles<'a>,
    recorder: Recorder<'f>,
    records: Vec<CheckpointRecord>,
}

impl<R: Ranks> Operate for StandingStill<'_, '_, R> {
    fn prepares(&self) -> bool {
        matches!(&self.work.operation, CheckpointOperation::Save(save) if save.every_ns > 0)
    }

    /// Trains until it is time for the next generation.
    fn prepare(&mut self, _index: u64) {
        if let CheckpointOperation::Save(save) = &self.work.operation {
            compute(save.compute, save.every_ns, self.case.clock, self.ranks);
        }
    }

    fn operate(&mut self, index: u64) -> Result<Moved, Box<Failure>> {
        let clock = self.case.clock;
        let begin_ns = clock.now_ns();
        let must_stop = || self.ranks.must_stop();
        let written = match &self.work.operation {
            CheckpointOperation::Save(save) => self.files.write(index, save, &mut self.recorder, &must_stop)?,
            CheckpointOperation::Restore(restore) => {
                self.files.read(index, restore.verify, &mut self.recorder, &must_stop)?
            }
        };
        // Where ranks must stop, they have not done it; the loop asks before the next one.
        if self.ranks.wait_for_all().is_ok() {
            if self.work.is_save() {
                self.files.remove_before(index)?;
            }
            let stall_ns = clock.now_ns() - begin_ns;
            self.records.push(record(index, begin_ns - self.start.opened_ns, stall_ns, written));
        }
        Ok(Moved { bytes: 0, lane: GENERATION })
    }
}

fn record(generation: u64, begin_ns: u64, stall_ns: u64, written: Written) -> CheckpointRecord {
    let Written { bytes, own_ns, fill_ns, fsync_ns } = written;
    CheckpointRecord { generation, bytes, begin_ns, own_ns, fill_ns, fsync_ns, stall_ns }
}

/// The generations of one rank, each of which a thread writes while the rank computes. The thread begins with the phase.
struct BackgroundJob<'a> {
    member: Member<'a>,
    work: &'a CheckpointWork,
    save: &'a Save,
    generations: Range<u64>,
    /// How long the rank copies its state for each of them.
    copy_ns: u64,
}

impl<R: Ranks> PreparedJob<R> for BackgroundJob<'_> {
    fn run(self: Box<Self>, ranks: &R, job: (usize, &Job), start: Start) -> JobResult {
        let Self { member, work, save, generations, copy_ns } = &*self;
        let Case { plan, clock, .. } = *member.case;
        let mut operations = Operations::new(ranks, clock, job, 0, start, plan.sample_interval_ns);
        let (stop, counters) = (AtomicBool::new(false), ranks.counters());
        let (training, counted) = std::thread::scope(|scope| {
            let (tasks, taken) = mpsc::channel();
            let (outcomes, done) = mpsc::channel();
            let stop = &stop;
            let thread = scope
                .spawn(move || run_thread((member, work, save), (taken, outcomes), stop, counters, start.opened_ns));
            let writer = Writer { tasks, done, stop };
            let mut computing = Computing {
                case: member.case,
                save,
                copy_ns: *copy_ns,
                ranks,
                start,
                writer,
                begun: None,
                records: Vec::new(),
            };
            let ended = operations.run(generations.clone(), &mut computing).and_then(|_| computing.complete_last());
            let Computing { writer, records, .. } = computing;
            if ended.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            drop(writer);
            ((records, ended.err()), thread.join().ok().flatten())
        });
        result(work, ranks, operations, counted, training)
    }
}

/// A generation that a thread is writing.
struct Begun {
    generation: u64,
    begin_ns: u64,
    stall_ns: u64,
}

/// One rank of a model in training that computes while a thread writes: an operation is the time in which it stands still.
struct Computing<'a, 'f, R> {
    case: &'a Case<'a>,
    save: &'a Save,
    copy_ns: u64,
    ranks: &'f R,
    start: Start,
    writer: Writer<'f>,
    begun: Option<Begun>,
    records: Vec<CheckpointRecord>,
}

impl<R: Ranks> Computing<'_, '_, R> {
    /// Waits until the generation that was begun is complete on all ranks. Returns its number; `None` where there is none, or
    /// where ranks must stop.
    fn complete(&mut self) -> Result<Option<u64>, Box<Failure>> {
        let Some(Begun { generation, begin_ns, stall_ns }) = self.begun.take() else { return Ok(None) };
        let written = self.writer.wait(|| self.ranks.must_stop())?;
        if self.ranks.wait_for_all().is_err() {
            return Ok(None);
        }
        self.records.push(record(generation, begin_ns, stall_ns, written));
        Ok(Some(generation))
    }

    /// The same of the last generation, after which the oldest one is removed.
    fn complete_last(&mut self) -> Result<(), Box<Failure>> {
        let Some(complete) = self.complete()? else { return Ok(()) };
        self.writer.begin(Task { complete: Some(complete), generation: None });
        self.writer.wait(|| self.ranks.must_stop()).map(drop)
    }
}

impl<R: Ranks> Operate for Computing<'_, '_, R> {
    fn prepares(&self) -> bool {
        self.save.every_ns > 0
    }

    fn prepare(&mut self, _index: u64) {
        compute(self.save.compute, self.save.every_ns, self.case.clock, self.ranks);
    }

    fn operate(&mut self, index: u64) -> Result<Moved, Box<Failure>> {
        let clock = self.case.clock;
        let begin_ns = clock.now_ns();
        let complete = self.complete()?;
        compute(Compute::Sleep, self.copy_ns, clock, self.ranks);
        if !self.ranks.must_stop() {
            let stall_ns = clock.now_ns() - begin_ns;
            self.writer.begin(Task { complete, generation: Some(index) });
            self.begun = Some(Begun { generation: index, begin_ns: begin_ns - self.start.opened_ns, stall_ns });
        }
        Ok(Moved { bytes: 0, lane: GENERATION })
    }
}
