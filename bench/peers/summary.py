"""`summary.md`: the table of goals and what was measured, and all that is needed to do it again."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pairs import Comparison, Measurement, compare
from work import goal


@dataclass
class Record:
    """Everything that a run of comparisons leaves."""

    command: str
    host: str
    versions: dict[str, str]
    measurements: list[Measurement] = field(default_factory=list)
    commands: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """By piece of work and tool: the commands of its last measurement."""
    notes: list[str] = field(default_factory=list)
    """What was left out or failed, and why."""


def render(record: Record) -> str:
    """The whole page."""
    parts = ["# ioassay and its peers", record.host + ".", f"`{record.command}`", _load(record.measurements)]
    parts += ["## Left out", _list(record.notes) if record.notes else "Nothing."]
    parts += ["## Results", _RESULTS, _table(compare(record.measurements))]
    parts += ["## Versions", _list(f"{tool}: {version}" for tool, version in record.versions.items())]
    parts += ["## Commands", _COMMANDS, _commands(record.commands)]
    return "\n\n".join(parts) + "\n"


_RESULTS = (
    "Ratios are ioassay's rate over the peer's in the same pair; the goal is for their median. Rates are medians in "
    "operations per second, each tool's by its own definition (see the README). Every measurement is in `raw.csv`."
)
_COMMANDS = "`$DIR` is an empty directory on the target, `$OUT` one elsewhere; both are new for each measurement."


def _table(comparisons: Iterable[Comparison]) -> str:
    lines = [
        "| work | rate | peer | ratio, median | lowest to highest | pairs | goal | met | ioassay | peer |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(_row, comparisons)])


def _row(comparison: Comparison) -> str:
    wanted = goal(comparison.work, comparison.peer)
    met = "yes" if comparison.ratio >= wanted else "**no**"
    span = f"{min(comparison.ratios):.2f} to {max(comparison.ratios):.2f}"
    cells = [
        comparison.work,
        comparison.rate,
        comparison.peer,
        f"{comparison.ratio:.3f}",
        span,
        str(len(comparison.ratios)),
        f"{wanted:.2f}",
        met,
    ]
    cells += [f"{statistics.median(rates):,.0f}" for rates in (comparison.ours, comparison.theirs)]
    return f"| {' | '.join(cells)} |"


def _load(measurements: list[Measurement]) -> str:
    if not measurements:
        return "Nothing was measured."
    first = measurements[0].load_average
    highest = max(each.load_average for each in measurements)
    return f"Load average at the start {first:.2f}; the highest later, the tools' own load included, {highest:.2f}."


def _commands(commands: Mapping[tuple[str, str], list[str]]) -> str:
    blocks = [f"{work}, {tool}:\n\n```sh\n" + "\n".join(lines) + "\n```" for (work, tool), lines in commands.items()]
    return "\n\n".join(blocks)


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)
