//! Recorders that told the agent where their tables are, and leave again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ioassay_protocol::watch::registration::{AGENT, HOLDS, LEAVING, Registration};

/// More bytes are no registration.
const MOST_BYTES: u64 = 16 << 10;
/// Registrations that are looked at.
const MOST: usize = 4096;

/// The directory of registrations, which this agent serves.
#[derive(Debug)]
pub struct Registrations {
    path: PathBuf,
    lock: Option<File>,
}

/// What the registrations say now.
#[derive(Debug, Default)]
pub struct Registered {
    /// Those that hold: name and content.
    pub holding: Vec<(String, Registration)>,
    /// Names of those that are about to go.
    pub leaving: Vec<String>,
}

impl Registrations {
    /// Serves a directory, which belongs to this user and nobody else can write to.
    ///
    /// # Errors
    /// If it is not such a directory, or another agent serves it (`WouldBlock`).
    pub fn serve(path: &Path) -> io::Result<Self> {
        let about = fs::symlink_metadata(path)?;
        if !about.is_dir() || about.uid() != nix::unistd::geteuid().as_raw() || about.mode() & 0o077 != 0 {
            return Err(io::Error::other("it is no directory of this user's that is closed to others (mode 0700)"));
        }
        let mut registrations = Self { path: path.to_owned(), lock: None };
        registrations.lock()?;
        Ok(registrations)
    }

    fn lock(&mut self) -> io::Result<()> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(self.path.join(AGENT))?;
        // SAFETY: it takes numbers.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == -1 {
            return Err(io::Error::last_os_error());
        }
        self.lock = Some(file);
        Ok(())
    }

    /// What they say now.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn look(&self) -> io::Result<Registered> {
        let mut registered = Registered::default();
        for entry in fs::read_dir(&self.path)?.take(MOST) {
            let path = entry?.path();
            let Some(name) = path.file_stem().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
            match path.extension().and_then(|extension| extension.to_str()) {
                Some(HOLDS) => registered.holding.extend(read(&path).map(|registration| (name, registration))),
                Some(LEAVING) => registered.leaving.push(name),
                _ => {}
            }
        }
        Ok(registered)
    }

    /// Lets one go that is about to leave: the agent has looked at its tables for the last time.
    pub fn let_go(&self, name: &str) {
        let _ = fs::remove_file(self.path.join(format!("{name}.{LEAVING}")));
    }

    /// Whether the agent may end, because nobody is registered: from now on those who come start another one.
    pub fn end_if_empty(&mut self) -> bool {
        let is_empty = |found: &Registered| found.holding.is_empty() && found.leaving.is_empty();
        if !self.look().is_ok_and(|found| is_empty(&found)) {
            return false;
        }
        self.lock = None;
        // Whoever registered before the lock was free has seen that there is an agent.
        if self.look().is_ok_and(|found| is_empty(&found)) {
            let _ = fs::remove_file(self.path.join(AGENT));
            let _ = fs::remove_dir(&self.path);
            return true;
        }
        // Unless that one has started another agent meanwhile.
        self.lock().is_err()
    }
}

fn read(path: &Path) -> Option<Registration> {
    let mut text = Vec::new();
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path).ok()?;
    file.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn place() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o700)).unwrap();
        place
    }

    fn register(place: &Path, name: &str) {
        let registration = Registration { tables: PathBuf::from("/t"), job: name.to_owned() };
        fs::write(place.join(format!("{name}.json")), serde_json::to_vec(&registration).unwrap()).unwrap();
    }

    #[test]
    fn the_agent_goes_when_all_have_left_and_nothing_remains() {
        let place = place();
        let mut served = Registrations::serve(place.path()).unwrap();
        register(place.path(), "a");
        fs::write(place.path().join("b.json"), "nonsense").unwrap();
        let found = served.look().unwrap();
        assert_eq!(found.holding.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a"]);
        assert!(!served.end_if_empty());
        fs::remove_file(place.path().join("b.json")).unwrap();
        fs::rename(place.path().join("a.json"), place.path().join("a.leaving")).unwrap();
        assert_eq!(served.look().unwrap().leaving, ["a"]);
        assert!(!served.end_if_empty());
        served.let_go("a");
        assert!(served.end_if_empty());
        assert!(!place.path().exists());
    }

    #[test]
    fn there_is_one_agent_for_a_directory_that_is_closed_to_others() {
        let place = place();
        let first = Registrations::serve(place.path()).unwrap();
        assert_eq!(Registrations::serve(place.path()).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(first);
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(Registrations::serve(place.path()).unwrap_err().to_string().contains("0700"));
    }
}
