"""How many requests a queue holds."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Bounds, Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.block import queues
from ioassay.tuning.rules.sources import BEEGFS_STORAGE, LINUX_LARGE_IO, QUEUE_SYSFS
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice

_WANTED = 1024
_DEFAULT = 128
"""Linux's BLKDEV_DEFAULT_RQ."""
_BOUNDS = Bounds(
    Source(
        "Linux 6.1, block/blk-sysfs.c: queue_requests_store, and include/linux/blkdev.h: BLKDEV_MIN_RQ (4), "
        "BLKDEV_DEFAULT_RQ (128)",
        "https://github.com/torvalds/linux/blob/v6.1/block/blk-sysfs.c",
    ),
    least=16,
    below="the device has no more requests than that to work on at once, and all others wait",
)


def _judge(system: System) -> Iterator[Judgement]:
    return queues.each_device(system, _device)


def _device(device: BlockDevice) -> Iterator[Judgement]:
    reason = queues.passes_on(device)
    now = device.queue("nr_requests")
    breach = _BOUNDS.breach(now) if now is not None else ""
    if reason and not (breach and device.kind == "loop"):
        yield NotApplicable(reason)
    elif now is None:
        yield queues.lacks(device, "nr_requests")
    elif breach and (depth := _depth(device)) > now:
        wanted = min(_WANTED if _sorts(device) else _DEFAULT, depth)
        assignment = queues.assign(device, "nr_requests", wanted)
        yield Change(device.name, str(now), str(wanted), breach, (assignment,), is_harmful=True)
    elif device.kind == "nvme":
        yield NotApplicable(
            f"{device.name} is an NVMe device: its controller takes up to {now} commands per queue, and a longer queue "
            "before it would only add latency"
        )
    elif not _sorts(device):
        yield NotApplicable(f"{device.name} is fast or virtual: sorting more requests gains nothing")
    else:
        yield _judged(device, now)


def _sorts(device: BlockDevice) -> bool:
    """Whether the order of its requests matters to it."""
    return queues.spins(device) and device.kind not in ("nvme", "virtio", "loop")


def _depth(device: BlockDevice) -> int:
    """How many requests its queue can have; a disk of one command at a time, as behind USB, has two."""
    commands = device.number("device/queue_depth") if device.kind == "scsi" else None
    if commands == 1:
        return 2
    adapter = device.adapter
    if device.scheduler == "none" and adapter is not None and adapter.can_queue is not None:
        return adapter.can_queue
    return _WANTED


def _judged(device: BlockDevice, now: int) -> Judgement:
    adapter = device.adapter
    wanted, because = _WANTED, ""
    if device.scheduler == "none" and adapter is not None and adapter.can_queue is not None:
        # The kernel refuses more, because without a scheduler each request needs one of the adapter's tags.
        wanted = min(_WANTED, adapter.can_queue)
        because = f"without a scheduler {adapter.name} limits it to {adapter.can_queue}" if wanted < _WANTED else ""
    if now >= wanted:
        return Fine(device.name, str(now))
    return Change(device.name, str(now), str(wanted), because, (queues.assign(device, "nr_requests", wanted),))


RULE = Rule(
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
    judge=_judge,
    parameters=("nr_requests",),
    bounds={"nr_requests": _BOUNDS},
)
