//! What a storage API is: what it can do, how it is connected to, what is done with its files.
//!
//! Not here: directory entries ([`super::names`]), and which APIs there are ([`super::registry`]).

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ioassay_protocol::plan::RankRange;
use ioassay_protocol::plan::data::{Advice, SizeAtOpen};
use ioassay_protocol::plan::storage::{Storage, Target};

use super::names::{Names, Presence};
use crate::beneath::Root;
use crate::latencies::Latencies;
use crate::workload::buffer::Buffer;
use crate::workload::layout::Geometry;

/// What a storage API can do. A plan that asks for more is refused before any I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Keeps what is written, in the workspace: it can be inspected and must be removed.
    pub files: bool,
    /// Takes directories of mounted file systems as targets.
    pub directories: bool,
    /// Takes block devices as targets.
    pub devices: bool,
    /// Schemes of the URLs that it takes as targets, for example `s3`.
    pub schemes: &'static [&'static str],
    /// Several ranks may have one file open for writing.
    pub shared_files: bool,
    /// Takes writes at any offset in any order, again and again. Otherwise a file is written once, from its
    /// beginning to its end.
    pub rewrites: bool,
    /// Writes a whole file at once: one transfer is all of it.
    pub whole_files: bool,
    /// A file of several transfers is written in parts, one for each.
    pub parts: Option<Parts>,
    /// Repeats requests that failed for the moment, where the plan asks for it.
    pub retries: bool,
    /// Returns from sync when what was written would survive a crash.
    pub sync: bool,
    /// A file that was written to its end and closed without an error would survive a crash, also without sync.
    pub synced_by_close: bool,
    /// Most transfers that one rank can have in flight.
    pub depth: u32,
    /// Moves several pieces of memory with one call.
    pub vectors: bool,
    /// Can go past the page cache.
    pub direct: bool,
    /// Can drop pages from the page cache as soon as they were moved.
    pub uncached: bool,
    /// Can lock files.
    pub locks: bool,
    /// Can give a file its size before it is written.
    pub sizes: bool,
    /// Advice about the access that the kernel can be given.
    pub advice: &'static [Advice],
    /// Uses io_uring, and heeds its options.
    pub uring: bool,
    /// Ranks must be MPI processes.
    pub needs_mpi: bool,
    /// All ranks that share a file must open, sync and close it together.
    pub collective_files: bool,
    /// All ranks that share a file must move each transfer together.
    pub collective_transfers: bool,
    /// Creates, looks at and removes directory entries, and how.
    pub names: Option<NameCapabilities>,
}

impl Capabilities {
    /// Nothing at all, to begin from.
    pub const NONE: Self = Self {
        files: false,
        directories: false,
        devices: false,
        schemes: &[],
        shared_files: false,
        rewrites: false,
        whole_files: false,
        parts: None,
        retries: false,
        sync: false,
        synced_by_close: false,
        depth: 1,
        vectors: false,
        direct: false,
        uncached: false,
        locks: false,
        sizes: false,
        advice: &[],
        uring: false,
        needs_mpi: false,
        collective_files: false,
        collective_transfers: false,
        names: None,
    };
}

/// What the parts of a file must be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Bytes of each at least, except the last.
    pub smallest_bytes: u64,
    /// How many at most.
    pub most: u64,
}

/// What a storage API can do with directory entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameCapabilities {
    /// Has directories that must be created, and removed when empty.
    pub directories: bool,
    /// Names entries by their name in an open directory.
    pub openat: bool,
    /// Has `mknod`.
    pub mknod: bool,
    /// Can rename.
    pub rename: bool,
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Write; the file is created if it is not there.
    Write,
    /// Read; the file is there.
    Read,
    /// Both; the file is created if it is not there.
    ReadWrite,
}

impl Access {
    /// True if the file may be written.
    pub fn writes(self) -> bool {
        self != Self::Read
    }
}

/// How a file is opened.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// What for.
    pub access: Access,
    /// Whether it may be there already when it is created.
    pub presence: Presence,
    /// The planned size of the file in bytes.
    pub bytes: u64,
    /// What happens to its size.
    pub size: Option<SizeAtOpen>,
    /// Advice that the kernel is given.
    pub advice: &'a [Advice],
}

/// What a connection is made from.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The API's options.
    pub storage: &'a Storage,
    /// Where the I/O goes.
    pub target: &'a Target,
    /// The workspace, where it is a directory of a mounted file system: paths lie beneath it. Without one, users named them.
    pub root: Option<&'a Arc<Root>>,
    /// The buffers of all transfers to come, one per transfer in flight; they outlive the connection, which writes to those
    /// of its reads.
    pub buffers: &'a mut [Buffer],
    /// Who connects.
    pub members: Members,
    /// Where its transfers lie; nowhere for work on directory entries.
    pub part: Option<Part>,
    /// The communicator of all ranks, a Fortran handle, where they meet over MPI.
    pub mpi: Option<i32>,
}

impl<'a> Setup<'a> {
    /// One of a single rank, for work that is nowhere in particular.
    pub fn alone(storage: &'a Storage, target: &'a Target, buffers: &'a mut [Buffer]) -> Self {
        let job = RankRange { first: 0, count: 1 };
        let members = Members { rank: 0, ranks: 1, job };
        Self { storage, target, root: None, buffers, members, part: None, mpi: None }
    }
}

/// A rank among those that connect for the same job.
#[derive(Debug, Clone, Copy)]
pub struct Members {
    /// The rank.
    pub rank: u32,
    /// Ranks in all.
    pub ranks: u32,
    /// The ranks that connect.
    pub job: RankRange,
}

/// The part of a file set that a rank works on.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// The file set.
    pub geometry: Geometry,
    /// The number of the part.
    pub part: u32,
}

/// Why a target cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// What is wrong with it, without secrets that may stand in it.
    pub problem: String,
    /// What would be valid.
    pub valid: String,
}

/// What is wrong with an option in a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongOption {
    /// Its key; empty where it is about several of them.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What would be valid.
    pub valid: String,
}

/// A way to do I/O. Without state of its own: every rank uses the same one.
pub trait StorageApi: Sync {
    /// The name that plans use.
    fn name(&self) -> &'static str;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// What it can do on `target`, where that makes a difference.
    fn capabilities_for(&self, target: &Target) -> Capabilities {
        match target {
            // A device has neither names nor sizes to give, whatever the API can do elsewhere.
            Target::Device(_) => Capabilities { names: None, sizes: false, ..self.capabilities() },
            Target::Directory(_) | Target::InPlace(_) | Target::Url(_) => self.capabilities(),
        }
    }

    /// What makes `target` unfit, of the kinds of targets that it takes. Nothing is asked of the target itself.
    fn unfit(&self, _target: &Target) -> Option<Unfit> {
        None
    }

    /// What it can do on `target` with the options that `storage` gives it.
    ///
    /// # Errors
    /// If it does not have such an option.
    fn configured(&self, storage: &Storage, target: &Target) -> Result<Capabilities, WrongOption> {
        match storage.options.keys().next() {
            None => Ok(self.capabilities_for(target)),
            Some(key) => Err(WrongOption {
                key: key.clone(),
                problem: format!("{} is not a plug-in and has no options", self.name()),
                valid: "leave it out".to_owned(),
            }),
        }
    }

    /// One rank's connection, made before the clock of a phase starts and dropped after it has stopped.
    fn connect(&self, setup: Setup<'_>) -> io::Result<Box<dyn Connection>>;
}

/// One rank's way to the storage during one phase.
pub trait Connection {
    /// Opens `path`. Called by every rank that uses the file, inside the timed phase.
    fn open(&mut self, path: &Path, opening: Opening<'_>) -> io::Result<Box<dyn OpenFile>>;

    /// Directory entries, where the API has them.
    fn names(&mut self) -> Option<&mut dyn Names> {
        None
    }

    /// What it has counted of its requests since this was last asked.
    fn take_request_counts(&mut self) -> RequestCounts {
        RequestCounts::default()
    }
}

/// What a connection counts of its requests, where it makes any over a network.
#[derive(Debug, Clone, Default)]
pub struct RequestCounts {
    /// The server that was asked, where there are several.
    pub endpoint: Option<String>,
    /// Requests that were repeated, by the reason.
    pub retries: BTreeMap<String, u64>,
    /// From the beginning of each read to its first byte.
    pub first_byte: Option<Latencies>,
}

impl RequestCounts {
    /// Adds what another connection of the same rank has counted.
    pub fn add(&mut self, other: Self) {
        for (reason, count) in other.retries {
            *self.retries.entry(reason).or_default() += count;
        }
        if let Some(first_byte) = other.first_byte {
            self.first_byte.get_or_insert_with(Latencies::default).add(&first_byte.buckets());
        }
        self.endpoint = self.endpoint.take().or(other.endpoint);
    }
}

/// A file that one rank has open.
pub trait OpenFile {
    /// Writes from `data` at `offset` and returns how many bytes it wrote; fewer than asked is allowed.
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize>;

    /// Reads into `data` at `offset` and returns how many bytes it read; 0 is the end of the file.
    fn read_at(&mut self, data: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Returns when everything written is on stable storage.
    fn sync(&mut self) -> io::Result<()>;

    /// An error if the file's name is gone. Asked about once a second, because a file that was removed
    /// can be written for hours without any other error.
    fn check_linked(&self) -> io::Result<()>;

    /// Closes the file and reports what only close reports (delayed write errors on NFS).
    fn close(self: Box<Self>) -> io::Result<()>;

    /// Takes a transfer, to be handed over by the next [`OpenFile::finish`]. Only for APIs with a depth above 1;
    /// never more than the plan's depth are begun and not finished.
    fn begin(&mut self, _transfer: InFlight) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Hands over what was begun, waits until at least `at_least` transfers have ended, and adds all that have to
    /// `ended`. A transfer that failed is an ended one; an error is that nothing can be handed over or awaited.
    fn finish(&mut self, _at_least: u32, _ended: &mut Vec<FinishedTransfer>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Locks bytes for this rank against the others, waiting for it. A length of 0 is the whole file.
    fn lock(&mut self, _range: Range) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Releases a lock.
    fn unlock(&mut self, _range: Range) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Repeats `call` from the byte that it came to until all `bytes` have been moved, and counts in `short` how often it moved
/// fewer than asked. A call that moves none is the error that `nothing` makes of the byte.
pub fn move_all(
    bytes: usize,
    short: &mut u64,
    nothing: impl Fn(u64) -> io::Error,
    mut call: impl FnMut(usize) -> io::Result<usize>,
) -> io::Result<()> {
    let mut moved = 0;
    while moved < bytes {
        match call(moved) {
            Ok(0) => return Err(nothing(moved as u64)),
            Ok(count) => {
                moved += count;
                *short += u64::from(moved < bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A transfer to be kept in flight.
#[derive(Debug, Clone, Copy)]
pub struct InFlight {
    /// Which buffer, as in [`Setup::buffers`]; no other transfer in flight uses it.
    pub buffer: u32,
    /// From which byte of the buffer on: more than 0 where a short transfer goes on.
    pub from: u32,
    /// Where in the file.
    pub offset: u64,
    /// True for a write.
    pub write: bool,
}

/// A transfer that has ended.
#[derive(Debug)]
pub struct FinishedTransfer {
    /// Its buffer.
    pub buffer: u32,
    /// How many bytes it moved, or why not.
    pub moved: io::Result<usize>,
}

/// Bytes to lock.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// The first of them.
    pub offset: u64,
    /// How many; 0: all there are and will be.
    pub bytes: u64,
    /// Exclusive for a write, shared for a read.
    pub exclusive: bool,
}
