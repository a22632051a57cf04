//! Every storage API on real files: what is written is what is read back, whatever the layout, order and depth.

mod support;

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use ioassay_engine::storage::names::Presence;
use ioassay_engine::storage::{self, Capabilities, StorageApi};
use ioassay_protocol::doubt::Reason;
use ioassay_protocol::plan::cache::CacheStep;
use ioassay_protocol::plan::data::{
    Advice, DataWork, FileSet, Layout, Lock, Order, Payload, SizeAtOpen, Source, Transfer, Verify,
};
use ioassay_protocol::plan::pace::{Limit, Rate};
use ioassay_protocol::plan::storage::{Storage, Uring};
use ioassay_protocol::plan::{CacheMethod, Job, Plan, RankRange, Step};
use proptest::prelude::*;
use support::*;

/// On the file system of the checkout, which is rarely a tmpfs: those have no direct I/O.
fn target() -> tempfile::TempDir {
    tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap()
}

/// The storage APIs that keep files in directories.
fn file_apis() -> impl Iterator<Item = (&'static dyn StorageApi, Capabilities)> {
    storage::all().map(|api| (api, api.capabilities())).filter(|(_, can)| can.directories && can.files)
}

fn storage(api: &dyn StorageApi) -> Storage {
    Storage { api: api.name().into(), ..posix() }
}

const UNIQUE: FileSet = FileSet { payload: Payload::Unique, ..SMALL };

/// A write, and a read by another rank that compares.
fn write_and_verify(order: Order) -> Vec<Step> {
    let mut read = work(Transfer::Read, Order::Random);
    (read.verify, read.source) = (Some(Verify::Reads), Source::Shift(1));
    vec![phase("write", work(Transfer::Write, order)), phase("read", read)]
}

/// Runs the plan and expects every phase to be complete.
fn succeeds(plan: &Plan) {
    succeeds_in(target(), plan);
}

fn succeeds_in(target: tempfile::TempDir, plan: &Plan) {
    let (events, place) = run_by(target.path(), plan, &storage::of_plan);
    assert_eq!(place.failure().map(|failure| failure.message), None, "{:?}", plan.storage);
    for phase in phases(&events) {
        assert!(phase.complete, "{:?}", plan.storage);
        check_sums(phase);
    }
}

/// A phase of one job, with a storage of its own.
fn phase_by(storage: Storage, name: &str, work: DataWork) -> Step {
    phase_of(name, vec![Job { storage: Some(storage), ..job(name, work) }])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_api_reads_back_what_it_wrote(
        kind in 0..3_usize, order in 0..4_usize, transfer_bytes in 1..9000_u64, per_block in 1..5_u64,
        segments in 1..3_u64, files_per_rank in 1..3_u64, offset_bytes in 0..5000_u64, payload in 0..3_usize,
    ) {
        let layout = [Layout::FilePerRank, Layout::SharedFile, Layout::Groups(2)][kind];
        let order = [Order::Sequential, Order::Backward, Order::Strided(2), Order::Random][order];
        let reducible = Payload::Reducible { zero_percent: 50, duplicate_percent: 50 };
        let payload = [Payload::Unique, reducible, Payload::IorOffset { signature: 5 }][payload];
        let block_bytes = transfer_bytes * per_block;
        let set = FileSet { layout, files_per_rank, transfer_bytes, block_bytes, segments, offset_bytes, payload, ..SMALL };
        for (api, can) in file_apis() {
            let mut plan = plan(set.clone(), 4, write_and_verify(order));
            plan.storage = storage(api);
            succeeds(&plan);
            if can.depth > 1 {
                plan.storage.depth = 5;
                succeeds(&plan);
            }
            if can.vectors {
                plan.storage.vectors = 3;
                succeeds(&plan);
            }
        }
    }
}

#[test]
fn direct_transfers_read_back_what_they_wrote() {
    let set = FileSet { transfer_bytes: 8192, block_bytes: 8 * 8192, offset_bytes: 4096, ..UNIQUE };
    for (api, can) in file_apis().filter(|(_, can)| can.direct) {
        for depth in [1, can.depth.min(4)] {
            let mut plan = plan(set.clone(), 2, write_and_verify(Order::Random));
            plan.storage = Storage { direct: true, depth, ..storage(api) };
            succeeds(&plan);
        }
    }
}

#[test]
fn each_job_reads_by_a_storage_of_its_own_what_another_wrote() {
    let set = FileSet { transfer_bytes: 4096, block_bytes: 16 * 4096, files_per_rank: 2, ..UNIQUE };
    for (writer, can) in file_apis() {
        let mut steps = vec![phase("write", work(Transfer::Write, Order::Random))];
        for (reader, _) in file_apis() {
            let mut read = work(Transfer::Read, Order::Random);
            read.verify = Some(Verify::Reads);
            steps.push(phase_by(storage(reader), reader.name(), read));
        }
        let plan = Plan {
            storage: Storage { depth: can.depth.min(3), direct: can.direct, ..storage(writer) },
            ..plan(set.clone(), 2, steps)
        };
        succeeds(&plan);
    }
}

#[test]
fn only_jobs_that_ask_for_it_go_past_the_page_cache() {
    let set = FileSet { transfer_bytes: 4096, block_bytes: 64 * 4096, ..UNIQUE };
    let direct = || Storage { direct: true, ..posix() };
    let of = |files: &str, transfer| DataWork { files: files.into(), ..work(transfer, Order::Sequential) };
    let cached = Job { ranks: Some(RankRange { first: 0, count: 1 }), ..job("cached", of("cached", Transfer::Write)) };
    let passed = Job {
        ranks: Some(RankRange { first: 1, count: 1 }),
        storage: Some(direct()),
        ..job("passed", of("passed", Transfer::Write))
    };
    let steps = vec![
        phase_of("write", vec![cached.clone(), passed.clone()]),
        phase_by(direct(), "past", of("cached", Transfer::Read)),
        phase("read", of("cached", Transfer::Read)),
        phase("fresh", of("passed", Transfer::Read)),
    ];
    let mut plan = plan(set.clone(), 2, steps);
    let part = |first| FileSet { ranks: Some(RankRange { first, count: 1 }), ..set.clone() };
    plan.files = [("cached".to_owned(), part(0)), ("passed".to_owned(), part(1))].into();
    let (events, place) = run_by(target().path(), &plan, &storage::of_plan);
    assert_eq!(place.failure(), None);
    let phases = phases(&events);
    let doubted = |name: &str, doubt: &str| {
        let record = phases.iter().find(|record| record.job == name).unwrap();
        doubts(record).contains(&doubt.to_owned())
    };
    let resident = |name: &str| phases.iter().find(|record| record.name == name).unwrap().resident_bytes_before;
    // The bytes of the file that was written directly are in no cache; those of the other all are.
    assert_eq!((resident("read"), resident("fresh")), (Some(64 * 4096), Some(0)));
    assert!(doubted("read", "cache-resident") && !doubted("fresh", "cache-resident"));
    assert_eq!(resident("past"), Some(64 * 4096));
    assert!(!doubted("past", "cache-resident"), "what is in memory is not what it read");
}

/// On a file system that forgets what it is asked to forget.
#[test]
fn of_a_read_that_a_limit_ends_only_what_it_read_is_looked_for_in_memory() {
    const M: u64 = 1 << 20;
    for layout in [Layout::FilePerRank, Layout::SharedFile] {
        let set = FileSet { layout, transfer_bytes: 64 << 10, block_bytes: M, segments: 32, ..UNIQUE };
        // Nothing is read ahead.
        let read = |order| DataWork { advice: vec![Advice::Random], ..work(Transfer::Read, order) };
        let limited = |name: &str, order, limit| phase_of(name, vec![Job { limit, ..job(name, read(order)) }]);
        let operations = |count| Limit { operations_per_rank: Some(count), ..Limit::default() };
        let stonewalled = Job {
            limit: Limit { stonewall_ns: Some(500_000_000), ..Limit::default() },
            rate: Some(Rate::OperationsPerS(40)),
            ..job("stonewalled", read(Order::Sequential))
        };
        let same = DataWork { source: Source::Listed(vec![0, 0]), ..read(Order::Sequential) };
        let same = Job { limit: operations(8 * 16), ..job("same", same) };
        let steps = vec![
            phase("write", work(Transfer::Write, Order::Sequential)),
            Step::ColdCache(CacheStep::of(vec![CacheMethod::Fadvise])),
            limited("head", Order::Sequential, operations(8 * 16)),
            limited("tail", Order::Backward, operations(8 * 16)),
            limited("twice", Order::Sequential, operations(16 * 16)),
            phase_of("stonewalled", vec![stonewalled]),
            phase_of("same", vec![same]),
            // By now the first half and the last quarter are in memory.
            limited("jumps", Order::Strided(4), operations(16 * 16)),
            phase("all", read(Order::Sequential)),
        ];
        let target = target();
        let (events, place) = run_by(target.path(), &plan(set, 2, steps), &storage::of_plan);
        assert_eq!(place.failure(), None);
        if nix::sys::statfs::statfs(target.path()).unwrap().filesystem_type() == nix::sys::statfs::TMPFS_MAGIC {
            return skipped::skipped("a file system with a page cache", "run the tests on a disk");
        }
        let resident = |name: &str| {
            let all = phases(&events);
            let phase = all.into_iter().find(|phase| phase.name == name).unwrap();
            let doubted = phase.doubts.iter().find_map(|doubt| match doubt.reason {
                Reason::CacheResident { resident_bytes, file_set_bytes, .. } => Some((resident_bytes, file_set_bytes)),
                _ => None,
            });
            assert_eq!(phase.resident_bytes_before.unwrap(), doubted.map_or(0, |(resident, _)| resident), "{name}");
            (phase.bytes, doubted)
        };
        // Pages that were only read are clean, and the kernel may take some of them at any time.
        let nearly_all_of = |expected: u64| expected.saturating_sub(M)..=expected;
        let assert_resident = |name: &str, read: u64, expected: u64| {
            let (bytes, doubted) = resident(name);
            let (resident, of) = doubted.unwrap_or_else(|| panic!("{name} carries no doubt, {layout:?}"));
            assert_eq!((bytes, of), (read, read), "{name}, {layout:?}");
            assert!(nearly_all_of(expected).contains(&resident), "{name}, {layout:?}: {resident} of {expected}");
        };
        assert_eq!(resident("head"), (16 * M, None));
        assert_eq!(resident("tail"), (16 * M, None), "what was not read does not count");
        assert_resident("twice", 32 * M, 16 * M);
        let (read_until_the_wall, _) = resident("stonewalled");
        assert_resident("stonewalled", read_until_the_wall, read_until_the_wall);
        // Two ranks read the same 8 MiB.
        assert_resident("same", 16 * M, 8 * M);
        assert_resident("jumps", 32 * M, 24 * M);
        let (_, all) = resident("all");
        assert!(all.unwrap().0 >= 47 * M && all.unwrap().1 == 64 * M);
    }
}

#[test]
fn every_way_to_use_io_uring_reads_back_what_it_wrote() {
    let set = FileSet { transfer_bytes: 4096, block_bytes: 64 * 4096, files_per_rank: 2, ..UNIQUE };
    for options in 0..16 {
        let has = |bit: u32| options & 1 << bit != 0;
        let uring = Uring {
            batch: if has(0) { 3 } else { 0 },
            registered_buffers: has(1),
            registered_files: has(2),
            sqpoll: has(3),
            iopoll: false,
        };
        let mut plan = plan(set.clone(), 2, write_and_verify(Order::Random));
        plan.storage = Storage { api: "uring".into(), depth: 8, uring: Some(uring), ..posix() };
        succeeds(&plan);
        // Files in memory are opened in a way of their own.
        succeeds_in(tempfile::tempdir_in("/dev/shm").unwrap(), &plan);
    }
}

/// Polling needs a device that can be polled: where there is none, the failure says what to leave out.
#[test]
fn polled_io_uring_works_or_says_what_is_missing() {
    let set = FileSet { transfer_bytes: 4096, block_bytes: 4 * 4096, ..UNIQUE };
    let mut plan = plan(set, 1, write_and_verify(Order::Sequential));
    let uring = Uring { iopoll: true, ..Uring::default() };
    plan.storage = Storage { api: "uring".into(), direct: true, depth: 2, uring: Some(uring), ..posix() };
    let (_, place) = run_in(target().path(), &plan, storage::by_name("uring").unwrap());
    if let Some(failure) = place.failure() {
        assert_eq!(failure.errno_name.as_deref(), Some("EOPNOTSUPP"), "{}", failure.message);
        assert!(failure.remedy.contains("iopoll"), "{}", failure.remedy);
    }
}

#[test]
fn sizes_locks_and_advice_do_not_change_what_is_stored() {
    let set = FileSet { layout: Layout::SharedFile, transfer_bytes: 1000, block_bytes: 5000, segments: 2, ..UNIQUE };
    for (api, can) in file_apis().filter(|(_, can)| can.sizes && can.locks) {
        for size in [SizeAtOpen::Full, SizeAtOpen::Preallocated] {
            for lock in [Lock::Range, Lock::File] {
                let mut write = work(Transfer::Write, Order::Random);
                (write.size, write.lock, write.advice) = (Some(size), Some(lock), can.advice.to_vec());
                let mut read = work(Transfer::Read, Order::Sequential);
                (read.verify, read.lock, read.advice) = (Some(Verify::Reads), Some(lock), can.advice.to_vec());
                let mut plan = plan(set.clone(), 3, vec![phase("write", write), phase("read", read)]);
                plan.storage = storage(api);
                succeeds(&plan);
            }
        }
    }
}

#[test]
fn an_emptied_file_holds_only_what_is_written_next() {
    for (api, _) in file_apis().filter(|(_, can)| can.sizes) {
        let directory = target();
        let path = directory.path().join("file");
        fs::write(&path, vec![1; 50_000]).unwrap();
        let described = storage(api);
        let where_to = ioassay_protocol::plan::storage::Target::Directory(directory.path().to_owned());
        let mut buffers = [ioassay_engine::workload::buffer::Buffer::new(100)];
        let setup = storage::Setup::alone(&described, &where_to, &mut buffers);
        let opening = storage::Opening {
            access: storage::Access::Write,
            presence: Presence::Shared,
            bytes: 100,
            size: Some(SizeAtOpen::Empty),
            advice: &[],
        };
        let mut connection = api.connect(setup).unwrap();
        let mut file = connection.open(&path, opening).unwrap();
        assert_eq!(file.write_at(&[2; 100], 0).unwrap(), 100);
        file.close().unwrap();
        assert_eq!(fs::read(&path).unwrap(), vec![2; 100], "{}", api.name());
    }
}

/// Does `harm` to the only file of a case between its write and its read, and returns what the read says.
fn harmed(api: &'static dyn StorageApi, harm: fn(&Path) -> io::Result<()>) -> ioassay_protocol::events::Failure {
    let directory = target();
    let mut steps = write_and_verify(Order::Sequential);
    steps.insert(1, Step::Pause { duration_ns: 500_000_000 });
    let mut plan = plan(FileSet { transfer_bytes: 4096, block_bytes: 10 * 4096, ..UNIQUE }, 1, steps);
    plan.storage = storage(api);
    let file = directory.path().join("ioassay-r1/c1.data.00000000");
    std::thread::scope(|scope| {
        let case = scope.spawn(|| {
            let (events, place) = run_in(directory.path(), &plan, api);
            (events, place.failure())
        });
        while !fs::metadata(&file).is_ok_and(|about| about.len() == 10 * 4096) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // The size may be there before the data is.
        std::thread::sleep(std::time::Duration::from_millis(100));
        harm(&file).unwrap();
        let (events, failure) = case.join().unwrap();
        assert!(phases(&events)[0].complete && !phases(&events)[1].complete, "{}", api.name());
        failure.expect("the harm is found")
    })
}

#[test]
fn a_changed_byte_fails_the_run_with_file_offset_expected_and_found() {
    for (api, _) in file_apis() {
        let failure = harmed(api, |path| {
            let file = fs::OpenOptions::new().read(true).write(true).open(path)?;
            let mut byte = [0];
            file.read_exact_at(&mut byte, 20_001)?;
            file.write_all_at(&[byte[0] ^ 1], 20_001)
        });
        assert_eq!(failure.operation, "verify", "{}", api.name());
        assert!(failure.message.contains("c1.data.00000000: at offset 20001 there is "), "{}", failure.message);
        assert!(failure.message.contains(" was written"), "{}", failure.message);
    }
}

#[test]
fn a_file_that_became_shorter_fails_the_run_and_says_where_it_ends() {
    for (api, _) in file_apis() {
        let failure = harmed(api, |path| fs::OpenOptions::new().write(true).open(path)?.set_len(20_000));
        assert!(failure.message.contains("c1.data.00000000: the file ends at "), "{}: {}", api.name(), failure.message);
    }
}
