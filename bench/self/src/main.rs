//! Measures the engine's own cost, and prints it with every raw number. `make bench` runs it.
//!
//! 1. What an operation costs with the `null` storage API: the loop, the clock, the histogram and the sample; and with
//!    the plug-in that does nothing either, so that the difference is what the way into a plug-in costs.
//! 2. 4 KiB random reads and writes in memory (tmpfs) against a bare loop of system calls on the same files, at the
//!    same offsets, by the same processes, in alternating pairs: the share of the rate that remains.
//! 3. Create, stat, read and remove of files the same way, by full paths and by names in an open directory.
//! 4. What the recorder costs an application; alone with the argument `recorder`. What rules cost with `rules`, and how
//!    close they are kept with `throttle`, are measured by these arguments alone.
//! 5. What 4,096 ranks on 64 nodes have measured, brought to the first one and written.
//!
//! Ratios, not seconds, are compared: the machine may be shared, but both sides of a pair share it alike. The
//! comparison favours the bare loop: its offsets are computed beforehand and it opens its file before the clock starts.

mod bare;
mod gather;
mod recorder;
mod rules;

use std::path::Path;

use ioassay_engine::case::{self, Case};
use ioassay_engine::compiled::Cache;
use ioassay_engine::output::EventLog;
use ioassay_engine::ranks::local::LocalRank;
use ioassay_engine::ranks::seating::Seating;
use ioassay_engine::ranks::{Ranks, Stopped};
use ioassay_engine::storage::plugin::{self, sources};
use ioassay_engine::workspace::Workspace;
use ioassay_engine::workspace::contents::Contents;
use ioassay_engine::{storage, supervise};
use ioassay_host::clock::Clock;
use ioassay_host::environment;
use ioassay_protocol::VERSION;
use ioassay_protocol::events::{Event, PhaseRecord};
use ioassay_protocol::plan::data::{DataWork, FileSet, Fsync, Layout, Order, Payload, Source, Transfer};
use ioassay_protocol::plan::metadata::{
    CreateWith, EntryOrder, Items, MetadataOperation, MetadataWork, Paths, Sharing, Tree,
};
use ioassay_protocol::plan::storage::{Storage, Target};
use ioassay_protocol::plan::{Job, Phase, Plan, RankCount, Step, Work};

/// Repetitions of the null measurement.
const REPETITIONS: usize = 7;

/// Pairs of each measurement against a bare loop.
const PAIRS: usize = 15;

/// Ranks of these measurements.
const RANKS: u32 = 2;

/// Files of each rank in the measurement of directory entries.
const ITEMS: u64 = 40_000;

/// What each rank moves: 131,072 transfers of 4 KiB.
const RANK_BYTES: u64 = 512 << 20;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--work", work, directory] => return recorder::work(work, Path::new(directory)),
        ["recorder"] => return recorder::recorder(),
        ["rules"] => return rules::cost(),
        ["rules", "paths"] => return rules::paths(),
        ["throttle"] => return rules::throttle(),
        ["--write", directory, number, bytes] => {
            return rules::write(Path::new(directory), number.parse()?, bytes.parse()?);
        }
        _ => {}
    }
    println!("# The engine's own cost\n");
    print_machine();
    // First: the most memory that was needed is known of the whole process only.
    gather::gather()?;
    null()?;
    random_transfers(Transfer::Read)?;
    random_transfers(Transfer::Write)?;
    for paths in [Paths::Full, Paths::At] {
        for bytes in [0, 4096] {
            entries(paths, bytes)?;
        }
    }
    recorder::recorder()
}

fn print_machine() {
    let node = environment::of_this_node(Some(Path::new("/")), &Clock::calibrated());
    let cpu = node.cpu_model.as_deref().unwrap_or("unknown processor");
    println!("{cpu}, {} processors, {}, clock {}\n", node.processors, node.kernel, node.clock.source);
}

/// A plan for 4 KiB transfers, a file per rank.
fn plan(storage: Storage, directory: &Path, ranks: u32, rank_bytes: u64, works: &[DataWork]) -> Plan {
    let set = FileSet {
        layout: Layout::FilePerRank,
        ranks: None,
        files_per_rank: 1,
        transfer_bytes: 4096,
        block_bytes: rank_bytes,
        segments: 1,
        offset_bytes: 0,
        payload: Payload::Repeated {},
    };
    Plan {
        version: VERSION,
        run: format!("bench-{}", std::process::id()),
        case: "c1".into(),
        target: Target::Directory(directory.to_owned()),
        storage,
        ranks: RankCount { clients: ranks, per_client: 1 },
        files: [("data".to_owned(), set)].into(),
        trees: [].into(),
        datasets: [].into(),
        checkpoints: [].into(),
        steps: works.iter().map(phase).collect(),
        seed: 1,
        memory_bytes: 0,
        time_limit_ns: None,
        sample_interval_ns: 1_000_000_000,
    }
}

fn work(transfer: Transfer, order: Order) -> DataWork {
    DataWork {
        files: "data".into(),
        transfer,
        order,
        source: Source::Own,
        fsync: Fsync::Never,
        verify: None,
        size: None,
        lock: None,
        advice: Vec::new(),
        barriers: false,
        piece_bytes: None,
    }
}

fn phase(work: &DataWork) -> Step {
    step("phase", Work::Data(work.clone()))
}

fn step(name: &str, work: Work) -> Step {
    Step::Phase(Phase::new(name, vec![Job::new("job", work)]))
}

/// Runs `body` on forked ranks with a workspace for `plan` under its target; returns the phases that were reported.
fn with_ranks(
    plan: &Plan,
    body: impl Fn(&Case<'_>, &LocalRank<'_>, &mut EventLog) -> std::result::Result<(), Stopped>,
) -> Result<Vec<PhaseRecord>> {
    let scratch = tempfile::tempdir()?;
    let log = scratch.path().join("events.jsonl");
    let mut events = EventLog::open(&log)?;
    let clock = Clock::calibrated();
    let seating = Seating::dealt(plan.ranks, 1);
    let workspace = Workspace::create(plan, &Contents::of(plan)).map_err(|f| f.message)?;
    let case = Case {
        plan,
        apis: &storage::of_plan,
        workspace: &workspace,
        clock: &clock,
        seating: &seating,
        direct_alignment_bytes: None,
    };
    supervise::block_signals()?;
    let ending = supervise::run(plan.ranks.clients, clock, |_| {}, |rank| body(&case, &rank, &mut events))?;
    workspace.remove();
    if let Some(failure) = ending.failure {
        return Err(failure.message.into());
    }
    if ending.signal.is_some() {
        return Err("interrupted".into());
    }
    let phase = |event| if let Event::Phase(record) = event { Some(*record) } else { None };
    let text = std::fs::read_to_string(log)?;
    let events: std::result::Result<Vec<Event>, _> = text.lines().map(serde_json::from_str).collect();
    Ok(events?.into_iter().filter_map(phase).collect())
}

fn null() -> Result<()> {
    println!("## An operation with the null storage API, in ns (goal: under 40)\n");
    println!("| storage API | order | in flight | median | all |\n|---|---|---|---|---|");
    let scratch = tempfile::tempdir()?;
    let storages = [Storage::of("null"), Storage { depth: 32, ..Storage::of("null") }, null_plugin(scratch.path())?];
    for storage in storages {
        for order in [Order::Sequential, Order::Random, Order::RandomWithReplacement] {
            let works = vec![work(Transfer::Read, order); REPETITIONS];
            let plan = plan(storage.clone(), scratch.path(), 1, 4096 * 20_000_000, &works);
            let phases = with_ranks(&plan, |case, rank, events| case::run(case, rank, events))?;
            let ns = |phase: &PhaseRecord| phase.ranks[0].transfer_ns as f64 / phase.operations as f64;
            let mut costs: Vec<f64> = phases.iter().map(ns).collect();
            let all = list(&costs, 1);
            println!("| {} | {order:?} | {} | {:.1} | {all} |", storage.api, storage.depth, median(&mut costs));
        }
    }
    println!();
    Ok(())
}

/// The plug-in that does nothing, compiled into `directory` and loaded.
fn null_plugin(directory: &Path) -> Result<Storage> {
    let shipped = sources::shipped("null-plugin").ok_or("the engine has no such plug-in")?;
    let source = shipped.source(sources::compiler(shipped.compilers));
    let path = source.build(&Cache::in_directory(directory.join("api"))).map_err(|failure| failure.message)?;
    plugin::load(&path).map_err(|unfit| unfit.problem)?;
    Ok(Storage { plugin: Some(path), ..Storage::of("null-plugin") })
}

fn random_transfers(transfer: Transfer) -> Result<()> {
    println!("## 4 KiB random {transfer:?} on tmpfs, {RANKS} ranks, against a bare loop (goal: 0.97 or more)\n");
    let target = tempfile::tempdir_in("/dev/shm")?;
    let random = work(transfer, Order::Random);
    // The first phase fills the files, and the second warms up.
    let works = [work(Transfer::Write, Order::Sequential), random.clone()];
    let plan = plan(Storage::of("posix"), target.path(), RANKS, RANK_BYTES, &works);
    let bare_results = target.path().join("bare");
    let phases = with_ranks(&plan, |case, rank, events| {
        case::run(case, rank, events)?;
        let bare = bare::data::Loop::new(case, &random, 1, rank.rank());
        bare.run(case, rank, &bare_results)?;
        for pair in 0..PAIRS {
            // Which one goes first alternates, so that a drift of the machine favours neither.
            if pair % 2 == 0 {
                case::run_steps(case, rank, events, 1..2)?;
                bare.run(case, rank, &bare_results)?;
            } else {
                bare.run(case, rank, &bare_results)?;
                case::run_steps(case, rank, events, 1..2)?;
            }
        }
        Ok(())
    })?;
    let rate = |phase: &PhaseRecord| phase.operations as f64 / phase.duration_ns as f64 * 1e9;
    let ours: Vec<f64> = phases.iter().skip(2).map(rate).collect();
    let bare: Vec<f64> = bare::results(&bare_results, "transfer")?.into_iter().skip(1).collect();
    let mut ratios: Vec<f64> = ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect();
    println!("| | operations/s, each of {PAIRS} pairs |\n|---|---|");
    println!("| ioassay | {} |\n| bare loop | {} |", list(&ours, 0), list(&bare, 0));
    println!("| ratio | {} |\n", list(&ratios, 3));
    println!("Median of the ratios: **{:.3}**\n", median(&mut ratios));
    Ok(())
}

fn entries(paths: Paths, bytes: u64) -> Result<()> {
    println!(
        "## Files of {bytes} bytes on tmpfs, {RANKS} ranks, {paths:?} paths, against a bare loop with full paths\n"
    );
    let target = tempfile::tempdir_in("/dev/shm")?;
    let tree = Tree {
        ranks: None,
        sharing: Sharing::Unique,
        depth: 0,
        branch: 1,
        items_per_directory: ITEMS,
        leaves_only: false,
        items: Items::Files,
        displaced: 0,
        names: Default::default(),
        payload: None,
    };
    let operations = [
        ("create-tree", MetadataOperation::CreateTree {}),
        ("create", MetadataOperation::Create { with: CreateWith::Open, write_bytes: bytes, fsync: false }),
        ("stat", MetadataOperation::Stat {}),
        ("read", MetadataOperation::Read { bytes }),
        ("remove", MetadataOperation::Remove {}),
        ("remove-tree", MetadataOperation::RemoveTree {}),
    ];
    let order = EntryOrder::Sequential;
    let work = |operation| {
        let (tree, verify, sync_at_end) = ("t".into(), false, false);
        Work::Metadata(MetadataWork { tree, operation, order, shift: 0, paths, verify, sync_at_end })
    };
    let mut plan = plan(Storage::of("posix"), target.path(), RANKS, 4096, &[]);
    plan.files.clear();
    plan.trees.insert("t".into(), tree);
    plan.steps = operations.into_iter().map(|(name, operation)| step(name, work(operation))).collect();
    let bare_results = target.path().join("bare");
    let phases = with_ranks(&plan, |case, rank, events| {
        // In the workspace beside the tree `c1.t`: as many directories to walk through, with names as long.
        let base = case.workspace.file(&format!("c1.{}", rank.rank()));
        let bare = bare::entries::Loop::new(&base, rank.rank(), ITEMS, bytes as usize);
        for pair in 0..=PAIRS {
            if pair % 2 == 0 {
                case::run(case, rank, events)?;
                bare.run(case, rank, &bare_results)?;
            } else {
                bare.run(case, rank, &bare_results)?;
                case::run(case, rank, events)?;
            }
        }
        std::fs::remove_dir(&base).expect("an empty directory");
        Ok(())
    })?;
    println!(
        "| operation | ioassay, operations/s | bare loop | ratios | median of the ratios |\n|---|---|---|---|---|"
    );
    for name in bare::entries::OPERATIONS {
        let rate = |phase: &PhaseRecord| phase.operations as f64 / phase.duration_ns as f64 * 1e9;
        let mut ours: Vec<f64> = phases.iter().filter(|phase| phase.name == name).skip(1).map(rate).collect();
        let mut bare: Vec<f64> = bare::results(&bare_results, name)?.into_iter().skip(1).collect();
        let mut ratios: Vec<f64> = ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect();
        let all = list(&ratios, 3);
        let [ours, bare, ratio] = [&mut ours, &mut bare, &mut ratios].map(|values| median(values));
        println!("| {name} | {ours:.0} | {bare:.0} | {all} | **{ratio:.3}** |");
    }
    println!();
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn list(values: &[f64], decimals: usize) -> String {
    values.iter().map(|value| format!("{value:.decimals$}")).collect::<Vec<_>>().join(" ")
}
