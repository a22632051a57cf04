//! A workspace on a mounted file system.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ioassay_protocol::events::{Failure, Left, Removed};
use ioassay_protocol::plan::workspace_name;

use super::claim;
use super::contents::Contents;
use super::marked::{Marked, not_ours};
use super::place::Mounted;
use super::room::Room;
use crate::beneath::Root;
use crate::failure;

/// A workspace that is a directory. It is held open, so that what is put in its place is neither written to nor removed.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
    /// What its list has besides its name; unknown of one that an earlier process left.
    token: Option<String>,
    held: Arc<Mutex<Option<OpenDirectories>>>,
}

/// A workspace that is open.
#[derive(Debug, Clone)]
struct OpenDirectories {
    /// The directory that it is in.
    target: Arc<OwnedFd>,
    root: Arc<Root>,
}

/// The path of the workspace of `run` under `target`.
pub fn path(target: &Path, run: &str) -> PathBuf {
    target.join(workspace_name(run))
}

/// The room on the file system of `target`.
pub fn room(target: &Path) -> Result<Room, Failure> {
    let room = ioassay_host::room::room(target).map_err(|error| failure::on_path("statvfs", target, &error))?;
    Ok(Room { free_bytes: room.free_bytes, free_inodes: room.free_inodes })
}

/// An error if `target` is no writable directory, if `run` has a workspace there already, or if `bytes` in
/// `files` files would not fit. Nothing is written.
pub fn check(target: &Path, run: &str, bytes: u64, files: u64) -> Result<Room, Failure> {
    let above = Mounted::directory(target).map_err(|error| unusable(target, &error))?;
    Marked { place: &Mounted, target: &above, path: &path(target, run) }.refuse_existing()?;
    // One more for the directory and one for its list.
    room_for(target, bytes, files + 2)
}

/// The room in `target`; an error if it is no writable directory, or if `bytes` in `inodes` entries would not fit.
pub fn room_for(target: &Path, bytes: u64, inodes: u64) -> Result<Room, Failure> {
    let about = fs::metadata(target).map_err(|error| unusable(target, &error))?;
    if !about.is_dir() {
        return Err(unusable(target, &io::Error::from_raw_os_error(libc::ENOTDIR)));
    }
    let access = nix::unistd::AccessFlags::W_OK | nix::unistd::AccessFlags::X_OK;
    nix::unistd::access(target, access)
        .map_err(|errno| failure::on_path("write into", target, &io::Error::from(errno)))?;
    let room = room(target)?;
    room.check(target, bytes, inodes)?;
    Ok(room)
}

fn unusable(target: &Path, error: &io::Error) -> Failure {
    Failure {
        remedy: "use an existing directory on the file system to be measured".to_owned(),
        ..failure::on_path("open target", target, error)
    }
}

impl Directory {
    /// The workspace of `run` under `target`, which another process has created with this token, where that is known. Nothing
    /// is asked of the target.
    pub fn of(target: &Path, run: &str, token: Option<String>) -> Self {
        Self { path: path(target, run), token, held: Arc::default() }
    }

    /// Creates the workspace of `run` under `target` for `contents`, and holds it.
    pub fn create(target: &Path, run: &str, contents: &Contents) -> Result<Self, Failure> {
        let path = path(target, run);
        let token = random_token().map_err(|error| failure::on_path("create directory", &path, &error))?;
        let above = Mounted::directory(target).map_err(|error| unusable(target, &error))?;
        let marked = Marked { place: &Mounted, target: &above, path: &path };
        let created = marked.create(run, Some(token.clone()), contents)?;
        claim::share(&created);
        let held = OpenDirectories { root: Arc::new(Root::hold(&path, created)), target: Arc::new(above) };
        Ok(Self { path, token: Some(token), held: Arc::new(Mutex::new(Some(held))) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What those must know who are to find it.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// The directory, which is held open from here on. An error unless this node sees the one that was created: a
    /// client may still remember the one of that name that was there before, and another process may have put another
    /// one in its place.
    pub fn root(&self) -> io::Result<Arc<Root>> {
        self.held().map(|held| held.root)
    }

    fn held(&self) -> io::Result<OpenDirectories> {
        let mut slot = self.slot();
        if let Some(held) = &*slot {
            return Ok(held.clone());
        }
        let target = Mounted::directory(self.path.parent().unwrap_or(Path::new("/")))?;
        let opened = Marked { place: &Mounted, target: &target, path: &self.path }.open(self.token())?;
        let opened = opened.ok_or_else(|| io::Error::from_raw_os_error(libc::ESTALE))?;
        if self.token.is_some() {
            claim::share(&opened);
        }
        let held = OpenDirectories { root: Arc::new(Root::hold(&self.path, opened)), target: Arc::new(target) };
        Ok(slot.insert(held).clone())
    }

    /// Closes it until it is needed again: what is open keeps its file system from being unmounted.
    pub fn release(&self) {
        *self.slot() = None;
    }

    fn slot(&self) -> MutexGuard<'_, Option<OpenDirectories>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a workspace that an earlier process left. Refuses one that belongs to another user or is in use, what is named for
    /// another run than its list, and a directory without a list in which there is anything.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let workspace = Self { path: path.to_owned(), token: None, held: Arc::default() };
        let metadata = fs::symlink_metadata(path).map_err(|error| failure::on_path("stat", path, &error))?;
        let held = if metadata.is_dir() { workspace.held().ok() } else { None };
        let held = held.ok_or_else(|| not_ours(path, "directory `ioassay-RUN`"))?;
        claim::claim(held.root.directory(), path)?;
        Ok(workspace)
    }

    /// Removes the files of the list, the list, and the directory. What could not be removed is named, and so is a
    /// workspace that is not there: its file system may have been unmounted, and then it is still on it.
    pub fn remove(&self) -> Removed {
        let removed = self.held().map(|OpenDirectories { target, root }| {
            Marked { place: &Mounted, target: &target, path: &self.path }.remove(root.directory())
        });
        removed.unwrap_or_else(|error| {
            let because = match error.raw_os_error() {
                Some(libc::ENOENT) => "does not exist: it was removed, or its file system is not mounted".into(),
                Some(libc::ESTALE | libc::ENOTDIR | libc::ELOOP) => {
                    "no longer leads to the directory that the run created: look for that directory nearby".into()
                }
                _ => error.to_string(),
            };
            Removed { left: vec![Left { path: self.path.display().to_string(), because }], ..Removed::default() }
        })
    }
}

/// A token that cannot be guessed.
fn random_token() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    // SAFETY: the kernel writes at most as many bytes as there are; so few it gives at once or not at all.
    match unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(format!("{:032x}", u128::from_ne_bytes(bytes))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::list::{LIST, list};
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
        fs::write(workspace.path.join(NAMES[0]), "1").unwrap();
        fs::write(workspace.path.join(NAMES[1]), "2").unwrap();
        assert_eq!(workspace.remove(), Removed { files: 2, left: vec![] });
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_workspace_that_is_not_there_when_it_is_to_be_removed_is_named() {
        let (target, workspace) = workspace();
        fs::remove_dir_all(target.path()).unwrap();
        // Of one that is held it is known that none of it is left.
        assert_eq!(workspace.remove(), Removed::default());
        workspace.release();
        let removed = workspace.remove();
        assert_eq!((removed.left.len(), removed.left[0].path.as_str()), (1, workspace.path.to_str().unwrap()));
        assert!(removed.left[0].because.contains("not mounted"), "{removed:?}");
    }

    /// Another directory with the same name, run and contents in its list, in the place of the workspace.
    fn swap(target: &Path, workspace: &Directory) -> PathBuf {
        let away = target.join("away");
        fs::rename(workspace.path(), &away).unwrap();
        fs::create_dir(workspace.path()).unwrap();
        let list = fs::read_to_string(away.join(LIST)).unwrap();
        let forged = list.replace(workspace.token().unwrap(), &"0".repeat(32));
        assert_ne!(list, forged);
        fs::write(workspace.path().join(LIST), forged).unwrap();
        fs::write(workspace.path().join(NAMES[0]), "keep").unwrap();
        away
    }

    #[test]
    fn a_replacement_of_a_workspace_stays_and_the_place_of_the_workspace_is_reported() {
        let (target, workspace) = workspace();
        fs::write(workspace.path.join(NAMES[0]), "1").unwrap();
        let away = swap(target.path(), &workspace);
        let removed = workspace.remove();
        assert_eq!((removed.files, removed.left.len()), (1, 1), "{removed:?}");
        assert_eq!(removed.left[0].path, workspace.path().to_str().unwrap());
        assert!(removed.left[0].because.contains(&format!("is now at {}", away.display())), "{removed:?}");
        assert_eq!(fs::read_to_string(workspace.path.join(NAMES[0])).unwrap(), "keep");
        // What stays keeps its list.
        assert_eq!(fs::read_dir(&away).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>(), [LIST]);
    }

    #[test]
    fn what_was_put_in_the_place_of_a_workspace_is_not_taken_for_it_when_it_is_opened_again() {
        let (target, workspace) = workspace();
        let joined = Directory::of(target.path(), "r1", workspace.token().map(str::to_owned));
        joined.root().unwrap();
        joined.release();
        swap(target.path(), &workspace);
        assert_eq!(joined.root().unwrap_err().raw_os_error(), Some(libc::ESTALE));
        assert!(joined.remove().left[0].because.contains("no longer leads"), "{:?}", joined.remove());
        assert_eq!(fs::read_to_string(workspace.path.join(NAMES[0])).unwrap(), "keep");
        // A link to the real one is not the real one.
        fs::remove_dir_all(workspace.path()).unwrap();
        std::os::unix::fs::symlink("away", workspace.path()).unwrap();
        assert!(joined.root().is_err());
    }

    #[test]
    fn a_file_that_is_not_on_the_list_stays_and_is_named() {
        let (_target, workspace) = workspace();
        fs::write(workspace.path.join("thesis.dat"), "years").unwrap();
        let removed = workspace.remove();
        assert_eq!(removed.left.len(), 1);
        assert!(removed.left[0].path.ends_with("thesis.dat"));
        assert_eq!(fs::read_to_string(workspace.path.join("thesis.dat")).unwrap(), "years");
        // And the directory can still be cleaned up when the stranger is gone.
        fs::remove_file(workspace.path.join("thesis.dat")).unwrap();
        workspace.release();
        assert_eq!(Directory::open(workspace.path()).unwrap().remove().left, vec![]);
    }

    #[test]
    fn a_list_that_points_outside_or_at_a_link_removes_nothing() {
        let (target, workspace) = workspace();
        let outside = target.path().join("outside.data.00000000");
        fs::write(&outside, "keep").unwrap();
        std::os::unix::fs::symlink(&outside, workspace.path.join(NAMES[0])).unwrap();
        fs::create_dir(workspace.path.join(NAMES[1])).unwrap();
        assert_eq!(workspace.remove().files, 0);
        let list = workspace.path.join(LIST);
        fs::write(&list, fs::read_to_string(&list).unwrap().replace("c1", "../outside")).unwrap();
        assert_eq!(workspace.remove().files, 0);
        assert_eq!(fs::read_to_string(&outside).unwrap(), "keep");
        assert!(fs::symlink_metadata(workspace.path.join(NAMES[0])).is_ok());
    }

    #[test]
    fn an_existing_directory_is_refused_even_if_it_is_empty() {
        let target = tempfile::tempdir().unwrap();
        fs::create_dir(path(target.path(), "r1")).unwrap();
        let failure = Directory::create(target.path(), "r1", &Contents::default()).unwrap_err();
        assert!(failure.message.contains("already exists"), "{failure:?}");
        assert!(check(target.path(), "r1", 0, 0).is_err());
    }

    #[test]
    fn a_directory_without_our_mark_is_not_opened() {
        let target = tempfile::tempdir().unwrap();
        assert!(Directory::open(target.path()).is_err());
        let (_target, workspace) = workspace();
        let renamed = workspace.path().with_file_name("ioassay-other");
        fs::rename(workspace.path(), &renamed).unwrap();
        workspace.release();
        assert!(Directory::open(&renamed).is_err());
    }

    /// The workspace of run `r1` as an engine leaves it that was killed after it had written so much of its list.
    fn begun(list: &str) -> (tempfile::TempDir, PathBuf) {
        let target = tempfile::tempdir().unwrap();
        let workspace = path(target.path(), "r1");
        fs::create_dir(&workspace).unwrap();
        if !list.is_empty() {
            fs::write(workspace.join(LIST), list).unwrap();
        }
        (target, workspace)
    }

    #[test]
    fn a_workspace_whose_list_was_not_written_whole_is_removed_if_nothing_else_is_in_it() {
        let list = list("r1", Some("0".repeat(32)), &Contents::default());
        let first_line = list.find('\n').unwrap();
        for length in [0, 1, first_line, first_line + 1, list.len() - 2] {
            let (target, workspace) = begun(&list[..length]);
            fs::write(workspace.join("thesis.dat"), "years").unwrap();
            assert!(Directory::open(&workspace).is_err());
            fs::remove_file(workspace.join("thesis.dat")).unwrap();
            assert_eq!(Directory::open(&workspace).unwrap().remove(), Removed::default());
            assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn an_empty_directory_of_another_name_and_a_list_of_another_run_stay() {
        let (target, workspace) = begun(&list("r2", None, &Contents::default())[..20]);
        assert!(Directory::open(&workspace).is_ok(), "so far it could be the list of any run");
        let (_target, workspace) = begun(&list("r2", None, &Contents::default())[..34]);
        assert!(Directory::open(&workspace).is_err());
        let other = target.path().join("thesis");
        fs::create_dir(&other).unwrap();
        assert!(Directory::open(&other).is_err());
    }

    #[test]
    fn a_workspace_that_is_in_use_is_not_opened_and_one_that_is_not_used_any_more_is() {
        let (_target, workspace) = workspace();
        let failure = Directory::open(workspace.path()).unwrap_err();
        assert!(failure.message.contains(&format!("in use by process {}", std::process::id())), "{failure:?}");
        let path = workspace.path().to_owned();
        drop(workspace);
        assert_eq!(Directory::open(&path).unwrap().remove(), Removed::default());
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
        workspace.release();
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
