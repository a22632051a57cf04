//! The kernel's NFS server: bytes and operations of all clients (`/proc/net/rpc/nfsd`), bytes of each export by client
//! (`/proc/fs/nfsd/export_stats`, where the kernel has it), and NFSv4 clients (`/proc/fs/nfsd/clients`).
//!
//! Formats, from Linux's source: `nfsd_show` of fs/nfsd/stats.c, `svc_seq_show` of net/sunrpc/stats.c, `svc_export_show` of
//! fs/nfsd/export.c. The order of NFSv3's operations is that of RFC 1813, of NFSv4's that of their numbers in RFC 7530 and
//! RFC 8881. NFS requests have no job ids, so that a server cannot tell jobs apart, only clients.
//!
//! Tried with made-up files in these formats, not with a running server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io};

use super::Activity;
use super::work::{Ledger, Shares, Work};

/// NFSv3's operations, in order.
const OPERATIONS_3: [&str; 22] = [
    "null",
    "getattr",
    "setattr",
    "lookup",
    "access",
    "readlink",
    "read",
    "write",
    "create",
    "mkdir",
    "symlink",
    "mknod",
    "remove",
    "rmdir",
    "rename",
    "link",
    "readdir",
    "readdirplus",
    "fsstat",
    "fsinfo",
    "pathconf",
    "commit",
];

/// NFSv4's operations by number; those without a name are about sessions, layouts and file handles, not about files.
const OPERATIONS_4: [&str; 39] = [
    "",
    "",
    "",
    "access",
    "close",
    "commit",
    "create",
    "",
    "delegreturn",
    "getattr",
    "",
    "link",
    "lock",
    "",
    "unlock",
    "lookup",
    "",
    "",
    "open",
    "",
    "",
    "",
    "",
    "",
    "",
    "read",
    "readdir",
    "readlink",
    "remove",
    "rename",
    "",
    "",
    "",
    "",
    "setattr",
    "",
    "",
    "",
    "write",
];

/// The NFS server of a node.
#[derive(Debug)]
pub struct Nfs {
    root: PathBuf,
    all: Ledger,
    exports: BTreeMap<String, Export>,
    read: Option<Instant>,
}

#[derive(Debug, Default)]
struct Export {
    clients: Ledger,
}

impl Nfs {
    /// That below `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), all: Ledger::default(), exports: BTreeMap::new(), read: None }
    }

    /// What was done since the reading before: by all clients, and on each export.
    pub fn read(&mut self, named: usize) -> Vec<Activity> {
        let Ok(text) = fs::read_to_string(self.root.join("proc/net/rpc/nfsd")) else {
            // Not loaded: what it counted before is gone.
            *self = Self::new(&self.root);
            return Vec::new();
        };
        let now = Instant::now();
        let before = self.read.replace(now);
        self.all.begin();
        self.all.note("", 0, all_clients(&text));
        let done = self.all.end(1);
        let exports = self.read_exports(named);
        let Some(before) = before else { return Vec::new() };
        let clients = fs::read_dir(self.root.join("proc/fs/nfsd/clients")).ok().map(Iterator::count);
        let activity = |service, target: &str, total| Activity {
            service,
            file_system: String::new(),
            target: target.to_owned(),
            over: now - before,
            total,
            jobs: None,
            known_clients: None,
            clients: None,
            sizes: Vec::new(),
        };
        let server = Activity { known_clients: clients, ..activity("NFS server", "all", done.total()) };
        let exports = exports.into_iter().map(|(path, shares)| Activity {
            known_clients: Some(shares.present),
            ..Activity { clients: Some(shares.clone()), ..activity("NFS export", &path, shares.total()) }
        });
        std::iter::once(server).chain(exports).collect()
    }

    fn read_exports(&mut self, named: usize) -> Vec<(String, Shares)> {
        let text: io::Result<String> = fs::read_to_string(self.root.join("proc/fs/nfsd/export_stats"));
        let Ok(text) = text else { return Vec::new() };
        let is_first = self.exports.is_empty();
        let mut clients_of: BTreeMap<String, Vec<(String, u64, Work)>> = BTreeMap::new();
        for (path, client, start, work) in export_stats(&text) {
            clients_of.entry(path).or_default().push((client, start, work));
        }
        self.exports.retain(|path, _| clients_of.contains_key(path));
        let mut shares = Vec::new();
        for (path, clients) in clients_of {
            let export = self.exports.entry(path.clone()).or_insert_with(|| {
                let mut new = Export::default();
                if !is_first {
                    // It came meanwhile, and has counted from nothing.
                    new.clients.begin();
                }
                new
            });
            export.clients.begin();
            clients.into_iter().for_each(|(client, start, work)| export.clients.note(&client, start, work));
            shares.push((path, export.clients.end(named)));
        }
        shares
    }
}

/// What all clients did: `io READ WRITTEN`, `proc3 22 …`, `proc4ops 76 …`.
fn all_clients(text: &str) -> Work {
    let mut work = Work::default();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let name = words.next().unwrap_or_default();
        let mut numbers = words.map(|word| word.parse::<u64>().unwrap_or_default());
        let names: &[&'static str] = match name {
            "io" => {
                work.read_bytes = numbers.next().unwrap_or_default();
                work.write_bytes = numbers.next().unwrap_or_default();
                continue;
            }
            "proc3" => &OPERATIONS_3,
            "proc4ops" => &OPERATIONS_4,
            _ => continue,
        };
        // The first number is how many follow.
        for (operation, number) in names.iter().zip(numbers.skip(1)).filter(|(_, number)| *number > 0) {
            match *operation {
                "" => {}
                "read" => work.reads += number,
                "write" => work.writes += number,
                other => work.add(&Work { operations: vec![(other, number)], ..Work::default() }),
            }
        }
    }
    work
}

/// Path, client, start and counters of each export: the first three with tabs between them, and below, each behind a tab,
/// `io_read: 10` and `io_write: 20`.
fn export_stats(text: &str) -> Vec<(String, String, u64, Work)> {
    let mut exports: Vec<(String, String, u64, Work)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(counter) = line.strip_prefix('\t') {
            let (Some((name, number)), Some((_, _, _, work))) = (counter.split_once(": "), exports.last_mut()) else {
                continue;
            };
            let number = number.trim().parse().unwrap_or_default();
            match name {
                "io_read" => work.read_bytes = number,
                "io_write" => work.write_bytes = number,
                _ => {}
            }
        } else if let [path, client, start] = line.split('\t').collect::<Vec<_>>()[..] {
            let start = start.trim().parse().unwrap_or_default();
            exports.push((unescaped(path), unescaped(client), start, Work::default()));
        }
    }
    exports
}

/// What `seq_path` and `seq_escape` wrote with `\NNN` for spaces, tabs, line ends and backslashes.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = rest.strip_prefix(b"\\").and_then(|digits| digits.get(..3));
        let escaped = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &rest[4..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_both_versions_are_counted_by_name() {
        let text = "\
rc 0 10 20
fh 0 0 0 0 0
io 4096 8192
th 8 0 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000
ra 0 0 0 0 0 0 0 0 0 0 0 0
net 10 0 10 1
rpc 10 0 0 0 0
proc3 22 1 2 3 4 5 6 7 8 9 0 0 0 10 0 0 0 0 0 0 0 0 11
proc4 2 1 100
proc4ops 76 0 0 0 1 2 3 0 0 0 9 90 0 0 0 0 0 0 0 5 0 0 0 99 0 0 20 0 0 4 0 0 0 0 0 6 0 0 0 30 0 0 0 0
";
        let work = all_clients(text);
        assert_eq!((work.read_bytes, work.write_bytes, work.reads, work.writes), (4096, 8192, 27, 38));
        let number = |name: &str| work.operations.iter().find(|(other, _)| *other == name).map(|(_, number)| *number);
        assert_eq!(
            ["getattr", "remove", "open", "commit", "lookup", "close"].map(number),
            [Some(11), Some(14), Some(5), Some(14), Some(4), Some(2)]
        );
        assert_eq!(all_clients(""), Work::default());
        assert_eq!(all_clients("io\nproc3\nproc4ops 99\nproc3 22 x y\n"), Work::default());
    }

    const EXPORTS: &str = "\
# Version 1.1
# Path Client Start-time
#\tStats
/export/my\\040home\t*.site\\011a\t1234
\tfh_stale: 0
\tio_read: READ
\tio_write: 20

/export/my\\040home\tn1\t1234
\tfh_stale: 0
\tio_read: 5
\tio_write: 0
";

    #[test]
    fn exports_are_distinguished_by_path_and_client() {
        let root = tempfile::tempdir().unwrap();
        let write = |read: u64| {
            for (name, text) in [
                ("proc/net/rpc/nfsd", format!("io {} 20\n", read + 5)),
                ("proc/fs/nfsd/export_stats", EXPORTS.replace("READ", &read.to_string())),
                ("proc/fs/nfsd/clients/3/info", String::new()),
            ] {
                let path = root.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        };
        let mut nfs = Nfs::new(root.path());
        assert!(nfs.read(20).is_empty());
        write(1000);
        assert!(nfs.read(20).is_empty());
        write(1500);
        let [server, export] = &nfs.read(20)[..] else { panic!() };
        assert_eq!((server.target.as_str(), server.total.read_bytes, server.known_clients), ("all", 500, Some(1)));
        assert_eq!((export.target.as_str(), export.total.read_bytes), ("/export/my home", 500));
        let clients = export.clients.as_ref().unwrap();
        assert_eq!((clients.named[0].0.as_str(), clients.named.len(), clients.present), ("*.site\ta", 1, 2));
    }
}
