//! How much of a file is in the page cache of this node.
//!
//! The cachestat system call (Linux 6.5) counts pages without touching them. Older kernels have mincore on a
//! mapping, which tells the same, page by page, to the owner of the file, and is right on an overlay too.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::{FileExt, FileTypeExt};

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::statfs::{ECRYPTFS_SUPER_MAGIC, FUSE_SUPER_MAGIC, FsType, OVERLAYFS_SUPER_MAGIC, fstatfs};

use super::{descriptor, page_bytes};

/// Number of the cachestat system call on every architecture.
const SYS_CACHESTAT: libc::c_long = 451;

/// mincore answers with a byte per page: 256 MiB of file give 64 KiB.
const WINDOW_BYTES: u64 = 256 << 20;

/// What measured a residency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instrument {
    /// The cachestat system call.
    Cachestat,
    /// mincore on a mapping.
    Mincore,
}

impl Instrument {
    /// Its name in events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cachestat => "cachestat",
            Self::Mincore => "mincore",
        }
    }
}

/// File systems whose files have their pages in another one's: cachestat looks where none are, and finds nothing.
const STACKED: [FsType; 2] = [OVERLAYFS_SUPER_MAGIC, ECRYPTFS_SUPER_MAGIC];

/// Calls `count` for those of `pieces` (first byte and length, ascending) of a file or device that may be in the page
/// cache, with the first byte and how many bytes are. Returns what measured it.
pub fn count_resident(
    file: &File,
    pieces: impl Iterator<Item = (u64, u64)>,
    mut count: impl FnMut(u64, u64),
) -> io::Result<Instrument> {
    let stacked = fstatfs(file).is_ok_and(|about| STACKED.contains(&about.filesystem_type()));
    // A look at the whole tells most often that there is nothing, however many pieces there are.
    if !stacked && matches!(cachestat_pages(file, 0, 0), Ok(0)) {
        return Ok(Instrument::Cachestat);
    }
    let about = file.metadata()?;
    // A device has no size of its own.
    let file_bytes = if about.file_type().is_block_device() { u64::MAX } else { about.len() };
    let mut measured_with = Instrument::Cachestat;
    for (begin, bytes) in pieces {
        let end = begin.saturating_add(bytes).min(file_bytes);
        if end <= begin {
            break;
        }
        let counted = if stacked { None } else { cachestat_pages(file, begin, end - begin).ok() };
        let (pages, instrument) = match counted {
            Some(pages) => (pages, Instrument::Cachestat),
            None => (mincore_pages(file, begin, end)?, Instrument::Mincore),
        };
        measured_with = instrument;
        // A page counts in full, but no piece is more resident than it is long.
        count(begin, (pages * page_bytes()).min(end - begin));
    }
    Ok(measured_with)
}

/// True if inspecting a file would empty its cache: whenever a file is opened, FUSE drops its cached pages, unless
/// the file system asks it not to (`FOPEN_KEEP_CACHE`). Found out with the first page of a file that holds data, which is
/// read and `reopen`ed. A file system that keeps no page at all is none to look at either.
pub fn is_emptied_by_opening(file: &File, reopen: impl FnOnce() -> io::Result<File>) -> io::Result<bool> {
    if fstatfs(file)?.filesystem_type() != FUSE_SUPER_MAGIC {
        return Ok(false);
    }
    // Nothing more than that page is to be read ahead.
    posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_RANDOM)?;
    file.read_at(&mut [0], 0)?;
    let _again = reopen()?;
    let kept = cachestat_pages(file, 0, 1).or_else(|_| mincore_pages(file, 0, 1))?;
    Ok(kept == 0)
}

#[repr(C)]
struct CachestatRange {
    offset: u64,
    length: u64,
}

#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cache: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// A length of 0 reaches to the end.
fn cachestat_pages(file: &File, offset: u64, length: u64) -> io::Result<u64> {
    let range = CachestatRange { offset, length };
    let mut pages = Cachestat::default();
    // SAFETY: both structures have the kernel's layout and live through the call.
    match unsafe { libc::syscall(SYS_CACHESTAT, descriptor(file), &range, &mut pages, 0) } {
        0 => Ok(pages.cache),
        _ => Err(io::Error::last_os_error()),
    }
}

fn mincore_pages(file: &File, begin: u64, end: u64) -> io::Result<u64> {
    let mut resident = 0;
    // A mapping begins with a page.
    let mut offset = begin - begin % page_bytes();
    while let Some(length) = NonZeroUsize::new((end - offset).min(WINDOW_BYTES) as usize) {
        resident += mincore_window(file, offset, length)?;
        offset += length.get() as u64;
    }
    Ok(resident)
}

fn mincore_window(file: &File, offset: u64, length: NonZeroUsize) -> io::Result<u64> {
    let mut pages = vec![0_u8; length.get().div_ceil(page_bytes() as usize)];
    // SAFETY: a new mapping of our own, never dereferenced: mincore only looks whether its pages are there.
    let mapping = unsafe { mmap(None, length, ProtFlags::PROT_READ, MapFlags::MAP_SHARED, file, offset as i64) }?;
    // SAFETY: `pages` has one byte for each page of the mapping.
    let answer = unsafe { libc::mincore(mapping.as_ptr(), length.get(), pages.as_mut_ptr()) };
    let error = io::Error::last_os_error();
    // SAFETY: mapped above, not used after this.
    unsafe { munmap(mapping, length.get()) }?;
    // Only the lowest bit of each byte has a meaning.
    if answer == 0 { Ok(pages.iter().filter(|&&page| page & 1 == 1).count() as u64) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident(file: &File, pieces: &[(u64, u64)]) -> (u64, Instrument) {
        let mut sum = 0;
        let measured_with = count_resident(file, pieces.iter().copied(), |_, bytes| sum += bytes).unwrap();
        (sum, measured_with)
    }

    /// On a real file of the build directory: /tmp may be a tmpfs, which never forgets a page.
    #[test]
    fn what_was_written_is_resident_and_both_instruments_say_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, vec![1; 300_001]).unwrap();
        let file = File::open(&path).unwrap();
        let pages = 300_001_u64.div_ceil(page_bytes());
        assert_eq!(mincore_pages(&file, 0, 300_001).unwrap(), pages);
        let (bytes, instrument) = resident(&file, &[(0, u64::MAX)]);
        assert_eq!(bytes, 300_001);
        // Within a page, over its end, and beyond the end of the file.
        let pieces = [(100, 10), (4000, 200), (300_000, 100), (400_000, 1)];
        assert_eq!(resident(&file, &pieces).0, 10 + 200 + 1);
        assert_eq!(mincore_pages(&file, 4000, 4200).unwrap(), 4200_u64.div_ceil(page_bytes()));
        if instrument == Instrument::Cachestat {
            assert_eq!(cachestat_pages(&file, 0, 300_001).unwrap(), pages);
        }
    }

    #[test]
    fn what_the_kernel_was_asked_to_forget_is_no_longer_resident() {
        // Beside the test binary, on the file system of the checkout, which is rarely a tmpfs.
        let directory = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        let file = File::open(&path).unwrap();
        super::super::forget(&file).unwrap();
        let (bytes, _) = resident(&file, &[(0, u64::MAX)]);
        let file_system = nix::sys::statfs::statfs(&path).unwrap().filesystem_type();
        if file_system == nix::sys::statfs::TMPFS_MAGIC {
            assert_eq!(bytes, 1 << 20, "tmpfs keeps its pages");
        } else {
            assert_eq!(bytes, 0);
        }
    }
}
