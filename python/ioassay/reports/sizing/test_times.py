"""Times and drive failures in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.reports.document import Document, Section
from ioassay.reports.document.markdown import rendered
from ioassay.reports.sizing import times
from ioassay.sizing.reliability.failures import drive_failures
from ioassay.sizing.requirements import Requirements
from ioassay.testing.sized_configuration import sized

REQUIREMENTS = Requirements.model_validate(
    {
        "name": "machine",
        "usable": "200TB",
        "fill": "80%",
        "growth": {"per_year": "30%", "years": "3"},
        "checkpoint": {"size": "20TB", "longest": "30min", "failures_every": "24h"},
    }
)


def text(section: Section) -> str:
    return rendered(Document("title", [section]))


def test_times_stand_with_the_arithmetic_that_leads_to_them(tmp_path: Path) -> None:
    _, size = sized(tmp_path)
    shown = text(times.times(size, REQUIREMENTS))
    write = size.rates["healthy"]["write"].value.nominal
    assert f"| Time to fill | {size.capacity.usable.nominal / write / 3600:.4g} h |" in shown
    assert "| Time to write a checkpoint |" in shown
    assert "| Share of time spent on checkpoints |" in shown
    assert "| Data after 3 years | 439.4 TB (399.6 TiB) | 200 TB × (1 + 0.3) ^ 3 |" in shown
    assert "stonewall of 5 min" in shown
    assert "name stragglers" in shown


def test_checkpoints_and_growth_are_left_out_without_requirements(tmp_path: Path) -> None:
    shown = text(times.times(sized(tmp_path)[1]))
    assert "Time to fill" in shown
    assert "checkpoint" not in shown
    assert "Data after" not in shown


def test_data_that_do_not_fit_fill_it_at_once(tmp_path: Path) -> None:
    growing = REQUIREMENTS.model_copy(update={"fill": None})
    _, size = sized(tmp_path, drive_count=10, redundancy="{layout: raid6, data: 8, parity: 2, groups: 1}", bricks=1)
    assert "| Time until it is full | at once |" in text(times.times(size, growing))


def test_drive_failures_name_the_odds_and_every_assumption(tmp_path: Path) -> None:
    shown = text(times.failures(drive_failures(*sized(tmp_path))))
    assert "| Rebuild time of a drive | 18.52 h | 4 TB ÷ 60 MB/s |" in shown
    assert "| Drives that fail in a year | 1.2 |" in shown
    assert "1 in 9.8 million" in shown
    assert "1 in 8,400 (0.012 %)" in shown
    assert "Share of a drive's rate that rebuilds get: 30%" in shown
    assert "Drives of one batch" in shown


def test_figures_that_the_catalogue_lacks_are_named_and_what_to_add(tmp_path: Path) -> None:
    shown = text(times.failures(drive_failures(*sized(tmp_path, without="annual_failure_rate"))))
    assert "no annual failure rate of own-drive, so the report leaves out failing drives or the chance of loss" in shown
    assert "Add `annual_failure_rate`" in shown
    assert "Rebuild time of a drive" in shown
    assert "Chance" not in shown


def test_drives_without_redundancy_are_not_rebuilt(tmp_path: Path) -> None:
    shown = text(times.failures(drive_failures(*sized(tmp_path, "{layout: none, data: 60, groups: 1}"))))
    assert "Rebuild time" not in shown
    assert "of which none may be down" in shown


def test_several_kinds_of_bricks_are_shown_apart_and_together(tmp_path: Path) -> None:
    shown = text(times.failures(drive_failures(*sized(tmp_path, kinds=2))))
    assert "own-brick-1 with own-drive" in shown
    assert "own-brick-2 with own-drive" in shown
    together = shown.partition("All bricks together")[2]
    assert "| Drives that fail in a year | 2.4 |" in together
    assert "1 in 4,200 (0.024 %)" in together


@pytest.mark.parametrize(
    ("chance", "shown"),
    [
        (1, "100 %"),
        (0.25, "25 %"),
        (0.0083, "1 in 120 (0.83 %)"),
        (1 / 12_000, "1 in 12,000 (0.0083 %)"),
        (1.02e-7, "1 in 9.8 million"),
        (2.4e-11, "1 in 42 billion"),
        (1e-20, "less than 1 in 1,000 billion"),
        (0, "less than 1 in 1,000 billion"),
    ],
)
def test_a_chance_is_one_in_so_many(chance: float, shown: str) -> None:
    assert times.odds(chance) == shown


@given(st.floats(0, 1))
def test_a_chance_never_has_an_exponent(chance: float) -> None:
    assert "e" not in times.odds(chance).removeprefix("less")
