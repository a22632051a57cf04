"""The state of jobs and nodes as tables for a terminal: the most important rows remain in small terminals.

Each section has a line of headings; the first one names the section and says how much of it is shown. Wide terminals
have two columns of sections, and more columns in each.
"""

from __future__ import annotations

import pwd
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ioassay.monitoring.view.documents import Document
from ioassay.monitoring.view.state import Load, View, user_added_up
from ioassay.text import format
from ioassay.text.units import format_count

WIDE: Final = 150
"""Terminal width from which sections are in two columns."""

_ROOMY: Final = 110
"""Terminal width from which a section shows all columns."""

_QUIET_AFTER_S: Final = 5
_HEADER_LINES: Final = 2
_GAP: Final = 3

_SCALE: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def scaled(number: float, unit: str = "") -> str:
    """A number with three significant digits and a decimal prefix: `1.23 GB`, `12k`."""
    factor, prefix = next(((factor, prefix) for factor, prefix in _SCALE if number >= factor), (1.0, ""))
    value = number / factor
    digits = f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.{1 if value >= 10 else 2}f}"
    return f"{digits} {prefix}{unit}" if unit else f"{digits}{prefix}"


def _rate(number: float) -> str:
    return scaled(number, "B") if number else "0"


def _time(duration_ns: float | None) -> str:
    return format.duration(duration_ns)


def _clock(second: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(second))


@lru_cache(maxsize=1024)
def _user(number: str) -> str:
    try:
        return pwd.getpwuid(int(number)).pw_name
    except (KeyError, ValueError, OverflowError):
        return number


@dataclass(frozen=True)
class _Column:
    heading: str
    cell: Callable[[Any], str]
    right: bool = True
    roomy: bool = False
    """Shown only in wide sections."""
    least: int | None = None
    """Fewest characters of a shortened text."""


@dataclass(frozen=True)
class _Section:
    """A table with the most important rows first."""

    name: str
    columns: Sequence[_Column]
    rows: Sequence[Any]
    total: int
    """The total number of rows, even if only the first are given."""
    style: Callable[[Any], str] = lambda _: ""
    weight: int = 1
    """Its weight in sharing free lines."""

    def table(self, rows: int, width: int) -> Table:
        """The first rows as a table."""
        visible = self.rows[:rows]
        heading = self.name if len(visible) == self.total else f"{self.name} ({len(visible)} of {self.total})"
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold", width=width)
        columns = [column for column in self.columns if not column.roomy or width >= _ROOMY]
        for number, column in enumerate(columns):
            justify: Literal["left", "right"] = "right" if column.right else "left"
            table.add_column(
                heading if number == 0 else column.heading,
                justify=justify,
                no_wrap=True,
                overflow="ellipsis",
                min_width=column.least,
                ratio=1 if column.least is not None and number == len(columns) - 1 else None,
            )
        for row in visible:
            table.add_row(*(Text(column.cell(row)) for column in columns), style=self.style(row))
        return table


def render(view: View, width: int, height: int, now: int | None = None, note: str = "") -> RenderableType:
    """The view in a terminal of that size. `now` is the current second, if documents are live; `note`
    is an additional message.
    """
    head = _head(view, now, note)
    sections = [section for section in _sections(view) if section.rows]
    if not sections:
        return Group(*head, Text("no job yet", style="dim"))
    room = max(3, height - _HEADER_LINES)
    if width < WIDE:
        return Group(*head, _stacked(sections, width, room))
    half = (width - _GAP) // 2
    grid = Table.grid(padding=(0, _GAP, 0, 0))
    left = [section for section in sections if section.name in ("JOB", "TARGET", "NODE", "DEVICE")]
    right = [section for section in sections if section not in left]
    grid.add_column(width=half)
    grid.add_column(width=half)
    grid.add_row(_stacked(left, half, room), _stacked(right, half, room))
    return Group(*head, grid)


def _stacked(sections: Sequence[_Section], width: int, room: int) -> RenderableType:
    """Sections one below the other, separated by empty lines, in `room` lines."""
    shares = _share(sections, room)
    visible: list[RenderableType] = []
    for section, rows in zip(sections, shares, strict=True):
        if rows:
            visible += [*([Text("")] if visible else []), section.table(rows, width)]
    return Group(*visible)


def _share(sections: Sequence[_Section], room: int) -> list[int]:
    """The rows of each section. Earlier sections have precedence; each needs a heading, and an empty line before."""
    shares = [0] * len(sections)
    for number in range(len(sections)):
        cost = 2 if number == 0 else 3
        if room >= cost:
            shares[number] = 1
            room -= cost
    while room > 0:
        hungry = [
            number for number, section in enumerate(sections) if shares[number] and shares[number] < len(section.rows)
        ]
        if not hungry:
            break
        most = min(hungry, key=lambda number: shares[number] / sections[number].weight)
        shares[most] += 1
        room -= 1
    return shares


def _head(view: View, now: int | None, note: str) -> list[Text]:
    """Two lines about the whole view."""
    lines = ((summary(view, now), "bold"), (note, "yellow"))
    return [Text(line, style=style, no_wrap=True, overflow="ellipsis") for line, style in lines]


def summary(view: View, now: int | None = None) -> str:
    """The latest second in a line."""
    second = view.second
    if second is None:
        return view.ahead or "waiting for the first second of an agent"
    rates, nodes, jobs = view.totals(), view.seconds(), view.jobs()
    parts = [f"{_clock(second)} {format_count(len(nodes), 'node')}, {format_count(len(jobs), 'job')}"]
    if view.alert_count:
        parts.append(format_count(view.alert_count, "alert"))
    parts += [
        f"read {scaled(rates.read_bytes, 'B/s')}",
        f"write {scaled(rates.write_bytes, 'B/s')}",
        f"{scaled(rates.metadata_calls)} metadata calls/s",
    ]
    if rates.calls:
        parts.append(f"slowest {_time(rates.slowest_ns)}")
    if now is not None and now - second > _QUIET_AFTER_S:
        parts.insert(0, f"no data for {_time((now - second) * 1e9)}")
    if view.refused:
        parts.append(f"{format_count(view.refused, 'line')} refused")
    if view.ahead:
        parts.append(view.ahead)
    return ", ".join(parts)


def alert_line(alert: Document) -> str:
    """An alert in a line."""
    whose = _whose(alert.text("job"), user_added_up(alert), "all jobs")
    parts = [f"{_clock(alert.second)} {alert.text('label')}: {whose} on {alert.node}: {_broken(alert)}"]
    if path := alert.text("file") or alert.text("path"):
        parts.append(path)
    if command := alert.text("command"):
        parts.append(f"{command} (pid {alert.text('pid')})")
    return ", ".join(parts)


def _whose(job: str, user: str, default: str) -> str:
    """Whose calls a rule sums."""
    return job or (f"user {_user(user)}" if user else default)


def _broken(alert: Document) -> str:
    """How a rule was broken: `512MB of 500MB in 10 s`; for a throttle rule, `12 calls held 2.1 s`.

    A throttle rule kept the job within its limit, so the measured amount does not exceed it.
    """
    if alert.text("action") == "throttle" and (waits := alert.number("waits")):
        return f"{scaled(waits)} call{'' if waits == 1 else 's'} held {_time(alert.number('waited_ns'))}"
    measured, allowed = (_about(alert.text("measure"), alert.number(name)) for name in ("measured", "allowed"))
    return f"{measured} of {allowed} in {alert.number('window_s')} s"


def _about(measure: str, amount: int) -> str:
    """An amount of a measure, to three digits."""
    if measure in {"", "count"}:
        return scaled(amount)
    in_time = measure.endswith(("latency", "time"))
    return _time(amount) if in_time else scaled(amount, "B")


def _sections(view: View) -> list[_Section]:
    """All sections, the most important first."""
    jobs, rules, calls, nodes, devices = view.jobs(), view.rules(), view.in_flight(), view.nodes(), view.devices()
    loads = view.loads()
    alerts = list(reversed(view.alerts))
    return [
        _Section("JOB", _JOB, jobs, len(jobs), weight=3),
        _Section("TARGET", _TARGET, loads, len(loads), weight=3),
        _Section("ALERT", _ALERT, alerts, view.alert_count, lambda _: "red", weight=2),
        _Section(
            "RULE", _RULE, rules, len(rules), lambda rule: {"throttles": "yellow", "broken": "red"}.get(rule.state, "")
        ),
        _Section("CALL IN FLIGHT", _IN_FLIGHT, calls, len(calls)),
        _Section("NODE", _NODE, nodes, len(nodes), lambda node: "dim" if node.is_silent else "", weight=2),
        _Section("DEVICE", _DEVICE, devices, len(devices)),
    ]


_JOB: Final = (
    _Column("JOB", lambda job: job.name, right=False, least=10),
    _Column("USER", lambda job: _user(job.user), right=False, roomy=True),
    _Column("READ/s", lambda job: _rate(job.rates.read_bytes)),
    _Column("WRITE/s", lambda job: _rate(job.rates.write_bytes)),
    _Column("META/s", lambda job: scaled(job.rates.metadata_calls)),
    _Column("MEAN", lambda job: _time(job.rates.mean_ns)),
    _Column("SLOWEST", lambda job: _time(job.rates.slowest_ns or None)),
    _Column("HELD", lambda job: _time(job.throttled_ns or None), roomy=True),
    _Column("NODES", lambda job: str(job.nodes), roomy=True),
    _Column("PROCS", lambda job: str(job.processes)),
    _Column("COMMAND", lambda job: job.command, right=False, least=6),
)


def _target_name(load: Load) -> str:
    """A target's name: Lustre's names include the file system; NFS has a path, or the whole server."""
    if load.service.startswith("Lustre"):
        return load.target
    return load.target if load.target.startswith("/") else f"{load.service} {load.node}"


_TARGET: Final = (
    _Column("TARGET", _target_name, right=False, least=12),
    _Column("JOB", lambda load: f"{load.who} ({load.others})" if load.others else load.who, right=False, least=8),
    _Column("USER", lambda load: _user(load.user), right=False, roomy=True),
    _Column("READ/s", lambda load: _rate(load.read_bytes)),
    _Column("WRITE/s", lambda load: _rate(load.write_bytes)),
    _Column("OPS/s", lambda load: scaled(load.requests)),
    _Column("SHARE", lambda load: format.share(load.share) if load.share is not None else ""),
    _Column("SERVER", lambda load: load.node, right=False, roomy=True),
    _Column("COMMAND", lambda load: load.command, right=False, least=1),
)


_ALERT: Final = (
    _Column("ALERT", lambda alert: f"{_clock(alert.second)} {alert.text('label')}", right=False, least=16),
    _Column("JOB", lambda alert: _whose(alert.text("job"), user_added_up(alert), "all"), right=False, least=4),
    _Column("NODE", lambda alert: alert.node, right=False, roomy=True),
    _Column("BROKEN BY", _broken, right=False, least=16),
    _Column("FILE", lambda alert: alert.text("file") or alert.text("path"), right=False, least=8),
)

_RULE: Final = (
    _Column("RULE", lambda rule: rule.label, right=False, least=10),
    _Column("JOB", lambda rule: _whose(rule.job, rule.user, "all"), right=False, least=4),
    _Column("FOR", lambda rule: rule.jobs or "all", right=False, roomy=True),
    _Column("STATE", lambda rule: rule.state, right=False),
    _Column("NOW", lambda rule: _about(rule.measure, rule.measured)),
    _Column("ALLOWED", lambda rule: _about(rule.measure, rule.allowed)),
    _Column("HELD", lambda rule: _time(rule.waited_ns or None)),
    _Column("NOT HELD", lambda rule: scaled(rule.beyond_calls) if rule.beyond_calls else "", roomy=True),
    _Column("REMARK", lambda rule: rule.remark, right=False, least=6),
)

_IN_FLIGHT: Final = (
    _Column("CALL IN FLIGHT", lambda call: call.text("class"), right=False, least=14),
    _Column("FOR", lambda call: _time(call.number("since_ns"))),
    _Column("JOB", lambda call: call.text("job"), right=False, least=4),
    _Column("NODE", lambda call: call.node, right=False, roomy=True),
    _Column("PID", lambda call: call.text("pid")),
    _Column("FILE", lambda call: call.text("file"), right=False, least=8),
)

_NODE: Final = (
    _Column("NODE", lambda node: node.name, right=False, least=8),
    _Column("READ/s", lambda node: _rate(node.rates.read_bytes)),
    _Column("WRITE/s", lambda node: _rate(node.rates.write_bytes)),
    _Column("META/s", lambda node: scaled(node.rates.metadata_calls)),
    _Column("CPU", lambda node: format.share(node.cpu_share)),
    _Column("MEMORY", lambda node: format.share(node.memory_share)),
    _Column("JOBS", lambda node: str(node.jobs)),
    _Column(
        "",
        lambda node: (
            f"silent since {_clock(node.second)}"
            if node.is_silent
            else f"{node.dropped} documents dropped"
            if node.dropped
            else ""
        ),
        right=False,
        least=1,
    ),
)

_DEVICE: Final = (
    _Column("DEVICE", lambda device: f"{device.kind} {device.name}", right=False, least=12),
    _Column("READ/s", lambda device: _rate(device.read_bytes)),
    _Column("WRITE/s", lambda device: _rate(device.write_bytes)),
    _Column("BUSY", lambda device: format.share(device.busy_share) if device.busy_share is not None else ""),
    _Column("NODE", lambda device: device.node, right=False, least=6),
)
