"""The latency histograms of json+, with bins of 1/128 of the latency.

fio counts in 64 bins for each power of two (`plat_val_to_idx` of its `stat.c`), of nanoseconds from 3.0 on and of
microseconds before. A bin is named by its number up to 2.18, and from then on by the value in its middle. The last bin
holds everything above its beginning, and its middle is the greatest percentile that fio prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ioassay.importers.json_text import Parsed
from ioassay.importers.model import Latencies
from ioassay.importers.source import Refused

_BITS = 6
_EACH = 1 << _BITS
_CONSTANTS = ("FIO_IO_U_PLAT_BITS", "FIO_IO_U_PLAT_VAL", "FIO_IO_U_PLAT_NR")
_US = 1000
_UNITS = (("lat_ns", 1), ("clat_ns", 1), ("lat", _US), ("clat", _US))
"""Latencies and their unit in nanoseconds. Total latency comes first: fio has bins of it only if configured
(lat_percentiles), and otherwise of completion latency alone.
"""

_LAST = {1: 29 * _EACH - 1, _US: 19 * _EACH - 1}
"""The number of the last bin (`FIO_IO_U_PLAT_GROUP_NR`), by the unit."""

Bins = Counter[tuple[int, int]]
"""I/Os by least and greatest nanoseconds."""


def bins(direction: Parsed) -> Bins:
    """The histogram of reads or writes; empty if there is none. Raises `Refused`."""
    for name, unit_ns in _UNITS:
        if direction.has(name) and (latency := direction.part(name)).has("bins"):
            histogram = _bins(latency.part("bins"), unit_ns)
            if latency.has("N") and latency.integer("N") != histogram.total():
                raise Refused(f"has latency bins in {latency.what} that do not add up to its N", direction.line)
            return _with_open_end(histogram, latency, unit_ns)
    return Bins()


def _with_open_end(histogram: Bins, latency: Parsed, unit_ns: int) -> Bins:
    """The histogram, whose last bin ends at the slowest I/O."""
    lowest, highest = (edge * unit_ns for edge in _range(_LAST[unit_ns]))
    last = lowest, highest + unit_ns - 1
    if last in histogram and latency.has("max"):
        histogram[lowest, max(last[1], round(latency.number("max") * unit_ns))] = histogram.pop(last)
    return histogram


@dataclass(frozen=True)
class BeyondBins:
    """Latencies in the last bin, which has no upper bound."""

    from_ns: int
    """The beginning of the last bin: percentiles there are lower bounds."""
    slowest_ns: int


def beyond_bins(direction: Parsed) -> BeyondBins | None:
    """Latencies in the last bin; `None` if there are none, or fio does not print it."""
    for name, unit_ns in _UNITS:
        if isinstance(latency := direction.values.get(name), dict) and type(slowest := latency.get("max")) is int:
            lowest, highest = _range(_LAST[unit_ns])
            if slowest > highest:
                return BeyondBins(lowest * unit_ns, slowest * unit_ns)
    return None


def _bins(part: Parsed, unit_ns: int) -> Bins:
    is_numbered = _CONSTANTS[0] in part.values
    if is_numbered and [part.integer(name) for name in _CONSTANTS[:2]] != [_BITS, _EACH]:
        raise Refused("has latency bins of an unknown size", part.line)
    histogram = Bins()
    for name in part.values.keys() - set(_CONSTANTS):
        count = part.integer(name)
        if not name.isdecimal():
            raise Refused(f"has a latency bin called {name!r}", part.line)
        lowest, highest = _range(int(name)) if is_numbered else _range_around(int(name), part.line)
        if count:
            histogram[lowest * unit_ns, highest * unit_ns + unit_ns - 1] += count
    return histogram


def _range(number: int) -> tuple[int, int]:
    """Lowest and highest value of a bin."""
    if number < 2 * _EACH:
        return number, number
    shift = (number >> _BITS) - 1
    lowest = (_EACH + number % _EACH) << shift
    return lowest, lowest + (1 << shift) - 1


def _range_around(middle: int, line: int) -> tuple[int, int]:
    """Lowest and highest value of the bin with this middle."""
    if middle < 2 * _EACH:
        return middle, middle
    width = 1 << (middle.bit_length() - 1 - _BITS)
    lowest = middle // width * width
    if middle != lowest + width // 2:
        raise Refused(f"has a latency bin around {middle}, which no known version of fio has", line)
    return lowest, lowest + width - 1


def latencies(histograms: Iterable[Bins]) -> Latencies | None:
    """The sum of histograms, ascending; `None` if any is empty."""
    nonempty = list(histograms)
    if not all(nonempty):
        return None
    total = sum(nonempty, Bins())
    order = sorted(total)
    return Latencies(
        lowest_ns=[lowest for lowest, _ in order],
        highest_ns=[highest for _, highest in order],
        count=[total[edges] for edges in order],
    )
