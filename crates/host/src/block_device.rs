//! The block device that is the target, or lies under it, and its queue settings.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use ioassay_protocol::environment::BlockDevice;

use crate::caches::backing_file;

/// The settings that decide how I/O reaches the device.
const QUEUE: [&str; 13] = [
    "scheduler",
    "nr_requests",
    "read_ahead_kb",
    "max_sectors_kb",
    "max_hw_sectors_kb",
    "rotational",
    "nomerges",
    "rq_affinity",
    "wbt_lat_usec",
    "write_cache",
    "logical_block_size",
    "physical_block_size",
    "optimal_io_size",
];

/// Bytes of a sector in /sys, whatever the device's own.
const SECTOR_BYTES: u64 = 512;

/// The device at `target`, or that of the file system that it is a directory of; `None` for network and memory file
/// systems.
pub fn under(target: &Path) -> Option<BlockDevice> {
    let about = fs::metadata(target).ok()?;
    let device = if about.file_type().is_block_device() { about.rdev() } else { about.dev() };
    let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let mut entry = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    if entry.join("partition").exists() {
        // The queue belongs to the whole device.
        entry = entry.parent()?.to_owned();
    }
    let read = |name: &str| fs::read_to_string(entry.join(name)).ok().map(|text| text.trim().to_owned());
    let queue: BTreeMap<String, String> =
        QUEUE.iter().filter_map(|&name| Some((name.to_owned(), read(&format!("queue/{name}"))?))).collect();
    Some(BlockDevice {
        name: entry.file_name()?.to_string_lossy().into_owned(),
        model: read("device/model"),
        size_bytes: read("size").and_then(|sectors| sectors.parse::<u64>().ok()).unwrap_or(0) * SECTOR_BYTES,
        cached_file: backing_file(&entry),
        queue,
    })
}
