"""Differences between trace and record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ioassay.protocol.record_layout import OPERATIONS

from .processes import Caller, Count, Image
from .tables import Escaped, Recorded

COMPARED = frozenset(OPERATIONS[: OPERATIONS.index("stream seek")]) - {"list"} | {
    "read",
    "write",
    "copy from",
    "copy to",
    "map",
}
"""Classes in which each call is a system call. Most calls on lists and streams do not reach the kernel."""


@dataclass(frozen=True)
class Difference:
    """A difference between counted and traced calls."""

    process: int
    program: str
    file: str
    operation: str
    traced: Count
    recorded: Count

    def __str__(self) -> str:
        return (
            f"process {self.process} ({self.program}), {self.operation} of {self.file}: "
            f"strace has {_words(self.traced)}, the record {_words(self.recorded)}"
        )


def _words(count: Count) -> str:
    return f"{count.calls} calls ({count.failed} failed) and {count.bytes} bytes"


@dataclass
class Comparison:
    """The result of comparing a record with a trace."""

    checked: int = 0
    """Calls in both."""
    passed_by: int = 0
    """System calls of the C library for itself."""
    in_vfork_children: int = 0
    unnamed: int = 0
    """Calls that are not counted by design: `close` of descriptors that were not used."""
    stated_losses: int = 0
    """Calls that the recorder reports as not counted: those of signal handlers that interrupted it."""
    missed: Counter[str] = field(default_factory=Counter)
    unhookable: Counter[str] = field(default_factory=Counter)
    """Missed calls of code that is known to make system calls itself: no preloaded library sees these."""
    escaped: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """All other problems, as sentences."""

    def excuse(self, own_system_calls: Sequence[str]) -> None:
        """Moves the calls of these libraries and functions from `missed` to `unhookable`. It is a problem if there
        are none.
        """
        for place in own_system_calls:
            excused = {text: count for text, count in self.missed.items() if place in text}
            self.unhookable.update(excused)
            self.missed = Counter({text: count for text, count in self.missed.items() if text not in excused})
            if not excused:
                self.problems.append(f"{place} made no system call of its own")

    def complaints(self) -> list[str]:
        """All problems, with differences first."""
        missed = [f"{count} calls passed the recorder: {text}" for text, count in self.missed.most_common()]
        return [*map(str, self.differences), *missed, *self.problems]

    @property
    def called(self) -> int:
        """System calls of files that processes made, other than those of the recorder."""
        passed = self.passed_by + self.missed.total() + self.unhookable.total()
        return self.checked + passed + self.in_vfork_children + self.unnamed


def compare(images: Sequence[Image], tables: Sequence[Recorded], escaped: Sequence[Escaped]) -> Comparison:
    """Compares a trace with the record of the same run."""
    result = Comparison()
    escaped_paths = {escape.process: escape.path for escape in escaped}
    tables_of = _tables_of(images, tables)
    for image in images:
        of_image = tables_of.get(id(image), [])
        if not of_image and _escaped(image, escaped_paths):
            result.escaped.append(image.program)
            continue
        result.passed_by += image.callers[Caller.C_LIBRARY]
        result.in_vfork_children += image.callers[Caller.VFORK_CHILD]
        result.unnamed += image.unnamed
        result.missed.update(image.missed)
        if len(of_image) > 1:
            result.problems.append(f"process {image.process} ({image.program}) has {len(of_image)} tables")
        recorded = of_image[0] if of_image else None
        result.differences += _differences(image, recorded)
        result.checked += sum(count.calls for count in image.counts.values()) + image.several.total()
        if recorded is not None and recorded.not_counted:
            result.stated_losses += recorded.not_counted
            result.problems.append(f"{recorded.not_counted} calls of process {image.process} were not counted")
    result.problems += _coverage(images, tables_of)
    escaped_programs = set(result.escaped)
    result.problems += [
        f"{escape.path} (process {escape.process}) did not escape"
        for escape in escaped
        if escape.path not in escaped_programs
    ]
    return result


def _escaped(image: Image | None, paths: dict[int, str]) -> bool:
    """True if the record lists the program, or the one that it was forked from, as escaped."""
    return image is not None and (paths.get(image.process) == image.program or _escaped(image.parent, paths))


def _tables_of(images: Sequence[Image], tables: Sequence[Recorded]) -> dict[int, list[Recorded]]:
    """The tables of each image: of its process, and begun before the next image."""
    of_process: dict[int, list[Image]] = {}
    for image in images:
        of_process.setdefault(image.process, []).append(image)
    image_tables: dict[int, list[Recorded]] = {}
    for table in tables:
        before = [image for image in of_process.get(table.process, ()) if image.began <= table.began + 1e-4]
        if before:
            image_tables.setdefault(id(before[-1]), []).append(table)
    return image_tables


def _differences(image: Image, recorded: Recorded | None) -> Iterator[Difference]:
    have = recorded.counts if recorded else {}
    uncertain = Counter(image.several)
    unused = Counter(image.closed_unused)
    for file, operation in sorted(image.counts.keys() | have.keys()):
        if operation not in COMPARED:
            continue
        traced = image.counts.get((file, operation), Count())
        counted = have.get((file, operation), Count())
        more = counted.calls - traced.calls
        if 0 < more <= uncertain[operation] and (counted.bytes == traced.bytes or operation == "write"):
            uncertain[operation] -= more
        elif operation == "close" and 0 < more <= unused[file] and counted.failed == traced.failed:
            unused[file] -= more
        elif traced != counted and not any(
            (operation, file) == (lost[0], lost[1]) and _without(traced, lost[2]) == counted for lost in image.killed
        ):
            yield Difference(image.process, image.program, file, operation, traced, counted)


def _without(count: Count, lost: Count) -> Count:
    return Count(count.calls - lost.calls, count.failed - lost.failed, count.bytes - lost.bytes)


def _coverage(images: Sequence[Image], tables_of: dict[int, list[Recorded]]) -> Iterator[str]:
    """Problems if the kernel's counts of a process differ from the trace. Profiles derive missed I/O from these counts.

    The kernel also counts what it reads itself for an `exec`; the recorder takes its own calls off, or some of them.
    """
    images_before: dict[int, list[Image]] = {}
    for image in images:
        before = images_before.setdefault(image.process, [])
        before.append(image)
        for table in tables_of.get(id(image), ()):
            if not any(table.kernel.values()):
                continue
            for kind, calls, moved in (("reads", "syscr", "rchar"), ("writes", "syscw", "wchar")):
                # Streams that the process never closed are written after the recorder has read the kernel's counts.
                least = Count.sum(
                    [
                        *(earlier.not_own(kind) for earlier in before[:-1]),
                        image.when_asked.get(kind, image.not_own(kind)),
                    ]
                )
                most = Count.sum(sums for earlier in before for sums in getattr(earlier, kind).values())
                for what, field_name, more in ((calls, "calls", 8), (moved, "bytes", 16 << 10)):
                    low, high = getattr(least, field_name), getattr(most, field_name) + more * len(before)
                    if not low <= table.kernel[what] <= high:
                        yield (
                            f"process {image.process} ({image.program}): strace saw {low} to {high} {field_name} of "
                            f"{kind}, but the record's {what} is {table.kernel[what]}"
                        )
