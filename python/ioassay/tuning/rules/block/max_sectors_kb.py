"""The largest request that a queue makes."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, Source, each
from ioassay.tuning.rules.sources import LINUX_LARGE_IO
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice

_WANTED_KB = 1024
"""Lustre's RPC, and the stripe of RAID6 8+2 with segments of 128 KiB."""


def _judge(system: System) -> Iterator[Judgement]:
    stripe = system.array.stripe_bytes >> 10 if system.array else 0
    wanted = max(_WANTED_KB, stripe)
    return each(system.concerned(), lambda device: _device(device, wanted))


def _device(device: BlockDevice, wanted_kb: int) -> Iterator[Judgement]:
    now, most = device.queue("max_sectors_kb"), device.queue("max_hw_sectors_kb")
    if now is None or most is None:
        yield NotApplicable(f"{device.name} has no request queue")
    elif device.medium == "memory":
        yield NotApplicable(f"{device.name} lies in memory, where requests are copied page by page")
    elif now >= min(wanted_kb, most):
        yield Fine(device.name, f"{now} KiB")
    else:
        wanted = min(wanted_kb, most)
        limited = f"its adapter or controller takes no more than {most} KiB" if most < wanted_kb else ""
        assignment = Assignment(f"block:{device.name}/max_sectors_kb", str(wanted))
        yield Change(device.name, f"{now} KiB", f"{wanted} KiB", limited, (assignment,))


RULE = Rule(
    name="max-sectors-kb",
    title="Let a block queue make requests as large as the RPC and the RAID stripe",
    area="block",
    reason="A write of 1 MiB that the queue splits reaches a parity RAID as parts of a stripe, for which the "
    "controller reads and writes parity again.",
    risk="Latency of small requests behind large ones rises. Below dm-multipath a live change fails paths; set it in "
    "multipath.conf.",
    sources=(
        LINUX_LARGE_IO,
        Source(
            "Linux, queue-sysfs: max_sectors_kb",
            "https://docs.kernel.org/admin-guide/abi-stable.html#sys-block-disk-queue-max-sectors-kb",
        ),
    ),
    judge=_judge,
    parameters=("max_sectors_kb",),
)
