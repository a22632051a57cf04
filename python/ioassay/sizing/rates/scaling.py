"""The rate of several bricks, or metadata modules: so many times one, and by which law.

Published systems do not scale linearly, so nothing scales here unless a catalogue or a configuration says how: linear
for a stated reason; a table of measured multiples, interpolated between them and unknown beyond them; or the Universal
Scalability Law fitted to measured points (`ioassay.analysis.scalability`), which goes beyond them.

Each kind of brick scales by its own count. What hardware carries adds up whatever the scaling (`together`).

Not: fitting the law.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Formula, Value, applied, assumed, exactly, product, quotient, total
from ioassay.sizing.catalogue import number
from ioassay.sizing.components import RateKind, Scaling
from ioassay.sizing.rates.names import rate_name
from ioassay.systems.amounts import NUMBER, Interval
from ioassay.systems.model import Document
from ioassay.text.units import format_count

if TYPE_CHECKING:
    from ioassay.analysis.intervals import Interval as OfTerm
    from ioassay.analysis.scalability import Fit

MULTIPLE = "times the rate of one brick"
"""As `formulas` needs it of a factor: `9.458 × the rate of one brick (24 GB/s)`."""

_LAW = (
    "N. J. Gunther, Guerrilla Capacity Planning, 2007 (Universal Scalability Law); the fit is that of "
    "ioassay.analysis.scalability"
)


def multiple(
    scaling: Scaling,
    kind: RateKind,
    count: int,
    sources: Mapping[str, Document] | None = None,
    folder: Path | None = None,
) -> Value:
    """How many times one brick `count` of them do of a kind, at least one; a plain number.

    `sources` and `folder` are those of the file that has the scaling (`catalogue.number`). Raises `UsageError` where
    nothing was measured of that kind, beyond a table, and where points do not follow the law.
    """
    if count == 1:
        return exactly(MULTIPLE, 1)
    if scaling.by == "linear":
        return assumed(MULTIPLE, count, NUMBER, f"Linear: {scaling.because}")
    points = _points(scaling, kind, sources or {}, folder)
    return _of_table(points, kind, count) if scaling.by == "table" else _of_law(points, kind, count)


def has_points(scaling: Scaling, kind: RateKind) -> bool:
    """Whether the scaling says anything of that kind."""
    return scaling.by == "linear" or kind in scaling.points


def words(scaling: Scaling) -> str:
    """The scaling as a clause: `linear, because …`; `table of measured multiples for 1 to 8`."""
    if scaling.by == "linear":
        reason = (scaling.because or "").rstrip(".")
        return f"linear, because {reason[:1].lower()}{reason[1:]}"
    counts = sorted({point.count for points in scaling.points.values() for point in points})
    measured = f"{counts[0]} to {counts[-1]}"
    if scaling.by == "table":
        return f"table of measured multiples for {measured}, interpolated between them"
    return f"Universal Scalability Law, fitted to measurements of {measured}"


def _points(scaling: Scaling, kind: RateKind, sources: Mapping[str, Document], folder: Path | None) -> dict[int, Value]:
    points = {
        point.count: number(point.rate, f"{rate_name(kind)} of {point.count} together", kind, sources, folder)
        for point in scaling.points.get(kind, [])
    }
    if not points:
        raise UsageError(
            f"The scaling has no points of the {rate_name(kind)}.", f"Add what was measured as `points: {{{kind}: …}}`."
        )
    return dict(sorted(points.items()))


def _of_table(points: Mapping[int, Value], kind: RateKind, count: int) -> Value:
    if 1 not in points:
        raise UsageError(
            f"The table of the {rate_name(kind)} does not say what one does.", "Add the point with `count: 1`."
        )
    largest = max(points)
    if count > largest:
        raise UsageError(
            f"The {rate_name(kind)} was measured for {largest} together at most, and {count} are configured.",
            f"Add a measurement of {count} or more, scale by `law`, or `linear` with a reason.",
        )
    if count in points:
        return quotient(MULTIPLE, points[count], points[1])
    below = max(point for point in points if point < count)
    above = min(point for point in points if point > count)
    weight = Fraction(count - below, above - below)
    between = total(
        f"{rate_name(kind)} of {count} together",
        product(f"part of {below}", exactly(f"of the rate of {below}", 1 - weight), points[below]),
        product(f"part of {above}", exactly(f"of the rate of {above}", weight), points[above]),
    )
    return quotient(MULTIPLE, between, points[1], note=f"Interpolated between the measured {below} and {above}.")


def _of_law(points: Mapping[int, Value], kind: RateKind, count: int) -> Value:
    """By the fitted law. Both terms are at their ends at once in its interval, which is wide beyond the points."""
    from ioassay.analysis.scalability import FEWEST  # noqa: PLC0415  (half a second; few scale by a law)

    fit = _fit(tuple((number, rate.nominal) for number, rate in points.items()))
    if fit is None:
        raise UsageError(
            f"{format_count(len(points), 'point')} of the {rate_name(kind)} cannot be fitted; "
            f"the law takes at least {FEWEST} with rates above 0.",
            "Add points, or scale by `table`.",
        )
    if not fit.follows:
        raise UsageError(
            f"The points of the {rate_name(kind)} do not follow the law: they lie {fit.error:.0%} off it.",
            "Scale by `table`.",
        )
    largest = max(points)
    beyond = f"Extrapolated: at most {largest} were measured together." if count > largest else ""
    return applied(
        MULTIPLE,
        lambda bricks, contention, coherency: (
            bricks / (1 + contention * (bricks - 1) + coherency * bricks * (bricks - 1))
        ),
        exactly("bricks", count),
        _term("contention", fit.contention, points),
        _term("coherency", fit.coherency, points),
        text="N ÷ (1 + contention × (N − 1) + coherency × N × (N − 1))",
        dimension=NUMBER,
        falling=(1, 2),
        source=_LAW,
        note=beyond,
    )


def _term(name: str, term: OfTerm, points: Mapping[int, Value]) -> Value:
    ends = Interval(Fraction(term.low), Fraction(term.estimate), Fraction(term.high))
    text = f"least squares of {len(points)} points; the interval is that of a bootstrap, {term.confidence:.0%}"
    return Value(name, ends, NUMBER, Formula("function", tuple(points.values()), text, _LAW))


@cache
def _fit(medians: tuple[tuple[int, float], ...]) -> Fit | None:
    """A search asks for many counts of the same points."""
    from ioassay.analysis.scalability import fit  # noqa: PLC0415

    return fit(medians)
