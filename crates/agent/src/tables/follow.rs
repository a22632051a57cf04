//! All tables of a directory, from their first second to the end of their processes.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt;

use ioassay_record::read::{Damage, Table as Whole};
use ioassay_record::table::{LARGEST, State};

use crate::tables::directory::{Directory, Opened};
use crate::tables::table::{Bytes, Look, Span, Table};

/// Tables of a directory that are followed at the same time.
const MOST_TABLES: usize = 16_384;
/// Of the tables of processes that ended, so much is read at a time: the largest fits.
const FINISHED_BYTES: usize = LARGEST;
/// How often a file is tried that is no table: its recorder may not have written the header yet.
const TRIES: u32 = 3;
/// Why a table is not read whose file is shorter than before.
const WAS_CUT: &str = "its file was truncated while the process runs, which is no longer recorded, nor held to rules";
/// Looks after which a process that was replaced does not come back.
const PATIENCE: u32 = 30;

/// Looks after which a process is replaced whose table says so: all but few have added it to those of finished ones by then.
const REPLACED_AFTER: u32 = 2;

/// A process: its number, and when its table began.
type Key = (u32, u64);

/// The tables of a directory.
#[derive(Debug)]
pub struct Follow {
    /// The directory.
    pub directory: Directory,
    processes: HashMap<Key, Process>,
    /// The files of running processes by name.
    files: HashMap<OsString, FollowedFile>,
    /// How far files of tables of ended processes were read.
    finished: HashMap<OsString, Finished>,
    is_first_look: bool,
}

/// A process and its table.
#[derive(Debug)]
struct Process {
    table: Table,
    owner: u32,
    opened: Option<Opened>,
    /// Why its file is there and not read any more. What was counted of it is kept until the process has ended.
    unreadable: Option<String>,
    /// Looks since its file has gone.
    gone: u32,
    /// Looks since its table says that it was replaced, while its file is there.
    replaced: u32,
}

/// What was seen of a process.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Its table.
    pub table: &'a Table,
    /// The owner of its file.
    pub owner: u32,
    /// What was new.
    pub look: Look,
    /// It was not seen before.
    pub is_new: bool,
    /// How it ended, if it does not go on: what its file says once it was kept.
    pub end: Option<State>,
    bytes: &'a dyn Bytes,
}

impl Seen<'_> {
    /// The name of the file at a place of its table; empty where there is none.
    pub fn file_name(&self, place: u32) -> String {
        if place == 0 { String::new() } else { Table::file_name(self.bytes, place) }
    }
}

/// What is known of a file.
#[derive(Debug)]
struct FollowedFile {
    inode: u64,
    /// Whose table it is.
    key: Option<Key>,
    /// How often it was tried in vain, and why.
    refused: u32,
    reason: String,
}

#[derive(Debug, Default)]
struct Finished {
    read: u64,
    /// Looks at which nothing whole was there.
    stuck: u32,
}

/// Reported about tables that are not read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Refused {
    /// How many there are.
    pub tables: u64,
    /// Why the last one was not read.
    pub reason: Option<String>,
}

impl Refused {
    fn because(&mut self, reason: impl ToString) {
        self.tables += 1;
        self.reason = Some(reason.to_string());
    }
}

impl Follow {
    /// Follows the tables of a directory.
    pub fn new(directory: Directory) -> Self {
        Self {
            directory,
            processes: HashMap::new(),
            files: HashMap::new(),
            finished: HashMap::new(),
            is_first_look: true,
        }
    }

    /// Tables that are followed.
    pub fn tables(&self) -> usize {
        self.processes.values().filter(|process| process.unreadable.is_none()).count()
    }

    /// Processes that go on, and whose tables cannot be read any more.
    pub fn unreadable(&self) -> usize {
        self.processes.values().filter(|process| process.unreadable.is_some()).count()
    }

    /// Looks at all tables. `see` gets each of which something may be new.
    ///
    /// # Errors
    /// If the directory cannot be listed: it was removed, with what is in it.
    pub fn look(&mut self, span: Span, refused: &mut Refused, mut see: impl FnMut(Seen)) -> io::Result<()> {
        let names = self.directory.names()?;
        if names.too_many {
            refused.because("there are too many files in the directory");
        }
        // First the ended ones: what their files say completes what is known of them.
        let mut ended = HashSet::new();
        for name in &names.finished {
            self.look_at_finished(name, span, refused, &mut |seen: Seen| {
                if seen.end == Some(State::Exited) {
                    ended.insert((seen.table.identity.process, seen.table.identity.begin_ticks));
                }
                see(seen);
            });
        }
        self.is_first_look = false;
        // A process whose table was given another file goes on in that one.
        let running: HashMap<&OsString, u64> = names.running.iter().map(|(name, inode)| (name, *inode)).collect();
        let mut gone = Vec::new();
        self.files.retain(|name, known| {
            let is_there = running.get(name) == Some(&known.inode);
            gone.extend(known.key.filter(|_| !is_there));
            is_there
        });
        for (name, inode) in &names.running {
            let known = self.files.get(name).filter(|known| known.inode == *inode);
            let tried = known.map_or(0, |known| known.refused);
            if known.is_some_and(|known| known.key.is_some()) || tried >= TRIES {
                continue;
            }
            match self.open(name, &ended) {
                Ok(key) => {
                    let known = FollowedFile { inode: *inode, key, refused: 0, reason: String::new() };
                    self.files.insert(name.clone(), known);
                }
                Err(error) => {
                    let known =
                        FollowedFile { inode: *inode, key: None, refused: tried + 1, reason: error.to_string() };
                    self.files.insert(name.clone(), known);
                }
            }
        }
        for known in self.files.values().filter(|known| known.refused >= TRIES) {
            refused.because(&known.reason);
        }
        for key in gone {
            if let Some(process) = self.processes.get_mut(&key) {
                (process.opened, process.unreadable) = (None, None);
            }
        }
        self.look_at_running(span, refused, &mut see);
        Ok(())
    }

    /// Opens the table of a process that runs. Which process it is; nothing where it has ended since the files were listed, or
    /// just now, and has not removed its own file yet.
    fn open(&mut self, name: &OsStr, ended: &HashSet<Key>) -> io::Result<Option<Key>> {
        if self.processes.len() >= MOST_TABLES {
            return Err(io::Error::other("there are too many tables"));
        }
        let opened = match self.directory.open(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let table = Table::open(&opened.file)?;
        let key = (table.identity.process, table.identity.begin_ticks);
        if ended.contains(&key) {
            return Ok(None);
        }
        match self.processes.get_mut(&key) {
            // Its file was given back to it, after an `exec` that failed.
            Some(process) if process.opened.is_none() && process.unreadable.is_none() => {
                process.opened = Some(opened);
                process.gone = 0;
            }
            Some(_) => return Err(io::Error::other("two files say that they are the table of the same process")),
            None => {
                let owner = opened.owner;
                self.processes.insert(
                    key,
                    Process { table, owner, opened: Some(opened), unreadable: None, gone: 0, replaced: 0 },
                );
            }
        }
        Ok(Some(key))
    }

    fn look_at_running(&mut self, span: Span, refused: &mut Refused, see: &mut impl FnMut(Seen)) {
        self.processes.retain(|_, process| {
            let Some(opened) = &process.opened else {
                if let Some(reason) = &process.unreadable {
                    refused.because(reason);
                    return true;
                }
                process.gone += 1;
                return process.gone <= PATIENCE;
            };
            let is_new = process.table.is_new();
            match process.table.look(&opened.file, span) {
                Ok(look) => {
                    let (table, owner) = (&process.table, process.owner);
                    let is_replaced = look.state == Some(State::Replaced);
                    process.replaced = if is_replaced { process.replaced.saturating_add(1) } else { 0 };
                    // It could not add its table to those of finished ones, in another root directory or with a limit of files.
                    let end = (process.replaced == REPLACED_AFTER).then_some(State::Replaced);
                    if process.replaced <= REPLACED_AFTER {
                        see(Seen { table, owner, look, is_new, end, bytes: &opened.file });
                    }
                    true
                }
                Err(error) => {
                    let length = opened.file.metadata().map_or(u64::MAX, |about| about.size());
                    let is_cut = length < process.table.known_bytes() as u64;
                    let reason = if is_cut { WAS_CUT.to_owned() } else { error.to_string() };
                    refused.because(&reason);
                    (process.opened, process.unreadable) = (None, Some(reason));
                    true
                }
            }
        });
    }

    fn look_at_finished(&mut self, name: &OsStr, span: Span, refused: &mut Refused, see: &mut impl FnMut(Seen)) {
        let is_first_look = self.is_first_look;
        let Ok(opened) = self.directory.open(name) else { return refused.because("a file of tables cannot be opened") };
        let length = opened.file.metadata().map_or(0, |about| about.size());
        let state = self.finished.entry(name.to_owned()).or_default();
        if is_first_look {
            // Of what ended long ago nothing is counted.
            state.read = length.saturating_sub(FINISHED_BYTES as u64);
        } else if state.read > length {
            state.read = length;
        }
        let new = (length - state.read).min(FINISHED_BYTES as u64) as usize;
        if new == 0 {
            return;
        }
        let mut bytes = vec![0; new];
        let Ok(count) = opened.file.read_at(&mut bytes, state.read) else {
            return refused.because("a file of tables cannot be read");
        };
        bytes.truncate(count);
        let mut rest = &bytes[..];
        let mut whole = Vec::new();
        while !rest.is_empty() {
            match Whole::first(rest) {
                Ok(table) => {
                    whole.push(table.bytes());
                    rest = &rest[table.bytes().len()..];
                    state.stuck = 0;
                }
                // It is being added, or what was to be added was cut.
                Err(Damage::Length) if state.stuck < 3 => {
                    state.stuck += 1;
                    break;
                }
                Err(damage) => {
                    refused.because(format!("{damage:?}"));
                    let next = rest[1..].windows(8).position(|begin| begin == ioassay_record::table::MAGIC);
                    rest = next.map_or(&[], |next| &rest[next + 1..]);
                    state.stuck = 0;
                }
            }
        }
        state.read += (bytes.len() - rest.len()) as u64;
        for table in whole {
            self.ended(table, opened.owner, span, see);
        }
    }

    /// A process has ended or was replaced, and this is its table.
    fn ended(&mut self, bytes: &[u8], owner: u32, span: Span, see: &mut impl FnMut(Seen)) {
        let Ok(new) = Table::open(&bytes) else { return };
        let key = (new.identity.process, new.identity.begin_ticks);
        let unknown = Process { table: new, owner, opened: None, unreadable: None, gone: 0, replaced: 0 };
        let mut process = self.processes.remove(&key).unwrap_or(unknown);
        let is_new = process.table.is_new();
        let Ok(look) = process.table.look_whole(bytes, span) else { return };
        let end = look.state;
        see(Seen { table: &process.table, owner: process.owner, look, is_new, end, bytes: &bytes });
        // One that was replaced may come back, if that failed.
        if end != Some(State::Exited) && self.processes.len() < MOST_TABLES {
            (process.opened, process.unreadable) = (None, None);
            self.processes.insert(key, process);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::made_up::MadeUp;
    use std::fs;

    const SPAN: Span = Span { first: 10, last: 12, until: 12 };

    #[test]
    fn a_process_that_ends_and_has_its_own_file_still_is_counted_once() {
        let place = tempfile::tempdir().unwrap();
        let mut table = MadeUp::new(1, 11);
        let rows = table.rows(4);
        table.set_row(rows, 0, 11, 0, [3, 300, 30, 9]);
        table.end(State::Exited);
        fs::write(place.path().join("node.tables"), &table.bytes).unwrap();
        fs::write(place.path().join("1-77.table"), &table.bytes).unwrap();
        let mut follow = Follow::new(Directory::of_path(place.path()).unwrap());
        let (mut calls, mut refused) = (0, Refused::default());
        let mut look = |follow: &mut Follow| {
            let add = |seen: Seen| calls += seen.look.amounts.iter().map(|(.., totals)| totals[0]).sum::<u64>();
            follow.look(SPAN, &mut refused, add).unwrap();
        };
        look(&mut follow);
        fs::remove_file(place.path().join("1-77.table")).unwrap();
        look(&mut follow);
        assert_eq!((calls, follow.tables(), refused), (3, 0, Refused::default()));
    }

    #[test]
    fn a_process_whose_table_was_unreadable_for_long_is_counted_once_when_it_ends() {
        let place = tempfile::tempdir().unwrap();
        let mut table = MadeUp::new(1, 11);
        let rows = table.rows(4);
        table.set_row(rows, 0, 11, 0, [3, 300, 30, 9]);
        fs::write(place.path().join("1-77.table"), &table.bytes).unwrap();
        let mut follow = Follow::new(Directory::of_path(place.path()).unwrap());
        let (mut calls, mut ends) = (0, 0);
        let mut look = |follow: &mut Follow| {
            let mut refused = Refused::default();
            let add = |seen: Seen| {
                calls += seen.look.amounts.iter().map(|(.., totals)| totals[0]).sum::<u64>();
                ends += u32::from(seen.end == Some(State::Exited));
            };
            follow.look(SPAN, &mut refused, add).unwrap();
            (refused.tables, refused.reason)
        };
        let none = (0, None);
        assert_eq!((look(&mut follow), follow.unreadable()), (none.clone(), 0));
        fs::write(place.path().join("1-77.table"), "").unwrap();
        for _ in 0..2 * PATIENCE {
            let cut = (1, Some(WAS_CUT.to_owned()));
            assert_eq!((look(&mut follow), follow.tables(), follow.unreadable()), (cut, 0, 1));
        }
        table.set_row(rows, 1, 12, 0, [2, 200, 20, 9]);
        table.end(State::Exited);
        fs::write(place.path().join("node.tables"), &table.bytes).unwrap();
        fs::remove_file(place.path().join("1-77.table")).unwrap();
        for _ in 0..2 {
            assert_eq!((look(&mut follow), follow.unreadable()), (none.clone(), 0));
        }
        assert_eq!((calls, ends, follow.processes.len()), (5, 1, 0));
    }

    #[test]
    fn a_replaced_process_that_cannot_move_its_table_is_reported_once() {
        let place = tempfile::tempdir().unwrap();
        let mut table = MadeUp::new(1, 11);
        fs::write(place.path().join("1-77.table"), &table.bytes).unwrap();
        let mut follow = Follow::new(Directory::of_path(place.path()).unwrap());
        let mut look = || {
            let mut ends = Vec::new();
            follow.look(SPAN, &mut Refused::default(), |seen| ends.push(seen.end)).unwrap();
            ends
        };
        assert_eq!(look(), [None]);
        table.end(State::Replaced);
        fs::write(place.path().join("1-77.table"), &table.bytes).unwrap();
        // A process that is seen goes on.
        assert_eq!([look(), look(), look()], [vec![None], vec![Some(State::Replaced)], vec![]]);
    }

    #[test]
    fn a_process_that_is_replaced_and_does_not_come_back_is_forgotten() {
        let place = tempfile::tempdir().unwrap();
        let mut table = MadeUp::new(1, 11);
        table.end(State::Replaced);
        let mut follow = Follow::new(Directory::of_path(place.path()).unwrap());
        let look = |follow: &mut Follow| follow.look(SPAN, &mut Refused::default(), |_| {}).unwrap();
        look(&mut follow);
        fs::write(place.path().join("node.tables"), &table.bytes).unwrap();
        for _ in 0..PATIENCE {
            look(&mut follow);
            assert_eq!(follow.tables(), 1);
        }
        look(&mut follow);
        assert_eq!(follow.tables(), 0);
    }
}
