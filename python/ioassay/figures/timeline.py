"""Rate over time, small multiples: a panel per phase, the total above and the ranks below.

The two halves of a panel have axes of their own, since one of many ranks moves little of the total. Totals
share their scale over all panels of the figure, so that client counts compare at a glance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from ioassay.analysis.timeline import Counts, Timeline
from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative, values
from ioassay.text.rate_units import Unit, suited

COLUMNS = 4
SPACING = 14
NARROWEST, WIDEST = 118, 380
"""Pixels of a panel: where there are few, they have the room of a whole row."""

TOTAL_HEIGHT, RANKS_HEIGHT = 70, 66

MOST_ABOVE = 3.0
"""A ceiling above this multiple of the highest total is left out: it would flatten the lines."""

HEADROOM = 1.03
"""Keeps the peak of a line inside the edge of its panel."""


@dataclass(frozen=True)
class Panel:
    """The time line of one phase, under its title, for example `8 clients`."""

    title: str
    timeline: Timeline
    ceiling: float | None = None
    """The lowest ceiling on its path, in what its time line counts per second."""


def chart(panels: Sequence[Panel]) -> Specification:
    """The figure. `panels` is not empty, and all of them count the same."""
    ceilings = [panel.ceiling if is_drawn(panel, panels) else None for panel in panels]
    highest_total = max(_highest_total(panels), *(ceiling or 0.0 for ceiling in ceilings))
    counts = panels[0].timeline.counts
    total_unit = _unit(highest_total, counts)
    rank_unit = _unit(max(_highest(_per_rank(panel.timeline)) for panel in panels), counts)
    width = min(WIDEST, COLUMNS * (NARROWEST + SPACING) // min(len(panels), COLUMNS) - SPACING)
    drawn = []
    for index, panel in enumerate(panels):
        first = index % COLUMNS == 0
        total_title = f"total, {total_unit.name}" if first else None
        total = _total(
            panel, total_unit, highest_total / total_unit.divisor, total_title, ceiling=ceilings[index], width=width
        )
        ranks = _ranks(panel, rank_unit, f"per rank, {rank_unit.name}" if first else None, width)
        drawn.append({"vconcat": [total, ranks], "spacing": 10})
    return {"concat": drawn, "columns": COLUMNS, "spacing": SPACING}


def data(lines: Sequence[tuple[str, int, Panel]]) -> pl.DataFrame:
    """The data of the figure, from (point of the sweep, repetition, panel) of each panel: a row per panel and step, a
    column per line, rates with their unit.
    """
    parts = []
    for point, repetition, panel in lines:
        line = panel.timeline
        part = line.total.rename({"rate": "total"})
        others = (
            [line.band.drop("end_s")]
            if not line.band.is_empty()
            else [
                rows.select("start_s", pl.col("rate").alias(f"rank_{rank}"))
                for (rank,), rows in line.ranks.group_by("rank", maintain_order=True)
            ]
        )
        for other in others:
            part = part.join(other, on="start_s", how="left")
        rates = pl.exclude("start_s", "end_s").round(0).cast(pl.Int64)
        parts.append(
            part.select(
                pl.lit(point).alias("point"),
                pl.lit(repetition).alias("repetition"),
                pl.col("start_s", "end_s").round(6),
                rates.name.suffix(f"_{line.counts}_per_s"),
            )
        )
    return pl.concat(parts, how="diagonal")


def is_drawn(panel: Panel, panels: Sequence[Panel]) -> bool:
    """True if the figure of `panels` has the ceiling of this one."""
    return panel.ceiling is not None and panel.ceiling <= MOST_ABOVE * _highest_total(panels)


def _highest_total(panels: Sequence[Panel]) -> float:
    return max(_highest(panel.timeline.total["rate"]) for panel in panels)


def _total(
    panel: Panel, unit: Unit, highest: float, title: str | None, *, ceiling: float | None, width: int
) -> Specification:
    y = _rate("rate", title, highest)
    steps = _stairs(panel.timeline.total, unit, ["rate"])
    point = {"x": _time(panel, labels=False), "y": y}
    drawn = marks("line", steps, point, interpolate="step-after", strokeWidth=1.3, color=theme.BLUE)
    if ceiling is not None:
        ceiling_row = [{"rate": ceiling / unit.divisor}]
        rule = marks("rule", ceiling_row, {"y": y}, strokeWidth=1.1, strokeDash=[5, 3], color=theme.CEILING)
        drawn = {"layer": [rule, drawn]}
    return {**drawn, "width": width, "height": TOTAL_HEIGHT, "title": panel.title}


def _ranks(panel: Panel, unit: Unit, title: str | None, width: int) -> Specification:
    highest = _highest(_per_rank(panel.timeline)) / unit.divisor
    time = _time(panel, labels=True)
    if panel.timeline.band.is_empty():
        colour = nominal("rank", legend=None, scale={"range": theme.SERIES_COLOURS})
        point = {"x": time, "y": _rate("rate", title, highest), "color": colour}
        steps = _lines(panel.timeline.ranks, unit)
        drawn = marks("line", steps, point, interpolate="step-after", strokeWidth=1, opacity=0.85)
    else:
        band = {"x": time, "y": _rate("lowest", title, highest), "y2": {"field": "highest"}}
        median = {"x": time, "y": _rate("median", title, highest)}
        drawn = {
            "data": values(_stairs(panel.timeline.band, unit, ["lowest", "median", "highest"])),
            "layer": [
                marks("area", None, band, interpolate="step-after", color=theme.SKY, opacity=0.4),
                marks("line", None, median, interpolate="step-after", strokeWidth=1.2, color=theme.VERMILION),
            ],
        }
    return {**drawn, "width": width, "height": RANKS_HEIGHT}


def _time(panel: Panel, *, labels: bool) -> Specification:
    return quantitative(
        "time_s",
        title="Time (s)" if labels else None,
        scale={"domain": [0, panel.timeline.duration_s], "nice": False},
        axis={"tickCount": 3, "grid": False, "labels": labels, "labelFlush": False},
    )


def _rate(column: str, title: str | None, highest: float) -> Specification:
    """The axis is written out for every panel: panels of a grid share a scale only on request."""
    scale = {"domain": [0, HEADROOM * highest], "nice": True}
    return quantitative(column, title=title, scale=scale, axis={"tickCount": 3})


def _lines(ranks: pl.DataFrame, unit: Unit) -> pl.DataFrame:
    return pl.concat(
        _stairs(rows, unit, ["rate"]).with_columns(pl.lit(rank).alias("rank"))
        for (rank,), rows in ranks.group_by("rank", maintain_order=True)
    )


def _stairs(frame: pl.DataFrame, unit: Unit, columns: list[str]) -> pl.DataFrame:
    """A point at every step's start and one at the end of the last, so that stairs cover it too."""
    starts = frame.select(pl.col("start_s").alias("time_s"), *columns)
    end = frame.tail(1).select(pl.col("end_s").alias("time_s"), *columns)
    return pl.concat([starts, end]).with_columns(pl.col(name) / unit.divisor for name in columns)


def _per_rank(timeline: Timeline) -> pl.Series:
    return timeline.ranks["rate"] if timeline.band.is_empty() else timeline.band["highest"]


def _highest(rates: pl.Series) -> float:
    highest = rates.max()
    return highest if isinstance(highest, float) and highest > 0 else 1.0


def _unit(highest: float, counts: Counts) -> Unit:
    return suited("rate_operations_per_s" if counts == "operations" else "rate_bytes_per_s", "create", [highest])
