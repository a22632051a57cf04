//! Files of tables: of processes that ended, one after another in one file, and of those that run, each in a file of its own.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ioassay_record::names::RUNNING;

use super::table::Table;
use super::tracee;

/// The directory that tables are in.
pub struct TableFiles {
    directory: PathBuf,
    finished: PathBuf,
}

impl TableFiles {
    /// Those of a node in a directory.
    pub fn new(directory: &Path, node: &[u8]) -> Self {
        Self { directory: directory.to_owned(), finished: tracee::finished_in(directory, node) }
    }

    /// Adds the table of a process that has ended.
    ///
    /// # Errors
    /// If it cannot be written, or not whole.
    pub fn add_finished(&self, bytes: &[u8]) -> io::Result<()> {
        open(&self.finished, OpenOptions::new().append(true))?.write_all(bytes)
    }

    /// Writes the table of a process that runs; there is always a whole one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_running(&self, table: &Table, bytes: &[u8]) -> io::Result<()> {
        let path = self.running(table);
        let new = path.with_extension("new");
        open(&new, OpenOptions::new().write(true).truncate(true))
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&new, &path))
            .inspect_err(|_| drop(fs::remove_file(&new)))
    }

    /// Removes the file of a process that ran.
    pub fn remove_running(&self, table: &Table) {
        let _ = fs::remove_file(self.running(table));
    }

    fn running(&self, table: &Table) -> PathBuf {
        self.directory.join(format!("{}-{}.{RUNNING}", table.identity().process, table.begin_ticks()))
    }
}

/// Opens a file, which is made where there is none.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<fs::File> {
    options.create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}
