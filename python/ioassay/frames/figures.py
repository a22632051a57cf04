"""Figures of stored runs in Python: the figures of reports, with a line or a panel for each of several runs.

Not: drawing (`ioassay.figures`), estimates (`ioassay.analysis`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from ioassay.analysis import axes, latency, rates, series
from ioassay.analysis.axes import Axis
from ioassay.analysis.names import Names
from ioassay.analysis.timeline import timeline
from ioassay.errors import UsageError
from ioassay.figures import latency as latency_figure
from ioassay.figures import rate_by_clients
from ioassay.figures import timeline as timeline_figure
from ioassay.figures.picture import Picture, draw
from ioassay.reports.run import pictures
from ioassay.reports.run.content import assemble
from ioassay.store.document import FigureEntry
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY
from ioassay.text.rate_units import UNITS, Unit, suited
from ioassay.text.slugs import slug
from ioassay.text.units import RateUnit

MOST_NAMED = 12
"""Names that an error lists."""


class Figures:
    """The figures of runs, which are known by their short names. A notebook shows a `Picture` by itself."""

    def __init__(self, runs: Mapping[str, LoadedRun]) -> None:
        self._runs = runs

    def rate(
        self,
        operation: str,
        *,
        workload: str | None = None,
        phase: str | None = None,
        unit: RateUnit | None = None,
        axis: Axis | None = None,
    ) -> Picture:
        """The rate of an operation against an axis, a line for each run and workload, a point per repetition.

        `workload` and `phase` choose one of several. `axis` is `clients`, `ranks` or a key that the study sweeps, and
        there is a line for each value of the other keys. Left out, `unit` is what the rates are read best in, and
        `axis` what tells the points of all runs apart. Raises `UsageError` for what no run has measured.

            runs.figures.rate("write", workload="sequential").save("write.svg")
        """
        chosen = {
            (run, name): phase_points
            for run, name, points in self._workloads(operation, workload)
            if not (phase_points := points if phase is None else points.filter(phase=phase)).is_empty()
        }
        if not chosen:
            raise _unknown("phase", phase, self._column("phase", operation=operation))
        shown = self._unit(chosen, operation, unit)
        titles = self._titles(chosen)
        axis = axis or _axis(chosen)
        names = Names(self._runs[next(iter(chosen))[0]].document)
        data = pl.concat(
            rate_by_clients.data(
                workload_points,
                FigureEntry(
                    title="", workloads=[name], operation=workload_points["operation"][0], phase=phase, unit=shown.name
                ),
                {name: titles[run, name]},
                axis,
                names.values,
            ).with_columns(pl.lit(run).alias("run"))
            for (run, name), workload_points in chosen.items()
        )
        every, data = data, data.filter(pl.col("rate").is_not_null(), pl.col(axes.column(axis)).is_not_null())
        if data.is_empty():
            raise UsageError(
                f"No {operation} has a rate in {shown.name} at a number of {axis}.", "Use another unit or axis."
            )
        show = partial(names.value, axis)
        title = f"{operation.capitalize()} rate" if workload is None else f"{workload}: {operation} rate"
        identifier = slug(f"rate-{operation}-{workload or 'all'}-{phase or 'all'}-{axis}", "rate")
        return draw(
            rate_by_clients.chart(data, operation, shown, {}, axis, show=show),
            identifier,
            title=title,
            data=data.rename({"rate": f"rate_{shown.name}", "median": f"median_{shown.name}"}),
            caption=" ".join(
                [*pictures.rate_words(data, axis), *_undrawn(every, data, f"{shown.name} at a number of {axis}")]
            ),
            description=f"{title} in {shown.name} against {axis}. {pictures.levels(data, shown.name, axis, show)}",
        )

    def latencies(self, operation: str, *, workload: str | None = None) -> Picture:
        """Percentiles of the time of one operation against the axis of the sweep, a panel for each run and series.

        Raises `UsageError` for what no run has measured, or has no latencies.

            runs.figures.latencies("read", workload="random")
        """
        chosen = {(run, name): points for run, name, points in self._workloads(operation, workload)}
        titles = self._titles(chosen)
        axis = _axis(chosen)
        names = Names(self._runs[next(iter(chosen))[0]].document)
        parts, panels = [], []
        for run, name in chosen:
            loaded = self._runs[run]
            points = rates.of(
                latency.by_sweep_point(loaded.measurements, loaded.latencies, loaded.ranks), name, operation
            )
            for series_key in series.of_workload(loaded.document, name):
                series_points = rates.of(points, name, series_key.operation, series_key.phase, series_key.job)
                if not series_points.is_empty():
                    panels.append(f"{titles[run, name]}, {series.label(series_key)}")
                    parts.append(
                        latency_figure.data(series_points, axis).with_columns(pl.lit(panels[-1]).alias("series"))
                    )
        if not parts:
            raise UsageError(f"No {operation} has latencies.", "Use runs of ioassay; few other tools print latencies.")
        data = pl.concat(parts)
        if data.select("series", "percentile", axes.column(axis)).is_duplicated().any():
            raise UsageError(f"At one number of {axis} there are several points.", "Use a workload without a survey.")
        identifier = slug(f"latency-{operation}-{workload or 'all'}", "latency")
        return draw(
            latency_figure.chart(data, panels, axis, partial(names.value, axis)),
            identifier,
            title=f"Latency of one {operation}" if workload is None else f"{workload}: latency of one {operation}",
            data=data,
            caption=pictures.LATENCY_WORDS,
            description=f"Latency percentiles against {axis}, a panel for each run and phase.",
        )

    def timeline(self, case: str, phase: str, *, operation: str | None = None) -> Picture:
        """The rate of one measurement second by second, in all and of each rank, a panel for each run that has it.

        `operation` chooses one of a mix. Raises `UsageError` for what no run has measured, or has no samples.

            runs.figures.timeline("sequential.c002.r1", "write")
        """
        measured = list(self._measured(case, phase, operation))
        if not measured:
            cases, phases = self._column("case"), self._column("phase", case=case)
            raise _unknown("phase", phase, phases) if case in cases else _unknown("case", case, cases)
        lines = []
        for run, row in measured:
            place = {name: row[name] for name in KEY}
            samples, ranks = self._runs[run].samples.filter(**place), self._runs[run].ranks.filter(**place)
            interval = row["sample_interval_ns"]
            if interval and (line := timeline(samples, ranks, interval, row["duration_ns"])):
                names = Names(self._runs[run].document)
                what = names.measurement(row["phase"], row["job"], row["operation"])
                panel = timeline_figure.Panel(run if len(self._runs) > 1 else what, line)
                lines.append((run, row["repetition"], panel))
        if not lines:
            raise UsageError(f"{case}, {phase} has no samples.", "Use runs of ioassay; few other tools print samples.")
        if len({panel.timeline.counts for _, _, panel in lines}) > 1:
            raise UsageError(f"{case}, {phase} counts bytes and operations.", "Use one operation.")
        panels = [panel for _, _, panel in lines]
        identifier = slug(f"timeline-{case}-{phase}", "timeline")
        return draw(
            timeline_figure.chart(panels),
            identifier,
            title=f"{case}: {phase} over time",
            data=timeline_figure.data(lines).rename({"point": "run"}),
            caption=pictures.timeline_caption(panels),
            description=f"Rate over time of {case}, {phase}, a panel for each run.",
        )

    def of_studies(self) -> list[Picture]:
        """The figures that the study of each run asks for, as its report has them."""
        return [
            replace(picture, title=f"{run}: {picture.title}" if len(self._runs) > 1 else picture.title)
            for run, loaded in self._runs.items()
            for picture in pictures.rates(assemble(loaded))
        ]

    def _workloads(self, operation: str, workload: str | None) -> Iterator[tuple[str, str, pl.DataFrame]]:
        """(run, workload, its points of this operation) of each run. Raises `UsageError` where there is none."""
        operations = self._column("operation")
        if operation not in operations:
            raise _unknown("operation", operation, operations)
        workloads = self._column("workload", operation=operation)
        if workload is not None and workload not in workloads:
            raise _unknown("workload", workload, workloads)
        for run, loaded in self._runs.items():
            points = rates.points(loaded.measurements)
            for name in loaded.document.workloads if workload is None else [workload]:
                operation_points = rates.of(points, name, operation)
                if not operation_points.is_empty():
                    yield run, name, operation_points

    def _measured(self, case: str, phase: str, operation: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
        for run, loaded in self._runs.items():
            rows = loaded.measurements.filter(case=case, phase=phase)
            for row in rows.iter_rows(named=True):
                if operation in (None, row["operation"]):
                    yield run, row

    def _unit(self, chosen: Mapping[tuple[str, str], pl.DataFrame], operation: str, asked: RateUnit | None) -> Unit:
        if asked is not None:
            if asked not in UNITS:
                raise _unknown("unit", asked, UNITS, "is not known")
            return UNITS[asked]
        (run, name), first = next(iter(chosen.items()))
        column = rates.column(self._runs[run].document, first, name)
        return suited(column, operation, pl.concat(frame[column] for frame in chosen.values()).drop_nulls().to_list())

    def _titles(self, chosen: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """A title for each run's workload, of the parts in which they differ."""
        chosen = list(chosen)
        one_workload = len({name for _, name in chosen}) == 1
        titles = {}
        for run, name in chosen:
            title = Names(self._runs[run].document).workload(name)
            titles[run, name] = title if len(self._runs) == 1 else run if one_workload else f"{run}: {title}"
        return titles

    def _column(self, column: str, **where: str) -> list[str]:
        """The values of a column of all measurements, of those with these values in others."""
        columns = (loaded.measurements.filter(**where)[column] for loaded in self._runs.values())
        return list(dict.fromkeys(value for values in columns for value in values))


def _axis(chosen: Mapping[tuple[str, str], pl.DataFrame]) -> Axis:
    """The axis of all frames: the only key that they sweep, else clients if all state them, else ranks."""
    frames = list(chosen.values())
    swept = {axes.axis(frame) for frame in frames}
    if len(swept) == 1 and swept.isdisjoint(axes.COUNTED):
        return swept.pop()
    by_clients = swept == {"clients"} and all(frame["clients"].null_count() == 0 for frame in frames)
    return "clients" if by_clients else "ranks"


def _undrawn(every: pl.DataFrame, drawn: pl.DataFrame, what: str) -> list[str]:
    """The sentence about lines that are not in the figure, if there are any."""
    lines = [line for line in every["series"].unique(maintain_order=True) if line not in drawn["series"]]
    return [f"Not drawn, because their rate in {what} is unknown: {', '.join(lines)}."] if lines else []


def _unknown(what: str, name: object, known: Iterable[str], how: str = "was not measured in any run") -> UsageError:
    names = list(known)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return UsageError(f'The {what} "{name}" {how}.', f"Use one of {', '.join(names[:MOST_NAMED])}{more}.")
