//! Prints doubts while a front end runs: on standard error, which no parser of results reads.

use std::collections::BTreeMap;

use ioassay_protocol::doubt::{Doubt, Reason};
use ioassay_protocol::events::PhaseRecord;

use ioassay_engine::stdio::say;

/// The doubts so far: of each kind in how many records it was.
#[derive(Debug, Default)]
pub struct Doubts(BTreeMap<String, u32>);

impl Doubts {
    /// Says the doubts of a record: each kind the first time, and always what makes a number invalid.
    pub fn say(&mut self, record: &PhaseRecord) {
        // A failure is reported at the end.
        for doubt in record.doubts.iter().filter(|doubt| !matches!(doubt.reason, Reason::Failed { .. })) {
            let times = self.0.entry(kind(doubt)).or_default();
            *times += 1;
            if *times == 1 || doubt.invalidates {
                let worth = if doubt.invalidates { "INVALID" } else { "doubt" };
                say!("ioassay-engine: {}: {worth}: {}; {}", record.name, doubt.message, doubt.remedy);
            }
        }
    }

    /// How often there was each, where any was there more than once; `kept` is where they are all to be found.
    pub fn sum_up(&self, kept: Option<&std::path::Path>) {
        if self.0.values().all(|&times| times < 2) {
            return;
        }
        let counts: Vec<String> = self.0.iter().map(|(kind, times)| format!("{kind} in {times}")).collect();
        let where_they_are = match kept {
            Some(directory) => format!("all of them are stored in {}", directory.display()),
            None => "--run DIR stores all of them".to_owned(),
        };
        say!("ioassay-engine: doubts by number of phases: {}; {where_they_are}", counts.join(", "));
    }
}

fn kind(doubt: &Doubt) -> String {
    let reason = serde_json::to_value(&doubt.reason).unwrap_or_default();
    reason.get("kind").and_then(|kind| kind.as_str()).unwrap_or_default().to_owned()
}
