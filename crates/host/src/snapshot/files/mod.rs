//! Which files of a node a snapshot has.
//!
//! One file per subject that needs more than a list of patterns.

mod block;
mod devices;
mod kernel;
mod lustre;
mod network;
mod others;

use super::collector::Collector;
use crate::client::{GPFS_CONFIGURATION, NFS_TABLES};

/// Files in which administrators set what tuning is about.
const CONFIGURATION: &[&str] = &[
    "etc/os-release",
    "etc/fstab",
    "etc/exports",
    "etc/exports.d/*",
    "etc/{nfs.conf,nfsmount.conf}",
    "etc/{nfs.conf.d,nfsmount.conf.d}/*",
    "etc/multipath.conf",
    "etc/multipath/bindings",
    "etc/multipath/conf.d/*",
    "etc/mdadm.conf",
    "etc/mdadm/mdadm.conf",
    "etc/sysctl.conf",
    "{etc,run,lib}/{modprobe.d,sysctl.d}/*",
    "usr/lib/{modprobe.d,sysctl.d}/*",
    "usr/local/lib/{modprobe.d,sysctl.d}/*",
    "etc/udev/rules.d/*",
    "usr/lib/udev/rules.d/{*scheduler*,*multipath*}",
    "etc/tuned/{active_profile,profile_mode,post_loaded_profile,tuned-main.conf}",
    "etc/tuned/*/tuned.conf",
    "etc/tuned/profiles/*/tuned.conf",
    "usr/lib/tuned/*/tuned.conf",
    "usr/lib/tuned/profiles/*/tuned.conf",
];

/// Collects all of them, the most numerous last.
pub fn collect(collector: &mut Collector<'_>) {
    CONFIGURATION.iter().for_each(|pattern| collector.matching(pattern));
    collector.file(GPFS_CONFIGURATION);
    NFS_TABLES.iter().for_each(|(_, path)| collector.file(path));
    kernel::collect(collector);
    network::collect(collector);
    block::collect(collector);
    others::collect(collector);
    lustre::collect(collector);
}
