//! What a node looked like when it took part in a run.

use std::collections::BTreeMap;

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
    /// Which processors each rank on the node may use, ascending by rank, as the kernel lists them: `0-3,8`. A single entry
    /// holds for all of them.
    #[serde(default)]
    pub bindings: Vec<String>,
    /// How the frequency of the processors is governed: each governor that one of them has, for example `performance`.
    #[serde(default)]
    pub governors: Vec<String>,
    /// The parts of the node with processors and memory close to each other.
    #[serde(default)]
    pub numa_nodes: Vec<NumaNode>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Memory that the job may use, page cache included, where a control group limits it to less than there is.
    #[serde(default)]
    pub memory_limit_bytes: Option<u64>,
    /// Settings of the kernel that change I/O, by name: `vm.dirty_ratio`, `transparent_hugepage`.
    #[serde(default)]
    pub kernel_settings: BTreeMap<String, String>,
    /// Kernel release and version.
    pub kernel: String,
    /// Operating system as in `/etc/os-release`.
    pub operating_system: Option<String>,
    /// The clock that times operations and its resolution.
    pub clock: Clock,
    /// The file system under the target.
    pub mount: Option<Mount>,
    /// Parameters of that file system's client besides its mount options, by name: `osc.max_rpcs_in_flight` of Lustre,
    /// `sunrpc.tcp_max_slot_table_entries` of NFS, `pagepool` of GPFS.
    #[serde(default)]
    pub client_parameters: BTreeMap<String, String>,
    /// What may hold data of the target beside the node's page cache.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<DataCache>,
    /// The block device under that, where there is one.
    pub block_device: Option<BlockDevice>,
    /// What connects the node to others.
    #[serde(default)]
    pub network: Vec<NetworkLink>,
}

/// Processors and memory that are close to each other.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NumaNode {
    /// The processors, as the kernel lists them: `0-3,8`.
    pub processors: String,
    /// The memory in bytes.
    pub memory_bytes: u64,
}

/// A network interface that is up, or a port of an InfiniBand adapter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NetworkLink {
    /// What the kernel calls it: `eth0`, `mlx5_0/1`.
    pub name: String,
    /// The driver of an interface.
    pub driver: Option<String>,
    /// The state of a port, for example `ACTIVE`, and what it carries: `InfiniBand` or `Ethernet`.
    pub state: Option<String>,
    /// Bits per second, where it has a rate.
    pub speed_bits_per_s: Option<u64>,
    /// Largest packet of an interface.
    pub mtu_bytes: Option<u64>,
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
    /// Size of the file system; `None` where it does not say, or says what cannot be right.
    pub total_bytes: Option<u64>,
    /// Bytes that an unprivileged user may still write; `None` as above.
    pub free_bytes: Option<u64>,
    /// Block size that the file system prefers for I/O.
    pub block_bytes: u64,
    /// What it says of itself that cannot be right, each with what was therefore not checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Something that may hold data between an application and its storage, beside the page cache of the node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DataCache {
    /// What it is called: `ZFS ARC`, `FS-Cache`, `bcache`.
    pub name: String,
    /// What it may have done, in words.
    pub because: String,
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
    /// The file that a loop device lies on, where its pages are kept in the node's memory, under those of the device.
    #[serde(default)]
    pub cached_file: Option<String>,
    /// Queue settings by file name, for example `scheduler`, `read_ahead_kb`, `nr_requests`.
    pub queue: BTreeMap<String, String>,
}
