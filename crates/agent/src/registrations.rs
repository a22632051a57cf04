//! Registrations of recorders: they tell the agent where their tables are, and leave again.
//!
//! They may be those of one user, who started the agent, or of all users of the node. What users write is not trusted: which process
//! has registered, and that it lives, the kernel says.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ioassay_host::locks::{self, Holder};
use ioassay_protocol::watch::registration::{AGENT, Agent, HOLDS, LEAVING, Registration};
use ioassay_protocol::watch::setup::{Setup, Tables};

use crate::tables::directory::Directory;

/// More bytes are no registration.
const MOST_BYTES: u64 = 16 << 10;
/// Registrations that are read.
const MOST: usize = 4096;
/// The file by which the agents of a node exclude each other. Users cannot open it, and so not lock it either.
const EXCLUSION: &str = "agent.lock";

/// Who may register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registrants {
    /// The user of the agent alone. The directory is there, with mode 0700.
    User,
    /// All users of the node. The directory is made, with mode 1733: each can add files, and remove only their own.
    Node,
}

/// The directory of registrations, which this agent serves.
#[derive(Debug)]
pub struct Registrations {
    path: PathBuf,
    registrants: Registrants,
    serves: Agent,
    locked: Vec<File>,
}

/// What the registrations say now.
#[derive(Debug, Default)]
pub struct Registered {
    /// Those that hold, by name, and who holds them.
    pub holding: BTreeMap<String, Holder>,
    /// Names of those that are about to go, and of those whose process has gone without a word.
    pub leaving: Vec<String>,
}

impl Registrations {
    /// Serves a directory, which belongs to this user.
    ///
    /// # Errors
    /// With its path: if it is not such a directory, or another agent serves it (`WouldBlock`).
    pub fn serve(path: &Path, setup: &Setup) -> io::Result<Self> {
        let registrants = if setup.tables == Tables::Node { Registrants::Node } else { Registrants::User };
        let serves = Agent { gives_rules: setup.contract.is_some() };
        let mut registrations = Self { path: path.to_owned(), registrants, serves, locked: Vec::new() };
        let about = |error: io::Error| {
            let reason = match error.kind() {
                io::ErrorKind::WouldBlock => "another agent serves it".to_owned(),
                _ => error.to_string(),
            };
            io::Error::new(error.kind(), format!("the directory of registrations {}: {reason}", path.display()))
        };
        registrations.prepare().and_then(|()| registrations.lock()).map_err(about)?;
        Ok(registrations)
    }

    /// Makes the directory where that is not the user's part, and looks whether it is as it must be.
    fn prepare(&self) -> io::Result<()> {
        if self.registrants == Registrants::Node {
            make_open_to_all(&self.path)?;
        }
        let about = fs::symlink_metadata(&self.path)?;
        let is_own = about.is_dir() && about.uid() == nix::unistd::geteuid().as_raw();
        let mode = about.mode() & 0o7777;
        let (is_fit, wanted) = match self.registrants {
            Registrants::User => (mode & 0o077 == 0, 0o700),
            Registrants::Node => (mode == OPEN_TO_ALL, OPEN_TO_ALL),
        };
        if is_own && is_fit {
            return Ok(());
        }
        let user = nix::unistd::geteuid();
        Err(io::Error::other(format!("it has to be a directory of user {user} with mode {wanted:04o}")))
    }

    fn lock(&mut self) -> io::Result<()> {
        let lock = |name: &str, mode: u32| {
            let mut options = OpenOptions::new();
            options.create(true).truncate(false).write(true).mode(mode).custom_flags(libc::O_NOFOLLOW);
            let mut file = options.open(self.path.join(name))?;
            locks::lock(&file)?;
            file.set_len(0)?;
            serde_json::to_writer(&mut file, &self.serves)?;
            file.flush()?;
            Ok::<_, io::Error>(file)
        };
        self.locked = match self.registrants {
            Registrants::User => vec![lock(AGENT, 0o600)?],
            Registrants::Node => {
                let exclusion = lock(EXCLUSION, 0o600)?;
                // Users can lock what they can read: it is locked before it has its name.
                let new = format!("{AGENT}.new");
                let _ = fs::remove_file(self.path.join(&new));
                let seen = lock(&new, 0o644)?;
                seen.set_permissions(Permissions::from_mode(0o644))?;
                fs::rename(self.path.join(&new), self.path.join(AGENT))?;
                vec![exclusion, seen]
            }
        };
        Ok(())
    }

    /// Who may register.
    pub fn registrants(&self) -> Registrants {
        self.registrants
    }

    /// What they say now: nothing, where the directory was removed.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn look(&self) -> io::Result<Registered> {
        let mut registered = Registered::default();
        let directory = match Directory::of_path(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(registered),
            opened => opened?,
        };
        for entry in fs::read_dir(&self.path)?.take(MOST) {
            let path = entry?.path();
            let (Some(file), Some(name)) = (path.file_name(), path.file_stem().and_then(OsStr::to_str)) else {
                continue;
            };
            match path.extension().and_then(OsStr::to_str) {
                Some(HOLDS) => match directory.open(file).and_then(|opened| locks::holder(&opened.file)) {
                    Ok(Some(holder)) => {
                        registered.holding.insert(name.to_owned(), holder);
                    }
                    // It was renamed meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    _ => registered.leaving.push(name.to_owned()),
                },
                Some(LEAVING) => registered.leaving.push(name.to_owned()),
                _ => {}
            }
        }
        Ok(registered)
    }

    /// What a registration that holds says.
    ///
    /// # Errors
    /// If it has gone, or is none.
    pub fn read(&self, name: &str) -> io::Result<Registration> {
        let mut text = Vec::new();
        let opened = Directory::of_path(&self.path)?.open(OsStr::new(&format!("{name}.{HOLDS}")))?;
        opened.file.take(MOST_BYTES).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Lets one go: the agent has read its tables for the last time.
    pub fn release(&self, name: &str) {
        for extension in [LEAVING, HOLDS] {
            let _ = fs::remove_file(self.path.join(format!("{name}.{extension}")));
        }
    }

    /// Whether the agent may end, because no recorder of its user is registered: from now on those who come start another one.
    pub fn end_if_empty(&mut self) -> bool {
        let is_empty = |registered: &Registered| registered.holding.is_empty() && registered.leaving.is_empty();
        if self.registrants == Registrants::Node || !self.look().is_ok_and(|registered| is_empty(&registered)) {
            return false;
        }
        self.locked.clear();
        // A recorder that registered before the lock was free has seen that there is an agent.
        if self.look().is_ok_and(|registered| is_empty(&registered)) {
            let _ = fs::remove_file(self.path.join(AGENT));
            let _ = fs::remove_dir(&self.path);
            return true;
        }
        // Unless that one has started another agent meanwhile.
        self.lock().is_err()
    }
}

/// Mode of a directory in which all may write, and only owners remove.
const OPEN_TO_ALL: u32 = 0o1733;

fn make_open_to_all(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
    }
    match fs::create_dir(path) {
        // Whatever the mask of this process is.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(OPEN_TO_ALL)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_protocol::VERSION;
    use std::os::unix::fs::symlink;

    fn setup(tables: Tables) -> Setup {
        Setup {
            version: VERSION,
            tables,
            node: false,
            servers: None,
            contract: None,
            share: None,
            run: None,
            sinks: vec![],
            spool: None,
        }
    }

    fn place() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o700)).unwrap();
        place
    }

    /// Registers, for as long as the file is open.
    fn register(place: &Path, name: &str) -> File {
        let registration = Registration { tables: PathBuf::from("/t"), job: name.to_owned() };
        let path = place.join(format!("{name}.json"));
        fs::write(&path, serde_json::to_vec(&registration).unwrap()).unwrap();
        let file = OpenOptions::new().write(true).open(path).unwrap();
        locks::lock(&file).unwrap();
        file
    }

    #[test]
    fn the_agent_goes_when_all_have_left_and_nothing_remains() {
        let place = place();
        let mut served = Registrations::serve(place.path(), &setup(Tables::Registered)).unwrap();
        let _held = register(place.path(), "a");
        let registered = served.look().unwrap();
        assert_eq!(registered.holding.into_iter().collect::<Vec<_>>(), [("a".to_owned(), Holder::Unknown)]);
        assert_eq!(served.read("a").unwrap().job, "a");
        assert!(!served.end_if_empty());
        fs::rename(place.path().join("a.json"), place.path().join("a.leaving")).unwrap();
        assert_eq!(served.look().unwrap().leaving, ["a"]);
        assert!(!served.end_if_empty());
        served.release("a");
        assert!(served.end_if_empty());
        assert!(!place.path().exists());
    }

    #[test]
    fn a_process_that_was_killed_does_not_hold_its_registration() {
        let place = place();
        let mut served = Registrations::serve(place.path(), &setup(Tables::Registered)).unwrap();
        let held = register(place.path(), "a");
        assert!(served.look().unwrap().leaving.is_empty());
        drop(held);
        assert_eq!(served.look().unwrap().leaving, ["a"]);
        served.release("a");
        assert!(served.end_if_empty());
    }

    #[test]
    fn an_agent_whose_directory_was_removed_ends() {
        let place = place();
        let mut served = Registrations::serve(place.path(), &setup(Tables::Registered)).unwrap();
        let _held = register(place.path(), "a");
        fs::remove_dir_all(place.path()).unwrap();
        assert!(served.look().unwrap().holding.is_empty());
        assert!(served.end_if_empty());
    }

    #[test]
    fn what_users_put_into_the_directory_of_a_node_is_neither_followed_nor_waited_for() {
        let place = place();
        let path = place.path().join("run/registrations");
        let served = Registrations::serve(&path, &setup(Tables::Node)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o1733);
        nix::unistd::mkfifo(&path.join("pipe.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        symlink("/etc/passwd", path.join("link.json")).unwrap();
        fs::create_dir(path.join("directory.json")).unwrap();
        let _held = register(&path, "a");
        let _long = register(&path, "b");
        fs::write(path.join("b.json"), vec![b' '; MOST_BYTES as usize + 1]).unwrap();
        let registered = served.look().unwrap();
        assert_eq!(registered.holding.into_keys().collect::<Vec<_>>(), ["a", "b"]);
        for name in &registered.leaving {
            served.release(name);
        }
        assert!(served.read("a").is_ok() && served.read("b").is_err());
        let left: BTreeMap<_, _> = fs::read_dir(&path).unwrap().map(|entry| (entry.unwrap().file_name(), ())).collect();
        // Nobody but the user could have made the directory, which stays.
        let expected = ["a.json", "agent", "agent.lock", "b.json", "directory.json"];
        assert_eq!(left.into_keys().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_user_who_locks_what_he_can_read_keeps_no_agent_from_beginning() {
        let place = place();
        let path = place.path().join("registrations");
        let first = Registrations::serve(&path, &setup(Tables::Node)).unwrap();
        let agent = File::open(path.join(AGENT)).unwrap();
        assert_eq!(locks::holder(&agent).unwrap(), Some(Holder::Unknown));
        let refused = Registrations::serve(&path, &setup(Tables::Node)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        assert!(refused.to_string().contains("another agent serves it"));
        drop(first);
        assert_eq!(locks::holder(&agent).unwrap(), None);
        let agent = OpenOptions::new().read(true).write(true).open(path.join(AGENT)).unwrap();
        locks::lock(&agent).unwrap();
        assert!(Registrations::serve(&path, &setup(Tables::Node)).is_ok());
    }

    #[test]
    fn there_is_one_agent_for_a_directory_that_is_closed_to_others() {
        let place = place();
        let first = Registrations::serve(place.path(), &setup(Tables::Registered)).unwrap();
        let refused = Registrations::serve(place.path(), &setup(Tables::Registered)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        drop(first);
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
        let refused = Registrations::serve(place.path(), &setup(Tables::Registered)).unwrap_err();
        assert!(refused.to_string().contains("0700"));
    }
}
