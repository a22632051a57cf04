//! What ranks do in the jobs of a phase: the kinds of work, one folder each.
//!
//! A kind is a variant of [`ioassay_protocol::plan::Work`], a folder here, and a line in [`registry`], the only place
//! that matches the enum. Its folder implements [`WorkKind`], what the plan of it must be and what it amounts to, and in
//! its `run` [`run::RunWork`], how a rank does it. [`skeleton`] is one to copy, with a comment on each method.
//! [`sizes`] and [`amounts`] add up what all jobs of a plan do; [`checks`], [`pace`] and [`storage`] are checked for every kind.
//! Not here: the steps of a case ([`crate::case`]), what files and trees look like ([`crate::workload`]).

pub mod amounts;
pub(crate) mod checkpoint;
pub(crate) mod checks;
pub(crate) mod data;
mod find;
pub(crate) mod kv_cache;
pub mod metadata;
pub(crate) mod pace;
mod registry;
pub(crate) mod replay;
pub mod run;
pub mod sizes;
#[cfg(test)]
mod skeleton;
pub(crate) mod storage;
pub(crate) mod train;

use std::collections::{BTreeMap, BTreeSet};

use ioassay_protocol::amounts::TransferAmounts;
use ioassay_protocol::plan::checkpoint::CheckpointWork;
use ioassay_protocol::plan::data::{DataWork, Order};
use ioassay_protocol::plan::metadata::MetadataWork;
use ioassay_protocol::plan::{Job, Operation, Plan, RankRange};

pub(crate) use self::registry::{each_kind, kind_of};
use self::sizes::Sizes;
use self::storage::JobStorage;
use crate::refusal::Refusal;

/// What the engine must know of a kind of work before and after ranks do it. Methods with a body suit most kinds.
///
/// Sizes, needs and `lanes` are asked of validated plans only, and must not overflow: they saturate.
pub(crate) trait WorkKind {
    /// Its name in plans (`kind`).
    fn name(&self) -> &'static str;

    /// Its operations, each with the lane of the recorder that counts it; one record of a phase for each, in this order.
    fn lanes(&self) -> Vec<(usize, Operation)>;

    /// True where no single rate describes it, so that no later job can be limited by that.
    fn has_several_rates(&self) -> bool {
        self.lanes().len() > 1
    }

    /// Which limits and rates it can keep.
    fn pacing(&self) -> PacingSupport {
        PacingSupport::ByOperations
    }

    /// Refuses what cannot run, and notes in `left` what it leaves on the target for later steps.
    fn validate(&self, job: &PlannedJob<'_>, left: &mut LeftOnTarget) -> Result<(), Refusal>;

    /// Refuses what direct I/O cannot move where it moves multiples of `unit` bytes.
    fn validate_alignment(&self, job: &PlannedJob<'_>, unit: u64) -> Result<(), Refusal>;

    /// The ranks that have something to do in it.
    fn workers(&self, plan: &Plan, job: &Job) -> RankRange {
        job.range(plan.rank_count())
    }

    /// Operations of all ranks when they do all the work once, or up to its limit; 0 where that is seen only then.
    fn operations(&self, plan: &Plan, job: &Job) -> u64;

    /// Bytes that all ranks move when they do all the work once, or up to its limit.
    fn moved_bytes(&self, plan: &Plan, job: &Job) -> u64;

    /// Those of them that are written.
    fn written_bytes(&self, plan: &Plan, job: &Job) -> u64;

    /// Files of the file set that it works on, and the bytes of that or of what the items of its tree hold; 0 of neither.
    fn file_set(&self, _plan: &Plan) -> (u64, u64) {
        (0, 0)
    }

    /// The sizes and the order of its transfers, where they are not all alike.
    fn transfers(&self, _plan: &Plan) -> Vec<TransferAmounts> {
        Vec::new()
    }

    /// True if ranks that have done all of it may do it again, because `job` has a minimum time.
    fn may_begin_again(&self, _plan: &Plan, _job: &Job) -> bool {
        false
    }

    /// Bytes of the buffers that each rank has.
    fn buffers_bytes(&self, plan: &Plan, job: &Job) -> u64;

    /// In which order it writes files of the set `files`; `None` where it writes none.
    fn writes_files(&self, _files: &str) -> Option<Order> {
        None
    }

    /// True where it creates directories or items of `tree`.
    fn creates_entries(&self, _tree: &str) -> bool {
        false
    }

    /// Bytes that the largest item of `tree` holds afterwards; `None` where it does not use the tree.
    fn largest_item_bytes(&self, _tree: &str) -> Option<u64> {
        None
    }

    /// Trees whose items it may give another name.
    fn renamed_trees(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Operations that belong together, of which a limit leaves no part.
    fn round_operations(&self, _plan: &Plan) -> u64 {
        1
    }

    /// How to make it last longer, as the remedy of a phase that was too short.
    fn longer_remedy(&self) -> &'static str;

    /// The data work that it does: what doubts about caches, payloads and devices are drawn from.
    fn data(&self) -> Option<&DataWork> {
        None
    }

    /// True if a phase in which it does not do this `operation` at all is as good as any other.
    fn may_do_none(&self, _plan: &Plan, _operation: Operation) -> bool {
        false
    }

    /// The dataset that it reads, all of it from every node; `None` where it reads none.
    fn reads_dataset(&self) -> Option<&str> {
        None
    }

    /// Why it does not work as fast as it can, where that lies in the work itself.
    fn is_paced_by(&self) -> Option<&'static str> {
        None
    }

    /// True if it reads files that it has written in the same phase.
    fn reads_back(&self) -> bool {
        false
    }

    /// The work on a checkpoint that it does: what doubts about caches and durability are drawn from.
    fn checkpoint(&self) -> Option<&CheckpointWork> {
        None
    }

    /// The metadata work that it does: what doubts about attributes and small files are drawn from.
    fn metadata(&self) -> Option<&MetadataWork> {
        None
    }
}

/// Which limits and rates a kind of work can keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PacingSupport {
    /// All.
    Any,
    /// Those that count operations, and no minimum time.
    ByOperations,
    /// None. Why there is no limit, and no rate.
    None {
        /// Remedy of a limit.
        limit: &'static str,
        /// Remedy of a rate.
        rate: &'static str,
    },
}

/// A job of a plan that is being validated.
pub(crate) struct PlannedJob<'a> {
    /// Key of its work in the plan.
    pub key: &'a str,
    /// The plan.
    pub plan: &'a Plan,
    /// The job.
    pub job: &'a Job,
    /// Index of its step.
    pub step: usize,
    /// How it does its I/O, checked.
    pub storage: &'a JobStorage<'a>,
}

/// What the steps so far have left on the target, as far as the plan says.
#[derive(Debug, Default)]
pub(crate) struct LeftOnTarget {
    /// Which parts of each file set are written in full.
    pub filled: BTreeMap<String, data::validate::Filled>,
    /// What there is of each tree.
    pub trees: BTreeMap<String, metadata::validate::TreeState>,
    /// Datasets that are created.
    pub datasets: BTreeSet<String>,
    /// How many generations have been saved of each checkpoint.
    pub generations: BTreeMap<String, u64>,
}
