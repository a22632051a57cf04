"""Whether reading a file on GPFS writes its access time."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotReadable, Rule, Source, each
from ioassay.tuning.rules.gpfs.sources import NO_FILE_SYSTEMS
from ioassay.tuning.system import System
from ioassay.tuning.system.gpfs import GpfsFileSystem, gpfs_file_systems


def _judge(system: System) -> Iterator[Judgement]:
    return each(gpfs_file_systems(system.snapshot), _file_system, otherwise=NO_FILE_SYSTEMS)


def _file_system(one: GpfsFileSystem) -> Iterator[Judgement]:
    now = (one.last("suppressAtime") or "").lower()
    if not now:
        yield NotReadable(f"suppression of access times of {one.name}", "mmlsfs does not list it")
    elif now == "no":
        yield Change(one.name, "-S no", "-S relatime", command=f"mmchfs {one.name} -S relatime")
    else:
        yield Fine(one.name, f"-S {now}")


RULE = Rule(
    name="gpfs-access-times",
    title="Suppress updates of access times on GPFS",
    area="GPFS",
    reason="With -S no every read of a file also changes its inode, which reading nodes then write and exchange "
    "tokens for.",
    risk="Programs and policies that go by access times, such as tiering of unused files, see them up to a day late "
    "with relatime, and never with yes.",
    sources=(
        Source(
            "IBM Spectrum Scale, mmcrfs, option -S (copy of IBM's page)", "https://cnblogs.com/menkeyi/p/7376248.html"
        ),
    ),
    judge=_judge,
    weight="small",
    weight_reason="only listings and reads of many files gain",
    parameters=("suppressAtime",),
)
