//! What a rank knows of the part that it is to read: how much of it is in memory, and how much was never written.
//!
//! A limit decides only in the end how much of the part is read. Then the profile has slices, and what counts are those that
//! were read. Positions count the bytes of a part through its files, in the order of its blocks.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::measure::doubts::Unwritten;

/// Slices of a part of which only some may be read.
const SLICES: u64 = 256;

/// Slices begin with a page, also where pages are large.
const ALIGNMENT_BYTES: u64 = 64 << 10;

/// What was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Amounts {
    /// Bytes that were inspected.
    pub bytes: u64,
    /// Bytes of them in the node's memory.
    pub resident_bytes: u64,
    /// Bytes of them that hold no data.
    pub unwritten_bytes: u64,
}

/// A range of a part, of which a share was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReadShare {
    /// Which positions.
    pub range: Range<u64>,
    /// How much of it, from 0 to 1.
    pub share: f64,
}

/// A part, slice by slice.
#[derive(Debug)]
pub(crate) struct Profile {
    part_bytes: u64,
    slices: Vec<Amounts>,
    slicing: Slicing,
}

/// Where one slice ends and the next begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slicing {
    slice_bytes: u64,
}

impl Slicing {
    /// `range` in pieces that each lie in one slice.
    pub fn cut(self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let mut begin = range.start;
        std::iter::from_fn(move || {
            let piece = begin..range.end.min((begin / self.slice_bytes + 1) * self.slice_bytes);
            begin = piece.end;
            (!piece.is_empty()).then_some(piece)
        })
    }

    fn number(self, position: u64) -> u64 {
        position / self.slice_bytes
    }
}

impl Profile {
    /// Of a part of so many bytes, all of which are read.
    pub fn of_whole(part_bytes: u64) -> Self {
        Self { part_bytes, slices: vec![Amounts::default()], slicing: Slicing { slice_bytes: part_bytes.max(1) } }
    }

    /// Of a part of so many bytes, not all of which may be read.
    pub fn in_slices(part_bytes: u64) -> Self {
        let slice_bytes = part_bytes.div_ceil(SLICES).max(1).next_multiple_of(ALIGNMENT_BYTES);
        let slices = vec![Amounts::default(); part_bytes.div_ceil(slice_bytes) as usize];
        Self { part_bytes, slices, slicing: Slicing { slice_bytes } }
    }

    /// How it is sliced.
    pub fn slicing(&self) -> Slicing {
        self.slicing
    }

    /// So many bytes are resident of a piece that begins at `position` and lies in one slice.
    pub fn add_resident(&mut self, position: u64, bytes: u64) {
        self.slices[self.slicing.number(position) as usize].resident_bytes += bytes;
    }

    /// Nothing was ever written to `range`.
    pub fn add_unwritten(&mut self, range: Range<u64>) {
        for piece in self.slicing.cut(range) {
            self.slices[self.slicing.number(piece.start) as usize].unwritten_bytes += piece.end - piece.start;
        }
    }

    /// What was found in all of the part.
    pub fn whole(&self) -> Amounts {
        let sum = |of: fn(&Amounts) -> u64| self.slices.iter().map(of).sum();
        Amounts {
            bytes: self.part_bytes,
            resident_bytes: sum(|slice| slice.resident_bytes),
            unwritten_bytes: sum(|slice| slice.unwritten_bytes),
        }
    }

    /// What was found of what was `read`. Of a slice that was read in part, its share.
    pub fn read(&self, read: &[ReadShare]) -> Amounts {
        let (mut bytes, mut resident, mut unwritten) = (0.0, 0.0, 0.0);
        for ReadShare { range, share } in read {
            for piece in self.slicing.cut(range.clone()) {
                let number = self.slicing.number(piece.start);
                let slice_bytes = self.slicing.slice_bytes.min(self.part_bytes - number * self.slicing.slice_bytes);
                let piece_bytes = share * (piece.end - piece.start) as f64;
                let Amounts { resident_bytes, unwritten_bytes, .. } = self.slices[number as usize];
                bytes += piece_bytes;
                resident += resident_bytes as f64 * piece_bytes / slice_bytes as f64;
                unwritten += unwritten_bytes as f64 * piece_bytes / slice_bytes as f64;
            }
        }
        let [bytes, resident_bytes, unwritten_bytes] =
            [bytes, resident, unwritten].map(|bytes: f64| bytes.round() as u64);
        Amounts { bytes, resident_bytes, unwritten_bytes }
    }
}

/// What a rank found, before it read, of that which it then read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BeforeRead {
    measured: bool,
    amounts: Amounts,
}

impl BeforeRead {
    /// Bytes that were in the node's memory; `None` where nothing could measure it.
    pub fn resident_bytes(&self) -> Option<u64> {
        self.measured.then_some(self.amounts.resident_bytes)
    }

    /// What of it held no data.
    pub fn unwritten(&self) -> Unwritten {
        let Amounts { bytes, unwritten_bytes, .. } = self.amounts;
        Unwritten { unwritten_bytes, bytes }
    }
}

/// The part that a rank is to read.
pub(crate) struct Inspected {
    /// How much of it is in memory could be measured.
    pub measured: bool,
    /// `None` where another rank of the node looks.
    pub profile: Option<Profile>,
}

impl Inspected {
    /// What counts of it where only these shares of it were `read`; without them all of it was to be.
    pub fn of(&self, read: Option<&[ReadShare]>) -> BeforeRead {
        let amounts = self.profile.as_ref().map_or_else(Amounts::default, |profile| {
            read.map_or_else(|| profile.whole(), |shares| profile.read(shares))
        });
        BeforeRead { measured: self.measured, amounts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: u64 = 1 << 20;

    fn read(profile: &Profile, range: Range<u64>, share: f64) -> (u64, u64, u64) {
        let Amounts { bytes, resident_bytes, unwritten_bytes } = profile.read(&[ReadShare { range, share }]);
        (bytes, resident_bytes, unwritten_bytes)
    }

    #[test]
    fn what_is_resident_or_unwritten_counts_as_far_as_it_was_read() {
        // The first quarter is in memory, the last half was never written.
        let mut profile = Profile::in_slices(256 * M);
        let pieces: Vec<_> = profile.slicing().cut(0..64 * M).collect();
        assert_eq!((pieces.len(), &pieces[1]), (64, &(M..2 * M)));
        pieces.into_iter().for_each(|piece| profile.add_resident(piece.start, piece.end - piece.start));
        profile.add_unwritten(128 * M..256 * M);
        assert_eq!(read(&profile, 0..32 * M, 1.0), (32 * M, 32 * M, 0));
        assert_eq!(read(&profile, 128 * M..256 * M, 1.0), (128 * M, 0, 128 * M));
        assert_eq!(read(&profile, 0..256 * M, 0.5), (128 * M, 32 * M, 64 * M));
        // A slice that was read in part.
        assert_eq!(read(&profile, 63 * M + M / 2..65 * M, 1.0), (3 * M / 2, M / 2, 0));
        assert_eq!(profile.whole(), Amounts { bytes: 256 * M, resident_bytes: 64 * M, unwritten_bytes: 128 * M });
    }

    #[test]
    fn a_part_that_is_read_in_full_is_one_piece_and_a_small_one_has_few_slices() {
        assert_eq!(Profile::of_whole(1 << 50).slicing().cut(0..1 << 50).count(), 1);
        let mut small = Profile::in_slices(100_001);
        assert_eq!(small.slices.len(), 2);
        small.add_resident(65_536, 34_465);
        assert_eq!(read(&small, 0..65_536, 1.0), (65_536, 0, 0));
        assert_eq!(read(&small, 65_536..100_001, 1.0), (34_465, 34_465, 0));
    }
}
