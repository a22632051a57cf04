//! From what an .ini file asks for to one plan: all phases of the list, so that each finds what the earlier ones left.
//!
//! Not here: running it, and what is printed.

use std::collections::BTreeSet;
use std::path::Path;

use ioassay_engine::workload::tree::MOST_ENTRIES;
use ioassay_protocol::VERSION;
use ioassay_protocol::plan::cache::CacheStep;
use ioassay_protocol::plan::data::{DataWork, FileSet, Fsync, Layout, Order, Source, Transfer, Verify};
use ioassay_protocol::plan::metadata::{
    CreateWith, EntryOrder, FindWork, ItemNames, Items, MetadataOperation, MetadataWork, Paths, Sharing, Tree,
};
use ioassay_protocol::plan::pace::{AtRateOf, Limit};
use ioassay_protocol::plan::storage::{Storage, Target};
use ioassay_protocol::plan::{CacheMethod, Job, Phase, Plan, RankCount, RankRange, Step, Work};

use super::phases::{PHASES, RANDOM, RANDOM_BYTES, TIMESTAMP};
use super::settings::Settings;

/// Bytes of a transfer of `ior-hard`, and of its block.
pub const HARD_TRANSFER_BYTES: u64 = 47_008;

/// Bytes of each file of `mdtest-hard`.
pub const HARD_ITEM_BYTES: u64 = 3901;

/// What `find` looks for in names.
pub const PATTERN: &str = "*01*";

/// Random reads of each rank at most.
pub const RANDOM_READS: u64 = 10_000_000;

/// File sets and trees, called as the sections.
pub const IOR_EASY: &str = "ior-easy";
pub const IOR_HARD: &str = "ior-hard";
pub const MDTEST_EASY: &str = "mdtest-easy";
pub const MDTEST_HARD: &str = "mdtest-hard";
pub const MDWORKBENCH: &str = "mdworkbench";

/// Directories of each rank that md-workbench works in.
pub const SETS: u32 = 10;

/// The first of the two iterations of `mdworkbench-bench`; the second has the score.
pub const FIRST_ITERATION: &str = "mdworkbench-bench-first";

/// For so long md-workbench would create files, at the rate of `mdtest-easy-write`; no longer than a stonewall.
const PRECREATE_S: u64 = 60;

/// Files that md-workbench would create in a second if `mdtest-easy-write` did not run.
const PRECREATE_PER_S: u64 = 10_000;

/// More files than this the sets of a rank do not get.
const MOST_SET_FILES: u64 = 10_000_000;

/// What the signature of md-workbench's files is made of.
pub const MDWORKBENCH_MARK: &str = "md-workbench";

/// The only case of a run.
pub const CASE: &str = "io500";

/// What creating the directories of `tree` is called; its time counts in the phase that fills them.
pub fn tree_phase(tree: &str) -> String {
    format!("{tree}-directories")
}

/// What a run is given: where, and by which names.
#[derive(Debug, Clone, Copy)]
pub struct RunContext<'a> {
    /// The directory of the file system that is measured, absolute.
    pub data: &'a Path,
    /// Identifier of the run.
    pub run: &'a str,
    /// The time as the directory of results has it, from which signatures are made.
    pub timestamp: &'a str,
}

/// The number that the data of `section` is marked with (IOR's and mdtest's `-G`): another in each run and section
/// (IO500/io500 at 02091cf, `u_phase_unique_random_number` in `src/util.c`).
pub fn signature(section: &str, timestamp: &str) -> i32 {
    let turned = |mark: u32, letter: u8| mark.rotate_left(2).wrapping_add(letter.into());
    match section.bytes().chain(timestamp.bytes()).fold(0, turned) {
        // Those mean something else to IOR.
        0 | u32::MAX => 4711,
        mark => mark.cast_signed(),
    }
}

/// The plan of all phases that run.
pub fn plan(settings: &Settings, context: &RunContext<'_>) -> Plan {
    let mark = |section| settings.packet.payload(signature(section, context.timestamp));
    let set = |transfer_bytes, block_bytes, segments, layout, section| FileSet {
        layout,
        ranks: None,
        files_per_rank: 1,
        transfer_bytes,
        block_bytes,
        segments,
        offset_bytes: 0,
        payload: mark(section),
    };
    let layout = if settings.easy_file_per_rank { Layout::FilePerRank } else { Layout::SharedFile };
    let easy = set(settings.easy_transfer_bytes, settings.easy_block_bytes, 1, layout, IOR_EASY);
    let hard = set(HARD_TRANSFER_BYTES, HARD_TRANSFER_BYTES, settings.hard_segments, Layout::SharedFile, IOR_HARD);
    let tree = |sharing, displaced, items_per_directory, section| Tree {
        ranks: None,
        sharing,
        depth: 0,
        branch: 1,
        items_per_directory,
        leaves_only: true,
        items: Items::Files,
        displaced,
        names: ItemNames::Mdtest,
        payload: Some(mark(section)),
    };
    // mdtest's -N 1: each rank creates its files in a directory that another one made.
    let displaced = u32::from(settings.ranks > 1);
    let sets = Tree {
        depth: 1,
        branch: SETS,
        names: ItemNames::MdWorkbench,
        ..tree(Sharing::Unique, 0, set_files(settings).unwrap_or_else(|| most_set_files(settings)), MDWORKBENCH_MARK)
    };
    let trees = [
        (MDTEST_EASY.to_owned(), tree(Sharing::Unique, displaced, settings.easy_items, MDTEST_EASY)),
        (MDTEST_HARD.to_owned(), tree(Sharing::Shared, 0, settings.hard_items, MDTEST_HARD)),
        (MDWORKBENCH.to_owned(), sets),
    ];
    let mut plan = Plan {
        version: VERSION,
        run: context.run.to_owned(),
        case: CASE.to_owned(),
        target: Target::Directory(context.data.to_owned()),
        storage: settings.api.storage.clone(),
        ranks: RankCount { clients: 1, per_client: settings.ranks },
        files: [(IOR_EASY.to_owned(), easy), (IOR_HARD.to_owned(), hard)].into(),
        trees: trees.into(),
        datasets: Default::default(),
        checkpoints: Default::default(),
        steps: steps(settings),
        seed: u64::from(signature("seed", context.timestamp).cast_unsigned()),
        memory_bytes: 0,
        time_limit_ns: None,
        sample_interval_ns: 1_000_000_000,
    };
    let used: BTreeSet<String> = plan.jobs().filter_map(|job| worked_on(job).map(str::to_owned)).collect();
    plan.files.retain(|name, _| used.contains(name));
    plan.trees.retain(|name, _| used.contains(name));
    plan
}

/// The file set or tree of a job.
fn worked_on(job: &Job) -> Option<&str> {
    match &job.work {
        Work::Data(work) => Some(&work.files),
        Work::Metadata(work) => Some(&work.tree),
        Work::Find(work) => work.tree.as_deref(),
        _ => None,
    }
}

fn steps(settings: &Settings) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut changed_since = None;
    let mut easy_write = None;
    for phase in settings.phases().filter(|phase| phase.name != TIMESTAMP && settings.runs(phase.name)) {
        let first = steps.len();
        if settings.drop_caches {
            steps.push(Step::ColdCache(CacheStep::of(vec![CacheMethod::DropCaches])));
        }
        if is_after_timestamp(phase.name) && changed_since.is_none() {
            changed_since = Some(steps.len() as u32);
        }
        steps.extend(before(settings, phase.name));
        if phase.name == "mdtest-easy-write" {
            easy_write = Some(steps.len() as u32);
        }
        let walkers = (settings.walkers(phase.name) < settings.ranks)
            .then(|| RankRange { first: 0, count: settings.walkers(phase.name) });
        steps.push(step(
            phase.name,
            work(settings, phase.name, changed_since),
            limit(settings, phase.name, easy_write),
            walkers,
        ));
        if let Some(storage) = own_storage(settings, phase.name) {
            do_io_by(&mut steps[first..], &storage);
        }
    }
    steps
}

/// What comes before a phase, and has no line of its own: the directories that it fills, or its first iteration.
fn before(settings: &Settings, phase: &str) -> Option<Step> {
    let directories = |tree| {
        let created = metadata(settings, tree, MetadataOperation::CreateTree {}, 0);
        Some(step(&tree_phase(tree), Work::Metadata(created), Limit::default(), None))
    };
    match phase {
        "mdtest-easy-write" => directories(MDTEST_EASY),
        "mdtest-hard-write" => directories(MDTEST_HARD),
        "mdworkbench-create" => directories(MDWORKBENCH),
        "mdworkbench-bench" => Some(step(FIRST_ITERATION, work(settings, phase, None), Limit::default(), None)),
        _ => None,
    }
}

/// The storage of a phase, where it is not that of all.
fn own_storage(settings: &Settings, phase: &str) -> Option<Storage> {
    let collective = settings.is_collective(phase);
    let api = settings.own_api(phase).or_else(|| collective.then(|| settings.api_of(phase)))?;
    let mut storage = api.storage.clone();
    if collective {
        storage.options.insert("collective".to_owned(), "yes".to_owned());
    }
    Some(storage)
}

/// Gives the jobs of `steps` a storage of their own.
fn do_io_by(steps: &mut [Step], storage: &Storage) {
    for step in steps {
        if let Step::Phase(phase) = step {
            phase.jobs.iter_mut().for_each(|job| job.storage = Some(storage.clone()));
        }
    }
}

fn is_after_timestamp(name: &str) -> bool {
    let place = |name| PHASES.iter().position(|phase| phase.name == name);
    place(name) > place(TIMESTAMP) && !name.starts_with("find")
}

fn step(name: &str, work: Work, limit: Limit, ranks: Option<RankRange>) -> Step {
    let job = Job { ranks, limit, ..Job::new(name, work) };
    Step::Phase(Phase::new(name, vec![job]))
}

/// Files of each set of md-workbench, where that is known beforehand.
fn set_files(settings: &Settings) -> Option<u64> {
    let known = settings.set_files.is_some() || !settings.runs("mdtest-easy-write");
    known.then(|| assumed_set_files(settings))
}

/// Files of each set as long as the rate of `mdtest-easy-write` is unknown.
pub fn assumed_set_files(settings: &Settings) -> u64 {
    settings.set_files.unwrap_or_else(|| {
        let files = PRECREATE_PER_S * precreate_ns(settings) / 1_000_000_000;
        (files / u64::from(settings.ranks) / u64::from(SETS)).max(1)
    })
}

/// How many records a phase has: one for each kind of operation.
pub fn records(phase: &str) -> usize {
    let replaces = phase == "mdworkbench-bench" || phase == FIRST_ITERATION;
    if replaces { MetadataOperation::Replace { bytes: HARD_ITEM_BYTES }.operations().len() } else { 1 }
}

/// Files of each set at most: with those of all ranks they still can be counted.
fn most_set_files(settings: &Settings) -> u64 {
    MOST_SET_FILES.min(MOST_ENTRIES / 2 / (u64::from(SETS) * u64::from(settings.ranks)))
}

/// How long md-workbench would create files.
fn precreate_ns(settings: &Settings) -> u64 {
    settings.stonewall_ns.min(PRECREATE_S * 1_000_000_000 / settings.scale_down)
}

/// Of `phase`; `easy_write` is the step of `mdtest-easy-write`.
fn limit(settings: &Settings, phase: &str, easy_write: Option<u32>) -> Limit {
    let walled = PHASES.iter().any(|known| known.name == phase && known.walled);
    let stonewall_ns = Some(settings.stonewall_ns);
    match phase {
        _ if walled => Limit { stonewall_ns, wear_out: true, ..Limit::default() },
        "mdworkbench-create" if set_files(settings).is_none() => {
            let duration_ns = precreate_ns(settings);
            Limit { at_rate_of: easy_write.map(|step| AtRateOf { step, duration_ns }), ..Limit::default() }
        }
        // As many random reads as there are, or as fit into the time.
        RANDOM => Limit {
            operations_per_rank: Some(RANDOM_READS),
            minimum_ns: stonewall_ns,
            stonewall_ns,
            wear_out: true,
            ..Limit::default()
        },
        _ => Limit::default(),
    }
}

fn work(settings: &Settings, phase: &str, changed_since: Option<u32>) -> Work {
    use MetadataOperation as Kind;
    let create = |write_bytes| Kind::Create { with: CreateWith::Open, write_bytes, fsync: false };
    let read = Kind::Read { bytes: HARD_ITEM_BYTES };
    // mdtest's -N 1: each operation on the files of the next rank but so many.
    match phase {
        "mdtest-easy-write" => Work::Metadata(metadata(settings, MDTEST_EASY, create(0), 0)),
        "mdtest-easy-stat" => Work::Metadata(metadata(settings, MDTEST_EASY, Kind::Stat {}, 1)),
        "mdtest-easy-delete" => Work::Metadata(metadata(settings, MDTEST_EASY, Kind::Remove {}, 3)),
        "mdtest-hard-write" => Work::Metadata(metadata(settings, MDTEST_HARD, create(HARD_ITEM_BYTES), 0)),
        "mdtest-hard-stat" => Work::Metadata(metadata(settings, MDTEST_HARD, Kind::Stat {}, 1)),
        "mdtest-hard-read" => Work::Metadata(metadata(settings, MDTEST_HARD, read, 2)),
        "mdtest-hard-delete" => Work::Metadata(metadata(settings, MDTEST_HARD, Kind::Remove {}, 3)),
        "mdworkbench-create" => Work::Metadata(in_turn(settings, create(HARD_ITEM_BYTES))),
        "mdworkbench-bench" => Work::Metadata(MetadataWork {
            shift: 1 % settings.ranks,
            verify: true,
            ..in_turn(settings, Kind::Replace { bytes: HARD_ITEM_BYTES })
        }),
        "mdworkbench-delete" => Work::Metadata(metadata(settings, MDWORKBENCH, Kind::Remove {}, 0)),
        "find-easy" => Work::Find(FindWork {
            tree: Some(MDTEST_EASY.to_owned()),
            name: Some(PATTERN.to_owned()),
            entries: Some(Items::Files),
            ..FindWork::default()
        }),
        "find-hard" => Work::Find(FindWork { tree: Some(MDTEST_HARD.to_owned()), ..find(changed_since) }),
        "find" => Work::Find(find(changed_since)),
        "ior-hard-write" => Work::Data(data(IOR_HARD, Transfer::Write)),
        "ior-hard-read" => Work::Data(data(IOR_HARD, Transfer::Read)),
        "ior-easy-write" => Work::Data(data(IOR_EASY, Transfer::Write)),
        RANDOM => Work::Data(DataWork {
            order: Order::RandomWithReplacement,
            verify: None,
            piece_bytes: Some(RANDOM_BYTES),
            ..data(IOR_EASY, Transfer::Read)
        }),
        _ => Work::Data(data(IOR_EASY, Transfer::Read)),
    }
}

fn find(changed_since: Option<u32>) -> FindWork {
    FindWork {
        name: Some(PATTERN.to_owned()),
        size_bytes: Some(HARD_ITEM_BYTES),
        newer_than_step: changed_since,
        ..FindWork::default()
    }
}

fn metadata(settings: &Settings, tree: &str, operation: MetadataOperation, shift: u32) -> MetadataWork {
    MetadataWork {
        tree: tree.to_owned(),
        operation,
        order: EntryOrder::Sequential,
        shift: shift % settings.ranks,
        paths: Paths::Full,
        verify: matches!(operation, MetadataOperation::Read { .. }),
        sync_at_end: matches!(operation, MetadataOperation::Create { .. }),
    }
}

/// What md-workbench does with the files of its sets, one of each set after the other.
fn in_turn(settings: &Settings, operation: MetadataOperation) -> MetadataWork {
    MetadataWork { order: EntryOrder::Interleaved, sync_at_end: false, ..metadata(settings, MDWORKBENCH, operation, 0) }
}

fn data(files: &str, transfer: Transfer) -> DataWork {
    DataWork {
        files: files.to_owned(),
        transfer,
        order: Order::Sequential,
        // IOR's -C -Q 1 goes to another node, and there is one.
        source: Source::Own,
        fsync: if transfer == Transfer::Write { Fsync::AtClose } else { Fsync::Never },
        verify: (transfer == Transfer::Read).then_some(Verify::Reads),
        size: None,
        lock: None,
        advice: Vec::new(),
        barriers: true,
        piece_bytes: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::Common;
    use crate::io500::api::Ways;
    use crate::io500::config::Config;
    use ioassay_engine::plan::validate;

    fn context() -> RunContext<'static> {
        RunContext { data: Path::new("/d"), run: "r1", timestamp: "2026.11.21-17.31.13" }
    }

    fn settings(text: &str, ranks: u32, extended: bool) -> Settings {
        let common = Common { ranks, nodes: 1, run: None, overwrite: false, scale_down: 1 };
        Settings::of(&Config::parse("x.ini", text).unwrap(), &common, extended, None, &Ways::default()).unwrap()
    }

    #[test]
    fn every_plan_is_valid() {
        for (text, extended) in [
            ("", false),
            ("[mdworkbench]\nrun = FALSE", true),
            ("", true),
            ("[mdworkbench]\nprecreatePerSet = 7\nfilesPerProc = 7\n[ior-hard]\nrun = FALSE", true),
            ("[mdtest-easy]\nrun = FALSE\n[find-easy]\nrun = FALSE", true),
            ("[global]\ndrop-caches = TRUE\ndataPacketType = random\n[ior-easy]\nfilePerProc = FALSE", false),
            ("[ior-hard]\nrun = FALSE\n[find]\nnproc = 1", false),
            ("[ior-easy]\nrun = FALSE\n[mdtest-easy]\nrun = FALSE\n[ior-hard]\nrun = FALSE", false),
        ] {
            for ranks in [1, 2, 3, 410, 200_000] {
                let plan = plan(&settings(text, ranks, extended), &context());
                assert_eq!(validate(&plan), Ok(()), "{text} with {ranks} ranks");
            }
        }
    }

    #[test]
    fn what_no_phase_works_on_is_not_in_the_plan() {
        let alone =
            "[ior-easy]\nrun = FALSE\n[mdtest-easy]\nrun = FALSE\n[mdtest-hard]\nrun = FALSE\n[find]\nrun = FALSE";
        let plan = plan(&settings(alone, 2, false), &context());
        assert_eq!(plan.files.keys().collect::<Vec<_>>(), [IOR_HARD]);
        assert!(plan.trees.is_empty());
    }

    #[test]
    fn phases_come_in_the_official_order_and_find_counts_from_the_timestamp() {
        let plan = plan(&settings("", 2, false), &context());
        let names: Vec<&str> = plan
            .steps
            .iter()
            .map(|step| match step {
                Step::Phase(phase) => phase.name.as_str(),
                _ => panic!("{step:?}"),
            })
            .collect();
        assert_eq!(
            names[..6],
            [
                "ior-easy-write",
                "mdtest-easy-directories",
                "mdtest-easy-write",
                "ior-hard-write",
                "mdtest-hard-directories",
                "mdtest-hard-write"
            ]
        );
        assert_eq!(names[6..9], ["find", "ior-easy-read", "mdtest-easy-stat"]);
        let Step::Phase(find) = &plan.steps[6] else { panic!() };
        let Work::Find(work) = &find.jobs[0].work else { panic!() };
        assert_eq!(work.newer_than_step, Some(3));
    }

    /// The official program gave these to IOR and mdtest at this time.
    #[test]
    fn signatures_are_those_of_the_official_program() {
        let expected = [(IOR_EASY, 1_836_274_810), (MDTEST_EASY, -1_572_514_692), (IOR_HARD, 1_836_285_498)];
        for (section, signature_of) in expected {
            assert_eq!(signature(section, "2026.11.21-17.31.13"), signature_of, "{section}");
        }
    }
}
