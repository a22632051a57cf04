//! What a node counts, to be read once a second: devices, network, memory, processors, and the clients of parallel file
//! systems.
//!
//! * [`NodeView`] reads everything; each subject has a file.
//! * [`Reading`] is the form that all subjects have in common; [`Subject::fields`] declares the fields for what stores them.
//!
//! Not here: when to read, what a difference means, and what is read once for a stored run ([`crate::environment`]).
//!
//! How to add a subject: `docs/development/agent.md`.

mod cpu;
mod disk;
mod files;
mod gpfs;
mod links;
mod lustre;
mod memory;
mod nfs;
mod reading;

use std::path::Path;

use self::files::Files;
pub use self::reading::{Field, Kind, Reading, Subject, difference};

/// The counters of a node, read again and again.
#[derive(Debug)]
pub struct NodeView {
    files: Files,
    processors: cpu::Processors,
    disks: disk::Disks,
    mounts: nfs::Mounts,
    lustre: lustre::Lustre,
    gpfs: gpfs::Gpfs,
}

impl NodeView {
    /// Of the node whose /proc and /sys are below `root`: `/`, but for tests.
    pub fn new(root: &Path) -> Self {
        Self {
            files: Files::new(root),
            processors: cpu::Processors::default(),
            disks: disk::Disks::default(),
            mounts: nfs::Mounts::default(),
            lustre: lustre::Lustre::default(),
            gpfs: gpfs::Gpfs::new(root),
        }
    }

    /// What there is at this moment, by subject, and within one in the system's order. What the system does not say is left
    /// out. So is what takes too long to be read every time, until a later reading has it: GPFS, and NFS mounts and Lustre's
    /// targets where there are very many. So [`difference`] is between two readings of the same subject, name and source,
    /// however far apart they are.
    pub fn read(&mut self) -> Vec<Reading> {
        let mut readings = Vec::new();
        self.processors.read(&mut self.files, &mut readings);
        memory::read(&mut self.files, &mut readings);
        self.disks.read(&mut self.files, &mut readings);
        links::read(&mut self.files, &mut readings);
        self.mounts.read(&mut self.files, &mut readings);
        self.lustre.read(&mut self.files, &mut readings);
        self.gpfs.read(&mut readings);
        readings
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::text::tree;

    #[test]
    fn what_is_written_on_this_machine_is_seen_and_subjects_have_their_order() {
        let mut view = NodeView::new(Path::new("/"));
        let before = view.read();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        let after = view.read();
        assert!(after.is_sorted_by_key(|reading| reading.subject));
        assert!(after.iter().all(|reading| reading.name != "lo"));
        let same = |a: &Reading, b: &Reading| (a.subject, &a.name, &a.source) == (b.subject, &b.name, &b.source);
        let mut compared = 0;
        for now in after.iter().filter(|now| now.subject != Subject::GpfsFileSystem) {
            let Some(earlier) = before.iter().find(|earlier| same(earlier, now)) else { continue };
            compared += 1;
            let counters = now.values().filter(|(field, _)| field.kind == Kind::Counter);
            for (field, value) in counters {
                assert!(earlier.value(field.name) <= Some(value), "{field:?} of {now:?} was {earlier:?}");
            }
        }
        assert!(compared >= 2, "{after:?}");
        let cpu = difference(&before[0], &after[0]);
        assert_eq!(cpu.subject, Subject::Cpu);
        assert!(after[0].value("runnable") >= Some(1), "at least this process runs: {after:?}");
    }

    #[test]
    fn a_node_without_anything_has_no_readings() {
        assert_eq!(NodeView::new(tree(&[]).path()).read(), []);
    }

    /// A file for each parser, and the beginning of one that it understands.
    const FILES: [(&str, &str); 14] = [
        ("proc/stat", "cpu  1 2 3 4 5 6 7 8 9 10\nprocs_running 3\n"),
        ("proc/meminfo", "MemTotal:       1000 kB\nDirty:             5 kB\n"),
        ("proc/vmstat", "pgpgin 10\nallocstall_dma 1\nallocstall_normal 1\n"),
        ("proc/pressure/io", "some avg10=0.00 avg60=0.12 avg300=0.29 total=7\nfull total=5\n"),
        ("proc/diskstats", "   8       0 sda 10 1 200 30 40 5 600 70 8 90 100 1\n"),
        ("sys/class/block/sda1/partition", "1\n"),
        ("proc/net/dev", " face |bytes\n  eth0:1000 20 3 4 5 6 7 8 9000 100 11 12 13 14 15 16\n"),
        ("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "250\n"),
        (
            "proc/self/mountstats",
            "device a:/b mounted on /c with fstype nfs statvers=1.1\n\tbytes:\t1 2 3 4 5 6 7 8\n\tper-op statistics\n\
             \t READ: 1 2 3 4 5 6 7 8 9\n\t OPEN: 1 2 3 4 5 6 7 8 9\n\t NULL: 1 2 3 4 5 6 7 8 9\n",
        ),
        ("proc/self/mountinfo", "30 1 0:47 / /c rw,relatime shared:1 - nfs4 a:/b rw\n"),
        ("proc/fs/lustre/llite/a-1/stats", "snapshot_time 1.5 secs\nread_bytes 2 samples [bytes] 1 2 3 4\n"),
        ("proc/fs/lustre/osc/a-OST0000-osc-1/stats", "snapshot_time 1.5 secs\nost_read 2 samples [usec] 1 2 3 4\n"),
        ("proc/fs/lustre/mdc/a-MDT0000-mdc-1/stats", "snapshot_time 1.5 secs\nreq_waittime 2 samples [sec] 1 2 3\n"),
        ("proc/fs/lustre/mdc/other/stats", "snapshot_time 1.5 secs\n"),
    ];

    /// The file as it is, with some bytes replaced, with numbers that are too large, or without any sense.
    fn contents(sound: &'static str) -> impl Strategy<Value = Vec<u8>> {
        let replaced = prop::collection::vec((0..sound.len(), any::<u8>()), 0..6).prop_map(move |changes| {
            let mut bytes = sound.as_bytes().to_vec();
            changes.into_iter().for_each(|(index, byte)| bytes[index] = byte);
            bytes
        });
        let too_large = prop_oneof![Just("18446744073709551615"), Just("-1"), Just("99999999999999999999"), Just("")]
            .prop_map(move |number| sound.replace(['1', '2', '5'], number).into_bytes());
        let cut = (0..sound.len()).prop_map(move |bytes| sound.as_bytes()[..bytes].to_vec());
        let senseless = prop::collection::vec(any::<u8>(), 0..300);
        prop_oneof![replaced, too_large, cut, senseless]
    }

    proptest! {
        // Each writes all files twice.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_bytes_in_any_file_are_read_or_left_out(
            texts in FILES.map(|(_, sound)| contents(sound)),
            again in FILES.map(|(_, sound)| contents(sound)),
        ) {
            let root = tree(&FILES);
            let mut view = NodeView::new(root.path());
            let mut earlier = Vec::new();
            for texts in [texts, again] {
                for ((name, _), bytes) in FILES.iter().zip(texts) {
                    let path = root.path().join(name);
                    // A new file: some file systems write the old one out before they truncate it.
                    fs::remove_file(&path).unwrap();
                    fs::write(path, bytes).unwrap();
                }
                let now = view.read();
                for (before, now) in earlier.iter().zip(&now) {
                    let (before, now): (&Reading, &Reading) = (before, now);
                    if (before.subject, &before.name) == (now.subject, &now.name) {
                        prop_assert!(difference(before, now).values().count() <= now.values().count());
                    }
                }
                earlier = now;
            }
            fs::remove_dir_all(root.path().join("proc")).unwrap();
            prop_assert!(view.read().iter().all(|reading| reading.subject == Subject::InfinibandPort));
        }
    }

    #[test]
    fn every_file_of_the_property_is_understood_as_it_is() {
        let subjects: Vec<_> =
            NodeView::new(tree(&FILES).path()).read().iter().map(|reading| reading.subject).collect();
        let mut wanted = Subject::ALL.to_vec();
        wanted.retain(|subject| *subject != Subject::GpfsFileSystem);
        let mut once = subjects.clone();
        once.dedup();
        assert_eq!(once, wanted);
    }
}
