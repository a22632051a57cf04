//! From IOzone's options to plans: one for each number of children, whose phases are the tests in IOzone's order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ioassay_contract::VERSION;
use ioassay_contract::events::Failure;
use ioassay_contract::plan::data::{
    Advice, DataWork, FileSet, Fsync, Layout, Lock, Order, Payload, SizeAtOpen, Source, Transfer, Verify,
};
use ioassay_contract::plan::pace::{Rate, Think};
use ioassay_contract::plan::storage::{InPlace, Storage, Target};
use ioassay_contract::plan::{Job, Phase, Plan, RankCount, RankRange, Step, Work};
use ioassay_units::{Bytes, count};

use super::clients::{self, Client};
use super::options::{Given, whole};
use crate::frontends::common::{Common, usage};

/// The file set of the children.
const SET: &str = "data";

/// The same for every command, so that a later one can verify what an earlier one wrote.
const SEED: u64 = 471;

/// As many children as IOzone takes at most.
const MOST_CHILDREN: u64 = 1024;

/// A day in seconds: longer nobody waits.
const A_DAY_S: u64 = 86_400;

/// A test of the throughput mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// `-i 0`, the first time.
    InitialWrite,
    /// `-i 0`, the second time.
    Rewrite,
    /// `-i 1`, the first time.
    Read,
    /// `-i 1`, the second time.
    Reread,
    /// `-i 3`.
    ReverseRead,
    /// `-i 5`.
    StrideRead,
    /// `-i 2`, its reads.
    RandomRead,
    /// `-i 8`.
    Mixed,
    /// `-i 2`, its writes.
    RandomWrite,
    /// `-i 9`.
    Pwrite,
    /// `-i 10`.
    Pread,
}

impl Test {
    /// All of them, in the order in which IOzone runs them, each with the number that asks for it.
    const ALL: [(Self, u64); 11] = [
        (Self::InitialWrite, 0),
        (Self::Rewrite, 0),
        (Self::Read, 1),
        (Self::Reread, 1),
        (Self::ReverseRead, 3),
        (Self::StrideRead, 5),
        (Self::RandomRead, 2),
        (Self::Mixed, 8),
        (Self::RandomWrite, 2),
        (Self::Pwrite, 9),
        (Self::Pread, 10),
    ];

    /// The name of its phase.
    pub fn phase(self) -> &'static str {
        match self {
            Self::InitialWrite => "write",
            Self::Rewrite => "rewrite",
            Self::Read => "read",
            Self::Reread => "reread",
            Self::ReverseRead => "reverse-read",
            Self::StrideRead => "stride-read",
            Self::RandomRead => "random-read",
            Self::Mixed => "mixed",
            Self::RandomWrite => "random-write",
            Self::Pwrite => "pwrite",
            Self::Pread => "pread",
        }
    }

    /// The test of the phase `name`.
    pub fn of_phase(name: &str) -> Option<Self> {
        Self::ALL.into_iter().map(|(test, _)| test).find(|test| test.phase() == name)
    }

    /// True for what `-+n` leaves out.
    fn repeats(self) -> bool {
        matches!(self, Self::Rewrite | Self::Reread)
    }

    fn writes(self) -> bool {
        matches!(self, Self::InitialWrite | Self::Rewrite | Self::Mixed | Self::RandomWrite | Self::Pwrite)
    }
}

/// Why a test is not done, and what to take.
fn refused_test(number: u64) -> Option<(&'static str, &'static str)> {
    Some(match number {
        4 => ("it is not for -t, in the original neither", "take -i 0, whose second half writes again"),
        6 => ("nothing here goes through stdio", "take -i 0, which writes without it"),
        7 => ("nothing here goes through stdio", "take -i 1, which reads without it"),
        11 => ("it is not for -t, in the original neither", "take -i 9"),
        12 => ("it is not for -t, in the original neither", "take -i 10"),
        _ => return None,
    })
}

/// What a command line asks for.
#[derive(Debug)]
pub struct Asked {
    /// The options.
    pub given: Given,
    /// How many children, one number after the other.
    pub children: Vec<u32>,
    /// Bytes of all children together, with `-+k`, or of each of them.
    file_bytes: u64,
    /// Bytes of a record.
    pub record_bytes: u64,
    /// In IOzone's order.
    tests: Vec<Test>,
    clients: Vec<Client>,
    common: Common,
}

impl Asked {
    /// Makes sense of `given`; `here` is what this host is called.
    ///
    /// # Errors
    /// If something contradicts itself, or cannot be done.
    pub fn new(given: Given, common: &Common, here: &str) -> Result<Self, Failure> {
        let tests = tests(&given)?;
        let children = children(&given)?;
        if let Some(children) = children.iter().find(|&&children| common.ranks > 1 && children != common.ranks) {
            let problem = format!("-t {children} and --ranks {} contradict each other", common.ranks);
            return Err(usage(problem, "leave --ranks (or IOASSAY_RANKS) out: children are ranks"));
        }
        let clients = match given.value("-+m")? {
            Some(file) => clients::read(Path::new(file), here)?,
            None => Vec::new(),
        };
        let most = children.iter().copied().max().unwrap_or(0) as usize;
        if !clients.is_empty() && clients.len() < most {
            let problem = format!("-t {most}, but the file of -+m names {}", count(clients.len() as u64, "client"));
            return Err(usage(problem, "name a client for each child, or take fewer children"));
        }
        if given.has("-+m") && given.has("-F") {
            return Err(usage(
                "-+m and -F both say where the files are",
                "name files in the fourth word of -+m's lines",
            ));
        }
        let record_bytes = size(&given, "-r", 4)?;
        let asked = Self {
            file_bytes: size(&given, "-s", 512)?,
            common: common.clone(),
            given,
            children,
            record_bytes,
            tests,
            clients,
        };
        asked.consistent()?;
        Ok(asked)
    }

    fn consistent(&self) -> Result<(), Failure> {
        let given = &self.given;
        let writes = self.tests.iter().any(|test| test.writes());
        if given.has("-+E") && (writes || !given.has("-F")) {
            return Err(usage("-+E reads files that others wrote", "take -F FILE... and tests that only read: -i 1"));
        }
        if given.has("-J") && !given.has("-+J") {
            return Err(usage("-J takes its pauses out of the time", "take -+J beside it: pauses count here"));
        }
        if given.has("-+A") && !given.has("-B") {
            return Err(usage("-+A advises on mapped files", "take -B beside it"));
        }
        if let Some(other) = ["-H", "-k", "-I", "-+l"].into_iter().find(|&other| given.has("-B") && given.has(other)) {
            return Err(usage(format!("-B and {other} contradict each other"), "leave one of them out"));
        }
        if given.has("-H") && given.has("-k") {
            return Err(usage("-H and -k contradict each other", "leave one of them out"));
        }
        if self.tests.contains(&Test::Mixed) && self.children.contains(&1) {
            return Err(usage("-i 8 has readers beside writers, and -t 1 is one child", "take -t 2 or more"));
        }
        for &children in &self.children {
            if self.records(children) == 0 {
                let [file, record] = [self.child_bytes(children), self.record_bytes].map(Bytes);
                let problem = format!("a file of {file} (-s) holds no record of {record} (-r)");
                return Err(usage(problem, format!("take -s {}k or more, or a smaller record", record.0 >> 10)));
            }
        }
        Ok(())
    }

    /// What `-s` gives each of `children`.
    fn child_bytes(&self, children: u32) -> u64 {
        if self.given.has("-+k") { self.file_bytes / u64::from(children) } else { self.file_bytes }
    }

    /// Whole records of each of `children`, as IOzone counts them.
    fn records(&self, children: u32) -> u64 {
        let records = self.child_bytes(children) / self.record_bytes;
        self.common.scaled(records * self.record_bytes, self.record_bytes) / self.record_bytes
    }

    /// Bytes of the file of each of `children`.
    pub fn bytes_of_each(&self, children: u32) -> u64 {
        self.records(children) * self.record_bytes
    }

    /// The files of `children`, which work in `directory` where nothing else is said.
    fn files(&self, children: u32, directory: &Path) -> Vec<PathBuf> {
        let named = self.given.values("-F");
        let file = |number: usize| match (self.clients.get(number), named.get(number)) {
            (Some(Client { directory, file: Some(file), .. }), _) => directory.join(file),
            (Some(Client { directory, .. }), _) => directory.join(default_name(number)),
            (None, Some(name)) => directory.join(name),
            (None, None) => directory.join(default_name(number)),
        };
        (0..children as usize).map(file).collect()
    }

    /// The plan for `children`.
    ///
    /// # Errors
    /// If two children would have the same file, or a value is out of its range.
    pub fn plan(&self, children: u32, run: &str, case: String, directory: &Path) -> Result<Plan, Failure> {
        let files = self.files(children, directory);
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = files.iter().find(|file| !seen.insert(*file)) {
            return Err(usage(
                format!("two children have the file {}", twice.display()),
                "give each child a file of its own",
            ));
        }
        let above = files[0].parent().unwrap_or(directory).to_owned();
        let place = InPlace {
            directory: above,
            files: BTreeMap::from([(SET.to_owned(), files)]),
            overwrite: self.common.overwrite,
            keep: self.keeps(),
            ..InPlace::default()
        };
        Ok(Plan {
            version: VERSION,
            run: run.to_owned(),
            case,
            target: Target::InPlace(place),
            storage: self.storage()?,
            ranks: RankCount { clients: 1, per_client: children },
            files: BTreeMap::from([(SET.to_owned(), self.file_set(children))]),
            trees: BTreeMap::new(),
            steps: self.steps(children)?,
            seed: SEED,
            memory_bytes: 0,
            time_limit_ns: None,
            sample_interval_ns: 1_000_000_000,
        })
    }

    fn keeps(&self) -> bool {
        self.given.has("-w") || self.given.has("-+E")
    }

    fn storage(&self) -> Result<Storage, Failure> {
        let depth = match (self.given.number("-H", 1..=4096)?, self.given.number("-k", 1..=4096)?) {
            (Some(depth), _) | (None, Some(depth)) => Some(depth as u32),
            (None, None) => None,
        };
        let api = match depth {
            Some(_) => "uring",
            None if self.given.has("-B") => "mmap",
            None => "posix",
        };
        let direct = self.given.has("-I");
        Ok(Storage { direct, depth: depth.unwrap_or(1), ..Storage::of(api) })
    }

    fn file_set(&self, children: u32) -> FileSet {
        FileSet {
            layout: Layout::FilePerRank,
            ranks: None,
            files_per_rank: 1,
            transfer_bytes: self.record_bytes,
            block_bytes: self.bytes_of_each(children),
            segments: 1,
            offset_bytes: 0,
            // What is to be verified must differ everywhere; the rest is written as fast as IOzone writes its pattern.
            payload: if self.given.has("-V") { Payload::Unique } else { Payload::Repeated },
        }
    }

    fn steps(&self, children: u32) -> Result<Vec<Step>, Failure> {
        let mut steps = Vec::new();
        let rest_s = self.given.number("-+q", 0..=A_DAY_S)?.unwrap_or(0);
        for (index, &test) in self.tests.iter().enumerate() {
            if index > 0 && rest_s > 0 {
                steps.push(Step::Pause { duration_ns: rest_s * 1_000_000_000 });
            }
            let jobs = self.jobs(test, children)?;
            steps.push(Step::Phase(Phase::new(test.phase(), jobs)));
        }
        // What this command only reads is not among what is removed at its end. IOzone removes it all the same.
        if !self.keeps() && !self.tests.iter().any(|test| test.writes()) {
            steps.push(Step::RemoveFiles { files: vec![SET.to_owned()] });
        }
        Ok(steps)
    }

    fn jobs(&self, test: Test, children: u32) -> Result<Vec<Job>, Failure> {
        let stride = self.given.number("-j", 1..=u64::MAX)?.unwrap_or(17);
        let (transfer, order) = match test {
            Test::InitialWrite | Test::Rewrite | Test::Pwrite => (Transfer::Write, Order::Sequential),
            Test::Read | Test::Reread | Test::Pread => (Transfer::Read, Order::Sequential),
            Test::ReverseRead => (Transfer::Read, Order::Backward),
            Test::StrideRead => (Transfer::Read, Order::Strided(stride)),
            Test::RandomRead => (Transfer::Read, Order::Random),
            Test::RandomWrite => (Transfer::Write, Order::Random),
            Test::Mixed => return self.mixed(children),
        };
        Ok(vec![self.job(test.phase(), test, None, transfer, order, children)?])
    }

    /// Some children read while the others write.
    fn mixed(&self, children: u32) -> Result<Vec<Job>, Failure> {
        let percent = self.given.number("-+p", 1..=99)?;
        let readers = percent.map_or(children.div_ceil(2), |percent| (u64::from(children) * percent / 100) as u32);
        let order = if self.given.has("-+B") { Order::Sequential } else { Order::Random };
        if readers == 0 || readers == children {
            let problem = format!("-+p {}: {readers} of {children} children read", percent.unwrap_or(50));
            return Err(usage(problem, "take a share that leaves some to read and some to write"));
        }
        let job = |name: &str, first: u32, count: u32, transfer: Transfer| {
            self.job(name, Test::Mixed, Some(RankRange { first, count }), transfer, order, count)
        };
        // A job's first rank has the first part of its files: writers come first.
        let writers = children - readers;
        let mut reads = job("mixed-read", writers, readers, Transfer::Read)?;
        if let Work::Data(work) = &mut reads.work {
            work.source = Source::Listed((writers..children).collect());
        }
        Ok(vec![job("mixed-write", 0, writers, Transfer::Write)?, reads])
    }

    fn job(
        &self,
        name: &str,
        test: Test,
        ranks: Option<RankRange>,
        transfer: Transfer,
        order: Order,
        members: u32,
    ) -> Result<Job, Failure> {
        let given = &self.given;
        let writes = transfer.writes();
        let fsync = match (writes, given.has("-o"), given.has("-e")) {
            (true, true, _) => Fsync::EveryWrites(1),
            (true, false, true) => Fsync::AtClose,
            (true, false, false) | (false, _, _) => Fsync::Never,
        };
        let verify = (given.has("-V") && !writes).then_some(Verify::Reads);
        let empties = test == Test::InitialWrite && !given.has("-+N");
        let work = DataWork {
            files: SET.to_owned(),
            transfer,
            order,
            source: Source::Own,
            fsync,
            verify,
            size: empties.then_some(SizeAtOpen::Empty),
            lock: given.has("-+l").then_some(Lock::Range),
            advice: self.advice()?,
            barriers: false,
            piece_bytes: None,
        };
        let rate = given.number("-+O", 1..=1_000_000_000)?;
        let pause_ms = given.number("-J", 1..=A_DAY_S * 1000)?;
        Ok(Job {
            ranks,
            rate: rate.map(|rate| Rate::OperationsPerS(rate * u64::from(members))),
            think: pause_ms.map(|pause_ms| Think { duration_ns: pause_ms * 1_000_000, every_operations: 1 }),
            ..Job::new(name, Work::Data(work))
        })
    }

    fn advice(&self) -> Result<Vec<Advice>, Failure> {
        let all = [Advice::Normal, Advice::Random, Advice::Sequential, Advice::DontNeed, Advice::WillNeed];
        Ok(self.given.number("-+A", 0..=4)?.map(|number| all[number as usize]).into_iter().collect())
    }
}

/// What IOzone calls the file of child `number`.
fn default_name(number: usize) -> String {
    format!("iozone.DUMMY.{number}")
}

/// The tests that `-i` asks for.
fn tests(given: &Given) -> Result<Vec<Test>, Failure> {
    let mut asked = Vec::new();
    for text in given.values("-i") {
        let number = whole("-i", text, 0..=12)?;
        if let Some((because, remedy)) = refused_test(number) {
            return Err(usage(format!("-i {number} is refused: {because}"), remedy));
        }
        asked.push(number);
    }
    if asked.is_empty() {
        let remedy = "say which: -i 0 -i 1 -i 2 -i 3 -i 5 -i 8 are those that need no stdio";
        return Err(usage("without -i IOzone runs all tests, and -i 6 and -i 7 are refused", remedy));
    }
    // The files of -+E are others': IOzone leaves the second half of -i 2 out, too.
    let left_out = |test: Test| (given.has("-+n") && test.repeats()) || (given.has("-+E") && test == Test::RandomWrite);
    let wanted = |&(test, number): &(Test, u64)| asked.contains(&number) && !left_out(test);
    Ok(Test::ALL.iter().filter(|test| wanted(test)).map(|&(test, _)| test).collect())
}

/// How many children, one number after the other.
fn children(given: &Given) -> Result<Vec<u32>, Failure> {
    let range = 1..=MOST_CHILDREN;
    let (lowest, highest) = (given.number("-l", range.clone())?, given.number("-u", range.clone())?);
    let several = given.values("-t").iter().map(|text| whole("-t", text, range.clone()));
    let several: Vec<u64> = several.collect::<Result<_, _>>()?;
    let counts = match (several.is_empty(), lowest, highest) {
        (false, None, None) => several,
        (false, _, _) => return Err(usage("-t contradicts -l and -u", "leave -t out, or them")),
        (true, None, None) => {
            return Err(usage("without -t IOzone runs its automatic mode", "say -t CHILDREN: -t 1 is one child"));
        }
        (true, lowest, highest) => {
            let lowest_or_one = lowest.unwrap_or(1);
            (lowest_or_one..=highest.unwrap_or(lowest_or_one)).collect()
        }
    };
    if counts.is_empty() {
        return Err(usage("-l is more than -u", "write the lower number after -l"));
    }
    Ok(counts.into_iter().map(|count| count as u32).collect())
}

/// The size that `name` was given in bytes, as IOzone means it: a plain number is KiB.
fn size(given: &Given, name: &str, otherwise_kib: u64) -> Result<u64, Failure> {
    let Some(text) = given.value(name)? else { return Ok(otherwise_kib << 10) };
    let refuse = |problem: String, remedy: &str| Err(usage(format!("{name}: {problem}"), remedy));
    let remedy = "write KiB as a plain number, or a number with the suffix k, m or g";
    let typed = if text.bytes().all(|byte| byte.is_ascii_digit()) { format!("{text}k") } else { text.to_owned() };
    match typed.to_ascii_lowercase().parse::<Bytes>() {
        Ok(_) if !typed.ends_with(['k', 'K', 'm', 'M', 'g', 'G']) => {
            refuse(format!("{text:?} has a suffix that IOzone does not know"), remedy)
        }
        Ok(Bytes(0)) => refuse("0 moves nothing".to_owned(), remedy),
        Ok(Bytes(bytes)) => Ok(bytes),
        Err(error) => refuse(error.to_string(), remedy),
    }
}

#[cfg(test)]
mod tests_of_translation {
    use super::*;

    const COMMON: Common = Common { ranks: 1, nodes: 1, run: None, overwrite: false, scale_down: 1 };

    fn asked(line: &str) -> Result<Asked, Failure> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Asked::new(Given::read(&words)?, &COMMON, "node7")
    }

    fn plan(line: &str) -> Plan {
        let asked = asked(line).unwrap();
        let plan = asked.plan(asked.children[0], "r1", "c1".to_owned(), Path::new("/tmp")).unwrap();
        crate::plan::validate(&plan).unwrap();
        plan
    }

    fn works(plan: &Plan) -> Vec<(String, DataWork)> {
        let phases =
            plan.steps.iter().filter_map(|step| if let Step::Phase(phase) = step { Some(phase) } else { None });
        let jobs = phases.flat_map(|phase| &phase.jobs);
        jobs.filter_map(
            |job| if let Work::Data(work) = &job.work { Some((job.name.clone(), work.clone())) } else { None },
        )
        .collect()
    }

    #[test]
    fn the_white_paper_s_line_is_a_write_of_a_file_per_child_with_fsync() {
        let plan = plan("-i0 -c -e -w -r 8M -s 128G -t 12 -+n");
        let set = &plan.files[SET];
        assert_eq!((set.transfer_bytes, set.block_bytes, plan.ranks.per_client), (8 << 20, 128 << 30, 12));
        let Target::InPlace(place) = &plan.target else { panic!() };
        assert_eq!(place.files[SET][11], Path::new("/tmp/iozone.DUMMY.11"));
        assert!(place.keep);
        let works = works(&plan);
        assert_eq!(works.len(), 1);
        assert_eq!((works[0].1.fsync, works[0].1.transfer), (Fsync::AtClose, Transfer::Write));
    }

    #[test]
    fn tests_come_in_iozone_s_order_whatever_the_order_of_i() {
        let names = |line: &str| works(&plan(line)).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names("-t 2 -i 2 -i 1 -i 0"), ["write", "rewrite", "read", "reread", "random-read", "random-write"]);
        assert_eq!(
            names("-t 2 -+n -i 10 -i 9 -i 8 -i 5 -i 3 -i 0"),
            ["write", "reverse-read", "stride-read", "mixed-write", "mixed-read", "pwrite", "pread"]
        );
    }

    #[test]
    fn sizes_mean_what_iozone_means() {
        for (text, bytes) in [("64", 64 << 10), ("4k", 4 << 10), ("2M", 2 << 20), ("1g", 1 << 30)] {
            let given = Given::read(&["-s".to_owned(), text.to_owned()]).unwrap();
            assert_eq!(size(&given, "-s", 512).unwrap(), bytes, "{text}");
        }
        assert_eq!(size(&Given::default(), "-s", 512).unwrap(), 512 << 10);
        for text in ["1.5g", "100x", "1t", "0", "", "4kb", "-1", "4KiB", "99999999999g"] {
            let given = Given::read(&["-s".to_owned(), text.to_owned()]).unwrap();
            assert!(size(&given, "-s", 512).unwrap_err().message.contains("-s"), "{text}");
        }
    }

    #[test]
    fn files_hold_whole_records_and_at_least_one() {
        let set = |line: &str| plan(line).files[SET].clone();
        assert_eq!(set("-i0 -t 1 -r 3k -s 10k").block_bytes, 9 << 10);
        assert_eq!(set("-i0 -t 4 -r 1k -s 10k -+k").block_bytes, 2 << 10);
        assert!(asked("-i0 -t 1 -r 64k -s 10k").unwrap_err().message.contains("-r"));
        let small = Common { scale_down: 1 << 40, ..COMMON };
        let words: Vec<String> = "-i0 -t 1 -r 8M -s 128G".split(' ').map(str::to_owned).collect();
        let asked = Asked::new(Given::read(&words).unwrap(), &small, "node7").unwrap();
        assert_eq!(asked.bytes_of_each(1), 8 << 20);
    }

    #[test]
    fn options_become_what_the_plan_says() {
        let line = "-i0 -i1 -t 2 -I -o -V 7 -+l -+O 50 -J 3 -+J -+q 4 -r 4k -s 16k";
        let plan = plan(line);
        assert!(plan.storage.direct);
        assert_eq!(plan.files[SET].payload, Payload::Unique);
        let works = works(&plan);
        assert_eq!((works[0].1.fsync, works[0].1.lock), (Fsync::EveryWrites(1), Some(Lock::Range)));
        assert_eq!((works[0].1.verify, works[2].1.verify), (None, Some(Verify::Reads)));
        assert_eq!(works.iter().filter(|(_, work)| work.size.is_some()).count(), 1);
        assert!(matches!(plan.steps[1], Step::Pause { duration_ns: 4_000_000_000 }));
        let Step::Phase(phase) = &plan.steps[0] else { panic!() };
        assert_eq!(phase.jobs[0].rate, Some(Rate::OperationsPerS(100)));
        assert_eq!(phase.jobs[0].think, Some(Think { duration_ns: 3_000_000, every_operations: 1 }));
    }

    #[test]
    fn kinds_of_access_are_storage_apis() {
        assert_eq!(plan("-i0 -t 1 -B -+A 2").storage.api, "mmap");
        let uring = plan("-i0 -t 1 -H 8").storage;
        assert_eq!((uring.api.as_str(), uring.depth), ("uring", 8));
    }

    #[test]
    fn a_part_of_the_children_reads_in_a_mix() {
        let jobs = |line: &str| {
            let plan = plan(line);
            let Step::Phase(phase) = &plan.steps[0] else { panic!() };
            phase.jobs.iter().map(|job| job.ranks.unwrap().count).collect::<Vec<_>>()
        };
        assert_eq!(jobs("-i8 -t 5 -w"), [2, 3]);
        assert_eq!(jobs("-i8 -t 10 -+p 30 -w"), [7, 3]);
    }

    #[test]
    fn what_is_only_read_is_removed_too_unless_it_is_to_stay() {
        assert!(matches!(plan("-i1 -t 1").steps.last(), Some(Step::RemoveFiles { .. })));
        assert!(matches!(plan("-i1 -t 1 -w").steps.last(), Some(Step::Phase(_))));
    }

    #[test]
    fn what_contradicts_itself_is_refused_by_name() {
        for (line, named) in [
            ("-t 1", "-i"),
            ("-i0", "-t"),
            ("-i0 -t 0", "-t"),
            ("-i0 -t 1025", "-t"),
            ("-i0 -t 2 -l 1", "-t"),
            ("-i0 -l 3 -u 2", "-l"),
            ("-i13 -t 1", "-i"),
            ("-i6 -t 1", "-i 6"),
            ("-i0 -t 1 -+E -F x", "-+E"),
            ("-i0 -t 1 -J 5", "-J"),
            ("-i0 -t 1 -+A 1", "-+A"),
            ("-i0 -t 1 -B -I", "-B"),
            ("-i0 -t 1 -H 2 -k 2", "-H"),
            ("-i8 -t 1", "-i 8"),
            ("-i0 -t 1 -+m /no/such/list", "-+m"),
        ] {
            let failure = asked(line).unwrap_err();
            assert!(failure.message.contains(named), "{line}: {failure:?}");
        }
        let same = asked("-i0 -t 2 -F a a").unwrap().plan(2, "r", "c".to_owned(), Path::new("/"));
        assert!(same.unwrap_err().message.contains("/a"));
    }
}
