//! From what a command line asks for to plans: one for each number of tasks and iteration.
//!
//! Not here: reading the command line, running plans, and what is printed.

use std::path::{Path, PathBuf};

use ioassay_engine::failure;
use ioassay_engine::workload::tree::DEEPEST;
use ioassay_protocol::VERSION;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::metadata::{
    CreateWith, EntryOrder, ItemNames, Items, MetadataOperation, MetadataWork, Paths, Sharing, Tree,
};
use ioassay_protocol::plan::pace::Limit;
use ioassay_protocol::plan::storage::{InPlace, Storage, Target, There, TreePlace};
use ioassay_protocol::plan::{Job, Phase, Plan, RankCount, Step, Work};

use super::options::Parameters;
use super::rows::Row;
use crate::common::{Common, usage};
use crate::packet::Packet;

/// A second.
const SECOND_NS: u64 = 1_000_000_000;

/// With more trees side by side than this, phases would be shorter than what is between them.
const MOST_TREES: u64 = 10_000;

/// A phase that gives directories back the names that they had; no table shows it.
const RENAME_BACK: &str = "rename-back";

/// How much there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amounts {
    /// Directories of a tree.
    pub directories: u64,
    /// Those of them that have items.
    pub with_items: u64,
    /// Items of each rank in each of those.
    pub items_per_directory: u64,
    /// Trees side by side (`-n` with `-I`).
    pub trees: u64,
    /// Items of each rank that an earlier command created, where it did not fill all directories.
    pub existing: Option<u64>,
}

impl Amounts {
    /// What follows from `-n`, `-I`, `-b`, `-z` and `-L`, scaled down where that is asked for.
    pub fn of(asked: &Parameters, common: &Common) -> Result<Self, Failure> {
        if asked.depth > DEEPEST {
            return Err(usage(format!("-z {} is too deep", asked.depth), format!("use at most -z {DEEPEST}")));
        }
        let (mut directories, mut leaves) = (1_u64, 1_u64);
        for _ in 0..asked.depth {
            let counted = leaves.checked_mul(asked.branch.into());
            leaves = counted.filter(|&leaves| leaves < 1 << 40).ok_or_else(|| {
                usage(format!("-b {} -z {} are too many directories", asked.branch, asked.depth), "use fewer levels")
            })?;
            directories += leaves;
        }
        let with_items = if asked.leaves_only { leaves } else { directories };
        let (items, each) = (asked.items, asked.items_per_directory);
        let (items_per_directory, trees) = match (items, each) {
            (_, 0) => (common.scaled(items, with_items) / with_items, 1),
            (0, each) => (common.scaled(each, 1), 1),
            (items, each) => match items / each {
                1 => (common.scaled(each, 1), 1),
                trees => (each, common.scaled(trees, 1)),
            },
        };
        Ok(Self { directories, with_items, items_per_directory, trees, existing: None })
    }

    /// Items of each rank.
    pub fn items(&self) -> u64 {
        let planned = self.items_per_directory.saturating_mul(self.with_items).saturating_mul(self.trees);
        self.existing.map_or(planned, |existing| existing.min(planned))
    }

    /// The same amounts, but as many items of each rank as an earlier command wrote into its status file.
    pub fn with_existing(self, items: u64) -> Self {
        match (self.trees, self.with_items) {
            (1, 1) => Self { items_per_directory: items, ..self },
            (1, _) => Self { existing: Some(items).filter(|&items| items < self.items()), ..self },
            _ if items < self.items_per_directory => Self { items_per_directory: items, trees: 1, ..self },
            _ => Self { trees: items / self.items_per_directory, ..self },
        }
    }

    /// The same amounts where a stonewall may end the creation: of several trees the first one alone, as in the original.
    pub fn walled(self, asked: &Parameters) -> Self {
        if asked.stonewall_s > 0 && Phases::of(asked).create { Self { trees: 1, ..self } } else { self }
    }
}

/// What is done, with all that the original decides by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each of the original's phases")]
pub struct Phases {
    /// Create.
    pub create: bool,
    /// Stat.
    pub stat: bool,
    /// Read files.
    pub read: bool,
    /// Rename directories.
    pub rename: bool,
    /// Remove.
    pub remove: bool,
    /// On directories.
    pub directories: bool,
    /// On files.
    pub files: bool,
}

impl Phases {
    /// Without any of `-C -T -E -U -r` all of them; without `-D` and `-F` both; shared are files only.
    pub fn of(asked: &Parameters) -> Self {
        let Parameters { create, stat, read, rename, remove, .. } = *asked;
        let all = !(create || stat || read || rename || remove);
        let both = !asked.directories && !asked.files;
        Self {
            create: create || all,
            stat: stat || all,
            read: read || all,
            rename: rename || all,
            remove: remove || all,
            directories: (asked.directories || both) && !asked.shared_items,
            files: asked.files || both,
        }
    }
}

/// Refuses what contradicts itself, with `ranks` tasks.
pub fn check(asked: &Parameters, ranks: u32) -> Result<(), Failure> {
    let phases = Phases::of(asked);
    let several = asked.paths.len() > 1;
    let (first, last) = tasks(asked, ranks);
    let (n, each) = (asked.items, asked.items_per_directory);
    let both = n > 0 && each > 0;
    let tail = !asked.read_bytes.is_multiple_of(8) && asked.read_bytes < asked.write_bytes;
    let wrong = [
        (
            asked.shared_items && asked.unique,
            "-S with -u: files in a rank's own directory are not shared",
            "leave one out",
        ),
        (asked.shared_items && !phases.files, "-S with -D: only files are shared", "leave -D out"),
        (asked.shared_items && asked.mknod, "-S with -k: mknod fails for all ranks but the first", "leave -k out"),
        (asked.mknod && asked.write_bytes > 0, "-k with -w: mknod does not open the file for writing", "leave one out"),
        (asked.mknod && asked.fsync, "-k with -y: mknod does not open the file for fsync", "leave one out"),
        (both && asked.unique, "-n and -I cannot both be used with -u", "use -n, or -I"),
        (both && !n.is_multiple_of(each), "-n is not a multiple of -I", "use a multiple, or only one of them"),
        (both && n / each > MOST_TREES, "-n divided by -I gives too many trees", "use an -n of at most 10000 times -I"),
        (several && !asked.unique, "several directories (-d) need -u: otherwise all ranks share one tree", "add -u"),
        (
            several && asked.shift > 0,
            "several directories (-d) do not work with -N",
            "leave -N out, or use one directory",
        ),
        (asked.paths.len() > first as usize, "there are more directories than tasks", "use more --ranks"),
        (asked.depth > 0 && asked.branch == 0, "-b 0 with -z: there are no branches", "use -b 1 or more"),
        (
            asked.dummy && (asked.verify_read || asked.verify_write),
            "-a DUMMY keeps nothing that could be verified",
            "leave out -X and --verify-write, or use another API",
        ),
        (asked.verify_read && !(phases.read && phases.files), "-X needs a phase that reads files", "add -E and -F"),
        (asked.verify_read && asked.read_bytes == 0, "-X without -e: no bytes are read", "add -e SIZE"),
        (
            asked.verify_read && tail,
            "-X with this -e: the last bytes of a partial word cannot be verified",
            "use a multiple of 8 for -e, or the size of -w",
        ),
        (
            asked.verify_write && asked.write_bytes == 0,
            "--verify-write without -w: no bytes are written",
            "add -w SIZE",
        ),
        (
            phases.create && phases.read && asked.read_bytes > asked.write_bytes,
            "-e is larger than -w, the size of the files",
            "read at most what is written",
        ),
        (
            asked.stonewall_s > 0 && !(phases.create && phases.files),
            "-W limits the creation of files, but none are created",
            "leave it out",
        ),
        (asked.iterations == 0, "-i 0 does nothing", "use 1 or more"),
        (asked.step_tasks == 0, "-s 0 never finishes", "use 1 or more"),
        (first == 0, "-f 0 leaves no task", "use 1 or more"),
        (first > last, "-f is more than -l", "use at most -l"),
        (last > ranks, "-l is more than there are tasks", "use more --ranks"),
    ];
    match wrong.into_iter().find(|(wrong, ..)| *wrong) {
        Some((_, problem, valid)) => Err(usage(problem, valid)),
        None => Ok(()),
    }
}

/// The first and the last number of tasks: without `-l` it is all of them, whatever `-f` says.
pub fn tasks(asked: &Parameters, ranks: u32) -> (u32, u32) {
    if asked.last_tasks == 0 { (ranks, ranks) } else { (asked.first_tasks, asked.last_tasks) }
}

/// Where trees are created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// What `-d` names, as absolute paths.
    pub paths: Vec<PathBuf>,
    /// Those of them that are to be created first.
    missing: Vec<PathBuf>,
}

impl Place {
    /// Looks at what `-d` names. As in the original only the last part of a path is created: a misspelt mount point is
    /// no new directory on another file system.
    pub fn find(asked: &Parameters) -> Result<Self, Failure> {
        let cannot = |path: &Path, error: std::io::Error| failure::on_path("find", path, &error);
        let create = Phases::of(asked).create;
        let mut place = Self { paths: Vec::new(), missing: Vec::new() };
        for path in &asked.paths {
            let path = std::path::absolute(path).map_err(|error| cannot(path.as_ref(), error))?;
            // Removal follows no symbolic link, but a file system is often named by one.
            let path = path.canonicalize().unwrap_or(path);
            match path.metadata() {
                Ok(about) if about.is_dir() => {}
                Ok(_) => return Err(cannot(&path, std::io::Error::from_raw_os_error(libc::ENOTDIR))),
                Err(_) if create && path.parent().is_some_and(Path::is_dir) => place.missing.push(path.clone()),
                Err(error) => {
                    let remedy = if create {
                        "create it: mkdir -p"
                    } else {
                        "create the tree first (-C), or correct the directory:"
                    };
                    let remedy = format!("{remedy} {}", path.parent().filter(|_| create).unwrap_or(&path).display());
                    return Err(Failure { remedy, ..cannot(&path, error) });
                }
            }
            place.paths.push(path);
        }
        Ok(place)
    }

    /// A place that is not checked.
    #[cfg(test)]
    pub fn of(paths: Vec<PathBuf>) -> Self {
        Self { paths, missing: Vec::new() }
    }

    /// A directory that is there on the file system of the first path.
    pub fn existing(&self) -> &Path {
        let first = &self.paths[0];
        if self.missing.contains(first) { first.parent().unwrap_or(first) } else { first }
    }
}

impl Parameters {
    /// True where files of an earlier command would be compared, which had a signature of its own: the time.
    pub fn has_unknown_signature(&self) -> bool {
        self.verify_read && self.signature == -1 && !Phases::of(self).create
    }

    /// What the files hold. As with IOR, the default differs from file to file only where this command both writes and
    /// verifies, and no other one can know the signature.
    fn packet(&self) -> Packet {
        let verifies = self.verify_read || self.verify_write;
        let verifies_its_own = verifies && self.signature == -1 && Phases::of(self).create;
        self.packet_type.unwrap_or(if verifies_its_own { Packet::Offset } else { Packet::Timestamp })
    }
}

/// Who runs a plan, and which it is.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// Identifier of the run.
    pub run: &'a str,
    /// How many ranks there are.
    pub tasks: u32,
    /// The iteration, from 0.
    pub iteration: u32,
    /// Seed of the random order.
    pub seed: u32,
    /// Signature of what is written.
    pub signature: i32,
}

impl Turn<'_> {
    /// What iterations with as many ranks have in common.
    pub fn workload(&self) -> String {
        format!("mdtest-{}", self.tasks)
    }
}

/// The plan of one iteration.
pub fn plan(asked: &Parameters, amounts: Amounts, place: &Place, turn: Turn<'_>) -> Plan {
    let phases = Phases::of(asked);
    let writer = Writer { asked, phases, amounts, turn };
    let mut target = InPlace {
        directory: place.existing().to_owned(),
        directories: place.missing.clone(),
        keep: !phases.remove,
        ..InPlace::default()
    };
    let mut trees = std::collections::BTreeMap::new();
    for nth in 0..amounts.trees {
        let containers = place.paths.iter().map(|path| path.join(format!("test-dir.{}-{nth}", turn.iteration)));
        let containers: Vec<_> = containers.collect();
        for items in writer.kinds() {
            let there = match (phases.create, Some(items) == writer.kinds().next()) {
                (false, _) => There::Everything,
                (true, true) => There::Nothing,
                (true, false) => There::Directories,
            };
            target.trees.insert(
                tree_name(items, nth),
                TreePlace { containers: containers.clone(), there, items: amounts.existing },
            );
            trees.insert(tree_name(items, nth), writer.tree(items));
        }
    }
    Plan {
        version: VERSION,
        run: turn.run.to_owned(),
        case: format!("{}.{}", turn.workload(), turn.iteration),
        target: Target::InPlace(target),
        storage: Storage {
            direct: asked.direct,
            unaligned: asked.direct,
            ..Storage::of(if asked.dummy { "null" } else { "posix" })
        },
        ranks: RankCount { clients: 1, per_client: turn.tasks },
        files: std::collections::BTreeMap::new(),
        trees,
        datasets: Default::default(),
        checkpoints: Default::default(),
        steps: writer.steps(),
        seed: turn.seed.into(),
        memory_bytes: 0,
        time_limit_ns: None,
        sample_interval_ns: SECOND_NS,
    }
}

fn tree_name(items: Items, nth: u64) -> String {
    match items {
        Items::Directories => format!("directories.{nth}"),
        Items::Files => format!("files.{nth}"),
    }
}

/// Writes the steps of one plan.
struct Writer<'a> {
    asked: &'a Parameters,
    phases: Phases,
    amounts: Amounts,
    turn: Turn<'a>,
}

impl Writer<'_> {
    /// What there are items of, in the order of the tests. The first kind's tree has the directories.
    fn kinds(&self) -> impl Iterator<Item = Items> {
        let Phases { directories, files, .. } = self.phases;
        directories.then_some(Items::Directories).into_iter().chain(files.then_some(Items::Files))
    }

    fn tree(&self, items: Items) -> Tree {
        let asked = self.asked;
        let signature = self.turn.signature;
        let payload = asked.packet().payload(signature);
        Tree {
            ranks: None,
            sharing: match (asked.unique, asked.shared_items) {
                (true, _) => Sharing::Unique,
                (false, true) => Sharing::SharedItems,
                (false, false) => Sharing::Shared,
            },
            depth: asked.depth,
            branch: asked.branch,
            items_per_directory: self.amounts.items_per_directory,
            leaves_only: asked.leaves_only,
            items,
            // The original names a rank's directory after the rank that will work in it next.
            names: ItemNames::Mdtest,
            displaced: if asked.unique { asked.shift % self.turn.tasks } else { 0 },
            payload: (items == Items::Files).then_some(payload),
        }
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let Phases { create, stat, read, rename, remove, .. } = self.phases;
        let owner = self.kinds().next();
        if let Some(owner) = owner.filter(|_| create) {
            self.add(&mut steps, owner, Row::TreeCreation, MetadataOperation::CreateTree {});
        }
        for items in self.kinds().filter(|_| self.amounts.items() > 0) {
            if self.asked.delay_s > 0 {
                steps.push(Step::Pause { duration_ns: u64::from(self.asked.delay_s) * SECOND_NS });
            }
            let files = items == Items::Files;
            let rows = if files {
                [Row::FileCreation, Row::FileStat, Row::FileRead, Row::FileRemoval]
            } else {
                [Row::DirectoryCreation, Row::DirectoryStat, Row::DirectoryRead, Row::DirectoryRemoval]
            };
            if create {
                self.add(&mut steps, items, rows[0], self.create(items));
            }
            if stat {
                self.add(&mut steps, items, rows[1], MetadataOperation::Stat {});
            }
            if read && files {
                self.add(&mut steps, items, rows[2], MetadataOperation::Read { bytes: self.asked.read_bytes });
            }
            // One directory alone has no other's name to take in the original.
            if rename && !files && self.amounts.items() > 1 {
                self.add(&mut steps, items, Row::DirectoryRename, MetadataOperation::Rename {});
                if !remove {
                    self.rename_back(&mut steps);
                }
            }
            if remove {
                self.add(&mut steps, items, rows[3], MetadataOperation::Remove {});
            }
        }
        if let Some(owner) = owner.filter(|_| remove) {
            self.add(&mut steps, owner, Row::TreeRemoval, MetadataOperation::RemoveTree {});
        }
        steps
    }

    fn create(&self, items: Items) -> MetadataOperation {
        let asked = self.asked;
        if items == Items::Directories {
            return MetadataOperation::Create { with: CreateWith::Open, write_bytes: 0, fsync: false };
        }
        let with = if asked.mknod { CreateWith::Mknod } else { CreateWith::Open };
        // What nothing was written into is not synced: the original syncs after a write.
        let fsync = asked.fsync && asked.write_bytes > 0;
        MetadataOperation::Create { with, write_bytes: asked.write_bytes, fsync }
    }

    /// Adds the phases of `row`, one for each of the trees side by side.
    fn add(&self, steps: &mut Vec<Step>, items: Items, row: Row, operation: MetadataOperation) {
        let trees = 0..self.amounts.trees;
        steps.extend(trees.map(|nth| self.phase(row.phase(nth), tree_name(items, nth), row, operation)));
    }

    fn rename_back(&self, steps: &mut Vec<Step>) {
        let trees = 0..self.amounts.trees;
        steps.extend(trees.map(|nth| {
            let (name, tree) = (format!("{RENAME_BACK}.{nth}"), tree_name(Items::Directories, nth));
            self.phase(name, tree, Row::DirectoryRename, MetadataOperation::Rename {})
        }));
    }

    fn phase(&self, name: String, tree: String, row: Row, operation: MetadataOperation) -> Step {
        let asked = self.asked;
        // How many times further each phase goes than the one that created.
        let strides = match row {
            Row::DirectoryStat | Row::DirectoryRename | Row::FileStat => 1,
            Row::DirectoryRead | Row::FileRead => 2,
            Row::DirectoryRemoval | Row::FileRemoval => 3,
            Row::DirectoryCreation | Row::FileCreation | Row::TreeCreation | Row::TreeRemoval => 0,
        };
        let shift = u64::from(asked.shift) * strides % u64::from(self.turn.tasks);
        let looks = matches!(row, Row::DirectoryStat | Row::FileStat | Row::FileRead);
        let random = looks && (asked.random || asked.seed > 0);
        let work = MetadataWork {
            tree,
            operation,
            order: if random { EntryOrder::Random } else { EntryOrder::Sequential },
            shift: if asked.shared_items { 0 } else { shift as u32 },
            paths: Paths::Full,
            verify: match row {
                Row::FileCreation => asked.verify_write,
                Row::FileRead => asked.verify_read && !asked.has_unknown_signature(),
                _ => false,
            },
            sync_at_end: asked.sync && !row.is_of_tree(),
        };
        let stonewall_ns = u64::from(asked.stonewall_s) * SECOND_NS;
        let walled = row == Row::FileCreation && stonewall_ns > 0;
        let limit = if walled {
            Limit { stonewall_ns: Some(stonewall_ns), wear_out: true, ..Limit::default() }
        } else {
            Limit::default()
        };
        let job = Job { limit, ..Job::new("all", Work::Metadata(work)) };
        Step::Phase(Phase::new(&name, vec![job]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mdtest::options::parse;
    use ioassay_engine::plan::validate;

    fn asked(line: &str) -> Parameters {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).unwrap()
    }

    fn common(scale_down: u64) -> Common {
        Common { ranks: 2, nodes: 1, run: None, overwrite: false, scale_down }
    }

    fn plan_of(line: &str) -> Plan {
        let asked = asked(line);
        check(&asked, 2).unwrap();
        let place = Place { paths: vec!["/d".into()], missing: vec!["/d".into()] };
        let turn = Turn { run: "r", tasks: 2, iteration: 3, seed: 5, signature: 7 };
        let plan = plan(&asked, Amounts::of(&asked, &common(1)).unwrap(), &place, turn);
        validate(&plan).unwrap_or_else(|refusal| panic!("{line}: {refusal}"));
        plan
    }

    fn phases(plan: &Plan) -> Vec<&str> {
        let name = |step| if let &Step::Phase(Phase { ref name, .. }) = step { Some(name.as_str()) } else { None };
        plan.steps.iter().filter_map(name).collect()
    }

    fn works(plan: &Plan) -> Vec<&MetadataWork> {
        let work = |job| if let &Job { work: Work::Metadata(ref work), .. } = job { Some(work) } else { None };
        plan.jobs().filter_map(work).collect()
    }

    #[test]
    fn without_a_word_about_phases_there_are_all_of_them_in_the_originals_order() {
        let plan = plan_of("-n 10");
        let expected = [
            "tree-creation.0",
            "directory-creation.0",
            "directory-stat.0",
            "directory-rename.0",
            "directory-removal.0",
            "file-creation.0",
            "file-stat.0",
            "file-read.0",
            "file-removal.0",
            "tree-removal.0",
        ];
        assert_eq!(phases(&plan), expected);
        let Target::InPlace(place) = &plan.target else { panic!("{:?}", plan.target) };
        assert!(!place.keep);
        assert_eq!(place.directory, Path::new("/"));
        assert_eq!(place.trees["files.0"].containers, [Path::new("/d/test-dir.3-0")]);
        assert_eq!(place.trees["directories.0"].there, There::Nothing);
        assert_eq!(place.trees["files.0"].there, There::Directories);
    }

    #[test]
    fn what_an_earlier_command_created_is_found_and_what_this_one_creates_is_kept() {
        let plan = plan_of("-T -E -r -F -n 10");
        assert_eq!(phases(&plan), ["file-stat.0", "file-read.0", "file-removal.0", "tree-removal.0"]);
        let Target::InPlace(place) = &plan.target else { panic!("{:?}", plan.target) };
        assert_eq!((place.keep, place.trees["files.0"].there), (false, There::Everything));
        let plan = plan_of("-C -U -D -n 10");
        assert_eq!(
            phases(&plan),
            ["tree-creation.0", "directory-creation.0", "directory-rename.0", "rename-back.0"],
            "other commands find the names that were given"
        );
        let Target::InPlace(place) = &plan.target else { panic!("{:?}", plan.target) };
        assert!(place.keep);
    }

    #[test]
    fn a_shift_goes_further_in_each_phase_and_displaces_the_directories_of_ranks() {
        let shifts = |line: &str| works(&plan_of(line)).iter().map(|work| work.shift).collect::<Vec<_>>();
        // Creation of the tree and of files, stat, read, removal of files and of the tree.
        assert_eq!(shifts("-F -n 4 -N 1"), [0, 0, 1, 0, 1, 0]);
        assert_eq!(plan_of("-F -n 4 -N 1 -u").trees["files.0"].displaced, 1);
        assert_eq!(plan_of("-F -n 4 -N 1").trees["files.0"].displaced, 0);
        assert_eq!(shifts("-F -n 4 -N 1 -S"), [0; 6]);
    }

    #[test]
    fn items_and_items_per_directory_together_are_several_trees() {
        let plan = plan_of("-F -C -n 30 -I 10 -b 2 -z 1");
        assert_eq!(plan.trees.len(), 3);
        assert_eq!(phases(&plan)[2..4], ["tree-creation.2", "file-creation.0"]);
        let Target::InPlace(place) = &plan.target else { panic!("{:?}", plan.target) };
        assert_eq!(place.trees["files.2"].containers, [Path::new("/d/test-dir.3-2")]);
    }

    #[test]
    fn a_status_file_limits_a_tree_a_directory_or_the_number_of_trees() {
        let limited = |line: &str, items| Amounts::of(&asked(line), &common(1)).unwrap().with_existing(items);
        let items = |amounts: Amounts| (amounts.items(), amounts.trees, amounts.items_per_directory, amounts.existing);
        assert_eq!(items(limited("-n 100", 7)), (7, 1, 7, None));
        assert_eq!(items(limited("-n 100 -b 3 -z 1", 30)), (30, 1, 25, Some(30)));
        assert_eq!(items(limited("-n 100 -b 3 -z 1", 100)), (100, 1, 25, None));
        assert_eq!(items(limited("-n 100 -I 10", 30)), (30, 3, 10, None));
        assert_eq!(items(limited("-n 100 -I 10", 4)), (4, 1, 4, None));
    }

    #[test]
    fn amounts_are_the_originals_and_scaled_down_on_request() {
        let amounts = |line: &str, by: u64| {
            let Amounts { directories, with_items, items_per_directory, trees, .. } =
                Amounts::of(&asked(line), &common(by)).unwrap();
            [directories, with_items, items_per_directory, trees]
        };
        assert_eq!(amounts("-n 100", 1), [1, 1, 100, 1]);
        assert_eq!(amounts("-n 100 -b 3 -z 1", 1), [4, 4, 25, 1]);
        assert_eq!(amounts("-n 101 -b 3 -z 2 -L", 1), [13, 9, 11, 1]);
        assert_eq!(amounts("-I 5 -b 1 -z 3", 1), [4, 4, 5, 1]);
        assert_eq!(amounts("-n 3 -b 3 -z 1", 1), [4, 4, 0, 1], "too few for the directories: none");
        assert_eq!(amounts("-n 1000000", 1000), [1, 1, 1000, 1]);
        assert_eq!(amounts("-I 1024 -b 16 -z 1 -L", 100), [17, 16, 10, 1]);
        assert_eq!(amounts("-I 10", 100), [1, 1, 1, 1]);
        assert_eq!(amounts("-n 100 -I 10", 5), [1, 1, 10, 2]);
        assert_eq!(amounts("-n 100 -I 100", 5), [1, 1, 20, 1]);
    }

    #[test]
    fn a_stonewall_ends_the_creation_of_files_alone() {
        let plan = plan_of("-n 10 -W 5 -Y -y -w 10");
        let walled: Vec<_> = plan.jobs().map(|job| job.limit.stonewall_ns).collect();
        assert_eq!(walled.iter().flatten().collect::<Vec<_>>(), [&(5 * SECOND_NS)]);
        assert_eq!(walled[5], Some(5 * SECOND_NS));
        let synced: Vec<_> = works(&plan).iter().map(|work| work.sync_at_end).collect();
        assert_eq!((synced[0], synced[1], synced[8], synced[9]), (false, true, true, false));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for line in [
            "-S -u",
            "-S -D",
            "-k -w 1",
            "-n 10 -I 5 -u",
            "-n 10 -I 3",
            "-d a@b",
            "-d a@b -u -N 1",
            "-d a@b@c -u",
            "-z 1 -b 0",
            "-X",
            "-X -E -D -e 4",
            "-X -C -e 4",
            "-e 5 -w 4",
            "-W 3 -T",
            "-i 0",
            "-s 0",
            "-f 3 -l 2",
            "-l 3",
            "-f 0 -l 1",
            "--verify-write",
            "-X -e 12 -w 16",
        ] {
            assert!(check(&asked(line), 2).is_err(), "{line}");
        }
        assert!(check(&asked("-X -e 16 -w 24"), 2).is_ok());
    }
}
