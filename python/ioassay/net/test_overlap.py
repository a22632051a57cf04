from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.net.iperf3 import Interval
from ioassay.net.overlap import Timed, carried


def flow(begins_s: float, ends_s: float, bytes_per_s: float, unsure_s: float = 0.0, every_s: float = 0.5) -> Timed:
    """A flow of one rate. Its start is known to within `unsure_s` on both sides."""
    count = int((ends_s - begins_s) / every_s)
    intervals = tuple(
        Interval(number * every_s, (number + 1) * every_s, int(bytes_per_s * every_s)) for number in range(count)
    )
    return Timed(intervals, begins_s - unsure_s, begins_s + unsure_s)


def rate(*flows: Timed) -> float:
    traffic = carried(flows)
    assert traffic is not None
    return sum(traffic_of_flow.bits_per_s for traffic_of_flow in traffic) / 8


def test_one_flow_counts_from_its_beginning_to_its_end() -> None:
    traffic = carried([flow(0, 10, 100, unsure_s=1)])
    assert traffic is not None
    assert (traffic[0].received_bytes, traffic[0].duration_s) == (1000, 10)


def test_traffic_of_a_flow_while_it_is_alone_does_not_count() -> None:
    """One link of 100: the first flow has all of it until the second begins, and again when it is over."""
    alone = [
        Interval(number * 0.5, (number + 1) * 0.5, 50 if number < 4 or number >= 16 else 25) for number in range(20)
    ]
    first = Timed(tuple(alone), 0.0, 0.0)
    second = flow(2, 8, 50)
    assert rate(first, second) == pytest.approx(100)
    naive = sum(interval.received_bytes for interval in first.intervals) / 10 + 50
    assert naive > 110, "the sum of both means is more than the link has"


def test_flows_that_never_overlap_have_no_joint_rate() -> None:
    assert carried([flow(0, 2, 100), flow(3, 5, 100)]) is None
    assert carried([flow(0, 2, 100, unsure_s=3), flow(0, 2, 100, unsure_s=3)]) is None
    assert carried([Timed((), 0, 0)]) is None


STARTS = st.lists(st.floats(0, 3), min_size=1, max_size=6)


@given(STARTS, st.floats(0, 0.5))
def test_steady_flows_have_the_sum_of_their_rates_for_any_start(starts: list[float], unsure_s: float) -> None:
    flows = [flow(start, start + 10, 1000 * (number + 1), unsure_s) for number, start in enumerate(starts)]
    assert rate(*flows) == pytest.approx(sum(1000 * (number + 1) for number in range(len(starts))))


@given(STARTS, st.floats(0, 0.5), st.floats(-1, 1))
def test_a_shared_link_never_carries_more_than_it_has(starts: list[float], unsure_s: float, error: float) -> None:
    """The link has 600, shared equally by active flows; the true start of a flow is anywhere within its bounds."""
    every_s, ends = 0.1, [start + 10 for start in starts]

    def received(begin_s: float, end_s: float) -> float:
        moments = [begin_s + (step + 0.5) / 50 * (end_s - begin_s) for step in range(50)]
        working = [sum(start <= now < end for start, end in zip(starts, ends, strict=True)) for now in moments]
        return sum(600 / max(1, count) for count in working) / 50 * (end_s - begin_s)

    flows = [
        Timed(
            tuple(
                Interval(
                    number * every_s,
                    (number + 1) * every_s,
                    round(1000 * received(start + number * every_s, start + (number + 1) * every_s)),
                )
                for number in range(100)
            ),
            start + unsure_s * (error - 1),
            start + unsure_s * (error + 1),
        )
        for start in starts
    ]
    assert rate(*flows) <= 600_000 * 1.001
