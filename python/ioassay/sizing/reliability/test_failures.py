"""What a catalogue's drives mean for a configuration: groups, rebuilds, failures, losses."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import assumed, derivation
from ioassay.sizing.capacity.redundancy import Geometry
from ioassay.sizing.configurations import read
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.reliability.failures import DriveFailures, drive_failures
from ioassay.sizing.reliability.rebuild import Assumptions, Rebuild
from ioassay.systems.amounts import NUMBER
from ioassay.testing.sized_configuration import sized

HOUR_S = 3600
DRAID2 = "{layout: draid2, data: 8, parity: 2, groups: 1, children: 60, spares: 2}"


def failures(
    folder: Path, redundancy: str = "{layout: raid6, data: 8, parity: 2, groups: 6}", **other: str
) -> DriveFailures:
    return drive_failures(*sized(folder, redundancy, **other))  # type: ignore[arg-type]


def rebuilt(drive_failures: DriveFailures) -> Rebuild:
    (brick,) = drive_failures.bricks.values()
    assert brick.rebuild is not None
    return brick.rebuild


def protected(drive_failures: DriveFailures) -> Geometry:
    (brick,) = drive_failures.bricks.values()
    return brick.protection


def chance(drive_failures: DriveFailures) -> float:
    assert drive_failures.loss is not None
    return drive_failures.loss.nominal


def test_a_spare_drive_is_written_at_the_share_of_its_rate_that_rebuilds_get(tmp_path: Path) -> None:
    rebuild = rebuilt(failures(tmp_path, write="200MB/s", read="250MB/s"))
    assert rebuild.rate.nominal == pytest.approx(0.3 * 200e6)
    assert rebuild.time.nominal == pytest.approx(4e12 / 60e6)


def test_a_rebuild_is_never_faster_than_the_drives_are_read(tmp_path: Path) -> None:
    assert rebuilt(failures(tmp_path, write="200MB/s", read="100MB/s")).rate.nominal == pytest.approx(0.3 * 100e6)


def test_all_surviving_drives_of_a_draid_take_part_in_a_rebuild(tmp_path: Path) -> None:
    """59 drives at 30 % read 8 bytes and write 1 for each that is restored."""
    rebuild = rebuilt(failures(tmp_path, DRAID2))
    assert rebuild.rate.nominal == pytest.approx(59 * 0.3 / (8 / 250e6 + 1 / 200e6))


def test_a_draid_without_spares_is_rebuilt_to_the_drive_that_replaces_the_failed_one(tmp_path: Path) -> None:
    rebuild = rebuilt(failures(tmp_path, "{layout: draid2, data: 8, parity: 2, groups: 1, children: 60}"))
    assert rebuild.rate.nominal == pytest.approx(0.3 * 200e6)
    assert rebuild.exposed.nominal > rebuild.time.nominal


def test_a_drive_without_a_spare_must_be_replaced_first(tmp_path: Path) -> None:
    without = rebuilt(failures(tmp_path))
    spare = rebuilt(failures(tmp_path, "{layout: raid6, data: 8, parity: 2, groups: 5, spares: 10}"))
    assert without.exposed.nominal == pytest.approx(without.time.nominal + 24 * HOUR_S)
    assert spare.exposed.nominal == spare.time.nominal


def test_another_share_for_rebuilds_takes_the_place_of_the_assumed_one(tmp_path: Path) -> None:
    catalogue, size = sized(tmp_path)
    estimate = drive_failures(catalogue, size, Assumptions(share=assumed("share", 1, NUMBER, "nobody works at night")))
    assert rebuilt(estimate).rate.nominal == pytest.approx(200e6)


def test_raid10_is_many_mirrors(tmp_path: Path) -> None:
    group = protected(failures(tmp_path, "{layout: raid10, data: 30, groups: 1}"))
    assert (group.groups, group.drives, group.data, group.parity) == (30, 2, 1, 1)


def test_the_spares_of_a_draid_are_among_its_children(tmp_path: Path) -> None:
    group = protected(failures(tmp_path, DRAID2))
    assert (group.groups, group.drives, group.width) == (1, 60, 10)


def test_a_declustered_erasure_code_without_spares_rebuilds_into_free_space(tmp_path: Path) -> None:
    group = protected(failures(tmp_path, "{layout: erasure, data: 16, parity: 2, groups: 1, children: 60}"))
    assert (group.drives, group.width, group.is_declustered, group.has_spares) == (60, 18, True, True)


def test_one_percent_of_120_drives_fail_in_a_year_and_are_replaced(tmp_path: Path) -> None:
    estimate = failures(tmp_path)
    assert estimate.per_year is not None
    assert estimate.per_year.nominal == pytest.approx(120 * 0.01005, rel=1e-3)


def test_the_share_of_time_with_a_rebuild_is_about_failures_times_rebuild_time(tmp_path: Path) -> None:
    estimate = failures(tmp_path)
    assert estimate.per_year is not None
    assert estimate.rebuilding is not None
    years = rebuilt(estimate).time.nominal / (365 * 86400)
    assert estimate.rebuilding.nominal == pytest.approx(estimate.per_year.nominal * years, rel=0.01)


def test_twice_the_bricks_are_lost_twice_as_often(tmp_path: Path) -> None:
    two, four = (drive_failures(*sized(tmp_path, bricks=bricks)) for bricks in (2, 4))
    assert chance(four) == pytest.approx(2 * chance(two), rel=1e-3)


def test_two_kinds_of_bricks_are_lost_as_often_as_twice_the_bricks_of_one(tmp_path: Path) -> None:
    kinds, four = drive_failures(*sized(tmp_path, kinds=2)), drive_failures(*sized(tmp_path, bricks=4))
    assert chance(kinds) == pytest.approx(chance(four), rel=1e-6)
    assert kinds.rebuilding is not None
    assert four.rebuilding is not None
    assert kinds.rebuilding.nominal == pytest.approx(four.rebuilding.nominal, rel=1e-6)


def test_a_third_parity_drive_makes_loss_rarer_and_a_larger_failure_rate_likelier(tmp_path: Path) -> None:
    raidz2, raidz3 = (
        failures(tmp_path, f"{{layout: raidz{parity}, data: 8, groups: 4, spares: {60 - 4 * (8 + parity)}}}")
        for parity in (2, 3)
    )
    assert chance(raidz3) < chance(raidz2) / 100
    assert chance(failures(tmp_path, annual_failure_rate="4%")) > 30 * chance(failures(tmp_path))


def test_the_chance_of_loss_covers_what_the_printed_digits_leave_open(tmp_path: Path) -> None:
    estimate = failures(tmp_path, annual_failure_rate="1%")
    assert estimate.loss is not None
    low, high = (failures(tmp_path, annual_failure_rate=rate) for rate in ("0.5000%", "1.4999%"))
    assert float(estimate.loss.interval.low) == pytest.approx(chance(low), rel=0.02)
    assert float(estimate.loss.interval.high) == pytest.approx(chance(high), rel=0.02)


def test_unreadable_sectors_make_a_loss_likelier(tmp_path: Path) -> None:
    estimate = failures(tmp_path, read_error_every="125TB")
    assert estimate.loss_or_unreadable is not None
    assert estimate.loss_or_unreadable.nominal > 100 * chance(estimate)


def test_few_stripes_of_a_draid_lose_two_pieces(tmp_path: Path) -> None:
    """Of 10 pieces on 60 drives, one other piece of a stripe lies on a given other drive in 9 of 59 cases."""
    estimate = failures(tmp_path, DRAID2)
    assert estimate.loss_or_unreadable is not None
    steps = derivation(estimate.loss_or_unreadable).steps
    read = next(step for step in steps if step.name == "bytes that a rebuild without redundancy reads")
    assert read.nominal == pytest.approx(4e12 * 8 * 9 / 59)


@pytest.mark.parametrize("key", ["read", "write"])
def test_rebuilds_and_losses_are_unknown_without_a_rate_of_the_drive(tmp_path: Path, key: str) -> None:
    estimate = drive_failures(*sized(tmp_path, without=key))
    (brick,) = estimate.bricks.values()
    assert (brick.rebuild, estimate.rebuilding, estimate.loss, estimate.loss_or_unreadable) == (None, None, None, None)
    assert estimate.per_year is not None
    assert brick.missing == (key,)


def test_only_the_rebuild_time_is_known_without_a_failure_rate(tmp_path: Path) -> None:
    estimate = drive_failures(*sized(tmp_path, without="annual_failure_rate"))
    assert rebuilt(estimate).time.nominal > 0
    assert (estimate.per_year, estimate.rebuilding, estimate.loss, estimate.loss_or_unreadable) == (
        None,
        None,
        None,
        None,
    )


def test_losses_of_built_in_bricks_are_known_exactly_where_the_catalogue_has_all_figures() -> None:
    file, catalogue = read("md3460-racks")
    for name, configuration in file.configurations.items():
        estimate = drive_failures(catalogue, evaluate(catalogue, name, configuration))
        missing = {key for brick in estimate.bricks.values() for key in brick.missing}
        assert (estimate.loss is None) == bool(missing & {"read", "write", "annual_failure_rate"})


def test_no_drive_fails_with_certainty(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="100%"):
        failures(tmp_path, annual_failure_rate="100%")
