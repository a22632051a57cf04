//! The options of the originals, said once: what is accepted, what `-h` prints, and the table in the docs
//! (docs/reference/front-ends.md) come from these.
//!
//! Not here: what an option does.

use std::fmt::Write;

use ioassay_protocol::events::Failure;

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
    /// It is taken and changes nothing, which the result says. The text goes on after "ignored with a warning, because".
    Ignored(&'static str),
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

    /// An option that changes nothing, which the result says.
    pub const fn ignored(
        name: &'static str,
        value: Option<&'static str>,
        meaning: &'static str,
        because: &'static str,
    ) -> Self {
        Self { name, value, meaning, verdict: Verdict::Ignored(because) }
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
    /// Its value; of a flag only where one was given with `=`, as in `-T=0`.
    pub value: Option<String>,
}

impl Given {
    /// An error that says why it is not taken, if it is refused. One that is switched off changes nothing.
    pub fn taken(&self) -> Result<(), Failure> {
        let Verdict::Refused(because) = self.known.verdict else { return Ok(()) };
        if self.value.as_deref() == Some("0") {
            return Ok(());
        }
        let (why, instead) = because.split_once("; ").unwrap_or((because, "leave it out"));
        Err(usage(format!("{} ({}) is refused: {why}", self.spelling, self.known.meaning), instead))
    }

    /// What to say of it if it is taken and changes nothing; nothing of one that is switched off.
    pub fn warning(&self) -> Option<String> {
        let Verdict::Ignored(because) = self.known.verdict else { return None };
        let on = self.value.as_deref() != Some("0");
        on.then(|| format!("WARNING: {} ({}) is ignored: {because}", self.spelling, self.known.meaning))
    }
}

/// True if a command line asks for help: then nothing else in it counts.
pub fn wants_help(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| matches!(argument.as_str(), "-h" | "--help"))
}

/// The option that is spelt so.
pub fn find(known: &'static [Known], spelling: &str) -> Option<&'static Known> {
    known.iter().find(|option| option.spellings().any(|known| known == spelling))
}

/// The options of a command line in the order in which they stand, as the originals take them: a long one, or several
/// letters (`-Fuv`), the last of which may have a value, there (`-n5`, `-n=5`) or in the next argument.
///
/// # Errors
/// If one is unknown, refused, or lacks its value, and for what is no option.
pub fn parse(tool: &str, known: &'static [Known], arguments: &[String]) -> Result<Vec<Given>, Failure> {
    let mut given: Vec<Given> = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut one = |spelling: String, inline: Option<&str>| {
            let known = find(known, &spelling).ok_or_else(|| {
                let remedy = format!("see ioassay-engine {tool} -h for those there are");
                usage(format!("{tool} has no option {spelling}"), remedy)
            })?;
            let value =
                match (known.value, inline) {
                    (Some(wanted), None) => Some(rest.next().cloned().ok_or_else(|| {
                        usage(format!("{spelling} needs a value"), format!("write {spelling} {wanted}"))
                    })?),
                    (_, inline) => inline.map(str::to_owned),
                };
            let one = Given { known, spelling, value };
            one.taken()?;
            Ok::<Given, Failure>(one)
        };
        if argument.starts_with("--") {
            let (name, value) =
                argument.split_once('=').map_or((argument.as_str(), None), |(name, value)| (name, Some(value)));
            given.push(one(name.to_owned(), value)?);
            continue;
        }
        let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return Err(usage(format!("{argument:?} is no option of {tool}"), stray(known, &given)));
        };
        for (at, letter) in letters.char_indices() {
            let spelling = format!("-{letter}");
            let after = &letters[at + letter.len_utf8()..];
            let takes = find(known, &spelling).is_some_and(|known| known.value.is_some());
            let inline = after.strip_prefix('=').or_else(|| (takes && !after.is_empty()).then_some(after));
            given.push(one(spelling, inline)?);
            if takes || inline.is_some() {
                break;
            }
        }
    }
    Ok(given)
}

/// What to do about an argument that is no option and no value: `-o -F FILE` gives `-o` the value `-F`.
fn stray(known: &'static [Known], given: &[Given]) -> String {
    let swallowed = |given: &Given| given.value.clone().filter(|value| find(known, value).is_some());
    match given.iter().find_map(|given| Some((&given.spelling, swallowed(given)?))) {
        Some((spelling, value)) => format!("{spelling} took {value} for its value: write {value} before {spelling}"),
        None => "options begin with a dash".to_owned(),
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
            Verdict::Ignored(because) => format!(" [ignored: {because}]"),
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
            Verdict::Ignored(because) => format!("ignored with a warning, because {because}"),
            Verdict::Refused(because) => format!("refused, because {because}"),
        };
        let _ = writeln!(text, "| `{}{value}` | {} | {ours} |", option.name, option.meaning);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Known] = &[
        Known::same("-F", None, "a flag"),
        Known::same("-o, --out", Some("FILE"), "a value"),
        Known::ignored("-y", None, "a hint", "there is no such cache"),
        Known::refused("-x", None, "an old one", "it is gone; take -F"),
    ];

    fn parse_line(line: &str) -> Result<Vec<(String, Option<String>)>, Failure> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let given = parse("tool", KNOWN, &arguments)?;
        Ok(given.into_iter().map(|given| (given.spelling, given.value)).collect())
    }

    #[test]
    fn options_come_in_order_with_their_values() {
        let given = parse_line("-Fof --out=g -o h -FF").unwrap();
        let spellings: Vec<&str> = given.iter().map(|(spelling, _)| spelling.as_str()).collect();
        assert_eq!(spellings, ["-F", "-o", "--out", "-o", "-F", "-F"]);
        assert_eq!(given[1].1.as_deref(), Some("f"));
        assert_eq!(given[3].1.as_deref(), Some("h"));
    }

    #[test]
    fn what_is_not_taken_is_named_with_a_way_out() {
        for (line, message, remedy) in [
            ("-q", "-q", "tool -h"),
            ("-x", "-x", "take -F"),
            ("stray", "stray", "dash"),
            ("-o -F stray", "stray", "write -F before -o"),
            ("-o", "-o", "write -o FILE"),
        ] {
            let failure = parse_line(line).unwrap_err();
            assert!(failure.message.contains(message), "{line}: {}", failure.message);
            assert!(failure.remedy.contains(remedy), "{line}: {}", failure.remedy);
        }
    }

    #[test]
    fn help_and_table_say_what_becomes_of_each_option() {
        let given = parse("tool", KNOWN, &["-y".to_owned(), "-y=0".to_owned(), "-F".to_owned()]).unwrap();
        let warnings: Vec<String> = given.iter().filter_map(Given::warning).collect();
        assert_eq!(warnings, ["WARNING: -y (a hint) is ignored: there is no such cache"]);
        assert!(help("tool", KNOWN).contains("refused: it is gone; take -F"));
        assert!(help("tool", KNOWN).contains("ignored: there is no such cache"));
        let table = table(KNOWN);
        assert!(table.contains("| `-o, --out FILE` | a value | same |"));
        assert!(table.contains("refused, because it is gone; take -F"));
        assert!(table.contains("ignored with a warning, because there is no such cache"));
    }
}
