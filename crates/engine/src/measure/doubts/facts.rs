//! What doubts are drawn from, and how one is made.
//!
//! Not here: which doubts there are ([`super::about`]).

use std::collections::BTreeSet;

use ioassay_protocol::doubt::{Doubt, Reason};
use ioassay_protocol::environment::Environment;
use ioassay_protocol::events::{Failure, PhaseRecord};
use ioassay_protocol::plan::checkpoint::CheckpointWork;
use ioassay_protocol::plan::data::DataWork;
use ioassay_protocol::plan::metadata::MetadataWork;
use ioassay_protocol::plan::{Job, Plan, Step};

use crate::storage::Capabilities;
use crate::work::kind_of;

/// What the doubts are drawn from.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The job of the phase.
    pub job: &'a Job,
    /// What its storage API can do.
    pub capabilities: Capabilities,
    /// Every node.
    pub nodes: &'a [Environment],
    /// What was emptied before.
    pub emptied: Emptied,
    /// What of that which was read held no data.
    pub unwritten: Unwritten,
    /// What all ranks wrote has been forced to stable storage.
    pub synced: bool,
    /// The figures.
    pub record: &'a PhaseRecord,
    /// Their median latency.
    pub median_ns: u64,
    /// The failure that ended the phase, if one did.
    pub failure: Option<&'a Failure>,
}

/// Holes, and extents that were allocated and not written, among the bytes that a job reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwritten {
    /// Bytes that hold no data.
    pub unwritten_bytes: u64,
    /// Bytes that were inspected.
    pub bytes: u64,
}

/// The last cold-cache step that has emptied something, by its number in the plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct Emptied {
    /// What the nodes remembered of files and directories.
    pub attributes: Option<u32>,
    /// Whatever the site's hooks are for.
    pub by_hooks: Option<u32>,
    /// What does not outlive a mount.
    pub by_remount: Option<u32>,
}

impl Facts<'_> {
    /// How many machines the nodes are: hosts of one kernel are one.
    pub(super) fn machines(&self) -> u32 {
        let known: BTreeSet<&str> = self.nodes.iter().filter_map(|node| node.boot_id.as_deref()).collect();
        let unknown = self.nodes.iter().filter(|node| node.boot_id.is_none()).count();
        (known.len() + unknown) as u32
    }

    /// True if the job goes past the page cache.
    pub(super) fn direct(&self) -> bool {
        self.plan.storage_of(self.job).direct
    }

    /// True if step `emptied` came after the last one before this phase with a job that `uses` what is at stake.
    pub(super) fn is_later(&self, emptied: Option<u32>, uses: impl Fn(&Job) -> bool) -> bool {
        let mut before = self.plan.steps.iter().take(self.record.step as usize);
        let used = before.rposition(|step| matches!(step, Step::Phase(phase) if phase.jobs.iter().any(&uses)));
        emptied.is_some_and(|emptied| used.is_none_or(|used| used < emptied as usize))
    }

    /// The job's work, where it moves the bytes of a file set.
    pub(super) fn data(&self) -> Option<&DataWork> {
        kind_of(&self.job.work).data()
    }

    /// The dataset that the job reads, where it reads one.
    pub(super) fn dataset(&self) -> Option<&str> {
        kind_of(&self.job.work).reads_dataset()
    }

    /// The job's work, where it is on a checkpoint.
    pub(super) fn checkpoint(&self) -> Option<&CheckpointWork> {
        kind_of(&self.job.work).checkpoint()
    }

    /// The job's work, where it is on the entries of a tree.
    pub(super) fn metadata(&self) -> Option<&MetadataWork> {
        kind_of(&self.job.work).metadata()
    }
}

/// A doubt that leaves the figures usable.
pub(super) fn doubt(reason: Reason, message: String, remedy: &str) -> Option<Doubt> {
    Some(Doubt { reason, invalidates: false, message, remedy: remedy.to_owned() })
}

/// A doubt by which the figures must not be used.
pub(super) fn invalid(reason: Reason, message: String, remedy: &str) -> Option<Doubt> {
    Some(Doubt { reason, invalidates: true, message, remedy: remedy.to_owned() })
}
