//! The file system that a path is on, from this process's list of mounts.

use std::path::Path;

use ioassay_protocol::environment::Mount;

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
