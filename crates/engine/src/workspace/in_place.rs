//! Files and trees at paths that the user named: none of them is in a directory of the run.
//!
//! The real IOR deletes whatever lies at the path of its test file. Here a file that is there already is replaced only
//! if it is regular and known whose it is: it bears our mark (the extended attribute [`MARK`]), it holds what IOR or
//! IOzone write with this geometry ([`authorship`]), or it is empty. What a case has not written it removes only with
//! the mark.
//! `overwrite` is for regular files: it lifts these guards, and none for devices, pipes, sockets and links. Trees need no
//! such proof: mdtest's names are it, and what is not so called is not touched.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ioassay_protocol::events::{Failure, Left, Removed};
use ioassay_protocol::plan::storage::{InPlace, There};
use ioassay_protocol::plan::{Plan, Step};
use xattr::FileExt as _;

use super::authorship::Expected;
use super::contents::{Contents, WorkspaceTree};
use super::place::Mounted;
use super::room::Room;
use super::{directory, removal};
use crate::failure;
use crate::plan::Sizes;
use crate::storage;
use crate::work::sizes::{is_walled, is_written};
use crate::workload::layout::{Geometry, geometries};
use crate::workload::tree::Shape;

/// The extended attribute that says which run wrote a file, and what the file was like then: its mark is no longer worth
/// anything when it has been written into since. File systems without such attributes go without the mark.
const MARK: &str = "user.ioassay";

/// What a case has at paths that the user named.
#[derive(Debug, Clone)]
pub struct Placed {
    place: InPlace,
    run: String,
    /// The files that the case may write or remove.
    touched: BTreeMap<PathBuf, Touched>,
    /// The trees that it may change.
    trees: Vec<(PathBuf, WorkspaceTree)>,
}

/// A file that a case may write or remove.
#[derive(Debug, Clone)]
struct Touched {
    /// The case writes it.
    written: bool,
    /// What IOR would have left there; one for each file set that is in the file.
    expected: Vec<Expected>,
}

/// What happened to a file that was to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It was there, and is gone.
    Removed,
    /// Nothing was there.
    Absent,
    /// It stays: nothing says that ioassay wrote it.
    Kept,
}

/// The files of the sets that a plan writes or removes.
fn touched(plan: &Plan, place: &InPlace) -> BTreeMap<PathBuf, Touched> {
    if !storage::keeps_files(plan) {
        return BTreeMap::new();
    }
    let removed: BTreeSet<&String> = plan
        .steps
        .iter()
        .filter_map(|step| if let Step::RemoveFiles { files } = step { Some(files) } else { None })
        .flatten()
        .collect();
    let mut touched: BTreeMap<PathBuf, Touched> = BTreeMap::new();
    for (name, set) in &plan.files {
        let written = is_written(plan, name);
        if !written && !removed.contains(name) {
            continue;
        }
        let geometry = Geometry::of(set, plan.rank_count());
        for (number, path) in (0..).zip(place.files.get(name).into_iter().flatten()) {
            let expected = Expected { geometry, file: number, payload: set.payload };
            let known = touched.entry(path.clone()).or_insert_with(|| Touched { written: false, expected: Vec::new() });
            known.written |= written;
            known.expected.push(expected);
        }
    }
    touched
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
    for (path, touched) in touched(plan, place).iter().filter(|(_, touched)| touched.written) {
        may_replace(path, touched, place.overwrite)?;
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
    let message = format!("{} already exists: an earlier command left a tree there", root.display());
    let remedy = "remove it the way it was created (mdtest -r with the same other options), or use another directory";
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

/// An error if `path` is no regular file, or, without `overwrite`, one that neither ioassay nor IOR nor IOzone wrote.
fn may_replace(path: &Path, touched: &Touched, overwrite: bool) -> Result<(), Failure> {
    let refuse = |what: &str, remedy: &str| {
        let message = format!("{} exists and {what}: not overwritten", path.display());
        Err(failure::about_path("replace", path, message, remedy))
    };
    let about = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        about => about.map_err(|error| failure::on_path("stat", path, &error))?,
    };
    if !about.is_file() {
        return refuse("is not a regular file", NO_FILE);
    }
    if overwrite || about.len() == 0 {
        return Ok(());
    }
    match is_known(path, touched) {
        Ok(true) => Ok(()),
        Ok(false) => refuse(
            "does not look like a file that ioassay, IOR or IOzone wrote with these sizes and ranks",
            SAY_OVERWRITE,
        ),
        Err(error) => Err(failure::on_path("read", path, &error)),
    }
}

/// What to do about a file that is not ours.
pub const SAY_OVERWRITE: &str = "use another file, or add --overwrite if its data may be lost";

const NO_FILE: &str = "use a regular file; to measure a block device, use `ioassay run` with --target DEVICE \
                       --destroy-data DEVICE, or obdfilter-survey: --overwrite never applies to devices";

/// True if it is known who wrote the file that is at `path`.
fn is_known(path: &Path, touched: &Touched) -> io::Result<bool> {
    let (file, about) = open_regular(path)?;
    if about.len() == 0 || is_marked(&file, &about) {
        return Ok(true);
    }
    let mut wrote = touched.expected.iter().map(|expected| expected.wrote(&file, &about));
    wrote.try_fold(false, |known, wrote| Ok(known || wrote?))
}

/// The regular file at `path`, and what it is like. No link is followed, and no device or pipe opened for long.
fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let file = File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let about = file.metadata()?;
    if about.is_file() { Ok((file, about)) } else { Err(io::Error::other("is not a regular file")) }
}

/// True if nobody has written into a file since a run of ours marked it.
fn is_marked(file: &File, about: &Metadata) -> bool {
    let mark = file.get_xattr(MARK).ok().flatten().unwrap_or_default();
    mark.ends_with(format!(" {}", state(about)).as_bytes())
}

/// What a file is like: its size in bytes, and when it was last written, in seconds and nanoseconds since 1970.
fn state(about: &Metadata) -> String {
    format!("{} {}.{:09}", about.size(), about.mtime(), about.mtime_nsec())
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
        self.touched.keys().chain(containers).map(|path| path.display().to_string()).collect()
    }

    /// Removes the file at `path`, if it is one of the case's: what the case has `written` by now, what it replaces, and
    /// what it only reads if that has the mark.
    ///
    /// # Errors
    /// If it is no regular file, or cannot be removed.
    pub fn remove_file(&self, path: &Path, written: bool) -> io::Result<Removal> {
        let about = match fs::symlink_metadata(path) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Removal::Absent);
            }
            about => about?,
        };
        let Some(touched) = self.touched.get(path) else { return Ok(Removal::Kept) };
        let ours = match (about.is_file(), touched.written) {
            (false, false) => false,
            (false, true) => {
                return Err(io::Error::other("is not a regular file, so it is not the one that ioassay created"));
            }
            (true, _) if written || self.place.overwrite => true,
            (true, true) => is_known(path, touched)?,
            (true, false) => open_regular(path).is_ok_and(|(file, about)| is_marked(&file, &about)),
        };
        if !ours {
            return Ok(Removal::Kept);
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Removal::Absent),
            removed => removed.map(|()| Removal::Removed),
        }
    }

    /// Removes what the case may have written, or marks it where it stays.
    pub fn remove(&self) -> Removed {
        let mut removed = Removed::default();
        if self.place.keep {
            for path in self.touched.iter().filter(|(_, touched)| touched.written).map(|(path, _)| path) {
                // Where there are no such attributes the next one to write there must find out by itself.
                let _ = open_regular(path).and_then(|(file, about)| {
                    file.set_xattr(MARK, format!("{} {}", self.run, state(&about)).as_bytes())
                });
            }
            return removed;
        }
        for (path, touched) in &self.touched {
            match self.remove_file(path, touched.written) {
                Ok(Removal::Removed) => removed.files += 1,
                // Of what the case has only read, the step that was to remove it has reported that.
                Ok(Removal::Absent | Removal::Kept) => {}
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

fn remove_tree(container: &Path, tree: &WorkspaceTree, removed: &mut Removed) -> io::Result<()> {
    let (Some(above), Some(name)) = (container.parent(), container.file_name()) else {
        return Err(io::Error::other("is not a directory that can be removed"));
    };
    let named = CString::new(above.as_os_str().as_bytes())?;
    let open = match Mounted::own_directory(&named) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        open => open?,
    };
    let tree = WorkspaceTree { container: name.to_string_lossy().into_owned(), ..tree.clone() };
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
            "version": ioassay_protocol::VERSION, "run": "r1", "case": "c1",
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
        let ioassay_protocol::plan::storage::Target::InPlace(place) = plan.target.clone() else { panic!() };
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
        let (first, second) = (tempfile::tempdir().unwrap(), Path::new("/dev/shm"));
        let (plan, place) = plan(&first.path().join("first"), &second.join("ioassay-no-such-directory/second"));
        let needed = needed(&plan, &place, plan.sure_bytes());
        let devices = [first.path(), second].map(|directory| fs::metadata(directory).unwrap().dev());
        if devices[0] == devices[1] {
            assert_eq!(needed[&devices[0]].1, 2 * 65536);
        } else {
            assert_eq!((needed[&devices[0]].1, needed[&devices[1]].1), (65536, 65536));
        }
    }
}
