//! One rate for several that do not share a bucket: records of a job, jobs of a node, nodes of a job.
//!
//! Each gets a share, and all shares together are never more than the rate. Those that want more than they have get what the others
//! leave (max-min fairness), second by second; what nobody wants is spread evenly, so that there is room to begin.

/// What one did in the last second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Demand {
    /// What went through, in bytes or calls.
    pub used: u64,
    /// Something had to wait: it wanted more.
    pub waited: bool,
}

impl Demand {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self { used: self.used.saturating_add(other.used), waited: self.waited || other.waited }
    }

    /// What it would use in the next second: a fifth more than now, or everything.
    fn wanted(self) -> u64 {
        if self.waited { u64::MAX } else { self.used.saturating_add(self.used / 5) }
    }
}

/// What is kept for those that do nothing yet, of each 100: they begin with it, and get more in the next second.
const KEPT_PERCENT: u64 = 2;

/// The shares of a rate, in the order of the demands.
pub fn shares(rate: u64, demands: &[Demand]) -> Vec<u64> {
    let count = demands.len() as u64;
    if count <= 1 {
        return vec![rate; demands.len()];
    }
    // What they can begin with; it is theirs, whatever they do.
    let least = (rate / 100 * KEPT_PERCENT / count).max(1);
    let mut shares = vec![least; demands.len()];
    let mut left = rate.saturating_sub(least.saturating_mul(count));
    // Those that want least first: what each leaves of an even part is for the others.
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by_key(|place| demands[*place].wanted());
    for (done, place) in order.into_iter().enumerate() {
        let even = left / (count - done as u64);
        let more = demands[place].wanted().saturating_sub(least).min(even);
        shares[place] += more;
        left -= more;
    }
    // Here nobody wants more.
    let even = left / count;
    shares.iter_mut().for_each(|share| *share += even);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const IDLE: Demand = Demand { used: 0, waited: false };

    #[test]
    fn one_has_all_and_several_that_want_nothing_have_the_same() {
        assert_eq!(shares(100, &[IDLE]), [100]);
        assert_eq!(shares(1000, &[IDLE, IDLE]), [500, 500]);
        assert!(shares(100, &[]).is_empty());
    }

    #[test]
    fn what_one_leaves_the_other_gets() {
        let hungry = Demand { used: 500, waited: true };
        assert_eq!(shares(1000, &[hungry, IDLE]), [990, 10]);
        assert_eq!(shares(1000, &[hungry, hungry]), [500, 500]);
        let modest = Demand { used: 100, waited: false };
        assert_eq!(shares(1000, &[hungry, modest]), [880, 120]);
    }

    #[test]
    fn one_that_just_did_not_wait_keeps_what_it_used() {
        let [much, little] = [860, 100].map(|used| Demand { used, waited: false });
        let given = shares(1000, &[much, little]);
        assert!(given[0] >= 860 && given[1] >= 100, "{given:?}");
    }

    #[test]
    fn a_demand_that_stays_is_met_from_any_start_within_seconds() {
        // What four want per second, of 1000, and what is fair.
        for (wants, fair) in [
            ([2000, 0, 0, 0], [985, 5, 5, 5]),
            ([2000, 2000, 2000, 2000], [250, 250, 250, 250]),
            ([2000, 2000, 100, 0], [430, 430, 100, 5]),
        ] {
            let mut given = [250; 4].to_vec();
            for _ in 0..4 {
                let demand_of =
                    |(&share, &wanted): (&u64, &u64)| Demand { used: wanted.min(share), waited: wanted > share };
                let demands: Vec<Demand> = given.iter().zip(&wants).map(demand_of).collect();
                given = shares(1000, &demands);
            }
            for (share, fair) in given.iter().zip(fair) {
                assert!(*share >= fair, "{wants:?}: {given:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn all_together_have_the_rate_and_nobody_has_nothing(
            rate in 200..u64::MAX / 100,
            demands in prop::collection::vec((0..u64::MAX / 4, any::<bool>()), 1..200),
        ) {
            let demands: Vec<_> = demands.into_iter().map(|(used, waited)| Demand { used, waited }).collect();
            let shares = shares(rate, &demands);
            prop_assert!(shares.iter().sum::<u64>() <= rate);
            prop_assert!(shares.iter().all(|share| *share > 0));
            prop_assert!(shares.iter().sum::<u64>() >= rate - demands.len() as u64);
        }

        #[test]
        fn nobody_who_wants_more_has_less_than_another(
            rate in 1000..u64::MAX / 100,
            demands in prop::collection::vec((0..1_u64 << 40, any::<bool>()), 2..50),
        ) {
            let demands: Vec<_> = demands.into_iter().map(|(used, waited)| Demand { used, waited }).collect();
            let shares = shares(rate, &demands);
            let least_hungry = demands.iter().zip(&shares).filter(|(demand, _)| demand.waited).map(|(_, share)| *share).min();
            if let Some(least) = least_hungry {
                prop_assert!(shares.iter().all(|share| *share <= least + demands.len() as u64));
            }
        }

        #[test]
        fn shares_belong_to_demands_whatever_their_order(
            demands in prop::collection::vec((0..1_u64 << 30, any::<bool>()), 2..20),
        ) {
            let demands: Vec<_> = demands.into_iter().map(|(used, waited)| Demand { used, waited }).collect();
            let mut reversed = demands.clone();
            reversed.reverse();
            let (there, mut back) = (shares(1 << 30, &demands), shares(1 << 30, &reversed));
            back.reverse();
            for (first, second) in there.iter().zip(&back) {
                prop_assert!(first.abs_diff(*second) <= 1);
            }
        }
    }
}
