//! IOR's command line.
//!
//! [`parameters`] reads it into [`settings`], [`translate`] makes plans of it, [`figures`] IOR's figures of our records, and
//! [`report`] the output, as [`text`], [`json`] or [`csv`]. Differences from IOR stand in [`options`].

mod csv;
mod figures;
mod hints;
mod json;
pub mod options;
mod parameters;
mod report;
pub(super) mod settings;
mod text;
mod translate;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use ioassay_engine::command;
use ioassay_engine::exit::Exit;
use ioassay_engine::failure;
use ioassay_engine::rank_set::RankSet;
use ioassay_engine::stdio::say;
use ioassay_engine::storage::mpi;
use ioassay_engine::storage::plugin::sources;
use ioassay_protocol::events::{Event, Failure, PhaseRecord, RankRecord};
use ioassay_protocol::front_end::Tool;
use ioassay_protocol::plan::storage::Storage;
use ioassay_protocol::plan::{Operation, Step};

use self::figures::{Figures, Spread};
use self::parameters::Parameters;
use self::report::{Access, Line, TestResults};
use self::settings::{Api, Format, Random, Test};
use self::translate::{EarlierFile, READ, RunContext, WRITE};
use super::common::{Common, usage};
use super::localtime;
use super::options::{help, known, wants_help};
use super::result_file;
use super::session::{Console, Session};
use super::text::{FileSystem, uname};

pub use self::csv::RANKS;
pub use self::text::BEGIN;

/// Runs IOR's command line.
pub fn run(common: &Common, ranks: &mut dyn RankSet, arguments: &[String]) -> Exit {
    if wants_help(arguments) {
        let all = [known(options::OPTIONS), known(options::DIRECTIVES)].concat();
        return command::print(&help("ioassay-engine ior [OPTIONS]: IOR 4.1's command line", &all));
    }
    let prepared = Parameters::parse(arguments).and_then(|mut parameters| {
        parameters.warnings.iter().for_each(|warning| say!("ioassay-engine: {warning}"));
        parameters.tests.iter_mut().try_for_each(with_plug_in)?;
        let sink = Sink::open(&parameters, common.overwrite)?;
        Ok((parameters, sink, Session::begin(Tool::Ior, common, ranks, arguments)?))
    });
    let (parameters, mut sink, mut session) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => return Exit::refused(failure),
    };
    let ended = all_tests(common, &parameters, arguments, &mut sink, &mut session);
    session.finish(ended)
}

/// True if a test of the command line, or of the script that it names, does its I/O by MPI.
pub fn speaks_mpi(arguments: &[String]) -> bool {
    let by_mpi = |test: &Test| test.api.is_over_mpi() && !test.dry_run;
    Parameters::parse(arguments).is_ok_and(|parameters| parameters.tests.iter().any(by_mpi))
}

/// The storage that `words` ask for: what may follow `-a` on a command line, an API and options of its own.
///
/// # Errors
/// If they are refused, or say more than how transfers reach the storage.
pub fn storage(words: &[String]) -> Result<Storage, Failure> {
    let names = |word: &&String| word.starts_with('-');
    // Those of the APIs are named after them.
    if let Some(word) = words.iter().filter(names).find(|word| !(word.starts_with("--") && word.contains('.'))) {
        return Err(usage(format!("{word} is not an option of a storage API"), "leave it out"));
    }
    let arguments: Vec<String> = std::iter::once("-a".to_owned()).chain(words.iter().cloned()).collect();
    let mut test = Parameters::parse(&arguments)?.tests.remove(0);
    with_plug_in(&mut test)?;
    if test.preallocate
        || test.strided
        || test.range_locks
        || test.advise_dont_need
        || test.advise_pattern
        || test.dummy_delay_us > 0
    {
        let asked: Vec<&str> = words.iter().filter(names).map(String::as_str).collect();
        let problem = format!("{} does more than select the storage API", asked.join(" "));
        return Err(usage(problem, "use --posix.odirect, --aio.max-pending or --aio.granularity only"));
    }
    Ok(translate::storage(&test))
}

/// The plans of the first repetition of each test of a command line; none for an API that needs ranks which are MPI
/// processes.
#[cfg(test)]
pub fn plans(arguments: &[String], common: &Common) -> Result<Vec<ioassay_protocol::plan::Plan>, Failure> {
    let parameters = Parameters::parse(arguments)?;
    let context = RunContext {
        working_directory: Path::new("/w"),
        ranks: common.ranks,
        nodes: common.nodes,
        now_s: 1_700_000_000,
        overwrite: false,
    };
    let tests = parameters.tests.iter().filter(|test| test.api.plug_in().is_none());
    let earlier = |test: &Test| EarlierFile { iterations: None, file_bytes: test.block_bytes };
    Ok(tests.map(|test| translate::plan(test, &context, ("r", "c"), 0, earlier(test))).collect())
}

/// Finds the plug-in for the API of `test`, where it is one, and gives it the hints of the environment.
fn with_plug_in(test: &mut Test) -> Result<(), Failure> {
    let Some(name) = test.api.plug_in().filter(|_| !test.dry_run) else { return Ok(()) };
    if !mpi::in_ranks() {
        let missing = mpi::missing(&format!("-a {}", test.api.name()));
        return Err(usage(missing.what, &missing.remedy));
    }
    for (hint, value) in hints::in_environment(std::env::vars())? {
        // What the command line says comes before.
        test.plug_in_options.entry(format!("hints.{hint}")).or_insert((test.api, value));
    }
    test.plug_in = sources::built(&sources::cache()?, name)?;
    if test.plug_in.is_none() {
        let problem = format!("-a {} needs the plug-in {name}, which is not built", test.api.name());
        return Err(usage(problem, format!("run `ioassay-engine api build {name}`")));
    }
    Ok(())
}

/// Where results go: what is printed, or the file that `-O summaryFile` names.
struct Sink {
    file: Option<File>,
    format: Format,
}

impl Sink {
    /// Opens it, and looks at the other files of results before anything is measured.
    fn open(parameters: &Parameters, overwrite: bool) -> Result<Self, Failure> {
        for test in &parameters.tests {
            if let Some(path) = test.status_file.as_deref().filter(|_| test.write) {
                result_file::may_replace(path, overwrite, result_file::is_number)?;
            }
            if let Some(path) = &test.rank_details {
                result_file::may_replace(path, overwrite, is_rank_details)?;
            }
        }
        let is_summary = |begin: &str| {
            begin.starts_with(BEGIN) || begin.starts_with("access,bw(MiB/s)") || begin.contains("\"Command line\"")
        };
        let open = |path: &Path| result_file::create(path, overwrite, is_summary);
        Ok(Self { file: parameters.summary_file.as_deref().map(open).transpose()?, format: parameters.format })
    }

    /// Writes `text` where the format is `format`.
    fn write(&mut self, console: &mut Console, format: Format, text: &str) {
        if format != self.format {
            return;
        }
        match &mut self.file {
            // A full disk must not end a measurement; the run directory has the figures too.
            Some(file) => drop(file.write_all(text.as_bytes())),
            None => console.print(text),
        }
    }
}

fn all_tests(
    common: &Common,
    parameters: &Parameters,
    arguments: &[String],
    sink: &mut Sink,
    session: &mut Session<'_>,
) -> Exit {
    let working_directory = std::env::current_dir().unwrap_or_default();
    let began_s = localtime::now_s();
    let context = RunContext {
        working_directory: &working_directory,
        ranks: common.ranks,
        nodes: common.nodes,
        now_s: began_s as i32,
        overwrite: common.overwrite,
    };
    let command = format!("ior {}", arguments.join(" "));
    let machine = machine(parameters.tests[0].verbose);
    sink.write(&mut session.console, Format::Text, &text::header(&command, &machine, began_s));
    sink.write(&mut session.console, Format::Csv, csv::HEADER);
    let tests: Vec<Test> = parameters.tests.iter().map(|test| scaled(common, test)).collect();
    let (mut done, mut ended) = (Vec::new(), Exit::default());
    for (id, test) in tests.iter().enumerate() {
        let tested = TestResults { id, test, context: &context, started_s: localtime::now_s(), lines: Vec::new() };
        let path = test.file_of(0, 0);
        let directory = working_directory.join(&path);
        let file_system = FileSystem::of(directory.parent().unwrap_or(&working_directory));
        sink.write(&mut session.console, Format::Text, &text::test(&tested, &path, file_system.as_ref()));
        warn_of_one_node(&tested);
        let mut running = Running { tested, sink, repetition: 0, doubted: false, lost: None };
        ended = running.repetitions(session);
        let tested = running.tested;
        if test.verbose > 0 {
            sink.write(&mut session.console, Format::Text, &text::fastest(&tested));
        }
        if test.summary_always {
            let summary = [text::SUMMARY, &text::summary(&tested)].concat();
            sink.write(&mut session.console, Format::Text, &summary);
        }
        sink.write(&mut session.console, Format::Text, &text::transfers_at_stonewall(&tested));
        done.push((tested, path, file_system));
        if ended.code != 0 {
            break;
        }
    }
    if ended.code != 0 && done.iter().all(|(tested, ..)| tested.lines.is_empty()) {
        return ended;
    }
    let summaries: String = done.iter().map(|(tested, ..)| text::summary(tested)).collect();
    let summary = ["\nSummary of all tests:", text::SUMMARY, &summaries, &text::finished(localtime::now_s())].concat();
    sink.write(&mut session.console, Format::Text, &summary);
    let document = json::document(&command, &machine, began_s, localtime::now_s(), &done);
    sink.write(&mut session.console, Format::Json, &document);
    ended
}

/// This node as IOR calls it: from `-vv` on with its kernel.
fn machine(verbose: u32) -> String {
    if verbose >= 2 { uname() } else { format!("Linux {}", ioassay_host::host_name()) }
}

/// What IOR's command line `arguments` would have left of `record`, a phase that another front end has run with `ranks`
/// ranks: what it prints, and its file of every rank's times.
///
/// # Errors
/// If it is no command line of IOR's.
pub fn phase_log(arguments: &[String], ranks: u32, record: &PhaseRecord) -> Result<(String, String), Failure> {
    let parameters = Parameters::parse(arguments)?;
    let test = &parameters.tests[0];
    let started_s = (record.started_unix_ns / 1_000_000_000) as i64;
    let context =
        RunContext { working_directory: Path::new("/"), ranks, nodes: 1, now_s: started_s as i32, overwrite: false };
    let tested = TestResults { id: 0, test, context: &context, started_s, lines: Vec::new() };
    let access = if record.operation == Operation::Write { Access::Write } else { Access::Read };
    let command = format!("./ior {}", arguments.join(" "));
    // Nobody asks the file system here: the next phase runs already.
    let mut text =
        text::header(&command, &machine(test.verbose), started_s) + &text::test(&tested, &test.file_of(0, 0), None);
    let mut ranks = csv::RANKS.to_owned();
    if record.complete {
        let figures = Figures::of(record, test.transfer_bytes);
        text += &text::stonewall(test, record, &figures);
        text += &text::line(&tested, 0, &Line::Moved(access, figures));
        ranks += &csv::ranks(access, record);
    }
    Ok((text, ranks))
}

/// With less of everything that takes time and space, where the environment asks for it.
fn scaled(common: &Common, test: &Test) -> Test {
    let segments = common.scaled(test.segments, 1);
    // What many segments do not take away, the block must.
    let rest = Common { scale_down: (common.scale_down * segments / test.segments).max(1), ..common.clone() };
    let block_bytes = rest.scaled(test.block_bytes, test.transfer_bytes);
    Test { segments, block_bytes, delay_s: test.delay_s / common.scale_down, ..test.clone() }
}

fn warn_of_one_node(tested: &TestResults<'_>) {
    if tested.test.reorder && tested.context.nodes == 1 && tested.test.tasks(tested.context) > 1 {
        say!("ioassay-engine: -C shifts ranks by whole nodes; on one node each rank reads its own data");
    }
}

/// A test while it runs.
struct Running<'a, 's> {
    tested: TestResults<'a>,
    sink: &'s mut Sink,
    /// The repetition that runs, counted from 0.
    repetition: u32,
    /// A doubt was printed.
    doubted: bool,
    /// Why the status file could not be written.
    lost: Option<Failure>,
}

impl Running<'_, '_> {
    fn repetitions(&mut self, session: &mut Session<'_>) -> Exit {
        let test = self.tested.test;
        let begin = Instant::now();
        let most = Duration::from_secs(test.most_minutes.saturating_mul(60));
        for repetition in 0..test.repetitions {
            if test.most_minutes > 0 && begin.elapsed() >= most {
                break;
            }
            self.repetition = repetition;
            let earlier =
                self.status().and_then(|iterations| Ok(EarlierFile { iterations, file_bytes: self.file_bytes()? }));
            let earlier = match earlier {
                Ok(earlier) => earlier,
                Err(failure) => return Exit::refused(failure),
            };
            let context = RunContext { now_s: localtime::now_s() as i32, ..*self.tested.context };
            let case = format!("test{}.{repetition}", self.tested.id);
            let plan = translate::plan(test, &context, (session.run(), &case), repetition, earlier);
            let last = plan.steps.len() as u32 - 1;
            let removes = matches!(plan.steps.last(), Some(Step::RemoveFiles { .. }));
            let workload = format!("test{}", self.tested.id);
            let ended = session.run_case(&workload, repetition + 1, &plan, |event, console| match event {
                Event::Phase(record) => self.phase(record, console),
                Event::FilesRemoved(removed) if removes && removed.step == last && test.verbose > 0 => {
                    self.line(Line::Removed(removed.duration_ns as f64 / 1e9), console);
                }
                _ => {}
            });
            if ended.code != 0 {
                return ended;
            }
        }
        if let Some(failure) = self.lost.take() {
            return Exit::could_not_run(failure);
        }
        if self.doubted && test.warnings_are_errors {
            return Exit::failed(usage(
                "--warningAsErrors: there are doubts about the results",
                "read the doubts above",
            ));
        }
        Exit::default()
    }

    /// What the status file says, where the test only reads. Without it the test reads all of its part, as IOR does.
    fn status(&self) -> Result<Option<u64>, Failure> {
        let test = self.tested.test;
        let Some(path) = test.status_file.as_deref().filter(|_| !test.write) else { return Ok(None) };
        let why = match fs::read_to_string(path) {
            Ok(text) => match text.trim().parse() {
                Ok(iterations) => return Ok(Some(iterations)),
                Err(_) => "it does not contain a number of transfers".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        let problem = format!("the status file {} cannot be read: {why}", path.display());
        let remedy = "use the file that the write created with -O stoneWallingStatusFile";
        if test.warnings_are_errors {
            return Err(usage(format!("--warningAsErrors: {problem}"), remedy));
        }
        if self.repetition == 0 {
            say!("ioassay-engine: WARNING: {problem}; each rank reads its whole part of the file");
            say!("  try: {remedy}");
        }
        Ok(None)
    }

    /// Bytes of the smallest file, where blocks are drawn from what is there.
    fn file_bytes(&self) -> Result<u64, Failure> {
        let TestResults { test, context, .. } = &self.tested;
        if test.random != Random::Drawn || test.dry_run || test.api == Api::Dummy {
            return Ok(test.block_bytes);
        }
        let files = if test.file_per_process { test.tasks(context) } else { 1 };
        let mut smallest = u64::MAX;
        for rank in 0..files {
            let path = context.working_directory.join(test.file_of(rank, self.repetition));
            let bytes = fs::metadata(&path).map_err(|error| failure::on_path("read", &path, &error))?.len();
            if bytes < test.block_bytes {
                let message = format!("{} has {bytes} bytes, less than a block (-b)", path.display());
                return Err(failure::about_path("read", &path, message, "use a smaller -b, or write a larger file"));
            }
            smallest = smallest.min(bytes);
        }
        Ok(smallest)
    }

    fn phase(&mut self, record: &PhaseRecord, console: &mut Console) {
        self.doubted |= !record.doubts.is_empty();
        let access = match record.name.as_str() {
            WRITE => Access::Write,
            READ => Access::Read,
            _ => return,
        };
        if !record.complete {
            return;
        }
        let test = self.tested.test;
        let figures = Figures::of(record, test.transfer_bytes);
        self.sink.write(console, Format::Text, &text::stonewall(test, record, &figures));
        self.leave_status(access, &figures);
        self.line(Line::Moved(access, figures), console);
        name_outliers(test, record);
        if let Some(path) = &test.rank_details {
            let fresh = self.tested.lines.len() == 1 && self.tested.id == 0;
            let rows = csv::ranks(access, record);
            if let Err(failure) = write_rank_details(path, &rows, fresh, self.tested.context.overwrite) {
                say!("ioassay-engine: {}", failure.message);
            }
        }
    }

    /// Tells a later read how far the fastest rank had come at the stonewall, or at the end of a write that ended before
    /// it: in the first repetition, as IOR does.
    fn leave_status(&mut self, access: Access, figures: &Figures) {
        let test = self.tested.test;
        let Some(path) = test.status_file.as_ref().filter(|_| access == Access::Write && self.repetition == 0) else {
            return;
        };
        let transfers = figures.wall.most_transfers.to_string();
        let written = result_file::write(path, self.tested.context.overwrite, result_file::is_number, &transfers);
        self.lost = self.lost.take().or(written.err());
    }

    fn line(&mut self, line: Line, console: &mut Console) {
        let as_text = text::line(&self.tested, self.repetition, &line);
        self.sink.write(console, Format::Text, &as_text);
        let as_csv = csv::line(&self.tested, self.repetition, &line);
        self.sink.write(console, Format::Csv, &as_csv);
        self.tested.lines.push((self.repetition, line));
    }
}

/// Names the ranks whose times are further than `-j` seconds from the mean.
fn name_outliers(test: &Test, record: &PhaseRecord) {
    if test.outlier_s == 0 {
        return;
    }
    type Time = fn(&RankRecord) -> u64;
    let times: [(&str, Time); 5] = [
        ("start time", |rank| rank.start_ns),
        ("elapsed create time", |rank| rank.open_ns),
        ("elapsed transfer time", |rank| rank.fill_ns + rank.transfer_ns),
        ("elapsed close time", |rank| rank.close_ns),
        ("end time", |rank| rank.end_ns),
    ];
    for (name, of) in times {
        let seconds: Vec<f64> = record.ranks.iter().map(|rank| of(rank) as f64 / 1e9).collect();
        let Spread { mean, deviation, .. } = Spread::of(&seconds);
        for (rank, time) in seconds.iter().enumerate().filter(|(_, time)| (**time - mean).abs() > test.outlier_s as f64)
        {
            let phase = &record.name;
            say!("WARNING: task {rank}, {phase} {name} is {time:.6} (mean={mean:.6}, stddev={deviation:.6})");
        }
    }
}

/// Adds `lines` to the file of the ranks' times; `fresh` begins it anew.
fn write_rank_details(path: &Path, lines: &str, fresh: bool, overwrite: bool) -> Result<(), Failure> {
    if fresh {
        return result_file::write(path, overwrite, is_rank_details, &[csv::RANKS, lines].concat());
    }
    let appended = File::options().append(true).open(path).and_then(|mut file| file.write_all(lines.as_bytes()));
    appended.map_err(|error| failure::on_path("write", path, &error))
}

fn is_rank_details(begin: &str) -> bool {
    begin.starts_with(csv::RANKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_down_takes_segments_first_and_then_the_block() {
        let common = |scale_down| Common { ranks: 1, nodes: 1, run: None, overwrite: false, scale_down };
        let test = Test { segments: 4, block_bytes: 2 << 40, transfer_bytes: 1 << 20, ..Test::default() };
        let small = scaled(&common(1 << 20), &test);
        assert_eq!((small.segments, small.block_bytes), (1, 8 << 20));
        assert_eq!(scaled(&common(1), &test), test);
    }
}
