//! How those who record tell an agent where tables are: a file each, in a directory that both know.
//!
//! `NAME.json` says that there is a directory of tables. Whoever wrote it renames it to `NAME.leaving` when the directory is about to
//! go; the agent looks once more and removes the file, for which the other waits a moment.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Extension of a registration that holds.
pub const HOLDS: &str = "json";
/// Extension of one that is about to go.
pub const LEAVING: &str = "leaving";
/// The file on which the agent of the directory has a lock as long as it lives (`flock`).
pub const AGENT: &str = "agent";

/// A directory of tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// Where the tables are.
    pub tables: PathBuf,
    /// What its processes are called where they belong to no scheduler's job.
    pub job: String,
}
