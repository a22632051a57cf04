//! IOR's `-z`: which transfers of a segment a rank does, and in which order (hpc/ior, `GetOffsetArrayRandom` in src/ior.c).
//!
//! Drawn with the C library's `rand`, as IOR does on this system, so that with the same seed each reads what the other
//! wrote. IOR deals out the transfers of a shared file by drawing a rank for each of them, so a list is needed: there is
//! no way to tell the n-th transfer of a rank without going through all before it.

use std::rc::Rc;

use super::c_library::CLibrary;
use super::layout::Geometry;

/// The transfers of one rank in every segment of a file.
#[derive(Debug, Clone)]
pub struct IorShuffle {
    /// Their numbers in the segment.
    list: Rc<[u32]>,
    /// Transfers of all ranks in a segment.
    per_segment: u64,
    segments: u64,
}

impl IorShuffle {
    /// The transfers of `part`, distributed with `seed`.
    pub fn new(seed: i32, geometry: &Geometry, part: u32) -> Self {
        let (sharers, per_segment) = (geometry.sharers, geometry.transfers_per_segment());
        let mut list: Vec<u32> = if geometry.shared() {
            let mut random = CLibrary::seeded(seed as u32);
            (0..per_segment as u32).filter(|_| random.draw() % sharers == part % sharers).collect()
        } else {
            (0..per_segment as u32).collect()
        };
        // A file of the rank's own: only the order is drawn.
        let mut random =
            CLibrary::seeded(if geometry.shared() { seed as u32 } else { (seed as u32).wrapping_add(part) });
        if geometry.shared() {
            for _ in 0..per_segment {
                random.draw();
            }
        }
        for index in 0..list.len() {
            let other = random.draw() as usize % list.len();
            list.swap(index, other);
        }
        Self { list: list.into(), per_segment, segments: geometry.segments() }
    }

    /// Transfers in all segments.
    pub fn count(&self) -> u64 {
        self.list.len() as u64 * self.segments
    }

    /// The transfer that comes at place `index`, counted through the segments.
    #[inline(always)]
    pub fn transfer(&self, index: u64) -> u64 {
        let each = self.list.len() as u64;
        index / each * self.per_segment + u64::from(self.list[(index % each) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::given::file_set;
    use ioassay_protocol::plan::data::{FileSet, Layout};
    use proptest::prelude::*;

    fn geometry(layout: Layout, per_block: u64, segments: u64, ranks: u32) -> Geometry {
        let set = FileSet { layout, transfer_bytes: 8, block_bytes: 8 * per_block, segments, ..file_set() };
        Geometry::of(&set, ranks)
    }

    #[test]
    fn transfers_go_to_the_ranks_to_which_ior_deals_them() {
        // Read from a file that IOR 4.1 wrote with 3 ranks, `-l o -b 32 -t 8 -z --random-offset-seed 7`, on glibc 2.36.
        const RANKS: [usize; 12] = [0, 0, 2, 1, 2, 0, 2, 1, 0, 1, 2, 1];
        let geometry = geometry(Layout::SharedFile, 4, 1, 3);
        let mut dealt = [usize::MAX; 12];
        for part in 0..3 {
            let shuffle = IorShuffle::new(7, &geometry, part);
            (0..shuffle.count()).for_each(|index| dealt[shuffle.transfer(index) as usize] = part as usize);
        }
        assert_eq!(dealt, RANKS);
    }

    proptest! {
        #[test]
        fn the_ranks_together_have_each_transfer_of_a_file_once(
            shared: bool, per_block in 1..50_u64, segments in 1..4_u64, ranks in 1..6_u32, seed: i32,
        ) {
            let layout = if shared { Layout::SharedFile } else { Layout::FilePerRank };
            let geometry = geometry(layout, per_block, segments, ranks);
            let mut covered = vec![vec![0; (geometry.file_bytes / 8) as usize]; geometry.files() as usize];
            for part in 0..ranks {
                let (dealt, place) = (IorShuffle::new(seed, &geometry, part), geometry.place_of_dealt(part));
                for index in 0..dealt.count() {
                    covered[geometry.file(part, 0) as usize][(place.offset(dealt.transfer(index)) / 8) as usize] += 1;
                }
            }
            prop_assert!(covered.iter().flatten().all(|&times| times == 1));
        }
    }
}
