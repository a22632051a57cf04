//! A workspace under attack: a user who may write to the target puts something else in its place during a run.
//!
//! Hooks of cold-cache steps do the swaps, so that they come between two phases for certain.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::process::{Bench, RunResult, Running, ended, entries, phase, read, set, wait_until, write};
use crate::support::skipped::skipped;
use ioassay_protocol::events::Outcome;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

const MINUTE_NS: u64 = 60_000_000_000;

/// A target, and a directory outside of it that nobody may touch.
struct Ground {
    bench: Bench,
}

impl Ground {
    fn new() -> Self {
        let bench = Bench::new();
        for directory in ["target", "outside"] {
            fs::create_dir(bench.path(directory)).unwrap();
        }
        Self { bench }
    }

    fn workspace(&self) -> PathBuf {
        self.bench.path("target/ioassay-r1")
    }

    /// Where an attacker moves the workspace.
    fn away(&self) -> PathBuf {
        self.bench.path("target/away")
    }

    fn outside(&self) -> PathBuf {
        self.bench.path("outside")
    }

    fn plan(&self, api: &str, steps: &[Value]) -> Value {
        json!({
            "version": 2, "run": "r1", "case": "c1", "target": {"directory": self.bench.path("target")},
            "storage": {"api": api}, "ranks": {"clients": 2, "per_client": 1},
            "files": {"data": set(4096, 65536, 2), "more": set(4096, 65536, 2)},
            "trees": {"t": {
                "sharing": "unique", "depth": 1, "branch": 2, "items_per_directory": 3, "leaves_only": false,
                "items": "files",
            }},
            "steps": steps, "seed": 1, "sample_interval_ns": 1_000_000_000,
        })
    }

    /// A step in which `line` is run, with the paths of all this.
    fn hook(&self, line: &str) -> Value {
        let mut line = line.to_owned();
        let paths = [("WORKSPACE", self.workspace()), ("AWAY", self.away()), ("OUTSIDE", self.outside())];
        for (name, path) in paths {
            line = line.replace(name, path.to_str().unwrap());
        }
        let command = json!({"words": ["sh", "-c", line], "time_limit_ns": MINUTE_NS});
        json!({"step": "cold-cache", "attempts": ["fadvise"], "hooks": [{"command": command}]})
    }

    /// Everything that a run does in its workspace, after the swap `line`: files that are new, files that are there, a tree.
    fn attacked(&self, api: &str, line: &str) -> RunResult {
        let create = json!({"kind": "create", "with": "open", "write_bytes": 100, "fsync": false});
        let again = json!({"kind": "data", "files": "data", "transfer": "write", "order": "random", "fsync": "at-end"});
        let steps = [
            write("data", "at-end"),
            entries("tree", json!({"kind": "create-tree"})),
            self.hook(line),
            write("more", "at-end"),
            read("more"),
            read("data"),
            phase("again", again),
            entries("create", create),
            entries("stat", json!({"kind": "stat"})),
            entries("rename", json!({"kind": "rename"})),
            phase("find", json!({"kind": "find"})),
        ];
        self.bench.run(&self.plan(api, &steps))
    }

    fn nothing_is_outside(&self) {
        assert_eq!(fs::read_dir(self.outside()).unwrap().count(), 0);
    }
}

/// All phases did all that was planned, nothing but the list is left, and the run says where.
fn went_on_where_it_was(ran: &RunResult, ground: &Ground, now: &Path, because: &str) {
    assert!(
        ran.events.iter().any(|event| serde_json::to_value(event).unwrap()["outcome"] == "complete"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.phases().len(), 10);
    assert!(ran.phases().iter().all(|phase| phase.complete));
    // Its own list among them: the files of both sets, the items and the directories of the tree.
    assert_eq!(ran.phases()[9].ranks.iter().map(|rank| rank.operations).sum::<u64>(), 1 + 8 + 18 + 7);
    let removed = ran.removed();
    assert_eq!((removed.files, removed.left.len()), (8 + 18, 1), "{removed:?}");
    assert_eq!(removed.left[0].path, ground.workspace().to_str().unwrap());
    assert!(removed.left[0].because.contains(because), "{removed:?}");
    assert_eq!(ran.code, 1, "something remains, so this is no success: {}", ran.stderr);
    assert!(
        ran.stderr.contains(ground.workspace().to_str().unwrap()) && ran.stderr.contains(because),
        "{}",
        ran.stderr
    );
    assert_eq!(names_in(now), [".ioassay-workspace"]);
}

fn names_in(directory: &Path) -> Vec<String> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_run_goes_on_in_its_directory_when_a_link_is_put_in_the_place_of_that() {
    for api in ["posix", "uring", "mmap"] {
        let ground = Ground::new();
        let ran = ground.attacked(api, "mv WORKSPACE AWAY && ln -s OUTSIDE WORKSPACE");
        went_on_where_it_was(&ran, &ground, &ground.away(), &format!("is now at {}", ground.away().display()));
        ground.nothing_is_outside();
        assert_eq!(fs::read_link(ground.workspace()).unwrap(), ground.outside(), "what was put there stays");
    }
}

#[test]
fn a_run_goes_on_in_its_directory_when_another_one_is_mounted_over_that() {
    let mut ground = Ground::new();
    // The mounts of the engine alone, which end with it.
    ground.bench.launcher = ["unshare", "--mount", "--propagation", "private"].map(str::to_owned).to_vec();
    let can = Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success());
    if !can {
        skipped("a mount", "it needs root");
        return;
    }
    let ran = ground.attacked("posix", "mount --bind OUTSIDE WORKSPACE");
    went_on_where_it_was(&ran, &ground, &ground.workspace(), "mounted over it");
    ground.nothing_is_outside();
    // Without that mount it is the workspace again.
    assert_eq!(ground.bench.ran(&["clean", ground.workspace().to_str().unwrap()]).code, 0);
    assert_eq!(names_in(&ground.bench.path("target")), Vec::<String>::new());
}

#[test]
fn files_that_are_opened_one_after_the_other_stay_in_the_directory_when_it_is_swapped_in_the_middle() {
    let ground = Ground::new();
    let mut plan = ground.plan("posix", &[write("many", "never")]);
    plan["files"] = json!({"many": set(1, 1, 100_000)});
    plan["trees"] = json!({});
    let mut engine = Running(ground.bench.engine(&["run", &ground.bench.write(&plan)]).spawn().unwrap());
    let count = |path: &Path| fs::read_dir(path).map_or(0, Iterator::count);
    wait_until("the first files are there", || count(&ground.workspace()) > 10);
    fs::rename(ground.workspace(), ground.away()).unwrap();
    symlink(ground.outside(), ground.workspace()).unwrap();
    let then = count(&ground.away());
    wait_until("more of them are written", || count(&ground.away()) > then + 10 || count(&ground.outside()) > 0);
    ground.nothing_is_outside();
    kill(Pid::from_raw(engine.0.id() as i32), Signal::SIGTERM).unwrap();
    ended(&mut engine, std::time::Instant::now());
    assert_eq!(ground.bench.outcome(), Some(Outcome::Interrupted));
    ground.nothing_is_outside();
    assert!(ground.away().is_dir() && ground.workspace().is_symlink());
}

#[test]
fn what_lies_where_a_file_is_to_be_created_is_refused_and_not_written() {
    for (api, what) in [
        ("posix", "ln -s OUTSIDE/victim WORKSPACE/c1.data.00000000.00000000"),
        ("uring", "echo mine > OUTSIDE/victim; ln OUTSIDE/victim WORKSPACE/c1.data.00000000.00000000"),
        ("mmap", "mkfifo WORKSPACE/c1.data.00000000.00000000"),
    ] {
        let ground = Ground::new();
        let steps = [ground.hook(what), write("data", "at-end")];
        let ran = ground.bench.run(&ground.plan(api, &steps));
        assert_eq!(ran.code, 1);
        let failure = ran.failure();
        assert_eq!(failure.errno_name.as_deref(), Some("EEXIST"), "{failure:?}");
        assert_eq!(failure.path.as_deref(), ground.workspace().join("c1.data.00000000.00000000").to_str());
        match fs::read_to_string(ground.outside().join("victim")) {
            Ok(text) => assert_eq!(text, "mine\n"),
            Err(_) => assert_eq!(names_in(&ground.outside()), Vec::<String>::new()),
        }
        let left = &ran.removed().left;
        let stays = api != "uring";
        assert_eq!(left.len(), usize::from(stays), "{left:?}");
        assert!(!stays || left[0].because.contains("not a regular file"), "{left:?}");
    }
}

#[test]
fn links_that_are_put_into_a_workspace_lead_nowhere() {
    let file = "WORKSPACE/c1.data.00000000.00000000";
    let swapped = format!("mv {file} OUTSIDE/stolen; ln -s OUTSIDE/stolen {file}");
    let ground = Ground::new();
    let ran = ground.bench.run(&ground.plan("posix", &[write("data", "at-end"), ground.hook(&swapped), read("data")]));
    assert_eq!((ran.code, ran.failure().errno_name.as_deref()), (1, Some("ELOOP")), "{}", ran.stderr);
    assert_eq!(names_in(&ground.outside()), ["stolen"]);

    let ground = Ground::new();
    let create = json!({"kind": "create", "with": "open", "write_bytes": 100, "fsync": false});
    let tree = "mv WORKSPACE/c1.t OUTSIDE/t; ln -s OUTSIDE/t WORKSPACE/c1.t";
    let steps = [entries("tree", json!({"kind": "create-tree"})), ground.hook(tree), entries("create", create)];
    let ran = ground.bench.run(&ground.plan("posix", &steps));
    assert_eq!((ran.code, ran.failure().errno_name.as_deref()), (1, Some("ELOOP")), "{}", ran.stderr);
    let files = Command::new("find").arg(ground.outside()).args(["-type", "f"]).output().unwrap();
    assert_eq!(String::from_utf8(files.stdout).unwrap(), "");
}

#[test]
fn a_plug_in_that_takes_nothing_but_paths_is_given_none_that_leads_elsewhere() {
    let path = crate::support::plug_ins::shipped("skeleton-plugin").expect("a C compiler");
    let ground = Ground::new();
    let swap = "mv WORKSPACE AWAY && ln -s OUTSIDE WORKSPACE";
    let mut plan = ground.plan("posix", &[write("data", "at-end"), ground.hook(swap), write("more", "at-end")]);
    plan["storage"] = serde_json::to_value(crate::support::plug_ins::storage("skeleton-plugin", path)).unwrap();
    plan["trees"] = json!({});
    let ran = ground.bench.run(&plan);
    assert_eq!(ran.code, 1);
    assert!(ran.failure().message.contains("no longer leads to the directory"), "{}", ran.failure().message);
    ground.nothing_is_outside();
    assert_eq!(names_in(&ground.away()), [".ioassay-workspace"]);
}

#[test]
fn a_target_that_would_be_filled_to_the_last_byte_is_refused() {
    let ground = Ground::new();
    let target = ground.bench.path("target");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"]).arg(&target).status();
    if !mounted.is_ok_and(|status| status.success()) {
        skipped("a mount", "it needs root");
        return;
    }
    // 64 MiB in two files, and then with 16 MiB to spare.
    let ran = |bytes: u64| {
        let mut plan = ground.plan("posix", &[write("data", "at-end")]);
        plan["files"] = json!({"data": set(1 << 20, bytes, 1)});
        plan["trees"] = json!({});
        ground.bench.run(&plan)
    };
    let (exact, with_room) = (ran(32 << 20), ran(24 << 20));
    assert!(Command::new("umount").arg(&target).status().unwrap().success());
    assert_eq!(exact.code, 3);
    let message = &exact.failure().message;
    assert!(message.contains("needs 64.0 MiB plus a reserve of 16.0 MiB: 16.0 MiB short"), "{message}");
    with_room.complete();
}
