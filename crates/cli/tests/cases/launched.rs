//! The engine as launchers of three MPIs start it, on this machine. Nodes are made of it by giving processes host names of
//! their own, which takes root. What takes several hosts with links is in `launched_nodes.rs`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::engines::{all_have_ended, engine, engines};
use crate::support::mpi::Mpi;
use crate::support::process::{
    Bench, HANGS, Running, ended, entries, only, pause, read, set, start_waiting, wait_until, write,
};
use crate::support::skipped::skipped;
use crate::support::{check_sums, doubts};
use ioassay_protocol::doubt::Reason;
use ioassay_protocol::events::{Outcome, PhaseRecord};
use ioassay_protocol::plan::Operation;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// In this a run is to be ended that something has happened to; here it takes less than one.
const ENDED: Duration = Duration::from_secs(10);

/// Every promise, kept under every MPI.
macro_rules! under_every_mpi {
    ($($promise:ident)*) => {
        mod under_debians_open_mpi {
            $(#[test] fn $promise() { if let Some(mpi) = super::Mpi::debian() { super::$promise(mpi) } })*
        }
        mod under_mpich {
            $(#[test] fn $promise() { if let Some(mpi) = super::Mpi::mpich() { super::$promise(mpi) } })*
        }
        mod under_open_mpi_5 {
            $(#[test] fn $promise() { if let Some(mpi) = super::Mpi::openmpi() { super::$promise(mpi) } })*
        }
    };
}

under_every_mpi! {
    ranks_of_two_nodes_write_and_read_back_and_every_sum_agrees
    accelerators_of_two_nodes_do_each_step_together
    metadata_and_find_count_the_same_as_on_one_node
    after_a_stonewall_the_ranks_of_all_nodes_do_what_the_fastest_did
    ranks_that_speak_mpi_themselves_do_the_same
    more_ranks_than_processors_meet
    samples_of_a_node_with_another_clock_lie_on_one_time_line
    another_number_of_ranks_than_the_plan_has_is_refused
    front_ends_find_out_that_they_were_launched
    a_front_end_moves_data_by_mpi_io
    a_killed_rank_is_named_and_ends_the_run
    a_killed_guard_ends_the_run
    a_killed_launcher_ends_the_run
    a_signal_to_the_launcher_ends_the_run_in_order
    a_full_target_ends_the_run_and_is_reported_with_the_rank_that_met_it
}

/// A place for `ranks` processes that `mpi` starts, with a directory `target`.
fn bench(mpi: &Mpi, ranks: u32) -> Bench {
    let bench = Bench::new();
    fs::create_dir(bench.path("target")).unwrap();
    let options = vec!["--mpi".to_owned(), mpi.shim.display().to_string()];
    Bench { launcher: mpi.launcher(ranks), options, environment: mpi.environment(&bench), ..bench }
}

/// The same with two nodes, `node0` and `node1`, among which the launcher deals processes in turn.
fn bench_of_two_nodes(mpi: &Mpi, ranks: u32) -> Bench {
    on_two_nodes(bench(mpi, ranks), "")
}

/// Has processes go to two nodes in turn; `unshare` has options for the second one.
fn on_two_nodes(mut bench: Bench, unshare: &str) -> Bench {
    let script = bench.path("node");
    let text = format!(
        "#!/bin/sh\n\
         node=$((${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} % 2))\n\
         test $node = 1 && more='{unshare}'\n\
         exec unshare --uts $more sh -c 'hostname $0; exec \"$@\"' node$node \"$@\"\n"
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    bench.launcher.push(script.display().to_string());
    bench
}

fn plan(bench: &Bench, (clients, per_client): (u32, u32), steps: &[Value]) -> Value {
    let mut shared = set(4096, 16384, 1);
    shared["layout"] = json!("N-1");
    json!({
        "version": 2, "run": "r1", "case": "c1", "target": {"directory": bench.path("target")},
        "storage": {"api": "posix"}, "ranks": {"clients": clients, "per_client": per_client},
        "files": {"data": set(4096, 65536, 2), "shared": shared},
        "trees": {"t": {
            "sharing": "unique", "depth": 1, "branch": 2, "items_per_directory": 20, "leaves_only": false,
            "items": "files",
        }},
        "steps": steps, "seed": 1, "sample_interval_ns": 20_000_000,
    })
}

/// Starts two nodes' ranks on a plan that waits after its first phase, and returns when it waits.
fn waiting(bench: &Bench, ranks: (u32, u32)) -> Running {
    start_waiting(bench, &only(plan(bench, ranks, &[write("data", "never"), pause()]), &["data"]))
}

/// Nothing is left on the target, nor of any process.
fn nothing_is_left(bench: &Bench) {
    all_have_ended(bench);
    let left: Vec<_> = fs::read_dir(bench.path("target")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
}

fn accelerators_of_two_nodes_do_each_step_together(mpi: &Mpi) {
    let bench = bench_of_two_nodes(mpi, 4);
    let phase = |name: &str, operation: Value| {
        let work = json!({"kind": "train", "dataset": "images", "operation": operation});
        json!({"step": "phase", "name": name, "jobs": [{"name": "j", "work": work}]})
    };
    // Half of the steps of each rank are long, others for each: together they take longer than by themselves.
    let epoch = json!({
        "kind": "epoch", "number": 0, "batch": 2, "loader_threads": 1, "prefetch": 2, "shuffle": "samples",
        "drop_last": true, "compute_ns": 5_500_000, "compute": "sleep", "sync_steps": true, "verify": true,
        "compute_times": {"histogram": [{"ns": 1_000_000, "weight": 1}, {"ns": 10_000_000, "weight": 1}]},
    });
    let mut plan =
        plan(&bench, (2, 2), &[phase("create", json!({"kind": "create", "fsync": false})), phase("epoch", epoch)]);
    plan["files"] = json!({});
    plan["trees"] = json!({});
    plan["datasets"] = json!({"images": {"samples": 160, "samples_per_file": 1, "sizes": {"fixed": 5_000}, "seed": 1}});
    let ran = bench.run(&plan);
    ran.complete();
    let records = ran.phases();
    let steps = records.iter().find(|record| record.name == "epoch" && record.operation == Operation::Step).unwrap();
    let trained: Vec<_> = steps.ranks.iter().map(|rank| rank.training.unwrap()).collect();
    assert_eq!(trained.iter().map(|rank| rank.samples).collect::<Vec<_>>(), [40; 4]);
    let computed: Vec<u64> = trained.iter().map(|rank| rank.compute_ns).collect();
    let longest = computed.iter().max().unwrap();
    for rank in &trained {
        assert!(rank.sync_ns > 0, "{rank:?}");
        assert!(rank.last_step_ns >= longest + 10_000_000, "each step takes as long as its slowest rank: {computed:?}");
    }
    nothing_is_left(&bench);
}

fn ranks_of_two_nodes_write_and_read_back_and_every_sum_agrees(mpi: &Mpi) {
    let bench = bench_of_two_nodes(mpi, 4);
    let steps = [write("data", "at-close"), write("shared", "never"), read("data"), read("shared")];
    let ran = bench.run(&only(plan(&bench, (2, 2), &steps), &["data", "shared"]));
    ran.complete();
    let nodes = bench.started().nodes;
    assert_eq!(nodes.iter().map(|node| node.host.as_str()).collect::<Vec<_>>(), ["node0", "node1"]);
    assert_eq!(ran.phases().len(), 4);
    for record in ran.phases() {
        check_sums(record);
        // Ranks of a node follow each other although processes were distributed round-robin.
        assert_eq!(record.ranks.iter().map(|rank| (rank.rank, rank.node)).collect::<Vec<_>>(), SEATS);
        assert_eq!(record.clocks.len(), 2);
        let shared = |reason: &Reason| matches!(reason, Reason::SharedMachine { nodes: 2, machines: 1 });
        assert!(record.doubts.iter().any(|doubt| shared(&doubt.reason)), "{:?}", record.doubts);
    }
    assert_eq!(ran.phases()[0].bytes, 4 * 2 * 65536);
    nothing_is_left(&bench);
}

const SEATS: [(u32, u32); 4] = [(0, 0), (1, 0), (2, 1), (3, 1)];

fn metadata_and_find_count_the_same_as_on_one_node(mpi: &Mpi) {
    let find = json!({
        "step": "phase", "name": "find", "jobs": [{"name": "j", "work": {"kind": "find", "tree": "t", "name": "*1*"}}],
    });
    let operations = [
        entries("create-tree", json!({"kind": "create-tree"})),
        entries("create", json!({"kind": "create", "with": "open", "write_bytes": 10, "fsync": false})),
        find,
        entries("stat", json!({"kind": "stat"})),
        entries("read", json!({"kind": "read", "bytes": 10})),
        entries("remove", json!({"kind": "remove"})),
        entries("remove-tree", json!({"kind": "remove-tree"})),
    ];
    let counted = |bench: &Bench| {
        let ran = bench.run(&only(plan(bench, (2, 2), &operations), &["t"]));
        ran.complete();
        let count = |record: &PhaseRecord| (record.name.clone(), record.bytes, record.operations, record.matched);
        ran.phases().into_iter().inspect(|record| check_sums(record)).map(count).collect::<Vec<_>>()
    };
    let (many, single) = (bench_of_two_nodes(mpi, 4), Bench::new());
    fs::create_dir(single.path("target")).unwrap();
    let counts = counted(&many);
    assert_eq!(counts, counted(&single));
    assert!(counts.iter().any(|(name, _, _, matched)| name == "find" && *matched > Some(0)), "{counts:?}");
    nothing_is_left(&many);
}

fn after_a_stonewall_the_ranks_of_all_nodes_do_what_the_fastest_did(mpi: &Mpi) {
    let bench = bench_of_two_nodes(mpi, 4);
    let mut worn = write("data", "never");
    worn["jobs"][0]["limit"] = json!({"stonewall_ns": 300_000_000, "wear_out": true});
    // Only the first rank's pauses are short: the others have to catch up.
    let mut plan = only(plan(&bench, (2, 2), &[worn, read("data")]), &["data"]);
    plan["files"]["data"] = set(4096, 64 << 20, 1);
    plan["steps"][0]["jobs"][0]["think"] = json!({"duration_ns": 1_000_000, "every_operations": 4});
    let ran = bench.run(&plan);
    ran.complete();
    let record = ran.phases()[0];
    check_sums(record);
    let done: Vec<u64> = record.ranks.iter().map(|rank| rank.operations).collect();
    assert!(done.iter().all(|&operations| operations == done[0] && operations > 0), "{done:?}");
    assert_eq!(record.stonewall.unwrap().most_operations, done[0]);
    // All of that, and no more, can be read back.
    assert_eq!(ran.phases()[1].bytes, record.bytes);
}

fn ranks_that_speak_mpi_themselves_do_the_same(mpi: &Mpi) {
    let mut bench = bench_of_two_nodes(mpi, 4);
    bench.options.push("--mpi-in-ranks".to_owned());
    let ran = bench.run(&only(plan(&bench, (2, 2), &[write("data", "never"), read("data")]), &["data"]));
    ran.complete();
    ran.phases().into_iter().for_each(check_sums);
    nothing_is_left(&bench);
}

fn more_ranks_than_processors_meet(mpi: &Mpi) {
    let bench = bench(mpi, 16);
    let ran = bench.run(&only(plan(&bench, (1, 16), &[write("data", "never"), read("data")]), &["data"]));
    ran.complete();
    for record in ran.phases() {
        check_sums(record);
        assert_eq!((record.ranks.len(), record.bytes), (16, 16 * 2 * 65536));
        assert!(doubts(record).contains(&"oversubscribed".to_owned()));
    }
    nothing_is_left(&bench);
}

fn samples_of_a_node_with_another_clock_lie_on_one_time_line(mpi: &Mpi) {
    const AHEAD_S: i64 = 1000;
    let bench = on_two_nodes(bench(mpi, 4), &format!("--time --monotonic {AHEAD_S} --fork --kill-child"));
    let mut slow = write("data", "never");
    slow["jobs"][0]["rate"] = json!({"operations_per_s": 400});
    let ran = bench.run(&only(plan(&bench, (2, 2), &[slow]), &["data"]));
    ran.complete();
    let record = ran.phases()[0];
    check_sums(record);
    let clock = record.clocks[1];
    for (offset_ns, uncertainty_ns) in
        [(clock.offset_ns, clock.uncertainty_ns), (clock.offset_after_ns, clock.uncertainty_after_ns)]
    {
        // Both clocks are calibrated on their own, and wrong by some ten parts per million of seconds for that.
        let wrong_ns = (offset_ns + AHEAD_S * 1_000_000_000).unsigned_abs();
        assert!(wrong_ns <= uncertainty_ns + 100_000, "{wrong_ns} {uncertainty_ns}");
        assert!(uncertainty_ns < 1_000_000_000, "{uncertainty_ns}");
    }
    for rank in &record.ranks {
        assert!(rank.start_ns < 1_000_000_000 && rank.end_ns <= record.duration_ns, "{rank:?}");
        assert_eq!(rank.sample_bytes.len() as u64, rank.end_ns / record.sample_interval_ns + 1);
    }
    assert!(record.duration_ns < HANGS.as_nanos() as u64);
    nothing_is_left(&bench);
}

fn another_number_of_ranks_than_the_plan_has_is_refused(mpi: &Mpi) {
    let bench = bench(mpi, 3);
    let ran = bench.run(&only(plan(&bench, (1, 4), &[write("data", "never")]), &["data"]));
    assert_ne!(ran.code, 0);
    let message = &ran.failure().message;
    assert!(message.contains("for 4 ranks") && message.contains("started 3"), "{message}");
    nothing_is_left(&bench);
}

fn front_ends_find_out_that_they_were_launched(mpi: &Mpi) {
    let bench = bench_of_two_nodes(mpi, 4);
    let target = bench.path("target");
    let target = target.to_str().unwrap();
    let ran = |arguments: &str| {
        let ran = bench.launched().args(arguments.split(' ')).output().unwrap();
        let [printed, errors] = [&ran.stdout, &ran.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        assert!(ran.status.success(), "{arguments}: {printed}{errors}");
        printed
    };
    let ior = ran(&format!("ior -a POSIX -w -r -F -C -t 64k -b 256k -i 2 -o {target}/ior"));
    let shown = |key: &str| ior.lines().find(|line| line.starts_with(key)).and_then(|line| line.split(':').nth(1));
    assert_eq!([shown("nodes"), shown("tasks")].map(|value| value.unwrap().trim()), ["2", "4"], "{ior}");
    for line in ["write", "read"] {
        // A line of each repetition, and one in the summary.
        assert_eq!(ior.lines().filter(|printed| printed.starts_with(line)).count(), 3, "{ior}");
    }
    let mdtest = ran(&format!("mdtest -n 10 -u -d {target}/mdtest"));
    assert!(mdtest.contains("4 total task(s), on 2 node(s)") || mdtest.contains("launched with 4"), "{mdtest}");
    assert!(mdtest.contains("File creation"), "{mdtest}");
    nothing_is_left(&bench);
}

fn a_front_end_moves_data_by_mpi_io(mpi: &Mpi) {
    let bench = bench(mpi, 2);
    let built = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"))
        .args(["api", "build", "mpiio"])
        .envs(bench.environment.clone())
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let file = bench.path("target/ior").display().to_string();
    let line = ["ior", "-a", "MPIIO", "-w", "-r", "-R", "-G", "7", "-t", "64k", "-b", "256k", "-o", &file];
    let ran = bench.launched().args(line).output().unwrap();
    let [printed, errors] = [&ran.stdout, &ran.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(ran.status.success(), "{printed}{errors}");
    for begin in ["write ", "read "] {
        // A row of the phase, and one in the summary.
        assert_eq!(printed.lines().filter(|line| line.starts_with(begin)).count(), 2, "{printed}");
    }
    nothing_is_left(&bench);
}

/// The killed rank is the first of all, the first of its node, or another.
fn a_killed_rank_is_named_and_ends_the_run(mpi: &Mpi) {
    // To the launcher 0 and 2 are on the first node, and 1 and 3 on the second one.
    for (number, rank) in [(0, 0), (1, 2), (3, 3)] {
        let bench = bench_of_two_nodes(mpi, 4);
        let mut run = waiting(&bench, (2, 2));
        let begin = Instant::now();
        engine(&bench, number, true).send(Signal::SIGKILL);
        let took = ended(&mut run, begin);
        assert!(took < ENDED, "{took:?}");
        assert_eq!(bench.outcome(), Some(Outcome::Failed));
        let failure = bench.failure();
        assert_eq!(failure.rank, Some(rank), "{failure:?}");
        assert!(failure.message.contains("was killed by SIGKILL"), "{}", failure.message);
        // What had ended before is kept.
        assert_eq!(bench.phases().len(), 1);
        nothing_is_left(&bench);
    }
}

/// Nobody is left who could watch its rank, and its launcher ends the job.
fn a_killed_guard_ends_the_run(mpi: &Mpi) {
    for number in [0, 1, 3] {
        let bench = bench_of_two_nodes(mpi, 4);
        let mut run = waiting(&bench, (2, 2));
        let begin = Instant::now();
        engine(&bench, number, false).send(Signal::SIGKILL);
        let took = ended(&mut run, begin);
        assert!(took < ENDED, "{took:?}");
        assert_ne!(run.0.wait().unwrap().code(), Some(0));
        all_have_ended(&bench);
        assert_ne!(bench.outcome(), Some(Outcome::Complete));
        assert_eq!(bench.phases().len(), 1);
        what_may_be_left_is_cleaned(&bench);
    }
}

/// Where the engine's first process was killed too, nobody could remove the files; the next one does.
fn what_may_be_left_is_cleaned(bench: &Bench) {
    let workspace = bench.started().workspace;
    let cleaned = Bench::new().ran(&["clean", &workspace]);
    assert_eq!(cleaned.code, 0, "{}", cleaned.stderr);
    nothing_is_left(bench);
}

fn a_killed_launcher_ends_the_run(mpi: &Mpi) {
    let bench = bench_of_two_nodes(mpi, 4);
    let mut run = waiting(&bench, (2, 2));
    let begin = Instant::now();
    run.0.kill().unwrap();
    run.0.wait().unwrap();
    all_have_ended(&bench);
    let took = begin.elapsed();
    assert!(took < ENDED, "{took:?}");
    assert_ne!(bench.outcome(), Some(Outcome::Complete));
    assert_eq!(bench.phases().len(), 1);
    what_may_be_left_is_cleaned(&bench);
}

fn a_signal_to_the_launcher_ends_the_run_in_order(mpi: &Mpi) {
    let bench = bench_of_two_nodes(mpi, 4);
    let mut run = waiting(&bench, (2, 2));
    let begin = Instant::now();
    kill(Pid::from_raw(run.0.id() as i32), Signal::SIGTERM).unwrap();
    let took = ended(&mut run, begin);
    assert!(took < ENDED, "{took:?}");
    all_have_ended(&bench);
    assert_ne!(bench.outcome(), Some(Outcome::Complete));
    assert_eq!(bench.phases().len(), 1);
    what_may_be_left_is_cleaned(&bench);
}

/// A tmpfs that says it has room for what the plan says, until something else takes it.
fn a_full_target_ends_the_run_and_is_reported_with_the_rank_that_met_it(mpi: &Mpi) {
    let bench = bench_of_two_nodes(mpi, 4);
    let target = bench.path("target");
    let Some(_mount) = Mount::tmpfs(&target, "size=8m") else { return };
    let mut slow = write("data", "never");
    slow["jobs"][0]["rate"] = json!({"operations_per_s": 100});
    let plan = only(plan(&bench, (2, 2), &[slow]), &["data"]);
    let run = Running(bench.engine(&["run", &bench.write(&plan)]).spawn().unwrap());
    wait_until("files are written", || find_files(&target) >= 4);
    // It may fill the file system to the last byte, or meet the engine on the way.
    let _ = fs::write(target.join("other"), vec![1; 16 << 20]);
    let mut run = run;
    let took = ended(&mut run, Instant::now());
    assert!(took < ENDED, "{took:?}");
    let failure = bench.failure();
    assert_eq!(failure.errno_name.as_deref(), Some("ENOSPC"), "{failure:?}");
    assert!(failure.rank.is_some() && failure.path.is_some(), "{failure:?}");
    assert_eq!(bench.outcome(), Some(Outcome::Failed));
    fs::remove_file(target.join("other")).unwrap();
    nothing_is_left(&bench);
}

/// Processes of one node see a mount of their own become read-only.
#[test]
fn a_target_that_becomes_read_only_ends_the_run() {
    let Some(mpi) = Mpi::debian() else { return };
    let bench = bench_of_two_nodes(mpi, 4);
    let target = bench.path("target");
    let Some(_mount) = Mount::tmpfs(&target, "size=64m") else { return };
    let mut slow = entries("create", json!({"kind": "create", "with": "open", "write_bytes": 10, "fsync": false}));
    slow["jobs"][0]["rate"] = json!({"operations_per_s": 20});
    let plan = only(plan(&bench, (2, 2), &[entries("create-tree", json!({"kind": "create-tree"})), slow]), &["t"]);
    let mut run = Running(bench.engine(&["run", &bench.write(&plan)]).spawn().unwrap());
    wait_until("files are written", || find_files(&target) >= 8);
    let remount =
        |how: &str| Command::new("mount").args(["-o", how]).arg(&target).stderr(Stdio::null()).status().unwrap();
    wait_until("no file is open for writing", || remount("remount,ro").success());
    let took = ended(&mut run, Instant::now());
    assert!(took < ENDED, "{took:?}");
    let failure = bench.failure();
    assert_eq!(
        (failure.errno_name.as_deref(), failure.phase.as_deref()),
        (Some("EROFS"), Some("create")),
        "{failure:?}"
    );
    assert_eq!(bench.phases()[0].name, "create-tree");
    // It could not remove anything, and says so; afterwards it can be cleaned.
    assert_eq!(bench.outcome(), Some(Outcome::Failed));
    remount("remount,rw");
    what_may_be_left_is_cleaned(&bench);
}

fn find_files(directory: &Path) -> usize {
    let entries: Vec<_> = fs::read_dir(directory).map(|entries| entries.flatten().collect()).unwrap_or_default();
    entries.iter().map(|entry| if entry.path().is_dir() { find_files(&entry.path()) } else { 1 }).sum()
}

/// A file system that is there as long as this.
struct Mount(std::path::PathBuf);

impl Mount {
    /// `None`, said aloud, where this user cannot mount.
    fn tmpfs(place: &Path, options: &str) -> Option<Self> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(place).status().unwrap();
        if !mounted.success() {
            skipped("a mount", "it needs root");
            return None;
        }
        Some(Self(place.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Each process would believe that it is alone, and all would measure at once.
#[test]
fn the_launcher_of_another_mpi_is_refused() {
    let (Some(mpich), Some(debian), Some(openmpi)) = (Mpi::mpich(), Mpi::debian(), Mpi::openmpi()) else { return };
    for (launcher, library) in [(mpich, debian), (mpich, openmpi), (debian, mpich), (openmpi, mpich)] {
        let mut bench = bench(launcher, 4);
        bench.options = vec!["--mpi".to_owned(), library.shim.display().to_string()];
        let plan = only(plan(&bench, (1, 4), &[write("data", "never")]), &["data"]);
        let ended = bench.engine(&["run", &bench.write(&plan)]).output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success());
        assert!(errors.contains("nother MPI's launcher") && errors.contains("ioassay mpi list"), "{errors}");
        // MPICH ends processes that it cannot begin in, and nobody is left who could write events.
        assert!(library.is_hydra() || bench.failure().message.contains("MPI sees 1"), "{errors}");
        assert_eq!(bench.phases().len(), 0);
        nothing_is_left(&bench);
    }
}

/// The others wait for it in their MPI, and its launcher would let them.
#[test]
fn a_process_that_mpi_cannot_begin_in_ends_the_others() {
    let Some(mpi) = Mpi::mpich() else { return };
    for in_ranks in [false, true] {
        let mut bench = bench(mpi, 4);
        let broken = "test $PMI_RANK = 2 && export UCX_TLS=nonsense; exec \"$@\"";
        bench.launcher.extend(["sh", "-c", broken, "sh"].map(str::to_owned));
        bench.options.extend(in_ranks.then(|| "--mpi-in-ranks".to_owned()));
        let plan = only(plan(&bench, (1, 4), &[write("data", "never")]), &["data"]);
        let begin = Instant::now();
        let ended = bench.engine(&["run", &bench.write(&plan)]).output().unwrap();
        assert!(begin.elapsed() < ENDED, "{:?}", begin.elapsed());
        let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success() && errors.contains("MPI terminated this process"), "{errors}");
        nothing_is_left(&bench);
    }
}

/// A front end whose results are no longer read, as with `| head`, does not hang.
#[test]
fn standard_output_that_nobody_reads_does_not_stop_a_front_end() {
    let Some(mpi) = Mpi::debian() else { return };
    let bench = bench(mpi, 2);
    let place = bench.path("target/ior").display().to_string();
    let mut run = bench.launched();
    run.args(["ior", "-w", "-t", "64k", "-b", "64k", "-o", &place]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut run = Running(run.spawn().unwrap());
    drop(run.0.stdout.take());
    ended(&mut run, Instant::now());
    nothing_is_left(&bench);
}

#[test]
fn a_rank_that_is_killed_between_cases_is_not_waited_for_by_the_next_one() {
    let Some(mpi) = Mpi::debian() else { return };
    let bench = bench(mpi, 2);
    let place = bench.path("target/ior").display().to_string();
    // Repetitions are cases, and the second one is to meet a rank that is gone.
    let mut run = bench.launched();
    run.args(["ior", "-w", "-t", "64k", "-b", "64k", "-i", "100000", "-d", "1", "-o", &place]);
    let mut run = Running(run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    wait_until("the ranks are at work", || engines(&bench).iter().filter(|engine| engine.is_rank).count() == 2);
    std::thread::sleep(Duration::from_secs(1));
    crate::support::engines::engine(&bench, 1, true).send(Signal::SIGKILL);
    let took = ended(&mut run, Instant::now());
    assert!(took < ENDED, "{took:?}");
    nothing_is_left(&bench);
}
