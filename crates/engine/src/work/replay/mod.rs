//! Replays: what an application did, stream by stream.

mod amounts;
pub(crate) mod run;
pub mod streams;
pub(crate) mod validate;

use ioassay_protocol::amounts::TransferAmounts;
use ioassay_protocol::plan::replay::{ReplayWork, StreamOperation};
use ioassay_protocol::plan::{Job, Operation, Plan};

use super::sizes::Sizes;
use super::{LeftOnTarget, PacingSupport, PlannedJob, WorkKind};
use crate::refusal::Refusal;
use crate::workload::tree::Shape;

/// What is recorded in which lane, and its name in failures.
const LANES: [(Operation, &str); 9] = [
    (Operation::Write, "write"),
    (Operation::Read, "read"),
    (Operation::Open, "open"),
    (Operation::Close, "close"),
    (Operation::Sync, "fsync"),
    (Operation::Stat, "stat"),
    (Operation::Create, "create"),
    (Operation::Rename, "rename"),
    (Operation::Remove, "remove"),
];

impl WorkKind for ReplayWork {
    fn name(&self) -> &'static str {
        "replay"
    }

    /// Whichever ranks do them: all have the same lanes.
    fn lanes(&self) -> Vec<(usize, Operation)> {
        let any = |wanted| self.streams.iter().any(|stream| operations_of(&stream.operation).contains(&wanted));
        LANES.iter().map(|&(operation, _)| operation).enumerate().filter(|&(_, operation)| any(operation)).collect()
    }

    /// Each stream has its own.
    fn has_several_rates(&self) -> bool {
        true
    }

    fn pacing(&self) -> PacingSupport {
        PacingSupport::None {
            limit: "leave it out: a replay does all its operations",
            rate: "leave rate and think out: the duration of a replay is its pace",
        }
    }

    fn validate(&self, job: &PlannedJob<'_>, left: &mut LeftOnTarget) -> Result<(), Refusal> {
        validate::work(job.key, job.plan, self, job.step, job.storage, &mut left.trees)
    }

    fn validate_alignment(&self, job: &PlannedJob<'_>, unit: u64) -> Result<(), Refusal> {
        validate::aligned(job.key, self, unit)
    }

    fn operations(&self, plan: &Plan, _job: &Job) -> u64 {
        let (transfers, others) = counted(self, plan);
        let moved = transfers.iter().flat_map(|of| &of.sizes).map(|size| size.count);
        moved.fold(others, u64::saturating_add)
    }

    fn moved_bytes(&self, plan: &Plan, _job: &Job) -> u64 {
        let of_both = counted(self, plan).0;
        of_both.iter().map(amounts::bytes).fold(0, u64::saturating_add)
    }

    fn written_bytes(&self, plan: &Plan, _job: &Job) -> u64 {
        let (transfers, _) = counted(self, plan);
        transfers.iter().find(|of| of.operation == Operation::Write).map_or(0, amounts::bytes)
    }

    fn transfers(&self, plan: &Plan) -> Vec<TransferAmounts> {
        counted(self, plan).0
    }

    fn buffers_bytes(&self, _plan: &Plan, _job: &Job) -> u64 {
        streams::largest_transfer_bytes(self)
    }

    fn creates_entries(&self, tree: &str) -> bool {
        streams::creates(self, tree)
    }

    fn largest_item_bytes(&self, tree: &str) -> Option<u64> {
        streams::largest_file_bytes(self, tree)
    }

    fn renamed_trees(&self) -> Vec<&str> {
        streams::renamed(self).collect()
    }

    fn longer_remedy(&self) -> &'static str {
        "replay more of the application"
    }
}

/// The transfers of all ranks, and how many other operations they do.
fn counted(work: &ReplayWork, plan: &Plan) -> (Vec<TransferAmounts>, u64) {
    let items = |tree: &str| Shape::of(&plan.trees[tree], plan.rank_count()).all_items();
    amounts::of_streams(work, plan.rank_count(), items)
}

/// The operations of a stream, the one that it is about first.
fn operations_of(stream: &StreamOperation) -> &'static [Operation] {
    use Operation::{Close, Create, Open, Read, Remove, Rename, Stat, Sync, Write};
    match stream {
        StreamOperation::Write(transfers) if transfers.sync_every.is_some() => &[Write, Open, Close, Sync],
        StreamOperation::Fill { .. } | StreamOperation::Write(_) => &[Write, Open, Close],
        StreamOperation::Read(_) => &[Read, Open, Close],
        StreamOperation::Open { absent: false, .. } => &[Open, Close],
        StreamOperation::Open { absent: true, .. } => &[Open],
        StreamOperation::Stat { .. } => &[Stat],
        StreamOperation::Create { .. } => &[Create],
        StreamOperation::Rename { .. } => &[Rename],
        StreamOperation::Remove { .. } => &[Remove],
    }
}
