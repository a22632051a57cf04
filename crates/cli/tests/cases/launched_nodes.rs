//! The engine as launchers of MPI and Slurm start it on several hosts with links of their own: the lab `nodes`, four nodes of a
//! Slurm cluster with GlusterFS. What one machine is enough for is in `launched.rs`.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::support::check_sums;
use crate::support::engines::{all_have_ended, engine, engines};
use crate::support::lab::Lab;
use crate::support::mpi::Mpi;
use crate::support::process::{
    Bench, Running, children, ended, entries, only, pause, read, set, start_waiting, wait_until, write,
};
use ioassay_host::clock::unix_ns;
use ioassay_protocol::events::Outcome;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// In this a run is to be ended that something has happened to, on a busy machine too. An engine that waited for its launcher
/// would take minutes.
const ENDED: Duration = Duration::from_secs(30);

const HOSTS: [&str; 4] = ["client1", "client2", "client3", "client4"];

/// An empty directory of GlusterFS on four hosts, which only one test has at a time.
struct Nodes {
    lab: &'static Lab,
    name: String,
    _alone: MutexGuard<'static, ()>,
}

impl Nodes {
    fn get() -> Option<Self> {
        static ALONE: Mutex<()> = Mutex::new(());
        static PLACES: AtomicU32 = AtomicU32::new(0);
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("place{}", PLACES.fetch_add(1, Ordering::Relaxed));
        let nodes = Self { lab: Lab::get("nodes")?, name, _alone: alone };
        fs::create_dir(nodes.seen_by("client1")).unwrap();
        Some(nodes)
    }

    /// The directory as the engine names it.
    fn target(&self) -> String {
        format!("{}/{}", self.lab.place(), self.name)
    }

    /// The directory as a host has it mounted.
    fn seen_by(&self, host: &str) -> PathBuf {
        let root = format!("/proc/{}/root", self.lab.pids[host]);
        PathBuf::from(root + &self.target())
    }

    /// Two ranks on each host, started by `mpirun` from the first one.
    fn by_mpirun(&self, mpi: &Mpi) -> Bench {
        let bench = Bench::new();
        let launcher = mpi.launcher_over(&HOSTS, &bench.path("hosts"));
        Bench { launcher: [self.lab.enter("client1"), launcher].concat(), ..self.with(mpi, bench) }
    }

    /// The same by `srun`.
    fn by_srun(&self, mpi: &Mpi, how: &str) -> Bench {
        let srun = ["srun", how, "--nodes=4", "--ntasks-per-node=2", "--distribution=cyclic", "--job-name"];
        let bench = Bench::new();
        let job_name = bench.root.path().file_name().unwrap().to_str().unwrap().to_owned();
        let launcher = [self.lab.enter("client1"), srun.map(str::to_owned).to_vec(), vec![job_name]].concat();
        Bench { launcher, ..self.with(mpi, bench) }
    }

    fn with(&self, mpi: &Mpi, bench: Bench) -> Bench {
        let options = vec!["--mpi".to_owned(), mpi.shim.display().to_string()];
        Bench { options, environment: mpi.environment(&bench), ..bench }
    }

    fn plan(&self, steps: &[Value], used: &[&str]) -> Value {
        let mut shared = set(4096, 16384, 1);
        shared["layout"] = json!("N-1");
        let plan = json!({
            "version": 2, "run": "r1", "case": "c1", "target": {"directory": self.target()},
            "storage": {"api": "posix"}, "ranks": {"clients": 4, "per_client": 2},
            "files": {"data": set(4096, 65536, 1), "shared": shared},
            "trees": {"t": {
                "sharing": "unique", "depth": 1, "branch": 2, "items_per_directory": 3, "leaves_only": false,
                "items": "files",
            }},
            "steps": steps, "seed": 1, "sample_interval_ns": 100_000_000,
        });
        only(plan, used)
    }

    /// Nothing of `bench` is left, on the target or of any process.
    fn nothing_is_left(&self, bench: &Bench) {
        all_have_ended(bench);
        wait_until("the target is empty", || fs::read_dir(self.seen_by("client1")).unwrap().count() == 0);
    }

    /// No file of the run is left once it has been cleaned, from the first host.
    fn can_be_cleaned(&self, bench: &Bench) {
        all_have_ended(bench);
        let clean = Bench { launcher: self.lab.enter("client1"), ..Bench::new() };
        let cleaned = clean.ran(&["clean", &bench.started().workspace]);
        assert_eq!(cleaned.code, 0, "{}", cleaned.stderr);
        self.nothing_is_left(bench);
    }

    /// Ends the launcher, of which what was started here is only the one who waits for it.
    fn end_launcher(&self, run: &mut Running) {
        if run.0.try_wait().unwrap().is_none() {
            for pid in children(run.0.id()) {
                // It may have ended by itself.
                let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
            }
        }
        ended(run, Instant::now());
    }

    /// The number that Slurm has given to the job of `bench`.
    fn job(&self, bench: &Bench) -> String {
        let name = format!("--name={}", bench.root.path().file_name().unwrap().to_str().unwrap());
        self.lab.run(&["squeue", "--noheader", "--format=%i", &name]).trim().to_owned()
    }
}

/// Writing that takes a day.
fn endless() -> Value {
    let mut phase = write("data", "never");
    phase["jobs"][0]["limit"] = json!({"minimum_ns": 86_400_000_000_000_u64});
    phase["jobs"][0]["rate"] = json!({"operations_per_s": 400});
    phase["name"] = json!("endless");
    phase
}

/// Everything that ranks of several nodes do together, verified.
fn everything(nodes: &Nodes, bench: &Bench) {
    let operations = [
        write("data", "at-close"),
        write("shared", "never"),
        read("data"),
        read("shared"),
        entries("create-tree", json!({"kind": "create-tree"})),
        entries("create", json!({"kind": "create", "with": "open", "write_bytes": 10, "fsync": false})),
        json!({
            "step": "phase", "name": "find",
            "jobs": [{"name": "j", "work": {"kind": "find", "tree": "t", "name": "*"}}],
        }),
        entries("remove", json!({"kind": "remove"})),
        entries("remove-tree", json!({"kind": "remove-tree"})),
    ];
    let ran = bench.run(&nodes.plan(&operations, &["data", "shared", "t"]));
    ran.complete();
    let hosts: Vec<String> = bench.started().nodes.into_iter().map(|node| node.host).collect();
    assert_eq!(hosts, HOSTS);
    assert_eq!(ran.phases().len(), 9);
    for record in ran.phases() {
        check_sums(record);
        let seats: Vec<u32> = record.ranks.iter().map(|rank| rank.node).collect();
        assert_eq!(seats, [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(record.clocks.len(), 4);
        for clock in &record.clocks {
            // Hosts of one machine have one clock, calibrated by each on its own.
            assert!(clock.offset_ns.unsigned_abs() <= clock.uncertainty_ns + 100_000, "{clock:?}");
        }
    }
    let files = 8 * 3 * 3;
    assert_eq!(ran.phases()[6].matched, Some(files + 8 * 3), "files, and the directories of each rank's tree");
    nodes.nothing_is_left(bench);
}

/// A host that is cut off as long as this.
struct Cut(&'static Lab);

impl Cut {
    const HOST: &str = "client3";

    fn off(lab: &'static Lab) -> Self {
        lab.cut(Self::HOST);
        Self(lab)
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        self.0.heal(Self::HOST);
    }
}

/// A host is cut off while `steps` run. The engine ends the run and all that it can reach of itself; its launcher may wait for
/// the lost host for minutes, and the process that started it need not: the engine has written `finished`.
fn cut_off(nodes: &Nodes, bench: &Bench, steps: &[Value]) {
    let mut run = start_waiting(bench, &nodes.plan(steps, &["data"]));
    wait_until("all ranks are there", || engines(bench).len() == 16);
    let cut_unix_ns = unix_ns();
    let cut = Cut::off(nodes.lab);
    wait_until("the engine has ended the run", || bench.finished().is_some());
    let took = Duration::from_nanos(bench.finished().unwrap().unix_ns - cut_unix_ns);
    println!("{}: ended {took:?} after the cut", bench.launcher.join(" "));
    assert!(took < ENDED, "{took:?}");
    wait_until("the engine has ended on all other hosts", || {
        engines(bench).iter().all(|engine| engine.host() == Cut::HOST)
    });
    nodes.end_launcher(&mut run);
    drop(cut);
    assert_eq!(bench.outcome(), Some(Outcome::Failed));
    let failure = bench.failure();
    assert!(failure.message.contains("no heartbeat from client3 for 5 s"), "{}", failure.message);
    assert!(failure.remedy.contains("network"), "{}", failure.remedy);
    // What had ended before is kept.
    assert_eq!(bench.phases()[0].name, "write-data");
    assert!(bench.phases()[0].complete);
    nodes.can_be_cleaned(bench);
}

macro_rules! with {
    ($nodes:ident, $mpi:ident = $($which:tt)*) => {
        let Some($mpi) = $($which)* else { return };
        let Some($nodes) = Nodes::get() else { return };
    };
}

#[test]
fn four_nodes_do_everything_together_under_debians_open_mpi() {
    with!(nodes, mpi = Mpi::debian());
    everything(&nodes, &nodes.by_mpirun(mpi));
}

#[test]
fn four_nodes_do_everything_together_under_mpich() {
    with!(nodes, mpi = Mpi::mpich());
    everything(&nodes, &nodes.by_mpirun(mpi));
}

#[test]
fn four_nodes_do_everything_together_under_open_mpi_5() {
    with!(nodes, mpi = Mpi::openmpi());
    everything(&nodes, &nodes.by_mpirun(mpi));
}

#[test]
fn four_nodes_do_everything_together_under_slurm_with_pmix() {
    with!(nodes, mpi = Mpi::debian());
    everything(&nodes, &nodes.by_srun(mpi, "--mpi=pmix"));
}

#[test]
fn four_nodes_do_everything_together_under_slurm_with_pmi2() {
    with!(nodes, mpi = Mpi::mpich());
    everything(&nodes, &nodes.by_srun(mpi, "--mpi=pmi2"));
}

/// ROMIO rather than Open MPI's own MPI-IO, which has a lock file beside each shared one. A client that remembers the
/// name of the one before, as clients of GlusterFS do for a second, cannot open it, and all then wait for each other
/// for ever.
const ROMIO: (&str, &str) = ("OMPI_MCA_io", "^ompio");

/// Files of each rank's own, and one that all four nodes share, by independent and by collective transfers.
fn plug_in(name: &str) {
    with!(nodes, mpi = Mpi::debian());
    let Some(library) = crate::support::plug_ins::shipped(name) else { return };
    let mut bench = nodes.by_mpirun(mpi);
    bench.options.push("--mpi-in-ranks".to_owned());
    bench.environment.push((ROMIO.0, ROMIO.1.to_owned()));
    let steps = [write("data", "at-close"), read("data"), write("shared", "at-close"), read("shared")];
    for collective in ["no", "yes"] {
        let mut plan = nodes.plan(&steps, &["data", "shared"]);
        plan["storage"] = json!({"api": name, "plugin": library, "options": {"collective": collective}});
        let ran = bench.run(&plan);
        ran.complete();
        for (record, bytes) in ran.phases().iter().zip([65536, 65536, 16384, 16384]) {
            assert_eq!((record.bytes, record.ranks.len()), (8 * bytes, 8), "{name} {collective} {}", record.name);
            assert_eq!(record.ranks.last().map(|rank| rank.node), Some(3));
        }
        nodes.nothing_is_left(&bench);
    }
}

#[test]
fn four_nodes_share_files_over_mpi_io() {
    plug_in("mpiio");
}

#[test]
fn four_nodes_share_files_over_hdf5() {
    plug_in("hdf5");
}

#[test]
fn four_nodes_share_files_over_pnetcdf() {
    plug_in("pnetcdf");
}

#[test]
fn slurms_type_of_another_mpi_is_refused() {
    with!(nodes, mpi = Mpi::mpich());
    let bench = nodes.by_srun(mpi, "--mpi=none");
    let ran = bench.run(&nodes.plan(&[write("data", "never")], &["data"]));
    assert_ne!(ran.code, 0);
    assert!(ran.failure().message.contains("SLURM_STEP_NUM_TASKS"), "{}", ran.failure().message);
    assert!(ran.failure().remedy.contains("srun --mpi=list"), "{}", ran.failure().remedy);
    nodes.nothing_is_left(&bench);
}

#[test]
fn a_node_that_is_cut_off_during_a_phase_ends_the_run_under_debians_open_mpi() {
    with!(nodes, mpi = Mpi::debian());
    cut_off(&nodes, &nodes.by_mpirun(mpi), &[write("data", "never"), endless()]);
}

#[test]
fn a_node_that_is_cut_off_during_a_pause_ends_the_run_under_debians_open_mpi() {
    with!(nodes, mpi = Mpi::debian());
    cut_off(&nodes, &nodes.by_mpirun(mpi), &[write("data", "never"), pause()]);
}

#[test]
fn a_node_that_is_cut_off_ends_the_run_under_mpich() {
    with!(nodes, mpi = Mpi::mpich());
    cut_off(&nodes, &nodes.by_mpirun(mpi), &[write("data", "never"), pause()]);
}

#[test]
fn a_node_that_is_cut_off_ends_the_run_under_open_mpi_5() {
    with!(nodes, mpi = Mpi::openmpi());
    cut_off(&nodes, &nodes.by_mpirun(mpi), &[write("data", "never"), pause()]);
}

#[test]
fn a_killed_rank_of_another_node_is_named() {
    with!(nodes, mpi = Mpi::debian());
    let bench = nodes.by_mpirun(mpi);
    let mut run = start_waiting(&bench, &nodes.plan(&[write("data", "never"), pause()], &["data"]));
    let begin = Instant::now();
    // Distributed round-robin: the launcher's number 6 is the second one on the third host.
    engine(&bench, 6, true).send(Signal::SIGKILL);
    let took = ended(&mut run, begin);
    assert!(took < ENDED, "{took:?}");
    let failure = bench.failure();
    assert_eq!(failure.rank, Some(5), "{failure:?}");
    assert!(failure.message.contains("on client3 was killed by SIGKILL"), "{}", failure.message);
    nodes.nothing_is_left(&bench);
}

#[test]
fn a_killed_mpirun_ends_the_run_on_all_nodes() {
    with!(nodes, mpi = Mpi::debian());
    let bench = nodes.by_mpirun(mpi);
    let mut run = start_waiting(&bench, &nodes.plan(&[write("data", "never"), pause()], &["data"]));
    let begin = Instant::now();
    nodes.end_launcher(&mut run);
    all_have_ended(&bench);
    let took = begin.elapsed();
    assert!(took < ENDED, "{took:?}");
    assert_ne!(bench.outcome(), Some(Outcome::Complete));
    nodes.can_be_cleaned(&bench);
}

#[test]
fn a_cancelled_job_of_slurm_ends_in_order_and_removes_its_files() {
    with!(nodes, mpi = Mpi::mpich());
    let bench = nodes.by_srun(mpi, "--mpi=pmi2");
    let mut run = start_waiting(&bench, &nodes.plan(&[write("data", "never"), pause()], &["data"]));
    let begin = Instant::now();
    nodes.lab.run(&["scancel", &nodes.job(&bench)]);
    let took = ended(&mut run, begin);
    assert!(took < 2 * ENDED, "{took:?}");
    assert_eq!(bench.outcome(), Some(Outcome::Interrupted));
    assert_eq!(bench.finished().unwrap().signal.as_deref(), Some("SIGTERM"));
    assert_eq!(bench.phases().len(), 1);
    nodes.nothing_is_left(&bench);
}

/// The mount of one host stops answering, as where a server hangs. Its ranks hang in it, and may not even be killed before it
/// answers again.
#[test]
fn a_hanging_mount_is_reported_with_rank_call_and_path_at_the_time_limit() {
    with!(nodes, mpi = Mpi::debian());
    let bench = nodes.by_mpirun(mpi);
    // The first phase, with nothing that hangs, must end within it on a busy machine as well.
    let limit = Duration::from_secs(12);
    let mut short = endless();
    // The other hosts have done what they are to do long before.
    short["jobs"][0]["limit"] = json!({"minimum_ns": 1_000_000_000});
    let mut plan = nodes.plan(&[write("data", "never"), short], &["data"]);
    plan["time_limit_ns"] = json!(limit.as_nanos() as u64);
    let mut run = start_waiting(&bench, &plan);
    let begin = Instant::now();
    let hanging = Stopped::process(nodes.lab.process("client2", "glusterfs"));
    wait_until("the engine has ended the run", || bench.finished().is_some());
    let took = begin.elapsed();
    wait_until("the engine has ended on all other hosts", || {
        engines(&bench).iter().all(|engine| engine.host() == "client2")
    });
    let all_took = begin.elapsed();
    println!("ended {took:?} after the mount hung with a limit of {limit:?}, on the other hosts {all_took:?}");
    assert!(took < limit + ENDED, "{took:?}");
    drop(hanging);
    nodes.end_launcher(&mut run);
    let failure = bench.failure();
    println!("{}", failure.message);
    assert!(matches!(failure.rank, Some(2 | 3)), "{failure:?}");
    assert!(failure.message.contains("the time limit of 12"), "{}", failure.message);
    assert!(failure.path.unwrap().contains("ioassay-r1"));
    assert_eq!(bench.outcome(), Some(Outcome::Failed));
    assert_eq!(bench.phases()[0].name, "write-data");
    nodes.can_be_cleaned(&bench);
}

/// A process that does nothing as long as this.
struct Stopped(Pid);

impl Stopped {
    fn process(pid: Pid) -> Self {
        kill(pid, Signal::SIGSTOP).unwrap();
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill(self.0, Signal::SIGCONT);
    }
}

/// Nothing hangs: a phase that takes too long has ranks on all nodes that compute, or are in some call of the moment.
#[test]
fn a_phase_that_takes_longer_than_its_limit_is_ended() {
    with!(nodes, mpi = Mpi::mpich());
    let bench = nodes.by_mpirun(mpi);
    let mut plan = nodes.plan(&[endless()], &["data"]);
    plan["time_limit_ns"] = json!(1_000_000_000_u64);
    let ran = bench.run(&plan);
    assert_ne!(ran.code, 0);
    assert!(ran.failure().message.contains("the time limit of 1"), "{}", ran.failure().message);
    // What was done until then is reported, as incomplete.
    assert!(ran.phases().iter().all(|record| !record.complete));
    nodes.nothing_is_left(&bench);
}

/// Hydra waits for a lost node for minutes, and nobody stands by who would end it.
#[test]
fn a_front_end_names_the_node_that_is_cut_off_and_ends_with_its_launcher() {
    with!(nodes, mpi = Mpi::mpich());
    let bench = nodes.by_mpirun(mpi);
    let file = format!("{}/ior", nodes.target());
    let mut ior = bench.launched();
    ior.args(["ior", "-w", "-F", "-t", "8", "-b", "512m", "-o", &file]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = Running(ior.spawn().unwrap());
    wait_until("all ranks write", || fs::read_dir(nodes.seen_by("client1")).unwrap().count() == 8);
    let cut = Cut::off(nodes.lab);
    let took = ended(&mut run, Instant::now());
    println!("ended {took:?} after the cut");
    drop(cut);
    let mut errors = String::new();
    run.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(errors.contains("no heartbeat from client3 for 5 s"), "{errors}");
    // Before, it was minutes; a busy machine needs more than the ten seconds of an idle one.
    assert!(took < 3 * ENDED, "{took:?}");
    wait_until("all processes have ended", || engines(&bench).is_empty());
}

/// Who starts a front end by Slurm need not tell it anything.
#[test]
fn a_front_end_finds_out_that_srun_has_started_it() {
    with!(nodes, mpi = Mpi::mpich());
    let bench = nodes.by_srun(mpi, "--mpi=pmi2");
    let file = format!("{}/ior", nodes.target());
    let mut ior = bench.launched();
    let ran = ior.args(["ior", "-w", "-r", "-F", "-C", "-t", "64k", "-b", "128k", "-o", &file]).output().unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{printed}{}", String::from_utf8_lossy(&ran.stderr));
    let shown = |key: &str| printed.lines().find(|line| line.starts_with(key)).and_then(|line| line.split(':').nth(1));
    assert_eq!([shown("nodes"), shown("tasks")].map(|value| value.unwrap().trim()), ["4", "8"], "{printed}");
}
