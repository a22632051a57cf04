//! Checkpoints on real files: ranks are threads here; everything else is real.

use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::support::{check_sums, doubts, phases, run_and_keep, run_in_workspace};
use ioassay_engine::plan::{Sizes, parse};
use ioassay_engine::ranks::local::MeetingPlace;
use ioassay_engine::storage;
use ioassay_engine::work::amounts;
use ioassay_engine::workspace::Workspace;
use ioassay_engine::workspace::contents::Contents;
use ioassay_protocol::events::{CheckpointRecord, Event, PhaseRecord};
use ioassay_protocol::plan::{Operation, Plan};
use serde_json::{Value, json};

/// Bytes of one generation of the model below, whatever the number of ranks: 14 of each parameter.
const GENERATION_BYTES: u64 = 14 * (2 * 1000 * 96 + 5 * (2 * 96 + 96 * (96 + 2 * 24) + 96 * 96 + 3 * 200 * 96) + 96);

/// A small model on 4 ranks, two tensor shards and two data-parallel instances, and these steps.
fn text(target: &Path, steps: &[Value]) -> Value {
    json!({
        "version": ioassay_protocol::VERSION, "run": "r1", "case": "c1",
        "target": {"directory": target}, "storage": {"api": "posix"},
        "ranks": {"clients": 4, "per_client": 1},
        "checkpoints": {"small": {
            "model": {"transformer": {"layers": 5, "hidden": 96, "feed_forward": 200, "heads": 4, "kv_heads": 1,
                "vocabulary": 1000}},
            "model_bytes": 2, "optimizer_bytes": 12, "tensor": 2, "pipeline": 1, "zero": 1, "keep": 2,
        }},
        "steps": steps, "seed": 7, "sample_interval_ns": 10_000_000,
    })
}

fn step(name: &str, operation: &Value) -> Value {
    let work = json!({"kind": "checkpoint", "checkpoint": "small", "transfer_bytes": 100_000, "operation": operation});
    json!({"step": "phase", "name": name, "jobs": [{"name": "j", "work": work}]})
}

fn save(count: u64, rename: bool) -> Value {
    let save =
        json!({"kind": "save", "count": count, "every_ns": 0, "compute": "sleep", "fsync": true, "rename": rename});
    step("save", &save)
}

fn restore(count: u64, shift: u64) -> Value {
    step("restore", &json!({"kind": "restore", "count": count, "shift": shift, "verify": true}))
}

fn plan(target: &Path, steps: &[Value]) -> Plan {
    parse(text(target, steps).to_string().as_bytes()).unwrap()
}

fn run(plan: &Plan) -> (Vec<Event>, MeetingPlace, Workspace) {
    run_and_keep(plan, &|name| storage::by_name(name).unwrap())
}

fn record(events: &[Event], phase: &str, operation: Operation) -> PhaseRecord {
    let record = phases(events).into_iter().find(|record| record.name == phase && record.operation == operation);
    record.unwrap_or_else(|| panic!("no {operation:?} in {phase}")).clone()
}

/// Names of the files in the workspace, with their sizes.
fn files(workspace: &Workspace) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(workspace.path()).unwrap().map(|entry| entry.unwrap());
    let named = entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()));
    let mut files: Vec<_> = named.filter(|(name, _)| name.starts_with("c1.")).collect();
    files.sort();
    files
}

#[test]
fn all_of_the_state_is_saved_and_what_is_restored_is_what_was_saved() {
    for (rename, shift) in [(true, 0), (false, 3)] {
        let target = crate::support::target();
        let plan = plan(target.path(), &[save(3, rename), restore(2, shift)]);
        let (events, place, workspace) = run(&plan);
        assert_eq!(place.failure(), None);
        // Of three generations two are kept. Two ranks write the model, and all the optimizer's state.
        let files = files(&workspace);
        assert_eq!(files.len(), 2 * (2 + 4), "{files:?}");
        assert_eq!(files.iter().map(|(_, bytes)| bytes).sum::<u64>(), 2 * GENERATION_BYTES);
        assert!(files.iter().all(|(name, _)| !name.ends_with("unfinished")));
        let written = record(&events, "save", Operation::Write);
        check_sums(&written);
        assert_eq!((written.bytes, written.complete), (3 * GENERATION_BYTES, true));
        assert!(!doubts(&written).contains(&"unsynced-write".to_owned()));
        let read = record(&events, "restore", Operation::Read);
        check_sums(&read);
        assert_eq!((read.bytes, read.complete), (2 * GENERATION_BYTES, true));
        let amounts = amounts::of_plan(&plan);
        assert_eq!(amounts.written_bytes, written.bytes);
        for (job, phase, generations, moved) in [(0, "save", 0..3, &written), (1, "restore", 1..3, &read)] {
            let generations: Vec<u64> = generations.collect();
            let all = record(&events, phase, Operation::Checkpoint);
            assert_eq!(all.operations, 4 * generations.len() as u64);
            assert_eq!(amounts.jobs[job].operations, moved.operations + all.operations);
            assert_eq!((amounts.jobs[job].bytes, amounts.jobs[job].files), (moved.bytes, 6));
            for (rank, moved) in all.ranks.iter().zip(&moved.ranks) {
                let of = |value: fn(&CheckpointRecord) -> u64| rank.checkpoints.iter().map(value).collect::<Vec<_>>();
                assert_eq!(of(|generation| generation.generation), generations);
                assert_eq!(of(|generation| generation.bytes).iter().sum::<u64>(), moved.bytes);
                assert!(rank.checkpoints.iter().all(|record| record.fill_ns + record.fsync_ns < record.own_ns));
                assert!(rank.checkpoints.iter().all(|record| 0 < record.own_ns && record.own_ns <= record.stall_ns));
                assert!(
                    rank.checkpoints.is_sorted_by(|record, next| record.begin_ns + record.stall_ns <= next.begin_ns)
                );
                assert!(of(|record| record.begin_ns + record.stall_ns).iter().all(|&end_ns| end_ns <= all.duration_ns));
                assert_eq!(of(|record| record.fsync_ns).iter().all(|&fsync_ns| fsync_ns > 0), phase == "save");
                assert!(moved.checkpoints.is_empty());
            }
        }
        assert_eq!(workspace.remove().left, []);
        assert!(!workspace.path().exists());
    }
}

#[test]
fn saves_continue_the_generations_of_earlier_phases_and_training_stands_still_for_nobody_longer_than_for_the_slowest() {
    let target = crate::support::target();
    let mut second = save(2, false);
    second["name"] = json!("again");
    second["jobs"][0]["work"]["operation"]["every_ns"] = json!(50_000_000);
    let (events, place, workspace) = run(&plan(target.path(), &[save(1, true), second, restore(1, 0)]));
    assert_eq!(place.failure(), None);
    let is_paced = |phase| doubts(&record(&events, phase, Operation::Write)).contains(&"paced".to_owned());
    assert_eq!((is_paced("save"), is_paced("again")), (false, true));
    let again = record(&events, "again", Operation::Checkpoint);
    for rank in &again.ranks {
        let [first, last] = rank.checkpoints[..] else { panic!("two generations") };
        assert_eq!((first.generation, last.generation), (1, 2));
        assert!(first.begin_ns >= 50_000_000, "ranks compute before each save: {first:?}");
        assert!(last.begin_ns - (first.begin_ns + first.stall_ns) >= 50_000_000, "{first:?} {last:?}");
    }
    // Ranks wait for each other after each generation.
    for nth in 0..2 {
        let ends = again.ranks.iter().map(|rank| rank.checkpoints[nth]).map(|record| record.begin_ns + record.stall_ns);
        let own_ends =
            again.ranks.iter().map(|rank| rank.checkpoints[nth]).map(|record| record.begin_ns + record.own_ns);
        assert!(ends.min().unwrap() >= own_ends.max().unwrap());
    }
    let restored = record(&events, "restore", Operation::Checkpoint);
    assert!(restored.ranks.iter().all(|rank| rank.checkpoints[0].generation == 2));
    assert_eq!(workspace.remove().left, []);
}

#[test]
fn direct_io_fills_files_up_to_whole_sectors() {
    let target = crate::support::target();
    let mut text = text(target.path(), &[save(1, true), restore(1, 0)]);
    text["storage"] = json!({"api": "posix", "direct": true});
    let refusal = parse(text.to_string().as_bytes()).unwrap_err();
    assert_eq!(
        (refusal.key.as_str(), refusal.valid.as_str()),
        ("steps[0].jobs[0].work.transfer_bytes", "use a multiple of 512")
    );
    for step in text["steps"].as_array_mut().unwrap() {
        step["jobs"][0]["work"]["transfer_bytes"] = json!(65_536);
    }
    let plan = parse(text.to_string().as_bytes()).unwrap();
    ioassay_engine::plan::validate_alignment(&plan, 4096).unwrap();
    let (events, place, workspace) = run(&plan);
    assert_eq!(place.failure(), None);
    let bytes: Vec<u64> = files(&workspace).iter().map(|(_, bytes)| *bytes).collect();
    assert!(bytes.iter().all(|bytes| bytes.is_multiple_of(4096)));
    let all_bytes = bytes.iter().sum::<u64>();
    assert!((GENERATION_BYTES..GENERATION_BYTES + 6 * 4096).contains(&all_bytes) && all_bytes > GENERATION_BYTES);
    assert_eq!(plan.stored_bytes(), all_bytes);
    for (phase, operation) in [("save", Operation::Write), ("restore", Operation::Read)] {
        assert_eq!(record(&events, phase, operation).bytes, all_bytes);
    }
    assert_eq!(workspace.remove().left, []);
}

/// A save beside computation of `every_ns` before each generation, whose copy takes some 10 ms.
fn save_in_background(count: u64, every_ns: u64) -> Value {
    let mut save = save(count, true);
    save["jobs"][0]["work"]["operation"]["every_ns"] = json!(every_ns);
    save["jobs"][0]["work"]["operation"]["background"] = json!({"copy_bytes_per_s": 100 * GENERATION_BYTES / 4});
    save
}

#[test]
fn saves_beside_computation_stall_it_for_the_copy_alone_and_are_complete_in_the_end() {
    let target = crate::support::target();
    let (events, place, workspace) = run(&plan(target.path(), &[save_in_background(3, 500_000_000), restore(2, 1)]));
    assert_eq!(place.failure(), None);
    assert_eq!(files(&workspace).iter().map(|(_, bytes)| bytes).sum::<u64>(), 2 * GENERATION_BYTES);
    assert!(files(&workspace).iter().all(|(name, _)| !name.ends_with("unfinished")));
    let written = record(&events, "save", Operation::Write);
    check_sums(&written);
    assert_eq!((written.bytes, written.complete), (3 * GENERATION_BYTES, true));
    assert!(!doubts(&written).contains(&"unsynced-write".to_owned()));
    let saved = record(&events, "save", Operation::Checkpoint);
    assert_eq!(saved.operations, 12);
    for (rank, moved) in saved.ranks.iter().zip(&written.ranks) {
        let generations: Vec<u64> = rank.checkpoints.iter().map(|record| record.generation).collect();
        assert_eq!(generations, [0, 1, 2]);
        assert_eq!(rank.checkpoints.iter().map(|record| record.bytes).sum::<u64>(), moved.bytes);
        let copy_ns = moved.bytes / 3 * 1_000_000_000 / (100 * GENERATION_BYTES / 4);
        for record in &rank.checkpoints {
            assert!(record.stall_ns >= copy_ns, "{record:?}");
            // Half a second is enough for a megabyte, so that no save waits for the one before.
            assert!(record.stall_ns < copy_ns + 200_000_000, "{record:?}");
            assert!(record.own_ns > record.fsync_ns && record.fsync_ns > 0, "{record:?}");
        }
    }
    // What is restored is compared with what was written.
    assert_eq!(record(&events, "restore", Operation::Read).bytes, 2 * GENERATION_BYTES);
    assert_eq!(workspace.remove().left, []);
}

#[test]
fn a_save_beside_computation_waits_until_all_ranks_have_completed_the_one_before() {
    let target = crate::support::target();
    let (events, place, workspace) = run(&plan(target.path(), &[save_in_background(4, 0)]));
    assert_eq!(place.failure(), None);
    let saved = record(&events, "save", Operation::Checkpoint);
    for nth in 1..4 {
        let of =
            |value: fn(&CheckpointRecord) -> u64| saved.ranks.iter().map(move |rank| value(&rank.checkpoints[nth]));
        let before = saved.ranks.iter().map(|rank| rank.checkpoints[nth - 1]);
        let complete_ns = before.map(|record| record.begin_ns + record.stall_ns + record.own_ns).max().unwrap();
        let computes_again_ns = of(|record| record.begin_ns + record.stall_ns).min().unwrap();
        assert!(computes_again_ns >= complete_ns, "generation {nth}: {saved:?}");
    }
    assert_eq!(files(&workspace).len(), 2 * 6);
    assert_eq!(workspace.remove().left, []);
}

#[test]
fn a_failure_of_the_thread_ends_the_phase() {
    let target = crate::support::target();
    let plan = plan(target.path(), &[save_in_background(2, 0)]);
    let workspace = Workspace::create(&plan, &Contents::of(&plan)).unwrap();
    // Something has the name of a file that is to be new.
    std::fs::create_dir(workspace.path().join("c1.small.1.model.000001.unfinished")).unwrap();
    let (_, place) = run_in_workspace(&plan, &|name| storage::by_name(name).unwrap(), &workspace);
    let failure = place.failure().unwrap();
    assert_eq!((failure.operation.as_str(), failure.rank), ("open", Some(1)));
    std::fs::remove_dir(workspace.path().join("c1.small.1.model.000001.unfinished")).unwrap();
    assert_eq!(workspace.remove().left, []);
}

#[test]
fn bytes_that_were_changed_end_a_restore_and_are_named() {
    let target = crate::support::target();
    let pause = json!({"step": "pause", "duration_ns": 1_000_000_000});
    let plan = plan(target.path(), &[save(1, true), pause, restore(1, 0)]);
    let workspace = Workspace::create(&plan, &Contents::of(&plan)).unwrap();
    let path = workspace.path().join("c1.small.0.optimizer.000003");
    let (_, place) = std::thread::scope(|scope| {
        scope.spawn(|| {
            // It has its name when it is complete.
            let file = loop {
                match std::fs::File::options().write(true).open(&path) {
                    Ok(file) => break file,
                    Err(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
                }
            };
            file.write_all_at(b"other", 150_000).unwrap();
        });
        run_in_workspace(&plan, &|name| storage::by_name(name).unwrap(), &workspace)
    });
    let failure = place.failure().unwrap();
    assert!(
        failure.message.contains("generation 0, from byte 150000 on, has other bytes than were written"),
        "{failure:?}"
    );
    assert!(failure.path.unwrap().ends_with("c1.small.0.optimizer.000003"));
    assert_eq!(workspace.remove().left, []);
}

#[test]
fn the_target_needs_room_for_one_generation_more_than_is_kept() {
    let of = |saves| plan(Path::new("/"), &[save(saves, true)]);
    assert_eq!(of(1).stored_bytes(), GENERATION_BYTES);
    assert_eq!((of(9).stored_bytes(), of(9).sure_bytes()), (3 * GENERATION_BYTES, 3 * GENERATION_BYTES));
    assert_eq!((of(9).entries(), of(9).sure_entries()), (3 * 6, 3 * 6));
}

#[test]
fn what_cannot_be_saved_or_restored_is_refused_with_what_to_write() {
    let refused = |steps: &[Value], change: &dyn Fn(&mut Value)| {
        let mut text = text(Path::new("/"), steps);
        change(&mut text);
        let refusal = parse(text.to_string().as_bytes()).unwrap_err();
        (refusal.key, refusal.valid)
    };
    let unchanged = |_: &mut Value| {};
    let of_checkpoint = |key: &str, value: Value| {
        let (refused_key, valid) = refused(&[save(1, true)], &|text| text["checkpoints"]["small"][key] = value.clone());
        assert_eq!(refused_key, format!("checkpoints.small.{key}"));
        valid
    };
    assert_eq!(of_checkpoint("tensor", json!(3)), "use 3 or 6 ranks");
    assert_eq!(of_checkpoint("tensor", json!(8)), "use 8 ranks, or split the model less");
    assert_eq!(of_checkpoint("keep", json!(0)), "use 1 or more");
    assert_eq!(of_checkpoint("zero", json!(4)), "use 0, 1, 2 or 3");
    assert_eq!(of_checkpoint("pipeline", json!(6)), "use at most 5");
    let (key, _) = refused(&[save(1, true)], &|text| {
        text["checkpoints"]["small"]["model"] = json!({"parameters": u64::MAX});
    });
    assert_eq!(key, "checkpoints.small.model");
    let (key, valid) = refused(&[restore(1, 0)], &unchanged);
    assert_eq!((key.as_str(), valid.as_str()), ("steps[0].jobs[0].work.checkpoint", "save it in an earlier phase"));
    let (key, valid) = refused(&[save(5, true), restore(3, 0)], &unchanged);
    assert_eq!(key, "steps[1].jobs[0].work.operation.count");
    assert_eq!(valid, "use at most 2, or save and keep more");
    let (key, _) = refused(&[save(1, true), restore(1, 4)], &unchanged);
    assert_eq!(key, "steps[1].jobs[0].work.operation.shift");
    let (key, valid) =
        refused(&[save(1, true)], &|text| text["steps"][0]["jobs"][0]["work"]["checkpoint"] = json!("large"));
    assert_eq!((key.as_str(), valid.as_str()), ("steps[0].jobs[0].work.checkpoint", "use small"));
    let (key, _) = refused(&[save(1, true)], &|text| {
        text["steps"][0]["jobs"][0]["ranks"] = json!({"first": 0, "count": 2});
    });
    assert_eq!(key, "steps[0].jobs[0].work.checkpoint");
}

#[test]
fn a_save_that_nothing_forces_to_storage_is_doubted() {
    for (fsync, is_doubted) in [(true, false), (false, true)] {
        let target = crate::support::target();
        let mut step = save(1, true);
        step["jobs"][0]["work"]["operation"]["fsync"] = json!(fsync);
        let (events, place, workspace) = run(&plan(target.path(), &[step]));
        assert_eq!(place.failure(), None);
        let doubts = doubts(&record(&events, "save", Operation::Write));
        assert_eq!(doubts.contains(&"unsynced-write".to_owned()), is_doubted, "{doubts:?}");
        assert_eq!(workspace.remove().left, []);
    }
}
