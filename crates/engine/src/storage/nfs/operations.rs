//! What is done with names and small files, each in as few requests as NFS version 3 takes.
//!
//! Names are resolved by the server in one directory at a time, and no symbolic link is followed: that is a client's
//! work, and nobody does it here.
//! Not here: transfers ([`super::file`]), full paths ([`super::paths`]).

use std::ffi::CString;
use std::io;

use super::library::{Cookie, Handle, Kind, Named, Reply, Request};
use super::session::Session;
use crate::failure;
use crate::storage::memory::Memory;

/// Rights of ACCESS: to change entries, and to add some.
const MODIFY_AND_EXTEND: u32 = 0x4 | 0x8;

/// Room on the file system of an export.
#[derive(Debug, Clone, Copy)]
pub struct Free {
    /// Bytes that this user may still write.
    pub bytes: u64,
    /// Files that may still be created; `None` where they are not counted.
    pub files: Option<u64>,
}

impl Session {
    /// The file or directory of that name; `None` if there is none.
    pub fn find(&mut self, named: Named<'_>) -> io::Result<Option<(Handle, Kind)>> {
        match self.look_up(named) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            object => object.map(Some),
        }
    }

    /// The file or directory of that name, which is there.
    pub fn look_up(&mut self, named: Named<'_>) -> io::Result<(Handle, Kind)> {
        match self.call(&Request::Lookup(named))? {
            Reply::Object { handle: Some(handle), kind } => Ok((handle, self.kind_of(&handle, kind)?)),
            other => Err(unexpected(&other)),
        }
    }

    /// The kind of an object; asks the server unless it is `known`.
    fn kind_of(&mut self, handle: &Handle, known: Option<Kind>) -> io::Result<Kind> {
        if let Some(kind) = known {
            return Ok(kind);
        }
        match self.call(&Request::GetAttributes(handle))? {
            Reply::Object { kind: Some(kind), .. } => Ok(kind),
            other => Err(unexpected(&other)),
        }
    }

    /// The regular file of that name.
    pub fn file(&mut self, named: Named<'_>) -> io::Result<Handle> {
        regular(self.look_up(named)?)
    }

    /// Creates a regular file; one that is there already is taken for it unless it must be new.
    pub fn create_file(&mut self, place: Named<'_>, mode: u32, exclusive: bool) -> io::Result<Handle> {
        match self.call(&Request::Create { place, mode, exclusive })? {
            Reply::Object { handle: Some(handle), kind } => regular((handle, self.kind_of(&handle, kind)?)),
            // A server need not tell.
            _ => self.file(place),
        }
    }

    /// Writes all of `bytes` from the beginning of a file on; they are on stable storage when this returns. A WRITE that
    /// promises that spares the COMMIT, so the kernel's client does the same with small files.
    pub fn write_whole(&mut self, file: &Handle, bytes: &[u8]) -> io::Result<()> {
        let (_, most) = self.most_bytes();
        let mut written = 0;
        while written < bytes.len() {
            let end = bytes.len().min(written + most);
            let from = Memory::read_from(&bytes[written..end]);
            match self.call(&Request::Write { file, offset: written as u64, from, stable: true })? {
                Reply::Moved { bytes: 0, .. } => return Err(failure::nothing_written(written as u64)),
                Reply::Moved { bytes, .. } => {
                    written += bytes;
                    self.short_transfers += u64::from(written < end);
                }
                other => return Err(unexpected(&other)),
            }
        }
        Ok(())
    }

    /// Reads from the beginning of a file on as much as there is room for, and returns how much there was.
    pub fn read_whole(&mut self, file: &Handle, room: &mut [u8]) -> io::Result<usize> {
        let (most, _) = self.most_bytes();
        let mut read = 0;
        while read < room.len() {
            let end = room.len().min(read + most);
            let into = Memory::written_to(&mut room[read..end]);
            match self.call(&Request::Read { file, offset: read as u64, into })? {
                Reply::Moved { bytes: 0, .. } => break,
                Reply::Moved { bytes, .. } => {
                    read += bytes;
                    self.short_transfers += u64::from(read < end);
                }
                other => return Err(unexpected(&other)),
            }
        }
        Ok(read)
    }

    /// Creates a directory that does not exist.
    pub fn make_directory(&mut self, place: Named<'_>, mode: u32) -> io::Result<()> {
        self.call(&Request::MakeDirectory { place, mode }).map(drop)
    }

    /// Removes a file.
    pub fn remove(&mut self, named: Named<'_>) -> io::Result<()> {
        self.call(&Request::Remove(named)).map(drop)
    }

    /// Removes an empty directory.
    pub fn remove_directory(&mut self, named: Named<'_>) -> io::Result<()> {
        self.call(&Request::RemoveDirectory(named)).map(drop)
    }

    /// Gives an entry another name.
    pub(super) fn rename(&mut self, from: Named<'_>, to: Named<'_>) -> io::Result<()> {
        self.call(&Request::Rename { from, to }).map(drop)
    }

    /// Gives a file its size.
    pub(super) fn set_size(&mut self, file: &Handle, bytes: u64) -> io::Result<()> {
        self.call(&Request::SetSize { file, bytes }).map(drop)
    }

    /// Some names in the directory, without `.` and `..`, and where to go on if there are more.
    pub fn list(&mut self, directory: &Handle, from: Cookie) -> io::Result<(Vec<CString>, Option<Cookie>)> {
        match self.call(&Request::List { directory, from })? {
            Reply::Names(mut names, more) => {
                names.retain(|name| !matches!(name.to_bytes(), b"." | b".."));
                Ok((names, more))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// An error if this user may not create entries in the directory.
    pub fn check_writable(&mut self, directory: &Handle) -> io::Result<()> {
        match self.call(&Request::Access { object: directory, rights: MODIFY_AND_EXTEND })? {
            Reply::Rights(MODIFY_AND_EXTEND) => Ok(()),
            Reply::Rights(_) => Err(io::Error::from_raw_os_error(libc::EACCES)),
            other => Err(unexpected(&other)),
        }
    }

    /// An error if the mounted export is no directory.
    pub fn check_directory(&mut self, handle: &Handle) -> io::Result<()> {
        match self.kind_of(handle, None)? {
            Kind::Directory => Ok(()),
            Kind::File | Kind::Other => Err(io::Error::from_raw_os_error(libc::ENOTDIR)),
        }
    }

    /// The room on the file system of a directory.
    pub fn room(&mut self, directory: &Handle) -> io::Result<Free> {
        match self.call(&Request::Room(directory))? {
            Reply::Room { free_bytes, free_files } => Ok(Free { bytes: free_bytes, files: free_files }),
            other => Err(unexpected(&other)),
        }
    }
}

/// A link in the place of our file would not be followed, but what it means is not a file either.
fn regular((handle, kind): (Handle, Kind)) -> io::Result<Handle> {
    match kind {
        Kind::File => Ok(handle),
        Kind::Directory => Err(io::Error::from_raw_os_error(libc::EISDIR)),
        Kind::Other => Err(io::Error::from_raw_os_error(libc::ELOOP)),
    }
}

/// A reply that is none to what was asked. The pairs are made in [`super::library`], so nobody should see this.
#[cold]
pub(super) fn unexpected(reply: &Reply) -> io::Error {
    io::Error::other(format!("libnfs replied to a different request: {reply:?}"))
}
