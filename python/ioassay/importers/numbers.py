"""Numbers, sizes and times as the tools print them, with the uncertainty of their last digit.

Not: numbers that people type (`ioassay.text.units`), which are parsed more strictly.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ioassay.importers.source import Refused

NS_PER_S = 1_000_000_000
MIB = 1 << 20

_NUMBER = re.compile(r"[+-]?(?:\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?")
_SIZE = re.compile(r"([\d.]+) ?(bytes|[KMGTPE]iB)")
_FACTORS = {"bytes": 1} | {f"{letter}iB": 1024**power for power, letter in enumerate("KMGTPE", start=1)}
_MOMENTS = ("%a %b %d %H:%M:%S %Y", "%m/%d/%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S")


@dataclass(frozen=True)
class Printed:
    """A printed number. The true one may differ by up to `half_unit`, half the unit of its last digit."""

    text: str
    value: float
    half_unit: float

    @classmethod
    def of(cls, text: str, line: int, label: str = "number") -> Printed:
        """Parses a finite number that is not negative. Raises `Refused` with the line."""
        match = _NUMBER.fullmatch(text)
        value = float(text) if match else math.nan
        if match is None or not math.isfinite(value) or value < 0:
            raise Refused(f"has {text!r} where a number should be ({label})", line)
        return cls(text, value, 0.5 * 10.0 ** (int(match[2] or 0) - len(match[1] or "")))

    def agrees(self, other: Printed) -> bool:
        """True if both may be the same number."""
        return abs(self.value - other.value) <= (self.half_unit + other.half_unit) * (1 + 1e-9)

    def finer(self, other: Printed | None) -> Printed:
        """The number with more digits if both may be the same number; otherwise this one."""
        return other if other is not None and other.half_unit < self.half_unit and self.agrees(other) else self

    @property
    def nanoseconds(self) -> int:
        """Of a number of seconds."""
        return round(self.value * NS_PER_S)


def adds_up(moved_bytes: int, rate: Printed, seconds: Printed) -> bool:
    """True if an amount, a rate in MiB/s and a time may belong together, given their digits.

    A thousandth is allowed for rounding before the tool divided.
    """
    least = max(0.0, rate.value - rate.half_unit) * max(0.0, seconds.value - seconds.half_unit)
    most = (rate.value + rate.half_unit) * (seconds.value + seconds.half_unit)
    return least * 0.999 <= moved_bytes / MIB <= most * 1.001


def integer(text: str, line: int, label: str) -> int:
    """The whole number from 0 on in `text`. Raises `Refused` for anything else; `label` names it."""
    if not (text.isascii() and text.isdigit()):
        raise Refused(f"has {text!r} where a whole number should be ({label})", line)
    return int(text)


def size_bytes(text: str | None) -> int | None:
    """A size as IOR prints it: `262144 bytes`, `1 MiB`, `117.19 GiB`. `None` for anything else."""
    match = _SIZE.match(text or "")
    return round(float(match[1]) * _FACTORS[match[2]]) if match else None


def moment_ns(text: str | None) -> int | None:
    """A time as the tools print it, in their own time zone, which none of them names. `None` for anything else."""
    for form in _MOMENTS:
        try:
            parsed = datetime.strptime((text or "").strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return int(parsed.timestamp()) * NS_PER_S
    return None


def isoformat_ns(text: str) -> int | None:
    """A time since 1970 in ISO 8601, to the microsecond; UTC if it has no zone. `None` for anything else."""
    try:
        parsed = datetime.fromisoformat(text)
        since_epoch = (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    since_epoch_ns = since_epoch // timedelta(microseconds=1) * 1000
    return since_epoch_ns if 0 <= since_epoch_ns < 2**62 else None
