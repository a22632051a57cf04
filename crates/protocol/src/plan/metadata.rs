//! Trees of directories with items in them, and the work on their entries.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::Payload;
use super::{Operation, RankRange};

/// A tree as mdtest builds it: a root, `branch` directories in each directory down to `depth`, and in each (or only
/// in the leaves) `items_per_directory` items of each rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// The ranks that it is made for. Left out: all ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RankRange>,
    /// Who has which tree.
    pub sharing: Sharing,
    /// Levels below the root; 0 is the root alone (mdtest's `-z`).
    pub depth: u32,
    /// Directories in each directory that is no leaf (mdtest's `-b`).
    pub branch: u32,
    /// Items of each rank in each directory that has any (mdtest's `-I`).
    pub items_per_directory: u64,
    /// Only the leaves have items (mdtest's `-L`).
    pub leaves_only: bool,
    /// What the items are.
    pub items: Items,
    /// With a tree for each rank: each rank has its items in the tree of the rank this many further on (mdtest's `-u`
    /// with `-N`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub displaced: u32,
    /// How directories and items are called.
    #[serde(default, skip_serializing_if = "ItemNames::is_usual")]
    pub names: ItemNames,
    /// What files hold: one of IOR's payloads, with the item's number in the place of the offset, as mdtest writes them.
    /// Left out: random bytes that begin with the item's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
}

/// How directories and items are called. Longer names make larger directories, which shows in rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ItemNames {
    /// `mdtest_tree.3.0`, `file.mdtest.3.17`: mdtest's.
    #[default]
    Mdtest,
    /// `3_0`, `file-17`: md-workbench's. Only where each rank has a tree of its own.
    MdWorkbench,
}

impl ItemNames {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
    fn is_usual(&self) -> bool {
        *self == Self::Mdtest
    }
}

/// Who has which tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Each rank a tree of its own (mdtest's `-u`).
    Unique,
    /// One tree for all ranks; each has items of its own in it.
    Shared,
    /// One tree for all ranks with the items of one rank, which all ranks use (mdtest's `-S`).
    SharedItems,
}

/// What the items of a tree are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Items {
    /// Files.
    Files,
    /// Directories.
    Directories,
}

/// Work on the entries of a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetadataWork {
    /// Name of the tree.
    pub tree: String,
    /// What each operation does.
    pub operation: MetadataOperation,
    /// In which order the entries are taken.
    pub order: EntryOrder,
    /// Each rank works on the items of the rank this many further on (mdtest's `-N`). Not when items are created.
    /// What it does to a replacement stands there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shift: u32,
    /// How entries are named in system calls.
    pub paths: Paths,
    /// Compare what files hold with the tree's payload: what was read, or what was written by reading it back at once; of
    /// a replacement what was read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
    /// Each rank forces everything that its node has not written yet to stable storage after its last operation
    /// (`sync`, mdtest's `-Y`). Its time counts in the phase.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sync_at_end: bool,
}

/// What each operation of a metadata job does.
// Variants without keys have braces, because serde would let a unit variant have any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MetadataOperation {
    /// Create the directories of the tree.
    CreateTree {},
    /// Create one item.
    Create {
        /// With which call.
        with: CreateWith,
        /// Bytes written into each new file (mdtest's `-w`). 0: none.
        write_bytes: u64,
        /// fsync each file before it is closed (mdtest's `-y`).
        fsync: bool,
    },
    /// Look at one item's attributes.
    Stat {},
    /// Open one file, read, close.
    Read {
        /// Bytes read from each file (mdtest's `-e`). 0: open and close only.
        bytes: u64,
    },
    /// Open one existing file, write, close.
    Write {
        /// Bytes written from the file's beginning.
        bytes: u64,
        /// fsync each file before it is closed.
        fsync: bool,
    },
    /// Give one item another name in the same directory.
    Rename {},
    /// Replace one file by another one, as md-workbench does: look at it, read it, remove it, and create another one.
    /// Each of the four is an operation. With a `shift` of s a rank takes from directory d, counted from 1 among those
    /// that have items, the files of the rank s × d before it, and creates the new ones for the rank s × d after it.
    /// Each file is replaced once; the new ones have the names that a rename would have given the old ones.
    Replace {
        /// Bytes read from the old file, and written into the new one.
        bytes: u64,
    },
    /// Remove one item.
    Remove {},
    /// Remove the directories of the tree.
    RemoveTree {},
}

impl MetadataWork {
    /// True if what it writes is forced to stable storage, item by item or at the end.
    pub fn forces_to_storage(&self) -> bool {
        let each = matches!(
            self.operation,
            MetadataOperation::Create { fsync: true, .. } | MetadataOperation::Write { fsync: true, .. }
        );
        each || self.sync_at_end
    }
}

impl MetadataOperation {
    /// What is done to each item, one after the other, as records name it.
    pub fn operations(self) -> &'static [Operation] {
        match self {
            Self::CreateTree {} => &[Operation::CreateTree],
            Self::Create { .. } => &[Operation::Create],
            Self::Stat {} => &[Operation::Stat],
            Self::Read { .. } => &[Operation::Read],
            Self::Write { .. } => &[Operation::Write],
            Self::Rename {} => &[Operation::Rename],
            Self::Replace { .. } => &[Operation::Stat, Operation::Read, Operation::Remove, Operation::Create],
            Self::Remove {} => &[Operation::Remove],
            Self::RemoveTree {} => &[Operation::RemoveTree],
        }
    }
}

/// With which call a file is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CreateWith {
    /// `open` and `close`.
    Open,
    /// `mknod` (mdtest's `-k`).
    Mknod,
}

/// In which order entries are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EntryOrder {
    /// Directory after directory; where a limit let only some be created, as they were created.
    Sequential,
    /// One of each directory, then the next of each (md-workbench's); where a limit let only some be created, as they
    /// were created.
    Interleaved,
    /// A random permutation: each exactly once (mdtest's `-R`).
    Random,
}

/// How entries are named in system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Paths {
    /// By their full path, which the kernel walks from the root each time.
    Full,
    /// By their name in an open directory (`openat`, `fstatat`, `unlinkat`).
    At,
}

/// A parallel walk. An entry that meets all conditions matches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindWork {
    /// Where it begins; never changed. Left out: what this run has created on the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// It begins in the directory that holds this tree of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Shell pattern of the name, as `find -name` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Exact size in bytes of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Smallest size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_bytes: Option<u64>,
    /// Largest size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most_bytes: Option<u64>,
    /// Changed later than this, in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer_than_unix_ns: Option<u64>,
    /// Changed later than the beginning of this step of the plan (an earlier one).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer_than_step: Option<u32>,
    /// What kind of entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<Items>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}
