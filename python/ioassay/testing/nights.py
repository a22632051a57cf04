"""Runs of one study, one each night, for the tests of trends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ioassay.results.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder

FIRST = datetime(2026, 2, 2, 2, 40, tzinfo=UTC)


def night(at: int, builder: RunBuilder) -> LoadedRun:
    """What `builder` makes, begun `at` nights after the first."""
    run = builder.build()
    run.document.started = (FIRST + timedelta(days=at)).isoformat(timespec="seconds")
    return run
