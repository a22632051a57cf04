//! Which parts of a file of tables are damaged, as its [`crate::checksums`] say.

use core::mem::size_of;

use crate::checksums::{ChunkChecksum, NO_BLOCK};
use crate::read::copy;

/// The chunks of a file of tables, with what is wrong with each.
#[derive(Debug, Clone, Copy)]
pub struct DamagedChunks<'a> {
    /// Length of a chunk, in bytes; not 0.
    pub chunk_bytes: u64,
    /// Whether each chunk differs from its checksum. Chunks behind these have none.
    pub is_damaged: &'a [bool],
    /// The [`ChunkChecksum`]s, as many.
    pub checksums: &'a [u8],
}

impl DamagedChunks<'_> {
    /// Whether a byte of the range may be damaged.
    pub fn touches(&self, begin: u64, end: u64) -> bool {
        let chunks = self.is_damaged.len() as u64;
        let (first, last) = ((begin / self.chunk_bytes).min(chunks), end.div_ceil(self.chunk_bytes).min(chunks));
        self.is_damaged.get(first as usize..last as usize).is_some_and(|chunks| chunks.contains(&true))
    }

    /// Where the first block begins behind the damaged chunk with this byte. `None`: unknown.
    pub fn next_block(&self, place: u64) -> Option<u64> {
        let first = usize::try_from(place / self.chunk_bytes).ok()?.checked_add(1)?;
        (first..self.is_damaged.len()).filter(|chunk| !self.is_damaged[*chunk]).find_map(|chunk| {
            let checksum: ChunkChecksum = copy(self.checksums.get(chunk * size_of::<ChunkChecksum>()..)?)?;
            let has_block = checksum.first_block != NO_BLOCK;
            has_block.then(|| chunk as u64 * self.chunk_bytes + u64::from(checksum.first_block))
        })
    }
}
