//! Buckets of histograms: found by counting leading zeros, so that a hot path can afford them.

/// Of a histogram of latencies.
pub const LATENCIES: usize = 128;
/// Of a histogram of sizes.
pub const SIZES: usize = 32;

/// Buckets of an octave: a bound is at most a quarter above the one below it.
const PER_OCTAVE: u32 = 4;
/// The first octave that is divided: all that is shorter than 2^6 ticks is in bucket 0.
const FIRST_OCTAVE: u32 = 6;

/// The bucket of a latency, in ticks. The last one has all from 2^38 ticks on, minutes.
#[inline(always)]
pub const fn of_latency(ticks: u64) -> usize {
    if ticks < 1 << FIRST_OCTAVE {
        return 0;
    }
    let octave = 63 - ticks.leading_zeros();
    let within = (ticks >> (octave - 2)) as u32 & (PER_OCTAVE - 1);
    let bucket = ((octave - FIRST_OCTAVE) * PER_OCTAVE + within) as usize;
    if bucket < LATENCIES { bucket } else { LATENCIES - 1 }
}

/// The least ticks that are in a bucket of latencies.
pub const fn latency_begins_at(bucket: usize) -> u64 {
    if bucket == 0 {
        return 0;
    }
    let octave = FIRST_OCTAVE + bucket as u32 / PER_OCTAVE;
    (1 << octave) + (bucket as u64 % PER_OCTAVE as u64) * (1 << (octave - 2))
}

/// The bucket of a size, in bytes: 0 has 0, bucket `b` has sizes from 2^(b-1) on, the last one also all that is larger.
#[inline(always)]
pub const fn of_size(bytes: u64) -> usize {
    let bucket = 64 - bytes.leading_zeros() as usize;
    if bucket < SIZES { bucket } else { SIZES - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_latency_is_in_the_bucket_that_begins_at_most_a_quarter_below_it(ticks in 0..1_u64 << 38) {
            let bucket = of_latency(ticks);
            prop_assert!(latency_begins_at(bucket) <= ticks);
            prop_assert!(bucket + 1 == LATENCIES || ticks < latency_begins_at(bucket + 1));
            prop_assert!(bucket == 0 || ticks - latency_begins_at(bucket) <= ticks / 4);
        }

        #[test]
        fn a_size_is_in_the_bucket_of_its_power_of_two(bytes in 1..1_u64 << 30) {
            let bucket = of_size(bytes);
            prop_assert!(1 << (bucket - 1) <= bytes && bytes < 1 << bucket);
        }
    }

    #[test]
    fn what_is_beyond_the_last_bucket_is_in_it() {
        assert_eq!((of_latency(u64::MAX), of_size(u64::MAX)), (LATENCIES - 1, SIZES - 1));
        assert_eq!((of_latency(0), of_size(0)), (0, 0));
    }
}
