from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis import rates
from ioassay.analysis.run_units import fitted, of_run
from ioassay.testing.builder import RunBuilder
from ioassay.text.rate_units import LEAST, MOST, UNITS, fitting, suited
from ioassay.text.units import RateUnit


@pytest.mark.parametrize(
    ("wanted", "rates", "unit"),
    [
        ("GB/s", [1.05e9, 1.4e9], "GB/s"),
        ("GB/s", [1.05e9, 0.6e9], "MB/s"),
        ("MB/s", [1.05e9, 0.6e9], "MB/s"),
        ("GiB/s", [0.3e9], "MiB/s"),
        ("kops/s", [43.2], "ops/s"),
        ("IOPS", [52_300.0, 68_600.0], "kIOPS"),
        ("MB/s", [12_000.0], "kB/s"),
        ("GB/s", [0.0], "GB/s"),
        ("GB/s", [], "GB/s"),
    ],
)
def test_the_unit_is_of_the_asked_kind_and_its_numbers_are_short(
    wanted: RateUnit, rates: list[float], unit: RateUnit
) -> None:
    assert fitting(UNITS[wanted], rates).name == unit


@given(st.lists(st.floats(1e3, 9e12), min_size=1), st.sampled_from(["MB/s", "GiB/s"]))
def test_no_other_unit_has_more_numbers_that_read_well(rates: list[float], wanted: RateUnit) -> None:
    def well(unit: str) -> int:
        return sum(LEAST <= rate / UNITS[unit].divisor <= MOST for rate in rates)  # type: ignore[index]

    kind = ("kB/s", "MB/s", "GB/s") if wanted == "MB/s" else ("KiB/s", "MiB/s", "GiB/s")
    assert well(fitting(UNITS[wanted], rates).name) == max(map(well, kind))


def test_data_are_counted_in_iops_and_metadata_in_operations() -> None:
    assert suited("rate_operations_per_s", "read", [2e3]).name == "kIOPS"
    assert suited("rate_operations_per_s", "create", [2e3]).name == "kops/s"
    assert suited("rate_bytes_per_s", "read", []).name == "MB/s"


def test_a_value_outside_every_unit_has_the_nearest_unit() -> None:
    assert suited("rate_bytes_per_s", "read", [1.0]).name == "kB/s"
    assert suited("rate_bytes_per_s", "read", [9e15]).name == "GB/s"


def test_all_tables_and_figures_of_a_run_have_one_unit_for_each_kind_of_rate() -> None:
    builder = RunBuilder().workload("fast", unit="GB/s").workload("slow", unit="MB/s").clients(1)
    for operation in ("write", "read"):
        builder.rates("fast", operation, 1, 1.5e9).rates("slow", operation, 1, 0.2e9)
    run = builder.build()
    points = rates.points(run.measurements)
    run = fitted(run, points)
    study = run.document.study
    assert [row.unit for row in study.summary] == ["MB/s", "MB/s"]
    assert {figure.unit for figure in study.figures} == {"MB/s"}
    assert of_run(run.document, points).of("rate_bytes_per_s", "read").name == "MB/s"
