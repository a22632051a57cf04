//! IOzone: its throughput mode (`iozone -t 12 …`), in which children are ranks, and the table of its other modes, in
//! which each row is a case of one rank. Each test is a phase.
//!
//! [`options`] is what IOzone's options are, [`test`] its tests, [`sizes`] the rows of the automatic mode, [`clients`]
//! the file of `-+m`. [`translate`] and [`jobs`] make plans of them. [`print`] and [`table`] print the results as
//! IOzone does, [`worksheet`] is the format of `-b`.

mod clients;
#[cfg(test)]
mod corpus;
mod jobs;
pub mod options;
mod print;
mod sizes;
mod table;
mod test;
mod translate;
mod worksheet;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use ioassay_engine::command;
use ioassay_engine::exit::Exit;
use ioassay_engine::failure;
use ioassay_engine::rank_set::RankSet;
use ioassay_engine::stdio::say;
use ioassay_protocol::events::Failure;
use ioassay_protocol::front_end::Tool;

use self::options::{KNOWN, Options};
use self::print::Printer;
use self::sizes::Rows;
use self::table::Table;
use self::translate::{Children, Mode, Request};
use self::worksheet::Worksheet;
use super::common::Common;
use super::localtime;
use super::options::help;
use super::result_file;
use super::session::Session;

const SYNOPSIS: &str = "ioassay-engine iozone [-a | -t CHILDREN] [-i TEST...] [-s SIZE] [-r SIZE] [options]: IOzone";

/// Runs IOzone's command line.
pub fn run(common: &Common, ranks: &mut dyn RankSet, arguments: &[String]) -> Exit {
    let given = match Options::read(arguments) {
        Ok(given) => given,
        Err(failure) => return Exit::refused(failure),
    };
    if let Some(text) = help_or_version(&given) {
        return command::print(&text);
    }
    if arguments.is_empty() {
        let remedy = "use -a for all sizes, -i 0 -i 1 for a single size, or -t CHILDREN; -h lists the options";
        return Exit::refused(super::common::usage("IOzone needs at least one option", remedy));
    }
    let asked = Request::new(given, common, &ioassay_host::host_name());
    match asked.and_then(|asked| worksheet_file(&asked).map(|sheet| (asked, sheet))) {
        Ok((asked, sheet)) => measure(&asked, sheet.as_deref(), common, ranks, arguments),
        Err(failure) => Exit::refused(failure),
    }
}

/// What an option asks to be printed, with which nothing is measured.
fn help_or_version(given: &Options) -> Option<String> {
    if given.has("-h") {
        return Some(help(SYNOPSIS, KNOWN));
    }
    let version = || format!("ioassay-engine {}, the command line of IOzone 3.489\n", env!("CARGO_PKG_VERSION"));
    given.has("-v").then(version)
}

/// The file of `-b`, if there is to be one.
///
/// # Errors
/// If something else is there.
fn worksheet_file(asked: &Request) -> Result<Option<PathBuf>, Failure> {
    let Some(path) = asked.given.values("-b").last().map(PathBuf::from) else { return Ok(None) };
    result_file::may_replace(&path, asked.overwrites(), Worksheet::is_one)?;
    Ok(Some(path))
}

/// Runs a case for each number of children, or for each row.
fn measure(
    asked: &Request,
    sheet: Option<&Path>,
    common: &Common,
    ranks: &mut dyn RankSet,
    arguments: &[String],
) -> Exit {
    let directory = match std::env::current_dir() {
        Ok(directory) => directory,
        Err(error) => {
            return Exit::could_not_run(failure::plain(
                "determine the working directory",
                error.to_string(),
                "change to a directory",
            ));
        }
    };
    let mut session = match Session::begin(Tool::Iozone, common, ranks, arguments) {
        Ok(session) => session,
        Err(failure) => return Exit::could_not_run(failure),
    };
    for warning in &asked.warnings {
        say!("ioassay-engine: {warning}");
    }
    session.console.print(&print::head(asked, arguments, &localtime::now("%a %b %e %H:%M:%S %Y")));
    let command = print::command_line(arguments);
    let (ended, worksheet) = match &asked.mode {
        Mode::Children(children) => of_children(asked, children, &directory, &mut session, &command),
        Mode::Rows(rows) => of_rows(asked, rows, &directory, &mut session, &command),
    };
    let written = match sheet.filter(|_| ended.code == 0) {
        Some(path) => write_worksheet(path, asked, &worksheet),
        None => Ok(()),
    };
    session.finish(written.map_or_else(Exit::could_not_run, |()| ended))
}

/// Runs a case for each number of children; the worksheet of them.
fn of_children(
    asked: &Request,
    children: &Children,
    directory: &Path,
    session: &mut Session<'_>,
    command: &str,
) -> (Exit, Vec<u8>) {
    let mut ended = Exit::default();
    let mut printer = Printer::new(asked);
    let mut repetitions = BTreeMap::new();
    for &count in &children.counts {
        let repetition = repetitions.entry(count).and_modify(|repetition| *repetition += 1).or_insert(1_u32);
        let workload = format!("t{count}");
        let case = format!("{workload}-{repetition}");
        let plan = match asked.plan_of_children(children, count, session.run(), case, directory) {
            Ok(plan) => plan,
            Err(failure) => {
                ended = Exit::refused(failure);
                break;
            }
        };
        printer.begin_case(&mut session.console);
        session.console.print(&print::head_of_case(asked, children, count));
        if asked.tests.tests.is_empty() {
            continue;
        }
        ended = session.run_case(&workload, *repetition, &plan, |event, console| printer.tell(&plan, event, console));
        if ended.code != 0 {
            break;
        }
    }
    if ended.code == 0 {
        session.console.print(&printer.end(asked, children));
    }
    (ended, printer.worksheet(children, command))
}

/// Runs a case for each row of the table; the worksheet of it.
fn of_rows(
    asked: &Request,
    rows: &Rows,
    directory: &Path,
    session: &mut Session<'_>,
    command: &str,
) -> (Exit, Vec<u8>) {
    let mut ended = Exit::default();
    let mut table = Table::new(asked);
    session.console.print(&table.head(&asked.given));
    for (index, &row) in rows.rows.iter().enumerate() {
        let [file_kib, record_kib] = [row.file_bytes >> 10, row.record_bytes >> 10];
        let workload = format!("s{file_kib}k-r{record_kib}k");
        let last = index + 1 == rows.rows.len();
        let plan = match asked.plan_of_row(row, last, session.run(), format!("{workload}-1"), directory) {
            Ok(plan) => plan,
            Err(failure) => {
                ended = Exit::refused(failure);
                break;
            }
        };
        table.begin_row(asked.kib_of(row), record_kib, &mut session.console);
        if !table.is_empty() {
            ended = session.run_case(&workload, 1, &plan, |event, console| table.tell(&plan, event, console));
        }
        if ended.code != 0 {
            // The row stays as short as it is: what did not run has no 0.
            session.console.print("\n");
            break;
        }
        table.end_row(&mut session.console);
    }
    if ended.code == 0 {
        session.console.print(&table.end(asked, rows));
    }
    (ended, table.worksheet(asked, rows, command))
}

/// Writes the `worksheet` of `-b`.
fn write_worksheet(path: &Path, asked: &Request, worksheet: &[u8]) -> Result<(), Failure> {
    let mut file = result_file::create(path, asked.overwrites(), Worksheet::is_one)?;
    file.write_all(worksheet).map_err(|error| failure::on_path("write", path, &error))
}
