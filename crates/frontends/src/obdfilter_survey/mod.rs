//! The Lustre I/O kit's obdfilter-survey, set by its environment: objects and threads are swept on targets that are
//! directories or a block device. Threads are ranks, each row of the table is a case.
//!
//! [`options`] is what its variables are, [`translate`] makes plans of them, and [`print`] prints the results.

pub mod options;
mod print;
mod translate;

use ioassay_engine::command;
use ioassay_engine::exit::Exit;
use ioassay_engine::rank_set::RankSet;
use ioassay_engine::stdio::say;
use ioassay_protocol::events::Failure;
use ioassay_protocol::front_end::Tool;

use self::options::{KNOWN, Variables};
use self::print::{Printer, Results};
use self::translate::Request;
use super::common::Common;
use super::options::{help, wants_help};
use super::session::Session;
use super::{common, localtime};

const SYNOPSIS: &str =
    "[VARIABLE=VALUE ...] ioassay-engine obdfilter-survey [VARIABLE=VALUE ...] [--destroy-data DEVICE]";

/// The exit code of a row in which something failed: the next one may still do.
const ROW_FAILED: u8 = 1;

/// Runs obdfilter-survey's command line, and what its environment says.
pub fn run(common: &Common, ranks: &mut dyn RankSet, arguments: &[String]) -> Exit {
    if wants_help(arguments) {
        return command::print(&help(SYNOPSIS, KNOWN));
    }
    let prepared = Variables::read(arguments, |name| std::env::var(name).ok()).and_then(|given| {
        let here =
            std::env::current_dir().map_err(|error| common::usage(error.to_string(), "change to a directory"))?;
        Request::new(&given, common, &here).map(|asked| (given, asked))
    });
    match prepared {
        Ok((given, asked)) => measure(&given, &asked, common, ranks).unwrap_or_else(Exit::could_not_run),
        Err(failure) => Exit::refused(failure),
    }
}

/// Runs a case for each row.
fn measure(given: &Variables, asked: &Request, common: &Common, ranks: &mut dyn RankSet) -> Result<Exit, Failure> {
    let host = ioassay_host::host_name();
    if !asked.direct {
        say!("ioassay-engine: a target does not support direct I/O: the page cache is used, and dropped before reads");
    }
    let results = Results::create(given, &localtime::now("%F@%R"), &host, common.overwrite)?;
    let mut session = Session::begin(Tool::ObdfilterSurvey, common, ranks, &given.as_arguments())?;
    let mut printer = Printer::new(asked, results, &host);
    printer.head(&localtime::now("%a %b %e %H:%M:%S %Z %Y"), &mut session.console);
    let mut ended = Exit::default();
    for row in &asked.rows {
        printer.begin(row, &mut session.console);
        if row.is_too_large() {
            printer.end("Too much buffer space", &mut session.console);
            continue;
        }
        let plan = asked.plan(row, session.run());
        let ran = session.run_case(&row.name(), 1, &plan, |event, console| printer.tell(&plan, event, console));
        if ran.code == ROW_FAILED {
            printer.fail(&mut session.console);
        }
        printer.end("", &mut session.console);
        match (ran.code, &ran.failure) {
            (0, _) => {}
            (ROW_FAILED, Some(failure)) => {
                say!("ioassay-engine: {}: {}\n  try: {}", row.name(), failure.message, failure.remedy);
                ended.code = ROW_FAILED;
            }
            _ => {
                ended = ran;
                break;
            }
        }
    }
    Ok(session.finish(ended))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_variable() {
        let text = help(SYNOPSIS, KNOWN);
        assert!(KNOWN.iter().all(|known| text.contains(known.name)));
    }
}
