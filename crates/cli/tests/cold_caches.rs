//! Cold caches for real: file systems that are remounted, commands for servers, and what is left when one goes wrong.
//!
//! Remounts take root, and GlusterFS for several hosts; where that is not available the tests report that they were
//! skipped.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ioassay_protocol::doubt::Reason;
use ioassay_protocol::events::{ColdCache, CommandEnd, Event, Outcome, PhaseRecord};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use support::doubts;
use support::lab::Lab;
use support::mpi::Mpi;
use support::process::{Bench, RunResult, Running, phase, set, wait_until};
use support::skipped::skipped;

const MINUTE_NS: u64 = 60_000_000_000;

/// A host whose file system nobody else has mounted, in a file, at `mnt`.
struct Disk {
    bench: Bench,
    first: Child,
}

const UP: &str = "mkfs.$2 -q \"$1/disk\" > /dev/null && mount -o \"loop,$3\" \"$1/disk\" \"$1/mnt\" && mkdir \
                  \"$1/mnt/target\" && echo up && exec sleep infinity";

/// As a site would write it.
const REMOUNT: &str =
    "umount \"$IOASSAY_MOUNT_POINT\" && mount -t \"$IOASSAY_MOUNT_TYPE\" -o loop $DISK \"$IOASSAY_MOUNT_POINT\"";

impl Disk {
    /// ext4. `None`, said aloud, where this user, or this machine, cannot have it.
    fn new() -> Option<Self> {
        Self::of("ext4", "rw")
    }

    /// The same of any `file_system` with mount `options`.
    fn of(file_system: &str, options: &str) -> Option<Self> {
        let mut bench = Bench::new();
        fs::create_dir(bench.path("mnt")).unwrap();
        fs::File::create(bench.path("disk")).unwrap().set_len(128 << 20).unwrap();
        let mut first = Command::new("unshare")
            .args(["--mount", "sh", "-c", UP, "sh"])
            .arg(bench.root.path())
            .args([file_system, options])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        if BufReader::new(first.stdout.take().unwrap()).lines().next().is_none() {
            let _ = first.wait();
            skipped(&format!("{file_system} in a loop device"), "it needs root and mkfs");
            return None;
        }
        bench.hosts.push(first.id());
        bench.environment.push(("DISK", bench.path("disk").display().to_string()));
        Some(Self { bench, first })
    }

    fn target(&self) -> PathBuf {
        self.bench.path("mnt/target")
    }

    fn run(&self, cold: Value) -> RunResult {
        let read = |name| named(name, "read");
        let steps = [named("write", "write"), read("warm"), cold, read("read")];
        self.bench.run(&plan(&self.target(), 1, &steps))
    }

    /// What is in the target now.
    fn left(&self) -> Vec<String> {
        let target = format!("/proc/{}/root{}", self.first.id(), self.target().display());
        fs::read_dir(target).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.first.kill();
        let _ = self.first.wait();
    }
}

fn plan(target: &std::path::Path, clients: u32, steps: &[Value]) -> Value {
    json!({
        "version": 2, "run": format!("r{}", std::process::id()), "case": "c1", "target": {"directory": target},
        "storage": {"api": "posix"}, "ranks": {"clients": clients, "per_client": 2},
        "files": {"data": set(4096, 1 << 20, 1)}, "steps": steps, "seed": 1, "sample_interval_ns": 1_000_000_000,
    })
}

fn named(name: &str, transfer: &str) -> Value {
    let work =
        json!({"kind": "data", "files": "data", "transfer": transfer, "order": "sequential", "fsync": "at-close"});
    phase(name, work)
}

fn shell(line: &str, time_limit_ns: u64) -> Value {
    json!({"words": ["sh", "-c", line], "time_limit_ns": time_limit_ns})
}

fn remount(line: &str) -> Value {
    json!({"step": "cold-cache", "attempts": ["remount"], "remount": shell(line, MINUTE_NS)})
}

fn hook(line: &str, time_limit_ns: u64) -> Value {
    json!({"step": "cold-cache", "attempts": [], "hooks": [{"host": "nfs1", "command": shell(line, time_limit_ns)}]})
}

fn cold_of(ran: &RunResult) -> &ColdCache {
    let cold = ran.events.iter().find_map(|event| if let Event::ColdCache(cold) = event { Some(cold) } else { None });
    cold.unwrap_or_else(|| panic!("no cold-cache: {}", ran.stderr))
}

fn phase_of<'a>(ran: &'a RunResult, name: &str) -> &'a PhaseRecord {
    ran.phases().into_iter().find(|phase| phase.name == name).unwrap()
}

/// Whether the page cache holds `bytes`, but for the few pages that the kernel may have taken back since.
fn holds(resident: Option<u64>, bytes: u64) -> bool {
    resident.is_some_and(|resident| (bytes - bytes / 8..=bytes).contains(&resident))
}

fn warm_hosts(phase: &PhaseRecord) -> Option<&[String]> {
    phase.doubts.iter().find_map(|doubt| match &doubt.reason {
        Reason::CacheResident { hosts, .. } => Some(hosts.as_slice()),
        _ => None,
    })
}

/// Runs hooks on a directory of this machine, for a case that is to be `steps`.
fn on_a_directory(steps: &[Value]) -> (Bench, RunResult) {
    let bench = Bench::new();
    fs::create_dir(bench.path("target")).unwrap();
    let ran = bench.run(&plan(&bench.path("target"), 1, steps));
    (bench, ran)
}

#[test]
fn a_remount_leaves_nothing_in_memory_of_what_was_all_there_before_it() {
    let Some(disk) = Disk::new() else { return };
    let ran = disk.run(remount(REMOUNT));
    ran.complete();
    let [warm, read] = ["warm", "read"].map(|name| phase_of(&ran, name));
    assert!(holds(warm.resident_bytes_before, 2 << 20), "{warm:?}");
    assert_eq!(read.resident_bytes_before, Some(0));
    assert_eq!((warm_hosts(warm).map(<[_]>::len), warm_hosts(read)), (Some(1), None));
    let cold = cold_of(&ran);
    assert_eq!((cold.resident_bytes, cold.resident_bytes_per_node.as_slice()), (Some(0), [Some(0)].as_slice()));
    let [attempt] = cold.attempts.as_slice() else { panic!("{cold:?}") };
    assert!(attempt.done && attempt.commands.len() == 1 && attempt.commands[0].end == CommandEnd::Exited(0));
    assert!(disk.left().iter().all(|name| name == "lost+found"));
}

#[test]
fn reducible_data_is_doubted_where_the_file_system_compresses_and_nowhere_else() {
    let doubted = |file_system: &str, options: &str, zero_percent: u8| {
        let disk = Disk::of(file_system, options)?;
        let mut plan = plan(&disk.target(), 1, &[named("write", "write")]);
        let payload = json!({"kind": "reducible", "zero_percent": zero_percent, "duplicate_percent": 0});
        plan["files"]["data"]["payload"] = payload;
        let ran = disk.bench.run(&plan);
        ran.complete();
        Some(doubts(phase_of(&ran, "write")).contains(&"reducible-payload".to_owned()))
    };
    for (file_system, options, zero_percent, expected) in [
        ("ext4", "rw", 50, false),
        ("btrfs", "compress=zstd", 50, true),
        ("btrfs", "compress=zstd", 0, false),
        ("btrfs", "rw", 50, false),
    ] {
        let doubted = doubted(file_system, options, zero_percent);
        assert!(doubted.is_none_or(|doubted| doubted == expected), "{file_system} {options} {zero_percent}");
    }
}

/// Whatever process stands in a file system keeps it from being unmounted: the launcher's own would, and be named.
#[test]
fn processes_that_a_launcher_has_started_in_the_target_leave_it() {
    let Some(mpi) = Mpi::mpich() else { return };
    let Some(mut disk) = Disk::new() else { return };
    let enter = ["nsenter", "--target", &disk.bench.hosts[0].to_string(), "--mount"].map(str::to_owned).to_vec();
    let there = ["sh", "-c", "cd \"$0\" && exec \"$@\"", disk.target().to_str().unwrap()].map(str::to_owned).to_vec();
    disk.bench.hosts.clear();
    disk.bench.launcher = [enter, mpi.launcher(2), there].concat();
    disk.bench.options = vec!["--mpi".to_owned(), mpi.shim.display().to_string()];
    let environment = mpi.environment(&disk.bench);
    disk.bench.environment.extend(environment);
    let ran = disk.run(remount(REMOUNT));
    ran.complete();
    assert_eq!(cold_of(&ran).resident_bytes, Some(0));
    assert_eq!(disk.left(), Vec::<String>::new());
}

#[test]
fn storage_that_keeps_files_registered_or_mapped_is_remounted_all_the_same() {
    let Some(disk) = Disk::new() else { return };
    let uring = json!({"api": "uring", "depth": 4, "uring": {"registered_files": true, "registered_buffers": true}});
    for storage in [uring, json!({"api": "mmap"})] {
        let steps = [named("write", "write"), remount(REMOUNT), named("read", "read")];
        let mut plan = plan(&disk.target(), 1, &steps);
        plan["storage"] = storage;
        let ran = disk.bench.run(&plan);
        ran.complete();
        assert_eq!(phase_of(&ran, "read").resident_bytes_before, Some(0));
    }
}

#[test]
fn a_remount_that_unmounts_nothing_shows_in_the_residency() {
    let Some(disk) = Disk::new() else { return };
    // As people do who believe that this empties the cache.
    let ran = disk.run(remount("mount -o remount \"$IOASSAY_MOUNT_POINT\""));
    ran.complete();
    let cold = cold_of(&ran);
    assert!(holds(cold.resident_bytes, 2 << 20), "{cold:?}");
    assert!(cold.attempts[0].detail.contains("still in the page cache"), "{cold:?}");
    assert!(warm_hosts(phase_of(&ran, "read")).is_some());
}

#[test]
fn a_remount_of_a_file_system_that_somebody_uses_fails_and_names_who() {
    let Some(disk) = Disk::new() else { return };
    let pid = disk.first.id().to_string();
    let hold = format!("cd {} && exec sleep 600", disk.target().display());
    let user = Running(Command::new("nsenter").args(["--mount", "--target", &pid, "sh", "-c", &hold]).spawn().unwrap());
    let standing = format!("/proc/{}/cwd", user.0.id());
    wait_until("a process stands in the target", || {
        fs::read_link(&standing).is_ok_and(|directory| directory.ends_with("target"))
    });
    let ran = disk.run(remount(REMOUNT));
    assert_eq!(ran.code, 1);
    let message = &ran.failure().message;
    assert!(message.contains("exited with status 32") && message.contains("busy"), "{message}");
    assert!(message.contains(&format!("sleep ({}), its working directory", user.0.id())), "{message}");
    assert_eq!((ran.phases().len(), ran.removed().left.len()), (2, 0), "the phases before it are kept");
}

#[test]
fn what_a_remount_left_unmounted_is_named_and_can_be_cleaned_later() {
    let Some(disk) = Disk::new() else { return };
    let ran = disk.run(remount("umount \"$IOASSAY_MOUNT_POINT\""));
    assert_eq!(ran.code, 1);
    assert!(ran.failure().message.contains("is no longer mounted"), "{}", ran.failure().message);
    let [left] = ran.removed().left.as_slice() else { panic!("{:?}", ran.removed()) };
    assert!(left.because.contains("not mounted"), "{left:?}");
    let pid = disk.first.id().to_string();
    let again = "mount -o loop \"$1/disk\" \"$1/mnt\"";
    let mounted = Command::new("nsenter")
        .args(["--mount", "--target", &pid, "sh", "-c", again, "sh"])
        .arg(disk.bench.root.path())
        .status()
        .unwrap();
    assert!(mounted.success() && disk.left().len() == 1);
    assert_eq!(disk.bench.ran(&["clean", &left.path]).code, 0);
    assert_eq!(disk.left(), Vec::<String>::new());
}

#[test]
fn the_engine_does_not_keep_its_target_busy_by_standing_in_it() {
    let Some(disk) = Disk::new() else { return };
    // Hosts are entered through their root, so the engine is started among the mounts of this one instead.
    let plan =
        disk.bench.write(&plan(&disk.target(), 1, &[named("write", "write"), remount(REMOUNT), named("read", "read")]));
    let events = disk.bench.path("events.jsonl");
    let line = format!(
        "cd {} && exec {} run {plan} --events {}",
        disk.target().display(),
        env!("CARGO_BIN_EXE_ioassay-engine"),
        events.display()
    );
    let pid = disk.first.id().to_string();
    let ended = Command::new("nsenter")
        .args(["--mount", "--target", &pid, "sh", "-c", &line])
        .env("DISK", disk.bench.path("disk"))
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(disk.bench.phases()[1].resident_bytes_before, Some(0));
}

#[test]
fn every_host_of_a_lab_is_remounted_and_a_server_does_what_a_hook_says() {
    let Some(lab) = Lab::of_clients("gluster", 2) else { return };
    let mut bench = Bench::on(lab);
    bench.hosts.push(lab.host("client2"));
    let mounts = "umount \"$IOASSAY_MOUNT_POINT\" && glusterfs --volfile-server=${IOASSAY_MOUNT_SOURCE%%:*} \
                  --volfile-id=${IOASSAY_MOUNT_SOURCE#*:} \"$IOASSAY_MOUNT_POINT\" && hostname";
    let called = "echo called on $(hostname) | tee -a /run/ioassay/coldtest";
    let words = ["ssh", "-o", "BatchMode=yes", "server1", called];
    let cold = json!({
        "step": "cold-cache", "attempts": ["remount"], "remount": shell(mounts, MINUTE_NS),
        "hooks": [{"host": "server1", "command": {"words": words, "time_limit_ns": MINUTE_NS}}],
    });
    let steps = [named("write", "write"), named("warm", "read"), cold, named("read", "read")];
    let ran = bench.run(&plan(lab.place().as_ref(), 2, &steps));
    ran.complete();
    let [warm, read] = ["warm", "read"].map(|name| phase_of(&ran, name));
    let per_node = warm.resident_bytes_before_per_node.as_slice();
    assert!(per_node.len() == 2 && per_node.iter().all(|&resident| holds(Some(resident), 2 << 20)), "{warm:?}");
    assert_eq!(warm_hosts(warm).unwrap(), ["client1", "client2"]);
    assert_eq!((read.resident_bytes_before_per_node.as_slice(), warm_hosts(read)), ([0, 0].as_slice(), None));
    let cold = cold_of(&ran);
    assert_eq!(cold.resident_bytes_per_node, [Some(0), Some(0)]);
    let host_and_output = |run: &ioassay_protocol::events::CommandRun| (run.host.clone().unwrap(), run.output.clone());
    let each = |name: &str| (name.to_owned(), name.to_owned());
    let commands: Vec<_> = cold.attempts[0].commands.iter().map(host_and_output).collect();
    assert_eq!(commands, [each("client1"), each("client2")]);
    assert_eq!(host_and_output(&cold.hooks[0]), ("server1".to_owned(), "called on server1".to_owned()));
    assert_eq!(lab.run(&["cat", "/run/ioassay/coldtest"]), "called on server1\n");
}

#[test]
fn a_shift_of_reads_leads_to_another_host_and_what_that_one_never_read_is_cold() {
    let Some(lab) = Lab::of_clients("gluster", 2) else { return };
    let mut bench = Bench::on(lab);
    bench.hosts.push(lab.host("client2"));
    let cold = json!({"step": "cold-cache", "attempts": ["read-other-rank"]});
    let steps = [named("write", "write"), named("warm", "read"), cold, named("read", "read")];
    let mut plan = plan(lab.place().as_ref(), 2, &steps);
    plan["run"] = json!("shifted");
    let ran = bench.run(&plan);
    ran.complete();
    assert_eq!(cold_of(&ran).reads_shifted_by_ranks, 2);
    assert!(holds(phase_of(&ran, "warm").resident_bytes_before, 4 << 20));
    assert_eq!(phase_of(&ran, "read").resident_bytes_before_per_node, [0, 0]);
}

#[test]
fn a_hook_that_fails_ends_the_case_and_says_for_whom_what_and_how() {
    let failing = hook("echo one; echo Unit nfs-server.service not found. >&2; exit 5", MINUTE_NS);
    let (bench, ran) = on_a_directory(&[named("write", "write"), failing, named("read", "read")]);
    assert_eq!((ran.code, ran.phases().len()), (1, 1));
    let failure = ran.failure();
    assert_eq!((failure.rank, failure.phase.as_deref()), (Some(0), Some("cold-cache")));
    for part in ["hook nfs1", "exited with status 5", "one | Unit nfs-server.service not found."] {
        assert!(failure.message.contains(part), "{}", failure.message);
    }
    assert!(failure.remedy.contains("by hand"), "{}", failure.remedy);
    let [run] = cold_of(&ran).hooks.as_slice() else { panic!("{:?}", cold_of(&ran)) };
    assert_eq!((run.host.as_deref(), &run.end), (Some("nfs1"), &CommandEnd::Exited(5)));
    assert_eq!(fs::read_dir(bench.path("target")).unwrap().count(), 0);
}

#[test]
fn hooks_are_run_once_in_their_order_before_anything_else_is_tried() {
    let order = tempfile::NamedTempFile::new().unwrap();
    let note = |what: &str| shell(&format!("echo {what} >> {}", order.path().display()), MINUTE_NS);
    let hooks = json!([{"host": "mds1", "command": note("mds1")}, {"command": note("none")}]);
    let cold = json!({"step": "cold-cache", "attempts": ["fadvise"], "hooks": hooks});
    let (_, ran) = on_a_directory(&[named("write", "write"), cold, named("read", "read")]);
    ran.complete();
    assert_eq!(fs::read_to_string(order.path()).unwrap(), "mds1\nnone\n");
    let hosts: Vec<_> = cold_of(&ran).hooks.iter().map(|run| run.host.as_deref()).collect();
    assert_eq!(hosts, [Some("mds1"), None]);
}

#[test]
fn a_hook_that_hangs_is_ended_by_its_time_limit() {
    let (_, ran) = on_a_directory(&[named("write", "write"), hook("sleep 600", 300_000_000), named("read", "read")]);
    assert_eq!(ran.code, 1);
    let message = &ran.failure().message;
    assert!(message.contains("killed after its time limit of 300 ms"), "{message}");
    assert_eq!(cold_of(&ran).hooks[0].end, CommandEnd::TimedOut(300_000_000));
}

#[test]
fn a_signal_ends_a_hook_that_hangs_and_all_that_it_has_started() {
    let bench = Bench::new();
    fs::create_dir(bench.path("target")).unwrap();
    let pids = bench.path("pids");
    let line = format!("sleep 600 & echo $$ $! > {0}.new; mv {0}.new {0}; wait", pids.display());
    let plan = plan(&bench.path("target"), 1, &[named("write", "write"), hook(&line, 10 * MINUTE_NS)]);
    let mut engine = Running(bench.engine(&["run", &bench.write(&plan)]).spawn().unwrap());
    wait_until("the hook hangs", || pids.exists());
    kill(Pid::from_raw(engine.0.id() as i32), Signal::SIGTERM).unwrap();
    let begin = Instant::now();
    assert_eq!(engine.0.wait().unwrap().code(), Some(3));
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!(bench.outcome(), Some(Outcome::Interrupted));
    let stopped =
        bench.events().into_iter().find_map(|event| if let Event::ColdCache(cold) = event { Some(cold) } else { None });
    assert_eq!(stopped.unwrap().hooks[0].end, CommandEnd::Stopped);
    assert_eq!(fs::read_dir(bench.path("target")).unwrap().count(), 0);
    for pid in fs::read_to_string(&pids).unwrap().split_whitespace() {
        let alive = || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        wait_until("what it started is gone", || !alive());
    }
}
