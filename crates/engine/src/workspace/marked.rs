//! A workspace that is a directory with a list of what will be in it, wherever that directory is.
//!
//! Its rules: it is created by the engine, and what exists under its name is refused; its list is written before anything
//! else; what is on the list is removed by name, and what is not stays, is named, and keeps list and directory.
//! Not here: how a place is reached ([`super::place`]).

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ioassay_protocol::events::{Failure, Left, Removed};
use ioassay_protocol::plan::workspace_name;

use super::contents::Contents;
use super::list::{LIST, LIST_NAME, list, mark_of, name_of_ours, parse};
use super::place::{Kind, Moved, Place};
use super::removal;
use crate::failure;

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
        let kind = self.name().and_then(|name| self.place.kind(self.target, &name));
        if kind.map_err(|error| self.failed("stat", &error))?.is_none() {
            return Ok(());
        }
        Err(exists(self.path))
    }

    /// Creates it for the `contents` of `run`, and opens it.
    pub fn create(&self, run: &str, token: Option<String>, contents: &Contents) -> Result<P::Open, Failure> {
        self.refuse_existing()?;
        let name = self.name().map_err(|error| self.failed("create directory", &error))?;
        // It fails if anything has that name, so from here on the directory is ours; nobody else may enter.
        self.place.make(self.target, &name).map_err(|error| self.failed("create directory", &error))?;
        let written = self.place.open(self.target, &name).and_then(|directory| {
            let written = self.place.create(&directory, LIST_NAME, list(run, token, contents).as_bytes());
            if written.is_err() {
                // Only the list can be in it.
                let _ = self.place.unlink(&directory, LIST_NAME);
            }
            written.map(|()| directory)
        });
        written.map_err(|error| {
            let _ = self.place.rmdir(self.target, &name);
            failure::on_path("write", &self.path.join(LIST), &error)
        })
    }

    /// Opens it. `None` if its list does not say that it is the workspace of that name, with `token` where that is known. Where
    /// it is not, its creator may have come no further than to begin the list. An error: this is unknown.
    pub fn open(&self, token: Option<&str>) -> io::Result<Option<P::Open>> {
        let directory = self.place.open(self.target, &self.name()?)?;
        let written = self.read_list(&directory)?;
        let ours = match parse(&written) {
            Ok((mark, _)) => {
                let named = self.path.file_name().is_some_and(|name| name == workspace_name(&mark.run).as_str());
                named && (token.is_none() || token == mark.token.as_deref())
            }
            Err(_) if token.is_none() => self.is_begun(&directory, &written)?,
            Err(error) => return Err(error),
        };
        Ok(ours.then_some(directory))
    }

    /// What its list holds; nothing where there is none.
    fn read_list(&self, directory: &P::Open) -> io::Result<Vec<u8>> {
        match self.place.read(directory, LIST_NAME) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            written => written,
        }
    }

    /// True if its name is that of a workspace, and nothing is in it but the beginning of its list, `written`: the engine was
    /// ended between creating it and having written that.
    fn is_begun(&self, directory: &P::Open, written: &[u8]) -> io::Result<bool> {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(run) = name.strip_prefix(&workspace_name("")) else { return Ok(false) };
        let mark = mark_of(run, None);
        // The token and the contents come behind the name of the run; the last byte of a whole list is its second line feed.
        let sure = mark.trim_end_matches('}').as_bytes();
        let lines = written.iter().filter(|&&byte| byte == b'\n').count();
        let begins = sure.starts_with(written) || (written.starts_with(sure) && lines < 2);
        Ok(begins && removal::first_name(self.place, directory, |name| name != LIST_NAME)?.is_none())
    }

    /// What its name stands for.
    pub fn kind(&self) -> io::Result<Option<Kind>> {
        self.place.kind(self.target, &self.name()?)
    }

    /// Removes what is on the list of the open directory `directory`, the list, and the directory. What could not be
    /// removed is named.
    pub fn remove(&self, directory: &P::Open) -> Removed {
        let mut removed = Removed::default();
        if let Err((path, error)) = self.remove_into(directory, &mut removed) {
            removed.left.push(left(&path, &error));
        }
        removed
    }

    fn remove_into(&self, directory: &P::Open, removed: &mut Removed) -> Result<(), (PathBuf, io::Error)> {
        let failed_at = |path: &Path| {
            let path = path.to_owned();
            move |error: io::Error| (path, error)
        };
        let name = self.name().map_err(failed_at(self.path))?;
        let moved = self.place.moved(self.target, &name, directory).map_err(failed_at(self.path))?;
        if moved == Some(Moved::Removed) {
            return Ok(());
        }
        let list = self.path.join(LIST);
        let written = self.read_list(directory).map_err(failed_at(&list))?;
        let contents = match parse(&written) {
            Ok((_, contents)) => contents,
            Err(_) if self.is_begun(directory, &written).map_err(failed_at(self.path))? => Contents::default(),
            Err(error) => return Err(failed_at(&list)(error)),
        };
        for name in contents.file_names() {
            match name_of_ours(&name).and_then(|name| removal::remove_file(self.place, directory, &name)) {
                Ok(existed) => removed.files += u64::from(existed),
                Err(error) => removed.left.push(left(&self.path.join(&name), &error)),
            }
        }
        for (folder, files) in contents.subfolders() {
            match name_of_ours(&folder) {
                Ok(name) => removal::remove_subfolder(self.place, directory, (self.path, &name), files, removed),
                Err(error) => removed.left.push(left(&self.path.join(&folder), &error)),
            }
        }
        for tree in contents.trees() {
            match name_of_ours(&tree.container) {
                Ok(_) => removal::remove_tree(self.place, directory, self.path, &tree, removed),
                Err(error) => removed.left.push(left(&self.path.join(&tree.container), &error)),
            }
        }
        if let Some(Moved::To(now)) = moved {
            return Err((self.path.to_owned(), io::Error::other(swapped(self.path, now.as_deref()))));
        }
        if !removed.left.is_empty() {
            return Ok(());
        }
        // The list goes last, and only if nothing else is left: without it nobody could remove the rest.
        if let Some(other) =
            removal::first_name(self.place, directory, |name| name != LIST_NAME).map_err(failed_at(self.path))?
        {
            let because = io::Error::other("is not on the list of files that ioassay created");
            removed.left.push(left(&self.path.join(removal::as_path(&other)), &because));
            return Ok(());
        }
        match self.place.unlink(directory, LIST_NAME) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed_at(&list)(error)),
            _ => {}
        }
        let Err(error) = self.place.rmdir(self.target, &name) else { return Ok(()) };
        // Something has appeared in it since. The list comes back, for the user who removes the rest.
        match self.place.create(directory, LIST_NAME, &written) {
            Err(lost) if lost.kind() != io::ErrorKind::AlreadyExists => Err((
                self.path.to_owned(),
                io::Error::other(format!("{error}, and its list of files cannot be restored: {lost}")),
            )),
            _ => Err((self.path.to_owned(), error)),
        }
    }
}

/// What is to be said of a workspace whose `path` does not lead to it any more, and where it lies `now`.
fn swapped(path: &Path, now: Option<&Path>) -> String {
    let what = "no longer leads to the directory that the run created";
    match now {
        Some(now) if now == path => {
            format!("{what}: another file system is mounted over it; unmount that, then clean again")
        }
        Some(now) => format!("{what}, which is now at {}; remove it there", now.display()),
        None => format!("{what}, and where that directory is now is unknown"),
    }
}

/// What exists already under the name of a workspace.
pub(super) fn exists(path: &Path) -> Failure {
    let message = format!("{} already exists and does not belong to this run", path.display());
    let remedy =
        "if an interrupted run left it, remove it with `ioassay clean RUN`; otherwise start a run with another name";
    failure::about_path("create directory", path, message, remedy)
}

/// What is no workspace, or not of the name that it has; `called` is how the user names such a one.
pub(super) fn not_ours(path: &Path, called: &str) -> Failure {
    let message = format!("{} is not a workspace of ioassay: nothing in it was touched", path.display());
    failure::about_path(
        "open workspace",
        path,
        message,
        &format!("use the {called} that the run left under its target"),
    )
}

fn left(path: &Path, because: &io::Error) -> Left {
    Left { path: path.display().to_string(), because: because.to_string() }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::fs;
    use std::os::fd::OwnedFd;

    use super::super::place::Mounted;
    use super::*;

    /// A file system on which a file appears in the workspace just when its list has gone, as NFS keeps what is removed while
    /// a process has it open.
    struct Late;

    const APPEARED: &CStr = c".nfs0001";

    impl Place for Late {
        type Open = OwnedFd;

        fn unlink(&self, directory: &OwnedFd, name: &CStr) -> io::Result<()> {
            Mounted.unlink(directory, name)?;
            if name == LIST_NAME { Mounted.create(directory, APPEARED, b"open") } else { Ok(()) }
        }

        fn kind(&self, directory: &OwnedFd, name: &CStr) -> io::Result<Option<Kind>> {
            Mounted.kind(directory, name)
        }

        fn open(&self, directory: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
            Mounted.open(directory, name)
        }

        fn make(&self, directory: &OwnedFd, name: &CStr) -> io::Result<()> {
            Mounted.make(directory, name)
        }

        fn create(&self, directory: &OwnedFd, name: &CStr, content: &[u8]) -> io::Result<()> {
            Mounted.create(directory, name, content)
        }

        fn read(&self, directory: &OwnedFd, name: &CStr) -> io::Result<Vec<u8>> {
            Mounted.read(directory, name)
        }

        fn rmdir(&self, directory: &OwnedFd, name: &CStr) -> io::Result<()> {
            Mounted.rmdir(directory, name)
        }

        fn list(&self, directory: &OwnedFd, each: &mut dyn FnMut(&CStr) -> bool) -> io::Result<()> {
            Mounted.list(directory, each)
        }
    }

    #[test]
    fn a_workspace_in_which_something_appears_at_the_last_moment_keeps_its_list() {
        let directory = tempfile::tempdir().unwrap();
        let (target, path) = (Mounted::directory(directory.path()).unwrap(), directory.path().join("ioassay-r1"));
        let late = Marked { place: &Late, target: &target, path: &path };
        let open = late.create("r1", None, &Contents::default()).unwrap();
        let list = fs::read(path.join(LIST)).unwrap();
        let removed = late.remove(&open);
        assert_eq!(removed.left.len(), 1, "{removed:?}");
        assert!(removed.left[0].because.contains("not empty"), "{removed:?}");
        assert_eq!(fs::read(path.join(LIST)).unwrap(), list);
        // So it can be cleaned when that has gone again.
        fs::remove_file(path.join(".nfs0001")).unwrap();
        let mounted = Marked { place: &Mounted, target: &target, path: &path };
        let open = mounted.open(None).unwrap().expect("it has its list");
        assert_eq!(mounted.remove(&open), Removed::default());
        assert!(!path.exists());
    }
}
