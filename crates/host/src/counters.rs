//! What the kernel has counted for the whole node since it began: the device, the processors, the control groups; and
//! the memory that waits to be written back.
//!
//! Not here: what is counted for one process ([`crate::process_usage`]), differences over a phase.

use std::path::Path;

use procfs::{Current, CurrentSI};

use crate::quota::{self, Quota};

/// Sectors of `/proc/diskstats` have so many bytes, whatever the device's own.
const SECTOR_BYTES: u64 = 512;

/// The kernel's counters of this node at one moment.
#[derive(Debug)]
pub struct Counters {
    /// Bytes read from the device and written to it.
    pub device: Option<[u64; 2]>,
    /// Processor time of programs, all processors added up.
    pub user_ns: Option<u64>,
    /// Processor time that a hypervisor gave to others.
    pub steal_ns: Option<u64>,
    /// Of each control group of this process that keeps count.
    pub quotas: Vec<Quota>,
}

impl Counters {
    /// Reads them, which takes about a millisecond; `device` is the name of a block device.
    pub fn now(device: Option<&str>) -> Self {
        let total = procfs::KernelStats::current().ok().map(|stats| stats.total);
        let ns = |ms: u64| ms * 1_000_000;
        Self {
            device: device.and_then(moved),
            user_ns: total.as_ref().map(|time| ns(time.user_ms() + time.nice_ms())),
            steal_ns: total.as_ref().and_then(|time| time.steal_ms().map(ns)),
            quotas: quota::quotas(Path::new("/")),
        }
    }
}

/// Bytes read from `device` and written to it since the kernel began.
fn moved(device: &str) -> Option<[u64; 2]> {
    let disks = procfs::DiskStats::current().ok()?.0;
    let disk = disks.into_iter().find(|disk| disk.name == device)?;
    Some([disk.sectors_read, disk.sectors_written].map(|sectors| sectors * SECTOR_BYTES))
}

/// Bytes in the memory of this node that wait to be written back, to any storage.
pub fn dirty_bytes() -> Option<u64> {
    let memory = procfs::Meminfo::current().ok()?;
    Some(memory.dirty + memory.writeback + memory.nfs_unstable.unwrap_or(0))
}
