"""The pictures of a report: which there are, what each is called, and the words around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

import polars as pl

from ioassay.analysis import axes, latency, series
from ioassay.analysis import rates as analysis
from ioassay.analysis.axes import Axis, Value
from ioassay.analysis.rates import typical
from ioassay.analysis.series import Series
from ioassay.analysis.timeline import MOST_LINES, timeline
from ioassay.analysis.watch.timeline import timeline as run_timeline
from ioassay.figures import latency as latency_figure
from ioassay.figures import rate_by_clients
from ioassay.figures import servers as servers_figure
from ioassay.figures import survey as survey_figure
from ioassay.figures import timeline as timeline_figure
from ioassay.figures.picture import Picture, draw
from ioassay.reports.compare.pictures import pictures as of_comparison
from ioassay.reports.run import caveats, checkpoint_pictures, training_pictures
from ioassay.reports.run.content import Content
from ioassay.reports.run.surveys import Grid, Survey
from ioassay.reports.run.training_pictures import TrainingPictures
from ioassay.store.document import FigureEntry
from ioassay.store.measurement import KEY, Measurement
from ioassay.text import format
from ioassay.text.rate_units import UNITS
from ioassay.text.slugs import slug, unique
from ioassay.text.units import format_count

MOST_PANELS = 12
"""Panels in one figure of time lines, so that it fits on a page of paper."""

MOST_TIMELINES = 120
"""A full report of a run that measured more shows one repetition of each point over time, as a short one does: each
takes 30 KB of the page.
"""

FIRST = 2
"""Figures in the summary."""

LATENCY_WORDS = "Valid repetitions together. A percentile without an operation beyond it is left out."
"""The caption of every figure of latencies."""


@dataclass(frozen=True)
class Pictures:
    """Every picture of a report, by its section."""

    training: TrainingPictures
    checkpoints: list[Picture]
    rates: list[Picture]
    surveys: list[list[Picture]]
    latencies: dict[str, Picture]
    timelines: dict[str, list[Picture]]
    compared: list[Picture | None]
    """A picture for each series of the comparison, where there is one; `None` of a series that cannot be drawn."""
    servers: Picture | None
    """The figure of hosts that were watched."""

    @property
    def of_summary(self) -> list[Picture]:
        """The figures of the summary: utilisation against accelerators, rates over the swept axis, or without a sweep
        over time.
        """
        return first(chain(self.training.utilisation, self.rates)) or first(
            chain.from_iterable(self.timelines.values())
        )

    @property
    def further_training(self) -> list[Picture]:
        """The figures of training that are not in the summary."""
        return [picture for picture in self.training if picture not in self.of_summary]

    @property
    def further_rates(self) -> list[Picture]:
        """The figures of rates that are not in the summary."""
        return [picture for picture in self.rates if picture not in self.of_summary]

    def further_timelines(self, workload: str) -> list[Picture]:
        """The time lines of a workload that are not in the summary."""
        return [picture for picture in self.timelines[workload] if picture not in self.of_summary]

    def __iter__(self) -> Iterator[Picture]:
        """The pictures that were drawn, or that failed with a reason, in the order of the report."""
        every = chain(
            self.training,
            self.checkpoints,
            self.rates,
            *self.surveys,
            self.latencies.values(),
            [self.servers],
            *self.timelines.values(),
            self.compared,
        )
        return (picture for picture in every if picture is not None and (picture.svg or picture.undrawn))


def first(rates: Iterable[Picture]) -> list[Picture]:
    """The first of `rates` that show something, or say why they could not be drawn: those of a summary."""
    return list(islice((picture for picture in rates if picture.svg or picture.undrawn), FIRST))


def drawn(content: Content, *, is_full: bool = False) -> Pictures:
    """All pictures; unless `is_full`, time lines are those of each point's typical repetition."""
    return Pictures(
        training=training_pictures.pictures(content),
        checkpoints=checkpoint_pictures.pictures(content),
        rates=list(rates(content)),
        surveys=surveys(content),
        latencies=latencies(content),
        timelines=timelines(content, each_repetition=is_full),
        compared=of_comparison(content.comparison) if content.comparison else [],
        servers=servers(content),
    )


def against_axes(content: Content) -> Iterator[Picture]:
    """Utilisation against accelerators, then the figures that the study requests."""
    yield from training_pictures.pictures(content).utilisation
    yield from rates(content)


def rates(content: Content) -> Iterator[Picture]:
    """The figures that the study requests, in order, except curves of a single point, which tables show."""
    taken: set[str] = set()
    for entry in content.document.study.figures:
        identifier = unique(slug(f"rate-{entry.title}", "rate"), taken)
        if (picture := _rate(content, entry, identifier)) is not None:
            yield picture


def latencies(content: Content) -> dict[str, Picture]:
    """A figure of latency percentiles per workload that was swept; one point of a sweep needs only its table.

    Neither has a survey a figure of them: at each place it has several points.
    """
    run = content.run
    points = latency.by_sweep_point(run.measurements, run.latencies, run.ranks)
    pictures = {}
    taken: set[str] = set()
    for part in content.workloads:
        workload_points = points.filter(pl.col("workload") == part.name)
        axis = axes.axis(workload_points)
        column = axes.column(axis)
        workload_points = axes.with_column(workload_points, axis).drop_nulls(
            column
        )  # the table has what is of an unknown number
        data = latency_figure.data(workload_points, axis)
        place = ["phase", "job", "operation", "clients", "ranks", column]
        if (
            data[column].n_unique() < 2
            or workload_points.select(*dict.fromkeys(place)).n_unique() < workload_points.height
        ):
            continue
        labels = [series.label(series_key) for series_key in series.of_workload(content.document, part.name)]
        identifier = unique(slug(f"latency-{part.name}", "latency"), taken)
        pictures[part.name] = draw(
            latency_figure.chart(data, labels, axis, partial(content.names.value, axis)),
            identifier,
            title=f"{part.title}: latency of one operation",
            data=data,
            caption=LATENCY_WORDS,
            description=f"Latency percentiles against {axis} for {part.title}; the table beside it has the values.",
        )
    return pictures


def servers(content: Content) -> Picture | None:
    """Clients and servers on one axis of time; `None` of a run that was not watched."""
    line = run_timeline(content.activity) if content.activity else None
    if line is None:
        return None
    steps = f"Steps of {line.step_s} s" if line.step_s > 1 else "Each second"
    return draw(
        servers_figure.chart(line),
        "servers",
        title="Clients, servers and devices over the whole run",
        data=servers_figure.data(line),
        caption=f"{steps}. Dashed: the network. Shaded: the phases, writes orange, reads blue, others grey.",
        description="Rates of the clients, and of the disks and the network of each server, over the whole run.",
    )


def timelines(content: Content, *, each_repetition: bool = True) -> dict[str, list[Picture]]:
    """Time lines of the measured phases, per workload: a figure per operation and repetition.

    Otherwise, and of a run with more than `MOST_TIMELINES`, only the typical repetition of each point has one.
    """
    run = content.run
    ranks = run.ranks.partition_by(*KEY, as_dict=True)
    few = (each_repetition and run.measurements.height <= MOST_TIMELINES) or not content.names.repeated
    shown = run.measurements if few else typical(run.measurements)
    pictures: dict[str, list[Picture]] = {}
    taken: set[str] = set()
    for part in content.workloads:
        frame = axes.in_order(
            shown.filter(pl.col("workload") == part.name), "repetition", "clients", "ranks", "files", "point"
        )
        pictures[part.name] = [
            picture
            for series_key in series.of_workload(content.document, part.name)
            for repetition, rows in _figures_of(
                analysis.of(frame, part.name, series_key.operation, series_key.phase, series_key.job),
                each_repetition=few,
            )
            for picture in _timeline_pictures(
                content,
                _Phase(
                    part.title,
                    series.label(series_key),
                    unique(_timeline_id(part.name, series_key, repetition), taken),
                    repetition,
                ),
                rows,
                run.samples,
                ranks,
            )
        ]
    return pictures


def _timeline_id(workload: str, series_key: Series, repetition: int | None) -> str:
    which = "typical" if repetition is None else f"repetition-{repetition}"
    return slug(f"timeline-{workload}-{series.label(series_key)}-{which}", "timeline")


def _figures_of(measured: pl.DataFrame, *, each_repetition: bool) -> Iterator[tuple[int | None, pl.DataFrame]]:
    """The measurements of each figure of time lines, with their repetition; `None` for several repetitions."""
    if each_repetition:
        for repetition, rows in measured.partition_by("repetition", maintain_order=True, as_dict=True).items():
            yield int(repetition[0]), rows
    elif not measured.is_empty():
        yield None, axes.in_order(measured, "clients", "ranks", "files", "point")


def _rate(content: Content, entry: FigureEntry, identifier: str) -> Picture | None:
    unit = UNITS[entry.unit]
    titles = {name: content.names.workload(name) for name in entry.workloads}
    axis = entry.against or axes.axis(content.points.filter(pl.col("workload").is_in(entry.workloads)))
    show = partial(content.names.value, axis)
    data = rate_by_clients.data(content.points, entry, titles, axis, content.names.values)
    data, unplaced = data.drop_nulls(axes.column(axis)), data[axes.column(axis)].null_count()
    description = f"{entry.title}: {entry.operation} rate in {entry.unit} against {axis}."
    if data.is_empty():
        why = f"The number of {axis} is unknown." if unplaced else "Nothing was measured for this figure."
        return Picture(identifier, entry.title, "", data, why, description)
    if data[axes.column(axis)].n_unique() == 1 and not unplaced:
        return None
    doubts = _doubts(content, data, axis)
    ceilings = rate_by_clients.ceilings(data, content.limits, unit, axis)
    drawn = rate_by_clients.drawn(ceilings, data)
    laws = rate_by_clients.laws(data, content.sweeps, unit)
    caption = rate_words(data, axis)
    if unplaced:
        caption.append(f"Not drawn: {format_count(unplaced, 'measurement')} of an unknown number of {axis}.")
    if doubts:
        caption.append(f"“{rate_by_clients.FLAG}” above a point: a doubt changes what it says.")
    if not laws.is_empty():
        caption.append("Dotted: the Universal Scalability Law fitted to the medians.")
    if not drawn.is_empty():
        caption.append("Dashed: the lowest ceiling of the network on the path, named at its end.")
    if above := [row for row in ceilings.iter_rows(named=True) if row["ceiling"] not in drawn["ceiling"]]:
        low = min(above, key=lambda row: float(row["ceiling"]))
        height = f"{format.significant(low['ceiling'])} {entry.unit} ({low['name']})"
        caption.append(f"Ceilings from {height} on are far above the frame.")
    return draw(
        rate_by_clients.chart(data, entry.operation, unit, doubts, axis, show=show, ceilings=drawn, laws=laws),
        identifier,
        title=entry.title,
        data=_rate_data(data, ceilings, entry.unit, axis),
        caption=" ".join(caption),
        description=description + " " + levels(data, entry.unit, axis, show),
    )


def rate_words(data: pl.DataFrame, axis: Axis) -> list[str]:
    """Sentences on the points and crosses of a figure of rates; `data` is that of the figure, drawn against `axis`."""
    several = data["repetition"].max() != 1
    places = data.drop_nulls("median").group_by("series").agg(pl.col(axes.column(axis)).n_unique())
    joined = "; the line joins the medians" if (places[axes.column(axis)] > 1).any() else ""
    words = [f"One point per repetition{joined}." if several else "One measurement per point."]
    if not data["valid"].all():
        words.append("Crosses are invalid measurements, which the medians leave out.")
    return words


def _rate_data(data: pl.DataFrame, ceilings: pl.DataFrame, unit: str, axis: Axis) -> pl.DataFrame:
    """The data of the figure, with the ceilings if there are any."""
    if not ceilings.is_empty():
        data = data.join(ceilings, on=axes.column(axis), how="left", maintain_order="left").rename(
            {"ceiling": f"ceiling_{unit}", "name": "ceiling_name"}
        )
    return data.rename({"rate": f"rate_{unit}", "median": f"median_{unit}"})


def surveys(content: Content) -> list[list[Picture]]:
    """A figure for each grid of each survey, in their order."""
    taken: set[str] = set()
    return [
        [
            _survey(survey, grid, unique(slug(f"survey-{survey.title}-{grid.title}", "survey"), taken))
            for grid in survey.grids
            if grid.cells
        ]
        for survey in content.surveys
    ]


def _survey(survey: Survey, grid: Grid, identifier: str) -> Picture:
    data = survey_figure.data(grid.cells, survey.unit)
    return draw(
        survey_figure.chart(data, grid.series.operation, survey.unit, grid.saturation),
        identifier,
        title=f"{survey.title}: {grid.title}",
        data=data,
        caption="Medians joined, from the lowest to the highest repetition as a bar; the ring is the saturation point.",
        description=f"Rate against ranks, a line for each count of objects. {grid.sentence}",
    )


def _doubts(content: Content, data: pl.DataFrame, axis: Axis) -> dict[tuple[str, Value], str]:
    """The doubts that change a point, in words, by its line and place; of those without any nothing."""
    of = {
        (str(line), place if isinstance(place, str) else int(place)): caveats.beside_number(
            content.doubts, analysis.places(rows)
        )
        for (line, place), rows in data.group_by("series", axes.column(axis), maintain_order=True)
    }
    return {point: "; ".join(words) for point, words in of.items() if words}


def levels(data: pl.DataFrame, unit: str, axis: Axis, show: Callable[[Value], str] = str) -> str:
    """The medians in words, for those who do not see the picture; `show` writes a value on the axis."""
    column = axes.column(axis)
    medians = data.filter(pl.col("median").is_not_null()).unique(["series", column], maintain_order=True)
    sentences = []
    for (line,), rows in medians.group_by("series", maintain_order=True):
        values = [
            f"{format.significant(median)} with {show(place)}"
            for place, median in rows.select(column, "median").iter_rows()
        ]
        sentences.append(f"{line}, {unit}: {', '.join(values)}.")
    return " ".join(sentences)


@dataclass(frozen=True)
class _Phase:
    """A phase of a workload: whose, which, and the beginning of its figures' ids."""

    workload: str
    name: str
    prefix: str
    repetition: int | None
    """`None`: of each point the typical one."""


def _timeline_pictures(
    content: Content,
    phase: _Phase,
    rows: pl.DataFrame,
    samples: pl.LazyFrame,
    ranks: Mapping[tuple[object, ...], pl.DataFrame],
) -> list[Picture]:
    """The figures of the measurements `rows`; `samples` are those of the run, `ranks` those of each measurement."""
    lines: list[tuple[str, int, timeline_figure.Panel]] = []
    for row in rows.iter_rows(named=True):
        place = Measurement.of(row)
        if place not in ranks or row["sample_interval_ns"] is None:
            continue
        phase_samples = samples.filter(**dict(zip(KEY, place, strict=True)))
        if line := timeline(phase_samples, ranks[place], row["sample_interval_ns"], row["duration_ns"]):
            mark = "" if row["valid"] else " (invalid)"
            limit = content.limits.get(place)
            ceiling = limit.ceiling.rate_bytes_per_s if limit and line.counts == "bytes" else None
            panel = timeline_figure.Panel(content.names.point(row["case"]) + mark, line, ceiling)
            lines.append((content.names.point(row["case"]), row["repetition"], panel))
    pictures = []
    for index in range(0, len(lines), MOST_PANELS):
        chosen = lines[index : index + MOST_PANELS]
        identifier = f"{phase.prefix}-{index // MOST_PANELS + 1}" if len(lines) > MOST_PANELS else phase.prefix
        which = "typical repetition" if phase.repetition is None else f"repetition {phase.repetition}"
        repetition = f", {which}" if content.names.repeated else ""
        pictures.append(
            draw(
                timeline_figure.chart([panel for _, _, panel in chosen]),
                identifier,
                title=f"{phase.workload}: {phase.name} over time{repetition}",
                data=timeline_figure.data(chosen),
                caption=timeline_caption([panel for _, _, panel in chosen], typical=phase.repetition is None),
                description=f"Rate over time of {phase.workload}, {phase.name}, a panel per point of the sweep.",
            )
        )
    return pictures


def timeline_caption(panels: Sequence[timeline_figure.Panel], *, typical: bool = False) -> str:
    """The caption of time lines; `typical`: they are those of each point's typical repetition."""
    lines = [panel.timeline for panel in panels]
    steps = sorted({line.step_s for line in lines})
    step = " to ".join(dict.fromkeys(format.duration(step * 1e9) for step in (steps[0], steps[-1])))
    words = [f"Above the total, below a line per rank; steps of {step}."]
    if any(not line.band.is_empty() for line in lines):
        words.append(f"More than {MOST_LINES} ranks: the median rank, with the slowest and the fastest as a band.")
    if any(line.samples_per_step > 1 for line in lines):
        words.append("Steps join several samples; the samples themselves are in samples.parquet.")
    if typical:
        words.append("Of each point the repetition whose rate is nearest the median; all are in samples.parquet.")
    if any(timeline_figure.is_drawn(panel, panels) for panel in panels):
        words.append("Dashed: the lowest ceiling of the network on the path.")
    return " ".join(words)
