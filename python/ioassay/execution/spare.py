"""Spares the repetitions that are not needed any more, because their point of the sweep is narrow enough.

Not here: when a point is narrow (`analysis.narrowness`), in which order cases run (`studies.cases`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ioassay.analysis.narrowness import by_point, is_narrow, widths
from ioassay.results.document import SweepPoint
from ioassay.results.run_directory import RunDirectory


def spare(run: RunDirectory, points: Collection[SweepPoint] | None = None) -> list[str]:
    """Settles the pending cases of every narrow point among `points` (`None`: all) as not needed, and stores that.

    Returns why, a sentence for each point that was settled now.
    """
    said = list(_spare(run, points))
    if said:
        run.save()
    return said


def _spare(run: RunDirectory, points: Collection[SweepPoint] | None) -> Iterator[str]:
    document = run.document
    if not document.stops_early:
        return
    measurements = run.measurements
    for point, cases in by_point(document.cases).items():
        rule = document.study.until(point.workload)
        pending = [case for case in cases if case.state == "pending"]
        if rule is None or not pending or (points is not None and point not in points):
            continue
        found = widths(cases, measurements)
        if not is_narrow(rule, found):
            continue
        widest = max(found, key=lambda width: width.share)
        spared = (
            f"After {widest.repetitions} repetitions the half-width of the 95 % interval of every median is at most "
            f"{100 * widest.share:.2g} % of it; asked for were {100 * rule.share:g} %."
        )
        for case in pending:
            case.state, case.spared = "not needed", spared
        yield f"{pending[0].id} and later repetitions are not needed. {spared}"
