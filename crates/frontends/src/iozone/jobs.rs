//! What IOzone's tests are as phases of a plan: jobs on files that are all alike, one of each child.
//!
//! Not here: which tests there are ([`super::test`]), whose files they are ([`super::translate`]).

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::cache::CacheStep;
use ioassay_protocol::plan::data::{
    Advice, DataWork, FileSet, Fsync, Layout, Lock, Order, Payload, SizeAtOpen, Source, Transfer, Verify,
};
use ioassay_protocol::plan::pace::{Limit, Rate, Think};
use ioassay_protocol::plan::storage::Storage;
use ioassay_protocol::plan::{CacheMethod, Job, Phase, RankRange, Step, Work};

use super::options::Options;
use super::test::Test;
use crate::common::usage;

/// The file set of the children.
pub const SET: &str = "data";

/// The first record of each of those files, as a file set of its own: what `-i 4` writes again and again.
pub const RECORD: &str = "record";

/// The phase after `-i 4` that writes the file once more, where its bytes are compared; it is no test.
const RESTORE: &str = "restore";

/// A day: longer nobody waits.
const A_DAY_S: u64 = 86_400;

/// The files of a case: one of each child.
#[derive(Debug, Clone, Copy)]
pub struct Files {
    /// How many children.
    pub children: u32,
    /// Bytes of each file: whole records.
    pub bytes: u64,
    /// Bytes of a record.
    pub record_bytes: u64,
}

/// Makes the steps of one case.
#[derive(Debug, Clone, Copy)]
pub struct Jobs<'a> {
    /// The options.
    pub given: &'a Options,
    /// The files.
    pub files: Files,
    /// True where the case is a row of the table: a single process, which begins each test with clean files.
    pub row: bool,
}

impl Jobs<'_> {
    /// How the I/O is done, of all tests but those of streams.
    ///
    /// # Errors
    /// If a depth is none.
    pub fn storage(&self) -> Result<Storage, Failure> {
        let given = self.given;
        let depth = |name| given.number(name, 1..=u64::from(u16::MAX));
        let depth = depth("-H")?.or(depth("-k")?).map(|depth| depth as u32);
        let mapped = ["-B", "-D"].into_iter().any(|name| given.has(name));
        let api = match depth {
            Some(_) => "uring",
            None if mapped => "mmap",
            None => "posix",
        };
        Ok(Storage { direct: given.has("-I"), depth: depth.unwrap_or(1), ..Storage::of(api) })
    }

    /// The file sets of the plan, by name.
    pub fn file_sets(&self, tests: &[Test]) -> Vec<(&'static str, FileSet)> {
        let all = FileSet {
            layout: Layout::FilePerRank,
            ranks: None,
            files_per_rank: 1,
            transfer_bytes: self.files.record_bytes,
            block_bytes: self.files.bytes,
            segments: 1,
            offset_bytes: 0,
            // What is to be verified must differ everywhere; the rest is written as fast as IOzone writes its pattern.
            payload: if self.verifies() { Payload::Unique {} } else { Payload::Repeated {} },
        };
        let first = FileSet { block_bytes: self.files.record_bytes, ..all.clone() };
        let again = tests.contains(&Test::RecordRewrite).then_some((RECORD, first));
        [(SET, all)].into_iter().chain(again).collect()
    }

    /// The steps of `tests`; `removes` what they only read.
    ///
    /// # Errors
    /// If a value is out of its range.
    pub fn steps(&self, tests: &[Test], removes: bool) -> Result<Vec<Step>, Failure> {
        let mut steps = Vec::new();
        let rest_s = self.given.number("-+q", 0..=A_DAY_S)?.unwrap_or(0);
        for (index, &test) in tests.iter().enumerate() {
            if index > 0 && rest_s > 0 {
                steps.push(Step::Pause { duration_ns: rest_s * 1_000_000_000 });
            }
            if self.given.has("-U") && !test.writes() {
                steps.push(Step::ColdCache(CacheStep::of(vec![CacheMethod::Fadvise])));
            }
            let phase = Phase::new(test.phase(), self.jobs(test)?);
            steps.push(Step::Phase(Phase { settle: self.row, ..phase }));
            // What -i 4 writes are the bytes of another file set, which later tests would find wrong.
            if test == Test::RecordRewrite && self.verifies() {
                let jobs = self.jobs(Test::Rewrite)?;
                steps.push(Step::Phase(Phase::new(RESTORE, jobs)));
            }
        }
        if removes {
            steps.push(Step::RemoveFiles { files: vec![SET.to_owned()] });
        }
        Ok(steps)
    }

    fn verifies(&self) -> bool {
        self.given.has("-V") || self.given.has("-+d")
    }

    fn jobs(&self, test: Test) -> Result<Vec<Job>, Failure> {
        let stride = self.given.number("-j", 1..=u64::MAX)?.unwrap_or(17);
        let (transfer, order) = match test.access() {
            (transfer, Order::Strided(_)) => (transfer, Order::Strided(stride)),
            _ if test == Test::Mixed => return self.mixed(),
            access => access,
        };
        Ok(vec![self.job(test.phase(), test, None, transfer, order)?])
    }

    /// Some children read while the others write. A single child reads.
    fn mixed(&self) -> Result<Vec<Job>, Failure> {
        let children = self.files.children;
        let percent = self.given.number("-+p", 1..=100)?;
        let readers = percent.map_or(children.div_ceil(2), |percent| (u64::from(children) * percent / 100) as u32);
        let order = if self.given.has("-+B") { Order::Sequential } else { Order::Random };
        // A job's first rank has the first part of its files: writers come first.
        let writers = children - readers;
        let mut jobs = Vec::new();
        if writers > 0 {
            let range = RankRange { first: 0, count: writers };
            jobs.push(self.job("mixed-write", Test::Mixed, Some(range), Transfer::Write, order)?);
        }
        if readers > 0 {
            let range = RankRange { first: writers, count: readers };
            let mut reads = self.job("mixed-read", Test::Mixed, Some(range), Transfer::Read, order)?;
            if let Work::Data(work) = &mut reads.work {
                work.source = Source::Listed((writers..children).collect());
            }
            jobs.push(reads);
        }
        Ok(jobs)
    }

    fn job(
        &self,
        name: &str,
        test: Test,
        ranks: Option<RankRange>,
        transfer: Transfer,
        order: Order,
    ) -> Result<Job, Failure> {
        let given = self.given;
        let members = ranks.map_or(self.files.children, |range| range.count);
        let streams = test.is_of_streams();
        let again = test == Test::RecordRewrite;
        let work = DataWork {
            files: if again { RECORD } else { SET }.to_owned(),
            transfer,
            order,
            source: Source::Own,
            fsync: self.fsync(transfer, streams),
            verify: (self.verifies() && !transfer.writes()).then_some(Verify::Reads),
            size: (test == Test::InitialWrite && !given.has("-+N")).then_some(SizeAtOpen::Empty),
            lock: self.lock(streams),
            advice: if streams { Vec::new() } else { self.advice()? },
            barriers: false,
            piece_bytes: None,
        };
        let rate = given.number("-+O", 1..=1_000_000_000)?;
        let pause_ms = given.number("-J", 1..=A_DAY_S * 1000)?;
        // One record as often as the file has records.
        let limit = Limit {
            operations_per_rank: Some(self.files.bytes / self.files.record_bytes),
            minimum_ns: Some(A_DAY_S * 1_000_000_000),
            ..Limit::default()
        };
        Ok(Job {
            ranks,
            storage: streams.then(|| Storage::of("posix")),
            limit: if again { limit } else { Limit::default() },
            rate: rate.map(|rate| Rate::OperationsPerS(rate * u64::from(members))),
            think: pause_ms.map(|pause_ms| Think { duration_ns: pause_ms * 1_000_000, every_operations: 1 }),
            ..Job::new(name, Work::Data(work))
        })
    }

    fn fsync(&self, transfer: Transfer, streams: bool) -> Fsync {
        let has = |names: &[&str]| names.iter().any(|name| self.given.has(name));
        // IOzone syncs a mapping after each record where -G says so.
        let each = has(&["-o", "-+r", "-+D"]) || (has(&["-G"]) && has(&["-B", "-D"]));
        match (transfer.writes(), each && !streams, has(&["-e"])) {
            (true, true, _) => Fsync::EveryWrites(1),
            (true, false, true) => Fsync::AtClose,
            (true, false, false) | (false, _, _) => Fsync::Never,
        }
    }

    fn lock(&self, streams: bool) -> Option<Lock> {
        let lock = if self.given.has("-+l") { Some(Lock::Range) } else { self.given.has("-W").then_some(Lock::File) };
        lock.filter(|_| !streams)
    }

    fn advice(&self) -> Result<Vec<Advice>, Failure> {
        let all = [Advice::Normal, Advice::Random, Advice::Sequential, Advice::DontNeed, Advice::WillNeed];
        Ok(self.given.number("-+A", 0..=4)?.map(|number| all[number as usize]).into_iter().collect())
    }
}

/// An error if options contradict each other, or ask for what is not done.
pub fn consistent(given: &Options) -> Result<(), Failure> {
    if given.has("-J") && !given.has("-+J") {
        return Err(usage("-J excludes its pauses from the time", "add -+J: pauses are included here"));
    }
    let mapped = ["-B", "-D"].into_iter().find(|name| given.has(name));
    if given.has("-+A") && mapped.is_none() {
        return Err(usage("-+A (madvise) applies to mapped files only", "add -B"));
    }
    if let Some(mapped) = mapped
        && let Some(other) = ["-H", "-k", "-I", "-+l", "-W"].into_iter().find(|&other| given.has(other))
    {
        return Err(usage(format!("{mapped} and {other} are mutually exclusive"), "leave one of them out"));
    }
    if given.has("-H") && given.has("-k") {
        return Err(usage("-H and -k are mutually exclusive", "leave one of them out"));
    }
    Ok(())
}
