//! Runs the step that removes files on one rank.

use std::path::PathBuf;

use ioassay_protocol::events::{Event, FilesRemoved};
use ioassay_protocol::plan::Step;

use super::Rank;
use crate::failure;
use crate::ranks::{Ranks, Stopped};
use crate::work::kind_of;
use crate::workload::layout::Geometry;
use crate::workspace::in_place::Removal;

impl<R: Ranks> Rank<'_, R> {
    /// Removes the files of `sets` that this rank looks after, where they are there.
    pub(super) fn remove_files(&mut self, step: u32, sets: &[String]) -> Result<(), Stopped> {
        let begin_ns = self.case.clock.now_ns();
        let (mut removed, mut kept) = (0_u64, Vec::new());
        for set in sets {
            let written = self.has_written(step, set);
            for path in self.files_looked_after(set) {
                match self.case.workspace.remove_file(&path, written) {
                    Ok(Removal::Removed) => removed += 1,
                    Ok(Removal::Absent) => {}
                    Ok(Removal::Kept) => kept.push(path.display().to_string()),
                    Err(error) => {
                        let failure = failure::on_path("remove", &path, &error);
                        self.ranks.fail(&failure::of_rank(failure, self.ranks.rank(), "remove"));
                    }
                }
            }
        }
        if let Some(all) = self.gather(&(removed, kept))? {
            let duration_ns = self.case.clock.now_ns() - begin_ns;
            let (files, kept): (Vec<u64>, Vec<Vec<String>>) = all.into_iter().unzip();
            let removed = FilesRemoved { step, files: files.iter().sum(), duration_ns, kept: kept.concat() };
            self.write(&Event::FilesRemoved(removed));
        }
        self.check_stopped()
    }

    /// True if a phase before `step` has written into the files of `set`.
    fn has_written(&self, step: u32, set: &str) -> bool {
        let before = self.case.plan.steps.iter().take(step as usize);
        let phases = before.filter_map(|step| if let Step::Phase(phase) = step { Some(phase) } else { None });
        let mut works = phases.flat_map(|phase| &phase.jobs).map(|job| &job.work);
        works.any(|work| kind_of(work).writes_files(set).is_some())
    }

    /// The files of a set that this rank removes: those of its part, where it is the first to share them.
    fn files_looked_after(&self, name: &str) -> Vec<PathBuf> {
        let set = &self.case.plan.files[name];
        let geometry = Geometry::of(set, self.ranks.size());
        let rank = self.ranks.rank();
        let part = set.ranks.map_or(Some(rank), |range| range.member(rank)).filter(|&part| geometry.looks_after(part));
        let files =
            part.into_iter().flat_map(|part| (0..geometry.files_per_rank).map(move |nth| geometry.file(part, nth)));
        let place = |file| self.case.workspace.place_of(&self.case.plan.case, name, &geometry, file).0;
        if self.keeps_files() { files.map(place).collect() } else { Vec::new() }
    }
}
