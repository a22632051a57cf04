"""What was a process: its images one after another, when it ran, the length of its ticks, the kernel's counters.

A process that `exec` replaces goes on in the next table with its number. Not: what it did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.profiles.model import PROCESSES, ProcessState
from ioassay.profiles.records.tables import FoundTable, Table
from ioassay.protocol.record_layout import HEADER, KERNEL_COUNTERS, STORAGE_COUNTERS, BlockKind, Clock, State, TextKind

_SURE_NS = 10_000_000
"""A table that covers so much tells the length of a tick."""

_POSSIBLE_TICKS = (0.01, 1e4)
"""Nanoseconds of a tick: clocks of 100 kHz to 100 GHz."""

_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "FLUX_TASK_RANK", "SLURM_PROCID")
"""Where launchers say which rank a process is, as in `crates/engine/src/launched/launcher.rs`."""

_SLACK_NS = 1_000_000_000
"""The next image may say that it began so much before the end of the one before: the clock may have been set."""


@dataclass
class Image:
    """An image of a process: one table."""

    record: int
    table: FoundTable
    ns_per_tick: float = 1.0
    process: int = 0

    @property
    def pid(self) -> int:
        """Its number on its node."""
        return int(self.table.header["process"])

    @property
    def state(self) -> State:
        """How it ended, if it did."""
        return State(int(self.table.header["state"]))

    @property
    def is_announcement(self) -> bool:
        """True if it is no image: a process without a table says what will replace it."""
        header = self.table.header
        return self.state == State.REPLACED and bool(header["begin_ticks"] == header["latest_ticks"])

    @property
    def begin_ns(self) -> int:
        """When it began, since 1970."""
        return int(self.table.header["begin_ns"])

    @property
    def end_ns(self) -> int:
        """When it ended, or was last heard."""
        return max(self.begin_ns, int(self.table.header["latest_ns"]))

    def unix_ns(self, ticks: int) -> int:
        """The time of a moment of its clock."""
        return self.begin_ns + round((ticks - int(self.table.header["begin_ticks"])) * self.ns_per_tick)

    def all_unix_ns(self, ticks: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The times of moments of its clock; none is before its beginning, or long after its end."""
        after = (ticks.astype(np.float64) - int(self.table.header["begin_ticks"])) * self.ns_per_tick
        return self.begin_ns + np.clip(after, 0, self.end_ns - self.begin_ns + 1e9).astype(np.int64)


def measure_ticks(images: Sequence[Image]) -> None:
    """Sets how long a tick is, of images of one node. Of a short one, the longest knows it better."""
    counting = [image for image in images if int(image.table.header["clock"]) == Clock.COUNTER]
    measured = [
        (image.end_ns - image.begin_ns, length) for image in counting if (length := _tick_ns(image)) is not None
    ]
    longest = max(measured)[1] if measured else 1.0
    for image in counting:
        of_image = _tick_ns(image)
        image.ns_per_tick = longest if of_image is None or image.end_ns - image.begin_ns < _SURE_NS else of_image


def _tick_ns(image: Image) -> float | None:
    header = image.table.header
    ticks = int(header["latest_ticks"]) - int(header["begin_ticks"])
    length = (image.end_ns - image.begin_ns) / ticks if ticks > 0 else 0.0
    return length if _POSSIBLE_TICKS[0] <= length <= _POSSIBLE_TICKS[1] else None


def current(images: Iterable[Image]) -> list[Image]:
    """The images that are to be added up: `exec` may have failed.

    A process with a table then goes on with it, and adds it once more at its end. One without, such as a child of
    `vfork`, says that it stayed, which takes back what it announced.
    """
    latest: dict[tuple[int, int, int, int], Image] = {}
    announced: dict[tuple[int, int], tuple[int, int, int, int]] = {}
    for each in sorted(images, key=lambda image: image.begin_ns):
        process = (each.record, each.pid)
        key = (*process, each.begin_ns, int(each.table.header["begin_ticks"]))
        if each.state == State.STAYED:
            latest.pop(announced.pop(process, key), None)
            continue
        latest[key] = each
        if each.is_announcement:
            announced[process] = key
    return list(latest.values())


def number(images: Iterable[Image]) -> int:
    """Gives every image the number of its process, in the order in which they began. Returns how many there are."""
    before: dict[tuple[int, int], Image] = {}
    processes = 0
    for each in sorted(images, key=lambda image: (image.begin_ns, image.record, image.pid, image.table.offset)):
        key = (each.record, each.pid)
        if key in before and _goes_on(before[key], each):
            each.process = before[key].process
        else:
            each.process, processes = processes, processes + 1
        before[key] = each
    return processes


def _goes_on(before: Image, after: Image) -> bool:
    """True if the second image replaced the first. An `exec` that nobody saw left the first as if it were killed."""
    match before.state:
        case State.REPLACED:
            return after.begin_ns >= before.end_ns - _SLACK_NS
        case State.RUNNING:
            return bool(before.table.header["parent"] == after.table.header["parent"])
    return False


_COUNTERS = len(KERNEL_COUNTERS) + len(STORAGE_COUNTERS)
_WRITTEN = KERNEL_COUNTERS.index("wchar")


def _nothing() -> list[int]:
    return [0] * _COUNTERS


def _counts(values: Iterable[float]) -> list[int]:
    """Of a damaged table they may be anything."""
    return [min(int(value), 2**60) for value in values]


@dataclass
class _Known:
    """What is known of a process, whose images come in any order."""

    first: Image
    last: Image
    node: str = ""
    rank: int | None = None
    command: str = ""
    executable: str = ""
    replacement: str = ""
    threads: int = 0
    images: int = 0
    counts_storage: bool = True
    """All its tables have `STORAGE_COUNTERS`."""
    kernel_of_process: list[int] = field(default_factory=_nothing)
    """Of all that it was, as its last table says; 0 where it has waited for children, and in older tables."""
    kernel_of_main: list[int] = field(default_factory=_nothing)
    """Of its first thread, which goes on when `exec` replaces its program."""
    kernel_of_others: list[int] = field(default_factory=_nothing)
    recorder_ns: float = 0
    recorder_bytes: int = 0

    @property
    def kernel(self) -> Sequence[int | None]:
        """`KERNEL_COUNTERS` and `STORAGE_COUNTERS` of all its threads and images, without the tables that the recorder
        wrote before `exec`: the next image counts them. Unknown for one that was killed; older tables lack those of
        storage.
        """
        if self.last.state == State.RUNNING or not any((*self.kernel_of_process, *self.kernel_of_main)):
            return [None] * _COUNTERS
        counted = list(self.kernel_of_process)
        if not any(counted):
            counted = [*map(sum, zip(self.kernel_of_main, self.kernel_of_others, strict=True))]
        earlier = self.recorder_bytes - int(self.last.table.header["used_bytes"])
        counted[_WRITTEN] = max(0, counted[_WRITTEN] - earlier)
        known = _COUNTERS if self.counts_storage else len(KERNEL_COUNTERS)
        return [*counted[:known], *[None] * (_COUNTERS - known)]


class Processes:
    """All processes, while their tables are read."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}

    def add(self, image: Image, table: Table, node: str) -> None:
        """Adds what a table says of its process. `node` is where it does not say it."""
        texts = table.texts
        known = self._known.setdefault(image.process, _Known(image, image))
        if image.begin_ns < known.first.begin_ns:
            known.first = image
        if image.begin_ns >= known.last.begin_ns:
            known.last = image
            known.node = texts.get(TextKind.NODE, "") or node
            known.command = texts.get(TextKind.COMMAND, "").rstrip("\0").replace("\0", " ")
            known.executable = texts.get(TextKind.EXECUTABLE, "")
            known.replacement = texts.get(TextKind.REPLACEMENT, "")
            known.rank = _rank(texts.get(TextKind.JOB, ""))
            whole = (image.table.header[f"{name}_of_process"] for name in ("kernel", "storage"))
            known.kernel_of_process = _counts(np.concatenate([*whole]))
        _, threads = table.rows(BlockKind.THREAD)
        known.threads = max(known.threads, len(threads))
        known.images += not image.is_announcement
        is_main = threads["thread"] == image.pid
        header = image.table.header
        known.counts_storage &= bool(header["header_bytes"] > HEADER.fields["storage_of_ended"][1])  # type: ignore[index]
        counters = np.concatenate([threads["kernel"], threads["storage"]], axis=1).astype(float)
        of_ended = np.concatenate([header["kernel_of_ended"], header["storage_of_ended"]])
        others = _counts(counters[~is_main].sum(axis=0) + of_ended)
        known.kernel_of_others = [*map(sum, zip(known.kernel_of_others, others, strict=True))]
        of_main = _counts(counters[is_main].sum(axis=0))
        known.kernel_of_main = [*map(max, zip(known.kernel_of_main, of_main, strict=True))]
        known.recorder_ns += int(header["own_ticks"]) * image.ns_per_tick
        known.recorder_bytes += int(header["used_bytes"])

    def frame(self, is_running: bool, spent: Mapping[str, NDArray[np.float64]]) -> pl.DataFrame:
        """`PROCESSES`. `spent` has its columns about files, with a value for each process."""
        rows = []
        for process, known in sorted(self._known.items()):
            header = known.last.table.header
            kernel = known.kernel
            times = _counts(spent[name][process] for name in spent)
            rows.append(
                (
                    process, known.node, known.last.pid, int(header["parent"]), int(header["user"]), known.rank,
                    known.command, known.executable, known.first.begin_ns, known.last.end_ns,
                    _state(known.last, is_running), known.threads, known.images, *times, *kernel,
                    *_counts([known.recorder_ns, known.recorder_bytes]),
                )
            )  # fmt: skip
        return pl.DataFrame(rows, schema=PROCESSES, orient="row")

    def escaped(self) -> list[tuple[int, str]]:
        """Processes that `exec` replaced by a program that was not recorded: number on the node, and the program."""
        return [
            (known.last.pid, known.replacement)
            for _, known in sorted(self._known.items())
            if known.last.state == State.REPLACED
        ]


def _state(last: Image, is_running: bool) -> ProcessState:
    match last.state:
        case State.EXITED:
            return "ended"
        case State.REPLACED:
            return "replaced"
    return "running" if is_running else "killed"


def _rank(job: str) -> int | None:
    variables = dict(variable.split("=", 1) for variable in job.split("\0") if "=" in variable)
    rank = next((variables[name] for name in _RANKS if name in variables), "")
    return int(rank) if rank.isdecimal() and len(rank) < 10 else None
