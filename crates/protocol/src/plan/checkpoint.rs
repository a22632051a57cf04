//! Checkpoints of a model in training: which state it has, how that is spread over ranks, and when it is saved and restored.
//!
//! Not here: which rank has how many bytes of it; the engine works that out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::train::Compute;

/// The state of a model in training, spread over all ranks of the case. Their number is a multiple of `tensor` × `pipeline`;
/// the quotient is the number of data-parallel instances. Ranks are dealt to tensor shards first, then to pipeline stages,
/// then to instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The model.
    pub model: Model,
    /// Bytes of each parameter in the files of the model: 2 of bfloat16.
    pub model_bytes: u64,
    /// Bytes of the optimizer's state for each parameter: 12 of Adam with a copy of the parameters, all in float32.
    pub optimizer_bytes: u64,
    /// Ranks over which each layer is split.
    pub tensor: u32,
    /// Stages over which the layers are spread.
    pub pipeline: u32,
    /// Stage of ZeRO, 0 to 3. At 0 the first data-parallel instance writes all; from 1 on each instance writes its share of the
    /// optimizer's state, and at 3 also its share of the model.
    pub zero: u32,
    /// Generations that are kept: older ones are removed as soon as all ranks have written a new one.
    pub keep: u32,
}

/// How many parameters a model has, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Model {
    /// So many, which are spread evenly.
    Parameters(u64),
    /// Those of a transformer's matrices.
    Transformer(Transformer),
}

/// A transformer with gated feed-forward layers, grouped-query attention, and an output that is not tied to the embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transformer {
    /// Layers.
    pub layers: u64,
    /// Size of the hidden state.
    pub hidden: u64,
    /// Size of the feed-forward layers.
    pub feed_forward: u64,
    /// Attention heads.
    pub heads: u64,
    /// Heads of keys and of values.
    pub kv_heads: u64,
    /// Tokens of the vocabulary.
    pub vocabulary: u64,
}

/// Work on a checkpoint, by all ranks of the case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointWork {
    /// Name of the checkpoint.
    pub checkpoint: String,
    /// Bytes of each write or read; the last one of a file may be shorter.
    pub transfer_bytes: u64,
    /// What is done with it.
    pub operation: CheckpointOperation,
}

/// What is done with a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CheckpointOperation {
    /// Write generations, one after the other.
    Save(Save),
    /// Read the last generations that are there, the oldest of them first.
    Restore(Restore),
}

/// How generations are saved. Each begins with the next free number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Save {
    /// Generations to save.
    pub count: u64,
    /// How long the ranks compute before each of them, in nanoseconds.
    pub every_ns: u64,
    /// How that time is passed.
    pub compute: Compute,
    /// Each file is forced to stable storage before it is closed.
    pub fsync: bool,
    /// Each file is written under another name, and gets its own when it is complete.
    pub rename: bool,
    /// A thread of each rank writes while the rank computes. Left out: ranks stand still until all have written their files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
}

/// Writing beside computation. A rank stands still until the generation before is complete on all ranks, and until its state
/// is copied; what is written is made as it is written, so that no memory is taken for the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// How fast each rank copies its state into the memory of its node, in bytes per second.
    pub copy_bytes_per_s: u64,
}

/// How generations are restored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// Generations to restore.
    pub count: u64,
    /// Each rank reads the files of the rank this much further on.
    pub shift: u32,
    /// What is read is compared with what was written.
    pub verify: bool,
}
