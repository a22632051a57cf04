"""Our names of IOzone's tests: those of ioassay's front end for its command lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ioassay.store.document import Operation


@dataclass(frozen=True)
class Phase:
    """A test. `operation` is `None` if one number is of reads and writes."""

    name: str
    operation: Operation | None
    order: str = "sequential"


OF_CHILDREN: Mapping[str, Phase] = {
    "initial writers": Phase("write", "write"),
    "rewriters": Phase("rewrite", "write"),
    "readers": Phase("read", "read"),
    "re-readers": Phase("reread", "read"),
    "reverse readers": Phase("reverse-read", "read", "backward"),
    "stride readers": Phase("stride-read", "read", "strided"),
    "random readers": Phase("random-read", "read", "random"),
    "mixed workload": Phase("mixed", None, "random"),
    "random writers": Phase("random-write", "write", "random"),
    "pwrite writers": Phase("pwrite", "write"),
    "pread readers": Phase("pread", "read"),
    "fwriters": Phase("fwrite", "write"),
    "freaders": Phase("fread", "read"),
}
"""By the name of the children in throughput mode."""

OF_COLUMN = (
    (0, Phase("write", "write")),
    (0, Phase("rewrite", "write")),
    (1, Phase("read", "read")),
    (1, Phase("reread", "read")),
    (2, Phase("random-read", "read", "random")),
    (2, Phase("random-write", "write", "random")),
    (3, Phase("reverse-read", "read", "backward")),
    (4, Phase("record-rewrite", "write", "")),
    (5, Phase("stride-read", "read", "strided")),
    (6, Phase("fwrite", "write")),
    (6, Phase("refwrite", "write")),
    (7, Phase("fread", "read")),
    (7, Phase("refread", "read")),
)
"""The columns of auto mode after the two sizes, each with the number of its test (`-i`)."""
