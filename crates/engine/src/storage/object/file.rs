//! One object that a rank has open.

use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use bytes::{Buf, Bytes};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use opendal::{Buffer as Received, ErrorKind, Writer};

use super::client::Client;
use super::protocol::Writes;
use crate::storage::memory::Memory;
use crate::storage::{FinishedTransfer, InFlight, OpenFile};

/// Most parts of an object that S3 takes.
const MOST_PARTS: u64 = 10_000;

/// A read under way: its buffer, from where on, and what came.
type Read = LocalBoxFuture<'static, (InFlight, opendal::Result<Received>)>;

/// An open object. Nothing is sent by opening it.
pub(super) struct ObjectFile {
    client: Rc<Client>,
    key: String,
    /// Its planned size.
    bytes: u64,
    /// How far it is written.
    written: u64,
    /// Of an object of several transfers, until it is finished.
    upload: Option<Writer>,
    memory: Vec<Memory>,
    reads: FuturesUnordered<Read>,
    /// Writes that wait for their turn: an object is one stream.
    writes: VecDeque<InFlight>,
}

impl ObjectFile {
    /// The object at `key` that is to have `bytes`.
    pub fn new(client: Rc<Client>, key: String, bytes: u64, memory: Vec<Memory>) -> Self {
        let (reads, writes) = (FuturesUnordered::new(), VecDeque::new());
        Self { client, key, bytes, written: 0, upload: None, memory, reads, writes }
    }

    /// The next bytes of the object. Those that complete it finish it.
    fn write(&mut self, data: &[u8], offset: u64) -> io::Result<()> {
        // Written to its end, it may be written again: as a whole.
        let again = offset == 0 && self.upload.is_none();
        if offset != self.written && !again {
            let what = format!("an object is written in order: byte {} is next, not byte {offset}", self.written);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        // A copy, because the sender keeps it until it is acknowledged and the buffer is needed before that.
        let content = Bytes::copy_from_slice(data);
        let end = offset + data.len() as u64;
        match &mut self.upload {
            None if end == self.bytes => {
                self.client.wait(self.client.operator().write(&self.key, content))?;
            }
            None => self.upload = Some(self.begin_upload(content)?),
            Some(upload) => self.client.wait(upload.write(content))?,
        }
        self.written = end;
        if end == self.bytes { self.finish_upload() } else { Ok(()) }
    }

    /// The first of several transfers.
    fn begin_upload(&self, content: Bytes) -> io::Result<Writer> {
        let operator = self.client.operator();
        if self.client.location().protocol().writes == Writes::Appends {
            self.client.wait(operator.write(&self.key, content))?;
            return self.client.wait(operator.writer_with(&self.key).append(true).into_future());
        }
        let smallest_part = self.bytes.div_ceil(MOST_PARTS);
        let parts = operator.writer_with(&self.key);
        // Otherwise a part is a transfer, or as many as it takes for the smallest part of the protocol.
        let too_many = smallest_part > content.len() as u64;
        let parts = if too_many { parts.chunk(smallest_part as usize) } else { parts };
        let mut upload = self.client.wait(parts.into_future())?;
        self.client.wait(upload.write(content))?;
        Ok(upload)
    }

    fn finish_upload(&mut self) -> io::Result<()> {
        match self.upload.take() {
            Some(mut upload) => self.client.wait(upload.close()).map(drop),
            None => Ok(()),
        }
    }

    /// A read of `bytes` at `offset`. What it needs it has, so that several can be under way.
    fn read(&self, offset: u64, bytes: usize) -> LocalBoxFuture<'static, opendal::Result<Received>> {
        let (operator, key) = (self.client.operator().clone(), self.key.clone());
        async move { operator.reader(&key).await?.read(offset..offset + bytes as u64).await }.boxed_local()
    }

    /// Copies what a read brought to where it belongs.
    fn received(&self, received: opendal::Result<Received>, data: &mut [u8]) -> io::Result<usize> {
        match received {
            Ok(mut received) => {
                let bytes = received.remaining().min(data.len());
                received.copy_to_slice(&mut data[..bytes]);
                Ok(bytes)
            }
            // The object ends before the range begins.
            Err(error) if error.kind() == ErrorKind::RangeNotSatisfied => Ok(0),
            Err(error) => Err(self.client.explain(&error)),
        }
    }

    fn end_of(&self, transfer: InFlight, received: opendal::Result<Received>) -> FinishedTransfer {
        // SAFETY: buffers outlive the connection, and this one is ours until the transfer has ended.
        let data = unsafe { self.memory[transfer.buffer as usize].after(transfer.from).slice_mut() };
        FinishedTransfer { buffer: transfer.buffer, moved: self.received(received, data) }
    }
}

impl OpenFile for ObjectFile {
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize> {
        self.write(data, offset)?;
        Ok(data.len())
    }

    fn read_at(&mut self, data: &mut [u8], offset: u64) -> io::Result<usize> {
        let received = self.client.run(self.read(offset, data.len()));
        self.received(received, data)
    }

    /// What was written becomes an object, if it is not one already: the protocol has no other way to keep it.
    fn sync(&mut self) -> io::Result<()> {
        self.finish_upload()
    }

    /// Every request names the object anew, so that one that is gone is an error by itself.
    fn check_linked(&self) -> io::Result<()> {
        Ok(())
    }

    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.finish_upload()
    }

    fn begin(&mut self, transfer: InFlight) -> io::Result<()> {
        if transfer.write {
            self.writes.push_back(transfer);
            return Ok(());
        }
        let bytes = self.memory[transfer.buffer as usize].after(transfer.from).bytes();
        self.reads.push(self.read(transfer.offset, bytes).map(move |received| (transfer, received)).boxed_local());
        Ok(())
    }

    fn finish(&mut self, at_least: u32, ended: &mut Vec<FinishedTransfer>) -> io::Result<()> {
        let mut left = at_least;
        while left > 0
            && let Some(transfer) = self.writes.pop_front()
        {
            // SAFETY: buffers outlive the connection, and this one is ours until the transfer has ended.
            let data = unsafe { self.memory[transfer.buffer as usize].after(transfer.from).slice() };
            let moved = self.write(data, transfer.offset).map(|()| data.len());
            ended.push(FinishedTransfer { buffer: transfer.buffer, moved });
            left -= 1;
        }
        let mut reads = std::mem::take(&mut self.reads);
        let mut arrived = Vec::new();
        self.client.run(async {
            while arrived.len() < left as usize {
                let Some(read) = reads.next().await else { break };
                arrived.push(read);
            }
            // And whatever else is there already.
            while let Some(Some(read)) = reads.next().now_or_never() {
                arrived.push(read);
            }
        });
        self.reads = reads;
        ended.extend(arrived.into_iter().map(|(transfer, received)| self.end_of(transfer, received)));
        Ok(())
    }
}

impl Drop for ObjectFile {
    /// An upload that nobody finished is given up: its parts would cost their owner money, and nobody lists them.
    fn drop(&mut self) {
        if let Some(mut upload) = self.upload.take() {
            // The failure that led here is what the user must know.
            let _ = self.client.wait(upload.abort());
        }
    }
}
