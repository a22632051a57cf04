//! Where a rank's transfers lie: file and offset, in IOR's sense of transfer, block and segment.

use std::collections::BTreeMap;

use ioassay_protocol::plan::data::{DataWork, FileSet, Layout, Source, Transfer};

use super::permutation::Permutation;
use super::random::SplitMix64;

/// The geometry of a file set: what follows from its sizes and from how many ranks it is made for. None of it
/// overflows for a validated plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Parts, one for each rank that the file set is made for.
    pub parts: u32,
    /// Ranks that share files; 1 where each has its own.
    pub sharers: u32,
    /// Files in which each rank has blocks.
    pub files_per_rank: u64,
    /// Bytes of one transfer.
    pub transfer_bytes: u64,
    /// Transfers of one rank in one file.
    pub transfers_per_file: u64,
    /// Bytes of each file, from its beginning to the end of its last block.
    pub file_bytes: u64,
    block_bytes: u64,
    segments: u64,
    offset_bytes: u64,
    shared: bool,
}

impl Geometry {
    /// The geometry of `set` in a case of `ranks` ranks.
    pub fn of(set: &FileSet, ranks: u32) -> Self {
        let parts = set.ranks.map_or(ranks, |range| range.count);
        let groups = match set.layout {
            Layout::FilePerRank => parts,
            Layout::SharedFile => 1,
            Layout::Groups(groups) => groups,
        };
        let sharers = parts / groups;
        Self {
            parts,
            sharers,
            files_per_rank: set.files_per_rank,
            transfer_bytes: set.transfer_bytes,
            transfers_per_file: set.block_bytes / set.transfer_bytes * set.segments,
            file_bytes: set.offset_bytes + set.block_bytes * set.segments * u64::from(sharers),
            block_bytes: set.block_bytes,
            segments: set.segments,
            offset_bytes: set.offset_bytes,
            shared: set.layout != Layout::FilePerRank,
        }
    }

    /// The same places in transfers of `bytes`, a divisor of these.
    pub fn in_pieces_of(self, bytes: u64) -> Self {
        let transfers_per_file = self.transfers_per_file * (self.transfer_bytes / bytes);
        Self { transfer_bytes: bytes, transfers_per_file, ..self }
    }

    /// Groups of ranks that share files.
    pub fn groups(&self) -> u32 {
        self.parts / self.sharers
    }

    /// Files in all.
    pub fn files(&self) -> u64 {
        u64::from(self.groups()) * self.files_per_rank
    }

    /// Transfers of one part.
    pub fn transfers_per_part(&self) -> u64 {
        self.transfers_per_file * self.files_per_rank
    }

    /// Bytes of one part.
    pub fn part_bytes(&self) -> u64 {
        self.transfers_per_part() * self.transfer_bytes
    }

    /// Bytes that all parts have together.
    pub fn bytes(&self) -> u64 {
        self.part_bytes() * u64::from(self.parts)
    }

    /// The number, among all files, of the `nth` file of `part`.
    pub fn file(&self, part: u32, nth: u64) -> u64 {
        u64::from(part / self.sharers) * self.files_per_rank + nth
    }

    /// The part that looks after `part`'s files where one must: the first one of its group.
    pub fn looks_after(&self, part: u32) -> bool {
        part.is_multiple_of(self.sharers)
    }

    /// True where ranks may share files.
    pub fn shared(&self) -> bool {
        self.shared
    }

    /// Contiguous bytes of one rank within a segment.
    pub fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// Where the first block begins in each file.
    pub fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// Repetitions of the block.
    pub fn segments(&self) -> u64 {
        self.segments
    }

    /// Transfers that all ranks of a file have in a segment.
    pub fn transfers_per_segment(&self) -> u64 {
        self.block_bytes / self.transfer_bytes * u64::from(self.sharers)
    }

    /// Where transfers lie that are counted through whole segments, because a shuffle distributes them over the ranks.
    pub fn place_of_dealt(&self, part: u32) -> Place {
        let per_block = self.transfers_per_segment();
        let segment_bytes = self.block_bytes * u64::from(self.sharers);
        let transfers = per_block * self.segments;
        Place { first_bytes: self.offset_bytes, per_block, segment_bytes, transfers, ..self.place(part) }
    }

    /// Where transfers lie that are counted through the whole file, whatever part they are of.
    pub fn place_in_file(&self) -> Place {
        let transfers = self.transfers_per_segment() * self.segments;
        Place { first_bytes: self.offset_bytes, per_block: transfers, transfers, ..self.place(0) }
    }

    /// Where the blocks of `part` begin in each of its files, and how many bytes lie there together.
    pub fn blocks(&self, part: u32) -> impl Iterator<Item = (u64, u64)> {
        let Place { first_bytes, segment_bytes, .. } = self.place(part);
        // One after the other, where nobody else has blocks in the file.
        let (blocks, bytes) =
            if self.sharers == 1 { (1, self.block_bytes * self.segments) } else { (self.segments, self.block_bytes) };
        (0..blocks).map(move |segment| (first_bytes + segment * segment_bytes, bytes))
    }

    /// Bytes of `part` that lie before `offset` in each of its files.
    pub fn part_bytes_before(&self, part: u32, offset: u64) -> u64 {
        let Place { first_bytes, segment_bytes, .. } = self.place(part);
        let past = offset.saturating_sub(first_bytes);
        let within = past / segment_bytes * self.block_bytes + (past % segment_bytes).min(self.block_bytes);
        within.min(self.block_bytes * self.segments)
    }

    /// Where `part`'s transfers lie in each of its files.
    pub fn place(&self, part: u32) -> Place {
        let within = u64::from(part % self.sharers);
        Place {
            transfer_bytes: self.transfer_bytes,
            per_block: self.block_bytes / self.transfer_bytes,
            segment_bytes: self.block_bytes * u64::from(self.sharers),
            first_bytes: self.offset_bytes + self.block_bytes * within,
            transfers: self.transfers_per_file,
        }
    }
}

/// Name of file number `file` of the set `set` in `case`, as IOR would name it: with the rank's eight digits where
/// each has its own.
pub fn file_name(case: &str, set: &str, geometry: &Geometry, file: u64) -> String {
    let (group, nth) = (file / geometry.files_per_rank, file % geometry.files_per_rank);
    let group = if geometry.groups() > 1 || !geometry.shared { format!(".{group:08}") } else { String::new() };
    let nth = if geometry.files_per_rank > 1 { format!(".{nth:08}") } else { String::new() };
    format!("{case}.{set}{group}{nth}")
}

/// The geometries of all file sets of a case.
pub fn geometries(sets: &BTreeMap<String, FileSet>, ranks: u32) -> impl Iterator<Item = (&str, Geometry)> {
    sets.iter().map(move |(name, set)| (name.as_str(), Geometry::of(set, ranks)))
}

/// The place of one part's transfers in a file.
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

/// The part of the file set that a member of a job works on.
pub fn part_of(work: &DataWork, member: u32, parts: u32, reads_shifted_by: u32) -> u32 {
    let part = member % parts;
    match (work.transfer, &work.source) {
        (Transfer::Write | Transfer::Mixed(_), _) => part,
        (Transfer::Read, Source::Own) => shifted(part, reads_shifted_by, parts),
        (Transfer::Read, Source::Shift(ranks)) => shifted(part, *ranks, parts),
        (Transfer::Read, Source::Shuffled(seed)) => {
            Permutation::new(parts.into(), SplitMix64::keyed(&[*seed])).map(part.into()) as u32
        }
        (Transfer::Read, Source::Listed(list)) => list[member as usize],
    }
}

/// The part of the member `shift` further on than `member`, out of as many as there are `parts`.
pub fn shifted(member: u32, shift: u32, parts: u32) -> u32 {
    ((u64::from(member) + u64::from(shift)) % u64::from(parts)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::given::file_set;
    use proptest::prelude::*;

    fn set(layout: Layout, transfer: u64, per_block: u64, segments: u64, offset: u64) -> FileSet {
        FileSet {
            layout,
            files_per_rank: 2,
            transfer_bytes: transfer,
            block_bytes: transfer * per_block,
            segments,
            offset_bytes: offset,
            ..file_set()
        }
    }

    proptest! {
        #[test]
        fn the_ranks_together_cover_every_file_exactly_once_and_nothing_before_its_offset(
            groups in 1..4_u32, sharers in 1..4_u32, kind in 0..3_usize, transfer in 1..9_u64, per_block in 1..6_u64,
            segments in 1..6_u64, offset in 0..5_u64,
        ) {
            let layout = [Layout::FilePerRank, Layout::SharedFile, Layout::Groups(groups)][kind];
            let set = set(layout, transfer, per_block, segments, offset);
            let geometry = Geometry::of(&set, groups * sharers);
            let mut covered = vec![vec![0; geometry.file_bytes as usize]; geometry.files() as usize];
            for part in 0..geometry.parts {
                let place = geometry.place(part);
                let offsets = (0..geometry.transfers_per_file).map(|index| place.offset(index));
                let in_blocks = geometry.blocks(part).flat_map(|(begin, bytes)| begin..begin + bytes);
                let in_transfers = offsets.flat_map(|offset| offset..offset + transfer);
                prop_assert!(in_blocks.eq(in_transfers));
                for (nth, (begin, bytes)) in (0..).zip(geometry.blocks(part)) {
                    let before = [0, bytes / 2, bytes].map(|within| geometry.part_bytes_before(part, begin + within));
                    prop_assert_eq!(before, [0, bytes / 2, bytes].map(|within| nth * bytes + within));
                }
                for nth in 0..geometry.files_per_rank {
                    for index in 0..geometry.transfers_per_file {
                        let offset = place.offset(index) as usize;
                        let file = &mut covered[geometry.file(part, nth) as usize];
                        file[offset..offset + transfer as usize].iter_mut().for_each(|times| *times += 1);
                    }
                }
            }
            for file in covered {
                prop_assert!(file[..offset as usize].iter().all(|&times| times == 0));
                prop_assert!(file[offset as usize..].iter().all(|&times| times == 1));
            }
        }
    }

    #[test]
    fn blocks_of_a_shared_file_interleave_per_segment_as_in_ior() {
        let place = Geometry::of(&set(Layout::SharedFile, 1, 2, 2, 0), 3).place(1);
        let offsets: Vec<u64> = (0..4).map(|index| place.offset(index)).collect();
        assert_eq!(offsets, [2, 3, 8, 9]);
    }

    #[test]
    fn files_are_named_as_ior_names_them_and_no_two_alike() {
        let name = |layout, file| {
            let mut set = set(layout, 1, 1, 1, 0);
            set.files_per_rank = 1;
            file_name("c1", "data", &Geometry::of(&set, 4), file)
        };
        assert_eq!(name(Layout::FilePerRank, 3), "c1.data.00000003");
        assert_eq!(name(Layout::SharedFile, 0), "c1.data");
        let many = Geometry::of(&set(Layout::Groups(2), 1, 1, 1, 0), 4);
        let mut names: Vec<String> = (0..many.files()).map(|file| file_name("c1", "data", &many, file)).collect();
        names.dedup();
        assert_eq!(names.len(), 4);
    }
}
