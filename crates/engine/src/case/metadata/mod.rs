//! A metadata job as one rank lives it: the entries of a tree one after the other.
//!
//! [`entries`] is what is done to one of them, [`directories`] the open ones in which they are named on request, [`held`]
//! what files hold.
//! Not here: what entries are called and where they lie ([`crate::workload::tree`]).

mod directories;
mod entries;
mod held;

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;

use ioassay_contract::events::Failure;
use ioassay_contract::plan::metadata::{MetadataOperation, MetadataWork, Paths};
use ioassay_contract::plan::{Job, Operation};

use self::directories::OpenDirectories;
use self::entries::{Order, Works};
use self::held::Held;
use super::Case;
use super::grown::{self, Grown, Part};
use super::operations::Operations;
use super::phase::{Did, Times};
use crate::failure;
use crate::plan::{Sizes, moved_each};
use crate::ranks::{Ranks, Start};
use crate::storage::Connection;
use crate::storage::names::{Entry, Names};
use crate::workload::buffer::Buffer;
use crate::workload::random::SplitMix64;
use crate::workload::tree::{Entries, EntryPath, Shape};

/// A metadata job, prepared outside the clock.
pub(super) struct MetadataJob<'a> {
    case: &'a Case<'a>,
    work: &'a MetadataWork,
    /// The job as those do it who have something to do in it.
    job: Job,
    target: Tree,
    entries: Entries,
    order: Order,
    open: Option<OpenDirectories>,
    /// Dropped after the connection, which may have told the kernel about it.
    connection: Box<dyn Connection>,
    buffers: Vec<Buffer>,
    held: Held,
}

/// A tree on the target.
#[derive(Debug, Clone)]
struct Tree {
    shape: Shape,
    /// The directory in the workspace that holds it.
    container: CString,
}

impl Tree {
    /// Full paths of `entries`.
    fn paths(&self, entries: Entries) -> EntryPath {
        EntryPath::new(self.shape, Some(self.container.as_bytes()), entries)
    }
}

impl<'a> MetadataJob<'a> {
    /// Connects, and builds what of the paths does not change, for member number `member` of the job.
    pub fn prepare(
        case: &'a Case<'a>,
        step: u32,
        (job, work): (&'a Job, &'a MetadataWork),
        member: u32,
        grown: &Grown,
    ) -> Result<Self, Box<Failure>> {
        let shape = Shape::of(&case.plan.trees[&work.tree], case.plan.rank_count());
        let part = grown::part(&shape, work, member);
        let container = case.workspace.container_of(&case.plan.case, &work.tree, shape.tree_of(part));
        let no_path =
            |_| failure::about_path("build paths", &container, "it holds a zero byte".to_owned(), "rename it");
        let target = Tree { shape, container: CString::new(container.as_os_str().as_bytes()).map_err(no_path)? };
        let there = grown.part(&work.tree, part);
        let mut buffers = match moved_each(work) {
            0 => Vec::new(),
            bytes => vec![Buffer::random(bytes as usize, SplitMix64::keyed(&[case.plan.seed, u64::from(part)]))],
        };
        let held = Held::new(case.plan, work, part, buffers.first_mut());
        let mut connection = case.connect(job, &buffers)?;
        let names = names_of(&mut *connection);
        if work.operation == MetadataOperation::CreateTree {
            create_container(names, &target)?;
        }
        let entries = match work.operation {
            MetadataOperation::CreateTree | MetadataOperation::RemoveTree => {
                Entries::Directories { tree: shape.tree_of(part) }
            }
            _ => Entries::Items { part, renamed: there.renamed },
        };
        let order = order(case.plan.seed, &shape, step, work, (part, member), there);
        let open = match work.paths {
            Paths::Full => None,
            Paths::At => Some(OpenDirectories::of(&target, shape.tree_of(part), entries, names)?),
        };
        let job = Job { ranks: Some(case.plan.workers(job)), ..job.clone() };
        Ok(Self { case, work, job, target, entries, order, open, connection, buffers, held })
    }

    /// Does the operations. What was done until a failure or a stop is returned too.
    pub fn run<R: Ranks>(mut self, ranks: &R, index: usize, start: Start) -> Did {
        let Case { plan, clock, .. } = *self.case;
        let bytes = moved_each(self.work);
        let mut operations = Operations::new(ranks, clock, (index, &self.job), bytes, start, plan.sample_interval_ns);
        let count = self.order.count;
        let mut works = Works::new(
            names_of(&mut *self.connection),
            self.work.operation,
            plan.trees[&self.work.tree].sharing,
            &self.target,
            self.entries,
            self.order,
            self.open,
            self.buffers.first_mut().map_or(&mut [], |buffer| &mut buffer[..]),
            self.held,
        );
        let failure = operations.run(0..count, &mut works).err();
        let reached = operations.done();
        let ran = operations.finish(failure.is_some());
        let worked_ns = clock.now_ns();
        if self.work.sync_at_end && failure.is_none() && !ranks.must_stop() {
            names_of(&mut *self.connection).sync_all();
        }
        let times =
            Times { transfer: worked_ns - start.left_ns, fsync: clock.now_ns() - worked_ns, ..Times::default() };
        Did {
            lanes: vec![(entries::LANE, operation(self.work.operation))],
            ran,
            times,
            short_transfers: 0,
            complete: !ranks.must_stop(),
            matched: None,
            written: Some(reached),
            failure,
        }
    }
}

fn names_of(connection: &mut dyn Connection) -> &mut dyn Names {
    connection.names().expect("validated: the storage API has names")
}

/// The directory that holds a tree, made by whoever comes first of those who create one in it.
fn create_container(names: &mut dyn Names, target: &Tree) -> Result<(), Box<Failure>> {
    match names.create_directory(Entry { directory: None, name: &target.container }) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(failed("create directory", &target.container, &error))
        }
        _ => Ok(()),
    }
}

/// In which order a rank takes the entries that are there, or are to be created.
fn order(seed: u64, shape: &Shape, step: u32, work: &MetadataWork, (part, member): (u32, u32), there: Part) -> Order {
    let keys = |step: u32, of: u32| SplitMix64::keyed(&[seed, u64::from(step), u64::from(of)]);
    match work.operation {
        MetadataOperation::CreateTree | MetadataOperation::RemoveTree => Order::all(shape.directories),
        // Keyed by the part, so that what a limit let be created can be found again by whoever works on it.
        MetadataOperation::Create { .. } => Order::new(work.order, shape.items_per_part(), keys(step, part)),
        _ => {
            let order = Order::new(work.order, there.items, keys(step, member));
            let all = there.items == shape.items_per_part();
            if all { order } else { order.of(Order::new(there.order, shape.items_per_part(), keys(there.step, part))) }
        }
    }
}

/// What an operation is called in records.
fn operation(kind: MetadataOperation) -> Operation {
    match kind {
        MetadataOperation::CreateTree => Operation::CreateTree,
        MetadataOperation::Create { .. } => Operation::Create,
        MetadataOperation::Stat => Operation::Stat,
        MetadataOperation::Read { .. } => Operation::Read,
        MetadataOperation::Write { .. } => Operation::Write,
        MetadataOperation::Rename => Operation::Rename,
        MetadataOperation::Remove => Operation::Remove,
        MetadataOperation::RemoveTree => Operation::RemoveTree,
    }
}

/// A failure of `operation` on `path`.
#[cold]
fn failed(operation: &str, path: &std::ffi::CStr, error: &io::Error) -> Box<Failure> {
    let path = std::ffi::OsStr::from_bytes(path.to_bytes());
    failure::boxed_on_path(operation, path.as_ref(), error)
}
