"""Whether the kernel throttles writeback for the sake of reads."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.block import queues
from ioassay.tuning.rules.sources import QUEUE_SYSFS
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice


def _judge(system: System) -> Iterator[Judgement]:
    return queues.each_device(system, _device)


def _device(device: BlockDevice) -> Iterator[Judgement]:
    reason = queues.passes_on(device)
    now = None if reason else _target(device)
    if now is None:
        yield NotApplicable(reason or f"{device.name} has no writeback throttling")
    elif device.medium != "array":
        yield NotApplicable(f"{device.name} is no array: it has no large write cache whose bursts look like slow reads")
    elif now == 0:
        yield Fine(device.name, "off")
    else:
        yield Change(device.name, f"{now} µs", "off", assignments=(queues.assign(device, "wbt_lat_usec", 0),))


def _target(device: BlockDevice) -> int | None:
    """The latency that it aims at; `None` where throttling is not built in or not registered for the device."""
    try:
        return device.queue("wbt_lat_usec")
    except Unreadable as error:
        if "nvalid argument" in error.reason:  # What reading gives where it is not registered.
            return None
        raise


RULE = Rule(
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
    judge=_judge,
    parameters=("wbt_lat_usec",),
)
