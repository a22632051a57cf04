//! Checkpoints: the state of a model in training is saved by all ranks, while training stands still, and restored.

pub(crate) mod run;
pub(crate) mod validate;

use std::ops::Range;

use ioassay_protocol::plan::checkpoint::{Checkpoint, CheckpointOperation, CheckpointWork};
use ioassay_protocol::plan::{Job, Operation, Plan, Step};

use super::sizes::Sizes;
use super::{LeftOnTarget, PacingSupport, PlannedJob, WorkKind, kind_of};
use crate::refusal::Refusal;
use crate::workload::checkpoint::{self, Shards};

/// What files are filled up to a multiple of where direct I/O, which moves whole sectors, writes or reads them.
const DIRECT_UNIT_BYTES: u64 = 4096;

/// Lane of the transfers, which write or read.
const TRANSFER: usize = 0;

/// Lane of the generations.
const GENERATION: usize = 1;

impl WorkKind for CheckpointWork {
    fn name(&self) -> &'static str {
        "checkpoint"
    }

    fn lanes(&self) -> Vec<(usize, Operation)> {
        let transfer = if self.is_save() { Operation::Write } else { Operation::Read };
        vec![(TRANSFER, transfer), (GENERATION, Operation::Checkpoint)]
    }

    fn pacing(&self) -> PacingSupport {
        PacingSupport::None {
            limit: "leave it out, and save or restore fewer generations",
            rate: "leave rate and think out: the time that ranks compute between generations is the pace",
        }
    }

    fn validate(&self, job: &PlannedJob<'_>, left: &mut LeftOnTarget) -> Result<(), Refusal> {
        validate::work(job, self, &mut left.generations)
    }

    fn validate_alignment(&self, job: &PlannedJob<'_>, unit: u64) -> Result<(), Refusal> {
        validate::aligned(job, self, unit)
    }

    fn operations(&self, plan: &Plan, _job: &Job) -> u64 {
        let shards = self.shards(plan);
        let each = shards.transfers(self.transfer_bytes).saturating_add(shards.ranks().into());
        each.saturating_mul(self.count())
    }

    fn moved_bytes(&self, plan: &Plan, _job: &Job) -> u64 {
        self.shards(plan).all_bytes().saturating_mul(self.count())
    }

    fn written_bytes(&self, plan: &Plan, job: &Job) -> u64 {
        if self.is_save() { self.moved_bytes(plan, job) } else { 0 }
    }

    fn file_set(&self, plan: &Plan) -> (u64, u64) {
        let shards = self.shards(plan);
        (shards.file_count(), shards.all_bytes())
    }

    fn buffers_bytes(&self, plan: &Plan, _job: &Job) -> u64 {
        let buffer_bytes = self.buffer_bytes(&self.shards(plan));
        let verifies = matches!(&self.operation, CheckpointOperation::Restore(restore) if restore.verify);
        buffer_bytes.saturating_mul(if verifies { 2 } else { 1 })
    }

    fn longer_remedy(&self) -> &'static str {
        "save or restore more generations, or a larger model"
    }

    fn is_paced_by(&self) -> Option<&'static str> {
        let computes = matches!(&self.operation, CheckpointOperation::Save(save) if save.every_ns > 0);
        computes.then_some("its ranks compute between generations")
    }

    fn checkpoint(&self) -> Option<&CheckpointWork> {
        Some(self)
    }
}

/// What all sides of the engine ask of this work, once it is validated.
pub(crate) trait OnCheckpoint {
    /// True if it writes.
    fn is_save(&self) -> bool;

    /// Generations that it saves or restores.
    fn count(&self) -> u64;

    /// The files of its checkpoint.
    fn shards(&self, plan: &Plan) -> Shards;

    /// The generations that it works on in step `step`.
    fn generations(&self, plan: &Plan, step: u32) -> Range<u64>;

    /// What each rank moves bytes from or to.
    fn buffer_bytes(&self, shards: &Shards) -> u64;
}

impl OnCheckpoint for CheckpointWork {
    fn is_save(&self) -> bool {
        matches!(self.operation, CheckpointOperation::Save(_))
    }

    fn count(&self) -> u64 {
        match &self.operation {
            CheckpointOperation::Save(save) => save.count,
            CheckpointOperation::Restore(restore) => restore.count,
        }
    }

    fn shards(&self, plan: &Plan) -> Shards {
        shards(plan, &self.checkpoint)
    }

    fn generations(&self, plan: &Plan, step: u32) -> Range<u64> {
        let saved = saves(&plan.steps[..step as usize], &self.checkpoint);
        if self.is_save() { saved..saved + self.count() } else { saved.saturating_sub(self.count())..saved }
    }

    fn buffer_bytes(&self, shards: &Shards) -> u64 {
        self.transfer_bytes.min(shards.largest_file_bytes())
    }
}

/// How often `steps` save the checkpoint `name`.
fn saves(steps: &[Step], name: &str) -> u64 {
    let phases = steps.iter().filter_map(|step| if let Step::Phase(phase) = step { Some(phase) } else { None });
    let works = phases.flat_map(|phase| &phase.jobs).filter_map(|job| kind_of(&job.work).checkpoint());
    works.filter(|work| work.checkpoint == name && work.is_save()).map(OnCheckpoint::count).fold(0, u64::saturating_add)
}

/// Each checkpoint of a plan with its name, its files, and in how many places the files of generations lie at the same time.
pub(crate) fn all(plan: &Plan) -> impl Iterator<Item = (&str, &Checkpoint, Shards, u64)> {
    plan.checkpoints.iter().map(|(name, described)| {
        let places = checkpoint::places(described, saves(&plan.steps, name));
        (name.as_str(), described, shards(plan, name), places)
    })
}

/// The files of the checkpoint `name`; filled up where a job works on it past the page cache.
pub(crate) fn shards(plan: &Plan, name: &str) -> Shards {
    let works_on = |job: &Job| kind_of(&job.work).checkpoint().is_some_and(|work| work.checkpoint == name);
    let direct = plan.jobs().any(|job| works_on(job) && plan.storage_of(job).direct);
    let shards = Shards::of(&plan.checkpoints[name], plan.rank_count());
    if direct { shards.filled_up(DIRECT_UNIT_BYTES) } else { shards }
}
