"""Which curves of two subjects belong together, and which of their points.

Curves of the same name and operation do, whatever else differs: `unlike` says it. Of the others those do whose
operation, layout, order and transfer agree as far as both tell them, and that fit each other better than any other.
Where two fit equally well nothing is chosen. Not: dividing anything (`ratios`).
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
    found: dict[int, tuple[int, RateColumn]] = {}
    left = dict(enumerate(other.curves))
    for index, curve in enumerate(reference.curves):
        for its, candidate in left.items():
            column = _common(curve, candidate)
            if column and _is_same(curve, candidate):
                found[index] = its, column
                del left[its]
                break
    unmatched = {index: curve for index, curve in enumerate(reference.curves) if index not in found}
    best = {at: _best(curve, left) for at, curve in unmatched.items()}
    back = {its: _best(curve, unmatched) for its, curve in left.items()}
    for at, fitting in best.items():
        if fitting is not None and back[fitting] == at and (column := _common(unmatched[at], left[fitting])):
            found[at] = fitting, column
    return [
        Pair(reference.curves[at], other.curves[its], column)
        for at, (its, column) in sorted(found.items(), key=lambda item: item[0])
    ]


def _is_same(curve: Curve, other: Curve) -> bool:
    """True if both have one name, or as a run and as the file that was written of it are called the same."""
    is_called_so = curve.name == other.name or curve.test == other.test
    return is_called_so and curve.operation == other.operation


def _common(reference: Curve, other: Curve) -> RateColumn | None:
    """The quantity that both have: that of the reference, if possible."""
    return next((column for column in (reference.column, other.column) if column in _both(reference, other)), None)


def _both(reference: Curve, other: Curve) -> set[RateColumn]:
    return set(reference.rates) & set(other.rates)


def _best(curve: Curve, candidates: dict[int, Curve]) -> int | None:
    """The only candidate that fits best."""
    fits = {
        at: fit
        for at, candidate in candidates.items()
        if candidate.operation == curve.operation
        and (column := _common(curve, candidate))
        and (fit := _fit(curve, candidate, column)) is not None
    }
    top = [at for at, fit in fits.items() if fit == max(fits.values())]
    return top[0] if len(top) == 1 else None


def _fit(reference: Curve, other: Curve, column: RateColumn) -> int | None:
    """In how many telling conditions they agree; `None` where they contradict each other in one, or agree in none.

    Data that is moved is compared only where both tell the same layout or order, which figures of metadata do not, and
    its operations are counted alike only where both tell the same transfer.
    """
    told = {name: (getattr(reference.conditions, name), getattr(other.conditions, name)) for name in _TELLING}
    agreed = [name for name, both in told.items() if None not in both and both[0] == both[1]]
    contradicted = any(None not in both and both[0] != both[1] for both in told.values())
    if contradicted or not agreed:
        return None
    if reference.operation in ("write", "read"):
        is_counted = column == "rate_operations_per_s"
        if agreed == ["transfer_bytes"] or (is_counted and "transfer_bytes" not in agreed):
            return None
    return len(agreed)


def points(reference: Sequence[Point], other: Sequence[Point]) -> tuple[list[tuple[Point, Point]], list[Point]]:
    """The points that are compared, in the order of the reference, and those that only one side has.

    The same clients, ranks and files if possible, else the same clients and ranks, else the same clients, each only
    where no other point of the curve has that too. On every other axis that one of both sweeps their values are the
    same; where only one does, the other has the value that it was measured with.
    """
    pairs: list[tuple[Point, Point]] = []
    left, others = list(reference), list(other)
    axes = tuple(dict.fromkeys(other.axis for point in (*left, *others) for other in point.others))
    for level in (_exact, _ranks, _clients):
        key = _with_axes(level, axes)
        mine, theirs = _once(left, key), _once(others, key)
        same = [(mine[where], theirs[where]) for where in mine if where in theirs]
        pairs += same
        left = [point for point in left if not any(point is one for one, _ in same)]
        others = [point for point in others if not any(point is one for _, one in same)]
    order = {id(point): index for index, point in enumerate(reference)}
    return sorted(pairs, key=lambda pair: order[id(pair[0])]), [*left, *others]


_Key = Callable[[Point], Hashable | None]


def _with_axes(key: _Key, axes: Sequence[Axis]) -> _Key:
    def both(point: Point) -> Hashable | None:
        where, values = key(point), tuple(point.value(axis) for axis in axes)
        return None if where is None or None in values else (where, values)

    return both


def _once(points: Iterable[Point], key: _Key) -> dict[Hashable, Point]:
    """The points by a key that no other point has; those without one are left out."""
    every = list(points)
    counts = Counter(key(point) for point in every)
    return {where: point for point in every if (where := key(point)) is not None and counts[where] == 1}


def _exact(point: Point) -> Hashable | None:
    where = point.clients, point.conditions.ranks, point.conditions.files
    return None if None in where[:2] else where


def _ranks(point: Point) -> Hashable | None:
    where = point.clients, point.conditions.ranks
    return None if None in where else where


def _clients(point: Point) -> Hashable | None:
    return point.clients
