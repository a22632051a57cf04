"""Spares the repetitions that are not needed any more, because their point of the sweep is narrow enough.

Not here: when a point is narrow (`analysis.narrowness`), in which order cases run (`studies.cases`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ioassay.analysis.narrowness import by_point, is_narrow, widths
from ioassay.results.document import SweepPoint
from ioassay.results.run_directory import RunDirectory


class Spare:
    """The stop rules of a run."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._points = by_point(run.document.cases) if run.document.stops_early else {}

    def settle(self, points: Collection[SweepPoint] | None = None) -> list[str]:
        """Settles the pending cases of every narrow point among `points` (`None`: all) as not needed.

        Returns why, a sentence for each point that was settled now.
        """
        return [why for point in self._points if points is None or point in points for why in self._settle(point)]

    def _settle(self, point: SweepPoint) -> Iterator[str]:
        cases = self._points[point]
        rule = self._run.document.study.until(point.workload)
        pending = [case for case in cases if case.state == "pending"]
        if rule is None or not pending:
            return
        found = widths(cases, self._run.measurements)
        if not is_narrow(rule, found):
            return
        widest = max(found, key=lambda width: width.share)
        spared = (
            f"After {widest.repetitions} repetitions the half-width of the 95 % interval of every median is at most "
            f"{100 * widest.share:.2g} % of it; asked for were {100 * rule.share:g} %."
        )
        for case in pending:
            case.state, case.spared = "not needed", spared
        yield f"{pending[0].id} and later repetitions are not needed. {spared}"
