//! From the ranks' results to the record of a phase. Pure: results in, record out.

use ioassay_protocol::events::{Done, Histogram, PhaseRecord, RankRecord, Stonewall};
use ioassay_protocol::plan::{Job, Operation, Phase, Plan};
use serde::{Deserialize, Serialize};

use crate::latencies::Latencies;

/// What one rank sends to rank 0 when a phase has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RankResult {
    /// Its times and sums.
    pub record: RankRecord,
    /// True if it did all it had to do.
    pub complete: bool,
    /// Its latencies.
    pub latencies: Histogram,
    /// The latencies of first bytes, where they are known.
    pub first_byte: Option<Histogram>,
}

/// What is known of a job besides the ranks' results.
#[derive(Debug, Clone)]
pub struct Circumstances {
    /// Index of the step in the plan.
    pub step: u32,
    /// What the operations did.
    pub operation: Operation,
    /// Wall-clock time at which the barrier opened.
    pub started_unix_ns: u64,
    /// When the first rank had finished, since the barrier opened, and what all had done by then.
    pub first_finished: Option<(u64, Done)>,
    /// Bytes of what is read that were in the page cache before the phase, where it was measured.
    pub resident_bytes_before: Option<u64>,
    /// The same of each node.
    pub resident_bytes_before_per_node: Vec<u64>,
    /// Entries that matched.
    pub matched: Option<u64>,
}

/// The record of one operation of `job`, still without doubts, and the median latency that some doubts need.
pub fn combine(
    plan: &Plan,
    phase: &Phase,
    job: &Job,
    circumstances: Circumstances,
    results: Vec<RankResult>,
) -> (PhaseRecord, u64) {
    let mut latencies = Latencies::default();
    results.iter().for_each(|result| latencies.add(&result.latencies));
    let first_bytes: Vec<Histogram> = results.iter().filter_map(|result| result.first_byte.clone()).collect();
    let first_byte = (!first_bytes.is_empty()).then(|| Latencies::sum(first_bytes.into_iter()));
    let complete = results.iter().all(|result| result.complete);
    let ranks: Vec<RankRecord> = results.into_iter().map(|result| result.record).collect();
    let starts = || ranks.iter().map(|rank| rank.start_ns);
    let ends = || ranks.iter().map(|rank| rank.end_ns);
    let last_end = ends().max().unwrap_or(0);
    let all = Done {
        bytes: ranks.iter().map(|rank| rank.bytes).sum(),
        operations: ranks.iter().map(|rank| rank.operations).sum(),
    };
    // Without a first finisher (the phase failed) both rates describe what was done until the end.
    let (first_finished_ns, first_finished) = circumstances.first_finished.unwrap_or((last_end, all));
    let record = PhaseRecord {
        step: circumstances.step,
        name: phase.name.clone(),
        job: job.name.clone(),
        operation: circumstances.operation,
        started_unix_ns: circumstances.started_unix_ns,
        complete,
        bytes: all.bytes,
        operations: all.operations,
        duration_ns: last_end,
        first_finished_ns,
        first_finished_bytes: first_finished.bytes,
        first_finished_operations: first_finished.operations,
        stonewall: stonewall(job, &ranks),
        matched: circumstances.matched,
        start_spread_ns: starts().max().unwrap_or(0) - starts().min().unwrap_or(0),
        finish_spread_ns: last_end - ends().min().unwrap_or(0),
        sample_interval_ns: plan.sample_interval_ns,
        clocks: Vec::new(),
        resident_bytes_before: circumstances.resident_bytes_before,
        resident_bytes_before_per_node: circumstances.resident_bytes_before_per_node,
        settled: None,
        nodes: Vec::new(),
        latencies: latencies.buckets(),
        first_byte,
        ranks,
        doubts: Vec::new(),
    };
    (record, latencies.median_ns())
}

/// What all had done at the stonewall, where at least one rank met it. The others had done all they had to do.
fn stonewall(job: &Job, ranks: &[RankRecord]) -> Option<Stonewall> {
    let at_ns = job.limit.stonewall_ns?;
    if ranks.iter().all(|rank| rank.at_stonewall.is_none()) {
        return None;
    }
    let done = |rank: &RankRecord| rank.at_stonewall.unwrap_or(Done { bytes: rank.bytes, operations: rank.operations });
    let operations = || ranks.iter().map(|rank| done(rank).operations);
    Some(Stonewall {
        at_ns,
        bytes: ranks.iter().map(|rank| done(rank).bytes).sum(),
        operations: operations().sum(),
        least_operations: operations().min().unwrap_or(0),
        most_operations: operations().max().unwrap_or(0),
    })
}
