//! Why a plan is refused.
//!
//! Not here: the reasons ([`super::validate`]).

use std::path::PathBuf;

/// Why a plan is refused: the key, what is wrong with its value, and what would be valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}; {valid}", self.place())]
pub struct Refusal {
    /// The file that the plan is in, where it was read from one.
    pub file: Option<PathBuf>,
    /// Name of the phase that it is about, where it is about one.
    pub phase: Option<String>,
    /// Path of the key in the plan, for example `data.block_bytes`.
    pub key: String,
    /// What is wrong, with the value.
    pub problem: String,
    /// What would be valid.
    pub valid: String,
}

impl Refusal {
    /// A refusal of `key`.
    pub fn new(key: impl Into<String>, problem: impl Into<String>, valid: impl Into<String>) -> Self {
        Self { file: None, phase: None, key: key.into(), problem: problem.into(), valid: valid.into() }
    }

    /// The same, met in `phase`.
    pub(super) fn in_phase(self, phase: &str) -> Self {
        Self { phase: Some(phase.to_owned()), ..self }
    }

    /// The key, after the phase, whose name users know better than the number of its step, and the file.
    pub fn place(&self) -> String {
        let phase = self.phase.as_ref().map_or_else(String::new, |phase| format!("{phase}, "));
        let file = self.file.as_ref().map_or_else(String::new, |file| format!("{}: ", file.display()));
        format!("{phase}{file}{}", self.key)
    }
}
