"""Whether items fit into racks, decided exactly where first-fit decreasing leaves it open.

Not: what stands in a rack (`sizing.packing`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from ioassay.sizing.packing import Item, RackLimits, first_fit
from ioassay.sizing.search.program import Program
from ioassay.sizing.search.solver import Solver


def pack(items: Sequence[Item], limits: RackLimits, racks: int | None, solver: Solver) -> list[list[Item]] | None:
    """The items in at most so many racks, or in any number; `None` where they do not fit.

    Raises `Expired` where the deadline ends before that is known.
    """
    packed = first_fit(items, limits)
    if packed is None or racks is None or len(packed) <= racks:
        return packed
    return _exactly(items, limits, racks, solver)


def _exactly(items: Sequence[Item], limits: RackLimits, racks: int, solver: Solver) -> list[list[Item]] | None:
    counts = Counter(items)
    program = Program()
    placed = [
        {item: program.integer(0, min(count, limits.most(item))) for item, count in counts.items()}
        for _ in range(racks)
    ]
    for item, count in counts.items():
        program.row({rack[item]: 1.0 for rack in placed}, lower=count, upper=count)
    dimensions: tuple[tuple[Fraction | None, Callable[[Item], Fraction]], ...] = (
        (Fraction(limits.units), lambda item: Fraction(item.rack_units)),
        (limits.weight, lambda item: item.weight or Fraction(0)),
        (limits.power, lambda item: item.power or Fraction(0)),
    )
    for most, size in dimensions:
        if most is not None:
            for rack in placed:
                program.row({variable: float(size(item)) for item, variable in rack.items()}, upper=float(most))
    for fuller, emptier in pairwise(placed):  # racks are alike: nothing is lost by an order
        heights = {fuller[item]: -float(item.rack_units) for item in counts}
        program.row(heights | {emptier[item]: float(item.rack_units) for item in counts}, upper=0)
    solution = solver.solve(program, {})
    if solution is None:
        return None
    contents = [
        [item for item, variable in rack.items() for _ in range(round(solution.values[variable]))] for rack in placed
    ]
    return [rack for rack in contents if rack] if all(limits.takes(rack) for rack in contents) else None
