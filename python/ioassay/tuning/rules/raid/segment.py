"""How much lies on one disk of a RAID before the next one's turn."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text import units
from ioassay.tuning.rule import Change, Fine, Judgement, Rule
from ioassay.tuning.rules.raid import controller
from ioassay.tuning.rules.sources import RAID_LARGE_IO
from ioassay.tuning.system import Array, System

_REQUEST_BYTES = 1 << 20
_SMALLEST_BYTES, _LARGEST_BYTES = 16 << 10, 512 << 10
"""Segments that controllers offer."""


def _judge(system: System) -> Iterator[Judgement]:
    return controller.with_array(system, "segment size", "segment=128k,data=8", _array)


def _array(array: Array) -> Iterator[Judgement]:
    shown = _shown(array.segment_bytes, array.data_disks)
    if array.parity_disks == 0 and _REQUEST_BYTES % array.segment_bytes == 0:
        yield Fine(controller.SUBJECT, f"{shown}; without parity any request of whole segments is aligned")
    elif _REQUEST_BYTES % array.stripe_bytes == 0:
        yield Fine(controller.SUBJECT, shown)
    elif _is_power_of_two(array.data_disks) and (wanted := _REQUEST_BYTES // array.data_disks) >= _SMALLEST_BYTES:
        wanted = min(wanted, _LARGEST_BYTES)
        yield Change(
            controller.SUBJECT,
            shown,
            _shown(wanted, array.data_disks),
            command=controller.smcli(f'set virtualDisk ["NAME"] segmentSize={wanted >> 10}'),
        )
    else:
        yield Change(
            controller.SUBJECT,
            shown,
            "a power of two of data disks: 4, 8 or 16",
            f"no segment of {array.data_disks} data disks makes a stripe of 1 MiB, so that every write of that size "
            "leaves a stripe half-written",
            command="Create the disk groups anew, with 8+2 disks and segments of 128 KiB.",
        )


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def _shown(segment_bytes: int, data_disks: int) -> str:
    segment, stripe = units.format_bytes(segment_bytes), units.format_bytes(segment_bytes * data_disks)
    return f"{data_disks} data disks × {segment} = {stripe}"


RULE = Rule(
    name="raid-segment-size",
    title="Choose the segment so that a full stripe is one request of 1 MiB",
    area="RAID controller",
    reason="A write of a full stripe needs no old data to compute its parity. RAID6 8+2 with segments of 128 KiB takes "
    "an RPC of 1 MiB as one stripe.",
    risk="Changing the segment rewrites all data of the virtual disk in the background for hours to days and cannot be "
    "stopped; changing the number of disks destroys it. Small random reads gain from larger segments.",
    sources=(RAID_LARGE_IO,),
    judge=_judge,
    parameters=("segment size", "RAID6"),
)
