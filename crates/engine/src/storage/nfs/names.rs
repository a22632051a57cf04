//! Directory entries behind an export: one request for a name, more only where bytes are moved too.
//!
//! Bytes that are written into an entry are on stable storage when it is closed, as a kernel's client has it, whether or
//! not that was asked for.

use std::cell::RefCell;
use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use super::library::{Handle, Named};
use super::paths::Paths;
use super::session::Session;
use crate::storage::NameCapabilities;
use crate::storage::names::{Content, Entry, Names, Presence};

/// What they can do. MKNOD of NFS version 3 makes everything but regular files.
pub(super) const CAPABILITIES: NameCapabilities =
    NameCapabilities { directories: true, openat: false, mknod: false, rename: true };

/// Permissions of what is created: those of a mounted file system before the umask. A workspace is its owner's only.
pub(super) const FILE_MODE: u32 = 0o664;
const DIRECTORY_MODE: u32 = 0o775;

pub(super) struct NfsNames(pub Rc<RefCell<Paths>>);

impl NfsNames {
    /// Does something with an entry: a session, the directory that it is in, its name.
    fn with<T>(
        &self,
        entry: Entry<'_>,
        operate: impl FnOnce(&mut Session, Named<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut paths = self.0.borrow_mut();
        let (directory, name) = paths.place(entry.name)?;
        operate(&mut paths.session, Named { directory: &directory, name })
    }
}

/// Reads exactly as much as `content` holds.
fn read_exact(session: &mut Session, file: &Handle, content: &mut [u8]) -> io::Result<()> {
    match session.read_whole(file, content)? {
        read if read == content.len() => Ok(()),
        read => Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("the file ends at byte {read}"))),
    }
}

impl Names for NfsNames {
    fn open_directory(&mut self, _path: &CStr) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn create_directory(&mut self, entry: Entry<'_>) -> io::Result<()> {
        self.with(entry, |session, place| session.make_directory(place, DIRECTORY_MODE))
    }

    fn remove_directory(&mut self, entry: Entry<'_>) -> io::Result<()> {
        self.with(entry, Session::remove_directory)?;
        self.0.borrow_mut().forget(entry.name);
        Ok(())
    }

    fn create(&mut self, entry: Entry<'_>, presence: Presence, content: Content<'_>) -> io::Result<()> {
        self.with(entry, |session, named| {
            let file = session.create_file(named, FILE_MODE, presence == Presence::New)?;
            session.write_whole(&file, content.bytes)
        })
    }

    fn make_node(&mut self, _entry: Entry<'_>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn stat(&mut self, entry: Entry<'_>) -> io::Result<()> {
        self.with(entry, |session, named| session.look_up(named).map(drop))
    }

    fn read(&mut self, entry: Entry<'_>, content: &mut [u8]) -> io::Result<()> {
        self.with(entry, |session, named| {
            let file = session.file(named)?;
            read_exact(session, &file, content)
        })
    }

    fn write(&mut self, entry: Entry<'_>, content: Content<'_>) -> io::Result<()> {
        self.with(entry, |session, named| {
            let file = session.file(named)?;
            session.write_whole(&file, content.bytes)
        })
    }

    fn rename(&mut self, from: Entry<'_>, to: Entry<'_>) -> io::Result<()> {
        let mut paths = self.0.borrow_mut();
        let (from, to) = (paths.place(from.name)?, paths.place(to.name)?);
        let [from, to] = [&from, &to].map(|(directory, name)| Named { directory, name });
        paths.session.rename(from, to)
    }

    /// A client that keeps nothing has nothing to write.
    fn remove(&mut self, entry: Entry<'_>) -> io::Result<()> {
        self.with(entry, Session::remove)
    }

    fn short_transfers(&self) -> u64 {
        self.0.borrow().session.short_transfers
    }
}
