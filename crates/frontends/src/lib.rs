//! The command lines that the field has in its scripts, run on this engine: each is translated to plans, and what the
//! events say is printed as the original prints it.
//!
//! [`common`] are the options of ioassay's own that all of them take, [`session`] runs the plans and keeps the run
//! directory. Not here: a second way to do I/O, and anything that the workload code would have to know about.
//!
//! How to add a front end or an option: `docs/development/front-ends.md`.

#![deny(clippy::print_stderr, clippy::print_stdout, reason = "they panic where nothing can be written: see `stdio`")]

pub mod common;
#[cfg(test)]
mod corpus;
mod doubts;
pub mod facts;
pub mod io500;
pub mod ior;
pub mod iozone;
mod localtime;
pub mod mdtest;
pub mod obdfilter_survey;
pub mod options;
mod packet;
mod phases;
mod result_file;
pub mod session;
mod size;
mod text;

use ioassay_engine::exit::Exit;
use ioassay_engine::rank_set::RankSet;
use ioassay_protocol::front_end::Tool;

use self::common::Common;
use self::options::{ToolOption, known};

/// The reference of all front ends' options, in Markdown: docs/reference/front-ends.md.
pub fn reference() -> String {
    let tables: [(&str, &str, Vec<ToolOption>); 5] = [
        ("IOR", IOR, [known(ior::options::OPTIONS), known(ior::options::DIRECTIVES)].concat()),
        ("mdtest", MDTEST, known(mdtest::options::OPTIONS)),
        ("IOzone", IOZONE, iozone::options::KNOWN.to_vec()),
        ("obdfilter-survey", SURVEY, obdfilter_survey::options::KNOWN.to_vec()),
        ("IO500", IO500, known(io500::command_line::OPTIONS)),
    ];
    let tables = tables.map(|(title, about, known)| format!("## {title}\n\n{about}\n\n{}\n", options::table(&known)));
    let keys = io500::options::key_table();
    wrapped(&format!("{HEAD}\n{}{keys}", tables.concat()))
}

/// `page` with its paragraphs, each on one line, broken into lines of at most [`COLUMNS`]. Tables stay as they are.
fn wrapped(page: &str) -> String {
    let mut text = String::new();
    for line in page.trim_end().lines() {
        let mut column = 0;
        for word in line.split(' ') {
            let fits = column + 1 + word.chars().count() <= COLUMNS || line.starts_with('|');
            if column > 0 {
                text.push(if fits { ' ' } else { '\n' });
                column = if fits { column + 1 } else { 0 };
            }
            text += word;
            column += word.chars().count();
        }
        text.push('\n');
    }
    text
}

/// Lines of documents are no longer than this.
const COLUMNS: usize = 100;

/// What stands before the tables.
const HEAD: &str = "\
<!-- Generated from the options in crates/frontends: run `make generate`. -->

# The front ends, option by option

How each option of the originals is treated: **same** does what the original does; **better** does what the original \
is meant to do; **ignored** is accepted without effect, with a warning on standard error; **refused** is an error that \
names the option and what to use instead.

[The guide](../guides/front-ends.md) says what all front ends share, and how their figures compare with those of the \
originals.
";

/// The text above the table of IOR.
const IOR: &str = "`ioassay-engine ior`, IOR 4.1's options (`ior -h`) and directives.";

/// The text above the table of mdtest.
const MDTEST: &str = "`ioassay-engine mdtest`, mdtest 4.1's options (`mdtest -h`).";

/// The text above the table of IOzone.
const IOZONE: &str = "`ioassay-engine iozone`, IOzone 3.489's options (`iozone -h`); [its guide](../guides/iozone.md).";

/// The text above the table of obdfilter-survey.
const SURVEY: &str = "`ioassay-engine obdfilter-survey`: variables of the environment, or `NAME=VALUE` as arguments.";

/// The text above the table of the IO500.
const IO500: &str =
    "`ioassay-engine io500 CONFIG.INI`, the command line of the IO500 (isc26), and the keys of its .ini file.";

/// True if the command line of `tool` with these `arguments` does its I/O by MPI. False of one that is refused: that is
/// reported when the ranks have met.
pub fn speaks_mpi(tool: Tool, arguments: &[String]) -> bool {
    let Ok((_, arguments)) = Common::take(arguments.to_vec(), None, |_| None) else { return false };
    match tool {
        Tool::Ior => ior::speaks_mpi(&arguments),
        Tool::Io500 => io500::speaks_mpi(&arguments),
        // They have no such API.
        Tool::Mdtest | Tool::Iozone | Tool::ObdfilterSurvey => false,
    }
}

/// Has `ranks` run `tool` with `arguments`, those after its name.
pub fn run(tool: Tool, arguments: Vec<String>, ranks: &mut dyn RankSet) -> Exit {
    let (common, arguments) = match Common::take(arguments, ranks.fixed(), |name| std::env::var(name).ok()) {
        Ok(taken) => taken,
        Err(failure) => return Exit::refused(failure),
    };
    match tool {
        Tool::Ior => ior::run(&common, ranks, &arguments),
        Tool::Mdtest => mdtest::run(&common, ranks, &arguments),
        Tool::Iozone => iozone::run(&common, ranks, &arguments),
        Tool::ObdfilterSurvey => obdfilter_survey::run(&common, ranks, &arguments),
        Tool::Io500 => io500::run(&common, ranks, &arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(tool: Tool, line: &str) -> bool {
        speaks_mpi(tool, &line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn an_api_over_mpi_is_seen_on_the_command_line_in_a_script_and_in_an_ini_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        assert!(asks(Tool::Ior, "-w -a mpiio --run /r"));
        assert!(asks(Tool::Ior, "-waHDF5"));
        assert!(!asks(Tool::Ior, "-w -a POSIX -o MPIIO"));
        assert!(!asks(Tool::Ior, "-w -a nonsense"), "what is refused is reported later");
        let script = file("script", "IOR START\n  api = NCMPI\nRUN\nIOR STOP\n");
        assert!(asks(Tool::Ior, &format!("-f {script}")));
        let ini = file("all.ini", "[global]\napi = POSIX\n[ior-hard]\nAPI = MPIIO --mpiio.showHints\n");
        assert!(asks(Tool::Io500, &ini));
        assert!(!asks(Tool::Io500, &format!("{ini} --map-api MPIIO=posix")));
        assert!(!asks(Tool::Io500, &file("other.ini", "[global]\napi = POSIX # not MPIIO\n")));
    }
}
