//! Runs a replay on one rank: the operations of its streams one after another, each when it is due.
//!
//! Not here: which operation is next ([`crate::work::replay::streams`]).

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ioassay_host::clock::Clock;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::replay::{ReplayWork, StreamOperation};
use ioassay_protocol::plan::{Job, Operation};

use super::{LANES, operations_of};
use crate::failure::{self, Explained};
use crate::ranks::{Ranks, Start};
use crate::storage::names::{Content, Entry, Names, Presence};
use crate::storage::{Access, Connection, OpenFile, Opening, move_all};
use crate::work::WorkKind;
use crate::work::metadata::run::container;
use crate::work::replay::streams::{Act, Next, Replay, largest_transfer_bytes};
use crate::work::run::Case;
use crate::work::run::job_result::{JobResult, JobTimes};
use crate::work::run::operations::{Moved, Operate, Operations};
use crate::work::run::pacing::sleep_until;
use crate::work::run::{History, Member, PreparedJob, RunWork};
use crate::work::sizes::Sizes;
use crate::workload::buffer::Buffer;
use crate::workload::random::SplitMix64;
use crate::workload::tree::{Entries, EntryPath, Shape};

impl<R: Ranks> RunWork<R> for ReplayWork {
    fn prepare<'a>(
        &'a self,
        member: &Member<'a>,
        _history: &History,
    ) -> Result<Box<dyn PreparedJob<R> + 'a>, Box<Failure>> {
        Ok(Box::new(ReplayJob::prepare(member, self)?))
    }
}

/// A replay, prepared outside the clock.
struct ReplayJob<'a> {
    case: &'a Case<'a>,
    work: &'a ReplayWork,
    replay: Replay,
    items: Vec<Items>,
    /// Dropped after the connection, which may have registered it with the kernel.
    connection: Box<dyn Connection>,
    buffers: Vec<Buffer>,
}

/// The items of a stream.
struct Items {
    shape: Shape,
    path: EntryPath,
    /// What a rename makes of it.
    renamed: EntryPath,
}

impl Items {
    fn of(case: &Case<'_>, tree: &str) -> Result<Self, Box<Failure>> {
        let shape = Shape::of(&case.plan.trees[tree], case.plan.rank_count());
        let container = container(case, tree, 0)?;
        let path = |renamed| EntryPath::new(shape, Some(container.as_bytes()), Entries::Items { part: 0, renamed });
        Ok(Self { shape, path: path(false), renamed: path(true) })
    }

    fn set(&mut self, item: u64) {
        let number = self.shape.number(item);
        let directory = Some(self.shape.directory_of(number));
        self.path.set(directory, number);
        self.renamed.set(directory, number);
    }

    fn entry(&self) -> Entry<'_> {
        Entry { directory: None, name: self.path.as_c_str() }
    }

    fn path(&self) -> &Path {
        OsStr::from_bytes(self.path.as_c_str().to_bytes()).as_ref()
    }
}

impl<'a> ReplayJob<'a> {
    /// Connects, and counts out the operations.
    fn prepare(
        &Member { case, step, job, number: member }: &Member<'a>,
        work: &'a ReplayWork,
    ) -> Result<Self, Box<Failure>> {
        let (plan, workers) = (case.plan, case.plan.workers(job));
        let seed = SplitMix64::keyed(&[plan.seed, step.into()]).draw();
        let count = |tree: &str| Shape::of(&plan.trees[tree], plan.rank_count()).all_items();
        let replay = Replay::new(work, workers.count, member, seed, count);
        let items = work.streams.iter().map(|stream| Items::of(case, &stream.tree)).collect::<Result<_, _>>()?;
        let mut buffers = match largest_transfer_bytes(work) {
            0 => Vec::new(),
            bytes => vec![Buffer::random(bytes as usize, SplitMix64::keyed(&[plan.seed, member.into()]))],
        };
        let connection = case.connect((job, member), None, &mut buffers)?;
        Ok(Self { case, work, replay, items, connection, buffers })
    }
}

impl<R: Ranks> PreparedJob<R> for ReplayJob<'_> {
    fn run(self: Box<Self>, ranks: &R, job: (usize, &Job), start: Start) -> JobResult {
        // What is not moved out of it is dropped in the order of its fields.
        let mut prepared = *self;
        let (work, replay, items) = (prepared.work, prepared.replay, prepared.items);
        let Case { plan, clock, .. } = *prepared.case;
        let mut operations = Operations::new(ranks, clock, job, 0, start, plan.sample_interval_ns);
        let count = replay.operations();
        let mut player = Player {
            ranks,
            clock,
            begin_ns: start.opened_ns,
            work,
            replay,
            next: None,
            open: items.iter().map(|_| None).collect(),
            renamed: vec![0; items.len()],
            items,
            connection: &mut *prepared.connection,
            buffer: prepared.buffers.first_mut().map_or(&mut [][..], |buffer| &mut buffer[..]),
            times: JobTimes::default(),
            short_transfers: 0,
        };
        let failure = operations.run(0..count, &mut player).err();
        let (mut times, short_transfers) = (player.times, player.short_transfers);
        let apart_ns = operations.prepared_ns() + times.open + times.fsync + times.close;
        times.transfer = (clock.now_ns() - start.left_ns).saturating_sub(apart_ns);
        let complete = failure.is_none() && !ranks.must_stop();
        let statistics = operations.finish(failure.is_some());
        JobResult {
            times,
            short_transfers,
            requests: prepared.connection.take_request_counts(),
            complete,
            failure,
            ..JobResult::new(work.lanes(), statistics)
        }
    }
}

/// The lane of an act of a stream.
fn lane(stream: &StreamOperation, act: Act) -> usize {
    let operation = match act {
        Act::Open => Operation::Open,
        Act::Close => Operation::Close,
        Act::Sync => Operation::Sync,
        Act::Transfer { .. } | Act::Name => operations_of(stream)[0],
    };
    LANES.iter().position(|&(known, _)| known == operation).expect("a replay has this operation")
}

/// One rank's replay while it runs.
struct Player<'a, R> {
    ranks: &'a R,
    clock: &'a Clock,
    begin_ns: u64,
    work: &'a ReplayWork,
    replay: Replay,
    next: Option<Next>,
    /// By stream: its items, the one that is open, and how often one was renamed.
    items: Vec<Items>,
    open: Vec<Option<Box<dyn OpenFile>>>,
    renamed: Vec<u64>,
    connection: &'a mut dyn Connection,
    buffer: &'a mut [u8],
    times: JobTimes,
    short_transfers: u64,
}

impl<R: Ranks> Player<'_, R> {
    /// Waits until `next` is due; a stop ends the wait.
    fn wait(&self, next: Next) {
        if let Some(duration_ns) = self.work.duration_ns {
            let due_ns = self.begin_ns.saturating_add(next.due_ns(duration_ns));
            sleep_until(due_ns, u64::MAX, self.clock, self.ranks);
        }
    }

    fn do_it(&mut self, next: Next) -> io::Result<Moved> {
        let operation = &self.work.streams[next.stream].operation;
        let mut bytes = 0;
        match next.act {
            Act::Open => {
                let begun_ns = self.clock.now_ns();
                self.open[next.stream] = Some(self.open(next.stream, writes(operation))?);
                self.times.open += self.clock.now_ns() - begun_ns;
            }
            Act::Transfer { offset, bytes: wanted } => {
                self.transfer(next.stream, writes(operation), offset, wanted)?;
                bytes = wanted;
            }
            Act::Sync => {
                let begun_ns = self.clock.now_ns();
                self.file(next.stream).sync()?;
                self.times.fsync += self.clock.now_ns() - begun_ns;
            }
            Act::Close => {
                let begun_ns = self.clock.now_ns();
                self.open[next.stream].take().expect("opened before").close()?;
                self.times.close += self.clock.now_ns() - begun_ns;
            }
            Act::Name => self.name(next.stream)?,
        }
        Ok(Moved { bytes, lane: lane(operation, next.act) })
    }

    fn file(&mut self, stream: usize) -> &mut dyn OpenFile {
        &mut **self.open[stream].as_mut().expect("opened before")
    }

    fn open(&mut self, stream: usize, write: bool) -> io::Result<Box<dyn OpenFile>> {
        let access = if write { Access::Write } else { Access::Read };
        let opening = Opening { access, presence: Presence::Shared, bytes: 0, size: None, advice: &[] };
        self.connection.open(self.items[stream].path(), opening)
    }

    /// Moves all bytes, with as many calls as it takes.
    fn transfer(&mut self, stream: usize, write: bool, offset: u64, bytes: u64) -> io::Result<()> {
        let file = &mut **self.open[stream].as_mut().expect("opened before");
        let buffer = &mut self.buffer[..bytes as usize];
        let nothing = |moved| if write { failure::nothing_written(offset + moved) } else { file_ends(offset + moved) };
        move_all(buffer.len(), &mut self.short_transfers, nothing, |from| {
            let (rest, position) = (&mut buffer[from..], offset + from as u64);
            if write { file.write_at(rest, position) } else { file.read_at(rest, position) }
        })
    }

    fn name(&mut self, stream: usize) -> io::Result<()> {
        let items = &self.items[stream];
        let operation = &self.work.streams[stream].operation;
        if let StreamOperation::Open { .. } = operation {
            return absent(self.open(stream, false).map(drop));
        }
        let names = self.connection.names().expect("validated: the storage API has names");
        match operation {
            StreamOperation::Stat { absent: true, .. } => absent(names.stat(items.entry())),
            StreamOperation::Stat { .. } => names.stat(items.entry()),
            StreamOperation::Create { .. } => {
                names.create(items.entry(), Presence::New, Content { bytes: &[], sync: false })
            }
            StreamOperation::Rename { .. } => rename(names, items, &mut self.renamed[stream]),
            StreamOperation::Remove { .. } => names.remove(items.entry()),
            StreamOperation::Open { .. }
            | StreamOperation::Fill { .. }
            | StreamOperation::Read(_)
            | StreamOperation::Write(_) => unreachable!("opened, not named"),
        }
    }
}

/// Gives an item its other name, and the next time its own again.
fn rename(names: &mut dyn Names, items: &Items, times: &mut u64) -> io::Result<()> {
    let (original, renamed) = (items.entry(), Entry { directory: None, name: items.renamed.as_c_str() });
    *times += 1;
    if times.is_multiple_of(2) { names.rename(renamed, original) } else { names.rename(original, renamed) }
}

/// A read that moved nothing.
fn file_ends(position: u64) -> io::Error {
    let what = format!("the file ends at or before byte {position}");
    let remedy = "fill it in an earlier phase with as many bytes as `file_size` says".to_owned();
    Explained { what, remedy }.into_io()
}

/// What is not there is not found.
fn absent(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => {
            let what = "it is there, although it was to be absent".to_owned();
            let remedy = "use a tree that no step fills".to_owned();
            Err(Explained { what, remedy }.into_io())
        }
    }
}

fn writes(operation: &StreamOperation) -> bool {
    matches!(operation, StreamOperation::Fill { .. } | StreamOperation::Write(_))
}

impl<R: Ranks> Operate for Player<'_, R> {
    fn prepares(&self) -> bool {
        true
    }

    fn prepare(&mut self, _index: u64) {
        let next = self.replay.next().expect("as many as were counted");
        self.items[next.stream].set(next.item);
        self.wait(next);
        self.next = Some(next);
    }

    fn operate(&mut self, _index: u64) -> Result<Moved, Box<Failure>> {
        let next = self.next.take().expect("prepared");
        self.do_it(next).map_err(|error| {
            let (_, operation) = LANES[lane(&self.work.streams[next.stream].operation, next.act)];
            failure::boxed_on_path(operation, self.items[next.stream].path(), &error)
        })
    }
}
