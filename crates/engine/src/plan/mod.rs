//! From typed text to a plan that can run: read, validate, refuse with a remedy.
//!
//! Not here: touching storage. What only the target can tell (space, inodes) is asked in [`crate::workspace`].

mod cache;
mod validate;

use std::path::Path;

use ioassay_protocol::VERSION;
use ioassay_protocol::plan::Plan;

pub use self::validate::{LONGEST_SAMPLE_NS, MOST_JOBS, MOST_RANKS, SHORTEST_SAMPLE_NS, validate, validate_alignment};
pub use crate::refusal::Refusal;
pub use crate::work::checks::A_DAY_NS;
pub use crate::work::data::validate::{LARGEST_CASE_BYTES, LARGEST_TRANSFER_BYTES};
pub use crate::work::metadata::moved_at_once;
pub use crate::work::sizes::Sizes;
pub use crate::work::storage::{MOST_IN_FLIGHT, MOST_RETRIES, MOST_VECTORS, validate_meeting};

/// Reads and validates the plan in `file`.
pub fn read(file: &Path) -> Result<Plan, Refusal> {
    parse_of(file, &text_of(file)?)
}

/// Reads and validates the plans in `file`, one after the other; what follows one that is malformed is not read.
pub fn read_all(file: &Path) -> Vec<Result<Plan, Refusal>> {
    match text_of(file) {
        Ok(text) => documents(&text).into_iter().map(|text| parse_of(file, text)).collect(),
        Err(refusal) => vec![Err(refusal)],
    }
}

fn text_of(file: &Path) -> Result<Vec<u8>, Refusal> {
    std::fs::read(file).map_err(|error| {
        Refusal::new("plan", format!("{}: {error}", file.display()), "check that the file exists and can be read")
    })
}

fn parse_of(file: &Path, text: &[u8]) -> Result<Plan, Refusal> {
    parse(text).map_err(|refusal| Refusal { file: Some(file.to_owned()), ..refusal })
}

/// The JSON documents in `text`, at least one. The last one is the rest, where that is none.
fn documents(text: &[u8]) -> Vec<&[u8]> {
    let mut stream = serde_json::Deserializer::from_slice(text).into_iter::<serde::de::IgnoredAny>();
    let mut parts = Vec::new();
    loop {
        let begin = stream.byte_offset();
        match stream.next() {
            Some(Ok(_)) => parts.push(&text[begin..stream.byte_offset()]),
            Some(Err(_)) => {
                parts.push(&text[begin..]);
                return parts;
            }
            None if parts.is_empty() => return vec![text],
            None => return parts,
        }
    }
}

/// Parses and validates a plan. Any input gives a plan or a refusal, never a panic.
pub fn parse(text: &[u8]) -> Result<Plan, Refusal> {
    // The version comes first: a plan of another version may differ anywhere, and then its own errors mislead.
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    let malformed =
        |error: serde_json::Error| Refusal::new("plan", error.to_string(), "schemas/plan.json describes valid plans");
    let Versioned { version } = serde_json::from_slice(text).map_err(malformed)?;
    if version != VERSION {
        let valid = format!("this engine reads version {VERSION}: use the ioassay that was installed with it");
        return Err(Refusal::new("version", format!("the plan has version {version}"), valid));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let plan: Plan = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let key = error.path().to_string();
        Refusal::new(key, error.into_inner().to_string(), "schemas/plan.json describes valid plans")
    })?;
    deserializer.end().map_err(malformed)?;
    validate(&plan)?;
    Ok(plan)
}
