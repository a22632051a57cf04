"""Whether fsync() waits for the disks."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, each
from ioassay.tuning.rules.zfs.sources import NO_ZFS, ZFS_PROPERTIES, ZFS_WORKLOADS
from ioassay.tuning.system import System
from ioassay.tuning.system.zfs import Dataset, concerned, is_used


def _judge(system: System) -> Iterator[Judgement]:
    if not is_used(system):
        yield NotApplicable(NO_ZFS)
    else:
        yield from each(concerned(system, "sync"), _dataset, otherwise=NO_ZFS)


def _dataset(one: Dataset) -> Iterator[Judgement]:
    now = one.properties.get("sync")
    command = f"zfs set sync=standard {one.name}"
    if now is None:
        yield NotReadable(f"sync of {one.name}", "zfs get does not list it")
    elif now == "disabled":
        because = "fsync() returns before data is stored: a crash loses what applications and NFS clients believe safe"
        yield Change(one.name, "sync=disabled", "sync=standard", because, command=command)
    elif now == "always":
        because = "every write waits for the disks, not only those that ask for it"
        yield Change(one.name, "sync=always", "sync=standard", because, command=command)
    else:
        yield Fine(one.name, f"sync={now}")


RULE = Rule(
    name="zfs-synchronous-writes",
    title="Keep sync=standard, so that fsync() holds and other writes do not wait",
    area="ZFS",
    reason="The manual calls sync=disabled very dangerous, because ZFS then ignores what databases and NFS demand; "
    "rates measured with it include data that no disk has. sync=always has a large performance penalty.",
    risk="fsync() becomes as slow as the disks are: add a log device (SLOG) with power-loss protection where that "
    "counts. Keep sync=always where every write has to be stored at once.",
    sources=(ZFS_PROPERTIES, ZFS_WORKLOADS),
    judge=_judge,
    parameters=("sync",),
    weight="large",
    weight_reason="sync=disabled loses data in a crash",
)
