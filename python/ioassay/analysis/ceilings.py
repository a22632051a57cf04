"""The ceilings on the path of a measurement, the lowest of them, and the doubt about a rate that lies above it.

What `ioassay net` measured is taken for a network whose clients are alike, whose servers are alike, and over which a
client reaches all M servers. What c clients and s servers carried together says this of k clients and M servers:

    they carry no more than  max(1, k/c) × max(1, M/s)  times that.

More of either cannot carry less, and no more than in proportion: of k clients some c have at least the share c/k of
what all have together, and that share is not more than what c clients can have; servers likewise. So every measurement
in the direction of the data is a ceiling on the path, with a factor that is said wherever the ceiling is, and the
lowest one counts. Because measurements scatter, and many senders may disturb each other, what fewer clients and servers
were seen to carry is never called impossible.

With 1→1, 1→m, n→1 and n→m measured, these are the links of the clients, those of the servers, and what lies between.
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
"""The doubts about a rate above its ceiling: the second where a remark says that the ceiling itself may be too low."""

TOLERANCE = 0.1
"""The share of a ceiling by which a rate may lie above it without a doubt.

iperf3 counts payload of TCP, 94 % of what a link of frames of 1500 bytes carries; a protocol with smaller headers could
have up to 6 % more. The rest is for how far two measurements of a quiet network differ.
"""

DIRECTIONS: Mapping[Operation, Direction] = {"write": "to-servers", "create": "to-servers", "read": "to-clients"}
"""Where the data of an operation goes. Others move none."""


@dataclass(frozen=True)
class Ceiling:
    """The most that can be carried on a path, by one measurement of it."""

    rate_bytes_per_s: float
    factor: float
    """How many times as much as was measured: 1 where so many clients and servers were."""
    measured: NetMeasurement

    @property
    def name(self) -> str:
        """What it is, with its factor: `8 clients → 1 server`, `2.5 × (8 clients → 1 server)`."""
        return self.measured.name if self.factor == 1 else f"{round(self.factor, 2):,g} × ({self.measured.name})"


def lowest(net: NetDocument, nodes: int, direction: Direction) -> Ceiling | None:
    """The lowest ceiling on the path of data between `nodes` client nodes, at least 1, and all servers of `net`.

    `None` where nothing was measured in that direction.
    """
    measured = [measurement for measurement in net.measurements if measurement.direction == direction]
    if not measured:
        return None
    least = min((_ceiling(one, nodes, len(net.servers)) for one in measured), key=_rate)
    seen = [Ceiling(one.rate_bits_per_s / 8, 1.0, one) for one in measured if one.clients <= nodes]
    return max([least, *seen], key=_rate)


def _ceiling(measured: NetMeasurement, nodes: int, servers: int) -> Ceiling:
    factor = max(1.0, nodes / measured.clients) * max(1.0, servers / measured.servers)
    return Ceiling(measured.rate_bits_per_s / 8 * factor, factor, measured)


def _rate(ceiling: Ceiling) -> float:
    return ceiling.rate_bytes_per_s


@dataclass(frozen=True)
class Limit:
    """The lowest ceiling on the path of a measurement, and how much of it the measurement has."""

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
        """True if the rate is more than the network can carry."""
        return self.share > 1 + TOLERANCE


def limits(run: LoadedRun) -> dict[Measurement, Limit]:
    """The limit of every measurement of a run that moved data; none without ceilings."""
    net = run.document.ceilings
    if net is None:
        return {}
    nodes = {
        tuple(place): count for *place, count in run.ranks.group_by(*KEY).agg(pl.col("node").n_unique()).iter_rows()
    }
    found = {}
    for row in run.measurements.filter(pl.col("bytes") > 0, pl.col("rate_bytes_per_s") > 0).iter_rows(named=True):
        place = Measurement.of(row)
        direction = DIRECTIONS.get(row["operation"])
        ceiling = lowest(net, nodes[place], direction) if direction and place in nodes else None
        if ceiling is not None:
            found[place] = Limit(ceiling, nodes[place], row["rate_bytes_per_s"])
    return found


def columns(run: LoadedRun) -> pl.DataFrame:
    """The limits as a table: `measurement.KEY`, nodes, ceiling (its name), ceiling_bytes_per_s, ceiling_share."""
    rows = [
        (*place, limit.nodes, limit.ceiling.name, limit.ceiling.rate_bytes_per_s, limit.share)
        for place, limit in limits(run).items()
    ]
    own = {"nodes": pl.Int64, "ceiling": pl.String, "ceiling_bytes_per_s": pl.Float64, "ceiling_share": pl.Float64}
    return pl.DataFrame(rows, schema={**dict.fromkeys(KEY, pl.String), **own}, orient="row")


def common(found: Mapping[Measurement, Limit], places: Iterable[Measurement]) -> Ceiling | None:
    """The lowest ceiling of several measurements, where it is the same for all of them."""
    ceilings = {found[place].ceiling.rate_bytes_per_s: found[place].ceiling for place in places if place in found}
    return next(iter(ceilings.values())) if len(ceilings) == 1 else None


def doubted(run: LoadedRun) -> LoadedRun:
    """The run with a doubt about each rate that is more than the network can carry.

    Such a rate is not that of what lies behind the network, so the doubt invalidates the measurement, unless a remark
    says that the ceiling itself may be too low. The stored tables stay as the engine wrote them, because ceilings may
    be given, or exchanged, when the report is made.
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
