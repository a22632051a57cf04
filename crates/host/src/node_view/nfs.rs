//! NFS mounts: /proc/self/mountstats, versions 3, 4.0, 4.1 and 4.2.
//!
//! Mounts of one file system with the same options share its counters, however many places it is mounted at (bind mounts,
//! directories of one export). It is read once, at the first of them.
//!
//! The format is that of Linux's `nfs_show_stats` (fs/nfs/super.c), `rpc_clnt_show_stats` and `_print_rpc_iostats`
//! (net/sunrpc/stats.c). Read line by line here: procfs (0.18) fails as a whole where one line of one mount is not what it
//! expects, leaves out the errors of each operation, and does not undo the escapes in names.

use std::collections::{HashMap, HashSet};

use super::files::{Files, number};
use super::reading::{Field, Kind, Reading, Subject};
use crate::mounts::unescaped;

/// Of so many mounts the counters are read every time: of each the kernel writes some hundred numbers. Where there are more,
/// they are read less often.
const MOUNTS_PER_READING: usize = 64;

/// What applications and the client moved, in the order of the line `bytes:`.
const MOVED: [Field; 6] = [
    counter("normal_read_bytes", "Bytes that applications read through the page cache"),
    counter("normal_write_bytes", "Bytes that applications wrote through the page cache"),
    counter("direct_read_bytes", "Bytes that applications read with O_DIRECT"),
    counter("direct_write_bytes", "Bytes that applications wrote with O_DIRECT"),
    counter("server_read_bytes", "Bytes that were read from the server"),
    counter("server_write_bytes", "Bytes that were written to the server"),
];

/// Of each operation.
const COLUMNS: usize = 9;

const NS_PER_MS: u64 = 1_000_000;

/// What is counted for each operation, in the order of the columns of mountstats, the second of which is transmissions.
macro_rules! operations {
    ($($name:literal $operation:literal,)+) => {
        /// As mountstats calls them; all others are added up behind them.
        const OPERATIONS: &[&str] = &[$($operation,)+];

        /// What is counted for each operation.
        const COUNTED: &[[Field; COLUMNS]] = &[$(columns!($name, $operation),)+ columns!("other", "all other")];
    };
}

macro_rules! columns {
    ($name:literal, $operation:literal) => {
        [
            counter(concat!($name, "_operations"), concat!("Completed ", $operation, " operations")),
            counter(
                concat!($name, "_retransmissions"),
                concat!("Repeated transmissions of ", $operation, " operations"),
            ),
            counter(concat!($name, "_timeouts"), concat!("Major timeouts of ", $operation, " operations")),
            counter(
                concat!($name, "_sent_bytes"),
                concat!("Bytes sent for ", $operation, " operations, headers included"),
            ),
            counter(
                concat!($name, "_received_bytes"),
                concat!("Bytes received for ", $operation, " operations, headers included"),
            ),
            counter(concat!($name, "_queue_ns"), concat!("Time of ", $operation, " operations before transmission")),
            counter(
                concat!($name, "_rtt_ns"),
                concat!("Time of ", $operation, " operations from transmission to reply"),
            ),
            counter(concat!($name, "_execute_ns"), concat!("Time of ", $operation, " operations from start to end")),
            counter(concat!($name, "_errors"), concat!("Errors that ", $operation, " operations ended with")),
        ]
    };
}

operations! {
    "read" "READ",
    "write" "WRITE",
    "getattr" "GETATTR",
    "lookup" "LOOKUP",
    "open" "OPEN",
    "commit" "COMMIT",
}

const fn counter(name: &'static str, meaning: &'static str) -> Field {
    Field { name, kind: Kind::Counter, meaning }
}

const FIELD_COUNT: usize = MOVED.len() + COUNTED.len() * COLUMNS;

/// Of a mount.
pub const FIELDS: [Field; FIELD_COUNT] = {
    let mut fields = [MOVED[0]; FIELD_COUNT];
    let mut index = 0;
    while index < FIELD_COUNT {
        fields[index] = match index.checked_sub(MOVED.len()) {
            None => MOVED[index],
            Some(index) => COUNTED[index / COLUMNS][index % COLUMNS],
        };
        index += 1;
    }
    fields
};

/// Of each of [`COUNTED`] its operations and retransmissions.
type Transmissions = [[Option<u64>; 2]; COUNTED.len()];

/// The mounts, with what must be remembered of them.
#[derive(Debug, Default)]
pub struct Mounts {
    /// The mount points that the last reading found, as mountstats writes them, and whether each is to be left out.
    points: Vec<(String, bool)>,
    /// Of each mount point that was read last.
    transmissions: HashMap<String, Transmissions>,
    readings_to_skip: usize,
}

impl Mounts {
    /// Adds the mounts of now, if there are not too many of them to be read every time.
    pub fn read(&mut self, files: &mut Files, readings: &mut Vec<Reading>) {
        if self.readings_to_skip > 0 {
            self.readings_to_skip -= 1;
            return;
        }
        let mountinfo = files.root.join("proc/self/mountinfo");
        let Some(mountstats) = files.read("proc/self/mountstats") else { return };
        let mounts = parse(&mountstats);
        self.readings_to_skip = mounts.len().saturating_sub(1) / MOUNTS_PER_READING;
        if !self.points.iter().map(|(point, _)| point.as_str()).eq(mounts.iter().map(|mount| mount.point)) {
            let points: Vec<_> = mounts.iter().map(|mount| mount.point).collect();
            let mountinfo = std::fs::read(mountinfo).unwrap_or_default();
            let left_out = left_out(&points, &String::from_utf8_lossy(&mountinfo));
            self.points = points.into_iter().map(str::to_owned).zip(left_out).collect();
        }
        let mut before = std::mem::take(&mut self.transmissions);
        for (mut mount, (point, left_out)) in mounts.into_iter().zip(&self.points) {
            if *left_out {
                continue;
            }
            let (point, before) =
                before.remove_entry(point).unwrap_or_else(|| (point.clone(), Transmissions::default()));
            mount.keep_retransmissions(&before);
            self.transmissions.insert(point, mount.transmissions());
            let reading = Reading::new(Subject::NfsMount, lossy(mount.point), mount.values);
            readings.push(reading.within(lossy(mount.export)));
        }
    }
}

/// A name as it was before the kernel escaped it.
fn lossy(name: &str) -> String {
    unescaped(name.as_bytes()).to_string_lossy().into_owned()
}

/// Which of the mounts at `points` share their counters with an earlier one, or are covered by a later one at the same
/// place. Both lists have the order in which the mounts were made.
fn left_out(points: &[&str], mountinfo: &str) -> Vec<bool> {
    let mut lines = mountinfo.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(2);
        Some((words.next()?, words.nth(1)?))
    });
    let mut devices = HashSet::new();
    let mut is_left_out = |(index, point): (usize, &&str)| {
        let device = lines.find(|(_, other)| other == point).map(|(device, _)| device);
        device.is_some_and(|device| !devices.insert(device)) || points[index + 1..].contains(point)
    };
    points.iter().enumerate().map(&mut is_left_out).collect()
}

/// A mount, its names as mountstats writes them.
#[derive(Debug)]
struct Mount<'a> {
    point: &'a str,
    export: &'a str,
    /// As [`FIELDS`].
    values: Box<[Option<u64>]>,
}

/// The NFS mounts of mountstats.
fn parse(mountstats: &str) -> Vec<Mount<'_>> {
    let mut mounts: Vec<Mount> = Vec::new();
    let (mut of_nfs, mut per_operation) = (false, false);
    for line in mountstats.lines() {
        if let Some(device) = line.strip_prefix("device ") {
            let mount = Mount::begin(device);
            (of_nfs, per_operation) = (mount.is_some(), false);
            mounts.extend(mount);
            continue;
        }
        let Some(mount) = mounts.last_mut().filter(|_| of_nfs) else { continue };
        match line.trim().split_once(':') {
            None => per_operation |= line.trim() == "per-op statistics",
            Some((operation, numbers)) if per_operation => mount.take_operation(operation, numbers),
            Some(("bytes", numbers)) => mount.take_moved(numbers),
            Some(_) => {}
        }
    }
    mounts
}

impl<'a> Mount<'a> {
    /// From `server:/export mounted on /home with fstype nfs4 statvers=1.1`.
    fn begin(device: &'a str) -> Option<Self> {
        let (names, kind) = device.rsplit_once(" with fstype ")?;
        let (export, point) = names.rsplit_once(" mounted on ")?;
        let is_nfs = matches!(kind.split(' ').next(), Some("nfs" | "nfs4"));
        is_nfs.then(|| Self { point, export, values: Box::new([None; FIELD_COUNT]) })
    }

    fn take_moved(&mut self, numbers: &str) {
        for (value, word) in self.values[..MOVED.len()].iter_mut().zip(numbers.split_ascii_whitespace()) {
            *value = number(Some(word), 1);
        }
    }

    fn take_operation(&mut self, operation: &str, numbers: &str) {
        let mut words = numbers.split_ascii_whitespace();
        let times = 5..8;
        let mut row: [Option<u64>; COLUMNS] =
            std::array::from_fn(|column| number(words.next(), if times.contains(&column) { NS_PER_MS } else { 1 }));
        // Every operation is transmitted once.
        row[1] = row[0].zip(row[1]).map(|(operations, transmissions)| transmissions.saturating_sub(operations));
        let counted = OPERATIONS.iter().position(|&name| name == operation).unwrap_or(OPERATIONS.len());
        for (value, more) in self.row_mut(counted).iter_mut().zip(row) {
            *value = more.map(|more| value.unwrap_or(0).saturating_add(more)).or(*value);
        }
    }

    /// The values of one of [`COUNTED`].
    fn row_mut(&mut self, counted: usize) -> &mut [Option<u64>] {
        &mut self.values[MOVED.len() + counted * COLUMNS..][..COLUMNS]
    }

    /// The kernel does not stop counting while it is read: an operation may be counted whose transmission is not yet, and
    /// one retransmission less be seen than before. That is no new beginning, unless there are fewer operations, too.
    fn keep_retransmissions(&mut self, before: &Transmissions) {
        for (counted, [operations, retransmissions]) in before.iter().enumerate() {
            let row = self.row_mut(counted);
            if row[0] >= *operations {
                row[1] = row[1].map(|now| now.max(retransmissions.unwrap_or(0)));
            }
        }
    }

    fn transmissions(&mut self) -> Transmissions {
        std::array::from_fn(|counted| [self.row_mut(counted)[0], self.row_mut(counted)[1]])
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::text::tree;

    /// Version 3 from an old kernel, without errors.
    const VERSION_3: &str = "\
device server:/old mounted on /mnt/my\\040data with fstype nfs statvers=1.1
\topts:\trw,vers=3,rsize=1048576
\tage:\t100
\tevents:\t1 2 3 4
\tbytes:\t10 20 30 40 50 60 7 8
\tRPC iostats version: 1.0  p/v: 100003/3 (nfs)
\txprt:\ttcp 742 1 1 0 11 1001 1001 0 1001 0 2 0 0
\tper-op statistics
\t        NULL: 0 0 0 0 0 0 0 0
\t        READ: 100 103 2 5000 900000 11 22 33
\t      ACCESS: 4 4 0 400 500 1 2 3
\t      LOOKUP: 5 6 0 500 600 1 2 3
\t      COMMIT: 0 0 0 0 0 0 0 0
";

    /// Version 4.2, with two connections and errors.
    const VERSION_4: &str = "\
device 10.0.0.1:/home mounted on /home with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,nconnect=2
\tage:\t7
\timpl_id:\tname='',domain='',date='0,0'
\tcaps:\tcaps=0x3ffbffdf,wtmult=512,dtsize=1048576,bsize=0,namlen=255
\tnfsv4:\tbm0=0xfdffbfff,sessions,pnfs=not configured
\tsec:\tflavor=1,pseudoflavor=1
\tbytes:\t1000 2000 0 0 1000 2000 1 1
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 0 0 1 0 0 10 10 0 12 0 2 0 0
\txprt:\ttcp 0 0 1 0 0 10 10 0 12 0 2 0 0
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 3 3 0 600 700 1 2 3 0
\t        OPEN: 9 9 0 90 91 1 2 3 8
\tOPEN_NOATTR: 2 2 0 20 21 1 1 1 2

";

    const OTHERS: &str = "device proc mounted on /proc with fstype proc\nno device mounted on /x with fstype tmpfs\n";

    /// The readings of the files, at once and once more.
    fn readings(mountstats: &str, mountinfo: &str) -> [Vec<Reading>; 2] {
        let root = tree(&[("proc/self/mountstats", mountstats), ("proc/self/mountinfo", mountinfo)]);
        let (mut files, mut mounts) = (Files::new(root.path()), Mounts::default());
        [(); 2].map(|()| {
            let mut readings = Vec::new();
            mounts.read(&mut files, &mut readings);
            readings
        })
    }

    #[test]
    fn a_mount_has_what_applications_and_the_wire_moved_and_each_operation() {
        let [now, again] = readings(&format!("{OTHERS}{VERSION_3}{VERSION_4}{OTHERS}"), "");
        assert_eq!(now, again);
        let [old, new] = now.as_slice() else { panic!("{now:?}") };
        assert_eq!((old.name.as_str(), old.source.as_str()), ("/mnt/my data", "server:/old"));
        assert_eq!((new.name.as_str(), new.source.as_str()), ("/home", "10.0.0.1:/home"));
        let values = |reading: &Reading, names: &[&str]| -> Vec<Option<u64>> {
            names.iter().map(|name| reading.value(name)).collect()
        };
        let moved = ["normal_read_bytes", "normal_write_bytes", "direct_read_bytes", "server_write_bytes"];
        assert_eq!(values(old, &moved), [10, 20, 30, 60].map(Some));
        let read = [
            "read_operations",
            "read_retransmissions",
            "read_timeouts",
            "read_sent_bytes",
            "read_received_bytes",
            "read_queue_ns",
            "read_rtt_ns",
            "read_execute_ns",
        ];
        assert_eq!(values(old, &read), [100, 3, 2, 5000, 900_000, 11_000_000, 22_000_000, 33_000_000].map(Some));
        // Of version 3 there is no such operation, and of old kernels no errors.
        assert_eq!(values(old, &["open_operations", "read_errors", "commit_operations"]), [None, None, Some(0)]);
        assert_eq!(values(new, &["open_operations", "open_errors", "read_errors"]), [9, 8, 0].map(Some));
        assert_eq!(values(new, &["other_operations", "other_errors", "other_sent_bytes"]), [3, 2, 64].map(Some));
    }

    #[test]
    fn a_mount_that_shares_its_counters_is_read_once_and_a_covered_one_not_at_all() {
        let mounted_on = |point: &str| VERSION_4.replace("mounted on /home ", &format!("mounted on {point} "));
        let mountstats =
            [mounted_on("/home"), mounted_on("/job\\040home"), mounted_on("/mnt"), mounted_on("/mnt")].concat();
        let mountinfo = "\
22 1 0:21 / /proc rw - proc proc rw
30 1 0:47 / /home rw,relatime shared:1 - nfs4 10.0.0.1:/home rw
31 1 0:47 /user /job\\040home rw,relatime - nfs4 10.0.0.1:/home rw
32 1 0:48 / /mnt rw - nfs4 10.0.0.1:/home rw
33 1 0:49 / /mnt rw - nfs4 10.0.0.1:/home rw
";
        for now in readings(&mountstats, mountinfo) {
            assert_eq!(now.iter().map(|reading| reading.name.as_str()).collect::<Vec<_>>(), ["/home", "/mnt"]);
        }
    }

    #[test]
    fn a_mount_that_comes_later_is_found() {
        let root = tree(&[("proc/self/mountstats", VERSION_3)]);
        let (mut files, mut mounts) = (Files::new(root.path()), Mounts::default());
        let mut names = || {
            let mut readings = Vec::new();
            mounts.read(&mut files, &mut readings);
            readings.into_iter().map(|reading| reading.name).collect::<Vec<_>>()
        };
        assert_eq!(names(), ["/mnt/my data"]);
        fs::write(root.path().join("proc/self/mountstats"), format!("{VERSION_4}{VERSION_3}")).unwrap();
        assert_eq!(names(), ["/home", "/mnt/my data"]);
        fs::write(root.path().join("proc/self/mountstats"), VERSION_4).unwrap();
        assert_eq!(names(), ["/home"]);
    }

    #[test]
    fn very_many_mounts_are_read_less_often() {
        let mountstats = |mounts: usize| {
            let mount = |index| VERSION_4.replace("mounted on /home ", &format!("mounted on /home/user{index} "));
            (0..mounts).map(mount).collect::<String>()
        };
        let readings = |mounts| readings(&mountstats(mounts), "").map(|readings| readings.len());
        assert_eq!(readings(MOUNTS_PER_READING), [MOUNTS_PER_READING; 2]);
        assert_eq!(readings(MOUNTS_PER_READING + 1), [MOUNTS_PER_READING + 1, 0]);
    }

    #[test]
    fn an_operation_whose_transmission_is_not_yet_counted_is_no_new_beginning() {
        let root = tree(&[]);
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        let (mut files, mut mounts) = (Files::new(root.path()), Mounts::default());
        let mut retransmissions = |operations: &str| {
            let text = VERSION_3.replace("READ: 100 103 ", &format!("READ: {operations} "));
            fs::write(root.path().join("proc/self/mountstats"), text).unwrap();
            let mut readings = Vec::new();
            mounts.read(&mut files, &mut readings);
            readings[0].value("read_retransmissions")
        };
        assert_eq!(retransmissions("100 103"), Some(3));
        assert_eq!(retransmissions("101 103"), Some(3));
        assert_eq!(retransmissions("101 105"), Some(4));
        // Mounted again.
        assert_eq!(retransmissions("2 3"), Some(1));
    }
}
