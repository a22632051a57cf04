"""Training in a comparison: a table with a row for each measure, and what it rests on.

Not: which measures are compared (`ioassay.analysis.compare.training`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ioassay.analysis.compare.subject import Subject, Trained
from ioassay.analysis.compare.training import TrainingRatio, Unit, ratios
from ioassay.analysis.intervals import WANTED
from ioassay.reports.compare.wording import subject_name, times
from ioassay.reports.document import Block, Column, Notes, Section, Span, Table, Text, changes, numbers
from ioassay.text import format
from ioassay.text.prose import listed

NOTE = (
    "An epoch is a repetition. Definitions of utilisation: ioassay's is computing over the time from the start of the "
    "epoch to the end of its last step; DLIO's leave out the first step, with the wait for the first batch, and end "
    "with its block, after the last step; its repository takes the time that was computed, its release (2.0.0) the "
    "nominal one. Of DLIO's results, ioassay's follows from the times of all steps in the ranks' own files. Bytes are "
    "not compared: DLIO prints samples times a configured size. None of them is a result of MLPerf Storage."
)


def compared(subjects: Sequence[Subject]) -> list[tuple[Subject, TrainingRatio]]:
    """Each other subject against the first, for every measure that both have."""
    reference, *others = subjects
    return [(other, ratio) for other in others for ratio in ratios(reference, other)]


def section(subjects: Sequence[Subject]) -> Section:
    """The section; empty where nothing is compared."""
    pairs = compared(subjects)
    if not pairs:
        return Section("Training", [])
    blocks: list[Block] = [_table(subjects, pairs), Notes([*_unlike(pairs), NOTE])]
    return Section("Training", blocks)


def _table(subjects: Sequence[Subject], pairs: Sequence[tuple[Subject, TrainingRatio]]) -> Table:
    several = len(subjects) > 2
    other = "Other" if several else subject_name(subjects[1])
    columns = [Column("Accelerators", merges=True), *([Column("Of")] if several else []), Column("Measure")]
    columns += [Column("Definition"), *numbers(subject_name(subjects[0]), other, "Ratio")]
    rows: list[list[Text]] = [
        [
            _accelerators(ratio.reference),
            *([subject_name(subject)] if several else []),
            ratio.measure.what,
            ratio.measure.definition,
            *(_shown(value, ratio.measure.unit) for value in ratio.medians),
            _ratio(ratio),
        ]
        for subject, ratio in pairs
    ]
    return Table(
        columns,
        rows,
        "Medians of epochs; ratio: the other over the first, with its confidence interval; in bold if that excludes 1",
        density="narrow",
        rules=changes(_accelerators(ratio.reference) for _, ratio in pairs),
    )


def _accelerators(trained: Trained) -> str:
    return f"{trained.title}, {format.count(trained.accelerators, 'accelerator')}"


def _shown(value: float, unit: Unit) -> str:
    match unit:
        case "share":
            return format.share(value)
        case "samples/s":
            return f"{format.significant(value)} samples/s"
        case "ns":
            return format.duration(value)


def _ratio(ratio: TrainingRatio) -> Text:
    if ratio.value is None:
        return format.ABSENT
    number = Span(times(ratio.value), "strong" if ratio.differs else None)
    if (known := ratio.interval) is None:
        return number
    interval = format.interval(times(known.low), times(known.high), is_range=known.confidence < WANTED)
    return (number, Span(interval, "below"))


def sentences(subjects: Sequence[Subject]) -> list[str]:
    """How busy each subject kept the accelerators, by the first definition that both have."""
    texts: dict[tuple[str, str], str] = {}
    for other, ratio in compared(subjects):
        key = other.name, _accelerators(ratio.reference)
        if ratio.measure.unit == "share" and key not in texts:
            mine, theirs = (_shown(value, "share") for value in ratio.medians)
            known = ratio.interval
            verdict = "too few epochs for a verdict" if known is None else "no significant difference"
            if known is not None and ratio.differs:
                verdict = f"{known.name} of the ratio {times(known.low)} to {times(known.high)}"
            texts[key] = (
                f"{key[1]}: {other.name} keeps them {theirs} busy, {subjects[0].name} {mine} "
                f"(utilisation, {ratio.measure.definition}; {verdict})."
            )
    return [*texts.values()]


def _unlike(pairs: Sequence[tuple[Subject, TrainingRatio]]) -> list[str]:
    """Batches and computing that differ, once for each pair."""
    remarks: dict[str, None] = {}
    for subject, ratio in pairs:
        if differing := [*_differing(ratio.reference, ratio.other)]:
            remarks[f"{_accelerators(ratio.reference)}, {subject.name}: {listed(differing)}."] = None
    return [*remarks]


def _differing(reference: Trained, other: Trained) -> Iterator[str]:
    if None not in (reference.batch, other.batch) and reference.batch != other.batch:
        yield f"batches of {other.batch} against {reference.batch} samples"
    if reference.compute_ns is not None and other.compute_ns is not None and reference.compute_ns != other.compute_ns:
        both = f"{format.duration(other.compute_ns)} against {format.duration(reference.compute_ns)}"
        yield f"{both} of computation for each"


def data(subjects: Sequence[Subject]) -> list[dict[str, Any]]:
    """A row for each measure: base units, unrounded."""
    return [
        {
            "workload": ratio.reference.workload,
            "accelerators": ratio.reference.accelerators,
            "measure": ratio.measure.what.lower(),
            "definition": ratio.measure.definition,
            "unit": {"share": "1"}.get(ratio.measure.unit, ratio.measure.unit),
            "reference": subjects[0].name,
            "other": subject.name,
            "reference_median": ratio.medians[0],
            "other_median": ratio.medians[1],
            "reference_epochs": len(ratio.reference_values),
            "other_epochs": len(ratio.other_values),
            "ratio": ratio.value,
            "low": ratio.interval.low if ratio.interval else None,
            "high": ratio.interval.high if ratio.interval else None,
            "confidence": ratio.interval.confidence if ratio.interval else None,
            "differs": ratio.differs if ratio.interval else None,
        }
        for subject, ratio in compared(subjects)
    ]
