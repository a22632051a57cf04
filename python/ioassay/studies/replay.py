"""What a study can say of a replay: streams of operations on the items of trees, side by side in each rank.

Not here: how a recorded application becomes such streams (`ioassay.analysis.replay`), what they need of the steps
before them; the engine tells that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, cast, get_args

from ioassay.protocol import facts
from ioassay.studies.values import Pause, SizeOrNone, Transfer, Waiting
from ioassay.text import units
from ioassay.yaml_models.model import BeforeValidator, Field, Part, model_validator
from ioassay.yaml_models.source import quoted
from ioassay.yaml_models.values import Count, Identifier, Kind, Prose, Size, YesNo, between, parsed, text_of

if TYPE_CHECKING:
    from ioassay.protocol.plan import Stream as StreamPlan
    from ioassay.protocol.plan import StreamOperation as OperationPlan
    from ioassay.protocol.plan import StreamOrder as OrderPlan
    from ioassay.protocol.plan import WorkReplay

StreamVerb = Literal["fill", "read", "write", "open", "stat", "create", "rename", "remove"]

STREAM_VERBS: tuple[StreamVerb, ...] = get_args(StreamVerb)

MOST_WEIGHT = 10**12


@dataclass(frozen=True)
class RankNumbers:
    """Consecutive ranks."""

    first: int
    count: int


def _ranks(text: str) -> RankNumbers:
    match = re.fullmatch(r"([0-9]{1,7})(?: ?- ?([0-9]{1,7}))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if not first <= last < facts.MOST_RANKS:
        raise ValueError(f"{quoted(text)} are not ranks; write for example 0 or 0-5")
    return RankNumbers(first, last - first + 1)


def weighed(value: object) -> object:
    """One size, or one word, stands for transfers that all have it."""
    return {value: "1"} if isinstance(value, str) else value


Weight = Annotated[int, between(units.parse_count, 0, MOST_WEIGHT), Kind("whole number")]
Ranks = Annotated[RankNumbers, parsed(_ranks), Kind("ranks, such as `0` or `0-5`")]
Share = Annotated[Literal["own", "all"], BeforeValidator(text_of)]
Region = Annotated[Literal["whole", "segment"], BeforeValidator(text_of)]
Pace = Annotated[Literal["recorded", "unlimited"], BeforeValidator(text_of)]
Sizes = Annotated[
    dict[Transfer, Weight],
    BeforeValidator(weighed),
    Kind("weights by size, such as `{4KiB: 300, 1MiB: 20}`, or one size"),
]


class OfStream(Part):
    """What every stream says."""

    tree: Identifier = Field(description="The tree with the files (its items). It needs `sharing: shared-items`.")
    timeline: list[Weight] = Field(
        default=[],
        description="How many of the operations belong into each of equal parts of the `duration`, as weights. "
        "Default: evenly many.",
    )

    def plan(self, verb: StreamVerb) -> StreamPlan:
        """As the plan has it."""
        made: StreamPlan = {"tree": self.tree, "items": "own", "operation": self._operation(verb)}
        if self.timeline:
            made["timeline"] = self.timeline
        return made

    def _operation(self, verb: StreamVerb) -> OperationPlan:
        raise NotImplementedError


class Fill(OfStream):
    """Files that a later phase finds: each is created once by one of the ranks, and written."""

    file_size: SizeOrNone = Field(description="Bytes of each file.")

    def _operation(self, verb: StreamVerb) -> OperationPlan:
        return {"kind": "fill", "bytes": self.file_size}


class OfRanks(OfStream):
    """What every stream says but a fill."""

    ranks: Ranks | None = Field(default=None, description="The ranks that have the stream. Default: all ranks.")
    items: Share = Field(
        default="own",
        description="Which files each of them uses, one after another and then again from the first. `own`: of n ranks "
        "the first uses files 0, n, 2 n and so on. `all`: all files.",
    )

    def plan(self, verb: StreamVerb) -> StreamPlan:
        """As the plan has it."""
        made = {**super().plan(verb), "items": self.items}
        if self.ranks is not None:
            made["ranks"] = {"first": self.ranks.first, "count": self.ranks.count}
        return cast("StreamPlan", made)


class StreamOrder(Part):
    """Where transfers begin, as weights. One word, such as `consecutive`, stands for all of them."""

    consecutive: Weight = Field(
        default=0, description="Where the one before ended; at the beginning again after the end of the file."
    )
    forward: Weight = Field(
        default=0, description="Beyond that, with gaps so that all of them reach the end of the file."
    )
    backward: Weight = Field(
        default=0,
        description="So that it ends where the one before began, with gaps so that all of them reach the beginning of "
        "the file; the first ends at the end of the file.",
    )
    random: Weight = Field(default=0, description="Anywhere, at a multiple of the transfer's size.")

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if not self.consecutive + self.forward + self.backward + self.random:
            raise ValueError("has no weight; set for example `consecutive: 1`")
        return self

    def plan(self) -> OrderPlan:
        """As the plan has it."""
        plan: OrderPlan = {"consecutive": self.consecutive, "forward": self.forward, "random": self.random}
        return {**plan, "backward": self.backward} if self.backward else plan


class StreamTransfers(OfRanks):
    """Transfers of each rank. A transfer that would go beyond the end of its file ends there."""

    count: Count = Field(description="Transfers of each rank.")
    opens: Count = Field(
        default=1,
        description="How often each rank opens its next file for them: each time the same number of transfers, up to "
        "one, then it is closed.",
    )
    file_size: Size = Field(description="Bytes of each file; no transfer goes beyond.")
    sizes: Sizes = Field(min_length=1, description="Sizes of the transfers, and how many have each, as weights.")
    order: Annotated[StreamOrder | None, BeforeValidator(weighed)] = Field(
        default=None, description="Where they begin. Default: `consecutive`."
    )
    region: Region = Field(
        default="whole",
        description="Where in a file a rank's transfers lie. `segment`: of n ranks the first uses the first n-th.",
    )
    sync_every: Count | None = Field(
        default=None,
        description="Only for `write`: the file is forced to stable storage after every so many. Default: never.",
    )

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if not any(self.sizes.values()):
            raise ValueError("has sizes without a weight; write for example `{4KiB: 300, 1MiB: 20}`")
        return self

    def _operation(self, verb: StreamVerb) -> OperationPlan:
        made: dict[str, Any] = {
            "kind": verb,
            "count": self.count,
            "opens": self.opens,
            "sizes": [{"bytes": size, "weight": weight} for size, weight in self.sizes.items()],
            "file_bytes": self.file_size,
            "region": self.region,
            "order": self.order.plan() if self.order else {"consecutive": 1, "forward": 0, "random": 0},
        }
        if self.sync_every is not None:
            made["sync_every"] = self.sync_every
        return cast("OperationPlan", made)


class StreamLookups(OfRanks):
    """Opens, each with its close, or looks at attributes, of each rank."""

    count: Count = Field(description="How often each rank does it.")
    absent: YesNo = Field(
        default=False, description="The files are not there, and none is found. The tree must not be filled."
    )

    def _operation(self, verb: StreamVerb) -> OperationPlan:
        made: dict[str, Any] = {"kind": verb, "count": self.count}
        if self.absent:
            made["absent"] = True
        return cast("OperationPlan", made)


class StreamChanges(OfRanks):
    """Changes of names by each rank. Each file is created or removed once; a rename gives it another name, the next one
    its own again.
    """

    count: Count = Field(description="How often each rank does it; renames an even number.")

    def _operation(self, verb: StreamVerb) -> OperationPlan:
        return cast("OperationPlan", {"kind": verb, "count": self.count})


class Stream(Part):
    """Operations of one kind: exactly one of these keys."""

    fill: Fill | None = Field(
        default=None,
        description="Create each file of the tree once and write it, so that later phases find it. They cannot read, "
        "open, rename or remove files of a tree that is not filled.",
    )
    read: StreamTransfers | None = Field(default=None, description="Read from files.")
    write: StreamTransfers | None = Field(
        default=None, description="Write into files, which are created where they are not there."
    )
    open: StreamLookups | None = Field(default=None, description="Open and close files.")
    stat: StreamLookups | None = Field(default=None, description="Look at the attributes of files.")
    create: StreamChanges | None = Field(default=None, description="Create empty files that are not there.")
    rename: StreamChanges | None = Field(default=None, description="Rename files.")
    remove: StreamChanges | None = Field(default=None, description="Remove files.")

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, value: object) -> object:
        if not isinstance(value, dict) or len(value) != 1:
            raise ValueError(f"is not one stream; use exactly one of {', '.join(STREAM_VERBS)}")
        return value

    @property
    def verb(self) -> StreamVerb:
        """The key."""
        return next(verb for verb in STREAM_VERBS if getattr(self, verb) is not None)

    @property
    def body(self) -> OfStream:
        """The description of it."""
        body: OfStream = getattr(self, self.verb)
        return body

    def plan(self) -> StreamPlan:
        """As the plan has it."""
        return self.body.plan(self.verb)


class RecordedOrder(Part):
    """Calls by where they began. The first of a file is consecutive."""

    consecutive: Weight = Field(default=0, description="Where the one before had ended.")
    forward: Weight = Field(default=0, description="Beyond that.")
    backward: Weight = Field(default=0, description="Before it.")


class RecordedRanks(Part):
    """How unequal the ranks were."""

    least: SizeOrNone = Field(description="Bytes of the rank that moved least.")
    most: SizeOrNone = Field(description="Bytes of the rank that moved most.")


class RecordedTransfers(Part):
    """What an application read or wrote."""

    operations: Weight = Field(description="Calls that moved bytes.")
    bytes: SizeOrNone = Field(default=0, description="Bytes.")
    order: RecordedOrder | None = Field(default=None, description="Where they began. Default: unknown.")
    rank_bytes: RecordedRanks | None = Field(default=None, description="How unequal ranks were. Default: unknown.")
    sizes: Sizes = Field(default={}, description="Sizes of the calls, and how many had each.")
    timeline: list[Weight] = Field(
        default=[], description="Bytes in equal steps of the `duration`, as weights. Default: unknown."
    )


class RecordedNames(Part):
    """What an application did that moved no bytes: opens, closes, looks at attributes, changes of names, syncs."""

    operations: Weight = Field(description="Calls.")
    timeline: list[Weight] = Field(
        default=[], description="Calls in equal steps of the `duration`, as weights. Default: unknown."
    )


class LeftOut(Part):
    """What an application did and no stream does."""

    operation: Prose = Field(description="What.")
    calls: Weight = Field(description="How often.")
    time: Pause | None = Field(default=None, description="Time in these calls. Default: unknown.")


class Replays(Part):
    """The recorded application that a study replays, so that the report of a run can say how faithful it was."""

    source: Prose = Field(description="The command that was recorded.")
    processes: Count = Field(description="Processes that did I/O.")
    duration: Waiting = Field(description="From the beginning of its first phase to the end of its last one.")
    phases: list[Identifier] = Field(min_length=1, description="The phases of a case that together replay it.")
    read: RecordedTransfers | None = Field(default=None, description="What it read. Default: nothing.")
    write: RecordedTransfers | None = Field(default=None, description="What it wrote. Default: nothing.")
    metadata: RecordedNames | None = Field(
        default=None, description="What it did that moved no bytes. Default: nothing."
    )
    left_out: list[LeftOut] = Field(default=[], description="What is not replayed.")


class Replay(Part):
    """What an application did, as streams. Each rank does its operations of all streams one after another, those of
    each stream evenly among the others', or as its timeline says. `ioassay profile RECORD --as-study` writes it.
    """

    equivalent: ClassVar[str] = "# neither IOR nor mdtest replays an application"
    """Instead of a command line of IOR or mdtest."""

    name: Identifier | None = Field(default=None, description="Name of the phase. Default: `replay`.")
    duration: Waiting | None = Field(
        default=None, description="How long the application took. Default: unknown, as fast as it goes."
    )
    pace: Pace = Field(
        default="recorded",
        description="`recorded`: no operation begins before its time within `duration`. `unlimited`: each begins when "
        "the one before it has ended, in the same order.",
    )
    streams: list[Stream] = Field(min_length=1, description="The streams.")

    def plan(self, _index: Callable[[str], int] | None = None) -> WorkReplay:
        """As the plan has it. It refers to no other phase, whose step an index would give."""
        made: WorkReplay = {"kind": "replay", "streams": [stream.plan() for stream in self.streams]}
        if self.duration is not None and self.pace == "recorded":
            made["duration_ns"] = self.duration
        return made

    def trees(self) -> Iterator[tuple[int, StreamVerb, str]]:
        """The tree of each stream: number and key of the stream, name of the tree."""
        for index, stream in enumerate(self.streams):
            yield index, stream.verb, stream.body.tree
