//! What both loops know of their transfers: where each lies, what it holds, and how it is checked.

use std::path::PathBuf;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::data::{Lock, Transfer, Verify};

use crate::failure;
use crate::storage::Range;
use crate::work::data::{READ, WRITE};
use crate::work::run::second_reading::SecondReading;
use crate::workload::layout::{Geometry, Place};
use crate::workload::payload::{self, Content, Spot};
use crate::workload::random::SplitMix64;
use crate::workload::walk::Walk;

/// The transfers of one rank in one file.
pub(super) struct TransferContext<'a> {
    /// Reads, writes, or both.
    pub transfer: Transfer,
    /// In which order.
    pub walk: Walk,
    /// What the walk counts through, where only the beginning of a walk was written.
    pub in_order_of: Option<Walk>,
    /// Where they lie in the file.
    pub place: Place,
    /// Where the file begins on a device.
    pub base_bytes: u64,
    /// What they hold.
    pub content: Content,
    /// Number of the file in its set.
    pub file: u64,
    /// The part that they belong to.
    pub part: u32,
    /// What is compared.
    pub verify: Option<Verify>,
    /// Words the failure where data is not as expected.
    pub second_reading: SecondReading<'a>,
    /// What is locked.
    pub lock: Option<Lock>,
    /// After how many writes the file is synced.
    pub sync_every: Option<u64>,
    /// Decides which transfers of a mix are reads.
    pub mix: SplitMix64,
    /// For what goes wrong.
    pub path: PathBuf,
}

impl TransferContext<'_> {
    /// Offset in the file of the transfer at place `index`.
    #[inline(always)]
    pub fn offset(&mut self, index: u64) -> u64 {
        let mut transfer = self.walk.transfer(index);
        if let Some(written) = &mut self.in_order_of {
            transfer = written.transfer(transfer);
        }
        self.place.offset(transfer)
    }

    /// The lane of the next transfer.
    #[inline(always)]
    pub fn lane(&mut self) -> usize {
        match self.transfer {
            Transfer::Write => WRITE,
            Transfer::Read => READ,
            Transfer::Mixed(percent) if self.mix.below(100) < u64::from(percent) => READ,
            Transfer::Mixed(_) => WRITE,
        }
    }

    /// What the job does in the first place, for failures.
    pub fn main_name(&self) -> &'static str {
        name(if self.transfer.writes() { WRITE } else { READ })
    }

    /// True where more than a call is to be done for a transfer.
    pub fn has_extras(&self) -> bool {
        let fills = self.transfer.writes() && self.content.per_transfer();
        fills || self.verify.is_some() || self.lock.is_some() || self.sync_every.is_some()
    }

    /// Where a transfer at `offset` of the file lies.
    pub fn spot(&self, offset: u64) -> Spot {
        Spot { file: self.file, part: self.part, offset }
    }

    /// Makes `buffer` what a transfer in `lane` at `offset` needs of it: what is to be written, or nothing that a read could
    /// leave there unnoticed.
    pub fn prepare(&self, buffer: &mut [u8], lane: usize, offset: u64) {
        if lane == WRITE {
            self.fill(buffer, offset);
        } else if self.verify == Some(Verify::Reads) {
            payload::poison(buffer);
        }
    }

    /// Makes `buffer` what is to be written at `offset`.
    fn fill(&self, buffer: &mut [u8], offset: u64) {
        if self.transfer == Transfer::Write {
            self.content.refill(buffer, self.spot(offset));
        } else {
            // A buffer of a mix may hold what was read last.
            self.content.fill(buffer, self.spot(offset));
        }
    }

    /// An error if `data` is not what was written at `offset`.
    pub fn compare(&self, data: &[u8], scratch: &mut [u8], offset: u64) -> Result<(), Box<Failure>> {
        let compared = self.content.compare(data, scratch, self.spot(offset));
        compared.map_err(|mismatch| self.second_reading.explain(&self.path, self.base_bytes, &mismatch))
    }

    /// What is to be locked for a transfer.
    pub fn locked(&self, offset: u64, bytes: usize, exclusive: bool) -> Option<Range> {
        Some(match self.lock? {
            Lock::Range => Range { offset, bytes: bytes as u64, exclusive },
            Lock::File => Range { offset: 0, bytes: 0, exclusive },
        })
    }

    /// A failure of `operation` on the file.
    pub fn failed(&self, operation: &str, error: &std::io::Error) -> Box<Failure> {
        failure::boxed_on_path(operation, &self.path, error)
    }
}

/// What the first transfer of a part holds is in its buffer before the clock starts.
pub(super) fn first_spot(geometry: &Geometry, part: u32) -> Spot {
    Spot { file: geometry.file(part, 0), part, offset: geometry.place(part).offset(0) }
}

/// The name of a lane's operation in failures.
pub(super) fn name(lane: usize) -> &'static str {
    if lane == WRITE { "write" } else { "read" }
}
