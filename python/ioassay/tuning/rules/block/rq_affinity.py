"""On which processor a request completes."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule
from ioassay.tuning.rules.block import queues
from ioassay.tuning.rules.sources import LINUX_LARGE_IO, QUEUE_SYSFS
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice

_WANTED = 2


def _judge(system: System) -> Iterator[Judgement]:
    return queues.each_device(system, _device)


def _device(device: BlockDevice) -> Iterator[Judgement]:
    reason = queues.passes_on(device)
    now = device.queue("rq_affinity")
    if reason:
        yield NotApplicable(reason)
    elif device.kind in ("nvme", "virtio"):
        yield NotApplicable(f"{device.name} has queues of its own for the processors, which complete requests there")
    elif now is None:
        yield queues.lacks(device, "rq_affinity")
    elif now == _WANTED:
        yield Fine(device.name, str(now))
    else:
        yield Change(device.name, str(now), str(_WANTED), assignments=(queues.assign(device, "rq_affinity", _WANTED),))


RULE = Rule(
    name="rq-affinity",
    title="Complete each request on the processor that issued it",
    area="block queue",
    reason="A SAS adapter interrupts few processors. With 2, completions are spread over all that issued requests, so "
    "that no single one limits the adapter.",
    risk="An interrupt between processors for most requests; on a node with idle cores and few requests it gains "
    "nothing.",
    sources=(LINUX_LARGE_IO, QUEUE_SYSFS),
    judge=_judge,
    weight="small",
    weight_reason="only a single processor that all interrupts reach gains",
    parameters=("rq_affinity",),
)
