//! The workspace behind the URL of an NFS export: a directory on the server, by the rules of all that are directories.
//!
//! Each step mounts the export and lets go of it: ranks are forked by this process, and a mount is not theirs.

use std::cell::RefCell;
use std::ffi::CStr;
use std::io;
use std::path::{Path, PathBuf};

use ioassay_protocol::events::{Failure, Left, Removed};
use ioassay_protocol::plan::workspace_name;

use super::contents::Contents;
use super::marked::{Marked, not_ours};
use super::place::{Kind, Place};
use super::room::Room;
use crate::failure;
use crate::storage::nfs::location::Location;
use crate::storage::nfs::{self, Cookie, Handle, Named, Session, Timeout};

/// The directory of a run on an NFS server.
#[derive(Debug, Clone)]
pub struct Export {
    /// Its target.
    location: Location,
    path: PathBuf,
}

impl Export {
    /// Of `run` below `url`. Nothing is asked of the server.
    pub fn of(url: &str, run: &str) -> Result<Self, Failure> {
        let location = location(url)?;
        let path = location.base().join(workspace_name(run));
        Ok(Self { location, path })
    }

    /// An error if the target cannot be mounted and written to, if `run` has a workspace there already, or if `bytes` in
    /// `files` files would not fit. Nothing is written.
    pub fn check(url: &str, run: &str, bytes: u64, files: u64) -> Result<Room, Failure> {
        let export = Self::of(url, run)?;
        let base = export.location.base();
        let place = export.mounted()?;
        let failed = |operation| {
            let base = base.clone();
            move |error: io::Error| failure::on_path(operation, &base, &error)
        };
        let mut session = place.0.borrow_mut();
        let root = session.root();
        session.check_directory(&root).map_err(failed("open target"))?;
        session.check_writable(&root).map_err(failed("write into"))?;
        let free = session.room(&root).map_err(failed("statvfs"))?;
        drop(session);
        export.marked(&place, |marked| marked.refuse_existing())?;
        let room = Room { free_bytes: Some(free.bytes), free_inodes: free.files };
        // One more for the directory and one for its list.
        room.check(&base, bytes, files + 2)?;
        Ok(room)
    }

    /// Creates the directory of `run` for `contents`.
    pub fn create(url: &str, run: &str, contents: &Contents) -> Result<Self, Failure> {
        let export = Self::of(url, run)?;
        export.marked(&export.mounted()?, |marked| marked.create(run, None, contents))?;
        Ok(export)
    }

    /// Opens what an earlier process left at `url`; `None` if nothing is there. Refuses what has no list that says it is the
    /// workspace of that name.
    pub fn open(url: &str) -> Result<Option<Self>, Failure> {
        let refused = || not_ours(Path::new(url), "URL `…/ioassay-RUN?…`");
        let (location, name) = location(url)?.split_last().ok_or_else(refused)?;
        let path = location.base().join(name);
        let export = Self { location, path };
        let failed = |error: io::Error| failure::on_path("stat", &export.path, &error);
        let ours = export.marked(&export.mounted()?, |marked| match marked.kind().map_err(failed)? {
            None => Ok(None),
            Some(Kind::Directory) => Ok(Some(matches!(marked.open(None), Ok(Some(_))))),
            Some(Kind::File | Kind::Other) => Ok(Some(false)),
        })?;
        match ours {
            None => Ok(None),
            Some(true) => Ok(Some(export)),
            Some(false) => Err(refused()),
        }
    }

    /// What paths below it begin with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its URL, as [`Export::open`] takes it.
    pub fn url(&self) -> String {
        self.location.url_of(&self.path)
    }

    /// Removes what is on its list, the list, and the directory. What could not be removed is named.
    pub fn remove(&self) -> Removed {
        let left = |because| {
            let left = Left { path: self.url(), because };
            Removed { left: vec![left], ..Removed::default() }
        };
        let place = match self.mounted() {
            Ok(place) => place,
            Err(failure) => return left(failure.message),
        };
        self.marked(&place, |marked| match marked.open(None) {
            Ok(Some(directory)) => marked.remove(&directory),
            Ok(None) => left("is not the workspace of this run".to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Removed::default(),
            Err(error) => left(error.to_string()),
        })
    }

    fn mounted(&self) -> Result<Remote, Failure> {
        let session = Session::mounted(&self.location, Timeout::Seconds);
        let session = session.map_err(|error| failure::on_path("mount", &self.location.base(), &error))?;
        Ok(Remote(RefCell::new(session)))
    }

    fn marked<T>(&self, place: &Remote, operate: impl FnOnce(&Marked<'_, Remote>) -> T) -> T {
        let target = place.0.borrow().root();
        operate(&Marked { place, target: &target, path: &self.path })
    }
}

fn location(url: &str) -> Result<Location, Failure> {
    Location::parse(url).map_err(|unfit| failure::plain("open target", unfit.problem, &unfit.valid))
}

/// Directories of a mounted export.
struct Remote(RefCell<Session>);

/// More than this no list of a workspace is read at once.
const READ_BYTES: usize = 64 * 1024;

impl Place for Remote {
    type Open = Handle;

    fn kind(&self, directory: &Handle, name: &CStr) -> io::Result<Option<Kind>> {
        let object = self.0.borrow_mut().find(Named { directory, name })?;
        Ok(object.map(|(_, kind)| match kind {
            nfs::Kind::File => Kind::File,
            nfs::Kind::Directory => Kind::Directory,
            nfs::Kind::Other => Kind::Other,
        }))
    }

    fn open(&self, directory: &Handle, name: &CStr) -> io::Result<Handle> {
        match self.0.borrow_mut().look_up(Named { directory, name })? {
            (handle, nfs::Kind::Directory) => Ok(handle),
            _ => Err(io::Error::from_raw_os_error(libc::ENOTDIR)),
        }
    }

    fn make(&self, directory: &Handle, name: &CStr) -> io::Result<()> {
        self.0.borrow_mut().make_directory(Named { directory, name }, 0o700)
    }

    fn create(&self, directory: &Handle, name: &CStr, content: &[u8]) -> io::Result<()> {
        let mut session = self.0.borrow_mut();
        // The server answers when the name is on stable storage.
        let file = session.create_file(Named { directory, name }, 0o600, true)?;
        session.write_whole(&file, content)
    }

    fn read(&self, directory: &Handle, name: &CStr) -> io::Result<Vec<u8>> {
        let mut session = self.0.borrow_mut();
        let file = session.file(Named { directory, name })?;
        let mut content = vec![0; READ_BYTES];
        loop {
            let read = session.read_whole(&file, &mut content)?;
            if read < content.len() {
                content.truncate(read);
                return Ok(content);
            }
            content.resize(2 * read, 0);
        }
    }

    fn unlink(&self, directory: &Handle, name: &CStr) -> io::Result<()> {
        self.0.borrow_mut().remove(Named { directory, name })
    }

    fn rmdir(&self, directory: &Handle, name: &CStr) -> io::Result<()> {
        self.0.borrow_mut().remove_directory(Named { directory, name })
    }

    fn list(&self, directory: &Handle, each: &mut dyn FnMut(&CStr) -> bool) -> io::Result<()> {
        let mut next = Some(Cookie::default());
        while let Some(from) = next {
            // Not borrowed while `each` removes what it is given.
            let (names, more) = self.0.borrow_mut().list(directory, from)?;
            if !names.iter().all(|name| each(name)) {
                break;
            }
            next = more;
        }
        Ok(())
    }
}
