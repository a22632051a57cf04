//! Bytes of any length between ranks: an unnamed file in memory that all of them have open.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Every slot has a region of 4 GiB; what is not written costs no memory.
const REGION_SHIFT: u32 = 32;

/// A region begins with the length of what lies in it.
const LENGTH_BYTES: u64 = 8;

/// Regions that belong to no rank.
const COMMON: u64 = 3;

/// Where something lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// What all of the node are to do next.
    Order,
    /// From this node to the others.
    Outbox,
    /// From the others to this node.
    Inbox,
    /// From one rank.
    Rank(u32),
}

impl Slot {
    fn begin_bytes(self) -> u64 {
        let number = match self {
            Self::Order => 0,
            Self::Outbox => 1,
            Self::Inbox => 2,
            Self::Rank(rank) => COMMON + u64::from(rank),
        };
        number << REGION_SHIFT
    }
}

/// The file. Regions do not overlap, so positional reads and writes need no lock.
#[derive(Debug)]
pub struct Exchange(File);

impl Exchange {
    /// An exchange in `file`, which is empty.
    pub fn new(file: File) -> Self {
        Self(file)
    }

    /// How long the file becomes for `ranks`: a limit of the size of files (`ulimit -f`) holds for it too. A single rank
    /// exchanges nothing.
    pub fn largest_bytes(ranks: u32) -> u64 {
        if ranks < 2 { 0 } else { (COMMON + u64::from(ranks)) << REGION_SHIFT }
    }

    /// Leaves `bytes` in `slot`.
    ///
    /// # Panics
    /// If memory is exhausted: no result could be reported then either.
    pub fn put(&self, slot: Slot, bytes: &[u8]) {
        let region = slot.begin_bytes();
        let length = (bytes.len() as u64).to_le_bytes();
        self.0.write_all_at(&length, region).expect("memory for gathering results");
        self.0.write_all_at(bytes, region + LENGTH_BYTES).expect("memory for gathering results");
    }

    /// What lies in `slot`.
    ///
    /// # Panics
    /// If nothing was put there.
    pub fn get(&self, slot: Slot) -> Vec<u8> {
        let region = slot.begin_bytes();
        let mut length = [0; LENGTH_BYTES as usize];
        self.0.read_exact_at(&mut length, region).expect("one puts before another gets");
        let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
        self.0.read_exact_at(&mut bytes, region + LENGTH_BYTES).expect("one puts before another gets");
        bytes
    }

    /// Empties the slots of all ranks and gives their memory back.
    pub fn clear_ranks(&self) {
        // A failure would only keep the memory until the end of the run.
        let _ = self.0.set_len(Slot::Rank(0).begin_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::local::memory;

    #[test]
    fn what_is_put_is_got_per_slot_and_a_shorter_letter_replaces_a_longer_one() {
        let exchange = Exchange::new(memory::file(c"test", 0).unwrap());
        exchange.put(Slot::Inbox, b"from afar");
        exchange.put(Slot::Rank(0), b"a long letter");
        exchange.put(Slot::Rank(511), b"");
        exchange.put(Slot::Rank(0), b"short");
        assert_eq!((exchange.get(Slot::Rank(0)), exchange.get(Slot::Rank(511))), (b"short".to_vec(), vec![]));
        exchange.clear_ranks();
        exchange.put(Slot::Rank(511), b"again");
        assert_eq!(
            (exchange.get(Slot::Rank(511)), exchange.get(Slot::Inbox)),
            (b"again".to_vec(), b"from afar".to_vec())
        );
    }
}
