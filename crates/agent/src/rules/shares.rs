//! One rate for recorders that share no file: those of several records of a job, or of several jobs.
//!
//! Each file gets a share, and all shares together are never more than the rate. Those that want more than they have get what
//! the others leave (max-min fairness), second by second.

/// What a file of rules did in the last second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Demand {
    /// What went through, in bytes or calls.
    pub used: u64,
    /// Something had to wait: it wanted more.
    pub waited: bool,
}

/// What is kept for those that do nothing yet, of each 100: they begin with it, and get more in the next second.
const KEPT_PERCENT: u64 = 5;

/// The shares of a rate, in the order of the demands.
pub fn shares(rate: u64, demands: &[Demand]) -> Vec<u64> {
    let count = demands.len() as u64;
    if count <= 1 {
        return vec![rate; demands.len()];
    }
    if demands.iter().all(|demand| !demand.waited) {
        return vec![(rate / count).max(1); demands.len()];
    }
    // What they can begin with; it is theirs, whatever they do.
    let least = (rate * KEPT_PERCENT / 100 / count).max(1);
    let mut shares = vec![least; demands.len()];
    let mut left = rate.saturating_sub(least * count);
    // Those that wanted no more than they had get that, and a fifth to grow; but no more than all would get.
    let equal = left / count;
    let mut hungry = Vec::new();
    for (place, demand) in demands.iter().enumerate() {
        if demand.waited {
            hungry.push(place);
        } else {
            let more = (demand.used + demand.used / 5).saturating_sub(least).min(equal);
            shares[place] += more;
            left -= more;
        }
    }
    for (number, place) in hungry.iter().enumerate() {
        let more = left / (hungry.len() - number) as u64;
        shares[*place] += more;
        left -= more;
    }
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
        assert_eq!(shares(100, &[IDLE, IDLE]), [50, 50]);
        assert!(shares(100, &[]).is_empty());
    }

    #[test]
    fn what_one_leaves_the_other_gets() {
        let hungry = Demand { used: 500, waited: true };
        assert_eq!(shares(1000, &[hungry, IDLE]), [975, 25]);
        assert_eq!(shares(1000, &[hungry, hungry]), [500, 500]);
        let modest = Demand { used: 100, waited: false };
        assert_eq!(shares(1000, &[hungry, modest]), [880, 120]);
    }

    proptest! {
        #[test]
        fn all_together_never_have_more_than_the_rate_and_nobody_has_nothing(
            rate in 200..u64::MAX / 100,
            demands in prop::collection::vec((0..u64::MAX / 4, any::<bool>()), 1..20),
        ) {
            let demands: Vec<_> = demands.into_iter().map(|(used, waited)| Demand { used, waited }).collect();
            let shares = shares(rate, &demands);
            prop_assert!(shares.iter().sum::<u64>() <= rate);
            prop_assert!(shares.iter().all(|share| *share > 0));
            if demands.iter().any(|demand| demand.waited) {
                prop_assert!(shares.iter().sum::<u64>() >= rate - demands.len() as u64);
            }
        }
    }
}
