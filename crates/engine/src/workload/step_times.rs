//! How long each step of an accelerator computes.

use ioassay_protocol::plan::train::{ComputeTimes, Epoch};

use super::random::{MOST_DEVIATIONS, ONE, SplitMix64};

/// The computations of one rank in an epoch: a function of the seed, the epoch, the rank and the step.
#[derive(Debug, Clone)]
pub struct StepTimes<'a> {
    epoch: &'a Epoch,
    keys: [u64; 3],
    /// Sum of the weights of a histogram.
    weights: u64,
}

impl<'a> StepTimes<'a> {
    /// Those of rank number `rank` in `epoch` of a plan with `seed`.
    pub fn new(epoch: &'a Epoch, seed: u64, rank: u32) -> Self {
        let weights = match &epoch.compute_times {
            Some(ComputeTimes::Histogram(times)) => times.iter().map(|time| time.weight).fold(0, u64::saturating_add),
            Some(ComputeTimes::Normal { .. }) | None => 0,
        };
        Self { epoch, keys: [seed, epoch.number.into(), rank.into()], weights }
    }

    /// How long step number `step` computes, in nanoseconds.
    pub fn ns(&self, step: u64) -> u64 {
        let random = || {
            let [seed, epoch, rank] = self.keys;
            SplitMix64::keyed(&[seed, epoch, rank, step])
        };
        match &self.epoch.compute_times {
            None => self.epoch.compute_ns,
            Some(ComputeTimes::Normal { standard_deviation_ns }) => {
                let deviation = i128::from(*standard_deviation_ns) * i128::from(random().normal()) / i128::from(ONE);
                u64::try_from(i128::from(self.epoch.compute_ns) + deviation).unwrap_or(0)
            }
            Some(ComputeTimes::Histogram(times)) => {
                let mut place = random().below(self.weights);
                for time in times {
                    match place.checked_sub(time.weight) {
                        Some(rest) => place = rest,
                        None => return time.ns,
                    }
                }
                unreachable!("the place is below the sum of all weights")
            }
        }
    }
}

/// The longest computation that an epoch can have.
pub fn longest_ns(epoch: &Epoch) -> u64 {
    match &epoch.compute_times {
        None => epoch.compute_ns,
        Some(ComputeTimes::Normal { standard_deviation_ns }) => {
            epoch.compute_ns.saturating_add(standard_deviation_ns.saturating_mul(MOST_DEVIATIONS))
        }
        Some(ComputeTimes::Histogram(times)) => times.iter().map(|time| time.ns).max().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_protocol::plan::train::{Compute, ComputeTime, Shuffle};

    fn epoch(compute_times: ComputeTimes) -> Epoch {
        Epoch {
            number: 1,
            batch: 1,
            loader_threads: 1,
            prefetch: 1,
            shuffle: Shuffle::None,
            drop_last: true,
            compute_ns: 20_000_000,
            compute_times: Some(compute_times),
            compute: Compute::Sleep,
            sync_steps: false,
            verify: false,
            read_bytes: None,
            samples: None,
            hold_batches: false,
            evaluation: false,
        }
    }

    #[test]
    fn normal_times_have_their_mean_and_deviation_and_differ_by_rank_and_step() {
        let epoch = epoch(ComputeTimes::Normal { standard_deviation_ns: 3_000_000 });
        let times = StepTimes::new(&epoch, 7, 2);
        let each: Vec<f64> = (0..20_000).map(|step| times.ns(step) as f64).collect();
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        let deviation = (each.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / each.len() as f64).sqrt();
        assert!((mean / 20e6 - 1.0).abs() < 0.005, "{mean}");
        assert!((deviation / 3e6 - 1.0).abs() < 0.02, "{deviation}");
        assert!(each.iter().all(|&time| time <= longest_ns(&epoch) as f64));
        assert_eq!(StepTimes::new(&epoch, 7, 2).ns(5), times.ns(5));
        assert_ne!(StepTimes::new(&epoch, 7, 3).ns(5), times.ns(5));
        assert_ne!(StepTimes::new(&epoch, 8, 2).ns(5), times.ns(5));
    }

    #[test]
    fn a_histogram_of_times_has_its_weights() {
        let each = [(1_000, 3), (9_000, 1)].map(|(ns, weight)| ComputeTime { ns, weight });
        let epoch = epoch(ComputeTimes::Histogram(each.to_vec()));
        let times = StepTimes::new(&epoch, 7, 0);
        let long = (0..10_000).filter(|&step| times.ns(step) == 9_000).count();
        assert!((2_300..2_700).contains(&long), "{long}");
        assert_eq!(longest_ns(&epoch), 9_000);
    }
}
