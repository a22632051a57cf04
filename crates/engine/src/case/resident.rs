//! How much of what a node's ranks are to read is in that node's memory.
//!
//! Every rank looks, on its own node, at the parts that it would read itself: what the node that wrote them still holds
//! makes no read of another one warm. Not here: what that means for a number ([`crate::measure::doubts`]).

use std::io;
use std::path::PathBuf;

use ioassay_contract::plan::data::{DataWork, FileSet};
use ioassay_contract::plan::storage::Target;
use ioassay_contract::plan::{Job, Phase, Work};
use serde::{Deserialize, Serialize};

use super::{Rank, data};
use crate::cache::residency;
use crate::plan::Sizes;
use crate::ranks::{Ranks, Stopped};
use crate::workload::layout::Geometry;

/// What is said to have measured what nobody looked at.
const NOTHING: &str = "none";

/// What was found in the page caches, and with what.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Resident {
    /// Bytes in the memory of each node; `None` where nothing could measure it.
    pub(super) per_node: Vec<Option<u64>>,
    /// What measured it.
    pub(super) measured_with: String,
}

impl Resident {
    /// Of all nodes together. `None` where one could not measure it.
    pub(super) fn bytes(&self) -> Option<u64> {
        if self.per_node.is_empty() { None } else { self.per_node.iter().copied().sum() }
    }
}

/// What one rank found.
#[derive(Serialize, Deserialize)]
struct Found {
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
    /// Of all file sets, where each rank reads next what it has written, or the part that reads are shifted to.
    pub(super) fn resident_next(&self) -> Result<Resident, Stopped> {
        self.resident(&self.own_parts(self.reads_shifted_by))
    }

    /// What each job of the phase is going to read; nothing for jobs that read no file set.
    pub(super) fn resident_before(&self, phase: &Phase) -> Result<Vec<Resident>, Stopped> {
        phase.jobs.iter().map(|job| self.resident_before_job(job)).collect()
    }

    fn resident_before_job(&self, job: &Job) -> Result<Resident, Stopped> {
        match &job.work {
            Work::Data(work) if work.transfer.reads() => {
                let members = self.case.plan.workers(job);
                let own = members.member(self.ranks.rank()).map(|member| self.part_to_read(work, member));
                // Where several ranks of a node read the same part, the first of them looks.
                let before = (members.first..self.ranks.rank()).filter(|&rank| self.node_of(rank) == self.node());
                let mut before = before.filter_map(|rank| Some(self.part_to_read(work, members.member(rank)?).part));
                let own = own.filter(|own| !before.any(|part| part == own.part));
                self.resident(own.as_slice())
            }
            Work::Data(_) | Work::Metadata(_) | Work::Find(_) => Ok(Resident::default()),
        }
    }

    fn part_to_read<'a>(&'a self, work: &'a DataWork, member: u32) -> Part<'a> {
        let geometry = self.geometry(&self.case.plan.files[&work.files]);
        let part = data::part(work, member, geometry.parts, self.reads_shifted_by);
        Part { name: &work.files, geometry, part }
    }

    /// This rank's part of every file set, or that of the rank `shift` further on.
    fn own_parts(&self, shift: u32) -> Vec<Part<'_>> {
        let rank = self.ranks.rank();
        let parts = self.case.plan.files.iter().filter_map(|(name, set)| {
            let member = set.ranks.map_or(Some(rank), |range| range.member(rank))?;
            let geometry = self.geometry(set);
            Some(Part { name, geometry, part: data::shifted(member, shift, geometry.parts) })
        });
        parts.collect()
    }

    /// The files that this rank has written, and those that it would read.
    pub(super) fn touched_files(&self) -> Vec<PathBuf> {
        let mut parts = self.own_parts(0);
        parts.extend(self.own_parts(self.reads_shifted_by));
        let mut paths: Vec<PathBuf> = parts.iter().flat_map(|part| self.files_of(part)).map(|(path, _)| path).collect();
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

    /// Every rank looks at its `own` parts; all learn what is resident on each node.
    fn resident(&self, own: &[Part<'_>]) -> Result<Resident, Stopped> {
        let mut found = Found { bytes: Some(0), measured_with: NOTHING.to_owned() };
        for part in own {
            for (path, begin) in self.files_of(part) {
                let pieces = part.geometry.blocks(part.part).map(|(offset, bytes)| (begin + offset, bytes));
                let opened = self.case.workspace.open_to_read(&path);
                match opened.and_then(|file| residency::resident_bytes(&file, pieces)) {
                    Ok((bytes, with)) => {
                        found.bytes = found.bytes.map(|sum| sum + bytes);
                        with.name().clone_into(&mut found.measured_with);
                    }
                    // A file that is not written yet has nothing in the cache.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(_) => found.bytes = None,
                }
            }
        }
        let all = self.gather(&found)?.map(|all| self.by_node(all));
        Ok(self.broadcast(&all)?.expect("rank 0 gathers"))
    }

    fn by_node(&self, found: Vec<Found>) -> Resident {
        let mut per_node = vec![self.keeps_files().then_some(0); self.case.seating.nodes() as usize];
        let looked = found.iter().find(|found| found.measured_with != NOTHING);
        let measured_with = looked.map_or(NOTHING, |found| &found.measured_with).to_owned();
        for (rank, found) in (0..).zip(found) {
            let node: &mut Option<u64> = &mut per_node[self.node_of(rank) as usize];
            *node = node.zip(found.bytes).map(|(sum, bytes)| sum + bytes);
        }
        Resident { per_node, measured_with }
    }

    /// Of all jobs or of none.
    pub(super) fn keeps_files(&self) -> bool {
        self.case.capabilities(&self.case.plan.storage).files
    }
}
