"""The names of rates in steps of arithmetic and in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from ioassay.sizing.components import RateKind

_NAMES: Mapping[RateKind, str] = {
    "write": "write rate",
    "read": "read rate",
    "random_write": "random write rate",
    "random_read": "random read rate",
    "create": "file creation rate",
    "stat": "stat rate",
    "read_files": "rate of opening, reading and closing files",
    "remove": "file removal rate",
}


def rate_name(kind: RateKind) -> str:
    """`write rate`, which is sequential; `random write rate`."""
    return _NAMES[kind]
