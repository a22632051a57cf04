//! Transfers one by one: each has ended before the next begins.

use std::io;

use ioassay_host::clock::Clock;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::data::Verify;

use super::transfer::{TransferContext, name};
use crate::failure::{self, Explained};
use crate::storage::OpenFile;
use crate::work::data::{READ, WRITE};
use crate::work::run::operations::{Moved, Operate};
use crate::workload::payload;

/// The transfers of one rank in one open file.
pub(super) struct OneByOne<'a> {
    file: &'a mut dyn OpenFile,
    context: TransferContext<'a>,
    buffer: &'a mut [u8],
    /// To compare with.
    scratch: &'a mut [u8],
    clock: &'a Clock,
    extras: bool,
    /// Lane and offset of the transfer that is prepared.
    prepared: (usize, u64),
    short_transfers: u64,
    fsync_ns: u64,
    writes: u64,
}

impl<'a> OneByOne<'a> {
    /// Transfers of `context` between `file` and `buffer`.
    pub fn new(
        file: &'a mut dyn OpenFile,
        context: TransferContext<'a>,
        buffer: &'a mut [u8],
        scratch: &'a mut [u8],
        clock: &'a Clock,
    ) -> Self {
        let extras = context.has_extras();
        Self {
            file,
            context,
            buffer,
            scratch,
            clock,
            extras,
            prepared: (0, 0),
            short_transfers: 0,
            fsync_ns: 0,
            writes: 0,
        }
    }

    /// Calls that moved less than asked.
    pub fn short_transfers(&self) -> u64 {
        self.short_transfers
    }

    /// Time in syncs after every so many writes.
    pub fn fsync_ns(&self) -> u64 {
        self.fsync_ns
    }

    #[inline(always)]
    fn call(&mut self, lane: usize, from: usize, offset: u64) -> io::Result<usize> {
        if lane == WRITE {
            self.file.write_at(&self.buffer[from..], offset)
        } else {
            self.file.read_at(&mut self.buffer[from..], offset)
        }
    }

    #[inline(always)]
    fn transfer(&mut self, lane: usize, offset: u64) -> Result<(), Box<Failure>> {
        let position = self.context.base_bytes + offset;
        let first = self.call(lane, 0, position);
        if matches!(first, Ok(count) if count == self.buffer.len()) {
            return Ok(());
        }
        self.repeat_the_rest(first, lane, position).map_err(|error| self.context.failed(name(lane), &error))
    }

    /// Goes on after a call that moved less than asked, or was interrupted. Counts short calls.
    #[cold]
    fn repeat_the_rest(&mut self, first: io::Result<usize>, lane: usize, offset: u64) -> io::Result<()> {
        let mut moved = 0;
        let mut answer = first;
        loop {
            match answer {
                Ok(0) => return Err(nothing_moved(lane == WRITE, offset, moved as u64)),
                Ok(count) => {
                    moved += count;
                    if moved == self.buffer.len() {
                        return Ok(());
                    }
                    self.short_transfers += 1;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            answer = self.call(lane, moved, offset + moved as u64);
        }
    }

    /// A transfer with all that some jobs ask for besides.
    #[inline(never)]
    fn transfer_with_extras(&mut self, lane: usize, offset: u64) -> Result<(), Box<Failure>> {
        let lock = self.context.locked(self.context.base_bytes + offset, self.buffer.len(), lane == WRITE);
        if let Some(range) = lock {
            self.file.lock(range).map_err(|error| self.context.failed("lock", &error))?;
        }
        self.transfer(lane, offset)?;
        if let Some(range) = lock {
            self.file.unlock(range).map_err(|error| self.context.failed("unlock", &error))?;
        }
        if lane == WRITE {
            self.writes += 1;
            if self.context.sync_every.is_some_and(|every| self.writes.is_multiple_of(every)) {
                let before_ns = self.clock.now_ns();
                self.file.sync().map_err(|error| self.context.failed("fsync", &error))?;
                self.fsync_ns += self.clock.now_ns() - before_ns;
            }
        }
        match self.context.verify {
            Some(Verify::Writes) if lane == WRITE => {
                payload::poison(self.buffer);
                self.transfer(READ, offset)?;
                self.context.compare(self.buffer, self.scratch, offset)
            }
            Some(Verify::Reads) if lane == READ => self.context.compare(self.buffer, self.scratch, offset),
            _ => Ok(()),
        }
    }
}

/// A call that returned 0 when `moved` bytes of the transfer at `offset` had been moved: for a read the end of the file.
#[cold]
pub(super) fn nothing_moved(write: bool, offset: u64, moved: u64) -> io::Error {
    if write {
        return failure::nothing_written(offset + moved);
    }
    let message = match moved {
        0 => format!("the file ends at or before byte {offset}, where the transfer starts"),
        _ => format!("the file ends at byte {}, within the transfer", offset + moved),
    };
    let remedy = "read no more than was written: use the same block, segments, transfer and ranks. If all of it was written, \
                  the file was cut off since, or its end was lost";
    Explained { what: message, remedy: remedy.to_owned() }.into_io()
}

impl Operate for OneByOne<'_> {
    fn prepares(&self) -> bool {
        self.extras
    }

    #[inline(never)]
    fn prepare(&mut self, index: u64) {
        let (offset, lane) = (self.context.offset(index), self.context.lane());
        self.context.prepare(self.buffer, lane, offset);
        self.prepared = (lane, offset);
    }

    #[inline(always)]
    fn operate(&mut self, index: u64) -> Result<Moved, Box<Failure>> {
        if self.extras {
            let (lane, offset) = self.prepared;
            self.transfer_with_extras(lane, offset)?;
            return Ok(Moved { bytes: self.buffer.len() as u64, lane });
        }
        let offset = self.context.offset(index);
        let lane = self.context.lane();
        self.transfer(lane, offset)?;
        Ok(Moved { bytes: self.buffer.len() as u64, lane })
    }

    fn once_per_sample(&mut self) -> Result<(), Box<Failure>> {
        self.file.check_linked().map_err(|error| self.context.failed(self.context.main_name(), &error))
    }
}
