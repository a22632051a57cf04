//! `ioassay-engine record`: runs a command with the recorder, and keeps what it counted in a directory, a record.
//!
//! * [`request`]: what was asked, and where the record is to be.
//! * [`library`]: the recorder's library, which this program carries with it.
//! * [`command`]: the command, its processes, and signals.
//! * [`ptrace`]: the other way to see the calls of a command, for programs that load no library.
//! * [`tables`]: the directory in which processes have their tables while they run, and moving them into the record.
//! * [`checked_tables`]: the file of tables of a record, and its checksums.
//! * [`traces`]: every call, where that was asked for.
//! * [`symbols`]: which functions are at the addresses of its stacks.
//! * [`escaped`]: processes that the library never reached.
//! * [`watch`]: the agent that watches the command, if one is asked for.
//! * [`document`]: what `record.json` says.
//!
//! Not here: hooks (`crates/recorder`), what tables mean (`ioassay profile`).

pub mod checked_tables;
pub mod command;
pub mod document;
pub mod escaped;
pub mod library;
pub mod ptrace;
pub mod request;
pub mod symbols;
mod table_rows;
pub mod tables;
pub mod traces;
pub mod watch;

use std::fs;
use std::path::{Path, PathBuf};

use ioassay_engine::exit::Exit;
use ioassay_engine::failure::{about_path, on_path, plain};
use ioassay_engine::stdio::{print, say};
use ioassay_protocol::events::Failure;
use ioassay_protocol::record::Record;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;

use crate::command::program_of;
use crate::document::Incomplete;
use crate::request::OTHER_PLACE;
pub use crate::request::{Request, Via};
use crate::tables::Tables;
use crate::watch::Watch;

/// Runs the command and records it. Ends with the command's own exit code, or with 128 and the signal that ended it.
pub fn record(request: &Request) -> Exit {
    match try_record(request) {
        Ok(code) => Exit { code, ..Exit::default() },
        Err(failure) => Exit::could_not_run(failure),
    }
}

/// Writes the recorder's library and what applications name their steps with into a directory, and prints the library's path.
pub fn write_library(directory: &Path) -> Exit {
    try_write_library(directory).map_or_else(Exit::could_not_run, |()| Exit::default())
}

/// Prints the calls of a record that was made with a trace.
pub fn print_calls(record: &Path) -> Exit {
    traces::print(record).map_or_else(Exit::could_not_run, |()| Exit::default())
}

/// Prints the tables of the files that standard input names as arrays ([`ioassay_record::rows`]).
pub fn print_tables() -> Exit {
    table_rows::print().map_or_else(Exit::could_not_run, |()| Exit::default())
}

fn try_write_library(directory: &Path) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|error| on_path("create", directory, &error))?;
    let path = library::write(&[directory], "")?;
    library::write_regions(directory)?;
    print(&format!("{}\n", path.display()))
}

fn try_record(request: &Request) -> Result<u8, Failure> {
    if request.trace && request.via != Via::Preload {
        let what = "calls that are seen by ptrace are not traced one by one".to_owned();
        return Err(plain("start", what, "leave out --trace or --via"));
    }
    if request.stacks && request.via != Via::Preload {
        let what = "ptrace sees calls, but not the stacks that they come from".to_owned();
        return Err(plain("start", what, "leave out --stacks or --via"));
    }
    if request.stop_with_parent {
        // It comes to us as from any process, and is passed on to the command.
        let _ = set_pdeathsig(Signal::SIGTERM);
    }
    let directory = request.make_directory()?;
    // Of a command that was never started there is nothing to keep, and the next attempt may have the same name.
    record_in(&directory, request).inspect_err(|_| {
        let _ = fs::remove_dir_all(&directory);
    })
}

/// Records into a new directory. Fails where the command cannot be started, and then leaves no tables.
fn record_in(directory: &Path, request: &Request) -> Result<u8, Failure> {
    let node = request.watch.is_none().then(watch::node_registrations).flatten();
    let takes_rules = request.takes_rules || request.watch.is_some() || node.is_some();
    let tables = Tables::make(request, takes_rules, directory)?;
    let (mut document, ended) = match run(request, node, &tables, directory) {
        Ok(done) => done,
        Err(failure) => {
            tables.remove();
            return Err(failure);
        }
    };
    document.exit_status = Some(ended.status);
    document.still_running = ended.left.iter().map(|process| process.cast_unsigned()).collect();
    let program = program_of(&request.command);
    let command = ended.process.map(|process| (process, program.as_str()));
    let finished = finish(&mut document, command, &tables, directory);
    say_what_was_missed(&document, directory);
    say_if_incomplete(&finished, &tables, directory);
    if finished.is_ok() {
        say!("ioassay-engine: recorded in {}", directory.display());
    }
    // Whatever became of the record: the command is not to fail because of it.
    Ok(ended.exit_code())
}

/// Runs the command, watched if that was asked for. The record's document, which is not complete, and how the command ended.
fn run(
    request: &Request,
    node: Option<PathBuf>,
    tables: &Tables,
    directory: &Path,
) -> Result<(Record, command::Exit), Failure> {
    let document = document::begin(request, directory, tables.path());
    let other_place = |failure| Failure { remedy: OTHER_PLACE.to_owned(), ..failure };
    document::write_first(&document, directory).map_err(other_place)?;
    let watch = match (&request.watch, node) {
        (Some(setup), _) => Some(Watch::begin(setup, request, tables.path(), directory)?),
        (None, Some(node)) => Some(Watch::join(node, request, tables.path(), directory)?),
        (None, None) => None,
    };
    let ended = match tables.library() {
        Some(library) => command::run(request, tables.path(), library),
        None => ptrace::run(&request.command, tables.path(), request.via),
    };
    // The agent looks at the tables once more, before they go into the record.
    if let Some(watch) = watch {
        watch.end();
    }
    Ok((document, ended?))
}

/// Moves the tables into the record and completes its document. Where that fails, the document says that it is incomplete.
fn finish(
    document: &mut Record,
    command: Option<(u32, &str)>,
    tables: &Tables,
    directory: &Path,
) -> Result<(), Failure> {
    let kept = tables.keep_in(directory).inspect_err(|failure| {
        document::end_incomplete(document, &failure.message);
        if let Err(failure) = document::write(document, directory) {
            say!("ioassay-engine: {}", failure.message);
        }
    })?;
    document.lost_tables = kept.lost;
    // Where a table was lost, it may be that of the command.
    document.escaped = escaped::among(&kept.file, command.filter(|_| kept.lost == 0));
    document::end(document);
    document::write(document, directory).or_else(|_| {
        // The tables say which processes escaped, too.
        document.escaped.clear();
        document::write(document, directory)
    })
}

/// Moves the tables of an incomplete record into it.
pub fn complete(record: &Path) -> Exit {
    try_complete(record).map_or_else(Exit::could_not_run, |()| Exit::default())
}

fn try_complete(record: &Path) -> Result<(), Failure> {
    let incomplete = Incomplete::read(record)?;
    let tables = Tables::left_in(incomplete.tables.clone())?;
    if let Some(process) = tables.user()?.filter(|_| incomplete.says_running()) {
        let what = format!("process {process} of {} still runs", record.display());
        return Err(about_path("complete", record, what, "wait until it ends, or end it"));
    }
    let kept = tables.keep_in(record)?;
    incomplete.complete(escaped::among(&kept.file, None), kept.lost)
}

fn say_if_incomplete(finished: &Result<(), Failure>, tables: &Tables, directory: &Path) {
    if let Err(failure) = finished {
        say!("ioassay-engine: the record is incomplete: {}", failure.message);
        say!("ioassay-engine: its tables are in {}", tables.path().display());
        say!("  try: free some space, then ioassay-engine complete {}", directory.display());
    }
}

fn say_what_was_missed(document: &Record, directory: &Path) {
    for escaped in document.escaped.iter().take(3) {
        say!("ioassay-engine: {} (process {}) was not recorded: {}", escaped.path, escaped.pid, escaped.reason.text());
    }
    if document.escaped.len() > 3 {
        say!(
            "ioassay-engine: so were {} other processes: see {}/record.json",
            document.escaped.len() - 3,
            directory.display()
        );
    }
    if !document.escaped.is_empty() {
        say!("ioassay-engine: to record such programs too, at a higher cost: ioassay record --via ptrace -- COMMAND");
    }
    for process in &document.still_running {
        say!("ioassay-engine: process {process} goes on; what it does from now on is not recorded");
    }
    if document.lost_tables > 0 {
        say!("ioassay-engine: the tables of {} processes could not be kept", document.lost_tables);
    }
}
