//! The memory of the node, what the kernel had to do to find more of it, and the time that was lost to shortages:
//! /proc/meminfo, /proc/vmstat, /proc/pressure.
//!
//! Read line by line here: procfs makes maps of all names in these files, which takes two to three times as long.

use super::files::{Files, number};
use super::reading::{Reading, Subject, fields};

fields! {
    /// The memory of the node.
    pub struct Memory {
        Gauge total_bytes: "Memory of the node",
        Gauge available_bytes: "Memory that programs can still get without swapping",
        Gauge page_cache_bytes: "Memory that holds the contents of files",
        Gauge dirty_bytes: "Memory that waits to be written back to storage",
        Gauge writeback_bytes: "Memory that is being written back to storage",
        Counter major_faults: "Page faults that had to wait for storage",
        Counter paged_in_bytes: "Bytes that were read from block devices",
        Counter paged_out_bytes: "Bytes that were written to block devices",
        Counter swapped_in_bytes: "Bytes that were read from swap space",
        Counter swapped_out_bytes: "Bytes that were written to swap space",
        Counter allocation_stalls: "Allocations that had to reclaim memory themselves",
    }
}

fields! {
    /// Time lost to a shortage of memory, I/O or processors (the kernel's pressure stall information).
    pub struct Pressure {
        Counter some_ns: "Time in which at least one task waited for the resource",
        Counter full_ns: "Time in which all tasks that had work waited for the resource",
    }
}

/// Adds the memory of now, and what pressure the kernel accounts for.
pub fn read(files: &mut Files, readings: &mut Vec<Reading>) {
    let mut memory = Memory::default();
    if let Some(meminfo) = files.read("proc/meminfo") {
        memory.take_meminfo(&meminfo);
    }
    if let Some(vmstat) = files.read("proc/vmstat") {
        memory.take_vmstat(&vmstat, page_bytes());
    }
    if memory != Memory::default() {
        readings.push(Reading::new(Subject::Memory, "", memory.into_values()));
    }
    for resource in ["cpu", "io", "memory"] {
        let pressure = files.read(&format!("proc/pressure/{resource}")).and_then(|text| pressure(&text));
        readings.extend(pressure.map(|pressure| Reading::new(Subject::Pressure, resource, pressure.into_values())));
    }
}

fn page_bytes() -> u64 {
    // SAFETY: a system parameter is read.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

impl Memory {
    /// From lines such as `MemTotal:       24639764 kB`.
    fn take_meminfo(&mut self, meminfo: &str) {
        for line in meminfo.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let field = match name {
                "MemTotal" => &mut self.total_bytes,
                "MemAvailable" => &mut self.available_bytes,
                "Cached" => &mut self.page_cache_bytes,
                "Dirty" => &mut self.dirty_bytes,
                "Writeback" => &mut self.writeback_bytes,
                _ => continue,
            };
            *field = number(value.split_ascii_whitespace().next(), 1024);
        }
    }

    /// From lines such as `pgmajfault 1215`.
    fn take_vmstat(&mut self, vmstat: &str, page_bytes: u64) {
        for line in vmstat.lines() {
            let Some((name, value)) = line.split_once(' ') else { continue };
            let (field, unit) = match name {
                "pgmajfault" => (&mut self.major_faults, 1),
                // KiB, whatever their names say.
                "pgpgin" => (&mut self.paged_in_bytes, 1024),
                "pgpgout" => (&mut self.paged_out_bytes, 1024),
                "pswpin" => (&mut self.swapped_in_bytes, page_bytes),
                "pswpout" => (&mut self.swapped_out_bytes, page_bytes),
                // One for each zone of memory; one for all before Linux 4.10.
                name if name.starts_with("allocstall") => {
                    let stalls = number(Some(value), 1);
                    let sum = |stalls| self.allocation_stalls.unwrap_or(0).checked_add(stalls);
                    self.allocation_stalls = stalls.and_then(sum);
                    continue;
                }
                _ => continue,
            };
            *field = number(Some(value), unit);
        }
    }
}

/// From lines such as `some avg10=0.00 avg60=0.12 avg300=0.29 total=3469413`, in microseconds.
fn pressure(text: &str) -> Option<Pressure> {
    let total = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        number(line.split(' ').find_map(|word| word.strip_prefix("total=")), 1000)
    };
    let pressure = Pressure { some_ns: total("some "), full_ns: total("full ") };
    (pressure != Pressure::default()).then_some(pressure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tree;

    fn readings(tree_files: &[(&str, &str)]) -> Vec<Reading> {
        let root = tree(tree_files);
        let mut readings = Vec::new();
        read(&mut Files::new(root.path()), &mut readings);
        readings
    }

    #[test]
    fn memory_is_in_bytes_and_stalls_of_all_zones_are_one() {
        let meminfo = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    600 kB\nCached:     400 kB\n\
                       SwapCached:        7 kB\nDirty:             5 kB\nWriteback:         4 kB\nWritebackTmp:      9 kB\n\
                       HugePages_Total:       0\n";
        let vmstat = "nr_free_pages 25\npgpgin 10\npgpgout 20\npswpin 3\npswpout 4\nallocstall_dma 1\n\
                      allocstall_normal 2\nallocstall_movable 5\npgmajfault 11\n";
        let mut memory = Memory::default();
        memory.take_meminfo(meminfo);
        memory.take_vmstat(vmstat, 65_536);
        let wanted = Memory {
            total_bytes: Some(1000 << 10),
            available_bytes: Some(600 << 10),
            page_cache_bytes: Some(400 << 10),
            dirty_bytes: Some(5 << 10),
            writeback_bytes: Some(4 << 10),
            major_faults: Some(11),
            paged_in_bytes: Some(10 << 10),
            paged_out_bytes: Some(20 << 10),
            swapped_in_bytes: Some(3 << 16),
            swapped_out_bytes: Some(4 << 16),
            allocation_stalls: Some(8),
        };
        assert_eq!(memory, wanted);
    }

    #[test]
    fn pressure_is_read_of_each_resource_that_the_kernel_accounts_for() {
        // Before Linux 5.13 processors had no second line.
        let readings = readings(&[
            ("proc/pressure/cpu", "some avg10=0.45 avg60=0.73 avg300=1.84 total=14927356\n"),
            (
                "proc/pressure/io",
                "some avg10=0.00 avg60=0.12 avg300=0.29 total=7\nfull avg10=0.00 avg60=0.09 avg300=0.27 total=5\n",
            ),
            ("proc/pressure/irq", "full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"),
        ]);
        let pressures: Vec<_> = readings
            .iter()
            .map(|reading| (reading.name.as_str(), reading.value("some_ns"), reading.value("full_ns")))
            .collect();
        assert_eq!(pressures, [("cpu", Some(14_927_356_000), None), ("io", Some(7000), Some(5000))]);
    }

    #[test]
    fn a_file_that_is_missing_leaves_out_its_values_alone() {
        let readings = readings(&[("proc/vmstat", "pgmajfault 5\nallocstall 2\n")]);
        let [memory] = readings.as_slice() else { panic!("{readings:?}") };
        let values: Vec<_> = memory.values().map(|(field, value)| (field.name, value)).collect();
        assert_eq!(values, [("major_faults", 5), ("allocation_stalls", 2)]);
    }
}
