//! The IO500 with its .ini file.
//!
//! [`command_line`] has the options, [`config`] reads the file and [`settings`] resolves it ([`api`] storage APIs),
//! [`translate`] makes one plan of all phases, [`rules`] has the scores and what makes them invalid, [`print`] the files of
//! results ([`phase_logs`] those of each phase), [`official`] drives the official program. What is not as in the official one stands in [`options`].

mod api;
pub(crate) mod command_line;
mod commands;
mod config;
#[cfg(test)]
mod corpus;
pub mod facts;
mod find;
mod node;
mod official;
pub mod options;
mod phase_logs;
mod phases;
mod print;
mod rules;
mod settings;
mod translate;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ioassay_engine::command;
use ioassay_engine::exit::Exit;
use ioassay_engine::plan::validate;
use ioassay_engine::rank_set::RankSet;
use ioassay_engine::stdio::say;
use ioassay_engine::{failure, supervise};
use ioassay_host::clock;
use ioassay_protocol::doubt::{Doubt, Reason};
use ioassay_protocol::events::{CacheAttempt, Event, Failure, PhaseRecord};
use ioassay_protocol::front_end::Tool;

use self::command_line::Arguments;
use self::commands::Places;
use self::config::Config;
use self::find::CreatedFiles;
use self::phases::{PHASES, Phase, RANDOM, TIMESTAMP};
use self::print::{Ini, Report};
use self::rules::{Outcome, Scores};
use self::settings::Settings;
use self::translate::{CASE, FIRST_ITERATION, RunContext};
use super::common::Common;
use super::options::{help, known, wants_help};
use super::session::{Console, Session};

const SYNOPSIS: &str = "ioassay-engine io500 CONFIG.INI [OPTIONS]: the phases and rules of the IO500 (isc26). What it \
                        writes is marked as no official run; --official PATH drives the official program.";

const GIB: f64 = 1_073_741_824.0;

/// Runs the IO500's command line.
pub fn run(common: &Common, ranks: &mut dyn RankSet, arguments: &[String]) -> Exit {
    let flag = |names: &[&str]| arguments.iter().any(|argument| names.contains(&argument.as_str()));
    let text = if wants_help(arguments) {
        Some(help(SYNOPSIS, &known(command_line::OPTIONS)))
    } else if flag(&["-l", "--list"]) {
        Some(format!("# Sections and keys of the .ini file with their defaults:\n{}", options::list(true)))
    } else if flag(&["-lm", "--list-mandatory"]) {
        Some(format!("# Sections and keys of the standard mode with their defaults:\n{}", options::list(false)))
    } else {
        None
    };
    if let Some(text) = text {
        return command::print(&text);
    }
    asked(common, ranks, arguments).unwrap_or_else(Exit::refused_for)
}

/// True if the .ini file of the command line names an API that does its I/O by MPI.
pub fn speaks_mpi(arguments: &[String]) -> bool {
    let Ok(asked) = Arguments::parse(arguments) else { return false };
    let Ok(text) = config::read(&asked.config) else { return false };
    let config = Config::parse(&asked.config.display().to_string(), &text);
    config.is_ok_and(|config| config.apis().any(|api| api::is_over_mpi(api, &asked.ways)))
}

fn asked(common: &Common, ranks: &mut dyn RankSet, arguments: &[String]) -> Result<Exit, Vec<Failure>> {
    let asked = Arguments::parse(arguments).map_err(alone)?;
    if let Some(program) = &asked.official {
        return official::run(common, ranks, arguments, &asked, program).map_err(alone);
    }
    let text = config::read(&asked.config).map_err(alone)?;
    let config = Config::parse(&asked.config.display().to_string(), &text)?;
    let settings = Settings::of(&config, common, asked.extended, asked.verbosity, &asked.ways)?;
    if asked.dry_run {
        return Ok(dry_run(&asked, &settings));
    }
    let ini = Ini { original: &text, resolved: &config.resolved() };
    measure(common, ranks, arguments, &asked, ini, &settings).map_err(alone)
}

fn alone(failure: Failure) -> Vec<Failure> {
    vec![failure]
}

fn results_of(settings: &Settings, timestamp: &str) -> PathBuf {
    if settings.results_by_time { settings.results.join(timestamp) } else { settings.results.clone() }
}

fn dry_run(asked: &Arguments, settings: &Settings) -> Exit {
    let timestamp = asked.timestamp();
    let results = results_of(settings, &timestamp);
    let places = Places { data: &settings.data, results: &results, timestamp: &timestamp };
    let set_files = translate::assumed_set_files(settings);
    for warning in &settings.warnings {
        say!("ioassay-engine: {}: {warning}", asked.config.display());
    }
    let mut text = String::new();
    for phase in settings.phases().filter(|phase| settings.runs(phase.name)) {
        if let Some(command) = commands::command(settings, &places, phase.name, set_files) {
            text += &format!("[{}]\nexe             = {command}\n\n", phase.name);
        }
    }
    command::print(&text)
}

fn measure(
    common: &Common,
    ranks: &mut dyn RankSet,
    arguments: &[String],
    asked: &Arguments,
    ini: Ini<'_>,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let timestamp = asked.timestamp();
    let data = config::absolute(&settings.data);
    let session = Session::begin(Tool::Io500, common, ranks, arguments)?;
    let run = session.run().to_owned();
    let plan = translate::plan(settings, &RunContext { data: &data, run: &run, timestamp: &timestamp });
    if let Err(refusal) = validate(&plan) {
        return Ok(session.finish(Exit::refused(command::refused(&refusal))));
    }
    let report = Report::create(&results_of(settings, &timestamp), settings, common.overwrite, ini)?;
    // From here on signals are blocked until they are waited for, and what was created is removed again.
    supervise::block_signals().map_err(|error| failure::on_path("block signals", &data, &error))?;
    let created = Created::all(&data)?;
    let from_the_start = rules::invalid_from_the_start(settings);
    let mut running = Running {
        settings,
        places: Places { data: &data, results: &report.directory.clone(), timestamp: &timestamp },
        report,
        outcomes: Vec::new(),
        preparing_s: 0.0,
        together: Vec::new(),
        set_files: translate::assumed_set_files(settings),
        first_iteration: 0.0,
        created: CreatedFiles::default(),
        from_the_start: &from_the_start,
        failure: None,
    };
    let mut session = session;
    running.report.header(&mut session.console, settings, &from_the_start, clock::unix_ns());
    for warning in &settings.warnings {
        running.warn(&mut session.console, warning);
    }
    let ended = session.run_case(CASE, 1, &plan, |event, console| running.event(event, console));
    drop(created);
    let ended = running.conclude(ended, &mut session.console);
    Ok(session.finish(ended))
}

/// What the records of all kinds of operations of a phase say together.
fn as_one(records: Vec<PhaseRecord>) -> PhaseRecord {
    let mut records = records.into_iter();
    let mut all = records.next().expect("a phase has a record");
    for record in records {
        all.operations += record.operations;
        all.bytes += record.bytes;
        all.complete &= record.complete;
        all.ranks.extend(record.ranks);
        let new = |doubt: &Doubt| all.doubts.iter().all(|known| known.message != doubt.message);
        let doubts: Vec<Doubt> = record.doubts.into_iter().filter(new).collect();
        all.doubts.extend(doubts);
    }
    all
}

/// Directories that were made for a run, which go with it.
struct Created(Vec<PathBuf>);

impl Created {
    /// Makes `directory` and those above it that are missing.
    fn all(directory: &Path) -> Result<Self, Failure> {
        let missing: Vec<&Path> =
            directory.ancestors().take_while(|path| fs::symlink_metadata(path).is_err()).collect();
        let mut created = Self(Vec::new());
        for path in missing.into_iter().rev() {
            fs::create_dir(path).map_err(|error: io::Error| failure::on_path("create directory", path, &error))?;
            created.0.push(path.to_owned());
        }
        Ok(created)
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        // One that is not empty holds what another process has put there since, or what could not be removed.
        self.0.iter().rev().for_each(|path| drop(fs::remove_dir(path)));
    }
}

/// A run while it runs.
struct Running<'a> {
    settings: &'a Settings,
    places: Places<'a>,
    report: Report,
    /// Of the phases that have ended, in their order.
    outcomes: Vec<Outcome>,
    /// Time that the directories of the next phase took, or the first iteration of its work.
    preparing_s: f64,
    /// Records of the phase that is being reported.
    together: Vec<PhaseRecord>,
    /// Files of each set of md-workbench.
    set_files: u64,
    /// The rate of md-workbench's first iteration, in thousands per second.
    first_iteration: f64,
    created: CreatedFiles,
    from_the_start: &'a [String],
    /// What ended the case.
    failure: Option<String>,
}

impl Running<'_> {
    fn event(&mut self, event: &Event, console: &mut Console) {
        match event {
            Event::Phase(record) => {
                self.together.push((**record).clone());
                if self.together.len() == translate::records(&record.name) {
                    let records = std::mem::take(&mut self.together);
                    self.record(&as_one(records), console);
                }
            }
            Event::Error(failure) => self.failure = Some(self.failure_text(failure)),
            Event::ColdCache(cold) => {
                for CacheAttempt { detail, .. } in cold.attempts.iter().filter(|attempt| !attempt.done) {
                    self.warn(console, &format!("the caches were not dropped: {detail}"));
                }
            }
            _ => {}
        }
    }

    /// The failure that ended the case, as printed for phases that did not run: where the failed phase has lines, they
    /// have the details.
    fn failure_text(&self, failure: &Failure) -> String {
        let ended = |phase: &&String| self.outcomes.iter().any(|outcome| outcome.phase.name == **phase);
        let phase = failure.phase.as_ref().filter(ended);
        phase.map_or_else(|| failure.message.clone(), |phase| format!("{phase} failed"))
    }

    fn warn(&mut self, console: &mut Console, what: &str) {
        self.report.note(&format!("; WARNING {what}"));
        console.print(&format!("WARNING {what}\n"));
    }

    fn record(&mut self, record: &PhaseRecord, console: &mut Console) {
        let seconds = record.duration_ns as f64 / 1e9;
        let Some(phase) = PHASES.iter().find(|phase| phase.name == record.name) else {
            // Directories that the next phase fills. If they failed the case has ended, and says why.
            self.preparing_s = seconds;
            if record.name == FIRST_ITERATION {
                self.first_iteration = record.operations as f64 / seconds / 1000.0;
            }
            return;
        };
        if phase.name == "mdworkbench-create" {
            self.set_files = record.operations / u64::from(self.settings.ranks) / u64::from(translate::SETS);
        }
        self.skip_until(phase, console, record.started_unix_ns);
        let started_unix_ns = record.started_unix_ns - (self.preparing_s * 1e9) as u64;
        let command = commands::command(self.settings, &self.places, phase.name, self.set_files);
        self.report.begin_phase(phase.name, started_unix_ns, command.as_deref());
        let mut outcome = Outcome {
            phase,
            score: self.score(record, seconds),
            seconds: seconds + std::mem::take(&mut self.preparing_s),
            invalid: Vec::new(),
            failed: false,
        };
        let failed = !record.complete;
        for doubt in &record.doubts {
            if doubt.invalidates {
                outcome.invalid.push(doubt.message.clone());
            } else if !matches!(
                doubt.reason,
                Reason::VerificationTimed | Reason::PositionsUnverified | Reason::ShortPhase { .. }
            ) {
                self.report.note(&format!("; WARNING {}", doubt.message));
            }
        }
        if failed {
            outcome.score = 0.0;
            if outcome.invalid.is_empty() {
                outcome.invalid.push("it did not finish".to_owned());
            }
        }
        let walked = phase.name.starts_with("find") && !failed;
        let not_found = if walked { self.created.compare(record, self.settings) } else { Vec::new() };
        outcome.failed = failed || record.doubts.iter().any(|doubt| doubt.invalidates) || !not_found.is_empty();
        outcome.invalid.extend(not_found);
        outcome.judge(self.settings);
        self.created.note(record);
        phase_logs::keep(&mut self.report, self.settings, &self.places, record);
        self.report.end_phase(console, &outcome, record.started_unix_ns + record.duration_ns);
        self.outcomes.push(outcome);
    }

    /// GiB/s, or thousands of operations per second; with what else result.txt says of them.
    fn score(&mut self, record: &PhaseRecord, seconds: f64) -> f64 {
        let at_wall = record.stonewall.filter(|wall| wall.at_ns > 0);
        if record.name.starts_with("ior") {
            if let Some(wall) = at_wall {
                let rate = wall.bytes as f64 / (wall.at_ns as f64 / 1e9) / GIB;
                self.report.detail("accessed-pairs", wall.most_operations);
                self.report.pair("throughput-stonewall", format!("{rate:.2}"));
            }
            return record.bytes as f64 / seconds / GIB;
        }
        if record.name.starts_with("find") {
            let files = self.created.files(record, self.settings);
            self.report.pair("nproc", record.ranks.len());
            self.report.pair("found", record.matched.unwrap_or(0));
            self.report.pair("total-files", files);
            return files as f64 / seconds / 1000.0;
        }
        self.report.detail("time", format!("{seconds:.6}"));
        let rate = record.operations as f64 / seconds / 1000.0;
        if record.name.starts_with("mdworkbench") {
            self.say_of_md_workbench(record, rate);
        }
        if let Some(wall) = at_wall {
            let rate = wall.operations as f64 / (wall.at_ns as f64 / 1e9) / 1000.0;
            self.report.pair("rate-stonewall", format!("{rate:.6}"));
        }
        rate
    }

    fn say_of_md_workbench(&mut self, record: &PhaseRecord, rate: f64) {
        self.report.pair("filesPerProc", self.set_files);
        self.report.pair("precreatePerSet", self.set_files);
        let slowest_ns = record.ranks.iter().map(|rank| rank.slowest_ns).max().unwrap_or(0);
        self.report.pair("maxOpTime", format!("{:.6}", slowest_ns as f64 / 1e9));
        if record.name == "mdworkbench-bench" {
            let first = self.first_iteration;
            self.report.pair("scoreIteration0", format!("{first:.6}"));
            if first < rate * 0.5 || first * 0.5 > rate {
                self.report.note("; WARNING the rates of both iterations of md-workbench differ by more than 2x");
            }
        }
    }

    /// Says of the phases before `next` that they did not run, and when the timestamp was.
    fn skip_until(&mut self, next: &'static Phase, console: &mut Console, now_ns: u64) {
        while let Some(phase) = self.settings.phases().nth(self.outcomes.len()).filter(|phase| *phase != next) {
            self.skip(phase, console, now_ns);
        }
    }

    fn skip(&mut self, phase: &'static Phase, console: &mut Console, now_ns: u64) {
        self.report.begin_phase(phase.name, now_ns, None);
        let reason = match &self.failure {
            Some(failure) => format!("it did not run: {failure}"),
            None => "it did not run".to_owned(),
        };
        let mut outcome = Outcome::without_score(phase, reason);
        if phase.name == TIMESTAMP {
            outcome.invalid.clear();
            self.report.keep_timestamp();
        } else if !self.settings.runs(phase.name) {
            let why = if phase.name == RANDOM { "it was skipped" } else { "run = FALSE in the .ini file" };
            outcome.invalid = vec![why.to_owned()];
        }
        self.report.end_phase(console, &outcome, now_ns);
        self.outcomes.push(outcome);
    }

    /// Says what is left, and how the run ended.
    fn conclude(mut self, ended: Exit, console: &mut Console) -> Exit {
        if ended.code == 2 || self.outcomes.is_empty() && ended.code == 3 {
            // Nothing was measured.
            return ended;
        }
        if self.failure.is_none() {
            self.failure = ended.failure.as_ref().map(|failure| self.failure_text(failure));
        }
        while let Some(phase) = self.settings.phases().nth(self.outcomes.len()) {
            self.skip(phase, console, clock::unix_ns());
        }
        let score = |extended| {
            let scores = Scores::of(&self.outcomes, extended);
            (scores, rules::is_valid(&self.outcomes, self.from_the_start, extended))
        };
        let (standard, extended) = (score(false), self.settings.extended.then(|| score(true)));
        self.report.scores(console, standard, extended);
        self.report.end(clock::unix_ns());
        if ended.code != 0 {
            return ended;
        }
        // The official program ends with 0 where a run is invalid by the rules, and by an error where something failed.
        if self.outcomes.iter().all(|outcome| !outcome.failed) {
            if !extended.unwrap_or(standard).1 {
                say!("ioassay-engine: the run is invalid: see the lines ERROR INVALID for the reasons");
            }
            return Exit::default();
        }
        let problem = "a phase failed: see the lines ERROR INVALID for the reasons";
        let path = self.report.directory.join("result.txt");
        Exit::failed(failure::about_path("judge", &path, problem.to_owned(), "correct the causes, and run again"))
    }
}
