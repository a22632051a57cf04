//! The step that removes files, as one rank lives it.

use std::io;

use ioassay_contract::events::{Event, FilesRemoved};

use super::Rank;
use crate::failure;
use crate::ranks::{Ranks, Stopped};

impl<R: Ranks> Rank<'_, R> {
    /// Removes the files of `sets` that this rank looks after, where they are there.
    pub(super) fn remove_files(&mut self, step: u32, sets: &[String]) -> Result<(), Stopped> {
        let begin_ns = self.case.clock.now_ns();
        let mut removed = 0_u64;
        for path in sets.iter().flat_map(|set| self.own_files(Some(set))).map(|own| own.path) {
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
}
