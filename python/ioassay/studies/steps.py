"""What a study can say of the steps of a case: phases with their work, pace and limits, cold caches, pauses.

Not here: file sets and trees (`studies.files`), what a step needs of the steps before it (`studies.check_steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, get_args

from ioassay.plans.kinds import replay as replays
from ioassay.protocol.facts import REPLACEMENT
from ioassay.store.document import OPERATIONS, Operation
from ioassay.studies import spelling
from ioassay.studies.caches import ColdCache
from ioassay.studies.checkpoint import RestoreCheckpoint, SaveCheckpoint
from ioassay.studies.kv_cache import KvCache
from ioassay.studies.replay import Replay
from ioassay.studies.storage import Storage
from ioassay.studies.train import CreateDataset, Train
from ioassay.studies.values import (
    Advice,
    AnyOrder,
    CreateWith,
    Fsync,
    Items,
    Lock,
    Ordinal,
    Path,
    Paths,
    Pause,
    Percent,
    Rate,
    SizeAtOpen,
    SizeOrNone,
    Source,
    Stonewall,
    Think,
    Verify,
    Waiting,
    each_once,
)
from ioassay.yaml_models.model import AfterValidator, Field, Part, field_validator, model_validator
from ioassay.yaml_models.values import Count, Identifier, Prose, Size, YesNo

if TYPE_CHECKING:
    from ioassay.protocol.plan import WorkFind

Verb = Literal[
    "write",
    "read",
    "mixed",
    "create-tree",
    "create",
    "stat",
    "rename",
    "replace",
    "remove",
    "remove-tree",
    "find",
    "replay",
    "create-dataset",
    "train",
    "kv-cache",
    "save-checkpoint",
    "restore-checkpoint",
]
"""The keys of a step that is a timed phase."""

VERBS: tuple[Verb, ...] = get_args(Verb)

ON_FILES: tuple[Verb, ...] = ("write", "read", "mixed")
ON_TREES: tuple[Verb, ...] = (
    "write",
    "read",
    "create-tree",
    "create",
    "stat",
    "rename",
    "replace",
    "remove",
    "remove-tree",
)


@dataclass(frozen=True)
class For:
    """With which steps a key goes: those on file sets, those on trees."""

    files: tuple[Verb, ...] = ()
    trees: tuple[Verb, ...] = ()

    def described(self) -> str:
        """For the reference page."""
        if (self.files, self.trees) == (ON_FILES, ON_TREES):
            return "all"
        of = [(self.files, ON_FILES, "file sets"), (self.trees, ON_TREES, "trees")]
        return "; ".join(
            what if verbs == every else f"{', '.join(f'`{verb}`' for verb in verbs)} of {what}"
            for verbs, every, what in of
            if verbs
        )


_ALL = For(ON_FILES, ON_TREES)
_FILES = For(files=ON_FILES)
_TREES = For(trees=ON_TREES)
_FILE_WRITES = For(files=("write", "mixed"))
_IN_ANY_ORDER: tuple[Verb, ...] = ("write", "read", "create", "stat", "rename", "remove")
_ITEMS: tuple[Verb, ...] = (*_IN_ANY_ORDER, "replace")

GOES_WITH: Mapping[str, For] = {
    "name": _ALL,
    "limit": For(ON_FILES, _ITEMS),
    "rate": _ALL,
    "think": _ALL,
    "storage": _ALL,
    "settle": _ALL,
    "order": For(ON_FILES, _IN_ANY_ORDER),
    "fsync": For(("write", "mixed"), ("write", "create")),
    "files": _FILES,
    "read_from": For(files=("read",)),
    "barriers": _FILES,
    "verify": For(ON_FILES, ("write", "read", "create", "replace")),
    "size": _FILE_WRITES,
    "lock": _FILES,
    "advice": _FILES,
    "tree": _TREES,
    "shift": For(trees=("write", "read", "stat", "rename", "replace", "remove")),
    "paths": For(trees=_IN_ANY_ORDER),
    "bytes": For(trees=("write", "read", "create", "replace")),
    "using": For(trees=("create",)),
}
"""With which steps each key of a phase goes."""


class AtRateOf(Part):
    """What an earlier phase would have done in a given time, at its own rate."""

    phase: Identifier = Field(description="The earlier phase: one job that does one kind of operation.")
    time: Waiting = Field(description="The given time.")


class Limit(Part):
    """How much of its work each rank of a phase does. Whatever is reached first ends it."""

    bytes: Size | None = Field(default=None, description="Bytes that each rank moves at most: whole transfers.")
    operations: Count | None = Field(default=None, description="Operations that each rank does at most.")
    at_rate_of: AtRateOf | None = Field(
        default=None,
        description="As many operations as an earlier phase would have done in a given time, divided evenly among "
        "the ranks: `{phase: create, time: 60s}`. With `order: interleaved`, as many in each directory.",
    )
    runtime: Waiting | None = Field(
        default=None,
        description="Work for exactly this long, whatever the size of the files (fio's `runtime` with `time_based`): "
        "ranks that have finished begin again, and all stop at this time. Only for file sets.",
    )
    stonewall: Stonewall = Field(
        default=None,
        description="Stop at this time after the start, or earlier if all work is done: no rank begins an operation "
        "later (IOR's `-D`, mdtest's `-W`). `none`: no stonewall, for a setting that is a time in only some scales.",
    )
    wear_out: YesNo = Field(
        default=False,
        description="After the stonewall every rank continues until it has done as many operations as the fastest "
        "rank.",
    )
    minimum: Waiting | None = Field(
        default=None,
        description="Work for at least this long: ranks that have finished repeat all of their work until this much "
        "time has passed (IOR's `minTimeDuration`). Only for file sets.",
    )

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        also = [key for key in ("stonewall", "minimum", "wear_out") if getattr(self, key)]
        if self.runtime is not None and also:
            raise ValueError(f"has `runtime` and `{also[0]}`; leave one out: `runtime` alone sets when the phase ends")
        return self


class Phase(Part):
    """A timed phase of a case. All ranks wait for one another before it and start together."""

    name: Identifier | None = Field(
        default=None, description="Name of the phase, unique in the workload. Default: the step's own, such as `write`."
    )
    files: Identifier | None = Field(default=None, description="The file set to work on, if the workload has several.")
    tree: Identifier | None = Field(
        default=None, description="The tree to work on, if the workload has several, or has file sets as well."
    )
    order: AnyOrder | None = Field(
        default=None,
        description="Order of this phase's transfers. Default: that of the file set. For items: `sequential` "
        "(directory after directory, the default), `interleaved` (one of each directory, then the next of each) or "
        "`random` (mdtest's `-R`); if a limit left only some items created, the first two visit them in the order of "
        "creation.",
    )
    fsync: Fsync | None = Field(
        default=None,
        description="When data is forced to stable storage; the time counts in the phase. "
        f"{spelling.FSYNC.described()} Default: `at-close` for writes of file sets, `never` for items of trees. Items "
        "have no `every 8 writes`, and with `at-end` each rank forces all that its node has not written yet to stable "
        "storage after its last item, mdtest's `-Y`.",
    )
    # A limit of nothing, such as `{stonewall: none}`, is none.
    limit: Annotated[Limit | None, AfterValidator(lambda limit: None if limit == Limit() else limit)] = Field(
        default=None, description="How much of its work the phase does. Default: all of it, once."
    )
    rate: Rate | None = Field(
        default=None,
        description="Highest rate of all ranks together. Latencies count from the time at which an operation was "
        "scheduled to start, so that they include waiting behind a stall. Default: full speed.",
    )
    think: Think | None = Field(
        default=None,
        description="A pause of each rank after a number of operations, like that of an application that computes.",
    )
    storage: Storage | None = Field(
        default=None,
        description="How this phase does its I/O, if it differs from the study: keys of a [storage "
        "API](#storage-api), for example `{direct: yes}`; the study sets the others. If `api` is set, nothing is "
        "taken from the study.",
    )
    read_from: Source | None = Field(
        default=None, description=f"Whose part each rank reads. {spelling.SOURCE.described()} Default: `own`."
    )
    verify: Verify | None = Field(
        default=None,
        description="`reads`: compare each transfer that was read with what was written (IOR's `-R`), or each item "
        "(mdtest's `-X`), whose tree must set a `payload`. `writes`: read each transfer or item back at once and "
        "compare (elbencho's `--verifydirect`). Default: neither.",
    )
    barriers: YesNo = Field(
        default=False,
        description="All ranks also wait for one another between open, transfers and close (IOR's `-g`). Only with "
        "one file per rank.",
    )
    settle: YesNo | None = Field(
        default=None,
        description="Before its clock starts, every node writes back all dirty data that it holds for the target's "
        "file system, so that the phase does not share the storage with earlier writes. The measurement records how "
        "long that took. Default: `yes` for direct writes of file sets, else `no`.",
    )
    size: SizeAtOpen | None = Field(
        default=None,
        description="What happens to a file's size when it is opened for writing: `empty`, `full` (the planned size, "
        "without space), `preallocated` (with space). Default: nothing.",
    )
    lock: Lock | None = Field(
        default=None, description="Lock the bytes of each transfer, or the file, around it. Default: no lock."
    )
    advice: list[Advice] = Field(
        default=[], description="Advice to the kernel about the access (`posix_fadvise`; `madvise` for mapped files)."
    )
    shift: Ordinal | None = Field(
        default=None,
        description="Each rank works on the items of the rank this many further on (mdtest's `-N`). With `replace`: "
        "in the n-th directory with items, it reads and removes items of the rank n times this before it, and creates "
        "items of the rank n times this after it (md-workbench's `-O`).",
    )
    paths: Paths | None = Field(
        default=None,
        description="How system calls name items. `full`: by their whole path. `at`: by their name in an open "
        "directory. Default: `full`.",
    )
    bytes: SizeOrNone | None = Field(
        default=None,
        description="Bytes to write into each item, or to read from it (mdtest's `-w` and `-e`), or both. Default: "
        "0, none.",
    )
    using: CreateWith | None = Field(
        default=None, description="The call that creates a file: `open` or `mknod` (mdtest's `-k`). Default: `open`."
    )

    @field_validator("advice")
    @classmethod
    def _advice_once(cls, advice: list[str]) -> list[str]:
        each_once("lists an advice")(advice)
        return advice


class Mixed(Phase):
    """A phase in which each transfer is a read or a write, chosen at random. May stand as `- mixed: 70%`."""

    read: Percent = Field(description="Share of the transfers that are reads, 1% to 99%.")


class Find(Part):
    """A parallel walk that visits every entry. An entry that meets all conditions matches."""

    equivalent: ClassVar[str] = "# neither IOR nor mdtest walks through directories; IO500's pfind does"
    """Instead of a command line of IOR or mdtest."""

    name: Identifier | None = Field(default=None, description="Name of the phase. Default: `find`.")
    root: Path | None = Field(
        default=None,
        description="Where the walk begins; nothing is changed there. Default: what this run has created on the "
        "target.",
    )
    tree: Identifier | None = Field(default=None, description="The walk begins in the directory that holds this tree.")
    named: Prose | None = Field(default=None, description="Shell pattern of the name, as for `find -name`.")
    exactly: SizeOrNone | None = Field(default=None, description="Exact size of a file.")
    at_least: SizeOrNone | None = Field(default=None, description="Smallest size of a file.")
    at_most: SizeOrNone | None = Field(default=None, description="Largest size of a file.")
    newer_than: Identifier | None = Field(
        default=None, description="Changed after the beginning of this phase, an earlier one of the workload."
    )
    entries: Items | None = Field(default=None, description="Kind of the entry.")

    def plan(self, index: Callable[[str], int]) -> WorkFind:
        """As the plan has it; `index` gives the step of a phase."""
        made: WorkFind = {"kind": "find"}
        if self.root is not None:
            made["root"] = self.root
        if self.tree is not None:
            made["tree"] = self.tree
        if self.named is not None:
            made["name"] = self.named
        if self.exactly is not None:
            made["size_bytes"] = self.exactly
        if self.at_least is not None:
            made["at_least_bytes"] = self.at_least
        if self.at_most is not None:
            made["at_most_bytes"] = self.at_most
        if self.newer_than:
            made["newer_than_step"] = index(self.newer_than)
        if self.entries is not None:
            made["entries"] = self.entries
        return made


_OPERATIONS: Mapping[str, Sequence[Operation]] = {
    "mixed": ("read", "write"),
    "replace": REPLACEMENT,
    "create-dataset": ("write",),
    "train": ("read", "step"),
    "save-checkpoint": ("write", "checkpoint"),
    "restore-checkpoint": ("read", "checkpoint"),
    "kv-cache": ("request", "read", "write", "remove"),
}
"""What the operations of steps do whose verb is not their only operation."""

Body = Phase | Find | Replay | CreateDataset | Train | SaveCheckpoint | RestoreCheckpoint | KvCache
"""What stands at the key of a step that is a timed phase."""


class Work(Part):
    """What is done: exactly one of these keys. Those without a value of their own may stand without a colon."""

    write: Phase | None = Field(
        default=None, description="Write every transfer of the file set, or the bytes of every item of the tree."
    )
    read: Phase | None = Field(
        default=None, description="Read every transfer of the file set, or the bytes of every item of the tree."
    )
    mixed: Mixed | None = Field(default=None, description="Read some transfers of the file set and write the others.")
    create_tree: Phase | None = Field(
        default=None, alias="create-tree", description="Create the directories of the tree."
    )
    create: Phase | None = Field(default=None, description="Create every item of the tree.")
    stat: Phase | None = Field(default=None, description="Read the attributes of every item (`stat`).")
    rename: Phase | None = Field(default=None, description="Rename every item within its directory.")
    replace: Phase | None = Field(
        default=None,
        description="Replace every item as md-workbench does, one of each directory after the other: stat it, read "
        "it, remove it, create another one. Each of the four is an operation with its own measurement.",
    )
    remove: Phase | None = Field(default=None, description="Remove every item.")
    remove_tree: Phase | None = Field(
        default=None, alias="remove-tree", description="Remove the directories of the tree, which are empty."
    )
    find: Find | None = Field(default=None, description="Walk through directories and find what matches.")
    replay: Replay | None = Field(
        default=None, description="Do what a recorded application did: streams of operations, at its pace."
    )
    create_dataset: CreateDataset | None = Field(
        default=None, alias="create-dataset", description="Write the files of a dataset."
    )
    train: Train | None = Field(
        default=None, description="Train with a dataset: data loaders feed accelerators, for some epochs."
    )
    kv_cache: KvCache | None = Field(
        default=None, alias="kv-cache", description="Answer requests of a language model with a key-value cache."
    )
    save_checkpoint: SaveCheckpoint | None = Field(
        default=None, alias="save-checkpoint", description="Save generations of a checkpoint, as training does."
    )
    restore_checkpoint: RestoreCheckpoint | None = Field(
        default=None, alias="restore-checkpoint", description="Restore the last generations of a checkpoint."
    )

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, value: object) -> object:
        if isinstance(value, str):
            return {value: {}}
        if isinstance(value, dict) and len(value) == 1:
            return {key: _body(key, body) for key, body in value.items()}
        raise ValueError("is not one step; write `- write`, `- read`, `- pause: 3s` or `- cold-cache: [fadvise]`")

    # Cached, because a sweep asks each of its 10,000 points several times.
    @cached_property
    def verb(self) -> Verb | None:
        """The key of the timed work; `None` for the other steps."""
        return next((verb for verb in VERBS if getattr(self, verb.replace("-", "_")) is not None), None)

    @cached_property
    def body(self) -> Body:
        """The description of it. Only where there is a verb."""
        assert self.verb is not None
        body: Body = getattr(self, self.verb.replace("-", "_"))
        return body

    @cached_property
    def phase(self) -> Phase | None:
        """The body, where it is work on a file set or tree."""
        return self.body if self.verb and isinstance(self.body, Phase) else None

    @cached_property
    def operations(self) -> list[Operation]:
        """What its operations do: a measurement for each."""
        if self.replay is not None:
            return replays.operations(self.replay.plan())
        if (several := _OPERATIONS.get(self.verb or "")) is not None:
            return [*several]
        return [operation for operation in OPERATIONS if operation == self.verb]


def _body(key: object, body: object) -> object:
    """What may be left out is put in."""
    if key == "mixed" and isinstance(body, str):
        return {"read": body}
    return {} if key in VERBS and body == "" else body


class Together(Part):
    """A phase with several jobs side by side, by name. Each works on a file set or tree with ranks of its own."""

    name: Identifier | None = Field(
        default=None, description="Name of the phase; the jobs then stand under `jobs`. Default: `together`."
    )
    jobs: dict[Identifier, Work] = Field(min_length=1, description="What some ranks do, by the name of the job.")


class Step(Work):
    """One step of a case: exactly one of these keys. Those that need no value may stand without a colon."""

    together: Together | None = Field(
        default=None,
        description="Several jobs at the same time: `together: {checkpoint: {write: {files: a}}, readers: {read: "
        "{files: b}}}`.",
    )
    cold_cache: ColdCache | None = Field(
        default=None,
        alias="cold-cache",
        description="Empty the caches so that the next read reads from storage, then measure what is still in "
        "memory: ways to try, such as `[drop-caches, fadvise]`, or the keys of [cold caches](#cold-caches).",
    )
    pause: Pause | None = Field(
        default=None, description="Wait so that one phase's after-effects do not enter the next one (IOR's `-d`)."
    )

    @property
    def name(self) -> str | None:
        """The name of the timed phase; `None` for the other steps."""
        if self.together is not None:
            return self.together.name or "together"
        return (self.body.name or self.verb) if self.verb else None

    def jobs(self) -> Iterator[tuple[str, Work]]:
        """The jobs of a timed phase with their names. The only one is called as its phase."""
        if self.together is not None:
            yield from self.together.jobs.items()
        elif self.name is not None:
            yield self.name, self
