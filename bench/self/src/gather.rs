//! What it takes to bring what many ranks have measured to the first one and onto disk: nodes and ranks are threads, and everything
//! else is what a launched engine does.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ioassay_engine::case::phase_records::PhaseConditions;
use ioassay_engine::case::rank_report::RankReport;
use ioassay_engine::case::{self, Case};
use ioassay_engine::measure::phase::RankResult;
use ioassay_engine::output::EventLog;
use ioassay_engine::ranks::nodes::threads;
use ioassay_engine::ranks::seating::Seating;
use ioassay_engine::ranks::{Ranks, Start};
use ioassay_engine::storage;
use ioassay_engine::workspace::Workspace;
use ioassay_engine::workspace::contents::Contents;
use ioassay_host::clock::{self, Clock};
use ioassay_protocol::events::{Done, Event, Histogram, RankRecord, Usage};
use ioassay_protocol::plan::data::{Order, Transfer};
use ioassay_protocol::plan::storage::Storage;
use ioassay_protocol::plan::{Operation, Phase, Plan, RankCount, Step};

use crate::{Result, plan, work};

const NODES: u32 = 64;
const RANKS_ON_EACH: u32 = 64;
const SAMPLES: u64 = 600;
const LATENCIES: u64 = 300;

/// Prints how long it takes, and how much memory all of it needs.
pub fn gather() -> Result<()> {
    let ranks = NODES * RANKS_ON_EACH;
    println!(
        "## {ranks} ranks on {NODES} nodes with {SAMPLES} samples each, gathered and written (goal: under 10 s, 1 GiB)\n"
    );
    let scratch = tempfile::tempdir()?;
    let log = scratch.path().join("events.jsonl");
    let (plan, phase) = plan_of(ranks, scratch.path());
    let workspace = Workspace::create(&plan, &Contents::default()).map_err(|failure| failure.message)?;
    let (clock, seating) = (Clock::calibrated(), Seating::dealt(plan.ranks, NODES));
    let case = Case {
        plan: &plan,
        apis: &storage::of_plan,
        workspace: &workspace,
        clock: &clock,
        seating: &seating,
        direct_alignment_bytes: None,
    };
    // Made beforehand: thousands of threads that compute at once would keep those who speak for nodes from their processors.
    let report = |rank| Mutex::new(Some(RankReport::of(0, Operation::Write, result(rank, rank / RANKS_ON_EACH))));
    let reports: Vec<_> = (0..ranks).map(report).collect();
    let before = AtomicU64::new(0);
    let seconds = threads::run(&[RANKS_ON_EACH; NODES as usize], |rank| -> std::result::Result<f64, String> {
        let path = if rank.rank() == 0 { log.as_path() } else { "/dev/null".as_ref() };
        let mut events = EventLog::open(path).map_err(|error| error.to_string())?;
        let stopped = |_| "stopped".to_owned();
        rank.begin_step(0, None).map_err(stopped)?;
        let clocks_before = rank.compare_clocks().map_err(stopped)?;
        let report = reports[rank.rank() as usize].lock().expect("nobody else has it").take();
        rank.wait_for_all().map_err(stopped)?;
        if rank.rank() == 0 {
            before.store(resident_bytes("VmRSS"), Ordering::SeqCst);
        }
        let begin = Instant::now();
        let start = Start { opened_ns: 0, left_ns: 0 };
        let conditions = PhaseConditions {
            started_unix_ns: clock::unix_ns(),
            clocks_before: &clocks_before,
            settled: None,
            node: None,
        };
        case::conclude(&case, (&rank, &mut events), (0, &phase), start, report, conditions).map_err(stopped)?;
        Ok(begin.elapsed().as_secs_f64())
    });
    let seconds = seconds.into_iter().next().expect("there is a first rank")?;
    let more_bytes = resident_bytes("VmHWM").saturating_sub(before.into_inner());
    workspace.remove();
    let text = fs::read_to_string(&log)?;
    let Event::Phase(record) = serde_json::from_str(&text)? else { return Err("no phase was written".into()) };
    assert_eq!(record.ranks.len() as u32, ranks);
    assert!(record.ranks.iter().all(|rank| rank.sample_bytes.len() as u64 == SAMPLES));
    println!("| time | memory of all nodes' threads together, beside what was measured | the event |\n|---|---|---|");
    println!("| **{seconds:.2} s** | {} MiB | {} MiB |\n", more_bytes >> 20, text.len() >> 20);
    Ok(())
}

fn plan_of(ranks: u32, directory: &std::path::Path) -> (Plan, Phase) {
    let works = [work(Transfer::Write, Order::Sequential)];
    let ranks = RankCount { clients: NODES, per_client: ranks / NODES };
    let plan = Plan { ranks, ..plan(Storage::of("null"), directory, 1, 4096 * 1_000_000, &works) };
    let phase =
        plan.steps.iter().find_map(|step| if let Step::Phase(phase) = step { Some(phase.clone()) } else { None });
    (plan, phase.expect("it has one"))
}

/// As a rank that has written for ten minutes, at some gigabytes per second.
fn result(rank: u32, node: u32) -> RankResult {
    let odd = |nth: u64| (u64::from(rank) * 7919 + nth * 104_729) % 1_000_003;
    let sample_bytes: Vec<u64> = (0..SAMPLES).map(|nth| 1_000_000_000 + odd(nth) * 4096).collect();
    let sample_operations: Vec<u64> = sample_bytes.iter().map(|bytes| bytes / 4096).collect();
    let (bytes, operations) = (sample_bytes.iter().sum(), sample_operations.iter().sum());
    let end_ns = SAMPLES * 1_000_000_000 - 1;
    let lowest_ns: Vec<u64> = (0..LATENCIES).map(|nth| 1000 + nth * 100).collect();
    let latencies = Histogram {
        highest_ns: lowest_ns.iter().map(|lowest_ns| lowest_ns + 1).collect(),
        count: (0..LATENCIES).map(odd).collect(),
        lowest_ns,
    };
    let record = RankRecord {
        rank,
        node,
        start_ns: odd(1),
        end_ns,
        open_ns: odd(2),
        fill_ns: 0,
        transfer_ns: end_ns,
        fsync_ns: odd(3),
        close_ns: odd(4),
        bytes,
        operations,
        short_transfers: 0,
        slowest_ns: odd(5),
        at_stonewall: Some(Done { bytes, operations }),
        at_first_finish: None,
        usage: Usage::default(),
        sample_bytes,
        sample_operations,
        suspended: Vec::new(),
        training: None,
        kv_cache: None,
        checkpoints: Vec::new(),
        retries: Default::default(),
        endpoint: None,
    };
    RankResult { record, complete: true, latencies, first_byte: None }
}

/// What the kernel says of this process in proc(5)'s `status`.
fn resident_bytes(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}
