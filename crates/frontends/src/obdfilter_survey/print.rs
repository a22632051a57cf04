//! What obdfilter-survey prints: a line for each row, with the rate of each test and the least and greatest momentary
//! rate of any one target; and its files of results.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use ioassay_protocol::events::{Event, Failure, PhaseRecord};
use ioassay_protocol::plan::Plan;

use super::options::Variables;
use super::translate::{Request, Row};
use crate::phases::Phases;
use crate::result_file;
use crate::session::Console;

const MIB: f64 = (1 << 20) as f64;

/// What the first line of a summary has in it.
const SURVEY: &str = "Obdfilter-survey for case=";

/// What each row in the details begins with.
const ROW: &str = "=======================> ";

/// In the place of momentary rates where something failed, as wide as they are.
const ERROR: &str = "            ERROR ";

/// The same where a target was done within a second.
const SHORT: &str = "            SHORT ";

/// The files of results.
#[derive(Debug)]
pub struct Results {
    summary: File,
    detail: File,
}

impl Results {
    /// Creates the files at the place that `given` names; `date` and `host` are in their name otherwise.
    ///
    /// # Errors
    /// If they cannot be written, or if something else is there and `overwrite` was not said.
    pub fn create(given: &Variables, date: &str, host: &str, overwrite: bool) -> Result<Self, Failure> {
        let prefix = given.value("rslt").map(str::to_owned).unwrap_or_else(|| {
            let place = given.value("rslt_loc").unwrap_or("/tmp");
            format!("{place}/obdfilter_survey_{date}_{host}")
        });
        let create = |ending: &str, mark: &str| {
            let is_survey = |begin: &str| begin.lines().next().is_some_and(|line| line.contains(mark));
            result_file::create(&PathBuf::from(format!("{prefix}.{ending}")), overwrite, is_survey)
        };
        Ok(Self { summary: create("summary", SURVEY)?, detail: create("detail", ROW)? })
    }

    /// Prints `text`, and puts it into the summary.
    pub fn print(&mut self, text: &str, console: &mut Console) {
        console.print(text);
        // The run directory, where one is asked for, is what counts; a full /tmp ends no survey.
        let _ = self.summary.write_all(text.as_bytes());
    }

    fn detail(&mut self, text: &str) {
        let _ = self.detail.write_all(text.as_bytes());
    }
}

/// Prints the rows.
#[derive(Debug)]
pub struct Printer<'a> {
    asked: &'a Request,
    results: Results,
    host: &'a str,
    /// Records of the running test.
    phases: Phases,
    /// Tests of the row that have their cells.
    printed: usize,
    /// One of them says that something failed.
    told_failure: bool,
}

impl<'a> Printer<'a> {
    /// A printer into `results`.
    pub fn new(asked: &'a Request, results: Results, host: &'a str) -> Self {
        Self { asked, results, host, phases: Phases::default(), printed: 0, told_failure: false }
    }

    /// The first line, written at `date`.
    pub fn head(&mut self, date: &str, console: &mut Console) {
        self.results.print(&format!("{date} {SURVEY}disk from {}\n", self.host), console);
    }

    /// The beginning of `row`.
    pub fn begin(&mut self, row: &Row, console: &mut Console) {
        let text = beginning(row);
        self.results.detail(&format!("{ROW}{text}\n"));
        self.results.print(&text, console);
        self.phases.forget();
        (self.printed, self.told_failure) = (0, false);
    }

    /// The row ends because something failed: with nothing measured where it left no records.
    pub fn fail(&mut self, console: &mut Console) {
        if let Some(test) = self.asked.tests.get(self.printed).filter(|_| !self.told_failure) {
            self.results.print(&format!("{test} {:7.2} {ERROR}", 0.0), console);
        }
    }

    /// The end of a row, where `why` stands for what was not done.
    pub fn end(&mut self, why: &str, console: &mut Console) {
        self.results.print(&format!("{why}\n"), console);
    }

    /// Prints what `event` of `plan`, the plan of `row`, has to say, if it has.
    pub fn tell(&mut self, plan: &Plan, event: &Event, console: &mut Console) {
        let Some((phase, records)) = self.phases.add(plan, event) else { return };
        let test = self.asked.test_of_phase(phase).unwrap_or(phase);
        self.detail(test, &records);
        self.printed += 1;
        self.told_failure |= records.iter().any(|record| !record.complete);
        self.results.print(&cells(test, &records), console);
    }

    /// What each target did second by second.
    fn detail(&mut self, test: &str, records: &[PhaseRecord]) {
        let mut text = String::new();
        // Writing to a string cannot fail.
        for (name, record) in self.asked.names.iter().zip(records) {
            let _ = writeln!(text, "=============> {test} {}:{name}", self.host);
            let threads = record.ranks.len();
            for operations in seconds(record, |rank| &rank.sample_operations) {
                let _ = writeln!(text, "{threads}/{threads} Total: {operations:.6}/second");
            }
        }
        let _ = writeln!(text, "=============> {test} global");
        for record in records {
            let rates = rates(record);
            let (least, greatest) = extremes(&rates).unwrap_or_default();
            let count = if record.complete { rates.len() as i64 } else { -1 };
            let _ = writeln!(text, "{count} {least:.6} {greatest:.6}");
        }
        self.results.detail(&text);
    }
}

/// What a row begins with.
fn beginning(row: &Row) -> String {
    let objects = row.objects * row.targets;
    format!(
        "ost {:2} sz {:8}K rsz {:4} obj {objects:4} thr {:4} ",
        row.targets,
        row.total_kib(),
        row.record_kib,
        row.all_threads()
    )
}

/// The cells of one test, from the records of all targets.
fn cells(test: &str, records: &[PhaseRecord]) -> String {
    let bytes: u64 = records.iter().map(|record| record.bytes).sum();
    let duration_ns = records.iter().map(|record| record.duration_ns).max().unwrap_or(0).max(1);
    let rate = bytes as f64 / MIB / (duration_ns as f64 / 1e9);
    let momentary: Vec<Vec<f64>> = records.iter().map(rates).collect();
    let spread = if records.iter().any(|record| !record.complete) {
        ERROR.to_owned()
    } else {
        // A target that was done within a second has no momentary rate, and then the row has none.
        let all: Option<Vec<(f64, f64)>> = momentary.iter().map(|rates| extremes(rates)).collect();
        match all {
            None => SHORT.to_owned(),
            Some(all) => {
                let least = all.iter().map(|(least, _)| *least).fold(f64::INFINITY, f64::min);
                let greatest = all.iter().map(|(_, greatest)| *greatest).fold(0.0, f64::max);
                format!("[{least:7.2},{greatest:7.2}] ")
            }
        }
    };
    format!("{test} {rate:7.2} {spread}")
}

/// MiB of a target in each of the whole seconds of its test.
fn rates(record: &PhaseRecord) -> Vec<f64> {
    seconds(record, |rank| &rank.sample_bytes).into_iter().map(|bytes| bytes / MIB).collect()
}

/// The sums of all threads in each whole sample, per second.
fn seconds(record: &PhaseRecord, of: fn(&ioassay_protocol::events::RankRecord) -> &Vec<u64>) -> Vec<f64> {
    let whole = record.duration_ns / record.sample_interval_ns.max(1);
    let sum = |sample: u64| -> u64 {
        record.ranks.iter().map(|rank| of(rank).get(sample as usize).copied().unwrap_or(0)).sum()
    };
    (0..whole).map(|sample| sum(sample) as f64 / (record.sample_interval_ns as f64 / 1e9)).collect()
}

/// The least and the greatest, where there are any.
fn extremes(rates: &[f64]) -> Option<(f64, f64)> {
    let least = rates.iter().copied().reduce(f64::min)?;
    Some((least, rates.iter().copied().reduce(f64::max)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_engine::measure::records;
    use ioassay_protocol::events::RankRecord;
    use ioassay_protocol::plan::Operation;

    /// A target of two threads that ran so long and did these MiB in each second.
    fn record(duration_ns: u64, mib: &[u64], complete: bool) -> PhaseRecord {
        let sample_bytes: Vec<u64> = mib.iter().map(|mib| mib << 19).collect();
        let rank = |number| RankRecord {
            end_ns: duration_ns,
            bytes: sample_bytes.iter().sum(),
            operations: mib.len() as u64,
            sample_bytes: sample_bytes.clone(),
            ..records::rank(number)
        };
        PhaseRecord { complete, ..records::phase("write", Operation::Write, vec![rank(0), rank(1)]) }
    }

    #[test]
    fn a_row_begins_as_the_original_s() {
        let row = Row { targets: 8, record_kib: 1024, objects: 1, threads: 1, records: 8192 };
        assert_eq!(beginning(&row), "ost  8 sz 67108864K rsz 1024 obj    8 thr    8 ");
    }

    #[test]
    fn a_test_has_its_rate_and_the_extremes_of_any_one_target_in_whole_seconds() {
        let records = [record(2_500_000_000, &[100, 60, 20], true), record(2_000_000_000, &[80, 70], true)];
        assert_eq!(cells("write", &records), "write  132.00 [  60.00, 100.00] ");
    }

    #[test]
    fn what_is_over_within_a_second_is_short_and_what_failed_an_error() {
        let long = record(2_000_000_000, &[80, 70], true);
        let short = record(900_000_000, &[90], true);
        assert_eq!(cells("read", &[long.clone(), short]), format!("read  120.00 {:>17} ", "SHORT"));
        let failed = record(2_000_000_000, &[80, 70], false);
        assert!(cells("read", &[long, failed]).ends_with("            ERROR "));
    }

    #[test]
    fn only_a_survey_s_own_files_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let given = |name: &str| {
            let prefix = directory.path().join(name).display().to_string();
            Variables::read(&[format!("rslt={prefix}")], |_| None).unwrap()
        };
        std::fs::write(directory.path().join("a.summary"), "Mon Obdfilter-survey for case=disk from x\nost 1\n")
            .unwrap();
        assert!(Results::create(&given("a"), "d", "h", false).is_ok());
        std::fs::write(directory.path().join("b.detail"), "a thesis\n").unwrap();
        let failure = Results::create(&given("b"), "d", "h", false).unwrap_err();
        assert!(failure.message.contains("b.detail") && failure.remedy.contains("--overwrite"), "{failure:?}");
        assert!(Results::create(&given("b"), "d", "h", true).is_ok());
    }
}
