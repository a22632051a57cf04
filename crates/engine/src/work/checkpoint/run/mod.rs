//! Doing it, as one rank: generation after generation, each until all ranks have it. [`files`] moves the bytes.

mod files;

use std::ops::Range;

use ioassay_protocol::events::{CheckpointRecord, Failure};
use ioassay_protocol::plan::Job;
use ioassay_protocol::plan::checkpoint::{CheckpointOperation, CheckpointWork};

use self::files::RankFiles;
use super::{GENERATION, OnCheckpoint, TRANSFER};
use crate::measure::recorder::Recorder;
use crate::ranks::{Ranks, Start};
use crate::work::WorkKind;
use crate::work::run::job_result::{JobResult, JobTimes};
use crate::work::run::operations::{Moved, Operate, Operations};
use crate::work::run::pacing::compute;
use crate::work::run::{Case, History, Member, PreparedJob, RunWork};

impl<R: Ranks> RunWork<R> for CheckpointWork {
    fn prepare<'a>(
        &'a self,
        member: &Member<'a>,
        history: &History,
    ) -> Result<Box<dyn PreparedJob<R> + 'a>, Box<Failure>> {
        let shift = match &self.operation {
            CheckpointOperation::Save(_) => 0,
            CheckpointOperation::Restore(restore) => restore.shift + history.reads_shifted_by,
        };
        Ok(Box::new(CheckpointJob {
            case: member.case,
            work: self,
            generations: self.generations(member.case.plan, member.step),
            files: RankFiles::prepare(member, self, shift)?,
        }))
    }
}

/// The generations of one rank, prepared outside the clock.
struct CheckpointJob<'a> {
    case: &'a Case<'a>,
    work: &'a CheckpointWork,
    generations: Range<u64>,
    files: RankFiles<'a>,
}

impl<R: Ranks> PreparedJob<R> for CheckpointJob<'_> {
    fn run(self: Box<Self>, ranks: &R, job: (usize, &Job), start: Start) -> JobResult {
        let Self { case, work, generations, mut files } = *self;
        let Case { plan, clock, .. } = *case;
        let mut operations = Operations::new(ranks, clock, job, 0, start, plan.sample_interval_ns);
        let mut training = Training {
            case,
            work,
            ranks,
            start,
            files: &mut files,
            recorder: Recorder::new(ranks.counters(), TRANSFER, start.opened_ns, plan.sample_interval_ns),
            records: Vec::new(),
        };
        let failure = operations.run(generations, &mut training).err();
        let Training { recorder, records, .. } = training;
        let mut statistics = operations.finish(failure.is_some());
        statistics.recorded[TRANSFER] = recorder.finish(clock.now_ns());
        let complete = failure.is_none() && !ranks.must_stop();
        let synced = complete && matches!(&work.operation, CheckpointOperation::Save(save) if save.fsync);
        JobResult {
            times: files.times,
            short_transfers: files.short_transfers,
            requests: files.take_request_counts(),
            complete,
            synced,
            checkpoints: records,
            failure,
            ..JobResult::new(work.lanes(), statistics)
        }
    }
}

/// One rank of a model in training: an operation is the time in which it stands still for one generation.
struct Training<'a, 'f, R> {
    case: &'a Case<'a>,
    work: &'a CheckpointWork,
    ranks: &'f R,
    start: Start,
    files: &'f mut RankFiles<'a>,
    recorder: Recorder<'f>,
    records: Vec<CheckpointRecord>,
}

impl<R: Ranks> Operate for Training<'_, '_, R> {
    fn prepares(&self) -> bool {
        matches!(&self.work.operation, CheckpointOperation::Save(save) if save.every_ns > 0)
    }

    /// Trains until it is time for generation `_index`.
    fn prepare(&mut self, _index: u64) {
        if let CheckpointOperation::Save(save) = &self.work.operation {
            compute(save.compute, save.every_ns, self.case.clock, self.ranks);
        }
    }

    fn operate(&mut self, index: u64) -> Result<Moved, Box<Failure>> {
        let clock = self.case.clock;
        let (begin_ns, before) = (clock.now_ns(), self.files.times);
        let bytes = match &self.work.operation {
            CheckpointOperation::Save(save) => self.files.write(index, save, &mut self.recorder, self.ranks)?,
            CheckpointOperation::Restore(restore) => {
                self.files.read(index, restore.verify, &mut self.recorder, self.ranks)?
            }
        };
        let own_end_ns = clock.now_ns();
        // Where ranks must stop, they have not done it; the loop asks before the next one.
        if self.ranks.wait_for_all().is_ok() {
            if self.work.is_save() {
                self.files.remove_before(index)?;
            }
            let JobTimes { fill, fsync, .. } = self.files.times;
            self.records.push(CheckpointRecord {
                generation: index,
                bytes,
                begin_ns: begin_ns - self.start.opened_ns,
                own_ns: own_end_ns - begin_ns,
                fill_ns: fill - before.fill,
                fsync_ns: fsync - before.fsync,
                stall_ns: clock.now_ns() - begin_ns,
            });
        }
        Ok(Moved { bytes: 0, lane: GENERATION })
    }
}
