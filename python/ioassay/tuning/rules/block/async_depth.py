"""How many writes a scheduler lets into a queue."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.block import queues
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice

_SHARE = {"mq-deadline": 1.0, "kyber": 0.75, "bfq": 0.75}
"""Of nr_requests, what each scheduler sets by itself."""


def _judge(system: System) -> Iterator[Judgement]:
    return queues.each_device(system, _device)


def _device(device: BlockDevice) -> Iterator[Judgement]:
    reason = queues.passes_on(device)
    now, depth, scheduler = device.queue("async_depth"), device.queue("nr_requests"), device.scheduler or ""
    if reason or now is None or depth is None:
        yield NotApplicable(reason or f"{device.name} has no async_depth; Linux 6.18 and earlier have none")
    elif scheduler not in _SHARE:
        yield NotApplicable(f"{device.name} has no scheduler, so that async_depth is always nr_requests")
    elif now < (wanted := max(int(_SHARE[scheduler] * depth), 1)):
        because = f"writes and read-ahead get {now} of {depth} requests, and the rest is kept for synchronous reads"
        yield Change(device.name, str(now), str(wanted), because, (queues.assign(device, "async_depth", wanted),))
    else:
        yield Fine(device.name, f"{now} of {depth} requests")


RULE = Rule(
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
    judge=_judge,
    parameters=("async_depth",),
)
