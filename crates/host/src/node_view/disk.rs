//! Block devices: /proc/diskstats, without partitions, whose work their device counts too.
//!
//! A device on top of others (RAID, LVM, encryption) stands beside them: the same bytes appear at both. Read line by line
//! here: procfs fails as a whole where one line is not what it expects.

use std::collections::HashMap;
use std::path::Path;

use super::files::{Files, number};
use super::reading::{Reading, Subject, fields};

/// Sectors of /proc/diskstats have so many bytes, whatever the device's own.
const SECTOR_BYTES: u64 = 512;

/// Every kernel makes some of them, used or not.
const OFTEN_UNUSED: [&str; 3] = ["loop", "ram", "zram"];

const NS_PER_MS: u64 = 1_000_000;

fields! {
    /// A whole block device.
    pub struct Disk {
        Counter reads: "Read requests completed",
        Counter read_bytes: "Bytes read",
        Counter read_ns: "Time of all read requests, queueing included",
        Counter writes: "Write requests completed",
        Counter write_bytes: "Bytes written",
        Counter write_ns: "Time of all write requests, queueing included",
        Counter discards: "Discard requests completed",
        Counter busy_ns: "Time in which the device had at least one request",
        Counter queue_ns: "Time of all requests added up, those still in flight included",
        Gauge in_flight: "Requests in flight",
    }
}

/// The devices, with what must be remembered of them.
#[derive(Debug, Default)]
pub struct Disks {
    /// By name whether it is a partition, of all that the last reading found.
    partitions: HashMap<String, bool>,
}

impl Disks {
    /// Adds the devices of now.
    pub fn read(&mut self, files: &mut Files, readings: &mut Vec<Reading>) {
        let root = files.root.clone();
        let Some(diskstats) = files.read("proc/diskstats") else { return };
        let mut known = std::mem::take(&mut self.partitions);
        for line in diskstats.lines() {
            let Some((name, disk)) = parse(line) else { continue };
            let (name, partition) =
                known.remove_entry(name).unwrap_or_else(|| (name.to_owned(), is_partition(&root, name)));
            let unused = is_often_unused(&name) && disk.did_nothing();
            if !partition && !unused {
                readings.push(Reading::new(Subject::Disk, name.clone(), disk.into_values()));
            }
            self.partitions.insert(name, partition);
        }
    }
}

fn is_partition(root: &Path, name: &str) -> bool {
    // As sysfs calls devices such as `cciss/c0d0`.
    root.join("sys/class/block").join(name.replace('/', "!")).join("partition").exists()
}

fn is_often_unused(name: &str) -> bool {
    let number = OFTEN_UNUSED.iter().find_map(|kind| name.strip_prefix(kind));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Disk {
    fn did_nothing(&self) -> bool {
        [self.reads, self.writes, self.discards].iter().all(|count| count.unwrap_or(0) == 0)
    }
}

/// From a line of the kernel's Documentation/admin-guide/iostats.rst.
fn parse(line: &str) -> Option<(&str, Disk)> {
    let mut words = line.split_ascii_whitespace().skip(2);
    let name = words.next()?;
    let mut next = |unit| number(words.next(), unit);
    let (reads, _merged, read_bytes, read_ns) = (next(1)?, next(1), next(SECTOR_BYTES), next(NS_PER_MS));
    let (writes, _merged, write_bytes, write_ns) = (next(1), next(1), next(SECTOR_BYTES), next(NS_PER_MS));
    let (in_flight, busy_ns, queue_ns) = (next(1), next(NS_PER_MS), next(NS_PER_MS));
    // From Linux 4.18.
    let discards = next(1);
    let reads = Some(reads);
    let disk =
        Disk { reads, read_bytes, read_ns, writes, write_bytes, write_ns, discards, busy_ns, queue_ns, in_flight };
    Some((name, disk))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::text::tree;

    #[test]
    fn a_line_of_an_old_kernel_has_no_discards() {
        let disk = Disk {
            reads: Some(10),
            read_bytes: Some(200 * 512),
            read_ns: Some(30 * NS_PER_MS),
            writes: Some(40),
            write_bytes: Some(600 * 512),
            write_ns: Some(70 * NS_PER_MS),
            discards: None,
            busy_ns: Some(90 * NS_PER_MS),
            queue_ns: Some(100 * NS_PER_MS),
            in_flight: Some(8),
        };
        let line = "   8       0 sda 10 1 200 30 40 5 600 70 8 90 100";
        assert_eq!(parse(line), Some(("sda", disk.clone())));
        assert_eq!(parse(&format!("{line} 11 2 3 4 5 6")), Some(("sda", Disk { discards: Some(11), ..disk })));
        assert_eq!(parse("   8       0 sda"), None);
    }

    #[test]
    fn partitions_and_unused_pseudo_devices_are_left_out() {
        let root = tree(&[
            (
                "proc/diskstats",
                "   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n   7 1 loop1 5 0 40 1 0 0 0 0 0 1 1\n\
                 \x20253 0 zram0 0 0 0 0 0 0 0 0 0 0 0\n   8 0 sda 0 0 0 0 0 0 0 0 0 0 0\n\
                 \x20  8 1 sda1 9 0 8 0 0 0 0 0 0 0 0\n 104 0 cciss/c0d0 1 0 8 0 0 0 0 0 0 0 0\n\
                 \x20104 1 cciss/c0d0p1 1 0 8 0 0 0 0 0 0 0 0\n 259 0 nvme0n1 3 0 8 0 0 0 0 0 0 0 0\n",
            ),
            ("sys/class/block/sda1/partition", "1\n"),
            ("sys/class/block/cciss!c0d0p1/partition", "1\n"),
        ]);
        let (mut files, mut disks) = (Files::new(root.path()), Disks::default());
        let mut names = || {
            let mut readings = Vec::new();
            disks.read(&mut files, &mut readings);
            readings.into_iter().map(|reading| reading.name).collect::<Vec<_>>()
        };
        assert_eq!(names(), ["loop1", "sda", "cciss/c0d0", "nvme0n1"]);
        // Decided once: sysfs is not asked again.
        fs::remove_dir_all(root.path().join("sys")).unwrap();
        assert_eq!(names(), ["loop1", "sda", "cciss/c0d0", "nvme0n1"]);
    }
}
