//! Where a rank's transfers lie: file name and offset, in IOR's sense of transfer, block and segment.

use ioassay_contract::plan::{DataSet, Layout, Plan};

use crate::plan::Sizes;

/// Name of the file that `rank` uses, as IOR would name it: with the rank's eight digits where each has its own.
pub fn file_name(plan: &Plan, rank: u32) -> String {
    match plan.data.layout {
        Layout::FilePerRank => format!("{}.data.{rank:08}", plan.case),
        Layout::SharedFile => format!("{}.data", plan.case),
    }
}

/// Names of all files of the case.
pub fn file_names(plan: &Plan) -> Vec<String> {
    (0..plan.files() as u32).map(|rank| file_name(plan, rank)).collect()
}

/// Size of each file of the case.
pub fn file_bytes(plan: &Plan) -> u64 {
    plan.file_set_bytes() / plan.files()
}

/// The place of one rank's transfers in the file that it uses.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    transfer_bytes: u64,
    /// Transfers in one block.
    per_block: u64,
    /// From one block of this rank to its next one.
    segment_bytes: u64,
    /// Where its first block begins.
    first_bytes: u64,
    /// Transfers in all its blocks.
    transfers: u64,
}

impl Place {
    /// The place of `rank` among `ranks`.
    pub fn of(data: &DataSet, rank: u32, ranks: u32) -> Self {
        let sharers = match data.layout {
            Layout::FilePerRank => 1,
            Layout::SharedFile => u64::from(ranks),
        };
        let first_bytes = match data.layout {
            Layout::FilePerRank => 0,
            Layout::SharedFile => data.block_bytes * u64::from(rank),
        };
        let per_block = data.block_bytes / data.transfer_bytes;
        Self {
            transfer_bytes: data.transfer_bytes,
            per_block,
            segment_bytes: data.block_bytes * sharers,
            first_bytes,
            transfers: per_block * data.segments,
        }
    }

    /// How many transfers there are.
    pub fn transfers(&self) -> u64 {
        self.transfers
    }

    /// Offset in the file of transfer `index`, counted through the blocks in ascending order.
    #[inline(always)]
    pub fn offset(&self, index: u64) -> u64 {
        // One segment is by far the most common case, and a division costs as much as the rest of the loop.
        if self.per_block == self.transfers {
            return self.first_bytes + index * self.transfer_bytes;
        }
        let (segment, within) = (index / self.per_block, index % self.per_block);
        self.first_bytes + segment * self.segment_bytes + within * self.transfer_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_ranks_together_cover_every_file_exactly_once(
            shared: bool, transfer in 1..9_u64, per_block in 1..6_u64, segments in 1..6_u64, ranks in 1..6_u32,
        ) {
            let layout = if shared { Layout::SharedFile } else { Layout::FilePerRank };
            let data = DataSet { layout, transfer_bytes: transfer, block_bytes: transfer * per_block, segments };
            let sharers = if shared { ranks } else { 1 };
            let file_bytes = data.block_bytes * segments * u64::from(sharers);
            let mut covered = vec![0; file_bytes as usize];
            for rank in 0..sharers {
                let place = Place::of(&data, rank, ranks);
                for index in 0..place.transfers() {
                    let offset = place.offset(index) as usize;
                    covered[offset..offset + transfer as usize].iter_mut().for_each(|times| *times += 1);
                }
            }
            prop_assert!(covered.iter().all(|&times| times == 1));
        }
    }

    #[test]
    fn blocks_of_a_shared_file_interleave_per_segment_as_in_ior() {
        let data = DataSet { layout: Layout::SharedFile, transfer_bytes: 1, block_bytes: 2, segments: 2 };
        let place = Place::of(&data, 1, 3);
        let offsets: Vec<u64> = (0..place.transfers()).map(|index| place.offset(index)).collect();
        assert_eq!(offsets, [2, 3, 8, 9]);
    }
}
