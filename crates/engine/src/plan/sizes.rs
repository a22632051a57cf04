//! How much a validated plan does and leaves: ranks, files, entries, bytes.
//!
//! Not here: where its files lie ([`crate::workload`]), and whether they fit on the target ([`crate::workspace`]).

use ioassay_protocol::plan::metadata::{MetadataOperation, MetadataWork};
use ioassay_protocol::plan::replay::ReplayWork;
use ioassay_protocol::plan::{Job, Plan, RankRange, Work};

use crate::workload::layout::{Geometry, geometries};
use crate::workload::replay::{self, MovedBytes};
use crate::workload::tree::{self, Shape};

/// The space that file systems give out at least to a file that is not empty.
const FILE_SYSTEM_BLOCK_BYTES: u64 = 4096;

/// Sizes that follow from a validated plan; none of them overflows.
pub trait Sizes {
    /// Ranks in all.
    fn rank_count(&self) -> u32;
    /// The ranks that have something to do in a job.
    fn workers(&self, job: &Job) -> RankRange;
    /// Files of all file sets, and directories and items of all trees.
    fn entries(&self) -> u64;
    /// Bytes that all file sets and trees take when everything is written; each small file takes whole blocks.
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
        trees.fold(file_count(self), u64::saturating_add)
    }

    fn stored_bytes(&self) -> u64 {
        let trees = self.trees.keys().map(|tree| tree_bytes(self, tree));
        trees.fold(self.file_sets_bytes(), u64::saturating_add)
    }

    fn sure_bytes(&self) -> u64 {
        let sets = geometries(&self.files, self.rank_count());
        let sets = sets.filter(|(name, _)| is_written(self, name) && !is_walled(self, name));
        let trees = self.trees.keys().filter(|tree| !is_walled(self, tree)).map(|tree| tree_bytes(self, tree));
        sets.map(|(_, geometry)| geometry.bytes()).chain(trees).fold(0, u64::saturating_add)
    }

    fn sure_entries(&self) -> u64 {
        let sets = geometries(&self.files, self.rank_count()).filter(|(name, _)| is_written(self, name));
        let files = sets.map(|(_, geometry)| geometry.files()).sum();
        let trees = self.trees.iter().filter(|(name, _)| !is_walled(self, name) && is_created(self, name));
        let entries = trees.map(|(_, tree)| Shape::of(tree, self.rank_count()).entries() + 1);
        entries.fold(files, u64::saturating_add)
    }

    fn file_sets_bytes(&self) -> u64 {
        geometries(&self.files, self.rank_count()).map(|(_, geometry)| geometry.bytes()).sum()
    }

    fn workers(&self, job: &Job) -> RankRange {
        let range = job.range(self.rank_count());
        match &job.work {
            Work::Metadata(work) => tree::workers(&self.trees[&work.tree], work.operation, range),
            Work::Data(_) | Work::Find(_) | Work::Replay(_) => range,
        }
    }

    fn moved_bytes(&self, job: &Job) -> u64 {
        let work = match &job.work {
            Work::Data(work) => work,
            Work::Metadata(work) => {
                return items_worked_on(self, job, work).saturating_mul(read_each(work) + written_each(work));
            }
            Work::Find(_) => return 0,
            Work::Replay(work) => return replayed(self, work).total(),
        };
        let geometry = Geometry::of(&self.files[&work.files], self.rank_count());
        let geometry = work.piece_bytes.map_or(geometry, |bytes| geometry.in_pieces_of(bytes));
        let limit = job.limit.bytes_per_rank.unwrap_or(u64::MAX);
        let operations = job.limit.operations_per_rank.unwrap_or(u64::MAX);
        let part = geometry.part_bytes().min(limit).min(operations.saturating_mul(geometry.transfer_bytes));
        part.saturating_mul(u64::from(job.range(self.rank_count()).count))
    }

    fn written_bytes(&self) -> u64 {
        let written = |job: &Job| match &job.work {
            Work::Data(work) if work.transfer.writes() => self.moved_bytes(job),
            Work::Metadata(work) => items_worked_on(self, job, work).saturating_mul(written_each(work)),
            Work::Replay(work) => replayed(self, work).written,
            Work::Data(_) | Work::Find(_) => 0,
        };
        self.jobs().map(written).fold(0, u64::saturating_add)
    }
}

fn replayed(plan: &Plan, work: &ReplayWork) -> MovedBytes {
    let items = |tree: &str| Shape::of(&plan.trees[tree], plan.rank_count()).all_items();
    replay::moved_bytes(work, plan.rank_count(), items)
}

fn file_count(plan: &Plan) -> u64 {
    geometries(&plan.files, plan.rank_count()).map(|(_, geometry)| geometry.files()).sum()
}

/// Bytes that the items of a tree take; each small file takes whole blocks.
fn tree_bytes(plan: &Plan, name: &str) -> u64 {
    let largest = plan.jobs().filter_map(|job| match &job.work {
        Work::Metadata(work) if work.tree == *name => Some(written_each(work)),
        Work::Replay(work) => replay::largest_file_bytes(work, name),
        Work::Metadata(_) | Work::Data(_) | Work::Find(_) => None,
    });
    let blocks = largest.max().unwrap_or(0).div_ceil(FILE_SYSTEM_BLOCK_BYTES);
    let items = Shape::of(&plan.trees[name], plan.rank_count()).all_items();
    items.saturating_mul(blocks * FILE_SYSTEM_BLOCK_BYTES)
}

/// True if a job writes the file set. What is only read is there already.
pub(crate) fn is_written(plan: &Plan, set: &str) -> bool {
    plan.jobs().any(|job| matches!(&job.work, Work::Data(work) if work.transfer.writes() && work.files == *set))
}

/// True if a job creates entries of the tree. What is only looked at is there already.
fn is_created(plan: &Plan, name: &str) -> bool {
    use MetadataOperation as Kind;
    plan.jobs().any(|job| match &job.work {
        Work::Metadata(work) => work.tree == *name && matches!(work.operation, Kind::CreateTree | Kind::Create { .. }),
        Work::Replay(work) => replay::creates(work, name),
        Work::Data(_) | Work::Find(_) => false,
    })
}

/// True if a stonewall, or the rate of an earlier job, decides how much is written or created of a file set or tree.
pub(crate) fn is_walled(plan: &Plan, name: &str) -> bool {
    let walled = |job: &&Job| job.limit.stonewall_ns.is_some() || job.limit.at_rate_of.is_some();
    plan.jobs().filter(walled).any(|job| match &job.work {
        Work::Data(work) => work.transfer.writes() && work.files == *name,
        Work::Metadata(work) => matches!(work.operation, MetadataOperation::Create { .. }) && work.tree == *name,
        Work::Find(_) | Work::Replay(_) => false,
    })
}

/// Items that all ranks of a metadata job work on, when it does all its work or up to its limit.
fn items_worked_on(plan: &Plan, job: &Job, work: &MetadataWork) -> u64 {
    let items = Shape::of(&plan.trees[&work.tree], plan.rank_count()).items_per_part();
    let most = job.limit.operations_per_rank.map_or(u64::MAX, |most| most.div_ceil(operations_each(work)));
    items.min(most).saturating_mul(plan.workers(job).count.into())
}

/// Operations of a metadata job on each item.
pub(crate) fn operations_each(work: &MetadataWork) -> u64 {
    work.operation.operations().len() as u64
}

/// Bytes that a metadata job writes into each file.
fn written_each(work: &MetadataWork) -> u64 {
    match work.operation {
        MetadataOperation::Create { write_bytes: bytes, .. }
        | MetadataOperation::Write { bytes, .. }
        | MetadataOperation::Replace { bytes } => bytes,
        _ => 0,
    }
}

/// Bytes that a metadata job reads from each file, besides what it may read back.
fn read_each(work: &MetadataWork) -> u64 {
    match work.operation {
        MetadataOperation::Read { bytes } | MetadataOperation::Replace { bytes } => bytes,
        _ => 0,
    }
}

/// Bytes that one call of a metadata job moves.
pub fn moved_at_once(work: &MetadataWork) -> u64 {
    read_each(work).max(written_each(work))
}
