//! File systems in memory: how the kernel is made to do their transfers at once.
//!
//! io_uring first tries each transfer without waiting, and hands it to a worker thread where the file system cannot
//! promise that. Those in memory promise nothing, although nothing in them is waited for: each transfer would cost twice
//! the processor time, most of it for the worker. So their files are marked as never to be waited for.
//! Not here: file systems on storage, where the worker may well have to wait.

use std::fs::File;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::statfs::{FsType, TMPFS_MAGIC, fstatfs};

/// By the number in statfs. ramfs has no constant in the library.
const IN_MEMORY: [FsType; 2] = [TMPFS_MAGIC, FsType(0x8584_58f6)];

/// Marks `file` where it is in memory. To be called before it is registered: the kernel looks at the marks then.
///
/// Without O_NONBLOCK no transfer, and without O_DIRECT no write, is tried. Neither changes anything else there: direct
/// or not, the data stays in the page cache, and any offset and length will do.
pub(super) fn take_at_once(file: &File) {
    if !fstatfs(file).is_ok_and(|about| IN_MEMORY.contains(&about.filesystem_type())) {
        return;
    }
    let Ok(now) = fcntl(file, FcntlArg::F_GETFL).map(OFlag::from_bits_retain) else { return };
    let set = |flags: OFlag| fcntl(file, FcntlArg::F_SETFL(now | flags)).is_ok();
    // tmpfs before Linux 6.6, and ramfs, refuse O_DIRECT; their reads gain all the same. Without either mark all works,
    // only slower.
    let _ = set(OFlag::O_NONBLOCK | OFlag::O_DIRECT) || set(OFlag::O_NONBLOCK);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn marked_files_take_odd_offsets_and_others_are_left_as_they_are() {
        let memory = tempfile::tempfile_in("/dev/shm").unwrap();
        take_at_once(&memory);
        memory.write_all_at(&[1, 2, 3], 4097).unwrap();
        let mut read = [0; 3];
        memory.read_exact_at(&mut read, 4097).unwrap();
        assert_eq!(read, [1, 2, 3]);
        let other = File::open("/proc/self/status").unwrap();
        let flags = || fcntl(&other, FcntlArg::F_GETFL).unwrap();
        let before = flags();
        take_at_once(&other);
        assert_eq!(flags(), before);
    }
}
