"""elbencho's CSV. Versions differ in their columns, so they are taken by their names; no value has a comma in it."""

from __future__ import annotations

from collections.abc import Mapping

from ioassay.importers.elbencho.rows import CONFIGURATION, Done, Row
from ioassay.importers.numbers import MIB, whole
from ioassay.importers.source import Refused, Source

_FIRST_COLUMN = "ISO date"
_NEEDED = (*CONFIGURATION, "operation", "time ms [first]", "time ms [last]")


def is_results(text: str) -> bool:
    """True for the CSV of results, not that of live statistics."""
    return text.startswith(f"{_FIRST_COLUMN},")


def rows(source: Source) -> list[Row]:
    """The rows. Raises `Refused` for one that does not fit its header."""
    found: list[Row] = []
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
        # Up to 2.0 a number ends the row, and of a cut one nobody could tell.
        if number == len(source.lines) and header[-1] != "command":
            raise Refused("ends within a row: it was cut off", number)
        found.append(_row(source, number, dict(zip(header, values, strict=True))))
    if not found:
        raise Refused("has columns but no result", 1)
    return found


def _check(header: list[str], line: int) -> None:
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        raise Refused(f"has the columns of an unknown version of elbencho: {missing[0]!r} is missing", line)
    twice = [name for at, name in enumerate(header) if name in header[:at]]
    if twice:
        raise Refused(f"has the column {twice[0]!r} twice", line)


def _row(source: Source, line: int, values: Mapping[str, str]) -> Row:
    def done(which: str, mixed: str = "") -> Done:
        def value(name: str) -> int | None:
            return _whole(values.get(f"{mixed}{name} [{which}]", ""), name, line)

        def longest(of: str) -> int | None:
            name = f"{mixed}{of} lat us [max]"
            return _whole(values.get(name, ""), name, line) if which == "last" else None

        ios_per_s, mib, mib_per_s = value("IOPS"), value("MiB"), value("MiB/s")
        at_ms = _whole(values[f"time ms [{which}]"], "time ms", line)
        if at_ms is None:
            raise Refused("has a row without a time", line)
        return Done(
            at_ms=at_ms,
            # Less than a MiB is printed as none.
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
        first=done("first"),
        last=done("last"),
        first_mixed=done("first", "rwmix read "),
        last_mixed=done("last", "rwmix read "),
    )


def _whole(text: str, name: str, line: int) -> int | None:
    return whole(text, line, name) if text else None
