//! System calls without the C library: they touch no `errno`, are no cancellation points, and reach no hook.

use core::arch::asm;
use core::ffi::CStr;

use ioassay_record::file_identity::FileIdentity;
use ioassay_record::table::FileKind;

use crate::process::system_calls_allowed;
use crate::text::{Buffer, decimal, number};

/// A system call with up to six arguments. Its result, or minus the error.
///
/// # Safety
/// As for the call itself.
#[inline]
pub unsafe fn call(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: the kernel keeps all registers but those named here; the caller vouches for the arguments.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
        #[cfg(target_arch = "aarch64")]
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a as isize => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    result
}

/// How often to check whether another thread has finished what this one waits for. It is done in microseconds, but
/// its thread may be stopped, and nothing waits for ever.
const MOST_LOOKS: u32 = 100_000;

/// Waits until `is_done`, letting other threads run meanwhile. Whether it came to that.
pub fn wait_until(is_done: impl Fn() -> bool) -> bool {
    for _ in 0..MOST_LOOKS {
        if is_done() {
            return true;
        }
        if !system_calls_allowed() {
            return false;
        }
        // SAFETY: it takes nothing.
        unsafe { call(libc::SYS_sched_yield, [0; 6]) };
    }
    false
}

/// A path: of a file that is opened, or removed.
pub type Path<'a> = &'a CStr;

/// Opens a file, with `O_CLOEXEC`. The descriptor, or minus the error.
pub fn open(path: Path, flags: i32, mode: u32) -> isize {
    let directory = libc::AT_FDCWD as usize;
    // SAFETY: the path ends with a zero byte.
    unsafe {
        call(
            libc::SYS_openat,
            [directory, path.as_ptr() as usize, (flags | libc::O_CLOEXEC) as usize, mode as usize, 0, 0],
        )
    }
}

/// Closes a descriptor of ours.
pub fn close(descriptor: isize) {
    // SAFETY: it is ours, and used by nobody afterwards.
    unsafe { call(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0]) };
}

/// Removes a name.
pub fn unlink(path: Path) {
    // SAFETY: the path ends with a zero byte.
    unsafe { call(libc::SYS_unlinkat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0, 0, 0, 0]) };
}

/// Whether there is such a file.
pub fn exists(path: Path) -> bool {
    accessible(path, libc::F_OK)
}

/// Whether a file may be executed.
pub fn can_execute(path: Path) -> bool {
    accessible(path, libc::X_OK)
}

fn accessible(path: Path, mode: i32) -> bool {
    let mode = mode as usize;
    // SAFETY: the path ends with a zero byte.
    unsafe { call(libc::SYS_faccessat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, mode, 0, 0, 0]) == 0 }
}

/// Reads into `bytes`, from where the descriptor is. How many, or minus the error.
pub fn read(descriptor: isize, bytes: &mut [u8]) -> isize {
    // SAFETY: the kernel fills these bytes.
    unsafe { call(libc::SYS_read, [descriptor as usize, bytes.as_mut_ptr() as usize, bytes.len(), 0, 0, 0]) }
}

/// Writes `bytes`. How many, or minus the error.
pub fn write(descriptor: isize, bytes: &[u8]) -> isize {
    // SAFETY: the kernel only reads them.
    unsafe { call(libc::SYS_write, [descriptor as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) }
}

/// The file that a link leads to, into `bytes`. How many, or minus the error.
pub fn read_link(path: Path, bytes: &mut [u8]) -> isize {
    // SAFETY: the path ends with a zero byte, the kernel fills these bytes.
    unsafe {
        call(
            libc::SYS_readlinkat,
            [libc::AT_FDCWD as usize, path.as_ptr() as usize, bytes.as_mut_ptr() as usize, bytes.len(), 0, 0],
        )
    }
}

/// The kernel's name for what a descriptor is of, into `bytes`. How many, or minus the error.
pub fn descriptor_name(descriptor: i32, bytes: &mut [u8]) -> isize {
    let link = Buffer::<32>::new();
    link.set(&[b"/proc/self/fd/", decimal(descriptor as u32 as u64, &mut [0; 20])]);
    read_link(link.as_c_str(), bytes)
}

/// What the kernel knows of an open file that is ours.
pub fn stat(descriptor: i32) -> Option<libc::stat> {
    // SAFETY: a structure of integers, which the kernel fills.
    unsafe {
        let mut about: libc::stat = core::mem::zeroed();
        let failed = call(libc::SYS_fstat, [descriptor as usize, &raw mut about as usize, 0, 0, 0, 0]);
        (failed == 0).then_some(about)
    }
}

/// Where an open file is.
#[derive(Debug, Clone, Copy)]
pub struct Whereabouts {
    /// The device.
    pub device: u64,
    /// The inode on it.
    pub inode: u64,
    /// It has a name, or another one than that by which it was opened.
    pub has_name: bool,
    /// A number of the mount: the one that is never used again, where the kernel has it; 0 where it says neither.
    pub mount: u64,
}

/// Where an application's open file is.
pub fn whereabouts(descriptor: i32) -> Option<Whereabouts> {
    // `STATX_MNT_ID` (Linux 5.8) and, from 6.8 on instead of it, `STATX_MNT_ID_UNIQUE`.
    const MOUNT: u32 = 0x1000 | 0x4000;
    let mask = libc::STATX_TYPE | libc::STATX_INO | libc::STATX_NLINK | MOUNT;
    let Some(about) = statx(descriptor, mask) else {
        let about = stat(descriptor)?;
        let mount = mount_number(descriptor).unwrap_or(0);
        return Some(Whereabouts { device: about.st_dev, inode: about.st_ino, has_name: about.st_nlink > 0, mount });
    };
    let is_known = about.stx_mask & MOUNT != 0;
    Some(Whereabouts {
        device: libc::makedev(about.stx_dev_major, about.stx_dev_minor),
        inode: about.stx_ino,
        has_name: about.stx_nlink > 0,
        mount: if is_known { about.stx_mnt_id } else { mount_number(descriptor).unwrap_or(0) },
    })
}

/// Whether an open directory is what is mounted somewhere, not one beneath it; nothing where the kernel does not say it (before
/// Linux 5.8).
pub fn is_mounted(directory: i32) -> Option<bool> {
    const STATX_ATTR_MOUNT_ROOT: u64 = 0x2000;
    let about = statx(directory, libc::STATX_TYPE)?;
    let is_said = about.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT != 0;
    is_said.then_some(about.stx_attributes & STATX_ATTR_MOUNT_ROOT != 0)
}

/// The number that the kernel's list of mounts has for the one that an open file is on.
pub fn mount_number(descriptor: i32) -> Option<u64> {
    let path = Buffer::<40>::new();
    path.set(&[b"/proc/self/fdinfo/", decimal(descriptor as u32 as u64, &mut [0; 20])]);
    let mut mount = None;
    lines(path.as_c_str(), |line| {
        let Some(digits) = line.strip_prefix(b"mnt_id:\t") else { return false };
        mount = number(digits);
        true
    });
    mount
}

/// Reads the lines of a file of the kernel until `read` has found what it wants. Lines of more than 4 KiB are left out.
pub fn lines(path: Path, mut read_line: impl FnMut(&[u8]) -> bool) {
    let file = open(path, libc::O_RDONLY, 0);
    if file < 0 {
        return;
    }
    let (mut bytes, mut filled, mut skips) = ([0; 4096], 0, false);
    'file: while let Ok(new @ 1..) = usize::try_from(read(file, &mut bytes[filled..])) {
        filled += new;
        let mut begin = 0;
        while let Some(length) = bytes[begin..filled].iter().position(|&byte| byte == b'\n') {
            if !core::mem::take(&mut skips) && read_line(&bytes[begin..begin + length]) {
                break 'file;
            }
            begin += length + 1;
        }
        skips |= begin == 0 && filled == bytes.len();
        bytes.copy_within(begin..filled, 0);
        filled = if skips { 0 } else { filled - begin };
    }
    close(file);
}

/// What the kernel knows of an open file that may be an application's.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Which file it is.
    pub identity: FileIdentity,
    /// What it is.
    pub kind: FileKind,
    /// How long it is.
    pub size_bytes: u64,
    /// What the file system wants transfers to be a multiple of.
    pub block_bytes: u32,
}

/// What the kernel knows of an application's open file.
pub fn about(descriptor: i32) -> Option<About> {
    let Some(about) = statx(descriptor, libc::STATX_BASIC_STATS | libc::STATX_BTIME) else {
        return about_without_birth(descriptor);
    };
    let kind = FileKind::of_mode(about.stx_mode.into());
    let birth = about.stx_btime;
    let is_known = about.stx_mask & libc::STATX_BTIME != 0;
    let birth_ns = if is_known { birth.tv_sec as u64 * 1_000_000_000 + u64::from(birth.tv_nsec) } else { 0 };
    let device = libc::makedev(about.stx_dev_major, about.stx_dev_minor);
    let generation = generation(descriptor, device, kind);
    let identity = FileIdentity { device, inode: about.stx_ino, birth_ns, generation };
    Some(About { identity, kind, size_bytes: about.stx_size, block_bytes: about.stx_blksize })
}

/// What `statx` says of an open file; nothing where a sandbox does not know it.
fn statx(descriptor: i32, mask: u32) -> Option<libc::statx> {
    let (path, flags, mask) = (c"".as_ptr() as usize, libc::AT_EMPTY_PATH as usize, mask as usize);
    // SAFETY: a structure of integers, which the kernel fills.
    unsafe {
        let mut about: libc::statx = core::mem::zeroed();
        let failed = call(libc::SYS_statx, [descriptor as usize, path, flags, mask, &raw mut about as usize, 0]);
        (failed == 0).then_some(about)
    }
}

/// The same where a sandbox knows no `statx`.
#[cold]
fn about_without_birth(descriptor: i32) -> Option<About> {
    let about = stat(descriptor)?;
    let kind = FileKind::of_mode(about.st_mode);
    let generation = generation(descriptor, about.st_dev, kind);
    let identity = FileIdentity { device: about.st_dev, inode: about.st_ino, birth_ns: 0, generation };
    Some(About { identity, kind, size_bytes: about.st_size as u64, block_bytes: about.st_blksize as u32 })
}

/// Which use of its inode number a file is. Only file systems of this node that are on a block device are asked: those use
/// numbers again, and no server has to be asked for it.
fn generation(descriptor: i32, device: u64, kind: FileKind) -> u32 {
    /// `_IOR('v', 1, long)`: `linux/fs.h`. It fills 32 bits all the same.
    const FS_IOC_GETVERSION: usize = 0x8008_7601;
    if !matches!(kind, FileKind::Regular | FileKind::Directory) || libc::major(device) == 0 {
        return 0;
    }
    let mut generation = 0_u64;
    // SAFETY: the kernel fills the number.
    let failed = unsafe {
        let number = &raw mut generation as usize;
        call(libc::SYS_ioctl, [descriptor as usize, FS_IOC_GETVERSION, number, 0, 0, 0])
    };
    if failed == 0 { generation as u32 } else { 0 }
}

/// Whether the process may write to an open file that it is not the owner of.
pub fn may_write(descriptor: i32) -> bool {
    const FACCESSAT2: libc::c_long = 439;
    let flags = (libc::AT_EMPTY_PATH | libc::AT_EACCESS) as usize;
    let path = c"".as_ptr() as usize;
    // SAFETY: the path ends with a zero byte.
    unsafe { call(FACCESSAT2, [descriptor as usize, path, libc::W_OK as usize, flags, 0, 0]) == 0 }
}

/// The effective user.
pub fn user() -> u32 {
    // SAFETY: it takes nothing.
    unsafe { call(libc::SYS_geteuid, [0; 6]) as u32 }
}

/// Pages of a part of a file that are in the page cache, and those of them that are dirty. Nothing where the kernel does not say
/// it: before 6.5, or of the files of others.
pub fn cache_status(descriptor: i32, offset: u64, bytes: u64) -> Option<[u64; 2]> {
    const CACHESTAT: libc::c_long = 451;
    let (part, mut counts) = ([offset, bytes], [0_u64; 5]);
    let (part, answer) = (&raw const part as usize, &raw mut counts as usize);
    // SAFETY: `struct cachestat_range` is two numbers, which the kernel reads, and `struct cachestat` five, which it writes.
    let result = unsafe { call(CACHESTAT, [descriptor as usize, part, answer, 0, 0, 0]) };
    let [cached, dirty, ..] = counts;
    (result == 0).then_some([cached, dirty])
}

/// Whether each page of memory is there, in the lowest bit of each answer. Whether the kernel says it.
pub fn pages_in_memory(address: usize, bytes: usize, answers: &mut [u8]) -> bool {
    debug_assert!(answers.len() as u64 >= (bytes as u64).div_ceil(page_bytes()));
    // SAFETY: it touches none of the pages, and there is an answer for each.
    unsafe { call(libc::SYS_mincore, [address, bytes, answers.as_mut_ptr() as usize, 0, 0, 0]) == 0 }
}

/// Of a page of memory.
#[inline(always)]
pub fn page_bytes() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        4096
    }
    // SAFETY: it takes a number. The C library keeps what the kernel said at the beginning.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        libc::getauxval(libc::AT_PAGESZ)
    }
}

/// Where the descriptor is in its file, or minus the error.
pub fn position(descriptor: i32) -> isize {
    // SAFETY: it moves nothing.
    unsafe { call(libc::SYS_lseek, [descriptor as usize, 0, libc::SEEK_CUR as usize, 0, 0, 0]) }
}

/// A limit of the process; none is `u64::MAX`.
pub fn limit(resource: u32) -> u64 {
    let mut limit = libc::rlimit64 { rlim_cur: u64::MAX, rlim_max: u64::MAX };
    // SAFETY: the kernel fills the structure.
    unsafe { call(libc::SYS_prlimit64, [0, resource as usize, 0, &raw mut limit as usize, 0, 0]) };
    limit.rlim_cur
}

/// Maps memory. Its address, or minus the error.
///
/// # Safety
/// As for `mmap`: with `MAP_FIXED` it replaces what is there.
pub unsafe fn map(address: usize, bytes: usize, protection: i32, flags: i32, file: isize, offset: usize) -> isize {
    // SAFETY: the caller's.
    unsafe { call(libc::SYS_mmap, [address, bytes, protection as usize, flags as usize, file as usize, offset]) }
}

/// Gives mapped memory back.
pub fn unmap(address: usize, bytes: usize) {
    if bytes != 0 {
        // SAFETY: it is ours.
        unsafe { call(libc::SYS_munmap, [address, bytes, 0, 0, 0, 0]) };
    }
}

/// Reads memory of this process that need not be there. Whether all of it is.
pub fn read_own(address: usize, into: &mut [u8]) -> bool {
    if !system_calls_allowed() {
        return false;
    }
    let to = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let from = libc::iovec { iov_base: address as *mut _, iov_len: into.len() };
    let arguments = [process() as usize, &raw const to as usize, 1, &raw const from as usize, 1, 0];
    // SAFETY: the kernel fills `into`, and looks whether the other memory is there.
    unsafe { call(libc::SYS_process_vm_readv, arguments) == into.len() as isize }
}

/// Whether this process has waited for a child that ended. No child has nothing in memory.
pub fn has_waited_for_children() -> bool {
    // SAFETY: a structure of integers, which the kernel fills.
    unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        let result = call(libc::SYS_getrusage, [libc::RUSAGE_CHILDREN as usize, &raw mut usage as usize, 0, 0, 0, 0]);
        result < 0 || usage.ru_maxrss > 0
    }
}

unsafe extern "C" {
    fn __errno_location() -> *mut i32;
}

/// The error of the last call that failed.
pub fn errno() -> i32 {
    // SAFETY: it is the calling thread's own.
    unsafe { *__errno_location() }
}

/// Sets the error of the last call that failed.
pub fn set_errno(error: i32) {
    // SAFETY: it is the calling thread's own.
    unsafe { *__errno_location() = error };
}

/// Runs what may change `errno`, which is the program's.
pub fn keeping_errno<R>(run: impl FnOnce() -> R) -> R {
    let error = errno();
    let result = run();
    set_errno(error);
    result
}

/// The number of this process.
pub fn process() -> u32 {
    // SAFETY: it takes nothing.
    unsafe { call(libc::SYS_getpid, [0; 6]) as u32 }
}

/// The number of this thread.
pub fn thread() -> u32 {
    // SAFETY: it takes nothing.
    unsafe { call(libc::SYS_gettid, [0; 6]) as u32 }
}

/// Ends the process as `abort` does, without its handlers.
pub fn abort() -> ! {
    loop {
        // SAFETY: it ends the process.
        unsafe {
            call(libc::SYS_kill, [process() as usize, libc::SIGKILL as usize, 0, 0, 0, 0]);
        }
    }
}
