"""The keys of a file of requirements: the capacity and rates of the storage, and the resources that it may take.

Not: which configurations meet it (`search`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Annotated, Any, Literal, Self

from ioassay.sizing.components import Count, CountOrZero, Scaling
from ioassay.sizing.configuration import Clients
from ioassay.sizing.models import ACCELERATORS, CHECKPOINT_BYTES, accelerators_of
from ioassay.studies.mlperf_storage import MODELS as TRAINED
from ioassay.systems.amounts import (
    BYTES,
    BYTES_PER_S,
    KILOGRAMS,
    NUMBER,
    OPERATIONS_PER_S,
    WATTS,
    Amount,
    Dimension,
    parse_amount,
)
from ioassay.systems.model import Document
from ioassay.text.units import format_count, parse_count, parse_duration_ns
from ioassay.yaml_models import values
from ioassay.yaml_models.model import BeforeValidator, Field, Part, model_validator
from ioassay.yaml_models.source import ProblemAt, nearest, quoted
from ioassay.yaml_models.values import Identifier, Kind, Prose, Size, between, parsed

Condition = Literal["healthy", "rebuilding", "failed_over"]
"""`rebuilding`: a drive of every brick is being rebuilt. `failed_over`: a server of every brick that has several is
down."""


MOST_RACKS = 1000
MOST_YEARS = 100


def _wished(dimension: Dimension, example: str, *, least: float = 1e-9, most: float = math.inf) -> object:
    """A number with its unit, from `least` to `most` in base units."""

    def parse(text: str) -> Amount:
        if text.startswith(("-", "−")):
            raise ValueError(f"{quoted(text)} is negative; write for example {example}")
        amount = parse_amount(text)
        if amount.dimension != dimension:
            raise ValueError(f"{quoted(text)} has the wrong unit; write for example {example}")
        if not least <= amount.base <= most:
            raise ValueError(
                f"{quoted(text)} is too {'low' if amount.base < least else 'high'}; write for example {example}"
            )
        return amount

    return parsed(parse)


def _seconds(text: str) -> float:
    seconds = parse_duration_ns(text) / 1e9
    if seconds == 0:
        raise ValueError(f"{quoted(text)} is no time; write for example 10min")
    return seconds


def _name_or_word(text: str) -> str:
    if text.lower() in ("", "null", "~"):
        raise ValueError('is empty; write a name, a word of several names, or "*" for all')
    if not re.fullmatch(r"[A-Za-z0-9_*][A-Za-z0-9._*-]{0,63}", text):
        raise ValueError(f"{quoted(text)} is not a name; use 1 to 64 letters, digits, '.', '_', '-' or '*'")
    return text


def _known(names: Collection[str], what: str) -> object:
    def check(text: str) -> str:
        if text not in names:
            raise ValueError(f"{quoted(text)} is not a known {what}; {nearest(text, names)}")
        return text

    return parsed(check)


def _as_list(value: object) -> object:
    """A single name stands for a list of it."""
    return [value] if isinstance(value, str) else value


Bytes = Annotated[Amount, _wished(BYTES, "2PiB or 2PB"), Kind("`2PiB`, `2PB`")]
BytesPerS = Annotated[Amount, _wished(BYTES_PER_S, "36GB/s"), Kind("`36GB/s`")]
OperationsPerS = Annotated[Amount, _wished(OPERATIONS_PER_S, "50 kIOPS"), Kind("`50 kIOPS`, `20K ops/s`")]
SharePerYear = Annotated[Amount, _wished(NUMBER, "30%", least=0, most=10), Kind("`30%`")]
ShareOfAll = Annotated[Amount, _wished(NUMBER, "80%", most=1), Kind("`80%`")]
ShareOfWork = Annotated[Amount, _wished(NUMBER, "80%", least=0, most=1), Kind("`80%`")]
Watts = Annotated[Amount, _wished(WATTS, "20kW"), Kind("`20kW`")]
Kilograms = Annotated[Amount, _wished(KILOGRAMS, "900kg"), Kind("`900kg`")]
Money = Annotated[Amount, _wished(NUMBER, "1200000"), Kind("number")]
Seconds = Annotated[float, parsed(_seconds), Kind("duration")]
Years = Annotated[int, between(parse_count, 1, MOST_YEARS), Kind("whole number")]
NameOrWord = Annotated[str, parsed(_name_or_word), Kind('`ddn-ai400x3`, `ddn`, `"ddn-*"`')]
TrainedModelName = Annotated[str, _known(TRAINED, "model"), Kind(", ".join(f"`{name}`" for name in TRAINED))]
CheckpointedModelName = Annotated[
    str, _known(CHECKPOINT_BYTES, "model"), Kind(", ".join(f"`{name}`" for name in CHECKPOINT_BYTES))
]
AcceleratorName = Annotated[
    str, _known(ACCELERATORS, "accelerator"), Kind(", ".join(f"`{name}`" for name in ACCELERATORS))
]
Utilisation = Annotated[Amount, _wished(NUMBER, "90%", most=1), Kind("`90%`")]
Names = Annotated[list[NameOrWord], BeforeValidator(_as_list)]
"""Components by name (`ddn-ai400x3`), by a word of their names (`ddn`), or by a pattern (`"ddn-*"`)."""
Racks = Annotated[int, between(parse_count, 1, MOST_RACKS), Kind("whole number")]


class Growth(Part):
    """How data grow."""

    per_year: SharePerYear = Field(description="What is added in a year, of what there is then: `30%`.")
    years: Years = Field(description="How long the storage must hold them without an extension.")


class Accelerators(Part):
    """Accelerators (GPUs) that must not wait for data: with what each reads, or the model that they train."""

    count: values.Count = Field(description="How many.")
    read_each: BytesPerS | None = Field(default=None, description="What each of them reads.")
    model: TrainedModelName | None = Field(
        default=None,
        description="In place of `read_each`: the model that they train. What each reads follows from its batch, its "
        "samples and the computation of a batch.",
    )
    accelerator: AcceleratorName | None = Field(
        default=None, description="With `model`: what they are. Default: `h100`, of `retinanet` `b200`."
    )
    utilisation: Utilisation | None = Field(
        default=None,
        description="With `model`: how busy they must be kept. Default: as MLPerf Storage asks, 90 % of `unet3d` and "
        "`resnet50`.",
    )

    @model_validator(mode="after")
    def _reads_by_rate_or_model(self) -> Self:
        if (self.read_each is None) == (self.model is None):
            raise ValueError(
                "needs exactly one of `read_each` and `model`; write for example `read_each: 1.2GB/s` or "
                "`model: unet3d`"
            )
        for key in ("accelerator", "utilisation"):
            if self.model is None and getattr(self, key) is not None:
                raise ProblemAt([key], "goes with `model`; leave it out beside `read_each`")
        if self.model is not None and self.accelerator not in (None, *(known := accelerators_of(self.model))):
            wrong = f"the computation of {self.model} on {self.accelerator} is not known; use {' or '.join(known)}"
            raise ProblemAt(["accelerator"], f"{wrong}, or `read_each`")
        return self


class Checkpoint(Part):
    """A job's state, written as a whole."""

    size: Bytes = Field(description="Its size: of all nodes together, often their memory. `model` stands in for it.")
    model: CheckpointedModelName | None = Field(
        default=None,
        description="In place of `size`: the language model whose parameters and optimizer state it has, 14 bytes for "
        "each parameter.",
    )
    longest: Seconds = Field(description="How long the writing may take.")
    kept: Count = Field(default=1, description="How many are kept at a time.")
    every: Seconds | None = Field(default=None, description="From the beginning of one to that of the next.")
    drained_in: Seconds | None = Field(
        default=None,
        description="With `tiers`: how long it may take to move one down to the next tier. Without it that is done "
        "before the next one begins: `every` less `longest`.",
    )
    failures_every: Seconds | None = Field(
        default=None,
        description="Mean time between failures of the machine that writes it, such as `24h`: how often to write one "
        "follows from it.",
    )

    @model_validator(mode="before")
    @classmethod
    def _size_of_the_model(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not isinstance(model := value.get("model"), str):
            return value
        if "size" in value:
            raise ValueError("has `size` and `model`; leave one out")
        # An unknown model is refused as such, not for want of a size.
        return value | {"size": f"{CHECKPOINT_BYTES.get(model, 10**12) / 1e9:.1f}GB"}

    @model_validator(mode="after")
    def _is_written_before_the_next(self) -> Self:
        if self.every is not None and self.every <= self.longest:
            raise ProblemAt(["every"], "begins before the last one is written; make `every` longer than `longest`")
        return self


_TAKES = "Share of the required {} that it takes; the last tier that does not say takes the rest."


class Tier(Part):
    """A part of the storage with bricks of its own, such as flash before disk."""

    media: Literal["flash", "disk"] | None = Field(
        default=None, description="Only bricks of such drives: `flash` (SSD and NVMe) or `disk`."
    )
    bricks: Names = Field(
        default=[], description="Only these bricks, named as there; without it those of the requirements."
    )
    metadata: Names = Field(default=[], description="Only these metadata modules, likewise.")
    usable: ShareOfWork | None = Field(default=None, description=_TAKES.format("capacity"))
    write: ShareOfWork | None = Field(default=None, description=_TAKES.format("sequential writes"))
    read: ShareOfWork | None = Field(default=None, description=_TAKES.format("sequential reads"))
    random_write: ShareOfWork | None = Field(default=None, description=_TAKES.format("random writes"))
    random_read: ShareOfWork | None = Field(default=None, description=_TAKES.format("random reads"))
    create: ShareOfWork | None = Field(default=None, description=_TAKES.format("creations of files"))
    stat: ShareOfWork | None = Field(default=None, description=_TAKES.format("queries of attributes"))
    read_files: ShareOfWork | None = Field(default=None, description=_TAKES.format("reads of empty files"))
    remove: ShareOfWork | None = Field(default=None, description=_TAKES.format("removals of files"))
    checkpoints: CountOrZero | None = Field(
        default=None,
        description="How many checkpoints it holds. The first tier that holds any takes their writes. Without it the "
        "last tier holds those that are `kept`, and each other one a single one.",
    )
    drain: BytesPerS | None = Field(
        default=None, description="What moves from it down to the next tier, besides checkpoints."
    )
    stage_in: BytesPerS | None = Field(default=None, description="What moves up into it from the next tier.")


class Survives(Part):
    """The parts that may fail without loss of data or service."""

    drives: CountOrZero = Field(default=1, description="Drives of a group at a time.")
    servers: CountOrZero = Field(default=0, description="Servers of a brick at a time.")
    enclosures: CountOrZero = Field(default=0, description="Enclosures of a brick at a time.")


class Limits(Part):
    """The resources that the storage may take."""

    racks: Racks | None = Field(default=None, description="Racks.")
    rack: Identifier = Field(default="rack-42u", description="Which, by name in the catalogue.")
    power: Watts | None = Field(default=None, description="Electrical power.")
    weight_per_rack: Kilograms | None = Field(default=None, description="Weight of a rack with all that is in it.")
    budget: Money | None = Field(default=None, description="Money, in `currency`.")
    currency: Identifier | None = Field(default=None, description="Of the budget, and which prices count.")


class Requirements(Part):
    """The capacity and rates that the storage must have."""

    name: Identifier = Field(description="What they are called.")
    title: Prose | None = Field(default=None, description="What it is for.")
    catalogues: list[Prose] = Field(
        default=[], description="Your own catalogues besides the built-in one: paths relative to this file."
    )
    sources: dict[Identifier, Document] = Field(default={}, description="Where figures are printed, under short names.")
    usable: Bytes | None = Field(default=None, description="What `df` must show, at the beginning.")
    growth: Growth | None = Field(default=None, description="How that grows.")
    fill: ShareOfAll | None = Field(default=None, description="How full it may become at most, such as `80%`.")
    write: BytesPerS | None = Field(default=None, description="Sequential writes.")
    read: BytesPerS | None = Field(default=None, description="Sequential reads.")
    random_write: OperationsPerS | None = Field(default=None, description="Random writes of 4 KiB.")
    random_read: OperationsPerS | None = Field(default=None, description="Random reads of 4 KiB.")
    create: OperationsPerS | None = Field(default=None, description="Creations of files.")
    stat: OperationsPerS | None = Field(default=None, description="Queries of attributes.")
    read_files: OperationsPerS | None = Field(default=None, description="Opening, reading and closing of empty files.")
    remove: OperationsPerS | None = Field(default=None, description="Removals of files.")
    accelerators: Accelerators | None = Field(default=None, description="Accelerators to be fed.")
    checkpoint: Checkpoint | None = Field(default=None, description="A checkpoint.")
    survives: Survives = Field(default=Survives(), description="What may fail.")
    rates_hold: Condition = Field(default="healthy", description="In which condition the rates must hold.")
    clients: Clients | None = Field(default=None, description="The clients, whose links are a limit too.")
    request: Size | None = Field(
        default=None, description="Bytes of a write as RAID gets it; without it writes are full stripes."
    )
    limits: Limits = Field(default=Limits(), description="What it may take.")
    bricks: Names = Field(
        default=[],
        description='Only these bricks: names (`ddn-ai400x3`), words of names (`ddn`), or patterns (`"ddn-*"`, `"*"`).',
    )
    metadata: Names = Field(default=[], description="Only these metadata modules, likewise.")
    switches: Names = Field(default=[], description="Only these switches, likewise.")
    kinds: Count = Field(default=1, description="How many kinds of data bricks may be mixed.")
    scaling: Scaling | None = Field(
        default=None, description="What several bricks do together, where their catalogue does not say it."
    )

    tiers: dict[Identifier, Tier] = Field(
        default={},
        description="Parts of the storage that share the work, the fastest first. They have one budget, one set of "
        "racks and one network; each is a storage system by itself.",
    )

    @property
    def checkpoints_held(self) -> dict[str, int]:
        """How many checkpoints each tier holds."""
        if self.checkpoint is None or not self.tiers:
            return {}
        *upper, last = self.tiers
        usual = {**dict.fromkeys(upper, 1), last: self.checkpoint.kept}
        tier_checkpoints = {name: tier.checkpoints for name, tier in self.tiers.items()}
        return {name: usual[name] if number is None else number for name, number in tier_checkpoints.items()}

    @property
    def checkpoint_tier(self) -> str | None:
        """The tier that checkpoints are written to."""
        return next((name for name, held in self.checkpoints_held.items() if held), None)

    @model_validator(mode="before")
    @classmethod
    def _accelerators_read_something(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(count := value.get("accelerators"), str):
            each = " or ".join(f"{{count: {count or 64}, {how}}}" for how in ("model: unet3d", "read_each: 1.2GB/s"))
            raise ProblemAt(["accelerators"], f"is a number alone; add what each reads: {each}")
        return value

    @model_validator(mode="after")
    def _requires_something(self) -> Self:
        wanted = (self.usable, self.write, self.read, self.random_write, self.random_read, self.accelerators)
        if not any((*wanted, self.checkpoint, self.create, self.stat, self.read_files, self.remove)):
            raise ValueError("requires nothing; add what the storage must hold or do, such as `usable: 2PiB`")
        if self.growth is not None and self.usable is None:
            raise ProblemAt(["growth"], "grows from nothing; add `usable`")
        if "tiers" in self.model_fields_set:
            _refuse_contradicting_tiers(self)
        elif self.checkpoint is not None and self.checkpoint.drained_in is not None:
            message = "there are no `tiers` to drain a checkpoint to; add them, or leave out `drained_in`"
            raise ProblemAt(["checkpoint", "drained_in"], message)
        if self.limits.budget is not None and self.limits.currency is None:
            raise ProblemAt(["limits", "budget"], "has no currency; add `currency` to `limits`")
        return self


_WORK = {
    "usable": "capacity",
    "write": "writes",
    "read": "reads",
    "random_write": "random writes",
    "random_read": "random reads",
    "create": "creations of files",
    "stat": "queries of attributes",
    "read_files": "reads of empty files",
    "remove": "removals of files",
}
"""The amounts that tiers share, as keys of requirements and of a tier, with their nouns."""

_MOST_TIERS = 5


def _refuse_contradicting_tiers(wishes: Requirements) -> None:
    """Raises `ProblemAt` where tiers take more or less than there is, or cannot drain in time."""
    tiers = wishes.tiers
    if not 2 <= len(tiers) <= _MOST_TIERS:
        has = f"has {format_count(len(tiers), 'tier')}" if tiers else "is empty"
        raise ProblemAt(["tiers"], f"{has}; write 2 to {_MOST_TIERS} tiers, or leave out `tiers`")
    if wishes.metadata:
        raise ProblemAt(["metadata"], "stands beside `tiers`; name metadata modules in the tiers that have them")
    for kind, noun in _WORK.items():
        _refuse_wrong_shares(wishes, kind, noun)
    last = list(tiers)[-1]
    for key in ("drain", "stage_in"):
        if getattr(tiers[last], key) is not None:
            message = f"{last} is the last tier, with none below it to move data to or from; write it in the tier above"
            raise ProblemAt(["tiers", last, key], message)
    if wishes.checkpoint is None:
        for name, tier in tiers.items():
            if tier.checkpoints:
                message = "there is no `checkpoint` that says how large one is; add that"
                raise ProblemAt(["tiers", name, "checkpoints"], message)
        return
    held = wishes.checkpoints_held
    if held[last] < (kept := wishes.checkpoint.kept):
        message = f"is less than the {format_count(kept, 'checkpoint')} `kept`; the last tier holds all"
        raise ProblemAt(["tiers", last, "checkpoints"], message)
    taking = wishes.checkpoint_tier
    if taking is not None and taking != last:
        _refuse_undrained(wishes.checkpoint, taking, held[taking])


def _refuse_wrong_shares(wishes: Requirements, kind: str, noun: str) -> None:
    shares: dict[str, Amount | None] = {name: getattr(tier, kind) for name, tier in wishes.tiers.items()}
    given_shares = {name: share for name, share in shares.items() if share is not None}
    if not given_shares:
        return
    first, last = next(iter(given_shares)), list(given_shares)[-1]
    if getattr(wishes, kind) is None and (kind != "read" or wishes.accelerators is None):
        raise ProblemAt(["tiers", first, kind], f"is a share of `{kind}`, which is not required; add `{kind}`")
    whole = sum(share.exact.nominal for share in given_shares.values())
    together = " + ".join(share.text for share in given_shares.values())
    if whole > 1 and kind != "usable":  # data may be held twice
        message = f"tiers take more than all of the {noun}: {together}; write 100% at most together"
        raise ProblemAt(["tiers", last, kind], message)
    if whole < 1 and len(given_shares) == len(shares):
        message = f"tiers take less than all of the {noun}: {together}; leave one out to take the rest"
        raise ProblemAt(["tiers", last, kind], message)


def _refuse_undrained(checkpoint: Checkpoint, tier: str, held: int) -> None:
    every, longest, drained_in = checkpoint.every, checkpoint.longest, checkpoint.drained_in
    if every is None and drained_in is None:
        message = f"does not say how fast checkpoints drain from {tier}; add `every` or `drained_in`"
        raise ProblemAt(["checkpoint"], message)
    if every is None or drained_in is None:
        return
    if drained_in > every:
        message = "checkpoints drain more slowly than they come; make `drained_in` at most `every`"
        raise ProblemAt(["checkpoint", "drained_in"], message)
    if drained_in > every - longest and held < 2:
        raise ProblemAt(
            ["checkpoint", "drained_in"],
            f"a checkpoint still drains from {tier} when the next one needs its place; make it at most `every` less "
            f"`longest`, or hold 2 `checkpoints` in {tier}",
        )
