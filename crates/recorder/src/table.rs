//! The memory of the process's table: a file, mapped at an address that is reserved for its greatest size.
//!
//! Zeros are written before it is touched, since a page that the file system then could not give would kill the process.
//! `fallocate` would do that too, but a file whose blocks were never written to costs ext4 70 us to remove. It grows by steps when a block is wanted that does not fit; counting a call wants none.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Relaxed, Ordering::Release};

use ioassay_record::table::{ALIGNMENT, Block, BlockKind, BlockLayout, Header, LARGEST, block_word};

use crate::{sys, threads};

/// Where the table begins; 0 where there is none.
static BASE: AtomicUsize = AtomicUsize::new(0);
/// So much of it is mapped.
static MAPPED: AtomicUsize = AtomicUsize::new(0);
/// It grows no further than this.
static LIMIT: AtomicUsize = AtomicUsize::new(0);
/// Somebody is making it grow.
static GROWING: AtomicBool = AtomicBool::new(false);

/// What it begins with, and the steps in which it grows.
const STEP: usize = 64 << 10;
/// What blocks of files cannot have: it is for threads, seconds and what all others are folded into.
const RESERVE: usize = 16 << 10;

/// No memory, no space, or a limit reached.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

/// Maps a new table.
///
/// `limit` is what its file may have. The memory is all zero but for what the caller writes into it.
///
/// # Errors
/// Where it cannot be had; nothing is left then.
pub fn create(path: &CStr, limit: u64) -> Result<(), Full> {
    let limit = (limit as usize).min(LARGEST);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let before = BASE.load(Relaxed);
    // The parent's table is given up at once, so that nothing can be written into it any more.
    let fixed = if before == 0 { 0 } else { libc::MAP_FIXED };
    // SAFETY: it replaces nothing but this module's own memory.
    let reserved = unsafe { sys::map(before, LARGEST, libc::PROT_NONE, flags | fixed, -1, 0) };
    if reserved < 0 {
        return Err(Full);
    }
    BASE.store(reserved as usize, Relaxed);
    MAPPED.store(0, Relaxed);
    LIMIT.store(limit, Relaxed);
    GROWING.store(false, Relaxed);
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    let file = sys::open(path, flags, 0o600);
    if file < 0 {
        return Err(Full);
    }
    let mapped = extend(file, STEP);
    sys::close(file);
    if mapped.is_err() {
        sys::unlink(path);
    }
    mapped
}

/// Fills and maps the file up to `bytes`.
fn extend(file: isize, bytes: usize) -> Result<(), Full> {
    let mapped = MAPPED.load(Relaxed);
    if bytes > LIMIT.load(Relaxed) {
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
    (begin..begin + bytes).step_by(vector.len() * ZEROS.len()).all(|at| {
        let left = (begin + bytes - at).min(vector.len() * ZEROS.len());
        let arguments = [file as usize, vector.as_ptr() as usize, left / ZEROS.len(), at, 0, 0];
        threads::wrote(left, 1);
        // SAFETY: the kernel only reads the zeros.
        unsafe { sys::call(libc::SYS_pwritev, arguments) == left as isize }
    })
}

/// Makes the table larger. Where somebody else is at it, or it cannot be had, it stays as it is.
#[cold]
fn grow() {
    if MAPPED.load(Relaxed) >= LIMIT.load(Relaxed) || GROWING.swap(true, AcqRel) {
        return;
    }
    let mapped = MAPPED.load(Relaxed);
    let step = if mapped < 8 * STEP { STEP } else { 8 * STEP };
    let grown = crate::process::with_table_file(|file| extend(file, (mapped + step).min(LARGEST)));
    if grown != Some(Ok(())) || mapped + step > LARGEST {
        LIMIT.store(MAPPED.load(Relaxed), Relaxed);
    }
    GROWING.store(false, Release);
}

/// The header.
pub fn header() -> &'static Header {
    // SAFETY: it is called only where there is a table, which begins with it.
    unsafe { &*(BASE.load(Relaxed) as *const Header) }
}

/// All of the table that is in use.
pub fn used() -> &'static [u8] {
    let used = (header().used_bytes.load(Relaxed) as usize).min(MAPPED.load(Relaxed));
    // SAFETY: so much is mapped.
    unsafe { core::slice::from_raw_parts(BASE.load(Relaxed) as *const u8, used) }
}

/// The structure at that place.
///
/// # Safety
/// A block of it begins there.
#[inline(always)]
pub unsafe fn at<T: BlockLayout>(place: u32) -> &'static T {
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
    let reserve =
        if matches!(T::KIND, BlockKind::File | BlockKind::Opened | BlockKind::Transfers) { RESERVE } else { 0 };
    allocate_but(reserve, follow, fill)
}

/// The same, for what all others are folded into: it may use what is kept for that.
pub fn allocate_for_others<T: BlockLayout>(follow: usize, fill: impl FnOnce(&mut T, &mut [u8])) -> Option<u32> {
    allocate_but(0, follow, fill)
}

/// The same, where so many bytes are to be left.
fn allocate_but<T: BlockLayout>(reserve: usize, follow: usize, fill: impl FnOnce(&mut T, &mut [u8])) -> Option<u32> {
    let bytes = (size_of::<T>() + follow).next_multiple_of(ALIGNMENT);
    let used = &header().used_bytes;
    let mut begin = used.load(Relaxed);
    loop {
        if begin as usize + bytes + reserve > MAPPED.load(Relaxed) {
            let before = MAPPED.load(Relaxed);
            grow();
            if MAPPED.load(Relaxed) == before {
                return None;
            }
        } else {
            match used.compare_exchange_weak(begin, begin + bytes as u64, AcqRel, Relaxed) {
                Ok(_) => break,
                Err(other) => begin = other,
            }
        }
    }
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
