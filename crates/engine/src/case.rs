//! One case as one rank lives it: step after step, in step with the others.
//!
//! Every rank runs [`run`] with the same plan. What differs is the rank's number, and that rank 0 writes the events.
//! Not here: where ranks come from, how files are opened, what a number is worth.

use std::io;
use std::path::Path;
use std::time::Duration;

use ioassay_contract::environment::Environment;
use ioassay_contract::events::{CacheAttempt, ColdCache, Event, Failure, RankRecord};
use ioassay_contract::plan::{CacheMethod, Fsync, Layout, Operation, Phase, Plan, Step};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cache::{self, residency};
use crate::failure;
use crate::measure::clock::{self, Clock};
use crate::measure::doubts::{self, Facts};
use crate::measure::phase::{Circumstances, RankResult, combine};
use crate::measure::recorder::Recorder;
use crate::output::EventLog;
use crate::plan::Sizes;
use crate::ranks::{Ranks, Start, Stopped};
use crate::storage::{Access, OpenFile, StorageApi};
use crate::workload::data::{Sequence, owner};
use crate::workload::layout::file_name;
use crate::workload::payload::Buffer;
use crate::workload::random::SplitMix64;
use crate::workspace::Workspace;

/// How long a pause or a wait may overlook a stop.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What every rank knows before the first step.
pub struct Case<'a> {
    /// The validated plan.
    pub plan: &'a Plan,
    /// The storage API that the plan names.
    pub storage: &'a dyn StorageApi,
    /// Where the files go.
    pub workspace: &'a Workspace,
    /// The node's clock.
    pub clock: &'a Clock,
    /// Every node.
    pub nodes: &'a [Environment],
}

/// Runs all steps as one of `ranks`; rank 0 writes to `events`. Returns early if the ranks were stopped.
pub fn run<R: Ranks>(case: &Case<'_>, ranks: &R, events: &mut EventLog) -> Result<(), Stopped> {
    let mut rank = Rank { case, ranks, events, reads_shifted_by: 0 };
    for (index, step) in case.plan.steps.iter().enumerate() {
        let index = index as u32;
        ranks.begin_step(index)?;
        match step {
            Step::Phase(phase) => rank.phase(index, phase)?,
            Step::ColdCache { attempts } => rank.cold_cache(index, attempts)?,
            Step::Pause { duration_ns } => rank.pause(Duration::from_nanos(*duration_ns))?,
        }
    }
    Ok(())
}

/// One rank on its way through the steps.
struct Rank<'a, R> {
    case: &'a Case<'a>,
    ranks: &'a R,
    events: &'a mut EventLog,
    /// Reads work on the part of the rank this much further on, since a cold-cache step asked for it.
    reads_shifted_by: u32,
}

impl<R: Ranks> Rank<'_, R> {
    fn pause(&self, duration: Duration) -> Result<(), Stopped> {
        let end_ns = self.case.clock.now_ns().saturating_add(duration.as_nanos() as u64);
        loop {
            let left = Duration::from_nanos(end_ns.saturating_sub(self.case.clock.now_ns()));
            if self.ranks.must_stop() {
                return Err(Stopped);
            }
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK_AGAIN));
        }
    }

    fn phase(&mut self, step: u32, phase: &Phase) -> Result<(), Stopped> {
        let Case { plan, clock, .. } = *self.case;
        let resident_bytes_before = match phase.operation {
            Operation::Read => self.resident()?.bytes,
            Operation::Write => None,
        };
        let (rank, size) = (self.ranks.rank(), self.ranks.size());
        let keys = [plan.seed, u64::from(step), u64::from(rank)];
        let mut buffer = Buffer::random(plan.data.transfer_bytes as usize, SplitMix64::keyed(&keys));
        let owner = owner(phase.operation, rank, size, self.reads_shifted_by);
        let sequence = Sequence::new(plan, phase, step, owner);
        let path = self.case.workspace.file(&file_name(plan, owner));

        let start = self.ranks.start_together()?;
        let started_unix_ns = clock::unix_ns() - (clock.now_ns() - start.opened_ns);
        let (result, failure) = self.transfer(phase, &path, sequence, &mut buffer, start);
        if let Some(failure) = failure {
            self.ranks.fail(&failure::at(failure, rank, &phase.name));
        }

        let Some(results) = self.gather(&result)? else {
            return self.go_on();
        };
        let first = self.ranks.first_finished();
        let found = Circumstances {
            step,
            started_unix_ns,
            first_finished: first.map(|first| (first.at_ns - start.opened_ns, first.bytes)),
            resident_bytes_before,
        };
        let (mut record, median_ns) = combine(plan, phase, found, results);
        let failure = self.ranks.failure();
        record.complete &= failure.is_none();
        record.doubts = doubts::about(Facts {
            plan,
            phase,
            capabilities: self.case.storage.capabilities(),
            nodes: self.case.nodes,
            record: &record,
            median_ns,
            failure: failure.as_ref(),
        });
        self.write(&Event::Phase(Box::new(record)));
        self.go_on()
    }

    /// The timed part: open, transfers, fsync, close. What was done until a failure or a stop is returned too.
    fn transfer(
        &self,
        phase: &Phase,
        path: &Path,
        sequence: Sequence,
        buffer: &mut Buffer,
        start: Start,
    ) -> (RankResult, Option<Failure>) {
        let Case { plan, storage, clock, .. } = *self.case;
        let mut recorder = Recorder::new(self.ranks.shown(), start.opened_ns, plan.sample_interval_ns);
        let mut times = Times::default();
        let access = match phase.operation {
            Operation::Write => Access::Write,
            Operation::Read => Access::Read,
        };

        let mut failure = None;
        let mut short_transfers = 0;
        let mut fail = |operation: &str, error: io::Error| {
            failure.get_or_insert(failure::on_path(operation, path, &error));
        };
        let before_open = clock.now_ns();
        let opened = storage.open(path, access);
        let after_open = clock.now_ns();
        times.open = after_open - before_open;
        match opened {
            Err(error) => fail("open", error),
            Ok(mut file) => {
                let moved = match phase.operation {
                    Operation::Write => {
                        let write = |file: &mut dyn OpenFile, data: &mut [u8], offset| file.write_at(data, offset);
                        self.operations(&mut *file, write, sequence, buffer, &mut recorder, after_open)
                    }
                    Operation::Read => {
                        let read = |file: &mut dyn OpenFile, data: &mut [u8], offset| file.read_at(data, offset);
                        self.operations(&mut *file, read, sequence, buffer, &mut recorder, after_open)
                    }
                };
                short_transfers = moved.short_transfers;
                let after_transfers = clock.now_ns();
                times.transfer = after_transfers - after_open;
                let mut healthy = true;
                if let Err(error) = moved.outcome.and_then(|()| file.still_there()) {
                    fail(operation_name(phase.operation), error);
                    healthy = false;
                }
                // A stopped phase has no figure, and its fsync could take minutes.
                if healthy && phase.fsync == Fsync::AtEnd && !self.ranks.must_stop() {
                    let before_fsync = clock.now_ns();
                    if let Err(error) = file.sync() {
                        fail("fsync", error);
                    }
                    times.fsync = clock.now_ns() - before_fsync;
                }
                let before_close = clock.now_ns();
                if let Err(error) = file.close() {
                    fail("close", error);
                }
                times.close = clock.now_ns() - before_close;
            }
        }
        let end_ns = clock.now_ns();
        let recorded = recorder.finish(end_ns);
        if failure.is_none() && recorded.bytes == plan.bytes_per_rank() {
            self.ranks.cross_finish_line(end_ns);
        }
        let record = RankRecord {
            rank: self.ranks.rank(),
            // Local ranks all sit on the one node that started them.
            node: 0,
            start_ns: start.left_ns - start.opened_ns,
            end_ns: end_ns - start.opened_ns,
            open_ns: times.open,
            transfer_ns: times.transfer,
            fsync_ns: times.fsync,
            close_ns: times.close,
            bytes: recorded.bytes,
            operations: recorded.operations,
            short_transfers,
            slowest_ns: recorded.slowest_ns,
            sample_bytes: recorded.sample_bytes,
            sample_operations: recorded.sample_operations,
        };
        (RankResult { record, latencies: recorded.latencies.buckets() }, failure)
    }

    /// The hot loop. The end of one operation is the beginning of the next, so that one reading of the clock per
    /// operation is enough; what the engine does in between (some 20 ns) counts in the latency.
    #[inline(always)]
    fn operations(
        &self,
        file: &mut dyn OpenFile,
        mut call: impl FnMut(&mut dyn OpenFile, &mut [u8], u64) -> io::Result<usize>,
        mut sequence: Sequence,
        buffer: &mut [u8],
        recorder: &mut Recorder<'_>,
        begin_ns: u64,
    ) -> Moved {
        let mut moved = Moved { outcome: Ok(()), short_transfers: 0 };
        let bytes = buffer.len() as u64;
        let mut begin_ns = begin_ns;
        for index in 0..sequence.transfers() {
            if self.ranks.must_stop() {
                break;
            }
            let offset = sequence.offset(index);
            let first = call(file, buffer, offset);
            if !matches!(first, Ok(count) if count == buffer.len()) {
                moved.outcome = repeat_the_rest(first, file, &mut call, buffer, offset, &mut moved.short_transfers);
                if moved.outcome.is_err() {
                    break;
                }
            }
            let end_ns = self.case.clock.now_ns();
            if recorder.record(begin_ns, end_ns, bytes) {
                moved.outcome = file.still_there();
                if moved.outcome.is_err() {
                    break;
                }
            }
            begin_ns = end_ns;
        }
        moved
    }

    /// Tries the ways of `attempts` until next to nothing of the file set is resident, and says what it did.
    fn cold_cache(&mut self, step: u32, attempts: &[CacheMethod]) -> Result<(), Stopped> {
        let mut tried = Vec::new();
        let mut resident = self.resident()?;
        for &method in attempts {
            let enough = resident.bytes.is_some_and(|bytes| bytes * 100 <= self.case.plan.file_set_bytes());
            if enough && !tried.is_empty() {
                break;
            }
            let attempt = match method {
                CacheMethod::DropCaches => self.drop_caches()?,
                CacheMethod::Fadvise => self.fadvise()?,
                CacheMethod::ReadOtherRank => self.read_other_rank(),
            };
            tried.push(attempt);
            resident = self.resident()?;
        }
        if self.ranks.rank() == 0 {
            self.write(&Event::ColdCache(ColdCache {
                step,
                attempts: tried,
                measured_with: resident.measured_with,
                resident_bytes: resident.bytes,
                file_set_bytes: self.case.plan.file_set_bytes(),
                reads_shifted_by_ranks: self.reads_shifted_by,
            }));
        }
        Ok(())
    }

    /// One rank does it for the whole node.
    fn drop_caches(&self) -> Result<CacheAttempt, Stopped> {
        let mut outcome = Outcome::default();
        if self.ranks.rank() == 0 {
            outcome = Outcome::of(cache::drop_caches(self.case.workspace.path()));
        }
        let outcome: Outcome = self.broadcast(&outcome)?;
        Ok(CacheAttempt { method: CacheMethod::DropCaches, done: outcome.refused.is_none(), detail: outcome.detail() })
    }

    /// Each rank does it for the file that it looks after.
    fn fadvise(&self) -> Result<CacheAttempt, Stopped> {
        let outcome = match self.own_file() {
            Some(path) => Outcome::of(cache::forget(&path)),
            None => Outcome::default(),
        };
        let refused = self.gather(&outcome)?.and_then(|all| all.into_iter().find_map(|outcome| outcome.refused));
        let outcome: Outcome = self.broadcast(&Outcome { refused })?;
        Ok(CacheAttempt { method: CacheMethod::Fadvise, done: outcome.refused.is_none(), detail: outcome.detail() })
    }

    fn read_other_rank(&mut self) -> CacheAttempt {
        let method = CacheMethod::ReadOtherRank;
        if self.ranks.size() == 1 {
            return CacheAttempt { method, done: false, detail: "there is only one rank".to_owned() };
        }
        self.reads_shifted_by = 1;
        let detail = match self.case.nodes.len() {
            1 => "all ranks share this node's cache, so what is resident stays warm",
            _ => "each rank reads what the next rank wrote",
        };
        CacheAttempt { method, done: true, detail: detail.to_owned() }
    }

    /// How much of the file set is in the page cache: every rank looks at its file, all learn the sum.
    fn resident(&self) -> Result<Resident, Stopped> {
        let own = self.own_file().map(|path| residency::resident_bytes(&path));
        let own = match own {
            None => Resident { bytes: Some(0), measured_with: "none".to_owned() },
            Some(Ok((bytes, with))) => Resident { bytes: Some(bytes), measured_with: with.name().to_owned() },
            Some(Err(_)) => Resident { bytes: None, measured_with: "none".to_owned() },
        };
        let sum = self.gather(&own)?.map(|all| Resident {
            bytes: all.iter().map(|resident| resident.bytes).sum::<Option<u64>>().filter(|_| self.keeps_files()),
            measured_with: all.into_iter().map(|resident| resident.measured_with).next().unwrap_or_default(),
        });
        self.broadcast(&sum.unwrap_or(own))
    }

    /// The file that this rank looks after between phases: each its own, and rank 0 a shared one.
    fn own_file(&self) -> Option<std::path::PathBuf> {
        let rank = self.ranks.rank();
        let mine = self.case.plan.data.layout == Layout::FilePerRank || rank == 0;
        (mine && self.keeps_files()).then(|| self.case.workspace.file(&file_name(self.case.plan, rank)))
    }

    fn keeps_files(&self) -> bool {
        self.case.storage.capabilities().files
    }

    fn go_on(&self) -> Result<(), Stopped> {
        if self.ranks.must_stop() { Err(Stopped) } else { Ok(()) }
    }

    /// Writes an event as rank 0. A run directory that cannot be written ends the case: its numbers would be lost.
    fn write(&mut self, event: &Event) {
        if let Err(error) = self.events.write(event) {
            let message = format!("the events file cannot be written: {error}");
            self.ranks.fail(&failure::plain("write events", message, "free space where the run directory lies"));
        }
    }

    fn gather<T: Serialize + DeserializeOwned>(&self, own: &T) -> Result<Option<Vec<T>>, Stopped> {
        let letter = serde_json::to_vec(own).expect("our own types are JSON");
        let all = self.ranks.gather(&letter)?;
        Ok(all.map(|letters| letters.iter().map(|letter| from_rank(letter)).collect()))
    }

    fn broadcast<T: Serialize + DeserializeOwned>(&self, own: &T) -> Result<T, Stopped> {
        let letter = serde_json::to_vec(own).expect("our own types are JSON");
        Ok(from_rank(&self.ranks.broadcast(&letter)?))
    }
}

fn from_rank<T: DeserializeOwned>(letter: &[u8]) -> T {
    serde_json::from_slice(letter).expect("every rank runs this very program")
}

#[derive(Default)]
struct Times {
    open: u64,
    transfer: u64,
    fsync: u64,
    close: u64,
}

struct Moved {
    outcome: io::Result<()>,
    short_transfers: u64,
}

/// Whether something that the system may refuse was done.
#[derive(Default, Serialize, Deserialize)]
struct Outcome {
    refused: Option<String>,
}

impl Outcome {
    fn of(result: io::Result<()>) -> Self {
        Self { refused: result.err().map(|error| error.to_string()) }
    }

    fn detail(self) -> String {
        self.refused.unwrap_or_default()
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Resident {
    bytes: Option<u64>,
    measured_with: String,
}

fn operation_name(operation: Operation) -> &'static str {
    match operation {
        Operation::Write => "write",
        Operation::Read => "read",
    }
}

/// Goes on after a call that moved less than asked, or was interrupted. Counts short calls.
#[cold]
fn repeat_the_rest(
    first: io::Result<usize>,
    file: &mut dyn OpenFile,
    call: &mut impl FnMut(&mut dyn OpenFile, &mut [u8], u64) -> io::Result<usize>,
    buffer: &mut [u8],
    offset: u64,
    short_transfers: &mut u64,
) -> io::Result<()> {
    let mut moved = 0;
    let mut answer = first;
    loop {
        match answer {
            Ok(0) => {
                let message = format!("the file ends at byte {}, inside the transfer", offset + moved as u64);
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
            }
            Ok(count) => {
                moved += count;
                if moved == buffer.len() {
                    return Ok(());
                }
                *short_transfers += 1;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        answer = call(file, &mut buffer[moved..], offset + moved as u64);
    }
}
