"""Bytes, durations and rates: parse what was typed, print what is stored.

A misread size runs and is trusted, so nothing here guesses: an unknown suffix, a fraction, an
exponent or an overflow is an error that says what to write instead. `crates/units` does the same for the engine;
its `vectors.json` holds both to the same answers.

Not here: anything that knows of storage, options or studies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ioassay.errors import UsageError

LARGEST = 2**64 - 1
"""The largest value of a quantity: what 64 bits hold."""

SHOWN = 40
"""Longest excerpt of a refused text in an error, in characters."""

RateUnit = Literal[
    "GB/s", "MB/s", "kB/s", "GiB/s", "MiB/s", "KiB/s", "MIOPS", "kIOPS", "IOPS", "Mops/s", "kops/s", "ops/s"
]
"""The units of printed rates."""

OPERATIONS_UNITS: tuple[RateUnit, ...] = ("MIOPS", "kIOPS", "IOPS", "Mops/s", "kops/s", "ops/s")
"""The units that count operations and not bytes: IOPS of data, ops/s of metadata."""

RATE_UNITS: tuple[RateUnit, ...] = get_args(RateUnit)

PER_SECOND: dict[RateUnit, float] = {
    "GB/s": 1e9,
    "MB/s": 1e6,
    "kB/s": 1e3,
    "GiB/s": 2.0**30,
    "MiB/s": 2.0**20,
    "KiB/s": 2.0**10,
    "MIOPS": 1e6,
    "kIOPS": 1e3,
    "IOPS": 1.0,
    "Mops/s": 1e6,
    "kops/s": 1e3,
    "ops/s": 1.0,
}
"""Bytes or operations per second of each unit."""


class UnitError(UsageError, ValueError):
    """A text that cannot be parsed as the quantity. The message says what to write instead."""


@dataclass(frozen=True)
class _Quantity:
    """A kind of quantity and its syntax: a whole number, at most one space, a suffix."""

    noun: str
    """Its name in errors, with its article."""
    examples: str
    """Texts to imitate."""
    families: Sequence[dict[str, int]]
    """Its suffixes. Those of one family convert into one another, smallest first, base unit included."""
    suffixes: str
    """All suffixes, as an error lists them."""
    largest: str
    """The largest value, as typed."""

    def parse(self, text: str) -> int:
        """Parses `text` into base units. Raises `UnitError`."""
        shown = text[:SHOWN]
        match = re.fullmatch(r"([0-9]+)(?:\.([0-9]+))?(.*)", text, re.DOTALL)
        if match is None:
            raise UnitError(f'"{shown}" is not {self.noun}; write {self.examples}')
        number, decimals, rest = match.groups()
        suffix = rest[1:] if rest.startswith(" ") and len(rest) > 1 else rest
        if decimals is not None:
            raise UnitError(f'"{shown}" is a fraction; write {self._without_fraction(number, decimals, suffix)}')
        if re.match(r"[eE][+-]?[0-9]", rest):
            raise UnitError(f'"{shown}" has an exponent; write the number out, for example {self.examples}')
        family = self._family(suffix)
        if family is None:
            if not suffix:
                raise UnitError(f'"{shown}" has no unit; write {self.examples}')
            raise UnitError(f'"{shown}" has the unknown suffix "{suffix[:SHOWN]}"; use {self.suffixes}')
        # The length first, so that Python's own limit on digits never refuses a text.
        if len(number) > SHOWN or (value := int(number) * family[suffix]) > LARGEST:
            raise UnitError(f'"{shown}" does not fit 64 bits; write at most {self.largest}')
        return value

    def _family(self, suffix: str) -> dict[str, int] | None:
        return next((family for family in self.families if suffix in family), None)

    def _without_fraction(self, number: str, decimals: str, suffix: str) -> str:
        """`1.5g` is `1536m`: the same amount in the largest unit that makes it whole."""
        family = self._family(suffix)
        if family is not None and len(number) + len(decimals) < SHOWN:
            divisor = 10 ** len(decimals)
            amount = int(number + decimals) * family[suffix]
            for unit, factor in reversed(family.items()):
                if factor <= family[suffix] and amount % (divisor * factor) == 0:
                    return f"{amount // (divisor * factor)}{unit}"
        return "a whole number of a smaller unit"


_BINARY = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}
_DECIMAL = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15}
_DURATIONS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}

_SIZE = _Quantity(
    noun="a size",
    examples="4k, 1MiB or 2048",
    families=[
        {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40},  # IOR's letters, in both cases
        {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40},
        _BINARY,
        _DECIMAL,
    ],
    suffixes="k m g t or KiB MiB GiB TiB PiB (binary), KB MB GB TB PB (decimal), B or nothing (bytes)",
    largest="16383PiB",
)

_DURATION = _Quantity(
    noun="a duration",
    examples="3s, 100ms or 2min",
    families=[_DURATIONS],  # no `m`: it would mean minutes here and mebibytes in a size
    suffixes="ns us ms s min h",
    largest="5124095h",
)

_OPERATIONS_RATE = _Quantity(
    noun="a rate of operations",
    examples="500IOPS or 2kIOPS",
    families=[{"IOPS": 1, "kIOPS": 1000}],
    suffixes="IOPS or kIOPS",
    largest="18446744073709551kIOPS",
)

_LINK_RATE = _Quantity(
    noun="the rate of a link",
    examples="1Gbit or 100Mbit",
    families=[{"kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9}],
    suffixes="kbit Mbit Gbit (decimal, per second)",
    largest="18446744073Gbit",
)


def parse_bytes(text: str) -> int:
    """A size in bytes, typed as in IOR: `4k 1m 16g 2t` and `KiB MiB GiB TiB PiB` binary, `KB MB GB TB PB` decimal.

    `B` or nothing means bytes; one space may precede the suffix. Raises `UnitError`.
    """
    return _SIZE.parse(text)


def parse_duration_ns(text: str) -> int:
    """A duration in nanoseconds, typed with its unit: `3s`, `100ms`. Raises `UnitError`."""
    return _DURATION.parse(text)


def parse_rate(text: str) -> int:
    """A rate in bytes per second, typed as a size and `/s`: `20MB/s`. Raises `UnitError`."""
    size, slash, second = text.rpartition("/")
    if not slash or second != "s":
        raise UnitError(f'"{text[:SHOWN]}" is not a rate; write 20MB/s or 1GiB/s')
    return parse_bytes(size)


def parse_operations_rate(text: str) -> int:
    """A rate in operations per second: `500IOPS`, `2kIOPS`. Raises `UnitError`."""
    return _OPERATIONS_RATE.parse(text)


def parse_link_rate(text: str) -> int:
    """The rate of a network link in bits per second: `1Gbit`. Raises `UnitError`."""
    return _LINK_RATE.parse(text)


def parse_share(text: str) -> float:
    """A share of one, typed in percent: `25%` is 0.25. Raises `UnitError`."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?%", text):
        raise UnitError(f'"{text[:SHOWN]}" is not a share; write it in percent, for example 25%')
    return float(text[:-1]) / 100


def parse_count(text: str) -> int:
    """A whole number without a unit. Raises `UnitError`."""
    if not re.fullmatch(r"[0-9]+", text):
        raise UnitError(f'"{text[:SHOWN]}" is not a whole number; write digits only, for example 4')
    if len(text) > SHOWN or int(text) > LARGEST:
        raise UnitError(f'"{text[:SHOWN]}" does not fit 64 bits; write at most {LARGEST}')
    return int(text)


def format_bytes(size_bytes: int) -> str:
    """A size, exactly, in the largest binary unit that divides it: `1 MiB`, `47008 B`."""
    return _exact(size_bytes, _BINARY, zero="B")


def format_exact_bytes(size_bytes: int) -> str:
    """A size, exactly, as typed with the fewest characters, binary or decimal: `64KiB`, `50MB`."""
    shown = (_exact(size_bytes, family, zero="B").replace(" ", "") for family in (_BINARY, _DECIMAL))
    return min(shown, key=len)


def format_duration(duration_ns: int) -> str:
    """A duration, exactly, in the largest unit that divides it: `3 s`, `1500 ms`."""
    return _exact(duration_ns, _DURATIONS, zero="s")


def format_link_rate(bits_per_s: int) -> str:
    """The rate of a link, exactly, in the largest unit that divides it: `1 Gbit/s`, `9600 bit/s`."""
    return _exact(bits_per_s, {"bit": 1, **_LINK_RATE.families[0]}, zero="bit") + "/s"


def format_about_bytes(size_bytes: float) -> str:
    """A size to three significant digits in the binary unit that suits it: `3.50 GiB`. For reading, not for parsing."""
    unit = next((unit for unit, factor in reversed(_BINARY.items()) if size_bytes >= factor), "B")
    return f"{_three_digits(size_bytes / _BINARY[unit])} {unit}" if unit != "B" else f"{size_bytes:.0f} B"


def format_size(size_bytes: int) -> str:
    """A size, exactly if that is short, else to three significant digits: `1 MiB`, `1536 KiB`, `126 GiB`."""
    exact = format_bytes(size_bytes)
    return exact if len(exact) <= len("1024 MiB") else format_about_bytes(size_bytes)


def format_rate(per_second: float, unit: RateUnit) -> str:
    """A rate in bytes (`GB/s`, `MiB/s`) or operations (`kIOPS`, `ops/s`) per second: `12.3 GB/s`."""
    return f"{_three_digits(per_second / PER_SECOND[unit])} {unit}"


def format_number(value: float) -> str:
    """Three significant digits, four from 1000 to 9999, never an exponent: `0.0430`, `1234`, `12,300`."""
    if not math.isfinite(value) or abs(value) < 9999.5:
        return _three_digits(value)
    return f"{float(f'{value:.2e}'):,.0f}"


def format_share(share: float) -> str:
    """A share of 1 in percent: `8.2 %`, `97 %`, `110 %`."""
    percent = 100 * share
    if 0 < percent < 0.1:
        return "<0.1 %"
    return f"{percent:.1f} %" if 0 < percent < 9.95 else f"{percent:.0f} %"


def format_count(number: int, noun: str) -> str:
    """A count with its noun: `1 client`, `2 clients`. For nouns with a plural in s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _exact(value: int, units: dict[str, int], zero: str) -> str:
    if value == 0:
        return f"0 {zero}"
    unit = next(unit for unit, factor in reversed(units.items()) if value % factor == 0)
    return f"{value // units[unit]} {unit}"


def _three_digits(value: float) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    magnitude = int(f"{value:.2e}".split("e")[1])  # rounded first: 9.999 is 10.0, not 10.00
    return f"{value:.{max(0, 2 - magnitude)}f}"
