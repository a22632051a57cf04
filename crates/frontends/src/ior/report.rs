//! What a run of IOR's command line says, whatever the form: the tests, their settings and their figures.
//!
//! [`super::text`], [`super::json`] and [`super::csv`] write it down.

use super::figures::{Figures, Spread};
use super::settings::Test;
use super::translate::RunContext;

/// A write or a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Write.
    Write,
    /// Read.
    Read,
}

impl Access {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// One line of results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Line {
    /// A phase.
    Moved(Access, Figures),
    /// The removal of the files, in seconds.
    Removed(f64),
}

/// A test and its results.
#[derive(Debug)]
pub struct TestResults<'a> {
    /// Its number.
    pub id: usize,
    /// What it was asked.
    pub test: &'a Test,
    /// What it was run on.
    pub context: &'a RunContext<'a>,
    /// When it began, in seconds since 1970.
    pub started_s: i64,
    /// Its results with the number of their repetition, as they came.
    pub lines: Vec<(u32, Line)>,
}

/// What IOR's summary has for one access of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Bytes per second.
    pub rate: Spread,
    /// Transfers per second over the whole time, open and close included.
    pub operations: Spread,
    /// Mean time, in seconds.
    pub mean_s: f64,
    /// Mean time of the stonewall in seconds, and bytes per second of a mean rank until then.
    pub stonewall: Option<(f64, f64)>,
    /// Bytes of the first repetition.
    pub bytes: u64,
}

impl TestResults<'_> {
    /// The figures of all repetitions of an access.
    pub fn figures(&self, access: Access) -> Vec<Figures> {
        let of = |(_, line): &(u32, Line)| match line {
            Line::Moved(moved, figures) if *moved == access => Some(*figures),
            _ => None,
        };
        self.lines.iter().filter_map(of).collect()
    }

    /// The accesses that have figures, in the order in which IOR summarises them.
    pub fn summaries(&self) -> Vec<(Access, Summary)> {
        let both = [Access::Write, Access::Read];
        both.into_iter().filter_map(|access| Some((access, self.summary(access)?))).collect()
    }

    fn summary(&self, access: Access) -> Option<Summary> {
        let figures = self.figures(access);
        let bytes = figures.first()?.bytes;
        let count = figures.len() as f64;
        let rates: Vec<f64> = figures.iter().map(Figures::rate).collect();
        let transfer = self.test.transfer_bytes as f64;
        let operations: Vec<f64> = rates.iter().map(|rate| rate / transfer).collect();
        let wall_s: f64 = figures.iter().map(|figures| figures.wall.at_s).sum();
        let wall_bytes: u64 = figures.iter().map(|figures| figures.wall.mean_bytes).sum();
        Some(Summary {
            rate: Spread::of(&rates),
            operations: Spread::of(&operations),
            mean_s: figures.iter().map(|figures| figures.total_s).sum::<f64>() / count,
            stonewall: (self.test.wear_out && wall_s > 0.0).then(|| (wall_s / count, wall_bytes as f64 / wall_s)),
            bytes,
        })
    }

    /// Ranks on the first node.
    pub fn tasks_per_node(&self) -> u32 {
        self.context.ranks / self.context.nodes
    }
}

/// A size as IOR prints it: whole where it can be, otherwise with two decimals.
pub fn size(bytes: u64) -> String {
    let units = [(1_u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) if bytes.is_multiple_of(unit) => format!("{} {name}", bytes / unit),
        Some((unit, name)) => format!("{:.2} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} bytes"),
    }
}

/// The settings that IOR shows of every test, under their names.
pub fn settings(test: &Test, tested: &TestResults<'_>) -> Vec<(&'static str, Setting)> {
    let text = |text: &str| Setting::Text(text.to_owned());
    let mut all = vec![
        ("api", text(&test.typed_api)),
        ("apiVersion", text("")),
        ("test filename", text(&test.file)),
        ("access", text(if test.file_per_process { "file-per-process" } else { "single-shared-file" })),
        ("type", text("independent")),
        ("segments", Setting::Number(test.segments as i64)),
        ("ordering in a file", text(if test.random.is_random() { "random" } else { "sequential" })),
    ];
    let offset = Setting::Number(test.offset.into());
    if test.reorder {
        all.extend([("ordering inter file", text("constant task offset")), ("task offset", offset)]);
    } else if test.reorder_random > 0 {
        all.extend([("ordering inter file", text("random task offset")), ("task offset", offset)]);
        all.push(("reorder random seed", Setting::Number(test.reorder_seed.into())));
    } else {
        all.push(("ordering inter file", text("no tasks offsets")));
    }
    all.extend([
        ("nodes", Setting::Number(tested.context.nodes.into())),
        ("tasks", Setting::Number(test.tasks(tested.context).into())),
        ("clients per node", Setting::Number(tested.tasks_per_node().into())),
    ]);
    let memory = [("memoryPerTask", test.memory_per_task), ("memoryPerNode", test.memory_per_node)];
    all.extend(
        memory.into_iter().filter(|(_, bytes)| *bytes > 0).map(|(name, bytes)| (name, Setting::Text(size(bytes)))),
    );
    all.extend([
        ("memoryBuffer", text("CPU")),
        ("dataAccess", text("CPU")),
        ("GPUDirect", text("0")),
        ("repetitions", Setting::Number(test.repetitions.into())),
        ("xfersize", Setting::Text(size(test.transfer_bytes))),
        ("blocksize", Setting::Text(size(test.block_bytes))),
        ("aggregate filesize", Setting::Text(size(test.expected_bytes(tested.context)))),
    ]);
    let numbers = [
        ("dryRun", i64::from(test.dry_run), test.dry_run),
        ("verbose", test.verbose.into(), test.verbose > 0),
        ("stonewallingTime", test.deadline_s as i64, test.deadline_s > 0),
        ("stoneWallingWearOut", test.wear_out.into(), test.deadline_s > 0),
    ];
    all.extend(
        numbers.into_iter().filter(|(.., shown)| *shown).map(|(name, number, _)| (name, Setting::Number(number))),
    );
    all
}

/// All parameters of a test, under their names, as IOR shows them when it is asked to be verbose.
pub fn parameters(tested: &TestResults<'_>) -> Vec<(&'static str, Setting)> {
    let test = tested.test;
    let text = |text: &str| Setting::Text(text.to_owned());
    let number = |number: u64| Setting::Number(number as i64);
    let flag = |flag: bool| Setting::Number(flag.into());
    vec![
        ("testID", number(tested.id as u64)),
        ("refnum", Setting::Number(test.reference)),
        ("api", text(&test.typed_api)),
        ("platform", text(test.platform.as_deref().unwrap_or("Linux"))),
        ("testFileName", text(&test.file)),
        ("deadlineForStonewall", number(test.deadline_s)),
        ("stoneWallingWearOut", flag(test.wear_out)),
        ("maxTimeDuration", number(test.most_minutes)),
        ("outlierThreshold", number(test.outlier_s)),
        ("options", text("(null)")),
        ("dryRun", flag(test.dry_run)),
        ("nodes", number(tested.context.nodes.into())),
        ("memoryPerTask", number(test.memory_per_task)),
        ("memoryPerNode", number(test.memory_per_node)),
        ("tasksPerNode", number(tested.tasks_per_node().into())),
        ("repetitions", number(test.repetitions.into())),
        ("multiFile", flag(test.multi_file)),
        ("interTestDelay", number(test.delay_s)),
        ("fsync", flag(test.fsync)),
        ("fsyncperwrite", flag(test.fsync_per_write)),
        ("useExistingTestFile", flag(test.use_existing)),
        ("uniqueDir", flag(test.unique_directory)),
        ("singleXferAttempt", flag(false)),
        ("readFile", flag(test.read)),
        ("writeFile", flag(test.write)),
        ("filePerProc", flag(test.file_per_process)),
        ("reorderTasks", flag(test.reorder)),
        ("reorderTasksRandom", number(test.reorder_random.into())),
        ("reorderTasksRandomSeed", Setting::Number(test.reorder_seed.into())),
        ("randomOffset", number(test.random.times().into())),
        ("checkWrite", flag(test.check_write)),
        ("checkRead", flag(test.check_read)),
        ("dataPacketType", Setting::Number(test.packet() as i64)),
        ("keepFile", flag(test.keep)),
        ("keepFileWithError", flag(test.keep_with_error)),
        ("warningAsErrors", flag(test.warnings_are_errors)),
        ("verbose", number(test.verbose.into())),
        ("data packet type", text(&test.packet().name()[..1])),
        ("setTimeStampSignature/incompressibleSeed", Setting::Number(test.signature.into())),
        ("collective", flag(false)),
        ("segmentCount", number(test.segments)),
        ("transferSize", number(test.transfer_bytes)),
        ("blockSize", number(test.block_bytes)),
    ]
}

/// A setting's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}
