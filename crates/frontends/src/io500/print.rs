//! `result.txt`, `result_summary.txt` and standard output in the official layout (IO500/io500 at 02091cf,
//! `src/main.c`), so that what parses those parses these; marked as ours at the top, and without hashes.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use ioassay_engine::failure;
use ioassay_protocol::events::Failure;

use super::phases::{Group, TIMESTAMP};
use super::rules::{Outcome, Scores};
use super::settings::Settings;
use crate::session::Console;
use crate::{localtime, result_file};

/// How every file of ours begins.
const OURS: &str = "; Produced by ioassay-engine";

/// What stands at the top of all of them.
fn mark() -> String {
    format!("{OURS} {}: this is no official IO500 run, and not to be submitted as one\n", env!("CARGO_PKG_VERSION"))
}

const RESULT: &str = "result.txt";
const SUMMARY: &str = "result_summary.txt";
const TIMESTAMP_FILE: &str = "timestampfile";
const ORIGINAL: &str = "config-orig.ini";
const RESOLVED: &str = "config.ini";

/// The .ini file of a run.
#[derive(Debug, Clone, Copy)]
pub struct Ini<'a> {
    /// As it was given.
    pub original: &'a str,
    /// With every value that counts.
    pub resolved: &'a str,
}

/// The files of results.
#[derive(Debug)]
pub struct Report {
    /// The directory that they are in.
    pub directory: PathBuf,
    result: File,
    summary: File,
    verbosity: u64,
    overwrite: bool,
}

impl Report {
    /// Creates them in `directory`, and it, with the .ini file as it was given and as it was understood. Those of an earlier run
    /// of ours are replaced, and others with `overwrite`; where one cannot be, none is.
    pub fn create(directory: &Path, settings: &Settings, overwrite: bool, ini: Ini<'_>) -> Result<Self, Failure> {
        let is_ours = |begin: &str| begin.starts_with(OURS);
        for name in [RESULT, SUMMARY, ORIGINAL, RESOLVED] {
            result_file::may_replace(&directory.join(name), overwrite, is_ours)?;
        }
        fs::create_dir_all(directory).map_err(|error| failure::on_path("create directory", directory, &error))?;
        let create = |name: &str| result_file::create(&directory.join(name), overwrite, is_ours);
        let (result, summary) = (create(RESULT)?, create(SUMMARY)?);
        for (name, text) in [(ORIGINAL, ini.original), (RESOLVED, ini.resolved)] {
            result_file::write(&directory.join(name), overwrite, is_ours, &(mark() + text))?;
        }
        Ok(Self { directory: directory.to_owned(), result, summary, verbosity: settings.verbosity, overwrite })
    }

    /// Keeps what IOR or mdtest would have left of a phase in the place of an earlier one, which begins as `begin` says.
    pub fn keep_phase_log(&mut self, name: &str, begin: &str, text: &str) {
        let path = self.directory.join(name);
        let kept =
            result_file::create(&path, self.overwrite, |content| content.starts_with(begin)).and_then(|mut file| {
                file.write_all(text.as_bytes()).map_err(|error| failure::on_path("write", &path, &error))
            });
        if let Err(failure) = kept {
            self.note(&format!("; WARNING {}", failure.message));
        }
    }

    /// Leaves the empty file whose time tells the official program's walk what is new; ours has that in the plan.
    pub fn keep_timestamp(&mut self) {
        let path = self.directory.join(TIMESTAMP_FILE);
        if let Err(failure) = result_file::create(&path, self.overwrite, |_| false) {
            self.note(&format!("; WARNING {}", failure.message));
        }
    }

    /// A line that result.txt alone has.
    pub fn note(&mut self, line: &str) {
        // A full disk must not end a measurement; the run directory has the figures too.
        let _ = self.result.write_all(format!("{line}\n").as_bytes());
    }

    /// A key of result.txt.
    pub fn pair(&mut self, key: &str, value: impl std::fmt::Display) {
        self.note(&format!("{key:<15} = {value}"));
    }

    /// A key of result.txt that only a verbosity of 2 or more asks for.
    pub fn detail(&mut self, key: &str, value: impl std::fmt::Display) {
        if self.verbosity > 1 {
            self.pair(key, value);
        }
    }

    /// A time of result.txt, which a verbosity of 0 leaves out.
    fn moment(&mut self, key: &str, unix_ns: u64) {
        if self.verbosity > 0 {
            self.pair(key, readable(unix_ns));
        }
    }

    /// A line of result_summary.txt that is printed too.
    fn say(&mut self, console: &mut Console, line: &str) {
        let line = format!("{line}\n");
        let _ = self.summary.write_all(line.as_bytes());
        console.print(&line);
    }

    /// Says that something is invalid.
    pub fn invalid(&mut self, console: &mut Console, reason: &str) {
        self.note(&format!("; ERROR INVALID {reason}"));
        console.print(&format!("ERROR INVALID {reason}\n"));
    }

    /// What stands before the first phase.
    pub fn header(&mut self, console: &mut Console, settings: &Settings, from_the_start: &[String], now_ns: u64) {
        let mode = if settings.extended { "extended" } else { "standard" };
        let version = concat!("ioassay-", env!("CARGO_PKG_VERSION"));
        let directory = self.directory.display().to_string();
        self.note(mark().trim_end());
        self.note(
            "; Phases, order and rules are those of IO500/io500 02091cf. There are no hashes: they vouch for that one.",
        );
        self.note("[run]");
        self.pair("procs", settings.ranks);
        self.pair("version", version);
        self.pair("result-dir", directory);
        self.pair("mode", mode);
        if self.verbosity > 0 {
            self.note(&format!("; START {}", readable(now_ns)));
        }
        self.say(console, mark().trim_end());
        self.say(console, &format!("IO500 version {version} ({mode})"));
        for reason in from_the_start {
            self.invalid(console, reason);
        }
        self.note("");
    }

    /// What stands in result.txt before the figures of a phase.
    pub fn begin_phase(&mut self, name: &str, started_unix_ns: u64, command: Option<&str>) {
        self.note(&format!("\n[{name}]"));
        self.moment("t_start", started_unix_ns);
        if let Some(command) = command {
            self.pair("exe", command);
        }
    }

    /// The figures of a phase, and its line.
    pub fn end_phase(&mut self, console: &mut Console, outcome: &Outcome, ended_unix_ns: u64) {
        for reason in &outcome.invalid {
            self.invalid(console, &format!("{}: {reason}", outcome.phase.name));
        }
        if outcome.phase.name != TIMESTAMP {
            self.pair("score", format!("{:.6}", outcome.score));
        }
        if self.verbosity > 0 {
            self.pair("t_delta", format!("{:.4}", outcome.seconds));
        }
        self.moment("t_end", ended_unix_ns);
        let line = line(outcome);
        self.say(console, &line);
    }

    /// The scores: standard, and extended where that list ran; each with whether it is valid.
    pub fn scores(&mut self, console: &mut Console, standard: (Scores, bool), extended: Option<(Scores, bool)>) {
        let lists = [("SCORE", "[SCORE ]", Some(standard)), ("SCOREX", "[SCOREX]", extended)];
        for (section, label, scores) in lists {
            let Some((scores, valid)) = scores else { continue };
            let invalid = if valid { "" } else { " [INVALID]" };
            let Scores { bandwidth, metadata } = scores;
            let total = scores.total();
            self.note(&format!("\n[{section}]"));
            self.pair("MD", format!("{metadata:.6}"));
            self.pair("BW", format!("{bandwidth:.6}"));
            self.pair("SCORE", format!("{total:.6}{invalid}"));
            let line = format!(
                "{label} Bandwidth {bandwidth:.6} GiB/s : IOPS {metadata:.6} kiops : TOTAL {total:.6}{invalid}"
            );
            self.say(console, &line);
        }
        console.print(&format!("\nThe result files are stored in the directory: {}\n", self.directory.display()));
    }

    /// The last line.
    pub fn end(&mut self, now_ns: u64) {
        if self.verbosity > 0 {
            self.note(&format!("; END {}", readable(now_ns)));
        }
    }
}

/// The line of a phase in result_summary.txt.
fn line(outcome: &Outcome) -> String {
    let label = if outcome.phase.group == Group::Unscored { "[      ]" } else { "[RESULT]" };
    let invalid = if outcome.invalid.is_empty() { "" } else { " [INVALID]" };
    let score = format!("{:.6}", outcome.score);
    let Outcome { phase, seconds, .. } = outcome;
    format!("{label} {:>20} {score:>15} {} : time {seconds:.3} seconds{invalid}", phase.name, phase.unit())
}

fn readable(unix_ns: u64) -> String {
    localtime::format((unix_ns / 1_000_000_000) as i64, "%Y-%m-%d %H:%M:%S")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io500::phases::PHASES;

    /// Lines of result_summary.txt of submission 744 and of io500 at 02091cf, numbers aside.
    #[test]
    fn lines_are_laid_out_as_the_official_ones() {
        let of = |name: &str, score, seconds, invalid: &[&str]| {
            let phase = PHASES.iter().find(|phase| phase.name == name).unwrap();
            line(&Outcome {
                phase,
                score,
                seconds,
                invalid: invalid.iter().map(|&text| text.to_owned()).collect(),
                failed: false,
            })
        };
        assert_eq!(
            of("ior-easy-write", 21.914_556, 413.1561, &[]),
            "[RESULT]       ior-easy-write       21.914556 GiB/s : time 413.156 seconds"
        );
        assert_eq!(
            of("timestamp", 0.0, 0.0016, &[]),
            "[      ]            timestamp        0.000000 kIOPS : time 0.002 seconds"
        );
        assert_eq!(
            of("mdtest-easy-write", 12.370_892, 1.8106, &["short"]),
            "[RESULT]    mdtest-easy-write       12.370892 kIOPS : time 1.811 seconds [INVALID]"
        );
        assert_eq!(
            of("ior-rnd4K-easy-read", 2.150_734, 1.2541, &[]),
            "[      ]  ior-rnd4K-easy-read        2.150734 GiB/s : time 1.254 seconds"
        );
    }
}
