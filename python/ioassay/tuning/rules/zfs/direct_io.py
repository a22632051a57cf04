"""What becomes of direct I/O."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import (
    Assignment,
    Change,
    Fine,
    Judgement,
    NotApplicable,
    NotJudged,
    Rule,
    Source,
    each,
    missing,
)
from ioassay.tuning.rules.zfs.sources import NO_ZFS, ZFS_MODULE, ZFS_PROPERTIES
from ioassay.tuning.system import System
from ioassay.tuning.system.zfs import Dataset, concerned, is_used, version

_SINCE = (2, 3)
_ENABLED = "zfs_dio_enabled"
_PATH = f"sys/module/zfs/parameters/{_ENABLED}"


def _judge(system: System) -> Iterator[Judgement]:
    release = version(system.snapshot)
    if not is_used(system):
        yield NotApplicable(NO_ZFS)
    elif release is None:
        yield missing("/sys/module/zfs/version")
    elif release < _SINCE:
        yield NotApplicable("OpenZFS before 2.3 ignores O_DIRECT: rates with it are those of the ARC")
    else:
        yield from _module(system)
        yield from each(concerned(system, "direct"), _dataset, otherwise=NO_ZFS)


def _module(system: System) -> Iterator[Judgement]:
    now = system.snapshot.number(_PATH)
    if now is None:
        yield missing(f"/{_PATH}")
    elif now:
        yield Fine(_ENABLED, str(now))
    else:
        because = "O_DIRECT is ignored on all data sets, and rates with it are those of the ARC"
        yield Change(_ENABLED, "0", "1", because, (Assignment(f"module:zfs/{_ENABLED}", "1"),))


def _dataset(one: Dataset) -> Iterator[Judgement]:
    now = one.properties.get("direct")
    if now is None:
        yield missing(f"direct of {one.name}")
    elif now == "disabled":
        because = "O_DIRECT is ignored, and rates with it are those of the ARC"
        yield Change(
            one.name, "direct=disabled", "direct=standard", because, command=f"zfs set direct=standard {one.name}"
        )
    elif now == "always":
        why = "depends on whether data is read again: all aligned requests bypass the ARC, also without O_DIRECT"
        yield NotJudged(one.name, "direct=always", why)
    else:
        yield Fine(one.name, "direct=standard: writes of whole records, and reads, bypass the ARC")


RULE = Rule(
    name="zfs-direct-io",
    title="Let direct I/O of OpenZFS 2.3 bypass the ARC",
    area="ZFS",
    reason="What reads each byte once gains nothing from the ARC and pays for the copies. Since OpenZFS 2.3 O_DIRECT "
    "bypasses it where requests are aligned to pages, and writes to whole records.",
    risk="Data that is read again comes from disk each time. Parts of records pass through the ARC all the same, so "
    "choose the record size by the requests. Mixed with buffered I/O on one file it gets slower.",
    sources=(
        ZFS_PROPERTIES,
        ZFS_MODULE,
        Source(
            "OpenZFS 2.3, module/zfs/zfs_vnops.c: zfs_dio_enabled (1)",
            "https://github.com/openzfs/zfs/blob/zfs-2.3.0/module/zfs/zfs_vnops.c",
        ),
    ),
    judge=_judge,
    parameters=("direct", _ENABLED),
)
