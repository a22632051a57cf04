//! What the node did second by second while another program measured: counters of disks, network and memory.
//!
//! Counters count from the node's start; what happened in a second is the difference of two lines.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use procfs::Current;
use serde::Serialize;

use ioassay_host::clock;

/// A sector of `/proc/diskstats`, whatever the disk's own are.
const SECTOR_BYTES: u64 = 512;

/// One line.
#[derive(Debug, Serialize)]
struct Sample {
    /// Wall-clock time in nanoseconds since 1970.
    unix_ns: u64,
    disks: BTreeMap<String, Disk>,
    network: BTreeMap<String, Interface>,
    memory: Memory,
}

#[derive(Debug, Serialize)]
struct Disk {
    reads: u64,
    read_bytes: u64,
    read_ms: u64,
    writes: u64,
    written_bytes: u64,
    write_ms: u64,
    /// Requests on their way at this moment.
    in_flight: u64,
    busy_ms: u64,
}

#[derive(Debug, Serialize)]
struct Interface {
    received_bytes: u64,
    received_packets: u64,
    sent_bytes: u64,
    sent_packets: u64,
}

#[derive(Debug, Serialize)]
struct Memory {
    /// At this moment.
    available_bytes: Option<u64>,
    cached_bytes: u64,
    dirty_bytes: u64,
    writeback_bytes: u64,
    /// Bytes that the kernel has fetched from, and written to, block devices.
    paged_in_bytes: u64,
    paged_out_bytes: u64,
}

/// Writes a sample whenever it is asked to, one JSON object a line.
#[derive(Debug)]
pub struct Sampler(File);

impl Sampler {
    /// Begins the file at `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(File::create_new(path)?))
    }

    /// Writes a sample of this moment.
    pub fn sample(&mut self) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Sample::now()?)?;
        line.push(b'\n');
        self.0.write_all(&line)
    }
}

impl Sample {
    fn now() -> io::Result<Self> {
        let unix_ns = clock::unix_ns();
        let disks = procfs::DiskStats::current().map_err(io::Error::other)?.0;
        let network = procfs::net::InterfaceDeviceStatus::current().map_err(io::Error::other)?.0;
        let memory = procfs::Meminfo::current().map_err(io::Error::other)?;
        let pages: HashMap<String, i64> = procfs::vmstat().map_err(io::Error::other)?;
        // In KiB.
        let paged = |key: &str| pages.get(key).map_or(0, |&kib| kib.cast_unsigned() * 1024);
        let disk = |disk: procfs::DiskStat| {
            let about = Disk {
                reads: disk.reads,
                read_bytes: disk.sectors_read * SECTOR_BYTES,
                read_ms: disk.time_reading,
                writes: disk.writes,
                written_bytes: disk.sectors_written * SECTOR_BYTES,
                write_ms: disk.time_writing,
                in_flight: disk.in_progress,
                busy_ms: disk.time_in_progress,
            };
            (disk.name, about)
        };
        let interface = |(name, about): (String, procfs::net::DeviceStatus)| {
            let about = Interface {
                received_bytes: about.recv_bytes,
                received_packets: about.recv_packets,
                sent_bytes: about.sent_bytes,
                sent_packets: about.sent_packets,
            };
            (name, about)
        };
        Ok(Self {
            unix_ns,
            // Devices that nobody ever used are noise.
            disks: disks.into_iter().map(disk).filter(|(_, disk)| disk.reads + disk.writes > 0).collect(),
            network: network.into_iter().map(interface).collect(),
            memory: Memory {
                available_bytes: memory.mem_available,
                cached_bytes: memory.cached,
                dirty_bytes: memory.dirty,
                writeback_bytes: memory.writeback,
                paged_in_bytes: paged("pgpgin"),
                paged_out_bytes: paged("pgpgout"),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_a_line_with_units_in_its_names() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("samples.jsonl");
        let mut sampler = Sampler::create(&path).unwrap();
        sampler.sample().unwrap();
        sampler.sample().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0]["unix_ns"].as_u64() < lines[1]["unix_ns"].as_u64());
        assert!(lines[0]["memory"]["cached_bytes"].is_u64(), "{text}");
        assert!(lines[0]["network"].is_object() && lines[0]["disks"].is_object());
    }
}
