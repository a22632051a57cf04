//! Create, stat, read and unlink of files by their full paths, or by their names in an open directory.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ioassay_engine::case::Case;
use ioassay_engine::ranks::Stopped;
use ioassay_engine::ranks::local::LocalRank;

use super::timed;

/// The operations, in the order in which they are run.
pub const OPERATIONS: [&str; 4] = ["create", "stat", "read", "remove"];

/// The names of one rank's files, as long as those of the engine.
pub struct Loop {
    directory: PathBuf,
    names: Vec<CString>,
    content: Vec<u8>,
}

impl Loop {
    /// `items` files of `bytes` of `rank` in a directory of its own below `base`.
    pub fn new(base: &Path, rank: u32, items: u64, bytes: usize) -> Self {
        let directory = base.join(format!("mdtest_tree.{rank}.0"));
        let name = |item| directory.join(format!("file.mdtest.{rank}.{item}"));
        let names = (0..items).map(|item| CString::new(name(item).as_os_str().as_bytes()).expect("no zero byte"));
        Self { names: names.collect(), directory, content: vec![7; bytes] }
    }

    /// Runs all four on all ranks together; rank 0 appends their rates to `results`.
    pub fn run(&self, case: &Case<'_>, rank: &LocalRank<'_>, results: &Path) -> Result<(), Stopped> {
        fs::create_dir_all(&self.directory).expect("a directory");
        let cwd = libc::AT_FDCWD;
        let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let mut buffer = self.content.clone();
        let count = self.names.len();
        timed(case, rank, ("create", results), count, || {
            for name in &self.names {
                let file = open(cwd, name, flags | libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY);
                if !self.content.is_empty() {
                    // SAFETY: the content is valid for reading its whole length.
                    let moved =
                        unsafe { libc::pwrite(file.as_raw_fd(), self.content.as_ptr().cast(), self.content.len(), 0) };
                    assert_eq!(moved, self.content.len() as isize);
                }
            }
        })?;
        timed(case, rank, ("stat", results), count, || {
            let mut about = std::mem::MaybeUninit::<libc::stat>::uninit();
            for name in &self.names {
                // SAFETY: the name ends with a zero byte, and the kernel fills `about`, which nobody reads.
                let answer =
                    unsafe { libc::fstatat(cwd, name.as_ptr(), about.as_mut_ptr(), libc::AT_SYMLINK_NOFOLLOW) };
                assert_eq!(answer, 0);
            }
        })?;
        timed(case, rank, ("read", results), count, || {
            for name in &self.names {
                let file = open(cwd, name, flags | libc::O_RDONLY);
                if !buffer.is_empty() {
                    // SAFETY: `buffer` is valid for writing its whole length.
                    let moved = unsafe { libc::pread(file.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
                    assert_eq!(moved, buffer.len() as isize);
                }
            }
        })?;
        timed(case, rank, ("remove", results), count, || {
            for name in &self.names {
                // SAFETY: the name ends with a zero byte.
                assert_eq!(unsafe { libc::unlinkat(cwd, name.as_ptr(), 0) }, 0);
            }
        })?;
        fs::remove_dir(&self.directory).expect("an empty directory");
        Ok(())
    }
}

fn open(directory: RawFd, name: &CString, flags: libc::c_int) -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: the name ends with a zero byte.
    let file = unsafe { libc::openat(directory, name.as_ptr(), flags, 0o600) };
    assert_ne!(file, -1, "{name:?}");
    // SAFETY: the kernel has just given us this descriptor.
    unsafe { OwnedFd::from_raw_fd(file) }
}
