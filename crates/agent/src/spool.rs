//! Payloads that wait on disk: in order, in segment files of a directory that belongs to the agent.
//!
//! A segment is a row of frames: a header with lengths and checksums, then the payload. A frame that was delivered is
//! marked in place, so that an agent that died goes on where it was. Nothing is forced onto the medium: a spool survives the
//! agent, and not necessarily the node.
//! Not here: which payloads wait ([`crate::delivery`]), what is in them ([`crate::sinks`]), how a segment is laid out
//! ([`segment`]).

mod segment;

use std::collections::VecDeque;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag, open, openat};
use nix::sys::stat::{Mode, fstat, mkdirat};
use nix::unistd::{UnlinkatFlags, geteuid, unlinkat};

use self::segment::{Frame, Segment};
use crate::sinks::Payload;

/// Says whose directory it is.
const MARKER: &str = "ioassay-agent-spool";
/// Held by the agent that uses a sink's directory.
const LOCK: &str = "lock";
/// Names of segments end with it.
const EXTENSION: &str = ".segment";
/// The number of the first segment of an empty spool: segments are put before and behind it.
const MIDDLE: u64 = 1 << 40;
/// A spool is so many segments, of which the oldest is given up when it is full.
const SEGMENTS: u64 = 16;
/// The most and the least of a segment, in bytes.
const SEGMENT_BYTES: (u64, u64) = (4 << 10, 16 << 20);
const OWNER_ONLY: Mode = Mode::S_IRWXU;
const ALWAYS: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_CLOEXEC);

/// Why a directory cannot be a spool.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The system refused something.
    #[error(
        "the spool {path} cannot be used: {error}; name a directory of a local file system that the agent may write"
    )]
    System {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// It belongs to another user.
    #[error(
        "the spool {path} belongs to user {owner}, not to the agent's user {user}; name a directory of the agent's own"
    )]
    Owner {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// Who the agent is.
        user: u32,
    },
    /// Others can look into it.
    #[error("the spool {path} has mode {mode:04o}, so that others can use it; run: chmod 700 {path}")]
    Mode {
        /// The directory.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It has files, and none says that it is a spool.
    #[error("{path} holds files and is no spool of an agent; name a directory that is empty or that does not exist")]
    Foreign {
        /// The directory.
        path: PathBuf,
    },
    /// Another agent uses it.
    #[error("the spool {path} is in use; give each agent a directory of its own, and name each sink once")]
    Busy {
        /// The directory.
        path: PathBuf,
    },
}

/// The payloads of one sink that wait on disk.
#[derive(Debug)]
pub struct Spool {
    directory: OwnedFd,
    /// Released when the spool is dropped.
    _lock: Flock<OwnedFd>,
    most_bytes: u64,
    /// In order. All have frames that wait, except that the last may just have been created.
    segments: VecDeque<Segment>,
    /// The number of the next segment behind all others: no two have the same, also when one is gone.
    next: u64,
    lost: u64,
}

/// Where a payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    segment: u64,
    offset: u64,
}

impl Spool {
    /// Opens the spool of the sink `name` in `directory`, which is created. What an agent left there waits.
    pub fn open(directory: &Path, name: &str, most_bytes: u64) -> Result<Self, SpoolError> {
        let path = directory.join(name);
        let failed = |error: io::Error| SpoolError::System { path: path.clone(), error };
        let base = own_directory(directory)?;
        match mkdirat(&base, name, OWNER_ONLY) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(failed(error.into())),
        }
        let held = openat(&base, name, OFlag::O_DIRECTORY | ALWAYS, Mode::empty()).map_err(|e| failed(e.into()))?;
        check_owner(&held, &path)?;
        let lock = openat(&held, LOCK, OFlag::O_CREAT | OFlag::O_RDWR | ALWAYS, Mode::S_IRUSR | Mode::S_IWUSR)
            .map_err(|error| failed(error.into()))?;
        let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| match error {
            Errno::EWOULDBLOCK => SpoolError::Busy { path: path.clone() },
            other => failed(other.into()),
        })?;
        let mut spool =
            Self { directory: held, _lock: lock, most_bytes, segments: VecDeque::new(), next: MIDDLE, lost: 0 };
        spool.recover().map_err(failed)?;
        Ok(spool)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.documents() == 0
    }

    /// Documents that wait.
    pub fn documents(&self) -> u64 {
        self.segments.iter().map(|segment| segment.documents).sum()
    }

    /// Bytes that wait, with the frames around them.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.end - segment.read).sum()
    }

    /// Documents that were given up since this was last asked: for want of space, or because their frames are damaged.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// Whether a payload still waits.
    pub fn holds(&self, place: Place) -> bool {
        self.segments.iter().any(|segment| segment.number == place.segment && segment.read <= place.offset)
    }

    /// Adds a payload behind all others, and gives up the oldest segments that it leaves no space for. After an error
    /// it is not there.
    pub fn append(&mut self, payload: &Payload) -> io::Result<()> {
        let frame = Frame::of(payload);
        if frame.size() > self.most_bytes {
            self.lost += payload.documents;
            return Ok(());
        }
        while self.size() + frame.size() > self.most_bytes {
            let oldest = self.segments.pop_front().expect("a spool without segments has no size");
            self.lost += oldest.documents;
            self.unlink(oldest.number);
        }
        let segment_bytes = (self.most_bytes / SEGMENTS).clamp(SEGMENT_BYTES.0, SEGMENT_BYTES.1);
        if self.segments.back().is_none_or(|last| last.end > 0 && last.end + frame.size() > segment_bytes) {
            let segment = self.create(self.next)?;
            self.next += 1;
            self.segments.push_back(segment);
        }
        self.segments.back_mut().expect("one was created").write(&frame)
    }

    /// Adds payloads before all others, of which the oldest are given up that there is no space for, and says where the first
    /// is unless it is one of those. After an error none of them is there.
    pub fn prepend<'p>(&mut self, payloads: impl DoubleEndedIterator<Item = &'p Payload>) -> io::Result<Option<Place>> {
        let mut space = self.most_bytes.saturating_sub(self.size());
        let mut frames = VecDeque::new();
        let mut lost = 0;
        for payload in payloads.rev() {
            let frame = Frame::of(payload);
            if lost > 0 || frame.size() > space {
                lost += payload.documents;
            } else {
                space -= frame.size();
                frames.push_front(frame);
            }
        }
        let mut place = None;
        if !frames.is_empty() {
            let number = self.segments.front().map_or(self.next, |first| first.number - 1);
            self.next = self.next.max(number + 1);
            let mut segment = self.create(number)?;
            if let Err(error) = frames.iter().try_for_each(|frame| segment.write(frame)) {
                self.unlink(segment.number);
                return Err(error);
            }
            place = (lost == 0).then_some(Place { segment: segment.number, offset: 0 });
            self.segments.push_front(segment);
        }
        self.lost += lost;
        Ok(place)
    }

    /// The oldest payload, which stays.
    pub fn front(&mut self) -> Option<(Place, Payload)> {
        while let Some(first) = self.segments.front_mut() {
            match first.next() {
                Ok(Some((offset, payload))) => return Some((Place { segment: first.number, offset }, payload)),
                Ok(None) => {}
                // What cannot be read any more is lost with what comes behind it in the segment.
                Err(_) => self.lost += first.documents,
            }
            let number = first.number;
            self.segments.pop_front();
            self.unlink(number);
        }
        None
    }

    /// Removes the oldest payload, if it is at `place`: otherwise it has been given up.
    pub fn remove(&mut self, place: Place) {
        let Some(first) = self.segments.front_mut() else { return };
        if (first.number, first.read) != (place.segment, place.offset) {
            return;
        }
        first.pass();
        if first.documents == 0 {
            let number = first.number;
            self.segments.pop_front();
            self.unlink(number);
        }
    }

    /// Bytes on disk.
    fn size(&self) -> u64 {
        self.segments.iter().map(|segment| segment.end).sum()
    }

    fn create(&self, number: u64) -> io::Result<Segment> {
        let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_RDWR | ALWAYS;
        let file = openat(&self.directory, name_of(number).as_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR)?;
        Ok(Segment { number, file: file.into(), read: 0, end: 0, documents: 0 })
    }

    /// A file that cannot be removed is read again by the next agent, which finds its frames marked.
    fn unlink(&self, number: u64) {
        let _ = unlinkat(&self.directory, name_of(number).as_str(), UnlinkatFlags::NoRemoveDir);
    }

    /// Finds what an agent left.
    fn recover(&mut self) -> io::Result<()> {
        let mut numbers = Vec::new();
        for entry in Dir::openat(&self.directory, ".", OFlag::O_DIRECTORY | ALWAYS, Mode::empty())?.iter() {
            let entry = entry?;
            let name = entry.file_name().to_str().ok().and_then(|name| name.strip_suffix(EXTENSION));
            numbers.extend(name.and_then(|digits| u64::from_str_radix(digits, 16).ok()));
        }
        numbers.sort_unstable();
        for number in numbers {
            self.next = self.next.max(number.saturating_add(1));
            let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | ALWAYS;
            let file = File::from(openat(&self.directory, name_of(number).as_str(), flags, Mode::empty())?);
            if !file.metadata()?.is_file() {
                continue;
            }
            let end = file.metadata()?.size();
            let mut segment = Segment { number, file, read: 0, end, documents: 0 };
            self.lost += segment.recover()?;
            if segment.documents == 0 {
                self.unlink(number);
            } else {
                self.segments.push_back(segment);
            }
        }
        Ok(())
    }
}

fn name_of(number: u64) -> String {
    format!("{number:016x}{EXTENSION}")
}

/// Opens, and creates where it is missing, a directory that belongs to the agent alone.
fn own_directory(path: &Path) -> Result<OwnedFd, SpoolError> {
    let failed = |error: io::Error| SpoolError::System { path: path.to_owned(), error };
    DirBuilder::new().recursive(true).mode(OWNER_ONLY.bits()).create(path).map_err(failed)?;
    let held = open(path, OFlag::O_DIRECTORY | ALWAYS, Mode::empty()).map_err(|error| failed(error.into()))?;
    check_owner(&held, path)?;
    let is_marked = || openat(&held, MARKER, OFlag::O_PATH | ALWAYS, Mode::empty()).is_ok();
    if !is_marked() {
        let mut listing = Dir::openat(&held, ".", OFlag::O_DIRECTORY | ALWAYS, Mode::empty())
            .map_err(|error| failed(error.into()))?;
        let is_empty = listing.iter().flatten().all(|entry| matches!(entry.file_name().to_bytes(), b"." | b".."));
        // Another agent may have begun meanwhile.
        if !is_empty && !is_marked() {
            return Err(SpoolError::Foreign { path: path.to_owned() });
        }
        openat(&held, MARKER, OFlag::O_CREAT | OFlag::O_WRONLY | ALWAYS, Mode::S_IRUSR | Mode::S_IWUSR)
            .map_err(|error| failed(error.into()))?;
    }
    Ok(held)
}

fn check_owner(directory: impl AsFd, path: &Path) -> Result<(), SpoolError> {
    let path = path.to_owned();
    let about = match fstat(directory) {
        Ok(about) => about,
        Err(error) => return Err(SpoolError::System { path, error: error.into() }),
    };
    let user = geteuid().as_raw();
    if about.st_uid != user {
        return Err(SpoolError::Owner { path, owner: about.st_uid, user });
    }
    let mode = about.st_mode & 0o7777;
    if mode & 0o077 != 0 {
        return Err(SpoolError::Mode { path, mode });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use tempfile::tempdir;

    use super::*;

    const MOST: u64 = 1 << 20;

    fn payload(text: &str) -> Payload {
        Payload { documents: 2, bytes: text.as_bytes().to_vec() }
    }

    fn drain(spool: &mut Spool) -> Vec<String> {
        let mut texts = Vec::new();
        while let Some((place, payload)) = spool.front() {
            texts.push(String::from_utf8(payload.bytes).unwrap());
            spool.remove(place);
        }
        texts
    }

    #[test]
    fn only_the_agent_can_look_into_its_spool() {
        let above = tempdir().unwrap();
        let directory = above.path().join("new/spool");
        Spool::open(&directory, "sink", MOST).unwrap().append(&payload("secret")).unwrap();
        for path in [&directory, &directory.join("sink")] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o7777, 0o700);
        }
        for entry in fs::read_dir(directory.join("sink")).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        }
    }

    #[test]
    fn a_directory_that_is_not_the_agents_own_is_refused_with_what_to_do() {
        let above = tempdir().unwrap();
        let refused = |path: &Path| Spool::open(path, "sink", MOST).unwrap_err().to_string();
        let open = above.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(refused(&open).contains("chmod 700"));
        let foreign = above.path().join("foreign");
        DirBuilder::new().mode(0o700).create(&foreign).unwrap();
        fs::write(foreign.join("thesis.tex"), "").unwrap();
        assert!(refused(&foreign).contains("no spool"));
        let link = above.path().join("link");
        let directory = above.path().join("own");
        drop(Spool::open(&directory, "sink", MOST).unwrap());
        symlink(&directory, &link).unwrap();
        assert!(refused(&link).contains("cannot be used"));
        symlink(&foreign, directory.join("other")).unwrap();
        assert!(Spool::open(&directory, "other", MOST).is_err());
        if geteuid().is_root() {
            std::os::unix::fs::chown(&directory, Some(12345), None).unwrap();
            assert!(refused(&directory).contains("belongs to user 12345"));
        }
    }

    #[test]
    fn two_agents_do_not_share_a_spool() {
        let above = tempdir().unwrap();
        let first = Spool::open(&above.path().join("spool"), "sink", MOST).unwrap();
        let second = || Spool::open(&above.path().join("spool"), "sink", MOST);
        assert!(matches!(second(), Err(SpoolError::Busy { .. })));
        drop(first);
        second().unwrap();
    }

    #[test]
    fn damaged_frames_are_left_out_and_counted_and_the_others_are_kept() {
        let above = tempdir().unwrap();
        let directory = above.path().join("spool");
        let mut spool = Spool::open(&directory, "sink", MOST).unwrap();
        for text in ["first", "second", "third", "fourth"] {
            spool.append(&payload(text)).unwrap();
        }
        let path = directory.join("sink").join(name_of(MIDDLE));
        drop(spool);
        let mut bytes = fs::read(&path).unwrap();
        let second = bytes.windows(6).position(|window| window == b"second").unwrap();
        bytes[second] ^= 1;
        bytes.truncate(bytes.len() - 1);
        fs::write(&path, bytes).unwrap();
        let mut spool = Spool::open(&directory, "sink", MOST).unwrap();
        assert_eq!((spool.take_lost(), spool.documents()), (4, 4));
        assert_eq!(drain(&mut spool), ["first", "third"]);
        assert!(spool.is_empty() && !path.exists());
    }

    #[test]
    fn any_bytes_in_the_place_of_a_segment_are_survived() {
        let above = tempdir().unwrap();
        let directory = above.path().join("spool");
        drop(Spool::open(&directory, "sink", MOST).unwrap());
        let path = directory.join("sink").join(name_of(u64::MAX));
        for seed in 0..200_u64 {
            let bytes: Vec<u8> = (0..seed).map(|index| (index * seed % 251) as u8).collect();
            fs::write(&path, bytes).unwrap();
            let mut spool = Spool::open(&directory, "sink", MOST).unwrap();
            assert_eq!(spool.take_lost(), u64::from(seed > 0));
            assert!(drain(&mut spool).is_empty());
        }
    }

    #[test]
    fn a_full_disk_leaves_the_spool_as_it_was() {
        let above = tempdir().unwrap();
        let mut spool = Spool::open(&above.path().join("spool"), "sink", MOST).unwrap();
        spool.append(&payload("first")).unwrap();
        let segment = spool.segments.back_mut().unwrap();
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let sound = std::mem::replace(&mut segment.file, full);
        assert_eq!(spool.append(&payload("second")).unwrap_err().kind(), io::ErrorKind::StorageFull);
        spool.segments.back_mut().unwrap().file = sound;
        spool.append(&payload("third")).unwrap();
        assert_eq!(drain(&mut spool), ["first", "third"]);
    }
}
