//! Doing it, as one rank.

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::Job;

use super::{LANE, SkeletonWork};
use crate::ranks::{Ranks, Start};
use crate::storage::RequestCounts;
use crate::work::WorkKind;
use crate::work::run::job_result::{JobResult, JobTimes};
use crate::work::run::operations::{Moved, Operate, Operations};
use crate::work::run::{Case, History, Member, PreparedJob, RunWork};

impl<R: Ranks> RunWork<R> for SkeletonWork {
    // Required. Before the clock starts: connect (`Case::connect`), make buffers, build paths, list what is to be done.
    // What earlier steps have left is in the history, for example how much a stonewall let be written.
    fn prepare<'a>(
        &'a self,
        member: &Member<'a>,
        _history: &History,
    ) -> Result<Box<dyn PreparedJob<R> + 'a>, Box<Failure>> {
        Ok(Box::new(SkeletonJob { case: member.case, work: self }))
    }

    // `note` is required of kinds that leave something for later jobs. It runs on every rank, whether it had the job or not.
}

struct SkeletonJob<'a> {
    case: &'a Case<'a>,
    work: &'a SkeletonWork,
}

impl<R: Ranks> PreparedJob<R> for SkeletonJob<'_> {
    // Required. Called once, when all ranks have started. The loop is `Operations`: it knows the limits and the rate of the
    // job, times each operation and hears of a stop. What comes between operations, such as opening a file, is timed apart
    // (`restart_timer`, `JobTimes`).
    fn run(self: Box<Self>, ranks: &R, job: (usize, &Job), start: Start) -> JobResult {
        let Case { plan, clock, .. } = *self.case;
        // Bytes of an operation, by which limits and rates in bytes are counted.
        let bytes_each = 0;
        let mut operations = Operations::new(ranks, clock, job, bytes_each, start, plan.sample_interval_ns);
        let failure = operations.run(0..self.work.operations, &mut EmptyOperation).err();
        let statistics = operations.finish(failure.is_some());
        JobResult {
            times: JobTimes { transfer: clock.now_ns() - start.left_ns, ..JobTimes::default() },
            // Those of the connection.
            short_transfers: 0,
            requests: RequestCounts::default(),
            complete: !ranks.must_stop(),
            // True where all that was written has been forced to stable storage.
            synced: false,
            // What `note` asks of all ranks.
            written: None,
            failure,
            ..JobResult::new(self.work.lanes(), statistics)
        }
    }
}

struct EmptyOperation;

impl Operate for EmptyOperation {
    // Required. The hot path: no allocation, no lock, no clock, no trait object but the storage's. `inline(always)`, so that
    // the loop is compiled with it.
    #[inline(always)]
    fn operate(&mut self, _index: u64) -> Result<Moved, Box<Failure>> {
        Ok(Moved { bytes: 0, lane: LANE })
    }

    // `prepare` is for what must be done before each operation without counting in its time.
}
