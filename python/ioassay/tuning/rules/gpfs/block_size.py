"""Whether blocks are whole stripes of the RAID below."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source, each
from ioassay.tuning.rules.gpfs.sources import MMCHCONFIG, NO_FILE_SYSTEMS
from ioassay.tuning.system import Array, System
from ioassay.tuning.system.gpfs import GpfsFileSystem, gpfs_file_systems

_SIZES = tuple((256 << 10) << power for power in range(7))
"""The block sizes from 256 KiB to 16 MiB."""


def _judge(system: System) -> Iterator[Judgement]:
    known = gpfs_file_systems(system.snapshot)
    array = system.array
    if not known:
        yield NotApplicable(NO_FILE_SYSTEMS)
    elif array is None:
        yield NotApplicable("the stripe of the RAID below is not known; give it with --raid")
    else:
        yield from each(known, lambda one: _file_system(one, array))


def _file_system(one: GpfsFileSystem, array: Array) -> Iterator[Judgement]:
    now, stripe = one.block_bytes, array.stripe_bytes
    if now is None:
        yield NotReadable(f"block size of {one.name}", "mmlsfs does not list it")
    elif now % stripe == 0:
        yield Fine(one.name, f"{now >> 10} KiB, {now // stripe} × the stripe")
    else:
        because = f"a stripe of the RAID has {stripe >> 10} KiB"
        wanted = next((size for size in _SIZES if size % stripe == 0), None)
        if wanted is None:
            segment = f"make the RAID of a number of data disks that is a power of two, not {array.data_disks}"
            yield Change(one.name, f"{now >> 10} KiB", "a multiple of the stripe", because, command=segment)
        else:
            command = (
                f"mmcrfs {one.name} -B {wanted >> 10}K, which creates the file system anew; mmchconfig maxblocksize"
            )
            yield Change(one.name, f"{now >> 10} KiB", f"{wanted >> 10} KiB", because, command=command)


RULE = Rule(
    name="gpfs-block-size",
    title="Make the block size of GPFS a multiple of the RAID stripe",
    area="GPFS",
    reason="GPFS writes whole blocks; on parity RAID a block that is no multiple of the stripe makes the controller "
    "read and write parity again.",
    risk="The block size is fixed when a file system is created: all data has to be copied. Large blocks cost page "
    "pool. maxblocksize has to be at least as large in every cluster that mounts it, and changes with GPFS down "
    "everywhere.",
    sources=(
        Source(
            "IBM Storage Scale, Disk I/O",
            "https://www.ibm.com/docs/en/storage-scale/5.2.3?topic=considerations-disk-io",
        ),
        Source(
            "IBM Storage Scale, Block size",
            "https://www.ibm.com/docs/en/storage-scale/5.2.1?topic=considerations-block-size",
        ),
        MMCHCONFIG,
    ),
    judge=_judge,
    parameters=("blocksize", "maxblocksize"),
)
