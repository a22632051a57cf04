"""Refuses what a case would hold and write beyond what system calls and tables can count.

The amounts are told from its plan, so this is asked of studies in which everything else is right.
"""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.results import plan_sizes
from ioassay.studies import plans, sweep
from ioassay.studies.model import Study, Workload
from ioassay.studies.sweep import LARGEST_BYTES, Locate, Point
from ioassay.units import format_count
from ioassay.yaml_models.source import Problem


def check(study: Study, at: Locate) -> Iterator[Problem]:
    """Every workload with too much in a case."""
    for name, workload in study.workloads.items():
        every = [plans.work(point) for point in _largest_points(workload)]
        largest = max(max(plan_sizes.file_set_bytes(plan), plan_sizes.written_bytes(plan)) for plan in every)
        if largest > LARGEST_BYTES:
            key = next((files.size_key for files in workload.files.values()), "")
            origin = at("workloads", name, "files", next(iter(workload.files), ""), key)
            wrong = f"`{name}` writes {largest} bytes with {format_count(max(workload.clients), 'client')}"
            yield origin.problem(wrong, f"stay at or below {LARGEST_BYTES} bytes in a case")


def _largest_points(workload: Workload) -> list[Point]:
    """The points of which one has the largest amounts: they grow with the ranks and with the groups."""
    every = sweep.points(workload)
    most = max(point.ranks for point in every)
    return every if every[0].groups is not None else [next(point for point in every if point.ranks == most)]
