//! The one source of chance: SplitMix64, keyed by what a choice is for.

use rand_core::RngCore;

/// From one state to the next.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// What [`SplitMix64::normal`] counts in.
pub const ONE: i64 = 1 << 16;

/// The farthest that [`SplitMix64::normal`] is from 0, in [`ONE`].
pub const MOST_DEVIATIONS: u64 = 6;

/// The output that belongs to a state.
#[inline(always)]
pub fn mix(state: u64) -> u64 {
    let mut bits = state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A stream of its own for each list of keys, for example seed, step and rank.
    pub fn keyed(keys: &[u64]) -> Self {
        let mut state = 0;
        for &key in keys {
            state = Self(state ^ key).draw();
        }
        Self(state)
    }

    /// The next 64 random bits.
    #[inline(always)]
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `bound`, by multiplication (Lemire 2019) without the rejection step: the bias is below
    /// bound / 2^64.
    #[inline(always)]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }

    /// A normally distributed number in units of [`ONE`] by the sum of twelve uniform ones, the same on every machine: mean 0,
    /// standard deviation 1, and at most 6 from 0.
    pub fn normal(&mut self) -> i64 {
        let of_four = |bits: u64| (0..4).map(|nth| (bits >> (16 * nth)) as i64 & (ONE - 1)).sum::<i64>();
        let sum: i64 = (0..3).map(|_| of_four(self.draw())).sum();
        // Each is a half less than the middle of what it stands for.
        sum - 6 * (ONE - 1)
    }

    /// Fills `bytes` with random ones.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let bits = self.draw().to_le_bytes();
            chunk.copy_from_slice(&bits[..chunk.len()]);
        }
    }
}

impl RngCore for SplitMix64 {
    fn next_u32(&mut self) -> u32 {
        (self.draw() >> 32) as u32
    }

    fn next_u64(&mut self) -> u64 {
        self.draw()
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.fill(bytes);
    }
}
