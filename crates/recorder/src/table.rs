//! The memory of the process's table: a file, mapped at an address that is reserved for its greatest size.
//!
//! Zeros are written before it is touched, since a page that the file system then could not give would kill the process.
//! `fallocate` would do that too, but a file whose blocks were never written to costs ext4 70 us to remove. It grows by steps
//! when a block is wanted that does not fit; counting a call wants none.

use core::ffi::CStr;
use core::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use ioassay_record::table::{ALIGNMENT, Block, BlockKind, BlockLayout, Header, LARGEST, Text, TextKind, block_word};

use crate::text::copy_parts;
use crate::{process, sys, threads, ticks};

/// Where the table begins; 0 where there is none.
static BASE: AtomicUsize = AtomicUsize::new(0);
/// So much of it is taken by blocks. It is not read from the header: where the file is cut, that becomes zero while others still follow
/// the places of their blocks, which no other block may be given.
static USED: AtomicUsize = AtomicUsize::new(0);
/// So much of it is mapped.
static MAPPED: AtomicUsize = AtomicUsize::new(0);
/// A thread is making it grow.
static GROWING: AtomicBool = AtomicBool::new(false);
/// When, in ticks, it may be tried again after it could not grow.
static NEXT_TRY: AtomicU64 = AtomicU64::new(0);
/// Of its file: device and inode.
static FILE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Memory that is reserved for it: the same in all processes that are forked from one.
static RESERVED: AtomicUsize = AtomicUsize::new(0);

/// What it begins with: enough for 9 of 10 processes of a build, and each page costs 1 us to write and to remove.
const FIRST: usize = 32 << 10;
/// The steps in which it grows; the first ends at one.
const STEP: usize = 64 << 10;
/// What blocks of files cannot have at least: it is for threads, seconds and what all others are folded into. It is an eighth of
/// a table that is larger than the first steps.
const RESERVE: usize = 16 << 10;
/// A process whose memory is limited gives the table no more than this part of it.
const PART_OF_MEMORY: u64 = 64;

/// No memory, no space, or a limit reached.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

/// Maps a new table.
///
/// The memory is all zero but for what the caller writes into it.
///
/// # Errors
/// Where it cannot be created; nothing is left then.
pub fn create(path: &CStr) -> Result<(), Full> {
    if RESERVED.load(Relaxed) == 0 {
        let memory = sys::limit(libc::RLIMIT_AS);
        let part = if memory == u64::MAX { LARGEST } else { (memory / PART_OF_MEMORY) as usize };
        RESERVED.store((part / STEP * STEP).clamp(STEP, LARGEST), Relaxed);
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let before = BASE.load(Relaxed);
    // The parent's table is given up at once, so that nothing can be written into it any more.
    let fixed = if before == 0 { 0 } else { libc::MAP_FIXED };
    // SAFETY: it replaces nothing but this module's own memory.
    let reserved = unsafe { sys::map(before, RESERVED.load(Relaxed), libc::PROT_NONE, flags | fixed, -1, 0) };
    if reserved < 0 {
        return Err(Full);
    }
    BASE.store(reserved as usize, Relaxed);
    MAPPED.store(0, Relaxed);
    USED.store(size_of::<Header>(), Relaxed);
    NEXT_TRY.store(0, Relaxed);
    GROWING.store(false, Relaxed);
    in_new_file(path, |file| extend(file, FIRST))
}

/// Makes the file of the table, and removes it if it cannot be filled.
fn in_new_file(path: &CStr, fill: impl FnOnce(isize) -> Result<(), Full>) -> Result<(), Full> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    let file = sys::open(path, flags, 0o600);
    if file < 0 {
        return Err(Full);
    }
    let filled = fill(file);
    if let (Ok(()), Some(about)) = (&filled, sys::stat(file as i32)) {
        FILE[0].store(about.st_dev, Relaxed);
        FILE[1].store(about.st_ino, Relaxed);
    }
    sys::close(file);
    if filled.is_err() {
        sys::unlink(path);
    }
    filled
}

/// Whether that is the table's file.
pub fn is_its_file(file: isize) -> bool {
    sys::stat(file as i32)
        .is_some_and(|about| [about.st_dev, about.st_ino] == [FILE[0].load(Relaxed), FILE[1].load(Relaxed)])
}

/// Gives the table a file again, after that which it had was removed.
///
/// What other threads count meanwhile may be lost.
///
/// # Errors
/// Where it cannot be created, or the old one is still there.
pub fn restore(path: &CStr) -> Result<(), Full> {
    let mapped = MAPPED.load(Relaxed);
    if mapped as u64 > sys::limit(libc::RLIMIT_FSIZE) {
        return Err(Full);
    }
    in_new_file(path, |file| {
        let base = BASE.load(Relaxed);
        // SAFETY: so much is mapped.
        let bytes = unsafe { core::slice::from_raw_parts(base as *const u8, mapped) };
        threads::wrote(mapped, 1);
        if sys::write(file, bytes) != mapped as isize {
            return Err(Full);
        }
        // SAFETY: it replaces the table by its copy.
        let address = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            sys::map(base, mapped, protection, libc::MAP_SHARED | libc::MAP_FIXED, file, 0)
        };
        if address < 0 { Err(Full) } else { Ok(()) }
    })
}

/// Replaces the table by a copy in memory: in a child, what is written from now on must not reach its parent's.
pub fn detach() {
    // SAFETY: so much is mapped.
    unsafe { replace_by_copy(BASE.load(Relaxed), MAPPED.load(Relaxed)) };
}

/// Replaces memory that is shared by a copy that is not.
///
/// # Safety
/// So much is mapped there, or nothing is to be replaced.
pub unsafe fn replace_by_copy(address: usize, bytes: usize) {
    if bytes == 0 {
        return;
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: new memory of the same size, which is moved to where the other is.
    unsafe {
        let copy = sys::map(0, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if copy > 0 {
            core::ptr::copy_nonoverlapping(address as *const u8, copy as *mut u8, bytes);
            let how = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
            sys::call(libc::SYS_mremap, [copy as usize, bytes, bytes, how, address, 0]);
        }
    }
}

/// Fills and maps the file up to `bytes`.
fn extend(file: isize, bytes: usize) -> Result<(), Full> {
    let mapped = MAPPED.load(Relaxed);
    // Beyond its limit, which the program may have changed, a file kills whom it grows for.
    if bytes as u64 > sys::limit(libc::RLIMIT_FSIZE) {
        return Err(Full);
    }
    if !write_zeros(file, mapped, bytes - mapped) {
        return Err(Full);
    }
    // SAFETY: it replaces memory that was reserved for it.
    let address = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        sys::map(BASE.load(Relaxed) + mapped, bytes - mapped, protection, flags, file, mapped)
    };
    if address < 0 {
        return Err(Full);
    }
    MAPPED.store(bytes, Release);
    Ok(())
}

static ZEROS: [u8; 4096] = [0; 4096];

/// Writes zeros into a file, a multiple of 4 KiB of them. Whether all of them are there.
pub fn write_zeros(file: isize, begin: usize, bytes: usize) -> bool {
    let vector = [libc::iovec { iov_base: (&raw const ZEROS).cast_mut().cast(), iov_len: ZEROS.len() }; 16];
    (begin..begin + bytes).step_by(vector.len() * ZEROS.len()).all(|offset| {
        let left = (begin + bytes - offset).min(vector.len() * ZEROS.len());
        let arguments = [file as usize, vector.as_ptr() as usize, left / ZEROS.len(), offset, 0, 0];
        threads::wrote(left, 1);
        // SAFETY: the kernel only reads the zeros.
        unsafe { sys::call(libc::SYS_pwritev, arguments) == left as isize }
    })
}

/// Makes the table larger than `before`, or waits for another thread that does. Where there is no space, it stays as it
/// is.
#[cold]
fn grow(before: usize) {
    if before >= RESERVED.load(Relaxed) || ticks::now() < NEXT_TRY.load(Relaxed) || !process::system_calls_allowed() {
        return;
    }
    process::without_signals(|| {
        if GROWING.swap(true, AcqRel) {
            sys::wait_until(|| !GROWING.load(Acquire));
            return;
        }
        if MAPPED.load(Relaxed) == before {
            let step = if before < 8 * STEP { STEP } else { 8 * STEP };
            let bytes = ((before + step) / STEP * STEP).min(RESERVED.load(Relaxed));
            if process::with_table_file(|file| extend(file, bytes)) != Some(Ok(())) {
                NEXT_TRY.store(ticks::now() + ticks::per_second(), Relaxed);
            }
        }
        GROWING.store(false, Release);
    });
}

/// The header.
pub fn header() -> &'static Header {
    // SAFETY: it is called only where there is a table, which begins with it.
    unsafe { &*(BASE.load(Relaxed) as *const Header) }
}

/// Where the table is in memory, if there is one.
pub fn mapped() -> Option<core::ops::Range<usize>> {
    let base = BASE.load(Relaxed);
    (base != 0).then(|| base..base + MAPPED.load(Relaxed))
}

/// Touches all of the table that is in use, so that what has been cut is seen by that and not where it is written to a file.
pub fn touch() {
    for byte in used().iter().step_by(4096) {
        // SAFETY: it is there.
        unsafe { (&raw const *byte).read_volatile() };
    }
}

/// All of the table that is in use.
pub fn used() -> &'static [u8] {
    let used = USED.load(Relaxed);
    // SAFETY: so much is mapped.
    unsafe { core::slice::from_raw_parts(BASE.load(Relaxed) as *const u8, used) }
}

/// The structure at that place.
///
/// # Safety
/// A block of it begins there.
#[inline(always)]
pub unsafe fn block_at<T: BlockLayout>(place: u32) -> &'static T {
    // SAFETY: the caller's.
    unsafe { &*((BASE.load(Relaxed) + place as usize) as *const T) }
}

/// Where a structure of the table is.
#[inline(always)]
pub fn place<T: BlockLayout>(of: &T) -> u32 {
    (&raw const *of as usize - BASE.load(Relaxed)) as u32
}

/// Takes a block, fills it, and publishes it. Its place, or nothing where the table is full.
///
/// `fill` gets the structure and the bytes that follow it, all zero.
pub fn allocate<T: BlockLayout>(follow: usize, fill: impl FnOnce(&mut T, &mut [u8])) -> Option<u32> {
    let of_files = matches!(T::KIND, BlockKind::File | BlockKind::Opened | BlockKind::Transfers | BlockKind::Map);
    allocate_but(if of_files { reserve() } else { 0 }, follow, fill)
}

/// The same, for what all others are folded into: it may use what is kept for that.
pub fn allocate_for_others<T: BlockLayout>(follow: usize, fill: impl FnOnce(&mut T, &mut [u8])) -> Option<u32> {
    allocate_but(0, follow, fill)
}

/// The same, for what others of a directory are folded into: it may use half of that.
pub fn allocate_for_directory<T: BlockLayout>(follow: usize, fill: impl FnOnce(&mut T, &mut [u8])) -> Option<u32> {
    allocate_but(reserve() / 2, follow, fill)
}

fn reserve() -> usize {
    RESERVE.max(MAPPED.load(Relaxed) / 8)
}

/// The same, where so many bytes are to be left.
fn allocate_but<T: BlockLayout>(reserve: usize, follow: usize, fill: impl FnOnce(&mut T, &mut [u8])) -> Option<u32> {
    let bytes = (size_of::<T>() + follow).next_multiple_of(ALIGNMENT);
    let mut begin = USED.load(Relaxed);
    loop {
        if begin + bytes + reserve > MAPPED.load(Relaxed) {
            let before = MAPPED.load(Relaxed);
            grow(before);
            if MAPPED.load(Relaxed) == before {
                return None;
            }
            begin = USED.load(Relaxed);
        } else {
            match USED.compare_exchange_weak(begin, begin + bytes, AcqRel, Relaxed) {
                Ok(_) => break,
                Err(other) => begin = other,
            }
        }
    }
    header().used_bytes.fetch_max((begin + bytes) as u64, AcqRel);
    let place = begin as u32;
    // SAFETY: these bytes are mapped, all zero, and nobody else's.
    unsafe {
        let address = BASE.load(Relaxed) + place as usize;
        let word: &AtomicU64 = &(*(address as *const Block)).kind_and_bytes;
        word.store(block_word(BlockKind::Reserved, bytes), Release);
        let structure = &mut *(address as *mut T);
        let rest = core::slice::from_raw_parts_mut((address + size_of::<T>()) as *mut u8, follow);
        fill(structure, rest);
        word.store(block_word(T::KIND, bytes), Release);
    }
    Some(place)
}

/// Writes a text into the table, of parts.
pub fn write_text(kind: TextKind, parts: &[&[u8]]) {
    let length = parts.iter().map(|part| part.len()).sum();
    allocate::<Text>(length, |text, bytes| {
        text.kind = kind as u32;
        text.text_bytes = length as u32;
        copy_parts(parts, bytes);
    });
}
