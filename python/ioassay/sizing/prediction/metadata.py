"""Operations on empty files, at most as many as the metadata modules do.

Nothing tells what one process does alone. Throughput of a closed system rises with its processes and bends downwards,
so that of fewer is at least their share of what was measured of more. Not: rates of modules (`sizing.rates`).
"""

from __future__ import annotations

from fractions import Fraction

from ioassay.sizing.arithmetic import Formula, Value, exactly, product
from ioassay.sizing.components import MetadataKind
from ioassay.sizing.prediction.model import Predicted, Spot
from ioassay.sizing.prediction.storage import Storage
from ioassay.store.document import Operation
from ioassay.systems.amounts import Interval

LAYOUTS = ("unique", "shared", "shared-items")
"""Who shares the tree that a job works on."""

_KINDS: dict[Operation, MetadataKind] = {
    "create": "create",
    "stat": "stat",
    "read": "read_files",
    "remove": "remove",
}


def predict(storage: Storage, spot: Spot) -> Predicted:
    """The expected rate at a spot whose job works on a tree."""
    kind = _KINDS.get(spot.operation)
    if kind is None:
        return Predicted(spot, None, why_not=f"The catalogue has no rates of the operation {spot.operation}.")
    if spot.job.layout != "unique":
        return Predicted(spot, None, why_not="Nothing in the catalogue tells what locks of a shared directory cost.")
    if spot.job.transfer_bytes:
        return Predicted(spot, None, why_not="The catalogue has metadata rates of empty files only.")
    if kind not in storage.rates:
        return Predicted(
            spot, None, why_not=f"The catalogue has no {kind.replace('_', ' ')} rate of this configuration."
        )
    rate = storage.rates[kind]
    least, note = _lower_bound(storage, spot, kind)
    interval = Interval(
        least.interval.low if least else Fraction(0), rate.value.interval.nominal, rate.value.interval.high
    )
    operands = (least, rate.value) if least else (rate.value,)
    value = Value(
        f"predicted {kind.replace('_', ' ')} rate",
        interval,
        rate.value.dimension,
        Formula("function", operands, "at most what the metadata modules do"),
    )
    return Predicted(spot, value, rate.limit.place, "modules", notes=(note,) if note else ())


def _lower_bound(storage: Storage, spot: Spot, kind: MetadataKind) -> tuple[Value | None, str]:
    """The share of these processes in the rate; `None` with a note where it is not known of how many that was."""
    of = storage.metadata_processes.get(kind)
    if of is None:
        return None, "The catalogue does not say how many processes reached this rate; fewer do less."
    share = exactly(f"share of {spot.job.ranks} in {of} processes", min(Fraction(spot.job.ranks, of), Fraction(1)))
    return product("lower bound", share, storage.rates[kind].value), ""
