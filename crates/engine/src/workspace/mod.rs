//! The workspace of a run: what is the run's own on its target, and the guard of everything outside it.
//!
//! * It is created by the engine and by nobody else: what exists under its name is refused.
//! * It is marked by a file that says, before any of them exists, which files will be created ([`list`]).
//! * Removal goes by that list, name by name ([`removal`]), and never by a pattern. What is not on the list stays,
//!   and so does then the workspace.
//!
//! One kind per kind of target: a [`directory`] of a mounted file system or of an NFS [`export`], by the same rules
//! ([`marked`]), a [`prefix`] of an object store, and a block [`device`], which holds no user's data any more. What
//! a user placed by name ([`in_place`]) is in directories of the user's own, and is guarded file by file.
//! Not here: what is written into the files.

mod authorship;
mod claim;
pub mod contents;
mod device;
pub mod directory;
mod export;
pub mod in_place;
pub mod kept;
mod list;
mod marked;
mod place;
mod prefix;
mod removal;
mod room;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ioassay_protocol::events::{Failure, Removed};
use ioassay_protocol::plan::Plan;
use ioassay_protocol::plan::storage::Target;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;

use self::contents::Contents;
use self::device::Device;
use self::directory::Directory;
use self::export::Export;
use self::in_place::{Placed, Removal};
use self::list::LIST;
use self::prefix::Prefix;
pub use self::room::Room;
use crate::beneath::{Resolver, Root};
use crate::plan::Sizes;
use crate::storage::nfs::location::is_nfs;
use crate::workload::dataset;
use crate::workload::layout::{Geometry, file_name};
use crate::workload::tree::container_name;

/// A workspace that exists.
#[derive(Debug, Clone)]
pub enum Workspace {
    /// A directory of a mounted file system.
    Directory(Directory),
    /// Files and trees where the user named them.
    Placed(Placed),
    /// A prefix of an object store.
    Prefix(Prefix),
    /// A directory of an NFS export.
    Export(Export),
    /// A block device.
    Device(Arc<Device>),
}

impl Workspace {
    /// An error if the plan's target cannot be used, if the run has a workspace there already, or if `bytes` in `files`
    /// files would not fit. Nothing is written.
    pub fn check(plan: &Plan, bytes: u64, files: u64) -> Result<Room, Failure> {
        kept::check(plan)?;
        match &plan.target {
            Target::Directory(directory) => directory::check(directory, &plan.run, bytes, files),
            Target::InPlace(place) => in_place::check(plan, place, bytes, files),
            Target::Url(url) if is_nfs(url) => Export::check(url, &plan.run, bytes, files),
            Target::Url(url) => Prefix::check(url, &plan.run),
            Target::Device(device) => device::check(&device.path, &plan.files, plan.rank_count()),
        }
    }

    /// Creates the workspace of the plan's run for `contents`.
    pub fn create(plan: &Plan, contents: &Contents) -> Result<Self, Failure> {
        kept::create(plan)?;
        match &plan.target {
            Target::Directory(directory) => Directory::create(directory, &plan.run, contents).map(Self::Directory),
            Target::InPlace(place) => Placed::create(plan, place).map(Self::Placed),
            Target::Url(url) if is_nfs(url) => Export::create(url, &plan.run, contents).map(Self::Export),
            Target::Url(url) => Prefix::create(url, &plan.run, contents).map(Self::Prefix),
            Target::Device(device) => {
                let device = Device::claim(&device.path, &plan.files, plan.rank_count())?;
                Ok(Self::Device(Arc::new(device)))
            }
        }
    }

    /// The workspace that another process of the run has created, and its [`Workspace::token`], as this one sees it. Nothing
    /// is asked of the target.
    pub fn join(plan: &Plan, token: Option<String>) -> Result<Self, Failure> {
        match &plan.target {
            Target::Directory(directory) => Ok(Self::Directory(Directory::of(directory, &plan.run, token))),
            Target::InPlace(place) => Ok(Self::Placed(Placed::of(plan, place))),
            Target::Url(url) if is_nfs(url) => Export::of(url, &plan.run).map(Self::Export),
            Target::Url(url) => Prefix::of(url, &plan.run).map(Self::Prefix),
            Target::Device(device) => {
                let device = Device::of(&device.path, &plan.files, plan.rank_count())?;
                Ok(Self::Device(Arc::new(device)))
            }
        }
    }

    /// Opens a workspace that an earlier process left, by its [`Workspace::name`]. `None` if it is gone. One whose
    /// target is gone may be on a file system that is not mounted now, and is refused like anything that is no workspace.
    pub fn open(name: &Path) -> Result<Option<Self>, Failure> {
        if let Some(url) = name.to_str().filter(|name| name.contains("://")) {
            return if is_nfs(url) {
                Ok(Export::open(url)?.map(Self::Export))
            } else {
                Ok(Prefix::open(url)?.map(Self::Prefix))
            };
        }
        let gone = !name.exists() && name.parent().is_some_and(Path::is_dir);
        if gone { Ok(None) } else { Directory::open(name).map(Self::Directory).map(Some) }
    }

    /// What paths in it begin with.
    pub fn path(&self) -> &Path {
        match self {
            Self::Directory(directory) => directory.path(),
            Self::Placed(placed) => placed.path(),
            Self::Prefix(prefix) => prefix.path(),
            Self::Export(export) => export.path(),
            Self::Device(device) => device.path(),
        }
    }

    /// What other processes must know to join it, where something could be put in its place.
    pub fn token(&self) -> Option<&str> {
        if let Self::Directory(directory) = self { directory.token() } else { None }
    }

    /// The directory beneath which its files are opened; `None` where the user named the files, or where they are behind a
    /// URL. An error is that it is not where it was created.
    pub fn root(&self) -> io::Result<Option<Arc<Root>>> {
        if let Self::Directory(directory) = self { directory.root().map(Some) } else { Ok(None) }
    }

    /// Closes all that is open of it until it is needed again.
    pub fn release(&self) {
        if let Self::Directory(directory) = self {
            directory.release();
        }
    }

    /// Opens one of its files or directories to look at it. What else may lie there, such as a pipe, is not waited for.
    pub fn open_to_read(&self, path: &Path) -> io::Result<File> {
        match self.root()?.filter(|_| path.starts_with(self.path())) {
            Some(root) => Resolver::new(Some(&root)).open(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK, Mode::empty()),
            // What the user named may be a link. Kept datasets lie elsewhere.
            None => File::open(path),
        }
    }

    /// True if it had nothing in it when the case began, and files are created in it.
    pub fn is_new(&self) -> bool {
        matches!(self, Self::Directory(_))
    }

    /// Where file number `file` of a file set of `case` is: its path and, on a device, its first byte.
    pub fn place_of(&self, case: &str, set: &str, geometry: &Geometry, file: u64) -> (PathBuf, u64) {
        match self {
            Self::Device(device) => (device.path().to_owned(), device.begin_bytes(set, geometry, file)),
            Self::Placed(placed) => (placed.file(set, file), 0),
            Self::Directory(_) | Self::Prefix(_) | Self::Export(_) => {
                (self.file(&file_name(case, set, geometry, file)), 0)
            }
        }
    }

    /// The directory that holds tree number `number` of `tree`.
    pub fn container_of(&self, case: &str, tree: &str, number: u32) -> PathBuf {
        match self {
            Self::Placed(placed) => placed.container(tree, number),
            Self::Device(_) | Self::Directory(_) | Self::Prefix(_) | Self::Export(_) => {
                self.file(&container_name(case, tree))
            }
        }
    }

    /// True if the entries of `tree` were there before the case.
    pub fn tree_exists(&self, tree: &str) -> bool {
        matches!(self, Self::Placed(placed) if placed.tree_exists(tree))
    }

    /// Something that is there from the beginning, to learn from it what the target is like.
    pub fn sample(&self) -> PathBuf {
        match self {
            Self::Device(_) | Self::Placed(_) => self.path().to_owned(),
            Self::Directory(_) | Self::Prefix(_) | Self::Export(_) => self.file(LIST),
        }
    }

    /// Its name, by which another command may open it again.
    pub fn name(&self) -> String {
        match self {
            Self::Directory(_) | Self::Placed(_) | Self::Device(_) => self.path().display().to_string(),
            Self::Prefix(prefix) => prefix.url(),
            Self::Export(export) => export.url(),
        }
    }

    /// Where something of it may lie.
    pub fn places(&self) -> Vec<String> {
        match self {
            Self::Placed(placed) => placed.places(),
            Self::Directory(_) | Self::Device(_) | Self::Prefix(_) | Self::Export(_) => vec![self.name()],
        }
    }

    /// The path of file number `file` of a dataset of `plan`: in the workspace, or where the dataset is kept.
    pub fn dataset_file(&self, plan: &Plan, dataset: &str, file: u64) -> PathBuf {
        let mut path = self.dataset_prefix(plan, dataset).into_os_string();
        let mut name = String::new();
        dataset::push_name(&plan.datasets[dataset], file, &mut name);
        path.push(name);
        path.into()
    }

    /// What the paths of all files of a dataset of `plan` begin with.
    pub fn dataset_prefix(&self, plan: &Plan, dataset: &str) -> PathBuf {
        match (&plan.datasets[dataset].keep, plan.target.path()) {
            (Some(name), Some(target)) => kept::directory(target, name).join(kept::PREFIX),
            _ => self.file(&dataset::name_prefix(&plan.case, dataset)),
        }
    }

    /// The path of one of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Removes one of its files, which the case has `written` by now or not.
    pub fn remove_file(&self, path: &Path, written: bool) -> io::Result<Removal> {
        if let Self::Placed(placed) = self {
            return placed.remove_file(path, written);
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Removal::Absent),
            removed => removed.map(|()| Removal::Removed),
        }
    }

    /// Removes what is on its list, and itself. What could not be removed is named.
    pub fn remove(&self) -> Removed {
        self.remove_after(false)
    }

    /// The same after ranks were `abandoned`, which may have left calls behind that a server still carries out.
    pub fn remove_after(&self, abandoned: bool) -> Removed {
        match self {
            Self::Directory(directory) => directory.remove(),
            Self::Placed(placed) => placed.remove(),
            Self::Prefix(prefix) => prefix.remove(abandoned),
            Self::Export(export) => export.remove(),
            Self::Device(_) => Removed::default(),
        }
    }
}
