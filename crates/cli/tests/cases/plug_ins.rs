//! Plug-ins in C, through the engine: those that are right do what the built-in storage APIs do, and those that are
//! wrong are refused or fail by name, and never do harm.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::plug_ins::{shipped, wrong};
use crate::support::process::Bench;
use crate::support::*;
use ioassay_engine::plan::{Refusal, validate, validate_meeting};
use ioassay_engine::storage::names::Presence;
use ioassay_engine::storage::{self, plugin};
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::data::{FileSet, Fsync, Layout, Order, SizeAtOpen, Source, Transfer, Verify};
use ioassay_protocol::plan::pace::Limit;
use ioassay_protocol::plan::storage::{Storage, Target};
use ioassay_protocol::plan::{Job, Plan, Step, Work};
use serde_json::{Value, json};

/// A write with a sync, and a read by another rank that compares.
fn write_and_verify(order: Order) -> Vec<Step> {
    let mut read = work(Transfer::Read, Order::Random);
    (read.verify, read.source) = (Some(Verify::Reads), Source::Shift(1));
    vec![phase("write", work(Transfer::Write, order)), phase("read", read)]
}

fn by(storage: Storage, plan: Plan) -> Plan {
    Plan { storage, ..plan }
}

fn skeleton(options: &[(&str, &str)]) -> Storage {
    let path = shipped("skeleton-plugin").expect("a C compiler");
    let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Storage { options, ..crate::support::plug_ins::storage("skeleton-plugin", path) }
}

#[test]
fn what_is_written_through_a_plug_in_is_read_back_whatever_the_layout_and_the_order() {
    let shared = FileSet { layout: Layout::SharedFile, segments: 3, offset_bytes: 7, ..UNIQUE };
    let groups = FileSet { layout: Layout::Groups(2), files_per_rank: 2, ..UNIQUE };
    for set in [UNIQUE, shared, groups] {
        for order in [Order::Sequential, Order::Backward, Order::Random] {
            let plan = by(skeleton(&[]), plan(set.clone(), 4, write_and_verify(order)));
            let target = tempfile::tempdir().unwrap();
            let (events, place) = run_by(target.path(), &plan, &storage::of_plan);
            assert_eq!(place.failure().map(|failure| failure.message), None);
            for phase in phases(&events) {
                assert!(phase.complete);
                check_sums(phase);
            }
        }
    }
}

#[test]
fn what_a_plug_in_leaves_of_a_transfer_is_moved_by_another_call_and_counted() {
    let plan = by(skeleton(&[("most", "37")]), plan(UNIQUE, 2, write_and_verify(Order::Sequential)));
    let target = tempfile::tempdir().unwrap();
    let (events, place) = run_by(target.path(), &plan, &storage::of_plan);
    assert_eq!(place.failure().map(|failure| failure.message), None);
    // 100 bytes are 37, 37 and 26.
    let short: Vec<u64> =
        phases(&events).iter().map(|phase| phase.ranks.iter().map(|r| r.short_transfers).sum()).collect();
    assert_eq!(short, [40, 40]);
}

#[test]
fn sizes_at_open_are_the_plug_ins_to_heed() {
    for size in [SizeAtOpen::Empty, SizeAtOpen::Full, SizeAtOpen::Preallocated] {
        let mut write = work(Transfer::Write, Order::Sequential);
        write.size = Some(size);
        let plan = by(skeleton(&[("noatime", "yes")]), plan(SMALL, 2, vec![phase("write", write)]));
        let target = tempfile::tempdir().unwrap();
        let (_, place) = run_by(target.path(), &plan, &storage::of_plan);
        assert_eq!(place.failure().map(|failure| failure.message), None, "{size:?}");
    }
}

#[test]
fn a_symbolic_link_in_the_place_of_a_file_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let (mine, link) = (directory.path().join("mine"), directory.path().join("link"));
    std::fs::write(&mine, "mine").unwrap();
    std::os::unix::fs::symlink(&mine, &link).unwrap();
    let (asked, target) = (skeleton(&[]), Target::Directory(directory.path().to_owned()));
    let api = storage::plugin::load(asked.plugin.as_deref().unwrap()).unwrap();
    let mut connection = storage::StorageApi::connect(api, storage::Setup::alone(&asked, &target, &mut [])).unwrap();
    let opening = storage::Opening {
        access: storage::Access::Write,
        presence: Presence::Shared,
        bytes: 4,
        size: None,
        advice: &[],
    };
    assert!(connection.open(&link, opening).is_err());
}

/// A plan in words, on `storage`.
fn text(target: &Path, storage: &Storage, trees: Value, files: Value, steps: Value) -> Value {
    json!({
        "version": ioassay_protocol::VERSION, "run": "r1", "case": "c1",
        "target": {"directory": target}, "storage": storage, "ranks": {"clients": 2, "per_client": 2},
        "trees": trees, "files": files, "steps": steps, "seed": 7, "sample_interval_ns": 1_000_000,
    })
}

#[test]
fn ranks_that_are_processes_read_back_what_they_wrote_and_nothing_is_left() {
    let (bench, target) = (Bench::new(), tempfile::tempdir().unwrap());
    let set = FileSet { layout: Layout::SharedFile, block_bytes: 400, segments: 5, ..UNIQUE };
    let files = json!({"data": set});
    let mut steps = write_and_verify(Order::Random);
    steps.truncate(2);
    let plan = text(target.path(), &skeleton(&[("most", "64")]), json!({}), files, json!(steps));
    let ran = bench.run(&plan);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(bench.phases().iter().map(|phase| phase.bytes).collect::<Vec<_>>(), [8000, 8000]);
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0);
}

#[test]
fn entries_go_through_a_plug_in_too() {
    let (bench, target) = (Bench::new(), tempfile::tempdir().unwrap());
    let path = shipped("null-plugin").expect("a C compiler");
    let tree = json!({
        "sharing": "unique", "depth": 1, "branch": 2, "items_per_directory": 5, "leaves_only": false, "items": "files",
    });
    let phase = |operation: Value| {
        let work = json!({
            "kind": "metadata", "tree": "t", "operation": operation, "order": "sequential", "paths": "full",
        });
        json!({"step": "phase", "name": operation["kind"], "jobs": [{"name": "j", "work": work}]})
    };
    let create = json!({"kind": "create", "with": "open", "write_bytes": 100, "fsync": true});
    let steps: Vec<Value> = [
        json!({"kind": "create-tree"}),
        create,
        json!({"kind": "stat"}),
        json!({"kind": "read", "bytes": 100}),
        json!({"kind": "rename"}),
        json!({"kind": "remove"}),
        json!({"kind": "remove-tree"}),
    ]
    .map(phase)
    .to_vec();
    let storage = crate::support::plug_ins::storage("null-plugin", path);
    let ran = bench.run(&text(target.path(), &storage, json!({"t": tree}), json!({}), json!(steps)));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let operations: Vec<u64> = bench.phases().iter().map(|phase| phase.operations).collect();
    assert_eq!(operations, [12, 60, 60, 60, 60, 60, 12]);
}

/// A plan with one phase that writes, by plug-in `number` of those that are wrong.
fn wrong_plan(number: u32) -> Plan {
    let (name, path) = wrong(number);
    by(
        crate::support::plug_ins::storage(&name, path),
        plan(SMALL, 2, vec![phase("write", work(Transfer::Write, Order::Sequential))]),
    )
}

fn refused(plan: &Plan) -> Refusal {
    validate(plan).unwrap_err()
}

#[test]
fn a_plug_in_whose_description_is_wrong_is_refused_by_its_path_and_what_is_wrong() {
    for (number, problem) in [
        (1, "was built with version 99 of the header"),
        (2, "lacks read_at"),
        (3, "lacks sync"),
        (4, "has the name \"\""),
        (5, "has the name \"My API\""),
        (6, "the option chunk has the unknown kind 77"),
        (7, "the default of chunk, \"many\""),
        (8, "capabilities that this engine does not know"),
        (9, "returned no description"),
        (11, "an invalid size of its options, 0 bytes (option_bytes)"),
        (12, "an invalid size of its options, 24 bytes (option_bytes)"),
    ] {
        let refusal = refused(&wrong_plan(number));
        assert_eq!(refusal.key, "storage.plugin");
        assert!(refusal.problem.contains(problem), "{number}: {}", refusal.problem);
        assert!(refusal.problem.contains(&format!("wrong-{number}")) && !refusal.valid.is_empty());
    }
}

#[test]
fn one_of_an_older_header_whose_description_is_shorter_is_taken() {
    assert_eq!(validate(&wrong_plan(10)), Ok(()));
}

#[test]
fn options_of_a_newer_header_that_are_larger_are_all_found() {
    let mut plan = wrong_plan(13);
    plan.storage.options = BTreeMap::from([("hints.cb_nodes".to_owned(), "4".to_owned())]);
    assert_eq!(validate(&plan), Ok(()));
    plan.storage.options = BTreeMap::from([("chunks".to_owned(), "4k".to_owned())]);
    assert_eq!(refused(&plan).valid, "use chunk, hints.KEY, together");
}

#[test]
fn a_rank_that_has_not_read_the_plan_itself_loads_its_plug_ins() {
    let target = tempfile::tempdir().unwrap();
    let run = |plugin: &Path| {
        let mut plan = wrong_plan(50);
        (plan.target, plan.storage.plugin) = (Target::Directory(target.path().to_owned()), Some(plugin.to_owned()));
        // Nobody validates it here.
        plugin::load_all(&plan)?;
        let (_, place, workspace) = run_and_keep(&plan, &storage::of_plan);
        assert_eq!(workspace.remove().left, []);
        place.failure().map_or(Ok(()), Err)
    };
    assert_eq!(run(&wrong(50).1), Ok(()));
    let failure = run(Path::new("/nowhere/mine.so")).unwrap_err();
    assert!(failure.message.contains("/nowhere/mine.so is not a file") && failure.remedy.contains("ioassay api build"));
}

#[test]
fn what_is_no_plug_in_is_refused_by_its_path() {
    let nothing = tempfile::NamedTempFile::new().unwrap();
    let skeleton_path = skeleton(&[]).plugin.unwrap();
    for (api, plugin, key, problem) in [
        ("mine", Some(PathBuf::from("/nowhere/mine.so")), "storage.plugin", "is not a file"),
        ("mine", Some(PathBuf::from("mine.so")), "storage.plugin", "is not a file"),
        ("mine", Some(nothing.path().to_owned()), "storage.plugin", "cannot be loaded"),
        ("mine", Some(skeleton_path), "storage.api", "is not the name of the plug-in"),
        ("mine", None, "storage.api", "there is no storage API"),
    ] {
        let plan = by(Storage { plugin, ..Storage::of(api) }, wrong_plan(0));
        let refusal = refused(&plan);
        assert_eq!(refusal.key, key);
        assert!(refusal.problem.contains(problem), "{}", refusal.problem);
    }
}

#[test]
fn options_are_refused_by_their_keys_also_by_the_plug_in_itself() {
    let with = |number: u32, key: &str, value: &str| {
        let mut plan = wrong_plan(number);
        plan.storage.options = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        plan
    };
    assert_eq!(validate(&with(0, "hints.cb_nodes", "4")), Ok(()));
    let refusal = refused(&with(0, "chunks", "4k"));
    assert_eq!(
        (refusal.key.as_str(), refusal.valid.as_str()),
        ("storage.options.chunks", "use chunk, hints.KEY, together")
    );
    assert_eq!(refused(&with(0, "chunk", "4x")).key, "storage.options.chunk");
    let refusal = refused(&with(28, "chunk", "4k"));
    assert_eq!(refusal.key, "storage.options");
    assert!(refusal.problem.contains("chunk 4096 contradicts everything"), "{}", refusal.problem);
    assert!(refused(&wrong_plan(25)).problem.contains("capabilities that it did not declare before"));
    let mut plan = plan(SMALL, 1, vec![phase("write", work(Transfer::Write, Order::Sequential))]);
    plan.storage.options = BTreeMap::from([("chunk".to_owned(), "4k".to_owned())]);
    assert!(refused(&plan).problem.contains("posix is not a plug-in"));
}

/// What a case says that is done by plug-in `number` of those that are wrong.
fn failure_of(number: u32, options: &[(&str, &str)], steps: Vec<Step>) -> Failure {
    let mut plan = Plan { steps, ..wrong_plan(number) };
    plan.storage.options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let target = tempfile::tempdir().unwrap();
    let (_, place) = run_by(target.path(), &plan, &storage::of_plan);
    place.failure().expect("it fails")
}

#[test]
fn a_plug_in_that_breaks_its_contract_ends_the_phase_and_nothing_else() {
    for (number, message) in [
        (20, "reported 101 bytes moved of 100 requested"),
        (21, "reported 200 bytes moved of 100 requested"),
        (22, "reported 9223372036854775807 bytes moved of 100 requested"),
        (23, "returned -9223372036854775808, which is not an errno"),
        (24, "returned 5 instead of 0"),
    ] {
        let failure = failure_of(number, &[], write_and_read(Order::Sequential));
        assert!(failure.message.contains(message), "{number}: {}", failure.message);
    }
}

#[test]
fn an_errno_of_a_plug_in_keeps_its_name_and_its_remedy_with_a_message_and_without() {
    let write = || vec![phase("write", work(Transfer::Write, Order::Sequential))];
    let explained = failure_of(26, &[], write());
    assert!(explained.message.contains("(ENOSPC)") && explained.remedy.contains("free space"), "{explained:?}");
    assert!(explained.message.len() < 1300, "a message has an end: {}", explained.message.len());
    let silent = failure_of(27, &[], write());
    assert!(silent.message.contains("(EDQUOT)") && silent.remedy.contains("quota"), "{silent:?}");
}

#[test]
fn a_short_collective_transfer_of_a_shared_file_is_an_error_and_not_repeated_by_one_rank() {
    let write = vec![phase("write", work(Transfer::Write, Order::Sequential))];
    let mut plan = Plan { steps: write, ..wrong_plan(29) };
    plan.files.get_mut("data").unwrap().layout = Layout::SharedFile;
    plan.storage.options = BTreeMap::from([("together".to_owned(), "yes".to_owned())]);
    let target = tempfile::tempdir().unwrap();
    let (_, place) = run_by(target.path(), &plan, &storage::of_plan);
    let message = place.failure().unwrap().message;
    assert!(message.contains("a collective call moved 99 of 100 bytes"), "{message}");
}

/// A plan for collective files, or transfers, whose job is changed by `change`.
fn together(transfers: bool, change: impl Fn(&mut Job)) -> Plan {
    let mut write = job("write", work(Transfer::Write, Order::Sequential));
    change(&mut write);
    let mut plan = wrong_plan(0);
    plan.steps = vec![phase_of("write", vec![write])];
    plan.files.insert("data".to_owned(), FileSet { layout: Layout::SharedFile, ..SMALL });
    let flag = if transfers { "yes" } else { "no" };
    plan.storage.options = BTreeMap::from([("together".to_owned(), flag.to_owned())]);
    plan
}

fn data(job: &mut Job) -> &mut ioassay_protocol::plan::data::DataWork {
    match &mut job.work {
        Work::Data(work) => work,
        _ => unreachable!(),
    }
}

#[test]
fn what_would_let_ranks_do_different_numbers_of_collective_calls_is_refused_on_shared_files_only() {
    let stonewall = |job: &mut Job| job.limit = Limit { stonewall_ns: Some(1_000_000_000), ..Limit::default() };
    let minimum = |job: &mut Job| job.limit = Limit { minimum_ns: Some(1_000_000_000), ..Limit::default() };
    let mixed = |job: &mut Job| data(job).transfer = Transfer::Mixed(50);
    let dealt = |job: &mut Job| data(job).order = Order::IorShuffled(3);
    let often = |job: &mut Job| {
        stonewall(job);
        data(job).fsync = Fsync::EveryWrites(2);
    };
    let nothing = |_: &mut Job| {};
    let expect = |transfers: bool, change: &dyn Fn(&mut Job), key: Option<&str>| {
        let mut plan = together(transfers, change);
        let refused_key = validate(&plan).err().map(|refusal| refusal.key);
        assert_eq!(refused_key.as_deref(), key.map(|key| format!("steps[0].jobs[0].{key}")).as_deref());
        plan.files.get_mut("data").unwrap().layout = Layout::FilePerRank;
        assert_eq!(validate(&plan), Ok(()), "each rank alone does as many calls as it likes");
    };
    for (transfers, change, key) in [
        (true, &nothing as &dyn Fn(&mut Job), None),
        (true, &stonewall, Some("limit.stonewall_ns")),
        (true, &minimum, Some("limit.minimum_ns")),
        (true, &mixed, Some("work.transfer")),
        (true, &dealt, Some("work.order")),
        (false, &stonewall, None),
        (false, &minimum, None),
        (false, &mixed, None),
        (false, &dealt, None),
        (false, &often, Some("work.fsync")),
    ] {
        expect(transfers, change, key);
    }
    let mut many = together(false, stonewall);
    many.files.get_mut("data").unwrap().files_per_rank = 2;
    assert_eq!(refused(&many).key, "steps[0].jobs[0].limit.stonewall_ns");
    let mut read = together(true, |job| *job = a_read());
    let mut write = job("write", work(Transfer::Write, Order::Sequential));
    stonewall(&mut write);
    write.storage = Some(Storage { options: BTreeMap::new(), ..read.storage.clone() });
    read.steps.insert(0, phase_of("before", vec![write]));
    assert_eq!(refused(&read).key, "steps[1].jobs[0].work.files");
}

fn a_read() -> Job {
    job("read", work(Transfer::Read, Order::Sequential))
}

#[test]
fn a_plan_for_mpi_is_refused_where_ranks_do_not_meet_over_it() {
    let Some(path) = shipped("mpiio") else { return };
    let plan = by(crate::support::plug_ins::storage("mpiio", path), plan(SMALL, 2, write_and_read(Order::Sequential)));
    assert_eq!(validate(&plan), Ok(()));
    assert_eq!(validate_meeting(&plan, true), Ok(()));
    assert!(validate_meeting(&plan, false).unwrap_err().valid.contains("--launcher mpirun"));
    let target = tempfile::tempdir().unwrap();
    let (_, place) = run_by(target.path(), &plan, &storage::of_plan);
    assert!(place.failure().unwrap().remedy.contains("--launcher mpirun"));
}

#[test]
fn what_is_built_without_a_umask_can_be_changed_by_nobody_else() {
    let place = tempfile::tempdir().unwrap();
    let cache = place.path().join("new/cache");
    let built = build_in(&cache, "umask 000");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let library = PathBuf::from(String::from_utf8(built.stdout).unwrap().trim());
    let made = library.ancestors().take_while(|path| *path != place.path());
    for path in made {
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755, "{}: {mode:o}", path.display());
    }
}

#[test]
fn nothing_is_built_or_loaded_below_a_directory_of_another_user() {
    if !nix::unistd::Uid::effective().is_root() {
        return crate::support::skipped::skipped("another user's directory", "it needs root");
    }
    let place = tempfile::tempdir().unwrap();
    let (above, cache) = (place.path().join("above"), place.path().join("above/cache"));
    let built = build_in(&cache, "umask 022");
    let library = PathBuf::from(String::from_utf8(built.stdout).unwrap().trim());
    std::os::unix::fs::chown(&above, Some(65534), None).unwrap();
    let plan = by(crate::support::plug_ins::storage("null-plugin", library), plan(SMALL, 1, vec![]));
    let others = format!("other users can change {}", above.display());
    assert!(refused(&plan).problem.contains(&others), "{}", refused(&plan).problem);
    let built = build_in(&cache, "umask 022");
    assert_eq!(built.status.code(), Some(3));
    let errors = String::from_utf8(built.stderr).unwrap();
    assert!(errors.contains(&others) && errors.contains("chmod go-w"), "{errors}");
}

/// `api build null-plugin` with this cache, after a line of shell.
fn build_in(cache: &Path, before: &str) -> std::process::Output {
    std::process::Command::new("sh")
        .args(["-c", &format!("{before}; exec \"$0\" api build null-plugin"), env!("CARGO_BIN_EXE_ioassay-engine")])
        .env("IOASSAY_CACHE", cache)
        .output()
        .unwrap()
}

#[test]
fn a_plug_in_is_built_into_a_directory_that_is_named_from_where_the_user_is() {
    let here = tempfile::tempdir().unwrap();
    std::fs::create_dir(here.path().join("mine")).unwrap();
    let mut engine = std::process::Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
    let built =
        engine.args(["api", "build", "null-plugin", "--output", "mine"]).current_dir(here.path()).output().unwrap();
    assert_eq!(built.status.code(), Some(0), "{}", String::from_utf8_lossy(&built.stderr));
    assert!(here.path().join("mine/null-plugin.so").is_file());
}
