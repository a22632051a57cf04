//! Collects files of a tree within bounds: each under its real path, with the symbolic links that lead there.
//!
//! A path that does not exist is skipped. One that exists and cannot be read is listed with the reason. Only regular files
//! are opened, so that neither a pipe nor a device can block.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path};

use ioassay_protocol::snapshot::Unreadable;
use nix::errno::Errno;

use super::archive::Archive;
use super::pattern;
use super::secrets;
use crate::text::listed;

/// Where the archive keeps the tree.
const ROOT: &str = "root";

/// How many symbolic links a path may lead through, as in the kernel.
const MOST_LINKS: u32 = 40;

/// How many paths are listed as unreadable.
const MOST_LISTED: usize = 10_000;

/// Files that identify a device or a host, which tuning has no use for.
const IDENTITIES: [&str; 18] = [
    "address",
    "eui",
    "hostid",
    "hostnqn",
    "nguid",
    "node_guid",
    "perm_address",
    "port_guid",
    "port_name",
    "node_name",
    "sas_address",
    "serial",
    "serial_number",
    "subsysnqn",
    "sys_image_guid",
    "unique_id",
    "uuid",
    "wwid",
];

/// How much an archive may hold.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of a file; the rest of it is cut off.
    pub file_bytes: usize,
    /// Bytes of all files.
    pub total_bytes: usize,
    /// Number of files.
    pub files: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { file_bytes: 256 << 10, total_bytes: 64 << 20, files: 100_000 }
    }
}

/// What has been collected of the tree below a root. Paths are relative to it, without a leading slash.
pub struct Collector<'a> {
    root: &'a Path,
    bounds: Bounds,
    archive: Archive,
    total_bytes: usize,
    unreadable: BTreeMap<String, String>,
    /// Real paths of those that have been resolved; `None` for one that leads nowhere.
    resolved: HashMap<String, Option<String>>,
}

impl<'a> Collector<'a> {
    /// An empty one.
    pub fn new(root: &'a Path, bounds: Bounds) -> Self {
        Self {
            root,
            bounds,
            archive: Archive::default(),
            total_bytes: 0,
            unreadable: BTreeMap::new(),
            resolved: HashMap::new(),
        }
    }

    /// Collects the files that match `pattern` (see [`pattern`]). Directories among names that stand for several files are
    /// skipped.
    pub fn matching(&mut self, pattern: &str) {
        let (above, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        for directory in self.paths(above) {
            let is_listed = pattern::is_listed(name);
            for file in self.paths_in(&directory, name) {
                if !is_listed || !self.is_directory(&file) {
                    self.file(&file);
                }
            }
        }
    }

    /// Collects a file.
    pub fn file(&mut self, path: &str) {
        if identifies(path) || path.rsplit('/').next().is_some_and(secrets::is_secret_key) {
            return;
        }
        let Some(real) = self.real(path) else { return };
        if self.archive.files.contains_key(&in_archive(&real)) || self.unreadable.contains_key(&real) {
            return;
        }
        match self.read(&real) {
            Ok(Some((bytes, is_whole))) => {
                if !is_whole {
                    self.list(&real, format!("cut off after {} bytes", self.bounds.file_bytes));
                }
                self.add(&in_archive(&real), &real, bytes);
            }
            Ok(None) => {}
            Err(reason) => self.list(&real, reason),
        }
    }

    /// Adds a file of the archive, unless it exceeds the bounds. `listed` is what it is called then.
    pub fn add(&mut self, name: &str, listed: &str, bytes: Vec<u8>) -> bool {
        let fits = self.archive.files.len() < self.bounds.files
            && self.total_bytes.saturating_add(bytes.len()) <= self.bounds.total_bytes;
        if fits {
            self.total_bytes += bytes.len();
            self.archive.files.insert(name.to_owned(), bytes);
        } else {
            let Bounds { total_bytes, files, .. } = self.bounds;
            self.list(listed, format!("left out: an archive holds at most {files} files and {total_bytes} bytes"));
        }
        fits
    }

    /// The bounds.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Every path that matches `pattern`.
    pub fn paths(&mut self, pattern: &str) -> Vec<String> {
        let components = pattern.split('/').filter(|component| !component.is_empty());
        components.fold(vec![String::new()], |paths, component| {
            paths.iter().flat_map(|path| self.paths_in(path, component)).collect()
        })
    }

    /// What matches one component of a pattern in `directory`. Names without `*` need not exist.
    fn paths_in(&mut self, directory: &str, component: &str) -> Vec<String> {
        if !pattern::is_listed(component) {
            return pattern::alternatives(component).map(|name| join(directory, name)).collect();
        }
        let names = self.names(directory);
        names.iter().filter(|name| pattern::matches(component, name)).map(|name| join(directory, name)).collect()
    }

    /// The names in a directory; none where it does not exist.
    pub fn names(&mut self, directory: &str) -> Vec<String> {
        let Some(real) = self.real(directory) else { return Vec::new() };
        let listed = listed(self.root, &real).unwrap_or_else(|error| {
            if !is_absent(&error) {
                self.list(&real, reason(&error));
            }
            Vec::new()
        });
        // Names that are no text cannot be members of the archive.
        let names = listed.into_iter().map(|(name, _)| name);
        names.filter(|name| !name.contains(char::REPLACEMENT_CHARACTER)).collect()
    }

    /// Collects a symbolic link. A directory that it leads to becomes one of the archive.
    pub fn link(&mut self, path: &str) {
        self.real(path);
    }

    /// The path without symbolic links, which are collected. `None` where it does not exist.
    pub fn real(&mut self, path: &str) -> Option<String> {
        self.resolve(path, 0)
    }

    /// True for a directory, or a link to one.
    pub fn is_directory(&mut self, path: &str) -> bool {
        self.about(path).is_some_and(|about| about.is_dir())
    }

    /// True for what is itself a symbolic link.
    pub fn is_link(&self, path: &str) -> bool {
        fs::symlink_metadata(self.root.join(path)).is_ok_and(|about| about.is_symlink())
    }

    /// True for what exists.
    pub fn exists(&mut self, path: &str) -> bool {
        self.about(path).is_some()
    }

    /// What was collected, and what could not be.
    pub fn finish(self) -> (Archive, Vec<Unreadable>) {
        let listed = self.unreadable.into_iter().map(|(path, reason)| Unreadable { path, reason });
        (self.archive, listed.collect())
    }

    /// Lists `path` as unreadable.
    pub fn list(&mut self, path: &str, reason: String) {
        if self.unreadable.len() < MOST_LISTED {
            self.unreadable.entry(path.to_owned()).or_insert(reason);
        } else {
            self.unreadable.insert("…".to_owned(), format!("more than {MOST_LISTED} paths could not be read"));
        }
    }

    fn about(&mut self, path: &str) -> Option<Metadata> {
        let real = self.real(path)?;
        fs::symlink_metadata(self.root.join(real)).ok()
    }

    fn resolve(&mut self, path: &str, links: u32) -> Option<String> {
        if path.is_empty() {
            return Some(String::new());
        }
        if let Some(known) = self.resolved.get(path) {
            return known.clone();
        }
        let real = self.resolve_anew(path, links);
        self.resolved.insert(path.to_owned(), real.clone());
        real
    }

    fn resolve_anew(&mut self, path: &str, links: u32) -> Option<String> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let above = self.resolve(above, links)?;
        let here = join(&above, name);
        let full = self.root.join(&here);
        let looked = fs::symlink_metadata(&full).and_then(|about| {
            // It leads to a number, which says nothing of the node.
            let is_followed = about.is_symlink() && here != "proc/self";
            is_followed.then(|| fs::read_link(&full)).transpose()
        });
        match looked {
            Ok(None) => Some(here),
            Ok(Some(target)) => {
                if links >= MOST_LINKS {
                    self.list(&here, Errno::ELOOP.desc().to_owned());
                    return None;
                }
                let target = absolute(&above, &target)?;
                self.archive.links.insert(in_archive(&here), relative(&above, &target));
                let real = self.resolve(&target, links + 1)?;
                if fs::symlink_metadata(self.root.join(&real)).is_ok_and(|about| about.is_dir()) {
                    self.archive.directories.insert(in_archive(&real));
                }
                Some(real)
            }
            Err(error) => {
                if !is_absent(&error) {
                    self.list(&here, reason(&error));
                }
                None
            }
        }
    }

    /// What is in a file, without its secrets, and whether that is all of it. `None` for one that can only be written.
    fn read(&self, real: &str) -> Result<Option<(Vec<u8>, bool)>, String> {
        // Administrators switch a configuration file off by a link to it.
        if real == "dev/null" {
            return Ok(Some((Vec::new(), true)));
        }
        let full = self.root.join(real);
        let check = |about: io::Result<Metadata>| {
            let about = about.map_err(|error| reason(&error))?;
            if about.is_file() { Ok(about) } else { Err("not a regular file".to_owned()) }
        };
        let about = check(fs::symlink_metadata(&full))?;
        if about.permissions().mode() & 0o444 == 0 {
            return Ok(None);
        }
        let file = open(&full).map_err(|error| reason(&error))?;
        check(file.metadata())?;
        let mut bytes = Vec::new();
        let most = self.bounds.file_bytes;
        file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|error| reason(&error))?;
        let is_whole = bytes.len() <= most;
        bytes.truncate(most);
        let text = String::from_utf8_lossy(&bytes);
        Ok(Some((secrets::redacted(&text).into_bytes(), is_whole)))
    }
}

fn open(path: &Path) -> io::Result<File> {
    // What was a regular file a moment ago may be a pipe by now.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// What the archive calls a path of the tree.
fn in_archive(path: &str) -> String {
    join(ROOT, path)
}

/// True for a file that identifies a device. Of the device mapper the identity tells what kind of a device it is.
fn identifies(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    IDENTITIES.contains(&name) && !path.ends_with("/dm/uuid")
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

/// Where a link in the directory `above` leads to, from the root. A link cannot lead above that.
fn absolute(above: &str, target: &Path) -> Option<String> {
    let mut parts: Vec<&str> = above.split('/').filter(|part| !part.is_empty()).collect();
    for component in target.components() {
        match component {
            Component::RootDir => parts.clear(),
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Some(parts.join("/"))
}

/// The path `target` as seen from the directory `above`.
fn relative(above: &str, target: &str) -> String {
    let parts = |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (from, to) = (parts(above), parts(target));
    let shared = from.iter().zip(&to).take_while(|(part, other)| part == other).count();
    let up = std::iter::repeat_n("..".to_owned(), from.len() - shared);
    let way: Vec<String> = up.chain(to[shared..].iter().cloned()).collect();
    if way.is_empty() { ".".to_owned() } else { way.join("/") }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// An error in the system's words, without its number.
pub fn reason(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), |code| Errno::from_raw(code).desc().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;
    use crate::text::tree;

    fn collected(root: &Path, patterns: &[&str]) -> (Archive, Vec<Unreadable>) {
        let mut collector = Collector::new(root, Bounds::default());
        patterns.iter().for_each(|pattern| collector.matching(pattern));
        collector.finish()
    }

    fn listed(path: &str, reason: &str) -> Unreadable {
        Unreadable { path: path.to_owned(), reason: reason.to_owned() }
    }

    #[test]
    fn a_file_lies_under_its_real_path_and_the_links_lead_there() {
        let root = tree(&[("sys/devices/pci0/block/sda/queue/scheduler", "[none] kyber\n")]);
        fs::create_dir_all(root.path().join("sys/block")).unwrap();
        symlink("../devices/pci0/block/sda", root.path().join("sys/block/sda")).unwrap();
        symlink("/sys/block/sda/queue", root.path().join("queue")).unwrap();
        let (archive, unreadable) = collected(root.path(), &["sys/block/*/queue/*", "queue/scheduler"]);
        assert_eq!(archive.files["root/sys/devices/pci0/block/sda/queue/scheduler"], b"[none] kyber\n");
        assert_eq!(archive.files.len(), 1);
        assert_eq!(archive.links["root/sys/block/sda"], "../devices/pci0/block/sda");
        assert_eq!(archive.links["root/queue"], "sys/block/sda/queue");
        assert_eq!(unreadable, []);
    }

    #[test]
    fn what_is_missing_is_absent_and_what_is_no_regular_file_is_listed_and_never_opened() {
        let root = tree(&[("etc/modprobe.d/a.conf", "options nvme poll_queues=4\n"), ("etc/fstab/inner", "")]);
        let pipe = root.path().join("etc/modprobe.d/pipe.conf");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let (sender, answer) = std::sync::mpsc::channel();
        let path = root.path().to_owned();
        std::thread::spawn(move || sender.send(collected(&path, &["etc/modprobe.d/*", "etc/fstab", "etc/exports"])));
        let (archive, unreadable) = answer.recv_timeout(Duration::from_secs(10)).expect("it waits for the pipe");
        assert_eq!(archive.files.keys().collect::<Vec<_>>(), ["root/etc/modprobe.d/a.conf"]);
        let wanted = ["etc/fstab", "etc/modprobe.d/pipe.conf"].map(|path| listed(path, "not a regular file"));
        assert_eq!(unreadable, wanted);
    }

    #[test]
    fn an_error_of_the_kernel_is_listed_in_its_words() {
        // The link of an interface to itself has no speed.
        let (archive, unreadable) = collected(Path::new("/"), &["sys/class/net/lo/{mtu,speed}"]);
        assert!(archive.files.contains_key("root/sys/devices/virtual/net/lo/mtu"), "{:?}", archive.files.keys());
        assert_eq!(unreadable, [listed("sys/devices/virtual/net/lo/speed", "Invalid argument")]);
    }

    #[test]
    fn links_that_lead_in_a_circle_are_listed() {
        let root = tree(&[]);
        symlink("b", root.path().join("a")).unwrap();
        symlink("a", root.path().join("b")).unwrap();
        let (archive, unreadable) = collected(root.path(), &["a"]);
        assert!(archive.files.is_empty());
        assert!(unreadable.iter().all(|listed| listed.reason.contains("symbolic links")), "{unreadable:?}");
        assert_eq!(unreadable.len(), 1);
    }

    #[test]
    fn a_configuration_file_that_is_switched_off_is_empty() {
        let root = tree(&[("dev/zero", "")]);
        fs::create_dir_all(root.path().join("etc/udev/rules.d")).unwrap();
        symlink("/dev/null", root.path().join("etc/udev/rules.d/60.rules")).unwrap();
        fs::write(root.path().join("dev/null"), "").unwrap();
        let (archive, unreadable) = collected(root.path(), &["etc/udev/rules.d/*"]);
        assert_eq!(archive.links["root/etc/udev/rules.d/60.rules"], "../../../dev/null");
        assert_eq!((archive.files["root/dev/null"].as_slice(), unreadable), (&b""[..], Vec::new()));
    }

    #[test]
    fn a_link_cannot_lead_out_of_the_tree() {
        let root = tree(&[("etc/real", "x\n")]);
        symlink("../../../../etc/real", root.path().join("etc/alias")).unwrap();
        let (archive, _) = collected(root.path(), &["etc/alias"]);
        assert_eq!(archive.links["root/etc/alias"], "real");
        assert_eq!(archive.files["root/etc/real"], b"x\n");
    }

    #[test]
    fn serial_numbers_and_addresses_stay_on_the_node() {
        let root = tree(&[
            ("sys/block/dm-0/dm/uuid", "mpath-3600a0980\n"),
            ("sys/block/dm-0/dm/name", "data\n"),
            ("sys/block/sda/device/wwid", "naa.5000c500\n"),
            ("sys/block/sda/device/model", "ST18000NM\n"),
            ("sys/block/sda/serial", "ZR5\n"),
            ("sys/class/nvme/nvme0/dhchap_secret", "DHHC-1:00:x:\n"),
        ]);
        let (archive, unreadable) = collected(root.path(), &["sys/block/*/*", "sys/block/*/*/*", "sys/class/nvme/*/*"]);
        let names: Vec<&str> = archive.files.keys().map(|name| name.rsplit('/').next().unwrap()).collect();
        assert_eq!(names, ["name", "uuid", "model"]);
        assert_eq!(unreadable, []);
    }

    #[test]
    fn what_exceeds_a_bound_is_cut_off_or_left_out_and_listed() {
        let root = tree(&[("a", "0123456789"), ("b", "0123"), ("c", "01"), ("d", "0")]);
        let bounds = Bounds { file_bytes: 8, total_bytes: 13, files: 2 };
        let mut collector = Collector::new(root.path(), bounds);
        collector.matching("*");
        let (archive, unreadable) = collector.finish();
        assert_eq!(archive.files["root/a"], b"01234567");
        assert_eq!(archive.files["root/b"], b"0123");
        let left_out = "left out: an archive holds at most 2 files and 13 bytes";
        let wanted = [listed("a", "cut off after 8 bytes"), listed("c", left_out), listed("d", left_out)];
        assert_eq!(unreadable, wanted);
    }
}
