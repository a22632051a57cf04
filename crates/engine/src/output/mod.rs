//! Events to their file, as they happen. Not here: new numbers, text for people.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ioassay_protocol::events::{Event, Failure, Progress};

use crate::failure;

/// An events file, appended to line by line. One writer at a time: the engine before the ranks start, rank 0
/// while they run, the engine again when they have ended.
#[derive(Debug)]
pub struct EventLog {
    file: File,
    path: PathBuf,
}

impl EventLog {
    /// Opens `path` for appending, creating it if need be.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one event and returns when it is on stable storage: a finished phase is never lost.
    pub fn write(&mut self, event: &Event) -> io::Result<()> {
        self.append(event)?;
        self.file.sync_data()
    }

    /// Writes one event that need not outlive the machine.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.file.write_all(&line)
    }

    /// Cuts off a half line that a killed writer left, so that the next event begins on a line of its own.
    pub fn mend(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut text = Vec::new();
        self.file.read_to_end(&mut text)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        if whole < text.len() { self.file.set_len(whole as u64) } else { Ok(()) }
    }
}

/// What it means for a run that its events cannot be written: its numbers would be lost.
pub fn cannot_write(error: &io::Error) -> Failure {
    let message = format!("the events file cannot be written: {error}");
    failure::plain("write events", message, "free space on the file system of the run directory")
}

/// A progress file: lines for the eye, neither synced nor complete.
#[derive(Debug)]
pub struct ProgressLog(File);

impl ProgressLog {
    /// Opens `path` for appending, creating it if need be.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(OpenOptions::new().append(true).create(true).open(path)?))
    }

    /// Adds a line. A failure is ignored: nothing depends on it.
    pub fn write(&mut self, progress: &Progress) {
        if let Ok(mut line) = serde_json::to_vec(progress) {
            line.push(b'\n');
            let _ = self.0.write_all(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_protocol::events::Removed;

    #[test]
    fn a_half_line_is_cut_off_and_whole_ones_stay() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.jsonl");
        let mut log = EventLog::open(&path).unwrap();
        log.write(&Event::Removed(Removed::default())).unwrap();
        let whole = std::fs::read(&path).unwrap();
        log.file.write_all(b"{\"event\":\"pha").unwrap();
        log.mend().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        log.write(&Event::Removed(Removed::default())).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [whole.clone(), whole].concat());
    }
}
