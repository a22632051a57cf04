"""What a study can say: every option once, with its meaning, unit and default.

The reference page is generated from these classes (`python -m ioassay.studies.reference`). All values arrive as
text, after settings have been filled in (`studies.resolve`), and leave in base units: bytes and nanoseconds.

Not here: where a value was written, what a sweep makes of it (`studies.sweep`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ioassay import units
from ioassay.studies.source import nearest, quoted
from ioassay.units import RateUnit

MOST_CLIENTS = 1 << 20
MOST_REPETITIONS = 1000
LARGEST_TRANSFER_BYTES = 1 << 30
LONGEST_PAUSE_NS = 86_400 * 10**9
SHORTEST_SAMPLE_NS, LONGEST_SAMPLE_NS = 10**6, 3_600 * 10**9


@dataclass(frozen=True)
class Kind:
    """What an option's value is called on the reference page."""

    name: str


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("is not a single value; write one value after the colon")


def _parsed(parse: Callable[[str], object]) -> BeforeValidator:
    return BeforeValidator(lambda value: parse(_text(value)))


def _between(
    parse: Callable[[str], int], lowest: int, highest: int, show: Callable[[int], str] = str
) -> BeforeValidator:
    """`parse`, then refuse what the engine would refuse."""

    def check(text: str) -> int:
        value = parse(text)
        if not lowest <= value <= highest:
            raise ValueError(f"{quoted(text)} is out of range; take {show(lowest)} to {show(highest)}")
        return value

    return _parsed(check)


def _prose(text: str) -> str:
    if not text:
        raise ValueError("is empty; write a text")
    return " ".join(text.split())


def _identifier(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}", text):
        raise ValueError(f"{quoted(text)} is not a name; use 1 to 64 letters, digits, '.', '_' or '-'")
    return text


def _clients(value: object) -> list[int]:
    written = value if isinstance(value, list) else [value]
    counts = [units.parse_count(_text(item)) for item in written]
    if not counts:
        raise ValueError("is empty; name the counts of clients, for example [1, 2, 4]")
    ascending = sorted({count for count in counts if count})
    if not 1 <= min(counts) <= max(counts) <= MOST_CLIENTS:
        raise ValueError(f"has a count out of range; take 1 to {MOST_CLIENTS}")
    if counts != ascending:
        wrong = "names a count twice" if len(ascending) < len(counts) else "is not in ascending order"
        raise ValueError(f"{wrong}; write {ascending}")
    return counts


Prose = Annotated[str, _parsed(_prose), Kind("text")]
Identifier = Annotated[str, _parsed(_identifier), Kind("name")]
Count = Annotated[int, _between(units.parse_count, 1, 1 << 20), Kind("whole number")]
Repetitions = Annotated[int, _between(units.parse_count, 1, MOST_REPETITIONS), Kind("whole number")]
Segments = Annotated[int, _between(units.parse_count, 1, units.LARGEST), Kind("whole number")]
Seed = Annotated[int, _parsed(units.parse_count), Kind("whole number")]
Clients = Annotated[list[int], BeforeValidator(_clients), Kind("list of whole numbers, ascending")]
Size = Annotated[int, _between(units.parse_bytes, 1, units.LARGEST, units.format_bytes), Kind("size")]
Transfer = Annotated[int, _between(units.parse_bytes, 1, LARGEST_TRANSFER_BYTES, units.format_bytes), Kind("size")]
Pause = Annotated[int, _between(units.parse_duration_ns, 0, LONGEST_PAUSE_NS, units.format_duration), Kind("duration")]
SampleInterval = Annotated[
    int,
    _between(units.parse_duration_ns, SHORTEST_SAMPLE_NS, LONGEST_SAMPLE_NS, units.format_duration),
    Kind("duration"),
]
Fsync = Annotated[Literal["at-end", "never"], BeforeValidator(_text)]
Operation = Annotated[Literal["write", "read"], BeforeValidator(_text)]
AnyOperation = Annotated[Literal["write", "read", "all"], BeforeValidator(_text)]
Layout = Annotated[Literal["N-N", "N-1"], BeforeValidator(_text)]
Order = Annotated[Literal["sequential", "random", "random-with-replacement"], BeforeValidator(_text)]
CacheMethod = Annotated[Literal["drop-caches", "fadvise", "read-other-rank"], BeforeValidator(_text)]
Unit = Annotated[RateUnit, BeforeValidator(_text)]


class Part(BaseModel):
    """Common to all parts of a study: a key that no field is called is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Phase(Part):
    """A timed phase of a case. All ranks wait for one another before it and start together."""

    name: Identifier | None = Field(
        default=None, description="Name of the phase, unique in the workload. Default: `write` or `read`."
    )
    order: Order | None = Field(
        default=None, description="Order of this phase's transfers. Default: the workload's order."
    )
    fsync: Fsync | None = Field(
        default=None,
        description="`at-end`: every rank forces its data to stable storage at the end, and the time counts in the "
        "phase (IOR's `-e`). `never`: the data may stay in memory. Default: `at-end` for a write, `never` for a read.",
    )


class Step(Part):
    """One step of a case: exactly one of these keys. `write` and `read` may stand alone, without a colon."""

    write: Phase | None = Field(default=None, description="Write every transfer of the file set: a timed phase.")
    read: Phase | None = Field(default=None, description="Read every transfer of the file set: a timed phase.")
    cold_cache: list[CacheMethod] | None = Field(
        default=None,
        alias="cold-cache",
        min_length=1,
        description="Empty the caches so that the next read reads from storage, then measure what is still in "
        "memory. Ways to try, in order: `drop-caches` (all caches of every node; needs root), `fadvise` (the "
        "files' pages), `read-other-rank` (each rank reads what the next rank wrote, IOR's `-C`).",
    )
    pause: Pause | None = Field(
        default=None, description="Wait so that one phase's after-effects do not enter the next one (IOR's `-d`)."
    )

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, value: object) -> object:
        if isinstance(value, str):
            return {value: {}}
        if isinstance(value, dict) and len(value) == 1:
            return {key: {} if key in ("write", "read") and body == "" else body for key, body in value.items()}
        raise ValueError("is not one step; write `- write`, `- read`, `- pause: 3s` or `- cold-cache: [fadvise]`")

    @model_validator(mode="after")
    def _each_way_once(self) -> Self:
        if self.cold_cache is not None and len(set(self.cold_cache)) < len(self.cold_cache):
            raise ValueError("tries a way of emptying the caches twice; name each once")
        return self

    @property
    def operation(self) -> Literal["write", "read"] | None:
        """What the operations of a timed phase do; `None` for the other steps."""
        return "write" if self.write else "read" if self.read else None

    @property
    def phase(self) -> Phase | None:
        """The timed phase, where this step is one."""
        return self.write or self.read


class Sweep(Part):
    """What the study says for all its workloads, and a workload may say otherwise for itself."""

    clients: Clients = Field(
        description="Counts of client nodes, a case for each. With `--launcher local`, processes of this machine stand "
        "in for them."
    )
    ranks_per_client: Count = Field(default=1, description="Processes that do I/O on each client.")
    repetitions: Repetitions = Field(
        default=1,
        description="How often the whole sweep is done. A sweep ends before the next begins, so that drift of the "
        "system shows as spread.",
    )
    steps: list[Step] = Field(min_length=1, description="What every rank does in each case, in this order.")


class Workload(Sweep):
    """A kind of I/O, swept over clients."""

    title: Prose = Field(description="What tables and figures call it.")
    layout: Layout = Field(
        description="`N-N`: every rank has a file of its own. `N-1`: all ranks share one file, each its own part of it."
    )
    order: Order = Field(
        description="`sequential`: ascending offsets. `random`: each transfer exactly once, shuffled. "
        "`random-with-replacement`: each offset drawn afresh, some twice, some never."
    )
    transfer: Transfer = Field(description="Bytes of one read or write call (IOR's `-t`).")
    total: Size | None = Field(
        default=None, description="Size of all files of a case together, divided evenly among its ranks."
    )
    per_client: Size | None = Field(
        default=None, description="Size of what each client writes, divided evenly among its ranks."
    )
    segments: Segments = Field(
        default=1, description="Into how many segments a file is cut; each holds one block per rank (IOR's `-s`)."
    )

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        if (self.total is None) == (self.per_client is None):
            has = "has no size" if self.total is None else "has two sizes"
            raise ValueError(f"{has}; give either `total` (divided among the clients) or `per_client`")
        return self


class Figure(Part):
    """A figure of the report: a rate against clients."""

    title: Prose = Field(description="Its caption.")
    workloads: list[Identifier] = Field(min_length=1, description="The workloads to draw, a line each.")
    operation: Operation = Field(description="Which phases to draw.")
    unit: Unit = Field(description="Unit of the rate axis.")


class SummaryRow(Part):
    """A row of the report's table of peak and sustained rates."""

    label: Prose = Field(description="What the row is called.")
    workload: Identifier = Field(description="The workload that it sums up.")
    unit: Unit = Field(description="Unit of its rates.")


def _seconds(text: str) -> float:
    return units.parse_duration_ns(text) / 1e9


@dataclass(frozen=True)
class Limit:
    """How the limit of a measure is typed."""

    unit: str
    """Unit of the parsed limit."""
    parse: Callable[[str], float]
    example: str


LIMITS: Mapping[str, Limit] = {
    "failed_phases": Limit("1", units.parse_count, "0"),
    "slowest_operation": Limit("s", _seconds, "2s"),
    "p99_latency": Limit("s", _seconds, "50ms"),
    "rate": Limit("bytes/s", units.parse_rate, "20MB/s"),
    "operations_rate": Limit("operations/s", units.parse_operations_rate, "2kIOPS"),
    "spread_between_repetitions": Limit("1", units.parse_share, "25%"),
}
"""Limits by measure. What the measures mean is said where they are computed: `ioassay.analysis.acceptance`."""


class Criterion(Part):
    """A criterion of acceptance: exactly one of `at_most` and `at_least`, each with its unit."""

    measure: Annotated[str, Kind("measure")] = Field(description="What is looked at: one of the measures below.")
    of: Identifier = Field(default="all", description="A workload, or `all`.")
    operation: AnyOperation = Field(default="all", description="Which phases.")
    at_most: Annotated[float | None, Kind("limit")] = Field(
        default=None, description="Largest value that passes, with its unit."
    )
    at_least: Annotated[float | None, Kind("limit")] = Field(
        default=None, description="Smallest value that passes, with its unit."
    )
    because: Prose = Field(description="Why a healthy system meets it, and what it means when it does not.")

    @model_validator(mode="before")
    @classmethod
    def _limit_in_the_unit_of_the_measure(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "measure" not in value:
            return value
        name = _text(value["measure"])
        limit = LIMITS.get(name)
        if limit is None:
            raise ValueError(f"{quoted(name)} is not a measure; {nearest(name, LIMITS)}")
        limits = {key: _text(value[key]) for key in ("at_most", "at_least") if key in value}
        if len(limits) != 1:
            example = f"at_most: {limit.example}"
            raise ValueError(f"needs exactly one limit; give `at_most` or `at_least`, for example `{example}`")
        return value | {key: float(limit.parse(text)) for key, text in limits.items()}

    @property
    def unit(self) -> str:
        """Unit of the limit."""
        return LIMITS[self.measure].unit


class Study(Sweep):
    """A study, with all settings filled in."""

    name: Identifier = Field(description="Short name, as in `ioassay run NAME`.")
    title: Prose = Field(description="Title of the report.")
    question: Prose = Field(description="The question that the study answers, in a sentence or two.")
    source: Prose | None = Field(default=None, description="Where the method comes from.")
    storage: Identifier = Field(default="posix", description="The storage API that does the I/O.")
    sample_interval: SampleInterval = Field(
        default=10**9, description="Length of a sample of the timeline: each rank's bytes and operations in it."
    )
    seed: Seed = Field(
        default=1, description="Where random choices begin. The same seed gives every case the same I/O again."
    )
    settings: Annotated[Any, Kind("values by name")] = Field(
        default={},
        description="Values with a name, used as `${NAME}` anywhere below, alone or inside a text, and changed with "
        "`--set NAME=VALUE` (a list as `--set clients=1,2,4`). What a value means is decided where it is used.",
    )
    scales: Annotated[Any, Kind("settings by name")] = Field(
        default={},
        description="Other values for some of the settings, under a name, all chosen at once with `--scale NAME`.",
    )
    workloads: dict[Identifier, Workload] = Field(
        min_length=1, description="The workloads by name, in the order in which they run."
    )
    figures: list[Figure] = Field(default=[], description="The figures wanted.")
    summary: list[SummaryRow] = Field(default=[], description="The rows of the peak and sustained table.")
    acceptance: list[Criterion] = Field(
        default=[],
        description="What the system must meet; `ioassay run` exits with 1 where it does not.",
    )
