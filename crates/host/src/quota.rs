//! How often the control groups of this process have used up their quota of processor time.

use std::path::Path;

use crate::control_groups;
use crate::text::text;

/// What has become of the quota of a control group since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Periods in which a process of the group wanted a processor.
    pub periods: u64,
    /// Those of them in which the quota was used up.
    pub throttled: u64,
}

/// Of each group on the way up that keeps count, in this order.
pub fn quotas(root: &Path) -> Vec<Quota> {
    let groups = control_groups::on_the_way_up(root, "cpu");
    groups.iter().filter_map(|(_, group)| of(&text(root, group.join("cpu.stat").to_str()?)?)).collect()
}

/// Both versions of control groups have these lines in `cpu.stat`.
fn of(stat: &str) -> Option<Quota> {
    let count = |name: &str| {
        let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some(Quota { periods: count("nr_periods ")?, throttled: count("nr_throttled ")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tree;

    #[test]
    fn groups_that_keep_count_of_their_quota_tell_it_from_the_lowest_one_up() {
        let stat = "usage_usec 7\nuser_usec 5\nsystem_usec 2\nnr_periods 40\nnr_throttled 30\nthrottled_usec 900\n";
        let job = [
            ("proc/self/cgroup", "0::/slurm/job_7\n"),
            ("sys/fs/cgroup/slurm/job_7/cpu.stat", stat),
            ("sys/fs/cgroup/slurm/cpu.stat", "usage_usec 9\nnr_periods 0\nnr_throttled 0\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 9\n"),
        ];
        let expected = [Quota { periods: 40, throttled: 30 }, Quota { periods: 0, throttled: 0 }];
        assert_eq!(quotas(tree(&job).path()), expected);
        let old = [
            ("proc/self/cgroup", "4:cpu,cpuacct:/job_7\n0::/\n"),
            ("sys/fs/cgroup/cpu/job_7/cpu.stat", "nr_periods 3\nnr_throttled 1\nthrottled_time 5\n"),
        ];
        assert_eq!(quotas(tree(&old).path()), [Quota { periods: 3, throttled: 1 }]);
        assert_eq!(quotas(tree(&[]).path()), []);
    }
}
