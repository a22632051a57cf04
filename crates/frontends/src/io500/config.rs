//! The .ini file: sections and keys as text, with the lines they stand on.
//!
//! Not here: what values mean together ([`super::settings`]).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ioassay_engine::failure;
use ioassay_protocol::events::Failure;

use super::options::{Key, Kind, Section, section_of};
use crate::common::usage;
use crate::options::Verdict;
use crate::size;

/// `path` from the working directory on.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The text of an .ini file. Comments may be in any encoding.
pub fn read(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(|error| failure::on_path("read", path, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Where a line stands.
enum Place {
    Before,
    Within(&'static Section),
    Unknown,
}

/// A value as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GivenValue {
    text: String,
    line: usize,
}

/// An .ini file that was read: every key is known, and each value is of its kind.
#[derive(Debug, Clone, Default)]
pub struct Config {
    path: String,
    values: BTreeMap<(&'static str, &'static str), GivenValue>,
    /// What was taken with a warning.
    pub warnings: Vec<String>,
}

impl Config {
    /// Reads `text`, which was in the file `path`. A key without a value keeps its default, and of one that is given
    /// twice the last value counts, as in the official program.
    ///
    /// # Errors
    /// All lines that cannot be read, and keys that are unknown or have a value that is not of their kind.
    pub fn parse(path: &str, text: &str) -> Result<Self, Vec<Failure>> {
        let mut config = Self { path: path.to_owned(), ..Self::default() };
        let mut wrong = Vec::new();
        let mut place = Place::Before;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let line = without_comment(line);
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                let name = name.trim();
                place = section_of(name).map_or(Place::Unknown, Place::Within);
                if matches!(place, Place::Unknown) {
                    let problem = format!("there is no section [{name}]");
                    wrong.push(config.wrong(number, problem, "`ioassay-engine io500 --list` prints all sections"));
                }
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                let remedy = "write [section] or key = value; comments begin with # or ;";
                wrong.push(config.wrong(number, format!("{line:?} is neither a section nor a key"), remedy));
                continue;
            };
            let (name, value) = (name.trim(), value.trim());
            // The official program looks at no key that has no value.
            if value.is_empty() {
                continue;
            }
            match place {
                Place::Within(section) => wrong.extend(config.set(section, name, value, number).err()),
                Place::Before => {
                    let problem = format!("{name} appears before any section");
                    wrong.push(config.wrong(number, problem, "add [global] above it"));
                }
                // An unknown section is reported already.
                Place::Unknown => {}
            }
        }
        if wrong.is_empty() { Ok(config) } else { Err(wrong) }
    }

    /// What of `text` the official program would take: the last value of each key that we know, whatever it is.
    pub fn lenient(text: &str) -> Self {
        let mut config = Self::default();
        let mut section: Option<&'static Section> = None;
        for line in text.lines().map(without_comment) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = section_of(name.trim());
            } else if let (Some(section), Some((name, value))) = (section, line.split_once('='))
                && let Some(key) = section.key(name.trim())
                && !value.trim().is_empty()
            {
                config.values.insert((section.name, key.name), GivenValue { text: value.trim().to_owned(), line: 0 });
            }
        }
        config
    }

    fn set(&mut self, section: &'static Section, name: &str, value: &str, line: usize) -> Result<(), Failure> {
        let Some(key) = section.key(name) else {
            let known: Vec<&str> = section.keys.iter().map(|key| key.name).collect();
            let remedy = if known.is_empty() {
                "this section has no keys".to_owned()
            } else {
                format!("use one of {}", known.join(", "))
            };
            return Err(self.wrong(line, format!("[{}] has no key {name}", section.name), &remedy));
        };
        let wrong = |config: &Self, remedy| {
            config.wrong(line, format!("[{}] {} = {value} is invalid", section.name, key.name), remedy)
        };
        if value.contains(char::REPLACEMENT_CHARACTER) {
            return Err(wrong(self, "save the file as UTF-8"));
        }
        check(key, value).map_err(|remedy| wrong(self, remedy))?;
        let given = GivenValue { text: value.to_owned(), line };
        if let Some(first) = self.values.insert((section.name, key.name), given) {
            let twice = format!(
                "[{}] {} is also set on line {}; this line takes precedence",
                section.name, key.name, first.line
            );
            self.warnings.push(format!("line {line}: {twice}"));
        }
        Ok(())
    }

    fn wrong(&self, line: usize, problem: String, remedy: &str) -> Failure {
        usage(format!("{}, line {line}: {problem}", self.path), remedy)
    }

    /// What is wrong with the value of a key, with its line where it has one.
    pub fn refuse(&self, section: &str, key: &str, problem: &str, remedy: &str) -> Failure {
        let line = self.given(section, key).map_or_else(String::new, |given| format!(", line {}", given.line));
        usage(format!("{}{line}: [{section}] {key} {problem}", self.path), remedy)
    }

    /// Where the file is.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The line of a key, where it has one.
    pub fn line(&self, section: &str, key: &str) -> Option<usize> {
        self.given(section, key).map(|given| given.line)
    }

    fn given(&self, section: &str, key: &str) -> Option<&GivenValue> {
        self.values.iter().find(|((of, name), _)| *of == section && *name == key).map(|(_, given)| given)
    }

    /// Looks for values that cannot be honoured, in sections that are `used`. Those that are ignored are warned of.
    ///
    /// # Errors
    /// All that are refused.
    pub fn judge(&mut self, used: impl Fn(&str) -> bool) -> Result<(), Vec<Failure>> {
        let (mut refused, mut ignored) = (Vec::new(), Vec::new());
        for (&(section, name), given) in self.values.iter().filter(|((section, _), _)| used(section)) {
            let Some(key) = section_of(section).and_then(|section| section.key(name)) else { continue };
            let GivenValue { text, line } = given;
            match key.verdict {
                Verdict::Refused(because) if !is_default(key, text) => {
                    let (why, instead) = because.split_once("; ").unwrap_or((because, "leave it out"));
                    let problem = format!("[{section}] {name} = {text} is refused ({}): {why}", key.meaning);
                    refused.push((*line, self.wrong(*line, problem, instead)));
                }
                Verdict::Ignored(because) if !is_default(key, text) => {
                    ignored.push((*line, format!("line {line}: [{section}] {name} = {text} is ignored: {because}")));
                }
                _ => {}
            }
        }
        ignored.sort_by_key(|(line, _)| *line);
        refused.sort_by_key(|(line, _)| *line);
        self.warnings.extend(ignored.into_iter().map(|(_, warning)| warning));
        let refused: Vec<Failure> = refused.into_iter().map(|(_, failure)| failure).collect();
        if refused.is_empty() { Ok(()) } else { Err(refused) }
    }

    /// The value of a key, its default where it has none.
    ///
    /// # Panics
    /// If there is no such key.
    pub fn text(&self, section: &'static str, key: &'static str) -> Option<&str> {
        let known = section_of(section).and_then(|section| section.key(key)).expect("the tables have every key we ask");
        self.values.get(&(section, known.name)).map(|given| given.text.as_str()).or(known.default)
    }

    /// The APIs that it names, for all phases or for some.
    pub fn apis(&self) -> impl Iterator<Item = &str> {
        let named = self.values.iter().filter(|((_, key), _)| key.eq_ignore_ascii_case("api"));
        named.map(|(_, given)| given.text.as_str())
    }

    /// The value of a flag; false where it has none.
    pub fn flag(&self, section: &'static str, key: &'static str) -> bool {
        self.truth(section, key) == Some(true)
    }

    /// The value of a flag, where it has one.
    pub fn truth(&self, section: &'static str, key: &'static str) -> Option<bool> {
        self.text(section, key).and_then(truth)
    }

    /// The value of a number.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn number(&self, section: &'static str, key: &'static str) -> Result<Option<u64>, Failure> {
        let Some(text) = self.text(section, key) else { return Ok(None) };
        text.parse()
            .map(Some)
            .map_err(|_| self.refuse(section, key, &format!("= {text} is not a valid count"), "write 0 or more"))
    }

    /// The value of a size, as IOR takes them.
    ///
    /// # Errors
    /// If it is none.
    pub fn size(&self, section: &'static str, key: &'static str) -> Result<u64, Failure> {
        let text = self.text(section, key).unwrap_or_default();
        let remedy = "write a whole number, for example 2m or 1g";
        let refuse = |error| self.refuse(section, key, &format!("= {error}"), remedy);
        size::parse(text).map(|bytes| bytes.0).map_err(refuse)
    }

    /// All sections and keys that were read, in the official order, as the official program keeps them beside its
    /// results.
    pub fn resolved(&self) -> String {
        let mut text = String::new();
        for section in super::options::SECTIONS {
            let given = self.values.keys().any(|(of, _)| *of == section.name);
            if section.list == super::options::List::Retired && !given {
                continue;
            }
            text += &format!("[{}]\n", section.name);
            for key in section.keys {
                text += &format!("{} = {}\n", key.name, self.text(section.name, key.name).unwrap_or_default());
            }
            for key in section.old {
                if let Some(given) = self.given(section.name, key.name) {
                    text += &format!("{} = {}\n", key.name, given.text);
                }
            }
            text.push('\n');
        }
        text
    }
}

/// The line up to its comment. A `#` or `;` begins one at the line's beginning and after a space.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    for (index, letter) in line.char_indices() {
        if matches!(letter, '#' | ';') && before.is_whitespace() {
            return line[..index].trim();
        }
        before = letter;
    }
    line.trim()
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// What would be valid, if `value` is not.
fn check(key: &Key, value: &str) -> Result<(), &'static str> {
    match key.kind {
        Kind::Text | Kind::Api => Ok(()),
        Kind::Number if value.parse::<i64>().is_err() => Err("write a whole number"),
        Kind::Decimal if value.parse::<f64>().is_err() => Err("write a number"),
        Kind::Flag if truth(value).is_none() => Err("write TRUE or FALSE"),
        _ => Ok(()),
    }
}

fn is_default(key: &Key, value: &str) -> bool {
    match key.kind {
        Kind::Flag => truth(value) == key.default.and_then(truth).or(Some(false)),
        Kind::Decimal => value.parse::<f64>().ok() == key.default.and_then(|default| default.parse().ok()),
        _ => Some(value) == key.default,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        let failures = Config::parse("x.ini", text).unwrap_err();
        failures.into_iter().map(|failure| failure.message).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn sections_keys_comments_and_spaces_are_read_in_any_case() {
        let text = "# head\n\n [ GLOBAL ]  ; first\ndatadir = /a b/c  # where\r\n\tVerbosity=3\nscc = true\n\n\
                    [mdtest-easy]\nN = 17\nrun = 0\nAPI = posix\n[timestamp]\n[debug]\nstonewall-time =\n";
        let config = Config::parse("x.ini", text).unwrap();
        assert_eq!(config.text("global", "datadir"), Some("/a b/c"));
        assert_eq!(config.number("global", "verbosity"), Ok(Some(3)));
        assert!(config.flag("global", "scc") && !config.flag("mdtest-easy", "run"));
        assert_eq!(config.number("mdtest-easy", "n"), Ok(Some(17)));
        assert_eq!(config.number("debug", "stonewall-time"), Ok(Some(300)), "a key without a value keeps its default");
        assert_eq!(config.size("ior-easy", "blockSize"), Ok(9_920_000 << 20));
        assert!(config.resolved().contains("[mdtest-easy]\nAPI = posix\nn = 17\nrun = 0\n"));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        assert!(problem("\n[nonsense]\n").contains("x.ini, line 2: there is no section [nonsense]"));
        assert!(problem("[global]\ndatdir = /x").contains("line 2: [global] has no key datdir"));
        assert!(problem("datadir = /x").contains("line 1: datadir appears before any section"));
        assert!(problem("[global]\nnonsense").contains("line 2"));
        assert!(problem("[debug]\nstonewall-time = soon").contains("line 2: [debug] stonewall-time = soon"));
        assert!(problem("[ior-easy]\nrun = yes").contains("line 2"));
        let all = problem("[global]\ndatdir = /x\n[nonsense]\nx = 1\n[debug]\nstonewall-time = soon");
        assert_eq!(all.lines().count(), 3, "{all}");
        // A comment may be in any encoding, and a value may not.
        let latin = String::from_utf8_lossy(b"; gr\xfc\xdfe\n[global]\ndatadir = /gr\xfc\xdfe").into_owned();
        assert!(problem(&latin).contains("line 3: [global] datadir"), "{latin}");
    }

    #[test]
    fn what_the_official_program_lets_pass_is_taken() {
        let text = "[debug]\nstonewall-time = 1\n\n[debug]\nstonewall-time = 2\n[find]\nanything =\n";
        let config = Config::parse("x.ini", text).unwrap();
        assert_eq!(config.number("debug", "stonewall-time"), Ok(Some(2)));
        assert_eq!(config.warnings.len(), 1);
        assert!(config.warnings[0].contains("line 5") && config.warnings[0].contains("also set on line 2;"));
    }

    #[test]
    fn refused_and_ignored_keys_may_have_their_default_without_a_word_and_anything_where_nothing_runs() {
        for (section, key, default, other, refused) in [
            ("global", "io-buffers-on-gpu", "FALSE", "TRUE", true),
            ("ior-easy", "hintsFileName", "", "/hints", true),
            ("mdworkbench", "waitingTime", "0", "0.5", true),
            ("ior-easy", "uniqueDir", "FALSE", "TRUE", false),
            ("find", "pfind-steal-next", "false", "true", false),
            ("find", "external-script", "", "./find.sh", false),
            ("find", "external-args", "", "-x", false),
        ] {
            let judged = |value: &str, used| {
                let mut config = Config::parse("x", &format!("[{section}]\n{key} = {value}")).unwrap();
                let failures = config.judge(|_| used).err().unwrap_or_default();
                (failures, config.warnings)
            };
            assert_eq!(judged(default, true), (vec![], vec![]), "{key}");
            assert_eq!(judged(other, false), (vec![], vec![]), "{key}");
            let (failures, warnings) = judged(other, true);
            assert_eq!((failures.len(), warnings.len()), if refused { (1, 0) } else { (0, 1) }, "{key}");
            let message = failures.first().map_or_else(|| warnings[0].clone(), |failure| failure.message.clone());
            assert!(message.contains(&format!("line 2: [{section}] {key} = {other} is ")), "{message}");
        }
    }
}
