//! Real storage systems for tests: labs, started by this project's own command.
//!
//! Each is started once by a test program and ends with it, also when it is killed: its standard input ends then. Where
//! one cannot be had, tests say aloud that they were skipped, and CI counts it.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

use serde_json::Value;

/// A lab that is up.
#[derive(Debug)]
pub struct Lab {
    /// A process on the host that measures, whose namespaces the engine enters (`--host`).
    pub pid: u32,
    /// What the lab offers (`record.Target` of the control plane), its secrets included.
    target: Value,
}

impl Lab {
    /// The built-in lab of this name. `None`, said aloud, where it cannot be had.
    pub fn get(name: &'static str) -> Option<&'static Self> {
        static STARTED: LazyLock<Mutex<BTreeMap<&str, Option<&'static Lab>>>> = LazyLock::new(Mutex::default);
        // A test that panics here must not take those along that could not have it either.
        let mut started = STARTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let lab = *started.entry(name).or_insert_with(|| start(name, ""));
        said_aloud(name, lab)
    }

    /// As [`Lab::get`], but one that no other test has.
    pub fn of_its_own(name: &'static str) -> Option<&'static Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        said_aloud(name, start(name, &format!("-{}", COUNT.fetch_add(1, Ordering::Relaxed))))
    }

    /// The target as a plan names it.
    pub fn place(&self) -> &str {
        self.target["place"].as_str().unwrap()
    }

    /// Secrets that the storage wants to be told.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let known = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
        known
            .into_iter()
            .filter_map(|name| Some((name, self.target["environment"][name].as_str()?.to_owned())))
            .collect()
    }

    /// What is called `inside` on its hosts.
    pub fn path(&self, inside: &str) -> PathBuf {
        inside_of(self.pid, inside)
    }

    /// Runs a command on the host that measures and returns what it printed.
    pub fn run(&self, command: &[&str]) -> String {
        let target = self.pid.to_string();
        let enter = ["--target", &target, "--mount", "--uts", "--ipc", "--net", "--pid", "--"];
        let ran = Command::new("nsenter").args(enter).args(command).output().unwrap();
        assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    }
}

fn said_aloud(name: &str, lab: Option<&'static Lab>) -> Option<&'static Lab> {
    if lab.is_none() {
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        // Not eprintln!, of which the harness shows nothing where a test passes.
        let _ = writeln!(io::stderr(), "SKIPPED: {test}: the lab {name} cannot be had");
    }
    lab
}

fn inside_of(pid: u32, inside: &str) -> PathBuf {
    Path::new(&format!("/proc/{pid}/root")).join(inside.trim_start_matches('/'))
}

/// Starts the built-in lab of this name, and calls it so that no other has its name.
fn start(name: &str, own: &str) -> Option<&'static Lab> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(root.join(".venv/bin/ioassay"));
    command.args([
        "lab",
        "up",
        name,
        "--name",
        &format!("test-{name}-{}{own}", std::process::id()),
        "--foreground",
        "--json",
    ]);
    command
        .env("IOASSAY_LAB_CACHE", env::var_os("IOASSAY_LAB_CACHE").unwrap_or_else(|| root.join("target/lab").into()));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().inspect_err(|error| complain(&format!("{name}: make build: {error}"))).ok()?;
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut document = String::new();
    // One document, whose last line is the closing brace of the whole.
    while !document.ends_with("\n}\n") {
        if said.read_line(&mut document).unwrap() == 0 {
            let mut why = String::new();
            child.stderr.take().unwrap().read_to_string(&mut why).unwrap();
            child.wait().unwrap();
            complain(&why);
            return None;
        }
    }
    let status: Value = serde_json::from_str(&document).unwrap();
    let pid = status["pids"]["client1"].as_u64().unwrap() as u32;
    let record: Value =
        serde_json::from_str(&fs::read_to_string(inside_of(pid, "/run/ioassay/lab.json")).unwrap()).unwrap();
    // It ends when its standard input does: with this process.
    std::mem::forget(child);
    Some(Box::leak(Box::new(Lab { pid, target: record["targets"][0].clone() })))
}

fn complain(why: &str) {
    let _ = writeln!(io::stderr(), "{}", why.trim_end());
}
