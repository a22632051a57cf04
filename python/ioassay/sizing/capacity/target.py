"""The drives below one file system or pool.

Not: what it takes for itself (`file_systems`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.sizing.arithmetic import Value
from ioassay.sizing.capacity.redundancy import Geometry


@dataclass(frozen=True)
class Target:
    """A group of drives."""

    geometry: Geometry
    drive: Value
    """Bytes of a drive."""
    capacity: Value
    """Bytes for data, after parity and padding: the device, where RAID is not the file system's own."""
    record: Value
    """The record size of ZFS, in bytes."""
    sector: Value
    """The sector size of ZFS, in bytes."""
