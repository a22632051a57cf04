//! Runs a find job on one rank: a walk that the ranks of the job share.
//!
//! Each rank reads directories of its own, deepest first, and gives some of those that it has not read yet to the
//! others while they may run out ([`crate::ranks::Ranks::share_work`]). One operation is one entry visited; reading
//! the directory counts in the latency of the first entry of what was read, waiting for work in none.
//!
//! The walk begins below its root, which is not visited itself. It does not follow symbolic links, and does not leave
//! the root's file system. [`listing`] reads directories, [`conditions`] decides what matches.
//! Not here: the storage API. Walks are through mounted file systems, whatever API wrote them.

mod conditions;
mod listing;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::metadata::FindWork;
use ioassay_protocol::plan::{Job, RankRange};

use self::conditions::{Conditions, Verdict};
use self::listing::{Entries, Listing, is_gone};
use super::LANE;
use crate::failure;
use crate::ranks::{Ranks, Start};
use crate::work::WorkKind;
use crate::work::run::Case;
use crate::work::run::job_result::{JobResult, JobTimes};
use crate::work::run::operations::{Flow, Moved, Operate, Operations};
use crate::work::run::{History, Member, PreparedJob, RunWork};

/// Directories that wait to be read take at most about this much memory; beyond it the walk goes down at once.
const MOST_WAITING_BYTES: usize = 4 << 20;

/// What a waiting directory takes besides its path.
const WAITING_EACH_BYTES: usize = 64;

impl<R: Ranks> RunWork<R> for FindWork {
    fn prepare<'a>(
        &'a self,
        member: &Member<'a>,
        history: &History,
    ) -> Result<Box<dyn PreparedJob<R> + 'a>, Box<Failure>> {
        Ok(Box::new(FindJob::prepare(member, self, &history.stamps)?))
    }
}

/// A find job, prepared outside the clock.
struct FindJob<'a> {
    case: &'a Case<'a>,
    work: &'a FindWork,
    conditions: Conditions,
    root: Root,
    /// This rank begins the walk.
    begins: bool,
}

/// Where the walk begins.
#[derive(Debug)]
struct Root {
    path: PathBuf,
    directory: OwnedFd,
    /// The file system that it is on.
    device: u64,
}

impl<'a> FindJob<'a> {
    /// Opens the root. `stamps` tells with which time files were stamped as each step began.
    fn prepare(
        &Member { case, number: member, .. }: &Member<'a>,
        work: &'a FindWork,
        stamps: &[(u32, u64)],
    ) -> Result<Self, Box<Failure>> {
        let (path, workspace) = match (&work.root, &work.tree) {
            (Some(root), _) => (root.clone(), false),
            (None, Some(tree)) => (case.workspace.container_of(&case.plan.case, tree, 0), true),
            (None, None) => (case.workspace.path().to_owned(), true),
        };
        let opened =
            if workspace { case.workspace.open_to_read(&path).map(OwnedFd::from) } else { listing::open_root(&path) };
        let opened = opened.and_then(|directory| Ok((listing::device(&directory)?, directory)));
        let (device, directory) = opened.map_err(|error| failure::boxed_on_path("open directory", &path, &error))?;
        let since = work.newer_than_step.and_then(|step| stamps.iter().find(|(began, _)| *began == step));
        let conditions = Conditions::of(work, since.map(|&(_, unix_ns)| unix_ns));
        Ok(Self { case, work, conditions, root: Root { path, directory, device }, begins: member == 0 })
    }
}

impl<R: Ranks> PreparedJob<R> for FindJob<'_> {
    fn run(self: Box<Self>, ranks: &R, (index, job): (usize, &Job), start: Start) -> JobResult {
        let Case { plan, clock, .. } = *self.case;
        let mut operations = Operations::new(ranks, clock, (index, job), 0, start, plan.sample_interval_ns);
        let mut walk = Walk {
            ranks,
            job: index,
            members: job.range(ranks.size()),
            root: &self.root,
            listing: Listing::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            visits: Visits { conditions: &self.conditions, matched: 0 },
        };
        if self.begins {
            walk.wait_with(Vec::new());
        }
        let failure = walk.until_none_is_left(&mut operations).err();
        let matched = walk.visits.matched;
        let statistics = operations.finish(failure.is_some());
        JobResult {
            times: JobTimes { transfer: clock.now_ns() - start.left_ns, ..JobTimes::default() },
            complete: !ranks.must_stop(),
            matched: Some(matched),
            failure,
            ..JobResult::new(self.work.lanes(), statistics)
        }
    }
}

/// One rank's walk.
struct Walk<'a, R> {
    ranks: &'a R,
    job: usize,
    members: RankRange,
    root: &'a Root,
    listing: Listing,
    /// Directories that wait to be read, by their paths from the root on. New ones come in at the back.
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    visits: Visits<'a>,
}

impl<R: Ranks> Walk<'_, R> {
    /// Reads directories, its own and what others share, until none is left.
    fn until_none_is_left(&mut self, operations: &mut Operations<'_, R>) -> Result<(), Box<Failure>> {
        let mut taken = Vec::new();
        loop {
            if self.read_waiting(0, operations)? == Flow::Enough {
                return Ok(());
            }
            match self.ranks.take_work(self.job, self.members, &mut taken) {
                Ok(true) => self.wait_with(taken.clone()),
                // Nothing is left, or the run is to stop.
                Ok(false) | Err(_) => return Ok(()),
            }
            operations.restart_timer();
        }
    }

    /// Reads directories until no more than `leave` of them wait, the last ones first.
    fn read_waiting(&mut self, leave: usize, operations: &mut Operations<'_, R>) -> Result<Flow, Box<Failure>> {
        while self.waiting.len() > leave {
            let Some(path) = self.waiting.pop_back() else { break };
            self.waiting_bytes -= path.len() + WAITING_EACH_BYTES;
            if self.read(path, operations)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::On)
    }

    /// Visits the entries of one directory; those that are directories themselves wait.
    fn read(&mut self, path: Vec<u8>, operations: &mut Operations<'_, R>) -> Result<Flow, Box<Failure>> {
        let Some(directory) = self.open(&path)? else { return Ok(Flow::On) };
        loop {
            let entries = self.listing.read(&directory).map_err(|error| self.failed("getdents64", &path, &error))?;
            if entries == 0 {
                return Ok(Flow::On);
            }
            let mut deeper = Vec::new();
            let mut visit = Visit {
                visits: &mut self.visits,
                entries: self.listing.entries(),
                directory: &directory,
                path: &path,
                root: self.root,
                deeper: &mut deeper,
            };
            if operations.run(0..entries, &mut visit)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
            let waited = self.waiting.len();
            deeper.into_iter().for_each(|path| self.wait_with(path));
            let waited = waited.saturating_sub(self.share());
            // A directory may have more directories in it than there is memory for. Then those that were just found
            // are read before it is read on, so that memory grows with the depth of the tree and not with its width.
            if self.waiting_bytes > MOST_WAITING_BYTES && self.read_waiting(waited, operations)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
    }

    fn wait_with(&mut self, path: Vec<u8>) {
        self.waiting_bytes += path.len() + WAITING_EACH_BYTES;
        self.waiting.push_back(path);
    }

    /// Gives away the directories that have waited longest, which are those nearest to the root, while others may run
    /// out of them; never more than half of what waits. Returns how many.
    fn share(&mut self) -> usize {
        let (most, mut shared) = (self.waiting.len() / 2, 0);
        while shared < most && self.ranks.wants_work(self.job, self.members) {
            let Some(path) = self.waiting.front() else { break };
            if !self.ranks.share_work(self.job, path) {
                break;
            }
            self.waiting_bytes -= path.len() + WAITING_EACH_BYTES;
            self.waiting.pop_front();
            shared += 1;
        }
        shared
    }

    /// Opens a directory by its path from the root on. `None` if it has gone since it was found, or if another file
    /// system begins there.
    fn open(&self, path: &[u8]) -> Result<Option<OwnedFd>, Box<Failure>> {
        let opened = listing::open(&self.root.directory, path)
            .and_then(|directory| Ok((listing::device(&directory)? == self.root.device).then_some(directory)));
        match opened {
            Err(error) if is_gone(&error) => Ok(None),
            opened => opened.map_err(|error| self.failed("open directory", path, &error)),
        }
    }

    #[cold]
    fn failed(&self, operation: &str, path: &[u8], error: &io::Error) -> Box<Failure> {
        failed(self.root, operation, path, error)
    }
}

#[cold]
fn failed(root: &Root, operation: &str, path: &[u8], error: &io::Error) -> Box<Failure> {
    let path = root.path.join(std::ffi::OsStr::from_bytes(path));
    failure::boxed_on_path(operation, &path, error)
}

/// What a rank has found so far.
struct Visits<'a> {
    conditions: &'a Conditions,
    matched: u64,
}

/// The entries of one read of one directory.
struct Visit<'a, 'l> {
    visits: &'a mut Visits<'l>,
    entries: Entries<'a>,
    directory: &'a OwnedFd,
    path: &'a [u8],
    root: &'a Root,
    /// Directories among them.
    deeper: &'a mut Vec<Vec<u8>>,
}

impl Operate for Visit<'_, '_> {
    #[inline(always)]
    fn operate(&mut self, _index: u64) -> Result<Moved, Box<Failure>> {
        let entry = self.entries.next().expect("as many as were counted");
        match self.visits.conditions.meets(self.directory.as_fd(), entry) {
            Ok(Verdict { matches, directory }) => {
                self.visits.matched += u64::from(matches);
                if directory {
                    self.deeper.push(below(self.path, entry.name.to_bytes()));
                }
            }
            Err(error) => return Err(failed(self.root, "statx", &below(self.path, entry.name.to_bytes()), &error)),
        }
        Ok(Moved { bytes: 0, lane: LANE })
    }
}

/// The path of an entry in the directory at `path`.
fn below(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() }
}
