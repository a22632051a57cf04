//! What a node looked like when it took part in a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One node, seen from the engine on it. `None` marks what the system would not tell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Host name.
    pub host: String,
    /// Identifies the running kernel: hosts that have the same one are one machine.
    pub boot_id: Option<String>,
    /// Processor model.
    pub cpu_model: Option<String>,
    /// Processors that this process may use.
    pub processors: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Kernel release and version.
    pub kernel: String,
    /// Operating system as in `/etc/os-release`.
    pub operating_system: Option<String>,
    /// The clock that times operations and its resolution.
    pub clock: Clock,
    /// The file system under the target.
    pub mount: Option<Mount>,
    /// The block device under that, where there is one.
    pub block_device: Option<BlockDevice>,
}

/// The clock that times operations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// `tsc` or `clock_monotonic`.
    pub source: String,
    /// Smallest step seen, in nanoseconds.
    pub resolution_ns: u64,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Mount {
    /// Where it is mounted.
    pub mount_point: String,
    /// What is mounted: a device, a server and path, a name.
    pub source: Option<String>,
    /// File system type, for example `ext4`, `nfs4`, `lustre`.
    pub file_system: String,
    /// Mount options and super block options, as the kernel prints them.
    pub options: Vec<String>,
    /// Size of the file system.
    pub total_bytes: u64,
    /// Bytes that an unprivileged user may still write.
    pub free_bytes: u64,
    /// Block size that the file system prefers for I/O.
    pub block_bytes: u64,
}

/// A block device's queue settings, as in `/sys/block/NAME/queue`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BlockDevice {
    /// Kernel name, for example `vda`.
    pub name: String,
    /// Model, where the device has one.
    pub model: Option<String>,
    /// Size of the device.
    pub size_bytes: u64,
    /// Queue settings by file name, for example `scheduler`, `read_ahead_kb`, `nr_requests`.
    pub queue: std::collections::BTreeMap<String, String>,
}
