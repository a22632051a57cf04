//! Metadata: the entries of a tree, created, inspected, changed and removed.

pub(crate) mod run;
pub(crate) mod validate;

use ioassay_protocol::plan::metadata::{EntryOrder, MetadataOperation, MetadataWork};
use ioassay_protocol::plan::{Job, Operation, Plan, RankRange};

use super::sizes::Sizes;
use super::{LeftOnTarget, PlannedJob, WorkKind};
use crate::refusal::Refusal;
use crate::workload::tree::{self, Shape};

impl WorkKind for MetadataWork {
    fn name(&self) -> &'static str {
        "metadata"
    }

    fn lanes(&self) -> Vec<(usize, Operation)> {
        self.operation.operations().iter().copied().enumerate().collect()
    }

    fn validate(&self, job: &PlannedJob<'_>, left: &mut LeftOnTarget) -> Result<(), Refusal> {
        validate::work(job.key, job.plan, job.job, self, job.step, job.storage, &mut left.trees)
    }

    fn validate_alignment(&self, job: &PlannedJob<'_>, unit: u64) -> Result<(), Refusal> {
        validate::aligned(job.key, self, unit)
    }

    fn workers(&self, plan: &Plan, job: &Job) -> RankRange {
        tree::workers(&plan.trees[&self.tree], self.operation, job.range(plan.rank_count()))
    }

    fn operations(&self, plan: &Plan, job: &Job) -> u64 {
        let shape = Shape::of(&plan.trees[&self.tree], plan.rank_count());
        match self.operation {
            MetadataOperation::CreateTree {} | MetadataOperation::RemoveTree {} => {
                shape.directories.saturating_mul(shape.trees.into())
            }
            _ => items_worked_on(self, plan, job).saturating_mul(operations_each(self)),
        }
    }

    fn moved_bytes(&self, plan: &Plan, job: &Job) -> u64 {
        items_worked_on(self, plan, job).saturating_mul(read_each(self) + written_each(self))
    }

    fn written_bytes(&self, plan: &Plan, job: &Job) -> u64 {
        items_worked_on(self, plan, job).saturating_mul(written_each(self))
    }

    fn file_set(&self, plan: &Plan) -> (u64, u64) {
        let items = Shape::of(&plan.trees[&self.tree], plan.rank_count()).all_items();
        (0, items.saturating_mul(moved_at_once(self)))
    }

    fn buffers_bytes(&self, _plan: &Plan, _job: &Job) -> u64 {
        moved_at_once(self).saturating_mul(1 + u64::from(self.verify))
    }

    fn creates_entries(&self, tree: &str) -> bool {
        use MetadataOperation as Kind;
        self.tree == tree && matches!(self.operation, Kind::CreateTree {} | Kind::Create { .. })
    }

    fn largest_item_bytes(&self, tree: &str) -> Option<u64> {
        (self.tree == tree).then(|| written_each(self))
    }

    fn renamed_trees(&self) -> Vec<&str> {
        match self.operation {
            MetadataOperation::Rename {} | MetadataOperation::Replace { .. } => vec![&self.tree],
            _ => Vec::new(),
        }
    }

    /// One in each directory, where entries are taken so.
    fn round_operations(&self, plan: &Plan) -> u64 {
        match self.order {
            EntryOrder::Interleaved => Shape::of(&plan.trees[&self.tree], plan.rank_count()).directories_with_items(),
            EntryOrder::Sequential | EntryOrder::Random => 1,
        }
    }

    fn longer_remedy(&self) -> &'static str {
        "work on more items: more in each directory, or more directories"
    }

    fn metadata(&self) -> Option<&MetadataWork> {
        Some(self)
    }
}

/// Items that all ranks of a job work on, when it does all its work or up to its limit.
fn items_worked_on(work: &MetadataWork, plan: &Plan, job: &Job) -> u64 {
    let items = Shape::of(&plan.trees[&work.tree], plan.rank_count()).items_per_part();
    let most = job.limit.operations_per_rank.map_or(u64::MAX, |most| most.div_ceil(operations_each(work)));
    items.min(most).saturating_mul(plan.workers(job).count.into())
}

/// Operations of a job on each item.
fn operations_each(work: &MetadataWork) -> u64 {
    work.operation.operations().len() as u64
}

/// Bytes that a job writes into each file.
fn written_each(work: &MetadataWork) -> u64 {
    match work.operation {
        MetadataOperation::Create { write_bytes: bytes, .. }
        | MetadataOperation::Write { bytes, .. }
        | MetadataOperation::Replace { bytes } => bytes,
        _ => 0,
    }
}

/// Bytes that a job reads from each file, besides what it may read back.
fn read_each(work: &MetadataWork) -> u64 {
    match work.operation {
        MetadataOperation::Read { bytes } | MetadataOperation::Replace { bytes } => bytes,
        _ => 0,
    }
}

/// Bytes that one call of a job moves.
pub fn moved_at_once(work: &MetadataWork) -> u64 {
    read_each(work).max(written_each(work))
}
