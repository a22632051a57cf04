//! Open directories, for entries that are named in them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ioassay_protocol::events::Failure;

use super::tree::{Tree, failed};
use crate::storage::names::Names;
use crate::workload::tree::{Entries, EntryPath};

/// How many a rank keeps open: a quarter of the descriptors that a process may have by default. A power of two.
const MOST: usize = 256;

/// Directories of one tree. As many as fit are opened before the clock starts; of larger trees the others are opened
/// when an entry in them is needed, and then that counts in its latency.
#[derive(Debug)]
pub(super) struct OpenDirectories {
    /// Each in the place that its number gives it. The container's number is 0, that of directory d is d + 1.
    places: Vec<Option<(u64, OwnedFd)>>,
    target: Tree,
    path: EntryPath,
}

impl OpenDirectories {
    /// Those of `tree` that hold `entries`, as many as fit. Those of a tree that is still to be created, or will be
    /// gone, are opened when they are needed.
    pub fn of(target: &Tree, tree: u32, entries: Entries, names: &mut dyn Names) -> Result<Self, Box<Failure>> {
        let places = std::iter::repeat_with(|| None).take(MOST).collect();
        let path = target.paths(Entries::Directories { tree });
        let mut open = Self { places, target: target.clone(), path };
        if let Entries::Items { .. } = entries {
            let shape = target.shape;
            for directory in (shape.first_with_items()..shape.directories).take(MOST) {
                if let Err(error) = open.get(Some(directory), names).map(drop) {
                    return Err(failed("open directory", open.path_of(Some(directory)), &error));
                }
            }
        }
        Ok(open)
    }

    /// The open directory, `None` being the container.
    #[inline(always)]
    pub fn get(&mut self, directory: Option<u64>, names: &mut dyn Names) -> io::Result<BorrowedFd<'_>> {
        let number = directory.map_or(0, |directory| directory + 1);
        let place = number as usize % MOST;
        if !matches!(self.places[place], Some((there, _)) if there == number) {
            self.open(directory, number, place, names)?;
        }
        let (_, file) = self.places[place].as_ref().expect("opened above");
        Ok(file.as_fd())
    }

    #[cold]
    fn open(&mut self, directory: Option<u64>, number: u64, place: usize, names: &mut dyn Names) -> io::Result<()> {
        // Closed first, so that never more than those that fit are open.
        self.places[place] = None;
        let file = names.open_directory(self.path_of(directory))?;
        self.places[place] = Some((number, file));
        Ok(())
    }

    fn path_of(&mut self, directory: Option<u64>) -> &std::ffi::CStr {
        match directory {
            None => &self.target.container,
            Some(directory) => {
                self.path.set(self.target.shape.parent(directory), directory);
                self.path.as_c_str()
            }
        }
    }
}
