"""How far the kernel reads ahead on a device."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Bounds, Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.block import queues
from ioassay.tuning.rules.sources import BEEGFS_STORAGE, LINUX_LARGE_IO, QUEUE_SYSFS
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice
from ioassay.tuning.system.zfs import dataset_below

_WANTED_KB = 8192
_ENOUGH_KB = 4096
"""What BeeGFS's guide recommends."""
_DEFAULT_KB = 128
_BOUNDS = Bounds(
    Source(
        "Linux 6.1, mm/readahead.c: page_cache_sync_ra, ondemand_readahead",
        "https://github.com/torvalds/linux/blob/v6.1/mm/readahead.c",
    ),
    least=1,
    below="a read through the page cache, however large, asks the device for one page after the other",
    most=262144,
    above="each sequential reader may fetch more than 256 MiB that it does not use",
    unit="KiB",
)


def _judge(system: System) -> Iterator[Judgement]:
    mount = system.target_mount
    if mount is not None and dataset_below(mount):
        yield NotApplicable(f"{mount.point} is ZFS, which reads ahead by itself; see zfs-prefetch")
        return
    yield from queues.each_device(system, _device)


def _device(device: BlockDevice) -> Iterator[Judgement]:
    reason = queues.unsuited(device)
    now = device.queue("read_ahead_kb")
    breach = _BOUNDS.breach(now) if now is not None else ""
    if reason and not breach:
        yield NotApplicable(reason)
    elif now is None:
        yield queues.lacks(device, "read_ahead_kb")
    elif device.above:
        upper = " and ".join(one.name for one in device.above)
        yield NotApplicable(f"{device.name} is part of {upper}; file systems go by the read-ahead of the upper device")
    elif breach:
        wanted = _DEFAULT_KB if reason or queues.medium(device) == "ssd" else _WANTED_KB
        assignment = queues.assign(device, "read_ahead_kb", wanted)
        yield Change(device.name, f"{now} KiB", f"{wanted} KiB", breach, (assignment,), is_harmful=True)
    elif queues.medium(device) == "ssd":
        yield NotApplicable(
            f"{device.name} is flash: it needs many reads at once rather than long ones, and reading ahead wastes its "
            "bandwidth where access is random"
        )
    elif now >= _ENOUGH_KB:
        yield Fine(device.name, f"{now} KiB")
    else:
        assignment = queues.assign(device, "read_ahead_kb", _WANTED_KB)
        yield Change(device.name, f"{now} KiB", f"{_WANTED_KB} KiB", assignments=(assignment,))


RULE = Rule(
    name="read-ahead-kb",
    title="Read several stripes ahead on disks and arrays",
    area="block queue",
    reason="A sequential reader keeps all disks of an array busy only if several full stripes are requested before it "
    "asks for them; the default of 128 KiB is one segment.",
    risk="Random reads fetch data that nobody uses. Memory: read-ahead times the number of open files that are read "
    "sequentially.",
    sources=(LINUX_LARGE_IO, BEEGFS_STORAGE, QUEUE_SYSFS),
    judge=_judge,
    parameters=("read_ahead_kb",),
    bounds={"read_ahead_kb": _BOUNDS},
)
