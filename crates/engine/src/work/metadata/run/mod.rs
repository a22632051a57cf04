//! Runs a metadata job on one rank: the entries of a tree one after the other.
//!
//! [`entries`] is what is done to one of them, [`replace`] the same of files that are replaced by others, [`directories`]
//! the open ones in which they are named on request, [`file_content`] what files hold, [`tree`] where all of that lies.
//! Not here: what entries are called and where they lie ([`crate::workload::tree`]).

mod directories;
mod entries;
mod file_content;
mod replace;
mod tree;

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::thread;
use std::time::Duration;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::Job;
use ioassay_protocol::plan::metadata::{MetadataOperation, MetadataWork, Paths};

use self::directories::OpenDirectories;
use self::entries::{Order, Works};
use self::file_content::FileContent;
use self::replace::{Replacements, Set};
use self::tree::{Tree, failed};
use crate::cache;
use crate::failure;
use crate::ranks::{Ranks, Start, Stopped};
use crate::storage::Connection;
use crate::storage::names::{Entry, Names};
use crate::work::WorkKind;
use crate::work::metadata::{moved_at_once, operations_each};
use crate::work::run::Case;
use crate::work::run::job_result::{JobResult, JobTimes};
use crate::work::run::operations::Operations;
use crate::work::run::second_reading::SecondReading;
use crate::work::run::tree_state::{self, Part, TreeState};
use crate::work::run::{EndedJob, History, Member, PreparedJob, RunWork};
use crate::work::sizes::Sizes;
use crate::workload::buffer::Buffer;
use crate::workload::random::SplitMix64;
use crate::workload::tree::{Entries, Shape};

impl<R: Ranks> RunWork<R> for MetadataWork {
    fn prepare<'a>(
        &'a self,
        member: &Member<'a>,
        history: &History,
    ) -> Result<Box<dyn PreparedJob<R> + 'a>, Box<Failure>> {
        Ok(Box::new(MetadataJob::prepare(member, self, &history.trees)?))
    }

    /// How much of the tree is there now. Without a limit that is all of it, and no rank needs to be asked.
    fn note(&self, ended: &mut EndedJob<'_>, history: &mut History) -> Result<(), Stopped> {
        let EndedJob { plan, job, step, written } = ended;
        let done = if job.limit.is_none() { None } else { Some(written()?) };
        let shape = Shape::of(&plan.trees[&self.tree], plan.rank_count());
        history.trees.note(&shape, self, *step, plan.workers(job), done.as_deref());
        Ok(())
    }
}

/// A metadata job, prepared outside the clock.
struct MetadataJob<'a> {
    case: &'a Case<'a>,
    work: &'a MetadataWork,
    /// The job as those do it who have something to do in it.
    job: Job,
    target: Tree,
    task: Task,
    /// Dropped after the connection, which may have registered it with the kernel.
    connection: Box<dyn Connection>,
    buffers: Vec<Buffer>,
    file_content: FileContent,
    /// What is written back at the end, held open since before anything is written: an error of that is reported once
    /// to each process that had the file open.
    file_system: Option<File>,
}

/// What there is to be done.
#[expect(clippy::large_enum_variant, reason = "a job has one, and lies in a box")]
enum Task {
    /// Something with each of these entries.
    Entries { entries: Entries, order: Order, open: Option<OpenDirectories> },
    /// Files of the first of each of these sets are replaced by files of the second, so many of each.
    Replacements { sets: Vec<(Set, Set)>, of_each: u64 },
}

impl<R: Ranks> PreparedJob<R> for MetadataJob<'_> {
    fn run(self: Box<Self>, ranks: &R, (index, _): (usize, &Job), start: Start) -> JobResult {
        // What is not moved out of it is dropped in the order of its fields.
        let mut prepared = *self;
        let Case { plan, clock, .. } = *prepared.case;
        let bytes = moved_at_once(prepared.work);
        let mut operations =
            Operations::new(ranks, clock, (index, &prepared.job), bytes, start, plan.sample_interval_ns);
        let names = names_of(&mut *prepared.connection);
        let checked = (
            prepared.file_content,
            SecondReading::of_tree(prepared.case, plan.storage_of(&prepared.job), prepared.work),
        );
        let buffer = prepared.buffers.first_mut().map_or(&mut [][..], |buffer| &mut buffer[..]);
        let ended = match prepared.task {
            Task::Entries { entries, order, open } => {
                let count = order.count;
                let sharing = plan.trees[&prepared.work.tree].sharing;
                let operation = prepared.work.operation;
                let target = &prepared.target;
                let mut works = Works::new(names, operation, sharing, target, entries, order, open, buffer, checked);
                operations.run(0..count, &mut works)
            }
            Task::Replacements { sets, of_each } => {
                let count = operations_each(prepared.work) * sets.len() as u64 * of_each;
                operations.run(0..count, &mut Replacements::new(names, prepared.work.operation, sets, buffer, checked))
            }
        };
        let mut failure = ended.err();
        let reached = operations.done();
        let statistics = operations.finish(failure.is_some());
        let worked_ns = clock.now_ns();
        let names = names_of(&mut *prepared.connection);
        let (mut fsync_ns, short_transfers) = (names.fsync_ns(), names.short_transfers());
        let transfer_ns = (worked_ns - start.left_ns).saturating_sub(fsync_ns);
        if let Some(file_system) = &prepared.file_system
            && failure.is_none()
            && !ranks.must_stop()
        {
            let path = prepared.case.workspace.path();
            failure =
                cache::write_out(file_system).map_err(|error| failure::boxed_on_path("syncfs", path, &error)).err();
            fsync_ns += clock.now_ns() - worked_ns;
        }
        let times = JobTimes { transfer: transfer_ns, fsync: fsync_ns, ..JobTimes::default() };
        JobResult {
            times,
            short_transfers,
            requests: prepared.connection.take_request_counts(),
            complete: !ranks.must_stop(),
            synced: failure.is_none() && !ranks.must_stop() && prepared.work.forces_to_storage(),
            written: Some(reached),
            failure,
            ..JobResult::new(prepared.work.lanes(), statistics)
        }
    }
}

impl<'a> MetadataJob<'a> {
    /// Connects, and builds what of the paths does not change.
    fn prepare(
        &Member { case, step, job, number: member }: &Member<'a>,
        work: &'a MetadataWork,
        trees: &TreeState,
    ) -> Result<Self, Box<Failure>> {
        let shape = Shape::of(&case.plan.trees[&work.tree], case.plan.rank_count());
        let part = tree_state::part(&shape, work, member);
        let target = Tree { shape, container: container(case, &work.tree, shape.tree_of(part))? };
        let there = trees.part(&work.tree, part);
        let mut buffers = match moved_at_once(work) {
            0 => Vec::new(),
            bytes => vec![Buffer::random(bytes as usize, SplitMix64::keyed(&[case.plan.seed, u64::from(part)]))],
        };
        let file_content = FileContent::new(case.plan, work, part, buffers.first_mut());
        let mut connection = case.connect((job, member), None, &mut buffers)?;
        let names = names_of(&mut *connection);
        if matches!(work.operation, MetadataOperation::CreateTree {}) {
            create_container(names, &target)?;
        }
        let task = if let MetadataOperation::Replace { .. } = work.operation {
            let of = |part| trees.part(&work.tree, part);
            replacements(case, work, &shape, member, of)?
        } else {
            let entries = match work.operation {
                MetadataOperation::CreateTree {} | MetadataOperation::RemoveTree {} => {
                    Entries::Directories { tree: shape.tree_of(part) }
                }
                _ => Entries::Items { part, renamed: there.renamed },
            };
            let order = order(case.plan.seed, &shape, step, work, (part, member), there);
            let open = match work.paths {
                Paths::Full => None,
                Paths::At => Some(OpenDirectories::of(&target, shape.tree_of(part), entries, names)?),
            };
            Task::Entries { entries, order, open }
        };
        let written_back = work.sync_at_end && case.capabilities(case.plan.storage_of(job)).files;
        let file_system = written_back.then(|| file_system(case)).transpose()?;
        let job = Job { ranks: Some(case.plan.workers(job)), ..job.clone() };
        Ok(Self { case, work, job, target, task, connection, buffers, file_content, file_system })
    }
}

/// The file system of the target.
fn file_system(case: &Case<'_>) -> Result<File, Box<Failure>> {
    let path = case.workspace.path();
    case.workspace.open_to_read(path).map_err(|error| failure::boxed_on_path("open", path, &error))
}

fn names_of(connection: &mut dyn Connection) -> &mut dyn Names {
    connection.names().expect("validated: the storage API has names")
}

/// The directory that holds a tree, made by the first rank that creates a tree in it.
fn create_container(names: &mut dyn Names, target: &Tree) -> Result<(), Box<Failure>> {
    match retried_if_stale(|| names.create_directory(Entry { directory: None, name: &target.container })) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(failed("create directory", &target.container, &error))
        }
        _ => Ok(()),
    }
}

/// The outcome of `create`, which is tried again where it is `ESTALE`: GlusterFS may answer that to a client which creates what
/// another one is creating at this moment.
fn retried_if_stale(mut create: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    for _ in 1..ATTEMPTS {
        match create() {
            Err(error) if error.raw_os_error() == Some(libc::ESTALE) => thread::sleep(BETWEEN_ATTEMPTS),
            result => return result,
        }
    }
    create()
}

const ATTEMPTS: u32 = 5;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(20);

/// In which order a rank takes the entries that are there, or are to be created.
fn order(seed: u64, shape: &Shape, step: u32, work: &MetadataWork, (part, member): (u32, u32), there: Part) -> Order {
    let keys = |step: u32, of: u32| SplitMix64::keyed(&[seed, u64::from(step), u64::from(of)]);
    match work.operation {
        MetadataOperation::CreateTree {} | MetadataOperation::RemoveTree {} => Order::all(shape.directories),
        // Keyed by the part, so that the rank that works on it later finds what a limit let be created.
        MetadataOperation::Create { .. } => Order::of_part(work.order, shape, keys(step, part)),
        _ if there.items == shape.items_per_part() => Order::of_part(work.order, shape, keys(step, member)),
        _ => {
            let created = Order::of_part(there.order, shape, keys(there.step, part));
            Order::of_first(work.order, there.items, keys(step, member), created)
        }
    }
}

/// What a rank replaces, and by what: in each directory that has items those of another part.
fn replacements(
    case: &Case<'_>,
    work: &MetadataWork,
    shape: &Shape,
    member: u32,
    there: impl Fn(u32) -> Part,
) -> Result<Task, Box<Failure>> {
    let parts = i64::from(shape.parts);
    let set = |directory: u64, further: i64, second: bool| -> Result<Set, Box<Failure>> {
        let part = (i64::from(member) + further).rem_euclid(parts) as u32;
        let container = container(case, &work.tree, shape.tree_of(part))?;
        Ok(Set::new(*shape, &container, part, directory, there(part).renamed != second))
    };
    let mut sets = Vec::new();
    for (nth, directory) in (1..).zip(shape.first_with_items()..shape.directories) {
        let further = i64::from(work.shift) * nth;
        sets.push((set(directory, -further, false)?, set(directory, further, true)?));
    }
    // All parts have as many: validated.
    Ok(Task::Replacements { of_each: there(member).items / shape.directories_with_items(), sets })
}

/// The directory in the workspace that holds tree number `number` of `tree`.
pub(crate) fn container(case: &Case<'_>, tree: &str, number: u32) -> Result<CString, Box<Failure>> {
    let path = case.workspace.container_of(&case.plan.case, tree, number);
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| failure::about_path("build paths", &path, "it contains a NUL byte".to_owned(), "rename it").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The final error where each attempt is answered by one of these, and how many attempts were made.
    fn answered(answers: &[i32]) -> (Option<i32>, usize) {
        let mut asked = 0;
        let result = retried_if_stale(|| {
            asked += 1;
            Err(io::Error::from_raw_os_error(answers[asked - 1]))
        });
        (result.unwrap_err().raw_os_error(), asked)
    }

    #[test]
    fn a_directory_that_another_client_is_just_creating_is_tried_again_and_nothing_else_is() {
        assert_eq!(answered(&[libc::ESTALE, libc::ESTALE, libc::EEXIST]), (Some(libc::EEXIST), 3));
        assert_eq!(answered(&[libc::EACCES]), (Some(libc::EACCES), 1));
        assert_eq!(answered(&[libc::ESTALE; 5]), (Some(libc::ESTALE), 5));
    }
}
