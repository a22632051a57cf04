//! Transfers in flight: several are under way at any time, up to the plan's depth.
//!
//! What is handed over together and ends together shares one reading of the clock at each end: that is when the
//! engine, as any application, learns of it.

use ioassay_host::clock::Clock;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::data::Verify;
use ioassay_protocol::plan::storage::Storage;

use super::one_by_one::nothing_moved;
use super::transfer::{TransferContext, name};
use crate::ranks::Ranks;
use crate::storage::{FinishedTransfer, InFlight, OpenFile};
use crate::work::data::{READ, WRITE};
use crate::work::run::operations::{Begin, Flow, Moved, Operations};
use crate::workload::buffer::Buffer;
use crate::workload::payload;

/// The transfers of one rank in one open file.
pub(super) struct InFlightTransfers<'a> {
    file: &'a mut dyn OpenFile,
    context: TransferContext<'a>,
    buffers: &'a mut [Buffer],
    scratch: &'a mut [u8],
    extras: bool,
    /// What each buffer is used for.
    slots: Vec<Slot>,
    /// Buffers that no transfer uses.
    free: Vec<u32>,
    /// Transfers that are awaited together at least.
    batch: u32,
    ended: Vec<FinishedTransfer>,
    short_transfers: u64,
}

/// A transfer in flight.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    begin_ns: u64,
    offset: u64,
    lane: usize,
    /// Bytes moved by calls that were short.
    moved: u32,
    /// It is the read that looks at what was written.
    verifies: bool,
}

impl<'a> InFlightTransfers<'a> {
    /// Transfers of `context` between `file` and `buffers`, one in flight for each of these.
    pub fn new(
        file: &'a mut dyn OpenFile,
        context: TransferContext<'a>,
        buffers: &'a mut [Buffer],
        scratch: &'a mut [u8],
        storage: &Storage,
    ) -> Self {
        let depth = buffers.len();
        let extras = context.has_extras();
        let batch = storage.uring.map_or(1, |uring| uring.batch.max(1));
        Self {
            file,
            context,
            buffers,
            scratch,
            extras,
            slots: vec![Slot::default(); depth],
            free: (0..depth as u32).rev().collect(),
            batch,
            ended: Vec::with_capacity(depth),
            short_transfers: 0,
        }
    }

    /// Calls that moved less than asked.
    pub fn short_transfers(&self) -> u64 {
        self.short_transfers
    }

    /// Does the first `transfers`, as far as the limits allow. Nothing is in flight when it returns, unless it fails.
    pub fn run<R: Ranks>(
        &mut self,
        transfers: u64,
        operations: &mut Operations<'_, R>,
        clock: &Clock,
    ) -> Result<Flow, Box<Failure>> {
        let mut index = 0;
        let mut flow = Flow::On;
        loop {
            let mut stopped = Begin::Later;
            if flow == Flow::On {
                (index, stopped) = self.begin_some(index, transfers, operations, clock.now_ns())?;
            }
            let in_flight = (self.slots.len() - self.free.len()) as u32;
            if in_flight > 0 {
                self.finish_some(in_flight, operations, clock)?;
                continue;
            }
            match stopped {
                Begin::Stonewall => flow = operations.meet_stonewall(),
                Begin::Stopped => flow = Flow::Enough,
                Begin::At(_) | Begin::Later if flow == Flow::On && index < transfers && operations.left() == 0 => {
                    flow = Flow::Enough;
                }
                Begin::At(_) | Begin::Later => {}
            }
            if flow == Flow::Enough || index == transfers {
                return Ok(flow);
            }
        }
    }

    /// Begins as many transfers as there are free buffers and the limits allow.
    fn begin_some<R: Ranks>(
        &mut self,
        mut index: u64,
        transfers: u64,
        operations: &mut Operations<'_, R>,
        mut now_ns: u64,
    ) -> Result<(u64, Begin), Box<Failure>> {
        let depth = self.slots.len();
        let mut begin = Begin::Later;
        while let Some(&buffer) = self.free.last() {
            let in_flight = (depth - self.free.len()) as u64;
            if index == transfers || operations.left() <= in_flight {
                break;
            }
            // Only with nothing in flight there is time to wait for the next intended start.
            begin = operations.next_begin(now_ns, in_flight == 0);
            let Begin::At(mut begin_ns) = begin else { break };
            self.free.pop();
            let offset = self.context.offset(index);
            let lane = self.context.lane();
            if self.extras {
                let (unpaced, before_ns) = (begin_ns == now_ns, operations.now_ns());
                self.context.prepare(&mut self.buffers[buffer as usize], lane, offset);
                now_ns = operations.prepared(before_ns);
                begin_ns = if unpaced { now_ns } else { begin_ns };
            }
            self.slots[buffer as usize] = Slot { begin_ns, offset, lane, moved: 0, verifies: false };
            self.begin(buffer)?;
            index += 1;
        }
        Ok((index, begin))
    }

    #[inline]
    fn begin(&mut self, buffer: u32) -> Result<(), Box<Failure>> {
        let Slot { offset, lane, moved, verifies, .. } = self.slots[buffer as usize];
        let offset = self.context.base_bytes + offset + u64::from(moved);
        let write = lane == WRITE && !verifies;
        let transfer = InFlight { buffer, from: moved, offset, write };
        self.file.begin(transfer).map_err(|error| self.context.failed(name(lane), &error))
    }

    /// Waits for some transfers, records them and makes their buffers free.
    fn finish_some<R: Ranks>(
        &mut self,
        in_flight: u32,
        operations: &mut Operations<'_, R>,
        clock: &Clock,
    ) -> Result<(), Box<Failure>> {
        let mut ended = std::mem::take(&mut self.ended);
        let at_least = self.batch.min(in_flight);
        self.file.finish(at_least, &mut ended).map_err(|error| self.context.failed("wait", &error))?;
        let end_ns = clock.now_ns();
        for FinishedTransfer { buffer, moved } in ended.drain(..) {
            let bytes = self.buffers[buffer as usize].len();
            let slot = &mut self.slots[buffer as usize];
            let whole = matches!(moved, Ok(count) if slot.moved as usize + count == bytes);
            if !whole {
                self.continue_transfer(buffer, moved)?;
                continue;
            }
            if self.extras && !self.check(buffer)? {
                continue;
            }
            let Slot { begin_ns, lane, .. } = self.slots[buffer as usize];
            self.free.push(buffer);
            if operations.record(begin_ns, end_ns, Moved { bytes: bytes as u64, lane }) {
                self.file.check_linked().map_err(|error| self.context.failed(self.context.main_name(), &error))?;
            }
        }
        self.ended = ended;
        Ok(())
    }

    /// A transfer that moved less than asked, or was interrupted, goes on.
    #[cold]
    fn continue_transfer(&mut self, buffer: u32, moved: std::io::Result<usize>) -> Result<(), Box<Failure>> {
        let slot = &mut self.slots[buffer as usize];
        let lane = slot.lane;
        match moved {
            Ok(0) => {
                let offset = self.context.base_bytes + slot.offset;
                let error = nothing_moved(lane == WRITE && !slot.verifies, offset, slot.moved.into());
                return Err(self.context.failed(name(lane), &error));
            }
            Ok(count) => {
                slot.moved += count as u32;
                self.short_transfers += 1;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(self.context.failed(name(lane), &error)),
        }
        self.begin(buffer)
    }

    /// Compares what is to be compared. False if the transfer is not over, because what it wrote is being read back.
    fn check(&mut self, buffer: u32) -> Result<bool, Box<Failure>> {
        let slot = &mut self.slots[buffer as usize];
        let compare = match self.context.verify {
            Some(Verify::Reads) => slot.lane == READ,
            Some(Verify::Writes) if slot.lane == WRITE && !slot.verifies => {
                (slot.verifies, slot.moved) = (true, 0);
                payload::poison(&mut self.buffers[buffer as usize]);
                self.begin(buffer)?;
                return Ok(false);
            }
            Some(Verify::Writes) => slot.verifies,
            None => false,
        };
        if compare {
            self.context.compare(&self.buffers[buffer as usize], self.scratch, slot.offset)?;
        }
        Ok(true)
    }
}
