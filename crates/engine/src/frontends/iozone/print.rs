//! What IOzone prints in its throughput mode, from the records of the phases.

use std::collections::BTreeMap;
use std::fmt::Write;

use ioassay_contract::events::{Event, PhaseRecord, RankRecord};
use ioassay_contract::plan::Plan;

use super::options::Given;
use super::translate::{Asked, Test};
use crate::frontends::phases::Phases;
use crate::frontends::session::Console;

/// Shorter than this nothing is, for IOzone's clock.
const SHORTEST_S: f64 = 1e-6;

/// What IOzone calls the children of a test, with the tabs that line the figures up.
struct Label {
    /// Behind their number.
    children: &'static str,
    /// True where their number takes two columns at least.
    padded: bool,
    tabs: &'static str,
    /// In the table for Excel.
    report: &'static str,
}

fn label(test: Test) -> Label {
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
    };
    Label { children, padded, tabs, report }
}

/// What one child did.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Child {
    rank: u32,
    /// KiB, or operations.
    amount: f64,
    per_s: f64,
    wall_s: f64,
    processor_s: f64,
}

fn seconds(ns: u64) -> f64 {
    (ns as f64 / 1e9).max(SHORTEST_S)
}

/// What counts, and in which unit.
#[derive(Debug, Clone, Copy)]
struct Counting {
    operations: bool,
    /// Each child to its own end (`-x`), not to that of the first.
    to_the_end: bool,
    close: bool,
}

impl Counting {
    fn of(given: &Given) -> Self {
        Self { operations: given.has("-O"), to_the_end: given.has("-x"), close: given.has("-c") }
    }

    fn amount(self, bytes: u64, operations: u64) -> f64 {
        if self.operations { operations as f64 } else { bytes as f64 / 1024.0 }
    }

    /// As IOzone counts: opening the file does not.
    fn child(self, record: &PhaseRecord, rank: &RankRecord) -> Child {
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
            per_s: amount / seconds(end_ns.saturating_sub(begin_ns)),
            wall_s: (rank.end_ns - rank.start_ns) as f64 / 1e9,
            processor_s: (rank.usage.user_ns + rank.usage.system_ns) as f64 / 1e9,
        }
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
    /// Records of the running phase.
    phases: Phases,
    /// By test the rates of all children together, case by case: the table for Excel.
    rates: Vec<(&'static str, BTreeMap<usize, f64>)>,
    case: usize,
}

impl Printer {
    /// A printer for what `given` asks for.
    pub fn new(given: &Given) -> Self {
        Self {
            counting: Counting::of(given),
            distributed: given.has("-+m"),
            per_child: given.has("-C"),
            processor: given.has("-+u"),
            phases: Phases::default(),
            rates: Vec::new(),
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
        if let Some(test) = Test::of_phase(phase)
            && records.iter().all(|record| record.complete)
        {
            console.print(&self.test(test, &records));
        }
    }

    fn unit(&self) -> &'static str {
        if self.counting.operations { "ops" } else { "kB" }
    }

    /// The lines of one test.
    fn test(&mut self, test: Test, records: &[PhaseRecord]) -> String {
        let counting = self.counting;
        let ranks = records.iter().flat_map(|record| record.ranks.iter().map(move |rank| (record, rank)));
        let mut children: Vec<Child> = ranks.map(|(record, rank)| counting.child(record, rank)).collect();
        children.sort_by_key(|child| child.rank);
        let together: f64 = children.iter().map(|child| child.per_s).sum();
        let amount: f64 = children.iter().map(|child| child.amount).sum();
        let parent_ns = records.iter().map(|record| counting.parent_ns(record)).max().unwrap_or(0);
        let lowest = |of: fn(&Child) -> f64| children.iter().map(of).fold(f64::INFINITY, f64::min);
        let highest = |of: fn(&Child) -> f64| children.iter().map(of).fold(0.0, f64::max);

        let Label { children: called, padded, tabs, report } = label(test);
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
            let _ = writeln!(text, "\tParent sees throughput for {count} {called} {tabs}= {parent:10.2} {unit}/sec");
        }
        let average = together / children.len() as f64;
        for (name, figure, end) in
            [("Min", lowest(|child| child.per_s), " "), ("Max", highest(|child| child.per_s), ""), ("Avg", average, "")]
        {
            let _ = writeln!(text, "\t{name} throughput per process \t\t\t= {figure:10.2} {unit}/sec{end}");
        }
        let _ = writeln!(text, "\tMin xfer \t\t\t\t\t= {:10.2} {unit}", lowest(|child| child.amount));
        if self.processor {
            let wall_s = highest(|child| child.wall_s);
            let processor_s: f64 = children.iter().map(|child| child.processor_s).sum();
            let percent = 100.0 * processor_s / wall_s.max(SHORTEST_S);
            // IOzone writes the first one with a capital.
            let name = if test == Test::InitialWrite { "Utilization" } else { "utilization" };
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
        let row = self.rates.iter().position(|(name, _)| *name == report).unwrap_or_else(|| {
            self.rates.push((report, BTreeMap::new()));
            self.rates.len() - 1
        });
        self.rates[row].1.insert(self.case, together);
        text
    }

    /// What stands at the end.
    pub fn end(&self, asked: &Asked) -> String {
        let mut text = String::from("\n\n");
        if asked.given.has("-R") {
            let output = if self.counting.operations { "ops/sec" } else { "kBytes/sec" };
            let _ = writeln!(text, "\n\"Throughput report Y-axis is type of test X-axis is number of processes\"");
            let _ = writeln!(text, "\"Record size = {} kBytes \"", asked.record_bytes >> 10);
            let _ = writeln!(text, "\"Output is in {output}\"\n");
            for (name, rates) in &self.rates {
                let cells: String = (1..=self.case)
                    .map(|case| format!(" {:10.2} ", rates.get(&case).copied().unwrap_or(0.0)))
                    .collect();
                let _ = writeln!(text, "\"{name:>15} \"{cells}\n");
            }
        }
        text + "\niozone test complete.\n"
    }
}

/// What stands before the tests: how the options were understood.
pub fn head(asked: &Asked, command: &[String], began: &str) -> String {
    let given = &asked.given;
    let mut lines = vec![
        "Iozone: Performance Test of File I/O".to_owned(),
        format!("        the command line of IOzone 3.471 on ioassay-engine {}", env!("CARGO_PKG_VERSION")),
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
    say("-M", format!("Machine = {}\n", machine()));
    say("-c", "Include close in write timing".to_owned());
    say("-e", "Include fsync in write timing".to_owned());
    say("-w", "Setting no_unlink".to_owned());
    say("-I", "O_DIRECT feature enabled".to_owned());
    say("-B", "Using mmap files".to_owned());
    say("-H", format!("Transfers in flight (io_uring). Depth {}", value("-H")));
    say("-k", format!("Transfers in flight (io_uring). Depth {}", value("-k")));
    say("-o", "SYNC Mode. ".to_owned());
    say("-x", "Stonewall disabled".to_owned());
    say("-V", "Verify Mode.".to_owned());
    say("-O", "OPS Mode. Output is in operations per second.".to_owned());
    say("-+n", "No retest option selected".to_owned());
    say("-+m", "Network distribution mode enabled.".to_owned());
    say("-+q", format!("Delay {} seconds between tests enabled.", value("-+q")));
    say("-+p", format!("Percent read in mix test is {}", value("-+p")));
    say("-+l", ">>> Record locking mode enabled. <<<".to_owned());
    say("-+O", format!("Rate control active {} Ops/sec .", value("-+O")));
    say("-r", format!("Record Size {} kB", asked.record_bytes >> 10));
    let children = asked.children[0];
    say("-s", format!("File size set to {} kB", asked.bytes_of_each(children) >> 10));
    say("-R", "Excel chart generation enabled".to_owned());
    lines.push(format!("Command line used: iozone {}", command.join(" ")));
    if !given.has("-O") {
        lines.push("Output is in kBytes/sec".to_owned());
    }
    if given.has("-i") && given.values("-i").iter().any(|test| test == "5") {
        lines
            .push(format!("File stride size set to {} * record size.", given.values("-j").first().map_or("17", |j| j)));
    }
    let processes = if children > 1 { "processes" } else { "process" };
    lines.push(format!("Throughput test with {children} {processes}"));
    let indented = |line: String| if line.is_empty() { line } else { format!("\t{line}") };
    lines.into_iter().map(indented).collect::<Vec<_>>().join("\n") + "\n"
}

/// What stands before the tests of one number of children.
pub fn head_of_case(asked: &Asked, children: u32) -> String {
    let [file, record] = [asked.bytes_of_each(children), asked.record_bytes].map(|bytes| bytes >> 10);
    format!("\tEach process writes a {file} kByte file in {record} kByte records\n")
}

/// What `uname -a` says.
fn machine() -> String {
    let Ok(about) = nix::sys::utsname::uname() else { return String::new() };
    let parts = [about.sysname(), about.nodename(), about.release(), about.version(), about.machine()];
    parts.map(|part| part.to_string_lossy()).join(" ")
}
