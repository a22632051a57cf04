"""The summary of obdfilter-survey, of the Lustre I/O kit and of ioassay's front end.

A row is a point of the sweep: threads are ranks, objects are files, each test is a phase. Sizes, objects and threads
are those of all targets together, and rates are MiB/s. The bracketed lowest and highest momentary
rate of any one target have no column here. Format: `lustre-iokit/obdfilter-survey` of lustre-release at 001bef3; older
ones lack the line above the rows. Not: `.detail`, `.vmstat`, `.script`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ioassay.importers import doubts, model
from ioassay.importers.model import Case, Doubt, Measurement, OpenSibling
from ioassay.importers.numbers import MIB, NS_PER_S, Printed, moment_ns
from ioassay.importers.source import Refused, Source
from ioassay.store.document import Operation
from ioassay.text.units import format_bytes, format_count

_HEAD = re.compile(r"(?:(.*) )?Obdfilter-survey for case=(\w+) from (\S+)\s*")
_ZONE = re.compile(r"\s[A-Z]{2,5}(?=\s\d{4}$)|\s[+-]\d{2,4}(?=\s\d{4}$)")
_ROW = re.compile(r"ost +(\d{1,15}) sz +(\d{1,15})K rsz +(\d{1,15})K? obj +(\d{1,15}) thr +(\d{1,15}) (.*)")
_CELL = re.compile(r"([A-Za-z]\w*) +(\d+\.\d\d) +(?:\[ *\d+\.\d\d, *\d+\.\d\d\]|(ERROR|SHORT))(?: +|$)")
_DETAIL = "=======================> "
_SKIPPED = "Too much buffer space"
"""Printed in place of tests that would need more memory than the survey allows itself."""


@dataclass(frozen=True)
class _Survey:
    """The line above the rows; empty if there is none."""

    case: str = ""
    host: str | None = None
    began: str | None = None


@dataclass(frozen=True)
class _Cell:
    """A test of a row."""

    test: str
    rate: Printed
    token: str | None
    """`ERROR` or `SHORT`, in place of the momentary rates."""


@dataclass(frozen=True)
class _Row:
    """A row with its tests."""

    line: int
    targets: int
    total_bytes: int
    record_bytes: int
    objects: int
    threads: int
    cells: list[_Cell]


def read(source: Source, _: OpenSibling) -> list[Case]:
    """A case for each row that was measured. Raises `Refused`."""
    survey = _Survey()
    cases: list[Case] = []
    rows = 0
    for number, line in enumerate(source.lines, start=1):
        if line.startswith(_DETAIL):
            raise Refused("is the .detail file of a survey: import its .summary", number)
        if match := _HEAD.fullmatch(line):
            survey = _Survey(match[2], match[3], match[1])
        elif line.startswith("ost "):
            row = _row(line, number)
            rows += 1
            if row.cells:
                cases.append(_case(source, survey, row))
    if not cases:
        raise Refused(
            "has no row that was measured" if rows else "is not a summary of obdfilter-survey: no row begins `ost`"
        )
    return cases


def _row(line: str, number: int) -> _Row:
    """Parses a row. Raises `Refused` if it is cut off or does not fit."""
    match = _ROW.fullmatch(line)
    if match is None:
        raise Refused("has a row that is cut off, or of an unknown version", number)
    targets, total_kib, record_kib, objects, threads = (int(text) for text in match.groups()[:5])
    cells, position, cells_text = [], 0, match[6]
    while cell := _CELL.match(cells_text, position):
        cells.append(_Cell(cell[1], Printed.of(cell[2], number), cell[3]))
        position = cell.end()
    unparsed = cells_text[position:].strip()
    if unparsed != (_SKIPPED if not cells else ""):
        raise Refused(f"has a row that is cut off, or does not fit: {(unparsed or line)[-40:]!r}", number)
    if not all((targets, total_kib, record_kib, objects, threads)):
        raise Refused("has a row with a zero among its sizes and counts", number)
    return _Row(number, targets, total_kib * 1024, record_kib * 1024, objects, threads, cells)


def _case(source: Source, survey: _Survey, row: _Row) -> Case:
    settings = {
        "case": f"case={survey.case}" if survey.case else "",
        "targets": format_count(row.targets, "target"),
        "record": f"records of {format_bytes(row.record_bytes)}",
    }
    return Case(
        tool_version=None,
        settings=model.nonempty_settings(settings),
        amount=f"{format_bytes(row.total_bytes // row.targets)} for each target",
        clients=1,
        ranks=row.threads,
        groups=row.objects,
        measured=list(_measured(source, row)),
        target=survey.host,
        facts=model.nonempty_settings({"machine": survey.host}),
        started_unix_ns=moment_ns(_ZONE.sub("", survey.began)) if survey.began else None,
    )


def _measured(source: Source, row: _Row) -> Iterator[Measurement]:
    counts: Counter[str] = Counter()
    for cell in row.cells:
        counts[cell.test] += 1
        operation: Operation = "write" if "write" in cell.test else "read"
        rate = cell.rate.value * MIB
        yield Measurement(
            file=source.path,
            line=row.line,
            phase=cell.test if counts[cell.test] == 1 else f"{cell.test}-{counts[cell.test]}",
            operation=operation,
            layout="N-N" if row.objects == row.threads else "N-1" if row.objects == 1 else "N-M",
            order="sequential",
            files=row.objects,
            transfer_bytes=row.record_bytes,
            file_set_bytes=row.total_bytes,
            bytes=row.total_bytes,
            operations=row.total_bytes // row.record_bytes,
            # The survey prints the amount divided by the time, with two decimals.
            duration_ns=round(row.total_bytes / rate * NS_PER_S) if rate else None,
            rate_bytes_per_s=rate,
            rate_operations_per_s=rate / row.record_bytes,
            doubts=list(_doubts(row, cell)),
        )


def _doubts(row: _Row, cell: _Cell) -> Iterator[Doubt]:
    if cell.token == "ERROR":
        yield Doubt(
            kind="test-failed",
            message=f"a target failed in the test {cell.test}, but its time is included",
            remedy="look for the error in the .detail file; measure again",
            invalidates=True,
        )
    elif cell.token == "SHORT":
        yield Doubt(
            kind="short-phase",
            message=f"a target finished the test {cell.test} within a second",
            remedy="move more data: a larger size",
        )
    elif cell.rate.value:
        yield from doubts.short_phase(row.total_bytes / (cell.rate.value * MIB))
