//! At once, or through a worker: which way the kernel is to take the transfers of a file.
//!
//! io_uring first tries each transfer without waiting. Where the file system cannot say beforehand whether it would
//! have to wait, the attempt fails and a worker thread of the kernel does the transfer: so with buffered writes nearly
//! everywhere, and with reads on some file systems. Transfers that are marked for the workers are spared the attempt,
//! and a worker that gets them faster sleeps less often.
//!
//! File systems in memory cannot say it either, although they never wait. There the file is marked instead, which
//! makes the kernel do its transfers at once: less than half of the processor time.
//! Not here: rings, and what becomes of a transfer.

use std::fs::File;
use std::os::fd::AsRawFd;

use io_uring::squeue::Flags;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::statfs::{FsType, TMPFS_MAGIC, fstatfs};

use crate::storage::Access;

/// File systems in memory, by the number in statfs. ramfs has no constant in the library.
const IN_MEMORY: [FsType; 2] = [TMPFS_MAGIC, FsType(0x8584_58f6)];

/// How the transfers of one file are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    /// Those that read.
    pub read: Flags,
    /// Those that write.
    pub write: Flags,
}

impl Marks {
    const NONE: Self = Self { read: Flags::empty(), write: Flags::empty() };
}

/// How the transfers of `file` are to be marked. Neither its bytes nor its size change.
pub(super) fn marks(file: &File, access: Access, direct: bool) -> Marks {
    if fstatfs(file).is_ok_and(|about| IN_MEMORY.contains(&about.filesystem_type())) {
        return in_memory(file);
    }
    // Direct I/O is what the kernel can nearly always begin without waiting.
    if direct {
        return Marks::NONE;
    }
    let through_worker = |tried: bool| if tried { Flags::empty() } else { Flags::ASYNC };
    Marks {
        read: through_worker(access == Access::Write || tries_reads(file)),
        write: through_worker(access == Access::Read || tries_writes(file)),
    }
}

/// Without O_NONBLOCK no transfer, and without O_DIRECT no write, is tried on these file systems. Neither changes
/// anything else there: direct or not, the data stays in the page cache.
fn in_memory(file: &File) -> Marks {
    let Ok(now) = fcntl(file, FcntlArg::F_GETFL).map(OFlag::from_bits_retain) else { return Marks::NONE };
    let set = |flags: OFlag| fcntl(file, FcntlArg::F_SETFL(now | flags)).is_ok();
    // tmpfs before Linux 6.6, and ramfs, refuse O_DIRECT.
    if !set(OFlag::O_NONBLOCK | OFlag::O_DIRECT) && set(OFlag::O_NONBLOCK) {
        return Marks { write: Flags::ASYNC, ..Marks::NONE };
    }
    Marks::NONE
}

/// True where the kernel tries buffered reads. It is asked to read behind the end of the file, without waiting.
fn tries_reads(file: &File) -> bool {
    let mut byte = 0_u8;
    let memory = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let behind = libc::off_t::MAX - 4096;
    // SAFETY: one piece of memory with room for one byte.
    let answer = unsafe { libc::preadv2(file.as_raw_fd(), &raw const memory, 1, behind, libc::RWF_NOWAIT) };
    answer >= 0 || Errno::last() != Errno::EOPNOTSUPP
}

/// True where the kernel tries buffered writes. It is asked to write, without waiting, what is nowhere: where it tries,
/// it finds that there is no such memory, or that it would wait.
fn tries_writes(file: &File) -> bool {
    let nowhere = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 1 };
    // SAFETY: the kernel checks the address, which no process can map, before it reads there.
    let answer = unsafe { libc::pwritev2(file.as_raw_fd(), &raw const nowhere, 1, 0, libc::RWF_NOWAIT) };
    answer < 0 && matches!(Errno::last(), Errno::EFAULT | Errno::EAGAIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    #[test]
    fn asking_changes_nothing_in_a_file() {
        for directory in [&std::env::current_dir().unwrap(), Path::new("/dev/shm")] {
            for bytes in [0, 5000] {
                let mut file = tempfile::Builder::new().tempfile_in(directory).unwrap();
                std::io::Write::write_all(&mut file, &vec![7; bytes]).unwrap();
                for (access, direct) in [(Access::Write, false), (Access::ReadWrite, false), (Access::ReadWrite, true)]
                {
                    marks(file.as_file(), access, direct);
                    assert_eq!(std::fs::read(file.path()).unwrap(), vec![7; bytes], "{}", directory.display());
                }
            }
        }
    }

    #[test]
    fn memory_is_never_waited_for_and_still_takes_odd_offsets() {
        let file = tempfile::Builder::new().tempfile_in("/dev/shm").unwrap();
        assert_eq!(marks(file.as_file(), Access::ReadWrite, false).read, Flags::empty());
        file.as_file().write_all_at(&[1, 2, 3], 4097).unwrap();
        let mut read = [0; 3];
        file.as_file().read_exact_at(&mut read, 4097).unwrap();
        assert_eq!(read, [1, 2, 3]);
    }
}
