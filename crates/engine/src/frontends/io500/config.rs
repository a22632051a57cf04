//! The .ini file: sections and keys as text, with the lines they stand on.
//!
//! Not here: what values mean together ([`super::settings`]).

use std::collections::BTreeMap;

use ioassay_contract::events::Failure;
use ioassay_units::Bytes;

use super::api::Api;
use super::options::{Key, Kind, Section, section_of};
use crate::frontends::common::usage;
use crate::frontends::options::Verdict;

/// A value as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Given {
    text: String,
    line: usize,
}

/// An .ini file that was read: every key is known, and no value is refused.
#[derive(Debug, Clone, Default)]
pub struct Config {
    path: String,
    values: BTreeMap<(&'static str, &'static str), Given>,
}

impl Config {
    /// Reads `text`, which was in the file `path`. A key without a value keeps its default, as in the official program.
    ///
    /// # Errors
    /// If a line cannot be read, if a section or key is unknown, given twice, or has a value that is refused.
    pub fn parse(path: &str, text: &str) -> Result<Self, Failure> {
        let mut config = Self { path: path.to_owned(), ..Self::default() };
        let mut section: Option<&'static Section> = None;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let line = without_comment(line);
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                let name = name.trim();
                section = Some(section_of(name).ok_or_else(|| {
                    config.wrong(number, format!("there is no section [{name}]"), "ioassay-engine io500 --list")
                })?);
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                let remedy = "write [section] or key = value; comments begin with # or ;";
                return Err(config.wrong(number, format!("{line:?} is neither a section nor a key"), remedy));
            };
            let (name, value) = (name.trim(), value.trim());
            let Some(section) = section else {
                return Err(config.wrong(
                    number,
                    format!("{name} stands before any section"),
                    "write [global] above it",
                ));
            };
            config.set(section, name, value, number)?;
        }
        Ok(config)
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
                config.values.insert((section.name, key.name), Given { text: value.trim().to_owned(), line: 0 });
            }
        }
        config
    }

    fn set(&mut self, section: &'static Section, name: &str, value: &str, line: usize) -> Result<(), Failure> {
        let Some(key) = section.key(name) else {
            let known: Vec<&str> = section.keys.iter().map(|key| key.name).collect();
            let remedy =
                if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
            return Err(self.wrong(line, format!("[{}] has no key {name}", section.name), &remedy));
        };
        if value.is_empty() {
            return Ok(());
        }
        check(key, value).map_err(|remedy| {
            self.wrong(line, format!("[{}] {} = {value} is not possible", section.name, key.name), remedy)
        })?;
        if key.kind == Kind::Api {
            Api::parse(value).map_err(|refused| {
                let problem = format!("[{}] {} = {value}: {}", section.name, key.name, refused.message);
                self.wrong(line, problem, &refused.remedy)
            })?;
        }
        if let Verdict::Refused(because) = key.verdict
            && !is_default(key, value)
        {
            let problem = format!("[{}] {} = {value} is refused ({})", section.name, key.name, key.meaning);
            let (why, instead) = because.split_once("; ").unwrap_or((because, "leave it out"));
            return Err(self.wrong(line, format!("{problem}: {why}"), instead));
        }
        if let Some(first) = self.values.get(&(section.name, key.name)) {
            let problem = format!("[{}] {} is given on line {} too", section.name, key.name, first.line);
            return Err(self.wrong(line, problem, "leave one of them out"));
        }
        self.values.insert((section.name, key.name), Given { text: value.to_owned(), line });
        Ok(())
    }

    fn wrong(&self, line: usize, problem: String, remedy: &str) -> Failure {
        usage(format!("{}, line {line}: {problem}", self.path), remedy)
    }

    /// What is wrong with the value of a key, with its line where it has one.
    pub fn refuse(&self, section: &str, key: &str, problem: &str, remedy: &str) -> Failure {
        let given = self.values.iter().find(|((of, name), _)| *of == section && *name == key);
        let line = given.map_or_else(String::new, |(_, given)| format!(", line {}", given.line));
        usage(format!("{}{line}: [{section}] {key} {problem}", self.path), remedy)
    }

    /// The value of a key, its default where it has none.
    ///
    /// # Panics
    /// If there is no such key.
    pub fn text(&self, section: &'static str, key: &'static str) -> Option<&str> {
        let known = section_of(section).and_then(|section| section.key(key)).expect("the tables have every key we ask");
        self.values.get(&(section, known.name)).map(|given| given.text.as_str()).or(known.default)
    }

    /// The value of a flag; false where it has none.
    pub fn flag(&self, section: &'static str, key: &'static str) -> bool {
        self.text(section, key).is_some_and(|text| truth(text) == Some(true))
    }

    /// The value of a number.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn number(&self, section: &'static str, key: &'static str) -> Result<Option<u64>, Failure> {
        let Some(text) = self.text(section, key) else { return Ok(None) };
        text.parse()
            .map(Some)
            .map_err(|_| self.refuse(section, key, &format!("= {text} is no count"), "write 0 or more"))
    }

    /// The value of a size, as IOR takes them.
    ///
    /// # Errors
    /// If it is none.
    pub fn size(&self, section: &'static str, key: &'static str) -> Result<u64, Failure> {
        let text = self.text(section, key).unwrap_or_default();
        text.parse()
            .map(|Bytes(bytes)| bytes)
            .map_err(|error| self.refuse(section, key, &format!("= {error}"), "write for example 2m or 1g"))
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
            text.push('\n');
        }
        text
    }
}

/// The line up to its comment. A `#` or `;` begins one at the line's beginning and after a space.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        if matches!(letter, '#' | ';') && before.is_whitespace() {
            return line[..at].trim();
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
        Config::parse("x.ini", text).unwrap_err().message
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
        assert!(problem("datadir = /x").contains("line 1: datadir stands before any section"));
        assert!(problem("[global]\nnonsense").contains("line 2"));
        assert!(problem("[debug]\nstonewall-time = soon").contains("line 2: [debug] stonewall-time = soon"));
        assert!(problem("[ior-easy]\nrun = yes").contains("line 2"));
        let twice = problem("[debug]\nstonewall-time = 1\n\n[debug]\nstonewall-time = 2");
        assert!(twice.contains("line 5") && twice.contains("line 2 too"), "{twice}");
    }

    #[test]
    fn refused_keys_may_have_their_default_and_nothing_else() {
        for (section, key, default, other) in [
            ("global", "api", "POSIX", "RADOS"),
            ("ior-easy", "API", "POSIX --posix.odirect", "RADOS"),
            ("global", "io-buffers-on-gpu", "FALSE", "TRUE"),
            ("ior-hard", "collective", "0", "1"),
            ("mdworkbench", "waitingTime", "0", "0.5"),
            ("find", "pfind-steal-next", "false", "true"),
            ("global", "drop-caches-cmd", "sudo -n bash -c \"echo 3 > /proc/sys/vm/drop_caches\"", "/bin/true"),
        ] {
            assert!(Config::parse("x", &format!("[{section}]\n{key} = {default}")).is_ok(), "{key}");
            let refused = problem(&format!("[{section}]\n{key} = {other}"));
            assert!(
                refused.contains(&format!("line 2: [{section}] {}", key)) && refused.contains("refused"),
                "{refused}"
            );
        }
    }
}
