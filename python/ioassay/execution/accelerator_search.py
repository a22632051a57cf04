"""Runs only those cases of a study that it takes to find how many accelerators storage feeds.

A workload with `search: accelerators` has a case for each number of accelerators and each repetition. The search of a
sweep begins when its first case is due, and ends with all its cases complete or not needed, so that a run that was
interrupted resumes it from what is stored.

Not here: which number is measured next (`ioassay.analysis.feeding`), how a case runs (`execute`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ioassay.analysis.accelerator_sweeps import accelerator_sweeps
from ioassay.analysis.feeding import AcceleratorCount, next_count
from ioassay.analysis.training import trainings
from ioassay.store.document import CaseEntry
from ioassay.store.point import SweepPoint
from ioassay.store.run_writer import RunWriter
from ioassay.text.units import format_count


def in_turn(run: RunWriter, notice: Callable[[str], None]) -> Iterator[CaseEntry]:
    """The cases that are not settled, each when it is due: in the order of the document, those of a search as it picks
    them. `notice` gets a sentence for each search that ends.

    The caller settles a case before it asks for the next one.
    """
    cases = run.document.cases
    searched = {entry.name for entry in run.document.study.workloads if entry.search}
    sweeps: dict[SweepPoint, list[CaseEntry]] = {}
    swept = accelerator_sweeps(cases) if searched else {}
    for case in cases:
        if case.workload in searched:
            sweeps.setdefault(swept[case.id], []).append(case)
    for case in cases:
        if case.is_settled:
            continue
        if case.workload in searched:
            yield from _search(run, sweeps[swept[case.id]], notice)
        else:
            yield case


def _search(run: RunWriter, cases: Sequence[CaseEntry], notice: Callable[[str], None]) -> Iterator[CaseEntry]:
    by_count: dict[int, list[CaseEntry]] = {}
    for case in cases:
        by_count.setdefault(case.clients * case.ranks_per_client, []).append(case)
    while True:
        unsettled = {
            count: [case for case in repetitions if not case.is_settled] for count, repetitions in by_count.items()
        }
        exhausted = [count for count, repetitions in unsettled.items() if not repetitions]
        chosen = next_count(_counts(run, by_count), exhausted)
        if chosen is None:
            break
        yield unsettled[chosen][0]
    left = [case for repetitions in unsettled.values() for case in repetitions]
    complete = sum(case.state == "complete" for case in cases)
    reason = f"The search for the largest number of accelerators had its answer after {format_count(complete, 'case')}."
    for case in left:
        case.state, case.skipped = "not needed", reason
    if left:
        notice(f"{format_count(len(left), 'case')} of {cases[0].workload} are not needed. {reason}")


def _counts(run: RunWriter, by_count: dict[int, list[CaseEntry]]) -> list[AcceleratorCount]:
    """What is known of each number of accelerators so far."""
    complete = {case.id for repetitions in by_count.values() for case in repetitions if case.state == "complete"}
    of_cases = trainings(run.document.cases, run.measurements, run.training)
    known = {training.case: training for training in of_cases if training.case in complete and training.is_valid}
    return [
        AcceleratorCount(count, [known[case.id].worst_epoch for case in repetitions if case.id in known])
        for count, repetitions in sorted(by_count.items())
    ]
