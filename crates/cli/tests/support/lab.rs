//! Real storage systems for tests: labs, started by this project's own command.
//!
//! Each is started once by a test program and ends with it, also when it is killed: its standard input ends then. Where
//! one is not available, tests report that they were skipped, and CI counts it.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

use nix::unistd::Pid;
use serde_json::Value;

use super::skipped::skipped;

/// A lab that is up.
#[derive(Debug)]
pub struct Lab {
    /// A process on the host that measures, whose namespaces the engine enters (`--host`).
    pub pid: u32,
    /// A process on each host, by the host's name.
    pub pids: BTreeMap<String, u32>,
    /// What it is called among those that are up.
    name: String,
    /// What the lab offers (`record.Target` of the control plane), its secrets included.
    target: Value,
}

impl Lab {
    /// The built-in lab of this name. `None`, which is reported, where it is not available.
    pub fn get(name: &'static str) -> Option<&'static Self> {
        Self::of_clients(name, 1)
    }

    /// The same with so many clients.
    pub fn of_clients(name: &'static str, clients: u32) -> Option<&'static Self> {
        type Started = BTreeMap<(&'static str, u32), Option<&'static Lab>>;
        static STARTED: LazyLock<Mutex<Started>> = LazyLock::new(Mutex::default);
        // A test that panics here must not take those along that could not have it either.
        let mut started = STARTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let suffix = if clients > 1 { format!("-of-{clients}") } else { String::new() };
        let lab = *started.entry((name, clients)).or_insert_with(|| start(name, &suffix, clients));
        said_aloud(name, lab)
    }

    /// As [`Lab::get`], but one that no other test has.
    pub fn of_its_own(name: &'static str) -> Option<&'static Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        said_aloud(name, start(name, &format!("-{}", COUNT.fetch_add(1, Ordering::Relaxed)), 1))
    }

    /// A process on the host of this name.
    pub fn host(&self, name: &str) -> u32 {
        self.pids[name]
    }

    /// The target as a plan names it.
    pub fn place(&self) -> &str {
        self.target["place"].as_str().unwrap()
    }

    /// Secrets that the storage asks for.
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

    /// Words that run what follows them on one of its hosts.
    pub fn enter(&self, host: &str) -> Vec<String> {
        let target = self.pids[host].to_string();
        let words = ["nsenter", "--target", &target, "--mount", "--uts", "--ipc", "--net", "--pid", "--"];
        words.map(str::to_owned).to_vec()
    }

    /// Runs a command on the host that measures and returns what it printed.
    pub fn run(&self, command: &[&str]) -> String {
        self.run_on("client1", command)
    }

    /// The same on any host.
    pub fn run_on(&self, host: &str, command: &[&str]) -> String {
        let enter = self.enter(host);
        let ran = Command::new(&enter[0]).args(&enter[1..]).args(command).output().unwrap();
        assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    }

    /// The process of a program that runs on one of its hosts.
    pub fn process(&self, host: &str, program: &str) -> Pid {
        let network = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let network_of_host = network(&self.pids[host].to_string());
        let runs = |pid: &str| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == program);
        let numbers = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let pid = numbers.into_iter().find(|pid| runs(pid) && network(pid) == network_of_host);
        Pid::from_raw(pid.unwrap_or_else(|| panic!("no {program} on {host}")).parse().unwrap())
    }

    /// Cuts a host off from the others.
    pub fn cut(&self, host: &str) {
        self.links("cut", host);
    }

    /// Connects it again.
    pub fn heal(&self, host: &str) {
        self.links("heal", host);
    }

    fn links(&self, what: &str, host: &str) {
        let ran = ioassay().args(["lab", what, &format!("{}/{host}", self.name)]).output().unwrap();
        assert!(ran.status.success(), "{what} {host}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}

fn said_aloud(name: &str, lab: Option<&'static Lab>) -> Option<&'static Lab> {
    if lab.is_none() {
        skipped(&format!("the lab {name}"), "make labs, as root");
    }
    lab
}

fn inside_of(pid: u32, inside: &str) -> PathBuf {
    Path::new(&format!("/proc/{pid}/root")).join(inside.trim_start_matches('/'))
}

/// What the lab says of itself, secrets included: a file in memory that the first process of each host holds open.
fn record_of(pid: u32) -> PathBuf {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().map(|entry| entry.unwrap().path());
    let is_record = |file: &PathBuf| {
        fs::read_link(file).is_ok_and(|name| name.to_string_lossy().starts_with("/memfd:ioassay-lab "))
    };
    files.into_iter().find(is_record).unwrap()
}

/// Starts the built-in lab of this name, and calls it so that no other has its name.
fn start(name: &str, suffix: &str, clients: u32) -> Option<&'static Lab> {
    let full = format!("test-{name}-{}{suffix}", std::process::id());
    let mut command = ioassay();
    command.args(["lab", "up", name, "--name", &full, "--foreground", "--json"]);
    if clients > 1 {
        command.args(["--hosts", &clients.to_string()]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().inspect_err(|error| complain(&format!("{name}: make build: {error}"))).ok()?;
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut document = String::new();
    // One document, whose last line is the closing brace of the whole.
    while !document.ends_with("\n}\n") {
        if output.read_line(&mut document).unwrap() == 0 {
            let mut why = String::new();
            child.stderr.take().unwrap().read_to_string(&mut why).unwrap();
            child.wait().unwrap();
            complain(&why);
            return None;
        }
    }
    let status: Value = serde_json::from_str(&document).unwrap();
    let pids: BTreeMap<String, u32> = serde_json::from_value(status["pids"].clone()).unwrap();
    let pid = pids["client1"];
    let record: Value = serde_json::from_str(&fs::read_to_string(record_of(pid)).unwrap()).unwrap();
    // It ends when its standard input does: with this process.
    std::mem::forget(child);
    Some(Box::leak(Box::new(Lab { pid, pids, name: full, target: record["targets"][0].clone() })))
}

/// This project's own command.
fn ioassay() -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(root.join(".venv/bin/ioassay"));
    command
        .env("IOASSAY_LAB_CACHE", env::var_os("IOASSAY_LAB_CACHE").unwrap_or_else(|| root.join("target/lab").into()));
    command
}

fn complain(why: &str) {
    let _ = writeln!(io::stderr(), "{}", why.trim_end());
}
