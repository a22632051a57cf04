//! Whether a file that is there is what IOR or IOzone would have written, of the size and in the transfers of a file set.
//!
//! Deleting a user's data is worse than refusing a command, so nothing less than this counts: exactly the planned size,
//! several transfers spread over the file, each byte for byte what the tool writes at that offset as that rank, and one
//! signature for all of them, which is the command line's own or the time at which IOR began, shortly before the file
//! was last written.
//! Not here: what the bytes are ([`crate::workload::payload`]).

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use ioassay_protocol::plan::data::Payload;

use crate::workload::layout::Geometry;
use crate::workload::payload::{self, Sample, Spot};

/// Transfers that are checked.
const SAMPLES: u64 = 8;

/// Fewer transfers than this show nothing that another file may not show.
const TELLING_TRANSFERS: u64 = 2;

/// As much of a transfer as is checked.
const SAMPLE_BYTES: u64 = 64 << 10;

/// From when IOR began, which is its signature, to the last write; a clock that differs from the server's is allowed for.
const LONGEST_RUN_S: i64 = 7 * 86_400;
const CLOCKS_DIFFER_S: i64 = 86_400;

/// What a file is expected to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub geometry: Geometry,
    /// Its number among the files of its set.
    pub file: u64,
    /// What the plan would write, with the signature of its command line.
    pub payload: Payload,
}

impl Expected {
    /// True if `file`, which is like `about`, is what IOR or IOzone would have written.
    pub fn wrote(&self, file: &File, about: &Metadata) -> io::Result<bool> {
        let transfers = self.geometry.transfers_per_file.saturating_mul(self.geometry.sharers.into());
        if about.len() != self.geometry.file_bytes || transfers < TELLING_TRANSFERS {
            return Ok(false);
        }
        let samples: Vec<Sample> =
            (0..SAMPLES.min(transfers)).map(|nth| self.sample(file, transfers, nth)).collect::<io::Result<_>>()?;
        let began_s = about.mtime() - LONGEST_RUN_S..=about.mtime() + CLOCKS_DIFFER_S;
        Ok(payload::is_ior(&samples, self.payload, began_s) || payload::is_iozone(&samples))
    }

    /// The `nth` of the samples that are spread over all `transfers`.
    fn sample(&self, file: &File, transfers: u64, nth: u64) -> io::Result<Sample> {
        let last = u128::from(SAMPLES.min(transfers) - 1);
        let index = (u128::from(transfers - 1) * u128::from(nth) / last) as u64;
        let per_part = self.geometry.transfers_per_file;
        let first_part = (self.file / self.geometry.files_per_rank) as u32 * self.geometry.sharers;
        let part = first_part + (index / per_part) as u32;
        let offset = self.geometry.place(part).offset(index % per_part);
        let mut bytes = vec![0; self.geometry.transfer_bytes.min(SAMPLE_BYTES) as usize];
        file.read_exact_at(&mut bytes, offset)?;
        Ok(Sample { spot: Spot { file: self.file, part, offset }, bytes })
    }
}
