"""Mistral's words, quantities and size ranges, as in contracts and log lines.

Quantities are whole numbers of the base unit: bytes, microseconds, calls. Units are decimal.
Not: lines (`contract_file`, `log`), converting the words (`mapping`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal, TypeVar, get_args

from ioassay.yaml_models.source import Origin, Problem, SourceError, printable, quoted

Word = TypeVar("Word", bound=str)

Kind = Literal["monitor", "throttle"]
"""The action of a contract, and of the entries in its log."""

Scope = Literal["local", "global"]
"""The scope of a contract: a job, or all jobs, set by administrators."""

CallType = Literal[
    "accept",
    "access",
    "connect",
    "create",
    "delete",
    "fschange",
    "glob",
    "mmap",
    "mpi_access",
    "mpi_create",
    "mpi_delete",
    "mpi_fschange",
    "mpi_open",
    "mpi_read",
    "mpi_seek",
    "mpi_sync",
    "mpi_write",
    "none",
    "open",
    "read",
    "seek",
    "write",
]
"""Types of calls. Memory and processor time have `none`."""

Measurement = Literal[
    "bandwidth",
    "count",
    "seek-distance",
    "min-latency",
    "max-latency",
    "mean-latency",
    "total-latency",
    "memory",
    "memory-rss",
    "memory-vsize",
    "user-time",
    "system-time",
    "cpu-time",
    "host-cpu-user-time",
    "host-cpu-system-time",
    "host-cpu-iowait-time",
]
"""The measurements. `memory` is `memory-rss`."""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
CALL_TYPES: Final[tuple[CallType, ...]] = get_args(CallType)
MEASUREMENTS: Final[tuple[Measurement, ...]] = get_args(Measurement)

LARGEST: Final = 2**63 - 1024
"""The largest quantity for plug-ins: they compute in floating point, and the result must be below 2^63."""

Units = Mapping[str, int]
"""Suffixes with their factors, the smallest first."""

SIZES: Final[Units] = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}
TIMES: Final[Units] = {"us": 1, "ms": 10**3, "s": 10**6}
COUNTS: Final[Units] = {"": 1, "k": 10**3, "M": 10**6}


class Unreadable(ValueError):
    """A text that is not a valid term of Mistral. Readers add the line."""

    def __init__(self, wrong: str, meant: str) -> None:
        super().__init__(f"{wrong}; {meant}")
        self.wrong = wrong
        self.meant = meant


class Problems:
    """Collects unreadable texts, so that all are reported at once."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    @contextmanager
    def collecting(self, origin: Origin) -> Iterator[None]:
        """Collects an `Unreadable` raised within, with its place."""
        try:
            yield
        except Unreadable as error:
            self.found.append(origin.problem(error.wrong, error.meant))

    def check(self) -> None:
        """Raises `SourceError` if there are any."""
        if self.found:
            raise SourceError(self.found)


def shown(text: str) -> str:
    """`text` for a message: quoted, on one line, short, and printable on any terminal."""
    return printable(quoted(text))


def word(text: str, words: tuple[Word, ...], noun: str) -> Word:
    """The word in `words` that equals `text`. Raises `Unreadable`."""
    for candidate in words:
        if candidate == text:
            return candidate
    raise Unreadable(f"{shown(text)} is not a {noun}", f"use {', '.join(words)}")


def units_of(measurement: Measurement) -> Units:
    if measurement in ("bandwidth", "seek-distance") or measurement.startswith("memory"):
        return SIZES
    return COUNTS if measurement == "count" else TIMES


def parse_quantity(text: str, units: Units) -> int:
    """A quantity in the base unit. Raises `Unreadable`."""
    suffixes = " ".join(suffix or "nothing" for suffix in units)
    match = re.fullmatch(r"([0-9]{1,20})([A-Za-z]*)", text)
    if match is None or match[2] not in units:
        raise Unreadable(f"{shown(text)} is not a whole number with a unit", f"write a number with {suffixes}")
    quantity = int(match[1]) * units[match[2]]
    if quantity > LARGEST:
        raise Unreadable(f"{shown(text)} is larger than plug-ins take", "write a smaller number")
    return quantity


def format_quantity(quantity: int, units: Units) -> str:
    """A quantity of the base unit, in the largest unit that divides it."""
    suffix, factor = max(
        ((suffix, factor) for suffix, factor in units.items() if quantity % factor == 0 and factor <= max(quantity, 1)),
        key=lambda unit: unit[1],
    )
    return f"{quantity // factor}{suffix}"


@dataclass(frozen=True)
class SizeRange:
    """Sizes of transfers, both ends included."""

    least_bytes: int = 0
    most_bytes: int | None = None
    """`None`: any."""

    @classmethod
    def parse(cls, text: str) -> SizeRange:
        """Parses `all`, `4kB-1MB`, `-1MB` or `4kB-`. Raises `Unreadable`."""
        if text == "all":
            return cls()
        least, dash, most = text.partition("-")
        if not dash:
            raise Unreadable(f"{shown(text)} is not a size range", "write all, 4kB-1MB, 4kB- or -1MB")
        if least in ("", "0"):  # the one number that needs no unit
            least = "0B"
        sizes = cls(parse_quantity(least, SIZES), parse_quantity(most, SIZES) if most else None)
        if sizes.most_bytes is not None and sizes.most_bytes < sizes.least_bytes:
            raise Unreadable(f"{shown(text)} ends before it begins", "write the smaller size first")
        return sizes

    def __str__(self) -> str:
        if self == SizeRange():
            return "all"
        most = "" if self.most_bytes is None else format_quantity(self.most_bytes, SIZES)
        return f"{format_quantity(self.least_bytes, SIZES)}-{most}"


def parse_call_types(text: str) -> tuple[CallType, ...]:
    """Parses types of calls joined with `+`; alphabetical, each once. Raises `Unreadable`."""
    types = {word(name, CALL_TYPES, "type of calls") for name in text.split("+")}
    return tuple(name for name in CALL_TYPES if name in types)
