//! Every storage API on real files: what is written is what is read back, whatever the layout, order and depth.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::support::*;
use ioassay_engine::storage::names::Presence;
use ioassay_engine::storage::{self, Capabilities, Connection, OpenFile, Opening, Setup, StorageApi};
use ioassay_protocol::plan::data::{FileSet, Layout, Lock, Order, Payload, SizeAtOpen, Source, Transfer, Verify};
use ioassay_protocol::plan::storage::{Storage, Uring};
use ioassay_protocol::plan::{Plan, Step};
use proptest::prelude::*;

/// The storage APIs that keep files in directories.
fn file_apis() -> impl Iterator<Item = (&'static dyn StorageApi, Capabilities)> {
    storage::all().map(|api| (api, api.capabilities())).filter(|(_, can)| can.directories && can.files)
}

fn storage(api: &dyn StorageApi) -> Storage {
    Storage { api: api.name().into(), ..posix() }
}

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
        let payload = [Payload::Unique {}, reducible, Payload::IorOffset { signature: 5 }][payload];
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
        assert!(failure.message.contains("c1.data.00000000: at offset 20001 found "), "{}", failure.message);
        assert!(failure.message.contains(" was written; a second read (through POSIX"), "{}", failure.message);
        assert!(failure.message.ends_with("found the same"), "{}", failure.message);
        let blamed = "what is stored is wrong: the storage lost or corrupted data, or the page cache";
        assert!(failure.remedy.starts_with(blamed), "{}", failure.remedy);
    }
}

/// POSIX whose reads change the first byte of each transfer.
struct Liar;

impl StorageApi for Liar {
    fn name(&self) -> &'static str {
        "mmap"
    }

    fn capabilities(&self) -> Capabilities {
        storage::of_plan("posix").capabilities()
    }

    fn connect(&self, setup: Setup<'_>) -> io::Result<Box<dyn Connection>> {
        Ok(Box::new(LiarConnection(storage::of_plan("posix").connect(setup)?)))
    }
}

struct LiarConnection(Box<dyn Connection>);

impl Connection for LiarConnection {
    fn open(&mut self, path: &Path, opening: Opening<'_>) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(LiarFile(self.0.open(path, opening)?)))
    }
}

struct LiarFile(Box<dyn OpenFile>);

impl OpenFile for LiarFile {
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(data, offset)
    }

    fn read_at(&mut self, data: &mut [u8], offset: u64) -> io::Result<usize> {
        let moved = self.0.read_at(data, offset)?;
        data[0] ^= 1;
        Ok(moved)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }

    fn check_linked(&self) -> io::Result<()> {
        self.0.check_linked()
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.0.close()
    }
}

#[test]
fn the_storage_is_not_blamed_for_what_another_way_reads_as_it_was_written() {
    let mut plan = plan(UNIQUE, 1, write_and_verify(Order::Sequential));
    plan.storage = Storage::of("mmap");
    let by_name = |name: &str| if name == "mmap" { &Liar as &'static dyn StorageApi } else { storage::of_plan(name) };
    let (_, place) = run_by(target().path(), &plan, &by_name);
    let failure = place.failure().unwrap();
    assert!(failure.message.ends_with("found what was written"), "{}", failure.message);
    let remedy = "what is stored is right; suspect what the read went through: the page cache, the file system";
    assert!(failure.remedy.starts_with(remedy), "{}", failure.remedy);
}

#[test]
fn a_file_that_became_shorter_fails_the_run_and_says_where_it_ends() {
    for (api, _) in file_apis() {
        let failure = harmed(api, |path| fs::OpenOptions::new().write(true).open(path)?.set_len(20_000));
        assert!(failure.message.contains("c1.data.00000000: the file ends at "), "{}: {}", api.name(), failure.message);
    }
}
