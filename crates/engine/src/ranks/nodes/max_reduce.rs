//! What ranks of a job on several nodes agree on: the most that any of them has done.

use std::collections::BTreeMap;

use super::message::JobKey;

/// What has been said so far, on the first node.
#[derive(Debug, Default)]
pub struct MaxReduce(BTreeMap<JobKey, (u64, u32)>);

impl MaxReduce {
    /// Adds that `came` ranks of `of` have done `most`. The most of all, when all have come.
    pub fn add(&mut self, key: JobKey, most: u64, came: u32, of: u32) -> Option<u64> {
        let (highest, arrived) = self.0.entry(key).or_default();
        *highest = most.max(*highest);
        *arrived += came;
        (*arrived == of).then_some(*highest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_known_when_the_last_one_has_come() {
        let (mut reduce, key) = (MaxReduce::default(), JobKey { order: 1, step: 1, job: 0 });
        assert_eq!(reduce.add(key, 7, 2, 5), None);
        assert_eq!(reduce.add(JobKey { order: 1, step: 2, job: 0 }, 99, 1, 2), None);
        assert_eq!(reduce.add(key, 9, 1, 5), None);
        assert_eq!(reduce.add(key, 3, 2, 5), Some(9));
    }
}
