"""What a replay amounts to, told from its plan alone: operations, bytes, sizes of transfers.

The engine gives each of a stream's transfers its own quantile of the sizes (`crates/engine/src/workload/replay.rs`), so
their numbers are exact. A transfer that would go beyond the end of its file ends there; this is counted where a stream
moves through its files in transfers of one size, one after the other. Elsewhere the bytes are the most there can be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from ioassay.store.document import Operation

if TYPE_CHECKING:
    from ioassay.protocol.plan import (
        Stream,
        StreamOperation,
        StreamOperationRead,
        StreamOperationWrite,
        WorkReplay,
    )

FILL_BYTES = 1 << 20
"""What a rank moves at once when it fills a file."""

_ORDER: tuple[Operation, ...] = ("write", "read", "open", "close", "sync", "stat", "create", "rename", "remove")
"""That of the engine's records."""


Course = Literal["consecutive", "forward", "backward"]


@dataclass
class Replayed:
    """What a stream, or several, do."""

    operations: Counter[Operation] = field(default_factory=Counter)
    sizes: dict[Operation, Counter[int]] = field(default_factory=dict)
    """Of transfers: calls by size."""
    orders: dict[Operation, Counter[Course]] = field(default_factory=dict)
    """Of transfers: calls by where they begin, as many as are to be expected of those at random."""

    @property
    def moved_bytes(self) -> Mapping[Operation, int]:
        """By operation."""
        return {name: sum(size * calls for size, calls in own.items()) for name, own in self.sizes.items()}

    def _add(self, operation: Operation, sizes: Mapping[int, int], times: int) -> None:
        for size, calls in sizes.items():
            self.sizes.setdefault(operation, Counter())[size] += calls * times
            self.operations[operation] += calls * times


def replayed_operations(work: WorkReplay) -> list[Operation]:
    """What the operations of a replay do: a measurement for each."""
    every: set[Operation] = set()
    for stream in work["streams"]:
        every.update(_operations_of(stream["operation"]))
    return [operation for operation in _ORDER if operation in every]


def replayed(work: WorkReplay, items: Mapping[str, int], ranks: int) -> Replayed:
    """What all ranks of a replay do. `items` has the number of items of each tree."""
    done = Replayed()
    for stream in work["streams"]:
        _add(done, stream, items[stream["tree"]], ranks)
    return done


def written_bytes_each(work: WorkReplay) -> Iterable[tuple[str, int]]:
    """The trees with items that hold something, and the most that each holds."""
    for stream in work["streams"]:
        operation = stream["operation"]
        if operation["kind"] == "fill":
            yield stream["tree"], operation["bytes"]
        elif operation["kind"] == "write":
            yield stream["tree"], operation["file_bytes"]


def _operations_of(operation: StreamOperation) -> tuple[Operation, ...]:
    match operation["kind"]:
        case "fill":
            return ("write", "open", "close")
        case "read":
            return ("read", "open", "close")
        case "write":
            return ("write", "open", "close", "sync") if operation.get("sync_every") else ("write", "open", "close")
        case "open":
            return ("open",) if operation.get("absent") else ("open", "close")
        case kind:
            return (kind,)


def _add(done: Replayed, stream: Stream, items: int, ranks: int) -> None:
    operation, some = stream["operation"], stream.get("ranks")
    members = some["count"] if some else ranks
    match operation["kind"]:
        case "fill":
            whole, rest = divmod(operation["bytes"], FILL_BYTES)
            done._add("write", {FILL_BYTES: whole, **({rest: 1} if rest else {})}, items)
            done.operations.update({"open": items, "close": items})
        case "read" | "write":
            done._add(operation["kind"], transfer_sizes(operation, members), members)
            order = done.orders.setdefault(operation["kind"], Counter())
            order.update({name: calls * members for name, calls in _transfer_order(operation, members).items()})
            opens = operation["opens"] * members
            done.operations.update({"open": opens, "close": opens})
            if every := operation.get("sync_every"):
                done.operations["sync"] += operation["count"] // every * members
        case "open":
            calls = operation["count"] * members
            done.operations["open"] += calls
            done.operations["close"] += 0 if operation.get("absent") else calls
        case kind:
            done.operations[kind] += operation["count"] * members


def transfer_sizes(of: StreamOperationRead | StreamOperationWrite, members: int) -> Counter[int]:
    """The calls of each rank by size."""
    sizes = [(size["bytes"], size["weight"]) for size in of["sizes"] if size["weight"]]
    order = of["order"]
    is_one_way = not order["forward"] and not order["random"] and 0 in (order["consecutive"], order.get("backward", 0))
    if len(sizes) == 1 and is_one_way:
        # Where ranks have parts of a file that are not equal, the difference is a byte.
        part = of["file_bytes"] // (members if of["region"] == "segment" else 1)
        return sizes_in_visits(sizes[0][0], of["count"], of["opens"], max(1, part))
    bounds = [0]
    for _, weight in sizes:
        bounds.append(bounds[-1] + weight)
    until = [_below(bound, bounds[-1], of["count"]) for bound in bounds]
    counted: Counter[int] = Counter()
    for (size, _), (first, last) in zip(sizes, pairwise(until), strict=True):
        counted[min(size, of["file_bytes"])] += last - first
    return counted


def _transfer_order(of: StreamOperationRead | StreamOperationWrite, members: int) -> dict[Course, int]:
    """The calls of each rank by where they begin. Of those at random as many are forward as backward; the first of a
    visit goes nowhere.
    """
    order, count = of["order"], of["count"]
    downward = order.get("backward", 0)
    weights = order["consecutive"] + order["forward"] + downward + order["random"]
    part = of["file_bytes"] // (members if of["region"] == "segment" else 1)
    mean = sum(size["bytes"] * size["weight"] for size in of["sizes"]) / sum(size["weight"] for size in of["sizes"])
    at_random = count * order["random"] / weights
    # One of the places at random is where the last transfer ended.
    both_ways = round(at_random / 2 * (1 - 1 / max(1, part // mean)))
    backward = both_ways + round(max(0, count - of["opens"]) * downward / weights)
    # Gaps have no length where a visit moves as much as the file holds.
    has_gaps = mean * -(-count // max(1, of["opens"])) < part
    forward = both_ways + (round(count * order["forward"] / weights) if has_gaps else 0)
    return {"consecutive": count - forward - backward, "forward": forward, "backward": backward}


def _below(bound: int, whole: int, count: int) -> int:
    """How many of the quantiles (2 i + 1) / (2 count) of `whole` are below `bound`, each rounded down."""
    return max(0, min(count, -(-(2 * bound * count - whole) // (2 * whole))))


def sizes_in_visits(size: int, count: int, opens: int, part: int) -> Counter[int]:
    """Transfers of one size, one after the other: those at the end of the file's part are smaller."""
    counted: Counter[int] = Counter()
    few, more = divmod(count, opens)
    for each, visits in ((few, opens - more), (few + 1, more)):
        passes, left = divmod(each, -(-part // size))
        full = passes * (part // size) + min(left, part // size)
        ends = passes * (part % size > 0) + (left > part // size)
        counted[size] += full * visits
        if ends:
            counted[part % size] += ends * visits
    return +counted
