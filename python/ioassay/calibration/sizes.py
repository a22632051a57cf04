"""Settings of the study `quick` for a target of known speed, so that a run ends in time.

Each phase should last a second, or somewhat less. A read must only read cold data, so the case has to write that much
before: where a target reads several times faster than it writes, writing would take the whole time, and the read is
shorter instead.

Sizes are rounded up to steps of a third or a half, so that two runs on the same directory mostly do the same work and
may be compared.

Not: measuring the speeds (`probe`); what the settings mean (`studies/builtin/quick.yaml`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ioassay.analysis.intervals import FEWEST

if TYPE_CHECKING:
    from ioassay.calibration.probe import Speeds

_MOST_RANKS = 4
"""One process seldom saturates a parallel file system's client; more than a few measure the node's processors."""

_PHASES_S = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Durations of a phase. Phases shorter than a second are doubted, but without three repetitions a rate has no
interval: the first duration that leaves time for three is used.
"""

_MOST_WRITING = 2.0
"""Writing the data of a read takes at most this multiple of a phase's duration."""

_SPARE = 1.25
"""Factor by which a target may be faster than estimated."""

_DELAY = 1.15
"""Factor by which a repetition may take longer than expected."""

_REMOVED_PER_S = 100e3
"""Files removed per second: four processes created 190,000 per second on an ext4 and removed half as many."""

_SHARE_OF_FREE = 4
"""A case takes at most this part of the free space."""

_MOST_AT_ONCE_BYTES = 16 << 30
_MOST_FILES = 32
_SMALLEST_FILE_BYTES = 4 << 20
_FEWEST_FILES = 2
"""A rewritten file is closed and synced in between only if there is another file."""

_FEWEST_BYTES = _FEWEST_FILES << 20
"""A transfer of 1 MiB in each."""

_SMALLEST_RANDOM_FILE_BYTES = 64 << 10
_BLOCK_BYTES = 4 << 10
_MOST_REPETITIONS = 10
_PAUSES_S = 0.2
_MOST_ITEMS = 50_000


@dataclass(frozen=True)
class Sizes:
    """The chosen settings. Sizes in bytes per process."""

    ranks: int
    phase_s: float
    """Duration of a phase."""
    write_s: float
    """The stonewall of writes."""
    files: int
    file_bytes: int
    random_file_bytes: int
    items: int
    repetitions: int
    """Highest number."""
    repetition_s: float
    """Expected duration of a repetition."""

    def settings(self) -> list[str]:
        """The settings as typed after `--set`."""
        return [
            f"ranks={self.ranks}",
            f"total={self.ranks * self.files * self.file_bytes >> 20}MiB",
            f"files={self.files}",
            f"random_file={self.random_file_bytes >> 10}KiB",
            f"items={self.items}",
            f"time={round(1000 * self.phase_s)}ms",
            f"create_time={round(1000 * self.phase_s)}ms",
            f"write_time={round(1000 * self.write_s)}ms",
            f"repetitions={self.repetitions}",
        ]


def suitable_ranks() -> int:
    """The number of ranks on this node: its available processors, at most four."""
    return min(_MOST_RANKS, len(os.sched_getaffinity(0)))


def suitable(speeds: Speeds, ranks: int, free_bytes: int | None, left_s: float) -> Sizes:
    """The sizes for `ranks` processes if `free_bytes` are free (`None`: unknown) and `left_s` are left.

    At least one repetition is planned, even if too little time is left.
    """
    candidates = [_sizes(speeds, ranks, free_bytes, left_s, phase_s) for phase_s in _PHASES_S]
    return next((sizes for sizes in candidates if sizes.repetition_s * _DELAY * FEWEST <= left_s), candidates[-1])


def _sizes(speeds: Speeds, ranks: int, free_bytes: int | None, left_s: float, phase_s: float) -> Sizes:
    room = _MOST_AT_ONCE_BYTES if free_bytes is None else free_bytes // _SHARE_OF_FREE
    most = min(_MOST_AT_ONCE_BYTES, room) / ranks
    writable = speeds.write_bytes_per_s * phase_s / ranks
    readable = min(_SPARE * speeds.read_bytes_per_s * phase_s / ranks, _MOST_WRITING * writable)
    total = rounded_up(min(most, max(readable, writable)) / _FEWEST_BYTES) * _FEWEST_BYTES
    files = _files(total)

    random_writable = speeds.random_writes_per_s * _BLOCK_BYTES * phase_s / ranks
    random = min(most, _SPARE * speeds.random_reads_per_s * _BLOCK_BYTES * phase_s / ranks, random_writable)
    random_file = rounded_up(max(_SMALLEST_RANDOM_FILE_BYTES, random / files) / _BLOCK_BYTES) * _BLOCK_BYTES

    items = min(_MOST_ITEMS, rounded_up(2 * speeds.creates_per_s * phase_s / ranks))
    written_s = total / writable * phase_s
    repetition_s = (
        max(phase_s, written_s)
        + 4 * phase_s  # a read, two random phases, creating files
        + phase_s * max(1.0, speeds.creates_per_s / _REMOVED_PER_S)  # removing these
        + 3 * speeds.case_s
        + _PAUSES_S
    )
    return Sizes(
        ranks=ranks,
        phase_s=phase_s,
        write_s=_SPARE * max(phase_s, written_s),
        files=files,
        file_bytes=total // files,
        random_file_bytes=random_file,
        items=items,
        # One more than seems to fit: what does not fit is skipped (`execution.deadline`).
        repetitions=max(1, min(_MOST_REPETITIONS, int(left_s / repetition_s) + 1)),
        repetition_s=repetition_s,
    )


def rounded_up(number: float) -> int:
    """The next number among 1, 2, 3, 4, 6, 8, 12, 16, 24, …"""
    power = 1
    while True:
        for step in (power, power * 3 // 2):
            if step >= number:
                return step
        power *= 2


def _files(total_bytes: int) -> int:
    """A power of two that divides `total_bytes`, so that no file is small if several are needed."""
    files = _FEWEST_FILES
    while files < _MOST_FILES and total_bytes // (2 * files) >= _SMALLEST_FILE_BYTES:
        files *= 2
    return files
