"""Runs of one study, one each night, for the tests of trends."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from ioassay.analysis.compare.subject import Conditions, Curve, Point, Rates, Subject
from ioassay.analysis.trend.history import History, MeasuredPoint, Run
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder

FIRST = datetime(2026, 2, 2, 2, 40, tzinfo=UTC)


def night(number: int, builder: RunBuilder) -> LoadedRun:
    """A run of `builder`, begun `number` nights after the first."""
    run = builder.build()
    run.document.started = (FIRST + timedelta(days=number)).isoformat(timespec="seconds")
    return run


def history(rates: Sequence[float] | NDArray[np.float64], hours: float = 24) -> History:
    """Runs with these medians, one after the other."""
    points = [Point(1, Conditions(), (float(rate),)) for rate in rates]
    curve = Curve(("w", "write", "write"), "w, write", "write", "rate_bytes_per_s", {})
    curve = Curve(**{**vars(curve), "rates": {"rate_bytes_per_s": Rates((points[-1],), None, None)}})
    runs = [
        Run(Subject(f"run-{number}", "run", ()), "s", "/t", FIRST + timedelta(hours=hours * number))
        for number in range(len(rates))
    ]
    return History(curve, tuple(map(MeasuredPoint, runs, points)), ())
