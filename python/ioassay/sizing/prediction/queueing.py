"""Throughput of a closed network: so many requests circulate among stations, and each waits while others are served.

After Edward D. Lazowska, John Zahorjan, G. Scott Graham, Kenneth C. Sevcik: Quantitative System Performance (1984),
chapter 5 (bounds) and chapter 6 (mean value analysis). Demands are in seconds for each byte, or for each operation;
throughput is in bytes, or operations, per second. Not: which stations a storage system has (`data`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Stations(NamedTuple):
    """Stations that are alike, among which requests are spread evenly."""

    number: int
    demand: float
    """The time that an average request takes of each of them, above 0: 1 / the rate of all together."""


def least(requests: int, stations: Sequence[Stations]) -> float:
    """The lower balanced job bound: N / (D + (N - 1) Dmax), for `requests` from 1 on."""
    return requests / (_total(stations) + (requests - 1) * max(station.demand for station in stations))


def most(requests: int, stations: Sequence[Stations]) -> float:
    """The upper asymptotic bound: the lower of N / D and 1 / Dmax."""
    return min(requests / _total(stations), 1 / max(station.demand for station in stations))


def expected(requests: int, stations: Sequence[Stations]) -> float:
    """Throughput by exact mean value analysis, which lies between the two bounds.

    Every request that arrives finds the queues that there would be without it (Reiser and Lavenberg: Mean-Value
    Analysis of Closed Multichain Queuing Networks, Journal of the ACM 27, 1980).
    """
    queues, throughput = [0.0] * len(stations), 0.0
    for circulating in range(1, requests + 1):
        times = [station.demand * (1 + queue) for station, queue in zip(stations, queues, strict=True)]
        throughput = circulating / sum(station.number * time for station, time in zip(stations, times, strict=True))
        queues = [throughput * time for time in times]
    return throughput


def _total(stations: Sequence[Stations]) -> float:
    return sum(station.number * station.demand for station in stations)
