//! Directories as the kernel lists them, without the C library in between: it would copy every entry, and lock.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes that one call lists: some 2,000 entries. Larger ones save no calls worth mentioning, and leave the cache.
const LISTING_BYTES: usize = 64 * 1024;

/// Opens the directory in which a walk begins.
pub(super) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    open_at(libc::AT_FDCWD, &CString::new(path.as_os_str().as_bytes())?, 0)
}

/// Opens the directory at `path` below `root`, the root itself if it is empty. A symbolic link is no directory.
pub(super) fn open(root: &OwnedFd, path: &[u8]) -> io::Result<OwnedFd> {
    let path = CString::new(if path.is_empty() { b"." } else { path })?;
    open_at(root.as_raw_fd(), &path, libc::O_NOFOLLOW)
}

fn open_at(directory: libc::c_int, path: &CStr, flags: libc::c_int) -> io::Result<OwnedFd> {
    let flags = flags | libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte and outlives the call.
    match unsafe { libc::openat(directory, path.as_ptr(), flags) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the kernel has just given us this descriptor.
        opened => Ok(unsafe { OwnedFd::from_raw_fd(opened) }),
    }
}

/// The file system that a directory is on.
pub(super) fn device(directory: &OwnedFd) -> io::Result<u64> {
    Ok(nix::sys::stat::fstat(directory)?.st_dev)
}

/// True if an entry has been removed, or replaced, since it was found: others may work on the tree.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP))
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Something else: a symbolic link, a socket, a device.
    Other,
    /// The file system does not say so in a listing.
    Unknown,
}

/// An entry of a directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    /// What it is.
    pub kind: Type,
    /// Its name.
    pub name: &'a CStr,
}

/// What one call has listed.
#[derive(Debug)]
pub(super) struct Listing {
    /// Zeros to begin with: the kernel leaves the padding between records as it is. Words, because it writes words.
    buffer: Box<[u64]>,
    bytes: usize,
}

impl Listing {
    /// Room for one.
    pub fn new() -> Self {
        Self { buffer: vec![0; LISTING_BYTES / size_of::<u64>()].into_boxed_slice(), bytes: 0 }
    }

    /// Lists the next entries of `directory` and returns how many there are, `.` and `..` aside; 0 at the end.
    pub fn read(&mut self, directory: &OwnedFd) -> io::Result<u64> {
        loop {
            let (to, room) = (self.buffer.as_mut_ptr(), LISTING_BYTES);
            // SAFETY: the kernel writes at most `room` bytes into the buffer, which has as many.
            let listed = unsafe { libc::syscall(libc::SYS_getdents64, directory.as_raw_fd(), to, room) };
            self.bytes = usize::try_from(listed).map_err(|_| io::Error::last_os_error())?;
            let entries = self.entries().count() as u64;
            if entries > 0 || self.bytes == 0 {
                return Ok(entries);
            }
        }
    }

    /// The entries.
    pub fn entries(&self) -> Entries<'_> {
        // SAFETY: within the buffer, as the kernel never says that it wrote more than there is room for, and all of it
        // is initialised.
        Entries(unsafe { std::slice::from_raw_parts(self.buffer.as_ptr().cast(), self.bytes) })
    }
}

/// Entries that were listed, `.` and `..` aside.
#[derive(Debug, Clone)]
pub(super) struct Entries<'a>(&'a [u8]);

impl<'a> Entries<'a> {
    /// The next record from its kind on: a byte for the kind, then the name.
    #[inline(always)]
    fn next_record(&mut self) -> Option<&'a [u8]> {
        const LENGTH: usize = offset_of!(libc::dirent64, d_reclen);
        const KIND: usize = offset_of!(libc::dirent64, d_type);
        const NAME: usize = offset_of!(libc::dirent64, d_name);
        const { assert!(NAME == KIND + 1) };
        loop {
            let length = u16::from_ne_bytes(*self.0.get(LENGTH..)?.first_chunk()?);
            let (record, rest) = self.0.split_at_checked(usize::from(length))?;
            self.0 = rest;
            let name = record.get(NAME..)?;
            if !name.starts_with(b".\0") && !name.starts_with(b"..\0") {
                return record.get(KIND..);
            }
        }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Entry<'a>> {
        let (&kind, name) = self.next_record()?.split_first()?;
        let kind = match kind {
            libc::DT_REG => Type::File,
            libc::DT_DIR => Type::Directory,
            libc::DT_UNKNOWN => Type::Unknown,
            _ => Type::Other,
        };
        Some(Entry { kind, name: CStr::from_bytes_until_nul(name).ok()? })
    }

    /// Without looking for the ends of names, which would cost as much as visiting them.
    fn count(mut self) -> usize {
        std::iter::from_fn(|| self.next_record()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;

    #[test]
    fn a_listing_has_every_entry_once_with_its_kind() {
        let directory = tempfile::tempdir().unwrap();
        let mut there = BTreeMap::new();
        for number in 0..3000 {
            let name = format!("a file with a name of some length {number}");
            fs::write(directory.path().join(&name), "").unwrap();
            there.insert(name, Type::File);
        }
        for name in ["..not-the-parent", ".hidden"] {
            fs::create_dir(directory.path().join(name)).unwrap();
            there.insert(name.to_owned(), Type::Directory);
        }
        std::os::unix::fs::symlink("/", directory.path().join("link")).unwrap();
        there.insert("link".to_owned(), Type::Other);

        let root = open_root(directory.path()).unwrap();
        let (mut listing, mut listed, mut calls) = (Listing::new(), BTreeMap::new(), 0);
        loop {
            let entries = listing.read(&root).unwrap();
            if entries == 0 {
                break;
            }
            calls += 1;
            assert_eq!(listing.entries().count() as u64, entries);
            for entry in listing.entries() {
                assert_eq!(listed.insert(entry.name.to_str().unwrap().to_owned(), entry.kind), None);
            }
        }
        assert!(calls > 1);
        listed.iter_mut().filter(|(_, kind)| **kind == Type::Unknown).for_each(|(name, kind)| *kind = there[name]);
        assert_eq!(listed, there);
        assert_eq!(open(&root, b"link").unwrap_err().raw_os_error(), Some(libc::ENOTDIR));
        assert_eq!(device(&open(&root, b".hidden").unwrap()).unwrap(), device(&root).unwrap());
    }
}
