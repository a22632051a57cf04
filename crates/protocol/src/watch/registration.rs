//! How those who record tell an agent where tables are: a file each, in a directory that both know.
//!
//! `NAME.json` says that there is a directory of tables; the recorder holds a lock on the file, by which the kernel
//! says which process that is, and whether it lives. It renames the file to `NAME.leaving` when the directory is about
//! to go; the agent looks once more and removes the file, for which the other waits a moment.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Extension of a registration that holds.
pub const HOLDS: &str = "json";
/// Extension of one that is about to go.
pub const LEAVING: &str = "leaving";
/// The file on which the agent of the directory has a lock as long as it lives. It says what the agent does ([`Agent`]).
pub const AGENT: &str = "agent";
/// Where the agent of a whole node takes registrations of all users.
pub const OF_NODE: &str = "/run/ioassay/registrations";
/// The variable that names another directory than [`OF_NODE`].
pub const OF_NODE_VARIABLE: &str = "IOASSAY_REGISTRATIONS";

/// A directory of tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// Where the tables are, as the process sees it that holds the lock.
    pub tables: PathBuf,
    /// What its processes are called where they belong to no scheduler's job.
    pub job: String,
}

/// What an agent does with those who register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// It gives them rules.
    pub gives_rules: bool,
}
