"""Output of Prometheus exporters for Lustre, as Prometheus text or OpenMetrics: several scrapes in one file.

OpenMetrics is read like the older text: the library's strict parser refuses whamcloud's output with its `# EOF`,
and a counter's line is the same in both, apart from the unit of its time.

A time is that of a sample (`METRIC VALUE TIME`), or else the line before a scrape that `date +%s` or `date +%s.%N`
printed. A scrape begins at such a line, after `# EOF`, or where a metric is described again. Metrics are those of
lustre_exporter (HPE, GSI) and of lustrefs-exporter (whamcloud), with the same names: `lustre_read_bytes_total`,
`lustre_job_write_samples_total`, `lustre_stats_total`, `lustre_client_stats`, `lustre_send_bytes_total`. Others are
left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.servers.counters import (
    LARGEST,
    OPERATIONS,
    STAMP,
    Count,
    CounterSource,
    Origin,
    Reading,
    require_end,
    stamp_ns,
)
from ioassay.importers.source import Refused, Source

if TYPE_CHECKING:
    from prometheus_client.samples import Sample

_MOVED = re.compile(r"lustre_(job_)?(read|write)_(bytes|samples)_total")
_NETWORK = re.compile(r"lustre_(send|receive)_(bytes|count)_total")
_CLIENT = ("lustre_client_stats", "lustre_client_stats_total")
"""The parser appends `_total` to the names of counters."""

_OPERATIONS = ("lustre_stats_total", "lustre_job_stats_total", *_CLIENT)
_LOOPBACK = "0@lo"
_DESCRIBED = re.compile(r"# (?:TYPE|HELP) (\S+) .*")
_END = "# EOF"
_EARLIEST_S, _LATEST_S = 1e8, 4e9
"""1973 and 2096: a time printed in seconds is smaller if read as milliseconds."""


@dataclass
class _Scrape:
    """The lines of a scrape, and the time printed before it."""

    line: int
    stamp_ns: int | None
    lines: list[str] = field(default_factory=list)


def read(source: Source) -> list[Reading]:
    """Raises `Refused`."""
    scrapes = [scrape for scrape in _scrapes(source) if scrape.lines]
    amounts: dict[tuple[CounterSource, int | None], dict[tuple[str, bool], int]] = {}
    lines: dict[tuple[CounterSource, int | None], int] = {}
    for scrape in scrapes:
        for sample in _samples(scrape):
            if (place := _place(sample)) is None:
                continue
            counter_source, name, is_bytes = place
            key = counter_source, _moment(sample, scrape)
            amounts_at = amounts.setdefault(key, {})
            if (name, is_bytes) in amounts_at:
                raise Refused(
                    f"has {sample.name} of {counter_source.name} twice at one time: scrapes need times", scrape.line
                )
            amounts_at[name, is_bytes] = _whole(sample, scrape)
            lines.setdefault(key, scrape.line)
    if not amounts:
        raise Refused("has none of the counters of Lustre's exporters in Prometheus' text")
    if len(moments := {at_ns for _, at_ns in amounts}) > 1 and None in moments:
        # Its counters would be missing from the scrape before, and count from 0 in the one after.
        line = min(line for (_, at_ns), line in lines.items() if at_ns is None)
        raise Refused("has counters without a time among scrapes that have one", line)
    require_end(source)
    return [
        Reading(
            counter_source,
            lines[counter_source, at_ns],
            at_ns,
            {name: _count(amounts_at, name) for name in {name for name, _ in amounts_at}},
        )
        for (counter_source, at_ns), amounts_at in amounts.items()
    ]


def _count(amounts: dict[tuple[str, bool], int], name: str) -> Count:
    return Count(amounts.get((name, False)), amounts.get((name, True)))


def _scrapes(source: Source) -> Iterator[_Scrape]:
    current = _Scrape(1, None)
    described: set[str] = set()
    for number, line in enumerate(source.lines, start=1):
        stamp = STAMP.fullmatch(line)
        match = _DESCRIBED.fullmatch(line)
        is_again = match is not None and line.split(" ", 3)[1] == "TYPE" and match[1] in described
        if stamp or is_again or (current.lines and current.lines[-1] == _END and line.strip()):
            yield current
            current, described = _Scrape(number, stamp_ns(stamp) if stamp else None), set()
        if match and line.split(" ", 3)[1] == "TYPE":
            described.add(match[1])
        if not stamp and line.strip():
            current.lines.append(line)
    yield current


def _samples(scrape: _Scrape) -> Iterator[Sample]:
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415

    try:
        for family in text_string_to_metric_families("\n".join(scrape.lines) + "\n"):
            yield from family.samples
    except _MALFORMED as error:
        reason = f": {error}"[:160] if str(error) else ""
        raise Refused(f"is not Prometheus' text{reason}", _broken(scrape)) from None


_MALFORMED = (ValueError, ArithmeticError, LookupError, TypeError)
"""Exceptions of the parser for invalid text."""


def _broken(scrape: _Scrape) -> int:
    """The first line that cannot be parsed alone, or else the first line of the scrape."""
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415

    for offset, line in enumerate(scrape.lines):
        try:
            list(text_string_to_metric_families(line + "\n"))
        except _MALFORMED:
            return scrape.line + offset
    return scrape.line


def _place(sample: Sample) -> tuple[CounterSource, str, bool] | None:
    """The counter's source, its name, and whether it counts bytes; `None` if it is not read."""
    labels = sample.labels
    if match := _NETWORK.fullmatch(sample.name):
        interface = labels.get("nid", "lnet")
        return None if interface == _LOOPBACK else (CounterSource("network", interface), match[1], match[2] == "bytes")
    target = labels.get("target", "")
    if match := _MOVED.fullmatch(sample.name):
        name, is_bytes = match[2], match[3] == "bytes"
    elif sample.name in _OPERATIONS and labels.get("operation") in OPERATIONS.keys() - {"read", "write"}:
        name, is_bytes = labels["operation"], False
    else:
        return None
    if not target:
        return None
    is_client = labels.get("component") == "client" or sample.name in _CLIENT
    origin: Origin = "client" if is_client else "target"
    system, dash, _ = target.rpartition("-")
    return CounterSource(origin, target, system if dash else target, labels.get("jobid")), name, is_bytes


def _moment(sample: Sample, scrape: _Scrape) -> int | None:
    if sample.timestamp is None:
        return scrape.stamp_ns
    seconds = float(sample.timestamp)  # the parser reads it as milliseconds; OpenMetrics prints seconds
    seconds = seconds * 1000 if seconds < _EARLIEST_S else seconds
    if not _EARLIEST_S <= seconds < _LATEST_S:
        raise Refused(f"has a time of {seconds:g} s", scrape.line)
    return round(seconds * 1000) * (NS_PER_S // 1000)


def _whole(sample: Sample, scrape: _Scrape) -> int:
    if not 0 <= sample.value < LARGEST:  # NaN is neither
        raise Refused(f"has {str(sample.value)[:20]} where a counter should be ({sample.name})", scrape.line)
    return round(sample.value)
