//! `record.json` ([`ioassay_protocol::record`]): written at the beginning of a recording, and again at its end.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use ioassay_engine::failure::{about_path, on_path};
use ioassay_host::clock::Clock;
use ioassay_host::environment;
use ioassay_protocol::events::Failure;
use ioassay_protocol::record::{Escaped, Kind, Record, RecordState, VERSION};
use jiff::Timestamp;

use crate::request::Request;

/// The file.
const NAME: &str = "record.json";

/// The document of a command that is about to be started.
pub fn begin(request: &Request, directory: &Path, tables: &Path) -> Record {
    let environment = environment::of_this_node(Some(directory), &Clock::calibrated());
    Record {
        kind: Kind::Record,
        version: VERSION,
        record: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        state: RecordState::Running,
        started: Timestamp::now().to_string(),
        command: request.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        host: environment.host.clone(),
        environment,
        tables: Some(tables.to_string_lossy().into_owned()),
        ioassay_version: env!("CARGO_PKG_VERSION").to_owned(),
        ended: None,
        exit_status: None,
        escaped: Vec::new(),
        still_running: Vec::new(),
        lost_tables: 0,
        reason: None,
    }
}

/// Says that the recording has ended, and that the tables are in the record.
pub fn end(document: &mut Record) {
    document.state = RecordState::Complete;
    document.ended = Some(Timestamp::now().to_string());
    document.tables = None;
}

/// Says that the recording has ended, and that the tables are where they were.
pub fn end_incomplete(document: &mut Record, reason: &str) {
    document.state = RecordState::Incomplete;
    document.ended = Some(Timestamp::now().to_string());
    document.reason = Some(reason.to_owned());
}

/// Writes it into the record for the first time, and takes the space that it will need at the end: the disk may be full then.
///
/// # Errors
/// If there is no space for both.
pub fn write_first(document: &Record, directory: &Path) -> Result<(), Failure> {
    write(document, directory)?;
    let new = new(directory);
    let bytes = text(document).len() + SPARE_BYTES;
    fs::write(&new, b" ".repeat(bytes)).map_err(|error| on_path("write", &new, &error))
}

/// What the document may get longer until the end, of a record that is not complete; others may need new space.
const SPARE_BYTES: usize = 8 << 10;

fn new(directory: &Path) -> PathBuf {
    directory.join(format!("{NAME}.new"))
}

fn text(document: &Record) -> String {
    serde_json::to_string_pretty(document).expect("a document of plain values")
}

/// Writes it into the record; there is always a whole one. The new one is written over the space that was taken for it, if there
/// is such.
///
/// # Errors
/// If it cannot be written.
pub fn write(document: &Record, directory: &Path) -> Result<(), Failure> {
    let (path, new) = (directory.join(NAME), new(directory));
    let text = text(document);
    let write = || {
        let mut file = OpenOptions::new().create(true).write(true).truncate(false).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)?;
        fs::rename(&new, &path)
    };
    write().map_err(|error| on_path("write", &path, &error))
}

/// A record that is incomplete, or whose recording was killed if nobody records into the directory of its tables.
pub struct Incomplete {
    directory: PathBuf,
    document: Record,
    /// Where its tables are.
    pub tables: PathBuf,
}

impl Incomplete {
    /// That in a directory.
    ///
    /// # Errors
    /// If there is none, or it is not incomplete.
    pub fn read(directory: &Path) -> Result<Self, Failure> {
        let path = directory.join(NAME);
        let bytes = fs::read(&path).map_err(|error| on_path("read", &path, &error))?;
        let document: Record = serde_json::from_slice(&bytes).map_err(|error| on_path("read", &path, &error.into()))?;
        let is_open = matches!(document.state, RecordState::Running | RecordState::Incomplete);
        let Some(tables) = document.tables.as_ref().filter(|_| is_open).map(PathBuf::from) else {
            let state = serde_json::to_string(&document.state).expect("a word");
            let what = format!("{} is not an incomplete record: its state is {state}", directory.display());
            return Err(about_path("complete", directory, what, "read it with `ioassay profile`"));
        };
        Ok(Self { directory: directory.to_owned(), document, tables })
    }

    /// Whether it says that the recording goes on.
    pub fn says_running(&self) -> bool {
        self.document.state == RecordState::Running
    }

    /// Writes its document: the tables are in the record.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn complete(self, escaped: Vec<Escaped>, lost_tables: u64) -> Result<(), Failure> {
        let document =
            Record { state: RecordState::Complete, tables: None, escaped, lost_tables, reason: None, ..self.document };
        write(&document, &self.directory)
    }
}
