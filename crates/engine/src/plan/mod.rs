//! From typed text to a plan that can run: read, validate, refuse with a remedy.
//!
//! Not here: touching storage. What only the target can tell (space, inodes) is asked in [`crate::workspace`].

mod validate;

use std::path::Path;

use ioassay_contract::VERSION;
use ioassay_contract::plan::{DataSet, Layout, Operation, Plan, Step};

pub use validate::validate;

/// Why a plan is refused: the key, what is wrong with its value, and what would be valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}; {valid}")]
pub struct Refusal {
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
        Self { key: key.into(), problem: problem.into(), valid: valid.into() }
    }
}

/// Reads and validates the plan in `file`.
pub fn read(file: &Path) -> Result<Plan, Refusal> {
    let text = std::fs::read(file)
        .map_err(|error| Refusal::new("plan", format!("{}: {error}", file.display()), "name a readable plan.json"))?;
    parse(&text).map_err(|refusal| Refusal { key: format!("{}: {}", file.display(), refusal.key), ..refusal })
}

/// Parses and validates a plan. Any input gives a plan or a refusal, never a panic.
pub fn parse(text: &[u8]) -> Result<Plan, Refusal> {
    // The version comes first: a plan of another version may differ anywhere, and then its own errors mislead.
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    let malformed =
        |error: serde_json::Error| Refusal::new("plan", error.to_string(), "see schemas/plan.json for what is valid");
    let Versioned { version } = serde_json::from_slice(text).map_err(malformed)?;
    if version != VERSION {
        let valid = format!("this engine reads version {VERSION}: use the ioassay that it came with");
        return Err(Refusal::new("version", format!("the plan has version {version}"), valid));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let plan: Plan = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let key = error.path().to_string();
        Refusal::new(key, error.into_inner().to_string(), "see schemas/plan.json for what is valid")
    })?;
    deserializer.end().map_err(malformed)?;
    validate(&plan)?;
    Ok(plan)
}

/// Sizes that follow from a validated plan; none of them overflows.
pub trait Sizes {
    /// Ranks in all.
    fn rank_count(&self) -> u32;
    /// Files of the case.
    fn files(&self) -> u64;
    /// Bytes that one rank moves in one full pass over its part.
    fn bytes_per_rank(&self) -> u64;
    /// Size of all files together.
    fn file_set_bytes(&self) -> u64;
    /// Bytes that all write phases together write.
    fn written_bytes(&self) -> u64;
}

impl Sizes for Plan {
    fn rank_count(&self) -> u32 {
        self.ranks.total().expect("validated: ranks fit 32 bits")
    }

    fn files(&self) -> u64 {
        match self.data.layout {
            Layout::FilePerRank => u64::from(self.rank_count()),
            Layout::SharedFile => 1,
        }
    }

    fn bytes_per_rank(&self) -> u64 {
        let DataSet { block_bytes, segments, .. } = self.data;
        block_bytes * segments
    }

    fn file_set_bytes(&self) -> u64 {
        self.bytes_per_rank() * u64::from(self.rank_count())
    }

    fn written_bytes(&self) -> u64 {
        let writes = |step: &&Step| matches!(step, Step::Phase(phase) if phase.operation == Operation::Write);
        let phases = self.steps.iter().filter(writes).count() as u64;
        self.file_set_bytes().saturating_mul(phases)
    }
}
