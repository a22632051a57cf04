from __future__ import annotations

from ioassay.analysis.doubts import grouped
from ioassay.results.schema import Measurement
from ioassay.testing.builder import RunBuilder


def test_kinds_are_grouped_gravest_first_then_most_frequent() -> None:
    builder = RunBuilder().workload("w").clients(1, 2)
    builder.doubt("w-c1-r1", "read", "short-phase").doubt("w-c2-r1", "read", "short-phase")
    builder.doubt("w-c1-r1", "write", "start-spread").doubt("w-c2-r1", "write", "failed", invalidates=True)
    run = builder.build()
    doubts = grouped(run.doubts, run.measurements)
    kinds = [(group.mark, group.kind) for group in doubts.groups]
    assert kinds == [("a", "failed"), ("b", "short-phase"), ("c", "start-spread")]
    both = [Measurement("w-c1-r1", name, name, name) for name in ("read", "write")]
    assert doubts.marks(both) == ("b", "c")
    assert doubts.marks([Measurement("w-c9-r1", "read", "read", "read")]) == ()


def test_there_are_marks_for_more_kinds_than_letters() -> None:
    builder = RunBuilder().workload("w")
    for at in range(30):
        builder.doubt("w-c1-r1", "read", f"kind-{at:02d}")
    run = builder.build()
    marks = [group.mark for group in grouped(run.doubts, run.measurements).groups]
    assert marks[25:28] == ["z", "aa", "ab"]
