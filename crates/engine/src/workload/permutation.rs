//! A random permutation of 0 … n-1 that is computed, not stored.
//!
//! Full coverage at random needs each block exactly once. IOR keeps a table of offsets for that: 8 bytes per
//! operation and rank, 4 GiB for 2 TB in 4 KiB transfers. Here a bijection on the next power of two mixes the
//! index, and indices that fall beyond n are mixed again until they fall below it ("cycle walking": Black and
//! Rogaway, Ciphers with Arbitrary Finite Domains, CT-RSA 2002). That takes fewer than two rounds on average.

use super::random::SplitMix64;

/// A permutation of `0..length`.
#[derive(Debug, Clone)]
pub struct Permutation {
    length: u64,
    mask: u64,
    shift: u32,
    add: [u64; 2],
    multiply: [u64; 2],
}

impl Permutation {
    /// A permutation of `0..length`; `random` chooses which.
    ///
    /// # Panics
    /// If `length` is 0.
    pub fn new(length: u64, mut random: SplitMix64) -> Self {
        assert!(length > 0, "a permutation of nothing");
        let bits = u64::BITS - (length - 1).leading_zeros();
        let mask = if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) };
        Self {
            length,
            mask,
            // Half of the bits are folded onto the other half; at least one, or the fold would erase them.
            shift: (bits / 2).max(1),
            add: [random.draw(), random.draw()],
            // Multiplication by an odd number is a bijection modulo a power of two.
            multiply: [random.draw() | 1, random.draw() | 1],
        }
    }

    /// Where `index` goes.
    #[inline(always)]
    pub fn map(&self, index: u64) -> u64 {
        debug_assert!(index < self.length);
        let mut value = self.mix(index);
        while value >= self.length {
            value = self.mix(value);
        }
        value
    }

    /// A bijection on the numbers up to `mask`: each line of it is one.
    #[inline(always)]
    fn mix(&self, mut value: u64) -> u64 {
        for round in 0..2 {
            value = value.wrapping_add(self.add[round]) & self.mask;
            value = value.wrapping_mul(self.multiply[round]) & self.mask;
            value ^= value >> self.shift;
        }
        value.wrapping_mul(self.multiply[0]) & self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_index_comes_exactly_once(length in 1..5_000_u64, seed: u64) {
            let permutation = Permutation::new(length, SplitMix64::keyed(&[seed]));
            let mut seen: Vec<u64> = (0..length).map(|index| permutation.map(index)).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..length).collect::<Vec<_>>());
        }

        #[test]
        fn the_largest_files_stay_in_range(index in 0..(1_u64 << 51), seed: u64) {
            let length = (1 << 51) + 12_345;
            prop_assert!(Permutation::new(length, SplitMix64::keyed(&[seed])).map(index) < length);
        }
    }

    /// Neighbours must not stay neighbours, or the kernel's readahead takes random reads for sequential ones.
    #[test]
    fn neighbours_are_torn_apart_and_every_region_is_met_early() {
        for seed in 0..50 {
            let length = 10_000;
            let permutation = Permutation::new(length, SplitMix64::keyed(&[seed]));
            let order: Vec<u64> = (0..length).map(|index| permutation.map(index)).collect();
            let sequential = order.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
            assert!(sequential < 60, "seed {seed}: {sequential} of {length} follow their neighbour");
            // The first tenth of a uniform order meets each tenth of the file about 100 times (s = 9.5).
            let mut met = [0_u32; 10];
            order[..1_000].iter().for_each(|&block| met[(block / 1_000) as usize] += 1);
            assert!(met.iter().all(|&count| (30..=200).contains(&count)), "seed {seed}: {met:?}");
        }
    }
}
