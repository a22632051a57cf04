//! Lustre: what applications asked of each mounted file system (`llite.*.stats`), and the client's requests to each OST and
//! MDT (`osc.*.stats`, `mdc.*.stats`).
//!
//! A line of such a file is `name N samples [unit] min max sum sumsq`; of some counters it ends after the unit. Counters
//! without a sample have no line. The lines before (`snapshot_time`, and since 2.15 `start_time` and `elapsed_time`) are no
//! counters. Known from Lustre's source: `lprocfs_stats_seq_show` and `lprocfs_stats_header` in
//! lustre/obdclass/lprocfs_status.c, `llite_opcode_table` in lustre/llite/lproc_llite.c, `ptlrpc_ldebugfs_register` in
//! lustre/ptlrpc/lproc_ptlrpc.c. In 2.12 most lines of llite are `[regs]`, without times; later they are `[usec]` or
//! `[usecs]`. Tried with made-up files in these formats, not with a running Lustre.
//!
//! Where a file is depends on the version. Newer ones have them in debugfs, which root alone may read.

use std::path::PathBuf;

use super::files::{Files, number};
use super::reading::{Field, Kind, Reading, Subject};
use crate::text::entries;

const PLACES: [&str; 3] = ["sys/kernel/debug/lustre", "proc/fs/lustre", "sys/fs/lustre"];

/// Of so many targets the counters are read at once, because the kernel adds each up over all processors. Where there are
/// more, their turn comes after a few readings.
const TARGETS_PER_READING: usize = 64;

/// After so many readings file systems and targets are looked for again.
const READINGS_PER_SEARCH: usize = 10;

/// What of a line becomes a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Samples,
    /// Of bytes or numbers.
    Sum,
    /// Of times, in nanoseconds.
    SumNs,
}

/// A field, and where its value is.
#[derive(Debug, Clone, Copy)]
struct Row {
    line: &'static str,
    part: Part,
    field: Field,
    /// The value where there is no such line: 0, but for lines that old versions lack.
    otherwise: Option<u64>,
}

const fn row(line: &'static str, part: Part, name: &'static str, meaning: &'static str) -> Row {
    Row { line, part, field: Field { name, kind: Kind::Counter, meaning }, otherwise: Some(0) }
}

const fn of_newer_versions(row: Row) -> Row {
    Row { otherwise: None, ..row }
}

/// The rows of `$first`, and after them two for each operation: how many there were, and their time.
macro_rules! rows {
    ([$($first:expr,)+], $what:literal, $suffix:literal, [$($line:literal $name:literal,)+]) => {
        &[
            $($first,)+
            $(
                row($line, Part::Samples, concat!($name, $suffix), concat!($what, " `", $line, "`")),
                row($line, Part::SumNs, concat!($name, "_ns"), concat!("Time of ", $what, " `", $line, "`")),
            )+
        ]
    };
}

const FILE_SYSTEM_ROWS: &[Row] = rows!(
    [
        row("read_bytes", Part::Samples, "read_calls", "Calls by which applications read"),
        row("read_bytes", Part::Sum, "read_bytes", "Bytes that applications read"),
        of_newer_versions(row("read", Part::SumNs, "read_ns", "Time of the calls by which applications read")),
        row("write_bytes", Part::Samples, "write_calls", "Calls by which applications wrote"),
        row("write_bytes", Part::Sum, "write_bytes", "Bytes that applications wrote"),
        of_newer_versions(row("write", Part::SumNs, "write_ns", "Time of the calls by which applications wrote")),
    ],
    "calls of applications that Lustre counts as",
    "_calls",
    [
        "open" "open",
        "close" "close",
        "mmap" "mmap",
        "seek" "seek",
        "fsync" "fsync",
        "readdir" "readdir",
        "setattr" "setattr",
        "truncate" "truncate",
        "flock" "flock",
        "getattr" "getattr",
        "create" "create",
        "link" "link",
        "unlink" "unlink",
        "symlink" "symlink",
        "mkdir" "mkdir",
        "rmdir" "rmdir",
        "mknod" "mknod",
        "rename" "rename",
        "statfs" "statfs",
        "setxattr" "setxattr",
        "getxattr" "getxattr",
    ]
);

/// Lock requests, and the changes of metadata that go with them, a client counts among all requests alone
/// (`ptlrpc_lprocfs_rpc_sent`).
const TARGET_ROWS: &[Row] = rows!(
    [
        row("req_waittime", Part::Samples, "answered_requests", "Requests of all kinds that were answered"),
        row("req_waittime", Part::SumNs, "request_ns", "Time of all requests to their reply (from 2.17 with queueing)"),
        row("req_active", Part::Samples, "sent_requests", "Requests of all kinds that were sent"),
        row("req_active", Part::Sum, "in_flight_sum", "At each request sent, how many were in flight, added up"),
        row("read_bytes", Part::Sum, "read_bytes", "Bytes read from the target"),
        row("write_bytes", Part::Sum, "write_bytes", "Bytes written to the target"),
    ],
    "requests",
    "_requests",
    [
        "ost_read" "read",
        "ost_write" "write",
        "ost_sync" "ost_sync",
        "ost_punch" "punch",
        "ost_setattr" "ost_setattr",
        "ost_statfs" "ost_statfs",
        "mds_getattr" "getattr",
        "mds_getattr_lock" "getattr_lock",
        "mds_close" "close",
        "mds_readpage" "readpage",
        "mds_statfs" "mds_statfs",
        "mds_sync" "mds_sync",
        "mds_getxattr" "getxattr",
        "ldlm_cancel" "lock_cancel",
    ]
);

/// Of a file system.
pub const FILE_SYSTEM_FIELDS: [Field; FILE_SYSTEM_ROWS.len()] = fields_of(FILE_SYSTEM_ROWS);

/// Of a target.
pub const TARGET_FIELDS: [Field; TARGET_ROWS.len()] = fields_of(TARGET_ROWS);

const fn fields_of<const N: usize>(rows: &[Row]) -> [Field; N] {
    let mut fields = [rows[0].field; N];
    let mut index = 0;
    while index < N {
        fields[index] = rows[index].field;
        index += 1;
    }
    fields
}

/// A `stats` file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Statistics {
    name: String,
    /// The file system of a target; empty for a file system.
    source: String,
    path: PathBuf,
}

/// The mounted file systems and their targets, as they were last found.
#[derive(Debug, Default)]
pub struct Lustre {
    file_systems: Vec<Statistics>,
    targets: Vec<Statistics>,
    readings_to_search: usize,
    next_target: usize,
}

impl Lustre {
    /// Adds all file systems, and of the targets those whose turn it is.
    pub fn read(&mut self, files: &mut Files, readings: &mut Vec<Reading>) {
        if self.readings_to_search == 0 {
            self.readings_to_search = READINGS_PER_SEARCH;
            self.file_systems = file_systems(files);
            self.targets = targets(files);
        }
        self.readings_to_search -= 1;
        for file_system in &self.file_systems {
            readings.extend(read_one(files, Subject::LustreFileSystem, file_system, FILE_SYSTEM_ROWS));
        }
        if self.next_target >= self.targets.len() {
            self.next_target = 0;
        }
        let turn = self.targets.iter().skip(self.next_target).take(TARGETS_PER_READING);
        for target in turn {
            readings.extend(read_one(files, Subject::LustreTarget, target, TARGET_ROWS));
        }
        self.next_target += TARGETS_PER_READING;
    }
}

fn file_systems(files: &Files) -> Vec<Statistics> {
    // `scratch-ffff9c1a8b7d2800`: the name is followed by what tells mounts of the same file system apart.
    let short = |entry: &str| entry.rsplit_once('-').map(|(name, _mount)| (name.to_owned(), String::new()));
    statistics(files, "llite", short)
}

fn targets(files: &Files) -> Vec<Statistics> {
    let kinds = ["osc", "mdc"].into_iter();
    kinds
        .flat_map(|kind| {
            // `scratch-OST0001-osc-ffff9c1a8b7d2800`
            statistics(files, kind, |entry| {
                let (target, _mount) = entry.rsplit_once(&format!("-{kind}-"))?;
                let (file_system, _index) = target.rsplit_once('-')?;
                Some((target.to_owned(), file_system.to_owned()))
            })
        })
        .collect()
}

/// The files of a kind, by the name and source that `short` makes of an entry's name. Where several would have the same
/// name, because a file system is mounted more than once, they keep the names of their entries.
fn statistics(files: &Files, kind: &str, short: impl Fn(&str) -> Option<(String, String)>) -> Vec<Statistics> {
    let listed = PLACES.iter().map(|place| entries(&files.root, &format!("{place}/{kind}")));
    let with_statistics = listed.map(|entries| {
        let files = entries.into_iter().map(|(entry, path)| (entry, path.join("stats")));
        files.filter(|(_, path)| path.is_file()).collect::<Vec<_>>()
    });
    // A version has them all in one place; some have links to it in another.
    let entries_with = with_statistics.into_iter().find(|files| !files.is_empty()).unwrap_or_default();
    let named: Vec<_> = entries_with.into_iter().map(|(entry, path)| (short(&entry), entry, path)).collect();
    let shared = |name: &str| {
        let names = named.iter().filter_map(|(short, ..)| short.as_ref());
        names.filter(|(other, _)| other == name).count() > 1
    };
    let statistics = named.iter().map(|(short, entry, path)| {
        let (name, source) = short.clone().unwrap_or_else(|| (entry.clone(), String::new()));
        Statistics { name: if shared(&name) { entry.clone() } else { name }, source, path: path.clone() }
    });
    statistics.collect()
}

fn read_one(files: &mut Files, subject: Subject, statistics: &Statistics, rows: &[Row]) -> Option<Reading> {
    let values = parse(&files.read_path(&statistics.path)?, rows)?;
    Some(Reading::new(subject, statistics.name.as_str(), values).within(statistics.source.as_str()))
}

/// `None` for what is no such file.
fn parse(text: &str, rows: &[Row]) -> Option<Box<[Option<u64>]>> {
    if !text.starts_with("snapshot_time") {
        return None;
    }
    let mut values: Box<[Option<u64>]> = rows.iter().map(|row| row.otherwise).collect();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(name), samples, Some("samples")) = (words.next(), words.next(), words.next()) else { continue };
        let unit = words.next().unwrap_or_default();
        // After the least and the greatest.
        let sum = words.nth(2);
        for (value, row) in values.iter_mut().zip(rows).filter(|(_, row)| row.line == name) {
            *value = match row.part {
                Part::Samples => number(samples, 1),
                Part::Sum => number(sum, 1),
                Part::SumNs => unit_ns(unit).and_then(|unit_ns| number(sum, unit_ns)),
            };
        }
    }
    Some(values)
}

fn unit_ns(unit: &str) -> Option<u64> {
    match unit {
        "[usec]" | "[usecs]" => Some(1000),
        "[sec]" | "[secs]" => Some(1_000_000_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tree;

    /// Of a client before and with 2.12: no times, and after the numbers of bytes no squares.
    const OLD_LLITE: &str = "\
snapshot_time             1566017453.009825550 secs.nsecs
read_bytes                40 samples [bytes] 0 1048576 41000000
write_bytes               30 samples [bytes] 4 4194304 31000000
ioctl                     5 samples [regs]
open                      20 samples [regs]
mkdir                     3 samples [regs]
inode_permission          90 samples [regs]
";

    /// Of 2.15: times, squares, and the moments at which counting began and how long it has lasted.
    const NEW_LLITE: &str = "\
snapshot_time             1650000000.000000001 secs.nsecs
start_time                1640000000.000000000 secs.nsecs
elapsed_time              10000000.000000001 secs.nsecs
read_bytes                40 samples [bytes] 0 1048576 41000000 990000000
write_bytes               30 samples [bytes] 4 4194304 31000000 880000000
read                      40 samples [usec] 1 900 5000 70000
write                     30 samples [usecs] 1 900 6000 70000
open                      20 samples [usec] 10 500 7000 80000
";

    const OSC: &str = "\
snapshot_time                       1720000000.000000001 secs.nsecs
start_time                          1720000000.000000000 secs.nsecs
elapsed_time                        0.000000001 secs.nsecs
req_waittime                        100 samples [usecs] 31 9000 50000 700000
req_active                          101 samples [reqs] 1 9 400 5000
read_bytes                          60 samples [bytes] 4096 4194304 80000000 -3193831078871982772
ost_read                            60 samples [usecs] 100 9000 30000 600000
ldlm_cancel                         7 samples [usecs] 10 20 100 900
";

    fn readings(tree_files: &[(&str, &str)]) -> Vec<Reading> {
        let root = tree(tree_files);
        let mut readings = Vec::new();
        Lustre::default().read(&mut Files::new(root.path()), &mut readings);
        readings
    }

    fn values(reading: &Reading, names: &[&str]) -> Vec<Option<u64>> {
        names.iter().map(|name| reading.value(name)).collect()
    }

    #[test]
    fn an_old_client_counts_calls_without_their_time() {
        let now = readings(&[("proc/fs/lustre/llite/scratch-ffff9c1a8b7d2800/stats", OLD_LLITE)]);
        let [scratch] = now.as_slice() else { panic!("{now:?}") };
        assert_eq!((scratch.subject, scratch.name.as_str()), (Subject::LustreFileSystem, "scratch"));
        let moved = ["read_calls", "read_bytes", "write_calls", "write_bytes"];
        assert_eq!(values(scratch, &moved), [40, 41_000_000, 30, 31_000_000].map(Some));
        assert_eq!(values(scratch, &["open_calls", "mkdir_calls", "close_calls"]), [20, 3, 0].map(Some));
        assert_eq!(values(scratch, &["read_ns", "write_ns", "open_ns"]), [None; 3]);
    }

    #[test]
    fn a_newer_client_has_the_time_of_calls_too() {
        let now = readings(&[("sys/kernel/debug/lustre/llite/my-fs-0123456789abcdef/stats", NEW_LLITE)]);
        let [file_system] = now.as_slice() else { panic!("{now:?}") };
        assert_eq!(file_system.name, "my-fs");
        let times = ["read_ns", "write_ns", "open_ns", "close_ns"];
        assert_eq!(values(file_system, &times), [5_000_000, 6_000_000, 7_000_000, 0].map(Some));
        assert_eq!(values(file_system, &["read_bytes", "open_calls"]), [41_000_000, 20].map(Some));
    }

    #[test]
    fn each_target_has_its_requests_and_names_its_file_system() {
        let debugfs = "sys/kernel/debug/lustre";
        let now = readings(&[
            (&format!("{debugfs}/osc/scratch-OST000a-osc-ffff9c1a8b7d2800/stats"), OSC),
            (&format!("{debugfs}/mdc/scratch-MDT0000-mdc-ffff9c1a8b7d2800/stats"), "snapshot_time 1.5 secs.nsecs\n"),
            // The parameters, which are no statistics.
            ("sys/fs/lustre/osc/scratch-OST000a-osc-ffff9c1a8b7d2800/max_rpcs_in_flight", "8\n"),
        ]);
        let [ost, mdt] = now.as_slice() else { panic!("{now:?}") };
        assert_eq!((ost.name.as_str(), ost.source.as_str()), ("scratch-OST000a", "scratch"));
        assert_eq!((mdt.name.as_str(), mdt.source.as_str()), ("scratch-MDT0000", "scratch"));
        let requests = ["answered_requests", "request_ns", "sent_requests", "in_flight_sum"];
        assert_eq!(values(ost, &requests), [100, 50_000_000, 101, 400].map(Some));
        let read = ["read_requests", "read_ns", "read_bytes", "lock_cancel_ns", "write_requests", "write_ns"];
        assert_eq!(values(ost, &read), [60, 30_000_000, 80_000_000, 100_000, 0, 0].map(Some));
        assert_eq!(mdt.value("answered_requests"), Some(0));
    }

    #[test]
    fn mounts_of_the_same_file_system_are_distinguished() {
        let now = readings(&[
            ("proc/fs/lustre/llite/home-ffff000000000001/stats", OLD_LLITE),
            ("proc/fs/lustre/llite/scratch-ffff000000000001/stats", OLD_LLITE),
            ("proc/fs/lustre/llite/scratch-ffff000000000002/stats", OLD_LLITE),
            ("proc/fs/lustre/llite/broken-ffff000000000003/stats", "disabled\n"),
        ]);
        let names: Vec<_> = now.iter().map(|reading| reading.name.as_str()).collect();
        assert_eq!(names, ["home", "scratch-ffff000000000001", "scratch-ffff000000000002"]);
    }

    #[test]
    fn of_very_many_targets_each_has_its_turn() {
        let name = |index| format!("proc/fs/lustre/osc/scratch-OST{index:04x}-osc-ffff9c1a8b7d2800/stats");
        let names: Vec<String> = (0..TARGETS_PER_READING + 3).map(name).collect();
        let files: Vec<_> = names.iter().map(|name| (name.as_str(), OSC)).collect();
        let root = tree(&files);
        let (mut files, mut lustre) = (Files::new(root.path()), Lustre::default());
        let turns = [(); 3].map(|()| {
            let mut readings = Vec::new();
            lustre.read(&mut files, &mut readings);
            readings.into_iter().map(|reading| reading.name).collect::<Vec<_>>()
        });
        assert_eq!(turns.each_ref().map(Vec::len), [TARGETS_PER_READING, 3, TARGETS_PER_READING]);
        assert_eq!(turns[0], turns[2]);
        assert!(!turns[0].contains(&turns[1][0]));
    }

    #[test]
    fn what_is_mounted_later_is_found_within_a_few_readings() {
        let root = tree(&[]);
        let (mut files, mut lustre, mut readings) = (Files::new(root.path()), Lustre::default(), Vec::new());
        lustre.read(&mut files, &mut readings);
        let mount = root.path().join("proc/fs/lustre/llite/scratch-ffff9c1a8b7d2800");
        std::fs::create_dir_all(&mount).unwrap();
        std::fs::write(mount.join("stats"), OLD_LLITE).unwrap();
        for _ in 0..READINGS_PER_SEARCH {
            lustre.read(&mut files, &mut readings);
        }
        assert_eq!(readings.iter().map(|reading| reading.name.as_str()).collect::<Vec<_>>(), ["scratch"]);
    }
}
