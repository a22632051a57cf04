"""Whether whole stripes fit into the transfers above."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source, each
from ioassay.tuning.rules.md.sources import MD_GUIDE, NO_ARRAYS
from ioassay.tuning.rules.sources import RAID_LARGE_IO
from ioassay.tuning.system import System
from ioassay.tuning.system.md import MdArray, md_arrays

_TRANSFER = 1 << 20


def _judge(system: System) -> Iterator[Judgement]:
    return each(md_arrays(system.concerned()), _array, otherwise=NO_ARRAYS)


def _array(array: MdArray) -> Iterator[Judgement]:
    if not array.has_parity or not array.chunk_bytes:
        yield NotApplicable(f"{array.name} is {array.level or 'not assembled'}, where no write has to read first")
        return
    stripe = array.stripe_bytes
    now = f"{array.chunk_bytes >> 10} KiB × {array.data_disks} data disks = {stripe >> 10} KiB"
    if stripe <= _TRANSFER and _TRANSFER % stripe == 0:
        yield Fine(array.name, now)
    elif array.data_disks & (array.data_disks - 1):
        because = f"no stripe of {array.data_disks} data disks divides 1 MiB"
        command = "make the array of a number of data disks that is a power of two, such as 8"
        yield Change(array.name, now, "a stripe that divides 1 MiB", because, command=command)
    else:
        wanted = _TRANSFER // array.data_disks >> 10
        command = f"mdadm --grow --chunk={wanted} --backup-file=FILE /dev/{array.name}"
        because = "a transfer of 1 MiB fills no whole stripe"
        yield Change(
            array.name, now, f"{wanted} KiB × {array.data_disks} data disks = 1024 KiB", because, command=command
        )


RULE = Rule(
    name="md-chunk-size",
    title="Choose a chunk with which a transfer of 1 MiB fills whole stripes",
    area="MD RAID",
    reason="Lustre, NFS and the page cache write in pieces of up to 1 MiB. Where a stripe is larger, md reads data or "
    "parity for every piece unless the stripe cache can wait for the next one.",
    risk="Changing the chunk reshapes the whole array, which takes days and needs a backup file off the array. Single "
    "streams of very large writes do well with the default of 512 KiB, because the stripe cache joins them; small "
    "random reads prefer large chunks.",
    sources=(
        RAID_LARGE_IO,
        MD_GUIDE,
        Source("mdadm(8), --chunk", "https://man7.org/linux/man-pages/man8/mdadm.8.html"),
    ),
    judge=_judge,
    parameters=("chunk_size",),
)
