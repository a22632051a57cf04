//! The contract's file: read again when it was replaced, and checked.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ioassay_protocol::VERSION;
use ioassay_protocol::watch::contract::{Action, Contract, LONGEST_WINDOW_S, Measure, Rule};
use ioassay_record::operation::Operation;
use ioassay_record::rules::bit;

/// A larger file is none.
const MOST_BYTES: u64 = 32 << 20;

/// The contract's file.
#[derive(Debug)]
pub struct ContractFile {
    path: PathBuf,
    /// Which file was read last: inode, size, and when it was written.
    read: Option<(u64, u64, i64, i64)>,
}

impl ContractFile {
    /// The file at that path, not yet read.
    pub fn new(path: PathBuf) -> Self {
        Self { path, read: None }
    }

    /// The contract, if it has been replaced since it was read last.
    ///
    /// # Errors
    /// In words: what is wrong with it, and where. The rules that held go on then.
    pub fn changed(&mut self) -> Result<Option<Contract>, String> {
        let about = |error: io::Error| format!("the contract {}: {error}", self.path.display());
        let mut file = File::open(&self.path).map_err(about)?;
        let state = file.metadata().map_err(about)?;
        let state = (state.ino(), state.size(), state.mtime(), state.mtime_nsec());
        if self.read == Some(state) {
            return Ok(None);
        }
        self.read = Some(state);
        let mut text = Vec::new();
        Read::by_ref(&mut file).take(MOST_BYTES + 1).read_to_end(&mut text).map_err(about)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(format!("the contract {}: more than {MOST_BYTES} bytes", self.path.display()));
        }
        parse(&text).map(Some).map_err(|error| format!("the contract {}: {error}", self.path.display()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A contract out of JSON, if all its rules make sense.
///
/// # Errors
/// In words: what is wrong with which rule.
pub fn parse(text: &[u8]) -> Result<Contract, String> {
    let contract: Contract = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if contract.version != VERSION {
        return Err(format!(
            "version {} instead of {VERSION}: write it again with `ioassay watch set`",
            contract.version
        ));
    }
    let mut labels = HashSet::new();
    for rule in &contract.rules {
        check(rule).map_err(|error| format!("rule {:?}: {error}", rule.label))?;
        if !labels.insert(&rule.label) {
            return Err(format!("two rules are called {:?}", rule.label));
        }
    }
    Ok(contract)
}

fn check(rule: &Rule) -> Result<(), String> {
    let wrong = |message: &str| Err(message.to_owned());
    if rule.label.is_empty() || rule.label.chars().any(char::is_control) {
        return wrong("a label is a text without control characters");
    }
    if rule.path.as_ref().is_some_and(|path| !path.starts_with('/')) {
        return wrong("a path begins with `/`");
    }
    if rule.window_s == 0 || rule.window_s > LONGEST_WINDOW_S {
        return Err(format!("a window has 1 to {LONGEST_WINDOW_S} seconds"));
    }
    if rule.most_bytes.is_some_and(|most| most < rule.least_bytes) {
        return wrong("no transfer has a size from `least_bytes` to `most_bytes`");
    }
    if rule.measure.is_of_calls() == rule.calls.is_empty() {
        return wrong("a measure of calls needs classes of calls, and a measure of processes has none");
    }
    mask(rule)?;
    if rule.jobs.most_nodes.is_some_and(|most| most < rule.jobs.least_nodes.max(1)) {
        return wrong("no job has a number of nodes from `least_nodes` to `most_nodes`");
    }
    if rule.scope.is_of_several_nodes() && rule.action == Action::Monitor {
        return wrong("several nodes together can be held to a limit, but not monitored");
    }
    if rule.action == Action::Throttle {
        if !matches!(rule.measure, Measure::Bandwidth | Measure::Count) {
            return wrong("only bandwidth and count can be throttled");
        }
        if rule.limit == 0 {
            return wrong("a limit of 0 would stop the job for good");
        }
    }
    Ok(())
}

/// The classes of calls of a rule, a bit for each.
///
/// # Errors
/// In words, for one that there is not.
pub fn mask(rule: &Rule) -> Result<u64, String> {
    rule.calls.iter().try_fold(0, |mask, word| {
        let operation = Operation::ALL.iter().find(|operation| operation.word() == word);
        operation.map(|operation| mask | bit(*operation)).ok_or_else(|| format!("there is no class of calls {word:?}"))
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ioassay_protocol::watch::contract::{Jobs, Scope};
    use std::fs;

    /// A rule that makes sense: reads of `/data`, at most 100 bytes a second.
    pub(crate) fn rule() -> Rule {
        Rule {
            label: "reads".to_owned(),
            action: Action::Monitor,
            scope: Scope::Job,
            jobs: Jobs::default(),
            path: Some("/data".to_owned()),
            calls: vec!["read".to_owned(), "stream read".to_owned()],
            least_bytes: 0,
            most_bytes: None,
            measure: Measure::Bandwidth,
            limit: 100,
            window_s: 1,
        }
    }

    fn text(rules: Vec<Rule>) -> Vec<u8> {
        serde_json::to_vec(&Contract { version: VERSION, rules }).unwrap()
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_the_label_of_its_rule() {
        let throttle = Rule { action: Action::Throttle, ..rule() };
        for (wrong, about) in [
            (Rule { label: String::new(), ..rule() }, "a label"),
            (Rule { path: Some("data".to_owned()), ..rule() }, "begins with `/`"),
            (Rule { window_s: 0, ..rule() }, "a window"),
            (Rule { least_bytes: 2, most_bytes: Some(1), ..rule() }, "no transfer"),
            (Rule { calls: vec![], ..rule() }, "needs classes"),
            (Rule { measure: Measure::UserTime, ..rule() }, "has none"),
            (Rule { calls: vec!["raed".to_owned()], ..rule() }, "\"raed\""),
            (Rule { measure: Measure::MeanLatency, ..throttle.clone() }, "can be throttled"),
            (Rule { scope: Scope::User, ..rule() }, "not monitored"),
            (Rule { jobs: Jobs { least_nodes: 2, most_nodes: Some(1), ..Jobs::default() }, ..rule() }, "of nodes"),
            (Rule { limit: 0, ..throttle }, "for good"),
        ] {
            let error = parse(&text(vec![wrong])).unwrap_err();
            assert!(error.contains(about) && error.starts_with("rule"), "{error}");
        }
        assert!(parse(&text(vec![rule(), rule()])).unwrap_err().contains("two rules"));
        assert!(parse(b"{").is_err() && parse(b"").is_err());
        assert!(parse(&text(vec![rule()])).is_ok());
    }

    #[test]
    fn a_file_is_read_again_when_it_was_replaced() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("contract.json");
        let mut file = ContractFile::new(path.clone());
        assert!(file.changed().is_err());
        fs::write(&path, text(vec![rule()])).unwrap();
        assert_eq!(file.changed().unwrap().unwrap().rules, [rule()]);
        assert_eq!(file.changed(), Ok(None));
        let new = place.path().join("new");
        fs::write(&new, "{}").unwrap();
        fs::rename(&new, &path).unwrap();
        assert!(file.changed().unwrap_err().contains("contract.json"));
        assert_eq!(file.changed(), Ok(None));
    }
}
