//! What IOzone prints before the tests, and of those of its throughput mode, from the records of the phases.
//!
//! Not here: the table of the other modes ([`super::table`]).

use std::collections::BTreeMap;
use std::fmt::Write;

use ioassay_protocol::events::{Event, PhaseRecord, RankRecord};
use ioassay_protocol::plan::Plan;

use super::options::Options;
use super::test::{OF_CHILDREN, Test};
use super::translate::{Children, Mode, Request};
use super::worksheet::Worksheet;
use crate::phases::Phases;
use crate::session::Console;
use crate::text::uname;

/// Shorter than this nothing is, for IOzone's clock.
const SHORTEST_S: f64 = 1e-6;

/// What IOzone calls the children of a test, with the tabs that line the figures up.
struct Label {
    /// Behind their number.
    children: &'static str,
    /// True where their number takes two columns at least.
    padded: bool,
    tabs: &'static str,
    /// Behind what the parent sees, where they are others.
    parent_tabs: &'static str,
    /// In the table for Excel.
    report: &'static str,
}

/// What a test of the throughput mode is called; nothing for one of the table alone.
fn label(test: Test) -> Option<Label> {
    let (children, padded, tabs, report) = match test {
        Test::InitialWrite => ("initial writers", true, "\t", "Initial write"),
        Test::Rewrite => ("rewriters", true, "\t", "Rewrite"),
        Test::Read => ("readers", true, "\t\t", "Read"),
        Test::Reread => ("re-readers", false, "\t", "Re-read"),
        Test::ReverseRead => ("reverse readers", false, "\t", "Reverse Read"),
        Test::StrideRead => ("stride readers", false, "\t", "Stride read"),
        Test::RandomRead => ("random readers", false, "\t", "Random read"),
        Test::Mixed => ("mixed workload", false, "\t", "Mixed workload"),
        Test::RandomWrite => ("random writers", false, "\t", "Random write"),
        Test::Pwrite => ("pwrite writers", false, "\t", "Pwrite"),
        Test::Pread => ("pread readers", false, "\t", "Pread"),
        Test::Fwrite => ("fwriters", true, "\t", "Fwrite"),
        Test::Fread => ("freaders", true, "\t", "Fread"),
        Test::RecordRewrite | Test::Refwrite | Test::Refread | Test::Repwrite | Test::Repread => return None,
    };
    let parent_tabs = if test.is_of_streams() { "\t\t" } else { tabs };
    Some(Label { children, padded, tabs, parent_tabs, report })
}

/// What one child did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Child {
    rank: u32,
    /// KiB, or operations.
    amount: f64,
    /// The same per second.
    pub per_s: f64,
    wall_s: f64,
    processor_s: f64,
}

impl Child {
    /// Its time on processors, in percent of its time.
    pub fn processor_percent(self) -> f64 {
        100.0 * self.processor_s / self.wall_s.max(SHORTEST_S)
    }
}

fn seconds(ns: u64) -> f64 {
    (ns as f64 / 1e9).max(SHORTEST_S)
}

/// What counts, and in which unit.
#[derive(Debug, Clone, Copy)]
pub struct Counting {
    operations: bool,
    /// Each child to its own end (`-x`), not to that of the first.
    to_the_end: bool,
    close: bool,
    /// From the first transfer to the last: a single process waits for nobody.
    alone: bool,
}

impl Counting {
    fn of(given: &Options) -> Self {
        Self { operations: given.has("-O"), to_the_end: given.has("-x"), close: given.has("-c"), alone: false }
    }

    /// Of a single process.
    pub fn of_one(given: &Options) -> Self {
        let operations = given.has("-O") || given.has("-N");
        Self { operations, to_the_end: true, alone: true, ..Self::of(given) }
    }

    fn amount(self, bytes: u64, operations: u64) -> f64 {
        if self.operations { operations as f64 } else { bytes as f64 / 1024.0 }
    }

    /// As IOzone counts: opening the file does not.
    pub fn child(self, record: &PhaseRecord, rank: &RankRecord) -> Child {
        let begin_ns = rank.start_ns + rank.open_ns;
        let at_first = rank.at_first_finish.filter(|_| !self.to_the_end);
        let (amount, end_ns) = match at_first {
            Some(done) => (self.amount(done.bytes, done.operations), record.first_finished_ns),
            None => {
                let close_ns = if self.close { 0 } else { rank.close_ns };
                (self.amount(rank.bytes, rank.operations), rank.end_ns - close_ns)
            }
        };
        Child {
            rank: rank.rank,
            amount,
            per_s: amount / seconds(if self.alone { self.alone_ns(rank) } else { end_ns.saturating_sub(begin_ns) }),
            wall_s: (rank.end_ns - rank.start_ns) as f64 / 1e9,
            processor_s: (rank.usage.user_ns + rank.usage.system_ns) as f64 / 1e9,
        }
    }

    /// The time of a single process: its transfers, its fsync and, with `-c`, its close.
    fn alone_ns(self, rank: &RankRecord) -> u64 {
        rank.transfer_ns + rank.fsync_ns + if self.close { rank.close_ns } else { 0 }
    }

    /// What the parent's clock shows: from the first child's begin, to the end of the last or, with the others, of the
    /// first.
    fn parent_ns(self, record: &PhaseRecord) -> u64 {
        let begin_ns = record.ranks.iter().map(|rank| rank.start_ns + rank.open_ns).min().unwrap_or(0);
        let end_ns = if self.to_the_end { record.duration_ns } else { record.first_finished_ns };
        end_ns.saturating_sub(begin_ns)
    }
}

/// Prints the tests of one command.
#[derive(Debug)]
pub struct Printer {
    counting: Counting,
    /// Parents of children on other hosts have no figure of their own.
    distributed: bool,
    per_child: bool,
    processor: bool,
    /// What a child is.
    child: &'static str,
    /// Records of the running phase.
    phases: Phases,
    /// By test the rates of all children together, case by case: the table for Excel.
    rates: Vec<(&'static str, BTreeMap<usize, f64>)>,
    case: usize,
}

impl Printer {
    /// A printer for what `asked` asks for.
    pub fn new(asked: &Request) -> Self {
        let given = &asked.given;
        // What -+n leaves out has a row of zeros in the report.
        let reported = OF_CHILDREN.iter().filter(|test| asked.tests.numbers.contains(&test.number()));
        let rates = reported.filter_map(|&test| Some((label(test)?.report, BTreeMap::new()))).collect();
        Self {
            counting: Counting::of(given),
            distributed: given.has("-+m"),
            per_child: given.has("-C"),
            processor: given.has("-+u"),
            child: child(given),
            phases: Phases::default(),
            rates,
            case: 0,
        }
    }

    /// A new number of children.
    pub fn begin_case(&mut self, console: &mut Console) {
        if self.case > 0 {
            console.print("\n\n");
        }
        self.case += 1;
    }

    /// Prints what `event` of `plan` has to say, if it has.
    pub fn tell(&mut self, plan: &Plan, event: &Event, console: &mut Console) {
        let Some((phase, records)) = self.phases.add(plan, event) else { return };
        if let Some(label) = Test::of_phase(phase).and_then(label)
            && records.iter().all(|record| record.complete)
        {
            console.print(&self.test(label, &records));
        }
    }

    fn unit(&self) -> &'static str {
        if self.counting.operations { "ops" } else { "kB" }
    }

    /// The lines of one test.
    fn test(&mut self, label: Label, records: &[PhaseRecord]) -> String {
        let counting = self.counting;
        let ranks = records.iter().flat_map(|record| record.ranks.iter().map(move |rank| (record, rank)));
        let mut children: Vec<Child> = ranks.map(|(record, rank)| counting.child(record, rank)).collect();
        children.sort_by_key(|child| child.rank);
        let together: f64 = children.iter().map(|child| child.per_s).sum();
        let amount: f64 = children.iter().map(|child| child.amount).sum();
        let parent_ns = records.iter().map(|record| counting.parent_ns(record)).max().unwrap_or(0);
        let lowest = |of: fn(&Child) -> f64| children.iter().map(of).fold(f64::INFINITY, f64::min);
        let highest = |of: fn(&Child) -> f64| children.iter().map(of).fold(0.0, f64::max);

        let Label { children: called, padded, tabs, parent_tabs, report } = label;
        let unit = self.unit();
        let count = children.len();
        let count = if padded { format!("{count:2}") } else { count.to_string() };
        let mut text = String::from("\n");
        // Writing to a string cannot fail.
        if self.distributed {
            let _ = writeln!(text, "\tTest running:");
        }
        let _ = writeln!(text, "\tChildren see throughput for {count} {called} {tabs}= {together:10.2} {unit}/sec");
        if !self.distributed {
            let parent = amount / seconds(parent_ns);
            let _ =
                writeln!(text, "\tParent sees throughput for {count} {called} {parent_tabs}= {parent:10.2} {unit}/sec");
        }
        let average = together / children.len() as f64;
        for (name, figure, end) in
            [("Min", lowest(|child| child.per_s), " "), ("Max", highest(|child| child.per_s), ""), ("Avg", average, "")]
        {
            let child = self.child;
            let _ = writeln!(text, "\t{name} throughput per {child} \t\t\t= {figure:10.2} {unit}/sec{end}");
        }
        let _ = writeln!(text, "\tMin xfer \t\t\t\t\t= {:10.2} {unit}", lowest(|child| child.amount));
        if self.processor {
            let wall_s = highest(|child| child.wall_s);
            let processor_s: f64 = children.iter().map(|child| child.processor_s).sum();
            let percent = 100.0 * processor_s / wall_s.max(SHORTEST_S);
            // IOzone writes the first one with a capital.
            let name = if called == "initial writers" { "Utilization" } else { "utilization" };
            let _ = writeln!(
                text,
                "\tCPU {name}: Wall time {wall_s:8.3}    CPU time {processor_s:8.3}    \
                 CPU utilization {percent:6.2} %\n"
            );
        }
        if self.per_child {
            for Child { rank, amount, per_s, .. } in &children {
                let _ = writeln!(
                    text,
                    "\tChild[{rank}] xfer count = {amount:10.2} {unit}, Throughput = {per_s:10.2} {unit}/sec"
                );
            }
        }
        if let Some((_, rates)) = self.rates.iter_mut().find(|(name, _)| *name == report) {
            rates.insert(self.case, together);
        }
        text
    }

    /// What stands at the end of what `children` did.
    pub fn end(&self, asked: &Request, children: &Children) -> String {
        let mut text = String::from("\n\n");
        if asked.given.has("-R") || asked.given.has("-b") {
            let [about, record, output] = self.about(children);
            let _ = writeln!(text, "\n\"{about}\"\n\"{record} \"\n\"{output}\"\n");
            for (name, rates) in &self.rates {
                let cells: String = self.cells(rates).map(|rate| format!(" {rate:10.2} ")).collect();
                let _ = writeln!(text, "\"{name:>15} \"{cells}\n");
            }
        }
        text + "\niozone test complete.\n"
    }

    /// The worksheet of `-b`.
    pub fn worksheet(&self, children: &Children, command: &str) -> Vec<u8> {
        let mut sheet = Worksheet::new();
        let heads = std::iter::once(command.to_owned()).chain(self.about(children));
        for (row, text) in (0..).zip(heads) {
            sheet.label(row, 0, &text);
        }
        for (row, (name, rates)) in (4..).zip(&self.rates) {
            sheet.label(row, 0, &format!("{name:>15} "));
            for (column, rate) in (2..).zip(self.cells(rates)) {
                sheet.number(row, column, rate);
            }
        }
        sheet.finish()
    }

    /// What the report is of, the records, and the unit.
    fn about(&self, children: &Children) -> [String; 3] {
        let output = if self.counting.operations { "ops/sec" } else { "kBytes/sec" };
        [
            format!("Throughput report Y-axis is type of test X-axis is number of {}", plural(self.child)),
            format!("Record size = {} kBytes", children.record_bytes >> 10),
            format!("Output is in {output}"),
        ]
    }

    /// A rate for each number of children, 0 where there is none.
    fn cells(&self, rates: &BTreeMap<usize, f64>) -> impl Iterator<Item = f64> {
        (1..=self.case).map(|case| rates.get(&case).copied().unwrap_or(0.0))
    }
}

/// What stands before the tests: how the options were understood.
pub fn head(asked: &Request, command: &[String], began: &str) -> String {
    let given = &asked.given;
    let mut lines = vec![
        "Iozone: Performance Test of File I/O".to_owned(),
        format!("        the command line of IOzone 3.489 on ioassay-engine {}", env!("CARGO_PKG_VERSION")),
        String::new(),
        format!("Run began: {began}"),
        String::new(),
    ];
    let mut say = |name: &str, line: String| {
        if given.has(name) {
            lines.push(line);
        }
    };
    let value = |name: &str| given.values(name).first().cloned().unwrap_or_default();
    say("-M", format!("Machine = {}\n", uname()));
    say("-a", "Auto Mode".to_owned());
    say("-A", "Auto Mode 2. This option is obsolete. Use -az -i0 -i1 ".to_owned());
    say("-z", "Cross over of record size disabled.".to_owned());
    say("-c", "Include close in write timing".to_owned());
    say("-e", "Include fsync in write timing".to_owned());
    say("-w", "Setting no_unlink".to_owned());
    say("-I", "O_DIRECT feature enabled".to_owned());
    say("-B", "Using mmap files".to_owned());
    say("-D", "Using msync(MS_ASYNC) on mmap files".to_owned());
    say("-G", "Using msync(MS_SYNC) on mmap files".to_owned());
    say("-H", format!("Transfers in flight (io_uring). Depth {}", value("-H")));
    say("-k", format!("Transfers in flight (io_uring). Depth {}", value("-k")));
    say("-o", "SYNC Mode. ".to_owned());
    say("-+r", "Read & Write sync mode active.".to_owned());
    say("-+D", ">>> O_DSYNC mode enabled. <<<".to_owned());
    say("-W", "Lock file when reading/writing.".to_owned());
    say("-x", "Stonewall disabled".to_owned());
    say("-V", "Verify Mode.".to_owned());
    say("-+d", ">>> I/O Diagnostic mode enabled. <<<".to_owned());
    say("-O", "OPS Mode. Output is in operations per second.".to_owned());
    say("-N", "Microseconds/op Mode. Output is in microseconds per operation.".to_owned());
    say("-+n", "No retest option selected".to_owned());
    say("-+m", "Network distribution mode enabled.".to_owned());
    say("-+q", format!("Delay {} seconds between tests enabled.", value("-+q")));
    say("-+p", format!("Percent read in mix test is {}", value("-+p")));
    say("-+l", ">>> Record locking mode enabled. <<<".to_owned());
    say("-+O", format!("Rate control active {} Ops/sec .", value("-+O")));
    lines.extend(sizes(asked));
    if given.has("-R") {
        lines.push("Excel chart generation enabled".to_owned());
    }
    lines.push(format!("Command line used: {}", command_line(command)));
    if !given.has("-O") && !given.has("-N") {
        lines.push("Output is in kBytes/sec".to_owned());
    }
    let stride = given.values("-j").first().map_or("17", |stride| stride);
    lines.push(format!("File stride size set to {stride} * record size."));
    if let Mode::Children(children) = &asked.mode {
        let (count, child) = (children.counts[0], child(given));
        let children = if count > 1 { plural(child) } else { child };
        lines.push(format!("Throughput test with {count} {children}"));
    }
    let indented = |line: String| if line.is_empty() { line } else { format!("\t{line}") };
    lines.into_iter().map(indented).collect::<Vec<_>>().join("\n") + "\n"
}

/// What the original has for a child.
fn child(given: &Options) -> &'static str {
    if given.has("-T") { "thread" } else { "process" }
}

/// Several of what [`child`] says.
fn plural(child: &str) -> &'static str {
    if child == "thread" { "threads" } else { "processes" }
}

/// How the sizes that were typed were understood.
fn sizes(asked: &Request) -> Vec<String> {
    let given = &asked.given;
    let mut lines = Vec::new();
    match &asked.mode {
        Mode::Children(children) => {
            if given.has("-r") {
                lines.push(format!("Record Size {} kB", children.record_bytes >> 10));
            }
            if given.has("-s") {
                lines.push(format!("File size set to {} kB", asked.bytes_of_each(children, children.counts[0]) >> 10));
            }
        }
        Mode::Rows(rows) => {
            let (Some(first), Some(last)) = (rows.rows.first(), rows.rows.last()) else { return lines };
            if given.has("-n") {
                lines.push(format!("Using minimum file size of {} kilobytes.", first.file_bytes >> 10));
            }
            if given.has("-g") {
                lines.push(format!("Using maximum file size of {} kilobytes.", last.file_bytes >> 10));
            }
            let (lowest, highest) = (rows.heads.first(), rows.heads.last());
            if let Some(lowest) = lowest.filter(|_| given.has("-y")) {
                lines.push(format!("Using Minimum Record Size {} kB", lowest >> 10));
            }
            if let Some(highest) = highest.filter(|_| given.has("-q")) {
                lines.push(format!("Using Maximum Record Size {} kB", highest >> 10));
            }
            let mut files: Vec<u64> = rows.rows.iter().map(|row| row.file_bytes >> 10).collect();
            files.dedup();
            let files = files.into_iter().filter(|_| given.has("-s"));
            lines.extend(files.map(|kib| format!("File size set to {kib} kB")));
            let records = rows.heads.iter().filter(|_| given.has("-r"));
            lines.extend(records.map(|bytes| format!("Record Size {} kB", bytes >> 10)));
        }
    }
    lines
}

/// The command line as IOzone shows it.
pub fn command_line(command: &[String]) -> String {
    format!("iozone {}", command.join(" "))
}

/// What stands before the tests of `count` of the `children`.
pub fn head_of_case(asked: &Request, children: &Children, count: u32) -> String {
    let [file, record] = [asked.bytes_of_each(children, count), children.record_bytes].map(|bytes| bytes >> 10);
    let child = child(&asked.given);
    format!("\tEach {child} writes a {file} kByte file in {record} kByte records\n")
}
