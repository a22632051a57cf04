"""Where GPFS places blocks on a disk."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotReadable, Rule, Source, each
from ioassay.tuning.rules.gpfs.sources import NO_FILE_SYSTEMS
from ioassay.tuning.system import System
from ioassay.tuning.system.gpfs import GpfsFileSystem, gpfs_file_systems
from ioassay.tuning.system.numbers import is_whole

_FEW = 8
"""Up to so many nodes or disks GPFS chooses cluster itself."""


def _judge(system: System) -> Iterator[Judgement]:
    return each(gpfs_file_systems(system.snapshot), _file_system, otherwise=NO_FILE_SYSTEMS)


def _file_system(one: GpfsFileSystem) -> Iterator[Judgement]:
    now, nodes = one.last("blockAllocationType"), one.last("numNodes") or ""
    if now is None:
        yield NotReadable(f"block allocation type of {one.name}", "mmlsfs does not list it")
    elif now == "cluster" and is_whole(nodes) and int(nodes) > _FEW:
        because = f"it was made for {nodes} nodes"
        command = f"mmcrfs {one.name} -j scatter, which creates the file system anew"
        yield Change(one.name, now, "scatter", because, command=command)
    else:
        yield Fine(one.name, now)


RULE = Rule(
    name="gpfs-allocation-map",
    title="Use the allocation type scatter for more than eight GPFS nodes",
    area="GPFS",
    reason="The type cluster keeps blocks of a file next to each other, which many nodes and fragmentation undo; "
    "rates then depend on where a file lies. Scatter averages over the disk.",
    risk="The type is fixed when a file system is created: all data has to be copied. The number of nodes is the "
    "estimate that was given then.",
    sources=(
        Source(
            "IBM Storage Scale, Block allocation map",
            "https://www.ibm.com/docs/en/storage-scale/5.2.2?topic=considerations-block-allocation-map",
        ),
    ),
    judge=_judge,
    parameters=("blockAllocationType",),
)
