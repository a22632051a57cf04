//! Bytes of any length between ranks: an unnamed file in memory that all of them have open.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use nix::sys::memfd::{MFdFlags, memfd_create};

/// Every rank has a region of 4 GiB; what is not written costs no memory.
const REGION_SHIFT: u32 = 32;

/// A region begins with the length of what lies in it.
const LENGTH_BYTES: u64 = 8;

/// The file. Regions do not overlap, so positional reads and writes need no lock.
#[derive(Debug)]
pub struct Exchange(File);

impl Exchange {
    /// An empty exchange.
    pub fn new() -> io::Result<Self> {
        let file = memfd_create(c"ioassay-exchange", MFdFlags::MFD_CLOEXEC)?;
        Ok(Self(file.into()))
    }

    /// How long the file becomes for `ranks`: a limit of the size of files (`ulimit -f`) holds for it too. A single rank
    /// exchanges nothing.
    pub fn largest_bytes(ranks: u32) -> u64 {
        if ranks < 2 { 0 } else { u64::from(ranks) << REGION_SHIFT }
    }

    /// Leaves `bytes` in the region of `rank`.
    ///
    /// # Panics
    /// If memory is exhausted: no result could be reported then either.
    pub fn put(&self, rank: u32, bytes: &[u8]) {
        let region = u64::from(rank) << REGION_SHIFT;
        let length = (bytes.len() as u64).to_le_bytes();
        self.0.write_all_at(&length, region).expect("memory for gathering results");
        self.0.write_all_at(bytes, region + LENGTH_BYTES).expect("memory for gathering results");
    }

    /// What lies in the region of `rank`.
    ///
    /// # Panics
    /// If nothing was put there.
    pub fn get(&self, rank: u32) -> Vec<u8> {
        let region = u64::from(rank) << REGION_SHIFT;
        let mut length = [0; LENGTH_BYTES as usize];
        self.0.read_exact_at(&mut length, region).expect("every rank puts before anyone gets");
        let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
        self.0.read_exact_at(&mut bytes, region + LENGTH_BYTES).expect("every rank puts before anyone gets");
        bytes
    }

    /// Empties all regions and gives the memory back.
    pub fn clear(&self) {
        // A failure would only keep the memory until the end of the run.
        let _ = self.0.set_len(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_got_per_rank_and_a_shorter_letter_replaces_a_longer_one() {
        let exchange = Exchange::new().unwrap();
        exchange.put(0, b"a long letter");
        exchange.put(511, b"");
        exchange.put(0, b"short");
        assert_eq!((exchange.get(0), exchange.get(511)), (b"short".to_vec(), vec![]));
        exchange.clear();
        exchange.put(511, b"again");
        assert_eq!(exchange.get(511), b"again");
    }
}
