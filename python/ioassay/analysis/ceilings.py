"""The ceilings on the path of a measurement, the lowest of them, and the doubt about a rate that lies above it.

The network that `ioassay net` measured is assumed to have equal clients and equal servers, and each client reaches all
M servers. If c clients and s servers carried a rate together, then k clients and M servers carry at most

    max(1, k/c) × max(1, M/s)  times that rate.

More of either cannot carry less, and not more than in proportion: some c of the k clients have at least the share c/k
of the rate of all, and c clients cannot exceed their measured rate; servers likewise. So every measurement in the
direction of the data is a ceiling on the path, with a factor that is reported with it, and the lowest one counts.
Because measurements scatter, and many senders may disturb each other, a rate that fewer clients and servers carried is
never called impossible.

The measurements 1→1, 1→m, n→1 and n→m cover the links of the clients, those of the servers, and the network between.
The method is that of the network bandwidth tests in Dell EMC's *Isilon F800 and H600 I/O Performance* (January 2018),
which compares its rates with such figures one by one.

Not: measuring ceilings (`ioassay.net`), wording them (`ioassay.reports`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from ioassay.store import schema
from ioassay.store.document import Operation
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY, Measurement
from ioassay.store.net_document import Direction, NetDocument, NetMeasurement
from ioassay.text.units import format_number, format_rate

ABOVE, TOO_LOW = "above-network-ceiling", "network-ceiling-too-low"
"""The doubts about a rate above its ceiling; the second if remarks say that the ceiling itself may be too low."""

TOLERANCE = 0.1
"""The share of a ceiling by which a rate may exceed it without a doubt.

iperf3 counts TCP payload, 94 % of the rate of a link with frames of 1500 bytes; a protocol with smaller headers could
have up to 6 % more. The rest covers the difference of two measurements of a quiet network.
"""

DIRECTIONS: Mapping[Operation, Direction] = {"write": "to-servers", "create": "to-servers", "read": "to-clients"}
"""The direction of an operation's data. Other operations move none."""


@dataclass(frozen=True)
class Ceiling:
    """An upper bound of the rate on a path, from one measurement of it."""

    rate_bytes_per_s: float
    factor: float
    """`rate_bytes_per_s` / measured rate: 1 if as many clients and servers were measured."""
    measured: NetMeasurement

    @property
    def name(self) -> str:
        """Its name with its factor: `8 clients → 1 server`, `2.5 × (8 clients → 1 server)`."""
        return self.measured.name if self.factor == 1 else f"{round(self.factor, 2):,g} × ({self.measured.name})"


def lowest(net: NetDocument, nodes: int, direction: Direction) -> Ceiling | None:
    """The lowest ceiling on the path of data between `nodes` client nodes, at least 1, and all servers of `net`.

    `None` if nothing was measured in that direction.
    """
    measured = [measurement for measurement in net.measurements if measurement.direction == direction]
    if not measured:
        return None
    least = min((_ceiling(measurement, nodes, len(net.servers)) for measurement in measured), key=_rate)
    seen = [
        Ceiling(measurement.rate_bits_per_s / 8, 1.0, measurement)
        for measurement in measured
        if measurement.clients <= nodes
    ]
    return max([least, *seen], key=_rate)


def _ceiling(measured: NetMeasurement, nodes: int, servers: int) -> Ceiling:
    factor = max(1.0, nodes / measured.clients) * max(1.0, servers / measured.servers)
    return Ceiling(measured.rate_bits_per_s / 8 * factor, factor, measured)


def _rate(ceiling: Ceiling) -> float:
    return ceiling.rate_bytes_per_s


@dataclass(frozen=True)
class Limit:
    """The lowest ceiling on the path of a measurement, and the measured rate."""

    ceiling: Ceiling
    nodes: int
    """The client nodes that took part."""
    rate_bytes_per_s: float

    @property
    def share(self) -> float:
        """Rate / ceiling."""
        return self.rate_bytes_per_s / self.ceiling.rate_bytes_per_s

    @property
    def is_broken(self) -> bool:
        """True if the rate exceeds what the network can carry."""
        return self.share > 1 + TOLERANCE


def limits(run: LoadedRun) -> dict[Measurement, Limit]:
    """The limit of every measurement of a run that moved data; none without ceilings."""
    net = run.document.ceilings
    if net is None:
        return {}
    nodes = {
        tuple(place): count for *place, count in run.ranks.group_by(*KEY).agg(pl.col("node").n_unique()).iter_rows()
    }
    limits_by_place = {}
    for row in run.measurements.filter(pl.col("bytes") > 0, pl.col("rate_bytes_per_s") > 0).iter_rows(named=True):
        place = Measurement.of(row)
        direction = DIRECTIONS.get(row["operation"])
        ceiling = lowest(net, nodes[place], direction) if direction and place in nodes else None
        if ceiling is not None:
            limits_by_place[place] = Limit(ceiling, nodes[place], row["rate_bytes_per_s"])
    return limits_by_place


def columns(run: LoadedRun) -> pl.DataFrame:
    """The limits as a table: `measurement.KEY`, nodes, ceiling (its name), ceiling_bytes_per_s, ceiling_share."""
    rows = [
        (*place, limit.nodes, limit.ceiling.name, limit.ceiling.rate_bytes_per_s, limit.share)
        for place, limit in limits(run).items()
    ]
    added_columns = {
        "nodes": pl.Int64,
        "ceiling": pl.String,
        "ceiling_bytes_per_s": pl.Float64,
        "ceiling_share": pl.Float64,
    }
    return pl.DataFrame(rows, schema={**dict.fromkeys(KEY, pl.String), **added_columns}, orient="row")


def common(limits_by_place: Mapping[Measurement, Limit], places: Iterable[Measurement]) -> Ceiling | None:
    """The lowest ceiling of several measurements, if it is the same for all of them."""
    ceilings = {
        limits_by_place[place].ceiling.rate_bytes_per_s: limits_by_place[place].ceiling
        for place in places
        if place in limits_by_place
    }
    return next(iter(ceilings.values())) if len(ceilings) == 1 else None


def doubted(run: LoadedRun) -> LoadedRun:
    """The run with a doubt about each rate that is more than the network can carry.

    Such data did not pass the measured network, so the doubt invalidates the measurement, unless a remark says that
    the ceiling itself may be too low. The stored tables stay as the engine wrote them, because ceilings may be added
    or replaced when the report is made.
    """
    broken = {place: limit for place, limit in limits(run).items() if limit.is_broken}
    if not broken:
        return run
    rows = [_doubt(place, limit) for place, limit in broken.items()]
    invalid = pl.DataFrame(
        [place for place, limit in broken.items() if not limit.ceiling.measured.remarks],
        schema=dict.fromkeys(KEY, pl.String),
        orient="row",
    ).with_columns(pl.lit(True).alias("broken"))
    measurements = (
        run.measurements.join(invalid, on=list(KEY), how="left", maintain_order="left")
        .with_columns(pl.col("valid") & pl.col("broken").is_null())
        .drop("broken")
    )
    doubts = pl.concat([run.doubts, pl.DataFrame(rows, schema=schema.DOUBTS)])
    return replace(run, measurements=measurements, doubts=doubts)


def _doubt(place: Measurement, limit: Limit) -> dict[str, Any]:
    ceiling = limit.ceiling
    evidence = {
        "rate_bytes_per_s": limit.rate_bytes_per_s,
        "ceiling_bytes_per_s": ceiling.rate_bytes_per_s,
        "ceiling": ceiling.name,
        "nodes": limit.nodes,
        "allowed_share": 1 + TOLERANCE,
        "ceiling_remarks": [remark.kind for remark in ceiling.measured.remarks],
    }
    rate, carried = (format_rate(per_s, "MB/s") for per_s in (limit.rate_bytes_per_s, ceiling.rate_bytes_per_s))
    message = f"{rate} is {format_number(limit.share)} times the {carried} of the network ({ceiling.name})"
    if doubtful := ceiling.measured.remarks:
        message += f", but that measurement is {' and '.join(remark.kind for remark in doubtful)}"
    return dict(zip(KEY, place, strict=True)) | {
        "kind": TOO_LOW if doubtful else ABOVE,
        "invalidates": not doubtful,
        "message": message,
        "remedy": _MEASURE_AGAIN if doubtful else _REMEDIES[DIRECTIONS[_operation(place)]],
        "evidence": json.dumps(evidence, sort_keys=True, separators=(",", ":")),
    }


def _operation(place: Measurement) -> Operation:
    return next(operation for operation in DIRECTIONS if operation == place[3])


_MEASURE_AGAIN = "measure the network again, following the remarks about its ceilings"

_OTHER_PATH = "check that the data used the measured path: another network, or RDMA, has other ceilings"

_REMEDIES: Mapping[Direction, str] = {
    "to-servers": "end the write with fsync, write more than the clients can cache, disable compression; "
    + _OTHER_PATH,
    "to-clients": "empty the clients' caches before the read, or read more than they hold; disable compression; "
    + _OTHER_PATH,
}
