//! The step that removes files, as one rank lives it.

use std::io;
use std::path::PathBuf;

use ioassay_contract::events::{Event, FilesRemoved};

use super::Rank;
use crate::failure;
use crate::ranks::{Ranks, Stopped};
use crate::workload::layout::Geometry;

impl<R: Ranks> Rank<'_, R> {
    /// Removes the files of `sets` that this rank looks after, where they are there.
    pub(super) fn remove_files(&mut self, step: u32, sets: &[String]) -> Result<(), Stopped> {
        let begin_ns = self.case.clock.now_ns();
        let mut removed = 0_u64;
        for path in sets.iter().flat_map(|set| self.files_looked_after(set)) {
            match std::fs::remove_file(&path) {
                Ok(()) => removed += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let failure = failure::on_path("remove", &path, &error);
                    self.ranks.fail(&failure::at(failure, self.ranks.rank(), "remove"));
                }
            }
        }
        if let Some(all) = self.gather(&removed)? {
            let duration_ns = self.case.clock.now_ns() - begin_ns;
            self.write(&Event::FilesRemoved(FilesRemoved { step, files: all.iter().sum(), duration_ns }));
        }
        self.go_on()
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
