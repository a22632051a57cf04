//! What the engine reports, one event per line, written as it happens.
//!
//! A phase is one event, written when all ranks have ended it: a reader that finds the line has the whole
//! phase, and a reader that does not cannot misread a part of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::amounts::CaseAmounts;
use crate::doubt::Doubt;
use crate::environment::Environment;
pub use crate::failure::{Failure, RefusedKey};
use crate::plan::{CacheMethod, Operation};
use crate::survey::Survey;

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The engine has accepted the plan and begins.
    Started(Started),
    /// `ioassay-engine check` found that the plan can run.
    Checked(Box<Checked>),
    /// `ioassay-engine amounts` has added up what a plan does.
    Amounts(CaseAmounts),
    /// `ioassay-engine survey` has inspected all nodes.
    Survey(Survey),
    /// A cold-cache step has ended.
    ColdCache(ColdCache),
    /// A step has removed files.
    FilesRemoved(FilesRemoved),
    /// A phase has ended, well or not.
    Phase(Box<PhaseRecord>),
    /// Something ended the case.
    Error(Failure),
    /// The engine has removed its files.
    Removed(Removed),
    /// The engine's last word. Without it the engine was killed, whatever its launcher's exit code says.
    Finished(Finished),
}

/// The engine has accepted the plan and begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Started {
    /// Version of the document.
    pub version: u32,
    /// Version of the engine.
    pub engine_version: String,
    /// Identifier of the run.
    pub run: String,
    /// Identifier of the case.
    pub case: String,
    /// Wall-clock time in nanoseconds since 1970.
    pub unix_ns: u64,
    /// The directory of its own that the engine created under the target.
    pub workspace: String,
    /// Every node that takes part.
    pub nodes: Vec<Environment>,
    /// What offsets and lengths of direct I/O must be multiples of on the target, where the plan asks for direct I/O
    /// and the kernel tells.
    pub direct_alignment_bytes: Option<u64>,
}

/// What a case would need, and what the target has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// Identifier of the case.
    pub case: String,
    /// Bytes that the file set takes.
    pub file_set_bytes: u64,
    /// Bytes that all write phases together write.
    pub written_bytes: u64,
    /// As in `CaseAmounts`.
    #[serde(default)]
    pub may_write_less: bool,
    /// As in `CaseAmounts`.
    #[serde(default)]
    pub may_write_again: bool,
    /// Files that the case creates.
    pub files: u64,
    /// Bytes that are free on the target; `None` where it does not report them, as object stores do not.
    pub free_bytes: Option<u64>,
    /// Inodes that are free on the target; `None` where the file system does not count them.
    pub free_inodes: Option<u64>,
    /// The node as the check saw it; left out where it is that of the case before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Environment>,
}

/// What a cold-cache step did and what it left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ColdCache {
    /// Index of the step in the plan.
    pub step: u32,
    /// The commands for servers that were run, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<CommandRun>,
    /// What was tried, in order.
    pub attempts: Vec<CacheAttempt>,
    /// What measured the rest: `cachestat`, `mincore`, or `none`.
    pub measured_with: String,
    /// Bytes that are still in the page cache of the node whose ranks would read them next, of all nodes together;
    /// `None` where nothing could measure it.
    pub resident_bytes: Option<u64>,
    /// The same of each node, in the order of `started.nodes`.
    #[serde(default)]
    pub resident_bytes_per_node: Vec<Option<u64>>,
    /// Size of the file set.
    pub file_set_bytes: u64,
    /// By how many ranks the following reads are shifted.
    pub reads_shifted_by_ranks: u32,
}

/// What a step removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilesRemoved {
    /// Index of the step in the plan.
    pub step: u32,
    /// Files that were there.
    pub files: u64,
    /// From when all ranks began until all had ended.
    pub duration_ns: u64,
    /// Files that stay: the case has not written them, and nothing says that ioassay did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
}

/// One way tried to empty the caches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheAttempt {
    /// The way.
    pub method: CacheMethod,
    /// True if the system did it; whether it helped is shown by the residency.
    pub done: bool,
    /// Why not, or what is to be known about it.
    pub detail: String,
    /// The commands that were run, one on each node, in the order of `started.nodes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRun>,
}

/// A command of the site, and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRun {
    /// The host that it was for: a node, or a server; `None` for a hook that names none.
    pub host: Option<String>,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// How it ended.
    pub end: CommandEnd,
    /// How long it took.
    pub duration_ns: u64,
    /// The end of what it printed, on standard output and standard error together.
    pub output: String,
    /// All that it printed: more than `output` holds where that was too much.
    pub output_bytes: u64,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommandEnd {
    /// By itself, with this exit status; 0 says that it did what it was to do.
    Exited(i32),
    /// By a signal that another process sent it, for example `SIGKILL`.
    Signaled(String),
    /// It was killed at its time limit, of so many nanoseconds.
    TimedOut(u64),
    /// It was killed because the run was stopped.
    Stopped,
    /// It could not be started, for this reason.
    NotStarted(String),
}

/// One phase of one case: the totals, every rank, the latencies and the doubts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRecord {
    /// Index of the step in the plan.
    pub step: u32,
    /// Name of the phase in the plan.
    pub name: String,
    /// Name of the job in the phase. A phase has a record for each of its jobs, and for each operation of a job:
    /// a mix of reads and writes has two, a replacement four.
    pub job: String,
    /// What its operations did.
    pub operation: Operation,
    /// Wall-clock time at which the barrier opened, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// True if every rank did all it had to do, or what its stonewall allowed.
    pub complete: bool,
    /// Bytes moved by all ranks.
    pub bytes: u64,
    /// Operations done by all ranks.
    pub operations: u64,
    /// From the opening of the barrier to the last rank's end: open, transfers, fsync and close included.
    /// `bytes` over this is the last-finished rate, IOR's.
    pub duration_ns: u64,
    /// When the first rank had finished, since the barrier opened.
    /// `first_finished_bytes` over `first_finished_ns` is the first-finished rate.
    pub first_finished_ns: u64,
    /// Bytes that all ranks had moved at `first_finished_ns`.
    pub first_finished_bytes: u64,
    /// Operations that all ranks had done at `first_finished_ns`.
    pub first_finished_operations: u64,
    /// What was done at the stonewall, where the job had one and met it.
    pub stonewall: Option<Stonewall>,
    /// Entries that matched, where the operation is `find`.
    pub matched: Option<u64>,
    /// From the first rank's start to the last rank's start.
    pub start_spread_ns: u64,
    /// From the first rank's end to the last rank's end.
    pub finish_spread_ns: u64,
    /// Length of one sample.
    pub sample_interval_ns: u64,
    /// How each node's clock differed from the first one's, in the order of nodes; empty where all ranks share a clock.
    #[serde(default)]
    pub clocks: Vec<NodeClock>,
    /// Bytes that the phase was to read, or has read where a limit ended it, and that were in the page cache of the node
    /// that reads them, before it; `None` where nothing could measure it.
    pub resident_bytes_before: Option<u64>,
    /// The same of each node, in the order of `started.nodes`; empty where nothing was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resident_bytes_before_per_node: Vec<u64>,
    /// How long the phase waited for what had been written before it, where it was to settle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
    /// What went on on each node meanwhile, in the order of `started.nodes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeRecord>,
    /// Latencies of the single operations of all ranks.
    pub latencies: Histogram,
    /// From the beginning of each read of all ranks to its first byte, where the storage API knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<Histogram>,
    /// Every rank, ascending.
    pub ranks: Vec<RankRecord>,
    /// Reasons not to believe the figures.
    pub doubts: Vec<Doubt>,
}

/// What all ranks of a job had done when their stonewall came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stonewall {
    /// When it came, since the barrier opened.
    pub at_ns: u64,
    /// Bytes moved until then.
    pub bytes: u64,
    /// Operations done until then.
    pub operations: u64,
    /// Operations of the rank that had done least.
    pub least_operations: u64,
    /// Operations of the rank that had done most.
    pub most_operations: u64,
}

/// What was written out before a phase, on all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settled {
    /// How long the slowest node took.
    pub waited_ns: u64,
    /// Bytes that waited to be written back when it began, on all nodes; `None` where one does not report them.
    pub dirty_bytes: Option<u64>,
}

/// What a node did while a phase ran, for all processes: its device, its processors. `None` where the system does not
/// report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NodeRecord {
    /// Bytes in memory that waited to be written back when the phase began (`Dirty`, `Writeback`, `NFS_Unstable`).
    pub dirty_bytes: Option<u64>,
    /// Bytes that were read from the target's block device.
    pub device_read_bytes: Option<u64>,
    /// Bytes that were written to it.
    pub device_write_bytes: Option<u64>,
    /// Those that were read for the ranks of the node.
    pub ranks_read_bytes: Option<u64>,
    /// Those that the ranks of the node caused to be written, at once or later.
    pub ranks_write_bytes: Option<u64>,
    /// Processor time in user mode of all processes.
    pub user_ns: Option<u64>,
    /// That of the node's ranks.
    pub ranks_user_ns: u64,
    /// Time in which its ranks could have run and had no processor.
    pub ranks_waited_ns: Option<u64>,
    /// Time that a hypervisor gave to others, of all processors.
    pub steal_ns: Option<u64>,
    /// Periods of a processor quota of the job's control groups.
    pub quota_periods: Option<u64>,
    /// Those of them in which the quota was used up, and all had to wait.
    pub throttled_periods: Option<u64>,
}

/// How a node's clock differed from the first node's, before and after a phase. Samples of all nodes lie on one time line
/// by it; no rate is computed from two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeClock {
    /// The first node's time less this one's before the phase.
    pub offset_ns: i64,
    /// By how much that may be wrong in either direction.
    pub uncertainty_ns: u64,
    /// The same after the phase.
    pub offset_after_ns: i64,
    /// By how much that may be wrong.
    pub uncertainty_after_ns: u64,
}

impl NodeClock {
    /// By how much the clocks went apart during the phase, as far as that is sure.
    pub fn sure_drift_ns(&self) -> u64 {
        let apart_ns = self.offset_after_ns.abs_diff(self.offset_ns);
        apart_ns.saturating_sub(self.uncertainty_ns + self.uncertainty_after_ns)
    }
}

/// What one rank did in one phase. `start_ns` and `end_ns` count from the opening of the barrier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankRecord {
    /// The rank.
    pub rank: u32,
    /// Index of its node in `started.nodes`.
    pub node: u32,
    /// When it left the barrier.
    pub start_ns: u64,
    /// When it had closed its file.
    pub end_ns: u64,
    /// Time in open.
    pub open_ns: u64,
    /// Time in which it made the bytes that it wrote; no operation's.
    #[serde(default)]
    pub fill_ns: u64,
    /// Time from the first to the last transfer, without what is in `fill_ns` and `fsync_ns`.
    pub transfer_ns: u64,
    /// Time in fsync, wherever it came.
    pub fsync_ns: u64,
    /// Time in close.
    pub close_ns: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Operations done.
    pub operations: u64,
    /// Calls that moved fewer bytes than asked and were repeated.
    pub short_transfers: u64,
    /// The server that it asked, where the target has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Requests that were repeated, by the reason, for example `HTTP 503 SlowDown`; those of all the rank's operations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retries: BTreeMap<String, u64>,
    /// Its slowest operation.
    pub slowest_ns: u64,
    /// Bytes and operations at the stonewall, where it met one.
    pub at_stonewall: Option<Done>,
    /// Bytes and operations at the job's `first_finished_ns`: of the rank that finished first all it did. `None` where
    /// no rank came to its end. Over all ranks they add up to `first_finished_bytes` and `first_finished_operations`.
    #[serde(default)]
    pub at_first_finish: Option<Done>,
    /// What the kernel spent on it.
    pub usage: Usage,
    /// Bytes moved by operations that ended in sample 0, 1, 2, …; sample k covers
    /// [k, k+1) × `sample_interval_ns` after the barrier opened. They add up to `bytes`.
    pub sample_bytes: Vec<u64>,
    /// Operations that ended in each sample. They add up to `operations`.
    pub sample_operations: Vec<u64>,
    /// When it was suspended, since the barrier opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspended: Vec<Suspension>,
    /// What its accelerator and its data loader did, where the operation is `step`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<TrainingRecord>,
    /// What the server did with its key-value cache, where the operation is `request`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kv_cache: Option<KvCacheRecord>,
    /// Each generation that was saved or restored by all ranks, where the operation is `checkpoint`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<CheckpointRecord>,
}

/// One generation of a checkpoint as one rank saved or restored it. Times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointRecord {
    /// Its number, from 0 in each case.
    pub generation: u64,
    /// Bytes of the rank's files.
    pub bytes: u64,
    /// From the opening of the barrier until the rank stopped training for it.
    pub begin_ns: u64,
    /// How long the rank took for its own files, until they were complete or read.
    pub own_ns: u64,
    /// Time within that in which the bytes were made or compared.
    pub fill_ns: u64,
    /// Time within that in fsync.
    pub fsync_ns: u64,
    /// How long training stood still for it: until all ranks were done, and the oldest generation was removed. Of one that was
    /// written beside computation: until the one before was complete on all ranks, and the state was copied.
    pub stall_ns: u64,
}

/// What the accelerator and the data loader of one rank did in an epoch. Times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainingRecord {
    /// Samples of all batches that the accelerator took.
    pub samples: u64,
    /// Bytes of these samples. What the record of its reads has beyond them was read for alignment.
    pub asked_bytes: u64,
    /// How long the accelerator was to compute for each batch.
    pub asked_compute_ns: u64,
    /// How long it computed in all.
    pub compute_ns: u64,
    /// How long it waited for batches.
    pub wait_ns: u64,
    /// How long it waited for other ranks after its steps.
    pub sync_ns: u64,
    /// From the opening of the barrier until it had its first batch.
    pub first_batch_ns: u64,
    /// From the opening of the barrier until its first step was done.
    pub first_step_ns: u64,
    /// How long it computed in its first step.
    pub first_compute_ns: u64,
    /// From the opening of the barrier until its last step was done.
    pub last_step_ns: u64,
    /// Threads of its loader.
    pub loader_threads: u32,
    /// In which its loader's threads loaded: the sum of all threads.
    pub loader_busy_ns: u64,
    /// Processor time of its loader's threads.
    pub loader_processor_ns: u64,
    /// It evaluated the model between epochs of training.
    #[serde(default, skip_serializing_if = "crate::plan::is_false")]
    pub evaluation: bool,
}

/// What one inference server did with its key-value cache. Sums over its requests that had their first token; times in
/// nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KvCacheRecord {
    /// Its users.
    pub users: u32,
    /// By when a request was to have its first token, where there is such a deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_deadline_ns: Option<u64>,
    /// Requests that had their first token.
    pub requests: u64,
    /// Tokens of these requests: the sum of the four that follow.
    pub prompt_tokens: u64,
    /// Tokens that were in the server's memory.
    pub memory_tokens: u64,
    /// Tokens that were read from storage.
    pub storage_tokens: u64,
    /// Tokens that were computed again: they had been stored, and were removed, or one before them was.
    pub recomputed_tokens: u64,
    /// Tokens that were computed for the first time.
    pub new_tokens: u64,
    /// Until their first tokens.
    pub first_token_ns: u64,
    /// Of that, in reading from storage.
    pub read_ns: u64,
    /// Of that, in waiting for the accelerator, which prefilled other requests.
    pub queue_ns: u64,
    /// Of that, in prefill.
    pub prefill_ns: u64,
    /// Requests with their first token by its deadline, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_tokens_in_time: Option<u64>,
    /// Answers that were finished.
    pub answers: u64,
    /// Their tokens.
    pub answer_tokens: u64,
    /// From their first tokens to their ends, which wait until their objects are stored.
    pub answer_ns: u64,
    /// Answers whose tokens came within their deadline, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers_in_time: Option<u64>,
    /// Objects that were stored.
    pub stored: u64,
    /// Objects that were removed to make room.
    pub evicted: u64,
    /// Objects that were not stored, because all objects in the cache were in use.
    pub not_stored: u64,
}

/// A time in which a rank was suspended: it did no I/O, because the run was suspended (Ctrl-Z) or its process did not run
/// (SIGSTOP, a frozen control group, a paused or sleeping machine).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suspension {
    /// When it began.
    pub begin_ns: u64,
    /// When the rank went on.
    pub end_ns: u64,
}

/// Bytes and operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    /// Bytes moved.
    pub bytes: u64,
    /// Operations done.
    pub operations: u64,
}

/// What the kernel spent on a rank from the opening of the barrier to the rank's end (`getrusage`,
/// `/proc/self/io`, `/proc/self/schedstat`). A job with several operations has it in each of their records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Processor time in user mode.
    pub user_ns: u64,
    /// Processor time in the kernel on the rank's behalf.
    pub system_ns: u64,
    /// Context switches because the rank waited.
    pub voluntary_switches: u64,
    /// Context switches because another process was to run.
    pub involuntary_switches: u64,
    /// Page faults that memory answered.
    pub minor_faults: u64,
    /// Page faults that a device answered.
    pub major_faults: u64,
    /// The most memory that the rank has had so far, buffers included.
    pub peak_memory_bytes: u64,
    /// Bytes that the kernel fetched from a block device for the rank; `None` where it does not report them.
    pub device_read_bytes: Option<u64>,
    /// Bytes that the rank caused to be written to a block device, at once or later; `None` where it does not report
    /// them.
    pub device_write_bytes: Option<u64>,
    /// Time in which the rank could have run and had no processor (`/proc/self/schedstat`); `None` where the kernel does not
    /// report it.
    #[serde(default)]
    pub waited_ns: Option<u64>,
}

/// A log-linear histogram of latencies: non-empty buckets, ascending. Within a bucket the relative error is under 1 %.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Histogram {
    /// Lowest latency of the bucket.
    pub lowest_ns: Vec<u64>,
    /// Highest latency of the bucket.
    pub highest_ns: Vec<u64>,
    /// Operations in the bucket.
    pub count: Vec<u64>,
}

/// What the engine removed, and what it had to leave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// Files removed.
    pub files: u64,
    /// Paths that remain, each with the reason.
    pub left: Vec<Left>,
}

/// A path that remains on the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Left {
    /// The path.
    pub path: String,
    /// Why it remains.
    pub because: String,
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All phases are complete.
    Complete,
    /// A phase failed.
    Failed,
    /// A signal ended it.
    Interrupted,
}

/// The engine's last word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finished {
    /// How the case ended.
    pub outcome: Outcome,
    /// The signal, where one ended it, for example `SIGINT`.
    pub signal: Option<String>,
    /// Wall-clock time in nanoseconds since 1970.
    pub unix_ns: u64,
}

/// One line of the progress file: where the running phase stands. Written for the eye, kept by nobody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Index of the step in the plan.
    pub step: u32,
    /// Name of the phase, or `cold-cache`, `pause`.
    pub name: String,
    /// Since the step began.
    pub elapsed_ns: u64,
    /// Bytes moved so far by all ranks.
    pub bytes: u64,
    /// Operations done so far by all ranks.
    pub operations: u64,
}
