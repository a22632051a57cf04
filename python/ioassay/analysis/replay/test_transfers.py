"""The transfers of a stream, compared with a walk through its files."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.replay.transfers import sizes_in_visits


def sizes_of_walk(size: int, count: int, opens: int, part: int) -> Counter[int]:
    """Sizes and counts of the transfers, walked one by one as the engine does."""
    counted: Counter[int] = Counter()
    begun = 0
    for visit in range(opens):
        position = 0
        while begun < count * (visit + 1) // opens:
            position = 0 if position >= part else position
            moved = min(size, part - position)
            counted[moved] += 1
            position += moved
            begun += 1
    return counted


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 60), st.integers(1, 60))
def test_transfers_of_one_size_end_where_their_files_do(count: int, opens: int, size: int, part: int) -> None:
    assert sizes_in_visits(size, count, opens, part) == sizes_of_walk(size, count, opens, part)
