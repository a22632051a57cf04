//! What was measured of the rules of a directory, for other agents of the node: that of a view has no rules of its own, and a
//! job takes rules from one agent alone.
//!
//! The agent that gives the rules writes the documents of the last two seconds into a file of the directory. Others read the
//! second before the last, which is there whichever of them was first in this one.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use ioassay_protocol::watch::document::{Document, FieldKind, Value};
use ioassay_protocol::watch::kinds::RuleState;
use serde::{Deserialize, Serialize};

use crate::jobs::JobKey;
use crate::tables::directory::Directory;
use crate::tables::identity::clean;

const NAME: &str = "rules.state";
/// Documents of a second at most.
const MOST: usize = 200;
/// A longer file is none.
const MOST_BYTES: u64 = 1 << 20;
const SECONDS: usize = 2;

/// A second, and the values of its documents.
#[derive(Debug, Serialize, Deserialize)]
struct Second {
    second: u32,
    states: Vec<Vec<Value>>,
}

/// The file, as the agent that gives the rules keeps it.
#[derive(Debug, Default)]
pub struct RuleStates {
    /// Made with the first document, by this agent: what others put in its place is never written to.
    file: Option<File>,
    seconds: VecDeque<Second>,
}

impl RuleStates {
    /// Writes what was measured in a second of the rules that add up calls of a job.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(
        &mut self,
        directory: &Directory,
        second: u32,
        documents: &[Document],
        job: Option<&JobKey>,
    ) -> io::Result<()> {
        let states: Vec<_> =
            documents.iter().filter(|document| is_of(document, job)).map(|document| document.values.clone()).collect();
        if self.file.is_none() && states.is_empty() {
            return Ok(());
        }
        let states = states.into_iter().take(MOST).collect();
        self.seconds.push_back(Second { second, states });
        while self.seconds.len() > SECONDS {
            self.seconds.pop_front();
        }
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(directory.create(OsStr::new(NAME))?),
        };
        let bytes = serde_json::to_vec(&self.seconds)?;
        file.write_all_at(&bytes, 0)?;
        file.set_len(bytes.len() as u64)
    }
}

/// Whether a document is about a rule that adds up calls of a job, of its user, or of all.
fn is_of(document: &Document, job: Option<&JobKey>) -> bool {
    let text = |name: &str| match document.value(name) {
        Some(Value::Text(text)) => text.as_str(),
        _ => "",
    };
    let is =
        |name: &str, of_job: Option<String>| text(name).is_empty() || of_job.is_some_and(|of_job| text(name) == of_job);
    document.kind.name == RuleState::KIND.name
        && is("job", job.map(|job| job.job.clone()))
        && is("user", job.map(|job| job.user.to_string()))
}

/// What the agent that gives rules to a directory measured of them in the second before this one, as documents of this one.
///
/// The owner of the directory may have written the file. It is believed of rules of that user's jobs, unless it is of root or
/// of this agent's user.
pub fn read(directory: &Directory, node: &str, second: u32) -> Vec<Document> {
    let Ok(opened) = directory.open(OsStr::new(NAME)) else { return Vec::new() };
    let Ok(length) = opened.file.metadata().map(|about| about.size()) else { return Vec::new() };
    if length > MOST_BYTES {
        return Vec::new();
    }
    let mut bytes = vec![0; length as usize];
    // While it is written, it may be no JSON.
    if opened.file.read_exact_at(&mut bytes, 0).is_err() {
        return Vec::new();
    }
    let Ok(seconds) = serde_json::from_slice::<Vec<Second>>(&bytes) else { return Vec::new() };
    let is_believed = [0, nix::unistd::geteuid().as_raw()].contains(&opened.owner);
    let of_user = Some(opened.owner.to_string()).filter(|_| !is_believed);
    let states =
        seconds.into_iter().find(|states| states.second.checked_add(1) == Some(second)).map(|states| states.states);
    let states = states.into_iter().flatten().take(MOST);
    states.filter_map(|values| document(values, node, second, of_user.as_deref())).collect()
}

/// The document with these values, if they are of its kind.
fn document(values: Vec<Value>, node: &str, second: u32, of_user: Option<&str>) -> Option<Document> {
    let mut document = RuleState::default().of(second.into(), 0);
    if values.len() != document.values.len() {
        return None;
    }
    for ((place, field), value) in document.kind.fields.iter().enumerate().zip(values) {
        let is_text = matches!(field.kind, FieldKind::Label | FieldKind::Key | FieldKind::Text);
        document.values[place] = match value {
            Value::Text(_) if field.name == "node" => node.into(),
            Value::Text(text) if is_text && (field.name != "user" || of_user.is_none_or(|user| user == text)) => {
                clean(text.as_bytes()).into()
            }
            Value::Number(number) if !is_text => number.into(),
            Value::Text(_) | Value::Number(_) | Value::Missing => return None,
        };
    }
    Some(document)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn state(job: &str, user: &str, label: &str, measured: u64) -> Document {
        let (node, job, user, label) = ("n1".into(), job.into(), user.into(), label.into());
        RuleState { node, job, user, label, measured, ..RuleState::default() }.of(7, 0)
    }

    fn labels(states: &[Document]) -> Vec<&Value> {
        states.iter().filter_map(|state| state.value("label")).collect()
    }

    #[test]
    fn another_agent_reads_the_second_before_the_last_whichever_was_first() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::of_path(place.path()).unwrap();
        let job = JobKey { job: "a".to_owned(), user: 7 };
        let mut states = RuleStates::default();
        states.write(&directory, 9, &[], Some(&job)).unwrap();
        assert!(!place.path().join(NAME).exists(), "without rules there is no file");
        let of_others = [state("b", "7", "other job", 1), state("a", "8", "other user", 1)];
        for second in 10..13 {
            let of_this_agent = [state("a", "7", "own", second), state("", "7", "user", 1), state("", "", "node", 1)];
            states.write(&directory, second as u32, &[&of_this_agent[..], &of_others].concat(), Some(&job)).unwrap();
        }
        for second in [12, 13] {
            let read = read(&directory, "here", second);
            assert_eq!(labels(&read), [&"own".into(), &"user".into(), &"node".into()]);
            assert_eq!(read[0].value("measured"), Some(&u64::from(second - 1).into()));
            assert_eq!((read[0].value("node"), read[0].second), (Some(&"here".into()), second.into()));
        }
        assert_eq!((read(&directory, "here", 11), read(&directory, "here", 14)), (vec![], vec![]));
        states.write(&directory, 13, &[], Some(&job)).unwrap();
        assert_eq!(read(&directory, "here", 14), [], "a shorter file has no old end");
    }

    #[test]
    fn what_a_user_puts_in_its_place_is_not_written_to() {
        let place = tempfile::tempdir().unwrap();
        let (directory, name) = (Directory::of_path(place.path()).unwrap(), place.path().join(NAME));
        let mut states = RuleStates::default();
        fs::write(place.path().join("precious"), "x").unwrap();
        fs::hard_link(place.path().join("precious"), &name).unwrap();
        for second in [1, 2] {
            states.write(&directory, second, &[state("", "", "node", 1)], None).unwrap();
            fs::remove_file(&name).unwrap();
            std::os::unix::fs::symlink(place.path().join("precious"), &name).unwrap();
            assert_eq!(read(&directory, "here", second + 1), []);
        }
        assert_eq!(fs::read(place.path().join("precious")).unwrap(), b"x");
    }

    #[test]
    fn a_user_says_only_what_is_of_rules_of_that_user_and_of_the_right_kind() {
        let of_user = |values, user| document(values, "here", 7, user);
        let values = |user: &str| state("a", user, "x", 1).values;
        assert!(of_user(values("7"), Some("7")).is_some() && of_user(values("8"), None).is_some());
        assert_eq!(of_user(values("8"), Some("7")), None);
        assert_eq!(of_user(values(""), Some("7")), None);
        for place in 0..values("7").len() {
            let mut wrong = values("7");
            wrong[place] = if matches!(wrong[place], Value::Text(_)) { 1.into() } else { "1".into() };
            assert_eq!(of_user(wrong, None), None, "{place}");
        }
        assert_eq!(of_user(values("7")[1..].to_vec(), None), None);
    }
}
