"""A phase of elbencho, in whatever format it was printed. Not: reading a format, making cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ioassay.importers.model import Doubt, Latencies, Samples

CONFIGURATION: Mapping[str, str] = {
    "path type": "path_type",
    "paths": "paths",
    "hosts": "hosts",
    "threads": "threads",
    "dirs": "dirs",
    "files": "files",
    "file size": "file_size",
    "block size": "block_size",
    "direct IO": "direct_io",
    "random": "random_offsets",
    "IO depth": "io_depth",
    "shared paths": "shared_service_paths",
}
"""The configuration that numbers depend on: columns of elbencho's CSV and names in its JSON."""


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Totals of a phase when its first thread finished, or its last. In the CSV, times and amounts are whole ms and
    MiB, without the rest, and rates whole MiB.
    """

    at_ms: int
    bytes: int | None = None
    bytes_per_s: int | None = None
    ios: int | None = None
    ios_per_s: int | None = None
    entries: int | None = None
    entries_per_s: int | None = None
    io_latencies: Latencies | None = None
    entry_latencies: Latencies | None = None
    longest_io_us: int | None = None
    """Longest I/O; in live statistics, the highest mean of an interval."""
    longest_entry_us: int | None = None

    @property
    def has_io(self) -> bool:
        return self.bytes_per_s is not None or self.ios_per_s is not None


@dataclass(frozen=True, kw_only=True)
class Row:
    """A phase."""

    file: Path
    line: int
    phase: str
    """As elbencho calls it."""
    began: str
    """In ISO form; up to 1.9 the end of the phase."""
    label: str
    version: str | None
    command: str
    configuration: Mapping[str, str]
    """By the names of the CSV; switches are `0` and `1`."""
    first: Totals | None
    """`None` in live statistics."""
    last: Totals
    first_mixed: Totals | None
    """What was read beside that, in a mix of reads and writes."""
    last_mixed: Totals
    samples: Samples | None = None
    """Of live statistics."""
    doubts: tuple[Doubt, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What the CSV and the JSON call the same."""
        return self.began, self.phase
