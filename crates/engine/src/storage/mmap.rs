//! `mmap`: files mapped into memory; a transfer is a copy.
//!
//! A copy cannot fail with an error number. What the kernel would tell with one it tells with SIGBUS: a file that became
//! shorter, a device that broke, a disk that is full. So the file has its full size before it is mapped, with its space
//! allocated where the file system can, and a file that is too short to be read is found when it is opened.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::ptr::NonNull;

use ioassay_protocol::plan::data::{Advice, SizeAtOpen};
use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::mman::{MapFlags, MmapAdvise, MsFlags, ProtFlags, madvise, mmap, msync, munmap};

use super::names::Names;
use super::names::posix::{CAPABILITIES, PosixNames};
use super::posix;
use super::{Access, Capabilities, Connection, OpenFile, Opening, Range, Setup, StorageApi};

pub(super) struct Mmap;

impl StorageApi for Mmap {
    fn name(&self) -> &'static str {
        "mmap"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            files: true,
            directories: true,
            shared_files: true,
            rewrites: true,
            sync: true,
            locks: true,
            sizes: true,
            advice: &[
                Advice::Normal,
                Advice::Sequential,
                Advice::Random,
                Advice::WillNeed,
                Advice::DontNeed,
                Advice::HugePage,
                Advice::NoHugePage,
            ],
            names: Some(CAPABILITIES),
            ..Capabilities::NONE
        }
    }

    fn connect(&self, setup: Setup<'_>) -> io::Result<Box<dyn Connection>> {
        Ok(Box::new(MmapConnection { names: PosixNames::new(&setup) }))
    }
}

struct MmapConnection {
    names: PosixNames,
}

impl Connection for MmapConnection {
    fn open(&mut self, path: &Path, opening: Opening<'_>) -> io::Result<Box<dyn OpenFile>> {
        // A mapping that can be written needs a file that can be read too. Its size and its advice are dealt with here.
        let access = if opening.access.writes() { Access::ReadWrite } else { Access::Read };
        let size = opening.size.filter(|&size| size == SizeAtOpen::Empty);
        let file =
            posix::open(&self.names.resolver, path, Opening { access, size, advice: &[], ..opening }, false, false)?;
        if access.writes() {
            give_full_size(&file, opening)?;
        }
        let bytes = file.metadata()?.len().min(opening.bytes);
        let mapping = Mapping::new(&file, bytes, access.writes())?;
        for advice in opening.advice.iter().filter_map(mapping_advice) {
            mapping.advise(advice)?;
        }
        Ok(Box::new(MmapFile { mapping, file }))
    }

    fn names(&mut self) -> Option<&mut dyn Names> {
        Some(&mut self.names)
    }
}

/// Makes the file as long as planned, with its space, so that a full disk is an error here and not a signal later.
fn give_full_size(file: &File, opening: Opening<'_>) -> io::Result<()> {
    if opening.size == Some(SizeAtOpen::Full) {
        return file.set_len(file.metadata()?.len().max(opening.bytes));
    }
    match fallocate(file, FallocateFlags::empty(), 0, opening.bytes as i64) {
        // NFS before 4.2 and others cannot: there a full disk does end the rank with SIGBUS.
        Err(nix::errno::Errno::EOPNOTSUPP) => file.set_len(file.metadata()?.len().max(opening.bytes)),
        allocated => Ok(allocated?),
    }
}

fn mapping_advice(advice: &Advice) -> Option<MmapAdvise> {
    Some(match advice {
        Advice::Normal => MmapAdvise::MADV_NORMAL,
        Advice::Sequential => MmapAdvise::MADV_SEQUENTIAL,
        Advice::Random => MmapAdvise::MADV_RANDOM,
        Advice::WillNeed => MmapAdvise::MADV_WILLNEED,
        Advice::DontNeed => MmapAdvise::MADV_DONTNEED,
        Advice::HugePage => MmapAdvise::MADV_HUGEPAGE,
        Advice::NoHugePage => MmapAdvise::MADV_NOHUGEPAGE,
        Advice::NoReuse => return None,
    })
}

/// The mapping of a whole file; `None` of an empty one.
struct Mapping(Option<(NonNull<std::ffi::c_void>, NonZeroUsize)>);

impl Mapping {
    fn new(file: &File, bytes: u64, writable: bool) -> io::Result<Self> {
        let bytes = usize::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
        let Some(length) = NonZeroUsize::new(bytes) else { return Ok(Self(None)) };
        let access = if writable { ProtFlags::PROT_READ | ProtFlags::PROT_WRITE } else { ProtFlags::PROT_READ };
        // SAFETY: a new mapping. Others change the file at the same time, so its bytes are only ever copied.
        let start = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, file, 0) }?;
        Ok(Self(Some((start, length))))
    }

    fn advise(&self, advice: MmapAdvise) -> io::Result<()> {
        let Some((start, length)) = self.0 else { return Ok(()) };
        // SAFETY: our own mapping, of a file: none of these kinds of advice loses its data.
        Ok(unsafe { madvise(start, length.get(), advice) }?)
    }

    /// Where up to `bytes` bytes at `offset` are, and how many of them the mapping has.
    #[inline]
    fn bytes_at(&self, offset: u64, bytes: usize) -> (*mut u8, usize) {
        let Some((start, length)) = self.0 else { return (std::ptr::null_mut(), 0) };
        let left = length.get().saturating_sub(offset as usize);
        if left == 0 {
            return (std::ptr::null_mut(), 0);
        }
        // SAFETY: below the length, as has just been checked.
        (unsafe { start.as_ptr().cast::<u8>().add(offset as usize) }, bytes.min(left))
    }

    fn sync(&self) -> io::Result<()> {
        let Some((start, length)) = self.0 else { return Ok(()) };
        // SAFETY: our own mapping.
        Ok(unsafe { msync(start, length.get(), MsFlags::MS_SYNC) }?)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if let Some((start, length)) = self.0 {
            // SAFETY: our own mapping, and nothing points into it any more.
            let _ = unsafe { munmap(start, length.get()) };
        }
    }
}

struct MmapFile {
    mapping: Mapping,
    file: File,
}

impl OpenFile for MmapFile {
    #[inline]
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize> {
        let (to, bytes) = self.mapping.bytes_at(offset, data.len());
        // SAFETY: both are valid for `bytes` bytes, and the mapping overlaps no memory of this process.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to, bytes) };
        Ok(bytes)
    }

    #[inline]
    fn read_at(&mut self, data: &mut [u8], offset: u64) -> io::Result<usize> {
        let (from, bytes) = self.mapping.bytes_at(offset, data.len());
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(from, data.as_mut_ptr(), bytes) };
        Ok(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.mapping.sync()?;
        // The size, too, is to survive.
        self.file.sync_all()
    }

    fn check_linked(&self) -> io::Result<()> {
        posix::check_linked(&self.file)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        let Self { mapping, file } = *self;
        drop(mapping);
        posix::close(file)
    }

    fn lock(&mut self, range: Range) -> io::Result<()> {
        posix::lock(&self.file, range, true)
    }

    fn unlock(&mut self, range: Range) -> io::Result<()> {
        posix::lock(&self.file, range, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::names::Presence;
    use ioassay_protocol::plan::storage::{Storage, Target};

    #[test]
    fn a_file_that_is_shorter_than_planned_ends_where_it_ends() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("short");
        std::fs::write(&path, vec![7; 5000]).unwrap();
        let opening =
            Opening { access: Access::Read, presence: Presence::Shared, bytes: 10_000, size: None, advice: &[] };
        let (storage, target) = (Storage::of("mmap"), Target::Directory(directory.path().to_owned()));
        let mut connection = MmapConnection { names: PosixNames::new(&Setup::alone(&storage, &target, &mut [])) };
        let mut file = connection.open(&path, opening).unwrap();
        let mut data = [0; 4096];
        assert_eq!(file.read_at(&mut data, 0).unwrap(), 4096);
        assert_eq!(file.read_at(&mut data, 4096).unwrap(), 904);
        assert_eq!(file.read_at(&mut data, 8192).unwrap(), 0);
        std::fs::write(&path, "").unwrap();
        let mut empty = connection.open(&path, opening).unwrap();
        assert_eq!(empty.read_at(&mut data, 0).unwrap(), 0);
    }
}
