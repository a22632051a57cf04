"""Phases at a given rate: the rates requested and reached, and the latencies, which are their result.

Not: which phases these are (`ioassay.analysis.given_rates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ioassay.analysis import given_rates, series
from ioassay.analysis.doubts import Doubts
from ioassay.analysis.given_rates import GivenRate
from ioassay.analysis.names import NOUNS, Names
from ioassay.analysis.run_units import RunUnits
from ioassay.analysis.series import Series
from ioassay.reports.document import Column, Span, Table, changes, numbers
from ioassay.reports.given_rates import asked, pauses, rate
from ioassay.reports.run import caveats
from ioassay.store.loaded import LoadedRun
from ioassay.text import format
from ioassay.text.rate_units import fitting


@dataclass(frozen=True)
class GivenLine:
    """A row of the table: a phase at a point of its sweep."""

    label: str
    series: str
    at: str
    asked: str
    """The rate, or the pause between operations."""
    kept: str
    p50: str
    p99: str
    sentence: str
    """The same in a sentence."""
    caveats: tuple[str, ...]


def table(lines: Sequence[GivenLine]) -> Table:
    """The table; empty without such phases."""
    return Table(
        [
            Column("Workload", merges=True),
            Column("Phase"),
            Column("Point"),
            *numbers("Requested", "Reached", "Median latency", "p99 latency"),
        ],
        [
            [
                line.label,
                line.series,
                line.at,
                line.asked,
                (line.kept, *(Span(caveat, "caveat") for caveat in line.caveats)),
                line.p50,
                line.p99,
            ]
            for line in lines
        ],
        title="Phases with a rate limit or pauses: rate reached and latencies",
        rules=changes(line.label for line in lines),
    )


def assemble(run: LoadedRun, found: Doubts, names: Names, units: RunUnits) -> list[GivenLine]:
    """The rows, in the order of the study."""
    return [_line(one, found, names, units) for one in given_rates.given_rates(run)]


def _line(one: GivenRate, found: Doubts, names: Names, units: RunUnits) -> GivenLine:
    operation = next(known for known in NOUNS if known == one.point["operation"])
    numbers_shown = [one.kept_per_s] if one.given_per_s is None else [one.kept_per_s, one.given_per_s]
    unit = fitting(units.of(one.column, operation), numbers_shown)

    label, name = (
        names.workload(one.point["workload"]),
        series.label(Series(one.point["phase"], one.point["job"], operation)),
    )
    at, kept, p99 = names.point(one.places[0].case), rate(one, unit, one.kept_per_s), format.duration(one.p99_ns)
    wanted = asked(one, unit)
    if one.given_per_s is not None:
        said = f"reached {format.kept(kept, wanted)}"
    else:
        said = f"reached {kept} {f'with {pauses(one)}' if pauses(one) else 'under the rate limit of the study'}"
    latency = f", p99 latency {p99}" if one.p99_ns is not None else ""
    return GivenLine(
        label=label,
        series=name,
        at=at,
        asked=wanted,
        kept=kept,
        p50=format.duration(one.p50_ns),
        p99=p99,
        sentence=f"{label}, {name}, {at}: {said}{latency}.",
        caveats=caveats.beside(found, one.places),
    )
