//! What the agents of other nodes measure of rules that are for several nodes, through files on a file system that all share.
//!
//! Each agent has a file for each user whose jobs it has, in a folder of that user, so that it reads only what concerns its own jobs.
//! After each second it replaces its file and reads those of the others. All agents see the same numbers then, and each computes the
//! same shares of them: there is no server, no leader and no port.
//!
//! A file that does not change any more is that of an agent that has died, and is left out after [`SILENT`]. Where the directory
//! cannot be read or written for as long, each node goes on with an even part of what was to be shared: together that is no more.
//!
//! The file system may hang, so a thread does all of it, and nobody waits for that. Nothing in the directory is trusted that others
//! could have put there: folders belong to the agent's user and only that one can write to them, links are not followed, and what is
//! no report is left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::rules::shares::Demand;
use crate::tables::directory::Directory;

/// Version of the files.
const VERSION: u32 = 1;
/// Others have so much time to write theirs, after a second.
const OTHERS_WRITE: Duration = Duration::from_millis(200);
/// For so long an agent may say nothing, or this one see nothing.
pub const SILENT: Duration = Duration::from_secs(4);
/// A file that has not changed for so long is removed.
const ABANDONED: Duration = Duration::from_secs(60);
/// A larger file is no report.
const MOST_BYTES: u64 = 1 << 20;
/// Files that are read after a second, those first that were read longest ago: what many nodes ask of the file system stays bounded.
const MOST_READ: usize = 64;
/// Other agents of a user, at most.
const MOST_PEERS: usize = 16_384;
/// The agent ends, whatever the file system does.
const LAST_WORD: Duration = Duration::from_secs(1);
/// Longest part of a file's name that is the node's.
const MOST_NODE_LETTERS: usize = 64;

/// Something of which all nodes together have a limit: the calls of a job, or of all jobs of a user, that a rule is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Total {
    /// The user.
    pub user: u32,
    /// The job; empty where it is all jobs of the user.
    pub job: String,
    /// The label of the rule.
    pub rule: String,
}

/// What other nodes do of a total.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Others {
    /// Nobody has been asked yet.
    Unknown,
    /// What each did in the last second.
    Demands(Vec<Demand>),
    /// They have not been seen for too long.
    Lost {
        /// How many there were.
        count: usize,
        /// Why.
        reason: String,
    },
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Report {
    version: u32,
    second: u32,
    #[serde(rename = "did")]
    demands: Vec<TotalDemand>,
}

/// What a node did of a total of the folder's user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TotalDemand {
    rule: String,
    job: String,
    used: u64,
    waited: bool,
}

/// The agents of other nodes.
#[derive(Debug)]
pub struct Peers {
    directory: PathBuf,
    file: String,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct State {
    /// What is to be written next.
    next: Option<(u32, BTreeMap<Total, Demand>)>,
    is_to_end: bool,
    /// What others did of each total that this node has a part of.
    others: BTreeMap<Total, Vec<Demand>>,
    /// When that was seen.
    seen: Option<Instant>,
    problem: Option<String>,
}

impl Peers {
    /// The agents that meet in this directory, which is made when there is something to say.
    pub fn new(directory: PathBuf, node: &str) -> io::Result<Self> {
        let mut random = [0; 8];
        fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let node = node.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).take(MOST_NODE_LETTERS);
        // Two agents may be on one node, or on two of the same name.
        let file = format!("{}-{:016x}.json", node.collect::<String>(), u64::from_ne_bytes(random));
        Ok(Self { directory, file, shared: Arc::default(), thread: None })
    }

    /// Says what this node did in a second.
    pub fn say(&mut self, second: u32, demands: BTreeMap<Total, Demand>) {
        if demands.is_empty() && self.thread.is_none() {
            return;
        }
        self.shared.state().next = Some((second, demands));
        self.shared.changed.notify_all();
        if self.thread.is_none() {
            let (shared, exchange) = (Arc::clone(&self.shared), Exchange::new(&self.directory, &self.file));
            let thread = std::thread::Builder::new().name("peers".to_owned()).spawn(move || work(&shared, exchange));
            self.thread = thread.ok();
        }
    }

    /// What other nodes do of a total.
    pub fn others(&self, total: &Total) -> Others {
        let state = self.shared.state();
        let Some(others) = state.others.get(total) else { return Others::Unknown };
        if state.seen.is_some_and(|seen| seen.elapsed() < SILENT) {
            return Others::Demands(others.clone());
        }
        let reason = state.problem.clone().unwrap_or_else(|| format!("{} hangs", self.directory.display()));
        Others::Lost { count: others.len(), reason }
    }

    /// Why other nodes are not seen, in words.
    pub fn problem(&self) -> Option<String> {
        let state = self.shared.state();
        let is_late = self.thread.is_some() && state.seen.is_some_and(|seen| seen.elapsed() >= SILENT);
        let hangs = || is_late.then(|| format!("{} hangs", self.directory.display()));
        let reason = state.problem.clone().or_else(hangs)?;
        Some(format!("limits are not shared with other nodes: {reason}"))
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.shared.state().is_to_end = true;
        self.shared.changed.notify_all();
        let until = Instant::now() + LAST_WORD;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// What the thread does.
fn work(shared: &Shared, mut exchange: Exchange) {
    loop {
        let mut state = shared.state();
        let (second, demands) = loop {
            if state.is_to_end {
                drop(state);
                return exchange.say(0, &BTreeMap::new()).unwrap_or_default();
            }
            match state.next.take() {
                Some(demands) => break demands,
                None => state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(state);
        let seen = exchange.say(second, &demands).and_then(|()| {
            let waits = |state: &mut State| !state.is_to_end;
            let _ = shared.changed.wait_timeout_while(shared.state(), OTHERS_WRITE, waits);
            exchange.look(&demands)
        });
        let mut state = shared.state();
        match seen {
            Ok(others) => {
                state.others = others;
                state.seen = Some(Instant::now());
                state.problem = None;
            }
            Err(problem) => state.problem = Some(problem),
        }
    }
}

/// The files, as this agent knows them.
#[derive(Debug)]
struct Exchange {
    directory: PathBuf,
    file: String,
    /// Whether the directory was not there before, so that it is this agent's to remove.
    has_made_directory: bool,
    /// Users in whose folders this agent has a file.
    folders_of: BTreeSet<u32>,
    known: HashMap<(u32, OsString), Peer>,
}

/// The file of another agent.
#[derive(Debug)]
struct Peer {
    report: Option<Report>,
    /// When it was first seen as it is.
    since: Instant,
    read: Instant,
    is_silent: bool,
}

impl Exchange {
    fn new(directory: &Path, file: &str) -> Self {
        let (directory, file) = (directory.to_owned(), file.to_owned());
        Self { directory, file, has_made_directory: false, folders_of: BTreeSet::new(), known: HashMap::new() }
    }

    fn folder(&self, user: u32) -> PathBuf {
        self.directory.join(user.to_string())
    }

    /// Writes what this node did, and removes its files of users of whom it has nothing any more.
    fn say(&mut self, second: u32, demands: &BTreeMap<Total, Demand>) -> Result<(), String> {
        let users: BTreeSet<u32> = demands.keys().map(|total| total.user).collect();
        for user in self.folders_of.difference(&users) {
            let folder = self.folder(*user);
            let _ = fs::remove_file(folder.join(&self.file));
            // The last one closes the door.
            let _ = fs::remove_dir(&folder);
        }
        // One that was there before is the site's.
        if users.is_empty() && self.has_made_directory {
            self.has_made_directory = fs::remove_dir(&self.directory).is_err();
        }
        self.folders_of.clone_from(&users);
        for user in users {
            let of_user = demands.iter().filter(|(total, _)| total.user == user);
            let demands = of_user.map(|(total, demand)| {
                let Total { rule, job, .. } = total.clone();
                TotalDemand { rule, job, used: demand.used, waited: demand.waited }
            });
            let report = Report { version: VERSION, second, demands: demands.collect() };
            let folder = self.folder(user);
            let text = serde_json::to_vec(&report).map_err(|error| error.to_string())?;
            self.write(&folder, &text).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        Ok(())
    }

    /// Replaces the own file in a folder at once.
    fn write(&mut self, folder: &Path, text: &[u8]) -> io::Result<()> {
        let made = |place: &Path| match DirBuilder::new().mode(0o700).create(place) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            done => done.map(|()| true),
        };
        self.has_made_directory |= made(&self.directory)?;
        made(folder)?;
        let new = folder.join(format!("{}.new", self.file));
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let mut file = options.open(&new)?;
        // A server may take root for another user, who then owns the folders, too.
        let owner = file.metadata()?.uid();
        let checked = [&self.directory, folder].into_iter().try_for_each(|place| is_closed(place, owner));
        let written = checked.and_then(|()| file.write_all(text));
        drop(file);
        written.and_then(|()| fs::rename(&new, folder.join(&self.file))).inspect_err(|_| {
            let _ = fs::remove_file(&new);
        })
    }

    /// What others did of each total that this node has a part of.
    fn look(&mut self, demands: &BTreeMap<Total, Demand>) -> Result<BTreeMap<Total, Vec<Demand>>, String> {
        let mut here = BTreeSet::new();
        let users: BTreeSet<u32> = demands.keys().map(|total| total.user).collect();
        for user in users {
            let folder = self.folder(user);
            let about = |error: io::Error| format!("{}: {error}", folder.display());
            let directory = Directory::of_path(&folder).map_err(about)?;
            let opened = directory.open(OsStr::new(&self.file)).map_err(about)?;
            let mut names = Vec::new();
            for entry in fs::read_dir(&folder).map_err(about)?.take(MOST_PEERS) {
                let name = entry.map_err(about)?.file_name();
                if Path::new(&name).extension() == Some(OsStr::new("json")) && name != *self.file {
                    names.push(name);
                }
            }
            names.sort_by_key(|name| self.known.get(&(user, name.clone())).map(|peer| peer.read));
            here.extend(names.iter().map(|name| (user, name.clone())));
            for name in names.into_iter().take(MOST_READ) {
                let report = read(&directory, &name, opened.owner);
                self.saw(user, &folder, name, report);
            }
        }
        self.known.retain(|key, _| here.contains(key));
        let mut others: BTreeMap<Total, Vec<Demand>> =
            demands.keys().map(|total| (total.clone(), Vec::new())).collect();
        for ((user, _), peer) in &self.known {
            let Some(report) = peer.report.as_ref().filter(|_| !peer.is_silent) else { continue };
            for TotalDemand { rule, job, used, waited } in report.demands.clone() {
                if let Some(of_total) = others.get_mut(&Total { user: *user, job, rule }) {
                    of_total.push(Demand { used, waited });
                }
            }
        }
        Ok(others)
    }

    fn saw(&mut self, user: u32, folder: &Path, name: OsString, report: Option<Report>) {
        let now = Instant::now();
        let peer = self.known.entry((user, name.clone())).or_insert_with(|| Peer {
            report: report.clone(),
            since: now,
            read: now,
            is_silent: false,
        });
        if peer.report != report {
            (peer.report, peer.since) = (report, now);
        }
        peer.read = now;
        peer.is_silent = now - peer.since >= SILENT;
        if now - peer.since >= ABANDONED {
            let _ = fs::remove_file(folder.join(name));
        }
    }
}

/// A report; nothing where the file is none, or not of an agent of this user.
fn read(directory: &Directory, name: &OsStr, owner: u32) -> Option<Report> {
    let opened = directory.open(name).ok().filter(|opened| opened.owner == owner)?;
    let mut text = Vec::new();
    opened.file.take(MOST_BYTES + 1).read_to_end(&mut text).ok()?;
    let report: Report = serde_json::from_slice(&text).ok()?;
    (text.len() as u64 <= MOST_BYTES && report.version == VERSION).then_some(report)
}

/// Only this user, or root, can put anything into a directory.
fn is_closed(directory: &Path, user: u32) -> io::Result<()> {
    let about = fs::symlink_metadata(directory)?;
    let is_ours = [user, 0].contains(&about.uid());
    if about.is_dir() && is_ours && about.mode() & 0o022 == 0 {
        return Ok(());
    }
    let place = directory.display();
    Err(io::Error::other(format!(
        "{place} has to be a directory of user {user} that no others can write to (mode 0700)"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const HUNGRY: Demand = Demand { used: 50, waited: true };
    const IDLE: Demand = Demand { used: 0, waited: false };

    fn total(user: u32, job: &str) -> Total {
        Total { user, job: job.to_owned(), rule: "slow".to_owned() }
    }

    fn demands_of(totals: &[(Total, Demand)]) -> BTreeMap<Total, Demand> {
        totals.iter().cloned().collect()
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("limits");
        (place, directory)
    }

    #[test]
    fn agents_see_what_others_did_of_the_same_total_and_leave_no_file_behind() {
        let (_place, directory) = place();
        let [mut first, mut second] = ["one", "other"].map(|file| Exchange::new(&directory, &format!("{file}.json")));
        let (here, there) =
            (demands_of(&[(total(7, "a"), HUNGRY)]), demands_of(&[(total(7, "a"), IDLE), (total(7, "b"), HUNGRY)]));
        first.say(10, &here).unwrap();
        assert_eq!(first.look(&here).unwrap()[&total(7, "a")], []);
        second.say(10, &there).unwrap();
        assert_eq!(first.look(&here).unwrap(), BTreeMap::from([(total(7, "a"), vec![IDLE])]));
        assert_eq!(second.look(&there).unwrap()[&total(7, "a")], [HUNGRY]);
        assert_eq!(second.look(&there).unwrap()[&total(7, "b")], []);
        first.say(11, &demands_of(&[])).unwrap();
        assert_eq!(second.look(&there).unwrap()[&total(7, "a")], []);
        second.say(11, &demands_of(&[])).unwrap();
        // Who made it left first.
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    }

    #[test]
    fn jobs_of_other_users_are_not_even_read() {
        let (_place, directory) = place();
        let [mut first, mut second] = ["one", "other"].map(|file| Exchange::new(&directory, &format!("{file}.json")));
        let (here, there) = (demands_of(&[(total(7, "a"), HUNGRY)]), demands_of(&[(total(8, "a"), HUNGRY)]));
        first.say(10, &here).unwrap();
        second.say(10, &there).unwrap();
        assert_eq!(first.look(&here).unwrap()[&total(7, "a")], []);
        assert!(first.known.is_empty());
    }

    #[test]
    fn what_is_no_report_of_an_agent_is_left_out() {
        let (_place, directory) = place();
        let mut exchange = Exchange::new(&directory, "own.json");
        let demands = demands_of(&[(total(7, "a"), HUNGRY)]);
        exchange.say(10, &demands).unwrap();
        let folder = exchange.folder(7);
        let sound = fs::read_to_string(folder.join("own.json")).unwrap();
        let elsewhere = directory.join("elsewhere");
        for (name, text) in [
            ("empty.json", ""),
            ("cut.json", &sound[..sound.len() - 3]),
            ("binary.json", "\0\u{1}"),
            ("list.json", "[]"),
            ("negative.json", &sound.replace("50", "-50")),
            ("newer.json", &sound.replace(r#""version":1"#, r#""version":2"#)),
            ("long.json", &format!("{sound}{}", " ".repeat(MOST_BYTES as usize + 1))),
            ("other.txt", &sound),
        ] {
            fs::write(folder.join(name), text).unwrap();
        }
        fs::write(&elsewhere, &sound).unwrap();
        symlink(&elsewhere, folder.join("link.json")).unwrap();
        fs::hard_link(&elsewhere, folder.join("hard.json")).unwrap();
        fs::create_dir(folder.join("directory.json")).unwrap();
        nix::unistd::mkfifo(&folder.join("pipe.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(exchange.look(&demands).unwrap()[&total(7, "a")], []);
        fs::write(folder.join("sound.json"), &sound).unwrap();
        assert_eq!(exchange.look(&demands).unwrap()[&total(7, "a")], [HUNGRY]);
        if nix::unistd::geteuid().is_root() {
            nix::unistd::chown(&folder.join("sound.json"), Some(12_345.into()), None).unwrap();
            assert_eq!(exchange.look(&demands).unwrap()[&total(7, "a")], []);
        }
    }

    #[test]
    fn an_agent_that_says_nothing_any_more_is_left_out_and_its_file_removed() {
        let (_place, directory) = place();
        let [mut first, mut second] = ["one", "other"].map(|file| Exchange::new(&directory, &format!("{file}.json")));
        let demands = demands_of(&[(total(7, "a"), HUNGRY)]);
        first.say(10, &demands).unwrap();
        second.say(10, &demands).unwrap();
        let key = (7, OsString::from("other.json"));
        let mut after = |since: Duration| {
            if let Some(peer) = first.known.get_mut(&key) {
                peer.since = Instant::now() - since;
            }
            first.look(&demands).unwrap()[&total(7, "a")].len()
        };
        assert_eq!([after(Duration::ZERO), after(SILENT / 2), after(SILENT), after(SILENT * 2)], [1, 1, 0, 0]);
        second.say(11, &demands).unwrap();
        assert_eq!(after(SILENT * 2), 1);
        after(ABANDONED);
        assert!(!directory.join("7/other.json").exists());
    }

    #[test]
    fn of_more_files_than_are_read_at_once_all_are_read_in_turn() {
        let (_place, directory) = place();
        let mut exchange = Exchange::new(&directory, "own.json");
        let demands = demands_of(&[(total(7, "a"), HUNGRY)]);
        exchange.say(10, &demands).unwrap();
        let text = fs::read(directory.join("7/own.json")).unwrap();
        for number in 0..MOST_READ * 2 + 1 {
            fs::write(directory.join(format!("7/{number}.json")), &text).unwrap();
        }
        let counts = [(); 3].map(|()| exchange.look(&demands).unwrap()[&total(7, "a")].len());
        assert_eq!(counts, [MOST_READ, MOST_READ * 2, MOST_READ * 2 + 1]);
    }

    #[test]
    fn the_directory_of_a_site_stays_and_one_that_an_agent_made_goes_with_it() {
        let (_place, directory) = place();
        let demands = demands_of(&[(total(7, "a"), HUNGRY)]);
        for is_there in [false, true] {
            if is_there {
                DirBuilder::new().mode(0o700).create(&directory).unwrap();
            }
            let mut exchange = Exchange::new(&directory, "own.json");
            exchange.say(10, &demands).unwrap();
            assert!(directory.join("7/own.json").exists());
            exchange.say(11, &BTreeMap::new()).unwrap();
            assert!(!directory.join("7").exists());
            assert_eq!(directory.exists(), is_there);
        }
    }

    #[test]
    fn a_directory_in_which_others_can_write_is_refused_by_name() {
        let (_place, directory) = place();
        let mut exchange = Exchange::new(&directory, "own.json");
        let demands = demands_of(&[(total(7, "a"), HUNGRY)]);
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = exchange.say(10, &demands).unwrap_err();
        assert!(refused.contains("0700") && refused.contains("limits"), "{refused}");
        fs::remove_dir_all(&directory).unwrap();
        fs::write(&directory, "a file").unwrap();
        assert!(exchange.say(10, &demands).is_err());
        fs::remove_file(&directory).unwrap();
        let real = directory.with_file_name("real");
        fs::create_dir(&real).unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o700)).unwrap();
        symlink(&real, &directory).unwrap();
        assert!(exchange.say(10, &demands).is_err());
    }

    #[test]
    fn a_node_that_sees_nobody_any_more_knows_how_many_there_were() {
        let (_place, directory) = place();
        let mut peers = Peers::new(directory.clone(), "n/1").unwrap();
        assert!(peers.file.starts_with("n_1-") && peers.file.ends_with(".json"));
        assert_eq!(peers.others(&total(7, "a")), Others::Unknown);
        let mut other = Exchange::new(&directory, "other.json");
        other.say(10, &demands_of(&[(total(7, "a"), IDLE)])).unwrap();
        let demands = demands_of(&[(total(7, "a"), HUNGRY)]);
        peers.say(10, demands.clone());
        while peers.others(&total(7, "a")) == Others::Unknown {
            std::thread::yield_now();
        }
        assert_eq!(peers.others(&total(7, "a")), Others::Demands(vec![IDLE]));
        assert_eq!(peers.others(&total(7, "b")), Others::Unknown);
        fs::remove_dir_all(&directory).unwrap();
        fs::write(&directory, "no directory any more").unwrap();
        peers.say(11, demands);
        while peers.problem().is_none() {
            std::thread::yield_now();
        }
        assert!(matches!(peers.others(&total(7, "a")), Others::Demands(_)));
        peers.shared.state().seen = Some(Instant::now() - SILENT);
        assert!(matches!(peers.others(&total(7, "a")), Others::Lost { count: 1, .. }));
        assert!(peers.problem().unwrap().contains("limits"));
    }
}
