"""Made-up nodes whose way of an I/O is known: the object storage server of the MD3460 study, a client of it, others."""

from __future__ import annotations

from collections.abc import Mapping

from ioassay.testing.snapshots import below, disk, snapshot
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import Array, System

RAID6 = Array(8, 128 << 10, 2)
"""8+2 disks with segments of 128 KiB, as Table 4 of the study has them."""

_DISKS = "bcdefghijk"


def scsi_disks(
    names: str, queue: Mapping[str, object], segments: int, driver: str = "mpt3sas", **attributes: object
) -> tuple[dict[str, str], dict[str, str]]:
    """The files and links of disks `sdb`, `sdc` … of one adapter."""
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    for number, letter in enumerate(names):
        name = f"sd{letter}"
        path = f"devices/pci0000:00/0000:00:03.0/host0/target0:0:{number}/0:0:{number}:0/block/{name}"
        disk_files = disk(name, queue={"max_segments": segments, **queue}, **attributes)
        files |= {
            path_of_disk.replace(f"sys/block/{name}", f"sys/{path}"): text for path_of_disk, text in disk_files.items()
        }
        links[f"sys/block/{name}"] = f"../{path}"
        links[f"sys/class/block/{name}"] = f"../../{path}"
    files |= below("sys/class/scsi_host/host0", {"proc_name": driver, "sg_tablesize": segments, "can_queue": 600})
    return files, links


def oss_snapshot(
    segments: int = 128,
    max_sectors_kb: int = 512,
    targets: int = 6,
    *,
    brw_size_mib: int = 1,
    more: Mapping[str, str] | None = None,
    taken_s: int = 1_770_000_000,
) -> Snapshot:
    """The study's server: OSTs on virtual disks of an MD3460, by default untuned; `more` files, which come last."""
    letters = _DISKS[:targets]
    files, links = scsi_disks(letters, {"max_sectors_kb": max_sectors_kb}, segments, vendor="DELL", model="MD34xx")
    for number, letter in enumerate(letters):
        target = f"scratch-OST{number:04x}"
        files |= below(f"sys/fs/lustre/osd-ldiskfs/{target}", {"mntdev": f"/dev/sd{letter}"})
        files |= below(f"sys/fs/lustre/obdfilter/{target}", {"brw_size": brw_size_mib})
    return snapshot(files | dict(more or {}), links=links, host="oss1", taken_s=taken_s)


def oss(segments: int = 128, max_sectors_kb: int = 512, targets: int = 6, *, array: Array | None = RAID6) -> System:
    """The study's server as a system; with 256 segments and 1024 KiB as it was tuned."""
    return System(oss_snapshot(segments, max_sectors_kb, targets), array)


def lustre_client_snapshot(
    pages_per_rpc: int = 256,
    stripe_count: int = 1,
    *,
    targets: int = 6,
    more: Mapping[str, str] | None = None,
    taken_s: int = 1_770_000_000,
) -> Snapshot:
    """A client of that server, with /scratch mounted."""
    files = {"proc/self/mountinfo": "50 1 0:40 / /scratch rw,relatime - lustre 10.0.0.1@o2ib:/scratch rw,flock"}
    for number in range(targets):
        name = f"sys/fs/lustre/osc/scratch-OST{number:04x}-osc-ffff9c1a8b7d2800"
        files |= below(name, {"max_pages_per_rpc": pages_per_rpc, "max_rpcs_in_flight": 8})
    files |= below("sys/fs/lustre/llite/scratch-ffff9c1a8b7d2800", {"max_read_ahead_per_file_mb": 64})
    printed = {"lfs getstripe -d /scratch": f"stripe_count:  {stripe_count} stripe_size:   1048576 pattern: raid0\n"}
    return snapshot(files | dict(more or {}), printed=printed, target="/scratch", host="client1", taken_s=taken_s)


def lustre_client(pages_per_rpc: int = 256, stripe_count: int = 1) -> System:
    """The Lustre client as a system."""
    return System(lustre_client_snapshot(pages_per_rpc, stripe_count))


def laptop(queue: Mapping[str, object] | None = None, *, start_sectors: int = 2048) -> System:
    """A laptop with ext4 on a partition of an NVMe SSD."""
    usual: dict[str, object] = {"rotational": 0, "max_sectors_kb": 512, "max_hw_sectors_kb": 512, "max_segments": 127}
    files = disk("nvme0n1", queue={**usual, "physical_block_size": 512, **(queue or {})}, model="Samsung SSD 980")
    files |= below(
        "sys/block/nvme0n1/nvme0n1p2",
        {"partition": 2, "start": start_sectors, "size": 1 << 30, "dev": "259:2"},
    )
    files["sys/block/nvme0n1/dev"] = "259:0"
    files["proc/self/mountinfo"] = "22 1 259:2 / / rw,relatime - ext4 /dev/nvme0n1p2 rw"
    return System(snapshot(files, target="/home/user", host="laptop"))


def md_server(
    members: int = 5,
    chunk_bytes: int = 512 << 10,
    level: str = "raid5",
    *,
    options: str = "rw",
    data_offset: int = 264192,
) -> System:
    """A file server with XFS on an MD RAID of SATA disks; `data_offset` in sectors."""
    letters = _DISKS[:members]
    files, links = scsi_disks(letters, {"max_sectors_kb": 1280}, 168, "ahci", vendor="ATA", model="ST4000")
    files |= below("sys/block/md0", {"dev": "9:0", "size": 8 * (7814037168 - data_offset), "removable": 0})
    files |= below(
        "sys/block/md0/queue",
        {"max_sectors_kb": 1280, "max_segments": 168, "read_ahead_kb": 4096, "physical_block_size": 4096},
    )
    files |= below("sys/block/md0/md", {"level": level, "chunk_size": chunk_bytes, "raid_disks": members})
    for letter in letters:
        links[f"sys/block/md0/slaves/sd{letter}"] = f"../../sd{letter}"
        files[f"sys/block/md0/md/dev-sd{letter}/offset"] = str(data_offset)
    files["proc/self/mountinfo"] = f"30 1 9:0 / /data rw,relatime - xfs /dev/md0 {options}"
    return System(snapshot(files, links=links, target="/data", host="server"))
