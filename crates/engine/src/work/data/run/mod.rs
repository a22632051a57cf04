//! Runs a data job on one rank: its files one after the other, each opened, moved, synced and closed.
//!
//! [`one_by_one`] waits for each transfer before the next, [`in_flight`] keeps several on their way.

mod in_flight;
mod one_by_one;
mod read_shares;
mod transfer;

use std::path::{Path, PathBuf};

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::data::{DataWork, FileSet, Fsync, Order, SizeAtOpen, Transfer, Verify};
use ioassay_protocol::plan::storage::Storage;
use ioassay_protocol::plan::{Job, Step};

use self::in_flight::InFlightTransfers;
use self::one_by_one::OneByOne;
use self::read_shares::read_shares;
use self::transfer::TransferContext;
use super::{READ, WRITE};
use crate::failure;
use crate::ranks::{Ranks, Start, Stopped};
use crate::storage::names::Presence;
use crate::storage::{Access, Connection, OpenFile, Opening, Part};
use crate::work::run::Case;
use crate::work::run::job_result::{JobResult, JobTimes};
use crate::work::run::operations::{Flow, Operations};
use crate::work::run::profile::ReadShare;
use crate::work::run::second_reading::SecondReading;
use crate::work::run::written::{OrderOfWrite, Prefix};
use crate::work::run::{EndedJob, History, Member, PreparedJob, RunWork};
use crate::work::sizes::Sizes;
use crate::work::{WorkKind, kind_of};
use crate::workload::buffer::Buffer;
use crate::workload::ior_shuffle::IorShuffle;
use crate::workload::layout::{Geometry, part_of};
use crate::workload::payload::Content;
use crate::workload::random::SplitMix64;
use crate::workload::walk::Walk;

impl<R: Ranks> RunWork<R> for DataWork {
    fn prepare<'a>(
        &'a self,
        member: &Member<'a>,
        history: &History,
    ) -> Result<Box<dyn PreparedJob<R> + 'a>, Box<Failure>> {
        Ok(Box::new(DataJob::prepare(member, self, history)?))
    }

    /// How much of each part is written now. Without a limit that is all of it, and no rank needs to be asked.
    fn note(&self, ended: &mut EndedJob<'_>, history: &mut History) -> Result<(), Stopped> {
        if self.transfer != Transfer::Write {
            return Ok(());
        }
        let ranks = ended.plan.rank_count();
        let geometry = Geometry::of(&ended.plan.files[&self.files], ranks);
        // More than any part has: all of it.
        let transfers = if ended.job.limit.is_none() {
            vec![u64::MAX; ended.job.range(ranks).count as usize]
        } else {
            (ended.written)()?
        };
        let order = OrderOfWrite { order: self.order, step: ended.step };
        history.written.note(&self.files, &geometry, order, &transfers);
        Ok(())
    }
}

/// A data job, prepared outside the clock.
struct DataJob<'a> {
    case: &'a Case<'a>,
    storage: &'a Storage,
    work: &'a DataWork,
    geometry: Geometry,
    content: Content,
    second_reading: SecondReading<'a>,
    part: u32,
    /// What is to be read: all of the part, or what a stonewall let be written.
    prefix: Prefix,
    step: u32,
    /// Files that it opens are not there yet: it is the first to write them, and the only one.
    creates: bool,
    /// The rank's transfers, where IOR's shuffle distributes them.
    shuffle: Option<IorShuffle>,
    /// One buffer per transfer in flight, and one more to compare with where that is asked for. Dropped after the
    /// connection, which may have registered them with the kernel.
    connection: Box<dyn Connection>,
    buffers: Vec<Buffer>,
    scratch: Option<Buffer>,
}

impl<R: Ranks> PreparedJob<R> for DataJob<'_> {
    fn run(mut self: Box<Self>, ranks: &R, job: (usize, &Job), start: Start) -> JobResult {
        let Case { plan, clock, .. } = *self.case;
        let (bytes_each, may_end_early) = (self.geometry.transfer_bytes, job.1.limit.may_end_early());
        let mut operations = Operations::new(ranks, clock, job, bytes_each, start, plan.sample_interval_ns);
        let mut counts = Counts::default();
        let failure = self.passes(ranks, &mut operations, &mut counts).err();
        counts.times.fill = operations.prepared_ns();
        let reached = operations.done();
        let statistics = operations.finish(failure.is_some());
        let read = may_end_early.then(|| self.read_so_far(reached, statistics.recorded[READ].operations));
        JobResult {
            times: counts.times,
            short_transfers: counts.short_transfers,
            requests: self.connection.take_request_counts(),
            complete: counts.complete,
            synced: counts.complete && failure.is_none() && self.work.fsync != Fsync::Never,
            written: (self.work.transfer == Transfer::Write).then_some(reached),
            read,
            failure,
            ..JobResult::new(self.work.lanes(), statistics)
        }
    }
}

impl<'a> DataJob<'a> {
    /// Connects and makes the buffers.
    fn prepare(
        &Member { case, step, job, number: member }: &Member<'a>,
        work: &'a DataWork,
        history: &History,
    ) -> Result<Self, Box<Failure>> {
        let storage = case.plan.storage_of(job);
        let (number, set) = file_set(case, &work.files);
        let whole = Geometry::of(set, case.plan.ranks.total().unwrap_or(0));
        let geometry = work.piece_bytes.map_or(whole, |bytes| whole.in_pieces_of(bytes));
        let part = part_of(work, member, geometry.parts, history.reads_shifted_by);
        let content = Content::new(set.payload, case.plan.seed, number);
        let transfer_bytes = geometry.transfer_bytes as usize;
        let mut buffers: Vec<Buffer> = (0..storage.depth)
            .map(|_| {
                let mut buffer = Buffer::new(transfer_bytes);
                // Read buffers too hold something, so that their pages are there before the clock starts.
                content.fill(&mut buffer, transfer::first_spot(&geometry, part));
                buffer
            })
            .collect();
        let scratch = work.verify.map(|_| {
            let mut scratch = Buffer::new(transfer_bytes);
            content.fill(&mut scratch, transfer::first_spot(&geometry, part));
            scratch
        });
        let connection = case.connect((job, member), Some(Part { geometry, part }), &mut buffers)?;
        let prefix = match work.transfer {
            Transfer::Read => history
                .written
                .prefix(&work.files, part, &whole)
                .in_pieces(whole.transfer_bytes / geometry.transfer_bytes),
            Transfer::Write | Transfer::Mixed(_) => Prefix::all(&geometry),
        };
        let shuffle = match work.order {
            Order::IorShuffled(seed) => Some(IorShuffle::new(seed, &geometry, part)),
            _ => None,
        };
        let creates = creates(case, step, (job, work), &geometry);
        Ok(Self {
            case,
            storage,
            work,
            geometry,
            content,
            second_reading: SecondReading::of_files(case, storage, &work.files),
            part,
            prefix,
            step,
            creates,
            shuffle,
            connection,
            buffers,
            scratch,
        })
    }

    /// What of the part has been read by `done` transfers of which so many were `reads`.
    fn read_so_far(&self, done: u64, reads: u64) -> Vec<ReadShare> {
        let mut shares = read_shares(&self.geometry, &self.prefix, self.work.order, done);
        shares.iter_mut().for_each(|part| part.share *= reads as f64 / done.max(1) as f64);
        shares
    }

    /// All files, and again while there is time to be filled.
    fn passes<R: Ranks>(
        &mut self,
        ranks: &R,
        operations: &mut Operations<'_, R>,
        counts: &mut Counts,
    ) -> Result<(), Box<Failure>> {
        loop {
            let mut flow = Flow::On;
            for nth in 0..self.files() {
                flow = self.one_file(ranks, nth, operations, counts)?;
                if flow == Flow::Enough {
                    break;
                }
            }
            if flow == Flow::Enough || !operations.again() {
                break;
            }
            self.creates = false;
        }
        self.creates = false;
        if self.synced_at_the_end() && self.work.transfer.writes() && !ranks.must_stop() {
            self.sync_all(counts)?;
        }
        counts.complete = !ranks.must_stop();
        Ok(())
    }

    fn one_file<R: Ranks>(
        &mut self,
        ranks: &R,
        nth: u64,
        operations: &mut Operations<'_, R>,
        counts: &mut Counts,
    ) -> Result<Flow, Box<Failure>> {
        let clock = self.case.clock;
        let (path, base_bytes) = self.path(nth);
        let before_open_ns = clock.now_ns();
        let mut file = self.open(&path)?;
        let after_open_ns = clock.now_ns();
        counts.times.open += after_open_ns - before_open_ns;
        let (transfers, context) = (self.transfers(nth), self.context(nth, base_bytes, &path));
        self.wait_between(ranks);
        let (begin_ns, apart_ns) = (clock.now_ns(), operations.prepared_ns() + counts.times.fsync);
        operations.restart_timer();
        let flow = self.move_bytes(&mut *file, context, transfers, operations, counts);
        let apart_ns = operations.prepared_ns() + counts.times.fsync - apart_ns;
        counts.times.transfer += (clock.now_ns() - begin_ns).saturating_sub(apart_ns);
        let flow = flow?;
        if self.has_one_file() {
            operations.all_done();
        }
        let name = transfer::name(if self.work.transfer.writes() { WRITE } else { READ });
        file.check_linked().map_err(|error| failure::boxed_on_path(name, &path, &error))?;
        let later = self.work.fsync == Fsync::Never || self.synced_at_the_end();
        // A stopped phase has no figure, and its fsync could take minutes.
        if self.work.transfer.writes() && !later && !ranks.must_stop() {
            self.sync(&mut *file, &path, counts)?;
        }
        self.wait_between(ranks);
        self.close(file, &path, counts)?;
        Ok(flow)
    }

    /// Waits for the other ranks where the plan asks for it. If they are to stop, there is nothing to wait for.
    fn wait_between<R: Ranks>(&self, ranks: &R) {
        if self.work.barriers {
            let _ = ranks.wait_for_all();
        }
    }

    /// Files in which this rank has something to do.
    fn files(&self) -> u64 {
        if self.shuffle.is_some() { 1 } else { self.prefix.files() }
    }

    /// Transfers of this rank in its `nth` file.
    fn transfers(&self, nth: u64) -> u64 {
        match &self.shuffle {
            Some(shuffle) => self.prefix.dealt().map_or(shuffle.count(), |written| written.min(shuffle.count())),
            None => self.prefix.transfers(nth),
        }
    }

    /// The transfers of one open file; of an only file again and again, while there is time to be filled.
    fn move_bytes<R: Ranks>(
        &mut self,
        file: &mut dyn OpenFile,
        context: TransferContext<'a>,
        transfers: u64,
        operations: &mut Operations<'_, R>,
        counts: &mut Counts,
    ) -> Result<Flow, Box<Failure>> {
        let again = self.has_one_file();
        let scratch: &mut [u8] = self.scratch.as_deref_mut().unwrap_or(&mut []);
        if self.storage.depth == 1 {
            let mut work = OneByOne::new(file, context, &mut self.buffers[0], scratch, self.case.clock);
            let mut flow = operations.run(0..transfers, &mut work);
            while again && flow == Ok(Flow::On) && operations.again() {
                flow = operations.run(0..transfers, &mut work);
            }
            counts.short_transfers += work.short_transfers();
            counts.times.fsync += work.fsync_ns();
            flow
        } else {
            let mut work = InFlightTransfers::new(file, context, &mut self.buffers, scratch, self.storage);
            let mut flow = work.run(transfers, operations, self.case.clock);
            while again && flow == Ok(Flow::On) && operations.again() {
                flow = work.run(transfers, operations, self.case.clock);
            }
            counts.short_transfers += work.short_transfers();
            flow
        }
    }

    /// True where files are closed and must be opened again to be synced. An only file is still open at the end.
    fn synced_at_the_end(&self) -> bool {
        self.work.fsync == Fsync::AtEnd && !self.has_one_file()
    }

    fn has_one_file(&self) -> bool {
        self.geometry.files_per_rank == 1
    }

    /// Syncs every file of this rank that has been closed already.
    fn sync_all(&mut self, counts: &mut Counts) -> Result<(), Box<Failure>> {
        let clock = self.case.clock;
        for nth in 0..self.geometry.files_per_rank {
            let (path, _) = self.path(nth);
            let before_open_ns = clock.now_ns();
            let mut file = self.open_for(Access::ReadWrite, None, &path)?;
            counts.times.open += clock.now_ns() - before_open_ns;
            self.sync(&mut *file, &path, counts)?;
            self.close(file, &path, counts)?;
        }
        Ok(())
    }

    fn sync(&self, file: &mut dyn OpenFile, path: &Path, counts: &mut Counts) -> Result<(), Box<Failure>> {
        let before_ns = self.case.clock.now_ns();
        file.sync().map_err(|error| failure::boxed_on_path("fsync", path, &error))?;
        counts.times.fsync += self.case.clock.now_ns() - before_ns;
        Ok(())
    }

    fn close(&self, file: Box<dyn OpenFile>, path: &Path, counts: &mut Counts) -> Result<(), Box<Failure>> {
        let before_ns = self.case.clock.now_ns();
        file.close().map_err(|error| failure::boxed_on_path("close", path, &error))?;
        counts.times.close += self.case.clock.now_ns() - before_ns;
        Ok(())
    }

    fn open(&mut self, path: &Path) -> Result<Box<dyn OpenFile>, Box<Failure>> {
        let access = match (self.work.transfer, self.work.verify) {
            (Transfer::Read, _) => Access::Read,
            (Transfer::Write, Some(Verify::Writes)) | (Transfer::Mixed(_), _) => Access::ReadWrite,
            (Transfer::Write, _) => Access::Write,
        };
        self.open_for(access, self.work.size, path)
    }

    fn open_for(
        &mut self,
        access: Access,
        size: Option<SizeAtOpen>,
        path: &Path,
    ) -> Result<Box<dyn OpenFile>, Box<Failure>> {
        let presence = if self.creates { Presence::New } else { Presence::Shared };
        let opening = Opening { access, presence, bytes: self.geometry.file_bytes, size, advice: &self.work.advice };
        self.connection.open(path, opening).map_err(|error| failure::boxed_on_path("open", path, &error))
    }

    /// Where this rank's `nth` file is: its path, and on a device where it begins.
    fn path(&self, nth: u64) -> (PathBuf, u64) {
        let file = self.geometry.file(self.part, nth);
        self.case.workspace.place_of(&self.case.plan.case, &self.work.files, &self.geometry, file)
    }

    fn context(&self, nth: u64, base_bytes: u64, path: &Path) -> TransferContext<'a> {
        let file = self.geometry.file(self.part, nth);
        let keys = |step: u32| SplitMix64::keyed(&[self.case.plan.seed, u64::from(step), u64::from(self.part), file]);
        // Keyed by the step, so that a read does not follow the order in which the write filled the cache.
        let transfers = self.transfers(nth);
        let (walk, in_order_of, place) = match (&self.shuffle, self.work.order) {
            // With the same seed the same transfers come in the same order, so a beginning is a beginning.
            (Some(shuffle), _) => {
                (Walk::ior_shuffled(shuffle.clone(), transfers), None, self.geometry.place_of_dealt(self.part))
            }
            (None, Order::IorDrawn(blocks)) => {
                let per_block = self.geometry.block_bytes() / self.geometry.transfer_bytes;
                let walk = Walk::drawn_blocks(blocks, per_block, transfers, keys(self.step));
                (walk, None, self.geometry.place_in_file())
            }
            (None, _) => {
                let written = self.prefix.order_of_write(nth);
                let written =
                    written.map(|write| Walk::new(write.order, self.geometry.transfers_per_file, keys(write.step)));
                (Walk::new(self.work.order, transfers, keys(self.step)), written, self.geometry.place(self.part))
            }
        };
        TransferContext {
            transfer: self.work.transfer,
            walk,
            in_order_of,
            place,
            base_bytes,
            content: self.content.clone(),
            file,
            part: self.part,
            verify: self.work.verify,
            second_reading: self.second_reading,
            lock: self.work.lock,
            sync_every: match self.work.fsync {
                Fsync::EveryWrites(writes) => Some(writes),
                Fsync::Never | Fsync::AtClose | Fsync::AtEnd => None,
            },
            mix: keys(self.step),
            path: path.to_owned(),
        }
    }
}

/// What adds up over the files of a job.
#[derive(Default)]
struct Counts {
    times: JobTimes,
    short_transfers: u64,
    complete: bool,
}

/// The number and the description of a file set.
fn file_set<'a>(case: &'a Case<'_>, name: &str) -> (u64, &'a FileSet) {
    let mut numbered = case.plan.files.iter().zip(0..);
    let entry = numbered.find(|((candidate, _), _)| *candidate == name);
    let ((_, set), number) = entry.expect("validated: the file set exists");
    (number, set)
}

/// True if `job`, in step `step`, is the first to write its files, and each of them by one rank.
fn creates(case: &Case<'_>, step: u32, (job, work): (&Job, &DataWork), geometry: &Geometry) -> bool {
    let writes = |other: &Job| kind_of(&other.work).writes_files(&work.files).is_some();
    let so_far = case.plan.steps.iter().take(step as usize + 1);
    let jobs = so_far.filter_map(|step| if let Step::Phase(phase) = step { Some(&phase.jobs) } else { None });
    let alone = geometry.sharers == 1 && case.plan.workers(job).count <= geometry.parts;
    case.workspace.is_new() && work.transfer.writes() && alone && jobs.flatten().filter(|job| writes(job)).count() == 1
}
