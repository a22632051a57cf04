"""The keys of a file about a system: each once, with its meaning. Not: whether its claims follow (`claims`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from ioassay.protocol.facts import Operation
from ioassay.systems.amounts import Amount, parse_amount
from ioassay.yaml_models.model import BeforeValidator, Field, Part, model_validator
from ioassay.yaml_models.source import quoted
from ioassay.yaml_models.values import Count, Identifier, Kind, Prose, Size, parsed

FigureOperation = Literal[
    Operation, "write-and-read", "to-servers", "to-clients", "stated-bandwidth", "score", "capacity", "usable", "price"
]

Qualifier = Literal["exact", "about", "almost", "up-to", "at-least"]

Rule = Literal[
    "same",
    "ratio",
    "percent-better",
    "percent-less",
    "product",
    "sum",
    "mean",
    "geometric-mean",
    "greater",
    "similar",
]

OPERANDS: dict[Rule, int | None] = {
    "same": 1,
    "ratio": 2,
    "percent-better": 2,
    "percent-less": 2,
    "product": None,
    "sum": None,
    "mean": None,
    "geometric-mean": None,
    "greater": 2,
    "similar": 2,
}
"""How many operands each rule takes; `None`: two or more."""

_ORDERS = ("sequential", "random")
"""The words at the beginning of a test's name that state the order of its transfers."""

_IN_WORDS: tuple[Rule, ...] = ("greater", "similar")
"""The rules for claims that say no number."""


@dataclass(frozen=True)
class Place:
    """Where something is printed: a source of the file, and lines of its text."""

    source: str
    lines: tuple[int, ...]

    def __str__(self) -> str:
        """`paper:12, 40-42`."""
        runs: list[tuple[int, int]] = []
        for line in self.lines:
            if runs and line == runs[-1][1] + 1:
                runs[-1] = (runs[-1][0], line)
            else:
                runs.append((line, line))
        shown = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
        return self.source + (":" if shown else "") + ", ".join(shown)


_LINES = r"[0-9]{1,5}(?:-[0-9]{1,5})?"


def _place(text: str) -> Place:
    match = re.fullmatch(rf"([A-Za-z0-9_.-]+)(?::({_LINES}(?:, ?{_LINES}){{0,50}}))?", text)
    if match is None:
        raise ValueError(
            f"{quoted(text)} is not a place; write the source and, if it has them, lines: paper:12 or paper:12,40-42"
        )
    lines: list[int] = []
    for first, last in re.findall(r"([0-9]+)(?:-([0-9]+))?", match[2] or ""):
        if int(last or first) < int(first):
            raise ValueError(f"{quoted(text)} goes backwards; write {last}-{first}")
        lines += range(int(first), int(last or first) + 1)
    return Place(match[1], tuple(lines))


@dataclass(frozen=True)
class Reference:
    """An operand that is a figure."""

    system: str | None
    """`None`: of the file that says so."""
    figure: str

    def __str__(self) -> str:
        return f"{self.system}/{self.figure}" if self.system else self.figure


@dataclass(frozen=True)
class StatedOperand:
    """An operand that is a count, or a size that is so by definition, and nothing measured."""

    amount: Amount
    at: Place | None


Operand = Reference | StatedOperand


def _operand(text: str) -> Operand:
    printed, separator, place = text.partition(" @ ")
    if separator or text[:1].isdigit():
        return StatedOperand(parse_amount(printed), _place(place) if separator else None)
    match = re.fullmatch(r"(?:([A-Za-z0-9_.-]+)/)?([A-Za-z0-9_.-]+)", text)
    if match is None:
        raise ValueError(
            f"{quoted(text)} is not an operand; write FIGURE, SYSTEM/FIGURE, or a number with its place: 60 @ paper:7"
        )
    return Reference(match[1], match[2])


def _points(value: object) -> object:
    if not isinstance(value, list) or not value:
        raise ValueError("is not a list of operands; write [a, b], or [[a, b], [c, d]] for several points")
    points = [value] if all(isinstance(item, str) for item in value) else value
    if not all(isinstance(point, list) and all(isinstance(item, str) for item in point) for point in points):
        raise ValueError("mixes operands and points; write [a, b], or [[a, b], [c, d]] for several points")
    return [[_operand(item) for item in point] for point in points]


At = Annotated[Place, parsed(_place), Kind("place")]
Points = Annotated[list[list[Operand]], BeforeValidator(_points), Kind("operands, or a list of them for each point")]


class Document(Part):
    """Where figures were published."""

    title: Prose = Field(description="What it is called.")
    publisher: Prose | None = Field(default=None, description="Who published it.")
    authors: Prose | None = Field(default=None, description="Who wrote it.")
    date: Prose | None = Field(default=None, description="When, as printed.")
    file: Prose | None = Field(default=None, description="The file of its text, whose lines places name.")
    sha256: Prose | None = Field(default=None, description="The SHA-256 of that file.")
    url: Prose | None = Field(default=None, description="Where it is published.")

    @property
    def where(self) -> str:
        """The place where it can be read: its file, else its URL, else its title."""
        return self.file or self.url or self.title


class Setting(Part):
    """A fact of hardware or a setting."""

    what: Prose = Field(description="What it is of, such as `processor`.")
    value: Prose = Field(description="What it is. Its numbers are as printed.")
    at: At = Field(description="Where it is printed.")


class Figure(Part):
    """A printed number that says how fast or how large the system is."""

    id: Identifier = Field(description="What claims call it. Unique in the file.")
    configuration: Prose | None = Field(default=None, description="Of what, where the system has several.")
    test: Prose = Field(description="What was measured, such as `sequential N-N`.")
    tool: Prose | None = Field(default=None, description="With what: `IOR`, `IOzone`, `mdtest`, `iperf`, ….")
    operation: FigureOperation = Field(
        description="What the operations did. Of a network `to-servers` or `to-clients`; `stated-bandwidth` is what a "
        "datasheet says, `capacity` before and `usable` after redundancy, `price` relative to another's."
    )
    layout: Literal["N-N", "N-1", "N-M", "unique", "shared", "shared-items"] | None = Field(
        default=None, description="Own files, one shared file, or one for each group; of a tree, who shares it."
    )
    order: Identifier | None = Field(
        default=None,
        description="`sequential`, `random`, or what else runs call it. Without it, what `test` begins with, if that "
        "is one of the two.",
    )
    transfer: Size | None = Field(default=None, description="Bytes of one call.")
    total: Size | None = Field(default=None, description="Bytes of all files together.")
    files: Count | None = Field(default=None, description="Files of all clients together, where it is stated.")
    clients: Count | None = Field(default=None, description="Client nodes, where it is stated.")
    threads: Count | None = Field(default=None, description="Threads or processes of all clients, where it is stated.")
    value: Prose = Field(description="The number and its unit as printed: `12.4 GB/s`, `140K`.")
    unit: Prose | None = Field(
        default=None,
        description="What the text says of the unit elsewhere: `IOPS` for `140K`; `PiB` for `1PB` counted in 1024s.",
    )
    low: Prose | None = Field(
        default=None, description="Of a prediction: the least that it may be, written like `value`, with `high`."
    )
    high: Prose | None = Field(default=None, description="Of a prediction: the most that it may be.")
    qualifier: Qualifier = Field(default="exact", description="How the text qualifies it.")
    level: Literal["peak", "sustained"] | None = Field(default=None, description="Whether it is a peak, or held.")
    at: At = Field(description="Where it is printed.")
    note: Prose | None = Field(default=None, description="What else a reader must know.")

    @property
    def amount(self) -> Amount:
        """The value in its unit."""
        return parse_amount(self.value, self.unit)

    @property
    def band(self) -> tuple[Amount, Amount] | None:
        """The least and the most that a prediction allows; `None` where only the value is known."""
        if self.low is None or self.high is None:
            return None
        return parse_amount(self.low, self.unit), parse_amount(self.high, self.unit)

    @property
    def told_order(self) -> str | None:
        """The order of its transfers: as it is given, else as the name of the test tells it."""
        return self.order or next((order for order in _ORDERS if self.test.lower().startswith(order)), None)

    @model_validator(mode="after")
    def _has_a_value(self) -> Self:
        value = self.amount
        if (self.low is None) != (self.high is None):
            raise ValueError("has one end of a band; give both `low` and `high`, or neither")
        if self.band is not None:
            if any(end.dimension != value.dimension for end in self.band):
                raise ValueError(f"has `low` or `high` in another unit than its value, {quoted(value.text)}")
            low, high = (end.exact.nominal for end in self.band)
            if not low <= value.exact.nominal <= high:
                raise ValueError(f"has its value, {quoted(value.text)}, outside of `low` to `high`")
        return self


class Claim(Part):
    """A statement that the text derives, or that should agree, and how to recompute it."""

    id: Identifier = Field(description="What it is about. Unique in the file.")
    says: Prose = Field(description="What is claimed, as printed: `7x`, `251%`, `36 GB/s`, `similar`.")
    unit: Prose | None = Field(default=None, description="As in a figure.")
    at: At = Field(description="Where it is printed.")
    qualifier: Qualifier = Field(default="exact", description="How the text qualifies it.")
    how: Rule | None = Field(default=None, description="How it is recomputed from `of`.")
    of: Points = Field(
        default=[],
        description="What from: `FIGURE`, `SYSTEM/FIGURE`, or a count with its place, `60 @ paper:7`. With several "
        "points `up-to` is about the largest of them, and everything else about each.",
    )
    cannot: Prose | None = Field(default=None, description="In place of `how` and `of`: why not, as a sentence.")
    note: Prose | None = Field(default=None, description="What else a reader must know.")

    @property
    def claimed(self) -> Amount | None:
        """The claimed amount; `None` for claims in words, `greater` and `similar`."""
        return None if self.how in (None, *_IN_WORDS) else parse_amount(self.says, self.unit)

    @model_validator(mode="after")
    def _can_be_recomputed_or_says_why_not(self) -> Self:
        if (self.cannot is None) == (self.how is None) or (self.how is None) != (not self.of):
            raise ValueError("is to be recomputed or not; give `how` and `of`, or `cannot`")
        if self.how is None:
            return self
        if self.how not in _IN_WORDS:
            parse_amount(self.says, self.unit)
        wanted = OPERANDS[self.how]
        for point in self.of:
            if len(point) != wanted if wanted else len(point) < 2:
                raise ValueError(f"has {len(point)} operands; `{self.how}` takes {wanted or 'two or more'}")
        return self


class System(Part):
    """A storage system, and what was published of it."""

    name: Identifier = Field(description="What it is called.")
    title: Prose = Field(description="What it is, in a line.")
    sources: dict[Identifier, Document] = Field(min_length=1, description="Where it was published, under short names.")
    test_bed: Identifier | None = Field(
        default=None, description="The built-in system whose clients, network and benchmark settings were these too."
    )
    predicts: Identifier | None = Field(
        default=None,
        description="The study whose results the figures predict, as `ioassay size predict --save` writes it. Without "
        "it they were published.",
    )
    settings: dict[Identifier, list[Setting]] = Field(
        default={}, description="Hardware and settings, in groups such as `storage`, `clients`, `network`, `tuning`."
    )
    figures: list[Figure] = Field(default=[], description="What was measured or stated.")
    claims: list[Claim] = Field(default=[], description="What was derived from figures.")

    def figure(self, id: str) -> Figure | None:
        """The figure of that id."""
        return next((figure for figure in self.figures if figure.id == id), None)
