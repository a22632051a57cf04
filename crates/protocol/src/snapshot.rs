//! A snapshot: what tuning needs to know of a node, as an archive.
//!
//! `ioassay-engine capture` writes it. The archive is a tar file compressed by gzip. Its first member, [`MEMBER`], is the
//! [`Snapshot`]. Files of the node follow under `root/`, each under its real path, with the symbolic links that lead there;
//! what commands printed follows under `commands/`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;

/// Version of the archive and of its document.
pub const VERSION: u32 = 1;

/// The first member of the archive: the document.
pub const MEMBER: &str = "snapshot.json";

/// The document at the head of a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// What this document is.
    pub kind: Kind,
    /// Version of the archive and of this document.
    pub version: u32,
    /// Host name.
    pub host: String,
    /// Identifies the running kernel: hosts that have the same one are one machine.
    pub boot_id: Option<String>,
    /// When the capture began: wall-clock time in nanoseconds since 1970.
    pub taken_unix_ns: u64,
    /// Version of the engine that took it.
    pub engine_version: String,
    /// The directory or block device that I/O goes to, as an absolute path, where one was named.
    pub target: Option<String>,
    /// The node, as a run records it.
    pub environment: Environment,
    /// What exists and could not be captured, or not all of it, in the order of paths.
    pub unreadable: Vec<Unreadable>,
    /// The commands that were run. A command that the node does not have is not listed.
    pub commands: Vec<CommandOutput>,
}

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A snapshot.
    Snapshot,
}

/// A path of the node that exists and could not be captured, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unreadable {
    /// The path without its leading slash: `sys/class/net/eth0/speed`.
    pub path: String,
    /// Why: an error of the system, or the bound that it exceeds.
    pub reason: String,
}

/// A command, and where its output is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandOutput {
    /// The command and its arguments.
    pub argv: Vec<String>,
    /// Its exit code; `None` if it did not start, or was killed.
    pub exit_code: Option<i32>,
    /// What went wrong: it did not start, exceeded its time limit, was killed, or what it wrote to standard error when it
    /// failed.
    pub error: Option<String>,
    /// The member of the archive that has its standard output; `None` if it wrote nothing.
    pub file: Option<String>,
}
