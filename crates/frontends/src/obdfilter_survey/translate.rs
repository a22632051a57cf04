//! From obdfilter-survey's variables to plans: one for each row of its table.
//!
//! A target's objects are the files of a set of its own, its threads consecutive ranks. Threads that share an object
//! take its records in turn, as `lctl test_brw` has it: blocks of one record, a segment for each record of a thread.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ioassay_engine::plan::MOST_JOBS;
use ioassay_protocol::VERSION;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::cache::CacheStep;
use ioassay_protocol::plan::data::{DataWork, FileSet, Fsync, Layout, Order, Payload, Source, Transfer, Verify};
use ioassay_protocol::plan::storage::{DeviceTarget, InPlace, Storage, Target};
use ioassay_protocol::plan::{CacheMethod, Job, Phase, Plan, RankCount, RankRange, Step, Work};
use ioassay_units::count;

use super::options::Variables;
use crate::common::{Common, usage};

/// As many threads as a target has at most.
const MOST_THREADS: u64 = 1024;

/// KiB that the buffers of all threads may take together.
const MOST_BUFFERS_KIB: u64 = 1 << 20;

/// Where the I/O goes.
#[derive(Debug)]
enum Targets {
    Directories(Vec<PathBuf>),
    Device(DeviceTarget),
}

impl Targets {
    fn count(&self) -> usize {
        match self {
            Self::Directories(directories) => directories.len(),
            Self::Device(_) => 1,
        }
    }
}

/// A row of the table: one combination of record, objects and threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Targets.
    pub targets: u32,
    /// KiB of a record.
    pub record_kib: u64,
    /// Objects of each target.
    pub objects: u32,
    /// Threads of each target.
    pub threads: u32,
    /// Records of each thread.
    pub records: u64,
}

impl Row {
    /// KiB of all targets.
    pub fn total_kib(&self) -> u64 {
        self.record_kib * self.records * u64::from(self.threads) * u64::from(self.targets)
    }

    /// Threads of all targets.
    pub fn all_threads(&self) -> u32 {
        self.threads * self.targets
    }

    /// True if the buffers of all threads would take more memory than the original gives them.
    pub fn is_too_large(&self) -> bool {
        u64::from(self.all_threads()) * self.record_kib > MOST_BUFFERS_KIB
    }

    /// What identifies it.
    pub fn name(&self) -> String {
        format!("rsz{}-obj{}-thr{}", self.record_kib, self.objects, self.threads)
    }
}

/// What is asked for.
#[derive(Debug)]
pub struct Request {
    targets: Targets,
    /// What the targets were called.
    pub names: Vec<String>,
    /// The tests by name, the first of them `write`.
    pub tests: Vec<String>,
    /// The rows, in order.
    pub rows: Vec<Row>,
    verify: bool,
    /// True if the targets take direct I/O.
    pub direct: bool,
    overwrite: bool,
}

impl Request {
    /// Makes sense of `given`; names of targets are relative to `here`.
    ///
    /// # Errors
    /// If something contradicts itself, or cannot be done.
    pub fn new(given: &Variables, common: &Common, here: &Path) -> Result<Self, Failure> {
        match given.value("case").unwrap_or("disk") {
            "disk" => {}
            "network" => {
                return Err(usage("case=network is refused: it does not measure storage", "use `ioassay net`"));
            }
            "netdisk" => {
                let remedy =
                    "mount the file system and list a directory on each of its targets in targets, with case=disk";
                return Err(usage("case=netdisk is refused: it needs Lustre's echo clients", remedy));
            }
            other => return Err(usage(format!("case={other} is unknown"), "use case=disk")),
        }
        if common.ranks > 1 {
            let problem = format!("--ranks {} conflicts with thrlo and thrhi", common.ranks);
            return Err(usage(problem, "leave --ranks (or IOASSAY_RANKS) out: each thread is a rank"));
        }
        let names = names(given)?;
        let targets = targets(&names, given.value("--destroy-data"), here)?;
        let tests: Vec<String> =
            given.value("tests_str").unwrap_or("write rewrite read").split_whitespace().map(str::to_owned).collect();
        if tests.first().is_none_or(|first| first != "write") {
            return Err(usage(
                "tests_str does not start with write",
                "put write first: the other tests need its files",
            ));
        }
        let verify = match given.value("verify").unwrap_or("0") {
            "0" => false,
            "1" => true,
            other => return Err(usage(format!("verify={other} is neither 0 nor 1"), "write verify=1 to verify data")),
        };
        let rows = rows(given, common, targets.count() as u32)?;
        let direct = match &targets {
            Targets::Directories(directories) => directories.iter().all(|directory| takes_direct(directory)),
            Targets::Device(_) => true,
        };
        Ok(Self { targets, names, tests, rows, verify, direct, overwrite: common.overwrite })
    }

    /// The plan for `row`.
    pub fn plan(&self, row: &Row, run: &str) -> Plan {
        let sets = (0..row.targets).map(|target| (set_name(target), self.file_set(row, target)));
        Plan {
            version: VERSION,
            run: run.to_owned(),
            case: row.name(),
            target: self.target(row, run),
            storage: Storage { direct: self.direct, ..Storage::of("posix") },
            ranks: RankCount { clients: 1, per_client: row.all_threads() },
            files: sets.collect(),
            trees: BTreeMap::new(),
            datasets: BTreeMap::new(),
            checkpoints: BTreeMap::new(),
            steps: self.steps(row),
            seed: 1,
            memory_bytes: 0,
            // The original takes its momentary rates once a second.
            time_limit_ns: None,
            sample_interval_ns: 1_000_000_000,
        }
    }

    fn target(&self, row: &Row, run: &str) -> Target {
        let directories = match &self.targets {
            Targets::Device(device) => return Target::Device(device.clone()),
            Targets::Directories(directories) => directories,
        };
        let places: Vec<PathBuf> = directories.iter().map(|directory| directory.join(run)).collect();
        let objects =
            |place: &PathBuf| (0..row.objects).map(|object| place.join(format!("object.{object:04}"))).collect();
        Target::InPlace(InPlace {
            directory: directories[0].clone(),
            files: (0..).map(set_name).zip(places.iter().map(objects)).collect(),
            directories: places,
            overwrite: self.overwrite,
            ..InPlace::default()
        })
    }

    fn file_set(&self, row: &Row, target: u32) -> FileSet {
        FileSet {
            layout: Layout::Groups(row.objects),
            ranks: Some(RankRange { first: target * row.threads, count: row.threads }),
            files_per_rank: 1,
            transfer_bytes: row.record_kib << 10,
            block_bytes: row.record_kib << 10,
            segments: row.records,
            offset_bytes: 0,
            payload: if self.verify { Payload::Unique {} } else { Payload::Repeated {} },
        }
    }

    fn steps(&self, row: &Row) -> Vec<Step> {
        let mut steps = Vec::new();
        for (index, test) in self.tests.iter().enumerate() {
            let transfer = transfer(test);
            if transfer == Transfer::Read && !self.direct {
                steps.push(Step::ColdCache(CacheStep::of(vec![CacheMethod::Fadvise])));
            }
            let jobs = (0..row.targets).map(|target| self.job(row, target, transfer)).collect();
            steps.push(Step::Phase(Phase::new(&self.phase_name(index), jobs)));
        }
        steps
    }

    /// The name of the phase of test number `index`: a test may come twice.
    fn phase_name(&self, index: usize) -> String {
        let name = &self.tests[index];
        let before = self.tests[..index].iter().filter(|other| *other == name).count();
        if before == 0 { name.clone() } else { format!("{name}-{}", before + 1) }
    }

    /// The test of the phase `name`.
    pub fn test_of_phase(&self, name: &str) -> Option<&str> {
        (0..self.tests.len()).find(|&index| self.phase_name(index) == name).map(|index| self.tests[index].as_str())
    }

    fn job(&self, row: &Row, target: u32, transfer: Transfer) -> Job {
        let writes = transfer.writes();
        let work = DataWork {
            files: set_name(target),
            transfer,
            order: Order::Sequential,
            source: Source::Own,
            fsync: if writes { Fsync::AtClose } else { Fsync::Never },
            verify: (self.verify && !writes).then_some(Verify::Reads),
            size: None,
            lock: None,
            advice: Vec::new(),
            barriers: false,
            piece_bytes: None,
        };
        Job {
            ranks: Some(RankRange { first: target * row.threads, count: row.threads }),
            ..Job::new(&set_name(target), Work::Data(work))
        }
    }
}

/// The file set, and the job, of a target.
fn set_name(target: u32) -> String {
    format!("ost{target:02}")
}

/// What a test does: those with `write` in their name write, the others read.
fn transfer(test: &str) -> Transfer {
    if test.contains("write") { Transfer::Write } else { Transfer::Read }
}

/// The names in `targets`, or `OSTS`.
fn names(given: &Variables) -> Result<Vec<String>, Failure> {
    let names = match (given.value("targets"), given.value("OSTS")) {
        (Some(_), Some(_)) => return Err(usage("targets and OSTS are both set", "leave one of them out")),
        (Some(names), None) | (None, Some(names)) => names,
        (None, None) => {
            let remedy = "set targets=\"DIR1 DIR2\": a directory on each target, or one block device";
            return Err(usage("targets is empty, and the OSTs of a server are not discovered", remedy));
        }
    };
    let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
    if names.len() > MOST_JOBS {
        let problem = format!("{} targets are too many", names.len());
        return Err(usage(problem, format!("use at most {MOST_JOBS} at a time")));
    }
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        Some(twice) => Err(usage(format!("targets lists {twice} twice"), "list each target once")),
        None => Ok(names),
    }
}

/// What `names` are, relative to `here`.
fn targets(names: &[String], destroy_data: Option<&str>, here: &Path) -> Result<Targets, Failure> {
    let mut directories = Vec::new();
    let mut devices = Vec::new();
    for name in names {
        let path = here.join(name);
        match std::fs::metadata(&path) {
            Ok(about) if about.is_dir() => directories.push(path),
            Ok(about) if about.file_type().is_block_device() => devices.push((name, path)),
            Ok(_) | Err(_) => {
                let remedy = "list a directory on each target, or one block device; OST names work only with Lustre's \
                              own obdfilter-survey";
                return Err(usage(format!("targets: {name} is neither a directory nor a block device"), remedy));
            }
        }
    }
    match (devices.as_slice(), directories.is_empty(), destroy_data) {
        ([], _, None) => Ok(Targets::Directories(directories)),
        ([], _, Some(device)) => {
            Err(usage(format!("--destroy-data {device}, but targets lists no block device"), "leave it out"))
        }
        ([(name, path)], true, Some(again)) if name.as_str() == again => {
            Ok(Targets::Device(DeviceTarget { path: path.clone(), destroy_data: path.clone() }))
        }
        ([(name, _)], true, _) => {
            let problem = format!("targets: {name} is a block device, and all data on it would be lost");
            Err(usage(problem, format!("add --destroy-data {name} if its data may be lost")))
        }
        ([(name, _), ..], _, _) => {
            let problem = format!("targets: the block device {name} cannot be measured together with other targets");
            Err(usage(
                problem,
                "list a single block device, or directories; for several devices, run several surveys or build a RAID",
            ))
        }
    }
}

/// False if the file system of `directory` refuses direct I/O. What cannot be tried counts as able.
fn takes_direct(directory: &Path) -> bool {
    let mut options = std::fs::File::options();
    // A file without a name: nothing is left behind.
    let tried = options.read(true).write(true).custom_flags(libc::O_TMPFILE | libc::O_DIRECT).open(directory);
    tried.err().and_then(|error| error.raw_os_error()) != Some(libc::EINVAL)
}

/// Every row of the table.
fn rows(given: &Variables, common: &Common, targets: u32) -> Result<Vec<Row>, Failure> {
    let size_kib = given.number("size", 16384)? * 1024;
    let page_kib = given.number("PAGE_SIZE", 4)?;
    let mut rows = Vec::new();
    for record in doubling(given, "rszlo", 1024, "rszhi", 1024)? {
        let record_kib = record / page_kib * page_kib;
        if record_kib == 0 {
            return Err(usage(format!("rszlo: {record} KiB is less than a page of {page_kib} KiB"), "use whole pages"));
        }
        for objects in doubling(given, "nobjlo", 1, "nobjhi", 16)? {
            for threads in doubling(given, "thrlo", 1, "thrhi", 16)? {
                if threads > MOST_THREADS {
                    return Err(usage(
                        format!("thrhi: {threads} threads are too many"),
                        format!("use at most {MOST_THREADS}"),
                    ));
                }
                if threads % objects != 0 {
                    continue;
                }
                let records = size_kib / (record_kib * threads);
                if records == 0 {
                    let problem = format!(
                        "size: {} MiB are less than a record of {record_kib} KiB for each of {}",
                        size_kib >> 10,
                        count(threads, "thread")
                    );
                    let remedy = format!("use size={} or more", (record_kib * threads).div_ceil(1024));
                    return Err(usage(problem, remedy));
                }
                let records = common.scaled(records, 1);
                let (objects, threads) = (objects as u32, threads as u32);
                rows.push(Row { targets, record_kib, objects, threads, records });
            }
        }
    }
    if rows.is_empty() {
        let remedy = "use a thrlo that is a multiple of nobjlo";
        return Err(usage(
            "no thread count (thrlo to thrhi) is a multiple of an object count (nobjlo to nobjhi)",
            remedy,
        ));
    }
    Ok(rows)
}

/// The values from `low` to `high`, doubling.
fn doubling(given: &Variables, low: &str, low_is: u64, high: &str, high_is: u64) -> Result<Vec<u64>, Failure> {
    let (from, to) = (given.number(low, low_is)?, given.number(high, high_is)?);
    if from > to {
        return Err(usage(format!("{low}={from} is more than {high}={to}"), format!("set {high} to {from} or more")));
    }
    Ok(std::iter::successors(Some(from), |value| value.checked_mul(2)).take_while(|&value| value <= to).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: Common = Common { ranks: 1, nodes: 1, run: None, overwrite: false, scale_down: 1 };

    fn given(line: &[&str]) -> Variables {
        let arguments: Vec<String> = line.iter().map(|&argument| argument.to_owned()).collect();
        Variables::read(&arguments, |_| None).unwrap()
    }

    fn asked(line: &[&str], here: &Path) -> Result<Request, Failure> {
        Request::new(&given(line), &COMMON, here)
    }

    fn six() -> tempfile::TempDir {
        let here = tempfile::tempdir().unwrap();
        for name in ["A", "B", "C", "D", "E", "F"] {
            std::fs::create_dir(here.path().join(name)).unwrap();
        }
        here
    }

    #[test]
    fn the_white_paper_s_line_has_the_rows_of_the_original() {
        let here = six();
        let line = ["nobjlo=1", "thrlo=24", "thrhi=144", "size=32768", "targets=A B C D E F"];
        let asked = asked(&line, here.path()).unwrap();
        let rows: Vec<(u32, u32)> = asked.rows.iter().map(|row| (row.objects, row.threads)).collect();
        let wanted = [1, 2, 4, 8].into_iter().flat_map(|objects| [24, 48, 96].map(|threads| (objects, threads)));
        assert_eq!(rows, wanted.chain([(16, 48), (16, 96)]).collect::<Vec<_>>());
        // count = size * 1024 / (rsz * thr), rounded down.
        assert_eq!((asked.rows[0].records, asked.rows[0].total_kib()), (1365, 1365 * 24 * 1024 * 6));
        assert!(!asked.rows.iter().any(Row::is_too_large));
    }

    #[test]
    fn a_row_is_a_plan_with_a_set_and_a_job_for_each_target() {
        let here = six();
        let asked = asked(&["nobjhi=2", "thrlo=4", "thrhi=4", "size=16", "targets=A B"], here.path()).unwrap();
        let plan = asked.plan(&asked.rows[1], "r1");
        ioassay_engine::plan::validate(&plan).unwrap();
        assert_eq!(plan.ranks.per_client, 8);
        let set = &plan.files["ost01"];
        assert_eq!((set.layout, set.ranks), (Layout::Groups(2), Some(RankRange { first: 4, count: 4 })));
        assert_eq!((set.block_bytes, set.segments), (1 << 20, 4));
        let Target::InPlace(place) = &plan.target else { panic!() };
        assert_eq!(place.files["ost01"], [0, 1].map(|object| here.path().join(format!("B/r1/object.000{object}"))));
        let Step::Phase(phase) = &plan.steps[0] else { panic!() };
        assert_eq!((phase.name.as_str(), phase.jobs.len()), ("write", 2));
    }

    #[test]
    fn records_are_whole_pages_and_tests_may_come_twice() {
        let here = six();
        let line = [
            "rszlo=6",
            "rszhi=6",
            "nobjhi=1",
            "thrhi=1",
            "size=1",
            "targets=A",
            "tests_str=write read read",
            "verify=1",
        ];
        let asked = asked(&line, here.path()).unwrap();
        assert_eq!((asked.rows[0].record_kib, asked.rows[0].records), (4, 256));
        let plan = asked.plan(&asked.rows[0], "r1");
        ioassay_engine::plan::validate(&plan).unwrap();
        assert_eq!(asked.test_of_phase("read-2"), Some("read"));
        assert_eq!(plan.files["ost00"].payload, Payload::Unique {});
    }

    #[test]
    fn too_many_buffers_are_too_large_as_in_the_original() {
        let row = Row { targets: 8, record_kib: 1024, objects: 1, threads: 128, records: 1 };
        assert!(!row.is_too_large());
        assert!(Row { record_kib: 2048, ..row }.is_too_large());
    }

    #[test]
    fn amounts_are_scaled_down_but_never_below_a_record() {
        let here = six();
        let common = Common { scale_down: 1 << 30, ..COMMON };
        let asked = Request::new(&given(&["targets=A"]), &common, here.path()).unwrap();
        assert!(asked.rows.iter().all(|row| row.records == 1));
    }

    #[test]
    fn what_contradicts_itself_is_refused_by_name() {
        let here = six();
        for (line, named) in [
            (vec!["size=1"], "targets"),
            (vec!["targets=A", "OSTS=B"], "OSTS"),
            (vec!["targets=A A"], "A twice"),
            (vec!["targets=A lustre-OST0000"], "lustre-OST0000"),
            (vec!["targets=A", "case=network"], "case=network"),
            (vec!["targets=A", "case=netdisk"], "case=netdisk"),
            (vec!["targets=A", "case=x"], "case=x"),
            (vec!["targets=A", "tests_str=read"], "tests_str"),
            (vec!["targets=A", "verify=yes"], "verify"),
            (vec!["targets=A", "thrlo=8", "thrhi=4"], "thrlo"),
            (vec!["targets=A", "thrlo=1", "thrhi=1", "nobjlo=2"], "nobjlo"),
            (vec!["targets=A", "rszlo=2", "rszhi=2"], "rszlo"),
            (vec!["targets=A", "size=1", "thrlo=2", "thrhi=2"], "size"),
            (vec!["targets=A", "thrhi=4096", "size=9999999"], "thrhi"),
            (vec!["targets=A", "--destroy-data=/dev/null"], "--destroy-data"),
        ] {
            let failure = asked(&line, here.path()).unwrap_err();
            assert!(failure.message.contains(named), "{line:?}: {failure:?}");
        }
        let ranks = Common { ranks: 4, ..COMMON };
        let failure = Request::new(&given(&["targets=A"]), &ranks, here.path()).unwrap_err();
        assert!(failure.message.contains("--ranks"), "{failure:?}");
    }
}
