"""Step 2: how the target directory is to be striped for the hard tests, on Lustre.

ior-hard writes one file from all ranks, so only a file that lies on every storage target has the bandwidth of all of
them. The run's own directory is made below the target and its files directly in that, and on Lustre new directories and
files inherit the default striping of the directory above them. So one striping of the target is that of every test:

- ior-hard: all storage targets.
- ior-easy: a file for each rank. One stripe each would do where there are more ranks than storage targets; all of them
  cost it little, because its files are large.
- mdtest: needs no special striping (Monnier et al.), but each of its files gets an object on every storage target. A
  progressive layout avoids that: its first component has one stripe, and mdtest's files never leave that.

The stripe size follows from the size of the file of ior-hard and the number of storage targets (Monnier et al.: "Set
test directories' stripe size based on test files' size and number of storage targets"): as large as an RPC, so that
none is cut, but small enough for the file to reach every storage target several times.

Sources: Monnier et al., PDSW 2019; the Lustre manual, "Managing File Layout (Striping) and Free Space".
"""

from __future__ import annotations

import shlex

from ioassay.store.tune_io500_document import StripingEntry, StripingSetting
from ioassay.text.units import format_bytes
from ioassay.tuning.io500.facts import SourcedNumber
from ioassay.tuning.settings import Assignment

LEAST_BYTES = 64 << 10
"""Stripes are multiples of this."""

DEFAULT_RPC_BYTES = 4 << 20
"""The default of Lustre since 2.11, for snapshots that lack the value."""

TIMES_EACH = 4
"""How often the file of ior-hard returns to each storage target at least."""

_FIRST_COMPONENT = "1M"
"""Larger than any file of mdtest, which has 3901 bytes at most."""


def stripe_bytes(file_bytes: int, targets: int, rpc_bytes: int | None) -> int:
    """The stripe size for a file of that size: a power of two from `LEAST_BYTES` up to an RPC."""
    size = LEAST_BYTES
    most = rpc_bytes or DEFAULT_RPC_BYTES
    while 2 * size <= most and 2 * size * targets * TIMES_EACH <= file_bytes:
        size *= 2
    return size


def striping(directory: str, targets: SourcedNumber, hard_file_bytes: int, rpc_bytes: int | None) -> StripingEntry:
    """The striping of a Lustre directory."""
    size = stripe_bytes(hard_file_bytes, targets.value, rpc_bytes)
    place = shlex.quote(directory)
    in_k = f"{size >> 10}k"
    return StripingEntry(
        applies=True,
        why=f"over all {targets.value} storage targets ({targets.source}) in stripes of {format_bytes(size)}, because "
        "ior-hard writes one file from all ranks",
        settings=[
            StripingSetting(name=f"stripe:{directory}/count", value=str(targets.value)),
            StripingSetting(name=f"stripe:{directory}/size", value=str(size)),
        ],
        command=f"lfs setstripe -c {targets.value} -S {in_k} {place}",
        progressive_command=f"lfs setstripe -E {_FIRST_COMPONENT} -c 1 -E -1 -c {targets.value} -S {in_k} {place}",
        notes=[
            "Runs inherit it: the run's directory and its files take the default striping of the target.",
            "It also gives each file of mdtest an object on every storage target, which a progressive layout avoids.",
        ],
    )


def not_applicable(file_system: str) -> StripingEntry:
    """The step on anything but Lustre."""
    what = f"the target is {file_system}" if file_system else "the target's file system is not known to be Lustre"
    return StripingEntry(applies=False, why=f"{what}; only directories of Lustre have a striping to set")


def assignments(entry: StripingEntry) -> list[Assignment]:
    """The settings for `ioassay tune apply`."""
    return [Assignment(setting.name, setting.value) for setting in entry.settings]
