//! A whole case on storage that watches, misbehaves or fails: ranks are threads here, everything else is real.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::*;
use ioassay_engine::plan::Sizes;
use ioassay_engine::storage::{
    self, Access, Capabilities, Connection, FinishedTransfer, InFlight, OpenFile, Opening, Range, Setup, StorageApi,
};
use ioassay_engine::workload::layout::Geometry;
use ioassay_protocol::doubt::{Doubt, Reason};
use ioassay_protocol::events::Event;
use ioassay_protocol::plan::cache::CacheStep;
use ioassay_protocol::plan::data::{DataWork, FileSet, Fsync, Layout, Order, Payload, Source, Transfer, Verify};
use ioassay_protocol::plan::pace::{Limit, Rate, Think};
use ioassay_protocol::plan::storage::Storage;
use ioassay_protocol::plan::{CacheMethod, Job, Operation, Plan, RankRange, Step};
use proptest::prelude::*;

/// One call.
#[derive(Debug, Clone, PartialEq)]
enum Call {
    /// On which file, at which offset, of how many bytes.
    Write(PathBuf, u64, u64),
    Read(PathBuf, u64, u64),
    Sync(PathBuf),
    Lock(u64, u64, bool),
    Unlock,
}

/// Storage that keeps nothing but the list of calls, and does to each transfer what `answer` says.
struct Watched {
    calls: Mutex<Vec<Call>>,
    answer: fn(call: u64, bytes: usize) -> io::Result<usize>,
    sync: fn() -> io::Result<()>,
}

impl Watched {
    fn obedient() -> Self {
        Self { calls: Mutex::default(), answer: |_, bytes| Ok(bytes), sync: || Ok(()) }
    }

    fn note(&self, call: Call) {
        self.calls.lock().unwrap().push(call);
    }

    fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }
}

impl StorageApi for &'static Watched {
    fn name(&self) -> &'static str {
        "watched"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { directories: true, shared_files: true, rewrites: true, sync: true, ..Capabilities::NONE }
    }

    fn connect(&self, setup: Setup<'_>) -> io::Result<Box<dyn Connection>> {
        Ok(Box::new(WatchedConnection { storage: self, bytes: setup.buffers[0].len() }))
    }
}

struct WatchedConnection {
    storage: &'static Watched,
    bytes: usize,
}

impl Connection for WatchedConnection {
    fn open(&mut self, path: &Path, _opening: Opening<'_>) -> io::Result<Box<dyn OpenFile>> {
        let path = path.to_owned();
        Ok(Box::new(WatchedFile { storage: self.storage, path, bytes: self.bytes, calls: 0, begun: Vec::new() }))
    }
}

struct WatchedFile {
    storage: &'static Watched,
    path: PathBuf,
    bytes: usize,
    calls: u64,
    begun: Vec<InFlight>,
}

impl WatchedFile {
    fn call(&mut self, access: Access, offset: u64, bytes: usize) -> io::Result<usize> {
        self.calls += 1;
        let moved = (self.storage.answer)(self.calls, bytes)?;
        let call = if access.writes() { Call::Write } else { Call::Read };
        self.storage.note(call(self.path.clone(), offset, moved as u64));
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
        self.storage.note(Call::Sync(self.path.clone()));
        (self.storage.sync)()
    }

    fn check_linked(&self) -> io::Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        assert_eq!(self.begun.len(), 0, "closed with transfers in flight");
        Ok(())
    }

    fn begin(&mut self, transfer: InFlight) -> io::Result<()> {
        assert!(self.begun.iter().all(|other| other.buffer != transfer.buffer), "one buffer, two transfers");
        self.begun.push(transfer);
        Ok(())
    }

    /// Ends the transfer that was begun last, and no more than asked: the hardest order for those who wait.
    fn finish(&mut self, at_least: u32, ended: &mut Vec<FinishedTransfer>) -> io::Result<()> {
        assert!(at_least as usize <= self.begun.len(), "waiting for what was never begun");
        for _ in 0..at_least {
            let InFlight { buffer, from, offset, write } = self.begun.pop().unwrap();
            let access = if write { Access::Write } else { Access::Read };
            let moved = self.call(access, offset, self.bytes - from as usize);
            ended.push(FinishedTransfer { buffer, moved });
        }
        Ok(())
    }

    fn lock(&mut self, range: Range) -> io::Result<()> {
        self.storage.note(Call::Lock(range.offset, range.bytes, range.exclusive));
        Ok(())
    }

    fn unlock(&mut self, _range: Range) -> io::Result<()> {
        self.storage.note(Call::Unlock);
        Ok(())
    }
}

/// Storage that outlives its test, as those of the registry do.
fn leak(storage: Watched) -> &'static &'static Watched {
    Box::leak(Box::new(&*Box::leak(Box::new(storage))))
}

/// What is done to a file, and how often to each of its bytes.
type Coverage = HashMap<PathBuf, Vec<u32>>;

/// How often each byte of each file was touched by reads or by writes.
fn coverage(storage: &Watched, operation: Operation) -> Coverage {
    let mut covered = Coverage::new();
    for call in storage.calls() {
        let (path, offset, bytes) = match call {
            Call::Write(path, offset, bytes) if operation == Operation::Write => (path, offset, bytes),
            Call::Read(path, offset, bytes) if operation == Operation::Read => (path, offset, bytes),
            _ => continue,
        };
        let file = covered.entry(path).or_default();
        let end = (offset + bytes) as usize;
        file.resize(file.len().max(end), 0);
        file[offset as usize..end].iter_mut().for_each(|times| *times += 1);
    }
    covered
}

fn offsets(storage: &Watched) -> Vec<u64> {
    let offset = |call| match call {
        Call::Write(_, offset, _) | Call::Read(_, offset, _) => Some(offset),
        Call::Sync(_) | Call::Lock(..) | Call::Unlock => None,
    };
    storage.calls().into_iter().filter_map(offset).collect()
}

/// The plan's storage API is asked for what it can do while the watched storage does the work: null can do it all.
fn in_flight(mut plan: Plan, depth: u32) -> Plan {
    plan.storage.api = "null".into();
    plan.storage.depth = depth;
    plan
}

/// The same of a plan that compares, which no API may that keeps nothing.
fn compared_in_flight(plan: Plan, depth: u32) -> Plan {
    let mut plan = in_flight(plan, depth);
    plan.storage.api = "uring".into();
    plan
}

fn any_order() -> impl Strategy<Value = Order> {
    prop_oneof![
        Just(Order::Sequential),
        Just(Order::Backward),
        (1..9_u64).prop_map(Order::Strided),
        Just(Order::Random),
    ]
}

fn any_file_set() -> impl Strategy<Value = (FileSet, u32)> {
    let sizes = (1..600_u64, 1..8_u64, 1..4_u64, 1..4_u64, 0..700_u64);
    (0..3_usize, 1..4_u32, 1..4_u32, sizes).prop_map(|(layout, groups, sharers, sizes)| {
        let (transfer_bytes, per_block, segments, files_per_rank, offset_bytes) = sizes;
        let layout = [Layout::FilePerRank, Layout::SharedFile, Layout::Groups(groups)][layout];
        let block_bytes = transfer_bytes * per_block;
        let set = FileSet { layout, files_per_rank, transfer_bytes, block_bytes, segments, offset_bytes, ..SMALL };
        (set, groups * sharers)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_byte_is_written_and_read_exactly_once_and_all_sums_agree(
        (set, ranks) in any_file_set(), order in any_order(), depth in 1..5_u32,
        source in prop_oneof![Just(Source::Own), (0..9_u32).prop_map(Source::Shift), any::<u64>().prop_map(Source::Shuffled)],
    ) {
        let geometry = Geometry::of(&set, ranks);
        let offset = set.offset_bytes as usize;
        let mut steps = vec![phase("write", work(Transfer::Write, order))];
        let mut read = work(Transfer::Read, order);
        read.source = source;
        steps.push(phase("read", read));
        let plan = in_flight(plan(set, ranks, steps), depth);
        let storage = leak(Watched::obedient());
        let (events, _) = run(&plan, storage);

        for operation in [Operation::Write, Operation::Read] {
            let covered = coverage(storage, operation);
            prop_assert_eq!(covered.len() as u64, geometry.files());
            for file in covered.values() {
                prop_assert_eq!(file.len() as u64, geometry.file_bytes);
                prop_assert!(file[..offset].iter().all(|&times| times == 0));
                prop_assert!(file[offset..].iter().all(|&times| times == 1));
            }
        }
        let phases = phases(&events);
        prop_assert_eq!(phases.len(), 2);
        for phase in phases {
            prop_assert!(phase.complete);
            prop_assert_eq!(phase.bytes, plan.file_sets_bytes());
            check_sums(phase);
        }
    }

    #[test]
    fn what_a_limit_let_be_written_is_what_is_read_back(
        (set, ranks) in any_file_set(), order in any_order(), read_order in any_order(), depth in 1..5_u32,
        limit in 1..30_u64,
    ) {
        let geometry = Geometry::of(&set, ranks);
        let bytes_each = set.transfer_bytes;
        let mut write = job("write", work(Transfer::Write, order));
        write.limit = Limit { operations_per_rank: Some(limit), ..Limit::default() };
        let steps = vec![phase_of("write", vec![write]), phase("read", work(Transfer::Read, read_order))];
        let plan = in_flight(plan(set, ranks, steps), depth);
        let storage = leak(Watched::obedient());
        let (events, _) = run(&plan, storage);
        prop_assert_eq!(coverage(storage, Operation::Write), coverage(storage, Operation::Read));
        let expected = limit.min(geometry.transfers_per_part()) * u64::from(ranks) * bytes_each;
        for phase in phases(&events) {
            prop_assert_eq!((phase.complete, phase.bytes), (true, expected));
            check_sums(phase);
        }
    }

    #[test]
    fn pieces_of_what_a_limit_let_be_written_cover_it_and_nothing_else(
        (mut set, ranks) in any_file_set(), depth in 1..5_u32, limit in 1..30_u64, pieces in 1..5_u64,
    ) {
        let piece_bytes = set.transfer_bytes;
        (set.transfer_bytes, set.block_bytes) = (set.transfer_bytes * pieces, set.block_bytes * pieces);
        let mut write = job("write", work(Transfer::Write, Order::Sequential));
        write.limit = Limit { operations_per_rank: Some(limit), ..Limit::default() };
        let read = DataWork { piece_bytes: Some(piece_bytes), ..work(Transfer::Read, Order::Random) };
        let plan = in_flight(plan(set, ranks, vec![phase_of("write", vec![write]), phase("read", read)]), depth);
        let storage = leak(Watched::obedient());
        let (events, _) = run(&plan, storage);
        prop_assert_eq!(coverage(storage, Operation::Write), coverage(storage, Operation::Read));
        let phases = phases(&events);
        prop_assert_eq!(phases[0].bytes, phases[1].bytes);
        prop_assert_eq!(phases[1].operations, phases[0].operations * pieces);
    }

    #[test]
    fn a_mix_touches_each_transfer_once_and_its_two_records_add_up(
        (set, ranks) in any_file_set(), order in any_order(), depth in 1..5_u32, percent in 1..100_u8,
    ) {
        let steps = vec![phase("write", work(Transfer::Write, order)), phase("mix", work(Transfer::Mixed(percent), order))];
        let plan = in_flight(plan(set, ranks, steps), depth);
        let storage = leak(Watched::obedient());
        let (events, _) = run(&plan, storage);
        let phases = phases(&events);
        prop_assert_eq!(phases.len(), 3);
        prop_assert_eq!((phases[1].operation, phases[2].operation), (Operation::Read, Operation::Write));
        prop_assert_eq!(phases[1].bytes + phases[2].bytes, plan.file_sets_bytes());
        phases.into_iter().for_each(check_sums);
        // The first phase wrote everything once, so reads and writes of the mix make it twice.
        let (written, read) = (coverage(storage, Operation::Write), coverage(storage, Operation::Read));
        for (path, times) in &written {
            let none = Vec::new();
            let read = read.get(path).unwrap_or(&none);
            for (index, &times) in times.iter().enumerate() {
                let wanted = if index < plan.files["data"].offset_bytes as usize { 0 } else { 2 };
                prop_assert_eq!(times + read.get(index).copied().unwrap_or(0), wanted);
            }
        }
    }
}

#[test]
fn short_transfers_and_interrupted_calls_are_repeated_and_counted() {
    let halves = || Watched {
        answer: |call, bytes| match call % 3 {
            0 => Err(io::ErrorKind::Interrupted.into()),
            1 => Ok(bytes.div_ceil(2)),
            _ => Ok(bytes),
        },
        ..Watched::obedient()
    };
    for depth in [1, 4] {
        let storage = leak(halves());
        let (events, _) = run(&in_flight(plan(SMALL, 2, write_and_read(Order::Sequential)), depth), storage);
        for file in coverage(storage, Operation::Write).values() {
            assert!(file.len() == 1000 && file.iter().all(|&times| times == 1));
        }
        let write = phases(&events)[0];
        assert!(write.complete && write.operations == 20, "an operation is a whole transfer");
        assert!(write.ranks.iter().all(|rank| rank.short_transfers > 0));
        assert!(doubts(write).contains(&"short-transfers".to_owned()));
    }
}

#[test]
fn an_input_output_error_ends_the_phase_for_all_ranks_and_names_rank_operation_path_and_errno() {
    let broken = || Watched {
        answer: |call, bytes| {
            if call == 4 { Err(io::Error::from_raw_os_error(libc::EIO)) } else { Ok(bytes) }
        },
        ..Watched::obedient()
    };
    for depth in [1, 3] {
        let plan = in_flight(plan(SMALL, 3, write_and_read(Order::Sequential)), depth);
        let (events, place) = run(&plan, leak(broken()));
        let failure = place.failure().unwrap();
        assert_eq!((failure.operation.as_str(), failure.errno_name.as_deref()), ("write", Some("EIO")));
        let rank = failure.rank.unwrap();
        assert!(failure.path.unwrap().ends_with(&format!("c1.data.{rank:08}")));
        assert!(failure.message.starts_with(&format!("rank {rank}, write: write /")));
        let phases = phases(&events);
        assert_eq!(phases.len(), 1, "no phase follows a failed one");
        assert!(!phases[0].complete && phases[0].doubts[0].invalidates);
        assert_eq!(doubts(phases[0])[0], "failed");
        assert_eq!(phases[0].ranks.len(), 3, "what was measured until then is kept");
    }
}

/// IOR prints a warning here and goes on to print a rate.
#[test]
fn a_failed_fsync_fails_the_phase() {
    let lying = Watched { sync: || Err(io::Error::from_raw_os_error(libc::EDQUOT)), ..Watched::obedient() };
    let (events, place) = run(&plan(SMALL, 1, write_and_read(Order::Sequential)), leak(lying));
    assert!(!phases(&events)[0].complete);
    let failure = place.failure().unwrap();
    assert_eq!((failure.operation.as_str(), failure.errno_name.as_deref()), ("fsync", Some("EDQUOT")));
}

#[test]
fn a_file_that_ends_too_early_is_an_error_and_not_a_fast_read() {
    let truncated =
        || Watched { answer: |call, bytes| if call == 2 { Ok(0) } else { Ok(bytes) }, ..Watched::obedient() };
    for depth in [1, 2] {
        let read = phase("read", work(Transfer::Read, Order::Sequential));
        let (_, place) = run(&in_flight(plan(SMALL, 1, vec![read]), depth), leak(truncated()));
        assert!(place.failure().unwrap().message.contains("the file ends at "));
    }
}

#[test]
fn a_write_call_that_writes_nothing_is_reported_as_that_and_not_as_the_end_of_the_file() {
    // 40 bytes of the first transfer, and then none.
    let stuck = || Watched { answer: |call, _| Ok(if call == 1 { 40 } else { 0 }), ..Watched::obedient() };
    for depth in [1, 2] {
        let write = phase("write", work(Transfer::Write, Order::Sequential));
        let (_, place) = run(&in_flight(plan(SMALL, 1, vec![write]), depth), leak(stuck()));
        let failure = place.failure().unwrap();
        assert!(failure.message.contains("returned 0: nothing was written"), "{}", failure.message);
        assert!(failure.remedy.contains("free space"), "{}", failure.remedy);
    }
}

#[test]
fn reads_move_on_by_one_rank_where_no_other_way_empties_the_cache() {
    let mut plan = plan(SMALL, 3, write_and_read(Order::Sequential));
    plan.steps.insert(1, Step::ColdCache(CacheStep::of(vec![CacheMethod::ReadOtherRank])));
    let storage = leak(Watched::obedient());
    let (events, _) = run(&plan, storage);
    let cold = events.iter().find_map(|event| if let Event::ColdCache(cold) = event { Some(cold) } else { None });
    assert_eq!(cold.unwrap().reads_shifted_by_ranks, 1);
    // Still every byte exactly once.
    assert!(coverage(storage, Operation::Read).values().all(|file| file.iter().all(|&times| times == 1)));
}

#[test]
fn the_same_seed_gives_the_same_operations_and_another_seed_other_ones() {
    for order in [Order::Random, Order::RandomWithReplacement, Order::Zipf(1.1)] {
        let of_seed = |seed| {
            let mut plan = plan(SMALL, 1, vec![phase("write", work(Transfer::Write, order))]);
            plan.seed = seed;
            let storage = leak(Watched::obedient());
            run(&plan, storage);
            offsets(storage)
        };
        assert_eq!(of_seed(1), of_seed(1));
        assert_ne!(of_seed(1), of_seed(2));
    }
}

#[test]
fn jobs_side_by_side_have_ranks_files_and_records_of_their_own() {
    let mut plan = plan(SMALL, 5, Vec::new());
    let mut shared = FileSet { layout: Layout::SharedFile, ..SMALL };
    shared.ranks = Some(RankRange { first: 2, count: 3 });
    plan.files.get_mut("data").unwrap().ranks = Some(RankRange { first: 0, count: 2 });
    plan.files.insert("checkpoint".into(), shared);
    let first = |name: &str| Job {
        ranks: Some(RankRange { first: 0, count: 2 }),
        ..job(name, work(Transfer::Write, Order::Random))
    };
    let reader =
        Job { ranks: Some(RankRange { first: 0, count: 2 }), ..job("reader", work(Transfer::Read, Order::Random)) };
    let mut checkpoint = work(Transfer::Write, Order::Sequential);
    checkpoint.files = "checkpoint".into();
    let writer = Job { ranks: Some(RankRange { first: 2, count: 3 }), ..job("writer", checkpoint) };
    plan.steps = vec![phase_of("fill", vec![first("fill")]), phase_of("both", vec![writer, reader])];
    let storage = leak(Watched::obedient());
    let (events, _) = run(&plan, storage);
    let phases = phases(&events);
    assert_eq!(phases.len(), 3);
    let summary: Vec<_> =
        phases.iter().map(|phase| (phase.job.as_str(), phase.operation, phase.ranks.len(), phase.bytes)).collect();
    assert_eq!(
        summary,
        [
            ("fill", Operation::Write, 2, 2000),
            ("writer", Operation::Write, 3, 3000),
            ("reader", Operation::Read, 2, 2000)
        ]
    );
    assert_eq!(phases[1].ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(coverage(storage, Operation::Write).len(), 3);
    assert_eq!(coverage(storage, Operation::Read).len(), 2);
}

#[test]
fn a_phase_that_did_nothing_is_invalid_and_one_of_two_ranks_without_work_is_not() {
    let mut idle = job("write", work(Transfer::Write, Order::Sequential));
    // The stonewall comes before the first operation is due.
    idle.limit = Limit { stonewall_ns: Some(1), ..Limit::default() };
    let alone =
        Job { ranks: Some(RankRange { first: 1, count: 1 }), ..job("write", work(Transfer::Write, Order::Random)) };
    let steps = vec![phase_of("idle", vec![idle]), phase_of("one", vec![alone])];
    let (events, place) = run(&plan(SMALL, 2, steps), leak(Watched::obedient()));
    assert_eq!(place.failure(), None);
    let [idle, alone] = phases(&events)[..] else { panic!("{events:?}") };
    assert_eq!((idle.operations, idle.complete, doubts(idle)[0].as_str()), (0, true, "nothing-done"));
    assert!(idle.doubts[0].invalidates);
    assert!(alone.operations == 10 && !doubts(alone).contains(&"nothing-done".to_owned()));
}

#[test]
fn a_failure_before_the_first_operation_is_reported_once() {
    let broken = Watched { answer: |_, _| Err(io::Error::from_raw_os_error(libc::EIO)), ..Watched::obedient() };
    let (events, _) = run(&plan(SMALL, 1, write_and_read(Order::Sequential)), leak(broken));
    let invalid: Vec<_> = phases(&events)[0].doubts.iter().filter(|doubt| doubt.invalidates).collect();
    assert!(matches!(invalid[..], [Doubt { reason: Reason::Failed { .. }, .. }]), "{invalid:?}");
}

/// A transfer that takes so long that only few fit before the stonewall.
fn slow() -> Watched {
    let answer = |_, bytes| {
        std::thread::sleep(std::time::Duration::from_millis(2));
        Ok(bytes)
    };
    Watched { answer, ..Watched::obedient() }
}

#[test]
fn a_stonewall_ends_the_job_and_wear_out_lets_every_rank_do_what_the_first_did() {
    for (wear_out, depth) in [(false, 1), (true, 1), (false, 3), (true, 3)] {
        let set = FileSet { block_bytes: 100 * 1000, ..SMALL };
        let mut write = job("write", work(Transfer::Write, Order::Random));
        write.limit = Limit { stonewall_ns: Some(300_000_000), wear_out, ..Limit::default() };
        let read = phase("read", work(Transfer::Read, Order::Sequential));
        let plan = in_flight(plan(set, 3, vec![phase_of("write", vec![write]), read]), depth);
        let storage = leak(slow());
        let (events, place) = run(&plan, storage);
        assert_eq!(place.failure(), None);
        let write = phases(&events)[0];
        check_sums(write);
        let stonewall = write.stonewall.unwrap();
        assert_eq!(stonewall.at_ns, 300_000_000);
        assert!(write.complete && stonewall.operations > 0 && write.operations < 3000);
        let done: Vec<u64> = write.ranks.iter().map(|rank| rank.operations).collect();
        if wear_out {
            assert_eq!(done, [stonewall.most_operations; 3]);
        } else {
            assert_eq!(done.iter().sum::<u64>(), stonewall.operations);
        }
        // And what was written is what is read back.
        assert_eq!(coverage(storage, Operation::Write), coverage(storage, Operation::Read));
    }
}

#[test]
fn a_rank_that_never_meets_the_stonewall_does_not_keep_the_others_waiting() {
    let mut write = job("write", work(Transfer::Write, Order::Sequential));
    write.limit = Limit { stonewall_ns: Some(60_000_000_000), wear_out: true, ..Limit::default() };
    let (events, _) = run(&plan(SMALL, 3, vec![phase_of("write", vec![write])]), leak(Watched::obedient()));
    assert!(phases(&events)[0].complete && phases(&events)[0].stonewall.is_none());
}

#[test]
fn a_rank_that_is_done_before_the_stonewall_tells_so_before_it_waits_at_a_barrier() {
    let mut write = job("write", DataWork { barriers: true, ..work(Transfer::Write, Order::Sequential) });
    // So late that both ranks have begun, however busy the machine is.
    write.limit = Limit { stonewall_ns: Some(1_000_000_000), wear_out: true, ..Limit::default() };
    let answer = |_, bytes| {
        static STALLED: AtomicBool = AtomicBool::new(false);
        if !STALLED.swap(true, Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(1200));
        }
        Ok(bytes)
    };
    let storage = leak(Watched { answer, ..Watched::obedient() });
    let (events, _) = run(&plan(SMALL, 2, vec![phase_of("write", vec![write])]), storage);
    let write = phases(&events)[0];
    assert!(write.complete && write.stonewall.is_some());
    assert_eq!(write.ranks.iter().map(|rank| rank.operations).collect::<Vec<_>>(), [10, 10]);
}

#[test]
fn work_begins_again_until_the_minimum_duration_is_over() {
    for files_per_rank in [1, 3] {
        let mut write = job("write", work(Transfer::Write, Order::Sequential));
        write.limit = Limit { minimum_ns: Some(20_000_000), ..Limit::default() };
        let set = FileSet { files_per_rank, ..SMALL };
        let storage = leak(Watched::obedient());
        let (events, _) = run(&plan(set, 1, vec![phase_of("write", vec![write])]), storage);
        let write = phases(&events)[0];
        assert!(write.complete && write.duration_ns >= 20_000_000);
        assert!(write.operations > 10 * files_per_rank && write.operations.is_multiple_of(10 * files_per_rank));
        assert_eq!(coverage(storage, Operation::Write).len() as u64, files_per_rank);
        let synced = storage.calls().iter().filter(|call| matches!(call, Call::Sync(_))).count() as u64;
        assert_eq!(synced, files_per_rank, "once per file at the end");
    }
}

#[test]
fn a_rate_is_kept_by_all_ranks_together_and_a_stall_shows_in_every_latency_behind_it() {
    let mut write = job("write", work(Transfer::Write, Order::Sequential));
    // 20 operations of two ranks at 200 per second: 100 ms.
    write.rate = Some(Rate::OperationsPerS(200));
    let stall = Watched {
        answer: |call, bytes| {
            if call == 3 {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            Ok(bytes)
        },
        ..Watched::obedient()
    };
    let (events, _) = run(&plan(SMALL, 2, vec![phase_of("write", vec![write])]), leak(stall));
    let write = phases(&events)[0];
    // The last of a rank's ten operations is due after 90 ms.
    assert!(write.duration_ns >= 90_000_000, "{}", write.duration_ns);
    assert!(doubts(write).contains(&"paced".to_owned()));
    // Three of each rank's operations stood behind the stall of 50 ms: due 10, 20, 30 ms after it began.
    let late = write.latencies.lowest_ns.iter().zip(&write.latencies.count).filter(|(ns, _)| **ns >= 15_000_000);
    assert!(late.map(|(_, count)| count).sum::<u64>() >= 8, "{:?}", write.latencies);
}

#[test]
fn think_time_counts_in_the_phase_and_not_in_the_latencies() {
    for depth in [1, 4] {
        let mut write = job("write", work(Transfer::Write, Order::Sequential));
        write.think = Some(Think { duration_ns: 5_000_000, every_operations: 2 });
        let plan = in_flight(plan(SMALL, 1, vec![phase_of("write", vec![write])]), depth);
        let (events, _) = run(&plan, leak(Watched::obedient()));
        let write = phases(&events)[0];
        assert!(write.complete && write.duration_ns >= 20_000_000, "four pauses between ten operations");
    }
}

#[test]
fn fsync_comes_when_it_was_asked_for() {
    let syncs = |fsync| {
        let mut write = work(Transfer::Write, Order::Sequential);
        write.fsync = fsync;
        let storage = leak(Watched::obedient());
        run(&plan(FileSet { files_per_rank: 2, ..SMALL }, 1, vec![phase("write", write)]), storage);
        let calls = storage.calls();
        calls
            .iter()
            .enumerate()
            .filter(|(_, call)| matches!(call, Call::Sync(_)))
            .map(|(index, _)| index)
            .collect::<Vec<_>>()
    };
    assert!(syncs(Fsync::Never).is_empty());
    assert_eq!(syncs(Fsync::AtClose), [10, 21]);
    assert_eq!(syncs(Fsync::AtEnd), [20, 21]);
    assert_eq!(syncs(Fsync::EveryWrites(4)), [4, 9, 12, 17, 22, 25]);
}

#[test]
fn every_sync_is_timed_as_such_whenever_it_comes() {
    const SYNC_NS: u64 = 2_000_000;
    let sync = || {
        std::thread::sleep(std::time::Duration::from_nanos(SYNC_NS));
        Ok(())
    };
    for (fsync, syncs) in [
        (Fsync::Never, 0),
        (Fsync::AtClose, 2),
        (Fsync::AtEnd, 2),
        (Fsync::EveryWrites(4), 6),
        (Fsync::EveryWrites(1), 22),
    ] {
        let mut write = work(Transfer::Write, Order::Sequential);
        write.fsync = fsync;
        let storage = leak(Watched { sync, ..Watched::obedient() });
        let (events, _) = run(&plan(FileSet { files_per_rank: 2, ..SMALL }, 1, vec![phase("write", write)]), storage);
        let rank = &phases(&events)[0].ranks[0];
        assert!(rank.fsync_ns >= syncs * SYNC_NS, "{fsync:?}: {rank:?}");
        assert!(syncs > 0 || rank.fsync_ns == 0, "{fsync:?}: {rank:?}");
        let parts_ns = rank.open_ns + rank.fill_ns + rank.transfer_ns + rank.fsync_ns + rank.close_ns;
        assert!(parts_ns <= rank.end_ns - rank.start_ns, "{fsync:?}: nothing is counted twice: {rank:?}");
    }
}

/// The write itself takes no time here, so that a latency of bytes that are made would show.
#[test]
fn making_bytes_counts_in_no_latency_and_is_doubted_where_it_takes_long() {
    let large = FileSet { transfer_bytes: 4 << 20, block_bytes: 40 << 20, ..SMALL };
    for depth in [1, 4] {
        let write = |payload| {
            let set = FileSet { payload, ..large };
            let steps = vec![phase("write", work(Transfer::Write, Order::Sequential))];
            let (events, _) = run(&in_flight(plan(set, 1, steps), depth), leak(Watched::obedient()));
            phases(&events)[0].clone()
        };
        for payload in [Payload::Unique {}, Payload::IorRandom { signature: 1 }] {
            let write = write(payload);
            let (rank, quickest_ns) = (&write.ranks[0], write.latencies.lowest_ns[0]);
            assert!(rank.fill_ns > rank.transfer_ns, "depth {depth}: {rank:?}");
            assert!(quickest_ns < rank.fill_ns / 10, "depth {depth}: {quickest_ns} ns of {} ns for ten", rank.fill_ns);
            assert!(doubts(&write).contains(&"payload-bound".to_owned()), "depth {depth}");
        }
        let repeated = write(Payload::Repeated {});
        assert_eq!(repeated.ranks[0].fill_ns, 0, "depth {depth}");
        assert!(!doubts(&repeated).contains(&"payload-bound".to_owned()), "depth {depth}");
    }
}

#[test]
fn what_is_read_is_compared_with_what_was_written_and_a_difference_fails_the_run() {
    // This storage reports success and copies nothing, so a read finds what the buffer held before. With one transfer in a
    // file that would be just what is expected.
    for (depth, block_bytes) in [(1, 1000), (3, 1000), (1, 100), (3, 100)] {
        for payload in [Payload::Unique {}, Payload::IorTimestamp { signature: 5 }] {
            let set = FileSet { payload, block_bytes, ..SMALL };
            let mut read = work(Transfer::Read, Order::Sequential);
            read.verify = Some(Verify::Reads);
            let steps = vec![phase("write", work(Transfer::Write, Order::Sequential)), phase("read", read)];
            let (events, place) = run(&compared_in_flight(plan(set, 1, steps), depth), leak(Watched::obedient()));
            let failure = place.failure().unwrap();
            assert_eq!(failure.operation, "verify");
            let parts =
                ["c1.data.00000000: at offset ", "the read reported success and copied nothing", " was written"];
            assert!(parts.iter().all(|part| failure.message.contains(part)), "{}", failure.message);
            assert!(
                failure.message.ends_with("failed: it too reported success and copied nothing"),
                "{}",
                failure.message
            );
            assert!(
                failure.remedy.starts_with("a read that copies nothing is no corrupted data"),
                "{}",
                failure.remedy
            );
            assert!(!phases(&events)[1].complete);
        }
    }
}

#[test]
fn what_was_written_is_read_back_at_once_where_that_is_asked_for() {
    let mut write = work(Transfer::Write, Order::Sequential);
    write.verify = Some(Verify::Writes);
    let steps = vec![phase("write", write)];
    for (api, depth) in [("posix", 1), ("uring", 3)] {
        let mut plan = plan(FileSet { payload: Payload::Unique {}, ..SMALL }, 1, steps.clone());
        plan.storage = Storage { depth, ..Storage::of(api) };
        let (events, place) = run_by(target().path(), &plan, &storage::of_plan);
        assert_eq!(place.failure(), None, "{api}");
        assert_eq!(phases(&events)[0].operations, 10, "the read back is part of the write");
        assert!(doubts(phases(&events)[0]).contains(&"verification-timed".to_owned()));
    }
    // What is read back lies where it was written from: a read that copies nothing would find it there.
    for depth in [1, 3] {
        let storage = leak(Watched::obedient());
        let set = FileSet { payload: Payload::Unique {}, ..SMALL };
        let (_, place) = run(&compared_in_flight(plan(set, 1, steps.clone()), depth), storage);
        let failure = place.failure().unwrap();
        assert!(failure.message.contains("the read reported success and copied nothing"), "{}", failure.message);
        assert!(!coverage(storage, Operation::Write).is_empty());
    }
}
