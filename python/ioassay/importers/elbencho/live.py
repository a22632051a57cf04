"""elbencho's CSV of live statistics (`--livecsv`): totals every two seconds, or as configured.

The rows of all workers together become samples; those of single workers (`--livecsvex`) have empty cells. The last row
is not the end of its phase: only the CSV of results has what came later, so these results carry a doubt.
Up to 3.0-17 rows have no date.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from ioassay.importers.elbencho.rows import CONFIGURATION, Row, Totals
from ioassay.importers.model import Doubt, Samples
from ioassay.importers.numbers import integer
from ioassay.importers.source import Refused, Source

_DATE = "ISO Date"
_COLUMNS = ("Label", "Phase", "RuntimeMS", "Rank", "MixType", "Done%", "DoneBytes", "IOPS", "Entries")
_ALL = "Total"
_UNEVEN = 0.1
"""Relative tolerance between the lengths of intervals; if they differ by more, there are no samples."""


def is_live(text: str) -> bool:
    return text.startswith((f"{_DATE},", ",".join(_COLUMNS[:2])))


def rows(source: Source) -> list[Row]:
    """The phases, as far as they are recorded. Raises `Refused` for a row that does not fit its header."""
    header = source.lines[0].split(",")
    missing = [name for name in _COLUMNS if name not in header]
    if missing:
        raise Refused(f"has the columns of an unknown version of elbencho: {missing[0]!r} is missing", 1)
    phases: list[list[_LiveRow]] = []
    for number, line in enumerate(source.text.splitlines()[1:], start=2):
        values = line.split(",")
        if len(values) != len(header) or not source.text.endswith("\n"):
            raise Refused("has a row that is cut off", number)
        named = dict(zip(header, values, strict=True))
        if named["Rank"] != _ALL:
            continue
        if named["MixType"]:
            raise Refused("has live statistics of a mix of reads and writes: import the CSV of results", number)
        moment = _LiveRow(number, named)
        if phases and not phases[-1][-1].is_before(moment):
            raise Refused("has rows that are out of order", number)
        if not phases or not phases[-1][-1].goes_on(moment):
            phases.append([])
        phases[-1].append(moment)
    if not phases:
        raise Refused("has columns but no result", 1)
    return [_row(source, phase) for phase in phases]


class _LiveRow:
    """A row: totals of all workers at one moment."""

    def __init__(self, line: int, values: Mapping[str, str]) -> None:
        self.line, self.values = line, values
        self.at_ms, self.bytes, self.iops, self.entries, self.percent = (
            integer(values[name], line, name) for name in ("RuntimeMS", "DoneBytes", "IOPS", "Entries", "Done%")
        )

    def is_before(self, later: _LiveRow) -> bool:
        """False if `later` cannot have come later. Without dates, that shows only within a phase."""
        if _DATE in self.values:
            return self.values[_DATE] < later.values[_DATE]
        return self.at_ms != later.at_ms or self.values["Phase"] != later.values["Phase"]

    def goes_on(self, later: _LiveRow) -> bool:
        """True if `later` is of the same phase."""
        same = all(self.values[name] == later.values[name] for name in ("Label", "Phase"))
        return same and later.at_ms > self.at_ms and later.bytes >= self.bytes and later.entries >= self.entries


def _row(source: Source, phase: Sequence[_LiveRow]) -> Row:
    last = phase[-1]
    if last.at_ms == 0:
        raise Refused("has a phase without a time", last.line)

    def per_s(amount: int) -> int | None:
        return amount * 1000 // last.at_ms or None

    totals = Totals(
        at_ms=last.at_ms,
        bytes=last.bytes or None,
        bytes_per_s=per_s(last.bytes),
        entries=last.entries or None,
        entries_per_s=per_s(last.entries),
        longest_io_us=_highest(phase, "Lat IO us"),
        longest_entry_us=_highest(phase, "Lat Ent us"),
    )
    return Row(
        file=source.path,
        line=last.line,
        phase=last.values["Phase"],
        began="",
        label=last.values["Label"],
        version=None,
        command="",
        configuration=dict.fromkeys(CONFIGURATION, ""),
        first=None,
        last=totals,
        first_mixed=None,
        last_mixed=Totals(at_ms=0),
        samples=_samples(phase),
        doubts=tuple(_doubts(last)),
    )


def _highest(phase: Sequence[_LiveRow], name: str) -> int | None:
    return max(integer(row.values[name], row.line, name) for row in phase) if name in phase[-1].values else None


def _samples(phase: Sequence[_LiveRow]) -> Samples | None:
    """The amounts of each interval; operations are the rate in it times its length."""
    if len(phase) < 2 or not phase[-1].bytes:
        return None
    lengths = [phase[0].at_ms, *(after.at_ms - before.at_ms for before, after in pairwise(phase))]
    typical = median(lengths)
    if any(abs(length - typical) > _UNEVEN * typical for length in lengths):
        return None
    moved = [phase[0].bytes, *(after.bytes - before.bytes for before, after in pairwise(phase))]
    return Samples(
        interval_ns=round(typical * 1_000_000),
        rank=[0] * len(phase),
        sample=range(len(phase)),
        bytes=moved,
        operations=[round(moment.iops * length / 1000) for moment, length in zip(phase, lengths, strict=True)],
    )


def _doubts(last: _LiveRow) -> Iterator[Doubt]:
    yield Doubt(
        kind="live-statistics",
        message=f"elbencho's live statistics of the phase end after {last.at_ms / 1000:g} s, at {last.percent} % "
        "of the work; the rest is unknown",
        remedy="import the CSV or JSON of results (--csvfile, --jsonfile)",
        evidence={"at_ms": last.at_ms, "done_percent": last.percent},
    )
