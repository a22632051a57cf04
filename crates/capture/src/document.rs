//! `record.json`: what was recorded, when, where, and what was missed.
//!
//! It is written at the beginning, and again at the end. `python/ioassay/store/record_document.py` reads it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use ioassay_engine::failure::{about_path, on_path};
use ioassay_host::clock::Clock;
use ioassay_host::environment;
use ioassay_protocol::environment::Environment;
use ioassay_protocol::events::Failure;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::escaped::Escaped;
use crate::request::Request;

/// The file.
const NAME: &str = "record.json";

/// What became of the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It goes on, or this program was killed.
    Running,
    /// The command ended, whatever its exit status, or the recording was killed and completed afterwards.
    Complete,
    /// The tables could not be brought into the record: they are where they were.
    Incomplete,
}

/// The document.
#[derive(Debug, Serialize)]
pub struct Document {
    kind: &'static str,
    version: u32,
    /// What it is called.
    record: String,
    state: State,
    started: String,
    command: Vec<String>,
    host: String,
    environment: Environment,
    tables: Option<String>,
    ioassay_version: &'static str,
    ended: Option<String>,
    /// The command's exit code, or minus the signal that ended it.
    pub exit_status: Option<i32>,
    /// Processes that were not recorded.
    pub escaped: Vec<Escaped>,
    /// Processes that went on when the recording ended.
    pub still_running: Vec<i32>,
    /// Tables that could not be kept.
    pub lost_tables: u64,
    /// Why the record is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Document {
    /// That of a command that is about to be started.
    pub fn begin(request: &Request, directory: &Path, tables: &Path) -> Self {
        let environment = environment::of_this_node(Some(directory), &Clock::calibrated());
        Self {
            kind: "record",
            version: 1,
            record: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            state: State::Running,
            started: Timestamp::now().to_string(),
            command: request.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            host: environment.host.clone(),
            environment,
            tables: Some(tables.to_string_lossy().into_owned()),
            ioassay_version: env!("CARGO_PKG_VERSION"),
            ended: None,
            exit_status: None,
            escaped: Vec::new(),
            still_running: Vec::new(),
            lost_tables: 0,
            reason: None,
        }
    }

    /// The recording has ended, and the tables are in the record.
    pub fn end(&mut self) {
        self.state = State::Complete;
        self.ended = Some(Timestamp::now().to_string());
        self.tables = None;
    }

    /// The recording has ended, and the tables are where they were.
    pub fn end_incomplete(&mut self, reason: &str) {
        self.state = State::Incomplete;
        self.ended = Some(Timestamp::now().to_string());
        self.reason = Some(reason.to_owned());
    }

    /// Writes it into the record for the first time, and takes the space that it will need at the end: the disk may be full
    /// then.
    ///
    /// # Errors
    /// If there is no space for both.
    pub fn write_first(&self, directory: &Path) -> Result<(), Failure> {
        self.write(directory)?;
        let new = new(directory);
        let bytes = self.text().len() + SPARE_BYTES;
        fs::write(&new, b" ".repeat(bytes)).map_err(|error| on_path("write", &new, &error))
    }

    /// Writes it into the record; there is always a whole one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), Failure> {
        replace(directory, &self.text())
    }

    fn text(&self) -> String {
        text(self)
    }
}

/// What the document may get longer until the end, of a record that is not complete; others may need new space.
const SPARE_BYTES: usize = 8 << 10;

fn new(directory: &Path) -> PathBuf {
    directory.join(format!("{NAME}.new"))
}

fn text(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("a document of plain values")
}

/// Replaces the document of a record. The new one is written over the space that was taken for it, if there is such.
fn replace(directory: &Path, text: &str) -> Result<(), Failure> {
    let (path, new) = (directory.join(NAME), new(directory));
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
    document: Value,
    /// It says that the recording goes on.
    pub says_running: bool,
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
        let document: Value = serde_json::from_slice(&bytes).map_err(|error| on_path("read", &path, &error.into()))?;
        let says_running = document["state"] == "running";
        let is_open = says_running || document["state"] == "incomplete";
        let Some(tables) = document["tables"].as_str().map(PathBuf::from).filter(|_| is_open) else {
            let what =
                format!("{} is not an incomplete record: its state is {}", directory.display(), document["state"]);
            return Err(about_path("complete", directory, what, "read it with `ioassay profile`"));
        };
        Ok(Self { directory: directory.to_owned(), document, says_running, tables })
    }

    /// Writes its document: the tables are in the record.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn complete(mut self, escaped: &[Escaped], lost_tables: u64) -> Result<(), Failure> {
        for (name, value) in [
            ("state", json!(State::Complete)),
            ("tables", Value::Null),
            ("escaped", json!(escaped)),
            ("lost_tables", json!(lost_tables)),
        ] {
            self.document[name] = value;
        }
        self.document.as_object_mut().and_then(|document| document.remove("reason"));
        replace(&self.directory, &text(&self.document))
    }
}
