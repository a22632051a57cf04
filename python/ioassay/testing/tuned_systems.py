"""Made-up snapshots of the systems that studies tuned, before and after, and of others that differ from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ioassay.protocol.snapshot import Environment
from ioassay.testing import snapshots
from ioassay.testing.snapshots import below, disk
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import Array

GIB = 1 << 30

MD3460 = Array(8, 128 << 10, 2)
"""The study's statement about its disk groups, without the controllers' caches."""
MD3460_UNTUNED = Array(
    8,
    128 << 10,
    2,
    cache_block_bytes=4 << 10,
    cache_flush_percent=80,
    write_cache=True,
    mirroring=False,
    read_cache=True,
)
MD3460_TUNED = Array(
    8,
    128 << 10,
    2,
    cache_block_bytes=32 << 10,
    cache_flush_percent=98,
    write_cache=True,
    mirroring=True,
    read_cache=False,
)

_TARGETS = 6
_DEFAULT_SINGLE_QUEUE = "noop anticipatory deadline [cfq]"
_TUNED_SINGLE_QUEUE = "noop anticipatory [deadline] cfq"


def md3460_oss() -> Snapshot:
    """The study's object storage server before tuning: CentOS 6.5, six RAID6 LUNs of an MD3460, two paths to each."""
    return _oss(
        queue={
            "scheduler": _DEFAULT_SINGLE_QUEUE,
            "nr_requests": 128,
            "max_sectors_kb": 512,
            "max_segments": 128,
            "read_ahead_kb": 128,
            "rq_affinity": 1,
        },
        adapter={"sg_tablesize": 128, "can_queue": 497},
        options={"max_sgl_entries": -1, "max_queue_depth": -1},
        memory={"vfs_cache_pressure": 100},
        huge_pages="[always] madvise never",
        lustre={"threads_min": 3, "threads_max": 192},
        pieces=(10, 90),
    )


def md3460_oss_tuned() -> Snapshot:
    """The same server with the values of Tables 3 and 5."""
    return _oss(
        queue={
            "scheduler": _TUNED_SINGLE_QUEUE,
            "nr_requests": 1024,
            "max_sectors_kb": 1024,
            "max_segments": 256,
            "read_ahead_kb": 8192,
            "rq_affinity": 2,
        },
        adapter={"sg_tablesize": 256, "can_queue": 597},
        options={"max_sgl_entries": 256, "max_queue_depth": 600},
        memory={"vfs_cache_pressure": 50},
        huge_pages="always madvise [never]",
        lustre={"threads_min": 512, "threads_max": 512},
        pieces=(99, 1),
    )


def lustre_client(*, tuned: bool = False) -> Snapshot:
    """A client of that file system, with twelve OSTs; `tuned` as in Table 6."""
    osc: dict[str, object] = {
        "max_rpcs_in_flight": 256 if tuned else 8,
        "max_dirty_mb": 1024 if tuned else 32,
        "max_pages_per_rpc": 256,
        "checksums": 1,
        "checksum_type": "crc32 adler [crc32c]",
        "import": "import:\n    connect_data:\n        max_brw_size: 1048576\n",
        "rpc_stats": rpc_stats({1: (2, 1), 128: (3, 4), 256: (400, 590)}),
    }
    files: dict[str, str] = {"proc/sys/vm/vfs_cache_pressure": "50"}
    for target in range(12):
        files |= below(f"proc/fs/lustre/osc/ltestfs2-OST{target:04x}-osc-ffff88085f1c2c00", osc)
    mount = "ltestfs2-ffff88085f1c2c00"
    files |= below(
        f"proc/fs/lustre/llite/{mount}",
        {
            "max_read_ahead_mb": 1024 if tuned else 40,
            "max_read_ahead_per_file_mb": 256 if tuned else 40,
            "statahead_max": 32,
        },
    )
    files["proc/self/mountinfo"] = (
        "21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
        "40 21 0:38 / /ltestfs2 rw,relatime shared:20 - lustre 10.0.0.1@o2ib:/ltestfs2 rw,flock"
    )
    printed = {
        "lfs getstripe -d /ltestfs2": "stripe_count:  1 stripe_size:   1048576 pattern:       raid0 stripe_offset: -1\n"
    }
    return _of_memory(snapshots.snapshot(files, printed=printed, target="/ltestfs2", host="client1"), 64 * GIB)


def nvme_node() -> Snapshot:
    """A node of today with NVMe devices, XFS on one of them, and no other storage."""
    queue: dict[str, object] = {
        "scheduler": "[none] mq-deadline kyber bfq",
        "nr_requests": 1023,
        "max_sectors_kb": 1280,
        "max_hw_sectors_kb": 2048,
        "max_segments": 127,
        "max_segment_size": 4294967295,
        "rotational": 0,
        "rq_affinity": 1,
        "wbt_lat_usec": 2000,
        "physical_block_size": 4096,
        "write_cache": "write through",
    }
    files: dict[str, str] = {}
    for number in range(2):
        files |= disk(f"nvme{number}n1", queue=queue, model="Dell Ent NVMe v2 AGN RI U.2 3.84TB")
    files |= below("sys/block/nvme0n1/nvme0n1p1", {"partition": 1, "start": 2048, "size": 7501474816, "dev": "259:5"})
    files |= below("proc/sys/vm", {"vfs_cache_pressure": 100, "dirty_ratio": 20, "dirty_background_ratio": 10})
    files |= below("sys/kernel/mm/transparent_hugepage", {"enabled": "[always] madvise never", "defrag": "madvise"})
    files["proc/self/mountinfo"] = "21 1 259:5 / / rw,relatime - xfs /dev/nvme0n1p1 rw"
    return _of_memory(snapshots.snapshot(files, host="node1"), 256 * GIB)


def brw_stats(pieces: Mapping[int, tuple[int, int]], sizes: Mapping[str, tuple[int, int]]) -> str:
    """The counters of a target, for reads and writes: RPCs by their disk requests, disk requests by size."""
    return (
        "snapshot_time:         1400000000.123456 (secs.usecs)\n"
        + _histogram("disk fragmented I/Os  ", "ios", {str(key): value for key, value in pieces.items()})
        + _histogram("disk I/O size         ", "ios", sizes)
    )


def rpc_stats(pages: Mapping[int, tuple[int, int]]) -> str:
    """The counters of a client: RPCs by the number of their pages, for reads and writes."""
    rows = {str(key): value for key, value in pages.items()}
    return "snapshot_time:         1400000000.123456 (secs.usecs)\n" + _histogram(
        "pages per rpc         ", "rpcs", rows
    )


def _histogram(title: str, unit: str, rows: Mapping[str, tuple[int, int]]) -> str:
    lines = [f"\n{'':26} read      |     write", f"{title} {unit}   % cum % |  {unit}         % cum %"]
    lines += [f"{key}:\t\t{reads:10} {0:3} {0:3}   | {writes:4} {0:3} {0:3}" for key, (reads, writes) in rows.items()]
    return "\n".join(lines) + "\n"


def _oss(
    *,
    queue: Mapping[str, object],
    adapter: Mapping[str, object],
    options: Mapping[str, object],
    memory: Mapping[str, object],
    huge_pages: str,
    lustre: Mapping[str, object],
    pieces: tuple[int, int],
) -> Snapshot:
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    usual = {"max_hw_sectors_kb": 16383, "physical_block_size": 512, "rotational": 1}
    absent = ("wbt_lat_usec", "write_cache")
    for host in range(2):
        device_path = f"sys/devices/pci0000:00/0000:0{host + 3}:00.0/host{host}"
        files |= below(f"{device_path}/scsi_host/host{host}", {"proc_name": "mpt3sas", **adapter})
        links[f"sys/class/scsi_host/host{host}"] = f"../../{device_path.removeprefix('sys/')}/scsi_host/host{host}"
    for target in range(_TARGETS):
        upper = f"dm-{target}"
        files |= _only(disk(upper, queue={**usual, **queue}), absent)
        files |= below(f"sys/block/{upper}/dm", {"name": f"ost{target}", "uuid": f"mpath-3600a0b80{target:04x}"})
        files[f"sys/block/{upper}/dev"] = f"253:{target}"
        for host in range(2):
            name = f"sd{chr(ord('b') + target + host * _TARGETS)}"
            real = (
                f"devices/pci0000:00/0000:0{host + 3}:00.0/host{host}/target{host}:0:0/{host}:0:0:{target}/block/{name}"
            )
            path = disk(name, queue={**usual, **queue}, vendor="DELL", model="MD34xx", queue_depth=254)
            files |= {
                path_of_file.replace(f"sys/block/{name}", f"sys/{real}"): text
                for path_of_file, text in _only(path, absent).items()
            }
            links[f"sys/block/{name}"] = f"../{real}"
            links[f"sys/block/{upper}/slaves/{name}"] = f"../../../{real}"
            links[f"sys/{real}/holders/{upper}"] = f"../../../../../../../../../block/{upper}"
    files |= below("sys/module/mpt3sas/parameters", options)
    files |= below("sys/kernel/mm/redhat_transparent_hugepage", {"enabled": huge_pages, "defrag": "[always] never"})
    files |= below("proc/sys/vm", {"zone_reclaim_mode": 0, "min_free_kbytes": 67584, **memory})
    files |= below("proc/fs/lustre/ost/OSS/ost_io", {**lustre, "threads_started": 192})
    sizes = {"512K": (pieces[1] * 20, pieces[1] * 20), "1M": (pieces[0] * 10, pieces[0] * 10)}
    for target in range(_TARGETS):
        name = f"ltestfs2-OST{target:04x}"
        files |= below(
            f"proc/fs/lustre/obdfilter/{name}", {"brw_size": 1, "readcache_max_filesize": 18446744073709551615}
        )
        counted = brw_stats({1: (pieces[0] * 10,) * 2, 2: (pieces[1] * 10,) * 2}, sizes)
        files |= below(f"proc/fs/lustre/osd-ldiskfs/{name}", {"brw_stats": counted, "read_cache_enable": 1})
    return _of_memory(snapshots.snapshot(files, links=links), 32 * GIB, kernel="Linux 2.6.32-431.el6_lustre")


def _only(files: Mapping[str, str], absent: tuple[str, ...]) -> dict[str, str]:
    """The files that a kernel of that time has."""
    return {path: text for path, text in files.items() if not path.endswith(absent)}


def _of_memory(original: Snapshot, memory_bytes: int, kernel: str = "Linux 6.1.0") -> Snapshot:
    environment: Environment = {**original.environment, "memory_bytes": memory_bytes, "kernel": kernel}
    return dataclasses.replace(original, document={**original.document, "environment": environment})
