"""Sizes for targets of known speed: reads are cold, writes fit, and the time limit holds."""

from dataclasses import replace

import pytest

from ioassay.calibration.probe import Speeds
from ioassay.calibration.sizes import Sizes, rounded_up, suitable

MIB = 1 << 20

DISK = Speeds(
    write_bytes_per_s=400e6,
    read_bytes_per_s=500e6,
    random_writes_per_s=50e3,
    random_reads_per_s=10e3,
    creates_per_s=10e3,
    case_s=0.4,
)
CRAWLING = Speeds(
    write_bytes_per_s=1e6,
    read_bytes_per_s=1e6,
    random_writes_per_s=50,
    random_reads_per_s=50,
    creates_per_s=20,
    case_s=0.5,
)


def total(sizes: Sizes) -> int:
    return sizes.ranks * sizes.files * sizes.file_bytes


def test_a_read_has_enough_data_for_its_time() -> None:
    sizes = suitable(DISK, ranks=2, free_bytes=1 << 40, left_s=32)
    assert sizes.phase_s == 1.0
    assert total(sizes) >= DISK.read_bytes_per_s * sizes.phase_s
    assert sizes.ranks * sizes.files * sizes.random_file_bytes >= DISK.random_reads_per_s * 4096 * sizes.phase_s
    assert sizes.ranks * sizes.items >= DISK.creates_per_s * sizes.phase_s


def test_writing_for_a_much_faster_read_takes_no_more_than_thrice_a_phase() -> None:
    sizes = suitable(replace(DISK, read_bytes_per_s=20e9), ranks=1, free_bytes=1 << 40, left_s=25)
    assert total(sizes) <= 3 * DISK.write_bytes_per_s * sizes.phase_s


def test_phases_are_shortened_to_fit_three_repetitions() -> None:
    roomy = suitable(DISK, ranks=2, free_bytes=1 << 40, left_s=32)
    tight = suitable(DISK, ranks=2, free_bytes=1 << 40, left_s=16)
    assert 0.5 <= tight.phase_s < roomy.phase_s
    assert 3 * tight.repetition_s <= 16
    assert tight.repetitions >= 3


def test_time_is_left_for_removing_very_many_files() -> None:
    creating_fast = replace(DISK, creates_per_s=200e3)
    fast, slow = (suitable(speeds, ranks=4, free_bytes=1 << 40, left_s=40) for speeds in (creating_fast, DISK))
    assert fast.repetition_s == pytest.approx(slow.repetition_s + 1)


def test_a_crawling_target_gets_two_small_files_and_at_least_one_repetition() -> None:
    sizes = suitable(CRAWLING, ranks=4, free_bytes=1 << 40, left_s=1)
    assert (sizes.files, sizes.file_bytes, sizes.random_file_bytes) == (2, MIB, 64 << 10)
    assert sizes.repetitions == 1


def test_a_case_takes_at_most_part_of_the_free_space() -> None:
    sizes = suitable(DISK, ranks=2, free_bytes=64 * MIB, left_s=25)
    assert total(sizes) <= 32 * MIB


@pytest.mark.parametrize(("number", "wanted"), [(0.1, 1), (1, 1), (3, 3), (5, 6), (13, 16), (17, 24), (1000, 1024)])
def test_sizes_are_rounded_up_to_few_steps(number: float, wanted: int) -> None:
    assert rounded_up(number) == wanted


def test_a_small_change_of_speed_mostly_leaves_the_settings_alone() -> None:
    chosen = {suitable(replace(DISK, read_bytes_per_s=rate), 2, 1 << 40, 40).file_bytes for rate in (4.5e8, 5e8, 6e8)}
    assert len(chosen) == 1
