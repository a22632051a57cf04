"""The layers of a server between the network and its devices, and which devices these are.

Sources: the Lustre manual, "Tuning the Client RPC Stream" (brw_size) and chapter "Lustre Parameters" (osd-*.mntdev);
Documentation/filesystems/nfs of Linux, /proc/fs/nfsd/max_block_size; xfs(5) and ext4(5) for `sunit` and `stripe`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ioassay.text.units import format_bytes
from ioassay.tuning.path.client import USUAL_TRANSFER_BYTES
from ioassay.tuning.path.model import Limit, Step
from ioassay.tuning.path.requests import PAGE_BYTES
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import Array, System, block, btrfs
from ioassay.tuning.system.block import SECTOR_BYTES, BlockDevice
from ioassay.tuning.system.btrfs import BtrfsFileSystem
from ioassay.tuning.system.lustre import matching
from ioassay.tuning.system.mounts import Mount, covering
from ioassay.tuning.system.numbers import is_whole

_MOST_MIB = 1024
_MOST_KIB = 1 << 30
_BTRFS_STRIPE_BYTES = 64 << 10
"""Linux, fs/btrfs/volumes.h: BTRFS_STRIPE_LEN."""
_NAMES = {"xfs": "XFS", "btrfs": "Btrfs", "zfs": "ZFS"}


@dataclass(frozen=True)
class Placed:
    """A device that a file system lies on, and what lies between."""

    device: BlockDevice
    name: str
    """As the snapshot calls it: a partition, or a name of the device mapper."""
    start_bytes: int
    """Where the file system begins on it."""
    steps: tuple[Step, ...]
    stripe_bytes: int | None
    """The stripe that the file system knows."""


@dataclass(frozen=True)
class ServerSide:
    """A server's file systems, and what could not be found out."""

    placed: tuple[Placed, ...]
    rpc_bytes: int | None
    """The largest RPC that its clients send, where the server states one."""
    unknown: tuple[str, ...] = ()


def is_lustre_server(system: System) -> bool:
    """Whether it has object storage targets."""
    return bool(_targets(system))


def lustre(system: System) -> ServerSide:
    """The object storage targets of a Lustre server."""
    placed, unknown, rpc = [], [], []
    for target, path in _targets(system).items():
        device, start, name = _device_at(system, path)
        step, size = _bulk(system, target)
        rpc += [size] if size else []
        if device is None:
            unknown.append(f"{target} lies on {path}, which is no block device of {system.host}; not followed further.")
            continue
        mount = next((mount for mount in system.mounts if mount.source == path), None)
        layout, stripe = _file_system(system, mount, "ldiskfs", target)
        placed.append(Placed(device, name, start, (step, layout), stripe))
    return ServerSide(tuple(placed), min(rpc, default=None), tuple(unknown))


def nfs(system: System, client_mount: Mount) -> ServerSide:
    """The file system that an NFS server exports to a mount."""
    export = client_mount.source.rpartition(":")[2] or "/"
    mount = covering(system.mounts, export)
    unknown: list[str] = []
    limits = []
    try:
        size = system.snapshot.number("proc/fs/nfsd/max_block_size")
    except Unreadable as error:
        size = None
        unknown.append(f"{error.what} could not be read: {error.reason}.")
    if size and size >= SECTOR_BYTES:
        reason = f"max_block_size of the NFS server {system.host} is {format_bytes(size)}"
        limits.append(Limit(size, "max_block_size", str(size), reason, "/proc/fs/nfsd/max_block_size"))
    step = Step("server", "NFS server", export, system.host, limits=tuple(limits))
    if mount is None:
        return ServerSide((), size, (*unknown, f"{export} lies on no mount of {system.host}."))
    return ServerSide(tuple(_of_mount(system, mount, (step,), unknown)), size, tuple(unknown))


def local(system: System) -> ServerSide:
    """The file system or device that the target is, or all devices in use."""
    unknown: list[str] = []
    mount, target = system.target_mount, system.snapshot.target or ""
    if target.startswith("/dev/"):
        device, start, name = _device_at(system, target)
        if device is None:
            return ServerSide((), None, (f"{target} is no block device of {system.host}.",))
        return ServerSide((Placed(device, name, start, (), None),), None)
    if mount is not None:
        return ServerSide(tuple(_of_mount(system, mount, (), unknown)), None, tuple(unknown))
    tops = [device for device in system.concerned() if not any(holder.size_bytes for holder in device.above)]
    return ServerSide(tuple(Placed(device, device.name, 0, (), None) for device in tops), None)


def _of_mount(system: System, mount: Mount, above: tuple[Step, ...], unknown: list[str]) -> Iterator[Placed]:
    step, stripe = _file_system(system, mount, mount.file_system, mount.point)
    of_btrfs = next(iter(btrfs.file_systems(system.snapshot, [mount], mount)), None)
    if of_btrfs and len(members := _members(system, of_btrfs)) > 1:
        step = _over_members(step, of_btrfs, len(members), unknown)
        for member, start, name in members:
            yield Placed(member, name, start, (*above, step), stripe)
        return
    device, start, name = _numbered(system, mount.device)
    if device is None:  # Btrfs numbers its mounts by itself
        device, start, name = _device_at(system, mount.source)
    if device is None:
        unknown.append(f"{mount.point} ({mount.file_system}) lies on no block device of {system.host}.")
        return
    yield Placed(device, name, start, (*above, step), stripe)


def _members(system: System, of_btrfs: BtrfsFileSystem) -> list[tuple[BlockDevice, int, str]]:
    """The devices of a file system, each with where it begins and its name."""
    members = (_device_at(system, name) for name in of_btrfs.devices)
    return [(device, start, name) for device, start, name in members if device is not None]


def _over_members(step: Step, of_btrfs: BtrfsFileSystem, members: int, unknown: list[str]) -> Step:
    """How btrfs spreads data over its devices: in stripes of 64 KiB, or whole chunks of a GiB on one or two of them."""
    profiles = of_btrfs.profiles("data")
    if len(profiles) != 1:
        detail = f"it has {' and '.join(profiles)}" if profiles else "the snapshot lacks it"
        unknown.append(f"How {of_btrfs.mount.point} spreads data over its {members} devices is unknown: {detail}.")
        return step
    parity = {"raid5": 1, "raid6": 2}.get(profiles[0], 0)
    data = {"raid0": members, "raid10": members // 2}.get(profiles[0], members - parity if parity else 1)
    if data < 2:
        return replace(step, notes=(*step.notes, f"Data with the profile {profiles[0]} is not striped."))
    return replace(
        step,
        striping=Array(data, _BTRFS_STRIPE_BYTES, parity),
        alignment_source=f"data profile {profiles[0]}",
        notes=(*step.notes, f"{profiles[0]} over {members} devices, in stripes of 64 KiB on each."),
    )


def _targets(system: System) -> dict[str, str]:
    """The object storage targets with their devices: `scratch-OST0000` on `/dev/sdb`."""
    devices = {
        name.split(".")[1]: text
        for name, text in matching(system.lustre, "osd-*.*-OST*.mntdev").items()
        if text and "\n" not in text
    }
    if devices:
        return dict(sorted(devices.items()))
    return {
        mount.options.get("svname", mount.source.rpartition("/")[2]): mount.source
        for mount in system.mounts
        if mount.file_system == "lustre"
        and mount.source.startswith("/dev/")
        and not {"MDT", "MGS"} & {mount.options.get("svname", "")[-7:-4], mount.options.get("svname", "")[:3]}
    }


def _bulk(system: System, target: str) -> tuple[Step, int | None]:
    """The largest RPC of a target."""
    name = f"obdfilter.{target}.brw_size"
    text = system.lustre.get(name, "")
    limits = []
    size = int(text) << 20 if is_whole(text) and 0 < int(text) <= _MOST_MIB else None
    if size:
        reason = f"brw_size of {target} is {text} MiB"
        limits.append(Limit(size, "brw_size", f"{text} MiB", reason, f"lctl get_param {name}", is_boundary=True))
    return Step("server", "Lustre OST", target, system.host, limits=tuple(limits)), size


def _file_system(system: System, mount: Mount | None, kind: str, subject: str) -> tuple[Step, int | None]:
    """The file system, with the stripe of the RAID that it knows of."""
    stripe, source = None, ""
    options = mount.options if mount is not None else {}
    if is_whole(options.get("swidth", "")):
        stripe, source = int(options["swidth"]) * SECTOR_BYTES, f"swidth of {mount.point if mount else subject}"
    elif is_whole(options.get("stripe", "")):
        stripe, source = int(options["stripe"]) * PAGE_BYTES, f"stripe of {mount.point if mount else subject}"
    notes = ["Files are taken to begin at an aligned address."]
    if stripe:
        notes = [f"Lays files out for a stripe of {format_bytes(stripe)} ({source})."]
    return Step("file system", _NAMES.get(kind, kind), subject, system.host, notes=tuple(notes)), stripe or None


def _device_at(system: System, path: str) -> tuple[BlockDevice | None, int, str]:
    """The device of a path below /dev, where what the path names begins on it, and its name."""
    device = block.by_path(system.devices, system.snapshot, path)
    name = path.rpartition("/")[2]
    if device is None:
        return None, 0, name
    start = next((part.start_bytes for part in device.partitions if part.name == name), 0)
    return device, start, name


def _numbered(system: System, number: str) -> tuple[BlockDevice | None, int, str]:
    """The device of a number, where it begins, and its name."""
    device = block.by_number(system.devices, number)
    if device is None:
        return None, 0, number
    part = next((part for part in device.partitions if part.number == number), None)
    return (device, part.start_bytes, part.name) if part else (device, 0, device.text("dm/name") or device.name)


def gathers_bytes(device: BlockDevice) -> int:
    """The bytes of writes that the page cache above a device joins: as many as its queue takes at once."""
    known = _kibibytes(device, "max_sectors_kb")
    return (known or USUAL_TRANSFER_BYTES >> 10) << 10


def read_ahead(device: BlockDevice) -> Limit | None:
    """How far is read ahead on a device; `None` where that cannot be read."""
    known = _kibibytes(device, "read_ahead_kb")
    if known is None:
        return None
    reason = f"read_ahead_kb of {device.name} is {known}"
    path = f"/sys/block/{device.name}/queue/read_ahead_kb"
    return Limit(known << 10, "read_ahead_kb", str(known), reason, path)


def _kibibytes(device: BlockDevice, attribute: str) -> int | None:
    try:
        known = device.queue(attribute)
    except Unreadable:
        return None
    return known if known is not None and 0 <= known < _MOST_KIB else None
