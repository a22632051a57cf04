//! Training: datasets of samples, and epochs of data loaders that feed accelerators with them.
//!
//! Not here: how long an accelerator takes for a batch of which model; studies say that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::replay::Size;

/// Samples in files. The size of each sample follows from the seed and its number alone, so that a dataset is the same
/// whatever the number of ranks that create or read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Samples in all.
    pub samples: u64,
    /// Their sizes.
    pub sizes: SampleSizes,
    /// Samples of each file, laid end to end. A divisor of `samples`.
    pub samples_per_file: u64,
    /// What stands around them in the file.
    #[serde(default, skip_serializing_if = "Container::is_raw")]
    pub container: Container,
    /// The files lie in so many directories, file n in directory n modulo that. 0: in one with all others.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub subfolders: u64,
    /// Chooses the sizes of the samples, and their bytes.
    pub seed: u64,
    /// It stays on the target under this name, in a directory of its own: a run that finds it there creates only what is
    /// missing. Left out: it is removed with the run's workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
}

/// The format of the files of a dataset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Container {
    /// Samples and nothing else.
    #[default]
    Raw,
    /// TFRecord: each sample has its length before it, and checksums of both. Beside each file lies its index, which has the
    /// offset and the length of each record.
    Tfrecord,
    /// NumPy's npz, not compressed: one array of bytes. A sample is read with the whole file.
    Npz,
    /// Parquet, not compressed: a row group for each sample. The footer is read whenever a file is opened.
    Parquet,
}

impl Container {
    fn is_raw(&self) -> bool {
        *self == Self::Raw
    }
}

/// The sizes of the samples of a dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SampleSizes {
    /// All of so many bytes.
    Fixed(u64),
    /// Normally distributed, by the sum of twelve uniform numbers: the same on every machine, and never more than six
    /// standard deviations from the mean.
    Normal {
        /// The mean.
        mean_bytes: u64,
        /// The standard deviation.
        standard_deviation_bytes: u64,
        /// No sample is smaller: those that would be have this size.
        least_bytes: u64,
    },
    /// These sizes by their weights.
    Histogram(Vec<Size>),
}

/// Work on a dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainWork {
    /// Name of the dataset.
    pub dataset: String,
    /// What is done with it.
    pub operation: TrainOperation,
}

/// What is done with a dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TrainOperation {
    /// Write its files: of n ranks the first writes files 0, n, 2 n and so on.
    Create {
        /// Each file is forced to stable storage before it is closed.
        fsync: bool,
    },
    /// Train for one epoch: each rank is an accelerator with a data loader.
    Epoch(Epoch),
}

/// One epoch of training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Epoch {
    /// Its number, from 0: each has an order of its own.
    pub number: u32,
    /// Samples of a batch. An accelerator takes one batch for each step.
    pub batch: u64,
    /// Threads of each rank that load batches: each loads a whole batch, sample by sample.
    pub loader_threads: u32,
    /// Batches that each of these threads may be ahead of the accelerator.
    pub prefetch: u32,
    /// In which order samples are read. Of n ranks the first reads those at places 0, n, 2 n and so on of that order.
    pub shuffle: Shuffle,
    /// Samples that do not fill a batch of every rank are left out. Otherwise the last batch may be smaller, and ranks that have
    /// one sample less than others read one of the first again, so that all do as many steps.
    pub drop_last: bool,
    /// How long the accelerator computes for each batch, in nanoseconds: the mean, where that differs from step to step.
    pub compute_ns: u64,
    /// How it differs. Left out: each step takes as long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_times: Option<ComputeTimes>,
    /// How that time is passed.
    pub compute: Compute,
    /// After each step a rank waits for all others, as the exchange of gradients makes it do.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub sync_steps: bool,
    /// Each sample is compared with what was written.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub verify: bool,
    /// Of what is read for each sample only so many bytes are, from the first on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Only so many samples are read, the first of the epoch's order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// Every batch stays in memory until its computation ends. Otherwise the next sample overwrites it.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub hold_batches: bool,
    /// The model is evaluated between epochs of training: what is measured of it says nothing of these.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub evaluation: bool,
}

/// How long the computations of steps are. Each follows from the seed of the plan, the epoch, the rank and the step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ComputeTimes {
    /// Normally distributed around the mean, and never less than 0.
    Normal {
        /// The standard deviation.
        standard_deviation_ns: u64,
    },
    /// These times by their weights.
    Histogram(Vec<ComputeTime>),
}

/// A time of a histogram.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComputeTime {
    /// In nanoseconds.
    pub ns: u64,
    /// How many steps of the sum of all weights take so long.
    pub weight: u64,
}

/// The order in which an epoch reads samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shuffle {
    /// As they lie in the dataset, the same in each epoch.
    None,
    /// Files at random, the samples of each as they lie in it.
    Files,
    /// Samples at random.
    Samples,
}

/// How the time of a computation is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compute {
    /// Asleep, as a process that waits for an accelerator does.
    Sleep,
    /// On a processor.
    Spin,
}
