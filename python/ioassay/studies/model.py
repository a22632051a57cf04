"""What a study can say: every option once, with its meaning, unit and default.

The reference page is generated from these classes and those of `studies.files` and `studies.steps`
(`python -m ioassay.studies.reference`). All values arrive as text, after settings have been filled in
(`studies.resolve`), and leave in base units: bytes and nanoseconds.

Not here: where a value was written, what a sweep makes of it (`studies.sweep`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from ioassay.store.point_types import AxisName
from ioassay.studies.checkpoint import Checkpoint
from ioassay.studies.files import FileSet, Tree
from ioassay.studies.mlperf_storage import ModelName
from ioassay.studies.repetitions import Repetitions
from ioassay.studies.replay import Replays
from ioassay.studies.steps import Step
from ioassay.studies.storage import Storage
from ioassay.studies.train import Dataset
from ioassay.studies.values import (
    AnyOperation,
    Clients,
    KindOfTarget,
    OperationOrAll,
    OrderOfCases,
    Repeated,
    SampleInterval,
    Scores,
    Searched,
    Seed,
    Swept,
    TimeLimit,
    Unit,
    utilisation,
)
from ioassay.text import units
from ioassay.yaml_models.model import Field, Part, model_validator
from ioassay.yaml_models.source import nearest, quoted
from ioassay.yaml_models.values import Identifier, Kind, Prose, text_of

SEARCH_REPETITIONS = 5
"""Most repetitions of a value that a search measures, where the study gives no number."""

_STEPS = "What every rank does in each case, in this order."


class Sweep(Part):
    """What the study says for all its workloads, and a workload may say otherwise for itself."""

    clients: Clients = Field(
        description="Numbers of client nodes, a case for each. With `--launcher local`, processes of this machine "
        "stand in for them."
    )
    ranks_per_client: Swept = Field(
        default=[1], description="Processes that do I/O on each client. A list is swept: a case for each."
    )
    sweep: Annotated[dict[AxisName, Any], Kind("lists of values by key")] = Field(
        default={},
        description="Other keys to sweep: of the workload, of its storage, or of a part of either by a path such as "
        "`tree.depth`, `files.data.transfer`, `steps.write.fsync`. `{transfer: [4k, 1m], depth: [1, 32]}` is a case "
        "for each combination.",
    )
    storage: Storage = Field(
        default=Storage(),
        description="The storage API that does the I/O: its name, or the keys of a [storage API](#storage-api). In a "
        "workload: only what differs from the study; if it sets an `api`, nothing is taken from the study.",
    )
    search: Searched = Field(
        default="none",
        description="`accelerators`: measure only as many values of `ranks_per_client` as it takes to find the largest "
        "with which storage feeds all accelerators of the steps `train`, by bisection, each time with fresh cases. The "
        "values on both sides of the limit are repeated at least 3 times and until the 95 % confidence interval of "
        "their utilisation is on one side of the goal, or as often as `repetitions` allows (default then: 5). Each "
        "other point of the sweep has a search of its own.",
    )
    repetitions: Repeated = Field(
        default=Repetitions(),
        description="How often the whole sweep runs. A sweep ends before the next begins, so that drift of the "
        "system shows as spread. With `until`, each point of the sweep is repeated at least 3 times, and until the "
        "half-width of the 95 % confidence interval of each of its medians is at most this share of the median. "
        "`--set repetitions=3` (`-i 3` of IOR) holds for all workloads of any study.",
    )
    time_limit: TimeLimit | None = Field(
        default=None,
        description="Time limit of a step. A step that exceeds it is considered hung: the run is ended, and reports "
        "which rank is in which call on which file. Default: no limit.",
    )
    steps: list[Step] = Field(min_length=1, description=_STEPS)


class Workload(Sweep):
    """A kind of I/O, swept over clients, ranks of a client, groups that share files, and any other key."""

    title: Prose = Field(
        description="Title in tables and figures. `{transfer}` in it stands for the transfer size of its file set, "
        "whatever a study that extends this one makes of it."
    )
    files: dict[Identifier, FileSet] = Field(
        default={},
        description="File sets by name. A workload with a single one has the keys of a [file set](#file-set) itself.",
    )
    trees: dict[Identifier, Tree] = Field(
        default={}, description="Trees by name. A workload with a single one may write `tree:` instead."
    )
    datasets: dict[Identifier, Dataset] = Field(default={}, description="Datasets for training, by name.")
    checkpoints: dict[Identifier, Checkpoint] = Field(
        default={}, description="Checkpoints of models in training, by name."
    )
    mlperf_storage: ModelName | None = Field(
        default=None,
        description="Model of MLPerf Storage that is trained: whether its rules would make a result invalid, open or "
        "closed, and why, stands above everything else before I/O begins.",
    )

    @model_validator(mode="after")
    def _something_to_work_on(self) -> Self:
        names = [*self.files, *self.trees, *self.datasets, *self.checkpoints]
        if both := {name for name in names if names.count(name) > 1}:
            kinds = (
                "a file set and a tree"
                if both <= self.files.keys() & self.trees.keys()
                else "a dataset or checkpoint and other files"
            )
            raise ValueError(f"has {kinds} both called `{min(both)}`; give each its own name")
        if sum(len(files.groups or []) > 1 for files in self.files.values()) > 1:
            raise ValueError("sweeps the groups of two file sets; sweep only one of them")
        return self

    @model_validator(mode="before")
    @classmethod
    def _repetitions_of_a_search(cls, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("search", "none") == "none":
            return value
        if str(value.get("repetitions", "")).startswith("until"):
            raise ValueError(
                "has `search` and `repetitions: until`; write a number of repetitions, such as 5: the search repeats "
                "what is near the limit"
            )
        return {"repetitions": str(SEARCH_REPETITIONS), **value}

    @model_validator(mode="after")
    def _verify_what_differs_by_position(self) -> Self:
        """What is to be verified must not be the same in each transfer: data that moved would pass. Objects of a cache
        are as different as what they stand for.
        """
        works = [work for step in self.steps for _, work in step.jobs()]
        if any((work.phase is not None and work.phase.verify) or work.kv_cache is not None for work in works):
            for name, files in self.files.items():
                if "payload" not in files.model_fields_set:
                    self.files[name] = files.model_copy(update={"payload": "unique"})
        return self


class Figure(Part):
    """A figure of the report: a rate against an axis of the sweep, a line for each value of the other axes."""

    title: Prose = Field(description="Its caption.")
    workloads: list[Identifier] = Field(min_length=1, description="The workloads to draw, a line each.")
    operation: AnyOperation = Field(description="Which operations to draw.")
    phase: Identifier | None = Field(
        default=None, description="Only the phase of this name. Default: every phase with that operation, a line each."
    )
    unit: Unit = Field(description="Unit of the rate axis; a report takes the size of it that fits the rates.")
    against: Annotated[AxisName | None, Kind("name of an axis")] = Field(
        default=None,
        description="The axis of the figure: `clients`, `ranks`, or a key that the workloads sweep. Default: "
        "clients, or ranks if only these are swept, or else the first key of `sweep`.",
    )


class SummaryRow(Part):
    """A row of the report's table of peak and sustained rates."""

    label: Prose | None = Field(
        default=None,
        description="Label of the row, in which `{transfer}` may stand as in a title. Default: the workload's title.",
    )
    workload: Identifier = Field(description="The workload that the row summarises.")
    unit: Unit = Field(description="Unit of its rates; a report takes the size of it that fits them.")


class SurveyTable(Part):
    """A table of the report: rates by files and ranks, as obdfilter-survey prints them, with the saturation point."""

    title: Prose = Field(description="Its caption.")
    workload: Identifier = Field(description="The workload, which sweeps `groups` or `ranks_per_client`.")
    unit: Unit = Field(description="Unit of its rates; a report takes the size of it that fits them.")


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
    "utilisation": Limit("1", utilisation, "90%"),
    "accelerators": Limit("1", units.parse_count, "4"),
}
"""Limits by measure. What the measures mean is stated where they are computed: `ioassay.analysis.acceptance`."""


OF_TRAINING = ("utilisation", "accelerators")
"""Measures whose limit under their own name, as in a file of criteria, is the smallest value that passes."""


def _as_measure(criterion: dict[str, Any]) -> dict[str, Any]:
    """A criterion with the keys of a file of criteria, as one with `measure`; one that has it already as it is."""
    limits = [key for key in ("every_point", *LIMITS) if key in criterion]
    if "measure" in criterion or len(limits) != 1:
        return criterion
    (limit,) = limits
    text = text_of(criterion[limit])
    side = "at_least" if limit in ("every_point", *OF_TRAINING) else "at_most"
    measure = limit
    if limit == "every_point":
        measure = "operations_rate" if text.endswith("IOPS") else "rate"
    same = {key: value for key, value in criterion.items() if key not in (limit, "name", "workload")}
    of = {"of": criterion["workload"]} if "workload" in criterion else {}
    return {**same, **of, "measure": measure, side: text}


class Criterion(Part):
    """A criterion of acceptance: exactly one of `at_most` and `at_least`, each with its unit. The keys of a
    [file of criteria](criteria.md) are read as well: `workload` for `of`, and the limit under the name of its measure,
    with `every_point` for both rates, such as `every_point: 20MB/s`.
    """

    measure: Annotated[str, Kind("measure")] = Field(description="What is judged: one of the measures below.")
    of: Identifier = Field(default="all", description="A workload, or `all`.")
    phase: Identifier | None = Field(
        default=None, description="Only the phase of this name, such as `ior-easy-read`. Default: all phases."
    )
    operation: OperationOrAll = Field(default="all", description="The operation of the phases that are judged.")
    at_most: Annotated[float | None, Kind("limit")] = Field(
        default=None, description="Largest value that passes, with its unit."
    )
    at_least: Annotated[float | None, Kind("limit")] = Field(
        default=None, description="Smallest value that passes, with its unit."
    )
    because: Prose = Field(description="Why a healthy system meets it, and what it means if it does not.")

    @model_validator(mode="before")
    @classmethod
    def _limit_in_the_unit_of_the_measure(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        value = _as_measure(value)
        if "measure" not in value:
            return value
        name = text_of(value["measure"])
        limit = LIMITS.get(name)
        if limit is None:
            raise ValueError(f"{quoted(name)} is not a measure; {nearest(name, LIMITS)}")
        limits = {key: text_of(value[key]) for key in ("at_most", "at_least") if key in value}
        if len(limits) != 1:
            example = f"at_most: {limit.example}"
            raise ValueError(f"needs exactly one limit; set `at_most` or `at_least`, for example `{example}`")
        return value | {key: float(limit.parse(text)) for key, text in limits.items()}

    @property
    def unit(self) -> str:
        """Unit of the limit."""
        return LIMITS[self.measure].unit


class Study(Sweep):
    """A study, with all settings filled in."""

    extends: Prose | None = Field(
        default=None,
        description="The study that this one changes: the name of a built-in one, or a path relative to this file. See "
        "[below](#extending-a-study).",
    )
    name: Identifier = Field(description="Short name, as in `ioassay run NAME`.")
    title: Prose = Field(description="Title of the report.")
    question: Prose = Field(description="The question that the study answers, in a sentence or two.")
    source: Prose | None = Field(default=None, description="Where the method comes from.")
    targets: list[KindOfTarget] = Field(
        default=["directory", "device", "url"],
        min_length=1,
        description="The kinds of targets that the study is for; others are refused.",
    )
    sample_interval: SampleInterval = Field(
        default=10**9, description="Length of a sample of the timeline: each rank's bytes and operations in it."
    )
    seed: Seed = Field(
        default=1,
        description="Seed of random choices. The same seed gives every case the same I/O again, and randomised cases "
        "the same order.",
    )
    case_order: OrderOfCases = Field(
        default="as-written",
        description="The order of the cases of each repetition, so that drift of the system does not pass for a "
        "difference between them. `randomised`: a new random order each time, drawn from `seed`. `interleaved`: every "
        "second time in reverse, A B … B A, so that a steady drift cancels out over each pair.",
    )
    # Required of a workload, which takes them from here where it has none of its own.
    steps: list[Step] = Field(default=[], description=_STEPS + " The default for workloads without steps of their own.")
    settings: Annotated[Any, Kind("values by name")] = Field(
        default={},
        description="Named values, used as `${NAME}` anywhere below, alone or inside a text, and changed with `--set "
        "NAME=VALUE` (a list as `--set clients=1,2,4`). The key that uses a value decides its type.",
    )
    scales: Annotated[Any, Kind("settings by name")] = Field(
        default={},
        description="Named sets of other values for some of the settings, chosen with `--scale NAME`.",
    )
    workloads: dict[Identifier, Workload] = Field(
        min_length=1, description="The workloads by name, in the order in which they run."
    )
    figures: list[Figure] = Field(
        default=[],
        description="The figures of the report. Default: the rate of each operation of what is swept. One "
        "with a single point is left out.",
    )
    summary: list[SummaryRow] = Field(
        default=[], description="The rows of the peak and sustained table. Default: a row for each workload."
    )
    surveys: list[SurveyTable] = Field(default=[], description="The tables by files and ranks in the report.")
    scores: Scores | None = Field(
        default=None,
        description="The benchmark whose score the report shows, for the workload whose phases have the benchmark's "
        "names. `io500`: the phases and rules of the IO500; the score is ioassay's, not an official submission.",
    )
    replays: Replays | None = Field(
        default=None,
        description="The recorded application that the study replays; the report then says how faithful each case is.",
    )
    acceptance: list[Criterion] = Field(
        default=[],
        description="What the system must meet; `ioassay run` exits with 1 if it does not.",
    )
