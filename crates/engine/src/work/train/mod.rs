//! Training: datasets are created, and epochs read them by data loaders that feed accelerators.

pub(crate) mod run;
pub(crate) mod validate;

use ioassay_protocol::plan::train::{Dataset, Epoch, SampleSizes, TrainOperation, TrainWork};
use ioassay_protocol::plan::{Job, Operation, Plan};

use super::sizes::Sizes;
use super::{LeftOnTarget, PacingSupport, PlannedJob, WorkKind};
use crate::refusal::Refusal;
use crate::storage::Capabilities;
use crate::workload::container;
use crate::workload::dataset::{EpochOrder, Samples};

/// Lane of what is written into the files of a dataset.
const WRITE: usize = 0;

/// Lane of the samples that are read.
const READ: usize = 0;

/// Lane of an accelerator's steps.
const STEP: usize = 1;

/// What a file is written in, where the storage API leaves the choice.
const TRANSFER_BYTES: u64 = 8 << 20;

/// Unless the kernel tells, what offsets and lengths of direct I/O are multiples of.
const DIRECT_UNIT_BYTES: u64 = 4096;

impl WorkKind for TrainWork {
    fn name(&self) -> &'static str {
        "train"
    }

    fn lanes(&self) -> Vec<(usize, Operation)> {
        match self.operation {
            TrainOperation::Create { .. } => vec![(WRITE, Operation::Write)],
            TrainOperation::Epoch(_) => vec![(READ, Operation::Read), (STEP, Operation::Step)],
        }
    }

    fn pacing(&self) -> PacingSupport {
        PacingSupport::None {
            limit: "leave it out, and use a smaller dataset: an epoch reads all of it",
            rate: "leave rate and think out: the time that each step computes is the pace of an epoch",
        }
    }

    fn validate(&self, job: &PlannedJob<'_>, left: &mut LeftOnTarget) -> Result<(), Refusal> {
        validate::work(job, self, &mut left.datasets)
    }

    /// Reads take in whole sectors around each sample.
    fn validate_alignment(&self, job: &PlannedJob<'_>, unit: u64) -> Result<(), Refusal> {
        validate::aligned(job, self, unit)
    }

    fn operations(&self, plan: &Plan, job: &Job) -> u64 {
        let (dataset, samples) = self.samples(plan);
        match &self.operation {
            TrainOperation::Create { .. } => {
                let transfer_bytes = self.transfer_bytes(plan, job);
                let of_file = |file| samples.file_bytes(file).div_ceil(transfer_bytes);
                (0..samples.all_files()).map(of_file).fold(0, u64::saturating_add)
            }
            TrainOperation::Epoch(epoch) => {
                let ranks = job.range(plan.rank_count()).count;
                let order = EpochOrder::new(dataset, epoch, ranks);
                order.reads().saturating_add(order.steps().saturating_mul(ranks.into()))
            }
        }
    }

    fn moved_bytes(&self, plan: &Plan, job: &Job) -> u64 {
        let (dataset, samples) = self.samples(plan);
        match &self.operation {
            TrainOperation::Create { .. } => samples.all_bytes(),
            TrainOperation::Epoch(epoch) => {
                EpochOrder::new(dataset, epoch, job.range(plan.rank_count()).count).read_bytes(&samples)
            }
        }
    }

    fn written_bytes(&self, plan: &Plan, job: &Job) -> u64 {
        match self.operation {
            TrainOperation::Create { .. } => self.moved_bytes(plan, job),
            TrainOperation::Epoch(_) => 0,
        }
    }

    fn file_set(&self, plan: &Plan) -> (u64, u64) {
        let (_, samples) = self.samples(plan);
        (samples.all_files(), samples.all_bytes())
    }

    fn buffers_bytes(&self, plan: &Plan, job: &Job) -> u64 {
        match &self.operation {
            TrainOperation::Create { .. } => self.transfer_bytes(plan, job),
            TrainOperation::Epoch(epoch) => {
                let (dataset, samples) = self.samples(plan);
                let each = buffer_bytes(&samples).saturating_mul(if epoch.verify { 2 } else { 1 });
                let of_threads = each.saturating_mul(epoch.loader_threads.max(1).into());
                of_threads.saturating_add(held_bytes(dataset, &samples, epoch))
            }
        }
    }

    /// All files of a dataset that is kept may be there already.
    fn may_do_none(&self, plan: &Plan, _operation: Operation) -> bool {
        let is_create = matches!(self.operation, TrainOperation::Create { .. });
        is_create && plan.datasets.get(&self.dataset).is_some_and(|dataset| dataset.keep.is_some())
    }

    fn reads_dataset(&self) -> Option<&str> {
        matches!(self.operation, TrainOperation::Epoch(_)).then_some(&self.dataset)
    }

    fn longer_remedy(&self) -> &'static str {
        match self.operation {
            TrainOperation::Create { .. } => "create a larger dataset",
            TrainOperation::Epoch(_) => "use a larger dataset, or compute longer for each step",
        }
    }
}

/// What both sides of the engine ask of this work, once it is validated.
trait OnDataset {
    /// Its dataset, and the samples of that.
    fn samples<'a>(&self, plan: &'a Plan) -> (&'a Dataset, Samples);

    /// What each write moves at most.
    fn transfer_bytes(&self, plan: &Plan, job: &Job) -> u64;
}

impl OnDataset for TrainWork {
    fn samples<'a>(&self, plan: &'a Plan) -> (&'a Dataset, Samples) {
        let dataset = &plan.datasets[&self.dataset];
        let most_read_bytes = match &self.operation {
            TrainOperation::Epoch(epoch) => epoch.read_bytes,
            TrainOperation::Create { .. } => None,
        };
        (dataset, Samples::of(dataset).read_in_part(most_read_bytes))
    }

    fn transfer_bytes(&self, plan: &Plan, job: &Job) -> u64 {
        let api = crate::storage::of_plan(&plan.storage_of(job).api);
        transfer_bytes(&api.capabilities_for(&plan.target), &self.samples(plan).1)
    }
}

/// What each write moves at most, of a storage API that can do this.
fn transfer_bytes(can: &Capabilities, samples: &Samples) -> u64 {
    if can.whole_files {
        return samples.largest_file_bytes();
    }
    TRANSFER_BYTES.max(can.parts.map_or(0, |parts| parts.smallest_bytes))
}

/// The most that a thread reads at once: a sample with what its container puts around it, or the footer of a file.
fn largest_read_bytes(samples: &Samples) -> u64 {
    let footer = samples.footer_bytes(0).saturating_mul(2);
    samples.largest_bytes().saturating_add(container::MOST_AROUND_BYTES).max(footer)
}

/// What a thread reads into, with the sectors around it.
fn buffer_bytes(samples: &Samples) -> u64 {
    largest_read_bytes(samples).saturating_add(2 * DIRECT_UNIT_BYTES)
}

/// Batches that an epoch holds in memory at most: those that its loader has begun or loaded, and that of the computation.
fn held_batches(epoch: &Epoch) -> u64 {
    if !epoch.hold_batches {
        return 0;
    }
    threads(epoch).saturating_mul(epoch.prefetch.into()).saturating_add(1)
}

/// What these take. Of normally distributed samples a batch has, but for one in a billion, at most six standard deviations of
/// its sum more than its mean.
fn held_bytes(dataset: &Dataset, samples: &Samples, epoch: &Epoch) -> u64 {
    let around = container::MOST_AROUND_BYTES + 2 * DIRECT_UNIT_BYTES;
    let largest = epoch.batch.saturating_mul(samples.largest_bytes());
    let bytes = match &dataset.sizes {
        SampleSizes::Normal { mean_bytes, standard_deviation_bytes, .. } => {
            let beyond = standard_deviation_bytes.saturating_mul(6).saturating_mul(epoch.batch.isqrt() + 1);
            epoch.batch.saturating_mul(*mean_bytes).saturating_add(beyond).min(largest)
        }
        SampleSizes::Fixed(_) | SampleSizes::Histogram(_) => largest,
    };
    let read = epoch.read_bytes.map_or(bytes, |most| bytes.min(epoch.batch.saturating_mul(most)));
    held_batches(epoch).saturating_mul(read.saturating_add(epoch.batch.saturating_mul(around)))
}

/// What direct I/O moves multiples of; `None` where the page cache is used.
fn direct_unit(direct: bool, unit: Option<u64>) -> Option<u64> {
    direct.then(|| unit.unwrap_or(DIRECT_UNIT_BYTES).min(DIRECT_UNIT_BYTES))
}

/// Threads of `epoch` that load; without any, the rank itself does.
fn threads(epoch: &Epoch) -> u64 {
    epoch.loader_threads.into()
}
