"""What elbencho tells of a phase, in whatever form. Not: reading a form, what a phase means for a case."""

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
"""What elbencho tells of its configuration, and numbers depend on: the columns of its CSV and the names in its JSON."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """Where a phase stood when its first thread was done, or its last. Of the CSV, time and amounts are whole ms and
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
    """In whole microseconds, as is the next; of live statistics the highest mean of an interval."""
    longest_entry_us: int | None = None

    @property
    def has_io(self) -> bool:
        """True if anything was written or read."""
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
    first: Done | None
    """`None` in live statistics."""
    last: Done
    first_mixed: Done | None
    """What was read beside that, in a mix of reads and writes."""
    last_mixed: Done
    samples: Samples | None = None
    """Of live statistics."""
    doubts: tuple[Doubt, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What the CSV and the JSON call the same."""
        return self.began, self.phase
