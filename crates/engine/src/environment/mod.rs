//! What this node looks like: processor, memory, kernel, and the storage under the target.
//!
//! Everything here may be missing on some system; what is missing is left out, never guessed, never an error.

mod block_device;
pub mod direct;

use std::path::Path;

use ioassay_contract::environment::{Clock as ClockRecord, Environment, Mount};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use procfs::{Current, FromRead};

use crate::measure::clock::Clock;

/// This node, with the storage under `target`, a directory or a block device, where that is a path of this node.
pub fn of_this_node(target: Option<&Path>, clock: &Clock) -> Environment {
    // What lies on a device itself is on no file system.
    let directory = target.filter(|target| target.is_dir());
    let mount = directory.and_then(mount_of);
    Environment {
        host: nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        boot_id: boot_id(),
        cpu_model: cpu_model(),
        processors: processors(),
        memory_bytes: memory_bytes(),
        kernel: kernel(),
        operating_system: operating_system(),
        clock: ClockRecord { source: clock.name().to_owned(), resolution_ns: clock.resolution_ns() },
        block_device: target.and_then(block_device::under),
        mount,
    }
}

/// Processors that this process may run on: those of the machine, less what affinity takes away.
pub fn processors() -> u32 {
    let Ok(set) = sched_getaffinity(Pid::this()) else {
        return 1;
    };
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).count() as u32
}

/// Memory of this node in bytes; 0 if the system would not say.
pub fn memory_bytes() -> u64 {
    procfs::Meminfo::current().map(|memory| memory.mem_total).unwrap_or_default()
}

fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

fn cpu_model() -> Option<String> {
    // On Arm the kernel prints numbers instead of a name.
    let text = std::fs::File::open("/proc/cpuinfo").ok()?;
    let cpus = procfs::CpuInfo::from_read(text).ok()?;
    cpus.model_name(0).map(str::to_owned)
}

fn kernel() -> String {
    let Ok(name) = nix::sys::utsname::uname() else {
        return String::new();
    };
    [name.sysname(), name.release(), name.version(), name.machine()].map(|part| part.to_string_lossy()).join(" ")
}

fn operating_system() -> Option<String> {
    let text = std::fs::read_to_string("/etc/os-release").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

/// The file system under `target`.
fn mount_of(target: &Path) -> Option<Mount> {
    let target = target.canonicalize().ok()?;
    let mounts = procfs::process::Process::myself().ok()?.mountinfo().ok()?;
    // The deepest mount point above the target; of several at one place the last one covers the others.
    let mount = mounts
        .into_iter()
        .filter(|mount| target.starts_with(&mount.mount_point))
        .max_by_key(|mount| mount.mount_point.components().count())?;
    let room = nix::sys::statvfs::statvfs(&target).ok()?;
    let option = |(name, value): (&String, &Option<String>)| match value {
        Some(value) => format!("{name}={value}"),
        None => name.clone(),
    };
    let mut options: Vec<String> = mount.mount_options.iter().chain(&mount.super_options).map(option).collect();
    options.sort();
    options.dedup();
    Some(Mount {
        mount_point: mount.mount_point.display().to_string(),
        source: mount.mount_source,
        file_system: mount.fs_type,
        options,
        total_bytes: room.blocks() * room.fragment_size(),
        free_bytes: room.blocks_available() * room.fragment_size(),
        block_bytes: room.block_size(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_node_has_processors_memory_a_kernel_and_a_mount_under_the_target() {
        let node = of_this_node(Some(Path::new("/proc/self")), &Clock::calibrated());
        assert!(node.processors > 0 && node.memory_bytes > 0);
        assert!(node.kernel.starts_with("Linux "));
        assert_eq!(node.mount.unwrap().file_system, "proc");
    }
}
