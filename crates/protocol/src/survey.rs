//! What nodes look like before anything is measured on them: the facts that `ioassay doctor` judges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::failure::Failure;

/// What the nodes found when each of them inspected itself and the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Survey {
    /// Version of the document.
    pub version: u32,
    /// Version of the engine, the same on all nodes.
    pub engine_version: String,
    /// Wall-clock time in nanoseconds since 1970.
    pub unix_ns: u64,
    /// Every node, in the order of ranks.
    pub nodes: Vec<SurveyedNode>,
}

/// A node as its first rank saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SurveyedNode {
    /// How many ranks there are on it.
    pub ranks: u32,
    /// How many processors these may use together.
    pub processors: u32,
    /// What it looks like, with the file system under the target where that has answered.
    pub environment: Environment,
    /// What it saw of the target, where one was named.
    pub target: Option<TargetLook>,
    /// How much a process may have.
    pub limits: Limits,
    /// What a process may do.
    pub abilities: Abilities,
    /// What time it is there.
    pub wall_clock: WallClock,
    /// By how much the time line of its samples may be wrong against the first node's; `None` where all ranks share a clock.
    pub clock_uncertainty_ns: Option<u64>,
}

/// What a node saw of the target.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TargetLook {
    /// False if a call has not come back within the time limit. What it was to do it may still do later.
    pub answered: bool,
    /// Bytes that this user may still write.
    pub free_bytes: Option<u64>,
    /// Files that may still be created; `None` also where the file system does not count them.
    pub free_inodes: Option<u64>,
    /// True if the node has read the random text that the first node has written there, so that both have mounted the same
    /// file system; on the first node, if it has written it. `None` where there was nothing to be seen.
    pub shared: Option<bool>,
    /// What was wrong.
    pub problem: Option<Failure>,
}

/// How much a process may have; `None` means without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Files that it may have open (`ulimit -n`).
    pub open_files: Option<u64>,
    /// Processes of its user (`ulimit -u`).
    pub processes: Option<u64>,
    /// Size of a file (`ulimit -f`).
    pub file_bytes: Option<u64>,
    /// Memory that it may lock (`ulimit -l`).
    pub locked_bytes: Option<u64>,
    /// Size of a core file (`ulimit -c`).
    pub core_bytes: Option<u64>,
    /// Size of the file in memory that its ranks meet in.
    pub meeting_bytes: u64,
    /// Room in /dev/shm, where most MPIs have their processes meet; `None` where there is no such directory.
    pub shared_memory_bytes: Option<u64>,
}

/// What a process may do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Abilities {
    /// Drop the node's page cache.
    pub drop_caches: bool,
    /// Mount and unmount file systems.
    pub mount: bool,
    /// Ask how much of a file is in the page cache, by the system call cachestat.
    pub cachestat: bool,
    /// Why the kernel gives it no io_uring; `None` where it does.
    pub io_uring_refused: Option<String>,
}

/// What time it is on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WallClock {
    /// True if the kernel says that something keeps it in time, such as NTP; `None` where it does not report it.
    pub synchronized: Option<bool>,
    /// The first node's wall clock less this one's; `None` where they were not compared.
    pub offset_ns: Option<i64>,
}
