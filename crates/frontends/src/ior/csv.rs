//! A line for each phase, and one for each rank of a phase, in IOR's columns.

use ioassay_protocol::events::{PhaseRecord, RankRecord};

use super::figures::moving_ns;
use super::report::{Access, Line, TestResults};
use crate::text::scientific;

/// The first line.
pub const HEADER: &str =
    "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n";

/// The line of a phase of repetition `repetition`, counted from 0; nothing for a removal, as in IOR.
pub fn line(tested: &TestResults<'_>, repetition: u32, line: &Line) -> String {
    let Line::Moved(access, figures) = line else { return String::new() };
    let values = [
        figures.rate() / 1_048_576.0,
        figures.iops,
        figures.latency_s,
        tested.test.block_bytes as f64 / 1024.0,
        tested.test.transfer_bytes as f64 / 1024.0,
        figures.open_s,
        figures.access_s,
        figures.close_s,
        figures.total_s,
    ];
    let values = values.map(|value| format!("{value:.4},")).concat();
    format!("{},{values}{},{repetition}\n", access.name(), tested.test.tasks(tested.context))
}

/// The first line of the file of the ranks' times.
pub const RANKS: &str = "access,rank,runtime-with-openclose,runtime,throughput-withopenclose,throughput\n";

/// The times of each rank in a phase.
pub fn ranks(access: Access, record: &PhaseRecord) -> String {
    let line = |rank: &RankRecord| {
        let whole_s = (rank.end_ns - rank.start_ns) as f64 / 1e9;
        let moving_s = moving_ns(rank) as f64 / 1e9;
        let bytes = rank.bytes as f64;
        let values = [whole_s, moving_s, bytes / whole_s, bytes / moving_s];
        format!("{},{},{}\n", access.name(), rank.rank, values.map(|value| scientific(value, 10)).join(","))
    };
    record.ranks.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_engine::measure::records;
    use ioassay_protocol::plan::Operation;

    #[test]
    fn each_rank_has_its_times_and_its_rates_with_and_without_open_and_close() {
        let (start_ns, end_ns, bytes) = (1_000_000_000, 5_000_000_000, 8_000_000);
        let (transfer_ns, fsync_ns) = (1_500_000_000, 500_000_000);
        let rank = RankRecord { start_ns, end_ns, transfer_ns, fsync_ns, bytes, ..records::rank(3) };
        let record = records::phase("write", Operation::Write, vec![rank]);
        let expected = "write,3,4.0000000000e+00,2.0000000000e+00,2.0000000000e+06,4.0000000000e+06\n";
        assert_eq!(ranks(Access::Write, &record), expected);
        assert_eq!(RANKS.split(',').count(), expected.split(',').count());
    }
}
