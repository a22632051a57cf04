from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.sizing.rates.raid_writes import ios_per_small_write, moved_per_byte, write_cost

KIB = 1024
CHUNK = 128 * KIB


def test_a_full_stripe_moves_data_and_parity_once() -> None:
    cost = write_cost(8 * CHUNK, 8, 2, CHUNK)
    assert (cost.method, cost.moved_bytes, cost.drive_ios) == ("full-stripe writes", 10 * CHUNK, 10)


def test_half_a_stripe_of_8_2_is_reconstructed_for_as_much_as_a_whole_one() -> None:
    # So writes of 512 KiB to stripes of 1 MiB are half as fast, as the MD3460 paper saw before it tuned them.
    half = write_cost(4 * CHUNK, 8, 2, CHUNK)
    assert half.method == "reconstruct-writes"
    assert half.moved_bytes == write_cost(8 * CHUNK, 8, 2, CHUNK).moved_bytes
    assert half.drive_ios == 4 + 4 + 2


def test_a_chunk_of_8_2_is_cheaper_to_modify() -> None:
    cost = write_cost(CHUNK, 8, 2, CHUNK)
    assert (cost.method, cost.moved_bytes, cost.drive_ios) == ("read-modify-writes", 6 * CHUNK, 6)


def test_the_rest_of_a_stripe_beyond_whole_ones_is_modified() -> None:
    cost = write_cost(9 * CHUNK, 8, 2, CHUNK)
    assert (cost.method, cost.moved_bytes) == ("read-modify-writes", 16 * CHUNK)


@pytest.mark.parametrize(("data", "parity", "ios"), [(1, 1, 2), (4, 1, 4), (8, 2, 6), (2, 1, 3), (1, 0, 1)])
def test_small_writes_have_their_known_penalties(data: int, parity: int, ios: int) -> None:
    assert ios_per_small_write(data, parity) == ios


@given(st.integers(1, 1 << 24), st.integers(1, 16), st.integers(1, 3), st.sampled_from([4 * KIB, CHUNK, 1 << 20]))
def test_no_write_moves_less_than_its_share_of_full_stripes(request: int, data: int, parity: int, chunk: int) -> None:
    cost = write_cost(request, data, parity, chunk)
    assert cost.moved_bytes * data >= request * (data + parity)
    method, value = moved_per_byte(request, data, parity, chunk)
    assert method == cost.method
    assert value.interval.nominal * request == cost.moved_bytes


@given(st.integers(1, 1 << 22), st.integers(2, 16), st.integers(1, 3))
def test_the_cheaper_of_both_methods_is_taken(request: int, data: int, parity: int) -> None:
    stripes, rest = divmod(request, data * CHUNK)
    extent = min(rest, CHUNK)
    both = (2 * (rest + parity * extent), (data + parity) * extent)
    assert write_cost(request, data, parity, CHUNK).moved_bytes == stripes * (data + parity) * CHUNK + min(both)
