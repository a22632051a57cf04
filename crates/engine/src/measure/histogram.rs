//! X

use ioassay_contract::events::Histogram as Buckets;

/// 128 buckets per power of two: a bucket's highest value is less than 0.8 % above its lowest.
const BUCKET_BITS: u32 = 7;

/// One for every 64-bit latency: nothing is clamped and no bound has to be checked.
const BUCKETS: usize = ((64 - BUCKET_BITS as usize) + 1) << BUCKET_BITS;

/// Latencies of the operations of one phase: 58 KiB, of which a phase touches a few lines.
#[derive(Debug, Clone)]
pub struct Latencies(Box<[u64; BUCKETS]>);

impl Default for Latencies {
    fn default() -> Self {
        Self(vec![0; BUCKETS].try_into().expect("the length is right"))
    }
}

/// The bucket of a latency. Below 2^(BUCKET_BITS + 1) each value has its own; above, the leading bits count.
#[inline(always)]
fn bucket(ns: u64) -> usize {
    let exponent = (ns | 1 << BUCKET_BITS).ilog2() - BUCKET_BITS;
    ((exponent as usize) << BUCKET_BITS) + (ns >> exponent) as usize
}

/// The lowest and the highest latency of a bucket.
fn bounds(bucket: usize) -> (u64, u64) {
    let exponent = (bucket >> BUCKET_BITS).saturating_sub(1) as u32;
    let lowest = ((bucket - ((exponent as usize) << BUCKET_BITS)) as u64) << exponent;
    (lowest, lowest + ((1 << exponent) - 1))
}

impl Latencies {
    /// Counts one operation. No allocation, no system call.
    #[inline(always)]
    pub fn record(&mut self, latency_ns: u64) {
        self.0[bucket(latency_ns)] += 1;
    }

    /// Adds what another rank counted.
    pub fn add(&mut self, buckets: &Buckets) {
        for (&lowest, &count) in buckets.lowest_ns.iter().zip(&buckets.count) {
            self.0[bucket(lowest)] += count;
        }
    }

    /// Highest latency of the bucket in which the median lies; 0 if there are no operations.
    pub fn median_ns(&self) -> u64 {
        let half = self.0.iter().sum::<u64>().div_ceil(2);
        let mut below = 0;
        let median = self.0.iter().position(|&count| {
            below += count;
            below >= half && half > 0
        });
        median.map_or(0, |bucket| bounds(bucket).1)
    }

    /// The non-empty buckets, ascending.
    pub fn buckets(&self) -> Buckets {
        let mut buckets = Buckets::default();
        for (bucket, &count) in self.0.iter().enumerate().filter(|&(_, &count)| count > 0) {
            let (lowest, highest) = bounds(bucket);
            buckets.lowest_ns.push(lowest);
            buckets.highest_ns.push(highest);
            buckets.count.push(count);
        }
        buckets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_latency_lies_in_its_bucket_and_the_bucket_is_under_one_percent_wide(ns: u64) {
            let mut latencies = Latencies::default();
            latencies.record(ns);
            let buckets = latencies.buckets();
            prop_assert_eq!(buckets.count, vec![1]);
            let (lowest, highest) = (buckets.lowest_ns[0], buckets.highest_ns[0]);
            prop_assert!(lowest <= ns && ns <= highest);
            prop_assert!((highest - lowest) as f64 <= 0.01 * lowest as f64);
        }

        #[test]
        fn adding_buckets_loses_no_operation(ns in proptest::collection::vec(any::<u64>(), 0..200)) {
            let mut one = Latencies::default();
            ns.iter().for_each(|&ns| one.record(ns));
            let mut sum = Latencies::default();
            sum.add(&one.buckets());
            sum.add(&one.buckets());
            prop_assert_eq!(sum.buckets().count.iter().sum::<u64>(), 2 * ns.len() as u64);
            prop_assert_eq!(sum.buckets().lowest_ns, one.buckets().lowest_ns);
        }
    }
}
