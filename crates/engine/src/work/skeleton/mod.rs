//! `skeleton`: a kind of work to copy. Copy this folder, fill it in, add a variant to the enum of the plan in
//! `crates/protocol/src/plan.rs` and a line to the registry. Every step: `docs/development/adding-a-kind-of-work.md`.
//!
//! Its operations do nothing. That is enough to run it through the tests of the registry, so that this page stays true.

pub(crate) mod run;

use ioassay_protocol::plan::{Job, Operation, Plan};

use super::checks::positive;
use super::{LeftOnTarget, PlannedJob, WorkKind};
use crate::refusal::Refusal;

/// What the plan says of it. That of a real kind is in `crates/protocol/src/plan/`, with serde's and schemars' derives and
/// with a doc comment for each key, from which the schemas and Python's types are generated.
#[derive(Debug, Clone)]
pub(crate) struct SkeletonWork {
    /// Operations of each rank.
    pub operations: u64,
}

/// The recorder has as many lanes as `measure::recorder::LANES`. Operations that have a rate of their own, and a latency
/// that would be lost among the others, have a lane of their own.
const LANE: usize = 0;

impl WorkKind for SkeletonWork {
    // Required. The word of the plan, that of serde's `rename_all`.
    fn name(&self) -> &'static str {
        "skeleton"
    }

    // Required. Lanes that `operate` counts into, with what they hold. All ranks of a job must say the same, also those
    // that happen to have nothing to do in one.
    fn lanes(&self) -> Vec<(usize, Operation)> {
        vec![(LANE, Operation::Stat)]
    }

    // `has_several_rates` and `pacing` are required only of kinds that cannot be limited or paced by their operations.

    // Required. Before any I/O: everything that cannot work is refused here, with the key, the problem, and what would be
    // valid. `job.storage.can` says what the storage API is able to do. A job that reads what an earlier one must have
    // written looks for that in `left`, and one that writes notes it there: steps are validated in order.
    fn validate(&self, job: &PlannedJob<'_>, _left: &mut LeftOnTarget) -> Result<(), Refusal> {
        positive(&format!("{}.operations", job.key), self.operations)
    }

    // Required. Asked only of jobs with direct I/O: refuse sizes that are no multiples of `unit` bytes.
    fn validate_alignment(&self, _job: &PlannedJob<'_>, _unit: u64) -> Result<(), Refusal> {
        Ok(())
    }

    // `workers` is required of kinds in which some ranks of the job have nothing to do.

    // Required, as the three that follow. Of all ranks together, and none may overflow: the control plane says them of a plan
    // before it is run, the check of a plan compares them with what is free, and doubts with what was moved.
    fn operations(&self, plan: &Plan, job: &Job) -> u64 {
        let each = self.operations.min(job.limit.operations_per_rank.unwrap_or(u64::MAX));
        each.saturating_mul(self.workers(plan, job).count.into())
    }

    fn moved_bytes(&self, _plan: &Plan, _job: &Job) -> u64 {
        0
    }

    fn written_bytes(&self, _plan: &Plan, _job: &Job) -> u64 {
        0
    }

    // Of one rank: nodes that lack the memory for it refuse the case.
    fn buffers_bytes(&self, _plan: &Plan, _job: &Job) -> u64 {
        0
    }

    // `file_set`, `transfers` and `may_begin_again` are for kinds that work on files.

    // `writes_files`, `creates_entries`, `largest_item_bytes` and `renamed_trees` are required of kinds that leave files of
    // file sets, or entries of trees: room is checked by them, and what is left is found and removed by them.

    // Required. What to change in the plan where a phase ended too soon to be measured.
    fn longer_remedy(&self) -> &'static str {
        "do more operations"
    }

    // `data` and `metadata` are for kinds that do what these do: the doubts about caches, payloads and durability apply.
}
