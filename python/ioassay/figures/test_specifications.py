"""The specification of every figure is one that Vega-Lite understands, down to the last of its properties.

Vega-Lite passes over a property that it does not know, so a slip of the pen would only show as a figure that looks
different. Here each value, made another, has to change the Vega that one of the figures becomes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import vl_convert

from ioassay.analysis.saturation import Cell, Saturation
from ioassay.analysis.timeline import Timeline
from ioassay.analysis.watch.timeline import RunTimeline
from ioassay.figures import (
    checkpoints,
    io500_by_ranks,
    io_path,
    latency,
    rate_by_clients,
    rate_by_time,
    servers,
    survey,
    sweep,
    theme,
    timeline,
    training,
)
from ioassay.figures.profile import heat, latencies, over_time, overlaid, sizes, workflow
from ioassay.figures.sizing import ceilings, front, racks, sensitivity
from ioassay.figures.vega_lite import Specification
from ioassay.testing.io_path_nodes import lustre_client, oss
from ioassay.testing.nightly_runs import FIRST
from ioassay.text.rate_units import UNITS
from ioassay.tuning.path import io_paths
from ioassay.tuning.path.rows import rows as path_rows

UNIT = UNITS["GB/s"]


def _survey() -> Specification:
    cells = [Cell(files, ranks, 1, 1e9 * ranks, 0.9e9, 4e9, 3, ()) for files in (1, 2) for ranks in (1, 2)]
    saturation = Saturation(cells[0], cells[1], 0.05, None, (cells[0],), at_the_edge=False)
    return survey.chart(survey.data(cells, UNIT), "write", UNIT, saturation)


def _rates() -> Iterator[Specification]:
    rows = [
        {
            "series": series,
            "clients": clients,
            "valid": clients < 4,
            "rate": 1.0 * clients,
            "median": 1.0 * clients if clients < 4 else None,
        }
        for series in ("v", "w")
        for clients in (1, 2, 4)
    ]
    more: dict[str, Any] = {
        "ceilings": pl.DataFrame({"clients": [1, 2], "ceiling": [3.0, 6.0], "name": ["network", "network"]}),
        "laws": pl.DataFrame({"series": ["v", "v"], "at": [1.0, 4.0], "law": [1.0, 3.5]}),
        "levels": {"published": 5.0},
        "bands": pl.DataFrame({"series": ["v", "v"], "clients": [1, 2], "low": [0.5, 1.0], "high": [1.5, 3.0]}),
    }
    yield rate_by_clients.chart(pl.DataFrame(rows), "write", UNIT, {("v", 1): "too short"}, **more)
    words = pl.DataFrame(rows).with_columns(pl.format("{} clients", "clients").alias("transfer size"))
    yield rate_by_clients.chart(words, "write", UNIT, {}, "transfer size")


def _rate_by_time() -> Specification:
    rows = [
        {"point": point, "started": FIRST + timedelta(days=index), "rate": 1.0, "low": 0.9, "high": 1.1}
        for point in ("a", "b")
        for index in range(4)
    ]
    return rate_by_time.chart(pl.DataFrame(rows), [FIRST + timedelta(days=1.5)], "read", UNIT)


def _latency() -> Specification:
    rows = [
        {"series": "write", "clients": clients, "percentile": percentile, "latency_ns": 1000 * clients}
        for clients in (0, 1, 2)
        for percentile in latency.LABELS.values()
    ]
    return latency.chart(pl.DataFrame(rows), ["write"])


def _timelines() -> Iterator[Specification]:
    steps = pl.DataFrame({"start_s": [0.0, 1.0], "end_s": [1.0, 2.0]})
    total = steps.with_columns(rate=pl.lit(2e9))
    ranks = pl.concat(steps.with_columns(rank=pl.lit(rank), rate=pl.lit(1e9)) for rank in (0, 1))
    band = steps.with_columns(lowest=pl.lit(1e9), median=pl.lit(1.5e9), highest=pl.lit(2e9))
    for line in (
        Timeline(total, ranks, band.clear(), 2.0, 1.0, 1),
        Timeline(total, ranks.clear(), band, 2.0, 1.0, 1),
    ):
        yield timeline.chart([timeline.Panel("8 clients", line, 3e9)])


def _servers() -> Specification:
    clients = pl.DataFrame({"start_s": [0, 1], "write": [1e9, 1e9], "read": [0.0, 1e9]})
    amounts = {"disk_write_bytes": 1e9, "disk_read_bytes": 1e9, "received_bytes": 1e9, "sent_bytes": 1e9}
    hosts = pl.DataFrame(
        {"host": ["oss1", "oss1"], "start_s": [0, 1], **{name: [amount, amount] for name, amount in amounts.items()}}
    )
    phases = pl.DataFrame({"start_s": [0.0], "end_s": [2.0], "moves": ["write"]})
    counted = pl.DataFrame(schema={"host": pl.String, "start_s": pl.Int64, "write": pl.Float64, "read": pl.Float64})
    return servers.chart(RunTimeline(clients, hosts, counted, phases, 1, 2))


def _tuning() -> Iterator[Specification]:
    sides = [
        {
            "trial": "a",
            "side": side,
            "median": 1.0,
            "low": 0.9,
            "high": 1.1,
            "gain": "×1.2",
            "series": series,
            "clients": clients,
        }
        for clients in (1, 2)
        for side in sweep.SIDES
        for series in ("v", "w")
    ]
    yield sweep.trials(pl.DataFrame(sides), "Rate (GB/s)")
    yield sweep.points(pl.DataFrame(sides), "clients", "Rate (GB/s)", column="clients")
    curve = [{"series": "write", "ranks": ranks, "median": 1.0, "low": 0.9, "high": 1.1} for ranks in (1, 2)]
    yield io500_by_ranks.easy(pl.DataFrame(curve), pl.DataFrame({"ceiling": [2.0]}), "GiB/s", 2)
    scores = [{**row, "quantity": quantity} for row in curve for quantity in io500_by_ranks.QUANTITIES]
    yield io500_by_ranks.scores(pl.DataFrame(scores), 2)
    (path,) = io_paths([lustre_client(), oss()], None)
    yield io_path.chart(path_rows(path))


def _training() -> Iterator[Specification]:
    utilisations = [
        {"accelerators": count, "definition": definition, "percent": 90.0 - count, "median": 90.0 - count}
        for count in (1, 2, 4)
        for definition in training.DEFINITIONS
    ]
    yield training.utilisation(pl.DataFrame(utilisations), 0.9)
    buckets = [
        {"panel": panel, "epoch": epoch, "highest_ns": 1000 * number, "count": number}
        for panel in ("1 accelerator", "2 accelerators")
        for epoch in ("epoch-1", "epoch-2")
        for number in (1, 20, 300)
    ]
    yield training.waits(training.wait_bins(pl.DataFrame(buckets)))
    shares = [
        {"panel": panel, "epoch": epoch, "utilisation": 90.0, "cached": cached}
        for panel in ("1 accelerator", "2 accelerators")
        for epoch, cached in (("epoch-1", 0.0), ("epoch-2", 40.0), ("epoch-3", None))
    ]
    yield training.epochs(pl.DataFrame(shares), 0.9)
    times = [{"rank": rank, "median_s": 0.3, "lowest_s": 0.2, "highest_s": 0.4 + rank} for rank in range(3)]
    yield checkpoints.by_rank(pl.DataFrame(times), 2.4)


def _profile() -> Iterator[Specification]:
    cells = pl.DataFrame({"row": [0, 1], "start_s": [0.0, 1.0], "bytes_per_s": [1e9, 2e9], "busy": [0.5, 0.9]})
    yield heat.chart(cells, 1.0, 2.0, UNIT, rows=2, title="Process")
    calls = [
        {"operation": operation, "percentile": percentile, "latency_ns": 1000 * number}
        for operation in ("read", "write")
        for number, percentile in enumerate(latency.LABELS.values(), start=1)
    ]
    yield latencies.chart(pl.DataFrame(calls))
    lines = pl.DataFrame({"start_s": [0.0, 1.0], "line": ["read", "read"], "rate": [1.0, 2.0]})
    bands = pl.DataFrame(
        {"start_s": [0.0, 1.0], "line": ["read"] * 2, "least_rate": [0.0, 1.0], "most_rate": [2.0, 3.0]}
    )
    yield over_time.chart(lines, 1.0, "Rate (GB/s)", bands)
    panel = pl.DataFrame({"series": ["a", "b"], "start_s": [0.0, 1.0], "rate": [1.0, 2.0]})
    yield overlaid.over_time([overlaid.Panel("Rate (GB/s)", panel)] * 2, ["a", "b"])
    shares = pl.DataFrame({"size_bytes": [1024.0, 4096.0], "share": [0.5, 0.7], "series": ["a", "b"]})
    yield overlaid.sizes([overlaid.Panel("Reads", shares)] * 2, ["a", "b"])
    requests = [
        {"direction": direction, "begin_bytes": 0, "size": "0 B", "calls": 10} for direction in ("read", "write")
    ]
    yield sizes.chart(pl.DataFrame(requests))
    boxes = [workflow.Box(0, "driver", "1 s"), workflow.Box(1, "workers", "2 s")]
    yield workflow.chart(boxes, [workflow.Arrow(0, 1, 9.0, "9 B", False), workflow.Arrow(1, 0, 3.0, "3 B", True)])


def _sizing() -> Iterator[Specification]:
    places = {"panel": "Writes (GB/s)", "rate": 1.0, "label": "1 GB/s"}
    roles = enumerate((ceilings.LIMITS, ceilings.OTHERS))
    yield ceilings.chart(pl.DataFrame([{**places, "place": f"drives {index}", "role": role} for index, role in roles]))
    front_rows = pl.DataFrame({"usable_pb": [1.0, 2.0], "rate": [10.0, 20.0], "cost": [1.0, 2.0], "label": ["A", "B"]})
    yield front.chart(front_rows, "Write rate (GB/s)", "Cost (M€)", (1.5, 15.0))
    sides = ("lower", "higher")
    moved = [
        {"figure": figure, "side": side, "cost": cost, "label": "1.2 M€"}
        for figure, costs in (("price", (0.8, 1.2)), ("rate", (0.9, None)))
        for side, cost in zip(sides, costs, strict=True)
    ]
    yield sensitivity.chart(pl.DataFrame(moved), 1.0, "Cost (M€)", sides)
    rack = racks.Rack("Rack 1", 12, (racks.Box(1, 12, "drives", "md3460"),), (racks.Group(1, 12, 1, "brick"),))
    yield racks.chart([rack])


@cache
def _figures() -> list[Specification]:
    """One or more of each file of figures, with everything that it can show."""
    return [
        *(_survey(), _rate_by_time(), _latency(), _servers()),
        *(*_rates(), *_timelines(), *_tuning(), *_training(), *_profile(), *_sizing()),
    ]


def _vega(figure: Specification) -> Any:
    return vl_convert.vegalite_to_vega({**figure, "config": theme.CONFIG})


def test_vega_lite_warns_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    _vega({"data": {"values": []}, "mark": "bar", "encoding": {"nonsense": {"field": "x"}}})
    assert "nonsense" in caplog.text
    caplog.clear()
    for figure in _figures():
        assert _vega(figure)["marks"]
        assert caplog.text == ""


def test_each_value_in_a_figure_changes_what_is_drawn() -> None:
    idle: dict[tuple[str, ...], bool] = {}
    for figure in _figures():
        whole = _vega(figure)
        for path in _paths(figure, ()):
            kind = _kind(path)
            if idle.get(kind, True):
                idle[kind] = _is_idle(path, figure, whole)
    assert {kind for kind, is_idle in idle.items() if is_idle} == set()


def _is_idle(path: tuple[str | int, ...], figure: Specification, whole: object) -> bool:
    """Whether Vega-Lite makes the same of the figure whatever the property is."""
    try:
        return bool(_vega(_with_nonsense(figure, path)) == whole)
    except ValueError:
        return False


def _paths(part: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """The way to each value, but for those of data."""
    match part:
        case dict():
            for key, value in part.items():
                if key != "data":
                    yield from _paths(value, (*path, key))
        case [{}, *_]:
            for index, value in enumerate(part):
                yield from _paths(value, (*path, index))
        case _:
            yield path


def _kind(path: tuple[str | int, ...]) -> tuple[str, ...]:
    """The property and what it is one of: `("axis", "grid")`."""
    names = [step for step in path if isinstance(step, str)]
    return tuple(names[-2:])


def _with_nonsense(figure: Specification, path: tuple[str | int, ...]) -> Specification:
    other = copy.deepcopy(figure)
    part: Any = other
    for step in path[:-1]:
        part = part[step]
    value = part[path[-1]]
    part[path[-1]] = not value if isinstance(value, bool) else "nonsense"
    return other


def test_every_file_that_draws_marks_is_tried_here() -> None:
    places = Path(theme.__file__).parent.rglob("*.py")
    drawing = {
        path.stem for path in places if "vega_lite import" in path.read_text() and not path.stem.startswith("test_")
    }
    tested = {
        name for name, value in globals().items() if getattr(value, "__name__", "").startswith("ioassay.figures.")
    }
    assert drawing - tested == {"picture", "render"}
