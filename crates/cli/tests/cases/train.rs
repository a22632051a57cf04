//! Training on real files: ranks are threads here, and so are those of data loaders; everything else is real.

use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::support::{phases, run_and_keep, run_in_workspace};
use ioassay_engine::plan::parse;
use ioassay_engine::ranks::local::MeetingPlace;
use ioassay_engine::storage;
use ioassay_engine::workload::step_times::StepTimes;
use ioassay_engine::workspace::Workspace;
use ioassay_protocol::events::{Event, PhaseRecord, TrainingRecord};
use ioassay_protocol::plan::train::TrainOperation;
use ioassay_protocol::plan::{Operation, Plan, Step, Work};
use serde_json::{Value, json};

const SAMPLES: u64 = 48;

/// A dataset of samples of about 20 kB, `per_file` of them in each file, and then an epoch like this.
fn text(target: &Path, ranks: u64, per_file: u64, epoch: &Value) -> Value {
    let step = |name: &str, operation: &Value| {
        let work = json!({"kind": "train", "dataset": "images", "operation": operation});
        json!({"step": "phase", "name": name, "jobs": [{"name": "j", "work": work}]})
    };
    json!({
        "version": ioassay_protocol::VERSION, "run": "r1", "case": "c1",
        "target": {"directory": target}, "storage": {"api": "posix"},
        "ranks": {"clients": ranks, "per_client": 1},
        "datasets": {"images": {
            "samples": SAMPLES, "samples_per_file": per_file, "seed": 3,
            "sizes": {"normal": {"mean_bytes": 20_000, "standard_deviation_bytes": 6_000, "least_bytes": 100}},
        }},
        "steps": [step("create", &json!({"kind": "create", "fsync": true})), step("epoch", epoch)],
        "seed": 7, "sample_interval_ns": 10_000_000,
    })
}

fn plan(target: &Path, ranks: u64, per_file: u64, epoch: &Value) -> Plan {
    parse(text(target, ranks, per_file, epoch).to_string().as_bytes()).unwrap()
}

fn epoch(loader_threads: u64, batch: u64) -> Value {
    json!({
        "kind": "epoch", "number": 0, "batch": batch, "loader_threads": loader_threads, "prefetch": 2,
        "shuffle": "samples", "drop_last": true, "compute_ns": 0, "compute": "sleep", "verify": true,
    })
}

fn run(plan: &Plan) -> (Vec<Event>, MeetingPlace, Workspace) {
    run_and_keep(plan, &|name| storage::by_name(name).unwrap())
}

fn record(events: &[Event], phase: &str, operation: Operation) -> PhaseRecord {
    let record = phases(events).into_iter().find(|record| record.name == phase && record.operation == operation);
    record.unwrap_or_else(|| panic!("no {operation:?} in {phase}")).clone()
}

fn training(record: &PhaseRecord) -> Vec<TrainingRecord> {
    record.ranks.iter().map(|rank| rank.training.unwrap()).collect()
}

/// Every file with its bytes, by name.
fn files(workspace: &Workspace) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(workspace.path()).unwrap().map(|entry| entry.unwrap());
    let named = entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()));
    let mut files: Vec<_> = named.filter(|(name, _)| name.starts_with("c1.")).collect();
    files.sort();
    files
}

#[test]
fn every_sample_of_an_epoch_is_read_and_is_what_was_written() {
    for (ranks, per_file, threads) in [(1, 1, 0), (2, 1, 1), (3, 4, 3)] {
        let target = crate::support::target();
        let (events, place, workspace) = run(&plan(target.path(), ranks, per_file, &epoch(threads, 4)));
        assert_eq!(place.failure(), None);
        let bytes: u64 = files(&workspace).iter().map(|(_, bytes)| bytes.len() as u64).sum();
        assert_eq!(files(&workspace).len() as u64, SAMPLES / per_file);
        let created = record(&events, "create", Operation::Write);
        assert_eq!((created.bytes, created.operations), (bytes, SAMPLES / per_file));
        let read = record(&events, "epoch", Operation::Read);
        assert_eq!((read.bytes, read.operations, read.complete), (bytes, SAMPLES, true));
        assert_eq!(read.latencies.count.iter().sum::<u64>(), SAMPLES);
        let steps = record(&events, "epoch", Operation::Step);
        assert_eq!((steps.operations, steps.bytes), (SAMPLES / 4, 0));
        let all = training(&steps);
        assert_eq!(
            all.iter()
                .map(|rank| (rank.samples, rank.asked_bytes))
                .fold((0, 0), |(samples, sum), rank| { (samples + rank.0, sum + rank.1) }),
            (SAMPLES, bytes)
        );
        for rank in &all {
            assert_eq!(u64::from(rank.loader_threads), threads);
            assert!(0 < rank.first_batch_ns && rank.first_batch_ns <= rank.first_step_ns);
            assert!(rank.first_step_ns < rank.last_step_ns && rank.last_step_ns <= steps.duration_ns);
            assert!(rank.loader_busy_ns > 0 && rank.loader_processor_ns > 0, "{rank:?}");
        }
        assert!(read.ranks.iter().all(|rank| rank.training.is_none()));
        assert_eq!(workspace.remove().left, []);
        assert!(!workspace.path().exists());
    }
}

/// Changes of a dataset, and how many of its files hold samples.
const CONTAINERS: [(&str, u64, u64); 6] =
    [("tfrecord", 1, 0), ("tfrecord", 6, 5), ("npz", 1, 4), ("parquet", 1, 0), ("parquet", 24, 0), ("raw", 2, 7)];

#[test]
fn samples_in_containers_and_subfolders_are_read_back_and_everything_is_removed() {
    for (container, per_file, subfolders) in CONTAINERS {
        for (ranks, threads) in [(1, 0), (3, 2)] {
            let target = crate::support::target();
            let mut text = text(target.path(), ranks, per_file, &epoch(threads, 4));
            text["datasets"]["images"]["container"] = json!(container);
            text["datasets"]["images"]["subfolders"] = json!(subfolders);
            let plan = parse(text.to_string().as_bytes()).unwrap();
            let (events, place, workspace) = run(&plan);
            assert_eq!(place.failure(), None, "{container}");
            let files = all_files(workspace.path());
            let folders: std::collections::BTreeSet<_> = files.iter().map(|(path, _)| path.parent()).collect();
            assert_eq!(folders.len() as u64, subfolders.max(1));
            let is_index = |path: &Path| path.extension().is_some_and(|extension| extension == "idx");
            let (indices, data): (Vec<_>, Vec<_>) = files.iter().partition(|(path, _)| is_index(path));
            assert_eq!(data.len() as u64, SAMPLES / per_file);
            assert_eq!(indices.len(), if container == "tfrecord" { data.len() } else { 0 });
            let bytes =
                |of: &[&(std::path::PathBuf, Vec<u8>)]| of.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
            let created = record(&events, "create", Operation::Write);
            assert_eq!((created.bytes, created.operations), (bytes(&data) + bytes(&indices), files.len() as u64));
            let read = record(&events, "epoch", Operation::Read);
            assert_eq!(
                (read.operations, read.complete),
                (SAMPLES, true),
                "each sample was compared with what was written"
            );
            if container == "parquet" {
                // Four bytes begin a file, and a file of several samples is opened more than once.
                assert!(read.bytes + 4 * data.len() as u64 >= bytes(&data));
            } else {
                assert_eq!(read.bytes, bytes(&data));
            }
            for (path, lines) in indices {
                let lines = String::from_utf8(lines.clone()).unwrap();
                let whole = std::fs::read(path.with_extension("")).unwrap();
                assert_eq!(lines.lines().count() as u64, per_file);
                let mut end = 0;
                for line in lines.lines() {
                    let (offset, length) = line.split_once(' ').unwrap();
                    let (offset, length): (usize, usize) = (offset.parse().unwrap(), length.parse().unwrap());
                    assert_eq!(offset, end);
                    let size = u64::from_le_bytes(whole[offset..offset + 8].try_into().unwrap());
                    assert_eq!(size as usize + 16, length);
                    end = offset + length;
                }
                assert_eq!(end, whole.len());
            }
            assert_eq!(workspace.remove().left, []);
            assert!(!workspace.path().exists());
        }
    }
}

#[test]
fn batches_that_are_held_and_samples_that_are_read_in_part_are_what_was_written() {
    for (direct, ranks, threads) in [(false, 2, 2), (false, 1, 0), (true, 2, 1)] {
        let target = crate::support::target();
        let mut work = epoch(threads, 4);
        work["hold_batches"] = json!(true);
        work["compute_ns"] = json!(2_000_000);
        let mut text = text(target.path(), ranks, 4, &work);
        let mut part = work.clone();
        (part["read_bytes"], part["samples"], part["evaluation"]) = (json!(5_000), json!(24), json!(true));
        let mut evaluation = text["steps"][1].clone();
        evaluation["name"] = json!("evaluation");
        evaluation["jobs"][0]["work"]["operation"] = part;
        text["steps"].as_array_mut().unwrap().push(evaluation);
        for step in 1..3 {
            text["steps"][step]["jobs"][0]["storage"] = json!({"api": "posix", "direct": direct});
        }
        let plan = parse(text.to_string().as_bytes()).unwrap();
        let (events, place, workspace) = run(&plan);
        assert_eq!(place.failure(), None);
        let bytes: u64 = files(&workspace).iter().map(|(_, bytes)| bytes.len() as u64).sum();
        let whole = record(&events, "epoch", Operation::Read);
        assert_eq!(whole.operations, SAMPLES);
        assert!(if direct { whole.bytes > bytes } else { whole.bytes == bytes }, "{} of {bytes}", whole.bytes);
        let read = record(&events, "evaluation", Operation::Read);
        assert_eq!(read.operations, 24);
        // Each sample of 20 kB has more than these, but for one that may be very small.
        assert!(read.bytes >= 23 * 5_000 && (direct || read.bytes <= 24 * 5_000), "{}", read.bytes);
        let evaluated = training(&record(&events, "evaluation", Operation::Step));
        assert!(evaluated.iter().all(|rank| rank.evaluation));
        assert!(evaluated.iter().map(|rank| rank.asked_bytes).sum::<u64>() <= 24 * 5_000);
        assert!(training(&record(&events, "epoch", Operation::Step)).iter().all(|rank| !rank.evaluation));
        assert_eq!(workspace.remove().left, []);
    }
}

#[test]
fn epochs_read_by_every_way_of_local_files() {
    for (api, direct) in [("mmap", false), ("uring", false), ("uring", true), ("posix", true)] {
        for per_file in [1, 4] {
            let target = crate::support::target();
            let mut text = text(target.path(), 2, per_file, &epoch(2, 4));
            text["steps"][1]["jobs"][0]["storage"] = json!({"api": api, "direct": direct});
            let plan = parse(text.to_string().as_bytes()).unwrap();
            let (events, place, workspace) = run(&plan);
            assert_eq!(place.failure(), None, "{api}");
            let bytes: u64 = files(&workspace).iter().map(|(_, bytes)| bytes.len() as u64).sum();
            let read = record(&events, "epoch", Operation::Read);
            assert_eq!((read.operations, read.complete), (SAMPLES, true));
            assert!(if direct { read.bytes >= bytes } else { read.bytes == bytes }, "{api}: {} of {bytes}", read.bytes);
            assert_eq!(workspace.remove().left, []);
        }
    }
}

#[test]
fn steps_compute_as_long_as_their_distribution_says() {
    let mut work = epoch(2, 4);
    work["compute_ns"] = json!(10_000_000);
    work["compute_times"] = json!({"histogram": [{"ns": 2_000_000, "weight": 1}, {"ns": 30_000_000, "weight": 1}]});
    // On a busy machine a sleep takes longer than it is to.
    let is_as_planned = (0..10).any(|_| {
        let target = crate::support::target();
        let plan = plan(target.path(), 1, 1, &work);
        let TrainOperation::Epoch(epoch) = operation(&plan) else { panic!("an epoch") };
        let times = StepTimes::new(epoch, plan.seed, 0);
        let planned: u64 = (0..12).map(|step| times.ns(step)).sum();
        let (events, place, workspace) = run(&plan);
        assert_eq!(place.failure(), None);
        let [rank] = training(&record(&events, "epoch", Operation::Step))[..] else { panic!("one rank") };
        assert!(rank.compute_ns >= planned, "{rank:?}, {planned} planned");
        assert_eq!(rank.asked_compute_ns, 10_000_000);
        assert_eq!(workspace.remove().left, []);
        rank.compute_ns < planned + 60_000_000
    });
    assert!(is_as_planned);
}

/// What the last phase of `plan` does.
fn operation(plan: &Plan) -> &TrainOperation {
    let Some(Step::Phase(phase)) = plan.steps.last() else { panic!("a phase") };
    let Work::Train(work) = &phase.jobs[0].work else { panic!("training") };
    &work.operation
}

/// Every file of a workspace that belongs to the dataset, in its subfolders as well.
fn all_files(directory: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let of_entry = |path: std::path::PathBuf| {
        if path.is_dir() {
            return all_files(&path);
        }
        let bytes = std::fs::read(&path).unwrap();
        if path.file_name().unwrap().to_string_lossy().starts_with('.') { Vec::new() } else { vec![(path, bytes)] }
    };
    let mut files: Vec<_> = entries.flat_map(of_entry).collect();
    files.sort();
    files
}

#[test]
fn a_subfolder_with_a_file_that_is_not_ours_stays_and_is_named() {
    let target = crate::support::target();
    let mut text = text(target.path(), 1, 1, &epoch(1, 4));
    text["datasets"]["images"]["subfolders"] = json!(3);
    let plan = parse(text.to_string().as_bytes()).unwrap();
    let (_, place, workspace) = run(&plan);
    assert_eq!(place.failure(), None);
    let foreign = workspace.path().join("c1.images.0002/mine");
    std::fs::write(&foreign, "mine").unwrap();
    let left = workspace.remove().left;
    assert!(left.iter().any(|left| left.path.ends_with("c1.images.0002") && left.because.contains("mine")), "{left:?}");
    assert_eq!(all_files(workspace.path()), [(foreign, b"mine".to_vec())]);
}

#[test]
fn a_dataset_is_the_same_whatever_the_number_of_ranks_that_create_it() {
    let of = |ranks| {
        let target = crate::support::target();
        let (_, place, workspace) = run(&plan(target.path(), ranks, 2, &epoch(1, 2)));
        assert_eq!(place.failure(), None);
        let files = files(&workspace);
        assert_eq!(workspace.remove().left, []);
        files
    };
    let by_one = of(1);
    assert_eq!(by_one.len() as u64, SAMPLES / 2);
    assert!(by_one == of(3), "other files by three ranks than by one");
}

#[test]
fn loading_goes_on_while_the_accelerator_computes() {
    let target = crate::support::target();
    let mut work = epoch(2, 4);
    work["compute_ns"] = json!(20_000_000);
    let (events, place, workspace) = run(&plan(target.path(), 1, 1, &work));
    assert_eq!(place.failure(), None);
    let steps = record(&events, "epoch", Operation::Step);
    let [rank] = training(&steps)[..] else { panic!("one rank") };
    // Twelve steps, each of 20 ms.
    assert!(rank.compute_ns >= 240_000_000, "{rank:?}");
    assert!(rank.last_step_ns - rank.first_step_ns >= 220_000_000, "{rank:?}");
    assert!(rank.wait_ns < 100_000_000, "the next batch is there when a step ends: {rank:?}");
    assert!((20_000_000..60_000_000).contains(&rank.first_compute_ns), "{rank:?}");
    assert_eq!(workspace.remove().left, []);
}

#[test]
fn ranks_that_exchange_gradients_do_each_step_together() {
    let target = crate::support::target();
    let mut work = epoch(1, 4);
    work["sync_steps"] = json!(true);
    work["compute_ns"] = json!(1_000_000);
    work["compute"] = json!("spin");
    let (events, place, workspace) = run(&plan(target.path(), 3, 1, &work));
    assert_eq!(place.failure(), None);
    let steps = record(&events, "epoch", Operation::Step);
    let ends: Vec<u64> = training(&steps).iter().map(|rank| rank.last_step_ns).collect();
    let spread = ends.iter().max().unwrap() - ends.iter().min().unwrap();
    assert!(spread < 200_000_000, "{ends:?}");
    assert!(training(&steps).iter().all(|rank| rank.sync_ns > 0));
    assert_eq!(workspace.remove().left, []);
}

#[test]
fn without_drop_last_no_sample_is_left_out_and_all_ranks_do_as_many_steps() {
    let target = crate::support::target();
    let mut work = epoch(1, 5);
    work["drop_last"] = json!(false);
    let (events, place, workspace) = run(&plan(target.path(), 5, 1, &work));
    assert_eq!(place.failure(), None);
    // 48 samples are 10 for each of 5 ranks, of which two are read again.
    assert_eq!(record(&events, "epoch", Operation::Read).operations, 50);
    assert!(record(&events, "epoch", Operation::Step).ranks.iter().all(|rank| rank.operations == 2));
    assert_eq!(workspace.remove().left, []);
}

#[test]
fn a_sample_that_was_changed_ends_the_epoch_and_says_which() {
    let target = crate::support::target();
    let mut plan = plan(target.path(), 1, 1, &epoch(2, 4));
    let epoch = plan.steps.pop().unwrap();
    let (_, place, workspace) = run(&plan);
    assert_eq!(place.failure(), None);
    let path = workspace.path().join("c1.images.00000005");
    std::fs::File::options().write(true).open(&path).unwrap().write_all_at(b"other", 50).unwrap();
    plan.steps = vec![epoch];
    let (_, place) = run_in_workspace(&plan, &|name| storage::by_name(name).unwrap(), &workspace);
    let failure = place.failure().unwrap();
    assert!(failure.message.contains("sample 5 has other bytes"), "{failure:?}");
    assert!(failure.path.unwrap().ends_with("c1.images.00000005"));
    assert_eq!(workspace.remove().left, []);
}

#[test]
fn what_cannot_be_trained_is_refused_with_what_to_write() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut text = text(Path::new("/"), 2, 4, &epoch(1, 4));
        change(&mut text);
        let refusal = parse(text.to_string().as_bytes()).unwrap_err();
        (refusal.key, refusal.valid)
    };
    let (key, valid) = refused(&|text| text["steps"][1]["jobs"][0]["work"]["operation"]["batch"] = json!(25));
    assert_eq!(key, "steps[1].jobs[0].work.operation.batch");
    assert!(valid.starts_with("use 50 samples or more"), "{valid}");
    let (key, valid) = refused(&|text| text["datasets"]["images"]["samples"] = json!(47));
    assert_eq!((key.as_str(), valid.as_str()), ("datasets.images.samples_per_file", "use a multiple of 4 samples"));
    let (key, _) = refused(&|text| text["steps"][1]["jobs"][0]["work"]["dataset"] = json!("texts"));
    assert_eq!(key, "steps[1].jobs[0].work.dataset");
    let (key, valid) = refused(&|text| drop(text["steps"].as_array_mut().unwrap().remove(0)));
    assert_eq!((key.as_str(), valid.as_str()), ("steps[0].jobs[0].work.dataset", "create it in an earlier phase"));
    let (key, valid) = refused(&|text| text["datasets"]["images"]["container"] = json!("npz"));
    assert_eq!((key.as_str(), valid.as_str()), ("datasets.images.samples_per_file", "use 1, or another container"));
    let (key, valid) = refused(&|text| text["steps"][1]["jobs"][0]["work"]["operation"]["samples"] = json!(49));
    assert_eq!((key.as_str(), valid.as_str()), ("steps[1].jobs[0].work.operation.samples", "use at most 48"));
    let (key, _) = refused(&|text| {
        text["steps"][1]["jobs"][0]["work"]["operation"]["compute_times"] = json!({"histogram": []});
    });
    assert_eq!(key, "steps[1].jobs[0].work.operation.compute_times");
    let (key, _) = refused(&|text| text["datasets"]["images"]["subfolders"] = json!(10_001));
    assert_eq!(key, "datasets.images.subfolders");
    let (key, _) = refused(&|text| text["storage"] = json!({"api": "posix", "direct": true}));
    assert_eq!(key, "steps[0].jobs[0].work.dataset");
}

/// A plan whose dataset is kept, as another run.
fn keeping(target: &Path, run: &str, samples: u64) -> Plan {
    let mut text = text(target, 2, 1, &epoch(1, 4));
    text["run"] = json!(run);
    text["datasets"]["images"]["keep"] = json!("small");
    text["datasets"]["images"]["samples"] = json!(samples);
    parse(text.to_string().as_bytes()).unwrap()
}

#[test]
fn a_dataset_that_is_kept_stays_and_later_runs_create_only_what_is_missing() {
    let target = crate::support::target();
    let dataset = target.path().join("ioassay-dataset-small");
    let mut written = Vec::new();
    for run_name in ["r1", "r2", "r3"] {
        let (events, place, workspace) = run(&keeping(target.path(), run_name, SAMPLES));
        assert_eq!(place.failure(), None);
        let created = record(&events, "create", Operation::Write);
        assert!(created.complete && !crate::support::doubts(&created).contains(&"nothing-done".to_owned()));
        written.push((created.operations, created.bytes));
        // Each sample is verified.
        assert_eq!(record(&events, "epoch", Operation::Read).operations, SAMPLES);
        assert_eq!(workspace.remove().left, []);
        assert!(!workspace.path().exists());
        // As if the run had been interrupted while it wrote one file and before it wrote another.
        let unfinished = std::fs::File::options().write(true).open(dataset.join("samples.00000007")).unwrap();
        if run_name == "r2" {
            unfinished.set_len(5).unwrap();
            std::fs::remove_file(dataset.join("samples.00000040")).unwrap();
        }
    }
    let bytes = |number: u64| dataset.join(format!("samples.{number:08}")).metadata().unwrap().len();
    assert_eq!(written[0], (SAMPLES, (0..SAMPLES).map(bytes).sum()));
    assert_eq!(written[1..], [(0, 0), (2, bytes(7) + bytes(40))]);
}

#[test]
fn a_kept_dataset_is_removed_by_its_directory_without_what_is_not_its_own() {
    use ioassay_engine::workspace::kept;

    for (container, subfolders) in [("raw", 0), ("tfrecord", 3)] {
        let target = crate::support::target();
        let mut plan = keeping(target.path(), "r1", SAMPLES);
        let dataset = plan.datasets.get_mut("images").unwrap();
        dataset.subfolders = subfolders;
        dataset.container = serde_json::from_value(json!(container)).unwrap();
        let (_, place, workspace) = run(&plan);
        assert_eq!(place.failure(), None);
        assert_eq!(workspace.remove().left, []);
        let directory = target.path().join("ioassay-dataset-small");
        let mine = if subfolders > 0 { directory.join("samples.0001/mine") } else { directory.join("mine") };
        std::fs::write(&mine, "mine").unwrap();
        let removed = kept::remove(&directory).unwrap();
        assert_eq!(removed.files, if container == "tfrecord" { 2 * SAMPLES } else { SAMPLES });
        assert!(!removed.left.is_empty(), "what is not ours stays");
        assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
        std::fs::remove_file(&mine).unwrap();
        assert_eq!(kept::remove(&directory).unwrap().left, []);
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0);
        assert_eq!(kept::remove(&directory).unwrap().files, 0, "one that is gone needs no removal");
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("thesis"), "years").unwrap();
        assert!(kept::remove(&directory).unwrap_err().message.contains("is no dataset of ioassay"));
        assert_eq!(std::fs::read_to_string(directory.join("thesis")).unwrap(), "years");
    }
}

#[test]
fn a_kept_dataset_of_another_description_and_a_directory_that_is_none_are_refused_and_left_alone() {
    use ioassay_engine::workspace::contents::Contents;

    let target = crate::support::target();
    let (_, place, workspace) = run(&keeping(target.path(), "r1", SAMPLES));
    assert_eq!(place.failure(), None);
    assert_eq!(workspace.remove().left, []);
    let other = keeping(target.path(), "r2", 96);
    let refused = Workspace::create(&other, &Contents::of(&other)).unwrap_err();
    assert!(refused.message.contains("samples is 48, not 96"), "{refused:?}");
    assert_eq!(Workspace::check(&other, 0, 0).unwrap_err().message, refused.message);
    let foreign = crate::support::target();
    let directory = foreign.path().join("ioassay-dataset-small");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("mine"), "mine").unwrap();
    let other = keeping(foreign.path(), "r2", 96);
    let refused = Workspace::create(&other, &Contents::of(&other)).unwrap_err();
    assert!(refused.message.contains("is no dataset of ioassay"), "{refused:?}");
    assert_eq!(std::fs::read_dir(foreign.path()).unwrap().count(), 1, "no workspace is left");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
}
