//! Removing what is on the list, name by name.
//!
//! Whether a name is that of a tree's item is computed from its shape, so that millions take no memory. What is not on the
//! list is not touched, and keeps the directories that it is in.
//! Not here: how names are resolved and removed ([`super::place`]).

use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ioassay_protocol::events::{Left, Removed};
use ioassay_protocol::plan::metadata::Items;

use super::contents::WorkspaceTree;
use super::list::name_of_ours;
use super::place::{Kind, Place};
use crate::workload::tree::{Entries, EntryPath, Shape};

/// More paths than this are not named one by one: a user who inspects them finds the others.
const MOST_NAMED: usize = 100;

/// Removes one regular file of the directory; true if it was there.
pub(super) fn remove_file<P: Place>(place: &P, directory: &P::Open, name: &CStr) -> io::Result<bool> {
    match place.kind(directory, name)? {
        None => Ok(false),
        Some(Kind::File) => place.unlink(directory, name).map(|()| true),
        Some(Kind::Directory | Kind::Other) => {
            Err(io::Error::other("is not a regular file, so it is not the one that ioassay created"))
        }
    }
}

/// Removes these files of the directory `name` in `workspace`, which is open at `path`, and then that directory.
pub(super) fn remove_subfolder<P: Place>(
    place: &P,
    workspace: &P::Open,
    (path, name): (&Path, &CStr),
    files: impl Iterator<Item = String>,
    removed: &mut Removed,
) {
    let path = path.join(as_path(name));
    let mut left = Vec::new();
    let open = match place.kind(workspace, name) {
        Ok(None) => return,
        Ok(Some(_)) => place.open(workspace, name),
        Err(error) => Err(error),
    };
    let open = match open {
        Ok(open) => open,
        Err(error) => {
            removed.left.push(Left { path: path.display().to_string(), because: error.to_string() });
            return;
        }
    };
    for file in files {
        match name_of_ours(&file).and_then(|name| remove_file(place, &open, &name)) {
            Ok(existed) => removed.files += u64::from(existed),
            Err(error) => left.push((path.join(&file), error.to_string())),
        }
    }
    if let Err(error) = place.rmdir(workspace, name) {
        let is_full = matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists);
        left.push((path, if is_full { strangers(place, &open) } else { error.to_string() }));
    }
    let room = MOST_NAMED.saturating_sub(removed.left.len());
    let named = left.into_iter().map(|(path, because)| Left { path: path.display().to_string(), because });
    removed.left.extend(named.take(room));
}

/// Removes a tree and the directory that holds it, both in `workspace`, which is open at `path`.
pub(super) fn remove_tree<P: Place>(
    place: &P,
    workspace: &P::Open,
    path: &Path,
    tree: &WorkspaceTree,
    removed: &mut Removed,
) {
    let path = path.join(&tree.container);
    let Ok(container) = CString::new(tree.container.as_bytes()) else { return };
    let mut removal = Removal { place, tree, removed, kept: HashSet::new() };
    removal.directory(workspace, &path, &container, |removal, open| {
        for number in 0..tree.shape.trees {
            let name = removal.directory_name(number, 0);
            removal.subtree(open, &path.join(as_path(&name)), &name, number, 0);
        }
    });
}

/// The first name in the directory that is `wanted`.
pub(super) fn first_name<P: Place>(
    place: &P,
    directory: &P::Open,
    wanted: impl Fn(&CStr) -> bool,
) -> io::Result<Option<CString>> {
    let mut first = None;
    place.list(directory, &mut |name| {
        first = wanted(name).then(|| name.to_owned());
        first.is_none()
    })?;
    Ok(first)
}

/// The removal of one tree.
struct Removal<'a, P> {
    place: &'a P,
    tree: &'a WorkspaceTree,
    removed: &'a mut Removed,
    /// Directories in which something is left that has been named.
    kept: HashSet<PathBuf>,
}

impl<P: Place> Removal<'_, P> {
    /// Removes directory number `directory` of tree `number`, which is `name` in the open `above`.
    fn subtree(&mut self, above: &P::Open, path: &Path, name: &CStr, number: u32, directory: u64) {
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
    fn directory(&mut self, above: &P::Open, path: &Path, name: &CStr, empty: impl FnOnce(&mut Self, &P::Open)) {
        let place = self.place;
        let rmdir = || match place.rmdir(above, name) {
            Ok(()) => Ok(true),
            Err(error) => match error.kind() {
                // Most names of an unfinished tree are not there.
                io::ErrorKind::NotFound => Ok(true),
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => Ok(false),
                _ => Err(error),
            },
        };
        let emptied = rmdir().and_then(|gone| {
            if gone {
                return Ok(());
            }
            let open = place.open(above, name)?;
            empty(self, &open);
            if !rmdir()? && !self.kept.contains(path) {
                self.left(path, &strangers(place, &open));
            }
            Ok(())
        });
        if let Err(error) = emptied {
            self.left(path, &error.to_string());
        }
    }

    /// Removes the items of `directory` of tree `number`, which is open at `path`. Of the millions that a tree may be
    /// planned for a stonewall mostly let few be created, so what is there is looked up on the list, and not what is on
    /// the list looked for.
    fn items(&mut self, open: &P::Open, path: &Path, number: u32, directory: u64) {
        let mut failed = HashSet::new();
        // A listing may miss names while others are removed; then it is read again.
        while self.listed_items(open, path, (number, directory), &mut failed) {}
    }

    /// Removes the items that a listing of the directory names; true if there were any.
    fn listed_items(
        &mut self,
        open: &P::Open,
        path: &Path,
        (number, directory): (u32, u64),
        failed: &mut HashSet<CString>,
    ) -> bool {
        let (place, shape, renamed) = (self.place, self.tree.shape, self.tree.renamed);
        let mut any = false;
        let listed = place.list(open, &mut |name| {
            if !shape.has_item(number, directory, name.to_bytes(), renamed) || failed.contains(name) {
                return true;
            }
            match remove_item(place, open, name, shape) {
                Ok(file) => {
                    self.removed.files += u64::from(file);
                    any = true;
                }
                Err(error) => {
                    self.left(&path.join(as_path(name)), &error.to_string());
                    failed.insert(name.to_owned());
                }
            }
            true
        });
        match listed {
            Ok(()) => any,
            Err(error) => {
                self.left(path, &error.to_string());
                false
            }
        }
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
fn remove_item<P: Place>(place: &P, directory: &P::Open, name: &CStr, shape: Shape) -> io::Result<bool> {
    if shape.items == Items::Files {
        return remove_file(place, directory, name);
    }
    match place.rmdir(directory, name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(false),
    }
}

/// What keeps a directory from being removed, as a sentence.
fn strangers<P: Place>(place: &P, directory: &P::Open) -> String {
    let first = first_name(place, directory, |_| true).ok().flatten();
    let first = first.map(|name| format!(", such as {}", name.to_string_lossy())).unwrap_or_default();
    format!("contains something that ioassay did not create{first}")
}

/// A name as part of a path.
pub(super) fn as_path(name: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(name.to_bytes()))
}
