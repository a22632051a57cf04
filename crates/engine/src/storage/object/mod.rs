//! `object`: objects behind a protocol: S3 by the engine itself ([`s3`]), the others through Apache OpenDAL.
//!
//! An object is written once, from its beginning to its end, and read in any range. What a rank does:
//! * its connection is a client of its own: one thread, one pool of connections, made after ranks were forked;
//! * the write that completes an object finishes it, so that its time counts where it belongs ([`file`]);
//! * an object of one transfer is one request; larger ones go in parts or appends, as the [`protocol`] has it;
//! * no request is repeated unless the plan asks for it: what a repetition hides is measured as a slow request.
//!
//! Not here: timing, which objects there are, removing them ([`crate::workspace`]).

pub mod client;
mod error;
mod file;
pub mod location;
mod names;
mod protocol;
pub mod s3;
mod tls;

use std::io;
use std::path::Path;
use std::rc::Rc;

use ioassay_protocol::plan::storage::Target;

use self::client::{Client, Timeout};
use self::file::ObjectFile;
use self::location::Location;
use self::names::ObjectNames;
use self::s3::S3Connection;
use super::memory::Memory;
use super::names::Names;
use super::{Capabilities, Connection, OpenFile, Opening, Parts, Setup, StorageApi, Unfit};

pub(super) struct Object;

/// More requests in flight than this from one rank need more connections than most servers give one client.
const DEEPEST: u32 = 256;

impl StorageApi for Object {
    fn name(&self) -> &'static str {
        "object"
    }

    /// What the best of the protocols can do.
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            files: true,
            schemes: protocol::SCHEMES,
            sync: true,
            synced_by_close: true,
            depth: DEEPEST,
            names: Some(protocol::OBJECT_NAMES),
            ..Capabilities::NONE
        }
    }

    fn capabilities_for(&self, target: &Target) -> Capabilities {
        let Ok(location) = location_of(target) else { return self.capabilities() };
        let protocol = location.protocol();
        let s3 = protocol.is_s3();
        Capabilities {
            parts: s3.then_some(Parts { smallest_bytes: s3::SMALLEST_PART, most: s3::MOST_PARTS }),
            retries: s3,
            sync: protocol.durable,
            synced_by_close: protocol.durable,
            whole_files: protocol.writes == protocol::Writes::Whole,
            names: protocol.names,
            ..self.capabilities()
        }
    }

    fn unfit(&self, target: &Target) -> Option<Unfit> {
        location_of(target).err()
    }

    fn connect(&self, setup: Setup<'_>) -> io::Result<Box<dyn Connection>> {
        let location = location_of(setup.target).map_err(|unfit| io::Error::other(unfit.problem))?;
        if location.protocol().is_s3() {
            return Ok(Box::new(S3Connection::new(location, setup)?));
        }
        let client = Rc::new(Client::new(location, Timeout::AsLongAsItTakes)?);
        let names = ObjectNames::new(Rc::clone(&client));
        Ok(Box::new(ObjectConnection { client, memory: setup.buffers.iter_mut().map(Memory::of).collect(), names }))
    }
}

fn location_of(target: &Target) -> Result<Location, Unfit> {
    match target {
        Target::Url(url) => Location::parse(url),
        Target::Directory(_) | Target::InPlace(_) | Target::Device(_) => Err(Unfit {
            problem: "this is not a URL".to_owned(),
            valid: "write for example s3://bucket/prefix".to_owned(),
        }),
    }
}

struct ObjectConnection {
    client: Rc<Client>,
    memory: Vec<Memory>,
    names: ObjectNames,
}

impl Connection for ObjectConnection {
    fn open(&mut self, path: &Path, opening: Opening<'_>) -> io::Result<Box<dyn OpenFile>> {
        let key = self.client.location().key(path)?;
        Ok(Box::new(ObjectFile::new(Rc::clone(&self.client), key, opening.bytes, self.memory.clone())))
    }

    fn names(&mut self) -> Option<&mut dyn Names> {
        Some(&mut self.names)
    }
}
