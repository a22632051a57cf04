//! Files and trees at paths that the user named: nothing of them is in a directory of the run's own.
//!
//! The real IOR deletes whatever lies where it is told to write. Here a file that is there already is replaced or
//! removed only if it can be told who wrote it: it bears our mark (the extended attribute [`MARK`]), it holds what IOR
//! writes ([`crate::workload::payload::is_ior`]), or it is empty. Trees need no such proof: mdtest's names are it, and what is not
//! so called is not touched.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ioassay_contract::events::{Failure, Left, Removed};
use ioassay_contract::plan::storage::{InPlace, There};
use ioassay_contract::plan::{Plan, Step, Work};

use super::contents::{Contents, Planted};
use super::{Room, directory, removal};
use crate::failure;
use crate::plan::{Jobs, Sizes};
use crate::workload::payload;
use crate::workload::tree::Shape;

/// The extended attribute that says which run wrote a file. File systems without such attributes go without the mark.
const MARK: &str = "user.ioassay";

/// As much of a file's beginning as is looked at.
const LOOKED_AT_BYTES: u64 = 4096;

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
    let touched = touched(plan, place);
    // What is replaced makes room.
    let replaced: u64 = touched.iter().filter_map(|path| Some(fs::symlink_metadata(path).ok()?.blocks() * 512)).sum();
    let room = directory::room_for(&place.directory, bytes.saturating_sub(replaced), files)?;
    new_trees(plan, place).try_for_each(|root| refuse_tree(&root))?;
    if !place.overwrite {
        touched.iter().try_for_each(|path| may_replace(path))?;
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

/// An error if `path` is something that neither ioassay nor IOR wrote.
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
    if about.len() == 0 || matches!(xattr::get(path, MARK), Ok(Some(_))) {
        return Ok(());
    }
    match beginning(path) {
        Ok(begin) if payload::is_ior(&begin) => Ok(()),
        Ok(_) => refuse("holds nothing that ioassay or IOR wrote"),
        Err(error) => Err(failure::on_path("read", path, &error)),
    }
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
        let contents = Contents::of(plan);
        let trees = contents.trees_by_name().flat_map(|(name, planted)| {
            let containers = place.trees.get(&name).map(|tree| tree.containers.clone()).unwrap_or_default();
            containers.into_iter().map(move |container| (container, planted.clone()))
        });
        let touched = touched(plan, place);
        Ok(Self { place: place.clone(), run: plan.run.clone(), touched, trees: trees.collect() })
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

    /// Removes what the case may have written, or marks it where it stays.
    pub fn remove(&self) -> Removed {
        let mut removed = Removed::default();
        if self.place.keep {
            for path in &self.touched {
                // Where there are no such attributes the next one to write there must find out by itself.
                let _ = xattr::set(path, MARK, self.run.as_bytes());
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
    let open = match removal::open_directory(nix::fcntl::AT_FDCWD, &named) {
        Err(nix::errno::Errno::ENOENT) => return Ok(()),
        open => open?,
    };
    let tree = Planted { container: name.to_string_lossy().into_owned(), ..tree.clone() };
    removal::remove_tree(&open, above, &tree, removed);
    Ok(())
}
