//! Removing what is on the list, name by name.
//!
//! Every name is resolved in a directory that is open, and no symbolic link is followed: nobody can put another
//! directory in the place of ours and have something removed in it. Whether a name is that of a tree's item is computed
//! from its shape, so that millions take no memory. What is not on the list is not touched, and keeps the directories
//! that it is in.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ioassay_contract::events::{Left, Removed};
use ioassay_contract::plan::metadata::Items;
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, SFlag, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::contents::Planted;
use crate::workload::tree::{Entries, EntryPath, Shape};

/// More paths than this are not named one by one: whoever looks at them finds the others.
const MOST_NAMED: usize = 100;

/// Opens a directory, and no symbolic link to one.
pub(super) fn open_directory(directory: impl AsFd, name: &CStr) -> nix::Result<OwnedFd> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    openat(directory, name, flags, Mode::empty())
}

/// Removes one regular file of the directory; true if it was there.
pub(super) fn remove_file(directory: impl AsFd, name: &CStr) -> io::Result<bool> {
    let about = match fstatat(&directory, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Err(Errno::ENOENT) => return Ok(false),
        found => found?,
    };
    if SFlag::from_bits_truncate(about.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG {
        return Err(io::Error::other("is no regular file, so it is not the one that ioassay created"));
    }
    unlinkat(directory, name, UnlinkatFlags::NoRemoveDir)?;
    Ok(true)
}

/// Removes a tree and the directory that holds it, both in `workspace`, which is open at `path`.
pub(super) fn remove_tree(workspace: &OwnedFd, path: &Path, tree: &Planted, removed: &mut Removed) {
    let path = path.join(&tree.container);
    let Ok(container) = CString::new(tree.container.as_bytes()) else { return };
    let mut removal = Removal { tree, removed, kept: HashSet::new() };
    removal.directory(workspace, &path, &container, |removal, open| {
        for number in 0..tree.shape.trees {
            let name = removal.directory_name(number, 0);
            removal.subtree(open, &path.join(as_path(&name)), &name, number, 0);
        }
    });
}

/// The removal of one tree.
struct Removal<'a> {
    tree: &'a Planted,
    removed: &'a mut Removed,
    /// Directories in which something is left that has been named.
    kept: HashSet<PathBuf>,
}

impl Removal<'_> {
    /// Removes directory number `directory` of tree `number`, which is `name` in the open `above`.
    fn subtree(&mut self, above: &OwnedFd, path: &Path, name: &CStr, number: u32, directory: u64) {
        let shape = self.tree.shape;
        self.directory(above, path, name, |removal, open| {
            removal.items(open, path, number, directory);
            for child in shape.children(directory) {
                let name = removal.directory_name(number, child);
                removal.subtree(open, &path.join(as_path(&name)), &name, number, child);
            }
        });
    }

    /// Removes a directory: at once if it is empty, and otherwise after `empty` has removed what is ours in it.
    fn directory(&mut self, above: &OwnedFd, path: &Path, name: &CStr, empty: impl FnOnce(&mut Self, &OwnedFd)) {
        let is_empty = |answer: nix::Result<()>| match answer {
            // Most names of an unfinished tree are not there.
            Ok(()) | Err(Errno::ENOENT) => Ok(true),
            Err(Errno::ENOTEMPTY | Errno::EEXIST) => Ok(false),
            Err(errno) => Err(errno),
        };
        let rmdir = || is_empty(unlinkat(above, name, UnlinkatFlags::RemoveDir));
        let emptied = rmdir().and_then(|gone| {
            if gone {
                return Ok(true);
            }
            let open = open_directory(above, name)?;
            empty(self, &open);
            let gone = rmdir()?;
            if !gone && !self.kept.contains(path) {
                self.left(path, &strangers(open));
            }
            Ok(gone)
        });
        if let Err(errno) = emptied {
            self.left(path, errno.desc());
        }
    }

    /// Removes the items of `directory` of tree `number`, which is open at `path`. Of the millions that a tree may be
    /// planned for a stonewall mostly let few be created, so what is there is looked up on the list, and not what is on
    /// the list looked for.
    fn items(&mut self, open: &OwnedFd, path: &Path, number: u32, directory: u64) {
        let mut failed = HashSet::new();
        // A listing may miss names while others are removed; then it is read again.
        while self.listed_items(open, path, (number, directory), &mut failed) {}
    }

    /// Removes the items that a listing of the directory names; true if there were any.
    fn listed_items(
        &mut self,
        open: &OwnedFd,
        path: &Path,
        (number, directory): (u32, u64),
        failed: &mut HashSet<CString>,
    ) -> bool {
        let (shape, renamed) = (self.tree.shape, self.tree.renamed);
        // Opened again, because a listing goes on where the last one of the same descriptor ended.
        let mut listing = match open_directory(open, c".").and_then(Dir::from_fd) {
            Ok(listing) => listing,
            Err(errno) => {
                self.left(path, errno.desc());
                return false;
            }
        };
        let mut any = false;
        for entry in listing.iter().filter_map(Result::ok) {
            let name = entry.file_name();
            if !shape.has_item(number, directory, name.to_bytes(), renamed) || failed.contains(name) {
                continue;
            }
            match remove_item(open, name, shape) {
                Ok(file) => {
                    self.removed.files += u64::from(file);
                    any = true;
                }
                Err(error) => {
                    self.left(&path.join(as_path(name)), &error.to_string());
                    failed.insert(name.to_owned());
                }
            }
        }
        any
    }

    fn directory_name(&self, tree: u32, directory: u64) -> CString {
        let mut name = EntryPath::new(self.tree.shape, None, Entries::Directories { tree });
        name.set(None, directory);
        name.as_c_str().to_owned()
    }

    /// Says that `path` remains, and therefore every directory that it is in.
    fn left(&mut self, path: &Path, because: &str) {
        if self.removed.left.len() < MOST_NAMED {
            self.removed.left.push(Left { path: path.display().to_string(), because: because.to_owned() });
        }
        let above = path.ancestors().skip(1).take_while(|above| self.kept.insert(above.to_path_buf()));
        // Those further up are noted already.
        above.for_each(drop);
    }
}

/// Removes an item; true if it was a file that was there.
fn remove_item(directory: &OwnedFd, name: &CStr, shape: Shape) -> io::Result<bool> {
    if shape.items == Items::Files {
        return remove_file(directory, name);
    }
    match unlinkat(directory, name, UnlinkatFlags::RemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// What keeps a directory from being removed, as a sentence.
fn strangers(directory: OwnedFd) -> String {
    let first = Dir::from_fd(directory).ok().and_then(|mut directory| {
        let mut names = directory.iter().filter_map(|entry| entry.ok().map(|entry| entry.file_name().to_owned()));
        names.find(|name| !matches!(name.to_bytes(), b"." | b".."))
    });
    let first = first.map(|name| format!(", such as {}", name.to_string_lossy())).unwrap_or_default();
    format!("has something in it that ioassay did not create{first}")
}

fn as_path(name: &CStr) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()))
}
