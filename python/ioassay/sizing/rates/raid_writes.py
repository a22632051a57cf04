"""The cost of a write for the drives of a RAID group: full stripes, read-modify-write, reconstruct-write.

A write that does not fill its stripe needs old data for the new parity. Read-modify-write reads what is overwritten and
the old parity; reconstruct-write reads the rest of the stripe instead (Chen, Lee, Gibson, Katz, Patterson, *RAID:
High-Performance, Reliable Secondary Storage*, ACM Computing Surveys 26, 1994, section 3). Here, as in Linux
(drivers/md/raid5.c, `handle_stripe_dirtying`), the one that moves less is taken.

Requests start where a stripe starts and are not merged: a cache that collects full stripes does away with the cost.

Not: mirrors, and ZFS, which never overwrites (`work`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ioassay.sizing.arithmetic import Value, applied, exactly, quotient
from ioassay.systems.amounts import BYTES

Method = Literal["full-stripe writes", "read-modify-writes", "reconstruct-writes"]

SOURCE = "Linux, drivers/md/raid5.c, handle_stripe_dirtying; Chen et al., RAID, ACM Computing Surveys 26, 1994"

_TEXT: dict[Method, str] = {
    "full-stripe writes": "write × (data + parity) ÷ data",
    "read-modify-writes": "full stripes of the write × (data + parity) × chunk "
    "+ 2 × (rest of the write + parity × lower of rest and chunk)",
    "reconstruct-writes": "full stripes of the write × (data + parity) × chunk "
    "+ (data + parity) × lower of rest and chunk",
}


@dataclass(frozen=True)
class WriteCost:
    """The operations of the drives for one write."""

    method: Method
    """The method for its part that is less than a stripe."""
    moved_bytes: int
    """Read and written, of all drives of the group."""
    drive_ios: int
    """Reads and writes of drives, each of a chunk at most."""


def write_cost(request_bytes: int, data: int, parity: int, chunk_bytes: int) -> WriteCost:
    """The cost of a write of `request_bytes` from the beginning of a stripe."""
    stripes, rest = divmod(request_bytes, data * chunk_bytes)
    whole_bytes, whole_ios = stripes * (data + parity) * chunk_bytes, stripes * (data + parity)
    if rest == 0:
        return WriteCost("full-stripe writes", whole_bytes, whole_ios)
    extent = min(rest, chunk_bytes)
    written, overwritten = -(-rest // extent), rest // extent
    modify = WriteCost(
        "read-modify-writes",
        whole_bytes + 2 * (rest + parity * extent),
        whole_ios + 2 * (written + parity),
    )
    reconstruct = WriteCost(
        "reconstruct-writes",
        whole_bytes + (data + parity) * extent,
        whole_ios + (data - overwritten) + written + parity,
    )
    return min(modify, reconstruct, key=lambda cost: (cost.moved_bytes, cost.drive_ios))


def moved_per_byte(request_bytes: int, data: int, parity: int, chunk_bytes: int) -> tuple[Method, Value]:
    """How the writes are done, and the bytes that drives move for each byte written."""
    cost = write_cost(request_bytes, data, parity, chunk_bytes)
    request = exactly("size of a write", request_bytes, BYTES)

    def moved(request: Fraction, data: Fraction, parity: Fraction, chunk: Fraction) -> Fraction:
        return Fraction(write_cost(int(request), int(data), int(parity), int(chunk)).moved_bytes)

    value = applied(
        f"bytes that drives move for a write ({cost.method})",
        moved,
        request,
        exactly("data drives of a stripe", data),
        exactly("parity drives of a stripe", parity),
        exactly("chunk", chunk_bytes, BYTES),
        text=_TEXT[cost.method],
        dimension=BYTES,
        source=SOURCE,
        note=f"{cost.drive_ios} reads and writes of drives.",
    )
    return cost.method, quotient("bytes moved per byte written", value, request)


def ios_per_small_write(data: int, parity: int) -> int:
    """Reads and writes of drives for a write that is smaller than a chunk: 4 of RAID 5, 6 of RAID 6.

    Of very narrow groups fewer: all drives of the group once, by reconstruct-write (Chen et al., table 1).
    """
    return write_cost(1, data, parity, 1).drive_ios
