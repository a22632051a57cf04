//! The variables that tell obdfilter-survey what to do, and what of them was given.
//!
//! Not here: what a variable does ([`super::translate`]).

use std::collections::BTreeMap;

use ioassay_protocol::events::Failure;

use crate::common::usage;
use crate::options::{ToolOption, Verdict};

const LUSTRE: &str = "Lustre's tools are not used: list directories of the file system, or a block device, in targets";

/// Every variable, and the one option that is ours because a device is lost with it.
pub const KNOWN: &[ToolOption] = &[
    ToolOption::same("nobjlo", Some("N"), "minimum objects per target (default: 1)"),
    ToolOption::same("nobjhi", Some("N"), "maximum objects per target, doubling from nobjlo (default: 16)"),
    ToolOption::same("thrlo", Some("N"), "minimum threads per target (default: 1)"),
    ToolOption::same("thrhi", Some("N"), "maximum threads per target, doubling from thrlo (default: 16)"),
    ToolOption::same("size", Some("MIB"), "MiB per target (default: 16384)"),
    ToolOption::same("rszlo", Some("KIB"), "minimum record size in KiB, in whole pages (default: 1024)"),
    ToolOption::same("rszhi", Some("KIB"), "maximum record size in KiB, doubling from rszlo (default: 1024)"),
    ToolOption::better(
        "targets, OSTS",
        Some("NAMES"),
        "targets to measure, separated by spaces",
        "directories or a block device can be measured by any user; objects are files in a separate directory, \
         accessed with direct I/O where the file system supports it, and writes end with fsync",
    ),
    ToolOption::better(
        "case",
        Some("disk"),
        "layers to measure; network and netdisk are refused",
        "the error names the command that replaces them",
    ),
    ToolOption::same("tests_str", Some("NAMES"), "tests, the first of which is write (default: `write rewrite read`)"),
    ToolOption::better(
        "verify",
        Some("0|1"),
        "verify the data read",
        "all data is unique, and a mismatch ends the test",
    ),
    ToolOption::same("rslt_loc", Some("DIR"), "directory for the results (default: /tmp)"),
    ToolOption::better(
        "rslt",
        Some("PREFIX"),
        "write PREFIX.summary and PREFIX.detail",
        "--run DIR stores the kernel's counters of every thread, instead of .vmstat",
    ),
    ToolOption::same("PAGE_SIZE", Some("KIB"), "page size in KiB (default: 4)"),
    ToolOption::refused("ECHO_CLIENTS", Some("NAMES"), "echo clients to use", LUSTRE),
    ToolOption::refused("server_nid", Some("NID"), "server of case=network", "`ioassay net` measures the network"),
    ToolOption::refused("lustre_root", Some("DIR"), "directory of lctl", LUSTRE),
    ToolOption::same("--destroy-data", Some("DEVICE"), "repeat the device of targets: all data on it is lost"),
];

/// The variables that were given.
#[derive(Debug, Default)]
pub struct Variables {
    values: BTreeMap<&'static str, String>,
}

impl Variables {
    /// What `environment` has, and what `arguments` say over it as NAME=VALUE.
    ///
    /// # Errors
    /// If one is unknown, refused or without its value.
    pub fn read(arguments: &[String], environment: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let mut given = Self::default();
        for name in KNOWN.iter().flat_map(ToolOption::spellings) {
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
                let remedy = "write NAME=VALUE; `ioassay-engine obdfilter-survey -h` lists all variables";
                return Err(usage(format!("{argument:?} is not of the form NAME=VALUE"), remedy));
            };
            given.set(name, value)?;
        }
        Ok(given)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), Failure> {
        let Some((option, spelling)) =
            KNOWN.iter().find_map(|known| Some((known, known.spellings().find(|spelling| *spelling == name)?)))
        else {
            let remedy = "`ioassay-engine obdfilter-survey -h` lists all variables";
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
            usage(format!("{name}={text:?} is not a valid count"), "write a whole number, 1 or more, without a unit")
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

    fn read(arguments: &[&str], environment: &[(&str, &str)]) -> Result<Variables, Failure> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let environment =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned());
        Variables::read(&arguments, environment)
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
