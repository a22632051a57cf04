//! Trees, and the jobs on their entries.
//!
//! [`TreeState`] goes through the steps as the case will, so that work on entries that are not there is refused before
//! any of them is created.

use std::collections::BTreeMap;

use ioassay_protocol::plan::data::Payload;
use ioassay_protocol::plan::metadata::{
    CreateWith, EntryOrder, ItemNames, Items, MetadataOperation, MetadataWork, Paths, Sharing, Tree,
};
use ioassay_protocol::plan::storage::{Target, There};
use ioassay_protocol::plan::{Job, Plan, workspace_name};

use crate::refusal::Refusal;
use crate::storage::{Capabilities, NameCapabilities};
use crate::work::checks::{positive, range};
use crate::work::data::validate::LARGEST_TRANSFER_BYTES;
use crate::work::metadata::moved_at_once;
use crate::work::storage::JobStorage;
use crate::workload::tree::{MOST_ENTRIES, Shape, container_name, workers};

/// The longest path that a system call takes, without the zero byte at its end.
const LONGEST_PATH_BYTES: usize = libc::PATH_MAX as usize - 1;

/// More directories than this no rank replaces files in: it keeps a path for each.
const MOST_SETS: u64 = 256;

/// The longest name of one entry.
const LONGEST_NAME_BYTES: usize = 255;

/// Refuses a tree that cannot be counted or named.
pub(crate) fn tree(key: &str, plan: &Plan, name: &str, tree: &Tree, ranks: u32) -> Result<(), Refusal> {
    let refuse = |name: &str, problem: String, valid: &str| Err(Refusal::new(format!("{key}.{name}"), problem, valid));
    range(&format!("{key}.ranks"), tree.ranks, ranks)?;
    if tree.depth > 0 {
        positive(&format!("{key}.branch"), tree.branch.into())?;
    }
    if tree.items == Items::Directories && tree.sharing == Sharing::SharedItems {
        return refuse(
            "items",
            "items that are directories cannot be shared".to_owned(),
            "use files, or share the tree instead",
        );
    }
    if tree.displaced > 0 && tree.sharing != Sharing::Unique {
        return refuse("displaced", "all ranks share one tree".to_owned(), "leave it out");
    }
    if tree.names == ItemNames::MdWorkbench && tree.sharing != Sharing::Unique {
        return refuse(
            "names",
            "these names do not distinguish the items of different ranks".to_owned(),
            "use mdtest, or sharing unique",
        );
    }
    if let Some(Payload::Zero {} | Payload::Repeated {} | Payload::Unique {} | Payload::Reducible { .. }) = tree.payload
    {
        let valid = "use one of ior-offset, ior-timestamp, ior-incompressible, ior-random, or leave it out";
        return refuse("payload", "items of trees hold only what mdtest writes".to_owned(), valid);
    }
    let Some(shape) = Shape::counted(tree, ranks) else {
        let problem = format!(
            "depth {}, {} branches and {} items in each directory of each rank are too many entries",
            tree.depth, tree.branch, tree.items_per_directory
        );
        let valid = format!("keep directories and items together at or below {MOST_ENTRIES}");
        return refuse("depth", problem, &valid);
    };
    let container = container_name(&plan.case, name);
    if container.len() > LONGEST_NAME_BYTES {
        let problem = format!("the directory name {container} is too long ({} characters)", container.len());
        return Err(Refusal::new(key, problem, "use shorter names for case and tree"));
    }
    if let Some(set) = plan.files.keys().find(|set| name == *set || name.starts_with(&format!("{set}."))) {
        let problem = format!("the tree's directory would have the name of a file of file set {set:?}");
        return Err(Refusal::new(key, problem, "rename the tree"));
    }
    if let Target::Directory(target) = &plan.target {
        let above = target.join(workspace_name(&plan.run)).as_os_str().len() + container.len() + 2;
        let bytes = above + shape.longest_path_bytes();
        if bytes > LONGEST_PATH_BYTES {
            let problem = format!("the deepest path would have {bytes} bytes");
            let valid = format!("use fewer levels: a path has at most {LONGEST_PATH_BYTES} bytes");
            return refuse("depth", problem, &valid);
        }
    }
    Ok(())
}

/// What there is of a tree.
#[derive(Debug)]
pub(crate) struct TreeState {
    /// Whether the directories are there, tree by tree.
    directories: Vec<bool>,
    /// Whether the items are there, part by part.
    items: Vec<Grove>,
    /// The last step with work on it, and whether that changed what is there.
    used: Option<(usize, bool)>,
}

/// What there is of the items of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grove {
    /// None of them.
    Bare,
    /// All of them, or as many as a limit let be created, each with this many bytes; `even` if it is known that there are
    /// as many in each directory, and of each part.
    WorkspaceTree { bytes: u64, even: bool },
    /// Unknown before the case has run.
    Unknown,
}

impl TreeState {
    /// A tree of which something is there before any job on it, with whatever bytes in its items.
    fn existing(shape: &Shape, there: There, items: Option<u64>) -> Self {
        let even = items.is_none();
        let items =
            if there == There::Everything { Grove::WorkspaceTree { bytes: u64::MAX, even } } else { Grove::Bare };
        Self {
            directories: vec![there != There::Nothing; shape.trees as usize],
            items: vec![items; shape.parts as usize],
            used: None,
        }
    }

    /// One that nobody has worked on so far.
    pub(crate) fn new(shape: &Shape, can: NameCapabilities) -> Self {
        Self {
            // Where there are no directories nothing must be created before its items.
            directories: vec![!can.directories; shape.trees as usize],
            items: vec![Grove::Bare; shape.parts as usize],
            used: None,
        }
    }
}

/// What a replay finds of the items of a tree that all ranks share, and leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SharedItems {
    /// Not even directories.
    Nothing,
    /// Directories.
    Directories,
    /// All, of so many bytes each.
    All(u64),
    /// It is unknown which.
    Some,
}

impl TreeState {
    /// What there is of a tree whose items all ranks share.
    pub(crate) fn shared_items(&self) -> SharedItems {
        match self.items[0] {
            Grove::Bare if !self.directories[0] => SharedItems::Nothing,
            Grove::Bare => SharedItems::Directories,
            Grove::WorkspaceTree { bytes, .. } => SharedItems::All(bytes),
            Grove::Unknown => SharedItems::Some,
        }
    }

    /// Notes what is there after step `step`. True if another job of that step works on the tree.
    pub(crate) fn replayed(&mut self, step: usize, left: SharedItems) -> bool {
        self.items[0] = match left {
            SharedItems::Nothing | SharedItems::Directories => Grove::Bare,
            SharedItems::All(bytes) => Grove::WorkspaceTree { bytes, even: true },
            SharedItems::Some => Grove::Unknown,
        };
        self.used.replace((step, true)).is_some_and(|(last, _)| last == step)
    }
}

/// Refuses work on entries that are not there, or that the storage API cannot do.
pub(crate) fn work(
    key: &str,
    plan: &Plan,
    job: &Job,
    work: &MetadataWork,
    step: usize,
    storage: &JobStorage<'_>,
    trees: &mut BTreeMap<String, TreeState>,
) -> Result<(), Refusal> {
    let (api, can) = (&storage.asked.api, &storage.can);
    let Some(names) = can.names.filter(|_| !matches!(plan.target, Target::Device(_))) else {
        let problem = format!("{api} has no directory entries on this target");
        return Err(Refusal::new(key, problem, "use the storage API posix on a directory"));
    };
    let tree = known_tree(key, plan, &work.tree)?;
    if tree.items == Items::Directories && !names.directories {
        let refusal =
            Refusal::new(format!("trees.{}.items", work.tree), format!("{api} has no directories"), "use files");
        return Err(storage.blame("api", refusal));
    }
    let ranks = plan.ranks.total().unwrap_or(0);
    let tree_job = TreeJob {
        key,
        api,
        job,
        work,
        tree,
        shape: Shape::of(tree, ranks),
        members: workers(tree, work.operation, job.range(ranks)).count,
    };
    tree_job.possible(can, names)?;
    tree_job.consistent()?;
    tree_job.moves()?;
    tree_job.verifies()?;
    tree_job.replaces()?;
    tree_job.shift()?;
    let (there, items) = match &plan.target {
        Target::InPlace(place) => {
            place.trees.get(&work.tree).map_or((There::Nothing, None), |tree| (tree.there, tree.items))
        }
        Target::Directory(_) | Target::Device(_) | Target::Url(_) => (There::Nothing, None),
    };
    let start = || match there {
        There::Nothing => TreeState::new(&tree_job.shape, names),
        There::Directories | There::Everything => TreeState::existing(&tree_job.shape, there, items),
    };
    tree_job.grow(trees.entry(work.tree.clone()).or_insert_with(start), step)
}

/// The tree `name`, which the work `key` is on.
pub(crate) fn known_tree<'p>(key: &str, plan: &'p Plan, name: &str) -> Result<&'p Tree, Refusal> {
    plan.trees.get(name).ok_or_else(|| {
        let known: Vec<&str> = plan.trees.keys().map(String::as_str).collect();
        Refusal::new(
            format!("{key}.tree"),
            format!("there is no tree {name:?}"),
            format!("use one of: {}", known.join(", ")),
        )
    })
}

/// Bytes that an operation moves, and the key that says them.
fn moved(work: &MetadataWork) -> (&'static str, u64) {
    let key = match work.operation {
        MetadataOperation::Create { .. } => "operation.write_bytes",
        _ => "operation.bytes",
    };
    (key, moved_at_once(work))
}

/// Refuses what direct I/O cannot move where it moves multiples of `unit` bytes.
pub(crate) fn aligned(key: &str, work: &MetadataWork, unit: u64) -> Result<(), Refusal> {
    let (name, bytes) = moved(work);
    if bytes.is_multiple_of(unit) {
        return Ok(());
    }
    let problem = format!("{bytes} bytes are not whole sectors, which direct I/O needs");
    let valid = format!("use a multiple of {unit}, or leave out storage.direct");
    Err(Refusal::new(format!("{key}.{name}"), problem, valid))
}

/// A job on a tree, and what follows from it.
struct TreeJob<'a> {
    key: &'a str,
    /// Name of the storage API.
    api: &'a str,
    job: &'a Job,
    work: &'a MetadataWork,
    tree: &'a Tree,
    shape: Shape,
    /// Ranks that have something to do.
    members: u32,
}

impl TreeJob<'_> {
    fn refuse(&self, name: &str, problem: impl Into<String>, valid: impl Into<String>) -> Result<(), Refusal> {
        Err(Refusal::new(format!("{}.{name}", self.key), problem, valid))
    }

    fn on_directories_of_the_tree(&self) -> bool {
        matches!(self.work.operation, MetadataOperation::CreateTree {} | MetadataOperation::RemoveTree {})
    }

    /// True if it changes which entries there are.
    fn changes_names(&self) -> bool {
        use MetadataOperation as Kind;
        !matches!(self.work.operation, Kind::Stat {} | Kind::Read { .. } | Kind::Write { .. })
    }

    /// What the storage API must be able to do.
    fn possible(&self, can: &Capabilities, names: NameCapabilities) -> Result<(), Refusal> {
        let api = self.api;
        if self.work.verify && !can.files {
            return self.refuse("verify", format!("{api} keeps nothing that could be compared"), "leave it out");
        }
        if self.work.paths == Paths::At && !names.openat {
            return self.refuse(
                "paths",
                format!("{api} cannot address entries relative to an open directory"),
                "use full",
            );
        }
        if self.on_directories_of_the_tree() && !names.directories {
            return self.refuse("operation", format!("{api} has no directories"), "leave the job out");
        }
        match self.work.operation {
            MetadataOperation::Rename {} if !names.rename => {
                self.refuse("operation", format!("{api} cannot rename"), "leave the job out")
            }
            MetadataOperation::Create { with: CreateWith::Mknod, .. } if !names.mknod => {
                self.refuse("operation.with", format!("{api} has no mknod"), "use open")
            }
            MetadataOperation::Create { fsync: true, .. } | MetadataOperation::Write { fsync: true, .. }
                if !can.sync =>
            {
                self.refuse("operation.fsync", format!("{api} cannot force data to stable storage"), "use false")
            }
            _ => Ok(()),
        }
    }

    /// What contradicts itself whatever was done before.
    fn consistent(&self) -> Result<(), Refusal> {
        use MetadataOperation as Kind;
        let directories = self.tree.items == Items::Directories;
        if self.on_directories_of_the_tree() {
            if !self.job.limit.is_none() {
                let key = format!("{}.limit", self.key.trim_end_matches(".work"));
                return Err(Refusal::new(key, "a tree is created and removed as a whole", "leave it out"));
            }
            if self.work.order != EntryOrder::Sequential {
                return self.refuse("order", "a directory can be created only after its parent", "use sequential");
            }
        } else if self.shape.items_per_part() == 0 {
            return self.refuse("tree", "the tree has no items", "set items_per_directory, or leave the job out");
        }
        match self.work.operation {
            Kind::Read { .. } | Kind::Write { .. } | Kind::Replace { .. } if directories => {
                self.refuse("operation", "items that are directories hold no data", "use a tree with files")
            }
            Kind::Create { with: CreateWith::Mknod, .. } if directories => {
                self.refuse("operation.with", "mknod cannot create directories", "use open")
            }
            Kind::Create { write_bytes, fsync, .. } if directories && (write_bytes > 0 || fsync) => {
                self.refuse("operation", "directories hold no data", "use write_bytes 0 and fsync false")
            }
            Kind::Create { with: CreateWith::Mknod, write_bytes, fsync } if write_bytes > 0 || fsync => self.refuse(
                "operation.with",
                "mknod does not open the file, so it cannot be written or synced",
                "use open",
            ),
            Kind::Create { with: CreateWith::Mknod, .. } if self.tree.sharing == Sharing::SharedItems => {
                self.refuse("operation.with", "mknod fails for all ranks but the first", "use open")
            }
            _ if self.changes_names() && self.tree.sharing != Sharing::SharedItems => {
                let parts = self.shape.parts;
                if self.members <= parts {
                    return Ok(());
                }
                let problem =
                    format!("{} ranks would change the items of {parts}, some of them more than once", self.members);
                self.refuse("tree", problem, format!("use at most {parts} ranks for the job"))
            }
            _ => Ok(()),
        }
    }

    /// The bytes of an operation.
    fn moves(&self) -> Result<(), Refusal> {
        let (name, bytes) = moved(self.work);
        if let MetadataOperation::Write { bytes, .. } = self.work.operation {
            positive(&format!("{}.{name}", self.key), bytes)?;
        }
        if bytes > LARGEST_TRANSFER_BYTES {
            let valid = format!("use at most {LARGEST_TRANSFER_BYTES} (1 GiB)");
            return self.refuse(name, format!("a call cannot move {bytes} bytes"), valid);
        }
        Ok(())
    }

    /// What is compared must be known, and there must be something to compare.
    fn verifies(&self) -> Result<(), Refusal> {
        use MetadataOperation as Kind;
        if !self.work.verify {
            return Ok(());
        }
        let bytes = match self.work.operation {
            Kind::Create { write_bytes: bytes, .. }
            | Kind::Read { bytes }
            | Kind::Write { bytes, .. }
            | Kind::Replace { bytes } => bytes,
            _ => 0,
        };
        match self.tree.payload {
            Some(_) if bytes > 0 => Ok(()),
            Some(_) => self.refuse("verify", "nothing is read or written that could be verified", "leave it out"),
            None => self.refuse("verify", "the content of the files is unknown", "set a payload for the tree"),
        }
    }

    /// Files are replaced all together, because each has two names and one of them at a time.
    fn replaces(&self) -> Result<(), Refusal> {
        let MetadataOperation::Replace { .. } = self.work.operation else { return Ok(()) };
        let Shape { parts, .. } = self.shape;
        if self.tree.sharing == Sharing::SharedItems {
            return self.refuse(
                "tree",
                "a file shared by all ranks can be replaced by only one of them",
                "use sharing unique",
            );
        }
        if self.members != parts {
            let problem = format!("{} ranks cannot replace the files of {parts}", self.members);
            return self.refuse("tree", problem, format!("use {parts} ranks for the job"));
        }
        if self.work.order != EntryOrder::Interleaved {
            return self.refuse("order", "replace visits the directories in turn, one file each", "use interleaved");
        }
        if self.work.paths == Paths::At {
            return self.refuse("paths", "the files are in the directories of several ranks", "use full");
        }
        let sets = self.shape.directories_with_items();
        if sets > MOST_SETS {
            let problem = format!("{sets} directories with files are too many for replace");
            return self.refuse("tree", problem, format!("use at most {MOST_SETS}"));
        }
        Ok(())
    }

    /// True if the job creates as many items in each directory, and of each part.
    fn is_even(&self) -> bool {
        let limit = &self.job.limit;
        let directories = self.shape.directories_with_items();
        let rounds = limit.operations_per_rank.is_none_or(|items| items.is_multiple_of(directories));
        limit.is_none() || self.work.order == EntryOrder::Interleaved && limit.stonewall_ns.is_none() && rounds
    }

    fn shift(&self) -> Result<(), Refusal> {
        use MetadataOperation as Kind;
        if self.work.shift == 0 {
            return Ok(());
        }
        if matches!(self.work.operation, Kind::CreateTree {} | Kind::Create { .. }) {
            return self.refuse("shift", "each rank creates its own entries", "leave it out");
        }
        let one_tree = self.work.operation == Kind::RemoveTree {} && self.tree.sharing != Sharing::Unique;
        if one_tree || self.tree.sharing == Sharing::SharedItems {
            return self.refuse("shift", "all ranks have the same entries", "leave it out");
        }
        Ok(())
    }

    /// Refuses work on what is not there, and notes what is there after it.
    fn grow(&self, tree_state: &mut TreeState, step: usize) -> Result<(), Refusal> {
        let changes = self.changes_names();
        if tree_state.used.is_some_and(|(last, changed)| last == step && (changed || changes)) {
            let problem = format!("another job of this phase uses the tree {:?}", self.work.tree);
            return self.refuse("tree", problem, "change the tree and use it in separate phases");
        }
        tree_state.used = Some((step, changes));
        let parts = self.shape.parts;
        let of_member = |member: u32| ((u64::from(member) + u64::from(self.work.shift)) % u64::from(parts)) as u32;
        let worked_on: Vec<u32> = (0..self.members.min(parts)).map(of_member).collect();
        match self.work.operation {
            MetadataOperation::CreateTree {} => self.create_tree(tree_state, &worked_on),
            MetadataOperation::RemoveTree {} => self.remove_tree(tree_state, &worked_on),
            _ => worked_on.iter().try_for_each(|&part| self.grow_part(tree_state, part)),
        }
    }

    fn create_tree(&self, tree_state: &mut TreeState, parts: &[u32]) -> Result<(), Refusal> {
        for tree in parts.iter().map(|&part| self.shape.tree_of(part) as usize) {
            if std::mem::replace(&mut tree_state.directories[tree], true) {
                return self.refuse(
                    "operation",
                    "the tree's directories already exist",
                    "remove them in an earlier phase",
                );
            }
        }
        Ok(())
    }

    fn remove_tree(&self, tree_state: &mut TreeState, parts: &[u32]) -> Result<(), Refusal> {
        for tree in parts.iter().map(|&part| self.shape.tree_of(part)) {
            let mut items = self.shape.parts_in(tree).map(|part| tree_state.items[part as usize]);
            if items.any(|items| items != Grove::Bare) {
                let problem = "the tree still has items";
                return self.refuse("operation", problem, "add an earlier job, without a limit, that removes them");
            }
            if !std::mem::replace(&mut tree_state.directories[tree as usize], false) {
                return self.refuse("operation", NO_DIRECTORIES, "add an earlier create-tree job");
            }
        }
        Ok(())
    }

    fn grow_part(&self, tree_state: &mut TreeState, part: u32) -> Result<(), Refusal> {
        use MetadataOperation as Kind;
        let limited = !self.job.limit.is_none();
        let items = &mut tree_state.items[part as usize];
        let (bytes_there, even) = match (self.work.operation, *items) {
            (Kind::Create { .. }, _) if !tree_state.directories[self.shape.tree_of(part) as usize] => {
                return self.refuse("operation", NO_DIRECTORIES, "add an earlier create-tree job");
            }
            (Kind::Create { write_bytes, .. }, Grove::Bare) => {
                *items = Grove::WorkspaceTree { bytes: write_bytes, even: self.is_even() };
                return Ok(());
            }
            (Kind::Create { .. }, Grove::WorkspaceTree { .. }) => {
                return self.refuse("operation", "the items already exist", "add an earlier job that removes them");
            }
            (_, Grove::Unknown) => {
                let problem = "an earlier job with a limit renames, replaces or removes some of the items, or a replay, and which is unknown";
                return self.refuse("operation", problem, "leave out the limit of jobs that rename, replace or remove");
            }
            (_, Grove::Bare) => {
                let problem = format!("the items of rank {part} do not exist");
                return self.refuse("operation", problem, "add an earlier job, with as many ranks, that creates them");
            }
            (_, Grove::WorkspaceTree { bytes, even }) => (bytes, even),
        };
        *items = match self.work.operation {
            Kind::Read { bytes } | Kind::Replace { bytes } if bytes > bytes_there => {
                let problem = format!("{bytes} bytes cannot be read from files that hold {bytes_there}");
                return self.refuse("operation.bytes", problem, format!("read at most {bytes_there}, or write more"));
            }
            Kind::Replace { .. } if !even => {
                let problem = "a limit may have left more items in some directories than in others";
                return self.refuse(
                    "operation",
                    problem,
                    "create the items in the order interleaved, without a stonewall",
                );
            }
            Kind::Write { bytes, .. } if !limited => Grove::WorkspaceTree { bytes: bytes.max(bytes_there), even },
            Kind::Rename {} | Kind::Replace { .. } | Kind::Remove {} if limited => Grove::Unknown,
            Kind::Replace { bytes } => Grove::WorkspaceTree { bytes, even },
            Kind::Remove {} => Grove::Bare,
            _ => *items,
        };
        Ok(())
    }
}

const NO_DIRECTORIES: &str = "the tree's directories do not exist";
