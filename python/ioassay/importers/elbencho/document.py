"""elbencho's JSON, of 2.1 and later: a document for each phase, all values of it text."""

from __future__ import annotations

from ioassay.importers.elbencho import latencies
from ioassay.importers.elbencho.rows import CONFIGURATION, Row, Totals
from ioassay.importers.json_text import Parsed, documents
from ioassay.importers.model import Latencies
from ioassay.importers.numbers import whole
from ioassay.importers.source import Refused, Source

_SWITCHES = {"true": "1", "false": "0"}


def rows(source: Source) -> list[Row]:
    rows_read = [_row(source, document) for document in documents(source)]
    if not rows_read:
        raise Refused("has no elbencho document")
    return rows_read


def _row(source: Source, told: Parsed) -> Row:
    if "phase_type" not in told.values:
        raise Refused("is not elbencho's JSON: a document has no `phase_type`", told.line)
    configuration = told.part("config")
    first, last = told.part("first_done"), told.part("last_done")
    return Row(
        file=source.path,
        line=told.line,
        phase=told.text("phase_type"),
        began=told.text("iso_start_date"),
        label=told.text("label") if told.has("label") else "",
        version=configuration.text("version"),
        command=configuration.text("command"),
        configuration={name: _said(configuration, key) for name, key in CONFIGURATION.items()},
        first=_done(first),
        last=_done(last),
        first_mixed=_done(first, "rwmix_read"),
        last_mixed=_done(last, "rwmix_read"),
    )


def _said(configuration: Parsed, key: str) -> str:
    said = configuration.text(key) if configuration.has(key) else ""
    return _SWITCHES.get(said, said)


def _done(told: Parsed, part: str | None = None) -> Totals:
    at_ms = _whole(told, "elapsed_time_ms")
    if at_ms is None:
        raise Refused("has a phase without a time", told.line)
    own = told if part is None else _part(told, part)
    spent = _part(told, "latency")
    io, entries = _part(spent, "IO"), _part(spent, "entries")
    return Totals(
        at_ms=at_ms,
        bytes=_whole(own, "bytes"),
        bytes_per_s=_whole(own, "bytes/s"),
        ios_per_s=_whole(own, "iops"),
        entries=_whole(own, "entries"),
        entries_per_s=_whole(own, "entries/s"),
        io_latencies=_latencies(io, part),
        entry_latencies=_latencies(entries, part),
        longest_io_us=_whole(io if part is None else _part(io, part), "max_us"),
        longest_entry_us=_whole(entries if part is None else _part(entries, part), "max_us"),
    )


def _latencies(told: Parsed, part: str | None) -> Latencies | None:
    histogram = _part(told, "histogram")
    own = histogram if part is None else _part(histogram, part)
    if not own.has("buckets"):
        return None
    counts = [(one.text("range"), whole(one.text("count"), told.line, "count")) for one in own.parts("buckets")]
    ends = [(range_.removesuffix("us").split("-")[-1], count) for range_, count in counts]
    longest_us = _whole(told if part is None else _part(told, part), "max_us")
    return latencies.of_bins(ends, told.line, longest_us or None)


def _part(told: Parsed, name: str) -> Parsed:
    """An object in it, an empty one where there is none."""
    return told.part(name) if told.has(name) else Parsed({}, told.line)


def _whole(told: Parsed, name: str) -> int | None:
    return whole(told.text(name), told.line, name) if told.has(name) else None
