"""elbencho's CSV. Versions differ in their columns, so values are read by column name; no value contains a comma."""

from __future__ import annotations

from collections.abc import Mapping

from ioassay.importers.elbencho.rows import CONFIGURATION, Row, Totals
from ioassay.importers.numbers import MIB, integer
from ioassay.importers.source import Refused, Source

_FIRST_COLUMN = "ISO date"
_NEEDED = (*CONFIGURATION, "operation", "time ms [first]", "time ms [last]")


def is_results(text: str) -> bool:
    return text.startswith(f"{_FIRST_COLUMN},")


def rows(source: Source) -> list[Row]:
    """Raises `Refused` for a row that does not fit its header."""
    rows_read: list[Row] = []
    header: list[str] = []
    for number, line in enumerate(source.lines, start=1):
        if not line.strip():
            continue
        values = line.split(",")
        if values[0] == _FIRST_COLUMN:
            header = values
            _check(header, number)
            continue
        if len(values) != len(header):
            raise Refused(f"has {len(values)} values in a row of {len(header)} columns", number)
        # Up to 2.0 a number ends the row: a truncated one would go unnoticed.
        if number == len(source.lines) and header[-1] != "command":
            raise Refused("ends within a row: it was cut off", number)
        rows_read.append(_row(source, number, dict(zip(header, values, strict=True))))
    if not rows_read:
        raise Refused("has columns but no result", 1)
    return rows_read


def _check(header: list[str], line: int) -> None:
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        raise Refused(f"has the columns of an unknown version of elbencho: {missing[0]!r} is missing", line)
    twice = [name for index, name in enumerate(header) if name in header[:index]]
    if twice:
        raise Refused(f"has the column {twice[0]!r} twice", line)


def _row(source: Source, line: int, values: Mapping[str, str]) -> Row:
    def totals(which: str, mixed: str = "") -> Totals:
        def value(name: str) -> int | None:
            return _whole(values.get(f"{mixed}{name} [{which}]", ""), name, line)

        def longest(kind: str) -> int | None:
            name = f"{mixed}{kind} lat us [max]"
            return _whole(values.get(name, ""), name, line) if which == "last" else None

        ios_per_s, mib, mib_per_s = value("IOPS"), value("MiB"), value("MiB/s")
        at_ms = _whole(values[f"time ms [{which}]"], "time ms", line)
        if at_ms is None:
            raise Refused("has a row without a time", line)
        return Totals(
            at_ms=at_ms,
            # Less than a MiB is printed as 0.
            bytes=mib * MIB if mib else None,
            bytes_per_s=mib_per_s * MIB if mib_per_s else None,
            ios=value("I/Os"),
            ios_per_s=ios_per_s,
            entries=value("entries"),
            entries_per_s=value("entries/s"),
            longest_io_us=longest("IO"),
            longest_entry_us=longest("Ent"),
        )

    return Row(
        file=source.path,
        line=line,
        phase=values["operation"],
        began=values[_FIRST_COLUMN],
        label=values.get("label", ""),
        version=values.get("version") or None,
        command=values.get("command", ""),
        configuration={name: values[name] for name in CONFIGURATION},
        first=totals("first"),
        last=totals("last"),
        first_mixed=totals("first", "rwmix read "),
        last_mixed=totals("last", "rwmix read "),
    )


def _whole(text: str, name: str, line: int) -> int | None:
    return integer(text, line, name) if text else None
