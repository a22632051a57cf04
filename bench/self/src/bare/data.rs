//! pread and pwrite at offsets computed beforehand.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::Path;

use ioassay_engine::case::Case;
use ioassay_engine::ranks::Stopped;
use ioassay_engine::ranks::local::LocalRank;
use ioassay_engine::workload::buffer::Buffer;
use ioassay_engine::workload::layout::{Geometry, file_name};
use ioassay_engine::workload::random::SplitMix64;
use ioassay_engine::workload::walk::Walk;
use ioassay_protocol::plan::data::{DataWork, Transfer};

use super::timed;

/// The offsets that the engine moves in this phase, and the file.
pub struct Loop {
    file: File,
    offsets: Vec<u64>,
    transfer_bytes: usize,
    write: bool,
}

impl Loop {
    /// The loop of `rank` for `work`, which is step `step` of the plan.
    ///
    /// # Panics
    /// If the file that the engine wrote cannot be opened.
    pub fn new(case: &Case<'_>, work: &DataWork, step: u64, rank: u32) -> Self {
        let plan = case.plan;
        let geometry = Geometry::of(&plan.files[&work.files], plan.ranks.clients);
        let number = geometry.file(rank, 0);
        let random = SplitMix64::keyed(&[plan.seed, step, u64::from(rank), number]);
        let mut walk = Walk::new(work.order, geometry.transfers_per_file, random);
        let place = geometry.place(rank);
        let offsets = (0..geometry.transfers_per_file).map(|index| place.offset(walk.transfer(index))).collect();
        let path = case.workspace.file(&file_name(&plan.case, &work.files, &geometry, number));
        let file = OpenOptions::new().read(true).write(true).open(path).expect("the engine wrote it");
        let write = work.transfer == Transfer::Write;
        Self { file, offsets, transfer_bytes: geometry.transfer_bytes as usize, write }
    }

    /// Runs once on all ranks together; rank 0 appends operations per second to `results`.
    pub fn run(&self, case: &Case<'_>, rank: &LocalRank<'_>, results: &Path) -> Result<(), Stopped> {
        let mut buffer = Buffer::random(self.transfer_bytes, SplitMix64::keyed(&[0]));
        let descriptor = self.file.as_raw_fd();
        timed(case, rank, ("transfer", results), self.offsets.len(), || {
            if self.write {
                for &offset in &self.offsets {
                    // SAFETY: the buffer is valid for reading its whole length.
                    let moved =
                        unsafe { libc::pwrite(descriptor, buffer.as_ptr().cast(), buffer.len(), offset as i64) };
                    assert_eq!(moved, buffer.len() as isize);
                }
            } else {
                for &offset in &self.offsets {
                    // SAFETY: the buffer is valid for writing its whole length.
                    let moved =
                        unsafe { libc::pread(descriptor, buffer.as_mut_ptr().cast(), buffer.len(), offset as i64) };
                    assert_eq!(moved, buffer.len() as isize);
                }
            }
        })
    }
}
