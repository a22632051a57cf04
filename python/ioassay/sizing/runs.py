"""Rates that stored runs measured, as figures of components: the peak of a sweep, or its curve over ranks.

Each rate is a median with its interval, as compared and reported elsewhere. Measurements that the network cannot have
carried are left out like all invalid ones. Not: reading runs (`results`), what is valid of them (`analysis`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from statistics import median

from ioassay.analysis import intervals
from ioassay.analysis.compare import measured_run
from ioassay.analysis.compare.subject import Curve, Point, Rates
from ioassay.analysis.derived_doubts import doubted
from ioassay.analysis.feeding import AcceleratorCount, accelerator_counts, limits
from ioassay.analysis.training import training
from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Origin, Value
from ioassay.sizing.components import RANDOM_BYTES, dimension_of
from ioassay.sizing.quantities import Quantity
from ioassay.store.loaded import LoadedRun
from ioassay.store.run_directory import load
from ioassay.systems.amounts import BYTES_PER_S, Interval
from ioassay.text.units import format_count

_IN_WORDS = {
    "write": "sequential writes",
    "read": "sequential reads",
    "random_write": "random writes of 4 KiB",
    "random_read": "random reads of 4 KiB",
    "create": "file creations",
    "stat": "queries of attributes",
    "read_files": "reads of whole files",
    "remove": "removals",
}


def measured_rate(quantity: Quantity, what: str, kind: str, folder: Path | None) -> Value:
    """The peak that a run measured for `kind` of I/O, a `RateKind`; the run's path is relative to `folder`.

    Reads of a run that trains are those of the largest number of accelerators that it fed. In bytes/s of sequential I/O
    and of training, otherwise in operations/s. Raises `UsageError` where there is no such run, where it
    has no valid rate of that kind, and where several of its workloads have one and `quantity` names none.
    """
    path, run = _loaded(quantity, kind, folder)
    if counts := _trained(quantity, kind, path, run):
        return _value_of_fed(counts, what, path, run)
    curve = _curve(quantity, kind, path, run)
    peak = _rates(curve, kind, path).peak
    if peak is None:
        raise UsageError(f"{path} has no peak of {_IN_WORDS[kind]}: its sweep is not of numbers.", "Name another run.")
    return _value(peak, what, kind, path, curve)


def measured_by_ranks(quantity: Quantity, kind: str, folder: Path | None) -> tuple[tuple[int, Value], ...]:
    """The measured rates of a run for `kind` of I/O by the number of ranks of all clients, ascending; of training by
    that of accelerators.

    Where several numbers of clients had as many ranks, the best with the range of all. Units and errors are those of
    `measured_rate`; empty where a run does not record its ranks.
    """
    path, run = _loaded(quantity, kind, folder)
    if counts := _trained(quantity, kind, path, run):
        return tuple(
            (count.accelerators, _value_of_training(count, _accelerators(count), path, run)) for count in counts
        )
    curve = _curve(quantity, kind, path, run)
    points: dict[int, list[Value]] = {}
    for point in _rates(curve, kind, path).points:
        if (ranks := point.conditions.ranks) is not None:
            what = f"{_IN_WORDS[kind]} with {format_count(ranks, 'rank')}"
            points.setdefault(ranks, []).append(_value(point, what, kind, path, curve))
    return tuple((ranks, _best(points[ranks])) for ranks in sorted(points))


def _best(values: list[Value]) -> Value:
    best = max(values, key=lambda value: value.interval.nominal)
    low = min(value.interval.low for value in values)
    return replace(best, interval=best.interval._replace(low=low))


def _loaded(quantity: Quantity, kind: str, folder: Path | None) -> tuple[Path, LoadedRun]:
    path = (folder or Path()) / (quantity.run or "")
    if kind not in _IN_WORDS:
        raise UsageError(f"{path} is named for a figure that no run measures.", "Give `value` with `at` or `assumed`.")
    return path, doubted(load(path))


def _trained(quantity: Quantity, kind: str, path: Path, run: LoadedRun) -> list[AcceleratorCount]:
    """The numbers of accelerators of the training whose reads a quantity names, ascending; empty where it names none,
    or has sequential reads.
    """
    if kind != "read" or run.training.is_empty() or _named_curves(quantity, kind, path, run):
        return []
    sweeps = {
        sweep: counts
        for sweep, counts in accelerator_counts(run.document.cases, training(run)).items()
        if quantity.workload in (None, sweep.workload)
    }
    if len(sweeps) > 1:
        workloads = ", ".join(dict.fromkeys(sweep.workload for sweep in sweeps))
        raise UsageError(
            f"{path} trains at several points of a sweep, or in several workloads: {workloads}.",
            "Name one of them with `workload`, and a run that sweeps nothing but accelerators.",
        )
    return next(iter(sweeps.values()), [])


def _value_of_fed(counts: Sequence[AcceleratorCount], what: str, path: Path, run: LoadedRun) -> Value:
    """The reads of the largest number of accelerators that is fed. Raises `UsageError` where none is."""
    fed, unfed = limits(counts)
    if fed is None:
        smallest = "no accelerator" if unfed is None else f"not even {_accelerators(unfed)}"
        raise UsageError(
            f"{path} feeds {smallest} to its goal of utilisation.",
            "Name a run with fewer accelerators, or give `value`.",
        )
    return _value_of_training(fed, what, path, run)


def _accelerators(count: AcceleratorCount) -> str:
    return format_count(count.accelerators, "accelerator")


def _value_of_training(count: AcceleratorCount, what: str, path: Path, run: LoadedRun) -> Value:
    """What they read in the worst epoch of each repetition; of fewer than an interval takes, lowest to highest."""
    reads = [epoch.read_bytes_per_s for epoch in count.epochs if epoch.read_bytes_per_s is not None]
    if not reads:
        raise UsageError(f"{path} does not say how many bytes were read.", "Name a run of ioassay; DLIO counts none.")
    estimate = intervals.of_median(reads)
    low, high = (estimate.low, estimate.high) if estimate else (min(reads), max(reads))
    busy = f"{path.name}, training with {_accelerators(count)}, {100 * count.utilisation:.0f} % busy"
    interval = Interval(Fraction(low), Fraction(median(reads)), Fraction(high))
    return Value(what, interval, BYTES_PER_S, Origin("measured", busy))


def _curves(kind: str, path: Path, run: LoadedRun) -> list[Curve]:
    return [curve for curve in measured_run.subject(run, path.name).curves if _is_of(curve, kind)]


def _named_curves(quantity: Quantity, kind: str, path: Path, run: LoadedRun) -> list[Curve]:
    return [curve for curve in _curves(kind, path, run) if quantity.workload in (None, curve.name[0])]


def _curve(quantity: Quantity, kind: str, path: Path, run: LoadedRun) -> Curve:
    curves, chosen = _curves(kind, path, run), _named_curves(quantity, kind, path, run)
    if len(chosen) == 1:
        return chosen[0]
    workloads = ", ".join(dict.fromkeys(curve.name[0] for curve in curves))
    if not curves:
        raise UsageError(f"{path} has no valid rate of {_IN_WORDS[kind]}.", "See the doubts in its report.")
    if not chosen:
        raise UsageError(
            f"The workload {quantity.workload} of {path} has no valid rate of {_IN_WORDS[kind]}.",
            f"These have: {workloads}.",
        )
    if len({curve.name[0] for curve in chosen}) == 1:
        phases = ", ".join(curve.name[1] for curve in chosen)
        raise UsageError(
            f"{path} has several rates of {_IN_WORDS[kind]} in one workload: {phases}.",
            "Give `value`, and say with `assumed` which of them it is.",
        )
    raise UsageError(
        f"{path} has several workloads with {_IN_WORDS[kind]}: {workloads}.", "Name one of them with `workload`."
    )


def _is_of(curve: Curve, kind: str) -> bool:
    conditions = curve.conditions
    is_of_tree = conditions.files == 0 or "rate_bytes_per_s" not in curve.rates
    match kind:
        case "create" | "stat" | "remove":
            return curve.operation == kind
        case "read_files":
            return curve.operation == "read" and is_of_tree
        case "random_write" | "random_read":
            is_small = conditions.transfer_bytes in (None, RANDOM_BYTES)
            is_random = conditions.order == "random" and not is_of_tree
            return curve.operation == kind.removeprefix("random_") and is_random and is_small
        case _:
            return curve.operation == kind and conditions.order == "sequential" and not is_of_tree


def _rates(curve: Curve, kind: str, path: Path) -> Rates:
    rates = curve.rates.get("rate_bytes_per_s" if dimension_of(kind) == BYTES_PER_S else "rate_operations_per_s")
    if rates is None:
        raise UsageError(f"{path} has no valid rate of {_IN_WORDS[kind]}.", "See the doubts in its report.")
    return rates


def _value(point: Point, what: str, kind: str, path: Path, curve: Curve) -> Value:
    """Its median; of fewer repetitions than an interval takes, from the lowest to the highest."""
    estimate = intervals.of_median(point.rates)
    low, high = (estimate.low, estimate.high) if estimate else (min(point.rates), max(point.rates))
    interval = Interval(Fraction(low), Fraction(point.median), Fraction(high))
    return Value(what, interval, dimension_of(kind), Origin("measured", f"{path.name}, {curve.title}"))
