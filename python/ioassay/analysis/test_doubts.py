from __future__ import annotations

from ioassay.analysis.doubts import grouped
from ioassay.store.measurement import Measurement
from ioassay.testing.builder import RunBuilder


def test_invalidating_kinds_come_first_and_then_the_most_frequent() -> None:
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
    for index in range(30):
        builder.doubt("w-c1-r1", "read", f"kind-{index:02d}")
    run = builder.build()
    marks = [group.mark for group in grouped(run.doubts, run.measurements).groups]
    assert marks[25:28] == ["z", "aa", "ab"]


def _weights(builder: RunBuilder) -> dict[str, str]:
    run = builder.build()
    return {group.kind: group.weight for group in grouped(run.doubts, run.measurements).groups}


def test_a_doubt_that_changes_a_conclusion_is_decisive_and_one_of_a_time_line_minor() -> None:
    builder = RunBuilder().workload("w").clients(1, 2)
    builder.doubt("w-c1-r1", "read", "short-phase").doubt("w-c1-r1", "read", "late-samples")
    assert _weights(builder) == {"short-phase": "decisive", "late-samples": "minor"}


def test_a_condition_of_the_run_is_common_however_many_numbers_it_concerns() -> None:
    assert _weights(RunBuilder().workload("w").doubt("w-c1-r1", "read", "oversubscribed")) == {
        "oversubscribed": "common"
    }


def test_a_doubt_about_all_reads_is_common_in_several_series_and_decisive_in_one() -> None:
    builder = RunBuilder().workload("v").clients(1).doubt("v-c1-r1", "read", "cache-unknown")
    assert _weights(builder) == {"cache-unknown": "decisive"}
    builder.workload("w").doubt("w-c1-r1", "read", "cache-unknown")
    assert _weights(builder) == {"cache-unknown": "common"}


def test_an_invalidating_doubt_is_decisive_even_if_it_affects_all_numbers() -> None:
    builder = RunBuilder().workload("v").workload("w").clients(1)
    for workload in "vw":
        builder.doubt(f"{workload}-c1-r1", "read", "failed", invalidates=True)
    assert _weights(builder) == {"failed": "decisive"}
