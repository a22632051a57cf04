//! Hosts that are namespaces of this machine: each rank works on the host of its client. It takes root to make such
//! hosts; without it the tests say that they did nothing.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::process::{Bench, Running, children, phase, set, start_waiting, wait_until};
use crate::support::skipped::skipped;
use ioassay_protocol::doubt::Reason;
use ioassay_protocol::events::{Event, Outcome, Started};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// Two hosts, `red` and `blue`, among processes of their own. On both the directory `target` is the directory `shared`
/// of this machine, where `target` stays empty.
struct Hosts {
    bench: Bench,
    first: Child,
}

const HOST: &str = "hostname $1; mount --bind \"$2/shared\" \"$2/target\"; echo up; exec sleep infinity";

impl Hosts {
    /// `None` where this user, or this machine, cannot have them.
    fn new() -> Option<Self> {
        let mut bench = Bench::new();
        for name in ["target", "shared"] {
            fs::create_dir(bench.path(name)).unwrap();
        }
        let unshare = "unshare --mount --uts --ipc --net sh -c \"$0\"";
        let mut first = Command::new("unshare")
            .args(["--fork", "--kill-child", "--pid", "--mount-proc", "sh", "-c"])
            .arg(format!("{unshare} sh red \"$1\" & {unshare} sh blue \"$1\" & wait"))
            .arg(HOST)
            .arg(bench.root.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let up = BufReader::new(first.stdout.take().unwrap()).lines().take(2).count();
        if up < 2 {
            let _ = first.wait();
            skipped("namespaces", "unshare needs root");
            return None;
        }
        let inside = children(children(first.id())[0]);
        for name in ["red", "blue"] {
            let called = |pid: &u32| name_of(*pid).as_deref() == Some(name);
            bench.hosts.push(*inside.iter().find(|pid| called(pid)).unwrap());
        }
        Some(Self { bench, first })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.bench.path(name)
    }

    fn plan(&self, steps: &[Value]) -> Value {
        json!({
            "version": 2, "run": "r1", "case": "c1", "target": {"directory": self.path("target")},
            "storage": {"api": "posix"}, "ranks": {"clients": 2, "per_client": 2}, "files": {"data": set(4096, 65536, 1)},
            "steps": steps, "seed": 1, "sample_interval_ns": 1_000_000_000,
        })
    }

    /// Starts a plan that waits for a day after its first phase, and returns when it has come to that.
    fn start_waiting(&self) -> Running {
        start_waiting(
            &self.bench,
            &self.plan(&[step("write"), json!({"step": "pause", "duration_ns": 86_400_000_000_000_u64})]),
        )
    }

    fn on_blue(&self, command: &[&str]) {
        let blue = self.bench.hosts[1].to_string();
        assert!(Command::new("nsenter").args(["--mount", "--target", &blue]).args(command).status().unwrap().success());
    }

    fn shared(&self) -> Vec<PathBuf> {
        fs::read_dir(self.path("shared")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = self.first.kill();
        let _ = self.first.wait();
    }
}

/// The host name where process `pid` is.
fn name_of(pid: u32) -> Option<String> {
    let output = Command::new("nsenter").args(["--uts", "--target", &pid.to_string(), "hostname"]).output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn step(transfer: &str) -> Value {
    let work = json!({"kind": "data", "files": "data", "transfer": transfer, "order": "sequential", "fsync": "never"});
    phase(transfer, work)
}

#[test]
fn each_rank_works_on_the_host_of_its_client() {
    let Some(hosts) = Hosts::new() else { return };
    let steps = [step("write"), json!({"step": "cold-cache", "attempts": ["drop-caches"]}), step("read")];
    let ran = hosts.bench.run(&hosts.plan(&steps));
    ran.complete();
    let started: Option<Started> = ran.events.iter().find_map(|event| match event {
        Event::Started(started) => Some(started.clone()),
        _ => None,
    });
    let nodes = started.unwrap().nodes;
    assert_eq!(nodes.iter().map(|node| node.host.as_str()).collect::<Vec<_>>(), ["red", "blue"]);
    let target = hosts.path("target").display().to_string();
    assert!(nodes.iter().all(|node| node.mount.as_ref().unwrap().mount_point == target), "{nodes:?}");
    for phase in ran.phases() {
        assert_eq!(phase.ranks.iter().map(|rank| rank.node).collect::<Vec<_>>(), [0, 0, 1, 1]);
        let shared = |reason: &Reason| matches!(reason, Reason::SharedMachine { nodes: 2, machines: 1 });
        assert!(phase.doubts.iter().any(|doubt| shared(&doubt.reason)), "{:?}", phase.doubts);
    }
    assert_eq!((ran.phases().len(), hosts.shared()), (2, vec![]));
    // What a rank had written without entering its host would lie here.
    assert_eq!(fs::read_dir(hosts.path("target")).unwrap().count(), 0);
}

#[test]
fn a_signal_reaches_the_engine_among_the_hosts() {
    let Some(hosts) = Hosts::new() else { return };
    let mut engine = hosts.start_waiting();
    kill(Pid::from_raw(engine.0.id() as i32), Signal::SIGTERM).unwrap();
    let begin = Instant::now();
    assert_eq!(engine.0.wait().unwrap().code(), Some(3));
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!((hosts.bench.outcome(), hosts.shared()), (Some(Outcome::Interrupted), vec![]));
}

#[test]
fn when_the_process_outside_is_killed_the_engine_inside_stops_and_removes_its_files() {
    let Some(hosts) = Hosts::new() else { return };
    let mut engine = hosts.start_waiting();
    engine.0.kill().unwrap();
    engine.0.wait().unwrap();
    wait_until("the engine inside has ended", || hosts.bench.outcome().is_some());
    wait_until("its files are removed", || hosts.shared().is_empty());
}

#[test]
fn what_a_killed_engine_left_is_removed_on_the_host() {
    let Some(hosts) = Hosts::new() else { return };
    let mut engine = hosts.start_waiting();
    engine.kill_engine(); // its ranks die with it
    let workspace = hosts.path("target").join("ioassay-r1");
    assert_eq!(hosts.shared().len(), 1);
    let cleaned = hosts.bench.ran(&["clean", workspace.to_str().unwrap()]);
    assert_eq!(cleaned.code, 0, "{}", cleaned.stderr);
    assert_eq!(hosts.shared(), Vec::<&Path>::new());
}

#[test]
fn a_host_that_sees_the_workspace_only_later_is_waited_for() {
    let Some(hosts) = Hosts::new() else { return };
    let [target, shared] = ["target", "shared"].map(|name| hosts.path(name));
    hosts.on_blue(&["umount", target.to_str().unwrap()]);
    let mut engine = hosts.bench.engine(&["run", &hosts.bench.write(&hosts.plan(&[step("write")]))]).spawn().unwrap();
    wait_until("the workspace is there for the first host", || hosts.shared().len() == 1);
    hosts.on_blue(&["mount", "--bind", shared.to_str().unwrap(), target.to_str().unwrap()]);
    assert_eq!(engine.wait().unwrap().code(), Some(0));
    assert_eq!((hosts.bench.phases().len(), hosts.shared()), (1, vec![]));
}

#[test]
fn a_host_that_is_gone_is_named_before_anything_is_written() {
    let Some(mut hosts) = Hosts::new() else { return };
    hosts.bench.hosts[1] = 4_194_304; // one more than there can be
    let ended = hosts.bench.engine(&["run", &hosts.bench.write(&hosts.plan(&[step("write")]))]).output().unwrap();
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(3));
    assert!(errors.contains("4194304") && errors.contains("No such file"), "{errors}");
    assert_eq!(hosts.shared(), Vec::<&Path>::new());
}
