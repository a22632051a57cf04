//! Bytes of any length between processes: numbered boxes in an unnamed file in memory that all of them have open.
//!
//! Not here: what the numbers mean, and how one learns that something was put.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Every box has a region of 4 GiB; what is not written costs no memory.
const REGION_SHIFT: u32 = 32;

/// A region begins with the length of what lies in it.
const LENGTH_BYTES: u64 = 8;

/// The file. Regions do not overlap, so positional reads and writes need no lock.
#[derive(Debug)]
pub struct Mailboxes(File);

impl Mailboxes {
    /// Boxes in `file`, which is empty.
    pub fn new(file: File) -> Self {
        Self(file)
    }

    /// How long the file becomes at most while boxes below `number` are used: a limit of the size of files (`ulimit -f`)
    /// holds for it too.
    pub fn bytes_below(number: impl Into<u64>) -> u64 {
        number.into() << REGION_SHIFT
    }

    /// Leaves `bytes` in box `number`.
    ///
    /// # Panics
    /// If memory is exhausted: no result could be reported then either.
    pub fn put(&self, number: impl Into<u64>, bytes: &[u8]) {
        let region = Self::bytes_below(number);
        let length = (bytes.len() as u64).to_le_bytes();
        self.0.write_all_at(&length, region).expect("memory for gathering results");
        self.0.write_all_at(bytes, region + LENGTH_BYTES).expect("memory for gathering results");
    }

    /// What lies in box `number`.
    ///
    /// # Panics
    /// If nothing was put there.
    pub fn get(&self, number: impl Into<u64>) -> Vec<u8> {
        let region = Self::bytes_below(number);
        let mut length = [0; LENGTH_BYTES as usize];
        self.0.read_exact_at(&mut length, region).expect("one puts before another gets");
        let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
        self.0.read_exact_at(&mut bytes, region + LENGTH_BYTES).expect("one puts before another gets");
        bytes
    }

    /// Empties the boxes from `number` on and gives their memory back.
    pub fn clear_from(&self, number: impl Into<u64>) {
        // A failure would only keep the memory until the end of the run.
        let _ = self.0.set_len(Self::bytes_below(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory;

    const INBOX: u64 = 2;
    const FIRST: u64 = 3;
    const LAST: u64 = FIRST + 511;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no memfd_create")]
    fn what_is_put_is_got_per_box_and_a_shorter_text_replaces_a_longer_one() {
        let boxes = Mailboxes::new(memory::file(c"test", 0).unwrap());
        boxes.put(INBOX, b"from afar");
        boxes.put(FIRST, b"a long letter");
        boxes.put(LAST, b"");
        boxes.put(FIRST, b"short");
        assert_eq!((boxes.get(FIRST), boxes.get(LAST)), (b"short".to_vec(), vec![]));
        boxes.clear_from(FIRST);
        boxes.put(LAST, b"again");
        assert_eq!((boxes.get(LAST), boxes.get(INBOX)), (b"again".to_vec(), b"from afar".to_vec()));
    }
}
