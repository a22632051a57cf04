//! The engine as a user or a launcher meets it: a real process, real files, real signals.
//!
//! What needs root (a file system that fills up, a read-only mount) is tested end to end in `tests/`.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ioassay_protocol::events::{Event, Outcome, PhaseRecord};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// A bound for hanging, not for speed.
const HANGS: Duration = Duration::from_secs(60);

/// A target, a place for plan and events, and an engine on them.
struct Lab {
    /// Holds everything; removed at the end.
    _root: tempfile::TempDir,
    target: PathBuf,
    plan: PathBuf,
    events: PathBuf,
    progress: PathBuf,
}

fn phase(name: &str, transfer: &str, order: &str, fsync: &str) -> Value {
    let work = json!({"kind": "data", "files": "data", "transfer": transfer, "order": order, "fsync": fsync});
    json!({"step": "phase", "name": name, "jobs": [{"name": name, "work": work}]})
}

/// A plan that ends in a moment.
fn short_plan(target: &Path) -> Value {
    json!({
        "version": 2, "run": "r1", "case": "c1",
        "target": {"directory": target}, "storage": {"api": "posix"},
        "ranks": {"clients": 2, "per_client": 1},
        "files": {"data": {
            "layout": "N-N", "files_per_rank": 1, "transfer_bytes": 4096, "block_bytes": 65536, "segments": 2,
            "payload": {"kind": "repeated"},
        }},
        "steps": [
            phase("write", "write", "sequential", "at-end"),
            {"step": "cold-cache", "attempts": ["fadvise", "read-other-rank"]},
            phase("read", "read", "random", "never"),
        ],
        "seed": 1, "sample_interval_ns": 1_000_000_000,
    })
}

/// A plan whose second phase would take minutes: a byte per call.
fn endless_plan(target: &Path) -> Value {
    let mut plan = short_plan(target);
    plan["files"]["data"]["transfer_bytes"] = json!(1);
    plan["files"]["data"]["block_bytes"] = json!(1 << 16);
    plan["steps"] = json!([
        phase("first", "write", "sequential", "at-end"),
        {"step": "pause", "duration_ns": 86_400_000_000_000_u64},
    ]);
    plan
}

impl Lab {
    fn new(plan: fn(&Path) -> Value) -> Self {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("target");
        fs::create_dir(&target).unwrap();
        let [file, events, progress] =
            ["plan.json", "events.jsonl", "progress.jsonl"].map(|name| root.path().join(name));
        fs::write(&file, plan(&target).to_string()).unwrap();
        Self { _root: root, target, plan: file, events, progress }
    }

    fn start(&self) -> Engine {
        let mut engine = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
        engine.arg("run").arg(&self.plan).arg("--events").arg(&self.events).arg("--progress").arg(&self.progress);
        Engine(engine.stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Runs a command of the engine to its end; exit code and standard error.
    fn command(&self, arguments: &[&Path]) -> (i32, String) {
        let engine = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"))
            .args(arguments)
            .arg("--events")
            .arg(&self.events)
            .output()
            .unwrap();
        (engine.status.code().unwrap(), String::from_utf8(engine.stderr).unwrap())
    }

    /// Runs the plan to its end where no file may be larger than `bytes`.
    fn with_files_of_at_most(&self, bytes: u64) -> Output {
        let mut engine = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
        engine.arg("run").arg(&self.plan).arg("--events").arg(&self.events);
        // SAFETY: between fork and exec only a system call is made.
        unsafe {
            engine.pre_exec(move || Ok(setrlimit(Resource::RLIMIT_FSIZE, bytes, bytes)?));
        }
        engine.output().unwrap()
    }

    fn events(&self) -> Vec<Event> {
        let text = fs::read_to_string(&self.events).unwrap_or_default();
        // A line without its end is being written at this moment, and no event yet.
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn phases(&self) -> Vec<PhaseRecord> {
        let phase = |event| {
            if let Event::Phase(record) = event { Some(*record) } else { None }
        };
        self.events().into_iter().filter_map(phase).collect()
    }

    fn outcome(&self) -> Option<Outcome> {
        let finished = |event| {
            if let Event::Finished(finished) = event { Some(finished.outcome) } else { None }
        };
        self.events().into_iter().find_map(finished)
    }

    fn failure(&self) -> Option<String> {
        let error = |event| {
            if let Event::Error(failure) = event { Some(failure.message) } else { None }
        };
        self.events().into_iter().find_map(error)
    }

    fn target_is_empty(&self) -> bool {
        fs::read_dir(&self.target).unwrap().next().is_none()
    }

    /// Waits until the endless plan has its first phase behind it.
    fn wait_for_first_phase(&self) {
        wait_until("the first phase has ended", || self.events.exists() && self.phases().len() == 1);
    }
}

/// A running engine that does not outlive its test, also when that fails: it would hold the test's output open.
struct Engine(Child);

impl Deref for Engine {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Engine {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Most tests have waited for its end already; its ranks die with it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < HANGS, "waited for a minute until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The engine itself, which what was started guards.
fn worker(engine: &Child) -> Pid {
    children(Pid::from_raw(engine.id() as i32))[0]
}

fn children(pid: Pid) -> Vec<Pid> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap())).collect()
}

fn exists(pid: Pid) -> bool {
    // A zombie is no process any more, only a line in a table.
    let about = fs::read_to_string(format!("/proc/{pid}/stat"));
    about.is_ok_and(|text| !text.rsplit(')').next().unwrap().starts_with(" Z"))
}

#[test]
fn a_case_runs_to_its_end_and_leaves_the_target_as_it_was() {
    let lab = Lab::new(short_plan);
    fs::write(lab.target.join("thesis.dat"), "years").unwrap();
    assert_eq!(lab.start().wait().unwrap().code(), Some(0));
    assert_eq!(lab.outcome(), Some(Outcome::Complete));
    let phases = lab.phases();
    assert_eq!(phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>(), ["write", "read"]);
    assert!(phases.iter().all(|phase| phase.complete && phase.bytes == 2 * 2 * 65536));
    assert!(phases[1].resident_bytes_before.is_some(), "cachestat or mincore looked before the read");
    let left: Vec<_> = fs::read_dir(&lab.target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["thesis.dat"]);
}

#[test]
fn any_signal_ends_the_run_keeps_the_finished_phase_and_removes_the_files() {
    for signal in [Signal::SIGTERM, Signal::SIGQUIT, Signal::SIGXCPU] {
        let lab = Lab::new(endless_plan);
        let mut engine = lab.start();
        lab.wait_for_first_phase();
        assert!(!lab.target_is_empty());
        kill(Pid::from_raw(engine.id() as i32), signal).unwrap();
        assert_eq!(engine.wait().unwrap().code(), Some(3), "{signal}");
        assert_eq!((lab.outcome(), lab.phases().len()), (Some(Outcome::Interrupted), 1));
        assert!(lab.target_is_empty());
        assert!(lab.failure().unwrap().contains(signal.as_str()));
    }
}

#[test]
fn a_signal_in_the_middle_of_a_phase_stops_it_and_keeps_what_was_measured_until_then() {
    let lab = Lab::new(|target| {
        let mut plan = endless_plan(target);
        // 2 × 2 Gi operations: hours.
        plan["files"]["data"]["segments"] = json!(1 << 15);
        plan
    });
    let mut engine = lab.start();
    let under_way = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|line| line["bytes"].as_u64() > Some(0));
    wait_until("bytes are moved", || fs::read_to_string(&lab.progress).is_ok_and(|text| text.lines().any(under_way)));
    kill(Pid::from_raw(engine.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(engine.wait().unwrap().code(), Some(3));
    let phases = lab.phases();
    assert!(phases[0].bytes > 0 && !phases[0].complete);
    assert!(phases[0].doubts.iter().any(|doubt| doubt.invalidates), "half a phase is no number");
    assert!(lab.target_is_empty());
}

#[test]
fn a_killed_rank_ends_the_run_and_is_named() {
    let lab = Lab::new(endless_plan);
    let mut engine = lab.start();
    lab.wait_for_first_phase();
    let ranks = children(worker(&engine));
    kill(ranks[1], Signal::SIGKILL).unwrap();
    assert_eq!(engine.wait().unwrap().code(), Some(1));
    let host = nix::unistd::gethostname().unwrap().into_string().unwrap();
    assert_eq!(lab.failure().unwrap(), format!("rank 1 on {host} was killed by SIGKILL"));
    assert_eq!((lab.outcome(), lab.phases().len()), (Some(Outcome::Failed), 1));
    assert!(lab.target_is_empty());
    assert!(!ranks.into_iter().any(exists));
}

#[test]
fn when_the_engine_is_killed_its_ranks_die_and_clean_removes_what_it_left_by_its_list() {
    let lab = Lab::new(endless_plan);
    let mut engine = lab.start();
    lab.wait_for_first_phase();
    let worker = worker(&engine);
    let ranks = children(worker);
    kill(worker, Signal::SIGKILL).unwrap();
    engine.wait().unwrap();
    wait_until("the ranks are gone", || !ranks.iter().copied().any(exists));
    assert_eq!(lab.outcome(), None, "no completion record");

    let workspace = lab.target.join("ioassay-r1");
    fs::write(workspace.join("thesis.dat"), "years").unwrap();
    let (code, message) = lab.command(&[Path::new("clean"), &workspace]);
    assert_eq!(code, 3);
    assert!(message.contains("thesis.dat is not on the list"), "{message}");
    fs::rename(workspace.join("thesis.dat"), lab.target.join("thesis.dat")).unwrap();
    let (code, message) = lab.command(&[Path::new("clean"), &workspace]);
    assert_eq!((code, message.as_str()), (0, ""));
    assert!(!workspace.exists() && lab.target.join("thesis.dat").exists());
}

#[test]
fn a_workspace_that_is_gone_is_clean_but_one_whose_target_is_gone_may_only_be_unmounted() {
    let lab = Lab::new(short_plan);
    let workspace = lab.target.join("ioassay-r1");
    assert_eq!(lab.command(&[Path::new("clean"), &workspace]).0, 0);
    assert!(matches!(lab.events().pop(), Some(Event::Removed(removed)) if removed.files == 0));
    fs::remove_dir(&lab.target).unwrap();
    assert_eq!(lab.command(&[Path::new("clean"), &workspace]).0, 2);
    assert!(matches!(lab.events().pop(), Some(Event::Error(_))));
}

#[test]
fn a_leftover_workspace_is_refused_and_not_touched() {
    let lab = Lab::new(short_plan);
    let workspace = lab.target.join("ioassay-r1");
    fs::create_dir(&workspace).unwrap();
    fs::write(workspace.join("c1.data.00000000"), "somebody's").unwrap();
    assert_eq!(lab.start().wait().unwrap().code(), Some(3));
    assert!(lab.failure().unwrap().contains("already exists"));
    assert_eq!(fs::read_to_string(workspace.join("c1.data.00000000")).unwrap(), "somebody's");
    let (code, message) = lab.command(&[Path::new("clean"), &workspace]);
    assert_eq!(code, 2);
    assert!(message.contains("is not a workspace of ioassay"), "{message}");
}

#[test]
fn a_directory_that_vanishes_during_a_phase_ends_it() {
    let lab = Lab::new(|target| {
        let mut plan = endless_plan(target);
        plan["files"]["data"]["segments"] = json!(1 << 15);
        plan["sample_interval_ns"] = json!(10_000_000);
        plan
    });
    let mut engine = lab.start();
    let files = ["c1.data.00000000", "c1.data.00000001"].map(|name| lab.target.join("ioassay-r1").join(name));
    let is_written = |file: &PathBuf| fs::metadata(file).is_ok_and(|about| about.len() > 0);
    wait_until("both files are written", || files.iter().all(is_written));
    fs::remove_dir_all(lab.target.join("ioassay-r1")).unwrap();
    assert_eq!(engine.wait().unwrap().code(), Some(1));
    let failure = lab.failure().unwrap();
    assert!(failure.contains("first: write") && failure.ends_with("(ENOENT)"), "{failure}");
}

#[test]
fn a_missing_target_and_a_bad_plan_are_refused_with_their_own_exit_codes() {
    let lab = Lab::new(short_plan);
    fs::remove_dir(&lab.target).unwrap();
    let (code, message) = lab.command(&[Path::new("check"), &lab.plan]);
    assert_eq!(code, 3);
    assert!(message.contains("(ENOENT)"), "{message}");
    fs::write(&lab.plan, "{}").unwrap();
    let (code, message) = lab.command(&[Path::new("check"), &lab.plan]);
    assert_eq!(code, 2);
    assert!(message.contains("missing field `version`"), "{message}");
}

#[test]
fn check_tells_what_a_case_needs_and_writes_nothing() {
    let lab = Lab::new(short_plan);
    assert_eq!(lab.command(&[Path::new("check"), &lab.plan]).0, 0);
    let Some(Event::Checked(checked)) = lab.events().pop() else { panic!("no checked event") };
    assert_eq!((checked.file_set_bytes, checked.written_bytes, checked.files), (262_144, 262_144, 2));
    assert!(checked.free_bytes > Some(0) && lab.target_is_empty());
}

#[test]
fn plans_of_one_file_are_checked_one_by_one_and_the_node_is_described_once() {
    let lab = Lab::new(short_plan);
    let plan = fs::read_to_string(&lab.plan).unwrap();
    fs::write(&lab.plan, format!("{plan}{plan}{{}}\n")).unwrap();
    let (code, message) = lab.command(&[Path::new("check"), &lab.plan]);
    assert_eq!(code, 2);
    assert!(message.contains("missing field `version`"), "{message}");
    let [Event::Checked(first), Event::Checked(second), Event::Error(_)] = &lab.events()[..] else {
        panic!("{:?}", lab.events())
    };
    assert_eq!((first.node.is_some(), second.node.is_some()), (true, false));
    assert_eq!((first.files, second.files), (2, 2));
}

#[test]
fn more_ranks_than_processors_start_within_a_phase_and_say_that_they_are_crowded() {
    let lab = Lab::new(|target| {
        let mut plan = short_plan(target);
        plan["ranks"]["clients"] = json!(64);
        plan["files"]["data"]["layout"] = json!("N-1");
        plan
    });
    assert_eq!(lab.start().wait().unwrap().code(), Some(0));
    for phase in lab.phases() {
        assert_eq!(phase.ranks.len(), 64);
        assert!(phase.ranks.iter().enumerate().all(|(index, rank)| rank.rank == index as u32));
        let starts = || phase.ranks.iter().map(|rank| rank.start_ns);
        assert_eq!(phase.start_spread_ns, starts().max().unwrap() - starts().min().unwrap());
    }
}

/// The limit is the goal of the design: a rank's memory does not grow with files, transfers or operations.
#[test]
fn a_rank_needs_little_memory_however_many_files_and_transfers_there_are() {
    let lab = Lab::new(|target| {
        let mut plan = short_plan(target);
        plan["storage"]["api"] = json!("null");
        plan["files"]["data"]["files_per_rank"] = json!(100_000);
        plan["files"]["data"]["transfer_bytes"] = json!(1);
        plan["files"]["data"]["block_bytes"] = json!(10);
        plan["steps"] = json!([phase("write", "write", "random", "never"), phase("read", "read", "random", "never")]);
        plan
    });
    assert!(lab.start().wait().unwrap().success());
    for phase in lab.phases() {
        assert_eq!(phase.operations, 2 * 2 * 10 * 100_000);
        for rank in phase.ranks {
            assert!(rank.usage.peak_memory_bytes < 16 << 20, "{} bytes", rank.usage.peak_memory_bytes);
        }
    }
}

/// Ranks meet in a file, although one in memory: the limit of the size of files holds for it as well.
#[test]
fn ranks_that_ulimit_f_would_keep_from_meeting_are_refused_before_anything_is_created() {
    let lab = Lab::new(short_plan);
    let ended = lab.with_files_of_at_most(102_400);
    assert_eq!(ended.status.code(), Some(3));
    let message = String::from_utf8(ended.stderr).unwrap();
    assert!(message.contains("ulimit -f is 100 KiB, but the sparse shared-memory file of 2 ranks"), "{message}");
    assert!(message.contains("ulimit -f unlimited"), "{message}");
    assert!(!lab.events().iter().any(|event| matches!(event, Event::Started(_))) && lab.target_is_empty());
}

#[test]
fn one_rank_alone_needs_no_file_to_meet_in_and_names_a_write_beyond_ulimit_f() {
    let lab = Lab::new(|target| {
        let mut plan = short_plan(target);
        plan["ranks"]["clients"] = json!(1);
        plan
    });
    assert_eq!(lab.with_files_of_at_most(1 << 20).status.code(), Some(0));
    fs::remove_file(&lab.events).unwrap();
    assert_eq!(lab.with_files_of_at_most(100_000).status.code(), Some(1));
    let failure = lab.failure().unwrap();
    assert!(failure.starts_with("rank 0, write: ") && failure.ends_with("(EFBIG)"), "{failure}");
    assert!(lab.target_is_empty());
}

/// Makes the kernel refuse io_uring to this process and its children, as the filters of containers do.
fn forbid_io_uring() -> std::io::Result<()> {
    let instruction = |code: u32, jt, k| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    // Load the number of the system call; if it is io_uring_setup skip one instruction; allow; refuse with EPERM.
    let filter = [
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_io_uring_setup as u32),
        instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the filter outlives both calls, which change nothing but what this process may do.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[test]
fn where_the_kernel_forbids_io_uring_the_engine_says_so_and_leaves_nothing_behind() {
    let lab = Lab::new(|target| {
        let mut plan = short_plan(target);
        plan["storage"] = json!({"api": "uring", "depth": 4});
        plan
    });
    let mut engine = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
    engine.arg("run").arg(&lab.plan).arg("--events").arg(&lab.events).stderr(Stdio::null());
    // SAFETY: between fork and exec only system calls are made.
    unsafe { engine.pre_exec(forbid_io_uring) };
    assert_eq!(engine.status().unwrap().code(), Some(1));
    let failure = lab.failure().unwrap();
    assert!(failure.contains("uring: io_uring is forbidden here"), "{failure}");
    assert_eq!(fs::read_dir(&lab.target).unwrap().count(), 0);
}
