"""What replays amount to, against what the engine does: counted here transfer by transfer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.store.replay_sizes import replayed, replayed_operations, transfer_sizes

if TYPE_CHECKING:
    from ioassay.protocol.plan import StreamOperationWrite, WorkReplay

MIB = 1 << 20


def transfers(**keys: Any) -> StreamOperationWrite:
    made = {
        "kind": "write",
        "count": 8,
        "opens": 1,
        "sizes": [{"bytes": 4096, "weight": 1}],
        "file_bytes": MIB,
        "region": "whole",
        "order": {"consecutive": 1, "forward": 0, "random": 0},
    }
    return cast("StreamOperationWrite", made | keys)


def engine(of: StreamOperationWrite) -> Counter[int]:
    """The walk of the engine through files with transfers of one size, step by step."""
    (size,) = of["sizes"]
    counted: Counter[int] = Counter()
    begun = 0
    for visit in range(of["opens"]):
        position = 0
        while begun < of["count"] * (visit + 1) // of["opens"]:
            position = 0 if position >= of["file_bytes"] else position
            moved = min(size["bytes"], of["file_bytes"] - position)
            counted[moved] += 1
            position += moved
            begun += 1
    return counted


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 60), st.integers(1, 60))
def test_transfers_of_one_size_end_where_their_files_do(count: int, opens: int, size: int, part: int) -> None:
    of = transfers(count=count, opens=opens, sizes=[{"bytes": size, "weight": 1}], file_bytes=part)
    assert transfer_sizes(of, 1) == engine(of)


@given(st.integers(1, 200), st.lists(st.integers(0, 9), min_size=2, max_size=6))
def test_each_transfer_takes_its_own_quantile_of_the_sizes(count: int, weights: list[int]) -> None:
    if not any(weights):
        return
    sizes = [{"bytes": 1000 + at, "weight": weight} for at, weight in enumerate(weights)]
    found = transfer_sizes(transfers(count=count, sizes=sizes, order={"consecutive": 1, "forward": 1, "random": 0}), 1)
    expected: Counter[int] = Counter()
    for nth in range(count):
        at = (2 * nth + 1) * sum(weights) // (2 * count)
        place = next(place for place in range(len(weights)) if at < sum(weights[: place + 1]))
        expected[1000 + place] += 1
    assert +found == expected


def test_a_segment_ends_as_a_file_does() -> None:
    of = transfers(count=3, sizes=[{"bytes": 1000, "weight": 1}], file_bytes=10_000, region="segment")
    assert transfer_sizes(of, 4) == {1000: 2, 500: 1}


def test_backward_transfers_begin_at_the_end_of_each_visit() -> None:
    order = {"consecutive": 1, "forward": 0, "random": 0, "backward": 3}
    of = transfers(count=8, opens=2, order=order, file_bytes=4 * 4096)
    work = cast("WorkReplay", {"kind": "replay", "streams": [{"tree": "t", "items": "own", "operation": of}]})
    assert replayed(work, {"t": 2}, 2).orders == {"write": {"consecutive": 8, "forward": 0, "backward": 8}}
    only = transfers(count=8, opens=2, order={**order, "consecutive": 0}, file_bytes=4 * 4096 - 100)
    assert transfer_sizes(only, 1) == {4096: 6, 4096 - 100: 2}


def test_all_ranks_of_a_stream_count_with_their_opens_and_syncs() -> None:
    streams = [
        {"tree": "t", "items": "own", "operation": transfers(count=8, opens=2, sync_every=3)},
        {"tree": "t", "items": "all", "ranks": {"first": 0, "count": 2}, "operation": {"kind": "open", "count": 5}},
        {"tree": "u", "items": "all", "operation": {"kind": "open", "count": 7, "absent": True}},
        {"tree": "u", "items": "own", "operation": {"kind": "create", "count": 1}},
        {"tree": "v", "items": "own", "operation": {"kind": "fill", "bytes": 3 * MIB + 1}},
    ]
    work = cast("WorkReplay", {"kind": "replay", "streams": streams})
    done = replayed(work, {"t": 8, "u": 4, "v": 6}, 4)
    assert done.operations == {
        "write": 8 * 4 + 6 * 4,
        "open": 2 * 4 + 5 * 2 + 7 * 4 + 6,
        "close": 2 * 4 + 5 * 2 + 6,
        "sync": 2 * 4,
        "create": 4,
    }
    assert done.moved_bytes == {"write": 8 * 4 * 4096 + 6 * (3 * MIB + 1)}
    assert replayed_operations(work) == ["write", "open", "close", "sync", "create"]


@pytest.mark.parametrize("kind", ["stat", "rename", "remove"])
def test_what_moves_nothing_has_no_sizes(kind: str) -> None:
    work = {"kind": "replay", "streams": [{"tree": "t", "items": "own", "operation": {"kind": kind, "count": 3}}]}
    done = replayed(cast("WorkReplay", work), {"t": 8}, 2)
    assert (done.operations, done.sizes) == ({kind: 6}, {})
