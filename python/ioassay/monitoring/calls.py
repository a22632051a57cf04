"""The words by which contracts name calls: groups, such as `read`, and single classes of the recorder.

A word that is both a group and a class means the group; `plain read` is the class alone.
Not: Mistral's types of calls (`mistral.mapping`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ioassay.profiles.model import DIRECTION, ELSEWHERE, METADATA
from ioassay.protocol.record_layout import FIRST_TRANSFER, OPERATIONS
from ioassay.yaml_models.source import nearest, quoted

_ALONE: Final = "plain "
"""What stands before a class that is also the name of a group of several."""


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
"""Classes that are named together."""

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
"""What each group means, for people."""

NOT_HELD: Final = frozenset({"map", "submit read", "submit write"})
"""Classes that a throttling rule counts and cannot hold back: the kernel or other threads do the work."""

_CLASSES: Final[Mapping[str, str]] = {
    (name if name not in GROUPS else _ALONE + name): name for name in OPERATIONS if name not in ELSEWHERE
}
"""The classes that a word stands for alone."""

WORDS: Final = (*GROUPS, *_CLASSES)


def moves_bytes(classes: Iterable[str]) -> bool:
    """Whether all of them move bytes."""
    return all(OPERATIONS.index(name) >= FIRST_TRANSFER for name in classes)


def word(text: str) -> str:
    """The word that was typed, in capital or small letters. Raises `ValueError` for one that is unknown."""
    for known in WORDS:
        if known.lower() == text.lower():
            return known
    raise ValueError(f"{quoted(text)} is not a kind of calls; {nearest(text, WORDS)}")


def classes_of(words: Iterable[str]) -> list[str]:
    """The classes that words stand for, in the recorder's order."""
    found: set[str] = set()
    for one in words:
        found.update(GROUPS.get(one) or (_CLASSES[one],))
    return [name for name in OPERATIONS if name in found]


def words_of(classes: Sequence[str]) -> list[str]:
    """The fewest words for these classes, large groups first."""
    wanted, missing = set(classes), set(classes)
    words: list[str] = []
    for word, group in sorted(GROUPS.items(), key=lambda item: -len(item[1])):
        if wanted.issuperset(group) and missing.intersection(group):
            words.append(word)
            missing.difference_update(group)
    return words + [word for word, name in _CLASSES.items() if name in missing]
