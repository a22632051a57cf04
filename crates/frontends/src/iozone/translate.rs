//! From IOzone's options to plans: one for each number of children (`-t`), or one for each row of the table.
//!
//! Not here: what a test is as a phase ([`super::jobs`]), which rows there are ([`super::sizes`]).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ioassay_protocol::VERSION;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::storage::{InPlace, Target};
use ioassay_protocol::plan::{Plan, RankCount};
use ioassay_units::{Bytes, count};

use super::clients::{self, Client};
use super::jobs::{self, Files, Jobs, RECORD, SET};
use super::options::{Options, whole};
use super::sizes::{FILE_BYTES, RECORD_BYTES, Row, Rows, size};
use super::test;
use crate::common::{Common, usage};

/// The same for every command, so that a later one can verify what an earlier one wrote.
const SEED: u64 = 471;

/// As many children as IOzone takes at most.
const MOST_CHILDREN: u64 = 1024;

/// The file of a row where none is named.
const DEFAULT_FILE: &str = "iozone.tmp";

/// Options that ask for the throughput mode.
const OF_CHILDREN: [&str; 3] = ["-t", "-l", "-u"];

/// Options of the automatic mode.
const AUTOMATIC: [&str; 6] = ["-a", "-A", "-n", "-g", "-y", "-q"];

/// What a command line asks for.
#[derive(Debug)]
pub struct Request {
    /// The options.
    pub given: Options,
    /// The tests.
    pub tests: test::TestSelection,
    /// What is done with them.
    pub mode: Mode,
    /// What standard error says before anything is measured.
    pub warnings: Vec<String>,
    common: Common,
}

/// IOzone's modes.
#[derive(Debug)]
pub enum Mode {
    /// The throughput mode: children side by side.
    Children(Children),
    /// One process, and a table with a row for each file and record.
    Rows(Rows),
}

/// What the throughput mode is asked for.
#[derive(Debug)]
pub struct Children {
    /// How many, one number after the other.
    pub counts: Vec<u32>,
    /// Bytes of all children together, with `-+k`, or of each of them.
    file_bytes: u64,
    /// Bytes of a record.
    pub record_bytes: u64,
    clients: Vec<Client>,
}

impl Request {
    /// Makes sense of `given`; `here` is what this host is called.
    ///
    /// # Errors
    /// If something contradicts itself, or cannot be done.
    pub fn new(given: Options, common: &Common, here: &str) -> Result<Self, Failure> {
        let throughput = OF_CHILDREN.iter().any(|name| given.has(name));
        let tests = test::TestSelection::read(&given, throughput)?;
        jobs::consistent(&given)?;
        let mode = if throughput {
            Mode::Children(Children::read(&given, common, here)?)
        } else {
            Mode::Rows(rows(&given, common)?)
        };
        let warnings = given.warnings().into_iter().chain(tests.warnings.iter().cloned()).collect();
        let asked = Self { common: common.clone(), given, tests, mode, warnings };
        asked.has_records()?;
        Ok(asked)
    }

    /// An error if a file holds no record.
    fn has_records(&self) -> Result<(), Failure> {
        let sizes = match &self.mode {
            Mode::Children(children) => children
                .counts
                .iter()
                .map(|&count| (children.bytes_of_each(&self.given, count), children.record_bytes))
                .collect::<Vec<_>>(),
            Mode::Rows(rows) => rows.rows.iter().map(|row| (row.file_bytes, row.record_bytes)).collect(),
        };
        match sizes.into_iter().find(|(file_bytes, record_bytes)| file_bytes < record_bytes) {
            None => Ok(()),
            Some((file_bytes, record_bytes)) => {
                let [file, record] = [file_bytes, record_bytes].map(Bytes);
                let problem = format!("a file of {file} (-s) is smaller than a record of {record} (-r)");
                Err(usage(problem, format!("use -s {}k or more, or a smaller record", record.0 >> 10)))
            }
        }
    }

    /// Whole records of `file_bytes`, as IOzone counts them, scaled down; in bytes.
    pub fn whole_records(&self, file_bytes: u64, record_bytes: u64) -> u64 {
        self.common.scaled(file_bytes / record_bytes * record_bytes, record_bytes)
    }

    /// Bytes of the file of each of `count` children.
    pub fn bytes_of_each(&self, children: &Children, count: u32) -> u64 {
        self.whole_records(children.bytes_of_each(&self.given, count), children.record_bytes)
    }

    /// The KiB of a row's file: what was typed, also where that is more than whole records, or what they are scaled to.
    pub fn kib_of(&self, row: Row) -> u64 {
        let bytes = if self.common.scale_down == 1 {
            row.file_bytes
        } else {
            self.whole_records(row.file_bytes, row.record_bytes)
        };
        bytes >> 10
    }

    /// True where results may replace files of any origin.
    pub fn overwrites(&self) -> bool {
        self.common.overwrite
    }

    /// The plan for `count` of the `children`, who work in `directory` by default.
    ///
    /// # Errors
    /// If two children would have the same file, or a value is out of its range.
    pub fn plan_of_children(
        &self,
        children: &Children,
        count: u32,
        run: &str,
        case: String,
        directory: &Path,
    ) -> Result<Plan, Failure> {
        let paths = children.files(&self.given, count, directory);
        let bytes = self.bytes_of_each(children, count);
        let files = Files { children: count, bytes, record_bytes: children.record_bytes };
        self.plan(files, paths, self.keeps(), run, case)
    }

    /// The plan for `row`, the `last` of the table or not, whose file is in `directory` where its name is relative.
    ///
    /// # Errors
    /// If a value is out of its range.
    pub fn plan_of_row(
        &self,
        row: Row,
        last: bool,
        run: &str,
        case: String,
        directory: &Path,
    ) -> Result<Plan, Failure> {
        let name = self.given.values("-f").last().map_or(DEFAULT_FILE, String::as_str);
        let bytes = self.whole_records(row.file_bytes, row.record_bytes);
        let files = Files { children: 1, bytes, record_bytes: row.record_bytes };
        // Each row begins with a new file, so that of what this command writes only the last can stay.
        let keeps = self.keeps() && (last || !self.writes());
        self.plan(files, vec![directory.join(name)], keeps, run, case)
    }

    fn plan(&self, files: Files, paths: Vec<PathBuf>, keep: bool, run: &str, case: String) -> Result<Plan, Failure> {
        let mut seen = BTreeSet::new();
        if let Some(twice) = paths.iter().find(|path| !seen.insert(*path)) {
            let problem = format!("two children share the file {}", twice.display());
            return Err(usage(problem, "give each child its own file"));
        }
        let jobs = Jobs { given: &self.given, files, row: matches!(self.mode, Mode::Rows(_)) };
        let sets = jobs.file_sets(&self.tests.tests);
        let mut places = BTreeMap::from([(SET.to_owned(), paths.clone())]);
        if sets.iter().any(|(name, _)| *name == RECORD) {
            places.insert(RECORD.to_owned(), paths.clone());
        }
        let place = InPlace {
            directory: paths[0].parent().unwrap_or(Path::new("/")).to_owned(),
            files: places,
            overwrite: self.common.overwrite,
            keep,
            ..InPlace::default()
        };
        // What this command only reads is not among what is removed at its end. IOzone removes it all the same.
        let removes = !self.keeps() && !self.writes();
        Ok(Plan {
            version: VERSION,
            run: run.to_owned(),
            case,
            target: Target::InPlace(place),
            storage: jobs.storage()?,
            ranks: RankCount { clients: 1, per_client: files.children },
            files: sets.into_iter().map(|(name, set)| (name.to_owned(), set)).collect(),
            trees: BTreeMap::new(),
            datasets: BTreeMap::new(),
            checkpoints: BTreeMap::new(),
            steps: jobs.steps(&self.tests.tests, removes)?,
            seed: SEED,
            memory_bytes: 0,
            time_limit_ns: None,
            sample_interval_ns: 1_000_000_000,
        })
    }

    fn keeps(&self) -> bool {
        self.given.has("-w") || self.given.has("-+E")
    }

    fn writes(&self) -> bool {
        self.tests.tests.iter().any(|test| test.writes())
    }
}

impl Children {
    fn read(given: &Options, common: &Common, here: &str) -> Result<Self, Failure> {
        if let Some(other) = AUTOMATIC.into_iter().find(|name| given.has(name)) {
            let problem = format!("{other} selects the automatic mode, but -t, -l and -u the throughput mode");
            return Err(usage(problem, "leave one of them out, as the original requires"));
        }
        if given.has("-f") {
            let remedy = "use -F FILE..., one file for each child, as the original requires";
            return Err(usage("-f names one file, but each child needs its own", remedy));
        }
        if let Some(other) = ["-N", "-U"].into_iter().find(|name| given.has(name)) {
            let problem = format!("{other} does not work with -t, -l and -u");
            return Err(usage(problem, "leave it out, as the original requires"));
        }
        let counts = counts(given)?;
        if let Some(count) = counts.iter().find(|&&count| common.ranks > 1 && count != common.ranks) {
            let problem = format!("-t {count} and --ranks {} differ", common.ranks);
            return Err(usage(problem, "leave --ranks (or IOASSAY_RANKS) out: children are ranks"));
        }
        let clients = match given.value("-+m")? {
            Some(file) => clients::read(Path::new(file), here)?,
            None => Vec::new(),
        };
        let most = counts.iter().copied().max().unwrap_or(0) as usize;
        if !clients.is_empty() && clients.len() < most {
            let problem = format!("-t {most}, but the file of -+m lists {}", count(clients.len() as u64, "client"));
            return Err(usage(problem, "list a client for each child, or use fewer children"));
        }
        if given.has("-+m") && given.has("-F") {
            let remedy = "write the file as the fourth word of each line of the -+m file";
            return Err(usage("-+m and -F both name the files", remedy));
        }
        let (file_bytes, record_bytes) = (size(given, "-s", FILE_BYTES)?, size(given, "-r", RECORD_BYTES)?);
        Ok(Self { counts, file_bytes, record_bytes, clients })
    }

    /// What `-s` gives each of `count` children.
    fn bytes_of_each(&self, given: &Options, count: u32) -> u64 {
        if given.has("-+k") { self.file_bytes / u64::from(count) } else { self.file_bytes }
    }

    /// The files of `count` children, who work in `directory` by default.
    fn files(&self, given: &Options, count: u32, directory: &Path) -> Vec<PathBuf> {
        let named = given.values("-F");
        let file = |number: usize| match (self.clients.get(number), named.get(number)) {
            (Some(Client { directory, file: Some(file), .. }), _) => directory.join(file),
            (Some(Client { directory, .. }), _) => directory.join(default_name(number)),
            (None, Some(name)) => directory.join(name),
            (None, None) => directory.join(default_name(number)),
        };
        (0..count as usize).map(file).collect()
    }
}

/// What IOzone calls the file of child `number`.
fn default_name(number: usize) -> String {
    format!("iozone.DUMMY.{number}")
}

/// The rows of the table, for which there is one process.
fn rows(given: &Options, common: &Common) -> Result<Rows, Failure> {
    if common.ranks > 1 {
        let problem = format!("--ranks {}, but without -t IOzone is a single process", common.ranks);
        return Err(usage(problem, "add -t CHILDREN, or leave --ranks (or IOASSAY_RANKS) out"));
    }
    if let Some(other) = ["-F", "-+m"].into_iter().find(|name| given.has(name)) {
        return Err(usage(format!("{other} needs children"), "add -t CHILDREN, or use -f FILE for one process"));
    }
    Rows::read(given)
}

/// How many children, one number after the other.
fn counts(given: &Options) -> Result<Vec<u32>, Failure> {
    let range = 1..=MOST_CHILDREN;
    let (lowest, highest) = (given.number("-l", range.clone())?, given.number("-u", range.clone())?);
    let several = given.values("-t").iter().map(|text| whole("-t", text, range.clone()));
    let several: Vec<u64> = several.collect::<Result<_, _>>()?;
    let counts = match (several.is_empty(), lowest, highest) {
        (false, None, None) => several,
        (false, _, _) => return Err(usage("-t and -l or -u are mutually exclusive", "leave out -t, or -l and -u")),
        (true, lowest, highest) => {
            let lowest_or_one = lowest.unwrap_or(1);
            (lowest_or_one..=highest.unwrap_or(lowest_or_one)).collect()
        }
    };
    if counts.is_empty() {
        return Err(usage("-l is more than -u", "use a -l that is at most -u"));
    }
    Ok(counts.into_iter().map(|count| count as u32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_protocol::plan::data::{DataWork, Fsync, Lock, Order, Payload, Transfer, Verify};
    use ioassay_protocol::plan::pace::{Rate, Think};
    use ioassay_protocol::plan::{Job, Phase, Step, Work};

    const COMMON: Common = Common { ranks: 1, nodes: 1, run: None, overwrite: false, scale_down: 1 };

    fn asked(line: &str) -> Result<Request, Failure> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Request::new(Options::read(&words)?, &COMMON, "node7")
    }

    /// The plan of the first number of children, or of the first row.
    fn planned(asked: &Request) -> Result<Plan, Failure> {
        match &asked.mode {
            Mode::Children(children) => {
                asked.plan_of_children(children, children.counts[0], "r1", "c1".to_owned(), Path::new("/tmp"))
            }
            Mode::Rows(rows) => {
                asked.plan_of_row(rows.rows[0], rows.rows.len() == 1, "r1", "c1".to_owned(), Path::new("/tmp"))
            }
        }
    }

    fn plan(line: &str) -> Plan {
        let plan = planned(&asked(line).unwrap()).unwrap();
        ioassay_engine::plan::validate(&plan).unwrap();
        plan
    }

    fn place(plan: &Plan) -> &InPlace {
        let Target::InPlace(place) = &plan.target else { panic!() };
        place
    }

    fn phases(plan: &Plan) -> Vec<&Phase> {
        plan.steps.iter().filter_map(|step| if let Step::Phase(phase) = step { Some(phase) } else { None }).collect()
    }

    fn jobs(plan: &Plan) -> Vec<(&Job, &DataWork)> {
        let jobs = phases(plan).into_iter().flat_map(|phase| &phase.jobs);
        jobs.filter_map(|job| if let Work::Data(work) = &job.work { Some((job, work)) } else { None }).collect()
    }

    fn names(line: &str) -> Vec<String> {
        phases(&plan(line)).into_iter().map(|phase| phase.name.clone()).collect()
    }

    #[test]
    fn the_white_paper_s_line_is_a_write_of_a_file_per_child_with_fsync() {
        let plan = plan("-i0 -c -e -w -r 8M -s 128G -t 12 -+n");
        let set = &plan.files[SET];
        assert_eq!((set.transfer_bytes, set.block_bytes, plan.ranks.per_client), (8 << 20, 128 << 30, 12));
        assert_eq!(place(&plan).files[SET][11], Path::new("/tmp/iozone.DUMMY.11"));
        assert!(place(&plan).keep);
        let jobs = jobs(&plan);
        assert_eq!(jobs.len(), 1);
        assert_eq!((jobs[0].1.fsync, jobs[0].1.transfer), (Fsync::AtClose, Transfer::Write));
    }

    #[test]
    fn a_row_has_all_tests_on_one_file() {
        let plan = plan("-s 64 -f foo");
        assert_eq!(place(&plan).files[SET], [Path::new("/tmp/foo")]);
        assert!(!place(&plan).keep);
        assert_eq!(plan.ranks.per_client, 1);
        assert_eq!(
            names("-s 64"),
            [
                "write",
                "rewrite",
                "read",
                "reread",
                "random-read",
                "random-write",
                "reverse-read",
                "record-rewrite",
                "stride-read",
                "fwrite",
                "refwrite",
                "fread",
                "refread"
            ]
        );
        assert_eq!(place(&self::plan("-i 0")).files[SET], [Path::new("/tmp/iozone.tmp")]);
    }

    #[test]
    fn one_record_is_written_again_as_often_as_the_file_has_records() {
        let plan = plan("-i 0 -i 4 -s 64 -r 4");
        let (job, work) = jobs(&plan)[2];
        assert_eq!((work.files.as_str(), job.limit.operations_per_rank), (RECORD, Some(16)));
        assert_eq!(plan.files[RECORD].block_bytes, 4 << 10);
        assert_eq!(place(&plan).files[RECORD], place(&plan).files[SET]);
        assert_eq!(names("-i 0 -i 4 -i 5 -V 1"), ["write", "rewrite", "record-rewrite", "restore", "stride-read"]);
    }

    #[test]
    fn streams_know_nothing_of_direct_io_and_synchronous_writes() {
        let plan = plan("-i 0 -i 6 -I -o -s 64");
        let jobs = jobs(&plan);
        assert!(plan.storage.direct);
        assert_eq!(jobs[0].1.fsync, Fsync::EveryWrites(1));
        assert_eq!(jobs[2].1.fsync, Fsync::Never);
        assert!(!plan.storage_of(jobs[2].0).direct);
    }

    #[test]
    fn only_the_last_row_s_file_stays() {
        let asked = asked("-a -n 64 -g 128 -i 0 -w").unwrap();
        let Mode::Rows(rows) = &asked.mode else { panic!() };
        let keeps = |last| {
            let plan = asked.plan_of_row(rows.rows[0], last, "r", "c".to_owned(), Path::new("/tmp")).unwrap();
            place(&plan).keep
        };
        assert!(keeps(true) && !keeps(false));
    }

    #[test]
    fn files_hold_whole_records_and_at_least_one() {
        let set = |line: &str| plan(line).files[SET].clone();
        assert_eq!(set("-i0 -t 1 -r 3k -s 10k").block_bytes, 9 << 10);
        assert_eq!(set("-i0 -t 4 -r 1k -s 10k -+k").block_bytes, 2 << 10);
        assert_eq!(set("-i0 -r 4 -s 65").block_bytes, 64 << 10);
        assert!(asked("-i0 -t 1 -r 64k -s 10k").unwrap_err().message.contains("-r"));
        let small = Common { scale_down: 1 << 40, ..COMMON };
        let words: Vec<String> = "-i0 -t 1 -r 8M -s 128G".split(' ').map(str::to_owned).collect();
        let asked = Request::new(Options::read(&words).unwrap(), &small, "node7").unwrap();
        assert_eq!(planned(&asked).unwrap().files[SET].block_bytes, 8 << 20);
    }

    #[test]
    fn options_become_what_the_plan_says() {
        let line = "-i0 -i1 -t 2 -I -o -V 7 -+l -+O 50 -J 3 -+J -+q 4 -r 4k -s 16k";
        let plan = plan(line);
        assert!(plan.storage.direct);
        assert_eq!(plan.files[SET].payload, Payload::Unique {});
        let jobs = jobs(&plan);
        assert_eq!((jobs[0].1.fsync, jobs[0].1.lock), (Fsync::EveryWrites(1), Some(Lock::Range)));
        assert_eq!((jobs[0].1.verify, jobs[2].1.verify), (None, Some(Verify::Reads)));
        assert_eq!(jobs.iter().filter(|(_, work)| work.size.is_some()).count(), 1);
        assert!(matches!(plan.steps[1], Step::Pause { duration_ns: 4_000_000_000 }));
        assert_eq!(jobs[0].0.rate, Some(Rate::OperationsPerS(100)));
        assert_eq!(jobs[0].0.think, Some(Think { duration_ns: 3_000_000, every_operations: 1 }));
        assert_eq!(self::jobs(&self::plan("-i0 -W"))[0].1.lock, Some(Lock::File));
        assert_eq!(self::jobs(&self::plan("-i0 -i5 -j 9"))[2].1.order, Order::Strided(9));
    }

    #[test]
    fn synchronous_writes_have_many_names() {
        for line in ["-i0 -o", "-i0 -+r", "-i0 -+D -t 2", "-i0 -B -G"] {
            assert_eq!(jobs(&plan(line))[0].1.fsync, Fsync::EveryWrites(1), "{line}");
        }
        assert_eq!(jobs(&plan("-i0 -G"))[0].1.fsync, Fsync::Never, "there is no mapping");
    }

    #[test]
    fn instead_of_mounting_again_the_cache_is_emptied_before_each_read() {
        let plan = plan("-i0 -i1 -U /mnt -s 64");
        let cold: Vec<bool> = plan.steps.iter().map(|step| matches!(step, Step::ColdCache(_))).collect();
        assert_eq!(cold, [false, false, true, false, true, false]);
    }

    #[test]
    fn kinds_of_access_are_storage_apis() {
        assert_eq!(plan("-i0 -t 1 -B -+A 2").storage.api, "mmap");
        assert_eq!(plan("-i0 -a -D").storage.api, "mmap");
        let uring = plan("-i0 -t 1 -H 8").storage;
        assert_eq!((uring.api.as_str(), uring.depth), ("uring", 8));
    }

    #[test]
    fn a_part_of_the_children_reads_in_a_mix() {
        let counts = |line: &str| {
            let plan = plan(line);
            jobs(&plan).iter().map(|(job, _)| (job.name.clone(), job.ranks.unwrap().count)).collect::<Vec<_>>()
        };
        let both = |writers, readers| vec![("mixed-write".to_owned(), writers), ("mixed-read".to_owned(), readers)];
        assert_eq!(counts("-i8 -t 5 -w"), both(2, 3));
        assert_eq!(counts("-i8 -t 10 -+p 30 -w"), both(7, 3));
        assert_eq!(counts("-i8 -t 1 -w"), [("mixed-read".to_owned(), 1)]);
        assert_eq!(counts("-i8 -t 2 -+p 100 -w"), [("mixed-read".to_owned(), 2)]);
    }

    #[test]
    fn what_is_only_read_is_removed_too_unless_it_is_to_stay() {
        for line in ["-i1 -t 1", "-i1"] {
            assert!(matches!(plan(line).steps.last(), Some(Step::RemoveFiles { .. })), "{line}");
            assert!(matches!(plan(&format!("{line} -w")).steps.last(), Some(Step::Phase(_))), "{line}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused_by_name() {
        for (line, named) in [
            ("-i0 -t 0", "-t"),
            ("-i0 -t 1025", "-t"),
            ("-i0 -t 2 -l 1", "-t"),
            ("-i0 -l 3 -u 2", "-l"),
            ("-i65 -t 1", "-i"),
            ("-i0 -t 1 -a", "-a"),
            ("-i0 -t 1 -f x", "-f"),
            ("-i0 -t 1 -N", "-N"),
            ("-i0 -+m list", "-+m"),
            ("-i0 -t 1 -+E -F x", "-+E"),
            ("-i0 -+E -f x", "-+E"),
            ("-+E -f x", "-+E"),
            ("-i0 -t 1 -J 5", "-J"),
            ("-i0 -t 1 -+A 1", "-+A"),
            ("-i0 -t 1 -B -I", "-B"),
            ("-i0 -D -W", "-D"),
            ("-i0 -t 1 -H 2 -k 2", "-H"),
            ("-i0 -t 1 -+m /no/such/list", "-+m"),
        ] {
            let failure = asked(line).unwrap_err();
            assert!(failure.message.contains(named), "{line}: {failure:?}");
        }
        let same = planned(&asked("-i0 -t 2 -F a a").unwrap());
        assert!(same.unwrap_err().message.contains("/a"));
    }
}
