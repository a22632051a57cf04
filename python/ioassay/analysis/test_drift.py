from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ioassay.analysis.drift import FEWEST, Drift, drifts
from ioassay.store import schema
from ioassay.store.measurement import KEY

MIB = 1 << 20
SECONDS = 120


def _key(phase: int) -> dict[str, str]:
    return dict(zip(KEY, (f"case-{phase}", "write", "write", "write"), strict=True))


def _drifts(phases: Sequence[NDArray[np.float64]], ranks: int = 2, operations: int = 100) -> list[Drift]:
    """Phases with these rates in MiB/s, a sample per second, divided among ranks that end with them."""
    frames = [
        pl.DataFrame(
            {
                **_key(index),
                "rank": np.repeat(np.arange(ranks), len(rates)),
                "sample": np.tile(np.arange(len(rates)), ranks),
                "bytes": np.tile((rates * MIB / ranks).astype(np.int64), ranks),
                "operations": np.tile(np.where(rates > 0, operations, 0), ranks),
            },
            schema_overrides=schema.SAMPLES,
        )
        for index, rates in enumerate(phases)
    ]
    measurements = pl.DataFrame(
        [_key(index) | {"valid": True, "sample_interval_ns": 10**9} for index in range(len(phases))],
        schema_overrides=schema.MEASUREMENTS,
    )
    return drifts(pl.concat(frames).lazy(), measurements)


def _noise(correlation: float, spread: float, phases: int, seconds: int = SECONDS) -> NDArray[np.float64]:
    """Steady rates around 100 MiB/s with log-normal noise; a row per phase."""
    dice = np.random.default_rng(int(100 * correlation + 1000 * spread))
    logs = dice.normal(0, spread, (phases, seconds))
    for index in range(1, seconds):
        logs[:, index] = correlation * logs[:, index - 1] + np.sqrt(1 - correlation**2) * logs[:, index]
    return np.asarray(100 * np.exp(logs))


def _steady(seconds: int = SECONDS) -> NDArray[np.float64]:
    return np.asarray(_noise(0, 0.1, 1, seconds)[0])


@pytest.mark.parametrize(
    ("correlation", "spread", "most"), [(0, 0.1, 0.004), (0, 0.3, 0.005), (0.6, 0.1, 0.01), (0.8, 0.3, 0.02)]
)
@pytest.mark.parametrize("seconds", [30, 60, 120])
def test_a_steady_phase_very_rarely_gets_a_finding(
    correlation: float, spread: float, most: float, seconds: int
) -> None:
    all_drifts = _drifts(list(_noise(correlation, spread, 600, seconds)), ranks=1)
    assert len(all_drifts) == 600
    assert sum(bool(drift.trend or drift.changes) for drift in all_drifts) <= most * len(all_drifts)
    assert not any(drift.stalls for drift in all_drifts)


def test_a_gradual_decline_is_a_trend_and_no_series_of_steps() -> None:
    (drift,) = _drifts([_steady() * np.linspace(1, 0.7, SECONDS)])
    assert drift.trend is not None
    assert drift.changes == ()
    assert drift.trend.change.low < -0.3 < drift.trend.change.high
    assert drift.trend.change.high < -0.2


@pytest.mark.parametrize("drop_s", [15, 40, 100])
def test_a_drop_is_a_change_at_its_time_and_no_trend(drop_s: int) -> None:
    (drift,) = _drifts([_steady() * np.where(np.arange(SECONDS) < drop_s, 1, 0.5)])
    assert drift.trend is None
    (change,) = drift.changes
    assert change.at_s == pytest.approx(drop_s, abs=2)
    assert change.before == pytest.approx(100 * MIB, rel=0.1)
    assert change.after == pytest.approx(50 * MIB, rel=0.1)


def test_a_dip_has_two_changes() -> None:
    seconds = np.arange(SECONDS)
    (drift,) = _drifts([_steady() * np.where((seconds >= 40) & (seconds < 70), 0.4, 1)])
    assert [round(change.at_s) for change in drift.changes] == pytest.approx([40, 70], abs=1)


def test_a_stall_is_reported_with_its_length_and_is_no_trend() -> None:
    rates = _steady()
    rates[50:55] = 0
    (drift,) = _drifts([rates])
    assert [(stall.start_s, stall.length_s) for stall in drift.stalls] == [(50, 5)]
    assert drift.trend is None
    assert drift.changes == ()


def test_an_empty_sample_of_few_long_operations_is_no_stall() -> None:
    rates = np.tile([300.0, 0.0, 0.0], 40)
    assert _drifts([rates + 1], operations=2)[0].stalls == ()


def test_a_long_phase_is_joined_to_steps_and_keeps_its_times() -> None:
    drop_s, seconds = 1000, 3000
    (drift,) = _drifts([_steady(seconds) * np.where(np.arange(seconds) < drop_s, 1, 0.6)])
    (change,) = drift.changes
    assert change.at_s == pytest.approx(drop_s, abs=50)
    assert drift.end_s == pytest.approx(seconds, rel=0.02)


def test_the_end_of_a_phase_without_all_ranks_at_work_is_ignored() -> None:
    seconds = np.arange(SECONDS)
    samples = pl.DataFrame(
        {
            **_key(0),
            "rank": np.repeat([0, 1], SECONDS),
            "sample": np.tile(seconds, 2),
            "bytes": np.concatenate([np.full(SECONDS, MIB), np.where(seconds < 60, MIB, 0)]),
            "operations": np.concatenate([np.full(SECONDS, 100), np.where(seconds < 60, 100, 0)]),
        },
        schema_overrides=schema.SAMPLES,
    )
    measurements = pl.DataFrame([_key(0) | {"valid": True, "sample_interval_ns": 10**9}])
    (drift,) = drifts(samples.lazy(), measurements)
    assert drift.changes == ()
    assert drift.end_s == 59


def test_too_few_samples_and_invalid_phases_have_no_drift() -> None:
    assert _drifts([_steady(FEWEST)]) == []  # the last sample is cut short, so there is one too few
    assert len(_drifts([_steady(FEWEST + 1)])) == 1
    samples = pl.DataFrame(schema=schema.SAMPLES)
    measurements = pl.DataFrame([_key(0) | {"valid": False, "sample_interval_ns": 10**9}])
    assert drifts(samples.lazy(), measurements) == []


@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.8, 1.0, 1.3]), st.floats(0.1, 1000))
def test_faster_storage_has_the_same_changes_in_proportion(seed: int, drop: float, factor: float) -> None:
    dice = np.random.default_rng(seed)
    rates = 100 * dice.lognormal(0, 0.1, SECONDS) * np.where(np.arange(SECONDS) < 60, 1, drop)
    slow, fast = _drifts([rates, rates * factor], ranks=1)
    assert [change.at_s for change in slow.changes] == [change.at_s for change in fast.changes]
    assert (slow.trend is None) == (fast.trend is None)
    assert fast.median == pytest.approx(factor * slow.median, rel=1e-4)
