//! How much of a file is in the page cache of this node.
//!
//! The cachestat system call (Linux 6.5) counts pages without touching them. Older kernels have mincore on a
//! mapping, which tells the same, page by page, to the owner of the file.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileTypeExt;

use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

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

/// How much of `pieces` (first byte and length, ascending) of a file or device is in the page cache, in bytes,
/// and what measured it.
pub fn resident_bytes(file: &File, pieces: impl Iterator<Item = (u64, u64)>) -> io::Result<(u64, Instrument)> {
    // A look at the whole tells most often that there is nothing, however many pieces there are.
    if let Ok(0) = cachestat_pages(file, 0, 0) {
        return Ok((0, Instrument::Cachestat));
    }
    let about = file.metadata()?;
    // A device has no size of its own.
    let file_bytes = if about.file_type().is_block_device() { u64::MAX } else { about.len() };
    let mut found = (0, Instrument::Cachestat);
    for (begin, bytes) in pieces {
        let end = begin.saturating_add(bytes).min(file_bytes);
        if end <= begin {
            break;
        }
        let (pages, instrument) = match cachestat_pages(file, begin, end - begin) {
            Ok(pages) => (pages, Instrument::Cachestat),
            Err(_) => (mincore_pages(file, begin, end)?, Instrument::Mincore),
        };
        // A page counts in full, but no piece is more resident than it is long.
        found = (found.0 + (pages * page_bytes()).min(end - begin), instrument);
    }
    Ok(found)
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
    let mut found = Cachestat::default();
    // SAFETY: both structures have the kernel's layout and live through the call.
    match unsafe { libc::syscall(SYS_CACHESTAT, descriptor(file), &range, &mut found, 0) } {
        0 => Ok(found.cache),
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

    /// On a real file of the build directory: /tmp may be a tmpfs, which never forgets a page.
    #[test]
    fn what_was_written_is_resident_and_both_instruments_say_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, vec![1; 300_001]).unwrap();
        let file = File::open(&path).unwrap();
        let pages = 300_001_u64.div_ceil(page_bytes());
        assert_eq!(mincore_pages(&file, 0, 300_001).unwrap(), pages);
        let (bytes, instrument) = resident_bytes(&file, [(0, u64::MAX)].into_iter()).unwrap();
        assert_eq!(bytes, 300_001);
        // Within a page, over its end, and beyond the end of the file.
        let pieces = [(100, 10), (4000, 200), (300_000, 100), (400_000, 1)];
        assert_eq!(resident_bytes(&file, pieces.into_iter()).unwrap().0, 10 + 200 + 1);
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
        let (bytes, _) = resident_bytes(&file, [(0, u64::MAX)].into_iter()).unwrap();
        let file_system = nix::sys::statfs::statfs(&path).unwrap().filesystem_type();
        if file_system == nix::sys::statfs::TMPFS_MAGIC {
            assert_eq!(bytes, 1 << 20, "tmpfs keeps its pages");
        } else {
            assert_eq!(bytes, 0);
        }
    }
}
