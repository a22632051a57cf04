"""Distances of distributions, compared with shares counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ioassay.analysis.distances import cumulative_shares, distance, spread, steps


def test_equal_distributions_have_no_distance_whatever_their_total() -> None:
    assert distance(spread([0, 8], [8, 16], [1, 3]), spread([0, 8], [8, 16], [10, 30])) == 0


def test_disjoint_distributions_have_the_distance_one() -> None:
    assert distance(spread([0], [1], [5]), spread([8], [9], [7])) == 1


def test_the_distance_is_the_largest_difference_of_the_shares_below_a_bound() -> None:
    # Half of the first and a fifth of the second lies below 8.
    assert distance(spread([0, 8], [8, 16], [5, 5]), spread([0, 8], [8, 16], [2, 8])) == pytest.approx(0.3)


def test_an_uncertainty_of_a_wider_range_is_no_distance() -> None:
    exact, bucket = spread([4096], [4097], [9]), spread([0], [8192], [9])
    assert distance(exact, bucket) == 0
    assert distance(bucket, exact) == 0


def test_a_range_without_an_end_is_unknown_from_its_beginning() -> None:
    assert distance(spread([1], [math.inf], [1]), spread([1 << 40], [math.inf], [1])) == 0
    assert distance(spread([8], [math.inf], [1]), spread([1], [2], [1])) == 1


def test_empty_weights_have_no_distribution_and_unknown_ones_no_distance() -> None:
    assert spread([], [], []) is None
    assert spread([0], [1], [0]) is None
    assert distance(None, spread([0], [1], [1])) is None
    assert distance(spread([0], [1], [1]), None) is None


def test_a_share_lies_between_the_least_and_the_most_that_the_ranges_allow() -> None:
    distribution = spread([0, 10], [10, 20], [1, 3])
    assert distribution is not None
    least, most = cumulative_shares(distribution, np.array([0.0, 5.0, 10.0, 15.0, 20.0]))
    assert least.tolist() == [0, 0, 0.25, 0.25, 1]
    assert most.tolist() == [0, 0.25, 0.25, 1, 1]


def test_time_lines_of_different_numbers_of_steps_are_comparable() -> None:
    assert distance(steps([1, 1, 1, 1]), steps([2, 2])) == 0
    assert distance(steps([4, 0, 0, 0]), steps([0, 1])) == 1
