//! Directory entries by system calls.

use std::ffi::CStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{Mode, SFlag, fstatat, mkdirat, mknodat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::{Content, Entry, Names, Presence};
use crate::beneath::Resolver;
use crate::failure;
use crate::storage::uncached::{self, Flags};
use crate::storage::{NameCapabilities, Setup, move_all};

/// What they can do.
pub(in crate::storage) const CAPABILITIES: NameCapabilities =
    NameCapabilities { directories: true, openat: true, mknod: true, rename: true };

/// Permissions of what is created, before the umask: mdtest's. A workspace is its owner's only, whatever is in it; a tree
/// that the user placed may be meant for a group.
const FILE_MODE: Mode = Mode::from_bits_truncate(0o664);
const DIRECTORY_MODE: Mode = Mode::from_bits_truncate(0o775);

/// The kernel has the state of all entries.
#[derive(Debug)]
pub(in crate::storage) struct PosixNames {
    /// Bytes go past the page cache.
    direct: bool,
    /// Of calls that move bytes.
    flags: Flags,
    /// Time in syncs.
    synced: Duration,
    /// Calls that moved fewer bytes than asked.
    short_transfers: u64,
    /// How paths are resolved.
    pub resolver: Resolver,
}

impl PosixNames {
    /// Those of a connection.
    pub fn new(setup: &Setup<'_>) -> Self {
        let resolver = Resolver::new(setup.root);
        let flags = uncached::flags(setup.storage.uncached);
        Self { direct: setup.storage.direct, flags, synced: Duration::ZERO, short_transfers: 0, resolver }
    }

    /// The flags for opening a file whose bytes are moved. One that is only opened and closed needs no more, and some
    /// file systems refuse `O_DIRECT` as such.
    fn moving(&self, flags: OFlag, bytes: &[u8]) -> OFlag {
        if self.direct && !bytes.is_empty() { flags | OFlag::O_DIRECT } else { flags }
    }

    /// An open directory, and the entry's name in it.
    #[inline]
    fn place<'e>(&'e self, entry: Entry<'e>) -> io::Result<(BorrowedFd<'e>, &'e CStr)> {
        match entry.directory {
            Some(directory) => Ok((directory, entry.name)),
            None => self.resolver.place(entry.name),
        }
    }

    fn write_and_close(&mut self, file: OwnedFd, content: Content<'_>) -> io::Result<()> {
        let (bytes, short, flags) = (content.bytes, &mut self.short_transfers, self.flags);
        move_all(bytes.len(), short, failure::nothing_written, |from| {
            uncached::write(&file, &bytes[from..], from as u64, flags)
        })?;
        if content.sync {
            let before = Instant::now();
            nix::unistd::fsync(&file)?;
            self.synced += before.elapsed();
        }
        Ok(nix::unistd::close(file)?)
    }

    fn open(&self, entry: Entry<'_>, flags: OFlag) -> io::Result<OwnedFd> {
        match entry.directory {
            Some(directory) => {
                Ok(openat(directory, entry.name, flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, FILE_MODE)?)
            }
            None => self.resolver.open_at_once(entry.name, flags, FILE_MODE),
        }
    }
}

fn file_ends(byte: u64) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, format!("the file ends at byte {byte}"))
}

impl Names for PosixNames {
    fn open_directory(&mut self, path: &CStr) -> io::Result<OwnedFd> {
        self.open(Entry { directory: None, name: path }, OFlag::O_DIRECTORY | OFlag::O_RDONLY)
    }

    fn create_directory(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let (directory, name) = self.place(entry)?;
        Ok(mkdirat(directory, name, DIRECTORY_MODE)?)
    }

    fn remove_directory(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let (directory, name) = self.place(entry)?;
        Ok(unlinkat(directory, name, UnlinkatFlags::RemoveDir)?)
    }

    fn create(&mut self, entry: Entry<'_>, presence: Presence, content: Content<'_>) -> io::Result<()> {
        let flags = self.moving(OFlag::O_CREAT | OFlag::O_WRONLY, content.bytes);
        let file = match presence {
            Presence::New => self.open(entry, flags | OFlag::O_EXCL)?,
            Presence::Shared => match self.open(entry, flags) {
                // As in `posix::open`: another rank was first.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.open(entry, flags.difference(OFlag::O_CREAT))?
                }
                opened => opened?,
            },
        };
        self.write_and_close(file, content)
    }

    fn make_node(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let (directory, name) = self.place(entry)?;
        Ok(mknodat(directory, name, SFlag::S_IFREG, FILE_MODE, 0)?)
    }

    fn stat(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let (directory, name) = self.place(entry)?;
        fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        Ok(())
    }

    fn read(&mut self, entry: Entry<'_>, content: &mut [u8]) -> io::Result<()> {
        let file = self.open(entry, self.moving(OFlag::O_RDONLY, content))?;
        let (bytes, short, flags) = (content.len(), &mut self.short_transfers, self.flags);
        move_all(bytes, short, file_ends, |from| uncached::read(&file, &mut content[from..], from as u64, flags))?;
        Ok(nix::unistd::close(file)?)
    }

    fn write(&mut self, entry: Entry<'_>, content: Content<'_>) -> io::Result<()> {
        let file = self.open(entry, self.moving(OFlag::O_WRONLY, content.bytes))?;
        self.write_and_close(file, content)
    }

    fn rename(&mut self, from: Entry<'_>, to: Entry<'_>) -> io::Result<()> {
        let ((from_directory, from), (to_directory, to)) = (self.place(from)?, self.place(to)?);
        Ok(renameat(from_directory, from, to_directory, to)?)
    }

    fn remove(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let (directory, name) = self.place(entry)?;
        Ok(unlinkat(directory, name, UnlinkatFlags::NoRemoveDir)?)
    }

    fn fsync_ns(&self) -> u64 {
        self.synced.as_nanos() as u64
    }

    fn short_transfers(&self) -> u64 {
        self.short_transfers
    }
}
