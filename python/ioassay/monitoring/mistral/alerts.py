"""Mistral's log entries ↔ alerts, the documents of that kind that agents send (`crates/protocol/src/watch/kinds.rs`).

An alert has no processor, so its entry has 0; an entry has no mount point.
Not: lines (`log`), rules (`mapping`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

from ioassay.errors import UsageError
from ioassay.monitoring.mistral.log import MOST_COMMAND, LogEntry, Source
from ioassay.monitoring.mistral.mapping import MEASURE, MEASUREMENT, call_types_of, classes_of
from ioassay.monitoring.mistral.terms import LARGEST, TIMES, SizeRange, Unreadable, units_of
from ioassay.protocol.contract import Action, Measure
from ioassay.text import units

_US: Final = 1_000_000
_NS_PER_US: Final = 1000
_SERVED: Final = re.compile("(?P<host>[^/]+?):(?P<name>/.*)", re.DOTALL)
"""The source of a network mount."""


@dataclass(frozen=True, kw_only=True)
class Alert:
    """An alert that a rule was broken. The fields are those of the document, and its second and part."""

    second: int
    """Since 1970."""
    part: int
    """0, or the number of this addition to the same second."""
    node: str
    job: str
    """Empty for all jobs of the node together."""
    label: str
    action: Action
    user: str
    """User id; empty if unknown."""
    scope: str = ""
    """The scope, as in contracts."""
    jobs: str = ""
    """The jobs that the rule selects; empty for all."""
    path: str
    """Empty for all files."""
    classes: str
    """Classes of calls, separated by commas."""
    sizes: str
    """Transfer sizes in bytes: `all`, `4096-65536` or `4096-`."""
    measure: Measure
    measured: int
    """In the unit of the measure: bytes, nanoseconds, calls."""
    allowed: int
    window_s: int
    waits: int
    waited_ns: int
    """Delay by a throttle rule; 0 from Mistral."""
    pid: str
    command: str
    file: str
    mount_point: str
    file_system: str
    """Type of the file system; empty if unknown."""
    mount_source: str
    """A device, or `server:/path`."""
    rank: str
    """Empty if there is none."""


def entry_of(alert: Alert, sequence: int, zone: tzinfo) -> LogEntry:
    """The log entry of an alert; `zone` is the node's time zone."""
    measurement = MEASUREMENT[alert.measure]
    served = _SERVED.fullmatch(alert.mount_source)
    per_unit = _NS_PER_US if units_of(measurement) is TIMES else 1
    return LogEntry(
        source=Source("local" if alert.job else "global", alert.action),
        time=datetime.fromtimestamp(alert.second, zone).replace(microsecond=alert.part % _US, tzinfo=None),
        label=alert.label,
        path=alert.path or "/",
        file_system_type=alert.file_system,
        file_system_name=served["name"] if served else alert.mount_source,
        file_system_host=served["host"] if served else "",
        call_types=call_types_of(alert.classes.split(","), alert.measure),
        sizes=_sizes(alert.sizes),
        measurement=measurement,
        measured=min(alert.measured // per_unit, LARGEST),
        measured_us=alert.window_s * _US,
        threshold=min(alert.allowed // per_unit, LARGEST),
        timeframe_us=alert.window_s * _US,
        host=alert.node,
        pid=min(int(alert.pid), LARGEST) if re.fullmatch("[0-9]{1,19}", alert.pid) else 0,
        processor=0,
        command=alert.command[:MOST_COMMAND],
        file=alert.file,
        job_group="",
        job=alert.job,
        rank=int(alert.rank) if re.fullmatch("[0-9]{1,9}", alert.rank) else None,
        sequence=sequence,
    )


def alert_of(entry: LogEntry, zone: tzinfo) -> Alert:
    """The alert of a log entry; `zone` is the host's time zone. Raises `UsageError`."""
    measure = MEASURE.get(entry.measurement)
    if measure is None:
        raise UsageError(f"Entry {entry.sequence}: {entry.measurement} is not a measure of ioassay.")
    if entry.timeframe_us == 0 or entry.timeframe_us % _US:
        raise UsageError(f"Entry {entry.sequence}: its time frame is not a whole number of seconds.")
    per_unit = _NS_PER_US if units_of(entry.measurement) is TIMES else 1
    if max(entry.measured, entry.threshold) * per_unit > units.LARGEST:
        raise UsageError(f"Entry {entry.sequence}: a time is longer than 584 years.")
    try:
        classes = classes_of(entry.call_types, entry.measurement)
    except Unreadable as error:
        raise UsageError(f"Entry {entry.sequence}: {error.wrong}.") from None
    job = entry.job if entry.source.scope == "local" else ""
    return Alert(
        second=int(entry.time.replace(microsecond=0, tzinfo=zone).timestamp()),
        part=entry.time.microsecond,
        node=entry.host,
        job=job,
        label=entry.label,
        action=entry.source.kind,
        user="",
        scope="job" if job else "node",
        path="" if entry.path == "/" else entry.path,
        classes=",".join(classes),
        sizes=_range(entry.sizes),
        measure=measure,
        measured=entry.measured * per_unit,
        allowed=entry.threshold * per_unit,
        window_s=entry.timeframe_us // _US,
        waits=0,
        waited_ns=0,
        pid=str(entry.pid),
        command=entry.command,
        file=entry.file,
        mount_point="",
        file_system=entry.file_system_type,
        mount_source=f"{entry.file_system_host}:{entry.file_system_name}"
        if entry.file_system_host
        else entry.file_system_name,
        rank="" if entry.rank is None else str(entry.rank),
    )


def _sizes(text: str) -> SizeRange:
    """Parses a range in bytes."""
    if text == "all":
        return SizeRange()
    least, _, most = text.partition("-")
    return SizeRange(min(int(least), LARGEST), min(int(most), LARGEST) if most else None)


def _range(sizes: SizeRange) -> str:
    """Formats a range in bytes."""
    if sizes == SizeRange():
        return "all"
    return f"{sizes.least_bytes}-{'' if sizes.most_bytes is None else sizes.most_bytes}"
