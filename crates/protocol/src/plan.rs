//! The plan: one case, fully resolved. No sweeps, no units to parse.
//!
//! Nothing has a default with a value of its own: a key that may be left out means that what it asks for is not
//! done (no rate, no verification, one transfer at a time).
//!
//! [`data`] describes files and what moves their bytes, [`metadata`] trees and what is done to their entries,
//! [`replay`] what an application did, [`train`] datasets and what trains with them, [`checkpoint`] the state of a model in
//! training, [`pace`] how much and how fast, [`cache`] how caches are emptied in between.

pub mod cache;
pub mod checkpoint;
pub mod data;
pub mod kv_cache;
pub mod metadata;
pub mod pace;
pub mod replay;
pub mod storage;
pub mod train;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::cache::CacheStep;
use self::checkpoint::{Checkpoint, CheckpointWork};
use self::data::{DataWork, FileSet};
use self::kv_cache::KvCacheWork;
use self::metadata::{FindWork, MetadataWork, Tree};
use self::pace::{Limit, Rate, Think};
use self::replay::ReplayWork;
use self::storage::{Storage, Target};
use self::train::{Dataset, TrainWork};

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
    /// How the I/O is done, by every job that has no storage of its own.
    pub storage: Storage,
    /// Who does the I/O.
    pub ranks: RankCount,
    /// File sets that data jobs write and read, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, FileSet>,
    /// Trees that metadata jobs create, stat and remove, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trees: BTreeMap<String, Tree>,
    /// Datasets that training jobs create and read, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub datasets: BTreeMap<String, Dataset>,
    /// Checkpoints that are saved and restored, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checkpoints: BTreeMap<String, Checkpoint>,
    /// What happens, in order. Every rank does every step, with a barrier before each.
    pub steps: Vec<Step>,
    /// Seed of every random choice: the same plan with the same seed does the same I/O.
    pub seed: u64,
    /// Memory that each rank takes and touches before the first step, as an application would (IOR's `-M`). It leaves
    /// less for the page cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memory_bytes: u64,
    /// When a step, or what comes before the first and after the last one, has not ended after this, in nanoseconds, something
    /// hangs, and the case is ended. Left out: it takes what it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_ns: Option<u64>,
    /// Length of one sample in nanoseconds. 1,000,000,000 gives the usual sample per second.
    pub sample_interval_ns: u64,
}

impl Plan {
    /// The jobs of all phases, in order.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        let phases =
            self.steps.iter().filter_map(|step| if let Step::Phase(phase) = step { Some(phase) } else { None });
        phases.flat_map(|phase| &phase.jobs)
    }

    /// How `job` does its I/O.
    pub fn storage_of<'a>(&'a self, job: &'a Job) -> &'a Storage {
        job.storage.as_ref().unwrap_or(&self.storage)
    }
}

/// The name of the directory that the engine creates for `run` under the target.
pub fn workspace_name(run: &str) -> String {
    format!("ioassay-{run}")
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

    /// The client that `rank` is on. Ranks follow each other client by client.
    pub fn client_of(&self, rank: u32) -> u32 {
        rank / self.per_client
    }
}

/// Consecutive ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankRange {
    /// The first of them.
    pub first: u32,
    /// How many.
    pub count: u32,
}

impl RankRange {
    /// The place of `rank` among them, from 0; `None` if it is not one of them.
    pub fn member(&self, rank: u32) -> Option<u32> {
        rank.checked_sub(self.first).filter(|&member| member < self.count)
    }

    /// One past the last of them. `None` where it does not fit 32 bits.
    pub fn end(&self) -> Option<u32> {
        self.first.checked_add(self.count)
    }
}

/// One step of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// A timed phase.
    Phase(Phase),
    /// Empty the caches between a write and a read, then measure what is still resident.
    ColdCache(CacheStep),
    /// Remove the files of file sets that are there, each by the rank that looks after it.
    RemoveFiles {
        /// Names of the file sets.
        files: Vec<String>,
    },
    /// Wait, so that one phase's after-effects do not enter the next one (IOR's `-d`).
    Pause {
        /// How long, in nanoseconds.
        duration_ns: u64,
    },
}

/// A timed phase between barriers: one job, or several side by side, each with ranks of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Name of the phase, unique in the case, for example `write`.
    pub name: String,
    /// Before its clock runs, all that the nodes have not yet written to the target's file system is written out, so that the
    /// phase does not share the storage with what came before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub settle: bool,
    /// What is done in it, all at the same time. No rank has two jobs in a phase; a rank without one waits.
    pub jobs: Vec<Job>,
}

impl Phase {
    /// These jobs side by side.
    pub fn new(name: &str, jobs: Vec<Job>) -> Self {
        Self { name: name.to_owned(), settle: false, jobs }
    }
}

/// What some ranks do in a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Name of the job, unique in the phase, for example `checkpoint`.
    pub name: String,
    /// Which ranks do it. Left out: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RankRange>,
    /// How they do their I/O. Left out: as the plan says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// What each of them does.
    pub work: Work,
    /// How much of it. Left out: all of it, once.
    #[serde(default, skip_serializing_if = "Limit::is_none")]
    pub limit: Limit,
    /// How fast at most. Left out: as fast as it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Pauses between operations, as of an application that computes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Think>,
}

impl Job {
    /// All of `work`, once, by all ranks, as the plan does its I/O, as fast as it goes.
    pub fn new(name: &str, work: Work) -> Self {
        Self {
            name: name.to_owned(),
            ranks: None,
            storage: None,
            work,
            limit: Limit::default(),
            rate: None,
            think: None,
        }
    }

    /// The ranks that do it, out of `ranks` in all.
    pub fn range(&self, ranks: u32) -> RankRange {
        self.ranks.unwrap_or(RankRange { first: 0, count: ranks })
    }
}

/// The kinds of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Work {
    /// Move the bytes of a file set.
    Data(DataWork),
    /// Create, look at or remove the entries of a tree.
    Metadata(MetadataWork),
    /// Walk through directories and find what matches.
    Find(FindWork),
    /// Do what an application did.
    Replay(ReplayWork),
    /// Create a dataset, or train with it.
    Train(TrainWork),
    /// Answer requests with a key-value cache.
    KvCache(KvCacheWork),
    /// Save or restore the state of a model in training.
    Checkpoint(CheckpointWork),
}

/// What the operations of a record did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Write one transfer, or the bytes of one existing small file.
    Write,
    /// Read one transfer, or the bytes of one small file.
    Read,
    /// Create the directories of a tree.
    CreateTree,
    /// Remove the directories of a tree.
    RemoveTree,
    /// Create one item: a file, with its bytes where the plan has some, or a directory.
    Create,
    /// Look at one item's attributes.
    Stat,
    /// Give one item another name.
    Rename,
    /// Remove one item.
    Remove,
    /// Visit one directory entry.
    Find,
    /// Open one file.
    Open,
    /// Close one file.
    Close,
    /// Force one file to stable storage.
    Sync,
    /// Wait for the batch of one step of training; what is computed with it does not count in its time.
    Step,
    /// Answer one request with a key-value cache, up to its first token.
    Request,
    /// Save or restore one generation of a checkpoint: the time in which training stands still for it.
    Checkpoint,
}

impl Operation {
    /// True for the operations that change what is stored.
    pub fn changes(self) -> bool {
        !matches!(
            self,
            Self::Read
                | Self::Stat
                | Self::Find
                | Self::Open
                | Self::Close
                | Self::Step
                | Self::Request
                | Self::Checkpoint
        )
    }
}

/// A way to make the next read phase read from storage and not from memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMethod {
    /// `echo 3 > /proc/sys/vm/drop_caches` on every node; needs root.
    DropCaches,
    /// `posix_fadvise(POSIX_FADV_DONTNEED)` on the files of the case.
    Fadvise,
    /// Unmount the target's file system on every node and mount it anew, by the command of the step.
    Remount,
    /// Let every rank read what a rank of the next node wrote, or where there is one node the next rank (IOR's `-C`).
    /// Helps where ranks sit on several nodes.
    ReadOtherRank,
}

impl CacheMethod {
    /// True for the ways after which a node remembers nothing of what files and directories are like either.
    pub fn forgets_attributes(self) -> bool {
        matches!(self, Self::DropCaches | Self::Remount)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
pub(crate) fn is_false(value: &bool) -> bool {
    !*value
}
