"""The transfers of a stream: their number, sizes, order, and part of the file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ioassay.analysis.replay.model import Order, Sizes

MOST_SIZES = 12

CONSECUTIVE_PERCENT = 95
"""Above this share, a stream counts as consecutive, and smaller transfers are explained by the ends of files."""

ENOUGH = 0.02
"""The largest relative error of the bytes under that explanation."""

MOSTLY = 0.5
"""Share of the non-consecutive transfers above which transfers at equal distances make a stream strided."""

DEVIATIONS = 3
"""Standard deviations of a fair coin within which forward and backward transfers count as equal."""


@dataclass(frozen=True)
class Transfers:
    """The transfers of a stream, of all its ranks together."""

    calls: float
    bytes: float
    opens: float
    """Opens of files for these transfers."""
    sizes: Sizes
    order: Order

    @property
    def per_open(self) -> float:
        """Transfers from an open to its close."""
        return self.calls / self.opens

    @property
    def bytes_per_open(self) -> float:
        """Bytes from an open to its close."""
        return self.bytes / self.opens


def fewer_sizes(sizes: Iterable[tuple[int, float]]) -> Sizes:
    """At most `MOST_SIZES` sizes: those with most bytes and calls; others are averaged between powers of 16."""
    every = sorted((size, calls) for size, calls in sizes if size > 0 and calls > 0)
    if len(every) > MOST_SIZES:
        moved, calls = (sum(values) for values in zip(*((size * count, count) for size, count in every), strict=True))
        weight = {size: size * count / moved + count / calls for size, count in every}
        largest = set(sorted(weight, key=lambda size: -weight[size])[: MOST_SIZES // 2])
        between: dict[int, tuple[float, float]] = {}
        kept = [(size, count) for size, count in every if size in largest]
        for size, count in every:
            if size not in largest:
                power = int(math.log(size, 16))
                bytes_between, many = between.get(power, (0.0, 0.0))
                between[power] = (bytes_between + size * count, many + count)
        every = sorted([*kept, *((max(1, round(moved_bytes / many)), many) for moved_bytes, many in between.values())])
        return fewer_sizes(_largest(every)) if len(every) > MOST_SIZES else _whole(every)
    return _whole(every)


def _largest(every: list[tuple[int, float]]) -> list[tuple[int, float]]:
    return sorted(every, key=lambda entry: -entry[0] * entry[1])[:MOST_SIZES]


def _whole(every: list[tuple[int, float]]) -> Sizes:
    """Sizes with integer weights of at least 1."""
    if not every:
        return ()
    least = min(count for _, count in every)
    scale = 1 / least if least < 1 else 1
    summed: dict[int, int] = {}
    for size, count in every:
        summed[size] = summed.get(size, 0) + max(1, round(count * scale))
    return tuple(sorted(summed.items()))


def mean(sizes: Sizes) -> float:
    """Mean size of all transfers."""
    return sum(size * count for size, count in sizes) / max(1, sum(count for _, count in sizes))


@dataclass(frozen=True)
class Course:
    """Where transfers began: counts of those beyond and before the end of the previous one."""

    calls: float
    forward: float
    backward: float
    strided: float
    """Forward transfers at equal distances."""

    @property
    def is_strided(self) -> bool:
        """True for transfers at equal distances, in one or several passes: each backward one begins a pass."""
        return self.strided > MOSTLY * (self.forward + self.backward)

    @property
    def excess(self) -> float:
        """Forward minus backward transfers; 0 if chance explains the difference, because random transfers go backward
        as often as forward.
        """
        difference = self.forward - self.backward
        return difference if abs(difference) > DEVIATIONS * math.sqrt(self.forward + self.backward) else 0.0

    @property
    def passes(self) -> float:
        """The number of times that strided transfers start over."""
        return self.backward if self.is_strided else 0.0

    @property
    def order(self) -> Order:
        """The order in percent of transfers. Random transfers go forward as often as backward."""
        if not self.calls:
            return Order()
        moved = self.forward + self.backward
        ahead = moved if self.is_strided else max(self.excess, 0.0)
        back = 0.0 if self.is_strided else max(-self.excess, 0.0)
        at_random = min(100, round(100 * (moved - ahead - back) / self.calls))
        forward = min(100 - at_random, round(100 * ahead / self.calls))
        backward = min(100 - at_random - forward, round(100 * back / self.calls))
        return Order(100 - at_random - forward - backward, forward, at_random, backward)


def without_tails(moves: Transfers) -> Sizes:
    """The sizes without those that the ends of files explain: the last transfer of a file is smaller if transfers of
    one size reach its end. With a file of `bytes_per_open`, the engine's last transfer is as small.
    """
    if len(moves.sizes) < 2 or moves.order.consecutive < CONSECUTIVE_PERCENT:
        return moves.sizes
    size, calls = max(moves.sizes, key=lambda size: size[0] * size[1])
    is_usual = calls >= sum(count for _, count in moves.sizes) / 2
    if any(other > size for other, _ in moves.sizes) or not is_usual or moves.bytes_per_open < size:
        return moves.sizes
    done = sizes_in_visits(size, round(moves.calls), round(moves.opens), max(1, round(moves.bytes_per_open)))
    moved = sum(transfer * times for transfer, times in done.items())
    return ((size, 1),) if abs(moved - moves.bytes) <= ENOUGH * moves.bytes else moves.sizes


def file_bytes(moves: Transfers, sizes: Sizes, extent: float) -> int:
    """The size of a file that all its transfers fit into: the application's extent, unless each open moves the file
    once from its beginning to its end. `sizes` are those without tails.
    """
    whole, largest = moves.bytes_per_open, max((size for size, _ in sizes), default=1)
    if moves.order.consecutive < CONSECUTIVE_PERCENT or whole < extent / 2 or whole > 1.1 * extent:
        return max(1, round(extent), largest)
    if sizes != moves.sizes:
        return max(1, round(whole))
    if len(sizes) == 1:
        return math.ceil(moves.per_open) * largest
    count = sum(many for _, many in sizes)
    spread = math.sqrt(sum(many * (size - mean(sizes)) ** 2 for size, many in sizes) / count)
    # Sizes come in random order: some visits move more than the mean, which must fit, too.
    margin = min(3 * spread * math.sqrt(moves.per_open), moves.per_open * (largest - mean(sizes)))
    return max(1, math.ceil(whole + margin), largest)


def sizes_in_visits(size: int, count: int, opens: int, part: int) -> Counter[int]:
    """Sizes and counts of consecutive transfers of `size`; those at the end of the file's part are smaller."""
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
