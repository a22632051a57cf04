"""Made-up nodes of storage systems: an NFS client, an NFS server on XFS and md, a GPFS client, ext4 on a partition.

Each is a `Node` that tests change before they take its snapshot: `nfs_client().with_files({...}).snapshot()`. What
`xfs_info` and `dumpe2fs` print was printed by xfsprogs 6.1 and e2fsprogs 1.47 for file systems with this geometry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ioassay.testing import snapshots
from ioassay.testing.snapshots import below
from ioassay.tuning.snapshot import Snapshot


@dataclass(frozen=True)
class Node:
    """The parts of a snapshot."""

    host: str
    files: Mapping[str, str]
    links: Mapping[str, str] = field(default_factory=dict)
    printed: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None

    def with_files(self, files: Mapping[str, object]) -> Node:
        """The node with other contents of files; `None` removes one, and everything below a directory."""
        gone = tuple(path for path, content in files.items() if content is None)
        remaining = {
            path: text
            for path, text in self.files.items()
            if not any(f"{path}/".startswith(f"{gone_path}/") for gone_path in gone)
        }
        return replace(self, files=remaining | {path: str(text) for path, text in files.items() if text is not None})

    def with_links(self, links: Mapping[str, str]) -> Node:
        """The node with more links."""
        return replace(self, links={**self.links, **links})

    def with_printed(self, printed: Mapping[str, str | None]) -> Node:
        """The node with other output of commands; `None`: that was not run."""
        return replace(
            self, printed={line: text for line, text in {**self.printed, **printed}.items() if text is not None}
        )

    def with_failed(self, failed: Mapping[str, str]) -> Node:
        """The node where commands failed, each with what it wrote to standard error."""
        return replace(self.with_printed(dict.fromkeys(failed)), failed={**self.failed, **failed})

    def with_unreadable(self, *paths: str) -> Node:
        """The node with files that the capture had no right to read."""
        changed = self.with_files(dict.fromkeys(paths))
        return replace(changed, unreadable={**self.unreadable, **dict.fromkeys(paths, "Permission denied (EACCES)")})

    def with_text(self, path: str, old: str, new: str) -> Node:
        """The node with something else in a file; `old` must be there."""
        assert old in self.files[path], f"{path} does not hold {old!r}"
        return self.with_files({path: self.files[path].replace(old, new)})

    def with_target(self, target: str) -> Node:
        """The node, captured for a target."""
        return replace(self, target=target)

    def snapshot(self) -> Snapshot:
        """Its snapshot."""
        return snapshots.snapshot(
            self.files,
            links=self.links,
            printed=self.printed,
            failed=self.failed,
            unreadable=self.unreadable,
            target=self.target,
            host=self.host,
        )


MOUNTINFO = "proc/self/mountinfo"
_INTERRUPTS = "proc/interrupts"

_ROOT_MOUNT = "25 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n"


def two_numa_nodes() -> dict[str, str]:
    """16 processors in two NUMA nodes."""
    return {
        "sys/devices/system/node/node0/cpulist": "0-7",
        "sys/devices/system/node/node1/cpulist": "8-15",
        "sys/devices/system/cpu/isolated": "",
    }


def frequency(governor: str, driver: str = "intel_pstate", preference: str | None = None) -> dict[str, str]:
    """cpufreq of 16 processors."""
    every: dict[str, str] = {}
    for cpu in range(16):
        settings: dict[str, object] = {
            "scaling_governor": governor,
            "scaling_driver": driver,
            "scaling_available_governors": "performance powersave",
        }
        if preference is not None:
            settings["energy_performance_preference"] = preference
        every |= below(f"sys/devices/system/cpu/cpu{cpu}/cpufreq", settings)
    return every


def adapter(name: str, *, megabits: int, node: int, address: str = "0000:81:00.0", mtu: int = 9000) -> Node:
    """An Ethernet adapter that is up, with eight queues whose interrupts go to processors of its NUMA node."""
    slot = f"sys/devices/pci0000:80/0000:80:01.0/{address}"
    first = 100 + 10 * node
    interrupts = "".join(f"{first + queue}: 0 0 IR-PCI-MSI 1 mlx5_comp{queue}@pci:{address}\n" for queue in range(8))
    affinity = {f"proc/irq/{first + queue}/effective_affinity_list": str(8 * node + queue) for queue in range(8)}
    return Node(
        "",
        {
            **below(
                f"{slot}/net/{name}",
                {"mtu": mtu, "speed": megabits, "type": 1, "operstate": "up", "duplex": "full"},
            ),
            **below(
                slot,
                {
                    "numa_node": node,
                    "current_link_width": 16,
                    "max_link_width": 16,
                    "current_link_speed": "16.0 GT/s PCIe",
                    "max_link_speed": "16.0 GT/s PCIe",
                },
            ),
            _INTERRUPTS: interrupts,
            **affinity,
        },
        links={
            f"sys/class/net/{name}": f"../../devices/pci0000:80/0000:80:01.0/{address}/net/{name}",
            f"{slot}/net/{name}/device": f"../../../{address}",
        },
    )


def infiniband(device: str, *, rate: str = "100 Gb/sec (4X EDR)", node: int = 0) -> Node:
    """An InfiniBand adapter with one active port."""
    slot = "sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0"
    return Node(
        "",
        {
            **below(
                f"{slot}/infiniband/{device}/ports/1",
                {"state": "4: ACTIVE", "link_layer": "InfiniBand", "rate": rate},
            ),
            **below(slot, {"numa_node": node, "current_link_width": 16, "max_link_width": 16}),
        },
        links={
            f"sys/class/infiniband/{device}": f"../../devices/pci0000:00/0000:00:02.0/0000:02:00.0/infiniband/{device}",
            f"{slot}/infiniband/{device}/device": "../../../0000:02:00.0",
        },
    )


def plugged(node: Node, *parts: Node) -> Node:
    """A node with adapters."""
    files, links = dict(node.files), dict(node.links)
    for part in parts:
        interrupts = files.get(_INTERRUPTS, "") + part.files.get(_INTERRUPTS, "")
        files |= {**part.files, _INTERRUPTS: interrupts}
        links |= part.links
    return replace(node, files=files, links=links)


NFS_OPTIONS = (
    "rw,vers=3,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,nconnect=8,timeo=600,retrans=2,sec=sys,"
    "mountaddr=10.1.0.9,mountvers=3,mountport=300,mountproto=udp,local_lock=none,addr=10.1.0.9"
)
"""The options of /scratch on `nfs_client`, as the kernel lists them."""


def nfs_client() -> Node:
    """A client of a filer, well set: /scratch over NFS 3, and /home over NFS 4.1 from another server."""
    home = (
        "rw,vers=4.1,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,nconnect=8,timeo=600,retrans=2,sec=sys,"
        "clientaddr=10.1.0.20,local_lock=none,addr=10.1.0.10"
    )
    mounts = (
        f"{_ROOT_MOUNT}"
        f"61 25 0:52 / /scratch rw,relatime shared:30 - nfs filer:/ifs/scratch {NFS_OPTIONS}\n"
        f"62 25 0:53 / /home rw,relatime shared:31 - nfs4 homes:/home {home}\n"
    )
    bare = Node(
        "node17",
        {
            MOUNTINFO: mounts,
            "sys/devices/virtual/bdi/0:52/read_ahead_kb": "15360",
            "sys/devices/virtual/bdi/0:53/read_ahead_kb": "15360",
            "sys/module/nfs/parameters/max_session_slots": "180",
            **below("proc/sys/sunrpc", {"tcp_slot_table_entries": 2, "tcp_max_slot_table_entries": 65536}),
            **below("proc/sys/net/ipv4", {"tcp_rmem": "4096\t131072\t33554432", "tcp_wmem": "4096\t16384\t33554432"}),
            **two_numa_nodes(),
            **frequency("performance", preference="performance"),
        },
        links={f"sys/class/bdi/0:{device}": f"../../devices/virtual/bdi/0:{device}" for device in (52, 53)},
        target="/scratch/data",
    )
    return plugged(bare, adapter("ens1f0", megabits=100_000, node=1))


_MEMBERS = tuple(f"sd{letter}" for letter in "bcdefghijk")

XFS_INFO = """\
meta-data=/dev/md0               isize=512    agcount=32, agsize=268435424 blks
         =                       sectsz=4096  attr=2, projid32bit=1
         =                       crc=1        finobt=1, sparse=1, rmapbt=0
         =                       reflink=1    bigtime=1 inobtcount=1 nrext64=0
data     =                       bsize=4096   blocks=7813627904, imaxpct=5
         =                       sunit=32     swidth=256 blks
naming   =version 2              bsize=4096   ascii-ci=0, ftype=1
log      =internal log           bsize=4096   blocks=521728, version=2
         =                       sectsz=4096  sunit=32 blks, lazy-count=1
realtime =none                   extsz=4096   blocks=0, rtextents=0
"""


def nfs_server() -> Node:
    """A server, well set, that exports XFS on RAID6 8+2 of md with chunks of 128 KiB."""
    disks: dict[str, str] = {}
    for name in ("sda", *_MEMBERS):
        disks |= snapshots.disk(name, model="ST8000NM0075")
    xfs = "rw,attr2,inode64,logbufs=8,logbsize=256k,sunit=256,swidth=2048,noquota"
    array = below(
        "sys/block/md0",
        {
            "size": 62509023232,
            "dev": "9:0",
            "queue/rotational": 1,
            "md/level": "raid6",
            "md/raid_disks": 10,
            "md/chunk_size": 131072,
            "md/degraded": 0,
            "md/array_state": "clean",
            "md/sync_action": "idle",
            "md/sync_completed": "none",
            "md/sync_speed_min": "1000 (system)",
            "md/sync_speed_max": "200000 (system)",
            "md/stripe_cache_size": 1024,
            "md/group_thread_cnt": 0,
        },
    )
    bare = Node(
        "nfs1",
        {
            MOUNTINFO: f"{_ROOT_MOUNT}70 25 9:0 / /export rw,noatime shared:40 - xfs /dev/md0 {xfs}\n",
            "proc/mdstat": "Personalities : [raid6] [raid5] [raid4]\n"
            f"md0 : active raid6 {' '.join(f'{name}[{number}]' for number, name in enumerate(_MEMBERS))}\n"
            "      31254511616 blocks super 1.2 level 6, 128k chunk, algorithm 2 [10/10] [UUUUUUUUUU]\n"
            "      bitmap: 0/30 pages [0KB], 65536KB chunk\n\nunused devices: <none>\n",
            **disks,
            **array,
            **below(
                "proc/fs/nfsd",
                {
                    "threads": 128,
                    "max_block_size": 1048576,
                    "pool_stats": "# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n"
                    "0 9000000 90000 8900000 0\n1 1000000 0 1000000 0\n",
                },
            ),
            "sys/module/sunrpc/parameters/pool_mode": "pernode",
            "etc/exports": "/export 10.1.0.0/16(rw,sync,no_subtree_check)\n",
            **two_numa_nodes(),
        },
        links={f"sys/block/md0/slaves/{name}": f"../../{name}" for name in _MEMBERS},
        printed={
            "exportfs -v": "/export       \t10.1.0.0/16(sync,wdelay,hide,no_subtree_check,sec=sys,rw,secure,"
            "root_squash,no_all_squash)\n",
            "xfs_info /export": XFS_INFO,
        },
        target="/export",
    )
    return plugged(bare, adapter("ens1f0", megabits=25_000, node=0))


MMFS_CFG = """\
#
# WARNING: This is a machine generated file.  Do not edit!
# Use the mmchconfig command to change configuration parameters.
#
clusterName scale.example.org
clusterId 6339012640885012929
autoload yes
dmapiFileHandleSize 32
minReleaseLevel 5.1.9.0
tscCmdAllowRemoteConnections no
ccrEnabled yes
cipherList AUTHONLY
maxblocksize 16M
[nsd01,nsd02]
pagepool 64G
workerThreads 1024
[node17]
pagepool 8G
[common]
maxMBpS 24000
workerThreads 512
maxFilesToCache 50000
verbsRdma enable
verbsPorts mlx5_0/1
numaMemoryInterleave yes
adminMode central
"""

MMDIAG_CONFIG = """\

=== mmdiag: config ===
allowDeleteAclOnChmod 1
assertOnStructureError 0
atimeDeferredSeconds 86400
 ! cipherList AUTHONLY
 ! clusterId 6339012640885012929
 ! clusterName scale.example.org
dynamicPagepoolEnabled no
 ! maxFilesToCache 50000
 ! maxMBpS 24000
maxStatCache 1000
 ! maxblocksize 16777216
 ! numaMemoryInterleave yes
 ! pagepool 8589934592
pagepoolMaxPhysMemPct 75
prefetchPct 20
 ! verbsPorts mlx5_0/1
 ! verbsRdma enable
 ! workerThreads 512
"""

MMLSFS = """\
mmlsfs::HEADER:version:reserved:reserved:deviceName:fieldName:data:remarks:
mmlsfs::0:1:::scratch:minFragmentSize:8192:system pool:
mmlsfs::0:1:::scratch:minFragmentSize:8192:other pools:
mmlsfs::0:1:::scratch:inodeSize:4096::
mmlsfs::0:1:::scratch:defaultMetadataReplicas:2::
mmlsfs::0:1:::scratch:blockAllocationType:scatter::
mmlsfs::0:1:::scratch:fileLockingSemantics:nfs4::
mmlsfs::0:1:::scratch:numNodes:512::
mmlsfs::0:1:::scratch:blockSize:262144:system pool:
mmlsfs::0:1:::scratch:blockSize:4194304:other pools:
mmlsfs::0:1:::scratch:quotasAccountingEnabled:none::
mmlsfs::0:1:::scratch:filesystemVersion:27.00 (5.1.3.0)::
mmlsfs::0:1:::scratch:exactMtime:Yes::
mmlsfs::0:1:::scratch:suppressAtime:relatime::
mmlsfs::0:1:::scratch:defaultMountPoint:%2Fgpfs%2Fscratch::
"""


def gpfs_client() -> Node:
    """A client of a GPFS cluster on InfiniBand, well set."""
    bare = Node(
        "node17",
        {
            MOUNTINFO: f"{_ROOT_MOUNT}80 25 0:60 / /gpfs/scratch rw,relatime shared:50 - gpfs scratch rw\n",
            "var/mmfs/gen/mmfs.cfg": MMFS_CFG,
            **two_numa_nodes(),
        },
        printed={"mmdiag --config": MMDIAG_CONFIG, "mmlsfs all -Y": MMLSFS},
        target="/gpfs/scratch",
    )
    return plugged(bare, infiniband("mlx5_0"))


DUMPE2FS = """\
Filesystem volume name:   <none>
Last mounted on:          /data
Filesystem UUID:          a4c90b64-1a5b-4c25-ac50-b4a3e97ed4cf
Filesystem magic number:  0xEF53
Filesystem revision #:    1 (dynamic)
Filesystem features:      has_journal ext_attr resize_inode dir_index filetype needs_recovery extent 64bit flex_bg
Filesystem flags:         signed_directory_hash
Default mount options:    user_xattr acl
Filesystem state:         clean
Errors behavior:          Continue
Filesystem OS type:       Linux
Inode count:              244195328
Block count:              976754176
First block:              0
Block size:               4096
Fragment size:            4096
RAID stride:              32
RAID stripe width:        256
Flex block group size:    16
Journal inode:            8
Journal features:         journal_64bit journal_checksum_v3
Total journal size:       1024M
Total journal blocks:     262144
Max transaction length:   262144
Fast commit length:       0
Journal sequence:         0x00000001
Journal start:            0
"""


def ext4_host() -> Node:
    """A node with ext4 on a partition of a RAID controller's virtual disk, RAID6 8+2 with segments of 128 KiB."""
    return Node(
        "store3",
        {
            MOUNTINFO: "90 25 8:17 / /data rw,noatime,lazytime shared:60 - ext4 /dev/sdb1 rw,stripe=256\n",
            **snapshots.disk("sdb", vendor="DELL", model="MD3460"),
            **below("sys/block/sdb/sdb1", {"partition": 1, "start": 2048, "size": 7814035120, "dev": "8:17"}),
        },
        printed={"dumpe2fs -h /dev/sdb1": DUMPE2FS},
        target="/data",
    )


ZPOOL_STATUS = """\
  pool: tank
 state: ONLINE
  scan: scrub repaired 0B in 05:12:33 with 0 errors on Sun Nov  8 05:36:34 2026
config:

\tNAME                STATE     READ WRITE CKSUM
\ttank                ONLINE       0     0     0
\t  raidz2-0          ONLINE       0     0     0
\t    /dev/sdb1       ONLINE       0     0     0
\t    /dev/sdc1       ONLINE       0     0     0
\t    /dev/sdd1       ONLINE       0     0     0
\t    /dev/sde1       ONLINE       0     0     0
\tspecial\t
\t  mirror-1          ONLINE       0     0     0
\t    /dev/nvme0n1p1  ONLINE       0     0     0
\t    /dev/nvme1n1p1  ONLINE       0     0     0
\t    /dev/nvme2n1p1  ONLINE       0     0     0
\tspares
\t  /dev/sdf1         AVAIL   

errors: No known data errors
"""  # noqa: W291 (as zpool prints it)
_ZPOOL_GET = {
    "size": "16000900661248",
    "capacity": "41",
    "health": "ONLINE",
    "ashift": "12",
    "fragmentation": "7",
    "autotrim": "off",
}
_ZFS_GET = {
    "type": "filesystem",
    "mountpoint": "/tank",
    "recordsize": "1048576",
    "volblocksize": "-",
    "compression": "lz4",
    "sync": "standard",
    "xattr": "sa",
    "special_small_blocks": "32768",
}
ZFS_GET_LINE = "zfs get -Hp -t filesystem,volume type,mountpoint,recordsize"
"""The beginning of what a snapshot has of `zfs get`, with fewer properties."""


def zfs_server(**properties: str) -> Node:
    """A node, well set, with RAID-Z2 and a special vdev; /tank/scratch on the data set tank/scratch.

    What the commands print has the form of OpenZFS 2.2 (its man pages and sources); no ZFS ran here. `properties` of
    tank/scratch are otherwise.
    """
    disks: dict[str, str] = {}
    for name in ("sdb", "sdc", "sdd", "sde"):
        disks |= snapshots.disk(name, model="ST8000NM0075")
        disks |= below(f"sys/block/{name}/{name}1", {"partition": 1, "start": 2048, "size": 7814035120})
    sets = {
        "tank": _ZFS_GET,
        "tank/scratch": _ZFS_GET | {"mountpoint": "/tank/scratch"} | properties,
        "tank/vol": {"type": "volume", "volblocksize": "16384", "compression": "lz4", "sync": "standard"},
    }
    lines = [f"{name}\t{key}\t{value}\tlocal\n" for name, values in sets.items() for key, value in values.items()]
    return Node(
        "zfs1",
        {
            MOUNTINFO: f"{_ROOT_MOUNT}91 25 0:60 / /tank/scratch rw,noatime shared:61 - zfs tank/scratch rw,xattr\n",
            "sys/module/zfs/version": "2.2.7-1",
            **below(
                "sys/module/zfs/parameters",
                {"zfs_arc_max": 0, "zfs_prefetch_disable": 0, "zfs_nocacheflush": 0, "zil_nocacheflush": 0},
            ),
            "proc/spl/kstat/zfs/arcstats": "9 1 0x01 147 39984 5417193316 911327434413\nname  type data\n"
            f"hits                            4    1293\nc_max                           4    {32 << 30}\n",
            **disks,
        },
        printed={
            "zpool status -LP": ZPOOL_STATUS,
            "zpool get -Hp all": "".join(f"tank\t{key}\t{value}\t-\n" for key, value in _ZPOOL_GET.items()),
            ZFS_GET_LINE: "".join(lines),
        },
        target="/tank/scratch",
    )


BTRFS_PATH = "sys/fs/btrfs/d905f53c-e72c-4d65-9fcc-8d77e0b2c60f"


def btrfs_host(options: str = "discard=async,space_cache=v2,subvolid=5,subvol=/", *, data: str = "raid1") -> Node:
    """A node, well set, with btrfs on two disks and metadata in RAID1; in the form that Linux 6.18 had."""
    disks: dict[str, str] = {}
    for name in ("sdb", "sdc"):
        disks |= snapshots.disk(name, model="ST8000NM0075")
    errors = "write_errs 0\nread_errs 0\nflush_errs 0\ncorruption_errs 0\ngeneration_errs 0\n"
    return Node(
        "store4",
        {
            MOUNTINFO: f"{_ROOT_MOUNT}90 25 0:49 / /data rw,noatime shared:60 - btrfs /dev/sdb rw,{options}\n",
            **disks,
            **below(BTRFS_PATH, {"exclusive_operation": "none", "checksum": "crc32c (crc32c-x86_64)"}),
            **below(f"{BTRFS_PATH}/devinfo/1", {"missing": 0, "error_stats": errors}),
            **below(f"{BTRFS_PATH}/devinfo/2", {"missing": 0, "error_stats": errors}),
            f"{BTRFS_PATH}/allocation/data/{data}/total_bytes": "134217728",
            f"{BTRFS_PATH}/allocation/metadata/raid1/total_bytes": "80478208",
        },
        links={f"{BTRFS_PATH}/devices/{name}": f"../../../../block/{name}" for name in ("sdb", "sdc")},
        target="/data",
    )


BEEGFS_CLIENT = "proc/fs/beegfs/1A2B-6700C0DE-node17/config"
BEEGFS_META, BEEGFS_STORAGE = "etc/beegfs/beegfs-meta.conf", "etc/beegfs/beegfs-storage.conf"


def beegfs_client() -> Node:
    """A client of BeeGFS on InfiniBand, well set. No BeeGFS ran here: the form is that of the sources of BeeGFS 8.3."""
    config = (
        "cfgFile = /etc/beegfs/beegfs-client.conf\nlogLevel = 3\nconnUseRDMA = 1\nconnMaxInternodeNum = 12\n"
        "tuneFileCacheType = buffered\ntuneFileCacheBufSize = 524288\ntuneRemoteFSync = 1\n"
        "sysSessionChecksEnabled = 1\n"
    )
    options = "rw,cfgFile=/etc/beegfs/beegfs-client.conf"
    bare = Node(
        "node17",
        {
            MOUNTINFO: f"{_ROOT_MOUNT}95 25 0:70 / /beegfs rw,relatime shared:70 - beegfs beegfs_nodev {options}\n",
            BEEGFS_CLIENT: config,
            "etc/beegfs/beegfs-client.conf": "# comment\nconnUseRDMA = false\nstoreMetaDirectory =\n",
            BEEGFS_META: "storeMetaDirectory           =\ntuneNumWorkers               = 0\n",
        },
        target="/beegfs",
    )
    return plugged(bare, infiniband("mlx5_0"))


def beegfs_server() -> Node:
    """A server of metadata on RAID1 of md and of data on RAID6, well set."""
    node = nfs_server()
    mirror = below("sys/block/md1", {"size": 62509023232, "dev": "9:1", "md/level": "raid1", "md/raid_disks": 2})
    mount = "71 25 9:1 / /meta rw,noatime shared:41 - ext4 /dev/md1 rw\n"
    files = {
        MOUNTINFO: f"{node.files[MOUNTINFO]}{mount}",
        BEEGFS_META: "connUseRDMA = true\nstoreMetaDirectory = /meta/beegfs\nstoreUseExtendedAttribs = true\n"
        "tuneNumWorkers = 0\n",
        BEEGFS_STORAGE: "connUseRDMA = true\nstoreStorageDirectory = /export/t1,/export/t2\ntuneFileReadSize = 128k\n"
        "tuneFileWriteSize = 128k\ntuneNumWorkers = 12\ntuneUsePerTargetWorkers = true\ntuneWorkerBufSize = 4m\n",
    }
    links = {"sys/block/md1/slaves/sda": "../../sda"}
    return plugged(replace(node.with_files({**mirror, **files}).with_links(links), target=None), infiniband("mlx5_0"))


def network_client() -> Node:
    """A client, well set, of CephFS, RBD, WEKA, DAOS and of NVMe over TCP with two paths.

    None of them runs here: the forms are those of their documentation, of mount(8), and of /sys as Linux documents it.
    """
    files: dict[str, str] = {
        MOUNTINFO: f"{_ROOT_MOUNT}"
        "96 25 0:71 / /cephfs rw,relatime shared:71 - ceph user@b3a5.fs=/ rw,name=user,secret=<hidden>,ms_mode=crc\n"
        "97 25 0:72 / /weka rw,relatime shared:72 - wekafs default/fs01 rw,writecache,inode_bits=auto,"
        "readahead_kb=32768,dentry_max_age_positive=1000,dentry_max_age_negative=0\n"
        "98 25 0:73 / /dfuse rw,nosuid,nodev,relatime shared:73 - fuse.daos dfuse rw,user_id=1000,group_id=1000\n",
        "etc/fstab": "backend1/fs01 /weka wekafs num_cores=2,net=ib0,_netdev 0 0\n",
        "sys/bus/rbd/devices/0/config_info": "10.1.0.1:6789 name=user,key=client.user,queue_depth=256 rbd image -\n",
        **below("sys/block/rbd0", {"size": 1 << 31, "dev": "252:0", "queue/rotational": 0}),
        **below("sys/class/nvme-subsystem/nvme-subsys0", {"iopolicy": "round-robin", "subsystype": "nvm"}),
        **below("sys/block/nvme0n1", {"size": 1 << 31, "dev": "259:0", "queue/rotational": 0}),
    }
    links: dict[str, str] = {}
    for number, transport in ((0, "tcp"), (1, "tcp"), (2, "pcie")):
        attributes = {"transport": transport, "state": "live", "queue_count": 17, "sqsize": 127}
        files |= below(f"sys/devices/virtual/nvme-fabrics/ctl/nvme{number}", attributes)
        links[f"sys/class/nvme/nvme{number}"] = f"../../devices/virtual/nvme-fabrics/ctl/nvme{number}"
        if transport == "tcp":
            links[f"sys/class/nvme-subsystem/nvme-subsys0/nvme{number}"] = f"../../nvme/nvme{number}"
    return Node("node18", files, links)
