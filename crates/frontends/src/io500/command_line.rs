//! The IO500's command line: its options, with what each sets. Names and defaults are those of IO500/io500 at 02091cf
//! (`src/main.c`).
//!
//! Not here: the .ini file ([`super::options`], [`super::config`]).

use std::path::PathBuf;

use ioassay_protocol::events::Failure;

use super::api::Ways;
use crate::common::usage;
use crate::localtime;
use crate::options::{Bound, parse};

type GivenOption = crate::options::GivenOption<Arguments>;

/// What an official hash would vouch for.
const NO_HASH: &str = "hashes certify runs of the official program only; use that program, or run it with --official \
                       PATH";

/// The options after the .ini file.
pub(crate) const OPTIONS: &[Bound<Arguments>] = &[
    Bound::same("-h, --help", None, "show this help", stands_alone),
    Bound::same("-l, --list", None, "list all sections and keys of the .ini file with their defaults", stands_alone),
    Bound::same("--list-mandatory", None, "the same without those of the extended mode (also -lm)", stands_alone),
    Bound::same("--dry-run", None, "print the command of each phase without doing I/O", set_dry_run),
    Bound::same("--mode", Some("MODE"), "standard or extended (standard)", set_mode),
    Bound::same("--timestamp", Some("STRING"), "name of the results directory (default: the time)", set_timestamp),
    Bound::same("-v", None, "--verbose=1; repeat for higher levels", more_verbose),
    Bound::same(
        "--verbose",
        Some("LEVEL"),
        "0: no timestamps in result.txt; 2 and more: also transfers and seconds",
        set_verbosity,
    ),
    Bound::refused("--config-hash", None, "print the hash of the configuration", NO_HASH),
    Bound::refused("--verify", Some("FILE"), "verify the hashes of FILE", NO_HASH),
    Bound::refused(
        "--cleanup",
        None,
        "run only the phases that delete files",
        "each run removes its own files; to remove those of a killed run, use `ioassay-engine clean --events FILE \
         DIR/ioassay-RUN`",
    ),
    Bound::same(
        "--official",
        Some("PATH"),
        "run the official program at PATH, and store its files with ioassay's evidence",
        |to, given| given.set_text(&mut to.official),
    ),
    Bound::same(
        "--map-api",
        Some("API=STORAGE"),
        "replace an API by one of the engine's or a plug-in: DFS=posix",
        |to, given| to.ways.map(given.text()),
    ),
    Bound::same(
        "--launcher",
        Some("COMMAND"),
        "command that launches the official program, for example \"mpirun -np 4\"",
        |to, given| given.set_text(&mut to.launcher),
    ),
];

/// What the command line asks for.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub config: PathBuf,
    pub dry_run: bool,
    pub extended: bool,
    pub timestamp: Option<String>,
    pub verbosity: Option<u64>,
    pub ways: Ways,
    pub official: Option<PathBuf>,
    pub launcher: Option<String>,
}

impl Arguments {
    /// What `arguments` ask for, those after the IO500's name.
    ///
    /// # Errors
    /// If they are refused, or contradict each other.
    pub fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let Some((config, rest)) = arguments.split_first().filter(|(first, _)| !first.starts_with('-')) else {
            return Err(usage("the .ini file must come first", "write ioassay-engine io500 CONFIG.INI [OPTIONS]"));
        };
        let mut asked = Self { config: config.into(), ..Self::default() };
        parse("io500", OPTIONS, rest)?.iter().try_for_each(|given| given.set(&mut asked))?;
        if asked.launcher.is_some() && asked.official.is_none() {
            return Err(usage("--launcher is for the official program only", "add --official PATH, or use --ranks N"));
        }
        Ok(asked)
    }

    /// The name of the directory of results, which signatures are made of too.
    pub fn timestamp(&self) -> String {
        self.timestamp.clone().unwrap_or_else(|| localtime::now("%Y.%m.%d-%H.%M.%S"))
    }
}

/// Refuses an option that was not alone: what it prints would be in the way of what was asked for too.
fn stands_alone(_: &mut Arguments, given: &GivenOption) -> Result<(), Failure> {
    Err(usage(format!("{} cannot be combined with a run", given.spelling), "use it alone"))
}

fn set_dry_run(to: &mut Arguments, _: &GivenOption) -> Result<(), Failure> {
    (to.dry_run, to.ways.dry_run) = (true, true);
    Ok(())
}

fn set_mode(to: &mut Arguments, given: &GivenOption) -> Result<(), Failure> {
    to.extended = match given.text() {
        "standard" => false,
        "extended" => true,
        mode => {
            return Err(usage(format!("there is no mode {mode:?}"), "write --mode=standard or --mode=extended"));
        }
    };
    Ok(())
}

fn set_timestamp(to: &mut Arguments, given: &GivenOption) -> Result<(), Failure> {
    let name = given.text();
    if name.is_empty() || name.contains('/') || name.starts_with('.') {
        return Err(usage(
            format!("--timestamp {name:?} is not a valid directory name"),
            "leave out leading dots and all slashes",
        ));
    }
    given.set_text(&mut to.timestamp)
}

fn more_verbose(to: &mut Arguments, _: &GivenOption) -> Result<(), Failure> {
    to.verbosity = Some(to.verbosity.unwrap_or(0) + 1);
    Ok(())
}

fn set_verbosity(to: &mut Arguments, given: &GivenOption) -> Result<(), Failure> {
    let level = given.text().parse();
    let problem = || usage(format!("--verbose={} is not a valid level", given.text()), "write 0 to 10");
    to.verbosity = Some(level.map_err(|_| problem())?);
    Ok(())
}
