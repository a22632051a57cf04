//! Replaying an application: streams of operations on shared files, side by side in each rank.
//!
//! Not here: how a profile becomes streams; the control plane does that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RankRange;

/// What an application did in a phase. Each rank does its operations of all streams one after another, each stream's
/// evenly among the others', or as its timeline says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayWork {
    /// The streams.
    pub streams: Vec<Stream>,
    /// How long the application took: no operation begins before its time. Left out: each begins when the one before it
    /// has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
}

/// Operations of one kind on the items of a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Name of the tree, whose items all ranks share.
    pub tree: String,
    /// The ranks that have the stream. Left out: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RankRange>,
    /// Which items each of them uses, one after another and then again from the first.
    pub items: ItemShare,
    /// What it does to them.
    pub operation: StreamOperation,
    /// How many operations belong into each of these equal parts of the time. Left out: evenly many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<u64>,
}

/// Which items of a tree a rank uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ItemShare {
    /// Those that are its own: of n ranks the first uses items 0, n, 2 n and so on.
    Own,
    /// All.
    All,
}

/// What a stream does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum StreamOperation {
    /// Create each item once and write so many bytes into it, so that later phases find it.
    Fill {
        /// Bytes of each item.
        bytes: u64,
    },
    /// Read from items.
    Read(Transfers),
    /// Write into items, which are created where they are not there.
    Write(Transfers),
    /// Open and close items.
    Open {
        /// So often, by each rank.
        count: u64,
        /// The items are not there: each open fails.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        absent: bool,
    },
    /// Look at the attributes of items.
    Stat {
        /// So often, by each rank.
        count: u64,
        /// The items are not there: each look fails.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        absent: bool,
    },
    /// Create items that are not there, empty. Each once: only for own ones.
    Create {
        /// So many, by each rank.
        count: u64,
    },
    /// Give items another name, and their own again.
    Rename {
        /// So often, by each rank.
        count: u64,
    },
    /// Remove items. Each once: only for own ones.
    Remove {
        /// So many, by each rank.
        count: u64,
    },
}

/// Transfers of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    /// Transfers of each rank.
    pub count: u64,
    /// How often each rank opens an item for them: each time the same number of transfers, up to one, then it is closed.
    pub opens: u64,
    /// Their sizes. A transfer that would go beyond the end of the file ends there.
    pub sizes: Vec<Size>,
    /// Bytes of each item: no transfer goes beyond.
    pub file_bytes: u64,
    /// Where in an item each rank's transfers lie.
    pub region: Region,
    /// Where each transfer begins.
    pub order: StreamOrder,
    /// The file is forced to stable storage after every so many writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_every: Option<u64>,
}

/// A size of transfers, and how many have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// The size.
    pub bytes: u64,
    /// Of the sum of all weights, so many transfers have it.
    pub weight: u64,
}

/// Where in a file a rank's transfers lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Region {
    /// Anywhere.
    Whole,
    /// In a part of its own: of n ranks the first uses the first n-th of the file.
    Segment,
}

/// Where transfers begin, as weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamOrder {
    /// Where the one before ended.
    pub consecutive: u64,
    /// Beyond that, with gaps so that all of them reach the end of the region.
    pub forward: u64,
    /// It ends where the one before began, with gaps so that all of them reach the beginning of the region; the first
    /// ends at the end of the region.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub backward: u64,
    /// Anywhere in the region, at a multiple of the transfer's size.
    pub random: u64,
}
