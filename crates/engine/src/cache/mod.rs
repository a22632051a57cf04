//! The page cache: emptying it, the site's commands for that, and measuring what is left in it.
//!
//! Not here: when that is done and what it means for a number ([`crate::case`], [`crate::measure::doubts`]).

pub mod holes;
pub mod residency;
pub mod site_command;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

/// Writes out what is dirty in this node's memory of the device `target`, or of the file system that it is a directory of.
pub fn write_out(target: &File) -> io::Result<()> {
    if target.metadata()?.file_type().is_block_device() { target.sync_all() } else { Ok(nix::unistd::syncfs(target)?) }
}

/// Drops this node's clean page cache, dentries and inodes: those of everybody on the node. Needs root.
/// What is dirty of `target` is written out first, because dirty pages are never dropped.
pub fn drop_caches(target: &File) -> io::Result<()> {
    write_out(target)?;
    OpenOptions::new().write(true).open("/proc/sys/vm/drop_caches")?.write_all(b"3\n")
}

/// Asks the kernel to forget the pages of one file, after writing out what is dirty.
pub fn forget(file: &File) -> io::Result<()> {
    file.sync_data()?;
    posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
    Ok(())
}

/// Size of a page in bytes.
fn page_bytes() -> u64 {
    // SAFETY: sysconf has no preconditions.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

/// The descriptor as the raw system calls want it.
fn descriptor(file: &File) -> libc::c_long {
    file.as_raw_fd().into()
}
