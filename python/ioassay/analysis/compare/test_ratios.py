"""The ratio of two sustained rates, and how often its interval covers the true one."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import median

import pytest

from ioassay.analysis.compare import measured_run
from ioassay.analysis.compare.ratios import Ratio, compare
from ioassay.analysis.compare.subject import Conditions, Curve, Point, Rates, Subject
from ioassay.analysis.peak_sustained import peak_and_sustained
from ioassay.testing.builder import RunBuilder

CLIENTS = (1, 2, 4, 8, 16, 32, 64)
SATURATING = tuple(count / (1 + 0.1 * (count - 1)) for count in CLIENTS)
RETROGRADE = tuple(count / (1 + 0.05 * (count - 1) + 0.003 * count * (count - 1)) for count in CLIENTS)
STEP = (1.0, 1.8, 3.0, 3.0, 3.0, 3.0, 3.0)


def sustained(rates: Sequence[float]) -> float:
    both = peak_and_sustained(list(zip(CLIENTS, rates, strict=True)))
    assert both is not None
    return both.sustained.rate


def repeated(rng: random.Random, curve: Sequence[float], deviation: float, repetitions: int) -> Subject:
    """Repetitions of a sweep, as `measured_run.subject` makes a subject of them."""
    sweeps = [[rate * math.exp(rng.gauss(0, deviation)) for rate in curve] for _ in range(repetitions)]
    rate = sustained([median(point) for point in zip(*sweeps, strict=True)])
    level = Point(None, Conditions(), tuple(map(sustained, sweeps)), sustained=rate)
    rates = Rates((Point(1, Conditions(), (1.0,)),), None, level)
    return Subject("", "run", (Curve(("w",), "w", "write", "rate_bytes_per_s", {"rate_bytes_per_s": rates}),))


def ratio(reference: Subject, other: Subject) -> Ratio:
    sustained_ratio = compare(reference, other).series[0].sustained
    assert sustained_ratio is not None
    return sustained_ratio


def coverage(
    reference: tuple[Sequence[float], float], other: tuple[Sequence[float], float], repetitions: int
) -> tuple[float, float]:
    """The share of intervals that cover the true ratio of two curves, and the share that they claim."""
    rng = random.Random(repetitions)
    truth = sustained(other[0]) / sustained(reference[0])
    inside, claimed, times = 0, 0.0, 600
    for _ in range(times):
        measured = ratio(repeated(rng, *reference, repetitions), repeated(rng, *other, repetitions))
        assert measured.interval is not None
        assert measured.interval.low <= measured.value <= measured.interval.high
        inside += measured.interval.low <= truth <= measured.interval.high
        claimed = measured.interval.confidence
    return inside / times, claimed


@pytest.mark.parametrize("curve", [SATURATING, RETROGRADE, STEP])
@pytest.mark.parametrize(("deviation", "repetitions"), [(0.02, 3), (0.1, 3), (0.02, 5), (0.1, 5)])
def test_intervals_cover_what_they_claim_if_both_sides_scatter_alike(
    curve: Sequence[float], deviation: float, repetitions: int
) -> None:
    share, claimed = coverage((curve, deviation), (curve, deviation), repetitions)
    assert share >= claimed - 3 * math.sqrt(claimed * (1 - claimed) / 600)


@pytest.mark.parametrize(("repetitions", "least"), [(3, 0.75), (5, 0.83)])
def test_intervals_cover_less_if_one_side_scatters_five_times_as_much(repetitions: int, least: float) -> None:
    """As docs/concepts/statistics.md says: the peak of a noisy sweep is a lucky one."""
    for calm, noisy in ((STEP, SATURATING), (STEP, STEP), (SATURATING, STEP)):
        share, claimed = coverage((calm, 0.02), (noisy, 0.1), repetitions)
        assert least <= share <= claimed + 0.01


def test_each_repetition_of_a_whole_sweep_has_a_sustained_rate() -> None:
    builder = RunBuilder().clients(1, 8, 64).repetitions(4).workload("seq")
    for clients, rates in ((1, (1e9, 1e9, 1e9, 1e9)), (8, (4e9, 4.2e9, 3.9e9, 4e9)), (64, (4.1e9, 3e9, 3.8e9, 9e9))):
        builder.rates("seq", "write", clients, *rates)
    run = builder.doubt("seq-c8-r4", "write", "short-transfers", invalidates=True).build()
    curve = next(curve for curve in measured_run.subject(run, "a").curves if curve.operation == "write")
    level = curve.rates["rate_bytes_per_s"].sustained
    assert level is not None
    # Each is the median of 8 and 64 clients, the points from the first near the peak on. The fourth lacks 8.
    assert level.rates == pytest.approx((4.05e9, 3.6e9, 3.85e9), rel=1e-6)
    assert level.median == pytest.approx(median([4e9, 3.95e9]), rel=1e-6)
