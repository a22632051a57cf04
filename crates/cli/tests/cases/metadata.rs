//! Metadata phases and walks on real files: ranks are threads here, everything else is real.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::hung_mount::HungMount;
use crate::support::skipped::skipped;
use crate::support::{doubts, phases, run_and_keep};
use ioassay_engine::plan::{Sizes, parse};
use ioassay_engine::ranks::local::MeetingPlace;
use ioassay_engine::storage::{self, StorageApi};
use ioassay_engine::workload::tree::{Entries, EntryPath, Shape};
use ioassay_engine::workspace::Workspace;
use ioassay_protocol::doubt::Reason;
use ioassay_protocol::events::{Event, PhaseRecord, RankRecord, Removed};
use ioassay_protocol::plan::metadata::{Items, Sharing};
use ioassay_protocol::plan::storage::Target;
use ioassay_protocol::plan::{Operation, Plan};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A plan for one tree, `t`, on `target`.
fn plan_text(target: &Path, ranks: u32, tree: &Value, steps: &[Value]) -> Value {
    json!({
        "version": ioassay_protocol::VERSION, "run": "r1", "case": "c1",
        "target": {"directory": target}, "storage": {"api": "posix"},
        "ranks": {"clients": ranks, "per_client": 1}, "trees": {"t": tree}, "steps": steps,
        "seed": 7, "sample_interval_ns": 1_000_000,
    })
}

fn parsed(text: &Value) -> Result<Plan, String> {
    parse(text.to_string().as_bytes()).map_err(|refusal| refusal.to_string())
}

fn tree(sharing: &str, depth: u32, branch: u32, items: u64) -> Value {
    json!({
        "sharing": sharing, "depth": depth, "branch": branch, "items_per_directory": items, "leaves_only": false,
        "items": "files",
    })
}

/// A phase with one job of the whole on the tree `t`.
fn phase(name: &str, operation: Value) -> Value {
    let work = json!({
        "kind": "metadata", "tree": "t", "operation": operation, "order": "sequential", "paths": "full",
    });
    json!({"step": "phase", "name": name, "jobs": [{"name": "j", "work": work}]})
}

/// The same with some keys of its job's work, or of the job itself, set.
fn with(mut phase: Value, keys: &Value, of_job: &Value) -> Value {
    let job = &mut phase["jobs"][0];
    keys.as_object().into_iter().flatten().for_each(|(key, value)| job["work"][key] = value.clone());
    of_job.as_object().into_iter().flatten().for_each(|(key, value)| job[key] = value.clone());
    phase
}

fn kind(kind: &str) -> Value {
    json!({"kind": kind})
}

fn create(bytes: u64) -> Value {
    json!({"kind": "create", "with": "open", "write_bytes": bytes, "fsync": false})
}

fn find(name: &str, conditions: Value) -> Value {
    let mut work = conditions;
    work["kind"] = json!("find");
    json!({"step": "phase", "name": name, "jobs": [{"name": "j", "work": work}]})
}

/// What a case left.
struct CaseResult {
    events: Vec<Event>,
    place: MeetingPlace,
    workspace: Workspace,
}

impl CaseResult {
    fn phases(&self) -> Vec<&PhaseRecord> {
        phases(&self.events)
    }

    fn phase(&self, name: &str) -> &PhaseRecord {
        self.phases().into_iter().find(|record| record.name == name).unwrap()
    }

    /// Paths of all that is in the workspace, from below the container of the tree on.
    fn paths(&self) -> BTreeSet<String> {
        fn walk(directory: &Path, root: &Path, all: &mut BTreeSet<String>) {
            for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
                all.insert(entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned());
                if entry.file_type().unwrap().is_dir() {
                    walk(&entry.path(), root, all);
                }
            }
        }
        let root = self.workspace.path().join("c1.t");
        let mut all = BTreeSet::new();
        if root.exists() {
            walk(&root, &root, &mut all);
        }
        all
    }
}

/// Runs the case, a thread per rank.
fn run(plan: &Plan, target: &Path) -> CaseResult {
    run_on(plan, target, storage::by_name(&plan.storage.api).unwrap())
}

fn run_on(plan: &Plan, target: &Path, storage: &'static dyn StorageApi) -> CaseResult {
    assert_eq!(plan.target, Target::Directory(target.to_owned()));
    let (events, place, workspace) = run_and_keep(plan, &|_| storage);
    CaseResult { events, place, workspace }
}

/// What the plan's tree has, directories and items, from below its container on.
fn enumerated(plan: &Plan) -> (BTreeSet<String>, BTreeSet<String>) {
    let shape = Shape::of(&plan.trees["t"], plan.rank_count());
    let below = |path: &EntryPath| path.as_c_str().to_str().unwrap().strip_prefix("c/").unwrap().to_owned();
    let (mut directories, mut items) = (BTreeSet::new(), BTreeSet::new());
    for tree in 0..shape.trees {
        let mut path = EntryPath::new(shape, Some(b"c"), Entries::Directories { tree });
        for directory in 0..shape.directories {
            path.set(shape.parent(directory), directory);
            directories.insert(below(&path));
        }
    }
    for part in 0..shape.parts {
        let mut path = EntryPath::new(shape, Some(b"c"), Entries::Items { part, renamed: false });
        for number in (0..shape.items_per_part()).map(|index| shape.number(index)) {
            path.set(Some(shape.directory_of(number)), number);
            items.insert(below(&path));
        }
    }
    (directories, items)
}

/// Sums of a record are those of its ranks, of its samples and of its latencies.
fn sums_agree(phase: &PhaseRecord) {
    let sum = |of: fn(&RankRecord) -> u64| phase.ranks.iter().map(of).sum::<u64>();
    assert_eq!(phase.operations, sum(|rank| rank.operations), "{}", phase.name);
    assert_eq!(phase.operations, sum(|rank| rank.sample_operations.iter().sum()), "{}", phase.name);
    assert_eq!(phase.operations, phase.latencies.count.iter().sum::<u64>(), "{}", phase.name);
    assert_eq!(phase.bytes, sum(|rank| rank.bytes), "{}", phase.name);
    assert_eq!(phase.bytes, sum(|rank| rank.sample_bytes.iter().sum()), "{}", phase.name);
    assert_eq!(phase.duration_ns, phase.ranks.iter().map(|rank| rank.end_ns).max().unwrap(), "{}", phase.name);
    assert!(phase.first_finished_ns <= phase.duration_ns && phase.first_finished_operations <= phase.operations);
}

fn no_failure(ran: &CaseResult) {
    assert_eq!(ran.place.failure(), None);
    ran.phases().into_iter().for_each(|phase| {
        assert!(phase.complete, "{}", phase.name);
        sums_agree(phase);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_planned_entry_is_created_looked_at_and_removed_once_and_all_sums_agree(
        sharing in prop_oneof![Just("unique"), Just("shared"), Just("shared-items")],
        depth in 0..3_u32, branch in 1..4_u32, items in 1..6_u64, leaves_only: bool, directories: bool,
        random: bool, at_paths: bool, mknod: bool, ranks in 1..4_u32, shift in 0..4_u32, bytes in 0..3_u64,
    ) {
        let shares_items = sharing == "shared-items";
        let directories = directories && !shares_items;
        let (mknod, bytes) = (mknod && !directories && !shares_items, if directories { 0 } else { bytes * 2000 });
        let mut described = tree(sharing, depth, branch, items);
        described["leaves_only"] = json!(leaves_only);
        described["items"] = json!(if directories { "directories" } else { "files" });
        let paths = json!(if at_paths { "at" } else { "full" });
        let order = json!(if random { "random" } else { "sequential" });
        let in_order = |name: &str, operation: Value, shift: u32| {
            let shift = if shares_items { 0 } else { shift };
            with(phase(name, operation), &json!({"order": order, "paths": paths, "shift": shift}), &json!({}))
        };
        let whole_tree = |name: &str| with(phase(name, kind(name)), &json!({"paths": paths}), &json!({}));
        let mut operation = create(if mknod { 0 } else { bytes });
        operation["with"] = json!(if mknod { "mknod" } else { "open" });
        let mut steps = vec![whole_tree("create-tree"), in_order("create", operation, 0)];
        steps.push(in_order("stat", kind("stat"), shift));
        if !directories {
            steps.push(in_order("write", json!({"kind": "write", "bytes": 4096, "fsync": true}), 0));
            steps.push(in_order("read", json!({"kind": "read", "bytes": 4096}), shift));
        }
        steps.extend([in_order("rename", kind("rename"), 0), in_order("stat-renamed", kind("stat"), 0)]);

        let target = tempfile::tempdir().unwrap();
        let plan = parsed(&plan_text(target.path(), ranks, &described, &steps)).unwrap();
        let ran = run(&plan, target.path());
        no_failure(&ran);
        let (tree_entries, item_entries) = enumerated(&plan);
        // What the ranks did together is what the tree has, whichever rank did it.
        let times = if shares_items { u64::from(ranks) } else { 1 };
        let items = item_entries.len() as u64;
        prop_assert_eq!(ran.phase("create-tree").operations, tree_entries.len() as u64);
        prop_assert_eq!(ran.phase("create").operations, items * times);
        prop_assert_eq!(ran.phase("create").bytes, if mknod { 0 } else { items * times * bytes });
        prop_assert_eq!(ran.phase("stat").operations, items * times);
        prop_assert_eq!(ran.phase("rename").operations, items);
        if !directories {
            prop_assert_eq!(ran.phase("read").bytes, items * times * 4096);
            prop_assert_eq!(ran.phase("write").bytes, items * times * 4096);
            prop_assert_eq!(ran.phase("read").operation, Operation::Read);
        }
        let renamed = item_entries.iter().map(|item| format!("{item}.r"));
        prop_assert_eq!(ran.paths(), tree_entries.iter().cloned().chain(renamed).collect::<BTreeSet<_>>());
        let files = if directories { 0 } else { items };
        prop_assert_eq!(ran.workspace.remove(), Removed { files, left: vec![] });

        // Again, with names as they were, and removed by the case itself.
        steps.retain(|step| !step["name"].as_str().unwrap().contains("rename"));
        let plan = parsed(&plan_text(target.path(), ranks, &described, &steps)).unwrap();
        let ran = run(&plan, target.path());
        prop_assert_eq!(ran.paths(), tree_entries.union(&item_entries).cloned().collect::<BTreeSet<_>>());
        prop_assert!(ran.workspace.remove().left.is_empty());
        steps.extend([in_order("remove", kind("remove"), shift), whole_tree("remove-tree")]);
        let plan = parsed(&plan_text(target.path(), ranks, &described, &steps)).unwrap();
        let ran = run(&plan, target.path());
        no_failure(&ran);
        prop_assert_eq!(ran.phase("remove").operations, items);
        prop_assert_eq!(ran.phase("remove-tree").operations, tree_entries.len() as u64);
        prop_assert_eq!(ran.paths(), BTreeSet::new());
        prop_assert_eq!(ran.workspace.remove(), Removed::default());
    }

    #[test]
    fn what_a_limit_let_be_created_is_what_later_jobs_find(
        random_create: bool, random_stat: bool, created in 1..30_u64, ranks in 1..4_u32, shift in 0..3_u32,
    ) {
        let order = |random| json!({"order": if random { "random" } else { "sequential" }});
        let limited = with(
            phase("create", create(10)), &order(random_create), &json!({"limit": {"operations_per_rank": created}}),
        );
        let mut stat = with(phase("stat", kind("stat")), &order(random_stat), &json!({}));
        stat["jobs"][0]["work"]["shift"] = json!(shift);
        let steps = [phase("grow", kind("create-tree")), limited, stat, phase("remove", kind("remove"))];
        let steps = [&steps[..], &[phase("fell", kind("remove-tree"))]].concat();
        let target = tempfile::tempdir().unwrap();
        let plan = parsed(&plan_text(target.path(), ranks, &tree("shared", 1, 2, 7), &steps)).unwrap();
        let ran = run(&plan, target.path());
        no_failure(&ran);
        let expected = u64::from(ranks) * created.min(21);
        for name in ["create", "stat", "remove"] {
            prop_assert_eq!(ran.phase(name).operations, expected, "{}", name);
        }
        prop_assert_eq!(ran.paths(), BTreeSet::new());
    }

    /// As md-workbench does it: the set of files stays as large as it is, and each file is another one in the end.
    #[test]
    fn every_file_is_replaced_once_and_verified_and_the_work_set_stays_as_large(
        shared: bool, depth in 0..3_u32, branch in 1..4_u32, items in 1..6_u64, rounds in 1..7_u64, leaves_only: bool,
        ranks in 1..5_u32, shift in 0..6_u32, bytes in 0..4000_u64, per_file: bool, named: bool, short: bool,
    ) {
        let mut described = tree(if shared { "shared" } else { "unique" }, depth, branch, items);
        described["leaves_only"] = json!(leaves_only);
        let kind_of_payload = if per_file { "ior-offset" } else { "ior-timestamp" };
        if named {
            described["payload"] = json!({"kind": kind_of_payload, "signature": 7});
        }
        if short && !shared {
            described["names"] = json!("md-workbench");
        }
        let in_turn = json!({"order": "interleaved"});
        let replace = |name: &str| {
            let keys = json!({"order": "interleaved", "shift": shift, "verify": named && bytes > 0});
            with(phase(name, json!({"kind": "replace", "bytes": bytes})), &keys, &json!({}))
        };
        let mut steps = vec![
            phase("grow", kind("create-tree")),
            with(phase("create", create(bytes)), &in_turn, &json!({})),
            replace("first"),
            replace("second"),
            with(phase("stat", kind("stat")), &json!({"shift": shift}), &json!({})),
        ];
        let target = tempfile::tempdir().unwrap();
        let text = |steps: &[Value]| plan_text(target.path(), ranks, &described, steps);
        let directories = Shape::of(&parsed(&text(&steps)).unwrap().trees["t"], ranks).directories_with_items();
        // As many rounds as there are make a limit that leaves nothing out.
        let rounds = rounds.min(items);
        if rounds < items {
            steps[1]["jobs"][0]["limit"] = json!({"operations_per_rank": rounds * directories});
        }
        let plan = parsed(&text(&steps)).unwrap();
        let ran = run(&plan, target.path());
        no_failure(&ran);
        let all = u64::from(ranks) * rounds * directories;
        for name in ["first", "second"] {
            let records: Vec<_> = ran.phases().into_iter().filter(|record| record.name == name).collect();
            let what: Vec<_> = records.iter().map(|record| (record.operation, record.operations, record.bytes)).collect();
            prop_assert_eq!(what, [
                (Operation::Stat, all, 0), (Operation::Read, all, all * bytes),
                (Operation::Remove, all, 0), (Operation::Create, all, all * bytes),
            ]);
        }
        prop_assert_eq!(ran.phase("stat").operations, all);
        let (tree_entries, item_entries) = enumerated(&plan);
        let there = ran.paths();
        prop_assert_eq!(there.len() as u64, tree_entries.len() as u64 + all);
        // Twice replaced each file has its first name again, and as many lie in each directory.
        prop_assert!(there.is_subset(&tree_entries.union(&item_entries).cloned().collect()));
        for directory in there.iter().map(|path| path.rsplit_once('/').map_or("", |(above, _)| above)) {
            let beside = there.iter().filter(|path| path.rsplit_once('/').is_some_and(|(above, name)| {
                above == directory && name.starts_with("file")
            }));
            let sharing_it = if shared { u64::from(ranks) } else { 1 };
            prop_assert!([0, rounds * sharing_it].contains(&(beside.count() as u64)), "{}", directory);
        }
        prop_assert_eq!(ran.workspace.remove(), Removed { files: all, left: vec![] });

        // Replaced once, what is left has another name, and is known and removed by it.
        steps.truncate(3);
        let ran = run(&parsed(&text(&steps)).unwrap(), target.path());
        no_failure(&ran);
        let files = ran.paths().into_iter().filter(|path| path.contains("file")).collect::<Vec<_>>();
        prop_assert!(files.iter().all(|path| path.ends_with(".r")));
        prop_assert_eq!(ran.workspace.remove(), Removed { files: all, left: vec![] });
        steps.extend([phase("remove", kind("remove")), phase("fell", kind("remove-tree"))]);
        let ran = run(&parsed(&text(&steps)).unwrap(), target.path());
        no_failure(&ran);
        prop_assert_eq!(ran.phase("remove").operations, all);
        prop_assert_eq!(ran.paths(), BTreeSet::new());
    }

    #[test]
    fn a_walk_visits_every_entry_once_whoever_shares_it(
        depth in 0..4_u32, branch in 1..4_u32, items in 0..20_u64, ranks in 1..5_u32,
    ) {
        let mut steps = vec![phase("grow", kind("create-tree"))];
        if items > 0 {
            steps.push(phase("create", create(0)));
        }
        steps.push(find("all", json!({})));
        steps.push(find("files", json!({"entries": "files", "name": "file.mdtest.*"})));
        steps.push(find("tenth", json!({"name": "*.1"})));
        steps.push(find("directories", json!({"entries": "directories"})));
        steps.push(find("below", json!({"tree": "t"})));
        let target = tempfile::tempdir().unwrap();
        let plan = parsed(&plan_text(target.path(), ranks, &tree("unique", depth, branch, items), &steps)).unwrap();
        let ran = run(&plan, target.path());
        no_failure(&ran);
        let (directories, files) = enumerated(&plan);
        let all = directories.len() + files.len() + 1;
        for name in ["all", "files", "tenth", "directories"] {
            // The list of the workspace lies beside the directory that holds the tree.
            prop_assert_eq!(ran.phase(name).operations, all as u64 + 1, "{}", name);
        }
        prop_assert_eq!(ran.phase("all").matched, Some(all as u64 + 1));
        prop_assert_eq!(ran.phase("files").matched, Some(files.len() as u64));
        prop_assert_eq!(ran.phase("directories").matched, Some(directories.len() as u64 + 1));
        prop_assert_eq!(ran.phase("below").matched, Some(all as u64 - 1));
        let tenth = files.union(&directories).filter(|path| path.ends_with(".1")).count();
        prop_assert_eq!(ran.phase("tenth").matched, Some(tenth as u64));
    }
}

#[test]
fn a_stonewall_ends_a_create_and_wear_out_lets_all_ranks_do_as_much_as_the_first() {
    let limit = json!({"limit": {"stonewall_ns": 100_000_000, "wear_out": true}});
    let steps = [
        phase("grow", kind("create-tree")),
        with(phase("create", create(0)), &json!({}), &limit),
        phase("stat", kind("stat")),
        phase("remove", kind("remove")),
        phase("fell", kind("remove-tree")),
    ];
    let target = tempfile::tempdir().unwrap();
    let plan = parsed(&plan_text(target.path(), 3, &tree("unique", 0, 0, 100_000_000), &steps)).unwrap();
    let ran = run(&plan, target.path());
    no_failure(&ran);
    let created = ran.phase("create");
    let stonewall = created.stonewall.unwrap();
    assert!(created.ranks.iter().all(|rank| rank.operations == stonewall.most_operations));
    assert_eq!(ran.phase("stat").operations, created.operations);
    assert_eq!(ran.phase("remove").operations, created.operations);
    assert_eq!(ran.paths(), BTreeSet::new());
}

#[test]
fn the_rate_of_an_earlier_job_says_how_much_of_a_tree_is_created_and_all_directories_get_as_much() {
    let of = |step: u32, duration_ns: u64| json!({"limit": {"at_rate_of": {"step": step, "duration_ns": duration_ns}}});
    let in_turn = json!({"order": "interleaved"});
    let replace = with(phase("replace", json!({"kind": "replace", "bytes": 0})), &in_turn, &json!({}));
    let target = tempfile::tempdir().unwrap();
    let mut ranks_did = Vec::new();
    // No rate fills a round in a nanosecond, and each fills the tree in a day.
    for duration_ns in [1, 86_400_000_000_000] {
        let steps = [
            phase("grow", kind("create-tree")),
            with(phase("create", create(0)), &in_turn, &of(0, duration_ns)),
            replace.clone(),
            phase("remove", kind("remove")),
            phase("fell", kind("remove-tree")),
        ];
        let plan = parsed(&plan_text(target.path(), 2, &tree("unique", 1, 3, 50), &steps)).unwrap();
        assert_eq!(plan.sure_entries(), 0);
        let ran = run(&plan, target.path());
        no_failure(&ran);
        ranks_did.push(ran.phase("create").ranks.iter().map(|rank| rank.operations).collect::<Vec<_>>());
        assert_eq!(ran.paths(), BTreeSet::new());
        assert_eq!(ran.workspace.remove(), Removed::default());
    }
    assert_eq!(ranks_did, [[4, 4], [200, 200]]);
}

#[test]
fn one_rank_of_a_shared_tree_creates_its_directories_and_has_the_record_alone() {
    let target = tempfile::tempdir().unwrap();
    let steps = [phase("grow", kind("create-tree")), phase("create", create(0))];
    let plan = parsed(&plan_text(target.path(), 4, &tree("shared", 2, 3, 2), &steps)).unwrap();
    let ran = run(&plan, target.path());
    no_failure(&ran);
    let ranks = |name: &str| ran.phase(name).ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>();
    assert_eq!(ranks("grow"), [0]);
    assert_eq!(ranks("create"), [0, 1, 2, 3]);
    assert_eq!(ran.phase("grow").operation, Operation::CreateTree);
}

#[test]
fn more_directories_than_a_rank_keeps_open_are_named_in_all_the_same() {
    let at_paths = json!({"paths": "at"});
    let order = json!({"paths": "at", "order": "random"});
    let steps = [
        with(phase("grow", kind("create-tree")), &at_paths, &json!({})),
        with(phase("create", create(0)), &at_paths, &json!({})),
        with(phase("stat", kind("stat")), &order, &json!({})),
        with(phase("remove", kind("remove")), &order, &json!({})),
        with(phase("fell", kind("remove-tree")), &at_paths, &json!({})),
    ];
    let target = tempfile::tempdir().unwrap();
    let plan = parsed(&plan_text(target.path(), 2, &tree("unique", 2, 20, 2), &steps)).unwrap();
    let ran = run(&plan, target.path());
    no_failure(&ran);
    assert_eq!(ran.phase("create").operations, 2 * 421 * 2);
    assert_eq!(ran.paths(), BTreeSet::new());
}

/// Runs `last` after all entries were created, and `disturb` was done to the entry `path` below the container.
fn disturbed(
    ranks: u32,
    tree: &Value,
    last: &Value,
    path: &str,
    disturb: impl Fn(&Path) + Sync,
) -> (CaseResult, PathBuf) {
    let target = tempfile::tempdir().unwrap();
    let pause = json!({"step": "pause", "duration_ns": 300_000_000});
    let steps = [phase("grow", kind("create-tree")), phase("create", create(8)), pause, last.clone()];
    let plan = parsed(&plan_text(target.path(), ranks, tree, &steps)).unwrap();
    let path = target.path().join("ioassay-r1/c1.t").join(path);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !path.exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            disturb(&path);
        });
        run(&plan, target.path())
    });
    (ran, path)
}

#[test]
fn an_entry_that_is_missing_ends_the_phase_and_is_named() {
    let remove = |path: &Path| std::fs::remove_file(path).unwrap();
    let (stat, path) = (phase("stat", kind("stat")), "mdtest_tree.1.0/file.mdtest.1.33");
    let (ran, missing) = disturbed(2, &tree("unique", 0, 0, 50), &stat, path, remove);
    let failure = ran.place.failure().unwrap();
    assert_eq!((failure.rank, failure.operation.as_str()), (Some(1), "stat"));
    assert_eq!(failure.errno_name.as_deref(), Some("ENOENT"));
    assert_eq!(failure.path.map(PathBuf::from), Some(missing));
    assert!(!ran.phase("stat").complete && ran.phase("stat").doubts[0].invalidates);
}

#[test]
fn a_file_that_holds_something_else_is_not_replaced() {
    let mut tree = tree("unique", 0, 0, 50);
    tree["payload"] = json!({"kind": "ior-offset", "signature": 7});
    let keys = json!({"order": "interleaved", "verify": true});
    let replace = with(phase("replace", json!({"kind": "replace", "bytes": 8})), &keys, &json!({}));
    let other = |path: &Path| std::fs::write(path, "8 others").unwrap();
    let (ran, _) = disturbed(2, &tree, &replace, "mdtest_tree.1.0/file.mdtest.1.33", other);
    let failure = ran.place.failure().unwrap();
    assert_eq!((failure.rank, failure.operation.as_str()), (Some(1), "verify"));
    assert!(failure.message.contains("at offset 0 found"), "{}", failure.message);
}

/// `md-workbench -O 1` of hpc/ior 5fcf0ba: in set d, from 1 on, a rank takes what lies d ranks before it, and creates
/// what lies d ranks after it.
#[test]
fn whose_files_a_rank_replaces_depends_on_the_directory() {
    let mut leaves = tree("unique", 1, 3, 10);
    leaves["leaves_only"] = json!(true);
    let in_turn = json!({"order": "interleaved", "shift": 1});
    let replace = with(phase("replace", json!({"kind": "replace", "bytes": 0})), &in_turn, &json!({}));
    // The directories are 1, 2 and 3, and their files begin with 10, 20 and 30.
    for (directory, taker, creator) in [(1, 1, 3), (2, 2, 2), (3, 3, 1)] {
        let file = format!("mdtest_tree.0.0/mdtest_tree.0.{directory}/file.mdtest.0.{directory}7");
        let (ran, missing) = disturbed(4, &leaves, &replace, &file, |path| std::fs::remove_file(path).unwrap());
        let failure = ran.place.failure().unwrap();
        assert_eq!((failure.rank, failure.operation.as_str()), (Some(taker), "stat"));
        assert_eq!(failure.path.map(PathBuf::from), Some(missing));

        let in_the_way = |path: &Path| std::fs::write(path.with_added_extension("r"), "mine").unwrap();
        let (ran, path) = disturbed(4, &leaves, &replace, &file, in_the_way);
        let failure = ran.place.failure().unwrap();
        assert_eq!((failure.rank, failure.errno_name.as_deref()), (Some(creator), Some("EEXIST")));
        assert_eq!(failure.path.map(PathBuf::from), Some(path.with_added_extension("r")));
    }
}

#[test]
fn a_file_of_somebody_else_is_never_taken_for_a_new_one() {
    let target = tempfile::tempdir().unwrap();
    let pause = json!({"step": "pause", "duration_ns": 200_000_000});
    let steps = [phase("grow", kind("create-tree")), pause, phase("create", create(0))];
    let plan = parsed(&plan_text(target.path(), 1, &tree("unique", 0, 0, 5), &steps)).unwrap();
    let directory = target.path().join("ioassay-r1/c1.t/mdtest_tree.0.0");
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !directory.exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            std::fs::write(directory.join("file.mdtest.0.3"), "theirs").unwrap();
        });
        run(&plan, target.path())
    });
    assert_eq!(ran.place.failure().unwrap().errno_name.as_deref(), Some("EEXIST"));
    assert_eq!(std::fs::read_to_string(directory.join("file.mdtest.0.3")).unwrap(), "theirs");
}

#[test]
fn a_walk_finds_by_size_and_by_what_changed_since_a_step_and_stays_where_it_began() {
    let target = tempfile::tempdir().unwrap();
    let write = json!({"kind": "write", "bytes": 9000, "fsync": false});
    let limit = json!({"limit": {"operations_per_rank": 3}});
    let steps = [
        phase("grow", kind("create-tree")),
        phase("create", create(100)),
        // Longer than a tick of the clock that stamps files.
        json!({"step": "pause", "duration_ns": 30_000_000}),
        with(phase("write", write), &json!({}), &limit),
        find("newer", json!({"newer_than_step": 3, "entries": "files"})),
        find("small", json!({"size_bytes": 100})),
        find("large", json!({"at_least_bytes": 101, "at_most_bytes": 9000, "name": "file.*"})),
        find("elsewhere", json!({"root": target.path().join("elsewhere")})),
    ];
    let elsewhere = target.path().join("elsewhere");
    std::fs::create_dir_all(elsewhere.join("a/b/c")).unwrap();
    std::fs::write(elsewhere.join("a/b/file"), "").unwrap();
    std::os::unix::fs::symlink(target.path(), elsewhere.join("a/loop")).unwrap();
    let plan = parsed(&plan_text(target.path(), 2, &tree("shared", 1, 2, 10), &steps)).unwrap();
    let ran = run(&plan, target.path());
    no_failure(&ran);
    let matched = |name: &str| ran.phase(name).matched.unwrap();
    assert_eq!((matched("newer"), matched("small"), matched("large")), (6, 54, 6));
    assert_eq!((matched("elsewhere"), ran.phase("elsewhere").operations), (5, 5));
}

#[test]
fn a_directory_that_cannot_be_read_ends_a_walk_and_is_named() {
    let target = tempfile::tempdir().unwrap();
    let gone = target.path().join("not-there");
    let plan = plan_text(target.path(), 2, &tree("shared", 0, 0, 1), &[find("find", json!({"root": gone}))]);
    let ran = run(&parsed(&plan).unwrap(), target.path());
    let failure = ran.place.failure().unwrap();
    assert_eq!((failure.operation.as_str(), failure.errno_name.as_deref()), ("open directory", Some("ENOENT")));
    assert_eq!(failure.path.map(PathBuf::from), Some(gone));
}

#[test]
fn items_that_this_node_has_just_created_are_doubted_when_it_looks_at_them() {
    let target = tempfile::tempdir().unwrap();
    let steps = [
        phase("grow", kind("create-tree")),
        phase("create", create(10)),
        phase("stat", kind("stat")),
        json!({"step": "cold-cache", "attempts": ["drop-caches"]}),
        phase("cold", kind("stat")),
    ];
    let plan = parsed(&plan_text(target.path(), 1, &tree("shared", 0, 0, 4), &steps)).unwrap();
    let ran = run(&plan, target.path());
    let doubts = |name: &str| serde_json::to_string(&ran.phase(name).doubts).unwrap();
    assert!(doubts("stat").contains("attributes-cached"));
    assert!(!doubts("cold").contains("attributes-cached") && !doubts("grow").contains("attributes-cached"));
    assert!(doubts("create").contains("unsynced-write"));
}

#[test]
fn empty_items_that_are_not_synced_are_doubted_and_those_that_are_or_hold_bytes_are_not() {
    let local = "/var/tmp";
    let file_system = ioassay_host::mounts::mount_of(Path::new(local)).unwrap().file_system;
    if !["ext4", "xfs", "btrfs", "overlay"].contains(&file_system.as_str()) {
        return skipped("a local journalling file system", &format!("{local} is {file_system}"));
    }
    let target = tempfile::tempdir_in(local).unwrap();
    let steps = [
        phase("grow", kind("create-tree")),
        phase("create", create(0)),
        phase("remove", kind("remove")),
        with(phase("synced", create(0)), &json!({"sync_at_end": true}), &Value::Null),
        phase("again", kind("remove")),
        phase("bytes", create(10)),
    ];
    let ran = run(&parsed(&plan_text(target.path(), 1, &tree("shared", 0, 0, 4), &steps)).unwrap(), target.path());
    no_failure(&ran);
    let doubted: Vec<_> =
        ran.phases().into_iter().filter(|phase| doubts(phase).contains(&"unsynced-create".into())).collect();
    assert_eq!(doubted.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>(), ["create"]);
    let reason = doubted[0].doubts.iter().map(|doubt| &doubt.reason);
    assert!(reason.into_iter().any(|reason| *reason == Reason::UnsyncedCreate { items: 4 }));
}

/// On a file system that writes half a page at a time.
#[test]
fn calls_that_move_less_than_an_item_holds_are_counted_and_doubted() {
    let Some(mount) = HungMount::new() else { return };
    mount.write_short();
    let steps = [phase("grow", kind("create-tree")), phase("create", create(3 * 4096)), phase("small", kind("stat"))];
    let plan = parsed(&plan_text(mount.path(), 1, &tree("shared", 0, 0, 4), &steps)).unwrap();
    let ran = run(&plan, mount.path());
    no_failure(&ran);
    // The kernel asks for a page at a time, so that a call ends in the middle of each of the three.
    assert_eq!(ran.phase("create").ranks[0].short_transfers, 4 * 3);
    assert!(doubts(ran.phase("create")).contains(&"short-transfers".to_owned()));
    assert!(!doubts(ran.phase("small")).contains(&"short-transfers".to_owned()));
}

#[test]
fn only_what_forgets_attributes_withdraws_the_doubt_about_them() {
    let target = tempfile::tempdir().unwrap();
    let steps = [
        phase("grow", kind("create-tree")),
        phase("create", create(10)),
        json!({"step": "cold-cache", "attempts": ["fadvise"]}),
        phase("pages", kind("stat")),
        json!({"step": "cold-cache", "attempts": ["fadvise", "drop-caches"]}),
        phase("all", kind("stat")),
    ];
    let plan = parsed(&plan_text(target.path(), 1, &tree("shared", 0, 0, 4), &steps)).unwrap();
    let ran = run(&plan, target.path());
    let doubts = |name: &str| serde_json::to_string(&ran.phase(name).doubts).unwrap();
    assert!(doubts("pages").contains("attributes-cached"), "pages were forgotten, and attributes were not");
    assert!(!doubts("all").contains("attributes-cached"), "where the first way was not enough the next one was tried");
}

#[test]
fn every_metadata_job_runs_on_the_null_api_and_leaves_nothing() {
    let target = tempfile::tempdir().unwrap();
    let at_paths = json!({"paths": "at"});
    let steps = [
        phase("grow", kind("create-tree")),
        phase("create", create(100)),
        with(phase("stat", kind("stat")), &at_paths, &json!({})),
        phase("read", json!({"kind": "read", "bytes": 100})),
        phase("rename", kind("rename")),
        phase("remove", kind("remove")),
        phase("fell", kind("remove-tree")),
    ];
    let mut text = plan_text(target.path(), 2, &tree("unique", 2, 2, 50), &steps);
    text["storage"]["api"] = json!("null");
    let ran = run(&parsed(&text).unwrap(), target.path());
    no_failure(&ran);
    assert_eq!(ran.phase("create").operations, 2 * 7 * 50);
    assert_eq!(ran.paths(), BTreeSet::new());
}

/// What refuses a plan with these steps, and with what.
fn refused(steps: &[Value], change: impl Fn(&mut Value)) -> String {
    let mut text = plan_text(Path::new("/target"), 4, &tree("unique", 1, 2, 10), steps);
    change(&mut text);
    parsed(&text).map(|_| "accepted".to_owned()).unwrap_or_else(|refusal| refusal)
}

fn as_it_is(_: &mut Value) {}

#[test]
fn work_on_entries_that_will_not_be_there_is_refused_before_any_of_them_is_created() {
    let (grow, fell) = (phase("grow", kind("create-tree")), phase("fell", kind("remove-tree")));
    let (plant, stat) = (phase("create", create(100)), phase("stat", kind("stat")));
    let (rename, remove) = (phase("rename", kind("rename")), phase("remove", kind("remove")));
    let read = |bytes| phase("read", json!({"kind": "read", "bytes": bytes}));
    let again = |mut phase: Value| {
        phase["name"] = json!(format!("{}-again", phase["name"].as_str().unwrap()));
        phase
    };
    let limited = |phase: &Value| with(phase.clone(), &json!({}), &json!({"limit": {"operations_per_rank": 3}}));
    let by_two = |phase: &Value| with(phase.clone(), &json!({}), &json!({"ranks": {"first": 0, "count": 2}}));
    let write = phase("write", json!({"kind": "write", "bytes": 200, "fsync": false}));
    let in_turn = |phase: &Value| with(phase.clone(), &json!({"order": "interleaved"}), &json!({}));
    let walled = |phase: &Value| with(phase.clone(), &json!({}), &json!({"limit": {"stonewall_ns": 1000}}));
    let replace = |bytes| in_turn(&phase("replace", json!({"kind": "replace", "bytes": bytes})));
    let cases: &[(&[&Value], &str)] = &[
        (&[&grow, &plant, &stat, &read(100), &rename, &again(stat.clone()), &remove, &fell], "accepted"),
        (&[&grow, &plant, &remove, &again(plant.clone())], "accepted"),
        (&[&grow, &by_two(&plant), &by_two(&stat), &by_two(&remove), &fell], "accepted"),
        (&[&grow, &limited(&plant), &stat, &remove, &fell], "accepted"),
        (&[&grow, &plant, &write, &read(200)], "accepted"),
        (&[&stat], "do not exist"),
        (&[&grow, &stat], "do not exist"),
        (&[&plant], "the tree's directories do not exist"),
        (&[&grow, &again(grow.clone())], "already exist"),
        (&[&grow, &plant, &again(plant.clone())], "already exist"),
        (&[&grow, &plant, &remove, &again(remove.clone())], "do not exist"),
        (&[&grow, &plant, &remove, &stat], "do not exist"),
        (&[&grow, &plant, &fell], "still has items"),
        (&[&fell], "the tree's directories do not exist"),
        (&[&grow, &fell, &plant], "the tree's directories do not exist"),
        (&[&grow, &plant, &read(101)], "101 bytes cannot be read from files that hold 100"),
        (&[&grow, &plant, &limited(&write), &read(200)], "from files that hold 100"),
        (&[&grow, &by_two(&plant), &stat], "the items of rank 2 do not exist"),
        (&[&grow, &plant, &by_two(&remove), &fell], "still has items"),
        (&[&grow, &plant, &limited(&remove), &stat], "and which is unknown"),
        (&[&grow, &plant, &limited(&rename), &remove], "and which is unknown"),
        (&[&grow, &plant, &limited(&remove), &fell], "still has items"),
        (&[&grow, &plant, &replace(100), &again(replace(60)), &stat, &read(60), &remove, &fell], "accepted"),
        (&[&grow, &in_turn(&limited(&plant)), &replace(100), &remove, &fell], "accepted"),
        (&[&grow, &limited(&plant), &replace(100)], "more items in some directories than in others"),
        (&[&grow, &in_turn(&walled(&plant)), &replace(100)], "more items in some directories than in others"),
        (&[&grow, &plant, &replace(101)], "101 bytes cannot be read from files that hold 100"),
        (&[&grow, &plant, &replace(60), &read(61)], "61 bytes cannot be read from files that hold 60"),
        (&[&grow, &plant, &limited(&replace(100)), &stat], "and which is unknown"),
        (&[&grow, &replace(0)], "do not exist"),
    ];
    for (steps, expected) in cases {
        let steps: Vec<Value> = steps.iter().map(|&step| step.clone()).collect();
        let names: Vec<&str> = steps.iter().map(|step| step["name"].as_str().unwrap()).collect();
        let refusal = refused(&steps, as_it_is);
        assert!(refusal.contains(expected), "{names:?}: {refusal}");
    }
}

#[test]
fn metadata_jobs_that_contradict_themselves_are_refused_with_key_value_and_what_is_valid() {
    let (grow, plant) = (phase("grow", kind("create-tree")), phase("create", create(0)));
    let job = |operation: Value| vec![grow.clone(), plant.clone(), phase("x", operation)];
    let set = |pointer: &'static str, value: Value| {
        move |text: &mut Value| {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            text.pointer_mut(parent).unwrap()[key] = value.clone();
        }
    };
    assert_eq!(refused(&job(kind("stat")), as_it_is), "accepted");
    let shift = "/steps/1/jobs/0/work/shift";
    assert!(refused(&job(kind("stat")), set(shift, json!(1))).starts_with("create, steps[1].jobs[0].work.shift"));
    let unknown = refused(&job(kind("stat")), set("/steps/2/jobs/0/work/tree", json!("u")));
    assert!(unknown.ends_with("there is no tree \"u\"; use one of: t"), "{unknown}");
    for (pointer, value, expected) in [
        ("/trees/t/branch", json!(0), "trees.t.branch"),
        ("/trees/t/depth", json!(60), "trees.t.depth: depth 60, 2 branches"),
        ("/trees/t/items_per_directory", json!(1_u64 << 62), "trees.t.depth"),
        ("/trees/t/items_per_directory", json!(0), "the tree has no items"),
        ("/trees/t/ranks", json!({"first": 2, "count": 3}), "trees.t.ranks"),
        ("/trees/t/ranks", json!({"first": 0, "count": 3}), "4 ranks would change the items of 3"),
        ("/steps/0/jobs/0/limit", json!({"operations_per_rank": 1}), "steps[0].jobs[0].limit"),
        ("/steps/0/jobs/0/work/order", json!("random"), "use sequential"),
        ("/storage/api", json!("skeleton"), "skeleton has no directory entries"),
        ("/steps/1/jobs/0/limit", json!({"bytes_per_rank": 1}), "use limit.operations_per_rank"),
        ("/steps/1/jobs/0/work/operation/with", json!("touch"), "expected `open` or `mknod`"),
        ("/steps/1/jobs/0/work/operation/write_bytes", json!(1_u64 << 40), "a call cannot move 1099511627776 bytes"),
        ("/trees/t/payload", json!({"kind": "unique"}), "trees.t.payload"),
        ("/steps/1/jobs/0/work/verify", json!(true), "set a payload for the tree"),
    ] {
        let refusal = refused(&job(kind("stat")), set(pointer, value.clone()));
        assert!(refusal.contains(expected), "{pointer} = {value}: {refusal}");
    }
    let mut deep = tree("unique", 250, 1, 1);
    deep["ranks"] = Value::Null;
    assert!(refused(&job(kind("stat")), set("/trees/t", deep)).contains("the deepest path would have"));
    let with_data = |text: &mut Value| {
        text["trees"]["data.7"] = text["trees"]["t"].clone();
        text["files"]["data"] = json!({
            "layout": "N-N", "files_per_rank": 1, "transfer_bytes": 1, "block_bytes": 1, "segments": 1,
            "payload": {"kind": "zero"},
        });
    };
    assert!(refused(&job(kind("stat")), with_data).contains("would have the name of a file"));

    let mknod = json!({"kind": "create", "with": "mknod", "write_bytes": 5, "fsync": false});
    assert!(refused(&[grow.clone(), phase("x", mknod)], as_it_is).contains("mknod does not open the file"));
    let directories = set("/trees/t/items", json!("directories"));
    assert!(refused(&job(json!({"kind": "read", "bytes": 0})), &directories).contains("hold no data"));
    assert!(refused(&[grow.clone(), phase("x", create(7))], &directories).contains("hold no data"));
    assert_eq!(refused(&job(kind("stat")), &directories), "accepted");
    let short = |text: &mut Value| {
        text["trees"]["t"]["sharing"] = json!("shared");
        text["trees"]["t"]["names"] = json!("md-workbench");
    };
    assert!(refused(&job(kind("stat")), short).contains("trees.t.names: these names do not distinguish the items"));
    let displaced = |text: &mut Value| {
        text["trees"]["t"]["sharing"] = json!("shared");
        text["trees"]["t"]["displaced"] = json!(1);
    };
    assert!(refused(&job(kind("stat")), displaced).contains("trees.t.displaced"));
    let verified = |text: &mut Value| {
        text["trees"]["t"]["payload"] = json!({"kind": "ior-offset", "signature": 7});
        text["steps"][1]["jobs"][0]["work"]["verify"] = json!(true);
    };
    assert!(refused(&job(kind("stat")), verified).contains("nothing is read or written that could be verified"));
    let shared_items = set("/trees/t/sharing", json!("shared-items"));
    assert_eq!(refused(&job(kind("remove")), &shared_items), "accepted");
    let shifted = [grow.clone(), plant.clone(), with(phase("x", kind("stat")), &json!({"shift": 1}), &json!({}))];
    assert!(refused(&shifted, &shared_items).contains("all ranks have the same entries"));
    let direct = |text: &mut Value| text["storage"]["direct"] = json!(true);
    assert!(refused(&[grow.clone(), phase("x", create(513))], direct).contains("use a multiple of 512"));
    // A job that moves no bytes goes past the cache as well as any.
    let mut by_itself = job(kind("stat"));
    by_itself.iter_mut().for_each(|step| step["jobs"][0]["storage"] = json!({"api": "posix", "direct": true}));
    assert_eq!(refused(&by_itself, as_it_is), "accepted");

    let replace_by = |keys: Value, of_job: Value| {
        let replace =
            with(phase("x", json!({"kind": "replace", "bytes": 0})), &json!({"order": "interleaved"}), &of_job);
        vec![grow.clone(), plant.clone(), with(replace, &keys, &json!({}))]
    };
    let replace = |keys: Value| replace_by(keys, json!({}));
    assert_eq!(refused(&replace(json!({"shift": 3})), as_it_is), "accepted");
    assert!(refused(&replace(json!({"order": "random"})), as_it_is).contains("use interleaved"));
    assert!(refused(&replace(json!({"paths": "at"})), as_it_is).contains("use full"));
    let half = replace_by(json!({}), json!({"ranks": {"first": 0, "count": 2}}));
    assert!(refused(&half, as_it_is).contains("use 4 ranks for the job"));
    assert!(refused(&replace(json!({})), &directories).contains("hold no data"));
    assert!(refused(&replace(json!({})), &shared_items).contains("can be replaced by only one of them"));
    let many = set("/trees/t/branch", json!(300));
    assert!(refused(&replace(json!({})), many).contains("301 directories with files are too many"));

    let rate_of = |step: u64, duration_ns: u64| {
        set("/steps/1/jobs/0/limit", json!({"at_rate_of": {"step": step, "duration_ns": duration_ns}}))
    };
    assert_eq!(refused(&job(kind("stat")), rate_of(0, 5)), "accepted");
    assert!(refused(&job(kind("stat")), rate_of(0, 0)).contains("limit.at_rate_of.duration_ns: 0 does nothing"));
    for step in [1, 2, 9] {
        assert!(refused(&job(kind("stat")), rate_of(step, 5)).contains("is not an earlier phase"), "{step}");
    }
    let of_a_mix = [
        &replace(json!({}))[..],
        &[with(
            phase("y", kind("stat")),
            &json!({}),
            &json!({
                "limit": {"at_rate_of": {"step": 2, "duration_ns": 5}},
            }),
        )],
    ]
    .concat();
    assert!(refused(&of_a_mix, as_it_is).contains("several kinds of operations"));

    // Two jobs side by side: one may look at a tree while another does, but not while it is changed.
    let side_by_side = |operations: [Value; 2]| {
        let mut phase = phase("both", kind("stat"));
        let jobs = operations.into_iter().zip(0..).map(|(operation, number)| {
            let mut job = phase["jobs"][0].clone();
            (job["name"], job["ranks"]) = (json!(format!("j{number}")), json!({"first": number * 2, "count": 2}));
            job["work"]["operation"] = operation;
            job
        });
        phase["jobs"] = jobs.collect();
        [grow.clone(), plant.clone(), phase]
    };
    assert_eq!(refused(&side_by_side([kind("stat"), json!({"kind": "read", "bytes": 0})]), as_it_is), "accepted");
    let changed = refused(&side_by_side([kind("stat"), kind("remove")]), as_it_is);
    assert!(changed.starts_with("both, steps[2].jobs[1].work.tree: another job of this phase"), "{changed}");
}

#[test]
fn walks_that_contradict_themselves_are_refused() {
    for (conditions, expected) in [
        (json!({}), "accepted"),
        (json!({"root": "/somewhere", "name": "*.dat", "at_least_bytes": 5}), "accepted"),
        (json!({"newer_than_step": 0}), "accepted"),
        (json!({"root": "relative"}), "work.root: relative is a relative path"),
        (json!({"name": "a/b"}), "work.name"),
        (json!({"tree": "t"}), "accepted"),
        (json!({"tree": "u"}), "there is no tree \"u\""),
        (json!({"tree": "t", "root": "/x"}), "work.tree: both a root and a tree are set"),
        (json!({"name": ""}), "work.name"),
        (
            json!({"size_bytes": 1, "at_most_bytes": 2}),
            "both an exact size and a range of sizes are set; set one of them",
        ),
        (json!({"at_least_bytes": 3, "at_most_bytes": 2}), "3 is more than at_most_bytes, 2"),
        (json!({"entries": "directories", "size_bytes": 1}), "only files have a size"),
        (json!({"newer_than_step": 1}), "step 1 is not an earlier phase"),
        (json!({"newer_than_step": 0, "newer_than_unix_ns": 1}), "set one of them"),
    ] {
        let refusal = refused(&[phase("grow", kind("create-tree")), find("find", conditions.clone())], as_it_is);
        assert!(refusal.contains(expected), "{conditions}: {refusal}");
    }
    let on_null = |text: &mut Value| text["storage"]["api"] = json!("null");
    assert!(refused(&[find("find", json!({}))], on_null).contains("set a directory"));
    assert_eq!(refused(&[find("find", json!({"root": "/x"}))], on_null), "accepted");
}

#[test]
fn a_case_is_counted_with_its_trees_before_it_starts() {
    let target = tempfile::tempdir().unwrap();
    let steps = [phase("grow", kind("create-tree")), phase("create", create(3901))];
    let plan = parsed(&plan_text(target.path(), 3, &tree("unique", 1, 2, 10), &steps)).unwrap();
    assert_eq!(plan.trees["t"].items, Items::Files);
    assert_eq!(plan.trees["t"].sharing, Sharing::Unique);
    assert_eq!(plan.sure_entries(), plan.entries());
    let only_looked_at = Plan { steps: Vec::new(), ..plan.clone() };
    assert_eq!(only_looked_at.sure_entries(), 0);
    // Three trees of three directories, ten files of each rank in each, and what holds them.
    assert_eq!(plan.entries(), 3 * 3 + 3 * 30 + 1);
    assert_eq!(plan.stored_bytes(), 90 * 4096);
    assert_eq!(plan.written_bytes(), 90 * 3901);
}
