//! Uncached I/O: through the page cache, whose pages are dropped as soon as they were moved (`RWF_DONTCACHE`, Linux 6.14).
//!
//! Not every file system has it: those that have not say so at the first transfer, so a plan is tried before.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::Plan;
use nix::sys::uio::{pread, pwrite};

use crate::failure;

/// The flags of a call that moves data. 0: none.
pub type Flags = libc::c_int;

/// The flags of transfers that are `uncached`, or are not.
pub fn flags(uncached: bool) -> Flags {
    if uncached { libc::RWF_DONTCACHE } else { 0 }
}

/// `pwrite`, or `pwritev2` with flags: how many of `bytes` it wrote.
pub fn write(file: impl AsFd, bytes: &[u8], offset: u64, flags: Flags) -> io::Result<usize> {
    if flags == 0 {
        return Ok(pwrite(file, bytes, offset as libc::off_t)?);
    }
    write_pieces(file, &[IoSlice::new(bytes)], offset, flags)
}

/// `pread`, or `preadv2` with flags: how many of `bytes` it filled.
pub fn read(file: impl AsFd, bytes: &mut [u8], offset: u64, flags: Flags) -> io::Result<usize> {
    if flags == 0 {
        return Ok(pread(file, bytes, offset as libc::off_t)?);
    }
    read_pieces(file, &mut [IoSliceMut::new(bytes)], offset, flags)
}

/// `pwritev2`: how many bytes of `pieces` it wrote.
pub fn write_pieces(file: impl AsFd, pieces: &[IoSlice<'_>], offset: u64, flags: Flags) -> io::Result<usize> {
    let (descriptor, count) = (file.as_fd().as_raw_fd(), pieces.len() as libc::c_int);
    // SAFETY: an `IoSlice` has the layout of an iovec, and its memory is borrowed through the call.
    moved(unsafe { libc::pwritev2(descriptor, pieces.as_ptr().cast(), count, offset as libc::off_t, flags) })
}

/// `preadv2`: how many bytes of `pieces` it filled.
pub fn read_pieces(file: impl AsFd, pieces: &mut [IoSliceMut<'_>], offset: u64, flags: Flags) -> io::Result<usize> {
    let (descriptor, count) = (file.as_fd().as_raw_fd(), pieces.len() as libc::c_int);
    // SAFETY: an `IoSliceMut` has the layout of an iovec, and its memory is borrowed mutably through the call.
    moved(unsafe { libc::preadv2(descriptor, pieces.as_mut_ptr().cast(), count, offset as libc::off_t, flags) })
}

fn moved(answer: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}

/// An error if `plan` has uncached I/O and `target`, a directory or block device, refuses it. A file without a name is
/// created for that, where the file system has such files; nothing is written.
pub fn check(plan: &Plan, target: &Path) -> Result<(), Failure> {
    if !is_asked(plan) {
        return Ok(());
    }
    let nameless = || OpenOptions::new().read(true).write(true).custom_flags(libc::O_TMPFILE).mode(0o600).open(target);
    let file = if target.is_dir() { nameless() } else { File::open(target) };
    // What cannot be tried here is tried on a file of the workspace.
    file.map_or(Ok(()), |file| check_file(&file, target))
}

/// The same, tried on a `file` of the workspace.
pub fn check_in_workspace(plan: &Plan, file: &File, workspace: &Path) -> Result<(), Failure> {
    if is_asked(plan) { check_file(file, workspace) } else { Ok(()) }
}

fn is_asked(plan: &Plan) -> bool {
    plan.jobs().any(|job| plan.storage_of(job).uncached)
}

fn check_file(file: &File, place: &Path) -> Result<(), Failure> {
    let mut byte = [0];
    match read_pieces(file, &mut [IoSliceMut::new(&mut byte)], 0, libc::RWF_DONTCACHE) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            let message =
                format!("{}: this kernel or file system has no uncached I/O (RWF_DONTCACHE)", place.display());
            let remedy =
                "leave out `cache: uncached`, use `direct: yes`, or measure ext4 or XFS on Linux 6.14 or newer";
            Err(failure::about_path("check uncached I/O", place, message, remedy))
        }
        // What else is wrong with it the case itself finds.
        _ => Ok(()),
    }
}
