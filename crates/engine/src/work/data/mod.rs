//! Data: the bytes of a file set, written, read or both.

mod collective;
pub(crate) mod run;
pub(crate) mod validate;

use ioassay_protocol::plan::data::{DataWork, Order, Transfer};
use ioassay_protocol::plan::{Job, Operation, Plan};

use super::sizes::Sizes;
use super::{LeftOnTarget, PacingSupport, PlannedJob, WorkKind};
use crate::refusal::Refusal;
use crate::workload::layout::Geometry;

/// The lane of writes.
const WRITE: usize = 0;

/// The lane of reads.
const READ: usize = 1;

impl WorkKind for DataWork {
    fn name(&self) -> &'static str {
        "data"
    }

    fn lanes(&self) -> Vec<(usize, Operation)> {
        match self.transfer {
            Transfer::Write => vec![(WRITE, Operation::Write)],
            Transfer::Read => vec![(READ, Operation::Read)],
            Transfer::Mixed(_) => vec![(READ, Operation::Read), (WRITE, Operation::Write)],
        }
    }

    fn pacing(&self) -> PacingSupport {
        PacingSupport::Any
    }

    fn validate(&self, job: &PlannedJob<'_>, left: &mut LeftOnTarget) -> Result<(), Refusal> {
        validate::work(job.key, job.plan, job.job, self, job.storage, &mut left.filled)
    }

    fn validate_alignment(&self, job: &PlannedJob<'_>, unit: u64) -> Result<(), Refusal> {
        validate::aligned(job.key, job.plan, self, job.storage, unit)
    }

    fn operations(&self, plan: &Plan, job: &Job) -> u64 {
        self.moved_bytes(plan, job) / geometry(self, plan).transfer_bytes
    }

    fn moved_bytes(&self, plan: &Plan, job: &Job) -> u64 {
        let geometry = geometry(self, plan);
        let part = geometry.part_bytes().min(most_of_rank(job, &geometry).unwrap_or(u64::MAX));
        part.saturating_mul(job.range(plan.rank_count()).count.into())
    }

    fn written_bytes(&self, plan: &Plan, job: &Job) -> u64 {
        if self.transfer.writes() { self.moved_bytes(plan, job) } else { 0 }
    }

    fn file_set(&self, plan: &Plan) -> (u64, u64) {
        let geometry = Geometry::of(&plan.files[&self.files], plan.rank_count());
        (geometry.files(), geometry.bytes())
    }

    fn may_begin_again(&self, plan: &Plan, job: &Job) -> bool {
        let geometry = geometry(self, plan);
        job.limit.minimum_ns.is_some() && most_of_rank(job, &geometry).is_none_or(|most| most > geometry.part_bytes())
    }

    fn buffers_bytes(&self, plan: &Plan, job: &Job) -> u64 {
        let compared = u64::from(self.verify.is_some());
        let buffers = u64::from(plan.storage_of(job).depth) + compared;
        plan.files[&self.files].transfer_bytes.saturating_mul(buffers)
    }

    fn writes_files(&self, files: &str) -> Option<Order> {
        (self.transfer.writes() && self.files == files).then_some(self.order)
    }

    fn longer_remedy(&self) -> &'static str {
        "move more data: a larger total, larger files, or a runtime"
    }

    fn data(&self) -> Option<&DataWork> {
        Some(self)
    }
}

/// How ranks move what they move: the file set in the pieces of the job.
fn geometry(work: &DataWork, plan: &Plan) -> Geometry {
    let geometry = Geometry::of(&plan.files[&work.files], plan.rank_count());
    work.piece_bytes.map_or(geometry, |bytes| geometry.in_pieces_of(bytes))
}

/// Bytes that the limit of a job allows each rank.
fn most_of_rank(job: &Job, geometry: &Geometry) -> Option<u64> {
    let operations = job.limit.operations_per_rank.map(|most| most.saturating_mul(geometry.transfer_bytes));
    job.limit.bytes_per_rank.into_iter().chain(operations).min()
}
