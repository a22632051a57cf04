//! The other ways in which the files of a rule's path are known on this node: where its symbolic links lead, where it is on the
//! device that is mounted there, and which inode it is.
//!
//! A thread of its own asks the kernel: a server that does not answer must not stop the agent. A path that does not
//! exist yet is known as far as it does. Paths are resolved again once a second; of very many, a part of them each
//! second, round-robin.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use ioassay_record::rules::{Alias, AliasBy};

/// How long the first recorders wait for what is found out of new paths.
const PATIENCE: Duration = Duration::from_millis(300);

/// Paths that are resolved again in a second.
const MOST_IN_A_SECOND: usize = 256;

/// What is known of paths.
type AliasesByPath = BTreeMap<String, Vec<AliasBy<Vec<u8>>>>;

/// What was found since the last time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum News {
    /// What was known already.
    None,
    /// Something has changed.
    Changed,
    /// What is known of paths that were not looked up before: files may be open by other names of theirs.
    New,
}

/// Looks paths up.
#[derive(Debug, Default)]
pub struct Aliases {
    known: AliasesByPath,
    /// Who looks them up; nobody before the first.
    resolver: Option<AliasResolver>,
    waits: bool,
    /// Where the next look begins, where there are too many paths to look at all of them.
    next: usize,
}

/// A thread: where paths are given to it, and where answers come from.
#[derive(Debug)]
struct AliasResolver {
    paths: SyncSender<Vec<String>>,
    answers: Receiver<AliasesByPath>,
}

impl AliasResolver {
    /// Nothing where no thread can be started.
    fn start() -> Option<Self> {
        let (paths, asked) = sync_channel::<Vec<String>>(1);
        let (answer, answers) = sync_channel(1);
        let look = move || {
            for paths in asked {
                let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
                let resolved =
                    paths.into_iter().map(|path| (path.clone(), aliases(Path::new(&path), &mounts))).collect();
                if answer.send(resolved).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("paths of rules".to_owned()).spawn(look).ok()?;
        Some(Self { paths, answers })
    }
}

impl Aliases {
    /// Looks paths up, of very many those that are not known, and waits for what comes of it, though not for ever.
    pub fn find(&mut self, paths: &[String]) {
        self.take_answer(PATIENCE);
        if self.known.len() > paths.len() {
            let of_rules: HashSet<&String> = paths.iter().collect();
            self.known.retain(|path, _| of_rules.contains(path));
        }
        let is_new = |path: &&String| paths.len() <= MOST_IN_A_SECOND || !self.known.contains_key(*path);
        self.ask(paths.iter().filter(is_new).cloned().collect());
        self.take_answer(PATIENCE);
    }

    /// Has paths looked up. What was found since the last time.
    pub fn look(&mut self, paths: &[String]) -> News {
        let news = self.take_answer(Duration::ZERO);
        if !self.waits {
            let begin = if self.next < paths.len() { self.next } else { 0 };
            let end = paths.len().min(begin + MOST_IN_A_SECOND);
            self.ask(paths[begin..end].to_vec());
            self.next = end;
        }
        news
    }

    /// Of a path.
    pub fn of(&self, path: &str) -> &[AliasBy<Vec<u8>>] {
        self.known.get(path).map_or(&[], Vec::as_slice)
    }

    fn ask(&mut self, paths: Vec<String>) {
        if paths.is_empty() || self.waits {
            return;
        }
        if self.resolver.is_none() {
            self.resolver = AliasResolver::start();
        }
        match self.resolver.as_ref().map(|resolver| resolver.paths.try_send(paths)) {
            Some(Ok(())) => self.waits = true,
            Some(Err(TrySendError::Disconnected(_))) => self.resolver = None,
            Some(Err(TrySendError::Full(_))) | None => {}
        }
    }

    fn take_answer(&mut self, patience: Duration) -> News {
        let Some(resolver) = self.resolver.as_ref().filter(|_| self.waits) else { return News::None };
        let Ok(known) = resolver.answers.recv_timeout(patience) else { return News::None };
        self.waits = false;
        let mut news = News::None;
        for (path, aliases) in known {
            news = news.max(match self.known.get(&path) {
                None => News::New,
                Some(known) if *known != aliases => News::Changed,
                Some(_) => News::None,
            });
            self.known.insert(path, aliases);
        }
        news
    }
}

/// What is identities out of a rule's path, as the kernel lists mounts.
fn aliases(path: &Path, mounts: &[u8]) -> Vec<AliasBy<Vec<u8>>> {
    let (fixed, pattern) = split(path);
    let real = real_path(&fixed);
    let whole = |begin: &Path| {
        let whole = if pattern.as_os_str().is_empty() { begin.to_owned() } else { begin.join(&pattern) };
        whole.into_os_string().into_vec()
    };
    let mut identities = Vec::new();
    if whole(&real) != path.as_os_str().as_bytes() {
        identities.push(AliasBy::Path(whole(&real)));
    }
    if let Some((device, on_device)) = on_device(&real, mounts) {
        identities.push(AliasBy::PathOnDevice(device, whole(&on_device)));
    }
    if pattern.as_os_str().is_empty()
        && let Ok(about) = fs::metadata(&real)
        && about.is_file()
    {
        identities.push(AliasBy::Inode(about.dev(), about.ino()));
    }
    identities
}

/// A path up to the first component that is a pattern, and the rest.
fn split(path: &Path) -> (PathBuf, PathBuf) {
    let is_pattern = |component: &Component| component.as_os_str().as_bytes().iter().any(|byte| b"*?".contains(byte));
    let components: Vec<Component> = path.components().collect();
    let first = components.iter().position(is_pattern).unwrap_or(components.len());
    (components[..first].iter().collect(), components[first..].iter().collect())
}

/// Where a path leads, of which the last components need not exist.
fn real_path(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let Ok(real) = fs::canonicalize(existing) {
            let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

/// The device that a real path is on, and the path from that one's root.
fn on_device(path: &Path, mounts: &[u8]) -> Option<(u64, PathBuf)> {
    let lines = mounts.split(|&byte| byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|&byte| byte == b' ').skip(2);
        let (device, root, point) = (fields.next()?, fields.next()?, fields.next()?);
        let rest = path.strip_prefix(unescaped(point)).ok()?.to_owned();
        Some((device, unescaped(root), rest))
    });
    // Of mounts over one another, the last is the one that is seen.
    let (device, root, rest) = lines.reduce(|best, other| {
        let depth = |rest: &Path| rest.components().count();
        if depth(&other.2) <= depth(&best.2) { other } else { best }
    })?;
    let (major, minor) = std::str::from_utf8(device).ok()?.split_once(':')?;
    let device = libc::makedev(major.parse().ok()?, minor.parse().ok()?);
    Some((device, if rest.as_os_str().is_empty() { root } else { root.join(rest) }))
}

/// A path of the kernel's list, in which `\040` is a space.
fn unescaped(path: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let [first, others @ ..] = rest {
        let octal = others.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &others[3..];
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// The aliases of a rule's path for its slots.
pub fn for_slots(
    aliases: &[AliasBy<Vec<u8>>],
    slots: impl Iterator<Item = usize> + Clone,
) -> impl Iterator<Item = Alias<Vec<u8>>> {
    aliases.iter().flat_map(move |by| slots.clone().map(|slot| Alias { slot, by: by.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const MOUNTS: &[u8] = b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        30 22 8:2 / /data rw - xfs /dev/sdb rw\n\
        31 22 8:2 /sub/dir /with\\040space rw - xfs /dev/sdb rw\n\
        32 22 0:50 / /data rw - nfs server:/x rw\n";

    fn paths(aliases: &[AliasBy<Vec<u8>>]) -> Vec<String> {
        let path = |alias: &AliasBy<Vec<u8>>| match alias {
            AliasBy::Path(path) => Some(String::from_utf8(path.clone()).unwrap()),
            _ => None,
        };
        aliases.iter().filter_map(path).collect()
    }

    #[test]
    fn links_are_followed_up_to_the_first_pattern_and_as_far_as_there_are_files() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("link")).unwrap();
        let aliases_of = |path: &str| paths(&aliases(&root.join(path), b""));
        let real = |path: &str| vec![root.join("real").join(path).to_str().unwrap().to_owned()];
        assert_eq!(aliases_of("link/new/file"), real("new/file"));
        assert_eq!(aliases_of("link/*.h5"), real("*.h5"));
        assert_eq!(aliases_of("real/../link/x"), real("x"));
        assert_eq!(aliases_of("real/x"), Vec::<String>::new());
        fs::write(root.join("real/x"), "").unwrap();
        let inode = fs::metadata(root.join("real/x")).unwrap();
        assert!(aliases(&root.join("link/x"), b"").contains(&AliasBy::Inode(inode.dev(), inode.ino())));
    }

    #[test]
    fn a_path_is_on_the_device_of_the_mount_that_is_seen() {
        let device_path = |path: &str| {
            on_device(Path::new(path), MOUNTS).map(|(device, path)| (device, path.to_str().unwrap().to_owned()))
        };
        assert_eq!(device_path("/home/a"), Some((libc::makedev(8, 1), "/home/a".to_owned())));
        assert_eq!(device_path("/data"), Some((libc::makedev(0, 50), "/".to_owned())));
        assert_eq!(device_path("/with space/a"), Some((libc::makedev(8, 2), "/sub/dir/a".to_owned())));
        assert_eq!(on_device(Path::new("/x"), b"nonsense\n1 2 x / /\n"), None);
    }

    #[test]
    fn what_changes_is_found_with_the_next_look() {
        let place = tempfile::tempdir().unwrap();
        let link = place.path().join("link");
        let path = link.to_str().unwrap().to_owned();
        let mut aliases = Aliases::default();
        aliases.find(std::slice::from_ref(&path));
        let before = aliases.of(&path).to_vec();
        fs::create_dir(place.path().join("real")).unwrap();
        symlink("real", &link).unwrap();
        while aliases.look(std::slice::from_ref(&path)) != News::Changed {
            thread::yield_now();
        }
        assert_ne!(aliases.of(&path), before);
        assert!(paths(aliases.of(&path))[0].ends_with("/real"));
    }

    #[test]
    fn very_many_paths_are_looked_at_in_turn() {
        let place = tempfile::tempdir().unwrap();
        let path = |number: usize| place.path().join(number.to_string()).to_str().unwrap().to_owned();
        let all: Vec<_> = (0..3 * MOST_IN_A_SECOND + 1).map(path).collect();
        let mut aliases = Aliases::default();
        aliases.find(&all);
        while aliases.waits {
            aliases.take_answer(PATIENCE);
        }
        assert_eq!(aliases.known.len(), all.len());
        let last = &all[all.len() - 1];
        fs::create_dir(place.path().join("real")).unwrap();
        symlink("real", last).unwrap();
        let is_found = |aliases: &Aliases| paths(aliases.of(last)).iter().any(|path| path.ends_with("/real"));
        let mut looks = 0;
        while !is_found(&aliases) {
            aliases.look(&all);
            assert_ne!(aliases.take_answer(PATIENCE), News::New);
            looks += 1;
            assert!(looks < 100);
        }
        assert!(looks >= 4, "{looks}");
        aliases.find(&all[..1]);
        assert_eq!(aliases.known.len(), 1);
    }
}
