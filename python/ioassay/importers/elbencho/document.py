"""elbencho's JSON, of 2.1 and later: a document for each phase, all values of it text."""

from __future__ import annotations

from ioassay.importers.elbencho import latencies
from ioassay.importers.elbencho.rows import CONFIGURATION, Row, Totals
from ioassay.importers.json_text import Parsed, documents
from ioassay.importers.model import Latencies
from ioassay.importers.numbers import integer
from ioassay.importers.source import Refused, Source

_SWITCHES = {"true": "1", "false": "0"}


def rows(source: Source) -> list[Row]:
    rows_read = [_row(source, document) for document in documents(source)]
    if not rows_read:
        raise Refused("has no elbencho document")
    return rows_read


def _row(source: Source, document: Parsed) -> Row:
    if "phase_type" not in document.values:
        raise Refused("is not elbencho's JSON: a document has no `phase_type`", document.line)
    configuration = document.part("config")
    first, last = document.part("first_done"), document.part("last_done")
    return Row(
        file=source.path,
        line=document.line,
        phase=document.text("phase_type"),
        began=document.text("iso_start_date"),
        label=document.text("label") if document.has("label") else "",
        version=configuration.text("version"),
        command=configuration.text("command"),
        configuration={name: _configuration_text(configuration, key) for name, key in CONFIGURATION.items()},
        first=_totals(first),
        last=_totals(last),
        first_mixed=_totals(first, "rwmix_read"),
        last_mixed=_totals(last, "rwmix_read"),
    )


def _configuration_text(configuration: Parsed, key: str) -> str:
    text = configuration.text(key) if configuration.has(key) else ""
    return _SWITCHES.get(text, text)


def _totals(parsed: Parsed, part: str | None = None) -> Totals:
    at_ms = _whole(parsed, "elapsed_time_ms")
    if at_ms is None:
        raise Refused("has a phase without a time", parsed.line)
    totals = parsed if part is None else _part(parsed, part)
    spent = _part(parsed, "latency")
    io, entries = _part(spent, "IO"), _part(spent, "entries")
    return Totals(
        at_ms=at_ms,
        bytes=_whole(totals, "bytes"),
        bytes_per_s=_whole(totals, "bytes/s"),
        ios_per_s=_whole(totals, "iops"),
        entries=_whole(totals, "entries"),
        entries_per_s=_whole(totals, "entries/s"),
        io_latencies=_latencies(io, part),
        entry_latencies=_latencies(entries, part),
        longest_io_us=_whole(io if part is None else _part(io, part), "max_us"),
        longest_entry_us=_whole(entries if part is None else _part(entries, part), "max_us"),
    )


def _latencies(parsed: Parsed, part: str | None) -> Latencies | None:
    histogram = _part(parsed, "histogram")
    histogram_part = histogram if part is None else _part(histogram, part)
    if not histogram_part.has("buckets"):
        return None
    counts = [
        (bucket.text("range"), integer(bucket.text("count"), parsed.line, "count"))
        for bucket in histogram_part.parts("buckets")
    ]
    ends = [(range_.removesuffix("us").split("-")[-1], count) for range_, count in counts]
    longest_us = _whole(parsed if part is None else _part(parsed, part), "max_us")
    return latencies.of_bins(ends, parsed.line, longest_us or None)


def _part(parsed: Parsed, name: str) -> Parsed:
    """An object in it; an empty one if there is none."""
    return parsed.part(name) if parsed.has(name) else Parsed({}, parsed.line)


def _whole(parsed: Parsed, name: str) -> int | None:
    return integer(parsed.text(name), parsed.line, name) if parsed.has(name) else None
