"""Separates the iterations of an execution, if `-v` shows them.

A row of `-v` has the rate of rank 0 in one iteration; the summary is of the slowest rank in each. If rank 0 was
always the slowest, its rows times the ranks have the summary's mean, highest and lowest, as exactly as they were
printed, and are the rates of all ranks. Otherwise the highest, lowest and mean of two or three iterations determine
them, and the rows show their order. Of more iterations, only the mean is known.

Not: reading lines (`text`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from ioassay.importers.mdtest.text import Execution, Line, Row
from ioassay.importers.numbers import Printed


def one_by_one(execution: Execution) -> list[Execution]:
    """An execution for each iteration of `execution`, in order; only itself if they are unknown."""
    lines_by_operation: dict[str, Sequence[Line]] = {}
    for name, line in execution.rates.items():
        if line.mean.value == 0:
            continue
        rows = execution.rows.get(name, [])
        lines = _of_rows(rows, name, line, execution) or _of_summary(rows, line, execution)
        if lines is None:
            return [execution]
        lines_by_operation[name] = lines
    return list(_split(execution, lines_by_operation)) if lines_by_operation else [execution]


def _of_rows(rows: Sequence[Row], name: str, line: Line, execution: Execution) -> Sequence[Line] | None:
    """The rows, if the summary is of them."""
    if not _is_by_iteration(rows, line, execution):
        return None
    # Rank 0 alone makes and removes the directories of a tree.
    ranks = 1 if name.startswith("Tree") else execution.tasks
    rates = [Printed(row.rate.text, row.rate.value * ranks, row.rate.half_unit * ranks) for row in rows]
    values = [rate.value for rate in rates]
    summary = ((fmean(values), line.mean), (max(values), line.highest), (min(values), line.lowest))
    allowed = rates[0].half_unit + line.mean.half_unit
    if any(printed is None or abs(value - printed.value) > allowed for value, printed in summary):
        return None
    return [Line(row.line, None, None, rate, None, by_rank=False) for row, rate in zip(rows, rates, strict=True)]


def _of_summary(rows: Sequence[Row], line: Line, execution: Execution) -> Sequence[Line] | None:
    """Two or three iterations as determined by their summary, in the order of the rows."""
    count = execution.iterations
    if not _is_by_iteration(rows, line, execution) or count > 3 or line.highest is None or line.lowest is None:
        return None
    high, low, mean = line.highest, line.lowest, line.mean
    middle = count * mean.value - high.value - low.value
    uncertainty = count * mean.half_unit + high.half_unit + low.half_unit
    if abs(middle) > uncertainty if count == 2 else not low.value - uncertainty <= middle <= high.value + uncertainty:
        return None
    # The middle rate is derived; its uncertainty is the half unit.
    between = [] if count == 2 else [Printed(f"{middle:.3f}", middle, uncertainty)]
    ascending = sorted(range(count), key=lambda iteration: rows[iteration].rate.value)
    values = dict(zip(ascending, (low, *between, high), strict=True))
    return [Line(line.line, None, None, values[iteration], None, by_rank=False) for iteration in range(count)]


def _is_by_iteration(rows: Sequence[Row], line: Line, execution: Execution) -> bool:
    return execution.iterations > 1 and len(rows) == execution.iterations and not line.by_rank


def _split(execution: Execution, lines_by_operation: Mapping[str, Sequence[Line]]) -> Iterator[Execution]:
    last = execution.iterations - 1
    stonewalls = execution.stonewalls if len(execution.stonewalls) == execution.iterations else []
    for iteration in range(execution.iterations):
        yield replace(
            execution,
            iterations=1,
            rates={name: lines[iteration] for name, lines in lines_by_operation.items()},
            times={},
            stonewalls=stonewalls[iteration : iteration + 1],
            started=execution.started if iteration == 0 else None,
            finished=execution.finished if iteration == last else None,
        )
