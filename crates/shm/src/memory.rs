//! Memory that several processes have in common.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// A mapping that begins as zeros and is the same for all who have it.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<std::ffi::c_void>,
    length: NonZeroUsize,
}

// SAFETY: an address and a length. What may be done with the memory is the business of those who give out references
// to what is in it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

const PROTECTION: ProtFlags = ProtFlags::PROT_READ.union(ProtFlags::PROT_WRITE);

/// What is not used costs no memory. Miri runs one process, and maps nothing that others could have.
const FLAGS: MapFlags =
    if cfg!(miri) { MapFlags::MAP_PRIVATE } else { MapFlags::MAP_SHARED.union(MapFlags::MAP_NORESERVE) };

impl Memory {
    /// For this process and those that it forks.
    pub fn inherited(bytes: usize) -> io::Result<Self> {
        let length = NonZeroUsize::new(bytes).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: a new mapping of our own, so nothing that exists is overwritten.
        let start = unsafe { mmap_anonymous(None, length, PROTECTION, FLAGS) }?;
        Ok(Self { start, length })
    }

    /// For all processes that have `file` open, which is as long as this.
    pub fn of(file: &File, bytes: usize) -> io::Result<Self> {
        let length = NonZeroUsize::new(bytes).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: as above.
        let start = unsafe { mmap(None, length, PROTECTION, FLAGS, file, 0) }?;
        Ok(Self { start, length })
    }

    /// Where it begins: at a page.
    #[inline(always)]
    pub fn start<T>(&self) -> NonNull<T> {
        self.start.cast()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and no reference to it outlives `self`.
        let _ = unsafe { munmap(self.start, self.length.get()) };
    }
}

/// An unnamed file of `bytes` zeros in memory, to be mapped by several processes.
pub fn file(name: &std::ffi::CStr, bytes: u64) -> io::Result<File> {
    let file = File::from(memfd_create(name, MFdFlags::MFD_CLOEXEC)?);
    file.set_len(bytes)?;
    Ok(file)
}
