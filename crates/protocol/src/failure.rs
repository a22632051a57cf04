//! What went wrong, where, and what to try next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What ended a case before its time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The rank that met it, if one did.
    pub rank: Option<u32>,
    /// The phase or step that it ended, for example `write`.
    pub phase: Option<String>,
    /// What was being done, for example `write`, `open`, `fsync`.
    pub operation: String,
    /// On what.
    pub path: Option<String>,
    /// The system's error number.
    pub errno: Option<i32>,
    /// Its name, for example `ENOSPC`.
    pub errno_name: Option<String>,
    /// The whole as a sentence.
    pub message: String,
    /// What to try next.
    pub remedy: String,
    /// What of the plan is refused, where it is the plan that is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedKey>,
}

/// A key of a plan that is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RefusedKey {
    /// Its path, for example `steps[1].jobs[0].work.order`.
    pub key: String,
    /// What is wrong with its value, without its place.
    pub problem: String,
}
