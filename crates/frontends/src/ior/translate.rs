//! From a test of IOR to plans: one for each repetition.
//!
//! Not here: running them, and what is printed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ioassay_engine::workload::c_library::CLibrary;
use ioassay_protocol::VERSION;
use ioassay_protocol::plan::data::{
    Advice, DataWork, FileSet, Fsync, Layout, Lock, Order, Payload, SizeAtOpen, Source, Transfer, Verify,
};
use ioassay_protocol::plan::pace::{Limit, Think};
use ioassay_protocol::plan::storage::{InPlace, Storage, Target, Uring};
use ioassay_protocol::plan::{Job, Phase, Plan, RankCount, Step, Work};

use super::settings::{Api, Random, Test};

/// Names of the phases in plans and records.
pub const PREFILL: &str = "prefill";
pub const WRITE: &str = "write";
pub const CHECK: &str = "write-check";
pub const READ: &str = "read";

/// The file set that is written and read.
const DATA: &str = "data";

/// What a test is run on.
#[derive(Debug, Clone, Copy)]
pub struct RunContext<'a> {
    /// The directory that relative names begin in.
    pub working_directory: &'a Path,
    /// Ranks that were started, some of which may not take part.
    pub ranks: u32,
    /// Nodes that they are on.
    pub nodes: u32,
    /// The time in seconds since 1970, which is signature and seed where none is given.
    pub now_s: i32,
    /// Replace files of any origin.
    pub overwrite: bool,
}

impl Test {
    /// Ranks that take part.
    pub fn tasks(&self, context: &RunContext<'_>) -> u32 {
        self.tasks.unwrap_or(context.ranks).min(context.ranks)
    }

    /// The file of `rank` in repetition `repetition`, counted from 0, as IOR names it.
    pub fn file_of(&self, rank: u32, repetition: u32) -> String {
        let mut names = self.file.split('@');
        let name = if self.file_per_process {
            let count = names.clone().count();
            let name = names.nth(rank as usize % count).unwrap_or_default();
            let name = if self.unique_directory { in_directory_of(name, rank) } else { name.to_owned() };
            format!("{name}.{rank:08}")
        } else {
            names.next().unwrap_or_default().to_owned()
        };
        if self.multi_file { format!("{name}.{repetition}") } else { name }
    }

    /// What it should move in all.
    pub fn expected_bytes(&self, context: &RunContext<'_>) -> u64 {
        self.block_bytes.saturating_mul(self.segments).saturating_mul(self.tasks(context).into())
    }
}

/// `/dir/file` becomes `/dir/RANK/file`.
fn in_directory_of(name: &str, rank: u32) -> String {
    let (directory, file) = name.rsplit_once('/').map_or(("", name), |(directory, file)| (directory, file));
    let slash = if name.contains('/') { "/" } else { "" };
    format!("{directory}{slash}{rank}/{file}")
}

/// What earlier commands have left.
#[derive(Debug, Clone, Copy, Default)]
pub struct EarlierFile {
    /// The content of the status file, where the test has one to read.
    pub iterations: Option<u64>,
    /// Bytes of the smallest file, where the test draws from what is there (`-z -z`).
    pub file_bytes: u64,
}

/// The plan of repetition `repetition`, counted from 0, of `test`; `run` and `case` name it.
pub fn plan(
    test: &Test,
    context: &RunContext<'_>,
    (run, case): (&str, &str),
    repetition: u32,
    earlier: EarlierFile,
) -> Plan {
    let tasks = test.tasks(context);
    let signature = if test.signature == 0 { context.now_s } else { test.signature };
    // With a strided datatype a call moves a rank's blocks of all segments: to the plan they are one.
    let (at_once, segments) = if test.strided { (test.segments, 1) } else { (1, test.segments) };
    let set = FileSet {
        layout: if test.file_per_process { Layout::FilePerRank } else { Layout::SharedFile },
        ranks: None,
        files_per_rank: 1,
        transfer_bytes: test.transfer_bytes.saturating_mul(at_once),
        block_bytes: test.block_bytes.saturating_mul(at_once),
        segments,
        offset_bytes: 0,
        payload: test.packet().payload(signature),
    };
    let place = place(test, context, repetition, tasks);
    let mut files = vec![(DATA.to_owned(), set.clone())];
    if test.prefill_bytes > 0 {
        let set = FileSet { transfer_bytes: test.prefill_bytes, payload: Payload::Repeated {}, ..set };
        files.push((PREFILL.to_owned(), set));
    }
    let place =
        InPlace { files: files.iter().map(|(name, _)| (name.clone(), place.files.clone())).collect(), ..place.rest };
    Plan {
        version: VERSION,
        run: run.to_owned(),
        case: case.to_owned(),
        target: Target::InPlace(place),
        storage: storage(test),
        ranks: RankCount { clients: 1, per_client: tasks },
        files: files.into_iter().collect(),
        trees: [].into(),
        datasets: [].into(),
        checkpoints: [].into(),
        steps: steps(test, context, repetition, earlier),
        seed: u64::from(signature as u32),
        memory_bytes: test
            .memory_per_task
            .saturating_add(test.memory_per_node / u64::from(context.ranks / context.nodes)),
        time_limit_ns: None,
        sample_interval_ns: 1_000_000_000,
    }
}

/// The paths of the files, and the rest of the place that they are in.
struct Place {
    files: Vec<PathBuf>,
    rest: InPlace,
}

fn place(test: &Test, context: &RunContext<'_>, repetition: u32, tasks: u32) -> Place {
    let count = if test.file_per_process { tasks } else { 1 };
    let absolute = |name: String| context.working_directory.join(name);
    let files: Vec<PathBuf> = (0..count).map(|rank| absolute(test.file_of(rank, repetition))).collect();
    let holds = |path: &Path| path.parent().map_or_else(|| context.working_directory.to_owned(), Path::to_owned);
    // With -u the directory of each file is to be created in the one that the user named.
    let directories: Vec<PathBuf> =
        if test.unique_directory { files.iter().map(|file| holds(file)).collect() } else { Vec::new() };
    let first = directories.first().map_or_else(|| files[0].as_path(), PathBuf::as_path);
    let rest = InPlace {
        directory: holds(first),
        directories: if test.dry_run { Vec::new() } else { directories },
        overwrite: context.overwrite,
        // With -K they stay if something goes wrong; otherwise the last step has removed them.
        keep: test.keep || test.keep_with_error,
        ..InPlace::default()
    };
    Place { files, rest }
}

/// How `test` does its I/O.
pub fn storage(test: &Test) -> Storage {
    let direct = test.direct && test.api.goes_past_the_cache();
    let plain = Storage { direct, unaligned: direct, ..Storage::of("posix") };
    match test.api {
        _ if test.dry_run => Storage::of("null"),
        Api::Posix => plain,
        Api::Aio => {
            let uring = Uring { batch: test.batch.min(test.in_flight), ..Uring::default() };
            Storage { api: test.api.storage_api().to_owned(), depth: test.in_flight, uring: Some(uring), ..plain }
        }
        Api::Mmap => Storage { api: test.api.storage_api().to_owned(), ..plain },
        Api::Dummy => Storage::of(test.api.storage_api()),
        Api::MpiIo | Api::Hdf5 | Api::Ncmpi => {
            let api = test.api.storage_api().to_owned();
            Storage { api, plugin: test.plug_in.clone(), options: options(test), ..plain }
        }
    }
}

/// The options that the plug-in gets.
fn options(test: &Test) -> BTreeMap<String, String> {
    let given = test.plug_in_options.iter().map(|(key, (_, value))| (key.clone(), value.clone()));
    let collective = test.collective.then(|| ("collective".to_owned(), "yes".to_owned()));
    let strided = test.strided.then(|| ("interleave".to_owned(), test.transfer_bytes.to_string()));
    given.chain(collective).chain(strided).collect()
}

fn steps(test: &Test, context: &RunContext<'_>, repetition: u32, earlier: EarlierFile) -> Vec<Step> {
    let iterations = earlier.iterations;
    let pause = || (test.delay_s > 0).then(|| Step::Pause { duration_ns: test.delay_s.saturating_mul(1_000_000_000) });
    let remove = || Step::RemoveFiles { files: vec![DATA.to_owned()] };
    let mut steps = Vec::new();
    if test.write {
        steps.extend(pause());
        if !test.use_existing {
            steps.push(remove());
        }
        if test.prefill_bytes > 0 {
            let work = DataWork {
                files: PREFILL.to_owned(),
                order: Order::Sequential,
                ..work(test, context, Transfer::Write)
            };
            steps.push(phase(PREFILL, work, Limit::default(), None));
        }
        steps.push(phase(WRITE, work(test, context, Transfer::Write), limit(test, Some(test.iterations)), think(test)));
    }
    if test.check_write {
        let source = reordered(test, context, test.offset.saturating_add(1));
        let work = DataWork { verify: verify(test), source, barriers: false, ..work(test, context, Transfer::Read) };
        steps.push(phase(CHECK, work, limit(test, iterations.or(Some(test.iterations))), None));
    }
    if test.read || test.check_read {
        steps.extend(pause());
        let source = source(test, context, repetition);
        let verify = if test.check_read { verify(test) } else { None };
        let work = DataWork { verify, source, ..work(test, context, Transfer::Read) };
        let order = match test.random {
            Random::Drawn => Order::IorDrawn(earlier.file_bytes / test.block_bytes),
            Random::No | Random::Shuffled => work.order,
        };
        let work = DataWork { order, ..work };
        steps.push(phase(READ, work, limit(test, iterations.or(Some(test.iterations))), think(test)));
    }
    if !test.keep {
        steps.push(remove());
    }
    steps
}

/// What is compared where something is: nothing is there to be compared in a dry run.
fn verify(test: &Test) -> Option<Verify> {
    (!test.dry_run).then_some(Verify::Reads)
}

fn phase(name: &str, work: DataWork, limit: Limit, think: Option<Think>) -> Step {
    let job = Job { limit, think, ..Job::new(name, Work::Data(work)) };
    Step::Phase(Phase::new(name, vec![job]))
}

fn work(test: &Test, context: &RunContext<'_>, transfer: Transfer) -> DataWork {
    let seed = if test.random_seed == -1 { context.now_s } else { test.random_seed };
    let pattern = if test.random.is_random() { Advice::Random } else { Advice::Sequential };
    let advice = [(test.advise_pattern, pattern), (test.advise_dont_need, Advice::DontNeed)];
    DataWork {
        files: DATA.to_owned(),
        transfer,
        order: if test.random == Random::Shuffled { Order::IorShuffled(seed) } else { Order::Sequential },
        source: Source::Own,
        fsync: match (transfer, test.fsync_per_write, test.fsync) {
            (Transfer::Write, true, _) => Fsync::EveryWrites(1),
            (Transfer::Write, false, true) => Fsync::AtClose,
            _ => Fsync::Never,
        },
        verify: None,
        size: (test.preallocate && transfer.writes()).then_some(SizeAtOpen::Preallocated),
        lock: test.range_locks.then_some(Lock::Range),
        advice: advice
            .into_iter()
            .filter_map(|(wanted, advice)| (wanted && test.api == Api::Mmap).then_some(advice))
            .collect(),
        barriers: test.barriers,
        piece_bytes: None,
    }
}

fn limit(test: &Test, iterations: Option<u64>) -> Limit {
    Limit {
        bytes_per_rank: None,
        operations_per_rank: iterations.filter(|&iterations| iterations > 0),
        at_rate_of: None,
        stonewall_ns: (test.deadline_s > 0).then(|| test.deadline_s.saturating_mul(1_000_000_000)),
        wear_out: test.wear_out,
        minimum_ns: (test.least_s > 0).then(|| test.least_s.saturating_mul(1_000_000_000)),
    }
}

fn think(test: &Test) -> Option<Think> {
    let dummy = if test.api == Api::Dummy { test.dummy_delay_us } else { 0 };
    let duration_ns = test.io_delay_us.saturating_add(dummy).saturating_mul(1000);
    (duration_ns > 0).then_some(Think { duration_ns, every_operations: 1 })
}

/// Whose part each rank reads (hpc/ior, `TestIoSys` in src/ior.c).
fn source(test: &Test, context: &RunContext<'_>, repetition: u32) -> Source {
    if test.reorder_random == 0 {
        return reordered(test, context, test.offset);
    }
    let tasks = test.tasks(context);
    let seed = match test.reorder_seed {
        // Another one in each repetition.
        negative @ ..0 => negative.wrapping_neg().wrapping_add(repetition as i32),
        seed => seed,
    };
    if test.reorder_random == 1 {
        let nearest = test.offset.min(context.nodes - 1).saturating_mul(context.ranks / context.nodes);
        let draw = |rank: u32| {
            let mut random = CLibrary::seeded((seed as u32).wrapping_add(rank));
            let mut offset = random.draw() % tasks;
            while offset < nearest {
                offset = random.draw() % tasks;
            }
            (rank + offset) % tasks
        };
        return Source::Listed((0..tasks).map(draw).collect());
    }
    let mut random = CLibrary::seeded(seed as u32);
    let mut parts: Vec<u32> = (0..tasks).collect();
    for rank in 0..tasks {
        let other = rank + random.draw() % (tasks - rank);
        parts.swap(rank as usize, other as usize);
    }
    Source::Listed(parts)
}

/// The part that is so many nodes further on. Ranks follow each other node by node, as launchers place them.
fn reordered(test: &Test, context: &RunContext<'_>, nodes: u32) -> Source {
    let per_node = context.ranks / context.nodes;
    let shift = u64::from(nodes) * u64::from(per_node) % u64::from(test.tasks(context));
    if test.reorder && shift > 0 { Source::Shift(shift as u32) } else { Source::Own }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ior::parameters::Parameters;
    use ioassay_engine::plan::validate;

    fn context() -> RunContext<'static> {
        RunContext { working_directory: Path::new("/w"), ranks: 4, nodes: 1, now_s: 1_700_000_000, overwrite: false }
    }

    fn test() -> Test {
        Test { write: true, read: true, file: "f".to_owned(), ..Test::default() }
    }

    fn names(test: &Test) -> Vec<String> {
        (0..4).map(|rank| test.file_of(rank, 2)).collect()
    }

    #[test]
    fn files_are_named_as_ior_names_them() {
        assert_eq!(names(&test()), ["f"; 4]);
        let per_process = Test { file_per_process: true, ..test() };
        assert_eq!(names(&per_process)[3], "f.00000003");
        let several = Test { file: "/a/f@/b/f".to_owned(), multi_file: true, ..per_process.clone() };
        assert_eq!(names(&several)[..3], ["/a/f.00000000.2", "/b/f.00000001.2", "/a/f.00000002.2"]);
        let unique = Test { unique_directory: true, ..per_process };
        assert_eq!(names(&unique)[1], "1/f.00000001");
        assert_eq!(names(&Test { file: "/d/f".to_owned(), ..unique })[1], "/d/1/f.00000001");
    }

    #[test]
    fn every_plan_is_valid() {
        for test in [
            test(),
            Test { random: Random::Shuffled, block_bytes: 4 << 20, ..test() },
            Test { random: Random::Drawn, write: false, segments: 1000, ..test() },
            Test { file_per_process: true, reorder_random: 2, reorder_seed: -3, ..test() },
            Test { file_per_process: true, unique_directory: true, reorder_random: 1, check_write: true, ..test() },
            Test { barriers: true, deadline_s: 3, wear_out: true, check_read: true, keep: true, ..test() },
            Test { api: Api::Aio, direct: true, ..test() },
            Test { api: Api::Mmap, advise_pattern: true, advise_dont_need: true, ..test() },
            Test { api: Api::Dummy, dummy_delay_us: 3, ..test() },
            Test { random: Random::Shuffled, prefill_bytes: 1 << 20, block_bytes: 2 << 20, dry_run: true, ..test() },
        ] {
            let earlier = EarlierFile { iterations: Some(7), file_bytes: 3 << 20 };
            let plan = plan(&test, &context(), ("r", "c"), 1, earlier);
            assert_eq!(validate(&plan), Ok(()), "{test:?}");
        }
    }

    /// The plan of a command line, and what it tells the plug-in.
    fn asked(line: &str) -> (Plan, Vec<(String, String)>) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let test = Parameters::parse(&words).unwrap().tests.remove(0);
        let plan = plan(&test, &context(), ("r", "c"), 0, EarlierFile::default());
        let options = plan.storage.options.clone().into_iter().collect();
        (plan, options)
    }

    #[test]
    fn options_of_mpi_io_and_hdf5_are_passed_to_their_plug_ins() {
        let check = |line: &str, api: &str, expected: &[(&str, &str)]| {
            let (plan, options) = asked(line);
            assert_eq!(plan.storage.api, api, "{line}");
            let given: Vec<(&str, &str)> = options.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            assert_eq!(given, expected, "{line}");
        };
        check("-w -a MPIIO", "mpiio", &[]);
        check(
            "-w -a mpiio -c -V --mpiio.showHints",
            "mpiio",
            &[("collective", "yes"), ("show_hints", "yes"), ("view", "yes")],
        );
        check(
            "-w -a HDF5 -J 1m --hdf5.collectiveMetadata -n",
            "hdf5",
            &[("alignment", "1048576"), ("collective_metadata", "yes")],
        );
        check("-w -a NCMPI -c", "pnetcdf", &[("collective", "yes")]);
    }

    #[test]
    fn a_strided_datatype_makes_one_transfer_of_a_ranks_blocks_in_all_segments() {
        let (plan, options) = asked("-w -r -a MPIIO -S -p -t 64k -b 64k -s 8");
        assert_eq!(options, [("interleave".to_owned(), "65536".to_owned())]);
        let set = &plan.files[DATA];
        assert_eq!((set.transfer_bytes, set.block_bytes, set.segments), (512 << 10, 512 << 10, 1));
        let sizes: Vec<Option<SizeAtOpen>> = plan
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Phase(phase) => match &phase.jobs[0].work {
                    Work::Data(work) => Some(work.size),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        assert_eq!(sizes, [Some(SizeAtOpen::Preallocated), None]);
    }

    #[test]
    fn a_shift_goes_to_another_node_and_is_none_on_one_node() {
        let test = Test { reorder: true, ..test() };
        assert_eq!(source(&test, &context(), 0), Source::Own);
        let two = RunContext { ranks: 4, nodes: 2, ..context() };
        assert_eq!(source(&test, &two, 0), Source::Shift(2));
        assert_eq!(source(&Test { offset: 2, ..test }, &two, 0), Source::Own);
    }

    #[test]
    fn a_shuffle_gives_each_part_to_one_rank_and_another_seed_another_shuffle() {
        let listed = |reorder_seed, repetition| {
            let test = Test { reorder_random: 2, reorder_seed, ..test() };
            let Source::Listed(parts) = source(&test, &RunContext { ranks: 64, ..context() }, repetition) else {
                panic!()
            };
            parts
        };
        let mut parts = listed(5, 0);
        assert_eq!(parts, listed(5, 1));
        assert_ne!(parts, listed(6, 0));
        assert_ne!(listed(-5, 0), listed(-5, 1));
        parts.sort_unstable();
        assert_eq!(parts, (0..64).collect::<Vec<_>>());
    }
}
