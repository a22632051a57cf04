"""Requests on their way through steps: what leaves each of them.

What is traced is a part of the file that is large enough to show what the layers make of it: one transfer, or as many
in a row as a page cache joins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ioassay.tuning.path import parity
from ioassay.tuning.path.model import Layer, Step
from ioassay.tuning.path.parity import RaidWork, StripeWrite
from ioassay.tuning.path.requests import (
    Request,
    gathered,
    shifted,
    split_at_boundaries,
    split_by_size,
    striped,
)
from ioassay.tuning.system import Array

MOST_BYTES = 16 << 20
"""The largest part of a file that is traced at once."""
MOST_TRANSFERS = 4096
"""The most transfers traced one by one; smaller ones that a page cache joins are traced in groups."""
_MOST_TURNS = 128
"""Parts of the file that are traced until the pattern of stripes repeats; then what was found so far counts."""


def window_bytes(steps: Sequence[Step], transfer_bytes: int) -> int:
    """The part of the file to trace."""
    gathers = max((step.gathers_bytes for step in steps), default=0)
    return min(transfer_bytes * max(1, min(gathers, MOST_BYTES) // transfer_bytes), MOST_BYTES)


def group_size(steps: Sequence[Step], transfer_bytes: int) -> int:
    """How many transfers are traced as one."""
    return -(-(window_bytes(steps, transfer_bytes) // transfer_bytes) // MOST_TRANSFERS) or 1


def trace(steps: Sequence[Step], transfer_bytes: int, offset_bytes: int = 0) -> list[Layer]:
    """The steps as layers, for transfers from an offset of the file on. The first step is the application."""
    size = window_bytes(steps, transfer_bytes)
    at_once = transfer_bytes * group_size(steps, transfer_bytes)
    requests = list(split_by_size(Request(offset_bytes, size, offset_bytes), at_once))
    layers = []
    for step in steps:
        layer = _layer_of_step(step, requests)
        layers.append(layer)
        requests = list(layer.requests)
    return layers


def _layer_of_step(step: Step, arriving: list[Request]) -> Layer:
    entering = shifted(gathered(arriving) if step.gathers_bytes else arriving, step.shift_bytes)
    left = [list(_split(step, request)) for request in entering]
    return Layer(
        step,
        arriving=tuple(gathered(arriving) if step.gathers_bytes else arriving),
        requests=tuple(piece for pieces in left for piece in pieces),
        split_into=max(map(len, left), default=1),
    )


def _split(step: Step, request: Request) -> Iterator[Request]:
    pieces = [request]
    for limit in sorted(step.limits, key=lambda limit: not limit.is_boundary):
        cut = split_at_boundaries if limit.is_boundary else split_by_size
        pieces = [part for piece in pieces for part in cut(piece, limit.size_bytes)]
    for piece in pieces:
        if step.striping is None:
            yield piece
        else:
            yield from striped(piece, step.striping.segment_bytes, step.striping.data_disks)


def stripe_writes(layers: Sequence[Layer], array: Array) -> list[StripeWrite]:
    """The work of the array for the requests that arrive at its layer; empty where no layer has it."""
    striped = next((layer for layer in layers if layer.step.striping is array), None)
    if striped is None:
        return []
    return parity.stripe_writes(shifted(striped.arriving, striped.step.shift_bytes), array)


def raid_work(steps: Sequence[Step], array: Array, transfer_bytes: int, offset_bytes: int = 0) -> RaidWork:
    """The work of the array for one part of the file after the other, until the pattern repeats."""
    size = window_bytes(steps, transfer_bytes)
    if any(step.gathers_bytes for step in steps):
        transfer_bytes = size  # which is what leaves the page cache
    above = math.prod(
        step.striping.data_disks for step in steps if step.striping is not None and step.striping is not array
    )
    turns = min(math.lcm(size, array.stripe_bytes) // size * above, _MOST_TURNS)
    return parity.work(
        array,
        (
            write
            for turn in range(turns)
            for write in stripe_writes(trace(steps, transfer_bytes, offset_bytes + turn * size), array)
        ),
    )
