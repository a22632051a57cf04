//! File systems that sites run beside Lustre, GPFS and NFS: ZFS, btrfs, BeeGFS, Ceph, WEKA and DAOS.

use crate::snapshot::collector::Collector;

const PATTERNS: &[&str] = &[
    // ZFS; the parameters of its module are with those of the others.
    "proc/spl/kstat/zfs/{arcstats,dmu_tx,zfetchstats}",
    // btrfs, a directory for each file system, and in `allocation` one for each profile.
    "sys/fs/btrfs/*/{checksum,nodesize,sectorsize,exclusive_operation}",
    "sys/fs/btrfs/*/bdi/read_ahead_kb",
    "sys/fs/btrfs/*/allocation/*/{total_bytes,bytes_used,disk_total,disk_used}",
    "sys/fs/btrfs/*/allocation/{data,metadata,mixed,system}/*/{total_bytes,used_bytes}",
    "sys/fs/btrfs/*/devinfo/*/{missing,error_stats,replace_target}",
    // BeeGFS: daemons and clients, also several on one node.
    "etc/beegfs/*.conf",
    "etc/beegfs/*.d/*.conf",
    "proc/fs/beegfs/*/config",
    // Ceph. `ceph.conf` has no keys; keyrings are files of their own.
    "etc/ceph/ceph.conf",
    "sys/kernel/debug/ceph/*/{client_options,status}",
    "sys/bus/rbd/devices/*/{major,minor,pool,size,features,config_info}",
    // WEKA and DAOS.
    "proc/wekafs/{interface,frontend}",
    "etc/daos/daos_agent.yml",
];

/// Collects them.
pub fn collect(collector: &mut Collector<'_>) {
    for pattern in PATTERNS {
        collector.matching(pattern);
    }
    for link in collector.paths("sys/fs/btrfs/*/devices/*") {
        collector.link(&link);
    }
}
