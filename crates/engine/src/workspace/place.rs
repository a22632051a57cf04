//! What creating and removing a workspace takes of the place where it is, and the place that this node has mounted.
//!
//! Every name is resolved in a directory that is open, and no symbolic link is followed: no other user can put another
//! directory in the place of ours and have something created or removed in it. Not here: what is created and removed,
//! and by which rules ([`super::marked`], [`super::removal`]).

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, open, openat};
use nix::sys::stat::{Mode, SFlag, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::beneath::is_same;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, or something else.
    Other,
}

/// What has become of an open directory that its name does not stand for any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// It was removed, and all that was in it.
    Removed,
    /// It lies there now, as far as that is known; under its old path if something is mounted over it.
    To(Option<PathBuf>),
}

/// A tree of directories.
pub(super) trait Place {
    /// A directory in which names are resolved.
    type Open;

    /// What `name` stands for; `None` if nothing has it.
    fn kind(&self, directory: &Self::Open, name: &CStr) -> io::Result<Option<Kind>>;

    /// Opens a directory, and no symbolic link to one.
    fn open(&self, directory: &Self::Open, name: &CStr) -> io::Result<Self::Open>;

    /// Where the open directory `workspace` lies, if `name` leads elsewhere; `None` if it does not, or cannot.
    fn moved(&self, _directory: &Self::Open, _name: &CStr, _workspace: &Self::Open) -> io::Result<Option<Moved>> {
        Ok(None)
    }

    /// Creates a directory that nobody but its owner may enter. One that is there is an error.
    fn make(&self, directory: &Self::Open, name: &CStr) -> io::Result<()>;

    /// Creates a file that nobody but its owner may read, with this content. One that is there is an error. After a power
    /// failure it will be there.
    fn create(&self, directory: &Self::Open, name: &CStr, content: &[u8]) -> io::Result<()>;

    /// What is in a file.
    fn read(&self, directory: &Self::Open, name: &CStr) -> io::Result<Vec<u8>>;

    /// Removes what is no directory.
    fn unlink(&self, directory: &Self::Open, name: &CStr) -> io::Result<()>;

    /// Removes an empty directory.
    fn rmdir(&self, directory: &Self::Open, name: &CStr) -> io::Result<()>;

    /// Gives names in the directory to `each` until it returns false. It may miss some while others are removed.
    fn list(&self, directory: &Self::Open, each: &mut dyn FnMut(&CStr) -> bool) -> io::Result<()>;
}

/// Mounted file systems.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mounted;

impl Mounted {
    /// The directory at `path`, which the user named, so that links on the way to it are meant. It need not be readable.
    pub fn directory(path: &Path) -> io::Result<OwnedFd> {
        // What a name without a slash is in.
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Ok(open(path, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?)
    }

    /// The directory at `path`, which must be no link to one.
    pub fn own_directory(path: &CStr) -> io::Result<OwnedFd> {
        open_directory(AT_FDCWD, path)
    }
}

fn open_directory(directory: impl AsFd, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    Ok(openat(directory, name, flags, Mode::empty())?)
}

impl Place for Mounted {
    type Open = OwnedFd;

    fn kind(&self, directory: &OwnedFd, name: &CStr) -> io::Result<Option<Kind>> {
        let about = match fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(Errno::ENOENT) => return Ok(None),
            status => status?,
        };
        Ok(Some(match SFlag::from_bits_truncate(about.st_mode) & SFlag::S_IFMT {
            SFlag::S_IFREG => Kind::File,
            SFlag::S_IFDIR => Kind::Directory,
            _ => Kind::Other,
        }))
    }

    fn open(&self, directory: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
        open_directory(directory, name)
    }

    fn moved(&self, directory: &OwnedFd, name: &CStr, workspace: &OwnedFd) -> io::Result<Option<Moved>> {
        let held = fstat(workspace)?;
        match fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(current) if is_same(&held, &current) => Ok(None),
            Ok(_) | Err(Errno::ENOENT) if held.st_nlink == 0 => Ok(Some(Moved::Removed)),
            Ok(_) | Err(Errno::ENOENT) => {
                Ok(Some(Moved::To(std::fs::read_link(format!("/proc/self/fd/{}", workspace.as_raw_fd())).ok())))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn make(&self, directory: &OwnedFd, name: &CStr) -> io::Result<()> {
        Ok(mkdirat(directory, name, Mode::S_IRWXU)?)
    }

    fn create(&self, directory: &OwnedFd, name: &CStr, content: &[u8]) -> io::Result<()> {
        let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_CLOEXEC;
        let mut file = File::from(openat(directory, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
        file.write_all(content)?;
        file.sync_all()?;
        // The directory too: it holds the name.
        Ok(nix::unistd::fsync(directory)?)
    }

    fn read(&self, directory: &OwnedFd, name: &CStr) -> io::Result<Vec<u8>> {
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut content = Vec::new();
        File::from(openat(directory, name, flags, Mode::empty())?).read_to_end(&mut content)?;
        Ok(content)
    }

    fn unlink(&self, directory: &OwnedFd, name: &CStr) -> io::Result<()> {
        Ok(unlinkat(directory, name, UnlinkatFlags::NoRemoveDir)?)
    }

    fn rmdir(&self, directory: &OwnedFd, name: &CStr) -> io::Result<()> {
        Ok(unlinkat(directory, name, UnlinkatFlags::RemoveDir)?)
    }

    fn list(&self, directory: &OwnedFd, each: &mut dyn FnMut(&CStr) -> bool) -> io::Result<()> {
        // Opened again, because a listing goes on where the last one of the same descriptor ended.
        let mut listing = Dir::from_fd(open_directory(directory, c".")?)?;
        let entries = listing.iter().filter_map(Result::ok);
        let mut names = entries.filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."));
        while names.next().is_some_and(|entry| each(entry.file_name())) {}
        Ok(())
    }
}
