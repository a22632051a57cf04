"""The write cache of a RAID controller, and its mirror."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, Source
from ioassay.tuning.rules.raid import controller
from ioassay.tuning.rules.sources import RAID_LARGE_IO
from ioassay.tuning.system import Array, System


def _judge(system: System) -> Iterator[Judgement]:
    return controller.with_array(system, "write cache and its mirroring", "…,write-cache=on,mirroring=on", _array)


def _array(array: Array) -> Iterator[Judgement]:
    if array.write_cache is None or (array.write_cache and array.mirroring is None):
        yield controller.unknown("write cache and its mirroring", "…,write-cache=on,mirroring=on")
    elif array.write_cache and array.mirroring:
        yield Fine(controller.SUBJECT, "on, mirrored")
    elif array.write_cache:
        yield Change(
            controller.SUBJECT,
            "on, not mirrored",
            "on, mirrored",
            "confirmed writes are lost, and the file system damaged, when a controller fails: do this first",
            command=controller.smcli('set virtualDisk ["NAME"] mirrorCacheEnabled=TRUE'),
        )
    else:
        yield Change(
            controller.SUBJECT,
            "off",
            "on, mirrored",
            command=controller.smcli('set virtualDisk ["NAME"] writeCacheEnabled=TRUE mirrorCacheEnabled=TRUE'),
        )


RULE = Rule(
    name="raid-write-cache",
    title="Switch the write cache on, always with mirroring",
    area="RAID controller",
    reason="The cache absorbs bursts and joins writes to full stripes. Mirrored in the other controller, it survives "
    "the failure of one.",
    risk="Mirroring halves the cache and costs bandwidth between the controllers: the study saw long aligned writes "
    "faster with the cache off. Never switch mirroring off to gain speed where servers fail over.",
    sources=(
        RAID_LARGE_IO,
        Source(
            "Dell PowerVault MD3620i Owner's Manual: Cache Mirroring, Write-Back Cache",
            "https://www.manualowl.com/m/Dell/PowerVault-MD3620i/Manual/190105?page=35",
        ),
    ),
    judge=_judge,
    parameters=("write cache", "cache mirroring", "writeCacheEnabled", "mirrorCacheEnabled"),
)
