"""Limits of rules with their origins: a published rule, the file system's parameters, or a measured run.

Drishti's are those of `drishti/includes/config.py` at https://github.com/hpc-io/drishti-io (Bez, Ather and Byna,
*Drishti: Guiding End-Users in the I/O Optimization Journey*, PDSW 2022). The others are conventions of ioassay, each
large enough that findings cost time on any storage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

Origin = Literal["rule", "file system", "measured"]

MIB = 1 << 20


@dataclass(frozen=True)
class Threshold:
    """A limit. Its name contains its unit."""

    name: str
    value: float
    origin: Origin
    source: str
    """The author of the rule, the file system, or the run."""


def _drishti(name: str, value: float) -> Threshold:
    return Threshold(name, value, "rule", "Drishti")


def _ioassay(name: str, value: float) -> Threshold:
    return Threshold(name, value, "rule", "ioassay")


class Thresholds(NamedTuple):
    """All limits. Measurements of a run on the storage can replace those that depend on it."""

    small_request_bytes: Threshold = _drishti("small_request_bytes", MIB)
    small_requests_share: Threshold = _drishti("small_requests_share", 0.1)
    small_requests: Threshold = _drishti("small_requests", 1000)
    misaligned_share: Threshold = _drishti("misaligned_share", 0.1)
    random_share: Threshold = _drishti("random_share", 0.2)
    random_requests: Threshold = _drishti("random_requests", 1000)
    size_imbalance_share: Threshold = _drishti("size_imbalance_share", 0.3)
    time_imbalance_share: Threshold = _drishti("time_imbalance_share", 0.15)
    metadata_s: Threshold = _drishti("metadata_s", 30)
    stdio_share: Threshold = _drishti("stdio_share", 0.1)
    independent_calls: Threshold = _drishti("independent_calls", 1000)
    aggregators_by_node: Threshold = _drishti("aggregators_by_node", 1)
    metadata_share: Threshold = _ioassay("metadata_share", 0.3)
    metadata_calls: Threshold = _ioassay("metadata_calls", 10_000)
    metadata_least_s: Threshold = _ioassay("metadata_least_s", 0.5)
    io_share: Threshold = _ioassay("io_share", 0.05)
    redundant_share: Threshold = _ioassay("redundant_share", 0.1)
    moved_bytes: Threshold = _ioassay("moved_bytes", MIB)
    sync_calls: Threshold = _ioassay("sync_calls", 100)
    sync_bytes: Threshold = _ioassay("sync_bytes", MIB)
    open_calls: Threshold = _ioassay("open_calls", 1000)
    open_calls_by_process: Threshold = _ioassay("open_calls_by_process", 10)
    stat_calls: Threshold = _ioassay("stat_calls", 1000)
    stat_calls_by_process: Threshold = _ioassay("stat_calls_by_process", 10)
    failed_calls: Threshold = _ioassay("failed_calls", 100)
    failed_share: Threshold = _ioassay("failed_share", 0.1)
    startup_calls: Threshold = _ioassay("startup_calls", 10_000)
    startup_s: Threshold = _ioassay("startup_s", 1)
    reading_processes: Threshold = _ioassay("reading_processes", 4)
    cached_share: Threshold = _ioassay("cached_share", 0.5)
    cached_read_ns: Threshold = _ioassay("cached_read_ns", 8000)
    cached_bytes_per_s: Threshold = _ioassay("cached_bytes_per_s", 10e9)
    fetched_share: Threshold = _ioassay("fetched_share", 0.5)
    network_block_bytes: Threshold = _ioassay("network_block_bytes", MIB)
    idle_s: Threshold = _ioassay("idle_s", 600)
    idle_bytes: Threshold = _ioassay("idle_bytes", 1 << 30)
    tail_share: Threshold = _ioassay("tail_share", 0.1)
    stall_s: Threshold = _ioassay("stall_s", 1)
    stall_medians: Threshold = _ioassay("stall_medians", 1000)
    of_operation: Mapping[tuple[str, str], Threshold] = MappingProxyType({})
    """Replacements of limits for a direction or an operation, by (name of the limit, direction or operation)."""

    def limit(self, name: str, about: str) -> Threshold:
        """The limit of this name for a direction or an operation."""
        general: Threshold = getattr(self, name)
        return self.of_operation.get((name, about), general)

    def every(self) -> Iterator[tuple[str, Threshold]]:
        """All limits with their direction or operation (empty: all)."""
        yield from (("", threshold) for threshold in self if isinstance(threshold, Threshold))
        yield from ((about, threshold) for (_, about), threshold in self.of_operation.items())
