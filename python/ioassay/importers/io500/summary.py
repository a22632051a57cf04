"""`result_summary.txt`: a line for each phase, and one with the score.

Two forms: that of the shell script (2017 to 2020) numbers its phases and calls GiB `GB`, as it divides IOR's MiB by
1024; that of the C program has brackets that say whether a phase counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from ioassay.importers.numbers import Printed
from ioassay.importers.source import Refused, Source

Quantity = Literal["bandwidth", "metadata", "total"]

_PHASE = re.compile(
    r"\[(?P<counts>RESULT(?:-invalid)?|\s*)\]\s+(?:(?:BW|IOPS)\s+phase\s+\d+\s+)?(?P<name>[A-Za-z][\w-]*)\s+"
    r"(?P<value>\S+)\s+(?P<unit>GiB/s|GB/s|kIOPS|kiops)\s*:\s*time\s+(?P<time>\S+)\s+seconds\s*(?P<invalid>\[INVALID\])?\s*"
)
_SCORE = re.compile(
    r"\[SCORE(?P<list>X?)(?P<bad>-invalid)?\s*\]\s+Bandwidth\s+(?P<bandwidth>\S+)\s+(?P<unit>GiB/s|GB/s)\s*:\s*"
    r"IOPS\s+(?P<metadata>\S+)\s+kiops\s*:\s*TOTAL\s+(?P<total>\S+)\s*(?P<invalid>\[INVALID\])?\s*"
)
_VERSION = re.compile(r"IO500 version\s+(\S+)?(?:\s+\((\w+)\))?")

PHASES = frozenset(
    [
        *("ior-easy-write", "ior-easy-read", "ior-hard-write", "ior-hard-read", "find", "find-easy", "find-hard"),
        *("mdtest-easy-write", "mdtest-easy-stat", "mdtest-easy-delete", "mdtest-hard-write", "mdtest-hard-stat"),
        *("mdtest-hard-read", "mdtest-hard-delete", "mdworkbench-create", "mdworkbench-bench", "mdworkbench-delete"),
        *("ior-rnd4K-write", "ior-rnd4K-read", "ior-rnd4K-easy-read", "ior-rnd1MB-write", "ior-rnd1MB-read"),
    ]
)
"""All phases that measure; `timestamp` only marks a moment."""


@dataclass(frozen=True)
class Phase:
    """A line of a phase: GiB/s or thousands of operations per second, and seconds."""

    line: int
    name: str
    value: Printed
    is_bandwidth: bool
    seconds: Printed
    is_invalid: bool
    """Marked as invalid by the program itself."""


@dataclass(frozen=True)
class PrintedLine:
    """A line with a score."""

    line: int
    is_extended: bool
    values: dict[Quantity, Printed]


@dataclass
class Summary:
    """A whole file."""

    version: str | None = None
    phases: dict[str, Phase] = field(default_factory=dict)
    scores: list[PrintedLine] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    """Labels of bandwidths: GiB/s, or GB/s with the same meaning in the script of 2017 to 2019."""


def read(source: Source) -> Summary:
    """Raises `Refused` for a line in brackets that fits neither format, and if there is no score."""
    if not source.text.endswith("\n"):
        raise Refused("ends in the middle of a line: it was cut off", len(source.lines))
    summary = Summary()
    for number, line in enumerate(source.lines, start=1):
        text = line.strip()
        if not text:
            continue
        if match := _VERSION.match(text):
            summary.version = match[1]
        elif match := _SCORE.fullmatch(text):
            summary.labels.add(match["unit"])
            names: tuple[Quantity, ...] = ("bandwidth", "metadata", "total")
            values: dict[Quantity, Printed] = {name: Printed.of(match[name], number, name) for name in names}
            summary.scores.append(PrintedLine(number, bool(match["list"]), values))
        elif match := _PHASE.fullmatch(text):
            _add(summary, match, number)
        elif text.startswith("["):
            raise Refused(f"has a line that is neither a phase nor a score of the IO500: {text[:60]!r}", number)
    if not summary.phases:
        raise Refused("has no phase of the IO500")
    if not summary.scores:
        raise Refused(
            "ends before the score: the run was cut off", max(phase.line for phase in summary.phases.values())
        )
    return summary


def _add(summary: Summary, match: re.Match[str], line: int) -> None:
    name = match["name"].replace("_", "-")
    if name == "timestamp":
        return
    if name not in PHASES:
        raise Refused(f"has a phase that no version of the IO500 has: {name}", line)
    if name in summary.phases:
        raise Refused(f"has the phase {name} twice", line)
    is_bandwidth = match["unit"] in ("GiB/s", "GB/s")
    if is_bandwidth != name.startswith("ior-"):
        raise Refused(f"has the phase {name} in {match['unit']}", line)
    if is_bandwidth:
        summary.labels.add(match["unit"])
    summary.phases[name] = Phase(
        line,
        name,
        Printed.of(match["value"], line, name),
        is_bandwidth,
        Printed.of(match["time"], line, "time"),
        bool(match["invalid"]) or "invalid" in match["counts"],
    )
