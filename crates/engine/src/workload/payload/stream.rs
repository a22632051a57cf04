//! Bytes that depend on file and offset alone: any transfer of any size can be made, and checked, by itself.
//!
//! A block of 4 KiB is a piece of a pool of random bytes, from where the block's hash says, combined with 64 more bits of
//! that hash by exclusive or. Pieces that overlap differ in all of their words, so that no eight bytes come twice: nothing
//! is found by who compares blocks, of whatever size, or looks for a copy further back. Memory is hardly written faster,
//! some 40 GB/s by one processor, which a generator that computes each word does not reach (SplitMix64: 7 GB/s beside it).

use std::sync::Arc;

use crate::workload::random::{STEP, SplitMix64, mix};

const WORD_BYTES: usize = 8;

/// What storage systems compress and compare.
const BLOCK_BYTES: usize = 4096;

/// Pieces begin at a multiple of this, so that processors load them whole.
const PLACE_BYTES: usize = 32;

/// Blocks that are copied where data is to be deduplicated.
const ORIGINALS: u64 = 16;

/// The random bytes that all files of a file set are made of. They fit into the first cache of a processor, and begin where
/// a line of it does: loads that cross lines take a quarter more time.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Pool([u8; 2 * BLOCK_BYTES]);

impl Pool {
    /// That of a file set, by its keys.
    pub fn new(keys: [u64; 2]) -> Arc<Self> {
        // A block begins in the first half.
        let mut pool = Self([0; 2 * BLOCK_BYTES]);
        SplitMix64::keyed(&keys).fill(&mut pool.0);
        Arc::new(pool)
    }

    /// Makes `bytes` what lies `within` bytes behind the beginning of the block with this hash.
    fn fill(&self, bytes: &mut [u8], hash: u64, within: usize) {
        let place = hash as usize % (BLOCK_BYTES / PLACE_BYTES) * PLACE_BYTES + within;
        let word = mix(hash ^ STEP).rotate_right(8 * (within % WORD_BYTES) as u32);
        combine_as_this_processor_can(bytes, &self.0[place..][..bytes.len()], word);
    }
}

/// [`combine`] with the widest registers there are: twice as fast.
fn combine_as_this_processor_can(bytes: &mut [u8], random: &[u8], word: u64) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn combine_by_avx2(bytes: &mut [u8], random: &[u8], word: u64) {
            combine(bytes, random, word);
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { combine_by_avx2(bytes, random, word) };
        }
    }
    combine(bytes, random, word);
}

#[inline(always)]
fn combine(bytes: &mut [u8], random: &[u8], word: u64) {
    let (words, rest) = bytes.as_chunks_mut::<WORD_BYTES>();
    let (sources, source_of_rest) = random.as_chunks::<WORD_BYTES>();
    for (bytes, source) in words.iter_mut().zip(sources) {
        *bytes = (u64::from_le_bytes(*source) ^ word).to_le_bytes();
    }
    for ((byte, source), word) in rest.iter_mut().zip(source_of_rest).zip(word.to_le_bytes()) {
        *byte = source ^ word;
    }
}

/// The bytes of one file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream<'a> {
    pool: &'a Pool,
    key: u64,
    /// Bytes at the beginning of each block that are not zero.
    dense_bytes: usize,
    duplicate_percent: u64,
}

impl<'a> Stream<'a> {
    /// Random bytes of the file with this key.
    pub fn new(pool: &'a Pool, key: u64) -> Self {
        Self { pool, key: SplitMix64::keyed(&[key]).draw(), dense_bytes: BLOCK_BYTES, duplicate_percent: 0 }
    }

    /// The same, with zeros at the end of each block and with blocks that are copies.
    pub fn reducible(self, zero_percent: u8, duplicate_percent: u8) -> Self {
        let zero_bytes = BLOCK_BYTES * usize::from(zero_percent) / 100;
        Self { dense_bytes: BLOCK_BYTES - zero_bytes, duplicate_percent: duplicate_percent.into(), ..self }
    }

    /// Makes `bytes` what lies at `offset`.
    pub fn fill(&self, bytes: &mut [u8], offset: u64) {
        let mut bytes = bytes;
        let mut block = offset / BLOCK_BYTES as u64;
        let mut within = (offset % BLOCK_BYTES as u64) as usize;
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at_mut(bytes.len().min(BLOCK_BYTES - within));
            let (dense, zeros) = piece.split_at_mut(self.dense_bytes.saturating_sub(within).min(piece.len()));
            self.pool.fill(dense, self.hash(block), within);
            zeros.fill(0);
            (bytes, block, within) = (rest, block + 1, 0);
        }
    }

    /// Where what a block holds comes from. Copies have it of their original.
    fn hash(&self, block: u64) -> u64 {
        let of = |block: u64| mix(self.key ^ block.wrapping_mul(STEP));
        let hash = of(block);
        let copied = (hash >> 32) % 100 < self.duplicate_percent;
        if copied { of(u64::MAX - hash % ORIGINALS) } else { hash }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(zero_percent: u8, duplicate_percent: u8) -> Vec<Vec<u8>> {
        let mut bytes = vec![0; 1000 * 4096];
        let pool = Pool::new([1, 2]);
        Stream::new(&pool, 3).reducible(zero_percent, duplicate_percent).fill(&mut bytes, 0);
        bytes.chunks(4096).map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn what_is_reducible_has_its_share_of_zeros_and_of_copies() {
        for (zero_percent, duplicate_percent) in [(0, 0), (50, 0), (0, 40), (25, 100)] {
            let blocks = blocks(zero_percent, duplicate_percent);
            let zeros = blocks.iter().flatten().filter(|&&byte| byte == 0).count() as f64 / (1000.0 * 4096.0);
            // One random byte in 256 is zero too.
            let wanted = f64::from(zero_percent) / 100.0;
            assert!((zeros - wanted - (1.0 - wanted) / 256.0).abs() < 0.005, "{zero_percent} % zeros: {zeros}");
            let distinct = blocks.iter().collect::<std::collections::HashSet<_>>().len() as i64;
            let unique = 1000 - 10 * i64::from(duplicate_percent);
            assert!((distinct - unique - ORIGINALS as i64 / 2).abs() < 60, "{duplicate_percent} % copies: {distinct}");
        }
    }

    #[test]
    fn nothing_comes_twice_in_what_is_unique() {
        let mut bytes = vec![0; 1 << 20];
        let pool = Pool::new([1, 2]);
        Stream::new(&pool, 3).fill(&mut bytes, 1 << 40);
        let words: std::collections::HashSet<_> = bytes.chunks(8).collect();
        assert_eq!(words.len(), 1 << 17);
    }
}
