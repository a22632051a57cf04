//! IOR's figures from our records (hpc/ior, `ReduceIterResults` in src/ior.c).

use ioassay_contract::events::{PhaseRecord, RankRecord};

const NS_PER_S: f64 = 1e9;

/// The figures of one write or read. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Bytes moved.
    pub bytes: u64,
    /// Transfers per second, from the first one's beginning to the last one's end.
    pub iops: f64,
    /// Mean time of a transfer of the rank where it is shortest.
    pub latency_s: f64,
    /// From the first rank's open to the last rank's.
    pub open_s: f64,
    /// From the first transfer's beginning to the end of the last, or of its fsync.
    pub access_s: f64,
    /// From the first rank's close to the end of the last.
    pub close_s: f64,
    /// From the first open to the last close: what rates are over.
    pub total_s: f64,
    /// At the stonewall: mean bytes of a rank, and when it came.
    pub stonewall: Option<(u64, f64)>,
    /// Most transfers that a rank had done at the stonewall.
    pub most_transfers: u64,
}

impl Figures {
    /// The figures of a record of transfers of `transfer_bytes`.
    pub fn of(record: &PhaseRecord, transfer_bytes: u64) -> Self {
        let first = |of: fn(&RankRecord) -> u64| record.ranks.iter().map(of).min().unwrap_or(0);
        let last = |of: fn(&RankRecord) -> u64| record.ranks.iter().map(of).max().unwrap_or(0);
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / NS_PER_S;
        let access_s = seconds(first(opened), last(moved));
        let each = |rank: &RankRecord| moving_ns(rank) as f64 / NS_PER_S / rank.operations as f64;
        let working = record.ranks.iter().filter(|rank| rank.operations > 0);
        let latency_s = working.map(each).fold(f64::INFINITY, f64::min);
        Self {
            bytes: record.bytes,
            iops: (record.bytes / transfer_bytes) as f64 / access_s,
            latency_s: if latency_s.is_finite() { latency_s } else { 0.0 },
            open_s: seconds(first(|rank| rank.start_ns), last(opened)),
            access_s,
            close_s: seconds(first(closing), last(|rank| rank.end_ns)),
            total_s: seconds(first(|rank| rank.start_ns), last(|rank| rank.end_ns)),
            stonewall: record
                .stonewall
                .map(|wall| (wall.bytes / record.ranks.len().max(1) as u64, wall.at_ns as f64 / NS_PER_S)),
            most_transfers: record.stonewall.map_or_else(|| last(|rank| rank.operations), |wall| wall.most_operations),
        }
    }

    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.total_s
    }
}

/// When a rank had opened its file.
fn opened(rank: &RankRecord) -> u64 {
    rank.start_ns + rank.open_ns
}

/// What IOR counts between open and close: making the bytes is part of it.
pub fn moving_ns(rank: &RankRecord) -> u64 {
    rank.fill_ns + rank.transfer_ns + rank.fsync_ns
}

/// When a rank had moved and synced everything. With `-g` ranks wait before they close, which is in neither figure.
fn moved(rank: &RankRecord) -> u64 {
    (opened(rank) + moving_ns(rank)).min(closing(rank))
}

/// When a rank began to close its file.
fn closing(rank: &RankRecord) -> u64 {
    rank.end_ns.saturating_sub(rank.close_ns)
}

/// Maximum, minimum, mean and standard deviation (of the whole, not of a sample, as in IOR).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spread {
    /// The largest.
    pub max: f64,
    /// The smallest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

impl Spread {
    /// Of `values`; zeros where there are none.
    pub fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        Self {
            max: values.iter().copied().fold(f64::MIN, f64::max),
            min: values.iter().copied().fold(f64::MAX, f64::min),
            mean,
            deviation: variance.sqrt(),
        }
    }
}
