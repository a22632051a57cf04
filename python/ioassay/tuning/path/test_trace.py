"""Requests on their way through made-up layers."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ioassay.tuning.path.model import Limit, Step
from ioassay.tuning.path.requests import PAGE_BYTES, Request, gathered, split_by_size, striped
from ioassay.tuning.path.trace import MOST_BYTES, raid_work, trace
from ioassay.tuning.system import Array

KIB = 1 << 10
APPLICATION = Step("application", "application")


def _limit(size: int, *, is_boundary: bool = False) -> Limit:
    return Limit(size, "limit", str(size), "the limit is small", "/sys", is_boundary)


_PAGES = st.integers(1, 64).map(lambda count: count * PAGE_BYTES)
_STEPS = st.lists(
    st.builds(
        lambda limits, shift, striping: Step("queue", "queue", limits=limits, shift_bytes=shift, striping=striping),
        st.lists(st.builds(_limit, _PAGES, is_boundary=st.booleans()), max_size=2).map(tuple),
        st.sampled_from([0, 0, 512, 4096, 1 << 20]),
        st.none() | st.builds(Array, st.integers(1, 8), _PAGES),
    ),
    max_size=5,
)


@given(steps=_STEPS, transfer=st.integers(1, 512).map(lambda pages: pages * PAGE_BYTES))
def test_requests_of_every_layer_are_the_transfer_without_gap_or_overlap_and_within_its_limits(
    steps: list[Step], transfer: int
) -> None:
    layers = trace((APPLICATION, *steps), transfer)
    largest = transfer
    for layer in layers:
        end = 0
        for request in layer.requests:
            assert request.offset_bytes == end
            assert request.size_bytes > 0
            end = request.end_bytes
        assert end == transfer
        for limit in layer.step.limits:
            assert layer.request_bytes <= limit.size_bytes
        assert layer.request_bytes <= largest  # never joined again
        largest = layer.request_bytes
        assert layer.is_split == (
            layer.split_into > 1 and any(limit.size_bytes < layer.arriving_bytes for limit in layer.step.limits)
        )


@given(steps=_STEPS, transfer=st.integers(1, 256).map(lambda pages: pages * PAGE_BYTES), more=st.integers(1, 8))
def test_a_larger_limit_never_makes_more_requests(steps: list[Step], transfer: int, more: int) -> None:
    def total(factor: int) -> int:
        wider = [replace(step, limits=(_limit(64 * KIB * factor, is_boundary=True),), striping=None) for step in steps]
        return len(trace((APPLICATION, *wider), transfer)[-1].requests)

    assert total(more) <= total(1)


def test_a_size_is_counted_from_the_start_of_a_request_and_a_boundary_from_that_of_the_device() -> None:
    step = Step("queue", "queue", limits=(_limit(512 * KIB),), shift_bytes=64 * KIB)
    assert [request.size_bytes for request in trace((APPLICATION, step), 1 << 20)[-1].requests] == [512 * KIB] * 2
    step = replace(step, limits=(_limit(512 * KIB, is_boundary=True),))
    layer = trace((APPLICATION, step), 1 << 20)[-1]
    assert [request.size_bytes for request in layer.requests] == [448 * KIB, 512 * KIB, 64 * KIB]


def test_a_page_cache_joins_transfers_up_to_what_the_layers_below_take() -> None:
    cache = Step("cache", "page cache", gathers_bytes=1 << 20)
    layers = trace((APPLICATION, cache), 64 * KIB)
    assert [len(layer.requests) for layer in layers] == [16, 1]
    assert layers[-1].request_bytes == 1 << 20


def test_a_page_cache_writes_whole_pages() -> None:
    cache = Step("cache", "page cache", gathers_bytes=1 << 20)
    layer = trace((APPLICATION, cache), 47008)[-1]
    assert layer.request_bytes == -(-22 * 47008 // PAGE_BYTES) * PAGE_BYTES
    assert gathered([Request(100, 10, 100)]) == [Request(0, PAGE_BYTES, 0)]


def test_chunks_go_to_one_member_after_the_other() -> None:
    pieces = list(striped(Request(0, 4 * 64 * KIB, 64 * KIB), 64 * KIB, 3))
    assert [(piece.member, piece.address_bytes) for piece in pieces] == [(1, 0), (2, 0), (0, 64 * KIB), (1, 64 * KIB)]


def test_only_the_beginning_of_a_huge_transfer_is_traced() -> None:
    layers = trace((APPLICATION,), 1 << 40)
    assert layers[0].request_bytes == MOST_BYTES


def test_the_work_of_a_raid_is_counted_until_its_pattern_repeats() -> None:
    array = Array(10, 128 * KIB, 2)
    steps = (APPLICATION, Step("raid", "RAID", striping=array))
    work = raid_work(steps, array, 2 << 20)
    assert work.data_bytes == 10 << 20
    assert (work.stripe_writes, work.full_stripes) == (12, 4)


def test_pieces_of_a_size_are_the_whole_request() -> None:
    assert [request.size_bytes for request in split_by_size(Request(0, 1 << 20, 0), 508 * KIB)] == [
        508 * KIB,
        508 * KIB,
        8 * KIB,
    ]
