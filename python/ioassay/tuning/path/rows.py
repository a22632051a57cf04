"""A path as rows of boxes over the part of the file that is shown: for a figure, and for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ioassay.text.units import format_bytes, format_count
from ioassay.tuning.path.measured import Comparison
from ioassay.tuning.path.model import IoPath, Layer, sizes
from ioassay.tuning.path.parity import StripeWrite

What = Literal["request", "written", "read first", "read and written", "parity"]
"""`read and written`: the old content of what is written is read first, for a read-modify-write."""

_PARITY_NAMES = "PQRS"
_MOST_STRIPE_ROWS = 4
_MOST_NAMED = 2


@dataclass(frozen=True)
class Box:
    """A request, or a part of a segment."""

    start_bytes: int
    """From the start of the part of the file that is shown; less than 0 where a stripe begins before it."""
    end_bytes: int
    what: What
    label: str = ""


@dataclass(frozen=True)
class Parity:
    """A parity segment, at the end of a row."""

    label: str
    is_read: bool
    """Whether its old content is read first."""


@dataclass(frozen=True)
class Row:
    """A layer, or what a RAID does for some of the requests that reach it."""

    name: str
    subject: str
    host: str
    boxes: tuple[Box, ...]
    sizes: str
    """The sizes of its requests: `2 × 512 KiB`."""
    segments: tuple[Box, ...] = ()
    """Only of a RAID: the data segments of the stripes that it writes to, behind the boxes."""
    parity: tuple[Parity, ...] = ()
    cuts: tuple[int, ...] = ()
    """Where this layer splits requests."""
    cause: str = ""
    """Only of a split: the limits, `max_sectors_kb 512`."""
    problem: str = ""
    """The parts that are misaligned."""
    note: str = ""
    measured: str = ""
    """The mean size that was measured."""


def rows(path: IoPath, comparisons: Sequence[Comparison] = ()) -> list[Row]:
    """The layers from top to bottom; of an array with parity a row for writes that do not touch the same stripe."""
    known = {id(comparison.layer): comparison for comparison in comparisons}
    layer_rows = []
    for layer in path.layers:
        has_writes = layer.step.striping is not None and layer.step.striping is path.array and bool(path.stripe_writes)
        has_writes = has_writes and path.array is not None and path.array.parity_disks > 0
        if not has_writes or layer.kind != "raid":
            layer_rows.append(_row(path, layer, known.get(id(layer))))
        if has_writes:
            layer_rows += _stripe_rows(path, layer)
    return layer_rows


def _row(path: IoPath, layer: Layer, comparison: Comparison | None) -> Row:
    begin = path.transfer.offset_bytes
    noun = {"layout": "OST", "volume": "member"}.get(layer.kind, "disk")
    boxes = tuple(
        Box(
            request.offset_bytes - begin,
            request.end_bytes - begin,
            "request",
            f"{noun} {request.member + 1}" if layer.is_spread else format_bytes(request.size_bytes),
        )
        for request in layer.requests
    )
    edges = {request.offset_bytes for request in layer.arriving}
    cuts = tuple(request.offset_bytes - begin for request in layer.requests if request.offset_bytes not in edges)
    causes = path.causes(layer) or layer.limits
    return Row(
        layer.title,
        layer.subject,
        path.hosts[0] if layer.kind == "application" else layer.step.host,
        boxes,
        sizes(layer.requests),
        cuts=cuts if layer.is_split else (),
        cause=" and ".join(dict.fromkeys(limit.text for limit in causes)) if layer.is_split else "",
        problem=_misaligned(layer),
        measured=comparison.sizes.text if comparison is not None and comparison.sizes.count else "",
    )


def _misaligned(layer: Layer) -> str:
    return f"misaligned by {format_bytes(layer.offset_bytes)}" if layer.is_misaligned else ""


def _stripe_rows(path: IoPath, layer: Layer) -> list[Row]:
    packed: list[list[StripeWrite]] = []
    for write in path.stripe_writes:
        free = next((row for row in packed if all(_fit_in_one_row(write, other) for other in row)), None)
        if free is None:
            packed.append([write])
        else:
            free.append(write)
    drawn_rows = [_stripe_row(path, layer, writes) for writes in packed[:_MOST_STRIPE_ROWS]]
    left = len(packed) - len(drawn_rows)
    if left:
        last = drawn_rows[-1]
        drawn_rows[-1] = replace(last, note=f"{last.note}; {left} more rows")
    return drawn_rows


def _fit_in_one_row(left: StripeWrite, right: StripeWrite) -> bool:
    """Whether both can be drawn in one row."""
    size = left.array.stripe_bytes
    return abs(left.stripe_offset_bytes - right.stripe_offset_bytes) >= size


def _stripe_row(path: IoPath, layer: Layer, writes: Sequence[StripeWrite]) -> Row:
    array, begin = writes[0].array, path.transfer.offset_bytes
    boxes: list[Box] = []
    segments: list[Box] = []
    for write in writes:
        start = write.stripe_offset_bytes - begin
        for index in range(array.data_disks):
            low, high = index * array.segment_bytes, (index + 1) * array.segment_bytes
            segments.append(Box(start + low, start + high, "request", str(index + 1)))
            first, last = max(low, write.start_bytes), min(high, write.end_bytes)
            is_modify = write.method == "read-modify-write"
            if first < last:
                what: What = "read and written" if is_modify else "written"
                boxes.append(Box(start + first, start + last, what, str(index + 1)))
            if index in write.read_segments and not is_modify:
                reads = _read_parts(write, low, high)
                boxes += [Box(start + left, start + right, "read first", str(index + 1)) for left, right in reads]
    is_read = any(write.reads_parity for write in writes)
    names = (_PARITY_NAMES[index] if index < len(_PARITY_NAMES) else str(index) for index in range(array.parity_disks))
    total = len({write.request for write in path.stripe_writes})
    return Row(
        layer.name if layer.kind == "raid" else f"{layer.name} stripe",
        _request_numbers(writes, total),
        layer.step.host,
        tuple(boxes),
        sizes_of(writes),
        segments=tuple(segments),
        parity=tuple(Parity(name, is_read) for name in names),
        problem=_misaligned(layer) if layer.kind == "raid" and writes[0] is path.stripe_writes[0] else "",
        note=_array_work(writes),
    )


def _read_parts(write: StripeWrite, low: int, high: int) -> list[tuple[int, int]]:
    """The parts of a segment that a reconstruct-write reads first."""
    first, last = max(low, write.start_bytes), min(high, write.end_bytes)
    if first >= last:
        return [(low, high)]
    return [part for part in ((low, first), (last, high)) if part[0] < part[1]]


def sizes_of(writes: Sequence[StripeWrite]) -> str:
    """The sizes of writes to stripes."""
    known = {write.end_bytes - write.start_bytes for write in writes}
    return format_bytes(known.pop()) if len(known) == 1 else f"{format_bytes(min(known))} to {format_bytes(max(known))}"


def _request_numbers(writes: Sequence[StripeWrite], total: int) -> str:
    """The numbers of the requests at the array that a row shows."""
    if total == 1:
        return ""
    numbers = [str(number) for number in sorted({write.request + 1 for write in writes})]
    if len(numbers) == total:
        return f"each of {total} requests"
    more = ", …" if len(numbers) > _MOST_NAMED else ""
    return f"request{'s' if len(numbers) > 1 else ''} {', '.join(numbers[:_MOST_NAMED])}{more} of {total}"


def _array_work(writes: Sequence[StripeWrite]) -> str:
    """The work of the array for each: `full stripe`, `reads 4, writes 6`."""
    labels = dict.fromkeys(
        "full stripe, nothing is read"
        if write.method == "full stripe"
        else f"reads {write.reads}, writes {write.writes}"
        for write in writes
    )
    if len(labels) > 2:
        reads = [write.reads for write in writes]
        return f"reads {min(reads)} to {format_count(max(reads), 'segment')} each"
    return "; ".join(labels)
