"""Skips repetitions that are no longer needed because the interval of their point is narrow enough.

Not here: when an interval is narrow (`analysis.stop_rule`), the order of cases (`studies.cases`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ioassay.analysis.stop_rule import by_point, is_narrow, note, point_rates, widths
from ioassay.store.document import CaseEntry
from ioassay.store.point import SweepPoint
from ioassay.store.run_writer import RunWriter
from ioassay.text.units import format_share


class EarlyStop:
    """The stop rules of a run."""

    def __init__(self, run: RunWriter) -> None:
        self._study = run.document.study
        self._points = by_point(run.document.cases) if run.document.stops_early else {}
        complete = [case for case in run.document.cases if case.state == "complete"]
        # Updated with every case that ends, because a point may have 10,000.
        self._rates = point_rates(complete, run.measurements) if self._points else {}

    def note(self, case: CaseEntry, measurements: Iterable[Mapping[str, Any]]) -> None:
        """Adds the rows of measurements of a complete case."""
        rates = self._rates.setdefault(case.sweep_point, {})
        for measurement in measurements:
            note(rates, measurement)

    def settle(self, points: Collection[SweepPoint] | None = None) -> list[str]:
        """Marks the pending cases of every narrow point among `points` (`None`: all) as not needed.

        Returns the reasons: a sentence for each point that was settled now.
        """
        if not self._points:
            return []
        return [reason for point in (self._points if points is None else points) for reason in self._settle(point)]

    def _settle(self, point: SweepPoint) -> Iterator[str]:
        rule = self._study.until(point.workload)
        if rule is None:
            return
        half_widths = widths(self._points[point][0], self._rates.get(point, {}))
        if not is_narrow(rule, half_widths):
            return
        pending = [case for case in self._points[point] if case.state == "pending"]
        if not pending:
            return
        widest = max(half_widths, key=lambda width: width.share)
        reason = (
            f"After {widest.repetitions} repetitions the half-width of the 95 % interval of every median is at most "
            f"{format_share(widest.share)} of it, corrected for checking after each repetition; "
            f"the study asks for {100 * rule.share:g} %."
        )
        for case in pending:
            case.state, case.skipped = "not needed", reason
        yield f"{pending[0].id} and later repetitions are not needed. {reason}"
