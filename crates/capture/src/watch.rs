//! The agent that watches the command: that of the record, or that of the node.
//!
//! Those who record the same with an agent of their own find each other by a directory in the temporary one, and the
//! first of them starts the agent. It ends by itself when all have left. Others are watched where an agent of the node
//! takes registrations. A job goes on whatever becomes of either.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ioassay_engine::failure::on_path;
use ioassay_engine::stdio::say;
use ioassay_host::locks;
use ioassay_protocol::events::Failure;
use ioassay_protocol::watch::registration::{AGENT, Agent, HOLDS, LEAVING, OF_NODE, OF_NODE_VARIABLE, Registration};
use ioassay_protocol::watch::setup::{Setup, Tables};
use ioassay_record::rules;
use sha2::{Digest, Sha256};

use crate::request::Request;

/// The folder of a record that says how it is watched.
const FOLDER: &str = "watch";
const SETUP: &str = "agent.json";
const CONTRACT: &str = "contract.json";
/// Where agents of several nodes share out what rules allow to all of them, unless the setup names another place.
const SHARE: &str = "limits";
/// The agent's program, beside this one; this variable names another.
const PROGRAM: &str = "ioassay-agent";
const PROGRAM_VARIABLE: &str = "IOASSAY_AGENT";
/// What the agent may take to begin, and to look for the last time.
const PATIENCE: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The directory in which recorders register with the agent of this node, if one is there that can be trusted.
pub fn node_registrations() -> Option<PathBuf> {
    let path = std::env::var_os(OF_NODE_VARIABLE).map_or_else(|| OF_NODE.into(), PathBuf::from);
    let about = fs::symlink_metadata(&path).ok()?;
    let is_trusted = about.uid() == 0 || about.uid() == nix::unistd::geteuid().as_raw();
    (about.is_dir() && is_trusted && serving(&path).is_some()).then_some(path)
}

/// What the agent does that serves a directory of registrations, if there is one.
fn serving(registrations: &Path) -> Option<Agent> {
    let file = File::open(registrations.join(AGENT)).ok()?;
    locks::holder(&file).ok()??;
    serde_json::from_reader(file).ok()
}

/// That the command is watched.
#[derive(Debug)]
pub struct Watch {
    registrations: PathBuf,
    name: String,
    /// The lock on it says that this process lives.
    registration: File,
    /// What the agent of the record has to say is there.
    log: Option<PathBuf>,
    /// What the agent of the record was asked.
    setup: PathBuf,
    /// An agent looks at the tables, as far as is known.
    is_watched: bool,
}

impl Watch {
    /// Registers the tables, and starts an agent if there is none.
    ///
    /// # Errors
    /// If the setup cannot be read, or the record not be written. An agent that does not begin is reported, and no error.
    pub fn begin(setup: &Path, request: &Request, tables: &Path, record: &Path) -> Result<Self, Failure> {
        let common = request.common_directory(record);
        let folder = common.join(FOLDER);
        keep(setup, &folder)?;
        let registrations = meeting_place(&common).map_err(|error| on_path("create", &common, &error))?;
        let mut watch = Self::register(registrations, job(&common), tables)?;
        watch.setup = folder.join(SETUP);
        let log = folder.join(format!("agent-{}.log", ioassay_host::host_name()));
        let begun = watch.start_agent(&log).and_then(|()| watch.wait_for_agent(tables));
        if let Err(error) = begun {
            say!("ioassay-engine: nobody watches the command: {error}");
            say_log(&log);
            watch.is_watched = false;
        }
        watch.log = Some(log);
        Ok(watch)
    }

    /// Registers the tables with the agent of the node.
    ///
    /// # Errors
    /// If that cannot be done. An agent that does not look is reported, and no error.
    pub fn join(node: PathBuf, request: &Request, tables: &Path, record: &Path) -> Result<Self, Failure> {
        let mut watch = Self::register(node, job(&request.common_directory(record)), tables)?;
        if let Err(error) = watch.wait_for_agent(tables) {
            say!("ioassay-engine: the agent of this node does not watch the command: {error}");
            watch.is_watched = false;
        }
        Ok(watch)
    }

    fn register(registrations: PathBuf, job: String, tables: &Path) -> Result<Self, Failure> {
        let about = |error: io::Error| on_path("register in", &registrations, &error);
        let mut file = tempfile::Builder::new().prefix("").suffix(".new").tempfile_in(&registrations).map_err(about)?;
        locks::lock_for_process(file.as_file()).map_err(about)?;
        let registration = Registration { tables: tables.to_owned(), job };
        file.write_all(&serde_json::to_vec(&registration).expect("a document of plain values")).map_err(about)?;
        let name = file.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let path = registrations.join(format!("{name}.{HOLDS}"));
        let registration = file.persist(path).map_err(|error| about(error.error))?;
        Ok(Self { registrations, name, registration, log: None, setup: PathBuf::new(), is_watched: true })
    }

    /// Starts an agent, unless one is there. Several that are started at the same time agree which goes on.
    fn start_agent(&self, log: &Path) -> io::Result<()> {
        if serving(&self.registrations).is_some() {
            return Ok(());
        }
        let log = OpenOptions::new().create(true).append(true).mode(0o644).open(log)?;
        let mut command = Command::new(program());
        command.arg(&self.setup).arg("--registrations").arg(&self.registrations);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).current_dir("/");
        // It watches others too, so it is no child of ours: neither our terminal nor our end is its own.
        // SAFETY: these functions may be called between `fork` and `exec`.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                match libc::fork() {
                    -1 => Err(io::Error::last_os_error()),
                    0 => Ok(()),
                    _ => libc::_exit(0),
                }
            });
        }
        let about = |error: io::Error| io::Error::other(format!("{}: {error}", program().display()));
        command.spawn().map_err(about)?.wait()?;
        Ok(())
    }

    /// Waits until the agent has begun and, where there are rules, given them to the recorders.
    fn wait_for_agent(&self, tables: &Path) -> io::Result<()> {
        // Calls that are seen by ptrace are not held to rules, and there is no file of them.
        let rules = tables.join(rules::NAME);
        let takes_rules = rules.exists();
        let are_given = || {
            let mut generation = [0; 8];
            let file = File::open(&rules).and_then(|file| file.read_exact_at(&mut generation, rules::GENERATION_AT));
            file.is_ok() && generation != [0; 8]
        };
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if serving(&self.registrations).is_some_and(|agent| !agent.gives_rules || !takes_rules || are_given()) {
                return Ok(());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let is_served = serving(&self.registrations).is_some();
        let reason = if is_served { "its rules are not in force" } else { "the agent does not begin" };
        Err(io::Error::new(io::ErrorKind::TimedOut, reason))
    }

    /// Starts an agent again where that of the record ended before the command: it delivers what the first had not, and looks at the
    /// tables for the last time.
    fn replace_agent(&self) {
        let Some(log) = self.log.as_ref().filter(|_| self.is_watched && serving(&self.registrations).is_none()) else {
            return;
        };
        say!("ioassay-engine: the agent ended before the command, which nobody watched and held since");
        if let Err(error) = self.start_agent(log) {
            say!("ioassay-engine: no other can be started: {error}");
            return;
        }
        let until = Instant::now() + PATIENCE;
        while serving(&self.registrations).is_none() && Instant::now() < until {
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Leaves, once the agent has read the tables for the last time.
    pub fn end(self) {
        self.replace_agent();
        let leaving = self.registrations.join(format!("{}.{LEAVING}", self.name));
        let holds = self.registrations.join(format!("{}.{HOLDS}", self.name));
        // Where it has gone, the agent of the node ended before us.
        if fs::rename(&holds, &leaving).is_err() {
            return;
        }
        let until = Instant::now() + PATIENCE;
        while leaving.exists() && serving(&self.registrations).is_some() && Instant::now() < until {
            std::thread::sleep(POLL_INTERVAL);
        }
        if fs::remove_file(&leaving).is_ok() && self.is_watched {
            say!("ioassay-engine: the agent did not look at the last second");
        }
        drop(self.registration);
        let Some(log) = &self.log else { return };
        // Where no agent is left that would.
        if serving(&self.registrations).is_none() {
            let _ = fs::remove_file(self.registrations.join(AGENT));
            let _ = fs::remove_dir(&self.registrations);
        }
        if self.is_watched {
            say_log(log);
        }
    }
}

/// What the agent had to say.
fn say_log(log: &Path) {
    let text = fs::read_to_string(log).unwrap_or_default();
    let mut lines = text.lines();
    for line in lines.by_ref().take(5) {
        say!("{line}");
    }
    let more = lines.count();
    if more > 0 {
        say!("ioassay-engine: {more} lines more in {}", log.display());
    }
}

/// What the processes of a record are called where they belong to no scheduler's job.
fn job(common: &Path) -> String {
    common.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Keeps setup and contract in the record, where the contract may be replaced while the command runs.
fn keep(setup: &Path, folder: &Path) -> Result<(), Failure> {
    let text = fs::read(setup).map_err(|error| on_path("read", setup, &error))?;
    let unfit = |error: serde_json::Error| on_path("read", setup, &io::Error::other(error));
    let mut kept: Setup = serde_json::from_slice(&text).map_err(unfit)?;
    kept.tables = Tables::Registered;
    fs::create_dir_all(folder).map_err(|error| on_path("create", folder, &error))?;
    if let Some(contract) = &kept.contract {
        let text = fs::read(contract).map_err(|error| on_path("read", contract, &error))?;
        write_once(&folder.join(CONTRACT), &text)?;
        kept.contract = Some(folder.join(CONTRACT));
        kept.share.get_or_insert_with(|| folder.join(SHARE));
    }
    write_once(&folder.join(SETUP), &serde_json::to_vec_pretty(&kept).expect("a document of plain values"))
}

/// Writes a file that is whole as soon as it is there, unless another process was first.
fn write_once(path: &Path, text: &[u8]) -> Result<(), Failure> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let written = tempfile::NamedTempFile::new_in(directory).and_then(|mut file| {
        file.write_all(text)?;
        match file.persist_noclobber(path) {
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
            _ => Ok(()),
        }
    });
    written.map_err(|error| on_path("write", path, &error))
}

/// The directory in which all that record the same on this node find each other: this user's, and closed to others.
fn meeting_place(common: &Path) -> io::Result<PathBuf> {
    let user = nix::unistd::geteuid();
    let digest = Sha256::digest(common.as_os_str().as_bytes());
    let mut name = format!("ioassay-watch-{user}-");
    for byte in &digest[..8] {
        write!(name, "{byte:02x}").expect("a string takes all");
    }
    let path = std::env::temp_dir().join(name);
    match fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let about = fs::symlink_metadata(&path)?;
    if !about.is_dir() || about.uid() != user.as_raw() || about.mode() & 0o077 != 0 {
        let what = format!("{} is not this user's own directory, closed to others", path.display());
        return Err(io::Error::other(what));
    }
    Ok(path)
}

/// The agent's program: the one that was named, the one beside this program, or one of the search path.
fn program() -> PathBuf {
    let beside = || std::env::current_exe().ok()?.parent().map(|directory| directory.join(PROGRAM));
    std::env::var_os(PROGRAM_VARIABLE)
        .map(PathBuf::from)
        .or_else(|| beside().filter(|path| path.is_file()))
        .unwrap_or_else(|| PROGRAM.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_record_the_same_meet_at_the_same_place_which_is_closed_to_others() {
        let record = tempfile::tempdir().unwrap();
        let place = meeting_place(record.path()).unwrap();
        assert_eq!(meeting_place(record.path()).unwrap(), place);
        assert_ne!(meeting_place(&record.path().join("other")).unwrap(), place);
        assert_eq!(fs::metadata(&place).unwrap().mode() & 0o777, 0o700);
        fs::remove_dir(&place).unwrap();
        fs::remove_dir(meeting_place(&record.path().join("other")).unwrap()).unwrap();
    }

    #[test]
    fn the_first_setup_is_kept_and_its_contract_is_that_of_the_record() {
        let place = tempfile::tempdir().unwrap();
        let (setup, contract, folder) =
            (place.path().join("s.json"), place.path().join("c.json"), place.path().join("record/watch"));
        fs::write(&contract, "rules").unwrap();
        let text = format!(
            r#"{{"version":2,"tables":"node","node":true,"contract":{contract:?},"run":null,"sinks":[],"spool":null}}"#
        );
        fs::write(&setup, text).unwrap();
        keep(&setup, &folder).unwrap();
        fs::write(&contract, "others").unwrap();
        keep(&setup, &folder).unwrap();
        assert_eq!(fs::read_to_string(folder.join(CONTRACT)).unwrap(), "rules");
        let kept: Setup = serde_json::from_slice(&fs::read(folder.join(SETUP)).unwrap()).unwrap();
        assert_eq!((kept.tables, kept.contract), (Tables::Registered, Some(folder.join(CONTRACT))));
        assert_eq!(kept.share, Some(folder.join(SHARE)));
    }
}
