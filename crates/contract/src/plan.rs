//! The plan: one case, fully resolved. No sweeps, no defaults, no units to parse.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One case for the engine to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this document; the engine refuses any other than its own.
    pub version: u32,
    /// Identifier of the run. It names the directory `ioassay-RUN` that the engine creates under the target.
    /// Letters, digits, `.`, `_` and `-` only.
    pub run: String,
    /// Identifier of the case, unique in the run; it begins the names of its files. Same letters as `run`.
    pub case: String,
    /// Where the I/O goes.
    pub target: Target,
    /// How the I/O is done.
    pub storage: Storage,
    /// Who does the I/O.
    pub ranks: RankCount,
    /// The file set that the phases write and read.
    pub data: DataSet,
    /// What happens, in order. Every rank does every step, with a barrier before each.
    pub steps: Vec<Step>,
    /// Seed of every random choice: the same plan with the same seed does the same I/O.
    pub seed: u64,
    /// Length of one sample in nanoseconds. 1,000,000,000 gives the usual sample per second.
    pub sample_interval_ns: u64,
}

/// Where I/O goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// An existing directory of a mounted file system. The engine writes only inside a directory of its own below it.
    pub directory: std::path::PathBuf,
}

/// The storage API and its options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// Name of the storage API as in the engine's registry, for example `posix`.
    pub api: String,
}

/// How many ranks do I/O. Ranks = `clients` × `per_client`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankCount {
    /// Client nodes that the study asked for. Local ranks stand in for them on one node.
    pub clients: u32,
    /// Ranks on each client.
    pub per_client: u32,
}

impl RankCount {
    /// Ranks in all. `None` where the product does not fit 32 bits.
    pub fn total(&self) -> Option<u32> {
        self.clients.checked_mul(self.per_client)
    }
}

/// The file set, in IOR's terms: a file holds `segments` segments; in a segment each rank that uses the file
/// has one block of `block_bytes`, moved in transfers of `transfer_bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    /// Which rank uses which file.
    pub layout: Layout,
    /// Bytes of one read or write call.
    pub transfer_bytes: u64,
    /// Contiguous bytes of one rank within a segment; a multiple of `transfer_bytes`.
    pub block_bytes: u64,
    /// Repetitions of the block across ranks.
    pub segments: u64,
}

/// Which rank uses which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Layout {
    /// Every rank its own file.
    #[serde(rename = "N-N")]
    FilePerRank,
    /// All ranks one shared file.
    #[serde(rename = "N-1")]
    SharedFile,
}

/// One step of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// A timed phase.
    Phase(Phase),
    /// Empty the caches between a write and a read, then measure what is still resident.
    ColdCache {
        /// Ways to try, in this order, until nothing of the file set is resident.
        attempts: Vec<CacheMethod>,
    },
    /// Wait, so that one phase's after-effects do not enter the next one (IOR's `-d`).
    Pause {
        /// How long, in nanoseconds.
        duration_ns: u64,
    },
}

/// A timed phase between barriers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Name of the phase, unique in the case, for example `write`.
    pub name: String,
    /// What every operation does.
    pub operation: Operation,
    /// In which order the transfers of a rank are done.
    pub order: Order,
    /// When data is forced to stable storage. Its time counts in the phase.
    pub fsync: Fsync,
}

/// What an operation of a data phase does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Write one transfer.
    Write,
    /// Read one transfer.
    Read,
}

/// The order of a rank's transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Ascending offsets.
    Sequential,
    /// A random permutation: each transfer exactly once.
    Random,
    /// Each offset drawn afresh: some transfers twice, some never.
    RandomWithReplacement,
}

/// When data is forced to stable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fsync {
    /// Not at all.
    Never,
    /// Once per rank and file at the end of the phase, before close (IOR's `-e`).
    AtEnd,
}

/// A way to make the next read phase read from storage and not from memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMethod {
    /// `echo 3 > /proc/sys/vm/drop_caches` on every node; needs root.
    DropCaches,
    /// `posix_fadvise(POSIX_FADV_DONTNEED)` on the files of the case.
    Fadvise,
    /// Let every rank read what the next rank wrote (IOR's `-C`). Helps where ranks sit on several nodes.
    ReadOtherRank,
}
