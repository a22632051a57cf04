//! What each rank sends to rank 0 when a phase has ended.
//!
//! Not here: what ranks do in a phase ([`super::phase`]), and what rank 0 makes of it ([`super::phase_records`]).

use ioassay_protocol::events::{Done, RankRecord, Suspension, Usage};
use ioassay_protocol::plan::Operation;
use serde::{Deserialize, Serialize};

use crate::latencies::Latencies;
use crate::measure::phase::RankResult;
use crate::measure::recorder::LANES;
use crate::ranks::Start;
use crate::work::run::job_result::JobResult;
use crate::work::run::profile::BeforeRead;

/// What a rank sends to rank 0 when its job has ended. A rank without a job sends none.
#[derive(Debug, Serialize, Deserialize)]
pub struct RankReport {
    /// Number of the job in its phase.
    pub(super) job: usize,
    /// By lane and operation.
    pub(super) results: Vec<(usize, Operation, RankResult)>,
    /// What it wrote has been forced to stable storage.
    pub(super) synced: bool,
    /// Entries that matched.
    pub(super) matched: Option<u64>,
    /// As in [`JobResult`].
    pub(super) written: Option<u64>,
    /// What it found of that which it read, before it did.
    pub(super) before_read: Option<BeforeRead>,
    /// When the first rank of the job on this rank's node had finished, since the barrier opened, and what this one had done
    /// by then, by lane.
    pub(super) first_finished: Option<(u64, [Done; LANES])>,
}

impl RankReport {
    /// Of a rank whose only operations in job number `job` have this `result`.
    pub fn of(job: usize, operation: Operation, result: RankResult) -> Self {
        Self {
            job,
            results: vec![(0, operation, result)],
            synced: false,
            matched: None,
            written: None,
            before_read: None,
            first_finished: None,
        }
    }

    /// What rank number `rank` of node `node` did in job number `job`.
    pub(super) fn of_job(
        job: usize,
        (rank, node): (u32, u32),
        result: JobResult,
        start: Start,
        end_ns: u64,
        (usage, suspended): (Usage, Vec<Suspension>),
    ) -> Self {
        let JobResult {
            lanes,
            statistics,
            times,
            short_transfers,
            requests,
            complete,
            synced,
            matched,
            written,
            training,
            kv_cache,
            mut checkpoints,
            ..
        } = result;
        let complete = complete && result.failure.is_none();
        let mut recorded: Vec<_> = statistics.recorded.into_iter().map(Some).collect();
        let results = lanes
            .into_iter()
            .filter_map(|(lane, operation)| {
                let recorded = recorded[lane].take()?;
                let record = RankRecord {
                    rank,
                    node,
                    start_ns: start.left_ns - start.opened_ns,
                    end_ns: end_ns - start.opened_ns,
                    open_ns: times.open,
                    fill_ns: times.fill,
                    transfer_ns: times.transfer,
                    fsync_ns: times.fsync,
                    close_ns: times.close,
                    bytes: recorded.bytes,
                    operations: recorded.operations,
                    short_transfers,
                    endpoint: requests.endpoint.clone(),
                    retries: requests.retries.clone(),
                    slowest_ns: recorded.slowest_ns,
                    at_stonewall: statistics.at_stonewall.map(|lanes| lanes[lane]),
                    at_first_finish: None,
                    usage,
                    sample_bytes: recorded.sample_bytes,
                    sample_operations: recorded.sample_operations,
                    suspended: suspended.clone(),
                    training: training.filter(|_| operation == Operation::Step),
                    kv_cache: kv_cache.filter(|_| operation == Operation::Request),
                    checkpoints: match operation {
                        Operation::Checkpoint => std::mem::take(&mut checkpoints),
                        _ => Vec::new(),
                    },
                };
                let first_byte = requests.first_byte.as_ref().filter(|_| operation == Operation::Read);
                let (latencies, first_byte) = (recorded.latencies.buckets(), first_byte.map(Latencies::buckets));
                Some((lane, operation, RankResult { record, complete, latencies, first_byte }))
            })
            .collect();
        Self { job, results, synced, matched, written, before_read: None, first_finished: None }
    }

    /// Operations of all kinds.
    pub(super) fn operations(&self) -> u64 {
        self.results.iter().map(|(_, _, result)| result.record.operations).sum()
    }

    /// When the rank was done, since the barrier opened.
    pub(super) fn end_ns(&self) -> u64 {
        self.results.iter().map(|(_, _, result)| result.record.end_ns).max().unwrap_or(0)
    }
}
