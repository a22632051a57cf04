//! A whole case on storage that watches, misbehaves or fails: ranks are threads here, everything else is real.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ioassay_contract::events::{Event, PhaseRecord};
use ioassay_contract::plan::{
    CacheMethod, DataSet, Fsync, Layout, Operation, Order, Phase, Plan, RankCount, Step, Storage, Target,
};
use ioassay_engine::case::{self, Case};
use ioassay_engine::environment;
use ioassay_engine::measure::clock::Clock;
use ioassay_engine::output::EventLog;
use ioassay_engine::plan::{Sizes, validate};
use ioassay_engine::ranks::local::MeetingPlace;
use ioassay_engine::storage::{Access, Capabilities, OpenFile, StorageApi};
use ioassay_engine::workspace::Workspace;
use proptest::prelude::*;

fn phase(operation: Operation, order: Order) -> Step {
    let name = match operation {
        Operation::Write => "write",
        Operation::Read => "read",
    };
    Step::Phase(Phase { name: name.into(), operation, order, fsync: Fsync::AtEnd })
}

fn plan(data: DataSet, ranks: u32, order: Order) -> Plan {
    let plan = Plan {
        version: ioassay_contract::VERSION,
        run: "r1".into(),
        case: "c1".into(),
        target: Target { directory: "/".into() },
        storage: Storage { api: "posix".into() },
        ranks: RankCount { clients: ranks, per_client: 1 },
        data,
        steps: vec![phase(Operation::Write, order), phase(Operation::Read, order)],
        seed: 7,
        sample_interval_ns: 1_000_000,
    };
    validate(&plan).unwrap();
    plan
}

/// Runs the case on `storage`, a thread per rank, and returns what rank 0 reported.
fn run(plan: &Plan, storage: &dyn StorageApi) -> (Vec<Event>, MeetingPlace) {
    let target = tempfile::tempdir().unwrap();
    let log = target.path().join("events.jsonl");
    let workspace = Workspace::create(target.path(), &plan.run, &[]).unwrap();
    let clock = Clock::calibrated();
    let nodes = [environment::of_this_node(target.path(), &clock)];
    let place = MeetingPlace::new(plan.rank_count(), clock).unwrap();
    let case = Case { plan, storage, workspace: &workspace, clock: &clock, nodes: &nodes };
    std::thread::scope(|scope| {
        for rank in 0..plan.rank_count() {
            let (case, place, log) = (&case, &place, &log);
            scope.spawn(move || case::run(case, &place.rank(rank), &mut EventLog::open(log).unwrap()));
        }
    });
    let text = std::fs::read_to_string(&log).unwrap();
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), place)
}

fn phases(events: &[Event]) -> Vec<&PhaseRecord> {
    events.iter().filter_map(|event| if let Event::Phase(record) = event { Some(&**record) } else { None }).collect()
}

fn kinds(record: &PhaseRecord) -> Vec<String> {
    let kind = |doubt| serde_json::to_value(doubt).unwrap()["kind"].as_str().unwrap().to_owned();
    record.doubts.iter().map(kind).collect()
}

/// Which operation, on which file, at which offset, of how many bytes.
type Call = (Access, PathBuf, u64, u64);

/// Storage that keeps nothing but the list of calls, and does to each call what `answer` says.
struct Watched {
    calls: Mutex<Vec<Call>>,
    answer: fn(call: u64, bytes: usize) -> io::Result<usize>,
    sync: fn() -> io::Result<()>,
}

impl Watched {
    fn obedient() -> Self {
        Self { calls: Mutex::default(), answer: |_, bytes| Ok(bytes), sync: || Ok(()) }
    }
}

struct WatchedFile {
    storage: &'static Watched,
    path: PathBuf,
    calls: u64,
}

impl StorageApi for &'static Watched {
    fn name(&self) -> &'static str {
        "watched"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { files: false, shared_files: true }
    }

    fn open(&self, path: &Path, _access: Access) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(WatchedFile { storage: self, path: path.to_owned(), calls: 0 }))
    }
}

impl WatchedFile {
    fn call(&mut self, access: Access, offset: u64, bytes: usize) -> io::Result<usize> {
        self.calls += 1;
        let moved = (self.storage.answer)(self.calls, bytes)?;
        self.storage.calls.lock().unwrap().push((access, self.path.clone(), offset, moved as u64));
        Ok(moved)
    }
}

impl OpenFile for WatchedFile {
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize> {
        self.call(Access::Write, offset, data.len())
    }

    fn read_at(&mut self, data: &mut [u8], offset: u64) -> io::Result<usize> {
        self.call(Access::Read, offset, data.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        (self.storage.sync)()
    }

    fn still_there(&self) -> io::Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

fn leak(storage: Watched) -> &'static Watched {
    Box::leak(Box::new(storage))
}

/// How often each byte of each file was touched by `access`.
fn coverage(storage: &Watched, access: Access) -> HashMap<PathBuf, Vec<u32>> {
    let mut covered: HashMap<PathBuf, Vec<u32>> = HashMap::new();
    for (kind, path, offset, bytes) in storage.calls.lock().unwrap().iter() {
        if *kind == access {
            let file = covered.entry(path.clone()).or_default();
            let end = (offset + bytes) as usize;
            file.resize(file.len().max(end), 0);
            file[*offset as usize..end].iter_mut().for_each(|times| *times += 1);
        }
    }
    covered
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_byte_is_written_and_read_exactly_once_and_all_sums_agree(
        shared: bool, random: bool, transfer in 1..600_u64, per_block in 1..8_u64, segments in 1..4_u64,
        ranks in 1..5_u32,
    ) {
        let layout = if shared { Layout::SharedFile } else { Layout::FilePerRank };
        let order = if random { Order::Random } else { Order::Sequential };
        let data = DataSet { layout, transfer_bytes: transfer, block_bytes: transfer * per_block, segments };
        let plan = plan(data, ranks, order);
        let storage = leak(Watched::obedient());
        let (events, _) = run(&plan, &storage);

        for access in [Access::Write, Access::Read] {
            let covered = coverage(storage, access);
            prop_assert_eq!(covered.len() as u64, plan.files());
            for file in covered.values() {
                prop_assert_eq!(file.len() as u64, plan.file_set_bytes() / plan.files());
                prop_assert!(file.iter().all(|&times| times == 1));
            }
        }
        let phases = phases(&events);
        prop_assert_eq!(phases.len(), 2);
        for phase in phases {
            prop_assert!(phase.complete);
            prop_assert_eq!(phase.bytes, plan.file_set_bytes());
            let sum = |of: fn(&ioassay_contract::events::RankRecord) -> u64| phase.ranks.iter().map(of).sum::<u64>();
            prop_assert_eq!(phase.bytes, sum(|rank| rank.bytes));
            prop_assert_eq!(phase.bytes, sum(|rank| rank.sample_bytes.iter().sum()));
            prop_assert_eq!(phase.operations, sum(|rank| rank.sample_operations.iter().sum()));
            prop_assert_eq!(phase.operations, phase.latencies.count.iter().sum::<u64>());
            prop_assert_eq!(phase.duration_ns, phase.ranks.iter().map(|rank| rank.end_ns).max().unwrap());
            prop_assert!(phase.first_finished_ns <= phase.duration_ns);
            prop_assert!(phase.first_finished_bytes <= phase.bytes);
        }
    }
}

const SMALL: DataSet = DataSet { layout: Layout::FilePerRank, transfer_bytes: 100, block_bytes: 1000, segments: 1 };

#[test]
fn short_transfers_and_interrupted_calls_are_repeated_and_counted() {
    let halves = Watched {
        answer: |call, bytes| match call % 3 {
            0 => Err(io::ErrorKind::Interrupted.into()),
            1 => Ok(bytes.div_ceil(2)),
            _ => Ok(bytes),
        },
        ..Watched::obedient()
    };
    let storage = leak(halves);
    let (events, _) = run(&plan(SMALL, 2, Order::Sequential), &storage);
    for file in coverage(storage, Access::Write).values() {
        assert!(file.len() == 1000 && file.iter().all(|&times| times == 1));
    }
    let write = phases(&events)[0];
    assert!(write.complete && write.operations == 20, "an operation is a whole transfer");
    assert!(write.ranks.iter().all(|rank| rank.short_transfers > 0));
    assert!(kinds(write).contains(&"short-transfers".to_owned()));
}

#[test]
fn an_input_output_error_ends_the_phase_for_all_ranks_and_names_rank_operation_path_and_errno() {
    let broken = Watched {
        answer: |call, bytes| {
            if call == 4 { Err(io::Error::from_raw_os_error(libc::EIO)) } else { Ok(bytes) }
        },
        ..Watched::obedient()
    };
    let (events, place) = run(&plan(SMALL, 3, Order::Sequential), &leak(broken));
    let failure = place.failure().unwrap();
    assert_eq!((failure.operation.as_str(), failure.errno_name.as_deref()), ("write", Some("EIO")));
    let rank = failure.rank.unwrap();
    assert!(failure.path.unwrap().ends_with(&format!("c1.data.{rank:08}")));
    assert!(failure.message.starts_with(&format!("rank {rank}, write: write /")));
    let phases = phases(&events);
    assert_eq!(phases.len(), 1, "no phase follows a failed one");
    assert!(!phases[0].complete && phases[0].doubts[0].invalidates);
    assert_eq!(kinds(phases[0])[0], "failed");
    assert_eq!(phases[0].ranks.len(), 3, "what was measured until then is kept");
}

/// IOR prints a warning here and goes on to print a rate.
#[test]
fn a_failed_fsync_fails_the_phase() {
    let lying = Watched { sync: || Err(io::Error::from_raw_os_error(libc::EDQUOT)), ..Watched::obedient() };
    let (events, place) = run(&plan(SMALL, 1, Order::Sequential), &leak(lying));
    assert!(!phases(&events)[0].complete);
    let failure = place.failure().unwrap();
    assert_eq!((failure.operation.as_str(), failure.errno_name.as_deref()), ("fsync", Some("EDQUOT")));
}

#[test]
fn a_file_that_ends_too_early_is_an_error_and_not_a_fast_read() {
    // The write is one call per transfer; the read meets the end of the file in its second transfer.
    let truncated = Watched { answer: |call, bytes| if call == 2 { Ok(0) } else { Ok(bytes) }, ..Watched::obedient() };
    let (_, place) = run(&plan(SMALL, 1, Order::Sequential), &leak(truncated));
    assert!(place.failure().unwrap().message.contains("ends at byte 100"));
}

#[test]
fn reads_move_on_by_one_rank_where_no_other_way_empties_the_cache() {
    let mut plan = plan(SMALL, 3, Order::Sequential);
    plan.steps.insert(1, Step::ColdCache { attempts: vec![CacheMethod::ReadOtherRank] });
    let storage = leak(Watched::obedient());
    let (events, _) = run(&plan, &storage);
    let cold = events.iter().find_map(|event| if let Event::ColdCache(cold) = event { Some(cold) } else { None });
    assert_eq!(cold.unwrap().reads_shifted_by_ranks, 1);
    // Still every byte exactly once.
    assert!(coverage(storage, Access::Read).values().all(|file| file.iter().all(|&times| times == 1)));
}

#[test]
fn the_same_seed_gives_the_same_operations_and_another_seed_other_ones() {
    let offsets = |seed| {
        let mut plan = plan(SMALL, 1, Order::Random);
        plan.seed = seed;
        let storage = leak(Watched::obedient());
        run(&plan, &storage);
        storage.calls.lock().unwrap().iter().map(|call| call.2).collect::<Vec<_>>()
    };
    assert_eq!(offsets(1), offsets(1));
    assert_ne!(offsets(1), offsets(2));
}
