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

    fn moved_bytes(&self, plan: &Plan, job: &Job) -> u64 {
        let ranks = plan.rank_count();
        let geometry = Geometry::of(&plan.files[&self.files], ranks);
        let geometry = self.piece_bytes.map_or(geometry, |bytes| geometry.in_pieces_of(bytes));
        let limit = job.limit.bytes_per_rank.unwrap_or(u64::MAX);
        let operations = job.limit.operations_per_rank.unwrap_or(u64::MAX);
        let part = geometry.part_bytes().min(limit).min(operations.saturating_mul(geometry.transfer_bytes));
        part.saturating_mul(job.range(ranks).count.into())
    }

    fn written_bytes(&self, plan: &Plan, job: &Job) -> u64 {
        if self.transfer.writes() { self.moved_bytes(plan, job) } else { 0 }
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
