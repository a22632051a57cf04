//! The bare loop: pread at offsets computed beforehand, and nothing else.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use ioassay_contract::plan::{Phase, Plan};
use ioassay_engine::case::Case;
use ioassay_engine::ranks::local::LocalRank;
use ioassay_engine::ranks::{Ranks, Stopped};
use ioassay_engine::workload::data::Sequence;
use ioassay_engine::workload::layout::file_name;
use ioassay_engine::workload::payload::Buffer;
use ioassay_engine::workload::random::SplitMix64;

/// The offsets that the engine reads in this phase, and the file.
pub struct Loop {
    file: File,
    offsets: Vec<u64>,
}

impl Loop {
    /// The loop of `rank` for step 0 of `plan`.
    ///
    /// # Panics
    /// If the file that the engine wrote cannot be opened.
    pub fn new(plan: &Plan, phase: &Phase, case: &Case<'_>, rank: u32) -> Self {
        let mut sequence = Sequence::new(plan, phase, 0, rank);
        let offsets = (0..sequence.transfers()).map(|index| sequence.offset(index)).collect();
        let path = case.workspace.file(&file_name(plan, rank));
        Self { file: File::open(path).expect("the engine wrote it"), offsets }
    }

    /// Runs once on all ranks together; rank 0 appends operations per second to `results`.
    pub fn run(&self, case: &Case<'_>, rank: &LocalRank<'_>, results: &Path) -> Result<(), Stopped> {
        let mut buffer = Buffer::random(case.plan.data.transfer_bytes as usize, SplitMix64::keyed(&[0]));
        let descriptor = self.file.as_raw_fd();
        rank.begin_step(0)?;
        let start = rank.start_together()?;
        for &offset in &self.offsets {
            // SAFETY: the buffer is valid for writing its whole length.
            let read = unsafe { libc::pread(descriptor, buffer.as_mut_ptr().cast(), buffer.len(), offset as i64) };
            assert_eq!(read, buffer.len() as isize);
        }
        let took_ns = case.clock.now_ns() - start.opened_ns;
        if let Some(all) = rank.gather(&took_ns.to_le_bytes())? {
            let slowest = all.iter().map(|ns| u64::from_le_bytes(ns[..].try_into().expect("8 bytes"))).max();
            let operations = self.offsets.len() as f64 * f64::from(rank.size());
            let rate = operations / slowest.expect("there are ranks") as f64 * 1e9;
            let mut file = OpenOptions::new().append(true).create(true).open(results).expect("results");
            writeln!(file, "{rate}").expect("results");
        }
        Ok(())
    }
}

/// The rates that were appended to `results`.
pub fn results(results: &Path) -> io::Result<Vec<f64>> {
    let text = std::fs::read_to_string(results)?;
    text.lines().map(|line| line.parse().map_err(io::Error::other)).collect()
}
