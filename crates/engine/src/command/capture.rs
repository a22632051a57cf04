//! `ioassay-engine capture`: collects what tuning needs to know of this node into one archive.
//!
//! Processes of their own look at the target and collect, because either may hang in a file system that does not respond;
//! this process only writes the archive. So it can do without the guard, which would hide from it that a reader has gone.
//!
//! Not here: what is collected ([`ioassay_host::snapshot`]).

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ioassay_host::clock::Clock;
use ioassay_host::environment;
use ioassay_host::snapshot::{self, Programs};
use ioassay_protocol::environment::Environment;
use ioassay_protocol::events::Failure;
use ioassay_units::Nanoseconds;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

use crate::exit::Exit;
use crate::failure;
use crate::supervise::in_child::{Unanswered, in_child};
use crate::survey::path_timeout;

/// What stands for standard output.
const STANDARD_OUTPUT: &str = "-";

/// How long the target may take to answer.
const TARGET_LIMIT: Duration = Duration::from_secs(10);

/// How long collecting may take, commands with time limits of their own included.
const LIMIT: Duration = Duration::from_secs(60);

/// Writes a snapshot of this node to the new file `out`, or to standard output for `-`.
pub fn capture(target: Option<&Path>, out: &Path) -> Exit {
    captured(target, out).map_or_else(Exit::could_not_run, |()| Exit::default())
}

fn captured(target: Option<&Path>, out: &Path) -> Result<(), Failure> {
    let is_file = out != Path::new(STANDARD_OUTPUT);
    if is_file && out.symlink_metadata().is_ok() {
        return Err(exists(out));
    }
    let target = target.map(|target| std::path::absolute(target).unwrap_or_else(|_| target.to_owned()));
    let archive = collect(target.as_deref())?;
    if is_file {
        return NewFile::create(out)?.keep(&archive);
    }
    write_all(io::stdout().as_fd(), &archive)
        .map_err(|error| Failure { path: None, ..cannot_write(Path::new("standard output"), &error) })
}

/// The archive.
fn collect(target: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let (environment, target_problem) = look(target);
    let work = || {
        let request = snapshot::Request {
            root: Path::new("/"),
            target,
            target_problem,
            environment,
            programs: Programs::of_this_node(),
            engine_version: env!("CARGO_PKG_VERSION"),
        };
        let mut archive = Vec::new();
        snapshot::take(request).write(&mut archive).map(|()| archive).unwrap_or_default()
    };
    in_child(LIMIT, work).map_err(|unanswered| match unanswered {
        Unanswered::Hanging { waited, call } => {
            let place = call.as_ref().and_then(|call| call.path.clone());
            let call = call.map_or_else(|| "collecting".to_owned(), |call| format!("the system call {}", call.name));
            let on = place.map_or_else(String::new, |path| format!(" on {}", path.display()));
            let waited = Nanoseconds(waited.as_nanos() as u64).about();
            let message = format!("the capture was stopped after {waited}: {call}{on} hangs");
            failure::plain("capture", message, "check the mount that it is on, and read the kernel log (dmesg)")
        }
        Unanswered::Failed(error) => {
            failure::because_of(&error, "capture", "the node cannot be captured", failure::START_REMEDY)
        }
    })
}

/// The node with the target, and what is wrong with that.
fn look(target: Option<&Path>) -> (Environment, Option<String>) {
    let without = || environment::of_this_node(None, &Clock::calibrated());
    let Some(target) = target else { return (without(), None) };
    let work = || {
        let problem = fs::metadata(target).err().map(|error| snapshot::reason(&error));
        let environment = environment::of_this_node(Some(target), &Clock::calibrated());
        serde_json::to_vec(&(environment, problem)).unwrap_or_default()
    };
    match in_child(TARGET_LIMIT, work) {
        Ok(answer) => serde_json::from_slice(&answer).unwrap_or_else(|error| (without(), Some(error.to_string()))),
        Err(Unanswered::Failed(error)) => (without(), Some(error.to_string())),
        Err(Unanswered::Hanging { waited, call }) => {
            let silence = path_timeout::silence(target, waited, call.as_ref().map(|call| call.name.as_str()));
            (without(), Some(format!("no response for {silence}")))
        }
    }
}

/// A file that gets its name when all is written, and that is removed otherwise.
struct NewFile<'a> {
    out: &'a Path,
    temporary: PathBuf,
    file: File,
}

impl<'a> NewFile<'a> {
    /// # Errors
    /// If no file can be created there.
    fn create(out: &'a Path) -> Result<Self, Failure> {
        let Some(name) = out.file_name() else {
            return Err(cannot_write(out, &io::ErrorKind::InvalidInput.into()));
        };
        let temporary = out.with_file_name(format!(".{}.{}.new", name.to_string_lossy(), std::process::id()));
        let file = File::options().write(true).create_new(true).mode(0o600).open(&temporary);
        let file = file.map_err(|error| cannot_write(out, &error))?;
        Ok(Self { out, temporary, file })
    }

    fn keep(self, bytes: &[u8]) -> Result<(), Failure> {
        let written = write_all(self.file.as_fd(), bytes).and_then(|()| self.file.sync_all());
        written.map_err(|error| cannot_write(self.out, &error))?;
        rename_to_new(&self.temporary, self.out).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(self.out),
            _ => cannot_write(self.out, &error),
        })
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        // It has its own name by now where all went well.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Renames a file to a name that no file has.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE) {
        // Some network file systems only have the old call.
        Err(nix::errno::Errno::EINVAL | nix::errno::Errno::ENOSYS) => fs::hard_link(from, to),
        result => Ok(result?),
    }
}

fn write_all(to: impl AsFd, bytes: &[u8]) -> io::Result<()> {
    // Not by the standard library's buffer, which takes what a closed standard output refuses.
    let mut file = File::from(to.as_fd().try_clone_to_owned()?);
    file.write_all(bytes)
}

fn exists(out: &Path) -> Failure {
    let message = format!("{} exists; a snapshot is a new file", out.display());
    failure::about_path("create", out, message, "give another name with --out, or remove it")
}

fn cannot_write(out: &Path, error: &io::Error) -> Failure {
    let remedy = match error.kind() {
        io::ErrorKind::BrokenPipe => "keep the reader until the end of the archive, or write to a file (--out FILE)",
        io::ErrorKind::NotFound => "create its directory, or give another name with --out",
        _ => "free space where it is written, or give another name with --out",
    };
    Failure { remedy: remedy.to_owned(), ..failure::on_path("write", out, error) }
}
