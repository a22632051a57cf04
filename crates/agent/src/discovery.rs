//! The recorded processes of the node, found by what their environment says of tables.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The variable that names the directory of the tables.
const VARIABLE: &[u8] = b"IOASSAY_RECORD=";
/// Longest part of an environment that is read.
const MOST_BYTES: u64 = 1 << 20;
/// Looks at which a process that names no tables is asked again: it may not have begun its program yet.
const ASKED: u8 = 3;

/// What is known of the processes of the node.
#[derive(Debug, Default)]
pub struct Discovery {
    /// How often each was asked in vain.
    asked: HashMap<u32, u8>,
}

impl Discovery {
    /// Whether a process was there at the last look.
    pub fn runs(&self, pid: u32) -> bool {
        self.asked.contains_key(&pid)
    }

    /// Processes that were not known and name a directory of tables.
    pub fn look(&mut self) -> Vec<RecordedProcess> {
        let mut processes = Vec::new();
        let Ok(listed) = fs::read_dir("/proc") else { return processes };
        let name = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
        let now: BTreeSet<u32> = listed.flatten().filter_map(name).collect();
        self.asked.retain(|pid, _| now.contains(pid));
        for pid in now {
            let asked = self.asked.entry(pid).or_default();
            if *asked >= ASKED {
                continue;
            }
            *asked += 1;
            if let Some(directory) = directory_of(pid) {
                *asked = ASKED;
                processes.push(RecordedProcess { pid, number: own_number(pid).unwrap_or(pid), directory });
            }
        }
        processes
    }
}

/// A process that records itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedProcess {
    /// Its number on this node.
    pub pid: u32,
    /// Its number as it sees itself, which its table has.
    pub number: u32,
    /// The directory of tables, as it sees it.
    pub directory: PathBuf,
}

/// The number of a process in its own namespace: the last one of the line `NSpid`.
fn own_number(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_ascii_whitespace().last()?.parse().ok()
}

/// The directory of tables that a process's environment names.
fn directory_of(pid: u32) -> Option<PathBuf> {
    let mut environment = Vec::new();
    let file = File::open(Path::new("/proc").join(pid.to_string()).join("environ")).ok()?;
    file.take(MOST_BYTES).read_to_end(&mut environment).ok()?;
    let value = environment.split(|&byte| byte == 0).find_map(|variable| variable.strip_prefix(VARIABLE))?;
    let path = Path::new(OsStr::from_bytes(value));
    path.is_absolute().then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    #[test]
    fn a_process_whose_environment_names_tables_is_found_once() {
        let sleeping = |tables| Command::new("sleep").arg("1000").env("IOASSAY_RECORD", tables).spawn().unwrap();
        let mut children = [sleeping("/some/tables"), sleeping("relative")];
        let [named, other] = children.each_ref().map(Child::id);
        // A process has its number before it has its environment.
        while [named, other].iter().any(|pid| fs::read(format!("/proc/{pid}/environ")).unwrap().is_empty()) {
            std::thread::yield_now();
        }
        let mut discovery = Discovery::default();
        let processes: Vec<RecordedProcess> = (0..5).flat_map(|_| discovery.look()).collect();
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let directory = PathBuf::from("/some/tables");
        let of = |pid| processes.iter().filter(move |process| process.pid == pid).collect::<Vec<_>>();
        assert_eq!(of(named), [&RecordedProcess { pid: named, number: named, directory }]);
        assert!(of(other).is_empty());
    }
}
