//! How the program ends: exit codes, and the messages printed with them.
//!
//! Not here: exiting itself, and the last events of a run ([`crate::command`]).

use ioassay_protocol::events::Failure;

use crate::stdio::say;

/// The command did what it was asked.
pub const COMPLETE: u8 = 0;
/// It ran, but a phase failed.
pub const PHASE_FAILED: u8 = 1;
/// What it was given cannot be meant.
pub const REFUSED: u8 = 2;
/// The machine or the target would not do it, or a signal ended it.
pub const COULD_NOT_RUN: u8 = 3;

/// How a command ended.
#[derive(Debug, Default)]
pub struct Exit {
    /// Exit code.
    pub code: u8,
    /// What went wrong, for the user.
    pub failure: Option<Failure>,
    /// Further refusals of the same command line, so that all of them can be put right at once.
    pub more: Vec<Failure>,
    /// All went well, but for what could not be removed: the results are valid, and the last command ends with this.
    pub remains: Option<Box<Failure>>,
}

impl Exit {
    /// The same, where something remains not as a success.
    pub fn with_what_remains(self) -> Self {
        match self.remains {
            Some(remains) if self.code == COMPLETE => Self::failed(*remains),
            _ => self,
        }
    }

    /// Says what went wrong.
    pub fn say(&self) {
        for failure in self.failure.iter().chain(&self.more) {
            say!("ioassay-engine: {}", failure.message);
            say!("  try: {}", failure.remedy);
        }
    }

    /// With exit code `code`, because of `failure`.
    pub fn with(code: u8, failure: Failure) -> Self {
        Self { code, failure: Some(failure), ..Self::default() }
    }

    /// What was asked cannot be meant.
    pub fn refused(failure: Failure) -> Self {
        Self::with(REFUSED, failure)
    }

    /// What was asked cannot be meant, for several reasons.
    ///
    /// # Panics
    /// If there is none.
    pub fn refused_for(mut failures: Vec<Failure>) -> Self {
        let first = failures.remove(0);
        Self { more: failures, ..Self::refused(first) }
    }

    /// It ran, but not well.
    pub fn failed(failure: Failure) -> Self {
        Self::with(PHASE_FAILED, failure)
    }

    /// The machine or the target would not do it.
    pub fn could_not_run(failure: Failure) -> Self {
        Self::with(COULD_NOT_RUN, failure)
    }
}
