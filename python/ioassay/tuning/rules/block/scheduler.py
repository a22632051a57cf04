"""The I/O scheduler of a queue."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule
from ioassay.tuning.rules.block import queues
from ioassay.tuning.rules.sources import LINUX_LARGE_IO, QUEUE_SYSFS, REQUEST_STACKING, RHEL_SCHEDULERS
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice

_SINGLE_QUEUE = {"noop", "deadline", "anticipatory", "cfq"}
"""Schedulers of kernels before multi-queue; Linux 5.0 removed them."""
_LARGE_QUEUE = 1024


def _judge(system: System) -> Iterator[Judgement]:
    return queues.each_device(system, _device)


def _device(device: BlockDevice) -> Iterator[Judgement]:
    reason = queues.passes_on(device)
    now = device.scheduler
    if reason:
        yield NotApplicable(reason)
        return
    if not now:
        yield queues.lacks(device, "scheduler")
        return
    if (upper := queues.multipath_above(device)) is not None and queues.schedules(upper):
        yield NotApplicable(f"{device.name} is a path of {upper.name}, whose requests bypass the path's scheduler")
        return
    fair = _fair(device)
    if now in fair:
        yield Fine(device.name, now)
        return
    wanted = fair[0]
    restored: tuple[Assignment, ...] = ()
    depth = device.queue("nr_requests")
    if queues.spins(device) and depth is not None and depth >= _LARGE_QUEUE:
        restored = (queues.assign(device, "nr_requests", depth),)
    yield Change(
        device.name,
        now,
        wanted,
        "it divides the device's time among processes, of which a storage server has hundreds of equals"
        if now in ("cfq", "bfq")
        else "",
        (queues.assign(device, "scheduler", wanted), *restored),
    )


def _fair(device: BlockDevice) -> tuple[str, ...]:
    """The schedulers that suit a device, the best first, as its kernel calls them."""
    if _SINGLE_QUEUE.intersection(device.schedulers):
        first, second = "deadline", "noop"
    else:
        first, second = "mq-deadline", "none"
    if device.kind == "virtio":
        return (second, first)  # The host orders the requests once more.
    if queues.medium(device) != "ssd":
        return (first,)
    return (second, "kyber") if device.kind == "nvme" else (second, first, "kyber")


RULE = Rule(
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
    judge=_judge,
    parameters=("scheduler", "elevator"),
)
