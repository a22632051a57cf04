"""Rules about the queues of block devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ioassay.tuning.rule import (
    Assignment,
    Bounds,
    Change,
    Fine,
    Judgement,
    NotApplicable,
    Rule,
    Source,
    each,
    missing,
)
from ioassay.tuning.rules.sources import (
    BEEGFS_STORAGE,
    LARGE_IO_TEXT,
    LINUX_LARGE_IO,
    MULTIPATH_CONF,
    QUEUE_SYSFS,
    REQUEST_STACKING,
    RHEL_SCHEDULERS,
    lustre_source,
)
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import System, lustre
from ioassay.tuning.system.block import BlockDevice, Medium
from ioassay.tuning.system.zfs import dataset_below

_Value = TypeVar("_Value", int, str)


def each_device(system: System, judge: Callable[[BlockDevice], Iterable[Judgement]]) -> Iterator[Judgement]:
    """The judgements of each device that the system is judged for; where there is none, why."""
    if system.snapshot.target:
        otherwise = "no block device of this node lies below the target; look at its servers"
    else:
        otherwise = "the node has no block devices with data"
    return each(system.concerned(), lambda device: _with_device_name(device, judge(device)), otherwise=otherwise)


def _with_device_name(device: BlockDevice, judgements: Iterable[Judgement]) -> Iterator[Judgement]:
    """With the device's name on what does not apply to it: a picture that shows it asks for the reason."""
    for judgement in judgements:
        if isinstance(judgement, NotApplicable) and not judgement.subject:
            yield NotApplicable(judgement.why, device.name)
        else:
            yield judgement


def each_queue(system: System, judge: Callable[[BlockDevice], Iterable[Judgement]]) -> Iterator[Judgement]:
    """As `each_device`, for rules on how a queue orders requests: `judge` gets only devices whose queue does."""
    return each_device(
        system, lambda device: [NotApplicable(reason)] if (reason := not_ordering(device)) else judge(device)
    )


def queue_assignment(device: BlockDevice, attribute: str, value: int | str) -> Assignment:
    """The setting of a device's queue."""
    return Assignment(f"block:{device.name}/{attribute}", str(value))


def _path(device: BlockDevice, attribute: str) -> str:
    return f"/sys/block/{device.name}/queue/{attribute}"


def attribute_of(device: BlockDevice, attribute: str) -> int:
    """An attribute of the device's queue that every kernel has. Raises `Unreadable`, also where there is none."""
    return _present(device, attribute, device.queue(attribute))


def _present(device: BlockDevice, attribute: str, value: _Value | None) -> _Value:
    if value is None:
        lacking = missing(_path(device, attribute))
        raise Unreadable(lacking.what, lacking.reason)
    return value


def multipath_above(device: BlockDevice) -> BlockDevice | None:
    """The multipath device that it is a path of."""
    return next((upper for upper in device.above if upper.kind == "multipath"), None)


def schedules(device: BlockDevice) -> bool:
    """Whether its queue orders requests: stacked devices that only pass them on have no choice of schedulers."""
    return len(device.schedulers) > 1 or device.kind in ("nvme", "scsi", "virtio")


def without_queue(device: BlockDevice) -> str:
    """Why no rule about request queues applies to the device; empty where they do."""
    if not device.has_queue:
        return f"{device.name} has no request queue"
    if device.medium == "memory":
        return f"{device.name} lies in memory, without a disk that requests could be ordered or merged for"
    if device.kind == "loop":
        return f"{device.name} lies on a file; the device below that file system is the one to tune"
    return ""


def not_ordering(device: BlockDevice) -> str:
    """Why no rule about ordering requests applies to the device; empty where they do."""
    if reason := without_queue(device):
        return reason
    if not schedules(device):
        return f"{device.name} passes requests on to the devices below it without queueing them"
    return ""


def spins(device: BlockDevice) -> bool:
    """Whether its data lies on rotating disks: one, or those of a RAID controller. Raises `Unreadable`."""
    return medium_of(device) in ("hdd", "array")


def medium_of(device: BlockDevice) -> Medium:
    """The medium of its data. Raises `Unreadable` where the snapshot lacks whether a disk below it rotates."""
    for part in device.with_all_below():
        is_disk = not part.below and part.kind in ("scsi", "virtio") and not part.is_virtual_disk
        if is_disk and part.queue("rotational") is None:
            raise Unreadable(f"/sys/block/{part.name}/queue/rotational", "the snapshot lacks it")
    return device.medium


_SINGLE_QUEUE_SCHEDULERS = {"noop", "deadline", "anticipatory", "cfq"}
"""Schedulers of kernels before multi-queue; Linux 5.0 removed them."""
_SCHEDULER_LARGE_QUEUE = 1024


def _scheduler(device: BlockDevice) -> Iterator[Judgement]:
    """The I/O scheduler of a queue."""
    now = _present(device, "scheduler", device.scheduler or None)
    if (upper := multipath_above(device)) is not None and schedules(upper):
        yield NotApplicable(f"{device.name} is a path of {upper.name}, whose requests bypass the path's scheduler")
        return
    fair = _fair_schedulers(device)
    if now in fair:
        yield Fine(device.name, now)
        return
    wanted = fair[0]
    restored: tuple[Assignment, ...] = ()
    depth = device.queue("nr_requests")
    if spins(device) and depth is not None and depth >= _SCHEDULER_LARGE_QUEUE:
        restored = (queue_assignment(device, "nr_requests", depth),)
    yield Change(
        device.name,
        now,
        wanted,
        "it divides the device's time among processes, of which a storage server has hundreds of equals"
        if now in ("cfq", "bfq")
        else "",
        (queue_assignment(device, "scheduler", wanted), *restored),
    )


def _fair_schedulers(device: BlockDevice) -> tuple[str, ...]:
    """The schedulers that suit a device, the best first, as its kernel calls them."""
    if _SINGLE_QUEUE_SCHEDULERS.intersection(device.schedulers):
        first, second = "deadline", "noop"
    else:
        first, second = "mq-deadline", "none"
    if device.kind == "virtio":
        return (second, first)  # The host orders the requests once more.
    if medium_of(device) != "ssd":
        return (first,)
    return (second, "kyber") if device.kind == "nvme" else (second, first, "kyber")


SCHEDULER = Rule(
    name="scheduler",
    title="Order requests by deadline for disks and arrays, and not at all for fast devices",
    area="block queue",
    reason="Deadline schedulers merge neighbouring requests and sort them by position without idling between "
    "processes, which keeps a RAID's stripes whole. Fast devices lose more to sorting than it gains. The study's "
    "`deadline` is `mq-deadline` on multi-queue kernels.",
    risk="Changing the scheduler resets nr_requests, so set that afterwards. Processes no longer get fair shares as "
    "with CFQ or BFQ, which matters on desktops. mount.lustre sets `deadline` by itself when it mounts an OST on "
    "ldiskfs.",
    sources=(LINUX_LARGE_IO, RHEL_SCHEDULERS, QUEUE_SYSFS, REQUEST_STACKING),
    judge=lambda system: each_queue(system, _scheduler),
    parameters=("scheduler", "elevator"),
)


_NR_REQUESTS_WANTED = 1024
_NR_REQUESTS_DEFAULT = 128
"""Linux's BLKDEV_DEFAULT_RQ."""
_NR_REQUESTS_BOUNDS = Bounds(
    Source(
        "Linux 6.1, block/blk-sysfs.c: queue_requests_store, and include/linux/blkdev.h: BLKDEV_MIN_RQ (4), "
        "BLKDEV_DEFAULT_RQ (128)",
        "https://github.com/torvalds/linux/blob/v6.1/block/blk-sysfs.c",
    ),
    least=16,
    below="the device has no more requests than that to work on at once, and all others wait",
)


def _nr_requests(device: BlockDevice) -> Iterator[Judgement]:
    """How many requests a queue holds."""
    reason = not_ordering(device)
    now = device.queue("nr_requests")
    breach = _NR_REQUESTS_BOUNDS.breach(now) if now is not None else ""
    if reason and not (breach and device.kind == "loop"):
        yield NotApplicable(reason)
    elif now is None:
        yield missing(_path(device, "nr_requests"))
    elif breach and (depth := _nr_requests_depth(device)) > now:
        wanted = min(_NR_REQUESTS_WANTED if _gains_from_sorting(device) else _NR_REQUESTS_DEFAULT, depth)
        assignment = queue_assignment(device, "nr_requests", wanted)
        yield Change(device.name, str(now), str(wanted), breach, (assignment,), is_harmful=True)
    elif device.kind == "nvme":
        yield NotApplicable(
            f"{device.name} is an NVMe device: its controller takes up to {now} commands per queue, and a longer queue "
            "before it would only add latency"
        )
    elif not _gains_from_sorting(device):
        yield NotApplicable(f"{device.name} is fast or virtual: sorting more requests gains nothing")
    else:
        yield _nr_requests_judged(device, now)


def _gains_from_sorting(device: BlockDevice) -> bool:
    """Whether the order of its requests matters to it."""
    return spins(device) and device.kind not in ("nvme", "virtio", "loop")


def _nr_requests_depth(device: BlockDevice) -> int:
    """How many requests its queue can have; a disk of one command at a time, as behind USB, has two."""
    commands = device.number("device/queue_depth") if device.kind == "scsi" else None
    if commands == 1:
        return 2
    adapter = device.adapter
    if device.scheduler == "none" and adapter is not None and adapter.can_queue is not None:
        return adapter.can_queue
    return _NR_REQUESTS_WANTED


def _nr_requests_judged(device: BlockDevice, now: int) -> Judgement:
    adapter = device.adapter
    wanted, because = _NR_REQUESTS_WANTED, ""
    if device.scheduler == "none" and adapter is not None and adapter.can_queue is not None:
        # The kernel refuses more, because without a scheduler each request needs one of the adapter's tags.
        wanted = min(_NR_REQUESTS_WANTED, adapter.can_queue)
        because = (
            f"without a scheduler {adapter.name} limits it to {adapter.can_queue}"
            if wanted < _NR_REQUESTS_WANTED
            else ""
        )
    if now >= wanted:
        return Fine(device.name, str(now))
    return Change(device.name, str(now), str(wanted), because, (queue_assignment(device, "nr_requests", wanted),))


NR_REQUESTS = Rule(
    name="nr-requests",
    title="Let the scheduler see enough requests to merge and sort",
    area="block queue",
    reason="Hundreds of server threads write to each array at once. With the default of 64 to 256 the scheduler sees "
    "too few requests to join neighbouring ones into full stripes.",
    risk="Reads wait behind a longer queue of writes, and each request takes memory. Schedulers of multi-queue kernels "
    "take at most 2048. Changing the scheduler later resets it.",
    sources=(
        LINUX_LARGE_IO,
        BEEGFS_STORAGE,
        QUEUE_SYSFS,
        Source(
            "Linux, block/blk-mq.c: blk_mq_update_nr_requests",
            "https://github.com/torvalds/linux/blob/master/block/blk-mq.c",
        ),
    ),
    judge=lambda system: each_device(system, _nr_requests),
    parameters=("nr_requests",),
    bounds={"nr_requests": _NR_REQUESTS_BOUNDS},
)


_ASYNC_DEPTH_SHARE = {"mq-deadline": 1.0, "kyber": 0.75, "bfq": 0.75}
"""The share of nr_requests that each scheduler sets by itself."""


def _async_depth(device: BlockDevice) -> Iterator[Judgement]:
    """How many writes a scheduler lets into a queue."""
    now, depth, scheduler = device.queue("async_depth"), device.queue("nr_requests"), device.scheduler or ""
    if now is None or depth is None:
        yield NotApplicable(f"{device.name} has no async_depth; Linux 6.18 and earlier have none")
    elif scheduler not in _ASYNC_DEPTH_SHARE:
        yield NotApplicable(f"{device.name} has no scheduler, so that async_depth is always nr_requests")
    elif now < (wanted := max(int(_ASYNC_DEPTH_SHARE[scheduler] * depth), 1)):
        because = f"writes and read-ahead get {now} of {depth} requests, and the rest is kept for synchronous reads"
        yield Change(device.name, str(now), str(wanted), because, (queue_assignment(device, "async_depth", wanted),))
    else:
        yield Fine(device.name, f"{now} of {depth} requests")


ASYNC_DEPTH = Rule(
    name="async-depth",
    title="Let asynchronous writes use the whole queue",
    area="block queue",
    reason="async_depth is how many requests writes and other asynchronous I/O may take: all of nr_requests with "
    "mq-deadline, 75 % with Kyber and BFQ by default. A smaller value limits what one device writes at once.",
    risk="Synchronous reads wait longer behind writes: keep a smaller value where the latency of reads counts more "
    "than write throughput. It is capped at nr_requests, so set that first.",
    sources=(
        Source(
            "Linux, ABI: sysfs-block, queue/async_depth (commit 2c04718edcd5)",
            "https://github.com/torvalds/linux/commit/2c04718edcd5e1ac8fed9a0f8d0620e8bc94014d",
        ),
    ),
    judge=lambda system: each_queue(system, _async_depth),
    parameters=("async_depth",),
)


_RPC_KB = 1024
"""Lustre's usual RPC, and the stripe of RAID6 8+2 with segments of 128 KiB."""
_LARGEST_RPC_KB = 16384
"""Requests grow no larger in practice; above this, it does not matter where they are split."""

_MAX_SECTORS_KB_BOUNDS = Bounds(
    Source(
        "Linux 6.1, include/linux/blkdev.h: BLK_SAFE_MAX_SECTORS, 127 KiB, for devices that state no limit",
        "https://github.com/torvalds/linux/blob/v6.1/include/linux/blkdev.h",
    ),
    least=127,
    below="the queue cuts transfers into smaller requests than the kernel sends to devices that it knows nothing of",
    unit="KiB",
)


def _max_sectors_kb(system: System) -> Iterator[Judgement]:
    """The largest request that a queue makes."""
    names = {device.name for device in system.concerned()}
    return each_device(system, lambda device: _max_sectors_kb_of_device(device, system, names))


def _max_sectors_kb_of_device(device: BlockDevice, system: System, concerned: set[str]) -> Iterator[Judgement]:
    reason = without_queue(device)
    now, most = device.queue("max_sectors_kb"), device.queue("max_hw_sectors_kb")
    breach = _MAX_SECTORS_KB_BOUNDS.breach(now) if now is not None and most is not None and now < most else ""
    if reason and not breach:
        yield NotApplicable(reason)
    elif now is None or most is None:
        yield missing(_path(device, "max_sectors_kb" if now is None else "max_hw_sectors_kb"))
    elif (upper := multipath_above(device)) is not None:
        if upper.name not in concerned:  # Otherwise it is judged with its paths.
            yield NotApplicable(f"{device.name} is a path of {upper.name} and must keep to the same limit")
    elif device.kind == "multipath":
        yield _multipath(device, system, now, most, is_harmful=bool(breach))
    else:
        wanted = _wanted_kb(device, system, now, most)
        if wanted == now:
            yield Fine(device.name, f"{now} KiB" + (", the adapter's limit" if now < _whole_kb(device, system) else ""))
        else:
            because = breach or _max_sectors_kb_limits(device, system, wanted, most)
            assignment = queue_assignment(device, "max_sectors_kb", wanted)
            yield Change(device.name, f"{now} KiB", f"{wanted} KiB", because, (assignment,), is_harmful=bool(breach))


def _multipath(device: BlockDevice, system: System, now: int, most: int, *, is_harmful: bool) -> Judgement:
    """A multipath device and its paths: they have one limit, which changes only while the device is not in use."""
    paths = {path.name: path.queue("max_sectors_kb") for path in device.below}
    known = {name: value for name, value in paths.items() if value is not None}
    limits = (path.queue("max_hw_sectors_kb") for path in device.below)
    wanted = _wanted_kb(device, system, now, min([most, *(limit for limit in limits if limit)]))
    differing = [name for name, value in known.items() if value != now]
    if not differing and wanted == now:
        return Fine(device.name, f"{now} KiB, also on its paths")
    spread, name = sorted({now, *known.values()}), _map_name(device)
    because = _max_sectors_kb_limits(device, system, wanted, most)
    if differing:
        because = f"{', '.join(differing)} below it differ: a request larger than a path's limit makes that path fail"
    return Change(
        device.name,
        " and ".join(f"{value} KiB" for value in spread),
        f"{wanted} KiB",
        because,
        command=f"In /etc/multipath.conf: {_section(device, wanted)}. Then, with nothing mounted from {name}: "
        f"multipath -f {name} && multipath -r",
        is_harmful=is_harmful,
    )


def _section(device: BlockDevice, wanted_kb: int) -> str:
    """The lines of multipath.conf: for arrays of this model, or for all devices where it does not say."""
    path = next(iter(device.below), None)
    if path is None or not path.vendor or not path.model:
        return f"defaults {{ max_sectors_kb {wanted_kb} }}"
    return f'devices {{ device {{ vendor "{path.vendor}" product "{path.model}" max_sectors_kb {wanted_kb} }} }}'


def _map_name(device: BlockDevice) -> str:
    return device.text("dm/name") or device.name


def _wanted_kb(device: BlockDevice, system: System, now: int, most: int) -> int:
    """The limit that it should have: no smaller than what comes at once, and where it splits, then between stripes."""
    whole, stripe = min(_whole_kb(device, system), most), _stripe_kb(device, system)
    wanted = max(now, whole)
    if stripe and stripe <= wanted < _LARGEST_RPC_KB:
        wanted -= wanted % stripe
    return wanted


def _whole_kb(device: BlockDevice, system: System) -> int:
    """The size that should arrive in one request: the RPC of the Lustre server, the stripe of the array."""
    sizes = lustre.matching(system.lustre, "obdfilter.*.brw_size").values()
    rpc = max((int(size) << 10 for size in sizes if size.isdecimal() and len(size) < 4), default=_RPC_KB)
    return max(_RPC_KB, rpc, _stripe_kb(device, system))


def _stripe_kb(device: BlockDevice, system: System) -> int:
    """The full stripe of the array below, as the user gave it or as the array reports it; 0 where it is unknown."""
    if device.medium == "array" and system.array is not None:
        return system.array.stripe_bytes >> 10
    optimal = (device.queue("optimal_io_size") or 0) >> 10
    return optimal if device.medium == "array" and 64 <= optimal <= _LARGEST_RPC_KB else 0


def _max_sectors_kb_limits(device: BlockDevice, system: System, wanted: int, most: int) -> str:
    """Further limits that split requests, or make them smaller than they should be."""
    if wanted < _whole_kb(device, system) and wanted == most:
        return f"its adapter or controller takes no more than {most} KiB"
    segments = device.queue("max_segments")
    scattered = (segments or 0) * system.page_bytes >> 10
    if segments and scattered < wanted:
        needed = math.ceil((wanted << 10) / system.page_bytes)
        return (
            f"its {segments} segments hold only {scattered} KiB of scattered pages; {needed} are needed (rule "
            "max-sgl-entries)"
        )
    stripe = _stripe_kb(device, system)
    return f"requests are to end where the array's stripe of {stripe} KiB does" if stripe else ""


MAX_SECTORS_KB = Rule(
    name="max-sectors-kb",
    title="Let a queue make requests as large as the RPC, and a multiple of the RAID stripe",
    area="block queue",
    reason="A write of 1 MiB that the queue splits reaches a parity RAID as parts of a stripe, for which the "
    "controller reads old data and parity first. The same happens where a long write is split at 1280 KiB, Linux's "
    "default.",
    risk="Small requests wait longer behind large ones; BeeGFS's guide therefore recommends 256 KiB. Below "
    "dm-multipath a live change fails paths, so only multipath.conf is offered there. Lustre before 2.16.51 sets it to "
    "the adapter's limit whenever an OST is mounted, unless mounted with max_sectors_kb=0; check again after mounting.",
    sources=(
        LINUX_LARGE_IO,
        LARGE_IO_TEXT,
        QUEUE_SYSFS,
        MULTIPATH_CONF,
        Source(
            "Red Hat: How to set custom max_sectors_kb for devices under multipathd control",
            "https://access.redhat.com/solutions/3014361",
        ),
        lustre_source("lustre/utils/mount_lustre.c", "max_sectors_kb (LU-9132, LU-12029)"),
        BEEGFS_STORAGE,
    ),
    judge=_max_sectors_kb,
    parameters=("max_sectors_kb", "max_hw_sectors_kb", "max_segments"),
    bounds={"max_sectors_kb": _MAX_SECTORS_KB_BOUNDS},
    weight="large",
    weight_reason="the study's servers gained most from requests that reached the array whole",
)


def _nomerges(device: BlockDevice) -> Iterator[Judgement]:
    """Whether a queue merges neighbouring requests."""
    now = attribute_of(device, "nomerges")
    if not spins(device):
        yield NotApplicable(f"{device.name} is flash, where small requests cost little and merging gains little")
    elif now == 0:
        yield Fine(device.name, "merges requests")
    else:
        value = "merges only with the last request" if now == 1 else "merges nothing"
        yield Change(device.name, value, "merges requests", assignments=(queue_assignment(device, "nomerges", 0),))


NOMERGES = Rule(
    name="nomerges",
    title="Let disks and arrays merge neighbouring requests",
    area="block queue",
    reason="Writes of several threads to neighbouring blocks become one request of a full stripe only if the queue "
    "merges them.",
    risk="Looking for neighbours costs processor time, in vain where all access is random.",
    sources=(LARGE_IO_TEXT, QUEUE_SYSFS),
    judge=lambda system: each_queue(system, _nomerges),
    parameters=("nomerges",),
)


_READ_AHEAD_KB_WANTED_KB = 8192
_READ_AHEAD_KB_ENOUGH_KB = 4096
"""The recommendation of BeeGFS's guide."""
_READ_AHEAD_KB_DEFAULT_KB = 128
_READ_AHEAD_KB_BOUNDS = Bounds(
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


def _read_ahead_kb(system: System) -> Iterator[Judgement]:
    """How far the kernel reads ahead on a device."""
    mount = system.target_mount
    if mount is not None and dataset_below(mount):
        yield NotApplicable(f"{mount.point} is ZFS, which reads ahead by itself; see zfs-prefetch")
        return
    yield from each_device(system, _read_ahead_kb_of_device)


def _read_ahead_kb_of_device(device: BlockDevice) -> Iterator[Judgement]:
    reason = without_queue(device)
    now = device.queue("read_ahead_kb")
    breach = _READ_AHEAD_KB_BOUNDS.breach(now) if now is not None else ""
    if reason and not breach:
        yield NotApplicable(reason)
    elif now is None:
        yield missing(_path(device, "read_ahead_kb"))
    elif device.above:
        upper = " and ".join(upper.name for upper in device.above)
        yield NotApplicable(f"{device.name} is part of {upper}; file systems go by the read-ahead of the upper device")
    elif breach:
        wanted = _READ_AHEAD_KB_DEFAULT_KB if reason or medium_of(device) == "ssd" else _READ_AHEAD_KB_WANTED_KB
        assignment = queue_assignment(device, "read_ahead_kb", wanted)
        yield Change(device.name, f"{now} KiB", f"{wanted} KiB", breach, (assignment,), is_harmful=True)
    elif medium_of(device) == "ssd":
        yield NotApplicable(
            f"{device.name} is flash: it needs many reads at once rather than long ones, and reading ahead wastes its "
            "bandwidth where access is random"
        )
    elif now >= _READ_AHEAD_KB_ENOUGH_KB:
        yield Fine(device.name, f"{now} KiB")
    else:
        assignment = queue_assignment(device, "read_ahead_kb", _READ_AHEAD_KB_WANTED_KB)
        yield Change(device.name, f"{now} KiB", f"{_READ_AHEAD_KB_WANTED_KB} KiB", assignments=(assignment,))


READ_AHEAD_KB = Rule(
    name="read-ahead-kb",
    title="Read several stripes ahead on disks and arrays",
    area="block queue",
    reason="A sequential reader keeps all disks of an array busy only if several full stripes are requested before it "
    "asks for them; the default of 128 KiB is one segment.",
    risk="Random reads fetch data that nobody uses. Memory: read-ahead times the number of open files that are read "
    "sequentially.",
    sources=(LINUX_LARGE_IO, BEEGFS_STORAGE, QUEUE_SYSFS),
    judge=_read_ahead_kb,
    parameters=("read_ahead_kb",),
    bounds={"read_ahead_kb": _READ_AHEAD_KB_BOUNDS},
)


_RQ_AFFINITY_WANTED = 2


def _rq_affinity(device: BlockDevice) -> Iterator[Judgement]:
    """On which processor a request completes."""
    if device.kind in ("nvme", "virtio"):
        yield NotApplicable(f"{device.name} has queues of its own for the processors, which complete requests there")
    elif (now := attribute_of(device, "rq_affinity")) == _RQ_AFFINITY_WANTED:
        yield Fine(device.name, str(now))
    else:
        yield Change(
            device.name,
            str(now),
            str(_RQ_AFFINITY_WANTED),
            assignments=(queue_assignment(device, "rq_affinity", _RQ_AFFINITY_WANTED),),
        )


RQ_AFFINITY = Rule(
    name="rq-affinity",
    title="Complete each request on the processor that issued it",
    area="block queue",
    reason="A SAS adapter interrupts few processors. With 2, completions are spread over all that issued requests, so "
    "that no single one limits the adapter.",
    risk="An interrupt between processors for most requests; on a node with idle cores and few requests it gains "
    "nothing.",
    sources=(LINUX_LARGE_IO, QUEUE_SYSFS),
    judge=lambda system: each_queue(system, _rq_affinity),
    weight="small",
    weight_reason="only a single processor that all interrupts reach gains",
    parameters=("rq_affinity",),
)


def _wbt_lat_usec(device: BlockDevice) -> Iterator[Judgement]:
    """Whether the kernel throttles writeback for the sake of reads."""
    now = _target_latency_us(device)
    if now is None:
        yield NotApplicable(f"{device.name} has no writeback throttling")
    elif device.medium != "array":
        yield NotApplicable(f"{device.name} is no array: it has no large write cache whose bursts look like slow reads")
    elif now == 0:
        yield Fine(device.name, "off")
    else:
        yield Change(device.name, f"{now} µs", "off", assignments=(queue_assignment(device, "wbt_lat_usec", 0),))


def _target_latency_us(device: BlockDevice) -> int | None:
    """The latency that throttling aims at; `None` where throttling is not built in or not registered for the device."""
    try:
        return device.queue("wbt_lat_usec")
    except Unreadable as error:
        if "nvalid argument" in error.reason:  # What reading gives where it is not registered.
            return None
        raise


WBT_LAT_USEC = Rule(
    name="wbt-lat-usec",
    title="Do not throttle writeback before an array with a write cache",
    area="block queue",
    reason="Writeback throttling shortens the queue of writes as soon as reads take longer than the target, 75 ms for "
    "disks. An array that empties its cache exceeds that often, and the shorter queue no longer fills its stripes.",
    risk="Reads wait longer while much is written; keep it where interactive users share the array.",
    sources=(
        QUEUE_SYSFS,
        Source("Linux, block/blk-wbt.c", "https://github.com/torvalds/linux/blob/master/block/blk-wbt.c"),
    ),
    judge=lambda system: each_queue(system, _wbt_lat_usec),
    parameters=("wbt_lat_usec",),
)


def _write_cache(device: BlockDevice) -> Iterator[Judgement]:
    """The kernel's view of a device's write cache."""
    now = device.text("queue/write_cache")
    if now is None:
        yield NotApplicable(f"this kernel does not say whether {device.name} has a write cache")
    elif now != "write back":
        yield Fine(device.name, f"{now}: the kernel sends no cache flushes")
    elif device.medium != "array" or multipath_above(device) is not None:
        yield Fine(device.name, "write back: the kernel flushes the cache when data must be safe")
    else:
        yield Change(
            device.name,
            "write back",
            "an array that ignores cache flushes while its battery is good",
            "each journal commit asks the controller to write its whole cache to disk",
            command="On the storage controller: check that the cache has a battery and is mirrored, then have it "
            "ignore SYNCHRONIZE CACHE. Do not write to queue/write_cache: that stops flushes also where the cache is "
            "volatile.",
        )


WRITE_CACHE_FLUSHES = Rule(
    name="write-cache-flushes",
    title="Spare an array with a protected cache the cache flushes",
    area="block queue",
    reason="A controller that presents its protected cache as volatile gets a flush with every fsync and journal "
    "commit, and may stop for as long as it takes to empty gigabytes of cache.",
    risk="Without a working battery or flash backup, data that was confirmed is lost when the power fails. Leave it as "
    "it is where you do not know.",
    sources=(
        QUEUE_SYSFS,
        Source(
            "Linux, Explicit volatile write back cache control",
            "https://docs.kernel.org/block/writeback_cache_control.html",
        ),
    ),
    judge=lambda system: each_queue(system, _write_cache),
    parameters=("write_cache",),
)


RULES: tuple[Rule, ...] = (
    SCHEDULER,  # First, because it resets nr_requests.
    NR_REQUESTS,
    ASYNC_DEPTH,  # It is capped at nr_requests.
    MAX_SECTORS_KB,
    NOMERGES,
    READ_AHEAD_KB,
    RQ_AFFINITY,
    WBT_LAT_USEC,
    WRITE_CACHE_FLUSHES,
)
"""In the order in which their settings are to be set."""
