//! What this node looks like: processors, memory, kernel, network, and the storage under the target.
//!
//! Everything here may be missing on some system; what is missing is left out, never guessed, never an error.

mod block_device;
mod client;
pub mod direct;
mod groups;
mod memory;
mod network;
mod processors;
mod quota;
mod text;

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ioassay_protocol::environment::{Clock as ClockRecord, Environment, Mount};
use procfs::FromRead;

pub use self::block_device::under as block_device_under;
pub use self::memory::{limit as memory_limit, memory_bytes};
pub use self::processors::{binding, processors, say_once};
pub use self::quota::{Quota, quotas};
use crate::measure::clock::Clock;

/// This node, with the storage under `target`, a directory or a block device, where that is a path of this node. Where its
/// ranks are bound each of them tells by itself ([`binding`]).
pub fn of_this_node(target: Option<&Path>, clock: &Clock) -> Environment {
    // What lies on a device itself is on no file system.
    let directory = target.filter(|target| target.is_dir());
    let mount = directory.and_then(mount_of);
    let device = directory.and_then(|directory| directory.metadata().ok()).map_or(0, |about| about.dev());
    let device = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let host = host();
    let root = Path::new("/");
    Environment {
        client_parameters: mount
            .as_ref()
            .map(|mount| client::parameters(root, mount, device, &host))
            .unwrap_or_default(),
        host,
        boot_id: boot_id(),
        cpu_model: cpu_model(),
        processors: processors(),
        bindings: Vec::new(),
        governors: processors::governors(root),
        numa_nodes: processors::numa_nodes(root),
        memory_bytes: memory_bytes(),
        memory_limit_bytes: memory::limit_bytes(root, memory_bytes()),
        kernel_settings: memory::settings(root),
        kernel: kernel(),
        operating_system: operating_system(),
        clock: ClockRecord { source: clock.name().to_owned(), resolution_ns: clock.resolution_ns() },
        block_device: target.and_then(block_device::under),
        network: network::links(root),
        mount,
    }
}

/// What this node is called; empty if the system would not say.
pub fn host() -> String {
    nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Identifies the running kernel.
pub fn boot_id() -> Option<String> {
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

/// What is mounted at `path` or above, in words. Nothing is asked of it: links on the way are not followed.
pub fn mounted_at(path: &Path) -> Option<String> {
    let mount = covering(path)?;
    let (point, source) = (mount.mount_point.display().to_string(), mount.mount_source.unwrap_or_default());
    Some(format!("{} of {source}, mounted at {point}", mount.fs_type))
}

/// The deepest mount point above `path`; of several at one place the last one covers the others.
fn covering(path: &Path) -> Option<procfs::process::MountInfo> {
    let mounts = procfs::process::Process::myself().ok()?.mountinfo().ok()?;
    let above = mounts.into_iter().filter(|mount| path.starts_with(&mount.mount_point));
    above.max_by_key(|mount| mount.mount_point.components().count())
}

/// The file system under `target`.
pub fn mount_of(target: &Path) -> Option<Mount> {
    let target = target.canonicalize().ok()?;
    let mount = covering(&target)?;
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
        assert!(node.kernel_settings.contains_key("vm.dirty_ratio"), "{:?}", node.kernel_settings);
    }
}
