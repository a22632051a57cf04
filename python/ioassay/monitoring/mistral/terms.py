"""Mistral's words, quantities and size ranges, as contracts and log lines write them.

Quantities are whole numbers of the base unit: bytes, microseconds, calls. Units are decimal.
Not: lines (`contract_file`, `log`), what the words mean to ioassay (`mapping`).
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
"""What a contract does, and so what its log reports."""

Scope = Literal["local", "global"]
"""Whose contract it is: of a job, or of the administrators for all jobs."""

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
"""What is measured. `memory` is `memory-rss`."""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
CALL_TYPES: Final[tuple[CallType, ...]] = get_args(CallType)
MEASUREMENTS: Final[tuple[Measurement, ...]] = get_args(Measurement)

LARGEST: Final = 2**63 - 1024
"""The largest quantity that plug-ins take: they compute in floating point, and the result must be below 2^63."""

Units = Mapping[str, int]
"""Suffixes and how much they stand for, the smallest first."""

SIZES: Final[Units] = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}
TIMES: Final[Units] = {"us": 1, "ms": 10**3, "s": 10**6}
COUNTS: Final[Units] = {"": 1, "k": 10**3, "M": 10**6}


class Unreadable(ValueError):
    """A text that is not such a term of Mistral. Readers make an error with its line of it."""

    def __init__(self, wrong: str, meant: str) -> None:
        super().__init__(f"{wrong}; {meant}")
        self.wrong = wrong
        self.meant = meant


class Problems:
    """Collects what is unreadable, so that all of it is reported at once."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    @contextmanager
    def at(self, origin: Origin) -> Iterator[None]:
        """Notes an `Unreadable` that is raised within, with its place."""
        try:
            yield
        except Unreadable as error:
            self.found.append(origin.problem(error.wrong, error.meant))

    def check(self) -> None:
        """Raises `SourceError` if there are any."""
        if self.found:
            raise SourceError(self.found)


def shown(text: str) -> str:
    """`text` for a message: in quotes, on one line, short, and such that any terminal can hold it."""
    return printable(quoted(text))


def word(text: str, words: tuple[Word, ...], noun: str) -> Word:
    """The one of `words` that `text` is. Raises `Unreadable`."""
    for known in words:
        if known == text:
            return known
    raise Unreadable(f"{shown(text)} is not a {noun}", f"use {', '.join(words)}")


def units_of(measurement: Measurement) -> Units:
    """The units of a measurement."""
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
    """A quantity of the base unit in the largest unit of which it is a whole number."""
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
        """Reads `all`, `4kB-1MB`, `-1MB` or `4kB-`. Raises `Unreadable`."""
        if text == "all":
            return cls()
        least, dash, most = text.partition("-")
        if not dash:
            raise Unreadable(f"{shown(text)} is not a size range", "write all, 4kB-1MB, 4kB- or -1MB")
        if least in ("", "0"):  # the one number that needs no unit
            least = "0B"
        found = cls(parse_quantity(least, SIZES), parse_quantity(most, SIZES) if most else None)
        if found.most_bytes is not None and found.most_bytes < found.least_bytes:
            raise Unreadable(f"{shown(text)} ends before it begins", "write the smaller size first")
        return found

    def __str__(self) -> str:
        if self == SizeRange():
            return "all"
        most = "" if self.most_bytes is None else format_quantity(self.most_bytes, SIZES)
        return f"{format_quantity(self.least_bytes, SIZES)}-{most}"


def parse_call_types(text: str) -> tuple[CallType, ...]:
    """Reads types of calls joined with `+`, in alphabetical order, each once. Raises `Unreadable`."""
    found = {word(name, CALL_TYPES, "type of calls") for name in text.split("+")}
    return tuple(name for name in CALL_TYPES if name in found)
