//! Records of phases in which nothing happened, for the tests of this crate and of those that print records.

use ioassay_protocol::events::{PhaseRecord, RankRecord, Usage};
use ioassay_protocol::plan::Operation;

/// A rank that did nothing.
pub fn rank(number: u32) -> RankRecord {
    RankRecord {
        rank: number,
        node: 0,
        start_ns: 0,
        end_ns: 0,
        open_ns: 0,
        fill_ns: 0,
        transfer_ns: 0,
        fsync_ns: 0,
        close_ns: 0,
        bytes: 0,
        operations: 0,
        short_transfers: 0,
        endpoint: None,
        retries: Default::default(),
        slowest_ns: 0,
        at_stonewall: None,
        at_first_finish: None,
        usage: Usage::default(),
        sample_bytes: Vec::new(),
        sample_operations: Vec::new(),
        suspended: Vec::new(),
        training: None,
        kv_cache: None,
        checkpoints: Vec::new(),
    }
}

/// A phase that came to its end: what all `ranks` did, until the last of them had ended.
pub fn phase(name: &str, operation: Operation, ranks: Vec<RankRecord>) -> PhaseRecord {
    PhaseRecord {
        step: 0,
        name: name.to_owned(),
        job: name.to_owned(),
        operation,
        started_unix_ns: 0,
        complete: true,
        bytes: ranks.iter().map(|rank| rank.bytes).sum(),
        operations: ranks.iter().map(|rank| rank.operations).sum(),
        duration_ns: ranks.iter().map(|rank| rank.end_ns).max().unwrap_or(0),
        first_finished_ns: 0,
        first_finished_bytes: 0,
        first_finished_operations: 0,
        stonewall: None,
        matched: None,
        start_spread_ns: 0,
        finish_spread_ns: 0,
        sample_interval_ns: 1_000_000_000,
        clocks: Vec::new(),
        settled: None,
        nodes: Vec::new(),
        resident_bytes_before: None,
        resident_bytes_before_per_node: Vec::new(),
        latencies: Default::default(),
        first_byte: None,
        ranks,
        doubts: Vec::new(),
    }
}
