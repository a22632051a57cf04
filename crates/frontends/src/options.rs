//! The options of the originals, said once: what is accepted, what `-h` prints, and the table in the docs
//! (docs/reference/front-ends.md) come from these, and an option that is [`Bound`] has beside it what it sets.
//!
//! Not here: the tables themselves, and what follows from what is set.

use std::fmt::Write;
use std::str::FromStr;

use ioassay_protocol::events::Failure;

use super::common::usage;
use super::size;

/// An option of an original.
#[derive(Debug, Clone, Copy)]
pub struct ToolOption {
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

impl ToolOption {
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

/// Sets in `P`, the parameters of a tool, what an option was given for.
///
/// # Errors
/// If its value is none that it takes.
pub type Set<P> = fn(&mut P, &GivenOption<P>) -> Result<(), Failure>;

/// An option bound to what it sets in `P`. There is no way to make one that is taken and has no setter.
pub struct Bound<P: 'static> {
    known: ToolOption,
    /// None of an option that is ignored or refused.
    set: Option<Set<P>>,
}

impl<P> Bound<P> {
    /// An option that does what the original's does.
    pub const fn same(name: &'static str, value: Option<&'static str>, meaning: &'static str, set: Set<P>) -> Self {
        Self { known: ToolOption::same(name, value, meaning), set: Some(set) }
    }

    /// An option that does it better.
    pub const fn better(
        name: &'static str,
        value: Option<&'static str>,
        meaning: &'static str,
        because: &'static str,
        set: Set<P>,
    ) -> Self {
        Self { known: ToolOption::better(name, value, meaning, because), set: Some(set) }
    }

    /// An option that changes nothing, which the result says.
    pub const fn ignored(
        name: &'static str,
        value: Option<&'static str>,
        meaning: &'static str,
        because: &'static str,
    ) -> Self {
        Self { known: ToolOption::ignored(name, value, meaning, because), set: None }
    }

    /// An option that is refused.
    pub const fn refused(
        name: &'static str,
        value: Option<&'static str>,
        meaning: &'static str,
        because: &'static str,
    ) -> Self {
        Self { known: ToolOption::refused(name, value, meaning, because), set: None }
    }

    /// True if its only spelling is `spelling`, in whatever capitals.
    pub fn is_spelt_in_any_case(&self, spelling: &str) -> bool {
        self.known.name.eq_ignore_ascii_case(spelling)
    }
}

/// The setter of the option in `options` that is spelt so, for another name of the same option.
///
/// # Panics
/// If none is spelt so, or it has no setter; of a table in a constant this is an error of the compiler.
pub const fn setter_of<P>(options: &[Bound<P>], spelling: &str) -> Set<P> {
    let mut index = 0;
    while index < options.len() {
        if let Some(set) = options[index].set
            && begins_with(options[index].known.name.as_bytes(), spelling.as_bytes())
        {
            return set;
        }
        index += 1;
    }
    panic!("no option that sets something is spelt so")
}

/// True if `spelling` is the first of the spellings in `name`.
const fn begins_with(name: &[u8], spelling: &[u8]) -> bool {
    let mut index = 0;
    while index < spelling.len() {
        if index == name.len() || name[index] != spelling[index] {
            return false;
        }
        index += 1;
    }
    index == name.len() || name[index] == b','
}

/// What `options` are, without what they set.
pub fn known<P>(options: &[Bound<P>]) -> Vec<ToolOption> {
    options.iter().map(|option| option.known).collect()
}

/// An option as it was given.
pub struct GivenOption<P: 'static> {
    /// The option.
    pub option: &'static Bound<P>,
    /// As it was typed: `-b`, `--dataPacketType`.
    pub spelling: String,
    /// Its value; of a flag only where one was given with `=`, as in `-T=0`.
    pub value: Option<String>,
}

impl<P> GivenOption<P> {
    /// An error that says why it is not taken, if it is refused. One that is switched off changes nothing.
    pub fn taken(&self) -> Result<(), Failure> {
        let Verdict::Refused(because) = self.option.known.verdict else { return Ok(()) };
        if self.value.as_deref() == Some("0") {
            return Ok(());
        }
        let (why, instead) = because.split_once("; ").unwrap_or((because, "leave it out"));
        Err(usage(format!("{} ({}) is refused: {why}", self.spelling, self.option.known.meaning), instead))
    }

    /// What to say of it if it is taken and changes nothing; nothing of one that is switched off.
    pub fn warning(&self) -> Option<String> {
        let Verdict::Ignored(because) = self.option.known.verdict else { return None };
        let on = self.value.as_deref() != Some("0");
        on.then(|| format!("WARNING: {} ({}) is ignored: {because}", self.spelling, self.option.known.meaning))
    }

    /// Sets what it is for in `to`.
    ///
    /// # Errors
    /// If its value is none that it takes.
    pub fn set(&self, to: &mut P) -> Result<(), Failure> {
        self.option.set.map_or(Ok(()), |set| set(to, self))
    }

    /// Its value as it was typed; empty of a flag.
    pub fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }

    /// True of a flag that is switched on: `-C=0` takes it back, as in the originals.
    ///
    /// # Errors
    /// If it was given a value that is no number.
    pub fn flag(&self) -> Result<bool, Failure> {
        let Some(text) = &self.value else { return Ok(true) };
        match text.parse::<i64>() {
            Ok(number) => Ok(number > 0),
            Err(_) => Err(usage(format!("{} {text:?} is neither 0 nor 1", self.spelling), "write 0 or 1")),
        }
    }

    /// Its value, a whole number.
    ///
    /// # Errors
    /// If it is none, or more than `N` holds.
    pub fn number<N: FromStr>(&self) -> Result<N, Failure> {
        let problem = || format!("{} {:?} is not a valid number", self.spelling, self.text());
        self.text().parse().map_err(|_| usage(problem(), "write a whole number"))
    }

    /// Its value, a number of bytes or a count with or without a letter: `4k` is 4096.
    ///
    /// # Errors
    /// If it is none.
    pub fn size(&self) -> Result<u64, Failure> {
        let size = size::parse(self.text()).map(|bytes| bytes.0);
        size.map_err(|error| {
            usage(format!("{}: {error}", self.spelling), "write a whole number, for example 4k, 2m or 1g")
        })
    }

    /// Switches `to` on or off, see [`Self::flag`].
    pub fn set_flag(&self, to: &mut bool) -> Result<(), Failure> {
        self.flag().map(|on| *to = on)
    }

    /// Sets `to`, see [`Self::number`].
    pub fn set_number<N: FromStr>(&self, to: &mut N) -> Result<(), Failure> {
        self.number().map(|number| *to = number)
    }

    /// Sets `to`, see [`Self::size`].
    pub fn set_size(&self, to: &mut u64) -> Result<(), Failure> {
        self.size().map(|size| *to = size)
    }

    /// Sets `to` to the value as it was typed.
    pub fn set_text<T: for<'a> From<&'a str>>(&self, to: &mut Option<T>) -> Result<(), Failure> {
        *to = Some(self.text().into());
        Ok(())
    }
}

/// The setter of an option that asks for what holds in any case, and of `-h`, which is looked for before all others.
pub fn holds_anyway<P>(_: &mut P, given: &GivenOption<P>) -> Result<(), Failure> {
    given.flag().map(drop)
}

/// True if a command line asks for help: then nothing else in it counts.
pub fn wants_help(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| matches!(argument.as_str(), "-h" | "--help"))
}

/// The option that is spelt so.
pub fn find<P>(options: &'static [Bound<P>], spelling: &str) -> Option<&'static Bound<P>> {
    options.iter().find(|option| option.known.spellings().any(|known| known == spelling))
}

/// The options of a command line in the order in which they stand, as the originals take them: a long one, or several
/// letters (`-Fuv`), the last of which may have a value, there (`-n5`, `-n=5`) or in the next argument.
///
/// # Errors
/// If one is unknown, refused, or lacks its value, and for what is no option.
pub fn parse<P>(
    tool: &str,
    options: &'static [Bound<P>],
    arguments: &[String],
) -> Result<Vec<GivenOption<P>>, Failure> {
    let mut given: Vec<GivenOption<P>> = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut take_one = |spelling: String, inline: Option<&str>| {
            let option = find(options, &spelling).ok_or_else(|| {
                let remedy = format!("`ioassay-engine {tool} -h` lists all options");
                usage(format!("{tool} has no option {spelling}"), remedy)
            })?;
            let value =
                match (option.known.value, inline) {
                    (Some(wanted), None) => Some(rest.next().cloned().ok_or_else(|| {
                        usage(format!("{spelling} needs a value"), format!("write {spelling} {wanted}"))
                    })?),
                    (_, inline) => inline.map(str::to_owned),
                };
            let given_option = GivenOption { option, spelling, value };
            given_option.taken()?;
            Ok::<GivenOption<P>, Failure>(given_option)
        };
        if argument.starts_with("--") {
            let (name, value) =
                argument.split_once('=').map_or((argument.as_str(), None), |(name, value)| (name, Some(value)));
            given.push(take_one(name.to_owned(), value)?);
            continue;
        }
        let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return Err(usage(format!("{argument:?} is not an option of {tool}"), stray(options, &given)));
        };
        for (index, letter) in letters.char_indices() {
            let spelling = format!("-{letter}");
            let after = &letters[index + letter.len_utf8()..];
            let takes = find(options, &spelling).is_some_and(|option| option.known.value.is_some());
            let inline = after.strip_prefix('=').or_else(|| (takes && !after.is_empty()).then_some(after));
            given.push(take_one(spelling, inline)?);
            if takes || inline.is_some() {
                break;
            }
        }
    }
    Ok(given)
}

/// What to do about an argument that is no option and no value: `-o -F FILE` gives `-o` the value `-F`.
fn stray<P>(options: &'static [Bound<P>], given: &[GivenOption<P>]) -> String {
    let swallowed = |given: &GivenOption<P>| given.value.clone().filter(|value| find(options, value).is_some());
    match given.iter().find_map(|given| Some((&given.spelling, swallowed(given)?))) {
        Some((spelling, value)) => format!("{spelling} took {value} as its value: write {value} before {spelling}"),
        None => "options start with a dash".to_owned(),
    }
}

/// The options of ioassay's own, at the end of every `-h`.
const OWN: &str = "\
ioassay's own options, anywhere on the command line:
  --ranks N                       number of local ranks (or IOASSAY_RANKS=N)
  --run DIR                       write a run directory, for `ioassay report DIR`
  --overwrite                     overwrite files that neither ioassay nor the original wrote
  IOASSAY_SCALE_DOWN=N            divide amounts by N, to try out a command line
";

/// What `-h` prints.
pub fn help(synopsis: &str, known: &[ToolOption]) -> String {
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
pub fn table(known: &[ToolOption]) -> String {
    let mut text = "| option | meaning | ours |\n| -- | -- | -- |\n".to_owned();
    for option in known {
        // A bar in a cell is escaped, also within code.
        let value = option.value.map(|value| format!(" {value}").replace('|', r"\|")).unwrap_or_default();
        let ours = match option.verdict {
            Verdict::Same => "same".to_owned(),
            Verdict::Better(because) => format!("better: {because}"),
            Verdict::Ignored(because) => format!("ignored with a warning: {because}"),
            Verdict::Refused(because) => format!("refused: {because}"),
        };
        let _ = writeln!(text, "| `{}{value}` | {} | {ours} |", option.name, option.meaning);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the options set.
    #[derive(Debug, Default, PartialEq)]
    struct Parameters {
        flag: bool,
        out: Option<String>,
    }

    const OPTIONS: &[Bound<Parameters>] = &[
        Bound::same("-F", None, "a flag", |to, given| given.set_flag(&mut to.flag)),
        Bound::same("-o, --out", Some("FILE"), "a value", |to, given| given.set_text(&mut to.out)),
        Bound::ignored("-y", None, "a hint", "there is no such cache"),
        Bound::refused("-x", None, "an old one", "it is gone; take -F"),
    ];

    fn parse_line(line: &str) -> Result<Vec<GivenOption<Parameters>>, Failure> {
        parse("tool", OPTIONS, &line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_come_in_order_with_their_values() {
        let given = parse_line("-Fof --out=g -o h -FF").unwrap();
        let spellings: Vec<&str> = given.iter().map(|given| given.spelling.as_str()).collect();
        assert_eq!(spellings, ["-F", "-o", "--out", "-o", "-F", "-F"]);
        assert_eq!(given[1].value.as_deref(), Some("f"));
        assert_eq!(given[3].value.as_deref(), Some("h"));
    }

    #[test]
    fn each_option_sets_what_it_is_bound_to_and_one_that_is_ignored_or_switched_off_nothing() {
        let mut parameters = Parameters::default();
        let set = |line: &str, to: &mut Parameters| {
            parse_line(line).unwrap().iter().try_for_each(|given| given.set(to)).unwrap();
        };
        set("-y -x=0", &mut parameters);
        assert_eq!(parameters, Parameters::default());
        set("-F --out g -y", &mut parameters);
        assert_eq!(parameters, Parameters { flag: true, out: Some("g".into()) });
        set("-F=0", &mut parameters);
        assert!(!parameters.flag);
    }

    #[test]
    fn another_name_of_an_option_has_its_setter() {
        let mut parameters = Parameters::default();
        let given = parse_line("-o f").unwrap().remove(0);
        setter_of(OPTIONS, "-o")(&mut parameters, &given).unwrap();
        assert_eq!(parameters.out.as_deref(), Some("f"));
    }

    #[test]
    #[should_panic(expected = "no option")]
    fn another_name_of_no_option_is_an_error() {
        setter_of(OPTIONS, "--o");
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
            let failure = parse_line(line).err().unwrap();
            assert!(failure.message.contains(message), "{line}: {}", failure.message);
            assert!(failure.remedy.contains(remedy), "{line}: {}", failure.remedy);
        }
    }

    #[test]
    fn help_and_table_say_what_becomes_of_each_option() {
        let given = parse_line("-y -y=0 -F").unwrap();
        let known = known(OPTIONS);
        let warnings: Vec<String> = given.iter().filter_map(GivenOption::warning).collect();
        assert_eq!(warnings, ["WARNING: -y (a hint) is ignored: there is no such cache"]);
        assert!(help("tool", &known).contains("refused: it is gone; take -F"));
        assert!(help("tool", &known).contains("ignored: there is no such cache"));
        let table = table(&known);
        assert!(table.contains("| `-o, --out FILE` | a value | same |"));
        assert!(table.contains("refused: it is gone; take -F"));
        assert!(table.contains("ignored with a warning: there is no such cache"));
    }
}
