"""How long a failed drive is rebuilt.

Not: how often drives fail (`failures`), how slow users' I/O is meanwhile (`ioassay.sizing.rates`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Value, applied, assumed, exactly, lowest, product, quotient, total
from ioassay.sizing.capacity.redundancy import Geometry
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.model import BrickChoice
from ioassay.sizing.rates.degraded import REBUILD_SHARE
from ioassay.systems.amounts import BYTES_PER_S, SECONDS

_DECLUSTERED = (
    "Holland, Gibson: Parity declustering for continuous operation in redundant disk arrays, ASPLOS 1992; "
    "OpenZFS documentation, dRAID, Rebuilding to a Distributed Spare"
)

REPLACEMENT = assumed(
    "time until a failed drive is replaced",
    86400,
    SECONDS,
    "No spare drive waits, so one must be brought within a day.",
    "24h",
)
"""Without another one, of bricks without spares."""


@dataclass(frozen=True)
class Assumptions:
    """The figures of rebuilds that no catalogue has."""

    share: Value = REBUILD_SHARE
    replacement: Value = REPLACEMENT


ASSUMPTIONS = Assumptions()
"""The defaults, where the user gives no others."""


@dataclass(frozen=True)
class Rebuild:
    """How long the group of a failed drive has less redundancy."""

    rate: Value
    """Bytes of the failed drive that are restored, per second."""
    time: Value
    """The time of the rebuild itself."""
    exposed: Value
    """From the failure to the end of the rebuild: longer where a drive must be brought first."""


def rebuild(
    catalogue: Catalogue, choice: BrickChoice, group: Geometry, assumptions: Assumptions = ASSUMPTIONS
) -> Rebuild | None:
    """How long a full drive is rebuilt; `None` where the catalogue does not have both rates of the drive.

    A spare drive is written by itself, no faster than each other drive of the group is read. In a declustered group
    with spare space all surviving drives share both: to restore a byte, `data` bytes are read and one is written.
    """
    read = catalogue.value(choice.drive, "read", "read rate of a drive")
    write = catalogue.value(choice.drive, "write", "write rate of a drive")
    capacity = catalogue.value(choice.drive, "capacity", "capacity of a drive")
    if read is None or write is None or capacity is None:
        return None
    if group.is_declustered and group.has_spares:
        rate = applied(
            "rebuild rate",
            lambda drives, share, data, read, write: drives * share / (data / read + 1 / write),
            exactly("surviving drives of a group", group.drives - 1),
            assumptions.share,
            exactly("pieces that are read for one", group.data),
            read,
            write,
            text=f"{group.drives - 1} surviving drives × {formulas.brief(assumptions.share)} share for rebuilds ÷ "
            f"({group.data} ÷ {formulas.brief(read)} + 1 ÷ {formulas.brief(write)})",
            dimension=BYTES_PER_S,
            falling=(2,),
            source=_DECLUSTERED,
        )
    else:
        slower = lowest("rate of the drives in a rebuild", read, write)
        rate = product("rebuild rate", assumptions.share, slower)
    time = quotient("rebuild time of a drive", capacity, rate)
    name = "time with less redundancy after a failure"
    exposed = time.named(name) if group.has_spares else total(name, assumptions.replacement, time)
    return Rebuild(rate, time, exposed)
