"""Whether a queue merges neighbouring requests."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule
from ioassay.tuning.rules.block import queues
from ioassay.tuning.rules.sources import LARGE_IO_TEXT, QUEUE_SYSFS
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice


def _judge(system: System) -> Iterator[Judgement]:
    return queues.each_device(system, _device)


def _device(device: BlockDevice) -> Iterator[Judgement]:
    reason = queues.passes_on(device)
    now = device.queue("nomerges")
    if reason:
        yield NotApplicable(reason)
    elif now is None:
        yield queues.lacks(device, "nomerges")
    elif not queues.spins(device):
        yield NotApplicable(f"{device.name} is flash, where small requests cost little and merging gains little")
    elif now == 0:
        yield Fine(device.name, "merges requests")
    else:
        value = "merges only with the last request" if now == 1 else "merges nothing"
        yield Change(device.name, value, "merges requests", assignments=(queues.assign(device, "nomerges", 0),))


RULE = Rule(
    name="nomerges",
    title="Let disks and arrays merge neighbouring requests",
    area="block queue",
    reason="Writes of several threads to neighbouring blocks become one request of a full stripe only if the queue "
    "merges them.",
    risk="Looking for neighbours costs processor time, in vain where all access is random.",
    sources=(LARGE_IO_TEXT, QUEUE_SYSFS),
    judge=_judge,
    parameters=("nomerges",),
)
