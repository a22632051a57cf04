//! The variables that tell obdfilter-survey what to do, and what of them was given.
//!
//! Not here: what a variable does ([`super::translate`]).

use std::collections::BTreeMap;

use ioassay_protocol::events::Failure;

use crate::common::usage;
use crate::options::{Known, Verdict};

const LUSTRE: &str =
    "nothing of Lustre's is called: name directories of the file system, or a block device, in targets";

/// Every variable, and the one option that is ours because a device is lost with it.
pub const KNOWN: &[Known] = &[
    Known::same("nobjlo", Some("N"), "fewest objects of each target; 1 without"),
    Known::same("nobjhi", Some("N"), "most objects of each target, doubling from nobjlo; 16 without"),
    Known::same("thrlo", Some("N"), "fewest threads of each target; 1 without"),
    Known::same("thrhi", Some("N"), "most threads of each target, doubling from thrlo; 16 without"),
    Known::same("size", Some("MIB"), "MiB of each target; 16384 without"),
    Known::same("rszlo", Some("KIB"), "smallest record in KiB, in whole pages; 1024 without"),
    Known::same("rszhi", Some("KIB"), "largest record in KiB, doubling from rszlo; 1024 without"),
    Known::better(
        "targets, OSTS",
        Some("NAMES"),
        "what to measure, separated by spaces",
        "directories and a block device are measured by any user; objects are files in a directory of their own, past \
         the page cache where the file system can do that, and writes end with fsync",
    ),
    Known::better(
        "case",
        Some("disk"),
        "what takes part; network and netdisk are refused",
        "they name what does it now",
    ),
    Known::same("tests_str", Some("NAMES"), "tests, the first of them write; `write rewrite read` without"),
    Known::better("verify", Some("0|1"), "compare what is read", "every byte differs, and a difference ends the test"),
    Known::same("rslt_loc", Some("DIR"), "where the results go; /tmp without"),
    Known::better(
        "rslt",
        Some("PREFIX"),
        "the results are PREFIX.summary and PREFIX.detail",
        "instead of .vmstat there is what the kernel spent on every thread, with --run DIR",
    ),
    Known::same("PAGE_SIZE", Some("KIB"), "page in KiB; 4 without"),
    Known::refused("ECHO_CLIENTS", Some("NAMES"), "echo clients to use", LUSTRE),
    Known::refused("server_nid", Some("NID"), "server of case=network", "`ioassay net` measures the network"),
    Known::refused("lustre_root", Some("DIR"), "where lctl is", LUSTRE),
    Known::same("--destroy-data", Some("DEVICE"), "the device in targets once more: what is on it is lost"),
];

/// The variables that were given.
#[derive(Debug, Default)]
pub struct Given {
    values: BTreeMap<&'static str, String>,
}

impl Given {
    /// What `environment` has, and what `arguments` say over it as NAME=VALUE.
    ///
    /// # Errors
    /// If one is unknown, refused or without its value.
    pub fn read(arguments: &[String], environment: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let mut given = Self::default();
        for name in KNOWN.iter().flat_map(Known::spellings) {
            // An empty variable is none, in a shell.
            if let Some(value) = environment(name).filter(|value| !value.trim().is_empty()) {
                given.set(name, value)?;
            }
        }
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            let value = if name == "--destroy-data" { value.or_else(|| rest.next().cloned()) } else { value };
            let Some(value) = value else {
                let remedy = "write NAME=VALUE: ioassay-engine obdfilter-survey -h lists what there is";
                return Err(usage(format!("{argument:?} is no variable with a value"), remedy));
            };
            given.set(name, value)?;
        }
        Ok(given)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), Failure> {
        let Some((option, spelling)) =
            KNOWN.iter().find_map(|known| Some((known, known.spellings().find(|spelling| *spelling == name)?)))
        else {
            let remedy = "ioassay-engine obdfilter-survey -h lists what there is";
            return Err(usage(format!("obdfilter-survey has no variable {name}"), remedy));
        };
        if let Verdict::Refused(because) = option.verdict {
            let problem = format!("obdfilter-survey's {name} ({}) is refused", option.meaning);
            return Err(usage(problem, because));
        }
        self.values.insert(spelling, value);
        Ok(())
    }

    /// The value of `name`.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The whole number `name`, from 1 on.
    ///
    /// # Errors
    /// If its value is no such number.
    pub fn number(&self, name: &str, otherwise: u64) -> Result<u64, Failure> {
        let Some(text) = self.value(name) else { return Ok(otherwise) };
        let number = text.trim().parse().ok().filter(|number| (1..=1 << 40).contains(number));
        number.ok_or_else(|| {
            usage(format!("{name}={text:?} is no count"), "write a whole number from 1 on, without unit")
        })
    }

    /// All of them as NAME=VALUE, in the order of their names.
    pub fn as_arguments(&self) -> Vec<String> {
        self.values.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str], environment: &[(&str, &str)]) -> Result<Given, Failure> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let environment =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned());
        Given::read(&arguments, environment)
    }

    #[test]
    fn arguments_go_over_the_environment_and_empty_variables_are_none() {
        let given = read(&["size=2"], &[("size", "1"), ("thrhi", "4"), ("ECHO_CLIENTS", "")]).unwrap();
        assert_eq!((given.number("size", 9).unwrap(), given.number("thrhi", 9).unwrap()), (2, 4));
        assert_eq!(given.number("thrlo", 9).unwrap(), 9);
        assert_eq!(given.as_arguments(), ["size=2", "thrhi=4"]);
    }

    #[test]
    fn every_refused_variable_is_refused_by_its_name_with_what_to_take_instead() {
        for option in KNOWN {
            let Verdict::Refused(because) = option.verdict else { continue };
            for failure in [
                read(&[], &[(option.name, "x")]).unwrap_err(),
                read(&[&format!("{}=x", option.name)], &[]).unwrap_err(),
            ] {
                assert!(failure.message.contains(option.name), "{failure:?}");
                assert_eq!(failure.remedy, because);
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_name() {
        for argument in ["sizes=3", "size", "-x", "--destroy-data"] {
            let name = argument.split('=').next().unwrap();
            assert!(read(&[argument], &[]).unwrap_err().message.contains(name), "{argument}");
        }
        for text in ["x", "0", "1.5", "32G", "-1"] {
            let given = read(&[&format!("size={text}")], &[]).unwrap();
            assert!(given.number("size", 1).unwrap_err().message.contains(text));
        }
        assert!(read(&["--destroy-data", "/dev/x"], &[]).unwrap().value("--destroy-data") == Some("/dev/x"));
    }
}
