"""What a rule is, and what it can say of a system.

A rule is a module below `tuning.rules` with one `Rule`, named `RULE`. Its function gets the system and gives a
judgement for each thing that it looked at: a device, a mount, the node. Reading a value that cannot be read raises
`Unreadable`, and the judgement then says so; where there is nothing to look at, it is `NotApplicable` with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

from ioassay.tuning.settings import Assignment
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import System

Area = Literal[
    "GPFS",
    "NFS",
    "OneFS",
    "Lustre",
    "memory",
    "processor and network",
    "file system",
    "MD RAID",
    "block queue",
    "adapter",
    "RAID controller",
]
"""What a setting belongs to, as it is shown; a heading begins with a capital letter."""

__all__ = [
    "Area",
    "Assignment",
    "Change",
    "Fine",
    "Judgement",
    "NotApplicable",
    "NotReadable",
    "Rule",
    "Source",
    "each",
]

_Subject = TypeVar("_Subject")


@dataclass(frozen=True)
class Source:
    """Where the knowledge comes from: a study with its table, or documentation with its address."""

    text: str
    url: str = ""


@dataclass(frozen=True)
class Fine:
    """The value is as it should be."""

    subject: str
    """What it is about: `sda`, `/scratch`, or the host."""
    value: str


@dataclass(frozen=True)
class Change:
    """Another value is recommended."""

    subject: str
    value: str
    """As it is now, with its unit."""
    wanted: str
    """As it should be, with its unit."""
    because: str = ""
    """What is particular here, such as which layers differ; the general reason is the rule's."""
    assignments: tuple[Assignment, ...] = ()
    """What `ioassay tune apply` would set, in this order; none where it is not this host's to set."""
    command: str = ""
    """What to type where `assignments` cannot: on a storage controller, on a server, in a configuration."""


@dataclass(frozen=True)
class NotApplicable:
    """The rule has nothing to look at here."""

    why: str


@dataclass(frozen=True)
class NotReadable:
    """The value is there and could not be read."""

    what: str
    reason: str


Judgement = Fine | Change | NotApplicable | NotReadable


@dataclass(frozen=True)
class Rule:
    """What is known of one setting."""

    name: str
    """In kebab case, as users name it."""
    title: str
    """The recommendation as a short sentence in the imperative."""
    area: Area
    reason: str
    """Why the value matters, in a sentence or two."""
    risk: str
    """What the change can cost or break, and when not to do it."""
    sources: tuple[Source, ...]
    judge: Callable[[System], Iterable[Judgement]]
    parameters: tuple[str, ...] = ()
    """The names of parameters that it knows, `nr_requests`, for those who search for a rule by one."""

    def judgements(self, system: System) -> list[Judgement]:
        """What it says of a system, in its order, never nothing. What is found before an unreadable value is kept."""
        return list(_guarded(self._judged(system))) or [NotApplicable("nothing here has this setting")]

    def _judged(self, system: System) -> Iterator[Judgement]:
        """As `judge`, which may be a plain function: its exceptions too are raised while its judgements are taken."""
        yield from self.judge(system)


def each(
    subjects: Collection[_Subject], judge: Callable[[_Subject], Iterable[Judgement]], *, otherwise: str = ""
) -> Iterator[Judgement]:
    """What `judge` says of each subject, one after the other; of one whose value cannot be read, that.

    `otherwise`: why the rule does not apply where there is none.
    """
    if not subjects and otherwise:
        yield NotApplicable(otherwise)
    for subject in subjects:
        yield from _guarded(judge(subject))


def _guarded(judgements: Iterable[Judgement]) -> Iterator[Judgement]:
    try:
        yield from judgements
    except Unreadable as error:
        yield NotReadable(error.what, error.reason)
