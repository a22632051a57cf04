"""The largest request that a queue makes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ioassay.tuning.rule import Bounds, Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.block import queues
from ioassay.tuning.rules.sources import (
    BEEGFS_STORAGE,
    LARGE_IO_TEXT,
    LINUX_LARGE_IO,
    MULTIPATH_CONF,
    QUEUE_SYSFS,
    lustre_source,
)
from ioassay.tuning.system import System, lustre
from ioassay.tuning.system.block import BlockDevice

_RPC_KB = 1024
"""Lustre's usual RPC, and the stripe of RAID6 8+2 with segments of 128 KiB."""
_LARGEST_RPC_KB = 16384
"""Requests grow no larger in practice; above this, it does not matter where they are split."""

_BOUNDS = Bounds(
    Source(
        "Linux 6.1, include/linux/blkdev.h: BLK_SAFE_MAX_SECTORS, 127 KiB, for devices that state no limit",
        "https://github.com/torvalds/linux/blob/v6.1/include/linux/blkdev.h",
    ),
    least=127,
    below="the queue cuts transfers into smaller requests than the kernel sends to devices that it knows nothing of",
    unit="KiB",
)


def _judge(system: System) -> Iterator[Judgement]:
    names = {device.name for device in system.concerned()}
    return queues.each_device(system, lambda device: _device(device, system, names))


def _device(device: BlockDevice, system: System, concerned: set[str]) -> Iterator[Judgement]:
    reason = queues.unsuited(device)
    now, most = device.queue("max_sectors_kb"), device.queue("max_hw_sectors_kb")
    breach = _BOUNDS.breach(now) if now is not None and most is not None and now < most else ""
    if reason and not breach:
        yield NotApplicable(reason)
    elif now is None or most is None:
        yield queues.lacks(device, "max_sectors_kb" if now is None else "max_hw_sectors_kb")
    elif (upper := queues.multipath_above(device)) is not None:
        if upper.name not in concerned:  # Otherwise it is judged with its paths.
            yield NotApplicable(f"{device.name} is a path of {upper.name} and must keep to the same limit")
    elif device.kind == "multipath":
        yield _multipath(device, system, now, most, is_harmful=bool(breach))
    else:
        wanted = _wanted_kb(device, system, now, most)
        if wanted == now:
            yield Fine(device.name, f"{now} KiB" + (", the adapter's limit" if now < _whole_kb(device, system) else ""))
        else:
            because = breach or _limits(device, system, wanted, most)
            assignment = queues.assign(device, "max_sectors_kb", wanted)
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
    because = _limits(device, system, wanted, most)
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
    """What should arrive in one request: the RPC of the Lustre server, the stripe of the array."""
    sizes = lustre.matching(system.lustre, "obdfilter.*.brw_size").values()
    rpc = max((int(size) << 10 for size in sizes if size.isdecimal() and len(size) < 4), default=_RPC_KB)
    return max(_RPC_KB, rpc, _stripe_kb(device, system))


def _stripe_kb(device: BlockDevice, system: System) -> int:
    """The full stripe of the array below, as the user gave it or as the array reports it; 0 where it is unknown."""
    if device.medium == "array" and system.array is not None:
        return system.array.stripe_bytes >> 10
    optimal = (device.queue("optimal_io_size") or 0) >> 10
    return optimal if device.medium == "array" and 64 <= optimal <= _LARGEST_RPC_KB else 0


def _limits(device: BlockDevice, system: System, wanted: int, most: int) -> str:
    """What else splits requests, or makes them smaller than they should be."""
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


RULE = Rule(
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
    judge=_judge,
    parameters=("max_sectors_kb", "max_hw_sectors_kb", "max_segments"),
    bounds={"max_sectors_kb": _BOUNDS},
    weight="large",
    weight_reason="the study's servers gained most from requests that reached the array whole",
)
