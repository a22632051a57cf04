//! Parameters of the target's file system's client that its mount options do not state.
//!
//! Read from files in memory of the kernel and by one on the node's own disk: nothing asks a server. One file per kind of
//! file system.

mod gpfs;
mod lustre;
mod nfs;

use std::collections::BTreeMap;
use std::path::Path;

use ioassay_protocol::environment::Mount;

pub use self::gpfs::CONFIGURATION as GPFS_CONFIGURATION;
pub use self::lustre::{PARAMETERS as LUSTRE_PARAMETERS, PLACES as LUSTRE_PLACES};
pub use self::nfs::TABLES as NFS_TABLES;
use crate::text::text;

/// The parameters for the file system that is `mount`ed, with these device numbers, on the node called `host`.
pub fn parameters(root: &Path, mount: &Mount, (major, minor): (u64, u64), host: &str) -> BTreeMap<String, String> {
    let mut parameters = match mount.file_system.as_str() {
        "lustre" => lustre::parameters(root, mount.source.as_deref().unwrap_or_default()),
        "nfs" | "nfs4" => nfs::parameters(root, &mount.mount_point),
        "gpfs" => gpfs::parameters(root, host),
        _ => BTreeMap::new(),
    };
    // What lies on a disk reads ahead as the disk's queue says.
    if major == 0 {
        let name = format!("sys/class/bdi/{major}:{minor}/read_ahead_kb");
        parameters.extend(text(root, &name).map(|kib| ("read_ahead_kb".to_owned(), kib)));
    }
    parameters
}
