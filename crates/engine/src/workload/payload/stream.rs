//! Bytes that depend on file and offset alone, 8 at a time: any transfer of any size can be made, and checked, by itself.
//!
//! Word n of a file is SplitMix64's output number n from a state that is the file's key. That needs no more than the
//! number, and some 6 GB/s of it come from one processor.

use crate::workload::random::{STEP, SplitMix64, mix};

const WORD_BYTES: u64 = 8;

/// What storage systems compress and compare: blocks of 4 KiB.
const BLOCK_WORDS: u64 = 512;

/// Blocks that are copied where data is to be deduplicated.
const ORIGINALS: u64 = 16;

/// The bytes of one file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    key: u64,
    /// Words at the beginning of each block that are not zero.
    dense_words: u64,
    duplicate_percent: u64,
}

impl Stream {
    /// Random bytes of a file.
    pub fn new(keys: [u64; 3]) -> Self {
        Self { key: SplitMix64::keyed(&keys).draw(), dense_words: BLOCK_WORDS, duplicate_percent: 0 }
    }

    /// The same, with zeros at the end of each block and with blocks that are copies.
    pub fn reducible(self, zero_percent: u8, duplicate_percent: u8) -> Self {
        let zero_words = BLOCK_WORDS * u64::from(zero_percent) / 100;
        Self { dense_words: BLOCK_WORDS - zero_words, duplicate_percent: duplicate_percent.into(), ..self }
    }

    /// Makes `bytes` what lies at `offset`.
    pub fn fill(&self, bytes: &mut [u8], offset: u64) {
        let mut bytes = bytes;
        let mut offset = offset;
        while !bytes.is_empty() {
            let block = offset / (BLOCK_WORDS * WORD_BYTES);
            let within = offset % (BLOCK_WORDS * WORD_BYTES);
            let length = bytes.len().min((BLOCK_WORDS * WORD_BYTES - within) as usize);
            let (piece, rest) = bytes.split_at_mut(length);
            self.fill_in_block(piece, block, within);
            bytes = rest;
            offset += length as u64;
        }
    }

    /// The number of the word with which a block begins. Copies begin where their original does.
    fn begin(&self, block: u64) -> u64 {
        let chance = mix(self.key ^ block.wrapping_mul(STEP));
        let copied = chance % 100 < self.duplicate_percent;
        let block = if copied { u64::MAX / BLOCK_WORDS - 1 - (chance >> 32) % ORIGINALS } else { block };
        block.wrapping_mul(BLOCK_WORDS)
    }

    fn fill_in_block(&self, bytes: &mut [u8], block: u64, within: u64) {
        let begin = if self.duplicate_percent == 0 { block.wrapping_mul(BLOCK_WORDS) } else { self.begin(block) };
        let mut word = within / WORD_BYTES;
        let mut bytes = bytes;
        let skipped = (within % WORD_BYTES) as usize;
        if skipped > 0 {
            let length = bytes.len().min(WORD_BYTES as usize - skipped);
            let (piece, rest) = bytes.split_at_mut(length);
            piece.copy_from_slice(&self.word(begin, word).to_le_bytes()[skipped..skipped + length]);
            bytes = rest;
            word += 1;
        }
        let mut state = self.key.wrapping_add((begin.wrapping_add(word)).wrapping_mul(STEP));
        let dense = (self.dense_words.saturating_sub(word) * WORD_BYTES) as usize;
        let (dense, zeros) = bytes.split_at_mut(dense.min(bytes.len()));
        let mut words = dense.chunks_exact_mut(WORD_BYTES as usize);
        for word in &mut words {
            word.copy_from_slice(&mix(state).to_le_bytes());
            state = state.wrapping_add(STEP);
        }
        let last = words.into_remainder();
        last.copy_from_slice(&mix(state).to_le_bytes()[..last.len()]);
        zeros.fill(0);
    }

    fn word(&self, begin: u64, word: u64) -> u64 {
        if word >= self.dense_words {
            return 0;
        }
        mix(self.key.wrapping_add((begin.wrapping_add(word)).wrapping_mul(STEP)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(zero_percent: u8, duplicate_percent: u8) -> Vec<Vec<u8>> {
        let mut bytes = vec![0; 1000 * 4096];
        Stream::new([1, 2, 3]).reducible(zero_percent, duplicate_percent).fill(&mut bytes, 0);
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
        Stream::new([1, 2, 3]).fill(&mut bytes, 1 << 40);
        let words: std::collections::HashSet<_> = bytes.chunks(8).collect();
        assert_eq!(words.len(), 1 << 17);
    }
}
