from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.sizing.prediction import queueing
from ioassay.sizing.prediction.queueing import Stations

networks = st.lists(st.builds(Stations, st.integers(1, 50), st.floats(1e-3, 1e3)), min_size=1, max_size=4)
requests = st.integers(1, 60)


@given(requests, networks)
def test_the_expected_rate_lies_between_the_bounds(number: int, stations: list[Stations]) -> None:
    expected = queueing.expected(number, stations)
    assert queueing.least(number, stations) <= expected * (1 + 1e-9)
    assert expected <= queueing.most(number, stations) * (1 + 1e-9)


@given(requests, networks)
def test_more_requests_never_do_less(number: int, stations: list[Stations]) -> None:
    for rule in (queueing.least, queueing.expected, queueing.most):
        assert rule(number, stations) <= rule(number + 1, stations) * (1 + 1e-9)


@given(requests, st.integers(1, 50))
def test_equal_stations_give_the_known_closed_form(number: int, stations: int) -> None:
    """N / (D (1 + (N - 1) / K)), where K stations share the demand D evenly."""
    known = number / (number + stations - 1)
    assert queueing.expected(number, [Stations(stations, 1.0)]) == pytest.approx(known)
    assert queueing.least(number, [Stations(stations, 1.0)]) == pytest.approx(known)


def test_a_single_request_never_waits() -> None:
    network = [Stations(4, 0.5), Stations(1, 3.0)]
    assert queueing.least(1, network) == queueing.expected(1, network) == queueing.most(1, network) == 1 / 5
