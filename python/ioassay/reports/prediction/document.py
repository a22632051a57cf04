"""A prediction as a document, and what the terminal shows of it. Not: words of single points (`wording`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Commands,
    Document,
    Figure,
    Notes,
    Paragraph,
    Preformatted,
    Section,
    Table,
    numbers,
)
from ioassay.reports.prediction import wording
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Formula, Origin, Value, derivation
from ioassay.sizing.prediction.model import Method, Predicted, Prediction, SeriesName
from ioassay.text.units import format_count
from ioassay.version import __version__

if TYPE_CHECKING:
    from ioassay.figures.picture import Picture

_NEXT = "Compare with a measurement"

_METHODS: dict[Method, tuple[str, ...]] = {
    "curve": (
        "Where a run is attached to the brick: what it measured of so many ranks, as many times as the configuration "
        "does more than that brick. The range is that of its medians; a measurement of its own scatters besides.",
    ),
    "bounds": (
        "The most: what the storage does at full load, or what the links of the clients carry, if that is less.",
        "The least: the lower balanced job bound of a closed queueing network. Each rank has one request at a time, "
        "which crosses its client's link and is then served by one group of drives, as fast as at full load.",
        "Expected: mean value analysis of the same network with the requests that clients keep in flight.",
    ),
    "modules": (
        "Metadata: at most what the modules do; at least the share of the processes in those that were measured, where "
        "their number is known.",
    ),
}
"""The sentences about each method."""


def document(
    prediction: Prediction, commands: Sequence[tuple[str, str]], drawn: Sequence[Picture | None] = ()
) -> Document:
    """The document, with the figures where `pictures` has made them, and what to do next."""
    pictures = drawn or [None] * len(prediction.series)
    return Document(
        f"{prediction.study.title}, predicted for {prediction.configuration}",
        [
            Paragraph(_counts(prediction)),
            Notes(prediction.remarks),
            *(
                _series(name, points, [Figure(picture)])
                for (name, points), picture in zip(prediction.series, pictures, strict=True)
                if _known(points)
            ),
            _not_predicted(prediction),
            Section("Method", [_methods(prediction), _sources(prediction)]),
            _assumptions(prediction),
            Section(_NEXT, [Commands(commands)]),
            Section("Arithmetic", list(_arithmetic(prediction)), fold="closed"),
        ],
        question=f"What should the study {prediction.study.name} measure on {prediction.configuration}?",
        footer=f"Written by ioassay {__version__}.",
    )


def terminal(prediction: Prediction, commands: Sequence[tuple[str, str]]) -> list[Block]:
    return [
        *(_series(name, points, []) for name, points in prediction.series if _known(points)),
        _not_predicted(prediction),
        _assumptions(prediction),
        Section(_NEXT, [Commands(commands)]),
        Notes(prediction.remarks),
        Paragraph(_counts(prediction)),
    ]


def _known(points: Sequence[Predicted]) -> list[tuple[Predicted, Value]]:
    return [(point, point.value) for point in points if point.value is not None]


def _counts(prediction: Prediction) -> str:
    every = list(prediction.points)
    known = len(_known(every))
    of = f"{known} of {format_count(len(every), 'point')}" if known < len(every) else f"All {len(every)} points"
    title = f", {prediction.title}" if prediction.title else ""
    return f"Study {prediction.study.name} on {prediction.configuration}{title}: {of} predicted. Nothing was measured."


def _series(name: SeriesName, points: Sequence[Predicted], above: Sequence[Block]) -> Section:
    known = _known(points)
    unit = wording.unit(name, [value for _, value in known])
    rows = [
        [
            wording.point_name(point.spot, points),
            wording.expected(point, unit, value),
            wording.span(point, unit, value),
            point.limit,
        ]
        for point, value in known
    ]
    columns = [Column("At"), *numbers("Expected", "Range"), Column("Limited by")]
    return Section(name.title, [*above, Table(columns, rows, f"{name.title}, predicted"), Notes(_notes(points))])


def _notes(points: Sequence[Predicted]) -> list[str]:
    """The notes of a series, each once; where it is not of all points, of which."""
    places: dict[str, list[str]] = {}
    for point, _ in _known(points):
        for note in point.notes:
            places.setdefault(note, []).append(wording.point_name(point.spot, points))
    every = [wording.point_name(point.spot, points) for point, _ in _known(points)]
    return [note if where == every else f"{wording.places(where, every)}: {note}" for note, where in places.items()]


def _not_predicted(prediction: Prediction) -> Section:
    rows = []
    for name, points in prediction.series:
        reasons: dict[str, list[str]] = {}
        for point in points:
            if point.value is None:
                reasons.setdefault(point.why_not, []).append(wording.point_name(point.spot, points))
        for why, where in reasons.items():
            every = [wording.point_name(point.spot, points) for point in points]
            rows.append([name.title, "all points" if where == every else wording.places(where, every), why])
    columns = [Column("Series", merges=True), Column("At"), Column("Why")]
    return Section("Not predicted", [Table(columns, rows)] if rows else [])


def _methods(prediction: Prediction) -> Bullets:
    used = {point.method for point in prediction.points}
    return Bullets([text for method, texts in _METHODS.items() if method in used for text in texts])


def _sources(prediction: Prediction) -> Notes:
    steps = derivation(*(value for _, value in _known(list(prediction.points)))).steps
    sources = [step.origin.source for step in steps if isinstance(step.origin, Formula) and step.origin.source]
    return Notes([f"{source}." for source in dict.fromkeys(sources)])


def _assumptions(prediction: Prediction) -> Section:
    return Section(
        "Assumptions", [Bullets([f"{formulas.line(assumption)}. {why}" for assumption, why in prediction.assumptions])]
    )


def _arithmetic(prediction: Prediction) -> Iterator[Section]:
    """The arithmetic of the last point of each series, which has the most clients, and its inputs."""
    for name, points in prediction.series:
        known = _known(points)
        if known:
            point, value = known[-1]
            derived = derivation(value)
            lines = [formulas.line(step) for step in derived.steps]
            given = [
                f"{formulas.line(quantity)}: {_origin(quantity)}" for quantity in derived.inputs if _origin(quantity)
            ]
            yield Section(
                f"{name.title}, {wording.point_name(point.spot, points)}",
                [Preformatted("\n".join(lines)), Bullets(given)],
            )


def _origin(value: Value) -> str:
    origin = value.origin
    return f"{origin.kind}, {origin.source}" if isinstance(origin, Origin) and origin.source else ""
