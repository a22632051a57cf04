"""A sweep as a document, and what the terminal shows of it. Not: sentences (`wording`), figures (`pictures`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from ioassay.analysis.intervals import WANTED
from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Commands,
    Document,
    Figure,
    Notes,
    Paragraph,
    Section,
    Span,
    Style,
    Table,
    Text,
    facts,
    numbers,
)
from ioassay.reports.sweep import wording
from ioassay.store.experiment_document import RUNS
from ioassay.store.sweep_document import PointValue, Side
from ioassay.text.units import format_count, format_duration, format_share
from ioassay.tuning.sweep.answer import Answer, Verdict
from ioassay.tuning.sweep.prepare import setting_name
from ioassay.tuning.sweep.trials import Trial
from ioassay.version import __version__

if TYPE_CHECKING:
    from ioassay.reports.sweep.pictures import Pictures

_STYLES: dict[Verdict, Style] = {
    "better": "passed",
    "no difference": "not judged",
    "nothing better": "not judged",
    "worse": "failed",
    "withheld": "warning",
    "unfinished": "warning",
}


def document(answer: Answer, drawn: Pictures | None = None) -> Document:
    """The document, with the figures where they have been drawn."""
    return Document(
        answer.document.title,
        [
            *summary(answer),
            Section("Before and after", [Figure(drawn.points if drawn else None), *_points(answer)]),
            Section("All trials", [Figure(drawn.trials if drawn else None), *_trials(answer)]),
            Section("Doubts", [_doubts(answer)]),
            Section("How it was measured", [_facts(answer), *_method(answer)]),
        ],
        question=f"Which settings are best for the {wording.objective(answer.document.objective)}, and do they "
        "really beat today's?",
        window=f"{answer.document.title}: sweep",
        footer=f"Written by ioassay {__version__}.",
    )


def summary(answer: Answer) -> list[Block]:
    """The first blocks for the terminal: the answer, the contributions, and the commands."""
    names = {parameter.name: setting_name(parameter) for parameter in answer.document.parameters}
    reason = answer.document.reason
    return [
        Section(
            "Answer",
            [
                Paragraph(Span(wording.verdict(answer), _STYLES[answer.verdict])),
                *([Paragraph(f"It ended early: {reason}.", note=True)] if reason else []),
                *_changes(answer),
                *_contributions(answer),
                Commands(list(wording.apply_command(answer, names))),
            ],
        )
    ]


def terminal(answer: Answer) -> list[Block]:
    """The blocks for the terminal: the answer and the trials."""
    return [*summary(answer), *_points(answer), *_trials(answer), _doubts(answer)]


def _doubts(answer: Answer) -> Table:
    measured = [measurement for measurement in answer.document.measurements if measurement.objective is not None]
    remedies = {kind: remedy for measurement in measured for kind, remedy in measurement.doubts.items()}
    rows = [
        [kind, f"{sum(kind in measurement.doubts for measurement in measured)} of {len(measured)}", remedy]
        for kind, remedy in remedies.items()
    ]
    return Table(
        [Column("Doubt"), Column("Measurements"), Column("Remedy")], rows, "Doubts about measurements", title="Doubts"
    )


def _changes(answer: Answer) -> list[Block]:
    """Advice on what to change, where doubts withhold the answer."""
    if answer.verdict != "withheld":
        return []
    return [Paragraph("To get an answer, start a new sweep and"), Bullets(list(wording.changes_for_answer(answer)))]


def _contributions(answer: Answer) -> list[Block]:
    if not answer.contributions:
        return []
    columns = [Column("Parameter"), Column("Today"), Column("Best"), *numbers("Gain"), Column("Interval"), Column("")]
    rows: list[Sequence[Text]] = [
        [
            contribution.name,
            contribution.today or "as in the study",
            contribution.value or "as in the study",
            wording.gain(contribution.gain),
            wording.interval(contribution.gain),
            {True: "matters", False: "no difference found", None: "too few pairs"}[contribution.matters],
        ]
        for contribution in answer.contributions
    ]
    return [
        Table(
            columns, rows, "What each parameter contributes", title="What each parameter contributes", density="narrow"
        )
    ]


def _points(answer: Answer) -> list[Block]:
    if not answer.points:
        return []
    scale = wording.Scale(answer.document)
    columns = [Column("Point of the study"), *numbers("Before", "After", "Gain"), Column("Interval")]
    rows: list[Sequence[Text]] = [
        [
            _point_name(point.coordinates),
            scale.shown(point.today.median),
            scale.shown(point.point.median),
            wording.gain(point.gain),
            wording.interval(point.gain),
        ]
        for point in answer.points
    ]
    return [Table(columns, rows, "Medians before and after", title="Before and after", density="narrow")]


def _point_name(point_value: PointValue) -> str:
    """`io, write, 1 client, 4 ranks`."""
    parts = [point_value.workload, point_value.phase]
    if point_value.clients:
        parts.append(format_count(point_value.clients, "client"))
    if point_value.ranks:
        parts.append(format_count(point_value.ranks, "rank"))
    return ", ".join(parts)


def _trials(answer: Answer) -> list[Block]:
    if not answer.trials:
        return []
    scale = wording.Scale(answer.document)
    names = [parameter.name for parameter in answer.document.parameters]
    columns = [
        *numbers("Trial"),
        *(Column(name, is_number=True) for name in names),
        *numbers("Pairs", "Before", "After", "Gain"),
        Column("Interval"),
        Column("Verdict"),
    ]
    refused = [refusal.point for refusal in answer.document.refused]
    rows = [_trial(answer, trial, names, scale) for trial in answer.trials if trial.values not in refused]
    return [
        Notes([f"Not measured: {refusal.why}" for refusal in answer.document.refused]),
        Table(columns, rows, "Points of the search", title="Points of the search", density="dense"),
    ]


def _trial(answer: Answer, trial: Trial, names: Sequence[str], scale: wording.Scale) -> list[Text]:
    before, after = (trial.objective(side).median for side in get_args(Side))
    return [
        f"{trial.number + 1}",
        *(trial.values[name] or "–" for name in names),
        f"{len(trial.pairs)}",
        scale.shown(before),
        scale.shown(after),
        wording.gain(trial.gain, trial.estimate),
        wording.interval(trial.gain),
        wording.trial_verdict(answer, trial),
    ]


def _facts(answer: Answer) -> Table:
    sweep = answer.document
    rows = [
        ("Target", sweep.target),
        ("Study", f"{sweep.study}{f', scale {sweep.scale}' if sweep.scale else ''}"),
        ("Study settings", ", ".join(sweep.study_settings)),
        ("Objective", wording.objective(sweep.objective)),
        ("Points", f"{len(answer.trials)} tried of {answer.document.points}"),
        ("Measurements", f"{len(sweep.measurements)}, each a run in {RUNS}/"),
        *(("Why so", note) for note in sweep.notes),
        ("Time limit of the search", format_duration(sweep.time_ns) if sweep.time_ns else ""),
        ("Precision wanted", f"±{format_share(sweep.precision)} of a gain, at most {sweep.most_pairs} pairs"),
        *(
            (
                f"Parameter {parameter.name}",
                _parameter(parameter.today, parameter.values, parameter.suggested, parameter.rule),
            )
            for parameter in sweep.parameters
        ),
    ]
    return facts([row for row in rows if row[1]], title="The sweep")


def _parameter(today: str | None, values: Sequence[str], suggested: str | None, rule: str | None) -> str:
    text = f"{', '.join(values)}; today {today or 'as in the study'}"
    return f"{text}; the rule {rule} recommends {suggested}" if rule else text


def _method(answer: Answer) -> list[Block]:
    sweep = answer.document
    constraints = [wording.constraint(constraint) for constraint in sweep.constraints]
    return [
        Bullets(constraints),
        Notes(
            [
                "Each measurement of a point alternates with one of today's settings (before, after, after, "
                "before, …), so that what changes with time changes both.",
                "The best of many points is best partly by chance. The answer rests on fresh pairs alone, measured "
                "after the search.",
                f"Intervals are those of the ratio of two medians, at {format_share(WANTED)} confidence; of too few "
                "pairs they are the range.",
            ]
        ),
    ]
