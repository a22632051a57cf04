from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.timeline import MOST_LINES, MOST_STEPS, Timeline, timeline

INTERVAL_NS = 100


def _timeline(per_rank: list[list[int]], ends_ns: list[int]) -> Timeline:
    rows = [
        {"rank": rank, "sample": index, "bytes": moved, "operations": 0}
        for rank, samples in enumerate(per_rank)
        for index, moved in enumerate(samples)
    ]
    ranks = pl.DataFrame({"rank": range(len(ends_ns)), "end_ns": ends_ns})
    line = timeline(pl.LazyFrame(rows), ranks, INTERVAL_NS, max(ends_ns))
    assert line is not None
    return line


def test_a_steady_rate_stays_steady_in_the_last_partial_sample() -> None:
    line = _timeline([[1000, 1000, 600]], [260])
    assert line.total["rate"].to_list() == pytest.approx([1e10] * 3)
    assert line.total["end_s"].to_list()[-1] == pytest.approx(260e-9)


def test_a_short_last_sample_is_joined_with_its_neighbour() -> None:
    line = _timeline([[1000, 1000, 900]], [201])
    assert line.total.height == 2
    assert line.total["rate"].to_list()[-1] == pytest.approx(1900 * 1e9 / 101)


def test_time_without_io_has_a_rate_of_0() -> None:
    line = _timeline([[1000]], [300])
    assert line.total["rate"].to_list() == pytest.approx([1e10, 0, 0])


def test_few_ranks_are_lines_and_many_are_a_band() -> None:
    few = _timeline([[10]] * MOST_LINES, [100] * MOST_LINES)
    many = _timeline([[10]] * (MOST_LINES + 1), [100] * (MOST_LINES + 1))
    assert few.ranks["rank"].n_unique() == MOST_LINES
    assert few.band.is_empty()
    assert many.ranks.is_empty()
    assert many.band.height == 1


def test_a_rank_that_has_finished_does_not_pull_the_band_down() -> None:
    ranks = MOST_LINES + 1
    line = _timeline([[1000]] + [[1000, 1000]] * (ranks - 1), [100] + [200] * (ranks - 1))
    assert line.band["lowest"].to_list() == pytest.approx([1e10, 1e10])


def test_a_long_phase_is_drawn_in_steps_of_several_samples() -> None:
    line = _timeline([[10] * 1000], [100_000])
    assert line.total.height <= MOST_STEPS
    assert line.samples_per_step == 7


def test_a_phase_without_samples_has_no_time_line() -> None:
    empty = pl.LazyFrame(schema=dict.fromkeys(("rank", "sample", "bytes", "operations"), pl.Int64))
    assert timeline(empty, pl.DataFrame({"rank": [0], "end_ns": [10]}), INTERVAL_NS, 10) is None


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 10**6), min_size=1, max_size=30), st.integers(1, 100)),
        min_size=1,
        max_size=12,
    )
)
def test_no_byte_is_lost_in_the_total(ranks: list[tuple[list[int], int]]) -> None:
    ends = [(len(samples) - 1) * INTERVAL_NS + rest for samples, rest in ranks]
    line = _timeline([samples for samples, _ in ranks], ends)
    moved = (line.total["rate"] * (line.total["end_s"] - line.total["start_s"])).sum()
    assert moved == pytest.approx(sum(sum(samples) for samples, _ in ranks), abs=1e-6)
