//! What a plan amounts to, for the control plane: it does no arithmetic of its own.
//!
//! Not here: how much room the target must have for it ([`super::sizes`]).

use ioassay_protocol::amounts::{CaseAmounts, JobAmounts};
use ioassay_protocol::plan::metadata::Tree;
use ioassay_protocol::plan::{Job, Operation, Plan, Step};

use super::kind_of;
use super::sizes::{Sizes, checkpoints_bytes, datasets_bytes};
use crate::workload::tree::Shape;

/// What the case of a validated plan amounts to.
pub fn of_plan(plan: &Plan) -> CaseAmounts {
    let phases = plan.steps.iter().filter_map(|step| if let Step::Phase(phase) = step { Some(phase) } else { None });
    let jobs = phases.flat_map(|phase| phase.jobs.iter().map(|job| of_job(plan, &phase.name, job)));
    CaseAmounts {
        case: plan.case.clone(),
        file_set_bytes: file_set_bytes(plan),
        written_bytes: plan.written_bytes(),
        may_write_less: may_write_less(plan),
        may_write_again: may_write_again(plan),
        jobs: jobs.collect(),
    }
}

fn of_job(plan: &Plan, phase: &str, job: &Job) -> JobAmounts {
    let kind = kind_of(&job.work);
    let (files, file_set_bytes) = kind.file_set(plan);
    JobAmounts {
        phase: phase.to_owned(),
        job: job.name.clone(),
        ranks: job.range(plan.rank_count()).count,
        kinds: kind.lanes().into_iter().map(|(_, operation)| operation).collect(),
        operations: kind.operations(plan, job),
        bytes: kind.moved_bytes(plan, job),
        files,
        file_set_bytes,
        transfers: kind.transfers(plan),
    }
}

/// True if a stonewall, or the rate of an earlier job, may end something before all of it is written.
pub fn may_write_less(plan: &Plan) -> bool {
    plan.jobs().any(|job| writes(job) && (job.limit.stonewall_ns.is_some() || job.limit.at_rate_of.is_some()))
}

/// True if a minimum time may let something be written more than once.
pub fn may_write_again(plan: &Plan) -> bool {
    plan.jobs().any(|job| writes(job) && kind_of(&job.work).may_begin_again(plan, job))
}

/// True if a job writes transfers or the bytes of items.
fn writes(job: &Job) -> bool {
    let lanes = kind_of(&job.work).lanes();
    lanes.iter().any(|(_, operation)| matches!(operation, Operation::Write | Operation::Create))
}

/// Bytes of all file sets, datasets and checkpoints, and of what the items of all trees hold.
fn file_set_bytes(plan: &Plan) -> u64 {
    let in_tree = |(name, tree): (&String, &Tree)| {
        let largest = plan.jobs().filter_map(|job| kind_of(&job.work).largest_item_bytes(name)).max();
        Shape::of(tree, plan.rank_count()).all_items().saturating_mul(largest.unwrap_or(0))
    };
    let others = [datasets_bytes(plan), checkpoints_bytes(plan)];
    plan.trees.iter().map(in_tree).chain(others).fold(plan.file_sets_bytes(), u64::saturating_add)
}
