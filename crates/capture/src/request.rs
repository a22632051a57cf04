//! What was asked, and where the record is to be.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ioassay_engine::failure::{about_path, on_path};
use ioassay_engine::launched::launcher;
use ioassay_protocol::events::Failure;
use jiff::{Timestamp, tz::TimeZone};

/// How calls are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Via {
    /// By a library that is loaded into each process (`LD_PRELOAD`).
    #[default]
    Preload,
    /// By `ptrace`; a seccomp filter has only calls that are counted stop.
    Ptrace,
    /// By `ptrace` without a filter: all system calls stop, and the command goes on if its tracer is killed.
    PtraceUnfiltered,
}

/// What to do where the record cannot be made.
pub(crate) const OTHER_PLACE: &str =
    "give another directory with --out: a new one, where you may write and there is space";

/// What was asked.
#[derive(Debug)]
pub struct Request {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// The record; by default `records/TIME-COMMAND`.
    pub out: Option<PathBuf>,
    /// Where tables lie while processes run; by default in the system's temporary directory.
    pub tables: Option<PathBuf>,
    /// End the command when the process that started this one ends.
    pub stop_with_parent: bool,
    /// Keep every call too.
    pub trace: bool,
    /// Look where calls come from, too.
    pub stacks: bool,
    /// What an agent is asked that watches the command, a file.
    pub watch: Option<PathBuf>,
    /// Take rules from an agent that comes later.
    pub takes_rules: bool,
    /// How calls are seen.
    pub via: Via,
}

impl Request {
    /// Makes the directory of the record: a new one, or one within `out` for each process that a launcher has started.
    ///
    /// # Errors
    /// If there is one, or it cannot be made.
    pub fn make_directory(&self) -> Result<PathBuf, Failure> {
        let (out, rank) = self.directory();
        let (within, name) = match (&rank, out.file_name()) {
            (Some(rank), _) => (out.as_path(), Path::new(rank)),
            (None, Some(name)) => (out.parent().unwrap_or(Path::new("")), Path::new(name)),
            (None, None) => return Err(exists(&out)),
        };
        if within != Path::new("") {
            fs::create_dir_all(within).map_err(|error| cannot_create(within, &error))?;
        }
        // Two commands of the same name may be recorded in the same second.
        let names = std::iter::once(name.to_owned())
            .chain((2..100).filter(|_| self.out.is_none()).map(|number| format!("{}-{number}", name.display()).into()));
        for new in names.map(|name| within.join(name)) {
            match fs::create_dir(&new) {
                Ok(()) => return fs::canonicalize(&new).map_err(|error| on_path("find", &new, &error)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(cannot_create(&new, &error)),
            }
        }
        Err(exists(&within.join(name)))
    }

    /// The directory that all processes of a launcher have in common: that of the record, or the one above it.
    pub fn common_directory(&self, directory: &Path) -> PathBuf {
        match self.directory() {
            (_, Some(_)) => directory.parent().unwrap_or(directory).to_owned(),
            (_, None) => directory.to_owned(),
        }
    }

    /// The directory, and within it that of this process, if a launcher has started several.
    fn directory(&self) -> (PathBuf, Option<String>) {
        let launcher = launcher::of_this_process().filter(|launcher| launcher.size > 1);
        let rank = launcher.and_then(|launcher| launcher.rank).map(|rank| format!("rank-{rank:05}"));
        let out = match &self.out {
            Some(out) => out.clone(),
            None => Path::new("records").join(match (&rank, job()) {
                (Some(_), Some(job)) => job,
                _ => format!("{}-{}", now(), self.name()),
            }),
        };
        (out, rank)
    }

    /// What the command is called: its file name, of letters that every file system takes.
    fn name(&self) -> String {
        let program = self.command.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
        let name: String = program.to_string_lossy().chars().filter(|letter| letter.is_ascii_alphanumeric()).collect();
        if name.is_empty() { "command".to_owned() } else { name.chars().take(32).collect() }
    }
}

fn exists(path: &Path) -> Failure {
    let what = format!("{} exists; a record is a new directory", path.display());
    about_path("create", path, what, "give another one with --out, or remove it")
}

fn cannot_create(path: &Path, error: &io::Error) -> Failure {
    Failure { remedy: OTHER_PLACE.to_owned(), ..on_path("create", path, error) }
}

/// The scheduler's job, for all of whose processes the directory must be the same.
fn job() -> Option<String> {
    let variable =
        |name: &str| std::env::var(name).ok().filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
    Some(match (variable("SLURM_JOB_ID"), variable("SLURM_STEP_ID")) {
        (Some(job), Some(step)) => format!("job-{job}.{step}"),
        (Some(job), None) => format!("job-{job}"),
        _ => return None,
    })
}

/// Now, as names of stored directories begin.
fn now() -> String {
    Timestamp::now().to_zoned(TimeZone::system()).strftime("%Y%m%d-%H%M%S").to_string()
}
