//! `syscall`: calls of the kernel by number. Those that have a function in the other files are counted like that; all
//! others pass through.

use core::ffi::{c_int, c_long, c_uint, c_ulong};

use ioassay_record::operation::Operation::{
    Accept, Advise, Attribute, Close, Connect, Create, List, Lock, Read, Remove, Rename, Stat, Sync, Truncate, Write,
};
use libc::{off64_t, size_t, ssize_t};

use super::copies::copy;
use super::data::{at_offset, at_position};
use super::descriptors::{close_all, close_as, duplicate, seek};
use super::locks::control;
use super::maps::{map, remap, unmap};
use super::open::{open_at, open_nameless};
use super::paths::{change_root, go};
use super::signals::change_mask;
use super::sync::sync_map;
use super::{Path, hook, on_descriptor, on_none, on_path_at, restrictions, uring};
use crate::maps::Wish;
use crate::{call, faults, masks, process};

/// Not in the C library's headers of all systems; the first two are the same everywhere.
const FCHMODAT2: c_long = 452;
const EPOLL_PWAIT2: c_long = 441;
const IO_PGETEVENTS: c_long = if cfg!(target_arch = "x86_64") { 333 } else { 292 };

hook! {
    fn syscall(number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long |real| {
        let (descriptor, integer) = (a as c_int, || real() as c_int);
        // SAFETY: it is asked for where the kernel expects one.
        let path = |argument: c_long| unsafe { Path::of_argument(argument as usize) };
        let offset = |argument: c_long| argument as *const off64_t;
        match number {
            libc::SYS_read | libc::SYS_write => {
                let operation = if number == libc::SYS_read { Read } else { Write };
                at_position(call::transfer_on(operation, descriptor, c as size_t), || real() as ssize_t) as c_long
            }
            libc::SYS_pread64 | libc::SYS_pwrite64 => {
                let operation = if number == libc::SYS_pread64 { Read } else { Write };
                at_offset(call::transfer_on(operation, descriptor, c as size_t), d, || real() as ssize_t) as c_long
            }
            libc::SYS_readv => at_position(call::on_descriptor(Read, descriptor), || real() as ssize_t) as c_long,
            libc::SYS_writev => at_position(call::on_descriptor(Write, descriptor), || real() as ssize_t) as c_long,
            libc::SYS_preadv | libc::SYS_preadv2 => {
                at_offset(call::on_descriptor(Read, descriptor), d, || real() as ssize_t) as c_long
            }
            libc::SYS_pwritev | libc::SYS_pwritev2 => {
                at_offset(call::on_descriptor(Write, descriptor), d, || real() as ssize_t) as c_long
            }
            libc::SYS_sendfile => {
                copy((b as c_int, offset(c)), (descriptor, offset(0)), || real() as ssize_t) as c_long
            }
            libc::SYS_copy_file_range | libc::SYS_splice => {
                copy((descriptor, offset(b)), (c as c_int, offset(d)), || real() as ssize_t) as c_long
            }
            libc::SYS_mmap => {
                let (protection, flags, descriptor) = (c as c_int, d as c_int, e as c_int);
                let wish = Wish { bytes: b as size_t, protection, flags, descriptor, offset: f as u64 };
                map(a as usize, wish, || real() as isize) as c_long
            }
            libc::SYS_munmap => {
                unmap(a as usize, b as size_t);
                real()
            }
            libc::SYS_mremap => {
                remap([a, b, c, d, e].map(|argument| argument as usize), || real() as isize) as c_long
            }
            libc::SYS_openat => open_at(descriptor, path(b), c as c_int, integer).into(),
            // Its flags are where only the kernel can look without danger.
            libc::SYS_openat2 => open_at(descriptor, path(b), 0, integer).into(),
            libc::SYS_open_by_handle_at | libc::SYS_memfd_create | libc::SYS_memfd_secret => {
                open_nameless(integer).into()
            }
            libc::SYS_close => close_as(Close, descriptor, real),
            libc::SYS_close_range => close_all(a as c_uint, b as c_uint, c as c_int, real),
            libc::SYS_dup | libc::SYS_dup3 => duplicate(descriptor, integer).into(),
            libc::SYS_fcntl => control(descriptor, b as c_int, integer).into(),
            libc::SYS_lseek => seek(descriptor, real),
            libc::SYS_flock => on_descriptor(Lock, descriptor, real),
            libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_sync_file_range | libc::SYS_syncfs => {
                on_descriptor(Sync, descriptor, real)
            }
            libc::SYS_sync => on_none(Sync, real),
            libc::SYS_msync => sync_map(a as usize, b as size_t, real),
            libc::SYS_ftruncate | libc::SYS_fallocate => on_descriptor(Truncate, descriptor, real),
            libc::SYS_truncate => on_path_at(Truncate, libc::AT_FDCWD, path(a), real),
            libc::SYS_fadvise64 | libc::SYS_readahead => on_descriptor(Advise, descriptor, real),
            libc::SYS_getdents64 => on_descriptor(List, descriptor, real),
            libc::SYS_fstat | libc::SYS_fstatfs | libc::SYS_fgetxattr | libc::SYS_flistxattr => {
                on_descriptor(Stat, descriptor, real)
            }
            libc::SYS_newfstatat
            | libc::SYS_statx
            | libc::SYS_faccessat
            | libc::SYS_faccessat2
            | libc::SYS_readlinkat
            | libc::SYS_name_to_handle_at => on_path_at(Stat, descriptor, path(b), real),
            libc::SYS_statfs
            | libc::SYS_getxattr
            | libc::SYS_lgetxattr
            | libc::SYS_listxattr
            | libc::SYS_llistxattr => on_path_at(Stat, libc::AT_FDCWD, path(a), real),
            libc::SYS_fchmod | libc::SYS_fchown | libc::SYS_fsetxattr | libc::SYS_fremovexattr => {
                on_descriptor(Attribute, descriptor, real)
            }
            libc::SYS_fchmodat | FCHMODAT2 | libc::SYS_fchownat | libc::SYS_utimensat => {
                on_path_at(Attribute, descriptor, path(b), real)
            }
            libc::SYS_setxattr | libc::SYS_lsetxattr | libc::SYS_removexattr | libc::SYS_lremovexattr => {
                on_path_at(Attribute, libc::AT_FDCWD, path(a), real)
            }
            libc::SYS_mkdirat | libc::SYS_mknodat => on_path_at(Create, descriptor, path(b), real),
            libc::SYS_linkat => on_path_at(Create, c as c_int, path(d), real),
            libc::SYS_symlinkat => on_path_at(Create, b as c_int, path(c), real),
            libc::SYS_unlinkat => on_path_at(Remove, descriptor, path(b), real),
            libc::SYS_renameat | libc::SYS_renameat2 => on_path_at(Rename, descriptor, path(b), real),
            libc::SYS_accept | libc::SYS_accept4 => on_descriptor(Accept, descriptor, real),
            libc::SYS_connect => on_descriptor(Connect, descriptor, real),
            libc::SYS_chdir | libc::SYS_fchdir => go(integer).into(),
            libc::SYS_chroot => change_root(path(a), integer).into(),
            libc::SYS_prctl => restrictions::control(descriptor, b as c_ulong, real),
            libc::SYS_seccomp => restrictions::seccomp(a, real),
            // SAFETY: sets of signals, or none.
            libc::SYS_rt_sigprocmask => unsafe {
                let with = |set: u64| replaced(number, a, &raw const set as c_long, c, d, e, f) as c_int;
                change_mask(descriptor, b as *const u64, c as *mut u64, with, integer)
            }
            .into(),
            // SAFETY: actions of the kernel's, or none.
            libc::SYS_rt_sigaction if descriptor == libc::SIGBUS && faults::watches() => unsafe {
                let before = faults::change_action((b as *const faults::Action).as_ref().copied());
                if c != 0 {
                    (c as *mut faults::Action).write_unaligned(before);
                }
                0
            },
            libc::SYS_rt_sigsuspend => masks::wait(true, real),
            libc::SYS_ppoll => masks::wait(d != 0, real),
            libc::SYS_epoll_pwait | EPOLL_PWAIT2 => masks::wait(e != 0, real),
            libc::SYS_io_uring_enter => {
                uring::enter_ring(descriptor, d as c_uint, || masks::wait(e != 0, real) as c_int).into()
            }
            // SAFETY: the kernel has filled what it is given.
            libc::SYS_io_uring_setup => unsafe { uring::set_up(b as *const _, integer) }.into(),
            // SAFETY: the kernel has read what it is given.
            libc::SYS_io_uring_register => unsafe {
                uring::register_with(descriptor, b as c_uint, c as *const _, d as c_uint, integer)
            }
            .into(),
            libc::SYS_pselect6 | IO_PGETEVENTS => masks::wait(f != 0, real),
            libc::SYS_exit_group => {
                if !process::in_vfork_child() {
                    process::end();
                }
                real()
            }
            #[cfg(target_arch = "x86_64")]
            _ => old(number, a, b, real),
            #[cfg(not(target_arch = "x86_64"))]
            _ => real(),
        }
    }
}

/// Calls that newer processors' kernels do not have any more.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn old(number: c_long, a: c_long, b: c_long, real: impl Fn() -> c_long) -> c_long {
    const HERE: c_int = libc::AT_FDCWD;
    let (descriptor, integer) = (a as c_int, || real() as c_int);
    // SAFETY: it is asked for where the kernel expects one.
    let path = |argument: c_long| unsafe { Path::of_argument(argument as usize) };
    match number {
        libc::SYS_open => open_at(HERE, path(a), b as c_int, integer).into(),
        libc::SYS_creat => open_at(HERE, path(a), super::open::CREATE, integer).into(),
        libc::SYS_dup2 => duplicate(descriptor, integer).into(),
        libc::SYS_getdents => on_descriptor(List, descriptor, &real),
        libc::SYS_stat | libc::SYS_lstat | libc::SYS_access | libc::SYS_readlink => {
            on_path_at(Stat, HERE, path(a), &real)
        }
        libc::SYS_chmod | libc::SYS_chown | libc::SYS_lchown | libc::SYS_utime | libc::SYS_utimes => {
            on_path_at(Attribute, HERE, path(a), &real)
        }
        libc::SYS_futimesat => on_path_at(Attribute, descriptor, path(b), &real),
        libc::SYS_mkdir | libc::SYS_mknod => on_path_at(Create, HERE, path(a), &real),
        libc::SYS_link | libc::SYS_symlink => on_path_at(Create, HERE, path(b), &real),
        libc::SYS_unlink | libc::SYS_rmdir => on_path_at(Remove, HERE, path(a), &real),
        libc::SYS_rename => on_path_at(Rename, HERE, path(a), &real),
        _ => real(),
    }
}
