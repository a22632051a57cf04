//! The options of the originals, said once: what is accepted, what `-h` prints, and the table in the docs
//! (docs/reference/front-ends.md) come from these.
//!
//! Not here: what an option does.

use std::fmt::Write;

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
