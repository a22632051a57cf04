//! Which system calls are counted, and as what: the same classes as the recorder's hooks of the C library.
//!
//! Not counted: `io_submit`, and what moves no file's bytes (`recvmsg`, `epoll_wait`). Requests of io_uring are read where they
//! lie (`rings`).

use ioassay_record::operation::Operation::{self, *};

/// What a system call is, and which of its arguments say what of. An argument is named by its place, from 0 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Transfers from where descriptor 0 is.
    AtPosition(Operation),
    /// Transfers from an offset, argument 3; -1 is where descriptor 0 is.
    AtOffset(Operation),
    /// Something else on descriptor 0.
    OnDescriptor(Operation),
    /// On the path in that argument, relative to the working directory.
    OnPath(Operation, usize),
    /// On the path in the second of these arguments, relative to the directory in the first.
    Beneath(Operation, usize, usize),
    /// On no file in particular.
    OnNone(Operation),
    /// Opens the path in the second argument beneath the directory in the first, if there is one.
    Open(Option<usize>, usize, Flags),
    /// Opens what has no path.
    OpenNameless,
    /// `close`.
    Close,
    /// `close_range`.
    CloseRange,
    /// `lseek`.
    Seek,
    /// `dup`.
    Duplicate,
    /// `dup2`, `dup3`.
    DuplicateTo,
    /// `fcntl`.
    Control,
    /// `mmap`.
    Map,
    /// `munmap`.
    Unmap,
    /// `mremap`.
    Remap,
    /// `msync`.
    SyncMap,
    /// Copies: the descriptor and the pointer to an offset (if any) of the source, then of the destination.
    Copy((usize, Option<usize>), (usize, Option<usize>)),
    /// Changes the working directory.
    ChangeDirectory,
    /// `io_uring_setup`.
    RingSetUp,
    /// `io_uring_enter`.
    RingEnter,
    /// `io_uring_register`.
    RingRegister,
}

/// Where a call that opens has its flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flags {
    /// In that argument.
    Argument(usize),
    /// At the beginning of what that argument points to.
    Behind(usize),
    /// They are always these.
    Always(i32),
}

/// Later than the C library's headers.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const GETXATTRAT: i64 = 464;
const LISTXATTRAT: i64 = 465;
const REMOVEXATTRAT: i64 = 466;

/// The calls that are counted, or that change what descriptors and paths mean.
const CALLS: &[(i64, Call)] = &[
    (libc::SYS_read, Call::AtPosition(Read)),
    (libc::SYS_readv, Call::AtPosition(Read)),
    (libc::SYS_write, Call::AtPosition(Write)),
    (libc::SYS_writev, Call::AtPosition(Write)),
    (libc::SYS_pread64, Call::AtOffset(Read)),
    (libc::SYS_preadv, Call::AtOffset(Read)),
    (libc::SYS_preadv2, Call::AtOffset(Read)),
    (libc::SYS_pwrite64, Call::AtOffset(Write)),
    (libc::SYS_pwritev, Call::AtOffset(Write)),
    (libc::SYS_pwritev2, Call::AtOffset(Write)),
    (libc::SYS_sendfile, Call::Copy((1, Some(2)), (0, None))),
    (libc::SYS_copy_file_range, Call::Copy((0, Some(1)), (2, Some(3)))),
    (libc::SYS_splice, Call::Copy((0, Some(1)), (2, Some(3)))),
    (libc::SYS_mmap, Call::Map),
    (libc::SYS_munmap, Call::Unmap),
    (libc::SYS_mremap, Call::Remap),
    (libc::SYS_openat, Call::Open(Some(0), 1, Flags::Argument(2))),
    (libc::SYS_openat2, Call::Open(Some(0), 1, Flags::Behind(2))),
    (libc::SYS_open_by_handle_at, Call::OpenNameless),
    (libc::SYS_memfd_create, Call::OpenNameless),
    (libc::SYS_memfd_secret, Call::OpenNameless),
    (libc::SYS_close, Call::Close),
    (libc::SYS_close_range, Call::CloseRange),
    (libc::SYS_lseek, Call::Seek),
    (libc::SYS_dup, Call::Duplicate),
    (libc::SYS_dup3, Call::DuplicateTo),
    (libc::SYS_fcntl, Call::Control),
    (libc::SYS_flock, Call::OnDescriptor(Lock)),
    (libc::SYS_fsync, Call::OnDescriptor(Sync)),
    (libc::SYS_fdatasync, Call::OnDescriptor(Sync)),
    (libc::SYS_sync_file_range, Call::OnDescriptor(Sync)),
    (libc::SYS_syncfs, Call::OnDescriptor(Sync)),
    (libc::SYS_sync, Call::OnNone(Sync)),
    (libc::SYS_msync, Call::SyncMap),
    (libc::SYS_truncate, Call::OnPath(Truncate, 0)),
    (libc::SYS_ftruncate, Call::OnDescriptor(Truncate)),
    (libc::SYS_fallocate, Call::OnDescriptor(Truncate)),
    (libc::SYS_fadvise64, Call::OnDescriptor(Advise)),
    (libc::SYS_readahead, Call::OnDescriptor(Advise)),
    (libc::SYS_getdents64, Call::OnDescriptor(List)),
    (libc::SYS_fstat, Call::OnDescriptor(Stat)),
    (libc::SYS_fstatfs, Call::OnDescriptor(Stat)),
    (libc::SYS_fgetxattr, Call::OnDescriptor(Stat)),
    (libc::SYS_flistxattr, Call::OnDescriptor(Stat)),
    (libc::SYS_newfstatat, Call::Beneath(Stat, 0, 1)),
    (libc::SYS_statx, Call::Beneath(Stat, 0, 1)),
    (libc::SYS_faccessat, Call::Beneath(Stat, 0, 1)),
    (libc::SYS_faccessat2, Call::Beneath(Stat, 0, 1)),
    (libc::SYS_readlinkat, Call::Beneath(Stat, 0, 1)),
    (libc::SYS_name_to_handle_at, Call::Beneath(Stat, 0, 1)),
    (libc::SYS_statfs, Call::OnPath(Stat, 0)),
    (libc::SYS_getxattr, Call::OnPath(Stat, 0)),
    (libc::SYS_lgetxattr, Call::OnPath(Stat, 0)),
    (libc::SYS_listxattr, Call::OnPath(Stat, 0)),
    (libc::SYS_llistxattr, Call::OnPath(Stat, 0)),
    (GETXATTRAT, Call::Beneath(Stat, 0, 1)),
    (LISTXATTRAT, Call::Beneath(Stat, 0, 1)),
    (libc::SYS_fchmod, Call::OnDescriptor(Attribute)),
    (libc::SYS_fchown, Call::OnDescriptor(Attribute)),
    (libc::SYS_fsetxattr, Call::OnDescriptor(Attribute)),
    (libc::SYS_fremovexattr, Call::OnDescriptor(Attribute)),
    (libc::SYS_fchmodat, Call::Beneath(Attribute, 0, 1)),
    (FCHMODAT2, Call::Beneath(Attribute, 0, 1)),
    (libc::SYS_fchownat, Call::Beneath(Attribute, 0, 1)),
    (libc::SYS_utimensat, Call::Beneath(Attribute, 0, 1)),
    (libc::SYS_setxattr, Call::OnPath(Attribute, 0)),
    (libc::SYS_lsetxattr, Call::OnPath(Attribute, 0)),
    (libc::SYS_removexattr, Call::OnPath(Attribute, 0)),
    (libc::SYS_lremovexattr, Call::OnPath(Attribute, 0)),
    (SETXATTRAT, Call::Beneath(Attribute, 0, 1)),
    (REMOVEXATTRAT, Call::Beneath(Attribute, 0, 1)),
    (libc::SYS_mkdirat, Call::Beneath(Create, 0, 1)),
    (libc::SYS_mknodat, Call::Beneath(Create, 0, 1)),
    (libc::SYS_linkat, Call::Beneath(Create, 2, 3)),
    (libc::SYS_symlinkat, Call::Beneath(Create, 1, 2)),
    (libc::SYS_unlinkat, Call::Beneath(Remove, 0, 1)),
    (libc::SYS_renameat2, Call::Beneath(Rename, 0, 1)),
    (libc::SYS_renameat, Call::Beneath(Rename, 0, 1)),
    (libc::SYS_accept, Call::OnDescriptor(Accept)),
    (libc::SYS_accept4, Call::OnDescriptor(Accept)),
    (libc::SYS_connect, Call::OnDescriptor(Connect)),
    (libc::SYS_chdir, Call::ChangeDirectory),
    (libc::SYS_fchdir, Call::ChangeDirectory),
    (libc::SYS_chroot, Call::ChangeDirectory),
    (libc::SYS_io_uring_setup, Call::RingSetUp),
    (libc::SYS_io_uring_enter, Call::RingEnter),
    (libc::SYS_io_uring_register, Call::RingRegister),
];

/// Calls that only this architecture has.
#[cfg(target_arch = "x86_64")]
const OLD: &[(i64, Call)] = &[
    (libc::SYS_open, Call::Open(None, 0, Flags::Argument(1))),
    (libc::SYS_creat, Call::Open(None, 0, Flags::Always(libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC))),
    (libc::SYS_dup2, Call::DuplicateTo),
    (libc::SYS_getdents, Call::OnDescriptor(List)),
    (libc::SYS_stat, Call::OnPath(Stat, 0)),
    (libc::SYS_lstat, Call::OnPath(Stat, 0)),
    (libc::SYS_access, Call::OnPath(Stat, 0)),
    (libc::SYS_readlink, Call::OnPath(Stat, 0)),
    (libc::SYS_chmod, Call::OnPath(Attribute, 0)),
    (libc::SYS_chown, Call::OnPath(Attribute, 0)),
    (libc::SYS_lchown, Call::OnPath(Attribute, 0)),
    (libc::SYS_utime, Call::OnPath(Attribute, 0)),
    (libc::SYS_utimes, Call::OnPath(Attribute, 0)),
    (libc::SYS_futimesat, Call::Beneath(Attribute, 0, 1)),
    (libc::SYS_mkdir, Call::OnPath(Create, 0)),
    (libc::SYS_mknod, Call::OnPath(Create, 0)),
    (libc::SYS_link, Call::OnPath(Create, 1)),
    (libc::SYS_symlink, Call::OnPath(Create, 1)),
    (libc::SYS_unlink, Call::OnPath(Remove, 0)),
    (libc::SYS_rmdir, Call::OnPath(Remove, 0)),
    (libc::SYS_rename, Call::OnPath(Rename, 0)),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[(i64, Call)] = &[];

/// Commands of `fcntl` that matter.
pub const DUPLICATES: [i32; 2] = [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC];
/// Commands of `fcntl` that lock.
pub const LOCKS: [i32; 6] =
    [libc::F_GETLK, libc::F_SETLK, libc::F_SETLKW, libc::F_OFD_GETLK, libc::F_OFD_SETLK, libc::F_OFD_SETLKW];

/// The numbers of all calls that matter.
pub fn numbers() -> impl Iterator<Item = i64> {
    CALLS.iter().chain(OLD).map(|(number, _)| *number)
}

/// The calls by number.
#[derive(Debug)]
pub struct Calls {
    by_number: Vec<Option<Call>>,
}

impl Calls {
    /// All that matter.
    pub fn all() -> Self {
        let most = numbers().max().unwrap_or(0);
        let mut by_number = vec![None; most as usize + 1];
        for (number, call) in CALLS.iter().chain(OLD) {
            by_number[*number as usize] = Some(*call);
        }
        Self { by_number }
    }

    /// What a call is; nothing where it does not matter.
    pub fn of(&self, number: u64, arguments: &[u64; 6]) -> Option<Call> {
        let call = (*self.by_number.get(usize::try_from(number).ok()?)?)?;
        match call {
            Call::Map if arguments[3] as i32 & libc::MAP_ANONYMOUS != 0 => None,
            Call::Control => {
                let command = arguments[1] as i32;
                (DUPLICATES.contains(&command) || LOCKS.contains(&command)).then_some(call)
            }
            _ => Some(call),
        }
    }
}

impl Call {
    /// The class that it is counted in; nothing where it only changes what descriptors and paths mean.
    pub fn operation(self, arguments: &[u64; 6]) -> Option<Operation> {
        Some(match self {
            Self::AtPosition(operation)
            | Self::AtOffset(operation)
            | Self::OnDescriptor(operation)
            | Self::OnPath(operation, _)
            | Self::Beneath(operation, _, _)
            | Self::OnNone(operation) => operation,
            Self::Open(..) | Self::OpenNameless => Open,
            Self::Close => Close,
            // Only a mark for `exec`.
            Self::CloseRange if arguments[2] & u64::from(libc::CLOSE_RANGE_CLOEXEC) != 0 => return None,
            Self::CloseRange => Close,
            Self::Seek => Seek,
            Self::Control if LOCKS.contains(&(arguments[1] as i32)) => Lock,
            Self::Map => Map,
            Self::SyncMap => Sync,
            Self::Copy(..) => CopyFrom,
            Self::Control | Self::Duplicate | Self::DuplicateTo | Self::ChangeDirectory | Self::Unmap | Self::Remap => {
                return None;
            }
            // Counted are the requests.
            Self::RingSetUp | Self::RingEnter | Self::RingRegister => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_call_is_listed_once() {
        let mut seen = HashSet::new();
        assert!(numbers().all(|number| seen.insert(number)));
    }

    #[test]
    fn memory_without_a_file_and_flags_of_descriptors_do_not_matter() {
        let calls = Calls::all();
        let of = |number: i64, arguments| calls.of(number as u64, &arguments);
        assert_eq!(of(libc::SYS_mmap, [0, 1, 3, libc::MAP_ANONYMOUS as u64, u64::MAX, 0]), None);
        assert_eq!(of(libc::SYS_mmap, [0, 1, 3, libc::MAP_PRIVATE as u64, 3, 0]), Some(Call::Map));
        assert_eq!(of(libc::SYS_fcntl, [0, libc::F_GETFL as u64, 0, 0, 0, 0]), None);
        assert_eq!(of(libc::SYS_fcntl, [0, libc::F_SETLKW as u64, 0, 0, 0, 0]), Some(Call::Control));
        assert_eq!(of(libc::SYS_getpid, [0; 6]), None);
        assert_eq!(calls.of(u64::MAX, &[0; 6]), None);
    }
}
