//! Lustre's servers: counters of OSTs and MDTs by job (`job_stats`), of all clients together (`stats`, `md_stats`), of each
//! client (`exports`), and sizes of requests (`brw_stats`).
//!
//! Formats, from Lustre's source of 2.8.0 to 2.17.0 (lustre/obdclass: `lprocfs_jobstats_seq_show` of lprocfs_jobstats.c,
//! `lprocfs_stats_seq_show` of lprocfs_status.c, `display_brw_stats` of lprocfs_status_server.c):
//!
//! * Job ids stand as they are, up to 2.15.1, with `?` for what cannot be printed. Later ones with special characters are in
//!   quotes, with `\xHH` for most of these.
//! * Operations are counted only, up to 2.13 (`unit: reqs`); later ones have times (`usecs`), and reads and writes are there
//!   twice: `read_bytes` and `read`. From 2.16 on `read_bytes` ends with a histogram.
//! * From 2.15 on entries say when they began (`start_time`). Until 2.15.1 `snapshot_time` is the uptime there (LU-16231).
//! * `stats` and `exports` are in /proc, from 2.17 on in debugfs; `brw_stats` is in debugfs from 2.15 on. `lctl get_param`
//!   looks in the same places (libcfs/libcfs/util/param.c), so that none is missed without it.
//!
//! Tried with made-up files in these formats, not with a running Lustre.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io};

use nix::unistd::{SysconfVar, sysconf};

use super::Activity;
use super::work::{Ledger, Work};

const PLACES: [&str; 3] = ["proc/fs/lustre", "sys/kernel/debug/lustre", "sys/fs/lustre"];

/// No file of a target is larger: 100,000 job ids take 200 MB.
const MOST_BYTES: u64 = 1 << 30;
const BUFFER_BYTES: usize = 256 << 10;
/// A longer line is none of these formats.
const MOST_LINE_BYTES: u64 = 64 << 10;
/// Files of clients that are read each time. Where there are more, clients are not counted one by one.
const MOST_CLIENTS: usize = 2048;

/// Operations of clients, but for reads and writes. Kinds of renames (`samedir_rename`, `crossdir_rename`, …) are counted as
/// `rename` too, and `preprw`, `commitrw` are the halves of reads and writes.
const OPERATIONS: [&str; 23] = [
    "open",
    "close",
    "getattr",
    "setattr",
    "getxattr",
    "setxattr",
    "punch",
    "sync",
    "create",
    "destroy",
    "mknod",
    "link",
    "unlink",
    "mkdir",
    "rmdir",
    "rename",
    "statfs",
    "get_info",
    "set_info",
    "quotactl",
    "prealloc",
    "fallocate",
    "migrate",
];

/// Histograms of `brw_stats` that are of sizes: how they begin, and what they are called here.
const SIZES: [(&str, &str); 2] = [("disk I/O size", "disk I/O"), ("pages per bulk r/w", "RPC")];

/// A kind of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Class {
    directory: &'static str,
    service: &'static str,
    /// The file with what all clients did.
    stats: &'static str,
}

const CLASSES: [Class; 2] = [
    Class { directory: "obdfilter", service: "Lustre OST", stats: "stats" },
    Class { directory: "mdt", service: "Lustre MDT", stats: "md_stats" },
];

/// The targets of a server.
#[derive(Debug)]
pub struct Lustre {
    root: PathBuf,
    targets: Vec<Target>,
    /// Why something was not read.
    pub problem: Option<String>,
}

#[derive(Debug)]
struct Target {
    class: Class,
    name: String,
    all: Ledger,
    jobs: Ledger,
    clients: Ledger,
    /// Reads and writes so far, by histogram and size.
    sizes: HashMap<(&'static str, u64), (u64, u64)>,
    read: Option<Instant>,
}

impl Lustre {
    /// Those below `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), targets: Vec::new(), problem: None }
    }

    /// What was done since the reading before, target by target.
    pub fn read(&mut self, named: usize) -> Vec<Activity> {
        self.problem = None;
        self.find();
        let exports: Vec<Vec<(String, PathBuf)>> =
            self.targets.iter().map(|target| exports(&self.root, target)).collect();
        let clients: usize = exports.iter().map(Vec::len).sum();
        let with_clients = clients <= MOST_CLIENTS;
        if !with_clients {
            self.problem = Some(format!(
                "{clients} exports of Lustre's targets: clients are not distinguished, at most {MOST_CLIENTS} are read"
            ));
        }
        let (root, problem) = (&self.root, &mut self.problem);
        let read = self.targets.iter_mut().zip(exports);
        read.filter_map(|(target, exports)| target.read(root, &exports, with_clients, named, problem)).collect()
    }

    /// Targets come and go: a server may take over those of another.
    fn find(&mut self) {
        let mut there: Vec<(Class, String)> = Vec::new();
        for class in CLASSES {
            for place in PLACES {
                let directories = entries(&self.root.join(place).join(class.directory));
                let targets = directories.into_iter().filter(|(name, path)| is_target(name) && path.is_dir());
                for (name, _) in targets {
                    if !there.iter().any(|(other, known)| *other == class && *known == name) {
                        there.push((class, name));
                    }
                }
            }
        }
        self.targets.retain(|target| there.iter().any(|(class, name)| *class == target.class && *name == target.name));
        for (class, name) in there {
            if !self.targets.iter().any(|target| target.class == class && target.name == name) {
                self.targets.push(Target {
                    class,
                    name,
                    all: Ledger::default(),
                    jobs: Ledger::default(),
                    clients: Ledger::default(),
                    sizes: HashMap::new(),
                    read: None,
                });
            }
        }
    }
}

/// The entries of a directory with their names; none where it cannot be read.
fn entries(path: &Path) -> Vec<(String, PathBuf)> {
    let listed = fs::read_dir(path).into_iter().flatten().flatten();
    listed.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect()
}

/// Whether it is called as targets are: `scratch-OST0003`.
fn is_target(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(_, index)| index.starts_with("OST") || index.starts_with("MDT"))
}

impl Target {
    fn read(
        &mut self,
        root: &Path,
        exports: &[(String, PathBuf)],
        with_clients: bool,
        named: usize,
        problem: &mut Option<String>,
    ) -> Option<Activity> {
        let now = Instant::now();
        let before = self.read.replace(now);
        let file = |name: &str| {
            let places = PLACES.iter().map(|place| root.join(place).join(self.class.directory).join(&self.name));
            let opened: Option<io::Result<File>> = places
                .map(|place| File::open(place.join(name)))
                .find(|file| !file.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
            opened.transpose()
        };
        let mut note = |name: &str, read: io::Result<Option<()>>| match read {
            Ok(there) => there.is_some(),
            Err(error) => {
                *problem = Some(format!("{name} of {} cannot be read: {error}", self.name));
                false
            }
        };
        let opened = file(self.class.stats);
        self.all.begin();
        let all = &mut self.all;
        let has_total = note(
            self.class.stats,
            opened.and_then(|file| {
                file.map(|file| stats(file).map(|(start, work)| all.note("", start, work))).transpose()
            }),
        );
        let opened = file("job_stats");
        self.jobs.begin();
        let jobs = &mut self.jobs;
        let has_jobs = note(
            "job_stats",
            opened.and_then(|file| {
                file.map(|file| job_stats(file, |job, start, work| jobs.note(job, start, work))).transpose()
            }),
        );
        let sizes = self.sizes(root, before.is_none());
        self.clients.begin();
        if with_clients {
            for (client, path) in exports {
                // One that has gone meanwhile is nothing to complain of.
                let read = File::open(path.join("stats")).and_then(stats);
                if let Ok((start, work)) = read {
                    self.clients.note(client, start, work);
                }
            }
        }
        let (total, jobs, clients) = (self.all.end(1), self.jobs.end(named), self.clients.end(named));
        if !has_total && !has_jobs {
            return None;
        }
        Some(Activity {
            service: self.class.service,
            file_system: self.name.rsplit_once('-').map_or("", |(file_system, _)| file_system).to_owned(),
            target: self.name.clone(),
            over: now - before?,
            total: if has_total { total.total() } else { jobs.total() },
            jobs: has_jobs.then_some(jobs),
            known_clients: (!exports.is_empty()).then_some(exports.len()),
            clients: (!clients.named.is_empty()).then_some(clients),
            sizes,
        })
    }

    /// What requests of which sizes were added to `brw_stats`.
    fn sizes(&mut self, root: &Path, is_first: bool) -> Vec<(&'static str, u64, u64, u64)> {
        let directories = ["osd-ldiskfs", "osd-zfs", self.class.directory];
        let paths = PLACES.iter().flat_map(|place| directories.map(|directory| root.join(place).join(directory)));
        let opened = paths.map(|path| File::open(path.join(&self.name).join("brw_stats"))).find_map(Result::ok);
        let Some(counters) = opened.and_then(|file| brw_sizes(file).ok()) else { return Vec::new() };
        let mut sizes = Vec::new();
        for ((stage, size), counted) in counters {
            let before = self.sizes.insert((stage, size), counted).unwrap_or_default();
            // Lower than before: they began anew.
            let left = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
            let (reads, writes) = (left(counted.0, before.0), left(counted.1, before.1));
            if !is_first && (reads > 0 || writes > 0) {
                sizes.push((stage, size, reads, writes));
            }
        }
        sizes
    }
}

/// The clients of a target, and where their counters are.
fn exports(root: &Path, target: &Target) -> Vec<(String, PathBuf)> {
    let places = PLACES.iter().map(|place| root.join(place).join(target.class.directory).join(&target.name));
    let files = places.map(|place| entries(&place.join("exports"))).find(|files| !files.is_empty());
    let is_directory = |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    files.unwrap_or_default().into_iter().filter(|(_, path)| is_directory(path)).collect()
}

/// Calls `each` with the lines of a file, without their ends.
fn for_each_line(file: impl Read, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file.take(MOST_BYTES));
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.by_ref().take(MOST_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        each(line.strip_suffix(b"\n").unwrap_or(&line));
    }
}

/// Calls `each` with the id of each job, when its counters began (0 where that is not said), and the counters.
fn job_stats(file: impl Read, mut each: impl FnMut(&str, u64, Work)) -> io::Result<()> {
    let (mut id, mut has_job, mut start, mut work) = (String::new(), false, 0, Work::default());
    for_each_line(file, |line| {
        if let Some(rest) = line.strip_prefix(b"- job_id:") {
            if has_job {
                each(&id, start, std::mem::take(&mut work));
            }
            (has_job, start) = (true, 0);
            set_job_id(&mut id, rest);
        } else if let Some(rest) = line.trim_ascii_start().strip_prefix(b"start_time:") {
            start = moment_ns(rest);
        } else if let Some((name, samples, rest)) = job_counter(line) {
            count(&mut work, name, samples, is_after(rest, b"unit:", b"usec"), || number_after(rest, b"sum:"));
        }
    })?;
    if has_job {
        each(&id, start, work);
    }
    Ok(())
}

/// The job id of a line, behind `- job_id:`.
fn set_job_id(id: &mut String, rest: &[u8]) {
    // The name is filled up to 16 letters, and a space follows. Those beyond are the id's.
    let padding = rest.iter().take(10).take_while(|byte| **byte == b' ').count();
    let shown = &rest[padding..];
    id.clear();
    match shown.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) {
        Some(escaped) => id.push_str(&String::from_utf8_lossy(&unescaped(escaped))),
        None => id.push_str(&String::from_utf8_lossy(shown)),
    }
}

/// What `\xHH` stands for.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        let digits = rest.strip_prefix(b"\\x").and_then(|digits| digits.get(..2));
        let escaped = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &rest[4..] } else { behind };
    }
    bytes
}

/// Name and number of `  open:            { samples:          10, unit:  reqs }`, and what follows. `None` without a sample.
fn job_counter(line: &[u8]) -> Option<(&[u8], u64, &[u8])> {
    let line = line.trim_ascii_start();
    let end = line.iter().position(|byte| *byte == b':')?;
    let rest = line[end + 1..].trim_ascii_start().strip_prefix(b"{")?.trim_ascii_start().strip_prefix(b"samples:")?;
    let (samples, rest) = number(rest)?;
    (samples > 0).then_some((&line[..end], samples, rest))
}

/// Counts a line: bytes by their sum, operations by their samples, and their time where the unit is one.
fn count(work: &mut Work, name: &[u8], samples: u64, is_time: bool, sum: impl Fn() -> Option<u64>) {
    let mut busy = || {
        if is_time {
            work.busy_us = Some(work.busy_us.unwrap_or_default().saturating_add(sum().unwrap_or_default()));
        }
    };
    match name {
        b"read_bytes" => (work.reads, work.read_bytes) = (samples, sum().unwrap_or_default()),
        b"write_bytes" => (work.writes, work.write_bytes) = (samples, sum().unwrap_or_default()),
        // They are those of `read_bytes` and `write_bytes`.
        b"read" | b"write" => busy(),
        _ => {
            if let Some(operation) = OPERATIONS.iter().find(|operation| operation.as_bytes() == name) {
                busy();
                work.count(operation, samples);
            }
        }
    }
}

/// When the counters of a file of all clients, or of one, began, and the counters:
/// `write_bytes 10 samples [bytes] 4096 4194304 12582912 …`.
fn stats(file: impl Read) -> io::Result<(u64, Work)> {
    let (mut start, mut work) = (0, Work::default());
    for_each_line(file, |line| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let (Some(name), Some(samples)) = (words.next(), words.next()) else { return };
        if name == b"start_time" {
            start = moment_ns(samples);
        } else if let (Some((samples, _)), Some(b"samples"), Some(unit)) = (number(samples), words.next(), words.next())
        {
            // After minimum and maximum.
            let sum = words.nth(2).and_then(number).map(|(sum, _)| sum);
            count(&mut work, name, samples, unit.starts_with(b"[usec"), || sum);
        }
    })?;
    Ok((start, work))
}

/// Sizes with how many read and wrote so far.
type Sizes = Vec<((&'static str, u64), (u64, u64))>;

/// The histograms of sizes in `brw_stats`: under a line that begins with its name, `128K:  0 0 0 | 1 3 3` for each size, where
/// the first numbers of both halves are reads and writes.
fn brw_sizes(file: impl Read) -> io::Result<Sizes> {
    let (mut stage, mut sizes) = (None, Vec::new());
    for_each_line(file, |line| {
        let line = String::from_utf8_lossy(line);
        let Some((size, counts)) = line.split_once(":\t") else {
            if !line.trim().is_empty() {
                stage = SIZES.iter().find(|(name, _)| line.starts_with(name)).map(|(_, stage)| *stage);
            }
            return;
        };
        let first = |half: &str| half.split_ascii_whitespace().next()?.parse::<u64>().ok();
        let counted = counts.split_once('|').and_then(|(reads, writes)| Some((first(reads)?, first(writes)?)));
        if let (Some(stage), Some(size), Some(counted)) = (stage, scaled(size), counted) {
            let unit = if stage == "RPC" { page_size() } else { 1 };
            sizes.push(((stage, size.saturating_mul(unit)), counted));
        }
    })?;
    Ok(sizes)
}

/// The page size of this node, and so of the server.
fn page_size() -> u64 {
    sysconf(SysconfVar::PAGE_SIZE).ok().flatten().map_or(4096, |bytes| bytes as u64)
}

/// The number of `512`, `4K` or `1M`.
fn scaled(text: &str) -> Option<u64> {
    let shift = match text.as_bytes().last()? {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        _ => 0,
    };
    let digits = text.strip_suffix(['K', 'M', 'G']).unwrap_or(text);
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The number at the beginning, after spaces, and what follows.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let digit = |number: u64, byte: &u8| number.checked_mul(10)?.checked_add(u64::from(byte - b'0'));
    let value = text[..end].iter().try_fold(0, digit)?;
    (end > 0).then_some((value, &text[end..]))
}

fn after<'a>(text: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let place = text.windows(word.len()).position(|window| window == word)?;
    Some(&text[place + word.len()..])
}

fn number_after(text: &[u8], word: &[u8]) -> Option<u64> {
    Some(number(after(text, word)?)?.0)
}

fn is_after(text: &[u8], word: &[u8], beginning: &[u8]) -> bool {
    after(text, word).is_some_and(|rest| rest.trim_ascii_start().starts_with(beginning))
}

/// `1684865295.727058577 secs.nsecs` in nanoseconds.
fn moment_ns(text: &[u8]) -> u64 {
    let Some((seconds, rest)) = number(text) else { return 0 };
    let ns = rest.strip_prefix(b".").and_then(number).map_or(0, |(ns, _)| ns);
    seconds.saturating_mul(1_000_000_000).saturating_add(ns)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn jobs(text: &str) -> BTreeMap<String, (u64, Work)> {
        let mut jobs = BTreeMap::new();
        job_stats(text.as_bytes(), |job, start, work| {
            jobs.insert(job.to_owned(), (start, work));
        })
        .unwrap();
        jobs
    }

    /// Of 2.8 to 2.12: no times, ids as they are.
    const OF_2_12: &str = "\
job_stats:
- job_id:          4711
  snapshot_time:   1600000000
  read_bytes:      { samples:           3, unit: bytes, min:    4096, max: 1048576, sum:         2101248 }
  write_bytes:     { samples:       64575, unit: bytes, min:    4096, max: 4194304, sum:    215147593728 }
  getattr:         { samples:           0, unit:  reqs }
  setattr:         { samples:           0, unit:  reqs }
  punch:           { samples:           1, unit:  reqs }
  sync:            { samples:           2, unit:  reqs }
- job_id:          my sim.0
  snapshot_time:   1600000001
  read_bytes:      { samples:           0, unit: bytes, min:       0, max:       0, sum:               0 }
  write_bytes:     { samples:           1, unit: bytes, min:       9, max:       9, sum:               9 }
- job_id:          kworker/86:1.0
  snapshot_time:   1600000001
  write_bytes:     { samples:           2, unit: bytes, min:       9, max:       9, sum:              18 }
";

    /// Of 2.17: times, histograms, ids in quotes. `rename` counts what follows too.
    const OF_2_17: &str = "\
job_stats:
- job_id:          \"kworker/86:1.0\"
  snapshot_time:   1780000000.123456789 secs.nsecs
  start_time:      1779999000.000000001 secs.nsecs
  elapsed_time:    1000.123456788 secs.nsecs
  read_bytes:      { samples:           2, unit: bytes, min:     4096, max:     8192, sum:            12288, sumsq:           83886080, hist: { 4K: 1, 8K: 1 } }
  write_bytes:     { samples:           0, unit: bytes, min:        0, max:        0, sum:                0, sumsq:                  0, hist: {  } }
  read:            { samples:           2, unit: usecs, min:       12, max:      100, sum:              112, sumsq:              10144 }
  write:           { samples:           0, unit: usecs, min:        0, max:        0, sum:                0, sumsq:                  0 }
  open:            { samples:           4, unit: usecs, min:        1, max:       10, sum:               22, sumsq:                144 }
  rename:          { samples:           3, unit: usecs, min:        1, max:       10, sum:               15, sumsq:                100 }
  samedir_rename:  { samples:           3, unit: usecs, min:        1, max:       10, sum:               15, sumsq:                100 }
- job_id:          \"my\\x20\\x22sim\\x22\\xC3\\xB6\"
  snapshot_time:   1780000000.123456789 secs.nsecs
  start_time:      1779999900.5 secs.nsecs
  unlink:          { samples:           7, unit: usecs, min:        1, max:       10, sum:               70, sumsq:                700 }
- job_id:          \"@login\"
  snapshot_time:   1780000000.123456789 secs.nsecs
  mkdir:           { samples:           1, unit: usecs, min:        1, max:        1, sum:                1, sumsq:                  1 }
";

    #[test]
    fn jobs_of_2_8_to_2_12_have_bytes_and_numbers_of_operations() {
        let works = jobs(OF_2_12);
        assert_eq!(works.keys().collect::<Vec<_>>(), ["4711", "kworker/86:1.0", "my sim.0"]);
        let wanted = Work {
            read_bytes: 2_101_248,
            write_bytes: 215_147_593_728,
            reads: 3,
            writes: 64575,
            busy_us: None,
            operations: vec![("punch", 1), ("sync", 2)],
        };
        assert_eq!(works["4711"], (0, wanted));
    }

    #[test]
    fn jobs_of_2_17_have_times_and_their_ids_without_quotes() {
        let works = jobs(OF_2_17);
        assert_eq!(works.keys().collect::<Vec<_>>(), ["@login", "kworker/86:1.0", "my \"sim\"\u{f6}"]);
        let wanted = Work {
            read_bytes: 12288,
            reads: 2,
            busy_us: Some(112 + 22 + 15),
            operations: vec![("open", 4), ("rename", 3)],
            ..Work::default()
        };
        assert_eq!(works["kworker/86:1.0"], (1_779_999_000_000_000_001, wanted));
    }

    #[test]
    fn ids_are_what_is_behind_the_padding() {
        for (shown, id) in [
            ("- job_id:          dd.1000", "dd.1000"),
            // An id that begins with a space, as 2.8 to 2.15.1 show it.
            ("- job_id:           a", " a"),
            ("- job_id:          ", ""),
            ("- job_id:", ""),
            ("- job_id: dd.1000", "dd.1000"),
            ("- job_id:          \"a\\x2\"", "a\\x2"),
            ("- job_id:          \"a\\xZZ\\\\\"", "a\\xZZ\\\\"),
            ("- job_id:          \"", "\""),
            ("- job_id:          \"\\xFF\"", "\u{fffd}"),
        ] {
            let works = jobs(shown);
            assert_eq!(works.keys().collect::<Vec<_>>(), [id], "{shown}");
        }
    }

    #[test]
    fn a_file_that_is_empty_cut_off_or_something_else_has_what_is_whole() {
        assert!(jobs("").is_empty() && jobs("job_stats:\n").is_empty() && jobs("\0\0\0").is_empty());
        for length in 0..OF_2_17.len() {
            let Some(part) = OF_2_17.get(..length) else { continue };
            let works = jobs(part);
            assert!(works.len() <= 3 && works.values().all(|(_, work)| work.reads <= 2), "{length}");
        }
        let huge = format!("- job_id:          {}\n  open: {{ samples: 99999999999999999999 }}\n", "x".repeat(1 << 20));
        assert_eq!(jobs(&huge).len(), 1);
    }

    #[test]
    fn counters_of_all_clients_are_read_in_both_forms() {
        let of_2_12 = "\
snapshot_time             1600000000.789180921 secs.nsecs
write_bytes               4298711 samples [bytes] 4096 4194304 16552048697344
punch                     57 samples [reqs]
statfs                    35359 samples [reqs]
connect                   1 samples [reqs]
statfs                    124430 samples [reqs]
preprw                    4298711 samples [reqs]
";
        let (start, work) = stats(of_2_12.as_bytes()).unwrap();
        assert_eq!((start, work.write_bytes, work.writes, work.busy_us), (0, 16_552_048_697_344, 4_298_711, None));
        assert_eq!(work.operations, [("punch", 57), ("statfs", 35359)]);
        let of_2_15 = "\
snapshot_time             1684867636.682465202 secs.nsecs
start_time                1684865295.727058577 secs.nsecs
elapsed_time              2340.955406625 secs.nsecs
read_bytes                10 samples [bytes] 4096 4096 40960 167772160
read                      10 samples [usecs] 5 50 200 9000
getattr                   3 samples [usecs] 1 2 5 9
";
        let (start, work) = stats(of_2_15.as_bytes()).unwrap();
        assert_eq!((start, work.reads, work.read_bytes), (1_684_865_295_727_058_577, 10, 40960));
        assert_eq!((work.busy_us, work.operations), (Some(205), vec![("getattr", 3)]));
    }

    const BRW: &str = "
snapshot_time:            1684867636.682465202 secs.nsecs

                           read      |     write
pages per bulk r/w     rpcs  % cum % |  rpcs        % cum %
32:\t\t         0   0   0   |    1  11  11
1K:\t\t         2 100 100   |    8  88 100

                           read      |     write
I/O time (1/1000s)     ios   % cum % |  ios         % cum %
32:\t\t         0   0   0   |    1  11  11

                           read      |     write
disk I/O size          ios   % cum % |  ios         % cum %
128K:\t\t         4 100 100   |    1   3   3
1M:\t\t         0   0 100   |   32  96 100

                           read      |     write
block maps msec        maps  % cum % |  maps        % cum %
1:\t\t     12689 100 100   |    0   0   0
";

    #[test]
    fn histograms_of_sizes_are_read_and_others_are_not() {
        let wanted = [
            (("RPC", 32 * page_size()), (0, 1)),
            (("RPC", 1024 * page_size()), (2, 8)),
            (("disk I/O", 128 << 10), (4, 1)),
            (("disk I/O", 1 << 20), (0, 32)),
        ];
        assert_eq!(brw_sizes(BRW.as_bytes()).unwrap(), wanted);
    }

    /// Writes a file below the root.
    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_server_is_read_wherever_its_version_has_its_files() {
        // 2.12 has all in /proc; 2.17 has statistics and exports in debugfs.
        for (stats_place, brw_place) in [
            ("proc/fs/lustre", "proc/fs/lustre/osd-ldiskfs"),
            ("sys/kernel/debug/lustre", "sys/kernel/debug/lustre/osd-zfs"),
        ] {
            let root = tempfile::tempdir().unwrap();
            let put = |bytes: u64, disk: u64| {
                let target = "obdfilter/big-fs-OST0003";
                let line = format!("write_bytes 1 samples [bytes] 1 {bytes} {bytes}\n");
                write(root.path(), &format!("{stats_place}/{target}/stats"), &line);
                write(root.path(), &format!("{stats_place}/{target}/exports/10.0.0.1@tcp/stats"), &line);
                write(root.path(), &format!("{stats_place}/{target}/exports/clear"), "");
                let job =
                    format!("- job_id:          4711\n  write_bytes: {{ samples: 1, unit: bytes, sum: {bytes} }}\n");
                write(root.path(), &format!("proc/fs/lustre/{target}/job_stats"), &job);
                let sizes = format!("disk I/O size\n1M:\t\t 0 0 0 | {disk} 96 100\n");
                write(root.path(), &format!("{brw_place}/big-fs-OST0003/brw_stats"), &sizes);
                // No target.
                write(root.path(), "proc/fs/lustre/obdfilter/num_refs", "1\n");
            };
            let mut lustre = Lustre::new(root.path());
            put(1000, 5);
            assert!(lustre.read(20).is_empty());
            put(1700, 8);
            let [activity] = &lustre.read(20)[..] else { panic!() };
            assert_eq!((activity.target.as_str(), activity.file_system.as_str()), ("big-fs-OST0003", "big-fs"));
            assert_eq!((activity.total.write_bytes, activity.known_clients), (700, Some(1)));
            for (shares, who) in [(&activity.jobs, "4711"), (&activity.clients, "10.0.0.1@tcp")] {
                let [(name, work)] = &shares.as_ref().unwrap().named[..] else { panic!() };
                assert_eq!((name.as_str(), work.write_bytes), (who, 700));
            }
            assert_eq!(activity.sizes, [("disk I/O", 1 << 20, 0, 3)]);
            assert_eq!(lustre.problem, None);
        }
    }

    #[test]
    fn without_counters_of_all_the_sum_of_all_jobs_counts_also_of_those_without_a_name() {
        let root = tempfile::tempdir().unwrap();
        let put = |open: u64| {
            let jobs: String = (0..50)
                .map(|job| format!("- job_id:          {job}\n  open: {{ samples: {open}, unit: reqs }}\n"))
                .collect();
            write(root.path(), "proc/fs/lustre/mdt/fs-MDT0000/job_stats", &jobs);
        };
        let mut lustre = Lustre::new(root.path());
        put(1);
        lustre.read(3);
        put(3);
        let [activity] = &lustre.read(3)[..] else { panic!() };
        assert_eq!((activity.service, activity.total.operations.clone()), ("Lustre MDT", vec![("open", 100)]));
        let jobs = activity.jobs.as_ref().unwrap();
        assert_eq!((jobs.named.len(), jobs.others, jobs.present), (6, 44, 50));
    }

    #[test]
    fn a_target_that_comes_while_the_server_is_read_counts_from_its_second_reading() {
        let root = tempfile::tempdir().unwrap();
        let mut lustre = Lustre::new(root.path());
        assert!(lustre.read(20).is_empty());
        let name = "proc/fs/lustre/obdfilter/fs-OST0000/stats";
        write(root.path(), name, "write_bytes 1 samples [bytes] 1 9000 9000\n");
        assert!(lustre.read(20).is_empty());
        write(root.path(), name, "write_bytes 2 samples [bytes] 1 9000 9001\n");
        assert_eq!(lustre.read(20)[0].total.write_bytes, 1);
        fs::remove_dir_all(root.path().join("proc")).unwrap();
        assert!(lustre.read(20).is_empty() && lustre.targets.is_empty());
    }
}
