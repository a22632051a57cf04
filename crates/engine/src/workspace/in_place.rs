//! Files and trees at paths that the user named: nothing of them is in a directory of the run's own.
//!
//! The real IOR deletes whatever lies where it is told to write. Here a file that is there already is replaced or
//! removed only if it can be told who wrote it: it bears our mark (the extended attribute [`MARK`]), it holds what IOR
//! or IOzone writes ([`payload::is_ior`], [`payload::is_iozone`]), or it is empty. Trees need no such proof: mdtest's
//! names are it, and what is not so called is not touched.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ioassay_contract::events::{Failure, Left, Removed};
use ioassay_contract::plan::storage::{InPlace, There};
use ioassay_contract::plan::{Plan, Step, Work};

use super::contents::{Contents, Planted};
use super::place::Mounted;
use super::{Room, directory, removal};
use crate::failure;
use crate::plan::{Jobs, Sizes, is_walled, is_written};
use crate::workload::layout::geometries;
use crate::workload::payload;
use crate::workload::tree::Shape;

/// The extended attribute that says which run wrote a file, and what the file was like then: its mark is no longer worth
/// anything when somebody has written into it since. File systems without such attributes go without the mark.
const MARK: &str = "user.ioassay";

/// As much of a file's beginning as is looked at.
const LOOKED_AT_BYTES: u64 = 16 * 1024;

/// As much as is looked at for what IOR writes: a shared file may go on with another rank's bytes behind it.
const A_PAGE: usize = 4096;

/// What a case has at paths that the user named.
#[derive(Debug, Clone)]
pub struct Placed {
    place: InPlace,
    run: String,
    /// The files that the case may write or remove.
    touched: Vec<PathBuf>,
    /// The trees that it may change.
    trees: Vec<(PathBuf, Planted)>,
}

/// The files of the sets that a plan writes or removes.
fn touched(plan: &Plan, place: &InPlace) -> Vec<PathBuf> {
    let written = plan.jobs().filter_map(|job| match &job.work {
        Work::Data(work) if work.transfer.writes() => Some(&work.files),
        _ => None,
    });
    let removed = plan.steps.iter().filter_map(|step| match step {
        Step::RemoveFiles { files } => Some(files),
        _ => None,
    });
    let sets: BTreeSet<&String> = written.chain(removed.flatten()).collect();
    let paths: BTreeSet<&PathBuf> = sets.into_iter().filter_map(|set| place.files.get(set)).flatten().collect();
    paths.into_iter().cloned().collect()
}

/// An error if the places cannot be used, if something else would be overwritten there, or if `bytes` in `files` entries
/// would not fit. Nothing is written.
pub fn check(plan: &Plan, place: &InPlace, bytes: u64, files: u64) -> Result<Room, Failure> {
    let room = directory::room_for(&place.directory, 0, files)?;
    if bytes > 0 {
        for (directory, needed) in needed(plan, place, bytes).into_values().filter(|(_, needed)| *needed > 0) {
            directory::room_for(&directory, needed, 0)?;
        }
    }
    new_trees(plan, place).try_for_each(|root| refuse_tree(&root))?;
    if !place.overwrite {
        touched(plan, place).iter().try_for_each(|path| may_replace(path))?;
    }
    Ok(room)
}

/// The roots of the trees that the case will create.
fn new_trees<'a>(plan: &'a Plan, place: &'a InPlace) -> impl Iterator<Item = PathBuf> + 'a {
    let new = place.trees.iter().filter(|(_, tree)| tree.there == There::Nothing);
    let shapes = new.filter_map(|(name, tree)| Some((tree, Shape::of(plan.trees.get(name)?, plan.rank_count()))));
    shapes.flat_map(|(tree, shape)| {
        let container = |number: u32| &tree.containers[number as usize % tree.containers.len()];
        (0..shape.trees).map(move |number| container(number).join(format!("{}0", shape.directory_prefix(number))))
    })
}

/// An error if there is a tree already: its entries have the names of ours, and would be removed for ours.
fn refuse_tree(root: &Path) -> Result<(), Failure> {
    if fs::symlink_metadata(root).is_err() {
        return Ok(());
    }
    let message = format!("{} exists: a tree is there already, which an earlier command has left", root.display());
    let remedy = "remove it as it was created (mdtest -r, with the same other options), or name another directory";
    Err(failure::about_path("create tree", root, message, remedy))
}

/// What of `bytes` each file system has still to find room for, by its number and with one of its directories. Files
/// may be in several, and what a file has already it does not need again.
fn needed(plan: &Plan, place: &InPlace, bytes: u64) -> BTreeMap<u64, (PathBuf, u64)> {
    let mut needed = BTreeMap::new();
    let mut add = |directory: &Path, bytes: u64| {
        let number = fs::metadata(directory).map_or(0, |about| about.dev());
        needed.entry(number).or_insert_with(|| (directory.to_owned(), 0)).1 += bytes;
    };
    let (mut of_trees, mut seen) = (bytes, BTreeSet::new());
    let sets = geometries(&plan.files, plan.rank_count());
    for (name, geometry) in sets.filter(|(name, _)| is_written(plan, name) && !is_walled(plan, name)) {
        of_trees = of_trees.saturating_sub(geometry.bytes());
        // Two sets may be in the same file: one that fills it, and one that is then written into it.
        for path in place.files.get(name).into_iter().flatten().filter(|path| seen.insert(*path)) {
            let there = fs::symlink_metadata(path).map_or(0, |about| about.blocks() * BLOCK_BYTES);
            let above = path.ancestors().skip(1).find(|above| above.is_dir()).unwrap_or(&place.directory);
            add(above, geometry.file_bytes.saturating_sub(there));
        }
    }
    add(&place.directory, of_trees);
    needed
}

/// The unit in which `stat` counts what a file takes.
const BLOCK_BYTES: u64 = 512;

/// An error if `path` is something that neither ioassay nor IOR nor IOzone wrote.
fn may_replace(path: &Path) -> Result<(), Failure> {
    let refuse = |what: &str| {
        let message = format!("{} exists and {what}: it is not overwritten", path.display());
        let remedy = "name another file, or say --overwrite if it may be lost";
        Err(failure::about_path("replace", path, message, remedy))
    };
    let about = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        about => about.map_err(|error| failure::on_path("stat", path, &error))?,
    };
    if !about.is_file() {
        return refuse("is no regular file");
    }
    if about.len() == 0 || is_marked(path, &about) {
        return Ok(());
    }
    match beginning(path) {
        Ok(begin) if payload::is_ior(&begin[..begin.len().min(A_PAGE)]) || payload::is_iozone(&begin) => Ok(()),
        Ok(_) => refuse("holds nothing that ioassay, IOR or IOzone wrote"),
        Err(error) => Err(failure::on_path("read", path, &error)),
    }
}

/// True if nobody has written into a file since a run of ours marked it.
fn is_marked(path: &Path, about: &Metadata) -> bool {
    let mark = xattr::get(path, MARK).ok().flatten().unwrap_or_default();
    mark.ends_with(format!(" {}", state(about)).as_bytes())
}

/// What a file is like: its size in bytes, and when it was last written, in seconds and nanoseconds since 1970.
fn state(about: &Metadata) -> String {
    format!("{} {}.{:09}", about.size(), about.mtime(), about.mtime_nsec())
}

fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut options = File::options();
    let file = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let mut begin = Vec::new();
    file.take(LOOKED_AT_BYTES).read_to_end(&mut begin)?;
    Ok(begin)
}

impl Placed {
    /// Creates the directories that the files need.
    pub fn create(plan: &Plan, place: &InPlace) -> Result<Self, Failure> {
        check(plan, place, 0, 0)?;
        for directory in &place.directories {
            match fs::create_dir(directory) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failure::on_path("create directory", directory, &error));
                }
                _ => {}
            }
        }
        Ok(Self::of(plan, place))
    }

    /// What the plan has at `place`, which another process has prepared.
    pub fn of(plan: &Plan, place: &InPlace) -> Self {
        let contents = Contents::of(plan);
        let trees = contents.trees_by_name().flat_map(|(name, planted)| {
            let containers = place.trees.get(&name).map(|tree| tree.containers.clone()).unwrap_or_default();
            containers.into_iter().map(move |container| (container, planted.clone()))
        });
        let touched = touched(plan, place);
        Self { place: place.clone(), run: plan.run.clone(), touched, trees: trees.collect() }
    }

    /// The directory that the user named.
    pub fn path(&self) -> &Path {
        &self.place.directory
    }

    /// The path of file number `file` of `set`.
    pub fn file(&self, set: &str, file: u64) -> PathBuf {
        self.place.files[set][file as usize].clone()
    }

    /// The directory that holds tree number `number` of `tree`.
    pub fn container(&self, tree: &str, number: u32) -> PathBuf {
        let containers = &self.place.trees[tree].containers;
        containers[number as usize % containers.len()].clone()
    }

    /// True if the entries of `tree` were there before.
    pub fn tree_exists(&self, tree: &str) -> bool {
        self.place.trees.get(tree).is_some_and(|tree| tree.there == There::Everything)
    }

    /// The files that it may write, and the directories that hold its trees.
    pub fn places(&self) -> Vec<String> {
        let containers: BTreeSet<&PathBuf> = self.trees.iter().map(|(container, _)| container).collect();
        self.touched.iter().chain(containers).map(|path| path.display().to_string()).collect()
    }

    /// Removes what the case may have written, or marks it where it stays.
    pub fn remove(&self) -> Removed {
        let mut removed = Removed::default();
        if self.place.keep {
            for path in &self.touched {
                // Where there are no such attributes the next one to write there must find out by itself.
                let mark = fs::symlink_metadata(path).map(|about| format!("{} {}", self.run, state(&about)));
                let _ = mark.and_then(|mark| xattr::set(path, MARK, mark.as_bytes()));
            }
            return removed;
        }
        for path in &self.touched {
            match fs::remove_file(path) {
                Ok(()) => removed.files += 1,
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => removed.left.push(Left { path: path.display().to_string(), because: error.to_string() }),
            }
        }
        let mut left = BTreeMap::new();
        for (container, tree) in &self.trees {
            let mut of_tree = Removed::default();
            if let Err(error) = remove_tree(container, tree, &mut of_tree) {
                let path = container.display().to_string();
                of_tree.left.push(Left { path, because: error.to_string() });
            }
            removed.files += of_tree.files;
            // To the first of two trees in one container the items of the second are strangers: the last word counts.
            left.insert(container, of_tree.left);
        }
        removed.left.extend(left.into_values().flatten());
        for directory in self.place.directories.iter().rev() {
            // One that holds something else, or was there before with something in it, stays.
            let _ = fs::remove_dir(directory);
        }
        removed
    }
}

fn remove_tree(container: &Path, tree: &Planted, removed: &mut Removed) -> io::Result<()> {
    let (Some(above), Some(name)) = (container.parent(), container.file_name()) else {
        return Err(io::Error::other("is no directory that can be removed"));
    };
    let named = CString::new(above.as_os_str().as_bytes())?;
    let open = match Mounted::own_directory(&named) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        open => open?,
    };
    let tree = Planted { container: name.to_string_lossy().into_owned(), ..tree.clone() };
    removal::remove_tree(&Mounted, &open, above, &tree, removed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A plan of two files of 64 KiB.
    fn plan(first: &Path, second: &Path) -> (Plan, InPlace) {
        let work = json!({
            "kind": "data", "files": "data", "transfer": "write", "order": "sequential", "fsync": "never",
        });
        let plan: Plan = serde_json::from_value(json!({
            "version": ioassay_contract::VERSION, "run": "r1", "case": "c1",
            "target": {"in-place": {"directory": first.parent().unwrap(), "files": {"data": [first, second]}}},
            "storage": {"api": "posix"}, "ranks": {"clients": 2, "per_client": 1},
            "files": {"data": {
                "layout": "N-N", "files_per_rank": 1, "transfer_bytes": 4096, "block_bytes": 65536, "segments": 1,
                "payload": {"kind": "repeated"},
            }},
            "steps": [{"step": "phase", "name": "write", "jobs": [{"name": "write", "work": work}]}],
            "seed": 1, "sample_interval_ns": 1_000_000_000,
        }))
        .unwrap();
        let ioassay_contract::plan::storage::Target::InPlace(place) = plan.target.clone() else { panic!() };
        (plan, place)
    }

    #[test]
    fn what_is_there_needs_no_room_again() {
        let directory = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| directory.path().join(name));
        let (plan, place) = plan(&first, &second);
        let needed = || needed(&plan, &place, plan.sure_bytes()).into_values().map(|(_, bytes)| bytes).sum::<u64>();
        assert_eq!(needed(), 2 * 65536);
        // On its way to the disk a file may not have its blocks yet.
        let file = File::create(&first).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[7; 65536], 0).unwrap();
        file.sync_all().unwrap();
        assert_eq!(needed(), 65536);
        // A hole is no room.
        File::create(&second).unwrap().set_len(65536).unwrap();
        assert_eq!(needed(), 65536);
    }

    #[test]
    fn each_file_system_is_asked_for_what_its_own_files_need() {
        let (one, other) = (tempfile::tempdir().unwrap(), Path::new("/dev/shm"));
        let (plan, place) = plan(&one.path().join("first"), &other.join("ioassay-no-such-directory/second"));
        let needed = needed(&plan, &place, plan.sure_bytes());
        let devices = [one.path(), other].map(|directory| fs::metadata(directory).unwrap().dev());
        if devices[0] == devices[1] {
            assert_eq!(needed[&devices[0]].1, 2 * 65536);
        } else {
            assert_eq!((needed[&devices[0]].1, needed[&devices[1]].1), (65536, 65536));
        }
    }
}
