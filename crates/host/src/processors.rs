//! The processors of this node: which of them may be used, how they are governed, which memory is close to them.

use std::collections::BTreeSet;
use std::path::Path;

use ioassay_protocol::environment::NumaNode;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::text::{entries, text};

/// How many processors this process may run on: those of the machine, less what affinity takes away.
pub fn usable() -> u32 {
    let Ok(set) = sched_getaffinity(Pid::this()) else {
        return 1;
    };
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).count() as u32
}

/// Which processors this process may run on, as the kernel lists them: `0-3,8`. Empty if it would not say.
pub fn binding() -> String {
    let status = text(Path::new("/proc/self"), "status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    allowed.unwrap_or_default().trim().to_owned()
}

/// Leaves one entry where all are the same, as on nodes that bind nobody.
pub fn merge_equal(bindings: &mut Vec<String>) {
    if bindings.iter().all(|binding| Some(binding) == bindings.first()) {
        bindings.truncate(1);
    }
}

/// Each governor that one of the processors has.
pub fn governors(root: &Path) -> Vec<String> {
    let each = entries(root, "sys/devices/system/cpu");
    let governors: BTreeSet<String> =
        each.iter().filter_map(|(_, cpu)| text(cpu, "cpufreq/scaling_governor")).collect();
    governors.into_iter().collect()
}

/// The NUMA nodes, in their order.
pub fn numa_nodes(root: &Path) -> Vec<NumaNode> {
    let nodes = entries(root, "sys/devices/system/node");
    nodes
        .iter()
        .filter_map(|(_, node)| {
            Some(NumaNode {
                processors: text(node, "cpulist").unwrap_or_default(),
                memory_bytes: memory_bytes(&text(node, "meminfo")?)?,
            })
        })
        .collect()
}

/// From a line such as `Node 0 MemTotal:       24639764 kB`.
fn memory_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.contains("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().rev().nth(1)?.parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tree;

    #[test]
    fn this_process_may_use_as_many_processors_as_its_list_names() {
        let counted: u32 = binding()
            .split(',')
            .map(|range| match range.split_once('-') {
                Some((first, last)) => last.parse::<u32>().unwrap() - first.parse::<u32>().unwrap() + 1,
                None => range.parse::<u32>().map(|_| 1).unwrap(),
            })
            .sum();
        assert_eq!(counted, usable());
    }

    #[test]
    fn ranks_that_are_bound_alike_say_it_once() {
        let merged = |bindings: &[&str]| {
            let mut bindings: Vec<String> = bindings.iter().map(|&binding| binding.to_owned()).collect();
            merge_equal(&mut bindings);
            bindings
        };
        assert_eq!(merged(&["0-3", "0-3"]), ["0-3"]);
        assert_eq!(merged(&["0-1", "2-3", "0-1"]), ["0-1", "2-3", "0-1"]);
    }

    #[test]
    fn governors_are_listed_once_and_memory_with_its_local_processors() {
        let root = tree(&[
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/online", "0-2\n"),
            ("sys/devices/system/node/node10/cpulist", "2\n"),
            ("sys/devices/system/node/node10/meminfo", "Node 10 MemTotal:       1024 kB\nNode 10 MemFree: 1 kB\n"),
            ("sys/devices/system/node/node2/cpulist", "0-1\n"),
            ("sys/devices/system/node/node2/meminfo", "Node 2 MemTotal:       2048 kB\n"),
            ("sys/devices/system/node/online", "2,10\n"),
        ]);
        assert_eq!(governors(root.path()), ["performance", "powersave"]);
        let node = |processors: &str, mib: u64| NumaNode { processors: processors.to_owned(), memory_bytes: mib << 20 };
        assert_eq!(numa_nodes(root.path()), [node("0-1", 2), node("2", 1)]);
        let empty = tree(&[]);
        assert_eq!((governors(empty.path()).len(), numa_nodes(empty.path()).len()), (0, 0));
    }
}
