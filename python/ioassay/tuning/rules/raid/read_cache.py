"""The read cache of a RAID controller."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule
from ioassay.tuning.rules.raid import controller
from ioassay.tuning.rules.sources import RAID_LARGE_IO
from ioassay.tuning.system import Array, System


def _judge(system: System) -> Iterator[Judgement]:
    return controller.with_array(system, "read cache", "…,read-cache=off", _array)


def _array(array: Array) -> Iterator[Judgement]:
    if array.read_cache is None:
        yield controller.unknown("read cache", "…,read-cache=off")
    elif not array.read_cache:
        yield Fine(controller.SUBJECT, "off")
    else:
        command = controller.smcli('set virtualDisk ["NAME"] readCacheEnabled=FALSE')
        yield Change(controller.SUBJECT, "on", "off", command=command)


RULE = Rule(
    name="raid-read-cache",
    title="Give the controller's whole cache to writes where reads stream",
    area="RAID controller",
    reason="Reads of whole stripes gain nothing from the controller's cache, and the servers' memory, many times "
    "larger, holds what is read again.",
    risk="Small reads near each other become slower. Keep it on for metadata targets and random reads.",
    sources=(RAID_LARGE_IO,),
    judge=_judge,
    parameters=("read cache", "readCacheEnabled"),
)
