"""The unit of a RAID controller's cache."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text import units
from ioassay.tuning.rule import Change, Fine, Judgement, Rule
from ioassay.tuning.rules.raid import controller
from ioassay.tuning.rules.sources import RAID_LARGE_IO, SANTRICITY_CACHE
from ioassay.tuning.system import Array, System

_WANTED_BYTES = 32 << 10


def _judge(system: System) -> Iterator[Judgement]:
    return controller.with_array(system, "cache block size", "…,cache-block=32k", _array)


def _array(array: Array) -> Iterator[Judgement]:
    now = array.cache_block_bytes
    if now is None:
        yield controller.unknown("cache block size", "…,cache-block=32k")
    elif now >= _WANTED_BYTES:
        yield Fine(controller.SUBJECT, units.format_bytes(now))
    else:
        command = controller.smcli(f"set storageArray cacheBlockSize={_WANTED_BYTES >> 10}")
        yield Change(controller.SUBJECT, units.format_bytes(now), units.format_bytes(_WANTED_BYTES), command=command)


RULE = Rule(
    name="raid-cache-block",
    title="Manage the controller's cache in large blocks",
    area="RAID controller",
    reason="A request of 1 MiB takes 32 blocks of 32 KiB or 256 of 4 KiB, and the controller looks up and mirrors "
    "each.",
    risk="Small random writes waste cache. The setting is that of the whole array, with all its virtual disks.",
    sources=(RAID_LARGE_IO, SANTRICITY_CACHE),
    judge=_judge,
    parameters=("cache block size", "cacheBlockSize"),
)
