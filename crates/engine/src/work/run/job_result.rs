//! What one rank did in its job of a phase, before it is reported.
//!
//! Not here: the part that rank 0 gets ([`super::rank_report`]).

use ioassay_protocol::events::{CheckpointRecord, Failure, KvCacheRecord, TrainingRecord};
use ioassay_protocol::plan::Operation;

use super::operations::OperationStats;
use super::profile::ReadShare;
use crate::storage::RequestCounts;

/// What one rank did in its job.
pub(crate) struct JobResult {
    /// Which lane holds which operation.
    pub lanes: Vec<(usize, Operation)>,
    /// What was recorded of its operations.
    pub statistics: OperationStats,
    /// Where the time went.
    pub times: JobTimes,
    /// Calls that moved less than asked.
    pub short_transfers: u64,
    /// What was counted of its requests.
    pub requests: RequestCounts,
    /// All that was to be done is done.
    pub complete: bool,
    /// What it wrote has been forced to stable storage.
    pub synced: bool,
    /// Entries that matched.
    pub matched: Option<u64>,
    /// Transfers that were written, of a job that writes; entries that were worked on, of one on a tree.
    pub written: Option<u64>,
    /// What was read of the rank's part, where a limit may have ended the job before all of it was.
    pub read: Option<Vec<ReadShare>>,
    /// What its accelerator and its data loader did, where it trained.
    pub training: Option<TrainingRecord>,
    /// What it did with its key-value cache, where it answered requests with one.
    pub kv_cache: Option<KvCacheRecord>,
    /// Each generation of a checkpoint that it saved or restored.
    pub checkpoints: Vec<CheckpointRecord>,
    /// What ended it.
    pub failure: Option<Box<Failure>>,
}

impl JobResult {
    /// The result of a job of which nothing but these is known, for a kind to add what it has.
    pub fn new(lanes: Vec<(usize, Operation)>, statistics: OperationStats) -> Self {
        Self {
            lanes,
            statistics,
            times: JobTimes::default(),
            short_transfers: 0,
            requests: RequestCounts::default(),
            complete: false,
            synced: false,
            matched: None,
            written: None,
            read: None,
            training: None,
            kv_cache: None,
            checkpoints: Vec::new(),
            failure: None,
        }
    }
}

/// Where the time of a job went, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JobTimes {
    /// In open.
    pub open: u64,
    /// In making the bytes that are written.
    pub fill: u64,
    /// From the first to the last operation, without the other times.
    pub transfer: u64,
    /// In fsync.
    pub fsync: u64,
    /// In close.
    pub close: u64,
}
