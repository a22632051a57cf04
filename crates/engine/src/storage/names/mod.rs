//! Directory entries: what metadata phases do, for the APIs that have them.

pub mod posix;

use std::ffi::CStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// An entry as a system call names it.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The open directory that `name` is in; without one `name` is a full path.
    pub directory: Option<BorrowedFd<'a>>,
    /// Path or name.
    pub name: &'a CStr,
}

/// Operations on directory entries. The hot path of metadata phases: no allocation, no lock, no clock.
pub trait Names {
    /// Opens a directory so that entries can be named in it. Outside the clock.
    fn open_directory(&mut self, path: &CStr) -> io::Result<OwnedFd>;

    /// Creates a directory.
    fn create_directory(&mut self, entry: Entry<'_>) -> io::Result<()>;

    /// Removes an empty directory.
    fn remove_directory(&mut self, entry: Entry<'_>) -> io::Result<()>;

    /// Creates a file that does not exist with `content`, and syncs it if asked.
    fn create(&mut self, entry: Entry<'_>, content: &[u8], sync: bool) -> io::Result<()>;

    /// Creates an empty file that does not exist with `mknod`.
    fn make_node(&mut self, entry: Entry<'_>) -> io::Result<()>;

    /// Looks at the attributes of a file or directory.
    fn stat(&mut self, entry: Entry<'_>) -> io::Result<()>;

    /// Opens a file, reads as many bytes as `content` holds from its beginning, closes it. Fewer bytes are an error.
    fn read(&mut self, entry: Entry<'_>, content: &mut [u8]) -> io::Result<()>;

    /// Opens an existing file, writes `content` at its beginning, syncs it if asked, closes it.
    fn write(&mut self, entry: Entry<'_>, content: &[u8], sync: bool) -> io::Result<()>;

    /// Gives an entry another name.
    fn rename(&mut self, from: Entry<'_>, to: Entry<'_>) -> io::Result<()>;

    /// Removes a file.
    fn remove(&mut self, entry: Entry<'_>) -> io::Result<()>;
}
