//! IOzone's table, with a row for each file and record and a column for each test, and the reports that `-R` and `-b`
//! make of it.
//!
//! Not here: what is printed of children ([`super::print`]).

use std::collections::BTreeMap;
use std::fmt::Write;

use ioassay_protocol::events::Event;
use ioassay_protocol::plan::Plan;

use super::options::Options;
use super::print::Counting;
use super::sizes::Rows;
use super::test::{Test, columns};
use super::translate::Request;
use super::worksheet::Worksheet;
use crate::phases::Phases;
use crate::session::Console;

/// A column of the table.
struct Column {
    /// The two lines above it, and as many characters as these have.
    heads: (&'static str, &'static str, usize),
    /// Characters of a figure.
    width: usize,
    /// The report on standard output.
    report: &'static str,
    /// The report in a worksheet.
    label: &'static str,
}

fn column(test: Test) -> Column {
    let (heads, width, report, label) = match test {
        Test::InitialWrite => (("", "write", 9), 9, "Writer", "Writer"),
        Test::Rewrite => (("", "rewrite", 9), 9, "Re-writer", "Re-writer"),
        Test::Read => (("", "read", 8), 9, "Reader", "Reader"),
        Test::Reread => (("", "reread", 10), 9, "Re-Reader", "Re-reader"),
        Test::RandomRead => (("random", "read", 8), 9, "Random read", "Random Read"),
        Test::RandomWrite => (("random", "write", 10), 9, "Random write", "Random Write"),
        Test::ReverseRead => (("bkwd", "read", 9), 9, "Backward read", "Backward Read"),
        Test::RecordRewrite => (("record", "rewrite", 10), 10, "Record rewrite", "Record Rewrite"),
        Test::StrideRead | Test::Mixed => (("stride", "read", 10), 10, "Stride read", "Stride Read"),
        Test::Fwrite => (("", "fwrite", 9), 9, "Fwrite", "Fwrite"),
        Test::Refwrite => (("", "frewrite", 9), 9, "Re-Fwrite", "Re-fwrite"),
        Test::Fread => (("", "fread", 9), 9, "Fread", "Fread"),
        Test::Refread => (("", "freread", 9), 9, "Re-Fread", "Re-fread"),
        Test::Pwrite => (("", "pwrite", 8), 9, "Pwrite", "Pwrite"),
        Test::Repwrite => (("", "repwrite", 9), 9, "Re-Pwrite", "Re-pwrite"),
        Test::Pread => (("", "pread", 8), 8, "Pread", "Pread"),
        Test::Repread => (("", "repread", 10), 9, "Re-Pread", "Re-pread"),
    };
    Column { heads, width, report, label }
}

/// Characters that stand for a test that was not asked for, by its number.
fn blank(number: u64) -> usize {
    match number {
        3 => 9,
        4 | 5 => 10,
        7 => 17,
        _ => 18,
    }
}

/// The heads of streams stay empty where they are no columns.
const STREAMS: [Test; 4] = [Test::Fwrite, Test::Refwrite, Test::Fread, Test::Refread];

/// A figure of the table.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    figure: u64,
    processor_percent: f64,
}

/// Prints the table row by row, cell by cell.
#[derive(Debug)]
pub struct Table {
    counting: Counting,
    microseconds: bool,
    columns: Vec<Test>,
    /// The tests that run, and the numbers of those that were asked for.
    tests: Vec<Test>,
    numbers: Vec<u64>,
    phases: Phases,
    /// The next column of the row.
    position: usize,
    row: usize,
    /// By row and column.
    cells: BTreeMap<(usize, usize), Cell>,
}

impl Table {
    /// A table of what `asked` asks for.
    pub fn new(asked: &Request) -> Self {
        Self {
            counting: Counting::of_one(&asked.given),
            microseconds: asked.given.has("-N"),
            columns: columns(&asked.given),
            tests: asked.tests.tests.clone(),
            numbers: asked.tests.numbers.clone(),
            phases: Phases::default(),
            position: 0,
            row: 0,
            cells: BTreeMap::new(),
        }
    }

    /// The lines above the rows.
    pub fn head(&self, given: &Options) -> String {
        let streams = self.columns.contains(&Test::StrideRead) && !self.columns.contains(&Test::Fwrite);
        let heads = self.columns.iter().map(|&test| column(test).heads);
        let empty = STREAMS.iter().filter(|_| streams && !given.has("-A")).map(|_| ("", "", 9));
        let (mut above, mut below) = (" ".repeat(24), format!("{:>16}{:>8}", "kB", "reclen"));
        for (first, second, width) in heads.chain(empty) {
            // Writing to a string cannot fail.
            let _ = write!(above, "{first:>width$}");
            let _ = write!(below, "{second:>width$}");
        }
        format!("{above}\n{below}\n")
    }

    /// Begins a row of a file and its record, in KiB.
    pub fn begin_row(&mut self, file_kib: u64, record_kib: u64, console: &mut Console) {
        self.position = 0;
        console.print(&format!("{file_kib:16}{record_kib:8}"));
    }

    /// Prints what `event` of `plan` has to say, if it has.
    pub fn tell(&mut self, plan: &Plan, event: &Event, console: &mut Console) {
        let Some((phase, records)) = self.phases.add(plan, event) else { return };
        let record = records.first().filter(|record| record.complete);
        let (Some(test), Some(record)) = (Test::of_phase(phase), record) else { return };
        let Some(rank) = record.ranks.first() else { return };
        let child = self.counting.child(record, rank);
        let figure = if self.microseconds { 1e6 / child.per_s } else { child.per_s };
        let before = self.until(Some(test));
        let cell = Cell { figure: figure as u64, processor_percent: child.processor_percent() };
        self.cells.insert((self.row, self.position), cell);
        console.print(&(before + &printed(test, cell.figure)));
        self.position += 1;
    }

    /// Ends the row.
    pub fn end_row(&mut self, console: &mut Console) {
        let rest = self.until(None);
        console.print(&(rest + "\n"));
        self.row += 1;
    }

    /// What stands before the figure of `test`, or to the end of the row: blanks for what was not asked for, and 0 for
    /// what was left out.
    fn until(&mut self, test: Option<Test>) -> String {
        let mut text = String::new();
        while let Some(&next) = self.columns.get(self.position).filter(|&&next| Some(next) != test) {
            let first = self.position == 0 || self.columns[self.position - 1].number() != next.number();
            if self.numbers.contains(&next.number()) {
                text += &printed(next, 0);
            } else if first {
                text += &" ".repeat(blank(next.number()));
            }
            self.position += 1;
        }
        text
    }

    /// The columns that were asked for, each with its place.
    fn reported(&self) -> impl Iterator<Item = (usize, Column)> {
        let asked = self.columns.iter().enumerate().filter(|(_, test)| self.numbers.contains(&test.number()));
        asked.map(|(position, &test)| (position, column(test)))
    }

    /// The figures of the column at `position`: for each file its KiB, and a cell for each record that heads the
    /// report. What the crossover left out is 0, and what is larger than the file is left out.
    fn figures(&self, asked: &Request, rows: &Rows, position: usize) -> Vec<(u64, Vec<Cell>)> {
        let mut figures: Vec<(u64, u64, Vec<Cell>)> = Vec::new();
        for (index, row) in rows.rows.iter().enumerate().take(self.row) {
            if figures.last().is_none_or(|(bytes, ..)| *bytes != row.file_bytes) {
                let skipped = rows.heads.iter().filter(|&&record| record < row.record_bytes).count();
                let skipped = if rows.automatic { skipped } else { 0 };
                figures.push((row.file_bytes, asked.kib_of(*row), vec![Cell::default(); skipped]));
            }
            let cell = self.cells.get(&(index, position)).copied().unwrap_or_default();
            if let Some((_, _, cells)) = figures.last_mut() {
                cells.push(cell);
            }
        }
        figures.into_iter().map(|(_, kib, cells)| (kib, cells)).collect()
    }

    /// What stands at the end.
    pub fn end(&self, asked: &Request, rows: &Rows) -> String {
        let mut text = String::from("\niozone test complete.\n");
        if !asked.given.has("-R") && !asked.given.has("-b") {
            return text;
        }
        text += "Excel output is below:\n";
        for (position, column) in self.reported() {
            let cell = |cell: &Cell| format!(" {} ", cell.figure);
            self.report(&mut text, &format!("{} report", column.report), asked, rows, position, cell);
        }
        for (position, column) in self.reported().filter(|_| asked.given.has("-+u")) {
            let title = format!("{} CPU utilization report (Zero values should be ignored)", column.report);
            self.report(&mut text, &title, asked, rows, position, |cell| format!(" {:6.2}", cell.processor_percent));
        }
        text
    }

    fn report(
        &self,
        text: &mut String,
        title: &str,
        asked: &Request,
        rows: &Rows,
        position: usize,
        printed: impl Fn(&Cell) -> String,
    ) {
        let heads: String = rows.heads.iter().map(|record| format!("  \"{}\"", record >> 10)).collect();
        let _ = writeln!(text, "\n\"{title}\"\n      {heads}");
        for (kib, cells) in self.figures(asked, rows, position) {
            let cells: String = cells.iter().map(&printed).collect();
            let _ = writeln!(text, "\"{kib}\"  {cells}");
        }
    }

    /// The worksheet of `-b`.
    pub fn worksheet(&self, asked: &Request, rows: &Rows, command: &str) -> Vec<u8> {
        let mut sheet = Worksheet::new();
        sheet.label(0, 0, command);
        sheet.label(1, 0, " ");
        sheet.label(2, 0, "The top row is records sizes, the left column is file sizes");
        let mut row = 3;
        for (position, column) in self.reported() {
            sheet.label(row, 0, &format!("{} Report", column.label));
            for (column, record) in (1..).zip(&rows.heads) {
                sheet.number(row + 1, column, (record >> 10) as f64);
            }
            row += 2;
            for (kib, cells) in self.figures(asked, rows, position) {
                sheet.number(row, 0, kib as f64);
                for (column, cell) in (1..).zip(cells) {
                    sheet.number(row, column, cell.figure as f64);
                }
                row += 1;
            }
        }
        sheet.finish()
    }

    /// True if no test runs.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }
}

/// A figure in the column of `test`.
fn printed(test: Test, figure: u64) -> String {
    let width = column(test).width - 1;
    format!(" {figure:width$}")
}
