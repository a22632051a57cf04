"""The answer of `ioassay quick`: how fast the directory is, in a line for each kind of I/O, and whether it is healthy.

It has only the doubts that change what a reader would do; the report has all of them.

Not: the study (`quick.yaml`), its report (`document`).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from ioassay.analysis import intervals, latency, rates
from ioassay.analysis.intervals import WANTED
from ioassay.reports.document import Block, Bullets, Column, Paragraph, Span, Table, Text, numbers
from ioassay.reports.document.terminal import rendered
from ioassay.reports.run import caveats, opening, terminal
from ioassay.reports.run.storage import Storage
from ioassay.text import format
from ioassay.text.prose import listed
from ioassay.text.rate_units import RateColumn, suited

if TYPE_CHECKING:
    from rich.console import Group

    from ioassay.reports.run.content import Content
    from ioassay.store.measurement import Measurement

ANSWER_VERSION = 1

_COLD = 0.01
"""The share of a file set that may be in memory when a cold read begins."""

_OFTEN = 0.5
"""The share of the phases from which on disturbances are worth repeating the run for."""

_FASTER_THAN_STORAGE = ("cache-resident", "cache-unknown", "device-moved-less")
"""Doubts that mean that the storage itself may be slower."""


@dataclass(frozen=True)
class _Kind:
    """A line of the answer, and the measurements that it is of."""

    label: str
    workload: str
    operation: str
    column: RateColumn


_KINDS = (
    _Kind("Sequential write", "sequential", "write", "rate_bytes_per_s"),
    _Kind("Sequential read", "sequential", "read", "rate_bytes_per_s"),
    _Kind("Random 4 KiB write", "random", "write", "rate_operations_per_s"),
    _Kind("Random 4 KiB read", "random", "read", "rate_operations_per_s"),
    _Kind("File creation", "metadata", "create", "rate_operations_per_s"),
)


@dataclass(frozen=True)
class _Line:
    """The result for a kind of I/O over its valid repetitions; rates in bytes or operations per second."""

    kind: _Kind
    repetitions: int
    median: float
    low: float | None
    high: float | None
    confidence: float | None
    p99_ns: int | None
    """The 99th percentile of one operation's latency."""


@dataclass(frozen=True)
class _Advice:
    """A doubt or a remark that changes what a reader would do."""

    text: str
    of: tuple[str, ...] = ()
    """Labels of the lines that it concerns; empty: all lines."""
    letter: str = ""
    """The letter beside the numbers of these lines; empty: none."""

    @property
    def sentence(self) -> str:
        """The advice as a sentence of its own, without the table."""
        return f"{listed(self.of)}: {self.text}" if self.of else _capital(self.text)

    @property
    def line(self) -> Text:
        """The advice as a line below the table."""
        return (Span(self.letter, "strong"), f"  {_capital(self.text)}") if self.letter else self.sentence


def shown(content: Content, storage: Storage) -> Group:
    lines = list(_lines(content))
    advice = list(_advice(content, lines))
    document = content.document
    host = f" on {document.environment[0]['host']}" if document.environment else ""
    ranks = max(case.ranks_per_client for case in document.cases)
    processes = format.count(ranks, "process", "processes")
    blocks: list[Block] = [
        Paragraph(storage.text()),
        Paragraph(f"{processes}{host}. {_cold(content)}"),
        _table(lines, advice),
        Bullets([f"{where}: {error}" for where, error in opening.errors(content)]),
        *_verdict(content, storage),
        Bullets([advice.line for advice in advice]),
    ]
    return rendered(blocks)


def data(content: Content, storage: Storage, report: str) -> dict[str, Any]:
    """The answer for other programs: base units, unrounded."""
    lines = list(_lines(content))
    return {
        "version": ANSWER_VERSION,
        "target": storage,
        "run": content.document.run,
        "state": content.document.state,
        "settings": content.document.study.settings,
        "rates": [_line_data(line) for line in lines],
        "verdict": _judgement(content),
        "criteria": [
            {"criterion": line.criterion, "judgement": line.judgement, "measured": line.value, "because": line.because}
            for line in content.verdicts
        ],
        "advice": [advice.sentence for advice in _advice(content, lines)],
        "report": report,
    }


def _line_data(line: _Line) -> dict[str, Any]:
    per_s = "bytes_per_s" if line.kind.column == "rate_bytes_per_s" else "operations_per_s"
    return {
        "workload": line.kind.workload,
        "operation": line.kind.operation,
        f"median_{per_s}": line.median,
        f"low_{per_s}": line.low,
        f"high_{per_s}": line.high,
        "confidence": line.confidence,
        "repetitions": line.repetitions,
        "p99_ns": line.p99_ns,
    }


def _lines(content: Content) -> Iterator[_Line]:
    run = content.run
    latencies = latency.by_sweep_point(run.measurements, run.latencies, run.ranks)
    for kind in _KINDS:
        medians = rates.of(rates.medians(content.points, kind.column), kind.workload, kind.operation)
        if medians.is_empty():
            continue
        row = medians.row(0, named=True)
        of_one = rates.of(latencies, kind.workload, kind.operation)
        yield _Line(
            kind,
            repetitions=row["repetitions"],
            median=row["median"],
            low=row["low"],
            high=row["high"],
            confidence=row["confidence"],
            p99_ns=None if of_one.is_empty() else of_one["p99_ns"][0],
        )


def _table(lines: Sequence[_Line], advice: Sequence[_Advice]) -> Table:
    letters = [[doubt.letter for doubt in advice if line.kind.label in doubt.of] for line in lines]
    medians = terminal.with_letters(
        [(_rate(line, line.median), marks) for line, marks in zip(lines, letters, strict=True)]
    )
    title, intervals = format.interval_column(list(map(_interval, lines)))
    rows: list[list[Text]] = [
        [line.kind.label, median, interval, format.duration(line.p99_ns)]
        for line, median, interval in zip(lines, medians, intervals, strict=True)
    ]
    return Table([Column(""), *numbers("Median", title, "p99 latency")], rows)


def _rate(line: _Line, per_s: float) -> str:
    """A rate in the unit that suits the median, so that an interval has one unit."""
    unit = suited(line.kind.column, line.kind.operation, [line.median])
    return format.rate_in(unit.name, per_s)


def _interval(line: _Line) -> str:
    if line.low is None or line.high is None or line.confidence is None:
        return format.ABSENT
    return format.interval(_rate(line, line.low), _rate(line, line.high), is_range=line.confidence < WANTED)


def _cold(content: Content) -> str:
    """Whether reads came from storage."""
    reads = content.run.measurements.filter(pl.col("operation") == "read", pl.col("file_set_bytes") > 0)
    if reads.is_empty():
        return ""
    is_known = all(group.kind != "cache-unknown" for group in content.doubts.groups)
    if reads["resident_bytes_before"].null_count() or not is_known:
        return "Page cache before reads: unknown."
    most = (reads["resident_bytes_before"] / reads["file_set_bytes"]).max()
    assert isinstance(most, float)
    return (
        "Page cache before reads: empty."
        if most <= _COLD
        else f"Page cache before reads: {format.share(most)} of a file set."
    )


def _judgement(content: Content) -> str | None:
    """The verdict on all criteria. A criterion that fails only for lack of a measurement does not count."""
    is_unjudged = all(verdict.missing for verdict in content.judged if verdict.judgement == "failed")
    return "not judged" if content.accepted == "failed" and is_unjudged else content.accepted


def _verdict(content: Content, storage: Storage) -> list[Block]:
    match _judgement(content):
        case "passed":
            count = format.count(len(content.verdicts), "criterion", "criteria")
            slowest = next((line.value for line in content.verdicts if "slowest" in line.criterion), "")
            slowest_text = f" No call took longer than {slowest}." if slowest else ""
            return [Paragraph((Span("Healthy", "passed"), f": {count} met.{slowest_text}"))]
        case "failed":
            failed = [line for line in content.verdicts if line.judgement == "failed"]
            return [
                Paragraph((Span("Suspicious", "failed"), ":")),
                Bullets([f"{line.criterion}; measured {line.value}. {_capital(line.because)}." for line in failed]),
                Paragraph(f"Try: ioassay doctor --target {shlex.quote(storage.place)}"),
            ]
        case _:
            return [Paragraph((Span("Not judged", "not judged"), ": some phases have no valid measurement."))]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _advice(content: Content, lines: Sequence[_Line]) -> Iterator[_Advice]:
    """The advice, the most severe first."""
    labels = {(kind.workload, kind.operation): kind.label for kind in _KINDS}
    workloads = {case.id: case.workload for case in content.document.cases}

    def of(places: Sequence[Measurement]) -> tuple[str, ...]:
        named = (labels.get((workloads[place.case], place.operation), "") for place in places)
        return tuple(filter(None, dict.fromkeys(named)))

    is_memory = any(group.kind == "memory-backed" for group in content.doubts.groups)
    for group in content.doubts.groups:
        places = [place.measurement for place in group.places]
        description = caveats.words(group.kind, group.places[0].evidence)
        if group.invalidates:
            yield _Advice(f"invalid, {description}.", of(places))  # no number stands for it
        elif group.kind == "memory-backed":
            yield _Advice(f"{description}: the rates are not those of storage.")
        elif group.kind in _FASTER_THAN_STORAGE and not is_memory:
            yield _Advice(f"{description}; storage alone may be slower.", of(places), group.mark)
        elif group.kind == "disturbed" and len(places) >= _OFTEN * content.doubts.measurements:
            how_many = f"{len(places)} of {content.doubts.measurements}"
            text = f"{how_many} measurements were disturbed ({description}); repeat on an idle machine."
            yield _Advice(text, of(places), group.mark)
    if any(line.repetitions < intervals.FEWEST for line in lines):
        yield _Advice("an interval needs three repetitions; use a longer --time.")
