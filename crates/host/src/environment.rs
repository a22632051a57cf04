//! What this node looks like: processors, memory, kernel, network, and the storage under the target.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use ioassay_protocol::environment::{Clock as ClockRecord, Environment, Mount};
use procfs::FromRead;

use crate::clock::Clock;
use crate::mounts::mount_of;
use crate::{block_device, boot_id, caches, client, host_name, memory, network, processors};

/// This node, with the storage under `target`, a directory or a block device, where that is a path of this node. Where its
/// ranks are bound each of them tells by itself ([`processors::binding`]).
pub fn of_this_node(target: Option<&Path>, clock: &Clock) -> Environment {
    // What lies on a device itself is on no file system.
    let directory = target.filter(|target| target.is_dir());
    let mount = directory.and_then(mount_of);
    let numbers = |device| (nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let device = numbers(directory.and_then(|directory| directory.metadata().ok()).map_or(0, |about| about.dev()));
    let storage = numbers(target.map_or(0, |target| storage_device(target, mount.as_ref())));
    let host = host_name();
    let root = Path::new("/");
    Environment {
        client_parameters: mount
            .as_ref()
            .map(|mount| client::parameters(root, mount, device, &host))
            .unwrap_or_default(),
        host,
        boot_id: boot_id(),
        cpu_model: cpu_model(),
        processors: processors::usable(),
        bindings: Vec::new(),
        governors: processors::governors(root),
        numa_nodes: processors::numa_nodes(root),
        memory_bytes: memory::total_bytes(),
        memory_limit_bytes: memory::limit_bytes(root, memory::total_bytes()),
        kernel_settings: memory::settings(root),
        kernel: kernel(),
        operating_system: operating_system(),
        clock: ClockRecord { source: clock.name().to_owned(), resolution_ns: clock.resolution_ns() },
        block_device: target.and_then(block_device::under),
        network: network::links(root),
        caches: caches::caches(root, mount.as_ref(), storage),
        mount,
    }
}

/// The block device that `target` is or lies on, by its number. Of some file systems, such as Btrfs, only the mount names it.
fn storage_device(target: &Path, mount: Option<&Mount>) -> u64 {
    let number = |path: &Path| path.metadata().ok().filter(|about| about.file_type().is_block_device());
    let source = mount.and_then(|mount| mount.source.as_deref()).map(Path::new);
    let device = number(target).or_else(|| number(source?)).map(|about| about.rdev());
    device.or_else(|| Some(target.metadata().ok()?.dev())).unwrap_or_default()
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
