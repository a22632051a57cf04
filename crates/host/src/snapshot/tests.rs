//! Snapshots of made-up nodes, read back from the archives.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Duration;

use flate2::read::GzDecoder;
use ioassay_protocol::environment::Mount;
use proptest::prelude::*;
use tar::EntryType;

use super::*;
use crate::text::tree;

/// An archive as it is read: the document, and texts of files and targets of links by the names of members.
struct Unpacked {
    document: Document,
    files: BTreeMap<String, String>,
    links: BTreeMap<String, String>,
}

impl Unpacked {
    fn of(snapshot: &Snapshot) -> Self {
        let mut bytes = Vec::new();
        snapshot.write(&mut bytes).unwrap();
        let mut tar = tar::Archive::new(GzDecoder::new(bytes.as_slice()));
        let (mut files, mut links, mut first) = (BTreeMap::new(), BTreeMap::new(), None);
        for member in tar.entries().unwrap() {
            let mut member = member.unwrap();
            let name = member.path().unwrap().to_str().unwrap().to_owned();
            first.get_or_insert(name.clone());
            if member.header().entry_type() == EntryType::Symlink {
                links.insert(name, member.link_name().unwrap().unwrap().to_str().unwrap().to_owned());
            } else if member.header().entry_type() == EntryType::Regular {
                let mut text = String::new();
                member.read_to_string(&mut text).unwrap();
                files.insert(name, text);
            }
        }
        assert_eq!(first.as_deref(), Some(MEMBER));
        Self { document: serde_json::from_str(&files[MEMBER]).unwrap(), files, links }
    }

    /// Names of files, without the root.
    fn names(&self) -> Vec<&str> {
        self.files.keys().filter_map(|name| name.strip_prefix("root/")).collect()
    }
}

fn no_programs() -> Programs {
    Programs { directories: Vec::new(), limit: Duration::from_secs(30) }
}

fn taken(root: &Path, environment: Environment, programs: Programs) -> Unpacked {
    let request = Request { root, target: None, target_problem: None, environment, programs, engine_version: "1" };
    Unpacked::of(&take(request))
}

fn linked(root: &Path, link: &str, target: &str) {
    let link = root.join(link);
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(target, link).unwrap();
}

const PCI: &str = "sys/devices/pci0000:00/0000:00:02.0/0000:01:00.0";

/// A disk at an adapter, a partition of it, multipath on that, and an array of two NVMe devices.
fn storage_node() -> tempfile::TempDir {
    let disk = format!("{PCI}/host0/target0:0:0/0:0:0:0");
    let files = [
        (format!("{PCI}/vendor"), "0x1000\n"),
        (format!("{PCI}/current_link_speed"), "8.0 GT/s PCIe\n"),
        (format!("{PCI}/max_link_width"), "8\n"),
        (format!("{PCI}/numa_node"), "1\n"),
        (format!("{PCI}/msi_irqs/63"), "msix\n"),
        (format!("{PCI}/serial_number"), "ADAPTER-SERIAL\n"),
        (format!("{disk}/queue_depth"), "64\n"),
        (format!("{disk}/wwid"), "naa.5000c500\n"),
        (format!("{disk}/vpd_pg80"), "DISK-SERIAL\n"),
        (format!("{disk}/scsi_disk/0:0:0:0/cache_type"), "write back\n"),
        (format!("{disk}/block/sda/size"), "1024\n"),
        (format!("{disk}/block/sda/queue/nr_requests"), "256\n"),
        (format!("{disk}/block/sda/queue/iosched/fifo_batch"), "16\n"),
        (format!("{disk}/block/sda/sda1/partition"), "1\n"),
        (format!("{disk}/block/sda/sda1/start"), "2048\n"),
        (format!("{disk}/block/sda/trace/enable"), "0\n"),
        ("sys/bus/pci/drivers/mpt3sas/new_id".to_owned(), ""),
        ("sys/devices/virtual/block/dm-0/dm/uuid".to_owned(), "mpath-36\n"),
        ("sys/devices/virtual/block/dm-0/queue/scheduler".to_owned(), "[none]\n"),
        ("sys/devices/virtual/block/md0/md/stripe_cache_size".to_owned(), "256\n"),
        ("sys/devices/virtual/block/md0/md/uuid".to_owned(), "ARRAY-UUID\n"),
        ("sys/devices/virtual/block/md0/md/dev-sda1/state".to_owned(), "in_sync\n"),
        ("sys/devices/virtual/block/ram0/size".to_owned(), "8\n"),
        ("sys/module/mpt3sas/parameters/max_queue_depth".to_owned(), "-1\n"),
        ("sys/module/snd/parameters/cards_limit".to_owned(), "1\n"),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let root = tree(&files);
    let path = root.path();
    linked(path, "sys/block/sda", &format!("../../{disk}/block/sda").replace("../../sys/", "../"));
    for name in ["dm-0", "md0", "ram0"] {
        linked(path, &format!("sys/block/{name}"), &format!("../devices/virtual/block/{name}"));
    }
    linked(path, &format!("{disk}/block/sda/device"), "../../../0:0:0:0");
    linked(path, &format!("{disk}/block/sda/holders/dm-0"), "../../../../../../../../../virtual/block/dm-0");
    linked(path, "sys/devices/virtual/block/dm-0/slaves/sda", &format!("../../../../../../{disk}/block/sda"));
    linked(path, &format!("{PCI}/driver"), "../../../../bus/pci/drivers/mpt3sas");
    linked(path, &format!("{PCI}/subsystem"), "../../../../bus/pci");
    root
}

#[test]
fn a_disk_is_captured_with_its_queue_its_partitions_and_the_adapter_above_it() {
    let root = storage_node();
    let unpacked = taken(root.path(), Environment::default(), no_programs());
    let disk = format!("{PCI}/host0/target0:0:0/0:0:0:0");
    let wanted = [
        format!("{PCI}/current_link_speed"),
        format!("{disk}/block/sda/queue/iosched/fifo_batch"),
        format!("{disk}/block/sda/queue/nr_requests"),
        format!("{disk}/block/sda/sda1/partition"),
        format!("{disk}/block/sda/sda1/start"),
        format!("{disk}/block/sda/size"),
        format!("{disk}/queue_depth"),
        format!("{disk}/scsi_disk/0:0:0:0/cache_type"),
        format!("{PCI}/max_link_width"),
        format!("{PCI}/msi_irqs/63"),
        format!("{PCI}/numa_node"),
        format!("{PCI}/vendor"),
        "sys/devices/virtual/block/dm-0/dm/uuid".to_owned(),
        "sys/devices/virtual/block/dm-0/queue/scheduler".to_owned(),
        "sys/devices/virtual/block/md0/md/dev-sda1/state".to_owned(),
        "sys/devices/virtual/block/md0/md/stripe_cache_size".to_owned(),
        "sys/module/mpt3sas/parameters/max_queue_depth".to_owned(),
    ];
    let mut wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    wanted.sort_unstable();
    assert_eq!(unpacked.names(), wanted);
    assert_eq!(unpacked.document.unreadable, []);
    assert!(unpacked.links["root/sys/block/sda"].ends_with("/block/sda"));
    assert!(unpacked.links[&format!("root/{PCI}/driver")].ends_with("bus/pci/drivers/mpt3sas"));
}

#[test]
fn an_unpacked_archive_resolves_as_the_node_does() {
    let root = storage_node();
    let request = Request {
        root: root.path(),
        target: None,
        target_problem: None,
        environment: Environment::default(),
        programs: no_programs(),
        engine_version: "1",
    };
    let mut bytes = Vec::new();
    take(request).write(&mut bytes).unwrap();
    let place = tempfile::tempdir().unwrap();
    tar::Archive::new(GzDecoder::new(bytes.as_slice())).unpack(place.path()).unwrap();
    let read = |path: &str| fs::read_to_string(place.path().join("root").join(path)).unwrap();
    assert_eq!(read("sys/block/sda/queue/nr_requests"), "256\n");
    assert_eq!(read("sys/block/dm-0/slaves/sda/device/queue_depth"), "64\n");
    assert_eq!(read("sys/block/sda/holders/dm-0/dm/uuid"), "mpath-36\n");
    assert!(place.path().join("root").join(PCI).join("driver").is_dir());
}

#[test]
fn lustre_is_captured_from_all_places_of_clients_and_servers_but_not_by_client() {
    let root = tree(&[
        ("sys/fs/lustre/version", "2.15.3\n"),
        ("sys/fs/lustre/osc/s-OST0000-osc-ff/max_rpcs_in_flight", "8\n"),
        ("sys/fs/lustre/osc/s-OST0000-osc-ff/ping", "\n"),
        ("sys/kernel/debug/lustre/osc/s-OST0000-osc-ff/rpc_stats", "snapshot_time: 1\n"),
        ("sys/kernel/debug/lustre/ost/OSS/ost_io/threads_max", "512\n"),
        ("sys/kernel/debug/lustre/ldlm/services/ldlm_cbd/threads_started", "16\n"),
        ("sys/kernel/debug/lustre/lnet/nis", "x\n"),
        ("sys/kernel/debug/lnet/nis", "nid status\n"),
        ("sys/fs/lustre/ldlm/namespaces/s-OST0000-osc-ff/lru_size", "0\n"),
        ("sys/fs/lustre/obdfilter/s-OST0000/exports/10.0.0.1@tcp/brw_stats", "x\n"),
        ("proc/fs/lustre/osd-ldiskfs/s-OST0000/brw_stats", "x\n"),
        ("proc/fs/lustre/osd-ldiskfs/s-OST0000/read_cache_enable", "1\n"),
    ]);
    let wanted = [
        "proc/fs/lustre/osd-ldiskfs/s-OST0000/brw_stats",
        "proc/fs/lustre/osd-ldiskfs/s-OST0000/read_cache_enable",
        "sys/fs/lustre/ldlm/namespaces/s-OST0000-osc-ff/lru_size",
        "sys/fs/lustre/osc/s-OST0000-osc-ff/max_rpcs_in_flight",
        "sys/fs/lustre/version",
        "sys/kernel/debug/lnet/nis",
        "sys/kernel/debug/lustre/ldlm/services/ldlm_cbd/threads_started",
        "sys/kernel/debug/lustre/osc/s-OST0000-osc-ff/rpc_stats",
        "sys/kernel/debug/lustre/ost/OSS/ost_io/threads_max",
    ];
    assert_eq!(taken(root.path(), Environment::default(), no_programs()).names(), wanted);
}

#[test]
fn connections_of_nvme_over_fabrics_are_captured_with_their_subsystem() {
    let controller = "sys/devices/virtual/nvme-fabrics/ctl/nvme0";
    let subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0";
    let root = tree(&[
        (&format!("{controller}/transport"), "tcp\n"),
        (&format!("{controller}/address"), "traddr=10.0.0.1\n"),
        (&format!("{subsystem}/iopolicy"), "numa\n"),
    ]);
    linked(root.path(), "sys/class/nvme/nvme0", &format!("../../../{controller}"));
    linked(root.path(), "sys/class/nvme-subsystem/nvme-subsys0", &format!("../../../{subsystem}"));
    linked(root.path(), &format!("{subsystem}/nvme0"), "../../nvme-fabrics/ctl/nvme0");
    let unpacked = taken(root.path(), Environment::default(), no_programs());
    assert_eq!(unpacked.names(), [format!("{controller}/transport"), format!("{subsystem}/iopolicy")]);
    assert!(unpacked.links[&format!("root/{subsystem}/nvme0")].ends_with("nvme-fabrics/ctl/nvme0"));
}

#[test]
fn other_file_systems_are_captured_without_keys() {
    let root = tree(&[
        ("proc/spl/kstat/zfs/arcstats", "c_max 4 1073741824\n"),
        ("sys/module/zfs/parameters/zfs_arc_max", "0\n"),
        ("sys/fs/btrfs/0b/allocation/data/raid6/total_bytes", "1\n"),
        ("sys/fs/btrfs/0b/allocation/data/disk_total", "1\n"),
        ("sys/fs/btrfs/0b/devinfo/1/missing", "0\n"),
        ("sys/fs/btrfs/features/raid56", "0\n"),
        ("etc/beegfs/beegfs-client.conf", "tuneFileCacheType = buffered\n"),
        ("etc/beegfs/conn.auth", "key\n"),
        ("proc/fs/beegfs/1-2/config", "tuneFileCacheType = buffered\n"),
        ("etc/ceph/ceph.conf", "[global]\n"),
        ("etc/ceph/ceph.client.admin.keyring", "key = AQ\n"),
        ("sys/bus/rbd/devices/0/config_info", "10.1.0.1:6789 name=admin,secret=AQBx,queue_depth=128 rbd img -\n"),
        ("usr/lib/tuned/hpc-compute/tuned.conf", "[main]\n"),
        ("usr/lib/tuned/profiles/hpc-compute/tuned.conf", "[main]\n"),
    ]);
    let unpacked = taken(root.path(), Environment::default(), no_programs());
    let wanted = [
        "etc/beegfs/beegfs-client.conf",
        "etc/ceph/ceph.conf",
        "proc/fs/beegfs/1-2/config",
        "proc/spl/kstat/zfs/arcstats",
        "sys/bus/rbd/devices/0/config_info",
        "sys/fs/btrfs/0b/allocation/data/disk_total",
        "sys/fs/btrfs/0b/allocation/data/raid6/total_bytes",
        "sys/fs/btrfs/0b/devinfo/1/missing",
        "sys/module/zfs/parameters/zfs_arc_max",
        "usr/lib/tuned/hpc-compute/tuned.conf",
        "usr/lib/tuned/profiles/hpc-compute/tuned.conf",
    ];
    assert_eq!(unpacked.names(), wanted);
    assert!(!unpacked.files["root/sys/bus/rbd/devices/0/config_info"].contains("AQBx"));
}

#[test]
fn interfaces_are_captured_without_their_addresses() {
    let root = tree(&[
        ("sys/class/net/eth0/mtu", "9000\n"),
        ("sys/class/net/eth0/address", "02:fc:00:00:00:01\n"),
        ("sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n"),
        ("sys/class/net/eth0/device/numa_node", "0\n"),
        ("sys/class/infiniband/mlx5_0/node_guid", "ec0d:9a03\n"),
        ("sys/class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)\n"),
        ("proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456\n"),
        ("proc/sys/net/ipv4/tcp_fastopen_key", "0-1-2-3\n"),
    ]);
    let wanted = [
        "proc/sys/net/ipv4/tcp_rmem",
        "sys/class/infiniband/mlx5_0/ports/1/rate",
        "sys/class/net/eth0/device/numa_node",
        "sys/class/net/eth0/mtu",
        "sys/class/net/eth0/queues/rx-0/rps_cpus",
    ];
    assert_eq!(taken(root.path(), Environment::default(), no_programs()).names(), wanted);
}

#[test]
fn a_target_that_could_not_be_examined_is_listed_with_the_reason() {
    let root = tree(&[]);
    let request = Request {
        root: root.path(),
        target: Some(Path::new("/mnt/x")),
        target_problem: Some("no response for 10 s".to_owned()),
        environment: Environment::default(),
        programs: no_programs(),
        engine_version: "1",
    };
    let Document { target, unreadable, .. } = Unpacked::of(&take(request)).document;
    assert_eq!(target.as_deref(), Some("/mnt/x"));
    assert_eq!((unreadable[0].path.as_str(), unreadable[0].reason.as_str()), ("mnt/x", "no response for 10 s"));
}

/// Files and programs with `text` in each.
fn node_with(text: &str) -> (tempfile::TempDir, Programs, Environment) {
    let line = text.replace('\n', " ");
    let files: Vec<(&str, &str)> = vec![
        ("etc/fstab", text),
        ("etc/multipath.conf", text),
        ("etc/exports", text),
        ("etc/modprobe.d/storage.conf", text),
        ("etc/sysctl.d/90.conf", text),
        ("etc/udev/rules.d/60.rules", text),
        ("var/mmfs/gen/mmfs.cfg", text),
        ("proc/cmdline", &line),
        ("proc/self/mountinfo", text),
        ("proc/mounts", text),
        ("sys/module/nvme/parameters/extra", text),
    ];
    let root = tree(&files);
    let program = root.path().join("bin/lctl");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(root.path().join("output"), text).unwrap();
    let output = root.path().join("output");
    let script = format!("#!/bin/sh\ncat {0}; cat {0} >&2; exit 1\n", output.display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let directories = vec![root.path().join("bin"), PathBuf::from("/usr/bin"), PathBuf::from("/bin")];
    let mount = Mount { options: vec![line.clone()], source: Some(line), ..Mount::default() };
    let programs = Programs { directories, limit: Duration::from_secs(30) };
    (root, programs, Environment { mount: Some(mount), ..Environment::default() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_is_in_an_archive(secret in "Zq[A-Za-z0-9!#$%^*+/_.~=-]{6,20}Q") {
        let forms = secrets::forms(&secret, "password");
        let (root, programs, environment) = node_with(&forms.join("\n"));
        let unpacked = taken(root.path(), environment, programs);
        prop_assert!(unpacked.files.len() > 10, "{:?}", unpacked.files.keys());
        for (name, text) in &unpacked.files {
            prop_assert!(!text.contains(&secret), "{name}: {text}");
        }
    }
}
