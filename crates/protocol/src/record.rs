//! `record.json` of a record directory: what was recorded, when, where, and what was missed.
//!
//! `ioassay-engine record` writes it at the beginning and again at the end. The tables lie beside it; those of processes that
//! still run are in the directory that it names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;

/// Version of the document. It rises when an old reader would misread or refuse a new document.
pub const VERSION: u32 = 1;

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// What this document is.
    pub kind: Kind,
    /// Version of this document.
    pub version: u32,
    /// Identifier, for example `20261125-170000-lmp`.
    pub record: String,
    /// Whether the recording ended, and how.
    pub state: RecordState,
    /// When the command was started: ISO 8601, UTC.
    pub started: String,
    /// The command and its arguments, as they were typed.
    pub command: Vec<String>,
    /// Host name.
    pub host: String,
    /// The node, as a run records it.
    pub environment: Environment,
    /// The directory with the tables of processes that run, and of an incomplete record; `None`: all are in the record.
    pub tables: Option<String>,
    /// Version of the engine that recorded.
    pub ioassay_version: String,
    /// When the recording ended: ISO 8601, UTC.
    pub ended: Option<String>,
    /// The command's exit code; negative: the signal that ended it.
    pub exit_status: Option<i32>,
    /// Processes that were not recorded.
    #[serde(default)]
    pub escaped: Vec<Escaped>,
    /// Processes that still ran when the recording ended.
    #[serde(default)]
    pub still_running: Vec<u32>,
    /// Tables that could not be kept, for example on a full file system.
    #[serde(default)]
    pub lost_tables: u64,
    /// Why the record is incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A record.
    Record,
}

/// Whether a recording ended, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecordState {
    /// The recording continues, or its program was killed.
    Running,
    /// The command ended, whatever its exit status, or the recording was killed and completed later; there is no exit status
    /// then.
    Complete,
    /// The command could not be started. No engine writes it today.
    Failed,
    /// The tables could not be moved into the record, most often because a disk is full; `ioassay-engine complete` moves them
    /// later.
    Incomplete,
}

/// A process that was not recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Escaped {
    /// Its number.
    pub pid: u32,
    /// The program.
    pub path: String,
    /// Why.
    pub reason: EscapeReason,
}

/// Why the recorder's library was not loaded into a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EscapeReason {
    /// The program has no dynamic loader.
    Static,
    /// The program has privileges (setuid), with which the loader preloads no library.
    Privileged,
    /// The program is for another architecture or C library.
    OtherArchitecture,
    /// None of these; the process has no table.
    Unknown,
}

impl EscapeReason {
    /// The reason as a clause of a message.
    pub fn text(self) -> &'static str {
        match self {
            Self::Static => "it is linked statically, as programs in Go are",
            Self::Privileged => "it runs with privileges of its own (setuid)",
            Self::OtherArchitecture => "it is for another architecture or C library",
            Self::Unknown => "the recorder's library was not loaded",
        }
    }
}
