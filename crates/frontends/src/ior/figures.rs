//! IOR's figures from our records (hpc/ior, `ReduceIterResults` in src/ior.c).

use ioassay_protocol::events::{Done, PhaseRecord, RankRecord};

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
    /// What had been done at the stonewall.
    pub wall: Wall,
}

/// What had been done at the stonewall; in all, where every rank had finished before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wall {
    /// Transfers of the rank that had done fewest.
    pub least_transfers: u64,
    /// Transfers of the rank that had done most.
    pub most_transfers: u64,
    /// Bytes of the rank that had moved fewest.
    pub least_bytes: u64,
    /// Mean bytes of a rank.
    pub mean_bytes: u64,
    /// When that was, in seconds: after the start, or how long the transfers took.
    pub at_s: f64,
}

impl Wall {
    fn of(record: &PhaseRecord) -> Self {
        let transfers = || record.ranks.iter().map(|rank| at_stonewall(rank).operations);
        let bytes = || record.ranks.iter().map(|rank| at_stonewall(rank).bytes);
        let transferred = |rank: &RankRecord| (opened(rank) + rank.fill_ns + rank.transfer_ns).min(closing(rank));
        let ended_ns = || {
            let first = record.ranks.iter().map(opened).min().unwrap_or(0);
            record.ranks.iter().map(transferred).max().unwrap_or(0).saturating_sub(first)
        };
        Self {
            least_transfers: transfers().min().unwrap_or(0),
            most_transfers: transfers().max().unwrap_or(0),
            least_bytes: bytes().min().unwrap_or(0),
            mean_bytes: bytes().sum::<u64>() / record.ranks.len().max(1) as u64,
            at_s: record.stonewall.map_or_else(ended_ns, |wall| wall.at_ns) as f64 / NS_PER_S,
        }
    }
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
            wall: Wall::of(record),
        }
    }

    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.total_s
    }
}

/// What a rank had done at the stonewall; all that it did, where it had finished before.
pub fn at_stonewall(rank: &RankRecord) -> Done {
    rank.at_stonewall.unwrap_or(Done { bytes: rank.bytes, operations: rank.operations })
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

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_engine::measure::records;
    use ioassay_protocol::events::Stonewall;
    use ioassay_protocol::plan::Operation;

    const SECOND_NS: u64 = 1_000_000_000;

    fn ranks(at_stonewall: Option<Done>) -> Vec<RankRecord> {
        let rank = |number: u32, operations: u64| RankRecord {
            open_ns: SECOND_NS,
            transfer_ns: 2 * SECOND_NS,
            fsync_ns: SECOND_NS,
            end_ns: 5 * SECOND_NS,
            operations,
            bytes: operations * 10,
            ..records::rank(number)
        };
        vec![RankRecord { at_stonewall, ..rank(0, 8) }, rank(1, 6)]
    }

    #[test]
    fn a_wall_that_nobody_met_has_all_that_was_done_and_the_time_of_the_transfers() {
        let wall = Wall::of(&records::phase("write", Operation::Write, ranks(None)));
        let expected = Wall { least_transfers: 6, most_transfers: 8, least_bytes: 60, mean_bytes: 70, at_s: 2.0 };
        assert_eq!(wall, expected);
    }

    #[test]
    fn a_wall_that_a_rank_met_has_what_was_done_by_then() {
        let done = Done { bytes: 70, operations: 7 };
        let mut record = records::phase("write", Operation::Write, ranks(Some(done)));
        let at_ns = 3 * SECOND_NS;
        record.stonewall =
            Some(Stonewall { at_ns, bytes: 130, operations: 13, least_operations: 6, most_operations: 7 });
        let wall = Wall::of(&record);
        let expected = Wall { least_transfers: 6, most_transfers: 7, least_bytes: 60, mean_bytes: 65, at_s: 3.0 };
        assert_eq!(wall, expected);
    }
}
