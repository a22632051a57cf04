"""The figures of training: utilisation against accelerators, wait per step, epochs with what the page cache served.

    utilisation   a point per repetition, by its worst epoch, by our definition and by DLIO's; the medians joined; the
                  goal dashed
    waits         share of the steps by how long each waited for its batch, a line per epoch
    epochs        of each epoch the utilisation, and the share of what it read that was in the page cache before

Panels are numbers of accelerators, or other cases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from ioassay.figures import theme
from ioassay.figures.latency import TICKS, decades
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative, values

WIDTH, HEIGHT = 420, 250
PANEL_WIDTH, PANEL_HEIGHT = 236, 150

PER_DECADE = 4
"""Bins of waits in each power of ten."""

DEFINITIONS = ("ioassay", "DLIO repository", "DLIO release")

_SHARES = [0, 20, 40, 60, 80, 100]
_LEGEND = {"title": None, "orient": "bottom", "direction": "horizontal", "columns": 4}


def utilisation(data: pl.DataFrame, goal: float) -> Specification:
    """`data` has a row for each repetition and definition: accelerators, definition (of `DEFINITIONS`), percent, median
    (of the repetitions, in percent). `goal` is a share.
    """
    x = theme.sweep_axis("accelerators", sorted(set(data["accelerators"])))
    scale = {"domain": [0, 104], "nice": False}
    axis = {"values": _SHARES}
    names = [name for name in DEFINITIONS if name in set(data["definition"])]
    colour, shape = (
        nominal("definition", scale={"domain": names, "range": looks[: len(names)]}, legend=_LEGEND)
        for looks in (theme.SERIES_COLOURS, theme.SERIES_SHAPES)
    )
    medians = data.unique(["accelerators", "definition"], maintain_order=True)
    point = {"x": x, "y": quantitative("percent", title="Utilisation (%)", scale=scale, axis=axis)}
    median = {"x": x, "y": quantitative("median", title="Utilisation (%)", scale=scale, axis=axis), "color": colour}
    layers = [
        *_goal(goal, "Utilisation (%)", scale, WIDTH),
        marks("line", medians, median, strokeWidth=1.8),
        {
            "name": "repetitions",
            **marks("point", data, {**point, "color": colour, "shape": shape}, filled=True, size=46, opacity=0.85),
        },
    ]
    return {"layer": layers, "width": WIDTH, "height": HEIGHT}


def _goal(goal: float, title: str | None, scale: Specification, width: int) -> list[Specification]:
    """A dashed line with its name at the right; `title` and `scale` are those of the axis."""
    row = [{"goal": 100 * goal, "name": f"goal {100 * goal:.3g} %"}]
    y = quantitative("goal", title=title, scale=scale)
    name = {"x": {"value": width + 6}, "y": y, "text": nominal("name")}
    return [
        marks("rule", row, {"y": y}, strokeWidth=1.2, strokeDash=[5, 3], color=theme.CEILING),
        marks("text", row, name, align="left", fontSize=10, color=theme.CEILING),
    ]


def wait_bins(latencies: pl.DataFrame) -> pl.DataFrame:
    """Histograms of waits in bins of equal width on a logarithmic axis, `PER_DECADE` in each decade.

    `latencies` has the buckets of steps: panel, epoch, highest_ns, count. The result has panel, epoch, wait_ns (where
    the bin begins) and percent (of the steps of its epoch), and an empty bin on both sides of all.
    """
    if latencies.is_empty():
        schema = {"panel": pl.String, "epoch": pl.String, "wait_ns": pl.Float64, "percent": pl.Float64}
        return pl.DataFrame(schema=schema)
    # A power of ten opens a bin, however its logarithm is rounded.
    place = (pl.col("highest_ns").clip(lower_bound=1).log(10) * PER_DECADE + 1e-9).floor().cast(pl.Int64)
    binned = latencies.with_columns(place.alias("bin"))
    lowest, highest = int(binned["bin"].min() or 0), int(binned["bin"].max() or 0)  # type: ignore[arg-type]
    bins = pl.DataFrame({"bin": range(lowest - 1, highest + 2)})
    counted = binned.group_by("panel", "epoch", "bin", maintain_order=True).agg(pl.col("count").sum())
    return (
        latencies.select("panel", "epoch")
        .unique(maintain_order=True)
        .join(bins, how="cross")
        .join(counted, on=["panel", "epoch", "bin"], how="left", maintain_order="left")
        .with_columns(pl.col("count").fill_null(0))
        .select(
            "panel",
            "epoch",
            (10.0 ** (pl.col("bin") / PER_DECADE)).alias("wait_ns"),
            (100 * pl.col("count") / pl.col("count").sum().over("panel", "epoch")).alias("percent"),
        )
    )


def waits(data: pl.DataFrame) -> Specification:
    """A panel for each number of accelerators. `data` is what `wait_bins` returns, not empty."""
    epochs = data["epoch"].unique(maintain_order=True).to_list()
    powers = decades(data["wait_ns"].floor().cast(pl.Int64))
    x = quantitative(
        "wait_ns",
        title="Latency: wait of a step",
        scale={"type": "log", "domain": [powers[0], powers[-1]], "nice": False},
        axis={"labelExpr": TICKS, "values": powers[:: 1 + len(powers) // 6]},
    )
    highest = math.ceil(max(data["percent"]) / 20) * 20
    colour = nominal(
        "epoch",
        scale={"domain": epochs, "range": _cycled(theme.SERIES_COLOURS, len(epochs))},
        legend=_LEGEND if len(epochs) > 1 else None,
    )
    panels: list[Specification] = []
    for (panel,), rows in data.group_by("panel", maintain_order=True):
        y = quantitative(
            "percent",
            title=None if len(panels) % 2 else "Steps (%)",
            scale={"domain": [0, highest], "nice": False},
            axis={"tickCount": 5},
        )
        line = {"x": x, "y": y, "color": colour}
        layer = [marks("line", None, line, strokeWidth=1.6, interpolate="step-after")]
        panels.append(_panel(str(panel), rows, layer))
    return {"concat": panels, "columns": 2, "spacing": 24}


def epochs(data: pl.DataFrame, goal: float) -> Specification:
    """A panel for each number of accelerators. `data` has a row for each epoch: panel, epoch (a name), utilisation,
    cached (both in percent; `cached` null where it was not measured). `goal` is a share.
    """
    scale = {"domain": [0, 104], "nice": False}
    looks = [theme.LIGHT_BLUE, theme.VERMILION]
    names = ["in the page cache before", "utilisation"]

    def colour(name: str) -> Specification:
        legend = {**_LEGEND, "symbolType": "square", "symbolOpacity": 1}
        return {"datum": name, "type": "nominal", "scale": {"domain": names, "range": looks}, "legend": legend}

    panels: list[Specification] = []
    for (panel,), rows in data.group_by("panel", maintain_order=True):
        x = nominal(
            "epoch",
            title=None,
            sort=rows["epoch"].to_list(),
            axis={"labelAngle": 0, "labelOverlap": True, "grid": False},
        )
        title = None if len(panels) % 2 else "Share (%)"
        cached, busy = (
            quantitative(field, title=title, scale=scale, axis={"values": _SHARES})
            for field in ("cached", "utilisation")
        )
        layer = [
            marks("bar", rows.drop_nulls("cached"), {"x": x, "y": cached, "color": colour(names[0])}, size=18),
            *_goal(goal, title, scale, PANEL_WIDTH),
            marks("point", rows, {"x": x, "y": busy, "color": colour(names[1])}, filled=True, size=56, opacity=1),
        ]
        panels.append(_panel(str(panel), rows, layer))
    return {"concat": panels, "columns": 2, "spacing": 60}


def _panel(title: str, rows: pl.DataFrame, layer: Sequence[Specification]) -> Specification:
    return {"title": title, "data": values(rows), "layer": [*layer], "width": PANEL_WIDTH, "height": PANEL_HEIGHT}


def _cycled(looks: Sequence[str], count: int) -> list[str]:
    return [looks[index % len(looks)] for index in range(count)]
