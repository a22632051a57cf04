//! The options of the originals, said once: what is accepted, what `-h` prints, and the table in the docs
//! (docs/reference/front-ends.md) come from these.
//!
//! Not here: what an option does.

use std::fmt::Write;

use ioassay_contract::events::Failure;
use lexopt::{Arg, Parser};

use super::common::usage;

/// An option of an original.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// As it is typed, all its spellings: `-b`, `-l, --dataPacketType`, `-O checkRead`.
    pub name: &'static str,
    /// What its value is, for example `SIZE`; nothing for a flag.
    pub value: Option<&'static str>,
    /// What it means.
    pub meaning: &'static str,
    /// How ours compares with the original's.
    pub verdict: Verdict,
}

/// How an option compares with the original's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It does what the original's does.
    Same,
    /// It does what the original's is meant to do. The text goes on after "better, because".
    Better(&'static str),
    /// It is refused by name. The text goes on after "refused, because", and names what to take instead.
    Refused(&'static str),
}

impl Known {
    /// An option that does what the original's does.
    pub const fn same(name: &'static str, value: Option<&'static str>, meaning: &'static str) -> Self {
        Self { name, value, meaning, verdict: Verdict::Same }
    }

    /// An option that does it better.
    pub const fn better(
        name: &'static str,
        value: Option<&'static str>,
        meaning: &'static str,
        because: &'static str,
    ) -> Self {
        Self { name, value, meaning, verdict: Verdict::Better(because) }
    }

    /// An option that is refused.
    pub const fn refused(
        name: &'static str,
        value: Option<&'static str>,
        meaning: &'static str,
        because: &'static str,
    ) -> Self {
        Self { name, value, meaning, verdict: Verdict::Refused(because) }
    }

    /// Its spellings one by one.
    pub fn spellings(&self) -> impl Iterator<Item = &'static str> {
        self.name.split(", ")
    }
}

/// An option as it was given.
#[derive(Debug, Clone)]
pub struct Given {
    /// The option.
    pub known: &'static Known,
    /// As it was typed: `-b`, `--dataPacketType`.
    pub spelling: String,
    /// Its value; of a flag only where a long one was given one with `=`.
    pub value: Option<String>,
}

impl Known {
    /// An error that says why it is not taken, if it is refused.
    pub fn taken(&self, spelling: &str) -> Result<(), Failure> {
        match self.verdict {
            Verdict::Refused(because) => Err(usage(format!("{spelling} ({}) is refused", self.meaning), because)),
            Verdict::Same | Verdict::Better(_) => Ok(()),
        }
    }
}

/// The option that is spelt so.
pub fn find(known: &'static [Known], spelling: &str) -> Option<&'static Known> {
    known.iter().find(|option| option.spellings().any(|known| known == spelling))
}

/// The options of a command line in the order in which they stand: short ones may stand together (`-vkF`), values
/// may follow at once, after `=`, or as the next argument.
///
/// # Errors
/// If one is unknown, refused, or lacks its value, and for what is no option.
pub fn parse(tool: &str, known: &'static [Known], arguments: &[String]) -> Result<Vec<Given>, Failure> {
    let mut parser = Parser::from_args(arguments);
    let malformed = |error: lexopt::Error| usage(error.to_string(), format!("see ioassay-engine {tool} -h"));
    let mut given = Vec::new();
    while let Some(argument) = parser.next().map_err(malformed)? {
        let spelling = match argument {
            Arg::Short(letter) => format!("-{letter}"),
            Arg::Long(name) => format!("--{name}"),
            Arg::Value(value) => {
                let problem = format!("{:?} is no option of {tool}", value.to_string_lossy());
                return Err(usage(problem, "options begin with a dash"));
            }
        };
        let Some(option) = find(known, &spelling) else {
            let problem = format!("{tool} has no option {spelling}");
            return Err(usage(problem, format!("see ioassay-engine {tool} -h for those there are")));
        };
        option.taken(&spelling)?;
        let value = match (option.value, spelling.starts_with("--")) {
            (Some(_), _) => Some(parser.value().map_err(malformed)?),
            (None, true) => parser.optional_value(),
            // What follows a short flag are more of them.
            (None, false) => None,
        };
        let value = value.map(|value| value.to_string_lossy().into_owned());
        given.push(Given { known: option, spelling, value });
    }
    Ok(given)
}

/// The options of ioassay's own, at the end of every `-h`.
const OWN: &str = "\
Options of ioassay's own, anywhere among the others:
  --ranks N                       local ranks (or IOASSAY_RANKS=N)
  --run DIR                       leave a run directory there: `ioassay report DIR`
  --overwrite                     replace files that neither ioassay nor the original wrote
  IOASSAY_SCALE_DOWN=N            divide amounts by N, to try a command line out
";

/// What `-h` prints.
pub fn help(synopsis: &str, known: &[Known]) -> String {
    let mut text = format!("{synopsis}\n\nOptions:\n");
    for option in known {
        let name = option.value.map_or_else(|| option.name.to_owned(), |value| format!("{} {value}", option.name));
        let note = match option.verdict {
            Verdict::Same => String::new(),
            Verdict::Better(because) => format!(" [better: {because}]"),
            Verdict::Refused(because) => format!(" [refused: {because}]"),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name:<31} {}{note}", option.meaning);
    }
    text + "\n" + OWN
}

/// The table of one original, in Markdown.
pub fn table(known: &[Known]) -> String {
    let mut text = "| option | meaning | ours |\n|---|---|---|\n".to_owned();
    for option in known {
        let value = option.value.map(|value| format!(" {value}")).unwrap_or_default();
        let ours = match option.verdict {
            Verdict::Same => "same".to_owned(),
            Verdict::Better(because) => format!("better, because {because}"),
            Verdict::Refused(because) => format!("refused, because {because}"),
        };
        let _ = writeln!(text, "| `{}{value}` | {} | {ours} |", option.name, option.meaning);
    }
    text
}
