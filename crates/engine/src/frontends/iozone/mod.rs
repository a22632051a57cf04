//! IOzone's throughput mode: `iozone -i 0 -i 1 -t 12 …`. Children are ranks, each test is a phase.
//!
//! [`options`] is what IOzone's options are, [`clients`] the file of `-+m`, [`translate`] makes plans of them, and
//! [`print`] says what came of it as IOzone does.

mod clients;
pub mod options;
mod print;
mod translate;

use ioassay_contract::front_end::Tool;

use self::options::{Given, KNOWN};
use self::print::Printer;
use self::translate::Asked;
use super::common::Common;
use super::moment;
use super::options::help;
use super::session::Session;
use crate::command::{self, Ended};
use crate::crew::Crew;
use crate::environment;
use crate::failure;

const SYNOPSIS: &str =
    "ioassay-engine iozone -t CHILDREN -i TEST... [-s SIZE] [-r SIZE] [options]: IOzone's throughput mode";

/// Runs IOzone's command line.
pub fn run(common: &Common, crew: &mut Crew, arguments: &[String]) -> Ended {
    let given = match Given::read(arguments) {
        Ok(given) => given,
        Err(failure) => return Ended::refused(failure),
    };
    if let Some(text) = help_or_version(&given) {
        return command::print(&text);
    }
    match Asked::new(given, common, &environment::host()) {
        Ok(asked) => measure(&asked, common, crew, arguments),
        Err(failure) => Ended::refused(failure),
    }
}

/// What an option asks to be printed, with which nothing is measured.
fn help_or_version(given: &Given) -> Option<String> {
    if given.has("-h") {
        return Some(help(SYNOPSIS, KNOWN));
    }
    let version = || format!("ioassay-engine {}, the command line of IOzone 3.471\n", env!("CARGO_PKG_VERSION"));
    given.has("-v").then(version)
}

/// Runs a case for each number of children.
fn measure(asked: &Asked, common: &Common, crew: &mut Crew, arguments: &[String]) -> Ended {
    let directory = match std::env::current_dir() {
        Ok(directory) => directory,
        Err(error) => {
            return Ended::could_not(failure::plain(
                "find out where this is",
                error.to_string(),
                "change to a directory",
            ));
        }
    };
    let mut session = match Session::begin(Tool::Iozone, common, crew, arguments) {
        Ok(session) => session,
        Err(failure) => return Ended::could_not(failure),
    };
    let mut ended = Ended::default();
    let mut printer = Printer::new(&asked.given);
    let mut repetitions = std::collections::BTreeMap::new();
    session.console.print(&print::head(asked, arguments, &moment::now("%a %b %e %H:%M:%S %Y")));
    for &children in &asked.children {
        let repetition = repetitions.entry(children).and_modify(|count| *count += 1).or_insert(1_u32);
        let workload = format!("t{children}");
        let plan = match asked.plan(children, session.run(), format!("{workload}-{repetition}"), &directory) {
            Ok(plan) => plan,
            Err(failure) => {
                ended = Ended::refused(failure);
                break;
            }
        };
        printer.begin_case(&mut session.console);
        session.console.print(&print::head_of_case(asked, children));
        ended = session.run_case(&workload, *repetition, &plan, |event, console| printer.tell(&plan, event, console));
        if ended.code != 0 {
            break;
        }
    }
    if ended.code == 0 {
        session.console.print(&printer.end(asked));
    }
    session.finish(ended)
}
