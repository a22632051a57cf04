//! The table for people, in IOR's columns, so that what parses IOR's output parses this.

use std::fmt::Write;

use ioassay_protocol::events::{PhaseRecord, RankRecord};

use super::figures::{Figures, Spread, Wall, at_stonewall};
use super::report::{Access, Line, Summary, TestResults, parameters, settings};
use super::settings::Test;
use crate::localtime::ctime;
use crate::text::{FileSystem, key};

const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;
const MB: f64 = 1e6;

/// How the output begins.
pub const BEGIN: &str = "IOR-";

/// What stands before the first test.
pub fn header(command: &str, machine: &str, now_s: i64) -> String {
    format!(
        "{BEGIN}4.1.0+ioassay-{}: MPI Coordinated Test of Parallel I/O\n{}{}{}",
        env!("CARGO_PKG_VERSION"),
        key("Began", ctime(now_s)),
        key("Command line", command),
        key("Machine", machine),
    )
}

/// What stands before the results of a test.
pub fn test(tested: &TestResults<'_>, path: &str, file_system: Option<&FileSystem>) -> String {
    let mut text = key("TestID", tested.id) + &key("StartTime", ctime(tested.started_s)) + &key("Path", path);
    if let Some(file_system) = file_system {
        text += &file_system.line();
    }
    if tested.test.verbose >= 3 {
        text += "\nParameters: \n";
        text.extend(parameters(tested).into_iter().map(|(name, setting)| key(name, setting)));
    }
    if let Some(debug) = &tested.test.debug {
        let _ = write!(text, "\n*** DEBUG MODE ***\n*** {debug} ***\n\n");
    }
    text += "\nOptions: \n";
    text.extend(settings(tested.test, tested).into_iter().map(|(name, setting)| key(name, setting)));
    text + "\nResults: \n\n\
        access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n\
        ------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----\n"
}

/// The lines about a phase with a wear-out, also where it ended before its stonewall; nothing of any other.
pub fn stonewall(test: &Test, record: &PhaseRecord, figures: &Figures) -> String {
    if !test.wear_out {
        return String::new();
    }
    let Wall { least_transfers, most_transfers, least_bytes, mean_bytes, at_s } = figures.wall;
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let line =
        |rank: &RankRecord| format!("{}: stonewalling pairs accessed: {}\n", rank.rank, at_stonewall(rank).operations);
    let each: String = if test.verbose > 0 { record.ranks.iter().map(line).collect() } else { String::new() };
    format!(
        "{each}stonewalling pairs accessed min: {least_transfers} max: {most_transfers} -- min data: {:.1} GiB mean data: \
         {:.1} GiB time: {at_s:.1}s\n",
        gib(least_bytes),
        gib(mean_bytes),
    )
}

/// What stands at the end of a test with a wear-out that has no status file: what that would hold.
pub fn transfers_at_stonewall(tested: &TestResults<'_>) -> String {
    if !tested.test.wear_out || tested.test.status_file.is_some() {
        return String::new();
    }
    let transfers = tested.figures(Access::Write).first().map_or(0, |figures| figures.wall.most_transfers);
    format!("Pairs deadlineForStonewallingaccessed: {transfers}\n")
}

/// One line of results of repetition `repetition`, counted from 0.
pub fn line(tested: &TestResults<'_>, repetition: u32, line: &Line) -> String {
    match line {
        Line::Moved(access, figures) => moved(tested, repetition, *access, figures),
        Line::Removed(seconds) => {
            let dashes = "-          -          -           -          -          -          -          -          ";
            format!("{:<10}{dashes}{} {repetition:<4}\n", "remove", number(*seconds))
        }
    }
}

fn moved(tested: &TestResults<'_>, repetition: u32, access: Access, figures: &Figures) -> String {
    let Figures { iops, latency_s, open_s, access_s, close_s, total_s, .. } = *figures;
    let sizes = [tested.test.block_bytes, tested.test.transfer_bytes].map(|bytes| bytes as f64 / KIB);
    format!(
        "{:<10}{} {} {}  {} {} {} {} {} {} {repetition:<4}\n",
        access.name(),
        number(figures.rate() / MIB),
        number(iops),
        number(latency_s),
        number(sizes[0]),
        number(sizes[1]),
        number(open_s),
        number(access_s),
        number(close_s),
        number(total_s),
    )
}

/// The fastest of a test.
pub fn fastest(tested: &TestResults<'_>) -> String {
    let rate = |access| tested.figures(access).iter().map(Figures::rate).fold(0.0, f64::max);
    let mut text = String::new();
    for (asked, name, access) in
        [(tested.test.write, "Max Write: ", Access::Write), (tested.test.read, "Max Read:  ", Access::Read)]
    {
        if asked {
            let rate = rate(access);
            let _ = writeln!(text, "{name}{:.2} MiB/sec ({:.2} MB/sec)", rate / MIB, rate / MB);
        }
    }
    text
}

/// The head of the summary.
pub const SUMMARY: &str = "\n\
    Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) \
    Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt   blksiz    xsize \
    aggs(MiB)   API RefNum\n";

/// The lines of one test in the summary.
pub fn summary(tested: &TestResults<'_>) -> String {
    tested.summaries().into_iter().map(|(access, summary)| summary_line(tested, access, summary)).collect()
}

fn summary_line(tested: &TestResults<'_>, access: Access, summary: Summary) -> String {
    let test = tested.test;
    let Spread { max, min, mean, deviation } = summary.rate;
    let rates = [max, min, mean, deviation].map(|rate| format!("{:>10.2} ", rate / MIB)).concat();
    let Spread { max, min, mean, deviation } = summary.operations;
    let operations = [max, min, mean, deviation].map(|rate| format!("{rate:>10.2} ")).concat();
    let wall = match summary.stonewall {
        Some((seconds, rate)) => format!("{seconds:>10.2} {:>13.2} ", rate / MIB),
        None => format!("{:>10} {:>13} ", "NA", "NA"),
    };
    format!(
        "{:<9} {rates}{operations}{:>10.5} {wall}{:>5} {:>6} {:>3} {:>4} {:>3} {:>5} {:>8} {:>9} {:>4} {:>6} {:>8} {:>8} \
         {:>9.1} {:>3} {:>6}\n",
        access.name(),
        summary.mean_s,
        tested.id,
        test.tasks(tested.context),
        tested.tasks_per_node(),
        test.repetitions,
        u8::from(test.file_per_process),
        u8::from(test.reorder),
        test.offset,
        test.reorder_random,
        test.reorder_seed,
        test.segments,
        test.block_bytes,
        test.transfer_bytes,
        summary.bytes as f64 / MIB,
        test.typed_api,
        test.reference,
    )
}

/// What stands at the end.
pub fn finished(now_s: i64) -> String {
    key("Finished", ctime(now_s))
}

/// A number in ten columns: more decimals for smaller ones.
fn number(number: f64) -> String {
    let precision = match number {
        small if small < 1.0 => 6,
        medium if medium < 3600.0 => 2,
        _ => 0,
    };
    format!("{number:<10.precision$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_ten_columns_as_in_ior() {
        let printed = [472.9, 121_094.4, 0.000_016, 4.0].map(number);
        assert_eq!(printed, ["472.90    ", "121094    ", "0.000016  ", "4.00      "]);
    }
}
