//! `posix`: pread and pwrite on a mounted file system.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::{Access, Capabilities, OpenFile, StorageApi};

pub(super) struct Posix;

impl StorageApi for Posix {
    fn name(&self) -> &'static str {
        "posix"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { files: true, shared_files: true }
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn OpenFile>> {
        let mut options = OpenOptions::new();
        // O_NOFOLLOW: a link in the place of our file would lead the writes elsewhere.
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
        match access {
            Access::Write => options.write(true).create(true),
            Access::Read => options.read(true),
        };
        Ok(Box::new(PosixFile(options.open(path)?)))
    }
}

struct PosixFile(File);

impl OpenFile for PosixFile {
    #[inline]
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(&self.0, data, offset)
    }

    #[inline]
    fn read_at(&mut self, data: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(&self.0, data, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn still_there(&self) -> io::Result<()> {
        if self.0.metadata()?.nlink() == 0 { Err(io::Error::from_raw_os_error(libc::ENOENT)) } else { Ok(()) }
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        // Dropping a `File` throws the error of close away; on NFS that is where a failed write shows.
        // SAFETY: the descriptor was owned by the file and is given up here, so nobody closes it again.
        match unsafe { libc::close(self.0.into_raw_fd()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
