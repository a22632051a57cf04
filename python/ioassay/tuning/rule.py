"""Rules, and their judgements of a system.

A rule is a `Rule` in the file of its area below `tuning.rules`, and in that file's list `RULES`. Its function gets the
system and gives a judgement for each thing that it examined: a device, a mount, the node. Reading a value that cannot
be read raises `Unreadable`, and the judgement then says so; where there is nothing to look at, it is `NotApplicable`
with the reason. A value that the snapshot lacks is `missing`, never a default.

Some values ruin I/O whatever the node is for. A rule states them as `Bounds` and checks these before anything else, so
that they are found on nodes for which it has no recommendation, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from ioassay.tuning.settings import Assignment
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import System

Area = Literal[
    "GPFS",
    "NFS",
    "OneFS",
    "Lustre",
    "BeeGFS",
    "Ceph",
    "WEKA",
    "DAOS",
    "ZFS",
    "btrfs",
    "memory",
    "processor and network",
    "file system",
    "MD RAID",
    "block queue",
    "NVMe over fabrics",
    "adapter",
    "RAID controller",
]
"""The area of a setting, as it is shown; a heading begins with a capital letter."""

Weight = Literal["large", "usual", "small"]
"""How much a setting matters among those that are not as recommended. `large`: its sources report a factor, or data
are at risk. `small`: its sources report a few per cent, or only rare workloads gain."""

__all__ = [
    "Area",
    "Assignment",
    "Bounds",
    "Change",
    "Finding",
    "Fine",
    "Judgement",
    "NotApplicable",
    "NotJudged",
    "NotReadable",
    "Rule",
    "Source",
    "Weight",
    "each",
    "missing",
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
    """The thing that is judged: `sda`, `/scratch`, or the host."""
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
    """The particular reason, such as which layers differ; the general reason is the rule's."""
    assignments: tuple[Assignment, ...] = ()
    """The settings for `ioassay tune apply`, in this order; none where it is not this host's to set."""
    command: str = ""
    """What to type where `ioassay tune apply` cannot set it on the running system: on a storage controller, a server,
    in a configuration. Beside `assignments`: they take effect only at the next mount or load of the module, so that
    `ioassay tune apply` takes them with `--persist` only."""
    is_harmful: bool = False
    """The value is out of bounds that hold on any node; such changes come before all others."""


@dataclass(frozen=True)
class NotApplicable:
    """The rule has nothing to look at here."""

    why: str
    subject: str = ""
    """The thing that is judged, where there are several: `sda`."""


@dataclass(frozen=True)
class NotJudged:
    """The value is known, but not whether it suits: that depends on what only the user knows."""

    subject: str
    value: str
    why: str
    """The reason, as a clause, with the option that decides where there is one: "depends on …: say --transfer"."""


@dataclass(frozen=True)
class NotReadable:
    """The value is there and could not be read."""

    what: str
    reason: str


Judgement = Fine | Change | NotApplicable | NotJudged | NotReadable


@dataclass(frozen=True)
class Bounds:
    """The range of an integer on any node, whatever the node is for."""

    source: Source
    """Who says what happens beyond them, with the version."""
    least: int | None = None
    below: str = ""
    """The effect below `least`, as a clause: "the kernel cannot allocate where it must not wait"."""
    most: int | None = None
    above: str = ""
    unit: str = ""

    def breach(self, value: int) -> str:
        """The effect of a value beyond them; empty for one within."""
        if self.least is not None and value < self.least:
            return self.below
        return self.above if self.most is not None and value > self.most else ""

    @property
    def range_text(self) -> str:
        """The bounds alone: `at least 1 % and at most 80 %`."""
        unit = f" {self.unit}" if self.unit else ""
        ends = ((self.least, "at least"), (self.most, "at most"))
        return " and ".join(f"{word} {bound}{unit}" for bound, word in ends if bound is not None)

    @property
    def text(self) -> str:
        """The bounds with what happens beyond them: `at least 16 (below it, …), at most 1024 (above it, …)`."""
        parts = ((self.least, "at least", "below it", self.below), (self.most, "at most", "above it", self.above))
        return "; ".join(
            f"{limit} {bound}{f' {self.unit}' if self.unit else ''} ({beyond}, {what})"
            for bound, limit, beyond, what in parts
            if bound is not None
        )


@dataclass(frozen=True)
class Rule:
    """The knowledge about one setting."""

    name: str
    """In kebab case, as users name it."""
    title: str
    """The recommendation as a short sentence in the imperative."""
    area: Area
    reason: str
    """Why the value matters, in a sentence or two."""
    risk: str
    """The cost or damage that the change can do, and when not to do it."""
    sources: tuple[Source, ...]
    judge: Callable[[System], Iterable[Judgement]]
    parameters: tuple[str, ...] = ()
    """The names of parameters that it knows, `nr_requests`, for those who search for a rule by one."""
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    """By parameter, the values that are wrong on any node; `judge` checks them."""
    weight: Weight = "usual"
    """Orders its changes among those of other rules."""
    weight_reason: str = ""
    """Why the weight is not the usual one, as a clause with what the sources report."""

    def __hash__(self) -> int:
        return hash(self.name)

    def judgements(self, system: System) -> list[Judgement]:
        """The judgements of a system, at least one. Those before an unreadable value are kept."""
        return list(_judge_readable(self.judge, system)) or [NotApplicable("nothing here has this setting")]


@dataclass(frozen=True)
class Finding:
    """The judgements of a rule on a host."""

    host: str
    rule: Rule
    judgements: Sequence[Judgement]
    evidence: Sequence[str] = ()
    """The effects of the rule's parameters on requests of the I/O paths, in sentences."""


def each(
    subjects: Collection[_Subject], judge: Callable[[_Subject], Iterable[Judgement]], *, otherwise: str = ""
) -> Iterator[Judgement]:
    """The judgements of each subject, one after the other; `NotReadable` for one whose value cannot be read.

    `otherwise`: why the rule does not apply where there is none.
    """
    if not subjects and otherwise:
        yield NotApplicable(otherwise)
    for subject in subjects:
        yield from _judge_readable(judge, subject)


def missing(what: str) -> NotReadable:
    """The judgement on a value that the snapshot should have and does not. `what`: a path below /, a parameter."""
    return NotReadable(what, "the snapshot lacks it; take it again with ioassay tune capture of this version")


def _judge_readable(judge: Callable[[_Subject], Iterable[Judgement]], subject: _Subject) -> Iterator[Judgement]:
    try:
        yield from judge(subject)
    except Unreadable as error:
        yield NotReadable(error.what, error.reason)
