//! What the tests of whole engine processes share: servers that they start, engines on plans, and what those report.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ioassay_protocol::events::{Event, Failure, Finished, Outcome, PhaseRecord, Removed, Started};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::lab::Lab;

/// A bound for hanging, not for speed.
pub const HANGS: Duration = Duration::from_secs(120);

/// A process that ends with its test.
pub struct Running(pub Child);

impl Running {
    /// Kills the engine itself: a child of what was started, which would have it stop in order.
    pub fn kill_engine(&mut self) {
        let pid = children(self.0.id())[0];
        kill(Pid::from_raw(pid as i32), Signal::SIGKILL).unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The child processes of process `pid`.
pub fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace().map(|child| child.parse().unwrap()).collect()
}

/// Looks again and again whether something is `done`.
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < HANGS, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A place for plan and events, and an engine on them.
pub struct Bench {
    pub root: tempfile::TempDir,
    /// What starts the engine, where it is not started directly: a launcher with all that stands before the engine.
    pub launcher: Vec<String>,
    /// Options of the engine before its command.
    pub options: Vec<String>,
    /// A process of each host that the engine enters; none: this machine.
    pub hosts: Vec<u32>,
    /// What it finds in its environment; secrets are called so.
    pub environment: Vec<(&'static str, String)>,
}

impl Bench {
    /// For targets of this machine.
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        Self { root, launcher: Vec::new(), options: Vec::new(), hosts: Vec::new(), environment: Vec::new() }
    }

    /// For the target of `lab`, with its credentials.
    pub fn on(lab: &'static Lab) -> Self {
        Self { hosts: vec![lab.pid], environment: lab.environment(), ..Self::new() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The engine as the launcher starts it, with nothing said to it yet.
    pub fn launched(&self) -> Command {
        let started = [&self.launcher[..], &[env!("CARGO_BIN_EXE_ioassay-engine").to_owned()]].concat();
        let mut engine = Command::new(&started[0]);
        engine.args(&started[1..]).envs(self.environment.iter().map(|(name, value)| (name, value)));
        engine
    }

    pub fn engine(&self, arguments: &[&str]) -> Command {
        let mut engine = self.launched();
        engine.args(&self.options);
        for pid in &self.hosts {
            engine.args(["--host", &pid.to_string()]);
        }
        engine.args(arguments).arg("--events").arg(self.path("events.jsonl")).stderr(Stdio::piped());
        engine
    }

    pub fn write(&self, plan: &Value) -> String {
        fs::write(self.path("plan.json"), plan.to_string()).unwrap();
        self.path("plan.json").display().to_string()
    }

    /// Runs `plan` to its end.
    pub fn run(&self, plan: &Value) -> RunResult {
        self.ran(&["run", &self.write(plan)])
    }

    pub fn ran(&self, arguments: &[&str]) -> RunResult {
        let _ = fs::remove_file(self.path("events.jsonl"));
        let ended = self.engine(arguments).output().unwrap();
        let events = self.events();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        // Where nothing was stored, the output says why.
        let stored = fs::read_to_string(self.path("events.jsonl")).unwrap_or_default();
        let secrets = self.environment.iter().filter(|(name, value)| name.contains("SECRET") && !value.is_empty());
        for (_, secret) in secrets {
            assert!(!stderr.contains(secret.as_str()) && !stored.contains(secret.as_str()), "a secret got out");
        }
        RunResult { code: ended.status.code().unwrap_or_else(|| panic!("{}: {stderr}", ended.status)), stderr, events }
    }

    pub fn events(&self) -> Vec<Event> {
        let text = fs::read_to_string(self.path("events.jsonl")).unwrap_or_default();
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn phases(&self) -> Vec<PhaseRecord> {
        let phase = |event| if let Event::Phase(record) = event { Some(*record) } else { None };
        self.events().into_iter().filter_map(phase).collect()
    }

    /// The engine's last word.
    pub fn finished(&self) -> Option<Finished> {
        let finished = |event| if let Event::Finished(finished) = event { Some(finished) } else { None };
        self.events().into_iter().find_map(finished)
    }

    pub fn outcome(&self) -> Option<Outcome> {
        self.finished().map(|finished| finished.outcome)
    }

    /// How it began.
    pub fn started(&self) -> Started {
        let started = |event| if let Event::Started(started) = event { Some(started) } else { None };
        self.events().into_iter().find_map(started).expect("it has started")
    }

    /// What went wrong.
    pub fn failure(&self) -> Failure {
        let error = |event| if let Event::Error(failure) = event { Some(failure) } else { None };
        self.events().into_iter().find_map(error).expect("it says what went wrong")
    }
}

/// What an engine did.
pub struct RunResult {
    pub code: i32,
    /// On standard error.
    pub stderr: String,
    pub events: Vec<Event>,
}

impl RunResult {
    pub fn phases(&self) -> Vec<&PhaseRecord> {
        let phases =
            self.events.iter().filter_map(|event| if let Event::Phase(phase) = event { Some(phase) } else { None });
        phases.map(|phase| &**phase).collect()
    }

    pub fn removed(&self) -> &Removed {
        let mut removed = self
            .events
            .iter()
            .filter_map(|event| if let Event::Removed(removed) = event { Some(removed) } else { None });
        removed.next().expect("something was removed")
    }

    pub fn failure(&self) -> &Failure {
        let mut errors =
            self.events.iter().filter_map(|event| if let Event::Error(failure) = event { Some(failure) } else { None });
        errors.next().unwrap_or_else(|| panic!("no failure: {}", self.stderr))
    }

    /// Complete, and nothing is left.
    pub fn complete(&self) {
        let failures: Vec<&Event> = self.events.iter().filter(|event| matches!(event, Event::Error(_))).collect();
        assert_eq!(self.code, 0, "{failures:?}\n{}", self.stderr);
        assert!(self.phases().iter().all(|phase| phase.complete));
        assert_eq!(self.removed().left, vec![]);
    }
}

/// A file for each rank, or several.
pub fn set(transfer_bytes: u64, block_bytes: u64, files_per_rank: u64) -> Value {
    json!({
        "layout": "N-N", "files_per_rank": files_per_rank, "transfer_bytes": transfer_bytes,
        "block_bytes": block_bytes, "segments": 1, "payload": {"kind": "unique"},
    })
}

/// A phase of one job of all ranks.
pub fn phase(name: &str, work: Value) -> Value {
    json!({"step": "phase", "name": name, "jobs": [{"name": "job", "work": work}]})
}

/// All ranks write a file set.
pub fn write(files: &str, fsync: &str) -> Value {
    let work = json!({"kind": "data", "files": files, "transfer": "write", "order": "sequential", "fsync": fsync});
    phase(&format!("write-{files}"), work)
}

/// All ranks read a file set in random order and compare it.
pub fn read(files: &str) -> Value {
    let work = json!({
        "kind": "data", "files": files, "transfer": "read", "order": "random", "fsync": "never", "verify": "reads",
    });
    phase(&format!("read-{files}"), work)
}

/// All ranks work on the tree `t`.
pub fn entries(name: &str, operation: Value) -> Value {
    phase(
        name,
        json!({"kind": "metadata", "tree": "t", "operation": operation, "order": "sequential", "paths": "full"}),
    )
}

/// A step without an end.
pub fn pause() -> Value {
    json!({"step": "pause", "duration_ns": 86_400_000_000_000_u64})
}

/// `plan` without the file sets and trees that are not `kept`.
pub fn only(mut plan: Value, kept: &[&str]) -> Value {
    for part in ["files", "trees"] {
        plan[part].as_object_mut().unwrap().retain(|name, _| kept.contains(&name.as_str()));
    }
    plan
}

/// Waits for what was started to end, and returns how long that took since `begin`.
pub fn ended(running: &mut Running, begin: Instant) -> Duration {
    wait_until("what was started has ended", || running.0.try_wait().unwrap().is_some());
    begin.elapsed()
}

/// Starts a plan that waits, and returns when its first phase has ended.
pub fn start_waiting(bench: &Bench, plan: &Value) -> Running {
    let mut engine = Running(bench.engine(&["run", &bench.write(plan)]).spawn().unwrap());
    wait_until("the first phase has ended", || {
        if engine.0.try_wait().unwrap().is_some() {
            let mut stderr = vec![0; 1 << 16];
            // Once: processes that it has started may have it open still.
            let read = engine.0.stderr.take().unwrap().read(&mut stderr).unwrap();
            panic!("it has ended: {}", String::from_utf8_lossy(&stderr[..read]));
        }
        bench.events().iter().any(|event| matches!(event, Event::Phase(_)))
    });
    engine
}

/// A run that waits, by `plan`, is killed. What it left is cleaned by its URL, and another user's file stays. `place`
/// is where the target's contents lie, which `left` counts.
pub fn check_clean_up(bench: impl Fn() -> Bench, plan: &Value, place: &Path, left: impl Fn() -> usize) {
    let killed = bench();
    start_waiting(&killed, plan).kill_engine();
    let Some(Event::Started(started)) = killed.events().into_iter().next() else { panic!("not started") };
    let there = left();
    // A second run of that name must not touch the first one's files.
    let refused = bench().run(plan);
    assert_eq!(refused.code, 3);
    assert!(refused.failure().message.contains("already exists"), "{}", refused.stderr);
    assert_eq!(left(), there);

    let stranger = place.join("ioassay-r1/thesis.dat");
    fs::write(&stranger, "years").unwrap();
    let cleaned = killed.ran(&["clean", &started.workspace]);
    assert_eq!(cleaned.code, 3);
    assert_eq!(cleaned.removed().files, 40);
    assert!(cleaned.removed().left[0].path.ends_with("ioassay-r1/thesis.dat"), "{:?}", cleaned.removed());
    assert_eq!(fs::read_to_string(&stranger).unwrap(), "years");

    fs::remove_file(&stranger).unwrap();
    for _ in 0..2 {
        // The second time nothing is there any more, which is what was asked for.
        assert_eq!(killed.ran(&["clean", &started.workspace]).code, 0);
        assert_eq!(left(), 0);
    }
}
