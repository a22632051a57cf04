//! A workspace that is a directory with a list of what will be in it, wherever that directory is.
//!
//! Its rules: it is created by the engine, and what exists under its name is refused; its list is written before anything
//! else; what is on the list is removed by name, and what is not stays, is named, and keeps list and directory.
//! Not here: how a place is reached ([`super::place`]).

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ioassay_contract::events::{Failure, Left, Removed};

use super::contents::Contents;
use super::place::{Kind, Place};
use super::{LIST, Mark, removal};
use crate::failure;

/// [`LIST`] as system calls want it.
const LIST_NAME: &CStr = c".ioassay-workspace";

/// The name of a run's workspace.
pub(super) fn name_of(run: &str) -> String {
    format!("ioassay-{run}")
}

/// A directory that is, or is to be, a workspace.
pub(super) struct Marked<'a, P: Place> {
    /// Where it is.
    pub place: &'a P,
    /// The directory that it is in, open.
    pub target: &'a P::Open,
    /// What people call it: a path or a URL without its query.
    pub path: &'a Path,
}

impl<P: Place> Marked<'_, P> {
    fn name(&self) -> io::Result<CString> {
        let name = self.path.file_name().ok_or(io::ErrorKind::NotFound)?;
        Ok(CString::new(name.as_bytes())?)
    }

    fn failed(&self, operation: &str, error: &io::Error) -> Failure {
        failure::on_path(operation, self.path, error)
    }

    /// An error if anything has its name.
    pub fn refuse_existing(&self) -> Result<(), Failure> {
        let found = self.name().and_then(|name| self.place.kind(self.target, &name));
        if found.map_err(|error| self.failed("stat", &error))?.is_none() {
            return Ok(());
        }
        Err(exists(self.path))
    }

    /// Creates it for the `contents` of `run`.
    pub fn create(&self, run: &str, contents: &Contents) -> Result<(), Failure> {
        self.refuse_existing()?;
        let name = self.name().map_err(|error| self.failed("create directory", &error))?;
        // It fails if anything has that name, so from here on the directory is ours; nobody else may enter.
        self.place.make(self.target, &name).map_err(|error| self.failed("create directory", &error))?;
        let written = self.place.open(self.target, &name).and_then(|own| {
            let written = self.place.create(&own, LIST_NAME, list(run, contents).as_bytes());
            if written.is_err() {
                // Only the list can be in it.
                let _ = self.place.unlink(&own, LIST_NAME);
            }
            written
        });
        written.map_err(|error| {
            let _ = self.place.rmdir(self.target, &name);
            failure::on_path("write", &self.path.join(LIST), &error)
        })
    }

    /// True if its list says that it is the workspace of that name, or if whoever created it came no further. An error is that
    /// this cannot be told.
    pub fn is_ours(&self) -> io::Result<bool> {
        let own = self.open()?;
        match self.read_list(&own) {
            Ok((mark, _)) => Ok(self.path.file_name().is_some_and(|name| name == name_of(&mark.run).as_str())),
            Err(_) => self.is_begun(&own),
        }
    }

    /// Opens it.
    pub fn open(&self) -> io::Result<P::Open> {
        self.place.open(self.target, &self.name()?)
    }

    /// True if its name is that of a workspace, and nothing is in it but the beginning of its list: the engine was ended between
    /// creating it and having written that.
    fn is_begun(&self, own: &P::Open) -> io::Result<bool> {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(run) = name.strip_prefix(&name_of("")) else { return Ok(false) };
        let written = match self.place.read(own, LIST_NAME) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            written => written?,
        };
        let list = list(run, &Contents::default());
        let mark = list.split_inclusive('\n').next().unwrap_or_default().as_bytes();
        let in_mark = mark.starts_with(&written);
        let in_contents = written.starts_with(mark) && !written[mark.len()..].contains(&b'\n');
        let only = removal::first_name(self.place, own, |name| name != LIST_NAME)?.is_none();
        Ok(only && (in_mark || in_contents))
    }

    /// What its name stands for.
    pub fn kind(&self) -> io::Result<Option<Kind>> {
        self.place.kind(self.target, &self.name()?)
    }

    fn read_list(&self, own: &P::Open) -> io::Result<(Mark, Contents)> {
        let list = self.place.read(own, LIST_NAME)?;
        let end = list.iter().position(|&byte| byte == b'\n').ok_or(io::ErrorKind::InvalidData)?;
        Ok((serde_json::from_slice(&list[..end])?, serde_json::from_slice(&list[end..])?))
    }

    /// Removes what is on its list, the list, and itself. What could not be removed is named.
    pub fn remove(&self) -> Removed {
        let mut removed = Removed::default();
        if let Err((path, error)) = self.remove_into(&mut removed) {
            removed.left.push(left(&path, &error));
        }
        removed
    }

    fn remove_into(&self, removed: &mut Removed) -> Result<(), (PathBuf, io::Error)> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error: io::Error| (path, error)
        };
        let name = self.name().map_err(at(self.path))?;
        let own = match self.place.open(self.target, &name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            own => own.map_err(at(self.path))?,
        };
        let list = self.path.join(LIST);
        let contents = match self.read_list(&own) {
            Ok((_, contents)) => contents,
            Err(_) if self.is_begun(&own).map_err(at(self.path))? => Contents::default(),
            Err(error) => return Err(at(&list)(error)),
        };
        for name in contents.file_names() {
            match name_of_ours(&name).and_then(|name| removal::remove_file(self.place, &own, &name)) {
                Ok(existed) => removed.files += u64::from(existed),
                Err(error) => removed.left.push(left(&self.path.join(&name), &error)),
            }
        }
        for tree in contents.trees() {
            match name_of_ours(&tree.container) {
                Ok(_) => removal::remove_tree(self.place, &own, self.path, &tree, removed),
                Err(error) => removed.left.push(left(&self.path.join(&tree.container), &error)),
            }
        }
        if !removed.left.is_empty() {
            return Ok(());
        }
        // The list goes last, and only if nothing else is left: without it nobody could remove the rest.
        if let Some(other) = removal::first_name(self.place, &own, |name| name != LIST_NAME).map_err(at(self.path))? {
            let because = io::Error::other("is not on the list of files that ioassay created");
            removed.left.push(left(&self.path.join(removal::as_path(&other)), &because));
            return Ok(());
        }
        match self.place.unlink(&own, LIST_NAME) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&list)(error)),
            _ => {}
        }
        self.place.rmdir(self.target, &name).map_err(at(self.path))
    }
}

/// The list of a workspace: whose it is, and what will be in it.
pub(super) fn list(run: &str, contents: &Contents) -> String {
    let mark = Mark { ioassay_workspace: 2, run: run.to_owned() };
    let [mark, contents] = [serde_json::to_string(&mark), serde_json::to_string(contents)]
        .map(|line| line.expect("our own types are JSON"));
    format!("{mark}\n{contents}\n")
}

/// What exists already under the name of a workspace.
pub(super) fn exists(path: &Path) -> Failure {
    let message = format!("{} exists already: it is not this run's own", path.display());
    let remedy =
        "if an interrupted run left it, `ioassay clean RUN` removes it; otherwise start a run with another name";
    failure::about_path("create directory", path, message, remedy)
}

/// What is no workspace, or not of the name that it has; `called` is how the user names such a one.
pub(super) fn not_ours(path: &Path, called: &str) -> Failure {
    let message = format!("{} is not a workspace of ioassay: nothing in it is touched", path.display());
    failure::about_path(
        "open workspace",
        path,
        message,
        &format!("name the {called} that the run left under its target"),
    )
}

fn left(path: &Path, because: &io::Error) -> Left {
    Left { path: path.display().to_string(), because: because.to_string() }
}

/// A name in the workspace as system calls want it. A list that names anything else was not written by us.
pub(super) fn name_of_ours(name: &str) -> io::Result<CString> {
    if name.is_empty() || name.contains('/') || name == "." || name == ".." || name == LIST {
        return Err(io::Error::other("is no name of a file of ours"));
    }
    Ok(CString::new(name)?)
}
