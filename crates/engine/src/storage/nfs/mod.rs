//! `nfs`: an export of an NFS version 3 server, without the kernel's client, through libnfs.
//!
//! Every transfer is a request to the server, and the client caches nothing: neither pages nor attributes. What a rank
//! does:
//! * its connection is a mount of its own, with one TCP connection ([`session`]), made after ranks were forked;
//! * the target, which is what the URL names, is the mounted directory, so that its depth costs nothing;
//! * no request is repeated: an error that a repetition hides would be measured as a slow request.
//!
//! libnfs is not linked but loaded when a plan uses it ([`library`]). Not here: timing, which files there
//! are, removing them ([`crate::workspace`]).

mod error;
mod file;
mod layout;
mod library;
pub mod location;
mod names;
mod operations;
mod paths;
mod session;

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::rc::Rc;

use ioassay_protocol::plan::storage::Target;

use self::file::NfsFile;
pub use self::library::{Cookie, Handle, Kind, Named};
use self::location::Location;
use self::names::NfsNames;
use self::paths::Paths;
pub use self::session::{Session, Timeout};
use super::memory::Memory;
use super::names::Names;
use super::{Capabilities, Connection, OpenFile, Opening, Setup, StorageApi, Unfit};

pub(super) struct Nfs;

/// More requests in flight than this no server works on.
const DEEPEST: u32 = 1024;

impl StorageApi for Nfs {
    fn name(&self) -> &'static str {
        "nfs"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            files: true,
            schemes: &[location::SCHEME],
            shared_files: true,
            rewrites: true,
            sync: true,
            synced_by_close: true,
            depth: DEEPEST,
            sizes: true,
            names: Some(names::CAPABILITIES),
            ..Capabilities::NONE
        }
    }

    fn unfit(&self, target: &Target) -> Option<Unfit> {
        location_of(target).err()
    }

    fn connect(&self, setup: Setup<'_>) -> io::Result<Box<dyn Connection>> {
        let location = location_of(setup.target).map_err(|unfit| io::Error::other(unfit.problem))?;
        let session = Session::mounted(&location, Timeout::AsLongAsItTakes)?;
        let paths = Rc::new(RefCell::new(Paths::new(session, &location)));
        let names = NfsNames(Rc::clone(&paths));
        Ok(Box::new(NfsConnection { paths, memory: setup.buffers.iter_mut().map(Memory::of).collect(), names }))
    }
}

fn location_of(target: &Target) -> Result<Location, Unfit> {
    match target {
        Target::Url(url) => Location::parse(url),
        Target::Directory(_) | Target::InPlace(_) | Target::Device(_) => Location::parse(""),
    }
}

struct NfsConnection {
    paths: Rc<RefCell<Paths>>,
    memory: Vec<Memory>,
    names: NfsNames,
}

impl Connection for NfsConnection {
    fn open(&mut self, path: &Path, opening: Opening<'_>) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(NfsFile::open(Rc::clone(&self.paths), path, opening, self.memory.clone())?))
    }

    fn names(&mut self) -> Option<&mut dyn Names> {
        Some(&mut self.names)
    }
}
