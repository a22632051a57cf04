//! S3, spoken by the engine itself: what is measured are its requests, not those of a general library.
//!
//! OpenDAL sends a part when the next one is ready, hides which request took how long, and copies each body. Here a
//! transfer is a request: a part of an upload, a range of a read, with as many in flight as the plan's depth. One rank is
//! one thread with connections of its own, as with the other protocols.
//!
//! Not here: the workspace, which lists and deletes through OpenDAL ([`crate::workspace`]).

mod fault;
mod file;
mod http;
mod names;
mod requests;
mod signature;

use std::future::Future;
use std::io;
use std::path::Path;
use std::rc::Rc;

use tokio::runtime::Runtime;
use tokio::time::timeout;

use self::fault::Fault;
use self::file::S3File;
use self::http::Endpoint;
use self::names::S3Names;
use self::requests::Requests;
pub use self::requests::Upload;
use self::signature::{Credentials, Signer};
use super::client::{self, HOUSEKEEPING};
use super::location::Location;
use super::protocol::{self, S3Place};
use super::tls;
use crate::failure::Explained;
use crate::storage::memory::Memory;
use crate::storage::names::Names;
use crate::storage::{Access, Connection, OpenFile, Opening, RequestCounts, Setup};

/// The fewest bytes of a part that is not the last one of its object.
pub const SMALLEST_PART: u64 = 5 << 20;

/// Most parts of an object.
pub const MOST_PARTS: u64 = 10_000;

/// A client of S3: its requests, and the one thread that runs them.
pub struct S3 {
    location: Location,
    // Before the runtime, so that connections are closed while there is one.
    requests: Rc<Requests>,
    runtime: Runtime,
}

impl S3 {
    /// A client for `location`. Only its name is resolved. `number` is the client's among all of the run.
    pub fn new(location: Location, retries: u32, number: u32) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let S3Place { endpoint, host, root, region, credentials } =
            protocol::s3_place(&location, number).map_err(Explained::into_io)?;
        let endpoint = Endpoint::resolve(&endpoint, &host, || tls::configuration(&location))
            .map_err(|error| Fault::Lost(error).explain(&location, &endpoint, 0))?;
        let signer = credentials.map(|(access_key, secret_key, session_token)| {
            Signer::new(Credentials { access_key, secret_key, session_token }, region, host)
        });
        let requests = Rc::new(Requests::new(endpoint, root, signer, retries, number.into()));
        Ok(Self { location, requests, runtime })
    }

    /// Runs a request to its end. Others that are in flight go on while it runs.
    fn run<T>(&self, request: impl Future<Output = T>) -> T {
        client::run_on(&self.runtime, request)
    }

    /// Waits for a request.
    fn wait<'a, T, F: Future<Output = Result<T, Fault>>>(
        &'a self,
        ask: impl FnOnce(&'a Requests) -> F,
    ) -> io::Result<T> {
        self.run(ask(&self.requests)).map_err(|fault| self.explain(&fault))
    }

    #[cold]
    fn explain(&self, fault: &Fault) -> io::Error {
        fault.explain(&self.location, self.requests.endpoint(), self.requests.retries())
    }

    /// Incomplete uploads of keys that begin with `prefix`.
    pub fn uploads(&self, prefix: &str) -> io::Result<Vec<Upload>> {
        self.wait(|requests| in_seconds(requests.uploads(prefix)))
    }

    /// Gives an upload up.
    pub fn abort(&self, upload: &Upload) -> io::Result<()> {
        self.wait(|requests| in_seconds(requests.abort(&upload.key, &upload.upload_id)))
    }
}

/// A small request of a workspace, whose caller waits for it.
async fn in_seconds<T>(request: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    timeout(HOUSEKEEPING, request).await.unwrap_or_else(|_| {
        let error = io::Error::new(io::ErrorKind::TimedOut, "the server does not answer in time");
        Err(Fault::Lost(error))
    })
}

/// A rank's way to S3 during one phase.
pub(super) struct S3Connection {
    s3: Rc<S3>,
    memory: Rc<[Memory]>,
    names: S3Names,
}

impl S3Connection {
    /// As `setup` asks for it.
    pub fn new(location: Location, setup: Setup<'_>) -> io::Result<Self> {
        let s3 = Rc::new(S3::new(location, setup.storage.retries, setup.members.rank)?);
        let memory = setup.buffers.iter_mut().map(Memory::of).collect();
        Ok(Self { names: S3Names(Rc::clone(&s3)), s3, memory })
    }
}

impl Connection for S3Connection {
    fn open(&mut self, path: &Path, opening: Opening<'_>) -> io::Result<Box<dyn OpenFile>> {
        let transfer = self.memory.first().map_or(0, |memory| memory.bytes() as u64);
        let parts = opening.access == Access::Write && transfer < opening.bytes;
        let (s3, memory) = (Rc::clone(&self.s3), Rc::clone(&self.memory));
        Ok(Box::new(S3File::open(s3, path, opening.bytes, parts, memory)?))
    }

    fn names(&mut self) -> Option<&mut dyn Names> {
        Some(&mut self.names)
    }

    fn take_request_counts(&mut self) -> RequestCounts {
        let s3 = &self.s3;
        let endpoint = (s3.location.endpoints().len() > 1).then(|| s3.requests.endpoint().to_owned());
        RequestCounts { endpoint, ..s3.requests.take_counts() }
    }
}
