//! How much of what a node's ranks are to read is in that node's memory, and how much of it was never written.
//!
//! Every rank looks, on its own node, at the parts that it would read itself: what the node that wrote them still holds
//! makes no read of another one warm. Any rank may read any sample of a dataset, so the ranks of each node together look
//! at all its files; of a checkpoint each looks at the files that it would read. Not here: what that means for a number ([`crate::measure::doubts`]).

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ioassay_protocol::plan::checkpoint::{CheckpointOperation, CheckpointWork};
use ioassay_protocol::plan::data::{DataWork, FileSet};
use ioassay_protocol::plan::storage::Target;
use ioassay_protocol::plan::{Job, RankRange};
use serde::{Deserialize, Serialize};

use super::{Case, Rank};
use crate::cache::holes;
use crate::cache::residency::{self, Instrument};
use crate::plan::Sizes;
use crate::ranks::{Ranks, Stopped};
use crate::work::checkpoint::{OnCheckpoint, all as checkpoints, shards};
use crate::work::kind_of;
use crate::work::run::profile::{Inspected, Profile};
use crate::workload::checkpoint;
use crate::workload::dataset::Samples;
use crate::workload::layout::{self, Geometry};

/// `measured_with` where no file was inspected.
const NOTHING: &str = "none";

/// What was found in the page caches, and with what.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Resident {
    /// Bytes in the memory of each node; `None` where nothing could measure it.
    pub per_node: Vec<Option<u64>>,
    /// What measured it.
    pub measured_with: String,
}

impl Resident {
    /// Of all nodes together. `None` where one could not measure it.
    pub fn bytes(&self) -> Option<u64> {
        sum_of(&self.per_node)
    }
}

/// Of all nodes together. `None` where one could not measure it, or none was asked.
pub(super) fn sum_of(per_node: &[Option<u64>]) -> Option<u64> {
    if per_node.is_empty() { None } else { per_node.iter().copied().sum() }
}

/// What one rank found.
#[derive(Serialize, Deserialize)]
struct RankResidency {
    bytes: Option<u64>,
    measured_with: String,
}

/// A part of a file set.
struct Part<'a> {
    name: &'a str,
    geometry: Geometry,
    part: u32,
}

impl<R: Ranks> Rank<'_, R> {
    /// Of all datasets and checkpoints, and of all file sets, where each rank reads next what it has written, or the part that reads are
    /// shifted to.
    pub(super) fn resident_next(&self) -> Result<Resident, Stopped> {
        self.resident(&self.own_parts(self.history.reads_shifted_by))
    }

    /// What member number `member` of `job` is going to read; nothing of jobs that read no file set, dataset or
    /// checkpoint. Where several
    /// ranks of a node read the same part, the first of them looks.
    pub(super) fn inspect(&self, step: u32, job: &Job, member: u32) -> Option<Inspected> {
        if let Some(dataset) = kind_of(&job.work).reads_dataset() {
            return Some(self.inspect_files(&self.dataset_files(dataset, self.case.plan.workers(job))));
        }
        if let Some(work) = kind_of(&job.work).checkpoint() {
            let CheckpointOperation::Restore(restore) = &work.operation else { return None };
            let (plan, shift) = (self.case.plan, restore.shift + self.history.reads_shifted_by);
            return Some(self.inspect_files(&self.checkpoint_files(
                &work.checkpoint,
                work.generations(plan, step),
                shift,
            )));
        }
        let work = kind_of(&job.work).data()?;
        if !work.transfer.reads() {
            return None;
        }
        let members = self.case.plan.workers(job);
        let part = self.part_to_read(work, member);
        let mut before = (members.first..self.ranks.rank()).filter(|&rank| self.node_of(rank) == self.node());
        if before.any(|rank| members.member(rank).is_some_and(|other| self.part_to_read(work, other).part == part.part))
        {
            return Some(Inspected { measured: true, profile: None });
        }
        let part_bytes = part.geometry.part_bytes();
        let limited = job.limit.may_end_early();
        let mut profile = if limited { Profile::in_slices(part_bytes) } else { Profile::of_whole(part_bytes) };
        // What this case has written has no holes.
        let files = !matches!(self.case.plan.target, Target::Device(_) | Target::Url(_));
        let unwritten = files && !self.history.written.knows(&work.files, part.part);
        let measured = self.look(&part, unwritten, &mut profile).is_ok();
        Some(Inspected { measured, profile: Some(profile) })
    }

    fn inspect_files(&self, files: &[(PathBuf, u64)]) -> Inspected {
        let mut profile = Profile::of_whole(files.iter().map(|(_, bytes)| bytes).sum());
        let measured = self.look_at_files(files, &mut profile).is_ok();
        Inspected { measured, profile: Some(profile) }
    }

    /// The files of these generations of the checkpoint `name` that belong to the rank `shift` further on, with their bytes.
    fn checkpoint_files(&self, name: &str, generations: Range<u64>, shift: u32) -> Vec<(PathBuf, u64)> {
        let Case { plan, workspace, .. } = *self.case;
        if matches!(plan.target, Target::Url(_)) || !self.keeps_files() {
            return Vec::new();
        }
        let of = (name, &plan.checkpoints[name]);
        let shards = shards(plan, name);
        let rank = ((u64::from(self.ranks.rank()) + u64::from(shift)) % u64::from(shards.ranks())) as u32;
        let file = |generation, state| workspace.file(&checkpoint::file_name(&plan.case, of, generation, rank, state));
        let of_generation = |generation| {
            let files = shards.files(rank).map(move |(state, bytes)| (file(generation, state), bytes));
            files.collect::<Vec<_>>()
        };
        generations.flat_map(of_generation).collect()
    }

    /// This rank's share of the files of `dataset`, with their bytes, where the `members` on its node look at all of them.
    fn dataset_files(&self, dataset: &str, members: RankRange) -> Vec<(PathBuf, u64)> {
        let Case { plan, workspace, .. } = *self.case;
        if matches!(plan.target, Target::Url(_)) || !self.keeps_files() {
            return Vec::new();
        }
        let samples = Samples::of(&plan.datasets[dataset]);
        let ranks = members.first..members.first + members.count;
        let on_node: Vec<u32> = ranks.filter(|&rank| self.node_of(rank) == self.node()).collect();
        let Some(place) = on_node.iter().position(|&rank| rank == self.ranks.rank()) else { return Vec::new() };
        let files = (place as u64..samples.files().max(place as u64)).step_by(on_node.len());
        files.map(|file| (workspace.dataset_file(plan, dataset, file), samples.file_bytes(file))).collect()
    }

    /// Counts in `profile` what of these files is in this node's memory. Returns what measured it; `None` where none is there.
    fn look_at_files(&self, files: &[(PathBuf, u64)], profile: &mut Profile) -> io::Result<Option<Instrument>> {
        let mut measured_with = None;
        for (path, bytes) in files {
            let file = match self.case.workspace.open_to_read(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            if self.is_emptied_by_opening(path, &file)? {
                return Err(io::ErrorKind::Unsupported.into());
            }
            let whole = std::iter::once((0, *bytes));
            let resident = |_, bytes| profile.add_resident(0, bytes);
            measured_with = Some(residency::count_resident(&file, whole, resident)?);
        }
        Ok(measured_with)
    }

    /// The shares of all ranks together are every file of every dataset, on each node.
    fn own_dataset_files(&self) -> Vec<(PathBuf, u64)> {
        let all = RankRange { first: 0, count: self.ranks.size() };
        self.case.plan.datasets.keys().flat_map(|name| self.dataset_files(name, all)).collect()
    }

    /// What there may be of all checkpoints of the files that this rank has written, and of those that it would read.
    fn own_checkpoint_files(&self) -> Vec<(PathBuf, u64)> {
        let plan = self.case.plan;
        let of_checkpoint = |(name, _, _, places): (&str, _, _, u64)| {
            let works = plan.jobs().filter_map(|job| kind_of(&job.work).checkpoint());
            let shift = |work: &CheckpointWork| match &work.operation {
                CheckpointOperation::Restore(restore) => restore.shift + self.history.reads_shifted_by,
                CheckpointOperation::Save(_) => 0,
            };
            let shifts: BTreeSet<u32> = works.filter(|work| work.checkpoint == name).map(shift).collect();
            let files = shifts.into_iter().map(|shift| self.checkpoint_files(name, 0..places, shift));
            files.flatten().collect::<Vec<_>>()
        };
        checkpoints(plan).flat_map(of_checkpoint).collect()
    }

    fn part_to_read<'a>(&'a self, work: &'a DataWork, member: u32) -> Part<'a> {
        let geometry = self.geometry(&self.case.plan.files[&work.files]);
        let part = layout::part_of(work, member, geometry.parts, self.history.reads_shifted_by);
        Part { name: &work.files, geometry, part }
    }

    /// This rank's part of every file set, or that of the rank `shift` further on.
    fn own_parts(&self, shift: u32) -> Vec<Part<'_>> {
        let rank = self.ranks.rank();
        let parts = self.case.plan.files.iter().filter_map(|(name, set)| {
            let member = set.ranks.map_or(Some(rank), |range| range.member(rank))?;
            let geometry = self.geometry(set);
            Some(Part { name, geometry, part: layout::shifted(member, shift, geometry.parts) })
        });
        parts.collect()
    }

    /// The files that this rank has written, and those that it would read.
    pub(super) fn touched_files(&self) -> Vec<PathBuf> {
        let mut parts = self.own_parts(0);
        parts.extend(self.own_parts(self.history.reads_shifted_by));
        let mut paths: Vec<PathBuf> = parts.iter().flat_map(|part| self.files_of(part)).map(|(path, _)| path).collect();
        let files = self.own_dataset_files().into_iter().chain(self.own_checkpoint_files());
        paths.extend(files.map(|(path, _)| path));
        paths.sort();
        paths.dedup();
        paths
    }

    fn node_of(&self, rank: u32) -> u32 {
        self.case.seating.node_of(rank)
    }

    fn geometry(&self, set: &FileSet) -> Geometry {
        Geometry::of(set, self.ranks.size())
    }

    /// The files in which a part has blocks, and where each begins on a device. What lies behind a URL is in no cache.
    fn files_of<'a>(&'a self, part: &'a Part<'_>) -> impl Iterator<Item = (PathBuf, u64)> + 'a {
        let Part { name, geometry, part } = part;
        let cached = !matches!(self.case.plan.target, Target::Url(_)) && self.keeps_files();
        let count = if cached { geometry.files_per_rank } else { 0 };
        (0..count).map(move |nth| {
            let file = geometry.file(*part, nth);
            self.case.workspace.place_of(&self.case.plan.case, name, geometry, file)
        })
    }

    /// Each rank inspects its `parts`; all learn what is resident on each node.
    fn resident(&self, parts: &[Part<'_>]) -> Result<Resident, Stopped> {
        let mut residency = RankResidency { bytes: Some(0), measured_with: NOTHING.to_owned() };
        for part in parts {
            let mut profile = Profile::of_whole(part.geometry.part_bytes());
            match self.look(part, false, &mut profile) {
                Ok(measured_with) => {
                    residency.bytes = residency.bytes.map(|sum| sum + profile.whole().resident_bytes);
                    measured_with.inspect(|with| with.name().clone_into(&mut residency.measured_with));
                }
                Err(_) => residency.bytes = None,
            }
        }
        let files = [self.own_dataset_files(), self.own_checkpoint_files()].concat();
        let mut profile = Profile::of_whole(files.iter().map(|(_, bytes)| bytes).sum());
        match self.look_at_files(&files, &mut profile) {
            Ok(measured_with) => {
                residency.bytes = residency.bytes.map(|sum| sum + profile.whole().resident_bytes);
                measured_with.inspect(|with| with.name().clone_into(&mut residency.measured_with));
            }
            Err(_) => residency.bytes = None,
        }
        let all = self.gather(&residency)?.map(|residencies| {
            let measured = residencies.iter().find(|residency| residency.measured_with != NOTHING);
            let measured_with = measured.map_or(NOTHING, |residency| &residency.measured_with).to_owned();
            let by_rank = (0..).zip(&residencies).map(|(rank, residency)| (self.node_of(rank), residency.bytes));
            Resident { per_node: self.by_node(by_rank), measured_with }
        });
        Ok(self.broadcast(&all)?.expect("rank 0 gathers"))
    }

    /// Counts in `profile` what of `part` is in this node's memory and, if asked, what of it is `unwritten`. Returns what
    /// measured the memory; `None` where none of the files is there. An error where that cannot be measured.
    fn look(&self, part: &Part<'_>, unwritten: bool, profile: &mut Profile) -> io::Result<Option<Instrument>> {
        let Part { geometry, part: number, .. } = part;
        let (file_bytes, slicing) = (geometry.part_bytes() / geometry.files_per_rank, profile.slicing());
        let (mut measured_with, mut emptied) = (None, false);
        for (nth, (path, begin)) in (0..).zip(self.files_of(part)) {
            let file = match self.case.workspace.open_to_read(&path) {
                // A file that is not written yet has nothing in the cache.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            let first = nth * file_bytes;
            let position = |offset| first + geometry.part_bytes_before(*number, offset - begin);
            if unwritten {
                let of_file = geometry.blocks(*number).next().map_or(0, |(offset, _)| offset)..geometry.file_bytes;
                let hole = |hole: Range<u64>| profile.add_unwritten(position(hole.start)..position(hole.end));
                // Not every file system can be asked.
                let _ = holes::holes(&file, of_file, hole);
            }
            if self.is_emptied_by_opening(&path, &file)? {
                emptied = true;
                continue;
            }
            let pieces = geometry.blocks(*number).flat_map(|(offset, bytes)| {
                let block = position(begin + offset);
                slicing
                    .cut(block..block + bytes)
                    .map(move |piece| (begin + offset + piece.start - block, piece.end - piece.start))
            });
            let resident = |offset, bytes| profile.add_resident(position(offset), bytes);
            measured_with = Some(residency::count_resident(&file, pieces, resident)?);
        }
        if emptied { Err(io::ErrorKind::Unsupported.into()) } else { Ok(measured_with) }
    }

    /// True if inspecting files would empty their cache. Tested once with a file that the workspace has for itself, or
    /// where it has none of this `file`.
    fn is_emptied_by_opening(&self, path: &Path, file: &File) -> io::Result<bool> {
        if let Some(&known) = self.emptied_by_opening.get() {
            return Ok(known);
        }
        let workspace = self.case.workspace;
        let is_emptied = if workspace.is_new() {
            let sample = workspace.sample();
            residency::is_emptied_by_opening(&workspace.open_to_read(&sample)?, || workspace.open_to_read(&sample))?
        } else if file.metadata()?.len() > 0 {
            residency::is_emptied_by_opening(file, || workspace.open_to_read(path))?
        } else {
            return Ok(false);
        };
        Ok(*self.emptied_by_opening.get_or_init(|| is_emptied))
    }

    /// Sums per node of `bytes_by_rank`.
    pub(super) fn by_node(&self, bytes_by_rank: impl Iterator<Item = (u32, Option<u64>)>) -> Vec<Option<u64>> {
        let mut per_node = vec![self.keeps_files().then_some(0); self.case.seating.nodes() as usize];
        for (node, bytes) in bytes_by_rank {
            let node: &mut Option<u64> = &mut per_node[node as usize];
            *node = node.zip(bytes).map(|(sum, bytes)| sum + bytes);
        }
        per_node
    }

    /// Of all jobs or of none.
    pub(super) fn keeps_files(&self) -> bool {
        self.case.capabilities(&self.case.plan.storage).files
    }
}
