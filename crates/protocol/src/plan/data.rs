//! Files, and the work that moves their bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RankRange;

/// A file set, in IOR's terms: a file holds `segments` segments; in a segment each rank that uses the file has
/// one block of `block_bytes`, moved in transfers of `transfer_bytes`. What one rank has in all its files is its
/// *part*; a file set has as many parts as ranks it is made for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSet {
    /// Which rank uses which files.
    pub layout: Layout,
    /// The ranks that it is made for: one part each. Left out: all ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RankRange>,
    /// Files in which each rank has blocks. With N-1 and N-M they are shared with the other ranks of its group.
    pub files_per_rank: u64,
    /// Bytes of one read or write call.
    pub transfer_bytes: u64,
    /// Contiguous bytes of one rank within a segment; a multiple of `transfer_bytes`.
    pub block_bytes: u64,
    /// Repetitions of the block across ranks. With `block_bytes` = `transfer_bytes` a shared file is strided.
    pub segments: u64,
    /// Where the first block begins in each file: a shift on purpose, so that nothing is aligned. Nothing is written
    /// before it.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub offset_bytes: u64,
    /// What is written.
    pub payload: Payload,
}

/// Which rank uses which files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Layout {
    /// Every rank files of its own.
    #[serde(rename = "N-N")]
    FilePerRank,
    /// All ranks share files.
    #[serde(rename = "N-1")]
    SharedFile,
    /// Groups of consecutive ranks share files.
    #[serde(rename = "N-M")]
    Groups(
        /// Groups, equal in size: a divisor of the ranks.
        u32,
    ),
}

/// What is written.
// Variants without keys have braces, because serde would let a unit variant have any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Payload {
    /// Zeros.
    Zero {},
    /// One transfer of random bytes per rank, written again and again: cheap, incompressible, but not unique.
    Repeated {},
    /// Random bytes that depend on file and offset: nothing compresses, nothing comes twice, all can be verified.
    Unique {},
    /// As `unique`, but compressible and with equal blocks.
    Reducible {
        /// Share of each 4 KiB block that is zeros, 0 to 100. 50 compresses to about half.
        zero_percent: u8,
        /// Share of 4 KiB blocks that are a copy of one of a few blocks, 0 to 100.
        duplicate_percent: u8,
    },
    /// IOR's `-l offset`: in each 16 bytes the offset and the time stamp (or seed) of the writer.
    IorOffset {
        /// IOR's `-G`.
        signature: i32,
    },
    /// IOR's `-l timestamp`, its default: one pattern in every transfer.
    IorTimestamp {
        /// IOR's `-G`.
        signature: i32,
    },
    /// IOR's `-l incompressible`.
    IorIncompressible {
        /// IOR's `-G`.
        signature: i32,
    },
    /// IOR's `-l random`.
    IorRandom {
        /// IOR's `-G`.
        signature: i32,
    },
}

/// Moving the bytes of a file set. Files are taken one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataWork {
    /// Name of the file set.
    pub files: String,
    /// What each operation does.
    pub transfer: Transfer,
    /// In which order the transfers in a file are done.
    pub order: Order,
    /// Whose part is read.
    #[serde(default, skip_serializing_if = "Source::is_own")]
    pub source: Source,
    /// When data is forced to stable storage. Its time counts in the phase.
    pub fsync: Fsync,
    /// Compare what is there with what was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// What happens to a file's size when it is opened for writing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<SizeAtOpen>,
    /// Lock the file around each transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Lock>,
    /// Advice that the kernel gets about the access (`posix_fadvise`, or `madvise` where the API maps files).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Advice>,
    /// The ranks wait for each other between open, transfers and close (IOR's `-g`). For one file per rank.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub barriers: bool,
    /// Bytes of one read call, where they are fewer than those of one that wrote (IOR reading with a smaller `-t`): a
    /// divisor of the file set's `transfer_bytes`. Only for reads of what was written in ascending order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece_bytes: Option<u64>,
}

/// What each operation of a data job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transfer {
    /// Write one transfer.
    Write,
    /// Read one transfer.
    Read,
    /// Read this percentage of the transfers, 1 to 99, chosen at random, and write the others.
    Mixed(u8),
}

impl Transfer {
    /// True if some transfers are written.
    pub fn writes(self) -> bool {
        self != Self::Read
    }

    /// True if some transfers are read.
    pub fn reads(self) -> bool {
        self != Self::Write
    }
}

/// The order of a rank's transfers in a file.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Ascending offsets.
    Sequential,
    /// Descending offsets.
    Backward,
    /// Every n-th transfer, then every n-th beginning with the second, and so on: each exactly once.
    Strided(u64),
    /// A random permutation: each transfer exactly once.
    Random,
    /// IOR's `-z` with this seed: in each segment a random permutation of the rank's transfers. In a shared file the
    /// transfers of a segment are distributed over the ranks at random, so that some have more of them than others.
    IorShuffled(i32),
    /// IOR's `-z` given twice: for each block of the rank's part one of the first so many blocks of the file is drawn
    /// afresh, whichever rank's it is, and its transfers come in ascending order. Only for reads, of one file of each
    /// rank.
    IorDrawn(u64),
    /// Each offset drawn afresh: some transfers twice, some never.
    RandomWithReplacement,
    /// Each offset drawn from a Zipf distribution: few transfers often, most rarely. The value is its exponent.
    Zipf(f64),
    /// Some operations go to a hot spot at the beginning of the rank's part of the file, the others elsewhere.
    HotSpot {
        /// Share of the transfers that are hot, 1 to 99.
        transfers_percent: u8,
        /// Share of the operations that go there, 1 to 99.
        operations_percent: u8,
    },
}

impl Order {
    /// True if each transfer comes exactly once.
    pub fn covers(self) -> bool {
        !matches!(self, Self::RandomWithReplacement | Self::IorDrawn(_) | Self::Zipf(_) | Self::HotSpot { .. })
    }
}

/// Whose part a read works on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The rank's own.
    #[default]
    Own,
    /// That of the rank this many further on (IOR's `-C` with `-Q`).
    Shift(u32),
    /// A random exchange: each part is read by one rank (IOR's `-ZZ`). The value is its seed (IOR's `-X`).
    Shuffled(u64),
    /// For each rank the part that it reads; some may be read twice and some not at all.
    Listed(Vec<u32>),
}

impl Source {
    /// True for [`Source::Own`].
    pub fn is_own(&self) -> bool {
        *self == Self::Own
    }
}

/// When data is forced to stable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fsync {
    /// Not at all.
    Never,
    /// Once per rank and file, before the file is closed (IOR's `-e`).
    AtClose,
    /// After every so many writes, and before the file is closed. 1 is IOR's `-Y`.
    EveryWrites(u64),
    /// Once per rank at the end of the phase: all of its files are synced after the last was written.
    AtEnd,
}

/// When data is compared with what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verify {
    /// Each transfer that was read (IOR's `-R`).
    Reads,
    /// Each transfer that was written is read back at once and compared (elbencho's `--verifydirect`).
    Writes,
}

/// What happens to a file's size when it is opened for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SizeAtOpen {
    /// It becomes empty. Not for shared files: ranks open them at different times.
    Empty,
    /// It is set to the planned size, without space.
    Full,
    /// Space for the planned size is allocated.
    Preallocated,
}

/// A lock around each transfer: shared for reads, exclusive for writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lock {
    /// Of the bytes that are moved.
    Range,
    /// Of the whole file.
    File,
}

/// Advice that the kernel gets about the access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// Read ahead as usual.
    Normal,
    /// Read ahead more.
    Sequential,
    /// Do not read ahead.
    Random,
    /// Load it now.
    WillNeed,
    /// Forget it now.
    DontNeed,
    /// It is used once (`posix_fadvise` only).
    NoReuse,
    /// Use huge pages (`madvise` only).
    HugePage,
    /// Do not use huge pages (`madvise` only).
    NoHugePage,
}
