"""Matches curves of two subjects, and their points.

Curves of the same name and operation are matched whatever else differs; `condition_differences` reports that. Others
are matched if their operation, layout, order and transfer agree as far as both state them, and no other curve fits
better. If two fit equally well, neither is chosen. Not: dividing anything (`ratios`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from ioassay.analysis.axes import Axis
from ioassay.analysis.compare.subject import Curve, Point, Subject
from ioassay.text.rate_units import RateColumn

_TELLING = ("layout", "order", "transfer_bytes")


@dataclass(frozen=True)
class Pair:
    """Two curves that are compared in `column`, which both have."""

    reference: Curve
    other: Curve
    column: RateColumn


def pairs(reference: Subject, other: Subject) -> list[Pair]:
    """The curves that belong together, in the order of the reference."""
    matches: dict[int, tuple[int, RateColumn]] = {}
    left = dict(enumerate(other.curves))
    for index, curve in enumerate(reference.curves):
        for other_index, candidate in left.items():
            column = _common(curve, candidate)
            if column and _is_same(curve, candidate):
                matches[index] = other_index, column
                del left[other_index]
                break
    unmatched = {index: curve for index, curve in enumerate(reference.curves) if index not in matches}
    best = {index: _best(curve, left) for index, curve in unmatched.items()}
    back = {other_index: _best(curve, unmatched) for other_index, curve in left.items()}
    for index, fitting in best.items():
        if fitting is not None and back[fitting] == index and (column := _common(unmatched[index], left[fitting])):
            matches[index] = fitting, column
    return [
        Pair(reference.curves[index], other.curves[other_index], column)
        for index, (other_index, column) in sorted(matches.items(), key=lambda item: item[0])
    ]


def _is_same(curve: Curve, other: Curve) -> bool:
    """True for the same name, or the same title (as of a run and of a file that was written from it)."""
    has_same_name = curve.name == other.name or curve.test == other.test
    return has_same_name and curve.operation == other.operation


def _common(reference: Curve, other: Curve) -> RateColumn | None:
    """A quantity that both have, preferably that of the reference."""
    return next((column for column in (reference.column, other.column) if column in _both(reference, other)), None)


def _both(reference: Curve, other: Curve) -> set[RateColumn]:
    return set(reference.rates) & set(other.rates)


def _best(curve: Curve, candidates: dict[int, Curve]) -> int | None:
    """The only candidate that fits best."""
    fits = {
        index: fit
        for index, candidate in candidates.items()
        if candidate.operation == curve.operation
        and (column := _common(curve, candidate))
        and (fit := _fit(curve, candidate, column)) is not None
    }
    top = [index for index, fit in fits.items() if fit == max(fits.values())]
    return top[0] if len(top) == 1 else None


def _fit(reference: Curve, other: Curve, column: RateColumn) -> int | None:
    """The number of conditions in which they agree; `None` if one contradicts, or none agrees.

    Rates of data need the same layout or order on both sides, which figures of metadata do not state; rates in
    operations need the same transfer size, too.
    """
    telling = {name: (getattr(reference.conditions, name), getattr(other.conditions, name)) for name in _TELLING}
    agreed = [name for name, both in telling.items() if None not in both and both[0] == both[1]]
    contradicted = any(None not in both and both[0] != both[1] for both in telling.values())
    if contradicted or not agreed:
        return None
    if reference.operation in ("write", "read"):
        is_counted = column == "rate_operations_per_s"
        if agreed == ["transfer_bytes"] or (is_counted and "transfer_bytes" not in agreed):
            return None
    return len(agreed)


def points(reference: Sequence[Point], other: Sequence[Point]) -> tuple[list[tuple[Point, Point]], list[Point]]:
    """The matched points, in the order of the reference, and the points that only one side has.

    Points match by clients, ranks and files if possible, else by clients and ranks, else by clients; a key that
    several points of a curve share matches none of them. On every other axis that either side sweeps, both have the
    same value; a side that does not sweep the axis has the value that it was measured with.
    """
    pairs: list[tuple[Point, Point]] = []
    left, others = list(reference), list(other)
    axes = tuple(dict.fromkeys(other.axis for point in (*left, *others) for other in point.others))
    for level in (_exact, _ranks, _clients):
        key = _with_axes(level, axes)
        mine, theirs = _once(left, key), _once(others, key)
        same = [(mine[key_value], theirs[key_value]) for key_value in mine if key_value in theirs]
        pairs += same
        left = [point for point in left if not any(point is matched for matched, _ in same)]
        others = [point for point in others if not any(point is matched for _, matched in same)]
    order = {id(point): index for index, point in enumerate(reference)}
    return sorted(pairs, key=lambda pair: order[id(pair[0])]), [*left, *others]


_Key = Callable[[Point], Hashable | None]


def _with_axes(key: _Key, axes: Sequence[Axis]) -> _Key:
    def both(point: Point) -> Hashable | None:
        place, values = key(point), tuple(point.value(axis) for axis in axes)
        return None if place is None or None in values else (place, values)

    return both


def _once(points: Iterable[Point], key: _Key) -> dict[Hashable, Point]:
    """Points by a key that no other point has; points without a key are left out."""
    every = list(points)
    counts = Counter(key(point) for point in every)
    return {key_value: point for point in every if (key_value := key(point)) is not None and counts[key_value] == 1}


def _exact(point: Point) -> Hashable | None:
    place = point.clients, point.conditions.ranks, point.conditions.files
    return None if None in place[:2] else place


def _ranks(point: Point) -> Hashable | None:
    place = point.clients, point.conditions.ranks
    return None if None in place else place


def _clients(point: Point) -> Hashable | None:
    return point.clients
