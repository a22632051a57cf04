"""What a RAID does for a write, against counting every byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.tuning.path import parity
from ioassay.tuning.path.requests import Request
from ioassay.tuning.system import Array

KIB = 1 << 10
RAID6 = Array(8, 128 * KIB, 2)


def _one(address: int, size: int, array: Array = RAID6) -> parity.StripeWrite:
    (write,) = parity.stripe_writes([Request(address, size, address)], array)
    return write


def test_a_full_stripe_is_written_without_a_read() -> None:
    write = _one(1 << 20, 1 << 20)
    assert (write.method, write.reads, write.writes) == ("full stripe", 0, 10)
    assert (write.stripe, write.write_bytes) == (1, 10 * 128 * KIB)


def test_half_a_stripe_is_written_after_the_other_half_was_read() -> None:
    write = _one(512 * KIB, 512 * KIB)
    assert (write.method, write.reads, write.writes) == ("reconstruct-write", 4, 6)
    assert (list(write.written_segments), write.read_segments) == ([4, 5, 6, 7], [0, 1, 2, 3])


def test_a_small_write_reads_the_old_data_and_the_old_parity() -> None:
    write = _one(0, 4 * KIB)
    assert (write.method, write.reads, write.writes) == ("read-modify-write", 3, 3)
    assert (write.read_bytes, write.write_bytes) == (12 * KIB, 12 * KIB)
    assert write.reads_parity


def test_an_array_without_parity_reads_nothing() -> None:
    write = _one(0, 4 * KIB, Array(4, 64 * KIB))
    assert (write.method, write.reads, write.writes) == ("no parity", 0, 1)


def test_a_request_that_straddles_stripes_is_a_write_of_each() -> None:
    writes = parity.stripe_writes([Request(0, 1 << 20, 64 * KIB)], RAID6)
    assert [(write.stripe, write.start_bytes, write.end_bytes) for write in writes] == [
        (0, 64 * KIB, 1 << 20),
        (1, 0, 64 * KIB),
    ]
    assert writes[0].stripe_offset_bytes == -64 * KIB
    assert parity.work(RAID6, writes).full_stripe_share == 0


def test_full_stripes_take_the_least_that_is_possible() -> None:
    work = parity.work(RAID6, [_one(0, 1 << 20)])
    assert work.disk_ios == work.least_disk_ios == 10
    assert work.amplification == work.least_amplification == pytest.approx(1.25)


@given(
    segment=st.integers(1, 6),
    data=st.integers(1, 6),
    lost=st.integers(1, 2),
    address=st.integers(0, 60),
    size=st.integers(1, 60),
)
def test_reads_and_writes_are_those_that_a_count_of_bytes_finds(
    segment: int, data: int, lost: int, address: int, size: int
) -> None:
    array = Array(data, segment, lost)
    for write in parity.stripe_writes([Request(0, size, address)], array):
        begin = write.stripe * array.stripe_bytes
        written = set(range(max(address, begin), min(address + size, begin + array.stripe_bytes)))
        cells = {divmod(byte - begin, segment) for byte in written}  # disk, row
        rows = {row for _, row in cells}
        modify_disks = {disk for disk, _ in cells}
        missing = {(disk, row) for disk in range(data) for row in rows} - cells
        modify = (len(modify_disks) + lost, len(cells) + lost * len(rows))
        reconstruct = (len({disk for disk, _ in missing}), len(missing))
        assert write.writes == len(modify_disks) + lost
        assert write.write_bytes == len(cells) + lost * len(rows)
        if write.method == "full stripe":
            assert len(written) == array.stripe_bytes
        else:
            assert (write.reads, write.read_bytes) == min(modify, reconstruct)
        if write.method == "reconstruct-write":
            assert set(write.read_segments) == {disk for disk, _ in missing}
