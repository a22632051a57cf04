//! The workspace of a run, wherever its target is.
//!
//! One kind per kind of target, all with the same rules ([`super`]): a directory of a mounted file system, or a
//! prefix behind a URL.

use std::path::{Path, PathBuf};

use ioassay_contract::events::{Failure, Removed};
use ioassay_contract::plan::storage::Target;

use super::contents::Contents;
use super::prefix::Prefix;
use super::{Room, Workspace};

/// A workspace that exists.
#[derive(Debug, Clone)]
pub enum Area {
    /// A directory of a mounted file system.
    Directory(Workspace),
    /// A prefix behind a URL.
    Prefix(Prefix),
}

impl Area {
    /// An error if `target` cannot be used, if `run` has a workspace there already, or if `bytes` in `files` files
    /// would not fit. Nothing is written.
    pub fn check(target: &Target, run: &str, bytes: u64, files: u64) -> Result<Room, Failure> {
        match target {
            Target::Directory(directory) => super::check(directory, run, bytes, files),
            Target::Url(url) => Prefix::check(url, run),
            Target::Device(_) => todo!("devices"),
        }
    }

    /// Creates the workspace of `run` under `target` for `contents`.
    pub fn create(target: &Target, run: &str, contents: &Contents) -> Result<Self, Failure> {
        match target {
            Target::Directory(directory) => Workspace::create(directory, run, contents).map(Self::Directory),
            Target::Url(url) => Prefix::create(url, run, contents).map(Self::Prefix),
            Target::Device(_) => todo!("devices"),
        }
    }

    /// Opens a workspace that an earlier process left, by its [`Area::name`]. `None` if it is gone. One whose target
    /// is gone may be on a file system that is not mounted now, and is refused like anything that is no workspace.
    pub fn open(name: &Path) -> Result<Option<Self>, Failure> {
        if let Some(url) = name.to_str().filter(|name| name.contains("://")) {
            return Ok(Prefix::open(url)?.map(Self::Prefix));
        }
        let gone = !name.exists() && name.parent().is_some_and(Path::is_dir);
        if gone { Ok(None) } else { Workspace::open(name).map(Self::Directory).map(Some) }
    }

    /// What paths in it begin with.
    pub fn path(&self) -> &Path {
        match self {
            Self::Directory(directory) => directory.path(),
            Self::Prefix(prefix) => prefix.path(),
        }
    }

    /// What it is called where somebody may open it again.
    pub fn name(&self) -> String {
        match self {
            Self::Directory(directory) => directory.path().display().to_string(),
            Self::Prefix(prefix) => prefix.url(),
        }
    }

    /// The path of one of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Removes what is on its list, and itself. What could not be removed is named.
    pub fn remove(&self) -> Removed {
        match self {
            Self::Directory(directory) => directory.remove(),
            Self::Prefix(prefix) => prefix.remove(),
        }
    }
}
