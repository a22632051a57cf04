"""elbencho's histogram of latencies (`--lathisto`): how many operations took how long.

elbencho truncates latencies to whole microseconds, and counts them in four bins for each power of two
(`source/LatencyHistogram.h`): bin i holds those whose truncated 4 * log2 is i, and bin 0 also those of 0 and 1. A
bin is printed with its end, without the fraction from 10 µs on. If a latency reaches the last bin, no bin is printed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

from ioassay.importers.model import Latencies
from ioassay.importers.source import Refused

_EACH = 4
_BINS = 28 * _EACH - 1
"""The number of bins that are printed."""

_NS_PER_US = 1000


def _printed(number: int) -> str:
    """The end of a bin as elbencho prints it."""
    end_us = 2 ** ((number + 1) / _EACH)
    return f"{end_us:.{1 if end_us < 10 else 0}f}"


_BY_END = {_printed(number): number for number in range(_BINS)}


def of_bins(counts: Iterable[tuple[str, int]], line: int, longest_us: int | None = None) -> Latencies:
    """The latencies, from the printed ends of bins in µs and what is counted in each, ascending. Raises `Refused`.

    The last bin ends with the longest latency, where that is known to the microsecond.
    """
    bins: list[tuple[int, int]] = []
    for end, count in counts:
        if end not in _BY_END or not count or _is_empty(_BY_END[end]):
            raise Refused(f"has a bin of latencies that ends at {end} µs, which no known version of elbencho has", line)
        bins.append((_BY_END[end], count))
    if not bins or any(number_after <= number_before for (number_before, _), (number_after, _) in pairwise(bins)):
        raise Refused("has bins of latencies that are out of order", line)
    highest_ns = [_first_us(number + 1) * _NS_PER_US - 1 for number, _ in bins]
    if longest_us is not None:
        last = bins[-1][0]
        if not _first_us(last) <= longest_us < _first_us(last + 1):
            raise Refused(f"has a longest latency of {longest_us} µs, which is not in the last of its bins", line)
        highest_ns[-1] = (longest_us + 1) * _NS_PER_US - 1
    return Latencies(
        lowest_ns=[_first_us(number) * _NS_PER_US for number, _ in bins],
        highest_ns=highest_ns,
        count=[count for _, count in bins],
    )


def _is_empty(number: int) -> bool:
    """True for a bin between two whole microseconds."""
    return _first_us(number) == _first_us(number + 1)


def _first_us(number: int) -> int:
    """The first whole microsecond of a bin."""
    return math.ceil(2 ** (number / _EACH)) if number else 0
