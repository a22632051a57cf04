//! Directory entries by system calls.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::{Content, Entry, Names, Presence};
use crate::storage::NameCapabilities;

/// What they can do.
pub(in crate::storage) const CAPABILITIES: NameCapabilities =
    NameCapabilities { directories: true, at: true, mknod: true, rename: true };

/// Permissions of what is created, before the umask: mdtest's. A workspace is its owner's only, whatever is in it; a tree
/// that the user placed may be meant for a group.
const FILE_MODE: libc::mode_t = 0o664;
const DIRECTORY_MODE: libc::mode_t = 0o775;

/// Without state of its own: the kernel has it all.
#[derive(Debug)]
pub(in crate::storage) struct PosixNames {
    /// Bytes go past the page cache.
    pub direct: bool,
}

impl PosixNames {
    /// The flags for opening a file whose bytes are moved. One that is only opened and closed needs no more, and some
    /// file systems refuse `O_DIRECT` as such.
    fn moving(&self, flags: libc::c_int, bytes: &[u8]) -> libc::c_int {
        if self.direct && !bytes.is_empty() { flags | libc::O_DIRECT } else { flags }
    }
}

fn directory(entry: Entry<'_>) -> RawFd {
    entry.directory.map_or(libc::AT_FDCWD, |directory| directory.as_raw_fd())
}

/// The answer of a system call that returns 0 or -1.
fn answer(returned: libc::c_int) -> io::Result<()> {
    if returned == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn open(entry: Entry<'_>, flags: libc::c_int) -> io::Result<OwnedFd> {
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the name ends with a zero byte and lives through the call.
    match unsafe { libc::openat(directory(entry), entry.name.as_ptr(), flags, FILE_MODE) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the kernel has just given us this descriptor.
        file => Ok(unsafe { OwnedFd::from_raw_fd(file) }),
    }
}

fn write_all(file: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    let mut written = 0;
    while written < bytes.len() {
        match nix::sys::uio::pwrite(file, &bytes[written..], written as libc::off_t) {
            Ok(count) => written += count,
            Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn write_and_close(file: OwnedFd, content: Content<'_>) -> io::Result<()> {
    write_all(&file, content.bytes)?;
    if content.sync {
        nix::unistd::fsync(&file)?;
    }
    Ok(nix::unistd::close(file)?)
}

impl Names for PosixNames {
    fn open_directory(&mut self, path: &CStr) -> io::Result<OwnedFd> {
        open(Entry { directory: None, name: path }, libc::O_DIRECTORY | libc::O_RDONLY)
    }

    fn create_directory(&mut self, entry: Entry<'_>) -> io::Result<()> {
        // SAFETY: the name ends with a zero byte and lives through the call; so in all calls below.
        answer(unsafe { libc::mkdirat(directory(entry), entry.name.as_ptr(), DIRECTORY_MODE) })
    }

    fn remove_directory(&mut self, entry: Entry<'_>) -> io::Result<()> {
        // SAFETY: as above.
        answer(unsafe { libc::unlinkat(directory(entry), entry.name.as_ptr(), libc::AT_REMOVEDIR) })
    }

    fn create(&mut self, entry: Entry<'_>, presence: Presence, content: Content<'_>) -> io::Result<()> {
        let flags = self.moving(libc::O_CREAT | libc::O_WRONLY, content.bytes);
        let file = match presence {
            Presence::New => open(entry, flags | libc::O_EXCL)?,
            Presence::Shared => match open(entry, flags) {
                // As in `posix::open`: somebody else was first.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open(entry, flags & !libc::O_CREAT)?,
                opened => opened?,
            },
        };
        write_and_close(file, content)
    }

    fn make_node(&mut self, entry: Entry<'_>) -> io::Result<()> {
        // SAFETY: as above.
        answer(unsafe { libc::mknodat(directory(entry), entry.name.as_ptr(), libc::S_IFREG | FILE_MODE, 0) })
    }

    fn stat(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: as above, and the kernel fills `found`, which nobody reads.
        answer(unsafe {
            libc::fstatat(directory(entry), entry.name.as_ptr(), found.as_mut_ptr(), libc::AT_SYMLINK_NOFOLLOW)
        })
    }

    fn read(&mut self, entry: Entry<'_>, content: &mut [u8]) -> io::Result<()> {
        let file = open(entry, self.moving(libc::O_RDONLY, content))?;
        let mut read = 0;
        while read < content.len() {
            match nix::sys::uio::pread(&file, &mut content[read..], read as libc::off_t) {
                Ok(0) => {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("the file ends at byte {read}")));
                }
                Ok(count) => read += count,
                Err(nix::errno::Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(nix::unistd::close(file)?)
    }

    fn write(&mut self, entry: Entry<'_>, content: Content<'_>) -> io::Result<()> {
        write_and_close(open(entry, self.moving(libc::O_WRONLY, content.bytes))?, content)
    }

    fn rename(&mut self, from: Entry<'_>, to: Entry<'_>) -> io::Result<()> {
        // SAFETY: as above, for both names.
        answer(unsafe { libc::renameat(directory(from), from.name.as_ptr(), directory(to), to.name.as_ptr()) })
    }

    fn sync_all(&mut self) {
        nix::unistd::sync();
    }

    fn remove(&mut self, entry: Entry<'_>) -> io::Result<()> {
        // SAFETY: as above.
        answer(unsafe { libc::unlinkat(directory(entry), entry.name.as_ptr(), 0) })
    }
}
