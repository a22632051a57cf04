"""What follows from calls alone, whatever traced them: their order, their files, their sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from ioassay.profiles.model import FRAMES, Profile
from ioassay.profiles.traced_calls import CALLS, TracedCalls

Call = dict[str, Any]


def call(operation: str, path: str = "/data", process: int = 0, **known: Any) -> Call:
    return {"operation": operation, "path": path, "process": process, "bytes": 0} | known


def profile_of(*parts: Sequence[Call]) -> Profile:
    """Each call begins a second after the one before it, and takes 1 ms."""
    traced = TracedCalls(duration_s=100.0, finest_ns=1000.0)
    second = 0
    for part in parts:
        rows = []
        for traced_call in part:
            rows.append({"begin_s": float(second), "end_s": second + 0.001, "ns": 10**6} | traced_call)
            second += 1
        names = {name for row in rows for name in row}
        traced.add(pl.DataFrame(rows, schema={name: kind for name, kind in CALLS.items() if name in names}))
    processes = pl.DataFrame({"process": sorted({traced_call["process"] for part in parts for traced_call in part})})
    return traced.profile(
        processes.cast(pl.Int64), source="recorder", names=(), commands=(), begin_unix_ns=0, end_unix_ns=10**11,
        origin_unix_ns=0, losses=(), unknown=(), uncounted=frozenset(),
    )  # fmt: skip


def order_of_reads(calls: Sequence[Call]) -> tuple[int | None, ...]:
    """How many were consecutive, and their extent."""
    reads = profile_of(calls).file_operations.filter(operation="read")
    (row,) = reads.select("consecutive", "begin_bytes", "end_bytes").rows()
    return tuple(row)


READ = call("read", bytes=10)
UNKNOWN = (None, None, None)


def test_reads_of_a_file_that_is_open_once_follow_each_other() -> None:
    assert order_of_reads([call("open"), READ, READ, call("close")]) == (2, 0, 20)


def test_where_an_inherited_descriptor_stands_is_unknown() -> None:
    assert order_of_reads([READ, READ]) == UNKNOWN
    assert order_of_reads([call("open"), {**READ, "process": 1}]) == UNKNOWN


def test_a_close_of_what_was_inherited_does_not_count_against_later_opens() -> None:
    assert order_of_reads([call("close"), call("open"), READ]) == (1, 0, 10)


def test_of_two_descriptors_of_a_file_nobody_knows_which_one_reads_until_one_is_left_and_seeks() -> None:
    twice = [call("open"), call("open")]
    assert order_of_reads([*twice, READ, call("seek", seek_to=0), READ, call("close"), READ]) == UNKNOWN
    assert order_of_reads([*twice, call("close"), call("seek", seek_to=40), READ]) == (0, 40, 50)


def test_a_seek_goes_to_a_place_by_a_distance_or_nobody_knows_where_to() -> None:
    assert order_of_reads([call("open"), READ, call("seek", seek_by=5), READ]) == (1, 0, 25)
    assert order_of_reads([call("open"), call("seek", seek_to=7), READ]) == (0, 7, 17)
    assert order_of_reads([call("open"), call("seek"), READ]) == UNKNOWN


def test_what_is_appended_is_at_an_unknown_place() -> None:
    assert order_of_reads([call("open", open_flags=0o2001), READ]) == UNKNOWN


def test_streams_neither_open_nor_close_a_descriptor() -> None:
    stream = call("open", is_stream=True)
    assert order_of_reads([call("open"), stream, READ, call("close", is_stream=True), READ]) == (2, 0, 20)


def test_calls_that_failed_move_nothing_and_have_no_size() -> None:
    failed = call("read", failed=True)
    profile = profile_of([call("open"), READ, failed, call("seek", seek_to=90, failed=True), READ])
    reads = profile.file_operations.filter(operation="read")
    assert reads.select("calls", "consecutive", "end_bytes").rows() == [(3, 2, 20)]
    assert profile.file_sizes["calls"].sum() == 2


def test_failures_are_known_only_where_each_call_says() -> None:
    for failures, failed in (([True, False], 1), ([True, None], None)):
        profile = profile_of([call("read", failed=failure) for failure in failures])
        assert profile.file_operations["failed"].to_list() == [failed]


def test_a_file_keeps_its_number_when_it_is_renamed_over_another_name() -> None:
    renames = [call("rename", f"/part.{number}", new_path="/whole") for number in range(2)]
    files = profile_of([*renames, call("open", "/whole")]).files
    assert files.select("file", "path", "names").rows() == [(0, "/part.0", 1), (1, "/part.1", 2)]


def test_a_directory_of_the_kernel_is_no_storage_when_it_is_listed() -> None:
    profile = profile_of([call("list", "/proc/self/fd"), call("list", "/data")])
    assert profile.files["kind"].to_list() == ["kernel", "directory"]
    assert profile.process_operations["operation"].to_list() == ["elsewhere other", "list"]


def test_calls_added_trace_by_trace_are_as_if_added_at_once() -> None:
    first = [call("open"), *(call("read", bytes=size) for size in (10, 10, 4096)), call("rename", new_path="/new")]
    second = [{**each, "process": 1} for each in (*first, call("write", "/new", bytes=5), call("stat", "/dev/null"))]
    apart, together = profile_of(first, second), profile_of([*first, *second])
    for name in FRAMES:
        assert_frame_equal(getattr(apart, name), getattr(together, name))


@pytest.mark.parametrize("name", FRAMES)
def test_every_table_has_its_columns(name: str) -> None:
    assert getattr(profile_of([call("open"), READ]), name).schema == FRAMES[name]
