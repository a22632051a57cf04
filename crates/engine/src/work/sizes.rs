//! How much a validated plan does and leaves: ranks, files, entries, bytes.
//!
//! Not here: where its files lie ([`crate::workload`]), and whether they fit on the target ([`crate::workspace`]).

use ioassay_protocol::plan::{Job, Plan, RankRange};

use super::{checkpoint, kind_of};
use crate::workload::dataset::{all_files, all_samples};
use crate::workload::layout::geometries;
use crate::workload::tree::Shape;

/// The space that file systems give out at least to a file that is not empty.
const FILE_SYSTEM_BLOCK_BYTES: u64 = 4096;

/// Sizes that follow from a validated plan; none of them overflows.
pub trait Sizes {
    /// Ranks in all.
    fn rank_count(&self) -> u32;
    /// The ranks that have something to do in a job.
    fn workers(&self, job: &Job) -> RankRange;
    /// Files of all file sets, datasets and checkpoints, and directories and items of all trees.
    fn entries(&self) -> u64;
    /// Bytes that all file sets, datasets, checkpoints and trees take when everything is written; each small file takes whole blocks.
    fn stored_bytes(&self) -> u64;
    /// The same without what is only read, and what a stonewall may end before it is written.
    fn sure_bytes(&self) -> u64;
    /// [`Sizes::entries`] without those that nothing creates, and those that a stonewall may end before they are created.
    fn sure_entries(&self) -> u64;
    /// Bytes of all file sets together.
    fn file_sets_bytes(&self) -> u64;
    /// Bytes that a job moves when it does all its work once, or up to its limit.
    fn moved_bytes(&self, job: &Job) -> u64;
    /// Bytes that all jobs together write.
    fn written_bytes(&self) -> u64;
}

impl Sizes for Plan {
    fn rank_count(&self) -> u32 {
        self.ranks.total().expect("validated: ranks fit 32 bits")
    }

    fn entries(&self) -> u64 {
        // One more for the directory that holds a tree.
        let trees = self.trees.values().map(|tree| Shape::of(tree, self.rank_count()).entries() + 1);
        trees.chain([dataset_files(self), checkpoint_files(self)]).fold(file_count(self), u64::saturating_add)
    }

    fn stored_bytes(&self) -> u64 {
        let trees = self.trees.keys().map(|tree| tree_bytes(self, tree));
        trees.chain([datasets_bytes(self), checkpoints_bytes(self)]).fold(self.file_sets_bytes(), u64::saturating_add)
    }

    fn sure_bytes(&self) -> u64 {
        let sets = geometries(&self.files, self.rank_count());
        let sets = sets.filter(|(name, _)| is_written(self, name) && !is_walled(self, name));
        let trees = self.trees.keys().filter(|tree| !is_walled(self, tree)).map(|tree| tree_bytes(self, tree));
        let others = [datasets_bytes(self), checkpoints_bytes(self)];
        let all = sets.map(|(_, geometry)| geometry.bytes()).chain(trees).chain(others);
        all.fold(0, u64::saturating_add)
    }

    fn sure_entries(&self) -> u64 {
        let sets = geometries(&self.files, self.rank_count()).filter(|(name, _)| is_written(self, name));
        let files = sets.map(|(_, geometry)| geometry.files()).sum::<u64>().saturating_add(dataset_files(self));
        let files = files.saturating_add(checkpoint_files(self));
        let trees = self.trees.iter().filter(|(name, _)| !is_walled(self, name) && is_created(self, name));
        let entries = trees.map(|(_, tree)| Shape::of(tree, self.rank_count()).entries() + 1);
        entries.fold(files, u64::saturating_add)
    }

    fn file_sets_bytes(&self) -> u64 {
        geometries(&self.files, self.rank_count()).map(|(_, geometry)| geometry.bytes()).sum()
    }

    fn workers(&self, job: &Job) -> RankRange {
        kind_of(&job.work).workers(self, job)
    }

    fn moved_bytes(&self, job: &Job) -> u64 {
        kind_of(&job.work).moved_bytes(self, job)
    }

    fn written_bytes(&self) -> u64 {
        self.jobs().map(|job| kind_of(&job.work).written_bytes(self, job)).fold(0, u64::saturating_add)
    }
}

fn file_count(plan: &Plan) -> u64 {
    geometries(&plan.files, plan.rank_count()).map(|(_, geometry)| geometry.files()).sum()
}

/// Files and subfolders of all datasets.
fn dataset_files(plan: &Plan) -> u64 {
    plan.datasets
        .values()
        .map(|dataset| all_files(dataset).saturating_add(dataset.subfolders))
        .fold(0, u64::saturating_add)
}

/// Bytes of all datasets.
pub(crate) fn datasets_bytes(plan: &Plan) -> u64 {
    all_samples(&plan.datasets).map(|(_, samples)| samples.all_bytes()).fold(0, u64::saturating_add)
}

/// Files of all generations of checkpoints that are there at the same time.
fn checkpoint_files(plan: &Plan) -> u64 {
    let files = checkpoint::all(plan).map(|(_, _, shards, places)| shards.file_count().saturating_mul(places));
    files.fold(0, u64::saturating_add)
}

/// Bytes of these files.
pub(crate) fn checkpoints_bytes(plan: &Plan) -> u64 {
    let bytes = checkpoint::all(plan).map(|(_, _, shards, places)| shards.all_bytes().saturating_mul(places));
    bytes.fold(0, u64::saturating_add)
}

/// Bytes that the items of a tree take; each small file takes whole blocks.
fn tree_bytes(plan: &Plan, name: &str) -> u64 {
    let largest = plan.jobs().filter_map(|job| kind_of(&job.work).largest_item_bytes(name));
    let blocks = largest.max().unwrap_or(0).div_ceil(FILE_SYSTEM_BLOCK_BYTES);
    let items = Shape::of(&plan.trees[name], plan.rank_count()).all_items();
    items.saturating_mul(blocks * FILE_SYSTEM_BLOCK_BYTES)
}

/// True if a job writes the file set. What is only read is there already.
pub(crate) fn is_written(plan: &Plan, set: &str) -> bool {
    plan.jobs().any(|job| kind_of(&job.work).writes_files(set).is_some())
}

/// True if a job creates entries of the tree. Entries that are only inspected are there already.
fn is_created(plan: &Plan, name: &str) -> bool {
    plan.jobs().any(|job| kind_of(&job.work).creates_entries(name))
}

/// True if a stonewall, or the rate of an earlier job, decides how much is written or created of a file set or tree.
pub(crate) fn is_walled(plan: &Plan, name: &str) -> bool {
    let walled = |job: &&Job| job.limit.stonewall_ns.is_some() || job.limit.at_rate_of.is_some();
    plan.jobs()
        .filter(walled)
        .map(|job| kind_of(&job.work))
        .any(|kind| kind.writes_files(name).is_some() || kind.creates_entries(name))
}
