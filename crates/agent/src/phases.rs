//! The phases of a run of ioassay, out of the events that its engine appends while it goes on.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ioassay_protocol::watch::document::Document;
use ioassay_protocol::watch::kinds::Phase;
use serde::Deserialize;

/// A longer line is no event that matters.
const LONGEST_LINE: usize = 64 << 20;
/// So much is read at a time.
const READ_BYTES: usize = 1 << 20;

/// Of the events, what matters here.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Event {
    Started {
        run: String,
        case: String,
    },
    Phase {
        name: String,
        job: String,
        operation: String,
        started_unix_ns: u64,
        duration_ns: u64,
        bytes: u64,
        operations: u64,
    },
    #[serde(other)]
    Other,
}

/// The events of a run.
#[derive(Debug)]
pub struct Phases {
    /// Where the folders of cases are.
    logs: PathBuf,
    cases: HashMap<PathBuf, Case>,
}

/// The events of a case.
#[derive(Debug, Default)]
struct Case {
    read: u64,
    /// A line that is not whole yet.
    rest: Vec<u8>,
    run: String,
    case: String,
}

impl Phases {
    /// The phases of the run in that directory.
    pub fn new(run: PathBuf) -> Self {
        Self { logs: run.join("logs"), cases: HashMap::new() }
    }

    /// Phases that have ended since the last look.
    pub fn documents(&mut self, node: &str) -> Vec<Document> {
        let Ok(listed) = fs::read_dir(&self.logs) else { return Vec::new() };
        let mut documents = Vec::new();
        for folder in listed.flatten() {
            let path = folder.path().join("events.jsonl");
            let case = self.cases.entry(path.clone()).or_default();
            // What cannot be read yet is read at the next look.
            let _ = case.look(&path, node, &mut documents);
        }
        documents
    }
}

impl Case {
    fn look(&mut self, path: &Path, node: &str, to: &mut Vec<Document>) -> std::io::Result<()> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        if length < self.read {
            // Another attempt has begun the file anew.
            *self = Self::default();
        }
        let mut buffer = vec![0; READ_BYTES];
        while self.read < length {
            let count = file.read_at(&mut buffer, self.read)?;
            if count == 0 {
                break;
            }
            self.read += count as u64;
            let mut lines = std::mem::take(&mut self.rest);
            lines.extend(&buffer[..count]);
            let end = lines.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
            to.extend(lines[..end].split(|&byte| byte == b'\n').filter_map(|line| self.event(line, node)));
            lines.drain(..end);
            if lines.len() <= LONGEST_LINE {
                self.rest = lines;
            }
        }
        Ok(())
    }

    fn event(&mut self, line: &[u8], node: &str) -> Option<Document> {
        match serde_json::from_slice(line).ok()? {
            Event::Started { run, case } => (self.run, self.case) = (run, case),
            Event::Phase { name, job, operation, started_unix_ns, duration_ns, bytes, operations } => {
                let end_ns = started_unix_ns.saturating_add(duration_ns);
                let phase = Phase {
                    node: node.to_owned(),
                    run: self.run.clone(),
                    case: self.case.clone(),
                    phase: name,
                    workload: job,
                    operation,
                    begin_ns: started_unix_ns,
                    end_ns,
                    bytes,
                    operations,
                };
                return Some(phase.of(end_ns / 1_000_000_000, 0));
            }
            Event::Other => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_protocol::watch::document::Value;
    use std::fs::OpenOptions;
    use std::io::Write;

    const STARTED: &str = r#"{"event":"started","version":2,"run":"r","case":"c.r1","unix_ns":1,"nodes":[]}"#;
    const PHASE: &str = r#"{"event":"phase","step":0,"name":"write","job":"big","operation":"write","started_unix_ns":5000000000,"duration_ns":2000000000,"bytes":7,"operations":3,"ranks":[]}"#;

    #[test]
    fn a_phase_is_reported_once_when_its_line_is_whole() {
        let run = tempfile::tempdir().unwrap();
        let mut phases = Phases::new(run.path().to_owned());
        assert!(phases.documents("n").is_empty());
        let folder = run.path().join("logs/c.r1");
        fs::create_dir_all(&folder).unwrap();
        let mut file = OpenOptions::new().create(true).append(true).open(folder.join("events.jsonl")).unwrap();
        let (half, other) = PHASE.split_at(60);
        writeln!(file, "{STARTED}\n{{\"event\":\"cold_cache\"}}\nnonsense").unwrap();
        write!(file, "{half}").unwrap();
        assert!(phases.documents("n").is_empty());
        writeln!(file, "{other}").unwrap();
        let documents = phases.documents("n");
        let [document] = &documents[..] else { panic!("{documents:?}") };
        assert_eq!(document.second, 7);
        assert_eq!(document.value("case"), Some(&Value::from("c.r1")));
        assert_eq!(document.value("bytes"), Some(&Value::Number(7)));
        assert!(phases.documents("n").is_empty());
    }
}
