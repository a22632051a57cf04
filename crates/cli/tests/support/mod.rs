//! What the tests of a whole case share: plans made in a line, and a case run with threads as ranks.
#![allow(dead_code, reason = "every test binary uses some of it")]

pub mod engines;
pub mod hung_mount;
pub mod lab;
pub mod mpi;
pub mod object_server;
pub mod plug_ins;
pub mod process;
pub mod record;
pub mod rules;
pub mod skipped;

use std::collections::BTreeMap;
use std::path::Path;

use ioassay_engine::case::{self, Case};
use ioassay_protocol::events::{Done, Event, PhaseRecord};
use ioassay_protocol::plan::data::{DataWork, FileSet, Fsync, Layout, Order, Payload, Source, Transfer};
use ioassay_protocol::plan::storage::{Storage, Target};
use ioassay_protocol::plan::{Job, Phase, Plan, RankCount, Step, Work};

use ioassay_engine::output::EventLog;
use ioassay_engine::plan::{Sizes, validate};
use ioassay_engine::ranks::local::MeetingPlace;
use ioassay_engine::ranks::seating::Seating;
use ioassay_engine::storage::StorageApi;
use ioassay_engine::workspace::Workspace;
use ioassay_engine::workspace::contents::Contents;
use ioassay_host::clock::Clock;

/// Ten transfers of 100 bytes for each rank, in a file of its own.
pub const SMALL: FileSet = FileSet {
    layout: Layout::FilePerRank,
    ranks: None,
    files_per_rank: 1,
    transfer_bytes: 100,
    block_bytes: 1000,
    segments: 1,
    offset_bytes: 0,
    payload: Payload::Repeated {},
};

/// The same with other bytes in each transfer.
pub const UNIQUE: FileSet = FileSet { payload: Payload::Unique {}, ..SMALL };

/// A target on the file system of the checkout, which is rarely a tmpfs: those have no direct I/O.
pub fn target() -> tempfile::TempDir {
    tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap()
}

/// `posix`, one transfer at a time.
pub fn posix() -> Storage {
    Storage::of("posix")
}

/// A plan of `steps` on one file set, called `data`.
pub fn plan(set: FileSet, ranks: u32, steps: Vec<Step>) -> Plan {
    Plan {
        version: ioassay_protocol::VERSION,
        run: "r1".into(),
        case: "c1".into(),
        target: Target::Directory("/".into()),
        storage: posix(),
        ranks: RankCount { clients: ranks, per_client: 1 },
        files: BTreeMap::from([("data".to_owned(), set)]),
        trees: BTreeMap::new(),
        datasets: BTreeMap::new(),
        checkpoints: BTreeMap::new(),
        steps,
        seed: 7,
        memory_bytes: 0,
        time_limit_ns: None,
        sample_interval_ns: 1_000_000,
    }
}

/// Work on the file set `data`, fsync at the end.
pub fn work(transfer: Transfer, order: Order) -> DataWork {
    DataWork {
        files: "data".into(),
        transfer,
        order,
        source: Source::Own,
        fsync: Fsync::AtEnd,
        verify: None,
        size: None,
        lock: None,
        advice: Vec::new(),
        barriers: false,
        piece_bytes: None,
    }
}

/// A job of all ranks.
pub fn job(name: &str, work: DataWork) -> Job {
    Job::new(name, Work::Data(work))
}

/// A phase of one job.
pub fn phase(name: &str, work: DataWork) -> Step {
    phase_of(name, vec![job(name, work)])
}

/// A phase of jobs.
pub fn phase_of(name: &str, jobs: Vec<Job>) -> Step {
    Step::Phase(Phase::new(name, jobs))
}

/// A phase of one job, with a storage of its own.
pub fn phase_by(storage: Storage, name: &str, work: DataWork) -> Step {
    phase_of(name, vec![Job { storage: Some(storage), ..job(name, work) }])
}

/// A write of everything, then a read of everything.
pub fn write_and_read(order: Order) -> Vec<Step> {
    vec![phase("write", work(Transfer::Write, order)), phase("read", work(Transfer::Read, order))]
}

/// Storage APIs by name.
pub type Apis = dyn (Fn(&str) -> &'static dyn StorageApi) + Sync;

/// Runs the case on `storage` in a directory of its own, a thread per rank, and returns what rank 0 reported. The
/// workspace is removed.
pub fn run(plan: &Plan, storage: &'static dyn StorageApi) -> (Vec<Event>, MeetingPlace) {
    let target = tempfile::tempdir().unwrap();
    run_in(target.path(), plan, storage)
}

/// The same in `target`.
pub fn run_in(target: &Path, plan: &Plan, storage: &'static dyn StorageApi) -> (Vec<Event>, MeetingPlace) {
    run_by(target, plan, &|_| storage)
}

/// The same by the storage API of each name in the plan.
pub fn run_by(target: &Path, plan: &Plan, apis: &Apis) -> (Vec<Event>, MeetingPlace) {
    let mut plan = plan.clone();
    plan.target = Target::Directory(target.to_owned());
    validate(&plan).unwrap();
    let (events, place, workspace) = run_and_keep(&plan, apis);
    assert_eq!(workspace.remove().left, []);
    (events, place)
}

/// Runs the case on its own target and leaves what it wrote.
pub fn run_and_keep(plan: &Plan, apis: &Apis) -> (Vec<Event>, MeetingPlace, Workspace) {
    let workspace = Workspace::create(plan, &Contents::of(plan)).unwrap();
    let (events, place) = run_in_workspace(plan, apis, &workspace);
    (events, place, workspace)
}

/// Runs the case in a workspace that is there.
pub fn run_in_workspace(plan: &Plan, apis: &Apis, workspace: &Workspace) -> (Vec<Event>, MeetingPlace) {
    let log = tempfile::NamedTempFile::new().unwrap();
    let clock = Clock::calibrated();
    let seating = Seating::dealt(plan.ranks, 1);
    let place = MeetingPlace::new(plan.rank_count(), clock).unwrap();
    let case = Case { plan, apis, workspace, clock: &clock, seating: &seating, direct_alignment_bytes: None };
    std::thread::scope(|scope| {
        for rank in 0..plan.rank_count() {
            let (case, place, log) = (&case, &place, log.path());
            scope.spawn(move || case::run(case, &place.rank(rank), &mut EventLog::open(log).unwrap()));
        }
    });
    let text = std::fs::read_to_string(log.path()).unwrap();
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), place)
}

/// The records of all phases.
pub fn phases(events: &[Event]) -> Vec<&PhaseRecord> {
    events.iter().filter_map(|event| if let Event::Phase(record) = event { Some(&**record) } else { None }).collect()
}

/// The kinds of a record's doubts.
pub fn doubts(record: &PhaseRecord) -> Vec<String> {
    let kind = |doubt| serde_json::to_value(doubt).unwrap()["kind"].as_str().unwrap().to_owned();
    record.doubts.iter().map(kind).collect()
}

/// Every sum of a record agrees with what it is the sum of.
pub fn check_sums(record: &PhaseRecord) {
    let sum = |of: fn(&ioassay_protocol::events::RankRecord) -> u64| record.ranks.iter().map(of).sum::<u64>();
    assert_eq!(record.bytes, sum(|rank| rank.bytes));
    assert_eq!(record.bytes, sum(|rank| rank.sample_bytes.iter().sum()));
    assert_eq!(record.operations, sum(|rank| rank.operations));
    assert_eq!(record.operations, sum(|rank| rank.sample_operations.iter().sum()));
    assert_eq!(record.operations, record.latencies.count.iter().sum::<u64>());
    assert_eq!(record.duration_ns, record.ranks.iter().map(|rank| rank.end_ns).max().unwrap());
    assert!(record.first_finished_ns <= record.duration_ns);
    assert!(record.first_finished_bytes <= record.bytes);
    assert!(record.first_finished_operations <= record.operations);
    if record.ranks.iter().all(|rank| rank.at_first_finish.is_some()) {
        let sum =
            |of: fn(Done) -> u64| record.ranks.iter().filter_map(|rank| rank.at_first_finish).map(of).sum::<u64>();
        assert_eq!(record.first_finished_bytes, sum(|done| done.bytes));
        assert_eq!(record.first_finished_operations, sum(|done| done.operations));
    }
    for rank in &record.ranks {
        let done = rank.at_first_finish.unwrap_or_default();
        assert!(done.bytes <= rank.bytes && done.operations <= rank.operations);
        if record.complete && rank.end_ns == record.first_finished_ns {
            assert_eq!(rank.at_first_finish, Some(Done { bytes: rank.bytes, operations: rank.operations }));
        }
    }
    if let Some(stonewall) = record.stonewall {
        assert!(stonewall.bytes <= record.bytes && stonewall.operations <= record.operations);
        assert!(stonewall.least_operations <= stonewall.most_operations);
    }
}
