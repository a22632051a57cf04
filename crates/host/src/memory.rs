//! The memory of this node, how much of it the job may use, and the kernel's settings that decide what it does with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use procfs::Current;

use crate::control_groups::{self, Version};
use crate::text::{chosen, number, text};

/// Settings of the kernel's virtual memory that change when data is written out, and what is kept in memory.
const VM: [&str; 10] = [
    "dirty_background_bytes",
    "dirty_background_ratio",
    "dirty_bytes",
    "dirty_expire_centisecs",
    "dirty_ratio",
    "dirty_writeback_centisecs",
    "min_free_kbytes",
    "swappiness",
    "vfs_cache_pressure",
    "zone_reclaim_mode",
];

/// Memory of this node in bytes; 0 if the system would not say.
pub fn total_bytes() -> u64 {
    procfs::Meminfo::current().map(|memory| memory.mem_total).unwrap_or_default()
}

/// The settings by name.
pub fn settings(root: &Path) -> BTreeMap<String, String> {
    let vm = VM.iter().filter_map(|name| Some((format!("vm.{name}"), text(root, &format!("proc/sys/vm/{name}"))?)));
    let huge = text(root, "sys/kernel/mm/transparent_hugepage/enabled");
    let huge = huge.map(|huge| ("transparent_hugepage".to_owned(), chosen(&huge).to_owned()));
    vm.chain(huge).collect()
}

/// The most memory that the processes of a job may have on this node, and what bounds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// In bytes, page cache included where a control group bounds it.
    pub bytes: u64,
    /// Whose bound it is, for people.
    pub whose: String,
}

/// The memory of this node, or less where a control group of this process allows less. `None` if the system would not say.
pub fn limit() -> Option<Limit> {
    let bytes = total_bytes();
    let of_node = (bytes > 0).then(|| Limit { bytes, whose: format!("the memory of {}", crate::host_name()) });
    least_of_groups(Path::new("/"), if bytes > 0 { bytes } else { u64::MAX }).or(of_node)
}

/// What the control groups of this process let it have, page cache included: the least of them on the way up. `None`
/// where they leave it all of the node's `memory_bytes`.
pub fn limit_bytes(root: &Path, memory_bytes: u64) -> Option<u64> {
    least_of_groups(root, memory_bytes).map(|limit| limit.bytes)
}

fn least_of_groups(root: &Path, memory_bytes: u64) -> Option<Limit> {
    let limits = control_groups::on_the_way_up(root, "memory").into_iter().flat_map(|(version, group)| {
        let files: &[&str] = match version {
            Version::Two => &["memory.max", "memory.high"],
            Version::One => &["memory.limit_in_bytes"],
        };
        let limit = |file: PathBuf| {
            let bytes = number(root, file.to_str()?)?;
            Some(Limit { bytes, whose: format!("the memory control group's /{}", file.display()) })
        };
        files.iter().filter_map(|file| limit(group.join(file))).collect::<Vec<_>>()
    });
    // "No limit" is a word in version 2, and in version 1 a number beyond all memory.
    limits.min_by_key(|limit| limit.bytes).filter(|limit| limit.bytes < memory_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tree;

    const GIB: u64 = 1 << 30;

    #[test]
    fn the_least_limit_on_the_way_up_bounds_a_job() {
        let job = [
            ("proc/self/cgroup", "0::/slurm/job_7/step_0\n"),
            ("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n"),
            ("sys/fs/cgroup/slurm/job_7/memory.max", "17179869184\n"),
            ("sys/fs/cgroup/slurm/job_7/memory.high", "8589934592\n"),
            ("sys/fs/cgroup/slurm/memory.max", "34359738368\n"),
        ];
        assert_eq!(limit_bytes(tree(&job).path(), 64 * GIB), Some(8 * GIB));
        let least = least_of_groups(tree(&job).path(), 64 * GIB).unwrap();
        assert_eq!(least.whose, "the memory control group's /sys/fs/cgroup/slurm/job_7/memory.high");
        assert_eq!(limit_bytes(tree(&job[..2]).path(), 64 * GIB), None);
        assert_eq!(limit_bytes(tree(&[]).path(), 64 * GIB), None);
    }

    #[test]
    fn in_version_1_a_limit_beyond_all_memory_is_none() {
        let line = ("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/job_7\n0::/\n");
        let of_job = |bytes| tree(&[line, ("sys/fs/cgroup/memory/job_7/memory.limit_in_bytes", bytes)]);
        assert_eq!(limit_bytes(of_job("4294967296\n").path(), 64 * GIB), Some(4 * GIB));
        assert_eq!(limit_bytes(of_job("9223372036854771712\n").path(), 64 * GIB), None);
    }

    #[test]
    fn settings_are_read_by_name_and_missing_ones_left_out() {
        let root = tree(&[
            ("proc/sys/vm/dirty_ratio", "20\n"),
            ("proc/sys/vm/drop_caches", "3\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ]);
        let expected = [("transparent_hugepage", "madvise"), ("vm.dirty_ratio", "20")];
        let expected: BTreeMap<String, String> =
            expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        assert_eq!(settings(root.path()), expected);
    }
}
