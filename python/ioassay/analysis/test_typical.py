from __future__ import annotations

from ioassay.analysis.typical import typical
from ioassay.testing.builder import RunBuilder


def test_the_typical_repetition_is_the_valid_one_nearest_the_median() -> None:
    builder = RunBuilder().workload("w").clients(1, 2).repetitions(4).rates("w", "write", 1, 1e9, 4e9, 3e9, 2e9)
    builder.rates("w", "write", 2, 1e9, 1e9, 9e9, 1e9).doubt("w-c1-r2", "write", "failed", invalidates=True)
    chosen = typical(builder.build().measurements).filter(phase="write").sort("clients")
    assert chosen.select("clients", "repetition").rows() == [(1, 4), (2, 1)]


def test_where_none_is_valid_the_first_repetition_stands_for_the_point() -> None:
    builder = RunBuilder().workload("w").clients(1).repetitions(2)
    for repetition in (1, 2):
        builder.doubt(f"w-c1-r{repetition}", "read", "failed", invalidates=True)
    chosen = typical(builder.build().measurements)
    assert chosen.filter(phase="read")["repetition"].to_list() == [1]
    assert chosen.height == 2, "a row for each point: write and read"
