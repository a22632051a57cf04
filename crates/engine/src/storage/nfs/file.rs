//! One file that a rank has open: its transfers, each in as many requests as the server's largest READ or WRITE makes of
//! it, all under way at the same time.
//!
//! A WRITE may be answered when its bytes are in the server's memory; a COMMIT brings them to stable storage. Both say
//! which life of the server that is, so that a restart in between is noticed.

use std::cell::RefCell;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use ioassay_protocol::plan::data::SizeAtOpen;

use super::error;
use super::library::{Handle, Named, Refused, Reply, Request, Verifier};
use super::names::FILE_MODE;
use super::operations::unexpected;
use super::paths::Paths;
use crate::storage::memory::Memory;
use crate::storage::{Access, FinishedTransfer, InFlight, OpenFile, Opening};

/// A transfer of which some request is under way.
struct Transfer {
    memory: Memory,
    requests: u32,
    /// Bytes from its beginning on that are moved when all requests have ended.
    bytes: usize,
    failed: Option<io::Error>,
}

impl Transfer {
    /// One of its requests has ended.
    fn note(&mut self, from: *mut u8, asked: usize, bytes: usize) {
        if bytes < asked {
            let before = from.addr() - self.memory.start().addr();
            self.bytes = self.bytes.min(before + bytes);
        }
    }

    fn moved(&mut self) -> io::Result<usize> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(self.bytes),
        }
    }
}

/// An open file.
pub(super) struct NfsFile {
    paths: Rc<RefCell<Paths>>,
    handle: Handle,
    directory: Handle,
    name: CString,
    /// The buffers of transfers in flight.
    memory: Vec<Memory>,
    /// By the number of their buffer; the last one is that of transfers that have none.
    transfers: Vec<Option<Transfer>>,
    /// In which life of the server its memory took what is not committed.
    uncommitted: Option<Verifier>,
    forgotten: bool,
}

impl NfsFile {
    /// Opens `path`.
    pub fn open(paths: Rc<RefCell<Paths>>, path: &Path, opening: Opening<'_>, memory: Vec<Memory>) -> io::Result<Self> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let (handle, directory, name) = {
            let mut paths = paths.borrow_mut();
            let (directory, name) = paths.place(&path)?;
            let named = Named { directory: &directory, name };
            let handle = match opening.access {
                Access::Read => paths.session.file(named)?,
                Access::Write | Access::ReadWrite => paths.session.create_file(named, FILE_MODE, false)?,
            };
            let bytes = match opening.size.filter(|_| opening.access.writes()) {
                None => None,
                Some(SizeAtOpen::Empty) => Some(0),
                Some(SizeAtOpen::Full) => Some(opening.bytes),
                // NFS version 3 has no request for it.
                Some(SizeAtOpen::Preallocated) => return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
            };
            if let Some(bytes) = bytes {
                paths.session.set_size(&handle, bytes)?;
            }
            (handle, directory, name.to_owned())
        };
        let transfers = (0..=memory.len()).map(|_| None).collect();
        Ok(Self { paths, handle, directory, name, memory, transfers, uncommitted: None, forgotten: false })
    }

    /// Hands over the requests of a transfer.
    fn start(&mut self, number: usize, memory: Memory, offset: u64, write: bool) -> io::Result<()> {
        let session = &mut self.paths.borrow_mut().session;
        let file = &self.handle;
        let (most_read, most_written) = session.most_bytes();
        let most = if write { most_written } else { most_read };
        let mut transfer = Transfer { memory, requests: 0, bytes: memory.bytes(), failed: None };
        for from in (0..memory.bytes()).step_by(most) {
            let (offset, part) = (offset + from as u64, memory.after(from as u32).first(most));
            let request = if write {
                Request::Write { file, offset, from: part, stable: false }
            } else {
                Request::Read { file, offset, into: part }
            };
            match session.begin(number as u32, &request) {
                Ok(()) => transfer.requests += 1,
                Err(error) if transfer.requests == 0 => return Err(error),
                // The others are awaited first: they use the memory.
                Err(error) => {
                    transfer.failed = Some(error);
                    break;
                }
            }
        }
        self.transfers[number] = Some(transfer);
        Ok(())
    }

    /// Takes the answer to a request of a transfer. The transfer, if it has ended with that.
    fn take(&mut self, number: u32, answer: Result<Reply, Refused>) -> Option<Transfer> {
        let place = &mut self.transfers[number as usize];
        let transfer = place.as_mut().expect("a transfer is under way until its last request has ended");
        transfer.requests -= 1;
        match answer {
            Ok(Reply::Moved { from, asked, bytes, unstable }) => {
                transfer.note(from, asked, bytes);
                if let Some(life) = unstable {
                    self.forgotten |= self.uncommitted.replace(life).is_some_and(|before| before != life);
                }
            }
            Ok(other) => transfer.failed = Some(unexpected(&other)),
            Err(refused) => transfer.failed = Some(refused.into_io()),
        }
        if transfer.requests == 0 { place.take() } else { None }
    }

    /// A transfer alone.
    fn transfer_alone(&mut self, memory: Memory, offset: u64, write: bool) -> io::Result<usize> {
        self.start(self.memory.len(), memory, offset, write)?;
        loop {
            self.paths.borrow_mut().session.advance()?;
            while let Some((number, answer)) = self.next_answer() {
                if let Some(mut transfer) = self.take(number, answer) {
                    return transfer.moved();
                }
            }
        }
    }

    fn next_answer(&self) -> Option<(u32, Result<Reply, Refused>)> {
        self.paths.borrow_mut().session.arrived()
    }

    /// Brings what this rank wrote from the server's memory to stable storage.
    fn commit(&mut self) -> io::Result<()> {
        let Some(life) = self.uncommitted.take() else { return Ok(()) };
        let reply = self.paths.borrow_mut().session.call(&Request::Commit(&self.handle))?;
        match reply {
            Reply::Committed(now) if now == life && !self.forgotten => Ok(()),
            Reply::Committed(_) => Err(error::forgotten()),
            other => Err(unexpected(&other)),
        }
    }
}

impl OpenFile for NfsFile {
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize> {
        self.transfer_alone(Memory::read_from(data), offset, true)
    }

    fn read_at(&mut self, data: &mut [u8], offset: u64) -> io::Result<usize> {
        self.transfer_alone(Memory::written_to(data), offset, false)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.commit()
    }

    fn check_linked(&self) -> io::Result<()> {
        let named = Named { directory: &self.directory, name: &self.name };
        self.paths.borrow_mut().session.look_up(named).map(drop)
    }

    /// As with every client of NFS: what was written before a close can be read by others after it, and stays.
    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.commit()
    }

    fn begin(&mut self, transfer: InFlight) -> io::Result<()> {
        let memory = self.memory[transfer.buffer as usize].after(transfer.from);
        self.start(transfer.buffer as usize, memory, transfer.offset, transfer.write)
    }

    fn finish(&mut self, at_least: u32, ended: &mut Vec<FinishedTransfer>) -> io::Result<()> {
        let enough = ended.len() + at_least as usize;
        self.paths.borrow_mut().session.flush()?;
        loop {
            while let Some((number, answer)) = self.next_answer() {
                if let Some(mut transfer) = self.take(number, answer) {
                    ended.push(FinishedTransfer { buffer: number, moved: transfer.moved() });
                }
            }
            if ended.len() >= enough {
                return Ok(());
            }
            self.paths.borrow_mut().session.advance()?;
        }
    }
}
