//! From the ranks' results to the record of a phase. Pure: results in, record out.

use ioassay_contract::events::{Histogram, PhaseRecord, RankRecord};
use ioassay_contract::plan::{Phase, Plan};
use serde::{Deserialize, Serialize};

use super::histogram::Latencies;
use crate::plan::Sizes;

/// What one rank sends to rank 0 when a phase has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RankResult {
    /// Its times and sums.
    pub record: RankRecord,
    /// Its latencies.
    pub latencies: Histogram,
}

/// What is known of a phase besides the ranks' results.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances {
    /// Index of the step in the plan.
    pub step: u32,
    /// Wall-clock time at which the barrier opened.
    pub started_unix_ns: u64,
    /// When the first rank had finished, since the barrier opened, and what all had moved by then.
    pub first_finished: Option<(u64, u64)>,
    /// Bytes of the file set in the page cache before the phase, where it was measured.
    pub resident_bytes_before: Option<u64>,
}

/// The record of `phase`, still without doubts, and the median latency that some doubts need.
pub fn combine(plan: &Plan, phase: &Phase, found: Circumstances, results: Vec<RankResult>) -> (PhaseRecord, u64) {
    let mut latencies = Latencies::default();
    results.iter().for_each(|result| latencies.add(&result.latencies));
    let ranks: Vec<RankRecord> = results.into_iter().map(|result| result.record).collect();
    let starts = || ranks.iter().map(|rank| rank.start_ns);
    let ends = || ranks.iter().map(|rank| rank.end_ns);
    let last_end = ends().max().unwrap_or(0);
    let bytes = ranks.iter().map(|rank| rank.bytes).sum();
    // Without a first finisher (the phase failed) both rates describe what was moved until the end.
    let (first_finished_ns, first_finished_bytes) = found.first_finished.unwrap_or((last_end, bytes));
    let record = PhaseRecord {
        step: found.step,
        name: phase.name.clone(),
        operation: phase.operation,
        started_unix_ns: found.started_unix_ns,
        complete: ranks.iter().all(|rank| rank.bytes == plan.bytes_per_rank()),
        bytes,
        operations: ranks.iter().map(|rank| rank.operations).sum(),
        duration_ns: last_end,
        first_finished_ns,
        first_finished_bytes,
        start_spread_ns: starts().max().unwrap_or(0) - starts().min().unwrap_or(0),
        finish_spread_ns: last_end - ends().min().unwrap_or(0),
        sample_interval_ns: plan.sample_interval_ns,
        resident_bytes_before: found.resident_bytes_before,
        latencies: latencies.buckets(),
        ranks,
        doubts: Vec::new(),
    };
    (record, latencies.median_ns())
}
