//! A workspace on a mounted file system: a directory with a list of what will be in it.

use std::ffi::{CString, OsStr};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ioassay_contract::events::{Failure, Left, Removed};
use ioassay_units::Bytes;

use super::contents::Contents;
use super::{LIST, Mark, Room, removal};
use crate::failure;

/// A workspace that is a directory.
#[derive(Debug, Clone)]
pub struct Directory(PathBuf);

/// The path of the workspace of `run` under `target`.
pub fn path(target: &Path, run: &str) -> PathBuf {
    target.join(format!("ioassay-{run}"))
}

/// The room on the file system of `target`.
pub fn room(target: &Path) -> Result<Room, Failure> {
    let found = nix::sys::statvfs::statvfs(target)
        .map_err(|errno| failure::on_path("statvfs", target, &io::Error::from(errno)))?;
    Ok(Room {
        free_bytes: Some(found.blocks_available().saturating_mul(found.fragment_size())),
        free_inodes: (found.files() > 0).then(|| found.files_available()),
    })
}

/// An error if `target` is no writable directory, if `run` has a workspace there already, or if `bytes` in
/// `files` files would not fit. Nothing is written.
pub fn check(target: &Path, run: &str, bytes: u64, files: u64) -> Result<Room, Failure> {
    refuse_existing(&path(target, run))?;
    // One more for the directory and one for its list.
    room_for(target, bytes, files + 2)
}

/// The room in `target`; an error if it is no writable directory, or if `bytes` in `inodes` entries would not fit.
pub fn room_for(target: &Path, bytes: u64, inodes: u64) -> Result<Room, Failure> {
    let unusable = |error: &io::Error| Failure {
        remedy: "name an existing directory of the file system that is to be measured".to_owned(),
        ..failure::on_path("open target", target, error)
    };
    let about = fs::metadata(target).map_err(|error| unusable(&error))?;
    if !about.is_dir() {
        return Err(unusable(&io::Error::from_raw_os_error(libc::ENOTDIR)));
    }
    let access = nix::unistd::AccessFlags::W_OK | nix::unistd::AccessFlags::X_OK;
    nix::unistd::access(target, access)
        .map_err(|errno| failure::on_path("write into", target, &io::Error::from(errno)))?;
    let room = room(target)?;
    if let Some(free) = room.free_bytes.filter(|&free| bytes > free) {
        let [free, needed, short] = [free, bytes, bytes - free].map(|bytes| Bytes(bytes).about());
        let message = format!("{} has {free} free, but a case needs {needed}: {short} too few", target.display());
        return Err(failure::about_path("check space", target, message, FREE_SPACE));
    }
    if let Some(free) = room.free_inodes.filter(|&free| inodes > free) {
        let message = format!("{} has {free} inodes free, but a case needs {inodes}", target.display());
        return Err(failure::about_path("check inodes", target, message, FREE_SPACE));
    }
    Ok(room)
}

const FREE_SPACE: &str = "free space on the target, choose another target, or measure with a smaller total";

fn refuse_existing(path: &Path) -> Result<(), Failure> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let message = format!("{} exists already: it is not this run's own", path.display());
    let remedy =
        "if an interrupted run left it, `ioassay clean RUN` removes it; otherwise start a run with another name";
    Err(failure::about_path("create directory", path, message, remedy))
}

impl Directory {
    /// Creates the workspace of `run` under `target` for `contents`.
    pub fn create(target: &Path, run: &str, contents: &Contents) -> Result<Self, Failure> {
        let path = path(target, run);
        refuse_existing(&path)?;
        // mkdir fails if anything has that name, so from here on the directory is ours; nobody else may enter.
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| failure::on_path("create directory", &path, &error))?;
        let workspace = Self(path);
        if let Err(error) = workspace.write_list(run, contents) {
            let failure = failure::on_path("write", &workspace.0.join(LIST), &error);
            // Only the list can be in it.
            let _ = fs::remove_file(workspace.0.join(LIST));
            let _ = fs::remove_dir(&workspace.0);
            return Err(failure);
        }
        Ok(workspace)
    }

    fn write_list(&self, run: &str, contents: &Contents) -> io::Result<()> {
        let mark = Mark { ioassay_workspace: 2, run: run.to_owned() };
        let text = format!("{}\n{}\n", serde_json::to_string(&mark)?, serde_json::to_string(contents)?);
        let mut list = OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.0.join(LIST))?;
        list.write_all(text.as_bytes())?;
        list.sync_all()?;
        // The directory too: after a power failure the list must be found where the files are.
        File::open(&self.0)?.sync_all()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path of one of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Opens a workspace that an earlier process left. Refuses a directory without a readable list, and one that
    /// is named for another run than its list.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let about = fs::symlink_metadata(path).map_err(|error| failure::on_path("stat", path, &error))?;
        let workspace = Self(path.to_owned());
        let own_name = |mark: &Mark| path.file_name() == Some(OsStr::new(&format!("ioassay-{}", mark.run)));
        match workspace.read_list() {
            Ok((mark, _)) if about.is_dir() && own_name(&mark) => Ok(workspace),
            _ => {
                let message = format!("{} is not a workspace of ioassay: nothing in it is touched", path.display());
                let remedy = "name the directory `ioassay-RUN` that the run left under its target";
                Err(failure::about_path("open workspace", path, message, remedy))
            }
        }
    }

    fn read_list(&self) -> io::Result<(Mark, Contents)> {
        let list = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(self.0.join(LIST))?;
        let mut list = BufReader::new(list);
        let mut mark = String::new();
        list.read_line(&mut mark)?;
        let mut contents = String::new();
        list.read_to_string(&mut contents)?;
        Ok((serde_json::from_str(&mark)?, serde_json::from_str(&contents)?))
    }

    /// Removes the files of the list, the list, and the directory. What could not be removed is named.
    pub fn remove(&self) -> Removed {
        let mut removed = Removed::default();
        if let Err((path, error)) = self.remove_into(&mut removed) {
            removed.left.push(Left { path: path.display().to_string(), because: error.to_string() });
        }
        removed
    }

    fn remove_into(&self, removed: &mut Removed) -> Result<(), (PathBuf, io::Error)> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error: io::Error| (path, error)
        };
        let list = self.0.join(LIST);
        let (_, contents) = match self.read_list() {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.0.exists() => {
                return Ok(());
            }
            read => read.map_err(at(&list))?,
        };
        // Names are resolved against the open directory, so that nobody can move another one in its place.
        let own = CString::new(self.0.as_os_str().as_bytes()).map_err(|error| at(&self.0)(error.into()))?;
        let directory =
            removal::open_directory(nix::fcntl::AT_FDCWD, &own).map_err(|errno| at(&self.0)(errno.into()))?;
        for name in contents.file_names() {
            match name_of_ours(&name).and_then(|name| removal::remove_file(&directory, &name)) {
                Ok(existed) => removed.files += u64::from(existed),
                Err(error) => {
                    let path = self.0.join(&name).display().to_string();
                    removed.left.push(Left { path, because: error.to_string() });
                }
            }
        }
        for tree in contents.trees() {
            match name_of_ours(&tree.container) {
                Ok(_) => removal::remove_tree(&directory, &self.0, &tree, removed),
                Err(error) => {
                    let path = self.0.join(&tree.container).display().to_string();
                    removed.left.push(Left { path, because: error.to_string() });
                }
            }
        }
        if !removed.left.is_empty() {
            return Ok(());
        }
        // The list goes last, and only if nothing else is left: without it nobody could remove the rest.
        let mut others = fs::read_dir(&self.0).map_err(at(&self.0))?.filter_map(Result::ok);
        if let Some(other) = others.find(|entry| entry.file_name() != LIST) {
            let because = "is not on the list of files that ioassay created".to_owned();
            removed.left.push(Left { path: other.path().display().to_string(), because });
            return Ok(());
        }
        fs::remove_file(&list).map_err(at(&list))?;
        fs::remove_dir(&self.0).map_err(at(&self.0))
    }
}

/// A name in the workspace as system calls want it. A list that names anything else was not written by us.
pub(super) fn name_of_ours(name: &str) -> io::Result<CString> {
    if name.is_empty() || name.contains('/') || name == "." || name == ".." || name == LIST {
        return Err(io::Error::other("is no name of a file of ours"));
    }
    Ok(CString::new(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workspace for three files: `c1.data.00000000` and so on.
    fn workspace() -> (tempfile::TempDir, Directory) {
        let contents = serde_json::json!({
            "case": "c1", "ranks": 3, "trees": {},
            "files": {"data": {
                "layout": "N-N", "files_per_rank": 1, "transfer_bytes": 1, "block_bytes": 1, "segments": 1,
                "payload": {"kind": "zero"},
            }},
        });
        let target = tempfile::tempdir().unwrap();
        let workspace = Directory::create(target.path(), "r1", &serde_json::from_value(contents).unwrap()).unwrap();
        (target, workspace)
    }

    const NAMES: [&str; 3] = ["c1.data.00000000", "c1.data.00000001", "c1.data.00000002"];

    #[test]
    fn what_was_created_is_removed_and_the_target_is_as_before() {
        let (target, workspace) = workspace();
        fs::write(workspace.file(NAMES[0]), "1").unwrap();
        fs::write(workspace.file(NAMES[1]), "2").unwrap();
        assert_eq!(workspace.remove(), Removed { files: 2, left: vec![] });
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_is_not_on_the_list_stays_and_is_named() {
        let (_target, workspace) = workspace();
        fs::write(workspace.file("thesis.dat"), "years").unwrap();
        let removed = workspace.remove();
        assert_eq!(removed.left.len(), 1);
        assert!(removed.left[0].path.ends_with("thesis.dat"));
        assert_eq!(fs::read_to_string(workspace.file("thesis.dat")).unwrap(), "years");
        // And the directory can still be cleaned up when the stranger is gone.
        fs::remove_file(workspace.file("thesis.dat")).unwrap();
        assert_eq!(Directory::open(workspace.path()).unwrap().remove().left, vec![]);
    }

    #[test]
    fn a_list_that_points_outside_or_at_a_link_removes_nothing() {
        let (target, workspace) = workspace();
        let outside = target.path().join("outside.data.00000000");
        fs::write(&outside, "keep").unwrap();
        std::os::unix::fs::symlink(&outside, workspace.file(NAMES[0])).unwrap();
        fs::create_dir(workspace.file(NAMES[1])).unwrap();
        assert_eq!(workspace.remove().files, 0);
        let list = workspace.file(LIST);
        fs::write(&list, fs::read_to_string(&list).unwrap().replace("c1", "../outside")).unwrap();
        assert_eq!(workspace.remove().files, 0);
        assert_eq!(fs::read_to_string(&outside).unwrap(), "keep");
        assert!(fs::symlink_metadata(workspace.file(NAMES[0])).is_ok());
    }

    #[test]
    fn an_existing_directory_is_refused_even_if_it_is_empty() {
        let target = tempfile::tempdir().unwrap();
        fs::create_dir(path(target.path(), "r1")).unwrap();
        let failure = Directory::create(target.path(), "r1", &Contents::default()).unwrap_err();
        assert!(failure.message.contains("exists already"), "{failure:?}");
        assert!(check(target.path(), "r1", 0, 0).is_err());
    }

    #[test]
    fn a_directory_without_our_mark_is_not_opened() {
        let target = tempfile::tempdir().unwrap();
        assert!(Directory::open(target.path()).is_err());
        let (_target, workspace) = workspace();
        let renamed = workspace.path().with_file_name("ioassay-other");
        fs::rename(workspace.path(), &renamed).unwrap();
        assert!(Directory::open(&renamed).is_err());
    }

    #[test]
    fn more_than_the_target_holds_is_refused_before_anything_is_written() {
        let target = tempfile::tempdir().unwrap();
        let failure = check(target.path(), "r1", u64::MAX, 1).unwrap_err();
        assert!(failure.message.contains("free, but a case needs 16777216 TiB"), "{failure:?}");
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
    }

    /// A workspace for a shared tree of 2 ranks: a root and two leaves with 3 items of each rank.
    fn workspace_with_tree() -> (tempfile::TempDir, Directory, PathBuf) {
        let contents = serde_json::json!({
            "case": "c1", "ranks": 2, "files": {}, "renamed": ["t"],
            "trees": {"t": {
                "sharing": "shared", "depth": 1, "branch": 2, "items_per_directory": 3, "leaves_only": true,
                "items": "files",
            }},
        });
        let target = tempfile::tempdir().unwrap();
        let workspace = Directory::create(target.path(), "r1", &serde_json::from_value(contents).unwrap()).unwrap();
        let root = workspace.path().join("c1.t/mdtest_tree.0");
        fs::create_dir_all(root.join("mdtest_tree.1")).unwrap();
        fs::create_dir_all(root.join("mdtest_tree.2")).unwrap();
        for (leaf, numbers) in [(1, 3..6), (2, 6..9)] {
            for (rank, number) in numbers.flat_map(|number| [(0, number), (1, number)]) {
                fs::write(root.join(format!("mdtest_tree.{leaf}/file.mdtest.{rank}.{number}")), "").unwrap();
            }
        }
        (target, workspace, root)
    }

    #[test]
    fn a_tree_is_removed_whole_in_parts_and_with_renamed_items() {
        let (target, workspace, root) = workspace_with_tree();
        fs::rename(root.join("mdtest_tree.1/file.mdtest.0.3"), root.join("mdtest_tree.1/file.mdtest.0.3.r")).unwrap();
        fs::remove_file(root.join("mdtest_tree.1/file.mdtest.1.5")).unwrap();
        fs::remove_dir_all(root.join("mdtest_tree.2")).unwrap();
        assert_eq!(workspace.remove(), Removed { files: 5, left: vec![] });
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_not_ours_in_a_tree_stays_is_named_once_and_keeps_the_list() {
        let (_target, workspace, root) = workspace_with_tree();
        // One item too many, a name of ours that is no file, and a stranger beside our directories.
        let (beyond, link) = (root.join("mdtest_tree.1/file.mdtest.0.6"), root.join("mdtest_tree.2/file.mdtest.0.6"));
        fs::write(&beyond, "keep").unwrap();
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&beyond, &link).unwrap();
        let removed = workspace.remove();
        assert_eq!(removed.files, 11);
        let left: Vec<&str> = removed.left.iter().map(|left| left.path.as_str()).collect();
        assert_eq!(left, [beyond.parent().unwrap().to_str().unwrap(), link.to_str().unwrap()]);
        assert!(removed.left[0].because.ends_with("such as file.mdtest.0.6"), "{removed:?}");
        assert_eq!(fs::read_to_string(&link).unwrap(), "keep");
        fs::remove_file(&beyond).unwrap();
        fs::remove_file(&link).unwrap();
        assert_eq!(Directory::open(workspace.path()).unwrap().remove(), Removed::default());
        assert!(!workspace.path().exists());
    }

    #[test]
    fn a_link_in_the_place_of_a_directory_leads_nowhere() {
        let (target, workspace, root) = workspace_with_tree();
        let elsewhere = target.path().join("elsewhere");
        fs::rename(root.join("mdtest_tree.1"), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, root.join("mdtest_tree.1")).unwrap();
        let removed = workspace.remove();
        assert_eq!((removed.files, removed.left.len()), (6, 1));
        assert!(removed.left[0].path.ends_with("mdtest_tree.1"), "{removed:?}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 6);
    }
}
