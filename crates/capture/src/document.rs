//! `record.json`: what was recorded, when, where, and what was missed.
//!
//! It is written at the beginning, and again at the end. `python/ioassay/results/record_document.py` reads it.

use std::fs;
use std::path::Path;

use ioassay_engine::failure::on_path;
use ioassay_host::clock::Clock;
use ioassay_host::environment;
use ioassay_protocol::environment::Environment;
use ioassay_protocol::events::Failure;
use jiff::Timestamp;
use serde::Serialize;

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
    /// The command ended, whatever its exit status.
    Complete,
    /// The command could not be started.
    Failed,
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
        }
    }

    /// The recording has ended, and the tables are in the record.
    pub fn end(&mut self, state: State) {
        self.state = state;
        self.ended = Some(Timestamp::now().to_string());
        self.tables = None;
    }

    /// Writes it into the record; there is always a whole one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), Failure> {
        let path = directory.join(NAME);
        let new = directory.join(format!("{NAME}.new"));
        let text = serde_json::to_string_pretty(self).expect("a document of plain values");
        fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).map_err(|error| on_path("write", &path, &error))
    }
}
