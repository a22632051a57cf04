//! What of the files is in the page cache, which is the machine's: other programs that empty caches, or need the memory,
//! change it, so these tests are run without such neighbours (`make test-machine`).

mod support;

use ioassay_engine::storage;
use ioassay_protocol::doubt::Reason;
use ioassay_protocol::events::Event;
use ioassay_protocol::plan::cache::CacheStep;
use ioassay_protocol::plan::data::{Advice, DataWork, FileSet, Layout, Order, Source, Transfer};
use ioassay_protocol::plan::pace::{Limit, Rate};
use ioassay_protocol::plan::storage::Storage;
use ioassay_protocol::plan::{CacheMethod, Job, Operation, RankRange, Step};
use serde_json::{Value, json};
use support::*;

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

/// Runs a plan that writes, reads as `warm`, empties caches, and reads as `cold`: memory served the first of the reads.
fn assert_memory_served_only_the_warm_read(target: &std::path::Path, what: &str, plan: &Value) {
    let mut text = plan.clone();
    for (key, value) in [
        ("version", json!(ioassay_protocol::VERSION)),
        ("run", json!("r1")),
        ("case", json!("c1")),
        ("target", json!({"directory": target})),
        ("storage", json!({"api": "posix"})),
        ("seed", json!(7)),
        ("sample_interval_ns", json!(10_000_000)),
    ] {
        text[key] = value;
    }
    let plan = ioassay_engine::plan::parse(text.to_string().as_bytes()).unwrap();
    let (events, place, workspace) = run_and_keep(&plan, &storage::of_plan);
    assert_eq!(place.failure(), None);
    let read = |name: &str| {
        let record = phases(&events).into_iter().find(|phase| phase.name == name && phase.operation == Operation::Read);
        record.unwrap_or_else(|| panic!("{name} reads")).clone()
    };
    let (warm, cold) = (read("warm"), read("cold"));
    assert_eq!(warm.resident_bytes_before, Some(warm.bytes), "what was just written is in memory");
    let doubt = warm.doubts.iter().find(|doubt| doubt.message.contains(what)).unwrap();
    assert!(doubt.message.starts_with(&format!("100 % {what}")), "{doubt:?}");
    let emptied = events.iter().find_map(|event| if let Event::ColdCache(cold) = event { Some(cold) } else { None });
    assert!(emptied.unwrap().attempts[0].done);
    assert!(cold.resident_bytes_before.unwrap() * 100 <= cold.bytes, "{cold:?}");
    assert!(!doubts(&cold).contains(&"cache-resident".to_owned()));
    assert_eq!(workspace.remove().left, []);
}

fn step(name: &str, work: &Value) -> Value {
    json!({"step": "phase", "name": name, "jobs": [{"name": "j", "work": work}]})
}

#[test]
fn an_epoch_that_memory_served_is_doubted_with_its_share_and_one_after_cold_caches_is_not() {
    let target = target();
    let work = |operation: Value| json!({"kind": "train", "dataset": "images", "operation": operation});
    let epoch = work(json!({
        "kind": "epoch", "number": 0, "batch": 4, "loader_threads": 1, "prefetch": 2, "shuffle": "samples",
        "drop_last": true, "compute_ns": 0, "compute": "sleep", "verify": true,
    }));
    let plan = json!({
        "ranks": {"clients": 2, "per_client": 1},
        "datasets": {"images": {
            "samples": 48, "samples_per_file": 1, "seed": 3,
            "sizes": {"normal": {"mean_bytes": 20_000, "standard_deviation_bytes": 6_000, "least_bytes": 100}},
        }},
        "steps": [
            step("create", &work(json!({"kind": "create", "fsync": true}))), step("warm", &epoch),
            {"step": "cold-cache", "attempts": ["fadvise"]}, step("cold", &epoch),
        ],
    });
    assert_memory_served_only_the_warm_read(target.path(), "of the dataset", &plan);
}

#[test]
fn a_restore_that_memory_served_is_doubted_and_one_after_cold_caches_is_not() {
    for shift in [0, 1] {
        let target = target();
        let work = |operation: Value| json!({"kind": "checkpoint", "checkpoint": "small", "transfer_bytes": 100_000, "operation": operation});
        let save = |fsync| {
            work(json!({"kind": "save", "count": 1, "every_ns": 0, "compute": "sleep", "fsync": fsync, "rename": true}))
        };
        let restore = work(json!({"kind": "restore", "count": 1, "shift": shift, "verify": true}));
        let plan = json!({
            "ranks": {"clients": 4, "per_client": 1},
            "checkpoints": {"small": {
                "model": {"parameters": 500_000}, "model_bytes": 2, "optimizer_bytes": 12, "tensor": 2, "pipeline": 1,
                "zero": 1, "keep": 2,
            }},
            "steps": [
                step("save", &save(false)), step("warm", &restore), step("synced", &save(true)),
                {"step": "cold-cache", "attempts": ["fadvise"]}, step("cold", &restore),
            ],
        });
        assert_memory_served_only_the_warm_read(target.path(), "of the checkpoint", &plan);
    }
}
