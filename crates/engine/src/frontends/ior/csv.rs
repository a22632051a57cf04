//! A line for each phase, in IOR's columns.

use super::report::{Line, Tested};

/// The first line.
pub const HEADER: &str =
    "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n";

/// The line of a phase of repetition `repetition`, counted from 0; nothing for a removal, as in IOR.
pub fn line(tested: &Tested<'_>, repetition: u32, line: &Line) -> String {
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
    format!("{},{values}{},{repetition}\n", access.name(), tested.test.tasks(tested.ground))
}
