"""When a RAID controller begins to write its cache to disk."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule
from ioassay.tuning.rules.raid import controller
from ioassay.tuning.rules.sources import RAID_LARGE_IO, SANTRICITY_CACHE
from ioassay.tuning.system import Array, System

_WANTED = 98
_DEFAULT = 80


def _judge(system: System) -> Iterator[Judgement]:
    return controller.with_array(system, "cache flush threshold", f"…,cache-flush={_WANTED}", _array)


def _array(array: Array) -> Iterator[Judgement]:
    now = array.cache_flush_percent
    if now is None:
        yield controller.unknown("cache flush threshold", f"…,cache-flush={_WANTED}")
    elif now >= _WANTED:
        yield Fine(controller.SUBJECT, f"{now} % full")
    else:
        yield Change(
            controller.SUBJECT,
            f"{now} % full",
            f"{_WANTED} % full",
            f"below the default of {_DEFAULT} % writes slow down earlier" if now < _DEFAULT else "",
            command=controller.smcli(f"set storageArray cacheFlushStart={_WANTED} cacheFlushStop={_WANTED}"),
        )


RULE = Rule(
    name="raid-cache-flush",
    title="Let the write cache fill before the controller flushes it",
    area="RAID controller",
    reason="Data that stays in the cache longer is more often joined to full stripes before it is written.",
    risk="Less room for the next burst: where bursts are followed by pauses, a lower threshold absorbs more of each.",
    sources=(RAID_LARGE_IO, SANTRICITY_CACHE),
    judge=_judge,
    parameters=("cache flush", "cacheFlushStart"),
)
