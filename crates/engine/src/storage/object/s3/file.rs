//! One object that a rank has open: written in one request or in parts, read in ranges, with several in flight.

use std::future::Future;
use std::io;
use std::path::Path;
use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};

use super::S3;
use super::fault::Fault;
use super::requests::Requests;
use crate::storage::memory::Memory;
use crate::storage::{FinishedTransfer, InFlight, OpenFile};

/// A transfer in flight: its buffer, and what it moved.
type Transfer = LocalBoxFuture<'static, (u32, Result<Moved, Fault>)>;

/// What a transfer moved.
struct Moved {
    bytes: usize,
    /// The part that it was, by its number.
    part: Option<(u32, String)>,
}

/// An open object.
pub(super) struct S3File {
    s3: Rc<S3>,
    key: Rc<str>,
    /// Its planned size.
    bytes: u64,
    upload: Option<Upload>,
    memory: Rc<[Memory]>,
    transfers: FuturesUnordered<Transfer>,
}

/// The upload of an object in parts.
struct Upload {
    id: Rc<str>,
    /// Parts that were begun.
    parts: u32,
    /// Bytes in them.
    bytes: u64,
    /// By number, of those that the server has acknowledged.
    etags: Vec<Option<String>>,
}

impl S3File {
    /// The object at `path` that is to have `bytes`. With `parts` its upload begins now, so that this does not count in
    /// the latency of a part.
    pub fn open(s3: Rc<S3>, path: &Path, bytes: u64, parts: bool, memory: Rc<[Memory]>) -> io::Result<Self> {
        let key = s3.location.key(path)?.into();
        let mut file = Self { s3, key, bytes, upload: None, memory, transfers: FuturesUnordered::new() };
        if parts {
            file.begin_upload()?;
        }
        Ok(file)
    }

    fn begin_upload(&mut self) -> io::Result<()> {
        let id = self.s3.wait(|requests| requests.begin_upload(&self.key))?;
        self.upload = Some(Upload { id: id.into(), parts: 0, bytes: 0, etags: Vec::new() });
        Ok(())
    }

    /// A write of `body` at `offset`: of the whole object, or of its next part.
    fn write(&mut self, body: Memory, offset: u64) -> io::Result<impl Future<Output = Result<Moved, Fault>> + use<>> {
        let bytes = body.bytes();
        let mut part = None;
        if offset > 0 || (bytes as u64) < self.bytes {
            part = Some(self.next_part(bytes as u64, offset)?);
        }
        let (requests, key) = (Rc::clone(&self.s3.requests), Rc::clone(&self.key));
        Ok(async move {
            let Some((id, number)) = part else {
                requests.put(&key, body).await?;
                return Ok(Moved { bytes, part: None });
            };
            let etag = requests.part((&key, &id), number, body).await?;
            Ok(Moved { bytes, part: Some((number, etag)) })
        })
    }

    /// The upload and the number of the part that begins at `offset`.
    fn next_part(&mut self, bytes: u64, offset: u64) -> io::Result<(Rc<str>, u32)> {
        // Written to its end, it may be written again: as a whole.
        if offset == 0 && self.upload.as_ref().is_none_or(|upload| upload.parts > 0) {
            self.complete_upload()?;
            self.begin_upload()?;
        }
        let Some(upload) = self.upload.as_mut().filter(|upload| upload.bytes == offset) else {
            let what = format!("an object is written in order: byte {offset} is not the next one");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        };
        upload.parts += 1;
        upload.bytes += bytes;
        upload.etags.push(None);
        Ok((Rc::clone(&upload.id), upload.parts))
    }

    /// Makes an object of the parts, if it is not one already.
    fn complete_upload(&mut self) -> io::Result<()> {
        let Some(upload) = self.upload.take_if(|upload| upload.parts > 0) else { return Ok(()) };
        let etags: Option<Vec<String>> = upload.etags.iter().cloned().collect();
        let done = match etags {
            Some(etags) => self.s3.wait(|requests| requests.complete((&self.key, &upload.id), &etags, upload.bytes)),
            None => Err(io::Error::other("a part of the object has not been acknowledged")),
        };
        if done.is_err() {
            // To be given up.
            self.upload = Some(upload);
        }
        done
    }

    fn read(&self, into: Memory, offset: u64) -> impl Future<Output = Result<Moved, Fault>> + use<> {
        let (requests, key) = (Rc::clone(&self.s3.requests), Rc::clone(&self.key));
        async move { requests.get(&key, offset, into).await.map(|bytes| Moved { bytes, part: None }) }
    }

    /// Notes what ended.
    fn ended(&mut self, moved: Result<Moved, Fault>) -> io::Result<usize> {
        let Moved { bytes, part } = moved.map_err(|fault| self.s3.explain(&fault))?;
        if let (Some((number, etag)), Some(upload)) = (part, &mut self.upload) {
            upload.etags[number as usize - 1] = Some(etag);
        }
        Ok(bytes)
    }
}

impl OpenFile for S3File {
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize> {
        let write = self.write(Memory::read_from(data), offset)?;
        let moved = self.s3.run(write);
        self.ended(moved)
    }

    fn read_at(&mut self, data: &mut [u8], offset: u64) -> io::Result<usize> {
        let moved = self.s3.run(self.read(Memory::written_to(data), offset));
        self.ended(moved)
    }

    /// What was written becomes an object: the protocol has no other way to keep it.
    fn sync(&mut self) -> io::Result<()> {
        self.complete_upload()
    }

    /// Every request names the object anew, so that one that is gone is an error by itself.
    fn check_linked(&self) -> io::Result<()> {
        Ok(())
    }

    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.complete_upload()
    }

    fn begin(&mut self, transfer: InFlight) -> io::Result<()> {
        let InFlight { buffer, from, offset, write } = transfer;
        let memory = self.memory[buffer as usize].after(from);
        let transfer: Transfer = if write {
            self.write(memory, offset)?.map(move |moved| (buffer, moved)).boxed_local()
        } else {
            self.read(memory, offset).map(move |moved| (buffer, moved)).boxed_local()
        };
        self.transfers.push(transfer);
        Ok(())
    }

    fn finish(&mut self, at_least: u32, ended: &mut Vec<FinishedTransfer>) -> io::Result<()> {
        let mut transfers = std::mem::take(&mut self.transfers);
        let mut arrived = Vec::new();
        self.s3.run(async {
            while arrived.len() < at_least as usize {
                let Some(transfer) = transfers.next().await else { break };
                arrived.push(transfer);
            }
            // And whatever else has ended already.
            while let Some(Some(transfer)) = transfers.next().now_or_never() {
                arrived.push(transfer);
            }
        });
        self.transfers = transfers;
        ended.extend(arrived.into_iter().map(|(buffer, moved)| FinishedTransfer { buffer, moved: self.ended(moved) }));
        Ok(())
    }
}

impl Drop for S3File {
    /// An upload that nobody completed is given up: its parts would cost their owner money, and no listing of objects
    /// shows them.
    fn drop(&mut self) {
        // Parts on their way first, so that none arrives after the upload has ended.
        self.transfers.clear();
        if let Some(upload) = self.upload.take() {
            // The failure that led here is what the user must know; the removal of the workspace looks for uploads again.
            let _ = self.s3.wait(|requests: &Requests| requests.abort(&self.key, &upload.id));
        }
    }
}
