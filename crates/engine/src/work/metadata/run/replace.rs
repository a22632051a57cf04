//! Files replaced by others, one of each directory after the other: md-workbench's way to work on a set of files that
//! stays as large as it is.
//!
//! Whose files a rank replaces depends on the directory, so that each file is replaced by one rank and each new one
//! created by one, and neither by whom it was created before.

use std::ffi::CString;
use std::io;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::Operation;
use ioassay_protocol::plan::metadata::MetadataOperation;

use super::file_content::{self, FileContent};
use crate::storage::names::{Content, Entry, Names, Presence};
use crate::work::run::operations::{Moved, Operate};
use crate::work::run::second_reading::SecondReading;
use crate::workload::tree::{Entries, EntryPath, Shape};

/// The files of a part in one directory, by the names that they have or are to have.
#[derive(Debug)]
pub(super) struct Set {
    path: EntryPath,
    part: u32,
    directory: u64,
    /// Number of the first.
    first: u64,
}

impl Set {
    /// Those of `part` in `directory`, with the first or the second of their names, in the tree that `container` holds.
    pub fn new(shape: Shape, container: &CString, part: u32, directory: u64, renamed: bool) -> Self {
        let path = EntryPath::new(shape, Some(container.as_bytes()), Entries::Items { part, renamed });
        Self { path, part, directory, first: shape.items_in(directory).start }
    }

    fn number(&self, nth: u64) -> u64 {
        self.first + nth
    }

    /// The path of the `nth` file.
    fn entry(&mut self, nth: u64) -> Entry<'_> {
        self.path.set(Some(self.directory), self.number(nth));
        Entry { directory: None, name: self.path.as_c_str() }
    }
}

/// One rank's replacements.
pub(super) struct Replacements<'a> {
    names: &'a mut dyn Names,
    /// Of each directory what is taken, and what is created instead.
    sets: Vec<(Set, Set)>,
    /// What is done to each file; each has the lane of its place.
    operations: &'static [Operation],
    buffer: &'a mut [u8],
    file_content: FileContent,
    second_reading: SecondReading<'a>,
}

impl<'a> Replacements<'a> {
    /// Replaces files of the first of each of `sets` by files of the second, as `replace` says.
    pub fn new(
        names: &'a mut dyn Names,
        replace: MetadataOperation,
        sets: Vec<(Set, Set)>,
        buffer: &'a mut [u8],
        (file_content, second_reading): (FileContent, SecondReading<'a>),
    ) -> Self {
        Self { names, sets, operations: replace.operations(), buffer, file_content, second_reading }
    }

    /// Does `operation` to the `nth` file of set number `set`; returns the bytes that it moved.
    #[inline(always)]
    fn work_on(&mut self, operation: Operation, set: usize, nth: u64) -> io::Result<u64> {
        let (old, new) = &mut self.sets[set];
        let names = &mut *self.names;
        let bytes = self.buffer.len() as u64;
        match operation {
            Operation::Stat => names.stat(old.entry(nth)).map(|()| 0),
            Operation::Read => {
                self.file_content.before_read(self.buffer);
                names.read(old.entry(nth), self.buffer)?;
                self.file_content.compare(self.buffer, old.part, old.number(nth))?;
                Ok(bytes)
            }
            Operation::Remove => names.remove(old.entry(nth)).map(|()| 0),
            _ => {
                let (part, number) = (new.part, new.number(nth));
                // What was read before lies in the buffer, and is another part's.
                let content = self.file_content.fill_anew(self.buffer, part, number);
                names.create(new.entry(nth), Presence::New, Content { bytes: content, sync: false })?;
                Ok(bytes)
            }
        }
    }

    #[cold]
    fn failed(&mut self, operation: Operation, set: usize, nth: u64, error: &io::Error) -> Box<Failure> {
        let (old, new) = &mut self.sets[set];
        let (name, entry) = match operation {
            Operation::Stat => ("stat", old.entry(nth)),
            Operation::Read => ("read", old.entry(nth)),
            Operation::Remove => ("remove", old.entry(nth)),
            _ => ("create", new.entry(nth)),
        };
        file_content::failed(&self.second_reading, name, entry.name, error)
    }
}

impl Operate for Replacements<'_> {
    #[inline(always)]
    fn operate(&mut self, index: u64) -> Result<Moved, Box<Failure>> {
        let (operations, sets) = (self.operations.len() as u64, self.sets.len() as u64);
        let (file, lane) = (index / operations, (index % operations) as usize);
        let (set, nth) = ((file % sets) as usize, file / sets);
        let operation = self.operations[lane];
        match self.work_on(operation, set, nth) {
            Ok(bytes) => Ok(Moved { bytes, lane }),
            Err(error) => Err(self.failed(operation, set, nth, &error)),
        }
    }
}
