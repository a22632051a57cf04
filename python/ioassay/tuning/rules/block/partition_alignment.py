"""Where partitions begin."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay import units
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule
from ioassay.tuning.rules.block import queues
from ioassay.tuning.rules.sources import BEEGFS_STORAGE, LARGE_IO_TEXT, QUEUE_SYSFS
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice

_USUAL_BYTES = 1 << 20
"""Where partitioning tools begin, a multiple of every usual stripe."""


def _judge(system: System) -> Iterator[Judgement]:
    return queues.each_device(system, lambda device: _device(device, system))


def _device(device: BlockDevice, system: System) -> Iterator[Judgement]:
    if reason := queues.unsuited(device):
        yield NotApplicable(reason)
        return
    unit, what = _unit(device, system)
    if not device.partitions:
        yield NotApplicable(f"{device.name} has no partitions")
    for part in device.partitions:
        start = units.format_bytes(part.start_bytes)
        if part.start_bytes % unit == 0:
            yield Fine(part.name, f"begins at {start}")
        else:
            wanted = units.format_bytes(-(-part.start_bytes // _step(unit)) * _step(unit))
            yield Change(
                part.name,
                f"begins at {start}",
                f"a multiple of {units.format_bytes(unit)}, such as {wanted}",
                f"that is not a multiple of {what}",
                command=f"Save what is on {part.name} and create it again: parted -a optimal /dev/{device.name}",
            )


def _unit(device: BlockDevice, system: System) -> tuple[int, str]:
    """What a partition must begin at a multiple of, and what that is."""
    if device.medium == "array" and system.array is not None:
        return system.array.stripe_bytes, f"the array's stripe, {units.format_bytes(system.array.stripe_bytes)}"
    optimal = device.queue("optimal_io_size") or 0
    physical = max(512, device.queue("physical_block_size") or 0)
    if optimal >= physical and optimal % physical == 0 and optimal <= 64 << 20:
        return optimal, f"the device's optimal request, {units.format_bytes(optimal)}"
    return physical, f"the device's physical block, {units.format_bytes(physical)}"


def _step(unit: int) -> int:
    """Where to begin instead: at the next multiple of the unit that is a multiple of 1 MiB, if it divides that."""
    return _USUAL_BYTES if _USUAL_BYTES % unit == 0 else unit


RULE = Rule(
    name="partition-alignment",
    title="Begin partitions at a multiple of the stripe and the physical block",
    area="block",
    reason="Every full-stripe write in a partition that begins elsewhere touches two stripes, each of them in part; on "
    "disks with blocks of 4 KiB each small write becomes a read and a write.",
    risk="Moving a partition means restoring its data from a copy. A file system on the whole device needs no "
    "partition.",
    sources=(LARGE_IO_TEXT, BEEGFS_STORAGE, QUEUE_SYSFS),
    judge=_judge,
    parameters=("partition start", "optimal_io_size", "physical_block_size"),
)
