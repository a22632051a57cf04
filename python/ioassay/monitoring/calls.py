"""The names of calls in contracts: groups, such as `read`, and single classes of the recorder.

A name of both a group and a class means the group; `plain read` is only the class.
Not: Mistral's types of calls (`mistral.mapping`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ioassay.profiles.model import DIRECTION, ELSEWHERE, METADATA
from ioassay.protocol.record_layout import FIRST_TRANSFER, OPERATIONS
from ioassay.yaml_models.source import nearest, quoted

_ALONE: Final = "plain "
"""Prefix of a class whose name is also that of a group."""


def _all_mpi(direction: str) -> tuple[str, ...]:
    return tuple(name for name in OPERATIONS if name.startswith("MPI ") and name.endswith(f" {direction}"))


GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "read": tuple(name for name in OPERATIONS if DIRECTION.get(name) == "read"),
    "write": tuple(name for name in OPERATIONS if DIRECTION.get(name) == "write"),
    "metadata": METADATA,
    "changes": ("create", "remove", "rename", "truncate", "attribute"),
    "seek": ("seek", "stream seek"),
    "sync": ("sync", "stream flush"),
    "MPI read": _all_mpi("read"),
    "MPI write": _all_mpi("write"),
}
"""The classes of each group."""

ABOUT: Final[Mapping[str, str]] = {
    "read": "reads of every kind: plain, of streams (`fread`), copies, handed to the kernel",
    "write": "writes of every kind",
    "metadata": "all calls that move no bytes: open, close, stat, list, create, remove, seek, sync, lock and so on",
    "changes": "changes of the file system: create, remove, rename, truncate, attribute",
    "seek": "`lseek`, and seeks in streams",
    "sync": "`fsync` and its like, and `fflush`",
    "MPI read": "reads of MPI-IO of every kind; the reads that they make are counted as `read` too",
    "MPI write": "writes of MPI-IO of every kind",
}
"""The description of each group, for users."""

NOT_HELD: Final = frozenset({"map", "submit read", "submit write"})
"""Classes that a throttle rule counts but cannot delay: the kernel or other threads do the work."""

_CLASSES: Final[Mapping[str, str]] = {
    (name if name not in GROUPS else _ALONE + name): name for name in OPERATIONS if name not in ELSEWHERE
}
"""Words that name a single class."""

WORDS: Final = (*GROUPS, *_CLASSES)


def moves_bytes(classes: Iterable[str]) -> bool:
    """True if all of them move bytes."""
    return all(OPERATIONS.index(name) >= FIRST_TRANSFER for name in classes)


def word(text: str) -> str:
    """The known word for a typed one, in any case. Raises `ValueError` for an unknown one."""
    for candidate in WORDS:
        if candidate.lower() == text.lower():
            return candidate
    raise ValueError(f"{quoted(text)} is not a kind of calls; {nearest(text, WORDS)}")


def classes_of(words: Iterable[str]) -> list[str]:
    """The classes that words name, in the recorder's order."""
    classes: set[str] = set()
    for name_of_calls in words:
        classes.update(GROUPS.get(name_of_calls) or (_CLASSES[name_of_calls],))
    return [name for name in OPERATIONS if name in classes]


def words_of(classes: Sequence[str]) -> list[str]:
    """The fewest words for these classes, large groups first."""
    remaining_groups, missing = set(classes), set(classes)
    words: list[str] = []
    for word, group in sorted(GROUPS.items(), key=lambda item: -len(item[1])):
        if remaining_groups.issuperset(group) and missing.intersection(group):
            words.append(word)
            missing.difference_update(group)
    return words + [word for word, name in _CLASSES.items() if name in missing]
