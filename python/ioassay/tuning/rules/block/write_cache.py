"""What the kernel believes of a device's write cache."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.block import queues
from ioassay.tuning.rules.sources import QUEUE_SYSFS
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice


def _judge(system: System) -> Iterator[Judgement]:
    return queues.each_device(system, _device)


def _device(device: BlockDevice) -> Iterator[Judgement]:
    reason = queues.passes_on(device)
    now = device.text("queue/write_cache")
    if reason or now is None:
        yield NotApplicable(reason or f"this kernel does not say whether {device.name} has a write cache")
    elif now != "write back":
        yield Fine(device.name, f"{now}: the kernel sends no cache flushes")
    elif device.medium != "array" or queues.multipath_above(device) is not None:
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


RULE = Rule(
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
    judge=_judge,
    parameters=("write_cache",),
)
