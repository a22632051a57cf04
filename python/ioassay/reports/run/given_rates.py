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
    point: str
    asked: str
    """The rate, or the pause between operations."""
    kept: str
    p50: str
    p99: str
    sentence: str
    """The whole row in a sentence."""
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
                line.point,
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


def assemble(run: LoadedRun, doubts: Doubts, names: Names, units: RunUnits) -> list[GivenLine]:
    """The rows, in the order of the study."""
    return [_line(given_rate, doubts, names, units) for given_rate in given_rates.given_rates(run)]


def _line(given_rate: GivenRate, doubts: Doubts, names: Names, units: RunUnits) -> GivenLine:
    operation = next(known for known in NOUNS if known == given_rate.point["operation"])
    numbers_shown = (
        [given_rate.kept_per_s] if given_rate.given_per_s is None else [given_rate.kept_per_s, given_rate.given_per_s]
    )
    unit = fitting(units.of(given_rate.column, operation), numbers_shown)

    label, name = (
        names.workload(given_rate.point["workload"]),
        series.label(Series(given_rate.point["phase"], given_rate.point["job"], operation)),
    )
    point, kept, p99 = (
        names.point(given_rate.places[0].case),
        rate(given_rate, unit, given_rate.kept_per_s),
        format.duration(given_rate.p99_ns),
    )
    wanted = asked(given_rate, unit)
    if given_rate.given_per_s is not None:
        result = f"reached {format.kept(kept, wanted)}"
    else:
        how = f"with {pauses(given_rate)}" if pauses(given_rate) else "at the pace that the study sets"
        result = f"reached {kept} {how}"
    latency = f", p99 latency {p99}" if given_rate.p99_ns is not None else ""
    return GivenLine(
        label=label,
        series=name,
        point=point,
        asked=wanted,
        kept=kept,
        p50=format.duration(given_rate.p50_ns),
        p99=p99,
        sentence=f"{label}, {name}, {point}: {result}{latency}.",
        caveats=caveats.beside_number(doubts, given_rate.places),
    )
