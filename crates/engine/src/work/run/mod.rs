//! Doing a job, as one rank: prepare outside the clock, run, and note what later jobs build on.
//!
//! [`operations`] is the loop that all kinds share, [`pacing`] its rates, [`job_result`] what it returns. What jobs have left
//! is in [`written`] and [`tree_state`], what ranks know of caches in [`profile`], and [`second_reading`] explains wrong bytes.
//! Not here: starting ranks together, and reporting what they did ([`crate::case`]).

pub(crate) mod job_result;
pub(crate) mod operations;
pub(crate) mod pacing;
pub(crate) mod profile;
pub(crate) mod second_reading;
pub(crate) mod tree_state;
pub(crate) mod written;

use std::sync::Arc;

use ioassay_host::clock::Clock;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::storage::{Storage, Target};
use ioassay_protocol::plan::{Job, Plan, Work};

use self::job_result::JobResult;
use self::tree_state::TreeState;
use self::written::Written;
use crate::beneath::Root;
use crate::failure;
use crate::ranks::seating::Seating;
use crate::ranks::{Ranks, Start, Stopped};
use crate::storage::{Capabilities, Connection, Members, Part, Setup, StorageApi, mpi};
use crate::work::each_kind;
use crate::work::sizes::Sizes;
use crate::workload::buffer::Buffer;
use crate::workload::tree::Shape;
use crate::workspace::Workspace;

/// How one rank does a kind of work.
pub(crate) trait RunWork<R: Ranks> {
    /// Everything that is not to be timed: connections, buffers, lists of what is to be done.
    fn prepare<'a>(
        &'a self,
        member: &Member<'a>,
        history: &History,
    ) -> Result<Box<dyn PreparedJob<R> + 'a>, Box<Failure>>;

    /// Notes on every rank what the job has left, when all ranks have ended it.
    fn note(&self, _ended: &mut EndedJob<'_>, _history: &mut History) -> Result<(), Stopped> {
        Ok(())
    }
}

/// How ranks do `work`.
pub(crate) fn runner_of<R: Ranks>(work: &Work) -> &dyn RunWork<R> {
    each_kind!(work)
}

/// A job, ready to start.
pub(crate) trait PreparedJob<R: Ranks> {
    /// Does the operations of `job`, which has its number in the phase with it, after `start`. What was done until a failure
    /// or a stop is returned too.
    ///
    /// The loop in it is compiled for each kind of ranks: nothing in it is called through a trait object but the storage.
    fn run(self: Box<Self>, ranks: &R, job: (usize, &Job), start: Start) -> JobResult;
}

/// One rank's place in a job.
pub(crate) struct Member<'a> {
    /// The case.
    pub case: &'a Case<'a>,
    /// Index of the job's step.
    pub step: u32,
    /// The job.
    pub job: &'a Job,
    /// Which of the job's ranks it is, from 0.
    pub number: u32,
}

/// A job that all ranks have ended.
pub(crate) struct EndedJob<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Index of the job's step.
    pub step: u32,
    /// The job.
    pub job: &'a Job,
    /// What `JobResult::written` of each rank of the job was. Asks all ranks, so all must call it or none.
    pub written: &'a mut dyn FnMut() -> Result<Vec<u64>, Stopped>,
}

/// What jobs build on that earlier steps have left; the same on every rank, but for its node's clock.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Reads work on the part of the rank this much further on, since a cold-cache step asked for it.
    pub reads_shifted_by: u32,
    /// What can be read back.
    pub written: Written,
    /// What there is of each tree.
    pub trees: TreeState,
    /// By step, with which time files were stamped just before a phase began, in nanoseconds since 1970.
    pub stamps: Vec<(u32, u64)>,
}

impl History {
    /// Before the first step: the trees that were there before the case.
    pub fn of(case: &Case<'_>) -> Self {
        let mut trees = TreeState::default();
        for (name, tree) in case.plan.trees.iter().filter(|(name, _)| case.workspace.tree_exists(name)) {
            let items = match &case.plan.target {
                Target::InPlace(place) => place.trees.get(name).and_then(|tree| tree.items),
                Target::Directory(_) | Target::Device(_) | Target::Url(_) => None,
            };
            trees.exists_before(name, &Shape::of(tree, case.plan.rank_count()), items);
        }
        Self { trees, ..Self::default() }
    }
}

/// What every rank knows before the first step.
pub struct Case<'a> {
    /// The validated plan.
    pub plan: &'a Plan,
    /// The storage API of each name in the plan.
    pub apis: &'a (dyn (Fn(&str) -> &'static dyn StorageApi) + Sync),
    /// Where the files go.
    pub workspace: &'a Workspace,
    /// The node's clock.
    pub clock: &'a Clock,
    /// Which rank is on which node.
    pub seating: &'a Seating,
    /// What offsets and lengths of direct I/O must be multiples of, where that was asked and the kernel tells.
    pub direct_alignment_bytes: Option<u64>,
}

impl Case<'_> {
    /// What the storage API that `storage` names can do on the target.
    pub(crate) fn capabilities(&self, storage: &Storage) -> Capabilities {
        (self.apis)(&storage.api).capabilities_for(&self.plan.target)
    }

    /// A connection for `job` of its member number `member`, which works on `part`, with these buffers.
    pub(crate) fn connect(
        &self,
        (job, member): (&Job, u32),
        part: Option<Part>,
        buffers: &mut [Buffer],
    ) -> Result<Box<dyn Connection>, Box<Failure>> {
        let root = self.workspace.root();
        let root = root.map_err(|error| failure::boxed_on_path("open", self.workspace.path(), &error))?;
        self.connect_beneath(root.as_ref(), (job, member), part, buffers)
    }

    /// The same for files beneath `root`.
    pub(crate) fn connect_beneath(
        &self,
        root: Option<&Arc<Root>>,
        (job, member): (&Job, u32),
        part: Option<Part>,
        buffers: &mut [Buffer],
    ) -> Result<Box<dyn Connection>, Box<Failure>> {
        let storage = self.plan.storage_of(job);
        let api = (self.apis)(&storage.api);
        let workers = self.plan.workers(job);
        let members = Members { rank: workers.first + member, ranks: self.plan.rank_count(), job: workers };
        let mpi = mpi::communicator();
        let target = &self.plan.target;
        let setup = Setup { storage, target, root, buffers, members, part, mpi };
        api.connect(setup).map_err(|error| failure::about_api(api.name(), &error))
    }
}
