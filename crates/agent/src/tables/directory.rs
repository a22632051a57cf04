//! A directory of tables, and its files, opened so that no link leads elsewhere.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ioassay_record::names::{FINISHED, RUNNING};
use nix::dir::Dir;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, open, openat, openat2};
use nix::sys::stat::{Mode, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

/// Files that are read at most: more processes than any node has.
const MOST_FILES: usize = 32_768;

/// Device and inode. As long as a directory is open, no other one gets them.
pub type Identity = (u64, u64);

/// A directory of tables.
#[derive(Debug)]
pub struct Directory {
    handle: OwnedFd,
    path: PathBuf,
}

/// A file that was opened, and whose it is.
#[derive(Debug)]
pub struct Opened {
    /// The file.
    pub file: File,
    /// Its owner, whom its processes belong to, whatever they say.
    pub owner: u32,
}

/// The names of a directory that matter.
#[derive(Debug, Default)]
pub struct Names {
    /// Tables of processes that run, with their inodes: a table may be given another file.
    pub running: Vec<(OsString, u64)>,
    /// Files of tables of processes that have ended.
    pub finished: Vec<OsString>,
    /// There are more files than are read.
    pub too_many: bool,
}

impl Directory {
    /// Opens a directory by a path that the agent was given.
    ///
    /// # Errors
    /// If it cannot be opened, or is a link.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        Ok(Self { handle: open(path, flags, Mode::empty())?, path: path.to_owned() })
    }

    /// Opens a directory that a process named, as that process sees it: beneath its own root, and by no link at all.
    ///
    /// # Errors
    /// If it cannot be opened, or one of its parts is a link.
    pub fn of_process(pid: u32, path: &Path) -> io::Result<Self> {
        let root = open(&*PathBuf::from(format!("/proc/{pid}/root")), OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())?;
        let how = OpenHow::new().flags(OFlag::O_DIRECTORY | OFlag::O_CLOEXEC).resolve(
            ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS,
        );
        Ok(Self { handle: openat2(root, path, how)?, path: path.to_owned() })
    }

    /// Its path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which directory it is: two processes may name the same one.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn identity(&self) -> io::Result<Identity> {
        let about = nix::sys::stat::fstat(&self.handle)?;
        Ok((about.st_dev, about.st_ino))
    }

    /// Its owner.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn owner(&self) -> io::Result<u32> {
        Ok(nix::sys::stat::fstat(&self.handle)?.st_uid)
    }

    /// Its files.
    ///
    /// # Errors
    /// If it cannot be listed: it was removed.
    pub fn names(&self) -> io::Result<Names> {
        let mut names = Names::default();
        let mut listed = Dir::openat(&self.handle, ".", OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
        for (number, entry) in listed.iter().enumerate() {
            let entry = entry?;
            if number >= MOST_FILES {
                names.too_many = true;
                break;
            }
            match extension(entry.file_name()) {
                Some(kind) if kind == RUNNING.as_bytes() => names.running.push((owned(entry.file_name()), entry.ino())),
                Some(kind) if kind == FINISHED.as_bytes() => names.finished.push(owned(entry.file_name())),
                _ => {}
            }
        }
        Ok(names)
    }

    /// Opens a file of it to read.
    ///
    /// # Errors
    /// If it cannot be opened, is a link or no regular file, or has another name somewhere, which may be that of a file that
    /// its owner cannot read.
    pub fn open(&self, name: &OsStr) -> io::Result<Opened> {
        self.open_with(name, OFlag::O_RDONLY)
    }

    /// Opens a file of it to read and write, as [`Directory::open`].
    ///
    /// # Errors
    /// As that, and if it does not belong to the owner of the directory.
    pub fn open_to_write(&self, name: &OsStr) -> io::Result<Opened> {
        let opened = self.open_with(name, OFlag::O_RDWR)?;
        let about = nix::sys::stat::fstat(&self.handle)?;
        if about.st_uid != opened.owner {
            return Err(io::Error::other("it belongs to another user than its directory"));
        }
        Ok(opened)
    }

    /// Makes a new file in it that all can read, in place of one of that name.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        match unlinkat(&self.handle, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(nix::Error::ENOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mode = Mode::from_bits_truncate(0o644);
        Ok(File::from(openat(&self.handle, name, flags, mode)?))
    }

    fn open_with(&self, name: &OsStr, access: OFlag) -> io::Result<Opened> {
        // A device or a pipe must not even be opened: that may wait, or do something.
        let about = fstatat(&self.handle, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        regular(&about)?;
        let flags = access | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let file = File::from(openat(&self.handle, name, flags, Mode::empty())?);
        let about = nix::sys::stat::fstat(file.as_fd())?;
        regular(&about)?;
        Ok(Opened { file, owner: about.st_uid })
    }

    /// Its number among the agent's open files, for what is locked or watched.
    pub fn descriptor(&self) -> i32 {
        self.handle.as_raw_fd()
    }
}

fn regular(about: &libc::stat) -> io::Result<()> {
    if about.st_mode & libc::S_IFMT != libc::S_IFREG || about.st_nlink > 1 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no regular file of one name"));
    }
    Ok(())
}

fn owned(name: &CStr) -> OsString {
    OsStr::from_bytes(name.to_bytes()).to_owned()
}

fn extension(name: &CStr) -> Option<&[u8]> {
    let name = name.to_bytes();
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    (dot > 0).then(|| &name[dot + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn with(files: &[&str]) -> (tempfile::TempDir, Directory) {
        let place = tempfile::tempdir().unwrap();
        for name in files {
            fs::write(place.path().join(name), name).unwrap();
        }
        let directory = Directory::of_path(place.path()).unwrap();
        (place, directory)
    }

    #[test]
    fn only_tables_are_listed() {
        let (_place, directory) = with(&["1-2.table", "node.tables", "lost", "libioassay.so", ".table", "x.trace"]);
        let names = directory.names().unwrap();
        assert_eq!(names.running.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["1-2.table"]);
        assert_eq!((names.finished, names.too_many), (vec![OsString::from("node.tables")], false));
    }

    #[test]
    fn no_link_is_followed_and_nothing_but_a_regular_file_is_opened() {
        let (place, directory) = with(&["real.table", "two.table"]);
        let of_path = |name: &str| place.path().join(name);
        symlink(of_path("real.table"), of_path("link.table")).unwrap();
        fs::hard_link(of_path("two.table"), of_path("second.table")).unwrap();
        nix::unistd::mkfifo(&of_path("pipe.table"), Mode::S_IRWXU).unwrap();
        fs::create_dir(of_path("directory.table")).unwrap();
        for name in ["link.table", "two.table", "second.table", "pipe.table", "directory.table", "none.table"] {
            assert!(directory.open(OsStr::new(name)).is_err(), "{name}");
        }
        let opened = directory.open(OsStr::new("real.table")).unwrap();
        assert_eq!(opened.owner, nix::unistd::getuid().as_raw());
        symlink(place.path(), of_path("to-directory")).unwrap();
        assert!(Directory::of_path(&of_path("to-directory")).is_err());
    }

    #[test]
    fn a_directory_of_a_process_is_found_beneath_its_root_and_by_no_link() {
        let (place, _) = with(&["1.table"]);
        let path = fs::canonicalize(place.path()).unwrap();
        let here = std::process::id();
        let directory = Directory::of_process(here, &path).unwrap();
        assert_eq!(directory.names().unwrap().running.len(), 1);
        assert_eq!(directory.identity().unwrap(), Directory::of_path(&path).unwrap().identity().unwrap());
        symlink(&path, path.join("link")).unwrap();
        assert!(Directory::of_process(here, &path.join("link")).is_err());
        assert!(Directory::of_process(u32::MAX, &path).is_err());
    }
}
